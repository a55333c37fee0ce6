//! All operations of a lane but the floating sum (RED-1 to RED-4, RED-6).

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
        /// The operation is invalid.
        invalid: Bit,
        /// The operation adds.
        add: Bit,
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

        loc: Signal<Local, Bit>,
        is_index: Signal<Local, Bit>,
        /// What the operation is.
        op: DFF<Bits<6>>,
        sum: DFF<Bit>,
        bitwise: DFF<Bit>,
        repsum: DFF<Bit>,
        index: DFF<Bit>,
        floating: DFF<Bit>,
        maximum: DFF<Bit>,
        number: DFF<Bit>,
        a_sign: Signal<Local, Bit>,
        b_sign: Signal<Local, Bit>,
        a_signalling: Signal<Local, Bit>,
        b_signalling: Signal<Local, Bit>,
        below: Signal<Local, Bit>,
        nan_wins: Signal<Local, Bit>,
        by_number: Signal<Local, Bit>,
        by_nan: Signal<Local, Bit>,
        /// The second is what a comparison of numbers would take.
        s1_by_number: DFF<Bit>,
        /// A word is a NaN; then the second is what NaNs would have taken.
        s1_any_nan: DFF<Bit>,
        s1_by_nan: DFF<Bit>,
        /// Neither is taken: words are added or combined bit by bit.
        s1_neither: DFF<Bit>,
        s1_index: DFF<Bit>,
        s1_below: DFF<Bit>,
        s1: DFF<Chosen>,
        s2_take_b: DFF<Bit>,
        s2: DFF<Chosen>,
        chosen: Signal<Local, Bits<64>>,
        s3_x: DFF<Bits<64>>,
        s3_y: DFF<Bits<64>>,
        s3: DFF<Chosen>,
        s4_sum: DFF<Bits<64>>,
        s4_x_sign: DFF<Bit>,
        s4_y_sign: DFF<Bit>,
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
        self.repsum.d.next = self.s_op.val().get_bits::<2>(4) == 3;
        self.sum.d.next = (self.s_op.val().get_bits::<2>(4) == 1) & self.s_op.val().get_bit(2);
        self.loc.next = self.s_op.val().get_bit(1);
        self.is_index.next = self.loc.val() & self.s_word.val().get_bit(0);
        self.index.d.next = self.is_index.val();
        self.floating.d.next = self.s_op.val().get_bit(5) & !self.is_index.val();
        self.maximum.d.next = (self.loc.val() & self.s_word.val().get_bit(1))
            | (!self.loc.val() & self.s_op.val().get_bit(0));
        self.number.d.next = self.s_op.val().get_bit(2);

        // Stage 1.
        // Order: integers and numbers by sign, then magnitude; -0 is below +0. Indexes unsigned.
        self.a_sign.next = self.s_a.val().get_bit(63);
        self.b_sign.next = self.s_b.val().get_bit(63);
        self.below.next = self.s_lt.val() ^ (self.floating.q.val() & self.a_sign.val());
        if self.a_sign.val() ^ self.b_sign.val() {
            self.below.next = self.a_sign.val() ^ self.index.q.val();
        }
        self.by_number.next = self.below.val() ^ !self.maximum.q.val();

        // One NaN wins or loses as such; of two, a signalling one, then the larger payload.
        self.a_signalling.next = self.s_a_nan.val() & !self.s_a.val().get_bit(51);
        self.b_signalling.next = self.s_b_nan.val() & !self.s_b.val().get_bit(51);
        self.nan_wins.next = !self.number.q.val()
            | (self.s_ieee_nan.val() & (self.a_signalling.val() | self.b_signalling.val()));
        self.by_nan.next = self.s_a_nan.val() ^ self.nan_wins.val();
        if self.s_a_nan.val() & self.s_b_nan.val() {
            self.by_nan.next = self.s_low_lt.val();
            if (!self.number.q.val() | self.s_ieee_nan.val())
                & (self.a_signalling.val() ^ self.b_signalling.val())
            {
                self.by_nan.next = self.b_signalling.val();
            }
        }

        self.s1_by_number.d.next = self.by_number.val();
        self.s1_any_nan.d.next = self.floating.q.val() & (self.s_a_nan.val() | self.s_b_nan.val());
        self.s1_by_nan.d.next = self.by_nan.val();
        self.s1_neither.d.next = self.bitwise.q.val() | self.repsum.q.val() | self.sum.q.val();
        self.s1_index.d.next = self.index.q.val();
        self.s1_below.d.next = self.below.val();
        self.s1.d.next.tie = (self.s_eq.val() & (self.a_sign.val() == self.b_sign.val()))
            | (self.floating.q.val()
                & self.s_a_nan.val()
                & self.s_b_nan.val()
                & self.s_low_eq.val()
                & ((self.number.q.val() & !self.s_ieee_nan.val())
                    | (self.a_signalling.val() == self.b_signalling.val())));
        self.s1.d.next.quiet = self.floating.q.val()
            & !self.repsum.q.val()
            & ((self.s_a_nan.val() & self.s_b_nan.val())
                | ((self.s_a_nan.val() | self.s_b_nan.val()) & self.nan_wins.val()));
        self.s1.d.next.invalid = self.floating.q.val()
            & !self.repsum.q.val()
            & (self.a_signalling.val() | self.b_signalling.val());
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
        self.s1.d.next.repsum = self.repsum.q.val();
        self.s1.d.next.zero = self.op.q.val() == 0;
        self.s1.d.next.other =
            (self.op.q.val().get_bits::<2>(4) != 2) | !self.op.q.val().get_bit(3);

        // Stage 2. The registers still hold the choice for the word before.
        self.s2_take_b.d.next = self.s1_by_number.q.val();
        if self.s1_any_nan.q.val() {
            self.s2_take_b.d.next = self.s1_by_nan.q.val();
        }
        if self.s1_index.q.val() {
            self.s2_take_b.d.next = self.s2_take_b.q.val();
            if self.s2.q.val().tie {
                self.s2_take_b.d.next = !self.s1_below.q.val();
            }
        }
        if self.s1_neither.q.val() {
            self.s2_take_b.d.next = false;
        }
        self.s2.d.next = self.s1.q.val();

        // Stage 3. What is not added passes as x + 0; a NaN becomes quiet and loses its sign.
        self.chosen.next = self.s2.q.val().a;
        if self.s2_take_b.q.val() {
            self.chosen.next = self.s2.q.val().b;
        }
        self.s3_x.d.next = self.chosen.val();
        if self.s2.q.val().quiet {
            self.s3_x.d.next = (bit_cast::<64, 11>(self.chosen.val().get_bits::<11>(52)) << 52)
                | (bits::<64>(1) << 51)
                | bit_cast::<64, 51>(self.chosen.val().get_bits::<51>(0));
        }
        if self.s2.q.val().repsum {
            self.s3_x.d.next = self.r_a.val();
        }
        self.s3_y.d.next = 0.into();
        if self.s2.q.val().add {
            self.s3_y.d.next = self.s2.q.val().b;
        }
        self.s3.d.next.add = self.s2.q.val().add;
        self.s3.d.next.zero = self.s2.q.val().zero | (self.s2.q.val().repsum & self.r_zero.val());
        self.s3.d.next.invalid = self.s2.q.val().invalid;
        self.s3.d.next.other = self.s2.q.val().other;

        // Stage 4.
        self.s4_sum.d.next = self.s3_x.q.val() + self.s3_y.q.val();
        self.s4_x_sign.d.next = self.s3_x.q.val().get_bit(63);
        self.s4_y_sign.d.next = self.s3_y.q.val().get_bit(63);
        self.s4.d.next = self.s3.q.val();

        // Stage 5.
        self.s5.d.next.data = self.s4_sum.q.val();
        self.s5.d.next.code = 0.into();
        if self.s4.q.val().invalid {
            self.s5.d.next.code = self.invalid.val();
        }
        if self.s4.q.val().add
            & (self.s4_x_sign.q.val() == self.s4_y_sign.q.val())
            & (self.s4_x_sign.q.val() != self.s4_sum.q.val().get_bit(63))
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
