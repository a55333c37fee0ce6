//! The card's engine, rule by rule.

use tributary_protocol::xud::{
    Ack, Card, CardConfig, Completion, Drop, Echo, Nak, Outcome, Packet, Peer, PostError,
    ReceiveRequest, Reply, Send, SendRequest, Shape, Window,
};

const TO: Peer = Peer { node: 1, qpn: 9 };
const WINDOW: Window = Window {
    id: 3,
    epoch: 1,
    msn: 5,
};
const SHAPE: Shape = Shape {
    q_key: 77,
    first_psn: 0xFF_FFFE,
    timeout: 1,
    sends: 8,
    receives: 4,
    completions: 8,
};

fn card(node: u32, qpn: u32) -> Card {
    let mut card = Card::new(CardConfig {
        node,
        ..CardConfig::default()
    })
    .unwrap();
    card.create_qp(qpn, SHAPE).unwrap();
    card
}

fn request(id: u64) -> SendRequest {
    SendRequest {
        id,
        to: TO,
        version: 1,
        flags: 0,
        window: WINDOW,
        head: vec![],
        buffer: b"payload".as_slice().into(),
        range: (0, 7),
    }
}

fn sent(card: &mut Card, now: u64) -> Send {
    match card.next_packet(now).unwrap().packet {
        Packet::Send(send) => send,
        other => panic!("{other:?}"),
    }
}

fn reply(card: &mut Card) -> Option<Ack> {
    card.next_packet(0).map(|out| match out.packet {
        Packet::Ack(ack) => ack,
        other => panic!("{other:?}"),
    })
}

fn ack(send: &Send) -> Ack {
    Ack {
        dest_qp: send.src_qp,
        psn: send.psn,
        reply: Reply::Ok,
        echo: Some(Echo {
            window: send.window,
            flags: send.flags,
            qpn: send.dest_qp,
        }),
        marked: false,
    }
}

fn ended(card: &mut Card, qpn: u32) -> Option<(u64, Outcome)> {
    card.poll(qpn).map(|completion| match completion {
        Completion::Sent { id, outcome, .. } => (id, outcome),
        other => panic!("{other:?}"),
    })
}

fn receive(id: u64, length: u32) -> ReceiveRequest {
    ReceiveRequest { id, length }
}

/// A request as it arrives at queue pair 9.
fn arriving() -> Send {
    let mut tx = card(0, 7);
    tx.post_send(7, request(1)).unwrap();
    sent(&mut tx, 0)
}

#[test]
fn xud_01_requests_time_out_after_4096_ns_times_2_to_the_t() {
    for t in [0, 1, 5, 12] {
        let mut card = Card::new(CardConfig::default()).unwrap();
        card.create_qp(
            7,
            Shape {
                timeout: t,
                ..SHAPE
            },
        )
        .unwrap();
        card.post_send(7, request(1)).unwrap();
        sent(&mut card, 1_000);
        let deadline = 1_000 + (4_096u64 << t);
        for now in (0..deadline).step_by(509) {
            card.tick(now);
        }
        card.tick(deadline - 1);
        assert_eq!((ended(&mut card, 7), card.in_flight()), (None, 1));
        // The wheel may be late by one bucket.
        card.tick(deadline + 2_048);
        assert_eq!(ended(&mut card, 7), Some((1, Outcome::Timeout)));
        assert_eq!((card.in_flight(), card.stats().timeouts), (0, 1));
    }
}

#[test]
fn xud_01_one_table_serves_all_queue_pairs_and_numbers_wrap_at_24_bits() {
    let mut card = card(0, 7);
    card.create_qp(8, SHAPE).unwrap();
    let mut seen = Vec::new();
    for id in 0..3 {
        card.post_send(7, request(id)).unwrap();
        card.post_send(8, request(id)).unwrap();
    }
    while card.in_flight() < 6 {
        let send = sent(&mut card, 0);
        seen.push((send.src_qp, send.psn));
    }
    let numbers = [0xFF_FFFE, 0xFF_FFFF, 0];
    let expected: Vec<_> = numbers
        .iter()
        .flat_map(|psn| [(7, *psn), (8, *psn)])
        .collect();
    assert_eq!(seen, expected, "queue pairs take turns");
}

#[test]
fn xud_01_a_number_in_flight_is_not_used_again() {
    let mut card = Card::new(CardConfig {
        psn_bits: 1,
        ..CardConfig::default()
    })
    .unwrap();
    card.create_qp(7, SHAPE).unwrap();
    (0..3).for_each(|id| card.post_send(7, request(id)).unwrap());
    let first = sent(&mut card, 0);
    sent(&mut card, 0);
    assert_eq!(card.next_packet(0), None);
    card.receive(1, &Packet::Ack(ack(&first)), 0);
    assert_eq!(sent(&mut card, 0).psn, first.psn);
    assert!(card.stats().stalls > 0);
}

#[test]
fn xud_02_every_request_ends_once_whatever_becomes_of_it() {
    let replies = [
        (Reply::Ok, Outcome::Ok),
        (Reply::Rnr, Outcome::RemoteRnr),
        (Reply::Nak(Nak::Length), Outcome::RemoteLength),
        (Reply::Nak(Nak::Access), Outcome::RemoteAccess),
        (Reply::Nak(Nak::Opcode), Outcome::RemoteOpcode),
        (Reply::Nak(Nak::BadQp), Outcome::BadQp),
        (Reply::Nak(Nak::Epoch), Outcome::EpochMismatch),
    ];
    for (reply, outcome) in replies {
        let mut card = card(0, 7);
        card.post_send(7, request(4)).unwrap();
        let ack = Ack {
            reply,
            ..ack(&sent(&mut card, 0))
        };
        card.receive(1, &Packet::Ack(ack), 1);
        card.receive(1, &Packet::Ack(ack), 2);
        card.tick(1 << 30);
        assert_eq!(ended(&mut card, 7), Some((4, outcome)));
        assert_eq!(ended(&mut card, 7), None);
    }
}

#[test]
fn xud_02_bad_requests_end_at_once_and_destruction_flushes() {
    let mut card = card(0, 7);
    let long = SendRequest {
        buffer: vec![0; 1_025].into(),
        range: (0, 1_025),
        ..request(1)
    };
    let far = SendRequest {
        to: Peer {
            node: 1,
            qpn: 1 << 24,
        },
        ..request(2)
    };
    card.post_send(7, long).unwrap();
    card.post_send(7, far).unwrap();
    assert_eq!(ended(&mut card, 7), Some((1, Outcome::LocalLength)));
    assert_eq!(ended(&mut card, 7), Some((2, Outcome::LocalAddress)));
    card.post_send(7, request(3)).unwrap();
    sent(&mut card, 0);
    card.post_send(7, request(4)).unwrap();
    let outcome = Outcome::Flushed;
    let flushed = [3, 4].map(|id| Completion::Sent {
        id,
        outcome,
        marked: false,
    });
    assert_eq!(card.destroy_qp(7), flushed);
    assert_eq!(card.post_send(7, request(5)), Err(PostError::NoQp(7)));
}

#[test]
fn xud_02_completion_slots_are_reserved_so_none_is_lost() {
    let mut card = card(0, 7);
    for id in 0..8 {
        card.post_send(7, request(id)).unwrap();
        sent(&mut card, 0);
    }
    assert_eq!(
        card.post_send(7, request(8)),
        Err(PostError::Full("completion"))
    );
    card.tick(1 << 30);
    let mut all: Vec<_> = std::iter::from_fn(|| ended(&mut card, 7)).collect();
    all.sort_unstable();
    assert_eq!(
        all,
        (0..8).map(|id| (id, Outcome::Timeout)).collect::<Vec<_>>()
    );
}

#[test]
fn xud_03_an_acknowledgement_must_match_number_source_and_window() {
    let mut card = card(0, 7);
    card.post_send(7, request(1)).unwrap();
    let send = sent(&mut card, 0);
    let right = ack(&send);
    let echo = right.echo.unwrap();
    let wrong_window = |window| Ack {
        echo: Some(Echo { window, ..echo }),
        ..right
    };
    let cases = [
        (1, Ack { psn: 5, ..right }, Drop::AckUnknown),
        (
            1,
            Ack {
                dest_qp: 8,
                ..right
            },
            Drop::AckUnknown,
        ),
        (2, right, Drop::AckSource),
        (
            1,
            Ack {
                echo: Some(Echo { qpn: 10, ..echo }),
                ..right
            },
            Drop::AckSource,
        ),
        (1, wrong_window(Window { id: 4, ..WINDOW }), Drop::AckEcho),
        (
            1,
            wrong_window(Window { epoch: 2, ..WINDOW }),
            Drop::AckEcho,
        ),
        (1, wrong_window(Window { msn: 6, ..WINDOW }), Drop::AckEcho),
        (
            1,
            Ack {
                echo: Some(Echo { flags: 1, ..echo }),
                ..right
            },
            Drop::AckEcho,
        ),
        (
            1,
            Ack {
                echo: None,
                ..right
            },
            Drop::AckEcho,
        ),
    ];
    for (from, ack, reason) in cases {
        let before = card.stats().drops.of(reason);
        card.receive(from, &Packet::Ack(ack), 1);
        assert_eq!(card.stats().drops.of(reason), before + 1, "{ack:?}");
        assert_eq!(
            (ended(&mut card, 7), card.in_flight()),
            (None, 1),
            "{ack:?}"
        );
    }
    card.receive(1, &Packet::Ack(right), 1);
    assert_eq!(ended(&mut card, 7), Some((1, Outcome::Ok)));
}

#[test]
fn xud_03_version_0_matches_by_number_as_its_source_does() {
    let mut tx = card(0, 7);
    let mut rx = card(1, 9);
    rx.post_receive(9, receive(1, 1_024)).unwrap();
    let window = Window { epoch: 0, ..WINDOW };
    let version_0 = SendRequest {
        version: 0,
        window,
        ..request(1)
    };
    tx.post_send(7, version_0).unwrap();
    rx.receive(0, &Packet::Send(sent(&mut tx, 0)), 0);
    rx.land();
    let ack = reply(&mut rx).unwrap();
    assert_eq!(ack.echo, None);
    tx.receive(1, &Packet::Ack(ack), 0);
    assert_eq!(ended(&mut tx, 7), Some((1, Outcome::Ok)));
}

#[test]
fn xud_04_the_acknowledgement_leaves_after_the_completion() {
    let mut rx = card(1, 9);
    rx.post_receive(9, receive(33, 1_024)).unwrap();
    let send = arriving();
    rx.receive(0, &Packet::Send(send.clone()), 0);
    assert_eq!((reply(&mut rx), rx.poll(9)), (None, None));
    assert!(rx.land() && !rx.land());
    let from = Peer { node: 0, qpn: 7 };
    let completion = Completion::Received {
        id: 33,
        from,
        version: 1,
        flags: 0,
        window: WINDOW,
        payload: b"payload".to_vec(),
    };
    assert_eq!(rx.poll(9), Some(completion));
    assert_eq!(reply(&mut rx), Some(ack(&send)));
}

#[test]
fn xud_04_without_receive_request_or_completion_slot_the_answer_is_rnr() {
    let mut rx = card(1, 9);
    let packet = Packet::Send(arriving());
    rx.receive(0, &packet, 0);
    assert_eq!(reply(&mut rx).unwrap().reply, Reply::Rnr);

    // Accepted ones hold their slots until software has polled them.
    for _ in 0..2 {
        (0..4).for_each(|id| rx.post_receive(9, receive(id, 1_024)).unwrap());
        (0..4).for_each(|_| rx.receive(0, &packet, 0));
    }
    rx.post_receive(9, receive(9, 1_024)).unwrap();
    rx.receive(0, &packet, 0);
    assert_eq!(reply(&mut rx).unwrap().reply, Reply::Rnr);
    while rx.land() {}
    assert_eq!(std::iter::from_fn(|| rx.poll(9)).count(), 8);
    assert_eq!(
        (rx.stats().accepted, rx.stats().drops.of(Drop::Rnr)),
        (8, 2)
    );
}

#[test]
fn xud_04_what_has_not_landed_when_its_queue_pair_dies_is_not_acknowledged() {
    let mut rx = card(1, 9);
    rx.post_receive(9, receive(1, 1_024)).unwrap();
    rx.receive(0, &Packet::Send(arriving()), 0);
    rx.destroy_qp(9);
    assert_eq!((rx.land(), reply(&mut rx)), (false, None));
}

#[test]
fn xud_06_a_new_queue_pair_refuses_epochs_of_its_predecessor() {
    let mut rx = card(1, 9);
    assert_eq!((rx.epoch(9), rx.next_epoch(9)), (Some(1), Some(2)));
    rx.destroy_qp(9);
    rx.create_qp(9, SHAPE).unwrap();
    rx.post_receive(9, receive(1, 1_024)).unwrap();
    for epoch in [1, 2, 4, 0xFFFF] {
        let mut send = arriving();
        send.window.epoch = epoch;
        rx.receive(0, &Packet::Send(send), 0);
        assert_eq!(
            reply(&mut rx).unwrap().reply,
            Reply::Nak(Nak::Epoch),
            "{epoch}"
        );
    }
    let mut send = arriving();
    send.window.epoch = 3;
    rx.receive(0, &Packet::Send(send), 0);
    assert_eq!(
        (rx.stats().accepted, rx.stats().drops.of(Drop::StaleEpoch)),
        (1, 4)
    );
}

#[test]
fn xud_06_epochs_wrap() {
    let mut rx = card(1, 9);
    (0..70_000).for_each(|_| assert!(rx.next_epoch(9).is_some()));
    rx.post_receive(9, receive(1, 1_024)).unwrap();
    let mut send = arriving();
    send.window.epoch = rx.epoch(9).unwrap().wrapping_sub(100);
    rx.receive(0, &Packet::Send(send), 0);
    assert_eq!(rx.stats().accepted, 1);
}

#[test]
fn xud_10_a_late_acknowledgement_is_ignored() {
    let mut card = card(0, 7);
    card.post_send(7, request(1)).unwrap();
    let send = sent(&mut card, 0);
    card.tick(1 << 30);
    assert_eq!(ended(&mut card, 7), Some((1, Outcome::Timeout)));
    card.receive(1, &Packet::Ack(ack(&send)), 1 << 30);
    assert_eq!(ended(&mut card, 7), None);
    assert_eq!(card.stats().drops.of(Drop::AckUnknown), 1);
}

#[test]
fn xud_14_a_wrong_key_is_never_answered_and_other_faults_are() {
    let mut rx = card(1, 9);
    rx.post_receive(9, receive(1, 100)).unwrap();
    let good = arriving();
    let key = Send {
        q_key: 78,
        ..good.clone()
    };
    let qp = Send {
        dest_qp: 10,
        ..good.clone()
    };
    let long = Send {
        payload: vec![0; 1_025],
        ..good.clone()
    };
    let over = Send {
        payload: vec![0; 101],
        ..good.clone()
    };
    let nak = |nak| Some(Reply::Nak(nak));
    let cases = [
        (Packet::Send(key.clone()), Drop::BadKey, None),
        (
            Packet::Unknown {
                opcode: 0xD7,
                send: key,
            },
            Drop::BadKey,
            None,
        ),
        (Packet::Send(qp), Drop::BadQp, nak(Nak::BadQp)),
        (Packet::Send(long), Drop::BadLength, nak(Nak::Length)),
        (Packet::Send(over), Drop::BadLength, nak(Nak::Length)),
        (
            Packet::Unknown {
                opcode: 0xD7,
                send: good,
            },
            Drop::BadOpcode,
            nak(Nak::Opcode),
        ),
    ];
    for (packet, reason, answer) in cases {
        let before = rx.stats().drops.of(reason);
        rx.receive(0, &packet, 0);
        assert_eq!(rx.stats().drops.of(reason), before + 1);
        assert_eq!(reply(&mut rx).map(|ack| ack.reply), answer, "{packet:?}");
        assert!(!rx.land() && rx.poll(9).is_none());
    }
    // The receive request is still there.
    rx.receive(0, &Packet::Send(arriving()), 0);
    assert!(rx.land());
}
