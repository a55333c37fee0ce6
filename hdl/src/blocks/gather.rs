//! Banks of signals as one: bits side by side, and what a one-hot vector chooses.

use crate::prelude::*;

hdl_module! {
    /// N bits side by side. Combinational.
    #[module("gather_n{N}")]
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
        Self::module_info().into_timing()
    }
}

hdl_module! {
    /// The word of N that a one-hot vector chooses; zero if no bit is set. Combinational.
    #[module("mux_one_hot_w{D}_n{N}")]
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
        Self::module_info().into_timing()
    }
}

hdl_module! {
    /// Number of the bit that is set in a one-hot vector; zero if none is. Combinational, no priority.
    #[module("index_one_hot_n{N}")]
    pub struct OneHotIndex<const N: usize, const B: usize> {
        /// At most one bit set.
        pub s: Signal<In, Bits<N>>,
        /// Its number.
        pub m: Signal<Out, Bits<B>>,
    }
}

impl<const N: usize, const B: usize> Logic for OneHotIndex<N, B> {
    fn update(&mut self) {
        let set = (0..N).filter(|&i| self.s.val().get_bit(i));
        self.m.next = set
            .map(|i| Bits::<B>::from(i as u64))
            .fold(Bits::<B>::default(), |all, i| all | i);
    }

    fn connect(&mut self) {
        self.m.connect();
    }

    fn hdl(&self) -> Verilog {
        let rows = (0..B).map(|bit| {
            let mask: String = (0..N)
                .rev()
                .map(|i| if i >> bit & 1 == 1 { '1' } else { '0' })
                .collect();
            // A port of one bit has no range.
            let place = if B == 1 {
                String::new()
            } else {
                format!("[{bit}]")
            };
            format!("assign m{place} = |(s & {N}'b{mask});")
        });
        Verilog::Custom(rows.collect::<Vec<_>>().join("\n"))
    }

    fn timing(&self) -> Vec<TimingInfo> {
        Self::module_info().into_timing()
    }
}
