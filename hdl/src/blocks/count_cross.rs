//! A count that is read with another clock.

use super::SyncBits;
use crate::prelude::*;

hdl_module! {
    /// Counts modulo 2^P, P up to 16, with one clock, and shows the count to another. It crosses in Gray code, in which
    /// each step changes one bit: what the other side sees is a count that was, never one that was not.
    /// Latency from s_en to m_count: 1 clock of s, then 3 or 4 of m. Stages: 1 count and its Gray code (s_clk); 2 and 3
    /// flip-flops between the clocks; 4 count (m_clk).
    /// The resets of both sides must overlap for 4 clocks of the slower clock.
    #[module("count_cross_w{P}")]
    pub struct CountCross<const P: usize> {
        /// Clock of the side that counts.
        pub s_clk: Signal<In, Clock>,
        /// Synchronous reset of that side.
        pub s_rst: Signal<In, Bit>,
        /// One more.
        pub s_en: Signal<In, Bit>,
        /// The count, on that side.
        pub s_count: Signal<Out, Bits<P>>,
        /// Clock of the side that is shown the count.
        pub m_clk: Signal<In, Clock>,
        /// Synchronous reset of that side.
        pub m_rst: Signal<In, Bit>,
        /// The count, as that side sees it.
        pub m_count: Signal<Out, Bits<P>>,
        count: DFF<Bits<P>>,
        gray: DFF<Bits<P>>,
        between: SyncBits<P>,
        seen: DFF<Bits<P>>,
        next: Signal<Local, Bits<P>>,
        /// The way from Gray code: the parity of 2, 4, 8 and 16 bits from each bit upwards.
        pairs: Signal<Local, Bits<P>>,
        fours: Signal<Local, Bits<P>>,
        eights: Signal<Local, Bits<P>>,
        all: Signal<Local, Bits<P>>,
    }
}

impl<const P: usize> Logic for CountCross<P> {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, s_clk, count, gray);
        dff_setup!(self, m_clk, seen);
        self.next.next = self.count.q.val();
        if self.s_en.val() {
            self.next.next = self.count.q.val() + 1;
        }
        self.count.d.next = self.next.val();
        self.gray.d.next = self.next.val() ^ (self.next.val() >> 1);
        self.s_count.next = self.count.q.val();

        self.between.clk.next = self.m_clk.val();
        self.between.d.next = self.gray.q.val();
        self.pairs.next = self.between.q.val() ^ (self.between.q.val() >> 1);
        self.fours.next = self.pairs.val() ^ (self.pairs.val() >> 2);
        self.eights.next = self.fours.val() ^ (self.fours.val() >> 4);
        self.all.next = self.eights.val() ^ (self.eights.val() >> 8);
        self.seen.d.next = self.all.val();
        self.m_count.next = self.seen.q.val();

        if self.s_rst.val() {
            self.count.d.next = 0.into();
            self.gray.d.next = 0.into();
        }
        if self.m_rst.val() {
            self.seen.d.next = 0.into();
        }
    }
}
