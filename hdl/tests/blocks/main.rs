//! Building blocks against plain models, in lock step under random stalls.

mod bench;
mod flow;
mod memory;
mod queue;
mod tree;
