//! Cards with bulk WRITEs: from memory to memory, with one work request and one completion.

mod beside;
mod ends;
mod faults;
mod latency;
mod marks;
mod notify;
mod order;
mod random;
mod reads;
mod share;
mod times;
mod told;

use std::sync::OnceLock;

use tributary_protocol::card::command::Command;
use tributary_protocol::card::descriptor::{OPCODE_BULK_READ, OPCODE_BULK_WRITE, WorkRequest};
use tributary_protocol::card::regs::{
    BULK_SIZES, BULK_SIZES_READS, BULK_SIZES_SLOTS, BulkCounter, FEATURES, FEATURES_BULK,
    STATISTICS_LOW, STATISTICS_SELECT,
};
use tributary_protocol::xud::onesided::{Asked, HEADER_LEN, Request};
use tributary_protocol::xud::wire::ONE_SIDED_FRAME;
use tributary_protocol::xud::{Outcome, Peer};
use tributary_sim::card::{CLOCK_NS, CardSizes};
use tributary_sim::pcie::Config;
use tributary_sim::testbench::stall::{Length, Profile};
use tributary_sim::verilate::Verilated;

use super::bench::{Dice, NODES, Pair, Queue, READS, Region, WRITES};
use super::seed;
use super::traffic::{READABLE, WRITABLE, work};

const MTU: u32 = 512;
/// Longer than any wait of a transfer that gets answers.
const QUIET: u64 = 60_000 * CLOCK_NS;
/// Others may write.
const REMOTE_WRITE: u32 = 1 << 9;

/// The card, built once.
pub fn library() -> &'static Verilated {
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

fn pair_behind(config: &Config) -> (Pair, Queue) {
    made(Pair::rtl_of(library(), config))
}

/// Opens both cards, each with a region to read and one that the other may write, and a queue pair.
fn made(mut pair: Pair) -> (Pair, Queue) {
    let queue = Queue::new(2, [4, 4, 6]);
    for at in 0..2 {
        pair.open(at, MTU);
        pair.set_region(at, &READABLE);
        open_to_writes(&mut pair, at, &WRITABLE);
        pair.create(at, &queue);
    }
    (pair, queue)
}

/// Makes a region that others may write.
pub fn open_to_writes(pair: &mut Pair, at: usize, region: &Region) {
    let mut args = region.args();
    args[0] |= REMOTE_WRITE;
    pair.command(at, Command::SetRegion, region.index, &args);
}

/// A bulk WRITE from the readable memory here to the writable one there.
pub fn write(queue: &Queue, from: u64, to: u64, length: u64, wr_id: u64) -> WorkRequest {
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
    assert_eq!(FEATURES_BULK.get(features), 1);
    let sizes = pair.read(0, &BULK_SIZES);
    assert_eq!(
        (BULK_SIZES_SLOTS.get(sizes), BULK_SIZES_READS.get(sizes)),
        (16, 16)
    );
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

/// A key that nobody has, of memory that others may not write, beyond its end; and of the own memory. What does not fit together, and a flag that means nothing.
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
    // A head of another operation than the opcode, and a flag that means nothing.
    for (opcode, flags) in [(OPCODE_BULK_READ, 0), (OPCODE_BULK_WRITE, 1 << 7)] {
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
