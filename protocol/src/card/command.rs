//! Commands: what a write to the register `command` does, with which arguments.
//!
//! | command | index | arguments (`arg0` on) | result |
//! |---|---|---|---|
//! | CREATE_QP | queue pair | shape, Q_Key, protection domain, first PSN, then bases of send, receive and completion ring (low, high each) | its epoch |
//! | MODIFY_QP | queue pair | state | |
//! | DESTROY_QP | queue pair | | |
//! | QUERY_QP | queue pair | | state, newest epoch |
//! | NEXT_EPOCH | queue pair | | the new epoch |
//! | SET_REGION | region | variant and rights, protection domain, base (low, high), length (low, high) | |
//! | CLEAR_REGION | region | | |
//! | OPEN_WINDOW | window | own queue pair, peer's node (16 bits), its queue pair (24), epoch (16) | |
//! | CLOSE_WINDOW | window | | number expected, 1; 0, 0 if it was not open |
//!
//! DESTROY_QP, CLEAR_REGION and the commands of windows end only when nothing on the card works for the queue pair, on the region
//! or on a window any more: from then on its memory can be given away.
//! OPEN_WINDOW is checked in this order: the window is there, else bad_index; the arguments fit and the card has a queue pair of
//! that number, else bad_argument; the queue pair exists, else bad_state.

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

impl State {
    /// Whether MODIFY_QP leads from this state to another.
    #[must_use]
    pub fn leads_to(self, to: Self) -> bool {
        match to {
            Self::Reset | Self::Init => false,
            Self::ReadyToReceive => self == Self::Init,
            Self::ReadyToSend => self == Self::ReadyToReceive,
            Self::Error => self != Self::Reset,
        }
    }
}

/// Largest log2 of a ring's entries: indices have 16 bits, and a full ring must differ from an empty one.
pub const RING_LOG_MAX: u8 = 15;

/// `arg0` of CREATE_QP: log2 of the send ring's entries, 0 to [`RING_LOG_MAX`].
pub const SHAPE_SEND: Field = field("send_log", 4, 4);
/// `arg0` of CREATE_QP: log2 of the receive ring's entries.
pub const SHAPE_RECEIVE: Field = field("receive_log", 8, 4);
/// `arg0` of CREATE_QP: log2 of the completion ring's entries.
pub const SHAPE_COMPLETE: Field = field("complete_log", 12, 4);
/// `arg0` of CREATE_QP: timeout exponent t, 4.096 µs · 2^t (XUD-1).
pub const SHAPE_TIMEOUT: Field = field("timeout", 16, 5);
/// `arg0` of CREATE_QP: interrupt vector.
pub const SHAPE_VECTOR: Field = field("vector", 24, 3);

/// `arg0` of SET_REGION: low byte of the key.
pub const REGION_VARIANT: Field = field("variant", 0, 8);
/// `arg0` of SET_REGION: the card may write there what it receives (IBV_ACCESS_LOCAL_WRITE).
pub const REGION_LOCAL_WRITE: Field = field("local_write", 8, 1);

/// `arg0` of SET_REGION: others may write there (IBV_ACCESS_REMOTE_WRITE).
pub const REGION_REMOTE_WRITE: Field = field("remote_write", 9, 1);
/// `arg0` of SET_REGION: others may read there (IBV_ACCESS_REMOTE_READ).
pub const REGION_REMOTE_READ: Field = field("remote_read", 10, 1);
/// `arg0` of SET_REGION: others may do atomics there (IBV_ACCESS_REMOTE_ATOMIC).
pub const REGION_REMOTE_ATOMIC: Field = field("remote_atomic", 11, 1);

const fn field(name: &'static str, lsb: u8, width: u8) -> Field {
    Field {
        name,
        lsb,
        width,
        doc: "",
    }
}

/// Key of a region: its index above its variant.
#[must_use]
pub const fn key(index: u32, variant: u8) -> u32 {
    index << 8 | variant as u32
}
