//! Free ids, reused first-in first-out.

use super::FifoBram;
use crate::bus::{StreamIn, StreamOut};
use crate::prelude::*;

hdl_module! {
    /// Free ids 0..=last, handed out on m and returned on s, reused first-in first-out.
    /// After reset the list fills itself with 0, 1, .., last, one id per clock, and
    /// hands out the first ids meanwhile; ready is high from then on.
    /// Latency: 4 clocks from a returned id to the output. One id per clock out and
    /// one in, in the same clock. s_ready is low until the list is filled; an id
    /// must be returned once for each time it was handed out.
    #[module("free_list_d{}", 1usize << A)]
    pub struct FreeList<const A: usize> {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset: all ids are free again.
        pub rst: Signal<In, Bit>,
        /// Highest id, a constant.
        pub last: Signal<In, Bits<A>>,
        /// The list has filled itself since reset.
        pub ready: Signal<Out, Bit>,
        /// Ids that are returned.
        pub s: StreamIn<A>,
        /// Free ids.
        pub m: StreamOut<A>,
        /// Free ids, those still to be filled in not counted.
        pub count: Signal<Out, Bits<16>>,
        /// The free ids in order of reuse.
        queue: FifoBram<A, A>,
        /// Next id to fill in.
        #[reset] fill: DFF<Bits<A>>,
        /// The list has filled itself.
        #[reset] filled: DFF<Bit>,
    }
}

impl<const A: usize> Logic for FreeList<A> {
    #[hdl_gen]
    fn update(&mut self) {
        self.queue.almost_at.next = 0.into();

        self.queue.s.valid.next = self.s.valid.val();
        self.queue.s.data.next = self.s.data.val();
        if !self.filled.q.val() {
            self.queue.s.valid.next = true;
            self.queue.s.data.next = self.fill.q.val();
            self.fill.d.next = self.fill.q.val() + 1;
            self.filled.d.next = self.fill.q.val() == self.last.val();
        }
        self.ready.next = self.filled.q.val();
        self.s.ready.next = self.filled.q.val() & self.queue.s.ready.val();

        StreamOut::<A>::link(&mut self.m, &mut self.queue.m);
        self.count.next = self.queue.count.val();
    }
}
