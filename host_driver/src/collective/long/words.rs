//! What members have said of long operations, also of those that have not begun here.

use std::collections::{BTreeMap, BTreeSet};

use tributary_protocol::red::Rc;

use super::{Flow, Phase};
use crate::Remote;

/// A member has begun an operation: where others write to, and what it takes the operation for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lend {
    /// Its queue pair for transfers, and its memory; nothing if it gets all as messages.
    pub place: Option<(u32, Remote)>,
    /// How values are combined, or that they are bytes.
    pub code: u8,
    /// Number of the flow, and the rank that it is about.
    pub flow: (u8, u32),
    /// Bytes of all blocks.
    pub total: u64,
}

impl Lend {
    /// Whether it is of the same operation as one of this flow.
    pub fn fits(&self, code: u8, flow: Flow, total: usize) -> bool {
        (self.code, self.flow, self.total) == (code, flow.code(), total as u64)
    }
}

/// How a block has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum How {
    /// It is in the memory.
    Written = 0,
    /// As messages before this one.
    Sent = 1,
    /// Likewise, after a transfer that failed: there is no telling what that still writes.
    SentAfter = 2,
}

impl How {
    /// The one with this number.
    pub const fn from_code(code: u8) -> Option<Self> {
        match code {
            0 => Some(Self::Written),
            1 => Some(Self::Sent),
            2 => Some(Self::SentAfter),
            _ => None,
        }
    }
}

/// What members have said.
#[derive(Debug, Default)]
pub struct Words {
    /// By operation and rank.
    lends: BTreeMap<(u64, usize), Lend>,
    /// Blocks that others want, by operation, phase and rank.
    asked: BTreeSet<(u64, Phase, usize)>,
    /// By operation, phase and rank.
    done: BTreeMap<(u64, Phase, usize), (Rc, How)>,
}

impl Words {
    /// False if it has said so before.
    pub fn lend(&mut self, operation: u64, from: usize, lend: Lend) -> bool {
        self.lends.insert((operation, from), lend).is_none()
    }

    /// False if it has said so before.
    pub fn done(&mut self, operation: u64, (phase, from): (Phase, usize), how: (Rc, How)) -> bool {
        self.done.insert((operation, phase, from), how).is_none()
    }

    /// False if it has said so before.
    pub fn ask(&mut self, operation: u64, phase: Phase, from: usize) -> bool {
        self.asked.insert((operation, phase, from))
    }

    /// Whether a member has asked for the block that it gets.
    pub fn asked(&self, operation: u64, phase: Phase, from: usize) -> bool {
        self.asked.contains(&(operation, phase, from))
    }

    /// What a member has lent.
    pub fn lent(&self, operation: u64, from: usize) -> Option<&Lend> {
        self.lends.get(&(operation, from))
    }

    /// Who has begun an operation.
    pub fn begun(&self, operation: u64) -> impl Iterator<Item = (usize, &Lend)> {
        let of = self.lends.range((operation, 0)..(operation + 1, 0));
        of.map(|(&(_, from), lend)| (from, lend))
    }

    /// How a block has come.
    pub fn came(&self, operation: u64, phase: Phase, from: usize) -> Option<(Rc, How)> {
        self.done.get(&(operation, phase, from)).copied()
    }

    /// What is of operations that are over.
    pub fn forget_before(&mut self, operation: u64) {
        self.lends.retain(|(of, _), _| *of >= operation);
        self.asked.retain(|(of, ..)| *of >= operation);
        self.done.retain(|(of, ..), _| *of >= operation);
    }
}
