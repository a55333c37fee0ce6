//! Pipelined leading-ones count for wide vectors.

use super::leading_ones::{count, ones};
use crate::prelude::*;

hdl_module! {
    /// Number of ones from bit 0 up to the first zero of a wide vector, 0..=N.
    /// Latency: 2 clocks, one vector per clock. Stage 1 registers the groups half way
    /// up the tree, stage 2 the count.
    #[module("leading_ones_pipe_w{N}")]
    pub struct LeadingOnesPipe<const N: usize, const B: usize> {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Vector to count in.
        pub vector: Signal<In, Bits<N>>,
        /// Ones from bit 0 up, two clocks later.
        pub count: Signal<Out, Bits<B>>,
        _stage: Bits<B>,
    }
}

impl<const N: usize, const B: usize> Logic for LeadingOnesPipe<N, B> {
    fn update(&mut self) {
        const { assert!(N >= 16, "a pipelined tree has at least 16 leaves") };
        if self.clk.pos_edge() {
            self.count.next = self._stage;
            self._stage = ones(self.vector.val());
        }
    }

    fn connect(&mut self) {
        self.count.connect();
    }

    fn hdl(&self) -> Verilog {
        let (wires, count) = count::<N, B>(true);
        Verilog::Custom(format!(
            "\
{wires}
// Stage 2.
initial begin
    count = {B}'d0;
end

always @(posedge clk) begin
    count <= {count};
end"
        ))
    }

    fn timing(&self) -> Vec<TimingInfo> {
        Self::module_info().into_timing()
    }
}
