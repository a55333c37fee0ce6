//! From a frame to what it asks for.

use super::{CardOneSidedRun, RunState};
use crate::prelude::*;

impl CardOneSidedRun {
    /// Forgets what was known of the frame before.
    #[hdl_part]
    pub(super) fn take_frame(&mut self) {
        self.take.next = true;
        self.said.d.next = false;
        self.rest.d.next = self.some.val();
        self.count.d.next = 0.into();
        self.reply.d.next = 0.into();
        self.outcome.d.next = 0.into();
        self.stays.d.next = false;
        self.single.d.next = false;
        self.found.d.next = 0.into();
        self.state.d.next = RunState::Check;
        if self.some.val() {
            self.state.d.next = RunState::First;
        }
    }

    /// What the tables say of the frame.
    #[hdl_part]
    pub(super) fn branch(&mut self) {
        self.addr.d.next = self.first.m.val();
        self.key.d.next = self.second.m.val().get_bits::<32>(32);
        self.domain.d.next = self.pd.val();
        self.bytes.d.next = self.len.val() - self.header.val();
        self.need.d.next = self.remote_write.val();
        if self.read.val() {
            self.bytes.d.next = self.to_read.val().get_bits::<13>(0);
            self.need.d.next = self.remote_read.val();
        }
        if self.atomic.val() {
            self.bytes.d.next = self.atomic_len.val();
            self.need.d.next = self.remote_atomic.val();
        }
        self.says.d.next = self.syndrome.val();
        if self.answer.val() {
            self.state.d.next = RunState::Claim;
        } else if !self.ak_ready.val() {
            self.happened.d.next = self.is_overload.val();
            self.state.d.next = RunState::Drain;
        } else if self.faulty.q.val() {
            self.happened.d.next = bit_cast::<12, 7>(self.verdict.val()) << 1;
            self.reply.d.next = bit_cast::<2, 1>(self.syndrome.val().any().into());
            self.state.d.next = RunState::Drain;
        } else if self.again.val() {
            self.happened.d.next = self.is_duplicate.val();
            self.stays.d.next = true;
            self.found.d.next = self.replay.val();
            self.reply.d.next = 2.into();
            self.state.d.next = RunState::Drain;
            if self.write.val() {
                self.says.d.next = self.ok_code.val();
                self.reply.d.next = 1.into();
            }
            if self.read.val() {
                self.found.d.next = 0.into();
                self.state.d.next = RunState::Look;
            }
        } else {
            self.state.d.next = RunState::Look;
        }
    }
}
