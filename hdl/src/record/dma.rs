//! Contexts of requests to the DMA engines, which come back with what they brought or when they are done.

use crate::prelude::*;

/// Who asks dma_write: in bits 15:14 of a context.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteClient {
    /// Payload of messages.
    Payload,
    /// Completions.
    Completion,
}

/// Who asks dma_read: in bits 15:14 of a context.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadClient {
    /// Work requests.
    WorkRequest,
    /// Payload.
    Payload,
    /// Receive requests.
    ReceiveRequest,
    /// Operands and bytes of one-sided operations.
    OneSided,
}

hdl_record! {
    /// Context of the write of a completion.
    pub struct EntryContext {
        /// Queue pair.
        qpn: Bits<13>,
        /// The completion is of the receiver.
        receive: Bit,
        /// Who asks.
        client: Bits<2>,
    }
}

hdl_record! {
    /// Context of the read of receive requests.
    #[bits(16)]
    pub struct ReceiveContext {
        /// Index of the first request, modulo 16.
        #[at(0)]
        place: Bits<4>,
        /// Queue pair.
        #[at(4)]
        qpn: Bits<10>,
        /// Who asks.
        #[at(14)]
        client: Bits<2>,
    }
}

hdl_record! {
    /// What all contexts have in common.
    #[bits(16)]
    pub struct AnyContext {
        /// Who asks: a [`ReadClient`] or a [`WriteClient`].
        #[at(14)]
        client: Bits<2>,
    }
}
