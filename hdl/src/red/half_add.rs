//! Binary32 addition behind the comparison of its operands (RED-5, CL-7).

use super::{RedFltControl, RedFltLead, RedHalfAlign};
use crate::prelude::*;
use tributary_protocol::red::ops::BINARY32;

hdl_module! {
    /// Adds two compared binary32 numbers, one pair a clock; the result is rounded towards zero,
    /// and m_up says that the number above it is the right one.
    /// Stages: 1 swap, special operands; 2 and 3 align; 4 add; 5 leading zeros, overflow;
    /// 6 normalise. Data are not reset.
    #[module("red_half_add")]
    pub struct RedHalfAdd {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// First number.
        pub s_a: Signal<In, Bits<32>>,
        /// Second number.
        pub s_b: Signal<In, Bits<32>>,
        /// The magnitude of the first is below that of the second.
        pub s_lt: Signal<In, Bit>,
        /// The magnitudes are the same.
        pub s_eq: Signal<In, Bit>,
        /// Exponent of the first less that of the second.
        pub s_ab: Signal<In, Bits<8>>,
        /// Exponent of the second less that of the first.
        pub s_ba: Signal<In, Bits<8>>,
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
        /// Sum, six clocks after s_*; not rounded, or a result that is none of a rounding.
        pub m_data: Signal<Out, Bits<32>>,
        /// It is to be rounded away from zero.
        pub m_up: Signal<Out, Bit>,
        /// Its result code, but for an overflow by that rounding.
        pub m_code: Signal<Out, Bits<4>>,

        align: RedHalfAlign,
        control: RedFltControl,
        /// Leading zeros of octets; the last has three bits of the sum.
        groups: Bank<RedFltLead, 4>,
        any0: Signal<Local, Bit>,
        any1: Signal<Local, Bit>,
        any2: Signal<Local, Bit>,
        s5_sum: DFF<Bits<28>>,
        s5_exp: DFF<Bits<8>>,
        /// The first one is in the lower two octets; in the second or fourth.
        s5_half: DFF<Bit>,
        s5_odd: DFF<Bit>,
        /// Zeros in front of it in its octet, if it is in the upper two; if not.
        s5_upper: DFF<Bits<3>>,
        s5_lower: DFF<Bits<3>>,
        lead: Signal<Local, Bits<3>>,
        by16: Signal<Local, Bits<28>>,
        by8: Signal<Local, Bits<28>>,
        shift: Signal<Local, Bits<5>>,
        s6_sum: DFF<Bits<28>>,
        s6_exp: DFF<Bits<8>>,
        hidden: Signal<Local, Bit>,
        rest: Signal<Local, Bit>,
        flush: Signal<Local, Bit>,
        magnitude: Signal<Local, Bits<31>>,
        /// NaN as a result, infinity, the largest number.
        default_nan: Param<{ BINARY32.default_nan() as usize }, 31>,
        infinity: Param<{ BINARY32.inf() as usize }, 31>,
        largest: Param<{ BINARY32.inf() as usize - 1 }, 31>,
    }
}

impl Logic for RedHalfAdd {
    #[hdl_gen]
    fn update(&mut self) {
        // Stages 1 to 4.
        self.align.s_a.next = self.s_a.val().get_bits::<31>(0);
        self.align.s_b.next = self.s_b.val().get_bits::<31>(0);
        self.align.s_opposite.next = self.s_a.val().get_bit(31) ^ self.s_b.val().get_bit(31);
        self.align.s_lt.next = self.s_lt.val();
        self.align.s_ab.next = self.s_ab.val();
        self.align.s_ba.next = self.s_ba.val();
        self.align.s_a_normal.next = self.s_a_normal.val();
        self.align.s_b_normal.next = self.s_b_normal.val();

        // Stages 1 to 6.
        self.control.s_a_sign.next = self.s_a.val().get_bit(31);
        self.control.s_b_sign.next = self.s_b.val().get_bit(31);
        self.control.s_a_quiet.next = self.s_a.val().get_bit(22);
        self.control.s_b_quiet.next = self.s_b.val().get_bit(22);
        self.control.s_lt.next = self.s_lt.val();
        self.control.s_eq.next = self.s_eq.val();
        self.control.s_a_top.next = self.s_a_top.val();
        self.control.s_b_top.next = self.s_b_top.val();
        self.control.s_a_nan.next = self.s_a_nan.val();
        self.control.s_b_nan.next = self.s_b_nan.val();
        self.control.s_a_zero.next = self.s_a_zero.val();
        self.control.s_rounding.next = self.s_rounding.val();
        self.control.s_ftz.next = self.s_ftz.val();
        self.control.overflow.next = self.align.m_top.val() & self.align.m_sum.val().get_bit(27);

        // Stage 5.
        self.groups[0].s_bits.next = self.align.m_sum.val().get_bits::<8>(20);
        self.groups[1].s_bits.next = self.align.m_sum.val().get_bits::<8>(12);
        self.groups[2].s_bits.next = self.align.m_sum.val().get_bits::<8>(4);
        self.groups[3].s_bits.next = bit_cast::<8, 3>(self.align.m_sum.val().get_bits::<3>(1)) << 5;
        for i in 0..4 {
            self.groups[i].s_here.next = self.align.m_octet.val().get_bit(i);
            self.groups[i].s_limit.next = self.align.m_limit[i].val();
        }
        self.any0.next = self.groups[0].m_any.val();
        self.any1.next = self.groups[1].m_any.val();
        self.any2.next = self.groups[2].m_any.val();
        self.s5_upper.d.next = self.groups[0].m_lead.val();
        if !self.any0.val() {
            self.s5_upper.d.next = self.groups[1].m_lead.val();
        }
        self.s5_lower.d.next = self.groups[2].m_lead.val();
        if !self.any2.val() {
            self.s5_lower.d.next = self.groups[3].m_lead.val();
        }
        self.s5_half.d.next = !(self.any0.val() | self.any1.val());
        self.s5_odd.d.next = !self.any0.val() & (self.any1.val() | !self.any2.val());
        self.s5_sum.d.next = self.align.m_sum.val();
        self.s5_exp.d.next = self.align.m_exp.val();

        // Stage 6.
        self.lead.next = self.s5_upper.q.val();
        if self.s5_half.q.val() {
            self.lead.next = self.s5_lower.q.val();
        }
        self.by16.next = self.s5_sum.q.val();
        if self.s5_half.q.val() {
            self.by16.next = self.s5_sum.q.val() << 16;
        }
        self.by8.next = self.by16.val();
        if self.s5_odd.q.val() {
            self.by8.next = self.by16.val() << 8;
        }
        self.shift.next = (bit_cast::<5, 1>(self.s5_half.q.val().into()) << 4)
            | (bit_cast::<5, 1>(self.s5_odd.q.val().into()) << 3)
            | bit_cast::<5, 3>(self.lead.val());
        self.s6_sum.d.next = self.by8.val() << self.lead.val();
        self.s6_exp.d.next = self.s5_exp.q.val() - bit_cast::<8, 5>(self.shift.val());

        // The result. A subnormal sum is exact, so flushing it needs no look at the rounding.
        self.hidden.next = self.s6_sum.q.val().get_bit(27);
        self.rest.next = self.s6_sum.q.val().get_bits::<3>(0).any();
        self.flush.next = self.control.m_ftz.val() & !self.hidden.val();
        self.magnitude.next = (bit_cast::<31, 7>(self.s6_exp.q.val().get_bits::<7>(1)) << 24)
            | (bit_cast::<31, 1>((self.s6_exp.q.val().get_bit(0) & self.hidden.val()).into())
                << 23)
            | bit_cast::<31, 23>(self.s6_sum.q.val().get_bits::<23>(4));
        self.m_up.next = !self.control.m_special.val()
            & ((self.control.m_near.val()
                & self.s6_sum.q.val().get_bit(3)
                & (self.rest.val() | self.s6_sum.q.val().get_bit(4)))
                | (self.control.m_away.val() & (self.s6_sum.q.val().get_bit(3) | self.rest.val())));
        self.m_code.next = bit_cast::<4, 1>(
            (self.s6_sum.q.val().get_bit(3) | self.rest.val() | self.flush.val()).into(),
        );
        self.m_data.next = (bit_cast::<32, 1>(self.control.m_sign.val().into()) << 31)
            | bit_cast::<32, 31>(self.magnitude.val());
        if self.flush.val() {
            self.m_data.next = bit_cast::<32, 1>(self.control.m_sign.val().into()) << 31;
        }
        if self.control.m_special.val() {
            self.m_code.next = self.control.m_code.val();
            self.m_data.next = bit_cast::<32, 1>(self.control.m_sign.val().into()) << 31;
            if self.control.m_nan.val() {
                self.m_data.next = bit_cast::<32, 31>(self.default_nan.val());
            } else if self.control.m_inf.val() {
                self.m_data.next = (bit_cast::<32, 1>(self.control.m_sign.val().into()) << 31)
                    | bit_cast::<32, 31>(self.infinity.val());
            } else if self.control.m_largest.val() {
                self.m_data.next = (bit_cast::<32, 1>(self.control.m_sign.val().into()) << 31)
                    | bit_cast::<32, 31>(self.largest.val());
            }
        }
    }
}
