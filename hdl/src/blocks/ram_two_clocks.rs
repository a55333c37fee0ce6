//! Memory that is written with one clock and read with another.

use super::ram_reg::ram_parameters;
use crate::bus::{RamReadIn, RamWriteIn};
use crate::prelude::*;

hdl_module! {
    /// Memory with a write port and a read port of another clock. A word must not be read while it is written.
    /// Latency: 1 clock of the read port; the word stays while rd_en is low.
    #[module("ram_two_clocks")]
    pub struct RamTwoClocks<const D: usize, const A: usize> {
        /// Clock of the write port.
        pub wr_clk: Signal<In, Clock>,
        /// Clock of the read port.
        pub rd_clk: Signal<In, Clock>,
        /// The read port reads.
        pub rd_en: Signal<In, Bit>,
        /// Read port.
        pub rd: RamReadIn<D, A>,
        /// Write port.
        pub wr: RamWriteIn<D, A>,
        _words: Vec<Bits<D>>
    }
}

impl<const D: usize, const A: usize> Logic for RamTwoClocks<D, A> {
    fn update(&mut self) {
        if self._words.is_empty() {
            self._words = vec![Bits::default(); 1 << A];
        }
        if self.rd_clk.pos_edge() && self.rd_en.val() {
            self.rd.data.next = self._words[self.rd.addr.val().index()];
        }
        if self.wr_clk.pos_edge() && self.wr.en.val() {
            self._words[self.wr.addr.val().index()] = self.wr.data.val();
        }
    }

    fn connect(&mut self) {
        self.rd.data.connect();
    }

    fn hdl(&self) -> Verilog {
        Verilog::Custom(
            "\
(* ram_style = \"block\" *)
reg [W-1:0] storage [0:(1 << A)-1];

integer i;
initial begin
    for (i = 0; i < (1 << A); i = i + 1) begin
        storage[i] = {W{1'b0}};
    end
end

always @(posedge wr_clk) begin
    if (wr_en) begin
        storage[wr_addr] <= wr_data;
    end
end

always @(posedge rd_clk) begin
    if (rd_en) begin
        rd_data <= storage[rd_addr];
    end
end"
            .into(),
        )
    }

    fn timing(&self) -> Vec<TimingInfo> {
        ram_parameters(Self::module_info(), D, A).into_timing()
    }
}
