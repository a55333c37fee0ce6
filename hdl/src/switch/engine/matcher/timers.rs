//! Timers of the descriptors.

use super::RedMatch;
use crate::prelude::*;

impl RedMatch {
    /// Clocks 9 to 12: wait count and timer.
    #[hdl_part]
    pub(super) fn set_timer(&mut self) {
        // Clocks 9 to 12: wait count and timer.
        if self.t9.q.val() {
            self.t10_wait.d.next = self.s_data.val().get_bits::<20>(0);
        }
        self.waits.wr.en.next = self.t10.q.val() & self.t6_arm.q.val();
        self.waits.wr.addr.next = self.t5_index.q.val();
        self.waits.wr.data.next = self.t10_wait.q.val();
        self.t11_above.d.next =
            bit_cast::<3, 1>((self.t10_wait.q.val() >= self.cfg_threshold_1.val()).into())
                | (bit_cast::<3, 1>((self.t10_wait.q.val() >= self.cfg_threshold_2.val()).into())
                    << 1)
                | (bit_cast::<3, 1>((self.t10_wait.q.val() >= self.cfg_threshold_3.val()).into())
                    << 2);
        self.above.next = bit_cast::<2, 1>(self.t11_above.q.val().get_bits::<1>(0))
            + bit_cast::<2, 1>(self.t11_above.q.val().get_bits::<1>(1))
            + bit_cast::<2, 1>(self.t11_above.q.val().get_bits::<1>(2));
        self.t12_timeout.d.next = self.cfg_timeout_0.val();
        if self.above.val() == 1 {
            self.t12_timeout.d.next = self.cfg_timeout_1.val();
        }
        if self.above.val() == 2 {
            self.t12_timeout.d.next = self.cfg_timeout_2.val();
        }
        if self.above.val() == 3 {
            self.t12_timeout.d.next = self.cfg_timeout_3.val();
        }
        self.arm_timer.d.next = self.t11.q.val() & self.t6_arm.q.val();
        self.set_timer.next = 0.into();
        if self.arm_timer.q.val() {
            self.set_timer.next = self.t5_onehot.q.val();
        }
    }

    /// The visit to the timers.
    #[hdl_part]
    pub(super) fn visit_timers(&mut self) {
        // The visit to the timers: one clock to read, one to write; it begins anew when one is set meanwhile.
        self.visit_step.next =
            self.visiting.q.val() & self.visit_read.q.val() & !self.arm_timer.q.val();
        self.visit_read.d.next =
            self.visiting.q.val() & !self.visit_read.q.val() & !self.arm_timer.q.val();
        self.timers.rd.addr.next = self.visit.q.val();
        self.timer.d.next = self.timers.rd.data.val();
        self.timer_any.d.next =
            bit_cast::<4, 1>(self.timers.rd.data.val().get_bits::<6>(0).any().into())
                | (bit_cast::<4, 1>(self.timers.rd.data.val().get_bits::<6>(6).any().into()) << 1)
                | (bit_cast::<4, 1>(self.timers.rd.data.val().get_bits::<6>(12).any().into()) << 2)
                | (bit_cast::<4, 1>(self.timers.rd.data.val().get_bits::<6>(18).any().into()) << 3);
        // Known with the timer: what sets a timer in between makes the visit read again.
        self.spared.d.next = (self.visit_at.q.val() & self.fresh.q.val()).any();
        self.timers.wr.en.next = self.visit_step.val() | self.arm_timer.q.val();
        self.timers.wr.addr.next = self.visit.q.val();
        self.timers.wr.data.next = self.timer.q.val() - 1;
        if self.spared.q.val() {
            self.timers.wr.data.next = self.timer.q.val();
        }
        if self.arm_timer.q.val() {
            self.timers.wr.addr.next = self.t5_index.q.val();
            self.timers.wr.data.next = self.t12_timeout.q.val();
        }
        // What is armed in between is spared: its timer does not run yet.
        self.run_out.next = 0.into();
        if self.visit_step.val() & !self.timer_any.q.val().any() & !self.spared.q.val() {
            self.run_out.next = self.visit_at.q.val();
        }
        if self.visit_step.val() {
            self.visit.d.next = self.visit.q.val() + 1;
            self.visit_at.d.next = (self.visit_at.q.val() << 1)
                | bit_cast::<8, 1>(self.visit_at.q.val().get_bits::<1>(7));
            self.visiting.d.next = !self.visit.q.val().all();
        }
        // A timer that is set during a visit belongs to the next one.
        self.fresh.d.next = self.fresh.q.val() | self.set_timer.val();
        if !self.visiting.q.val() & !self.tick.val() {
            self.fresh.d.next = 0.into();
        }
        if self.tick.val() {
            self.visiting.d.next = true;
        }

        self.gone.d.next = self.run_out.val();
    }
}
