//! Building blocks against plain models, in lock step under random stalls, and their
//! Verilog on the same inputs.

mod bench;
mod choice;
mod clocks;
mod crosspoint;
mod flow;
mod memory;
mod queue;
mod tree;
mod verilog;
