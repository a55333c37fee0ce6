//! Simple dual-port memory.

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

impl<const D: usize, const A: usize> Logic for SdpRam<D, A> {
    fn update(&mut self) {
        if self._words.is_empty() {
            self._words = vec![Bits::default(); 1 << A];
        }
        if self.clk.pos_edge() {
            self.rd_data.next = self._words[self.rd_addr.val().index()];
            if self.wr_en.val() {
                self._words[self.wr_addr.val().index()] = self.wr_data.val();
            }
        }
    }

    fn connect(&mut self) {
        self.rd_data.connect();
    }

    fn hdl(&self) -> Verilog {
        Verilog::Custom(body(D, A, ""))
    }

    fn timing(&self) -> Vec<TimingInfo> {
        Self::module_info().into_timing()
    }
}
