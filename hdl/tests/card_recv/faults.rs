//! Rings that cannot be read, holding, destroying and making anew.

use crate::host::CALM;
use crate::model::{Qp, Verdict};
use crate::ports::small;
use crate::rings::assert_read_ahead;
use crate::world::World;
use crate::{ready, receives, request};

fn world() -> World {
    let mut world = World::new(&small().1, 8, 16, CALM, 3);
    for qpn in 0..4 {
        world.create(qpn, &ready(4));
    }
    world
}

#[test]
fn a_ring_that_cannot_be_read_ends_in_one_completion_and_no_acknowledgement() {
    let mut world = world();
    world.post(1, &receives(0, 8, 64));
    world.steps(250);
    world.knobs.read_fails = 100;
    world.post(0, &receives(0, 16, 64));
    world.post(1, &receives(8, 4, 64));
    world.until(600, "the failures", |w| w.counts.local_queue == 2);
    world.until(600, "the landings", World::quiet);
    // Four reads of queue pair 0 failed, and all count as one.
    assert_eq!((world.counts.fatals, world.counts.local_queue), (2, 2));
    assert_eq!(world.counts.acks, 0);
    world.steps(50);
    world.knobs.read_fails = 0;
    world.post(2, &receives(0, 4, 64));
    world.steps(250);
    world
        .requests
        .extend([0, 1, 2].map(|qpn| request(qpn, qpn, 8)));
    world.until(1_000, "the requests", World::quiet);
    assert_eq!(
        world.counts.verdicts[Verdict::BadQp as usize],
        2,
        "state Error"
    );
    assert_eq!(world.counts.accepted, 1);
}

#[test]
fn without_a_slot_a_ring_that_cannot_be_read_ends_without_a_completion() {
    let mut world = world();
    world.qps[0].slots = 0;
    world.knobs.read_fails = 100;
    world.post(0, &receives(0, 4, 64));
    world.until(600, "the failure", |w| w.counts.fatals == 1);
    world.until(100, "the answer of card_cq", World::nothing_owed);
    assert_eq!(world.counts.local_queue, 0);
    world.steps(20);
    assert!(world.dut.is_set(world.dut.p.m_idle), "nobody waits for it");
}

#[test]
fn a_queue_pair_that_failed_works_again_when_it_is_made_anew() {
    let mut world = world();
    world.knobs.read_fails = 100;
    world.post(0, &receives(0, 4, 64));
    world.until(600, "the failure", |w| w.counts.local_queue == 1);
    world.steps(100);
    world.knobs.read_fails = 0;
    replace(&mut world, 0, &ready(3));
    world.post(0, &receives(0, 8, 64));
    world.steps(250);
    world.requests.extend((0..8).map(|psn| request(0, psn, 8)));
    world.until(1_000, "the requests", World::quiet);
    assert_eq!(world.counts.accepted, 8);
}

/// Destroys a queue pair and makes another in its place, as DESTROY_QP and CREATE_QP do.
pub fn replace(world: &mut World, qpn: usize, qp: &Qp) {
    world.hold = true;
    world.until(50_000, "idle", |w| w.hold && w.dut.is_set(w.dut.p.m_idle));
    // A register of the block: it says so one clock later for what began before.
    world.steps(2);
    world.modify(qpn, |qp| qp.state = 0);
    world.steps(5);
    world.hold = false;
    world.steps(1);
    world.create(qpn, qp);
    world.steps(5);
}

#[test]
fn hold_waits_for_landings_and_lets_nothing_new_begin() {
    let mut world = world();
    world.post(1, &receives(0, 8, 64));
    world.steps(250);
    world.knobs.land_latency = (300, 300);
    world.requests.extend((0..6).map(|psn| request(1, psn, 64)));
    world.until(200, "two messages", |w| w.counts.accepted == 2);
    world.hold = true;
    world.post(2, &receives(0, 8, 64));
    world.steps(100);
    assert!(
        !world.dut.is_set(world.dut.p.m_idle),
        "messages are landing"
    );
    let reads = world.counts.reads;
    world.until(1_000, "idle", |w| w.dut.is_set(w.dut.p.m_idle));
    assert!(world.nothing_owed());
    // At most the one that was being checked.
    assert!(world.counts.accepted <= 3);
    world.steps(500);
    assert_eq!(world.counts.reads, reads, "no read is begun");
    world.hold = false;
    world.until(2_000, "the rest", World::quiet);
    assert_eq!(world.counts.accepted, 6);
    world.steps(300);
    assert_read_ahead(&world);
}

/// hold against everything that can begin, clock by clock: idle is right in the very clock in which hold rises.
#[test]
fn idle_is_right_whenever_hold_comes() {
    for when in 0..260 {
        let mut world = world();
        world.post(1, &receives(0, 2, 64));
        world.requests.push_back(request(1, 1, 8));
        world.steps(when);
        world.hold = true;
        // The world fails if anything begins after idle was seen while held.
        world.steps(400);
        assert!(world.dut.is_set(world.dut.p.m_idle));
        world.hold = false;
        world.requests.push_back(request(1, 2, 8));
        world.until(1_000, "the requests", World::quiet);
        world.steps(300);
        assert_read_ahead(&world);
    }
}

#[test]
fn a_new_queue_pair_starts_from_0_whatever_its_number_did_before() {
    let mut world = world();
    for round in 0..12u64 {
        let log = (round % 6) as u8;
        let qpn = round as usize % 2;
        replace(&mut world, qpn, &ready(log));
        assert_eq!(world.qps[qpn].asked, 0);
        let length = u64::from(world.qps[qpn].length());
        world.post(qpn, &receives(100 * round, length.min(3 + round), 64));
        world.steps(250);
        for psn in 0..=round as u32 % 4 {
            world.requests.push_back(request(qpn as u32, psn, 16));
        }
        world.until(2_000, "the requests", World::quiet);
    }
    world.steps(300);
    assert_read_ahead(&world);
    assert!(world.counts.accepted > 12);
    assert_eq!(world.counts.bad_doorbells, 0);
}

#[test]
fn reset_at_any_moment_leaves_nothing_behind() {
    let mut world = world();
    for when in 0..60u64 {
        world.knobs.read_fails = 50 * (when % 2);
        for qpn in 0..3 {
            world.post(qpn, &receives(10 * when, 12, 64));
        }
        world.steps(170);
        world.knobs.ak_ready = 30;
        let requests = (0..9).map(|psn| request(psn % 4, psn, 40));
        world.requests.extend(requests);
        world.steps(3 * when);
        let mut dut = world.dut;
        dut.reset(1 + when % 3);
        world = World::around(dut, 8, 16, CALM, when);
        // Nobody is there until it is made, and then it starts from 0.
        world
            .requests
            .extend((0..4).map(|qpn| request(qpn, qpn, 8)));
        world.until(200, "the refusals", World::quiet);
        assert_eq!(world.counts.verdicts[Verdict::BadQp as usize], 4);
        for qpn in 0..4 {
            world.create(qpn, &ready(4));
        }
        world.steps(20);
    }
}
