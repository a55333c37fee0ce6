//! What each operation does to its transfer.

use super::{Aim, BulkEngine, State};
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
    /// One clock of each operation.
    #[hdl_part]
    pub(super) fn act(&mut self) {
        self.timer.d.next = 0.into();
        self.state.d.next = State::Lift;
        if self.starts.q.val() {
            self.a_valid.d.next = true;
            self.a_error.d.next = self.plan.error.val();
            self.a_slot.d.next = self.slot.q.val();
            self.a_xid.d.next = self.t.q.val().xid + 1;
            if !self.begins.q.val() {
                self.state.d.next = State::Leave;
            }
        }
        if self.begins.q.val() {
            self.fixed.wr.en.next = true;
            self.active.d.next = self.active.q.val() | self.mask.val();
            self.n.d.next = self.plan.n.val();
            self.t.d.next.xid = self.t.q.val().xid + 1;
            self.t.d.next.open = false;
            self.t.d.next.heard = false;
            self.t.d.next.connecting = false;
            self.t.d.next.lossy = false;
            self.t.d.next.echo_valid = false;
            self.t.d.next.credit = 0.into();
            self.t.d.next.base = 0.into();
            self.t.d.next.pointer = 0.into();
            self.t.d.next.upto = 0.into();
            self.t.d.next.trusted = 0.into();
            self.t.d.next.rcount = 0.into();
            self.t.d.next.owed = 0.into();
            self.t.d.next.early_polls = 0.into();
            self.t.d.next.incarnation = 0.into();
            self.t.d.next.seq = 0.into();
            self.t.d.next.late = 0.into();
            // The first CONNECT is due at once.
            self.progress.d.next = true;
            self.put_off.d.next = true;
            self.wait.d.next = 0.into();
        }
        if self.cancels.q.val() {
            self.outcome.d.next = 6.into();
            self.reason.d.next = self.s_cancel.reason.val();
            self.abort.d.next = true;
            self.state.d.next = State::Leave;
            if self.is_active.q.val() & self.same_xid.q.val() & self.in_range.q.val() {
                self.state.d.next = State::End;
            } else if self.is_active.q.val() {
                self.state.d.next = State::Lift;
            }
        }
        if self.serves.q.val() {
            self.told.d.next = 6.into();
            if !self.is_active.q.val() {
                self.state.d.next = State::Leave;
            }
            self.probe.d.next = self.s_msg.pidx.val();
            self.outcome.d.next = 1.into();
        }
        self.opening.d.next = self.granted.q.val();
        self.moved.d.next = self.base_above.q.val();
        if self.found.q.val() {
            self.t.d.next.heard = true;
        }
        if self.is_complete.q.val() | self.is_unknown.q.val() {
            self.told.d.next = 0.into();
            self.state.d.next = State::End;
            if self.is_complete.q.val() & !self.s_msg.status.val().any() {
                self.outcome.d.next = 0.into();
            }
            if self.is_complete.q.val() & (self.s_msg.status.val() == self.not_ready.val()) {
                self.outcome.d.next = 9.into();
            }
        }
        if self.is_one.q.val() {
            self.aim.d.next = Aim::One;
            self.state.d.next = State::Probe;
        }
        if self.is_range.q.val() {
            self.aim.d.next = Aim::Range;
            self.state.d.next = State::Probe;
        }
        if self.granted.q.val() {
            self.told.d.next = 0.into();
            self.t.d.next.open = true;
            self.t.d.next.wptr = self.s_msg.wptr.val();
            self.t.d.next.incarnation = self.s_msg.r#gen.val();
            self.t.d.next.w = self.s_msg.w.val();
            self.t.d.next.credit = self.s_msg.credit.val();
            if self.credit_beyond.q.val() {
                self.t.d.next.credit = self.n.q.val();
            }
            self.state.d.next = State::Polled;
            self.progress.d.next = true;
            self.put_off.d.next = true;
        }
        if self.told_refused.q.val() {
            self.told.d.next = 0.into();
            self.outcome.d.next = 2.into();
            if self.s_msg.status.val() == self.resp_access.val() {
                self.outcome.d.next = 7.into();
            }
            if self.s_msg.status.val() == self.resp_bad_qp.val() {
                self.outcome.d.next = 8.into();
            }
            self.state.d.next = State::End;
        }
        if self.told_busy.q.val() {
            self.told.d.next = 0.into();
            self.t.d.next.connecting = false;
            self.t.d.next.incarnation = self.t.q.val().incarnation + 1;
            self.progress.d.next = true;
            self.put_off.d.next = true;
            self.wait.d.next = self.hint.q.val();
            self.outcome.d.next = 3.into();
            if self.busy_spent.q.val() {
                self.state.d.next = State::End;
            }
        }
        if self.more_credit.q.val() {
            self.t.d.next.credit = self.s_msg.credit.val();
        }
        if self.newest.q.val() {
            self.told.d.next = 0.into();
            self.aim.d.next = Aim::Hole;
            self.state.d.next = State::Polled;
            self.jump_base.d.next = true;
            self.jump.d.next = self.next_passed.q.val();
            if self.echo_passed.q.val() {
                self.t.d.next.echo_valid = false;
            }
            self.progress.d.next = self.base_above.q.val();
            self.put_off.d.next = self.base_above.q.val();
        }
        if self.sends.q.val() {
            self.probe.d.next = self.t.q.val().pointer;
            self.kind.d.next = self.poll_status.val();
            self.state.d.next = State::Ready;
            self.outcome.d.next = 4.into();
            if self.t.q.val().heard {
                self.outcome.d.next = 5.into();
            }
            self.reason.d.next = self.gave_up.val();
            self.abort.d.next = self.give_up.q.val();
        }
        if self.give_up.q.val() {
            self.state.d.next = State::End;
        }
        if self.send_poll.q.val() {
            self.back_off.d.next = true;
            self.put_off.d.next = true;
            self.wait.d.next = self.t.q.val().interval;
            if !self.t.q.val().open {
                self.kind.d.next = self.connect.val();
                self.t.d.next.connecting = true;
            }
        }
        if self.send_early.q.val() {
            self.t.d.next.early_polls = self.t.q.val().early_polls + 1;
            self.early.d.next = true;
        }
        if self.send_fresh.q.val() {
            self.kind.d.next = self.data.val();
            self.advance.d.next = true;
        }
        if self.send_again.q.val() {
            self.kind.d.next = self.data.val();
            self.probe.d.next = self.t.q.val().echo;
            if self.t.q.val().echo_valid {
                self.t.d.next.echo_valid = false;
            } else {
                self.state.d.next = State::Pop;
            }
        }
        if self.send_early.q.val() | (self.send_poll.q.val() & self.t.q.val().open) {
            self.t.d.next.seq = self.t.q.val().seq + 1;
            if self.t.q.val().seq.all() {
                self.t.d.next.seq = 1.into();
            }
        }
    }
}
