//! The control part of the card in Verilog against models of what it promises: completion queues, regions, registers.
//!
//! `TRIBUTARY_SEED` runs one seed alone.

mod bench;
mod beyond;
mod commands;
mod cq;
mod cq_bench;
mod lint;
mod moderation;
mod regions;
mod regs;
mod regs_bench;
mod regs_bulk;
mod regs_bulk_joint;
mod regs_bulk_watch;
