//! Exhaustive exploration: every state that a sender and a receiver reach over a network that loses, duplicates and reorders.
//!
//! The machines are the real ones, with all timers at 0 ticks and the clock standing still: everything a timer could start may
//! happen at any moment. The network holds any number of messages; each may be delivered any number of times, in any order, or
//! never. So the more messages, the more can happen, and of two sets in the same state of the machines only the larger one is
//! explored. Properties are checked at every step; at the end, that from every state, with all messages lost, one is reachable
//! in which all transfers have ended and nothing is left behind (P18, P19).
//!
//! States count as the same when 128 bits of hash agree: with a million states by chance once in 10^26 explorations.
//!
//! ```
//! use tributary_protocol::rw::explore::{Scenario, explore};
//!
//! let report = explore(&Scenario::new(&[1], 2));
//! assert!(report.counterexample.is_none() && report.states > 10);
//! ```

mod model;
mod search;

use super::Mutations;

pub use search::explore;

/// What to explore: R = 1 window, one sender with one slot, transfers one after the other.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// N of each transfer, 1 to 16.
    pub transfers: Vec<u32>,
    /// W.
    pub w: u32,
    /// Width of gen.
    pub gen_bits: u32,
    /// The receiver asks for what is missing (its timers may fire at any moment).
    pub requests: bool,
    /// The sender may give up at any moment, and the receiver then.
    pub give_up: bool,
    /// Writes become visible in memory some time after they are given out, in any order.
    pub slow_writes: bool,
    /// Slides take time: each is a step of its own, by any number of packets.
    pub late_slides: bool,
    /// The sender may run up to two packets ahead of its credit, send packets twice, and poll at any moment.
    pub extras: bool,
    /// So often the receiver may forget a peer slot whose transfer has ended, at any moment (BW-10). A late CONNECT may then open a
    /// window once more, which ends as aborted.
    pub forget: u32,
    /// Deliberate errors, for both machines.
    pub mutations: Mutations,
    /// Stop after so many states with their sets of messages.
    pub max_states: usize,
}

impl Scenario {
    /// Transfers of these N with window W; gen of 2 bits that wraps at the second transfer.
    #[must_use]
    pub fn new(transfers: &[u32], w: u32) -> Self {
        Self {
            transfers: transfers.to_vec(),
            w,
            gen_bits: 2,
            requests: false,
            give_up: false,
            slow_writes: false,
            late_slides: false,
            extras: false,
            forget: 0,
            mutations: Mutations::default(),
            max_states: 4_000_000,
        }
    }
}

/// What an exploration found.
#[derive(Clone, Debug)]
pub struct Report {
    /// Different states of the machines.
    pub states: usize,
    /// States with sets of messages that were explored.
    pub nodes: usize,
    /// Different messages sent.
    pub messages: usize,
    /// Steps taken.
    pub steps: usize,
    /// States of the machines in which everything has ended.
    pub ended: usize,
    /// True if `max_states` was not enough: nothing is shown for the rest.
    pub truncated: bool,
    /// A short way to a violated property.
    pub counterexample: Option<Counterexample>,
}

/// A property that does not hold, and how to get there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counterexample {
    /// `P1` to `P26`, or the rule `RW-2`.
    pub property: &'static str,
    /// What is wrong in the last state.
    pub what: String,
    /// What happened, in order.
    pub steps: Vec<String>,
}

impl std::fmt::Display for Counterexample {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        writeln!(f, "{} is violated: {}", self.property, self.what)?;
        self.steps
            .iter()
            .enumerate()
            .try_for_each(|(index, step)| writeln!(f, "{:3}. {step}", index + 1))
    }
}
