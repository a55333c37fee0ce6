//! Entries of the rings in host memory: little-endian 64-bit words, declared field by field in [`WORK`], [`RECEIVE`] and
//! [`COMPLETION`]. Bits without a field are 0; of a request, the card does not look at them.

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

codes! {
    /// What a work request asks for.
    Opcode {
        /// Sends head and bytes from memory as a message. version_flags: any but one-sided.
        Send = 1 "send",
        /// Writes bytes from memory here to memory there (XUD-13). The head is the one-sided header; so it is of the next two.
        Write = 2 "write",
        /// Reads bytes from memory there to memory here: `length` of them, as the header says too. Needs local_write.
        Read = 3 "read",
        /// Changes 8 bytes there, as operation and operands say; memory here holds the 16 bytes of operands, and the old value goes
        /// over the first 8 of them. Needs local_write.
        Atomic = 4 "atomic",
        /// Writes any number of bytes from memory here to memory there (BW-1). The head is the one-sided header with operation WRITE and
        /// length 0, version_flags is 0x18, win_id and epoch are 0. Of cards with the feature bulk.
        BulkWrite = 5 "bulk_write",
        /// Reads any number of bytes from memory there to memory here (BW-11). As bulk_write with operation READ; needs local_write. Of cards with
        /// the feature bulk.
        BulkRead = 6 "bulk_read",
        /// Sends one reduction frame of the queue pair's group (CL-5). Of queue pairs in a group alone, which send nothing else; so of
        /// cards with the feature reductions.
        Reduce = 7 "reduce",
    }
}

/// Bits of a work request that only cards with the feature that has them look at.
pub mod flags {
    use crate::registers::Field;

    /// It waits until all earlier work requests of the queue pair have ended.
    pub const FENCE: Field = Field {
        name: "fence",
        lsb: 0,
        width: 1,
        doc: "The work request begins when all earlier ones of its queue pair have ended (BW-12). Of any opcode.",
    };
    /// The target's software is told.
    pub const NOTIFY: Field = Field {
        name: "notify",
        lsb: 1,
        width: 1,
        doc: "Of bulk_write alone: the target's queue pair gets one completion, with the immediate data, when every byte is in its memory (BW-3).",
    };
    /// A completion follows though all went well.
    pub const SIGNAL: Field = Field {
        name: "signal",
        lsb: 2,
        width: 1,
        doc: "Of reduce alone: a completion follows when the frame was made. Without it one follows only if the work request is bad (CL-5).",
    };
    /// It has the line before younger ones of its kind.
    pub const OLDEST_FIRST: Field = Field {
        name: "oldest_first",
        lsb: 3,
        width: 1,
        doc: "Of bulk_write alone: its packets, but for those that are sent again on request, leave when no transfer with this flag that began earlier has any to send; together these take turns with all others. Up to eight transfers of a card do so at a time, one that begins while there are eight takes turns (RW-15).",
    };
    /// Every flag, by ascending bit.
    pub const FLAGS: &[Field] = &[FENCE, NOTIFY, SIGNAL, OLDEST_FIRST];
}

/// Opcode of a work request: send.
pub const OPCODE_SEND: u8 = Opcode::Send.code();
/// Opcode of a work request: write there.
pub const OPCODE_WRITE: u8 = Opcode::Write.code();
/// Opcode of a work request: read there.
pub const OPCODE_READ: u8 = Opcode::Read.code();
/// Opcode of a work request: an atomic there.
pub const OPCODE_ATOMIC: u8 = Opcode::Atomic.code();
/// Opcode of a work request: write any number of bytes there.
pub const OPCODE_BULK_WRITE: u8 = Opcode::BulkWrite.code();
/// Opcode of a work request: read any number of bytes there.
pub const OPCODE_BULK_READ: u8 = Opcode::BulkRead.code();
/// Opcode of a work request: a reduction frame.
pub const OPCODE_REDUCE: u8 = Opcode::Reduce.code();

/// Some bits of a word of a descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Lower-case name.
    pub name: &'static str,
    /// Which 64-bit word.
    pub word: u8,
    /// Lowest bit.
    pub lsb: u8,
    /// Number of bits.
    pub width: u8,
    /// Meaning.
    pub doc: &'static str,
}

impl Place {
    const fn mask(&self) -> u64 {
        u64::MAX >> (64 - self.width as u32)
    }

    #[inline]
    const fn get(&self, words: &[u64; 8]) -> u64 {
        words[self.word as usize] >> self.lsb & self.mask()
    }

    /// Bits that do not fit are left out.
    #[inline]
    fn put(&self, words: &mut [u64; 8], value: impl Into<u64>) {
        words[usize::from(self.word)] |= (value.into() & self.mask()) << self.lsb;
    }
}

macro_rules! layout {
    ($list:ident, $list_doc:literal; $($name:ident $text:literal [$word:literal, $lsb:literal +: $width:literal] $doc:literal,)*) => {
        $(const $name: Place = Place { name: $text, word: $word, lsb: $lsb, width: $width, doc: $doc };)*
        #[doc = $list_doc]
        pub const $list: &[Place] = &[$($name),*];
    };
}

mod reduction;

pub use reduction::{ARRIVAL, Arrival, KIND_MAX, REDUCE, ReductionRequest};

layout! {
    WORK, "A work request, 64 bytes, in the send ring.";
    W_OPCODE "opcode" [0, 0 +: 8] "See opcodes of work requests.",
    W_FLAGS "flags" [0, 8 +: 8] "Fence and notify: see flags of work requests. Cards without the feature bulk do not look at them.",
    W_HEAD_LEN "head_len" [0, 16 +: 8] "Bytes of the head, 0 to 16; 16 of a one-sided request.",
    W_LENGTH "length" [0, 32 +: 32] "Bytes from memory, of a read to memory; with the head at most an MTU. 0 and more; of a read 1 to the MTU less 16; of an atomic 16; of bulk requests any.",
    W_ID "wr_id" [1, 0 +: 64] "The user's name for it.",
    W_ADDRESS "address" [2, 0 +: 64] "Bus address of the bytes, or of where a read goes; any byte.",
    W_LKEY "lkey" [3, 0 +: 32] "Key of their region. Not looked at if there are no bytes.",
    W_VERSION_FLAGS "version_flags" [3, 32 +: 8] "Version (upper 4 bits) and flags of the XUDETH: see version_flags.",
    W_NODE "node" [3, 40 +: 20] "Destination node.",
    W_QPN "qpn" [4, 0 +: 32] "Destination queue pair, 24 bits.",
    W_MSN "win_msn" [4, 32 +: 32] "Number of the message in its window. The card carries it, win_id and epoch to the receiver and its completion; it looks at the epoch, and at all of a one-sided request. Of bulk_write with notify the immediate data.",
    W_WINDOW "win_id" [5, 0 +: 16] "Window; of a one-sided request the index of OPEN_WINDOW there.",
    W_EPOCH "epoch" [5, 16 +: 16] "Epoch of the window: one that the destination accepts (XUD-6). 0 in version 0.",
    W_HEAD_LOW "head_low" [6, 0 +: 64] "Head: bytes in front of those from memory, 0 to 7; byte 0 in bits 7:0.",
    W_HEAD_HIGH "head_high" [7, 0 +: 64] "Bytes 8 to 15.",
}

layout! {
    RECEIVE, "A receive request, 32 bytes, in the receive ring.";
    R_ID "wr_id" [0, 0 +: 64] "The user's name for it.",
    R_ADDRESS "address" [1, 0 +: 64] "Bus address where a message goes; any byte.",
    R_LKEY "lkey" [2, 0 +: 32] "Key of the region, which needs local_write. Looked at when a message takes the request; not by a message of 0 bytes.",
    R_LENGTH "length" [2, 32 +: 32] "Bytes there. A message that is longer is refused, and the request stays.",
}

layout! {
    COMPLETION, "A completion, 64 bytes, in the completion ring.";
    C_ID "wr_id" [0, 0 +: 64] "Name of the request.",
    C_STATUS "status" [1, 0 +: 8] "How it ended: see outcomes.",
    C_OF "of" [1, 8 +: 8] "1 a work request, 2 a receive request with a message, 3 a receive request with a notification; 4 a reduction frame, whose fields are others.",
    C_VERSION_FLAGS "version_flags" [1, 16 +: 8] "Version (upper 4 bits) and flags of the XUDETH.",
    C_MARKED "marked" [1, 24 +: 1] "Of a work request that an acknowledgement has ended: it said that the request came marked by a switch (CL-4). Only while the register congestion says that marks are looked at; 0 of all others.",
    C_LENGTH "length" [1, 32 +: 32] "Bytes received; of a notification bytes of the transfer, which are not in the receive request's memory; 0 of a work request.",
    C_NODE "node" [2, 0 +: 20] "Node of the peer.",
    C_QPN "qpn" [2, 32 +: 24] "Queue pair of the peer: the destination, or who sent.",
    C_WINDOW "win_id" [3, 0 +: 16] "Window.",
    C_EPOCH "epoch" [3, 16 +: 16] "Epoch of the window.",
    C_MSN "win_msn" [3, 32 +: 32] "Number of the message in its window; of a notification the immediate data.",
    C_QKEY "q_key" [4, 0 +: 32] "Q_Key of the packet, of a receive request; 0 of a work request.",
    C_PSN "psn" [4, 32 +: 24] "PSN of the packet.",
    C_REQUEST "request" [5, 0 +: 16] "Number of the request in its ring, modulo 2^16.",
    C_PHASE "phase" [7, 0 +: 1] "1 in the first pass over the ring, 0 in the second, and so on: bit log2(entries) of the number, inverted. Written last.",
    C_NUMBER "number" [7, 16 +: 16] "Number of the completion, modulo 2^16.",
}

/// A work request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkRequest {
    /// [`OPCODE_SEND`], [`OPCODE_WRITE`], [`OPCODE_READ`], [`OPCODE_ATOMIC`].
    pub opcode: u8,
    /// [`flags`].
    pub flags: u8,
    /// Bytes of `head` that count.
    pub head_len: u8,
    /// Bytes from memory, or of a read to memory.
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
        /// A receive request that a message took.
        Receive = 2 "receive",
        /// A receive request that a bulk WRITE with notify took (BW-3); nothing was written to its memory.
        Notify = 3 "notify",
        /// A frame of the queue pair's reduction group, which took no receive request (CL-5); its fields are others.
        Reduction = 4 "reduction",
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
    /// The acknowledgement of a work request said that it came marked by a switch (CL-4).
    pub marked: bool,
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

#[inline]
fn words(entry: &[u8]) -> [u64; 8] {
    let mut words = [0; 8];
    for (word, bytes) in words.iter_mut().zip(entry.as_chunks().0) {
        *word = u64::from_le_bytes(*bytes);
    }
    words
}

#[inline]
fn bytes<const N: usize>(words: &[u64; 8]) -> [u8; N] {
    let mut out = [0; N];
    for (place, word) in out.as_chunks_mut().0.iter_mut().zip(words) {
        *place = word.to_le_bytes();
    }
    out
}

impl WorkRequest {
    /// As the card reads it.
    #[must_use]
    #[inline]
    pub fn encode(&self) -> [u8; WORK_LEN] {
        let mut w = [0; 8];
        W_OPCODE.put(&mut w, self.opcode);
        W_FLAGS.put(&mut w, self.flags);
        W_HEAD_LEN.put(&mut w, self.head_len);
        W_LENGTH.put(&mut w, self.length);
        W_ID.put(&mut w, self.wr_id);
        W_ADDRESS.put(&mut w, self.address);
        W_LKEY.put(&mut w, self.lkey);
        W_VERSION_FLAGS.put(&mut w, self.version_flags);
        W_NODE.put(&mut w, self.to.node);
        W_QPN.put(&mut w, self.to.qpn);
        W_MSN.put(&mut w, self.window.msn);
        W_WINDOW.put(&mut w, self.window.id);
        W_EPOCH.put(&mut w, self.window.epoch);
        let head = words(&self.head);
        W_HEAD_LOW.put(&mut w, head[0]);
        W_HEAD_HIGH.put(&mut w, head[1]);
        bytes(&w)
    }

    /// What the card makes of 64 bytes.
    #[must_use]
    pub fn decode(entry: &[u8; WORK_LEN]) -> Self {
        let w = &words(entry);
        let head = [W_HEAD_LOW.get(w), W_HEAD_HIGH.get(w), 0, 0, 0, 0, 0, 0];
        Self {
            opcode: W_OPCODE.get(w) as u8,
            flags: W_FLAGS.get(w) as u8,
            head_len: W_HEAD_LEN.get(w) as u8,
            length: W_LENGTH.get(w) as u32,
            wr_id: W_ID.get(w),
            address: W_ADDRESS.get(w),
            lkey: W_LKEY.get(w) as u32,
            version_flags: W_VERSION_FLAGS.get(w) as u8,
            to: Peer {
                node: W_NODE.get(w) as u32,
                qpn: W_QPN.get(w) as u32,
            },
            window: Window {
                id: W_WINDOW.get(w) as u16,
                epoch: W_EPOCH.get(w) as u16,
                msn: W_MSN.get(w) as u32,
            },
            head: bytes(&head),
        }
    }
}

impl ReceiveRequest {
    /// As the card reads it.
    #[must_use]
    #[inline]
    pub fn encode(&self) -> [u8; RECEIVE_LEN] {
        let mut w = [0; 8];
        R_ID.put(&mut w, self.wr_id);
        R_ADDRESS.put(&mut w, self.address);
        R_LKEY.put(&mut w, self.lkey);
        R_LENGTH.put(&mut w, self.length);
        bytes(&w)
    }

    /// What the card makes of 32 bytes.
    #[must_use]
    pub fn decode(entry: &[u8; RECEIVE_LEN]) -> Self {
        let w = &words(entry);
        Self {
            wr_id: R_ID.get(w),
            address: R_ADDRESS.get(w),
            lkey: R_LKEY.get(w) as u32,
            length: R_LENGTH.get(w) as u32,
        }
    }
}

impl Completion {
    /// As the card writes it, in a ring of 2^`log` entries.
    #[must_use]
    pub fn encode(&self, log: u8) -> [u8; COMPLETION_LEN] {
        let mut w = [0; 8];
        C_ID.put(&mut w, self.wr_id);
        C_STATUS.put(&mut w, self.status.code());
        C_OF.put(&mut w, self.of.code());
        C_VERSION_FLAGS.put(&mut w, self.version_flags);
        C_MARKED.put(&mut w, self.marked);
        C_LENGTH.put(&mut w, self.length);
        C_NODE.put(&mut w, self.peer.node);
        C_QPN.put(&mut w, self.peer.qpn);
        C_WINDOW.put(&mut w, self.window.id);
        C_EPOCH.put(&mut w, self.window.epoch);
        C_MSN.put(&mut w, self.window.msn);
        C_QKEY.put(&mut w, self.q_key);
        C_PSN.put(&mut w, self.psn);
        C_REQUEST.put(&mut w, self.request);
        C_PHASE.put(&mut w, Self::phase(self.number, log));
        C_NUMBER.put(&mut w, self.number);
        bytes(&w)
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
        Self::from_words(&words(entry))
    }

    /// The same from its words.
    ///
    /// # Errors
    /// As [`Self::decode`].
    #[inline]
    pub fn from_words(w: &[u64; 8]) -> Result<Self, CompletionError> {
        let unknown = |field, value| CompletionError { field, value };
        let (status, of) = (C_STATUS.get(w) as u8, C_OF.get(w) as u8);
        Ok(Self {
            wr_id: C_ID.get(w),
            status: Outcome::from_code(status).ok_or(unknown(C_STATUS.name, status))?,
            of: Of::from_code(of).ok_or(unknown(C_OF.name, of))?,
            version_flags: C_VERSION_FLAGS.get(w) as u8,
            length: C_LENGTH.get(w) as u32,
            peer: Peer {
                node: C_NODE.get(w) as u32,
                qpn: C_QPN.get(w) as u32,
            },
            window: Window {
                id: C_WINDOW.get(w) as u16,
                epoch: C_EPOCH.get(w) as u16,
                msn: C_MSN.get(w) as u32,
            },
            q_key: C_QKEY.get(w) as u32,
            psn: C_PSN.get(w) as u32,
            request: C_REQUEST.get(w) as u16,
            number: C_NUMBER.get(w) as u16,
            marked: C_MARKED.get(w) != 0,
        })
    }
}
