//! Switches, endnodes and the cables between them.
//!
//! Switches, endnodes and cables are numbered from 0 in the order in which they are added: "table order" of the routers.
//! Ports are numbered from 1. An endnode has one port.
//!
//! ```
//! use tributary_fabric::NetworkBuilder;
//!
//! let mut builder = NetworkBuilder::new("pair");
//! let a = builder.switch("a", 0x10, 4)?;
//! let b = builder.switch("b", 0x11, 4)?;
//! builder.cable((a, 4), (b, 4))?;
//! builder.endnode("h0", 0x20, (a, 1))?;
//! builder.endnode("h1", 0x21, (b, 1))?;
//! let network = builder.build()?;
//! assert_eq!(network.links(a)[0].peer, b);
//! # Ok::<(), tributary_fabric::NetworkError>(())
//! ```

mod builder;

pub use builder::NetworkBuilder;
use thiserror::Error;

use crate::structure::Structure;

/// Index of a switch.
pub type SwitchId = u32;
/// Index of an endnode.
pub type EndnodeId = u32;
/// Index of a cable between two switches.
pub type CableId = u32;
/// Number of a port, from 1.
pub type Port = u16;
/// A port of a switch.
pub type Jack = (SwitchId, Port);

/// A network that cannot be.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum NetworkError {
    /// Too much of something.
    #[error("more than {max} {what}")]
    TooMany {
        /// Of what.
        what: &'static str,
        /// Most there can be.
        max: u32,
    },
    /// A switch that was not added.
    #[error("there is no switch {switch}: {switches} were added")]
    NoSwitch {
        /// Its index.
        switch: SwitchId,
        /// Number of switches.
        switches: u32,
    },
    /// A port that the switch does not have.
    #[error("switch {switch} has ports 1 to {ports}, not {port}")]
    NoPort {
        /// Name of the switch.
        switch: String,
        /// The port.
        port: Port,
        /// Its ports.
        ports: Port,
    },
    /// Two cables in one port.
    #[error("port {port} of switch {switch} is wired already, to {to}")]
    PortTaken {
        /// Name of the switch.
        switch: String,
        /// The port.
        port: Port,
        /// What is there.
        to: String,
    },
    /// Two nodes of one name.
    #[error("there is a node {0} already")]
    DuplicateName(String),
    /// Two nodes of one GUID.
    #[error("node {name} has GUID {guid:#018x}, as {other} has")]
    DuplicateGuid {
        /// Name of the second.
        name: String,
        /// The GUID.
        guid: u64,
        /// Name of the first.
        other: String,
    },
    /// A cable from a switch to itself, which is no cable between switches ([`NetworkBuilder::loopback`]).
    #[error("switch {0} is wired to itself")]
    Loop(String),
    /// A loopback cable between two switches.
    #[error("a loopback cable from switch {from} leads to switch {to}")]
    NoLoop {
        /// Name of a switch.
        from: String,
        /// Name of the other.
        to: String,
    },
    /// No switches at all.
    #[error("a network needs a switch")]
    Empty,
    /// Switches without a path between them.
    #[error("no path from switch {from} to switch {to}")]
    Split {
        /// Name of the first switch.
        from: String,
        /// Name of a switch that it does not reach.
        to: String,
    },
}

/// A switch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Switch {
    /// Its name.
    pub name: String,
    /// Its GUID.
    pub guid: u64,
    /// Its ports: 1 to `ports`.
    pub ports: Port,
}

/// An endnode.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endnode {
    /// Its name.
    pub name: String,
    /// Its GUID.
    pub guid: u64,
    /// Where it is plugged in.
    pub at: Jack,
}

/// A cable between two switches; the lower switch first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cable {
    /// Its ends.
    pub ends: [Jack; 2],
}

impl Cable {
    /// The switch at the other end.
    #[must_use]
    pub const fn other(&self, switch: SwitchId) -> SwitchId {
        self.ends[0].0 ^ self.ends[1].0 ^ switch
    }
}

/// A cable, as one of its switches sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    /// Switch at the other end.
    pub peer: SwitchId,
    /// The cable.
    pub cable: CableId,
    /// Port at this end.
    pub port: Port,
    /// Port at the other end.
    pub peer_port: Port,
}

/// A network that is connected and consistent when built; cables can fail later.
#[derive(Clone, Debug)]
pub struct Network {
    name: String,
    switches: Vec<Switch>,
    endnodes: Vec<Endnode>,
    cables: Vec<Cable>,
    loopbacks: Vec<[Jack; 2]>,
    /// By switch: where its links begin in `links`, and how many of them are up. The ones that are up come first, by port.
    first: Vec<u32>,
    up: Vec<u16>,
    links: Vec<Link>,
    /// By switch: where its endnodes begin in `attached`, by port.
    first_attached: Vec<u32>,
    attached: Vec<EndnodeId>,
    blocks: Vec<u32>,
    dragonfly: bool,
    structure: Structure,
}

impl Network {
    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The switches.
    #[must_use]
    pub fn switches(&self) -> &[Switch] {
        &self.switches
    }

    /// Number of switches.
    #[must_use]
    pub fn switch_count(&self) -> u32 {
        self.switches.len() as u32
    }

    /// The endnodes.
    #[must_use]
    pub fn endnodes(&self) -> &[Endnode] {
        &self.endnodes
    }

    /// The cables between switches, failed ones too.
    #[must_use]
    pub fn cables(&self) -> &[Cable] {
        &self.cables
    }

    /// Cables from a switch back to itself, by switch and port; the ends of a loopback plug are the same port.
    /// No tree uses them, and they are none of [`Network::cables`].
    #[must_use]
    pub fn loopbacks(&self) -> &[[Jack; 2]] {
        &self.loopbacks
    }

    /// Cables of a switch that are up, by port.
    #[must_use]
    #[inline]
    pub fn links(&self, switch: SwitchId) -> &[Link] {
        let first = self.first[switch as usize] as usize;
        &self.links[first..first + usize::from(self.up[switch as usize])]
    }

    /// Endnodes of a switch, by port.
    #[must_use]
    pub fn attached(&self, switch: SwitchId) -> &[EndnodeId] {
        let (first, end) = (
            self.first_attached[switch as usize],
            self.first_attached[switch as usize + 1],
        );
        &self.attached[first as usize..end as usize]
    }

    /// What kind of network it was when it was built, as far as its graph shows it.
    #[must_use]
    pub const fn structure(&self) -> &Structure {
        &self.structure
    }

    /// Parts of the network that are cabled alike inside (pods, supernodes, dragonfly groups), by switch; a switch that
    /// belongs to none has a number of its own. As the builder was told ([`NetworkBuilder::block`]), else as recognised.
    #[must_use]
    pub fn blocks(&self) -> &[u32] {
        &self.blocks
    }

    /// Whether it is a dragonfly and [`Network::blocks`] are its groups: cables between them are the long, global ones.
    #[must_use]
    pub const fn is_dragonfly(&self) -> bool {
        self.dragonfly
    }

    /// Whether a cable works.
    #[must_use]
    pub fn is_up(&self, cable: CableId) -> bool {
        self.cables.get(cable as usize).is_some_and(|c| {
            self.links(c.ends[0].0)
                .iter()
                .any(|link| link.cable == cable)
        })
    }

    /// Takes a cable out of service; false if there is no such cable or it is out already.
    pub fn fail(&mut self, cable: CableId) -> bool {
        if !self.is_up(cable) {
            return false;
        }
        for (switch, _) in self.cables[cable as usize].ends {
            let first = self.first[switch as usize] as usize;
            let up = usize::from(self.up[switch as usize]);
            let links = &mut self.links[first..first + up];
            if let Some(at) = links.iter().position(|link| link.cable == cable) {
                links[at..].rotate_left(1);
                self.up[switch as usize] -= 1;
            }
        }
        true
    }

    /// Puts a cable back into service; false if there is no such cable or it works.
    pub fn restore(&mut self, cable: CableId) -> bool {
        if cable as usize >= self.cables.len() || self.is_up(cable) {
            return false;
        }
        for (switch, _) in self.cables[cable as usize].ends {
            let first = self.first[switch as usize] as usize;
            let end = self
                .first
                .get(switch as usize + 1)
                .map_or(self.links.len(), |&e| e as usize);
            let up = usize::from(self.up[switch as usize]);
            let links = &mut self.links[first..end];
            if let Some(at) = links[up..].iter().position(|link| link.cable == cable) {
                let at = up + at;
                let before = links[..up].partition_point(|link| link.port < links[at].port);
                links[before..=at].rotate_right(1);
                self.up[switch as usize] += 1;
            }
        }
        true
    }

    /// Two switches without a path between them, if there are such.
    #[must_use]
    pub fn split(&self) -> Option<(SwitchId, SwitchId)> {
        let mut seen = vec![false; self.switches.len()];
        let mut open = vec![0];
        seen[0] = true;
        while let Some(at) = open.pop() {
            for link in self.links(at) {
                if !seen[link.peer as usize] {
                    seen[link.peer as usize] = true;
                    open.push(link.peer);
                }
            }
        }
        let missing = seen.iter().position(|seen| !seen)?;
        Some((0, missing as u32))
    }
}
