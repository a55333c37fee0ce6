//! What can go wrong.

use thiserror::Error;
use tributary_protocol::card::command::{Command, Status};

use crate::{Buffer, DeviceError, QueuePairState};

/// Why something cannot be opened, made or polled.
#[derive(Debug, Error)]
pub enum Error {
    /// The way to the card.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// Another device.
    #[error("register id reads {found:#010x}: not a Tributary card ({expected:#010x})")]
    NotACard {
        /// What it says.
        found: u32,
        /// What a card says.
        expected: u32,
    },
    /// A card that this driver does not know.
    #[error("the card's register map has version {card}, this driver knows {driver}")]
    Version {
        /// Major and minor number of the card.
        card: MapVersion,
        /// Those of the driver.
        driver: MapVersion,
    },
    /// A card without what this driver is for.
    #[error("the card has no {0}")]
    Feature(&'static str),
    /// A number that the card or its registers have no room for.
    #[error("{what} = {value} is not within {min} to {max}")]
    Range {
        /// Which.
        what: &'static str,
        /// Its value.
        value: u64,
        /// The smallest.
        min: u64,
        /// The largest.
        max: u64,
    },
    /// All that the card was built with are in use.
    #[error("all {count} {what} of the card are in use")]
    Exhausted {
        /// Of what.
        what: &'static str,
        /// How many there are.
        count: u64,
    },
    /// The card refused a command.
    #[error("the card refused {command}: {status}")]
    Refused {
        /// Which.
        command: Command,
        /// Why.
        status: Status,
    },
    /// The card refused a command of schedule rings.
    #[error("the card refused to {command} group {group} of its schedule rings")]
    RingRefused {
        /// Which.
        command: &'static str,
        /// Of which group.
        group: u32,
    },
    /// The card does not end a command.
    #[error("the card has not ended a command in {0} ms")]
    Stuck(u64),
    /// The card wrote a completion that no card writes.
    #[error("queue pair {qpn}: {what}")]
    Corrupt {
        /// Whose completion.
        qpn: u32,
        /// What is wrong with it.
        what: String,
    },
}

/// Version of a register map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MapVersion {
    /// Raised by changes.
    pub major: u16,
    /// Raised by additions.
    pub minor: u16,
}

impl std::fmt::Display for MapVersion {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

/// Why a request was not posted. Nothing happened, and no completion follows.
#[derive(Debug, Error)]
pub enum PostError {
    /// As many are under way as the queue pair was made for; poll first.
    #[error("the {0} queue is full")]
    Full(&'static str),
    /// The queue pair does not take such requests now.
    #[error("the queue pair is in the state {0}")]
    State(QueuePairState),
    /// The buffer is in another protection domain.
    #[error("the buffer is in another protection domain")]
    Domain,
    /// The card may not write into this buffer.
    #[error("the buffer's region has no local_write")]
    ReadOnly,
    /// A window takes no operation.
    #[error("the window is {0}")]
    Window(&'static str),
    /// A read of no bytes.
    #[error("a read of no bytes")]
    Empty,
    /// An atomic at an address that is no multiple of 8.
    #[error("an atomic at {0:#x}, which is no multiple of 8")]
    Unaligned(u64),
    /// Longer than what can be sent.
    #[error("{bytes} bytes, the most is {max}")]
    TooLong {
        /// Its length.
        bytes: usize,
        /// The longest.
        max: usize,
    },
    /// The card moves no more than a packet at once.
    #[error(
        "{bytes} bytes: this card has no bulk transfers (bit bulk of its register features is 0); without them the most is {max}, \
         through a window of one-sided operations"
    )]
    NoBulk {
        /// Bytes of the request.
        bytes: usize,
        /// The most that a one-sided datagram carries.
        max: usize,
    },
    /// An option that this kind of request does not have.
    #[error("a read cannot notify the other side")]
    ReadNotifies,
    /// The order in which packets leave is the target's matter.
    #[error("oldest first is of writes: the packets of a read leave the target")]
    ReadOldestFirst,
    /// The way to the card.
    #[error(transparent)]
    Device(#[from] DeviceError),
}

/// A request that was not posted, with the buffer that it would have used.
#[derive(Debug, Error)]
#[error("{error}")]
pub struct Rejected {
    /// Why.
    #[source]
    pub error: PostError,
    /// The user's again.
    pub buffer: Option<Buffer>,
}
