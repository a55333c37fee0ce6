//! Simulation of Tributary: models from Verilog, and the tools that make them.

pub mod cable;
pub mod card;
pub mod content;
pub mod fabric;
pub mod link;
pub mod multicast;
pub mod pcap;
pub mod pcie;
pub mod rw;
pub mod switch;
pub mod testbench;
pub mod tools;
pub mod verilate;
pub mod xud;
