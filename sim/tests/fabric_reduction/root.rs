//! The root in hardware: its card sends the results, and its host pays one frame sent and one received for each.

use tributary_protocol::red::{
    Counter, Op,
    host::{LeafConfig, RootConfig},
};
use tributary_sim::fabric::{
    Contribution, Cost, Fabric, GroupConfig, LinkSpec, Simulator,
    timing::{ANSWER_CLOCKS, ENDPOINT_CLOCKS},
};

use crate::common::*;

const ROUNDS: u64 = 6;

fn fabric(shape: &[usize], link: LinkSpec) -> Fabric {
    let mut fabric = Fabric::regular(shape, link).unwrap();
    fabric.trees[0].root_contributes = true;
    fabric
}

/// Rolls together take longer than a completion does.
fn config() -> GroupConfig {
    GroupConfig {
        root: RootConfig {
            rolls: 50,
            ..RootConfig::default()
        },
        leaf: LeafConfig {
            patience: 100_000,
            ..LeafConfig::default()
        },
        ..GroupConfig::default()
    }
}

/// Sums of endpoint numbers and of their squares.
fn sums(endpoints: u64) -> [u64; 4] {
    let all = 0..endpoints;
    [all.clone().sum(), all.map(|e| e * e).sum(), endpoints, 0]
}

fn value(endpoint: usize) -> tributary_protocol::red::Value {
    let e = endpoint as u64;
    tributary_protocol::red::Value {
        data: [e, e * e, 1, 0],
        ..Default::default()
    }
}

/// Frames that left an endpoint for the tree, and those of them that its host sent.
fn sent(sim: &Simulator, endpoint: usize) -> (u64, u64) {
    let own = sim.fabric().endpoints[endpoint].address();
    let cable = sim
        .cabling()
        .at(tributary_sim::fabric::Place::Endpoint(endpoint))
        .unwrap();
    let side = usize::from(
        sim.fabric().cables[cable].ends[0] != tributary_sim::fabric::Place::Endpoint(endpoint),
    );
    let seen = sim
        .sightings()
        .iter()
        .filter(|s| (s.cable, s.from) == (cable, side));
    let all = seen.filter(|s| s.bytes[6..12] == own.mac()).count() as u64;
    (all, all - sim.endpoints()[endpoint].answered())
}

#[test]
fn cl_06_a_round_costs_the_roots_host_one_frame_each_way() {
    for shape in [&[4, 4][..], &[8, 8], &[2, 3, 4]] {
        let mut sim = Simulator::new(fabric(shape, LinkSpec::default()), 1).unwrap();
        sim.record();
        let cost = 500;
        let group = sim.add_group(0, &config()).unwrap();
        sim.run(sim.now() + 5_000).unwrap();
        assert_eq!(sent(&sim, 0), (1, 1), "the frame that arms the tree");
        sim.set_cost(Cost {
            send: cost,
            receive: cost,
        });
        let endpoints = sim.fabric().endpoints.len() as u64;
        for round in 0..ROUNDS {
            let begin = sim.now() + 1;
            contribute_all(&mut sim, group, round, Op::IntSum, value, |_| begin);
            finish(&mut sim, group, round, |_| true);
            let outcome = agreed(&sim, group, round);
            assert_eq!(outcome.value.data, sums(endpoints), "{shape:?}");
            assert_eq!(u64::from(outcome.count), endpoints);
            // The answer leaves as soon as the card has the result; the host hears of it when it has taken the completion.
            let (at_root, _) = sim.outcome(group, 0, round).unwrap();
            let last = sim.sightings().iter().filter(|s| s.bytes[6..12] != [0; 6]);
            let up = last
                .filter(|s| s.end + ENDPOINT_CLOCKS + cost == at_root)
                .count();
            assert!(up > 0, "{shape:?}, round {round}");
            sim.run(sim.now() + 5_000).unwrap();
        }
        assert_eq!(retries(&sim, group), 0);
        assert_eq!(sim.endpoints()[0].answered(), ROUNDS);
        assert_eq!(sim.endpoints()[0].overtaken(), 0);
        // Its contributions, and the first frame.
        assert_eq!(sent(&sim, 0), (2 * ROUNDS + 1, ROUNDS + 1), "{shape:?}");
        assert_eq!(sent(&sim, 1), (ROUNDS, ROUNDS));
        assert_eq!(sim.counted(Counter::Passed), 0);
    }
}

/// One software cost for a value and one for the result, at the root as at the leaves: the answer leaves without the host.
#[test]
fn cl_06_an_all_reduce_takes_what_it_takes_without_software_and_two_frames_of_a_host() {
    let time = |cost: u64, has_card: bool| {
        let mut sim = Simulator::new(fabric(&[4, 4], LinkSpec::default()), 1).unwrap();
        let config = GroupConfig {
            root_has_card: has_card,
            ..config()
        };
        let group = sim.add_group(0, &config).unwrap();
        sim.run(5_000).unwrap();
        sim.set_cost(Cost {
            send: cost,
            receive: cost,
        });
        contribute_all(&mut sim, group, 0, Op::IntSum, value, |_| 5_001);
        finish(&mut sim, group, 0, |_| true);
        assert_eq!(sim.endpoints()[0].answered(), u64::from(has_card));
        let ends = (0..16).map(|e| sim.outcome(group, e, 0).unwrap().0);
        ends.max().unwrap() - 5_001
    };
    let [by_card, by_host] = [true, false].map(|has_card| time(0, has_card));
    // A host that takes no time answers in the clock after the result.
    assert_eq!(by_card, by_host + ANSWER_CLOCKS - ENDPOINT_CLOCKS);
    for cost in [1, 250, 1_000] {
        assert_eq!(time(cost, true), by_card + 2 * cost);
        assert_eq!(time(cost, false), by_host + 4 * cost);
    }
}

#[test]
fn cl_06_floating_point_sums_are_those_of_the_order_on_the_cables() {
    for seed in 1..6 {
        let mut sim = Simulator::new(fabric(&[4, 4], LinkSpec::default()), seed).unwrap();
        sim.record();
        let group = sim.add_group(0, &config()).unwrap();
        let value = |e: usize| lanes(((e as f64 + 0.1) * 10f64.powi(e as i32 % 5 * 4)).to_bits());
        contribute_all(&mut sim, group, 0, Op::FltSumNearest, value, |e| {
            1_000 + 16 * (e as u64 * (2 * seed + 5) % 16)
        });
        finish(&mut sim, group, 0, |_| true);
        let outcome = agreed(&sim, group, 0);
        assert_eq!(sim.endpoints()[0].answered(), 1);
        let given: Vec<_> = (0..16).map(|e| (e, Op::FltSumNearest, value(e))).collect();
        let total = expected(&sim, group, 0, &given).unwrap();
        assert_eq!((total.value, total.count), (outcome.value, 16));
    }
}

/// The root's host hears of a result later than its attempt takes, and repeats it: the card does not let that leave.
#[test]
fn cl_06_what_a_slow_root_repeats_does_not_leave() {
    let mut fabric = fabric(&[4, 4], LinkSpec::default());
    // Engines wait longer than the root's host takes.
    for switch in &mut fabric.switches {
        switch.engine.timeouts = [2_000; 4];
    }
    let mut sim = Simulator::new(fabric, 1).unwrap();
    sim.record();
    let config = GroupConfig {
        root: RootConfig {
            attempt_timeout: 150_000,
            ..config().root
        },
        // Nobody asks.
        leaf: LeafConfig::default(),
        ..config()
    };
    let group = sim.add_group(0, &config).unwrap();
    sim.run(5_000).unwrap();
    let slow_root = Cost {
        send: 0,
        receive: 170_000,
    };
    sim.set_cost_of(0, slow_root).unwrap();
    for round in 0..ROUNDS {
        let begin = sim.now();
        contribute_all(&mut sim, group, round, Op::IntSum, value, |_| begin);
        finish(&mut sim, group, round, |_| true);
        assert_eq!(agreed(&sim, group, round).value.data, sums(16));
    }
    assert_eq!(sim.endpoints()[0].answered(), ROUNDS);
    assert_eq!(retries(&sim, group) as u64, ROUNDS);
    // An attempt and a value each.
    assert_eq!(sim.endpoints()[0].overtaken(), 2 * ROUNDS);
    assert_eq!(sent(&sim, 0), (2 * ROUNDS + 1, ROUNDS + 1));
}

/// Cables lose, damage and delay frames, and the root's host is slow: every result is right and everyone's, whoever made it.
#[test]
fn cl_06_under_loss_every_result_is_right() {
    let (mut answered, mut again) = (0, 0);
    for seed in 0..24 {
        let link = LinkSpec {
            loss: [0.0, 0.005, 0.02, 0.05][seed as usize % 4],
            corruption: if seed % 3 == 0 { 0.01 } else { 0.0 },
            reorder_clocks: if seed % 2 == 0 { 200 } else { 0 },
            ..LinkSpec::default()
        };
        let slow = [0, 500, 10_000, 40_000][seed as usize / 4 % 4];
        let large = seed % 4 == 1 && slow <= 500;
        let shape: &[usize] = if large { &[8, 8] } else { &[4, 4] };
        let mut sim = Simulator::new(fabric(shape, link), seed).unwrap();
        // A slow root can answer all others in it.
        let patience = if slow > 500 { 4_000_000 } else { 100_000 };
        let config = GroupConfig {
            root: RootConfig {
                attempt_timeout: 150_000,
                roll_timeout: patience,
                ..config().root
            },
            leaf: LeafConfig {
                patience,
                ..config().leaf
            },
            ..config()
        };
        let group = sim.add_group(0, &config).unwrap();
        let endpoints = sim.fabric().endpoints.len();
        let slow_root = Cost {
            send: 100,
            receive: slow,
        };
        sim.set_cost_of(0, slow_root).unwrap();
        for round in 0..ROUNDS {
            let begin = sim.now();
            contribute_all(&mut sim, group, round, Op::IntSum, value, |e| {
                begin + 37 * (e as u64 * seed % 16)
            });
            finish(&mut sim, group, round, |_| true);
            assert_eq!(
                missing(&sim, group, round),
                None,
                "seed {seed}, slow {slow}"
            );
            let outcome = agreed(&sim, group, round);
            assert_eq!(
                (outcome.value.data, outcome.count as usize),
                (sums(endpoints as u64), endpoints),
                "seed {seed}, round {round}"
            );
        }
        answered += sim.endpoints()[0].answered();
        again += retries(&sim, group);
    }
    assert!(
        answered > 24 * ROUNDS / 3 && again > 20,
        "{answered} {again}"
    );
}

/// The tree's other users: a group whose root is no card's.
#[test]
fn cl_06_two_groups_of_a_tree_each_have_their_own_results() {
    let mut sim = Simulator::new(fabric(&[4, 4], LinkSpec::default()), 1).unwrap();
    let other = GroupConfig {
        reduction: 3,
        cookie: 77,
        root_has_card: false,
        ..config()
    };
    let groups = [config(), other].map(|config| sim.add_group(0, &config).unwrap());
    for round in 0..ROUNDS {
        let at = sim.now() + 100;
        for (times, group) in (1..).zip(groups) {
            for e in 0..16 {
                let value = lanes(times * (e as u64 + 1));
                let op = Op::IntSum;
                sim.contribute(group, e, round, Contribution { at, op, value })
                    .unwrap();
            }
        }
        for (times, group) in (1..).zip(groups) {
            finish(&mut sim, group, round, |_| true);
            assert_eq!(agreed(&sim, group, round).value.data, [136 * times; 4]);
        }
    }
    assert_eq!(sim.endpoints()[0].answered(), ROUNDS);
}
