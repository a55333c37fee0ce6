//! READs of any size: from memory there to memory here, while the host there does nothing.

use tributary_protocol::card::command::Command;
use tributary_protocol::card::descriptor::{Completion, OPCODE_BULK_READ, WorkRequest, flags};
use tributary_protocol::card::regs::{BULK_TICK, BulkCounter, CONTROL, CONTROL_RESET};
use tributary_protocol::xud::onesided::{Asked, HEADER_LEN, Request};
use tributary_protocol::xud::wire::ONE_SIDED_FRAME;
use tributary_protocol::xud::{Outcome, Peer};
use tributary_sim::pcie::Access;
use tributary_sim::testbench::stall::{Length, Profile};

use super::{
    CLOCK_NS, MTU, PLACE, QUIET, bulk_counter, open_to_writes, pair, pair_of, post, write,
};
use crate::bench::{AREA, Dice, NODES, Pair, Queue, READS, Region, WRITES};
use crate::onesided::{LOCAL_WRITE, REMOTE_READ, SHARED, SHARED_LEN, share};
use crate::traffic::{READABLE, WRITABLE, work};
use crate::{long, seed};

/// Makes a region that others may read.
fn open_to_reads(pair: &mut Pair, at: usize, region: &Region) {
    let mut args = region.args();
    args[0] |= REMOTE_READ;
    pair.command(at, Command::SetRegion, region.index, &args);
}

/// Lets each card read the memory of the other.
fn readable((mut pair, queue): (Pair, Queue)) -> (Pair, Queue) {
    for at in 0..2 {
        open_to_reads(&mut pair, at, &READABLE);
    }
    (pair, queue)
}

/// A bulk READ from the readable memory there to the writable one here.
pub fn read(queue: &Queue, from: u64, to: u64, length: u64, wr_id: u64) -> WorkRequest {
    let header = Request {
        address: READS + from,
        rkey: READABLE.key(),
        asked: Asked::Read(0),
    };
    let peer = Peer {
        node: NODES[1],
        qpn: queue.qpn,
    };
    WorkRequest {
        opcode: OPCODE_BULK_READ,
        head_len: HEADER_LEN as u8,
        version_flags: ONE_SIDED_FRAME,
        head: header.header(),
        address: WRITES + to,
        lkey: WRITABLE.key(),
        ..work(peer, 0, length, wr_id)
    }
}

/// A request of this card to the other one.
pub fn of_node(at: usize, request: WorkRequest) -> WorkRequest {
    let to = Peer {
        node: NODES[1 - at],
        ..request.to
    };
    WorkRequest { to, ..request }
}

#[test]
fn bw_11_a_read_of_any_size_brings_what_is_there_and_its_host_notices_nothing() {
    let seed = seed();
    let (mut pair, mut queue) = readable(pair(seed));
    let mut dice = Dice::new(seed);
    let there = queue.clone();
    let lengths = [0, 1, 8, 511, 512, 513, 4_096, 5_000, 40_000];
    for (number, length) in (0..).zip(lengths) {
        let (from, to) = (dice.below(8), dice.below(8));
        let bytes = dice.bytes(length);
        pair.mapped(1).write(READS + from, &bytes);
        let request = read(&queue, from, to, length as u64, number);
        post(&mut pair, 0, &mut queue, request);
        pair.settle(QUIET);
        let ended = pair.completions(0, &queue);
        let [ended] = ended[..] else {
            panic!("{length} bytes: {ended:?}")
        };
        assert_eq!(
            (ended.wr_id, ended.status),
            (number, Outcome::Ok),
            "{length} bytes"
        );
        queue.consumed += 1;
        pair.consume(0, &queue);
        let arrived = pair.mapped(0).bytes(WRITES + to, length);
        assert!(arrived == bytes, "{length} bytes");
    }
    assert!(pair.completions(1, &there).is_empty());
    let all = lengths.len() as u32;
    for (at, counter, count) in [
        (0, BulkCounter::Completed, all),
        (0, BulkCounter::Received, all),
        (0, BulkCounter::Failed, 0),
        (0, BulkCounter::DataDuplicate, 0),
        (1, BulkCounter::Served, all),
        (1, BulkCounter::Completed, 0),
        // Nothing is lost, so nothing is sent in vain.
        (1, BulkCounter::DataResent, 0),
    ] {
        let counted = bulk_counter(&mut pair, at, counter);
        assert_eq!(counted, count, "{counter} of node {at}");
    }
    for at in 0..2 {
        pair.destroy(at, &queue);
    }
    pair.check();
}

/// Both cards read from and write to each other, more at once than there are places and slots, while every frame arrives twice
/// or once, and buses stall in these ways. What finds no slot there is asked for again, which nobody is told.
#[test]
fn bw_01_bw_11_reads_and_writes_both_ways_beside_each_other_arrive_whole() {
    let mut seed = seed();
    let profiles = [
        Profile::Free,
        Profile::Independent(60),
        Profile::Bursts {
            gap: 400,
            length: Length::Geometric(200),
        },
        Profile::Together {
            gap: 2_000,
            length: Length::Fixed(1_000),
        },
    ];
    let mut busy = 0;
    for stall in profiles {
        for copies in [1, 2] {
            seed += 1;
            println!("seed {seed}, {stall:?}, {copies} copies");
            busy += both_ways(readable(pair_of(seed, stall)).0, seed, copies);
        }
    }
    assert!(busy > 0, "no card was ever busy");
}

/// How often a card was too busy to serve a read.
fn both_ways(mut pair: Pair, seed: u64, copies: usize) -> u32 {
    /// Requests of each card at once; places for what is read, and behind them for what is written.
    const AT_ONCE: u64 = 30;
    const BYTES: u64 = 1_000;
    pair.copies = copies;
    let queue = Queue::new(6, [6, 6, 7]);
    for at in 0..2 {
        pair.create(at, &queue);
    }
    let mut queues = [queue.clone(), queue];
    let mut dice = Dice::new(seed);
    let mut wanted = Vec::new();
    for (at, queue) in queues.iter_mut().enumerate() {
        let mut requests = Vec::new();
        for number in 0..AT_ONCE {
            let length = dice.below(BYTES - 8);
            let bytes = dice.bytes(length as usize);
            let (from, to) = (
                number * BYTES + dice.below(8),
                number * BYTES + dice.below(8),
            );
            if dice.chance(60) {
                pair.mapped(1 - at).write(READS + from, &bytes);
                requests.push(of_node(at, read(queue, from, to, length, number)));
                wanted.push((at, to, bytes));
            } else {
                let behind = AT_ONCE * BYTES;
                let (from, to) = (behind + from, behind + to);
                pair.mapped(at).write(READS + from, &bytes);
                requests.push(of_node(at, write(queue, from, to, length, number)));
                wanted.push((1 - at, to, bytes));
            }
        }
        pair.post_sends(at, queue, &requests);
        queue.posted = queue.posted.wrapping_add(AT_ONCE as u16);
    }
    pair.settle(QUIET);
    for (at, queue) in queues.iter_mut().enumerate() {
        let mut ended = pair.completions(at, queue);
        ended.sort_by_key(|ended| ended.wr_id);
        let ended: Vec<_> = ended.iter().map(|e| (e.wr_id, e.status)).collect();
        let all: Vec<_> = (0..AT_ONCE).map(|number| (number, Outcome::Ok)).collect();
        assert_eq!(ended, all, "node {at}");
        queue.consumed = queue.consumed.wrapping_add(AT_ONCE as u16);
        pair.consume(at, queue);
    }
    for (at, to, bytes) in wanted {
        let arrived = pair.mapped(at).bytes(WRITES + to, bytes.len());
        assert!(arrived == bytes, "{} bytes at node {at}", bytes.len());
    }
    let busy = (0..2).map(|at| bulk_counter(&mut pair, at, BulkCounter::Busy));
    let busy = busy.sum();
    for (at, queue) in queues.iter().enumerate() {
        pair.destroy(at, queue);
    }
    pair.check();
    busy
}

/// A key that nobody has, of memory that others may not read, beyond its end; of the own memory, which this card may only read; a
/// queue pair that is not there, one with another Q_Key; a READ that notifies.
#[test]
fn bw_02_bw_11_a_read_without_the_right_to_it_ends_so_and_writes_nothing() {
    let (mut pair, mut queue) = readable(pair(seed()));
    let other = Queue {
        q_key: queue.q_key ^ 1,
        ..Queue::new(3, [4, 4, 6])
    };
    pair.create(1, &other);
    let good = read(&queue, 0, 0, 1_500, 0);
    let head = |address: u64, rkey: u32| {
        let asked = Asked::Read(0);
        Request {
            address,
            rkey,
            asked,
        }
        .header()
    };
    let qpn = |qpn| Peer { qpn, ..good.to };
    let before = pair.mapped(0).bytes(WRITES, 2_000);
    for (request, expected) in [
        (
            WorkRequest {
                head: head(READS, READABLE.key() ^ 1),
                ..good
            },
            Outcome::RemoteAccess,
        ),
        (
            WorkRequest {
                head: head(WRITES, WRITABLE.key()),
                ..good
            },
            Outcome::RemoteAccess,
        ),
        (
            WorkRequest {
                head: head(READS + READABLE.length - 1_499, READABLE.key()),
                ..good
            },
            Outcome::RemoteAccess,
        ),
        (
            WorkRequest {
                lkey: WRITABLE.key() ^ 1,
                ..good
            },
            Outcome::LocalProtection,
        ),
        (
            WorkRequest {
                address: READS,
                lkey: READABLE.key(),
                ..good
            },
            Outcome::LocalProtection,
        ),
        (
            WorkRequest {
                address: WRITES + WRITABLE.length - 1_499,
                ..good
            },
            Outcome::LocalProtection,
        ),
        (WorkRequest { to: qpn(9), ..good }, Outcome::BadQp),
        (
            WorkRequest {
                to: qpn(other.qpn),
                ..good
            },
            Outcome::Unreachable,
        ),
        (
            WorkRequest {
                flags: flags::NOTIFY.mask() as u8,
                ..good
            },
            Outcome::LocalOpcode,
        ),
        (good, Outcome::Ok),
    ] {
        let wr_id = queue.posted.into();
        if expected == Outcome::Ok {
            assert!(pair.mapped(0).bytes(WRITES, 2_000) == before);
        }
        post(&mut pair, 0, &mut queue, WorkRequest { wr_id, ..request });
        let ended = wait(&mut pair, &queue, 1);
        let ended: Vec<_> = ended.iter().map(|e| (e.wr_id, e.status)).collect();
        assert_eq!(ended, [(wr_id, expected)], "{request:?}");
        queue.consumed += 1;
        pair.consume(0, &queue);
    }
    assert_eq!(bulk_counter(&mut pair, 1, BulkCounter::Access), 3);
    assert_eq!(bulk_counter(&mut pair, 1, BulkCounter::BadQp), 1);
    // Asked seven times, since nobody answers.
    assert_eq!(bulk_counter(&mut pair, 1, BulkCounter::BadKey), 7);
    pair.destroy(1, &other);
    for at in 0..2 {
        pair.destroy(at, &queue);
    }
    pair.check();
}

/// Behind a READ a fenced WRITE sends on what it has brought.
#[test]
fn bw_12_what_a_read_has_brought_is_there_behind_its_fence() {
    let seed = seed();
    let (mut pair, mut queue) = readable(pair_of(seed, Profile::Independent(60)));
    // The same memory is read into and written from.
    let memory = pair.mapped(0);
    memory.map(SHARED, SHARED_LEN, Access::ReadWrite).unwrap();
    let shared = share(&mut pair, 0, 5, LOCAL_WRITE, SHARED, SHARED_LEN);
    let mut dice = Dice::new(seed);
    for round in 0..8 {
        let length = dice.below(PLACE);
        let bytes = dice.bytes(length as usize);
        pair.mapped(1).write(READS, &bytes);
        let brings = WorkRequest {
            address: SHARED,
            lkey: shared,
            ..read(&queue, 0, 0, length, 2 * round)
        };
        let sends = WorkRequest {
            address: SHARED,
            lkey: shared,
            flags: flags::FENCE.mask() as u8,
            ..write(&queue, 0, PLACE, length, 2 * round + 1)
        };
        pair.post_sends(0, &queue, &[brings, sends]);
        queue.posted += 2;
        let ended = wait(&mut pair, &queue, 2);
        let ended: Vec<_> = ended.iter().map(|e| (e.wr_id, e.status)).collect();
        let all = [(2 * round, Outcome::Ok), (2 * round + 1, Outcome::Ok)];
        assert_eq!(ended, all);
        queue.consumed += 2;
        pair.consume(0, &queue);
        let arrived = pair.mapped(1).bytes(WRITES + PLACE, bytes.len());
        assert!(arrived == bytes, "{length} bytes");
    }
    for at in 0..2 {
        pair.destroy(at, &queue);
    }
    pair.check();
}

/// Waits for so many completions, and no longer.
fn wait(pair: &mut Pair, queue: &Queue, count: usize) -> Vec<Completion> {
    let start = pair.now;
    loop {
        let ended = pair.completions(0, queue);
        if ended.len() >= count {
            return ended;
        }
        assert!(pair.now - start < 200 * QUIET, "{ended:?}");
        pair.step();
    }
}

/// Posts eight reads, and lets a random part of the time pass that they take.
fn begin_eight(pair: &mut Pair, dice: &mut Dice, queue: &mut Queue) {
    for number in 0..8 {
        let request = read(queue, 0, number * PLACE, PLACE, number);
        post(pair, 0, queue, request);
    }
    pair.run(dice.below(9_000) * CLOCK_NS);
}

/// A new read, after whatever happened, goes well.
fn goes_well(pair: &mut Pair, dice: &mut Dice, queue: &mut Queue) {
    let bytes = dice.bytes(3_000);
    pair.mapped(1).write(READS, &bytes);
    let request = read(queue, 0, 0, 3_000, 99);
    post(pair, 0, queue, request);
    let ended = wait(pair, queue, 1);
    assert_eq!(ended[0].status, Outcome::Ok);
    queue.consumed = queue.consumed.wrapping_add(1);
    pair.consume(0, queue);
    assert!(pair.mapped(0).bytes(WRITES, 3_000) == bytes);
}

/// What ends under reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ends {
    OwnPair,
    TheirPair,
    OwnRegion,
    TheirRegion,
}

/// At any moment of eight reads: none ends twice, each says why, nothing is written where it ended, and new ones go well.
#[test]
fn bw_02_bw_05_bw_09_bw_11_what_ends_takes_its_reads_with_it() {
    let seed = seed();
    let rounds = if long() { 64 } else { 12 };
    let (flushed, refused) = end_under_reads(pair(seed), seed, rounds);
    assert!(
        flushed > 4 && refused > 10,
        "{flushed}, {refused}: too few were under way"
    );
}

/// How many reads had no completion, and how many one that is not OK.
pub fn end_under_reads(cards: (Pair, Queue), seed: u64, rounds: usize) -> (usize, usize) {
    use Ends::{OwnPair, OwnRegion, TheirPair, TheirRegion};
    let (mut pair, first) = readable(cards);
    let mut dice = Dice::new(seed);
    let mut queue = first.clone();
    let (mut flushed, mut refused) = (0, 0);
    let order = [OwnPair, TheirPair, OwnRegion, TheirRegion];
    for ends in order.into_iter().cycle().take(rounds) {
        begin_eight(&mut pair, &mut dice, &mut queue);
        let (at, command, index, says) = match ends {
            OwnPair => (0, Command::DestroyQp, first.qpn, vec![]),
            // Those that had not begun there find no queue pair.
            TheirPair => (
                1,
                Command::DestroyQp,
                first.qpn,
                vec![Outcome::Aborted, Outcome::BadQp],
            ),
            OwnRegion => (
                0,
                Command::ClearRegion,
                WRITABLE.index,
                vec![Outcome::LocalProtection],
            ),
            TheirRegion => (
                1,
                Command::ClearRegion,
                READABLE.index,
                vec![Outcome::RemoteAccess],
            ),
        };
        pair.command(at, command, index, &[]);
        let rest = pair.mapped(0).bytes(WRITES, AREA as usize);
        if ends == OwnPair {
            pair.settle(2 * QUIET);
        } else {
            wait(&mut pair, &queue, 8);
            pair.run(QUIET);
        }
        if at == 0 {
            let now = pair.mapped(0).bytes(WRITES, AREA as usize);
            assert!(now == rest, "{ends:?}: written later");
        }
        let ended = pair.completions(0, &queue);
        let mut ids: Vec<_> = ended.iter().map(|ended| ended.wr_id).collect();
        ids.sort_unstable();
        let how: Vec<_> = ended.iter().map(|ended| ended.status).collect();
        println!("{ends:?}: {how:?}");
        let ok = |how: &Outcome| *how == Outcome::Ok || says.contains(how);
        assert!(how.iter().all(ok), "{ends:?}: {how:?}");
        if ends == OwnPair {
            // Its driver says FLUSHED of all that has no completion.
            assert!(ids.is_sorted_by(|a, b| a < b), "{ids:?}");
            flushed += 8 - ids.len();
            pair.unmap_rings(0, &queue);
            queue = first.clone();
            pair.create(0, &queue);
        } else {
            assert_eq!(ids, (0..8).collect::<Vec<_>>(), "{ends:?}");
            refused += how.iter().filter(|how| **how != Outcome::Ok).count();
            queue.consumed = queue.consumed.wrapping_add(8);
            pair.consume(0, &queue);
        }
        match ends {
            OwnPair => {}
            TheirPair => {
                pair.unmap_rings(1, &first);
                pair.create(1, &first);
            }
            OwnRegion => open_to_writes(&mut pair, 0, &WRITABLE),
            TheirRegion => open_to_reads(&mut pair, 1, &READABLE),
        }
        goes_well(&mut pair, &mut dice, &mut queue);
    }
    pair.destroy(0, &queue);
    pair.destroy(1, &first);
    pair.check();
    (flushed, refused)
}

/// Either card is reset while eight reads are under way, by its driver or as a function of the bus: the other one ends what it had
/// with it, nothing is written later where it was reset, and new reads go well.
#[test]
fn bw_09_bw_11_a_card_that_is_reset_forgets_its_reads_and_the_other_ends_them() {
    let seed = seed();
    let (mut pair, first) = readable(pair(seed));
    let mut dice = Dice::new(seed);
    let mut queue = first.clone();
    for (at, function) in [(1, false), (0, false), (1, true), (0, true)] {
        begin_eight(&mut pair, &mut dice, &mut queue);
        pair.resets += 1;
        if function {
            let (card, memory) = pair.rtl_card(at);
            card.function_reset(memory);
        } else {
            pair.write(at, &CONTROL, CONTROL_RESET.put(1));
        }
        pair.wait(at);
        let rest = pair.mapped(at).bytes(WRITES, AREA as usize);
        pair.run(QUIET);
        let now = pair.mapped(at).bytes(WRITES, AREA as usize);
        assert!(now == rest, "node {at}: written later");
        pair.unmap_rings(at, if at == 0 { &queue } else { &first });
        pair.open(at, MTU);
        open_to_reads(&mut pair, at, &READABLE);
        open_to_writes(&mut pair, at, &WRITABLE);
        pair.create(at, &first);
        if at == 0 {
            queue = first.clone();
        } else {
            // Nothing is under way but the silence of the peer, which ends after thousands of ticks.
            let tick = pair.read(0, &BULK_TICK);
            pair.write(0, &BULK_TICK, tick / 6);
            let ended = wait(&mut pair, &queue, 8);
            pair.write(0, &BULK_TICK, tick);
            let mut ids: Vec<_> = ended.iter().map(|ended| ended.wr_id).collect();
            ids.sort_unstable();
            let how: Vec<_> = ended.iter().map(|ended| ended.status).collect();
            println!("function {function}: {how:?}");
            assert_eq!(ids, (0..8).collect::<Vec<_>>());
            queue.consumed = queue.consumed.wrapping_add(8);
            pair.consume(0, &queue);
        }
        goes_well(&mut pair, &mut dice, &mut queue);
    }
    pair.destroy(0, &queue);
    pair.destroy(1, &first);
    pair.check();
}
