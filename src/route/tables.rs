//! Trees as tables of switches, with ids that may repeat where trees share no switch.

use anyhow::{Context, Result};
use tributary_fabric::export::Routed;
use tributary_fabric::export::mcfdbs::McastTables;
use tributary_fabric::export::tables::{ID_LAST, NamedTables};
use tributary_fabric::ids::TreeIds;
use tributary_fabric::network::SwitchId;
use tributary_fabric::{Group, Network, Tree};

/// Trees with ids; member 0 of each group leads.
pub fn routed<'a>(
    network: &Network,
    groups: &'a [Group],
    trees: &'a [Option<Tree>],
) -> Result<Vec<Routed<'a>>> {
    let mut ids = TreeIds::new(network.switch_count(), ID_LAST + 1)?;
    let mut routed = Vec::new();
    for (index, (group, tree)) in groups.iter().zip(trees).enumerate() {
        if let (Some(tree), Some(&leader)) = (tree, group.endnodes().first()) {
            let switches: Vec<SwitchId> = tree.switches().collect();
            let id = ids.allocate(&switches);
            routed.push(Routed {
                id: id.with_context(|| format!("group {index}"))?,
                group,
                tree,
                leader,
            });
        }
    }
    Ok(routed)
}

/// Entries for the project's switches: JSON, or TOML as in fabric files.
pub fn tables(network: &Network, routed: &[Routed<'_>], as_json: bool) -> Result<String> {
    let tables = NamedTables::new(network, routed)?;
    if as_json {
        Ok(serde_json::to_string(&tables)? + "\n")
    } else {
        Ok(tables.to_string())
    }
}

/// OpenSM's dump form.
pub fn mcfdbs(network: &Network, routed: &[Routed<'_>]) -> Result<String> {
    Ok(McastTables::new(network, routed)?.to_string())
}
