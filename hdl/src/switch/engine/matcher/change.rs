//! What a decision changes, and what is told of it.

use super::RedMatch;
use crate::prelude::*;

impl RedMatch {
    /// Clock 5: what it does to the descriptor.
    #[hdl_part]
    pub(super) fn change(&mut self) {
        // Clock 5: the descriptor.
        self.c_valid.next = self.t5.q.val();
        self.c_combine.next = self.t5_combine.q.val();
        self.c_pass.next = self.t5_pass.q.val();
        self.c_first.next = self.t5_first.q.val();
        self.c_differs.next = self.t5_differs.q.val();
        self.c_over.next = self.t5_over.q.val();
        self.c_index.next = self.t5_index.q.val();
        self.c_onehot.next = self.t5_onehot.q.val();
        self.set_arm.next = 0.into();
        if self.t5_arm.q.val() {
            self.set_arm.next = self.t5_onehot.q.val();
        }
        self.set_release.next = 0.into();
        if self.t5_release.q.val() {
            self.set_release.next = self.t5_onehot.q.val();
        }
        self.set_combine.next = 0.into();
        if self.t5_combine.q.val() {
            self.set_combine.next = self.t5_onehot.q.val();
        }
        self.set_marked.next = 0.into();
        if self.t5_marked.q.val() {
            self.set_marked.next = self.set_combine.val();
        }
        self.set_reached.next = 0.into();
        if self.t5_reached.q.val() {
            self.set_reached.next = self.t5_onehot.q.val();
        }
        self.set_done.next = 0.into();
        if self.done_valid.val() {
            self.set_done.next = bits::<8>(1) << self.done_index.val();
        }
        self.seqnos.wr.en.next = self.t5_arm.q.val();
        self.seqnos.wr.addr.next = self.t5_index.q.val();
        self.seqnos.wr.data.next = self.header.q.val().get_bits::<10>(0);
        self.seqnos_q.wr.en.next = self.t5_arm.q.val();
        self.seqnos_q.wr.addr.next = self.t5_index.q.val();
        self.seqnos_q.wr.data.next = self.header.q.val().get_bits::<10>(0);
        self.keys_q.wr.en.next = self.t5_arm.q.val();
        self.keys_q.wr.addr.next = self.t5_index.q.val();
        self.keys_q.wr.data.next = self.key.q.val();
        self.tally.next = 0.into();
        if self.t5_combine.q.val() {
            self.tally.next = bit_cast::<26, 20>(self.t5_count.q.val())
                | (bit_cast::<26, 6>(self.t5_op.q.val()) << 20);
        }
        self.tallies.wr.en.next = self.t5_arm.q.val() | self.t5_combine.q.val();
        self.tallies.wr.addr.next = self.t5_index.q.val();
        self.tallies.wr.data.next = self.tally.val();
        self.tallies_q.wr.en.next = self.t5_arm.q.val() | self.t5_combine.q.val();
        self.tallies_q.wr.addr.next = self.t5_index.q.val();
        self.tallies_q.wr.data.next = self.tally.val();
        for i in 0..8 {
            if self.set_arm.val().get_bit(i) {
                self.keys[i].d.next = self.key.q.val();
            }
        }
    }

    /// Clocks 6 to 8: the result is due, and events.
    #[hdl_part]
    pub(super) fn tell(&mut self) {
        // Clocks 6 to 8: the result is due, and events beside the main one.
        if self.t5.q.val() {
            self.t6_arm.d.next = self.t5_arm.q.val();
            self.t6_reached.d.next = self.t5_reached.q.val();
            self.t6_differs.d.next = self.t5_combine.q.val() & self.t5_differs.q.val();
            self.t6_over.d.next = self.t5_combine.q.val() & self.t5_over.q.val();
        }
        self.j_valid.next = self.t5_reached.q.val() | (self.x_valid.q.val() & self.x_full.q.val());
        self.j_index.next = self.t5_index.q.val();
        self.ev_valid.next = self.t5.q.val()
            | (self.t6.q.val() & self.t6_reached.q.val())
            | (self.t7.q.val() & self.t6_differs.q.val())
            | (self.t8.q.val() & self.t6_over.q.val())
            | self.counted.val()
            | self.x_valid.q.val();
        self.ev_index.next = self.t5_index.q.val();
        self.ev_code.next = self.t5_event.q.val();
        if self.t6.q.val() {
            self.ev_code.next = 9.into();
        }
        if self.t7.q.val() {
            self.ev_code.next = 12.into();
        }
        if self.t8.q.val() {
            self.ev_code.next = 13.into();
        }
        if self.counted.val() {
            self.ev_code.next = self.t5_event.q.val();
        }
        if self.x_valid.q.val() {
            self.j_index.next = self.x_index.q.val();
            self.ev_index.next = self.x_index.q.val();
            self.ev_code.next = 11.into();
            if self.x_full.q.val() {
                self.ev_code.next = 10.into();
            }
        }
    }
}
