//! Long operations in blocks, one for each member, which members write into each other's memory by bulk transfers (CL-8).
//!
//! A reduction deals the blocks out: everyone sends each member its block, which adds up the blocks of all. Then members collect
//! what has come out. So each line carries twice the vector, whatever the number of members. A broadcast is dealt out by the one
//! that gives it. What has no card for it goes as messages: blocks are the same.

mod blocks;
mod exchange;
mod memory;
mod mover;
mod words;

pub use blocks::{Blocks, Flow, Phase};
pub use exchange::{Around, Came, Exchange, Own, Progress};
pub use memory::Memory;
pub use mover::{Block, Mover};
pub use words::{How, Lend, Words};
