//! Binary64 addition behind the comparison of its operands (RED-5).

use super::{RedFltAlign, RedFltControl, RedFltNormalise, RedFltRound};
use crate::prelude::*;
use tributary_protocol::red::ops::BINARY64;

hdl_module! {
    /// Adds two compared binary64 numbers, or lets another word through, one a clock.
    /// Stages: 1 swap, special operands; 2 and 3 align; 4 add; 5 leading zeros, overflow;
    /// 6 and 7 normalise; 8 round; 9 choice. Data are not reset.
    #[module("red_flt_add")]
    pub struct RedFltAdd {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// First number.
        pub s_a: Signal<In, Bits<64>>,
        /// Second number.
        pub s_b: Signal<In, Bits<64>>,
        /// The magnitude of the first is below that of the second.
        pub s_lt: Signal<In, Bit>,
        /// The magnitudes are the same.
        pub s_eq: Signal<In, Bit>,
        /// Exponent of the first less that of the second.
        pub s_ab: Signal<In, Bits<11>>,
        /// Exponent of the second less that of the first.
        pub s_ba: Signal<In, Bits<11>>,
        /// The first has an exponent other than 0.
        pub s_a_normal: Signal<In, Bit>,
        /// The second has.
        pub s_b_normal: Signal<In, Bit>,
        /// The first has the exponent of infinities and NaNs.
        pub s_a_top: Signal<In, Bit>,
        /// The second has.
        pub s_b_top: Signal<In, Bit>,
        /// The first is a NaN.
        pub s_a_nan: Signal<In, Bit>,
        /// The second is a NaN.
        pub s_b_nan: Signal<In, Bit>,
        /// The first is a zero.
        pub s_a_zero: Signal<In, Bit>,
        /// Rounding: 0 to nearest even, 1 up, 2 down, 3 to zero.
        pub s_rounding: Signal<In, Bits<2>>,
        /// Flush subnormal results to zero.
        pub s_ftz: Signal<In, Bit>,
        /// Take the word of other_data, six clocks after s_*.
        pub other: Signal<In, Bit>,
        /// The word.
        pub other_data: Signal<In, Bits<64>>,
        /// Its result code.
        pub other_code: Signal<In, Bits<4>>,
        /// It is two binary32 sums, and the upper one is to be rounded away from zero.
        pub up_high: Signal<In, Bit>,
        /// The same of the lower one.
        pub up_low: Signal<In, Bit>,
        /// Result code of the upper one of two binary32 sums, otherwise 0: 0 ok, 1 inexact, 3 overflow, 4 invalid.
        pub high_code: Signal<In, Bits<3>>,
        /// The same of the lower one.
        pub low_code: Signal<In, Bits<3>>,
        /// Result, nine clocks after s_*.
        pub m_data: Signal<Out, Bits<64>>,
        /// Its result code.
        pub m_code: Signal<Out, Bits<4>>,

        align: RedFltAlign,
        control: RedFltControl,
        normalise: RedFltNormalise,
        round: RedFltRound,
        special: Signal<Local, Bits<64>>,
        s7_other: DFF<Bit>,
        s7_data: DFF<Bits<64>>,
        s7_code: DFF<Bits<4>>,
        s7_sign: DFF<Bit>,
        s7_near: DFF<Bit>,
        s7_away: DFF<Bit>,
        s7_ftz: DFF<Bit>,
        s7_up_high: DFF<Bit>,
        s7_up_low: DFF<Bit>,
        s7_high_code: DFF<Bits<3>>,
        s7_low_code: DFF<Bits<3>>,
        /// NaN as a result.
        default_nan: Param<{ BINARY64.default_nan() as usize }, 64>,
    }
}

impl Logic for RedFltAdd {
    #[hdl_gen]
    fn update(&mut self) {
        // Stages 1 to 4.
        self.align.s_a.next = self.s_a.val().get_bits::<63>(0);
        self.align.s_b.next = self.s_b.val().get_bits::<63>(0);
        self.align.s_opposite.next = self.s_a.val().get_bit(63) ^ self.s_b.val().get_bit(63);
        self.align.s_lt.next = self.s_lt.val();
        self.align.s_ab.next = self.s_ab.val();
        self.align.s_ba.next = self.s_ba.val();
        self.align.s_a_normal.next = self.s_a_normal.val();
        self.align.s_b_normal.next = self.s_b_normal.val();

        // Stages 1 to 6. Results that are not rounded sums.
        self.control.s_a_sign.next = self.s_a.val().get_bit(63);
        self.control.s_b_sign.next = self.s_b.val().get_bit(63);
        self.control.s_a_quiet.next = self.s_a.val().get_bit(51);
        self.control.s_b_quiet.next = self.s_b.val().get_bit(51);
        self.control.s_lt.next = self.s_lt.val();
        self.control.s_eq.next = self.s_eq.val();
        self.control.s_a_top.next = self.s_a_top.val();
        self.control.s_b_top.next = self.s_b_top.val();
        self.control.s_a_nan.next = self.s_a_nan.val();
        self.control.s_b_nan.next = self.s_b_nan.val();
        self.control.s_a_zero.next = self.s_a_zero.val();
        self.control.s_rounding.next = self.s_rounding.val();
        self.control.s_ftz.next = self.s_ftz.val();
        self.control.overflow.next = self.align.m_top.val() & self.align.m_sum.val().get_bit(56);

        // Stages 5 to 7.
        self.normalise.s_sum.next = self.align.m_sum.val();
        self.normalise.s_exp.next = self.align.m_exp.val();
        self.normalise.s_octet.next = self.align.m_octet.val();
        for i in 0..7 {
            self.normalise.s_limit[i].next = self.align.m_limit[i].val();
        }

        // Stage 7.
        self.s7_other.d.next = self.other.val() | self.control.m_special.val();
        self.special.next = 0.into();
        if self.control.m_nan.val() {
            self.special.next = self.default_nan.val();
        } else if self.control.m_inf.val() {
            self.special.next = bits::<64>(0x7ff) << 52;
        } else if self.control.m_largest.val() {
            self.special.next = (bits::<64>(0x7ff) << 52) - 1;
        }
        self.s7_data.d.next =
            self.special.val() | (bit_cast::<64, 1>(self.control.m_sign.val().into()) << 63);
        self.s7_code.d.next = self.control.m_code.val();
        if self.other.val() {
            self.s7_data.d.next = self.other_data.val();
            self.s7_code.d.next = self.other_code.val();
        }
        self.s7_sign.d.next = self.control.m_sign.val();
        self.s7_near.d.next =
            self.control.m_near.val() & !self.control.m_special.val() & !self.other.val();
        self.s7_away.d.next =
            self.control.m_away.val() & !self.control.m_special.val() & !self.other.val();
        self.s7_ftz.d.next = self.control.m_ftz.val();
        self.s7_up_high.d.next = self.up_high.val();
        self.s7_up_low.d.next = self.up_low.val();
        self.s7_high_code.d.next = self.high_code.val();
        self.s7_low_code.d.next = self.low_code.val();

        // Stages 8 and 9.
        self.round.s_sum.next = self.normalise.m_sum.val();
        self.round.s_exp.next = self.normalise.m_exp.val();
        self.round.s_sign.next = self.s7_sign.q.val();
        self.round.s_near.next = self.s7_near.q.val();
        self.round.s_away.next = self.s7_away.q.val();
        self.round.s_ftz.next = self.s7_ftz.q.val();
        self.round.s_other.next = self.s7_other.q.val();
        self.round.s_other_data.next = self.s7_data.q.val();
        self.round.s_other_code.next = self.s7_code.q.val();
        self.round.s_up_high.next = self.s7_up_high.q.val();
        self.round.s_up_low.next = self.s7_up_low.q.val();
        self.round.s_high_code.next = self.s7_high_code.q.val();
        self.round.s_low_code.next = self.s7_low_code.q.val();
        self.m_data.next = self.round.m_data.val();
        self.m_code.next = self.round.m_code.val();
    }
}
