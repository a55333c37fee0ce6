//! Two binomial pipelines, one after the other: among racks, then inside them (MB-6).

use std::ops::Range;

use super::pipeline::Pipeline;
use super::{Receive, Send, Shape};

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Hybrid {
    /// First rank of each rack, and behind the last the number of members.
    starts: Vec<u32>,
    /// The phase among the first members.
    leaders: Pipeline,
    /// Steps of both phases.
    steps: u64,
    blocks: u32,
}

impl Hybrid {
    pub fn new(racks: &[u32], blocks: u32) -> Self {
        let mut starts = vec![0];
        let mut members = 0;
        for size in racks {
            members += size;
            starts.push(members);
        }
        let leaders = Pipeline::new(racks.len() as u32, blocks);
        let inside = racks
            .iter()
            .map(|&size| Pipeline::new(size, blocks).total_steps());
        let steps = leaders.total_steps() + inside.max().unwrap_or(0);
        Self {
            starts,
            leaders,
            steps,
            blocks,
        }
    }

    fn rack(&self, rank: u32) -> u32 {
        (self.starts.partition_point(|&start| start <= rank) - 1) as u32
    }

    fn leader(&self, rack: u32) -> u32 {
        self.starts[rack as usize]
    }

    fn inside(&self, rack: u32) -> Pipeline {
        Pipeline::new(self.leader(rack + 1) - self.leader(rack), self.blocks)
    }

    /// The step within the second phase.
    fn second(&self, step: u64) -> Option<u64> {
        step.checked_sub(self.leaders.total_steps())
    }
}

impl Shape for Hybrid {
    fn total_steps(&self) -> u64 {
        self.steps
    }

    fn send_at(&self, rank: u32, step: u64) -> Option<Send> {
        let rack = self.rack(rank);
        let first = self.leader(rack);
        let Some(second) = self.second(step) else {
            let Send { to, block } = (rank == first)
                .then(|| self.leaders.send_at(rack, step))
                .flatten()?;
            let to = self.leader(to);
            return Some(Send { to, block });
        };
        let pipeline = self.inside(rack);
        let Send { to, block } = (second < pipeline.total_steps())
            .then(|| pipeline.send_at(rank - first, second))
            .flatten()?;
        let to = first + to;
        Some(Send { to, block })
    }

    fn recv_at(&self, rank: u32, step: u64) -> Option<Receive> {
        let rack = self.rack(rank);
        let first = self.leader(rack);
        let Some(second) = self.second(step) else {
            let Receive { from, block } = (rank == first)
                .then(|| self.leaders.recv_at(rack, step))
                .flatten()?;
            let from = self.leader(from);
            return Some(Receive { from, block });
        };
        let pipeline = self.inside(rack);
        let Receive { from, block } = (second < pipeline.total_steps())
            .then(|| pipeline.recv_at(rank - first, second))
            .flatten()?;
        let from = first + from;
        Some(Receive { from, block })
    }

    fn active(&self, rank: u32) -> Range<u64> {
        let rack = self.rack(rank);
        let inside = self.inside(rack);
        let second = self.leaders.total_steps();
        let start = match rank - self.leader(rack) {
            0 => self.leaders.active(rack).start,
            inner => second + inside.active(inner).start,
        };
        start..second + inside.total_steps()
    }

    fn neighbour(&self, rank: u32, index: u32) -> Option<u32> {
        let rack = self.rack(rank);
        let first = self.leader(rack);
        let mut index = index;
        if rank == first {
            let mut others = 0;
            while let Some(other) = self.leaders.neighbour(rack, others) {
                if others == index {
                    return Some(self.leader(other));
                }
                others += 1;
            }
            index -= others;
        }
        let inside = self.inside(rack).neighbour(rank - first, index)?;
        Some(first + inside)
    }

    fn senders_at(&self, _step: u64) -> Range<u32> {
        0..self.leader(self.starts.len() as u32 - 1)
    }
}
