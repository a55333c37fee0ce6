//! What is going to happen, in order.

use std::cmp::Ordering;
use std::sync::Arc;

use crate::fabric::describe::Place;
use crate::fabric::ranks::Crossing;

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

/// Frames arrive before nodes act; otherwise by node, cable and number: an order that does not depend on who simulates what.
#[derive(Debug)]
pub(super) struct Event {
    pub clock: u64,
    late: bool,
    slot: usize,
    wire: usize,
    number: u64,
    pub what: What,
}

impl Event {
    /// A node wants to act.
    pub const fn wake(clock: u64, slot: usize, node: Node) -> Self {
        Self {
            clock,
            late: true,
            slot,
            wire: 0,
            number: 0,
            what: What::Wake(node),
        }
    }

    /// A frame of a cable's direction arrives at a node.
    pub fn arrival(at: Place, slot: usize, frame: Crossing) -> Self {
        let Crossing {
            clock,
            wire,
            number,
            damaged,
            bytes,
        } = frame;
        Self {
            clock,
            late: false,
            slot,
            wire,
            number,
            what: What::Arrive { at, bytes, damaged },
        }
    }

    const fn key(&self) -> (u64, bool, usize, usize, u64) {
        (self.clock, self.late, self.slot, self.wire, self.number)
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
