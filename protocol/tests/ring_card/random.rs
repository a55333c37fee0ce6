//! Arbitrary registers, entries, requests and queue pairs: a card goes on, and comes to rest when its groups are stopped.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use tributary_protocol::card::regs::{self, RINGS, doorbell};
use tributary_protocol::xud::Peer;

use crate::members::{BLOCK, work};
use crate::world::{DATA, World};

/// Queue pairs of a card, all of which exist.
const PAIRS: u32 = 12;
const GROUPS: u8 = 4;

fn seed() -> u64 {
    std::env::var("TRIBUTARY_SEED").map_or(1, |seed| seed.parse().expect("TRIBUTARY_SEED"))
}

/// An entry that is mostly one of a kind, for peers of few slots.
fn entry(random: &mut ChaCha8Rng) -> [u64; 4] {
    let kind = [0, 1, 1, 2, 2, 2, 3][random.random_range(0..7usize)];
    let to = if kind == 3 {
        63
    } else {
        random.random_range(0..3)
    };
    let waits = u64::from(random.random_bool(0.3));
    let source = [63, 0, 1][random.random_range(0..3usize)];
    let received = random.random_range(0..4);
    let credit: u64 = random.random_range(0..4);
    [
        kind | waits << 2 | source << 8 | to << 16,
        random.random(),
        received | credit << 32,
        random.random(),
    ]
}

fn act(world: &mut World, random: &mut ChaCha8Rng) {
    let at = random.random_range(0..world.hosts.len());
    let to = Peer {
        node: random.random_range(0..3),
        qpn: random.random_range(0..PAIRS + 1),
    };
    let host = &mut world.hosts[at];
    let pair = random.random_range(0..PAIRS);
    let group = random.random_range(0..GROUPS + 1);
    let slot = random.random_range(0..3);
    match random.random_range(0..12) {
        0 => {
            let register = RINGS[random.random_range(0..RINGS.len())];
            host.set(&register, random.random::<u32>() & register.mask());
        }
        1 => {
            let register = RINGS[random.random_range(0..RINGS.len())];
            host.set(&register, random.random());
        }
        2 => {
            host.open(group, pair, random.random_range(0..3), random.random(), 0);
        }
        3 | 4 => host.bind(random.random_range(0..3), group, slot, pair),
        5 | 6 if group < GROUPS => {
            let posted = host.write_entry(group, &entry(random));
            host.ring_command(1, group, posted);
        }
        7 => {
            host.ring_command(random.random_range(2..4), group, 0);
        }
        8 => {
            let bytes = random.random_range(0..BLOCK);
            host.prepare(pair, &work(to, DATA, bytes, random.random_range(0..5)));
        }
        9 | 10 => host.post_receive(pair, 0),
        11 => {
            let register = [regs::DOORBELL_SEND, regs::DOORBELL_COMPLETE];
            let index = random.random_range(0..8);
            host.card
                .write(doorbell(pair, &register[usize::from(slot & 1)]), index);
        }
        _ => world.step(),
    }
}

#[test]
fn mb_16_a_card_bears_whatever_its_rings_are_told() {
    for run in 0..30 {
        let mut random = ChaCha8Rng::seed_from_u64(seed().wrapping_mul(1_000) + run);
        let mut world = World::new(3);
        for host in &mut world.hosts {
            (0..PAIRS).for_each(|pair| host.connect(pair));
        }
        for _ in 0..600 {
            act(&mut world, &mut random);
            if random.random_bool(0.3) {
                world.step();
            }
        }
        for host in &mut world.hosts {
            host.set(&regs::CONTROL, 3);
            assert_eq!(host.refused(), 0, "run {run}: as after power-up");
            assert!(host.card.idle(), "run {run}");
            host.card.check_bulk().unwrap();
        }
    }
}
