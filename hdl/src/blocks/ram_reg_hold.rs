//! Simple dual-port memory with the output register of a block RAM, which keeps its word.

use super::ram_reg::{either, ram_parameters};
use crate::bus::RamWriteIn;
use crate::prelude::*;

hdl_module! {
    /// Simple dual-port memory with an output register that moves on only when rd_en is high.
    /// The word at rd_addr is at the register's input one clock later, and in rd_data one clock after that if rd_en
    /// is high then. A word read in the very clock in which it is written is undefined.
    /// Block RAM as in ram_reg.
    #[module("ram_reg_hold")]
    pub struct RamRegHold<const D: usize, const A: usize> {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Read address.
        pub rd_addr: Signal<In, Bits<A>>,
        /// rd_data becomes the word whose address was given one clock ago.
        pub rd_en: Signal<In, Bit>,
        /// The word.
        pub rd_data: Signal<Out, Bits<D>>,
        /// Write port.
        pub wr: RamWriteIn<D, A>,
        _words: Vec<Bits<D>>,
        _array_out: Bits<D>
    }
}

impl<const D: usize, const A: usize> Logic for RamRegHold<D, A> {
    fn update(&mut self) {
        if self._words.is_empty() {
            self._words = vec![Bits::default(); 1 << A];
        }
        if self.clk.pos_edge() {
            let read = self.rd_addr.val().index();
            if self.rd_en.val() {
                self.rd_data.next = self._array_out;
            }
            self._array_out = self._words[read];
            if self.wr.en.val() {
                let write = self.wr.addr.val().index();
                if write == read {
                    // Undefined in hardware: complemented here.
                    self._array_out = !self._array_out;
                }
                self._words[write] = self.wr.data.val();
            }
        }
    }

    fn connect(&mut self) {
        self.rd_data.connect();
    }

    fn hdl(&self) -> Verilog {
        Verilog::Custom(either(None, Some("rd_en")))
    }

    fn timing(&self) -> Vec<TimingInfo> {
        ram_parameters(Self::module_info(), D, A).into_timing()
    }
}
