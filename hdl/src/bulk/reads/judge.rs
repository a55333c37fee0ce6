//! What comes of the place that was looked at.

use super::BulkReads;
use crate::bulk::reading::{Act, Asking, Step};
use crate::prelude::*;

impl<const R: usize, const LR: usize, const A: usize, const LQ: usize> BulkReads<R, LR, A, LQ> {
    /// By why it was.
    #[hdl_part]
    pub(super) fn judge(&mut self) {
        self.timer.d.next = 0.into();
        self.step.d.next = Step::Idle;
        match self.act.q.val() {
            // A window that was closed when its queue pair had ended is of nobody.
            Act::Closed => {
                self.status.d.next = self.statuses.rd.data.val();
                if self.is_gone.val() {
                    self.status.d.next = self.local_protection.val();
                }
                if self.is_active.val() {
                    self.step.d.next = Step::Offer;
                } else {
                    self.forgets.next = self.mask.val();
                }
            }
            Act::Answer => {
                self.s_answer.ready.next = true;
                self.answer_at.d.next = self.at.q.val();
                if self.s_answer.ok.val() {
                    self.answers.next = self.mask.val();
                }
            }
            Act::Refused => {
                self.s_refused.ready.next = true;
                if self.s_refused.of.val().reason == self.told_busy.val() {
                    self.askings.wr.en.next = !self.s_refused_stray.val();
                    self.asking_in.next = Asking {
                        next_at: self.now.val() + self.s_refused.of.val().retry,
                        interval: self.asking.val().interval,
                        tries: 0.into(),
                        busy: self.asking.val().busy + 1,
                        heard: true,
                    };
                    // Half of all times are over.
                    if self.s_refused.of.val().retry.get_bit(15) {
                        self.asking_in.next.next_at = self.now.val() + 0x7fff;
                    }
                } else if !self.s_refused_stray.val() {
                    self.step.d.next = Step::End;
                }
                self.status.d.next = self.remote_length.val();
                if self.s_refused.of.val().reason == self.told_access.val() {
                    self.status.d.next = self.remote_access.val();
                }
                if self.s_refused.of.val().reason == self.told_bad_qp.val() {
                    self.status.d.next = self.bad_qp.val();
                }
            }
            Act::Ends => {
                if self.is_active.val() & self.same_end.q.val() {
                    if self.s_end_pair.val() {
                        self.ends.next = self.mask.val();
                    } else if !self.is_closed.val() {
                        self.parts.next = self.mask.val();
                    }
                }
                self.at.d.next = self.at.q.val() + 1;
                self.step.d.next = Step::Look;
                if self.at.q.val().all() {
                    self.s_end_ready.next = true;
                    self.step.d.next = Step::Idle;
                }
            }
            Act::Ask => {
                self.status.d.next = self.unreachable.val();
                if self.asking.val().heard {
                    self.status.d.next = self.unresponsive.val();
                }
                if self.waits.val() & !self.age.q.val().get_bit(15) {
                    self.step.d.next = Step::End;
                    if !self.over.q.val() {
                        self.askings.wr.en.next = true;
                        self.asking_in.next = Asking {
                            next_at: self.now.val() + self.asking.val().interval,
                            interval: self.twice.q.val().get_bits::<16>(0),
                            tries: self.asking.val().tries + 1,
                            busy: self.asking.val().busy,
                            heard: self.asking.val().heard,
                        };
                        if self.twice.q.val() > bit_cast::<17, 16>(self.cfg_poll_max.val()) {
                            self.asking_in.next.interval = self.cfg_poll_max.val();
                        }
                        self.step.d.next = Step::Frame;
                    }
                }
            }
            Act::Say => {}
        }
    }
}
