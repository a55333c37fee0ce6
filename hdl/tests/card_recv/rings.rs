//! Doorbells and reading ahead.

use crate::host::{CALM, Knobs};
use crate::model::Verdict;
use crate::ports::small;
use crate::world::World;
use crate::{ready, receives, request};

fn world(logs: &[u8], knobs: Knobs) -> World {
    let mut world = World::new(&small().1, 8, 16, knobs, 2);
    for (qpn, &log) in logs.iter().enumerate() {
        let mut qp = ready(log);
        qp.base += (qpn as u64) << 24;
        world.create(qpn, &qp);
    }
    world.steps(20);
    world
}

/// What is posted was read, or has no room.
pub fn assert_read_ahead(world: &World) {
    for (qpn, qp) in world.qps.iter().enumerate() {
        assert_eq!(qp.burst(), 0, "queue pair {qpn} waits for a turn: {qp:?}");
    }
}

#[test]
fn requests_are_read_ahead_as_far_as_there_is_room_for_whole_bursts() {
    let mut world = world(&[0, 1, 2, 3, 4, 5, 6, 15], CALM);
    for qpn in 0..8 {
        let count = 40.min(world.qps[qpn].length());
        world.post(qpn, &receives(0, count.into(), 64));
    }
    world.steps(600);
    assert_read_ahead(&world);
    let asked: Vec<u16> = world.qps.iter().map(|qp| qp.asked).collect();
    assert_eq!(asked, [1, 2, 4, 8, 16, 16, 16, 16]);
    assert_eq!(world.counts.reads, 1 + 1 + 1 + 2 + 4 * 4);
}

#[test]
fn one_request_at_a_time_is_found_however_the_doorbells_come() {
    for gap in 0..40 {
        let mut world = world(&[5; 3], CALM);
        for wr_id in 0..14 {
            for qpn in 0..3 {
                world.post(qpn, &receives(wr_id, 1, 64));
            }
            world.steps(gap + 3);
        }
        world.steps(800);
        assert_read_ahead(&world);
        assert!(world.qps[..3].iter().all(|qp| qp.asked == 14));
    }
}

#[test]
fn a_burst_has_room_whenever_a_doorbell_makes_it_longer() {
    for taken in 1..=3 {
        for gap in 0..40 {
            let mut world = world(&[6], CALM);
            world.post(0, &receives(0, 16, 64));
            world.steps(300);
            for psn in 0..taken {
                world.requests.push_back(request(0, psn, 8));
            }
            world.until(500, "the messages", World::quiet);
            world.steps(50);
            // What is asked for first has room; with what comes while its turn is under way it has none.
            world.post(0, &receives(16, u64::from(taken), 64));
            world.steps(gap);
            world.post(0, &receives(19, 4, 64));
            world.steps(300);
            assert_read_ahead(&world);
            for psn in 0..20 {
                world.requests.push_back(request(0, psn, 8));
            }
            world.until(2_000, "the messages", World::quiet);
            assert_eq!(world.qps[0].taken, 20 + taken as u16, "gap {gap}");
        }
    }
}

#[test]
fn a_doorbell_may_fill_the_ring_but_not_more_and_never_goes_back() {
    let mut world = world(&[0, 1, 2, 3, 4, 5, 6, 15], CALM);
    for qpn in 0..8 {
        let length = world.qps[qpn].length();
        for index in [length + 1, length + 0x4000, 0x8001, 0xffff] {
            world.ring_badly(qpn, index);
        }
        world.post(qpn, &receives(0, length.into(), 64));
        for index in [length - 1, 0, length + 1] {
            world.ring_badly(qpn, index);
        }
        // The same index once more says nothing new.
        world.doorbells.push_back((qpn, 1, length));
        world.steps(50);
        assert_eq!(world.counts.bad_doorbells, 0, "queue pair {qpn}");
    }
    world.steps(600);
    assert_read_ahead(&world);
}

#[test]
fn a_request_that_is_taken_makes_room_for_a_doorbell() {
    let mut world = world(&[2], CALM);
    world.post(0, &receives(0, 4, 64));
    world.steps(300);
    for turn in 0..20 {
        let next = world.qps[0].posted.wrapping_add(1);
        world.ring_badly(0, next);
        world.steps(20);
        world.requests.push_back(request(0, turn, 8));
        world.until(500, "the message", World::quiet);
        world.post(0, &receives(4 + u64::from(turn), 1, 64));
        world.steps(200);
        assert_eq!(world.counts.bad_doorbells, 0);
    }
    assert_eq!(world.counts.accepted, 20);
}

#[test]
fn doorbells_of_others_and_of_no_queue_pair_change_nothing() {
    let mut world = world(&[4], CALM);
    for kind in [0, 2, 3] {
        world.doorbells.push_back((0, kind, 3));
    }
    for qpn in 1..8 {
        world.ring_badly(qpn, 1);
    }
    world.steps(300);
    assert_eq!((world.counts.bad_doorbells, world.counts.reads), (0, 0));
    // An Error leaves the ring, but it is no longer read.
    world.modify(0, |qp| qp.state = 4);
    world.steps(5);
    world.post(0, &receives(0, 2, 64));
    world.steps(300);
    assert_eq!((world.counts.bad_doorbells, world.counts.reads), (0, 0));
}

#[test]
fn doorbells_come_every_clock_also_of_one_queue_pair_and_beside_configuration() {
    let mut world = world(&[15, 15, 15], CALM);
    for turn in 0..60 {
        for qpn in [0, 0, 1, 0, 2, 2, 2, 1] {
            world.post(qpn, &receives(turn, 1, 64));
            if turn % 3 == 0 {
                let back = world.qps[qpn].posted.wrapping_sub(1);
                world.ring_badly(qpn, back);
            }
        }
        if turn % 20 == 5 {
            // Clearing takes clocks of the same pipeline.
            let mut other = ready(3);
            other.state = 1;
            world.create(4 + turn as usize / 20, &other);
        }
    }
    world.until(2_000, "the doorbells", |w| w.doorbells.is_empty());
    world.steps(800);
    assert_eq!(world.counts.bad_doorbells, 0);
    assert_read_ahead(&world);
    for qpn in 0..3 {
        // As many as were posted can be taken, and not one more.
        let posted = world.qps[qpn].posted;
        for psn in 0..=posted {
            world.requests.push_back(request(qpn as u32, psn.into(), 8));
        }
        world.until(200_000, "the messages", |w| w.requests.len() < 2);
        world.steps(400);
    }
    let taken: Vec<u16> = world.qps[..3].iter().map(|qp| qp.taken).collect();
    let posted: Vec<u16> = world.qps[..3].iter().map(|qp| qp.posted).collect();
    assert_eq!(taken, posted);
}

/// The words of doorbells on their way are newer than the table.
#[test]
fn a_doorbell_that_goes_back_is_refused_at_any_distance_after_the_newer_one() {
    for distance in 1..=6 {
        let mut world = world(&[15; 6], CALM);
        for turn in 0..40 {
            for qpn in 0..distance {
                // Steps that change many bits of the index.
                world.post(qpn, &receives(turn, 500, 64));
            }
            for qpn in 0..distance {
                let back = world.qps[qpn].posted.wrapping_sub(1);
                world.ring_badly(qpn, back);
            }
            world.until(2_000, "the doorbells", |w| w.doorbells.is_empty());
            world.steps(20);
        }
        assert_eq!(world.counts.bad_doorbells, 0, "distance {distance}");
        world.steps(400);
        assert_read_ahead(&world);
    }
}

#[test]
fn a_doorbell_that_finds_no_place_beside_configuration_is_counted() {
    let mut world = world(&[4], CALM);
    world.post(0, &receives(0, 8, 64));
    // Nothing new, again and again, while queue pair 7 is cleared in every clock.
    world.doorbells.extend([(0, 1, 8); 60]);
    world.configs.extend([(7, 6, 0); 40]);
    world.counts.bad_doorbells = 100;
    world.steps(100);
    let lost = 100 - world.counts.bad_doorbells;
    // 16 wait, and a full queue takes none in the clock in which it lets one go.
    assert_eq!(lost, 40 - 16 + 2);
    world.counts.bad_doorbells = 0;
    world.post(0, &receives(8, 8, 64));
    world.steps(400);
    assert_eq!(world.qps[0].asked, 16);
}

#[test]
fn indices_wrap_over_65535() {
    let mut world = world(&[4, 15], CALM);
    world.knobs.read_latency = (20, 20);
    let mut wr_id = 0;
    while world.counts.accepted < 2 * 66_000 {
        for qpn in 0..2 {
            let free = world.qps[qpn].free().min(16);
            if free >= 8 {
                world.post(qpn, &receives(wr_id, free.into(), 64));
                wr_id += u64::from(free);
            }
            let ready = world.qps[qpn].cached.len() as u32;
            for psn in 0..ready.min(8) {
                world.requests.push_back(request(qpn as u32, psn, 0));
            }
        }
        world.until(2_000, "the messages", |w| w.requests.is_empty());
        world.events.clear();
        world.takes.clear();
        world.steps(40);
    }
    assert_eq!(world.counts.bad_doorbells, 0);
    assert_eq!(world.counts.acks, world.counts.verdicts.iter().sum::<u64>());
}

#[test]
fn a_packet_that_finds_nothing_read_is_answered_rnr_though_requests_are_posted() {
    let mut world = world(&[4], CALM);
    world.post(0, &receives(0, 4, 64));
    world.requests.push_back(request(0, 1, 8));
    world.until(400, "the refusal", World::quiet);
    world.steps(250);
    assert_eq!(world.counts.verdicts[Verdict::Rnr as usize], 1);
    world.requests.push_back(request(0, 2, 8));
    world.until(400, "the message", World::quiet);
    assert_eq!(world.counts.accepted, 1);
}

#[test]
fn a_queue_pair_without_requests_keeps_nobody_waiting() {
    let mut world = world(&[4, 4], CALM);
    world.post(1, &receives(0, 16, 64));
    world.steps(400);
    // Queue pair 0 has nothing: 10 of its packets for one of the other.
    for psn in 0..16 {
        world
            .requests
            .extend((0..10).map(|at| request(0, 100 * psn + at, 8)));
        world.requests.push_back(request(1, psn, 8));
    }
    let clocks = world.until(10_000, "the requests", World::quiet);
    assert_eq!(world.counts.accepted, 16);
    assert_eq!(world.counts.verdicts[Verdict::Rnr as usize], 160);
    assert!(clocks < 160 * 8 + 16 * 16 + 100, "{clocks} clocks");
}
