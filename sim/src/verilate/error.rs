//! What can go wrong, said so that it can be put right.

use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

use super::ports::Direction;
use crate::tools::ToolsError;

/// A model that could not be built or opened.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum VerilateError {
    /// The options make no sense.
    #[error("cannot verilate: {what}")]
    Options {
        /// What is wrong with them.
        what: String,
    },
    /// The pinned tools are not there.
    #[error(transparent)]
    Tools(#[from] ToolsError),
    /// No C++ compiler.
    #[error(
        "no C++ compiler ({tried} tried); a simulated model is compiled with one; on Debian and \
         Ubuntu: `apt-get install g++`, or set CXX to yours"
    )]
    NoCompiler {
        /// The names that were tried.
        tried: String,
    },
    /// Verilator refused the sources.
    #[error("Verilator rejects `{top}`:\n{output}")]
    Verilator {
        /// The top module.
        top: String,
        /// What Verilator said.
        output: String,
    },
    /// The C++ compiler refused what Verilator wrote.
    #[error("the C++ compiler fails on the model of `{top}`: `{command}`:\n{output}")]
    Compiler {
        /// The top module.
        top: String,
        /// The command.
        command: String,
        /// The end of what it said.
        output: String,
    },
    /// A file or folder of the cache, or a program that does not start.
    #[error("{what} {}: {source}", path.display())]
    Io {
        /// What was tried.
        what: &'static str,
        /// With which file.
        path: PathBuf,
        /// Why it failed.
        source: io::Error,
    },
    /// The compiled library does not open.
    #[error(
        "cannot open the compiled model {}: {what}; remove that folder to build it again",
        path.display()
    )]
    Open {
        /// The library.
        path: PathBuf,
        /// Why.
        what: String,
    },
    /// The generated header was not understood.
    #[error("cannot read the ports of `{top}` in Verilator's output: {line:?}")]
    Ports {
        /// The top module.
        top: String,
        /// The line at fault.
        line: String,
    },
}

impl VerilateError {
    /// For `map_err` on file operations.
    pub(super) fn io(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_path_buf();
        move |source| Self::Io { what, path, source }
    }
}

/// A port that is asked for by a wrong name, width or direction.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum PortError {
    /// No port of that name.
    #[error("`{top}` has no port `{name}`; {hint}")]
    Unknown {
        /// The top module.
        top: String,
        /// The name asked for.
        name: String,
        /// Similar names, or all of them.
        hint: String,
    },
    /// Another width than expected.
    #[error("port `{name}` of `{top}` is {actual} bits wide, not {expected}")]
    Width {
        /// The top module.
        top: String,
        /// The port.
        name: String,
        /// Its width in bits.
        actual: u32,
        /// The width asked for.
        expected: u32,
    },
    /// Another direction than expected.
    #[error("port `{name}` of `{top}` is an {actual}, not an {expected}")]
    Direction {
        /// The top module.
        top: String,
        /// The port.
        name: String,
        /// Its direction.
        actual: Direction,
        /// The direction asked for.
        expected: Direction,
    },
    /// A slice of a wrong length.
    #[error(
        "port `{name}` of `{top}`, {width} bits, takes {expected} words of 64 bits, not {actual}"
    )]
    Words {
        /// The top module.
        top: String,
        /// The port.
        name: String,
        /// Its width in bits.
        width: u32,
        /// Words that hold it.
        expected: usize,
        /// Words given.
        actual: usize,
    },
}

/// A running model that cannot go on.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ModelError {
    /// The Verilog stopped itself (`$stop`, a failed assertion) or does not settle.
    #[error("the model of `{top}` stopped at time {time}: {what}")]
    Stopped {
        /// The top module.
        top: String,
        /// Simulated time in picoseconds.
        time: u64,
        /// What it said.
        what: String,
    },
    /// The model could not be made.
    #[error("cannot make a model of `{top}`: {what}")]
    Create {
        /// The top module.
        top: String,
        /// Why.
        what: String,
    },
    /// No such clock or reset input.
    #[error(transparent)]
    Port(#[from] PortError),
    /// A waveform was asked for that cannot be written.
    #[error("cannot record waveforms of `{top}` in {}: {what}", path.display())]
    Trace {
        /// The top module.
        top: String,
        /// The file.
        path: PathBuf,
        /// Why.
        what: String,
    },
}
