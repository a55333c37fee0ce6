//! Whose turn it is, and its group.

use super::{Aim, MbRing, State};
use crate::prelude::*;

impl<const LG: usize, const LC: usize, const LB: usize> MbRing<LG, LC, LB> {
    /// A sweep over all groups for each tick.
    #[hdl_part]
    pub(super) fn sweep(&mut self) {
        // Time: a sweep over all groups for each tick.
        if self.s_tick.val() {
            self.ticks.d.next = true;
        }
        if self.ticks.q.val() & !self.sweeps.q.val() {
            self.ticks.d.next = self.s_tick.val();
            self.sweeps.d.next = true;
        }

        if self.state.q.val() == State::Boot {
            self.group.d.next = self.group.q.val() + 1;
            if self.group.q.val().all() {
                self.state.d.next = State::Idle;
            }
        }
    }

    /// Commands, events, entries, groups to look at and ticks take turns.
    #[hdl_part]
    pub(super) fn choose(&mut self) {
        // Whose turn it is.
        if self.state.q.val() == State::Idle {
            self.turn.d.next = self.turn.q.val() + 1;
            self.beyond.d.next = false;
            if (self.turn.q.val() == 0) & self.s_cmd.valid.val() {
                self.op.d.next = bit_cast::<4, 2>(self.s_cmd.op.val());
                self.group.d.next = bit_cast::<LG, 8>(self.s_cmd.group.val());
                self.beyond.d.next = bit_cast::<8, LG>(bit_cast::<LG, 8>(self.s_cmd.group.val()))
                    != self.s_cmd.group.val();
                self.state.d.next = State::Read;
            }
            if (self.turn.q.val() == 1) & self.s_ev.valid.val() {
                self.op.d.next = bit_cast::<4, 3>(self.s_ev.op.val()) | self.op_begin.val();
                self.group.d.next = bit_cast::<LG, 8>(self.s_ev.group.val());
                self.beyond.d.next = bit_cast::<8, LG>(bit_cast::<LG, 8>(self.s_ev.group.val()))
                    != self.s_ev.group.val();
                self.state.d.next = State::Read;
            }
            if (self.turn.q.val() == 2) & self.burst.valid.val() {
                self.op.d.next = self.op_entry.val();
                self.group.d.next = bit_cast::<LG, 16>(self.burst.ctx.val());
                self.state.d.next = State::Read;
            }
            if (self.turn.q.val() == 3) & self.looks.m.valid.val() {
                self.op.d.next = self.op_look.val();
                self.group.d.next = bit_cast::<LG, 8>(self.looks.m.data.val());
                self.state.d.next = State::Read;
            }
            if self.turn.q.val() == 4 {
                self.turn.d.next = 0.into();
                if self.sweeps.q.val() {
                    self.op.d.next = self.op_tick.val();
                    self.group.d.next = self.sweep.q.val();
                    self.sweep.d.next = self.sweep.q.val() + 1;
                    if self.sweep.q.val().all() {
                        self.sweeps.d.next = false;
                    }
                    self.state.d.next = State::Read;
                }
            }
        }
        if self.state.q.val() == State::Read {
            self.state.d.next = State::Wait;
        }
        if self.state.q.val() == State::Wait {
            self.state.d.next = State::Load;
        }
        if self.state.q.val() == State::Load {
            self.st.d.next = self.states.rd.data.val().into();
            self.again.d.next = false;
            self.mask.d.next = 0.into();
            self.lane.d.next = 0.into();
            self.index.d.next = 0.into();
            self.aim.d.next = Aim::Event;
            self.state.d.next = State::Size;
        }
    }
}
