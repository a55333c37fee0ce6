//! The broadcasts to compare with take the times that their formulas say, and get nothing for nothing.

use tributary_protocol::multicast::Algorithm;
use tributary_sim::multicast::mpi::{Broadcast, best, time};

use crate::common::{B, BLOCK, BYTE, good, plan};

/// In units of a block time, without latency.
fn blocks(broadcast: Broadcast, n: u32, k: u64, segments: u64) -> f64 {
    let bytes = k * u64::from(BLOCK);
    time(broadcast, n, bytes, segments, BYTE, 0).unwrap() as f64 / B as f64
}

#[test]
fn whole_messages_take_the_times_of_the_textbook() {
    for n in [2u32, 4, 8, 16, 64] {
        let (k, rounds) = (64, f64::from(n.ilog2()));
        let share = 1.0 - 1.0 / f64::from(n);
        let near =
            |got: f64, wanted: f64| assert!((got - wanted).abs() < 0.1, "{n}: {got} {wanted}");
        near(blocks(Broadcast::BinomialTree, n, k, 1), 64.0 * rounds);
        near(blocks(Broadcast::ScatterRing, n, k, 1), 128.0 * share);
        near(blocks(Broadcast::ScatterDoubling, n, k, 1), 128.0 * share);
    }
}

#[test]
fn latency_is_paid_for_each_round_and_other_sizes_work() {
    let bytes = 64 * u64::from(BLOCK);
    let extra = |broadcast, n| {
        let of = |latency| time(broadcast, n, bytes, 1, BYTE, latency).unwrap();
        (of(B) - of(0)) / B
    };
    assert_eq!(extra(Broadcast::BinomialTree, 16), 4);
    assert_eq!(extra(Broadcast::ScatterDoubling, 16), 8);
    assert!(extra(Broadcast::ScatterRing, 16) >= 15);
    for n in [1, 3, 5, 12, 100] {
        assert!(time(Broadcast::ScatterRing, n, bytes, 1, BYTE, 0).is_some());
        assert!(time(Broadcast::BinomialTree, n, bytes, 1, BYTE, 0).is_some());
    }
    assert_eq!(
        time(Broadcast::ScatterDoubling, 12, bytes, 1, BYTE, 0),
        None
    );
}

#[test]
fn segments_help_trees_and_nobody_beats_the_port_of_the_root() {
    let bytes = 256 * u64::from(BLOCK);
    for n in [4, 16, 64] {
        for broadcast in Broadcast::ALL {
            let (_, tuned) = best(broadcast, n, bytes, BYTE, B / 20).unwrap();
            assert!(tuned > 256 * B, "{n} {broadcast:?}");
            let whole = time(broadcast, n, bytes, 1, BYTE, B / 20).unwrap();
            assert!(tuned <= whole);
        }
    }
}

#[test]
fn mb_04_many_blocks_are_ahead_of_the_best_broadcast() {
    for n in [4, 5, 16, 33] {
        for k in [8, 64] {
            for percent in [0, 5] {
                let mut plan = plan(Algorithm::BinomialPipeline, n, k);
                plan.latency = B * percent / 100;
                plan.groups[0].config.offload = true;
                let ours = good(&plan).groups[0].end;
                let bytes = u64::from(k) * u64::from(BLOCK);
                let theirs = Broadcast::ALL
                    .into_iter()
                    .filter_map(|b| best(b, n, bytes, BYTE, plan.latency))
                    .map(|(_, time)| time)
                    .min()
                    .unwrap();
                assert!(ours < theirs, "{n} {k} {percent}: {ours} {theirs}");
            }
        }
    }
}
