//! Both ends of the link over a network that loses, doubles, delays and damages frames, while either end is reset.
//!
//! `TRIBUTARY_SEED` repeats a run, `TRIBUTARY_FRAMES` goes on until so many units have arrived. Long form:
//!
//! ```sh
//! TRIBUTARY_FRAMES=1000000 cargo test --release --workspace --test tlp_link -- --nocapture
//! ```

use rand::{RngExt, SeedableRng, rngs::SmallRng};
use tributary_protocol::tlp_link::wire::{Frame, Kind, LINK_LEN, MAX_WORDS, WireError};
use tributary_protocol::tlp_link::{Config, Link, Refused, Unit};

/// How bad a network is, in thousandths.
#[derive(Clone, Copy, Debug)]
struct Faults {
    loss: u32,
    double: u32,
    damage: u32,
    /// Steps that a frame takes at most.
    late: u64,
    /// Resets of an end, in hundred thousandths of a step.
    reset: u32,
}

const FAIR: Faults = Faults {
    loss: 0,
    double: 0,
    damage: 0,
    late: 1,
    reset: 0,
};

/// An end, what its user has done in the session, and frames on their way to it.
struct End {
    link: Link,
    config: Config,
    session: Option<(u32, u32)>,
    given: u64,
    got: u64,
    line: Vec<(u64, Vec<u8>)>,
    /// Numbers of lives are given once.
    lives: u32,
}

impl End {
    fn new(config: Config, lives: u32) -> Self {
        Self {
            link: Link::new(config, lives),
            config,
            session: None,
            given: 0,
            got: 0,
            line: vec![],
            lives,
        }
    }

    fn reset(&mut self) {
        // A life counts on by itself whenever it loses its session.
        self.lives += 1 << 16;
        self.link = Link::new(self.config, self.lives);
    }

    /// The user sees a session that is not the last one: it begins from nothing.
    fn look(&mut self) -> Option<(u32, u32)> {
        let session = self.link.session();
        if session != self.session {
            self.session = session;
            self.given = 0;
            self.got = 0;
        }
        session
    }
}

/// A unit that says to which session it belongs, and which one it is there.
fn unit(session: (u32, u32), number: u64, words: usize) -> Unit {
    let mut bytes = vec![number as u8; 8 * words.max(3)];
    bytes[..4].copy_from_slice(&session.0.to_be_bytes());
    bytes[4..8].copy_from_slice(&session.1.to_be_bytes());
    bytes[8..16].copy_from_slice(&number.to_be_bytes());
    let kind = if number % 7 == 3 {
        Kind::Settings
    } else {
        Kind::Tlp
    };
    (kind, bytes)
}

struct World {
    ends: [End; 2],
    now: u64,
    rng: SmallRng,
    arrived: u64,
    seed: u64,
}

impl World {
    fn new(seed: u64) -> Self {
        let mut rng = SmallRng::seed_from_u64(seed);
        let mut end = |lives| {
            let buffer = [16, 40, 2048][rng.random_range(0..3)];
            let config = Config {
                buffer,
                replay: [16, 200, 2048][rng.random_range(0..3)],
                units: [1, 20, 1 << 14][rng.random_range(0..3)],
                timeout: rng.random_range(5..60),
            };
            End::new(config, lives)
        };
        let ends = [end(1), end(0x8000_0000)];
        Self {
            ends,
            now: 0,
            rng,
            arrived: 0,
            seed,
        }
    }

    fn step(&mut self, faults: Faults, offers: bool) {
        self.now += 1;
        for which in 0..2 {
            let [a, b] = &mut self.ends;
            let (end, other) = if which == 0 { (a, b) } else { (b, a) };
            let rng = &mut self.rng;
            let mut chance = |thousandths: u32| rng.random_range(0..1000) < thousandths;
            // What has come, in any order.
            let mut due: Vec<Vec<u8>> = vec![];
            end.line.retain(|(when, bytes)| {
                let is = *when <= self.now;
                if is {
                    due.push(bytes.clone());
                }
                !is
            });
            for bytes in due {
                let (bytes, fcs) = bytes.split_at(bytes.len() - 4);
                if crc32fast::hash(bytes).to_le_bytes() == fcs {
                    end.link.receive(&Frame::parse(bytes).unwrap(), self.now);
                }
            }
            assert_eq!(end.link.overruns(), 0, "seed {}", self.seed);
            if let Some(session) = end.look() {
                while chance(600)
                    && let Some(got) = end.link.take()
                {
                    let words = got.1.len() / 8;
                    let want = unit((session.1, session.0), end.got, words);
                    assert_eq!(got, want, "seed {}, unit {}", self.seed, end.got);
                    end.got += 1;
                    self.arrived += 1;
                }
                if offers && chance(500) {
                    let words = if chance(100) { 14 } else { 3 };
                    if end.link.offer(unit(session, end.given, words)).is_ok() {
                        end.given += 1;
                    }
                }
            }
            if let Some(frame) = end.link.poll(self.now) {
                let mut bytes = frame.emit(0x0200_0000_0001, 0x0200_0000_0002);
                bytes.resize(bytes.len().max(60), 0);
                bytes.extend(crc32fast::hash(&bytes).to_le_bytes());
                let copies = 1 + usize::from(chance(faults.double))
                    - usize::from(chance(faults.loss)).min(1);
                for _ in 0..copies {
                    let mut bytes = bytes.clone();
                    if chance(faults.damage) {
                        let at = bytes.len() / 2;
                        bytes[at] ^= 0x10;
                    }
                    // Most come soon and in order, some very late.
                    let late = if chance(900) {
                        2.min(faults.late)
                    } else {
                        faults.late
                    };
                    other.line.push((self.now + late, bytes));
                }
            }
            if self.rng.random_range(0..100_000) < faults.reset {
                end.reset();
            }
        }
    }

    /// With a fair network both ends get into one session, and all that is under way arrives.
    fn settles(&mut self) {
        for _ in 0..3_000 {
            self.step(FAIR, false);
        }
        let [a, b] = &mut self.ends;
        let (one, two) = (a.look(), b.look());
        let (mine, yours) = one.unwrap_or_else(|| panic!("no session, seed {}", self.seed));
        assert_eq!(two, Some((yours, mine)), "seed {}", self.seed);
        assert_eq!((a.given, b.given), (b.got, a.got), "seed {}", self.seed);
    }
}

fn seeds(units: u64, mut one: impl FnMut(u64) -> u64) {
    let wanted = std::env::var("TRIBUTARY_FRAMES").map_or(units, |text| text.parse().unwrap());
    if let Ok(seed) = std::env::var("TRIBUTARY_SEED") {
        one(seed.parse().unwrap());
        return;
    }
    let (mut arrived, mut seed) = (0, 0);
    while arrived < wanted {
        seed += 1;
        arrived += one(seed);
    }
    println!("{arrived} units in {seed} runs");
}

#[test]
fn units_arrive_once_and_in_order_whatever_becomes_of_frames() {
    seeds(100_000, |seed| {
        let mut world = World::new(seed);
        let faults = Faults {
            loss: [0, 10, 300][seed as usize % 3],
            double: [10, 0, 200][seed as usize / 3 % 3],
            damage: [10, 100][seed as usize % 2],
            late: [2, 40, 400][seed as usize / 2 % 3],
            reset: 0,
        };
        for _ in 0..20_000 {
            world.step(faults, true);
        }
        world.settles();
        assert!(world.arrived > 100, "seed {seed}: {}", world.arrived);
        world.arrived
    });
}

/// A session begins from nothing at both ends, and nothing of an older one is seen in it.
#[test]
fn resets_of_either_end_leave_one_clean_session() {
    seeds(20_000, |seed| {
        let mut world = World::new(seed);
        let faults = Faults {
            loss: 50,
            double: 200,
            damage: 10,
            late: [2, 40, 1_500][seed as usize % 3],
            reset: [20, 300][seed as usize / 3 % 2],
        };
        for _ in 0..20_000 {
            world.step(faults, true);
        }
        world.settles();
        // What comes from now on is in the session that there is.
        let session = world.ends[0].look();
        for _ in 0..2_000 {
            world.step(FAIR, true);
        }
        world.settles();
        assert_eq!(world.ends[0].look(), session, "seed {seed}");
        world.arrived
    });
}

/// More units than sequence numbers, and more words than the limit counts.
#[test]
fn numbers_wrap() {
    let mut world = World::new(1);
    for end in &mut world.ends {
        end.config.buffer = 2048;
        end.config.replay = 2048;
        end.config.units = 1 << 14;
        end.config.timeout = 30;
        end.reset();
    }
    let faults = Faults {
        loss: 2,
        double: 10,
        damage: 1,
        late: 3,
        reset: 0,
    };
    while world.ends.iter().any(|end| end.got < 70_000) {
        world.step(faults, true);
        assert!(world.now < 3_000_000, "it goes on");
    }
    world.settles();
}

#[test]
fn frames_survive_the_wire_and_bytes_that_are_none_are_refused() {
    let mut rng = SmallRng::seed_from_u64(5);
    for _ in 0..2_000 {
        let words = rng.random_range(0..=MAX_WORDS) * usize::from(rng.random::<bool>());
        let kind = if rng.random() {
            Kind::Tlp
        } else {
            Kind::Settings
        };
        let frame = Frame {
            seq: rng.random(),
            ack: rng.random(),
            limit: rng.random(),
            again: rng.random(),
            busy: rng.random(),
            from: rng.random::<u32>().max(1),
            to: rng.random(),
            unit: (words > 0).then(|| (kind, (0..8 * words).map(|_| rng.random()).collect())),
        };
        let mut bytes = frame.emit(1, 2);
        assert_eq!(bytes.len(), LINK_LEN + 8 * words);
        assert_eq!(Frame::parse(&bytes), Ok(frame.clone()));
        bytes.resize(bytes.len().max(60), 0);
        assert_eq!(Frame::parse(&bytes), Ok(frame));
        // Anything at all: an answer, no panic.
        let at = rng.random_range(0..LINK_LEN);
        bytes[at] = rng.random();
        bytes.truncate(rng.random_range(0..=bytes.len()));
        let _ = Frame::parse(&bytes);
    }
    assert_eq!(Frame::parse(&[0; 31]), Err(WireError::Short(31, 32)));
    assert_eq!(Frame::parse(&[0; 32]), Err(WireError::Type(0)));
}

#[test]
fn units_of_other_sizes_or_without_a_session_are_refused() {
    let config = Config {
        buffer: 100,
        replay: 100,
        units: 100,
        timeout: 10,
    };
    let mut link = Link::new(config, 7);
    assert_eq!(link.offer((Kind::Tlp, vec![0; 8])), Err(Refused::Closed));
    assert_eq!(link.offer((Kind::Tlp, vec![])), Err(Refused::Size(0)));
    assert_eq!(link.offer((Kind::Tlp, vec![0; 12])), Err(Refused::Size(12)));
    let long = 8 * (MAX_WORDS + 1);
    assert_eq!(
        link.offer((Kind::Tlp, vec![0; long])),
        Err(Refused::Size(long))
    );
}

/// Two frames of 60 words, where there is room for 100: the second one is counted, and changes nothing.
#[test]
fn a_unit_beyond_the_limit_is_counted_and_dropped() {
    let config = Config {
        buffer: 100,
        replay: 100,
        units: 100,
        timeout: 10,
    };
    let mut link = Link::new(config, 7);
    let mut frame = Frame {
        seq: 0,
        ack: 0,
        limit: 100,
        again: false,
        busy: false,
        from: 9,
        to: 7,
        unit: Some((Kind::Tlp, vec![1; 480])),
    };
    link.receive(&frame, 0);
    frame.seq = 1;
    link.receive(&frame, 1);
    assert_eq!(link.overruns(), 1);
    assert_eq!(link.poll(2).unwrap().ack, 1);
    assert!(link.take().is_some() && link.take().is_none());
    // Now there is room.
    link.receive(&frame, 3);
    assert!(link.take().is_some() && link.overruns() == 1);
}
