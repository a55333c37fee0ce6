//! Block RAMs placed ahead of everything else.
//!
//! nextpnr's analytic placement starts from what is fixed. Out of context nothing is: there are
//! no pins, all cells start in one point, and the block RAMs, which fit into few rows of the
//! chip, end up where chance spread them. So a whole placement is made first, the block RAMs are
//! moved to where the cells around them are, and the next placement finds them fixed there; once
//! for each round.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs::{self, File};
use std::io::BufReader;
use std::path::Path;

use anyhow::{Context, Result, bail};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;

use crate::anneal::{Layout, Nets, Span, Tile};

/// Nets with more ends than this pull nowhere.
const MOST_ENDS: usize = 200;

/// Seed of the annealing.
const SEED: u64 = 1;

/// A site for a block RAM: its name in nextpnr, and where it is.
pub type Site = (String, Tile);

/// What nextpnr's `--write` says of the placement.
#[derive(Deserialize)]
struct Placed {
    modules: BTreeMap<String, Module>,
}

#[derive(Deserialize)]
struct Module {
    cells: BTreeMap<String, Cell>,
}

#[derive(Deserialize)]
struct Cell {
    #[serde(rename = "type")]
    kind: String,
    attributes: Attributes,
    connections: BTreeMap<String, Vec<Bit>>,
}

#[derive(Deserialize)]
struct Attributes {
    #[serde(rename = "NEXTPNR_BEL")]
    bel: Option<String>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Bit {
    Net(u64),
    Constant(IgnoredAny),
}

/// The ends of a net: tiles of other cells, block RAMs.
#[derive(Default)]
struct Ends {
    others: Vec<Tile>,
    rams: Vec<usize>,
}

/// A netlist whose block RAMs are fixed where they lie best in a placement of it, as nextpnr's `--write` left that.
pub fn fixed(netlist: &Path, placed: &Path, sites: &[Site]) -> Result<Vec<u8>> {
    let text = fs::read(netlist).with_context(|| format!("cannot read {}", netlist.display()))?;
    let mut design = serde_json::from_slice(&text)
        .with_context(|| format!("{} is not what was expected", netlist.display()))?;
    fix(&mut design, &better(placed, sites)?)?;
    Ok(serde_json::to_vec(&design)?)
}

/// Finds better sites for the block RAMs of a placement; each one's name with its site's.
fn better(placed: &Path, sites: &[Site]) -> Result<BTreeMap<String, String>> {
    let file = File::open(placed).with_context(|| format!("cannot read {}", placed.display()))?;
    let design: Placed = serde_json::from_reader(BufReader::new(file))
        .with_context(|| format!("{} is not what was expected", placed.display()))?;
    let Some(module) = design.modules.into_values().next() else {
        bail!("{} has no module", placed.display());
    };
    better_of(&module, sites)
}

fn better_of(module: &Module, sites: &[Site]) -> Result<BTreeMap<String, String>> {
    let number: HashMap<&str, usize> = sites
        .iter()
        .enumerate()
        .map(|(index, (name, _))| (name.as_str(), index))
        .collect();
    let (mut names, mut start) = (Vec::new(), Vec::new());
    let mut nets: BTreeMap<u64, Ends> = BTreeMap::new();
    for (name, cell) in &module.cells {
        let Some(bel) = cell.attributes.bel.as_deref() else {
            continue;
        };
        let ram = if cell.kind == "DP16KD" {
            let Some(&site) = number.get(bel) else {
                bail!("nextpnr put block RAM {name} on {bel}, which is no site known for one");
            };
            names.push(name.clone());
            start.push(site);
            Some(names.len() - 1)
        } else {
            None
        };
        let tile = tile(bel).with_context(|| format!("{name} is on {bel:?}"))?;
        // Clocks have wires of their own.
        let clocked = |(port, _): &(&String, _)| port.starts_with("CLK");
        for (_, bits) in cell.connections.iter().filter(|port| !clocked(port)) {
            for bit in bits {
                let Bit::Net(net) = bit else { continue };
                let ends = nets.entry(*net).or_default();
                match ram {
                    Some(ram) => ends.rams.push(ram),
                    None => ends.others.push(tile),
                }
            }
        }
    }
    let tiles: Vec<Tile> = sites.iter().map(|(_, tile)| *tile).collect();
    let nets = alike(nets.into_values());
    let mut layout = Layout::new(&tiles, &nets, start);
    layout.anneal(SEED);
    Ok(names
        .into_iter()
        .zip(layout.sites().iter().map(|&site| sites[site].0.clone()))
        .collect())
}

/// Nets that end at block RAMs, those that pull alike in one.
fn alike(nets: impl Iterator<Item = Ends>) -> Vec<Nets> {
    let mut counts: BTreeMap<(Vec<usize>, Option<Span>), u32> = BTreeMap::new();
    for mut ends in nets {
        let number = ends.rams.len() + ends.others.len();
        if ends.rams.is_empty() || !(2..=MOST_ENDS).contains(&number) {
            continue;
        }
        ends.rams.sort_unstable();
        ends.rams.dedup();
        let columns: BTreeSet<i32> = ends.others.iter().map(|tile| tile.0).collect();
        let rows: BTreeSet<i32> = ends.others.iter().map(|tile| tile.1).collect();
        let others = match (columns.first(), rows.first(), columns.last(), rows.last()) {
            (Some(&left), Some(&low), Some(&right), Some(&high)) => {
                Some(((left, low), (right, high)))
            }
            _ => None,
        };
        *counts.entry((ends.rams, others)).or_default() += 1;
    }
    counts
        .into_iter()
        .map(|((rams, others), count)| Nets {
            rams,
            others,
            count,
        })
        .collect()
}

/// The tile in a place's name, as `X12/Y34/SLICEA.LUT0`.
fn tile(bel: &str) -> Result<Tile> {
    let mut parts = bel.split('/');
    let mut number = |letter| -> Option<i32> { parts.next()?.strip_prefix(letter)?.parse().ok() };
    match (number('X'), number('Y')) {
        (Some(x), Some(y)) => Ok((x, y)),
        _ => bail!("a place has the form X12/Y34/…"),
    }
}

/// Fixes the block RAMs of a netlist on these sites.
fn fix(netlist: &mut Value, sites: &BTreeMap<String, String>) -> Result<()> {
    for (name, site) in sites {
        let module = netlist["modules"]
            .as_object_mut()
            .and_then(|modules| {
                modules
                    .values_mut()
                    .find(|module| module["cells"].get(name).is_some())
            })
            .with_context(|| format!("the netlist has no block RAM {name}"))?;
        module["cells"][name]["attributes"]["BEL"] = Value::String(site.clone());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn sites() -> Vec<Site> {
        (0..8)
            .map(|i| (format!("X{}/Y20/EBR{}", 4 + 9 * i, i % 4), (4 + 9 * i, 20)))
            .collect()
    }

    fn module(cells: Value) -> Module {
        serde_json::from_value(json!({ "cells": cells })).unwrap()
    }

    fn cell(kind: &str, bel: &str, connections: Value) -> Value {
        json!({
            "hide_name": 0,
            "type": kind,
            "attributes": { "NEXTPNR_BEL": bel },
            "port_directions": {},
            "connections": connections,
        })
    }

    #[test]
    fn a_ram_goes_to_the_site_next_to_its_cells() {
        let module = module(json!({
            "table.ram": cell("DP16KD", "X4/Y20/EBR0", json!({
                "DOA0": [7], "DOA1": [8], "CLKA": [1], "DIA0": ["0"]
            })),
            "a_reg": cell("TRELLIS_FF", "X40/Y21/SLICEA.FF0", json!({ "DI": [7], "CLK": [1] })),
            "b_reg": cell("TRELLIS_FF", "X41/Y20/SLICEA.FF0", json!({ "DI": [8], "CLK": [1] })),
            "far": cell("TRELLIS_FF", "X4/Y20/SLICEA.FF0", json!({ "CLK": [1] })),
        }));
        let found = better_of(&module, &sites()).unwrap();
        assert_eq!(
            found,
            BTreeMap::from([("table.ram".to_owned(), "X40/Y20/EBR0".to_owned())])
        );

        let mut netlist = json!({ "modules": {
            "DP16KD": { "cells": {} },
            "top": { "cells": { "table.ram": { "type": "PDPW16KD", "attributes": {} } } },
        } });
        fix(&mut netlist, &found).unwrap();
        assert_eq!(
            netlist["modules"]["top"]["cells"]["table.ram"]["attributes"]["BEL"],
            "X40/Y20/EBR0"
        );
        let error = fix(&mut json!({ "modules": {} }), &found).unwrap_err();
        assert!(
            error.to_string().contains("no block RAM table.ram"),
            "{error}"
        );
    }

    #[test]
    fn unknown_places_are_named() {
        let error = |kind, bel| {
            let module = module(json!({ "a": cell(kind, bel, json!({})) }));
            format!("{:#}", better_of(&module, &sites()).unwrap_err())
        };
        assert!(error("DP16KD", "X5/Y20/EBR0").contains("no site known"));
        assert!(error("TRELLIS_FF", "somewhere").contains("somewhere"));
    }
}
