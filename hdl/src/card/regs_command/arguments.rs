//! The arguments of a command, and what may not stand in them.

use super::{CardRegsCommand, State};
use crate::bus::RamReadIn;
use crate::prelude::*;

impl<const LQ: usize, const LR: usize, const LF: usize> CardRegsCommand<LQ, LR, LF> {
    /// Writes of the host, and the one that is fetched.
    #[hdl_part]
    pub(super) fn keep_arguments(&mut self) {
        // Arguments: 0 until they are written.
        self.wipe.d.next = self.wipe.q.val() + 1;
        self.args.wr.en.next = self.arg_en.val() & !self.running.q.val();
        self.args.wr.addr.next = self.arg_addr.val();
        self.args.wr.data.next = self.arg_data.val();
        self.args_bus.wr.en.next = self.arg_en.val() & !self.running.q.val();
        self.args_bus.wr.addr.next = self.arg_addr.val();
        self.args_bus.wr.data.next = self.arg_data.val();
        if self.rst.val() {
            self.args.wr.en.next = true;
            self.args.wr.addr.next = self.wipe.q.val();
            self.args.wr.data.next = 0.into();
            self.args_bus.wr.en.next = true;
            self.args_bus.wr.addr.next = self.wipe.q.val();
            self.args_bus.wr.data.next = 0.into();
        }
        RamReadIn::<32, 4>::link(&mut self.arg_rd, &mut self.args_bus.rd);
        // While rings are gathered: 1, 3, and then 4 to 9.
        self.arg_index.next = self.step.q.val();
        if self.state.q.val() == State::Gather {
            self.arg_index.next = self.step.q.val() + 2;
            if self.step.q.val() == 0 {
                self.arg_index.next = 1.into();
            }
        }
        self.args.rd.addr.next = self.arg_index.val();
    }

    /// Bits that must be 0 in the argument that is fetched now.
    #[hdl_part]
    pub(super) fn forbid(&mut self) {
        // Of the argument fetched now, whose number is step; it is looked at in the next clock.
        self.forbidden.d.next = 0.into();
        if (self.is_create.q.val() & (self.step.q.val() == 2))
            | (self.is_set.q.val() & (self.step.q.val() == 1))
            | (self.is_open.q.val() & (self.step.q.val() == 3))
            | (self.is_join.q.val() & (self.step.q.val() == 0))
        {
            self.forbidden.d.next = self.above_16.val();
        }
        if self.is_open.q.val() & (self.step.q.val() == 1) {
            self.forbidden.d.next = self.above_20.val();
        }
        if (self.is_create.q.val() & (self.step.q.val() == 3))
            | (self.is_open.q.val() & ((self.step.q.val() == 0) | (self.step.q.val() == 2)))
        {
            self.forbidden.d.next = self.above_24.val();
        }
        if self.is_create.q.val()
            & ((self.step.q.val() == 4) | (self.step.q.val() == 6) | (self.step.q.val() == 8))
        {
            self.forbidden.d.next = self.below_64.val();
        }
        if self.is_join.q.val() & (self.step.q.val() == 2) {
            self.forbidden.d.next = self.below_8.val();
        }
        if self.step.q.val() == 0 {
            if self.is_create.q.val() {
                self.forbidden.d.next = self.spare_shape.val();
            }
            if self.is_set.q.val() {
                self.forbidden.d.next = self.spare_region.val();
            }
            if self.is_modify.q.val() {
                self.forbidden.d.next = self.spare_state.val();
            }
        }
        // What was fetched for the command before is none of it.
        if !self.fetching.q.val() {
            self.forbidden.d.next = 0.into();
        }
    }
}
