//! AXI4-Stream.

use crate::prelude::*;

hdl_bus! {
    /// AXI4-Stream of frames from a MAC: W data bits, K bytes.
    pub struct AxisRx<const W: usize, const K: usize> {
        /// A word is offered.
        tvalid: Bit,
        /// It is taken.
        #[back] tready: Bit,
        /// The word; its first byte is in bits 7:0.
        tdata: Bits<W>,
        /// Bytes present, from bit 0 on: all, but in the last word.
        tkeep: Bits<K>,
        /// It is the last word of the frame.
        tlast: Bit,
        /// With the last word: the frame is bad (FCS).
        tuser: Bit,
    }
}

hdl_bus! {
    /// AXI4-Stream of frames: W data bits, K bytes.
    pub struct Axis<const W: usize, const K: usize> {
        /// A word is offered.
        tvalid: Bit,
        /// It is taken.
        #[back] tready: Bit,
        /// The word; its first byte is in bits 7:0.
        tdata: Bits<W>,
        /// Bytes present, from bit 0 on: all, but in the last word.
        tkeep: Bits<K>,
        /// It is the last word of the frame.
        tlast: Bit,
    }
}
