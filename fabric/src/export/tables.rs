//! Entries of the project's switches, by name: what [`crate::table`] computes, for files and people.
//!
//! As TOML these are the `[[tree]]` sections of a fabric file; as JSON, through serde, the same fields. Ports count from 0
//! here, as they do in the switches' registers. [`Entries`] writes large tables without names in memory.

mod entries;
mod resolve;
pub mod toml;

use serde::{Deserialize, Serialize};

pub use entries::Entries;
pub use resolve::{Programmed, ResolveError};

use super::{ExportError, Routed};
use crate::network::Network;

/// Last id that the switches' tables have room for.
pub const ID_LAST: u16 = tributary_protocol::red::address::TREES - 1;

/// Trees of a network.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NamedTables {
    /// The trees.
    pub tree: Vec<TreeTable>,
}

/// A tree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TreeTable {
    /// Its id: the index of its entries.
    pub id: u16,
    /// Name of the endnode that sends down, the leader.
    pub root: String,
    /// It contributes up its own port, which is parent and child of its switch.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub root_contributes: bool,
    /// Names of the other members.
    pub members: Vec<String>,
    /// Entries of its switches, the leader's first, each before those below it.
    pub switch: Vec<SwitchEntry>,
}

/// An entry of a switch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SwitchEntry {
    /// Name of the switch.
    pub name: String,
    /// Port towards the leader.
    pub parent: u8,
    /// The other ports of the tree, and this one too where a leader contributes, ascending.
    pub children: Vec<u8>,
    /// Members below, and a leader that contributes here; 0 for multicast without reductions.
    pub wait: u32,
}

impl SwitchEntry {
    /// Bit p: port p is a child; ports beyond 63 are left out.
    #[must_use]
    pub fn mask(&self) -> u64 {
        let bits = self.children.iter();
        bits.fold(0, |mask, &port| {
            mask | 1u64.checked_shl(port.into()).unwrap_or(0)
        })
    }
}

impl NamedTables {
    /// The entries of these trees.
    ///
    /// # Errors
    /// Two trees have one id on one switch, an id is out of range, or a tree does not fit the tables.
    pub fn new(network: &Network, trees: &[Routed<'_>]) -> Result<Self, ExportError> {
        Ok(Entries::new(network, trees)?.named())
    }

    /// The table of one switch: ids and entries, in the order of the trees.
    pub fn of_switch<'a>(
        &'a self,
        name: &'a str,
    ) -> impl Iterator<Item = (u16, &'a SwitchEntry)> + 'a {
        self.tree.iter().flat_map(move |tree| {
            let entries = tree.switch.iter().filter(move |entry| entry.name == name);
            entries.map(|entry| (tree.id, entry))
        })
    }
}
