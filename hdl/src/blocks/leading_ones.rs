//! Combinational leading-ones count.

use super::tree::tree;
use crate::prelude::*;

hdl_module! {
    /// Number of ones from bit 0 up to the first zero, 0..=N, found by a tree of log4
    /// depth. Combinational.
    #[module("leading_ones_w{N}")]
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
    let bits = clog2(N);
    let leaves = 1usize << bits;
    let zeros = match leaves - N {
        0 => "~vector".to_owned(),
        pad => format!("{{{pad}'d0, ~vector}}"),
    };
    let tree = tree("zeros", bits, pipelined);
    let index = match B - bits {
        0 => tree.index,
        pad => format!("{{{pad}'d0, {}}}", tree.index),
    };
    (
        format!("wire [{}:0] zeros = {zeros};\n\n{}", leaves - 1, tree.text),
        format!("{} ? {index} : {B}'d{N}", tree.any),
    )
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
        Self::module_info().into_timing()
    }
}
