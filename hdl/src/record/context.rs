//! Words of the context of a queue pair, as card_regs hands them to the blocks that keep parts of it.

use tributary_protocol::card::command::{
    SHAPE_COMPLETE, SHAPE_RECEIVE, SHAPE_SEND, SHAPE_TIMEOUT, SHAPE_VECTOR,
};

use crate::prelude::*;

/// Bit of word 0 for queue pairs in reduction groups.
pub const MEMBER: usize = 31;

/// Which word of the context.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContextPart {
    /// [`ContextShape`].
    Shape,
    /// [`ContextKeys`].
    Keys,
    /// Base of the send ring.
    SendBase,
    /// Base of the receive ring.
    ReceiveBase,
    /// Base of the completion ring.
    CompleteBase,
    /// [`ContextEpochs`].
    Epochs,
    /// All indices begin anew.
    Indices,
}

hdl_record! {
    /// State and rings.
    #[bits(64)]
    pub struct ContextShape {
        /// State of the queue pair.
        #[at(0)]
        state: Bits<3>,
        /// log2 of the send ring's entries.
        #[at(SHAPE_SEND.lsb)]
        send_log: Bits<{ SHAPE_SEND.width as usize }>,
        /// log2 of the receive ring's entries.
        #[at(SHAPE_RECEIVE.lsb)]
        receive_log: Bits<{ SHAPE_RECEIVE.width as usize }>,
        /// log2 of the completion ring's entries.
        #[at(SHAPE_COMPLETE.lsb)]
        complete_log: Bits<{ SHAPE_COMPLETE.width as usize }>,
        /// Timeout exponent.
        #[at(SHAPE_TIMEOUT.lsb)]
        timeout: Bits<{ SHAPE_TIMEOUT.width as usize }>,
        /// Interrupt vector.
        #[at(SHAPE_VECTOR.lsb)]
        vector: Bits<{ SHAPE_VECTOR.width as usize }>,
        /// It is in a reduction group; no argument has this bit.
        #[at(MEMBER)]
        member: Bit,
        /// Protection domain.
        #[at(32)]
        pd: Bits<16>,
    }
}

hdl_record! {
    /// Q_Key and first PSN.
    #[bits(64)]
    pub struct ContextKeys {
        /// Q_Key.
        #[at(0)]
        q_key: Bits<32>,
        /// PSN of the first request.
        #[at(32)]
        first_psn: Bits<24>,
    }
}

hdl_record! {
    /// The epochs that are accepted.
    #[bits(64)]
    pub struct ContextEpochs {
        /// Oldest.
        #[at(0)]
        oldest: Bits<16>,
        /// Newest.
        #[at(16)]
        newest: Bits<16>,
    }
}

hdl_record! {
    /// Base address of a ring of entries of 64 bytes.
    #[bits(64)]
    pub struct RingBase {
        /// In units of 64 bytes.
        #[at(6)]
        entries_of_64: Bits<58>,
    }
}
