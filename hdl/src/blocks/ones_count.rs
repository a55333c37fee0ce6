//! How many bits of a vector are set.

use crate::prelude::*;

hdl_module! {
    /// How many of N bits are set, in W bits; registered.
    /// Latency: 2 clocks.
    #[module("ones_count_n{N}")]
    pub struct OnesCount<const N: usize, const W: usize> {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// The vector.
        pub s: Signal<In, Bits<N>>,
        /// Bits set, two clocks later.
        pub m: Signal<Out, Bits<W>>,
        _taken: Bits<N>,
    }
}

impl<const N: usize, const W: usize> Logic for OnesCount<N, W> {
    fn update(&mut self) {
        if self.clk.pos_edge() {
            let set = (0..N).filter(|&i| self._taken.get_bit(i)).count();
            self.m.next = (set as u64).into();
            self._taken = self.s.val();
        }
    }

    fn connect(&mut self) {
        self.m.connect();
    }

    fn hdl(&self) -> Verilog {
        let pad = W - 1;
        let terms: Vec<String> = (0..N)
            .map(|i| format!("{{{pad}'d0, taken[{i}]}}"))
            .collect();
        Verilog::Custom(format!(
            "\
reg [{last}:0] taken;

initial begin
    taken = {N}'d0;
    m = {W}'d0;
end

always @(posedge clk) begin
    taken <= s;
    m <= {sum};
end",
            last = N - 1,
            sum = terms.join("\n        + ")
        ))
    }

    fn timing(&self) -> Vec<TimingInfo> {
        Self::module_info().into_timing()
    }
}
