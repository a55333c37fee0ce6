//! What a ring is told, and what it says.

use thiserror::Error;

use super::Descriptor;
use crate::multicast::ScheduleError;

/// What the host tells a card of a group.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RingConfig {
    /// Members of the group.
    pub members: u32,
    /// This one's rank.
    pub rank: u32,
    /// Bytes of a block.
    pub block_bytes: u32,
    /// Blocks that may be on their way to this member at once.
    pub credits: u32,
    /// Ticks without any progress after which a message that has begun is given up.
    pub watchdog: u32,
    /// What all counters begin at.
    pub origin: u32,
    /// Deliberate errors.
    pub mutations: RingMutations,
}

/// Deliberate errors, each to be caught by a test of its name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct RingMutations {
    /// Counters are compared as plain numbers.
    pub not_modulo: bool,
    /// A failed transfer counts as one that came.
    pub error_satisfies: bool,
    /// A group whose head waits stops those behind it.
    pub blocks_others: bool,
    /// Each of the messages on hand gets an error completion.
    pub two_errors: bool,
    /// Nobody looks at the time.
    pub no_watchdog: bool,
    /// STOP is done at once.
    pub no_drain: bool,
    /// A head that waits is looked at once.
    pub no_recheck: bool,
}

/// Why there is no such ring, or no such message in it.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum RingError {
    /// The sizes make no schedule.
    #[error(transparent)]
    Schedule(#[from] ScheduleError),
    /// A number that must not be 0, or not 1.
    #[error("{what} {value}: at least {least}")]
    TooSmall {
        /// Which.
        what: &'static str,
        /// Its value.
        value: u32,
        /// What would be right.
        least: u32,
    },
    /// The rank is not in the group.
    #[error("rank {rank} in a group of {members}")]
    Rank {
        /// The rank.
        rank: u32,
        /// Members.
        members: u32,
    },
    /// The root receives nothing, the others send nothing of their own.
    #[error("rank {0}: only rank 0 posts messages to send, and only the others post buffers")]
    Role(u32),
    /// A message of more blocks than a schedule has.
    #[error("a message of {length} bytes: with blocks of {block_bytes} it has up to {most}")]
    Length {
        /// Its bytes.
        length: u64,
        /// Bytes of a block.
        block_bytes: u32,
        /// Most bytes.
        most: u64,
    },
    /// It was stopped, or has failed.
    #[error("the ring has stopped")]
    Stopped,
}

/// One doorbell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Job {
    /// The root sends a message.
    Send {
        /// Its bytes.
        length: u64,
    },
    /// A buffer for the next message.
    Receive {
        /// Its bytes.
        room: u64,
    },
}

/// How a doorbell ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Status {
    /// Every block came and was passed on.
    Done,
    /// A transfer to or from this rank has failed.
    Failed {
        /// The rank.
        peer: u32,
    },
    /// The message is longer than the buffer.
    TooLong,
    /// Nothing came for too long.
    Watchdog,
    /// The host has stopped the group; nothing is under way any more.
    Stopped,
}

/// What the host gets for a doorbell: one for each message that was carried out; one if the group ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Completion {
    /// Number of the message; of an error, the first that was not carried out.
    pub message: u32,
    /// Bytes of the message, 0 if unknown.
    pub length: u64,
    /// How it ended.
    pub status: Status,
}

/// What a ring wants done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RingOutput {
    /// Tell a member that it may have started so many blocks by now.
    Grant {
        /// Its rank.
        to: u32,
        /// Their number, modulo 2^32.
        granted: u32,
    },
    /// Send a block. Then: [`Ring::sent`](super::Ring::sent), or [`Ring::failed`](super::Ring::failed).
    Start {
        /// Number of the message.
        message: u32,
        /// Bytes of the message; they travel with the block.
        length: u64,
        /// The send.
        descriptor: Descriptor,
    },
    /// Tell the host.
    Completion(Completion),
}

/// What was dropped, without any other effect.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Counters {
    /// Blocks that were not granted: they are refused before a byte of them is written.
    pub unexpected: u64,
    /// Messages of ranks that are not in the group, and reports about nothing.
    pub strange: u64,
}
