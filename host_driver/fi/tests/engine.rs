//! The engine by itself: two of them on wires that refuse now and then, against lists in order.

mod common;

use std::sync::Arc;

use common::{Bytes, CREDITS, End, PACKET, pair, pair_with, settle};
use proptest::prelude::*;
use tributary_fi::engine::{
    EAGER, Failure, Label, Notice, Place, Reached, Region, Regions, Want, What,
};
use tributary_fi::header::{Header, Kind};

fn content(number: usize, length: usize) -> Vec<u8> {
    (0..length).map(|at| (at * 31 + number * 7) as u8).collect()
}

fn sizes() -> impl Strategy<Value = usize> {
    prop_oneof![
        Just(0),
        1usize..100,
        Just(EAGER),
        Just(EAGER + 1),
        EAGER..200_000
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// The reference: messages of a tag are received in the order in which they were sent, whoever comes first.
    #[test]
    fn cl_9_messages_match_in_order_whoever_comes_first(
        sends in prop::collection::vec((0u64..3, sizes(), any::<bool>()), 1..60),
        early in any::<bool>(),
        any_tag in any::<bool>(),
    ) {
        let (mut ends, mut lines) = pair();
        let post = |end: &mut End| -> Vec<Bytes> {
            sends.iter().enumerate().map(|(number, (tag, ..))| {
                let memory = Bytes::new(vec![0xEE; 200_000]);
                let ignore = if any_tag { u64::MAX } else { 0 };
                let want = Want { from: Some(1), tag: Some((*tag, ignore)) };
                end.receive(want, memory.clone(), number as u32);
                memory
            }).collect()
        };
        let mut memories = if early { post(&mut ends[1]) } else { Vec::new() };
        for (number, (tag, length, matched)) in sends.iter().enumerate() {
            let label = Label { tag: Some(*tag), data: Some(number as u64) };
            let memory = Bytes::new(content(number, *length));
            prop_assert_eq!(ends[0].send(2, label, memory, Some(number as u32), *matched), Ok(()));
            if number % 5 == 0 {
                settle(&mut ends, &mut lines);
            }
        }
        settle(&mut ends, &mut lines);
        if !early {
            memories = post(&mut ends[1]);
        }
        settle(&mut ends, &mut lines);
        prop_assert!(ends[0].is_drained());
        // Which message each receive gets: the same number, for receives were posted tag by tag in the same order.
        let mut ended = vec![false; sends.len()];
        while let Some(done) = ends[1].take() {
            let number = done.op as usize;
            prop_assert_eq!(done.failure, None);
            prop_assert_eq!(done.label.data, Some(number as u64));
            prop_assert_eq!(done.length, sends[number].1);
            let memory = memories[number].all();
            prop_assert_eq!(&memory[..done.length], &content(number, done.length)[..]);
            prop_assert!(memory[done.length..].iter().all(|byte| *byte == 0xEE));
            ended[number] = true;
        }
        prop_assert!(ended.iter().all(|ended| *ended));
        let told = std::iter::from_fn(|| ends[0].take()).filter(|done| done.failure.is_none());
        prop_assert_eq!(told.count(), sends.len());
        // No more packets under way than there are credits; credits and answers need none.
        prop_assert!(lines[0].most <= CREDITS + 3, "{} packets", lines[0].most);
    }

    /// The reference: messages in order, each behind the one before it, until there is too little room for another.
    #[test]
    fn cl_9_many_messages_lie_one_behind_the_other_until_their_memory_is_released(
        sends in prop::collection::vec((sizes(), any::<bool>()), 1..40),
        memories in prop::collection::vec((1usize..300_000, 1usize..100_000), 1..20),
        early in 0usize..20,
        pause in 1usize..10,
    ) {
        let (mut ends, mut lines) = pair();
        let want = Want { from: None, tag: None };
        let given: Vec<Bytes> = memories.iter().map(|(length, _)| Bytes::new(vec![0xEE; *length])).collect();
        let post = |end: &mut End, number: usize| {
            end.receive_many(want, given[number].clone(), number as u32, memories[number].1);
        };
        let early = early.min(memories.len());
        (0..early).for_each(|number| post(&mut ends[1], number));
        for (number, (length, matched)) in sends.iter().enumerate() {
            let label = Label { tag: None, data: Some(number as u64) };
            let memory = Bytes::new(content(number, *length));
            prop_assert_eq!(ends[0].send(2, label, memory, Some(number as u32), *matched), Ok(()));
            if number % pause == 0 {
                settle(&mut ends, &mut lines);
            }
        }
        (early..memories.len()).for_each(|number| post(&mut ends[1], number));
        settle(&mut ends, &mut lines);

        // Number of the memory, begin and bytes of each message; memories that are full.
        let (mut places, mut full) = (Vec::new(), Vec::new());
        let (mut memory, mut used) = (0, 0);
        for (length, _) in &sends {
            let Some((room, least)) = memories.get(memory).copied() else { break };
            let count = (*length).min(room - used);
            places.push((memory, used, count, length - count));
            used += count;
            if room - used < least {
                full.push(memory);
                (memory, used) = (memory + 1, 0);
            }
        }
        let mut ended = vec![false; places.len()];
        let mut released = Vec::new();
        while let Some(done) = ends[1].take() {
            let number = done.label.data.unwrap() as usize;
            let (memory, at, count, over) = places[number];
            prop_assert_eq!((done.op as usize, done.at, done.length), (memory, at, count));
            prop_assert_eq!(done.failure, (over > 0).then_some(Failure::Truncated(over)));
            prop_assert!(!released.contains(&memory), "a message behind the last of memory {}", memory);
            let bytes = given[memory].all();
            prop_assert_eq!(&bytes[at..at + count], &content(number, count)[..]);
            prop_assert!(!std::mem::replace(&mut ended[number], true));
            if done.released {
                released.push(memory);
            }
        }
        prop_assert!(ended.iter().all(|ended| *ended));
        released.sort_unstable();
        prop_assert_eq!(released, full);
    }

    /// The reference: a copy of the memory, to which each operation is done in turn.
    #[test]
    fn cl_9_memory_of_a_peer_is_read_and_written_within_its_bounds_and_rights_only(
        operations in prop::collection::vec(
            (any::<bool>(), 0u64..4, 0u64..120_000, sizes(), any::<Option<u64>>()), 1..40,
        ),
    ) {
        const LENGTH: usize = 100_000;
        // Key 0 is for both, 1 for reads, 2 for writes, 3 is none.
        let regions = Regions::default();
        let mut shadow: Vec<Vec<u8>> = (0..3).map(|key| content(key, LENGTH)).collect();
        let memories: Vec<Bytes> = shadow.iter().cloned().map(Bytes::new).collect();
        for (key, memory) in memories.iter().enumerate() {
            let region = Region { memory: memory.clone(), reads: key != 2, writes: key != 1 };
            regions.lock().unwrap().insert(key as u64, region);
        }
        let (mut ends, mut lines) = pair_with(regions);
        for (number, (write, key, offset, length, data)) in operations.into_iter().enumerate() {
            let place = Place { at: 2, key, offset };
            let bytes = content(number + 7, length);
            let memory = Bytes::new(if write { bytes.clone() } else { vec![0xEE; length] });
            let may = key < 3 && key != if write { 1 } else { 2 };
            let range = offset as usize..offset as usize + length;
            let good = may && range.end <= LENGTH;
            let op = number as u32;
            let begun = if write {
                ends[0].write(place, memory.clone(), data, op)
            } else {
                ends[0].read(place, memory.clone(), op)
            };
            prop_assert_eq!(begun, Ok(()));
            prop_assert!(ends[0].take().is_none(), "nothing has been sent yet");
            settle(&mut ends, &mut lines);
            let done = ends[0].take().expect("an end");
            prop_assert_eq!((done.op, done.failure), (op, (!good).then_some(Failure::Refused)));
            prop_assert_eq!(done.what, if write { What::Write } else { What::Read });
            prop_assert!(ends[0].take().is_none() && ends[1].take().is_none());
            let reached = good.then_some(Reached { by: 1, key, write, length, data: data.filter(|_| write) });
            prop_assert_eq!(ends[1].reached(), reached);
            if good && write {
                shadow[key as usize][range].copy_from_slice(&bytes);
            } else if good {
                prop_assert_eq!(&*memory.all(), &shadow[key as usize][range]);
            } else if !write {
                prop_assert!(memory.all().iter().all(|byte| *byte == 0xEE));
            }
            for (memory, shadow) in memories.iter().zip(&shadow) {
                prop_assert!(*memory.all() == *shadow);
            }
        }
        prop_assert!(ends[0].is_drained() && ends[1].is_drained());
    }

    /// Of many that are under way together, with messages between them, each does its own.
    #[test]
    fn cl_9_reads_and_writes_that_are_under_way_together_do_not_mix(
        sizes in prop::collection::vec((sizes(), 0u8..3), 1..40),
        itself in any::<bool>(),
    ) {
        let regions = Regions::default();
        let total = sizes.iter().map(|(length, _)| length).sum();
        let memory = Bytes::new(content(1, total));
        let region = Region { memory: memory.clone(), reads: true, writes: true };
        regions.lock().unwrap().insert(9, region);
        let (mut ends, mut lines) = pair_with(regions);
        let by = usize::from(itself);
        let (mut offset, mut memories) = (0, Vec::new());
        for (number, (length, kind)) in sizes.iter().enumerate() {
            let place = Place { at: 2, key: 9, offset: offset as u64 };
            let (own, op) = (Bytes::new(content(number + 7, *length)), number as u32);
            let begun = match kind {
                0 => ends[by].read(place, own.clone(), op),
                1 => ends[by].write(place, own.clone(), None, op),
                _ => {
                    let got = Bytes::new(vec![0; *length]);
                    ends[1].receive(ANY, got, 1_000 + op);
                    ends[by].send(2, Label { tag: Some(1), data: None }, own.clone(), Some(op), false)
                }
            };
            prop_assert_eq!(begun, Ok(()));
            memories.push((own, offset));
            offset += length;
        }
        settle(&mut ends, &mut lines);
        let mut ended = vec![0; sizes.len()];
        while let Some(done) = ends[by].take() {
            prop_assert_eq!(done.failure, None);
            if done.op < 1_000 {
                ended[done.op as usize] += 1;
            }
        }
        prop_assert!(ended.iter().all(|times| *times == 1));
        let whole = content(1, total);
        for (number, (own, offset)) in memories.iter().enumerate() {
            let (length, kind) = sizes[number];
            let there = &memory.all()[*offset..offset + length];
            match kind {
                0 => prop_assert_eq!(&*own.all(), &whole[*offset..offset + length]),
                1 => prop_assert_eq!(there, &content(number + 7, length)),
                _ => prop_assert_eq!(there, &whole[*offset..offset + length]),
            }
        }
        prop_assert!(lines[by].most <= CREDITS + 3, "{} packets", lines[by].most);
    }

    #[test]
    fn cl_9_what_makes_no_sense_changes_nothing(bytes in prop::collection::vec(any::<u8>(), 0..100)) {
        let (mut ends, mut lines) = pair();
        let mut bytes = bytes;
        if let Some(first) = bytes.first_mut() {
            *first = 1;
        }
        ends[0].arrived(2, &bytes);
        settle(&mut ends, &mut lines);
        prop_assert!(ends[1].take().is_none());
    }
}

#[test]
fn cl_9_messages_to_oneself_match_in_order_whatever_their_lengths() {
    let (mut ends, mut lines) = pair();
    for (number, length) in [EAGER + 1, 3, EAGER * 3, 0, 5].into_iter().enumerate() {
        let label = Label {
            tag: Some(1),
            data: Some(number as u64),
        };
        let memory = Bytes::new(content(number, length));
        assert_eq!(ends[0].send(1, label, memory, None, false), Ok(()));
    }
    for number in 0..5 {
        ends[0].receive(ANY, Bytes::new(vec![0; EAGER * 3]), number);
    }
    settle(&mut ends, &mut lines);
    let mut got: Vec<_> = std::iter::from_fn(|| ends[0].take())
        .map(|done| (u64::from(done.op), done.label.data, done.failure))
        .collect();
    got.sort_unstable_by_key(|done| done.0);
    assert_eq!(got, [0, 1, 2, 3, 4].map(|n| (n, Some(n), None)));
}

const ANY: Want = Want {
    from: None,
    tag: Some((0, u64::MAX)),
};

#[test]
fn cl_9_a_message_longer_than_its_memory_is_truncated_short_or_long() {
    for length in [100, EAGER + 100] {
        let (mut ends, mut lines) = pair();
        let memory = Bytes::new(vec![0; 60]);
        ends[1].receive(ANY, memory.clone(), 1);
        let label = Label {
            tag: Some(5),
            data: None,
        };
        ends[0]
            .send(2, label, Bytes::new(content(0, length)), Some(9), false)
            .unwrap();
        settle(&mut ends, &mut lines);
        let done = ends[1].take().unwrap();
        assert_eq!(done.failure, Some(Failure::Truncated(length - 60)));
        assert_eq!(*memory.all(), content(0, 60));
        assert_eq!(ends[0].take().unwrap().failure, None);
    }
}

#[test]
fn cl_9_peek_claim_discard_and_cancel() {
    let (mut ends, mut lines) = pair();
    ends[1].peek(ANY, 1, None, false);
    assert_eq!(ends[1].take().unwrap().failure, Some(Failure::NoMessage));
    for length in [10, EAGER * 2, 30] {
        let label = Label {
            tag: Some(length as u64),
            data: None,
        };
        let memory = Bytes::new(content(1, length));
        ends[0].send(2, label, memory, Some(0), false).unwrap();
    }
    settle(&mut ends, &mut lines);
    ends[1].peek(ANY, 2, Some(77), false);
    assert_eq!(ends[1].take().unwrap().length, 10);
    // A claimed message is nobody else's.
    ends[1].peek(ANY, 3, None, true);
    assert_eq!(ends[1].take().unwrap().length, EAGER * 2);
    settle(&mut ends, &mut lines);
    assert!(ends[0].is_drained());
    let memory = Bytes::new(vec![0; 10]);
    assert!(ends[1].receive_claimed(77, memory.clone(), 4, false));
    assert_eq!(*memory.all(), content(1, 10));
    assert!(!ends[1].receive_claimed(77, memory.clone(), 4, false));
    assert_eq!(ends[1].take().unwrap().op, 4);
    ends[1].receive(
        Want {
            from: Some(1),
            tag: Some((999, 0)),
        },
        memory,
        5,
    );
    assert!(ends[1].cancel(|op| *op == 5));
    assert!(!ends[1].cancel(|op| *op == 5));
    assert_eq!(ends[1].take().unwrap().failure, Some(Failure::Canceled));
}

#[test]
fn cl_9_a_peer_that_is_gone_ends_what_was_under_way_with_it_only() {
    let (mut ends, mut lines) = pair();
    let want = |from| Want {
        from: Some(from),
        tag: None,
    };
    ends[0].receive(want(2), Bytes::new(vec![0; 8]), 1);
    ends[0].receive(want(3), Bytes::new(vec![0; 8]), 2);
    let long = Bytes::new(vec![1; EAGER + 1]);
    ends[0]
        .send(2, Label::default(), long, Some(3), false)
        .unwrap();
    ends[0].lost(2);
    ends[0].pump(&mut lines[0]);
    let mut over: Vec<_> = std::iter::from_fn(|| ends[0].take())
        .map(|done| (done.op, done.failure))
        .collect();
    over.sort_by_key(|(op, _)| *op);
    assert_eq!(over, [(1, Some(Failure::Peer)), (3, Some(Failure::Peer))]);
    let short = Bytes::new(vec![1]);
    ends[0]
        .send(2, Label::default(), short, Some(4), false)
        .unwrap();
    assert_eq!(ends[0].take().unwrap().failure, Some(Failure::Peer));
    assert!(ends[0].is_drained());
    // Without a card, nobody is left to receive from.
    ends[0].receive(ANY, Bytes::new(vec![0; 8]), 5);
    ends[0].fail();
    let over: Vec<_> = std::iter::from_fn(|| ends[0].take())
        .map(|done| done.op)
        .collect();
    assert_eq!(over, [2, 5]);
}

#[test]
fn cl_9_memory_for_many_that_is_taken_back_is_released_when_nothing_is_under_way_in_it() {
    let want = Want {
        from: Some(1),
        tag: None,
    };
    for dies in [false, true] {
        let (mut ends, mut lines) = pair();
        let memory = Bytes::new(vec![0; EAGER * 4]);
        ends[1].receive_many(want, memory.clone(), 7, 1);
        let long = Bytes::new(content(3, EAGER * 2));
        let sent = ends[0].send(2, Label::default(), long, Some(1), false);
        assert_eq!(sent, Ok(()));
        // The announcement is here, the bytes are not.
        ends[0].pump(&mut lines[0]);
        let (_, from, message) = lines[0].queue.pop_front().unwrap();
        ends[1].arrived(from, &message);
        assert!(ends[1].take().is_none());
        if dies {
            ends[1].lost(1);
        } else {
            assert!(ends[1].cancel(|op| *op == 7));
            assert!(ends[1].take().is_none(), "its bytes still come");
            settle(&mut ends, &mut lines);
            assert_eq!(memory.all()[..EAGER * 2], content(3, EAGER * 2));
        }
        let over = std::iter::from_fn(|| ends[1].take());
        let over: Vec<_> = over.map(|d| (d.op, d.failure, d.released)).collect();
        let failures = if dies {
            [Some(Failure::Peer), Some(Failure::Peer)]
        } else {
            [None, Some(Failure::Canceled)]
        };
        assert_eq!(over, [(7, failures[0], false), (7, failures[1], true)]);
        assert!(!ends[1].cancel(|op| *op == 7));
    }
}

#[test]
fn cl_9_memory_that_is_closed_is_not_touched_any_more_and_its_peers_are_told() {
    for write in [false, true] {
        for dies in [false, true] {
            let regions = Regions::default();
            let memory = Bytes::new(vec![1; 200_000]);
            let region = Region {
                memory: memory.clone(),
                reads: true,
                writes: true,
            };
            regions.lock().unwrap().insert(5, region);
            let (mut ends, mut lines) = pair_with(Arc::clone(&regions));
            let place = Place {
                at: 2,
                key: 5,
                offset: 0,
            };
            let own = Bytes::new(vec![2; 200_000]);
            let begun = match write {
                true => ends[0].write(place, own.clone(), Some(3), 8),
                false => ends[0].read(place, own.clone(), 8),
            };
            assert_eq!(begun, Ok(()));
            // Some of the bytes are under way, by the credits that there are.
            for _ in 0..3 {
                for (end, line) in ends.iter_mut().zip(lines.iter_mut()) {
                    end.pump(line);
                }
                for line in &mut lines {
                    if let Some((to, from, message)) = line.queue.pop_front() {
                        line.packets -= message.len().div_ceil(PACKET);
                        ends[to as usize - 1].arrived(from, &message);
                    }
                }
            }
            let before = memory.all().clone();
            let failure = if dies {
                ends[0].lost(2);
                ends[1].lost(1);
                settle(&mut ends, &mut lines);
                Failure::Peer
            } else {
                regions.lock().unwrap().clear();
                ends[1].close_region(5);
                settle(&mut ends, &mut lines);
                Failure::Refused
            };
            let done = ends[0].take().unwrap();
            assert_eq!((done.op, done.failure), (8, Some(failure)));
            assert!(ends[0].take().is_none() && ends[1].reached().is_none());
            assert_eq!(*memory.all(), before);
            assert!(ends[0].is_drained() && ends[1].is_drained());
        }
    }
}

#[test]
fn cl_9_nothing_but_the_peer_that_has_its_bytes_ends_a_write() {
    let regions = Regions::default();
    let memory = Bytes::new(vec![0; 50_000]);
    let region = Region {
        memory: memory.clone(),
        reads: false,
        writes: true,
    };
    regions.lock().unwrap().insert(0, region);
    let (mut ends, mut lines) = pair_with(regions);
    let place = Place {
        at: 2,
        key: 0,
        offset: 0,
    };
    let own = Bytes::new(content(1, 50_000));
    assert_eq!(ends[0].write(place, own, None, 4), Ok(()));
    // Clearances for nothing, and ends from somebody else, of every number that it can have.
    for number in 0..4 {
        for (kind, from) in [(Kind::Clear, 2), (Kind::Ack, 3)] {
            let mut bytes = Header::new(kind, number, 0, 0, 0).encode();
            Header::stamp(&mut bytes, 0, 1, None);
            ends[0].arrived(from, &bytes);
        }
    }
    assert!(ends[0].take().is_none());
    settle(&mut ends, &mut lines);
    let done = ends[0].take().unwrap();
    assert_eq!((done.op, done.failure, done.length), (4, None, 50_000));
    assert_eq!(*memory.all(), content(1, 50_000));
}

/// A process that has the address of an earlier one gets nothing of that one's, and finds all credits.
#[test]
fn cl_9_another_process_at_an_address_begins_from_nothing() {
    let (mut ends, mut lines) = pair();
    let plain = Label::default();
    let want = |from| Want { from, tag: None };
    let short = |number: usize| Bytes::new(content(number, 100));
    let long = || Bytes::new(vec![7; 3 * EAGER]);
    // What the first process leaves behind: credits that are under way, long messages of both sides, a message that nobody wanted.
    for number in 0..5 {
        ends[0].send(2, plain, short(number), None, false).unwrap();
        ends[1].send(1, plain, short(number), None, false).unwrap();
    }
    let tagged = Label {
        tag: Some(1),
        data: None,
    };
    ends[0].send(2, tagged, long(), Some(50), false).unwrap();
    ends[1].send(1, tagged, long(), Some(51), false).unwrap();
    settle(&mut ends, &mut lines);
    assert!(ends[1].take().is_none());

    // A message that is for the first one, but arrives at the second.
    ends[1].send(1, plain, short(90), None, false).unwrap();
    ends[1].pump(&mut lines[1]);
    ends[0] = End::new((1, 2), CREDITS, PACKET, Regions::default());
    let wanted = Bytes::new(vec![0; 100]);
    ends[1].receive(want(Some(1)), Bytes::new(vec![0; 200]), 60);
    for _ in 1..5 {
        ends[1].receive(want(None), Bytes::new(vec![0; 200]), 61);
    }
    let first: Vec<_> = std::iter::from_fn(|| ends[1].take()).collect();
    assert_eq!(first.len(), 5);
    assert!(first.iter().all(|done| done.failure.is_none()));
    let posted = 70;
    ends[1].receive(want(Some(1)), wanted.clone(), posted);
    ends[0].receive(want(None), Bytes::new(vec![0; 100]), 80);
    settle(&mut ends, &mut lines);
    assert!(
        ends[0].take().is_none(),
        "a message for the process before has come"
    );

    let new = Bytes::new(content(200, 100));
    ends[0].send(2, plain, new, None, false).unwrap();
    settle(&mut ends, &mut lines);
    let told: Vec<_> = std::iter::from_fn(|| ends[1].take())
        .map(|done| (done.op, done.failure))
        .collect();
    assert_eq!(told, [(51, Some(Failure::Peer)), (posted, None)]);
    assert_eq!(*wanted.all(), content(200, 100));
    // The long message of the process before is not there to be received.
    let any = Want {
        from: None,
        tag: Some((0, u64::MAX)),
    };
    ends[1].peek(any, 52, None, false);
    let peeked = ends[1].take().expect("an answer");
    assert_eq!(peeked.failure, Some(Failure::NoMessage));

    // All credits, both ways.
    for number in 0..100 {
        ends[1].send(1, plain, short(number), None, false).unwrap();
        ends[0].send(2, plain, short(number), None, false).unwrap();
        ends[0].receive(want(Some(2)), Bytes::new(vec![0; 100]), 90);
        ends[1].receive(want(Some(1)), Bytes::new(vec![0; 100]), 91);
    }
    settle(&mut ends, &mut lines);
    for end in &mut ends {
        assert_eq!(std::iter::from_fn(|| end.take()).count(), 100);
        assert!(end.is_drained());
    }
}

#[test]
fn cl_9_members_of_groups_hear_each_other_in_order_and_of_peers_that_are_gone() {
    let (mut ends, mut lines) = pair();
    let many: Vec<u64> = (0..1_000).collect();
    ends[0].join(2, 77, false, &[5, 6]);
    ends[0].join(2, 77, false, &[]);
    ends[1].join(1, 78, true, &many);
    // A length that is not that of its words.
    let mut bytes = Header::new(Kind::Join, 0, 77, 0, 8).encode().to_vec();
    Header::stamp(&mut bytes, 0, 1, None);
    bytes.extend([0; 7]);
    ends[1].arrived(1, &bytes);
    settle(&mut ends, &mut lines);
    let said = |from, key, first, words: &[u64]| {
        Some(Notice::Member {
            from,
            key,
            first,
            words: words.to_vec(),
        })
    };
    assert_eq!(ends[1].notice(), said(1, 77, false, &[5, 6]));
    assert_eq!(ends[1].notice(), said(1, 77, false, &[]));
    assert_eq!(ends[1].notice(), None);
    assert_eq!(ends[0].notice(), said(2, 78, true, &many));
    assert_eq!(ends[0].notice(), None);
    // Who speaks to a peer that is gone is told at once.
    ends[0].lost(2);
    assert_eq!(ends[0].notice(), Some(Notice::Lost(2)));
    ends[0].join(2, 77, false, &[7]);
    assert_eq!(ends[0].notice(), Some(Notice::Lost(2)));
    settle(&mut ends, &mut lines);
    assert_eq!(ends[1].notice(), None);
}
