//! Counters of reductions.

use super::super::regs_stats::CardRegsStats;
use crate::bus::MoreRegistersIn;
use crate::prelude::*;
use tributary_protocol::card::regs::{self, ReductionCounter};

/// Number of the first counter.
const FIRST: usize = ReductionCounter::ALL[0].code() as usize;
// Which counter is chosen is looked at by these bits.
const _: () = assert!(FIRST == 96 && ReductionCounter::ALL.len() == 7);

hdl_module! {
    /// Counters 96 to 102 of reductions, beside card_regs, which decodes accesses, and the bit of the register features that a
    /// card with them has. It has no registers.
    /// Nothing stalls it.
    #[module("card_regs_reduce")]
    pub struct CardRegsReduce {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// The card is reset: for 9 clocks and more.
        pub rst: Signal<In, Bit>,
        /// Accesses.
        pub reg: MoreRegistersIn,
        /// Events, by the number of their counter less 96.
        pub ev: Signal<In, Bits<7>>,
        stats: CardRegsStats<7, 3>,
        /// A counter of these is chosen.
        chosen: DFF<Bit>,
        first: Param<{ FIRST >> 3 }, 5>,
        features: Param<{ regs::FEATURES_REDUCTIONS.mask() as usize }, 32>,
    }
}

impl Logic for CardRegsReduce {
    #[hdl_gen]
    fn update(&mut self) {
        self.stats.rst.next = self.rst.val();
        self.stats.ev.next = self.ev.val();
        self.stats.select.next = self.reg.select.val().get_bits::<3>(0);
        self.stats.take.next = self.reg.take.val();
        self.chosen.d.next = (self.reg.select.val().get_bits::<5>(3) == self.first.val())
            & !self.reg.select.val().get_bits::<3>(0).all();
        self.reg.count.next = 0.into();
        if self.chosen.q.val() {
            self.reg.count.next = self.stats.count.val();
        }
        self.reg.wr_known.next = false;
        self.reg.rd_data.next = 0.into();
        self.reg.features.next = self.features.val();
    }
}
