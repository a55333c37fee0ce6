//! Names in an elaborated design, as Vivado would have them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use serde_json::Value;

/// What constraints can name.
pub struct Netlist {
    /// Ports of the top; `p[0]` and so on of wider ones.
    pub ports: Vec<String>,
    /// `cell/port` of the cells in the top, of one bit.
    pub pins: Vec<String>,
    /// Paths of the bits of registers.
    pub registers: BTreeSet<String>,
    /// Modules that are instantiated anywhere.
    pub modules: BTreeSet<String>,
}

/// The module's name in the Verilog: Yosys adds values of parameters.
fn plain(module: &str) -> &str {
    match module.strip_prefix("$paramod") {
        Some(rest) => rest.split('\\').nth(1).unwrap_or(rest),
        None => module,
    }
}

/// Names of `width` bits of something.
fn bits(name: &str, width: usize) -> Vec<String> {
    match width {
        1 => vec![name.to_owned()],
        _ => (0..width).map(|bit| format!("{name}[{bit}]")).collect(),
    }
}

impl Netlist {
    /// From what `write_json` of Yosys has written behind `proc`.
    pub fn read(json: &str, top: &str) -> Self {
        let json: Value = serde_json::from_str(json).unwrap();
        let modules = json["modules"].as_object().unwrap();
        let mut netlist = Self {
            ports: vec![],
            pins: vec![],
            registers: BTreeSet::new(),
            modules: BTreeSet::new(),
        };
        for (name, port) in modules[top]["ports"].as_object().unwrap() {
            netlist
                .ports
                .extend(bits(name, port["bits"].as_array().unwrap().len()));
        }
        for (name, cell) in modules[top]["cells"].as_object().unwrap() {
            for (port, connected) in cell["connections"].as_object().unwrap() {
                if !name.starts_with('$') && connected.as_array().unwrap().len() == 1 {
                    netlist.pins.push(format!("{name}/{port}"));
                }
            }
        }
        netlist.walk(modules, top, "");
        netlist
    }

    fn walk(&mut self, modules: &serde_json::Map<String, Value>, name: &str, path: &str) {
        let module = &modules[name];
        // A register's bits, by the number of the wire.
        let mut wires = BTreeMap::new();
        for (name, net) in module["netnames"].as_object().unwrap() {
            let width = net["bits"].as_array().unwrap().len();
            for (bit, wire) in net["bits"].as_array().unwrap().iter().enumerate() {
                if net["hide_name"] == 0 {
                    wires
                        .entry(wire.to_string())
                        .or_insert_with(Vec::new)
                        .push((name, bit, width));
                }
            }
        }
        for (cell, what) in module["cells"].as_object().unwrap() {
            let kind = what["type"].as_str().unwrap();
            if modules.contains_key(kind) {
                self.modules.insert(plain(kind).to_owned());
                if modules[kind]["attributes"].get("blackbox").is_none() {
                    self.walk(modules, kind, &format!("{path}{cell}/"));
                }
            } else if kind.contains("dff") {
                for wire in what["connections"]["Q"].as_array().unwrap() {
                    for (name, bit, width) in wires.get(&wire.to_string()).into_iter().flatten() {
                        // Yosys does not keep whether a register of one bit is a vector.
                        if *width == 1 {
                            self.registers.insert(format!("{path}{name}_reg"));
                        }
                        self.registers.insert(format!("{path}{name}_reg[{bit}]"));
                    }
                }
            }
        }
    }

    /// For `vivado.tcl`.
    pub fn as_tcl(&self) -> String {
        let mut tcl = String::new();
        let registers: Vec<_> = self.registers.iter().cloned().collect();
        let modules: Vec<_> = self.modules.iter().cloned().collect();
        for (name, list) in [
            ("ports", &self.ports),
            ("pins", &self.pins),
            ("registers", &registers),
            ("modules", &modules),
        ] {
            writeln!(tcl, "set {name} {{{}}}", list.join(" ")).unwrap();
        }
        tcl
    }
}
