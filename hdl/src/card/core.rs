//! The inside of a card, with a place for bulk transfers.

use super::{
    CardAckMerge, CardCompletions, CardContexts, CardCq, CardOneSided, CardReadMux, CardRecv,
    CardRegions, CardRegs, CardReserveMerge, CardRxGate, CardSend, CardSendMerge, CardSendQueue,
    CardTxFirst, CardTxGuard, CardWriteOrder,
};
use crate::blocks::{EventMerge, GatherBits};
use crate::bulk::BulkLine;
use crate::bus::{
    AckOrClaimOut, AckTakenOut, AckToSendOut, AxisIn, AxisOut, AxisRxIn, BulkArrivalsOut,
    BulkDeparturesIn, BulkWorksOut, CardPostIn, CompletionIn, CompletionOut, ContextOut,
    DmaDoneOut, DmaReadWordsOut, DmaRequestIn, DmaRequestOut, DmaWord, DoorbellOut, FlushOut,
    FramesOut, InterruptOut, LookupOut, LookupRightsIn, LookupRightsOut, MoreRegistersOut,
    NotifyIn, PayloadIn, PayloadOut, PayloadWord, QueuePairOut, ReduceJoinOut, ReduceWorksOut,
    RegionSetOut, RegistersOut, ReserveIn, ReserveOut, SendHeaderOut, StreamIn, StreamOut,
    TlpRxCompletionIn, TlpRxRequestIn, TlpTxCompletionOut, TlpTxReadOut, TlpTxWriteOut, UseEndsOut,
    VerdictIn, VerdictOut, WindowSetOut,
};
use crate::pcie::{DmaRead, DmaWrite, DmaWriteMux, DmaWriteReturns, PcieCompleter};
use crate::prelude::*;
use crate::record::{ReadContext, WriteClient, WriteContext};
use crate::xud::{XudInFlight, XudRx, XudTx};
use tributary_protocol::xud::Outcome;

hdl_module! {
    /// A card for datagrams, to which the engines of bulk transfers can be joined: card has none of them, bulk_card has both.
    /// Only wires, and what stands between the card and its surroundings; each block says its own stages.
    /// Without cfg_bulk, and the inputs beside it 0, nothing of bulk transfers is left: their work requests are refused, their
    /// frames dropped, and none is sent. So it is with reduction groups without cfg_reduce.
    #[module("card_core_q{}_r{}_f{}", 1usize << LQ, 1usize << LR, 1usize << LF)]
    pub struct CardCore<const LQ: usize, const LR: usize, const LF: usize, const CA: usize> {
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

        /// Bulk transfers are there; constant.
        pub cfg_bulk: Signal<In, Bit>,
        /// Frames may be marked, and those of congestion are known (CL-4); only with cfg_bulk.
        pub cfg_marks: Signal<In, Bit>,
        /// A datagram came marked; pulse.
        pub ev_marked: Signal<Out, Bit>,
        /// An acknowledgement that says so is on its way to the line; pulse.
        pub ev_mark_told: Signal<Out, Bit>,
        /// A request has ended by such an acknowledgement; pulse.
        pub ev_mark_heard: Signal<Out, Bit>,
        /// Their share of the line, of 256.
        pub cfg_share: Signal<In, Bits<9>>,
        /// Their registers and counters.
        pub more: MoreRegistersOut,
        /// The card is reset below its registers, and card_regs_bulk.
        pub m_reset: Signal<Out, Bit>,
        /// The blocks of bulk transfers are reset.
        pub m_soft: Signal<Out, Bit>,
        /// Nothing new may begin.
        pub m_hold: Signal<Out, Bit>,
        /// Of bulk transfers nothing is under way.
        pub s_idle: Signal<In, Bit>,
        /// Their tables are being cleared: the reset has not ended.
        pub s_clears: Signal<In, Bit>,
        /// A queue pair or region ends.
        pub m_end: UseEndsOut,
        /// Contexts of queue pairs, as those who take messages see them.
        pub cfg: ContextOut<LQ>,
        /// Largest payload of a packet.
        pub cfg_mtu: Signal<Out, Bits<13>>,
        /// Who this card is.
        pub cfg_node: Signal<Out, Bits<20>>,
        /// Work requests of bulk transfers.
        pub m_works: BulkWorksOut,
        /// Their completions.
        pub s_cpl: CompletionIn<LQ>,
        /// One of them was refused; pulse.
        pub s_local_error: Signal<In, Bit>,
        /// Looks of one-sided operations for a region.
        pub m_looks: LookupRightsOut,
        /// Their answers.
        pub s_looked: VerdictIn,
        /// Looks at the port of the regions for these and for bulk transfers.
        pub s_look: LookupRightsIn,
        /// Their answers.
        pub m_look: VerdictOut,
        /// Reads of host memory for bulk transfers.
        pub s_rd: DmaRequestIn,
        /// Their words, which are always taken.
        pub m_rd: DmaReadWordsOut,
        /// Writes of host memory for bulk transfers.
        pub s_wr: DmaRequestIn,
        /// Their words.
        pub s_wd: StreamIn<64>,
        /// The oldest one that is not done is done: pulse.
        pub m_wr_done: Signal<Out, Bit>,
        /// Notifications of bulk transfers.
        pub s_notify: NotifyIn,
        /// Doorbells of send rings that the card rings by itself.
        pub s_post: CardPostIn<LQ>,
        /// Reads of card_send: of work requests and payload.
        pub m_send_rd: DmaRequestOut,
        /// Those that may ask.
        pub s_send_rd: DmaRequestIn,
        /// Words of payload that were read for datagrams.
        pub m_send_pl: PayloadOut,
        /// Those that may go to the line.
        pub s_send_pl: PayloadIn,
        /// Frames of bulk transfers.
        pub m_frames: BulkArrivalsOut,
        /// What follows the first 8 bytes of their bodies.
        pub m_frames_pl: FramesOut<64>,
        /// Frames of bulk transfers to send.
        pub s_frames: BulkDeparturesIn,
        /// What follows the first 8 bytes of their bodies.
        pub s_frames_pl: PayloadIn,

        /// Queue pairs may be in reduction groups; constant.
        pub cfg_reduce: Signal<In, Bit>,
        /// A queue pair is to be in a group.
        pub m_join: ReduceJoinOut,
        /// Contexts of queue pairs as they are.
        pub m_contexts: ContextOut<LQ>,
        /// Work requests of queue pairs in groups.
        pub m_reduce: ReduceWorksOut<LQ>,
        /// A word of a frame from the MAC passes to its readers; the word itself is at s_axis_rx.
        pub m_rx_tvalid: Signal<Out, Bit>,
        /// Reduction frames to send.
        pub s_reduce_axis: AxisIn<64, 8>,
        /// Completion slots for those that arrived.
        pub s_reduce_rsv: ReserveIn<LQ>,
        /// A completion slot of a work request of a group is given back.
        pub s_cancel_valid: Signal<In, Bit>,
        /// That is done.
        pub s_cancel_ready: Signal<Out, Bit>,
        /// Of this queue pair.
        pub s_cancel_qpn: Signal<In, Bits<LQ>>,
        /// Words 0 to 6 of completions that are reduction frames, in the order in which these come at s_cpl.
        pub s_words: StreamIn<64>,

        contexts: CardContexts<LQ>,
        slots: CardReserveMerge<LQ>,
        tx_first: CardTxFirst,
        completer: PcieCompleter,
        read: DmaRead,
        write: DmaWrite,
        returns: DmaWriteReturns,
        write_mux: DmaWriteMux,
        read_mux: CardReadMux,
        regs: CardRegs<LQ, LR, LF>,
        regions: CardRegions<LR>,
        cq: CardCq<LQ>,
        send: CardSend<LQ>,
        send_queue: CardSendQueue,
        recv: CardRecv<LQ, CA, 6, 7>,
        one_sided: CardOneSided<LQ, LF>,
        send_merge: CardSendMerge,
        ack_merge: CardAckMerge,
        in_flight: XudInFlight<LQ, LF>,
        rx: XudRx<11>,
        tx: XudTx<11>,
        gate: CardRxGate,
        guard: CardTxGuard,
        /// Sources that share a counter.
        local_error: EventMerge,
        unsent: EventMerge,
        bad_doorbell: EventMerge,
        worse_doorbell: EventMerge,
        any_local_error: EventMerge,
        any_bad_qp: EventMerge,
        any_overload: EventMerge,
        any_bad_opcode: EventMerge,
        any_bad_key: EventMerge,
        any_bad_length: EventMerge,
        any_stale_epoch: EventMerge,
        all_local_error: EventMerge,
        line: BulkLine,
        write_order: CardWriteOrder,
        completions: CardCompletions<LQ>,
        events: GatherBits<36>,
        /// The card is reset below its registers.
        soft: DFF<Bit>,
        /// Nothing new may begin. A clock late: a command waits until the card has been idle for 16 clocks.
        stop: DFF<Bit>,
        /// Nothing was under way in the clock before.
        idle: DFF<Bit>,
        /// Who has asked for the write that is done, and for the word that was read.
        done: Signal<Local, WriteContext>,
        words: Signal<Local, ReadContext>,
        completion: Param<{ WriteClient::Completion as usize }, 3>,
        interrupt: Param<{ WriteClient::Interrupt as usize }, 3>,
        bulk_client: Param<{ WriteClient::Bulk as usize }, 3>,
        one_sided_client: Param<{ WriteClient::OneSided as usize }, 3>,
        local_dma: Param<{ Outcome::LocalDma as usize }, 8>,
    }
}

impl<const LQ: usize, const LR: usize, const LF: usize, const CA: usize> Logic
    for CardCore<LQ, LR, LF, CA>
{
    #[hdl_gen]
    fn update(&mut self) {
        self.soft.d.next = self.regs.m_reset.val();
        self.busy.next = self.regs.m_busy.val();
        self.m_reset.next = self.regs.m_reset.val();
        self.m_soft.next = self.soft.q.val();
        self.m_hold.next = self.stop.q.val();
        self.stop.d.next = self.regs.hold.val() | !self.regs.cfg_enable.val();
        self.idle.d.next = self.send.m_idle.val()
            & self.recv.m_idle.val()
            & self.one_sided.m_idle.val()
            & self.cq.m_idle.val()
            & !self.read.m_busy.val()
            & !self.write.m_busy.val()
            & !self.returns.m_busy.val()
            & !self.in_flight.m.valid.val()
            & !self.tx.m_fail_valid.val()
            & !self.send_queue.m_sd.valid.val()
            & !self.send_queue.m_pl.valid.val()
            & !self.completions.m.valid.val()
            & self.s_idle.val();

        TlpRxRequestIn::<64, 2>::link(&mut self.s_rx_req_tlp, &mut self.completer.s_rx_req_tlp);
        TlpTxCompletionOut::<64, 2>::link(&mut self.m_tx_cpl_tlp, &mut self.completer.m_tx_cpl_tlp);
        TlpRxCompletionIn::<64, 2>::link(&mut self.s_rx_cpl_tlp, &mut self.read.s_rx_cpl_tlp);
        TlpTxReadOut::link(&mut self.m_tx_rd_req_tlp, &mut self.read.m_tx_rd_req_tlp);
        TlpTxWriteOut::<64, 2>::link(&mut self.m_tx_wr_req_tlp, &mut self.write.m_tx_wr_req_tlp);
        self.gate.s_tvalid.next = self.s_axis_rx.tvalid.val();
        self.gate.s_tlast.next = self.s_axis_rx.tlast.val();
        self.gate.enable.next = self.regs.cfg_enable.val();
        self.gate.rst.next = self.soft.q.val();
        self.rx.s_axis_rx.tvalid.next = self.gate.m_tvalid.val();
        self.s_axis_rx.tready.next = self.rx.s_axis_rx.tready.val();
        self.rx.s_axis_rx.tdata.next = self.s_axis_rx.tdata.val();
        self.rx.s_axis_rx.tkeep.next = self.s_axis_rx.tkeep.val();
        self.rx.s_axis_rx.tlast.next = self.s_axis_rx.tlast.val();
        self.rx.s_axis_rx.tuser.next = self.s_axis_rx.tuser.val();
        // Frames of bulk transfers, and whose turn it is.
        self.rx.cfg_bulk.next = self.cfg_bulk.val();
        self.rx.cfg_marks.next = self.cfg_marks.val();
        BulkArrivalsOut::link(&mut self.m_frames, &mut self.rx.m_bulk);
        FramesOut::<64>::link(&mut self.m_frames_pl, &mut self.rx.m_bulk_pl);
        BulkDeparturesIn::link(&mut self.s_frames, &mut self.tx.s_bulk);
        PayloadIn::link(&mut self.s_frames_pl, &mut self.tx.s_bulk_pl);
        self.ev_marked.next =
            self.rx.m_rq_valid.val() & self.rx.m_rq_ready.val() & self.rx.m_rq_marked.val();
        self.ev_mark_told.next =
            self.tx.s_ak.valid.val() & self.tx.s_ak.ready.val() & self.tx.s_ak.of.val().marked;
        self.ev_mark_heard.next = self.in_flight.m.valid.val()
            & self.in_flight.m.ready.val()
            & self.in_flight.m.of.val().marked;
        self.line.rst.next = self.soft.q.val();
        self.line.cfg_share.next = self.cfg_share.val();
        self.line.s_sd_valid.next = self.tx.s_sd.valid.val();
        self.line.s_sd_taken.next = self.tx.s_sd.valid.val() & self.tx.s_sd.ready.val();
        self.line.s_sd_head_len.next = self.tx.s_sd.of.val().head_len;
        self.line.s_sd_len.next = self.tx.s_sd.of.val().len;
        self.line.s_bulk_valid.next = self.s_frames.valid.val();
        self.line.s_bulk_taken.next = self.s_frames.valid.val() & self.tx.s_bulk.ready.val();
        self.line.s_bulk_len.next = self.s_frames.of.val().len;
        self.line.s_ak_taken.next = self.tx.s_ak.valid.val() & self.tx.s_ak.ready.val();
        self.line.s_ak_echo.next = self.tx.s_ak.of.val().echo;
        self.tx.turn.next = self.line.m_turn.val() & self.cfg_bulk.val();
        self.tx.stop.next = self.line.m_stop.val() & self.cfg_bulk.val();

        // Reduction groups.
        self.rx.cfg_reduce.next = self.cfg_reduce.val();
        self.m_rx_tvalid.next = self.gate.m_tvalid.val();
        self.regs.cfg_reduce.next = self.cfg_reduce.val();
        ReduceJoinOut::link(&mut self.m_join, &mut self.regs.m_join);
        self.send.cfg_reduce.next = self.cfg_reduce.val();
        ReduceWorksOut::<LQ>::link(&mut self.m_reduce, &mut self.send.m_reduce);

        // Work requests of bulk transfers, and how they end.
        self.send.cfg_bulk.next = self.cfg_bulk.val();
        BulkWorksOut::link(&mut self.m_works, &mut self.send.m_bulk);
        CompletionIn::<LQ>::link(&mut self.s_cpl, &mut self.completions.b);
        self.completions.rst.next = self.soft.q.val();

        // What ends while nothing is under way.
        self.regs.cfg_bulk.next = self.cfg_bulk.val();
        UseEndsOut::link(&mut self.m_end, &mut self.regs.end);
        MoreRegistersOut::link(&mut self.more, &mut self.regs.more);
        ContextOut::<LQ>::join(&mut self.regs.cfg, &mut self.contexts.s);
        ContextOut::<LQ>::link(&mut self.cfg, &mut self.contexts.m);
        ContextOut::<LQ>::link(&mut self.m_contexts, &mut self.regs.cfg);
        self.cfg_mtu.next = self.regs.cfg_mtu.val();
        self.cfg_node.next = self.regs.cfg_node.val();
        AxisIn::<64, 8>::link(&mut self.s_reduce_axis, &mut self.tx_first.a);
        AxisOut::<64, 8>::join(&mut self.tx.m_axis_tx, &mut self.tx_first.b);
        AxisOut::<64, 8>::join(&mut self.tx_first.m, &mut self.guard.s_axis);
        self.tx_first.rst.next = self.soft.q.val();
        AxisOut::<64, 8>::link(&mut self.m_axis_tx, &mut self.guard.m_axis);
        self.guard.cut.next = self.soft.q.val();
        self.completer.completer_id.next = self.completer_id.val();
        self.read.requester_id.next = self.requester_id.val();
        self.read.max_read_request_size.next = self.max_read_request_size.val();
        self.read.bus_master_enable.next = self.bus_master_enable.val();
        self.write.requester_id.next = self.requester_id.val();
        self.write.max_payload_size.next = self.max_payload_size.val();
        self.write.bus_master_enable.next = self.bus_master_enable.val();
        self.write.s_room.next = self.returns.m_room.val();
        self.returns.rst.next = self.rst.val() | self.soft.q.val();
        self.returns.enable.next = self.cfg_write_returns.val();
        self.returns.s_sent.next = self.write.m_sent.val();
        DmaDoneOut::join(&mut self.write.m_done, &mut self.returns.s_done);
        self.returns.s_within.next = self.write.m_within.val();
        self.returns.s_lap.next = self.write.m_tx_wr_req_tlp.seq.val().get_bit(5);
        self.returns.s_seq_valid.next = self.s_axis_wr_req_tx_seq_num_valid.val();
        self.returns.s_seq.next = self.s_axis_wr_req_tx_seq_num.val();
        self.regs.msix_enable.next = self.msix_enable.val();
        self.regs.msix_mask.next = self.msix_mask.val();
        self.regs.bus_master_enable.next = self.bus_master_enable.val();
        self.done.next = self.returns.m_done.ctx.val().into();
        self.words.next = self.read.m_data.of.val().ctx.into();
        self.regs.done_valid.next =
            self.returns.m_done.valid.val() & (self.done.val().client == self.interrupt.val());
        self.regs.done_vector.next = self.returns.m_done.ctx.val().get_bits::<3>(0);
        RegistersOut::join(&mut self.completer.reg, &mut self.regs.reg);
        DmaRequestOut::link(&mut self.m_send_rd, &mut self.send.m_rd);
        DmaRequestIn::link(&mut self.s_send_rd, &mut self.read_mux.a);
        DmaRequestOut::join(&mut self.recv.m_rd, &mut self.read_mux.b);
        DmaRequestOut::join(&mut self.read_mux.m, &mut self.read.s_req);
        self.read_mux.s_data_valid.next = self.read.m_data.valid.val();
        self.read.m_data.ready.next = self.read_mux.s_data_ready.val();
        self.read_mux.s_data_client.next = self.words.val().client;
        self.read_mux.s_data_bulk.next = self.words.val().bulk & self.cfg_bulk.val();
        DmaRequestIn::link(&mut self.s_rd, &mut self.read_mux.d);
        self.m_rd.valid.next = self.read_mux.bk_valid.val();
        self.m_rd.of.next = self.read.m_data.of.val();
        self.send.s_wq.valid.next = self.read_mux.wq_valid.val();
        self.read_mux.wq_ready.next = self.send.s_wq.ready.val();
        self.send.s_wq.of.next = DmaWord {
            data: self.read.m_data.of.val().data,
            last: self.read.m_data.of.val().last,
            error: self.read.m_data.of.val().error,
            ctx: self.read.m_data.of.val().ctx,
        };
        self.m_send_pl.valid.next = self.read_mux.pl_valid.val();
        PayloadOut::join(&mut self.send_queue.m_pl, &mut self.send_merge.a_pl);
        PayloadOut::join(&mut self.send_merge.m_pl, &mut self.tx.s_pl);
        self.read_mux.pl_ready.next = self.m_send_pl.ready.val();
        PayloadIn::link(&mut self.s_send_pl, &mut self.send_queue.s_pl);
        self.m_send_pl.of.next = PayloadWord {
            data: self.read.m_data.of.val().data,
            bytes: self.read.m_data.of.val().bytes,
            last: self.read.m_data.of.val().last,
            error: self.read.m_data.of.val().error,
        };
        self.recv.s_rr.valid.next = self.read_mux.rr_valid.val();
        self.read_mux.rr_ready.next = self.recv.s_rr.ready.val();
        self.recv.s_rr.of.next = DmaWord {
            data: self.read.m_data.of.val().data,
            last: self.read.m_data.of.val().last,
            error: self.read.m_data.of.val().error,
            ctx: self.read.m_data.of.val().ctx,
        };
        DmaRequestOut::join(&mut self.recv.m_wr, &mut self.write_mux.s_req[0]);
        StreamOut::<64>::join(&mut self.recv.m_wd, &mut self.write_mux.s_data[0]);
        DmaRequestOut::join(&mut self.cq.m_wr, &mut self.write_mux.s_req[1]);
        StreamOut::<64>::join(&mut self.cq.m_wd, &mut self.write_mux.s_data[1]);
        DmaRequestOut::join(&mut self.regs.m_wr, &mut self.write_mux.s_req[2]);
        StreamOut::<64>::join(&mut self.regs.m_wd, &mut self.write_mux.s_data[2]);
        DmaRequestOut::join(&mut self.write_mux.m_req, &mut self.write.s_req);
        StreamOut::<64>::join(&mut self.write_mux.m_data, &mut self.write.s_data);
        // The host's doorbells cannot wait; those of the card can.
        self.send.db.valid.next = self.regs.db.valid.val() | self.s_post.valid.val();
        self.send.db.of.next = self.regs.db.of.val();
        if !self.regs.db.valid.val() {
            self.send.db.of.next.qpn = self.s_post.of.val().qpn;
            self.send.db.of.next.kind = 0.into();
            self.send.db.of.next.index = self.s_post.of.val().index;
        }
        self.s_post.ready.next = !self.regs.db.valid.val();
        ContextOut::<LQ>::join(&mut self.regs.cfg, &mut self.send.cfg);
        self.send.cfg_mtu.next = self.regs.cfg_mtu.val();
        DoorbellOut::<LQ>::join(&mut self.regs.db, &mut self.recv.db);
        ContextOut::<LQ>::join(&mut self.contexts.m, &mut self.recv.cfg);
        self.recv.cfg_mtu.next = self.regs.cfg_mtu.val();
        DoorbellOut::<LQ>::join(&mut self.regs.db, &mut self.cq.db);
        ContextOut::<LQ>::join(&mut self.regs.cfg, &mut self.cq.cfg);
        self.cq.cfg_moderation.next = self.regs.cfg_moderation.val();
        self.send.hold.next = self.stop.q.val();
        self.recv.hold.next = self.stop.q.val();
        self.in_flight.cfg_timeout_unit.next = self.regs.cfg_timeout_unit.val();
        self.tx.cfg_node.next = self.regs.cfg_node.val();
        self.tx.cfg_marks.next = self.cfg_marks.val();
        self.cq.a_rsv.valid.next = self.send.m_rsv.valid.val();
        self.cq.a_rsv.qpn.next = self.send.m_rsv.qpn.val();
        self.send.rsv_done.next = self.cq.a_rsv.done.val();
        self.send.rsv_ok.next = self.cq.a_rsv.ok.val();
        // A slot given back by a group waits for one of card_send, which does not.
        self.cq.a_cancel.valid.next = self.send.m_cancel.valid.val() | self.s_cancel_valid.val();
        self.cq.a_cancel.qpn.next = self.s_cancel_qpn.val();
        if self.send.m_cancel.valid.val() {
            self.cq.a_cancel.qpn.next = self.send.m_cancel.qpn.val();
        }
        self.s_cancel_ready.next = !self.send.m_cancel.valid.val();
        self.in_flight.rsv_valid.next = self.send.m_place_valid.val();
        self.in_flight.rsv_qpn.next = self.send.m_place_qpn.val();
        self.in_flight.rsv_psn.next = self.send.m_place_psn.val();
        self.send.place_done.next = self.in_flight.rsv_done.val();
        self.send.place_ok.next = self.in_flight.rsv_ok.val();
        self.in_flight.drop_valid.next = self.send.m_drop_valid.val();
        self.in_flight.drop_qpn.next = self.send.m_drop_qpn.val();
        self.in_flight.drop_psn.next = self.send.m_drop_psn.val();
        self.in_flight.set_valid.next = self.send.m_set_valid.val();
        self.send.m_set_ready.next = self.in_flight.set_ready.val();
        self.in_flight.set_qpn.next = self.send.m_set_qpn.val();
        self.in_flight.set_psn.next = self.send.m_set_psn.val();
        self.in_flight.set_node.next = self.send.m_set_node.val();
        self.in_flight.set_peer.next = self.send.m_set_peer.val();
        self.in_flight.set_vf.next = self.send.m_set_vf.val();
        self.in_flight.set_win_id.next = self.send.m_set_win_id.val();
        self.in_flight.set_epoch.next = self.send.m_set_epoch.val();
        self.in_flight.set_msn.next = self.send.m_set_msn.val();
        self.in_flight.set_wr_id.next = self.send.m_set_wr_id.val();
        self.in_flight.set_request.next = self.send.m_set_request.val();
        self.in_flight.set_timeout.next = self.send.m_set_timeout.val();
        self.in_flight.set_outcome.next = self.send.m_set_outcome.val();
        LookupOut::join(&mut self.send.m_look, &mut self.regions.a_s);
        VerdictOut::join(&mut self.regions.a_m, &mut self.send.look);
        SendHeaderOut::join(&mut self.send.m_sd, &mut self.send_queue.s_sd);
        SendHeaderOut::join(&mut self.send_queue.m_sd, &mut self.send_merge.a_sd);
        SendHeaderOut::join(&mut self.send_merge.m_sd, &mut self.tx.s_sd);
        self.recv.s_rq.valid.next =
            self.rx.m_rq_valid.val() & !self.rx.m_rq_one_sided.val() & !self.one_sided.m_ours.val();
        self.rx.m_rq_ready.next = self.recv.s_rq.ready.val() | self.one_sided.s_rq_ready.val();
        self.rx.m_rq_drop.next = self.recv.s_rq.drop.val();
        if self.one_sided.s_rq_ready.val() {
            self.rx.m_rq_drop.next = self.one_sided.s_rq_drop.val();
        }
        self.recv.s_rq.of.next.node = self.rx.m_rq_node.val();
        self.recv.s_rq.of.next.qpn = self.rx.m_rq_qpn.val();
        self.recv.s_rq.of.next.psn = self.rx.m_rq_psn.val();
        self.recv.s_rq.of.next.q_key = self.rx.m_rq_q_key.val();
        self.recv.s_rq.of.next.src = self.rx.m_rq_src.val();
        self.recv.s_rq.of.next.vf = self.rx.m_rq_vf.val();
        self.recv.s_rq.of.next.win_id = self.rx.m_rq_win_id.val();
        self.recv.s_rq.of.next.epoch = self.rx.m_rq_epoch.val();
        self.recv.s_rq.of.next.msn = self.rx.m_rq_msn.val();
        self.recv.s_rq.of.next.len = self.rx.m_rq_len.val();
        self.recv.s_rq.of.next.unknown = self.rx.m_rq_unknown.val();
        self.recv.s_rq.of.next.notify = false;
        self.recv.s_rq.of.next.bytes = 0.into();
        self.recv.s_rq.of.next.marked = self.rx.m_rq_marked.val();
        NotifyIn::link(&mut self.s_notify, &mut self.recv.s_notify);
        self.recv.s_pl.valid.next = self.rx.m_pl.valid.val() & !self.one_sided.m_ours.val();
        self.rx.m_pl.ready.next = self.recv.s_pl.ready.val();
        if self.one_sided.m_ours.val() {
            self.rx.m_pl.ready.next = self.one_sided.s_pl.ready.val();
        }
        self.recv.s_pl.of.next = self.rx.m_pl.of.val();
        self.slots.a.valid.next = self.recv.m_rsv.valid.val();
        self.slots.a.qpn.next = self.recv.m_rsv.qpn.val();
        self.recv.rsv_done.next = self.slots.a.done.val();
        self.recv.rsv_ok.next = self.slots.a.ok.val();
        ReserveIn::<LQ>::link(&mut self.s_reduce_rsv, &mut self.slots.b);
        ReserveOut::<LQ>::join(&mut self.slots.m, &mut self.cq.b_rsv);
        self.slots.rst.next = self.soft.q.val();
        StreamIn::<64>::link(&mut self.s_words, &mut self.cq.s_words);
        LookupOut::join(&mut self.recv.m_look, &mut self.regions.b_s);
        VerdictOut::join(&mut self.regions.b_m, &mut self.recv.look);
        CompletionOut::<LQ>::join(&mut self.recv.m_rx, &mut self.cq.s_rx);
        self.recv.landed.next = self.cq.m_landed.val();
        AckToSendOut::join(&mut self.recv.m_ak, &mut self.send_merge.a_ak);
        AckToSendOut::join(&mut self.send_merge.m_ak, &mut self.tx.s_ak);
        AckTakenOut::join(&mut self.rx.m_ak, &mut self.ack_merge.a);
        AckOrClaimOut::join(&mut self.ack_merge.m, &mut self.in_flight.ack);
        CompletionOut::<LQ>::join(&mut self.in_flight.m, &mut self.completions.a);
        CompletionOut::<LQ>::join(&mut self.completions.m, &mut self.cq.s_tx);
        self.send.s_ended.valid.next =
            self.completions.m.valid.val() & self.completions.m.ready.val();
        self.send.s_ended.qpn.next = self.completions.m.qpn.val();
        InterruptOut::join(&mut self.cq.m_irq, &mut self.regs.s_irq);
        RegionSetOut::<LR>::join(&mut self.regs.set, &mut self.regions.set);
        FlushOut::<LQ>::join(&mut self.regs.flush, &mut self.in_flight.flush);
        self.in_flight.fail_valid.next = self.tx.m_fail_valid.val();
        self.tx.m_fail_ready.next = self.in_flight.fail_ready.val();
        self.in_flight.fail_psn.next = self.tx.m_fail_psn.val();
        self.write_mux.rst.next = self.soft.q.val();
        self.read_mux.rst.next = self.soft.q.val();
        self.send.rst.next = self.soft.q.val();
        self.send_queue.rst.next = self.soft.q.val();
        self.recv.rst.next = self.soft.q.val();
        self.cq.rst.next = self.soft.q.val();
        self.regions.rst.next = self.soft.q.val();
        self.rx.rst.next = self.soft.q.val();
        self.tx.rst.next = self.soft.q.val();
        self.in_flight.rst.next = self.soft.q.val();
        self.one_sided.rst.next = self.soft.q.val();
        self.send_merge.rst.next = self.soft.q.val();
        self.read.flr.next = self.soft.q.val();
        self.write.flr.next = self.soft.q.val();
        self.regs.flr.next = self.flr.val();
        self.read.cfg_timeout.next = self.cfg_read_timeout.val();
        QueuePairOut::<LQ>::join(&mut self.send.m_fatal, &mut self.regs.s_fatal_a);
        QueuePairOut::<LQ>::join(&mut self.recv.m_fatal, &mut self.regs.s_fatal_b);
        self.cq.done.valid.next =
            self.returns.m_done.valid.val() & (self.done.val().client == self.completion.val());
        self.cq.done.ctx.next = self.returns.m_done.ctx.val();
        self.in_flight.fail_qpn.next = bit_cast::<LQ, 24>(self.tx.m_fail_qpn.val());
        self.in_flight.fail_outcome.next = self.local_dma.val();
        self.regs.ev.next = self.events.m.val();
        self.regs.idle.next = self.idle.q.val();
        self.regs.s_left.next = self.write.m_old.val()
            | self.read.m_tx_rd_req_tlp.valid.val()
            | self.soft.q.val()
            | self.s_clears.val();

        // One-sided operations.
        self.one_sided.hold.next = self.stop.q.val();
        self.one_sided.cfg_mtu.next = self.regs.cfg_mtu.val();
        ContextOut::<LQ>::join(&mut self.contexts.m, &mut self.one_sided.cfg);
        WindowSetOut::<LQ>::join(&mut self.regs.win, &mut self.one_sided.win);
        self.one_sided.set_valid.next =
            self.send.m_set_valid.val() & self.in_flight.set_ready.val();
        self.one_sided.set_qpn.next = self.send.m_set_qpn.val();
        self.one_sided.set_psn.next = self.send.m_set_psn.val();
        self.one_sided.set_kind.next = self.send.m_set_kind.val();
        self.one_sided.set_addr.next = self.send.m_set_addr.val();
        self.one_sided.set_key.next = self.send.m_set_key.val();
        self.one_sided.set_len.next = self.send.m_set_len.val();
        self.in_flight.set_answered.next = self.send.m_set_kind.val().any();
        self.one_sided.s_rq_valid.next = self.rx.m_rq_valid.val() & self.rx.m_rq_one_sided.val();
        self.one_sided.s_rq_node.next = self.rx.m_rq_node.val();
        self.one_sided.s_rq_qpn.next = self.rx.m_rq_qpn.val();
        self.one_sided.s_rq_psn.next = self.rx.m_rq_psn.val();
        self.one_sided.s_rq_q_key.next = self.rx.m_rq_q_key.val();
        self.one_sided.s_rq_src.next = self.rx.m_rq_src.val();
        self.one_sided.s_rq_win_id.next = self.rx.m_rq_win_id.val();
        self.one_sided.s_rq_epoch.next = self.rx.m_rq_epoch.val();
        self.one_sided.s_rq_msn.next = self.rx.m_rq_msn.val();
        self.one_sided.s_rq_len.next = self.rx.m_rq_len.val();
        self.one_sided.s_rq_marked.next = self.rx.m_rq_marked.val();
        self.one_sided.s_other.next =
            self.recv.s_rq.ready.val() & !self.recv.s_rq.drop.val() & self.rx.m_rq_len.val().any();
        self.one_sided.s_other_last.next = self.rx.m_pl.valid.val()
            & self.rx.m_pl.of.val().last
            & self.recv.s_pl.ready.val()
            & !self.one_sided.m_ours.val();
        self.one_sided.s_pl.valid.next = self.rx.m_pl.valid.val() & self.one_sided.m_ours.val();
        self.one_sided.s_pl.of.next = self.rx.m_pl.of.val();
        LookupRightsOut::link(&mut self.m_looks, &mut self.one_sided.m_look);
        VerdictIn::link(&mut self.s_looked, &mut self.one_sided.look);
        LookupRightsIn::link(&mut self.s_look, &mut self.regions.c_s);
        VerdictOut::link(&mut self.m_look, &mut self.regions.c_m);
        self.read_mux.c_valid.next = self.one_sided.m_rd_valid.val();
        self.one_sided.m_rd_ready.next = self.read_mux.c_ready.val();
        self.read_mux.c_addr.next = self.one_sided.m_rd_addr.val();
        self.read_mux.c_len.next = self.one_sided.m_rd_len.val();
        self.one_sided.s_rd_valid.next = self.read_mux.os_valid.val();
        self.one_sided.s_rd_data.next = self.read.m_data.of.val().data;
        self.one_sided.s_rd_bytes.next = self.read.m_data.of.val().bytes;
        self.one_sided.s_rd_last.next = self.read.m_data.of.val().last;
        self.one_sided.s_rd_error.next = self.read.m_data.of.val().error;
        self.write_mux.s_req[3].valid.next = self.one_sided.m_wr_valid.val();
        self.one_sided.m_wr_ready.next = self.write_mux.s_req[3].ready.val();
        self.write_mux.s_req[3].of.next.addr = self.one_sided.m_wr_addr.val();
        self.write_mux.s_req[3].of.next.len = self.one_sided.m_wr_len.val();
        self.write_mux.s_req[3].of.next.ctx = 0.into();
        StreamOut::<64>::join(&mut self.one_sided.m_wd, &mut self.write_mux.s_data[3]);
        self.write_order.rst.next = self.soft.q.val();
        self.write_order.s_taken.next = self.rx.m_rq_valid.val()
            & self.rx.m_rq_ready.val()
            & !self.rx.m_rq_drop.val()
            & self.rx.m_rq_len.val().any();
        self.write_order.s_gone.next =
            self.rx.m_pl.valid.val() & self.rx.m_pl.ready.val() & self.rx.m_pl.of.val().last;
        DmaRequestIn::link(&mut self.s_wr, &mut self.write_order.s);
        DmaRequestOut::join(&mut self.write_order.m, &mut self.write_mux.s_req[4]);
        StreamIn::<64>::link(&mut self.s_wd, &mut self.write_mux.s_data[4]);
        self.m_wr_done.next =
            self.returns.m_done.valid.val() & (self.done.val().client == self.bulk_client.val());
        self.one_sided.done_valid.next = self.returns.m_done.valid.val()
            & (self.done.val().client == self.one_sided_client.val());
        self.send_merge.b_sd_valid.next = self.one_sided.m_sd_valid.val();
        self.one_sided.m_sd_ready.next = self.send_merge.b_sd_ready.val();
        self.send_merge.b_sd_head.next = self.one_sided.m_sd_head.val();
        self.send_merge.b_sd_len.next = self.one_sided.m_sd_len.val();
        self.send_merge.b_sd_node.next = self.one_sided.m_node.val();
        self.send_merge.b_sd_peer.next = self.one_sided.m_peer.val();
        self.send_merge.b_sd_psn.next = self.one_sided.m_psn.val();
        self.send_merge.b_sd_q_key.next = self.one_sided.m_q_key.val();
        self.send_merge.b_sd_src.next = self.one_sided.m_src.val();
        self.send_merge.b_sd_win_id.next = self.one_sided.m_win_id.val();
        self.send_merge.b_sd_epoch.next = self.one_sided.m_epoch.val();
        self.send_merge.b_sd_msn.next = self.one_sided.m_msn.val();
        self.send_merge.b_pl_valid.next = self.one_sided.m_pl_valid.val();
        self.send_merge.b_pl_data.next = self.one_sided.m_pl_data.val();
        self.send_merge.b_pl_bytes.next = self.one_sided.m_pl_bytes.val();
        self.send_merge.b_pl_last.next = self.one_sided.m_pl_last.val();
        self.one_sided.m_pl_ready.next = self.send_merge.b_pl_ready.val();
        self.send_merge.b_ak_valid.next = self.one_sided.m_ak_valid.val();
        self.send_merge.b_ak_node.next = self.one_sided.m_ak_node.val();
        self.send_merge.b_ak_peer.next = self.one_sided.m_ak_peer.val();
        self.send_merge.b_ak_psn.next = self.one_sided.m_ak_psn.val();
        self.send_merge.b_ak_syndrome.next = self.one_sided.m_ak_syndrome.val();
        self.send_merge.b_ak_win_id.next = self.one_sided.m_ak_win_id.val();
        self.send_merge.b_ak_epoch.next = self.one_sided.m_ak_epoch.val();
        self.send_merge.b_ak_msn.next = self.one_sided.m_ak_msn.val();
        self.send_merge.b_ak_src.next = self.one_sided.m_ak_src.val();
        self.send_merge.b_ak_marked.next = self.one_sided.m_ak_marked.val();
        self.one_sided.m_ak_ready.next = self.send_merge.b_ak_ready.val();
        self.ack_merge.b_valid.next = self.one_sided.m_claim_valid.val();
        self.one_sided.m_claim_ready.next = self.ack_merge.b_ready.val();
        self.ack_merge.b_end.next = self.one_sided.m_claim_end.val();
        self.ack_merge.b_outcome.next = self.one_sided.m_claim_outcome.val();
        self.ack_merge.b_node.next = self.one_sided.m_node.val();
        self.ack_merge.b_qpn.next = self.one_sided.m_src.val();
        self.ack_merge.b_psn.next = self.one_sided.m_psn.val();
        self.ack_merge.b_win_id.next = self.one_sided.m_win_id.val();
        self.ack_merge.b_epoch.next = self.one_sided.m_epoch.val();
        self.ack_merge.b_msn.next = self.one_sided.m_msn.val();
        self.ack_merge.b_peer.next = self.one_sided.m_peer.val();
        self.one_sided.claim_done.next = self.in_flight.claim_done.val();
        self.one_sided.claim_ok.next = self.in_flight.claim_ok.val();

        // A work request may also end in LOCAL_DMA, after its check.
        self.unsent.rst.next = self.soft.q.val();
        self.unsent.a.next = self.send.ev_local_error.val();
        self.unsent.b.next = self.tx.m_fail_valid.val() & self.in_flight.fail_ready.val();
        self.local_error.rst.next = self.soft.q.val();
        self.local_error.a.next = self.unsent.m.val();
        self.local_error.b.next = self.recv.ev_local_error.val();
        self.bad_doorbell.rst.next = self.soft.q.val();
        self.bad_doorbell.a.next = self.send.ev_bad_doorbell.val();
        self.bad_doorbell.b.next = self.recv.ev_bad_doorbell.val();
        self.worse_doorbell.rst.next = self.soft.q.val();
        self.worse_doorbell.a.next = self.bad_doorbell.m.val();
        self.worse_doorbell.b.next = self.cq.ev_bad_doorbell.val();
        self.any_local_error.rst.next = self.soft.q.val();
        self.any_local_error.a.next = self.local_error.m.val();
        self.any_local_error.b.next = self.one_sided.ev_local_error.val();
        self.all_local_error.rst.next = self.soft.q.val();
        self.all_local_error.a.next = self.any_local_error.m.val();
        self.all_local_error.b.next = self.s_local_error.val();
        self.any_bad_qp.rst.next = self.soft.q.val();
        self.any_bad_qp.a.next = self.recv.ev_bad_qp.val();
        self.any_bad_qp.b.next = self.one_sided.ev_bad_qp.val();
        self.any_overload.rst.next = self.soft.q.val();
        self.any_overload.a.next = self.recv.ev_ack_overload.val();
        self.any_overload.b.next = self.one_sided.ev_ack_overload.val();
        self.any_bad_opcode.rst.next = self.soft.q.val();
        self.any_bad_opcode.a.next = self.recv.ev_bad_opcode.val();
        self.any_bad_opcode.b.next = self.one_sided.ev_bad_opcode.val();
        self.any_bad_key.rst.next = self.soft.q.val();
        self.any_bad_key.a.next = self.recv.ev_bad_key.val();
        self.any_bad_key.b.next = self.one_sided.ev_bad_key.val();
        self.any_bad_length.rst.next = self.soft.q.val();
        self.any_bad_length.a.next = self.recv.ev_bad_length.val();
        self.any_bad_length.b.next = self.one_sided.ev_bad_length.val();
        self.any_stale_epoch.rst.next = self.soft.q.val();
        self.any_stale_epoch.a.next = self.recv.ev_stale_epoch.val();
        self.any_stale_epoch.b.next = self.one_sided.ev_stale_epoch.val();
        self.events.s[0].next = self.tx.ev_sent.val();
        self.events.s[1].next = self.tx.ev_ack_sent.val();
        self.events.s[2].next = self.recv.ev_accepted.val();
        self.events.s[3].next = self.in_flight.ev_acknowledged.val();
        self.events.s[4].next = self.in_flight.ev_timeout.val();
        self.events.s[5].next = self.send.ev_stall_place.val();
        self.events.s[6].next = self.send.ev_stall_credit.val();
        self.events.s[7].next = self.any_overload.m.val();
        self.events.s[8].next = self.rx.ev_overflow.val();
        self.events.s[9].next = self.rx.ev_bad_frame.val();
        self.events.s[10].next = self.rx.ev_not_xud.val();
        self.events.s[11].next = self.any_bad_opcode.m.val();
        self.events.s[12].next = self.rx.ev_bad_header.val();
        self.events.s[13].next = self.any_bad_qp.m.val();
        self.events.s[14].next = self.any_bad_key.m.val();
        self.events.s[15].next = self.any_bad_length.m.val();
        self.events.s[16].next = self.any_stale_epoch.m.val();
        self.events.s[17].next = self.recv.ev_rnr.val();
        // Never both: one acknowledgement is decided at a time.
        self.events.s[18].next =
            self.in_flight.ev_ack_unknown.val() | self.in_flight.ev_bad_qp.val();
        self.events.s[19].next = self.in_flight.ev_ack_source.val();
        self.events.s[20].next = self.in_flight.ev_ack_echo.val();
        self.events.s[21].next = self.all_local_error.m.val();
        self.events.s[22].next = self.worse_doorbell.m.val();
        // Counted by card_regs.
        self.events.s[23].next = false;
        self.events.s[24].next = self.completer.ev_bad_tlp.val();
        self.events.s[25].next = self.read.ev_failed.val();
        self.events.s[26].next = self.read.ev_stray.val();
        // Counted by card_regs.
        self.events.s[27].next = false;
        self.events.s[28].next = self.read.m_busy.val();
        self.events.s[29].next = self.guard.m_axis.tvalid.val() & !self.m_axis_tx.tready.val();
        self.events.s[30].next =
            self.write.m_tx_wr_req_tlp.valid.val() & !self.m_tx_wr_req_tlp.ready.val();
        self.events.s[31].next = self.one_sided.ev_done.val();
        self.events.s[32].next = self.one_sided.ev_duplicate.val();
        self.events.s[33].next = self.one_sided.ev_ahead.val();
        self.events.s[34].next = self.one_sided.ev_refused.val();
        self.events.s[35].next = self.one_sided.ev_failed.val();
    }
}
