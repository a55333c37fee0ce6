//! Entries of the rings in host memory, little-endian 64-bit words.
//!
//! Work request, 64 bytes, in the send ring:
//!
//! | word | bits | field |
//! |---|---|---|
//! | 0 | 7:0 | opcode, [`OPCODE_SEND`] |
//! | 0 | 20:16 | bytes of `head`, 0 to 16 |
//! | 0 | 63:32 | bytes from memory; with the head at most an MTU |
//! | 1 | | wr_id, the user's name for it |
//! | 2 | | address |
//! | 3 | 31:0 | lkey |
//! | 3 | 39:32 | version (4) and flags (4) of the XUDETH |
//! | 3 | 63:48 | destination node |
//! | 4 | 31:0 | destination queue pair, 24 bits |
//! | 4 | 63:32 | win_msn |
//! | 5 | 15:0 | win_id |
//! | 5 | 31:16 | epoch |
//! | 6, 7 | | `head`: bytes in front of those from memory |
//!
//! Receive request, 32 bytes, in the receive ring:
//!
//! | word | bits | field |
//! |---|---|---|
//! | 0 | | wr_id |
//! | 1 | | address |
//! | 2 | 31:0 | lkey |
//! | 2 | 63:32 | bytes |
//! | 3 | | 0 |
//!
//! Completion, 64 bytes, in the completion ring:
//!
//! | word | bits | field |
//! |---|---|---|
//! | 0 | | wr_id |
//! | 1 | 7:0 | status, an [`Outcome`] |
//! | 1 | 15:8 | 1 a work request, 2 a receive request |
//! | 1 | 23:16 | version and flags of the XUDETH |
//! | 1 | 63:32 | bytes received; 0 of a work request |
//! | 2 | 15:0 | node of the peer |
//! | 2 | 55:32 | queue pair of the peer |
//! | 3 | 15:0 | win_id |
//! | 3 | 31:16 | epoch |
//! | 3 | 63:32 | win_msn |
//! | 4 | 31:0 | Q_Key, of a receive request |
//! | 4 | 55:32 | PSN |
//! | 5 | 15:0 | number of the request in its ring, modulo 2^16 |
//! | 6 | | 0 |
//! | 7 | 0 | phase: 1 in the first pass over the ring, then in turns |
//! | 7 | 31:16 | number of the completion, modulo 2^16 |
//!
//! Bits without a field are 0; of a request, the card does not look at them.

use thiserror::Error;

use crate::xud::{Outcome, Peer, Window};

/// Bytes of a work request.
pub const WORK_LEN: usize = 64;
/// Bytes of a receive request.
pub const RECEIVE_LEN: usize = 32;
/// Bytes of a completion.
pub const COMPLETION_LEN: usize = 64;
/// Bytes that fit into a work request.
pub const HEAD_MAX: usize = 16;
/// Opcode of a work request: send.
pub const OPCODE_SEND: u8 = 1;

/// A work request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkRequest {
    /// [`OPCODE_SEND`].
    pub opcode: u8,
    /// Bytes of `head` that count.
    pub head_len: u8,
    /// Bytes from memory.
    pub length: u32,
    /// The user's name for it.
    pub wr_id: u64,
    /// Where they are.
    pub address: u64,
    /// Key of their region.
    pub lkey: u32,
    /// Version (upper 4 bits) and flags of the XUDETH.
    pub version_flags: u8,
    /// Where to.
    pub to: Peer,
    /// Window identity.
    pub window: Window,
    /// Bytes in front.
    pub head: [u8; HEAD_MAX],
}

/// A receive request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReceiveRequest {
    /// The user's name for it.
    pub wr_id: u64,
    /// Where the message goes.
    pub address: u64,
    /// Key of the region.
    pub lkey: u32,
    /// Bytes there.
    pub length: u32,
}

codes! {
    /// What a completion is of.
    Of {
        /// A work request.
        Send = 1 "send",
        /// A receive request.
        Receive = 2 "receive",
    }
}

/// A completion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// Name of the request.
    pub wr_id: u64,
    /// How it ended.
    pub status: Outcome,
    /// Which kind.
    pub of: Of,
    /// Version (upper 4 bits) and flags of the XUDETH.
    pub version_flags: u8,
    /// Bytes received.
    pub length: u32,
    /// The other side.
    pub peer: Peer,
    /// Window identity.
    pub window: Window,
    /// Q_Key of the packet.
    pub q_key: u32,
    /// PSN of the packet.
    pub psn: u32,
    /// Number of the request in its ring.
    pub request: u16,
    /// Number of the completion.
    pub number: u16,
}

/// An entry of a completion ring that no card writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("completion with {field} {value}")]
pub struct CompletionError {
    /// Which field.
    pub field: &'static str,
    /// Its value.
    pub value: u8,
}

fn words<const N: usize>(bytes: &[u8; N], at: usize) -> u64 {
    let mut word = [0; 8];
    word.copy_from_slice(&bytes[8 * at..8 * at + 8]);
    u64::from_le_bytes(word)
}

fn bytes<const N: usize>(words: &[u64]) -> [u8; N] {
    let mut out = [0; N];
    for (place, word) in out.chunks_exact_mut(8).zip(words) {
        place.copy_from_slice(&word.to_le_bytes());
    }
    out
}

fn window(ids: u64, msn: u64) -> Window {
    Window {
        id: ids as u16,
        epoch: (ids >> 16) as u16,
        msn: msn as u32,
    }
}

fn ids(window: &Window) -> u64 {
    u64::from(window.id) | u64::from(window.epoch) << 16
}

impl WorkRequest {
    /// As the card reads it.
    #[must_use]
    #[inline]
    pub fn encode(&self) -> [u8; WORK_LEN] {
        let head = |at| words(&self.head, at);
        bytes(&[
            u64::from(self.opcode)
                | u64::from(self.head_len & 31) << 16
                | u64::from(self.length) << 32,
            self.wr_id,
            self.address,
            u64::from(self.lkey)
                | u64::from(self.version_flags) << 32
                | u64::from(self.to.node) << 48,
            u64::from(self.to.qpn) | u64::from(self.window.msn) << 32,
            ids(&self.window),
            head(0),
            head(1),
        ])
    }

    /// What the card makes of 64 bytes.
    #[must_use]
    pub fn decode(entry: &[u8; WORK_LEN]) -> Self {
        let word = |at| words(entry, at);
        let mut head = [0; HEAD_MAX];
        head.copy_from_slice(&entry[48..]);
        Self {
            opcode: word(0) as u8,
            head_len: (word(0) >> 16) as u8 & 31,
            length: (word(0) >> 32) as u32,
            wr_id: word(1),
            address: word(2),
            lkey: word(3) as u32,
            version_flags: (word(3) >> 32) as u8,
            to: Peer {
                node: (word(3) >> 48) as u16,
                qpn: word(4) as u32,
            },
            window: window(word(5), word(4) >> 32),
            head,
        }
    }
}

impl ReceiveRequest {
    /// As the card reads it.
    #[must_use]
    #[inline]
    pub fn encode(&self) -> [u8; RECEIVE_LEN] {
        bytes(&[
            self.wr_id,
            self.address,
            u64::from(self.lkey) | u64::from(self.length) << 32,
            0,
        ])
    }

    /// What the card makes of 32 bytes.
    #[must_use]
    pub fn decode(entry: &[u8; RECEIVE_LEN]) -> Self {
        Self {
            wr_id: words(entry, 0),
            address: words(entry, 1),
            lkey: words(entry, 2) as u32,
            length: (words(entry, 2) >> 32) as u32,
        }
    }
}

impl Completion {
    /// As the card writes it, in a ring of 2^`log` entries.
    #[must_use]
    pub fn encode(&self, log: u8) -> [u8; COMPLETION_LEN] {
        let phase = !(self.number >> log) & 1;
        bytes(&[
            self.wr_id,
            u64::from(self.status.code())
                | u64::from(self.of.code()) << 8
                | u64::from(self.version_flags) << 16
                | u64::from(self.length) << 32,
            u64::from(self.peer.node) | u64::from(self.peer.qpn) << 32,
            ids(&self.window) | u64::from(self.window.msn) << 32,
            u64::from(self.q_key) | u64::from(self.psn) << 32,
            self.request.into(),
            0,
            u64::from(phase) | u64::from(self.number) << 16,
        ])
    }

    /// The phase that entry `number` has in a ring of 2^`log` entries, once the card has written it.
    #[must_use]
    pub const fn phase(number: u16, log: u8) -> bool {
        number >> log & 1 == 0
    }

    /// Reads an entry that the card has written.
    ///
    /// # Errors
    /// A status or kind without a meaning.
    #[inline]
    pub fn decode(entry: &[u8; COMPLETION_LEN]) -> Result<Self, CompletionError> {
        let word = |at| words(entry, at);
        let unknown = |field, value| CompletionError { field, value };
        let (status, of) = (entry[8], entry[9]);
        Ok(Self {
            wr_id: word(0),
            status: Outcome::from_code(status).ok_or(unknown("status", status))?,
            of: Of::from_code(of).ok_or(unknown("kind", of))?,
            version_flags: entry[10],
            length: (word(1) >> 32) as u32,
            peer: Peer {
                node: word(2) as u16,
                qpn: (word(2) >> 32) as u32,
            },
            window: window(word(3), word(3) >> 32),
            q_key: word(4) as u32,
            psn: (word(4) >> 32) as u32,
            request: word(5) as u16,
            number: (word(7) >> 16) as u16,
        })
    }
}
