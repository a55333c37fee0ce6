//! The counters of a port.

use crate::blocks::{AsyncRam, OneHotMux, OnesCount};
use crate::prelude::*;
use tributary_protocol::red::Counter;

// The kernel below counts in literals.
const _: () = assert!(Counter::ALL.len() == 21);

hdl_module! {
    /// The 21 counters of a port, 32 bits each, wrapping, in distributed memory. Indexes are those of the statistics
    /// window; what is visited beyond the last one is 0. Every event counts, also when all happen at once: events wait in small counters, and one counter a
    /// clock is visited (visit, one-hot, going round) and raised by what waits for it.
    /// An event is in the count that is visited 3 clocks after it or later.
    #[module("switch_counters_n{N}")]
    pub struct SwitchCounters<const N: usize> {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset.
        pub rst: Signal<In, Bit>,
        /// Counts start from 0; hold high for a whole round after reset.
        pub clear: Signal<In, Bit>,
        /// Counter that is visited.
        pub index: Signal<In, Bits<5>>,
        /// The same, one-hot.
        pub visit: Signal<In, Bits<32>>,
        /// Count of the counter visited 2 clocks ago.
        pub count: Signal<Out, Bits<32>>,
        /// A received frame has ended.
        pub ev_valid: Signal<In, Bit>,
        /// 0 forwarded, 1 bad frame, 2 malformed, 3 no route, 4 bad entry port, 5 hairpin, 6 entry port disabled.
        pub ev_reason: Signal<In, Bits<3>>,
        /// With it, a bit per disabled port that would have got a copy.
        pub ev_off: Signal<In, Bits<N>>,
        /// A bit per output: the copy of a frame was dropped because its queue is full.
        pub ev_full: Signal<In, Bits<N>>,
        /// A frame has left.
        pub ev_sent: Signal<In, Bit>,
        /// Events of the engine: bit i is counter 8 + i.
        pub ev_engine: Signal<In, Bits<11>>,
        /// A frame that leaves has been marked.
        pub ev_marked: Signal<In, Bit>,
        fulls: OnesCount<N, 7>,
        offs: OnesCount<N, 7>,
        /// What has happened in the clock before, by counter.
        ended: Signal<Local, Bits<7>>,
        #[reset] happened: DFF<Bits<21>>,
        /// Events that wait: by counter, and copies.
        waiting: Bank<DFF<Bits<6>>, 21>,
        #[reset] waiting_full: DFF<Bits<11>>,
        #[reset] waiting_off: DFF<Bits<11>>,
        chosen: OneHotMux<6, 21>,
        counts: AsyncRam<32, 5>,
        /// Stage 2 of a visit.
        #[reset] amount: DFF<Bits<11>>,
        old: DFF<Bits<32>>,
        at: DFF<Bits<5>>,
        sum: Signal<Local, Bits<32>>,
        /// Stage 3.
        total: DFF<Bits<32>>,
        one: Param<1, 7>,
    }
}

impl<const N: usize> Logic for SwitchCounters<N> {
    #[hdl_gen]
    fn update(&mut self) {
        self.fulls.s.next = self.ev_full.val();
        self.offs.s.next = self.ev_off.val();

        // Received 0, sent 1, malformed 2 to hairpin 5, queue full 6, disabled 7, engine 8 to 18, bad frame 19,
        // marked 20.
        self.ended.next = 0.into();
        if self.ev_valid.val() {
            self.ended.next = self.one.val() << self.ev_reason.val();
        }
        self.happened.d.next =
            (bit_cast::<21, 1>((self.ev_valid.val() & !self.ended.val().get_bit(6)).into()))
                | (bit_cast::<21, 1>(self.ev_sent.val().into()) << 1)
                | (bit_cast::<21, 4>(self.ended.val().get_bits::<4>(2)) << 2)
                | (bit_cast::<21, 1>(self.ended.val().get_bit(6).into()) << 7)
                | (bit_cast::<21, 11>(self.ev_engine.val()) << 8)
                | (bit_cast::<21, 1>(self.ended.val().get_bit(1).into()) << 19)
                | (bit_cast::<21, 1>(self.ev_marked.val().into()) << 20);

        // Stage 1 of a visit: what waits is taken, what happens now waits for the next one.
        for i in 0..21 {
            self.chosen.s[i].next = self.waiting[i].q.val();
            self.waiting[i].d.next = self.waiting[i].q.val();
            if self.happened.q.val().get_bit(i) {
                self.waiting[i].d.next = self.waiting[i].q.val() + 1;
            }
            if self.visit.val().get_bit(i) {
                self.waiting[i].d.next = 0.into();
                if self.happened.q.val().get_bit(i) {
                    self.waiting[i].d.next = 1.into();
                }
            }
        }
        self.waiting_full.d.next =
            self.waiting_full.q.val() + bit_cast::<11, 7>(self.fulls.m.val());
        if self.visit.val().get_bit(6) {
            self.waiting_full.d.next = bit_cast::<11, 7>(self.fulls.m.val());
        }
        self.waiting_off.d.next = self.waiting_off.q.val() + bit_cast::<11, 7>(self.offs.m.val());
        if self.visit.val().get_bit(7) {
            self.waiting_off.d.next = bit_cast::<11, 7>(self.offs.m.val());
        }
        self.chosen.sel.next = self.visit.val().get_bits::<21>(0);
        self.amount.d.next = bit_cast::<11, 6>(self.chosen.m.val());
        if self.visit.val().get_bit(6) {
            self.amount.d.next = self.waiting_full.q.val();
        }
        if self.visit.val().get_bit(7) {
            self.amount.d.next =
                self.waiting_off.q.val() + bit_cast::<11, 6>(self.waiting[7].q.val());
        }
        self.counts.rd.addr.next = self.index.val();
        self.old.d.next = self.counts.rd.data.val();
        if self.clear.val() {
            self.old.d.next = 0.into();
        }
        self.at.d.next = self.index.val();

        // Stage 2: the sum; stage 3: it is shown.
        self.sum.next = self.old.q.val() + bit_cast::<32, 11>(self.amount.q.val());
        self.counts.wr.en.next = true;
        self.counts.wr.addr.next = self.at.q.val();
        self.counts.wr.data.next = self.sum.val();
        self.total.d.next = self.sum.val();
        self.count.next = self.total.q.val();
        if self.rst.val() {
            for i in 0..21 {
                self.waiting[i].d.next = 0.into();
            }
        }
    }
}
