//! Combinational priority encoder.

use super::tree::tree;
use crate::prelude::*;

hdl_module! {
    /// Index of the lowest set bit of a vector, found by a tree of log4 depth.
    /// Combinational. The index is all ones where no bit is set.
    #[module("priority_encoder_w{N}")]
    pub struct PriorityEncoder<const N: usize, const B: usize> {
        /// Vector to search; bit 0 has the highest priority.
        pub req: Signal<In, Bits<N>>,
        /// Index of the lowest set bit.
        pub index: Signal<Out, Bits<B>>,
        /// No bit is set.
        pub none: Signal<Out, Bit>,
    }
}

/// Index of the lowest set bit; all ones if there is none.
pub(super) fn lowest<const N: usize, const B: usize>(req: Bits<N>) -> (Bits<B>, bool) {
    const { assert!(N >= 2 && N <= 1024 && B == clog2(N), "B must be clog2(N)") };
    match (0..N).find(|&i| req.get_bit(i)) {
        Some(i) => ((i as u64).into(), false),
        None => (Bits::mask(), true),
    }
}

/// The vector `req`, extended with zeros to a power of two, as the tree's leaves.
pub(super) fn leaves<const N: usize, const B: usize>() -> (String, &'static str) {
    match (1 << B) - N {
        0 => (String::new(), "req"),
        pad => (
            format!(
                "wire [{}:0] leaves = {{{pad}'d0, req}};\n\n",
                (1usize << B) - 1
            ),
            "leaves",
        ),
    }
}

impl<const N: usize, const B: usize> Logic for PriorityEncoder<N, B> {
    fn update(&mut self) {
        (self.index.next, self.none.next) = lowest(self.req.val());
    }

    fn connect(&mut self) {
        self.index.connect();
        self.none.connect();
    }

    fn hdl(&self) -> Verilog {
        let (pad, leaves) = leaves::<N, B>();
        let tree = tree(leaves, B, false);
        Verilog::Custom(format!(
            "\
{pad}{wires}
always @(*) begin
    index = {index};
    none = ~{any};
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
