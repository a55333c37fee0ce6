//! Small memory with a combinational read port.

use super::ram_reg::ram_parameters;
use crate::bus::{RamReadIn, RamWriteIn};
use crate::prelude::*;

hdl_module! {
    /// Small memory in LUTs, one write port and one read port.
    /// The read is combinational: rd_data follows rd_addr in the same clock.
    #[module("ram_async")]
    pub struct AsyncRam<const D: usize, const A: usize> {
        /// Clock of the write port.
        pub clk: Signal<In, Clock>,
        /// Read port: the word comes in the same clock.
        pub rd: RamReadIn<D, A>,
        /// Write port.
        pub wr: RamWriteIn<D, A>,
        _words: Vec<Bits<D>>
    }
}

impl<const D: usize, const A: usize> Logic for AsyncRam<D, A> {
    fn update(&mut self) {
        if self._words.is_empty() {
            self._words = vec![Bits::default(); 1 << A];
        }
        if self.clk.pos_edge() && self.wr.en.val() {
            self._words[self.wr.addr.val().index()] = self.wr.data.val();
        }
        self.rd.data.next = self._words[self.rd.addr.val().index()];
    }

    fn connect(&mut self) {
        self.rd.data.connect();
    }

    fn hdl(&self) -> Verilog {
        Verilog::Custom(
            "\
(* ram_style = \"distributed\" *)
reg [W-1:0] storage [0:(1 << A)-1];

integer i;
initial begin
    for (i = 0; i < (1 << A); i = i + 1) begin
        storage[i] = {W{1'b0}};
    end
end

always @(posedge clk) begin
    if (wr_en) begin
        storage[wr_addr] <= wr_data;
    end
end

assign rd_data = storage[rd_addr];"
                .into(),
        )
    }

    fn timing(&self) -> Vec<TimingInfo> {
        ram_parameters(Self::module_info(), D, A).into_timing()
    }
}
