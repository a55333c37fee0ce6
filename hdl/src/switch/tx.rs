//! The output of a port: plain frames and frames of the engine, one after the other.

use crate::blocks::SkidBuffer;
use crate::prelude::*;

hdl_module! {
    /// Merges two streams of whole frames, in turn when both wait, and registers the result.
    /// Latency: 1 clock. A frame that has begun is finished before another begins.
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
        /// A word of a frame from the engine.
        pub red_valid: Signal<In, Bit>,
        /// It is taken.
        pub red_ready: Signal<Out, Bit>,
        /// The word.
        pub red_data: Signal<In, Bits<64>>,
        /// It is the frame's last: it has 6 bytes.
        pub red_last: Signal<In, Bit>,
        /// AXI4-Stream to the MAC: a word.
        pub m_axis_tx_tvalid: Signal<Out, Bit>,
        /// The MAC takes it.
        pub m_axis_tx_tready: Signal<In, Bit>,
        /// First byte in bits 7:0.
        pub m_axis_tx_tdata: Signal<Out, Bits<64>>,
        /// Bytes present, from bit 0 on.
        pub m_axis_tx_tkeep: Signal<Out, Bits<8>>,
        /// Last word of the frame.
        pub m_axis_tx_tlast: Signal<Out, Bit>,
        /// A frame has left the switch.
        pub sent: Signal<Out, Bit>,
        /// Output register: data 63:0, last 64, bytes less one 67:65.
        register: SkidBuffer<68>,
        /// A plain frame is under way.
        in_plain: DFF<Bit>,
        /// A frame of the engine is under way.
        in_red: DFF<Bit>,
        /// The frame before was the engine's.
        after_red: DFF<Bit>,
        /// The engine's stream is chosen.
        red: Signal<Local, Bit>,
        /// The plain stream is chosen.
        plain: Signal<Local, Bit>,
        /// Word and flags of the chosen stream.
        chosen: Signal<Local, Bits<68>>,
        /// A last word leaves the switch.
        leaves: DFF<Bit>,
        /// All bytes present.
        all: Param<255, 8>,
    }
}

impl Logic for SwitchTx {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clk, in_plain, in_red, after_red, leaves);
        self.register.clk.next = self.clk.val();
        self.register.rst.next = self.rst.val();
        self.red.next = self.in_red.q.val()
            | (!self.in_plain.q.val()
                & self.red_valid.val()
                & (!self.after_red.q.val() | !self.plain_valid.val()));
        self.plain.next = !self.red.val();
        self.chosen.next = bit_cast::<68, 64>(self.plain_data.val())
            | (bit_cast::<68, 1>(self.plain_last.val().into()) << 64)
            | (bit_cast::<68, 3>(self.plain_keep.val()) << 65);
        if self.red.val() {
            self.chosen.next = bit_cast::<68, 64>(self.red_data.val())
                | (bit_cast::<68, 1>(self.red_last.val().into()) << 64)
                | (bits::<68>(5) << 65);
        }
        self.register.s_data.next = self.chosen.val();
        self.register.s_valid.next =
            (self.red.val() & self.red_valid.val()) | (self.plain.val() & self.plain_valid.val());
        self.red_ready.next = self.red.val() & self.register.s_ready.val();
        self.plain_ready.next = self.plain.val() & self.register.s_ready.val();
        if self.red_valid.val() & self.red_ready.val() {
            self.in_red.d.next = !self.red_last.val();
            self.after_red.d.next = true;
        }
        if self.plain_valid.val() & self.plain_ready.val() {
            self.in_plain.d.next = !self.plain_last.val();
            self.after_red.d.next = false;
        }

        self.m_axis_tx_tvalid.next = self.register.m_valid.val();
        self.register.m_ready.next = self.m_axis_tx_tready.val();
        self.m_axis_tx_tdata.next = self.register.m_data.val().get_bits::<64>(0);
        self.m_axis_tx_tlast.next = self.register.m_data.val().get_bit(64);
        self.m_axis_tx_tkeep.next = self.all.val();
        if self.register.m_data.val().get_bit(64) {
            self.m_axis_tx_tkeep.next =
                self.all.val() >> (bits::<3>(7) - self.register.m_data.val().get_bits::<3>(65));
        }
        self.leaves.d.next = self.register.m_valid.val()
            & self.m_axis_tx_tready.val()
            & self.register.m_data.val().get_bit(64);
        self.sent.next = self.leaves.q.val();
        if self.rst.val() {
            self.in_plain.d.next = false;
            self.in_red.d.next = false;
            self.after_red.d.next = false;
            self.leaves.d.next = false;
        }
    }

    fn timing(&self) -> Vec<TimingInfo> {
        Self::module_info("switch_tx".to_owned()).into_timing()
    }
}
