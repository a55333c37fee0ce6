//! One-sided operations.

use super::CardCore;
use crate::bus::{
    ContextOut, DmaRequestIn, DmaRequestOut, LookupRightsIn, LookupRightsOut, StreamIn, StreamOut,
    VerdictIn, VerdictOut, WindowSetOut,
};
use crate::prelude::*;

impl<const LQ: usize, const LR: usize, const LF: usize, const CA: usize> CardCore<LQ, LR, LF, CA> {
    /// One-sided operations among the other blocks.
    #[hdl_part]
    pub(super) fn join_one_sided(&mut self) {
        // One-sided operations.
        self.one_sided.hold.next = self.stop.q.val();
        self.one_sided.cfg_mtu.next = self.regs.cfg_mtu.val();
        ContextOut::<LQ>::join(&mut self.contexts.m, &mut self.one_sided.cfg);
        WindowSetOut::<LQ>::join(&mut self.regs.win, &mut self.one_sided.win);
        self.one_sided.set_valid.next =
            self.send.m_set_valid.val() & self.in_flight.set_ready.val();
        self.one_sided.set_qpn.next = self.send.m_set_qpn.val();
        self.one_sided.set_psn.next = self.send.m_set_psn.val();
        self.one_sided.set_kind.next = self.send.m_set_kind.val();
        self.one_sided.set_addr.next = self.send.m_set_addr.val();
        self.one_sided.set_key.next = self.send.m_set_key.val();
        self.one_sided.set_len.next = self.send.m_set_len.val();
        self.in_flight.set_answered.next = self.send.m_set_kind.val().any();
        self.one_sided.s_rq_valid.next = self.rx.m_rq_valid.val() & self.rx.m_rq_one_sided.val();
        self.one_sided.s_rq_node.next = self.rx.m_rq_node.val();
        self.one_sided.s_rq_qpn.next = self.rx.m_rq_qpn.val();
        self.one_sided.s_rq_psn.next = self.rx.m_rq_psn.val();
        self.one_sided.s_rq_q_key.next = self.rx.m_rq_q_key.val();
        self.one_sided.s_rq_src.next = self.rx.m_rq_src.val();
        self.one_sided.s_rq_win_id.next = self.rx.m_rq_win_id.val();
        self.one_sided.s_rq_epoch.next = self.rx.m_rq_epoch.val();
        self.one_sided.s_rq_msn.next = self.rx.m_rq_msn.val();
        self.one_sided.s_rq_len.next = self.rx.m_rq_len.val();
        self.one_sided.s_rq_marked.next = self.rx.m_rq_marked.val();
        self.one_sided.s_other.next =
            self.recv.s_rq.ready.val() & !self.recv.s_rq.drop.val() & self.rx.m_rq_len.val().any();
        self.one_sided.s_other_last.next = self.rx.m_pl.valid.val()
            & self.rx.m_pl.of.val().last
            & self.recv.s_pl.ready.val()
            & !self.one_sided.m_ours.val();
        self.one_sided.s_pl.valid.next = self.rx.m_pl.valid.val() & self.one_sided.m_ours.val();
        self.one_sided.s_pl.of.next = self.rx.m_pl.of.val();
        LookupRightsOut::link(&mut self.m_looks, &mut self.one_sided.m_look);
        VerdictIn::link(&mut self.s_looked, &mut self.one_sided.look);
        LookupRightsIn::link(&mut self.s_look, &mut self.regions.c_s);
        VerdictOut::link(&mut self.m_look, &mut self.regions.c_m);
        self.read_mux.c_valid.next = self.one_sided.m_rd_valid.val();
        self.one_sided.m_rd_ready.next = self.read_mux.c_ready.val();
        self.read_mux.c_addr.next = self.one_sided.m_rd_addr.val();
        self.read_mux.c_len.next = self.one_sided.m_rd_len.val();
        self.one_sided.s_rd_valid.next = self.read_mux.os_valid.val();
        self.one_sided.s_rd_data.next = self.read.m_data.of.val().data;
        self.one_sided.s_rd_bytes.next = self.read.m_data.of.val().bytes;
        self.one_sided.s_rd_last.next = self.read.m_data.of.val().last;
        self.one_sided.s_rd_error.next = self.read.m_data.of.val().error;
        self.write_mux.s_req[3].valid.next = self.one_sided.m_wr_valid.val();
        self.one_sided.m_wr_ready.next = self.write_mux.s_req[3].ready.val();
        self.write_mux.s_req[3].of.next.addr = self.one_sided.m_wr_addr.val();
        self.write_mux.s_req[3].of.next.len = self.one_sided.m_wr_len.val();
        self.write_mux.s_req[3].of.next.ctx = 0.into();
        StreamOut::<64>::join(&mut self.one_sided.m_wd, &mut self.write_mux.s_data[3]);
        self.write_order.rst.next = self.soft.q.val();
        self.write_order.s_taken.next = self.rx.m_rq_valid.val()
            & self.rx.m_rq_ready.val()
            & !self.rx.m_rq_drop.val()
            & self.rx.m_rq_len.val().any();
        self.write_order.s_gone.next =
            self.rx.m_pl.valid.val() & self.rx.m_pl.ready.val() & self.rx.m_pl.of.val().last;
        DmaRequestIn::link(&mut self.s_wr, &mut self.write_order.s);
        DmaRequestOut::join(&mut self.write_order.m, &mut self.write_mux.s_req[4]);
        StreamIn::<64>::link(&mut self.s_wd, &mut self.write_mux.s_data[4]);
        self.m_wr_done.next =
            self.returns.m_done.valid.val() & (self.done.val().client == self.bulk_client.val());
        self.one_sided.done_valid.next = self.returns.m_done.valid.val()
            & (self.done.val().client == self.one_sided_client.val());
        self.send_merge.b_sd_valid.next = self.one_sided.m_sd_valid.val();
        self.one_sided.m_sd_ready.next = self.send_merge.b_sd_ready.val();
        self.send_merge.b_sd_head.next = self.one_sided.m_sd_head.val();
        self.send_merge.b_sd_len.next = self.one_sided.m_sd_len.val();
        self.send_merge.b_sd_node.next = self.one_sided.m_node.val();
        self.send_merge.b_sd_peer.next = self.one_sided.m_peer.val();
        self.send_merge.b_sd_psn.next = self.one_sided.m_psn.val();
        self.send_merge.b_sd_q_key.next = self.one_sided.m_q_key.val();
        self.send_merge.b_sd_src.next = self.one_sided.m_src.val();
        self.send_merge.b_sd_win_id.next = self.one_sided.m_win_id.val();
        self.send_merge.b_sd_epoch.next = self.one_sided.m_epoch.val();
        self.send_merge.b_sd_msn.next = self.one_sided.m_msn.val();
        self.send_merge.b_pl_valid.next = self.one_sided.m_pl_valid.val();
        self.send_merge.b_pl_data.next = self.one_sided.m_pl_data.val();
        self.send_merge.b_pl_bytes.next = self.one_sided.m_pl_bytes.val();
        self.send_merge.b_pl_last.next = self.one_sided.m_pl_last.val();
        self.one_sided.m_pl_ready.next = self.send_merge.b_pl_ready.val();
        self.send_merge.b_ak_valid.next = self.one_sided.m_ak_valid.val();
        self.send_merge.b_ak_node.next = self.one_sided.m_ak_node.val();
        self.send_merge.b_ak_peer.next = self.one_sided.m_ak_peer.val();
        self.send_merge.b_ak_psn.next = self.one_sided.m_ak_psn.val();
        self.send_merge.b_ak_syndrome.next = self.one_sided.m_ak_syndrome.val();
        self.send_merge.b_ak_win_id.next = self.one_sided.m_ak_win_id.val();
        self.send_merge.b_ak_epoch.next = self.one_sided.m_ak_epoch.val();
        self.send_merge.b_ak_msn.next = self.one_sided.m_ak_msn.val();
        self.send_merge.b_ak_src.next = self.one_sided.m_ak_src.val();
        self.send_merge.b_ak_marked.next = self.one_sided.m_ak_marked.val();
        self.one_sided.m_ak_ready.next = self.send_merge.b_ak_ready.val();
        self.ack_merge.b_valid.next = self.one_sided.m_claim_valid.val();
        self.one_sided.m_claim_ready.next = self.ack_merge.b_ready.val();
        self.ack_merge.b_end.next = self.one_sided.m_claim_end.val();
        self.ack_merge.b_outcome.next = self.one_sided.m_claim_outcome.val();
        self.ack_merge.b_node.next = self.one_sided.m_node.val();
        self.ack_merge.b_qpn.next = self.one_sided.m_src.val();
        self.ack_merge.b_psn.next = self.one_sided.m_psn.val();
        self.ack_merge.b_win_id.next = self.one_sided.m_win_id.val();
        self.ack_merge.b_epoch.next = self.one_sided.m_epoch.val();
        self.ack_merge.b_msn.next = self.one_sided.m_msn.val();
        self.ack_merge.b_peer.next = self.one_sided.m_peer.val();
        self.one_sided.claim_done.next = self.in_flight.claim_done.val();
        self.one_sided.claim_ok.next = self.in_flight.claim_ok.val();
    }
}
