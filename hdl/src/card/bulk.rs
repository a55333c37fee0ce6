//! A card with the engines of bulk transfers.

use super::{
    CardCompletions, CardCore, CardReduce, CardRegsBulk, CardRegsCongestion, CardRings,
    CardSendRoom,
};
use crate::blocks::{EventMerge, Pow2};
use crate::bulk::{BulkDepart, BulkEnds, BulkLooks, BulkReceive, BulkTransmit};
use crate::bus::{
    AxisOut, AxisRxIn, BulkArrivalsOut, BulkDeparturesOut, BulkSettingsOut, BulkWorksOut,
    CardPostOut, CompletionOut, ContextOut, DmaReadWordsOut, DmaRequestOut, FramesOut,
    LookupRightsOut, NotifyOut, PayloadOut, ReadAccessesOut, ReadAnswersOut, ReadsAnsweredOut,
    ReduceJoinOut, ReduceWorksOut, ReserveOut, StreamOut, TlpRxCompletionIn, TlpRxRequestIn,
    TlpTxCompletionOut, TlpTxReadOut, TlpTxWriteOut, UseEndsOut, VerdictOut, WindowClosedOut,
};
use crate::prelude::*;
use tributary_protocol::card::regs;

hdl_module! {
    /// The card with bulk transfers: as card, and S transfers sent and 2^A received at once, in windows of W packets, R READs
    /// of its host, schedule rings of 16 groups, and 8 queue pairs in reduction groups.
    /// Only wires: each block says its own stages.
    /// After rst and flr the tables are cleared: status.busy is high meanwhile. CA = LQ + 4, LQ at most 10.
    /// BAR0 has 2^(LQ+13) bytes, 2^17 at least, at any multiple of that.
    #[module("bulk_card_q{}_r{}_f{}_s{S}_w{W}", 1usize << LQ, 1usize << LR, 1usize << LF)]
    pub struct BulkCard<
        const LQ: usize, const LR: usize, const LF: usize, const CA: usize,
        const A: usize, const V: usize, const W: usize, const LW: usize, const B: usize, const LB: usize,
        const NW: usize, const LNW: usize, const BA: usize, const AW: usize, const PW: usize,
        const FA: usize, const LE: usize, const BE: usize,
        const S: usize, const LS: usize, const SA: usize, const LD: usize, const RA: usize,
        const QA: usize, const D: usize, const R: usize, const LN: usize,
    > {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset, with the link to the host and the MAC.
        pub rst: Signal<In, Bit>,
        /// Function-level reset: a pulse.
        pub flr: Signal<In, Bit>,
        /// A reset has not ended: status.busy.
        pub busy: Signal<Out, Bit>,
        /// Completer ID of this card.
        pub completer_id: Signal<In, Bits<16>>,
        /// Requester ID of this card.
        pub requester_id: Signal<In, Bits<16>>,
        /// Maximum payload size: 128 bytes shifted left by this.
        pub max_payload_size: Signal<In, Bits<3>>,
        /// Maximum read request size: 128 bytes shifted left by this.
        pub max_read_request_size: Signal<In, Bits<3>>,
        /// TLPs may be sent; otherwise all reads, writes and interrupts wait.
        pub bus_master_enable: Signal<In, Bit>,
        /// MSI-X is enabled.
        pub msix_enable: Signal<In, Bit>,
        /// All its vectors are masked.
        pub msix_mask: Signal<In, Bit>,
        /// Units of 64 clocks after which a read of host memory fails; 0 never.
        pub cfg_read_timeout: Signal<In, Bits<16>>,
        /// 0: a write is done when it has been handed to the host interface. 1: when the sequence numbers of all its TLPs have
        /// come back. Constant.
        pub cfg_write_returns: Signal<In, Bit>,
        /// Sequence number of a write TLP that the host interface has sent.
        pub s_axis_wr_req_tx_seq_num: Signal<In, Bits<6>>,
        /// It comes back; pulse.
        pub s_axis_wr_req_tx_seq_num_valid: Signal<In, Bit>,
        /// Requests from the host.
        pub s_rx_req_tlp: TlpRxRequestIn<64, 2>,
        /// Completions for the host.
        pub m_tx_cpl_tlp: TlpTxCompletionOut<64, 2>,
        /// Reads of host memory.
        pub m_tx_rd_req_tlp: TlpTxReadOut,
        /// Completions from the host.
        pub s_rx_cpl_tlp: TlpRxCompletionIn<64, 2>,
        /// Writes of host memory.
        pub m_tx_wr_req_tlp: TlpTxWriteOut<64, 2>,
        /// AXI4-Stream from the MAC; always taken.
        pub s_axis_rx: AxisRxIn<64, 8>,
        /// AXI4-Stream to the MAC.
        pub m_axis_tx: AxisOut<64, 8>,

        core: CardCore<LQ, LR, LF, CA>,
        regs: CardRegsBulk,
        receive: BulkReceive<LQ, A, V, W, LW, B, LB, NW, LNW, BA, AW, PW, FA, LE, BE>,
        transmit: BulkTransmit<S, LS, SA, LD, RA, QA, LQ, D, R, LN, A>,
        depart: BulkDepart,
        /// Payload of datagrams that was read.
        room: CardSendRoom<10>,
        ends: BulkEnds,
        rings: CardRings<LQ>,
        congestion: CardRegsCongestion,
        /// Reduction groups.
        reduce: CardReduce<LQ>,
        /// Completions of bulk transfers and of these, and what is wrong with their work requests.
        completions: CardCompletions<LQ>,
        local_error: EventMerge,
        /// Marks of datagrams and of bulk transfers.
        marked: EventMerge,
        told: EventMerge,
        heard: EventMerge,
        /// Looks for regions: of the two sides, and of those and one-sided operations.
        both: BulkLooks,
        looks: BulkLooks,
        slots: Param<S, 9>,
        reads: Param<R, 9>,
        windows: Pow2<16, A>,
        packets: Param<W, 16>,
        /// 64 bits at 125 MHz.
        mbps: Param<8000, 32>,
        features: Param<{ regs::FEATURES_BULK.mask() as usize }, 32>,
    }
}

impl<
    const LQ: usize,
    const LR: usize,
    const LF: usize,
    const CA: usize,
    const A: usize,
    const V: usize,
    const W: usize,
    const LW: usize,
    const B: usize,
    const LB: usize,
    const NW: usize,
    const LNW: usize,
    const BA: usize,
    const AW: usize,
    const PW: usize,
    const FA: usize,
    const LE: usize,
    const BE: usize,
    const S: usize,
    const LS: usize,
    const SA: usize,
    const LD: usize,
    const RA: usize,
    const QA: usize,
    const D: usize,
    const R: usize,
    const LN: usize,
> Logic
    for BulkCard<
        LQ,
        LR,
        LF,
        CA,
        A,
        V,
        W,
        LW,
        B,
        LB,
        NW,
        LNW,
        BA,
        AW,
        PW,
        FA,
        LE,
        BE,
        S,
        LS,
        SA,
        LD,
        RA,
        QA,
        D,
        R,
        LN,
    >
{
    #[hdl_gen]
    fn update(&mut self) {
        self.core.rst.next = self.rst.val();
        self.core.flr.next = self.flr.val();
        self.busy.next = self.core.busy.val();
        self.core.completer_id.next = self.completer_id.val();
        self.core.requester_id.next = self.requester_id.val();
        self.core.max_payload_size.next = self.max_payload_size.val();
        self.core.max_read_request_size.next = self.max_read_request_size.val();
        self.core.bus_master_enable.next = self.bus_master_enable.val();
        self.core.msix_enable.next = self.msix_enable.val();
        self.core.msix_mask.next = self.msix_mask.val();
        self.core.cfg_read_timeout.next = self.cfg_read_timeout.val();
        self.core.cfg_write_returns.next = self.cfg_write_returns.val();
        self.core.s_axis_wr_req_tx_seq_num.next = self.s_axis_wr_req_tx_seq_num.val();
        self.core.s_axis_wr_req_tx_seq_num_valid.next = self.s_axis_wr_req_tx_seq_num_valid.val();
        TlpRxRequestIn::<64, 2>::link(&mut self.s_rx_req_tlp, &mut self.core.s_rx_req_tlp);
        TlpTxCompletionOut::<64, 2>::link(&mut self.m_tx_cpl_tlp, &mut self.core.m_tx_cpl_tlp);
        TlpTxReadOut::link(&mut self.m_tx_rd_req_tlp, &mut self.core.m_tx_rd_req_tlp);
        TlpRxCompletionIn::<64, 2>::link(&mut self.s_rx_cpl_tlp, &mut self.core.s_rx_cpl_tlp);
        TlpTxWriteOut::<64, 2>::link(&mut self.m_tx_wr_req_tlp, &mut self.core.m_tx_wr_req_tlp);
        AxisRxIn::<64, 8>::link(&mut self.s_axis_rx, &mut self.core.s_axis_rx);
        AxisOut::<64, 8>::link(&mut self.m_axis_tx, &mut self.core.m_axis_tx);

        // Registers, times, counters.
        self.core.cfg_bulk.next = true;
        self.core.cfg_share.next = self.regs.cfg_share.val();
        self.regs.reg.wr_word.next = self.core.more.wr_word.val();
        self.regs.reg.wr_data.next = self.core.more.wr_data.val();
        self.regs.reg.wr_acts.next = self.core.more.wr_acts.val();
        self.regs.reg.rd_global.next = self.core.more.rd_global.val();
        self.regs.reg.rd_word.next = self.core.more.rd_word.val();
        self.regs.reg.select.next = self.core.more.select.val();
        self.regs.reg.take.next = self.core.more.take.val();
        self.rings.reg.wr_word.next = self.core.more.wr_word.val();
        self.rings.reg.wr_data.next = self.core.more.wr_data.val();
        self.rings.reg.wr_acts.next = self.core.more.wr_acts.val();
        self.rings.reg.rd_global.next = self.core.more.rd_global.val();
        self.rings.reg.rd_word.next = self.core.more.rd_word.val();
        self.rings.reg.select.next = self.core.more.select.val();
        self.rings.reg.take.next = self.core.more.take.val();
        self.reduce.reg.wr_word.next = self.core.more.wr_word.val();
        self.reduce.reg.wr_data.next = self.core.more.wr_data.val();
        self.reduce.reg.wr_acts.next = self.core.more.wr_acts.val();
        self.reduce.reg.rd_global.next = self.core.more.rd_global.val();
        self.reduce.reg.rd_word.next = self.core.more.rd_word.val();
        self.reduce.reg.select.next = self.core.more.select.val();
        self.reduce.reg.take.next = self.core.more.take.val();
        self.congestion.rst.next = self.core.m_reset.val();
        self.congestion.reg.wr_word.next = self.core.more.wr_word.val();
        self.congestion.reg.wr_data.next = self.core.more.wr_data.val();
        self.congestion.reg.wr_acts.next = self.core.more.wr_acts.val();
        self.congestion.reg.rd_global.next = self.core.more.rd_global.val();
        self.congestion.reg.rd_word.next = self.core.more.rd_word.val();
        self.congestion.reg.select.next = self.core.more.select.val();
        self.congestion.reg.take.next = self.core.more.take.val();
        self.core.more.wr_known.next = self.regs.reg.wr_known.val()
            | self.rings.reg.wr_known.val()
            | self.congestion.reg.wr_known.val()
            | self.reduce.reg.wr_known.val();
        self.core.more.rd_data.next = self.regs.reg.rd_data.val()
            | self.rings.reg.rd_data.val()
            | self.congestion.reg.rd_data.val()
            | self.reduce.reg.rd_data.val();
        self.core.more.count.next = self.regs.reg.count.val()
            | self.rings.reg.count.val()
            | self.reduce.reg.count.val()
            | self.congestion.reg.count.val();
        self.core.more.features.next = self.regs.reg.features.val()
            | self.rings.reg.features.val()
            | self.congestion.reg.features.val()
            | self.reduce.reg.features.val();
        self.regs.rst.next = self.rst.val();
        self.regs.s_reset.next = self.core.m_reset.val();
        self.regs.size_slots.next = self.slots.val();
        self.regs.size_reads.next = self.reads.val();
        self.regs.size_windows.next = self.windows.val();
        self.regs.size_packets.next = self.packets.val();
        self.regs.line_mbps.next = self.mbps.val();
        self.regs.features.next = self.features.val();
        self.regs.ev_send.next = self.transmit.events.val();
        self.regs.ev_receive.next = self.receive.events.val();

        // Congestion.
        self.core.cfg_marks.next = self.congestion.cfg_enable.val();
        self.transmit.cfg_pace.next = self.congestion.cfg_enable.val();
        self.transmit.cfg_interval.next = self.congestion.cfg_interval.val();
        self.receive.cfg_tell.next = self.congestion.cfg_enable.val();
        self.receive.cfg_interval.next = self.congestion.cfg_interval.val();
        self.receive.cfg_node.next = self.core.cfg_node.val();
        self.marked.rst.next = self.core.m_soft.val();
        self.marked.a.next = self.receive.ev_marked.val();
        self.marked.b.next = self.core.ev_marked.val();
        self.told.rst.next = self.core.m_soft.val();
        self.told.a.next = self.receive.ev_told.val();
        self.told.b.next = self.core.ev_mark_told.val();
        self.heard.rst.next = self.core.m_soft.val();
        self.heard.a.next = self.transmit.ev_heard.val();
        self.heard.b.next = self.core.ev_mark_heard.val();
        self.congestion.ev.next = bit_cast::<5, 1>(self.marked.m.val().into())
            | (bit_cast::<5, 1>(self.told.m.val().into()) << 1)
            | (bit_cast::<5, 1>(self.heard.m.val().into()) << 2)
            | (bit_cast::<5, 1>(self.transmit.ev_slowed.val().into()) << 3)
            | (bit_cast::<5, 1>(self.transmit.m_paced.val().into()) << 4);

        // Resets, rest, ends.
        self.receive.rst.next = self.core.m_soft.val();
        self.transmit.rst.next = self.core.m_soft.val();
        self.depart.rst.next = self.core.m_soft.val();
        self.room.rst.next = self.core.m_soft.val();
        self.ends.rst.next = self.core.m_soft.val();
        self.both.rst.next = self.core.m_soft.val();
        self.looks.rst.next = self.core.m_soft.val();
        self.rings.regs_rst.next = self.core.m_reset.val();
        self.rings.rst.next = self.core.m_soft.val();
        self.core.s_clears.next =
            !self.receive.ready.val() | !self.transmit.ready.val() | !self.rings.ready.val();
        self.rings.hold.next = self.core.m_hold.val();
        self.receive.hold.next = self.core.m_hold.val();
        self.transmit.hold.next = self.core.m_hold.val();
        self.core.s_idle.next = self.receive.m_idle.val()
            & self.transmit.m_idle.val()
            & self.room.m_idle.val()
            & self.rings.m_idle.val()
            & self.reduce.m_idle.val();
        UseEndsOut::join(&mut self.core.m_end, &mut self.ends.s);
        self.receive.s_end_valid.next = self.ends.m_receive_valid.val();
        self.ends.m_receive_ready.next = self.receive.s_end_ready.val();
        self.receive.s_end_pair.next = self.core.m_end.pair.val();
        self.receive.s_end_index.next = self.core.m_end.index.val();
        self.transmit.s_end_valid.next = self.ends.m_send_valid.val();
        self.ends.m_send_ready.next = self.transmit.s_end_ready.val();
        self.transmit.s_end_pair.next = self.core.m_end.pair.val();
        self.transmit.s_end_index.next = self.core.m_end.index.val();

        self.rings.s_end_valid.next = self.core.m_end.valid.val() & self.core.m_end.pair.val();
        self.rings.s_end_qpn.next = self.core.m_end.index.val();

        // Regions: one-sided operations first, which look seldom.
        LookupRightsOut::join(&mut self.receive.m_look, &mut self.both.a);
        VerdictOut::join(&mut self.both.a_m, &mut self.receive.s_look);
        LookupRightsOut::join(&mut self.transmit.m_look, &mut self.both.b);
        VerdictOut::join(&mut self.both.b_m, &mut self.transmit.s_look);
        LookupRightsOut::join(&mut self.both.m_look, &mut self.looks.a);
        VerdictOut::join(&mut self.looks.a_m, &mut self.both.s_look);
        LookupRightsOut::join(&mut self.core.m_looks, &mut self.looks.b);
        VerdictOut::join(&mut self.looks.b_m, &mut self.core.s_looked);
        LookupRightsOut::join(&mut self.looks.m_look, &mut self.core.s_look);
        VerdictOut::join(&mut self.core.m_look, &mut self.looks.s_look);

        // Sending side.
        self.transmit.cfg_node.next = self.core.cfg_node.val();
        self.transmit.cfg_incarnation.next = self.regs.cfg_incarnation.val();
        self.transmit.cfg_mtu.next = self.core.cfg_mtu.val();
        self.transmit.cfg_busy_hint.next = self.regs.cfg_busy_hint.val();
        BulkSettingsOut::join(&mut self.regs.cfg, &mut self.transmit.cfg);
        self.transmit.now.next = self.regs.m_now.val();
        self.transmit.stat.addr.next = 0.into();
        self.transmit.stat_time.addr.next = 0.into();
        BulkWorksOut::join(&mut self.core.m_works, &mut self.transmit.s);
        CompletionOut::<LQ>::join(&mut self.transmit.m_cpl, &mut self.rings.s_cpl);
        CompletionOut::<LQ>::join(&mut self.rings.m_cpl, &mut self.completions.a);
        CompletionOut::<LQ>::join(&mut self.reduce.m_cpl, &mut self.completions.b);
        CompletionOut::<LQ>::join(&mut self.completions.m, &mut self.core.s_cpl);
        self.completions.rst.next = self.core.m_soft.val();
        CardPostOut::<LQ>::join(&mut self.rings.m_post, &mut self.core.s_post);
        self.rings.cfg_node.next = self.core.cfg_node.val();
        self.local_error.rst.next = self.core.m_soft.val();
        self.local_error.a.next = self.transmit.ev_local_error.val();
        self.local_error.b.next = self.reduce.ev_local_error.val();
        self.core.s_local_error.next = self.local_error.m.val();
        DmaRequestOut::join(&mut self.transmit.m_rd, &mut self.rings.s_rd);
        DmaReadWordsOut::join(&mut self.rings.m_words, &mut self.transmit.s_rd);
        DmaRequestOut::join(&mut self.rings.m_rd, &mut self.core.s_rd);
        DmaReadWordsOut::join(&mut self.core.m_rd, &mut self.rings.s_words);

        // Receiving side.
        ContextOut::<LQ>::join(&mut self.core.cfg, &mut self.receive.cfg);
        self.receive.now.next = self.regs.m_now.val();
        self.receive.cfg_allowance.next = self.regs.cfg_allowance_packets.val();
        self.receive.cfg_allowance_ticks.next = self.regs.cfg_allowance_ticks.val();
        self.receive.cfg_retry_ticks.next = self.regs.cfg_retry_ticks.val();
        self.receive.cfg_tail_ticks.next = self.regs.cfg_tail_ticks.val();
        self.receive.cfg_idle_ticks.next = self.regs.cfg_idle_ticks.val();
        self.receive.cfg_patience.next = self.regs.cfg_patience.val();
        self.receive.cfg_busy_hint.next = self.regs.cfg_busy_hint.val();
        self.receive.cfg_twice.next = self.regs.cfg_twice.val();
        DmaRequestOut::join(&mut self.receive.m_wr, &mut self.core.s_wr);
        StreamOut::<64>::join(&mut self.receive.m_wd, &mut self.core.s_wd);
        self.receive.s_done.next = self.core.m_wr_done.val();
        NotifyOut::join(&mut self.receive.m_notify, &mut self.rings.s_notify);
        NotifyOut::join(&mut self.rings.m_notify, &mut self.core.s_notify);

        // Reduction groups.
        self.core.cfg_reduce.next = true;
        self.reduce.rst.next = self.core.m_soft.val();
        self.reduce.regs_rst.next = self.core.m_reset.val();
        self.reduce.hold.next = self.core.m_hold.val();
        self.reduce.cfg_node.next = self.core.cfg_node.val();
        ContextOut::<LQ>::join(&mut self.core.m_contexts, &mut self.reduce.cfg);
        ReduceJoinOut::join(&mut self.core.m_join, &mut self.reduce.s_join);
        ReduceWorksOut::<LQ>::join(&mut self.core.m_reduce, &mut self.reduce.s_works);
        self.reduce.s_tvalid.next = self.core.m_rx_tvalid.val();
        self.reduce.s_tdata.next = self.s_axis_rx.tdata.val();
        self.reduce.s_tkeep.next = self.s_axis_rx.tkeep.val();
        self.reduce.s_tlast.next = self.s_axis_rx.tlast.val();
        self.reduce.s_tuser.next = self.s_axis_rx.tuser.val();
        AxisOut::<64, 8>::join(&mut self.reduce.m_axis, &mut self.core.s_reduce_axis);
        ReserveOut::<LQ>::join(&mut self.reduce.m_rsv, &mut self.core.s_reduce_rsv);
        self.core.s_cancel_valid.next = self.reduce.m_cancel_valid.val();
        self.reduce.m_cancel_ready.next = self.core.s_cancel_ready.val();
        self.core.s_cancel_qpn.next = self.reduce.m_cancel_qpn.val();
        StreamOut::<64>::join(&mut self.reduce.m_words, &mut self.core.s_words);

        // Datagrams.
        DmaRequestOut::join(&mut self.core.m_send_rd, &mut self.room.s_rd);
        DmaRequestOut::join(&mut self.room.m_rd, &mut self.core.s_send_rd);
        PayloadOut::join(&mut self.core.m_send_pl, &mut self.room.s_pl);
        PayloadOut::join(&mut self.room.m_pl, &mut self.core.s_send_pl);

        // Frames.
        BulkArrivalsOut::join(&mut self.core.m_frames, &mut self.receive.s);
        FramesOut::<64>::join(&mut self.core.m_frames_pl, &mut self.receive.s_pl);
        BulkArrivalsOut::join(&mut self.receive.m_own, &mut self.transmit.s_own);
        FramesOut::<64>::join(&mut self.receive.m_own_pl, &mut self.transmit.s_own_pl);
        BulkArrivalsOut::join(&mut self.receive.m_read, &mut self.transmit.s_read);
        FramesOut::<64>::join(&mut self.receive.m_read_pl, &mut self.transmit.s_read_pl);
        ReadAccessesOut::join(&mut self.transmit.m_access, &mut self.receive.s_access);
        ReadAnswersOut::join(&mut self.receive.m_answer, &mut self.transmit.s_answer);
        ReadsAnsweredOut::join(&mut self.receive.m_answered, &mut self.transmit.s_answered);
        WindowClosedOut::join(&mut self.receive.m_closed, &mut self.transmit.s_closed);
        BulkDeparturesOut::join(&mut self.receive.m, &mut self.depart.a);
        FramesOut::<64>::join(&mut self.receive.m_pl, &mut self.depart.a_pl);
        BulkDeparturesOut::join(&mut self.transmit.m, &mut self.depart.b);
        PayloadOut::join(&mut self.transmit.m_pl, &mut self.depart.b_pl);
        BulkDeparturesOut::join(&mut self.depart.m, &mut self.core.s_frames);
        PayloadOut::join(&mut self.depart.m_pl, &mut self.core.s_frames_pl);
    }
}
