//! Commands: what a write to the register `command` does, with which arguments.
//!
//! [`CALLS`] declares each: what its index counts, which argument register holds what ([`argument`]), results, checks and effect.
//! `rtl_out/registers/card_commands.md` is that for people, `tributary_card.h` for C.
//!
//! DESTROY_QP, CLEAR_REGION and the commands of windows succeed only when nothing on the card works for the queue pair, on the region
//! or on a window any more: from then on its memory can be given away.

pub mod argument;
mod call;

pub use argument::{Argument, Arguments, Built, Limit, Returned};
pub use call::{CALLS, Call, Index};

use argument::{create_qp, set_region};

use crate::registers::Field;

codes! {
    /// What the card is told to do.
    Command {
        /// Makes a queue pair in the state Init, all its indices 0.
        CreateQp = 1 "create_qp",
        /// Changes its state.
        ModifyQp = 2 "modify_qp",
        /// Ends it without a completion for what had not ended.
        DestroyQp = 3 "destroy_qp",
        /// Reads its state.
        QueryQp = 4 "query_qp",
        /// Takes a new epoch (XUD-6).
        NextEpoch = 5 "next_epoch",
        /// Makes or replaces a region.
        SetRegion = 6 "set_region",
        /// Ends it.
        ClearRegion = 7 "clear_region",
        /// Makes or replaces a window of one-sided operations; the number expected is 0 (XUD-13).
        OpenWindow = 8 "open_window",
        /// Ends it.
        CloseWindow = 9 "close_window",
        /// Puts a queue pair into a reduction group (CL-5). Of cards with the feature reductions.
        JoinGroup = 10 "join_group",
    }
}

codes! {
    /// How a command ended.
    Status {
        /// Done.
        Ok = 0 "ok",
        /// No such command.
        BadCommand = 1 "bad_command",
        /// No such queue pair, region or window on this card.
        BadIndex = 2 "bad_index",
        /// An argument out of its range.
        BadArgument = 3 "bad_argument",
        /// The queue pair exists already, or does not, or the state cannot be reached from its present one.
        BadState = 4 "bad_state",
        /// The card got no rest in which to end the queue pair or the region; it is still there. Requests in flight of the
        /// queue pair may have been forgotten: the command is to be given again, or the card reset.
        NotIdle = 5 "not_idle",
    }
}

codes! {
    /// State of a queue pair, as of ibverbs.
    State {
        /// It does not exist.
        Reset = 0 "reset",
        /// It exists; receive requests may be posted.
        Init = 1 "init",
        /// It receives.
        ReadyToReceive = 2 "ready_to_receive",
        /// It receives and sends.
        ReadyToSend = 3 "ready_to_send",
        /// It does neither; only DESTROY_QP leads out.
        Error = 4 "error",
    }
}

/// Where MODIFY_QP leads: from, to.
pub const TRANSITIONS: &[(State, State)] = &[
    (State::Init, State::ReadyToReceive),
    (State::ReadyToReceive, State::ReadyToSend),
    (State::Init, State::Error),
    (State::ReadyToReceive, State::Error),
    (State::ReadyToSend, State::Error),
    (State::Error, State::Error),
];

impl State {
    /// Whether MODIFY_QP leads from this state to another.
    #[must_use]
    pub fn leads_to(self, to: Self) -> bool {
        TRANSITIONS.contains(&(self, to))
    }

    /// Whether the doorbells of the send and the receive ring are taken, and receive requests fetched.
    #[must_use]
    pub const fn posts(self) -> bool {
        matches!(self, Self::Init | Self::ReadyToReceive | Self::ReadyToSend)
    }

    /// Whether messages and one-sided requests are accepted; otherwise they are refused as if there were no such queue pair (bad_qp).
    #[must_use]
    pub const fn receives(self) -> bool {
        matches!(self, Self::ReadyToReceive | Self::ReadyToSend)
    }

    /// Whether work requests are fetched and sent.
    #[must_use]
    pub const fn sends(self) -> bool {
        matches!(self, Self::ReadyToSend)
    }
}

/// log2 of the clocks after which a command that waits is given up: longer than any read of host memory takes.
pub const PATIENCE_LOG: u8 = 23;

/// Largest log2 of a ring's entries: indices have 16 bits, and a full ring must differ from an empty one.
pub const RING_LOG_MAX: u8 = 15;

/// `arg0` of CREATE_QP: log2 of the send ring's entries.
pub const SHAPE_SEND: Field = create_qp::SEND_LOG.field();
/// `arg0` of CREATE_QP: log2 of the receive ring's entries.
pub const SHAPE_RECEIVE: Field = create_qp::RECEIVE_LOG.field();
/// `arg0` of CREATE_QP: log2 of the completion ring's entries.
pub const SHAPE_COMPLETE: Field = create_qp::COMPLETE_LOG.field();
/// `arg0` of CREATE_QP: timeout exponent.
pub const SHAPE_TIMEOUT: Field = create_qp::TIMEOUT.field();
/// `arg0` of CREATE_QP: interrupt vector.
pub const SHAPE_VECTOR: Field = create_qp::VECTOR.field();

/// `arg0` of SET_REGION: low byte of the key.
pub const REGION_VARIANT: Field = set_region::VARIANT.field();
/// `arg0` of SET_REGION: right to write there what is received.
pub const REGION_LOCAL_WRITE: Field = set_region::LOCAL_WRITE.field();
/// `arg0` of SET_REGION: right of others to write there.
pub const REGION_REMOTE_WRITE: Field = set_region::REMOTE_WRITE.field();
/// `arg0` of SET_REGION: right of others to read there.
pub const REGION_REMOTE_READ: Field = set_region::REMOTE_READ.field();
/// `arg0` of SET_REGION: right of others to atomics there.
pub const REGION_REMOTE_ATOMIC: Field = set_region::REMOTE_ATOMIC.field();

/// Key of a region: its variant.
pub const KEY_VARIANT: Field = Field {
    name: "variant",
    lsb: 0,
    width: 8,
    doc: "Variant of SET_REGION. A new one for each use of an index makes old keys useless.",
};
/// Key of a region: its index.
pub const KEY_INDEX: Field = Field {
    name: "index",
    lsb: 8,
    width: 24,
    doc: "Index of the region.",
};

/// Key of a region: its index above its variant.
#[must_use]
pub const fn key(index: u32, variant: u8) -> u32 {
    KEY_INDEX.put(index) | KEY_VARIANT.put(variant as u32)
}
