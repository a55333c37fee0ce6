//! Deadlines of the requests in flight.

use crate::blocks::{FifoAhead, RamReg};
use crate::bus::PlaceBitIn;
use crate::prelude::*;

/// Quarters of the unit at reset: they wrap soon after, so that it is nothing rare.
const START: usize = (1 << 35) - 256;

hdl_module! {
    /// Deadlines of the table of requests in flight: visits one place a clock and names those that
    /// are filled and whose time is over. Time is counted in quarters of the unit, modulo 2^35; the
    /// longest timeout is 2^33 of them.
    /// Latency: 4 clocks from a visit to m_valid. A visit to every place takes 2^LF clocks, plus
    /// one for each clock in which four places or more wait on m.
    /// Stages: 1 visit; 2, 3 deadline and bits read; 4 compared; then a queue.
    /// While m_* is not taken its place may be flushed and filled anew: m_bit tells whether it was, to whoever takes
    /// it. Of two flushes it could not tell, so each forgets what waits; the next visit finds whose time is over still.
    #[module("xud_deadlines_d{}", 1usize << LF)]
    pub struct XudDeadlines<const LF: usize> {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset: time begins anew.
        pub rst: Signal<In, Bit>,
        /// The table is not empty yet: no place is visited.
        pub clearing: Signal<In, Bit>,
        /// Clocks in a unit, 4 or more.
        pub cfg_timeout_unit: Signal<In, Bits<16>>,
        /// A place gets a deadline; it counts as soon as the place is filled.
        pub s_valid: Signal<In, Bit>,
        /// Place.
        pub s_place: Signal<In, Bits<LF>>,
        /// Timeout exponent.
        pub s_timeout: Signal<In, Bits<5>>,
        /// Writes of bit S.
        pub ws: PlaceBitIn<LF>,
        /// Writes of bit E.
        pub we: PlaceBitIn<LF>,
        /// A flush begins, pulse: what waits at m is forgotten.
        pub forget: Signal<In, Bit>,
        /// A place's time is over.
        pub m_valid: Signal<Out, Bit>,
        /// That is taken.
        pub m_ready: Signal<In, Bit>,
        /// Place.
        pub m_place: Signal<Out, Bits<LF>>,
        /// Its S: a place that was filled anew meanwhile has another.
        pub m_bit: Signal<Out, Bits<1>>,
        /// Four times the clocks of the unit so far.
        #[reset] clocks: DFF<Bits<18>>,
        /// What a clock that ends a quarter adds to them.
        step: DFF<Bits<18>>,
        less: Signal<Local, Bits<18>>,
        /// A quarter has ended; now counts it a clock later.
        #[reset] quarter: DFF<Bit>,
        now: DFF<Bits<35>>,
        /// A deadline to write.
        #[reset] w_valid: DFF<Bit>,
        w_place: DFF<Bits<LF>>,
        w_deadline: DFF<Bits<35>>,
        times: RamReg<35, LF>,
        s: RamReg<1, LF>,
        e: RamReg<1, LF>,
        /// Places visited in stages 1 to 3.
        #[reset] next: DFF<Bits<LF>>,
        go: Signal<Local, Bit>,
        #[reset] s1_valid: DFF<Bit>,
        s1_place: DFF<Bits<LF>>,
        #[reset] s2_valid: DFF<Bit>,
        s2_place: DFF<Bits<LF>>,
        #[reset] s3_valid: DFF<Bit>,
        s3_place: DFF<Bits<LF>>,
        left: Signal<Local, Bits<35>>,
        /// Stage 4.
        #[reset] s4_valid: DFF<Bit>,
        s4_place: DFF<Bits<LF>>,
        s4_bit: DFF<Bits<1>>,
        over: DFF<Bit>,
        places: FifoAhead<LF, 3>,
        bits: FifoAhead<1, 3>,
        start: Param<START, 35>,
    }
}

impl<const LF: usize> Logic for XudDeadlines<LF> {
    #[hdl_gen]
    fn update(&mut self) {
        self.s.wr.en.next = self.ws.en.val();
        self.s.wr.addr.next = self.ws.place.val();
        self.s.wr.data.next = self.ws.bit.val();
        self.e.wr.en.next = self.we.en.val();
        self.e.wr.addr.next = self.we.place.val();
        self.e.wr.data.next = self.we.bit.val();

        // Time: four quarters in a unit, however many clocks that has.
        self.step.d.next = bits::<18>(4) - bit_cast::<18, 16>(self.cfg_timeout_unit.val());
        self.less.next = self.clocks.q.val() + self.step.q.val();
        self.quarter.d.next = !self.less.val().get_bit(17);
        self.clocks.d.next = self.less.val();
        if self.less.val().get_bit(17) {
            self.clocks.d.next = self.clocks.q.val() + 4;
        }
        if self.quarter.q.val() {
            self.now.d.next = self.now.q.val() + 1;
        }

        // A deadline lies one more quarter ahead than the timeout has: the first one is not whole.
        self.w_valid.d.next = self.s_valid.val();
        self.w_place.d.next = self.s_place.val();
        self.w_deadline.d.next =
            self.now.q.val() + ((bits::<35>(4) << self.s_timeout.val()) | bits::<35>(1));
        self.times.wr.en.next = self.w_valid.q.val();
        self.times.wr.addr.next = self.w_place.q.val();
        self.times.wr.data.next = self.w_deadline.q.val();

        // Visits.
        self.go.next = !self.clearing.val() & !self.places.count.val().get_bits::<2>(2).any();
        if self.go.val() {
            self.next.d.next = self.next.q.val() + 1;
        }
        self.s1_valid.d.next = self.go.val();
        self.s1_place.d.next = self.next.q.val();
        self.times.rd.addr.next = self.s1_place.q.val();
        self.s.rd.addr.next = self.s1_place.q.val();
        self.e.rd.addr.next = self.s1_place.q.val();
        self.s2_valid.d.next = self.s1_valid.q.val();
        self.s2_place.d.next = self.s1_place.q.val();
        self.s3_valid.d.next = self.s2_valid.q.val();
        self.s3_place.d.next = self.s2_place.q.val();
        // A deadline that is being written is that of a place that is not filled yet.
        self.left.next = self.now.q.val() - self.times.rd.data.val();
        self.over.d.next = !self.left.val().get_bit(34);
        self.s4_valid.d.next =
            self.s3_valid.q.val() & (self.s.rd.data.val() != self.e.rd.data.val());
        self.s4_place.d.next = self.s3_place.q.val();
        self.s4_bit.d.next = self.s.rd.data.val();
        self.places.rst.next = self.rst.val() | self.forget.val();
        self.bits.rst.next = self.rst.val() | self.forget.val();
        self.places.s.valid.next = self.s4_valid.q.val() & self.over.q.val();
        self.places.s.data.next = self.s4_place.q.val();
        self.places.m.ready.next = self.m_ready.val();
        self.bits.s.valid.next = self.s4_valid.q.val() & self.over.q.val();
        self.bits.s.data.next = self.s4_bit.q.val();
        self.bits.m.ready.next = self.m_ready.val();
        self.m_valid.next = self.places.m.valid.val();
        self.m_place.next = self.places.m.data.val();
        self.m_bit.next = self.bits.m.data.val();
        if self.rst.val() {
            self.now.d.next = self.start.val();
        }
    }
}
