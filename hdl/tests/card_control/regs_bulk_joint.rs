//! card_regs with the registers of bulk transfers beside it, as in a card that has these.

use tributary_hdl::bus::{
    BulkSettingsOut, ContextOut, DmaRequestOut, DoorbellOut, FlushOut, InterruptIn,
    MoreRegistersOut, QueuePairIn, ReduceJoinOut, RegionSetOut, RegistersIn, StreamOut, UseEndsOut,
    WindowSetOut,
};
use tributary_hdl::card::{CardRegs, CardRegsBulk};
use tributary_hdl::prelude::*;

hdl_module! {
    /// Both blocks, with the ports of card_regs; what is of bulk transfers has the names of card_regs_bulk.
    #[module("joint_regs")]
    pub struct JointRegs<const LQ: usize, const LR: usize, const LF: usize> {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset.
        pub rst: Signal<In, Bit>,
        /// Function-level reset.
        pub flr: Signal<In, Bit>,
        /// Bulk transfers are there; constant.
        pub cfg_bulk: Signal<In, Bit>,
        /// Queue pairs may be in reduction groups; constant.
        pub cfg_reduce: Signal<In, Bit>,
        /// A queue pair is to be in a group.
        pub m_join: ReduceJoinOut,
        /// A queue pair or region ends.
        pub end: UseEndsOut,
        /// The card is reset.
        pub m_reset: Signal<Out, Bit>,
        /// The reset has not ended.
        pub m_busy: Signal<Out, Bit>,
        /// A TLP of before the reset has not left.
        pub s_left: Signal<In, Bit>,
        /// Accesses of the host.
        pub reg: RegistersIn,
        /// Contexts of queue pairs.
        pub cfg: ContextOut<LQ>,
        /// Doorbells.
        pub db: DoorbellOut<LQ>,
        /// Changes of the table of regions.
        pub set: RegionSetOut<LR>,
        /// Windows are made or ended.
        pub win: WindowSetOut<LQ>,
        /// Nothing new may begin.
        pub hold: Signal<Out, Bit>,
        /// Nothing is under way.
        pub idle: Signal<In, Bit>,
        /// Requests of a queue pair are to be forgotten.
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
        /// A message is done.
        pub done_valid: Signal<In, Bit>,
        /// Of this vector.
        pub done_vector: Signal<In, Bits<3>>,
        /// Transfers sent at once.
        pub size_slots: Signal<In, Bits<9>>,
        /// Transfers asked for at once.
        pub size_reads: Signal<In, Bits<9>>,
        /// Transfers received at once.
        pub size_windows: Signal<In, Bits<16>>,
        /// Packets that a window covers.
        pub size_packets: Signal<In, Bits<16>>,
        /// Rate of the line, Mb/s.
        pub line_mbps: Signal<In, Bits<32>>,
        /// Bits of the register features.
        pub features: Signal<In, Bits<32>>,
        /// Events of the sending side.
        pub ev_send: Signal<In, Bits<32>>,
        /// Events of the receiving side.
        pub ev_receive: Signal<In, Bits<32>>,
        /// Coarse time.
        pub m_now: Signal<Out, Bits<16>>,
        /// Times and limits of the sending side.
        pub send: BulkSettingsOut,
        /// Reorder allowance, packets.
        pub cfg_allowance_packets: Signal<Out, Bits<22>>,
        /// Reorder allowance, ticks.
        pub cfg_allowance_ticks: Signal<Out, Bits<16>>,
        /// Ticks before a hole is asked for again.
        pub cfg_retry_ticks: Signal<Out, Bits<16>>,
        /// Ticks before the rest is asked for.
        pub cfg_tail_ticks: Signal<Out, Bits<16>>,
        /// Ticks before a transfer is given up.
        pub cfg_idle_ticks: Signal<Out, Bits<16>>,
        /// Retry hint.
        pub cfg_busy_hint: Signal<Out, Bits<16>>,
        /// Answers leave twice.
        pub cfg_twice: Signal<Out, Bit>,
        /// Share of the line.
        pub cfg_share: Signal<Out, Bits<9>>,
        /// Resets so far.
        pub cfg_incarnation: Signal<Out, Bits<16>>,

        regs: CardRegs<LQ, LR, LF>,
        bulk: CardRegsBulk,
    }
}

impl<const LQ: usize, const LR: usize, const LF: usize> Logic for JointRegs<LQ, LR, LF> {
    #[hdl_gen]
    fn update(&mut self) {
        self.regs.flr.next = self.flr.val();
        self.regs.cfg_bulk.next = self.cfg_bulk.val();
        self.regs.cfg_reduce.next = self.cfg_reduce.val();
        ReduceJoinOut::link(&mut self.m_join, &mut self.regs.m_join);
        UseEndsOut::link(&mut self.end, &mut self.regs.end);
        self.m_reset.next = self.regs.m_reset.val();
        self.m_busy.next = self.regs.m_busy.val();
        self.regs.s_left.next = self.s_left.val();
        RegistersIn::link(&mut self.reg, &mut self.regs.reg);
        ContextOut::<LQ>::link(&mut self.cfg, &mut self.regs.cfg);
        DoorbellOut::<LQ>::link(&mut self.db, &mut self.regs.db);
        RegionSetOut::<LR>::link(&mut self.set, &mut self.regs.set);
        WindowSetOut::<LQ>::link(&mut self.win, &mut self.regs.win);
        self.hold.next = self.regs.hold.val();
        self.regs.idle.next = self.idle.val();
        FlushOut::<LQ>::link(&mut self.flush, &mut self.regs.flush);
        QueuePairIn::<LQ>::link(&mut self.s_fatal_a, &mut self.regs.s_fatal_a);
        QueuePairIn::<LQ>::link(&mut self.s_fatal_b, &mut self.regs.s_fatal_b);
        self.regs.ev.next = self.ev.val();
        InterruptIn::link(&mut self.s_irq, &mut self.regs.s_irq);
        self.regs.msix_enable.next = self.msix_enable.val();
        self.regs.msix_mask.next = self.msix_mask.val();
        DmaRequestOut::link(&mut self.m_wr, &mut self.regs.m_wr);
        StreamOut::<64>::link(&mut self.m_wd, &mut self.regs.m_wd);
        self.regs.bus_master_enable.next = self.bus_master_enable.val();
        self.regs.done_valid.next = self.done_valid.val();
        self.regs.done_vector.next = self.done_vector.val();

        MoreRegistersOut::join(&mut self.regs.more, &mut self.bulk.reg);
        self.bulk.s_reset.next = self.regs.m_reset.val();
        self.bulk.size_slots.next = self.size_slots.val();
        self.bulk.size_reads.next = self.size_reads.val();
        self.bulk.size_windows.next = self.size_windows.val();
        self.bulk.size_packets.next = self.size_packets.val();
        self.bulk.line_mbps.next = self.line_mbps.val();
        self.bulk.features.next = self.features.val();
        self.bulk.ev_send.next = self.ev_send.val();
        self.bulk.ev_receive.next = self.ev_receive.val();
        self.m_now.next = self.bulk.m_now.val();
        BulkSettingsOut::link(&mut self.send, &mut self.bulk.cfg);
        self.cfg_allowance_packets.next = self.bulk.cfg_allowance_packets.val();
        self.cfg_allowance_ticks.next = self.bulk.cfg_allowance_ticks.val();
        self.cfg_retry_ticks.next = self.bulk.cfg_retry_ticks.val();
        self.cfg_tail_ticks.next = self.bulk.cfg_tail_ticks.val();
        self.cfg_idle_ticks.next = self.bulk.cfg_idle_ticks.val();
        self.cfg_busy_hint.next = self.bulk.cfg_busy_hint.val();
        self.cfg_twice.next = self.bulk.cfg_twice.val();
        self.cfg_share.next = self.bulk.cfg_share.val();
        self.cfg_incarnation.next = self.bulk.cfg_incarnation.val();
    }
}
