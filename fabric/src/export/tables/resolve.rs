//! Names of tables looked up in a network.

use std::collections::{HashMap, HashSet};

use thiserror::Error;
use tributary_protocol::red;

use super::{ID_LAST, NamedTables, SwitchEntry, TreeTable};
use crate::group::{Group, GroupError};
use crate::network::{EndnodeId, Network, SwitchId};
use crate::table::{Leader, PORTS_MAX};

/// A tree that was read, ready to be written to switches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Programmed {
    /// Its id.
    pub id: u16,
    /// The member that sends down.
    pub leader: Leader,
    /// Everyone on it, the leader too.
    pub group: Group,
    /// Entries of its switches, in the order of the table.
    pub entries: Vec<(SwitchId, red::Tree)>,
}

/// NamedTables that do not belong to a network.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ResolveError {
    /// A name that nothing has.
    #[error("tree {id}: the network {network} has no {what} {name}")]
    Unknown {
        /// Tree.
        id: u16,
        /// Name of the network.
        network: String,
        /// Switch or endnode.
        what: &'static str,
        /// The name.
        name: String,
    },
    /// A port that the switch does not have.
    #[error("tree {id}: switch {switch} has ports 0 to {last}, not {port}")]
    Port {
        /// Tree.
        id: u16,
        /// Name of the switch.
        switch: String,
        /// The port.
        port: u8,
        /// Its last port that entries reach.
        last: u16,
    },
    /// An id beyond the tables.
    #[error("tree {0}, the last one is {ID_LAST}")]
    Id(u16),
    /// A switch with two entries for one id.
    #[error("tree {id}: switch {switch} has an entry for this id already")]
    Clash {
        /// Tree.
        id: u16,
        /// Name of the switch.
        switch: String,
    },
    /// Members that are no group.
    #[error("tree {id}: {source}")]
    Group {
        /// Tree.
        id: u16,
        /// Why not.
        source: GroupError,
    },
}

impl NamedTables {
    /// The trees by index instead of by name. Whether the entries make a tree is not looked at.
    ///
    /// # Errors
    /// A name, port or id that is not there, or an entry that is there twice.
    pub fn resolve(&self, network: &Network) -> Result<Vec<Programmed>, ResolveError> {
        let switches = (0..).zip(network.switches());
        let endnodes = (0..).zip(network.endnodes());
        let mut names = Names {
            network,
            switches: switches.map(|(i, s)| (s.name.as_str(), i)).collect(),
            endnodes: endnodes.map(|(i, e)| (e.name.as_str(), i)).collect(),
            taken: HashSet::new(),
        };
        self.tree.iter().map(|tree| names.tree(tree)).collect()
    }
}

struct Names<'a> {
    network: &'a Network,
    switches: HashMap<&'a str, SwitchId>,
    endnodes: HashMap<&'a str, EndnodeId>,
    taken: HashSet<(SwitchId, u16)>,
}

impl Names<'_> {
    fn tree(&mut self, tree: &TreeTable) -> Result<Programmed, ResolveError> {
        let id = tree.id;
        if id > ID_LAST {
            return Err(ResolveError::Id(id));
        }
        let leader = self.endnode(id, &tree.root)?;
        let mut members = vec![leader];
        for name in &tree.members {
            members.push(self.endnode(id, name)?);
        }
        let group = Group::new(self.network, members)
            .map_err(|source| ResolveError::Group { id, source })?;
        let entries = tree.switch.iter().map(|entry| self.entry(id, entry));
        let entries = entries.collect::<Result<_, _>>()?;
        Ok(Programmed {
            id,
            leader: Leader {
                endnode: leader,
                contributes: tree.root_contributes,
            },
            group,
            entries,
        })
    }

    fn unknown(&self, id: u16, what: &'static str, name: &str) -> ResolveError {
        ResolveError::Unknown {
            id,
            network: self.network.name().into(),
            what,
            name: name.into(),
        }
    }

    fn endnode(&self, id: u16, name: &str) -> Result<EndnodeId, ResolveError> {
        let known = self.endnodes.get(name).copied();
        known.ok_or_else(|| self.unknown(id, "endnode", name))
    }

    fn entry(&mut self, id: u16, e: &SwitchEntry) -> Result<(SwitchId, red::Tree), ResolveError> {
        let known = self.switches.get(e.name.as_str()).copied();
        let switch = known.ok_or_else(|| self.unknown(id, "switch", &e.name))?;
        let ports = self.network.switches()[switch as usize].ports;
        let ports = ports.min(PORTS_MAX);
        let mut used = e.children.iter().chain([&e.parent]);
        if let Some(&port) = used.find(|&&p| u16::from(p) >= ports) {
            return Err(ResolveError::Port {
                id,
                switch: e.name.clone(),
                port,
                last: ports - 1,
            });
        }
        if !self.taken.insert((switch, id)) {
            return Err(ResolveError::Clash {
                id,
                switch: e.name.clone(),
            });
        }
        let entry = red::Tree {
            parent: e.parent,
            children: e.mask(),
            wait: e.wait,
        };
        Ok((switch, entry))
    }
}
