//! Binary64 addition behind the comparison of its operands (RED-5).

use super::{RedFltAlign, RedFltNormalise, RedFltRound};
use crate::prelude::*;
use tributary_protocol::red::ops::{BINARY64, Rc};

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
        /// Result, nine clocks after s_*.
        pub m_data: Signal<Out, Bits<64>>,
        /// Its result code.
        pub m_code: Signal<Out, Bits<4>>,

        align: RedFltAlign,
        normalise: RedFltNormalise,
        round: RedFltRound,
        opposite: Signal<Local, Bit>,
        cancel: Signal<Local, Bit>,
        signalling: Signal<Local, Bit>,
        s1_nan: DFF<Bit>,
        s1_invalid: DFF<Bit>,
        s1_inf: DFF<Bit>,
        /// The magnitudes are equal; they cancel, or both are zero, if so.
        s1_equal: DFF<Bit>,
        s1_opposite: DFF<Bit>,
        s1_zero: DFF<Bit>,
        s1_sign: DFF<Bit>,
        sign: Signal<Local, Bit>,
        s1_rounding: DFF<Bits<2>>,
        s1_ftz: DFF<Bit>,
        s2_nan: DFF<Bit>,
        s2_invalid: DFF<Bit>,
        s2_inf: DFF<Bit>,
        s2_zero: DFF<Bit>,
        s2_sign: DFF<Bit>,
        s2_near: DFF<Bit>,
        s2_away: DFF<Bit>,
        s2_ftz: DFF<Bit>,
        /// nan, invalid, inf, zero, sign, near, away, ftz.
        s3_control: DFF<Bits<8>>,
        s4_control: DFF<Bits<8>>,
        s5_control: DFF<Bits<8>>,
        s5_overflow: DFF<Bit>,
        nan: Signal<Local, Bit>,
        inf: Signal<Local, Bit>,
        to_inf: Signal<Local, Bit>,
        to_largest: Signal<Local, Bit>,
        s6_special: DFF<Bit>,
        s6_nan: DFF<Bit>,
        s6_inf: DFF<Bit>,
        s6_largest: DFF<Bit>,
        special: Signal<Local, Bits<64>>,
        s6_code: DFF<Bits<4>>,
        s6_sign: DFF<Bit>,
        s6_near: DFF<Bit>,
        s6_away: DFF<Bit>,
        s6_ftz: DFF<Bit>,
        s7_other: DFF<Bit>,
        s7_data: DFF<Bits<64>>,
        s7_code: DFF<Bits<4>>,
        s7_sign: DFF<Bit>,
        s7_near: DFF<Bit>,
        s7_away: DFF<Bit>,
        s7_ftz: DFF<Bit>,
        /// Result codes.
        invalid: Param<{ Rc::FLT_INVALID.code() as usize }, 4>,
        flt_overflow: Param<{ Rc::FLT_OVERFLOW.code() as usize }, 4>,
        /// NaN as a result.
        default_nan: Param<{ BINARY64.default_nan() as usize }, 64>,
    }
}

impl Logic for RedFltAdd {
    #[hdl_gen]
    fn update(&mut self) {
        // Stage 1.
        self.opposite.next = self.s_a.val().get_bit(63) ^ self.s_b.val().get_bit(63);
        self.align.s_a.next = self.s_a.val().get_bits::<63>(0);
        self.align.s_b.next = self.s_b.val().get_bits::<63>(0);
        self.align.s_opposite.next = self.opposite.val();
        self.align.s_lt.next = self.s_lt.val();
        self.align.s_ab.next = self.s_ab.val();
        self.align.s_ba.next = self.s_ba.val();
        self.align.s_a_normal.next = self.s_a_normal.val();
        self.align.s_b_normal.next = self.s_b_normal.val();
        // Two infinities; of a NaN it says nothing.
        self.cancel.next = self.s_a_top.val() & self.s_b_top.val() & self.opposite.val();
        self.signalling.next = (self.s_a_nan.val() & !self.s_a.val().get_bit(51))
            | (self.s_b_nan.val() & !self.s_b.val().get_bit(51));
        self.s1_nan.d.next = self.s_a_nan.val() | self.s_b_nan.val() | self.cancel.val();
        self.s1_invalid.d.next =
            self.signalling.val() | (self.cancel.val() & !self.s_a_nan.val() & !self.s_b_nan.val());
        self.s1_inf.d.next = self.s_a_top.val() | self.s_b_top.val();
        self.s1_equal.d.next = self.s_eq.val();
        self.s1_opposite.d.next = self.opposite.val();
        self.s1_zero.d.next = self.opposite.val() | self.s_a_zero.val();
        self.s1_sign.d.next = self.s_a.val().get_bit(63);
        if self.s_lt.val() {
            self.s1_sign.d.next = self.s_b.val().get_bit(63);
        }
        self.s1_rounding.d.next = self.s_rounding.val();
        self.s1_ftz.d.next = self.s_ftz.val();

        // Stage 2.
        self.s2_nan.d.next = self.s1_nan.q.val();
        self.s2_invalid.d.next = self.s1_invalid.q.val();
        self.s2_inf.d.next = self.s1_inf.q.val() & !self.s1_nan.q.val();
        self.s2_zero.d.next = self.s1_equal.q.val() & self.s1_zero.q.val();
        self.sign.next = self.s1_sign.q.val();
        if self.s1_equal.q.val() & self.s1_opposite.q.val() {
            self.sign.next = self.s1_rounding.q.val() == 2;
        }
        self.s2_sign.d.next = self.sign.val() & !self.s1_nan.q.val();
        self.s2_near.d.next = self.s1_rounding.q.val() == 0;
        self.s2_away.d.next = ((self.s1_rounding.q.val() == 1) & !self.sign.val())
            | ((self.s1_rounding.q.val() == 2) & self.sign.val());
        self.s2_ftz.d.next = self.s1_ftz.q.val();

        // Stages 3 to 5.
        self.s3_control.d.next = (bit_cast::<8, 1>(self.s2_nan.q.val().into()) << 7)
            | (bit_cast::<8, 1>(self.s2_invalid.q.val().into()) << 6)
            | (bit_cast::<8, 1>(self.s2_inf.q.val().into()) << 5)
            | (bit_cast::<8, 1>(self.s2_zero.q.val().into()) << 4)
            | (bit_cast::<8, 1>(self.s2_sign.q.val().into()) << 3)
            | (bit_cast::<8, 1>(self.s2_near.q.val().into()) << 2)
            | (bit_cast::<8, 1>(self.s2_away.q.val().into()) << 1)
            | bit_cast::<8, 1>(self.s2_ftz.q.val().into());
        self.s4_control.d.next = self.s3_control.q.val();
        self.s5_control.d.next = self.s4_control.q.val();
        self.normalise.s_sum.next = self.align.m_sum.val();
        self.normalise.s_exp.next = self.align.m_exp.val();
        self.normalise.s_octet.next = self.align.m_octet.val();
        for i in 0..7 {
            self.normalise.s_limit[i].next = self.align.m_limit[i].val();
        }
        self.s5_overflow.d.next = self.align.m_top.val() & self.align.m_sum.val().get_bit(56);

        // Stage 6. Results that are not rounded sums.
        self.nan.next = self.s5_control.q.val().get_bit(7);
        self.inf.next = self.s5_control.q.val().get_bit(5);
        self.to_inf.next =
            self.s5_overflow.q.val() & self.s5_control.q.val().get_bits::<2>(1).any();
        self.to_largest.next =
            self.s5_overflow.q.val() & !self.s5_control.q.val().get_bits::<2>(1).any();
        self.s6_special.d.next = self.nan.val()
            | self.inf.val()
            | self.s5_control.q.val().get_bit(4)
            | self.s5_overflow.q.val();
        self.s6_nan.d.next = self.nan.val();
        self.s6_inf.d.next = self.inf.val() | self.to_inf.val();
        self.s6_largest.d.next = self.to_largest.val();
        self.s6_code.d.next = 0.into();
        if self.s5_control.q.val().get_bit(6) {
            self.s6_code.d.next = self.invalid.val();
        } else if self.s5_overflow.q.val() {
            self.s6_code.d.next = self.flt_overflow.val();
        }
        self.s6_sign.d.next = self.s5_control.q.val().get_bit(3);
        self.s6_near.d.next = self.s5_control.q.val().get_bit(2);
        self.s6_away.d.next = self.s5_control.q.val().get_bit(1);
        self.s6_ftz.d.next = self.s5_control.q.val().get_bit(0);

        // Stage 7.
        self.s7_other.d.next = self.other.val() | self.s6_special.q.val();
        self.special.next = 0.into();
        if self.s6_nan.q.val() {
            self.special.next = self.default_nan.val();
        } else if self.s6_inf.q.val() {
            self.special.next = bits::<64>(0x7ff) << 52;
        } else if self.s6_largest.q.val() {
            self.special.next = (bits::<64>(0x7ff) << 52) - 1;
        }
        self.s7_data.d.next =
            self.special.val() | (bit_cast::<64, 1>(self.s6_sign.q.val().into()) << 63);
        self.s7_code.d.next = self.s6_code.q.val();
        if self.other.val() {
            self.s7_data.d.next = self.other_data.val();
            self.s7_code.d.next = self.other_code.val();
        }
        self.s7_sign.d.next = self.s6_sign.q.val();
        self.s7_near.d.next = self.s6_near.q.val() & !self.s6_special.q.val() & !self.other.val();
        self.s7_away.d.next = self.s6_away.q.val() & !self.s6_special.q.val() & !self.other.val();
        self.s7_ftz.d.next = self.s6_ftz.q.val();

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
        self.m_data.next = self.round.m_data.val();
        self.m_code.next = self.round.m_code.val();
    }
}
