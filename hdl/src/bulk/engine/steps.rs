//! The state machine of the engine.

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
    /// One step of the operation under way, or the choice of the next one.
    #[hdl_part]
    pub(super) fn advance(&mut self) {
        self.timer.d.next = self.timer.q.val() + 1;
        match self.state.q.val() {
            State::Clear => {
                self.slot.d.next = self.clear_count.q.val();
                self.clear_count.d.next = self.clear_count.q.val() + 1;
                self.states.wr.en.next = true;
                self.states.wr.addr.next = bit_cast::<SA, LS>(self.clear_count.q.val());
                self.states.wr.data.next = bit_cast::<324, 32>(self.number_before.val());
                self.up.d.next = self.clear_count.q.val().all();
                if self.clear_count.q.val().all() {
                    self.timer.d.next = 0.into();
                    self.state.d.next = State::Idle;
                }
            }
            State::Idle => {
                self.begin();
            }
            State::Load => {
                self.load();
            }
            // Comparisons, the longest of which takes four clocks.
            State::Check => {
                if self.timer.q.val() == 3 {
                    self.timer.d.next = 0.into();
                    self.state.d.next = State::Act;
                }
            }
            State::Act => {
                self.act();
            }
            // A packet is looked up: its place in 1, its entry in 2, 3 and more clocks to judge it by.
            State::Probe => {
                if self.timer.q.val() == 4 {
                    self.state.d.next = State::Judge;
                }
            }
            State::Judge => {
                self.judge();
            }
            // What an answer says of queues: its cause in 1, its time in 2, what that is beyond in 3, as it is kept in 4.
            State::Polled => {
                if self.timer.q.val() == 4 {
                    if self.certain.q.val() {
                        self.t.d.next.late = self.late.q.val();
                    }
                    self.timer.d.next = 0.into();
                    self.state.d.next = State::ScanStart;
                    if self.opening.q.val() {
                        self.state.d.next = State::Lift;
                    }
                }
            }
            State::ScanStart => {
                self.scan.start.next = true;
                self.timer.d.next = 0.into();
                self.state.d.next = State::Scan;
            }
            State::Scan => {
                if self.scan.lost.val() & !self.first_valid.q.val() {
                    self.first_valid.d.next = true;
                    self.first.d.next = self.scan.pidx.val();
                }
                self.probe.d.next = self.first.q.val();
                self.timer.d.next = 0.into();
                if self.scan.done.val() {
                    self.state.d.next = State::ScanEnd;
                }
            }
            State::ScanEnd => {
                if self.timer.q.val() == 1 {
                    self.state.d.next = State::Top;
                }
            }
            State::Top => {
                self.lower.d.next = self.first_valid.q.val();
                self.probe.d.next = self.top.q.val();
                self.aim.d.next = Aim::Top;
                self.timer.d.next = 0.into();
                self.state.d.next = State::Probe;
            }
            // The oldest packet that is to be sent again.
            State::Pop => {
                self.probe.d.next = self.repairs.rd.data.val();
                self.aim.d.next = Aim::Pop;
                if self.timer.q.val() == 3 {
                    self.t.d.next.rhead = self.t.q.val().rhead + 1;
                    self.t.d.next.rcount = self.t.q.val().rcount - 1;
                    self.timer.d.next = 0.into();
                    self.state.d.next = State::Probe;
                }
            }
            State::Ready => {
                if self.timer.q.val() == 3 {
                    self.state.d.next = State::Emit;
                }
            }
            State::Emit => {
                self.emit();
            }
            // All packets below base are trusted.
            State::Lift => {
                self.aim.d.next = Aim::Trust;
                self.probe.d.next = self.t.q.val().trusted;
                if self.timer.q.val() == 2 {
                    if self.trusted_passed.q.val() {
                        self.lift.d.next = true;
                        self.probe.d.next = self.t.q.val().base;
                    }
                    self.timer.d.next = 0.into();
                    self.state.d.next = State::Probe;
                }
            }
            State::Settle => {
                if self.timer.q.val() == 7 {
                    self.state.d.next = State::Store;
                }
            }
            State::Store => {
                self.starved.d.next = self.starved.q.val() & !self.mask.val();
                if self.wants.starved.val() {
                    self.starved.d.next = self.starved.q.val() | self.mask.val();
                }
                self.timer.d.next = 0.into();
                self.state.d.next = State::Idle;
            }
            State::End => {
                self.end();
            }
            State::Leave => {
                self.timer.d.next = 0.into();
                self.state.d.next = State::Idle;
            }
        }
    }
}
