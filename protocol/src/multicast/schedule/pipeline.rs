//! The binomial pipeline (MB-4, MB-5).
//!
//! N = 2^l is the largest power of two that is not above the number of members n. A hypercube with l dimensions has N
//! vertices. Vertex 0 holds the root; vertices 1 to n - N hold two ranks each, v and its twin v + N - 1; the others hold
//! one. At step t the vertices talk along dimension t mod l.
//!
//! A vertex of two ranks acts as one: at each step one of its ranks receives from outside, and the other sends outside.
//! Inside, the one that receives passes on the last block that it got from outside. The two change places after each step
//! whose dimension is a bit of the vertex's number.

use std::ops::Range;

use super::{Receive, Send, Shape};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Pipeline {
    blocks: u32,
    members: u32,
    /// l: dimensions of the hypercube. 0 only for a group of one.
    dimensions: u32,
    /// n - N: vertices of two ranks.
    twins: u32,
}

impl Pipeline {
    pub fn new(members: u32, blocks: u32) -> Self {
        let dimensions = members.ilog2();
        Self {
            blocks,
            members,
            dimensions,
            twins: members - (1 << dimensions),
        }
    }

    /// N.
    fn vertices(self) -> u32 {
        1 << self.dimensions
    }

    fn vertex(self, rank: u32) -> u32 {
        match rank.checked_sub(self.vertices()) {
            None => rank,
            Some(above) => above + 1,
        }
    }

    fn is_double(self, vertex: u32) -> bool {
        (1..=self.twins).contains(&vertex)
    }

    fn dimension(self, step: u64) -> u32 {
        (step % u64::from(self.dimensions)) as u32
    }

    fn partner(self, vertex: u32, step: u64) -> u32 {
        vertex ^ (1 << self.dimension(step))
    }

    /// MB-4: the block that `vertex` sends to its partner at `step`.
    fn block_from(self, vertex: u32, step: u64) -> Option<u32> {
        let last = u64::from(self.blocks - 1);
        if vertex == 0 {
            return Some(step.min(last) as u32);
        }
        let dimension = self.dimension(step);
        let low = vertex & ((1 << dimension) - 1);
        let rotated = vertex >> dimension | low << (self.dimensions - dimension);
        if rotated == 1 {
            return None;
        }
        let block =
            (step + u64::from(rotated.trailing_zeros())).checked_sub(u64::from(self.dimensions))?;
        Some(block.min(last) as u32)
    }

    /// B: the block that comes to `vertex` from outside at `step`.
    fn block_to(self, vertex: u32, step: u64) -> Option<u32> {
        if vertex == 0 {
            return None;
        }
        self.block_from(self.partner(vertex, step), step)
    }

    /// R: the rank of `vertex` that receives from outside at `step`.
    fn receiver(self, vertex: u32, step: u64) -> u32 {
        if !self.is_double(vertex) {
            return vertex;
        }
        let rounds = step / u64::from(self.dimensions);
        let low = vertex & ((1 << self.dimension(step)) - 1);
        let changes = rounds * u64::from(vertex.count_ones()) + u64::from(low.count_ones());
        match changes % 2 {
            0 => vertex,
            _ => self.twin(vertex),
        }
    }

    fn twin(self, vertex: u32) -> u32 {
        vertex + self.vertices() - 1
    }

    /// S: the rank of `vertex` that sends outside at `step`.
    fn sender(self, vertex: u32, step: u64) -> u32 {
        if !self.is_double(vertex) {
            return vertex;
        }
        vertex + self.twin(vertex) - self.receiver(vertex, step)
    }

    /// The last step before `step` whose dimension is a bit of `vertex`: after it the two ranks changed places.
    fn change_before(self, vertex: u32, step: u64) -> Option<u64> {
        if step == 0 {
            return None;
        }
        let last = self.dimension(step - 1);
        // Bits in the order of steps that go back from step - 1.
        let upto = vertex & (u32::MAX >> (31 - last));
        let back = match upto {
            0 => last + self.dimensions - vertex.ilog2(),
            bits => last - bits.ilog2(),
        };
        (step - 1).checked_sub(back.into())
    }

    /// What the rank that receives from outside at `step` got from outside last: the block that it passes on inside.
    fn kept_by_receiver(self, vertex: u32, step: u64) -> Option<u32> {
        let change = self.change_before(vertex, step);
        let since = match change {
            // The same rank received one step ago.
            Some(change) if change + 1 == step => self.change_before(vertex, change)?,
            _ => step.checked_sub(1)?,
        };
        self.block_to(vertex, since)
    }

    /// What the rank that sends outside at `step` got from outside last.
    fn kept_by_sender(self, vertex: u32, step: u64) -> Option<u32> {
        self.block_to(vertex, self.change_before(vertex, step)?)
    }

    /// The additional step of groups that are no power of two.
    fn is_last(self, step: u64) -> bool {
        self.twins > 0 && step + 1 == self.total_steps()
    }
}

impl Shape for Pipeline {
    fn total_steps(&self) -> u64 {
        match (self.members, self.twins) {
            (1, _) => 0,
            (_, 0) => u64::from(self.blocks + self.dimensions - 1),
            _ => u64::from(self.blocks + self.dimensions),
        }
    }

    fn send_at(&self, rank: u32, step: u64) -> Option<Send> {
        let vertex = self.vertex(rank);
        let receives = self.receiver(vertex, step);
        let sends = self.sender(vertex, step);
        if self.is_last(step) && self.blocks == 1 {
            // Vertex pairs 2i and 2i + 1: what the missing rank of each is sent comes from the other vertex.
            let to = vertex ^ 1;
            return (rank == sends && self.is_double(to)).then(|| Send {
                to: self.receiver(to, step),
                block: 0,
            });
        }
        if self.is_double(vertex) && rank == receives {
            let block = self.kept_by_receiver(vertex, step)?;
            return Some(Send { to: sends, block });
        }
        if self.is_last(step) {
            let block = self
                .is_double(vertex)
                .then(|| self.kept_by_sender(vertex, step))??;
            return Some(Send {
                to: receives,
                block,
            });
        }
        let partner = self.partner(vertex, step);
        let block = self.block_to(partner, step)?;
        Some(Send {
            to: self.receiver(partner, step),
            block,
        })
    }

    fn recv_at(&self, rank: u32, step: u64) -> Option<Receive> {
        let vertex = self.vertex(rank);
        let receives = self.receiver(vertex, step);
        let sends = self.sender(vertex, step);
        if self.is_last(step) && self.blocks == 1 {
            return (rank == receives && self.is_double(vertex)).then(|| Receive {
                from: self.sender(vertex ^ 1, step),
                block: 0,
            });
        }
        if self.is_double(vertex) && rank == sends {
            let block = self.kept_by_receiver(vertex, step)?;
            return Some(Receive {
                from: receives,
                block,
            });
        }
        if self.is_last(step) {
            let block = self
                .is_double(vertex)
                .then(|| self.kept_by_sender(vertex, step))??;
            return Some(Receive { from: sends, block });
        }
        let block = self.block_to(vertex, step)?;
        Some(Receive {
            from: self.sender(self.partner(vertex, step), step),
            block,
        })
    }

    fn active(&self, rank: u32) -> Range<u64> {
        let top = self.vertex(rank).checked_ilog2().unwrap_or(0);
        u64::from(top)..self.total_steps()
    }

    fn neighbour(&self, rank: u32, index: u32) -> Option<u32> {
        let vertex = self.vertex(rank);
        let mut left = index;
        if self.is_double(vertex) {
            if left == 0 {
                return Some(vertex + self.twin(vertex) - rank);
            }
            left -= 1;
        }
        for dimension in 0..self.dimensions {
            let other = vertex ^ (1 << dimension);
            let ranks = 1 + u32::from(self.is_double(other));
            match left {
                0 => return Some(other),
                1 if ranks == 2 => return Some(self.twin(other)),
                _ => left -= ranks,
            }
        }
        None
    }

    fn senders_at(&self, _step: u64) -> Range<u32> {
        0..self.members
    }
}
