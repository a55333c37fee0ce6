//! What a command does, and what refuses it.

use super::{CardRegsCommand, State};
use crate::prelude::*;

impl<const LQ: usize, const LR: usize, const LF: usize> CardRegsCommand<LQ, LR, LF> {
    /// One clock of each command.
    #[hdl_part]
    pub(super) fn decide(&mut self) {
        // What is refused below goes to Finish.
        self.state.d.next = State::Finish;
        if self.is_create.q.val() {
            if self.bad.q.val() {
                self.said.d.next = self.bad_argument.val();
            } else if self.now.val().any() {
                self.said.d.next = self.bad_state.val();
            } else {
                self.newest.d.next = self.next_epoch.q.val();
                self.oldest.d.next = self.next_epoch.q.val();
                self.says.d.next = true;
                self.said0.d.next = bit_cast::<32, 16>(self.next_epoch.q.val());
                self.word0.d.next = bit_cast::<48, 32>(self.first.q.val())
                    | (bit_cast::<48, 16>(self.domain.q.val()) << 32)
                    | bit_cast::<48, 3>(self.init.val());
                self.state.d.next = State::Gather;
            }
        }
        if self.is_modify.q.val() {
            if self.bad.q.val() {
                self.said.d.next = self.bad_argument.val();
            } else if !self.leads.q.val() {
                self.said.d.next = self.bad_state.val();
            } else {
                self.word0.d.next =
                    (self.word0.q.val() & self.keep.val()) | bit_cast::<48, 3>(self.to.val());
                self.state.d.next = State::Shape;
            }
        }
        if self.is_join.q.val() {
            if self.bad.q.val() {
                self.said.d.next = self.bad_argument.val();
            } else if (self.now.val() == self.init.val()) & !self.member.val() {
                self.state.d.next = State::Join;
            } else {
                self.said.d.next = self.bad_state.val();
            }
        }
        if self.is_destroy.q.val() {
            if self.now.val().any() {
                self.state.d.next = State::Hold;
            } else {
                self.said.d.next = self.bad_state.val();
            }
        }
        if self.is_query.q.val() {
            self.says.d.next = true;
            self.said0.d.next = bit_cast::<32, 3>(self.now.val());
            self.said1.d.next = self.newest.q.val();
        }
        if self.is_advance.q.val() {
            if self.now.val().any() {
                self.newest.d.next = self.next_epoch.q.val();
                self.says.d.next = true;
                self.said0.d.next = bit_cast::<32, 16>(self.next_epoch.q.val());
                if self.span.val().get_bit(15) {
                    self.oldest.d.next = self.next_epoch.q.val() - self.reach.val();
                }
                self.state.d.next = State::Epochs;
            } else {
                self.said.d.next = self.bad_state.val();
            }
        }
        if self.is_set.q.val() {
            if self.bad.q.val() | self.no_bytes.q.val() | self.beyond.val() {
                self.said.d.next = self.bad_argument.val();
            } else {
                self.state.d.next = State::Region;
                if self.cfg_bulk.val() {
                    self.state.d.next = State::Hold;
                }
            }
        }
        if self.ends.q.val() {
            self.state.d.next = State::Hold;
        }
        if self.is_open.q.val() {
            if self.bad.q.val() {
                self.said.d.next = self.bad_argument.val();
            } else if self.now.val().any() {
                self.state.d.next = State::Hold;
            } else {
                self.said.d.next = self.bad_state.val();
            }
        }
    }
}
