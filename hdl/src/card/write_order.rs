//! When a bulk WRITE may ask for its write of host memory.

use crate::bus::{DmaRequestIn, DmaRequestOut};
use crate::prelude::*;

hdl_module! {
    /// Lets a write of a bulk transfer through when the payload of all datagrams that were taken before it is gone. Payload of
    /// both waits in xud_rx in the order in which it came, and dma_write_mux takes words in the order of requests: a write in
    /// front of that of an earlier datagram would wait for words that stand behind those of the datagram, and these for it.
    /// A datagram behind it is taken when its request has been, so in that order nothing waits.
    /// Latency: none. Stages: none; only how many payloads are to come.
    #[module("card_write_order")]
    pub struct CardWriteOrder {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset, with xud_rx.
        pub rst: Signal<In, Bit>,
        /// A datagram is taken, and its payload will come; pulse.
        pub s_taken: Signal<In, Bit>,
        /// The last word of a payload passes; pulse.
        pub s_gone: Signal<In, Bit>,
        /// Writes of bulk transfers.
        pub s: DmaRequestIn,
        /// Those that may ask.
        pub m: DmaRequestOut,
        /// Payloads of datagrams that were taken and are not gone.
        #[reset] left: DFF<Bits<8>>,
        none: Signal<Local, Bit>,
    }
}

impl Logic for CardWriteOrder {
    #[hdl_gen]
    fn update(&mut self) {
        self.none.next = !self.left.q.val().any();
        self.m.valid.next = self.s.valid.val() & self.none.val();
        self.m.of.next = self.s.of.val();
        self.s.ready.next = self.m.ready.val() & self.none.val();
        if self.s_taken.val() & !self.s_gone.val() {
            self.left.d.next = self.left.q.val() + 1;
        }
        if self.s_gone.val() & !self.s_taken.val() {
            self.left.d.next = self.left.q.val() - 1;
        }
    }
}
