//! One-sided operations behind the BAR (XUD-13).

use proptest::prelude::*;
use tributary_protocol::card::command::{Command, Status, key};
use tributary_protocol::card::descriptor::{
    OPCODE_ATOMIC, OPCODE_READ, OPCODE_SEND, OPCODE_WRITE, WorkRequest,
};
use tributary_protocol::card::regs::{self, Counter};
use tributary_protocol::xud::onesided::{Asked, Request};
use tributary_protocol::xud::{Outcome, Peer, Window};

use crate::bench::{DATA, DATA_KEY, DATA_LEN, DOMAIN, Host, exchange, ring};

const LOGS: [u8; 3] = [4, 4, 5];
const THERE: Peer = Peer { node: 1, qpn: 1 };
const WINDOW: u32 = 255;
/// Region of the target with all remote rights, or with one each.
const REMOTE: u64 = 0xA_0000;
const REMOTE_LEN: u64 = 0x1_0000;
const RKEY: u32 = key(5, 7);

const WRITE: u32 = 1 << 9;
const READ: u32 = 1 << 10;
const ATOMIC: u32 = 1 << 11;

fn region(host: &mut Host, rights: u32, domain: u32) {
    let args = [7 | rights, domain, REMOTE as u32, 0, REMOTE_LEN as u32, 0];
    assert_eq!(host.command(Command::SetRegion, 5, &args).0, Status::Ok);
}

fn open(host: &mut Host, epoch: u32) {
    let (status, _) = host.command(Command::OpenWindow, WINDOW, &[1, 0, 1, epoch]);
    assert_eq!(status, Status::Ok);
}

/// Node 1 has a window for queue pair 1 of node 0, and a region with all rights.
fn pair() -> [Host; 2] {
    let mut hosts = [Host::new(0), Host::new(1)];
    for host in &mut hosts {
        host.connect(1, LOGS);
    }
    region(&mut hosts[1], WRITE | READ | ATOMIC, DOMAIN);
    open(&mut hosts[1], 1);
    hosts
}

/// A work request; the operands of an atomic must be at its address.
fn work(msn: u32, remote: u64, asked: Asked<'_>, address: u64) -> WorkRequest {
    let request = Request {
        address: remote,
        rkey: RKEY,
        asked,
    };
    let (opcode, length) = match asked {
        Asked::Write(bytes) => (OPCODE_WRITE, bytes.len() as u32),
        Asked::Read(bytes) => (OPCODE_READ, bytes),
        _ => (OPCODE_ATOMIC, 16),
    };
    WorkRequest {
        opcode,
        flags: 0,
        head_len: 16,
        length,
        wr_id: 77,
        address,
        lkey: DATA_KEY,
        version_flags: 0x18,
        to: THERE,
        window: Window {
            id: WINDOW as u16,
            epoch: 1,
            msn,
        },
        head: request.header(),
    }
}

fn put(host: &mut Host, at: u64, bytes: &[u8]) {
    host.memory.bytes[at as usize..][..bytes.len()].copy_from_slice(bytes);
}

fn word(host: &Host, at: u64) -> u64 {
    u64::from_le_bytes(host.memory.bytes[at as usize..][..8].try_into().unwrap())
}

/// Posts an operation whose bytes or operands are put at the beginning of the data; how it ends.
fn done(hosts: &mut [Host; 2], msn: u32, remote: u64, asked: Asked<'_>) -> Outcome {
    if let Asked::Write(bytes) = asked {
        put(&mut hosts[0], DATA, bytes);
    }
    if let Some(operands) = asked.operands() {
        put(&mut hosts[0], DATA, &operands);
    }
    let request = work(msn, remote, asked, DATA);
    posted(hosts, &request)
}

fn posted(hosts: &mut [Host; 2], request: &WorkRequest) -> Outcome {
    hosts[0].post_send(1, request);
    exchange(hosts);
    let outcomes = hosts[0].outcomes(1);
    let [outcome] = outcomes[..] else {
        panic!("{outcomes:?}")
    };
    outcome
}

#[test]
fn xud_13_work_requests_write_read_add_and_swap() {
    let mut hosts = pair();
    let bytes: Vec<u8> = (0..4_080u32).map(|at| at as u8).collect();
    assert_eq!(
        done(&mut hosts, 0, REMOTE + 3, Asked::Write(&bytes)),
        Outcome::Ok
    );
    assert_eq!(hosts[1].memory.bytes[REMOTE as usize + 3..][..4_080], bytes);
    hosts[0].memory.bytes[DATA as usize..][..4_080].fill(0);
    assert_eq!(
        done(&mut hosts, 1, REMOTE + 3, Asked::Read(4_080)),
        Outcome::Ok
    );
    assert_eq!(hosts[0].memory.bytes[DATA as usize..][..4_080], bytes);
    put(&mut hosts[1], REMOTE, &5u64.to_le_bytes());
    assert_eq!(done(&mut hosts, 2, REMOTE, Asked::FetchAdd(9)), Outcome::Ok);
    assert_eq!((word(&hosts[0], DATA), word(&hosts[1], REMOTE)), (5, 14));
    let swap = Asked::CompareSwap {
        swap: 100,
        compare: 14,
    };
    assert_eq!(done(&mut hosts, 3, REMOTE, swap), Outcome::Ok);
    assert_eq!((word(&hosts[0], DATA), word(&hosts[1], REMOTE)), (14, 100));
    // Only the first of the operands is written over.
    assert_eq!(word(&hosts[0], DATA + 8), 14);
    assert_eq!(hosts[1].count(Counter::OneSided), 4);
    assert_eq!(
        (
            hosts[1].count(Counter::AcksSent),
            hosts[1].count(Counter::Sent)
        ),
        (1, 3)
    );
    assert_eq!(hosts[0].count(Counter::Acknowledged), 4);
    assert_eq!(hosts[1].read(&regs::WINDOWS), 256);
    assert_eq!(hosts[1].read(&regs::FEATURES), 3);
}

#[test]
fn xud_13_the_bytes_of_a_read_are_there_before_its_completion() {
    let mut hosts = pair();
    hosts[0].memory.accesses.clear();
    assert_eq!(done(&mut hosts, 0, REMOTE, Asked::Read(100)), Outcome::Ok);
    let written: Vec<u64> = hosts[0]
        .memory
        .accesses
        .iter()
        .filter(|a| a.2)
        .map(|a| a.0)
        .collect();
    assert_eq!(written, [DATA, ring(1, 2)]);
}

#[test]
fn xud_13_each_right_allows_its_operation_only() {
    let swap = Asked::CompareSwap {
        swap: 1,
        compare: 0,
    };
    let all = [
        (Asked::Write(b"x"), WRITE),
        (Asked::Read(1), READ),
        (Asked::FetchAdd(1), ATOMIC),
        (swap, ATOMIC),
    ];
    for (asked, needs) in all {
        for rights in [
            0,
            1 << 8,
            WRITE,
            READ,
            ATOMIC,
            WRITE | READ,
            READ | ATOMIC,
            WRITE | ATOMIC,
        ] {
            let mut hosts = pair();
            region(&mut hosts[1], rights, DOMAIN);
            hosts[1].memory.accesses.clear();
            let good = rights & needs != 0;
            let expected = if good {
                Outcome::Ok
            } else {
                Outcome::RemoteAccess
            };
            assert_eq!(
                done(&mut hosts, 0, REMOTE, asked),
                expected,
                "{asked:?} {rights:#x}"
            );
            assert_eq!(hosts[1].memory.accesses.is_empty(), !good);
            assert_eq!(hosts[1].count(Counter::OneSidedRefused), u64::from(!good));
        }
        let mut hosts = pair();
        region(&mut hosts[1], needs, DOMAIN + 1);
        assert_eq!(done(&mut hosts, 0, REMOTE, asked), Outcome::RemoteAccess);
        // The key's variant.
        let mut hosts = pair();
        region(&mut hosts[1], 1 | needs, DOMAIN);
        let mut request = work(0, REMOTE, asked, DATA);
        request.head[11] ^= 1;
        assert_eq!(posted(&mut hosts, &request), Outcome::RemoteAccess);
    }
}

#[test]
fn xud_13_remote_bounds_are_exact_to_the_byte() {
    let end = REMOTE + REMOTE_LEN;
    for (address, bytes, good) in [
        (REMOTE, 1, true),
        (REMOTE - 1, 1, false),
        (REMOTE - 1, 2, false),
        (end - 1, 1, true),
        (end - 1, 2, false),
        (end, 1, false),
        (end - 4_080, 4_080, true),
        (end - 4_079, 4_080, false),
        (u64::MAX, 1, false),
        (u64::MAX - 3, 8, false),
        (0, 0, true),
    ] {
        let expected = if good {
            Outcome::Ok
        } else {
            Outcome::RemoteAccess
        };
        let data = vec![1; bytes as usize];
        let mut hosts = pair();
        assert_eq!(done(&mut hosts, 0, address, Asked::Write(&data)), expected);
        if bytes > 0 {
            let mut hosts = pair();
            assert_eq!(done(&mut hosts, 0, address, Asked::Read(bytes)), expected);
        }
    }
    for (address, good) in [(end - 8, true), (end, false), (REMOTE - 8, false)] {
        let mut hosts = pair();
        let expected = if good {
            Outcome::Ok
        } else {
            Outcome::RemoteAccess
        };
        assert_eq!(done(&mut hosts, 0, address, Asked::FetchAdd(1)), expected);
    }
}

#[test]
fn xud_13_bad_work_requests_end_locally_and_send_nothing() {
    let mut hosts = pair();
    let read = work(0, REMOTE, Asked::Read(8), DATA);
    let write = work(0, REMOTE, Asked::Write(b"12345678"), DATA);
    let add = work(0, REMOTE, Asked::FetchAdd(1), DATA);
    let far = Peer {
        node: 1,
        qpn: 1 << 24,
    };
    let read_only = key(2, 1);
    hosts[0].region(2, 1, false, DATA, DATA_LEN);
    let length = Outcome::LocalLength;
    let opcode = Outcome::LocalOpcode;
    let cases = [
        (WorkRequest { length: 0, ..read }, length),
        (
            WorkRequest {
                length: 4_081,
                ..read
            },
            length,
        ),
        (
            WorkRequest {
                length: 4_081,
                ..write
            },
            length,
        ),
        (
            WorkRequest {
                length: u32::MAX,
                ..read
            },
            length,
        ),
        (WorkRequest { length: 15, ..add }, length),
        (
            WorkRequest {
                length: 17,
                to: far,
                ..add
            },
            length,
        ),
        (
            WorkRequest {
                to: far,
                opcode: 9,
                ..read
            },
            Outcome::LocalAddress,
        ),
        (WorkRequest { opcode: 5, ..read }, opcode),
        (WorkRequest { opcode: 0, ..read }, opcode),
        (
            WorkRequest {
                opcode: OPCODE_SEND,
                ..read
            },
            opcode,
        ),
        (
            WorkRequest {
                head_len: 15,
                lkey: 1,
                ..read
            },
            opcode,
        ),
        (
            WorkRequest {
                version_flags: 0x10,
                ..write
            },
            opcode,
        ),
        (
            WorkRequest {
                version_flags: 0x19,
                ..write
            },
            opcode,
        ),
        (
            WorkRequest {
                version_flags: 0x08,
                ..add
            },
            opcode,
        ),
        (
            WorkRequest {
                version_flags: 0x28,
                ..add
            },
            opcode,
        ),
        (
            WorkRequest {
                lkey: read_only,
                ..read
            },
            Outcome::LocalProtection,
        ),
        (
            WorkRequest {
                lkey: read_only,
                ..add
            },
            Outcome::LocalProtection,
        ),
        (WorkRequest { lkey: 0, ..write }, Outcome::LocalProtection),
        (
            WorkRequest {
                address: DATA + DATA_LEN - 7,
                ..read
            },
            Outcome::LocalProtection,
        ),
        (
            WorkRequest {
                address: DATA + DATA_LEN - 15,
                ..add
            },
            Outcome::LocalProtection,
        ),
    ];
    for (at, (request, expected)) in cases.iter().enumerate() {
        assert_eq!(posted(&mut hosts, request), *expected, "case {at}");
    }
    assert_eq!(hosts[0].count(Counter::LocalError), cases.len() as u64);
    assert_eq!(hosts[0].count(Counter::Sent), 0);
    // A write only reads here.
    let good = WorkRequest {
        lkey: read_only,
        ..write
    };
    assert_eq!(posted(&mut hosts, &good), Outcome::Ok);
}

#[test]
fn xud_13_commands_of_windows_are_checked_in_order() {
    let mut host = Host::new(1);
    let open =
        |host: &mut Host, index, args: [u32; 4]| host.command(Command::OpenWindow, index, &args).0;
    let good = [1, 0xF_FFFF, 0xFF_FFFF, 0xFFFF];
    assert_eq!(open(&mut host, 256, [9; 4]), Status::BadIndex);
    for wrong in [
        [4, 0, 0, 0],
        [1, 1 << 20, 0, 0],
        [1, 0, 1 << 24, 0],
        [1, 0, 0, 1 << 16],
    ] {
        assert_eq!(open(&mut host, 255, wrong), Status::BadArgument);
    }
    assert_eq!(open(&mut host, 255, good), Status::BadState);
    host.create(1, LOGS);
    assert_eq!(open(&mut host, 255, good), Status::Ok);
    let close = |host: &mut Host, index| {
        let (status, expected) = host.command(Command::CloseWindow, index, &[]);
        (status, expected, host.read(&regs::RESULT1))
    };
    assert_eq!(close(&mut host, 256), (Status::BadIndex, 0, 0));
    assert_eq!(close(&mut host, 255), (Status::Ok, 0, 1));
    assert_eq!(close(&mut host, 255), (Status::Ok, 0, 0));
    let mut hosts = pair();
    for msn in 0..3 {
        assert_eq!(
            done(&mut hosts, msn, REMOTE, Asked::FetchAdd(1)),
            Outcome::Ok
        );
    }
    assert_eq!(close(&mut hosts[1], WINDOW), (Status::Ok, 3, 1));
    assert_eq!(
        done(&mut hosts, 3, REMOTE, Asked::FetchAdd(1)),
        Outcome::EpochMismatch
    );
}

#[test]
fn xud_06_xud_13_epochs_of_windows() {
    let mut hosts = pair();
    // An epoch that the queue pair has not handed out is of no use.
    open(&mut hosts[1], 2);
    let mut request = work(0, REMOTE, Asked::Read(8), DATA);
    request.window.epoch = 2;
    assert_eq!(posted(&mut hosts, &request), Outcome::EpochMismatch);
    let (status, epoch) = hosts[1].command(Command::NextEpoch, 1, &[]);
    assert_eq!((status, epoch), (Status::Ok, 2));
    assert_eq!(posted(&mut hosts, &request), Outcome::Ok);
    // The window is of one epoch, even if the queue pair accepts others.
    assert_eq!(
        done(&mut hosts, 1, REMOTE, Asked::Read(8)),
        Outcome::EpochMismatch
    );
    assert_eq!(hosts[1].count(Counter::StaleEpoch), 2);
    // A reset closes it.
    hosts[1].write(&regs::CONTROL, 2);
    hosts[1].start(1);
    let (_, expected) = hosts[1].command(Command::CloseWindow, WINDOW, &[]);
    assert_eq!((expected, hosts[1].read(&regs::RESULT1)), (0, 0));
}

#[test]
fn xud_13_memory_that_fails_there_is_remote_operation_and_advances_nothing() {
    for asked in [Asked::Read(8), Asked::FetchAdd(1)] {
        let mut hosts = pair();
        hosts[1].memory.broken = Some(REMOTE..REMOTE + 8);
        assert_eq!(done(&mut hosts, 0, REMOTE, asked), Outcome::RemoteOperation);
        hosts[1].memory.broken = None;
        assert_eq!(done(&mut hosts, 0, REMOTE, asked), Outcome::Ok);
        let counts = [
            Counter::OneSidedFailed,
            Counter::ReadFailed,
            Counter::OneSided,
        ];
        assert_eq!(counts.map(|counter| hosts[1].count(counter)), [1; 3]);
    }
}

#[test]
fn xud_13_a_region_that_goes_in_flight_is_not_written() {
    let mut hosts = pair();
    let before = hosts[0].memory.bytes[DATA as usize];
    put(&mut hosts[1], REMOTE, &[before ^ 0xFF; 8]);
    hosts[0].post_send(1, &work(0, REMOTE, Asked::Read(8), DATA));
    hosts[0].step();
    let [tx, rx] = &mut hosts;
    let request = tx.card.next_frame(0).unwrap();
    rx.card.receive_frame(&request, 0);
    rx.step();
    let answer = rx.card.next_frame(0).unwrap();
    assert_eq!(tx.command(Command::ClearRegion, 3, &[]).0, Status::Ok);
    tx.card.receive_frame(&answer, 0);
    tx.step();
    assert_eq!(tx.outcomes(1), [Outcome::LocalProtection]);
    assert_eq!(tx.count(Counter::LocalError), 1);
    assert_eq!(tx.memory.bytes[DATA as usize], before);
}

#[test]
fn xud_10_xud_13_a_late_answer_writes_nothing_and_the_buffer_is_free() {
    let mut hosts = pair();
    put(&mut hosts[1], REMOTE, b"answered");
    hosts[0].post_send(1, &work(0, REMOTE, Asked::Read(8), DATA));
    hosts[0].step();
    let [tx, rx] = &mut hosts;
    let request = tx.card.next_frame(0).unwrap();
    rx.card.receive_frame(&request, 0);
    rx.step();
    let late = rx.card.next_frame(0).unwrap();
    tx.now += 1 << 22;
    tx.step();
    assert_eq!(tx.outcomes(1), [Outcome::Timeout]);
    put(tx, DATA, b"mine now");
    let now = tx.now;
    tx.card.receive_frame(&late, now);
    tx.step();
    assert_eq!(tx.memory.bytes[DATA as usize..][..8], *b"mine now");
    assert_eq!(tx.count(Counter::AckUnknown), 1);
    assert_eq!(tx.outcomes(1), []);
}

/// Whether an access is to a ring of queue pair 1, to the data here, or to the remote region there.
fn allowed(node: usize, access: &(u64, usize, bool)) -> bool {
    let (at, length, write) = *access;
    let within = |base: u64, bytes: u64| at >= base && at + length as u64 <= base + bytes;
    let rings = if write {
        within(ring(1, 2), 64 << LOGS[2])
    } else {
        within(ring(1, 0), 64 << LOGS[0])
    };
    rings || within(DATA, DATA_LEN) && node == 0 || within(REMOTE, REMOTE_LEN) && node == 1
}

fn around(bases: &'static [u64]) -> impl Strategy<Value = u64> {
    (proptest::sample::select(bases), -40i64..40)
        .prop_map(|(base, off)| base.wrapping_add_signed(off))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn xud_13_no_work_request_reaches_beyond_a_region(
        all in proptest::collection::vec((
            around(&[DATA, DATA + DATA_LEN, REMOTE, 0, u64::MAX]),
            around(&[REMOTE, REMOTE + REMOTE_LEN, DATA, 0, u64::MAX]),
            prop_oneof![0..40u32, 4_070..4_100u32, any::<u32>()],
            1..6u8, 0..6u8, any::<bool>(), any::<bool>(),
        ), 1..12),
    ) {
        let mut hosts = pair();
        for (address, remote, length, opcode, operation, here, there) in all {
            hosts.iter_mut().for_each(|host| host.memory.accesses.clear());
            let window = hosts[1].count(Counter::OneSided) as u32;
            let mut request = work(window, remote, Asked::Read(length), address);
            request.opcode = opcode;
            request.length = length;
            request.head[12] = operation;
            request.lkey = if here { DATA_KEY } else { DATA_KEY ^ 1 };
            request.head[11] ^= u8::from(there);
            posted(&mut hosts, &request);
            for (node, host) in hosts.iter().enumerate() {
                let stray = host.memory.accesses.iter().find(|access| !allowed(node, access));
                prop_assert_eq!(stray, None);
            }
        }
    }
}
