//! Names, documentation and port meanings of a block.
//!
//! rust-hdl's AST carries neither a block's type name nor its documentation.
//! [`hdl_module!`](crate::hdl_module) declares a block's struct and keeps its doc comments; the
//! block hands them to the Verilog writer as one extra entry of
//! [`Logic::timing`](rust_hdl::prelude::Logic), the only free-form channel of
//! rust-hdl's public AST that reaches a probe.

use rust_hdl::prelude::TimingInfo;

/// Marks the [`TimingInfo`] entry that carries a [`ModuleInfo`].
pub const MODULE_INFO: &str = "tributary::module";

/// Marks those that carry its parameters.
const PARAMETER: &str = "tributary::parameter";

/// What a Verilog module is called and what its header says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModuleInfo {
    /// Verilog module name, sizes included: `rw_window_w256_r64`.
    pub name: String,
    /// Lines of the block's doc comment.
    pub doc: Vec<String>,
    /// `(field, lines of its doc comment)` in declaration order.
    pub fields: Vec<(String, Vec<String>)>,
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
        std::iter::once(module).chain(parameters).collect()
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
        Some(Self {
            name: entry.clock.clone(),
            doc: entry.outputs.clone(),
            fields,
            parameters: parameters.collect(),
        })
    }
}

/// A comment of a kernel, for the Verilog; in Rust it is nothing.
#[macro_export]
macro_rules! comment {
    ($text:literal) => {};
}

/// Declares a block: the struct as written, `#[derive(LogicBlock, Default)]`,
/// and `Self::module_info(name)`, which carries the doc comments of the struct
/// and of its fields to the Verilog writer.
///
/// The block's `impl Logic` names the module: see the example of the crate.
#[macro_export]
macro_rules! hdl_module {
    (
        $(#[doc = $doc:expr])*
        $vis:vis struct $name:ident $(< $(const $param:ident : usize),+ $(,)? >)? {
            $( $(#[doc = $fdoc:expr])* $fvis:vis $field:ident : $ty:ty ),* $(,)?
        }
    ) => {
        $(#[doc = $doc])*
        #[derive(LogicBlock, Default)]
        $vis struct $name $(< $(const $param: usize),+ >)? {
            $( $(#[doc = $fdoc])* $fvis $field: $ty ),*
        }

        impl $(< $(const $param: usize),+ >)? $name $(< $($param),+ >)? {
            /// Name and documentation for the Verilog writer.
            fn module_info(name: String) -> $crate::ModuleInfo {
                $crate::ModuleInfo {
                    name,
                    doc: vec![$( ($doc).trim().to_owned() ),*],
                    fields: vec![$(
                        (stringify!($field).to_owned(), vec![$( ($fdoc).trim().to_owned() ),*])
                    ),*],
                    parameters: vec![],
                }
            }
        }
    };
}
