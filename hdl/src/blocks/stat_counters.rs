//! Event counters in block RAM.

use super::RamReg;
use crate::bus::{RamReadIn, StreamIn};
use crate::prelude::*;

hdl_module! {
    /// 2^A event counters of 32 bits, kept in block RAM, wrapping at 2^32.
    /// One event per clock is counted, also when all hit the same counter: a new count
    /// is forwarded to the three events behind it, which read the RAM too early.
    /// Latency: 3 clocks from an event to the write (two to read, one to raise);
    /// 2 clocks from rd_addr to rd_data, which holds all events accepted up to three
    /// clocks before the address.
    /// Reset clears one counter per clock; s_ready is low meanwhile and high ever after.
    /// The read port has its own copy of the words, so reading costs no event.
    #[module("stat_counters_d{}", 1usize << A)]
    pub struct StatCounters<const A: usize> {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset: clears all counters, 2^A clocks.
        pub rst: Signal<In, Bit>,
        /// Events: the number of the counter that counts.
        pub s: StreamIn<A>,
        /// A counter is read, not while s_ready is low: its count comes two clocks later.
        pub rd: RamReadIn<32, A>,
        /// The counts.
        counts: RamReg<32, A>,
        /// The counts again, for the read port.
        copy: RamReg<32, A>,
        /// Counter to clear next.
        #[reset] sweep: DFF<Bits<A>>,
        /// All counters have been cleared since reset.
        #[reset] cleared: DFF<Bit>,
        /// Stage 1, the RAM is read: an event is here.
        #[reset] s1_valid: DFF<Bit>,
        /// Stage 1: its counter.
        s1_index: DFF<Bits<A>>,
        /// Stage 1: one event ahead counts on the same counter.
        s1_near1: DFF<Bit>,
        /// Stage 1: two events ahead.
        s1_near2: DFF<Bit>,
        /// Stage 1: three events ahead.
        s1_near3: DFF<Bit>,
        /// Stage 2, the count is raised: an event is here.
        #[reset] s2_valid: DFF<Bit>,
        /// Stage 2: its counter.
        s2_index: DFF<Bits<A>>,
        /// Stage 2: one event ahead counts on the same counter.
        s2_near1: DFF<Bit>,
        /// Stage 2: two events ahead.
        s2_near2: DFF<Bit>,
        /// Stage 2: one, two or three events ahead.
        s2_near: DFF<Bit>,
        /// Stage 3, the count is written: an event is here.
        #[reset] s3_valid: DFF<Bit>,
        /// Stage 3: its counter.
        s3_index: DFF<Bits<A>>,
        /// Stage 3: the count.
        #[reset] s3_count: DFF<Bits<32>>,
        /// The count that was in stage 3 one clock ago.
        s4_count: DFF<Bits<32>>,
        /// The count that was in stage 3 two clocks ago.
        s5_count: DFF<Bits<32>>,
        /// The read port's word was written in the clock of its address, one clock ago.
        rd_hit1: DFF<Bit>,
        /// The same two clocks ago.
        rd_hit2: DFF<Bit>,
        /// An event is accepted.
        take: Signal<Local, Bit>,
        /// Stage 2: the count that an event ahead left.
        newest: Signal<Local, Bits<32>>,
        /// Stage 2: the count before the event.
        before: Signal<Local, Bits<32>>,
        /// Write to the RAMs.
        wr_en: Signal<Local, Bit>,
        /// Counter written.
        wr_addr: Signal<Local, Bits<A>>,
        /// Count written.
        wr_data: Signal<Local, Bits<32>>,
    }
}

impl<const A: usize> Logic for StatCounters<A> {
    #[hdl_gen]
    fn update(&mut self) {
        self.s.ready.next = self.cleared.q.val();
        self.take.next = self.s.valid.val() & self.cleared.q.val();

        // Stage 0: address the RAM, compare with the events ahead.
        self.counts.rd.addr.next = self.s.data.val();
        self.s1_valid.d.next = self.take.val();
        self.s1_index.d.next = self.s.data.val();
        self.s1_near1.d.next = self.s1_valid.q.val() & (self.s1_index.q.val() == self.s.data.val());
        self.s1_near2.d.next = self.s2_valid.q.val() & (self.s2_index.q.val() == self.s.data.val());
        self.s1_near3.d.next = self.s3_valid.q.val() & (self.s3_index.q.val() == self.s.data.val());

        // Stage 1: wait for the RAM.
        self.s2_valid.d.next = self.s1_valid.q.val();
        self.s2_index.d.next = self.s1_index.q.val();
        self.s2_near1.d.next = self.s1_near1.q.val();
        self.s2_near2.d.next = self.s1_near2.q.val();
        self.s2_near.d.next = self.s1_near1.q.val() | self.s1_near2.q.val() | self.s1_near3.q.val();

        // Stage 2: take the newest count and raise it.
        self.newest.next = self.s5_count.q.val();
        if self.s2_near1.q.val() {
            self.newest.next = self.s3_count.q.val();
        } else if self.s2_near2.q.val() {
            self.newest.next = self.s4_count.q.val();
        }
        self.before.next = self.counts.rd.data.val();
        if self.s2_near.q.val() {
            self.before.next = self.newest.val();
        }
        self.s3_valid.d.next = self.s2_valid.q.val();
        self.s3_index.d.next = self.s2_index.q.val();
        self.s3_count.d.next = self.before.val() + 1;
        self.s4_count.d.next = self.s3_count.q.val();
        self.s5_count.d.next = self.s4_count.q.val();

        // Stage 3: write; after reset, clear.
        self.wr_en.next = self.s3_valid.q.val();
        self.wr_addr.next = self.s3_index.q.val();
        self.wr_data.next = self.s3_count.q.val();
        if !self.cleared.q.val() {
            self.wr_en.next = true;
            self.wr_addr.next = self.sweep.q.val();
            self.sweep.d.next = self.sweep.q.val() + 1;
            self.cleared.d.next = self.sweep.q.val().all();
        }
        self.counts.wr.en.next = self.wr_en.val();
        self.counts.wr.addr.next = self.wr_addr.val();
        self.counts.wr.data.next = self.wr_data.val();
        self.copy.wr.en.next = self.wr_en.val();
        self.copy.wr.addr.next = self.wr_addr.val();
        self.copy.wr.data.next = self.wr_data.val();

        // The read port: what was written in the clock of the address is forwarded.
        self.copy.rd.addr.next = self.rd.addr.val();
        self.rd_hit1.d.next = self.wr_en.val() & (self.wr_addr.val() == self.rd.addr.val());
        self.rd_hit2.d.next = self.rd_hit1.q.val();
        self.rd.data.next = self.copy.rd.data.val();
        if self.rd_hit2.q.val() {
            self.rd.data.next = self.s5_count.q.val();
        }

        // Nothing is in the pipeline while the counters are cleared: that writes zeros.
        if !self.cleared.q.val() {
            self.s3_count.d.next = 0.into();
        }
    }
}
