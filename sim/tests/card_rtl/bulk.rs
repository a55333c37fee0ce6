//! Cards with bulk WRITEs: from memory to memory, with one work request and one completion.

use std::sync::OnceLock;

use tributary_protocol::card::command::Command;
use tributary_protocol::card::descriptor::{
    Completion, OPCODE_BULK_READ, OPCODE_BULK_WRITE, WorkRequest, flags,
};
use tributary_protocol::card::regs::{
    BULK_SIZES, BULK_SIZES_SLOTS, BulkCounter, CONTROL, CONTROL_RESET, FEATURES, FEATURES_BULK,
    FEATURES_BULK_WRITE, STATISTICS_LOW, STATISTICS_SELECT,
};
use tributary_protocol::xud::onesided::{Asked, HEADER_LEN, Request};
use tributary_protocol::xud::wire::ONE_SIDED_FRAME;
use tributary_protocol::xud::{Outcome, Peer};
use tributary_sim::card::{CLOCK_NS, CardSizes};
use tributary_sim::pcie::Config;
use tributary_sim::testbench::stall::{Length, Profile};
use tributary_sim::verilate::Verilated;

use super::bench::{AREA, Dice, NODES, Pair, Queue, READS, WRITES};
use super::traffic::{READABLE, WRITABLE, work};
use super::{long, seed};

const MTU: u32 = 512;
/// Longer than any wait of a transfer that gets answers.
const QUIET: u64 = 60_000 * CLOCK_NS;
/// Others may write.
const REMOTE_WRITE: u32 = 1 << 9;

/// The card, built once.
fn library() -> &'static Verilated {
    static LIBRARY: OnceLock<Verilated> = OnceLock::new();
    LIBRARY.get_or_init(|| CardSizes::bulk().build(false).unwrap())
}

fn pair(seed: u64) -> (Pair, Queue) {
    pair_of(seed, Profile::Independent(32))
}

fn pair_of(seed: u64, stall: Profile) -> (Pair, Queue) {
    pair_behind(&Config {
        seed,
        stall,
        ..Config::default()
    })
}

/// Cards behind root complexes like this, and the queue pair that both have.
fn pair_behind(config: &Config) -> (Pair, Queue) {
    let mut pair = Pair::rtl_of(library(), config);
    let queue = Queue::new(2, [4, 4, 6]);
    for at in 0..2 {
        pair.open(at, MTU);
        pair.set_region(at, &READABLE);
        open_to_writes(&mut pair, at);
        pair.create(at, &queue);
    }
    (pair, queue)
}

fn open_to_writes(pair: &mut Pair, at: usize) {
    let mut args = WRITABLE.args();
    args[0] |= REMOTE_WRITE;
    pair.command(at, Command::SetRegion, WRITABLE.index, &args);
}

/// A bulk WRITE from the readable memory here to the writable one there.
fn write(queue: &Queue, from: u64, to: u64, length: u64, wr_id: u64) -> WorkRequest {
    let header = Request {
        address: WRITES + to,
        rkey: WRITABLE.key(),
        asked: Asked::Write(&[]),
    };
    let peer = Peer {
        node: NODES[1],
        qpn: queue.qpn,
    };
    WorkRequest {
        opcode: OPCODE_BULK_WRITE,
        head_len: HEADER_LEN as u8,
        version_flags: ONE_SIDED_FRAME,
        head: header.header(),
        ..work(peer, READS + from, length, wr_id)
    }
}

fn bulk_counter(pair: &mut Pair, at: usize, counter: BulkCounter) -> u32 {
    pair.write(at, &STATISTICS_SELECT, counter.code().into());
    pair.read(at, &STATISTICS_LOW)
}

#[test]
fn bw_01_bw_02_a_write_of_any_size_arrives_whole_and_completes_once() {
    let seed = seed();
    let (mut pair, mut queue) = pair(seed);
    let mut dice = Dice::new(seed);
    let features = pair.read(0, &FEATURES);
    assert_eq!(FEATURES_BULK.get(features), 0);
    assert_eq!(FEATURES_BULK_WRITE.get(features), 1);
    let sizes = pair.read(0, &BULK_SIZES);
    assert_eq!(BULK_SIZES_SLOTS.get(sizes), 16);
    for (number, length) in [0, 1, 8, 511, 512, 513, 4_096, 5_000, 40_000]
        .into_iter()
        .enumerate()
    {
        let (from, to) = (dice.below(8), dice.below(8));
        let bytes = dice.bytes(length);
        pair.mapped(0).write(READS + from, &bytes);
        let number = number as u64;
        let request = write(&queue, from, to, length as u64, number);
        pair.post_sends(0, &queue, &[request]);
        queue.posted += 1;
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
        let arrived = pair.mapped(1).bytes(WRITES + to, length);
        assert!(arrived == bytes, "{length} bytes");
    }
    assert_eq!(bulk_counter(&mut pair, 0, BulkCounter::Completed), 9);
    assert_eq!(bulk_counter(&mut pair, 0, BulkCounter::Failed), 0);
    // Nothing is lost, so nothing is sent in vain.
    assert_eq!(bulk_counter(&mut pair, 0, BulkCounter::DataResent), 0);
    assert_eq!(bulk_counter(&mut pair, 1, BulkCounter::DataDuplicate), 0);
    assert_eq!(bulk_counter(&mut pair, 1, BulkCounter::Received), 9);
    for at in 0..2 {
        pair.destroy(at, &queue);
    }
    pair.check();
}

/// Writes of this many bytes at most, in places of their own.
const PLACE: u64 = 6_000;

/// Posts a write.
fn post(pair: &mut Pair, at: usize, queue: &mut Queue, request: WorkRequest) {
    pair.post_sends(at, queue, &[request]);
    queue.posted = queue.posted.wrapping_add(1);
}

/// Both cards write to each other, ten transfers at once, while every frame arrives twice or once, and buses stall in these ways.
#[test]
fn bw_01_bw_02_bw_04_writes_both_ways_beside_each_other_arrive_whole() {
    let mut seed = seed();
    let profiles = [
        Profile::Free,
        Profile::Bursts {
            gap: 400,
            length: Length::Geometric(200),
        },
        Profile::Together {
            gap: 2_000,
            length: Length::Fixed(1_000),
        },
    ];
    for stall in profiles {
        for copies in [1, 2] {
            seed += 1;
            println!("seed {seed}, {stall:?}, {copies} copies");
            both_ways(seed, stall, copies);
        }
    }
}

fn both_ways(seed: u64, stall: Profile, copies: usize) {
    let (mut pair, queue) = pair_of(seed, stall);
    pair.copies = copies;
    let mut queues = [queue.clone(), queue];
    let mut dice = Dice::new(seed);
    let mut wanted = Vec::new();
    for number in 0..10 {
        for (at, queue) in queues.iter_mut().enumerate() {
            let length = dice.below(PLACE - 8);
            let bytes = dice.bytes(length as usize);
            let place = number * PLACE;
            let (from, to) = (place + dice.below(8), place + dice.below(8));
            pair.mapped(at).write(READS + from, &bytes);
            let request = WorkRequest {
                to: Peer {
                    node: NODES[1 - at],
                    qpn: queue.qpn,
                },
                ..write(queue, from, to, length, number)
            };
            post(&mut pair, at, queue, request);
            wanted.push((1 - at, to, bytes));
        }
        pair.run(dice.below(8_000));
    }
    pair.settle(QUIET);
    for (at, queue) in queues.iter().enumerate() {
        let mut ended = pair.completions(at, queue);
        ended.sort_by_key(|ended| ended.wr_id);
        let ended: Vec<_> = ended.iter().map(|e| (e.wr_id, e.status)).collect();
        let all: Vec<_> = (0..10).map(|number| (number, Outcome::Ok)).collect();
        assert_eq!(ended, all, "node {at}");
    }
    for (at, to, bytes) in wanted {
        let arrived = pair.mapped(at).bytes(WRITES + to, bytes.len());
        assert!(arrived == bytes, "{} bytes to node {at}", bytes.len());
    }
    for (at, queue) in queues.iter().enumerate() {
        pair.destroy(at, queue);
    }
    pair.check();
}

/// A key that nobody has, of memory that others may not write, beyond its end; and of the own memory. READ, notification, fence.
#[test]
fn bw_02_a_write_without_the_right_to_it_ends_so_and_writes_nothing() {
    let (mut pair, mut queue) = pair(seed());
    let good = write(&queue, 0, 0, 1_500, 0);
    let header = |address: u64, rkey: u32| {
        let asked = Asked::Write(&[]);
        Request {
            address,
            rkey,
            asked,
        }
        .header()
    };
    let before = pair.mapped(1).bytes(WRITES, 2_000);
    for (head, lkey, expected) in [
        (
            header(WRITES, WRITABLE.key() ^ 1),
            READABLE.key(),
            Outcome::RemoteAccess,
        ),
        (
            header(READS, READABLE.key()),
            READABLE.key(),
            Outcome::RemoteAccess,
        ),
        (
            header(WRITES + WRITABLE.length - 1_499, WRITABLE.key()),
            READABLE.key(),
            Outcome::RemoteAccess,
        ),
        (
            header(WRITES, WRITABLE.key()),
            READABLE.key() ^ 1,
            Outcome::LocalProtection,
        ),
        (good.head, READABLE.key(), Outcome::Ok),
    ] {
        let wr_id = queue.posted.into();
        let request = WorkRequest {
            head,
            lkey,
            wr_id,
            ..good
        };
        if expected == Outcome::Ok {
            assert!(pair.mapped(1).bytes(WRITES, 2_000) == before);
        }
        post(&mut pair, 0, &mut queue, request);
        pair.settle(QUIET);
        let ended = pair.completions(0, &queue);
        let ended: Vec<_> = ended.iter().map(|e| (e.wr_id, e.status)).collect();
        assert_eq!(ended, [(wr_id, expected)]);
        queue.consumed += 1;
        pair.consume(0, &queue);
    }
    // What this card has not.
    for (opcode, flags) in [
        (OPCODE_BULK_READ, 0),
        (OPCODE_BULK_WRITE, flags::NOTIFY.mask() as u8),
        (OPCODE_BULK_WRITE, flags::FENCE.mask() as u8),
    ] {
        let wr_id = queue.posted.into();
        let request = WorkRequest {
            opcode,
            flags,
            wr_id,
            ..good
        };
        post(&mut pair, 0, &mut queue, request);
        pair.settle(QUIET);
        let ended = pair.completions(0, &queue);
        let ended: Vec<_> = ended.iter().map(|e| (e.wr_id, e.status)).collect();
        assert_eq!(ended, [(wr_id, Outcome::LocalOpcode)]);
        queue.consumed += 1;
        pair.consume(0, &queue);
    }
    for at in 0..2 {
        pair.destroy(at, &queue);
    }
    pair.check();
}

/// From a host that answers every read after 150 clocks. 75.2 clocks: a frame of 512 bytes on the line of 64 bits.
#[test]
fn bw_06_a_slow_host_does_not_slow_the_line() {
    const LENGTH: u64 = 60_000;
    let config = Config {
        seed: seed(),
        latency: 150..=150,
        ..Config::default()
    };
    let (mut pair, mut queue) = pair_behind(&config);
    let request = write(&queue, 0, 0, LENGTH, 1);
    let begun = pair.now;
    post(&mut pair, 0, &mut queue, request);
    while pair.completions(0, &queue).is_empty() {
        pair.step();
    }
    let clocks = (pair.now - begun) / CLOCK_NS;
    let line = LENGTH.div_ceil(u64::from(MTU)) as f64 * 75.2;
    println!("{clocks} clocks from the doorbell to the completion; {line} on the line");
    // The first read, CONNECT and its answer, the last write and its answer.
    assert!((clocks as f64) < 1.05 * line + 2_000.0);
}

/// What ends under writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ends {
    OwnPair,
    TheirPair,
    OwnRegion,
    TheirRegion,
}

/// At any moment of eight writes: none ends twice, nothing is written where it ended, and new ones go well.
#[test]
fn bw_02_bw_05_bw_09_what_ends_takes_its_writes_with_it() {
    use Ends::{OwnPair, OwnRegion, TheirPair, TheirRegion};
    let seed = seed();
    let (mut pair, first) = pair(seed);
    let mut dice = Dice::new(seed);
    let mut queue = first.clone();
    let (mut flushed, mut refused) = (0, 0);
    let rounds = [OwnPair, TheirPair, OwnRegion, TheirRegion];
    for ends in rounds.into_iter().cycle().take(if long() { 64 } else { 8 }) {
        for number in 0..8 {
            let request = write(&queue, 0, number * PLACE, PLACE, number);
            post(&mut pair, 0, &mut queue, request);
        }
        pair.run(dice.below(70_000));
        let (at, command, index) = match ends {
            OwnPair => (0, Command::DestroyQp, first.qpn),
            TheirPair => (1, Command::DestroyQp, first.qpn),
            OwnRegion => (0, Command::ClearRegion, READABLE.index),
            TheirRegion => (1, Command::ClearRegion, WRITABLE.index),
        };
        pair.command(at, command, index, &[]);
        let rest = pair.mapped(1).bytes(WRITES, AREA as usize);
        pair.settle(2 * QUIET);
        if at == 1 {
            let now = pair.mapped(1).bytes(WRITES, AREA as usize);
            assert!(now == rest, "{ends:?}: written later");
        }
        let ended = pair.completions(0, &queue);
        let mut ids: Vec<_> = ended.iter().map(|ended| ended.wr_id).collect();
        ids.sort_unstable();
        let how: Vec<_> = ended.iter().map(|ended| ended.status).collect();
        println!("{ends:?}: {how:?}");
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
            OwnRegion => pair.set_region(0, &READABLE),
            TheirRegion => open_to_writes(&mut pair, 1),
        }
        let bytes = dice.bytes(3_000);
        pair.mapped(0).write(READS, &bytes);
        let request = write(&queue, 0, 0, 3_000, 99);
        post(&mut pair, 0, &mut queue, request);
        pair.settle(QUIET);
        let ended = pair.completions(0, &queue);
        assert_eq!((ended.len(), ended[0].status), (1, Outcome::Ok));
        queue.consumed = queue.consumed.wrapping_add(1);
        pair.consume(0, &queue);
        assert!(pair.mapped(1).bytes(WRITES, 3_000) == bytes);
    }
    assert!(
        flushed > 4 && refused > 10,
        "{flushed}, {refused}: too few were under way"
    );
    pair.destroy(0, &queue);
    pair.destroy(1, &first);
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

/// Either card is reset while eight writes are under way: by its driver, or as a function of the bus. The other one is not stopped by
/// that, nothing is written later where it was reset, and new writes go well.
#[test]
fn bw_09_a_card_that_is_reset_forgets_its_writes_and_the_other_ends_them() {
    let seed = seed();
    let (mut pair, first) = pair(seed);
    let mut dice = Dice::new(seed);
    let mut queue = first.clone();
    for (at, function) in [(1, false), (0, false), (1, true), (0, true)] {
        for number in 0..8 {
            let request = write(&queue, 0, number * PLACE, PLACE, number);
            post(&mut pair, 0, &mut queue, request);
        }
        pair.run(dice.below(70_000));
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
        pair.set_region(at, &READABLE);
        open_to_writes(&mut pair, at);
        pair.create(at, &first);
        if at == 0 {
            queue = first.clone();
        } else {
            let ended = wait(&mut pair, &queue, 8);
            let mut ids: Vec<_> = ended.iter().map(|ended| ended.wr_id).collect();
            ids.sort_unstable();
            let how: Vec<_> = ended.iter().map(|ended| ended.status).collect();
            println!("function {function}: {how:?}");
            assert_eq!(ids, (0..8).collect::<Vec<_>>());
            queue.consumed = queue.consumed.wrapping_add(8);
            pair.consume(0, &queue);
        }
        let bytes = dice.bytes(3_000);
        pair.mapped(0).write(READS, &bytes);
        let request = write(&queue, 0, 0, 3_000, 99);
        post(&mut pair, 0, &mut queue, request);
        // What a card that was reset had begun is still asked for by the other, until it is given up.
        let ended = wait(&mut pair, &queue, 1);
        assert_eq!(ended[0].status, Outcome::Ok);
        queue.consumed = queue.consumed.wrapping_add(1);
        pair.consume(0, &queue);
        assert!(pair.mapped(1).bytes(WRITES, 3_000) == bytes);
    }
    pair.destroy(0, &queue);
    pair.destroy(1, &first);
    pair.check();
}
