//! Tests of the receiver, one or more for each rule that it holds.

use super::*;
use crate::rw::{Abort, Connect, ConnectStatus, MTU_RANGE, Poll, Reason};

const P: u32 = 256;

fn receiver(w: u32, r: u32) -> Receiver {
    let timers = ReceiverConfig { allowance: 4, allowance_ticks: 4, retry_ticks: 20, tail_ticks: 6, idle_ticks: 1000, ..Default::default() };
    Receiver::new(ReceiverConfig { w, r, ..timers }).unwrap()
}

fn request(slot: u16, xid: u32, n: u32) -> Connect {
    Connect { src: 7, slot, xid, incarnation: 0, length: n * P, addr: 0x1_0000, rkey: 99, mtu: 8 }
}

/// Opens a window for a transfer of `n` full packets from (7, slot 0, xid 1).
fn open(rx: &mut Receiver, n: u32) -> u16 {
    connect(rx, &request(0, 1, n), 0).unwrap().0
}

/// (wptr, gen, credit) of a CONNECT that must be granted.
fn connect(rx: &mut Receiver, c: &Connect, now: Tick) -> Option<(u16, u32, u32)> {
    match rx.connect(c, now).reply {
        Some(Message::ConnectResp(m)) if m.status == ConnectStatus::Ok => Some((m.wptr, m.r#gen, m.credit)),
        _ => None,
    }
}

fn packet(rx: &Receiver, wptr: u16, pidx: u32) -> Data {
    let t = rx.transfer(wptr).unwrap();
    let tail = pidx + 1 == t.n;
    let len = t.packet_len(pidx) as u16;
    Data { src: t.src, wptr, r#gen: rx.window(wptr).unwrap().r#gen, pidx, tail, round: 0, len }
}

fn data(rx: &mut Receiver, wptr: u16, pidx: u32, now: Tick) -> Result<Accepted, DropReason> {
    let d = packet(rx, wptr, pidx);
    rx.data(&d, now)
}

/// Sends a message that must be dropped for this reason, and checks that nothing but a counter has changed.
fn dropped(rx: &mut Receiver, d: &Data, reason: DropReason) {
    let (before, count) = (rx.clone(), rx.stats().dropped(reason));
    assert_eq!(rx.data(d, 0), Err(reason), "{d:?}");
    assert_eq!(*rx, before, "{reason}");
    assert_eq!(rx.stats().dropped(reason), count + 1);
}

fn asked(outputs: &[Output]) -> (Vec<u32>, Option<u32>) {
    let mut ones = Vec::new();
    let mut range = None;
    for output in outputs {
        match output {
            Output::Send { msg: Message::RetxOne(m), .. } => ones.push(m.pidx),
            Output::Send { msg: Message::RetxRange(m), .. } => range = Some(m.pidx),
            other => panic!("{other:?}"),
        }
    }
    (ones, range)
}

#[test]
fn rw_01_accepts_exactly_the_numbers_inside_the_window() {
    let mut rx = receiver(64, 1);
    let wptr = open(&mut rx, 200);
    for pidx in 0..10 {
        data(&mut rx, wptr, pidx, 0).unwrap();
    }
    let (below, above) = (packet(&rx, wptr, 9), packet(&rx, wptr, 10 + 64));
    dropped(&mut rx, &below, DropReason::BelowWindow);
    dropped(&mut rx, &above, DropReason::AboveWindow);
    assert!(data(&mut rx, wptr, 10 + 63, 0).is_ok());
    assert!(data(&mut rx, wptr, 10, 0).is_ok());
}

#[test]
fn rw_01_upper_bound_does_not_wrap_at_the_last_number() {
    let m = 1 << 21;
    let mut rx = receiver(256, 1);
    let wptr = connect(&mut rx, &Connect { length: (m - 1) * P + 1, ..request(0, 1, 1) }, 0).unwrap().0;
    let t = rx.windows[0].open.as_mut().unwrap();
    (t.wbase, t.highest) = (m - 10, m - 10);
    assert!(data(&mut rx, wptr, m - 1, 0).is_ok());
    assert_eq!(data(&mut rx, wptr, 0, 0), Err(DropReason::BelowWindow));
}

#[test]
fn rw_02_a_number_is_written_once() {
    let mut rx = receiver(64, 1);
    let wptr = open(&mut rx, 10);
    let five = packet(&rx, wptr, 5);
    assert!(rx.data(&five, 0).is_ok());
    dropped(&mut rx, &five, DropReason::Duplicate);
}

#[test]
fn rw_03_slides_by_the_run_of_leading_ones_up_to_w() {
    for run in 0..=63u32 {
        let mut rx = receiver(64, 1);
        let wptr = open(&mut rx, 200);
        for pidx in (1..=run).rev() {
            data(&mut rx, wptr, pidx, 0).unwrap();
        }
        assert_eq!(rx.transfer(wptr).unwrap().wbase, 0);
        if run < 62 {
            data(&mut rx, wptr, run + 2, 0).unwrap();
        }
        data(&mut rx, wptr, 0, 0).unwrap();
        let t = rx.transfer(wptr).unwrap();
        assert_eq!(t.wbase, run + 1);
        assert_eq!(t.wvec.len(), 64);
        assert_eq!(t.wvec.iter_ones().collect::<Vec<_>>(), if run < 62 { vec![1] } else { vec![] }, "shift by {}", run + 1);
    }
}

#[test]
fn rw_04_complete_only_with_every_packet_and_the_tail_by_index() {
    let mut rx = receiver(64, 1);
    let wptr = open(&mut rx, 3);
    for pidx in [2, 0] {
        data(&mut rx, wptr, pidx, 0).unwrap();
        assert!(!rx.write_done(wptr, 1));
        assert_eq!(rx.finish(wptr), None);
    }
    let (last, middle) = (packet(&rx, wptr, 2), packet(&rx, wptr, 1));
    dropped(&mut rx, &Data { tail: false, ..last }, DropReason::BadTail);
    dropped(&mut rx, &Data { tail: true, ..middle }, DropReason::BadTail);
    data(&mut rx, wptr, 1, 0).unwrap();
    assert!(rx.write_done(wptr, 1));
    assert_eq!(rx.finish(wptr).unwrap().completion.status, Status::Ok);
}

#[test]
fn rw_04_a_transfer_of_one_packet_has_its_tail() {
    let mut rx = receiver(64, 1);
    let wptr = open(&mut rx, 1);
    assert!(packet(&rx, wptr, 0).tail);
    data(&mut rx, wptr, 0, 0).unwrap();
    assert!(rx.write_done(wptr, 1) && rx.finish(wptr).is_some());
}

#[test]
fn rw_05_wbase_reaches_m_without_wrapping() {
    let m = 1 << 21;
    let mut rx = receiver(64, 1);
    let wptr = connect(&mut rx, &Connect { length: (m - 1) * P + 1, ..request(0, 1, 1) }, 0).unwrap().0;
    let t = rx.windows[0].open.as_mut().unwrap();
    assert_eq!(t.n, m);
    (t.wbase, t.highest, t.acked) = (m - 1, m - 1, m - 1);
    let accepted = data(&mut rx, wptr, m - 1, 0).unwrap();
    assert_eq!((accepted.write.len, accepted.credit_due), (1, false));
    assert_eq!(rx.transfer(wptr).unwrap().wbase, m);
    assert!(rx.write_done(wptr, 1) && rx.finish(wptr).is_some());
}

#[test]
fn rw_06_nothing_outside_the_region_is_written() {
    let mut rx = receiver(64, 1);
    let wptr = connect(&mut rx, &Connect { length: 2 * P + 10, ..request(0, 1, 1) }, 0).unwrap().0;
    let beyond = Data { pidx: 3, tail: false, len: P as u16, ..packet(&rx, wptr, 0) };
    dropped(&mut rx, &beyond, DropReason::BeyondEnd);
    dropped(&mut rx, &Data { tail: true, ..beyond }, DropReason::BeyondEnd);
    let last = packet(&rx, wptr, 2);
    dropped(&mut rx, &Data { len: 11, ..last }, DropReason::BadLength);
    let first = packet(&rx, wptr, 0);
    dropped(&mut rx, &Data { len: 255, ..first }, DropReason::BadLength);
    let write = rx.data(&last, 0).unwrap().write;
    assert_eq!((write.addr, write.len, write.rkey), (0x1_0000 + 2 * u64::from(P), 10, 99));
}

#[test]
fn rw_07_stale_generation_is_dropped() {
    let mut rx = receiver(64, 1);
    let wptr = open(&mut rx, 4);
    let old = packet(&rx, wptr, 0);
    rx.abort(&Abort { src: 7, slot: 0, xid: 1, reason: Reason::GaveUp }).unwrap();
    dropped(&mut rx, &old, DropReason::Closed);
    connect(&mut rx, &request(0, 2, 4), 0).unwrap();
    dropped(&mut rx, &old, DropReason::StaleGen);
    let fresh = packet(&rx, wptr, 0);
    dropped(&mut rx, &Data { src: 8, ..fresh }, DropReason::BadSource);
    dropped(&mut rx, &Data { wptr: 1, ..fresh }, DropReason::Closed);
    assert!(rx.data(&fresh, 0).is_ok());
    // An acknowledgement of a write of the old transfer does not count for the new one.
    assert!(!rx.write_done(wptr, old.r#gen));
    assert_eq!((rx.transfer(wptr).unwrap().acked, rx.stats().dropped(DropReason::StaleWrite)), (0, 1));
}

#[test]
fn rw_07_a_poll_of_another_transfer_is_answered_unknown() {
    let mut rx = receiver(64, 2);
    let wptr = open(&mut rx, 4);
    let poll = Poll { src: 7, wptr, r#gen: 1, slot: 0, xid: 1, seq: 5 };
    assert!(matches!(rx.poll(&poll), Message::Status(m) if m.seq == 5));
    for wrong in [Poll { r#gen: 2, ..poll }, Poll { src: 8, ..poll }, Poll { slot: 1, ..poll }, Poll { xid: 2, ..poll }, Poll { wptr: 1, ..poll }] {
        let before = rx.clone();
        assert!(matches!(rx.poll(&wrong), Message::Unknown(m) if m.reason == Reason::NoTransfer), "{wrong:?}");
        assert_eq!(rx, before);
    }
}

#[test]
fn rw_08_connect_is_idempotent_and_only_a_newer_one_replaces() {
    let mut rx = receiver(64, 2);
    let first = connect(&mut rx, &request(0, 10, 100), 0).unwrap();
    let again = connect(&mut rx, &request(0, 10, 100), 5);
    assert_eq!(again, Some(first));
    let before = rx.clone();
    assert_eq!(rx.connect(&request(0, 9, 100), 5), ConnectOut { reply: None, aborted: None });
    assert_eq!(rx, before);
    let out = rx.connect(&request(0, 11, 1), 6);
    assert_eq!(out.aborted.map(|done| (done.xid, done.status)), Some((10, Status::Aborted)));
    assert_eq!(rx.free().collect::<Vec<_>>(), [0]);
    data(&mut rx, 1, 0, 6).unwrap();
    assert!(rx.write_done(1, 1) && rx.finish(1).is_some());
    // Finished: a late CONNECT is answered with how it ended.
    let late = rx.connect(&request(0, 11, 1), 7).reply;
    assert_eq!(late, Some(Message::Complete(Complete { slot: 0, xid: 11, status: Status::Ok })));
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
    let wide = Connect { length: u32::MAX, mtu: 8, ..good };
    for bad in [
        Connect { src: 256, ..good },
        Connect { slot: 16, ..good },
        Connect { mtu: 7, ..good },
        Connect { mtu: 13, ..good },
        Connect { mtu: 255, ..good },
        Connect { addr: u64::MAX - 100, ..good },
        wide,
    ] {
        let before = rx.clone();
        let reply = rx.connect(&bad, 0).reply;
        assert!(matches!(reply, Some(Message::ConnectResp(m)) if m.status == ConnectStatus::Refused), "{bad:?}");
        assert_eq!(rx, before);
    }
    let edge = Connect { addr: u64::MAX - u64::from(good.length) + 1, ..good };
    assert!(connect(&mut rx, &edge, 0).is_some() && MTU_RANGE.contains(&edge.mtu));
}

#[test]
fn rw_09_no_free_window_is_answered_busy_with_a_hint() {
    let mut rx = receiver(64, 1);
    open(&mut rx, 4);
    let before = rx.clone();
    match rx.connect(&request(1, 1, 4), 0).reply {
        Some(Message::ConnectResp(m)) => assert_eq!((m.status, m.retry > 0), (ConnectStatus::Busy, true)),
        other => panic!("{other:?}"),
    }
    assert_eq!(rx, before);
}

#[test]
fn rw_10_poll_is_answered_by_status_then_by_complete() {
    let mut rx = receiver(64, 1);
    let wptr = open(&mut rx, 2);
    let poll = Poll { src: 7, wptr, r#gen: 1, slot: 0, xid: 1, seq: 3 };
    data(&mut rx, wptr, 1, 0).unwrap();
    assert!(matches!(rx.poll(&poll), Message::Status(m) if (m.wbase, m.w_tail) == (0, true) && m.bitmap[1]));
    data(&mut rx, wptr, 0, 0).unwrap();
    rx.write_done(wptr, 1);
    rx.write_done(wptr, 1);
    rx.finish(wptr).unwrap();
    assert!(matches!(rx.poll(&poll), Message::Complete(m) if m.status == Status::Ok));
}

#[test]
fn rw_11_status_carries_state_and_asking_again_changes_nothing() {
    let mut rx = receiver(64, 1);
    let wptr = open(&mut rx, 100);
    for pidx in [0, 1, 3, 6] {
        data(&mut rx, wptr, pidx, 0).unwrap();
    }
    let status = rx.status(wptr, 9).unwrap();
    assert_eq!((status.wbase, status.credit, status.w_tail, status.bitmap.len()), (2, 66, false, 64));
    assert_eq!(status.bitmap.iter_ones().collect::<Vec<_>>(), [1, 4]);
    assert_eq!(rx.status(wptr, 9), Some(status));
}

#[test]
fn rw_12_a_hole_is_asked_for_when_it_is_older_than_the_allowance() {
    let mut rx = receiver(64, 1);
    let wptr = open(&mut rx, 100);
    for pidx in [0, 2, 3, 4] {
        data(&mut rx, wptr, pidx, 1).unwrap();
        assert_eq!(rx.sweep(wptr, 1), [], "1 is only {} behind", pidx - 1);
    }
    data(&mut rx, wptr, 5, 1).unwrap();
    assert_eq!(asked(&rx.sweep(wptr, 1)), (vec![1], None), "by distance");
    let mut rx = receiver(64, 1);
    let wptr = open(&mut rx, 100);
    for pidx in [0, 2, 3, 4] {
        data(&mut rx, wptr, pidx, 1).unwrap();
    }
    assert_eq!(asked(&rx.sweep(wptr, 4)), (vec![], None));
    assert_eq!(asked(&rx.sweep(wptr, 5)), (vec![1], None), "by time");
    assert_eq!(asked(&rx.sweep(wptr, 6)), (vec![], None), "not twice");
}

#[test]
fn rw_12_no_hole_is_asked_for_twice_within_the_retry_time() {
    let mut rx = receiver(64, 1);
    let wptr = open(&mut rx, 1000);
    let mut last_asked = BTreeMap::new();
    for now in 0..500u16 {
        // Every seventh packet is lost, for ever; the window stands still after 64.
        let pidx = u32::from(now);
        if pidx % 7 != 3 && pidx < 64 {
            data(&mut rx, wptr, pidx, now).unwrap();
        } else if pidx >= 64 {
            let keep_alive = packet(&rx, wptr, 0);
            let _ = rx.data(&keep_alive, now);
        }
        for pidx in asked(&rx.sweep(wptr, now)).0 {
            assert_eq!(pidx % 7, 3);
            if let Some(before) = last_asked.insert(pidx, now) {
                assert!(now - before >= 20, "{pidx} at {before} and {now}");
            }
        }
    }
    assert_eq!(last_asked.len(), 9);
    assert!(last_asked.values().all(|at| *at > 450), "{last_asked:?}");
}

#[test]
fn rw_13_the_range_request_starts_above_what_has_arrived() {
    let mut rx = receiver(64, 1);
    let wptr = open(&mut rx, 100);
    for pidx in [0, 2, 5] {
        data(&mut rx, wptr, pidx, 0).unwrap();
    }
    let (_, range) = asked(&rx.sweep(wptr, 30));
    assert_eq!(range, Some(6));
    let mut rx = receiver(64, 1);
    let wptr = open(&mut rx, 100);
    assert_eq!(asked(&rx.sweep(wptr, 30)), (vec![], Some(0)));
}

#[test]
fn rw_16_completion_waits_for_every_write() {
    let mut rx = receiver(64, 1);
    let wptr = open(&mut rx, 3);
    for pidx in [2, 1, 0] {
        data(&mut rx, wptr, pidx, 0).unwrap();
    }
    assert!(rx.transfer(wptr).unwrap().all_received(Mode::Rw));
    assert_eq!(rx.finish(wptr), None);
    assert!(!rx.write_done(wptr, 1) && !rx.write_done(wptr, 1));
    assert_eq!(rx.finish(wptr), None);
    assert!(rx.write_done(wptr, 1));
    let done = rx.finish(wptr).unwrap();
    assert_eq!((done.completion.length, done.complete_msg.status), (3 * P, Status::Ok));
    assert_eq!(rx.finish(wptr), None, "exactly once");
    assert!(!rx.write_done(wptr, 1));
}

#[test]
fn rw_17_a_finished_window_is_free_and_only_the_outcome_is_kept() {
    let mut rx = receiver(64, 1);
    let wptr = open(&mut rx, 1);
    data(&mut rx, wptr, 0, 0).unwrap();
    assert!(rx.write_done(wptr, 1));
    rx.finish(wptr).unwrap();
    assert_eq!(rx.window(wptr), Some(&Window { r#gen: 1, open: None }));
    assert_eq!(rx.free().collect::<Vec<_>>(), [wptr]);
    assert_eq!(rx.peer(7, 0), Some(Peer { xid: 1, state: PeerState::Done(Status::Ok) }));
    assert!(connect(&mut rx, &request(1, 1, 1), 0).is_some(), "at once for another transfer");
}

#[test]
fn rw_18_a_silent_sender_is_given_up_and_told() {
    let mut rx = receiver(64, 1);
    let wptr = open(&mut rx, 10);
    data(&mut rx, wptr, 0, 100).unwrap();
    let (ones, range) = asked(&rx.sweep(wptr, 1099));
    assert_eq!((ones, range), (vec![], Some(1)));
    match rx.sweep(wptr, 1100).as_slice() {
        [Output::Completion(done), Output::Send { dst: 7, msg: Message::Unknown(m) }] => {
            assert_eq!((done.status, m.xid, m.reason), (Status::Aborted, 1, Reason::Idle));
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(rx.sweep(wptr, 1101), []);
    assert!(rx.check().is_ok());
}

#[test]
fn rw_19_credit_is_the_window_and_updates_follow_its_quarters() {
    let mut rx = receiver(64, 1);
    let (wptr, _, credit) = connect(&mut rx, &request(0, 1, 100), 0).unwrap();
    assert_eq!(credit, 64);
    let mut updates = Vec::new();
    for pidx in 0..100 {
        if data(&mut rx, wptr, pidx, 0).unwrap().credit_due {
            updates.push(rx.status(wptr, 0).unwrap().credit);
        }
    }
    assert_eq!(updates, [80, 96, 100, 100, 100, 100]);
    assert_eq!(connect(&mut rx, &request(0, 1, 100), 0).unwrap().2, 100, "as of now");
}

#[test]
fn rw_20_length_0_is_one_packet_of_length_0() {
    let mut rx = receiver(64, 1);
    let wptr = connect(&mut rx, &Connect { length: 0, ..request(0, 1, 1) }, 0).unwrap().0;
    assert_eq!(rx.transfer(wptr).unwrap().n, 1);
    let only = packet(&rx, wptr, 0);
    dropped(&mut rx, &Data { len: 1, ..only }, DropReason::BadLength);
    assert_eq!(rx.data(&only, 0).unwrap().write.len, 0);
    assert!(rx.write_done(wptr, 1) && rx.finish(wptr).is_some());
}

#[test]
fn rw_20_checks_come_in_the_order_of_the_contract() {
    let mut rx = receiver(64, 2);
    let wptr = open(&mut rx, 200);
    data(&mut rx, wptr, 0, 0).unwrap();
    // Everything wrong at once, then one thing less at a time.
    let good = packet(&rx, wptr, 1);
    let mut d = Data { wptr: 1, r#gen: 9, src: 9, pidx: 200, tail: true, len: 3, ..good };
    dropped(&mut rx, &d, DropReason::Closed);
    d.wptr = wptr;
    dropped(&mut rx, &d, DropReason::StaleGen);
    d.r#gen = good.r#gen;
    dropped(&mut rx, &d, DropReason::BadSource);
    d.src = good.src;
    dropped(&mut rx, &d, DropReason::BeyondEnd);
    d.pidx = 0;
    dropped(&mut rx, &d, DropReason::BadTail);
    d.tail = false;
    dropped(&mut rx, &d, DropReason::BadLength);
    d.len = good.len;
    dropped(&mut rx, &d, DropReason::BelowWindow);
}

#[test]
fn rw_21_one_sweep_serves_every_window_and_the_tick_wraps() {
    let mut rx = receiver(64, 4);
    for slot in 0..3 {
        connect(&mut rx, &request(slot, 1, 10), u16::MAX - 10).unwrap();
    }
    let asked: Vec<_> = rx.handle_sweep(u64::from(u16::MAX) + 20).into_iter().collect();
    let mut slots: Vec<_> = asked
        .iter()
        .map(|output| match output {
            Output::Send { dst: 7, msg: Message::RetxRange(m) } => m.slot,
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
        rx.abort(&Abort { src: 7, slot: 0, xid, reason: Reason::Cancelled }).unwrap();
    }
    assert_eq!(seen, [(0, 0xFFFF), (1, 1), (2, 1), (0, 0), (1, 2), (2, 2), (0, 1), (1, 3), (2, 3)]);
    assert_eq!(rx.free().collect::<Vec<_>>(), [0, 1, 2]);
}

#[test]
fn an_abort_that_names_no_open_transfer_is_counted() {
    let mut rx = receiver(64, 1);
    open(&mut rx, 4);
    let before = rx.clone();
    assert_eq!(rx.abort(&Abort { src: 7, slot: 0, xid: 2, reason: Reason::GaveUp }), None);
    assert_eq!(rx.abort(&Abort { src: 7, slot: 3, xid: 1, reason: Reason::GaveUp }), None);
    assert_eq!((rx == before, rx.stats().dropped(DropReason::StrayAbort)), (true, 2));
}
