//! Simple dual-port memory.

use crate::bus::{RamReadIn, RamWriteIn};
use crate::prelude::*;

/// Body of a memory of 2^`a` words of `d` bits, `attributes` beside its style.
pub(super) fn body(d: usize, a: usize, attributes: &str) -> String {
    format!(
        "\
(* ram_style = \"{style}\"{attributes} *)
reg [{top}:0] storage [0:{last}];

integer i;
initial begin
    for (i = 0; i < {words}; i = i + 1) begin
        storage[i] = {d}'d0;
    end
end

always @(posedge clk) begin
    if (wr_en) begin
        storage[wr_addr] <= wr_data;
    end
    rd_data <= storage[rd_addr];
end",
        style = if d << a > 2048 {
            "block"
        } else {
            "distributed"
        },
        top = d - 1,
        last = (1usize << a) - 1,
        words = 1usize << a,
    )
}

hdl_module! {
    /// Simple dual-port memory, one write port and one read port, synchronous read.
    /// Reading the address that is written in the same clock returns the old word.
    #[module("ram_sdp_w{D}_d{}", 1usize << A)]
    pub struct SdpRam<const D: usize, const A: usize> {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Read port: the word comes one clock later.
        pub rd: RamReadIn<D, A>,
        /// Write port.
        pub wr: RamWriteIn<D, A>,
        _words: Vec<Bits<D>>
    }
}

impl<const D: usize, const A: usize> Logic for SdpRam<D, A> {
    fn update(&mut self) {
        if self._words.is_empty() {
            self._words = vec![Bits::default(); 1 << A];
        }
        if self.clk.pos_edge() {
            self.rd.data.next = self._words[self.rd.addr.val().index()];
            if self.wr.en.val() {
                self._words[self.wr.addr.val().index()] = self.wr.data.val();
            }
        }
    }

    fn connect(&mut self) {
        self.rd.data.connect();
    }

    fn hdl(&self) -> Verilog {
        Verilog::Custom(body(D, A, ""))
    }

    fn timing(&self) -> Vec<TimingInfo> {
        Self::module_info().into_timing()
    }
}
