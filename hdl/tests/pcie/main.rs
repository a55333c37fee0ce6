//! The PCIe blocks, Verilated, at the TLP ports of a root complex that checks every TLP.
//!
//! `TRIBUTARY_SEED` runs one seed alone.

mod bench;
mod bus_master;
mod completer;
mod dma_mux;
mod dma_read;
mod dma_read_faults;
mod dma_write;
mod mutations;
mod tags;
mod write_returns;
