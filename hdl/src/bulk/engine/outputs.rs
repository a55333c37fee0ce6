//! Registers and outputs of the engine, and which operation is next.

use super::{BulkEngine, Op, State};
use crate::prelude::*;

impl<
    const S: usize,
    const LS: usize,
    const SA: usize,
    const LD: usize,
    const RA: usize,
    const QA: usize,
    const W: usize,
    const LW: usize,
    const A: usize,
> BulkEngine<S, LS, SA, LD, RA, QA, W, LW, A>
{
    /// Packets, ends and answers to starts.
    #[hdl_part]
    pub(super) fn offer(&mut self) {
        // Outputs.
        self.m_pkt.valid.next = self.k_valid.q.val();
        self.m_pkt.r#type.next = self.k_type.q.val();
        self.m_pkt.dst.next = self.k_dst.q.val();
        self.m_pkt.slot.next = bit_cast::<16, LS>(self.k_slot.q.val());
        self.m_pkt.xid.next = self.k_xid.q.val();
        self.m_pkt.wptr.next = self.k_wptr.q.val();
        self.m_pkt.r#gen.next = self.k_gen.q.val();
        self.m_pkt.pidx.next = self.k_pidx.q.val();
        self.m_pkt.tail.next = self.k_tail.q.val();
        self.m_pkt.again.next = self.k_again.q.val();
        self.m_pkt.offset.next = self.k_offset.q.val();
        self.m_pkt.length.next = self.k_length.q.val();
        self.m_pkt.seq.next = self.k_seq.q.val();
        self.m_pkt.reason.next = self.k_reason.q.val();
        self.m_pkt.addr.next = self.k_addr.q.val();
        self.m_pkt.rkey.next = self.k_rkey.q.val();
        self.m_pkt.mtu.next = self.k_mtu.q.val();
        if self.k_valid.q.val() & self.m_pkt.ready.val() {
            self.k_valid.d.next = false;
        }
        self.m_end.valid.next = self.e_valid.q.val();
        self.m_end.slot.next = bit_cast::<16, LS>(self.e_slot.q.val());
        self.m_end.xid.next = self.e_xid.q.val();
        self.m_end.outcome.next = self.e_outcome.q.val();
        if self.e_valid.q.val() & self.m_end.ready.val() {
            self.e_valid.d.next = false;
        }
        self.m_started.valid.next = self.a_valid.q.val();
        self.m_started.error.next = self.a_error.q.val();
        self.m_started.slot.next = bit_cast::<16, LS>(self.a_slot.q.val());
        self.m_started.xid.next = self.a_xid.q.val();
        if self.a_valid.q.val() & self.m_started.ready.val() {
            self.a_valid.d.next = false;
        }
    }

    /// What can be done next.
    #[hdl_part]
    pub(super) fn choose(&mut self) {
        // What can be done next.
        self.can_end.next = !self.e_valid.q.val();
        self.can_send.next = !self.k_valid.q.val() & !self.e_valid.q.val();
        self.visit_here.next = ((self.active.q.val() >> self.visit.q.val()) & bits::<S>(1)).any();
        if !self.visit_here.val() {
            self.visit.d.next = self.visit.q.val() + 1;
        }
        if !self.since_visit.q.val().all() {
            self.since_visit.d.next = self.since_visit.q.val() + 1;
        }
        self.here.d.next = self.visit_here.val();
        self.here_slot.d.next = self.visit.q.val();
        self.overdue.d.next = self.visit_here.val() & self.since_visit.q.val().all();
        self.asks.next = bits::<4>(0)
            .replace_bit(0, self.s_msg.valid.val() & self.can_end.val())
            .replace_bit(
                1,
                (self.s_cancel.valid.val() & self.can_send.val())
                    | (self.s.valid.val() & self.free.q.val() & !self.a_valid.q.val()),
            )
            .replace_bit(2, self.pick_valid.val() & self.can_send.val())
            .replace_bit(3, self.overdue.q.val());
        self.turns.req.next = self.asks.val();
        self.turns.last.next = self.served.q.val();
    }

    /// What holds unless a state says otherwise.
    #[hdl_part]
    pub(super) fn default_outputs(&mut self) {
        // Defaults.
        self.leaving.next =
            (self.state.q.val() == State::Store) | (self.state.q.val() == State::Leave);
        self.s_msg.ready.next = self.leaving.val() & self.serves.q.val();
        self.s.ready.next = self.leaving.val() & self.starts.q.val();
        self.s_cancel.ready.next = self.leaving.val() & self.cancels.q.val();
        self.set_en.next = self.leaving.val();
        self.set_slot.next = self.slot.q.val();
        self.set_due.next = self.wants.due.val() & (self.state.q.val() == State::Store);
        self.set_resend.next = self.wants.resend.val() & (self.state.q.val() == State::Store);
        self.set_fresh.next = self.wants.fresh.val() & (self.state.q.val() == State::Store);
        self.set_spare.next = self.wants.spare.val() & (self.state.q.val() == State::Store);
        self.new_en.next = (self.state.q.val() == State::Act) & self.begins.q.val();
        self.begin_en.next =
            (self.state.q.val() == State::Act) & self.begins.q.val() & self.s.oldest_first.val();
        self.end_en.next = self.state.q.val() == State::End;
        self.sent_en.next =
            (self.state.q.val() == State::Emit) & (self.kind.q.val() == self.data.val());
        self.sent_resend.next = self.purpose.q.val() == 1;
        self.good.next = false;
        self.rewind.next = false;
        self.ask.next = self.scan.ask.val();
        self.owe.next = self.scan.ask.val();
        self.put_off.d.next = false;
        self.progress.d.next = false;
        self.back_off.d.next = false;
        self.wait.d.next = self.cfg.poll.val();
        self.jump.d.next = false;
        self.jump_base.d.next = false;
        self.advance.d.next = false;
        self.back.d.next = false;
        self.lower.d.next = false;
        self.trust.d.next = false;
        self.lift.d.next = false;
        self.target.d.next = self.probe.q.val();
        self.target_lower.d.next = self.probe_below_trusted.q.val();
        self.counted.next = 0.into();
        if self.leaving.val() {
            self.counted.next = self.told.q.val();
        }
        self.ready.next = self.up.q.val();
        self.clock_for.next = 3.into();
        if !self.pick_valid.val() {
            self.clock_for.next = 2.into();
            if self.starved.q.val().any() {
                self.clock_for.next = 1.into();
            }
        }
        if self.k_valid.q.val() & !self.m_pkt.ready.val() {
            self.clock_for.next = 0.into();
        }
        self.mon_act.next = self.leaving.val();
        self.mon_op.next = 0.into();
        match self.op.q.val() {
            Op::Message => {}
            Op::Start => self.mon_op.next = 1.into(),
            Op::Cancel => self.mon_op.next = 2.into(),
            Op::Send => self.mon_op.next = 3.into(),
            Op::Visit => self.mon_op.next = 4.into(),
        }
        self.mon_slot.next = self.slot.q.val();
        self.mon_class.next = self.purpose.q.val();
        self.mon_now.next = self.start.q.val();
        self.mon_wants.next = bits::<4>(0)
            .replace_bit(0, self.set_due.val())
            .replace_bit(1, self.set_resend.val())
            .replace_bit(2, self.set_fresh.val())
            .replace_bit(3, self.set_spare.val());
    }
}
