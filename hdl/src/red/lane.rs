//! One lane of the reducing switch: every operation on a pair of 64-bit words.

use super::{RedCompare, RedFltAdd, RedLaneChoose};
use crate::prelude::*;

hdl_module! {
    /// Combines an accumulator word with an incoming word, one pair a clock, any operation at
    /// each; the result is there ten clocks later.
    /// Words 0 to 3 of a MINMAXLOC frame come at consecutive clocks. The operation is rt_op;
    /// of codes that are none, the result means nothing.
    /// Stages: 1 compare, classify, exponent difference; 2 choice of minimum and maximum, swap;
    /// 3 and 4 align; 5 add, integers too; 6 leading zeros; 7 and 8 normalise; 9 round;
    /// 10 choice.
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
        /// Result code of the word: 0 ok, 1 inexact, 3 overflow, 4 invalid, 6 integer overflow.
        pub m_code: Signal<Out, Bits<4>>,

        compare: RedCompare,
        choose: RedLaneChoose,
        add: RedFltAdd,
        equal: Signal<Local, Bit>,
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
        self.add.other_data.next = self.choose.m_data.val();
        self.add.other_code.next = self.choose.m_code.val();

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
