//! Random runs of a block against a peer that is a model.

use rand::{RngExt, SeedableRng, rngs::SmallRng};
use tributary_protocol::tlp_link::wire::{Frame, Kind};
use tributary_protocol::tlp_link::{Config, Link, Unit};
use tributary_sim::verilate::Verilated;

use super::bench::{Bench, MINE, YOURS};
use super::{SMALL, config};

/// What the line does to a thousand frames, and how late it is.
#[derive(Clone, Copy)]
struct Faults {
    loss: u32,
    double: u32,
    damage: u32,
    late: u64,
}

const FAIR: Faults = Faults {
    loss: 0,
    double: 0,
    damage: 0,
    late: 1,
};

/// The other end: a model, its user, and the line both ways.
struct World {
    bench: Bench,
    peer: Link,
    config: Config,
    session: Option<(u32, u32)>,
    given: u64,
    got: u64,
    rng: SmallRng,
    to_peer: Vec<(u64, Vec<u8>, bool)>,
    to_bench: Vec<(u64, Vec<u8>, bool)>,
    longest: usize,
    passed: u64,
}

/// A unit that says from whom it is, in which session, and which one it is.
fn unit(from: u32, to: u32, number: u64, words: usize) -> Unit {
    let mut bytes = vec![number as u8; 8 * words.max(2)];
    bytes[..4].copy_from_slice(&from.to_be_bytes());
    bytes[4..8].copy_from_slice(&to.to_be_bytes());
    bytes[8..16].copy_from_slice(&number.to_be_bytes());
    let kind = if number % 7 == 3 {
        Kind::Settings
    } else {
        Kind::Tlp
    };
    (kind, bytes)
}

impl World {
    fn new(library: &Verilated, sizes: [usize; 3], seed: u64) -> Self {
        let mut rng = SmallRng::seed_from_u64(seed);
        let timeout = [60, 400, 3_000][rng.random_range(0..3)];
        let config = config(sizes, timeout);
        Self {
            bench: Bench::new(library, config, 1, seed),
            peer: Link::new(config, 0x8000_0000),
            config,
            session: None,
            given: 0,
            got: 0,
            rng,
            to_peer: vec![],
            to_bench: vec![],
            longest: sizes[0],
            passed: 0,
        }
    }

    fn chance(&mut self, thousandths: u32) -> bool {
        self.rng.random_range(0..1_000) < thousandths
    }

    /// Puts a frame on a line: when its copies arrive, and whether they are damaged.
    fn carry(&mut self, mut bytes: Vec<u8>, faults: Faults) -> Vec<(u64, Vec<u8>, bool)> {
        let length = bytes.len().max(60);
        bytes.resize(length, 0);
        let copies = 1 + u32::from(self.chance(faults.double));
        let copies = copies - u32::from(self.chance(faults.loss));
        let mut all = vec![];
        for _ in 0..copies {
            let mut bytes = bytes.clone();
            let damaged = self.chance(faults.damage);
            if damaged {
                let at = self.rng.random_range(0..bytes.len());
                bytes[at] ^= 1 << self.rng.random_range(0..8);
                if self.chance(300) {
                    bytes.truncate(at.max(1));
                }
            }
            let late = if self.chance(900) {
                2.min(faults.late)
            } else {
                faults.late
            };
            all.push((self.bench.now + late, bytes, damaged));
        }
        all
    }

    fn clock(&mut self, faults: Faults, offers: bool) -> Result<(), String> {
        if offers
            && self.bench.offer.is_none()
            && self.chance(200)
            && let Some((mine, yours)) = self.bench.link.session()
        {
            let words = self.words();
            self.bench.offer = Some(unit(mine, yours, self.bench.given, words));
        }
        let before = self.bench.got.len();
        self.bench.clock()?;
        if let Some((mine, yours)) = self.bench.link.session() {
            for (number, got) in self.bench.got.iter().enumerate().skip(before) {
                let right = unit(yours, mine, number as u64, got.1.len() / 8);
                if *got != right {
                    return Err(format!("unit {number} is {got:?}"));
                }
                self.passed += 1;
            }
        }
        let now = self.bench.now;
        for bytes in std::mem::take(&mut self.bench.left) {
            let copies = self.carry(bytes, faults);
            self.to_peer.extend(copies);
        }
        for (_, bytes, bad) in self.to_bench.extract_if(.., |frame| frame.0 <= now) {
            self.bench.line.push_back((bytes, bad));
        }
        let due: Vec<_> = self
            .to_peer
            .extract_if(.., |frame| frame.0 <= now)
            .collect();
        for (_, bytes, bad) in due {
            if !bad {
                let frame = Frame::parse(&bytes).map_err(|error| error.to_string())?;
                self.peer.receive(&frame, now);
            }
        }
        self.peer_user(offers)?;
        // A line has no room for more.
        if self.bench.line.len() < 4
            && self.chance(300)
            && let Some(frame) = self.peer.poll(now)
        {
            let copies = self.carry(frame.emit(MINE, YOURS), faults);
            self.to_bench.extend(copies);
        }
        Ok(())
    }

    fn words(&mut self) -> usize {
        match self.rng.random_range(0..10) {
            0 => self.longest,
            1 => self.rng.random_range(1..=self.longest),
            _ => self.rng.random_range(1..12),
        }
    }

    fn peer_user(&mut self, offers: bool) -> Result<(), String> {
        let session = self.peer.session();
        if session != self.session {
            self.session = session;
            self.given = 0;
            self.got = 0;
        }
        let Some((mine, yours)) = session else {
            return Ok(());
        };
        if self.chance(300)
            && let Some(got) = self.peer.take()
        {
            let right = unit(yours, mine, self.got, got.1.len() / 8);
            if got != right {
                return Err(format!("the peer's unit {} is {got:?}", self.got));
            }
            self.got += 1;
            self.passed += 1;
        }
        if offers && self.chance(200) {
            let words = self.words();
            if self
                .peer
                .offer(unit(mine, yours, self.given, words))
                .is_ok()
            {
                self.given += 1;
            }
        }
        Ok(())
    }

    /// Over a fair line both get into one session, and what is under way arrives.
    fn settles(&mut self) -> Result<(), String> {
        let until = self.bench.now + 400_000;
        while self.bench.now < until {
            for _ in 0..500 {
                self.clock(FAIR, false)?;
            }
            let one = self.bench.link.session();
            let two = self.peer.session().map(|(mine, yours)| (yours, mine));
            let arrived = (self.bench.given, self.given) == (self.got, self.bench.got.len() as u64);
            if one.is_some() && one == two && arrived && self.bench.offer.is_none() {
                return Ok(());
            }
        }
        Err(format!(
            "it does not settle: {:?} and {:?}; given {} and {}, got {} and {}",
            self.bench.link.session(),
            self.peer.session(),
            self.bench.given,
            self.given,
            self.bench.got.len(),
            self.got
        ))
    }
}

fn faults(seed: u64) -> Faults {
    let at = |list: [u32; 3], by: u64| list[(seed / by % 3) as usize];
    Faults {
        loss: at([0, 10, 200], 1),
        double: at([10, 200, 0], 2),
        damage: at([100, 0, 10], 3),
        late: at([2, 100, 1_500], 2).into(),
    }
}

/// How many units have passed both ways.
pub fn units(library: &Verilated, sizes: [usize; 3], seed: u64) -> Result<u64, String> {
    let mut world = World::new(library, sizes, seed);
    for _ in 0..12_000 {
        world.clock(faults(seed), true)?;
    }
    world.settles()?;
    if world.passed == 0 || world.bench.overruns > 0 || world.bench.lost > 0 {
        return Err(format!("{} units, {} lost", world.passed, world.bench.lost));
    }
    Ok(world.passed)
}

pub fn resets(library: &Verilated, seed: u64) -> Result<u64, String> {
    let mut world = World::new(library, SMALL, seed);
    let mut lives = 1;
    for _ in 0..20_000 {
        world.clock(faults(seed), true)?;
        let often = 400 + 3_000 * (seed as u32 % 2);
        if world.rng.random_range(0..2 * often) == 0 {
            // A life counts on by itself whenever it loses its session.
            lives += 1 << 12;
            if world.rng.random() {
                world.bench.reset(lives);
            } else {
                world.peer = Link::new(world.config, 0x8000_0000 + lives);
            }
        }
    }
    world.settles()?;
    Ok(world.passed)
}

/// Frames of a peer that says anything at all; how many took effect.
pub fn strange(library: &Verilated, seed: u64) -> Result<u64, String> {
    let mut rng = SmallRng::seed_from_u64(seed);
    let mut bench = Bench::new(library, config(SMALL, 300), 1, seed);
    bench.careful = true;
    let (mut life, mut seq, mut frames) = (100, 0_u16, 0);
    for _ in 0..30_000 {
        let session = bench.link.session();
        if let Some((mine, yours)) = session
            && bench.offer.is_none()
            && rng.random_range(0..8) == 0
        {
            let words = rng.random_range(1..20);
            bench.offer = Some(unit(mine, yours, bench.given, words));
        }
        if bench.line.is_empty() && rng.random_range(0..20) == 0 {
            let near = |rng: &mut SmallRng, of: u16| {
                of.wrapping_add(rng.random_range(0..5)).wrapping_sub(1)
            };
            let to = bench.link.life();
            let from = session.map_or(life, |session| session.1);
            let words = rng.random_range(0..30) * usize::from(rng.random::<bool>());
            let kind = if rng.random() {
                Kind::Tlp
            } else {
                Kind::Settings
            };
            let mut frame = Frame {
                seq: near(&mut rng, seq),
                ack: rng.random_range(0..12),
                limit: rng.random_range(0..400),
                again: rng.random_range(0..4) == 0,
                busy: rng.random_range(0..10) == 0,
                from,
                to,
                unit: (words > 0).then(|| (kind, (0..8 * words).map(|_| rng.random()).collect())),
            };
            if bench.given > 0 {
                frame.ack = near(&mut rng, bench.given as u16);
            }
            seq = bench.got.len() as u16;
            match rng.random_range(0..60) {
                0 => frame.to = rng.random(),
                1 => {
                    life += 1;
                    frame.from = life;
                }
                2 => frame.ack = rng.random(),
                3 => frame.seq = rng.random(),
                // Room for 2^15 words or more is none.
                4 => frame.limit = rng.random_range(0..0x4000),
                _ => {}
            }
            let mut bytes = frame.emit(MINE, YOURS);
            if rng.random() {
                bytes.resize(bytes.len().max(60), 0);
            }
            match rng.random_range(0..12) {
                0 => bytes[12 + rng.random_range(0..4)] ^= 1 << rng.random_range(0..8),
                1 => bytes.truncate(rng.random_range(1..=bytes.len())),
                2 => bytes.extend(vec![0x55; rng.random_range(1..40)]),
                3 => bytes[22] ^= 1 << rng.random_range(0..4),
                4 => bytes[23] ^= 1 << rng.random_range(0..8),
                _ => {}
            }
            frames += u64::from(Frame::parse(&bytes).is_ok());
            bench.line.push_back((bytes, rng.random_range(0..16) == 0));
        }
        bench.clock()?;
        bench.left.clear();
    }
    if bench.passed < 10 {
        return Err(format!("{} units", bench.passed));
    }
    Ok(frames)
}
