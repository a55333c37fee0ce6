//! The requester: an answer is an acknowledgement with bytes.

use tributary_protocol::xud::onesided::Asked;
use tributary_protocol::xud::{Ack, Drop, Echo, Nak, Outcome, Packet, Reply, Send};

use crate::bench::{BASE, Pair, REQUESTER, answer};

const READ: Asked<'_> = Asked::Read(5);

/// A READ of "bytes" and its answer.
fn asked() -> (Pair, Send) {
    let mut pair = Pair::new();
    pair.remote.bytes[..5].copy_from_slice(b"bytes");
    let send = pair.ask(1, 0, BASE, READ);
    let answer = answer(pair.deliver(&send));
    (pair, answer)
}

fn landed(pair: &Pair) -> bool {
    pair.local.bytes[64..69] == *b"bytes"
}

fn dropped(pair: &Pair, reason: Drop) -> u64 {
    pair.requester.stats().drops.of(reason)
}

#[test]
fn xud_13_the_answer_of_a_read_is_its_acknowledgement() {
    let (mut pair, answer) = asked();
    assert_eq!(pair.reply(&Packet::Send(answer)), Some((1, Outcome::Ok)));
    assert!(landed(&pair));
    assert_eq!(pair.requester.stats().acknowledged, 1);
    assert_eq!(pair.requester.in_flight(), 0);
    assert_eq!(pair.target.stats().answers_sent, 1);
}

#[test]
fn xud_13_a_lost_answer_is_asked_for_again() {
    let (mut pair, _) = asked();
    pair.time_out();
    assert_eq!(pair.ended(), Some((1, Outcome::Timeout)));
    let send = pair.ask(2, 0, BASE, READ);
    let answer = answer(pair.deliver(&send));
    assert_eq!(pair.reply(&Packet::Send(answer)), Some((2, Outcome::Ok)));
    assert!(landed(&pair));
}

#[test]
fn xud_10_xud_13_a_late_answer_writes_nothing() {
    let (mut pair, late) = asked();
    pair.time_out();
    assert_eq!(pair.ended(), Some((1, Outcome::Timeout)));
    let late = Packet::Send(late);
    assert_eq!(pair.reply(&late), None);
    // Nor does it while the request is asked for again, or after that has ended.
    let send = pair.ask(2, 0, BASE, READ);
    assert_eq!(pair.reply(&late), None);
    assert!(pair.local.accesses.is_empty());
    let answer = Packet::Send(answer(pair.deliver(&send)));
    assert_eq!(pair.reply(&answer), Some((2, Outcome::Ok)));
    assert_eq!(pair.reply(&answer), None);
    assert_eq!(pair.local.accesses.len(), 1);
    assert_eq!(dropped(&pair, Drop::AckUnknown), 3);
}

#[test]
fn xud_03_xud_13_an_answer_from_elsewhere_or_of_another_window_writes_nothing() {
    let (mut pair, good) = asked();
    let wrong = |change: fn(&mut Send)| {
        let mut answer = good.clone();
        change(&mut answer);
        Packet::Send(answer)
    };
    for (packet, reason) in [
        (wrong(|answer| answer.src_qp = 3), Drop::AckSource),
        (wrong(|answer| answer.window.id = 4), Drop::AckEcho),
        (wrong(|answer| answer.window.epoch = 4), Drop::AckEcho),
        (wrong(|answer| answer.window.msn = 4), Drop::AckEcho),
        (wrong(|answer| answer.psn = 4), Drop::AckUnknown),
        (wrong(|answer| answer.dest_qp = 4), Drop::AckUnknown),
    ] {
        let before = dropped(&pair, reason);
        assert_eq!(pair.reply(&packet), None);
        assert_eq!(dropped(&pair, reason), before + 1);
    }
    let good = Packet::Send(good.clone());
    // From another node.
    pair.requester.receive(5, &good, 0);
    assert!(!pair.requester.serve(&mut pair.local));
    assert_eq!(dropped(&pair, Drop::AckSource), 2);
    assert!(pair.local.accesses.is_empty());
    assert_eq!(pair.reply(&good), Some((1, Outcome::Ok)));
}

#[test]
fn xud_13_an_answer_that_does_not_fit_writes_nothing() {
    let ends = |asked: Asked<'_>, change: fn(&mut Send)| {
        let mut pair = Pair::new();
        let send = pair.ask(1, 0, BASE, asked);
        let mut answer = Send {
            dest_qp: send.src_qp,
            src_qp: send.dest_qp,
            payload: vec![0; 16],
            ..send
        };
        answer.payload[12] = 0x82;
        change(&mut answer);
        let ended = pair.reply(&Packet::Send(answer)).unwrap();
        assert_eq!(pair.requester.in_flight(), 0);
        (ended.1, pair.local.accesses.len())
    };
    let add = Asked::FetchAdd(1);
    let length = (Outcome::RemoteLength, 0);
    assert_eq!(
        ends(READ, |answer| answer.payload.extend([0; 5])),
        (Outcome::Ok, 1)
    );
    assert_eq!(ends(READ, |answer| answer.payload.extend([0; 4])), length);
    assert_eq!(ends(READ, |answer| answer.payload.extend([0; 6])), length);
    assert_eq!(ends(READ, |answer| answer.payload[12] = 0x83), length);
    assert_eq!(
        ends(add, |answer| answer.payload[12] = 0x83),
        (Outcome::Ok, 1)
    );
    assert_eq!(
        ends(add, |answer| answer.payload[12] = 0x84),
        (Outcome::Ok, 1)
    );
    assert_eq!(ends(add, |_| ()), length);
    let more = |answer: &mut Send| {
        answer.payload[12] = 0x83;
        answer.payload.push(0);
    };
    assert_eq!(ends(add, more), length);
    assert_eq!(ends(Asked::Write(b"x"), |_| ()), (Outcome::RemoteOpcode, 0));
}

#[test]
fn xud_13_an_acknowledgement_is_no_answer() {
    let (mut pair, answer) = asked();
    let ack = |reply| {
        Packet::Ack(Ack {
            dest_qp: REQUESTER.qpn,
            psn: answer.psn,
            reply,
            echo: Some(Echo {
                window: answer.window,
                flags: answer.flags,
                qpn: answer.src_qp,
            }),
            marked: false,
        })
    };
    assert_eq!(pair.reply(&ack(Reply::Ok)), None);
    assert_eq!(dropped(&pair, Drop::AckEcho), 1);
    let ended = pair.reply(&ack(Reply::Nak(Nak::Operation)));
    assert_eq!(ended, Some((1, Outcome::RemoteOperation)));
    let send = pair.ask(2, 9, BASE, READ);
    let refused = pair.deliver(&send).unwrap();
    assert_eq!(pair.reply(&refused), Some((2, Outcome::RemoteProtocol)));
}

#[test]
fn xud_13_a_claimed_request_does_not_time_out_and_is_answered_once() {
    let (mut pair, answer) = asked();
    let answer = Packet::Send(answer);
    pair.requester.receive(1, &answer, 0);
    pair.requester.receive(1, &answer, 0);
    assert_eq!(dropped(&pair, Drop::AckUnknown), 1);
    pair.time_out();
    assert_eq!(pair.ended(), None);
    assert_eq!(pair.requester.in_flight(), 1);
    assert!(pair.requester.serve(&mut pair.local));
    assert!(!pair.requester.serve(&mut pair.local));
    assert_eq!(pair.ended(), Some((1, Outcome::Ok)));
    assert_eq!(pair.ended(), None);
    assert!(landed(&pair));
}

#[test]
fn xud_13_an_answer_whose_region_is_gone_ends_in_local_protection() {
    let (mut pair, answer) = asked();
    pair.local.places.insert(1, None);
    let ended = pair.reply(&Packet::Send(answer));
    assert_eq!(ended, Some((1, Outcome::LocalProtection)));
    assert!(pair.local.accesses.is_empty());
}

#[test]
fn xud_13_an_answer_of_a_queue_pair_that_is_destroyed_writes_nothing() {
    let (mut pair, answer) = asked();
    pair.requester.receive(1, &Packet::Send(answer), 0);
    let flushed = pair.requester.destroy_qp(REQUESTER.qpn);
    assert_eq!(flushed.len(), 1);
    assert!(!pair.requester.serve(&mut pair.local));
    assert_eq!(pair.requester.in_flight(), 0);
}
