//! What members ask of the manager, and its answers.

use thiserror::Error;

use crate::ids::TreeId;
use crate::network::EndnodeId;

/// Name of a group, chosen by its members.
pub type GroupKey = u64;

/// Where a group is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum State {
    /// Some have not joined yet.
    ReceivingJoinReq,
    /// All have joined; the tree is computed and written to the switches.
    ComputingRoutes,
    /// Members may send.
    Ready,
    /// Some have left.
    ReceivingLeaveReq,
    /// It is over; its tree is taken down.
    Destroying,
}

/// "I am in": may be repeated until it is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Join {
    /// The group.
    pub key: GroupKey,
    /// Which life of the group; grows from each to the next.
    pub incarnation: u64,
    /// Members that it has.
    pub size: u32,
    /// The sender's number, below `size`; number 0 leads.
    pub rank: u32,
    /// The sender.
    pub endnode: EndnodeId,
}

/// "I am out": may be repeated until it is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Leave {
    /// The group.
    pub key: GroupKey,
    /// Which life of the group.
    pub incarnation: u64,
    /// The sender.
    pub endnode: EndnodeId,
}

/// "How far is it?"
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Poll {
    /// The group.
    pub key: GroupKey,
    /// Which life of the group.
    pub incarnation: u64,
    /// The sender.
    pub endnode: EndnodeId,
}

/// Any of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request {
    /// See [`Join`].
    Join(Join),
    /// See [`Leave`].
    Leave(Leave),
    /// See [`Poll`].
    Poll(Poll),
}

impl Request {
    /// The group and which life of it.
    #[must_use]
    pub const fn group(&self) -> (GroupKey, u64) {
        match *self {
            Self::Join(Join {
                key, incarnation, ..
            })
            | Self::Leave(Leave {
                key, incarnation, ..
            })
            | Self::Poll(Poll {
                key, incarnation, ..
            }) => (key, incarnation),
        }
    }
}

/// How far a group is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Status {
    /// Its state.
    pub state: State,
    /// Tree to send on, from [`State::Ready`] on; `None` before, and for a group of one member.
    pub tree: Option<TreeId>,
    /// Trees that the group has had before this one.
    pub moves: u32,
    /// Members that have joined.
    pub joined: u32,
    /// Members that it has.
    pub size: u32,
}

/// An answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reply {
    /// To a join or poll that is right: the sender is in.
    In(Status),
    /// To a leave that is right: the sender is out.
    Out,
    /// Nothing was changed.
    Refused(Refusal),
}

/// Why a request was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Refusal {
    /// An endnode that the network does not have.
    #[error("there is no endnode {0}")]
    UnknownEndnode(EndnodeId),
    /// A size that no group here can have.
    #[error("a group of {size}, it can have 1 to {max} members")]
    BadSize {
        /// The size.
        size: u32,
        /// Endnodes of the network.
        max: u32,
    },
    /// A rank that is not below the size.
    #[error("rank {rank} of {size}")]
    BadRank {
        /// The rank.
        rank: u32,
        /// The size.
        size: u32,
    },
    /// No room for another group.
    #[error("{0} groups already: try again when one has ended")]
    TooManyGroups(u32),
    /// A request of an earlier life of the group.
    #[error("incarnation {incarnation} is over: {current} lives")]
    Stale {
        /// That of the request.
        incarnation: u64,
        /// The one that lives.
        current: u64,
    },
    /// A join for the next life of a group before the one that lives has ended.
    #[error("incarnation {current} has not ended yet: try again")]
    Busy {
        /// The one that lives.
        current: u64,
    },
    /// Others have stated another size.
    #[error("a group of {stated}, it was {size} to those before")]
    SizeDiffers {
        /// The size stated.
        stated: u32,
        /// The size of the first.
        size: u32,
    },
    /// The endnode has joined under another rank.
    #[error("it has joined as rank {0} already")]
    Duplicate(u32),
    /// Another endnode has joined under this rank.
    #[error("endnode {0} has joined under this rank")]
    RankTaken(EndnodeId),
    /// All have joined, the sender is not one of them.
    #[error("all {0} members have joined")]
    Full(u32),
    /// A join of one who has left.
    #[error("it has left already")]
    HasLeft,
    /// The group is being destroyed.
    #[error("the group has ended")]
    Ended,
    /// A leave or poll for a group that is not.
    #[error("there is no such group")]
    NoGroup,
    /// A leave or poll of one who has not joined.
    #[error("it is no member")]
    NotMember,
}

impl Refusal {
    /// Kinds of refusals.
    pub const KINDS: [&str; 14] = [
        "unknown endnode",
        "bad size",
        "bad rank",
        "too many groups",
        "stale",
        "busy",
        "size differs",
        "duplicate",
        "rank taken",
        "full",
        "has left",
        "ended",
        "no group",
        "not a member",
    ];

    /// Its index in [`Refusal::KINDS`] and in the counters.
    #[must_use]
    pub const fn kind(&self) -> usize {
        match self {
            Self::UnknownEndnode(_) => 0,
            Self::BadSize { .. } => 1,
            Self::BadRank { .. } => 2,
            Self::TooManyGroups(_) => 3,
            Self::Stale { .. } => 4,
            Self::Busy { .. } => 5,
            Self::SizeDiffers { .. } => 6,
            Self::Duplicate(_) => 7,
            Self::RankTaken(_) => 8,
            Self::Full(_) => 9,
            Self::HasLeft => 10,
            Self::Ended => 11,
            Self::NoGroup => 12,
            Self::NotMember => 13,
        }
    }
}
