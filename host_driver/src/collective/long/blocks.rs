//! Which blocks go from whom to whom, and where they land. All members see the same.

/// What a long operation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// Everyone gets what comes out.
    AllReduce,
    /// This rank alone gets it.
    Reduce(usize),
    /// Each member keeps its block of it.
    ReduceScatter,
    /// Everyone gets everyone's block.
    AllGather,
    /// Everyone gets the blocks of this rank.
    Broadcast(usize),
}

impl Flow {
    /// Its number in messages, and the rank that it is about.
    pub const fn code(self) -> (u8, u32) {
        match self {
            Self::AllReduce => (1, 0),
            Self::Reduce(root) => (2, root as u32),
            Self::ReduceScatter => (3, 0),
            Self::AllGather => (4, 0),
            Self::Broadcast(root) => (5, root as u32),
        }
    }

    /// Whether a member gets everyone's blocks.
    pub const fn collects(self, rank: usize) -> bool {
        match self {
            Self::AllReduce | Self::AllGather => true,
            Self::Reduce(root) => rank == root,
            Self::ReduceScatter => false,
            Self::Broadcast(root) => rank != root,
        }
    }

    /// Whether a member keeps what it has combined.
    pub const fn keeps(self, rank: usize) -> bool {
        self.collects(rank) || matches!(self, Self::ReduceScatter)
    }

    const fn combines(self) -> bool {
        matches!(
            self,
            Self::AllReduce | Self::Reduce(_) | Self::ReduceScatter
        )
    }
}

/// The two parts of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// Each member gets its block.
    Deal,
    /// Members give their blocks to those who want all.
    Collect,
}

impl Phase {
    /// Both, in their order.
    pub const ALL: [Self; 2] = [Self::Deal, Self::Collect];
}

/// The blocks of an operation, one for each member.
#[derive(Clone, Debug)]
pub struct Blocks {
    pub flow: Flow,
    /// Where each begins among all of them, and the end of the last, in bytes as they travel.
    starts: Vec<usize>,
}

impl Blocks {
    pub fn new(flow: Flow, lengths: impl Iterator<Item = usize>) -> Self {
        let mut starts = vec![0];
        let mut end = 0;
        for length in lengths {
            end += length;
            starts.push(end);
        }
        Self { flow, starts }
    }

    /// Members.
    pub const fn size(&self) -> usize {
        self.starts.len() - 1
    }

    pub fn total(&self) -> usize {
        self.starts[self.size()]
    }

    pub fn start(&self, block: usize) -> usize {
        self.starts[block]
    }

    pub fn length(&self, block: usize) -> usize {
        self.starts[block + 1] - self.starts[block]
    }

    /// The block that a member sends another one in a phase; nothing if there is none, or it is empty.
    pub fn moves(&self, phase: Phase, from: usize, to: usize) -> Option<usize> {
        let (block, goes) = match phase {
            Phase::Deal => (
                to,
                match self.flow {
                    Flow::Broadcast(root) => from == root,
                    flow => flow.combines(),
                },
            ),
            Phase::Collect => (from, self.flow.collects(to)),
        };
        (goes && from != to && self.length(block) > 0).then_some(block)
    }

    /// Those to whom a member sends in a phase.
    pub fn targets(&self, phase: Phase, from: usize) -> impl Iterator<Item = usize> {
        let all = (1..self.size()).map(move |step| (from + step) % self.size());
        all.filter(move |&to| self.moves(phase, from, to).is_some())
    }

    /// Those from whom a member gets a block in a phase.
    pub fn sources(&self, phase: Phase, to: usize) -> impl Iterator<Item = usize> {
        let all = 0..self.size();
        all.filter(move |&from| self.moves(phase, from, to).is_some())
    }

    /// Bytes in front of what a member collects: the blocks that it combines.
    fn dealt(&self, to: usize) -> usize {
        if self.flow.combines() {
            self.size() * self.length(to)
        } else {
            0
        }
    }

    /// Where a block lands in the memory of the one who gets it.
    pub fn lands(&self, phase: Phase, from: usize, to: usize) -> usize {
        match phase {
            Phase::Deal if self.flow.combines() => from * self.length(to),
            // It is part of what is collected.
            Phase::Deal => self.start(to),
            Phase::Collect => self.dealt(to) + self.start(from),
        }
    }

    /// Bytes of memory that a member lends.
    pub fn room(&self, to: usize) -> usize {
        let collects = self.sources(Phase::Collect, to).next().is_some();
        let deals = !self.flow.combines() && self.sources(Phase::Deal, to).next().is_some();
        let all = if collects || deals { self.total() } else { 0 };
        self.dealt(to) + all
    }

    /// Where a block that a member sends stands in the memory that it sends from.
    pub fn leaves(&self, phase: Phase, from: usize, block: usize) -> usize {
        match phase {
            Phase::Deal => self.start(block),
            Phase::Collect => self.deals_out(from),
        }
    }

    /// Bytes of memory that a member sends from.
    pub fn outgoing(&self, from: usize) -> usize {
        self.deals_out(from) + self.length(from)
    }

    fn deals_out(&self, from: usize) -> usize {
        let deals = self.targets(Phase::Deal, from).next().is_some();
        if deals { self.total() } else { 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// In any flow with any lengths, nothing that lands at a member overlaps anything else, all is in its memory, and who collects
    /// gets every block but its own.
    #[test]
    fn cl_08_blocks_of_long_operations_land_beside_each_other() {
        let flows = [
            Flow::AllReduce,
            Flow::Reduce(2),
            Flow::ReduceScatter,
            Flow::AllGather,
            Flow::Broadcast(2),
        ];
        for lengths in [vec![5; 3], vec![7, 0, 3, 9, 0], vec![1, 0, 0, 0]] {
            for flow in flows {
                let blocks = Blocks::new(flow, lengths.iter().copied());
                let size = lengths.len();
                for to in 0..size {
                    let mut bytes = vec![0; blocks.room(to)];
                    for phase in Phase::ALL {
                        for from in blocks.sources(phase, to) {
                            assert!(blocks.targets(phase, from).any(|at| at == to));
                            let block = blocks.moves(phase, from, to).unwrap();
                            let at = blocks.lands(phase, from, to);
                            for byte in &mut bytes[at..at + blocks.length(block)] {
                                *byte += 1;
                            }
                            let end = blocks.leaves(phase, from, block) + blocks.length(block);
                            assert!(end <= blocks.outgoing(from));
                        }
                    }
                    assert!(bytes.iter().all(|&times| times <= 1), "{flow:?} {to}");
                    let landed = bytes.iter().filter(|&&times| times == 1).count();
                    let (own, all) = (blocks.length(to), blocks.total());
                    let others = (size - 1) * own;
                    let expected = match flow {
                        Flow::AllReduce => others + all - own,
                        Flow::Reduce(root) if to == root => others + all - own,
                        Flow::Reduce(_) | Flow::ReduceScatter => others,
                        Flow::AllGather => all - own,
                        Flow::Broadcast(root) if to == root => 0,
                        Flow::Broadcast(_) => all,
                    };
                    assert_eq!(landed, expected, "{flow:?} {to} of {lengths:?}");
                }
            }
        }
    }
}
