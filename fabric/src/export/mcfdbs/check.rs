//! Sends a frame from every member through the tables as they stand.

use std::collections::{BTreeSet, HashMap, HashSet};

use thiserror::Error;

use super::{McastTables, mlid};
use crate::export::{ExportError, endnode_name, switch_name};
use crate::group::Group;
use crate::network::{EndnodeId, Network, Port, SwitchId};

/// Tables that do not carry their groups.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum CheckError {
    /// A switch that the network does not have.
    #[error("the network {network} has no switch with GUID {guid:#018x}")]
    NoSwitch {
        /// Its GUID.
        guid: u64,
        /// Name of the network.
        network: String,
    },
    /// A port that leads nowhere.
    #[error("LID 0x{mlid:04X}: port {port} of switch {switch} has no working cable and no endnode")]
    NoCable {
        /// Multicast LID.
        mlid: u16,
        /// Name of the switch.
        switch: String,
        /// The port.
        port: Port,
    },
    /// A frame that comes to a switch for the second time.
    #[error("LID 0x{mlid:04X}: frames of {from} come to switch {switch} more than once")]
    Loop {
        /// Multicast LID.
        mlid: u16,
        /// Name of the sender.
        from: String,
        /// Name of the switch.
        switch: String,
    },
    /// A member that is not reached.
    #[error("LID 0x{mlid:04X}: frames of {from} do not reach member {to}")]
    Missed {
        /// Multicast LID.
        mlid: u16,
        /// Name of the sender.
        from: String,
        /// Name of the member.
        to: String,
    },
    /// An endnode that is reached and is no member.
    #[error("LID 0x{mlid:04X}: frames of {from} reach {to}, which is no member")]
    Stranger {
        /// Multicast LID.
        mlid: u16,
        /// Name of the sender.
        from: String,
        /// Name of the endnode.
        to: String,
    },
    /// An entry that no member's frame uses.
    #[error("LID 0x{mlid:04X}: switch {switch} has an entry that no group uses")]
    Stray {
        /// Multicast LID.
        mlid: u16,
        /// Name of the switch.
        switch: String,
    },
    /// An id that has no multicast LID.
    #[error(transparent)]
    Id(#[from] ExportError),
}

impl McastTables {
    /// Sends a frame from every member of every group (tree id and group): exactly the other members must get it, each
    /// once, and no switch may see it twice. There must be no entries besides.
    ///
    /// # Errors
    /// The first frame that goes wrong, or an entry too many.
    pub fn check<'a>(
        &self,
        network: &Network,
        groups: impl IntoIterator<Item = (u16, &'a Group)>,
    ) -> Result<(), CheckError> {
        let switches = (0..).zip(network.switches());
        let by_guid: HashMap<u64, SwitchId> = switches.map(|(i, s)| (s.guid, i)).collect();
        let mut walk = Walk {
            network,
            entries: HashMap::new(),
            used: HashSet::new(),
            seen: HashSet::new(),
            reached: BTreeSet::new(),
        };
        for (guid, mlid, ports) in self.entries() {
            let unknown = || CheckError::NoSwitch {
                guid,
                network: network.name().into(),
            };
            let switch = *by_guid.get(&guid).ok_or_else(unknown)?;
            walk.entries.insert((switch, mlid), ports);
        }
        for (id, group) in groups {
            let mlid = mlid(id)?;
            for &from in group.endnodes() {
                walk.send(mlid, from, group)?;
            }
        }
        let unused = walk.entries.keys().filter(|at| !walk.used.contains(at));
        match unused.min() {
            None => Ok(()),
            Some(&(switch, mlid)) => Err(CheckError::Stray {
                mlid,
                switch: switch_name(network, switch),
            }),
        }
    }
}

/// Where a port leads.
enum Far {
    Switch(SwitchId, Port),
    Endnode(EndnodeId),
}

struct Walk<'a> {
    network: &'a Network,
    entries: HashMap<(SwitchId, u16), &'a [Port]>,
    /// Entries that some frame has used.
    used: HashSet<(SwitchId, u16)>,
    /// Switches and endnodes that the frame under way has come to.
    seen: HashSet<SwitchId>,
    reached: BTreeSet<EndnodeId>,
}

impl Walk<'_> {
    fn send(&mut self, mlid: u16, from: EndnodeId, group: &Group) -> Result<(), CheckError> {
        let network = self.network;
        let sender = || endnode_name(network, from);
        self.seen.clear();
        self.reached.clear();
        let at = network.endnodes().get(from as usize);
        let mut open: Vec<(SwitchId, Port)> = at.map(|e| e.at).into_iter().collect();
        while let Some((switch, entered)) = open.pop() {
            if !self.seen.insert(switch) {
                return Err(CheckError::Loop {
                    mlid,
                    from: sender(),
                    switch: switch_name(network, switch),
                });
            }
            let Some(ports) = self.entries.get(&(switch, mlid)) else {
                continue;
            };
            self.used.insert((switch, mlid));
            for &port in ports.iter().filter(|&&port| port != entered) {
                match far(network, switch, port) {
                    Some(Far::Switch(next, there)) => open.push((next, there)),
                    Some(Far::Endnode(to)) if group.endnodes().binary_search(&to).is_err() => {
                        return Err(CheckError::Stranger {
                            mlid,
                            from: sender(),
                            to: endnode_name(network, to),
                        });
                    }
                    Some(Far::Endnode(to)) => {
                        self.reached.insert(to);
                    }
                    None => {
                        return Err(CheckError::NoCable {
                            mlid,
                            switch: switch_name(network, switch),
                            port,
                        });
                    }
                }
            }
        }
        let mut others = group.endnodes().iter().filter(|&&e| e != from);
        match others.find(|e| !self.reached.contains(e)) {
            None => Ok(()),
            Some(&to) => Err(CheckError::Missed {
                mlid,
                from: sender(),
                to: endnode_name(network, to),
            }),
        }
    }
}

/// What a port leads to now; `None` without a cable, or with one that has failed.
fn far(network: &Network, switch: SwitchId, port: Port) -> Option<Far> {
    let links = network.links(switch);
    if let Ok(at) = links.binary_search_by_key(&port, |link| link.port) {
        return Some(Far::Switch(links[at].peer, links[at].peer_port));
    }
    let attached = network.attached(switch);
    let at = attached.binary_search_by_key(&port, |&e| network.endnodes()[e as usize].at.1);
    at.ok().map(|at| Far::Endnode(attached[at]))
}
