//! The values of a reduction engine: accumulators, the lane that combines, result codes.

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
    /// a frame, whose operands are g_* in clock 2 and nothing in 3 to 5.
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
        /// Clocks 1 to 8 of it.
        pub in_pass: Signal<In, Bit>,
        /// The lane is given these two words in the next clock.
        pub g_valid: Signal<In, Bit>,
        /// One of them is nothing.
        pub g_alone: Signal<In, Bit>,
        /// The first.
        pub g_a: Signal<In, Bits<64>>,
        /// The second.
        pub g_b: Signal<In, Bits<64>>,
        /// Clock 2 of a pass: its word 0 is g_b; the others are zero.
        pub p_first: Signal<In, Bit>,
        /// It is to be combined with g_a; the descriptor is empty.
        pub p_pair: Signal<In, Bit>,
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
        data_word: DFF<Bits<2>>,
        /// The accumulator's word for the lane. Only its reset keeps it apart from the index that others read with.
        #[reset] a_place: DFF<Bits<5>>,
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
        /// Results of the lane.
        moves: Signal<Local, Bit>,
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
        /// And its word counts.
        sends_counts: DFF<Bit>,
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

        // Clocks 2 to 5: operands. OR with nothing copies the frame's words.
        self.swap.s.next = self.s_data.val();
        self.is_data.next = self.t2.q.val() | self.t3.q.val() | self.t4.q.val() | self.t5.q.val();
        self.data_word.d.next = self.data_word.q.val() + 1;
        if self.t1.q.val() {
            self.data_word.d.next = 0.into();
        }
        self.a_place.d.next = self.a_place.q.val() + 1;
        if self.t1.q.val() {
            self.a_place.d.next = bit_cast::<5, 3>(self.m_soon.val()) << 2;
        }
        self.words.rd.addr.next = self.a_place.q.val();
        self.l_valid.d.next = self.is_data.val();
        self.l_word.d.next = self.data_word.q.val();
        self.l_op.d.next = self.m_header.val().get_bits::<6>(11);
        self.l_a.d.next = self.words.rd.data.val();
        // Of a frame that follows at once: what is stored now. Sources of operations that differ are not combined.
        if self.near_store.q.val() & self.near_hit.q.val() {
            self.l_a.d.next = self.lane.m_data.val();
        }
        if self.m_load.val() | (self.g_valid.val() & self.g_alone.val()) {
            self.l_op.d.next = self.op_or.val();
            self.l_a.d.next = 0.into();
        }
        self.l_b.d.next = self.swap.m.val();
        if self.in_pass.val() {
            self.l_b.d.next = 0.into();
        }
        // Contributions that are combined together.
        if self.g_valid.val() | self.p_pair.val() {
            self.l_a.d.next = self.g_a.val();
        }
        if self.g_valid.val() | self.p_first.val() {
            self.l_b.d.next = self.g_b.val();
        }
        if (self.g_valid.val() & !self.g_alone.val()) | self.p_pair.val() {
            self.l_op.d.next = self.m_header.val().get_bits::<6>(11);
        }
        if self.g_valid.val() {
            self.l_valid.d.next = true;
            self.l_word.d.next = 0.into();
        }
        self.l_data.next = self.lane.m_data.val();
        self.l_code.next = self.lane.m_code.val();
        self.l_any.d.next = bit_cast::<4, 1>(self.s_data.val().get_bits::<16>(0).any().into())
            | (bit_cast::<4, 1>(self.s_data.val().get_bits::<16>(16).any().into()) << 1)
            | (bit_cast::<4, 1>(self.s_data.val().get_bits::<16>(32).any().into()) << 2)
            | (bit_cast::<4, 1>(self.s_data.val().get_bits::<16>(48).any().into()) << 3);
        self.l_shift.d.next = self.is_data.val();
        if self.l_shift.q.val() {
            self.in_filled.d.next = (self.in_filled.q.val() >> 1)
                | (bit_cast::<4, 1>(self.l_any.q.val().any().into()) << 3);
        }

        // Clocks 2 to 4: REPSUM, how far the two sums are apart.
        self.weights.rd.addr.next = self.m_index.val();
        self.t3_weight.d.next = self.weights.rd.data.val();
        self.ahead.d.next = bit_cast::<9, 8>(self.m_header.val().get_bits::<8>(51) ^ 0x80)
            - bit_cast::<9, 8>(self.weights.rd.data.val() ^ 0x80);
        self.larger.next = !self.ahead.q.val().get_bit(8) & self.ahead.q.val().any();
        self.far.next = self.ahead.q.val().get_bits::<7>(2).any();
        if self.ahead.q.val().get_bit(8) {
            self.far.next = !self.ahead.q.val().get_bits::<7>(2).all();
        }
        // Where the frame's word 0 falls in the accumulator, modulo 16: 0 to 4, or -1 to -4.
        self.offset.next = self.ahead.q.val().get_bits::<4>(0);
        if self.far.val() {
            self.offset.next = 12.into();
            if self.larger.val() {
                self.offset.next = 4.into();
            }
        }
        self.r_next.next = self.r_word.q.val() + 1;
        if self.t4.q.val() {
            self.r_next.next = self.t4_offset.q.val();
        }
        self.r_word.d.next = self.r_next.val();
        self.r_none.d.next = self.r_next.val().get_bits::<2>(2).any();
        if self.t4.q.val() {
            self.r_index.d.next = self.m_index.val();
        }
        if self.t3.q.val() {
            self.t4_larger.d.next = self.larger.val();
            self.t4_offset.d.next = self.offset.val();
            self.t4_weight.d.next = self.t3_weight.q.val();
            self.t4_special.d.next = !self.t3_weight.q.val().get_bit(7)
                & (self.t3_weight.q.val() >= self.minus_inf.val());
            if self.larger.val() {
                self.t4_weight.d.next = self.m_header.val().get_bits::<8>(51);
                self.t4_special.d.next = !self.m_header.val().get_bit(58)
                    & (self.m_header.val().get_bits::<8>(51) >= self.minus_inf.val());
            }
            self.t4_nan.d.next = ((self.t3_weight.q.val() == self.plus_inf.val())
                & (self.m_header.val().get_bits::<8>(51) == self.minus_inf.val()))
                | ((self.t3_weight.q.val() == self.minus_inf.val())
                    & (self.m_header.val().get_bits::<8>(51) == self.plus_inf.val()));
        }

        self.r_zero.d.next = self.t4_special.q.val();
        self.lane.s_valid.next = self.l_valid.q.val();
        self.lane.s_op.next = self.l_op.q.val();
        self.lane.s_word.next = self.l_word.q.val();
        self.lane.s_a.next = self.l_a.q.val();
        self.lane.s_b.next = self.l_b.q.val();
        self.lane.cfg_ieee_nan.next = self.cfg_ieee_nan.val();
        self.lane.r_a.next = self.r_a.q.val();
        self.lane.r_zero.next = self.r_zero.q.val();

        // Clock 5: the record.
        if self.c_valid.val() {
            self.rec_combine.d.next = self.c_combine.val();
            self.rec_first.d.next = self.c_first.val();
            self.rec_load.d.next = self.m_load.val();
            self.rec_differs.d.next = self.c_differs.val();
            self.rec_keeps.d.next = self.m_mismatched.val() & !self.m_empty.val();
            self.rec_over.d.next = self.c_over.val();
            self.rec_repsum.d.next = self.m_header.val().get_bits::<6>(11) == self.op_repsum.val();
            self.rec_index.d.next = self.c_index.val();
            self.rec_onehot.d.next = self.c_onehot.val();
            self.rec_rc.d.next = self.m_header.val().get_bits::<4>(47);
            if self.in_pass.val() {
                self.rec_rc.d.next = self.p_rc.val();
            }
            self.rec_weight.d.next = self.t4_weight.q.val();
            if self.t4_nan.q.val() {
                self.rec_weight.d.next = self.nan.val();
            }
            if self.m_mismatched.val() {
                self.rec_weight.d.next = self.t3_weight.q.val();
            }
            if self.c_differs.val() {
                self.rec_weight.d.next = 0.into();
            }
            if self.m_load.val() {
                self.rec_weight.d.next = self.m_header.val().get_bits::<8>(51);
            }
            self.rec_oflow.d.next = self.m_header.val().get_bits::<2>(59);
            self.rec_larger.d.next = self.t4_larger.q.val();
            self.rec_offset.d.next = self.t4_offset.q.val();
            self.rec_distance.d.next = self.t4_offset.q.val().get_bits::<3>(0);
            if !self.t4_larger.q.val() {
                self.rec_distance.d.next = bits::<3>(0) - self.t4_offset.q.val().get_bits::<3>(0);
            }
            self.rec_special.d.next = self.t4_special.q.val();
            self.rec_nan.d.next = self.t4_nan.q.val();
        }
        self.weights.wr.en.next = self.t6.q.val() & self.rec_combine.q.val();
        self.weights.wr.addr.next = self.rec_index.q.val();
        self.weights.wr.data.next = self.rec_weight.q.val();
        self.weights_q.wr.en.next = self.t6.q.val() & self.rec_combine.q.val();
        self.weights_q.wr.addr.next = self.rec_index.q.val();
        self.weights_q.wr.data.next = self.rec_weight.q.val();

        // Clocks 8 to 11: sources.
        if self.t8.q.val() & !self.in_pass.val() {
            self.source.d.next = self.swap.m.val().get_bits::<32>(0);
        }
        self.sources.wr.en.next =
            self.t10.q.val() & self.rec_combine.q.val() & self.rec_first.q.val();
        self.sources.wr.addr.next = self.rec_index.q.val();
        self.sources.wr.data.next = self.source.q.val();
        self.sources.rd.addr.next = self.rec_index.q.val();
        self.first_source.d.next = self.sources.rd.data.val();

        // Clocks 8 to 12: the result code before the words of this frame.
        self.codes.rd.addr.next = self.rec_index.q.val();
        self.filled.rd.addr.next = self.rec_index.q.val();
        self.t11_code.d.next = self.codes.rd.data.val();
        self.t11_filled.d.next = self.filled.rd.data.val();
        self.dropped_mask.next = !(bits::<4>(0xf) << self.rec_distance.q.val());
        self.t12_large.d.next = self.t11_code.q.val();
        self.t12_small.d.next =
            bit_cast::<6, 4>(self.rec_rc.q.val()) | (bit_cast::<6, 2>(self.rec_oflow.q.val()) << 4);
        self.t12_inexact.d.next =
            (self.in_filled.q.val() & self.dropped_mask.val()).any() & !self.rec_special.q.val();
        if self.rec_larger.q.val() {
            self.t12_small.d.next = self.t11_code.q.val();
            self.t12_large.d.next = bit_cast::<6, 4>(self.rec_rc.q.val())
                | (bit_cast::<6, 2>(self.rec_oflow.q.val()) << 4);
            self.t12_inexact.d.next = (self.t11_filled.q.val() & self.dropped_mask.val()).any()
                & !self.rec_special.q.val();
        }
        self.small_over.next = self.t12_small.q.val().get_bits::<4>(0) == self.int_overflow.val();
        self.small_kept.next =
            bit_cast::<3, 2>(self.t12_small.q.val().get_bits::<2>(4)) >= self.rec_distance.q.val();
        self.small_rc.next = self.t12_small.q.val().get_bits::<4>(0);
        if self.rec_repsum.q.val() & self.small_over.val() & !self.small_kept.val() {
            self.small_rc.next = self.inexact.val();
        }
        self.base_rc.next = self.t12_large.q.val().get_bits::<4>(0);
        if self.small_rc.val() > self.t12_large.q.val().get_bits::<4>(0) {
            self.base_rc.next = self.small_rc.val();
        }
        self.base_repsum.next = self.base_rc.val();
        if self.rec_nan.q.val() & (self.base_rc.val() < self.invalid.val()) {
            self.base_repsum.next = self.invalid.val();
        }
        if self.t12_inexact.q.val() & (self.base_rc.val() < self.inexact.val()) {
            self.base_repsum.next = self.inexact.val();
        }
        self.large_over.next = self.t12_large.q.val().get_bits::<4>(0) == self.int_overflow.val();
        self.small_moves.next = self.small_over.val() & self.small_kept.val();
        self.small_word.next =
            self.t12_small.q.val().get_bits::<2>(4) - self.rec_distance.q.val().get_bits::<2>(0);
        self.b_rc.d.next = self.base_rc.val();
        self.b_repsum.d.next = self.base_repsum.val();
        self.b_any.d.next = self.large_over.val() | self.small_moves.val();
        self.b_word.d.next = 0.into();
        if self.large_over.val() {
            self.b_word.d.next = self.t12_large.q.val().get_bits::<2>(4);
        }
        if self.small_moves.val()
            & (!self.large_over.val()
                | (self.small_word.val() > self.t12_large.q.val().get_bits::<2>(4)))
        {
            self.b_word.d.next = self.small_word.val();
        }
        self.b_keeps.d.next = self.t11_code.q.val().get_bits::<4>(0);
        if self.rec_rc.q.val() > self.t11_code.q.val().get_bits::<4>(0) {
            self.b_keeps.d.next = self.rec_rc.q.val();
        }
        self.start_rc.next = self.b_rc.q.val();
        self.start_any.next = false;
        self.start_word.next = 0.into();
        if self.rec_repsum.q.val() {
            self.start_rc.next = self.b_repsum.q.val();
            self.start_any.next = self.b_any.q.val();
            self.start_word.next = self.b_word.q.val();
        }
        if self.rec_differs.q.val() {
            self.start_rc.next = self.mismatch.val();
            self.start_any.next = false;
        }
        if self.rec_keeps.q.val() {
            self.start_rc.next = self.b_keeps.q.val();
            self.start_any.next = true;
            self.start_word.next = self.t11_code.q.val().get_bits::<2>(4);
        }
        if self.rec_load.q.val() {
            self.start_rc.next = self.rec_rc.q.val();
            self.start_any.next = true;
            self.start_word.next = self.rec_oflow.q.val();
        }

        // Clocks 12 to 15: where the result goes that the lane shows in the next clock.
        self.moves.next =
            self.rec_repsum.q.val() & !self.rec_load.q.val() & !self.rec_differs.q.val();
        self.result_slot.next = bit_cast::<4, 1>((self.t13.q.val() | self.t15.q.val()).into())
            | (bit_cast::<4, 1>((self.t14.q.val() | self.t15.q.val()).into()) << 1);
        self.result_word.next = self.result_slot.val();
        if self.moves.val() & !self.rec_special.q.val() & !self.rec_larger.q.val() {
            self.result_word.next = self.result_slot.val() + self.rec_offset.q.val();
        }
        self.stores.next =
            (self.t12.q.val() | self.t13.q.val() | self.t14.q.val() | self.t15.q.val())
                & self.rec_combine.q.val()
                & !self.rec_keeps.q.val()
                & !self.result_word.val().get_bit(3);
        self.store.d.next = self.stores.val();
        self.follows_at.next =
            self.stores.val() & self.t4.q.val() & self.t15.q.val() & self.near_hit.q.val();
        self.follows.d.next = self.follows_at.val()
            & (self.result_word.val().get_bits::<2>(0) == self.r_next.val().get_bits::<2>(0));
        if self.t1.q.val() {
            self.near.d.next = self.t12.q.val();
            self.near_hit.d.next = (self.m_hit.val() & self.rec_onehot.q.val()).any();
        }
        self.near_store.d.next = self.stores.val()
            & ((self.t1.q.val() & self.t12.q.val()) | (!self.t1.q.val() & self.near.q.val()));
        self.counts.d.next = self.stores.val() & !self.rec_differs.q.val();
        self.counts_moved.d.next = self.stores.val() & self.moves.val();
        self.place.d.next = (bit_cast::<5, 3>(self.rec_index.q.val()) << 2)
            | bit_cast::<5, 2>(self.result_word.val().get_bits::<2>(0));

        // Clocks 13 to 16: results of the lane.
        self.result.next = self.lane.m_data.val();
        if self.rec_differs.q.val() {
            self.result.next = 0.into();
            if self.t13.q.val() {
                self.result.next = (bit_cast::<64, 32>(self.first_source.q.val()) << 32)
                    | bit_cast::<64, 32>(self.source.q.val());
            }
        }
        self.words.wr.en.next = self.store.q.val();
        self.words.wr.addr.next = self.place.q.val();
        self.words.wr.data.next = self.result.val();
        self.words_r.wr.en.next = self.store.q.val();
        self.words_r.wr.addr.next = self.place.q.val();
        self.words_r.wr.data.next = self.result.val();
        self.words_q.wr.en.next = self.store.q.val();
        self.words_q.wr.addr.next = self.place.q.val();
        self.words_q.wr.data.next = self.result.val();

        // Clocks 5 to 8: the accumulator's word that goes with the frame's.
        self.r_place.next = (bit_cast::<5, 3>(self.r_index.q.val()) << 2)
            | bit_cast::<5, 2>(self.r_word.q.val().get_bits::<2>(0));
        self.words_r.rd.addr.next = self.r_place.val();
        self.r_a.d.next = self.words_r.rd.data.val();
        // The last word of the frame before, if that has moved it, is written in the clock in which the first is read.
        if self.follows.q.val() {
            self.r_a.d.next = self.lane.m_data.val();
        }
        if self.r_none.q.val() {
            self.r_a.d.next = 0.into();
        }

        self.code.next = 0.into();
        if self.counts.q.val() {
            self.code.next = self.lane.m_code.val().get_bits::<3>(0);
        }
        // No word gives a code above 6, so bit 3 stands for itself.
        self.live_rc.next = self.rc.q.val();
        if !self.rc.q.val().get_bit(3) & (self.code.val() > self.rc.q.val().get_bits::<3>(0)) {
            self.live_rc.next = bit_cast::<4, 3>(self.code.val());
        }
        self.live_any.next = self.over_any.q.val();
        self.live_word.next = self.over_word.q.val();
        if self.counts_moved.q.val()
            & (self.lane.m_code.val() == self.int_overflow.val())
            & (!self.over_any.q.val()
                | (self.place.q.val().get_bits::<2>(0) > self.over_word.q.val()))
        {
            self.live_any.next = true;
            self.live_word.next = self.place.q.val().get_bits::<2>(0);
        }
        self.rc.d.next = self.live_rc.val();
        self.over_any.d.next = self.live_any.val();
        self.over_word.d.next = self.live_word.val();
        if self.t12.q.val() {
            self.rc.d.next = self.start_rc.val();
            if self.rec_over.q.val() & (self.start_rc.val() < self.over_count.val()) {
                self.rc.d.next = self.over_count.val();
            }
            self.over_any.d.next = self.start_any.val();
            self.over_word.d.next = self.start_word.val();
        }
        self.live_code.next = bit_cast::<6, 4>(self.live_rc.val());
        if self.live_any.val() {
            self.live_code.next = bit_cast::<6, 4>(self.live_rc.val())
                | (bit_cast::<6, 2>(self.live_word.val()) << 4);
        }
        self.codes.wr.en.next = self.t16.q.val() & self.rec_combine.q.val();
        self.codes.wr.addr.next = self.rec_index.q.val();
        self.codes.wr.data.next = self.live_code.val();
        self.codes_q.wr.en.next = self.t16.q.val() & self.rec_combine.q.val();
        self.codes_q.wr.addr.next = self.rec_index.q.val();
        self.codes_q.wr.data.next = self.live_code.val();

        // Clocks 14 to 18: which words are not zero.
        self.late_store.d.next = self.store.q.val();
        self.late_word.d.next = self.place.q.val().get_bits::<2>(0);
        self.late_any.d.next =
            bit_cast::<4, 1>(self.lane.m_data.val().get_bits::<16>(0).any().into())
                | (bit_cast::<4, 1>(self.lane.m_data.val().get_bits::<16>(16).any().into()) << 1)
                | (bit_cast::<4, 1>(self.lane.m_data.val().get_bits::<16>(32).any().into()) << 2)
                | (bit_cast::<4, 1>(self.lane.m_data.val().get_bits::<16>(48).any().into()) << 3);
        self.w_onehot.next = bits::<4>(1) << self.late_word.q.val();
        self.w_before.next = self.w_filled.q.val();
        if self.t14.q.val() {
            self.w_before.next = self.t11_filled.q.val();
        }
        self.w_filled.d.next = self.w_before.val();
        if self.late_store.q.val() {
            self.w_filled.d.next = self.w_before.val() & !self.w_onehot.val();
            if self.late_any.q.val().any() {
                self.w_filled.d.next = self.w_before.val() | self.w_onehot.val();
            }
        }
        if self.t16.q.val() {
            self.late_combine.d.next = self.rec_combine.q.val();
            self.late_index.d.next = self.rec_index.q.val();
        }
        self.filled.wr.en.next = self.t18.q.val() & self.late_combine.q.val();
        self.filled.wr.addr.next = self.late_index.q.val();
        self.filled.wr.data.next = self.w_filled.q.val();

        // Sending. The frame's words may be read just before they are written: w_* says so. The code of the last
        // one is wanted in the clock in which it is written.
        self.q_place.next =
            (bit_cast::<5, 3>(self.q_index.val()) << 2) | bit_cast::<5, 2>(self.q_word.val());
        self.words_q.rd.addr.next = self.q_place.val();
        self.q_data.next = self.words_q.rd.data.val();
        self.late_data.d.next = self.result.val();
        self.w_valid.next = self.store.q.val();
        self.w_place.next = self.place.q.val();
        self.w_data.next = self.late_data.q.val();
        self.codes_q.rd.addr.next = self.q_index.val();
        self.sent_code.d.next = self.codes_q.rd.data.val();
        self.sends_here.next = (self.t15.q.val() | self.t16.q.val())
            & self.rec_combine.q.val()
            & (self.rec_index.q.val() == self.q_index.val());
        self.shown.next = self.sent_code.q.val();
        if self.sends_live.q.val() {
            self.shown.next = self.live_code.val();
        }
        // As live_rc, but the choice comes first.
        self.sends_live.d.next = self.sends_here.val();
        self.sends_counts.d.next =
            self.sends_here.val() & self.stores.val() & !self.rec_differs.q.val();
        self.sent_base.next = self.sent_code.q.val().get_bits::<4>(0);
        if self.sends_live.q.val() {
            self.sent_base.next = self.rc.q.val();
        }
        self.sent_word.next = 0.into();
        if self.sends_counts.q.val() {
            self.sent_word.next = self.lane.m_code.val().get_bits::<3>(0);
        }
        self.q_rc.next = self.sent_base.val();
        if !self.sent_base.val().get_bit(3)
            & (self.sent_word.val() > self.sent_base.val().get_bits::<3>(0))
        {
            self.q_rc.next = bit_cast::<4, 3>(self.sent_word.val());
        }
        self.q_oflow.next = self.shown.val().get_bits::<2>(4);
        self.weights_q.rd.addr.next = self.q_index.val();
        self.q_m.next = self.weights_q.rd.data.val();
    }
}
