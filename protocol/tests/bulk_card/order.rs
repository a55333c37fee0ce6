//! Order (BW-12), and who has the line (BW-4).

use tributary_protocol::card::descriptor::{OPCODE_SEND, WorkRequest, flags};
use tributary_protocol::card::model::BulkConfig;
use tributary_protocol::card::regs::{self, BulkCounter, Counter};
use tributary_protocol::xud::{Outcome, Window};

use super::world::{DATA, DATA_KEY, GOOD, SLOT_NS, World, read, seed, write};

pub const FENCE: u8 = flags::FENCE.mask() as u8;

/// A datagram of so many bytes to queue pair 1 of host 1.
pub fn datagram(world: &World, length: u32) -> WorkRequest {
    WorkRequest {
        opcode: OPCODE_SEND,
        flags: 0,
        head_len: 0,
        length,
        wr_id: 500,
        address: DATA,
        lkey: DATA_KEY,
        version_flags: 0x10,
        to: world.hosts[1].peer(1),
        window: Window {
            id: 0,
            epoch: 1,
            msn: 0,
        },
        head: [0; 16],
    }
}

/// Names of requests in the order of their ends: a long write, then a short one and a datagram.
pub fn ends(world: &mut World, flags: u8) -> Vec<u64> {
    world.hosts[1].post_receive(1, 1);
    let to = world.hosts[1].peer(1);
    let short = WorkRequest {
        flags,
        wr_id: 2,
        ..write(to, DATA, DATA + 0x10_0000, 10)
    };
    let message = WorkRequest {
        flags,
        wr_id: 3,
        ..datagram(world, 20)
    };
    let long = WorkRequest {
        wr_id: 1,
        ..write(to, DATA, DATA, 200_000)
    };
    for request in [long, short, message] {
        world.hosts[0].post(1, &request);
    }
    let ends = (0..3).map(|_| {
        let done = world.wait(0, 20_000);
        assert_eq!(done.status, Outcome::Ok, "{done:?}");
        done.wr_id
    });
    ends.collect()
}

#[test]
fn bw_12_requests_overtake_each_other_unless_they_are_fenced() {
    let mut world = World::pair(GOOD, seed());
    assert_eq!(ends(&mut world, 0), [3, 2, 1]);
    assert_eq!(ends(&mut world, FENCE), [1, 2, 3]);
    world.settle();
}

#[test]
fn bw_12_a_fence_behind_a_read_sees_what_it_brought() {
    let mut world = World::pair(GOOD, seed());
    let bytes = world.sample(100_000);
    world.hosts[1].fill(DATA, &bytes);
    let to = world.hosts[1].peer(1);
    world.hosts[0].post(1, &read(to, DATA, DATA, 100_000));
    let back = WorkRequest {
        flags: FENCE,
        ..write(to, DATA, DATA + 0x8_0000, 100_000)
    };
    world.hosts[0].post(1, &back);
    for _ in 0..2 {
        assert_eq!(world.wait(0, 20_000).status, Outcome::Ok);
    }
    assert_eq!(world.hosts[1].data(DATA + 0x8_0000, 100_000), bytes);
}

#[test]
fn bw_12_a_fence_holds_its_own_queue_pair_only() {
    let mut world = World::pair(GOOD, seed());
    world.hosts[0].connect(2);
    let to = world.hosts[1].peer(1);
    world.hosts[0].post(1, &write(to, DATA, DATA, 1 << 20));
    let fenced = WorkRequest {
        flags: FENCE,
        ..write(to, DATA, DATA, 10)
    };
    world.hosts[0].post(1, &fenced);
    world.hosts[0].post(2, &fenced);
    world.until(100, |world| world.hosts[0].poll(2).is_some());
    assert!(world.hosts[0].poll(1).is_none());
    assert_eq!(world.wait(0, 20_000).status, Outcome::Ok);
    assert_eq!(world.wait(0, 20_000).status, Outcome::Ok);
}

#[test]
fn bw_04_active_transfers_take_turns_and_a_silent_peer_takes_no_time() {
    let mut world = World::new(4, BulkConfig::default(), GOOD, seed());
    world.hosts.iter_mut().for_each(|host| host.connect(1));
    // Node 9 is not there; node 3 answers nothing any more.
    world.filter = Some(|frame| frame[33] == 3);
    let length = 400_000;
    let nobody = tributary_protocol::xud::Peer { node: 9, qpn: 1 };
    for to in [
        nobody,
        world.hosts[3].peer(1),
        world.hosts[1].peer(1),
        world.hosts[2].peer(1),
    ] {
        world.hosts[0].post(1, &write(to, DATA, DATA, length));
    }
    let start = world.slot;
    let mut halfway = None;
    let mut ended = Vec::new();
    world.until(5_000, |world| {
        let written = [1, 2].map(|at: usize| world.hosts[at].memory.writes.len());
        if written[0] == 40 {
            halfway.get_or_insert(written[1]);
        }
        ended.extend(world.hosts[0].poll(1));
        ended.len() == 2
    });
    // Shares within 5 %.
    assert!((38..=42).contains(&halfway.unwrap()), "{halfway:?}");
    let packets = 2 * u64::from(length.div_ceil(4_096));
    let took = world.slot - start;
    assert!(
        took * 95 < (packets + 40) * 100,
        "{took} slots for {packets} packets"
    );
    assert!(ended.iter().all(|done| done.status == Outcome::Ok));
    let rest = [world.wait(0, 100_000).status, world.wait(0, 100_000).status];
    assert_eq!(rest, [Outcome::Unreachable; 2]);
}

/// Share of the line's bytes that bulk transfers have beside datagrams that always wait.
fn share(of_256: u32) -> f64 {
    let mut world = World::pair(GOOD, seed());
    let host = &mut world.hosts[0];
    host.connect(2);
    host.set(&regs::BULK_SHARE, of_256);
    let to = world.hosts[1].peer(1);
    let message = datagram(&world, 4_000);
    for _ in 0..8 {
        world.hosts[0].post(1, &write(to, DATA, DATA, 1 << 20));
    }
    let (mut bulk, mut sent) = (0, 0);
    let begun = 600;
    for slot in 0..2_400 {
        while world.hosts[0].poll(2).is_some() {}
        let waiting = sent - world.hosts[0].count_card(Counter::Sent);
        for _ in waiting..6 {
            world.hosts[0].post(2, &message);
            sent += 1;
        }
        if slot == begun {
            bulk = world.hosts[0].count(BulkCounter::DataSent);
        }
        world.step();
    }
    (world.hosts[0].count(BulkCounter::DataSent) - bulk) as f64 / (2_400 - begun) as f64
}

#[test]
fn bw_04_datagrams_and_bulk_transfers_each_have_their_share_of_the_line() {
    for (of_256, least) in [(128, 0.48), (64, 0.23), (192, 0.73)] {
        let bulk = share(of_256);
        assert!((least..least + 0.05).contains(&bulk), "{of_256}: {bulk}");
    }
}

#[test]
fn counters_say_what_transfers_wait_for() {
    let mut world = World::pair(GOOD, seed());
    let to = world.hosts[1].peer(1);
    let clocks =
        |world: &World, host: usize, counter| world.hosts[host].count(counter) * 8 / SLOT_NS;
    // A peer that does not answer CONNECT for 50 slots.
    world.filter = Some(|frame| frame[42] == 0xC5);
    world.hosts[0].post(1, &write(to, DATA, DATA, 1 << 20));
    (0..50).for_each(|_| world.step());
    assert!(clocks(&world, 0, BulkCounter::WaitPeer) > 40);
    assert!(clocks(&world, 0, BulkCounter::WaitLine) < 5);
    world.filter = None;
    assert_eq!(world.wait(0, 10_000).status, Outcome::Ok);
    assert!(clocks(&world, 0, BulkCounter::WaitLine) > 200);
    assert!(clocks(&world, 1, BulkCounter::InWaitPeer) > 10);
    // Without bus mastering the card waits for reads.
    world.hosts[0].post(1, &write(to, DATA, DATA, 1 << 20));
    (0..40).for_each(|_| world.step());
    world.bus_master(0, false);
    (0..40).for_each(|_| world.step());
    assert!(clocks(&world, 0, BulkCounter::WaitRead) > 30);
    world.bus_master(0, true);
    // A network that loses every STATUS lets nothing through beyond the window and what is trusted to have arrived (416 packets).
    world.hosts[0].set(&regs::MTU, 512);
    world.filter = Some(|frame| frame[42] == 0xC6 && frame[54] & 8 != 0);
    world.hosts[0].post(1, &write(to, DATA, DATA, 1 << 20));
    (0..800).for_each(|_| world.step());
    assert!(clocks(&world, 0, BulkCounter::WaitCredit) > 50);
    world.filter = None;
    assert_eq!(world.wait(0, 20_000).status, Outcome::Ok);
}
