//! Random transfers over bad networks: every byte, and no other.

use rand::RngExt;
use tributary_protocol::card::descriptor::{Of, flags};
use tributary_protocol::card::model::BulkConfig;
use tributary_protocol::card::regs::{self, BulkCounter};
use tributary_protocol::xud::Outcome;

use super::world::{DATA, DATA_LEN, Faults, World, read, seed, write};

/// Area of a host that its own requests use, and the one that those of the other use: no transfer overlaps another.
const PLACES: u64 = 4;
const PLACE: u64 = DATA_LEN / 2 / PLACES;

const BAD: Faults = Faults {
    loss: 0.01,
    doubling: 0.01,
    span: 64,
};

/// One request in each place of each host, again and again; what arrived is compared with what was sent, the bytes around included.
fn run(seed: u64, rounds: u64, faults: Faults, longest: u32) -> u64 {
    println!("seed {seed}");
    let config = BulkConfig {
        slots: 4,
        reads: 3,
        windows: 6,
        packets: 64,
        peers: 7,
        ..BulkConfig::default()
    };
    let mut world = World::pair_of(config, faults, seed);
    let mtu = [256, 700, 1_024, 4_096][world.rng.random_range(0..4)];
    for host in &mut world.hosts {
        host.set(&regs::MTU, mtu);
    }
    let mut transfers = 0;
    for _ in 0..rounds {
        for host in 0..2 {
            let bytes = world.sample(DATA_LEN as usize);
            world.hosts[host].fill(DATA, &bytes);
        }
        let mut expected =
            [0, 1].map(|at: usize| world.hosts[at].data(DATA, DATA_LEN as usize).to_vec());
        let (mut notified, mut wanted) = ([0; 2], [0; 2]);
        let mut pending = 0;
        for at in 0..2usize {
            for place in 0..PLACES {
                let longest = if world.rng.random_bool(0.5) {
                    8_192
                } else {
                    longest
                };
                let length = world.rng.random_range(0..=longest);
                let room = PLACE - u64::from(length);
                // Offsets in the data of here and there.
                let here = place * PLACE + world.rng.random_range(0..=room.min(5_000));
                let there = (PLACES + place) * PLACE + world.rng.random_range(0..=room.min(5_000));
                let to = world.hosts[1 - at].peer(1);
                let (from, into) = (here as usize, there as usize);
                let size = length as usize;
                let mut request = if world.rng.random_bool(0.6) {
                    let bytes = world.hosts[at].data(DATA + here, size).to_vec();
                    expected[1 - at][into..into + size].copy_from_slice(&bytes);
                    write(to, DATA + here, DATA + there, length)
                } else {
                    let bytes = world.hosts[1 - at].data(DATA + there, size).to_vec();
                    expected[at][from..from + size].copy_from_slice(&bytes);
                    read(to, DATA + here, DATA + there, length)
                };
                request.wr_id = place;
                if request.opcode == write(to, 0, 0, 0).opcode && world.rng.random_bool(0.4) {
                    request.flags |= flags::NOTIFY.mask() as u8;
                    request.window.msn = length;
                    wanted[1 - at] += 1;
                    world.hosts[1 - at].post_receive(1, 100);
                }
                if request.opcode == write(to, 0, 0, 0).opcode && world.rng.random_bool(0.4) {
                    request.flags |= flags::OLDEST_FIRST.mask() as u8;
                }
                if world.rng.random_bool(0.2) {
                    request.flags |= flags::FENCE.mask() as u8;
                }
                world.hosts[at].post(1, &request);
                pending += 1;
                transfers += 1;
            }
        }
        world.until(2_000_000, |world| {
            for (host, notified) in world.hosts.iter_mut().zip(&mut notified) {
                while let Some(done) = host.poll(1) {
                    assert_eq!(done.status, Outcome::Ok, "seed {seed}: {done:?}");
                    match done.of {
                        Of::Send => pending -= 1,
                        _ => {
                            assert_eq!((done.wr_id, done.window.msn), (100, done.length));
                            *notified += 1;
                        }
                    }
                }
            }
            pending == 0
        });
        assert_eq!(notified, wanted, "seed {seed}: notifications");
        for (at, expected) in expected.iter().enumerate() {
            let got = world.hosts[at].data(DATA, DATA_LEN as usize);
            let wrong = got.iter().zip(expected).position(|(a, b)| a != b);
            assert_eq!(wrong, None, "seed {seed}: host {at}, first wrong byte");
        }
    }
    world.settle();
    for host in &world.hosts {
        assert_eq!(host.count(BulkCounter::Failed), 0);
    }
    transfers
}

#[test]
fn bw_01_bw_11_every_byte_arrives_at_any_alignment_over_a_bad_network() {
    let frames: u64 = std::env::var("TRIBUTARY_FRAMES").map_or(0, |n| n.parse().unwrap());
    let (mut transfers, mut at) = (0, seed());
    let wanted = frames.max(1_000);
    let alone = std::env::var_os("TRIBUTARY_SEED").is_some();
    while transfers < wanted {
        transfers += run(at, 5, BAD, 256 << 10);
        at += 1;
        if alone {
            break;
        }
    }
    println!("{transfers} transfers");
}

#[test]
fn bw_01_a_network_without_faults_needs_no_packet_twice() {
    let good = Faults {
        loss: 0.0,
        doubling: 0.0,
        span: 16,
    };
    let mut world = World::pair(good, seed());
    let bytes = world.sample(1 << 20);
    world.hosts[0].fill(DATA, &bytes);
    let to = world.hosts[1].peer(1);
    assert_eq!(world.run(&write(to, DATA, DATA + 5, 1 << 20)), Outcome::Ok);
    assert_eq!(world.hosts[1].data(DATA + 5, 1 << 20), bytes);
    assert_eq!(world.hosts[0].count(BulkCounter::DataSent), 256);
    assert_eq!(world.hosts[0].count(BulkCounter::DataResent), 0);
    world.settle();
}
