//! A queue for rare records that wait long.

use crate::blocks::RamReg;
use crate::bus::{StreamIn, StreamOut};
use crate::prelude::*;

hdl_module! {
    /// First-in first-out queue of 2^A words in block RAM, for events that are rare and served
    /// slowly: no LUTs for the words, but the next word shows only 4 clocks after the queue
    /// was empty or the word before it was taken.
    #[module("event_queue_w{N}_d{}", 1usize << A)]
    pub struct EventQueue<const N: usize, const A: usize> {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset: empties the queue.
        pub rst: Signal<In, Bit>,
        /// Words in.
        pub s: StreamIn<N>,
        /// Words out, in their order.
        pub m: StreamOut<N>,
        words: RamReg<N, A>,
        #[reset] head: DFF<Bits<A>>,
        #[reset] tail: DFF<Bits<A>>,
        #[reset] some: DFF<Bit>,
        #[reset] full: DFF<Bit>,
        /// The oldest word stands at m_data.
        #[reset] shown: DFF<Bit>,
        /// Clocks since head pointed to a written word.
        age: DFF<Bits<2>>,
        /// One word fits; one word waits.
        filling: Signal<Local, Bit>,
        single: Signal<Local, Bit>,
        push: Signal<Local, Bit>,
        pop: Signal<Local, Bit>,
    }
}

impl<const N: usize, const A: usize> Logic for EventQueue<N, A> {
    #[hdl_gen]
    fn update(&mut self) {
        self.s.ready.next = !self.full.q.val();
        self.m.valid.next = self.shown.q.val();
        self.push.next = self.s.valid.val() & !self.full.q.val();
        self.pop.next = self.m.ready.val() & self.shown.q.val();
        self.words.rd.addr.next = self.head.q.val();
        // The place of the next word may hold anything until it is pushed.
        self.words.wr.en.next = !self.full.q.val();
        self.words.wr.addr.next = self.tail.q.val();
        self.words.wr.data.next = self.s.data.val();
        self.m.data.next = self.words.rd.data.val();
        if self.push.val() {
            self.tail.d.next = self.tail.q.val() + 1;
        }
        if self.pop.val() {
            self.head.d.next = self.head.q.val() + 1;
        }
        // Without conditions, which synthesis turns into a clock enable and a reset behind push and pop.
        self.filling.next = (self.tail.q.val() + 1) == self.head.q.val();
        self.single.next = (self.head.q.val() + 1) == self.tail.q.val();
        self.some.d.next =
            self.push.val() | (self.some.q.val() & !(self.pop.val() & self.single.val()));
        self.full.d.next =
            !self.pop.val() & (self.full.q.val() | (self.push.val() & self.filling.val()));
        self.age.d.next = self.age.q.val() + 1;
        if self.age.q.val() == 3 {
            self.shown.d.next = true;
        }
        if self.shown.q.val() {
            self.age.d.next = self.age.q.val();
        }
        if !self.some.q.val() | self.pop.val() {
            self.age.d.next = 0.into();
            self.shown.d.next = false;
        }
    }
}
