//! Event counters in RAM.

use super::{RamForward, SdpRam};
use crate::prelude::*;

hdl_module! {
    /// 2^A event counters of 32 bits, kept in RAM, wrapping at 2^32.
    /// One event per clock is counted, also when all hit the same counter: a new count
    /// is forwarded to the event right behind it and to the one after that.
    /// Latency: 3 clocks from an event to the RAM; 2 clocks from rd_addr to rd_data.
    /// Reset clears one counter per clock; s_ready is low meanwhile and high ever after.
    /// The read port has its own copy of the words, so reading costs no event.
    pub struct StatCounters<const A: usize> {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset: clears all counters, 2^A clocks.
        pub rst: Signal<In, Bit>,
        /// An event happens.
        pub s_valid: Signal<In, Bit>,
        /// Events are counted.
        pub s_ready: Signal<Out, Bit>,
        /// Counter of the event.
        pub s_data: Signal<In, Bits<A>>,
        /// Counter to read.
        pub rd_addr: Signal<In, Bits<A>>,
        /// Its count, two clocks later.
        pub rd_data: Signal<Out, Bits<32>>,
        /// The counts.
        counts: RamForward<32, A>,
        /// The counts again, for the read port.
        copy: SdpRam<32, A>,
        /// Output register of the read port.
        read: DFF<Bits<32>>,
        /// Counter to clear next.
        sweep: DFF<Bits<A>>,
        /// All counters have been cleared since reset.
        cleared: DFF<Bit>,
        /// Stage 1, the RAM is read: an event is here.
        rd_valid: DFF<Bit>,
        /// Stage 1: its counter.
        rd_index: DFF<Bits<A>>,
        /// Stage 1: the event in stage 2 counts on the same counter.
        rd_same: DFF<Bit>,
        /// Stage 2, the count is raised and written: an event is here.
        wr_valid: DFF<Bit>,
        /// Stage 2: its counter.
        wr_index: DFF<Bits<A>>,
        /// Stage 2: the count before the event.
        wr_count: DFF<Bits<32>>,
        raised: Signal<Local, Bits<32>>,
        take: Signal<Local, Bit>,
        wr_en: Signal<Local, Bit>,
        wr_addr: Signal<Local, Bits<A>>,
        wr_data: Signal<Local, Bits<32>>,
    }
}

impl<const A: usize> Logic for StatCounters<A> {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(
            self, clk, read, sweep, cleared, rd_valid, rd_index, rd_same, wr_valid, wr_index,
            wr_count
        );
        self.counts.clk.next = self.clk.val();
        self.copy.clk.next = self.clk.val();
        self.s_ready.next = self.cleared.q.val();
        self.take.next = self.s_valid.val() & self.cleared.q.val();

        // Stage 0: address the RAM.
        self.counts.rd_addr.next = self.s_data.val();
        self.rd_valid.d.next = self.take.val();
        self.rd_index.d.next = self.s_data.val();
        self.rd_same.d.next = self.rd_valid.q.val() & (self.rd_index.q.val() == self.s_data.val());

        // Stage 2: raise and write.
        self.raised.next = self.wr_count.q.val() + 1;
        self.wr_en.next = self.wr_valid.q.val();
        self.wr_addr.next = self.wr_index.q.val();
        self.wr_data.next = self.raised.val();

        // Stage 1: take the count from the RAM, or from the event right ahead.
        self.wr_valid.d.next = self.rd_valid.q.val();
        self.wr_index.d.next = self.rd_index.q.val();
        self.wr_count.d.next = self.counts.rd_data.val();
        if self.rd_same.q.val() {
            self.wr_count.d.next = self.raised.val();
        }

        // Clear the counters after reset.
        if !self.cleared.q.val() {
            self.wr_en.next = true;
            self.wr_addr.next = self.sweep.q.val();
            self.wr_data.next = 0.into();
            self.sweep.d.next = self.sweep.q.val() + 1;
            self.cleared.d.next = self.sweep.q.val().all();
        }
        self.counts.wr_en.next = self.wr_en.val();
        self.counts.wr_addr.next = self.wr_addr.val();
        self.counts.wr_data.next = self.wr_data.val();
        self.copy.wr_en.next = self.wr_en.val();
        self.copy.wr_addr.next = self.wr_addr.val();
        self.copy.wr_data.next = self.wr_data.val();

        self.copy.rd_addr.next = self.rd_addr.val();
        self.read.d.next = self.copy.rd_data.val();
        self.rd_data.next = self.read.q.val();

        if self.rst.val() {
            self.sweep.d.next = 0.into();
            self.cleared.d.next = false;
            self.rd_valid.d.next = false;
            self.wr_valid.d.next = false;
        }
    }

    fn timing(&self) -> Vec<TimingInfo> {
        Self::module_info(format!("stat_counters_d{}", 1usize << A)).into_timing()
    }
}
