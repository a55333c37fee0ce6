//! What becomes of the packet that was looked up.

use super::{Aim, BulkEngine, State};
use crate::prelude::*;

impl<
    const S: usize,
    const LS: usize,
    const SA: usize,
    const LD: usize,
    const RA: usize,
    const QA: usize,
    const W: usize,
    const LW: usize,
    const A: usize,
> BulkEngine<S, LS, SA, LD, RA, QA, W, LW, A>
{
    /// By why it was.
    #[hdl_part]
    pub(super) fn judge(&mut self) {
        self.timer.d.next = 0.into();
        self.state.d.next = State::Lift;
        match self.aim.q.val() {
            Aim::One => {
                self.good.next =
                    self.sent.q.val() & self.old_enough.q.val() & self.probe_below_next.q.val();
                if self.good.val() {
                    self.told.d.next = 0.into();
                    self.aim.d.next = Aim::Back;
                    self.probe.d.next = self.above_window.q.val();
                    self.state.d.next = State::Probe;
                    self.lower.d.next = true;
                    if !self.asked.q.val() & self.room.val() {
                        self.ask.next = true;
                        self.owe.next = true;
                        self.ring_write.next = true;
                    }
                } else {
                    self.told.d.next = 7.into();
                }
            }
            Aim::Range => {
                if self.sent.q.val() & self.old_enough.q.val() & !self.granted_left.q.val() {
                    self.told.d.next = 0.into();
                    self.rewind.next = true;
                    self.owe.next = self.probe_below_next.q.val();
                } else {
                    self.told.d.next = 7.into();
                }
            }
            // The scan looks these up.
            Aim::Hole => {}
            Aim::Top => {
                self.rewind.next =
                    self.sent.q.val() & self.answers.q.val() & !self.gap.q.val().get_bit(15);
                if self.first_valid.q.val() {
                    self.aim.d.next = Aim::Back;
                    self.probe.d.next = self.first.q.val() + bit_cast::<22, 16>(self.t.q.val().w);
                    self.state.d.next = State::Probe;
                }
            }
            Aim::Back => {
                self.rewind.next = self.sent.q.val()
                    & self.old_enough.q.val()
                    & self.t.q.val().open
                    & self.cfg.overrun.val().any();
            }
            Aim::Pop => {
                if self.sent.q.val() & self.asked.q.val() & self.probe_below_next.q.val() {
                    self.state.d.next = State::Emit;
                    if self.cfg.echo.val() & self.has_owed.q.val() & self.copy.q.val() {
                        self.t.d.next.echo_valid = true;
                        self.t.d.next.echo = self.probe.q.val();
                        self.t.d.next.owed = self.t.q.val().owed - 1;
                    }
                } else if self.t.q.val().rcount.any() {
                    self.state.d.next = State::Pop;
                }
            }
            Aim::Trust => {
                self.state.d.next = State::Settle;
                if self.sent.q.val()
                    & self.old_enough.q.val()
                    & !self.asked.q.val()
                    & self.probe_below_next.q.val()
                {
                    self.trust.d.next = true;
                }
            }
        }
    }
}
