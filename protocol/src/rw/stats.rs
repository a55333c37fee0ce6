//! Counters. They are not part of a machine's state: two machines that differ in them only are equal.

use super::codes::DropReason;

/// Counters of a receiver.
#[derive(Clone, Debug, Default)]
pub struct ReceiverStats {
    drops: [u64; 16],
    /// DATA packets accepted.
    pub accepted: u64,
    /// Windows opened.
    pub opened: u64,
    /// Transfers finished with status OK.
    pub finished: u64,
    /// Transfers aborted: by ABORT, a newer CONNECT, or silence.
    pub aborted: u64,
    /// CONNECTs answered BUSY.
    pub busy: u64,
    /// CONNECTs answered REFUSED.
    pub refused: u64,
    /// Entries of peer slots forgotten (BW-10).
    pub forgotten: u64,
    /// STATUS messages sent without a POLL.
    pub credit_updates: u64,
    /// RETX_ONE messages sent.
    pub retx_one: u64,
    /// RETX_RANGE messages sent.
    pub retx_range: u64,
}

impl ReceiverStats {
    /// How often something was dropped for this reason.
    #[must_use]
    pub fn dropped(&self, reason: DropReason) -> u64 {
        self.drops[usize::from(reason.code())]
    }

    /// Sum over all reasons.
    #[must_use]
    pub fn dropped_total(&self) -> u64 {
        self.drops.iter().sum()
    }

    /// Counts one drop.
    pub fn count(&mut self, reason: DropReason) {
        self.drops[usize::from(reason.code())] += 1;
    }
}

/// Counters of a sender.
#[derive(Clone, Debug, Default)]
pub struct SenderStats {
    /// First sendings of DATA packets.
    pub fresh: u64,
    /// Further sendings of DATA packets.
    pub resent: u64,
    /// POLLs sent.
    pub polls: u64,
    /// CONNECTs sent.
    pub connects: u64,
    /// ABORTs sent.
    pub aborts: u64,
    /// Messages ignored: no such slot or xid (RW-7), or values that no receiver sends.
    pub ignored: u64,
    /// Requests ignored because the packet had just been sent.
    pub stale_requests: u64,
}

impl SenderStats {
    /// DATA packets sent.
    #[must_use]
    pub fn data(&self) -> u64 {
        self.fresh + self.resent
    }
}
