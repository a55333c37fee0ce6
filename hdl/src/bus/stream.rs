//! Words and frames of words.

use crate::prelude::*;

hdl_bus! {
    /// Words of W bits with a handshake.
    pub struct Stream<const W: usize> {
        /// A word is offered.
        valid: Bit,
        /// It is taken.
        #[back] ready: Bit,
        /// The word.
        data: Bits<W>,
    }
}

hdl_record! {
    /// A word of a frame.
    pub struct FrameWord<const W: usize> {
        /// The word.
        data: Bits<W>,
        /// It is the last word of its frame.
        last: Bit,
    }
}

hdl_bus! {
    /// Frames of words of W bits.
    pub struct Frames<const W: usize> {
        /// A word is offered.
        valid: Bit,
        /// It is taken.
        #[back] ready: Bit,
        /// A word of a frame.
        of: FrameWord<W>,
    }
}
