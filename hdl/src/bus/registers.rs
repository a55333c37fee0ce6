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

hdl_bus! {
    /// Registers in page 0 of BAR0, counters and features that another block than card_regs has: 0 and false if there is none.
    pub struct MoreRegisters {
        /// A word is written, or nothing: which, of its page.
        wr_word: Bits<10>,
        /// With it: what is written.
        wr_data: Bits<32>,
        /// A clock later: it was the whole of a word of page 0, and is written now.
        wr_acts: Bit,
        /// In that clock, whatever wr_acts says: it is a register of that block, and what is written fits its fields.
        #[back] wr_known: Bit,
        /// A word of page 0 is read.
        rd_global: Bit,
        /// Which, of its page.
        rd_word: Bits<10>,
        /// Its value 2 clocks later, 0 if it is not one of that block.
        #[back] rd_data: Bits<32>,
        /// Counter to be read.
        select: Bits<8>,
        /// Take a copy; select is stable from this clock on.
        take: Bit,
        /// The copy 4 clocks later, 0 if it is not one of that block.
        #[back] count: Bits<64>,
        /// Bits of the register features.
        #[back] features: Bits<32>,
    }
}
