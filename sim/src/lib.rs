//! Simulation of Tributary: models from Verilog, and the tools that make them.

pub mod content;
pub mod tools;
pub mod verilate;
