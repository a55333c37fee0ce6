//! Answers of requests of this card, and what a region allows.

use super::{CardOneSidedRun, RunState};
use crate::prelude::*;

impl CardOneSidedRun {
    /// Whether the answer is what the request asked for.
    #[hdl_part]
    pub(super) fn fit(&mut self) {
        self.addr.d.next = self.local_addr.val();
        self.key.d.next = self.local_key.val();
        self.need.d.next = self.local_write.val();
        self.value.d.next = self.word_0.q.val();
        // Nothing can be written of a request without a buffer.
        self.outcome.d.next = self.remote_length.val();
        self.state.d.next = RunState::Drain;
        if !self.kind.val().any() {
            self.outcome.d.next = self.remote_opcode.val();
        }
        if self.fits_read.q.val() {
            self.outcome.d.next = 0.into();
            self.state.d.next = RunState::Look;
        }
        if self.fits_word.q.val() {
            self.bytes.d.next = self.atomic_len.val();
            self.single.d.next = true;
            self.outcome.d.next = 0.into();
            self.state.d.next = RunState::Look;
        }
    }

    /// The answer of the regions.
    #[hdl_part]
    pub(super) fn weigh_region(&mut self) {
        if self.look.valid.val() {
            if !self.look.ok.val() {
                self.state.d.next = RunState::Drain;
                if self.reply.q.val().all() {
                    self.outcome.d.next = self.protection.val();
                    self.happened.d.next = self.is_local_error.val();
                } else {
                    self.says.d.next = self.access_code.val();
                    self.reply.d.next = 1.into();
                    self.happened.d.next = self.is_refused.val();
                }
            } else if self.reply.q.val().all() {
                self.state.d.next = RunState::Write;
            } else if self.atomic.val() {
                self.state.d.next = RunState::Operand;
            } else if self.read.val() {
                self.state.d.next = RunState::Read;
            } else if self.bytes.q.val().any() {
                self.state.d.next = RunState::Write;
            } else {
                self.state.d.next = RunState::Advance;
            }
        }
    }
}
