//! Block schedules: who sends which block to whom at which step (MB-1 to MB-7).
//!
//! Ranks count from 0, and rank 0 is the root. Blocks and steps count from 0. In one step a rank sends at most one block
//! and receives at most one. A rank sends only what it received in an earlier step. Every schedule moves k (n - 1) blocks.

mod hybrid;
mod layout;
mod pipeline;
mod plain;
mod repair;
mod transfers;

use std::fmt;

use thiserror::Error;

pub use layout::Layout;
pub use transfers::Transfers;

use bitvec::vec::BitVec;
use hybrid::Hybrid;
use pipeline::Pipeline;
use plain::{Chain, Sequential, Tree};
use repair::Repair;

/// Most members of a group: addresses of ranks have 16 bits in the card's descriptors.
pub const MAX_MEMBERS: u32 = 1 << 16;

/// Most blocks of a message.
pub const MAX_BLOCKS: u32 = 1 << 20;

/// The shape of a schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Algorithm {
    /// The root sends the whole message to one member after the other (MB-1).
    Sequential,
    /// Rank i passes each block on to rank i + 1 (MB-2).
    Chain,
    /// The number of members that have the whole message doubles in each stage (MB-3).
    BinomialTree,
    /// Members are corners of a hypercube and talk along one dimension after the other (MB-4, MB-5).
    BinomialPipeline,
    /// A binomial pipeline among the first members of racks, then one inside each rack (MB-6).
    Hybrid,
    /// Made for members that have some of the blocks: each gets what it lacks (MB-14).
    Repair,
}

impl Algorithm {
    /// Those that bring a message from the root to everyone.
    pub const ALL: [Self; 5] = [
        Self::Sequential,
        Self::Chain,
        Self::BinomialTree,
        Self::BinomialPipeline,
        Self::Hybrid,
    ];

    /// The name on command lines and in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Sequential => "sequential",
            Self::Chain => "chain",
            Self::BinomialTree => "binomial-tree",
            Self::BinomialPipeline => "binomial-pipeline",
            Self::Hybrid => "hybrid",
            Self::Repair => "repair",
        }
    }
}

impl fmt::Display for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Why there is no such schedule.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ScheduleError {
    /// The group has no member or too many.
    #[error("{0} members: a group has 1 to {MAX_MEMBERS}")]
    Members(u64),
    /// The message has no block or too many.
    #[error("{0} blocks: a message has 1 to {MAX_BLOCKS}")]
    Blocks(u32),
    /// A rack has no member.
    #[error("rack {0} is empty: each rack has at least one member")]
    EmptyRack(usize),
    /// A repair is made of what members have.
    #[error("a repair is made of what each member has")]
    NeedsHoldings,
    /// Some block is nowhere, or members disagree about how many there are.
    #[error("nobody has some block of the message")]
    Lost,
    /// Only a schedule for racks takes racks, and it needs them.
    #[error("the {0} schedule is made by its number of members; `hybrid` is made by racks")]
    Racks(Algorithm),
}

/// A block that a rank sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Send {
    /// Rank that receives it.
    pub to: u32,
    /// Number of the block.
    pub block: u32,
}

/// A block that a rank receives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Receive {
    /// Rank that sends it.
    pub from: u32,
    /// Number of the block.
    pub block: u32,
}

/// The first block that a rank receives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct First {
    /// Step of the transfer.
    pub step: u64,
    /// Rank that sends it.
    pub from: u32,
    /// Number of the block.
    pub block: u32,
}

/// One block from one rank to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// Step in which the block moves.
    pub step: u64,
    /// Rank that sends it.
    pub src: u32,
    /// Rank that receives it.
    pub dst: u32,
    /// Number of the block.
    pub block: u32,
}

/// What each shape answers. Ranks and steps are in range.
trait Shape {
    fn total_steps(&self) -> u64;
    fn send_at(&self, rank: u32, step: u64) -> Option<Send>;
    fn recv_at(&self, rank: u32, step: u64) -> Option<Receive>;
    /// The steps in which `rank` may send or receive. A rank that is not the root receives its first block near their start.
    fn active(&self, rank: u32) -> std::ops::Range<u64>;
    /// The `index`-th rank that `rank` talks to, in the order in which a member connects. `None` behind the last.
    fn neighbour(&self, rank: u32, index: u32) -> Option<u32>;
    /// Ranks beyond this range send nothing at `step`.
    fn senders_at(&self, step: u64) -> std::ops::Range<u32>;
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Kind {
    Sequential(Sequential),
    Chain(Chain),
    Tree(Tree),
    Pipeline(Pipeline),
    Hybrid(Hybrid),
    Repair(Repair),
}

/// The schedule of one message: a function of algorithm, members and blocks (MB-7).
///
/// Every query takes O(1) or, for [`first_block`](Self::first_block) and racks, O(log n) time and allocates nothing.
///
/// ```
/// use tributary_protocol::multicast::{Algorithm, Schedule, Send};
///
/// let schedule = Schedule::new(Algorithm::BinomialPipeline, 8, 100)?;
/// assert_eq!(schedule.total_steps(), 100 + 3 - 1);
/// assert_eq!(schedule.send_at(0, 7), Some(Send { to: 2, block: 7 }));
/// assert_eq!(schedule.transfers().count(), 100 * 7);
/// # Ok::<(), tributary_protocol::multicast::ScheduleError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Schedule {
    algorithm: Algorithm,
    members: u32,
    blocks: u32,
    kind: Kind,
}

impl Schedule {
    /// The schedule of a group of `members` for a message of `blocks` blocks.
    ///
    /// # Errors
    /// Sizes out of range; [`Algorithm::Hybrid`], which is made by [`hybrid`](Self::hybrid).
    pub fn new(algorithm: Algorithm, members: u32, blocks: u32) -> Result<Self, ScheduleError> {
        check_sizes(members.into(), blocks)?;
        let kind = match algorithm {
            Algorithm::Sequential => Kind::Sequential(Sequential::new(members, blocks)),
            Algorithm::Chain => Kind::Chain(Chain::new(members, blocks)),
            Algorithm::BinomialTree => Kind::Tree(Tree::new(members, blocks)),
            Algorithm::BinomialPipeline => Kind::Pipeline(Pipeline::new(members, blocks)),
            Algorithm::Hybrid => return Err(ScheduleError::Racks(algorithm)),
            Algorithm::Repair => return Err(ScheduleError::NeedsHoldings),
        };
        Ok(Self {
            algorithm,
            members,
            blocks,
            kind,
        })
    }

    /// The hybrid schedule: rack i has `racks[i]` members, whose ranks follow those of rack i - 1. The first member of a
    /// rack takes part in both phases. The second phase begins when the first has ended everywhere.
    ///
    /// # Errors
    /// Sizes out of range, or an empty rack.
    pub fn hybrid(racks: &[u32], blocks: u32) -> Result<Self, ScheduleError> {
        let members = racks.iter().map(|&size| u64::from(size)).sum();
        check_sizes(members, blocks)?;
        if let Some(empty) = racks.iter().position(|&size| size == 0) {
            return Err(ScheduleError::EmptyRack(empty));
        }
        Ok(Self {
            algorithm: Algorithm::Hybrid,
            members: members as u32,
            blocks,
            kind: Kind::Hybrid(Hybrid::new(racks, blocks)),
        })
    }

    /// The schedule that brings each member the blocks that it lacks, from members that have them: `have` by rank (MB-14).
    /// Every member that makes it of the same lists has the same one.
    ///
    /// # Errors
    /// Sizes out of range; a block that nobody has.
    pub fn repair(have: &[BitVec]) -> Result<Self, ScheduleError> {
        let blocks = have.first().map_or(0, BitVec::len);
        let size = u32::try_from(blocks).unwrap_or(u32::MAX);
        check_sizes(have.len() as u64, size)?;
        if have.iter().any(|list| list.len() != blocks) {
            return Err(ScheduleError::Lost);
        }
        Ok(Self {
            algorithm: Algorithm::Repair,
            members: have.len() as u32,
            blocks: size,
            kind: Kind::Repair(Repair::new(have).ok_or(ScheduleError::Lost)?),
        })
    }

    /// Its shape.
    pub fn algorithm(&self) -> Algorithm {
        self.algorithm
    }

    /// Members of the group, the root among them.
    pub fn members(&self) -> u32 {
        self.members
    }

    /// Blocks of the message.
    pub fn blocks(&self) -> u32 {
        self.blocks
    }

    fn shape(&self) -> &dyn Shape {
        match &self.kind {
            Kind::Sequential(shape) => shape,
            Kind::Chain(shape) => shape,
            Kind::Tree(shape) => shape,
            Kind::Pipeline(shape) => shape,
            Kind::Hybrid(shape) => shape,
            Kind::Repair(shape) => shape,
        }
    }

    fn within(&self, rank: u32, step: u64) -> bool {
        rank < self.members && step < self.total_steps()
    }

    /// Steps until every member has every block. A group of one member needs none.
    pub fn total_steps(&self) -> u64 {
        self.shape().total_steps()
    }

    /// What `rank` sends at `step`. `None` also for ranks and steps that do not exist.
    pub fn send_at(&self, rank: u32, step: u64) -> Option<Send> {
        self.within(rank, step)
            .then(|| self.shape().send_at(rank, step))
            .flatten()
    }

    /// What `rank` receives at `step`. `None` also for ranks and steps that do not exist.
    pub fn recv_at(&self, rank: u32, step: u64) -> Option<Receive> {
        self.within(rank, step)
            .then(|| self.shape().recv_at(rank, step))
            .flatten()
    }

    /// The first block that `rank` receives; `None` for the root and for ranks that do not exist.
    pub fn first_block(&self, rank: u32) -> Option<First> {
        if rank == 0 || rank >= self.members {
            return None;
        }
        let shape = self.shape();
        shape.active(rank).find_map(|step| {
            let Receive { from, block } = shape.recv_at(rank, step)?;
            Some(First { step, from, block })
        })
    }

    /// The ranks that `rank` may send to or receive from, each once, in the order in which a member connects to them.
    pub fn neighbours(&self, rank: u32) -> Neighbours<'_> {
        Neighbours {
            schedule: self,
            rank,
            index: 0,
        }
    }

    /// What `rank` sends from `step` on, by steps. A rank of a group looks at as many steps as it takes part in.
    pub fn sends(&self, rank: u32, step: u64) -> impl Iterator<Item = (u64, Send)> + '_ {
        self.steps_of(rank, step)
            .filter_map(move |step| Some((step, self.shape().send_at(rank, step)?)))
    }

    /// What `rank` receives from `step` on, by steps.
    pub fn receives(&self, rank: u32, step: u64) -> impl Iterator<Item = (u64, Receive)> + '_ {
        self.steps_of(rank, step)
            .filter_map(move |step| Some((step, self.shape().recv_at(rank, step)?)))
    }

    fn steps_of(&self, rank: u32, step: u64) -> std::ops::Range<u64> {
        if rank >= self.members {
            return 0..0;
        }
        let active = self.shape().active(rank);
        active.start.max(step)..active.end
    }

    /// Every transfer, ordered by step and then by sending rank.
    pub fn transfers(&self) -> Transfers<'_> {
        Transfers::new(self)
    }
}

fn check_sizes(members: u64, blocks: u32) -> Result<(), ScheduleError> {
    if !(1..=u64::from(MAX_MEMBERS)).contains(&members) {
        return Err(ScheduleError::Members(members));
    }
    if !(1..=MAX_BLOCKS).contains(&blocks) {
        return Err(ScheduleError::Blocks(blocks));
    }
    Ok(())
}

/// The ranks that a rank talks to: see [`Schedule::neighbours`].
#[derive(Clone, Debug)]
pub struct Neighbours<'a> {
    schedule: &'a Schedule,
    rank: u32,
    index: u32,
}

impl Iterator for Neighbours<'_> {
    type Item = u32;

    fn next(&mut self) -> Option<u32> {
        if self.rank >= self.schedule.members {
            return None;
        }
        let next = self.schedule.shape().neighbour(self.rank, self.index)?;
        self.index += 1;
        Some(next)
    }
}
