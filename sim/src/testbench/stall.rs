//! When the consumer of a ready/valid port takes a word: long and correlated stalls, not only independent ones.
//!
//! A stall that is drawn anew in each clock practically never lasts 26 clocks, and never stops all ports at once. What
//! is kept for a word that is held may change in such a stall: a slot that was freed is filled again, a table entry is
//! written, a counter wraps. [`PROFILES`] lists the ways in which ports stall; a seed chooses one of them.
//!
//! In each clock a bench calls [`Stalls::clock`], drives each port's ready with [`Stalls::ready`], and tells with
//! [`Stalls::observe`] what stood at the port.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use std::fmt;

/// No stall of a burst lasts longer, in clocks.
pub const LONGEST: u32 = 5_000;

/// Clocks of a burst.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Length {
    /// Always as many.
    Fixed(u32),
    /// Geometric with this mean, at most [`LONGEST`].
    Geometric(u32),
}

/// How the ports of a block stall.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Profile {
    /// Never.
    Free,
    /// In so many of 256 clocks, each clock and port on its own.
    Independent(u32),
    /// In bursts, each port on its own.
    Bursts {
        /// Mean number of clocks between two bursts.
        gap: u32,
        /// Clocks of a burst.
        length: Length,
    },
    /// In bursts that stop all ports in one clock and release them in one clock.
    Together {
        /// Mean number of clocks between two bursts.
        gap: u32,
        /// Clocks of a burst.
        length: Length,
    },
    /// One port after the other stops at word k of a frame, k one more each time, until each other port has taken a
    /// whole frame, the bench has called [`Stalls::round`], or so many clocks have passed.
    Freeze {
        /// Clocks of the longest stop.
        limit: u32,
    },
    /// One word every so many clocks.
    OneIn(u32),
}

/// The profiles that every bench runs; seed s takes number s modulo their number.
pub const PROFILES: [Profile; 13] = [
    Profile::Free,
    Profile::Bursts {
        gap: 60,
        length: Length::Geometric(40),
    },
    Profile::Freeze { limit: 300 },
    Profile::Together {
        gap: 200,
        length: Length::Geometric(150),
    },
    Profile::Independent(64),
    Profile::Bursts {
        gap: 40,
        length: Length::Fixed(27),
    },
    Profile::OneIn(13),
    Profile::Bursts {
        gap: 1_000,
        length: Length::Geometric(1_000),
    },
    Profile::Freeze { limit: 30 },
    Profile::Independent(200),
    Profile::Together {
        gap: 4_000,
        length: Length::Fixed(LONGEST),
    },
    Profile::OneIn(3),
    Profile::Bursts {
        gap: 8,
        length: Length::Geometric(4),
    },
];

impl Profile {
    /// The profile of a seed.
    #[must_use]
    pub fn of_seed(seed: u64) -> Self {
        PROFILES[(seed % PROFILES.len() as u64) as usize]
    }

    /// Clocks within which a port takes a word that waits, nearly always: for the patience of a bench.
    #[must_use]
    pub fn pause(self) -> u32 {
        match self {
            Self::Free => 1,
            // Less than one word in 10^9 waits longer, up to 200 of 256.
            Self::Independent(_) => 100,
            Self::Bursts { .. } | Self::Together { .. } => LONGEST + 1,
            Self::Freeze { limit } => limit + 1,
            Self::OneIn(clocks) => clocks,
        }
    }
}

impl fmt::Display for Length {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fixed(clocks) => write!(f, "{clocks} clocks"),
            Self::Geometric(mean) => write!(f, "{mean} clocks in the mean"),
        }
    }
}

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Free => write!(f, "no stalls"),
            Self::Independent(of) => write!(f, "stalls in {of} of 256 clocks"),
            Self::Bursts { gap, length } => {
                write!(f, "stalls of {length}, {gap} apart, each port on its own")
            }
            Self::Together { gap, length } => {
                write!(f, "stalls of {length}, {gap} apart, all ports at once")
            }
            Self::Freeze { limit } => write!(
                f,
                "a stop at word k of a frame for a round of the other ports or {limit} clocks"
            ),
            Self::OneIn(clocks) => write!(f, "a word every {clocks} clocks"),
        }
    }
}

/// One port.
#[derive(Clone, Debug, Default)]
struct Port {
    ready: bool,
    /// Clocks of the burst that are left.
    left: u32,
    /// Number in its frame of the word that is taken next.
    word: u32,
    /// The word at which the port stops next.
    at: u32,
    /// It has taken the end of a frame since the stop began.
    turned: bool,
}

/// The stop of [`Profile::Freeze`] that is under way or comes next.
#[derive(Clone, Debug, Default)]
struct Stop {
    port: usize,
    /// Clocks in which the word has stood still.
    held: u32,
    /// Clocks without a word at the port.
    idle: u32,
    released: bool,
    /// The word has been taken; the rest of its frame passes.
    passed: bool,
    /// The next port's turn comes with the next clock: what the ports took in this one was decided before.
    over: bool,
}

/// Stalls of the ports of one block. If the test fails, says how to see it again.
#[derive(Clone, Debug)]
pub struct Stalls {
    profile: Profile,
    seed: u64,
    rng: ChaCha8Rng,
    ports: Vec<Port>,
    stop: Stop,
    clocks: u64,
}

impl Stalls {
    /// Stalls of so many ports in the profile of the seed.
    #[must_use]
    pub fn of_seed(seed: u64, ports: usize) -> Self {
        Self::new(Profile::of_seed(seed), seed, ports)
    }

    /// Stalls of so many ports.
    ///
    /// # Panics
    /// The profile would never take a word, or divides by zero.
    #[must_use]
    pub fn new(profile: Profile, seed: u64, ports: usize) -> Self {
        match profile {
            Profile::Independent(of) => assert!(of < 256, "{profile}: takes no word"),
            Profile::OneIn(clocks) => assert!(clocks > 0, "{profile}: no clocks"),
            Profile::Bursts { gap, length } | Profile::Together { gap, length } => {
                let (Length::Fixed(clocks) | Length::Geometric(clocks)) = length;
                assert!(
                    gap > 0 && (1..=LONGEST).contains(&clocks),
                    "{profile}: out of range"
                );
            }
            Profile::Free | Profile::Freeze { .. } => {}
        }
        Self {
            profile,
            seed,
            // Apart from the seed's other uses in a bench.
            rng: ChaCha8Rng::seed_from_u64(seed ^ 0x5741_4c4c_0000_0000),
            ports: vec![Port::default(); ports],
            stop: Stop::default(),
            clocks: 0,
        }
    }

    /// Other stalls of the same seed: for other ports of the bench, which are to have a profile of their own.
    #[must_use]
    pub fn stream(mut self, number: u64) -> Self {
        self.rng.set_stream(number);
        self
    }

    /// The profile.
    #[must_use]
    pub fn profile(&self) -> Profile {
        self.profile
    }

    /// Takes up another profile, as if nothing had stalled before.
    pub fn set(&mut self, profile: Profile) {
        let mut fresh = Self::new(profile, self.seed, self.ports.len());
        fresh.rng = self.rng.clone();
        for (new, old) in fresh.ports.iter_mut().zip(&self.ports) {
            new.word = old.word;
        }
        *self = fresh;
    }

    /// Begins a clock: decides which ports take a word in it.
    pub fn clock(&mut self) {
        let clock = self.clocks;
        self.clocks += 1;
        if self.stop.over {
            self.turn();
        }
        match self.profile {
            Profile::Free => self.ports.iter_mut().for_each(|p| p.ready = true),
            Profile::Independent(of) => {
                for port in &mut self.ports {
                    port.ready = self.rng.next_u32() % 256 >= of;
                }
            }
            Profile::Bursts { gap, length } => {
                for port in &mut self.ports {
                    port.left = burst(&mut self.rng, port.left, gap, length);
                    port.ready = port.left == 0;
                }
            }
            Profile::Together { gap, length } => {
                let before = self.ports.first().map_or(0, |p| p.left);
                let left = burst(&mut self.rng, before, gap, length);
                for port in &mut self.ports {
                    port.left = left;
                    port.ready = left == 0;
                }
            }
            Profile::Freeze { .. } => {
                for (i, port) in self.ports.iter_mut().enumerate() {
                    port.ready = i != self.stop.port || port.word != port.at || self.stop.released;
                }
            }
            Profile::OneIn(clocks) => {
                for (i, port) in self.ports.iter_mut().enumerate() {
                    port.ready = (clock + i as u64).is_multiple_of(clocks.into());
                }
            }
        }
    }

    /// Whether the port takes a word in this clock.
    #[must_use]
    pub fn ready(&self, port: usize) -> bool {
        self.ports[port].ready
    }

    /// Whether a port of which nothing is to be observed takes a word: begins a clock of its own. For a block with one
    /// port whose words are no frames.
    pub fn moves(&mut self) -> bool {
        self.clock();
        let ready = self.ready(0);
        self.observe(0, true, true);
        ready
    }

    /// What stood at the port in this clock: a word, the last of its frame. A port that is ready has taken it.
    pub fn observe(&mut self, number: usize, valid: bool, last: bool) {
        let stops = number == self.stop.port;
        let port = &mut self.ports[number];
        let taken = valid && port.ready;
        let at_stop = stops && port.word == port.at && !self.stop.passed;
        let short = last && port.word < port.at;
        if taken {
            port.word = if last { 0 } else { port.word + 1 };
            port.turned |= last;
        }
        let Profile::Freeze { limit } = self.profile else {
            return;
        };
        if !stops {
            return;
        }
        if at_stop && taken {
            // It was released: the next stop of this port is a word later, in another frame.
            port.at += 1;
            self.stop.passed = true;
            self.stop.over = last || self.ports.len() > 1;
        } else if self.stop.passed {
            self.stop.over |= taken && last;
        } else if taken && short {
            // The frame has no word of that number: begin again.
            port.at = 0;
            self.stop.over = true;
        } else if valid {
            self.stop.idle = 0;
            if at_stop {
                self.stop.held += 1;
                let all = self.ports.len() > 1;
                let mut others = self.ports.iter().enumerate().filter(|&(i, _)| i != number);
                self.stop.released |=
                    self.stop.held >= limit || (all && others.all(|(_, p)| p.turned));
            }
        } else {
            self.stop.idle += 1;
            // Nothing comes here: another port's turn.
            self.stop.over = self.stop.idle > limit;
        }
    }

    /// What the frozen port was to wait for has happened elsewhere.
    pub fn round(&mut self) {
        self.stop.released |= self.stop.held > 0;
    }

    /// The next port stops next.
    fn turn(&mut self) {
        let port = (self.stop.port + 1) % self.ports.len();
        self.stop = Stop {
            port,
            ..Stop::default()
        };
        self.ports.iter_mut().for_each(|p| p.turned = false);
    }
}

impl fmt::Display for Stalls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "seed {}: {}", self.seed, self.profile)
    }
}

impl Drop for Stalls {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("{self}; TRIBUTARY_SEED={} runs it again", self.seed);
        }
    }
}

/// Clocks of stall that are left, this one included.
fn burst(rng: &mut ChaCha8Rng, left: u32, gap: u32, length: Length) -> u32 {
    // A burst ends with a clock without a stall, so that two never join.
    if left > 0 {
        return left - 1;
    }
    if !rng.next_u32().is_multiple_of(gap) {
        return 0;
    }
    match length {
        Length::Fixed(clocks) => clocks,
        Length::Geometric(mean) => {
            let ended = |rng: &mut ChaCha8Rng| rng.next_u32().is_multiple_of(mean);
            (1..LONGEST).find(|_| ended(rng)).unwrap_or(LONGEST)
        }
    }
}

#[cfg(test)]
mod tests;
