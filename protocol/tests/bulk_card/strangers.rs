//! Frames that no honest card sends: each is a counter and no other harm (BW-2, BW-10).

use tributary_protocol::bulk::{Purpose, ReadMessage, ReadRefused, ReadRequest, Refusal, Transfer};
use tributary_protocol::card::model::BulkConfig;
use tributary_protocol::card::regs::{BulkCounter, Counter};
use tributary_protocol::red::address::NODES;
use tributary_protocol::roce::Link;
use tributary_protocol::rw::{
    Abort, Complete, Connect, ConnectResp, ConnectStatus, Data, Message, Poll, Reason, RetxOne,
    RetxRange, Status, StatusReport, Unknown, wire,
};
use tributary_protocol::xud::Outcome;

use super::world::{DATA, DATA_KEY, DATA_LEN, GOOD, Q_KEY, World, node_of, read, seed, write};

/// A node without a host here, and one whose number is the same but for bits 19:16 (CL-1).
const THEM: u32 = 0x5_0007;
const TWIN: u32 = 0xA_0007;

fn connect(src: u32) -> Connect {
    Connect {
        src,
        slot: 0,
        xid: 1,
        incarnation: 0,
        length: 10_000,
        addr: DATA,
        rkey: DATA_KEY,
        mtu: 12,
    }
}

const TRANSFER: Transfer = Transfer {
    qpn: 1,
    source: 1,
    q_key: Q_KEY,
    purpose: Purpose::Write,
};

fn frame(from: u32, message: &Message, payload: &[u8]) -> Vec<u8> {
    wire::encode_frame(&Link::between(from, node_of(1)), message, payload).unwrap()
}

fn ask(from: u32, c: &Connect, header: &Transfer) -> Vec<u8> {
    frame(from, &Message::Connect(*c), &header.encode())
}

/// Everything that frames may change: all but counters of drops and answers.
fn state(world: &World) -> ([usize; 4], usize, u64) {
    let host = &world.hosts[1];
    (
        host.card.bulk_under_way(),
        host.memory.writes.len(),
        host.count(BulkCounter::DataAccepted),
    )
}

#[test]
fn bw_02_connect_of_a_stranger_with_any_field_wrong_takes_no_window() {
    let mut world = World::pair(GOOD, seed());
    let (good, header) = (connect(THEM), TRANSFER);
    let cases = [
        (
            Connect {
                addr: DATA - 1,
                ..good
            },
            header,
            BulkCounter::Access,
        ),
        (
            Connect {
                addr: DATA + DATA_LEN - 9_999,
                ..good
            },
            header,
            BulkCounter::Access,
        ),
        (
            Connect {
                addr: u64::MAX - 5,
                ..good
            },
            header,
            BulkCounter::Access,
        ),
        (
            Connect {
                length: u32::MAX,
                ..good
            },
            header,
            BulkCounter::Access,
        ),
        (
            Connect {
                rkey: DATA_KEY ^ 1,
                ..good
            },
            header,
            BulkCounter::Access,
        ),
        (
            Connect {
                rkey: DATA_KEY ^ 0x100,
                ..good
            },
            header,
            BulkCounter::Access,
        ),
        (Connect { mtu: 7, ..good }, header, BulkCounter::BadLength),
        (Connect { mtu: 13, ..good }, header, BulkCounter::BadLength),
        (
            Connect { slot: 256, ..good },
            header,
            BulkCounter::BadLength,
        ),
        (good, Transfer { qpn: 2, ..header }, BulkCounter::BadQp),
        (
            good,
            Transfer {
                qpn: 0xFF_FFFF,
                ..header
            },
            BulkCounter::BadQp,
        ),
        (
            good,
            Transfer {
                q_key: Q_KEY ^ 1,
                ..header
            },
            BulkCounter::BadKey,
        ),
        (
            good,
            Transfer {
                purpose: Purpose::Response(5),
                ..header
            },
            BulkCounter::NoRead,
        ),
    ];
    for (c, header, counter) in cases {
        let (before, state_before) = (world.hosts[1].count(counter), state(&world));
        world.send(ask(THEM, &c, &header));
        (0..12).for_each(|_| world.step());
        assert_eq!(
            world.hosts[1].count(counter),
            before + 1,
            "{c:?} {header:?}"
        );
        assert_eq!(state(&world), state_before, "{c:?} {header:?}");
    }
    // The same without what a card puts behind it, and in another's name.
    world.send(frame(THEM, &Message::Connect(good), &[]));
    world.send(ask(8, &good, &header));
    (0..12).for_each(|_| world.step());
    assert_eq!(world.hosts[1].count(BulkCounter::BadMessage), 1);
    assert_eq!(world.hosts[1].count(BulkCounter::Stray), 1);
    assert_eq!(state(&world).0, [0; 4]);
    // With every field right it is a transfer like any other.
    world.send(ask(THEM, &good, &header));
    (0..12).for_each(|_| world.step());
    assert_eq!(state(&world).0, [1, 0, 0, 0]);
}

#[test]
fn bw_02_data_and_control_for_windows_of_others_change_nothing() {
    let mut world = World::pair(GOOD, seed());
    world.send(ask(THEM, &connect(THEM), &TRANSFER));
    (0..12).for_each(|_| world.step());
    let data = Data {
        src: THEM,
        wptr: 0,
        r#gen: 1,
        pidx: 0,
        tail: false,
        round: 0,
        len: 4_096,
    };
    let last = Data {
        pidx: 2,
        tail: true,
        len: 1_808,
        ..data
    };
    let cases = [
        (TWIN, Data { src: TWIN, ..data }, BulkCounter::DataStale),
        (8, data, BulkCounter::Stray),
        (THEM, Data { r#gen: 0, ..data }, BulkCounter::DataStale),
        (THEM, Data { r#gen: 2, ..data }, BulkCounter::DataStale),
        (THEM, Data { wptr: 1, ..data }, BulkCounter::DataStale),
        (
            THEM,
            Data {
                wptr: 65_535,
                ..data
            },
            BulkCounter::DataStale,
        ),
        (THEM, Data { pidx: 3, ..data }, BulkCounter::DataWrong),
        (
            THEM,
            Data {
                pidx: 2_097_151,
                ..data
            },
            BulkCounter::DataWrong,
        ),
        (THEM, Data { len: 2_048, ..data }, BulkCounter::DataWrong),
        (THEM, Data { tail: true, ..data }, BulkCounter::DataWrong),
        (THEM, Data { len: 1_809, ..last }, BulkCounter::DataWrong),
    ];
    for (from, data, counter) in cases {
        let (before, state_before) = (world.hosts[1].count(counter), state(&world));
        world.send(frame(
            from,
            &Message::Data(data),
            &vec![0xEE; data.len.into()],
        ));
        (0..12).for_each(|_| world.step());
        assert_eq!(world.hosts[1].count(counter), before + 1, "{data:?}");
        assert_eq!(state(&world), state_before, "{data:?}");
    }
    let abort = Abort {
        src: TWIN,
        slot: 0,
        xid: 1,
        reason: Reason::GaveUp,
    };
    let poll = Poll {
        src: TWIN,
        wptr: 0,
        r#gen: 1,
        slot: 0,
        xid: 1,
        seq: 1,
    };
    for message in [
        Message::Abort(abort),
        Message::Abort(Abort {
            src: THEM,
            xid: 2,
            ..abort
        }),
        Message::Abort(Abort {
            src: THEM,
            slot: 1,
            ..abort
        }),
        Message::Poll(poll),
    ] {
        let from = if let Message::Abort(m) = &message {
            m.src
        } else {
            TWIN
        };
        world.send(frame(from, &message, &[]));
    }
    (0..12).for_each(|_| world.step());
    assert_eq!(state(&world).0, [1, 0, 0, 0]);
    // The one whose window it is goes on.
    for (pidx, len) in [(0, 4_096), (1, 4_096), (2, 1_808)] {
        let tail = pidx == 2;
        let data = Data {
            pidx,
            tail,
            len,
            ..data
        };
        world.send(frame(THEM, &Message::Data(data), &vec![0x11; len.into()]));
    }
    (0..12).for_each(|_| world.step());
    assert_eq!(world.hosts[1].data(DATA, 10_000), [0x11; 10_000]);
    assert_eq!(world.hosts[1].count(BulkCounter::Received), 1);
    world.settle();
}

#[test]
fn responses_that_nobody_asked_for_change_nothing() {
    let mut world = World::pair(GOOD, seed());
    // Host 1 sends to a node that is silent: slot 0, and a read.
    let silent = tributary_protocol::xud::Peer { node: 9, qpn: 1 };
    world.hosts[1].post(1, &write(silent, DATA, DATA, 10_000));
    world.hosts[1].post(1, &read(silent, DATA + 20_000, DATA, 10_000));
    (0..4).for_each(|_| world.step());
    assert_eq!(world.hosts[1].card.bulk_under_way(), [0, 1, 1, 0]);
    let resp = ConnectResp {
        slot: 0,
        xid: 1,
        status: ConnectStatus::Ok,
        wptr: 0,
        r#gen: 1,
        w: 256,
        credit: 3,
        retry: 0,
    };
    let (slot, xid) = (0, 1);
    let status = StatusReport {
        slot,
        xid,
        seq: 0,
        wbase: 3,
        w_tail: true,
        credit: 3,
        bitmap: [false; 64].into_iter().collect(),
    };
    let forged = [
        Message::ConnectResp(resp),
        Message::ConnectResp(ConnectResp {
            status: ConnectStatus::Access,
            ..resp
        }),
        Message::Complete(Complete {
            slot,
            xid,
            status: Status::Ok,
        }),
        Message::Unknown(Unknown {
            slot,
            xid,
            reason: Reason::NoTransfer,
        }),
        Message::RetxOne(RetxOne { slot, xid, pidx: 0 }),
        Message::RetxRange(RetxRange {
            slot,
            xid,
            pidx: 0,
            round: 0,
        }),
        Message::Status(status),
    ];
    let mut stray = 0;
    for message in &forged {
        // From node 7, which it did not send to; and about a transfer that it does not have.
        world.send(frame(THEM, message, &[]));
        stray += 1;
    }
    let token = 1 << 16;
    let refused = ReadRefused {
        qpn: 1,
        node: THEM,
        token,
        reason: Refusal::Access,
        retry: 0,
    };
    for (from, refused) in [
        (7, refused),
        (THEM, ReadRefused { node: 9, ..refused }),
        (
            9,
            ReadRefused {
                node: 9,
                qpn: 2,
                ..refused
            },
        ),
        (
            9,
            ReadRefused {
                node: 9,
                token: token + 1,
                ..refused
            },
        ),
        (
            9,
            ReadRefused {
                node: 9,
                token: token + (1 << 16),
                ..refused
            },
        ),
    ] {
        let message = ReadMessage::Refused(refused);
        world.send(
            message
                .encode_frame(&Link::between(from, node_of(1)))
                .unwrap(),
        );
        stray += 1;
    }
    // An answer to the read from the wrong node, queue pair, or for other memory.
    let header = Transfer {
        purpose: Purpose::Response(token),
        ..TRANSFER
    };
    let answer = Connect {
        addr: DATA + 20_000,
        ..connect(9)
    };
    for (from, c, header) in [
        (
            THEM,
            Connect {
                src: THEM,
                ..answer
            },
            header,
        ),
        (
            9,
            Connect {
                addr: DATA,
                ..answer
            },
            header,
        ),
        (
            9,
            Connect {
                length: 9_999,
                ..answer
            },
            header,
        ),
        (
            9,
            Connect {
                rkey: DATA_KEY + 1,
                ..answer
            },
            header,
        ),
        (
            9,
            answer,
            Transfer {
                source: 2,
                ..header
            },
        ),
        (
            9,
            answer,
            Transfer {
                purpose: Purpose::Response(token + 1),
                ..header
            },
        ),
    ] {
        world.send(ask(from, &c, &header));
    }
    (0..20).for_each(|_| world.step());
    assert_eq!(world.hosts[1].count(BulkCounter::Stray), stray);
    assert_eq!(world.hosts[1].count(BulkCounter::NoRead), 6);
    assert_eq!(world.hosts[1].card.bulk_under_way(), [0, 1, 1, 0]);
    // Both still end, once.
    for _ in 0..2 {
        assert_eq!(world.wait(1, 100_000).status, Outcome::Unreachable);
    }
    world.settle();
    assert!(world.hosts[1].poll(1).is_none());
}

#[test]
fn bw_01_a_flood_of_connects_is_answered_busy_and_harms_nobody_who_has_a_window() {
    let config = BulkConfig {
        windows: 4,
        peers: 8,
        ..BulkConfig::default()
    };
    let mut world = World::pair_of(config, GOOD, seed());
    let bytes = world.sample(400_000);
    world.hosts[0].fill(DATA, &bytes);
    let to = world.hosts[1].peer(1);
    world.hosts[0].post(1, &write(to, DATA, DATA, 400_000));
    (0..20).for_each(|_| world.step());
    for stranger in 100..1_100u32 {
        world.send(ask(
            stranger,
            &Connect {
                slot: (stranger % 200) as u16,
                ..connect(stranger)
            },
            &TRANSFER,
        ));
        if stranger % 8 == 0 {
            world.step();
        }
    }
    assert_eq!(world.wait(0, 10_000).status, Outcome::Ok);
    assert_eq!(world.hosts[1].data(DATA, 400_000), bytes);
    assert!(world.hosts[1].count(BulkCounter::Busy) > 900);
    assert!(world.hosts[1].card.bulk_under_way()[0] <= 4);
    // Windows that are opened and never used are given up, and others get them.
    assert_eq!(world.run(&write(to, DATA, DATA + 1, 400_000)), Outcome::Ok);
    world.settle();
    assert_eq!(world.hosts[1].count(BulkCounter::Received), 2);
}

#[test]
fn bw_11_a_read_request_of_a_stranger_reads_nothing_that_its_key_does_not_allow() {
    let mut world = World::pair(GOOD, seed());
    let good = ReadRequest {
        qpn: 1,
        node: THEM,
        source: 1,
        q_key: Q_KEY,
        token: 99,
        mtu: 12,
        length: 10_000,
        address: DATA,
        rkey: DATA_KEY,
        to_address: 0x5000,
        to_key: 3,
    };
    let cases = [
        (
            ReadRequest {
                rkey: DATA_KEY ^ 1,
                ..good
            },
            BulkCounter::Access,
        ),
        (
            ReadRequest {
                address: DATA - 1,
                ..good
            },
            BulkCounter::Access,
        ),
        (
            ReadRequest {
                address: DATA + DATA_LEN - 9_999,
                ..good
            },
            BulkCounter::Access,
        ),
        (ReadRequest { qpn: 3, ..good }, BulkCounter::BadQp),
        (ReadRequest { q_key: 1, ..good }, BulkCounter::BadKey),
        (
            ReadRequest {
                to_address: u64::MAX - 9,
                ..good
            },
            BulkCounter::BadLength,
        ),
        (
            ReadRequest {
                mtu: 8,
                length: u32::MAX,
                ..good
            },
            BulkCounter::BadLength,
        ),
        (ReadRequest { node: 8, ..good }, BulkCounter::Stray),
    ];
    for (request, counter) in cases {
        let before = world.hosts[1].count(counter);
        let message = ReadMessage::Request(request);
        world.send(
            message
                .encode_frame(&Link::between(THEM, node_of(1)))
                .unwrap(),
        );
        (0..12).for_each(|_| world.step());
        assert_eq!(world.hosts[1].count(counter), before + 1, "{request:?}");
        assert_eq!(world.hosts[1].card.bulk_under_way(), [0; 4]);
        assert!(world.hosts[1].memory.reads.is_empty());
    }
    // A good one, doubled, makes one transfer; its requester is silent, and it is given up.
    for _ in 0..3 {
        let message = ReadMessage::Request(good);
        world.send(
            message
                .encode_frame(&Link::between(THEM, node_of(1)))
                .unwrap(),
        );
    }
    (0..12).for_each(|_| world.step());
    assert_eq!(world.hosts[1].card.bulk_under_way(), [0, 1, 0, 0]);
    world.settle();
}

#[test]
fn bw_10_peers_without_number_are_served_with_few_entries() {
    let config = BulkConfig {
        windows: 2,
        peers: 3,
        ..BulkConfig::default()
    };
    let mut world = World::pair_of(config, GOOD, seed());
    let data = Data {
        src: 0,
        wptr: 0,
        r#gen: 0,
        pidx: 0,
        tail: true,
        round: 0,
        len: 8,
    };
    for n in 0..500u32 {
        let src = (n * 0x1_0131 + 7) % NODES;
        let c = Connect {
            length: 8,
            slot: (n % 256) as u16,
            ..connect(src)
        };
        world.send(ask(src, &c, &TRANSFER));
        (0..10).for_each(|_| world.step());
        // The windows are used in turns, each under its next generation.
        let data = Data {
            src,
            wptr: (n % 2) as u16,
            r#gen: n / 2 + 1,
            ..data
        };
        let bytes = u64::from(n).to_le_bytes();
        world.send(frame(src, &Message::Data(data), &bytes));
        (0..10).for_each(|_| world.step());
        assert_eq!(world.hosts[1].data(DATA, 8), bytes, "transfer {n}");
    }
    assert_eq!(world.hosts[1].count(BulkCounter::Received), 500);
    assert_eq!(world.hosts[1].count(BulkCounter::Forgotten), 497);
    assert_eq!(world.hosts[1].count_card(Counter::NotXud), 0);
    // A late CONNECT of the first, which is forgotten, takes a window for a while and writes nothing.
    let writes = world.hosts[1].memory.writes.len();
    let late = Connect {
        length: 8,
        ..connect(THEM)
    };
    world.send(ask(THEM, &late, &TRANSFER));
    (0..12).for_each(|_| world.step());
    assert_eq!(world.hosts[1].card.bulk_under_way()[0], 1);
    let stale = Data {
        src: THEM,
        wptr: 0,
        r#gen: 1,
        ..data
    };
    world.send(frame(THEM, &Message::Data(stale), &[9; 8]));
    world.settle();
    assert_eq!(world.hosts[1].memory.writes.len(), writes);
    assert_eq!(world.hosts[1].count(BulkCounter::ReceivedAborted), 1);
}

#[test]
fn bw_09_bw_11_a_second_answer_to_a_read_is_refused_also_of_a_target_that_was_reset() {
    // The second answer has the slot of the first, or another one.
    for slot in [0, 1] {
        let mut world = World::pair(GOOD, seed());
        let target = tributary_protocol::xud::Peer { node: 9, qpn: 1 };
        world.hosts[1].post(1, &read(target, DATA, DATA, 8));
        (0..4).for_each(|_| world.step());
        let header = Transfer {
            purpose: Purpose::Response(1 << 16),
            ..TRANSFER
        };
        let first = Connect {
            length: 8,
            ..connect(9)
        };
        let second = Connect {
            incarnation: 1,
            slot,
            ..first
        };
        for (c, refused) in [(first, 0), (second, 1)] {
            world.send(ask(9, &c, &header));
            (0..12).for_each(|_| world.step());
            assert_eq!(world.hosts[1].card.bulk_under_way(), [1, 0, 1, 0]);
            assert_eq!(world.hosts[1].count(BulkCounter::NoRead), refused);
        }
        let data = Data {
            src: 9,
            wptr: 0,
            r#gen: 1,
            pidx: 0,
            tail: true,
            round: 0,
            len: 8,
        };
        // There is no window for the second one.
        let other = Data { wptr: 1, ..data };
        world.send(frame(9, &Message::Data(other), &[1; 8]));
        (0..12).for_each(|_| world.step());
        assert!(world.hosts[1].memory.writes.is_empty());
        world.send(frame(9, &Message::Data(data), &[2; 8]));
        assert_eq!(world.wait(1, 100).status, Outcome::Ok);
        assert_eq!(world.hosts[1].data(DATA, 8), [2; 8]);
        world.settle();
        assert!(world.hosts[1].poll(1).is_none());
        assert_eq!(world.hosts[1].count(BulkCounter::Completed), 1);
    }
}
