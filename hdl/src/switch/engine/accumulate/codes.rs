//! The record of a frame, and its result code before its words.

use super::RedAccumulate;
use crate::prelude::*;

impl RedAccumulate {
    /// Clock 5: the record.
    #[hdl_part]
    pub(super) fn keep_record(&mut self) {
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
    }

    /// Clocks 8 to 12: the result code so far.
    #[hdl_part]
    pub(super) fn begin_code(&mut self) {
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
    }
}
