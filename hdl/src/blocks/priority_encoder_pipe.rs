//! Pipelined priority encoder for wide vectors.

use super::priority_encoder::{leaves, lowest};
use super::tree::tree;
use crate::prelude::*;

hdl_module! {
    /// Index of the lowest set bit of a wide vector, found by a pipelined tree.
    /// Latency: 2 clocks, one vector per clock. Stage 1 registers the groups half way
    /// up the tree, stage 2 the result. The index is all ones where no bit is set.
    #[module("priority_encoder_pipe_w{N}")]
    pub struct PriorityEncoderPipe<const N: usize, const B: usize> {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Vector to search; bit 0 has the highest priority.
        pub req: Signal<In, Bits<N>>,
        /// Index of the lowest set bit, two clocks later.
        pub index: Signal<Out, Bits<B>>,
        /// No bit is set, two clocks later.
        pub none: Signal<Out, Bit>,
        _stage: (Bits<B>, bool),
    }
}

impl<const N: usize, const B: usize> Logic for PriorityEncoderPipe<N, B> {
    fn update(&mut self) {
        const { assert!(N >= 16, "a pipelined tree has at least 16 leaves") };
        if self.clk.pos_edge() {
            (self.index.next, self.none.next) = self._stage;
            self._stage = lowest(self.req.val());
        }
    }

    fn connect(&mut self) {
        self.index.connect();
        self.none.connect();
    }

    fn hdl(&self) -> Verilog {
        let (pad, leaves) = leaves::<N, B>();
        let tree = tree(leaves, B, true);
        Verilog::Custom(format!(
            "\
{pad}{wires}
// Stage 2.
initial begin
    index = {B}'d0;
    none = 1'd0;
end

always @(posedge clk) begin
    index <= {index};
    none <= ~{any};
end",
            wires = tree.text,
            index = tree.index,
            any = tree.any,
        ))
    }

    fn timing(&self) -> Vec<TimingInfo> {
        Self::module_info().into_timing()
    }
}
