//! AXI4-Stream of the PCI Express block of UltraScale+.

use crate::prelude::*;

hdl_bus! {
    /// Descriptors and what follows them: W data bits, K words of 32 bits, U side-band bits.
    pub struct UsAxis<const W: usize, const K: usize, const U: usize> {
        /// A beat is offered.
        tvalid: Bit,
        /// It is taken.
        #[back] tready: Bit,
        /// The beat; its first byte is in bits 7:0.
        tdata: Bits<W>,
        /// 32-bit words present, from bit 0 on: all, but in the last beat.
        tkeep: Bits<K>,
        /// It is the last beat of the TLP.
        tlast: Bit,
        /// Byte enables, sequence number, discontinue: by stream.
        tuser: Bits<U>,
    }
}
