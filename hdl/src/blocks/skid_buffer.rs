//! Register slice for a ready/valid stream.

use crate::bus::{StreamIn, StreamOut};
use crate::prelude::*;

hdl_module! {
    /// Register slice: cuts all paths between its two sides, ready included.
    /// Latency: 1 clock. One word per clock; s_ready, m_valid and m_data are registers.
    /// A word offered while rst is high is dropped.
    #[module("skid_buffer_w{N}")]
    pub struct SkidBuffer<const N: usize> {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset: empties the buffer.
        pub rst: Signal<In, Bit>,
        /// Words in.
        pub s: StreamIn<N>,
        /// Words out, in their order.
        pub m: StreamOut<N>,
        /// The output register holds a word.
        #[reset] out_valid: DFF<Bit>,
        /// Output register.
        out_data: DFF<Bits<N>>,
        /// The spare register holds the word that came while the output was stalled.
        #[reset] spare_valid: DFF<Bit>,
        /// It does not: for s_ready alone, as the data registers load spare_valid enough.
        room: DFF<Bit>,
        /// Spare register.
        spare_data: DFF<Bits<N>>,
        /// The output register can take a word.
        out_free: Signal<Local, Bit>,
    }
}

impl<const N: usize> Logic for SkidBuffer<N> {
    #[hdl_gen]
    fn update(&mut self) {
        self.s.ready.next = self.room.q.val();
        self.m.valid.next = self.out_valid.q.val();
        self.m.data.next = self.out_data.q.val();
        self.out_free.next = self.m.ready.val() | !self.out_valid.q.val();
        // Without conditions, which synthesis turns into a clock enable and a reset behind the logic.
        self.spare_valid.d.next =
            !self.out_free.val() & (self.spare_valid.q.val() | self.s.valid.val());
        self.room.d.next = self.out_free.val() | (!self.spare_valid.q.val() & !self.s.valid.val());
        self.out_valid.d.next = self.s.valid.val()
            | self.spare_valid.q.val()
            | (self.out_valid.q.val() & !self.m.ready.val());
        if !self.spare_valid.q.val() {
            self.spare_data.d.next = self.s.data.val();
        }
        if self.out_free.val() {
            self.out_data.d.next = self.s.data.val();
            if self.spare_valid.q.val() {
                self.out_data.d.next = self.spare_data.q.val();
            }
        }
        if self.rst.val() {
            self.room.d.next = true;
        }
    }
}
