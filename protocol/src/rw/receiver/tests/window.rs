//! DATA, requests, credit and completion.

use super::*;

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
    let wptr = connect(
        &mut rx,
        &Connect {
            length: (m - 1) * P + 1,
            ..request(0, 1, 1)
        },
        0,
    )
    .unwrap()
    .0;
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
        assert_eq!(
            t.wvec.iter_ones().collect::<Vec<_>>(),
            if run < 62 { vec![1] } else { vec![] },
            "shift by {}",
            run + 1
        );
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
    dropped(
        &mut rx,
        &Data {
            tail: false,
            ..last
        },
        DropReason::BadTail,
    );
    dropped(
        &mut rx,
        &Data {
            tail: true,
            ..middle
        },
        DropReason::BadTail,
    );
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
    let wptr = connect(
        &mut rx,
        &Connect {
            length: (m - 1) * P + 1,
            ..request(0, 1, 1)
        },
        0,
    )
    .unwrap()
    .0;
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
    let wptr = connect(
        &mut rx,
        &Connect {
            length: 2 * P + 10,
            ..request(0, 1, 1)
        },
        0,
    )
    .unwrap()
    .0;
    let beyond = Data {
        pidx: 3,
        tail: false,
        len: P as u16,
        ..packet(&rx, wptr, 0)
    };
    dropped(&mut rx, &beyond, DropReason::BeyondEnd);
    dropped(
        &mut rx,
        &Data {
            tail: true,
            ..beyond
        },
        DropReason::BeyondEnd,
    );
    let last = packet(&rx, wptr, 2);
    dropped(&mut rx, &Data { len: 11, ..last }, DropReason::BadLength);
    let first = packet(&rx, wptr, 0);
    dropped(&mut rx, &Data { len: 255, ..first }, DropReason::BadLength);
    let write = rx.data(&last, 0).unwrap().write;
    assert_eq!(
        (write.addr, write.len, write.rkey),
        (0x1_0000 + 2 * u64::from(P), 10, 99)
    );
}

#[test]
fn rw_07_stale_generation_is_dropped() {
    let mut rx = receiver(64, 1);
    let wptr = open(&mut rx, 4);
    let old = packet(&rx, wptr, 0);
    rx.abort(&Abort {
        src: 7,
        slot: 0,
        xid: 1,
        reason: Reason::GaveUp,
    })
    .unwrap();
    dropped(&mut rx, &old, DropReason::Closed);
    connect(&mut rx, &request(0, 2, 4), 0).unwrap();
    dropped(&mut rx, &old, DropReason::StaleGen);
    let fresh = packet(&rx, wptr, 0);
    dropped(&mut rx, &Data { src: 8, ..fresh }, DropReason::BadSource);
    dropped(&mut rx, &Data { wptr: 1, ..fresh }, DropReason::Closed);
    assert!(rx.data(&fresh, 0).is_ok());
    // An acknowledgement of a write of the old transfer does not count for the new one.
    assert!(!rx.write_done(wptr, old.r#gen));
    assert_eq!(
        (
            rx.transfer(wptr).unwrap().acked,
            rx.stats().dropped(DropReason::StaleWrite)
        ),
        (0, 1)
    );
}

#[test]
fn rw_11_status_carries_state_and_asking_again_changes_nothing() {
    let mut rx = receiver(64, 1);
    let wptr = open(&mut rx, 100);
    for pidx in [0, 1, 3, 6] {
        data(&mut rx, wptr, pidx, 0).unwrap();
    }
    let status = rx.status(wptr, 9).unwrap();
    assert_eq!(
        (
            status.wbase,
            status.credit,
            status.w_tail,
            status.bitmap.len()
        ),
        (2, 66, false, 64)
    );
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
    assert_eq!(
        (done.completion.length, done.complete_msg.status),
        (3 * P, Status::Ok)
    );
    assert_eq!(rx.finish(wptr), None, "exactly once");
    assert!(!rx.write_done(wptr, 1));
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
    assert_eq!(
        connect(&mut rx, &request(0, 1, 100), 0).unwrap().2,
        100,
        "as of now"
    );
}

#[test]
fn rw_20_length_0_is_one_packet_of_length_0() {
    let mut rx = receiver(64, 1);
    let wptr = connect(
        &mut rx,
        &Connect {
            length: 0,
            ..request(0, 1, 1)
        },
        0,
    )
    .unwrap()
    .0;
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
    let mut d = Data {
        wptr: 1,
        r#gen: 9,
        src: 9,
        pidx: 200,
        tail: true,
        len: 3,
        ..good
    };
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
