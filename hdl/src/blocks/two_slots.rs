//! Register slice for wide words at full rate.

use crate::bus::{StreamIn, StreamOut};
use crate::prelude::*;

hdl_module! {
    /// Register slice: cuts all paths between its two sides, ready included. Words go to two slots
    /// in turns; a slot follows what is offered until it holds a word, so the enables of all bits are
    /// registers, where a skid buffer's wait for m_ready.
    /// Latency: 1 clock. One word per clock; s_ready and m_valid are registers, m_data is chosen by
    /// one.
    /// A word offered while rst is high is dropped.
    #[module("two_slots_w{N}")]
    pub struct TwoSlots<const N: usize> {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset: empties the slots.
        pub rst: Signal<In, Bit>,
        /// Words in.
        pub s: StreamIn<N>,
        /// Words out, in their order.
        pub m: StreamOut<N>,
        /// The slots; whether they hold words.
        slot_0: DFF<Bits<N>>,
        slot_1: DFF<Bits<N>>,
        #[reset] held_0: DFF<Bit>,
        #[reset] held_1: DFF<Bit>,
        /// One of them does; one does not.
        #[reset] some: DFF<Bit>,
        room: DFF<Bit>,
        /// The next word goes to slot 1; comes from slot 1.
        #[reset] into_1: DFF<Bit>,
        #[reset] from_1: DFF<Bit>,
        push: Signal<Local, Bit>,
        pop: Signal<Local, Bit>,
    }
}

impl<const N: usize> Logic for TwoSlots<N> {
    #[hdl_gen]
    fn update(&mut self) {
        self.s.ready.next = self.room.q.val();
        self.m.valid.next = self.some.q.val();
        self.push.next = self.s.valid.val() & self.room.q.val();
        self.pop.next = self.m.ready.val() & self.some.q.val();
        if !self.held_0.q.val() {
            self.slot_0.d.next = self.s.data.val();
        }
        if !self.held_1.q.val() {
            self.slot_1.d.next = self.s.data.val();
        }
        self.m.data.next = self.slot_0.q.val();
        if self.from_1.q.val() {
            self.m.data.next = self.slot_1.q.val();
        }
        // Without conditions, which synthesis turns into a clock enable behind the logic.
        self.held_0.d.next = (self.push.val() & !self.into_1.q.val())
            | (self.held_0.q.val() & !(self.pop.val() & !self.from_1.q.val()));
        self.held_1.d.next = (self.push.val() & self.into_1.q.val())
            | (self.held_1.q.val() & !(self.pop.val() & self.from_1.q.val()));
        self.some.d.next =
            self.push.val() | !self.room.q.val() | (self.some.q.val() & !self.m.ready.val());
        self.room.d.next =
            self.pop.val() | (self.room.q.val() & !(self.some.q.val() & self.s.valid.val()));
        self.into_1.d.next = self.into_1.q.val() != self.push.val();
        self.from_1.d.next = self.from_1.q.val() != self.pop.val();
        if self.rst.val() {
            self.room.d.next = true;
        }
    }
}
