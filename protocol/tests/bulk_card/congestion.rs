//! Marks of switches (CL-4): who is told, who believes it, and that transfers slow down and recover.

use tributary_protocol::bulk::Congested;
use tributary_protocol::card::model::{BulkConfig, BulkMutations};
use tributary_protocol::card::regs::{
    BulkCounter, CONGESTION, CONGESTION_CONTROL, CONGESTION_INTERVAL, CongestionCounter, Counter,
    FEATURES, FEATURES_CONGESTION,
};
use tributary_protocol::roce::{self, Link};
use tributary_protocol::rw::pace::{Congestion, LINE};
use tributary_protocol::xud::Outcome;

use super::order::datagram;
use super::world::{DATA, GOOD, World, node_of, seed, write};

const INTERVAL: u32 = 24;
const LENGTH: u32 = 2 << 20;

fn is_data(frame: &[u8]) -> bool {
    frame[42] == 0xC0
}

/// Two hosts whose cards look at marks.
fn world(mutations: BulkMutations) -> World {
    let config = BulkConfig {
        mutations,
        ..BulkConfig::default()
    };
    let mut world = World::pair_of(config, GOOD, seed());
    for host in &mut world.hosts {
        host.set(&CONGESTION_CONTROL, 1);
        host.set(&CONGESTION_INTERVAL, INTERVAL);
    }
    world
}

fn count(world: &World, host: usize, counter: CongestionCounter) -> u64 {
    world.hosts[host].card.congestion_counter(counter)
}

/// Gap of the only transfer of host 0.
fn gap(world: &World) -> u32 {
    world.hosts[0].card.bulk_gaps()[0]
}

/// Posts a write and lets it get going.
fn begin(world: &mut World) {
    let to = world.hosts[1].peer(1);
    let bytes = world.sample(LENGTH as usize);
    world.hosts[0].fill(DATA, &bytes);
    world.hosts[0].post(1, &write(to, DATA, DATA, LENGTH));
    world.until(1_000, |world| {
        world.hosts[0].count(BulkCounter::DataSent) > 30
    });
}

/// Marks come for a while, then none.
fn slow_down(world: &mut World) -> u32 {
    begin(world);
    assert_eq!(gap(world), LINE);
    world.marks = Some(is_data);
    (0..200).for_each(|_| world.step());
    world.marks = None;
    gap(world)
}

/// A transfer that was slowed down has the whole line again at its end, and ends well.
fn recovers(world: &mut World) -> bool {
    let slow = slow_down(world);
    let mut fast = u32::MAX;
    while world.hosts[0].card.bulk_under_way()[1] > 0 && world.slot < 20_000 {
        fast = world.hosts[0].card.bulk_gaps()[0];
        world.step();
    }
    let ended = world.wait(0, 10).status == Outcome::Ok;
    let bytes = world.hosts[0].data(DATA, LENGTH as usize).to_vec();
    slow > 2 * LINE && fast == LINE && ended && world.hosts[1].data(DATA, LENGTH as usize) == bytes
}

#[test]
fn cl_04_nothing_is_marked_or_told_before_a_driver_wants_it() {
    let mut world = World::pair(GOOD, seed());
    world.marks = Some(|_| true);
    let to = world.hosts[1].peer(1);
    assert_eq!(world.run(&write(to, DATA, DATA, 300_000)), Outcome::Ok);
    for host in 0..2 {
        for counter in CongestionCounter::ALL {
            assert_eq!(count(&world, host, *counter), 0, "{counter:?}");
        }
    }
    assert_eq!(world.marked, 0, "no frame may be marked");
    // What only a card that looks at marks knows is a frame of an unknown kind.
    let before = world.hosts[0].count_card(Counter::NotXud);
    world.send(said(
        1,
        Congestion {
            marked: true,
            share: 1,
        },
        0,
        1,
    ));
    (0..20).for_each(|_| world.step());
    assert_eq!(world.hosts[0].count_card(Counter::NotXud), before + 1);
}

#[test]
fn cl_04_a_card_built_without_has_no_registers_for_it() {
    for congestion in [false, true] {
        let config = BulkConfig {
            congestion,
            ..BulkConfig::default()
        };
        let mut world = World::pair_of(config, GOOD, seed());
        let host = &mut world.hosts[0];
        let has = FEATURES_CONGESTION.get(host.get(&FEATURES));
        assert_eq!(has, u32::from(congestion));
        for register in CONGESTION {
            let before = host.card.counter(Counter::BadWrite);
            host.set(register, 1);
            let refused = host.card.counter(Counter::BadWrite) - before;
            assert_eq!(
                (host.get(register), refused),
                (congestion.into(), (!congestion).into()),
                "{}",
                register.name
            );
            // More than its field holds.
            host.set(register, u32::MAX);
            assert_eq!(host.get(register), u32::from(congestion));
        }
    }
}

#[test]
fn cl_04_marks_slow_a_transfer_which_recovers_and_sends_nothing_twice() {
    let mut world = world(BulkMutations::default());
    assert!(recovers(&mut world));
    assert_eq!(world.hosts[0].count(BulkCounter::DataResent), 0);
    assert!(count(&world, 0, CongestionCounter::WaitPace) > 0);
    let marked = count(&world, 1, CongestionCounter::MarkedReceived);
    let told = count(&world, 1, CongestionCounter::Sent);
    assert!(marked > 10 && told < marked, "{marked} marks, {told} told");
    assert_eq!(count(&world, 0, CongestionCounter::Heard), told);
    let slowed = count(&world, 0, CongestionCounter::Slowed);
    assert!(slowed > 1 && slowed <= told, "{slowed} of {told}");
    world.settle();
}

#[test]
fn cl_04_a_window_tells_once_in_an_interval() {
    let mut world = world(BulkMutations::default());
    begin(&mut world);
    let before = count(&world, 1, CongestionCounter::Sent);
    world.marks = Some(is_data);
    let slots = 400;
    (0..slots).for_each(|_| world.step());
    let told = count(&world, 1, CongestionCounter::Sent) - before;
    // Ticks are no shorter than slots of this world, and a packet has to come.
    assert!(
        told > 2 && told <= slots / u64::from(INTERVAL) * 2,
        "{told}"
    );
}

#[test]
fn cl_04_transfers_that_do_not_recover_are_noticed() {
    let error = BulkMutations {
        no_recovery: true,
        ..BulkMutations::default()
    };
    assert!(recovers(&mut world(BulkMutations::default())));
    assert!(!recovers(&mut world(error)), "{error:?} is not noticed");
}

/// The frame in which a node says something to host 0.
fn said(from: u32, said: Congestion, slot: u16, xid: u32) -> Vec<u8> {
    let message = Congested {
        node: from,
        slot,
        xid,
        said,
    };
    message.encode_frame(&Link::between(from, 0)).unwrap()
}

/// Strangers say that a transfer is to slow down; whether none of it had an effect.
fn strangers(world: &mut World) -> bool {
    begin(world);
    let marked = Congestion {
        marked: true,
        share: 9,
    };
    // Slot 0 and the first number are those of the transfer; node 7 is not where it goes to.
    let frames = [
        said(7, marked, 0, 1),
        said(
            7,
            Congestion {
                marked: false,
                share: 9,
            },
            0,
            1,
        ),
        said(node_of(1), marked, 1, 1),
        said(node_of(1), marked, 900, 1),
        said(node_of(1), marked, 0, 2),
    ];
    let strays = world.hosts[0].count(BulkCounter::Stray);
    let count_of = frames.len() as u64;
    frames.into_iter().for_each(|frame| world.send(frame));
    // Of another node than the frame comes from.
    let mut lie = Congested {
        node: node_of(1),
        slot: 0,
        xid: 1,
        said: marked,
    };
    world.send(lie.encode_frame(&Link::between(7, 0)).unwrap());
    // And what no card sends.
    lie.said.share = 0;
    let (bth, mut body) = lie.encode();
    let link = Link::between(node_of(1), 0);
    world.send(roce::encode(&link, &bth, &body).unwrap());
    body[9] = 1;
    body[15] = 1;
    world.send(roce::encode(&link, &bth, &body).unwrap());
    world.send(roce::encode(&link, &bth, &body[..8]).unwrap());
    (0..30).for_each(|_| world.step());
    let strays = world.hosts[0].count(BulkCounter::Stray) - strays;
    gap(world) == LINE
        && strays == count_of + 1
        && world.hosts[0].count(BulkCounter::BadMessage) == 3
        && count(world, 0, CongestionCounter::Heard) == 0
}

#[test]
fn cl_04_what_strangers_say_slows_nobody_and_a_card_that_believes_them_is_noticed() {
    assert!(strangers(&mut world(BulkMutations::default())));
    let error = BulkMutations {
        slowed_by_strangers: true,
        ..BulkMutations::default()
    };
    assert!(!strangers(&mut world(error)), "{error:?} is not noticed");
    // Where it goes to may say it.
    let mut world = world(BulkMutations::default());
    begin(&mut world);
    let share = Congestion {
        marked: true,
        share: 9,
    };
    world.send(said(node_of(1), share, 0, 1));
    (0..20).for_each(|_| world.step());
    assert!(gap(&world) > LINE);
}

#[test]
fn cl_04_transfers_that_begin_together_share_the_line_from_the_start() {
    let mut world = world(BulkMutations::default());
    let to = world.hosts[1].peer(1);
    for _ in 0..8 {
        world.hosts[0].post(1, &write(to, DATA, DATA, LENGTH));
    }
    world.until(200, |world| world.hosts[0].card.bulk_under_way()[1] == 8);
    let mut slowest = 0;
    for _ in 0..60 {
        world.step();
        slowest = slowest.max(world.hosts[0].card.bulk_gaps().into_iter().min().unwrap());
    }
    assert!(slowest >= 4 * LINE, "the fastest begins at {slowest}");
    for _ in 0..8 {
        assert_eq!(world.wait(0, 100_000).status, Outcome::Ok);
    }
    assert_eq!(world.hosts[0].count(BulkCounter::DataResent), 0);
    world.settle();
}

#[test]
fn cl_04_the_acknowledgement_of_a_marked_datagram_says_so() {
    let mut world = world(BulkMutations::default());
    for marks in [false, true] {
        world.marks = marks.then_some(|_: &[u8]| true);
        let before = count(&world, 0, CongestionCounter::Heard);
        world.hosts[1].post_receive(1, 5);
        let message = datagram(&world, 64);
        world.hosts[0].post(1, &message);
        let ended = world.wait(0, 100_000);
        assert_eq!((ended.status, ended.marked), (Outcome::Ok, marks));
        let received = world.hosts[1].poll(1).unwrap();
        assert!(
            !received.marked,
            "only a work request has an acknowledgement"
        );
        let heard = count(&world, 0, CongestionCounter::Heard) - before;
        assert_eq!(heard, u64::from(marks));
    }
    assert_eq!(count(&world, 1, CongestionCounter::Sent), 1);
    assert_eq!(count(&world, 1, CongestionCounter::MarkedReceived), 1);
}

#[test]
fn cl_04_under_marks_without_end_datagrams_and_transfers_end() {
    let mut world = world(BulkMutations::default());
    world.marks = Some(|_| true);
    world.faults.loss = 0.01;
    let to = world.hosts[1].peer(1);
    let bytes = world.sample(200_000);
    world.hosts[0].fill(DATA, &bytes);
    world.hosts[0].connect(2);
    // Datagrams land at the beginning of the memory there.
    let there = DATA + 4_096;
    world.hosts[0].post(1, &write(to, DATA, there, 200_000));
    let message = datagram(&world, 64);
    for _ in 0..30 {
        world.hosts[1].post_receive(1, 5);
        world.hosts[0].post(2, &message);
        // A lost one ends with its timeout.
        world.until(200_000, |world| world.hosts[0].poll(2).is_some());
        while world.hosts[1].poll(1).is_some() {}
    }
    assert!(count(&world, 0, CongestionCounter::Heard) > 25);
    let ended = world.wait(0, 400_000);
    assert_eq!(ended.status, Outcome::Ok);
    assert_eq!(world.hosts[1].data(there, bytes.len()), bytes);
    world.settle();
}
