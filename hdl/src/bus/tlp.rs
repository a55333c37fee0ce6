//! Transaction-layer packets of PCI Express, as the open hard-IP shims of verilog-pcie have them.

use crate::prelude::*;

hdl_bus! {
    /// Requests from the host, as the open hard-IP shims of verilog-pcie have them: W data bits, S words of 32 bits.
    pub struct TlpRxRequest<const W: usize, const S: usize> {
        /// Payload of the request.
        data: Bits<W>,
        /// A bit for each 32-bit word that is there.
        strb: Bits<S>,
        /// Header, beside the first word; DW0 is in bits 127:96.
        hdr: Bits<128>,
        /// BAR that the address is in.
        bar_id: Bits<3>,
        /// Function that the request is for.
        func_num: Bits<8>,
        /// A word is offered.
        valid: Bit,
        /// It is the first of its TLP.
        sop: Bit,
        /// It is the last of its TLP.
        eop: Bit,
        /// It is taken.
        #[back] ready: Bit,
    }
}

hdl_bus! {
    /// Completions for the host.
    pub struct TlpTxCompletion<const W: usize, const S: usize> {
        /// Payload of the completion.
        data: Bits<W>,
        /// A bit for each 32-bit word that is there.
        strb: Bits<S>,
        /// Header; DW0 is in bits 127:96.
        hdr: Bits<128>,
        /// A TLP is offered.
        valid: Bit,
        /// It begins here: always.
        sop: Bit,
        /// It ends here: always.
        eop: Bit,
        /// It is taken.
        #[back] ready: Bit,
    }
}

hdl_bus! {
    /// Read requests to the host.
    pub struct TlpTxRead {
        /// Header; DW0 is in bits 127:96.
        hdr: Bits<128>,
        /// Sequence number: none, 0.
        seq: Bits<6>,
        /// A TLP is offered.
        valid: Bit,
        /// It begins here: always.
        sop: Bit,
        /// It ends here: always.
        eop: Bit,
        /// It is taken.
        #[back] ready: Bit,
    }
}

hdl_bus! {
    /// Completions from the host.
    pub struct TlpRxCompletion<const W: usize, const S: usize> {
        /// Payload of the completion.
        data: Bits<W>,
        /// A bit for each 32-bit word that is there.
        strb: Bits<S>,
        /// Header, beside the first word; DW0 is in bits 127:96.
        hdr: Bits<128>,
        /// 0 no error, 1 poisoned; with any other the completion is no good.
        error: Bits<4>,
        /// A word is offered.
        valid: Bit,
        /// It is the first of its completion.
        sop: Bit,
        /// It is the last of its completion.
        eop: Bit,
        /// It is taken.
        #[back] ready: Bit,
    }
}

hdl_bus! {
    /// Write requests to the host.
    pub struct TlpTxWrite<const W: usize, const S: usize> {
        /// Payload of the write.
        data: Bits<W>,
        /// A bit for each 32-bit word that is there.
        strb: Bits<S>,
        /// Header; DW0 is in bits 127:96.
        hdr: Bits<128>,
        /// Sequence number: 0 to 31 in turn; bit 5 changes with each function-level reset.
        seq: Bits<6>,
        /// A word is offered.
        valid: Bit,
        /// It is the first of its TLP.
        sop: Bit,
        /// It is the last of its TLP.
        eop: Bit,
        /// It is taken.
        #[back] ready: Bit,
    }
}
