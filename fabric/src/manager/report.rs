//! What the manager tells its owner: events, reports of failures, counters, errors.

use thiserror::Error;

use super::request::{GroupKey, Refusal};
use crate::hops::HopError;
use crate::ids::{IdError, TreeId};
use crate::network::{CableId, SwitchId};
use crate::table::TableError;

/// A manager that cannot be, or a call with something that does not exist.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ManagerError {
    /// Too many or too few ids.
    #[error(transparent)]
    Ids(#[from] IdError),
    /// The network is too large for a table of distances.
    #[error(transparent)]
    Distances(#[from] HopError),
    /// A cable that is not.
    #[error("there is no cable {cable}: {cables} are known")]
    NoCable {
        /// Its index.
        cable: CableId,
        /// Cables there are.
        cables: u32,
    },
    /// A switch that is not.
    #[error("there is no switch {switch}: {switches} are known")]
    NoSwitch {
        /// Its index.
        switch: SwitchId,
        /// Switches there are.
        switches: u32,
    },
    /// An update is said to be done that was not handed out.
    #[error("update {number} was not handed out, {next} is the next")]
    NoUpdate {
        /// Its number.
        number: u64,
        /// The first that was not handed out.
        next: u64,
    },
}

/// Why a group has no tree, or none that reaches everyone.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Unroutable {
    /// Members without a path to the leader.
    #[error("no path from the leader to the members at switches {switches:?}")]
    Cut {
        /// Their switches, ascending.
        switches: Vec<SwitchId>,
    },
    /// No id for the tree.
    #[error(transparent)]
    Id(IdError),
    /// The tree does not go into tables.
    #[error(transparent)]
    Table(TableError),
    /// There are no distances to route by.
    #[error("no table of distances: {0}")]
    Distances(HopError),
}

/// Why a group has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// All have left.
    AllLeft,
    /// Not all have joined in time.
    JoinTimeout,
    /// Not all have left in time.
    LeaveTimeout,
    /// A member left or died before the group was ready.
    Withdrawn,
    /// Its tree cannot be written.
    Refused(TableError),
}

/// Something that members or operators should hear.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A group is ready.
    Ready {
        /// The group.
        key: GroupKey,
        /// Its tree, if it has more than one member.
        tree: Option<TreeId>,
    },
    /// Members must send on another tree from now on; the old one is there for a while.
    Moved {
        /// The group.
        key: GroupKey,
        /// Its new tree.
        tree: TreeId,
    },
    /// A group has no whole tree for now.
    Unroutable {
        /// The group.
        key: GroupKey,
        /// Why.
        why: Unroutable,
    },
    /// A group is being destroyed.
    Ended {
        /// The group.
        key: GroupKey,
        /// Why.
        how: Ending,
    },
}

/// What a failure or a repair has changed; groups ascending. Groups that are in none of the lists were not touched.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rerouted {
    /// Groups that got a new tree.
    pub moved: Vec<GroupKey>,
    /// Groups whose tree works again as it was.
    pub healed: Vec<GroupKey>,
    /// Groups without a whole tree; those that had one keep it, with what still works of it.
    pub unroutable: Vec<(GroupKey, Unroutable)>,
}

/// What the manager has counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Joins that added a member.
    pub joins: u64,
    /// Joins of members that were in already.
    pub repeated_joins: u64,
    /// Leaves of members.
    pub leaves: u64,
    /// Leaves of members that were out already.
    pub repeated_leaves: u64,
    /// Polls that were answered.
    pub polls: u64,
    /// Members whose endnodes failed or started anew.
    pub crashes: u64,
    /// Groups that were begun.
    pub begun: u64,
    /// Lives of groups that gave way to a newer one while joins were received.
    pub superseded: u64,
    /// Trees computed for groups that became complete.
    pub routed: u64,
    /// Trees computed anew after a failure or repair.
    pub rerouted: u64,
    /// Groups that ended because not all joined in time.
    pub join_timeouts: u64,
    /// Groups that ended because not all left in time.
    pub leave_timeouts: u64,
    /// Ready groups that no member has polled for too long.
    pub leases: u64,
    /// Groups that are forgotten.
    pub ended: u64,
    /// Requests refused, by [`Refusal::kind`].
    pub refused: [u64; Refusal::KINDS.len()],
}
