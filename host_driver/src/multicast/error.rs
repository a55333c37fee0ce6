//! What can go wrong with a group.

use thiserror::Error;
use tributary_protocol::multicast::group::{GroupError, Why};

use super::OffloadError;
use super::options::MAX_MEMBERS;
use crate::{AddressHandle, Error, PostError};

/// Why there is no group, or it does not do what was asked.
#[derive(Debug, Error)]
pub enum MulticastError {
    /// The driver.
    #[error(transparent)]
    Driver(#[from] Error),
    /// A message of the group could not be posted.
    #[error("a message of the group was not posted: {0}")]
    Post(#[source] PostError),
    /// The card moves no blocks.
    #[error(
        "a group needs bulk transfers, which this card does not have (bit bulk of its register features is 0)"
    )]
    NoBulk,
    /// Too many members.
    #[error("{0} members; a group has up to {MAX_MEMBERS}")]
    Members(usize),
    /// A list of members that has one twice.
    #[error("node {}, queue pair {} is twice in the list of members: places {} and {}", .member.node(), .member.qp_num(), .places[0], .places[1])]
    Twice {
        /// The member.
        member: AddressHandle,
        /// Where it stands.
        places: [usize; 2],
    },
    /// The root must be a member.
    #[error("the root, node {}, queue pair {}, is not in the list of members", .0.node(), .0.qp_num())]
    RootNotMember(AddressHandle),
    /// Who makes a group must be in it.
    #[error("this endpoint, node {}, queue pair {}, is not in the list of members", .0.node(), .0.qp_num())]
    NotMember(AddressHandle),
    /// What the group's protocol refuses.
    #[error(transparent)]
    Group(GroupError),
    /// The group has failed (MB-12).
    #[error("the group has failed: node {}, queue pair {} (rank {rank}): {why}", .suspect.node(), .suspect.qp_num())]
    Failed {
        /// The member that is suspected.
        suspect: AddressHandle,
        /// Its rank.
        rank: u32,
        /// What it is suspected of.
        why: Why,
    },
    /// The root has no room for a message now.
    #[error("{bytes} bytes: the group's memory of {memory} has no room for them now")]
    NoMemory {
        /// Bytes of the message.
        bytes: u64,
        /// Bytes of the memory.
        memory: usize,
    },
    /// The root of a group that is resumed sends when it is open.
    #[error("the survivors have not all resumed the group yet: poll until it is open")]
    NotOpen,
    /// The time is over, and the group goes on.
    #[error("the group has not ended in time")]
    TimedOut,
    /// The card carries out no group, not this one, or not any more.
    #[error(transparent)]
    Card(#[from] OffloadError),
    /// Only a group that has failed is resumed.
    #[error("the group has not ended with a failure: nothing is to be resumed")]
    NothingToResume,
    /// The group did not keep its messages.
    #[error("the group was not made with `resumable`: its messages are not kept")]
    NotResumable,
}

impl MulticastError {
    /// What the protocol says, with the member's address.
    pub(super) fn of(error: GroupError, ranks: &[AddressHandle]) -> Self {
        match error {
            GroupError::Failed { suspect, why } => Self::Failed {
                suspect: ranks[suspect as usize],
                rank: suspect,
                why,
            },
            other => Self::Group(other),
        }
    }
}

impl From<PostError> for MulticastError {
    /// A card that cannot be reached is that, whatever was asked of it.
    fn from(error: PostError) -> Self {
        match error {
            PostError::Device(error) => Self::Driver(error.into()),
            error => Self::Post(error),
        }
    }
}
