//! One direction of a cable: when a frame arrives, and in which state.

use std::sync::Arc;

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use serde::{Deserialize, Serialize};

use super::describe::LinkSpec;

/// What became of a frame on a cable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Fate {
    /// It arrived as it was sent.
    Whole,
    /// It arrived with a wrong frame check sequence.
    Damaged,
    /// It never arrived.
    Lost,
}

/// A frame on a cable, as one who sees every cable whole would put it down.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sighting {
    /// The cable.
    pub cable: usize,
    /// From which of its ends.
    pub from: usize,
    /// Clock of the first word at the sender.
    pub start: u64,
    /// Clock of the last word at the receiver, had it arrived.
    pub end: u64,
    /// What became of it.
    pub fate: Fate,
    /// The frame as it was sent.
    pub bytes: Arc<[u8]>,
}

/// When and how a copy of a frame arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Arrival {
    /// Clock of the first word.
    pub first: u64,
    /// Clock of the last word.
    pub last: u64,
    pub fate: Fate,
}

/// One direction.
#[derive(Debug)]
pub(super) struct Wire {
    link: LinkSpec,
    rng: ChaCha8Rng,
    /// Frames that have arrived or will.
    count: u64,
}

impl Wire {
    /// Wires of one simulation share its seed and differ in `stream`.
    pub fn new(link: LinkSpec, seed: u64, stream: u64) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        rng.set_stream(stream);
        Self {
            link,
            rng,
            count: 0,
        }
    }

    /// What becomes of a frame whose first word leaves at `start`. Every frame takes the same number of random numbers, so
    /// changing a probability changes nothing else.
    pub fn carry(&mut self, bytes: usize, start: u64) -> (Arrival, Option<Arrival>) {
        let [lost, doubled, damaged] =
            [self.link.loss, self.link.duplication, self.link.corruption]
                .map(|p| unit(self.rng.next_u64()) < p);
        let late = [(); 2].map(|()| below(self.rng.next_u64(), self.link.reorder_clocks + 1));
        let fate = match (lost, damaged) {
            (true, _) => Fate::Lost,
            (false, true) => Fate::Damaged,
            (false, false) => Fate::Whole,
        };
        let first = self.arrival(bytes, start + late[0], fate);
        // The copy follows as soon as it can.
        let again = start + self.link.occupancy(bytes) + late[1];
        let copy = (doubled && !lost).then(|| self.arrival(bytes, again, Fate::Whole));
        (first, copy)
    }

    /// Number of the next frame that arrives.
    pub const fn number(&mut self) -> u64 {
        self.count += 1;
        self.count
    }

    /// Arrival of a frame that leaves at `start`.
    pub fn arrival(&self, bytes: usize, start: u64, fate: Fate) -> Arrival {
        let first = start + self.link.latency_clocks;
        Arrival {
            first,
            last: first + self.link.spread(bytes),
            fate,
        }
    }
}

/// A random word as a number from 0 up to but not including 1.
fn unit(word: u64) -> f64 {
    (word >> 11) as f64 / (1u64 << 53) as f64
}

/// A random word as a number below `bound`.
fn below(word: u64, bound: u64) -> u64 {
    ((u128::from(word) * u128::from(bound)) >> 64) as u64
}
