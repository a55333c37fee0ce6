//! Which descriptor a frame belongs to, and what becomes of it.

use super::RedMatch;
use crate::prelude::*;

impl RedMatch {
    /// Clocks 0 to 2: which descriptor, and a free one.
    #[hdl_part]
    pub(super) fn find(&mut self) {
        // Clock 0: the frame's key against all.
        if self.s_first.val() {
            self.goes_down.d.next = self.s_down.val();
            self.key.d.next = self.s_data.val();
        }
        self.live.next = self.valid.q.val() & !self.sending.q.val();
        for i in 0..8 {
            self.hits.s[i].next =
                self.keys[i].q.val().get_bits::<16>(0) == self.s_data.val().get_bits::<16>(0);
            self.vnis.s[i].next =
                self.keys[i].q.val().get_bits::<16>(16) == self.s_data.val().get_bits::<16>(16);
            self.cookies.s[i].next =
                self.keys[i].q.val().get_bits::<32>(32) == self.s_data.val().get_bits::<32>(32);
        }
        if self.s_first.val() {
            self.t1_hit.d.next = self.hits.m.val() & self.live.val();
            self.t1_vni.d.next = self.vnis.m.val();
            self.t1_cookie.d.next = self.cookies.m.val();
        }

        // Clock 1: which one, and the reduction header.
        self.swap.s.next = self.s_data.val();
        self.hit_at.s.next = self.t1_hit.q.val();
        self.m_soon.next = self.hit_at.m.val();
        self.m_hit.next = self.t1_hit.q.val();
        self.replaced.next = self.empty.q.val();
        if self.swap.m.val().get_bit(50) & !self.again_1.val() {
            self.replaced.next = self.empty.q.val() | !self.mismatched.q.val();
        }
        if self.t1.q.val() {
            self.header.d.next = self.swap.m.val();
            if self.again_1.val() {
                self.header.d.next = (self.header.q.val() & self.but_count.val())
                    | (bit_cast::<64, 20>(self.again_count.val()) << 17);
            }
            self.t2_any.d.next = self.t1_hit.q.val().any();
            self.t2_vni.d.next = (self.t1_hit.q.val() & self.t1_vni.q.val()).any();
            self.t2_cookie.d.next = (self.t1_hit.q.val() & self.t1_cookie.q.val()).any();
            self.t2_empty.d.next = (self.t1_hit.q.val() & self.empty.q.val()).any();
            self.t2_load.d.next = (self.t1_hit.q.val() & self.replaced.val()).any();
            self.t2_mismatched.d.next = (self.t1_hit.q.val() & self.mismatched.q.val()).any();
            self.index.d.next = self.hit_at.m.val();
        }
        self.m_index.next = self.index.q.val();
        self.m_empty.next = self.t2_empty.q.val();
        self.m_load.next = self.t2_load.q.val();
        self.m_mismatched.next = self.t2_mismatched.q.val();
        self.m_header.next = self.header.q.val();

        // The first free descriptor, ready for whoever arms.
        self.free.next = !self.valid.q.val();
        self.free_first.d.next = self.free.val() & (!self.free.val() + 1);
        self.free_any.d.next = self.free_first.q.val().any();
        self.free_at.s.next = self.free_first.q.val();
        self.free_index.d.next = self.free_at.m.val();

        // Clock 2: the tables, and what goes down.
        self.seqnos.rd.addr.next = self.index.q.val();
        self.tallies.rd.addr.next = self.index.q.val();
        self.waits.rd.addr.next = self.index.q.val();
        self.t3_seqno.d.next = self.seqnos.rd.data.val();
        self.t3_tally.d.next = self.tallies.rd.data.val();
        self.t3_missing.d.next = bit_cast::<22, 20>(self.waits.rd.data.val())
            - bit_cast::<22, 20>(self.tallies.rd.data.val().get_bits::<20>(0));
        self.t3_match.d.next = self.t2_any.q.val() & self.t2_vni.q.val() & self.t2_cookie.q.val();
    }

    /// Clock 3: comparisons, the sum, and what does not depend on them.
    #[hdl_part]
    pub(super) fn compare(&mut self) {
        // Clock 3: comparisons and the sum.
        self.behind.next = self.header.q.val().get_bits::<10>(0) - self.t3_seqno.q.val();
        self.t4_same.d.next = self.header.q.val().get_bits::<10>(0) == self.t3_seqno.q.val();
        self.t4_older.d.next = self.behind.val().get_bit(9);
        self.t4_differs.d.next = !self.t2_empty.q.val()
            & !self.t2_mismatched.q.val()
            & !self.header.q.val().get_bit(50)
            & (self.header.q.val().get_bits::<6>(11) != self.t3_tally.q.val().get_bits::<6>(20));
        self.t4_sum.d.next = bit_cast::<21, 20>(self.t3_tally.q.val().get_bits::<20>(0))
            + bit_cast::<21, 20>(self.header.q.val().get_bits::<20>(17));
        self.contribution.next = bit_cast::<22, 20>(self.header.q.val().get_bits::<20>(17));
        self.left.next = self.t3_missing.q.val() - self.contribution.val();
        self.excess.next = self.contribution.val() - self.t3_missing.q.val();
        self.t4_reached.d.next = !self.excess.val().get_bit(21);
        self.t4_over.d.next = self.left.val().get_bit(21);
        // What a frame is, before its sequence number is compared: that decides of one with the descriptor's key, VNI and cookie, and
        // of no other. Wanted in clock 4 alone.
        self.enabled.next = self.t3.q.val() & self.cfg_enable.val();
        self.up.next = self.enabled.val() & !self.goes_down.q.val();
        self.down.next = self.enabled.val() & self.goes_down.q.val();
        self.arms.next = self.header.q.val().get_bit(10);
        self.stray.next = self.t2_vni.q.val() & !self.t2_cookie.q.val();
        self.t4_up.d.next = self.up.val() & !self.arms.val() & self.t3_match.q.val();
        self.t4_arms.d.next = self.down.val() & self.arms.val() & self.t3_match.q.val();
        self.t4_frees.d.next = self.down.val() & !self.arms.val() & self.t3_match.q.val();
        self.t4_pass.d.next = (self.t3.q.val() & !self.cfg_enable.val() & !self.goes_down.q.val())
            | (self.up.val() & !self.arms.val() & (!self.t2_any.q.val() | self.stray.val()));
        self.t4_new.d.next = self.down.val() & self.arms.val() & !self.t2_any.q.val();
        self.t4_again.d.next = self.down.val() & self.arms.val() & self.stray.val();
        self.t4_event.d.next = 14.into();
        if !self.goes_down.q.val() {
            self.t4_event.d.next = 7.into();
        }
        if self.cfg_enable.val() {
            if self.goes_down.q.val() & self.arms.val() {
                self.t4_event.d.next = 0.into();
                if self.stray.val() {
                    self.t4_event.d.next = 1.into();
                }
            }
            if self.t3_match.q.val() {
                self.t4_event.d.next = 0.into();
            }
            if self.t2_any.q.val() & !self.t2_vni.q.val() {
                self.t4_event.d.next = 4.into();
            }
            if !self.goes_down.q.val() & self.arms.val() {
                self.t4_event.d.next = 6.into();
            }
        }
        self.t4_op.d.next = self.t3_tally.q.val().get_bits::<6>(20);
        if self.t2_empty.q.val() {
            self.t4_op.d.next = self.header.q.val().get_bits::<6>(11);
        }
    }

    /// Clock 4: the decision.
    #[hdl_part]
    pub(super) fn decide(&mut self) {
        // Clock 4: the decision.
        self.combine.next = self.t4_up.q.val() & self.t4_same.q.val();
        self.ahead.next = self.t4_up.q.val() & !self.t4_same.q.val() & !self.t4_older.q.val();
        self.arm_again.next =
            self.t4_again.q.val() | (self.t4_arms.q.val() & !self.t4_older.q.val());
        self.release.next = self.t4_frees.q.val() & !self.t4_older.q.val();
        self.late.next = (self.t4_up.q.val() | self.t4_arms.q.val() | self.t4_frees.q.val())
            & self.t4_older.q.val();
        // Which it was; zero if the sequence number decides, or it is to have a new descriptor.
        self.decided.next = self.t4_event.q.val();
        if self.combine.val() {
            self.decided.next = 8.into();
        }
        if self.ahead.val() {
            self.decided.next = 7.into();
        }
        if self.release.val() {
            self.decided.next = 2.into();
        }
        if self.t4_arms.q.val() {
            self.decided.next = 1.into();
        }
        if self.late.val() {
            self.decided.next = 5.into();
        }
        if self.t4_new.q.val() & !self.free_any.q.val() {
            self.decided.next = 3.into();
        }
        self.chosen.next = self.index.q.val();
        if self.t4_new.q.val() {
            self.chosen.next = self.free_index.q.val();
        }
        self.takes.next = self.combine.val()
            & self.others.val()
            & !self.t4_differs.q.val()
            & !self.t2_mismatched.q.val();
        self.t5_take.d.next = self.takes.val();
        self.take.next = self.t5_take.q.val();
        self.t5_combine.d.next = self.combine.val() & !self.takes.val();
        self.t5_pass.d.next = self.t4_pass.q.val() | self.ahead.val();
        self.t5_arm.d.next = (self.t4_new.q.val() & self.free_any.q.val()) | self.arm_again.val();
        self.t5_release.d.next = self.release.val();
        self.t5_reached.d.next = self.combine.val() & self.t4_reached.q.val() & !self.takes.val();
        if self.t4.q.val() {
            self.t5_event.d.next = self.decided.val();
            self.t5_index.d.next = self.chosen.val();
            self.t5_onehot.d.next = bits::<8>(1) << self.chosen.val();
            self.t5_first.d.next = self.t2_empty.q.val();
            self.t5_differs.d.next = self.t4_differs.q.val();
            self.t5_marked.d.next = self.t4_differs.q.val() | self.header.q.val().get_bit(50);
            self.t5_over.d.next = self.t4_over.q.val();
            self.t5_count.d.next = self.t4_sum.q.val().get_bits::<20>(0);
            if self.t4_sum.q.val().get_bit(20) {
                self.t5_count.d.next = self.count_max.val();
            }
            self.t5_op.d.next = self.t4_op.q.val();
        }
    }
}
