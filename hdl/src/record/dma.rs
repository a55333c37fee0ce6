//! Contexts of requests to the DMA engines, which come back with what they brought or when they are done.

use crate::prelude::*;

/// Who asks dma_write: in bits 15:13 of a context.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteClient {
    /// Payload of messages.
    Payload,
    /// Completions.
    Completion,
    /// Interrupts.
    Interrupt,
    /// Bytes of one-sided operations.
    OneSided,
    /// Payload of bulk transfers.
    Bulk,
}

/// Who asks dma_read: in bits 15:14 of a context.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadClient {
    /// Work requests.
    WorkRequest,
    /// Payload, of datagrams and of bulk transfers.
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
        qpn: Bits<12>,
        /// The completion is of the receiver.
        receive: Bit,
        /// Who asks.
        client: Bits<3>,
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
    /// What all contexts of reads have in common, and that of payload.
    #[bits(16)]
    pub struct ReadContext {
        /// Of payload: it is of a bulk transfer.
        #[at(0)]
        bulk: Bit,
        /// Who asks: a [`ReadClient`].
        #[at(14)]
        client: Bits<2>,
    }
}

hdl_record! {
    /// What all contexts of writes have in common.
    #[bits(16)]
    pub struct WriteContext {
        /// Who asks: a [`WriteClient`].
        #[at(13)]
        client: Bits<3>,
    }
}
