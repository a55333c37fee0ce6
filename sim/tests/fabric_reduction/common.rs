//! Fabrics and groups that the tests share.

use std::collections::BTreeMap;

use tributary_protocol::red::{
    Address, Op, Partial, Value,
    host::{Event, Outcome},
};
use tributary_sim::fabric::{
    Contribution, Fabric, GroupConfig, LinkSpec, Simulator,
    reference::{self, Unexplained},
};

/// Longest that a test may run, clocks.
pub const LIMIT: u64 = 50_000_000;

/// Four leaf switches with four endpoints each, under one spine.
pub fn two_level() -> Simulator {
    let fabric = Fabric::regular(&[4, 4], LinkSpec::default()).unwrap();
    let mut sim = Simulator::new(fabric, 1).unwrap();
    sim.record();
    sim
}

/// A value that has the word in all lanes.
pub fn lanes(word: u64) -> Value {
    Value {
        data: [word; 4],
        ..Value::default()
    }
}

/// Everybody's value of a round, given at its own clock.
pub fn contribute_all(
    sim: &mut Simulator,
    group: usize,
    round: u64,
    op: Op,
    value: impl Fn(usize) -> Value,
    at: impl Fn(usize) -> u64,
) {
    for endpoint in sim.group_endpoints(group).to_vec() {
        let (value, at) = (value(endpoint), at(endpoint));
        sim.contribute(group, endpoint, round, Contribution { at, op, value })
            .unwrap();
    }
}

/// The round's result, which every endpoint must have the same.
pub fn agreed(sim: &Simulator, group: usize, round: u64) -> Outcome {
    let outcomes = sim.group_endpoints(group).iter().map(|&e| {
        sim.outcome(group, e, round)
            .unwrap_or_else(|| panic!("endpoint {e} has no result of round {round}"))
            .1
    });
    let all: Vec<Outcome> = outcomes.collect();
    assert!(all.windows(2).all(|pair| pair[0] == pair[1]), "{all:?}");
    all[0]
}

/// What the frames on the cables make of the values.
pub fn expected(
    sim: &Simulator,
    group: usize,
    round: u64,
    given: &[(usize, Op, Value)],
) -> Result<Partial, Unexplained> {
    let given: BTreeMap<Address, (Op, Value)> = given
        .iter()
        .map(|&(e, op, value)| (sim.fabric().endpoints[e].address(), (op, value)))
        .collect();
    reference::total(
        sim.fabric(),
        sim.cabling(),
        sim.sightings(),
        sim.group(group).unwrap(),
        round,
        &given,
    )
}

/// A group on the first tree.
pub fn group(sim: &mut Simulator) -> usize {
    sim.add_group(0, &GroupConfig::default()).unwrap()
}

/// Sum of endpoint numbers that have given 1 << e each: shows who is in it.
pub fn bit(endpoint: usize) -> Value {
    lanes(1 << endpoint)
}

/// Runs until the round is over for everyone alive.
pub fn finish(sim: &mut Simulator, group: usize, round: u64, alive: impl Fn(usize) -> bool) {
    let mut open: Vec<usize> = sim
        .group_endpoints(group)
        .iter()
        .copied()
        .filter(|&e| alive(e))
        .collect();
    sim.run_while(sim.now() + LIMIT, |sim| {
        open.retain(|&e| !sim.is_over(group, e, round));
        !open.is_empty()
    })
    .unwrap();
    assert!(open.is_empty(), "round {round} is not over for {open:?}");
}

/// Every descriptor is free again within one timeout: that of wait counts from 8 to 63, 50 units, and the unit under way.
pub fn settle(sim: &mut Simulator) {
    let limit = sim.now() + 51 * 1024;
    sim.run_while(limit, |sim| sim.in_use() > 0).unwrap();
    assert_eq!(sim.in_use(), 0, "descriptors in use after a timeout");
}

/// Retries of a round.
pub fn retries(sim: &Simulator, group: usize) -> usize {
    let root = sim.group_endpoints(group)[0];
    sim.reported(group, root)
        .filter(|logged| matches!(logged.event, Event::Retry { .. }))
        .count()
}

/// Whom the root reports missing, and who of them was silent.
pub fn missing(sim: &Simulator, group: usize, round: u64) -> Option<(Vec<usize>, Vec<usize>)> {
    let root = sim.group_endpoints(group)[0];
    let numbers = |list: &[Address]| {
        list.iter()
            .map(|a| sim.fabric().endpoint_at(*a).unwrap())
            .collect()
    };
    sim.reported(group, root)
        .find_map(|logged| match &logged.event {
            Event::Missing {
                round: r,
                missing,
                silent,
            } if *r == round => Some((numbers(missing), numbers(silent))),
            _ => None,
        })
}
