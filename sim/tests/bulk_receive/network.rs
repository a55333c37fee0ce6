//! A network that loses, doubles and overtakes, for benches that count clocks.

use rand::{RngExt, rngs::SmallRng};

/// What a network does, in 1,000.
#[derive(Clone, Copy, Debug)]
pub struct Faults {
    /// Frames lost.
    pub loss: u32,
    /// Frames that come twice.
    pub double: u32,
    /// Clocks that a frame takes at most beyond the least.
    pub spread: u64,
}

/// Frames on their way, each with the clock at which it comes.
#[derive(Debug, Default)]
pub struct Network<T> {
    pub flying: Vec<(u64, T)>,
}

impl<T: Clone> Network<T> {
    /// Nothing is on its way.
    pub fn new() -> Self {
        Self { flying: vec![] }
    }

    /// Sends a frame: it comes once, twice or never.
    pub fn send(&mut self, rng: &mut SmallRng, faults: Faults, now: u64, frame: T) {
        let mut put = |rng: &mut SmallRng| {
            let due = now + 100 + rng.random_range(0..=faults.spread);
            self.flying.push((due, frame.clone()));
        };
        if rng.random_range(0..1_000) >= faults.loss {
            put(rng);
        }
        if rng.random_range(0..1_000) < faults.double {
            put(rng);
        }
    }

    /// What comes now.
    pub fn come(&mut self, now: u64) -> Vec<T> {
        let mut due = vec![];
        let mut at = 0;
        while at < self.flying.len() {
            if self.flying[at].0 <= now {
                due.push(self.flying.swap_remove(at));
            } else {
                at += 1;
            }
        }
        due.sort_by_key(|(when, _)| *when);
        due.into_iter().map(|(_, frame)| frame).collect()
    }
}
