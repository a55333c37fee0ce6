//! Small first-in first-out queue.

use super::{AsyncRam, Pow2};
use crate::bus::{StreamIn, StreamOut};
use crate::prelude::*;

hdl_module! {
    /// First-in first-out queue of 2^A words in distributed memory.
    /// Latency: 1 clock from s to m. One word per clock in and out, also when full
    /// words leave as others enter; s_ready and m_valid are registers.
    /// A word offered while rst is high is dropped.
    #[module("fifo_reg_w{N}_d{}", 1usize << A)]
    pub struct FifoReg<const N: usize, const A: usize> {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset: empties the queue.
        pub rst: Signal<In, Bit>,
        /// Words in.
        pub s: StreamIn<N>,
        /// Words out, in their order.
        pub m: StreamOut<N>,
        /// Words in the queue.
        pub count: Signal<Out, Bits<16>>,
        /// The words.
        mem: AsyncRam<N, A>,
        /// Address of the oldest word.
        #[reset] head: DFF<Bits<A>>,
        /// Address of the next word in.
        #[reset] tail: DFF<Bits<A>>,
        /// At least one word waits.
        #[reset] some: DFF<Bit>,
        /// All words are taken up.
        #[reset] full: DFF<Bit>,
        /// A word enters.
        push: Signal<Local, Bit>,
        /// A word leaves.
        pop: Signal<Local, Bit>,
        /// Address after head.
        head_next: Signal<Local, Bits<A>>,
        /// Address after tail.
        tail_next: Signal<Local, Bits<A>>,
        /// One word fits; one word waits.
        filling: Signal<Local, Bit>,
        single: Signal<Local, Bit>,
        /// Words in the queue, modulo 2^A.
        level: Signal<Local, Bits<A>>,
        /// Words that fit.
        depth: Pow2<16, A>,
    }
}

impl<const N: usize, const A: usize> Logic for FifoReg<N, A> {
    #[hdl_gen]
    fn update(&mut self) {
        self.s.ready.next = !self.full.q.val();
        self.m.valid.next = self.some.q.val();
        self.push.next = self.s.valid.val() & !self.full.q.val();
        self.pop.next = self.m.ready.val() & self.some.q.val();
        self.head_next.next = self.head.q.val() + 1;
        self.tail_next.next = self.tail.q.val() + 1;

        self.mem.rd.addr.next = self.head.q.val();
        self.mem.wr.en.next = self.push.val();
        self.mem.wr.addr.next = self.tail.q.val();
        self.mem.wr.data.next = self.s.data.val();
        self.m.data.next = self.mem.rd.data.val();

        self.level.next = self.tail.q.val() - self.head.q.val();
        self.count.next = bit_cast::<16, A>(self.level.val());
        if self.full.q.val() {
            self.count.next = self.depth.val();
        }

        if self.push.val() {
            self.tail.d.next = self.tail_next.val();
        }
        if self.pop.val() {
            self.head.d.next = self.head_next.val();
        }
        // Without conditions, which synthesis turns into a clock enable and a reset behind push and pop.
        self.filling.next = self.tail_next.val() == self.head.q.val();
        self.single.next = self.head_next.val() == self.tail.q.val();
        self.some.d.next =
            self.push.val() | (self.some.q.val() & !(self.pop.val() & self.single.val()));
        self.full.d.next =
            !self.pop.val() & (self.full.q.val() | (self.push.val() & self.filling.val()));
    }
}
