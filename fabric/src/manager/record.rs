//! What the manager knows about one group.

use std::collections::HashMap;

use super::request::{State, Status};
use crate::group::Group;
use crate::ids::TreeId;
use crate::network::{EndnodeId, SwitchId};
use crate::tree::Tree;

/// One member.
#[derive(Clone, Copy, Debug)]
pub struct Member {
    pub rank: u32,
    pub left: bool,
}

/// The tree that the group uses, or will as soon as it is written.
#[derive(Clone, Debug)]
pub struct Placed {
    pub tree: Tree,
    pub id: TreeId,
    /// In the order of its entries.
    pub switches: Vec<SwitchId>,
}

/// How far the end of a tree is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// In use until its successor is written.
    InUse,
    /// Out of use; frames may be under way until then.
    Draining(u64),
    /// Its entries are being cleared.
    Clearing,
}

/// A tree on its way out: its id and entries are still taken.
#[derive(Clone, Debug)]
pub struct Retired {
    pub id: TreeId,
    /// In the order of its entries.
    pub switches: Vec<SwitchId>,
    pub phase: Phase,
}

/// One group.
#[derive(Clone, Debug)]
pub struct Record {
    pub incarnation: u64,
    pub size: u32,
    pub state: State,
    pub members: HashMap<EndnodeId, Member>,
    pub ranks: HashMap<u32, EndnodeId>,
    /// Members that have left.
    pub left: u32,
    /// End of the time for joins, for leaves, or for frames after the end.
    pub deadline: Option<u64>,
    /// When the manager's clock has it on its list.
    pub timer: Option<u64>,
    /// All members, once all have joined.
    pub group: Option<Group>,
    pub placed: Option<Placed>,
    /// Id that members know.
    pub announced: Option<TreeId>,
    /// Trees that it had before that.
    pub moves: u32,
    pub retired: Vec<Retired>,
}

impl Record {
    pub fn new(incarnation: u64, size: u32, deadline: u64) -> Self {
        Self {
            incarnation,
            size,
            state: State::ReceivingJoinReq,
            members: HashMap::new(),
            ranks: HashMap::new(),
            left: 0,
            deadline: Some(deadline),
            timer: None,
            group: None,
            placed: None,
            announced: None,
            moves: 0,
            retired: Vec::new(),
        }
    }

    pub fn status(&self) -> Status {
        Status {
            state: self.state,
            tree: self.announced,
            moves: self.moves,
            joined: self.members.len() as u32,
            size: self.size,
        }
    }

    /// The member that sends down.
    pub fn leader(&self) -> Option<EndnodeId> {
        self.ranks.get(&0).copied()
    }

    /// When something is due.
    pub fn next(&self) -> Option<u64> {
        let drains = self.retired.iter().filter_map(|r| match r.phase {
            Phase::Draining(until) => Some(until),
            Phase::InUse | Phase::Clearing => None,
        });
        drains.chain(self.deadline).min()
    }
}
