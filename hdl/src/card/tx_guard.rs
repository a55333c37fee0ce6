//! Keeps frames whole where the card is reset below the MAC.

use crate::bus::{AxisIn, AxisOut};
use crate::prelude::*;

hdl_module! {
    /// Stands between xud_tx, which a function-level reset stops at once, and the MAC, which must see an end of every
    /// frame. A frame that the reset cuts ends with one more byte; its ICRC is wrong, so nobody takes it for whole.
    /// Latency: 1 clock. Stages: 1, the word for the MAC. While it is held, a reset may begin and end: the end that the
    /// frame then lacks is kept until there is room for it, and what xud_tx offers waits behind it.
    #[module("card_tx_guard")]
    pub struct CardTxGuard {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset, also of the MAC.
        pub rst: Signal<In, Bit>,
        /// xud_tx is being reset: what it offers in this clock does not count.
        pub cut: Signal<In, Bit>,
        /// Frames of xud_tx.
        pub s_axis: AxisIn<64, 8>,
        /// Frames for the MAC.
        pub m_axis: AxisOut<64, 8>,
        #[reset] valid: DFF<Bit>,
        data: DFF<Bits<64>>,
        keep: DFF<Bits<8>>,
        last: DFF<Bit>,
        /// The word taken last was not the last of its frame.
        #[reset] within: DFF<Bit>,
        /// The end of a frame that was cut while the MAC took nothing has still to come.
        #[reset] owed: DFF<Bit>,
        free: Signal<Local, Bit>,
        ends: Signal<Local, Bit>,
    }
}

impl Logic for CardTxGuard {
    #[hdl_gen]
    fn update(&mut self) {
        self.m_axis.tvalid.next = self.valid.q.val();
        self.m_axis.tdata.next = self.data.q.val();
        self.m_axis.tkeep.next = self.keep.q.val();
        self.m_axis.tlast.next = self.last.q.val();
        self.free.next = !self.valid.q.val() | self.m_axis.tready.val();
        self.s_axis.tready.next = self.free.val() & !self.owed.q.val();
        self.ends.next = self.cut.val() | self.owed.q.val();
        self.owed.d.next = self.ends.val() & self.within.q.val() & !self.free.val();
        if self.free.val() {
            self.valid.d.next = self.s_axis.tvalid.val();
            self.data.d.next = self.s_axis.tdata.val();
            self.keep.d.next = self.s_axis.tkeep.val();
            self.last.d.next = self.s_axis.tlast.val();
            if self.s_axis.tvalid.val() {
                self.within.d.next = !self.s_axis.tlast.val();
            }
            if self.ends.val() {
                // Either nothing, or the end of the frame that was cut.
                self.valid.d.next = self.within.q.val();
                self.keep.d.next = 1.into();
                self.last.d.next = true;
                self.within.d.next = false;
            }
        }
    }
}
