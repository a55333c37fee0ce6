//! The lowest bits of a vector that are set.

use crate::prelude::*;

/// How many are kept.
const MOST: usize = 15;

hdl_module! {
    /// The lowest 15 bits of N that are set, or all if there are no more. Combinational.
    #[module("lowest_15_n{N}")]
    pub struct LowestBits<const N: usize> {
        /// Vector.
        pub s: Signal<In, Bits<N>>,
        /// The same without what is above the fifteenth bit that is set.
        pub m: Signal<Out, Bits<N>>,
    }
}

impl<const N: usize> Logic for LowestBits<N> {
    fn update(&mut self) {
        let s = self.s.val();
        let mut left = MOST;
        let mut m = Bits::<N>::default();
        for i in (0..N).filter(|&i| s.get_bit(i)) {
            m = m.replace_bit(i, left > 0);
            left = left.saturating_sub(1);
        }
        self.m.next = m;
    }

    fn connect(&mut self) {
        self.m.connect();
    }

    fn hdl(&self) -> Verilog {
        if N <= MOST {
            return Verilog::Custom("assign m = s;".to_owned());
        }
        // Bits below each group of eight, counted once; below each bit, from there.
        let width = clog2(N + 1);
        let count = |range: std::ops::Range<usize>| {
            let zeros = width - 1;
            range
                .map(|i| format!("{{{zeros}'d0, s[{i}]}}"))
                .collect::<Vec<_>>()
        };
        let mut text = format!("assign m[{}:0] = s[{}:0];\n", MOST - 1, MOST - 1);
        for group in (0..N.div_ceil(8)).filter(|group| 8 * group + 8 > MOST) {
            let from = 8 * group;
            text += &format!(
                "wire [{}:0] below_{group} = {};\n",
                width - 1,
                count(0..from).join(" + ")
            );
            for i in (from.max(MOST))..N.min(from + 8) {
                let mut terms = vec![format!("below_{group}")];
                terms.extend(count(from..i));
                text += &format!(
                    "assign m[{i}] = s[{i}] & (({}) < {width}'d{MOST});\n",
                    terms.join(" + ")
                );
            }
        }
        Verilog::Custom(text.trim_end().to_owned())
    }

    fn timing(&self) -> Vec<TimingInfo> {
        Self::module_info().into_timing()
    }
}
