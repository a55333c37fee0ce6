//! Sweep over all timers of a table.

use crate::prelude::*;

hdl_module! {
    /// Visits the ids 0..2^A-1 round robin, one per word taken from m, with the time
    /// beside it: one engine serves the timers of a whole table.
    /// The time is a coarse tick of 16 bits that rises once per prescale + 1 clocks
    /// and wraps. A visit carries the tick of the clock before it was offered.
    /// Latency: 1 clock. One visit per clock; m_valid, m_id and m_now are registers.
    #[module("timer_sweep_d{}", 1usize << A)]
    pub struct TimerSweep<const A: usize> {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset: id 0, time 0.
        pub rst: Signal<In, Bit>,
        /// Clocks per tick, less one; a constant.
        pub prescale: Signal<In, Bits<24>>,
        /// The coarse tick.
        pub now: Signal<Out, Bits<16>>,
        /// A visit is due; low only in the clock after reset.
        pub m_valid: Signal<Out, Bit>,
        /// The visit is taken.
        pub m_ready: Signal<In, Bit>,
        /// Id to visit.
        pub m_id: Signal<Out, Bits<A>>,
        /// Time of the visit.
        pub m_now: Signal<Out, Bits<16>>,
        /// Clocks of the current tick so far.
        #[reset] clocks: DFF<Bits<24>>,
        /// The coarse tick.
        #[reset] tick: DFF<Bits<16>>,
        /// A visit is on offer.
        #[reset] valid: DFF<Bit>,
        /// Id on offer.
        id: DFF<Bits<A>>,
        /// Id to offer next.
        #[reset] next_id: DFF<Bits<A>>,
        /// Time of the visit on offer.
        time: DFF<Bits<16>>,
    }
}

impl<const A: usize> Logic for TimerSweep<A> {
    #[hdl_gen]
    fn update(&mut self) {
        self.now.next = self.tick.q.val();
        self.m_valid.next = self.valid.q.val();
        self.m_id.next = self.id.q.val();
        self.m_now.next = self.time.q.val();

        self.clocks.d.next = self.clocks.q.val() + 1;
        if self.clocks.q.val() == self.prescale.val() {
            self.clocks.d.next = 0.into();
            self.tick.d.next = self.tick.q.val() + 1;
        }

        if self.m_ready.val() | !self.valid.q.val() {
            self.valid.d.next = true;
            self.id.d.next = self.next_id.q.val();
            self.next_id.d.next = self.next_id.q.val() + 1;
            self.time.d.next = self.tick.q.val();
        }
    }
}
