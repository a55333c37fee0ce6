//! The values of a reduction engine: accumulators, the lane that combines, result codes.

mod codes;
mod operands;
mod results;

use crate::blocks::AsyncRam;
use crate::prelude::*;
use crate::red::RedLane;
use crate::switch::ByteSwap;
use tributary_protocol::red::ops::{MINUS_INF, NAN, Op, PLUS_INF, Rc};

hdl_module! {
    /// Accumulators of a reduction engine (8 descriptors of 4 words) and the lane that combines.
    /// The accumulator is read with each word of a frame and written 11 clocks later. Frames are 11
    /// clocks apart: each word that the next one reads is just being written, and forwarded. REPSUM
    /// moves words and reads them three clocks later; there only the last is forwarded, if it has
    /// moved.
    /// Clocks, counted from the first word of the frame (0):
    ///   2 to 5 data words, operands registered   2, 3 REPSUM: distance of the two sums
    ///   5 to 8 REPSUM: operands, moved by the distance   6 record of the decision
    ///   8 source address   8 to 12 result code so far   13 to 16 results written, result code of
    ///   each word   18 words that are not zero.
    /// q_rc and q_oflow show a code in the very clock in which it is written, q_data one
    /// clock later, and w_* what was written.
    /// Contributions that are combined together use the lane by g_*, while no frame comes in; then they make a pass, with the clocks of
    /// a frame, whose word 0 is what the lane shows in clock 2 and the others zero. Each operand is one of four words or nothing; which
    /// one is known from registers, but for o_valid, so that a word passes two LUTs.
    /// Nothing stalls here. Values whose result waits to be sent do not change, but for the words and codes still in the
    /// lane when it was decided to send (clock 5): the last is written in clock 16. Who holds a word of q_data goes by w_*.
    #[module("red_accumulate_d8")]
    pub struct RedAccumulate {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset: frames under way leave no trace.
        pub rst: Signal<In, Bit>,
        /// First word of a frame.
        pub s_first: Signal<In, Bit>,
        /// Word: 2 to 5 data, 8 source address.
        pub s_data: Signal<In, Bits<64>>,
        /// MINNUM and MAXNUM as IEEE 754: a signalling NaN gives a NaN.
        pub cfg_ieee_nan: Signal<In, Bit>,
        /// Clock 1: descriptor of the frame; the same, one-hot, zero if it has none.
        pub m_soon: Signal<In, Bits<3>>,
        /// One-hot.
        pub m_hit: Signal<In, Bits<8>>,
        /// From clock 2: descriptor of the frame.
        pub m_index: Signal<In, Bits<3>>,
        /// It has no contribution yet.
        pub m_empty: Signal<In, Bit>,
        /// The frame's values replace what it has.
        pub m_load: Signal<In, Bit>,
        /// Its operations disagree.
        pub m_mismatched: Signal<In, Bit>,
        /// Reduction header, most significant byte first.
        pub m_header: Signal<In, Bits<64>>,
        /// Clock 5: a decision.
        pub c_valid: Signal<In, Bit>,
        /// The frame is combined.
        pub c_combine: Signal<In, Bit>,
        /// It is the first contribution.
        pub c_first: Signal<In, Bit>,
        /// Its operation differs from the first one's.
        pub c_differs: Signal<In, Bit>,
        /// More have contributed than the wait count says.
        pub c_over: Signal<In, Bit>,
        /// Its descriptor.
        pub c_index: Signal<In, Bits<3>>,
        /// One-hot.
        pub c_onehot: Signal<In, Bits<8>>,
        /// Contributions that are combined together: a pass of all of them begins, clock 0 of a frame.
        pub again: Signal<In, Bit>,
        /// The lane is given two words in the next clock: g_held or g_slot or nothing, and g_other or what it shows or nothing.
        pub g_valid: Signal<In, Bit>,
        /// One of them is nothing.
        pub g_alone: Signal<In, Bit>,
        /// The first is g_held.
        pub g_is_held: Signal<In, Bit>,
        /// It is g_slot; in clock 2 of a pass too, and then the descriptor is empty.
        pub g_is_slot: Signal<In, Bit>,
        /// The second is g_other.
        pub g_is_other: Signal<In, Bit>,
        /// It is what the lane shows; that is word 0 of a pass, too, whose other words are zero.
        pub g_is_lane: Signal<In, Bit>,
        /// A word.
        pub g_held: Signal<In, Bits<64>>,
        /// A word.
        pub g_slot: Signal<In, Bits<64>>,
        /// A word.
        pub g_other: Signal<In, Bits<64>>,
        /// Clocks 1 to 8 of a pass.
        pub in_pass: Signal<In, Bit>,
        /// Until a pass begins the lane is given nothing else.
        pub combines: Signal<In, Bit>,
        /// From before that until clock 7 of the pass: no words of frames.
        pub taken: Signal<In, Bit>,
        /// Clock 5 of a pass: its result code.
        pub p_rc: Signal<In, Bits<4>>,
        /// The lane's result.
        pub l_data: Signal<Out, Bits<64>>,
        /// Its code.
        pub l_code: Signal<Out, Bits<4>>,
        /// Descriptor wanted for sending.
        pub q_index: Signal<In, Bits<3>>,
        /// Its word that is wanted.
        pub q_word: Signal<In, Bits<2>>,
        /// The word, in the same clock.
        pub q_data: Signal<Out, Bits<64>>,
        /// A word is written now.
        pub w_valid: Signal<Out, Bit>,
        /// Its descriptor and number.
        pub w_place: Signal<Out, Bits<5>>,
        /// The word that was written in the clock before.
        pub w_data: Signal<Out, Bits<64>>,
        /// Result code of the descriptor.
        pub q_rc: Signal<Out, Bits<4>>,
        /// Most significant word that overflowed (REPSUM).
        pub q_oflow: Signal<Out, Bits<2>>,
        /// Weight of the top word (REPSUM).
        pub q_m: Signal<Out, Bits<8>>,

        lane: RedLane,
        swap: ByteSwap,
        /// Accumulators: for the lane, for REPSUM, for sending.
        words: AsyncRam<64, 5>,
        words_r: AsyncRam<64, 5>,
        words_q: AsyncRam<64, 5>,
        /// Result code 3:0, word that overflowed 5:4.
        codes: AsyncRam<6, 3>,
        codes_q: AsyncRam<6, 3>,
        /// Weight of the top word.
        weights: AsyncRam<8, 3>,
        weights_q: AsyncRam<8, 3>,
        /// Words that are not zero.
        filled: AsyncRam<4, 3>,
        /// Source of the first contribution.
        sources: AsyncRam<32, 3>,

        /// Clock k after the first word.
        #[reset] t1: DFF<Bit>,
        #[reset] t2: DFF<Bit>,
        #[reset] t3: DFF<Bit>,
        #[reset] t4: DFF<Bit>,
        #[reset] t5: DFF<Bit>,
        #[reset] t6: DFF<Bit>,
        #[reset] t7: DFF<Bit>,
        #[reset] t8: DFF<Bit>,
        #[reset] t9: DFF<Bit>,
        #[reset] t10: DFF<Bit>,
        #[reset] t11: DFF<Bit>,
        #[reset] t12: DFF<Bit>,
        #[reset] t13: DFF<Bit>,
        #[reset] t14: DFF<Bit>,
        #[reset] t15: DFF<Bit>,
        #[reset] t16: DFF<Bit>,
        #[reset] t17: DFF<Bit>,
        #[reset] t18: DFF<Bit>,
        is_data: Signal<Local, Bit>,
        /// The first operand is the accumulator's word, the word that is stored now.
        a_is_word: Signal<Local, Bit>,
        a_is_near: Signal<Local, Bit>,
        /// What each operand may be, else zero.
        a_word: Signal<Local, Bits<64>>,
        a_near: Signal<Local, Bits<64>>,
        a_held: Signal<Local, Bits<64>>,
        a_slot: Signal<Local, Bits<64>>,
        b_frame: Signal<Local, Bits<64>>,
        b_other: Signal<Local, Bits<64>>,
        b_lane: Signal<Local, Bits<64>>,
        data_word: DFF<Bits<2>>,
        /// The accumulator's word for the lane, and where its weight is. Only their resets keep them apart from the index that others
        /// read with.
        #[reset] a_place: DFF<Bits<5>>,
        #[reset] weight_at: DFF<Bits<3>>,
        /// Clocks 3 to 6: operands.
        l_valid: DFF<Bit>,
        l_word: DFF<Bits<2>>,
        l_op: DFF<Bits<6>>,
        l_a: DFF<Bits<64>>,
        l_b: DFF<Bits<64>>,
        /// Which quarters of l_b are not zero.
        l_any: DFF<Bits<4>>,
        /// Data words of the frame that are not zero, the last in bit 3.
        in_filled: DFF<Bits<4>>,
        l_shift: DFF<Bit>,
        /// Clock 3: weight of the accumulator, how far the frame's is ahead.
        t3_weight: DFF<Bits<8>>,
        ahead: DFF<Bits<9>>,
        larger: Signal<Local, Bit>,
        far: Signal<Local, Bit>,
        offset: Signal<Local, Bits<4>>,
        /// Clock 4: the frame's sum is the larger, offset (4 for more), larger weight, special, +inf with -inf.
        t4_larger: DFF<Bit>,
        t4_offset: DFF<Bits<4>>,
        t4_weight: DFF<Bits<8>>,
        t4_special: DFF<Bit>,
        t4_nan: DFF<Bit>,
        /// Clocks 5 to 8: word of the accumulator that goes with the frame's, 4 and above for none.
        r_word: DFF<Bits<4>>,
        r_next: Signal<Local, Bits<4>>,
        r_none: DFF<Bit>,
        r_index: DFF<Bits<3>>,
        r_place: Signal<Local, Bits<5>>,
        q_place: Signal<Local, Bits<5>>,
        /// Clocks 6 to 9: REPSUM operand.
        r_a: DFF<Bits<64>>,
        r_zero: DFF<Bit>,
        /// Record of the frame, clock 6 to 16.
        #[reset] rec_combine: DFF<Bit>,
        rec_first: DFF<Bit>,
        rec_load: DFF<Bit>,
        rec_differs: DFF<Bit>,
        rec_keeps: DFF<Bit>,
        /// Of these, that operations differ, a clock later for the words of the result.
        words_differ: DFF<Bit>,
        rec_over: DFF<Bit>,
        rec_repsum: DFF<Bit>,
        rec_index: DFF<Bits<3>>,
        rec_onehot: DFF<Bits<8>>,
        rec_rc: DFF<Bits<4>>,
        rec_weight: DFF<Bits<8>>,
        rec_oflow: DFF<Bits<2>>,
        rec_larger: DFF<Bit>,
        rec_distance: DFF<Bits<3>>,
        rec_offset: DFF<Bits<4>>,
        rec_special: DFF<Bit>,
        rec_nan: DFF<Bit>,
        /// Clocks 17 and 18: what of it is still wanted.
        late_combine: DFF<Bit>,
        late_index: DFF<Bits<3>>,
        /// Clock 9: source of the frame.
        source: DFF<Bits<32>>,
        first_source: DFF<Bits<32>>,
        /// From clock 9: what the descriptor had.
        t11_code: DFF<Bits<6>>,
        t11_filled: DFF<Bits<4>>,
        dropped_mask: Signal<Local, Bits<4>>,
        /// From clock 10: code and overflow of the larger and of the smaller sum, words dropped.
        t12_large: DFF<Bits<6>>,
        t12_small: DFF<Bits<6>>,
        t12_inexact: DFF<Bit>,
        small_over: Signal<Local, Bit>,
        small_kept: Signal<Local, Bit>,
        small_rc: Signal<Local, Bits<4>>,
        base_rc: Signal<Local, Bits<4>>,
        large_over: Signal<Local, Bit>,
        small_moves: Signal<Local, Bit>,
        small_word: Signal<Local, Bits<2>>,
        start_rc: Signal<Local, Bits<4>>,
        start_any: Signal<Local, Bit>,
        start_word: Signal<Local, Bits<2>>,
        base_repsum: Signal<Local, Bits<4>>,
        /// Clock 12: code so far, that of REPSUM with its overflow, that of operations that disagree.
        b_rc: DFF<Bits<4>>,
        b_repsum: DFF<Bits<4>>,
        b_any: DFF<Bit>,
        b_word: DFF<Bits<2>>,
        b_keeps: DFF<Bits<4>>,
        /// From clock 13: result code, word that overflowed.
        rc: DFF<Bits<4>>,
        over_any: DFF<Bit>,
        over_word: DFF<Bits<2>>,
        /// From clock 7: its words are those of a REPSUM; they go to other places than the frame's.
        moves: DFF<Bit>,
        shifts: DFF<Bit>,
        /// Results of the lane.
        result_slot: Signal<Local, Bits<4>>,
        result_word: Signal<Local, Bits<4>>,
        stores: Signal<Local, Bit>,
        /// Clocks 13 to 16: the result is stored, its code counts, it is a word of a REPSUM, where it goes.
        #[reset] store: DFF<Bit>,
        /// The next frame is of the same descriptor, right behind, and its first word is read now; it is the one that
        /// is stored.
        follows_at: Signal<Local, Bit>,
        follows: DFF<Bit>,
        /// The next frame came 11 clocks later; each word that it reads is the one that is stored.
        near: DFF<Bit>,
        /// It is of the same descriptor.
        near_hit: DFF<Bit>,
        #[reset] near_store: DFF<Bit>,
        #[reset] counts: DFF<Bit>,
        counts_moved: DFF<Bit>,
        place: DFF<Bits<5>>,
        code: Signal<Local, Bits<3>>,
        live_rc: Signal<Local, Bits<4>>,
        live_any: Signal<Local, Bit>,
        live_word: Signal<Local, Bits<2>>,
        live_code: Signal<Local, Bits<6>>,
        result: Signal<Local, Bits<64>>,
        /// The word written in the clock before: it was, its number.
        #[reset] late_store: DFF<Bit>,
        late_word: DFF<Bits<2>>,
        /// Words written, not zero; clock 15 to 18.
        w_filled: DFF<Bits<4>>,
        w_onehot: Signal<Local, Bits<4>>,
        w_before: Signal<Local, Bits<4>>,
        /// The word written in the clock before.
        late_data: DFF<Bits<64>>,
        /// Which quarters of the lane's result were not zero then.
        late_any: DFF<Bits<4>>,
        /// Code of the result that is sent; the lane has it.
        sent_code: DFF<Bits<6>>,
        sends_live: DFF<Bit>,
        sends_here: Signal<Local, Bit>,
        sent_base: Signal<Local, Bits<4>>,
        sent_word: Signal<Local, Bits<3>>,
        shown: Signal<Local, Bits<6>>,
        /// Operations.
        op_or: Param<{ Op::Or as usize }, 6>,
        op_repsum: Param<{ Op::FltRepsum as usize }, 6>,
        /// Weights of special values.
        minus_inf: Param<{ MINUS_INF as usize }, 8>,
        plus_inf: Param<{ PLUS_INF as usize }, 8>,
        nan: Param<{ NAN as usize }, 8>,
        /// Result codes.
        invalid: Param<{ Rc::FLT_INVALID.code() as usize }, 4>,
        inexact: Param<{ Rc::REPSUM_INEXACT.code() as usize }, 4>,
        int_overflow: Param<{ Rc::INT_OVERFLOW.code() as usize }, 4>,
        over_count: Param<{ Rc::CONTR_OVERFLOW.code() as usize }, 4>,
        mismatch: Param<{ Rc::OP_MISMATCH.code() as usize }, 4>,
    }
}

impl Logic for RedAccumulate {
    #[hdl_gen]
    fn update(&mut self) {
        self.t1.d.next = self.s_first.val() | self.again.val();
        self.t2.d.next = self.t1.q.val();
        self.t3.d.next = self.t2.q.val();
        self.t4.d.next = self.t3.q.val();
        self.t5.d.next = self.t4.q.val();
        self.t6.d.next = self.t5.q.val();
        self.t7.d.next = self.t6.q.val();
        self.t8.d.next = self.t7.q.val();
        self.t9.d.next = self.t8.q.val();
        self.t10.d.next = self.t9.q.val();
        self.t11.d.next = self.t10.q.val();
        self.t12.d.next = self.t11.q.val();
        self.t13.d.next = self.t12.q.val();
        self.t14.d.next = self.t13.q.val();
        self.t15.d.next = self.t14.q.val();
        self.t16.d.next = self.t15.q.val();
        self.t17.d.next = self.t16.q.val();
        self.t18.d.next = self.t17.q.val();

        self.take_operands();
        self.find_distance();
        self.keep_record();
        self.begin_code();
        self.place_results();
        self.store_results();
        self.mark_filled();
        self.show();
    }
}
