//! Simple dual-port memory without a rule for collisions.

use super::ram::body;
use crate::bus::{RamReadIn, RamWriteIn};
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
        /// Read port: the word comes one clock later.
        pub rd: RamReadIn<D, A>,
        /// Write port.
        pub wr: RamWriteIn<D, A>,
        _words: Vec<Bits<D>>
    }
}

impl<const D: usize, const A: usize> Logic for RamPlain<D, A> {
    fn update(&mut self) {
        if self._words.is_empty() {
            self._words = vec![Bits::default(); 1 << A];
        }
        if self.clk.pos_edge() {
            let read = self.rd.addr.val().index();
            self.rd.data.next = self._words[read];
            if self.wr.en.val() {
                let write = self.wr.addr.val().index();
                if write == read {
                    // Undefined in hardware: complemented here, so that a missing forward shows.
                    self.rd.data.next = !self._words[read];
                }
                self._words[write] = self.wr.data.val();
            }
        }
    }

    fn connect(&mut self) {
        self.rd.data.connect();
    }

    fn hdl(&self) -> Verilog {
        Verilog::Custom(body(D, A, ", no_rw_check"))
    }

    fn timing(&self) -> Vec<TimingInfo> {
        Self::module_info().into_timing()
    }
}
