//! Fences of cards with bulk WRITEs: what a queue pair has posted before has ended.

use tributary_protocol::card::command::Command;
use tributary_protocol::card::descriptor::{
    Completion, OPCODE_SEND, Of, ReceiveRequest, WorkRequest, flags,
};
use tributary_protocol::xud::onesided::{Asked, Request};
use tributary_protocol::xud::{Outcome, Peer, Window};
use tributary_sim::pcie::{Access, Config};
use tributary_sim::testbench::stall::{Length, Profile};

use super::{CLOCK_NS, MTU, QUIET, library, open_to_writes, pair_of, write};
use crate::bench::{Dice, NODES, Pair, Queue, READS, WRITES};
use crate::onesided::{
    LOCAL_WRITE, REMOTE_READ, REMOTE_WRITE, SHARED, SHARED_LEN, one_sided, share,
};
use crate::seed;
use crate::traffic::{WRITABLE, work};

const FENCE: u8 = flags::FENCE.mask() as u8;
/// Where messages go, behind all that writes touch.
const MESSAGES: u64 = 30_000;
/// Requests that are posted at once.
const BATCH: u64 = 24;

fn profiles() -> [Profile; 3] {
    [
        Profile::Free,
        Profile::Independent(60),
        Profile::Bursts {
            gap: 400,
            length: Length::Geometric(200),
        },
    ]
}

fn fenced(request: WorkRequest) -> WorkRequest {
    WorkRequest {
        flags: FENCE,
        ..request
    }
}

/// A queue pair of both cards, larger than that of other tests.
fn queue(pair: &mut Pair) -> Queue {
    let queue = Queue::new(6, [6, 6, 7]);
    for at in 0..2 {
        pair.create(at, &queue);
    }
    queue
}

fn post(pair: &mut Pair, queue: &mut Queue, requests: &[WorkRequest]) {
    pair.post_sends(0, queue, requests);
    queue.posted = queue.posted.wrapping_add(requests.len() as u16);
}

/// Receive requests for so many messages at the other card.
fn receives(pair: &mut Pair, there: &mut Queue, count: usize) {
    let request = ReceiveRequest {
        wr_id: 0,
        address: WRITES + MESSAGES,
        lkey: WRITABLE.key(),
        length: 64,
    };
    let requests = vec![request; count];
    pair.post_receives(1, there, &requests);
    there.receives = there.receives.wrapping_add(count as u16);
}

fn consume(pair: &mut Pair, at: usize, queue: &mut Queue, count: usize) {
    queue.consumed = queue.consumed.wrapping_add(count as u16);
    pair.consume(at, queue);
}

/// Completions of this card when there are so many, and nothing follows for longer than a host stalls.
fn all_ended(pair: &mut Pair, here: &Queue, count: usize) -> Vec<Completion> {
    let most = pair.now + QUIET;
    while pair.completions(0, here).len() < count && pair.now < most {
        pair.run(100 * CLOCK_NS);
    }
    pair.settle(4_000 * CLOCK_NS);
    pair.completions(0, here)
}

/// Messages and writes of 0 to 3,000 bytes in any order, some with a fence: whatever stands before a fence ends before it and
/// before all that stands behind it. Without fences some overtake others.
#[test]
fn bw_12_a_fence_comes_behind_all_before_it_whatever_they_are() {
    let mut seed = seed();
    for stall in profiles() {
        for chance in [0, 30] {
            seed += 1;
            let overtakes = in_order(pair_of(seed, stall).0, seed, 8, chance);
            println!("seed {seed}, {stall:?}, {chance} % fences: {overtakes} overtake others");
            assert!(
                overtakes > 0,
                "without overtaking fences need not do anything"
            );
        }
    }
}

/// So many batches; how many requests have ended before one that was posted earlier.
pub fn in_order(mut pair: Pair, seed: u64, batches: u64, chance: u64) -> usize {
    let mut dice = Dice::new(seed);
    let mut here = queue(&mut pair);
    let mut there = here.clone();
    let to = Peer {
        node: NODES[1],
        qpn: here.qpn,
    };
    let mut overtakes = 0;
    for _ in 0..batches {
        let requests: Vec<_> = (0..BATCH)
            .map(|number| {
                let request = if dice.chance(50) {
                    let length = dice.below(65);
                    work(to, READS + dice.below(8), length, number)
                } else {
                    let length = dice.below(3_000);
                    write(&here, dice.below(8), dice.below(8), length, number)
                };
                if dice.chance(chance) {
                    fenced(request)
                } else {
                    request
                }
            })
            .collect();
        let messages = requests
            .iter()
            .filter(|request| request.opcode == OPCODE_SEND);
        let waiting = there.receives.wrapping_sub(there.consumed);
        let more = messages.count().saturating_sub(waiting.into());
        receives(&mut pair, &mut there, more);
        post(&mut pair, &mut here, &requests);
        let ended = all_ended(&mut pair, &here, requests.len());
        let order: Vec<_> = ended.iter().map(|ended| ended.wr_id).collect();
        // A host that stalls may give receive requests too late: that is an end, too.
        let good = ended
            .iter()
            .all(|ended| matches!(ended.status, Outcome::Ok | Outcome::RemoteRnr));
        let whole = good && order.len() == requests.len();
        assert!(whole, "seed {seed}: {ended:?}");
        for (at, number) in order.iter().enumerate() {
            let later = &order[at + 1..];
            let overtaken = later.iter().filter(|other| *other < number);
            overtakes += usize::from(overtaken.clone().count() > 0);
            for other in overtaken {
                let between = &requests[*other as usize + 1..=*number as usize];
                let fence = between.iter().any(|request| request.flags == FENCE);
                assert!(!fence, "seed {seed}: {number} before {other}: {order:?}");
            }
        }
        consume(&mut pair, 0, &mut here, order.len());
        let arrived = pair.completions(1, &there).len();
        consume(&mut pair, 1, &mut there, arrived);
    }
    for (at, queue) in [here, there].iter().enumerate() {
        pair.destroy(at, queue);
    }
    pair.check();
    overtakes
}

/// One-sided READ of the other's memory, bulk WRITE of what it brought, a message: when that is there, so are the bytes.
/// Without fences it comes before them.
#[test]
fn bw_12_behind_a_fence_everything_before_it_is_visible() {
    let mut seed = seed();
    for stall in profiles() {
        seed += 1;
        let config = Config {
            seed,
            stall,
            ..Config::default()
        };
        let early = visible(Pair::rtl_of(library(), &config), seed, FENCE);
        assert_eq!(early, 0, "seed {seed}, {stall:?}");
        let early = visible(Pair::rtl_of(library(), &config), seed, 0);
        assert!(early > 0, "seed {seed}, {stall:?}");
    }
}

/// How often a message has come before what stands in front of it, in twelve rounds.
fn visible(mut pair: Pair, seed: u64, flags: u8) -> usize {
    const PIECE: u64 = 400;
    const WHOLE: u64 = 3_000;
    let mut dice = Dice::new(seed);
    let all = LOCAL_WRITE | REMOTE_WRITE | REMOTE_READ;
    let mut keys = [0; 2];
    for (at, key) in keys.iter_mut().enumerate() {
        pair.open(at, MTU);
        let memory = pair.mapped(at);
        memory.map(SHARED, SHARED_LEN, Access::ReadWrite).unwrap();
        *key = share(&mut pair, at, 5, all, SHARED, SHARED_LEN);
        open_to_writes(&mut pair, at, &WRITABLE);
    }
    let mut here = Queue::new(6, [6, 6, 7]);
    let mut there = here.clone();
    pair.create(0, &here);
    let epoch = pair.create(1, &there);
    let args = [here.qpn, NODES[0], here.qpn, epoch.into()];
    pair.command(1, Command::OpenWindow, 200, &args);
    let to = Peer {
        node: NODES[1],
        qpn: here.qpn,
    };
    let mut early = 0;
    for round in 0..12 {
        let bytes = dice.bytes(PIECE as usize);
        pair.mapped(1).write(SHARED, &bytes);
        receives(&mut pair, &mut there, 1);
        // Until the card has read it.
        pair.run(2_000 * CLOCK_NS);
        let window = Window {
            id: 200,
            epoch,
            msn: round,
        };
        let asked = Request {
            address: SHARED,
            rkey: keys[1],
            asked: Asked::Read(PIECE as u32),
        };
        let read = one_sided(to, window, &asked, SHARED + 0x2000, keys[0]);
        let write = WorkRequest {
            address: SHARED + 0x2000,
            lkey: keys[0],
            flags,
            ..write(&here, 0, 8, WHOLE, 1)
        };
        let message = WorkRequest {
            lkey: keys[0],
            flags,
            ..work(to, SHARED, 8, 2)
        };
        post(&mut pair, &mut here, &[read, write, message]);
        let most = pair.now + QUIET;
        let mut arrived = pair.completions(1, &there);
        while arrived.is_empty() && pair.now < most {
            pair.step();
            arrived = pair.completions(1, &there);
        }
        let ends = pair.completions(0, &here);
        assert!(
            arrived.len() == 1 && arrived[0].of == Of::Receive,
            "{arrived:?}, {ends:?}"
        );
        let seen = pair.mapped(1).bytes(WRITES + 8, PIECE as usize);
        early += usize::from(seen != bytes);
        let ended = all_ended(&mut pair, &here, 3);
        let good = ended.iter().all(|ended| ended.status == Outcome::Ok);
        assert!(good && ended.len() == 3, "{ended:?}");
        consume(&mut pair, 0, &mut here, 3);
        consume(&mut pair, 1, &mut there, 1);
    }
    pair.command(1, Command::CloseWindow, 200, &[]);
    for (at, queue) in [here, there].iter().enumerate() {
        pair.destroy(at, queue);
    }
    pair.check();
    early
}
