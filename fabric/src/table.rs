//! Entries of the switches' multicast tables that make a tree.
//!
//! A tree has a root switch for its height; frames have a leader, the one member that sends down. So a tree is turned
//! towards the leader's switch here: each entry's parent port leads to the leader, its children away from it. A leader that
//! contributes up its own port, as all others do ([`Leader::contributing`]), is a child of its switch besides.

use thiserror::Error;
use tributary_protocol::red;
use tributary_protocol::red::wire::COUNT_MAX;

use crate::group::Group;
use crate::network::{EndnodeId, Network, Port, SwitchId};
use crate::tree::Tree;

/// Most ports of a switch that can be programmed: a child mask has 64 bits.
pub const PORTS_MAX: Port = 64;

/// The member of a group that sends down its tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Leader {
    /// The endnode.
    pub endnode: EndnodeId,
    /// Its own value goes up its port and comes back with those of all others, so that its card can answer the result (CL-6).
    /// Otherwise it adds its value to the others' itself.
    pub contributes: bool,
}

impl Leader {
    /// One that contributes through its own port.
    #[must_use]
    pub const fn contributing(endnode: EndnodeId) -> Self {
        Self {
            endnode,
            contributes: true,
        }
    }
}

impl From<EndnodeId> for Leader {
    /// One that only sends down.
    fn from(endnode: EndnodeId) -> Self {
        Self {
            endnode,
            contributes: false,
        }
    }
}

/// A tree that cannot be written to switches.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum TableError {
    /// The leader does not belong to the group.
    #[error("endnode {leader} leads a group that it is no member of")]
    LeaderOutside {
        /// The endnode.
        leader: EndnodeId,
    },
    /// A port beyond the child mask.
    #[error("the tree uses port {port} of switch {switch}, entries reach to port {PORTS_MAX}")]
    Port {
        /// Name of the switch.
        switch: String,
        /// The port.
        port: Port,
    },
    /// A member that the tree does not reach.
    #[error("the tree does not reach switch {switch} of member {endnode}")]
    NotReached {
        /// The member.
        endnode: EndnodeId,
        /// Name of its switch.
        switch: String,
    },
    /// More members than a wait count holds.
    #[error("{members} members, a wait count reaches to {COUNT_MAX}")]
    TooManyMembers {
        /// Members that contribute: all but a leader that only sends down.
        members: u32,
    },
    /// Cables that are no tree from the root down, or members that the network does not have.
    #[error("no tree of this network: {what} {index} does not fit in")]
    NoTree {
        /// What does not fit.
        what: &'static str,
        /// Its index.
        index: u32,
    },
}

/// A switch of the tree, turned towards the tree's root.
struct Node {
    switch: SwitchId,
    /// Index of the node above, port there.
    above: Option<usize>,
    /// Port that leads up.
    up: Port,
    /// Port of the node above that leads here.
    down: Port,
    /// Ports in use.
    ports: u64,
    /// Members but the leader here and below.
    members: u32,
}

/// Entries of all switches of a tree, the leader's switch first and each after the one that its parent port leads to.
///
/// Ports are numbered from 0 in entries. `wait` is the number of members whose frames come up through the switch: at the
/// leader's switch all members but a leader that only sends down. The port of a leader that contributes is parent and child of its
/// switch. A tree of plain multicast has 0 in `wait` instead; that is the caller's to set.
///
/// # Errors
/// The leader is no member, a port is out of reach of the table, or `tree` is no tree over the group's switches.
pub fn entries(
    network: &Network,
    group: &Group,
    tree: &Tree,
    leader: impl Into<Leader>,
) -> Result<Vec<(SwitchId, red::Tree)>, TableError> {
    let Leader {
        endnode: leader,
        contributes,
    } = leader.into();
    if group.endnodes().binary_search(&leader).is_err() {
        return Err(TableError::LeaderOutside { leader });
    }
    let (mut nodes, index) = nodes(network, tree)?;
    let at = plug_in(network, group, leader, &mut nodes, &index)?;
    let others = group.endnodes().len() as u32 - 1;
    let all = others + u32::from(contributes);
    if all > COUNT_MAX {
        return Err(TableError::TooManyMembers { members: all });
    }
    for i in (1..nodes.len()).rev() {
        if let Some(above) = nodes[i].above {
            nodes[above].members += nodes[i].members;
        }
    }
    let mut entries = Vec::with_capacity(nodes.len());
    // From the leader's switch to the tree's root the direction is turned round.
    let (mut here, mut parent, mut wait) = (Some(at.0), at.1, others);
    let mut turned = vec![false; nodes.len()];
    while let Some(i) = here {
        let node = &nodes[i];
        turned[i] = true;
        entries.push((node.switch, entry(node.ports, parent, wait)));
        (here, parent, wait) = (node.above, node.down, others - node.members);
    }
    if contributes && let Some((_, first)) = entries.first_mut() {
        first.children |= 1 << first.parent;
        first.wait = all;
    }
    for (node, _) in nodes.iter().zip(turned).filter(|(_, turned)| !turned) {
        entries.push((node.switch, entry(node.ports, node.up, node.members)));
    }
    Ok(entries)
}

fn entry(ports: u64, parent: Port, wait: u32) -> red::Tree {
    let parent = parent - 1;
    red::Tree {
        parent: parent as u8,
        children: ports & !(1 << parent),
        wait,
    }
}

/// Nodes by switch, ascending.
struct Index(Vec<(SwitchId, usize)>);

impl Index {
    fn new(tree: &Tree) -> Result<Self, TableError> {
        let mut all: Vec<_> = tree.switches().zip(0..).collect();
        all.sort_unstable();
        match all.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            None => Ok(Self(all)),
            Some(pair) => Err(TableError::NoTree {
                what: "switch",
                index: pair[0].0,
            }),
        }
    }

    fn get(&self, switch: SwitchId) -> Option<usize> {
        let at = self.0.binary_search_by_key(&switch, |&(s, _)| s).ok()?;
        Some(self.0[at].1)
    }
}

/// The tree's switches, root first, with the ports of its cables.
fn nodes(network: &Network, tree: &Tree) -> Result<(Vec<Node>, Index), TableError> {
    let misfit = |what, index| TableError::NoTree { what, index };
    if tree.root >= network.switch_count() {
        return Err(misfit("root switch", tree.root));
    }
    let index = Index::new(tree)?;
    let mut nodes = Vec::with_capacity(index.0.len());
    nodes.push(Node {
        switch: tree.root,
        above: None,
        up: 0,
        down: 0,
        ports: 0,
        members: 0,
    });
    for hop in &tree.hops {
        let cable = network.cables().get(hop.cable as usize);
        let cable = cable.ok_or_else(|| misfit("cable", hop.cable))?;
        let [a, b] = cable.ends;
        let (lower, upper) = if a.0 == hop.child { (a, b) } else { (b, a) };
        // The one above must have come before.
        let above = index.get(upper.0).filter(|&above| above < nodes.len());
        let above = above.filter(|_| lower.0 == hop.child);
        let above = above.ok_or_else(|| misfit("cable", hop.cable))?;
        nodes[above].ports |= bit(network, upper.0, upper.1)?;
        nodes.push(Node {
            switch: hop.child,
            above: Some(above),
            up: lower.1,
            down: upper.1,
            ports: bit(network, lower.0, lower.1)?,
            members: 0,
        });
    }
    Ok((nodes, index))
}

/// Adds the members' ports; returns the leader's node and port.
fn plug_in(
    network: &Network,
    group: &Group,
    leader: EndnodeId,
    nodes: &mut [Node],
    index: &Index,
) -> Result<(usize, Port), TableError> {
    let mut at = Err(TableError::LeaderOutside { leader });
    for &endnode in group.endnodes() {
        let known = network.endnodes().get(endnode as usize);
        let (switch, port) = known.map(|e| e.at).ok_or(TableError::NoTree {
            what: "endnode",
            index: endnode,
        })?;
        let Some(i) = index.get(switch) else {
            return Err(TableError::NotReached {
                endnode,
                switch: name(network, switch),
            });
        };
        nodes[i].ports |= bit(network, switch, port)?;
        if endnode == leader {
            at = Ok((i, port));
        } else {
            nodes[i].members += 1;
        }
    }
    at
}

fn bit(network: &Network, switch: SwitchId, port: Port) -> Result<u64, TableError> {
    if (1..=PORTS_MAX).contains(&port) {
        Ok(1 << (port - 1))
    } else {
        Err(TableError::Port {
            switch: name(network, switch),
            port,
        })
    }
}

fn name(network: &Network, switch: SwitchId) -> String {
    let known = network.switches().get(switch as usize);
    known.map_or_else(|| format!("#{switch}"), |s| s.name.clone())
}
