//! The bits of a word in the other order.

use crate::prelude::*;

hdl_module! {
    /// The bits of a word in the other order: the lowest one of m is the highest one of s. Wires only.
    #[module("reverse_w{N}")]
    pub struct Reverse<const N: usize> {
        /// The word.
        pub s: Signal<In, Bits<N>>,
        /// Its bits, the highest first.
        pub m: Signal<Out, Bits<N>>,
    }
}

impl<const N: usize> Logic for Reverse<N> {
    fn update(&mut self) {
        let word = self.s.val();
        let mut turned = Bits::<N>::default();
        for i in 0..N {
            turned = turned.replace_bit(N - 1 - i, word.get_bit(i));
        }
        self.m.next = turned;
    }

    fn connect(&mut self) {
        self.m.connect();
    }

    fn hdl(&self) -> Verilog {
        Verilog::Custom(format!(
            "\
integer i;

always @(*) begin
    for (i = 0; i < {N}; i = i + 1) begin
        m[i] = s[{last} - i];
    end
end",
            last = N - 1
        ))
    }

    fn timing(&self) -> Vec<TimingInfo> {
        Self::module_info().into_timing()
    }
}
