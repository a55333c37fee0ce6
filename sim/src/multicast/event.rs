//! What happens in a run, and when.

use tributary_protocol::multicast::group::Control;
use tributary_protocol::multicast::ring::{Completion, Job};

use super::Time;
use super::network::Prediction;
use super::seat::Block;

/// One thing that happens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// The root begins its next message, or closes.
    Root { group: usize },
    /// A control message arrives.
    Control {
        group: usize,
        to: u32,
        from: u32,
        control: Control,
    },
    /// A block's last byte leaves.
    Left(Prediction),
    /// A block has arrived.
    Arrived {
        group: usize,
        from: u32,
        block: Block,
    },
    /// The host of a receiver has taken note of a block.
    Noted {
        group: usize,
        from: u32,
        block: Block,
    },
    /// The host of a sender has told the card to send a block.
    Posted {
        group: usize,
        rank: u32,
        block: Block,
    },
    /// A sender learns that its block has arrived.
    Sent {
        group: usize,
        rank: u32,
        message: u32,
    },
    /// A doorbell of a host reaches its card.
    Doorbell { group: usize, rank: u32, job: Job },
    /// Credits reach a card.
    Credit {
        group: usize,
        to: u32,
        from: u32,
        granted: u32,
    },
    /// A host takes note of a completion of its card.
    Completion {
        group: usize,
        rank: u32,
        completion: Completion,
    },
    /// Something goes wrong, by its number.
    Fault(usize),
    /// A node's port goes on after a pause.
    Resume { node: u32 },
    /// A member learns that another is dead.
    Detect { group: usize, rank: u32, peer: u32 },
}

/// When it happens.
#[derive(Debug)]
pub struct Entry {
    pub at: Time,
    /// Events of one time happen in the order in which they came up.
    pub number: u64,
    pub event: Event,
}

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        self.number == other.number
    }
}
impl Eq for Entry {}
impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Entry {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.at, self.number).cmp(&(other.at, other.number))
    }
}
