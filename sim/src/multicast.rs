//! Block multicast over simulated links (MB rules): members with ports and hosts, the group protocol of
//! [`tributary_protocol::multicast`] in each, and what happens when.
//!
//! # The network
//! Each node has a full-duplex port. A block takes its bytes over the rate of the ports, and arrives one latency after its
//! last byte has left. Between the ports is a network that is never the bottleneck, except for links that are made slow.
//! A member sends the blocks of a group one after the other, and takes them one after the other in the order of its
//! schedule: as a receiver does that lets the next sender go on one round trip before the block in front of it ends.
//! Blocks of different groups share ports fairly (max-min). Control messages take one latency and no bandwidth.
//!
//! # Time
//! [`Time`] counts femtoseconds, so that a block time is a whole number and a run of T steps takes exactly T of them.

mod check;
mod event;
mod faults;
pub mod mpi;
mod network;
mod offload;
mod plan;
mod report;
mod runner;
mod seat;

pub use network::{FlowId, Network, Prediction, Time};
pub use plan::{Fault, GroupPlan, Plan, PlanError};
pub use report::{Ended, GroupReport, Moved, Report};
pub use runner::run;
