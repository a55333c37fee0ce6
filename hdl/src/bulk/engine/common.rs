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
            self.t_rcount.d.next = self.t_rcount.q.val() + 1;
        }
        self.owing.d.next = self.owe.val();
        if self.owing.q.val() {
            self.t_lossy.d.next = true;
            if !self.t_owed.q.val().all() {
                self.t_owed.d.next = self.t_owed.q.val() + 1;
            }
        }
        // A clock later.
        if self.jump_base.q.val() {
            self.t_base.d.next = self.probe.q.val();
        }
        if self.jump.q.val() {
            self.t_next.d.next = self.probe.q.val();
        }
        if self.advance.q.val() {
            self.t_next.d.next = self.t_next.q.val() + 1;
        }
        if self.back.q.val() {
            self.t_next.d.next = self.target.q.val();
        }
        if self.lower.q.val() & self.target_lower.q.val() {
            self.t_trusted.d.next = self.target.q.val();
        }
        if self.trust.q.val() {
            self.t_trusted.d.next = self.t_trusted.q.val() + 1;
        }
        if self.lift.q.val() {
            self.t_trusted.d.next = self.t_base.q.val();
        }
        if self.early.q.val() {
            self.early.d.next = false;
            self.t_early_at.d.next = self.start.q.val() + self.cfg.early_poll.val();
        }
        if self.put_off.q.val() {
            self.t_poll_at.d.next = self.start.q.val() + self.wait.q.val();
        }
        if self.progress.q.val() {
            self.t_polls.d.next = 0.into();
            self.t_interval.d.next = self.cfg.poll.val();
        }
        if self.back_off.q.val() {
            self.t_interval.d.next = self.capped.q.val();
            if !self.t_polls.q.val().all() {
                self.t_polls.d.next = self.t_polls.q.val() + 1;
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
