//! Counters of the card.

use crate::blocks::{OneHotMux, RamReg};
use crate::prelude::*;

hdl_module! {
    /// N counters of 64 bits. Every event counts, also when all happen at once: events wait in
    /// small counters, and one counter a clock is visited in turns and raised by what waits for it.
    /// An event is in the count within N + 6 clocks. A copy of the counter chosen by select is in count
    /// 4 clocks after take, and stays.
    /// Stages of a visit: 0 what waits is taken, the count read; 2 lower half; 3 upper half; 4 written.
    /// While rst is high, counters are cleared, one a clock: hold it for N + 4 clocks and more.
    /// N at most 63 and 2^A.
    #[module("card_regs_stats_n{N}")]
    pub struct CardRegsStats<const N: usize, const A: usize> {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset.
        pub rst: Signal<In, Bit>,
        /// Bit i: an event of counter i.
        pub ev: Signal<In, Bits<N>>,
        /// Counter to be read.
        pub select: Signal<In, Bits<A>>,
        /// Take a copy; select is stable for a clock more.
        pub take: Signal<In, Bit>,
        /// The copy.
        pub count: Signal<Out, Bits<64>>,

        #[reset] happened: DFF<Bits<N>>,
        /// Events that wait, by counter.
        waiting: Bank<DFF<Bits<6>>, N>,
        chosen: OneHotMux<6, N>,
        /// The counter visited, also one-hot.
        #[reset] visit: DFF<Bits<A>>,
        visits: DFF<Bits<N>>,
        /// It is the last one.
        wraps: Signal<Local, Bit>,
        counts: RamReg<64, A>,
        copy: RamReg<64, A>,
        /// By stage: a visit is here, of this counter.
        #[reset] s1_valid: DFF<Bit>,
        #[reset] s2_valid: DFF<Bit>,
        #[reset] s3_valid: DFF<Bit>,
        #[reset] s4_valid: DFF<Bit>,
        s1_at: DFF<Bits<A>>,
        s1_amount: DFF<Bits<6>>,
        s2_at: DFF<Bits<A>>,
        s2_amount: DFF<Bits<6>>,
        s3_at: DFF<Bits<A>>,
        s3_low: DFF<Bits<33>>,
        s3_high: DFF<Bits<32>>,
        s4_at: DFF<Bits<A>>,
        #[reset] s4_count: DFF<Bits<64>>,
        /// The word addressed one clock ago, two clocks ago, was written in that clock.
        hit: DFF<Bit>,
        hit_2: DFF<Bit>,
        /// A copy was to be taken so many clocks ago.
        #[reset] take_1: DFF<Bit>,
        #[reset] take_2: DFF<Bit>,
        #[reset] take_3: DFF<Bit>,
        #[reset] shown: DFF<Bits<64>>,
        n: Param<N, 8>,
    }
}

impl<const N: usize, const A: usize> Logic for CardRegsStats<N, A> {
    #[hdl_gen]
    fn update(&mut self) {
        self.happened.d.next = self.ev.val();
        self.visit.d.next = self.visit.q.val() + 1;
        self.wraps.next = (self.visits.q.val() >> (self.n.val() - 1)).any();
        if self.wraps.val() {
            self.visit.d.next = 0.into();
        }
        self.visits.d.next = (self.visits.q.val() << 1) | bit_cast::<N, 1>(self.wraps.val().into());

        // Stage 0: what waits is taken, what happens now waits for the next visit.
        for i in 0..N {
            self.chosen.s[i].next = self.waiting[i].q.val();
            self.waiting[i].d.next = self.waiting[i].q.val();
            if self.happened.q.val().get_bit(i) {
                self.waiting[i].d.next = self.waiting[i].q.val() + 1;
            }
            if self.visits.q.val().get_bit(i) {
                self.waiting[i].d.next = 0.into();
                if self.happened.q.val().get_bit(i) {
                    self.waiting[i].d.next = 1.into();
                }
            }
        }
        self.chosen.sel.next = self.visits.q.val();
        self.counts.rd.addr.next = self.visit.q.val();
        self.s1_valid.d.next = true;
        self.s1_at.d.next = self.visit.q.val();
        self.s1_amount.d.next = self.chosen.m.val();

        // Stage 1: the memory is read.
        self.s2_valid.d.next = self.s1_valid.q.val();
        self.s2_at.d.next = self.s1_at.q.val();
        self.s2_amount.d.next = self.s1_amount.q.val();

        // Stages 2 and 3: the sum.
        self.s3_valid.d.next = self.s2_valid.q.val();
        self.s3_at.d.next = self.s2_at.q.val();
        self.s3_low.d.next = bit_cast::<33, 32>(self.counts.rd.data.val().get_bits::<32>(0))
            + bit_cast::<33, 6>(self.s2_amount.q.val());
        self.s3_high.d.next = self.counts.rd.data.val().get_bits::<32>(32);
        self.s4_valid.d.next = self.s3_valid.q.val();
        self.s4_at.d.next = self.s3_at.q.val();
        self.s4_count.d.next = bit_cast::<64, 32>(self.s3_low.q.val().get_bits::<32>(0))
            | (bit_cast::<64, 32>(
                self.s3_high.q.val() + bit_cast::<32, 1>(self.s3_low.q.val().get_bits::<1>(32)),
            ) << 32);

        // Stage 4: written.
        self.counts.wr.en.next = self.s4_valid.q.val() | self.rst.val();
        self.counts.wr.addr.next = self.s4_at.q.val();
        self.counts.wr.data.next = self.s4_count.q.val();
        self.copy.wr.en.next = self.s4_valid.q.val() | self.rst.val();
        self.copy.wr.addr.next = self.s4_at.q.val();
        self.copy.wr.data.next = self.s4_count.q.val();

        // The copy is read twice: at most once a word is being written while it is read.
        self.copy.rd.addr.next = self.select.val();
        self.hit.d.next = self.s4_at.q.val() == self.select.val();
        self.hit_2.d.next = self.hit.q.val();
        self.take_1.d.next = self.take.val();
        self.take_2.d.next = self.take_1.q.val();
        self.take_3.d.next = self.take_2.q.val();
        if (self.take_2.q.val() | self.take_3.q.val()) & !self.hit_2.q.val() {
            self.shown.d.next = self.copy.rd.data.val();
        }
        self.count.next = self.shown.q.val();
        if self.rst.val() {
            self.visits.d.next = 1.into();
            self.s4_at.d.next = self.s4_at.q.val() + 1;
            if bit_cast::<8, A>(self.s4_at.q.val()) >= self.n.val() - 1 {
                self.s4_at.d.next = 0.into();
            }
            for i in 0..N {
                self.waiting[i].d.next = 0.into();
            }
        }
    }
}
