//! What `ibnetdiscover` prints, and the files of ibsim in the same style.

mod line;

use std::collections::HashMap;

use rayon::prelude::*;

use super::text::{Lines, Wrong, shown};
use crate::network::{Jack, Network, NetworkBuilder, NetworkError, Port, SwitchId};
use crate::topology::{endnode_name, switch_name};
use line::{Parsed, parse};

struct Node<'a> {
    is_switch: bool,
    name: &'a str,
    ports: Port,
    guid: Option<u64>,
    line: usize,
}

/// One end of a cable, as its node's part of the file has it.
struct Plug<'a> {
    node: usize,
    port: Port,
    guid: Option<u64>,
    peer: &'a str,
    peer_port: Port,
    line: usize,
}

pub(super) fn read(lines: &mut Lines<'_>, name: &str) -> Result<Network, Wrong> {
    let mut file = File::default();
    for line in lines {
        let parsed = parse(line.text).map_err(|reason| (line.number, reason))?;
        file.add(parsed, line.number)
            .map_err(|reason| (line.number, reason))?;
    }
    file.sort();
    file.check_ports()?;
    let peers = file.peers()?;
    file.build(name, &peers)
}

#[derive(Default)]
struct File<'a> {
    nodes: Vec<Node<'a>>,
    names: HashMap<&'a str, usize>,
    guids: HashMap<u64, usize>,
    plugs: Vec<Plug<'a>>,
    /// By node: where its plugs begin, once they are sorted.
    first: Vec<usize>,
    /// GUID for the next node.
    guid: Option<u64>,
}

impl<'a> File<'a> {
    fn add(&mut self, parsed: Parsed<'a>, line: usize) -> Result<(), String> {
        match parsed {
            Parsed::Nothing => {}
            Parsed::Guid(guid) => self.guid = Some(guid),
            Parsed::Node {
                is_switch,
                ports,
                name,
            } => {
                if let Some(before) = self.names.insert(name, self.nodes.len()) {
                    return Err(format!(
                        "\"{}\" is there already, in line {}",
                        shown(name),
                        self.nodes[before].line
                    ));
                }
                let guid = self.guid.take();
                if let Some(guid) = guid
                    && let Some(before) = self.guids.insert(guid, self.nodes.len())
                {
                    return Err(format!(
                        "node {} has GUID {guid:#018x}, as {} has, in line {}",
                        shown(name),
                        shown(self.nodes[before].name),
                        self.nodes[before].line
                    ));
                }
                self.nodes.push(Node {
                    is_switch,
                    name,
                    ports,
                    guid,
                    line,
                });
            }
            Parsed::Plug {
                port,
                guid,
                peer,
                peer_port,
            } => {
                let Some(node) = self.nodes.len().checked_sub(1) else {
                    return Err("a port before any node; `Switch 36 \"NAME\"` or `Ca 1 \"NAME\"` comes first".into());
                };
                self.plugs.push(Plug {
                    node,
                    port,
                    guid,
                    peer,
                    peer_port,
                    line,
                });
            }
        }
        Ok(())
    }

    /// Sorts the plugs by node and port.
    fn sort(&mut self) {
        self.plugs.sort_by_key(|plug| (plug.node, plug.port));
        let mut at = 0;
        for node in 0..=self.nodes.len() {
            while self.plugs.get(at).is_some_and(|plug| plug.node < node) {
                at += 1;
            }
            self.first.push(at);
        }
    }

    /// Plugs of a node, by port.
    fn plugs(&self, node: usize) -> &[Plug<'a>] {
        &self.plugs[self.first[node]..self.first[node + 1]]
    }

    /// Every port exists and is there once.
    fn check_ports(&self) -> Result<(), Wrong> {
        for plug in &self.plugs {
            let node = &self.nodes[plug.node];
            if plug.port == 0 || plug.port > node.ports {
                let reason = format!(
                    "\"{}\" has ports 1 to {}, not {}",
                    shown(node.name),
                    node.ports,
                    plug.port
                );
                return Err((plug.line, reason));
            }
        }
        for pair in self.plugs.windows(2) {
            if (pair[0].node, pair[0].port) == (pair[1].node, pair[1].port) {
                let reason = format!(
                    "port {} of \"{}\" is wired already, in line {}",
                    pair[1].port,
                    shown(self.nodes[pair[1].node].name),
                    pair[0].line
                );
                return Err((pair[1].line, reason));
            }
        }
        Ok(())
    }

    /// By plug: the node at the other end, whose own line agrees.
    fn peers(&self) -> Result<Vec<usize>, Wrong> {
        let peer = |plug: &Plug<'_>| {
            let name = self.nodes[plug.node].name;
            let Some(&peer) = self.names.get(plug.peer) else {
                return Err(format!(
                    "there is no \"{}\" in the file; every node that is wired has a part of its own",
                    shown(plug.peer)
                ));
            };
            let there = self.plugs(peer);
            let back = there.binary_search_by_key(&plug.peer_port, |p| p.port);
            let Some(back) = back.ok().map(|back| &there[back]) else {
                return Err(format!(
                    "\"{}\" has no line [{}] \"{}\"[{}]; a cable is there from both ends",
                    shown(plug.peer),
                    plug.peer_port,
                    shown(name),
                    plug.port
                ));
            };
            if (back.peer, back.peer_port) != (name, plug.port) {
                return Err(format!(
                    "the ends of a cable differ: line {} wires port {} of \"{}\" to port {} of \"{}\"",
                    back.line,
                    back.port,
                    shown(plug.peer),
                    back.peer_port,
                    shown(back.peer)
                ));
            }
            Ok(peer)
        };
        let checked = self.plugs.par_iter().map(peer);
        let checked: Vec<Result<usize, String>> = checked.collect();
        let lines = self.plugs.iter().map(|plug| plug.line);
        let checked = checked.into_iter().zip(lines);
        // The first line that is wrong, whichever thread was the first to see one.
        checked
            .map(|(peer, line)| peer.map_err(|reason| (line, reason)))
            .collect()
    }

    /// The switches in OpenSM's order, each with its GUID: OpenSM's table has GUIDs in the order of the network's bytes as keys and
    /// compares these as numbers of a processor whose lowest byte comes first.
    fn switches(&self) -> Vec<(u64, usize)> {
        let nodes = self.nodes.iter().enumerate().filter(|(_, n)| n.is_switch);
        let mut switches: Vec<(u64, usize)> = (0..)
            .zip(nodes)
            .map(|(count, (index, node))| {
                (node.guid.unwrap_or_else(|| switch_name(count).1), index)
            })
            .collect();
        switches.sort_by_key(|&(guid, _)| guid.swap_bytes());
        switches
    }

    fn build(&self, name: &str, peers: &[usize]) -> Result<Network, Wrong> {
        let mut builder = NetworkBuilder::new(name);
        let wrong = |line: usize| move |error: NetworkError| (line, error.to_string());
        let mut switches: Vec<Option<SwitchId>> = vec![None; self.nodes.len()];
        for (guid, index) in self.switches() {
            let node = &self.nodes[index];
            let id = builder.switch(node.name, guid, node.ports);
            switches[index] = Some(id.map_err(wrong(node.line))?);
        }
        let mut endnodes = 0;
        for (plug, &peer) in self.plugs.iter().zip(peers) {
            let there: Option<Jack> = switches[peer].map(|id| (id, plug.peer_port));
            match (switches[plug.node], there) {
                // The other end's line is the same cable.
                (Some(_), None) => {}
                (Some(here), Some(there)) => {
                    let here = (here, plug.port);
                    if here <= there {
                        let added = if here.0 == there.0 {
                            builder.loopback(here, there)
                        } else {
                            builder.cable(here, there).map(drop)
                        };
                        added.map_err(wrong(plug.line))?;
                    }
                }
                (None, Some(at)) => {
                    let node = &self.nodes[plug.node];
                    let (name, guid) = endnode(node, plug, endnodes);
                    builder.endnode(name, guid, at).map_err(wrong(plug.line))?;
                    endnodes += 1;
                }
                (None, None) => {
                    let reason = format!(
                        "\"{}\" and \"{}\" are both endnodes; an endnode is wired to a switch",
                        shown(self.nodes[plug.node].name),
                        shown(plug.peer)
                    );
                    return Err((plug.line, reason));
                }
            }
        }
        self.check_endnodes()?;
        builder.build().map_err(|error| {
            let line = match &error {
                NetworkError::Split { to, .. } => self.names.get(to.as_str()),
                _ => None,
            };
            (
                line.map_or(0, |&node| self.nodes[node].line),
                error.to_string(),
            )
        })
    }

    /// Every endnode is wired: otherwise the file is not whole.
    fn check_endnodes(&self) -> Result<(), Wrong> {
        for (id, node) in self.nodes.iter().enumerate() {
            if !node.is_switch && self.plugs(id).is_empty() {
                let reason = format!("\"{}\" is not wired to a switch", shown(node.name));
                return Err((node.line, reason));
            }
        }
        Ok(())
    }
}

/// Name and GUID of a port of an adapter; `number` is the endnode's.
fn endnode(node: &Node<'_>, plug: &Plug<'_>, number: u32) -> (String, u64) {
    let name = match plug.port {
        1 => node.name.to_owned(),
        port => format!("{}/{port}", node.name),
    };
    let of_node = || match node.guid {
        Some(guid) => guid.wrapping_add(u64::from(plug.port) - 1),
        None => endnode_name(number).1,
    };
    (name, plug.guid.unwrap_or_else(of_node))
}
