//! Ports of memories.

use crate::prelude::*;

hdl_bus! {
    /// Write port of a memory: 2^A words of D bits.
    pub struct RamWrite<const D: usize, const A: usize> {
        /// The word is written.
        en: Bit,
        /// Write address.
        addr: Bits<A>,
        /// The word to write.
        data: Bits<D>,
    }
}

hdl_bus! {
    /// Read port of a memory: 2^A words of D bits; the memory says how late the word comes.
    pub struct RamRead<const D: usize, const A: usize> {
        /// Read address.
        addr: Bits<A>,
        /// The word that was read.
        #[back] data: Bits<D>,
    }
}
