//! Counters of accepted packets and drops.

use crate::blocks::{AsyncRam, RamReg};
use crate::bus::RamReadIn;
use crate::prelude::*;

hdl_record! {
    /// A visit of a window. A bits for a window.
    struct Visit<const A: usize> {
        /// Window.
        index: Bits<A>,
        /// Low byte of its count.
        low: Bits<8>,
    }
}

hdl_module! {
    /// 2^A event counters of 32 bits, one event a clock, wrapping at 2^32.
    /// The lower eight bits of each count stand in distributed memory, where events raise them.
    /// Block RAM holds whole counts: each counter is visited every 2^A clocks,
    /// takes over the lower bits and raises the upper ones if they have wrapped since. So no whole
    /// count is forwarded.
    /// Reset clears all counters, 2^(A+1) clocks, during which no event may happen.
    #[module("rw_counts_d{}", 1usize << A)]
    pub struct RwCounts<const A: usize> {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset.
        pub rst: Signal<In, Bit>,
        /// An event happens.
        pub s_valid: Signal<In, Bit>,
        /// Counter of the event.
        pub s_data: Signal<In, Bits<A>>,
        /// A counter is read: its count comes 2^A + 1 clocks later, with all events up to 2^A + 8 clocks before.
        pub rd: RamReadIn<32, A>,

        /// Lower bits of the counts, for events and for visits.
        low: AsyncRam<8, A>,
        seen: AsyncRam<8, A>,
        /// Counts as of the last visit.
        counts: RamReg<32, A>,

        /// Since reset: the last bit says that all counters are cleared.
        #[reset] clear: DFF<Bits<6>>,
        cleared: Signal<Local, Bit>,
        #[reset] event: DFF<Bit>,
        event_index: DFF<Bits<A>>,
        /// The event just before hit the same counter.
        again: DFF<Bit>,
        before: Signal<Local, Bits<8>>,
        raised: DFF<Bits<8>>,
        raised_en: DFF<Bit>,
        raised_index: DFF<Bits<A>>,
        wr_en: Signal<Local, Bit>,
        wr_addr: Signal<Local, Bits<A>>,
        wr_data: Signal<Local, Bits<8>>,

        /// Counter to visit; those whose visit began one to four clocks ago.
        visit: DFF<Bits<A>>,
        v1: DFF<Visit<A>>,
        v2: DFF<Visit<A>>,
        v3: DFF<Visit<A>>,
        v4_index: DFF<Bits<A>>,
        v3_high: DFF<Bits<24>>,
        /// The lower bits have wrapped since the last visit.
        v3_carry: DFF<Bit>,
        v4_count: DFF<Bits<32>>,
        /// Its count is the one to read.
        v4_read: DFF<Bit>,
        read: DFF<Bits<32>>,
    }
}

impl<const A: usize> Logic for RwCounts<A> {
    #[hdl_gen]
    fn update(&mut self) {
        self.cleared.next = self.clear.q.val().get_bit(5);
        if !self.cleared.val() {
            self.clear.d.next = self.clear.q.val() + 1;
        }

        // An event: lower bits read, raised, written.
        self.event.d.next = self.s_valid.val();
        self.event_index.d.next = self.s_data.val();
        self.low.rd.addr.next = self.event_index.q.val();
        self.again.d.next = self.event.q.val() & (self.event_index.q.val() == self.s_data.val());
        self.before.next = self.low.rd.data.val();
        if self.again.q.val() {
            self.before.next = self.raised.q.val();
        }
        self.raised.d.next = self.before.val() + 1;
        self.raised_en.d.next = self.event.q.val();
        self.raised_index.d.next = self.event_index.q.val();
        self.wr_en.next = self.raised_en.q.val() | !self.cleared.val();
        self.wr_addr.next = self.raised_index.q.val();
        self.wr_data.next = self.raised.q.val();
        if !self.cleared.val() {
            self.wr_addr.next = self.visit.q.val();
            self.wr_data.next = 0.into();
        }
        self.low.wr.en.next = self.wr_en.val();
        self.low.wr.addr.next = self.wr_addr.val();
        self.low.wr.data.next = self.wr_data.val();
        self.seen.wr.en.next = self.wr_en.val();
        self.seen.wr.addr.next = self.wr_addr.val();
        self.seen.wr.data.next = self.wr_data.val();

        // A visit: read both, compare, raise, write.
        self.visit.d.next = self.visit.q.val() + 1;
        self.v1.d.next.index = self.visit.q.val();
        self.v2.d.next = self.v1.q.val();
        self.v3.d.next = self.v2.q.val();
        self.v4_index.d.next = self.v3.q.val().index;
        self.seen.rd.addr.next = self.visit.q.val();
        self.counts.rd.addr.next = self.visit.q.val();
        self.v1.d.next.low = self.seen.rd.data.val();
        self.v3_high.d.next = self.counts.rd.data.val().get_bits::<24>(8);
        self.v3_carry.d.next =
            self.counts.rd.data.val().get_bit(7) & !self.v2.q.val().low.get_bit(7);
        self.v4_count.d.next = (bit_cast::<32, 24>(
            self.v3_high.q.val() + bit_cast::<24, 1>(self.v3_carry.q.val().into()),
        ) << 8)
            | bit_cast::<32, 8>(self.v3.q.val().low);
        if !self.cleared.val() {
            self.v4_count.d.next = 0.into();
        }
        self.counts.wr.en.next = true;
        self.counts.wr.addr.next = self.v4_index.q.val();
        self.counts.wr.data.next = self.v4_count.q.val();
        self.v4_read.d.next = self.v3.q.val().index == self.rd.addr.val();
        if self.v4_read.q.val() {
            self.read.d.next = self.v4_count.q.val();
        }
        self.rd.data.next = self.read.q.val();
    }
}
