//! The output of a port: plain frames and frames of the engine, one after the other.

use crate::bus::{AxisOut, FramesIn};
use crate::prelude::*;

hdl_module! {
    /// Merges two streams of whole frames, in turn when both wait, and registers the result.
    /// Latency: 1 clock from red_*, 2 from plain_*. A frame that has begun is finished before another begins.
    /// Whose turn it is stands in a register: the engine's, unless a plain word is at hand in the next clock.
    /// While the MAC takes nothing, three words are held: that at the output, one spare, a plain one. None of them
    /// changes, whatever comes in; the turn changes only behind a frame's last word.
    #[module("switch_tx")]
    pub struct SwitchTx {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset: empties the register; a frame under way is cut.
        pub rst: Signal<In, Bit>,
        /// A word of a plain frame.
        pub plain_valid: Signal<In, Bit>,
        /// It is taken.
        pub plain_ready: Signal<Out, Bit>,
        /// The word, first byte in bits 7:0.
        pub plain_data: Signal<In, Bits<64>>,
        /// It is the frame's last.
        pub plain_last: Signal<In, Bit>,
        /// Bytes in the last word, less one.
        pub plain_keep: Signal<In, Bits<3>>,
        /// Frames of the engine.
        pub red: FramesIn<64>,
        /// AXI4-Stream to the MAC.
        pub m_axis_tx: AxisOut<64, 8>,
        /// A frame has left the switch.
        pub sent: Signal<Out, Bit>,
        /// Output register: data 63:0, last 64, bytes less one 67:65.
        #[reset] out_valid: DFF<Bit>,
        out_data: DFF<Bits<68>>,
        /// What came while it was stalled.
        spare_data: DFF<Bits<68>>,
        /// There is nothing in the spare register, nothing in the output register.
        open: DFF<Bit>,
        out_empty: DFF<Bit>,
        /// The output register takes a word.
        out_free: Signal<Local, Bit>,
        offered: Signal<Local, Bit>,
        /// A plain word, its flags as in the output register.
        #[reset] held: DFF<Bit>,
        word: DFF<Bits<68>>,
        /// There is none: a register of its own, for what enables the others.
        bare: DFF<Bit>,
        /// It goes, or there is none.
        free: Signal<Local, Bit>,
        /// The plain stream is chosen.
        #[reset] plain: DFF<Bit>,
        /// A frame of the engine is under way.
        #[reset] in_red: DFF<Bit>,
        /// The next clock has a plain word.
        soon: Signal<Local, Bit>,
        /// The engine's stream does not go on.
        red_over: Signal<Local, Bit>,
        /// Word and flags of the chosen stream.
        chosen: Signal<Local, Bits<68>>,
        /// A last word leaves the switch.
        #[reset] leaves: DFF<Bit>,
        /// All bytes present.
        all: Param<255, 8>,
    }
}

impl Logic for SwitchTx {
    #[hdl_gen]
    fn update(&mut self) {
        self.free.next = !self.held.q.val() | (self.plain.q.val() & self.open.q.val());
        self.plain_ready.next = self.free.val();
        if self.free.val() {
            self.held.d.next = self.plain_valid.val();
            self.bare.d.next = !self.plain_valid.val();
        }
        if self.bare.q.val() | (self.plain.q.val() & self.open.q.val()) {
            self.word.d.next = bit_cast::<68, 64>(self.plain_data.val())
                | (bit_cast::<68, 1>(self.plain_last.val().into()) << 64)
                | (bit_cast::<68, 3>(self.plain_keep.val()) << 65);
        }
        self.chosen.next = bit_cast::<68, 64>(self.red.of.val().data)
            | (bit_cast::<68, 1>(self.red.of.val().last.into()) << 64)
            | (bits::<68>(5) << 65);
        self.offered.next = self.red.valid.val();
        if self.plain.q.val() {
            self.chosen.next = self.word.q.val();
            self.offered.next = self.held.q.val();
        }
        // Two registers say whether there is a word in the output register: one decides, one enables.
        self.out_free.next = self.m_axis_tx.tready.val() | self.out_empty.q.val();
        self.open.d.next = self.m_axis_tx.tready.val()
            | !self.out_valid.q.val()
            | (self.open.q.val() & !self.offered.val());
        if self.open.q.val() {
            self.spare_data.d.next = self.chosen.val();
        }
        if self.out_free.val() {
            self.out_valid.d.next = self.offered.val() | !self.open.q.val();
            self.out_empty.d.next = !self.offered.val() & self.open.q.val();
            self.out_data.d.next = self.chosen.val();
            if !self.open.q.val() {
                self.out_data.d.next = self.spare_data.q.val();
            }
        }
        self.red.ready.next = !self.plain.q.val() & self.open.q.val();

        self.soon.next = self.plain_valid.val() | (self.held.q.val() & !self.plain.q.val());
        self.red_over.next = !self.in_red.q.val() & !self.red.valid.val();
        if self.red.valid.val() & self.open.q.val() & self.red.of.val().last {
            self.red_over.next = true;
        }
        if !self.plain.q.val() {
            self.plain.d.next = self.soon.val() & self.red_over.val();
            if self.red.valid.val() & self.open.q.val() {
                self.in_red.d.next = !self.red.of.val().last;
            }
        }
        if self.plain.q.val()
            & self.held.q.val()
            & self.open.q.val()
            & self.word.q.val().get_bit(64)
        {
            self.plain.d.next = self.soon.val() & !self.red.valid.val();
        }

        self.m_axis_tx.tvalid.next = self.out_valid.q.val();
        self.m_axis_tx.tdata.next = self.out_data.q.val().get_bits::<64>(0);
        self.m_axis_tx.tlast.next = self.out_data.q.val().get_bit(64);
        self.m_axis_tx.tkeep.next = self.all.val();
        if self.out_data.q.val().get_bit(64) {
            self.m_axis_tx.tkeep.next =
                self.all.val() >> (bits::<3>(7) - self.out_data.q.val().get_bits::<3>(65));
        }
        self.leaves.d.next = self.out_valid.q.val()
            & self.m_axis_tx.tready.val()
            & self.out_data.q.val().get_bit(64);
        self.sent.next = self.leaves.q.val();
        if self.rst.val() {
            self.bare.d.next = true;
            self.out_empty.d.next = true;
            self.open.d.next = true;
        }
    }
}
