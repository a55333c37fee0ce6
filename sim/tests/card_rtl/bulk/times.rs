//! Counters that say what transfers have waited for.

use tributary_protocol::card::descriptor::WorkRequest;
use tributary_protocol::card::regs::{BULK_ROUND_TRIP, BulkCounter};
use tributary_protocol::xud::{Outcome, Peer};
use tributary_sim::card::CLOCK_NS;
use tributary_sim::pcie::Config;
use tributary_sim::testbench::stall::Profile;

use super::{bulk_counter, pair_behind, pair_of, post, write};
use crate::bench::{NODES, Pair};
use crate::seed;

const SENDING: [BulkCounter; 4] = [
    BulkCounter::WaitCredit,
    BulkCounter::WaitRead,
    BulkCounter::WaitLine,
    BulkCounter::WaitPeer,
];
const RECEIVING: [BulkCounter; 3] = [
    BulkCounter::InWaitPeer,
    BulkCounter::InWaitWrite,
    BulkCounter::InWaitReceive,
];

/// Parts of these clocks that the sender waited for credit, reads, the line, the peer; the receiver for the peer, writes,
/// receive requests. No clock counts twice.
fn shares(pair: &mut Pair, clocks: u64) -> ([f64; 4], [f64; 3]) {
    let mut share = |at, counter| f64::from(bulk_counter(pair, at, counter)) / clocks as f64;
    let sending = SENDING.map(|counter| share(0, counter));
    let receiving = RECEIVING.map(|counter| share(1, counter));
    println!("{clocks} clocks: {sending:.2?}, {receiving:.2?}");
    for all in [&sending[..], &receiving] {
        assert!(all.iter().sum::<f64>() < 1.01, "{all:?}");
    }
    (sending, receiving)
}

/// One write of `length` bytes, to its end; the clocks that it takes.
fn whole(pair: &mut Pair, queue: &mut crate::bench::Queue, length: u64) -> u64 {
    let request = write(queue, 0, 0, length, 1);
    let begun = pair.now;
    post(pair, 0, queue, request);
    while pair.completions(0, queue).is_empty() {
        assert!(pair.now - begun < 400_000 * CLOCK_NS);
        pair.step();
    }
    assert_eq!(pair.completions(0, queue)[0].status, Outcome::Ok);
    (pair.now - begun) / CLOCK_NS
}

/// A fast host waits for the line, a slow one makes the line and the peer wait. Both answer in order: otherwise the first of ten
/// reads may wait for the words of all, and the line with it.
#[test]
fn bw_06_a_transfer_waits_for_the_line_or_for_its_slow_host() {
    let behind = |latency| {
        let config = Config {
            seed: seed(),
            latency: latency..=latency,
            ordered: true,
            ..Config::default()
        };
        let (mut pair, mut queue) = pair_behind(&config);
        // Far more than reads take: polls are no part of this.
        pair.write(0, &BULK_ROUND_TRIP, 500);
        let clocks = whole(&mut pair, &mut queue, 30_000);
        shares(&mut pair, clocks)
    };
    let (fast, _) = behind(100);
    assert!(fast[2] > 0.5 && fast[1] < 0.1, "{fast:?}");
    let (slow, receiver) = behind(3_000);
    assert!(slow[1] > 0.6 && slow[2] < 0.2, "{slow:?}");
    assert!(receiver[0] > 0.6, "{receiver:?}");
}

/// A host that takes no writes: its card waits for it, and the sender for credit in the end.
#[test]
fn bw_07_a_transfer_waits_for_credit_when_its_receiver_waits_for_host_memory() {
    let (mut pair, mut queue) = pair_of(seed(), Profile::Free);
    pair.write(0, &BULK_ROUND_TRIP, 500);
    pair.set_bus_master(1, false);
    let request = write(&queue, 0, 0, 60_000, 1);
    post(&mut pair, 0, &mut queue, request);
    let begun = pair.now;
    pair.run(30_000 * CLOCK_NS);
    let clocks = (pair.now - begun) / CLOCK_NS;
    let (sender, receiver) = shares(&mut pair, clocks);
    assert!(receiver[1] > 0.8, "{receiver:?}");
    assert!(sender[0] > 0.3 && sender[1] < 0.1, "{sender:?}");
    pair.set_bus_master(1, true);
    while pair.completions(0, &queue).is_empty() {
        assert!(pair.now - begun < 400_000 * CLOCK_NS);
        pair.step();
    }
    assert_eq!(pair.completions(0, &queue)[0].status, Outcome::Ok);
}

/// A peer that is not there.
#[test]
fn bw_01_a_transfer_waits_for_a_peer_that_does_not_answer() {
    let (mut pair, mut queue) = pair_of(seed(), Profile::Free);
    let request = WorkRequest {
        to: Peer {
            node: NODES[1] ^ 0x40,
            qpn: queue.qpn,
        },
        ..write(&queue, 0, 0, 1_000, 1)
    };
    let begun = pair.now;
    post(&mut pair, 0, &mut queue, request);
    pair.run(20_000 * CLOCK_NS);
    let clocks = (pair.now - begun) / CLOCK_NS;
    let (sender, receiver) = shares(&mut pair, clocks);
    assert!(sender[3] > 0.9, "{sender:?}");
    assert!(receiver.iter().all(|share| *share == 0.0), "{receiver:?}");
}
