//! Combinational leading-ones count.

use super::tree::tree;
use crate::prelude::*;

hdl_module! {
    /// Number of ones from bit 0 up to the first zero, 0..=N, found by a tree of log4
    /// depth. Combinational.
    pub struct LeadingOnes<const N: usize, const B: usize> {
        /// Vector to count in.
        pub vector: Signal<In, Bits<N>>,
        /// Ones from bit 0 up.
        pub count: Signal<Out, Bits<B>>,
    }
}

/// Ones from bit 0 up.
pub(super) fn ones<const N: usize, const B: usize>(vector: Bits<N>) -> Bits<B> {
    const {
        assert!(
            N >= 2 && N <= 1024 && B == clog2(N + 1),
            "B must be clog2(N + 1)"
        )
    };
    let count = (0..N).find(|&i| !vector.get_bit(i)).unwrap_or(N);
    (count as u64).into()
}

/// The tree over the zeros of `vector`, and the count as an expression of its results.
pub(super) fn count<const N: usize, const B: usize>(pipelined: bool) -> (String, String) {
    if N.is_power_of_two() {
        let leaves = format!("wire [{}:0] zeros = ~vector;\n\n", N - 1);
        let tree = tree("zeros", B - 1, pipelined);
        let count = format!(
            "{any} ? {{1'd0, {index}}} : {B}'d{N}",
            any = tree.any,
            index = tree.index
        );
        (leaves + &tree.text, count)
    } else {
        // The leaves above the vector count as zeros, so a leaf is always set.
        let pad = (1 << B) - N;
        let leaves = format!(
            "wire [{}:0] zeros = {{{{{pad}{{1'b1}}}}, ~vector}};\n\n",
            (1usize << B) - 1
        );
        let tree = tree("zeros", B, pipelined);
        (leaves + &tree.text, tree.index)
    }
}

impl<const N: usize, const B: usize> Logic for LeadingOnes<N, B> {
    fn update(&mut self) {
        self.count.next = ones(self.vector.val());
    }

    fn connect(&mut self) {
        self.count.connect();
    }

    fn hdl(&self) -> Verilog {
        let (wires, count) = count::<N, B>(false);
        Verilog::Custom(format!(
            "\
{wires}
always @(*) begin
    count = {count};
end"
        ))
    }

    fn timing(&self) -> Vec<TimingInfo> {
        Self::module_info(format!("leading_ones_w{N}")).into_timing()
    }
}
