//! What a root complex can do wrong with a read of the card.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::Rng;
use tributary_protocol::pcie::{MemoryRequest, Status};

/// What goes wrong with the completions of a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// A completion without data: UR, CRS or CA. Nothing follows.
    Refused(Status),
    /// The data of one completion are poisoned.
    Poisoned,
    /// No completion comes.
    Dropped,
    /// The completions come so many clocks later.
    Late(u32),
    /// Byte Count is wrong. Nothing follows.
    ByteCount,
    /// Lower Address is wrong. Nothing follows.
    LowerAddress,
    /// A completion has a word less than its Length. Nothing follows.
    Short,
    /// A completion has a word more than its Length. Nothing follows.
    Long,
    /// The hard IP reports an error with a completion: 2 to 15. Nothing follows.
    Interface(u8),
    /// The last completion comes twice. The read is none the worse for it.
    Twice,
}

impl Fault {
    /// Any of them; `late` clocks for one that comes late.
    pub(super) fn random(rng: &mut ChaCha8Rng, late: u32) -> Self {
        match rng.next_u32() % 12 {
            0 => Self::Refused(Status::UnsupportedRequest),
            1 => Self::Refused(Status::CompleterAbort),
            2 => Self::Refused(Status::RequestRetry),
            3 | 4 => Self::Poisoned,
            5 => Self::Dropped,
            6 => Self::Late(late),
            7 => Self::ByteCount,
            8 => Self::LowerAddress,
            9 => Self::Short,
            10 => Self::Long,
            _ => Self::Interface(2 + (rng.next_u32() % 14) as u8),
        }
    }

    /// Whether a read with it fails, given that the card waits for less than it is late.
    #[must_use]
    pub fn fails(self) -> bool {
        self != Self::Twice
    }
}

/// A read that something was done to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Faulted {
    /// Reads that came before it.
    pub number: u64,
    /// The read.
    pub request: MemoryRequest,
    /// What was done.
    pub fault: Fault,
}
