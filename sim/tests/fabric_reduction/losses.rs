//! Links that lose, damage and delay at random: the right value, or a partial with the exact list of who is missing.

use tributary_protocol::red::{
    Op,
    host::{LeafConfig, Outcome},
};
use tributary_sim::fabric::{
    Contribution, Fabric, GroupConfig, LinkSpec, Place, Simulator, reference,
};

use crate::common::*;

const ROUNDS: u64 = 4;

fn run(link: LinkSpec, seed: u64) -> (u64, u64) {
    let fabric = Fabric::regular(&[4, 4], link).unwrap();
    let mut sim = Simulator::new(fabric, seed).unwrap();
    let leaf = LeafConfig {
        patience: 100_000,
        ..LeafConfig::default()
    };
    let config = GroupConfig {
        leaf,
        ..GroupConfig::default()
    };
    let group = sim.add_group(0, &config).unwrap();
    for round in 0..ROUNDS {
        contribute_all(&mut sim, group, round, Op::IntSum, bit, |e| {
            5_000 + 37 * (e as u64 * seed % 16)
        });
    }
    let (mut whole, mut partial) = (0, 0);
    for round in 0..ROUNDS {
        finish(&mut sim, group, round, |_| true);
        let (_, outcome) = sim.outcome(group, 0, round).unwrap();
        let (missing, _) = missing(&sim, group, round).unwrap_or_default();
        let there = (0..16).filter(|e| !missing.contains(e));
        let sum: u64 = there.clone().map(|e| 1u64 << e).sum();
        assert_eq!(
            (outcome.value.data, outcome.count as usize),
            ([sum; 4], 16 - missing.len()),
            "seed {seed}, round {round}"
        );
        // Whoever has a result has this one.
        for e in 1..16 {
            match sim.outcome(group, e, round) {
                Some((_, other)) => assert_eq!(other, outcome, "seed {seed}, endpoint {e}"),
                None => assert!(sim.is_over(group, e, round)),
            }
        }
        if missing.is_empty() {
            whole += 1
        } else {
            partial += 1
        }
    }
    settle(&mut sim);
    (whole, partial)
}

#[test]
fn red_18_under_loss_results_are_right_or_exactly_partial() {
    let mut totals = (0, 0);
    for seed in 0..40 {
        let link = LinkSpec {
            loss: [0.01, 0.05, 0.15, 0.25][seed as usize % 4],
            corruption: if seed % 3 == 0 { 0.05 } else { 0.0 },
            reorder_clocks: if seed % 2 == 0 { 200 } else { 0 },
            ..LinkSpec::default()
        };
        let (whole, partial) = run(link, seed);
        totals = (totals.0 + whole, totals.1 + partial);
    }
    // Both kinds must have come up, or the test shows nothing.
    assert!(totals.0 > 50 && totals.1 > 50, "{totals:?}");
}

#[test]
fn the_same_seed_gives_the_same_run() {
    let events = |seed| {
        let link = LinkSpec {
            loss: 0.1,
            reorder_clocks: 100,
            ..LinkSpec::default()
        };
        let mut sim = Simulator::new(Fabric::regular(&[4, 4], link).unwrap(), seed).unwrap();
        sim.record();
        let group = group(&mut sim);
        contribute_all(&mut sim, group, 0, Op::IntSum, bit, |_| 1_000);
        finish(&mut sim, group, 0, |_| true);
        let seen: Vec<_> = sim
            .sightings()
            .iter()
            .map(|s| (s.cable, s.start, s.end, s.fate))
            .collect();
        seen
    };
    assert_eq!(events(3), events(3));
    assert_ne!(events(3), events(4));
}

#[test]
fn floating_point_sums_are_those_of_the_order_on_the_cables_under_loss() {
    for seed in 1..40 {
        let link = LinkSpec {
            loss: 0.02,
            ..LinkSpec::default()
        };
        let mut sim = Simulator::new(Fabric::regular(&[4, 4], link).unwrap(), seed).unwrap();
        sim.record();
        let group = group(&mut sim);
        let value = |e: usize| lanes(((e as f64 + 0.1) * 10f64.powi(e as i32 % 5 * 4)).to_bits());
        contribute_all(&mut sim, group, 0, Op::FltSumNearest, value, |e| {
            1_000 + 16 * (e as u64 * 7 % 16)
        });
        finish(&mut sim, group, 0, |_| true);
        let (_, outcome): (u64, Outcome) = sim.outcome(group, 0, 0).unwrap();
        let given: Vec<(usize, Op, _)> =
            (0..16).map(|e| (e, Op::FltSumNearest, value(e))).collect();
        let total = expected(&sim, group, 0, &given).unwrap();
        assert_eq!(
            (total.value, total.count),
            (outcome.value, 16),
            "seed {seed}"
        );
    }
}

/// The reference believes no switch: another sum than one of those that the engine may have made, or one that leaves a value out and
/// has another one twice, is found, and the switch is named.
#[test]
fn a_sum_that_no_order_gives_is_found_by_the_reference() {
    let mut sim = two_level();
    let group = group(&mut sim);
    let value = |e: usize| lanes(((e as f64 + 0.1) * 10f64.powi(e as i32 % 5 * 4)).to_bits());
    contribute_all(&mut sim, group, 0, Op::FltSumNearest, value, |_| 1_000);
    finish(&mut sim, group, 0, |_| true);
    let given: Vec<(usize, Op, _)> = (0..16).map(|e| (e, Op::FltSumNearest, value(e))).collect();
    let total = expected(&sim, group, 0, &given).unwrap();
    assert_eq!(total.value, agreed(&sim, group, 0).value);
    // As if endpoint 6 had given something else: its switch is told of.
    let mut others = given.clone();
    others[6].2 = value(7);
    let error = expected(&sim, group, 0, &others).unwrap_err();
    let reference::Unexplained::Sent { switch, parts, .. } = error else {
        panic!("{error}");
    };
    let edge = sim.fabric().cables.iter().find_map(|cable| {
        let [a, b] = cable.ends;
        [(a, b), (b, a)]
            .into_iter()
            .find_map(|(from, to)| match (from, to) {
                (Place::Endpoint(6), Place::Switch(switch, _)) => Some(switch),
                _ => None,
            })
    });
    assert_eq!((Some(switch), parts), (edge, 4));
}

#[test]
fn an_endpoint_that_dies_between_rounds_is_missing_from_then_on() {
    let mut sim = two_level();
    let group = group(&mut sim);
    contribute_all(&mut sim, group, 0, Op::IntSum, bit, |_| 1_000);
    finish(&mut sim, group, 0, |_| true);
    sim.set_alive(3, false).unwrap();
    let at = sim.now() + 1_000;
    for e in (0..16).filter(|e| *e != 3) {
        sim.contribute(
            group,
            e,
            1,
            Contribution {
                at,
                op: Op::IntSum,
                value: bit(e),
            },
        )
        .unwrap();
    }
    finish(&mut sim, group, 1, |e| e != 3);
    assert_eq!(missing(&sim, group, 1), Some((vec![3], vec![3])));
    settle(&mut sim);
}
