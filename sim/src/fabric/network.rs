//! Fabrics from networks, and trees from routed groups: `tributary_fabric` says what is cabled to what and which way groups
//! go, here it is simulated.
//!
//! ```
//! use tributary_fabric::{Group, HopTable, Load, Router, export::Routed, route::Own, topology::Topology};
//! use tributary_sim::fabric::{Fabric, LinkSpec, Simulator};
//!
//! let network = "ft3:4".parse::<Topology>()?.build()?;
//! let group = Group::new(&network, [0, 3, 9])?;
//! let (hops, load) = (HopTable::new(&network)?, Load::new(&network));
//! let tree = Own::default().route(&network, &hops, &load, group.switches())?;
//! let routed = Routed { id: 5, group: &group, tree: &tree, leader: 9.into() };
//!
//! let fabric = Fabric::from_network(&network, LinkSpec::default())?;
//! let simulator = Simulator::new(fabric.with_trees(&network, &[routed])?, 1)?;
//! // The leader's switch waits for the two others.
//! assert_eq!(simulator.trees()[0][&4].wait, 2);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use anyhow::{bail, ensure};
use thiserror::Error;
use tributary_fabric::control::{Control, Registers};
use tributary_fabric::export::Routed;
use tributary_fabric::network::{Jack, Network};
use tributary_fabric::{NetworkBuilder, TableError, table};

use super::describe::{
    Cable, EndpointSpec, Fabric, LinkSpec, Place, SWITCH_NODES, SwitchSpec, TreeSpec,
};
use super::simulator::Simulator;

/// A network that is not simulated.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum NetworkError {
    /// A switch with too many ports.
    #[error("switch {switch} has {ports} ports, the project's switch has up to {last}", last = table::PORTS_MAX)]
    Ports {
        /// Its name.
        switch: String,
        /// Its ports.
        ports: u16,
    },
    /// More endnodes than there are numbers of nodes.
    #[error("{endnodes} endnodes, there are addresses for {SWITCH_NODES}")]
    Endnodes {
        /// How many.
        endnodes: usize,
    },
    /// A tree that does not fit the switches' tables.
    #[error("tree {id}: {source}")]
    Table {
        /// Its number.
        id: u16,
        /// Why not.
        source: TableError,
    },
}

impl Fabric {
    /// A network as a fabric without trees; cables that have failed are left out, all others are alike.
    ///
    /// Switches and endpoints keep their index and their name; an endnode's index is its node number. Port 1 of a switch is
    /// port 0 here, and ports without a cable are spare. Cable i leads to endpoint i; those between switches come after.
    ///
    /// # Errors
    /// A switch has more than 64 ports, or there are more than 2^19 endnodes.
    pub fn from_network(network: &Network, link: LinkSpec) -> Result<Self, NetworkError> {
        let endnodes = network.endnodes();
        if endnodes.len() > SWITCH_NODES as usize {
            let endnodes = endnodes.len();
            return Err(NetworkError::Endnodes { endnodes });
        }
        let mut fabric = Self::default();
        for switch in network.switches() {
            let ports = u8::try_from(switch.ports).ok();
            let ports = ports.filter(|&p| u16::from(p) <= table::PORTS_MAX);
            let ports = ports.ok_or_else(|| NetworkError::Ports {
                switch: switch.name.clone(),
                ports: switch.ports,
            })?;
            fabric.switches.push(SwitchSpec {
                spare: u64::MAX >> (64 - ports),
                ..SwitchSpec::new(&switch.name, ports)
            });
        }
        for (node, endnode) in (0..).zip(endnodes) {
            fabric.endpoints.push(EndpointSpec {
                name: endnode.name.clone(),
                node,
                kind: None,
            });
            let ends = [Place::Endpoint(node as usize), fabric.plug(endnode.at)];
            fabric.cables.push(Cable { ends, link });
        }
        let cables = (0..).zip(network.cables());
        for (_, cable) in cables.filter(|(id, _)| network.is_up(*id)) {
            let ends = cable.ends.map(|jack| fabric.plug(jack));
            fabric.cables.push(Cable { ends, link });
        }
        Ok(fabric)
    }

    /// The place of a port of a network, which is spare no longer.
    fn plug(&mut self, (switch, port): Jack) -> Place {
        let (switch, port) = (switch as usize, (port - 1) as u8);
        self.switches[switch].spare &= !(1 << port);
        Place::Switch(switch, port)
    }

    /// Adds trees of the network that the fabric was made from.
    ///
    /// # Errors
    /// One of them does not fit the switches' tables; none is added then. Whether they fit together is seen when the fabric is
    /// simulated.
    pub fn with_trees(
        mut self,
        network: &Network,
        trees: &[Routed<'_>],
    ) -> Result<Self, NetworkError> {
        let trees: Result<Vec<TreeSpec>, _> = trees.iter().map(|t| tree(network, t)).collect();
        self.trees.append(&mut trees?);
        Ok(self)
    }
}

/// What a manager knows of a fabric: the plan of its cables.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Switches and endnodes, with the index that they have in the fabric.
    pub network: Network,
    /// The cable of the fabric that each cable of the network is.
    pub cables: Vec<usize>,
}

impl Fabric {
    /// The fabric as a network: ports count from 1.
    ///
    /// # Errors
    /// An endpoint that hangs on no switch, a cable from a switch to itself, or parts without a way between them.
    pub fn plan(&self) -> anyhow::Result<Plan> {
        ensure!(
            !self.switches.is_empty(),
            "the fabric has no switch for a manager to program"
        );
        let mut builder = NetworkBuilder::new("fabric");
        for (guid, switch) in (1..).zip(&self.switches) {
            builder.switch(&switch.name, guid, switch.ports.into())?;
        }
        let jack = |switch: usize, port: u8| (switch as u32, u16::from(port) + 1);
        let mut homes = vec![(u32::MAX, 0); self.endpoints.len()];
        let mut cables = Vec::new();
        for (index, cable) in self.cables.iter().enumerate() {
            match cable.ends {
                [Place::Endpoint(e), Place::Switch(s, p)]
                | [Place::Switch(s, p), Place::Endpoint(e)] => homes[e] = jack(s, p),
                [Place::Switch(a, p), Place::Switch(b, q)] => {
                    builder.cable(jack(a, p), jack(b, q))?;
                    cables.push(index);
                }
                [Place::Endpoint(a), Place::Endpoint(b)] => bail!(
                    "{} and {} are joined without a switch; in a fabric with switches each endpoint hangs on one",
                    self.endpoints[a].name,
                    self.endpoints[b].name
                ),
            }
        }
        let first = self.switches.len() as u64 + 1;
        for ((guid, endpoint), home) in (first..).zip(&self.endpoints).zip(homes) {
            builder.endnode(&endpoint.name, guid, home)?;
        }
        let network = builder.build()?;
        Ok(Plan { network, cables })
    }
}

impl Simulator {
    /// A manager that has programmed the switches: its endnodes are the endpoints.
    ///
    /// # Errors
    /// A fabric that [`Fabric::plan`] refuses, or that the manager cannot program.
    pub fn manager(&mut self) -> anyhow::Result<Control> {
        let network = self.fabric().plan()?.network;
        let nodes = self.fabric().endpoints.iter().map(|e| e.node).collect();
        Ok(Control::start(network, nodes, self)?)
    }
}

impl Registers for Simulator {
    type Error = anyhow::Error;

    fn read(&mut self, switch: u32, offset: u16) -> anyhow::Result<u32> {
        self.read_register(switch as usize, offset)
    }

    fn write(&mut self, switch: u32, offset: u16, value: u32) -> anyhow::Result<()> {
        self.write_register(switch as usize, offset, value)
    }
}

/// A routed tree of a network as a tree of its fabric.
///
/// # Errors
/// It does not fit the switches' tables.
pub fn tree(network: &Network, routed: &Routed<'_>) -> Result<TreeSpec, NetworkError> {
    let id = routed.id;
    let entries = table::entries(network, routed.group, routed.tree, routed.leader)
        .map_err(|source| NetworkError::Table { id, source })?;
    let members = routed.group.endnodes().iter();
    let leader = routed.leader;
    let members = members.filter(|&&e| e != leader.endnode);
    Ok(TreeSpec {
        id,
        root: leader.endnode as usize,
        root_contributes: leader.contributes,
        members: members.map(|&e| e as usize).collect(),
        entries: entries.iter().map(|&(s, e)| (s as usize, e)).collect(),
    })
}
