//! What ends a group: failures, the watchdog, the host, wrong entries.

use tributary_protocol::multicast::Algorithm;
use tributary_protocol::multicast::ring::EndCode;

use crate::members::{BLOCK, End, Group, RECEIVES, SENDS, work};
use crate::world::{DATA, TICK_SLOTS, World, node_of};

const STOP: u32 = 2;
const CLOSE: u32 = 3;

fn chain(members: u16, watchdog: u16) -> (World, Group) {
    let mut world = World::new(members);
    let group = Group::new(&mut world, 0, Algorithm::Chain, watchdog);
    (world, group)
}

/// The end of a member, which is its only one.
fn only_end(world: &mut World, group: &Group, rank: u32) -> End {
    let end = group.end(world, rank).expect("an end");
    assert_eq!(group.end(world, rank), None);
    end
}

#[test]
fn mb_16_a_slot_without_a_queue_pair_ends_the_group() {
    let (mut world, mut group) = chain(3, 0);
    let slot = group.slot(1, 0);
    world.hosts[1].bind(0, 0, 0, group.pair(RECEIVES, slot));
    group.post(&mut world, 3 * BLOCK, 0);
    world.settle(100_000);
    let end = only_end(&mut world, &group, 1);
    assert_eq!((end.code, end.slot), (EndCode::Failed as u32, slot.into()));
}

#[test]
fn mb_16_a_queue_pair_that_was_bound_to_another_slot_is_used_for_that_only() {
    let (mut world, mut group) = chain(3, 0);
    let slot = group.slot(1, 2);
    // Its slot is given to another queue pair, and that one away again.
    let spare = group.pair(SENDS, group.slot(1, 0));
    world.hosts[1].bind(SENDS, 0, slot, spare);
    world.hosts[1].bind(SENDS, 1, slot, spare);
    group.post(&mut world, BLOCK, 0);
    world.settle(100_000);
    let end = only_end(&mut world, &group, 1);
    assert_eq!((end.code, end.slot), (EndCode::Failed as u32, slot.into()));
}

#[test]
fn mb_16_a_queue_pair_of_a_peer_that_is_destroyed_ends_the_group() {
    let (mut world, mut group) = chain(2, 3);
    let there = group.pair(RECEIVES, group.slot(1, 0));
    group.post(&mut world, 20 * BLOCK, 0);
    for _ in 0..40 {
        world.step();
    }
    world.hosts[1].destroy(there);
    world.settle(200_000);
    let end = only_end(&mut world, &group, 0);
    assert_eq!(end.code, EndCode::Failed as u32);
    // The other one hears nothing any more, once a block has come.
    let end = only_end(&mut world, &group, 1);
    assert_eq!(end.code, EndCode::Watchdog as u32);
    for host in &mut world.hosts {
        assert!(host.ring_command(CLOSE, 0, 0));
    }
}

#[test]
fn mb_16_the_watchdog_ends_a_group_that_has_begun() {
    let (mut world, mut group) = chain(2, 3);
    world.silent = vec![node_of(1)];
    group.post(&mut world, 2 * BLOCK, 0);
    for _ in 0..2 * TICK_SLOTS - 10 {
        world.step();
    }
    assert!(!world.hosts[0].card.idle());
    assert_eq!(group.end(&mut world, 0), None);
    for _ in 0..2 * TICK_SLOTS + 10 {
        world.step();
    }
    let end = only_end(&mut world, &group, 0);
    assert_eq!(end.code, EndCode::Watchdog as u32);
    // Nothing has begun at the other one, which does not hear that nobody hears it.
    assert_eq!(group.end(&mut world, 1).map(|end| end.code), None);
}

#[test]
fn mb_16_a_group_that_waits_is_stopped_and_closed() {
    let (mut world, group) = chain(2, 0);
    let host = &mut world.hosts[1];
    assert!(!host.ring_command(CLOSE, 0, 0), "it runs");
    assert!(host.ring_command(STOP, 0, 0));
    assert!(!host.ring_command(STOP, 0, 0), "it was stopped");
    assert!(!host.ring_command(CLOSE, 0, 0), "its end is not told");
    host.post_receive(group.ends(), 1);
    host.step();
    let end = only_end(&mut world, &group, 1);
    assert_eq!(end.code, EndCode::Stopped as u32);
    let host = &mut world.hosts[1];
    assert!(host.ring_command(CLOSE, 0, 0));
    assert!(host.open(0, group.ends(), 0, false, 0), "its place is free");
    assert_eq!(host.refused(), 3);
}

#[test]
fn mb_16_stop_lets_blocks_under_way_arrive() {
    let (mut world, mut group) = chain(2, 0);
    group.post(&mut world, 20 * BLOCK, 0);
    for _ in 0..60 {
        world.step();
    }
    assert!(world.hosts[0].ring_command(STOP, 0, 0));
    world.settle(200_000);
    let end = only_end(&mut world, &group, 0);
    assert_eq!(end.code, EndCode::Stopped as u32);
    assert_eq!(group.end(&mut world, 1), None);
}

#[test]
fn mb_16_a_wrong_entry_and_a_ring_that_cannot_be_read_end_the_group() {
    let (mut world, group) = chain(2, 0);
    let ends = group.ends();
    let host = &mut world.hosts[0];
    let posted = host.write_entry(0, &[0; 4]);
    host.post_receive(ends, 1);
    assert!(host.ring_command(1, 0, posted));
    let end = only_end(&mut world, &group, 0);
    assert_eq!((end.code, end.fetched), (EndCode::Entry as u32, 1));
    let host = &mut world.hosts[0];
    assert_eq!(host.refused(), 1, "the entry");
    assert!(host.ring_command(CLOSE, 0, 0));
    host.set(&tributary_protocol::card::regs::RING_BASE_HIGH, 5);
    assert!(host.open(0, ends, 0, true, 0));
    host.post_receive(ends, 2);
    assert!(host.ring_command(1, 0, 1));
    let end = only_end(&mut world, &group, 0);
    assert_eq!(end.code, EndCode::Read as u32);
}

#[test]
fn mb_16_events_that_no_group_can_take_are_counted() {
    let mut world = World::new(2);
    for host in &mut world.hosts {
        host.connect(1);
        host.connect(2);
    }
    let to = |qpn| tributary_protocol::xud::Peer { node: 0, qpn };
    let host = &mut world.hosts[0];
    host.bind(SENDS, 2, 5, 1);
    host.bind(RECEIVES, 2, 6, 2);
    // Two grants of one block, and a block that was not granted: for a group that runs, then for one that does not.
    let mut refused = 0;
    for runs in [true, false] {
        let host = &mut world.hosts[0];
        if runs {
            assert!(host.open(2, 0, 0, false, 0));
        } else {
            assert!(host.ring_command(STOP, 2, 0));
            host.connect(0);
            host.post_receive(0, 0);
            host.step();
            assert!(host.ring_command(CLOSE, 2, 0));
        }
        for (pair, immediate, bytes) in [(1, 1, 0), (1, 1, 0), (2, 0, 9)] {
            world.hosts[0].post_receive(pair, 0);
            world.hosts[1].post(1, &work(to(pair), DATA, bytes, immediate));
            world.settle(1_000);
            assert!(world.hosts[0].poll(pair).is_some());
        }
        refused += if runs { 3 } else { 4 };
        assert_eq!(world.hosts[0].refused(), refused);
    }
}
