//! First-in first-out queue between two clocks.

use super::{CountCross, Pow2, RamTwoClocks};
use crate::bus::{StreamIn, StreamOut};
use crate::prelude::*;

hdl_module! {
    /// First-in first-out queue of 2^A words (and two at the output) in block RAM, written with one clock and read with
    /// another, of any two frequencies. P is A + 1.
    /// Latency from s to m: 1 clock of s, then 6 or 7 of m. A place is free again 1 clock of m, then 4 or 5 of s after its
    /// word has left the memory. One word per clock on both sides.
    /// s_ready is a register: it falls with the last place, and rises a clock behind one that is free.
    /// Stages: 1 memory and count of words in (wr_clk); 2 to 4 the count crosses; 5 the word at the output of the
    /// memory; 6 the word at m. While m_ready is low neither changes.
    /// The resets of both sides must overlap for 4 clocks of the slower clock; words offered meanwhile are dropped.
    #[module("fifo_async_w{N}_d{}", 1usize << A)]
    pub struct FifoAsync<const N: usize, const A: usize, const P: usize> {
        /// Clock of s.
        pub wr_clk: Signal<In, Clock>,
        /// Synchronous reset of that side: empties the queue.
        pub wr_rst: Signal<In, Bit>,
        /// Words in.
        pub s: StreamIn<N>,
        /// Clock of m.
        pub rd_clk: Signal<In, Clock>,
        /// Synchronous reset of that side: empties the queue.
        pub rd_rst: Signal<In, Bit>,
        /// Words out, in their order.
        pub m: StreamOut<N>,
        /// Words in the memory, as the side of m sees them.
        pub level: Signal<Out, Bits<P>>,
        mem: RamTwoClocks<N, A>,
        /// Words written; words read.
        tail: CountCross<P>,
        head: CountCross<P>,
        /// A word is at the output of the memory.
        have: DFF<Bit>,
        /// A word is at m; the output register takes one.
        valid: DFF<Bit>,
        word: DFF<Bits<N>>,
        free: Signal<Local, Bit>,
        /// Words that the side of s takes to be in the memory; as many as fit, or so it was a clock ago.
        taken: Signal<Local, Bits<P>>,
        full: DFF<Bit>,
        waiting: Signal<Local, Bits<P>>,
        push: Signal<Local, Bit>,
        fetch: Signal<Local, Bit>,
        depth: Pow2<P, A>,
    }
}

impl<const N: usize, const A: usize, const P: usize> Logic for FifoAsync<N, A, P> {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, rd_clk, have, valid, word);
        dff_setup!(self, wr_clk, full);
        self.tail.s_clk.next = self.wr_clk.val();
        self.tail.s_rst.next = self.wr_rst.val();
        self.tail.m_clk.next = self.rd_clk.val();
        self.tail.m_rst.next = self.rd_rst.val();
        self.head.s_clk.next = self.rd_clk.val();
        self.head.s_rst.next = self.rd_rst.val();
        self.head.m_clk.next = self.wr_clk.val();
        self.head.m_rst.next = self.wr_rst.val();

        self.taken.next = self.tail.s_count.val() - self.head.m_count.val();
        self.push.next = self.s.valid.val() & !self.full.q.val();
        self.full.d.next = (self.taken.val() == self.depth.val())
            | ((self.taken.val() == self.depth.val() - 1) & self.push.val());
        self.s.ready.next = !self.full.q.val();
        self.tail.s_en.next = self.push.val();
        self.mem.wr_clk.next = self.wr_clk.val();
        self.mem.wr.en.next = self.push.val();
        self.mem.wr.addr.next = self.tail.s_count.val().get_bits::<A>(0);
        self.mem.wr.data.next = self.s.data.val();

        self.waiting.next = self.tail.m_count.val() - self.head.s_count.val();
        self.level.next = self.waiting.val();
        self.free.next = !self.valid.q.val() | self.m.ready.val();
        self.fetch.next = self.waiting.val().any() & (!self.have.q.val() | self.free.val());
        self.head.s_en.next = self.fetch.val();
        self.mem.rd_clk.next = self.rd_clk.val();
        self.mem.rd_en.next = self.fetch.val();
        self.mem.rd.addr.next = self.head.s_count.val().get_bits::<A>(0);
        self.have.d.next = self.fetch.val() | (self.have.q.val() & !self.free.val());
        if self.free.val() {
            self.valid.d.next = self.have.q.val();
            self.word.d.next = self.mem.rd.data.val();
        }
        self.m.valid.next = self.valid.q.val();
        self.m.data.next = self.word.q.val();
        if self.wr_rst.val() {
            self.full.d.next = false;
        }
        if self.rd_rst.val() {
            self.have.d.next = false;
            self.valid.d.next = false;
        }
    }
}
