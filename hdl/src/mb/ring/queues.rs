//! Queues of a group: entries in, and the head of each out.

use super::{Aim, MbRing, State};
use crate::bus::{BlockToSend, GrantToTell, ScheduleEnd};
use crate::mb::ring_state::Queued;
use crate::prelude::*;

impl<const LG: usize, const LC: usize, const LB: usize> MbRing<LG, LC, LB> {
    /// Entries go to their queues, which are looked at one after the other.
    #[hdl_part]
    pub(super) fn queue(&mut self) {
        // Queues: one after the other.
        self.lane_in.next = bit_cast::<2, 2>(self.entry.val().kind) - 1;
        self.tail.next = self.st.q.val().send;
        if self.entry.val().kind == 2 {
            self.tail.next = self.st.q.val().grant;
        }
        if self.entry.val().kind == 3 {
            self.tail.next = self.st.q.val().done;
        }
        self.queues.wr.en.next = (self.state.q.val() == State::Act)
            & (self.op.q.val() == self.op_entry.val())
            & self.runs.val();
        self.queues.wr.addr.next = (bit_cast::<LB, LG>(self.group.q.val()) << 5)
            | (bit_cast::<LB, 2>(self.lane_in.val()) << 3)
            | bit_cast::<LB, 3>(self.tail.val().head + bit_cast::<3, 4>(self.tail.val().count));
        self.put.next = Queued {
            waits: self.entry.val().waits,
            source: self.entry.val().source,
            to: self.entry.val().to,
            step: self.entry.val().step,
            block: self.entry.val().block,
            message: self.entry.val().message,
            received: self.entry.val().received,
            credit: self.entry.val().credit,
            user: self.entry.val().user,
        };
        self.queues.wr.data.next = self.put.val().to_bits();
        self.queue.next = self.st.q.val().send;
        self.looked.next = self.mask.q.val().get_bit(0);
        if self.lane.q.val() == 1 {
            self.queue.next = self.st.q.val().grant;
            self.looked.next = self.mask.q.val().get_bit(1);
        }
        if self.lane.q.val() == 2 {
            self.queue.next = self.st.q.val().done;
            self.looked.next = self.mask.q.val().get_bit(2);
        }
        self.queues.rd.addr.next = (bit_cast::<LB, LG>(self.group.q.val()) << 5)
            | (bit_cast::<LB, 2>(self.lane.q.val()) << 3)
            | bit_cast::<LB, 3>(self.queue.val().head);
        if self.state.q.val() == State::Lane {
            self.aim.d.next = Aim::Head;
            if self.lane.q.val() == 3 {
                self.state.d.next = State::Fetch;
            } else if self.runs.val() & self.looked.val() & self.queue.val().count.any() {
                self.state.d.next = State::Entry;
            } else {
                self.lane.d.next = self.lane.q.val() + 1;
            }
        }
        if self.state.q.val() == State::Entry {
            self.state.d.next = State::First;
        }
    }

    /// The head of a queue, if all that it waits for is there.
    #[hdl_part]
    pub(super) fn release(&mut self) {
        // The head of one.
        self.ready.next = (!self.head.val().waits.any() | !self.first_behind.q.val())
            & ((self.lane.q.val() == 1) | !self.second_behind.q.val())
            & ((self.lane.q.val() != 0) | !self.st.q.val().sends.all());
        self.free.next = !self.start_valid.q.val();
        if self.lane.q.val() == 1 {
            self.free.next = !self.grant_valid.q.val();
        }
        if self.lane.q.val() == 2 {
            self.free.next = !self.done_valid.q.val();
        }
        self.more.next = (self.st.q.val().posted != self.st.q.val().fetched)
            | self.st.q.val().flying.any()
            | self.st.q.val().send.count.any()
            | self.st.q.val().grant.count.any()
            | (self.st.q.val().done.count != 1);
        if (self.state.q.val() == State::Decide) & (self.aim.q.val() == Aim::Head) {
            self.lane.d.next = self.lane.q.val() + 1;
            self.state.d.next = State::Lane;
            if self.ready.val() {
                self.again.d.next = true;
                if self.free.val() {
                    if self.lane.q.val() == 0 {
                        self.start_valid.d.next = true;
                        self.st.d.next.send.head = self.st.q.val().send.head + 1;
                        self.st.d.next.send.count = self.st.q.val().send.count - 1;
                        self.st.d.next.sends = self.st.q.val().sends + 1;
                        self.st.d.next.begun = true;
                    }
                    if self.lane.q.val() == 1 {
                        self.grant_valid.d.next = true;
                        self.counters.wr.en.next = true;
                        self.st.d.next.grant.head = self.st.q.val().grant.head + 1;
                        self.st.d.next.grant.count = self.st.q.val().grant.count - 1;
                    }
                    if self.lane.q.val() == 2 {
                        self.done_valid.d.next = true;
                        self.st.d.next.done.head = self.st.q.val().done.head + 1;
                        self.st.d.next.done.count = self.st.q.val().done.count - 1;
                        self.st.d.next.messages = self.st.q.val().messages + 1;
                        self.st.d.next.begun = !self.first_same.q.val()
                            | !self.second_same.q.val()
                            | !self.still.val()
                            | (self.st.q.val().timed & self.more.val());
                    }
                }
            }
        }
        if !self.start_valid.q.val() {
            self.start.d.next = BlockToSend {
                group: bit_cast::<8, LG>(self.group.q.val()),
                to: self.head.val().to,
                step: self.head.val().step,
                block: self.head.val().block,
                message: self.head.val().message,
                user: self.head.val().user,
            };
        }
        if !self.grant_valid.q.val() {
            self.grant.d.next = GrantToTell {
                group: bit_cast::<8, LG>(self.group.q.val()),
                to: self.head.val().to,
                granted: self.head.val().credit,
            };
        }
        if !self.done_valid.q.val() {
            self.done.d.next = ScheduleEnd {
                group: bit_cast::<8, LG>(self.group.q.val()),
                code: 0.into(),
                peer: 0.into(),
                message: self.head.val().message,
                user: self.head.val().user,
                fetched: self.st.q.val().fetched,
            };
            if self.state.q.val() == State::End {
                self.done.d.next.code = self.st.q.val().code;
                self.done.d.next.peer = self.st.q.val().peer;
                self.done.d.next.message = self.st.q.val().messages;
                self.done.d.next.user = 0.into();
            }
        }
    }
}
