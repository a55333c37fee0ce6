//! Finding the next hole for the accept pipeline.

use crate::blocks::mux_tree;
use crate::prelude::*;

hdl_module! {
    /// Index of the lowest set bit of one of two vectors, chosen one clock later.
    /// The vectors are searched in groups of eight and the results are registered; a clock
    /// later use_updated chooses the vector and a tree over the groups finds the lowest.
    pub struct LateChoiceEncoder<const N: usize, const LN: usize> {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Vector to search; bit 0 has the highest priority.
        pub plain: Signal<In, Bits<N>>,
        /// The other vector.
        pub updated: Signal<In, Bits<N>>,
        /// The result is wanted for the other vector of the clock before.
        pub use_updated: Signal<In, Bit>,
        /// Index of the lowest set bit; any value if there is none.
        pub index: Signal<Out, Bits<LN>>,
        _plain: Bits<N>,
        _updated: Bits<N>,
    }
}

impl<const N: usize, const LN: usize> Logic for LateChoiceEncoder<N, LN> {
    fn update(&mut self) {
        const {
            assert!(
                N >= 32 && N == 1 << LN,
                "N must be a power of two, four groups or more"
            )
        };
        if self.clk.pos_edge() {
            self._plain = self.plain.val();
            self._updated = self.updated.val();
        }
        let searched = if self.use_updated.val() {
            self._updated
        } else {
            self._plain
        };
        let lowest = (0..N).find(|&i| searched.get_bit(i));
        self.index.next = match lowest {
            Some(i) => (i as u64).into(),
            None => Bits::mask(),
        };
    }

    fn connect(&mut self) {
        self.index.connect();
    }

    fn hdl(&self) -> Verilog {
        let groups = N / 8;
        let last = groups - 1;
        let bits = LN - 3;
        // Bit k of the lowest group: the tree of "nothing in the lower half" choices.
        let any = |low: usize, n: usize| {
            (low..low + n)
                .map(|g| format!("any[{g}]"))
                .collect::<Vec<_>>()
                .join(" | ")
        };
        let group: String = (0..bits)
            .rev()
            .map(|k| {
                // Lowest group first: the first set group decides.
                let mut text = "1'b1".to_owned();
                let span = 1 << k;
                for start in (0..groups).step_by(span).rev().skip(1) {
                    let value = (start >> k) & 1;
                    text = format!("({}) ? 1'b{value} : {text}", any(start, span));
                }
                format!("    group[{k}] = {text};\n")
            })
            .collect();
        let planes: String = (0..3)
            .rev()
            .map(|k| {
                let leaf = |g: usize| format!("at_{k}[{g}]");
                format!("    index[{k}] = {};\n", mux_tree("group", bits, 0, &leaf))
            })
            .collect();
        Verilog::Custom(format!(
            "\
// In each group of eight: whether a bit is set, and the index of the lowest.
reg [{last}:0] plain_any, plain_at_2, plain_at_1, plain_at_0;
reg [{last}:0] updated_any, updated_at_2, updated_at_1, updated_at_0;

genvar g;
generate
    for (g = 0; g < {groups}; g = g + 1) begin : octet
        wire [7:0] a = plain[8 * g +: 8];
        wire [7:0] b = updated[8 * g +: 8];
        wire a_low = |a[3:0];
        wire b_low = |b[3:0];

        always @(posedge clk) begin
            plain_any[g] <= |a;
            plain_at_2[g] <= ~a_low;
            plain_at_1[g] <= a_low ? ~(a[0] | a[1]) : ~(a[4] | a[5]);
            plain_at_0[g] <= a_low ? ~a[0] & (a[1] | ~a[2]) : ~a[4] & (a[5] | ~a[6]);
            updated_any[g] <= |b;
            updated_at_2[g] <= ~b_low;
            updated_at_1[g] <= b_low ? ~(b[0] | b[1]) : ~(b[4] | b[5]);
            updated_at_0[g] <= b_low ? ~b[0] & (b[1] | ~b[2]) : ~b[4] & (b[5] | ~b[6]);
        end
    end
endgenerate

// The choice, and the lowest group.
reg [{last}:0] any, at_2, at_1, at_0;
reg [{top}:0] group;

// The last group is the lowest if no other is, whatever it has.
wire _unused = &{{1'b0, any[{last}]}};

always @(*) begin
    any = use_updated ? updated_any : plain_any;
    at_2 = use_updated ? updated_at_2 : plain_at_2;
    at_1 = use_updated ? updated_at_1 : plain_at_1;
    at_0 = use_updated ? updated_at_0 : plain_at_0;
{group}{planes}    index[{LN1}:3] = group;
end",
            top = bits - 1,
            LN1 = LN - 1,
        ))
    }

    fn timing(&self) -> Vec<TimingInfo> {
        Self::module_info(format!("late_choice_encoder_w{N}")).into_timing()
    }
}
