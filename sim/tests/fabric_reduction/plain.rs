//! Frames that are no reductions: times, rates, full queues.

use tributary_protocol::red::{Counter, host::RootConfig};
use tributary_sim::fabric::{Cost, Fabric, GroupConfig, LinkSpec, Simulator, timing};

use crate::common::*;

fn plain(sim: &Simulator, from: usize, to: usize, number: u8) -> Vec<u8> {
    let address = |e: usize| sim.fabric().endpoints[e].address().mac();
    let mut bytes = vec![number; 94];
    bytes[..6].copy_from_slice(&address(to));
    bytes[6..12].copy_from_slice(&address(from));
    bytes[12..14].copy_from_slice(&[8, 0]);
    bytes
}

#[test]
fn an_idle_fabric_takes_the_time_of_its_parts() {
    let mut sim = two_level();
    let frame = plain(&sim, 12, 0, 1);
    sim.inject(12, &frame, 100).unwrap();
    assert!(sim.run(LIMIT).unwrap());
    let got = sim.endpoints()[0].ignored();
    assert_eq!(*got[0].1, *frame);
    // Four cables of 64 clocks, 12 words each; three switches.
    let expected = 100 + 4 * (64 + 11) + 3 * timing::FORWARD_CLOCKS + timing::ENDPOINT_CLOCKS;
    assert_eq!(got[0].0, expected);
    assert_eq!(sim.frames(), 4);
}

#[test]
fn frames_follow_each_other_with_preamble_fcs_and_gap_between() {
    let fabric = Fabric::regular(
        &[2],
        LinkSpec {
            clocks_per_word: 3,
            ..LinkSpec::default()
        },
    )
    .unwrap();
    let mut sim = Simulator::new(fabric, 1).unwrap();
    for number in 0..5 {
        let frame = plain(&sim, 0, 1, number);
        sim.inject(0, &frame, 0).unwrap();
    }
    sim.run(LIMIT).unwrap();
    let clocks: Vec<u64> = sim.endpoints()[1]
        .ignored()
        .iter()
        .map(|(clock, _)| *clock)
        .collect();
    let first = 2 * (64 + 33) + timing::FORWARD_CLOCKS + timing::ENDPOINT_CLOCKS;
    // 94 + 24 bytes are 15 words of 3 clocks.
    assert_eq!(clocks, (0..5).map(|n| first + 45 * n).collect::<Vec<u64>>());
    let numbers: Vec<u8> = sim.endpoints()[1]
        .ignored()
        .iter()
        .map(|(_, bytes)| bytes[93])
        .collect();
    assert_eq!(numbers, [0, 1, 2, 3, 4]);
}

#[test]
fn a_full_queue_drops_whole_frames_and_counts_them() {
    let mut sim = two_level();
    for from in 1..4 {
        for number in 0..100 {
            let frame = plain(&sim, from, 0, number);
            sim.inject(from, &frame, 0).unwrap();
        }
    }
    assert!(sim.run(LIMIT).unwrap());
    let (got, full) = (
        sim.endpoints()[0].ignored(),
        sim.counted(Counter::QueueFull),
    );
    assert_eq!(got.len() as u64 + full, 300);
    // While 100 frames come in on each of three ports, 33 of each leave, and 42 fit into its queue.
    assert!((72..=78).contains(&full), "{full}");
    // The inputs take turns.
    let share = |from: usize| {
        got.iter()
            .filter(|(_, b)| b[10..12] == plain(&sim, from, 0, 0)[10..12])
            .count()
    };
    let shares = [share(1), share(2), share(3)];
    assert!(
        shares.iter().max().unwrap() - shares.iter().min().unwrap() <= 2,
        "{shares:?}"
    );
    // None overtakes another of its source.
    for from in 1..4 {
        let own = got
            .iter()
            .filter(|(_, b)| b[10..12] == plain(&sim, from, 0, 0)[10..12]);
        assert!(own.map(|(_, b)| b[93]).is_sorted());
    }
}

#[test]
fn duplication_and_corruption_come_as_often_as_asked_for() {
    let link = LinkSpec {
        duplication: 0.25,
        ..LinkSpec::default()
    };
    let run = |link: LinkSpec| {
        let mut fabric = Fabric::regular(&[2], LinkSpec::default()).unwrap();
        fabric.cables[0].link = link;
        let mut sim = Simulator::new(fabric, 7).unwrap();
        for number in 0..1000u64 {
            let frame = plain(&sim, 0, 1, number as u8);
            sim.inject(0, &frame, number * 40).unwrap();
        }
        sim.run(LIMIT).unwrap();
        sim.endpoints()[1].ignored().len()
    };
    assert!((1200..1300).contains(&run(link)));
    let link = LinkSpec {
        corruption: 0.25,
        ..LinkSpec::default()
    };
    assert!((700..800).contains(&run(link)));
}

/// The time that a host's software takes is on the way of every frame, once at each end.
#[test]
fn software_takes_its_time_for_each_frame() {
    let time = |cost: Cost| {
        let mut sim = two_level();
        let config = GroupConfig {
            root: RootConfig::default(),
            ..GroupConfig::default()
        };
        let group = sim.add_group(0, &config).unwrap();
        sim.set_cost(cost);
        contribute_all(
            &mut sim,
            group,
            0,
            tributary_protocol::red::Op::IntSum,
            bit,
            |_| 10_000,
        );
        finish(&mut sim, group, 0, |_| true);
        (0..16)
            .map(|e| sim.outcome(group, e, 0).unwrap().0)
            .max()
            .unwrap()
            - 10_000
    };
    let bare = time(Cost::default());
    // A leaf sends, the root receives; the root sends, leaves receive.
    assert_eq!(
        time(Cost {
            send: 250,
            receive: 0
        }),
        bare + 500
    );
    assert_eq!(
        time(Cost {
            send: 0,
            receive: 1000
        }),
        bare + 2000
    );
}
