//! CONNECT, POLL, ABORT, silence, and the life of a window.

use super::*;
use crate::rw::MessageType;

#[test]
fn rw_07_a_poll_of_another_transfer_is_answered_unknown() {
    let mut rx = receiver(64, 2);
    let wptr = open(&mut rx, 4);
    let poll = Poll {
        src: 7,
        wptr,
        r#gen: 1,
        slot: 0,
        xid: 1,
        seq: 5,
    };
    assert!(matches!(rx.poll(&poll), Message::Status(m) if m.seq == 5));
    for wrong in [
        Poll { r#gen: 2, ..poll },
        Poll { src: 8, ..poll },
        Poll { slot: 1, ..poll },
        Poll { xid: 2, ..poll },
        Poll { wptr: 1, ..poll },
    ] {
        let before = rx.clone();
        assert!(
            matches!(rx.poll(&wrong), Message::Unknown(m) if m.reason == Reason::NoTransfer),
            "{wrong:?}"
        );
        assert_eq!(rx, before);
    }
}

#[test]
fn rw_08_a_restarted_sender_is_newer_whatever_its_transfer_number() {
    let mut rx = receiver(64, 2);
    let old = request(0, 1000, 4);
    assert!(connect(&mut rx, &old, 0).is_some());
    let restarted = Connect {
        incarnation: 1,
        xid: 1,
        ..old
    };
    let out = rx.connect(&restarted, 1);
    assert_eq!(out.aborted.map(|done| done.xid), Some(1000));
    assert!(matches!(out.reply, Some(Message::ConnectResp(m)) if m.status == ConnectStatus::Ok));
    let before = rx.clone();
    let late = rx.connect(&old, 2);
    assert_eq!((late.reply, late.aborted), (None, None));
    assert_eq!(rx, before, "a CONNECT from before the restart is old");
}

#[test]
fn rw_08_connect_is_idempotent_and_only_a_newer_one_replaces() {
    let mut rx = receiver(64, 2);
    let first = connect(&mut rx, &request(0, 10, 100), 0).unwrap();
    let again = connect(&mut rx, &request(0, 10, 100), 5);
    assert_eq!(again, Some(first));
    let before = rx.clone();
    assert_eq!(
        rx.connect(&request(0, 9, 100), 5),
        ConnectOut {
            reply: None,
            aborted: None
        }
    );
    assert_eq!(rx, before);
    let out = rx.connect(&request(0, 11, 1), 6);
    assert_eq!(
        out.aborted.map(|done| (done.xid, done.status)),
        Some((10, Status::Aborted))
    );
    assert_eq!(rx.free().collect::<Vec<_>>(), [0]);
    data(&mut rx, 1, 0, 6).unwrap();
    assert!(rx.write_done(1, 1) && rx.finish(1).is_some());
    // Finished: a late CONNECT is answered with how it ended.
    let late = rx.connect(&request(0, 11, 1), 7).reply;
    assert_eq!(
        late,
        Some(Message::Complete(Complete {
            slot: 0,
            xid: 11,
            status: Status::Ok
        }))
    );
}

#[test]
fn rw_08_newer_is_modulo_2_to_the_32() {
    let mut rx = receiver(64, 2);
    connect(&mut rx, &request(0, u32::MAX, 4), 0).unwrap();
    assert!(connect(&mut rx, &request(0, 3, 4), 0).is_some());
    assert!(rx.connect(&request(0, u32::MAX, 4), 0).reply.is_none());
}

#[test]
fn rw_08_what_can_never_be_served_is_refused() {
    let mut rx = receiver(64, 2);
    let good = request(0, 1, 4);
    let wide = Connect {
        length: u32::MAX,
        mtu: 8,
        ..good
    };
    for bad in [
        Connect { src: 256, ..good },
        Connect { slot: 16, ..good },
        Connect { mtu: 7, ..good },
        Connect { mtu: 13, ..good },
        Connect { mtu: 255, ..good },
        Connect {
            addr: u64::MAX - 100,
            ..good
        },
        wide,
    ] {
        let before = rx.clone();
        let reply = rx.connect(&bad, 0).reply;
        assert!(
            matches!(reply, Some(Message::ConnectResp(m)) if m.status == ConnectStatus::Refused),
            "{bad:?}"
        );
        assert_eq!(rx, before);
    }
    let edge = Connect {
        addr: u64::MAX - u64::from(good.length) + 1,
        ..good
    };
    assert!(connect(&mut rx, &edge, 0).is_some() && MTU_RANGE.contains(&edge.mtu));
}

#[test]
fn rw_09_no_free_window_is_answered_busy_with_a_hint() {
    let mut rx = receiver(64, 1);
    open(&mut rx, 4);
    let before = rx.clone();
    match rx.connect(&request(1, 1, 4), 0).reply {
        Some(Message::ConnectResp(m)) => {
            assert_eq!((m.status, m.retry > 0), (ConnectStatus::Busy, true))
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(rx, before);
}

#[test]
fn rw_10_poll_is_answered_by_status_then_by_complete() {
    let mut rx = receiver(64, 1);
    let wptr = open(&mut rx, 2);
    let poll = Poll {
        src: 7,
        wptr,
        r#gen: 1,
        slot: 0,
        xid: 1,
        seq: 3,
    };
    data(&mut rx, wptr, 1, 0).unwrap();
    assert!(
        matches!(rx.poll(&poll), Message::Status(m) if (m.wbase, m.w_tail) == (0, true) && m.bitmap[1])
    );
    data(&mut rx, wptr, 0, 0).unwrap();
    rx.write_done(wptr, 1);
    rx.write_done(wptr, 1);
    rx.finish(wptr).unwrap();
    assert!(matches!(rx.poll(&poll), Message::Complete(m) if m.status == Status::Ok));
}

#[test]
fn rw_17_a_finished_window_is_free_and_only_the_outcome_is_kept() {
    let mut rx = receiver(64, 1);
    let wptr = open(&mut rx, 1);
    data(&mut rx, wptr, 0, 0).unwrap();
    assert!(rx.write_done(wptr, 1));
    rx.finish(wptr).unwrap();
    assert_eq!(
        rx.window(wptr),
        Some(&Window {
            r#gen: 1,
            open: None
        })
    );
    assert_eq!(rx.free().collect::<Vec<_>>(), [wptr]);
    assert_eq!(
        rx.peer(7, 0),
        Some(Peer {
            incarnation: 0,
            xid: 1,
            state: PeerState::Done(Status::Ok)
        })
    );
    assert!(
        connect(&mut rx, &request(1, 1, 1), 0).is_some(),
        "at once for another transfer"
    );
}

#[test]
fn rw_18_a_silent_sender_is_given_up_and_told() {
    let mut rx = receiver(64, 1);
    let wptr = open(&mut rx, 10);
    data(&mut rx, wptr, 0, 100).unwrap();
    let (ones, range) = asked(&rx.sweep(wptr, 1099));
    assert_eq!((ones, range), (vec![], Some(1)));
    match rx.sweep(wptr, 1100).as_slice() {
        [
            Output::Completion(done),
            Output::Send {
                dst: 7,
                msg: Message::Unknown(m),
            },
        ] => {
            assert_eq!(
                (done.status, m.xid, m.reason),
                (Status::Aborted, 1, Reason::Idle)
            );
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(rx.sweep(wptr, 1101), []);
    assert!(rx.check().is_ok());
}

#[test]
fn rw_21_one_sweep_serves_every_window_and_the_tick_wraps() {
    let mut rx = receiver(64, 4);
    for slot in 0..3 {
        connect(&mut rx, &request(slot, 1, 10), u16::MAX - 10).unwrap();
    }
    let asked: Vec<_> = rx
        .handle_sweep(u64::from(u16::MAX) + 20)
        .into_iter()
        .collect();
    let mut slots: Vec<_> = asked
        .iter()
        .map(|output| match output {
            Output::Send {
                dst: 7,
                msg: Message::RetxRange(m),
            } => m.slot,
            other => panic!("{other:?}"),
        })
        .collect();
    slots.sort_unstable();
    assert_eq!(slots, [0, 1, 2]);
    assert_eq!(rx.handle_sweep(u64::from(u16::MAX) + 21), []);
}

#[test]
fn rw_22_gen_rises_and_wraps_and_windows_are_reused_in_order() {
    let mut rx = receiver(64, 3);
    rx.preset_gen(0, 0xFFFE);
    let mut seen = Vec::new();
    for xid in 1..=9 {
        let (wptr, r#gen, _) = connect(&mut rx, &request(0, xid, 1), 0).unwrap();
        seen.push((wptr, r#gen));
        rx.abort(&Abort {
            src: 7,
            slot: 0,
            xid,
            reason: Reason::Cancelled,
        })
        .unwrap();
    }
    assert_eq!(
        seen,
        [
            (0, 0xFFFF),
            (1, 1),
            (2, 1),
            (0, 0),
            (1, 2),
            (2, 2),
            (0, 1),
            (1, 3),
            (2, 3)
        ]
    );
    assert_eq!(rx.free().collect::<Vec<_>>(), [0, 1, 2]);
}

#[test]
fn an_abort_that_names_no_open_transfer_is_counted() {
    let mut rx = receiver(64, 1);
    open(&mut rx, 4);
    let before = rx.clone();
    assert_eq!(
        rx.abort(&Abort {
            src: 7,
            slot: 0,
            xid: 2,
            reason: Reason::GaveUp
        }),
        None
    );
    assert_eq!(
        rx.abort(&Abort {
            src: 7,
            slot: 3,
            xid: 1,
            reason: Reason::GaveUp
        }),
        None
    );
    assert_eq!(
        (rx == before, rx.stats().dropped(DropReason::StrayAbort)),
        (true, 2)
    );
}

/// What leaves of each kind in a transfer of two packets with a POLL and a lost packet: messages, completion records.
fn leaves(mode: Mode, copies: u8) -> (Vec<MessageType>, usize) {
    let config = ReceiverConfig {
        mode,
        copies,
        ..receiver(64, 1).config().clone()
    };
    let mut rx = Receiver::new(config).unwrap();
    let mut outputs = rx.handle(&Message::Connect(request(0, 1, 2)), 0);
    let poll = Poll {
        src: 7,
        wptr: 0,
        r#gen: 1,
        slot: 0,
        xid: 1,
        seq: 5,
    };
    outputs.extend(rx.handle(&Message::Poll(poll), 1));
    outputs.extend(rx.handle(&Message::Data(packet(&rx, 0, 0)), 2));
    outputs.extend(rx.handle_sweep(30));
    outputs.extend(rx.handle(&Message::Data(packet(&rx, 0, 1)), 31));
    for _ in 0..2 {
        outputs.extend(rx.handle_write_done(0, 1));
    }
    let mut kinds = vec![];
    let (mut writes, mut completions) = (0, 0);
    for output in outputs {
        match output {
            Output::Send { msg, .. } => kinds.push(msg.kind()),
            Output::Write(_) => writes += 1,
            Output::Completion(_) => completions += 1,
        }
    }
    assert_eq!(writes, 2, "{mode}");
    (kinds, completions)
}

#[test]
fn rw_11_rw_16_each_message_leaves_as_often_as_it_is_to_and_a_completion_record_once() {
    use MessageType::{Complete, ConnectResp, PollStatus, RetxRange};
    let once = vec![ConnectResp, PollStatus, RetxRange, Complete];
    let twice = once.iter().flat_map(|kind| [*kind; 2]).collect();
    assert_eq!(leaves(Mode::Rw, 1), (once.clone(), 1));
    assert_eq!(leaves(Mode::Rw, 2), (twice, 1));
    // The reference modes stay as they are.
    assert_eq!(leaves(Mode::GoBackN, 2), (once, 1));
    let config = ReceiverConfig {
        copies: 3,
        ..Default::default()
    };
    assert!(Receiver::new(config).is_err());
}
