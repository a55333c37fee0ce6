//! The inside of a card, with a place for bulk transfers.
//!
//! Its parts: `line` (MAC, frames), `host` (host memory), `queues` (work requests, messages, completions), `one_sided`, `events`.

mod events;
mod host;
mod line;
mod one_sided;
mod queues;

use super::{
    CardAckMerge, CardCompletions, CardContexts, CardCq, CardOneSided, CardReadMux, CardRecv,
    CardRegions, CardRegs, CardReserveMerge, CardRxGate, CardSend, CardSendMerge, CardSendQueue,
    CardTxFirst, CardTxGuard, CardWriteOrder,
};
use crate::blocks::{EventMerge, GatherBits};
use crate::bulk::BulkLine;
use crate::bus::{
    AxisIn, AxisOut, AxisRxIn, BulkArrivalsOut, BulkDeparturesIn, BulkWorksOut, CardPostIn,
    CompletionIn, ContextOut, DmaReadWordsOut, DmaRequestIn, DmaRequestOut, FramesOut,
    LookupRightsIn, LookupRightsOut, MoreRegistersOut, NotifyIn, PayloadIn, PayloadOut,
    ReduceJoinOut, ReduceWorksOut, ReserveIn, StreamIn, TlpRxCompletionIn, TlpRxRequestIn,
    TlpTxCompletionOut, TlpTxReadOut, TlpTxWriteOut, UseEndsOut, VerdictIn, VerdictOut,
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

        self.join_line();
        self.join_bulk();
        self.join_groups();
        self.join_host();
        self.join_queues();
        self.join_one_sided();
        self.join_events();
    }
}
