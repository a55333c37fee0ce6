//! Networks as text.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::fmt::{Display, Write as _};

use crate::network::{Network, Port, SwitchId};

/// A network in the `.topo` form. Cables that failed are left out, names and GUIDs have no place in it. The tier of a
/// switch is its distance from the nearest switch with endnodes, or -1 if every switch has some.
#[must_use]
pub fn write_topo(network: &Network) -> String {
    let mut out = String::new();
    let name: String = network.name().split_whitespace().collect();
    let name = if name.is_empty() { "network" } else { &name };
    let (switches, endnodes) = (network.switches(), network.endnodes());
    line(
        &mut out,
        format_args!(
            "topo {name} switches {} endnodes {}",
            switches.len(),
            endnodes.len()
        ),
    );
    for ((i, switch), tier) in switches.iter().enumerate().zip(tiers(network)) {
        line(&mut out, format_args!("sw {i} {} {tier}", switch.ports));
    }
    for (id, cable) in (0..).zip(network.cables()) {
        if network.is_up(id) {
            let [a, b] = cable.ends;
            line(&mut out, format_args!("l {} {} {} {}", a.0, a.1, b.0, b.1));
        }
    }
    for [a, b] in network.loopbacks() {
        line(&mut out, format_args!("l {} {} {} {}", a.0, a.1, b.0, b.1));
    }
    for (k, endnode) in endnodes.iter().enumerate() {
        line(
            &mut out,
            format_args!("h {k} {} {}", endnode.at.0, endnode.at.1),
        );
    }
    out
}

/// A network in the form that `ibnetdiscover` prints and ibsim reads: the first endnode, all switches, the other endnodes.
/// Cables that failed are left out. A quote or a line end in a name, which no reader makes, is written as `_`.
#[must_use]
pub fn write_ibnet(network: &Network) -> String {
    let mut out = String::new();
    let mut endnodes = network.endnodes().iter().map(|endnode| {
        let at = &network.switches()[endnode.at.0 as usize].name;
        format!(
            "caguid={:#x}\nHca 1 \"{}\"\n[1] \"{}\"[{}]\n",
            endnode.guid,
            quoted(&endnode.name),
            quoted(at),
            endnode.at.1
        )
    });
    endnodes.by_ref().take(1).for_each(|e| line(&mut out, e));
    for (id, switch) in (0..).zip(network.switches()) {
        line(&mut out, format_args!("switchguid={:#x}", switch.guid));
        line(
            &mut out,
            format_args!("Switch {} \"{}\"", switch.ports, quoted(&switch.name)),
        );
        for (port, peer, peer_port) in plugged(network, id) {
            line(
                &mut out,
                format_args!("[{port}] \"{}\"[{peer_port}]", quoted(peer)),
            );
        }
        line(&mut out, "");
    }
    endnodes.for_each(|e| line(&mut out, e));
    out
}

/// Ports of a switch that are wired, in order: what is at the other end, and its port.
fn plugged(network: &Network, switch: SwitchId) -> Vec<(Port, &str, Port)> {
    let links = network.links(switch).iter().map(|link| {
        let peer = &network.switches()[link.peer as usize];
        (link.port, peer.name.as_str(), link.peer_port)
    });
    let endnodes = network.attached(switch).iter().map(|&id| {
        let endnode = &network.endnodes()[id as usize];
        (endnode.at.1, endnode.name.as_str(), 1)
    });
    let own = network.switches()[switch as usize].name.as_str();
    let loopbacks = network.loopbacks();
    let first = loopbacks.partition_point(|[a, _]| a.0 < switch);
    let loopbacks = loopbacks[first..]
        .iter()
        .take_while(|[a, _]| a.0 == switch)
        .flat_map(|&[a, b]| [(a.1, own, b.1), (b.1, own, a.1)]);
    let mut all: Vec<_> = endnodes.chain(links).chain(loopbacks).collect();
    all.sort_unstable_by_key(|&(port, ..)| port);
    // Both ends of a loopback plug are one port.
    all.dedup();
    all
}

fn line(out: &mut String, text: impl Display) {
    // Writing to a string does not fail.
    let _ = writeln!(out, "{text}");
}

fn quoted(name: &str) -> Cow<'_, str> {
    const NOT: [char; 3] = ['"', '\n', '\r'];
    match name.contains(NOT) {
        true => name.replace(NOT, "_").into(),
        false => name.into(),
    }
}

fn tiers(network: &Network) -> Vec<i64> {
    let mut tiers: Vec<Option<i64>> = vec![None; network.switches().len()];
    let mut queue: VecDeque<SwitchId> = (0..network.switch_count())
        .filter(|&s| !network.attached(s).is_empty())
        .collect();
    if queue.len() == tiers.len() {
        return vec![-1; tiers.len()];
    }
    queue.iter().for_each(|&s| tiers[s as usize] = Some(0));
    while let Some(at) = queue.pop_front() {
        for link in network.links(at) {
            if tiers[link.peer as usize].is_none() {
                tiers[link.peer as usize] = tiers[at as usize].map(|tier| tier + 1);
                queue.push_back(link.peer);
            }
        }
    }
    tiers.into_iter().map(|tier| tier.unwrap_or(-1)).collect()
}
