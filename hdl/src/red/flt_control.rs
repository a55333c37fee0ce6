//! What of a floating sum is not a rounded number, and how the others are rounded (RED-5).

use crate::prelude::*;
use tributary_protocol::red::ops::Rc;

hdl_module! {
    /// Beside an addition of binary64 or binary32: special operands, overflow, sign, rounding.
    /// Stages: 1 special operands; 2 sign, direction; 3 and 4 wait; 5 overflow; 6 which result.
    #[module("red_flt_control")]
    pub struct RedFltControl {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Sign of the first number.
        pub s_a_sign: Signal<In, Bit>,
        /// Sign of the second.
        pub s_b_sign: Signal<In, Bit>,
        /// The first is quiet, if it is a NaN.
        pub s_a_quiet: Signal<In, Bit>,
        /// The second is.
        pub s_b_quiet: Signal<In, Bit>,
        /// The magnitude of the first is below that of the second.
        pub s_lt: Signal<In, Bit>,
        /// The magnitudes are the same.
        pub s_eq: Signal<In, Bit>,
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
        /// Four clocks after s_*: the sum is beyond the largest number before it is rounded.
        pub overflow: Signal<In, Bit>,
        /// The result is no rounded sum; six clocks after s_*, as all that follows.
        pub m_special: Signal<Out, Bit>,
        /// It is NaN.
        pub m_nan: Signal<Out, Bit>,
        /// It is infinity, if not.
        pub m_inf: Signal<Out, Bit>,
        /// It is the largest number, if neither.
        pub m_largest: Signal<Out, Bit>,
        /// Its result code.
        pub m_code: Signal<Out, Bits<4>>,
        /// Sign of the result.
        pub m_sign: Signal<Out, Bit>,
        /// Round to nearest, ties to even.
        pub m_near: Signal<Out, Bit>,
        /// Round away from zero.
        pub m_away: Signal<Out, Bit>,
        /// Flush subnormal results to zero.
        pub m_ftz: Signal<Out, Bit>,

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
        s6_code: DFF<Bits<4>>,
        s6_sign: DFF<Bit>,
        s6_near: DFF<Bit>,
        s6_away: DFF<Bit>,
        s6_ftz: DFF<Bit>,
        /// Result codes.
        invalid: Param<{ Rc::FLT_INVALID.code() as usize }, 4>,
        flt_overflow: Param<{ Rc::FLT_OVERFLOW.code() as usize }, 4>,
    }
}

impl Logic for RedFltControl {
    #[hdl_gen]
    fn update(&mut self) {
        // Stage 1.
        self.opposite.next = self.s_a_sign.val() ^ self.s_b_sign.val();
        // Two infinities; of a NaN it says nothing.
        self.cancel.next = self.s_a_top.val() & self.s_b_top.val() & self.opposite.val();
        self.signalling.next = (self.s_a_nan.val() & !self.s_a_quiet.val())
            | (self.s_b_nan.val() & !self.s_b_quiet.val());
        self.s1_nan.d.next = self.s_a_nan.val() | self.s_b_nan.val() | self.cancel.val();
        self.s1_invalid.d.next =
            self.signalling.val() | (self.cancel.val() & !self.s_a_nan.val() & !self.s_b_nan.val());
        self.s1_inf.d.next = self.s_a_top.val() | self.s_b_top.val();
        self.s1_equal.d.next = self.s_eq.val();
        self.s1_opposite.d.next = self.opposite.val();
        self.s1_zero.d.next = self.opposite.val() | self.s_a_zero.val();
        self.s1_sign.d.next = self.s_a_sign.val();
        if self.s_lt.val() {
            self.s1_sign.d.next = self.s_b_sign.val();
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
        self.s5_overflow.d.next = self.overflow.val();

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

        self.m_special.next = self.s6_special.q.val();
        self.m_nan.next = self.s6_nan.q.val();
        self.m_inf.next = self.s6_inf.q.val();
        self.m_largest.next = self.s6_largest.q.val();
        self.m_code.next = self.s6_code.q.val();
        self.m_sign.next = self.s6_sign.q.val();
        self.m_near.next = self.s6_near.q.val();
        self.m_away.next = self.s6_away.q.val();
        self.m_ftz.next = self.s6_ftz.q.val();
    }
}
