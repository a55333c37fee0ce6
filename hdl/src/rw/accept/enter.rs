//! Stages 1 and 2 of the accept pipeline.

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
    /// Stage 1: addresses of all tables.
    #[hdl_part]
    pub(super) fn enter(&mut self) {
        // Stage 1: addresses of all tables.
        self.s1_valid.d.next = self.s_valid.val();
        self.s1.d.next.init = self.s_init.val();
        self.s1.d.next.wptr = self.s_wptr.val();
        self.s1.d.next.incarnation = self.s_gen.val();
        self.s1.d.next.src = self.s_src.val();
        self.s1.d.next.pidx = self.s_pidx.val();
        self.s1.d.next.tail = self.s_tail.val();
        self.s1.d.next.len = self.s_len.val();
        self.s1_word.next = (bit_cast::<BA, 16>(self.s1.q.val().wptr) << self.lnw.val())
            | bit_cast::<BA, LNW>(self.s1.q.val().pidx.get_bits::<LNW>(self.lb.val().index()));
        // The words to compare are read a stage early: from the RAM's output the way is too long.
        self.conn_id.rd.addr.next = bit_cast::<A, 16>(self.s_wptr.val());
        self.conn_size.rd.addr.next = bit_cast::<A, 16>(self.s_wptr.val());
        self.bases.rd.addr.next = bit_cast::<A, 16>(self.s_wptr.val());
        self.conn_addr.rd.addr.next = bit_cast::<A, 16>(self.s1.q.val().wptr);
        self.conn_rkey.rd.addr.next = bit_cast::<A, 16>(self.s1.q.val().wptr);
        self.rows.rd.addr.next = bit_cast::<A, 16>(self.s1.q.val().wptr);
        self.bitmap.rd.addr.next = self.s1_word.val();

        self.torn_1.d.next = (self.cw_en.val()
            & (self.cw_wptr.val() == bit_cast::<A, 16>(self.s_wptr.val())))
            | (self.opened_en.q.val()
                & (self.opened_wptr.q.val() == bit_cast::<A, 16>(self.s_wptr.val())));
        self.torn_2.d.next = self.torn_1.q.val();
        self.s3_torn.d.next = self.torn_2.q.val();
        self.s3_id.d.next = self.conn_id.rd.data.val();
        self.s3_size.d.next = self.conn_size.rd.data.val();
        self.s3_base.d.next = self.bases.rd.data.val();
    }

    /// Stage 2: which of the records ahead have the same row or word.
    #[hdl_part]
    pub(super) fn match_ahead(&mut self) {
        // Stage 2: the arrays are read; which of the records ahead have the same row or word?
        self.s2_valid.d.next = self.s1_valid.q.val();
        self.s2.d.next = self.s1.q.val();
        self.s2.d.next.word = self.s1_word.val();
        self.s2_row.next = bit_cast::<A, 16>(self.s2.q.val().wptr);
        self.s1_row.next = bit_cast::<A, 16>(self.s1.q.val().wptr);
        self.s2_row6.d.next = self.s1_row.val() == bit_cast::<A, 16>(self.s5.q.val().wptr);
        self.s2_row7.d.next = self.s1_row.val() == bit_cast::<A, 16>(self.s6.q.val().wptr);
        self.s3_from.d.next = 0.into();
        if self.s2.q.val().word == self.s5.q.val().word {
            self.s3_from.d.next = 3.into();
        } else if self.s2.q.val().word == self.s6.q.val().word {
            self.s3_from.d.next = 2.into();
        } else if self.s2.q.val().word == self.s7_word.q.val() {
            self.s3_from.d.next = 1.into();
        }
        self.s2_at_row6.next = self.s2_row.val() == bit_cast::<A, 16>(self.s5.q.val().wptr);
        self.s3_row6.d.next = self.s2_at_row6.val();
        self.s3_forward.d.next =
            self.s2_at_row6.val() | self.s2_row6.q.val() | self.s2_row7.q.val();
        // What the last but one and two records ahead leave, to be forwarded in the next clock.
        self.late_row.d.next = 0.into();
        if self.s2_row6.q.val() {
            self.late_row.d.next = self.s6_new_row.val();
        } else if self.s2_row7.q.val() {
            self.late_row.d.next = self.s7_row.q.val();
        }
    }
}
