//! Stages 3 and 4 of the accept pipeline.

use super::RwAccept;
use crate::prelude::*;

impl<
    const A: usize,
    const W: usize,
    const LW: usize,
    const B: usize,
    const LB: usize,
    const LNW: usize,
    const BA: usize,
> RwAccept<A, W, LW, B, LB, LNW, BA>
{
    /// Stage 3: checks against the connection and wbase, and what the records ahead leave.
    #[hdl_part]
    pub(super) fn check(&mut self) {
        // Stage 3: checks against the connection and wbase, forward from stages 6 to 8.
        self.s3_valid.d.next = self.s2_valid.q.val();
        self.s3.d.next = self.s2.q.val();
        self.s3_row.next = bit_cast::<A, 16>(self.s3.q.val().wptr);
        self.s3_pos.next = bit_cast::<LB, 22>(self.s3.q.val().pidx);
        self.s3_last.next = bit_cast::<22, 35>(self.s3_size.q.val());
        self.s3_plen.next = bits::<13>(256) << self.s3_id.q.val().get_bits::<3>(37);
        self.s4_valid.d.next = self.s3_valid.q.val();
        self.s4.d.next = self.s3.q.val();
        self.s4_addr.d.next = self.conn_addr.rd.data.val();
        self.s4_rkey.d.next = self.conn_rkey.rd.data.val();
        self.s4_offset.d.next =
            bit_cast::<26, 22>(self.s3.q.val().pidx) << self.s3_id.q.val().get_bits::<3>(37);
        self.s4_closed.d.next = !self.s3_id.q.val().get_bit(0)
            | self.s3_torn.q.val()
            | (bit_cast::<16, A>(self.s3_row.val()) != self.s3.q.val().wptr);
        self.s4_stale.d.next = self.s3_id.q.val().get_bits::<16>(21) != self.s3.q.val().incarnation;
        self.s4_foreign.d.next = self.s3_id.q.val().get_bits::<20>(1) != self.s3.q.val().src;
        self.s4_beyond.d.next = self.s3.q.val().pidx > self.s3_last.val();
        self.s4_at_last.d.next = self.s3.q.val().pidx == self.s3_last.val();
        self.s4_len_full.d.next = self.s3.q.val().len == self.s3_plen.val();
        self.s4_len_last.d.next = self.s3.q.val().len == self.s3_size.q.val().get_bits::<13>(22);
        self.s4_gap.d.next =
            bit_cast::<23, 22>(self.s3.q.val().pidx) - bit_cast::<23, 22>(self.s3_base.q.val());
        self.s4_onehot.d.next = bits::<B>(1) << self.s3_pos.val();
        self.s4_lap.d.next = !self.s3.q.val().pidx.get_bit(self.lw.val().index());
        // As trees on the bits of the choice: chains of multiplexers take half as much again.
        if self.s3_from.q.val().get_bit(1) {
            if self.s3_from.q.val().get_bit(0) {
                self.s4_bits.d.next = self.s6_bits.q.val();
            } else {
                self.s4_bits.d.next = self.s7_bits.q.val();
            }
        } else if self.s3_from.q.val().get_bit(0) {
            self.s4_bits.d.next = self.s8_bits.q.val();
        } else {
            self.s4_bits.d.next = self.bitmap.rd.data.val();
        }
        // Table and forward apart, and 0 where the other one counts: stage 4 joins them.
        self.s4_row.d.next = self.rows.rd.data.val();
        if self.s3_forward.q.val() {
            self.s4_row.d.next = 0.into();
        }
        self.fwd_row.d.next = self.late_row.q.val();
        if self.s3_row6.q.val() {
            self.fwd_row.d.next = self.s6_new_row.val();
        }
        self.s4_word6.d.next = self.s3.q.val().word == self.s5.q.val().word;
        self.s4_row6.d.next = self.s3_row.val() == bit_cast::<A, 16>(self.s5.q.val().wptr);
        self.s4_word5.d.next = self.s3.q.val().word == self.s4.q.val().word;
        self.s4_row5.d.next = self.s3_row.val() == bit_cast::<A, 16>(self.s4.q.val().wptr);

        self.s4_place5.d.next = (self.s3_pos.val() == bit_cast::<LB, 22>(self.s4.q.val().pidx))
            & (self.s3.q.val().pidx.get_bit(self.lw.val().index())
                == self.s4.q.val().pidx.get_bit(self.lw.val().index()));
    }

    /// Stage 4: is the packet in the window, is its bit set?
    #[hdl_part]
    pub(super) fn judge(&mut self) {
        // Stage 4: forward from stage 6; is the packet in the window, is its bit set?
        self.s5_valid.d.next = self.s4_valid.q.val();
        self.s5_clear.d.next = self.s4_valid.q.val() & self.s4.q.val().init;
        self.s5.d.next = self.s4.q.val();
        self.s5_pidx_1.d.next = bit_cast::<12, 22>(self.s4.q.val().pidx) + 1;
        self.s5_addr.d.next =
            self.s4_addr.q.val() + (bit_cast::<64, 26>(self.s4_offset.q.val()) << 8);
        self.s5_rkey.d.next = self.s4_rkey.q.val();
        self.s5_onehot.d.next = self.s4_onehot.q.val();
        if self.s4_closed.q.val() {
            self.s5_fail.d.next = self.why_closed.val();
        } else if self.s4_stale.q.val() {
            self.s5_fail.d.next = self.why_stale_gen.val();
        } else if self.s4_foreign.q.val() {
            self.s5_fail.d.next = self.why_bad_source.val();
        } else if self.s4_beyond.q.val() {
            self.s5_fail.d.next = self.why_beyond_end.val();
        } else if self.s4.q.val().tail != self.s4_at_last.q.val() {
            self.s5_fail.d.next = self.why_bad_tail.val();
        } else if (self.s4_at_last.q.val() & !self.s4_len_last.q.val())
            | (!self.s4_at_last.q.val() & !self.s4_len_full.q.val())
        {
            self.s5_fail.d.next = self.why_bad_length.val();
        } else {
            self.s5_fail.d.next = 0.into();
        }
        self.s4_shape.next = self.s4_valid.q.val()
            & !self.s4.q.val().init
            & !self.s4_closed.q.val()
            & !self.s4_stale.q.val()
            & !self.s4_foreign.q.val()
            & !self.s4_beyond.q.val()
            & (self.s4.q.val().tail == self.s4_at_last.q.val())
            & ((self.s4_at_last.q.val() & self.s4_len_last.q.val())
                | (!self.s4_at_last.q.val() & self.s4_len_full.q.val()));
        self.s5_known.d.next = self.s4_shape.val();
        self.s5_below.d.next = self.s4_gap.q.val().get_bit(22);
        self.s5_above.d.next = (self.s4_gap.q.val() >> self.lw.val()).any();
        self.s5_at_base.d.next = !self.s4_gap.q.val().any();
        self.s5_pass.d.next = self.s4_shape.val() & !(self.s4_gap.q.val() >> self.lw.val()).any();
        self.s4_cur_bits.next = self.s4_bits.q.val();
        if self.s4_word6.q.val() {
            self.s4_cur_bits.next = self.s6_bits.q.val();
        }
        self.s4_cur_row.next = self.s4_row.q.val() | self.fwd_row.q.val();
        if self.s4_row6.q.val() {
            self.s4_cur_row.next = self.s6_new_row.val();
        }
        self.s5_bits.d.next = self.s4_cur_bits.val();
        self.s5_row.d.next = self.s4_cur_row.val();
        self.s5_dup.d.next =
            (self.s4_cur_bits.val() & self.s4_onehot.q.val()).any() == self.s4_lap.q.val();
        self.s5_same_word.d.next = self.s4_word5.q.val();
        self.s5_same_row.d.next = self.s4_row5.q.val();
        self.s5_same_packet.d.next = self.s4_word5.q.val() & self.s4_place5.q.val();
        self.over_highest.next =
            bit_cast::<12, 22>(self.s4.q.val().pidx) - bit_cast::<12, 13>(self.s4_cur_row.val());
        self.s5_new_highest.d.next = !self.over_highest.val().get_bit(11);
        self.over_last.next =
            bit_cast::<12, 22>(self.s4.q.val().pidx) - bit_cast::<12, 22>(self.s5.q.val().pidx);
        self.s5_after_last.d.next = !self.over_last.val().get_bit(11);
    }
}
