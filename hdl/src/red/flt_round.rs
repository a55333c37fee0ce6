//! Last part of a floating addition: rounding, and the choice of another result.

use crate::prelude::*;
use tributary_protocol::red::Rc;

hdl_module! {
    /// Rounds a normalised sum to binary64, or puts another word in its place: one that is right
    /// as it is, or two binary32 sums, each of which may have to be rounded away from zero.
    /// Rounding up by one carries from the fraction into the exponent, and from the largest
    /// number to infinity.
    /// Stages: 1 both candidates, direction; 2 choice.
    #[module("red_flt_round")]
    pub struct RedFltRound {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Sum, normalised: hidden bit, 52 bits of fraction, 4 bits below.
        pub s_sum: Signal<In, Bits<57>>,
        /// Exponent; 1 for a subnormal.
        pub s_exp: Signal<In, Bits<11>>,
        /// Sign.
        pub s_sign: Signal<In, Bit>,
        /// Round to nearest, ties to even.
        pub s_near: Signal<In, Bit>,
        /// Round away from zero; neither of the two: towards zero.
        pub s_away: Signal<In, Bit>,
        /// A subnormal result becomes zero.
        pub s_ftz: Signal<In, Bit>,
        /// Ignore the sum, with s_near and s_away 0.
        pub s_other: Signal<In, Bit>,
        /// The word instead.
        pub s_other_data: Signal<In, Bits<64>>,
        /// Its result code.
        pub s_other_code: Signal<In, Bits<4>>,
        /// It is two binary32 sums, and the upper one is to be rounded away from zero.
        pub s_up_high: Signal<In, Bit>,
        /// The same of the lower one.
        pub s_up_low: Signal<In, Bit>,
        /// Result code of the upper one of two binary32 sums, otherwise 0: 0 ok, 1 inexact, 3 overflow, 4 invalid.
        pub s_high_code: Signal<In, Bits<3>>,
        /// The same of the lower one.
        pub s_low_code: Signal<In, Bits<3>>,
        /// Result.
        pub m_data: Signal<Out, Bits<64>>,
        /// Its result code.
        pub m_code: Signal<Out, Bits<4>>,

        hidden: Signal<Local, Bit>,
        rest: Signal<Local, Bit>,
        flush: Signal<Local, Bit>,
        magnitude: Signal<Local, Bits<63>>,
        s1_down: DFF<Bits<64>>,
        s1_up: DFF<Bits<63>>,
        s1_choose_up: DFF<Bit>,
        /// Of a pair, each sum has an adder of its own, as a choice in front of one would be too slow.
        s1_high: DFF<Bits<31>>,
        s1_low: DFF<Bits<31>>,
        /// It is beyond the largest number then.
        s1_high_top: DFF<Bit>,
        s1_low_top: DFF<Bit>,
        s1_choose_high: DFF<Bit>,
        s1_choose_low: DFF<Bit>,
        s1_code: DFF<Bits<4>>,
        either_code: Signal<Local, Bits<3>>,
        high: Signal<Local, Bits<31>>,
        low: Signal<Local, Bits<32>>,
        beyond: Signal<Local, Bit>,
        s2_data: DFF<Bits<64>>,
        s2_code: DFF<Bits<4>>,
        /// Result codes.
        invalid: Param<{ Rc::FLT_INVALID.code() as usize }, 4>,
        flt_overflow: Param<{ Rc::FLT_OVERFLOW.code() as usize }, 4>,
    }
}

impl Logic for RedFltRound {
    #[hdl_gen]
    fn update(&mut self) {
        // Stage 1. A subnormal sum is exact, so flushing it needs no look at the rounding.
        self.hidden.next = self.s_sum.val().get_bit(56);
        self.rest.next = self.s_sum.val().get_bits::<3>(0).any();
        self.flush.next = self.s_ftz.val() & !self.hidden.val();
        self.magnitude.next = (bit_cast::<63, 10>(self.s_exp.val().get_bits::<10>(1)) << 53)
            | (bit_cast::<63, 1>((self.s_exp.val().get_bit(0) & self.hidden.val()).into()) << 52)
            | bit_cast::<63, 52>(self.s_sum.val().get_bits::<52>(4));
        self.s1_up.d.next = self.magnitude.val() + 1;
        self.s1_high.d.next = self.s_other_data.val().get_bits::<31>(32) + 1;
        self.s1_low.d.next = self.s_other_data.val().get_bits::<31>(0) + 1;
        self.s1_choose_up.d.next = (self.s_near.val()
            & self.s_sum.val().get_bit(3)
            & (self.rest.val() | self.s_sum.val().get_bit(4)))
            | (self.s_away.val() & (self.s_sum.val().get_bit(3) | self.rest.val()));
        // Largest exponent, or the one below it and a fraction that carries into it.
        self.s1_high_top.d.next = self.s_other_data.val().get_bits::<7>(56).all()
            & (self.s_other_data.val().get_bit(55)
                | self.s_other_data.val().get_bits::<23>(32).all());
        self.s1_low_top.d.next = self.s_other_data.val().get_bits::<7>(24).all()
            & (self.s_other_data.val().get_bit(23)
                | self.s_other_data.val().get_bits::<23>(0).all());
        self.s1_choose_high.d.next = self.s_up_high.val();
        self.s1_choose_low.d.next = self.s_up_low.val();
        self.s1_down.d.next = (bit_cast::<64, 1>(self.s_sign.val().into()) << 63)
            | bit_cast::<64, 63>(self.magnitude.val());
        self.s1_code.d.next = bit_cast::<4, 1>(
            (self.s_sum.val().get_bit(3) | self.rest.val() | self.flush.val()).into(),
        );
        // Of two codes the larger one: invalid, or what either says.
        self.either_code.next = self.s_high_code.val() | self.s_low_code.val();
        if self.flush.val() {
            self.s1_down.d.next = bit_cast::<64, 1>(self.s_sign.val().into()) << 63;
        }
        if self.s_other.val() {
            self.s1_down.d.next = self.s_other_data.val();
            self.s1_code.d.next =
                self.s_other_code.val() | bit_cast::<4, 3>(self.either_code.val());
            if self.either_code.val().get_bit(2) {
                self.s1_code.d.next = self.invalid.val();
            }
        }

        // Stage 2. A rounding that carries to infinity; what is invalid in the other half stays so.
        self.high.next = self.s1_down.q.val().get_bits::<31>(32);
        self.low.next = self.s1_down.q.val().get_bits::<32>(0);
        if self.s1_choose_up.q.val() {
            self.high.next = self.s1_up.q.val().get_bits::<31>(32);
            self.low.next = self.s1_up.q.val().get_bits::<32>(0);
        }
        if self.s1_choose_high.q.val() {
            self.high.next = self.s1_high.q.val();
        }
        if self.s1_choose_low.q.val() {
            self.low.next = (bit_cast::<32, 1>(self.s1_down.q.val().get_bit(31).into()) << 31)
                | bit_cast::<32, 31>(self.s1_low.q.val());
        }
        self.s2_data.d.next = (bit_cast::<64, 1>(self.s1_down.q.val().get_bit(63).into()) << 63)
            | (bit_cast::<64, 31>(self.high.val()) << 32)
            | bit_cast::<64, 32>(self.low.val());
        self.beyond.next = (self.s1_choose_up.q.val()
            & self.s1_up.q.val().get_bits::<11>(52).all())
            | (self.s1_choose_high.q.val() & self.s1_high_top.q.val())
            | (self.s1_choose_low.q.val() & self.s1_low_top.q.val());
        self.s2_code.d.next = self.s1_code.q.val();
        if self.beyond.val() & !self.s1_code.q.val().get_bit(2) {
            self.s2_code.d.next = self.flt_overflow.val();
        }
        self.m_data.next = self.s2_data.q.val();
        self.m_code.next = self.s2_code.q.val();
    }
}
