//! How an operation begins.

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
    /// Takes what has its turn.
    #[hdl_part]
    pub(super) fn begin(&mut self) {
        self.told.d.next = 0.into();
        self.abort.d.next = false;
        self.first_valid.d.next = false;
        self.purpose.d.next = self.pick_class.val();
        self.start.d.next = self.now.val();
        if self.timer.q.val() >= 3 {
            self.timer.d.next = self.timer.q.val();
            if self.asks.val().any() {
                self.served.d.next = self.turns.choice.val();
                self.timer.d.next = 0.into();
                self.state.d.next = State::Load;
                self.serves.d.next = self.turns.choice.val().get_bit(0);
                self.cancels.d.next = self.turns.choice.val().get_bit(1)
                    & self.s_cancel.valid.val()
                    & self.can_send.val();
                self.starts.d.next = self.turns.choice.val().get_bit(1)
                    & !(self.s_cancel.valid.val() & self.can_send.val());
                self.sends.d.next = self.turns.choice.val().get_bit(2);
                if self.turns.choice.val().get_bit(0) {
                    self.op.d.next = Op::Message;
                    self.slot.d.next = bit_cast::<LS, 16>(self.s_msg.slot.val());
                } else if self.turns.choice.val().get_bit(1) {
                    if self.s_cancel.valid.val() & self.can_send.val() {
                        self.op.d.next = Op::Cancel;
                        self.slot.d.next = bit_cast::<LS, 16>(self.s_cancel.slot.val());
                    } else {
                        self.op.d.next = Op::Start;
                        self.slot.d.next = self.free_slot.q.val();
                    }
                } else if self.turns.choice.val().get_bit(2) {
                    self.op.d.next = Op::Send;
                    self.slot.d.next = self.pick_slot.val();
                } else {
                    self.op.d.next = Op::Visit;
                    self.slot.d.next = self.here_slot.q.val();
                }
            } else if self.here.q.val() {
                self.timer.d.next = 0.into();
                self.state.d.next = State::Load;
                self.op.d.next = Op::Visit;
                self.slot.d.next = self.here_slot.q.val();
                self.serves.d.next = false;
                self.cancels.d.next = false;
                self.starts.d.next = false;
                self.sends.d.next = false;
            }
        }
    }

    /// The state of its transfer, as the tables have it.
    #[hdl_part]
    pub(super) fn load(&mut self) {
        if self.timer.q.val() == 2 {
            self.t_xid.d.next = self.states.rd.data.val().get_bits::<32>(0);
            self.t_open.d.next = self.states.rd.data.val().get_bit(32);
            self.t_heard.d.next = self.states.rd.data.val().get_bit(33);
            self.t_connecting.d.next = self.states.rd.data.val().get_bit(34);
            self.t_lossy.d.next = self.states.rd.data.val().get_bit(35);
            self.t_echo_valid.d.next = self.states.rd.data.val().get_bit(36);
            self.t_wptr.d.next = self.states.rd.data.val().get_bits::<16>(37);
            self.t_gen.d.next = self.states.rd.data.val().get_bits::<16>(53);
            self.t_w.d.next = self.states.rd.data.val().get_bits::<16>(69);
            self.t_credit.d.next = self.states.rd.data.val().get_bits::<22>(85);
            self.t_base.d.next = self.states.rd.data.val().get_bits::<22>(107);
            self.t_next.d.next = self.states.rd.data.val().get_bits::<22>(129);
            self.t_upto.d.next = self.states.rd.data.val().get_bits::<22>(151);
            self.t_trusted.d.next = self.states.rd.data.val().get_bits::<22>(173);
            self.t_echo.d.next = self.states.rd.data.val().get_bits::<22>(195);
            self.t_rhead.d.next = self.states.rd.data.val().get_bits::<5>(217);
            self.t_rcount.d.next = self.states.rd.data.val().get_bits::<6>(222);
            self.t_owed.d.next = self.states.rd.data.val().get_bits::<8>(228);
            self.t_early_polls.d.next = self.states.rd.data.val().get_bits::<5>(236);
            self.t_early_at.d.next = self.states.rd.data.val().get_bits::<16>(241);
            self.t_polls.d.next = self.states.rd.data.val().get_bits::<8>(257);
            self.t_interval.d.next = self.states.rd.data.val().get_bits::<16>(265);
            self.t_poll_at.d.next = self.states.rd.data.val().get_bits::<16>(281);
            self.t_seq.d.next = self.states.rd.data.val().get_bits::<16>(297);
            self.t_late.d.next = self.states.rd.data.val().get_bits::<11>(313);
            self.mtu.d.next = self.fixed.rd.data.val().get_bits::<4>(148);
            self.n.d.next = self.fixed.rd.data.val().get_bits::<22>(152);
            self.last_len.d.next = self.fixed.rd.data.val().get_bits::<13>(174);
            self.timer.d.next = 0.into();
            self.state.d.next = State::Check;
        }
        if self.op.q.val() == Op::Visit {
            self.since_visit.d.next = 0.into();
            if self.timer.q.val() == 0 {
                self.visit.d.next = self.visit.q.val() + 1;
            }
        }
    }
}
