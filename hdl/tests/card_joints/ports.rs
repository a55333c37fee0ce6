//! Ports of a Verilated block that belong together, and what stands at them.

use std::collections::BTreeMap;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use tributary_hdl::emit::emit_block;
use tributary_hdl::prelude::*;
use tributary_sim::testbench::wrong::{self, Wrong};
use tributary_sim::verilate::{BuildOptions, Model, Port, Verilated};

/// Builds a block. Registers start at random; what it offers must stay until it is taken.
pub fn build(mut block: impl Block) -> Verilated {
    let design = emit_block(&mut block).unwrap_or_else(|e| panic!("{e}"));
    let options = BuildOptions::new(&design.top, &design.files())
        .with_random_init(true)
        .with_checks();
    Verilated::build(&options).unwrap_or_else(|e| panic!("{e}"))
}

/// The same with errors in it: one more port says the number of one, from 1 on, or 0 for none. Each is an expression of a module,
/// where it occurs once, and what it is instead.
pub fn build_wrong(mut block: impl Block, errors: &[Wrong]) -> Verilated {
    let design = emit_block(&mut block).unwrap_or_else(|e| panic!("{e}"));
    let (top, mut files) = (&design.top, design.files());
    for (number, (module, right, instead)) in (1..).zip(errors) {
        let (_, text) = files
            .iter_mut()
            .find(|(name, _)| name.starts_with(module))
            .unwrap_or_else(|| panic!("no module {module}"));
        // Behind those that are there instead, the right one comes last.
        let at = text.rfind(right);
        let at = at.unwrap_or_else(|| panic!("{module}: no {right}"));
        let both = format!("(({top}.wrong == 8'd{number}) ? ({instead}) : ({right}))");
        text.replace_range(at..at + right.len(), &both);
    }
    let head = format!("module {top} (");
    for (_, text) in &mut files {
        *text = text.replace(&head, &format!("{head}\n    input  wire [7:0]  wrong,"));
    }
    wrong::build(top, &files)
}

pub fn rng(seed: u64) -> ChaCha8Rng {
    ChaCha8Rng::seed_from_u64(seed)
}

/// Values by field; words of 64 bits, lowest first.
pub type Record = BTreeMap<String, Vec<u64>>;

/// Ports `PREFIX_valid`, `PREFIX_ready` and all other `PREFIX_*`; of AXI4-Stream `PREFIX_tvalid`, `PREFIX_tready`. Pulses have no
/// `PREFIX_ready`: they are always taken.
pub struct Group {
    valid: Port,
    ready: Option<Port>,
    fields: Vec<(String, Port)>,
}

impl Group {
    pub fn of(library: &Verilated, prefix: &str) -> Self {
        let group = Self::pulses(library, prefix);
        assert!(group.ready.is_some(), "no {prefix}_ready");
        group
    }

    pub fn pulses(library: &Verilated, prefix: &str) -> Self {
        let mut ports: BTreeMap<String, Port> = library
            .ports()
            .filter_map(|(name, port)| {
                let field = name.strip_prefix(prefix)?.strip_prefix('_')?;
                Some((field.to_owned(), port))
            })
            .collect();
        let mut take = |names: [&str; 2]| names.iter().find_map(|name| ports.remove(*name));
        let valid = take(["valid", "tvalid"]);
        Self {
            valid: valid.unwrap_or_else(|| panic!("{} has no {prefix}_valid", library.top())),
            ready: take(["ready", "tready"]),
            fields: ports.into_iter().collect(),
        }
    }

    /// Leaves out fields that begin so: they are of another group.
    pub fn without(mut self, others: &[&str]) -> Self {
        let other = |field: &str| others.iter().any(|other| field.starts_with(other));
        self.fields.retain(|(field, _)| !other(field));
        self
    }

    /// Any values.
    pub fn draw(&self, rng: &mut ChaCha8Rng) -> Record {
        let mut value = |port: &Port| {
            let mut words: Vec<u64> = (0..port.words()).map(|_| rng.random()).collect();
            if !port.width().is_multiple_of(64) {
                *words.last_mut().expect("a port has bits") &= (1 << (port.width() % 64)) - 1;
            }
            words
        };
        let fields = self.fields.iter();
        fields
            .map(|(field, port)| (field.clone(), value(port)))
            .collect()
    }

    /// Offers a record, or nothing: then other values stand there.
    pub fn offer(&self, model: &mut Model, rng: &mut ChaCha8Rng, record: Option<&Record>) {
        model.set(self.valid, record.is_some().into());
        let other;
        let record = match record {
            Some(record) => record,
            None => {
                other = self.draw(rng);
                &other
            }
        };
        for (field, port) in &self.fields {
            model.set_wide(*port, &record[field]).unwrap();
        }
    }

    /// What stands at an output.
    pub fn offered(&self, model: &Model) -> Option<Record> {
        let all = || {
            let fields = self.fields.iter();
            fields
                .map(|(field, port)| (field.clone(), model.words(*port)))
                .collect()
        };
        model.is_set(self.valid).then(all)
    }

    pub fn set_ready(&self, model: &mut Model, ready: bool) {
        model.set(self.ready.expect("not a pulse"), ready.into());
    }

    pub fn is_ready(&self, model: &Model) -> bool {
        self.ready.is_none_or(|ready| model.is_set(ready))
    }
}
