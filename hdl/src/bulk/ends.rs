//! Ends of queue pairs and regions for both sides of bulk transfers.

use crate::bus::UseEndsIn;
use crate::prelude::*;

hdl_module! {
    /// Tells both sides that a queue pair ends, and the receiving side that a region does: the sending side looks keys up again
    /// for every packet. It is done when each that was told is.
    /// Latency: 1 clock behind the last of them. Stages: none; only who is done.
    #[module("bulk_ends")]
    pub struct BulkEnds {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset.
        pub rst: Signal<In, Bit>,
        /// A queue pair or region ends.
        pub s: UseEndsIn,
        /// The receiving side is told, until it is done.
        pub m_receive_valid: Signal<Out, Bit>,
        /// It is; pulse.
        pub m_receive_ready: Signal<In, Bit>,
        /// The sending side is told, until it is done.
        pub m_send_valid: Signal<Out, Bit>,
        /// It is; pulse.
        pub m_send_ready: Signal<In, Bit>,
        #[reset] received: DFF<Bit>,
        #[reset] sent: DFF<Bit>,
        done: Signal<Local, Bit>,
    }
}

impl Logic for BulkEnds {
    #[hdl_gen]
    fn update(&mut self) {
        self.m_receive_valid.next = self.s.valid.val() & !self.received.q.val();
        self.m_send_valid.next = self.s.valid.val() & self.s.pair.val() & !self.sent.q.val();
        self.done.next =
            self.s.valid.val() & self.received.q.val() & (self.sent.q.val() | !self.s.pair.val());
        self.s.done.next = self.done.val();
        self.received.d.next =
            (self.received.q.val() | self.m_receive_ready.val()) & !self.done.val();
        self.sent.d.next = (self.sent.q.val() | self.m_send_ready.val()) & !self.done.val();
    }
}
