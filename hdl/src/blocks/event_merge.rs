//! Two events for one counter.

use crate::prelude::*;

hdl_module! {
    /// Puts the pulses of two sources one behind the other, so that a counter of single pulses sees both where they
    /// come in the same clock. One waits at most: a third within that time is lost.
    /// Latency: none. Stages: none; only the pulse that waits.
    #[module("event_merge")]
    pub struct EventMerge {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset.
        pub rst: Signal<In, Bit>,
        /// An event.
        pub a: Signal<In, Bit>,
        /// Another one.
        pub b: Signal<In, Bit>,
        /// An event of either.
        pub m: Signal<Out, Bit>,
        #[reset] waits: DFF<Bit>,
    }
}

impl Logic for EventMerge {
    #[hdl_gen]
    fn update(&mut self) {
        self.m.next = self.a.val() | self.b.val() | self.waits.q.val();
        self.waits.d.next =
            (self.a.val() & self.b.val()) | (self.waits.q.val() & (self.a.val() | self.b.val()));
    }
}
