//! Paths between the clocks of a flat design.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

/// A path from a register to one of another clock.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Crossing {
    /// Where the clock of the first register is from: instance and port of a block.
    pub from: String,
    /// The same of the second.
    pub to: String,
    /// The second register.
    pub register: String,
    /// There is nothing between the two.
    pub straight: bool,
}

type Bits<'a> = BTreeMap<&'a str, Vec<u64>>;

/// Bits of the ports of a cell, constants left out.
fn connections(cell: &Value) -> Bits<'_> {
    let ports = cell["connections"].as_object().unwrap().iter();
    ports
        .map(|(port, bits)| {
            let bits = bits.as_array().unwrap().iter().filter_map(Value::as_u64);
            (port.as_str(), bits.collect())
        })
        .collect()
}

/// All of them, from what `write_json` of Yosys has written behind `proc` and `flatten`.
pub fn crossings(json: &str, top: &str) -> BTreeSet<Crossing> {
    let json: Value = serde_json::from_str(json).unwrap();
    let module = &json["modules"][top];
    let mut names = BTreeMap::new();
    for (name, net) in module["netnames"].as_object().unwrap() {
        for bit in net["bits"].as_array().unwrap() {
            if let (Some(bit), 0) = (bit.as_u64(), net["hide_name"].as_u64().unwrap()) {
                names.entry(bit).or_insert_with(|| name.replace('.', "/"));
            }
        }
    }
    // Clock of the register that drives a bit; inputs of the gate that does; block that does.
    let mut registers = BTreeMap::new();
    let mut gates = BTreeMap::new();
    let mut blocks = BTreeMap::new();
    let mut ends = vec![];
    for (name, cell) in module["cells"].as_object().unwrap() {
        let kind = cell["type"].as_str().unwrap();
        let mut ports = connections(cell);
        if kind.contains("dff") {
            let clock = ports.remove("CLK").unwrap()[0];
            let outputs = ports.remove("Q").unwrap();
            let data = ports.remove("D").unwrap();
            for bit in &outputs {
                registers.insert(*bit, clock);
            }
            // Data bit by bit; what the others decide, they decide for all.
            let others: Vec<u64> = ports.into_values().flatten().collect();
            let first = names.get(&outputs[0]).cloned().unwrap_or_default();
            ends.push((clock, first, data, others));
        } else if kind.starts_with("$memwr") {
            // Words in a memory are held until the other side has been told of them.
            let clock = ports.remove("CLK").unwrap()[0];
            ends.push((
                clock,
                name.clone(),
                vec![],
                ports.into_values().flatten().collect(),
            ));
        } else if kind.starts_with('$') {
            let outputs: Vec<u64> = ["Y", "DATA"]
                .into_iter()
                .filter_map(|port| ports.remove(port))
                .flatten()
                .collect();
            let inputs: Vec<u64> = ports.into_values().flatten().collect();
            for bit in outputs {
                gates.insert(bit, inputs.clone());
            }
        } else {
            for (port, direction) in cell["port_directions"].as_object().unwrap() {
                if direction == "output" {
                    for bit in &ports[port.as_str()] {
                        blocks.insert(*bit, format!("{name}/{port}"));
                    }
                }
            }
        }
    }
    let mut found = BTreeSet::new();
    for (to, register, data, others) in ends {
        let mut todo: Vec<(u64, bool)> = data.iter().map(|bit| (*bit, true)).collect();
        todo.extend(others.iter().map(|bit| (*bit, false)));
        let mut seen = BTreeSet::new();
        while let Some((bit, straight)) = todo.pop() {
            if !seen.insert((bit, straight)) {
                continue;
            }
            if let Some(from) = registers.get(&bit) {
                if *from != to {
                    found.insert(Crossing {
                        from: blocks[from].clone(),
                        to: blocks[&to].clone(),
                        register: register.clone(),
                        straight,
                    });
                }
            } else if let Some(inputs) = gates.get(&bit) {
                todo.extend(inputs.iter().map(|bit| (*bit, false)));
            }
        }
    }
    found
}
