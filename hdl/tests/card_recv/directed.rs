//! Verdicts, and what follows from each, one at a time.

use tributary_protocol::xud::Window;

use crate::host::{CALM, Knobs};
use crate::model::{Request, Verdict, region};
use crate::order::{Event, check};
use crate::ports::{Fault, faulty, small};
use crate::world::World;
use crate::{KEY, ready, receive, receives, request};

/// A world with queue pair 1 and some receive requests read ahead.
fn world(count: u64) -> World {
    let mut world = World::new(&small().1, 8, 16, CALM, 1);
    world.create(1, &ready(4));
    if count > 0 {
        world.post(1, &receives(0, count, 256));
    }
    world.steps(250);
    world
}

fn run(world: &mut World, requests: impl IntoIterator<Item = Request>) {
    world.requests.extend(requests);
    world.until(20_000, "the requests", World::quiet);
}

#[test]
fn a_message_is_written_completed_and_acknowledged() {
    let mut world = world(4);
    run(
        &mut world,
        [
            request(1, 100, 0),
            request(1, 101, 37),
            request(1, 102, 256),
        ],
    );
    assert_eq!(world.counts.accepted, 3);
    assert_eq!(world.counts.acks, 3);
    assert_eq!(world.counts.compared, 3);
    assert_eq!(world.writes.words, 5 + 32);
    check(&world.events).expect("in order");
}

#[test]
fn xud_04_the_acknowledgement_waits_until_the_completion_has_landed() {
    let mut world = world(4);
    world.knobs.land_latency = (500, 500);
    world.requests.push_back(request(1, 1, 64));
    world.until(600, "the landing", |w| w.events.contains(&Event::Landed));
    assert_eq!(world.counts.acks, 0, "nothing before the landing");
    let latency = world.until(20, "the acknowledgement", |w| w.counts.acks == 1);
    assert!(latency <= 5, "{latency} clocks");
    check(&world.events).expect("in order");
}

/// The mutations of the specification and of the contract, as a faulty block would show them.
#[test]
fn xud_04_acknowledge_before_completion_is_caught() {
    let mut world = world(16);
    run(&mut world, (0..8).map(|psn| request(1, psn, 64)));
    let events = &world.events;
    check(events).expect("the block itself is right");
    let acks = events
        .iter()
        .filter(|e| matches!(e, Event::Acknowledged { .. }));
    assert_eq!(acks.count(), 8);
    // A block that acknowledges on acceptance.
    let mut mutant = vec![];
    for &event in events {
        match event {
            Event::Taken { n, .. } => mutant.extend([event, Event::Acknowledged { n }]),
            Event::Acknowledged { .. } => {}
            _ => mutant.push(event),
        }
    }
    let error = check(&mutant).expect_err("acknowledged on acceptance");
    assert!(error.contains("before its completion landed"), "{error}");
    // One that lets only the last go one landing too early.
    let landing = events.iter().rposition(|&e| e == Event::Landed);
    let mut mutant = events.clone();
    let last = mutant.pop().expect("events");
    assert_eq!(last, Event::Acknowledged { n: 7 });
    mutant.insert(landing.expect("landings"), last);
    let error = check(&mutant).expect_err("one landing too early");
    assert!(error.contains("before its completion landed"), "{error}");
    // A completion that is offered before its payload was asked for.
    let asked = events
        .iter()
        .position(|&e| e == Event::Asked)
        .expect("a payload");
    let mut mutant = events.clone();
    mutant.remove(asked);
    mutant.push(Event::Asked);
    check(&mutant).expect_err("a completion in front of its payload");
}

/// The block itself with that mutation, in the surroundings that all other tests use.
#[test]
fn xud_04_a_block_that_acknowledges_before_the_completion_is_caught() {
    let fault = Fault {
        module: "card_recv_acks_d16",
        changes: &[
            ("if (s_landed &", "if (wait_push &"),
            ("& !s_landed)", "& !wait_push)"),
        ],
    };
    let library = faulty(&fault);
    let run = std::panic::AssertUnwindSafe(|| {
        let mut world = World::new(&library, 8, 16, CALM, 1);
        world.create(1, &ready(4));
        world.post(1, &receives(0, 4, 256));
        world.steps(250);
        world.knobs.land_latency = (100, 100);
        world.requests.push_back(request(1, 1, 64));
        world.steps(400);
    });
    let panic = std::panic::catch_unwind(run).expect_err("the world notices");
    let text = panic.downcast_ref::<&str>().map(ToString::to_string);
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
    let text = text.unwrap_or_default();
    assert!(text.contains("XUD-4: acknowledged before"), "{text}");
}

#[test]
fn a_refusal_overtakes_messages_that_have_not_landed() {
    let mut world = world(4);
    world.knobs.land_latency = (400, 400);
    let mut bad = request(1, 2, 8);
    bad.unknown = true;
    world.requests.extend([request(1, 1, 8), bad]);
    world.until(100, "the refusal", |w| w.counts.acks == 1);
    assert_eq!(
        world.events.iter().filter(|e| **e == Event::Landed).count(),
        0
    );
    world.until(1_000, "the rest", World::quiet);
    assert_eq!(world.counts.acks, 2);
}

/// Every set of things that can be wrong with a request at once; the first in the order decides.
#[test]
fn xud_14_the_first_check_that_fails_decides_and_only_that_one_counts() {
    let mut world = world(0);
    let mut wr_id = 0;
    for faults in 0..64u32 {
        let wrong = |bit: u32| faults >> bit & 1 == 1;
        // One receive request at a time, or none: what is left of the round before is used up first.
        let key = if wrong(4) { 3 } else { 2 };
        if !world.qps[1].cached.is_empty() {
            let mut last = request(1, 0, 0);
            last.vf = 0;
            world.qps[1].slots = u32::MAX;
            run(&mut world, [last]);
        }
        wr_id += 1;
        let mut one = receive(wr_id, 200);
        one.lkey = key;
        one.address = region(key);
        world.post(1, &[one]);
        world.steps(250);
        world.qps[1].slots = u32::from(!wrong(5));
        let before = world.counts.clone();
        let mut rq = request(1, faults, if wrong(2) { 1025 } else { 201 });
        if !wrong(3) && !wrong(2) {
            rq.payload.truncate(200);
        }
        if wrong(0) {
            rq.q_key = KEY ^ 1 << 31;
        }
        rq.unknown = wrong(1);
        run(&mut world, [rq]);
        let want = match faults {
            _ if wrong(0) => Verdict::BadKey,
            _ if wrong(1) => Verdict::Opcode,
            _ if wrong(2) || wrong(3) => Verdict::Length,
            _ => Verdict::Take,
        };
        let change = |v: Verdict| world.counts.verdicts[v as usize] - before.verdicts[v as usize];
        assert_eq!(change(want), 1, "faults {faults:06b}");
        if want == Verdict::Take {
            let counts = &world.counts;
            assert_eq!(
                counts.refused_slot - before.refused_slot,
                u64::from(wrong(5))
            );
            let access = wrong(4) && !wrong(5);
            assert_eq!(
                counts.refused_access - before.refused_access,
                u64::from(access)
            );
        }
    }
}

#[test]
fn xud_14_a_wrong_q_key_is_never_answered() {
    let mut world = world(8);
    for bit in 0..32 {
        let mut rq = request(1, bit, 8);
        rq.q_key ^= 1 << bit;
        run(&mut world, [rq]);
    }
    assert_eq!(world.counts.verdicts[Verdict::BadKey as usize], 32);
    assert_eq!(world.counts.acks, 0);
    assert_eq!(world.qps[1].taken, 0, "and takes nothing");
}

#[test]
fn xud_14_a_queue_pair_that_is_not_there_or_not_ready_is_refused() {
    let mut world = world(2);
    for qpn in [0, 2, 7, 8, 9, 0x01_0001, 0x80_0001, 0xff_ffff] {
        run(&mut world, [request(qpn, qpn, 8)]);
    }
    assert_eq!(world.counts.verdicts[Verdict::BadQp as usize], 8);
    for state in [0, 1, 4, 2, 3] {
        world.modify(1, |qp| qp.state = state);
        world.steps(5);
        run(&mut world, [request(1, 1, 8)]);
    }
    assert_eq!(world.counts.verdicts[Verdict::BadQp as usize], 11);
    assert_eq!(world.counts.accepted, 2);
}

#[test]
fn xud_14_a_message_over_the_mtu_is_refused_and_one_as_long_is_not() {
    let mut world = world(0);
    world.post(1, &receives(0, 16, u32::MAX));
    world.steps(250);
    for mtu in [256, 1000, 4096] {
        world.mtu = mtu;
        let sizes = [mtu - 1, mtu, mtu + 1, 8191];
        run(
            &mut world,
            sizes.map(|len| request(1, len.into(), len.into())),
        );
    }
    assert_eq!(world.counts.verdicts[Verdict::Length as usize], 6);
    assert_eq!(world.counts.accepted, 6);
}

#[test]
fn xud_06_an_epoch_that_was_not_handed_out_is_refused_also_over_the_wrap() {
    for (oldest, newest) in [(5u16, 5u16), (65_530, 3), (0, 40), (65_535, 65_535)] {
        let mut world = world(0);
        world.modify(1, |qp| (qp.oldest, qp.newest) = (oldest, newest));
        world.post(1, &receives(0, 16, 256));
        world.steps(250);
        let span = newest.wrapping_sub(oldest);
        for (epoch, good) in [
            (oldest, true),
            (newest, true),
            (oldest.wrapping_add(span / 2), true),
            (oldest.wrapping_sub(1), false),
            (newest.wrapping_add(1), false),
            (oldest.wrapping_add(0x8000), false),
        ] {
            let before = world.counts.accepted;
            let mut rq = request(1, epoch.into(), 8);
            rq.window.epoch = epoch;
            run(&mut world, [rq.clone()]);
            assert_eq!(world.counts.accepted - before, u64::from(good), "{epoch}");
            // Control messages and version 0 know no epochs.
            rq.vf = 0x11;
            run(&mut world, [rq.clone()]);
            rq.vf = 0;
            rq.window = Window {
                epoch: 0,
                ..rq.window
            };
            run(&mut world, [rq]);
            assert_eq!(world.counts.accepted - before, 2 + u64::from(good));
        }
        assert_eq!(world.counts.verdicts[Verdict::Epoch as usize], 3);
    }
}

#[test]
fn xud_06_a_new_epoch_counts_while_requests_come() {
    let mut world = world(16);
    for epoch in 5..12 {
        let mut rq = request(1, epoch.into(), 8);
        rq.window.epoch = epoch;
        world.modify(1, |qp| qp.newest = epoch);
        world.steps(2);
        world.requests.extend([rq.clone(), rq]);
    }
    world.until(2_000, "the requests", World::quiet);
    assert_eq!(world.counts.accepted, 14);
}

#[test]
fn a_receive_request_that_is_too_short_stays_for_the_next_message() {
    let mut world = world(1);
    run(&mut world, [request(1, 1, 257), request(1, 2, 256)]);
    assert_eq!(world.counts.verdicts[Verdict::Length as usize], 1);
    assert_eq!(world.counts.accepted, 1);
}

#[test]
fn lengths_over_a_packet_are_long_enough() {
    let mut world = world(0);
    let lengths = [4096, 4097, 8191, 8192, 0x1_0000, 0x8000_0000, u32::MAX];
    for (at, length) in lengths.into_iter().enumerate() {
        let mut long = receive(at as u64, length);
        long.address = region(2);
        world.post(1, &[long]);
    }
    world.mtu = 4096;
    world.steps(300);
    run(&mut world, (0..7).map(|psn| request(1, psn, 4096)));
    assert_eq!(world.counts.accepted, 7);
}

#[test]
fn xud_04_without_a_completion_slot_nothing_is_taken() {
    let mut world = world(4);
    world.qps[1].slots = 0;
    run(&mut world, (0..3).map(|psn| request(1, psn, 8)));
    assert_eq!(world.counts.refused_slot, 3);
    assert_eq!(world.qps[1].taken, 0);
    world.qps[1].slots = 4;
    run(&mut world, (0..5).map(|psn| request(1, psn, 8)));
    assert_eq!(world.counts.accepted, 4);
    assert_eq!(world.counts.verdicts[Verdict::Rnr as usize], 1);
}

#[test]
fn a_region_is_checked_for_the_message_and_not_for_the_whole_request() {
    let mut world = world(0);
    let mut edge = receive(0, 256);
    edge.address = region(2) + (1 << 20) - 100;
    world.post(1, &[edge; 6]);
    world.steps(250);
    // 100 bytes are left in the region; 0 bytes are fine anywhere.
    run(
        &mut world,
        [100, 101, 99, 0].map(|len| request(1, len, len as usize)),
    );
    assert_eq!((world.counts.accepted, world.counts.refused_access), (3, 1));
    world.modify(1, |qp| qp.pd = 9);
    world.steps(3);
    run(&mut world, [1, 0].map(|len| request(1, len, len as usize)));
    assert_eq!((world.counts.accepted, world.counts.refused_access), (4, 2));
    check(&world.events).expect("in order");
}

#[test]
fn requests_are_dropped_as_if_lost_while_too_many_acknowledgements_wait() {
    let mut world = world(0);
    world.knobs = Knobs {
        ak_ready: 0,
        ..CALM
    };
    world.post(1, &receives(0, 8, 64));
    world.steps(250);
    // 8 that land, 8 refusals, and more than there is room for.
    let other = (0..20).map(|psn| request(6, psn, 8));
    world
        .requests
        .extend((0..8).map(|psn| request(1, psn, 8)).chain(other));
    world.until(5_000, "the requests", |w| w.requests.is_empty());
    world.steps(100);
    let overload = Verdict::Overload as usize;
    assert_eq!(world.counts.verdicts[overload], 12);
    assert_eq!(world.counts.accepted, 8);
    world.knobs.ak_ready = 100;
    world.until(1_000, "the acknowledgements", World::quiet);
    assert_eq!(world.counts.acks, 16);
    run(&mut world, [request(6, 1, 8)]);
    assert_eq!(
        (world.counts.acks, world.counts.verdicts[overload]),
        (17, 12)
    );
}
