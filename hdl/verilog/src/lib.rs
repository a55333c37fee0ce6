//! The Verilog writer: rust-hdl blocks as portable, readable Verilog-2001.
//!
//! ```
//! use rust_hdl::prelude::*;
//! use rust_hdl_widgets::prelude::DFF;
//! use tributary_verilog::{emit_block, hdl_gen, hdl_module};
//!
//! hdl_module! {
//!     /// Delays a word by one clock.
//!     #[module("delay_w{N}")]
//!     pub struct Delay<const N: usize> {
//!         /// Clock.
//!         pub clk: Signal<In, Clock>,
//!         /// Word in.
//!         pub d: Signal<In, Bits<N>>,
//!         /// Word out, one clock later.
//!         pub q: Signal<Out, Bits<N>>,
//!         word: DFF<Bits<N>>,
//!     }
//! }
//!
//! impl<const N: usize> Logic for Delay<N> {
//!     #[hdl_gen]
//!     fn update(&mut self) {
//!         self.word.d.next = self.d.val();
//!         self.q.next = self.word.q.val();
//!     }
//! }
//!
//! let design = emit_block(&mut Delay::<8>::default())?;
//! assert_eq!(design.top, "delay_w8");
//! assert!(design.modules[0].text.contains("module delay_w8"));
//! # Ok::<(), tributary_verilog::EmitError>(())
//! ```
//!
//! rust-hdl's own writer makes one module per instance and leans on Verilog's
//! implicit widths. This one reads the same public AST and
//!
//! 1. infers the type of every expression (`infer`), so that each has exactly
//!    the width that Rust gives it,
//! 2. turns flip-flops into registers in place (`regs`) and splits the kernel
//!    by signal where one block would be a false combinational loop (`deps`),
//! 3. prints each distinct module once (`text`, `design`).
//!
//! What cannot be translated is an [`EmitError`] that names block, signal and
//! reason; the rules are in `docs/verilog-writer.md`.

mod custom;
mod deps;
mod design;
mod error;
mod expr;
mod infer;
mod info;
#[doc(hidden)]
pub mod kernel;
mod lower;
mod merge;
mod module;
mod names;
mod order;
mod parts;
mod path;
mod place;
mod ports;
mod print;
pub mod record;
mod regs;
mod said;
mod signals;
mod stmt;
mod text;
mod tree;
mod usage;
mod wired;

use std::path::Path;
use std::{fs, io};

use rust_hdl::prelude::{Block, check_all};

pub use error::{EmitError, Reason};
pub use info::{ModuleInfo, Parameter};
pub use tributary_hdl_macros::{hdl_bus, hdl_gen, hdl_module, hdl_part, hdl_record};
pub use wired::Wired;

/// A design as Verilog.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Design {
    /// Name of the top module.
    pub top: String,
    /// Every distinct module once, children before parents.
    pub modules: Vec<Module>,
}

impl Design {
    /// All modules as one text, children first.
    pub fn to_text(&self) -> String {
        let texts: Vec<&str> = self.modules.iter().map(|m| m.text.as_str()).collect();
        texts.join("\n")
    }

    /// Every module as file name and text, children before parents.
    pub fn files(&self) -> Vec<(String, String)> {
        let file = |module: &Module| (module.file_name(), module.text.clone());
        self.modules.iter().map(file).collect()
    }

    /// Writes every module to a file in this folder; their names, children before parents.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn write_to(&self, folder: &Path) -> io::Result<Vec<String>> {
        let write = |(name, text): (String, String)| {
            fs::write(folder.join(&name), text)?;
            Ok(name)
        };
        self.files().into_iter().map(write).collect()
    }

    /// The module called `name`.
    pub fn module(&self, name: &str) -> Option<&Module> {
        self.modules.iter().find(|m| m.name == name)
    }
}

/// One Verilog module: the contents of `<name>.v`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Module {
    /// Module name.
    pub name: String,
    /// The whole file.
    pub text: String,
    /// What the module does: its block's doc comment.
    pub doc: Vec<String>,
    /// Its instances: module and instance name of each.
    pub instances: Vec<(String, String)>,
    /// It has parameters, so its text does not depend on sizes.
    pub has_parameters: bool,
    /// Comments of its kernel that found no place in the text, since what they speak of is not there.
    pub lost: Vec<String>,
}

impl Module {
    /// Name of the module's file.
    pub fn file_name(&self) -> String {
        format!("{}.v", self.name)
    }
}

/// Writes the block and everything under it as Verilog.
///
/// The caller has run `connect_all` on it; [`emit_block`] does that and more.
pub fn emit(top: &dyn Block) -> Result<Design, EmitError> {
    let Some(scope) = tree::walk(top) else {
        return Err(EmitError {
            block: "top".into(),
            signal: None,
            reason: Reason::Unsupported("something that is not a block with ports".into()),
        });
    };
    let mut builder = design::Builder::default();
    let top = builder.block(&scope, "top", "top")?;
    Ok(builder.finish(top.module))
}

/// Connects the block, runs rust-hdl's own checks on it and writes it as Verilog.
pub fn emit_block(top: &mut impl Block) -> Result<Design, EmitError> {
    top.connect_all();
    check_all(top).map_err(|e| EmitError {
        block: "top".into(),
        signal: None,
        reason: Reason::Check(format!("{e:?}")),
    })?;
    emit(top)
}
