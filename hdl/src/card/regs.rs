//! BAR0 of the card.

use super::regs_command::CardRegsCommand;
use super::regs_msix::CardRegsMsix;
use super::regs_stats::CardRegsStats;
use crate::blocks::{OneHotMux, Pow2};
use crate::bus::{
    ContextOut, DmaRequestOut, DoorbellOut, FlushOut, InterruptIn, MoreRegistersOut, QueuePairIn,
    ReduceJoinOut, RegionSetOut, RegistersIn, StreamOut, UseEndsOut, WindowSetOut,
};
use crate::prelude::*;
use tributary_protocol::card::regs::{self, Counter};
use tributary_protocol::registers::Register;

/// Where a register is, counted in words.
const fn word(register: &Register) -> usize {
    register.offset as usize / 4
}

/// Where a page of 4,096 bytes is, counted in pages.
const fn page(offset: u32) -> usize {
    (offset / regs::PAGE) as usize
}

/// A register's value after reset.
const fn reset(register: &Register) -> usize {
    register.reset as usize
}

/// A one at a counter's place.
const fn event(counter: Counter) -> usize {
    1 << counter.code()
}

hdl_module! {
    /// Registers of the card: BAR0, commands, doorbells, counters and interrupts.
    /// BAR0 has 2^(LQ+13) bytes, 2^17 at least: of an address only the bits within that count.
    /// Writes act 3 clocks after they come, one a clock, and must be of whole 32-bit words; those
    /// without any byte do nothing. A one in a bit that no field of a register of the card has refuses the write. What
    /// does nothing is counted as bad_write, but a command
    /// or an argument while a command runs is ignored. A doorbell page of no queue pair counts as
    /// bad_doorbell. Reads are answered after 7 clocks, always, and see all writes in front.
    /// rst, flr, and a 1 written to control.reset raise m_reset for 48 clocks: registers, commands,
    /// interrupts and counters start anew, after rst epochs too, and writes are lost. status.busy stays high until
    /// the tables of all blocks have been cleared too and s_left has been low; reads go on being answered. The other blocks
    /// of the card are to be reset by m_reset, this one is not.
    /// cfg_mtu is 256 to 4,096 and cfg_timeout_unit 4 at least, whatever the registers hold.
    /// Of ev, bits 23 and 27 are counted here, and bit 22 in part: events from outside are added.
    /// Another block may have further registers of page 0 and counters, by the same rules; where more says nothing there are none.
    /// LQ at most 10, LR and LF at most 17.
    #[module("card_regs_q{}_r{}_f{}", 1usize << LQ, 1usize << LR, 1usize << LF)]
    pub struct CardRegs<const LQ: usize, const LR: usize, const LF: usize> {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset.
        pub rst: Signal<In, Bit>,
        /// Function-level reset.
        pub flr: Signal<In, Bit>,
        /// The card is reset.
        pub m_reset: Signal<Out, Bit>,
        /// The reset has not ended: status.busy.
        pub m_busy: Signal<Out, Bit>,
        /// A TLP of before the reset has not left; looked at from its end on until it is low.
        pub s_left: Signal<In, Bit>,
        /// Accesses of the host.
        pub reg: RegistersIn,
        /// Registers of another block.
        pub more: MoreRegistersOut,
        /// Frames are received and sent.
        pub cfg_enable: Signal<Out, Bit>,
        /// Who this card is.
        pub cfg_node: Signal<Out, Bits<20>>,
        /// Largest payload of a packet.
        pub cfg_mtu: Signal<Out, Bits<13>>,
        /// Clocks in 4.096 us.
        pub cfg_timeout_unit: Signal<Out, Bits<16>>,
        /// Fewest clocks between two interrupts of a vector.
        pub cfg_moderation: Signal<Out, Bits<16>>,
        /// Contexts of queue pairs.
        pub cfg: ContextOut<LQ>,
        /// Doorbells.
        pub db: DoorbellOut<LQ>,
        /// Changes of the table of regions.
        pub set: RegionSetOut<LR>,
        /// Windows are made or ended, while nothing is under way.
        pub win: WindowSetOut<LQ>,
        /// Bulk transfers are there; constant.
        pub cfg_bulk: Signal<In, Bit>,
        /// Queue pairs may be in reduction groups; constant.
        pub cfg_reduce: Signal<In, Bit>,
        /// A queue pair is to be in a group.
        pub m_join: ReduceJoinOut,
        /// A queue pair or region ends.
        pub end: UseEndsOut,
        /// Nothing new may begin.
        pub hold: Signal<Out, Bit>,
        /// Nothing is under way.
        pub idle: Signal<In, Bit>,
        /// Requests in flight of a queue pair are to be forgotten.
        pub flush: FlushOut<LQ>,
        /// The sender cannot read a ring.
        pub s_fatal_a: QueuePairIn<LQ>,
        /// The receiver cannot read a ring.
        pub s_fatal_b: QueuePairIn<LQ>,
        /// Events, by the number of their counter.
        pub ev: Signal<In, Bits<36>>,
        /// Interrupts.
        pub s_irq: InterruptIn,
        /// MSI-X is enabled.
        pub msix_enable: Signal<In, Bit>,
        /// All its vectors are masked.
        pub msix_mask: Signal<In, Bit>,
        /// Writes of interrupts.
        pub m_wr: DmaRequestOut,
        /// Their words.
        pub m_wd: StreamOut<64>,
        /// TLPs may be sent.
        pub bus_master_enable: Signal<In, Bit>,
        /// A message is done in dma_write; pulse.
        pub done_valid: Signal<In, Bit>,
        /// Of this vector.
        pub done_vector: Signal<In, Bits<3>>,

        command: CardRegsCommand<LQ, LR, LF>,
        msix: CardRegsMsix,
        stats: CardRegsStats<36, 6>,
        /// Clocks for which the card is still reset.
        resets: DFF<Bits<6>>,
        resetting: DFF<Bit>,
        /// TLPs of before it are still there.
        settling: DFF<Bit>,
        /// The latest reset was rst.
        hard: DFF<Bit>,
        /// A write, 1 clock old.
        #[reset] w1_valid: DFF<Bit>,
        w1_addr: DFF<Bits<22>>,
        w1_data: DFF<Bits<32>>,
        w1_strb: DFF<Bits<4>>,
        w1_page: Signal<Local, Bits<12>>,
        w1_word: Signal<Local, Bits<10>>,
        w1_pair: Signal<Local, Bits<12>>,
        w1_arg: Signal<Local, Bits<10>>,
        /// 2 clocks old: of whole words; what it writes to.
        #[reset] w2_valid: DFF<Bit>,
        w2_data: DFF<Bits<32>>,
        w2_whole: DFF<Bit>,
        w2_word: DFF<Bits<10>>,
        w2_arg_index: DFF<Bits<4>>,
        w2_global: DFF<Bit>,
        w2_arg: DFF<Bit>,
        w2_table: DFF<Bit>,
        w2_door: DFF<Bit>,
        w2_there: DFF<Bit>,
        w2_kind: DFF<Bits<2>>,
        w2_pair: DFF<Bits<LQ>>,
        /// The word has no one where these registers have no field.
        w2_fits_control: DFF<Bit>,
        w2_fits_node: DFF<Bit>,
        w2_fits_mtu: DFF<Bit>,
        w2_fits_timeout_unit: DFF<Bit>,
        w2_fits_moderation: DFF<Bit>,
        w2_fits_select: DFF<Bit>,
        acts: Signal<Local, Bit>,
        global: Signal<Local, Bit>,
        known: Signal<Local, Bit>,
        resets_card: Signal<Local, Bit>,
        /// A command begins, a clock late.
        #[reset] starts: DFF<Bit>,
        start_data: DFF<Bits<32>>,
        /// The registers.
        enable: DFF<Bit>,
        node: DFF<Bits<20>>,
        mtu: DFF<Bits<13>>,
        timeout_unit: DFF<Bits<16>>,
        moderation: DFF<Bits<16>>,
        select: DFF<Bits<8>>,
        #[reset] selected: DFF<Bit>,
        #[reset] door: DFF<Bit>,
        door_pair: DFF<Bits<LQ>>,
        door_kind: DFF<Bits<2>>,
        door_index: DFF<Bits<16>>,
        /// Events of this block.
        #[reset] bad_write: DFF<Bit>,
        #[reset] bad_door: DFF<Bit>,
        /// One that came with one from outside.
        #[reset] bad_door_waits: DFF<Bit>,
        bad_doors: Signal<Local, Bit>,
        /// A read: its offset; bit i: it came i + 1 clocks ago.
        rd_addr: DFF<Bits<22>>,
        #[reset] rd_age: DFF<Bits<7>>,
        rd_page: Signal<Local, Bits<12>>,
        rd_word: Signal<Local, Bits<10>>,
        rd_arg: Signal<Local, Bits<10>>,
        rd_global: Signal<Local, Bit>,
        /// What it reads, one-hot; the halves of a counter.
        hit: DFF<Bits<17>>,
        hit_low: DFF<Bit>,
        hit_high: DFF<Bit>,
        values: OneHotMux<32, 17>,
        value: DFF<Bits<32>>,
        /// Half of a counter of another block.
        further: Signal<Local, Bits<32>>,
        rd_data: DFF<Bits<32>>,

        pages: Signal<Local, Bits<12>>,
        pairs: Pow2<12, LQ>,
        lq: Param<LQ, 32>,
        lr: Param<LR, 32>,
        lf: Param<LF, 32>,
        vectors: Param<{ regs::SIZES_VECTORS.put(3) as usize }, 32>,
        bad_write_event: Param<{ event(Counter::BadWrite) }, 36>,
        bad_door_event: Param<{ event(Counter::BadDoorbell) }, 36>,
        interrupt_event: Param<{ event(Counter::Interrupts) }, 36>,
        with_write: Signal<Local, Bits<36>>,
        with_door: Signal<Local, Bits<36>>,
        events: Signal<Local, Bits<36>>,
        page_table: Param<{ page(regs::MSIX_TABLE) }, 12>,
        page_pending: Param<{ page(regs::MSIX_PENDING) }, 12>,
        page_doors: Param<{ page(regs::DOORBELLS) }, 12>,
        first_arg: Param<{ regs::ARG0 as usize / 4 }, 10>,
        args: Param<{ regs::ARGS as usize }, 10>,
        at_id: Param<{ word(&regs::ID) }, 10>,
        at_version: Param<{ word(&regs::VERSION) }, 10>,
        at_features: Param<{ word(&regs::FEATURES) }, 10>,
        at_sizes: Param<{ word(&regs::SIZES) }, 10>,
        at_control: Param<{ word(&regs::CONTROL) }, 10>,
        at_node: Param<{ word(&regs::NODE) }, 10>,
        at_mtu: Param<{ word(&regs::MTU) }, 10>,
        at_timeout_unit: Param<{ word(&regs::TIMEOUT_UNIT) }, 10>,
        at_command: Param<{ word(&regs::COMMAND) }, 10>,
        at_status: Param<{ word(&regs::STATUS) }, 10>,
        at_result0: Param<{ word(&regs::RESULT0) }, 10>,
        at_result1: Param<{ word(&regs::RESULT1) }, 10>,
        at_moderation: Param<{ word(&regs::MODERATION) }, 10>,
        at_windows: Param<{ word(&regs::WINDOWS) }, 10>,
        at_select: Param<{ word(&regs::STATISTICS_SELECT) }, 10>,
        at_low: Param<{ word(&regs::STATISTICS_LOW) }, 10>,
        at_high: Param<{ word(&regs::STATISTICS_HIGH) }, 10>,
        at_send: Param<{ word(&regs::DOORBELL_SEND) }, 10>,
        at_receive: Param<{ word(&regs::DOORBELL_RECEIVE) }, 10>,
        at_complete: Param<{ word(&regs::DOORBELL_COMPLETE) }, 10>,
        at_arm: Param<{ word(&regs::DOORBELL_ARM) }, 10>,
        spare_control: Param<{ regs::CONTROL.spare() as usize }, 32>,
        spare_node: Param<{ regs::NODE.spare() as usize }, 32>,
        spare_mtu: Param<{ regs::MTU.spare() as usize }, 32>,
        spare_timeout_unit: Param<{ regs::TIMEOUT_UNIT.spare() as usize }, 32>,
        spare_moderation: Param<{ regs::MODERATION.spare() as usize }, 32>,
        spare_select: Param<{ regs::STATISTICS_SELECT.spare() as usize }, 32>,
        id: Param<{ reset(&regs::ID) }, 32>,
        version: Param<{ reset(&regs::VERSION) }, 32>,
        features: Param<{ reset(&regs::FEATURES) }, 32>,
        windows: Param<{ reset(&regs::WINDOWS) }, 32>,
        node_reset: Param<{ reset(&regs::NODE) }, 20>,
        mtu_reset: Param<{ reset(&regs::MTU) }, 13>,
        mtu_least: Param<{ regs::MTU_LEAST as usize }, 13>,
        timeout_unit_least: Param<{ regs::TIMEOUT_UNIT_LEAST as usize }, 16>,
        timeout_unit_reset: Param<{ reset(&regs::TIMEOUT_UNIT) }, 16>,
        moderation_reset: Param<{ reset(&regs::MODERATION) }, 16>,
        select_reset: Param<{ reset(&regs::STATISTICS_SELECT) }, 8>,
    }
}

impl<const LQ: usize, const LR: usize, const LF: usize> Logic for CardRegs<LQ, LR, LF> {
    #[hdl_gen]
    fn update(&mut self) {
        // Writes: what to.
        self.w1_valid.d.next = self.reg.wr_valid.val() & self.reg.wr_strb.val().any();
        self.w1_addr.d.next = self.reg.wr_addr.val();
        self.w1_data.d.next = self.reg.wr_data.val();
        self.w1_strb.d.next = self.reg.wr_strb.val();
        // Pages of BAR0, less one: twice as many as queue pairs, 32 at least.
        self.pages.next = ((self.pairs.val() << 1) - 1) | 31;
        self.w1_page.next = self.w1_addr.q.val().get_bits::<12>(10) & self.pages.val();
        self.w1_word.next = self.w1_addr.q.val().get_bits::<10>(0);
        self.w1_pair.next = self.w1_page.val() - self.page_doors.val();
        self.w1_arg.next = self.w1_word.val() - self.first_arg.val();
        self.w2_valid.d.next = self.w1_valid.q.val();
        self.w2_whole.d.next = self.w1_strb.q.val().all();
        self.w2_data.d.next = self.w1_data.q.val();
        self.w2_word.d.next = self.w1_word.val();
        self.w2_arg_index.d.next = self.w1_arg.val().get_bits::<4>(0);
        self.w2_global.d.next = !self.w1_page.val().any();
        self.w2_arg.d.next = !self.w1_page.val().any() & (self.w1_arg.val() < self.args.val());
        self.w2_table.d.next = (self.w1_page.val() == self.page_table.val())
            & !self.w1_word.val().get_bits::<5>(5).any();
        self.w2_door.d.next = false;
        self.w2_kind.d.next = 0.into();
        if self.w1_page.val() >= self.page_doors.val() {
            if self.w1_word.val() == self.at_send.val() {
                self.w2_door.d.next = true;
            }
            if self.w1_word.val() == self.at_receive.val() {
                self.w2_door.d.next = true;
                self.w2_kind.d.next = 1.into();
            }
            if self.w1_word.val() == self.at_complete.val() {
                self.w2_door.d.next = true;
                self.w2_kind.d.next = 2.into();
            }
            if self.w1_word.val() == self.at_arm.val() {
                self.w2_door.d.next = true;
                self.w2_kind.d.next = 3.into();
            }
        }
        self.w2_pair.d.next = self.w1_pair.val().get_bits::<LQ>(0);
        self.w2_there.d.next = !(self.w1_pair.val() >> self.lq.val().get_bits::<5>(0)).any();

        self.w2_fits_control.d.next = !(self.w1_data.q.val() & self.spare_control.val()).any();
        self.w2_fits_node.d.next = !(self.w1_data.q.val() & self.spare_node.val()).any();
        self.w2_fits_mtu.d.next = !(self.w1_data.q.val() & self.spare_mtu.val()).any();
        self.w2_fits_timeout_unit.d.next =
            !(self.w1_data.q.val() & self.spare_timeout_unit.val()).any();
        self.w2_fits_moderation.d.next =
            !(self.w1_data.q.val() & self.spare_moderation.val()).any();
        self.w2_fits_select.d.next = !(self.w1_data.q.val() & self.spare_select.val()).any();

        // They act.
        self.acts.next = self.w2_valid.q.val() & self.w2_whole.q.val() & !self.resetting.q.val();
        self.global.next = self.acts.val() & self.w2_global.q.val();
        self.known.next = self.w2_arg.q.val()
            | self.w2_table.q.val()
            | self.w2_door.q.val()
            | (self.w2_global.q.val() & self.more.wr_known.val());
        self.more.wr_word.next = self.w1_word.val();
        self.more.wr_data.next = self.w1_data.q.val();
        self.more.wr_acts.next = self.global.val();
        self.resets_card.next = false;
        self.starts.d.next = false;
        self.start_data.d.next = self.w2_data.q.val();
        self.selected.d.next = false;
        if self.global.val() {
            if (self.w2_word.q.val() == self.at_control.val()) & self.w2_fits_control.q.val() {
                self.known.next = true;
                self.enable.d.next = self.w2_data.q.val().get_bit(0);
                self.resets_card.next = self.w2_data.q.val().get_bit(1);
            }
            if (self.w2_word.q.val() == self.at_node.val()) & self.w2_fits_node.q.val() {
                self.known.next = true;
                self.node.d.next = self.w2_data.q.val().get_bits::<20>(0);
            }
            if (self.w2_word.q.val() == self.at_mtu.val()) & self.w2_fits_mtu.q.val() {
                self.known.next = true;
                self.mtu.d.next = self.w2_data.q.val().get_bits::<13>(0);
            }
            if (self.w2_word.q.val() == self.at_timeout_unit.val())
                & self.w2_fits_timeout_unit.q.val()
            {
                self.known.next = true;
                self.timeout_unit.d.next = self.w2_data.q.val().get_bits::<16>(0);
            }
            if self.w2_word.q.val() == self.at_command.val() {
                self.known.next = true;
                self.starts.d.next = true;
            }
            if (self.w2_word.q.val() == self.at_moderation.val()) & self.w2_fits_moderation.q.val()
            {
                self.known.next = true;
                self.moderation.d.next = self.w2_data.q.val().get_bits::<16>(0);
            }
            if (self.w2_word.q.val() == self.at_select.val()) & self.w2_fits_select.q.val() {
                self.known.next = true;
                self.select.d.next = self.w2_data.q.val().get_bits::<8>(0);
                self.selected.d.next = true;
            }
        }
        self.door.d.next = self.acts.val() & self.w2_door.q.val() & self.w2_there.q.val();
        self.door_pair.d.next = self.w2_pair.q.val();
        self.door_kind.d.next = self.w2_kind.q.val();
        self.door_index.d.next = self.w2_data.q.val().get_bits::<16>(0);
        self.db.valid.next = self.door.q.val();
        self.db.of.next.qpn = self.door_pair.q.val();
        self.db.of.next.kind = self.door_kind.q.val();
        self.db.of.next.index = self.door_index.q.val();
        self.bad_door.d.next = self.acts.val() & self.w2_door.q.val() & !self.w2_there.q.val();
        self.bad_write.d.next = self.w2_valid.q.val()
            & !self.resetting.q.val()
            & !(self.w2_whole.q.val() & self.known.val());
        self.cfg_enable.next = self.enable.q.val();
        self.cfg_node.next = self.node.q.val();
        self.cfg_mtu.next = self.mtu.q.val();
        if self.mtu.q.val().get_bit(12) {
            self.cfg_mtu.next = self.mtu_reset.val();
        }
        if !self.mtu.q.val().get_bits::<5>(8).any() {
            self.cfg_mtu.next = self.mtu_least.val();
        }
        self.cfg_timeout_unit.next = self.timeout_unit.q.val();
        if !self.timeout_unit.q.val().get_bits::<14>(2).any() {
            self.cfg_timeout_unit.next = self.timeout_unit_least.val();
        }
        self.cfg_moderation.next = self.moderation.q.val();

        // Reset.
        self.m_reset.next = self.resetting.q.val();
        self.m_busy.next = self.command.busy.val() | self.resetting.q.val();
        if self.resets.q.val().any() {
            self.resets.d.next = self.resets.q.val() - 1;
        } else {
            self.resetting.d.next = false;
        }
        if !self.s_left.val() {
            self.settling.d.next = false;
        }
        if self.resetting.q.val() {
            self.settling.d.next = true;
        }
        if self.rst.val() | self.flr.val() | self.resets_card.val() {
            self.resets.d.next = 47.into();
            self.resetting.d.next = true;
            // A second reset while the first one is under way does not save what that one forgets.
            self.hard.d.next = self.rst.val() | (self.hard.q.val() & self.command.clearing.val());
        }
        if self.resetting.q.val() {
            self.enable.d.next = false;
            self.node.d.next = self.node_reset.val();
            self.mtu.d.next = self.mtu_reset.val();
            self.timeout_unit.d.next = self.timeout_unit_reset.val();
            self.moderation.d.next = self.moderation_reset.val();
            self.select.d.next = self.select_reset.val();
        }

        // Commands.
        self.command.rst.next = self.resetting.q.val();
        self.command.forget.next = self.hard.q.val();
        self.command.settling.next = self.settling.q.val();
        self.command.start.next = self.starts.q.val();
        self.command.start_code.next = self.start_data.q.val().get_bits::<8>(0);
        self.command.start_index.next = self.start_data.q.val().get_bits::<24>(8);
        self.command.arg_en.next = self.acts.val() & self.w2_arg.q.val();
        self.command.arg_addr.next = self.w2_arg_index.q.val();
        self.command.arg_data.next = self.w2_data.q.val();
        ContextOut::<LQ>::link(&mut self.cfg, &mut self.command.cfg);
        RegionSetOut::<LR>::link(&mut self.set, &mut self.command.set);
        WindowSetOut::<LQ>::link(&mut self.win, &mut self.command.win);
        self.hold.next = self.command.hold.val();
        self.command.cfg_bulk.next = self.cfg_bulk.val();
        self.command.cfg_reduce.next = self.cfg_reduce.val();
        ReduceJoinOut::link(&mut self.m_join, &mut self.command.m_join);
        UseEndsOut::link(&mut self.end, &mut self.command.end);
        self.command.idle.next = self.idle.val();
        FlushOut::<LQ>::link(&mut self.flush, &mut self.command.flush);
        QueuePairIn::<LQ>::link(&mut self.s_fatal_a, &mut self.command.s_fatal_a);
        QueuePairIn::<LQ>::link(&mut self.s_fatal_b, &mut self.command.s_fatal_b);

        // Interrupts.
        self.msix.rst.next = self.resetting.q.val();
        self.msix.wr.en.next = self.acts.val() & self.w2_table.q.val();
        self.msix.wr.addr.next = self.w2_word.q.val().get_bits::<5>(0);
        self.msix.wr.data.next = self.w2_data.q.val();
        self.msix.msix_enable.next = self.msix_enable.val();
        self.msix.msix_mask.next = self.msix_mask.val();
        self.msix.bus_master_enable.next = self.bus_master_enable.val();
        self.msix.done_valid.next = self.done_valid.val();
        self.msix.done_vector.next = self.done_vector.val();
        InterruptIn::link(&mut self.s_irq, &mut self.msix.s_irq);
        DmaRequestOut::link(&mut self.m_wr, &mut self.msix.m_wr);
        StreamOut::<64>::link(&mut self.m_wd, &mut self.msix.m_wd);

        // Counters.
        self.bad_doors.next = self.bad_door.q.val() | self.bad_door_waits.q.val();
        self.bad_door_waits.d.next =
            self.bad_doors.val() & (self.ev.val() & self.bad_door_event.val()).any();
        self.with_write.next = self.ev.val();
        if self.bad_write.q.val() {
            self.with_write.next = self.ev.val() | self.bad_write_event.val();
        }
        self.with_door.next = self.with_write.val();
        if self.bad_doors.val() {
            self.with_door.next = self.with_write.val() | self.bad_door_event.val();
        }
        self.events.next = self.with_door.val();
        if self.msix.ev_sent.val() {
            self.events.next = self.with_door.val() | self.interrupt_event.val();
        }
        self.stats.rst.next = self.resetting.q.val();
        self.stats.ev.next = self.events.val();
        self.stats.select.next = self.select.q.val().get_bits::<6>(0);
        self.stats.take.next = self.selected.q.val();
        self.more.select.next = self.select.q.val();
        self.more.take.next = self.selected.q.val();

        // Reads: what from, and its value; both settle long before the answer.
        self.rd_age.d.next =
            (self.rd_age.q.val() << 1) | bit_cast::<7, 1>(self.reg.rd_valid.val().into());
        if self.reg.rd_valid.val() {
            self.rd_addr.d.next = self.reg.rd_addr.val();
        }
        self.rd_page.next = self.rd_addr.q.val().get_bits::<12>(10) & self.pages.val();
        self.rd_word.next = self.rd_addr.q.val().get_bits::<10>(0);
        self.rd_arg.next = self.rd_word.val() - self.first_arg.val();
        self.rd_global.next = !self.rd_page.val().any();
        self.more.rd_global.next = self.rd_global.val();
        self.more.rd_word.next = self.rd_word.val();
        self.command.arg_rd.addr.next = self.rd_arg.val().get_bits::<4>(0);
        self.msix.rd.addr.next = self.rd_word.val().get_bits::<5>(0);
        self.hit.d.next = bit_cast::<17, 1>((self.rd_word.val() == self.at_id.val()).into())
            | (bit_cast::<17, 1>((self.rd_word.val() == self.at_version.val()).into()) << 1)
            | (bit_cast::<17, 1>((self.rd_word.val() == self.at_features.val()).into()) << 2)
            | (bit_cast::<17, 1>((self.rd_word.val() == self.at_sizes.val()).into()) << 3)
            | (bit_cast::<17, 1>((self.rd_word.val() == self.at_control.val()).into()) << 4)
            | (bit_cast::<17, 1>((self.rd_word.val() == self.at_node.val()).into()) << 5)
            | (bit_cast::<17, 1>((self.rd_word.val() == self.at_mtu.val()).into()) << 6)
            | (bit_cast::<17, 1>((self.rd_word.val() == self.at_timeout_unit.val()).into()) << 7)
            | (bit_cast::<17, 1>((self.rd_word.val() == self.at_status.val()).into()) << 8)
            | (bit_cast::<17, 1>((self.rd_word.val() == self.at_result0.val()).into()) << 9)
            | (bit_cast::<17, 1>((self.rd_word.val() == self.at_result1.val()).into()) << 10)
            | (bit_cast::<17, 1>((self.rd_word.val() == self.at_moderation.val()).into()) << 11)
            | (bit_cast::<17, 1>((self.rd_word.val() == self.at_select.val()).into()) << 12)
            | (bit_cast::<17, 1>((self.rd_arg.val() < self.args.val()).into()) << 13)
            | (bit_cast::<17, 1>((self.rd_word.val() == self.at_windows.val()).into()) << 16);
        self.hit_low.d.next = self.rd_global.val() & (self.rd_word.val() == self.at_low.val());
        self.hit_high.d.next = self.rd_global.val() & (self.rd_word.val() == self.at_high.val());
        if !self.rd_global.val() {
            self.hit.d.next = (bit_cast::<17, 1>(
                ((self.rd_page.val() == self.page_table.val())
                    & !self.rd_word.val().get_bits::<5>(5).any())
                .into(),
            ) << 14)
                | (bit_cast::<17, 1>(
                    ((self.rd_page.val() == self.page_pending.val()) & !self.rd_word.val().any())
                        .into(),
                ) << 15);
        }
        self.values.sel.next = self.hit.q.val();
        self.values.s[0].next = self.id.val();
        self.values.s[1].next = self.version.val();
        self.values.s[2].next = self.features.val() | self.more.features.val();
        self.values.s[3].next =
            self.lq.val() | (self.lr.val() << 8) | (self.lf.val() << 16) | self.vectors.val();
        self.values.s[4].next = bit_cast::<32, 1>(self.enable.q.val().into());
        self.values.s[5].next = bit_cast::<32, 20>(self.node.q.val());
        self.values.s[6].next = bit_cast::<32, 13>(self.mtu.q.val());
        self.values.s[7].next = bit_cast::<32, 16>(self.timeout_unit.q.val());
        self.values.s[8].next =
            bit_cast::<32, 1>((self.command.busy.val() | self.resetting.q.val()).into())
                | (bit_cast::<32, 8>(self.command.status.val()) << 8);
        self.values.s[9].next = self.command.result0.val();
        self.values.s[10].next = bit_cast::<32, 16>(self.command.result1.val());
        self.values.s[11].next = bit_cast::<32, 16>(self.moderation.q.val());
        self.values.s[12].next = bit_cast::<32, 8>(self.select.q.val());
        self.values.s[13].next = self.command.arg_rd.data.val();
        self.values.s[14].next = self.msix.rd.data.val();
        self.values.s[15].next = bit_cast::<32, 8>(self.msix.pending.val());
        self.values.s[16].next = self.windows.val();
        self.value.d.next = self.values.m.val() | self.more.rd_data.val();
        self.further.next = 0.into();
        if self.hit_low.q.val() {
            self.further.next = self.more.count.val().get_bits::<32>(0);
        }
        if self.hit_high.q.val() {
            self.further.next = self.more.count.val().get_bits::<32>(32);
        }
        if self.rd_age.q.val().get_bit(5) {
            self.rd_data.d.next = self.value.q.val() | self.further.val();
            if self.select.q.val() < 36 {
                if self.hit_low.q.val() {
                    self.rd_data.d.next = self.stats.count.val().get_bits::<32>(0);
                }
                if self.hit_high.q.val() {
                    self.rd_data.d.next = self.stats.count.val().get_bits::<32>(32);
                }
            }
        }
        self.reg.rd_done.next = self.rd_age.q.val().get_bit(6);
        self.reg.rd_data.next = self.rd_data.q.val();
    }
}
