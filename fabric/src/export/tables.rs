//! Entries of the project's switches, by name: what [`crate::table`] computes, for files and people.
//!
//! As TOML these are the `[[tree]]` sections of a fabric file; as JSON, through serde, the same fields. Ports count from 0
//! here, as they do in the switches' registers.

mod resolve;
pub mod toml;

use std::collections::HashSet;

use serde::{Deserialize, Serialize};

pub use resolve::{Programmed, ResolveError};

use super::{ExportError, Routed, endnode_name, switch_name};
use crate::network::Network;
use crate::table;

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
    /// The other ports of the tree, ascending.
    pub children: Vec<u8>,
    /// Members below; 0 for multicast without reductions.
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
        let mut taken = HashSet::new();
        let mut tables = Self::default();
        for routed in trees {
            let id = routed.id;
            if id > ID_LAST {
                return Err(ExportError::Id { id, last: ID_LAST });
            }
            let entries = table::entries(network, routed.group, routed.tree, routed.leader)
                .map_err(|source| ExportError::Table { id, source })?;
            if let Some((switch, _)) = entries.iter().find(|(s, _)| !taken.insert((*s, id))) {
                return Err(ExportError::Clash {
                    id,
                    switch: switch_name(network, *switch),
                });
            }
            let others = routed.group.endnodes().iter();
            let others = others.filter(|&&e| e != routed.leader);
            let entry = |(switch, entry): &(u32, tributary_protocol::red::Tree)| SwitchEntry {
                name: switch_name(network, *switch),
                parent: entry.parent,
                children: (0..64).filter(|p| entry.children >> p & 1 == 1).collect(),
                wait: entry.wait,
            };
            tables.tree.push(TreeTable {
                id,
                root: endnode_name(network, routed.leader),
                members: others.map(|&e| endnode_name(network, e)).collect(),
                switch: entries.iter().map(entry).collect(),
            });
        }
        Ok(tables)
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
