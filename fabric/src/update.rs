//! Changes of the switches' tables, one switch after the other, in an order that never loops a frame or loses a member
//! (MC-9).
//!
//! - A tree is never changed in place: its successor stands under an id of its own before anyone uses it, and a tree is
//!   taken down only when nobody uses it and no frame of it is under way. So old and new entries never act on one frame.
//! - Entries are written from the far ends to the leader's switch, and cleared from the leader's switch outwards. At every
//!   moment a frame of the leader reaches all members or none, so nobody takes half a tree for a whole one; a member's frame
//!   reaches the leader or is dropped.
//!
//! [`walk`] sends frames through the tables as they stand between two writes.

pub mod walk;

use std::collections::HashMap;

use tributary_protocol::red;

use crate::ids::TreeId;
use crate::network::SwitchId;

/// One entry of one switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Write {
    /// The switch.
    pub switch: SwitchId,
    /// Index in its table.
    pub id: TreeId,
    /// The entry; `None` clears it.
    pub entry: Option<red::Tree>,
}

/// Writes to be done in this order, each before the next begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Update {
    /// Its number, from 0; updates are done in the order of their numbers.
    pub number: u64,
    /// The group whose tree is written or cleared.
    pub key: u64,
    /// What to write.
    pub writes: Vec<Write>,
}

/// Writes that make a tree stand under a free id; `entries` as [`crate::table::entries`] gives them.
#[must_use]
pub fn install(id: TreeId, entries: &[(SwitchId, red::Tree)]) -> Vec<Write> {
    let far_to_near = entries.iter().rev();
    far_to_near
        .map(|&(switch, entry)| Write {
            switch,
            id,
            entry: Some(entry),
        })
        .collect()
}

/// Writes that take a tree down that nobody uses any longer; `switches` in the order of its entries.
#[must_use]
pub fn clear(id: TreeId, switches: &[SwitchId]) -> Vec<Write> {
    let near_to_far = switches.iter();
    near_to_far
        .map(|&switch| Write {
            switch,
            id,
            entry: None,
        })
        .collect()
}

/// The multicast tables of all switches.
#[derive(Clone, Debug, Default)]
pub struct Tables {
    entries: HashMap<(SwitchId, TreeId), red::Tree>,
}

impl Tables {
    /// Does a write.
    pub fn apply(&mut self, write: &Write) {
        let at = (write.switch, write.id);
        match write.entry {
            Some(entry) => self.entries.insert(at, entry),
            None => self.entries.remove(&at),
        };
    }

    /// An entry of a switch.
    #[must_use]
    pub fn get(&self, switch: SwitchId, id: TreeId) -> Option<&red::Tree> {
        self.entries.get(&(switch, id))
    }

    /// Entries of all switches together.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether no switch has an entry.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}
