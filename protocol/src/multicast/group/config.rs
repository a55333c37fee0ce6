//! What a group is made with.

use thiserror::Error;

use super::Parameters;
use crate::multicast::{Algorithm, MAX_BLOCKS, Schedule, ScheduleError};

/// What a group is made with. All but `credits` must be the same at every member (MB-8).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct GroupConfig {
    /// Members, the root among them, which is rank 0. With racks their sum.
    pub members: u32,
    /// Shape of the schedules.
    pub algorithm: Algorithm,
    /// Members of each rack, for [`Algorithm::Hybrid`]; else empty.
    pub racks: Vec<u32>,
    /// Bytes of a block; the last one of a message may be shorter.
    pub block_bytes: u32,
    /// Blocks that this member allows to be on their way to it at once, at least 2 (MB-9).
    pub credits: u32,
    /// What else must be equal, such as the list of addresses, as a number made of it.
    pub identity: u64,
    /// The card carries out the schedule (MB-16): this machine posts messages and buffers, and hears of their end.
    pub offload: bool,
    /// Deliberate errors.
    pub mutations: Mutations,
}

/// Deliberate errors, each to be caught by a test of its name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Mutations {
    /// A member allows one block at a time.
    pub one_credit: bool,
    /// Messages of other incarnations of the group count.
    pub no_epoch: bool,
    /// Receivers report a length rounded up to whole blocks.
    pub rounded_length: bool,
    /// A member keeps the notice of a failure to itself.
    pub notice_not_relayed: bool,
    /// The root closes without hearing that the members have everything.
    pub no_barrier: bool,
    /// A member reports a message more than it has delivered.
    pub watermark_off_by_one: bool,
    /// A member of a group that is resumed says that it has nothing of what it has in part.
    pub resend_all: bool,
}

/// Why there is no such group, or no such message in it.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum GroupError {
    /// The sizes make no schedule.
    #[error(transparent)]
    Schedule(#[from] ScheduleError),
    /// Racks and members differ.
    #[error("{members} members, but the racks have {racks} together")]
    Racks {
        /// Members as given.
        members: u32,
        /// Sum of the racks.
        racks: u64,
    },
    /// No block could be sent.
    #[error("blocks of 0 bytes: a block has at least one")]
    BlockBytes,
    /// Too few credits to keep a link busy.
    #[error("{0} credits: a member allows at least 2 blocks on their way to it")]
    Credits(u32),
    /// There is no such rank.
    #[error("rank {rank} in a group of {members}")]
    Rank {
        /// The rank.
        rank: u32,
        /// Members of the group.
        members: u32,
    },
    /// Only the root sends and closes.
    #[error("rank {0} is not the root; only rank 0 sends and closes")]
    NotRoot(u32),
    /// The message has more blocks than a schedule can have.
    #[error("a message of {length} bytes; with blocks of {block_bytes} a message has up to {most}")]
    Length {
        /// Bytes of the message.
        length: u64,
        /// Bytes of a block.
        block_bytes: u32,
        /// Most bytes of a message.
        most: u64,
    },
    /// Cards do not repair.
    #[error("a group is resumed by its hosts: offload must be off")]
    ResumeOffload,
    /// Buffers are posted ahead at members other than the root of a group that is offloaded.
    #[error("rank {0} posts no buffers: only receivers of offloaded groups do")]
    NoBuffers(u32),
    /// The group has been closed or is being closed.
    #[error("the group is closed")]
    Closed,
    /// The group has failed.
    #[error("the group has failed: member {suspect}: {why}")]
    Failed {
        /// The member that is suspected.
        suspect: u32,
        /// What it is suspected of.
        why: super::Why,
    },
}

impl GroupConfig {
    /// A binomial pipeline with two credits.
    #[must_use]
    pub fn new(members: u32, block_bytes: u32) -> Self {
        Self {
            members,
            algorithm: Algorithm::BinomialPipeline,
            racks: Vec::new(),
            block_bytes,
            credits: 2,
            identity: 0,
            offload: false,
            mutations: Mutations::default(),
        }
    }

    /// Checks it.
    ///
    /// # Errors
    /// What cannot be.
    pub fn check(&self) -> Result<(), GroupError> {
        if self.block_bytes == 0 {
            return Err(GroupError::BlockBytes);
        }
        if self.credits < 2 {
            return Err(GroupError::Credits(self.credits));
        }
        let racks: u64 = self.racks.iter().map(|&size| u64::from(size)).sum();
        if self.algorithm == Algorithm::Hybrid && racks != u64::from(self.members) {
            let members = self.members;
            return Err(GroupError::Racks { members, racks });
        }
        self.schedule(1).map(|_| ())
    }

    /// Blocks of a message of `length` bytes; an empty message is one empty block.
    ///
    /// # Errors
    /// A message that has too many.
    pub fn blocks(&self, length: u64) -> Result<u32, GroupError> {
        let blocks = length.div_ceil(self.block_bytes.into()).max(1);
        if blocks > MAX_BLOCKS.into() {
            return Err(GroupError::Length {
                length,
                block_bytes: self.block_bytes,
                most: u64::from(MAX_BLOCKS) * u64::from(self.block_bytes),
            });
        }
        Ok(blocks as u32)
    }

    /// Bytes of a block of a message of `length` bytes.
    #[must_use]
    pub fn bytes_of(&self, length: u64, block: u32) -> u32 {
        let offset = self.offset(block);
        length
            .saturating_sub(offset)
            .min(u64::from(self.block_bytes)) as u32
    }

    /// Where a block lies in its message.
    #[must_use]
    pub fn offset(&self, block: u32) -> u64 {
        u64::from(block) * u64::from(self.block_bytes)
    }

    /// The schedule of a message of so many blocks.
    ///
    /// # Errors
    /// Sizes that make no schedule.
    pub fn schedule(&self, blocks: u32) -> Result<Schedule, GroupError> {
        Ok(match self.algorithm {
            Algorithm::Hybrid => Schedule::hybrid(&self.racks, blocks)?,
            other => Schedule::new(other, self.members, blocks)?,
        })
    }

    /// What all members must agree on.
    #[must_use]
    pub fn parameters(&self) -> Parameters {
        Parameters {
            members: self.members,
            algorithm: self.algorithm,
            racks: self.racks.clone(),
            block_bytes: self.block_bytes,
            offload: self.offload,
            identity: self.identity,
        }
    }
}
