//! Lets frames in while the card is enabled.

use crate::prelude::*;

hdl_module! {
    /// Stands between the MAC and xud_rx and lets whole frames pass while enable is high; what comes meanwhile is lost.
    /// Latency: none. Stages: none; only whether this frame passes, is kept.
    #[module("card_rx_gate")]
    pub struct CardRxGate {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset: nothing passes until a frame has ended, or none has begun.
        pub rst: Signal<In, Bit>,
        /// Frames that begin now pass.
        pub enable: Signal<In, Bit>,
        /// A word from the MAC.
        pub s_tvalid: Signal<In, Bit>,
        /// It is the last of its frame.
        pub s_tlast: Signal<In, Bit>,
        /// It passes.
        pub m_tvalid: Signal<Out, Bit>,
        /// Frames pass. The reset leaves alone whether a frame is under way, as the MAC goes on meanwhile.
        #[reset] open: DFF<Bit>,
        /// The latest word was not the last of its frame.
        within: DFF<Bit>,
        inside: Signal<Local, Bit>,
    }
}

impl Logic for CardRxGate {
    #[hdl_gen]
    fn update(&mut self) {
        self.m_tvalid.next = self.s_tvalid.val() & self.open.q.val();
        self.inside.next = self.within.q.val();
        if self.s_tvalid.val() {
            self.inside.next = !self.s_tlast.val();
        }
        self.within.d.next = self.inside.val();
        if !self.inside.val() {
            self.open.d.next = self.enable.val();
        }
    }
}
