//! The critical path, in the names of the block's own signals.
//!
//! After synthesis most cells and nets have derived names: `window_q_LUT4_Z_1_PFUMX_ALUT` stands
//! for logic on the way from or to `window_q`. The path is told as the signals it runs through,
//! with the delay spent under each name.

use std::fmt;

use anyhow::{Context, Result};
use serde::Serialize;
use serde_json::Value;

/// The cells of the ECP5 library that Yosys derives names from.
const CELLS: [&str; 10] = [
    "_TRELLIS_FF",
    "_TRELLIS_DPR16X4",
    "_LUT4",
    "_PFUMX",
    "_L6MUX21",
    "_CCU2C",
    "_DP16KD",
    "_PDPW16KD",
    "_MULT18X18D",
    "_ALU54B",
];

/// The slowest path from register to register.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CriticalPath {
    /// The seed it belongs to.
    pub seed: u32,
    /// Signal of the register or RAM where it starts.
    pub source: String,
    /// Signal of the register or RAM where it ends.
    pub sink: String,
    /// Its whole length.
    pub delay_ns: f64,
    /// Of that in cells.
    pub logic_ns: f64,
    /// Of that on wires.
    pub routing_ns: f64,
    /// What it runs through.
    pub hops: Vec<Hop>,
}

/// A stretch of the path under one signal's name.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Hop {
    /// The signal.
    pub signal: String,
    /// Where it is declared, `file:line`, if known.
    pub declared: Option<String>,
    /// Cells passed.
    pub cells: u32,
    /// Delay of cells and wires together.
    pub delay_ns: f64,
}

/// Reads the path from nextpnr's report; none if no path leads from register to register.
pub(super) fn critical(report: &Value, seed: u32) -> Result<Option<CriticalPath>> {
    let Some(paths) = report["critical_paths"].as_array() else {
        return Ok(None);
    };
    // Paths from and to ports ("<async>") do not bound the frequency; the longest counts.
    let path = paths
        .iter()
        .filter(|path| {
            ["from", "to"].iter().all(|end| {
                path[*end]
                    .as_str()
                    .is_some_and(|text| !text.contains("<async>"))
            })
        })
        .filter_map(|path| path["path"].as_array())
        .filter(|steps| !steps.is_empty())
        .max_by(|a, b| total(a).total_cmp(&total(b)));
    path.map(|steps| tell(steps, seed)).transpose()
}

fn total(steps: &[Value]) -> f64 {
    steps.iter().filter_map(|step| step["delay"].as_f64()).sum()
}

fn tell(steps: &[Value], seed: u32) -> Result<CriticalPath> {
    let mut hops: Vec<Hop> = Vec::new();
    let mut logic_ns = 0.0;
    let mut routing_ns = 0.0;
    for step in steps {
        let delay = step["delay"].as_f64().context("a step without delay")?;
        let routing = step["type"] == "routing";
        let name = if routing {
            step["net"].as_str()
        } else {
            step["from"]["cell"].as_str()
        };
        let signal = signal_of(name.context("a step without name")?);
        let declared = declared(step);
        *(if routing {
            &mut routing_ns
        } else {
            &mut logic_ns
        }) += delay;
        let cells = u32::from(!routing);
        match hops.last_mut() {
            Some(hop) if hop.signal == signal => {
                hop.cells += cells;
                hop.delay_ns += delay;
                hop.declared = hop.declared.take().or(declared);
            }
            _ => hops.push(Hop {
                signal,
                declared,
                cells,
                delay_ns: delay,
            }),
        }
    }
    for hop in &mut hops {
        hop.delay_ns = round(hop.delay_ns);
    }
    let end = |step: Option<&Value>, side: &str| {
        step.and_then(|step| step[side]["cell"].as_str())
            .map(signal_of)
            .context("a path without ends")
    };
    Ok(CriticalPath {
        seed,
        source: end(steps.first(), "from")?,
        sink: end(steps.last(), "to")?,
        delay_ns: round(logic_ns + routing_ns),
        logic_ns: round(logic_ns),
        routing_ns: round(routing_ns),
        hops,
    })
}

/// The place of the block's own source among a net's places; the library's are in folders.
fn declared(step: &Value) -> Option<String> {
    step["sources"]
        .as_array()?
        .iter()
        .filter_map(Value::as_str)
        .find(|place| !place.contains('/'))
        // `file:line.column-line.column`: the first line is enough.
        .map(|place| place.split('.').take(2).collect::<Vec<_>>().join("."))
}

/// The block's own signal that a derived name starts with.
fn signal_of(name: &str) -> String {
    let cut = CELLS
        .iter()
        .filter_map(|cell| name.find(cell))
        .chain(name.find('$').filter(|&at| at > 0))
        .min();
    cut.map_or(name, |at| &name[..at]).to_owned()
}

fn round(ns: f64) -> f64 {
    (ns * 1000.0).round() / 1000.0
}

impl fmt::Display for CriticalPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "  critical path (seed {}): {} -> {}, {:.2} ns = {:.2} logic + {:.2} wires",
            self.seed, self.source, self.sink, self.delay_ns, self.logic_ns, self.routing_ns
        )?;
        for hop in &self.hops {
            let place = hop.declared.as_deref().unwrap_or("");
            writeln!(
                f,
                "    {:6.2} ns  {} ({} cells)  {place}",
                hop.delay_ns, hop.signal, hop.cells
            )?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn derived_names_lead_back_to_signals() {
        for (name, signal) in [
            ("q_vec_TRELLIS_FF_Q", "q_vec"),
            ("q_vec[3]", "q_vec[3]"),
            ("q_vec_TRELLIS_FF_Q_DI_CCU2C_S0$CCU2_COMB0", "q_vec"),
            ("u_fifo.mem.0.0_DIA0_TRELLIS_FF_Q", "u_fifo.mem.0.0_DIA0"),
            ("$PACKER_VCC_NET", "$PACKER_VCC_NET"),
            ("count", "count"),
        ] {
            assert_eq!(signal_of(name), signal);
        }
    }
}
