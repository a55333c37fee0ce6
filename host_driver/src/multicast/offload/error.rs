//! What can go wrong with an offloaded group.

use thiserror::Error;
use tributary_protocol::multicast::ScheduleError;
use tributary_protocol::multicast::ring::PEERS;

use crate::{Error, PostError};

/// Why there is no offloaded group, or it does not do what was asked.
#[derive(Debug, Error)]
pub enum OffloadError {
    /// The driver.
    #[error(transparent)]
    Driver(#[from] Error),
    /// A request could not be posted. The group cannot go on.
    #[error("a request of the group was not posted: {0}")]
    Post(#[source] PostError),
    /// The sizes make no schedule.
    #[error(transparent)]
    Schedule(#[from] ScheduleError),
    /// The rank is not in the group.
    #[error("rank {rank} in a group of {members}")]
    Rank {
        /// The rank.
        rank: u32,
        /// Members.
        members: u32,
    },
    /// Racks of another group.
    #[error("racks of {racks} members in a group of {members}")]
    Racks {
        /// Members of all racks.
        racks: u32,
        /// Members.
        members: u32,
    },
    /// A number that must not be 0.
    #[error("{0}: 0, at least 1")]
    Zero(&'static str),
    /// A member that talks to more than a card can tell apart.
    #[error("{0} lanes of peers of this rank; a card tells {PEERS} apart")]
    Peers(usize),
    /// A message needs more requests than a queue pair can hold.
    #[error(
        "{need} requests to or from rank {rank}, a queue pair holds {most}: blocks of {block_bytes} bytes or more would do"
    )]
    Requests {
        /// The peer.
        rank: u32,
        /// Requests of the longest message.
        need: usize,
        /// What a queue pair holds.
        most: usize,
        /// Bytes of a block with which the same bytes would fit.
        block_bytes: u64,
    },
    /// A message needs more entries than a schedule ring has.
    #[error(
        "{need} entries, a schedule ring has up to {most}: blocks of {block_bytes} bytes or more would do"
    )]
    Entries {
        /// Entries of the longest message.
        need: usize,
        /// Those of the longest ring.
        most: usize,
        /// Bytes of a block with which the same bytes would fit.
        block_bytes: u64,
    },
    /// No such memory.
    #[error("no memory for a message")]
    Area,
    /// A member has no ticket, or two.
    #[error("{count} tickets of rank {rank}, it has one")]
    Tickets {
        /// The rank.
        rank: u32,
        /// Its tickets.
        count: usize,
    },
    /// A ticket with what is no number of a queue pair.
    #[error("the ticket of rank {rank} does not fit: queue pair {number}, numbers have 24 bits")]
    Number {
        /// The rank.
        rank: u32,
        /// What is none.
        number: u32,
    },
    /// A ticket of another group.
    #[error("the ticket of rank {rank} does not fit: {what} {found}, here {expected}")]
    Ticket {
        /// The rank.
        rank: u32,
        /// What differs.
        what: &'static str,
        /// What the ticket says.
        found: u64,
        /// What this member has.
        expected: u64,
    },
    /// A message longer than the memory.
    #[error("a message of {length} bytes: up to {most}")]
    Length {
        /// Its bytes.
        length: u64,
        /// Bytes of the memory.
        most: u64,
    },
    /// Not now.
    #[error("the group is {0}")]
    State(&'static str),
    /// A completion that no card writes for an end.
    #[error("an end of the group that no card tells")]
    Strange,
}

impl From<PostError> for OffloadError {
    /// A card that cannot be reached is that, whatever was asked of it.
    fn from(error: PostError) -> Self {
        match error {
            PostError::Device(error) => Self::Driver(error.into()),
            error => Self::Post(error),
        }
    }
}
