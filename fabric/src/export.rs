//! Routed trees written down for those who program switches.
//!
//! - [`mcfdbs`]: the dump form of OpenSM's multicast tables; what it writes, it reads back and checks.
//! - [`tables`]: entries for the project's own switches, by name, as TOML and as JSON.

pub mod mcfdbs;
pub mod tables;

use thiserror::Error;

use crate::group::Group;
use crate::network::{EndnodeId, Network, SwitchId};
use crate::table::{Leader, TableError};
use crate::tree::Tree;

/// A tree with what a switch has to know of it.
#[derive(Clone, Copy, Debug)]
pub struct Routed<'a> {
    /// Its id. Trees may share one as long as no switch has both.
    pub id: u16,
    /// Who hears it.
    pub group: &'a Group,
    /// The cables.
    pub tree: &'a Tree,
    /// The member that sends down.
    pub leader: Leader,
}

/// Trees that cannot be written down.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ExportError {
    /// An id that has no room.
    #[error("tree id {id}, the last one is {last}")]
    Id {
        /// The id.
        id: u16,
        /// Largest possible.
        last: u16,
    },
    /// Two trees with one id on one switch.
    #[error("two trees have id {id} on switch {switch}: ids may repeat on different switches only")]
    Clash {
        /// The id.
        id: u16,
        /// Name of the switch.
        switch: String,
    },
    /// Cables that are no tree over the group.
    #[error("tree {id} is no tree over its group: {reason}")]
    NoTree {
        /// Its id.
        id: u16,
        /// What is wrong.
        reason: String,
    },
    /// A tree that the project's switches cannot hold.
    #[error("tree {id}: {source}")]
    Table {
        /// Its id.
        id: u16,
        /// Why not.
        source: TableError,
    },
}

fn switch_name(network: &Network, switch: SwitchId) -> String {
    let known = network.switches().get(switch as usize);
    known.map_or_else(|| format!("#{switch}"), |s| s.name.clone())
}

fn endnode_name(network: &Network, endnode: EndnodeId) -> String {
    let known = network.endnodes().get(endnode as usize);
    known.map_or_else(|| format!("#{endnode}"), |e| e.name.clone())
}
