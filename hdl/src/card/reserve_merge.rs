//! Completion slots for two who ask.

use crate::bus::{ReserveIn, ReserveOut};
use crate::prelude::*;

hdl_module! {
    /// Lets two who ask for completion slots take turns: each until it is answered.
    /// Latency: none. Stages: none; only who asks, is kept.
    #[module("card_reserve_merge_q{}", 1usize << LQ)]
    pub struct CardReserveMerge<const LQ: usize> {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset.
        pub rst: Signal<In, Bit>,
        /// The one.
        pub a: ReserveIn<LQ>,
        /// The other.
        pub b: ReserveIn<LQ>,
        /// Both.
        pub m: ReserveOut<LQ>,
        /// One has asked and was not answered; it is b; b is first in line.
        #[reset] asks: DFF<Bit>,
        #[reset] is_b: DFF<Bit>,
        #[reset] b_first: DFF<Bit>,
        choose_b: Signal<Local, Bit>,
        some: Signal<Local, Bit>,
    }
}

impl<const LQ: usize> Logic for CardReserveMerge<LQ> {
    #[hdl_gen]
    fn update(&mut self) {
        self.choose_b.next = self.b.valid.val() & (self.b_first.q.val() | !self.a.valid.val());
        if self.asks.q.val() {
            self.choose_b.next = self.is_b.q.val();
        }
        self.some.next = self.a.valid.val();
        self.m.qpn.next = self.a.qpn.val();
        if self.choose_b.val() {
            self.some.next = self.b.valid.val();
            self.m.qpn.next = self.b.qpn.val();
        }
        self.m.valid.next = self.some.val();
        self.a.done.next = self.some.val() & self.m.done.val() & !self.choose_b.val();
        self.a.ok.next = self.m.ok.val();
        self.b.done.next = self.some.val() & self.m.done.val() & self.choose_b.val();
        self.b.ok.next = self.m.ok.val();
        self.is_b.d.next = self.choose_b.val();
        self.asks.d.next = self.some.val() & !self.m.done.val();
        if self.some.val() & self.m.done.val() {
            // Whoever was answered goes behind the other.
            self.b_first.d.next = !self.choose_b.val();
        }
    }
}
