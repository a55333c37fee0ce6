//! Events, for the counters of the card.

use super::CardCore;
use crate::prelude::*;

impl<const LQ: usize, const LR: usize, const LF: usize, const CA: usize> CardCore<LQ, LR, LF, CA> {
    /// Each event to its counter.
    #[hdl_part]
    pub(super) fn join_events(&mut self) {
        // A work request may also end in LOCAL_DMA, after its check.
        self.unsent.rst.next = self.soft.q.val();
        self.unsent.a.next = self.send.ev_local_error.val();
        self.unsent.b.next = self.tx.m_fail_valid.val() & self.in_flight.fail_ready.val();
        self.local_error.rst.next = self.soft.q.val();
        self.local_error.a.next = self.unsent.m.val();
        self.local_error.b.next = self.recv.ev_local_error.val();
        self.bad_doorbell.rst.next = self.soft.q.val();
        self.bad_doorbell.a.next = self.send.ev_bad_doorbell.val();
        self.bad_doorbell.b.next = self.recv.ev_bad_doorbell.val();
        self.worse_doorbell.rst.next = self.soft.q.val();
        self.worse_doorbell.a.next = self.bad_doorbell.m.val();
        self.worse_doorbell.b.next = self.cq.ev_bad_doorbell.val();
        self.any_local_error.rst.next = self.soft.q.val();
        self.any_local_error.a.next = self.local_error.m.val();
        self.any_local_error.b.next = self.one_sided.ev_local_error.val();
        self.all_local_error.rst.next = self.soft.q.val();
        self.all_local_error.a.next = self.any_local_error.m.val();
        self.all_local_error.b.next = self.s_local_error.val();
        self.any_bad_qp.rst.next = self.soft.q.val();
        self.any_bad_qp.a.next = self.recv.ev_bad_qp.val();
        self.any_bad_qp.b.next = self.one_sided.ev_bad_qp.val();
        self.any_overload.rst.next = self.soft.q.val();
        self.any_overload.a.next = self.recv.ev_ack_overload.val();
        self.any_overload.b.next = self.one_sided.ev_ack_overload.val();
        self.any_bad_opcode.rst.next = self.soft.q.val();
        self.any_bad_opcode.a.next = self.recv.ev_bad_opcode.val();
        self.any_bad_opcode.b.next = self.one_sided.ev_bad_opcode.val();
        self.any_bad_key.rst.next = self.soft.q.val();
        self.any_bad_key.a.next = self.recv.ev_bad_key.val();
        self.any_bad_key.b.next = self.one_sided.ev_bad_key.val();
        self.any_bad_length.rst.next = self.soft.q.val();
        self.any_bad_length.a.next = self.recv.ev_bad_length.val();
        self.any_bad_length.b.next = self.one_sided.ev_bad_length.val();
        self.any_stale_epoch.rst.next = self.soft.q.val();
        self.any_stale_epoch.a.next = self.recv.ev_stale_epoch.val();
        self.any_stale_epoch.b.next = self.one_sided.ev_stale_epoch.val();
        self.events.s[0].next = self.tx.ev_sent.val();
        self.events.s[1].next = self.tx.ev_ack_sent.val();
        self.events.s[2].next = self.recv.ev_accepted.val();
        self.events.s[3].next = self.in_flight.ev_acknowledged.val();
        self.events.s[4].next = self.in_flight.ev_timeout.val();
        self.events.s[5].next = self.send.ev_stall_place.val();
        self.events.s[6].next = self.send.ev_stall_credit.val();
        self.events.s[7].next = self.any_overload.m.val();
        self.events.s[8].next = self.rx.ev_overflow.val();
        self.events.s[9].next = self.rx.ev_bad_frame.val();
        self.events.s[10].next = self.rx.ev_not_xud.val();
        self.events.s[11].next = self.any_bad_opcode.m.val();
        self.events.s[12].next = self.rx.ev_bad_header.val();
        self.events.s[13].next = self.any_bad_qp.m.val();
        self.events.s[14].next = self.any_bad_key.m.val();
        self.events.s[15].next = self.any_bad_length.m.val();
        self.events.s[16].next = self.any_stale_epoch.m.val();
        self.events.s[17].next = self.recv.ev_rnr.val();
        // Never both: one acknowledgement is decided at a time.
        self.events.s[18].next =
            self.in_flight.ev_ack_unknown.val() | self.in_flight.ev_bad_qp.val();
        self.events.s[19].next = self.in_flight.ev_ack_source.val();
        self.events.s[20].next = self.in_flight.ev_ack_echo.val();
        self.events.s[21].next = self.all_local_error.m.val();
        self.events.s[22].next = self.worse_doorbell.m.val();
        // Counted by card_regs.
        self.events.s[23].next = false;
        self.events.s[24].next = self.completer.ev_bad_tlp.val();
        self.events.s[25].next = self.read.ev_failed.val();
        self.events.s[26].next = self.read.ev_stray.val();
        // Counted by card_regs.
        self.events.s[27].next = false;
        self.events.s[28].next = self.read.m_busy.val();
        self.events.s[29].next = self.guard.m_axis.tvalid.val() & !self.m_axis_tx.tready.val();
        self.events.s[30].next =
            self.write.m_tx_wr_req_tlp.valid.val() & !self.m_tx_wr_req_tlp.ready.val();
        self.events.s[31].next = self.one_sided.ev_done.val();
        self.events.s[32].next = self.one_sided.ev_duplicate.val();
        self.events.s[33].next = self.one_sided.ev_ahead.val();
        self.events.s[34].next = self.one_sided.ev_refused.val();
        self.events.s[35].next = self.one_sided.ev_failed.val();
    }
}
