//! Unicast routes: the port of every switch towards every endnode, and the order in which a change of them is written.
//!
//! Ways are shortest. Of several equally short ones the endnode's number chooses, by another digit on each further switch, which
//! spreads the traffic of a fat tree.
//!
//! A change is written for one endnode after the other, and for each the switches near it first ([`Unicast::writes`]). A switch that
//! has its new entry then leads to one that has it too, and so on to the endnode; all others still follow the old routes, which
//! had no loop, until these end or meet a switch that has changed. So no order of frames and writes makes a loop (CL-3).

use std::collections::VecDeque;

use crate::network::{EndnodeId, Network, Port, SwitchId};

/// Distance of a switch that no way leads from.
const FAR: u32 = u32::MAX;

/// An entry of a switch's unicast table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnicastWrite {
    /// The switch.
    pub switch: SwitchId,
    /// Whom the entry is for.
    pub endnode: EndnodeId,
    /// The port, from 1; none: the entry is cleared.
    pub port: Option<Port>,
}

/// Routes to one endnode, by switch.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Towards {
    ports: Vec<Option<Port>>,
    distances: Vec<u32>,
}

/// Routes of a network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unicast {
    towards: Vec<Towards>,
}

impl Unicast {
    /// Shortest routes over the cables that are up.
    #[must_use]
    pub fn new(network: &Network) -> Self {
        let endnodes = 0..network.endnodes().len() as EndnodeId;
        Self {
            towards: endnodes.map(|e| towards(network, e)).collect(),
        }
    }

    /// The port of a switch towards an endnode, if a way leads there.
    #[must_use]
    pub fn port(&self, switch: SwitchId, endnode: EndnodeId) -> Option<Port> {
        let ports = &self.towards.get(endnode as usize)?.ports;
        ports.get(switch as usize).copied()?
    }

    /// What has to be written to tables that hold `old`, or that hold anything if nobody knows what; in this order no loop arises.
    #[must_use]
    pub fn writes(&self, old: Option<&Self>) -> Vec<UnicastWrite> {
        let mut writes = Vec::new();
        for (endnode, towards) in (0..).zip(&self.towards) {
            let mut order: Vec<SwitchId> = (0..towards.ports.len() as SwitchId).collect();
            order.retain(|&s| old.is_none_or(|old| old.port(s, endnode) != self.port(s, endnode)));
            order.sort_by_key(|&s| towards.distances[s as usize]);
            writes.extend(order.into_iter().map(|switch| UnicastWrite {
                switch,
                endnode,
                port: self.port(switch, endnode),
            }));
        }
        writes
    }
}

fn towards(network: &Network, endnode: EndnodeId) -> Towards {
    let count = network.switches().len();
    let mut distances = vec![FAR; count];
    let mut ports = vec![None; count];
    let (home, plug) = network.endnodes()[endnode as usize].at;
    distances[home as usize] = 0;
    ports[home as usize] = Some(plug);
    let mut open = VecDeque::from([home]);
    while let Some(at) = open.pop_front() {
        let distance = distances[at as usize] + 1;
        for link in network.links(at) {
            if distances[link.peer as usize] == FAR {
                distances[link.peer as usize] = distance;
                open.push_back(link.peer);
            }
        }
    }
    for switch in (0..count as SwitchId).filter(|&s| s != home) {
        let here = distances[switch as usize];
        let nearer = |peer: SwitchId| here != FAR && distances[peer as usize] < here;
        let links = network.links(switch).iter();
        let ways: Vec<Port> = links.filter(|l| nearer(l.peer)).map(|l| l.port).collect();
        let base = ways.len().max(1);
        let level = here.saturating_sub(1);
        let digit = endnode as usize / base.saturating_pow(level) % base;
        ports[switch as usize] = ways.get(digit).copied();
    }
    Towards { ports, distances }
}
