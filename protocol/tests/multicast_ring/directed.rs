//! One behaviour at a time.

use tributary_protocol::multicast::ring::{
    Card, CardError, Completion, GroupId, Job, Ring, RingConfig, RingError, RingMutations,
    RingOutput, Status,
};

fn config(members: u32, rank: u32) -> RingConfig {
    RingConfig {
        members,
        rank,
        block_bytes: 10,
        credits: 2,
        watchdog: 3,
        origin: 0,
        mutations: RingMutations::default(),
    }
}

fn starts(out: &[(GroupId, RingOutput)], group: GroupId) -> usize {
    let start =
        |o: &&(GroupId, RingOutput)| o.0 == group && matches!(o.1, RingOutput::Start { .. });
    out.iter().filter(start).count()
}

/// Sixteen groups wait for credits of a member that gives none; one more gets its own. Blocks that leave.
fn blocks_beside_waiting_groups(mutations: RingMutations) -> usize {
    let mut card = Card::new(17);
    let mut out = Vec::new();
    let mut groups = Vec::new();
    for _ in 0..17 {
        let ring = RingConfig {
            mutations,
            ..config(2, 0)
        };
        groups.push(card.open(ring).unwrap());
    }
    for &group in &groups {
        card.post(group, Job::Send { length: 50 }, &mut out)
            .unwrap();
    }
    assert!(groups.iter().all(|&g| starts(&out, g) == 0));
    for granted in 1..=5 {
        card.with(groups[16], &mut out, |ring, _| ring.credit(1, granted));
    }
    assert!(groups[..16].iter().all(|&g| starts(&out, g) == 0));
    starts(&out, groups[16])
}

#[test]
fn mb_16_a_group_that_waits_does_not_stop_another() {
    assert_eq!(blocks_beside_waiting_groups(RingMutations::default()), 5);
}

#[test]
fn mb_16_mutation_blocks_others_is_caught() {
    let mutations = RingMutations {
        blocks_others: true,
        ..RingMutations::default()
    };
    assert_eq!(blocks_beside_waiting_groups(mutations), 0);
}

#[test]
fn mb_16_groups_beyond_the_places_and_groups_that_are_not_open_are_refused() {
    let mut card = Card::new(2);
    let first = card.open(config(4, 0)).unwrap();
    card.open(config(4, 1)).unwrap();
    assert_eq!(card.open(config(4, 2)), Err(CardError::Full(2)));
    card.close(first).unwrap();
    assert_eq!(card.close(first), Err(CardError::Closed(0)));
    let mut out = Vec::new();
    let job = Job::Send { length: 1 };
    assert_eq!(card.post(first, job, &mut out), Err(CardError::Closed(0)));
    card.with(first, &mut out, |ring, _| ring.credit(1, 1));
    card.with(GroupId(9), &mut out, |ring, _| ring.credit(1, 1));
    assert_eq!((card.strange(), out.len()), (2, 0));
    assert_eq!(card.open(config(4, 0)), Ok(first));
}

#[test]
fn mb_16_rings_that_cannot_be_and_wrong_doorbells_are_refused() {
    type Change = fn(&mut RingConfig);
    let wrong: [(Change, &str); 5] = [
        (|c| c.block_bytes = 0, "bytes of a block: 0"),
        (|c| c.credits = 1, "credits: 1: at least 2"),
        (|c| c.watchdog = 0, "ticks of the watchdog: 0"),
        (|c| c.members = 0, "0 members"),
        (|c| c.rank = 9, "rank 9 in a group of 4"),
    ];
    for (change, text) in wrong {
        let mut config = config(4, 1);
        change(&mut config);
        let error = Ring::new(config).unwrap_err().to_string();
        assert!(error.contains(text), "{error}");
    }
    let mut out = Vec::new();
    let mut root = Ring::new(config(4, 0)).unwrap();
    let mut other = Ring::new(config(4, 1)).unwrap();
    let receive = Job::Receive { room: 5 };
    let send = Job::Send { length: 5 };
    assert_eq!(root.post(receive, &mut out), Err(RingError::Role(0)));
    assert_eq!(other.post(send, &mut out), Err(RingError::Role(1)));
    let long = Job::Send {
        length: u64::from(u32::MAX),
    };
    let error = root.post(long, &mut out).unwrap_err().to_string();
    assert!(error.contains("up to 10485760"), "{error}");
    root.stop(&mut out);
    assert_eq!(root.post(send, &mut out), Err(RingError::Stopped));
}

/// A receiver of rank 1 in a group of two, with a buffer.
fn receiver(room: u64) -> Ring {
    let mut ring = Ring::new(config(2, 1)).unwrap();
    ring.post(Job::Receive { room }, &mut Vec::new()).unwrap();
    ring
}

#[test]
fn mb_16_what_was_not_granted_is_refused_before_a_byte_is_written() {
    let mut ring = receiver(100);
    let mut out = Vec::new();
    let before = ring.clone();
    for (from, number, length) in [
        (0, (0, 1), 30),
        (0, (1, 0), 30),
        (7, (0, 0), 30),
        (0, (0, 0), u64::MAX),
    ] {
        assert!(!ring.begin(from, number, length, &mut out));
    }
    assert_eq!(ring.counters().unexpected, 4);
    ring.landed(0, (0, 0), &mut out);
    ring.sent(0, &mut out);
    ring.credit(5, 1);
    ring.credit(1, 1);
    ring.failed(9, &mut out);
    assert_eq!((ring.counters().strange, out.len()), (5, 0));
    assert!(ring.begin(0, (0, 0), 30, &mut out));
    // The same transfer again, and another length.
    assert!(!ring.begin(0, (0, 0), 30, &mut out));
    ring.landed(0, (0, 0), &mut out);
    assert!(!ring.begin(0, (0, 1), 31, &mut out));
    assert!(ring.begin(0, (0, 1), 30, &mut out));
    assert!(!before.is_working() && ring.is_working());
}

#[test]
fn mb_16_a_message_longer_than_its_buffer_ends_the_group_with_one_completion() {
    let mut ring = receiver(29);
    let mut out = Vec::new();
    ring.post(Job::Receive { room: 100 }, &mut out).unwrap();
    assert!(!ring.begin(0, (0, 0), 30, &mut out));
    let completion = RingOutput::Completion(Completion {
        message: 0,
        length: 0,
        status: Status::TooLong,
    });
    assert_eq!(out, [completion]);
    ring.failed(0, &mut out);
    ring.stop(&mut out);
    assert_eq!(out.len(), 1);
}

#[test]
fn mb_16_the_watchdog_ends_what_waits_for_what_never_comes() {
    let mut ring = receiver(100);
    let mut out = Vec::new();
    // A buffer may wait as long as it likes.
    for _ in 0..10 {
        ring.tick(&mut out);
    }
    assert!(ring.begin(0, (0, 0), 30, &mut out));
    ring.landed(0, (0, 0), &mut out);
    out.clear();
    for _ in 0..2 {
        ring.tick(&mut out);
    }
    // Progress gives it its time back.
    assert!(ring.begin(0, (0, 1), 30, &mut out));
    ring.landed(0, (0, 1), &mut out);
    out.clear();
    for _ in 0..9 {
        ring.tick(&mut out);
    }
    let completion = RingOutput::Completion(Completion {
        message: 0,
        length: 30,
        status: Status::Watchdog,
    });
    assert_eq!(out, [completion]);
}

#[test]
fn mb_16_blocks_that_land_out_of_order_satisfy_no_wait_too_early() {
    // Rank 1 of 3: blocks 0 and 2 come from the root; it passes on block 0 for the first time after both may have come.
    let mut ring = Ring::new(config(3, 1)).unwrap();
    let mut out = Vec::new();
    ring.post(Job::Receive { room: 100 }, &mut out).unwrap();
    ring.credit(2, 5);
    assert!(ring.begin(0, (0, 0), 50, &mut out));
    assert!(ring.begin(0, (0, 2), 50, &mut out));
    ring.landed(0, (0, 2), &mut out);
    out.clear();
    assert!(!ring.start(&mut out), "{out:?}");
    ring.landed(0, (0, 0), &mut out);
    let sent = |out: &[RingOutput]| {
        out.iter()
            .filter_map(|o| match o {
                RingOutput::Start { descriptor, .. } => Some(descriptor.block),
                _ => None,
            })
            .collect::<Vec<_>>()
    };
    while ring.start(&mut out) {}
    assert_eq!(sent(&out), [0, 2]);
}
