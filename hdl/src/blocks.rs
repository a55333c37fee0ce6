//! Building blocks: memories, queues, arbiters and trees.

mod ram;

pub use ram::SdpRam;
