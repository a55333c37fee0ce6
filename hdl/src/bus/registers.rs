//! Registers of the card.

use crate::prelude::*;

hdl_bus! {
    /// Registers of the card, a word at a time.
    pub struct Registers {
        /// A word is written.
        wr_valid: Bit,
        /// Its offset in words.
        wr_addr: Bits<22>,
        /// The word.
        wr_data: Bits<32>,
        /// Its bytes that are to be written.
        wr_strb: Bits<4>,
        /// A word is read; one at a time.
        rd_valid: Bit,
        /// Its offset in words.
        rd_addr: Bits<22>,
        /// The answer to a read; pulse.
        #[back] rd_done: Bit,
        /// The word that was read.
        #[back] rd_data: Bits<32>,
    }
}
