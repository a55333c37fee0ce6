//! Tables of the accept pipeline.

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
    /// Connections; they belong to the control engine.
    #[hdl_part]
    pub(super) fn write_tables(&mut self) {
        // The connection table belongs to the control engine.
        // All of it is written one clock late.
        self.opened_en.d.next = self.cw_en.val();
        self.opened_wptr.d.next = self.cw_wptr.val();
        self.opened_id.d.next = (bit_cast::<37, 16>(self.cw_gen.val()) << 21)
            | (bit_cast::<37, 20>(self.cw_src.val()) << 1)
            | bit_cast::<37, 1>(self.cw_open.val().into());
        self.conn_id.wr.en.next = self.opened_en.q.val();
        self.conn_id.wr.addr.next = self.opened_wptr.q.val();
        self.conn_id.wr.data.next = (bit_cast::<40, 3>(self.cw_mtu.val()) << 37)
            | bit_cast::<40, 37>(self.opened_id.q.val());
        self.conn_size.wr.en.next = self.opened_en.q.val();
        self.conn_size.wr.addr.next = self.opened_wptr.q.val();
        self.conn_size.wr.data.next = (bit_cast::<35, 13>(self.cw_last_len.val()) << 22)
            | bit_cast::<35, 22>(self.cw_last.val());
        self.conn_addr.wr.en.next = self.opened_en.q.val();
        self.conn_addr.wr.addr.next = self.opened_wptr.q.val();
        self.conn_addr.wr.data.next = self.cw_addr.val();
        self.conn_rkey.wr.en.next = self.opened_en.q.val();
        self.conn_rkey.wr.addr.next = self.opened_wptr.q.val();
        self.conn_rkey.wr.data.next = self.cw_rkey.val();
    }

    /// Stage 6: row and bitmap are written.
    #[hdl_part]
    pub(super) fn write_back(&mut self) {
        // Stage 6: write back.
        self.s6_window.next = bit_cast::<A, 16>(self.s6.q.val().wptr);
        self.rows.wr.en.next = self.s6_write_row.q.val();
        self.rows.wr.addr.next = self.s6_window.val();
        self.rows.wr.data.next = self.s6_new_row.val();
        self.rows_q.wr.en.next = self.s6_write_row.q.val();
        self.rows_q.wr.addr.next = self.s6_window.val();
        self.rows_q.wr.data.next = (bit_cast::<29, 16>(self.s6_last_rx.q.val()) << 13)
            | bit_cast::<29, 13>(self.s6_new_row.val());
        self.bitmap.wr.en.next = self.s6_write_bits.q.val();
        self.bitmap.wr.addr.next = self.s6.q.val().word;
        self.bitmap.wr.data.next = self.s6_bits.q.val();
        self.bitmap_q.wr.en.next = self.s6_write_bits.q.val();
        self.bitmap_q.wr.addr.next = self.s6.q.val().word;
        self.bitmap_q.wr.data.next = self.s6_bits.q.val();
        self.s7_valid.d.next = self.s6_valid.q.val();
        self.s7_reason.d.next = self.s6_fail.q.val();
        if !self.s6_fail.q.val().any() {
            if self.s6_below.q.val() {
                self.s7_reason.d.next = self.why_below_window.val();
            } else if self.s6_above.q.val() {
                self.s7_reason.d.next = self.why_above_window.val();
            } else if self.s6_dup.q.val() {
                self.s7_reason.d.next = self.why_duplicate.val();
            }
        }
    }

    /// Slides, which are made beside the pipeline.
    #[hdl_part]
    pub(super) fn slide(&mut self) {
        // Slides.
        self.slides.s_valid.next = self.s6_at_base.q.val();
        self.slides.s_wptr.next = self.s6_window.val();
        self.slides.clear_valid.next = self.s6_clear.q.val();
        self.slides.wr.en.next = self.s6_write_bits.q.val();
        self.slides.wr.addr.next = self.s6.q.val().word;
        self.slides.wr.data.next = self.s6_bits.q.val();
        self.bases.wr.en.next = self.slides.m_en.val();
        self.bases.wr.addr.next = self.slides.m_wptr.val();
        self.bases.wr.data.next = self.slides.m_base.val();
        self.bases_q.wr.en.next = self.slides.m_en.val();
        self.bases_q.wr.addr.next = self.slides.m_wptr.val();
        self.bases_q.wr.data.next = self.slides.m_base.val();
        self.slide_en.next = self.slides.m_en.val();
        self.slide_wptr.next = self.slides.m_wptr.val();
        self.slide_base.next = self.slides.m_base.val();
        self.m_credit.next = self.slides.m_credit.val();
        self.m_credit_wptr.next = self.slides.m_credit_wptr.val();
    }

    /// What the control engine looks at.
    #[hdl_part]
    pub(super) fn show(&mut self) {
        // What the control engine looks at.
        self.rows_q.rd.addr.next = self.q_wptr.val();
        self.bases_q.rd.addr.next = self.q_wptr.val();
        self.bitmap_q.rd.addr.next = (bit_cast::<BA, A>(self.q_wptr.val()) << self.lnw.val())
            | bit_cast::<BA, LNW>(self.q_word.val());
        self.q_wbase.next = self.bases_q.rd.data.val();
        self.q_highest.next = bit_cast::<12, 29>(self.rows_q.rd.data.val());
        self.q_tail.next = self.rows_q.rd.data.val().get_bit(12);
        self.q_last_rx.next = self.rows_q.rd.data.val().get_bits::<16>(13);
        self.q_bits.next = self.bitmap_q.rd.data.val();
    }
}
