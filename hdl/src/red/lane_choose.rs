//! All operations of a lane but the floating sum (RED-1 to RED-4, RED-6).

use super::RedLanePick;
use crate::prelude::*;
use tributary_protocol::red::Rc;

hdl_record! {
    /// An operation on a lane.
    struct Chosen {
        /// First operand.
        a: Bits<64>,
        /// Second operand.
        b: Bits<64>,
        /// The result.
        data: Bits<64>,
        /// What happened.
        code: Bits<4>,
        /// Both are alike.
        tie: Bit,
        /// A NaN becomes quiet.
        quiet: Bit,
        /// One of 32 bits does, in the upper half.
        quiet_high: Bit,
        /// In the lower half.
        quiet_low: Bit,
        /// The operation is invalid.
        invalid: Bit,
        /// The operation adds.
        add: Bit,
        /// A word has two elements of 32 bits.
        pair: Bit,
        /// It adds reproducibly.
        repsum: Bit,
        /// The sum is 0.
        zero: Bit,
        /// Another unit has the result.
        other: Bit,
    }
}

hdl_module! {
    /// Chooses or computes the result of every operation that needs no rounding.
    /// Word 1 of a MINMAXLOC frame follows word 0 at the next clock, word 3 word 2, and goes the
    /// same way; after a tie the lower index is kept.
    /// Two elements of 32 bits in a word go their own ways; nothing is carried between them.
    /// Stages: 1 order of numbers, of NaNs, logic; 2 choice; 3 operands of the adder; 4 add (or pass); 5 zero, overflow;
    /// 6 waits.
    #[module("red_lane_choose")]
    pub struct RedLaneChoose {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Operation; one clock before s_a.
        pub s_op: Signal<In, Bits<6>>,
        /// Index of the word in its frame, with it.
        pub s_word: Signal<In, Bits<2>>,
        /// A number beats a quiet NaN only, not a signalling one, in MINNUM and MAXNUM.
        pub s_ieee_nan: Signal<In, Bit>,
        /// Accumulator.
        pub s_a: Signal<In, Bits<64>>,
        /// Incoming word.
        pub s_b: Signal<In, Bits<64>>,
        /// Bits 62:0 of the first are below those of the second.
        pub s_lt: Signal<In, Bit>,
        /// Bits 50:0 are.
        pub s_low_lt: Signal<In, Bit>,
        /// Bits 62:0 are the same.
        pub s_eq: Signal<In, Bit>,
        /// Bits 50:0 are the same.
        pub s_low_eq: Signal<In, Bit>,
        /// The first is a NaN, if it is a number.
        pub s_a_nan: Signal<In, Bit>,
        /// The second is a NaN.
        pub s_b_nan: Signal<In, Bit>,
        /// Of the upper elements of 32 bits: bits 62:32 of the first are below those of the second.
        pub s_high_lt: Signal<In, Bit>,
        /// Bits 53:32 are.
        pub s_high_low_lt: Signal<In, Bit>,
        /// The first is a NaN, if it is a number.
        pub s_high_a_nan: Signal<In, Bit>,
        /// The second is.
        pub s_high_b_nan: Signal<In, Bit>,
        /// Of the lower elements: bits 30:0 of the first are below those of the second.
        pub s_low_half_lt: Signal<In, Bit>,
        /// Bits 21:0 are.
        pub s_low_half_low_lt: Signal<In, Bit>,
        /// The first is a NaN, if it is a number.
        pub s_low_half_a_nan: Signal<In, Bit>,
        /// The second is.
        pub s_low_half_b_nan: Signal<In, Bit>,
        /// REPSUM: the word of the accumulator, two clocks after s_*.
        pub r_a: Signal<In, Bits<64>>,
        /// REPSUM: the result is 0, with it.
        pub r_zero: Signal<In, Bit>,
        /// The operation is no floating sum; six clocks after s_*.
        pub m_other: Signal<Out, Bit>,
        /// Result.
        pub m_data: Signal<Out, Bits<64>>,
        /// Its result code.
        pub m_code: Signal<Out, Bits<4>>,

        whole: RedLanePick,
        high: RedLanePick,
        low: RedLanePick,
        is_pair: Signal<Local, Bit>,
        is_repsum: Signal<Local, Bit>,
        loc: Signal<Local, Bit>,
        is_index: Signal<Local, Bit>,
        /// What the operation is.
        op: DFF<Bits<6>>,
        sum: DFF<Bit>,
        bitwise: DFF<Bit>,
        repsum: DFF<Bit>,
        pair: DFF<Bit>,
        index: DFF<Bit>,
        floating: DFF<Bit>,
        maximum: DFF<Bit>,
        number: DFF<Bit>,
        /// Neither is taken: words are added or combined bit by bit.
        s1_neither: DFF<Bit>,
        s1_index: DFF<Bit>,
        s1_below: DFF<Bit>,
        s1: DFF<Chosen>,
        /// The operation is invalid in one of two elements.
        s1_half_invalid: DFF<Bit>,
        take_b: Signal<Local, Bit>,
        /// For the upper and the lower half of the word.
        s2_high_b: DFF<Bit>,
        s2_low_b: DFF<Bit>,
        s2: DFF<Chosen>,
        chosen_high: Signal<Local, Bits<32>>,
        chosen_low: Signal<Local, Bits<32>>,
        chosen: Signal<Local, Bits<64>>,
        s3_x: DFF<Bits<64>>,
        s3_y: DFF<Bits<64>>,
        s3: DFF<Chosen>,
        /// With a place between the halves, through which the carry passes or not.
        total: Signal<Local, Bits<65>>,
        s4_sum: DFF<Bits<64>>,
        /// Signs of the words, or of the upper elements; of the lower ones.
        s4_x_sign: DFF<Bit>,
        s4_y_sign: DFF<Bit>,
        s4_x_low_sign: DFF<Bit>,
        s4_y_low_sign: DFF<Bit>,
        wraps: Signal<Local, Bit>,
        low_wraps: Signal<Local, Bit>,
        s4: DFF<Chosen>,
        s5: DFF<Chosen>,
        s6: DFF<Chosen>,
        /// Result codes.
        invalid: Param<{ Rc::FLT_INVALID.code() as usize }, 4>,
        int_overflow: Param<{ Rc::INT_OVERFLOW.code() as usize }, 4>,
    }
}

impl Logic for RedLaneChoose {
    #[hdl_gen]
    fn update(&mut self) {
        // What the operation is; of codes that are none, nothing is expected.
        self.op.d.next = self.s_op.val();
        self.bitwise.d.next = self.s_op.val().get_bits::<2>(4) == 0;
        self.is_repsum.next = (self.s_op.val().get_bits::<2>(4) == 3)
            & !self.s_op.val().get_bit(3)
            & !self.s_op.val().get_bit(1);
        self.repsum.d.next = self.is_repsum.val();
        self.is_pair.next = ((self.s_op.val().get_bits::<2>(4) == 1) & self.s_op.val().get_bit(3))
            | ((self.s_op.val().get_bits::<2>(4) == 3)
                & (self.s_op.val().get_bit(3) | self.s_op.val().get_bit(1)));
        self.pair.d.next = self.is_pair.val();
        self.sum.d.next = (self.s_op.val().get_bits::<2>(4) == 1) & self.s_op.val().get_bit(2);
        self.loc.next = self.s_op.val().get_bit(1) & !self.is_pair.val();
        self.is_index.next = self.loc.val() & self.s_word.val().get_bit(0);
        self.index.d.next = self.is_index.val();
        self.floating.d.next =
            self.s_op.val().get_bit(5) & !self.is_index.val() & !self.is_repsum.val();
        self.maximum.d.next = (self.loc.val() & self.s_word.val().get_bit(1))
            | (!self.loc.val() & self.s_op.val().get_bit(0));
        self.number.d.next = self.s_op.val().get_bit(2);

        // Stage 1.
        self.whole.s_floating.next = self.floating.q.val();
        self.whole.s_maximum.next = self.maximum.q.val();
        self.whole.s_number.next = self.number.q.val();
        self.whole.s_ieee_nan.next = self.s_ieee_nan.val();
        self.whole.s_index.next = self.index.q.val();
        self.whole.s_a_sign.next = self.s_a.val().get_bit(63);
        self.whole.s_b_sign.next = self.s_b.val().get_bit(63);
        self.whole.s_a_quiet.next = self.s_a.val().get_bit(51);
        self.whole.s_b_quiet.next = self.s_b.val().get_bit(51);
        self.whole.s_lt.next = self.s_lt.val();
        self.whole.s_low_lt.next = self.s_low_lt.val();
        self.whole.s_a_nan.next = self.s_a_nan.val();
        self.whole.s_b_nan.next = self.s_b_nan.val();
        self.high.s_floating.next = self.floating.q.val();
        self.high.s_maximum.next = self.maximum.q.val();
        self.high.s_number.next = self.number.q.val();
        self.high.s_ieee_nan.next = self.s_ieee_nan.val();
        self.high.s_index.next = false;
        self.high.s_a_sign.next = self.s_a.val().get_bit(63);
        self.high.s_b_sign.next = self.s_b.val().get_bit(63);
        self.high.s_a_quiet.next = self.s_a.val().get_bit(54);
        self.high.s_b_quiet.next = self.s_b.val().get_bit(54);
        self.high.s_lt.next = self.s_high_lt.val();
        self.high.s_low_lt.next = self.s_high_low_lt.val();
        self.high.s_a_nan.next = self.s_high_a_nan.val();
        self.high.s_b_nan.next = self.s_high_b_nan.val();
        self.low.s_floating.next = self.floating.q.val();
        self.low.s_maximum.next = self.maximum.q.val();
        self.low.s_number.next = self.number.q.val();
        self.low.s_ieee_nan.next = self.s_ieee_nan.val();
        self.low.s_index.next = false;
        self.low.s_a_sign.next = self.s_a.val().get_bit(31);
        self.low.s_b_sign.next = self.s_b.val().get_bit(31);
        self.low.s_a_quiet.next = self.s_a.val().get_bit(22);
        self.low.s_b_quiet.next = self.s_b.val().get_bit(22);
        self.low.s_lt.next = self.s_low_half_lt.val();
        self.low.s_low_lt.next = self.s_low_half_low_lt.val();
        self.low.s_a_nan.next = self.s_low_half_a_nan.val();
        self.low.s_b_nan.next = self.s_low_half_b_nan.val();
        self.s1_neither.d.next = self.bitwise.q.val() | self.repsum.q.val() | self.sum.q.val();
        self.s1_index.d.next = self.index.q.val();
        self.s1_below.d.next = self.whole.m_below.val();
        self.s1.d.next.tie = (self.s_eq.val()
            & (self.s_a.val().get_bit(63) == self.s_b.val().get_bit(63)))
            | (self.floating.q.val()
                & self.s_a_nan.val()
                & self.s_b_nan.val()
                & self.s_low_eq.val()
                & ((self.number.q.val() & !self.s_ieee_nan.val())
                    | (self.s_a.val().get_bit(51) == self.s_b.val().get_bit(51))));
        self.s1.d.next.quiet = !self.pair.q.val() & self.whole.m_quiet.val();
        self.s1.d.next.quiet_high = self.pair.q.val() & self.high.m_quiet.val();
        self.s1.d.next.quiet_low = self.pair.q.val() & self.low.m_quiet.val();
        self.s1.d.next.invalid = !self.pair.q.val() & self.whole.m_invalid.val();
        self.s1_half_invalid.d.next = false;
        if self.pair.q.val() {
            self.s1_half_invalid.d.next = self.high.m_invalid.val() | self.low.m_invalid.val();
        }
        self.s1.d.next.a = self.s_a.val();
        if self.bitwise.q.val() {
            self.s1.d.next.a = self.s_a.val() & self.s_b.val();
            if self.op.q.val().get_bit(1) {
                self.s1.d.next.a = self.s_a.val() | self.s_b.val();
                if self.op.q.val().get_bit(0) {
                    self.s1.d.next.a = self.s_a.val() ^ self.s_b.val();
                }
            }
        }
        self.s1.d.next.b = self.s_b.val();
        self.s1.d.next.add = self.sum.q.val() | self.repsum.q.val();
        self.s1.d.next.pair = self.pair.q.val();
        self.s1.d.next.repsum = self.repsum.q.val();
        self.s1.d.next.zero = self.op.q.val() == 0;
        self.s1.d.next.other =
            (self.op.q.val().get_bits::<2>(4) != 2) | !self.op.q.val().get_bit(3);

        // Stage 2. The registers still hold the choice for the word before.
        self.take_b.next = self.whole.m_take_b.val();
        if self.s1_index.q.val() {
            self.take_b.next = self.s2_high_b.q.val();
            if self.s2.q.val().tie {
                self.take_b.next = !self.s1_below.q.val();
            }
        }
        if self.s1_neither.q.val() {
            self.take_b.next = false;
        }
        self.s2_high_b.d.next = self.take_b.val();
        self.s2_low_b.d.next = self.take_b.val();
        if self.s1.q.val().pair & !self.s1_neither.q.val() {
            self.s2_high_b.d.next = self.high.m_take_b.val();
            self.s2_low_b.d.next = self.low.m_take_b.val();
        }
        self.s2.d.next = self.s1.q.val();
        if self.s1_half_invalid.q.val() {
            self.s2.d.next.invalid = true;
        }

        // Stage 3. What is not added passes as x + 0; a NaN becomes quiet and loses its sign.
        self.chosen_high.next = self.s2.q.val().a.get_bits::<32>(32);
        if self.s2_high_b.q.val() {
            self.chosen_high.next = self.s2.q.val().b.get_bits::<32>(32);
        }
        self.chosen_low.next = self.s2.q.val().a.get_bits::<32>(0);
        if self.s2_low_b.q.val() {
            self.chosen_low.next = self.s2.q.val().b.get_bits::<32>(0);
        }
        self.chosen.next = (bit_cast::<64, 32>(self.chosen_high.val()) << 32)
            | bit_cast::<64, 32>(self.chosen_low.val());
        self.s3_x.d.next = (bit_cast::<64, 1>(
            (self.chosen.val().get_bit(63) & !self.s2.q.val().quiet & !self.s2.q.val().quiet_high)
                .into(),
        ) << 63)
            | (bit_cast::<64, 8>(self.chosen.val().get_bits::<8>(55)) << 55)
            | (bit_cast::<64, 1>(
                (self.chosen.val().get_bit(54) | self.s2.q.val().quiet_high).into(),
            ) << 54)
            | (bit_cast::<64, 2>(self.chosen.val().get_bits::<2>(52)) << 52)
            | (bit_cast::<64, 1>((self.chosen.val().get_bit(51) | self.s2.q.val().quiet).into())
                << 51)
            | (bit_cast::<64, 19>(self.chosen.val().get_bits::<19>(32)) << 32)
            | (bit_cast::<64, 1>(
                (self.chosen.val().get_bit(31) & !self.s2.q.val().quiet_low).into(),
            ) << 31)
            | (bit_cast::<64, 8>(self.chosen.val().get_bits::<8>(23)) << 23)
            | (bit_cast::<64, 1>(
                (self.chosen.val().get_bit(22) | self.s2.q.val().quiet_low).into(),
            ) << 22)
            | bit_cast::<64, 22>(self.chosen.val().get_bits::<22>(0));
        if self.s2.q.val().repsum {
            self.s3_x.d.next = self.r_a.val();
        }
        self.s3_y.d.next = 0.into();
        if self.s2.q.val().add {
            self.s3_y.d.next = self.s2.q.val().b;
        }
        self.s3.d.next.pair = self.s2.q.val().pair;
        self.s3.d.next.add = self.s2.q.val().add;
        self.s3.d.next.zero = self.s2.q.val().zero | (self.s2.q.val().repsum & self.r_zero.val());
        self.s3.d.next.invalid = self.s2.q.val().invalid;
        self.s3.d.next.other = self.s2.q.val().other;

        // Stage 4.
        self.total.next = ((bit_cast::<65, 32>(self.s3_x.q.val().get_bits::<32>(32)) << 33)
            | (bit_cast::<65, 1>((!self.s3.q.val().pair).into()) << 32)
            | bit_cast::<65, 32>(self.s3_x.q.val().get_bits::<32>(0)))
            + ((bit_cast::<65, 32>(self.s3_y.q.val().get_bits::<32>(32)) << 33)
                | bit_cast::<65, 32>(self.s3_y.q.val().get_bits::<32>(0)));
        self.s4_sum.d.next = (bit_cast::<64, 32>(self.total.val().get_bits::<32>(33)) << 32)
            | bit_cast::<64, 32>(self.total.val().get_bits::<32>(0));
        self.s4_x_sign.d.next = self.s3_x.q.val().get_bit(63);
        self.s4_y_sign.d.next = self.s3_y.q.val().get_bit(63);
        self.s4_x_low_sign.d.next = self.s3_x.q.val().get_bit(31);
        self.s4_y_low_sign.d.next = self.s3_y.q.val().get_bit(31);
        self.s4.d.next = self.s3.q.val();

        // Stage 5.
        self.wraps.next = (self.s4_x_sign.q.val() == self.s4_y_sign.q.val())
            & (self.s4_x_sign.q.val() != self.s4_sum.q.val().get_bit(63));
        self.low_wraps.next = (self.s4_x_low_sign.q.val() == self.s4_y_low_sign.q.val())
            & (self.s4_x_low_sign.q.val() != self.s4_sum.q.val().get_bit(31));
        self.s5.d.next.data = self.s4_sum.q.val();
        self.s5.d.next.code = 0.into();
        if self.s4.q.val().invalid {
            self.s5.d.next.code = self.invalid.val();
        }
        if self.s4.q.val().add & (self.wraps.val() | (self.s4.q.val().pair & self.low_wraps.val()))
        {
            self.s5.d.next.code = self.int_overflow.val();
        }
        if self.s4.q.val().zero {
            self.s5.d.next.data = 0.into();
            self.s5.d.next.code = 0.into();
        }
        self.s5.d.next.other = self.s4.q.val().other;

        // Stage 6.
        self.s6.d.next = self.s5.q.val();
        self.m_data.next = self.s6.q.val().data;
        self.m_code.next = self.s6.q.val().code;
        self.m_other.next = self.s6.q.val().other;
    }
}
