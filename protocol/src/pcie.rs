//! PCI Express transaction layer packets (TLPs): headers of memory requests and completions, the byte arithmetic
//! between addresses and byte enables, and the rules that a requester must obey.
//!
//! Field names, encodings and rules are those of the PCI Express Base Specification, chapter 2. A header is four words
//! of 32 bits, DW0 first; bit 31 of a word is bit 7 of its first byte. A header of three words has 0 in the fourth.

mod bytes;
mod rules;
mod tlp;

pub use bytes::{ByteEnables, byte_count, completion_dwords, enabled, lower_address};
pub use rules::{Limits, Outstanding, Requester, Violation, check_completion};
pub use tlp::{
    Attributes, Completion, Header, MemoryRequest, Status, TYPE_COMPLETION, TYPE_MEMORY, Tlp,
    TlpError,
};

/// Bytes of a page that no request may cross.
pub const PAGE: u64 = 4096;
/// Largest Length: 1,024 words of 32 bits.
pub const MAX_DWORDS: u16 = 1024;
