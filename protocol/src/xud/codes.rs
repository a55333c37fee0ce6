//! Numbers that travel on the wire or name a counter, and how requests end.

/// BTH opcode of a request.
pub const OPCODE_SEND: u8 = 0xD0;
/// BTH opcode of an acknowledgement.
pub const OPCODE_ACK: u8 = 0xD1;
/// The opcodes that are XUD's; those without a meaning are answered with [`Nak::Opcode`].
pub const OPCODES: std::ops::RangeInclusive<u8> = 0xD0..=0xDF;

codes! {
    /// Why a receiver refused a request: code of a negative acknowledgement in the AETH, 5 bits. 1 and 2 are InfiniBand's.
    Nak {
        /// The receiver does not know the opcode.
        Opcode = 1 "opcode",
        /// The receiver forbids it.
        Access = 2 "access",
        /// Longer than an MTU, or than the receive request that was next.
        Length = 16 "length",
        /// No such queue pair.
        BadQp = 17 "bad_qp",
        /// The epoch was handed out before the queue pair was created (XUD-6).
        Epoch = 18 "epoch",
        /// One-sided: a number ahead of the one that is expected (XUD-13).
        Number = 19 "number",
        /// One-sided: host memory there failed.
        Operation = 20 "operation",
    }
}

codes! {
    /// How a request (of the card) or a message (of the reliable layer) ended: exactly one of these each (XUD-2).
    Outcome {
        /// The receiver's software has it, or will see it next.
        Ok = 0 "ok",
        /// No acknowledgement in time. Card only: the reliable layer sends again.
        Timeout = 1 "timeout",
        /// No receive request or no completion slot there.
        RemoteRnr = 2 "remote_rnr",
        /// Too long for the receiver.
        RemoteLength = 3 "remote_length",
        /// Forbidden there.
        RemoteAccess = 4 "remote_access",
        /// Unknown there.
        RemoteOpcode = 5 "remote_opcode",
        /// No such queue pair there.
        BadQp = 6 "bad_qp",
        /// The receiving process is another one than the one that the window was opened with (XUD-6).
        EpochMismatch = 7 "epoch_mismatch",
        /// Longer than an MTU; nothing was sent.
        LocalLength = 8 "local_length",
        /// Destination number of more than 24 bits; nothing was sent.
        LocalAddress = 9 "local_address",
        /// Layer only: nothing was ever heard from there (XUD-8).
        Unreachable = 10 "unreachable",
        /// Layer only: something was heard once, and then nothing for all attempts (XUD-8).
        Unresponsive = 11 "unresponsive",
        /// The other side refused a number as impossible: its software a message (XUD-5), its card a one-sided operation (XUD-13).
        RemoteProtocol = 12 "remote_protocol",
        /// The queue pair was destroyed first.
        Flushed = 13 "flushed",
        /// Memory outside of what the key stands for, or a key that stands for nothing; nothing was sent or written.
        LocalProtection = 14 "local_protection",
        /// A work request that means nothing; nothing was sent.
        LocalOpcode = 15 "local_opcode",
        /// Host memory did not answer, or answered with an error; nothing was sent.
        LocalDma = 16 "local_dma",
        /// A ring of the queue pair could not be read; the queue pair is in the state Error. Requests in flight still end.
        LocalQueue = 17 "local_queue",
        /// One-sided and bulk: host memory there did not answer, or answered with an error.
        RemoteOperation = 18 "remote_operation",
        /// Bulk: the other side has given the transfer up, since its queue pair, region or card has ended (BW-9). How much was done is not known.
        Aborted = 19 "aborted",
        /// Reduction: the card has answered its round meanwhile (CL-6); nothing was sent.
        Overtaken = 20 "overtaken",
    }
}

impl Outcome {
    /// What a negative acknowledgement means to who sent the request.
    #[must_use]
    pub const fn of(nak: Nak) -> Self {
        match nak {
            Nak::Opcode => Self::RemoteOpcode,
            Nak::Access => Self::RemoteAccess,
            Nak::Length => Self::RemoteLength,
            Nak::BadQp => Self::BadQp,
            Nak::Epoch => Self::EpochMismatch,
            Nak::Number => Self::RemoteProtocol,
            Nak::Operation => Self::RemoteOperation,
        }
    }
}

codes! {
    /// Why a packet or a message was not acted upon. Each has one counter and no other effect on state (XUD-14).
    Drop {
        /// Frame: lengths, checksums, ICRC, fixed fields. Never answered: its source cannot be trusted.
        BadFrame = 1 "bad_frame",
        /// Opcode outside of XUD's.
        NotXud = 2 "not_xud",
        /// XUD's opcode without a meaning; answered.
        BadOpcode = 3 "bad_opcode",
        /// Header that no sender makes: reserved bits, version, length.
        BadHeader = 4 "bad_header",
        /// No such queue pair; requests are answered.
        BadQp = 5 "bad_qp",
        /// Wrong Q_Key; never answered.
        BadKey = 6 "bad_key",
        /// Payload over the MTU or the receive request; answered.
        BadLength = 7 "bad_length",
        /// Epoch of an earlier process; answered (XUD-6).
        StaleEpoch = 8 "stale_epoch",
        /// No receive request or completion slot; answered (XUD-4).
        Rnr = 9 "rnr",
        /// Acknowledgement whose number is not in flight: late, or a copy (XUD-10).
        AckUnknown = 10 "ack_unknown",
        /// Acknowledgement from elsewhere than where the request went (XUD-3).
        AckSource = 11 "ack_source",
        /// Acknowledgement that echoes another window identity (XUD-3).
        AckEcho = 12 "ack_echo",
        /// Layer: message number behind, a copy (XUD-5).
        Duplicate = 13 "duplicate",
        /// Layer: epoch that is not the connection's (XUD-6).
        OldEpoch = 14 "old_epoch",
        /// Layer: message number ahead, or values that no sender makes; answered with REFUSE (XUD-5).
        Ahead = 15 "ahead",
        /// Layer: control message that is malformed, old, or answers nothing.
        StrayControl = 16 "stray_control",
        /// One-sided: number that was done before; answered alike if it was the last (XUD-13).
        OneSidedDuplicate = 17 "one_sided_duplicate",
        /// One-sided: number ahead; answered.
        OneSidedAhead = 18 "one_sided_ahead",
        /// One-sided: key, domain, right or bounds; answered.
        OneSidedRefused = 19 "one_sided_refused",
        /// One-sided: memory did not answer; answered.
        OneSidedFailed = 20 "one_sided_failed",
    }
}

/// Counters of drops, by reason.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Drops([u64; Drop::ALL.len() + 1]);

impl Drops {
    /// How often something was dropped for this reason.
    #[must_use]
    pub fn of(&self, reason: Drop) -> u64 {
        self.0[usize::from(reason.code())]
    }

    /// Sum over all reasons.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }

    /// Counts one.
    pub fn count(&mut self, reason: Drop) {
        self.0[usize::from(reason.code())] += 1;
    }

    /// Reasons that occurred, with their counts.
    pub fn iter(&self) -> impl Iterator<Item = (Drop, u64)> + '_ {
        Drop::ALL
            .iter()
            .map(|reason| (*reason, self.of(*reason)))
            .filter(|(_, count)| *count > 0)
    }
}
