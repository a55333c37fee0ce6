//! Tests of the sender, one or more for each rule that it holds.

use super::*;
use crate::rw::{
    Complete, ConnectResp, ConnectStatus, RetxOne, RetxRange, Status, StatusReport, Unknown,
};

fn config() -> SenderConfig {
    SenderConfig {
        rtt_ticks: 10,
        allowance_ticks: 2,
        retry_ticks: 14,
        poll_ticks: 20,
        stall_poll_ticks: 4,
        echo: false,
        ..Default::default()
    }
}

fn request(packets: u32) -> Request {
    Request {
        dst: 1,
        addr: 0,
        rkey: 0,
        length: packets * 256,
        mtu: 8,
        oldest_first: false,
    }
}

fn resp(slot: u16, xid: u32, credit: u32) -> Message {
    Message::ConnectResp(ConnectResp {
        slot,
        xid,
        status: ConnectStatus::Ok,
        wptr: 3,
        r#gen: 5,
        w: 256,
        credit,
        retry: 0,
    })
}

/// A sender with one transfer that has a window.
fn connected(config: SenderConfig, packets: u32, credit: u32) -> Sender {
    let mut tx = Sender::new(config).unwrap();
    let (slot, xid) = tx.start(request(packets), 0).unwrap();
    assert!(matches!(
        tx.next_packet(0).unwrap().msg,
        Message::Connect(_)
    ));
    tx.on_message(&resp(slot, xid, credit), 0);
    tx
}

/// Packet numbers of what goes out from `now` on, one call a tick, as long as it is DATA.
fn numbers(tx: &mut Sender, now: &mut u64, most: usize) -> Vec<u32> {
    let mut all = Vec::new();
    while all.len() < most {
        match tx.next_packet(*now).map(|out| out.msg) {
            Some(Message::Data(d)) => all.push(d.pidx),
            _ => break,
        }
        *now += 1;
    }
    all
}

fn one(pidx: u32) -> Message {
    Message::RetxOne(RetxOne {
        slot: 0,
        xid: 1,
        pidx,
    })
}

fn range(pidx: u32) -> Message {
    Message::RetxRange(RetxRange {
        slot: 0,
        xid: 1,
        pidx,
        round: 0,
    })
}

fn status(seq: u16, wbase: u32, credit: u32, arrived: &[usize]) -> Message {
    let mut bitmap = crate::rw::Bitmap::repeat(false, 64);
    arrived.iter().for_each(|bit| bitmap.set(*bit, true));
    Message::Status(StatusReport {
        slot: 0,
        xid: 1,
        seq,
        wbase,
        w_tail: false,
        credit,
        bitmap,
    })
}

#[test]
fn rw_04_tail_is_set_by_index_on_every_sending() {
    let mut tx = connected(config(), 3, 3);
    let tails = |tx: &mut Sender, now| {
        let mut all = Vec::new();
        while let Some(Message::Data(d)) = tx.next_packet(now).map(|out| out.msg) {
            all.push((d.pidx, d.tail));
        }
        all
    };
    assert_eq!(tails(&mut tx, 0), [(0, false), (1, false), (2, true)]);
    tx.on_message(&range(1), 15);
    assert_eq!(tails(&mut tx, 15), [(1, false), (2, true)]);
}

#[test]
fn rw_07_messages_for_another_transfer_are_ignored() {
    let mut tx = connected(config(), 3, 3);
    let before = tx.clone();
    for msg in [
        Message::Complete(Complete {
            slot: 0,
            xid: 2,
            status: Status::Ok,
        }),
        Message::Complete(Complete {
            slot: 1,
            xid: 1,
            status: Status::Ok,
        }),
        Message::Unknown(Unknown {
            slot: 0,
            xid: 0,
            reason: Reason::NoTransfer,
        }),
        Message::RetxOne(RetxOne {
            slot: 0,
            xid: 2,
            pidx: 0,
        }),
        Message::RetxRange(RetxRange {
            slot: 99,
            xid: 1,
            pidx: 0,
            round: 0,
        }),
        resp(0, 2, 3),
    ] {
        tx.on_message(&msg, 1);
    }
    assert_eq!((tx == before, tx.stats().ignored), (true, 6));
}

#[test]
fn rw_10_connect_and_poll_back_off_exponentially() {
    let mut tx = Sender::new(config()).unwrap();
    tx.start(request(1), 0).unwrap();
    let times = |tx: &mut Sender, from: u64| {
        (from..from + 400)
            .filter(|now| tx.next_packet(*now).is_some())
            .collect::<Vec<_>>()
    };
    assert_eq!(times(&mut tx, 0), [0, 20, 60, 140, 300]);
    let mut tx = connected(config(), 1, 1);
    assert!(matches!(tx.next_packet(0).unwrap().msg, Message::Data(_)));
    assert_eq!(times(&mut tx, 1), [20, 40, 80, 160, 320]);
    assert_eq!(tx.stats().polls, 5);
}

#[test]
fn rw_10_a_polled_status_shows_what_to_send_again() {
    let mut tx = connected(config(), 6, 6);
    let mut now = 0;
    assert_eq!(numbers(&mut tx, &mut now, 9), [0, 1, 2, 3, 4, 5]);
    // 0 and 3 have arrived; the poll left long after the rest.
    let poll = tx.next_packet(30).unwrap().msg;
    assert!(matches!(poll, Message::Poll(p) if (p.wptr, p.r#gen, p.seq) == (3, 5, 1)));
    tx.on_message(&status(1, 1, 6, &[2]), 40);
    now = 41;
    assert_eq!(numbers(&mut tx, &mut now, 9), [1, 2, 4, 5]);
}

#[test]
fn rw_11_old_and_doubled_status_messages_do_no_harm() {
    let mut tx = connected(config(), 100, 64);
    let mut now = 0;
    numbers(&mut tx, &mut now, 64);
    tx.on_message(&status(0, 32, 96, &[]), 64);
    let before = tx.clone();
    tx.on_message(&status(0, 16, 80, &[]), 65);
    assert_eq!(tx.pointers(0), before.pointers(0));
    // What no receiver says is ignored altogether.
    tx.on_message(&status(0, 65, 100, &[]), 66);
    tx.on_message(&status(0, 40, 101, &[]), 66);
    assert_eq!(tx.pointers(0), Some((64, 96)));
}

#[test]
fn rw_11_rw_12_the_second_copy_of_a_request_asks_for_nothing_more() {
    for request in [one(3), range(3)] {
        let sent = |times: &[u64]| {
            let mut tx = connected(
                SenderConfig {
                    echo: true,
                    ..config()
                },
                40,
                30,
            );
            let mut now = 0;
            numbers(&mut tx, &mut now, 30);
            let mut all = vec![];
            for tick in 30..50u64 {
                if times.contains(&tick) {
                    tx.on_message(&request, tick);
                }
                if let Some(Message::Data(d)) = tx.next_packet(tick).map(|out| out.msg) {
                    all.push(d.pidx);
                }
            }
            (all, tx.get(0).unwrap().owed)
        };
        let once = sent(&[30]);
        assert!(once.0.contains(&3) && once.1 == 1, "{request}: {once:?}");
        for second in 30..34 {
            assert_eq!(sent(&[30, second]), once, "{request}, then at {second}");
        }
    }
}

#[test]
fn rw_11_status_does_not_resend_what_may_still_be_on_its_way() {
    let mut tx = connected(config(), 100, 64);
    let mut now = 0;
    numbers(&mut tx, &mut now, 20);
    // Sent at ticks 0..20; at 20 only what left before tick 7 can be missed.
    tx.on_message(&status(0, 3, 64, &[2, 4]), 20);
    assert_eq!(numbers(&mut tx, &mut now, 4), [3, 4, 6, 20]);
}

#[test]
fn rw_12_a_request_within_a_round_trip_of_the_packet_is_an_old_one() {
    let mut tx = connected(config(), 100, 20);
    let mut now = 0;
    numbers(&mut tx, &mut now, 20);
    tx.on_message(&one(15), 20);
    tx.on_message(&range(15), 20);
    tx.on_message(&status(0, 0, 64, &[]), 20);
    assert_eq!(
        (numbers(&mut tx, &mut now, 2), tx.stats().stale_requests),
        (vec![20, 21], 2)
    );
}

#[test]
fn rw_14_serving_a_request_never_skips_fresh_packets() {
    let mut tx = connected(config(), 60, 21);
    let mut now = 0;
    assert_eq!(numbers(&mut tx, &mut now, 20).len(), 20);
    tx.on_message(&one(3), 20);
    assert_eq!(
        tx.pointers(0),
        Some((20, 21)),
        "a single leaves the pointer alone"
    );
    assert_eq!(numbers(&mut tx, &mut now, 2), [3, 20]);
    tx.on_message(&range(8), 22);
    assert_eq!(tx.pointers(0), Some((8, 21)), "a range moves it back");
    tx.on_message(&range(12), 22);
    tx.on_message(&range(40), 22);
    assert_eq!(tx.pointers(0), Some((8, 21)), "and never forward");
    tx.on_message(&status(0, 0, 60, &[]), 22);
    let sent = numbers(&mut tx, &mut now, 100);
    assert_eq!(sent, (8..60).collect::<Vec<_>>());
}

/// What a transfer still sends shows whether anything was lost: silence is only that of a line that others share.
#[test]
fn rw_12_a_range_is_not_served_while_packets_leave_that_were_granted() {
    let mut tx = connected(config(), 60, 25);
    let mut now = 0;
    numbers(&mut tx, &mut now, 20);
    for (at, stale) in [(30, 1), (90, 2)] {
        tx.on_message(&range(8), at);
        assert_eq!(tx.pointers(0), Some((20, 25)), "{at}");
        assert_eq!(tx.stats().stale_requests, stale);
    }
    now = 90;
    assert_eq!(numbers(&mut tx, &mut now, 4), [20, 21, 22, 23]);
    tx.on_message(&range(8), 94);
    assert_eq!(tx.pointers(0), Some((24, 25)), "one is left");
    assert_eq!(numbers(&mut tx, &mut now, 1), [24]);
    tx.on_message(&range(8), 95);
    assert_eq!(tx.pointers(0), Some((8, 25)), "all have left");

    // Or all of whose times are kept.
    let short = SenderConfig {
        span: 20,
        ..config()
    };
    let mut tx = connected(short, 60, 25);
    now = 0;
    assert_eq!(numbers(&mut tx, &mut now, 20).len(), 20);
    tx.on_message(&range(8), 40);
    assert_eq!(tx.pointers(0), Some((8, 25)));
}

#[test]
fn rw_15_one_fresh_packet_in_every_k_slots() {
    let mut tx = connected(
        SenderConfig {
            fresh_every: 4,
            ..config()
        },
        60,
        60,
    );
    let mut now = 0;
    numbers(&mut tx, &mut now, 40);
    (0..12).for_each(|pidx| tx.on_message(&one(pidx), 60));
    now = 60;
    assert_eq!(
        numbers(&mut tx, &mut now, 17),
        [0, 1, 2, 40, 3, 4, 5, 41, 6, 7, 8, 42, 9, 10, 11, 43, 44]
    );
}

#[test]
fn rw_15_transfers_take_turns() {
    let mut tx = Sender::new(config()).unwrap();
    for _ in 0..3 {
        let (slot, xid) = tx.start(request(5), 0).unwrap();
        tx.next_packet(0);
        tx.on_message(&resp(slot, xid, 5), 0);
    }
    let slots: Vec<_> = (0..9)
        .filter_map(|now| tx.next_packet(now))
        .map(|out| out.slot)
        .collect();
    assert_eq!(slots, [0, 1, 2, 0, 1, 2, 0, 1, 2]);
}

/// Slots of the next packets of transfers of five packets each, of which these send oldest first.
fn slots_of(oldest_first: &[bool], count: u64) -> Vec<u16> {
    let mut tx = Sender::new(config()).unwrap();
    for &oldest_first in oldest_first {
        let request = Request {
            oldest_first,
            ..request(5)
        };
        let (slot, xid) = tx.start(request, 0).unwrap();
        tx.next_packet(0);
        tx.on_message(&resp(slot, xid, 5), 0);
    }
    let packets = (0..count).filter_map(|now| tx.next_packet(now));
    packets.map(|out| out.slot).collect()
}

#[test]
fn rw_15_the_oldest_of_those_that_send_oldest_first_takes_turns_with_the_others() {
    assert_eq!(
        slots_of(&[true, true, true], 12),
        [0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 2, 2]
    );
    assert_eq!(
        slots_of(&[true, false, true], 12),
        [0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 2, 2]
    );
}

#[test]
fn rw_15_the_oldest_that_lacks_credit_lets_younger_ones_go() {
    let mut tx = Sender::new(config()).unwrap();
    let request = Request {
        oldest_first: true,
        ..request(5)
    };
    for credit in [2, 5] {
        let (slot, xid) = tx.start(request, 0).unwrap();
        tx.next_packet(0);
        tx.on_message(&resp(slot, xid, credit), 0);
    }
    let slots: Vec<_> = (0..4)
        .filter_map(|now| tx.next_packet(now))
        .map(|out| out.slot)
        .collect();
    assert_eq!(slots, [0, 0, 1, 1]);
    // More credit: it goes before the younger one again.
    tx.on_message(&status(0, 2, 4, &[]), 4);
    let slots: Vec<_> = (4..9)
        .filter_map(|now| tx.next_packet(now))
        .map(|out| out.slot)
        .collect();
    assert_eq!(slots[..4], [0, 0, 1, 1]);
}

#[test]
fn rw_15_one_that_finds_the_queue_full_takes_turns() {
    let mut wants = [Wants::default(); 10];
    let mut turns = Turns::new();
    for (slot, wants) in wants.iter_mut().enumerate() {
        turns.started(slot, true);
        wants.fresh = true;
    }
    let mut picked = Vec::new();
    for _ in 0..6 {
        let (slot, class) = turns.pick(&wants, 8).unwrap();
        assert_eq!(class, Class::Fresh);
        turns.sent(slot, 10, false, 8);
        picked.push(slot);
    }
    assert_eq!(picked, [0, 8, 9, 0, 8, 9]);
    // Who ends makes room for the next that begins, not for those.
    turns.ended(0);
    turns.started(0, true);
    turns.sent(9, 10, false, 8);
    assert_eq!(turns.pick(&wants, 8), Some((1, Class::Fresh)));
    (1..8).for_each(|slot| wants[slot].fresh = false);
    assert_eq!(turns.pick(&wants, 8), Some((0, Class::Fresh)));
}

#[test]
fn p_21_fresh_and_resent_traffic_both_progress() {
    // Every packet is asked for again as soon as that is plausible, for ever.
    let mut tx = connected(
        SenderConfig {
            fresh_every: 8,
            ..config()
        },
        1000,
        1000,
    );
    let (mut fresh, mut resent) = (0, 0);
    for now in 0..2000u64 {
        let upto = tx.pointers(0).map_or(0, |(next, _)| next);
        (0..upto).for_each(|pidx| tx.on_message(&one(pidx), now));
        if let Some(Message::Data(d)) = tx.next_packet(now).map(|out| out.msg) {
            if d.round == 0 {
                fresh += 1
            } else {
                resent += 1
            }
        }
    }
    assert!(
        fresh >= 2000 / 8 && resent >= 1000,
        "{fresh} fresh, {resent} resent"
    );
}

#[test]
fn rw_18_gives_up_after_k_polls_and_says_why() {
    let silence = |mut tx: Sender, from: u64| {
        let mut polls = 0;
        for now in from..10_000 {
            match tx.next_packet(now).map(|out| out.msg) {
                Some(Message::Connect(_) | Message::Poll(_)) => polls += 1,
                Some(Message::Abort(a)) => assert_eq!(a.reason, Reason::GaveUp),
                _ => {}
            }
            if let Some(done) = tx.take_completion() {
                assert!(matches!(
                    tx.next_packet(now).map(|out| out.msg),
                    Some(Message::Abort(_)) | None
                ));
                assert_eq!(
                    (tx.take_completion(), tx.active(), tx.stats().aborts),
                    (None, 0, 1)
                );
                assert!(now - from <= tx.config().retry_time().unwrap() + 2);
                return (done.outcome, polls);
            }
        }
        panic!("never gives up");
    };
    let mut unheard = Sender::new(config()).unwrap();
    unheard.start(request(1), 0).unwrap();
    assert_eq!(silence(unheard, 0), (Outcome::Unreachable, 6));
    assert_eq!(
        silence(connected(config(), 1, 1), 0),
        (Outcome::Unresponsive, 6)
    );
}

#[test]
fn rw_18_the_receiver_waits_longer_than_the_sender_tries() {
    let longest = SenderConfig::default().retry_time().unwrap();
    assert!(
        longest < u64::from(crate::rw::ReceiverConfig::default().idle_ticks),
        "{longest}"
    );
}

#[test]
fn rw_09_busy_is_tried_again_after_the_hint_and_not_for_ever() {
    let mut tx = Sender::new(SenderConfig {
        max_busy: 2,
        ..config()
    })
    .unwrap();
    tx.start(request(1), 0).unwrap();
    let busy = |xid| {
        let status = ConnectStatus::Busy;
        Message::ConnectResp(ConnectResp {
            slot: 0,
            xid,
            status,
            wptr: 0,
            r#gen: 0,
            w: 0,
            credit: 0,
            retry: 50,
        })
    };
    assert!(tx.next_packet(0).is_some());
    tx.on_message(&busy(1), 5);
    // RW-11: its second copy neither counts nor puts the next CONNECT off.
    tx.on_message(&busy(1), 7);
    assert!(tx.next_packet(54).is_none() && tx.next_packet(55).is_some());
    tx.on_message(&busy(1), 60);
    tx.on_message(&busy(1), 70);
    assert_eq!(tx.take_completion(), None);
    assert!(tx.next_packet(109).is_none() && tx.next_packet(110).is_some());
    tx.on_message(&busy(1), 115);
    assert_eq!(tx.take_completion().unwrap().outcome, Outcome::Busy);
}

#[test]
fn rw_19_stops_at_the_credit_and_asks_when_it_stays_away() {
    let mut tx = connected(
        SenderConfig {
            overrun: 0,
            ..config()
        },
        100,
        8,
    );
    let mut now = 0;
    assert_eq!(numbers(&mut tx, &mut now, 99), (0..8).collect::<Vec<_>>());
    assert!((8..11).all(|now| tx.next_packet(now).is_none()));
    assert!(matches!(tx.next_packet(11).unwrap().msg, Message::Poll(_)));
    tx.on_message(&status(1, 8, 72, &[]), 21);
    now = 21;
    assert_eq!(numbers(&mut tx, &mut now, 99), (8..72).collect::<Vec<_>>());
}

#[test]
fn rw_19_runs_ahead_of_the_credit_only_while_no_packet_is_known_to_keep_the_window_shut() {
    let patient = |overrun| SenderConfig {
        overrun,
        retry_ticks: 1000,
        ..config()
    };
    let mut tx = connected(patient(16), 600, 256);
    let mut now = 0;
    // No credit update has come, and no request that would tell why.
    assert_eq!(
        numbers(&mut tx, &mut now, 999),
        (0..272).collect::<Vec<_>>()
    );
    // The window was shut: what left above it was dropped, and goes again behind the packet that opens it.
    tx.on_message(&one(0), 273);
    now = 273;
    assert_eq!(
        numbers(&mut tx, &mut now, 999),
        [vec![0], (256..272).collect()].concat()
    );
    let mut strict = connected(patient(0), 600, 256);
    now = 0;
    assert_eq!(numbers(&mut strict, &mut now, 999).len(), 256);
    strict.on_message(&one(0), 273);
    now = 273;
    assert_eq!(numbers(&mut strict, &mut now, 999), [0]);
}

#[test]
fn rw_12_status_shows_what_is_lost_as_the_receiver_sees_it() {
    // Far below the highest that arrived, and sent once: lost, however young the report.
    let mut tx = connected(config(), 100, 64);
    let mut now = 0;
    numbers(&mut tx, &mut now, 12);
    tx.on_message(&status(0, 3, 64, &[2, 3, 5]), 12);
    // 3, 4 and 7 are missing; 8 is the highest, so 7 may still come.
    assert_eq!(numbers(&mut tx, &mut now, 3), [3, 4, 12]);
}

#[test]
fn rw_12_a_range_is_served_only_if_its_packets_had_time_to_arrive() {
    let mut tx = connected(config(), 100, 20);
    let mut now = 0;
    numbers(&mut tx, &mut now, 20);
    tx.on_message(&range(19), 32);
    assert_eq!(tx.pointers(0), Some((20, 20)));
    tx.on_message(&range(19), 33);
    assert_eq!(tx.pointers(0), Some((19, 20)));
}

#[test]
fn rw_20_what_cannot_be_sent_is_not_started() {
    let mut tx = Sender::new(SenderConfig {
        slots: 1,
        max_packets: 8,
        ..config()
    })
    .unwrap();
    assert_eq!(
        tx.start(
            Request {
                mtu: 7,
                ..request(1)
            },
            0
        ),
        Err(StartError::Mtu(7))
    );
    assert_eq!(
        tx.start(request(9), 0),
        Err(StartError::TooLong { packets: 9, max: 8 })
    );
    assert_eq!(
        tx.start(
            Request {
                addr: u64::MAX,
                ..request(1)
            },
            0
        ),
        Err(StartError::Address {
            addr: u64::MAX,
            length: 256
        })
    );
    assert_eq!(tx.start(request(0), 0), Ok((0, 1)));
    assert_eq!(tx.start(request(1), 0), Err(StartError::NoSlot(1)));
}

#[test]
fn p_04_exactly_one_completion_whatever_comes_later() {
    let mut tx = connected(config(), 1, 1);
    let complete = Message::Complete(Complete {
        slot: 0,
        xid: 1,
        status: Status::Ok,
    });
    tx.on_message(&complete, 5);
    tx.on_message(&complete, 6);
    tx.on_message(
        &Message::Unknown(Unknown {
            slot: 0,
            xid: 1,
            reason: Reason::Idle,
        }),
        7,
    );
    assert!(!tx.cancel(0));
    assert_eq!(
        tx.take_completion().map(|done| done.outcome),
        Some(Outcome::Ok)
    );
    assert_eq!(tx.take_completion(), None);
}

/// A credit update that shows everything below `wbase`, and nothing above.
fn credit_update(slot: u16, xid: u32, wbase: u32, seq: u16) -> Message {
    Message::Status(StatusReport {
        slot,
        xid,
        seq,
        wbase,
        credit: wbase,
        w_tail: false,
        bitmap: bitvec::bitvec![u64, bitvec::order::Lsb0; 0; 256],
    })
}

/// Queues on the way are ten times as long as the round trip: what stands in them is not sent again.
#[test]
fn rw_12_age_alone_does_not_make_a_packet_lost() {
    let mut tx = connected(config(), 10, 256);
    let mut now = 0;
    assert_eq!(numbers(&mut tx, &mut now, 8), (0..8).collect::<Vec<_>>());
    // Packet 3 took 100 ticks to its news; 4 to 7 left behind it.
    for copy in 0..2 {
        tx.on_message(&credit_update(0, 1, 4, 0), 103 + 5 * copy);
    }
    let mut now = 110;
    assert_eq!(numbers(&mut tx, &mut now, 2), [8, 9]);
    // Of a range they are so only when queues may not have grown that much: retry_ticks and four times what 100 is more.
    // Packet 8 left at 110.
    let patience = 14 + 4 * (100 - 14);
    tx.on_message(&range(8), 110 + patience - 1);
    assert_eq!(tx.stats().stale_requests, 1);
    tx.on_message(&range(8), 110 + patience);
    assert_eq!(tx.stats().stale_requests, 1);
    let mut now = 300;
    assert_eq!(numbers(&mut tx, &mut now, 2), [8, 9]);
    assert_eq!(tx.stats().resent, 2);
}

/// The answer to CONNECT and to polls tells of queues, too, and that they are short again.
#[test]
fn rw_12_an_answer_to_connect_or_a_poll_tells_how_long_queues_are() {
    let mut tx = Sender::new(config()).unwrap();
    tx.start(request(4), 0).unwrap();
    assert!(tx.next_packet(0).is_some());
    tx.on_message(&resp(0, 1, 256), 74);
    let mut now = 74;
    assert_eq!(numbers(&mut tx, &mut now, 4), [0, 1, 2, 3]);
    // A round trip and the allowance, and 74 less retry_ticks.
    let settled = 10 + 2 + (74 - 14);
    tx.on_message(&one(0), 74 + settled - 1);
    assert_eq!(tx.stats().stale_requests, 1);
    tx.on_message(&one(0), 74 + settled);
    assert_eq!(tx.stats().stale_requests, 1);
    let mut now = 200;
    assert_eq!(numbers(&mut tx, &mut now, 1), [0]);
    // A poll that is answered within a round trip.
    let poll = (now..).find_map(|at| match tx.next_packet(at).map(|out| out.msg) {
        Some(Message::Poll(poll)) => Some((at, poll.seq)),
        _ => None,
    });
    let (at, seq) = poll.unwrap();
    assert_eq!(seq, 1);
    tx.on_message(&credit_update(0, 1, 1, seq), at + 10);
    // All that left before that poll and has not come is lost.
    let mut now = at + 10;
    assert_eq!(numbers(&mut tx, &mut now, 3), [1, 2, 3]);
    tx.on_message(&one(1), now + 12);
    assert_eq!(tx.stats().stale_requests, 1);
}
