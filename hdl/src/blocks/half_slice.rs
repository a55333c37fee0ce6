//! Register slice for wide words that come now and then.

use crate::bus::{StreamIn, StreamOut};
use crate::prelude::*;

hdl_module! {
    /// Register slice: cuts all paths between its two sides, ready included, with one register for
    /// each bit of a word and nothing before it.
    /// Latency: 1 clock. One word in two clocks at most; s_ready, m_valid and m_data are registers.
    /// A word offered while rst is high is dropped.
    #[module("half_slice_w{N}")]
    pub struct HalfSlice<const N: usize> {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset: empties the slice.
        pub rst: Signal<In, Bit>,
        /// Words in.
        pub s: StreamIn<N>,
        /// Words out, in their order.
        pub m: StreamOut<N>,
        /// A word is there; it.
        #[reset] some: DFF<Bit>,
        word: DFF<Bits<N>>,
    }
}

impl<const N: usize> Logic for HalfSlice<N> {
    #[hdl_gen]
    fn update(&mut self) {
        self.s.ready.next = !self.some.q.val();
        self.some.d.next =
            (self.some.q.val() & !self.m.ready.val()) | (!self.some.q.val() & self.s.valid.val());
        // Whatever is there, until it is a word: so that the enable of all bits is a register.
        if !self.some.q.val() {
            self.word.d.next = self.s.data.val();
        }
        self.m.valid.next = self.some.q.val();
        self.m.data.next = self.word.q.val();
    }
}
