//! The three simple shapes: sequential, chain and binomial tree.

use std::ops::Range;

use super::{Receive, Send, Shape};

/// MB-1: at step t the root sends block t mod k to rank 1 + floor(t / k).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Sequential {
    members: u32,
    blocks: u32,
}

impl Sequential {
    pub fn new(members: u32, blocks: u32) -> Self {
        Self { members, blocks }
    }

    fn transfer(self, step: u64) -> Send {
        let blocks = u64::from(self.blocks);
        Send {
            to: 1 + (step / blocks) as u32,
            block: (step % blocks) as u32,
        }
    }
}

impl Shape for Sequential {
    fn total_steps(&self) -> u64 {
        u64::from(self.blocks) * u64::from(self.members - 1)
    }

    fn send_at(&self, rank: u32, step: u64) -> Option<Send> {
        (rank == 0).then(|| self.transfer(step))
    }

    fn recv_at(&self, rank: u32, step: u64) -> Option<Receive> {
        let Send { to, block } = self.transfer(step);
        (to == rank).then_some(Receive { from: 0, block })
    }

    fn active(&self, rank: u32) -> Range<u64> {
        let blocks = u64::from(self.blocks);
        match rank.checked_sub(1) {
            None => 0..self.total_steps(),
            Some(before) => u64::from(before) * blocks..u64::from(rank) * blocks,
        }
    }

    fn neighbour(&self, rank: u32, index: u32) -> Option<u32> {
        if rank == 0 {
            return (index + 1 < self.members).then_some(index + 1);
        }
        (index == 0).then_some(0)
    }

    fn senders_at(&self, _step: u64) -> Range<u32> {
        0..1
    }
}

/// MB-2: at step t rank i sends block t - i to rank i + 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Chain {
    members: u32,
    blocks: u32,
}

impl Chain {
    pub fn new(members: u32, blocks: u32) -> Self {
        Self { members, blocks }
    }

    /// The block that `rank` sends at `step`, were there a rank behind it.
    fn block(self, rank: u32, step: u64) -> Option<u32> {
        let block = step.checked_sub(rank.into())?;
        (block < self.blocks.into()).then_some(block as u32)
    }
}

impl Shape for Chain {
    fn total_steps(&self) -> u64 {
        match self.members {
            1 => 0,
            n => u64::from(self.blocks) + u64::from(n) - 2,
        }
    }

    fn send_at(&self, rank: u32, step: u64) -> Option<Send> {
        let to = rank + 1;
        let block = self.block(rank, step)?;
        (to < self.members).then_some(Send { to, block })
    }

    fn recv_at(&self, rank: u32, step: u64) -> Option<Receive> {
        let from = rank.checked_sub(1)?;
        let block = self.block(from, step)?;
        Some(Receive { from, block })
    }

    fn active(&self, rank: u32) -> Range<u64> {
        let end = u64::from(rank) + u64::from(self.blocks);
        u64::from(rank.saturating_sub(1))..end.min(self.total_steps())
    }

    fn neighbour(&self, rank: u32, index: u32) -> Option<u32> {
        let after = (rank + 1 < self.members).then_some(rank + 1);
        match (rank, index) {
            (0, 0) | (1.., 1) => after,
            (1.., 0) => Some(rank - 1),
            _ => None,
        }
    }

    fn senders_at(&self, step: u64) -> Range<u32> {
        let last = u64::from(self.members) - 1;
        let first = (step + 1).saturating_sub(self.blocks.into()).min(last);
        first as u32..(step + 1).min(last) as u32
    }
}

/// MB-3: in stage s = floor(t / k) every rank i < 2^s sends block t mod k to rank i + 2^s.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Tree {
    members: u32,
    blocks: u32,
}

impl Tree {
    pub fn new(members: u32, blocks: u32) -> Self {
        Self { members, blocks }
    }

    /// Distance between sender and receiver, and the block.
    fn stage(self, step: u64) -> (u32, u32) {
        let blocks = u64::from(self.blocks);
        (1 << (step / blocks), (step % blocks) as u32)
    }
}

impl Shape for Tree {
    fn total_steps(&self) -> u64 {
        let stages = self.members.next_power_of_two().trailing_zeros();
        u64::from(self.blocks) * u64::from(stages)
    }

    fn send_at(&self, rank: u32, step: u64) -> Option<Send> {
        let (distance, block) = self.stage(step);
        let to = rank + distance;
        (rank < distance && to < self.members).then_some(Send { to, block })
    }

    fn recv_at(&self, rank: u32, step: u64) -> Option<Receive> {
        let (distance, block) = self.stage(step);
        let from = rank.checked_sub(distance)?;
        (from < distance).then_some(Receive { from, block })
    }

    fn active(&self, rank: u32) -> Range<u64> {
        let stage = rank.checked_ilog2().unwrap_or(0);
        u64::from(stage) * u64::from(self.blocks)..self.total_steps()
    }

    fn neighbour(&self, rank: u32, index: u32) -> Option<u32> {
        // The parent first; then children, nearest first.
        let (parent, index) = match rank {
            0 => (None, index),
            _ => (Some(rank - (1 << rank.ilog2())), index),
        };
        let (first, index) = match (parent, index) {
            (Some(parent), 0) => return Some(parent),
            (Some(_), index) => (rank.ilog2() + 1, index - 1),
            (None, index) => (0, index),
        };
        let child = rank + 1u32.checked_shl(first + index)?;
        (child < self.members).then_some(child)
    }

    fn senders_at(&self, step: u64) -> Range<u32> {
        let (distance, _) = self.stage(step);
        0..distance.min(self.members - distance.min(self.members))
    }
}
