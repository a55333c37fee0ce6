//! Entries of the rings of a queue pair in a reduction group (CL-5): what its work requests ask for, and what has arrived.

use super::{
    COMPLETION_LEN, Completion, CompletionError, OPCODE_REDUCE, Of, Place, WORK_LEN, bytes, words,
};
use crate::red::Address;
use crate::red::wire::Reduction;
use crate::xud::Outcome;

layout! {
    REDUCE, "A work request of a queue pair in a group, 64 bytes, in its send ring: one reduction frame.";
    D_OPCODE "opcode" [0, 0 +: 8] "reduce.",
    D_FLAGS "flags" [0, 8 +: 8] "signal: see flags of work requests.",
    D_TO_NODE "to_node" [0, 16 +: 1] "1: to endpoint 0 of `node`. 0: to the group's tree.",
    D_REDUCTION "reduction" [0, 20 +: 3] "Reduction id. The frame's cookie is that of the group plus it.",
    D_KIND "kind" [0, 24 +: 4] "Kind of message between hosts: opcode of the restricted header, 0 to 4.",
    D_NODE "node" [0, 32 +: 20] "Destination node, if to a node.",
    D_ID "wr_id" [1, 0 +: 64] "The user's name for it.",
    D_HEADER "header" [2, 0 +: 64] "Bits 63:0 of the reduction header: seqno, arm, op, count, resno, rc, m, oflow, pad.",
    D_ROUND "round" [3, 0 +: 56] "remote_offset of the restricted header.",
    D_DATA0 "data0" [4, 0 +: 64] "First word of data.",
    D_DATA1 "data1" [5, 0 +: 64] "Second.",
    D_DATA2 "data2" [6, 0 +: 64] "Third.",
    D_DATA3 "data3" [7, 0 +: 64] "Fourth.",
}

layout! {
    ARRIVAL, "A completion that is a frame of the group, 64 bytes, in the completion ring: `of` is 4.";
    A_ROUND "round" [0, 0 +: 56] "remote_offset of the restricted header.",
    A_KIND "kind" [0, 56 +: 4] "opcode of the restricted header.",
    A_REDUCTION "reduction" [0, 60 +: 3] "Reduction id.",
    A_BY_TREE "by_tree" [0, 63 +: 1] "1: it was sent to the tree. 0: to this node.",
    A_STATUS "status" [1, 0 +: 8] "ok.",
    A_OF "of" [1, 8 +: 8] "4, reduction.",
    A_FETCHED "fetched" [1, 16 +: 16] "Work requests that the card has fetched so far, modulo 2^16: their entries are free.",
    A_SOURCE "source" [1, 32 +: 32] "Fabric address of who sent: a host, or the port of a switch.",
    A_HEADER "header" [2, 0 +: 64] "Bits 63:0 of the reduction header.",
    A_DATA0 "data0" [3, 0 +: 64] "First word of data.",
    A_DATA1 "data1" [4, 0 +: 64] "Second.",
    A_DATA2 "data2" [5, 0 +: 64] "Third.",
    A_DATA3 "data3" [6, 0 +: 64] "Fourth.",
    A_PHASE "phase" [7, 0 +: 1] "As of every completion.",
    A_ANSWERED "answered" [7, 1 +: 1] "1: it was the result of its round, and the card has answered it (CL-6): the tree is armed for the next round.",
    A_NUMBER "number" [7, 16 +: 16] "As of every completion.",
}

const REQUEST_DATA: [Place; 4] = [D_DATA0, D_DATA1, D_DATA2, D_DATA3];
const ARRIVAL_DATA: [Place; 4] = [A_DATA0, A_DATA1, A_DATA2, A_DATA3];

/// A work request of a queue pair in a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReductionRequest {
    /// [`super::flags`].
    pub flags: u8,
    /// The user's name for it.
    pub wr_id: u64,
    /// Reduction id.
    pub reduction: u8,
    /// Endpoint 0 of a node, or the group's tree.
    pub to: Option<u32>,
    /// Kind of message between hosts.
    pub kind: u8,
    /// Round.
    pub round: u64,
    /// The reduction header; its cookie is not in the work request.
    pub red: Reduction,
    /// Data.
    pub data: [u64; 4],
}

impl ReductionRequest {
    /// As the card reads it.
    #[must_use]
    pub fn encode(&self) -> [u8; WORK_LEN] {
        let mut w = [0; 8];
        D_OPCODE.put(&mut w, OPCODE_REDUCE);
        D_FLAGS.put(&mut w, self.flags);
        D_REDUCTION.put(&mut w, self.reduction);
        D_TO_NODE.put(&mut w, self.to.is_some());
        D_NODE.put(&mut w, self.to.unwrap_or(0));
        D_KIND.put(&mut w, self.kind);
        D_ID.put(&mut w, self.wr_id);
        D_HEADER.put(&mut w, self.red.word());
        D_ROUND.put(&mut w, self.round);
        for (place, word) in REQUEST_DATA.iter().zip(self.data) {
            place.put(&mut w, word);
        }
        bytes(&w)
    }

    /// What the card makes of 64 bytes; nothing of another opcode, of a kind or an operation without a meaning.
    #[must_use]
    pub fn decode(entry: &[u8; WORK_LEN]) -> Option<Self> {
        let w = &words(entry);
        let kind = D_KIND.get(w) as u8;
        if D_OPCODE.get(w) as u8 != OPCODE_REDUCE || kind > KIND_MAX {
            return None;
        }
        let node = D_NODE.get(w) as u32;
        Some(Self {
            flags: D_FLAGS.get(w) as u8,
            wr_id: D_ID.get(w),
            reduction: D_REDUCTION.get(w) as u8,
            to: (D_TO_NODE.get(w) != 0).then_some(node),
            kind,
            round: D_ROUND.get(w),
            red: Reduction::from_word(0, D_HEADER.get(w)).ok()?,
            data: REQUEST_DATA.map(|place| place.get(w)),
        })
    }
}

/// Largest kind of message between hosts.
pub const KIND_MAX: u8 = 4;

/// A frame of the group, as its completion says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// Kind of message between hosts.
    pub kind: u8,
    /// Round.
    pub round: u64,
    /// Reduction id.
    pub reduction: u8,
    /// It was sent to the tree, not to this node.
    pub by_tree: bool,
    /// Work requests fetched so far, modulo 2^16.
    pub fetched: u16,
    /// Who sent it.
    pub source: Address,
    /// The reduction header; its cookie is not in the completion.
    pub red: Reduction,
    /// Data.
    pub data: [u64; 4],
    /// The card has answered it (CL-6).
    pub answered: bool,
    /// Number of the completion.
    pub number: u16,
}

impl Arrival {
    /// As the card writes it, in a ring of 2^`log` entries.
    #[must_use]
    pub fn encode(&self, log: u8) -> [u8; COMPLETION_LEN] {
        let mut w = [0; 8];
        A_ROUND.put(&mut w, self.round);
        A_KIND.put(&mut w, self.kind);
        A_REDUCTION.put(&mut w, self.reduction);
        A_BY_TREE.put(&mut w, self.by_tree);
        A_STATUS.put(&mut w, Outcome::Ok.code());
        A_OF.put(&mut w, Of::Reduction.code());
        A_FETCHED.put(&mut w, self.fetched);
        A_SOURCE.put(&mut w, self.source.0);
        A_HEADER.put(&mut w, self.red.word());
        for (place, word) in ARRIVAL_DATA.iter().zip(self.data) {
            place.put(&mut w, word);
        }
        A_PHASE.put(&mut w, Completion::phase(self.number, log));
        A_ANSWERED.put(&mut w, self.answered);
        A_NUMBER.put(&mut w, self.number);
        bytes(&w)
    }

    /// What a completion is of, by its words: whether to read it as this or as a [`Completion`].
    #[must_use]
    pub fn is_of(w: &[u64; 8]) -> bool {
        A_OF.get(w) as u8 == Of::Reduction.code()
    }

    /// Reads the words of an entry that the card has written.
    ///
    /// # Errors
    /// It is none of a frame, or has an operation without a meaning.
    pub fn from_words(w: &[u64; 8]) -> Result<Self, CompletionError> {
        let bad = |place: &Place| CompletionError {
            field: place.name,
            value: place.get(w) as u8,
        };
        if !Self::is_of(w) {
            return Err(bad(&A_OF));
        }
        if A_STATUS.get(w) as u8 != Outcome::Ok.code() {
            return Err(bad(&A_STATUS));
        }
        Ok(Self {
            kind: A_KIND.get(w) as u8,
            round: A_ROUND.get(w),
            reduction: A_REDUCTION.get(w) as u8,
            by_tree: A_BY_TREE.get(w) != 0,
            fetched: A_FETCHED.get(w) as u16,
            source: Address(A_SOURCE.get(w) as u32),
            red: Reduction::from_word(0, A_HEADER.get(w)).map_err(|_| bad(&A_HEADER))?,
            data: ARRIVAL_DATA.map(|place| place.get(w)),
            answered: A_ANSWERED.get(w) != 0,
            number: A_NUMBER.get(w) as u16,
        })
    }
}
