//! Deliberate errors, each of which a property that other tests check brings to light.

use std::panic::{AssertUnwindSafe, catch_unwind};

use tributary_protocol::card::command::{Command, Status, key};
use tributary_protocol::card::descriptor::flags;
use tributary_protocol::card::model::{BulkConfig, BulkMutations};
use tributary_protocol::card::regs::BulkCounter;
use tributary_protocol::xud::Outcome;
use tributary_protocol::xud::onesided::H_RKEY;

use super::order::{FENCE, ends};
use super::world::{ALL, DATA, DATA_LEN, GOOD, World, seed, write};

fn world(mutations: BulkMutations) -> World {
    let config = BulkConfig {
        mutations,
        ..BulkConfig::default()
    };
    World::pair_of(config, GOOD, seed())
}

/// A property holds without the error, and not with it.
fn caught(mutations: BulkMutations, property: impl Fn(&mut World) -> bool) {
    assert!(
        property(&mut world(BulkMutations::default())),
        "without the error"
    );
    let with = catch_unwind(AssertUnwindSafe(|| property(&mut world(mutations))));
    // A panic is a check of the world: a byte outside of what may be written.
    assert!(!with.unwrap_or(false), "{mutations:?} is not noticed");
}

#[test]
fn bw_02_windows_without_a_look_at_the_key_are_noticed() {
    let error = BulkMutations {
        no_connect_check: true,
        ..BulkMutations::default()
    };
    caught(error, |world| {
        world.hosts[1].set_region(1, 7, ALL & !2, DATA, DATA_LEN);
        let mut work = write(world.hosts[1].peer(1), DATA, DATA, 5_000);
        H_RKEY.put(&mut work.head, key(1, 7));
        world.run(&work) == Outcome::RemoteAccess && world.hosts[1].memory.writes.is_empty()
    });
}

#[test]
fn bw_02_a_q_key_that_is_not_looked_at_is_noticed() {
    let error = BulkMutations {
        any_q_key: true,
        ..BulkMutations::default()
    };
    caught(error, |world| {
        let host = &mut world.hosts[1];
        assert_eq!(host.command(Command::DestroyQp, 1, &[]), Status::Ok);
        let args = [
            4 << 4 | 4 << 8 | 6 << 12 | 2 << 16,
            9,
            5,
            1,
            0x3_0000,
            0,
            0x3_4000,
            0,
            0x3_8000,
            0,
        ];
        assert_eq!(host.command(Command::CreateQp, 1, &args), Status::Ok);
        assert_eq!(host.command(Command::ModifyQp, 1, &[2]), Status::Ok);
        let work = write(world.hosts[1].peer(1), DATA, DATA, 5_000);
        world.run(&work) == Outcome::Unreachable && world.hosts[1].memory.writes.is_empty()
    });
}

#[test]
fn bw_02_windows_that_outlive_their_region_are_noticed() {
    let error = BulkMutations {
        keep_windows: true,
        ..BulkMutations::default()
    };
    caught(error, |world| {
        let work = write(world.hosts[1].peer(1), DATA, DATA, 500_000);
        world.hosts[0].post(1, &work);
        (0..60).for_each(|_| world.step());
        let host = &mut world.hosts[1];
        assert_eq!(host.command(Command::ClearRegion, 3, &[]), Status::Ok);
        let written = host.memory.writes.len();
        (0..100).for_each(|_| world.step());
        world.hosts[1].memory.writes.len() == written
    });
}

#[test]
fn bw_05_a_repair_that_does_not_look_at_its_key_again_is_noticed() {
    let error = BulkMutations {
        no_second_check: true,
        ..BulkMutations::default()
    };
    caught(error, |world| {
        let work = write(world.hosts[1].peer(1), DATA, DATA, 40_000);
        world.hosts[0].post(1, &work);
        world.filter = Some(|frame| frame[42] == 0xC0 && frame[53] == 2);
        world.until(1_000, |world| {
            world.hosts[0].count(BulkCounter::DataSent) == 10
        });
        world.filter = None;
        let host = &mut world.hosts[0];
        assert_eq!(host.command(Command::ClearRegion, 3, &[]), Status::Ok);
        world.wait(0, 100_000).status == Outcome::LocalProtection
    });
}

#[test]
fn bw_03_a_notification_in_front_of_the_last_byte_is_noticed() {
    let error = BulkMutations {
        early_notify: true,
        ..BulkMutations::default()
    };
    caught(error, |world| {
        world.hosts[1].post_receive(1, 5);
        let mut work = write(world.hosts[1].peer(1), DATA, DATA, 5_000);
        work.flags = flags::NOTIFY.mask() as u8;
        assert_eq!(world.run(&work), Outcome::Ok);
        // In the order in which host memory was written, the completion is behind both packets.
        world.hosts[1].memory.last_was_completion()
    });
}

#[test]
fn bw_12_a_fence_that_is_not_looked_at_is_noticed() {
    let error = BulkMutations {
        no_fence: true,
        ..BulkMutations::default()
    };
    caught(error, |world| ends(world, FENCE) == [1, 2, 3]);
}

#[test]
fn bw_09_numbers_of_before_a_reset_are_noticed() {
    let error = BulkMutations {
        same_numbers: true,
        ..BulkMutations::default()
    };
    caught(error, |world| {
        let to = world.hosts[1].peer(1);
        // The answer to the CONNECT of before is on its way when the card is reset, and the CONNECT of after is lost once: so
        // an answer that is too late would be taken for its own.
        world.hosts[0].post(1, &write(to, DATA, DATA + 0x10_0000, 4_096));
        (0..12).for_each(|_| world.step());
        world.hosts[0].card.reset();
        world.hosts[0].start();
        world.hosts[0].connect(1);
        world.filter = Some(|frame| frame[42] == 0xC4);
        let bytes = vec![0x3C; 4_096];
        world.hosts[0].fill(DATA + 4_096, &bytes);
        world.hosts[0].post(1, &write(to, DATA + 4_096, DATA + 0x11_0000, 4_096));
        (0..40).for_each(|_| world.step());
        world.filter = None;
        let done = world.wait(0, 100_000).status;
        done == Outcome::Ok
            && world.hosts[1].data(DATA + 0x11_0000, 4_096) == bytes
            && world.hosts[1].data(DATA + 0x10_0000, 4_096) != bytes
    });
}
