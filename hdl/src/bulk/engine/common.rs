//! What several states do to a transfer.

use super::BulkEngine;
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
    /// Moves its numbers and times, some a clock later.
    #[hdl_part]
    pub(super) fn move_transfer(&mut self) {
        // What several states do.
        if self.rewind.val() {
            self.back.d.next = self.probe_below_next.q.val();
            self.lower.d.next = self.probe_below_next.q.val();
        }
        if self.ask.val() {
            self.t.d.next.rcount = self.t.q.val().rcount + 1;
        }
        self.owing.d.next = self.owe.val();
        if self.owing.q.val() {
            self.t.d.next.lossy = true;
            if !self.t.q.val().owed.all() {
                self.t.d.next.owed = self.t.q.val().owed + 1;
            }
        }
        // A clock later.
        if self.jump_base.q.val() {
            self.t.d.next.base = self.probe.q.val();
        }
        if self.jump.q.val() {
            self.t.d.next.pointer = self.probe.q.val();
        }
        if self.advance.q.val() {
            self.t.d.next.pointer = self.t.q.val().pointer + 1;
        }
        if self.back.q.val() {
            self.t.d.next.pointer = self.target.q.val();
        }
        if self.lower.q.val() & self.target_lower.q.val() {
            self.t.d.next.trusted = self.target.q.val();
        }
        if self.trust.q.val() {
            self.t.d.next.trusted = self.t.q.val().trusted + 1;
        }
        if self.lift.q.val() {
            self.t.d.next.trusted = self.t.q.val().base;
        }
        if self.early.q.val() {
            self.early.d.next = false;
            self.t.d.next.early_at = self.start.q.val() + self.cfg.early_poll.val();
        }
        if self.put_off.q.val() {
            self.t.d.next.poll_at = self.start.q.val() + self.wait.q.val();
        }
        if self.progress.q.val() {
            self.t.d.next.polls = 0.into();
            self.t.d.next.interval = self.cfg.poll.val();
        }
        if self.back_off.q.val() {
            self.t.d.next.interval = self.capped.q.val();
            if !self.t.q.val().polls.all() {
                self.t.d.next.polls = self.t.q.val().polls + 1;
            }
        }
        self.ring.wr.addr.next = (bit_cast::<RA, LS>(self.slot.q.val()) << self.ld.val())
            | bit_cast::<RA, LD>(self.ring_write_place.val());
        self.ring.wr.en.next = self.ring_write.val() | self.scan.write.val();
        self.ring.wr.data.next = self.ring_data.val();
        self.repairs.wr.en.next = self.ask.val();
        self.repairs.wr.data.next = self.probe.q.val();
        if self.scan.ask.val() {
            self.repairs.wr.data.next = self.scan.pidx.val();
        }
    }
}
