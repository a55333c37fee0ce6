//! Banks of signals as one: bits side by side, and a word chosen by a one-hot vector.

use crate::prelude::*;

hdl_module! {
    /// N bits side by side. Combinational.
    pub struct GatherBits<const N: usize> {
        /// Bit i.
        pub s: Bank<Signal<In, Bit>, N>,
        /// The vector.
        pub m: Signal<Out, Bits<N>>,
    }
}

impl<const N: usize> Logic for GatherBits<N> {
    fn update(&mut self) {
        let mut all = Bits::<N>::default();
        for i in 0..N {
            all = all.replace_bit(i, self.s[i].val());
        }
        self.m.next = all;
    }

    fn connect(&mut self) {
        self.m.connect();
    }

    fn hdl(&self) -> Verilog {
        let bits: Vec<String> = (0..N).rev().map(|i| format!("s_{i}")).collect();
        Verilog::Custom(format!("assign m = {{{}}};", bits.join(", ")))
    }

    fn timing(&self) -> Vec<TimingInfo> {
        Self::module_info(format!("gather_n{N}")).into_timing()
    }
}

hdl_module! {
    /// The word of N that a one-hot vector chooses; zero if no bit is set. Combinational.
    pub struct OneHotMux<const D: usize, const N: usize> {
        /// A bit per word, at most one set.
        pub sel: Signal<In, Bits<N>>,
        /// Words.
        pub s: Bank<Signal<In, Bits<D>>, N>,
        /// The chosen one.
        pub m: Signal<Out, Bits<D>>,
    }
}

impl<const D: usize, const N: usize> Logic for OneHotMux<D, N> {
    fn update(&mut self) {
        let mut chosen = Bits::<D>::default();
        for i in 0..N {
            if self.sel.val().get_bit(i) {
                chosen = chosen | self.s[i].val();
            }
        }
        self.m.next = chosen;
    }

    fn connect(&mut self) {
        self.m.connect();
    }

    fn hdl(&self) -> Verilog {
        let words: Vec<String> = (0..N)
            .map(|i| format!("(s_{i} & {{{D}{{sel[{i}]}}}})"))
            .collect();
        Verilog::Custom(format!("assign m = {};", words.join("\n    | ")))
    }

    fn timing(&self) -> Vec<TimingInfo> {
        Self::module_info(format!("mux_one_hot_w{D}_n{N}")).into_timing()
    }
}
