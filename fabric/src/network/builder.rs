//! Puts a network together; every step is checked as it is taken, so that a reader can say which line was wrong.

use std::collections::{HashMap, HashSet};

use crate::structure::{Form, Structure};

use super::{
    Cable, CableId, Endnode, EndnodeId, Jack, Link, Network, NetworkError, Port, Switch, SwitchId,
};

/// Most switches: distances and indexes are kept in few bytes.
const SWITCHES_MAX: u32 = 1 << 17;
const ENDNODES_MAX: u32 = 1 << 24;
const CABLES_MAX: u32 = 1 << 24;
/// Most ports of a switch.
const PORTS_MAX: Port = 1024;

#[derive(Clone, Copy, Debug)]
enum Plug {
    Cable(CableId),
    Endnode(EndnodeId),
    /// A cable back to the same switch.
    Loopback,
}

#[derive(Clone, Copy, Debug)]
enum Node {
    Switch(SwitchId),
    Endnode(EndnodeId),
}

/// A network in the making.
#[derive(Clone, Debug, Default)]
pub struct NetworkBuilder {
    name: String,
    switches: Vec<Switch>,
    endnodes: Vec<Endnode>,
    cables: Vec<Cable>,
    loopbacks: Vec<[Jack; 2]>,
    blocks: Vec<Option<u32>>,
    dragonfly: bool,
    /// By switch: what is plugged in, by port. Sorted lists: a file with many large, empty switches must not take memory.
    plugs: Vec<Vec<(Port, Plug)>>,
    names: HashSet<Box<str>>,
    guids: HashMap<u64, Node>,
}

impl NetworkBuilder {
    /// A network without anything in it.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            ..Self::default()
        }
    }

    /// Adds a switch with ports 1 to `ports`.
    ///
    /// # Errors
    /// Its name or GUID is taken, or it has no ports or more than 1,024.
    pub fn switch(
        &mut self,
        name: impl Into<String>,
        guid: u64,
        ports: Port,
    ) -> Result<SwitchId, NetworkError> {
        let name = name.into();
        if ports == 0 || ports > PORTS_MAX {
            return Err(NetworkError::NoPort {
                switch: name,
                port: ports,
                ports: PORTS_MAX,
            });
        }
        let id = index("switches", self.switches.len(), SWITCHES_MAX)?;
        self.register(&name, guid, Node::Switch(id))?;
        self.switches.push(Switch { name, guid, ports });
        self.blocks.push(None);
        self.plugs.push(Vec::new());
        Ok(id)
    }

    /// Adds an endnode and plugs it in.
    ///
    /// # Errors
    /// Its name or GUID is taken, or the port is or does not exist.
    pub fn endnode(
        &mut self,
        name: impl Into<String>,
        guid: u64,
        at: Jack,
    ) -> Result<EndnodeId, NetworkError> {
        let name = name.into();
        let id = index("endnodes", self.endnodes.len(), ENDNODES_MAX)?;
        let place = self.free(at)?;
        self.register(&name, guid, Node::Endnode(id))?;
        self.plugs[at.0 as usize].insert(place, (at.1, Plug::Endnode(id)));
        self.endnodes.push(Endnode { name, guid, at });
        Ok(id)
    }

    /// Adds a cable between two switches.
    ///
    /// # Errors
    /// A port is taken or does not exist, or both ends are on one switch.
    pub fn cable(&mut self, a: Jack, b: Jack) -> Result<CableId, NetworkError> {
        let id = index("cables", self.cables.len(), CABLES_MAX)?;
        let places = [self.free(a)?, self.free(b)?];
        if a.0 == b.0 {
            return Err(NetworkError::Loop(self.switches[a.0 as usize].name.clone()));
        }
        for ((switch, port), place) in [a, b].into_iter().zip(places) {
            self.plugs[switch as usize].insert(place, (port, Plug::Cable(id)));
        }
        self.cables.push(Cable {
            ends: if a < b { [a, b] } else { [b, a] },
        });
        Ok(id)
    }

    /// Adds a cable from a switch back to itself, or a plug that joins a port with itself (`a` and `b` are the same). It takes the
    /// ports, and nothing uses it ([`Network::loopbacks`]).
    ///
    /// # Errors
    /// A port is taken or does not exist, or the ends are on two switches.
    pub fn loopback(&mut self, a: Jack, b: Jack) -> Result<(), NetworkError> {
        index("cables", self.loopbacks.len(), CABLES_MAX)?;
        self.free(a)?;
        self.free(b)?;
        if a.0 != b.0 {
            let name = |jack: Jack| self.switches[jack.0 as usize].name.clone();
            return Err(NetworkError::NoLoop {
                from: name(a),
                to: name(b),
            });
        }
        let ends = if a < b { [a, b] } else { [b, a] };
        let plugs = &mut self.plugs[a.0 as usize];
        for (_, port) in ends {
            // The second end of a plug finds the first.
            if let Err(place) = plugs.binary_search_by_key(&port, |&(p, _)| p) {
                plugs.insert(place, (port, Plug::Loopback));
            }
        }
        self.loopbacks.push(ends);
        Ok(())
    }

    /// Says that the blocks are the groups of a dragonfly ([`Network::is_dragonfly`]).
    pub const fn dragonfly(&mut self) {
        self.dragonfly = true;
    }

    /// Says that a switch belongs to a part of the network ([`Network::blocks`]).
    pub fn block(&mut self, switch: SwitchId, block: u32) {
        if let Some(slot) = self.blocks.get_mut(switch as usize) {
            *slot = Some(block);
        }
    }

    /// The network.
    ///
    /// # Errors
    /// It has no switch, or it is not connected.
    pub fn build(self) -> Result<Network, NetworkError> {
        if self.switches.is_empty() {
            return Err(NetworkError::Empty);
        }
        // The plugs of a switch are by port already.
        let switches = self.switches.len();
        let (mut first, mut up) = (Vec::with_capacity(switches), Vec::with_capacity(switches));
        let mut links = Vec::with_capacity(2 * self.cables.len());
        let mut first_attached = Vec::with_capacity(switches + 1);
        let mut attached = Vec::with_capacity(self.endnodes.len());
        for (switch, plugs) in (0..).zip(&self.plugs) {
            first.push(links.len() as u32);
            first_attached.push(attached.len() as u32);
            for &(port, plug) in plugs {
                match plug {
                    Plug::Endnode(endnode) => attached.push(endnode),
                    Plug::Loopback => {}
                    Plug::Cable(cable) => {
                        let [a, b] = self.cables[cable as usize].ends;
                        let (peer, peer_port) = if a == (switch, port) { b } else { a };
                        links.push(Link {
                            peer,
                            cable,
                            port,
                            peer_port,
                        });
                    }
                }
            }
            up.push((links.len() - first[switch as usize] as usize) as u16);
        }
        first_attached.push(attached.len() as u32);
        let mut loopbacks = self.loopbacks;
        loopbacks.sort_unstable();
        let mut network = Network {
            name: self.name,
            switches: self.switches,
            endnodes: self.endnodes,
            cables: self.cables,
            loopbacks,
            first,
            up,
            links,
            first_attached,
            attached,
            blocks: Vec::new(),
            dragonfly: self.dragonfly,
            structure: Structure::default(),
        };
        if let Some((from, to)) = network.split() {
            return Err(NetworkError::Split {
                from: network.switches[from as usize].name.clone(),
                to: network.switches[to as usize].name.clone(),
            });
        }
        network.structure = Structure::recognise(&network);
        network.blocks = match network.structure.blocks() {
            Some(found) if self.blocks.iter().all(Option::is_none) => {
                network.dragonfly |= matches!(network.structure.form(), Form::Dragonfly(_));
                renumbered(&shared(found))
            }
            _ => renumbered(&self.blocks),
        };
        Ok(network)
    }

    fn register(&mut self, name: &str, guid: u64, node: Node) -> Result<(), NetworkError> {
        if let Some(&other) = self.guids.get(&guid) {
            return Err(NetworkError::DuplicateGuid {
                name: name.into(),
                guid,
                other: match other {
                    Node::Switch(s) => self.switches[s as usize].name.clone(),
                    Node::Endnode(e) => self.endnodes[e as usize].name.clone(),
                },
            });
        }
        if !self.names.insert(name.into()) {
            return Err(NetworkError::DuplicateName(name.into()));
        }
        self.guids.insert(guid, node);
        Ok(())
    }

    /// Where a plug for this port belongs in the switch's list.
    fn free(&self, (switch, port): Jack) -> Result<usize, NetworkError> {
        let Some(known) = self.switches.get(switch as usize) else {
            return Err(NetworkError::NoSwitch {
                switch,
                switches: self.switches.len() as u32,
            });
        };
        if port == 0 || port > known.ports {
            return Err(NetworkError::NoPort {
                switch: known.name.clone(),
                port,
                ports: known.ports,
            });
        }
        let plugs = &self.plugs[switch as usize];
        let place = match plugs.binary_search_by_key(&port, |&(p, _)| p) {
            Ok(place) => place,
            Err(place) => return Ok(place),
        };
        let to = match plugs[place].1 {
            Plug::Endnode(e) => self.endnodes[e as usize].name.clone(),
            Plug::Cable(c) => {
                let other = self.cables[c as usize].other(switch);
                self.switches[other as usize].name.clone()
            }
            Plug::Loopback => known.name.clone(),
        };
        Err(NetworkError::PortTaken {
            switch: known.name.clone(),
            port,
            to,
        })
    }
}

/// Parts with more than one switch.
fn shared(parts: &[u32]) -> Vec<Option<u32>> {
    let mut sizes = vec![0u32; parts.len()];
    parts.iter().for_each(|&part| sizes[part as usize] += 1);
    let of = |&part: &u32| (sizes[part as usize] > 1).then_some(part);
    parts.iter().map(of).collect()
}

/// Blocks from 0 without gaps, then a number for every switch without a block.
fn renumbered(blocks: &[Option<u32>]) -> Vec<u32> {
    let mut known: Vec<u32> = blocks.iter().flatten().copied().collect();
    known.sort_unstable();
    known.dedup();
    let mut own = known.len() as u32;
    let mut number = |block: &Option<u32>| match block {
        Some(block) => known.partition_point(|k| k < block) as u32,
        None => {
            own += 1;
            own - 1
        }
    };
    blocks.iter().map(&mut number).collect()
}

fn index(what: &'static str, len: usize, max: u32) -> Result<u32, NetworkError> {
    u32::try_from(len)
        .ok()
        .filter(|&i| i < max)
        .ok_or(NetworkError::TooMany { what, max })
}
