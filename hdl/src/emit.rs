//! The Verilog writer: rust-hdl blocks as portable, readable Verilog-2001.
//!
//! ```
//! use tributary_hdl::blocks::SdpRam;
//! use tributary_hdl::emit::emit_block;
//!
//! let design = emit_block(&mut SdpRam::<32, 6>::default())?;
//! assert_eq!(design.top, "ram_sdp_w32_d64");
//! assert!(design.modules[0].text.contains("module ram_sdp_w32_d64"));
//! # Ok::<(), tributary_hdl::emit::EmitError>(())
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
mod lower;
mod module;
mod names;
mod path;
mod place;
mod ports;
mod print;
mod regs;
mod signals;
mod stmt;
mod text;
mod tree;
mod usage;

use rust_hdl::prelude::{Block, check_all};

pub use error::{EmitError, Reason};

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
