//! Work requests, messages and completions.

use super::CardCore;
use crate::bus::{
    AckOrClaimOut, AckTakenOut, AckToSendOut, CompletionOut, ContextOut, DoorbellOut, FlushOut,
    InterruptOut, LookupOut, NotifyIn, QueuePairOut, RegionSetOut, ReserveIn, ReserveOut,
    SendHeaderOut, StreamIn, VerdictOut,
};
use crate::prelude::*;

impl<const LQ: usize, const LR: usize, const LF: usize, const CA: usize> CardCore<LQ, LR, LF, CA> {
    /// Doorbells, contexts, places in flight, messages and completions.
    #[hdl_part]
    pub(super) fn join_queues(&mut self) {
        // The host's doorbells cannot wait; those of the card can.
        self.send.db.valid.next = self.regs.db.valid.val() | self.s_post.valid.val();
        self.send.db.of.next = self.regs.db.of.val();
        if !self.regs.db.valid.val() {
            self.send.db.of.next.qpn = self.s_post.of.val().qpn;
            self.send.db.of.next.kind = 0.into();
            self.send.db.of.next.index = self.s_post.of.val().index;
        }
        self.s_post.ready.next = !self.regs.db.valid.val();
        ContextOut::<LQ>::join(&mut self.regs.cfg, &mut self.send.cfg);
        self.send.cfg_mtu.next = self.regs.cfg_mtu.val();
        DoorbellOut::<LQ>::join(&mut self.regs.db, &mut self.recv.db);
        ContextOut::<LQ>::join(&mut self.contexts.m, &mut self.recv.cfg);
        self.recv.cfg_mtu.next = self.regs.cfg_mtu.val();
        DoorbellOut::<LQ>::join(&mut self.regs.db, &mut self.cq.db);
        ContextOut::<LQ>::join(&mut self.regs.cfg, &mut self.cq.cfg);
        self.cq.cfg_moderation.next = self.regs.cfg_moderation.val();
        self.send.hold.next = self.stop.q.val();
        self.recv.hold.next = self.stop.q.val();
        self.in_flight.cfg_timeout_unit.next = self.regs.cfg_timeout_unit.val();
        self.tx.cfg_node.next = self.regs.cfg_node.val();
        self.tx.cfg_marks.next = self.cfg_marks.val();
        self.cq.a_rsv.valid.next = self.send.m_rsv.valid.val();
        self.cq.a_rsv.qpn.next = self.send.m_rsv.qpn.val();
        self.send.rsv_done.next = self.cq.a_rsv.done.val();
        self.send.rsv_ok.next = self.cq.a_rsv.ok.val();
        // A slot given back by a group waits for one of card_send, which does not.
        self.cq.a_cancel.valid.next = self.send.m_cancel.valid.val() | self.s_cancel_valid.val();
        self.cq.a_cancel.qpn.next = self.s_cancel_qpn.val();
        if self.send.m_cancel.valid.val() {
            self.cq.a_cancel.qpn.next = self.send.m_cancel.qpn.val();
        }
        self.s_cancel_ready.next = !self.send.m_cancel.valid.val();
        self.in_flight.rsv_valid.next = self.send.m_place_valid.val();
        self.in_flight.rsv_qpn.next = self.send.m_place_qpn.val();
        self.in_flight.rsv_psn.next = self.send.m_place_psn.val();
        self.send.place_done.next = self.in_flight.rsv_done.val();
        self.send.place_ok.next = self.in_flight.rsv_ok.val();
        self.in_flight.drop_valid.next = self.send.m_drop_valid.val();
        self.in_flight.drop_qpn.next = self.send.m_drop_qpn.val();
        self.in_flight.drop_psn.next = self.send.m_drop_psn.val();
        self.in_flight.set_valid.next = self.send.m_set_valid.val();
        self.send.m_set_ready.next = self.in_flight.set_ready.val();
        self.in_flight.set_qpn.next = self.send.m_set_qpn.val();
        self.in_flight.set_psn.next = self.send.m_set_psn.val();
        self.in_flight.set_node.next = self.send.m_set_node.val();
        self.in_flight.set_peer.next = self.send.m_set_peer.val();
        self.in_flight.set_vf.next = self.send.m_set_vf.val();
        self.in_flight.set_win_id.next = self.send.m_set_win_id.val();
        self.in_flight.set_epoch.next = self.send.m_set_epoch.val();
        self.in_flight.set_msn.next = self.send.m_set_msn.val();
        self.in_flight.set_wr_id.next = self.send.m_set_wr_id.val();
        self.in_flight.set_request.next = self.send.m_set_request.val();
        self.in_flight.set_timeout.next = self.send.m_set_timeout.val();
        self.in_flight.set_outcome.next = self.send.m_set_outcome.val();
        LookupOut::join(&mut self.send.m_look, &mut self.regions.a_s);
        VerdictOut::join(&mut self.regions.a_m, &mut self.send.look);
        SendHeaderOut::join(&mut self.send.m_sd, &mut self.send_queue.s_sd);
        SendHeaderOut::join(&mut self.send_queue.m_sd, &mut self.send_merge.a_sd);
        SendHeaderOut::join(&mut self.send_merge.m_sd, &mut self.tx.s_sd);
        self.recv.s_rq.valid.next =
            self.rx.m_rq_valid.val() & !self.rx.m_rq_one_sided.val() & !self.one_sided.m_ours.val();
        self.rx.m_rq_ready.next = self.recv.s_rq.ready.val() | self.one_sided.s_rq_ready.val();
        self.rx.m_rq_drop.next = self.recv.s_rq.drop.val();
        if self.one_sided.s_rq_ready.val() {
            self.rx.m_rq_drop.next = self.one_sided.s_rq_drop.val();
        }
        self.recv.s_rq.of.next.node = self.rx.m_rq_node.val();
        self.recv.s_rq.of.next.qpn = self.rx.m_rq_qpn.val();
        self.recv.s_rq.of.next.psn = self.rx.m_rq_psn.val();
        self.recv.s_rq.of.next.q_key = self.rx.m_rq_q_key.val();
        self.recv.s_rq.of.next.src = self.rx.m_rq_src.val();
        self.recv.s_rq.of.next.vf = self.rx.m_rq_vf.val();
        self.recv.s_rq.of.next.win_id = self.rx.m_rq_win_id.val();
        self.recv.s_rq.of.next.epoch = self.rx.m_rq_epoch.val();
        self.recv.s_rq.of.next.msn = self.rx.m_rq_msn.val();
        self.recv.s_rq.of.next.len = self.rx.m_rq_len.val();
        self.recv.s_rq.of.next.unknown = self.rx.m_rq_unknown.val();
        self.recv.s_rq.of.next.notify = false;
        self.recv.s_rq.of.next.bytes = 0.into();
        self.recv.s_rq.of.next.marked = self.rx.m_rq_marked.val();
        NotifyIn::link(&mut self.s_notify, &mut self.recv.s_notify);
        self.recv.s_pl.valid.next = self.rx.m_pl.valid.val() & !self.one_sided.m_ours.val();
        self.rx.m_pl.ready.next = self.recv.s_pl.ready.val();
        if self.one_sided.m_ours.val() {
            self.rx.m_pl.ready.next = self.one_sided.s_pl.ready.val();
        }
        self.recv.s_pl.of.next = self.rx.m_pl.of.val();
        self.slots.a.valid.next = self.recv.m_rsv.valid.val();
        self.slots.a.qpn.next = self.recv.m_rsv.qpn.val();
        self.recv.rsv_done.next = self.slots.a.done.val();
        self.recv.rsv_ok.next = self.slots.a.ok.val();
        ReserveIn::<LQ>::link(&mut self.s_reduce_rsv, &mut self.slots.b);
        ReserveOut::<LQ>::join(&mut self.slots.m, &mut self.cq.b_rsv);
        self.slots.rst.next = self.soft.q.val();
        StreamIn::<64>::link(&mut self.s_words, &mut self.cq.s_words);
        LookupOut::join(&mut self.recv.m_look, &mut self.regions.b_s);
        VerdictOut::join(&mut self.regions.b_m, &mut self.recv.look);
        CompletionOut::<LQ>::join(&mut self.recv.m_rx, &mut self.cq.s_rx);
        self.recv.landed.next = self.cq.m_landed.val();
        AckToSendOut::join(&mut self.recv.m_ak, &mut self.send_merge.a_ak);
        AckToSendOut::join(&mut self.send_merge.m_ak, &mut self.tx.s_ak);
        AckTakenOut::join(&mut self.rx.m_ak, &mut self.ack_merge.a);
        AckOrClaimOut::join(&mut self.ack_merge.m, &mut self.in_flight.ack);
        CompletionOut::<LQ>::join(&mut self.in_flight.m, &mut self.completions.a);
        CompletionOut::<LQ>::join(&mut self.completions.m, &mut self.cq.s_tx);
        self.send.s_ended.valid.next =
            self.completions.m.valid.val() & self.completions.m.ready.val();
        self.send.s_ended.qpn.next = self.completions.m.qpn.val();
        InterruptOut::join(&mut self.cq.m_irq, &mut self.regs.s_irq);
        RegionSetOut::<LR>::join(&mut self.regs.set, &mut self.regions.set);
        FlushOut::<LQ>::join(&mut self.regs.flush, &mut self.in_flight.flush);
        self.in_flight.fail_valid.next = self.tx.m_fail_valid.val();
        self.tx.m_fail_ready.next = self.in_flight.fail_ready.val();
        self.in_flight.fail_psn.next = self.tx.m_fail_psn.val();
        self.write_mux.rst.next = self.soft.q.val();
        self.read_mux.rst.next = self.soft.q.val();
        self.send.rst.next = self.soft.q.val();
        self.send_queue.rst.next = self.soft.q.val();
        self.recv.rst.next = self.soft.q.val();
        self.cq.rst.next = self.soft.q.val();
        self.regions.rst.next = self.soft.q.val();
        self.rx.rst.next = self.soft.q.val();
        self.tx.rst.next = self.soft.q.val();
        self.in_flight.rst.next = self.soft.q.val();
        self.one_sided.rst.next = self.soft.q.val();
        self.send_merge.rst.next = self.soft.q.val();
        self.read.flr.next = self.soft.q.val();
        self.write.flr.next = self.soft.q.val();
        self.regs.flr.next = self.flr.val();
        self.read.cfg_timeout.next = self.cfg_read_timeout.val();
        QueuePairOut::<LQ>::join(&mut self.send.m_fatal, &mut self.regs.s_fatal_a);
        QueuePairOut::<LQ>::join(&mut self.recv.m_fatal, &mut self.regs.s_fatal_b);
        self.cq.done.valid.next =
            self.returns.m_done.valid.val() & (self.done.val().client == self.completion.val());
        self.cq.done.ctx.next = self.returns.m_done.ctx.val();
        self.in_flight.fail_qpn.next = bit_cast::<LQ, 24>(self.tx.m_fail_qpn.val());
        self.in_flight.fail_outcome.next = self.local_dma.val();
        self.regs.ev.next = self.events.m.val();
        self.regs.idle.next = self.idle.q.val();
        self.regs.s_left.next = self.write.m_old.val()
            | self.read.m_tx_rd_req_tlp.valid.val()
            | self.soft.q.val()
            | self.s_clears.val();
    }
}
