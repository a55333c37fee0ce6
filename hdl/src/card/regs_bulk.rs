//! Registers and counters of bulk transfers.

use super::regs_bulk_times::CardRegsBulkTimes;
use super::regs_stats::CardRegsStats;
use crate::blocks::{EventMerge, OneHotMux};
use crate::bus::{BulkSettingsOut, MoreRegistersIn};
use crate::prelude::*;
use tributary_protocol::card::regs::{self, BulkCounter};
use tributary_protocol::registers::Register;

/// Number of the first counter.
const FIRST: usize = BulkCounter::Completed as usize;
// What is written to them and which counter is chosen are looked at by these bits.
const _: () = assert!(FIRST == 64 && BulkCounter::ALL.len() == 32);
const _: () = assert!(regs::BULK_SHARE.mask() == 0x1ff && regs::BULK_TICK.mask() == 0xffff);

/// Where a register is, counted in words.
pub(super) const fn word(register: &Register) -> usize {
    register.offset as usize / 4
}

/// Bits of a word for which a register has no field.
pub(super) const fn spare(register: &Register) -> usize {
    register.spare() as usize
}

/// A register's value after reset.
const fn reset(register: &Register) -> usize {
    register.reset as usize
}

/// Place of a counter among these.
const fn bit(counter: BulkCounter) -> usize {
    counter as usize - FIRST
}

/// A one at the place of each counter that both sides count.
const SHARED: usize = 1 << bit(BulkCounter::ControlSent)
    | 1 << bit(BulkCounter::Stray)
    | 1 << bit(BulkCounter::BadMessage)
    | 1 << bit(BulkCounter::Busy);

hdl_module! {
    /// Registers 0x0c0 to 0x0dc and counters 64 to 95 of bulk transfers, beside card_regs, which decodes accesses. From them all
    /// times of both sides of transfers, and the coarse time.
    /// size_* and line_mbps are read as they stand: the card that has this block gives constants there.
    /// A write is looked at in the clock in which it comes and acts in the next one; a one outside the fields is refused. A value
    /// is there 2 clocks after its address, times 4 clocks after a write acts (card_regs_bulk_times). A write of tick, round
    /// trip or allowance begins the tick under way anew, another value or not.
    /// A reset of the card (s_reset) gives registers their values of after reset, clears the counters, and adds 1 to the
    /// incarnation when it begins, unless it is that of rst, which makes it 0: after power-up nothing is known of before.
    /// While it lasts the time stands still. cfg.xid_before is the incarnation as the reset left it, times 2^16: what a driver
    /// writes later is for the next reset, and for CONNECT.
    /// Events of both sides of one counter in one clock count as two, one a clock later: a third in that time is lost.
    /// s_reset is to be high for 36 clocks and more. Nothing stalls it.
    #[module("card_regs_bulk")]
    pub struct CardRegsBulk {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset, with card_regs.
        pub rst: Signal<In, Bit>,
        /// The card is reset; not lower than rst a clock before.
        pub s_reset: Signal<In, Bit>,
        /// Accesses.
        pub reg: MoreRegistersIn,
        /// Transfers that the card sends at once.
        pub size_slots: Signal<In, Bits<9>>,
        /// Transfers that it asks others for at once.
        pub size_reads: Signal<In, Bits<9>>,
        /// Transfers that it receives at once.
        pub size_windows: Signal<In, Bits<16>>,
        /// Packets that a window covers.
        pub size_packets: Signal<In, Bits<16>>,
        /// Rate of the line, Mb/s.
        pub line_mbps: Signal<In, Bits<32>>,
        /// Bits of the register features that the card has with its engines.
        pub features: Signal<In, Bits<32>>,
        /// Events of the sending side, by the number of their counter less 64.
        pub ev_send: Signal<In, Bits<32>>,
        /// Events of the receiving side.
        pub ev_receive: Signal<In, Bits<32>>,
        /// Coarse time, a free-running count of ticks.
        pub m_now: Signal<Out, Bits<16>>,
        /// Times and limits of the sending side.
        pub cfg: BulkSettingsOut,
        /// Reorder allowance of the receiving side, packets.
        pub cfg_allowance_packets: Signal<Out, Bits<22>>,
        /// Its reorder allowance, ticks without DATA.
        pub cfg_allowance_ticks: Signal<Out, Bits<16>>,
        /// Ticks before it asks for a hole again.
        pub cfg_retry_ticks: Signal<Out, Bits<16>>,
        /// Ticks without DATA before it asks for the rest of a transfer.
        pub cfg_tail_ticks: Signal<Out, Bits<16>>,
        /// Ticks without DATA before it gives a transfer up.
        pub cfg_idle_ticks: Signal<Out, Bits<16>>,
        /// Ticks for which its notifications wait for a receive request.
        pub cfg_patience: Signal<Out, Bits<16>>,
        /// Retry hint in its BUSY answers, ticks.
        pub cfg_busy_hint: Signal<Out, Bits<16>>,
        /// Its answers leave twice.
        pub cfg_twice: Signal<Out, Bit>,
        /// Share of the line, of 256; more counts as all.
        pub cfg_share: Signal<Out, Bits<9>>,
        /// Resets so far, as CONNECT says them.
        pub cfg_incarnation: Signal<Out, Bits<16>>,

        times: CardRegsBulkTimes,
        stats: CardRegsStats<32, 5>,
        control_sent: EventMerge,
        stray: EventMerge,
        bad_message: EventMerge,
        busy: EventMerge,
        /// A write, 1 clock old; it fits this register.
        w_data: DFF<Bits<16>>,
        w_tick: DFF<Bit>,
        w_trip: DFF<Bit>,
        w_allowance: DFF<Bit>,
        w_share: DFF<Bit>,
        w_incarnation: DFF<Bit>,
        of_time: Signal<Local, Bit>,
        /// The registers.
        tick: DFF<Bits<16>>,
        trip: DFF<Bits<16>>,
        allowance: DFF<Bits<16>>,
        share: DFF<Bits<9>>,
        #[reset] incarnation: DFF<Bits<16>>,
        /// One of time was written.
        changed: DFF<Bit>,
        /// The card was being reset in the clock before.
        was: DFF<Bit>,
        /// Incarnation as the latest reset left it.
        before: DFF<Bits<16>>,
        /// What is read, one-hot.
        hit: DFF<Bits<8>>,
        values: OneHotMux<32, 8>,
        value: DFF<Bits<32>>,
        /// A counter of these is chosen.
        chosen: DFF<Bit>,
        shared: Signal<Local, Bits<32>>,

        at_sizes: Param<{ word(&regs::BULK_SIZES) }, 10>,
        at_windows: Param<{ word(&regs::BULK_WINDOWS) }, 10>,
        at_line: Param<{ word(&regs::BULK_LINE) }, 10>,
        at_tick: Param<{ word(&regs::BULK_TICK) }, 10>,
        at_trip: Param<{ word(&regs::BULK_ROUND_TRIP) }, 10>,
        at_allowance: Param<{ word(&regs::BULK_ALLOWANCE) }, 10>,
        at_share: Param<{ word(&regs::BULK_SHARE) }, 10>,
        at_incarnation: Param<{ word(&regs::BULK_INCARNATION) }, 10>,
        spare_tick: Param<{ spare(&regs::BULK_TICK) }, 32>,
        spare_trip: Param<{ spare(&regs::BULK_ROUND_TRIP) }, 32>,
        spare_allowance: Param<{ spare(&regs::BULK_ALLOWANCE) }, 32>,
        spare_share: Param<{ spare(&regs::BULK_SHARE) }, 32>,
        spare_incarnation: Param<{ spare(&regs::BULK_INCARNATION) }, 32>,
        tick_reset: Param<{ reset(&regs::BULK_TICK) }, 16>,
        trip_reset: Param<{ reset(&regs::BULK_ROUND_TRIP) }, 16>,
        allowance_reset: Param<{ reset(&regs::BULK_ALLOWANCE) }, 16>,
        share_reset: Param<{ reset(&regs::BULK_SHARE) }, 9>,
        of_both: Param<SHARED, 32>,
        control_sent_at: Param<{ bit(BulkCounter::ControlSent) }, 5>,
        stray_at: Param<{ bit(BulkCounter::Stray) }, 5>,
        bad_message_at: Param<{ bit(BulkCounter::BadMessage) }, 5>,
        busy_at: Param<{ bit(BulkCounter::Busy) }, 5>,
    }
}

impl Logic for CardRegsBulk {
    #[hdl_gen]
    fn update(&mut self) {
        // Writes: what to.
        self.w_data.d.next = self.reg.wr_data.val().get_bits::<16>(0);
        self.w_tick.d.next = (self.reg.wr_word.val() == self.at_tick.val())
            & !(self.reg.wr_data.val() & self.spare_tick.val()).any();
        self.w_trip.d.next = (self.reg.wr_word.val() == self.at_trip.val())
            & !(self.reg.wr_data.val() & self.spare_trip.val()).any();
        self.w_allowance.d.next = (self.reg.wr_word.val() == self.at_allowance.val())
            & !(self.reg.wr_data.val() & self.spare_allowance.val()).any();
        self.w_share.d.next = (self.reg.wr_word.val() == self.at_share.val())
            & !(self.reg.wr_data.val() & self.spare_share.val()).any();
        self.w_incarnation.d.next = (self.reg.wr_word.val() == self.at_incarnation.val())
            & !(self.reg.wr_data.val() & self.spare_incarnation.val()).any();

        // They act.
        self.of_time.next = self.w_tick.q.val() | self.w_trip.q.val() | self.w_allowance.q.val();
        self.reg.wr_known.next =
            self.of_time.val() | self.w_share.q.val() | self.w_incarnation.q.val();
        self.changed.d.next = self.reg.wr_acts.val() & self.of_time.val();
        if self.reg.wr_acts.val() {
            if self.w_tick.q.val() {
                self.tick.d.next = self.w_data.q.val();
            }
            if self.w_trip.q.val() {
                self.trip.d.next = self.w_data.q.val();
            }
            if self.w_allowance.q.val() {
                self.allowance.d.next = self.w_data.q.val();
            }
            if self.w_share.q.val() {
                self.share.d.next = self.w_data.q.val().get_bits::<9>(0);
            }
            if self.w_incarnation.q.val() {
                self.incarnation.d.next = self.w_data.q.val();
            }
        }

        // Reset.
        self.was.d.next = self.s_reset.val() | self.rst.val();
        if self.s_reset.val() {
            self.tick.d.next = self.tick_reset.val();
            self.trip.d.next = self.trip_reset.val();
            self.allowance.d.next = self.allowance_reset.val();
            self.share.d.next = self.share_reset.val();
            self.changed.d.next = true;
            self.before.d.next = self.incarnation.q.val();
            if !self.was.q.val() {
                self.incarnation.d.next = self.incarnation.q.val() + 1;
            }
        }

        // Times.
        self.times.tick.next = self.tick.q.val();
        self.times.round_trip.next = self.trip.q.val();
        self.times.allowance.next = self.allowance.q.val();
        self.times.changed.next = self.changed.q.val();
        self.times.xid_before.next = bit_cast::<32, 16>(self.before.q.val()) << 16;
        self.m_now.next = self.times.m_now.val();
        BulkSettingsOut::link(&mut self.cfg, &mut self.times.cfg);
        self.cfg_allowance_packets.next = self.times.cfg_allowance_packets.val();
        self.cfg_allowance_ticks.next = self.times.cfg_allowance_ticks.val();
        self.cfg_retry_ticks.next = self.times.cfg_retry_ticks.val();
        self.cfg_tail_ticks.next = self.times.cfg_tail_ticks.val();
        self.cfg_idle_ticks.next = self.times.cfg_idle_ticks.val();
        self.cfg_patience.next = self.times.cfg_patience.val();
        self.cfg_busy_hint.next = self.times.cfg_busy_hint.val();
        self.cfg_twice.next = self.times.cfg_twice.val();
        self.cfg_share.next = self.share.q.val();
        self.cfg_incarnation.next = self.incarnation.q.val();

        // Reads.
        self.hit.d.next = 0.into();
        if self.reg.rd_global.val() {
            self.hit.d.next =
                bit_cast::<8, 1>((self.reg.rd_word.val() == self.at_sizes.val()).into())
                    | (bit_cast::<8, 1>((self.reg.rd_word.val() == self.at_windows.val()).into())
                        << 1)
                    | (bit_cast::<8, 1>((self.reg.rd_word.val() == self.at_line.val()).into())
                        << 2)
                    | (bit_cast::<8, 1>((self.reg.rd_word.val() == self.at_tick.val()).into())
                        << 3)
                    | (bit_cast::<8, 1>((self.reg.rd_word.val() == self.at_trip.val()).into())
                        << 4)
                    | (bit_cast::<8, 1>(
                        (self.reg.rd_word.val() == self.at_allowance.val()).into(),
                    ) << 5)
                    | (bit_cast::<8, 1>((self.reg.rd_word.val() == self.at_share.val()).into())
                        << 6)
                    | (bit_cast::<8, 1>(
                        (self.reg.rd_word.val() == self.at_incarnation.val()).into(),
                    ) << 7);
        }
        self.values.sel.next = self.hit.q.val();
        self.values.s[0].next = bit_cast::<32, 9>(self.size_slots.val())
            | (bit_cast::<32, 9>(self.size_reads.val()) << 16);
        self.values.s[1].next = bit_cast::<32, 16>(self.size_windows.val())
            | (bit_cast::<32, 16>(self.size_packets.val()) << 16);
        self.values.s[2].next = self.line_mbps.val();
        self.values.s[3].next = bit_cast::<32, 16>(self.tick.q.val());
        self.values.s[4].next = bit_cast::<32, 16>(self.trip.q.val());
        self.values.s[5].next = bit_cast::<32, 16>(self.allowance.q.val());
        self.values.s[6].next = bit_cast::<32, 9>(self.share.q.val());
        self.values.s[7].next = bit_cast::<32, 16>(self.incarnation.q.val());
        self.value.d.next = self.values.m.val();
        self.reg.rd_data.next = self.value.q.val();
        self.reg.features.next = self.features.val();

        // Counters.
        self.control_sent.a.next = self
            .ev_send
            .val()
            .get_bit(self.control_sent_at.val().index());
        self.control_sent.b.next = self
            .ev_receive
            .val()
            .get_bit(self.control_sent_at.val().index());
        self.stray.a.next = self.ev_send.val().get_bit(self.stray_at.val().index());
        self.stray.b.next = self.ev_receive.val().get_bit(self.stray_at.val().index());
        self.busy.a.next = self.ev_send.val().get_bit(self.busy_at.val().index());
        self.busy.b.next = self.ev_receive.val().get_bit(self.busy_at.val().index());
        self.bad_message.a.next = self
            .ev_send
            .val()
            .get_bit(self.bad_message_at.val().index());
        self.bad_message.b.next = self
            .ev_receive
            .val()
            .get_bit(self.bad_message_at.val().index());
        self.shared.next = (bit_cast::<32, 1>(self.control_sent.m.val().into())
            << self.control_sent_at.val())
            | (bit_cast::<32, 1>(self.stray.m.val().into()) << self.stray_at.val())
            | (bit_cast::<32, 1>(self.bad_message.m.val().into()) << self.bad_message_at.val())
            | (bit_cast::<32, 1>(self.busy.m.val().into()) << self.busy_at.val());
        self.stats.rst.next = self.s_reset.val();
        self.stats.ev.next = ((self.ev_send.val() | self.ev_receive.val()) & !self.of_both.val())
            | self.shared.val();
        self.stats.select.next = self.reg.select.val().get_bits::<5>(0);
        self.stats.take.next = self.reg.take.val();
        self.chosen.d.next = self.reg.select.val().get_bits::<3>(5) == 2;
        self.reg.count.next = 0.into();
        if self.chosen.q.val() {
            self.reg.count.next = self.stats.count.val();
        }
    }
}
