//! A cable fails under routed groups: what it touches, and how long the repair takes.

use std::time::Instant;

use anyhow::{Context, Result, bail};
use serde::Serialize;
use tributary_fabric::network::{CableId, Network, Port};
use tributary_fabric::{Group, HopTable, Load, Router, Tree, TreeCheck};

/// What a failed cable did.
#[derive(Clone, Debug, Serialize)]
pub struct Failure {
    /// `S0.3 - S1.4`.
    pub cable: String,
    pub cable_index: CableId,
    /// Groups whose trees had it.
    pub touched_groups: usize,
    /// Of these, groups that have no tree now.
    pub unreachable_groups: usize,
    /// Why the first of them has none.
    pub reason: Option<String>,
    /// To bring the distances up to date.
    pub hop_table_time_s: f64,
    /// To find the trees that had the cable, and route their groups again.
    pub time_s: f64,
    pub max_efi_before: u32,
    pub max_efi: u32,
}

/// The cable of a text: its index, or one of its ends as SWITCH.PORT.
pub fn cable(network: &Network, text: &str) -> Result<CableId> {
    let cables = network.cables().len();
    if !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit()) {
        let index = text
            .parse()
            .ok()
            .filter(|&i: &CableId| (i as usize) < cables);
        return index.with_context(|| {
            format!(
                "there is no cable {text}: {} has {cables}, numbered from 0",
                network.name()
            )
        });
    }
    let form = "a cable is its number, or one of its ends as SWITCH.PORT";
    let parts = text.rsplit_once('.');
    let (name, port) = parts.with_context(|| format!("`{text}` is no cable: {form}"))?;
    let port: Port = port
        .parse()
        .ok()
        .with_context(|| format!("`{port}` of `{text}` is no port: {form}"))?;
    let switch = network.switches().iter().position(|s| s.name == name);
    let switch = switch.with_context(|| {
        let first = &network.switches()[0].name;
        let last = network.switch_count() - 1;
        format!("there is no switch {name}; switch 0 is {first}, the last one is number {last}")
    })? as u32;
    let ends = |c: &tributary_fabric::network::Cable| c.ends.contains(&(switch, port));
    if let Some(cable) = network.cables().iter().position(ends) {
        return Ok(cable as CableId);
    }
    let loopback = network.loopbacks().iter();
    if loopback.flatten().any(|&end| end == (switch, port)) {
        bail!("port {port} of switch {name} leads back to the switch: nothing uses this cable");
    }
    let ports = network.switches()[switch as usize].ports;
    let at = |e: &&u32| network.endnodes()[**e as usize].at.1 == port;
    match network.attached(switch).iter().find(at) {
        Some(&endnode) => bail!(
            "port {port} of switch {name} leads to endnode {}, not to a switch",
            network.endnodes()[endnode as usize].name
        ),
        None if (1..=ports).contains(&port) => {
            bail!("nothing is plugged in to port {port} of switch {name}")
        }
        None => bail!("switch {name} has ports 1 to {ports}, not {port}"),
    }
}

/// Both ends of a cable, by name.
pub fn name(network: &Network, cable: CableId) -> String {
    let end = |i: usize| {
        let (switch, port) = network.cables()[cable as usize].ends[i];
        format!("{}.{port}", network.switches()[switch as usize].name)
    };
    format!("{} - {}", end(0), end(1))
}

/// Fails a cable and routes the groups again whose trees had it. Groups that cannot be reached lose their trees.
pub fn fail(
    network: &mut Network,
    hops: &mut HopTable,
    router: &mut dyn Router,
    groups: &[Group],
    trees: &mut [Option<Tree>],
    load: &mut Load,
    cable: CableId,
) -> Result<Failure> {
    let max_efi_before = load.max();
    if !network.fail(cable) {
        bail!("cable {} is out of service already", name(network, cable));
    }
    let start = Instant::now();
    hops.failed(network, cable)?;
    let hop_table_time_s = start.elapsed().as_secs_f64();
    let start = Instant::now();
    let uses = |tree: &Option<Tree>| tree.iter().any(|t| t.cables().any(|c| c == cable));
    let touched: Vec<usize> = (0..trees.len()).filter(|&i| uses(&trees[i])).collect();
    let (mut unreachable, mut reason) = (0, None);
    for &index in &touched {
        let Some(old) = trees[index].take() else {
            continue;
        };
        // What the other trees keep counts, so they stay in the load until it is their turn.
        load.remove(&old);
        match router.reroute(network, hops, load, groups[index].switches(), &old) {
            Ok(tree) => {
                load.add(&tree);
                trees[index] = Some(tree);
            }
            Err(error) => {
                unreachable += 1;
                reason.get_or_insert_with(|| format!("group {index}: {error}"));
            }
        }
    }
    let time_s = start.elapsed().as_secs_f64();
    let mut each = TreeCheck::new(network);
    for &index in &touched {
        if let Some(tree) = &trees[index] {
            let checked = each.check(tree, groups[index].switches());
            checked.map_err(|reason| anyhow::anyhow!("new tree of group {index}: {reason}"))?;
        }
    }
    Ok(Failure {
        cable: name(network, cable),
        cable_index: cable,
        touched_groups: touched.len(),
        unreachable_groups: unreachable,
        reason,
        hop_table_time_s,
        time_s,
        max_efi_before,
        max_efi: load.max(),
    })
}
