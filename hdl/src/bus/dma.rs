//! Requests to the DMA engines, and what comes back.

use crate::prelude::*;

hdl_record! {
    /// Bytes to read or to write.
    pub struct DmaJob {
        /// Host address of the first byte.
        addr: Bits<64>,
        /// Bytes.
        len: Bits<13>,
        /// Context: comes back with the words of a read, or when a write is done.
        ctx: Bits<16>,
    }
}

hdl_bus! {
    /// A read or a write of host memory.
    pub struct DmaRequest {
        /// A request is offered.
        valid: Bit,
        /// It is taken.
        #[back] ready: Bit,
        /// Bytes to read or to write.
        of: DmaJob,
    }
}

hdl_record! {
    /// A word of what was read.
    pub struct DmaReadWord {
        /// The word; its first byte is in bits 7:0.
        data: Bits<64>,
        /// Bytes in it, less one.
        bytes: Bits<3>,
        /// It is the last word of its request.
        last: Bit,
        /// Context of the request.
        ctx: Bits<16>,
        /// With the last word: the read failed, and its data mean nothing.
        error: Bit,
    }
}

hdl_bus! {
    /// What a read of host memory brought.
    pub struct DmaReadWords {
        /// A word is offered.
        valid: Bit,
        /// It is taken.
        #[back] ready: Bit,
        /// A word of what was read.
        of: DmaReadWord,
    }
}

hdl_record! {
    /// A whole word of what was read.
    pub struct DmaWord {
        /// The word; its first byte is in bits 7:0.
        data: Bits<64>,
        /// It is the last word of its request.
        last: Bit,
        /// With the last word: the read failed, and its data mean nothing.
        error: Bit,
        /// Context of the request.
        ctx: Bits<16>,
    }
}

hdl_bus! {
    /// What a read of host memory brought, whole words only.
    pub struct DmaWords {
        /// A word is offered.
        valid: Bit,
        /// It is taken.
        #[back] ready: Bit,
        /// A whole word of what was read.
        of: DmaWord,
    }
}

hdl_bus! {
    /// A write of host memory is done, in the order of the requests.
    pub struct DmaDone {
        /// A write is done; pulse.
        valid: Bit,
        /// Context of the request.
        ctx: Bits<16>,
    }
}
