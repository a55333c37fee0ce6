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
            self.t.d.next = self.states.rd.data.val().into();
            self.mtu.d.next = self.copied.val().mtu;
            self.n.d.next = self.copied.val().n;
            self.last_len.d.next = self.copied.val().last_len;
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
