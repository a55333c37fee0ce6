//! An LED that shows events.

use crate::prelude::*;

hdl_module! {
    /// An LED that is lit from the clock behind an event on, for 2^C - 1 clocks behind the last one.
    #[module("event_led_c{C}")]
    pub struct EventLed<const C: usize> {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset: dark.
        pub rst: Signal<In, Bit>,
        /// What it shows.
        pub shows: Signal<In, Bit>,
        /// Lit when high.
        pub lit: Signal<Out, Bit>,
        /// How long it is lit yet.
        #[reset] left: DFF<Bits<C>>,
        zero: Param<0, 8>,
    }
}

impl<const C: usize> Logic for EventLed<C> {
    #[hdl_gen]
    fn update(&mut self) {
        self.lit.next = self.left.q.val().any();
        if self.lit.val() {
            self.left.d.next = self.left.q.val() - 1;
        }
        if self.shows.val() {
            self.left.d.next = !bit_cast::<C, 8>(self.zero.val());
        }
    }
}
