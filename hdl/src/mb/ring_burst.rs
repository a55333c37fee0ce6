//! The words of an entry of a schedule ring, as they come from host memory.

use crate::bus::DmaWordsIn;
use crate::prelude::*;

hdl_module! {
    /// Collects the four words of a read into an entry. A read that failed, or had another number of words, is an entry
    /// with error.
    /// Latency: 1 clock from the last word to valid.
    /// While the entry is not taken it stays, and no word is taken.
    #[module("mb_ring_burst")]
    pub struct MbRingBurst {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset: forgets the entry.
        pub rst: Signal<In, Bit>,
        /// Words.
        pub s: DmaWordsIn,
        /// An entry is here.
        pub valid: Signal<Out, Bit>,
        /// It is taken.
        pub take: Signal<In, Bit>,
        /// Its words, the first in the lowest bits.
        pub entry: Signal<Out, Bits<256>>,
        /// It means nothing.
        pub error: Signal<Out, Bit>,
        /// Context of the read.
        pub ctx: Signal<Out, Bits<16>>,

        #[reset] full: DFF<Bit>,
        /// Words before, 4 for more.
        #[reset] at: DFF<Bits<3>>,
        words: DFF<Bits<256>>,
        wrong: DFF<Bit>,
        context: DFF<Bits<16>>,
        push: Signal<Local, Bit>,
    }
}

impl Logic for MbRingBurst {
    #[hdl_gen]
    fn update(&mut self) {
        self.s.ready.next = !self.full.q.val();
        self.push.next = self.s.valid.val() & !self.full.q.val();
        if self.push.val() {
            self.words.d.next =
                (self.words.q.val() >> 64) | (bit_cast::<256, 64>(self.s.of.val().data) << 192);
            self.at.d.next = self.at.q.val() + 1;
            if self.at.q.val() == 4 {
                self.at.d.next = 4.into();
            }
            if self.s.of.val().last {
                self.at.d.next = 0.into();
                self.full.d.next = true;
                self.wrong.d.next = self.s.of.val().error | (self.at.q.val() != 3);
                self.context.d.next = self.s.of.val().ctx;
            }
        }
        if self.take.val() {
            self.full.d.next = false;
        }
        self.valid.next = self.full.q.val();
        self.entry.next = self.words.q.val();
        self.error.next = self.wrong.q.val();
        self.ctx.next = self.context.q.val();
    }
}
