//! Small memory with a combinational read port.

use super::ram_reg::ram_parameters;
use crate::prelude::*;

hdl_module! {
    /// Small memory in LUTs, one write port and one read port.
    /// The read is combinational: rd_data follows rd_addr in the same clock.
    #[module("ram_async")]
    pub struct AsyncRam<const D: usize, const A: usize> {
        /// Clock of the write port.
        pub clk: Signal<In, Clock>,
        /// Read address.
        pub rd_addr: Signal<In, Bits<A>>,
        /// Word at rd_addr, in the same clock.
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

impl<const D: usize, const A: usize> Logic for AsyncRam<D, A> {
    fn update(&mut self) {
        if self._words.is_empty() {
            self._words = vec![Bits::default(); 1 << A];
        }
        if self.clk.pos_edge() && self.wr_en.val() {
            self._words[self.wr_addr.val().index()] = self.wr_data.val();
        }
        self.rd_data.next = self._words[self.rd_addr.val().index()];
    }

    fn connect(&mut self) {
        self.rd_data.connect();
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
