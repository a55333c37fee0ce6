//! Frames of two sources on their way to the line.

use crate::bus::{AxisIn, AxisOut};
use crate::prelude::*;

hdl_module! {
    /// Lets frames of two sources leave whole, those of a first.
    /// Latency: none. Stages: none; only whose frame is under way, is kept. What is held stays, since its frame goes on.
    #[module("card_tx_first")]
    pub struct CardTxFirst {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset: with both sources.
        pub rst: Signal<In, Bit>,
        /// Frames that go first.
        pub a: AxisIn<64, 8>,
        /// All others.
        pub b: AxisIn<64, 8>,
        /// All of them.
        pub m: AxisOut<64, 8>,
        /// A frame is under way, or a word of it has been offered; it is one of a.
        #[reset] within: DFF<Bit>,
        #[reset] of_a: DFF<Bit>,
        choose_a: Signal<Local, Bit>,
        some: Signal<Local, Bit>,
        ends: Signal<Local, Bit>,
    }
}

impl Logic for CardTxFirst {
    #[hdl_gen]
    fn update(&mut self) {
        self.choose_a.next = self.a.tvalid.val();
        if self.within.q.val() {
            self.choose_a.next = self.of_a.q.val();
        }
        self.some.next = self.b.tvalid.val();
        self.m.tdata.next = self.b.tdata.val();
        self.m.tkeep.next = self.b.tkeep.val();
        self.m.tlast.next = self.b.tlast.val();
        self.ends.next = self.b.tlast.val();
        if self.choose_a.val() {
            self.some.next = self.a.tvalid.val();
            self.m.tdata.next = self.a.tdata.val();
            self.m.tkeep.next = self.a.tkeep.val();
            self.m.tlast.next = self.a.tlast.val();
            self.ends.next = self.a.tlast.val();
        }
        self.m.tvalid.next = self.some.val();
        self.a.tready.next = self.m.tready.val() & self.choose_a.val();
        self.b.tready.next = self.m.tready.val() & !self.choose_a.val();
        if self.some.val() {
            self.within.d.next = !(self.ends.val() & self.m.tready.val());
            self.of_a.d.next = self.choose_a.val();
        }
    }
}
