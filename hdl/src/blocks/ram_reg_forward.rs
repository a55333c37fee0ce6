//! Simple dual-port memory with an output register, reads see the write of the same clock.

use super::RamReg;
use crate::bus::{RamReadIn, RamWriteIn};
use crate::prelude::*;

hdl_module! {
    /// Simple dual-port memory with an output register and a forward of the word being written.
    /// Latency: rd_data is the word at rd_addr two clocks later, the new word if it was written
    /// in the very clock in which rd_addr was given.
    #[module("ram_reg_forward_w{D}_d{}", 1usize << A)]
    pub struct RamRegForward<const D: usize, const A: usize> {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Read port: the word comes two clocks later.
        pub rd: RamReadIn<D, A>,
        /// Write port.
        pub wr: RamWriteIn<D, A>,
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
        self.ram.rd.addr.next = self.rd.addr.val();
        RamWriteIn::<D, A>::link(&mut self.wr, &mut self.ram.wr);
        self.hit.d.next = self.wr.en.val() & (self.wr.addr.val() == self.rd.addr.val());
        self.word.d.next = self.wr.data.val();
        self.hit_2.d.next = self.hit.q.val();
        self.word_2.d.next = self.word.q.val();
        self.rd.data.next = self.ram.rd.data.val();
        if self.hit_2.q.val() {
            self.rd.data.next = self.word_2.q.val();
        }
    }
}
