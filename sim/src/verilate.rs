//! Verilog in, running model out: Verilator, a C++ compiler and a thin shim.
//!
//! ```no_run
//! use tributary_sim::verilate::{BuildOptions, Verilated};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let text = "module inc(input wire clk, input wire [7:0] a, output reg [7:0] y);
//!               always @(posedge clk) y <= a + 8'd1;
//!             endmodule";
//! let library = Verilated::build(&BuildOptions::new("inc", &[("inc.v", text)]))?;
//! let mut model = library.model()?;
//! let (a, y) = (model.port("a")?, model.port("y")?);
//! model.set(a, 41);
//! model.clock()?;
//! assert_eq!(model.get(y), 42);
//! # Ok(())
//! # }
//! ```
//!
//! A build is cached under `target/verilated/` by the content of its sources, the options and
//! the versions of the tools; a cached one opens in about a millisecond. One [`Verilated`]
//! makes any number of [`Model`]s.
//!
//! Ports are not reached through calls: at its creation a model hands out the address of each
//! port, and `set` and `get` are plain stores and loads. Only `eval` and `clock` cross into C++.

mod build;
mod cache;
mod cxx;
mod error;
mod library;
mod model;
mod offers;
mod options;
mod ports;
mod replace;
mod shim;
mod trace;
mod vcd;

pub use error::{ModelError, PortError, VerilateError};
pub use library::Verilated;
pub use model::Model;
pub use options::{BuildOptions, Source};
pub use ports::{Direction, Port};
