//! The same network as a file has it that someone else wrote: switches, endnodes, ports and GUIDs in no order.

use std::fmt::Write;

use rand::RngExt;
use rand::seq::SliceRandom;
use tributary_fabric::{Network, read};

/// A network read from such a file. The node with number i has the name that it had.
pub fn shuffled(network: &Network, rng: &mut impl RngExt) -> Network {
    let mut nodes: Vec<String> = Vec::new();
    let mut ports: Vec<Vec<u16>> = Vec::new();
    for switch in network.switches() {
        let mut of: Vec<u16> = (1..=switch.ports).collect();
        of.shuffle(rng);
        ports.push(of);
    }
    let port = |switch: u32, port: u16| ports[switch as usize][usize::from(port) - 1];
    for (id, switch) in (0u32..).zip(network.switches()) {
        let mut lines: Vec<String> = network
            .links(id)
            .iter()
            .map(|link| {
                let peer = &network.switches()[link.peer as usize].name;
                let far = port(link.peer, link.peer_port);
                format!("[{}] \"{peer}\"[{far}]\n", port(id, link.port))
            })
            .collect();
        for &e in network.attached(id) {
            let endnode = &network.endnodes()[e as usize];
            lines.push(format!(
                "[{}] \"{}\"[1]\n",
                port(id, endnode.at.1),
                endnode.name
            ));
        }
        lines.shuffle(rng);
        let guid: u64 = rng.random();
        let mut text = format!(
            "switchguid={guid:#x}\nSwitch {} \"{}\"\n",
            switch.ports, switch.name
        );
        text.extend(lines);
        nodes.push(text);
    }
    for endnode in network.endnodes() {
        let (at, at_port) = endnode.at;
        let switch = &network.switches()[at as usize].name;
        let guid: u64 = rng.random();
        nodes.push(format!(
            "caguid={guid:#x}\nCa 1 \"{}\"\n[1] \"{switch}\"[{}]\n",
            endnode.name,
            port(at, at_port)
        ));
    }
    nodes.shuffle(rng);
    let mut text = String::new();
    for node in nodes {
        writeln!(text, "{node}").unwrap();
    }
    read::parse(text.as_bytes(), "shuffled", network.name()).unwrap()
}
