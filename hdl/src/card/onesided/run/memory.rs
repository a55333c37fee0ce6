//! What is read and written.

use super::{CardOneSidedRun, RunState};
use crate::prelude::*;

impl CardOneSidedRun {
    /// A word that was read.
    #[hdl_part]
    pub(super) fn keep_read(&mut self) {
        self.keep.next = self.rd_valid.val() & self.read.val();
        if self.rd_valid.val() {
            if self.atomic.val() {
                self.found.d.next = self.rd_data.val();
            }
            if self.rd_last.val() {
                self.state.d.next = RunState::Advance;
                if self.atomic.val() {
                    self.state.d.next = RunState::Sum;
                }
                if self.rd_error.val() {
                    self.says.d.next = self.operation_code.val();
                    self.reply.d.next = 1.into();
                    self.happened.d.next = self.is_failed.val();
                    self.state.d.next = RunState::Drain;
                }
            }
        }
    }

    /// The sum of an atomic, its lower half, and whether the compared word is there.
    #[hdl_part]
    pub(super) fn sum(&mut self) {
        self.low.d.next = bit_cast::<33, 32>(self.found.q.val().get_bits::<32>(0))
            + bit_cast::<33, 32>(self.operand.q.val().get_bits::<32>(0));
        self.same_low.d.next =
            self.found.q.val().get_bits::<32>(0) == self.compare.q.val().get_bits::<32>(0);
        self.same_high.d.next =
            self.found.q.val().get_bits::<32>(32) == self.compare.q.val().get_bits::<32>(32);
        self.state.d.next = RunState::Carry;
    }

    /// The sum of an atomic, its upper half, or the word it swaps in.
    #[hdl_part]
    pub(super) fn carry(&mut self) {
        self.value.d.next = bit_cast::<64, 32>(self.low.q.val().get_bits::<32>(0))
            | (bit_cast::<64, 32>(
                self.found.q.val().get_bits::<32>(32)
                    + self.operand.q.val().get_bits::<32>(32)
                    + bit_cast::<32, 1>(self.low.q.val().get_bits::<1>(32)),
            ) << 32);
        self.single.d.next = true;
        self.state.d.next = RunState::Write;
        if self.swaps.val() {
            self.value.d.next = self.operand.q.val();
            if !self.same_low.q.val() | !self.same_high.q.val() {
                self.state.d.next = RunState::Advance;
            }
        }
    }
}
