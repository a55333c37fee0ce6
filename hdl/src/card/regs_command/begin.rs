//! From the code of a command to its arguments.

use super::{CardRegsCommand, State};
use crate::prelude::*;

impl<const LQ: usize, const LR: usize, const LF: usize> CardRegsCommand<LQ, LR, LF> {
    /// The index, and where the command begins.
    #[hdl_part]
    pub(super) fn check(&mut self) {
        self.who.d.next = self.index.q.val().get_bits::<LQ>(0);
        self.step.d.next = 0.into();
        self.waited.d.next = 0.into();
        self.bad.d.next = false;
        self.state.d.next = State::Read1;
        if self.of_region.q.val() | self.of_window.q.val() {
            self.state.d.next = State::Fetch;
            self.fetching.d.next = true;
        }
        if (self.of_region.q.val() & (self.index.q.val() >> self.lr.val()).any())
            | (self.of_window.q.val() & self.index.q.val().get_bits::<16>(8).any())
            | (!self.of_region.q.val()
                & !self.of_window.q.val()
                & (self.index.q.val() >> self.lq.val()).any())
        {
            self.said.d.next = self.bad_index.val();
            self.state.d.next = State::Finish;
            self.fetching.d.next = false;
        }
        if self.unknown.q.val() {
            self.said.d.next = self.bad_command.val();
            self.state.d.next = State::Finish;
            self.fetching.d.next = false;
        }
    }

    /// What is kept of the queue pair has been read.
    #[hdl_part]
    pub(super) fn read_context(&mut self) {
        self.word0.d.next = self.contexts.rd.data.val().get_bits::<48>(0);
        self.oldest.d.next = self.contexts.rd.data.val().get_bits::<16>(48);
        self.newest.d.next = self.contexts.rd.data.val().get_bits::<16>(64);
        self.state.d.next = State::Fetch;
        self.fetching.d.next =
            !self.serving.q.val() & !self.flushed.q.val() & !self.is_open.q.val();
        if self.serving.q.val() {
            self.word0.d.next = (self.contexts.rd.data.val().get_bits::<48>(0) & self.keep.val())
                | bit_cast::<48, 3>(self.error.val());
            self.state.d.next = State::Shape;
            if !self.contexts.rd.data.val().get_bits::<3>(0).any() {
                self.serving.d.next = false;
                self.state.d.next = State::Idle;
                if self.held.q.val() {
                    self.state.d.next = State::Hold;
                }
            }
        } else if self.flushed.q.val() {
            self.word0.d.next = 0.into();
            self.state.d.next = State::Shape;
        } else if self.is_open.q.val() {
            self.state.d.next = State::Decide;
        }
    }

    /// One argument a clock.
    #[hdl_part]
    pub(super) fn fetch(&mut self) {
        if self.step.q.val() != self.last.q.val() {
            self.fetching.d.next = true;
            self.step.d.next = self.step.q.val() + 1;
        } else {
            self.state.d.next = State::Weigh;
        }
        // Of the last arguments, once all are here.
        self.end_low.d.next =
            bit_cast::<33, 32>(self.arg3.q.val()) + bit_cast::<33, 32>(self.arg1.q.val());
        self.end_high.d.next =
            bit_cast::<33, 32>(self.arg2.q.val()) + bit_cast::<33, 32>(self.arg0.q.val());
        if (self.arg0.q.val() & self.forbidden.q.val()).any() {
            self.bad.d.next = true;
        }
        if self.step.q.val() == 1 {
            self.first.d.next = self.arg0.q.val();
            // The card cannot have such a queue pair.
            if self.is_open.q.val() & (self.arg0.q.val() >> self.lq.val()).any() {
                self.bad.d.next = true;
            }
        }
        if (self.is_create.q.val() & (self.step.q.val() == 3))
            | (self.is_set.q.val() & (self.step.q.val() == 2))
        {
            self.domain.d.next = self.arg0.q.val().get_bits::<16>(0);
        }
    }
}
