//! Counters of a group: blocks that came, grants and credits.

use super::{Aim, MbRing, State};
use crate::prelude::*;

impl<const LG: usize, const LC: usize, const LB: usize> MbRing<LG, LC, LB> {
    /// Two counters are read and compared, and one is written.
    #[hdl_part]
    pub(super) fn count(&mut self) {
        // A new group: its counters.
        if self.state.q.val() == State::Clear {
            self.index.d.next = self.index.q.val() + 1;
            if self.index.q.val().all() {
                self.state.d.next = State::Save;
            }
        }

        // Two counters. Of the head of a queue: blocks that came, credits.
        self.first.next = self.landed.val() | bit_cast::<8, 6>(self.head.val().source);
        self.second.next = self.allowed.val() | bit_cast::<8, 6>(self.head.val().to);
        if self.aim.q.val() == Aim::Event {
            self.first.next = self.granted.val() | bit_cast::<8, 6>(self.s_ev.slot.val());
            self.second.next = self.opened.val() | bit_cast::<8, 6>(self.s_ev.slot.val());
            if self.op.q.val() == self.op_landed.val() {
                self.first.next = self.opened.val() | bit_cast::<8, 6>(self.s_ev.slot.val());
                self.second.next = self.landed.val() | bit_cast::<8, 6>(self.s_ev.slot.val());
            }
            if self.op.q.val() == self.op_credit.val() {
                self.second.next = self.allowed.val() | bit_cast::<8, 6>(self.s_ev.slot.val());
            }
            if self.op.q.val() == self.op_sent.val() {
                self.second.next = self.allowed.val() | bit_cast::<8, 6>(self.all.val());
            }
        }
        if self.aim.q.val() == Aim::Total {
            self.second.next = self.landed.val() | bit_cast::<8, 6>(self.all.val());
        }
        self.place.next = self.second.val();
        if self.state.q.val() == State::First {
            self.place.next = self.first.val();
            self.state.d.next = State::Second;
        }
        self.counters.rd.addr.next =
            (bit_cast::<LC, LG>(self.group.q.val()) << 8) | bit_cast::<LC, 8>(self.place.val());
        if self.state.q.val() == State::Second {
            self.state.d.next = State::Third;
        }
        if self.state.q.val() == State::Third {
            self.first_value.d.next = self.counters.rd.data.val();
            self.state.d.next = State::Fourth;
        }
        if self.state.q.val() == State::Fourth {
            self.second_value.d.next = self.counters.rd.data.val();
            self.state.d.next = State::Judge;
        }
        self.first_ahead.next = self.first_value.q.val() - self.second_value.q.val();
        if self.op.q.val() == self.op_credit.val() {
            self.first_ahead.next = self.s_ev.value.val() - self.second_value.q.val();
        }
        if self.aim.q.val() == Aim::Head {
            self.first_ahead.next = self.first_value.q.val() - self.head.val().received;
        }
        self.second_ahead.next = self.second_value.q.val() - self.head.val().credit;
        if self.state.q.val() == State::Judge {
            self.first_behind.d.next = self.first_ahead.val().get_bit(31);
            self.first_same.d.next = !self.first_ahead.val().any();
            self.second_behind.d.next = self.second_ahead.val().get_bit(31);
            self.second_same.d.next = !self.second_ahead.val().any();
            self.next.d.next = self.second_value.q.val() + 1;
            if self.op.q.val() == self.op_credit.val() {
                self.next.d.next = self.s_ev.value.val();
            }
            self.state.d.next = State::Decide;
        }

        // What is written, and where.
        self.counters.wr.en.next = self.state.q.val() == State::Clear;
        self.counters.wr.addr.next =
            (bit_cast::<LC, LG>(self.group.q.val()) << 8) | bit_cast::<LC, 8>(self.index.q.val());
        self.counters.wr.data.next = self.s_cmd.origin.val();
        if self.state.q.val() == State::Decide {
            self.counters.wr.addr.next = (bit_cast::<LC, LG>(self.group.q.val()) << 8)
                | bit_cast::<LC, 8>(self.second.val());
            self.counters.wr.data.next = self.next.q.val();
            if self.aim.q.val() == Aim::Head {
                self.counters.wr.addr.next = (bit_cast::<LC, LG>(self.group.q.val()) << 8)
                    | bit_cast::<LC, 8>(self.granted.val() | bit_cast::<8, 6>(self.head.val().to));
                self.counters.wr.data.next = self.head.val().credit;
            }
        }
    }
}
