//! What events count.

use super::{Aim, MbRing, State};
use crate::prelude::*;

impl<const LG: usize, const LC: usize, const LB: usize> MbRing<LG, LC, LB> {
    /// A block, a grant or a credit, unless it is old.
    #[hdl_part]
    pub(super) fn take_event(&mut self) {
        // Events.
        self.counts.next = !self.first_behind.q.val() & !self.first_same.q.val();
        if self.op.q.val() == self.op_begin.val() {
            self.counts.next = !self.first_behind.q.val()
                & !self.first_same.q.val()
                & !self.st.q.val().receives.all();
        }
        if self.op.q.val() == self.op_sent.val() {
            self.counts.next = self.st.q.val().sends.any();
        }
        if (self.state.q.val() == State::Decide) & (self.aim.q.val() == Aim::Event) {
            self.answer_valid.d.next = true;
            self.answer_ok.d.next = self.counts.val();
            self.counters.wr.en.next = self.counts.val();
            self.state.d.next = State::Save;
            if self.counts.val() {
                self.state.d.next = State::Lane;
                if self.op.q.val() == self.op_begin.val() {
                    self.st.d.next.receives = self.st.q.val().receives + 1;
                    self.st.d.next.begun = true;
                    self.state.d.next = State::Save;
                } else {
                    self.st.d.next.idle = 0.into();
                }
                if self.op.q.val() == self.op_landed.val() {
                    self.st.d.next.receives = self.st.q.val().receives - 1;
                    self.mask.d.next = 7.into();
                    self.aim.d.next = Aim::Total;
                    self.state.d.next = State::First;
                }
                if self.op.q.val() == self.op_credit.val() {
                    self.mask.d.next = 1.into();
                }
                if self.op.q.val() == self.op_sent.val() {
                    self.st.d.next.sends = self.st.q.val().sends - 1;
                    self.mask.d.next = 5.into();
                }
                if (self.op.q.val() != self.op_credit.val())
                    & (self.op.q.val() != self.op_begin.val())
                    & (self.st.q.val().mode == self.draining.val())
                    & self.lone.val()
                {
                    self.ends.next = true;
                }
            }
        }
        if (self.state.q.val() == State::Decide) & (self.aim.q.val() == Aim::Total) {
            self.counters.wr.en.next = true;
            self.state.d.next = State::Lane;
        }
    }
}
