//! What programs and cards are to the engine, and what it says to them.

use super::{Address, Spot};

/// Memory of the program.
pub trait Memory {
    /// Bytes.
    fn length(&self) -> usize;
    /// Copies bytes from `at` on to the end of `to`.
    fn read(&self, at: usize, count: usize, to: &mut Vec<u8>);
    /// Copies bytes from `at` on, as many as `into` has.
    fn copy(&self, at: usize, into: &mut [u8]);
    /// Copies bytes to `at`; the caller keeps within the length.
    fn write(&mut self, at: usize, from: &[u8]);
    /// `count` bytes of it from `at` on; the caller keeps within the length.
    #[must_use]
    fn part(&self, at: usize, count: usize) -> Self;
}

/// Carries messages in order, and bulk transfers if it has slots.
pub trait Wire {
    /// Takes a message, or has no room now.
    ///
    /// # Errors
    /// No room.
    fn send(&mut self, to: Address, message: &[u8]) -> Result<(), Busy>;

    /// Where others write to a slot of this end.
    fn spot(&mut self, _slot: usize) -> Option<Spot> {
        None
    }

    /// Makes a slot other memory, so that nobody writes to it any more; whether it could.
    fn renew(&mut self, _slot: usize) -> bool {
        false
    }

    /// Gives the first bytes of a slot, piece by piece, each with its place; whether there are so many.
    fn take(&mut self, _slot: usize, _bytes: usize, _to: &mut dyn FnMut(usize, &[u8])) -> bool {
        false
    }

    /// Begins a transfer of bytes that `fill` gives to a slot of a peer. Its end is told by its name ([`super::Engine::transferred`]).
    ///
    /// # Errors
    /// No room now.
    fn write(
        &mut self,
        _to: (Address, Spot),
        _bytes: usize,
        _name: u32,
        _fill: &mut dyn FnMut(&mut [u8]),
    ) -> Result<(), Busy> {
        Err(Busy)
    }
}

/// No room now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Busy;

/// What a message carries beside its bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Label {
    /// The tag, if it has one.
    pub tag: Option<u64>,
    /// Data for the receiving program.
    pub data: Option<u64>,
}

/// What a receiver wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Want {
    /// From whom; from anybody without.
    pub from: Option<Address>,
    /// Tag and the bits of it that do not count; nothing for messages without.
    pub tag: Option<(u64, u64)>,
}

impl Want {
    pub(super) fn takes(&self, from: Address, tag: Option<u64>) -> bool {
        let same = match (self.tag, tag) {
            (Some((want, ignore)), Some(tag)) => (want ^ tag) & !ignore == 0,
            (None, None) => true,
            _ => false,
        };
        same && self.from.is_none_or(|peer| peer == from)
    }
}

/// Why an operation failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The message was longer than its memory, by so many bytes.
    Truncated(usize),
    /// The program took it back.
    Canceled,
    /// The peer is gone.
    Peer,
    /// There is no such message.
    NoMessage,
    /// The peer has no such memory, or not for this.
    Refused,
}

/// What an operation was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// A message was sent.
    Send,
    /// One was received.
    Receive,
    /// Memory of a peer was read.
    Read,
    /// It was written.
    Write,
    /// It was changed, or found out, as a whole.
    Atomic {
        /// What was there before has come.
        fetched: bool,
    },
}

/// An operation that has ended. `O` is what the program calls it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Done<O> {
    /// Which.
    pub op: O,
    /// Of which kind.
    pub what: What,
    /// Bytes.
    pub length: usize,
    /// What came with it.
    pub label: Label,
    /// From whom.
    pub from: Address,
    /// Why not.
    pub failure: Option<Failure>,
    /// Where the message begins in the memory of its receive: elsewhere than at 0 only in memory for many messages.
    pub at: usize,
    /// Memory for many messages is the program's again.
    pub released: bool,
}
