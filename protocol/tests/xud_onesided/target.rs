//! The target: checks in order, numbers, replay.

use tributary_protocol::xud::onesided::{Asked, Request};
use tributary_protocol::xud::{Drop, Grant, Mutations, Nak, Outcome, Packet, Peer, Reply, Send};

use crate::bench::{BASE, LENGTH, Pair, REQUESTER, RKEY, TARGET, WINDOW, answer, grant, said};

const OK: Option<Reply> = Some(Reply::Ok);

fn nak(nak: Nak) -> Option<Reply> {
    Some(Reply::Nak(nak))
}

/// A write comes, and again with other bytes, and then an older one: only the first is done, and acknowledged twice.
fn writes_once(mutations: Mutations) -> bool {
    let mut pair = Pair::with(mutations);
    let old = pair.ask(0, 0, BASE, Asked::Write(b"old"));
    let first = pair.ask(1, 1, BASE, Asked::Write(b"one"));
    let other = pair.ask(2, 1, BASE, Asked::Write(b"two"));
    let said = [&old, &first, &other, &old].map(|send| said(pair.deliver(send)));
    let writes = pair.remote.accesses.len();
    said == [OK, OK, OK, None] && writes == 2 && pair.remote.bytes[..3] == *b"one"
}

/// An atomic comes twice: done once, and the second answer is the first.
fn adds_once(mutations: Mutations) -> bool {
    let mut pair = Pair::with(mutations);
    let first = pair.ask(1, 0, BASE + 8, Asked::FetchAdd(5));
    let [one, two] = [0, 1].map(|_| answer(pair.deliver(&first)));
    one == two && pair.remote.word(BASE + 8) == 5
}

/// Numbers that are not the next touch no memory, of any operation.
fn untouched(mutations: Mutations) -> bool {
    let operations = [
        Asked::Write(b"bytes"),
        Asked::Read(9),
        Asked::FetchAdd(1),
        Asked::CompareSwap {
            swap: 1,
            compare: 0,
        },
    ];
    operations.into_iter().all(|asked| {
        let mut pair = Pair::with(mutations);
        for msn in 0..3 {
            pair.done(msn, BASE, Asked::Write(&[1]));
        }
        pair.remote.accesses.clear();
        [0, 1, 4, 5, 1 << 31, u32::MAX].into_iter().all(|msn| {
            let send = pair.ask(9, msn, BASE, asked);
            pair.deliver(&send);
            pair.remote.accesses.is_empty()
        })
    })
}

/// An atomic that memory fails is done when it comes again.
fn done_after_a_failure(mutations: Mutations) -> bool {
    let mut pair = Pair::with(mutations);
    pair.remote.broken = true;
    let send = pair.ask(1, 0, BASE, Asked::FetchAdd(3));
    let refused = said(pair.deliver(&send)) == nak(Nak::Operation);
    pair.remote.broken = false;
    let again = pair.deliver(&send);
    refused && matches!(again, Some(Packet::Send(_))) && pair.remote.word(BASE) == 3
}

#[test]
fn xud_13_a_write_that_comes_again_writes_nothing_even_with_other_bytes() {
    assert!(writes_once(Mutations::default()));
}

#[test]
fn xud_13_an_atomic_that_comes_again_is_answered_from_the_replay_entry() {
    assert!(adds_once(Mutations::default()));
}

#[test]
fn xud_13_memory_is_touched_only_after_the_number_was_checked() {
    assert!(untouched(Mutations::default()));
}

#[test]
fn xud_13_the_number_advances_only_when_the_access_is_done() {
    assert!(done_after_a_failure(Mutations::default()));
}

#[test]
fn xud_13_no_number_check_is_caught() {
    let mutations = Mutations {
        no_number_check: true,
        ..Mutations::default()
    };
    assert!(!writes_once(mutations) && !adds_once(mutations) && !untouched(mutations));
}

#[test]
fn xud_13_a_missing_replay_entry_is_caught() {
    let mutations = Mutations {
        no_replay: true,
        ..Mutations::default()
    };
    assert!(!adds_once(mutations));
}

#[test]
fn xud_13_an_access_before_the_check_is_caught() {
    let mutations = Mutations {
        access_first: true,
        ..Mutations::default()
    };
    assert!(!writes_once(mutations) && !untouched(mutations));
}

#[test]
fn xud_13_a_number_that_advances_too_early_is_caught() {
    let mutations = Mutations {
        early_number: true,
        ..Mutations::default()
    };
    assert!(!done_after_a_failure(mutations));
}

#[test]
fn xud_13_operations_do_what_they_are_named_after() {
    let mut pair = Pair::new();
    let swap = |swap, compare| Asked::CompareSwap { swap, compare };
    assert_eq!(
        pair.done(0, BASE, Asked::Write(&7u64.to_le_bytes())),
        Outcome::Ok
    );
    for (msn, asked, old, new) in [
        (1, Asked::FetchAdd(u64::MAX), 7, 6),
        (2, swap(100, 7), 6, 6),
        (3, swap(100, 6), 6, 100),
        (4, Asked::FetchAdd(1 << 40), 100, (1 << 40) + 100),
    ] {
        let writes = pair.remote.accesses.len();
        assert_eq!(pair.done(msn, BASE, asked), Outcome::Ok);
        assert_eq!(
            (pair.local.word(BASE + 64), pair.remote.word(BASE)),
            (old, new)
        );
        // Read, and written only if it changes.
        let expected = 1 + usize::from(msn != 2);
        assert_eq!(pair.remote.accesses.len() - writes, expected);
    }
    assert_eq!(pair.done(5, BASE + 4, Asked::Read(8)), Outcome::Ok);
    assert_eq!(pair.local.bytes[64..72], pair.remote.bytes[4..12]);
    assert_eq!(pair.target.stats().one_sided, 6);
    assert_eq!(pair.target.stats().drops.total(), 0);
}

#[test]
fn xud_13_a_read_that_comes_again_is_read_again_and_advances_nothing() {
    let mut pair = Pair::new();
    let read = pair.ask(1, 0, BASE, Asked::Read(4));
    let first = answer(pair.deliver(&read));
    pair.remote.bytes[..4].copy_from_slice(b"new!");
    let again = answer(pair.deliver(&read));
    assert_eq!(
        (&first.payload[16..], &again.payload[16..]),
        (&[0; 4][..], &b"new!"[..])
    );
    assert_eq!(pair.target.close_window(WINDOW), Some(1));
    assert_eq!(
        (
            pair.target.stats().one_sided,
            pair.drops(Drop::OneSidedDuplicate)
        ),
        (1, 1)
    );
}

#[test]
fn xud_13_another_operation_under_the_last_number_is_dropped() {
    let mut pair = Pair::new();
    pair.done(0, BASE, Asked::FetchAdd(1));
    for asked in [
        Asked::Write(b"x"),
        Asked::Read(1),
        Asked::CompareSwap {
            swap: 0,
            compare: 1,
        },
    ] {
        let send = pair.ask(1, 0, BASE, asked);
        assert_eq!(pair.deliver(&send), None);
    }
    // Before the first there is no last.
    pair.target.open_window(WINDOW, grant(1));
    let send = pair.ask(1, u32::MAX, BASE, Asked::Write(b"x"));
    assert_eq!(pair.deliver(&send), None);
    assert_eq!(pair.drops(Drop::OneSidedDuplicate), 4);
    assert_eq!(pair.remote.word(BASE), 1);
}

/// A request with something changed: what is replied and counted.
fn refused(change: impl FnOnce(&mut Pair, &mut Send)) -> (Option<Reply>, Vec<(Drop, u64)>) {
    let mut pair = Pair::new();
    let mut send = pair.ask(1, 0, BASE, Asked::Write(b"12345678"));
    change(&mut pair, &mut send);
    let reply = said(pair.deliver(&send));
    assert!(pair.remote.accesses.iter().all(|(.., write)| !write));
    assert_eq!(pair.target.stats().one_sided, 0);
    // Nothing has advanced: what was meant is still done.
    pair.remote.broken = false;
    pair.target.open_window(WINDOW, grant(1));
    (reply, pair.target.stats().drops.iter().collect())
}

fn asks(send: &mut Send, address: u64, rkey: u32, asked: Asked<'_>) {
    let request = Request {
        address,
        rkey,
        asked,
    };
    send.payload = request.encode();
}

#[test]
fn xud_13_every_refusal_has_its_code_and_its_counter() {
    let one = |drop| vec![(drop, 1)];
    let epoch = (nak(Nak::Epoch), one(Drop::StaleEpoch));
    let length = (nak(Nak::Length), one(Drop::BadLength));
    let access = (nak(Nak::Access), one(Drop::OneSidedRefused));
    let failed = (nak(Nak::Operation), one(Drop::OneSidedFailed));
    let add = Asked::FetchAdd(1);

    assert_eq!(
        refused(|_, send| send.dest_qp = 8),
        (nak(Nak::BadQp), one(Drop::BadQp))
    );
    assert_eq!(refused(|_, send| send.q_key = 8), (None, one(Drop::BadKey)));
    assert_eq!(refused(|_, send| send.payload.truncate(15)), length);
    assert_eq!(refused(|_, send| send.payload.resize(257, 0)), length);
    assert_eq!(
        refused(|_, send| send.payload[12] = 9),
        (nak(Nak::Opcode), one(Drop::BadOpcode))
    );
    assert_eq!(refused(|_, send| send.payload[15] = 9), length);
    assert_eq!(refused(|_, send| asks(send, BASE + 4, RKEY, add)), length);
    assert_eq!(
        refused(|_, send| asks(send, BASE, RKEY, Asked::Read(241))),
        length
    );

    assert_eq!(refused(|_, send| send.window.id = 4), epoch);
    assert_eq!(refused(|_, send| send.window.id = WINDOW + 256), epoch);
    assert_eq!(refused(|_, send| send.window.epoch = 2), epoch);
    assert_eq!(refused(|_, send| send.src_qp = 8), epoch);
    assert_eq!(
        refused(|pair, _| assert_eq!(pair.target.close_window(WINDOW), Some(0))),
        epoch
    );
    let elsewhere = |peer, qpn| Grant {
        qpn,
        peer,
        epoch: 1,
    };
    let node_2 = elsewhere(
        Peer {
            node: 2,
            ..REQUESTER
        },
        TARGET.qpn,
    );
    assert_eq!(
        refused(|pair, _| assert!(pair.target.open_window(WINDOW, node_2))),
        epoch
    );
    let own_3 = elsewhere(REQUESTER, 3);
    let other = |pair: &mut Pair, _: &mut Send| {
        pair.target.create_qp(3, crate::bench::SHAPE).unwrap();
        assert!(pair.target.open_window(WINDOW, own_3));
    };
    assert_eq!(refused(other), epoch);

    let ahead = |send: &mut Send| send.window.msn = 1;
    assert_eq!(
        refused(|_, send| ahead(send)),
        (nak(Nak::Number), one(Drop::OneSidedAhead))
    );
    let behind = |send: &mut Send| send.window.msn = u32::MAX;
    assert_eq!(
        refused(|_, send| behind(send)),
        (None, one(Drop::OneSidedDuplicate))
    );

    assert_eq!(refused(|_, send| asks(send, BASE, RKEY + 1, add)), access);
    let end = BASE + LENGTH as u64;
    for (address, bytes) in [(BASE - 1, 1), (end, 1), (end - 3, 4), (u64::MAX - 1, 2)] {
        let asked = Asked::Read(bytes);
        assert_eq!(refused(|_, send| asks(send, address, RKEY, asked)), access);
    }
    for asked in [
        Asked::Read(1),
        add,
        Asked::CompareSwap {
            swap: 1,
            compare: 0,
        },
    ] {
        let broken = |pair: &mut Pair, send: &mut Send| {
            pair.remote.broken = true;
            asks(send, BASE, RKEY, asked);
        };
        assert_eq!(refused(broken), failed);
    }
}

#[test]
fn xud_13_the_checks_have_an_order() {
    // All wrong from here on: the first that fails decides; each line mends one thing.
    let mut pair = Pair::new();
    let mut send = pair.ask(1, 9, BASE - 8, Asked::FetchAdd(1));
    send.q_key = 1;
    send.dest_qp = 8;
    send.window.epoch = 5;
    send.payload[12] = 0;
    send.payload.push(0);
    assert_eq!(said(pair.deliver(&send)), nak(Nak::BadQp));
    send.dest_qp = TARGET.qpn;
    assert_eq!(said(pair.deliver(&send)), None);
    send.q_key = 77;
    assert_eq!(said(pair.deliver(&send)), nak(Nak::Opcode));
    send.payload[12] = 3;
    assert_eq!(said(pair.deliver(&send)), nak(Nak::Length));
    send.payload.pop();
    assert_eq!(said(pair.deliver(&send)), nak(Nak::Epoch));
    send.window.epoch = 1;
    assert_eq!(said(pair.deliver(&send)), nak(Nak::Number));
    send.window.msn = 0;
    assert_eq!(said(pair.deliver(&send)), nak(Nak::Access));
    asks(&mut send, BASE, RKEY, Asked::FetchAdd(1));
    assert_eq!(answer(pair.deliver(&send)).payload[12], 0x83);
}

#[test]
fn xud_13_bounds_are_exact_to_the_byte() {
    let end = BASE + LENGTH as u64;
    for (address, bytes) in [(BASE, 240), (end - 1, 1), (end - 240, 240)] {
        let mut pair = Pair::new();
        assert_eq!(
            pair.done(0, address, Asked::Write(&vec![7; bytes])),
            Outcome::Ok
        );
        let written = pair.remote.bytes.iter().filter(|byte| **byte == 7).count();
        assert_eq!(written, bytes);
    }
    // No bytes need no memory.
    let mut pair = Pair::new();
    assert_eq!(pair.done(0, 1, Asked::Write(&[])), Outcome::Ok);
    assert_eq!(
        (pair.remote.accesses.len(), pair.target.stats().one_sided),
        (0, 1)
    );
}

#[test]
fn xud_13_a_window_that_is_opened_again_begins_anew() {
    let mut pair = Pair::new();
    for msn in 0..3 {
        pair.done(msn, BASE, Asked::FetchAdd(1));
    }
    assert!(pair.target.open_window(WINDOW, grant(1)));
    assert_eq!(pair.done(0, BASE, Asked::FetchAdd(1)), Outcome::Ok);
    assert_eq!(pair.remote.word(BASE), 4);
    assert_eq!(pair.target.close_window(WINDOW), Some(1));
    assert_eq!(pair.target.close_window(WINDOW), None);
    // Of a queue pair that is not there no window is opened.
    assert!(
        !pair
            .target
            .open_window(WINDOW, Grant { qpn: 1, ..grant(1) })
    );
}

#[test]
fn xud_06_xud_13_a_window_dies_with_its_queue_pair() {
    let mut pair = Pair::new();
    let send = pair.ask(1, 0, BASE, Asked::FetchAdd(1));
    pair.target.destroy_qp(TARGET.qpn);
    pair.target
        .create_qp(TARGET.qpn, crate::bench::SHAPE)
        .unwrap();
    // The new one has epoch 2; the window is of epoch 1.
    assert_eq!(said(pair.deliver(&send)), nak(Nak::Epoch));
    assert_eq!(pair.remote.word(BASE), 0);
    pair.target.reset();
    assert_eq!(pair.target.close_window(WINDOW), None);
}
