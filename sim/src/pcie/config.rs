//! What a root complex is like, and what it tells.

use std::ops::{Range, RangeInclusive};

use tributary_protocol::pcie::Limits;

use super::posted::WritePath;
use crate::testbench::stall::Profile;

/// What a root complex is like.
#[derive(Clone, Debug)]
pub struct Config {
    /// Seed of everything random.
    pub seed: u64,
    /// What the card may do: drives its configuration inputs, and is checked.
    pub limits: Limits,
    /// Requester and completer ID of the host.
    pub host_id: u16,
    /// Read completion boundary: 64 or 128 bytes.
    pub boundary: u64,
    /// Completions are as large as they may be, instead of cut at random.
    pub large: bool,
    /// Reads are answered in their order, instead of any.
    pub ordered: bool,
    /// Clocks from a read to its first completion.
    pub latency: RangeInclusive<u32>,
    /// When streams do not move: requests to the card, completions for it, its reads, its writes, its completions.
    pub stall: Profile,
    /// Of 1,024 reads, those with which something goes wrong.
    pub faults: u32,
    /// By how many clocks completions come late if that goes wrong.
    pub late: u32,
    /// Writes of 4 bytes there are interrupts.
    pub interrupts: Option<Range<u64>>,
    /// How writes go on their way to memory.
    pub writes: WritePath,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            seed: 0,
            limits: Limits {
                requester_id: 0x0300,
                max_payload: 256,
                max_read: 512,
                extended_tags: false,
                bus_master: true,
                zero_length: false,
            },
            host_id: 0,
            boundary: 64,
            large: false,
            ordered: false,
            latency: 20..=80,
            stall: Profile::Free,
            faults: 0,
            late: 20_000,
            interrupts: None,
            writes: WritePath::default(),
        }
    }
}

/// A message-signalled interrupt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interrupt {
    /// Where it was written.
    pub address: u64,
    /// What.
    pub data: u32,
}

/// TLPs that came from the card.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// Reads.
    pub reads: u64,
    /// Writes, interrupts included.
    pub writes: u64,
    /// Words of 32 bits in them.
    pub write_words: u64,
    /// Completions.
    pub completions: u64,
}
