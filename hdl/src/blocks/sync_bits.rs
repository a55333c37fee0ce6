//! Two flip-flops between clocks.

use crate::prelude::*;

hdl_module! {
    /// Bits from another clock through two flip-flops. Of several bits only one may change at a time (Gray code), or they
    /// are to be constant when they are used.
    /// Latency: 2 clocks, or 1 more.
    #[module("sync_bits")]
    pub struct SyncBits<const W: usize> {
        /// Clock of q.
        pub clk: Signal<In, Clock>,
        /// Bits of another clock, straight from registers.
        pub d: Signal<In, Bits<W>>,
        /// The bits.
        pub q: Signal<Out, Bits<W>>,
        _first: Vec<Bits<W>>
    }
}

impl<const W: usize> Logic for SyncBits<W> {
    fn update(&mut self) {
        if self._first.is_empty() {
            self._first = vec![Bits::default(); 2];
        }
        if self.clk.pos_edge() {
            self._first = vec![self.d.val(), self._first[0]];
        }
        self.q.next = self._first[1];
    }

    fn connect(&mut self) {
        self.q.connect();
    }

    fn hdl(&self) -> Verilog {
        Verilog::Custom(
            "\
(* ASYNC_REG = \"TRUE\" *)
reg [W-1:0] first;
(* ASYNC_REG = \"TRUE\" *)
reg [W-1:0] second;

initial begin
    first = {W{1'b0}};
    second = {W{1'b0}};
end

always @(posedge clk) begin
    first <= d;
    second <= first;
end

assign q = second;"
                .into(),
        )
    }

    fn timing(&self) -> Vec<TimingInfo> {
        Self::module_info()
            .parameter("W", W, "bits", &["d", "q"])
            .into_timing()
    }
}
