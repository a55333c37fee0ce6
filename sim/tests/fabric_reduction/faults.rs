//! One fault at a time: what becomes of the round, and that nothing is left behind.

use tributary_protocol::red::{
    Address, Counter, Frame, Key, Op,
    host::{Event, Group},
    wire::{DEFAULT_ETHERTYPE, Fabric as Header, Reduction, Restricted},
};
use tributary_sim::fabric::{Contribution, Fabric, LinkSpec, Passing, Place, Simulator, Treatment};

use crate::common::*;

const ALL: u64 = 0xffff;
/// After the tree is armed.
const START: u64 = 2_000;

fn begin(sim: &mut Simulator) -> usize {
    let group = group(sim);
    contribute_all(sim, group, 0, Op::IntSum, bit, |_| START);
    group
}

fn parse(passing: &Passing<'_>) -> Frame {
    Frame::parse(passing.bytes, DEFAULT_ETHERTYPE).unwrap()
}

/// Treats the `nth` frame between two places.
fn treat(sim: &mut Simulator, from: Place, to: Place, nth: usize, treatment: Treatment) {
    let mut seen = 0;
    sim.tamper(move |passing| {
        let here = passing.from == from && passing.to == to;
        seen += usize::from(here);
        if here && seen == nth {
            treatment
        } else {
            Treatment::Pass
        }
    });
}

/// Everyone is in the result of round 0, and nothing is left.
fn complete(sim: &mut Simulator, group: usize) {
    finish(sim, group, 0, |_| true);
    let outcome = agreed(sim, group, 0);
    assert_eq!((outcome.value.data, outcome.count), ([ALL; 4], 16));
    assert_eq!(missing(sim, group, 0), None);
    settle(sim);
}

#[test]
fn red_12_a_late_leaf_is_in_the_result_without_a_retry() {
    let mut sim = two_level();
    let group = begin(&mut sim);
    let late = Contribution {
        at: 200_000,
        op: Op::IntSum,
        value: bit(13),
    };
    sim.contribute(group, 13, 0, late).unwrap();
    complete(&mut sim, group);
    assert_eq!(retries(&sim, group), 0);
    // Its leaf switch, the spine and the root's leaf switch gave up waiting, and its frame passed all three.
    assert_eq!(
        (sim.counted(Counter::Partials), sim.counted(Counter::Passed)),
        (3, 4)
    );
}

#[test]
fn red_18_a_dead_leaf_is_missing_and_silent() {
    let mut sim = two_level();
    sim.set_alive(6, false).unwrap();
    let group = begin(&mut sim);
    finish(&mut sim, group, 0, |e| e != 6);
    let (_, outcome) = sim.outcome(group, 0, 0).unwrap();
    assert_eq!(
        (outcome.value.data, outcome.count),
        ([ALL & !(1 << 6); 4], 15)
    );
    assert_eq!(missing(&sim, group, 0), Some((vec![6], vec![6])));
    assert!(
        (1..16)
            .filter(|e| *e != 6)
            .all(|e| sim.outcome(group, e, 0).unwrap().1 == outcome)
    );
    settle(&mut sim);
}

#[test]
fn red_18_a_leaf_without_a_value_is_missing_but_not_silent() {
    let mut sim = two_level();
    let group = group(&mut sim);
    for e in (0..16).filter(|e| ![9, 10].contains(e)) {
        let given = Contribution {
            at: START,
            op: Op::IntSum,
            value: bit(e),
        };
        sim.contribute(group, e, 0, given).unwrap();
    }
    finish(&mut sim, group, 0, |_| true);
    let (_, outcome) = sim.outcome(group, 0, 0).unwrap();
    assert_eq!((outcome.value.data[0], outcome.count), (ALL & !0x600, 14));
    assert_eq!(missing(&sim, group, 0), Some((vec![9, 10], vec![])));
    let left_out = sim
        .reported(group, 9)
        .any(|l| l.event == Event::LeftOut(0..1));
    assert!(left_out, "leaf 9 hears that the round went on without it");
    settle(&mut sim);
}

#[test]
fn red_16_without_an_engine_at_a_leaf_switch_its_frames_pass() {
    for without in 0..5 {
        let mut fabric = Fabric::regular(&[4, 4], LinkSpec::default()).unwrap();
        fabric.switches[without].engines = false;
        let mut sim = Simulator::new(fabric, 1).unwrap();
        let group = begin(&mut sim);
        complete(&mut sim, group);
        assert_eq!(retries(&sim, group), 0, "switch {without}");
        assert_eq!(sim.counted(Counter::Results), 4, "switch {without}");
    }
}

/// Every hop of the way up: endpoint to leaf switch, leaf switch to spine, spine to the root's leaf switch, that to the root.
const UP: [(Place, Place); 4] = [
    (Place::Endpoint(11), Place::Switch(2, 3)),
    (Place::Switch(2, 4), Place::Switch(4, 2)),
    (Place::Switch(4, 0), Place::Switch(0, 4)),
    (Place::Switch(0, 0), Place::Endpoint(0)),
];

#[test]
fn red_16_a_frame_lost_on_its_way_up_costs_an_attempt() {
    for (from, to) in UP {
        for treatment in [Treatment::Lose, Treatment::Damage] {
            let mut sim = two_level();
            treat(&mut sim, from, to, 1, treatment);
            let group = begin(&mut sim);
            complete(&mut sim, group);
            assert_eq!(retries(&sim, group), 1, "{from:?}");
        }
    }
}

#[test]
fn red_16_an_arm_frame_lost_on_its_way_down_costs_at_most_an_attempt() {
    for (to, from) in UP {
        let mut sim = two_level();
        treat(&mut sim, from, to, 1, Treatment::Lose);
        let group = begin(&mut sim);
        complete(&mut sim, group);
        assert_eq!(retries(&sim, group), 1, "{from:?}");
    }
}

#[test]
fn red_18_a_result_lost_on_its_way_down_is_asked_for() {
    for (to, from) in UP {
        let mut sim = two_level();
        treat(&mut sim, from, to, 2, Treatment::Lose);
        let group = begin(&mut sim);
        complete(&mut sim, group);
        assert_eq!(retries(&sim, group), 0, "{from:?}");
    }
}

#[test]
fn red_13_duplicates_above_the_engines_change_nothing() {
    for (from, to) in [UP[3], (UP[3].1, UP[3].0)] {
        for nth in 1..3 {
            for after in [15, 100, 3_000] {
                let mut sim = two_level();
                treat(&mut sim, from, to, nth, Treatment::Repeat(after));
                let group = begin(&mut sim);
                contribute_all(&mut sim, group, 1, Op::IntSum, bit, |_| START);
                for round in 0..2 {
                    finish(&mut sim, group, round, |_| true);
                    assert_eq!(agreed(&sim, group, round).value.data, [ALL; 4]);
                }
                settle(&mut sim);
                let doubts = sim
                    .reported(group, 0)
                    .filter(|l| matches!(l.event, Event::Doubtful { .. }));
                assert_eq!(doubts.count(), 0);
            }
        }
    }
}

/// The copy of endpoint 11's frame fills the place of endpoint 8, whose own comes `late` clocks later and passes. Whether the
/// result is right, whether the root reports it as doubtful, and how many frames of an old round switches dropped.
fn doubled_below_an_engine(late: u64) -> (bool, bool, u64) {
    let mut sim = two_level();
    treat(&mut sim, UP[0].0, UP[0].1, 1, Treatment::Repeat(15));
    let group = begin(&mut sim);
    let late = Contribution {
        at: START + late,
        op: Op::IntSum,
        value: bit(8),
    };
    sim.contribute(group, 8, 0, late).unwrap();
    finish(&mut sim, group, 0, |_| true);
    let right = agreed(&sim, group, 0).value.data == [ALL; 4];
    sim.run(sim.now() + 10_000).unwrap();
    let leaf = sim.fabric().endpoints[8].address();
    let doubtful = Event::Doubtful { round: 0, leaf };
    let doubted = sim.reported(group, 0).any(|l| l.event == doubtful);
    settle(&mut sim);
    (right, doubted, sim.counted(Counter::OldSeqno))
}

#[test]
fn red_18_a_duplicate_below_an_engine_is_doubtful_if_the_displaced_frame_follows_closely() {
    // Sooner it would wait beside the copy, and go first by its turn.
    assert_eq!(doubled_below_an_engine(40), (false, true, 0));
}

/// The limit of the above: the result has armed the next round where the displaced frame would pass.
#[test]
fn red_14_a_displaced_frame_that_meets_the_next_round_is_counted_by_a_switch() {
    assert_eq!(doubled_below_an_engine(250), (false, false, 1));
}

fn foreign(group: &Group, from: Address, vni: u16, cookie: u32, seqno: u16) -> Vec<u8> {
    let frame = Frame {
        fabric: Header::new(from, group.key.address(), vni),
        restricted: Restricted::default(),
        red: Reduction {
            seqno,
            arm: false,
            op: Op::IntSum,
            count: 1,
            resno: seqno,
            rc: Default::default(),
            m: 0,
            oflow: 0,
            pad: 0,
            cookie,
        },
        data: [1 << 40; 4],
    };
    frame.to_bytes(DEFAULT_ETHERTYPE).to_vec()
}

#[test]
fn red_10_frames_of_a_foreign_vni_or_cookie_are_in_no_result() {
    let mut sim = two_level();
    let group = begin(&mut sim);
    let own = sim.group(group).unwrap().clone();
    let from = sim.fabric().endpoints[5].address();
    sim.inject(
        5,
        &foreign(&own, from, own.vni + 1, own.cookie, 0),
        START - 500,
    )
    .unwrap();
    sim.inject(
        5,
        &foreign(&own, from, own.vni, own.cookie + 1, 0),
        START - 400,
    )
    .unwrap();
    sim.inject(
        5,
        &foreign(&own, from, own.vni, own.cookie, 1023),
        START - 300,
    )
    .unwrap();
    complete(&mut sim, group);
    assert_eq!(retries(&sim, group), 0);
    assert_eq!(
        (
            sim.counted(Counter::ForeignVni),
            sim.counted(Counter::OldSeqno)
        ),
        (1, 1)
    );
    // The foreign cookie passed three engines and was ignored by the root.
    assert_eq!(
        (
            sim.counted(Counter::Passed),
            sim.endpoints()[0].ignored().len()
        ),
        (3, 1)
    );
}

#[test]
fn red_17_an_arm_frame_from_a_member_is_dropped() {
    let mut sim = two_level();
    let group = begin(&mut sim);
    let own = sim.group(group).unwrap().clone();
    let from = sim.fabric().endpoints[5].address();
    let mut frame = Frame::parse(
        &foreign(&own, from, own.vni, own.cookie, 0),
        DEFAULT_ETHERTYPE,
    )
    .unwrap();
    frame.red.arm = true;
    sim.inject(5, &frame.to_bytes(DEFAULT_ETHERTYPE), START - 500)
        .unwrap();
    complete(&mut sim, group);
    assert_eq!(sim.counted(Counter::ArmUpwards), 1);
}

#[test]
fn red_14_a_round_goes_on_while_a_leaf_is_still_in_the_one_before() {
    let mut sim = two_level();
    // Endpoint 15 hears the result of round 0 after everyone else has contributed to round 1.
    treat(
        &mut sim,
        Place::Switch(3, 3),
        Place::Endpoint(15),
        2,
        Treatment::Delay(4_000),
    );
    let group = begin(&mut sim);
    contribute_all(&mut sim, group, 1, Op::IntMax, bit, |_| START);
    complete(&mut sim, group);
    finish(&mut sim, group, 1, |_| true);
    assert_eq!(agreed(&sim, group, 1).value.data, [1 << 15; 4]);
    assert_eq!(retries(&sim, group), 0);
    settle(&mut sim);
}

#[test]
fn red_14_a_contribution_to_a_round_that_is_over_is_dropped() {
    // An attempt fails because a frame is 600,000 clocks late; when it comes, the next attempt is over or under way.
    let mut sim = two_level();
    treat(&mut sim, UP[0].0, UP[0].1, 1, Treatment::Delay(600_000));
    let group = begin(&mut sim);
    complete(&mut sim, group);
    assert_eq!(retries(&sim, group), 1);
    contribute_all(&mut sim, group, 1, Op::IntSum, bit, |_| 650_000);
    finish(&mut sim, group, 1, |_| true);
    assert_eq!(agreed(&sim, group, 1).value.data, [ALL; 4]);
    settle(&mut sim);
}

#[test]
fn red_14_sequence_numbers_wrap() {
    let mut sim = two_level();
    let config = tributary_sim::fabric::GroupConfig {
        first_seqno: 1022,
        ..Default::default()
    };
    let group = sim.add_group(0, &config).unwrap();
    for round in 0..5 {
        contribute_all(&mut sim, group, round, Op::IntSum, bit, |_| START);
        finish(&mut sim, group, round, |_| true);
        assert_eq!(agreed(&sim, group, round).value.data, [ALL; 4]);
    }
    assert_eq!(retries(&sim, group), 0);
    settle(&mut sim);
}

#[test]
fn red_09_a_wrong_operation_names_two_endpoints() {
    let mut sim = two_level();
    let group = begin(&mut sim);
    let wrong = Contribution {
        at: START,
        op: Op::Xor,
        value: bit(7),
    };
    sim.contribute(group, 7, 0, wrong).unwrap();
    finish(&mut sim, group, 0, |_| true);
    let outcome = agreed(&sim, group, 0);
    assert_eq!(
        (outcome.value.rc.name(), outcome.count),
        ("op_mismatch", 16)
    );
    let word = outcome.value.data[0];
    let pair = [Address((word >> 32) as u32), Address(word as u32)];
    assert!(
        pair.contains(&sim.fabric().endpoints[7].address()),
        "{pair:?}"
    );
    settle(&mut sim);
}

#[test]
fn a_tamperer_sees_every_frame_and_both_ends_of_its_cable() {
    let mut sim = two_level();
    let seen = std::sync::Arc::new(std::sync::atomic::AtomicU32::new(0));
    let count = seen.clone();
    sim.tamper(move |passing| {
        let frame = parse(passing);
        let down = frame.red.arm;
        assert_eq!(
            frame.fabric.dfa.multicast(),
            Some(Key {
                tree: 1,
                reduction: 0
            })
        );
        let more = u32::from(down && passing.from == Place::Endpoint(0));
        count.fetch_add(more, std::sync::atomic::Ordering::Relaxed);
        Treatment::Pass
    });
    let group = begin(&mut sim);
    complete(&mut sim, group);
    assert_eq!(seen.load(std::sync::atomic::Ordering::Relaxed), 2);
}
