//! First-in first-out queue in block RAM.

use super::{FifoReg, Pow2, RamReg};
use crate::bus::{StreamIn, StreamOut};
use crate::prelude::*;

hdl_module! {
    /// First-in first-out queue of 2^A words in block RAM, first word falling through
    /// to m: words are read ahead into a small queue at the output.
    /// Latency: 4 clocks from s to m (write, two to read, output queue). One word per
    /// clock in and out without bubbles. s_ready and m_valid are registers, and no path
    /// leads from m_ready to the RAM.
    /// A word offered while rst is high is dropped.
    #[module("fifo_bram_w{N}_d{}", 1usize << A)]
    pub struct FifoBram<const N: usize, const A: usize> {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset: empties the queue.
        pub rst: Signal<In, Bit>,
        /// Words in.
        pub s: StreamIn<N>,
        /// Words out, in their order.
        pub m: StreamOut<N>,
        /// Count from which almost_full is high.
        pub almost_at: Signal<In, Bits<16>>,
        /// The queue holds almost_at words or more.
        pub almost_full: Signal<Out, Bit>,
        /// Words in the queue, those in flight to the output included.
        pub count: Signal<Out, Bits<16>>,
        /// The words.
        words: RamReg<N, A>,
        /// Words read ahead.
        ahead: FifoReg<N, 2>,
        /// Address of the next word in.
        #[reset] tail: DFF<Bits<A>>,
        /// Address of the next word to read from the RAM.
        #[reset] head: DFF<Bits<A>>,
        /// The RAM holds words not read yet.
        #[reset] more: DFF<Bit>,
        /// A word was addressed one clock ago.
        #[reset] flight1: DFF<Bit>,
        /// A word was addressed two clocks ago: it is at the RAM's output.
        #[reset] flight2: DFF<Bit>,
        /// Words in flight and read ahead, at most 4.
        #[reset] reserved: DFF<Bits<3>>,
        /// Words in the queue, modulo 2^A.
        #[reset] level: DFF<Bits<A>>,
        /// The queue holds 2^A words.
        #[reset] full: DFF<Bit>,
        /// A word enters.
        push: Signal<Local, Bit>,
        /// A word leaves.
        pop: Signal<Local, Bit>,
        /// A word is read from the RAM.
        fetch: Signal<Local, Bit>,
        /// Address after head.
        head_next: Signal<Local, Bits<A>>,
        /// Words that fit.
        depth: Pow2<16, A>,
    }
}

impl<const N: usize, const A: usize> Logic for FifoBram<N, A> {
    #[hdl_gen]
    fn update(&mut self) {
        self.s.ready.next = !self.full.q.val();
        self.push.next = self.s.valid.val() & !self.full.q.val();
        self.pop.next = self.m.ready.val() & self.ahead.m.valid.val();

        // A word is read when the output queue is sure to have room for it.
        self.fetch.next = self.more.q.val() & !self.reserved.q.val().get_bit(2);
        self.head_next.next = self.head.q.val() + 1;
        self.words.rd.addr.next = self.head.q.val();
        self.flight1.d.next = self.fetch.val();
        self.flight2.d.next = self.flight1.q.val();
        if self.fetch.val() {
            self.head.d.next = self.head_next.val();
            self.more.d.next = self.head_next.val() != self.tail.q.val();
        }
        if self.fetch.val() & !self.pop.val() {
            self.reserved.d.next = self.reserved.q.val() + 1;
        }
        if self.pop.val() & !self.fetch.val() {
            self.reserved.d.next = self.reserved.q.val() - 1;
        }

        self.words.wr.en.next = self.push.val();
        self.words.wr.addr.next = self.tail.q.val();
        self.words.wr.data.next = self.s.data.val();
        if self.push.val() {
            self.tail.d.next = self.tail.q.val() + 1;
            self.more.d.next = true;
        }

        self.ahead.s.valid.next = self.flight2.q.val();
        self.ahead.s.data.next = self.words.rd.data.val();
        StreamOut::<N>::link(&mut self.m, &mut self.ahead.m);

        if self.push.val() & !self.pop.val() {
            self.level.d.next = self.level.q.val() + 1;
        }
        if self.pop.val() & !self.push.val() {
            self.level.d.next = self.level.q.val() - 1;
        }
        self.full.d.next =
            !self.pop.val() & (self.full.q.val() | (self.push.val() & self.level.q.val().all()));
        self.count.next = bit_cast::<16, A>(self.level.q.val());
        if self.full.q.val() {
            self.count.next = self.depth.val();
        }
        self.almost_full.next = self.count.val() >= self.almost_at.val();
    }
}
