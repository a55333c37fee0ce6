//! Reliable multicast of large objects over point-to-point transfers (MB rules).
//!
//! A group of `n` members holds one root. The root's message is cut into `k` blocks. A [`Schedule`], fixed before the first
//! block moves, says which member sends which block to whom at which step, so members relay blocks while they still receive.
//!
//! [`group`] is the protocol of a group: credits, delivery, failures, the end. [`ring`] is the part that a card carries out
//! for its host.
//!
//! Source: RDMC (Behrens, Jha, Birman, Tremel, DSN 2018).

pub mod group;
pub mod ring;
mod schedule;

pub use schedule::{
    Algorithm, First, Layout, MAX_BLOCKS, MAX_MEMBERS, Neighbours, Receive, Schedule,
    ScheduleError, Send, Transfer, Transfers,
};
