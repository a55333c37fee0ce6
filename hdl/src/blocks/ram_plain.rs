//! Simple dual-port memory without a rule for collisions.

use super::ram::body;
use crate::prelude::*;

hdl_module! {
    /// Simple dual-port memory, one write port and one read port, synchronous read.
    /// A word read in the clock in which it is written is undefined: whoever may do
    /// that must forward it. This is what block RAMs do by themselves; any rule costs
    /// a comparator and a multiplexer behind the slow output of the RAM.
    #[module("ram_plain_w{D}_d{}", 1usize << A)]
    pub struct RamPlain<const D: usize, const A: usize> {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Read address.
        pub rd_addr: Signal<In, Bits<A>>,
        /// Word at rd_addr, one clock later.
        pub rd_data: Signal<Out, Bits<D>>,
        /// Write wr_data to wr_addr.
        pub wr_en: Signal<In, Bit>,
        /// Write address.
        pub wr_addr: Signal<In, Bits<A>>,
        /// Word to write.
        pub wr_data: Signal<In, Bits<D>>,
        _words: Vec<Bits<D>>
    }
}

impl<const D: usize, const A: usize> Logic for RamPlain<D, A> {
    fn update(&mut self) {
        if self._words.is_empty() {
            self._words = vec![Bits::default(); 1 << A];
        }
        if self.clk.pos_edge() {
            let read = self.rd_addr.val().index();
            self.rd_data.next = self._words[read];
            if self.wr_en.val() {
                let write = self.wr_addr.val().index();
                if write == read {
                    // Undefined in hardware: complemented here, so that a missing forward shows.
                    self.rd_data.next = !self._words[read];
                }
                self._words[write] = self.wr_data.val();
            }
        }
    }

    fn connect(&mut self) {
        self.rd_data.connect();
    }

    fn hdl(&self) -> Verilog {
        Verilog::Custom(body(D, A, ", no_rw_check"))
    }

    fn timing(&self) -> Vec<TimingInfo> {
        Self::module_info().into_timing()
    }
}
