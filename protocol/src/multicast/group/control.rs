//! What members say to each other beside the blocks.

use std::fmt;

use super::{Holdings, Repairs};
use crate::multicast::Algorithm;

/// What all members of a group must have in common (MB-8).
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Parameters {
    /// Members of the group.
    pub members: u32,
    /// Shape of the schedules.
    pub algorithm: Algorithm,
    /// Members of each rack.
    pub racks: Vec<u32>,
    /// Bytes of a block.
    pub block_bytes: u32,
    /// Cards carry out the schedule.
    pub offload: bool,
    /// A number made of whatever else must be equal.
    pub identity: u64,
}

/// What a member is suspected of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Why {
    /// It does not answer, or a transfer to it has failed.
    Gone,
    /// It made the group with other parameters than the root.
    Parameters,
    /// A message is longer than the buffer that it has.
    Length,
    /// Its card waits for what does not come.
    Stuck,
    /// What it said of its queue pairs does not fit the group, or it said nothing.
    Ticket,
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Gone => "it does not answer",
            Self::Parameters => "it made the group with other parameters than the root",
            Self::Length => "a message is longer than its buffer",
            Self::Stuck => "its card waits for what does not come",
            Self::Ticket => "its queue pairs do not fit the group, or are not known",
        })
    }
}

/// A block that a receiver lets a sender send.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Expected {
    /// Number of the message.
    pub message: u32,
    /// Number of the block; `None` while the receiver does not know the length of the message: the first that it gets.
    pub block: Option<u32>,
}

/// How a group ended.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Verdict {
    /// Every message reached every member.
    Success {
        /// Messages of the group.
        messages: u32,
    },
    /// A member failed before that was known.
    Failure {
        /// The member that is suspected.
        suspect: u32,
        /// What it is suspected of.
        why: Why,
        /// By rank: messages that the member has delivered; `None` of a member that is gone.
        watermarks: Vec<Option<u32>>,
    },
}

/// A message of the group protocol. It travels with the epoch of the group and the rank of its sender.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Control {
    /// To the root: the sender has made the group.
    Join(Parameters),
    /// To the root of a group that is resumed: what the sender has.
    Holdings(Holdings),
    /// From the root of a group that is resumed: all have made it, and this is what they lack.
    Repairs(Repairs),
    /// From the root: all have.
    Open,
    /// To a sender: blocks that it may have started by now, since the group was opened, modulo 2^32 (MB-9).
    Credit {
        /// Their number.
        granted: u32,
        /// The last of them.
        expected: Expected,
    },
    /// From the root: the group has so many messages.
    Close {
        /// Their number.
        messages: u32,
    },
    /// To the root: the sender has delivered them all, and has passed on all it had to.
    Done,
    /// A member has failed (MB-12).
    Notice {
        /// The member.
        suspect: u32,
        /// What happened.
        why: Why,
    },
    /// From the member that gathers: report, for a member has failed.
    Ask {
        /// The member.
        suspect: u32,
        /// What happened.
        why: Why,
    },
    /// To the member that gathers.
    Report {
        /// The member that has failed.
        suspect: u32,
        /// What happened.
        why: Why,
        /// Messages that the sender has delivered.
        watermark: u32,
    },
    /// The end (MB-13).
    Verdict(Verdict),
}
