//! Stages 5 to 8 of the accept pipeline.

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
    /// Stage 5: what the decision will be about.
    #[hdl_part]
    pub(super) fn announce(&mut self) {
        // Stage 5: what the decision will be about.
        self.p_valid.next = self.s5_valid.q.val() & !self.s5_clear.q.val();
        self.p_wptr.next = self.s5.q.val().wptr;
        self.p_gen.next = self.s5.q.val().incarnation;
        self.p_addr.next = self.s5_addr.q.val();
        self.p_rkey.next = self.s5_rkey.q.val();
        self.p_len.next = self.s5.q.val().len;
    }

    /// Stage 5: the decision.
    #[hdl_part]
    pub(super) fn decide(&mut self) {
        // Stage 5: the decision. If the record just before is the same packet and was in the window,
        // this one is a duplicate, whatever became of that one.
        self.duplicate.next =
            self.s5_dup.q.val() | (self.s5_same_packet.q.val() & self.s6_pass.q.val());
        self.take.next = self.s5_pass.q.val() & !self.duplicate.val();
        self.table_bits.next = self.s5_bits.q.val();
        self.last_bits.next = 0.into();
        if self.s5_same_word.q.val() {
            self.table_bits.next = 0.into();
            self.last_bits.next = self.s6_bits.q.val();
        }
        // As an OR: a multiplexer with the register's own output becomes a clock enable, which
        // the decision reaches too late.
        self.bits_in.next = self.table_bits.val() | self.last_bits.val();
        self.s6_fail.d.next = self.s5_fail.q.val();
        self.s6_below.d.next = self.s5_below.q.val();
        self.s6_above.d.next = self.s5_above.q.val();
        self.s6_dup.d.next = self.duplicate.val();
        self.s6_pass.d.next = self.s5_pass.q.val();
        self.s6_at_base.d.next = self.take.val() & self.s5_at_base.q.val();
        self.s6_clear.d.next = self.s5_clear.q.val();
        self.with_raised.next = self.s5_same_row.q.val() & self.s6_raised.q.val();
        self.s6_row.d.next = self.s5_row.q.val();
        if self.s5_same_row.q.val() {
            self.s6_row.d.next = self.s6_new_row.val();
        }
        self.s6_pidx_1.d.next = self.s5_pidx_1.q.val();
        self.s6_raised.d.next = self.take.val()
            & self.s5_new_highest.q.val()
            & (!self.with_raised.val() | self.s5_after_last.q.val());
        self.s6.d.next = self.s5.q.val();
        self.s6.d.next.tail = self.take.val() & self.s5.q.val().tail;
        // Who writes the row has passed the checks.
        self.s6_last_rx.d.next = self.now.val();
        // A packet that is taken is missing: its bit turns.
        self.s6_bits.d.next = self.bits_in.val();
        if self.take.val() {
            self.s6_bits.d.next = self.bits_in.val() ^ self.s5_onehot.q.val();
        }
        if self.s5_clear.q.val() {
            self.s6_bits.d.next = 0.into();
            self.s6_row.d.next = 0.into();
        }
        self.s6_valid.d.next = self.s5_valid.q.val() & !self.s5_clear.q.val();
        self.s6_write_row.d.next = self.s5_known.q.val() | self.s5_clear.q.val();
        self.s6_write_bits.d.next = self.take.val() | self.s5_clear.q.val();
    }

    /// Stage 7: the decision is out.
    #[hdl_part]
    pub(super) fn leave(&mut self) {
        // Stage 7: the decision is out.
        self.m_valid.next = self.s7_valid.q.val();
        self.m_reason.next = self.s7_reason.q.val();
        self.m_wptr.next = self.s7_wptr.q.val();

        // The rest of stages 7 and 8 only feeds stage 3.
        self.s7_word.d.next = self.s6.q.val().word;
        self.s7_wptr.d.next = self.s6_window.val();
        self.s7_bits.d.next = self.s6_bits.q.val();
        self.s7_row.d.next = self.s6_new_row.val();
        self.s8_bits.d.next = self.s7_bits.q.val();
    }
}
