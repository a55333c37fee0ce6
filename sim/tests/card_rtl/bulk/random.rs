//! Random transfers of any length at any address between cards, over a link that loses, doubles and overtakes: every byte, and no
//! other.

use tributary_protocol::card::descriptor::{ReceiveRequest, WorkRequest, flags};
use tributary_protocol::card::regs::{BULK_ALLOWANCE, BULK_ROUND_TRIP, BULK_TICK, BulkCounter};
use tributary_protocol::xud::onesided::{H_ADDRESS, H_RKEY};
use tributary_protocol::xud::{Outcome, Window};
use tributary_sim::pcie::{Access, Config};
use tributary_sim::testbench::stall::Profile;

use super::reads::{of_node, read};
use super::{CLOCK_NS, bulk_counter, library, write};
use crate::bench::{Dice, Faults, Pair, Queue};
use crate::onesided::{LOCAL_WRITE, REMOTE_READ, REMOTE_WRITE, share};
use crate::seed;

/// Memory of each host: in the first half are the places of what it asks for, in the second those of what the other one does.
const MEMORY: u64 = 0x1234_5678_9000_0000;
const PLACES: u64 = 8;
const PLACE: u64 = (256 << 10) + 0x2000;
const ALL: u64 = 2 * PLACES * PLACE;
/// Requests before cards are made anew.
const OF_A_PAIR: u64 = 80;
/// Time in which all requests of a round end, ns.
const PATIENCE: u64 = 2_000_000_000;

/// Each power of two up to 256 KiB is the most of as many lengths.
fn length(dice: &mut Dice) -> u64 {
    let most = 1 << dice.below(19);
    dice.below(most + 1)
}

/// As many requests, or more, between two cards: one in each place of each host, again and again. Memory of both is compared
/// with what it must be, where nobody wrote too.
fn run(seed: u64, wanted: u64) -> u64 {
    let mut dice = Dice::new(seed);
    // With the largest packets they overtake less: the time of a round is that of its longest ways.
    let [mtu, span] = [[256, 64], [512, 64], [1_024, 64], [4_096, 8]][seed as usize % 4];
    let tick = (mtu + 90) / 8;
    let spread = span * tick * CLOCK_NS;
    println!("seed {seed}, packets of {mtu} overtake by {span}");
    let config = Config {
        seed,
        stall: Profile::of_seed(seed),
        ..Config::default()
    };
    let mut pair = Pair::rtl_of(library(), &config);
    let queue = Queue::new(4, [5, 5, 6]);
    let rights = LOCAL_WRITE | REMOTE_READ | REMOTE_WRITE;
    let mut key = 0;
    for at in 0..2 {
        pair.open(at, mtu as u32);
        pair.write(at, &BULK_TICK, tick as u32);
        pair.write(at, &BULK_ROUND_TRIP, 16);
        pair.write(at, &BULK_ALLOWANCE, span as u32 + 2);
        pair.mapped(at).map(MEMORY, ALL, Access::ReadWrite).unwrap();
        key = share(&mut pair, at, 9, rights, MEMORY, ALL);
        pair.create(at, &queue);
    }
    pair.faults = Some(Faults {
        dice: Dice::new(seed ^ 0xFA17),
        loss: 10,
        double: 10,
        spread,
    });
    let mut queues = [queue.clone(), queue];
    let mut expected = [0, 1].map(|_| dice.bytes(ALL as usize));
    for (at, bytes) in expected.iter().enumerate() {
        pair.mapped(at).write(MEMORY, bytes);
    }
    let mut done = 0;
    while done < wanted {
        let mut requests = [Vec::new(), Vec::new()];
        let mut told = [0; 2];
        for at in 0..2usize {
            for place in 0..PLACES {
                let length = length(&mut dice);
                let room = (PLACE - length).min(5_000) + 1;
                let here = place * PLACE + dice.below(room);
                let there = (PLACES + place) * PLACE + dice.below(room);
                let reads = dice.chance(45);
                let (from, into) = if reads {
                    ((1 - at, there), (at, here))
                } else {
                    ((at, here), (1 - at, there))
                };
                let [first, last] = [from.1, from.1 + length].map(|at| at as usize);
                let bytes = expected[from.0][first..last].to_vec();
                expected[into.0][into.1 as usize..][..length as usize].copy_from_slice(&bytes);
                let mut request = of_node(
                    at,
                    if reads {
                        read(&queues[at], 0, 0, length, place)
                    } else {
                        write(&queues[at], 0, 0, length, place)
                    },
                );
                (request.address, request.lkey) = (MEMORY + here, key);
                H_ADDRESS.put(&mut request.head, MEMORY + there);
                H_RKEY.put(&mut request.head, key);
                if !reads && dice.chance(40) {
                    request.flags |= flags::NOTIFY.mask() as u8;
                    request.window = Window {
                        msn: length as u32,
                        ..Window::default()
                    };
                    told[1 - at] += 1;
                }
                if !reads && dice.chance(40) {
                    request.flags |= flags::OLDEST_FIRST.mask() as u8;
                }
                if dice.chance(20) {
                    request.flags |= flags::FENCE.mask() as u8;
                }
                requests[at].push(request);
            }
        }
        for at in 0..2 {
            receive(&mut pair, at, &mut queues[at], told[at]);
        }
        for (at, requests) in requests.iter().enumerate() {
            post(&mut pair, at, &mut queues[at], requests);
            done += PLACES;
        }
        let start = pair.now;
        for (at, queue) in queues.iter_mut().enumerate() {
            let all = PLACES as usize + told[at];
            while pair.completions(at, queue).len() < all {
                assert!(
                    pair.now - start < PATIENCE,
                    "node {at}: a request does not end"
                );
                pair.step();
            }
            let ended = pair.completions(at, queue);
            let ok = ended.iter().all(|ended| ended.status == Outcome::Ok);
            assert!(ok && ended.len() == all, "node {at}: {ended:?}");
            queue.consumed = queue.consumed.wrapping_add(all as u16);
            pair.consume(at, queue);
        }
        for (at, expected) in expected.iter().enumerate() {
            let got = pair.mapped(at).bytes(MEMORY, ALL as usize);
            let wrong = got.iter().zip(expected).position(|(a, b)| a != b);
            assert_eq!(wrong, None, "node {at}: first wrong byte");
        }
    }
    for (at, queue) in queues.iter().enumerate() {
        assert_eq!(bulk_counter(&mut pair, at, BulkCounter::Failed), 0);
        pair.destroy(at, queue);
    }
    pair.check();
    done
}

fn post(pair: &mut Pair, at: usize, queue: &mut Queue, requests: &[WorkRequest]) {
    pair.post_sends(at, queue, requests);
    queue.posted = queue.posted.wrapping_add(requests.len() as u16);
}

/// Receive requests for as many notifications.
fn receive(pair: &mut Pair, at: usize, queue: &mut Queue, count: usize) {
    let request = ReceiveRequest {
        wr_id: 0,
        address: MEMORY,
        lkey: 0,
        length: 0,
    };
    pair.post_receives(at, queue, &vec![request; count]);
    queue.receives = queue.receives.wrapping_add(count as u16);
}

#[test]
fn bw_01_bw_03_bw_11_every_byte_arrives_at_any_alignment_over_a_bad_link() {
    let frames: u64 = std::env::var("TRIBUTARY_FRAMES").map_or(0, |n| n.parse().unwrap());
    let (mut transfers, mut at) = (0, seed());
    while transfers < frames.max(1_000) {
        transfers += run(at, OF_A_PAIR);
        at += 1;
    }
    println!("{transfers} transfers");
}
