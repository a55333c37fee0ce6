//! What can go wrong.

use thiserror::Error;

use crate::{AddressHandle, Error};

/// What a member did to end a communicator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Why {
    /// It did not answer: its program has ended, or does not poll.
    Silent = 1,
    /// Messages to it did not arrive.
    Unreachable = 2,
    /// It has closed or dropped the communicator.
    Left = 3,
    /// It called another operation, or the same with another type or length.
    Mismatch = 4,
    /// The network has repeated its frame below an engine: a result may be wrong.
    Doubtful = 5,
    /// It sent what no member sends.
    Strange = 6,
    /// Its card or driver failed.
    Broken = 7,
}

impl Why {
    const ALL: [Self; 7] = [
        Self::Silent,
        Self::Unreachable,
        Self::Left,
        Self::Mismatch,
        Self::Doubtful,
        Self::Strange,
        Self::Broken,
    ];

    /// Its number in messages and for C.
    #[must_use]
    pub const fn code(self) -> u8 {
        self as u8
    }

    /// The reason with this number.
    #[must_use]
    pub fn from_code(code: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|why| why.code() == code)
    }
}

impl std::fmt::Display for Why {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Silent => "does not answer",
            Self::Unreachable => "cannot be reached",
            Self::Left => "has left",
            Self::Mismatch => "called another operation",
            Self::Doubtful => "may have been counted twice",
            Self::Strange => "sent what no member sends",
            Self::Broken => "has a card or driver that failed",
        })
    }
}

/// Why there is no communicator, or an operation has no result.
#[derive(Debug, Error)]
pub enum CollectiveError {
    /// The driver.
    #[error(transparent)]
    Driver(#[from] Error),
    /// A list of members that is empty or has more than 65,536.
    #[error("{0} members; a communicator has 1 to 65536")]
    Members(usize),
    /// A list that has a member twice.
    #[error("node {}, queue pair {} is twice in the list of members", .0.node(), .0.qp_num())]
    Twice(AddressHandle),
    /// Who makes a communicator must be in it.
    #[error("this host, node {}, queue pair {}, is not in the list of members", .0.node(), .0.qp_num())]
    NotMember(AddressHandle),
    /// Another communicator of the host has that name.
    #[error("the host has a communicator named {0}")]
    NameTaken(u64),
    /// There is no such rank.
    #[error("there is no rank {rank}: the communicator has {size}")]
    NoRank {
        /// Asked for.
        rank: usize,
        /// Members.
        size: usize,
    },
    /// An operation on data of a type that it is not for.
    #[error("{operation} is not for data of type {data}")]
    Unsupported {
        /// Which.
        operation: &'static str,
        /// Type of the data.
        data: &'static str,
    },
    /// A length that does not divide among the members.
    #[error("{length} elements do not divide among {size} members")]
    Uneven {
        /// Elements.
        length: usize,
        /// Members.
        size: usize,
    },
    /// A reproducible sum with more numbers in it than a member may bring (RED-8).
    #[error("a sum of {numbers} numbers; each member may bring {most}")]
    Summands {
        /// Numbers in it.
        numbers: usize,
        /// 2^23, shared among the members.
        most: usize,
    },
    /// A member has failed, and with it the communicator.
    #[error("the communicator has failed: rank {rank} (node {}, queue pair {}) {why}", .member.node(), .member.qp_num())]
    Failed {
        /// Its rank.
        rank: usize,
        /// The member.
        member: AddressHandle,
        /// What it did.
        why: Why,
    },
    /// The time is over; the operation goes on, and its result comes by `poll`.
    #[error("operation {operation} has not ended in time: waiting for ranks {waiting:?}")]
    TimedOut {
        /// Number of the operation.
        operation: u64,
        /// Members that are waited for, as far as this one knows.
        waiting: Vec<usize>,
    },
}
