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

/// What a Verilog module is called and what its header says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModuleInfo {
    /// Verilog module name, sizes included: `rw_window_w256_r64`.
    pub name: String,
    /// Lines of the block's doc comment.
    pub doc: Vec<String>,
    /// `(field, lines of its doc comment)` in declaration order.
    pub fields: Vec<(String, Vec<String>)>,
}

impl ModuleInfo {
    /// Packs the information into an entry of `Logic::timing`.
    pub fn into_timing(self) -> Vec<TimingInfo> {
        vec![TimingInfo {
            name: MODULE_INFO.into(),
            clock: self.name,
            inputs: self
                .fields
                .into_iter()
                .map(|(field, doc)| format!("{field}\n{}", doc.join("\n")))
                .collect(),
            outputs: self.doc,
        }]
    }

    /// Reads the entry written by [`ModuleInfo::into_timing`], if there is one.
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
        Some(Self {
            name: entry.clock.clone(),
            doc: entry.outputs.clone(),
            fields,
        })
    }
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
                }
            }
        }
    };
}
