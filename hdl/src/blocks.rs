//! Building blocks: memories, queues, arbiters and trees.

mod constant;
mod fifo_bram;
mod fifo_reg;
mod free_list;
mod ram;
mod ram_async;
mod ram_forward;
mod stat_counters;

pub use constant::Pow2;
pub use fifo_bram::FifoBram;
pub use fifo_reg::FifoReg;
pub use free_list::FreeList;
pub use ram::SdpRam;
pub use ram_async::AsyncRam;
pub use ram_forward::RamForward;
pub use stat_counters::StatCounters;
