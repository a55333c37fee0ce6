//! A binomial pipeline out of registers: what one rank sends and receives, step by step (MB-4, MB-5).
//!
//! It keeps the step, its remainder by the number of dimensions, the parity of the rounds, which of the two ranks of its
//! vertex is outside, and the last block that each of the two got from outside. Everything else is wiring.

use crate::multicast::{MAX_BLOCKS, MAX_MEMBERS, Receive, ScheduleError, Send};

/// What a rank does in one step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Step {
    /// The block that it sends.
    pub send: Option<Send>,
    /// The block that it receives.
    pub receive: Option<Receive>,
}

/// The steps of one rank, one after the other.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Generator {
    rank: u32,
    vertex: u32,
    dimensions: u32,
    /// Vertices of two ranks: 1 to this.
    twins: u32,
    blocks: u32,
    steps: u32,
    step: u32,
    dimension: u32,
    odd_round: bool,
    /// The twin of the vertex, not the vertex itself, receives from outside.
    changed: bool,
    /// What the rank of the vertex and its twin got from outside last.
    kept: [Option<u32>; 2],
}

impl Generator {
    /// The steps of `rank`.
    ///
    /// # Errors
    /// Sizes out of range. A rank that is not in the group does nothing in any step.
    pub fn new(members: u32, rank: u32, blocks: u32) -> Result<Self, ScheduleError> {
        if !(1..=MAX_MEMBERS).contains(&members) {
            return Err(ScheduleError::Members(members.into()));
        }
        if !(1..=MAX_BLOCKS).contains(&blocks) {
            return Err(ScheduleError::Blocks(blocks));
        }
        let dimensions = members.ilog2();
        let vertices = 1 << dimensions;
        let twins = members - vertices;
        let steps = match (members, twins) {
            _ if members == 1 || rank >= members => 0,
            (_, 0) => blocks + dimensions - 1,
            _ => blocks + dimensions,
        };
        Ok(Self {
            rank,
            vertex: rank.checked_sub(vertices).map_or(rank, |above| above + 1),
            dimensions,
            twins,
            blocks,
            steps,
            step: 0,
            dimension: 0,
            odd_round: false,
            changed: false,
            kept: [None; 2],
        })
    }

    /// Blocks of the message.
    #[must_use]
    pub fn blocks(&self) -> u32 {
        self.blocks
    }

    fn is_double(&self, vertex: u32) -> bool {
        (1..=self.twins).contains(&vertex)
    }

    fn twin(&self, vertex: u32) -> u32 {
        vertex + (1 << self.dimensions) - 1
    }

    /// The ranks of a vertex that receive from outside and send outside in this step.
    fn roles(&self, vertex: u32, changed: bool) -> (u32, u32) {
        match (self.is_double(vertex), changed) {
            (false, _) => (vertex, vertex),
            (true, false) => (vertex, self.twin(vertex)),
            (true, true) => (self.twin(vertex), vertex),
        }
    }

    /// Whether the ranks of another vertex have changed places an odd number of times before this step.
    fn has_changed(&self, vertex: u32) -> bool {
        let low = vertex & ((1 << self.dimension) - 1);
        let rounds = self.odd_round && vertex.count_ones() % 2 == 1;
        rounds != (low.count_ones() % 2 == 1)
    }

    /// The block that `vertex` sends along the dimension of this step.
    fn block_from(&self, vertex: u32) -> Option<u32> {
        let last = self.blocks - 1;
        if vertex == 0 {
            return Some(self.step.min(last));
        }
        let low = vertex & ((1 << self.dimension) - 1);
        let rotated = vertex >> self.dimension | low << (self.dimensions - self.dimension);
        if rotated == 1 {
            return None;
        }
        let block = (self.step + rotated.trailing_zeros()).checked_sub(self.dimensions)?;
        Some(block.min(last))
    }

    fn now(&self) -> Step {
        let (vertex, rank) = (self.vertex, self.rank);
        let partner = vertex ^ (1 << self.dimension);
        let (receives, sends) = self.roles(vertex, self.changed);
        let (there, from_there) = self.roles(partner, self.has_changed(partner));
        let last = self.twins > 0 && self.step + 1 == self.steps;
        if last && self.blocks == 1 {
            return self.only_block(receives, sends);
        }
        let double = self.is_double(vertex);
        let (own, twins) = match self.changed {
            false => (self.kept[0], self.kept[1]),
            true => (self.kept[1], self.kept[0]),
        };
        let send = match (double && rank == receives, last) {
            (true, _) => own.map(|block| Send { to: sends, block }),
            (false, true) => twins.filter(|_| double).map(|block| Send {
                to: receives,
                block,
            }),
            // Nobody sends to the root.
            (false, false) => self
                .block_from(vertex)
                .filter(|_| partner != 0)
                .map(|block| Send { to: there, block }),
        };
        let receive = match (double && rank == sends, last) {
            (true, _) => own.map(|block| Receive {
                from: receives,
                block,
            }),
            (false, true) => twins
                .filter(|_| double)
                .map(|block| Receive { from: sends, block }),
            (false, false) => self.incoming(partner).map(|block| Receive {
                from: from_there,
                block,
            }),
        };
        Step { send, receive }
    }

    fn incoming(&self, partner: u32) -> Option<u32> {
        match self.vertex {
            0 => None,
            _ => self.block_from(partner),
        }
    }

    /// The additional step of a message of one block: vertices 2i and 2i + 1 give it to each other's second rank.
    fn only_block(&self, receives: u32, sends: u32) -> Step {
        let (rank, other, block) = (self.rank, self.vertex ^ 1, 0);
        let (there, from_there) = self.roles(other, self.has_changed(other));
        Step {
            send: (rank == sends && self.is_double(other)).then_some(Send { to: there, block }),
            receive: (rank == receives && self.is_double(self.vertex)).then_some(Receive {
                from: from_there,
                block,
            }),
        }
    }
}

impl Iterator for Generator {
    type Item = Step;

    fn next(&mut self) -> Option<Step> {
        if self.step >= self.steps {
            return None;
        }
        let now = self.now();
        let came = self.incoming(self.vertex ^ (1 << self.dimension));
        self.kept[usize::from(self.changed)] = came;
        if self.vertex >> self.dimension & 1 == 1 {
            self.changed = !self.changed;
        }
        self.step += 1;
        self.dimension += 1;
        if self.dimension == self.dimensions {
            self.dimension = 0;
            self.odd_round = !self.odd_round;
        }
        Some(now)
    }
}
