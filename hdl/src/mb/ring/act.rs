//! What commands, entries and ticks do to a group.

use super::{MbRing, State};
use crate::prelude::*;

impl<const LG: usize, const LC: usize, const LB: usize> MbRing<LG, LC, LB> {
    /// What the state allows.
    #[hdl_part]
    pub(super) fn weigh(&mut self) {
        // The state.
        self.runs.next = (self.st.q.val().mode == self.running.val()) & !self.beyond.q.val();
        self.lives.next = self.runs.val()
            | ((self.st.q.val().mode == self.draining.val()) & !self.beyond.q.val());
        self.still.next = !self.st.q.val().sends.any() & !self.st.q.val().receives.any();
        // Of what is under way, the last ends.
        self.lone.next = (self.st.q.val().sends == 0) & (self.st.q.val().receives == 1);
        if self.op.q.val() == self.op_sent.val() {
            self.lone.next = (self.st.q.val().sends == 1) & (self.st.q.val().receives == 0);
        }
        self.ends.next = false;
        self.code.next = self.code_stopped.val();
        self.peer.next = 0.into();
        self.answer_group.d.next = bit_cast::<8, LG>(self.group.q.val());
        if self.op.q.val() <= self.op_close.val() {
            self.answer_group.d.next = self.s_cmd.group.val();
        }
        if self.op.q.val() >= self.op_begin.val() {
            self.answer_group.d.next = self.s_ev.group.val();
        }
        self.answer_ok.d.next = false;
    }

    /// What is asked for, in one clock.
    #[hdl_part]
    pub(super) fn act(&mut self) {
        // Commands. What they are compared with is reckoned in SIZE.
        if self.state.q.val() == State::Size {
            self.state.d.next = State::Act;
        }
        self.opens.next = (self.st.q.val().mode == self.closed.val())
            & !self.beyond.q.val()
            & self.s_cmd.log.val().any()
            & !self.s_cmd.base.val().get_bits::<5>(0).any();
        self.ahead.d.next = self.s_cmd.posted.val() - self.st.q.val().fetched;
        self.before.d.next = self.st.q.val().posted - self.st.q.val().fetched;
        self.size.d.next = bits::<16>(1) << self.st.q.val().log;
        self.rings.next = self.runs.val()
            & (self.ahead.q.val() >= self.before.q.val())
            & (self.ahead.q.val() <= self.size.q.val());
        self.ticked.d.next = self.st.q.val().idle + 1;
        self.fits.next = self.lives.val() & (self.s_ev.slot.val() != self.all.val());
        if self.op.q.val() == self.op_begin.val() {
            self.fits.next = self.runs.val() & (self.s_ev.slot.val() != self.all.val());
        }
        if self.op.q.val() == self.op_sent.val() {
            self.fits.next = self.lives.val();
        }
        if self.state.q.val() == State::Act {
            self.state.d.next = State::Save;
            self.answer_valid.d.next = true;
            if self.op.q.val() == self.op_open.val() {
                self.answer_ok.d.next = self.opens.val();
                if self.opens.val() {
                    self.st.d.next.mode = self.running.val();
                    self.st.d.next.base = self.s_cmd.base.val();
                    self.st.d.next.log = self.s_cmd.log.val();
                    self.st.d.next.posted = 0.into();
                    self.st.d.next.fetched = 0.into();
                    self.st.d.next.watchdog = self.s_cmd.watchdog.val();
                    self.st.d.next.idle = 0.into();
                    self.st.d.next.timed = self.s_cmd.timed.val();
                    self.st.d.next.begun = false;
                    self.st.d.next.messages = 0.into();
                    self.state.d.next = State::Clear;
                }
            }
            if (self.op.q.val() == self.op_doorbell.val()) & self.rings.val() {
                self.answer_ok.d.next = true;
                self.st.d.next.posted = self.s_cmd.posted.val();
                self.st.d.next.idle = 0.into();
                self.st.d.next.begun = self.st.q.val().begun
                    | (self.st.q.val().timed & (self.ahead.q.val() != self.before.q.val()));
                self.state.d.next = State::Fetch;
            }
            if (self.op.q.val() == self.op_stop.val()) & self.runs.val() {
                self.answer_ok.d.next = true;
                self.st.d.next.mode = self.draining.val();
                self.ends.next = self.still.val();
                self.state.d.next = State::End;
            }
            if (self.op.q.val() == self.op_close.val())
                & (self.st.q.val().mode == self.ended.val())
                & !self.st.q.val().flying.any()
                & !self.beyond.q.val()
            {
                self.answer_ok.d.next = true;
                self.st.d.next.mode = self.closed.val();
            }
            if self.op.q.val() == self.op_tick.val() {
                if self.lives.val() & self.st.q.val().begun & self.st.q.val().watchdog.any() {
                    self.st.d.next.idle = self.ticked.q.val();
                    if self.ticked.q.val() >= self.st.q.val().watchdog {
                        self.answer_ok.d.next = true;
                        self.ends.next = true;
                        self.code.next = self.code_watchdog.val();
                    }
                }
                self.state.d.next = State::End;
            }
            if self.op.q.val() == self.op_entry.val() {
                self.st.d.next.flying = self.st.q.val().flying - 1;
                if self.runs.val() {
                    self.answer_ok.d.next = true;
                    self.state.d.next = State::Lane;
                    if self.entry.val().kind == 1 {
                        self.st.d.next.send.count = self.st.q.val().send.count + 1;
                        self.mask.d.next = 1.into();
                    }
                    if self.entry.val().kind == 2 {
                        self.st.d.next.grant.count = self.st.q.val().grant.count + 1;
                        self.mask.d.next = 2.into();
                    }
                    if self.entry.val().kind == 3 {
                        self.st.d.next.done.count = self.st.q.val().done.count + 1;
                        self.mask.d.next = 4.into();
                    }
                    if (self.entry.val().kind == 0)
                        | ((self.entry.val().kind == self.kind_done.val())
                            != (self.entry.val().to == self.all.val()))
                    {
                        self.answer_ok.d.next = false;
                        self.ends.next = true;
                        self.code.next = self.code_entry.val();
                    }
                    if self.burst.error.val() {
                        self.answer_ok.d.next = false;
                        self.ends.next = true;
                        self.code.next = self.code_read.val();
                    }
                }
            }
            if self.op.q.val() == self.op_look.val() {
                self.answer_valid.d.next = false;
                self.st.d.next.queued = false;
                self.mask.d.next = 7.into();
                self.state.d.next = State::Lane;
            }
            if (self.op.q.val() >= self.op_begin.val()) & self.fits.val() {
                self.answer_valid.d.next = false;
                self.state.d.next = State::First;
                if self.op.q.val() == self.op_failed.val() {
                    self.answer_valid.d.next = true;
                    self.answer_ok.d.next = true;
                    self.ends.next = true;
                    self.code.next = self.code_failed.val();
                    self.peer.next = self.s_ev.slot.val();
                    self.state.d.next = State::End;
                }
            }
        }
    }
}
