//! All operations of a lane but the floating sum (RED-1 to RED-4, RED-6).

use crate::prelude::*;
use tributary_protocol::red::Rc;

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
        s1_tie: DFF<Bit>,
        s1_quiet: DFF<Bit>,
        s1_invalid: DFF<Bit>,
        s1_a: DFF<Bits<64>>,
        s1_b: DFF<Bits<64>>,
        s1_add: DFF<Bit>,
        s1_repsum: DFF<Bit>,
        s1_zero: DFF<Bit>,
        s1_other: DFF<Bit>,
        s2_take_b: DFF<Bit>,
        s2_tie: DFF<Bit>,
        s2_quiet: DFF<Bit>,
        s2_a: DFF<Bits<64>>,
        s2_b: DFF<Bits<64>>,
        s2_add: DFF<Bit>,
        s2_repsum: DFF<Bit>,
        s2_zero: DFF<Bit>,
        s2_invalid: DFF<Bit>,
        s2_other: DFF<Bit>,
        chosen: Signal<Local, Bits<64>>,
        s3_x: DFF<Bits<64>>,
        s3_y: DFF<Bits<64>>,
        s3_add: DFF<Bit>,
        s3_zero: DFF<Bit>,
        s3_invalid: DFF<Bit>,
        s3_other: DFF<Bit>,
        s4_sum: DFF<Bits<64>>,
        s4_x_sign: DFF<Bit>,
        s4_y_sign: DFF<Bit>,
        s4_add: DFF<Bit>,
        s4_zero: DFF<Bit>,
        s4_invalid: DFF<Bit>,
        s4_other: DFF<Bit>,
        s5_data: DFF<Bits<64>>,
        s5_code: DFF<Bits<4>>,
        s5_other: DFF<Bit>,
        s6_data: DFF<Bits<64>>,
        s6_code: DFF<Bits<4>>,
        s6_other: DFF<Bit>,
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
        self.s1_tie.d.next = (self.s_eq.val() & (self.a_sign.val() == self.b_sign.val()))
            | (self.floating.q.val()
                & self.s_a_nan.val()
                & self.s_b_nan.val()
                & self.s_low_eq.val()
                & ((self.number.q.val() & !self.s_ieee_nan.val())
                    | (self.a_signalling.val() == self.b_signalling.val())));
        self.s1_quiet.d.next = self.floating.q.val()
            & !self.repsum.q.val()
            & ((self.s_a_nan.val() & self.s_b_nan.val())
                | ((self.s_a_nan.val() | self.s_b_nan.val()) & self.nan_wins.val()));
        self.s1_invalid.d.next = self.floating.q.val()
            & !self.repsum.q.val()
            & (self.a_signalling.val() | self.b_signalling.val());
        self.s1_a.d.next = self.s_a.val();
        if self.bitwise.q.val() {
            self.s1_a.d.next = self.s_a.val() & self.s_b.val();
            if self.op.q.val().get_bit(1) {
                self.s1_a.d.next = self.s_a.val() | self.s_b.val();
                if self.op.q.val().get_bit(0) {
                    self.s1_a.d.next = self.s_a.val() ^ self.s_b.val();
                }
            }
        }
        self.s1_b.d.next = self.s_b.val();
        self.s1_add.d.next = self.sum.q.val() | self.repsum.q.val();
        self.s1_repsum.d.next = self.repsum.q.val();
        self.s1_zero.d.next = self.op.q.val() == 0;
        self.s1_other.d.next =
            (self.op.q.val().get_bits::<2>(4) != 2) | !self.op.q.val().get_bit(3);

        // Stage 2. The registers still hold the choice for the word before.
        self.s2_take_b.d.next = self.s1_by_number.q.val();
        if self.s1_any_nan.q.val() {
            self.s2_take_b.d.next = self.s1_by_nan.q.val();
        }
        if self.s1_index.q.val() {
            self.s2_take_b.d.next = self.s2_take_b.q.val();
            if self.s2_tie.q.val() {
                self.s2_take_b.d.next = !self.s1_below.q.val();
            }
        }
        if self.s1_neither.q.val() {
            self.s2_take_b.d.next = false;
        }
        self.s2_tie.d.next = self.s1_tie.q.val();
        self.s2_quiet.d.next = self.s1_quiet.q.val();
        self.s2_a.d.next = self.s1_a.q.val();
        self.s2_b.d.next = self.s1_b.q.val();
        self.s2_add.d.next = self.s1_add.q.val();
        self.s2_repsum.d.next = self.s1_repsum.q.val();
        self.s2_zero.d.next = self.s1_zero.q.val();
        self.s2_invalid.d.next = self.s1_invalid.q.val();
        self.s2_other.d.next = self.s1_other.q.val();

        // Stage 3. What is not added passes as x + 0; a NaN becomes quiet and loses its sign.
        self.chosen.next = self.s2_a.q.val();
        if self.s2_take_b.q.val() {
            self.chosen.next = self.s2_b.q.val();
        }
        self.s3_x.d.next = self.chosen.val();
        if self.s2_quiet.q.val() {
            self.s3_x.d.next = (bit_cast::<64, 11>(self.chosen.val().get_bits::<11>(52)) << 52)
                | (bits::<64>(1) << 51)
                | bit_cast::<64, 51>(self.chosen.val().get_bits::<51>(0));
        }
        if self.s2_repsum.q.val() {
            self.s3_x.d.next = self.r_a.val();
        }
        self.s3_y.d.next = 0.into();
        if self.s2_add.q.val() {
            self.s3_y.d.next = self.s2_b.q.val();
        }
        self.s3_add.d.next = self.s2_add.q.val();
        self.s3_zero.d.next = self.s2_zero.q.val() | (self.s2_repsum.q.val() & self.r_zero.val());
        self.s3_invalid.d.next = self.s2_invalid.q.val();
        self.s3_other.d.next = self.s2_other.q.val();

        // Stage 4.
        self.s4_sum.d.next = self.s3_x.q.val() + self.s3_y.q.val();
        self.s4_x_sign.d.next = self.s3_x.q.val().get_bit(63);
        self.s4_y_sign.d.next = self.s3_y.q.val().get_bit(63);
        self.s4_add.d.next = self.s3_add.q.val();
        self.s4_zero.d.next = self.s3_zero.q.val();
        self.s4_invalid.d.next = self.s3_invalid.q.val();
        self.s4_other.d.next = self.s3_other.q.val();

        // Stage 5.
        self.s5_data.d.next = self.s4_sum.q.val();
        self.s5_code.d.next = 0.into();
        if self.s4_invalid.q.val() {
            self.s5_code.d.next = self.invalid.val();
        }
        if self.s4_add.q.val()
            & (self.s4_x_sign.q.val() == self.s4_y_sign.q.val())
            & (self.s4_x_sign.q.val() != self.s4_sum.q.val().get_bit(63))
        {
            self.s5_code.d.next = self.int_overflow.val();
        }
        if self.s4_zero.q.val() {
            self.s5_data.d.next = 0.into();
            self.s5_code.d.next = 0.into();
        }
        self.s5_other.d.next = self.s4_other.q.val();

        // Stage 6.
        self.s6_data.d.next = self.s5_data.q.val();
        self.s6_code.d.next = self.s5_code.q.val();
        self.s6_other.d.next = self.s5_other.q.val();
        self.m_data.next = self.s6_data.q.val();
        self.m_code.next = self.s6_code.q.val();
        self.m_other.next = self.s6_other.q.val();
    }
}
