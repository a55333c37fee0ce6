//! What is going to happen, in order.

use std::cmp::Ordering;
use std::sync::Arc;

use crate::fabric::describe::Place;

#[derive(Debug)]
pub(super) enum What {
    Arrive {
        at: Place,
        bytes: Arc<[u8]>,
        damaged: bool,
    },
    Wake(Node),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Node {
    Switch(usize),
    Endpoint(usize),
}

/// Frames arrive before nodes act; otherwise in the order in which it was found out.
#[derive(Debug)]
pub(super) struct Event {
    pub clock: u64,
    pub late: bool,
    pub number: u64,
    pub what: What,
}

impl Event {
    const fn key(&self) -> (u64, bool, u64) {
        (self.clock, self.late, self.number)
    }
}

impl PartialEq for Event {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Event {}

impl PartialOrd for Event {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Event {
    /// Reversed: the heap has the first event on top.
    fn cmp(&self, other: &Self) -> Ordering {
        other.key().cmp(&self.key())
    }
}
