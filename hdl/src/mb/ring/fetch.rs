//! Entries of the ring, and its end.

use super::{MbRing, State};
use crate::prelude::*;

impl<const LG: usize, const LC: usize, const LB: usize> MbRing<LG, LC, LB> {
    /// The next entry, if each queue has room.
    #[hdl_part]
    pub(super) fn fetch(&mut self) {
        // The next entry of the ring, if each queue has room for all that are under way and this one.
        self.room.next = ((self.st.q.val().send.count + self.st.q.val().flying) < 8)
            & ((self.st.q.val().grant.count + self.st.q.val().flying) < 8)
            & ((self.st.q.val().done.count + self.st.q.val().flying) < 8);
        self.wants.next =
            self.runs.val() & (self.st.q.val().posted != self.st.q.val().fetched) & self.room.val();
        self.low.d.next = bit_cast::<33, 32>(self.st.q.val().base.get_bits::<32>(0))
            + (bit_cast::<33, 16>(
                self.st.q.val().fetched & !(self.ones.val() << self.st.q.val().log),
            ) << 5);
        if self.state.q.val() == State::Fetch {
            self.again.d.next = self.again.q.val() | self.wants.val();
            self.state.d.next = State::End;
            if self.wants.val() & !self.rd_valid.q.val() {
                self.state.d.next = State::Carry;
            }
        }
        if self.state.q.val() == State::Carry {
            self.rd_valid.d.next = true;
            self.rd_addr.d.next = bit_cast::<64, 32>(self.low.q.val().get_bits::<32>(0))
                | (bit_cast::<64, 32>(
                    self.st.q.val().base.get_bits::<32>(32)
                        + bit_cast::<32, 1>(self.low.q.val().get_bits::<1>(32)),
                ) << 32);
            self.rd_group.d.next = bit_cast::<8, LG>(self.group.q.val());
            self.st.d.next.fetched = self.st.q.val().fetched + 1;
            self.st.d.next.flying = self.st.q.val().flying + 1;
            self.state.d.next = State::End;
        }
    }

    /// The completion that ends a group, and what is left of one that ends.
    #[hdl_part]
    pub(super) fn end(&mut self) {
        // The completion that ends a group.
        if self.state.q.val() == State::End {
            self.state.d.next = State::Save;
            if self.st.q.val().mode == self.ending.val() {
                self.again.d.next = true;
                if !self.done_valid.q.val() {
                    self.again.d.next = self.again.q.val();
                    self.done_valid.d.next = true;
                    self.st.d.next.mode = self.ended.val();
                }
            }
        }
        if self.state.q.val() == State::Save {
            self.state.d.next = State::Idle;
        }

        if self.ends.val() {
            self.st.d.next.send.count = 0.into();
            self.st.d.next.grant.count = 0.into();
            self.st.d.next.done.count = 0.into();
            self.st.d.next.posted = self.st.q.val().fetched;
            self.st.d.next.mode = self.ending.val();
            self.st.d.next.code = self.code.val();
            self.st.d.next.peer = self.peer.val();
            self.st.d.next.sends = 0.into();
            self.st.d.next.receives = 0.into();
        }
    }
}
