//! What comes out of the lane, and what is sent of it.

use super::RedAccumulate;
use crate::prelude::*;

impl RedAccumulate {
    /// Clocks 12 to 15: where results go.
    #[hdl_part]
    pub(super) fn place_results(&mut self) {
        // Clocks 12 to 15: where the result goes that the lane shows in the next clock.
        self.moves.d.next =
            self.rec_repsum.q.val() & !self.rec_load.q.val() & !self.rec_differs.q.val();
        self.shifts.d.next = self.rec_repsum.q.val()
            & !self.rec_load.q.val()
            & !self.rec_differs.q.val()
            & !self.rec_special.q.val()
            & !self.rec_larger.q.val();
        self.result_slot.next = bit_cast::<4, 1>((self.t13.q.val() | self.t15.q.val()).into())
            | (bit_cast::<4, 1>((self.t14.q.val() | self.t15.q.val()).into()) << 1);
        self.result_word.next = self.result_slot.val();
        if self.shifts.q.val() {
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
        self.counts_moved.d.next = self.stores.val() & self.moves.q.val();
        self.place.d.next = (bit_cast::<5, 3>(self.rec_index.q.val()) << 2)
            | bit_cast::<5, 2>(self.result_word.val().get_bits::<2>(0));
    }

    /// Clocks 13 to 16: results, their codes; clocks 5 to 8: the words that REPSUM adds to.
    #[hdl_part]
    pub(super) fn store_results(&mut self) {
        // Clocks 13 to 16: results of the lane.
        self.words_differ.d.next = self.rec_differs.q.val();
        self.result.next = self.lane.m_data.val();
        if self.words_differ.q.val() {
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
    }

    /// Clocks 14 to 18: which words are not zero.
    #[hdl_part]
    pub(super) fn mark_filled(&mut self) {
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
    }

    /// What is sent.
    #[hdl_part]
    pub(super) fn show(&mut self) {
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
        self.sent_base.next = self.sent_code.q.val().get_bits::<4>(0);
        if self.sends_live.q.val() {
            self.sent_base.next = self.rc.q.val();
        }
        self.sent_word.next = 0.into();
        if self.sends_live.q.val() & self.counts.q.val() {
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
