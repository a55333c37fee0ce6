//! Names, documentation and port meanings of a block.
//!
//! rust-hdl's AST carries neither a block's type name nor its documentation.
//! [`hdl_module!`](crate::hdl_module) declares a block's struct and keeps its doc comments; the
//! block hands them to the Verilog writer as one extra entry of
//! [`Logic::timing`](rust_hdl::prelude::Logic), the only free-form channel of
//! rust-hdl's public AST that reaches a probe.

use rust_hdl::prelude::TimingInfo;

use crate::wired::Wired;

/// Marks the [`TimingInfo`] entry that carries a [`ModuleInfo`].
pub const MODULE_INFO: &str = "tributary::module";

/// Marks the one that names the registers that the reset clears.
const RESETS: &str = "tributary::resets";

/// Marks those that carry its parameters.
const PARAMETER: &str = "tributary::parameter";

/// What a Verilog module is called and what its header says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModuleInfo {
    /// Verilog module name, sizes included: `rw_window_w256_r64`.
    pub name: String,
    /// Lines of the block's doc comment.
    pub doc: Vec<String>,
    /// `(field, lines of its doc comment)` in declaration order; behind a bus its signals, as `bus.signal`.
    pub fields: Vec<(String, Vec<String>)>,
    /// Fields that `rst` clears.
    pub resets: Vec<String>,
    /// Parameters of the Verilog module, for custom Verilog that is the same whatever their values.
    pub parameters: Vec<Parameter>,
}

/// A parameter of a Verilog module.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Parameter {
    /// `W`.
    pub name: String,
    /// Its value in this block.
    pub value: usize,
    /// What it is: `bits of a word`.
    pub meaning: String,
    /// Ports that have so many bits.
    pub ports: Vec<String>,
}

impl ModuleInfo {
    /// Adds a field and, if it is a bus, its signals.
    #[must_use]
    pub fn field<W: Wired>(mut self, name: &str, doc: &[&str]) -> Self {
        let doc = doc.iter().map(|line| (*line).to_owned()).collect();
        self.fields.push((name.to_owned(), doc));
        for (signal, said) in W::signals() {
            let said = vec![(*said).to_owned()];
            self.fields.push((format!("{name}.{signal}"), said));
        }
        self
    }

    /// Adds a parameter, which is the width of these ports.
    #[must_use]
    pub fn parameter(mut self, name: &str, value: usize, meaning: &str, ports: &[&str]) -> Self {
        self.parameters.push(Parameter {
            name: name.to_owned(),
            value,
            meaning: meaning.to_owned(),
            ports: ports.iter().map(|port| (*port).to_owned()).collect(),
        });
        self
    }

    /// Packs the information into entries of `Logic::timing`.
    pub fn into_timing(self) -> Vec<TimingInfo> {
        let parameters = self.parameters.into_iter().map(|p| TimingInfo {
            name: PARAMETER.into(),
            clock: p.name,
            inputs: vec![p.value.to_string(), p.meaning],
            outputs: p.ports,
        });
        let module = TimingInfo {
            name: MODULE_INFO.into(),
            clock: self.name,
            inputs: self
                .fields
                .into_iter()
                .map(|(field, doc)| format!("{field}\n{}", doc.join("\n")))
                .collect(),
            outputs: self.doc,
        };
        let resets = TimingInfo {
            name: RESETS.into(),
            clock: String::new(),
            inputs: vec![],
            outputs: self.resets,
        };
        [module, resets].into_iter().chain(parameters).collect()
    }

    /// Reads the entries written by [`ModuleInfo::into_timing`], if there is one.
    pub fn from_timing(timing: &[TimingInfo]) -> Option<Self> {
        let entry = timing.iter().find(|t| t.name == MODULE_INFO)?;
        let fields = entry
            .inputs
            .iter()
            .map(|f| {
                let mut lines = f.lines().map(str::to_owned);
                (lines.next().unwrap_or_default(), lines.collect())
            })
            .collect();
        let parameters = timing.iter().filter(|t| t.name == PARAMETER).map(|t| {
            let mut about = t.inputs.iter();
            Parameter {
                name: t.clock.clone(),
                value: about.next().and_then(|v| v.parse().ok()).unwrap_or(0),
                meaning: about.next().cloned().unwrap_or_default(),
                ports: t.outputs.clone(),
            }
        });
        let resets = timing.iter().find(|t| t.name == RESETS);
        Some(Self {
            name: entry.clock.clone(),
            doc: entry.outputs.clone(),
            fields,
            resets: resets.map(|t| t.outputs.clone()).unwrap_or_default(),
            parameters: parameters.collect(),
        })
    }
}

/// A comment of a kernel, for the Verilog; in Rust it is nothing.
#[macro_export]
macro_rules! comment {
    ($text:literal) => {};
}
