//! One-sided operations (XUD-13): two cards, windows opened by command, work requests as a driver posts them.

use tributary_protocol::card::command::Command;
use tributary_protocol::card::descriptor::{OPCODE_ATOMIC, OPCODE_READ, OPCODE_WRITE, WorkRequest};
use tributary_protocol::card::regs::Counter;
use tributary_protocol::xud::onesided::{Asked, HEADER_LEN, Request};
use tributary_protocol::xud::wire::ONE_SIDED;
use tributary_protocol::xud::{Outcome, Peer, Window};
use tributary_sim::pcie::Access;

use super::bench::{NODES, Pair, Queue};
use super::seed;
use super::traffic::{READABLE, WRITABLE};

pub const MTU: u32 = 512;
/// Memory that is written and read by both sides: [`SHARED_LEN`] bytes of each host.
pub const SHARED: u64 = 0x963C_C3A6_1000_0000;
pub const SHARED_LEN: u64 = 0x4000;
/// Longer than the timeout of [`TIMEOUT`], ns.
pub const QUIET: u64 = 44_000;
/// Timeout exponent of the queue pairs here.
pub const TIMEOUT: u8 = 3;
pub const LOCAL_WRITE: u32 = 1 << 8;
pub const REMOTE_WRITE: u32 = 1 << 9;
pub const REMOTE_READ: u32 = 1 << 10;
pub const REMOTE_ATOMIC: u32 = 1 << 11;

/// Makes a region of shared memory with such rights; its key.
pub fn share(pair: &mut Pair, at: usize, index: u32, rights: u32, base: u64, length: u64) -> u32 {
    let args = [
        rights | 0x33,
        7,
        base as u32,
        (base >> 32) as u32,
        length as u32,
        (length >> 32) as u32,
    ];
    pair.command(at, Command::SetRegion, index, &args);
    index << 8 | 0x33
}

/// A work request of a one-sided operation. `local` and `lkey` are where its bytes are or go.
pub fn one_sided(
    to: Peer,
    window: Window,
    request: &Request<'_>,
    local: u64,
    lkey: u32,
) -> WorkRequest {
    let (opcode, length) = match request.asked {
        Asked::Write(bytes) => (OPCODE_WRITE, bytes.len() as u32),
        Asked::Read(bytes) => (OPCODE_READ, bytes),
        Asked::FetchAdd(_) | Asked::CompareSwap { .. } => (OPCODE_ATOMIC, 16),
    };
    WorkRequest {
        opcode,
        flags: 0,
        head_len: HEADER_LEN as u8,
        length,
        wr_id: u64::from(window.msn) << 16 | u64::from(window.id),
        address: local,
        lkey,
        version_flags: 0x10 | ONE_SIDED,
        to,
        window,
        head: request.header(),
    }
}

/// Two cards with a queue pair 3 each, and window 200 of node 1 open for node 0.
struct Two {
    pair: Pair,
    queues: [Queue; 2],
    window: Window,
    /// Keys of all shared memory, with all rights.
    keys: [u32; 2],
}

impl Two {
    fn new(copies: usize) -> Self {
        let mut pair = Pair::rtl(seed(), 20);
        let queues = [(); 2].map(|()| Queue {
            timeout: TIMEOUT,
            ..Queue::new(3, [4, 4, 6])
        });
        let mut epochs = [0; 2];
        let all = LOCAL_WRITE | REMOTE_WRITE | REMOTE_READ | REMOTE_ATOMIC;
        for (at, queue) in queues.iter().enumerate() {
            pair.open(at, MTU);
            let memory = pair.mapped(at);
            memory.map(SHARED, SHARED_LEN, Access::ReadWrite).unwrap();
            let bytes: Vec<u8> = (0..SHARED_LEN).map(|i| (i * 7 + at as u64) as u8).collect();
            memory.write(SHARED, &bytes);
            epochs[at] = pair.create(at, queue);
        }
        let keys = [0, 1].map(|at| share(&mut pair, at, 5, all, SHARED, SHARED_LEN));
        let args = [3, NODES[0], 3, epochs[1].into()];
        pair.command(1, Command::OpenWindow, 200, &args);
        pair.copies = copies;
        let window = Window {
            id: 200,
            epoch: epochs[1],
            msn: 0,
        };
        Self {
            pair,
            queues,
            window,
            keys,
        }
    }

    /// Posts one operation of node 0; how it ended.
    fn run(&mut self, asked: Asked<'_>, remote: u64, rkey: u32, local: u64) -> Outcome {
        let to = Peer {
            node: NODES[1],
            qpn: 3,
        };
        let request = Request {
            address: remote,
            rkey,
            asked,
        };
        if let Some(operands) = asked.operands() {
            self.pair.mapped(0).write(local, &operands);
        }
        if let Asked::Write(bytes) = asked {
            self.pair.mapped(0).write(local, bytes);
        }
        let work = one_sided(to, self.window, &request, local, self.keys[0]);
        self.post(work)
    }

    fn post(&mut self, work: WorkRequest) -> Outcome {
        let queue = &mut self.queues[0];
        self.pair.post_sends(0, queue, &[work]);
        queue.posted = queue.posted.wrapping_add(1);
        self.pair.settle(QUIET);
        let new = self.pair.completions(0, queue);
        assert_eq!(new.len(), 1, "one completion");
        assert_eq!(new[0].wr_id, work.wr_id);
        queue.consumed = queue.consumed.wrapping_add(1);
        self.pair.consume(0, queue);
        new[0].status
    }

    /// The operation, done: the number goes on.
    fn done(&mut self, asked: Asked<'_>, remote: u64, local: u64) {
        let key = self.keys[1];
        assert_eq!(self.run(asked, remote, key, local), Outcome::Ok);
        self.window.msn += 1;
    }

    fn word(&mut self, at: usize, address: u64) -> u64 {
        let bytes = self.pair.mapped(at).bytes(address, 8);
        u64::from_le_bytes(bytes.try_into().unwrap())
    }

    fn counts(&mut self, at: usize) -> [u64; 5] {
        [
            Counter::OneSided,
            Counter::OneSidedDuplicate,
            Counter::OneSidedAhead,
            Counter::OneSidedRefused,
            Counter::OneSidedFailed,
        ]
        .map(|counter| self.pair.counter(at, counter))
    }
}

/// All four operations, each frame arriving `copies` times.
fn all_operations(copies: usize) {
    let mut two = Two::new(copies);
    let mut operations = 0;
    for length in [0, 1, 7, 8, 9, 100, 255, 496_usize] {
        let remote = SHARED + 0x1003;
        let bytes: Vec<u8> = (0..length).map(|i| (i * 13 + length) as u8).collect();
        let before = two.pair.mapped(1).bytes(remote, 600);
        two.done(Asked::Write(&bytes), remote, SHARED + 0x2005);
        let after = two.pair.mapped(1).bytes(remote, 600);
        assert_eq!(after[..length], bytes);
        assert_eq!(after[length..], before[length..]);
        operations += 1;
    }
    for length in [1, 7, 8, 9, 100, 255, 496_u32] {
        let (remote, local) = (SHARED + 0x37, SHARED + 0x3001);
        let there = two.pair.mapped(1).bytes(remote, length as usize);
        let before = two.pair.mapped(0).bytes(local, 600);
        two.done(Asked::Read(length), remote, local);
        let after = two.pair.mapped(0).bytes(local, 600);
        assert_eq!(after[..length as usize], there);
        assert_eq!(after[length as usize..], before[length as usize..]);
        operations += 1;
    }
    let (remote, local) = (SHARED + 0x800, SHARED + 0x3000);
    let start = u64::MAX - 5;
    two.pair.mapped(1).write(remote, &start.to_le_bytes());
    let mut value = start;
    for add in [3, 1 << 32 | 9, u64::MAX] {
        two.done(Asked::FetchAdd(add), remote, local);
        assert_eq!(two.word(0, local), value);
        value = value.wrapping_add(add);
        assert_eq!(two.word(1, remote), value);
        operations += 1;
    }
    for (compare, swap) in [(value, 77), (value, 78), (77, 1 << 40), (1 << 41, 5)] {
        two.done(Asked::CompareSwap { swap, compare }, remote, local);
        assert_eq!(two.word(0, local), value);
        if value == compare {
            value = swap;
        }
        assert_eq!(two.word(1, remote), value);
        operations += 1;
    }
    let duplicates = operations * (copies as u64 - 1);
    assert_eq!(two.counts(1), [operations, duplicates, 0, 0, 0]);
    assert_eq!(two.counts(0), [0; 5]);
    assert_eq!(two.pair.counter(0, Counter::Acknowledged), operations);
    assert_eq!(two.pair.counter(1, Counter::BadOpcode), 0);
    let number = two
        .pair
        .raw_command(1, Command::CloseWindow.code(), 200, &[]);
    assert_eq!(number, [0, operations as u32, 1]);
    let number = two
        .pair
        .raw_command(1, Command::CloseWindow.code(), 200, &[]);
    assert_eq!(number, [0, 0, 0]);
    two.pair.check();
}

#[test]
fn xud_13_writes_reads_and_atomics_are_done_in_memory_there() {
    all_operations(1);
}

#[test]
fn xud_13_copies_on_the_line_are_not_done_again() {
    all_operations(3);
}

#[test]
fn xud_13_the_number_is_checked_before_memory_is_touched() {
    let mut two = Two::new(1);
    let key = two.keys[1];
    let local = SHARED + 0x2000;
    for byte in 1..4_u8 {
        two.done(Asked::Write(&[byte; 64]), SHARED, local);
    }
    let all = two.pair.mapped(1).bytes(SHARED, SHARED_LEN as usize);
    // Ahead: refused. Behind: no answer, so the request times out. Neither changes anything.
    for (msn, outcome) in [
        (4, Outcome::RemoteProtocol),
        (0x8000_0002, Outcome::RemoteProtocol),
        (0x8000_0003, Outcome::Timeout),
        (1, Outcome::Timeout),
    ] {
        two.window.msn = msn;
        assert_eq!(two.run(Asked::Write(&[9; 64]), SHARED, key, local), outcome);
        assert_eq!(two.pair.mapped(1).bytes(SHARED, SHARED_LEN as usize), all);
    }
    // The last number with the same operation is acknowledged, with another it is dropped.
    two.window.msn = 2;
    let again = two.run(Asked::Write(&[9; 64]), SHARED, key, local);
    assert_eq!(again, Outcome::Ok);
    assert_eq!(
        two.run(Asked::Read(8), SHARED, key, local),
        Outcome::Timeout
    );
    assert_eq!(two.pair.mapped(1).bytes(SHARED, SHARED_LEN as usize), all);
    assert_eq!(two.counts(1), [3, 4, 2, 0, 0]);
    two.window.msn = 3;
    two.done(Asked::Write(&[9; 64]), SHARED, local);
    two.pair.check();
}

#[test]
fn xud_13_an_atomic_is_replayed_from_its_window() {
    let mut two = Two::new(1);
    let key = two.keys[1];
    let (remote, local) = (SHARED + 0x40, SHARED + 0x2000);
    two.pair.mapped(1).write(remote, &5_u64.to_le_bytes());
    two.done(Asked::FetchAdd(10), remote, local);
    two.window.msn = 0;
    for _ in 0..2 {
        // Even if memory there is another by now.
        two.pair.mapped(1).write(remote, &1000_u64.to_le_bytes());
        let asked = Asked::FetchAdd(10);
        assert_eq!(two.run(asked, remote, key, local), Outcome::Ok);
        assert_eq!(two.word(0, local), 5);
        assert_eq!(two.word(1, remote), 1000);
    }
    assert_eq!(two.counts(1), [1, 2, 0, 0, 0]);
    two.pair.check();
}

#[test]
fn xud_13_rights_bounds_and_windows_are_checked() {
    let mut two = Two::new(1);
    let pair = &mut two.pair;
    let full = LOCAL_WRITE | REMOTE_WRITE | REMOTE_READ | REMOTE_ATOMIC;
    let without = [
        share(pair, 1, 10, full & !REMOTE_WRITE, SHARED, SHARED_LEN),
        share(pair, 1, 11, full & !REMOTE_READ, SHARED, SHARED_LEN),
        share(pair, 1, 12, full & !REMOTE_ATOMIC, SHARED, SHARED_LEN),
        share(pair, 1, 13, full & !REMOTE_ATOMIC, SHARED, SHARED_LEN),
    ];
    let narrow = share(pair, 1, 14, full, SHARED + 8, 64);
    let asked = [
        Asked::Write(&[1; 24]),
        Asked::Read(24),
        Asked::FetchAdd(1),
        Asked::CompareSwap {
            swap: 1,
            compare: 0,
        },
    ];
    let local = SHARED + 0x2000;
    let all = two.pair.mapped(1).bytes(SHARED, SHARED_LEN as usize);
    let mut refused = 0;
    for (asked, key) in asked.into_iter().zip(without) {
        assert_eq!(two.run(asked, SHARED, key, local), Outcome::RemoteAccess);
        assert_eq!(two.run(asked, SHARED, narrow, local), Outcome::RemoteAccess);
        let behind = SHARED + 72;
        assert_eq!(two.run(asked, behind, narrow, local), Outcome::RemoteAccess);
        refused += 3;
    }
    for asked in &asked[2..] {
        let odd = SHARED + 12;
        let key = two.keys[1];
        assert_eq!(two.run(*asked, odd, key, local), Outcome::RemoteLength);
    }
    let key = two.keys[1];
    for window in [
        Window {
            id: 201,
            ..two.window
        },
        Window {
            id: 200 + 256,
            ..two.window
        },
        Window {
            epoch: two.window.epoch + 1,
            ..two.window
        },
    ] {
        let right = std::mem::replace(&mut two.window, window);
        let outcome = two.run(asked[0], SHARED, key, local);
        assert_eq!(outcome, Outcome::EpochMismatch);
        two.window = right;
    }
    assert_eq!(two.pair.mapped(1).bytes(SHARED, SHARED_LEN as usize), all);
    assert_eq!(two.counts(1), [0, 0, 0, refused, 0]);
    // Nothing of that has moved the window.
    two.done(Asked::Write(&[1; 24]), SHARED, local);
    two.pair.check();
}

#[test]
fn xud_13_memory_that_fails_there_is_told_and_the_window_stays() {
    let mut two = Two::new(1);
    let all = LOCAL_WRITE | REMOTE_WRITE | REMOTE_READ | REMOTE_ATOMIC;
    // A region of which only the first half is mapped.
    let hole = SHARED + SHARED_LEN;
    let key = share(&mut two.pair, 1, 9, all, SHARED, 2 * SHARED_LEN);
    let local = SHARED + 0x2000;
    for asked in [Asked::Read(64), Asked::Read(490), Asked::FetchAdd(1)] {
        let ended = two.run(asked, hole + 0x100, key, local);
        assert_eq!(ended, Outcome::RemoteOperation);
    }
    assert_eq!(two.counts(1), [0, 0, 0, 0, 3]);
    two.done(Asked::Read(64), SHARED, local);
    assert!(!two.pair.mapped(1).take_denied().is_empty());
    two.pair.check();
}

#[test]
fn xud_13_work_requests_that_do_not_fit_end_here() {
    let mut two = Two::new(1);
    let to = Peer {
        node: NODES[1],
        qpn: 3,
    };
    let request = |asked| Request {
        address: SHARED,
        rkey: two.keys[1],
        asked,
    };
    let lkey = two.keys[0];
    let read = one_sided(to, two.window, &request(Asked::Read(64)), SHARED, lkey);
    let write = one_sided(to, two.window, &request(Asked::Write(&[])), SHARED, lkey);
    let atomic = one_sided(to, two.window, &request(Asked::FetchAdd(1)), SHARED, lkey);
    let queue = two.queues[0].clone();
    two.pair.set_region(0, &READABLE);
    two.pair.set_region(0, &WRITABLE);
    let bad = [
        (WorkRequest { length: 0, ..read }, Outcome::LocalLength),
        (
            WorkRequest {
                length: 497,
                ..read
            },
            Outcome::LocalLength,
        ),
        (
            WorkRequest {
                length: 15,
                ..atomic
            },
            Outcome::LocalLength,
        ),
        (
            WorkRequest {
                length: 17,
                ..atomic
            },
            Outcome::LocalLength,
        ),
        (
            WorkRequest {
                head_len: 15,
                ..read
            },
            Outcome::LocalOpcode,
        ),
        (
            WorkRequest {
                head_len: 8,
                ..write
            },
            Outcome::LocalOpcode,
        ),
        (
            WorkRequest {
                version_flags: 0x10,
                ..read
            },
            Outcome::LocalOpcode,
        ),
        (
            WorkRequest {
                version_flags: 0x19,
                ..write
            },
            Outcome::LocalOpcode,
        ),
        (
            WorkRequest {
                version_flags: 0x08,
                ..write
            },
            Outcome::LocalOpcode,
        ),
        (WorkRequest { opcode: 1, ..write }, Outcome::LocalOpcode),
        (WorkRequest { opcode: 5, ..write }, Outcome::LocalOpcode),
        (
            WorkRequest {
                address: READABLE.base,
                lkey: READABLE.key(),
                ..read
            },
            Outcome::LocalProtection,
        ),
        (
            WorkRequest {
                address: READABLE.base,
                lkey: READABLE.key(),
                ..atomic
            },
            Outcome::LocalProtection,
        ),
    ];
    let count = bad.len() as u64;
    for (work, outcome) in bad {
        assert_eq!(two.post(work), outcome, "{work:x?} of {queue:?}");
    }
    assert_eq!(two.pair.counter(0, Counter::LocalError), count);
    assert_eq!(two.pair.counter(0, Counter::Sent), 0);
    two.done(Asked::Read(64), SHARED, SHARED + 0x2000);
    two.pair.check();
}
