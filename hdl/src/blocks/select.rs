//! One word of several, chosen a clock before.

use crate::prelude::*;

hdl_module! {
    /// The word of N that a one-hot vector chose; zero if no bit was set. Words are registered in two parts, those
    /// of the first and of the second half of the N, so that they pass one LUT where N is 4; the output joins them.
    /// Latency: 2 clocks from sel, 1 from s.
    /// Each half of a word has a copy of sel. They begin with different values, or synthesis would merge them.
    #[module("chosen_word_w{D}_n{N}")]
    pub struct ChosenWord<const D: usize, const N: usize> {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// A bit per word, at most one set; a clock before the words.
        pub sel: Signal<In, Bits<N>>,
        /// Words.
        pub s: Bank<Signal<In, Bits<D>>, N>,
        /// The chosen one.
        pub m: Signal<Out, Bits<D>>,
        _sel: Option<Bits<N>>
    }
}

impl<const D: usize, const N: usize> Logic for ChosenWord<D, N> {
    fn update(&mut self) {
        const { assert!(N.is_multiple_of(2) && D.is_multiple_of(2)) };
        if self.clk.pos_edge() {
            let none = Bits::<N>::default();
            let (low, high) = self._sel.map_or((none, !none), |sel| (sel, sel));
            let mut chosen = Bits::<D>::default();
            for bit in 0..D {
                let sel = if bit < D / 2 { low } else { high };
                let set = (0..N).any(|i| sel.get_bit(i) && self.s[i].val().get_bit(bit));
                chosen = chosen.replace_bit(bit, set);
            }
            self.m.next = chosen;
            self._sel = Some(self.sel.val());
        }
    }

    fn connect(&mut self) {
        self.m.connect();
    }

    fn hdl(&self) -> Verilog {
        let half = D / 2;
        let part = |range: std::ops::Range<usize>, sel: &str, bits: &str| {
            let words: Vec<String> = range
                .map(|i| format!("(s_{i}{bits} & {{{half}{{{sel}[{i}]}}}})"))
                .collect();
            words.join("\n        | ")
        };
        let (lower, upper) = (format!("[{}:0]", half - 1), format!("[{}:{half}]", D - 1));
        Verilog::Custom(format!(
            "\
// Copies of sel for the lower and the upper half of the words.
reg [{last}:0] low;
reg [{last}:0] high;
// The word, if it is of the first half of the N, of the second.
reg [{top}:0] first;
reg [{top}:0] second;

initial begin
    low = {{{N}{{1'b0}}}};
    high = {{{N}{{1'b1}}}};
    first = {D}'d0;
    second = {D}'d0;
end

always @(posedge clk) begin
    low <= sel;
    high <= sel;
    first{lower} <= {a};
    first{upper} <= {b};
    second{lower} <= {c};
    second{upper} <= {d};
end

assign m = first | second;",
            last = N - 1,
            top = D - 1,
            a = part(0..N / 2, "low", &lower),
            b = part(0..N / 2, "high", &upper),
            c = part(N / 2..N, "low", &lower),
            d = part(N / 2..N, "high", &upper),
        ))
    }

    fn timing(&self) -> Vec<TimingInfo> {
        Self::module_info().into_timing()
    }
}
