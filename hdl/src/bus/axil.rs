//! AXI4-Lite.

use crate::prelude::*;

hdl_bus! {
    /// AXI4-Lite with 32-bit words and byte addresses of A bits.
    pub struct AxiLite<const A: usize> {
        /// A write address is offered.
        awvalid: Bit,
        /// It is taken.
        #[back] awready: Bit,
        /// Byte address of the write.
        awaddr: Bits<A>,
        /// A word to write is offered.
        wvalid: Bit,
        /// It is taken.
        #[back] wready: Bit,
        /// The word to write.
        wdata: Bits<32>,
        /// Its bytes that are to be written.
        wstrb: Bits<4>,
        /// A write is done.
        #[back] bvalid: Bit,
        /// The answer is taken.
        bready: Bit,
        /// Answer to a write: 0 done, 2 refused.
        #[back] bresp: Bits<2>,
        /// A read address is offered.
        arvalid: Bit,
        /// It is taken.
        #[back] arready: Bit,
        /// Byte address of the read.
        araddr: Bits<A>,
        /// A word that was read is offered.
        #[back] rvalid: Bit,
        /// It is taken.
        rready: Bit,
        /// The word that was read; 0 if the read was refused.
        #[back] rdata: Bits<32>,
        /// Answer to a read: 0 done, 2 refused.
        #[back] rresp: Bits<2>,
    }
}
