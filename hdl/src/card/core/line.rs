//! Between the line and the engines.

use super::CardCore;
use crate::bus::{
    AxisIn, AxisOut, BulkArrivalsOut, BulkDeparturesIn, BulkWorksOut, CompletionIn, ContextOut,
    FramesOut, MoreRegistersOut, PayloadIn, ReduceJoinOut, ReduceWorksOut, TlpRxCompletionIn,
    TlpRxRequestIn, TlpTxCompletionOut, TlpTxReadOut, TlpTxWriteOut, UseEndsOut,
};
use crate::prelude::*;

impl<const LQ: usize, const LR: usize, const LF: usize, const CA: usize> CardCore<LQ, LR, LF, CA> {
    /// The MAC, and what follows a reset.
    #[hdl_part]
    pub(super) fn join_line(&mut self) {
        TlpRxRequestIn::<64, 2>::link(&mut self.s_rx_req_tlp, &mut self.completer.s_rx_req_tlp);
        TlpTxCompletionOut::<64, 2>::link(&mut self.m_tx_cpl_tlp, &mut self.completer.m_tx_cpl_tlp);
        TlpRxCompletionIn::<64, 2>::link(&mut self.s_rx_cpl_tlp, &mut self.read.s_rx_cpl_tlp);
        TlpTxReadOut::link(&mut self.m_tx_rd_req_tlp, &mut self.read.m_tx_rd_req_tlp);
        TlpTxWriteOut::<64, 2>::link(&mut self.m_tx_wr_req_tlp, &mut self.write.m_tx_wr_req_tlp);
        self.gate.s_tvalid.next = self.s_axis_rx.tvalid.val();
        self.gate.s_tlast.next = self.s_axis_rx.tlast.val();
        self.gate.enable.next = self.regs.cfg_enable.val();
        self.gate.rst.next = self.soft.q.val();
        self.rx.s_axis_rx.tvalid.next = self.gate.m_tvalid.val();
        self.s_axis_rx.tready.next = self.rx.s_axis_rx.tready.val();
        self.rx.s_axis_rx.tdata.next = self.s_axis_rx.tdata.val();
        self.rx.s_axis_rx.tkeep.next = self.s_axis_rx.tkeep.val();
        self.rx.s_axis_rx.tlast.next = self.s_axis_rx.tlast.val();
        self.rx.s_axis_rx.tuser.next = self.s_axis_rx.tuser.val();
    }

    /// Frames of bulk transfers, and whose turn it is.
    #[hdl_part]
    pub(super) fn join_bulk(&mut self) {
        // Frames of bulk transfers, and whose turn it is.
        self.rx.cfg_bulk.next = self.cfg_bulk.val();
        self.rx.cfg_marks.next = self.cfg_marks.val();
        BulkArrivalsOut::link(&mut self.m_frames, &mut self.rx.m_bulk);
        FramesOut::<64>::link(&mut self.m_frames_pl, &mut self.rx.m_bulk_pl);
        BulkDeparturesIn::link(&mut self.s_frames, &mut self.tx.s_bulk);
        PayloadIn::link(&mut self.s_frames_pl, &mut self.tx.s_bulk_pl);
        self.ev_marked.next =
            self.rx.m_rq_valid.val() & self.rx.m_rq_ready.val() & self.rx.m_rq_marked.val();
        self.ev_mark_told.next =
            self.tx.s_ak.valid.val() & self.tx.s_ak.ready.val() & self.tx.s_ak.of.val().marked;
        self.ev_mark_heard.next = self.in_flight.m.valid.val()
            & self.in_flight.m.ready.val()
            & self.in_flight.m.of.val().marked;
        self.line.rst.next = self.soft.q.val();
        self.line.cfg_share.next = self.cfg_share.val();
        self.line.s_sd_valid.next = self.tx.s_sd.valid.val();
        self.line.s_sd_taken.next = self.tx.s_sd.valid.val() & self.tx.s_sd.ready.val();
        self.line.s_sd_head_len.next = self.tx.s_sd.of.val().head_len;
        self.line.s_sd_len.next = self.tx.s_sd.of.val().len;
        self.line.s_bulk_valid.next = self.s_frames.valid.val();
        self.line.s_bulk_taken.next = self.s_frames.valid.val() & self.tx.s_bulk.ready.val();
        self.line.s_bulk_len.next = self.s_frames.of.val().len;
        self.line.s_ak_taken.next = self.tx.s_ak.valid.val() & self.tx.s_ak.ready.val();
        self.line.s_ak_echo.next = self.tx.s_ak.of.val().echo;
        self.tx.turn.next = self.line.m_turn.val() & self.cfg_bulk.val();
        self.tx.stop.next = self.line.m_stop.val() & self.cfg_bulk.val();
    }

    /// Reduction groups, work requests of bulk transfers, and how both end.
    #[hdl_part]
    pub(super) fn join_groups(&mut self) {
        // Reduction groups.
        self.rx.cfg_reduce.next = self.cfg_reduce.val();
        self.m_rx_tvalid.next = self.gate.m_tvalid.val();
        self.regs.cfg_reduce.next = self.cfg_reduce.val();
        ReduceJoinOut::link(&mut self.m_join, &mut self.regs.m_join);
        self.send.cfg_reduce.next = self.cfg_reduce.val();
        ReduceWorksOut::<LQ>::link(&mut self.m_reduce, &mut self.send.m_reduce);

        // Work requests of bulk transfers, and how they end.
        self.send.cfg_bulk.next = self.cfg_bulk.val();
        BulkWorksOut::link(&mut self.m_works, &mut self.send.m_bulk);
        CompletionIn::<LQ>::link(&mut self.s_cpl, &mut self.completions.b);
        self.completions.rst.next = self.soft.q.val();

        // What ends while nothing is under way.
        self.regs.cfg_bulk.next = self.cfg_bulk.val();
        UseEndsOut::link(&mut self.m_end, &mut self.regs.end);
        MoreRegistersOut::link(&mut self.more, &mut self.regs.more);
        ContextOut::<LQ>::join(&mut self.regs.cfg, &mut self.contexts.s);
        ContextOut::<LQ>::link(&mut self.cfg, &mut self.contexts.m);
        ContextOut::<LQ>::link(&mut self.m_contexts, &mut self.regs.cfg);
        self.cfg_mtu.next = self.regs.cfg_mtu.val();
        self.cfg_node.next = self.regs.cfg_node.val();
        AxisIn::<64, 8>::link(&mut self.s_reduce_axis, &mut self.tx_first.a);
        AxisOut::<64, 8>::join(&mut self.tx.m_axis_tx, &mut self.tx_first.b);
        AxisOut::<64, 8>::join(&mut self.tx_first.m, &mut self.guard.s_axis);
        self.tx_first.rst.next = self.soft.q.val();
        AxisOut::<64, 8>::link(&mut self.m_axis_tx, &mut self.guard.m_axis);
        self.guard.cut.next = self.soft.q.val();
    }
}
