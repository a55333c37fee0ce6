//! Descriptors of sends, and the two ways to make them.

use std::collections::BTreeMap;

use super::{Generator, Step};
use crate::multicast::{Receive, Schedule, Send};

/// One send of a group's ring (MB-16). It may start when the card has counted `received` blocks from `source` and `credit`
/// credits from `to`, both modulo 2^32.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Descriptor {
    /// Step of the schedule.
    pub step: u32,
    /// Rank that gets the block.
    pub to: u32,
    /// Number of the block.
    pub block: u32,
    /// Rank that the block comes from; `None` at the root, which has it.
    pub source: Option<u32>,
    /// Blocks that `source` has sent when this one is here, since the group was made.
    pub received: u32,
    /// Blocks that `to` must have allowed, since the group was made.
    pub credit: u32,
}

/// Blocks received from and sent to each rank since the group was made, modulo 2^32.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Counts {
    origin: u32,
    by_rank: BTreeMap<u32, u32>,
}

impl Counts {
    /// All counters have this value.
    #[must_use]
    pub fn new(origin: u32) -> Self {
        Self {
            origin,
            by_rank: BTreeMap::new(),
        }
    }

    /// One of them.
    #[must_use]
    pub fn of(&self, rank: u32) -> u32 {
        self.by_rank.get(&rank).copied().unwrap_or(self.origin)
    }

    /// Counts one more; returns the new value.
    pub fn count(&mut self, rank: u32) -> u32 {
        let value = self.of(rank).wrapping_add(1);
        self.by_rank.insert(rank, value);
        value
    }

    /// Sets one.
    pub fn set(&mut self, rank: u32, value: u32) {
        self.by_rank.insert(rank, value);
    }
}

/// A block that has come, in the order of the schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Came {
    block: u32,
    source: u32,
    received: u32,
}

/// The descriptors of one message, made by a [`Generator`]. It looks for the origin of a block among the last receives
/// only: a block is passed on for the last time soon after it came.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Programme {
    generator: Generator,
    step: u32,
    /// The last receives, the oldest first, and how many are kept.
    came: std::collections::VecDeque<Came>,
    depth: usize,
    received: Counts,
}

impl Programme {
    /// Receives that are kept for a group of `members`.
    #[must_use]
    pub fn depth(members: u32) -> usize {
        2 * members.max(1).ilog2() as usize + 2
    }

    /// The descriptors of a message; `received` counts the blocks of all messages before.
    #[must_use]
    pub fn new(generator: Generator, members: u32, received: Counts) -> Self {
        let depth = Self::depth(members);
        Self {
            generator,
            step: 0,
            came: std::collections::VecDeque::with_capacity(depth),
            depth,
            received,
        }
    }

    /// The next one. `sent` counts the blocks sent so far, of this message and those before.
    pub fn next(&mut self, sent: &mut Counts) -> Option<Descriptor> {
        loop {
            let Step { send, receive } = self.generator.next()?;
            let step = self.step;
            self.step += 1;
            // What comes in a step leaves in a later one.
            let descriptor = send.map(|Send { to, block }| {
                let origin = self.came.iter().find(|came| came.block == block);
                Descriptor {
                    step,
                    to,
                    block,
                    source: origin.map(|came| came.source),
                    received: origin.map_or(0, |came| came.received),
                    credit: sent.count(to),
                }
            });
            if let Some(Receive { from, block }) = receive {
                let received = self.received.count(from);
                self.came.push_back(Came {
                    block,
                    source: from,
                    received,
                });
                if self.came.len() > self.depth {
                    self.came.pop_front();
                }
            }
            if descriptor.is_some() {
                return descriptor;
            }
        }
    }
}

/// The descriptors of one message out of its schedule, of any shape: what a host writes into a ring.
#[must_use]
pub fn listed(
    schedule: &Schedule,
    rank: u32,
    received: &mut Counts,
    sent: &mut Counts,
) -> Vec<Descriptor> {
    let mut origins = BTreeMap::new();
    for (_, Receive { from, block }) in schedule.receives(rank, 0) {
        origins.insert(block, (from, received.count(from)));
    }
    let sends = schedule.sends(rank, 0);
    sends
        .map(|(step, Send { to, block })| {
            let origin = origins.get(&block);
            Descriptor {
                step: step as u32,
                to,
                block,
                source: origin.map(|&(source, _)| source),
                received: origin.map_or(0, |&(_, received)| received),
                credit: sent.count(to),
            }
        })
        .collect()
}
