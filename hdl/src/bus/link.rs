//! Units of the link of TLPs in frames.

use crate::prelude::*;

hdl_bus! {
    /// Units for the other end.
    pub struct LinkOffer {
        /// A word is offered.
        valid: Bit,
        /// It is taken.
        #[back] ready: Bit,
        /// The word; its first byte is in bits 7:0.
        data: Bits<64>,
        /// With the first word: the unit is settings, not a TLP.
        settings: Bit,
        /// With the first word: words of the unit.
        words: Bits<12>,
    }
}

hdl_bus! {
    /// Units from the other end.
    pub struct LinkUnit {
        /// A word is offered.
        valid: Bit,
        /// It is taken.
        #[back] ready: Bit,
        /// The word; its first byte is in bits 7:0.
        data: Bits<64>,
        /// The unit is settings, not a TLP.
        settings: Bit,
        /// It is the last word of its unit.
        last: Bit,
    }
}
