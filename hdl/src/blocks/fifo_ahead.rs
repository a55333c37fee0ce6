//! Small first-in first-out queue whose flags are known a clock ahead.

use super::{AsyncRam, Pow2};
use crate::bus::{StreamIn, StreamOut};
use crate::prelude::*;

hdl_module! {
    /// First-in first-out queue of 2^A words in distributed memory, as fifo_reg, but with two
    /// registers that say whether the next word fills or empties it: for a push and a pop that
    /// come late in their clock.
    /// Latency: 1 clock from s to m. One word per clock in and out, also when full
    /// words leave as others enter; s_ready and m_valid are registers.
    /// A word offered while rst is high is dropped.
    #[module("fifo_ahead_w{N}_d{}", 1usize << A)]
    pub struct FifoAhead<const N: usize, const A: usize> {
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
        /// One word fits; one word waits.
        #[reset] filling: DFF<Bit>,
        #[reset] single: DFF<Bit>,
        /// Two words fit; two words wait.
        filling_2: Signal<Local, Bit>,
        couple: Signal<Local, Bit>,
        /// Words in the queue, modulo 2^A.
        level: Signal<Local, Bits<A>>,
        /// Words that fit.
        depth: Pow2<16, A>,
    }
}

impl<const N: usize, const A: usize> Logic for FifoAhead<N, A> {
    #[hdl_gen]
    fn update(&mut self) {
        self.s.ready.next = !self.full.q.val();
        self.m.valid.next = self.some.q.val();
        self.push.next = self.s.valid.val() & !self.full.q.val();
        self.pop.next = self.m.ready.val() & self.some.q.val();

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
            self.tail.d.next = self.tail.q.val() + 1;
        }
        if self.pop.val() {
            self.head.d.next = self.head.q.val() + 1;
        }
        // Without conditions, which synthesis turns into a clock enable and a reset behind push and pop.
        self.some.d.next =
            self.push.val() | (self.some.q.val() & !(self.pop.val() & self.single.q.val()));
        self.full.d.next =
            !self.pop.val() & (self.full.q.val() | (self.push.val() & self.filling.q.val()));
        // Known a clock ahead, so that push and pop, which come late, pass few LUTs.
        self.filling_2.next = (self.tail.q.val() + 1 + 1) == self.head.q.val();
        self.couple.next = (self.head.q.val() + 1 + 1) == self.tail.q.val();
        self.filling.d.next = (self.pop.val()
            & ((self.push.val() & self.filling.q.val()) | (!self.push.val() & self.full.q.val())))
            | (!self.pop.val()
                & ((self.push.val() & self.filling_2.val())
                    | (!self.push.val() & self.filling.q.val())));
        self.single.d.next = (self.pop.val()
            & ((self.push.val() & self.single.q.val()) | (!self.push.val() & self.couple.val())))
            | (!self.pop.val()
                & ((self.push.val() & !self.some.q.val())
                    | (!self.push.val() & self.single.q.val())));
    }
}
