//! What each operation decides once it knows its tables.

use super::{Op, RwControl, State};
use crate::prelude::*;

impl<
    const A: usize,
    const W: usize,
    const B: usize,
    const LB: usize,
    const NW: usize,
    const LNW: usize,
    const AW: usize,
    const PW: usize,
    const LE: usize,
    const BE: usize,
> RwControl<A, W, B, LB, NW, LNW, AW, PW, LE, BE>
{
    /// One clock of each operation.
    #[hdl_part]
    pub(super) fn act(&mut self) {
        self.msg.d.next.seq = 0.into();
        self.msg.d.next.status = 0.into();
        self.cpl_status.d.next = self.aborted.val();
        self.cpl_reason.d.next = self.gave_up.val();
        self.word.d.next = 0.into();
        self.abs.d.next = bit_cast::<AW, 22>(self.wbase.q.val() >> self.lb.val());
        self.skip.d.next = bit_cast::<4, LB>(bit_cast::<LB, 22>(self.wbase.q.val()) >> 3) + 1;
        self.skipped.d.next = false;
        self.filled.d.next = 0.into();
        match self.op.q.val() {
            Op::Connect => {
                self.msg.d.next.kind = self.connect_resp.val();
                self.decided.d.next = true;
                if self.judged.q.val() {
                    self.how.d.next = 5.into();
                    self.msg.d.next.status = self.verdict.q.val();
                    self.state.d.next = State::Message;
                    if self.unanswered.q.val() {
                        self.done.next = true;
                    }
                } else if !self.legal.q.val() {
                    self.how.d.next = 4.into();
                    self.msg.d.next.status = self.refused.val();
                    self.state.d.next = State::Message;
                } else if self.known_connect.q.val() {
                    self.how.d.next = 0.into();
                    if !self.peer_open.q.val() {
                        self.msg.d.next.kind = self.complete.val();
                        self.msg.d.next.status = self.peer_status.q.val();
                    }
                    self.state.d.next = State::Message;
                } else if self.late_connect.q.val() {
                    self.how.d.next = 2.into();
                    self.dropped.d.next = true;
                    self.drop_why.d.next = self.old_connect.val();
                    self.done.next = true;
                } else if self.peer_open.q.val() {
                    self.decided.d.next = false;
                    self.then_alloc.d.next = true;
                    self.state.d.next = State::Close;
                } else {
                    self.decided.d.next = false;
                    self.state.d.next = State::Alloc;
                }
            }
            Op::Poll => {
                self.state.d.next = State::Message;
                if self.look_again.val() {
                    self.look.next = true;
                    self.looked.d.next = true;
                    self.timer.d.next = 0.into();
                    self.state.d.next = State::Peer;
                } else if self.good_poll.q.val() {
                    self.msg.d.next.kind = self.poll_status.val();
                    self.msg.d.next.seq = self.ctl_seq.val();
                    self.state.d.next = State::Fetch;
                } else if self.late_poll.q.val() {
                    self.msg.d.next.kind = self.complete.val();
                    self.msg.d.next.status = self.peer_status.q.val();
                } else {
                    self.msg.d.next.kind = self.abort_unknown.val();
                    self.msg.d.next.status = self.no_transfer.val();
                }
            }
            Op::Abort => {
                self.cpl_reason.d.next = self.ctl_reason.val();
                if self.good_abort.q.val() {
                    self.state.d.next = State::Close;
                } else {
                    self.dropped.d.next = true;
                    self.drop_why.d.next = self.stray_abort.val();
                    self.done.next = true;
                }
            }
            Op::Finish => {
                if self.good_finish.q.val() & self.win_hold.q.val() {
                    self.full.d.next = true;
                    self.done.next = true;
                } else if self.good_finish.q.val() {
                    self.msg.d.next.kind = self.complete.val();
                    self.cpl_status.d.next = self.ok.val();
                    self.then_message.d.next = true;
                    self.state.d.next = State::Close;
                } else {
                    self.dropped.d.next = self.this_window.q.val();
                    self.drop_why.d.next = self.stale_write.val();
                    self.done.next = true;
                }
            }
            Op::Credit => {
                self.msg.d.next.kind = self.poll_status.val();
                if self.is_open.q.val() & !self.at_end.q.val() {
                    self.state.d.next = State::Fetch;
                } else {
                    self.done.next = true;
                }
            }
            Op::Revoke => {
                self.msg.d.next.kind = self.complete.val();
                self.msg.d.next.status = self.rev_status.val();
                self.cpl_status.d.next = self.rev_status.val();
                self.cpl_reason.d.next = self.cancelled.val();
                self.then_message.d.next = true;
                if self.this_window.q.val() {
                    self.state.d.next = State::Close;
                } else {
                    self.done.next = true;
                }
            }
            Op::Sweep => {
                if self.is_open.q.val() {
                    self.state.d.next = State::Limits;
                } else {
                    self.done.next = true;
                }
            }
        }
    }
}
