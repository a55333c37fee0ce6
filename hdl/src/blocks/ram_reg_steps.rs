//! Simple dual-port memory whose two read registers move on one by one.

use super::ram_reg::{either, ram_parameters};
use crate::bus::RamWriteIn;
use crate::prelude::*;

hdl_module! {
    /// Simple dual-port memory of which reading takes two steps, each with its enable: array_en
    /// takes the word at rd_addr out of the array, rd_en puts the word taken last into rd_data.
    /// A word taken in the very clock in which it is written is undefined. Block RAM as in ram_reg.
    #[module("ram_reg_steps")]
    pub struct RamRegSteps<const D: usize, const A: usize> {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Read address.
        pub rd_addr: Signal<In, Bits<A>>,
        /// Take the word at rd_addr.
        pub array_en: Signal<In, Bit>,
        /// rd_data becomes the word taken last; only together with array_en.
        pub rd_en: Signal<In, Bit>,
        /// The word.
        pub rd_data: Signal<Out, Bits<D>>,
        /// Write port.
        pub wr: RamWriteIn<D, A>,
        _words: Vec<Bits<D>>,
        _array_out: Bits<D>
    }
}

impl<const D: usize, const A: usize> Logic for RamRegSteps<D, A> {
    fn update(&mut self) {
        if self._words.is_empty() {
            self._words = vec![Bits::default(); 1 << A];
        }
        if self.clk.pos_edge() {
            let read = self.rd_addr.val().index();
            if self.rd_en.val() {
                self.rd_data.next = self._array_out;
            }
            if self.array_en.val() {
                self._array_out = self._words[read];
            }
            if self.wr.en.val() {
                let write = self.wr.addr.val().index();
                if write == read && self.array_en.val() {
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
        Verilog::Custom(either(Some("array_en"), Some("rd_en")))
    }

    fn timing(&self) -> Vec<TimingInfo> {
        ram_parameters(Self::module_info(), D, A).into_timing()
    }
}
