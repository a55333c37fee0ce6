//! Regions cleared, queue pairs destroyed, cards reset, peers restarted, at any moment (BW-2, BW-5, BW-9).

use rand::RngExt;
use tributary_protocol::card::command::{Command, Status};
use tributary_protocol::card::descriptor::flags;
use tributary_protocol::card::regs::BulkCounter;
use tributary_protocol::xud::Outcome;

use super::world::{ALL, DATA, DATA_LEN, Faults, GOOD, World, read, seed, write};

const LENGTH: u32 = 300_000;

/// What happens to a card in the middle of transfers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Event {
    /// The region of the data is cleared.
    Clear,
    /// The same, by another region in its place.
    Replace,
    Destroy,
    Reset,
}

const EVENTS: [Event; 4] = [Event::Clear, Event::Replace, Event::Destroy, Event::Reset];

/// Does it; from here on no byte of the data may be written there (BW-2).
fn happen(world: &mut World, at: usize, event: Event) {
    let host = &mut world.hosts[at];
    match event {
        Event::Clear => assert_eq!(host.command(Command::ClearRegion, 3, &[]), Status::Ok),
        Event::Replace => host.set_region(3, 10, ALL, 0, 4_096),
        Event::Destroy => assert_eq!(host.command(Command::DestroyQp, 1, &[]), Status::Ok),
        Event::Reset => host.card.reset(),
    }
    host.memory.open.pop();
}

/// Makes the host usable again.
fn repair(world: &mut World, at: usize, event: Event) {
    let host = &mut world.hosts[at];
    host.memory.open.push(DATA..DATA + DATA_LEN);
    match event {
        Event::Clear | Event::Replace => host.set_region(3, 9, ALL, DATA, DATA_LEN),
        Event::Destroy => host.connect(1),
        Event::Reset => {
            host.start();
            host.connect(1);
        }
    }
}

/// A write and a read under way from host 0 to host 1, an event at one of them after so many slots, and how the two requests ended.
fn interrupted(faults: Faults, seed: u64, at: usize, event: Event, after: u64) -> Vec<Outcome> {
    let mut world = World::pair(faults, seed);
    let bytes = world.sample(LENGTH as usize);
    for host in &mut world.hosts {
        host.fill(DATA, &bytes);
        host.post_receive(1, 1);
    }
    let to = world.hosts[1].peer(1);
    let mut first = write(to, DATA, DATA + 0x10_0000, LENGTH);
    first.flags = flags::NOTIFY.mask() as u8;
    world.hosts[0].post(1, &first);
    world.hosts[0].post(1, &read(to, DATA + 0x10_0000, DATA, LENGTH));
    (0..after).for_each(|_| world.step());
    happen(&mut world, at, event);
    let requester_ends = at == 0 && matches!(event, Event::Destroy | Event::Reset);
    let mut ends = Vec::new();
    if !requester_ends {
        world.until(200_000, |world| {
            ends.extend(world.hosts[0].poll(1).map(|done| done.status));
            ends.len() == 2
        });
    }
    world.settle();
    assert!(world.hosts[0].poll(1).is_none() || requester_ends);
    // Afterwards all works as if nothing had been.
    repair(&mut world, at, event);
    while world.hosts[0].poll(1).is_some() {}
    let again = world.sample(LENGTH as usize);
    world.hosts[0].fill(DATA, &again);
    assert_eq!(
        world.run(&write(to, DATA, DATA + 7, LENGTH)),
        Outcome::Ok,
        "seed {seed}"
    );
    assert_eq!(world.hosts[1].data(DATA + 7, again.len()), again);
    assert_eq!(world.run(&read(to, DATA, DATA + 7, LENGTH)), Outcome::Ok);
    world.settle();
    ends
}

#[test]
fn bw_09_nothing_stays_whatever_ends_at_any_moment() {
    let faults = Faults {
        loss: 0.01,
        doubling: 0.01,
        span: 16,
    };
    for case in 0..48 {
        let seed = seed() * 1_000 + case;
        let mut dice = World::pair(GOOD, seed);
        let after = dice.rng.random_range(0..300);
        let event = EVENTS[case as usize % 4];
        let at = case as usize / 4 % 2;
        println!("seed {seed}: {event:?} at host {at} after {after} slots");
        for end in interrupted(faults, seed, at, event, after) {
            let fine = match (at, event) {
                (0, _) => [Outcome::Ok, Outcome::LocalProtection].contains(&end),
                (_, Event::Reset) => [
                    Outcome::Ok,
                    Outcome::Aborted,
                    Outcome::BadQp,
                    Outcome::Unreachable,
                    Outcome::Unresponsive,
                    Outcome::RemoteAccess,
                ]
                .contains(&end),
                (_, Event::Destroy) => {
                    [Outcome::Ok, Outcome::Aborted, Outcome::BadQp].contains(&end)
                }
                _ => [Outcome::Ok, Outcome::Aborted, Outcome::RemoteAccess].contains(&end),
            };
            assert!(fine, "seed {seed}: {end:?}");
        }
    }
}

#[test]
fn bw_05_a_region_cleared_at_the_requester_ends_the_transfer_and_tells_the_peer() {
    let ends = interrupted(GOOD, seed(), 0, Event::Clear, 60);
    assert_eq!(ends, [Outcome::LocalProtection; 2]);
}

#[test]
fn bw_02_a_region_cleared_at_the_target_ends_its_windows_and_its_answers() {
    let ends = interrupted(GOOD, seed(), 1, Event::Clear, 60);
    let mut ends: Vec<_> = ends.into_iter().map(|end| end.code()).collect();
    ends.sort_unstable();
    let expected = [Outcome::RemoteAccess, Outcome::Aborted].map(Outcome::code);
    assert_eq!(ends, expected);
}

#[test]
fn bw_09_a_queue_pair_destroyed_at_the_target_ends_what_it_takes_part_in() {
    assert_eq!(
        interrupted(GOOD, seed(), 1, Event::Destroy, 60),
        [Outcome::Aborted; 2]
    );
}

#[test]
fn bw_09_a_card_that_was_reset_is_not_taken_for_the_one_before() {
    // Transfers of one packet, the answers to which are late: a restarted sender begins with the same slots.
    let mut world = World::pair(GOOD, seed());
    let to = world.hosts[1].peer(1);
    for _ in 0..20 {
        world.hosts[0].post(1, &write(to, DATA, DATA + 0x10_0000, 4_096));
        (0..12).for_each(|_| world.step());
        world.hosts[0].card.reset();
        world.hosts[0].start();
        world.hosts[0].connect(1);
        let bytes = world.sample(4_096);
        world.hosts[0].fill(DATA + 4_096, &bytes);
        assert_eq!(
            world.run(&write(to, DATA + 4_096, DATA + 0x11_0000, 4_096)),
            Outcome::Ok
        );
        assert_eq!(world.hosts[1].data(DATA + 0x11_0000, 4_096), bytes);
    }
    world.settle();
}

#[test]
fn bw_02_without_bus_mastering_a_window_keeps_what_came_and_a_command_waits_for_it() {
    let mut world = World::pair(GOOD, seed());
    let to = world.hosts[1].peer(1);
    let bytes = world.sample(100_000);
    world.hosts[0].fill(DATA, &bytes);
    world.hosts[0].post(1, &write(to, DATA, DATA, 100_000));
    (0..30).for_each(|_| world.step());
    world.bus_master(1, false);
    let before = world.hosts[1].memory.writes.len();
    (0..200).for_each(|_| world.step());
    assert_eq!(world.hosts[1].memory.writes.len(), before);
    assert!(world.hosts[1].card.bulk_under_way()[3] > 0);
    world.bus_master(1, true);
    assert_eq!(world.wait(0, 10_000).status, Outcome::Ok);
    assert_eq!(world.hosts[1].data(DATA, 100_000), bytes);
    assert_eq!(world.hosts[1].count(BulkCounter::DataOverflow), 0);
    world.settle();
}
