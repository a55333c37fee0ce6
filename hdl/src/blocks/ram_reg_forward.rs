//! Simple dual-port memory with an output register, reads see the write of the same clock.

use super::RamReg;
use crate::prelude::*;

hdl_module! {
    /// Simple dual-port memory with an output register and a forward of the word being written.
    /// Latency: rd_data is the word at rd_addr two clocks later, the new word if it was written
    /// in the very clock in which rd_addr was given.
    #[module("ram_reg_forward_w{D}_d{}", 1usize << A)]
    pub struct RamRegForward<const D: usize, const A: usize> {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Read address.
        pub rd_addr: Signal<In, Bits<A>>,
        /// Word at rd_addr, two clocks later.
        pub rd_data: Signal<Out, Bits<D>>,
        /// Write wr_data to wr_addr.
        pub wr_en: Signal<In, Bit>,
        /// Write address.
        pub wr_addr: Signal<In, Bits<A>>,
        /// Word to write.
        pub wr_data: Signal<In, Bits<D>>,
        ram: RamReg<D, A>,
        /// The address read one clock ago, two clocks ago, was written in that clock.
        hit: DFF<Bit>,
        hit_2: DFF<Bit>,
        word: DFF<Bits<D>>,
        word_2: DFF<Bits<D>>,
    }
}

impl<const D: usize, const A: usize> Logic for RamRegForward<D, A> {
    #[hdl_gen]
    fn update(&mut self) {
        self.ram.rd_addr.next = self.rd_addr.val();
        self.ram.wr_en.next = self.wr_en.val();
        self.ram.wr_addr.next = self.wr_addr.val();
        self.ram.wr_data.next = self.wr_data.val();
        self.hit.d.next = self.wr_en.val() & (self.wr_addr.val() == self.rd_addr.val());
        self.word.d.next = self.wr_data.val();
        self.hit_2.d.next = self.hit.q.val();
        self.word_2.d.next = self.word.q.val();
        self.rd_data.next = self.ram.rd_data.val();
        if self.hit_2.q.val() {
            self.rd_data.next = self.word_2.q.val();
        }
    }
}
