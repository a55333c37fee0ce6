//! Binary64 addition as a block of its own (RED-5).

use super::{RedCompare, RedFltAdd};
use crate::prelude::*;

hdl_module! {
    /// Correctly rounded binary64 sum in all four roundings, with subnormals and, if wanted,
    /// flush to zero; one pair a clock, result ten clocks later.
    /// Stages: 1 compare, classify, exponent difference; 2 swap; 3 and 4 align with sticky bit;
    /// 5 add; 6 leading zeros; 7 and 8 normalise; 9 round; 10 choice.
    #[module("red_flt_sum")]
    pub struct RedFltSum {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset; of the valid flags only.
        pub rst: Signal<In, Bit>,
        /// A pair of numbers.
        pub s_valid: Signal<In, Bit>,
        /// Rounding: 0 to nearest even, 1 up, 2 down, 3 to zero.
        pub s_rounding: Signal<In, Bits<2>>,
        /// Flush a subnormal result to zero.
        pub s_ftz: Signal<In, Bit>,
        /// First number.
        pub s_a: Signal<In, Bits<64>>,
        /// Second number.
        pub s_b: Signal<In, Bits<64>>,
        /// A result, ten clocks after its s_valid.
        pub m_valid: Signal<Out, Bit>,
        /// Sum.
        pub m_data: Signal<Out, Bits<64>>,
        /// Result code: 1 inexact, 3 overflow, 4 invalid; the largest that applies.
        pub m_code: Signal<Out, Bits<4>>,

        compare: RedCompare,
        add: RedFltAdd,
        s1_rounding: DFF<Bits<2>>,
        s1_ftz: DFF<Bit>,
        /// Bit i: a pair is in stage i + 1.
        #[reset] valid: DFF<Bits<10>>,
    }
}

impl Logic for RedFltSum {
    #[hdl_gen]
    fn update(&mut self) {
        // Stage 1.
        self.compare.s_a.next = self.s_a.val();
        self.compare.s_b.next = self.s_b.val();
        self.s1_rounding.d.next = self.s_rounding.val();
        self.s1_ftz.d.next = self.s_ftz.val();

        // Stages 2 to 10.
        self.add.s_a.next = self.compare.m_a.val();
        self.add.s_b.next = self.compare.m_b.val();
        self.add.s_lt.next = self.compare.m_lt.val();
        self.add.s_eq.next = self.compare.m_high_eq.val() & self.compare.m_low_eq.val().all();
        self.add.s_ab.next = self.compare.m_ab.val();
        self.add.s_ba.next = self.compare.m_ba.val();
        self.add.s_a_normal.next = self.compare.m_a_normal.val();
        self.add.s_b_normal.next = self.compare.m_b_normal.val();
        self.add.s_a_top.next = self.compare.m_a_top.val();
        self.add.s_b_top.next = self.compare.m_b_top.val();
        self.add.s_a_nan.next = self.compare.m_a_nan.val();
        self.add.s_b_nan.next = self.compare.m_b_nan.val();
        self.add.s_a_zero.next = self.compare.m_a_zero.val();
        self.add.s_rounding.next = self.s1_rounding.q.val();
        self.add.s_ftz.next = self.s1_ftz.q.val();
        self.add.other.next = false;
        self.add.other_data.next = 0.into();
        self.add.other_code.next = 0.into();
        self.add.up_high.next = false;
        self.add.up_low.next = false;
        self.add.high_code.next = 0.into();
        self.add.low_code.next = 0.into();

        self.valid.d.next =
            (self.valid.q.val() << 1) | bit_cast::<10, 1>(self.s_valid.val().into());
        self.m_valid.next = self.valid.q.val().get_bit(9);
        self.m_data.next = self.add.m_data.val();
        self.m_code.next = self.add.m_code.val();
    }
}
