//! Ends of queue pairs and regions for both sides of bulk transfers.

use crate::bus::UseEndsIn;
use crate::prelude::*;

hdl_module! {
    /// Tells the sending side that a queue pair or region ends, and then the receiving side: READs know why their windows are
    /// closed. It is done when both are.
    /// Latency: 1 clock behind each of them. Stages: none; only who is done.
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
        self.m_send_valid.next = self.s.valid.val() & !self.sent.q.val();
        self.m_receive_valid.next = self.s.valid.val() & self.sent.q.val() & !self.received.q.val();
        self.done.next = self.s.valid.val() & self.received.q.val();
        self.s.done.next = self.done.val();
        self.received.d.next =
            (self.received.q.val() | self.m_receive_ready.val()) & !self.done.val();
        self.sent.d.next = (self.sent.q.val() | self.m_send_ready.val()) & !self.done.val();
    }
}
