//! Whole messages: what arrives, and that hosts have nothing to do.

use tributary_protocol::multicast::Algorithm;
use tributary_protocol::multicast::ring::EndCode;

use crate::members::{BLOCK, Group};
use crate::world::World;

fn sample(length: u32, seed: u8) -> Vec<u8> {
    let byte = |at: u32| (at.wrapping_mul(0x9E37_79B9) >> 24) as u8 ^ seed;
    (0..length).map(byte).collect()
}

fn range(group: &Group, length: u32) -> std::ops::Range<usize> {
    let at = group.place() as usize;
    at..at + length as usize
}

fn fill(world: &mut World, group: &Group, bytes: &[u8]) {
    for host in &mut world.hosts {
        host.memory.0[range(group, bytes.len() as u32)].fill(0xEE);
    }
    world.hosts[0].memory.0[range(group, bytes.len() as u32)].copy_from_slice(bytes);
}

/// All members have the message of a group.
fn arrived(world: &World, group: &Group, bytes: &[u8]) {
    for host in &world.hosts {
        let got = &host.memory.0[range(group, bytes.len() as u32)];
        assert!(got == bytes, "node {}", host.node);
    }
}

fn runs(members: u16, algorithm: Algorithm) {
    let mut world = World::new(members);
    let mut group = Group::new(&mut world, 1, algorithm, 100);
    for (message, blocks) in [(0, 7), (1, 1), (2, 9)] {
        let length = blocks * BLOCK - 77;
        let bytes = sample(length, message as u8);
        fill(&mut world, &group, &bytes);
        group.post(&mut world, length, 0x1_2345_6789 + u64::from(message));
        // From here on no host does anything.
        world.settle(20_000);
        arrived(&world, &group, &bytes);
        for rank in 0..group.members {
            let end = group.end(&mut world, rank).expect("an end");
            assert_eq!((end.code, end.message), (EndCode::Done as u32, message));
            assert_eq!(end.user, 0x2345_6789 + message);
            assert_eq!(group.end(&mut world, rank), None);
            drain(&mut world, &group, rank);
        }
    }
    assert!(world.hosts.iter().all(|host| host.refused() == 0));
}

fn drain(world: &mut World, group: &Group, rank: u32) {
    for pair in 0..15 {
        let pair = 16 * u32::from(group.number) + 1 + pair;
        while world.hosts[rank as usize].poll(pair).is_some() {}
    }
}

#[test]
fn mb_16_a_schedule_runs_in_the_cards_without_their_hosts() {
    for members in 2..=5 {
        runs(members, Algorithm::BinomialPipeline);
    }
}

#[test]
fn mb_16_a_schedule_of_any_shape_runs_in_the_cards() {
    for algorithm in [
        Algorithm::Sequential,
        Algorithm::Chain,
        Algorithm::BinomialTree,
    ] {
        runs(4, algorithm);
    }
}

#[test]
fn mb_16_a_group_that_waits_for_ever_does_not_block_another_one() {
    let mut world = World::new(3);
    let mut waiting = Group::new(&mut world, 0, Algorithm::BinomialPipeline, 0);
    let mut group = Group::new(&mut world, 1, Algorithm::BinomialPipeline, 0);
    // A root that gets no grant.
    waiting.post_member(&mut world, 0, 3 * BLOCK, 0);
    let bytes = sample(6 * BLOCK + 1, 5);
    fill(&mut world, &group, &bytes);
    group.post(&mut world, bytes.len() as u32, 0);
    world.settle(20_000);
    arrived(&world, &group, &bytes);
    group.all_end(&mut world, EndCode::Done);
    assert_eq!(waiting.end(&mut world, 0), None);
}

#[test]
fn mb_16_an_end_waits_for_a_receive_request_and_nothing_else_does() {
    let mut world = World::new(2);
    let mut group = Group::new(&mut world, 1, Algorithm::Chain, 0);
    let mut other = Group::new(&mut world, 0, Algorithm::Chain, 0);
    let bytes = sample(2 * BLOCK, 9);
    fill(&mut world, &group, &bytes);
    group.without_ends = true;
    group.post(&mut world, bytes.len() as u32, 7);
    world.settle(20_000);
    arrived(&world, &group, &bytes);
    assert_eq!(group.end(&mut world, 1), None);
    other.post(&mut world, BLOCK, 0);
    world.settle(20_000);
    other.all_end(&mut world, EndCode::Done);
    for host in &mut world.hosts {
        host.post_receive(group.ends(), 99);
    }
    world.settle(1_000);
    group.all_end(&mut world, EndCode::Done);
}

#[test]
fn mb_16_without_bus_mastering_a_ring_waits() {
    let mut world = World::new(2);
    let mut group = Group::new(&mut world, 1, Algorithm::Chain, 0);
    let bytes = sample(3 * BLOCK, 1);
    fill(&mut world, &group, &bytes);
    world.hosts[0].bus_master(false);
    group.post(&mut world, bytes.len() as u32, 0);
    for _ in 0..2_000 {
        world.step();
    }
    assert_eq!(group.end(&mut world, 0), None);
    world.hosts[0].bus_master(true);
    world.settle(20_000);
    arrived(&world, &group, &bytes);
    group.all_end(&mut world, EndCode::Done);
}
