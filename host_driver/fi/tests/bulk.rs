//! Long messages and memory of peers by bulk transfers: two engines, and cards that lose transfers and are late with them.

mod common;

use std::sync::Arc;

use common::Bytes;
use common::cards::{Cards, Pair, SLOTS};
use tributary_fi::engine::{
    BULK, Failure, Label, Memory, Place, Region, Regions, SLOT, Transferred, Want, What,
};
use tributary_fi::header::{Header, Kind};

fn content(number: usize, length: usize) -> Vec<u8> {
    (0..length)
        .map(|at| (at.wrapping_mul(31) ^ (at >> 8) ^ number.wrapping_mul(7)) as u8)
        .collect()
}

fn want(tag: u64) -> Want {
    Want {
        from: None,
        tag: Some((tag, 0)),
    }
}

/// Both ends send all that they have before they receive, or receive first.
fn exchange(seed: u64, silent_of: u64) -> usize {
    let mut pair = Pair::new(seed, silent_of, Regions::default());
    let early = pair.random.next(2) == 0;
    let lengths: Vec<[usize; 2]> = (0..12)
        .map(|_| [pair.random.length(), pair.random.length()])
        .collect();
    let post = |pair: &mut Pair| -> Vec<[Bytes; 2]> {
        let one = |(number, lengths): (usize, &[usize; 2])| {
            [0, 1].map(|end| {
                let memory = Bytes::new(vec![0xEE; lengths[1 - end] + 9]);
                pair.ends[end].receive(want(number as u64 % 3), memory.clone(), number as u32);
                memory
            })
        };
        lengths.iter().enumerate().map(one).collect()
    };
    let mut memories = if early { post(&mut pair) } else { Vec::new() };
    for (number, lengths) in lengths.iter().enumerate() {
        for (end, length) in lengths.iter().enumerate() {
            let bytes = content(number, *length);
            pair.send(end, number as u64 % 3, bytes, number as u32);
        }
        if number % 4 == 0 {
            pair.round();
        }
    }
    if !early {
        pair.settle();
        memories = post(&mut pair);
    }
    pair.settle();
    for end in 0..2 {
        assert!(pair.ends[end].is_drained(), "seed {seed}");
        let mut received = 0;
        while let Some(done) = pair.ends[end].take() {
            assert_eq!(done.failure, None, "seed {seed}");
            if done.what == What::Receive {
                let number = done.op as usize;
                let length = lengths[number][1 - end];
                let memory = memories[number][end].all();
                assert_eq!(done.length, length, "seed {seed}");
                assert!(memory[..length] == content(number, length), "seed {seed}");
                assert_eq!(memory[length..], [0xEE; 9], "seed {seed}");
                received += 1;
            }
        }
        assert_eq!(received, lengths.len(), "seed {seed}");
    }
    pair.landed()
}

/// `BULK_SEED` and `BULK_RUNS` say which runs, and how many.
#[test]
fn cl_09_xud_12_long_messages_of_both_sides_arrive_by_transfers_and_without_those_that_are_lost() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse().ok());
    let first = number("BULK_SEED").unwrap_or(1);
    let runs = number("BULK_RUNS").unwrap_or(40);
    eprintln!("BULK_SEED={first} BULK_RUNS={runs}");
    let mut landed = 0;
    for seed in first..first + runs {
        landed += exchange(seed, [0, 20, 3][(seed % 3) as usize]);
    }
    assert!(landed as u64 > 10 * runs, "{landed} transfers");
}

#[test]
fn cl_09_xud_12_messages_below_the_threshold_and_to_ends_without_slots_go_as_datagrams() {
    for (length, slots, transfers) in [
        (BULK - 1, SLOTS, 0),
        (BULK, SLOTS, 1),
        (BULK + 1, SLOTS, 1),
        (SLOT, SLOTS, 1),
        (SLOT + 1, SLOTS, 2),
        (BULK, 0, 0),
        (3 * SLOT, 0, 0),
    ] {
        for without in [0, 1] {
            let mut pair = Pair::new(1, 0, Regions::default());
            pair.ends[without].lend(slots);
            let memory = Bytes::new(vec![0; length]);
            pair.ends[1].receive(want(1), memory.clone(), 1);
            pair.send(0, 1, content(3, length), 1);
            pair.settle();
            assert_eq!(pair.landed(), transfers, "{length} bytes");
            assert!(*memory.all() == content(3, length));
            assert_eq!(pair.ends[1].counts().bulk, u64::from(transfers > 0));
        }
    }
}

#[test]
fn cl_09_xud_12_a_long_message_is_truncated_to_its_memory_and_only_that_much_moves() {
    let mut pair = Pair::new(1, 0, Regions::default());
    let memory = Bytes::new(vec![0xEE; SLOT + 100]);
    let all = memory.clone();
    pair.ends[1].receive(want(1), memory.part(0, SLOT + 50), 1);
    pair.send(0, 1, content(3, 5 * SLOT), 2);
    pair.settle();
    let done = pair.ends[1].take().unwrap();
    let over = 4 * SLOT - 50;
    assert_eq!(done.failure, Some(Failure::Truncated(over)));
    assert_eq!((done.op, done.length), (1, SLOT + 50));
    assert_eq!(all.all()[..SLOT + 50], content(3, SLOT + 50)[..]);
    assert_eq!(all.all()[SLOT + 50..], [0xEE; 50]);
    assert_eq!(pair.landed(), 2);
    // The sender has done its part.
    let sent = pair.ends[0].take().unwrap();
    assert_eq!((sent.op, sent.failure), (2, None));
}

#[test]
fn cl_09_xud_12_an_unexpected_long_message_is_looked_at_claimed_and_discarded() {
    let mut pair = Pair::new(1, 0, Regions::default());
    let length = 3 * SLOT;
    for number in 0..3 {
        pair.send(0, 7, content(number, length), number as u32);
    }
    pair.settle();
    assert_eq!((pair.ends[0].take(), pair.landed()), (None, 0));
    // Looked at; then the first is claimed, the second discarded, the third received.
    pair.ends[1].peek(want(7), 10, None, false);
    pair.ends[1].peek(want(7), 11, Some(0xC1), false);
    pair.ends[1].peek(want(7), 12, None, true);
    let rest = Bytes::new(vec![0; length]);
    pair.ends[1].receive(want(7), rest.clone(), 13);
    for op in [10, 11, 12] {
        let done = pair.ends[1].take().unwrap();
        assert_eq!((done.op, done.length, done.failure), (op, length, None));
    }
    pair.settle();
    assert!(*rest.all() == content(2, length));
    let claimed = Bytes::new(vec![0; length]);
    assert!(pair.ends[1].receive_claimed(0xC1, claimed.clone(), 14, false));
    pair.settle();
    assert!(*claimed.all() == content(0, length));
    assert_eq!(pair.landed(), 6);
    let mut sent: Vec<u32> = std::iter::from_fn(|| pair.ends[0].take())
        .map(|done| done.op)
        .collect();
    sent.sort_unstable();
    assert_eq!(sent, [0, 1, 2]);
}

#[test]
fn cl_09_long_messages_lie_one_behind_the_other_in_memory_for_many() {
    let mut pair = Pair::new(5, 4, Regions::default());
    let (length, label) = (SLOT + 77, Label::default());
    let memory = Bytes::new(vec![0; 3 * length]);
    let any = Want {
        from: None,
        tag: None,
    };
    pair.ends[1].receive_many(any, memory.clone(), 9, 100);
    for number in 0..3 {
        let bytes = Bytes::new(content(number, length));
        let sent = pair.ends[0].send(2, label, bytes, Some(number as u32), false);
        assert_eq!(sent, Ok(()));
    }
    pair.settle();
    let done: Vec<_> = std::iter::from_fn(|| pair.ends[1].take()).collect();
    assert_eq!(done.len(), 3);
    assert!(done.iter().all(|done| done.failure.is_none()));
    let mut places: Vec<usize> = done.iter().map(|done| done.at).collect();
    places.sort_unstable();
    assert_eq!(places, [0, length, 2 * length]);
    assert_eq!(done.iter().filter(|done| done.released).count(), 1);
    for number in 0..3 {
        let there = &memory.all()[number * length..][..length];
        assert!(there == content(number, length));
    }
}

#[test]
fn cl_09_a_peer_that_dies_in_the_middle_ends_both_directions_and_its_late_writes_find_nothing() {
    for rounds in 0..12 {
        let mut pair = Pair::new(rounds + 1, 0, Regions::default());
        let memory = Bytes::new(vec![0xEE; 20 * SLOT]);
        pair.ends[1].receive(want(1), memory.clone(), 1);
        pair.ends[0].receive(want(2), Bytes::new(vec![0; 20 * SLOT]), 4);
        pair.send(0, 1, content(3, 20 * SLOT), 2);
        pair.send(1, 2, content(4, 20 * SLOT), 3);
        (0..rounds + 4).for_each(|_| pair.round());
        assert!(!pair.rest());
        // The first end has died: what its card was told still comes.
        pair.ends[1].lost(1);
        let before = memory.all().clone();
        let under_way = std::mem::take(&mut pair.cards[0].all().under_way);
        pair.cards[0].line.queue.clear();
        pair.ends[1].pump(&mut pair.cards[1]);
        for transfer in under_way {
            if transfer.from == 1 {
                assert!(!pair.cards[0].all().put(&transfer), "a slot is open");
            } else {
                pair.ends[1].transferred(transfer.name, Transferred::Silent);
            }
        }
        pair.ends[1].pump(&mut pair.cards[1]);
        assert!(*memory.all() == before && !pair.ends[1].waits());
        let mut ended: Vec<_> = std::iter::from_fn(|| pair.ends[1].take())
            .map(|done| (done.op, done.from, done.failure))
            .collect();
        ended.sort_unstable_by_key(|done| done.0);
        let gone = Some(Failure::Peer);
        assert_eq!(ended, [(1, 1, gone), (3, 1, gone)]);
    }
}

#[test]
fn cl_09_a_transfer_that_the_cards_end_ends_the_message_at_both_sides() {
    let mut pair = Pair::new(1, 0, Regions::default());
    pair.ends[1].receive(want(1), Bytes::new(vec![0; 9 * SLOT]), 1);
    pair.send(0, 1, content(3, 9 * SLOT), 2);
    while pair.cards[0].all().under_way.is_empty() {
        pair.round();
    }
    // Its memory is revoked.
    let mut all = pair.cards[0].all();
    let Cards {
        slots, under_way, ..
    } = &mut *all;
    for transfer in &*under_way {
        slots.remove(&transfer.spot.rkey);
    }
    drop(all);
    pair.settle();
    let gone = Some(Failure::Peer);
    for (end, op, peer) in [(0, 2, 2), (1, 1, 1)] {
        let done = pair.ends[end].take().unwrap();
        assert_eq!((done.op, done.from, done.failure), (op, peer, gone));
        assert_eq!(pair.ends[end].take(), None);
    }
}

#[test]
fn cl_09_long_reads_and_writes_of_memory_of_a_peer_go_by_transfers_within_their_rights() {
    for silent_of in [0, 3] {
        let regions = Regions::<Bytes>::default();
        let there = Bytes::new(content(1, 8 * SLOT));
        let region = Region {
            memory: there.clone(),
            reads: true,
            writes: true,
        };
        regions.lock().unwrap().insert(5, region);
        let mut pair = Pair::new(11, silent_of, regions);
        let place = |offset| Place {
            at: 2,
            key: 5,
            offset,
        };
        let length = 3 * SLOT + 5;
        let here = Bytes::new(vec![0; length]);
        let bytes = Bytes::new(content(2, length));
        let offset = 4 * SLOT + 1;
        assert_eq!(pair.ends[0].read(place(7), here.clone(), 1), Ok(()));
        let written = pair.ends[0].write(place(offset as u64), bytes, Some(3), 2);
        assert_eq!(written, Ok(()));
        let beyond = Bytes::new(vec![0; length]);
        let beyond = pair.ends[0].read(place(5 * SLOT as u64), beyond, 3);
        assert_eq!(beyond, Ok(()));
        pair.settle();
        assert!(pair.landed() >= if silent_of == 0 { 8 } else { 1 });
        assert!(*here.all() == content(1, 8 * SLOT)[7..][..length]);
        assert!(there.all()[offset..][..length] == content(2, length));
        let mut ended: Vec<_> = std::iter::from_fn(|| pair.ends[0].take())
            .map(|done| (done.op, done.what, done.failure))
            .collect();
        ended.sort_unstable_by_key(|done| done.0);
        let refused = Some(Failure::Refused);
        assert_eq!(
            ended,
            [
                (1, What::Read, None),
                (2, What::Write, None),
                (3, What::Read, refused)
            ]
        );
        let reached: Vec<_> = std::iter::from_fn(|| pair.ends[1].reached()).collect();
        assert_eq!(reached.len(), 2);
        assert!(reached.iter().all(|r| (r.by, r.length) == (1, length)));
        assert!(reached.iter().any(|r| r.write && r.data == Some(3)));
    }
}

#[test]
fn cl_09_memory_that_is_closed_in_the_middle_is_touched_no_more() {
    for rounds in 0..20 {
        let regions = Regions::<Bytes>::default();
        let there = Bytes::new(content(1, 8 * SLOT));
        let region = Region {
            memory: there.clone(),
            reads: true,
            writes: true,
        };
        regions.lock().unwrap().insert(5, region);
        let mut pair = Pair::new(rounds + 1, 0, Arc::clone(&regions));
        let place = Place {
            at: 2,
            key: 5,
            offset: 0,
        };
        let bytes = || Bytes::new(content(2, 8 * SLOT));
        assert_eq!(pair.ends[0].write(place, bytes(), None, 1), Ok(()));
        assert_eq!(pair.ends[0].read(place, bytes(), 2), Ok(()));
        (0..rounds).for_each(|_| pair.round());
        regions.lock().unwrap().remove(&5);
        pair.ends[1].close_region(5);
        let before = there.all().clone();
        let reached: Vec<_> = std::iter::from_fn(|| pair.ends[1].reached()).collect();
        pair.settle();
        assert!(*there.all() == before);
        let ended: Vec<_> = std::iter::from_fn(|| pair.ends[0].take()).collect();
        assert_eq!(ended.len(), 2, "after {rounds} rounds");
        for done in ended {
            // What was done before has ended well.
            let write = done.what == What::Write;
            let whole = reached.iter().any(|reached| reached.write == write);
            let refused = (!whole).then_some(Failure::Refused);
            assert_eq!(
                done.failure, refused,
                "{:?} after {rounds} rounds",
                done.what
            );
        }
        // All slots are there again.
        let memory = Bytes::new(vec![0; 9 * SLOT]);
        pair.ends[1].receive(want(1), memory.clone(), 3);
        pair.send(0, 1, content(4, 9 * SLOT), 4);
        pair.settle();
        assert!(*memory.all() == content(4, 9 * SLOT));
    }
}

#[test]
fn cl_09_slots_that_were_not_lent_and_pieces_that_were_not_asked_for_change_nothing() {
    let mut pair = Pair::new(1, 0, Regions::default());
    pair.send(0, 1, content(1, 4 * SLOT), 1);
    pair.settle();
    let grant = |id: u32, at: usize, length: usize, total: usize| {
        let mut header = Header::new(Kind::Grant, id, 64, at as u64, length);
        header.from = 1;
        let mut bytes = header.encode().to_vec();
        bytes.extend([9u32, 1, 2, 0].iter().flat_map(|word| word.to_le_bytes()));
        bytes.extend((total as u64).to_le_bytes());
        bytes
    };
    let all = 4 * SLOT;
    for (at, length, total) in [
        (0, 0, all),
        (0, SLOT + 1, all),
        (all, 1, all),
        (0, SLOT, all + 1),
        (SLOT, SLOT, SLOT),
        (usize::MAX, 2, all),
    ] {
        pair.ends[0].arrived(2, &grant(1, at, length, total));
    }
    pair.ends[0].arrived(2, &grant(1, 0, SLOT, all)[..50]);
    for slot in [0u64, 1, u64::MAX] {
        for how in 0..4 {
            let mut header = Header::new(Kind::Landed, 1, slot, how, SLOT);
            header.from = 1;
            pair.ends[1].arrived(1, &header.encode());
        }
    }
    let mut offer = Header::new(Kind::Offer, 1, 1, 0, SLOT);
    offer.from = 1;
    pair.ends[1].arrived(1, &offer.encode());
    assert!(pair.cards[0].all().under_way.is_empty());
    let memory = Bytes::new(vec![0; 4 * SLOT]);
    pair.ends[1].receive(want(1), memory.clone(), 1);
    pair.settle();
    assert!(*memory.all() == content(1, 4 * SLOT));
    assert_eq!(pair.landed(), 4);
}

#[test]
fn cl_09_a_peer_that_is_silent_while_something_is_under_way_is_asked_once_in_a_while() {
    let mut pair = Pair::new(1, 0, Regions::default());
    pair.ends[0].probe();
    assert!(!pair.ends[0].waits(), "nothing is under way");
    pair.send(0, 1, content(1, SLOT), 1);
    pair.settle();
    // What it said so far was before.
    pair.ends[0].probe();
    pair.settle();
    let calls = pair.cards[0].line.calls;
    pair.ends[0].probe();
    assert!(pair.ends[0].waits());
    pair.settle();
    assert!(pair.cards[0].line.calls > calls);
    // One that speaks is not asked.
    pair.send(1, 9, vec![1], 2);
    pair.settle();
    pair.ends[0].probe();
    assert!(!pair.ends[0].waits());
}
