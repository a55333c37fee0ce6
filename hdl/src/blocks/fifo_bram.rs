//! First-in first-out queue in block RAM.

use super::{Pow2, RamPlain};
use crate::prelude::*;

hdl_module! {
    /// First-in first-out queue of 2^A words in block RAM, first word falling through
    /// to a registered output.
    /// Latency: 3 clocks from s to m (write, read, output register). One word per
    /// clock in and out without bubbles; s_ready, m_valid and m_data are registers.
    /// A word offered while rst is high is dropped.
    pub struct FifoBram<const N: usize, const A: usize> {
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
        /// Count from which almost_full is high.
        pub almost_at: Signal<In, Bits<16>>,
        /// The queue holds almost_at words or more.
        pub almost_full: Signal<Out, Bit>,
        /// Words in the queue, those in flight to the output included.
        pub count: Signal<Out, Bits<16>>,
        /// The words.
        mem: RamPlain<N, A>,
        /// Address of the next word in.
        tail: DFF<Bits<A>>,
        /// Address of the next word to read from the RAM.
        head: DFF<Bits<A>>,
        /// Address read last.
        shown: DFF<Bits<A>>,
        /// The RAM holds words not read yet.
        more: DFF<Bit>,
        /// The RAM's output is a word of the queue.
        fetched: DFF<Bit>,
        /// The output register holds a word.
        out_valid: DFF<Bit>,
        /// Output register.
        out_data: DFF<Bits<N>>,
        /// Words in the queue, modulo 2^A.
        level: DFF<Bits<A>>,
        /// The queue holds 2^A words.
        full: DFF<Bit>,
        /// A word enters.
        push: Signal<Local, Bit>,
        /// A word leaves.
        pop: Signal<Local, Bit>,
        /// The output register can take a word.
        out_free: Signal<Local, Bit>,
        /// The RAM's output can change.
        ram_free: Signal<Local, Bit>,
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
        dff_setup!(
            self, clk, tail, head, shown, more, fetched, out_valid, out_data, level, full
        );
        self.s_ready.next = !self.full.q.val();
        self.m_valid.next = self.out_valid.q.val();
        self.m_data.next = self.out_data.q.val();
        self.push.next = self.s_valid.val() & !self.full.q.val();
        self.pop.next = self.m_ready.val() & self.out_valid.q.val();
        self.out_free.next = self.m_ready.val() | !self.out_valid.q.val();
        self.ram_free.next = self.out_free.val() | !self.fetched.q.val();
        self.fetch.next = self.more.q.val() & self.ram_free.val();
        self.head_next.next = self.head.q.val() + 1;

        // A stalled word is read again, which keeps it at the RAM's output.
        self.mem.clk.next = self.clk.val();
        self.mem.rd_addr.next = self.shown.q.val();
        if self.ram_free.val() {
            self.mem.rd_addr.next = self.head.q.val();
            self.shown.d.next = self.head.q.val();
            self.fetched.d.next = self.more.q.val();
        }
        if self.fetch.val() {
            self.head.d.next = self.head_next.val();
            self.more.d.next = self.head_next.val() != self.tail.q.val();
        }
        if self.out_free.val() {
            self.out_valid.d.next = self.fetched.q.val();
        }
        // A word read in the clock of its write is not of the queue yet.
        if self.out_free.val() & self.fetched.q.val() {
            self.out_data.d.next = self.mem.rd_data.val();
        }

        self.mem.wr_en.next = self.push.val();
        self.mem.wr_addr.next = self.tail.q.val();
        self.mem.wr_data.next = self.s_data.val();
        if self.push.val() {
            self.tail.d.next = self.tail.q.val() + 1;
            self.more.d.next = true;
        }

        if self.push.val() & !self.pop.val() {
            self.level.d.next = self.level.q.val() + 1;
            self.full.d.next = self.level.q.val().all();
        }
        if self.pop.val() & !self.push.val() {
            self.level.d.next = self.level.q.val() - 1;
            self.full.d.next = false;
        }
        self.count.next = bit_cast::<16, A>(self.level.q.val());
        if self.full.q.val() {
            self.count.next = self.depth.val();
        }
        self.almost_full.next = self.count.val() >= self.almost_at.val();

        if self.rst.val() {
            self.tail.d.next = 0.into();
            self.head.d.next = 0.into();
            self.more.d.next = false;
            self.fetched.d.next = false;
            self.out_valid.d.next = false;
            self.level.d.next = 0.into();
            self.full.d.next = false;
        }
    }

    fn timing(&self) -> Vec<TimingInfo> {
        Self::module_info(format!("fifo_bram_w{N}_d{}", 1usize << A)).into_timing()
    }
}
