//! Numbers that travel on the wire or name a counter: declared here once, for the models, the RTL and the documents.

/// BTH opcode of a message TYPE: 0xC0 + TYPE.
#[must_use]
pub const fn opcode(kind: MessageType) -> u8 {
    0xC0 + kind as u8
}

codes! {
    /// 3-bit TYPE of a message.
    MessageType {
        /// Payload packet, sender to receiver.
        Data = 0 "data",
        /// The transfer has ended, receiver to sender.
        Complete = 1 "complete",
        /// Send one packet again.
        RetxOne = 2 "retx_one",
        /// Send a packet and all after it again.
        RetxRange = 3 "retx_range",
        /// Ask for a window.
        Connect = 4 "connect",
        /// Answer to CONNECT.
        ConnectResp = 5 "connect_resp",
        /// POLL (to the receiver) or STATUS (to the sender).
        PollStatus = 6 "poll_status",
        /// ABORT, or UNKNOWN as the answer to a POLL without a transfer.
        AbortUnknown = 7 "abort_unknown",
    }
}

codes! {
    /// How a transfer ended at the receiver: in COMPLETE, the completion record and the peer table.
    Status {
        /// Every byte is in memory.
        Ok = 0 "ok",
        /// Given up, by either side.
        Aborted = 1 "aborted",
        /// Every byte is in memory, but the receiver's software had no room for the completion that was asked for (BW-3).
        NotReady = 2 "not_ready",
    }
}

codes! {
    /// Answer to CONNECT.
    ConnectStatus {
        /// A window is open.
        Ok = 0 "ok",
        /// No free window; try again after the hint (RW-9).
        Busy = 1 "busy",
        /// The request can never be served: limits, packet size, or address range.
        Refused = 2 "refused",
        /// The key does not allow it: region, protection domain, right, or bounds (BW-2).
        Access = 3 "access",
        /// No such queue pair, or it does not receive (BW-2).
        BadQp = 4 "bad_qp",
    }
}

codes! {
    /// Why an ABORT or UNKNOWN was sent.
    Reason {
        /// The sender has given up after its last poll (RW-18).
        GaveUp = 0 "gave_up",
        /// The sender's user cancelled the transfer.
        Cancelled = 1 "cancelled",
        /// The receiver heard no DATA for `idle_ticks` (RW-18).
        Idle = 2 "idle",
        /// The receiver knows no such transfer.
        NoTransfer = 3 "no_transfer",
        /// The key at the sender does not allow what is to be read, or does not any more (BW-5).
        Protection = 4 "protection",
        /// The sender's host memory did not answer.
        Memory = 5 "memory",
    }
}

codes! {
    /// Why a receiver did not act on something. Each has one counter and no other effect; code 0 means "accepted" in the RTL.
    DropReason {
        /// Window number out of range, or window not open (RW-7).
        Closed = 1 "closed",
        /// Window open in another generation (RW-7).
        StaleGen = 2 "stale_gen",
        /// Packet from another node than the one that opened the window (RW-7).
        BadSource = 3 "bad_source",
        /// pidx ≥ N (RW-6).
        BeyondEnd = 4 "beyond_end",
        /// TAIL disagrees with pidx = N-1 (RW-4).
        BadTail = 5 "bad_tail",
        /// Payload length is not that of this packet (RW-6, RW-20).
        BadLength = 6 "bad_length",
        /// pidx < wbase: received before (RW-1).
        BelowWindow = 7 "below_window",
        /// pidx > wbase + W - 1 (RW-1).
        AboveWindow = 8 "above_window",
        /// Bit already set (RW-2).
        Duplicate = 9 "duplicate",
        /// Write acknowledgement for a window that is closed or in another generation.
        StaleWrite = 10 "stale_write",
        /// CONNECT with an older xid than the last one (RW-8).
        OldConnect = 11 "old_connect",
        /// ABORT that names no open transfer.
        StrayAbort = 12 "stray_abort",
        /// Frame that failed CRC, length or field checks (RW-20); counted where frames are parsed.
        BadFrame = 13 "bad_frame",
        /// Control queue full (RTL only; RW-11 makes it harmless).
        QueueFull = 14 "queue_full",
        /// Reference modes: not the number (go-back-n) or not the round (counter) that is expected.
        NotExpected = 15 "not_expected",
    }
}
