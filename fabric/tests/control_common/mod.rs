//! Models of switches on cables: what the manager writes to them, and where frames then get.
#![allow(dead_code, reason = "each test file uses some of it")]

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use tributary_fabric::Network;
use tributary_fabric::control::{Control, Registers};
use tributary_protocol::red::switch::{Switch, SwitchConfig};
use tributary_protocol::red::wire::{DEFAULT_ETHERTYPE, Fabric as Header, Reduction, Restricted};
use tributary_protocol::red::{Address, Frame, Key, Op, Rc};

/// Switches of a network, as after reset until a manager writes to them.
pub struct Fabric {
    plan: Network,
    config: SwitchConfig,
    pub switches: Vec<Switch>,
    /// Switches whose registers do not answer.
    pub silent: BTreeSet<u32>,
    /// A switch with the first version of the registers.
    pub old: Option<u32>,
    /// Writes until none is answered any more.
    pub left: Option<usize>,
    /// Cables that carry nothing.
    pub cut: BTreeSet<u32>,
    /// What is at the other end of a port: a switch and its port, or an endnode.
    peers: BTreeMap<(u32, u8), Peer>,
}

#[derive(Clone, Copy)]
enum Peer {
    Switch(u32, u8, u32),
    Endnode(u32),
}

impl Registers for Fabric {
    type Error = String;

    fn read(&mut self, switch: u32, offset: u16) -> Result<u32, String> {
        if self.silent.contains(&switch) {
            return Err("it is off".to_owned());
        }
        if self.old == Some(switch) {
            match offset {
                0x004 => return Ok(0x0002_0000),
                0x018 => return Err("no register".to_owned()),
                _ => {}
            }
        }
        let read = self.switches[switch as usize].read(offset);
        read.map_err(|error| error.to_string())
    }

    fn write(&mut self, switch: u32, offset: u16, value: u32) -> Result<(), String> {
        if self.silent.contains(&switch) {
            return Err("it is off".to_owned());
        }
        if let Some(left) = &mut self.left {
            *left = left.checked_sub(1).ok_or("no answer")?;
        }
        let written = self.switches[switch as usize].write(offset, value);
        written.map_err(|error| error.to_string())
    }
}

impl Fabric {
    pub fn new(plan: Network, tree_bits: u8) -> Self {
        let config = SwitchConfig {
            ports: 64,
            multicast_bits: tree_bits,
            ..SwitchConfig::default()
        };
        // The network counts ports from 1, the switch from 0.
        let at = |(switch, port): (u32, u16)| (switch, port as u8 - 1);
        let mut peers = BTreeMap::new();
        for (cable, ends) in (0..).zip(plan.cables()) {
            let [a, b] = ends.ends.map(at);
            peers.insert(a, Peer::Switch(b.0, b.1, cable));
            peers.insert(b, Peer::Switch(a.0, a.1, cable));
        }
        for (endnode, node) in (0..).zip(plan.endnodes()) {
            peers.insert(at(node.at), Peer::Endnode(endnode));
        }
        let fresh = Switch::new(config).unwrap();
        Self {
            switches: vec![fresh; plan.switches().len()],
            plan,
            config,
            silent: BTreeSet::new(),
            old: None,
            left: None,
            cut: BTreeSet::new(),
            peers,
        }
    }

    /// A manager of these switches; endnode e is node e.
    pub fn manager(&mut self) -> Control {
        let nodes = (0..self.plan.endnodes().len() as u32).collect();
        Control::start(self.plan.clone(), nodes, self).unwrap()
    }

    pub fn plan(&self) -> &Network {
        &self.plan
    }

    pub fn hosts(&self) -> u32 {
        self.plan.endnodes().len() as u32
    }

    /// The switch loses all that was written to it.
    pub fn reset(&mut self, switch: u32) {
        self.switches[switch as usize] = Switch::new(self.config).unwrap();
    }

    /// Endnodes that a frame of an endnode reaches.
    fn reached(&mut self, from: u32, frame: &[u8]) -> BTreeSet<u32> {
        let (home, plug) = self.plan.endnodes()[from as usize].at;
        let mut reached = BTreeSet::new();
        let mut under_way = VecDeque::from([(home, plug as u8 - 1)]);
        let mut hops = 0;
        while let Some((switch, port)) = under_way.pop_front() {
            hops += 1;
            assert!(hops < 10_000, "a frame of {from} goes round");
            for (out, _) in self.switches[switch as usize].receive(port, frame, 0) {
                match self.peers.get(&(switch, out)) {
                    Some(Peer::Switch(peer, at, cable)) if !self.cut.contains(cable) => {
                        under_way.push_back((*peer, *at));
                    }
                    Some(Peer::Endnode(endnode)) => {
                        reached.insert(*endnode);
                    }
                    _ => {}
                }
            }
        }
        reached
    }

    fn frame(mac: [u8; 6]) -> Vec<u8> {
        let mut frame = vec![0; 64];
        frame[..6].copy_from_slice(&mac);
        frame
    }

    /// Endnodes that a multicast frame under a tree's number reaches.
    pub fn on_tree(&mut self, from: u32, tree: u16) -> BTreeSet<u32> {
        let key = Key { tree, reduction: 0 };
        self.reached(from, &Self::frame(key.address().mac()))
    }

    /// Endnodes that a contribution of an endnode under a tree's number reaches. Engines are asked for nothing: it passes them.
    pub fn contribution(&mut self, from: u32, tree: u16) -> BTreeSet<u32> {
        let key = Key { tree, reduction: 0 };
        let frame = Frame {
            fabric: Header::new(Address::unicast(from, 0), key.address(), 1),
            restricted: Restricted::default(),
            red: Reduction {
                seqno: 1,
                arm: false,
                op: Op::IntSum,
                count: 1,
                resno: 1,
                rc: Rc::OK,
                m: 0,
                oflow: 0,
                pad: 0,
                cookie: 8,
            },
            data: [1; 4],
        };
        self.reached(from, &frame.to_bytes(DEFAULT_ETHERTYPE))
    }

    /// Whether every endnode reaches every other, and nobody else.
    pub fn is_whole(&mut self) -> bool {
        let hosts = self.hosts();
        let pairs = (0..hosts).flat_map(|from| (0..hosts).map(move |to| (from, to)));
        let pairs: Vec<_> = pairs.filter(|(from, to)| from != to).collect();
        pairs.into_iter().all(|(from, to)| {
            let frame = Self::frame(Address::unicast(to, 0).mac());
            self.reached(from, &frame) == BTreeSet::from([to])
        })
    }
}

/// All but one.
pub fn others(members: &[u32], leader: u32) -> BTreeSet<u32> {
    let members = members.iter().copied();
    members.filter(|&member| member != leader).collect()
}
