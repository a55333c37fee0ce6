//! Building blocks: memories, queues, arbiters and trees.

mod arbiter;
mod constant;
mod fifo_bram;
mod fifo_reg;
mod free_list;
mod leading_ones;
mod leading_ones_pipe;
mod priority_encoder;
mod priority_encoder_pipe;
mod ram;
mod ram_async;
mod ram_forward;
mod ram_plain;
mod ram_reg;
mod skid_buffer;
mod stat_counters;
mod timer_sweep;
mod tree;

pub use arbiter::RoundRobinArbiter;
pub use constant::Pow2;
pub use fifo_bram::FifoBram;
pub use fifo_reg::FifoReg;
pub use free_list::FreeList;
pub use leading_ones::LeadingOnes;
pub use leading_ones_pipe::LeadingOnesPipe;
pub use priority_encoder::PriorityEncoder;
pub use priority_encoder_pipe::PriorityEncoderPipe;
pub use ram::SdpRam;
pub use ram_async::AsyncRam;
pub use ram_forward::RamForward;
pub use ram_plain::RamPlain;
pub use ram_reg::RamReg;
pub use skid_buffer::SkidBuffer;
pub use stat_counters::StatCounters;
pub use timer_sweep::TimerSweep;
