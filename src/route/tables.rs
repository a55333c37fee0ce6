//! Trees as tables of switches: for the project's own, with ids that may repeat where trees share no switch, and as OpenSM has them.

use std::fmt::Write as _;
use std::io::Write as _;

use anyhow::{Context, Result};
use serde::Serialize;
use tributary_fabric::export::Routed;
use tributary_fabric::export::mcfdbs::{MLID_FIRST, MLID_LAST, McastTables, mlid};
use tributary_fabric::export::tables::{Entries, ID_LAST};
use tributary_fabric::ids::TreeIds;
use tributary_fabric::network::SwitchId;
use tributary_fabric::{Group, Network, Tree};

use crate::files::NewFile;

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
                leader: leader.into(),
            });
        }
    }
    Ok(routed)
}

/// Writes entries for the project's switches: JSON, or TOML as in fabric files.
pub fn write_tables(
    network: &Network,
    routed: &[Routed<'_>],
    as_json: bool,
    mut file: NewFile,
) -> Result<()> {
    let entries = Entries::new(network, routed)?;
    let written = if as_json {
        file.write_all((serde_json::to_string(&entries.named())? + "\n").as_bytes())
    } else {
        entries.write_toml(&mut file)
    };
    written.context("cannot write an output")?;
    file.finish()
}

/// A group's multicast LID.
#[derive(Clone, Debug, Serialize)]
pub struct Mlid {
    /// Index of the group.
    group: usize,
    /// `0xC000` and up.
    mlid: String,
    /// Whether switches have entries for it: a group of one endnode has none.
    has_entries: bool,
}

/// The multicast LIDs of groups that OpenSM would make in this order.
pub fn mlids(trees: &[Option<Tree>]) -> Result<Vec<Mlid>> {
    let of = |(group, tree): (usize, &Option<Tree>)| {
        let id = u16::try_from(group).unwrap_or(u16::MAX);
        let number = mlid(id).with_context(|| {
            format!(
                "--mcfdbs: {} groups, and there are {} multicast LIDs",
                trees.len(),
                MLID_LAST - MLID_FIRST + 1
            )
        })?;
        Ok(Mlid {
            group,
            mlid: format!("0x{number:04X}"),
            has_entries: tree.is_some(),
        })
    };
    trees.iter().enumerate().map(of).collect()
}

/// OpenSM's dump form, with the multicast LIDs of the groups as comments in front.
pub fn mcfdbs(
    network: &Network,
    groups: &[Group],
    trees: &[Option<Tree>],
    mlids: &[Mlid],
) -> Result<String> {
    let mut text = String::from("# group: multicast LID\n");
    for Mlid {
        group,
        mlid,
        has_entries,
    } in mlids
    {
        let without = if *has_entries { "" } else { ", no entries" };
        let _ = writeln!(text, "# {group}: {mlid}{without}");
    }
    text += &McastTables::of_groups(network, groups, trees)?.to_string();
    Ok(text)
}
