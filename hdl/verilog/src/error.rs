//! Why a block cannot be written as Verilog.

use thiserror::Error;

/// A block that cannot be emitted: which block, which signal, and why.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("block `{block}`{}: {reason}", .signal.as_ref().map(|s| format!(", signal `{s}`")).unwrap_or_default())]
pub struct EmitError {
    /// Path of the block from the top, `top.lanes[2]`, with its module name when it has one.
    pub block: String,
    /// The signal being assigned or declared, in Rust's spelling, if one is to blame.
    pub signal: Option<String>,
    /// What was refused.
    pub reason: Reason,
}

/// What was refused, with what would be accepted where that is not obvious.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Reason {
    /// rust-hdl's own checks (open signals, local signals read before written, writes to inputs).
    #[error("rust-hdl's checks refuse the design: {0}")]
    Check(String),
    /// A name of the kernel that is no signal, constant, loop index or enum variant.
    #[error(
        "`{0}` is not a signal, a `Constant`, a loop index or an enum variant of this block's signals \
         (rust-hdl's AST does not carry const generics or plain constants: use a `Constant` field)"
    )]
    UnknownName(String),
    /// A literal that its context cannot hold.
    #[error("the literal {value} does not fit in {width} bits")]
    LiteralTooWide {
        /// The literal, in decimal.
        value: String,
        /// Width that the context gives it.
        width: usize,
    },
    /// The width of an expression cannot be found.
    #[error("the width of `{0}` cannot be inferred: give it a `Local` signal of its own")]
    AmbiguousWidth(String),
    /// Two widths that should agree do not.
    #[error("an expression of {found} bits where {expected} are expected: `{expr}`")]
    WidthMismatch {
        /// Width of the context.
        expected: usize,
        /// Width of the expression.
        found: usize,
        /// The expression, abridged.
        expr: String,
    },
    /// A signal that keeps its value on some path.
    #[error("not assigned on every path (bits {0}): this is a latch; assign a default first")]
    Latch(String),
    /// A signal that depends on itself without a register in between.
    #[error("combinational loop: {0}")]
    Loop(String),
    /// A signal that nothing drives.
    #[error("never assigned")]
    Undriven,
    /// An assignment to something that the block does not drive.
    #[error("assigned, but it is {0}")]
    NotAssignable(&'static str),
    /// A register's clock that is not one plain signal.
    #[error("the clock of a register must be one signal, assigned once and unconditionally")]
    Clock,
    /// A signal without bits, such as an enum of one variant.
    #[error("has no bits (an enum of one variant?)")]
    ZeroWidth,
    /// Two things that would get one Verilog name.
    #[error("two things would be called `{0}` in Verilog: rename one")]
    NameClash(String),
    /// A port or module name that Verilog or SystemVerilog reserves or cannot spell.
    #[error("`{0}` is reserved in Verilog, SystemVerilog or C++ or is no identifier: rename it")]
    BadName(String),
    /// Two different blocks that call themselves the same.
    #[error(
        "another block with different contents is also called `{0}`: put every size in the name"
    )]
    ModuleClash(String),
    /// A construct that the writer does not translate.
    #[error("{0} cannot be emitted")]
    Unsupported(String),
}

/// Result inside the writer, before block and signal are known.
pub(super) type Fallible<T> = Result<T, Reason>;
