//! One lane of the reducing switch: every operation on a pair of 64-bit words.

use super::{RedCompare, RedFltAdd, RedHalfAdd, RedHalfCompare, RedLaneChoose};
use crate::prelude::*;

hdl_module! {
    /// Combines an accumulator word with an incoming word, one pair a clock, any operation at
    /// each; the result is there ten clocks later.
    /// A word is one element of 64 bits or two of 32 (CL-7), which have adders of their own.
    /// Words 0 to 3 of a MINMAXLOC frame come at consecutive clocks. The operation is rt_op;
    /// of codes that are none, the result means nothing.
    /// Stages: 1 compare, classify, exponent difference; 2 choice of minimum and maximum, swap;
    /// 3 and 4 align; 5 add, integers too; 6 leading zeros; 7 and 8 normalise (of 32 bits: 7, and
    /// 8 takes the place of what is not rounded); 9 round; 10 choice.
    #[module("red_lane")]
    pub struct RedLane {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset; of the valid flags only.
        pub rst: Signal<In, Bit>,
        /// A pair of words.
        pub s_valid: Signal<In, Bit>,
        /// Operation, rt_op.
        pub s_op: Signal<In, Bits<6>>,
        /// Index of the word in its frame.
        pub s_word: Signal<In, Bits<2>>,
        /// Word of the accumulator.
        pub s_a: Signal<In, Bits<64>>,
        /// Incoming word.
        pub s_b: Signal<In, Bits<64>>,
        /// REPSUM, three clocks after s_b: the accumulator's word that is added to it.
        pub r_a: Signal<In, Bits<64>>,
        /// REPSUM, with r_a: the result is 0, without a code.
        pub r_zero: Signal<In, Bit>,
        /// MINNUM and MAXNUM of a signalling NaN are NaN, as IEEE 754-2008 has it; does not
        /// change while words are on their way.
        pub cfg_ieee_nan: Signal<In, Bit>,
        /// A result, ten clocks after its s_valid.
        pub m_valid: Signal<Out, Bit>,
        /// Index of the word in its frame.
        pub m_word: Signal<Out, Bits<2>>,
        /// Result.
        pub m_data: Signal<Out, Bits<64>>,
        /// Result code of the word, the larger one of two elements: 0 ok, 1 inexact, 3 overflow, 4 invalid, 6 integer overflow.
        pub m_code: Signal<Out, Bits<4>>,

        compare: RedCompare,
        choose: RedLaneChoose,
        add: RedFltAdd,
        compare_high: RedHalfCompare,
        compare_low: RedHalfCompare,
        add_high: RedHalfAdd,
        add_low: RedHalfAdd,
        equal: Signal<Local, Bit>,
        /// Bit i: two floating sums are in stage i + 1.
        pairs: DFF<Bits<7>>,
        is_pair: Signal<Local, Bit>,
        s1_op: DFF<Bits<6>>,
        /// Bit i: a pair is in stage i + 1.
        #[reset] valid: DFF<Bits<10>>,
        /// Bit i of each: the index of the word in stage i + 1.
        word1: DFF<Bits<10>>,
        word0: DFF<Bits<10>>,
    }
}

impl Logic for RedLane {
    #[hdl_gen]
    fn update(&mut self) {
        // Stage 1.
        self.compare.s_a.next = self.s_a.val();
        self.compare.s_b.next = self.s_b.val();
        self.compare_high.s_a.next = self.s_a.val().get_bits::<32>(32);
        self.compare_high.s_b.next = self.s_b.val().get_bits::<32>(32);
        self.compare_low.s_a.next = self.s_a.val().get_bits::<32>(0);
        self.compare_low.s_b.next = self.s_b.val().get_bits::<32>(0);
        self.s1_op.d.next = self.s_op.val();
        self.equal.next = self.compare.m_high_eq.val() & self.compare.m_low_eq.val().all();

        // Stages 2 to 7.
        self.choose.s_op.next = self.s_op.val();
        self.choose.s_word.next = self.s_word.val();
        self.choose.s_ieee_nan.next = self.cfg_ieee_nan.val();
        self.choose.s_a.next = self.compare.m_a.val();
        self.choose.s_b.next = self.compare.m_b.val();
        self.choose.s_lt.next = self.compare.m_lt.val();
        self.choose.s_low_lt.next = self.compare.m_low_lt.val();
        self.choose.s_eq.next = self.equal.val();
        self.choose.s_low_eq.next = self.compare.m_low_eq.val().all();
        self.choose.s_a_nan.next = self.compare.m_a_nan.val();
        self.choose.s_b_nan.next = self.compare.m_b_nan.val();
        self.choose.s_high_lt.next = self.compare_high.m_lt.val();
        self.choose.s_high_low_lt.next = self.compare_high.m_low_lt.val();
        self.choose.s_high_a_nan.next = self.compare_high.m_a_nan.val();
        self.choose.s_high_b_nan.next = self.compare_high.m_b_nan.val();
        self.choose.s_low_half_lt.next = self.compare_low.m_lt.val();
        self.choose.s_low_half_low_lt.next = self.compare_low.m_low_lt.val();
        self.choose.s_low_half_a_nan.next = self.compare_low.m_a_nan.val();
        self.choose.s_low_half_b_nan.next = self.compare_low.m_b_nan.val();
        self.choose.r_a.next = self.r_a.val();
        self.choose.r_zero.next = self.r_zero.val();

        // Stages 2 to 10.
        self.add.s_a.next = self.compare.m_a.val();
        self.add.s_b.next = self.compare.m_b.val();
        self.add.s_lt.next = self.compare.m_lt.val();
        self.add.s_eq.next = self.equal.val();
        self.add.s_ab.next = self.compare.m_ab.val();
        self.add.s_ba.next = self.compare.m_ba.val();
        self.add.s_a_normal.next = self.compare.m_a_normal.val();
        self.add.s_b_normal.next = self.compare.m_b_normal.val();
        self.add.s_a_top.next = self.compare.m_a_top.val();
        self.add.s_b_top.next = self.compare.m_b_top.val();
        self.add.s_a_nan.next = self.compare.m_a_nan.val();
        self.add.s_b_nan.next = self.compare.m_b_nan.val();
        self.add.s_a_zero.next = self.compare.m_a_zero.val();
        self.add.s_rounding.next = self.s1_op.q.val().get_bits::<2>(0);
        self.add.s_ftz.next = self.s1_op.q.val().get_bit(2);
        self.add.other.next = self.choose.m_other.val();

        // Stages 2 to 8, elements of 32 bits: what is left is to round each away from zero, or not.
        self.add_high.s_a.next = self.compare.m_a.val().get_bits::<32>(32);
        self.add_high.s_b.next = self.compare.m_b.val().get_bits::<32>(32);
        self.add_high.s_lt.next = self.compare_high.m_lt.val();
        self.add_high.s_eq.next = self.compare_high.m_eq.val();
        self.add_high.s_ab.next = self.compare_high.m_ab.val();
        self.add_high.s_ba.next = self.compare_high.m_ba.val();
        self.add_high.s_a_normal.next = self.compare_high.m_a_normal.val();
        self.add_high.s_b_normal.next = self.compare_high.m_b_normal.val();
        self.add_high.s_a_top.next = self.compare_high.m_a_top.val();
        self.add_high.s_b_top.next = self.compare_high.m_b_top.val();
        self.add_high.s_a_nan.next = self.compare_high.m_a_nan.val();
        self.add_high.s_b_nan.next = self.compare_high.m_b_nan.val();
        self.add_high.s_a_zero.next = self.compare_high.m_a_zero.val();
        self.add_high.s_rounding.next = self.s1_op.q.val().get_bits::<2>(0);
        self.add_high.s_ftz.next = self.s1_op.q.val().get_bit(2);
        self.add_low.s_a.next = self.compare.m_a.val().get_bits::<32>(0);
        self.add_low.s_b.next = self.compare.m_b.val().get_bits::<32>(0);
        self.add_low.s_lt.next = self.compare_low.m_lt.val();
        self.add_low.s_eq.next = self.compare_low.m_eq.val();
        self.add_low.s_ab.next = self.compare_low.m_ab.val();
        self.add_low.s_ba.next = self.compare_low.m_ba.val();
        self.add_low.s_a_normal.next = self.compare_low.m_a_normal.val();
        self.add_low.s_b_normal.next = self.compare_low.m_b_normal.val();
        self.add_low.s_a_top.next = self.compare_low.m_a_top.val();
        self.add_low.s_b_top.next = self.compare_low.m_b_top.val();
        self.add_low.s_a_nan.next = self.compare_low.m_a_nan.val();
        self.add_low.s_b_nan.next = self.compare_low.m_b_nan.val();
        self.add_low.s_a_zero.next = self.compare_low.m_a_zero.val();
        self.add_low.s_rounding.next = self.s1_op.q.val().get_bits::<2>(0);
        self.add_low.s_ftz.next = self.s1_op.q.val().get_bit(2);
        self.pairs.d.next = (self.pairs.q.val() << 1)
            | bit_cast::<7, 1>(
                ((self.s_op.val().get_bits::<2>(4) == 3) & self.s_op.val().get_bit(3)).into(),
            );
        self.is_pair.next = self.pairs.q.val().get_bit(6);
        self.add.up_high.next = self.is_pair.val() & self.add_high.m_up.val();
        self.add.up_low.next = self.is_pair.val() & self.add_low.m_up.val();
        self.add.other_data.next = self.choose.m_data.val();
        self.add.other_code.next = self.choose.m_code.val();
        self.add.high_code.next = 0.into();
        self.add.low_code.next = 0.into();
        if self.is_pair.val() {
            self.add.other_data.next = (bit_cast::<64, 32>(self.add_high.m_data.val()) << 32)
                | bit_cast::<64, 32>(self.add_low.m_data.val());
            self.add.other_code.next = 0.into();
            self.add.high_code.next = self.add_high.m_code.val().get_bits::<3>(0);
            self.add.low_code.next = self.add_low.m_code.val().get_bits::<3>(0);
        }

        self.valid.d.next =
            (self.valid.q.val() << 1) | bit_cast::<10, 1>(self.s_valid.val().into());
        self.word1.d.next =
            (self.word1.q.val() << 1) | bit_cast::<10, 1>(self.s_word.val().get_bit(1).into());
        self.word0.d.next =
            (self.word0.q.val() << 1) | bit_cast::<10, 1>(self.s_word.val().get_bit(0).into());
        self.m_valid.next = self.valid.q.val().get_bit(9);
        self.m_word.next = (bit_cast::<2, 1>(self.word1.q.val().get_bit(9).into()) << 1)
            | bit_cast::<2, 1>(self.word0.q.val().get_bit(9).into());
        self.m_data.next = self.add.m_data.val();
        self.m_code.next = self.add.m_code.val();
    }
}
