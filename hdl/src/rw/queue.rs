//! A queue for rare records that wait long.

use crate::blocks::RamReg;
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
        /// A word is offered.
        pub s_valid: Signal<In, Bit>,
        /// The queue has room.
        pub s_ready: Signal<Out, Bit>,
        /// Word in.
        pub s_data: Signal<In, Bits<N>>,
        /// A word waits.
        pub m_valid: Signal<Out, Bit>,
        /// The word is taken.
        pub m_ready: Signal<In, Bit>,
        /// Oldest word.
        pub m_data: Signal<Out, Bits<N>>,
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
        self.s_ready.next = !self.full.q.val();
        self.m_valid.next = self.shown.q.val();
        self.push.next = self.s_valid.val() & !self.full.q.val();
        self.pop.next = self.m_ready.val() & self.shown.q.val();
        self.words.rd_addr.next = self.head.q.val();
        // The place of the next word may hold anything until it is pushed.
        self.words.wr_en.next = !self.full.q.val();
        self.words.wr_addr.next = self.tail.q.val();
        self.words.wr_data.next = self.s_data.val();
        self.m_data.next = self.words.rd_data.val();
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
