//! Bulk WRITEs that notify: the host there gets one completion, behind every byte, for a receive request.

use tributary_protocol::card::command::Command;
use tributary_protocol::card::descriptor::{Completion, Of, ReceiveRequest, WorkRequest, flags};
use tributary_protocol::card::regs::{
    BULK_ALLOWANCE, BULK_ROUND_TRIP, BULK_TICK, BulkCounter, CONTROL, CONTROL_RESET, Counter,
};
use tributary_protocol::xud::wire::ONE_SIDED_FRAME;
use tributary_protocol::xud::{Outcome, Peer, Window};
use tributary_sim::testbench::stall::{Length, Profile};

use super::{CLOCK_NS, MTU, PLACE, QUIET, bulk_counter, open_to_writes, pair_of, post, write};
use crate::bench::{Dice, NODES, Pair, Queue, READS, WRITES};
use crate::seed;
use crate::traffic::{READABLE, WRITABLE, work};

const NOTIFY: u8 = flags::NOTIFY.mask() as u8;
/// Where messages go, behind all that writes touch.
const MESSAGES: u64 = 8 * PLACE;
/// Clocks of a tick, of a packet of 512 bytes.
const TICK: u64 = 75;
/// Ticks of a round trip, and how far packets overtake.
const TIMES: [u32; 2] = [16, 2];
/// Clocks for which a notification waits: the longest poll interval, 64 round trips, and two of the first, of two round trips
/// and allowances.
const PATIENCE: u64 = (64 * 16 + 4 * (16 + 2)) * TICK;

/// Two cards whose times fit the links of these tests.
fn cards(seed: u64, stall: Profile) -> (Pair, Queue) {
    let (mut pair, _) = pair_of(seed, stall);
    for at in 0..2 {
        tune(&mut pair, at);
    }
    let queue = Queue::new(6, [6, 6, 7]);
    for at in 0..2 {
        pair.create(at, &queue);
    }
    (pair, queue)
}

fn tune(pair: &mut Pair, at: usize) {
    pair.write(at, &BULK_TICK, TICK as u32);
    pair.write(at, &BULK_ROUND_TRIP, TIMES[0]);
    pair.write(at, &BULK_ALLOWANCE, TIMES[1]);
}

/// A write to a place of its own that notifies; its immediate data tells which it is.
fn notifying(queue: &Queue, place: u64, length: u64, immediate: u32) -> WorkRequest {
    WorkRequest {
        flags: NOTIFY,
        window: Window {
            msn: immediate,
            ..Window::default()
        },
        ..write(queue, place * PLACE, place * PLACE, length, place)
    }
}

fn receives(pair: &mut Pair, there: &mut Queue, count: usize) {
    let numbers = there.receives..;
    let requests: Vec<_> = numbers
        .take(count)
        .map(|number| ReceiveRequest {
            wr_id: 0x1000 + u64::from(number),
            address: WRITES + MESSAGES,
            lkey: WRITABLE.key(),
            length: 64,
        })
        .collect();
    pair.post_receives(1, there, &requests);
    there.receives = there.receives.wrapping_add(count as u16);
}

/// What a completion of a notification says of a write.
fn assert_tells(told: &Completion, queue: &Queue, request: &WorkRequest) {
    assert_eq!(
        (told.status, told.of),
        (Outcome::Ok, Of::Notify),
        "{told:?}"
    );
    assert_eq!(told.length, request.length, "{told:?}");
    assert_eq!(told.wr_id, 0x1000 + u64::from(told.request), "{told:?}");
    assert_eq!(told.version_flags, ONE_SIDED_FRAME, "{told:?}");
    assert_eq!((told.q_key, told.psn), (queue.q_key, 0), "{told:?}");
    assert_eq!(told.window, request.window, "{told:?}");
    let from = Peer {
        node: NODES[0],
        qpn: queue.qpn,
    };
    assert_eq!(told.peer, from, "{told:?}");
}

/// Messages, writes that notify and others, whose receive requests come early or late: each notification comes when all of its
/// write is in memory, once, and before the sender's completion; receive requests are taken in their order by both kinds.
#[test]
fn bw_03_notifications_among_messages_come_once_and_behind_the_last_byte() {
    let mut seed = seed();
    for stall in [
        Profile::Free,
        Profile::Independent(60),
        Profile::Bursts {
            gap: 400,
            length: Length::Geometric(200),
        },
    ] {
        seed += 1;
        println!("seed {seed}, {stall:?}");
        let (pair, queue) = cards(seed, stall);
        among_messages(pair, queue, seed, 6);
    }
}

pub fn among_messages(mut pair: Pair, mut here: Queue, seed: u64, rounds: u64) {
    let mut dice = Dice::new(seed);
    let mut there = here.clone();
    let to = Peer {
        node: NODES[1],
        qpn: here.qpn,
    };
    for round in 0..rounds {
        let mut requests = Vec::new();
        for place in 0..8 {
            let length = dice.below(2) * dice.below(PLACE - 8);
            let bytes = dice.bytes(PLACE as usize);
            pair.mapped(0).write(READS + place * PLACE, &bytes);
            requests.push(match dice.below(4) {
                0 => work(to, READS, dice.below(65), place),
                1 => write(&here, place * PLACE, place * PLACE, length, place),
                _ => notifying(&here, place, length, dice.word() as u32 & !7 | place as u32),
            });
        }
        let takes = requests
            .iter()
            .filter(|request| request.opcode == 1 || request.flags == NOTIFY)
            .count();
        // A message that finds none is answered so; a notification waits.
        let messages = requests
            .iter()
            .filter(|request| request.opcode == 1)
            .count();
        let late = dice.below((takes - messages + 1) as u64) as usize;
        receives(&mut pair, &mut there, takes - late);
        pair.run(2_000 * CLOCK_NS);
        pair.post_sends(0, &here, &requests);
        here.posted = here.posted.wrapping_add(8);
        let (mut told, mut ended, mut unready) = (0, 0, 0);
        let mut late_at = Some(pair.now + dice.below(PATIENCE / 4) * CLOCK_NS);
        let most = pair.now + 40 * PATIENCE * CLOCK_NS;
        let mut notified = [false; 8];
        while ended < 8 {
            assert!(pair.now < most, "round {round}: {ended} have ended");
            pair.step();
            if late_at.is_some_and(|at| at <= pair.now) {
                receives(&mut pair, &mut there, late);
                late_at = None;
            }
            let arrived = pair.completions(1, &there);
            for completion in &arrived[told..] {
                let number = there.consumed.wrapping_add(told as u16);
                told += 1;
                if completion.of != Of::Notify {
                    continue;
                }
                let place = completion.window.msn as usize & 7;
                let request = &requests[place];
                assert_tells(completion, &here, request);
                assert!(!notified[place], "{number}: {completion:?} again");
                notified[place] = true;
                let at = place as u64 * PLACE;
                let length = request.length as usize;
                let bytes = pair.mapped(0).bytes(READS + at, length);
                assert!(pair.mapped(1).bytes(WRITES + at, length) == bytes);
            }
            let new = pair.completions(0, &here);
            for completion in &new[ended..] {
                ended += 1;
                let place = completion.wr_id as usize;
                let wants = requests[place].flags == NOTIFY;
                if requests[place].opcode == 1 && completion.status == Outcome::RemoteRnr {
                    unready += 1;
                    continue;
                }
                assert_eq!(completion.status, Outcome::Ok, "{:?}", requests[place]);
                assert_eq!(notified[place], wants, "{:?}", requests[place]);
            }
        }
        pair.settle(2_000 * CLOCK_NS);
        let arrived = pair.completions(1, &there);
        assert_eq!(arrived.len(), takes - unready, "round {round}");
        let numbers: Vec<_> = arrived.iter().map(|told| told.request).collect();
        assert!(
            numbers
                .windows(2)
                .all(|two| two[1] == two[0].wrapping_add(1)),
            "{numbers:?}"
        );
        here.consumed = here.consumed.wrapping_add(8);
        pair.consume(0, &here);
        there.consumed = there.consumed.wrapping_add(arrived.len() as u16);
        pair.consume(1, &there);
        // Those that a message did not take are there for the next round.
        let left = there.receives.wrapping_sub(there.consumed);
        if left > 0 {
            for place in 0..u64::from(left) {
                let request = notifying(&here, place, 0, place as u32);
                post(&mut pair, 0, &mut here, request);
            }
            pair.settle(QUIET);
            let ends = [pair.completions(0, &here), pair.completions(1, &there)];
            assert!(
                ends.iter().all(|ends| ends.len() == usize::from(left)),
                "{ends:?}"
            );
            here.consumed = here.consumed.wrapping_add(left);
            pair.consume(0, &here);
            there.consumed = there.consumed.wrapping_add(left);
            pair.consume(1, &there);
        }
    }
    for (at, queue) in [here, there].iter().enumerate() {
        pair.destroy(at, queue);
    }
    pair.check();
}

/// What waits takes the receive requests that come, and what is left ends as not ready, not before its time; the bytes are
/// there. What waits stops nobody else, neither writes nor messages of other queue pairs.
#[test]
fn bw_03_without_a_receive_request_it_waits_and_then_ends_as_rnr() {
    let (mut pair, mut here) = cards(seed(), Profile::Independent(32));
    let mut there = here.clone();
    let bytes = Dice::new(1).bytes(3 * PLACE as usize);
    pair.mapped(0).write(READS, &bytes);
    let begun = pair.now;
    for place in 0..3 {
        let request = notifying(&here, place, 1_000 + place, 7 + place as u32);
        post(&mut pair, 0, &mut here, request);
    }
    let plain = write(&here, 0, 3 * PLACE, 2_000, 3);
    post(&mut pair, 0, &mut here, plain);
    pair.run(PATIENCE / 2 * CLOCK_NS);
    for place in 0..3 {
        let (at, length) = (place * PLACE, 1_000 + place as usize);
        let arrived = pair.mapped(1).bytes(WRITES + at, length);
        assert!(arrived == bytes[at as usize..][..length], "write {place}");
    }
    let ended = pair.completions(0, &here);
    assert!(matches!(&ended[..], [one] if one.wr_id == 3), "{ended:?}");
    assert!(pair.completions(1, &there).is_empty());
    receives(&mut pair, &mut there, 2);
    while pair.completions(0, &here).len() < 4 {
        assert!(pair.now - begun < 4 * PATIENCE * CLOCK_NS);
        pair.step();
    }
    let clocks = (pair.now - begun) / CLOCK_NS;
    println!("not ready after {clocks} clocks, {PATIENCE} at least");
    assert!(clocks > PATIENCE);
    let told = pair.completions(1, &there);
    let mut places: Vec<_> = told
        .iter()
        .map(|told| u64::from(told.window.msn) - 7)
        .collect();
    for (told, place) in told.iter().zip(&places) {
        assert_tells(
            told,
            &here,
            &notifying(&here, *place, 1_000 + place, 7 + *place as u32),
        );
    }
    let ended = pair.completions(0, &here);
    let mut good: Vec<_> = ended[1..3].iter().map(|ended| ended.wr_id).collect();
    assert!(
        ended[..3].iter().all(|ended| ended.status == Outcome::Ok),
        "{ended:?}"
    );
    places.sort_unstable();
    good.sort_unstable();
    assert_eq!(places, good);
    assert_eq!(ended[3].status, Outcome::RemoteRnr);
    assert_eq!(bulk_counter(&mut pair, 1, BulkCounter::NotReady), 1);
    assert_eq!(bulk_counter(&mut pair, 1, BulkCounter::Received), 3);
    assert_eq!(bulk_counter(&mut pair, 1, BulkCounter::ReceivedAborted), 1);
    // All but the time of the writes themselves.
    let waited = u64::from(bulk_counter(&mut pair, 1, BulkCounter::InWaitReceive));
    assert!(
        (PATIENCE * 9 / 10..clocks).contains(&waited),
        "{waited} of {clocks} clocks"
    );
    // It is no message that found no receive request.
    assert_eq!(pair.counter(1, Counter::Rnr), 0);
    for (at, queue) in [here, there].iter().enumerate() {
        pair.destroy(at, queue);
    }
    pair.check();
}

/// A queue pair, a region, a card that ends takes what waits with it: who comes after is told nothing of it.
#[test]
fn bw_03_bw_09_what_waits_for_a_receive_request_ends_with_its_queue_pair_region_and_card() {
    let seed = seed();
    let (mut pair, first) = cards(seed, Profile::Independent(60));
    let mut here = first.clone();
    for (round, ends) in ["pair", "region", "card"].into_iter().enumerate() {
        let mut there = first.clone();
        for place in 0..4 {
            let request = notifying(&here, place, 100 * place, place as u32);
            post(&mut pair, 0, &mut here, request);
        }
        pair.run((20_000 + 1_000 * round as u64) * CLOCK_NS);
        assert!(pair.completions(0, &here).is_empty(), "{ends}");
        match ends {
            "pair" => {
                pair.command(1, Command::DestroyQp, first.qpn, &[]);
                pair.unmap_rings(1, &first);
                pair.create(1, &first);
            }
            "region" => {
                pair.command(1, Command::ClearRegion, WRITABLE.index, &[]);
                open_to_writes(&mut pair, 1, &WRITABLE);
                // The queue pair goes on as it was.
            }
            _ => {
                pair.write(1, &CONTROL, CONTROL_RESET.mask());
                pair.run(4_000 * CLOCK_NS);
                pair.unmap_rings(1, &first);
                pair.open(1, MTU);
                pair.set_region(1, &READABLE);
                open_to_writes(&mut pair, 1, &WRITABLE);
                tune(&mut pair, 1);
                pair.create(1, &first);
            }
        }
        receives(&mut pair, &mut there, 4);
        let most = pair.now + 20 * PATIENCE * CLOCK_NS;
        while pair.completions(0, &here).len() < 4 {
            assert!(pair.now < most, "{ends}: {:?}", pair.completions(0, &here));
            pair.step();
        }
        let ended = pair.completions(0, &here);
        assert!(
            ended.iter().all(|ended| ended.status == Outcome::Aborted),
            "{ends}: {ended:?}"
        );
        here.consumed = here.consumed.wrapping_add(4);
        pair.consume(0, &here);
        pair.settle(QUIET);
        assert!(pair.completions(1, &there).is_empty(), "{ends}");
        // A new one goes well, and takes the first receive request.
        let request = notifying(&here, 1, 500, 1);
        post(&mut pair, 0, &mut here, request);
        let most = pair.now + 20 * PATIENCE * CLOCK_NS;
        while pair.completions(0, &here).is_empty() {
            assert!(pair.now < most, "{ends}: a new one does not end");
            pair.step();
        }
        assert_eq!(pair.completions(0, &here)[0].status, Outcome::Ok, "{ends}");
        let told = pair.completions(1, &there);
        assert_eq!(told.len(), 1, "{ends}");
        assert_tells(&told[0], &here, &request);
        here.consumed = here.consumed.wrapping_add(1);
        pair.consume(0, &here);
        // The next round begins with a queue pair that has none.
        pair.command(1, Command::DestroyQp, first.qpn, &[]);
        pair.unmap_rings(1, &first);
        pair.create(1, &first);
    }
    pair.destroy(0, &here);
    pair.destroy(1, &first);
    pair.check();
}
