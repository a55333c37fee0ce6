//! Multicast groups: sets of endnodes.

use thiserror::Error;

use crate::network::{EndnodeId, Network, SwitchId};

/// A group that cannot be.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum GroupError {
    /// An endnode that the network does not have.
    #[error("there is no endnode {endnode}: {name} has endnodes 0 to {last}", last = endnodes.wrapping_sub(1))]
    NoEndnode {
        /// Its index.
        endnode: EndnodeId,
        /// Name of the network.
        name: String,
        /// Endnodes of the network.
        endnodes: u32,
    },
    /// An endnode that is named twice.
    #[error("endnode {0} is in the group twice")]
    Duplicate(EndnodeId),
}

/// A set of endnodes and the switches that they are plugged in to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    endnodes: Vec<EndnodeId>,
    switches: Vec<SwitchId>,
}

impl Group {
    /// A group of these endnodes, in any order.
    ///
    /// # Errors
    /// One of them does not exist or comes twice.
    pub fn new(network: &Network, endnodes: impl Into<Vec<EndnodeId>>) -> Result<Self, GroupError> {
        let mut endnodes = endnodes.into();
        endnodes.sort_unstable();
        if let Some(pair) = endnodes.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(GroupError::Duplicate(pair[0]));
        }
        let mut switches = Vec::with_capacity(endnodes.len());
        for &endnode in &endnodes {
            let known = network.endnodes().get(endnode as usize);
            let known = known.ok_or_else(|| GroupError::NoEndnode {
                endnode,
                name: network.name().into(),
                endnodes: network.endnodes().len() as u32,
            })?;
            switches.push(known.at.0);
        }
        switches.sort_unstable();
        switches.dedup();
        Ok(Self { endnodes, switches })
    }

    /// Its endnodes, ascending.
    #[must_use]
    pub fn endnodes(&self) -> &[EndnodeId] {
        &self.endnodes
    }

    /// Switches with a member, ascending.
    #[must_use]
    pub fn switches(&self) -> &[SwitchId] {
        &self.switches
    }

    /// Whether it needs a tree: it has two members or more.
    #[must_use]
    pub const fn is_routed(&self) -> bool {
        self.endnodes.len() >= 2
    }
}
