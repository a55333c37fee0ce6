//! Words of frames as they cross between clocks.

use crate::prelude::*;

hdl_record! {
    /// A word of a frame to send.
    pub struct MacWord {
        /// The bytes, first one in bits 7:0.
        data: Bits<64>,
        /// Bytes in it, less one.
        more: Bits<3>,
        /// It is the last word of its frame.
        last: Bit,
    }
}

hdl_record! {
    /// A word of a frame that has come.
    pub struct MacWordBad {
        /// The bytes, first one in bits 7:0.
        data: Bits<64>,
        /// Bytes in it, less one.
        more: Bits<3>,
        /// It is the last word of its frame.
        last: Bit,
        /// With the last word: the frame is bad.
        bad: Bit,
    }
}
