//! Events that are told to another clock.

use super::CountCross;
use crate::prelude::*;

hdl_module! {
    /// Pulses of one clock as pulses of another, each once. 15 may be on their way: more, in clocks much faster than the
    /// other, are lost.
    /// Latency: that of count_cross, and 1 clock.
    #[module("event_cross")]
    pub struct EventCross {
        /// Clock in which events happen.
        pub s_clk: Signal<In, Clock>,
        /// Synchronous reset of that side.
        pub s_rst: Signal<In, Bit>,
        /// An event; pulse.
        pub s: Signal<In, Bit>,
        /// Clock in which they are told.
        pub m_clk: Signal<In, Clock>,
        /// Synchronous reset of that side.
        pub m_rst: Signal<In, Bit>,
        /// An event; pulse.
        pub m: Signal<Out, Bit>,
        events: CountCross<4>,
        told: DFF<Bits<4>>,
        now: DFF<Bit>,
        more: Signal<Local, Bit>,
    }
}

impl Logic for EventCross {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, m_clk, told, now);
        self.events.s_clk.next = self.s_clk.val();
        self.events.s_rst.next = self.s_rst.val();
        self.events.s_en.next = self.s.val();
        self.events.m_clk.next = self.m_clk.val();
        self.events.m_rst.next = self.m_rst.val();
        self.more.next = self.events.m_count.val() != self.told.q.val();
        self.now.d.next = self.more.val();
        if self.more.val() {
            self.told.d.next = self.told.q.val() + 1;
        }
        self.m.next = self.now.q.val();
        if self.m_rst.val() {
            self.told.d.next = 0.into();
            self.now.d.next = false;
        }
    }
}
