//! Multicast tables in OpenSM's dump form, `opensm.mcfdbs`.
//!
//! A block for each switch that has entries: its GUID, then the ports of each multicast LID. A frame that enters by one of the
//! ports leaves by all others; a tree has no direction there, so its leader plays no part.
//!
//! ```
//! use tributary_fabric::export::mcfdbs::McastTables;
//!
//! let dump = "
//! Switch 0x0002c902400cb508
//! LID    : Out Port(s)
//! 0xC000 : 0x001  0x013 \n";
//! let tables = McastTables::parse(dump, "opensm.mcfdbs")?;
//! assert_eq!(tables.ports(0x0002_c902_400c_b508, 0xc000), [1, 19]);
//! assert_eq!(tables.to_string(), dump);
//! # Ok::<(), tributary_fabric::export::mcfdbs::DumpError>(())
//! ```

mod check;
mod parse;
mod table;

use std::collections::BTreeMap;
use std::fmt;

pub use check::CheckError;
pub use parse::DumpError;
use rayon::prelude::*;
use table::Table;

use super::{ExportError, Routed, switch_name};
use crate::group::Group;
use crate::network::{Jack, Network, Port};
use crate::tree::{Tree, TreeCheck};

/// Multicast LID of tree 0.
pub const MLID_FIRST: u16 = 0xc000;
/// Last multicast LID; 0xFFFF is the permissive LID.
pub const MLID_LAST: u16 = 0xfffe;

/// Multicast tables of many switches.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct McastTables {
    /// By switch and LID, ports ascending; the key of a switch is its GUID with the last byte first, as in OpenSM, whose order this is.
    switches: BTreeMap<u64, Table>,
}

/// The multicast LID of a tree.
///
/// # Errors
/// There is none: the id is beyond 16,382.
pub const fn mlid(id: u16) -> Result<u16, ExportError> {
    if id <= MLID_LAST - MLID_FIRST {
        Ok(MLID_FIRST + id)
    } else {
        Err(ExportError::Id {
            id,
            last: MLID_LAST - MLID_FIRST,
        })
    }
}

/// The key of a switch, or the GUID of a key.
const fn key(guid: u64) -> u64 {
    guid.swap_bytes()
}

impl McastTables {
    /// The tables for groups that were made in this order, with OpenSM's numbers: a group gets the lowest free multicast LID when it is
    /// made, so group i has LID 0xC000 + i, whether it has a tree or, as one of a single member, no entries at all.
    ///
    /// # Errors
    /// There are more than 16,383 groups, or a tree is none over its group.
    pub fn of_groups(
        network: &Network,
        groups: &[Group],
        trees: &[Option<Tree>],
    ) -> Result<Self, ExportError> {
        if let Some(last) = groups.len().checked_sub(1) {
            mlid(u16::try_from(last).unwrap_or(u16::MAX))?;
        }
        let mut routed = Vec::new();
        for (id, (group, tree)) in (0..).zip(groups.iter().zip(trees)) {
            if let (Some(tree), Some(&leader)) = (tree, group.endnodes().first()) {
                routed.push(Routed {
                    id,
                    group,
                    tree,
                    leader: leader.into(),
                });
            }
        }
        Self::new(network, &routed)
    }

    /// The tables for these trees: on each switch the ports of the tree's cables and of its members.
    ///
    /// # Errors
    /// Two trees have one id on one switch, an id has no LID, or a tree is none over its group.
    pub fn new(network: &Network, trees: &[Routed<'_>]) -> Result<Self, ExportError> {
        let mut of_switch = vec![Table::default(); network.switches().len()];
        let checked = |check: &mut TreeCheck<'_>, routed: &Routed<'_>| {
            let mlid = mlid(routed.id)?;
            let fits = check.check(routed.tree, routed.group.switches());
            fits.map_err(|reason| ExportError::NoTree {
                id: routed.id,
                reason,
            })?;
            Ok((mlid, jacks(network, routed)))
        };
        let each = trees.par_iter();
        let each = each.map_init(|| TreeCheck::new(network), checked);
        let each: Vec<Result<_, ExportError>> = each.collect();
        for (routed, jacks) in trees.iter().zip(each) {
            let (mlid, jacks) = jacks?;
            for on_one in jacks.chunk_by(|a, b| a.0 == b.0) {
                let switch = on_one[0].0;
                let ports = on_one.iter().map(|&(_, port)| port);
                if !of_switch[switch as usize].insert(mlid, ports) {
                    return Err(ExportError::Clash {
                        id: routed.id,
                        switch: switch_name(network, switch),
                    });
                }
            }
        }
        let mut tables = Self::default();
        for (switch, table) in network.switches().iter().zip(of_switch) {
            if !table.is_empty() {
                tables.switches.insert(key(switch.guid), table);
            }
        }
        Ok(tables)
    }

    /// Ports of a multicast LID on a switch, ascending; none if it has no entry.
    #[must_use]
    pub fn ports(&self, guid: u64, mlid: u16) -> &[Port] {
        let table = self.switches.get(&key(guid));
        table.and_then(|table| table.get(mlid)).unwrap_or_default()
    }

    /// All entries: GUID of the switch, multicast LID and ports, in OpenSM's order of the switches, then by LID.
    pub fn entries(&self) -> impl Iterator<Item = (u64, u16, &[Port])> {
        self.switches.iter().flat_map(|(switch, table)| {
            let entries = table.iter();
            entries.map(|(mlid, ports)| (key(*switch), mlid, ports))
        })
    }
}

/// Switches and ports of a tree, ascending.
fn jacks(network: &Network, routed: &Routed<'_>) -> Vec<Jack> {
    let cables = routed.tree.cables();
    let ends = cables.flat_map(|cable| network.cables()[cable as usize].ends);
    let members = routed.group.endnodes().iter();
    let members = members.map(|&e| network.endnodes()[e as usize].at);
    let mut jacks: Vec<Jack> = ends.chain(members).collect();
    jacks.sort_unstable();
    jacks.dedup();
    jacks
}

impl fmt::Display for McastTables {
    /// The dump, with OpenSM's spaces.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let switches: Vec<_> = self.switches.iter().collect();
        // A large network's dump has tens of megabytes: some switches at a time, all cores.
        for some in switches.chunks(1024) {
            let blocks: Vec<String> = some
                .par_iter()
                .map(|(k, table)| block(**k, table))
                .collect();
            blocks.iter().try_for_each(|block| f.write_str(block))?;
        }
        Ok(())
    }
}

/// The dump of one switch.
fn block(switch: u64, table: &Table) -> String {
    let guid = key(switch);
    let mut block = format!("\nSwitch {guid:#018x}\nLID    : Out Port(s)\n");
    for (mlid, ports) in table.iter() {
        push_hex(&mut block, "0x", mlid, 4);
        block.push_str(" :");
        for &port in ports {
            push_hex(&mut block, " 0x", port, 3);
            block.push(' ');
        }
        block.push('\n');
    }
    block
}

/// Upper-case digits with leading zeros, without the formatter's cost: dumps have millions of these.
fn push_hex(line: &mut String, before: &str, value: u16, digits: u32) {
    line.push_str(before);
    // A number with more digits has them all.
    let needed = (16 - value.leading_zeros()).div_ceil(4);
    for digit in (0..digits.max(needed)).rev() {
        let digit = u32::from(value >> (4 * digit)) & 15;
        line.extend(char::from_digit(digit, 16).map(|c| c.to_ascii_uppercase()));
    }
}
