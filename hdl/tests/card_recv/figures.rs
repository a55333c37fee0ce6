//! Rates and latencies that the header of the block promises.

use crate::host::{CALM, Knobs};
use crate::ports::{large, small};
use crate::world::World;
use crate::{ready, receives, request};

/// Clocks for each of `count` messages of `length` bytes, spread over queue pairs, reads of 150 clocks.
fn clocks_per_message(mut world: World, qpns: &[usize], count: u64, length: usize) -> f64 {
    for &qpn in qpns {
        world.create(qpn, &ready(15));
    }
    for &qpn in qpns {
        world.post(qpn, &receives(0, count, 4096));
    }
    world.mtu = 4096;
    world.steps(300 + 16 * 4 * qpns.len() as u64);
    for psn in 0..count {
        let qpn = qpns[psn as usize % qpns.len()] as u32;
        world.requests.push_back(request(qpn, psn as u32, length));
    }
    world.until(1_000_000, "the messages", World::quiet);
    assert_eq!(world.counts.accepted, count);
    let first = world.takes[count as usize / 4];
    let last = world.takes[count as usize - 1];
    (last - first) as f64 / (count - 1 - count / 4) as f64
}

#[test]
fn a_small_message_takes_at_most_16_clocks_on_one_queue_pair_and_on_many() {
    for (slot, most) in [((4, 4), 14.5), ((7, 7), 15.5)] {
        let knobs = Knobs {
            slot_latency: slot,
            land_latency: (30, 30),
            ..CALM
        };
        let one = World::new(&small().1, 8, 16, knobs, 1);
        let one = clocks_per_message(one, &[3], 400, 8);
        let eight = World::new(&small().1, 8, 16, knobs, 1);
        let eight = clocks_per_message(eight, &[0, 1, 2, 3, 4, 5, 6, 7], 400, 8);
        println!("slot after {slot:?}: {one:.2} clocks on one queue pair, {eight:.2} on 8");
        assert!(one <= most && eight <= most, "{one}, {eight}");
    }
}

#[test]
fn a_thousand_queue_pairs_are_as_fast_as_one() {
    let world = World::new(&large().1, 1024, 64, CALM, 1);
    let qpns: Vec<usize> = (0..1024).collect();
    let clocks = clocks_per_message(world, &qpns, 3 * 1024, 0);
    println!("{clocks:.2} clocks on 1,024 queue pairs");
    assert!(clocks <= 14.5, "{clocks}");
}

#[test]
fn a_payload_of_4096_bytes_moves_at_95_percent_of_the_words_or_more() {
    let knobs = Knobs {
        land_latency: (30, 30),
        ..CALM
    };
    for jobs in [1, 2] {
        let knobs = Knobs {
            write_jobs: jobs,
            ..knobs
        };
        let world = World::new(&small().1, 8, 16, knobs, 1);
        let clocks = clocks_per_message(world, &[2], 40, 4096);
        println!("{clocks:.1} clocks for 512 words, {jobs} requests taken ahead");
        assert!(clocks <= 532.0 && 512.0 / clocks >= 0.95, "{clocks}");
    }
}

#[test]
fn latencies_are_those_of_the_header() {
    let mut world = World::new(&small().1, 8, 16, CALM, 1);
    world.create(1, &ready(4));
    world.steps(20);
    world.post(1, &receives(0, 4, 64));
    let read = world.until(50, "the read", |w| w.counts.reads == 1);
    world.steps(250);
    world.requests.push_back(request(1, 1, 8));
    let taken = world.until(50, "the verdict", |w| w.counts.accepted == 1);
    let asked = world.until(50, "the payload", |w| w.payloads == 1);
    world.until(50, "the rest", World::quiet);
    world.requests.push_back(request(5, 1, 8));
    let before = world.counts.verdicts[1];
    let refused = world.until(50, "the refusal", |w| w.counts.verdicts[1] > before);
    println!(
        "doorbell to read {read}, request to verdict {taken}, to m_wr {asked} more, refusal {refused}"
    );
    // The clock in which it is seen counts.
    assert_eq!((read, taken, asked, refused), (24 + 1, 13 + 1, 1, 5 + 1));
}
