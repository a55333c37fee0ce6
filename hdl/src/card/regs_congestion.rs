//! Registers and counters of congestion.

use super::regs_bulk::{spare, word};
use super::regs_stats::CardRegsStats;
use crate::blocks::OneHotMux;
use crate::bus::MoreRegistersIn;
use crate::prelude::*;
use tributary_protocol::card::regs::{self, CongestionCounter};

/// Number of the first counter.
const FIRST: usize = CongestionCounter::ALL[0].code() as usize;
// Which counter is chosen and what is written are looked at by these bits.
const _: () = assert!(FIRST == 104 && CongestionCounter::ALL.len() == 5);
const _: () = assert!(regs::CONGESTION_ENABLE.lsb == 0 && regs::CONGESTION_INTERVAL_TICKS.lsb == 0);

hdl_module! {
    /// Registers 0x0e0 and 0x0e4 and counters 104 to 108 of congestion (CL-4), beside card_regs, which decodes accesses, and the
    /// bit of the register features that a card with them has.
    /// A write is looked at in the clock in which it comes and acts in the next one; a one outside the fields is refused. A value
    /// is there 2 clocks after its address. Nothing stalls it.
    #[module("card_regs_congestion")]
    pub struct CardRegsCongestion {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// The card is reset, for 9 clocks and more: it is off.
        pub rst: Signal<In, Bit>,
        /// Accesses.
        pub reg: MoreRegistersIn,
        /// Events, by the number of their counter less 104.
        pub ev: Signal<In, Bits<5>>,
        /// Frames may be marked, senders are told, transfers slow down.
        pub cfg_enable: Signal<Out, Bit>,
        /// Ticks of the register congestion_interval, 1 to 4,096.
        pub cfg_interval: Signal<Out, Bits<13>>,

        stats: CardRegsStats<5, 3>,
        chosen: DFF<Bit>,
        w_data: DFF<Bits<16>>,
        w_enable: DFF<Bit>,
        w_interval: DFF<Bit>,
        #[reset] enable: DFF<Bit>,
        interval: DFF<Bits<16>>,
        limited: DFF<Bits<13>>,
        /// What is read, one-hot.
        hit: DFF<Bits<2>>,
        values: OneHotMux<32, 2>,
        value: DFF<Bits<32>>,
        first: Param<{ FIRST >> 3 }, 5>,
        features: Param<{ regs::FEATURES_CONGESTION.mask() as usize }, 32>,
        at_control: Param<{ word(&regs::CONGESTION_CONTROL) }, 10>,
        at_interval: Param<{ word(&regs::CONGESTION_INTERVAL) }, 10>,
        spare_control: Param<{ spare(&regs::CONGESTION_CONTROL) }, 32>,
        spare_interval: Param<{ spare(&regs::CONGESTION_INTERVAL) }, 32>,
        interval_reset: Param<{ regs::CONGESTION_INTERVAL.reset as usize }, 16>,
    }
}

impl Logic for CardRegsCongestion {
    #[hdl_gen]
    fn update(&mut self) {
        // Writes.
        self.w_data.d.next = self.reg.wr_data.val().get_bits::<16>(0);
        self.w_enable.d.next = (self.reg.wr_word.val() == self.at_control.val())
            & !(self.reg.wr_data.val() & self.spare_control.val()).any();
        self.w_interval.d.next = (self.reg.wr_word.val() == self.at_interval.val())
            & !(self.reg.wr_data.val() & self.spare_interval.val()).any();
        self.reg.wr_known.next = self.w_enable.q.val() | self.w_interval.q.val();
        if self.reg.wr_acts.val() & self.w_enable.q.val() {
            self.enable.d.next = self.w_data.q.val().get_bit(0);
        }
        if self.reg.wr_acts.val() & self.w_interval.q.val() {
            self.interval.d.next = self.w_data.q.val();
        }
        if self.rst.val() {
            self.interval.d.next = self.interval_reset.val();
        }
        self.limited.d.next = self.interval.q.val().get_bits::<13>(0);
        if (self.interval.q.val() >> 12).any() {
            self.limited.d.next = 4096.into();
        }
        if !self.interval.q.val().any() {
            self.limited.d.next = 1.into();
        }
        self.cfg_enable.next = self.enable.q.val();
        self.cfg_interval.next = self.limited.q.val();

        // Reads.
        self.hit.d.next = 0.into();
        if self.reg.rd_global.val() {
            self.hit.d.next =
                bit_cast::<2, 1>((self.reg.rd_word.val() == self.at_control.val()).into())
                    | (bit_cast::<2, 1>((self.reg.rd_word.val() == self.at_interval.val()).into())
                        << 1);
        }
        self.values.sel.next = self.hit.q.val();
        self.values.s[0].next = bit_cast::<32, 1>(self.enable.q.val().into());
        self.values.s[1].next = bit_cast::<32, 16>(self.interval.q.val());
        self.value.d.next = self.values.m.val();
        self.reg.rd_data.next = self.value.q.val();
        self.reg.features.next = self.features.val();

        // Counters.
        self.stats.rst.next = self.rst.val();
        self.stats.ev.next = self.ev.val();
        self.stats.select.next = self.reg.select.val().get_bits::<3>(0);
        self.stats.take.next = self.reg.take.val();
        self.chosen.d.next = (self.reg.select.val().get_bits::<5>(3) == self.first.val())
            & (self.reg.select.val().get_bits::<3>(0) < 5);
        self.reg.count.next = 0.into();
        if self.chosen.q.val() {
            self.reg.count.next = self.stats.count.val();
        }
    }
}
