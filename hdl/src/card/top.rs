//! The card: host interface, queues, datagrams.

use super::{
    CardAckMerge, CardCq, CardOneSided, CardReadMux, CardRecv, CardRegions, CardRegs, CardRxGate,
    CardSend, CardSendMerge, CardSendQueue, CardTxGuard,
};
use crate::blocks::{EventMerge, GatherBits};
use crate::pcie::{DmaRead, DmaWrite, DmaWriteMux, DmaWriteReturns, PcieCompleter};
use crate::prelude::*;
use crate::xud::{XudInFlight, XudRx, XudTx};
use tributary_protocol::xud::Outcome;

hdl_module! {
    /// RDMA network card for extended unreliable datagrams: 2^LQ queue pairs, 2^LR regions, 2^LF requests in flight.
    /// Host side: TLP streams as of the open hard-IP shims of verilog-pcie. Line side: AXI4-Stream, 64 bits.
    /// Only wires, and what stands between the card and its surroundings; each block says its own stages.
    /// After rst and flr the tables are cleared: status.busy is high meanwhile. CA = LQ + 4, LQ at most 10.
    /// BAR0 has 2^(LQ+13) bytes, 2^17 at least, at any multiple of that.
    #[module("card_q{}_r{}_f{}", 1usize << LQ, 1usize << LR, 1usize << LF)]
    pub struct CardTop<const LQ: usize, const LR: usize, const LF: usize, const CA: usize> {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset, with the link to the host and the MAC.
        pub rst: Signal<In, Bit>,
        /// Function-level reset: a pulse.
        pub flr: Signal<In, Bit>,
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
        /// Request TLP: words.
        pub s_rx_req_tlp_data: Signal<In, Bits<64>>,
        /// A bit per 32-bit word that is there.
        pub s_rx_req_tlp_strb: Signal<In, Bits<2>>,
        /// Header beside the first word, DW0 in bits 127:96.
        pub s_rx_req_tlp_hdr: Signal<In, Bits<128>>,
        /// BAR that the address is in.
        pub s_rx_req_tlp_bar_id: Signal<In, Bits<3>>,
        /// Function.
        pub s_rx_req_tlp_func_num: Signal<In, Bits<8>>,
        /// A word.
        pub s_rx_req_tlp_valid: Signal<In, Bit>,
        /// First of its TLP.
        pub s_rx_req_tlp_sop: Signal<In, Bit>,
        /// Last of its TLP.
        pub s_rx_req_tlp_eop: Signal<In, Bit>,
        /// It is taken.
        pub s_rx_req_tlp_ready: Signal<Out, Bit>,
        /// Completion TLP: word.
        pub m_tx_cpl_tlp_data: Signal<Out, Bits<64>>,
        /// A bit per 32-bit word that is there.
        pub m_tx_cpl_tlp_strb: Signal<Out, Bits<2>>,
        /// Header, DW0 in bits 127:96.
        pub m_tx_cpl_tlp_hdr: Signal<Out, Bits<128>>,
        /// A TLP.
        pub m_tx_cpl_tlp_valid: Signal<Out, Bit>,
        /// It begins: always.
        pub m_tx_cpl_tlp_sop: Signal<Out, Bit>,
        /// It ends: always.
        pub m_tx_cpl_tlp_eop: Signal<Out, Bit>,
        /// It is taken.
        pub m_tx_cpl_tlp_ready: Signal<In, Bit>,
        /// Read TLP: header, DW0 in bits 127:96.
        pub m_tx_rd_req_tlp_hdr: Signal<Out, Bits<128>>,
        /// Sequence number: none, 0.
        pub m_tx_rd_req_tlp_seq: Signal<Out, Bits<6>>,
        /// A TLP.
        pub m_tx_rd_req_tlp_valid: Signal<Out, Bit>,
        /// It begins: always.
        pub m_tx_rd_req_tlp_sop: Signal<Out, Bit>,
        /// It ends: always.
        pub m_tx_rd_req_tlp_eop: Signal<Out, Bit>,
        /// It is taken.
        pub m_tx_rd_req_tlp_ready: Signal<In, Bit>,
        /// Completion TLP: words.
        pub s_rx_cpl_tlp_data: Signal<In, Bits<64>>,
        /// A bit per 32-bit word that is there.
        pub s_rx_cpl_tlp_strb: Signal<In, Bits<2>>,
        /// Header, beside the first word.
        pub s_rx_cpl_tlp_hdr: Signal<In, Bits<128>>,
        /// 0 no error, 1 poisoned, others: the completion is no good.
        pub s_rx_cpl_tlp_error: Signal<In, Bits<4>>,
        /// A word.
        pub s_rx_cpl_tlp_valid: Signal<In, Bit>,
        /// First of its completion.
        pub s_rx_cpl_tlp_sop: Signal<In, Bit>,
        /// Last of its completion.
        pub s_rx_cpl_tlp_eop: Signal<In, Bit>,
        /// It is taken.
        pub s_rx_cpl_tlp_ready: Signal<Out, Bit>,
        /// Write TLP: words.
        pub m_tx_wr_req_tlp_data: Signal<Out, Bits<64>>,
        /// A bit per 32-bit word that is there.
        pub m_tx_wr_req_tlp_strb: Signal<Out, Bits<2>>,
        /// Header, DW0 in bits 127:96.
        pub m_tx_wr_req_tlp_hdr: Signal<Out, Bits<128>>,
        /// Sequence number: 0 to 31 in turn, and bit 5 changes with each function-level reset.
        pub m_tx_wr_req_tlp_seq: Signal<Out, Bits<6>>,
        /// A word.
        pub m_tx_wr_req_tlp_valid: Signal<Out, Bit>,
        /// First of its TLP.
        pub m_tx_wr_req_tlp_sop: Signal<Out, Bit>,
        /// Last of its TLP.
        pub m_tx_wr_req_tlp_eop: Signal<Out, Bit>,
        /// It is taken.
        pub m_tx_wr_req_tlp_ready: Signal<In, Bit>,
        /// AXI4-Stream from the MAC: a word.
        pub s_axis_rx_tvalid: Signal<In, Bit>,
        /// Always taken.
        pub s_axis_rx_tready: Signal<Out, Bit>,
        /// First byte in bits 7:0.
        pub s_axis_rx_tdata: Signal<In, Bits<64>>,
        /// Bytes present, from bit 0 on; all but in the last word.
        pub s_axis_rx_tkeep: Signal<In, Bits<8>>,
        /// Last word of the frame.
        pub s_axis_rx_tlast: Signal<In, Bit>,
        /// With the last word: the frame is bad (FCS).
        pub s_axis_rx_tuser: Signal<In, Bit>,
        /// AXI4-Stream to the MAC: a word.
        pub m_axis_tx_tvalid: Signal<Out, Bit>,
        /// It is taken.
        pub m_axis_tx_tready: Signal<In, Bit>,
        /// First byte in bits 7:0.
        pub m_axis_tx_tdata: Signal<Out, Bits<64>>,
        /// Bytes present, from bit 0 on.
        pub m_axis_tx_tkeep: Signal<Out, Bits<8>>,
        /// Last word of the frame.
        pub m_axis_tx_tlast: Signal<Out, Bit>,

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
        events: GatherBits<36>,
        /// The card is reset below its registers.
        soft: DFF<Bit>,
        /// Nothing new may begin. A clock late: a command waits until the card has been idle for 16 clocks.
        stop: DFF<Bit>,
        /// Nothing was under way in the clock before.
        idle: DFF<Bit>,
        local_dma: Param<{ Outcome::LocalDma as usize }, 8>,
    }
}

impl<const LQ: usize, const LR: usize, const LF: usize, const CA: usize> Logic
    for CardTop<LQ, LR, LF, CA>
{
    #[hdl_gen]
    fn update(&mut self) {
        self.soft.d.next = self.regs.m_reset.val();
        self.stop.d.next = self.regs.hold.val() | !self.regs.cfg_enable.val();
        self.idle.d.next = self.send.m_idle.val()
            & self.recv.m_idle.val()
            & self.one_sided.m_idle.val()
            & self.cq.m_idle.val()
            & !self.read.m_busy.val()
            & !self.write.m_busy.val()
            & !self.returns.m_busy.val()
            & !self.in_flight.m_valid.val()
            & !self.tx.m_fail_valid.val()
            & !self.send_queue.m_sd_valid.val()
            & !self.send_queue.m_pl_valid.val();

        self.completer.s_rx_req_tlp_data.next = self.s_rx_req_tlp_data.val();
        self.completer.s_rx_req_tlp_strb.next = self.s_rx_req_tlp_strb.val();
        self.completer.s_rx_req_tlp_hdr.next = self.s_rx_req_tlp_hdr.val();
        self.completer.s_rx_req_tlp_bar_id.next = self.s_rx_req_tlp_bar_id.val();
        self.completer.s_rx_req_tlp_func_num.next = self.s_rx_req_tlp_func_num.val();
        self.completer.s_rx_req_tlp_valid.next = self.s_rx_req_tlp_valid.val();
        self.completer.s_rx_req_tlp_sop.next = self.s_rx_req_tlp_sop.val();
        self.completer.s_rx_req_tlp_eop.next = self.s_rx_req_tlp_eop.val();
        self.s_rx_req_tlp_ready.next = self.completer.s_rx_req_tlp_ready.val();
        self.m_tx_cpl_tlp_data.next = self.completer.m_tx_cpl_tlp_data.val();
        self.m_tx_cpl_tlp_strb.next = self.completer.m_tx_cpl_tlp_strb.val();
        self.m_tx_cpl_tlp_hdr.next = self.completer.m_tx_cpl_tlp_hdr.val();
        self.m_tx_cpl_tlp_valid.next = self.completer.m_tx_cpl_tlp_valid.val();
        self.m_tx_cpl_tlp_sop.next = self.completer.m_tx_cpl_tlp_sop.val();
        self.m_tx_cpl_tlp_eop.next = self.completer.m_tx_cpl_tlp_eop.val();
        self.completer.m_tx_cpl_tlp_ready.next = self.m_tx_cpl_tlp_ready.val();
        self.read.s_rx_cpl_tlp_data.next = self.s_rx_cpl_tlp_data.val();
        self.read.s_rx_cpl_tlp_strb.next = self.s_rx_cpl_tlp_strb.val();
        self.read.s_rx_cpl_tlp_hdr.next = self.s_rx_cpl_tlp_hdr.val();
        self.read.s_rx_cpl_tlp_error.next = self.s_rx_cpl_tlp_error.val();
        self.read.s_rx_cpl_tlp_valid.next = self.s_rx_cpl_tlp_valid.val();
        self.read.s_rx_cpl_tlp_sop.next = self.s_rx_cpl_tlp_sop.val();
        self.read.s_rx_cpl_tlp_eop.next = self.s_rx_cpl_tlp_eop.val();
        self.s_rx_cpl_tlp_ready.next = self.read.s_rx_cpl_tlp_ready.val();
        self.m_tx_rd_req_tlp_hdr.next = self.read.m_tx_rd_req_tlp_hdr.val();
        self.m_tx_rd_req_tlp_seq.next = self.read.m_tx_rd_req_tlp_seq.val();
        self.m_tx_rd_req_tlp_valid.next = self.read.m_tx_rd_req_tlp_valid.val();
        self.m_tx_rd_req_tlp_sop.next = self.read.m_tx_rd_req_tlp_sop.val();
        self.m_tx_rd_req_tlp_eop.next = self.read.m_tx_rd_req_tlp_eop.val();
        self.read.m_tx_rd_req_tlp_ready.next = self.m_tx_rd_req_tlp_ready.val();
        self.m_tx_wr_req_tlp_data.next = self.write.m_tx_wr_req_tlp_data.val();
        self.m_tx_wr_req_tlp_strb.next = self.write.m_tx_wr_req_tlp_strb.val();
        self.m_tx_wr_req_tlp_hdr.next = self.write.m_tx_wr_req_tlp_hdr.val();
        self.m_tx_wr_req_tlp_seq.next = self.write.m_tx_wr_req_tlp_seq.val();
        self.m_tx_wr_req_tlp_valid.next = self.write.m_tx_wr_req_tlp_valid.val();
        self.m_tx_wr_req_tlp_sop.next = self.write.m_tx_wr_req_tlp_sop.val();
        self.m_tx_wr_req_tlp_eop.next = self.write.m_tx_wr_req_tlp_eop.val();
        self.write.m_tx_wr_req_tlp_ready.next = self.m_tx_wr_req_tlp_ready.val();
        self.gate.s_tvalid.next = self.s_axis_rx_tvalid.val();
        self.gate.s_tlast.next = self.s_axis_rx_tlast.val();
        self.gate.enable.next = self.regs.cfg_enable.val();
        self.gate.rst.next = self.soft.q.val();
        self.rx.s_axis_rx_tvalid.next = self.gate.m_tvalid.val();
        self.s_axis_rx_tready.next = self.rx.s_axis_rx_tready.val();
        self.rx.s_axis_rx_tdata.next = self.s_axis_rx_tdata.val();
        self.rx.s_axis_rx_tkeep.next = self.s_axis_rx_tkeep.val();
        self.rx.s_axis_rx_tlast.next = self.s_axis_rx_tlast.val();
        self.rx.s_axis_rx_tuser.next = self.s_axis_rx_tuser.val();
        self.guard.s_axis_tvalid.next = self.tx.m_axis_tx_tvalid.val();
        self.m_axis_tx_tvalid.next = self.guard.m_axis_tvalid.val();
        self.guard.cut.next = self.soft.q.val();
        self.tx.m_axis_tx_tready.next = self.guard.s_axis_tready.val();
        self.guard.m_axis_tready.next = self.m_axis_tx_tready.val();
        self.guard.s_axis_tdata.next = self.tx.m_axis_tx_tdata.val();
        self.m_axis_tx_tdata.next = self.guard.m_axis_tdata.val();
        self.guard.s_axis_tkeep.next = self.tx.m_axis_tx_tkeep.val();
        self.m_axis_tx_tkeep.next = self.guard.m_axis_tkeep.val();
        self.guard.s_axis_tlast.next = self.tx.m_axis_tx_tlast.val();
        self.m_axis_tx_tlast.next = self.guard.m_axis_tlast.val();
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
        self.returns.s_done_valid.next = self.write.m_done_valid.val();
        self.returns.s_done_ctx.next = self.write.m_done_ctx.val();
        self.returns.s_within.next = self.write.m_within.val();
        self.returns.s_lap.next = self.write.m_tx_wr_req_tlp_seq.val().get_bit(5);
        self.returns.s_seq_valid.next = self.s_axis_wr_req_tx_seq_num_valid.val();
        self.returns.s_seq.next = self.s_axis_wr_req_tx_seq_num.val();
        self.regs.msix_enable.next = self.msix_enable.val();
        self.regs.msix_mask.next = self.msix_mask.val();
        self.regs.bus_master_enable.next = self.bus_master_enable.val();
        self.regs.done_valid.next = self.returns.m_done_valid.val()
            & (self.returns.m_done_ctx.val().get_bits::<2>(14) == 2);
        self.regs.done_vector.next = self.returns.m_done_ctx.val().get_bits::<3>(0);
        self.regs.reg_wr_valid.next = self.completer.reg_wr_valid.val();
        self.regs.reg_wr_addr.next = self.completer.reg_wr_addr.val();
        self.regs.reg_wr_data.next = self.completer.reg_wr_data.val();
        self.regs.reg_wr_strb.next = self.completer.reg_wr_strb.val();
        self.regs.reg_rd_valid.next = self.completer.reg_rd_valid.val();
        self.regs.reg_rd_addr.next = self.completer.reg_rd_addr.val();
        self.completer.reg_rd_done.next = self.regs.reg_rd_done.val();
        self.completer.reg_rd_data.next = self.regs.reg_rd_data.val();
        self.read_mux.a_valid.next = self.send.m_rd_valid.val();
        self.send.m_rd_ready.next = self.read_mux.a_ready.val();
        self.read_mux.a_addr.next = self.send.m_rd_addr.val();
        self.read_mux.a_len.next = self.send.m_rd_len.val();
        self.read_mux.a_ctx.next = self.send.m_rd_ctx.val();
        self.read_mux.b_valid.next = self.recv.m_rd_valid.val();
        self.recv.m_rd_ready.next = self.read_mux.b_ready.val();
        self.read_mux.b_addr.next = self.recv.m_rd_addr.val();
        self.read_mux.b_len.next = self.recv.m_rd_len.val();
        self.read_mux.b_ctx.next = self.recv.m_rd_ctx.val();
        self.read.s_req_valid.next = self.read_mux.m_valid.val();
        self.read_mux.m_ready.next = self.read.s_req_ready.val();
        self.read.s_req_addr.next = self.read_mux.m_addr.val();
        self.read.s_req_len.next = self.read_mux.m_len.val();
        self.read.s_req_ctx.next = self.read_mux.m_ctx.val();
        self.read_mux.s_data_valid.next = self.read.m_data_valid.val();
        self.read.m_data_ready.next = self.read_mux.s_data_ready.val();
        self.read_mux.s_data_client.next = self.read.m_data_ctx.val().get_bits::<2>(14);
        self.send.s_wq_valid.next = self.read_mux.wq_valid.val();
        self.read_mux.wq_ready.next = self.send.s_wq_ready.val();
        self.send.s_wq_data.next = self.read.m_data_data.val();
        self.send.s_wq_last.next = self.read.m_data_last.val();
        self.send.s_wq_error.next = self.read.m_data_error.val();
        self.send.s_wq_ctx.next = self.read.m_data_ctx.val();
        self.send_queue.s_pl_valid.next = self.read_mux.pl_valid.val();
        self.send_merge.a_pl_valid.next = self.send_queue.m_pl_valid.val();
        self.tx.s_pl_valid.next = self.send_merge.m_pl_valid.val();
        self.read_mux.pl_ready.next = self.send_queue.s_pl_ready.val();
        self.send_queue.m_pl_ready.next = self.send_merge.a_pl_ready.val();
        self.send_merge.m_pl_ready.next = self.tx.s_pl_ready.val();
        self.send_queue.s_pl_data.next = self.read.m_data_data.val();
        self.send_merge.a_pl_data.next = self.send_queue.m_pl_data.val();
        self.tx.s_pl_data.next = self.send_merge.m_pl_data.val();
        self.send_queue.s_pl_bytes.next = self.read.m_data_bytes.val();
        self.send_merge.a_pl_bytes.next = self.send_queue.m_pl_bytes.val();
        self.tx.s_pl_bytes.next = self.send_merge.m_pl_bytes.val();
        self.send_queue.s_pl_last.next = self.read.m_data_last.val();
        self.send_merge.a_pl_last.next = self.send_queue.m_pl_last.val();
        self.tx.s_pl_last.next = self.send_merge.m_pl_last.val();
        self.send_queue.s_pl_error.next = self.read.m_data_error.val();
        self.send_merge.a_pl_error.next = self.send_queue.m_pl_error.val();
        self.tx.s_pl_error.next = self.send_merge.m_pl_error.val();
        self.recv.s_rr_valid.next = self.read_mux.rr_valid.val();
        self.read_mux.rr_ready.next = self.recv.s_rr_ready.val();
        self.recv.s_rr_data.next = self.read.m_data_data.val();
        self.recv.s_rr_last.next = self.read.m_data_last.val();
        self.recv.s_rr_error.next = self.read.m_data_error.val();
        self.recv.s_rr_ctx.next = self.read.m_data_ctx.val();
        self.write_mux.s_req_valid[0].next = self.recv.m_wr_valid.val();
        self.recv.m_wr_ready.next = self.write_mux.s_req_ready[0].val();
        self.write_mux.s_req_addr[0].next = self.recv.m_wr_addr.val();
        self.write_mux.s_req_len[0].next = self.recv.m_wr_len.val();
        self.write_mux.s_req_ctx[0].next = self.recv.m_wr_ctx.val();
        self.write_mux.s_data_valid[0].next = self.recv.m_wd_valid.val();
        self.write_mux.s_data_data[0].next = self.recv.m_wd_data.val();
        self.recv.m_wd_ready.next = self.write_mux.s_data_ready[0].val();
        self.write_mux.s_req_valid[1].next = self.cq.m_wr_valid.val();
        self.cq.m_wr_ready.next = self.write_mux.s_req_ready[1].val();
        self.write_mux.s_req_addr[1].next = self.cq.m_wr_addr.val();
        self.write_mux.s_req_len[1].next = self.cq.m_wr_len.val();
        self.write_mux.s_req_ctx[1].next = self.cq.m_wr_ctx.val();
        self.write_mux.s_data_valid[1].next = self.cq.m_wd_valid.val();
        self.write_mux.s_data_data[1].next = self.cq.m_wd_data.val();
        self.cq.m_wd_ready.next = self.write_mux.s_data_ready[1].val();
        self.write_mux.s_req_valid[2].next = self.regs.m_wr_valid.val();
        self.regs.m_wr_ready.next = self.write_mux.s_req_ready[2].val();
        self.write_mux.s_req_addr[2].next = self.regs.m_wr_addr.val();
        self.write_mux.s_req_len[2].next = self.regs.m_wr_len.val();
        self.write_mux.s_req_ctx[2].next = self.regs.m_wr_ctx.val();
        self.write_mux.s_data_valid[2].next = self.regs.m_wd_valid.val();
        self.write_mux.s_data_data[2].next = self.regs.m_wd_data.val();
        self.regs.m_wd_ready.next = self.write_mux.s_data_ready[2].val();
        self.write.s_req_valid.next = self.write_mux.m_req_valid.val();
        self.write_mux.m_req_ready.next = self.write.s_req_ready.val();
        self.write.s_req_addr.next = self.write_mux.m_req_addr.val();
        self.write.s_req_len.next = self.write_mux.m_req_len.val();
        self.write.s_req_ctx.next = self.write_mux.m_req_ctx.val();
        self.write.s_data_valid.next = self.write_mux.m_data_valid.val();
        self.write_mux.m_data_ready.next = self.write.s_data_ready.val();
        self.write.s_data_data.next = self.write_mux.m_data_data.val();
        self.send.db_valid.next = self.regs.db_valid.val();
        self.send.db_qpn.next = self.regs.db_qpn.val();
        self.send.db_kind.next = self.regs.db_kind.val();
        self.send.db_index.next = self.regs.db_index.val();
        self.send.cfg_valid.next = self.regs.cfg_valid.val();
        self.send.cfg_qpn.next = self.regs.cfg_qpn.val();
        self.send.cfg_word.next = self.regs.cfg_word.val();
        self.send.cfg_data.next = self.regs.cfg_data.val();
        self.send.cfg_mtu.next = self.regs.cfg_mtu.val();
        self.recv.db_valid.next = self.regs.db_valid.val();
        self.recv.db_qpn.next = self.regs.db_qpn.val();
        self.recv.db_kind.next = self.regs.db_kind.val();
        self.recv.db_index.next = self.regs.db_index.val();
        self.recv.cfg_valid.next = self.regs.cfg_valid.val();
        self.recv.cfg_qpn.next = self.regs.cfg_qpn.val();
        self.recv.cfg_word.next = self.regs.cfg_word.val();
        self.recv.cfg_data.next = self.regs.cfg_data.val();
        self.recv.cfg_mtu.next = self.regs.cfg_mtu.val();
        self.cq.db_valid.next = self.regs.db_valid.val();
        self.cq.db_qpn.next = self.regs.db_qpn.val();
        self.cq.db_kind.next = self.regs.db_kind.val();
        self.cq.db_index.next = self.regs.db_index.val();
        self.cq.cfg_valid.next = self.regs.cfg_valid.val();
        self.cq.cfg_qpn.next = self.regs.cfg_qpn.val();
        self.cq.cfg_word.next = self.regs.cfg_word.val();
        self.cq.cfg_data.next = self.regs.cfg_data.val();
        self.cq.cfg_moderation.next = self.regs.cfg_moderation.val();
        self.send.hold.next = self.stop.q.val();
        self.recv.hold.next = self.stop.q.val();
        self.in_flight.cfg_timeout_unit.next = self.regs.cfg_timeout_unit.val();
        self.tx.cfg_node.next = self.regs.cfg_node.val();
        self.cq.a_rsv_valid.next = self.send.m_rsv_valid.val();
        self.cq.a_rsv_qpn.next = self.send.m_rsv_qpn.val();
        self.send.rsv_done.next = self.cq.a_rsv_done.val();
        self.send.rsv_ok.next = self.cq.a_rsv_ok.val();
        self.cq.a_cancel_valid.next = self.send.m_cancel_valid.val();
        self.cq.a_cancel_qpn.next = self.send.m_cancel_qpn.val();
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
        self.regions.a_s_valid.next = self.send.m_look_valid.val();
        self.regions.a_s_key.next = self.send.m_look_key.val();
        self.regions.a_s_pd.next = self.send.m_look_pd.val();
        self.regions.a_s_addr.next = self.send.m_look_addr.val();
        self.regions.a_s_len.next = self.send.m_look_len.val();
        self.regions.a_s_write.next = self.send.m_look_write.val();
        self.send.look_valid.next = self.regions.a_m_valid.val();
        self.send.look_ok.next = self.regions.a_m_ok.val();
        self.send_queue.s_sd_valid.next = self.send.m_sd_valid.val();
        self.send_merge.a_sd_valid.next = self.send_queue.m_sd_valid.val();
        self.tx.s_sd_valid.next = self.send_merge.m_sd_valid.val();
        self.send.m_sd_ready.next = self.send_queue.s_sd_ready.val();
        self.send_queue.m_sd_ready.next = self.send_merge.a_sd_ready.val();
        self.send_merge.m_sd_ready.next = self.tx.s_sd_ready.val();
        self.send_queue.s_sd_node.next = self.send.m_sd_node.val();
        self.send_merge.a_sd_node.next = self.send_queue.m_sd_node.val();
        self.tx.s_sd_node.next = self.send_merge.m_sd_node.val();
        self.send_queue.s_sd_peer.next = self.send.m_sd_peer.val();
        self.send_merge.a_sd_peer.next = self.send_queue.m_sd_peer.val();
        self.tx.s_sd_peer.next = self.send_merge.m_sd_peer.val();
        self.send_queue.s_sd_psn.next = self.send.m_sd_psn.val();
        self.send_merge.a_sd_psn.next = self.send_queue.m_sd_psn.val();
        self.tx.s_sd_psn.next = self.send_merge.m_sd_psn.val();
        self.send_queue.s_sd_q_key.next = self.send.m_sd_q_key.val();
        self.send_merge.a_sd_q_key.next = self.send_queue.m_sd_q_key.val();
        self.tx.s_sd_q_key.next = self.send_merge.m_sd_q_key.val();
        self.send_queue.s_sd_src.next = self.send.m_sd_src.val();
        self.send_merge.a_sd_src.next = self.send_queue.m_sd_src.val();
        self.tx.s_sd_src.next = self.send_merge.m_sd_src.val();
        self.send_queue.s_sd_vf.next = self.send.m_sd_vf.val();
        self.send_merge.a_sd_vf.next = self.send_queue.m_sd_vf.val();
        self.tx.s_sd_vf.next = self.send_merge.m_sd_vf.val();
        self.send_queue.s_sd_win_id.next = self.send.m_sd_win_id.val();
        self.send_merge.a_sd_win_id.next = self.send_queue.m_sd_win_id.val();
        self.tx.s_sd_win_id.next = self.send_merge.m_sd_win_id.val();
        self.send_queue.s_sd_epoch.next = self.send.m_sd_epoch.val();
        self.send_merge.a_sd_epoch.next = self.send_queue.m_sd_epoch.val();
        self.tx.s_sd_epoch.next = self.send_merge.m_sd_epoch.val();
        self.send_queue.s_sd_msn.next = self.send.m_sd_msn.val();
        self.send_merge.a_sd_msn.next = self.send_queue.m_sd_msn.val();
        self.tx.s_sd_msn.next = self.send_merge.m_sd_msn.val();
        self.send_queue.s_sd_head.next = self.send.m_sd_head.val();
        self.send_merge.a_sd_head.next = self.send_queue.m_sd_head.val();
        self.tx.s_sd_head.next = self.send_merge.m_sd_head.val();
        self.send_queue.s_sd_head_len.next = self.send.m_sd_head_len.val();
        self.send_merge.a_sd_head_len.next = self.send_queue.m_sd_head_len.val();
        self.tx.s_sd_head_len.next = self.send_merge.m_sd_head_len.val();
        self.send_queue.s_sd_len.next = self.send.m_sd_len.val();
        self.send_merge.a_sd_len.next = self.send_queue.m_sd_len.val();
        self.tx.s_sd_len.next = self.send_merge.m_sd_len.val();
        self.recv.s_rq_valid.next =
            self.rx.m_rq_valid.val() & !self.rx.m_rq_one_sided.val() & !self.one_sided.m_ours.val();
        self.rx.m_rq_ready.next = self.recv.s_rq_ready.val() | self.one_sided.s_rq_ready.val();
        self.rx.m_rq_drop.next = self.recv.s_rq_drop.val();
        if self.one_sided.s_rq_ready.val() {
            self.rx.m_rq_drop.next = self.one_sided.s_rq_drop.val();
        }
        self.recv.s_rq_node.next = self.rx.m_rq_node.val();
        self.recv.s_rq_qpn.next = self.rx.m_rq_qpn.val();
        self.recv.s_rq_psn.next = self.rx.m_rq_psn.val();
        self.recv.s_rq_q_key.next = self.rx.m_rq_q_key.val();
        self.recv.s_rq_src.next = self.rx.m_rq_src.val();
        self.recv.s_rq_vf.next = self.rx.m_rq_vf.val();
        self.recv.s_rq_win_id.next = self.rx.m_rq_win_id.val();
        self.recv.s_rq_epoch.next = self.rx.m_rq_epoch.val();
        self.recv.s_rq_msn.next = self.rx.m_rq_msn.val();
        self.recv.s_rq_len.next = self.rx.m_rq_len.val();
        self.recv.s_rq_unknown.next = self.rx.m_rq_unknown.val();
        self.recv.s_pl_valid.next = self.rx.m_pl_valid.val() & !self.one_sided.m_ours.val();
        self.rx.m_pl_ready.next = self.recv.s_pl_ready.val();
        if self.one_sided.m_ours.val() {
            self.rx.m_pl_ready.next = self.one_sided.s_pl_ready.val();
        }
        self.recv.s_pl_data.next = self.rx.m_pl_data.val();
        self.recv.s_pl_last.next = self.rx.m_pl_last.val();
        self.cq.b_rsv_valid.next = self.recv.m_rsv_valid.val();
        self.cq.b_rsv_qpn.next = self.recv.m_rsv_qpn.val();
        self.recv.rsv_done.next = self.cq.b_rsv_done.val();
        self.recv.rsv_ok.next = self.cq.b_rsv_ok.val();
        self.regions.b_s_valid.next = self.recv.m_look_valid.val();
        self.regions.b_s_key.next = self.recv.m_look_key.val();
        self.regions.b_s_pd.next = self.recv.m_look_pd.val();
        self.regions.b_s_addr.next = self.recv.m_look_addr.val();
        self.regions.b_s_len.next = self.recv.m_look_len.val();
        self.regions.b_s_write.next = self.recv.m_look_write.val();
        self.recv.look_valid.next = self.regions.b_m_valid.val();
        self.recv.look_ok.next = self.regions.b_m_ok.val();
        self.cq.s_rx_valid.next = self.recv.m_rx_valid.val();
        self.recv.m_rx_ready.next = self.cq.s_rx_ready.val();
        self.cq.s_rx_qpn.next = self.recv.m_rx_qpn.val();
        self.cq.s_rx_wr_id.next = self.recv.m_rx_wr_id.val();
        self.cq.s_rx_status.next = self.recv.m_rx_status.val();
        self.cq.s_rx_vf.next = self.recv.m_rx_vf.val();
        self.cq.s_rx_len.next = self.recv.m_rx_len.val();
        self.cq.s_rx_node.next = self.recv.m_rx_node.val();
        self.cq.s_rx_peer.next = self.recv.m_rx_peer.val();
        self.cq.s_rx_win_id.next = self.recv.m_rx_win_id.val();
        self.cq.s_rx_epoch.next = self.recv.m_rx_epoch.val();
        self.cq.s_rx_msn.next = self.recv.m_rx_msn.val();
        self.cq.s_rx_q_key.next = self.recv.m_rx_q_key.val();
        self.cq.s_rx_psn.next = self.recv.m_rx_psn.val();
        self.cq.s_rx_request.next = self.recv.m_rx_request.val();
        self.recv.landed.next = self.cq.m_landed.val();
        self.send_merge.a_ak_valid.next = self.recv.m_ak_valid.val();
        self.tx.s_ak_valid.next = self.send_merge.m_ak_valid.val();
        self.recv.m_ak_ready.next = self.send_merge.a_ak_ready.val();
        self.send_merge.m_ak_ready.next = self.tx.s_ak_ready.val();
        self.send_merge.a_ak_node.next = self.recv.m_ak_node.val();
        self.tx.s_ak_node.next = self.send_merge.m_ak_node.val();
        self.send_merge.a_ak_peer.next = self.recv.m_ak_peer.val();
        self.tx.s_ak_peer.next = self.send_merge.m_ak_peer.val();
        self.send_merge.a_ak_psn.next = self.recv.m_ak_psn.val();
        self.tx.s_ak_psn.next = self.send_merge.m_ak_psn.val();
        self.send_merge.a_ak_syndrome.next = self.recv.m_ak_syndrome.val();
        self.tx.s_ak_syndrome.next = self.send_merge.m_ak_syndrome.val();
        self.send_merge.a_ak_echo.next = self.recv.m_ak_echo.val();
        self.tx.s_ak_echo.next = self.send_merge.m_ak_echo.val();
        self.send_merge.a_ak_win_id.next = self.recv.m_ak_win_id.val();
        self.tx.s_ak_win_id.next = self.send_merge.m_ak_win_id.val();
        self.send_merge.a_ak_epoch.next = self.recv.m_ak_epoch.val();
        self.tx.s_ak_epoch.next = self.send_merge.m_ak_epoch.val();
        self.send_merge.a_ak_msn.next = self.recv.m_ak_msn.val();
        self.tx.s_ak_msn.next = self.send_merge.m_ak_msn.val();
        self.send_merge.a_ak_vf.next = self.recv.m_ak_vf.val();
        self.tx.s_ak_vf.next = self.send_merge.m_ak_vf.val();
        self.send_merge.a_ak_src.next = self.recv.m_ak_src.val();
        self.tx.s_ak_src.next = self.send_merge.m_ak_src.val();
        self.ack_merge.a_valid.next = self.rx.m_ak_valid.val();
        self.in_flight.ack_valid.next = self.ack_merge.m_valid.val();
        self.rx.m_ak_ready.next = self.ack_merge.a_ready.val();
        self.ack_merge.m_ready.next = self.in_flight.ack_ready.val();
        self.ack_merge.a_node.next = self.rx.m_ak_node.val();
        self.in_flight.ack_node.next = self.ack_merge.m_node.val();
        self.ack_merge.a_qpn.next = self.rx.m_ak_qpn.val();
        self.in_flight.ack_qpn.next = self.ack_merge.m_qpn.val();
        self.ack_merge.a_psn.next = self.rx.m_ak_psn.val();
        self.in_flight.ack_psn.next = self.ack_merge.m_psn.val();
        self.ack_merge.a_outcome.next = self.rx.m_ak_outcome.val();
        self.in_flight.ack_outcome.next = self.ack_merge.m_outcome.val();
        self.ack_merge.a_echo.next = self.rx.m_ak_echo.val();
        self.in_flight.ack_echo.next = self.ack_merge.m_echo.val();
        self.ack_merge.a_win_id.next = self.rx.m_ak_win_id.val();
        self.in_flight.ack_win_id.next = self.ack_merge.m_win_id.val();
        self.ack_merge.a_epoch.next = self.rx.m_ak_epoch.val();
        self.in_flight.ack_epoch.next = self.ack_merge.m_epoch.val();
        self.ack_merge.a_msn.next = self.rx.m_ak_msn.val();
        self.in_flight.ack_msn.next = self.ack_merge.m_msn.val();
        self.ack_merge.a_flags.next = self.rx.m_ak_flags.val();
        self.in_flight.ack_flags.next = self.ack_merge.m_flags.val();
        self.ack_merge.a_peer.next = self.rx.m_ak_peer.val();
        self.in_flight.ack_peer.next = self.ack_merge.m_peer.val();
        self.cq.s_tx_valid.next = self.in_flight.m_valid.val();
        self.in_flight.m_ready.next = self.cq.s_tx_ready.val();
        self.cq.s_tx_qpn.next = self.in_flight.m_qpn.val();
        self.cq.s_tx_wr_id.next = self.in_flight.m_wr_id.val();
        self.cq.s_tx_status.next = self.in_flight.m_status.val();
        self.cq.s_tx_vf.next = self.in_flight.m_vf.val();
        self.cq.s_tx_len.next = self.in_flight.m_len.val();
        self.cq.s_tx_node.next = self.in_flight.m_node.val();
        self.cq.s_tx_peer.next = self.in_flight.m_peer.val();
        self.cq.s_tx_win_id.next = self.in_flight.m_win_id.val();
        self.cq.s_tx_epoch.next = self.in_flight.m_epoch.val();
        self.cq.s_tx_msn.next = self.in_flight.m_msn.val();
        self.cq.s_tx_q_key.next = self.in_flight.m_q_key.val();
        self.cq.s_tx_psn.next = self.in_flight.m_psn.val();
        self.cq.s_tx_request.next = self.in_flight.m_request.val();
        self.regs.s_irq_valid.next = self.cq.m_irq_valid.val();
        self.cq.m_irq_ready.next = self.regs.s_irq_ready.val();
        self.regs.s_irq_vector.next = self.cq.m_irq_vector.val();
        self.regions.set_valid.next = self.regs.set_valid.val();
        self.regions.set_index.next = self.regs.set_index.val();
        self.regions.set_present.next = self.regs.set_present.val();
        self.regions.set_variant.next = self.regs.set_variant.val();
        self.regions.set_local_write.next = self.regs.set_local_write.val();
        self.regions.set_pd.next = self.regs.set_pd.val();
        self.regions.set_base.next = self.regs.set_base.val();
        self.regions.set_length.next = self.regs.set_length.val();
        self.in_flight.flush_valid.next = self.regs.flush_valid.val();
        self.in_flight.flush_qpn.next = self.regs.flush_qpn.val();
        self.regs.flush_done.next = self.in_flight.flush_done.val();
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
        self.regs.s_fatal_a_valid.next = self.send.m_fatal_valid.val();
        self.regs.s_fatal_a_qpn.next = self.send.m_fatal_qpn.val();
        self.regs.s_fatal_b_valid.next = self.recv.m_fatal_valid.val();
        self.regs.s_fatal_b_qpn.next = self.recv.m_fatal_qpn.val();
        self.cq.done_valid.next = self.returns.m_done_valid.val()
            & (self.returns.m_done_ctx.val().get_bits::<2>(14) == 1);
        self.cq.done_ctx.next = self.returns.m_done_ctx.val();
        self.in_flight.fail_qpn.next = bit_cast::<LQ, 24>(self.tx.m_fail_qpn.val());
        self.in_flight.fail_outcome.next = self.local_dma.val();
        self.regs.ev.next = self.events.m.val();
        self.regs.idle.next = self.idle.q.val();
        self.regs.s_left.next =
            self.write.m_old.val() | self.read.m_tx_rd_req_tlp_valid.val() | self.soft.q.val();

        // One-sided operations.
        self.one_sided.hold.next = self.stop.q.val();
        self.one_sided.cfg_mtu.next = self.regs.cfg_mtu.val();
        self.one_sided.cfg_valid.next = self.regs.cfg_valid.val();
        self.one_sided.cfg_qpn.next = self.regs.cfg_qpn.val();
        self.one_sided.cfg_word.next = self.regs.cfg_word.val();
        self.one_sided.cfg_data.next = self.regs.cfg_data.val();
        self.one_sided.win_valid.next = self.regs.win_valid.val();
        self.one_sided.win_index.next = self.regs.win_index.val();
        self.one_sided.win_open.next = self.regs.win_open.val();
        self.one_sided.win_qpn.next = self.regs.win_qpn.val();
        self.one_sided.win_node.next = self.regs.win_node.val();
        self.one_sided.win_peer.next = self.regs.win_peer.val();
        self.one_sided.win_epoch.next = self.regs.win_epoch.val();
        self.regs.win_done.next = self.one_sided.win_done.val();
        self.regs.win_was.next = self.one_sided.win_was.val();
        self.regs.win_expected.next = self.one_sided.win_expected.val();
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
        self.one_sided.s_other.next =
            self.recv.s_rq_ready.val() & !self.recv.s_rq_drop.val() & self.rx.m_rq_len.val().any();
        self.one_sided.s_other_last.next = self.rx.m_pl_valid.val()
            & self.rx.m_pl_last.val()
            & self.recv.s_pl_ready.val()
            & !self.one_sided.m_ours.val();
        self.one_sided.s_pl_valid.next = self.rx.m_pl_valid.val() & self.one_sided.m_ours.val();
        self.one_sided.s_pl_data.next = self.rx.m_pl_data.val();
        self.one_sided.s_pl_last.next = self.rx.m_pl_last.val();
        self.regions.c_s_valid.next = self.one_sided.m_look_valid.val();
        self.regions.c_s_key.next = self.one_sided.m_look_key.val();
        self.regions.c_s_pd.next = self.one_sided.m_look_pd.val();
        self.regions.c_s_addr.next = self.one_sided.m_look_addr.val();
        self.regions.c_s_len.next = self.one_sided.m_look_len.val();
        self.regions.c_s_need.next = self.one_sided.m_look_need.val();
        self.one_sided.look_valid.next = self.regions.c_m_valid.val();
        self.one_sided.look_ok.next = self.regions.c_m_ok.val();
        self.regions.set_remote.next = self.regs.set_remote.val();
        self.read_mux.c_valid.next = self.one_sided.m_rd_valid.val();
        self.one_sided.m_rd_ready.next = self.read_mux.c_ready.val();
        self.read_mux.c_addr.next = self.one_sided.m_rd_addr.val();
        self.read_mux.c_len.next = self.one_sided.m_rd_len.val();
        self.one_sided.s_rd_valid.next = self.read_mux.os_valid.val();
        self.one_sided.s_rd_data.next = self.read.m_data_data.val();
        self.one_sided.s_rd_bytes.next = self.read.m_data_bytes.val();
        self.one_sided.s_rd_last.next = self.read.m_data_last.val();
        self.one_sided.s_rd_error.next = self.read.m_data_error.val();
        self.write_mux.s_req_valid[3].next = self.one_sided.m_wr_valid.val();
        self.one_sided.m_wr_ready.next = self.write_mux.s_req_ready[3].val();
        self.write_mux.s_req_addr[3].next = self.one_sided.m_wr_addr.val();
        self.write_mux.s_req_len[3].next = self.one_sided.m_wr_len.val();
        self.write_mux.s_req_ctx[3].next = 0.into();
        self.write_mux.s_data_valid[3].next = self.one_sided.m_wd_valid.val();
        self.write_mux.s_data_data[3].next = self.one_sided.m_wd_data.val();
        self.one_sided.m_wd_ready.next = self.write_mux.s_data_ready[3].val();
        self.one_sided.done_valid.next =
            self.returns.m_done_valid.val() & self.returns.m_done_ctx.val().get_bits::<2>(14).all();
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
        self.in_flight.ack_claim.next = self.ack_merge.m_claim.val();
        self.in_flight.ack_end.next = self.ack_merge.m_end.val();
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
        self.events.s[21].next = self.any_local_error.m.val();
        self.events.s[22].next = self.worse_doorbell.m.val();
        // Counted by card_regs.
        self.events.s[23].next = false;
        self.events.s[24].next = self.completer.ev_bad_tlp.val();
        self.events.s[25].next = self.read.ev_failed.val();
        self.events.s[26].next = self.read.ev_stray.val();
        // Counted by card_regs.
        self.events.s[27].next = false;
        self.events.s[28].next = self.read.m_busy.val();
        self.events.s[29].next = self.guard.m_axis_tvalid.val() & !self.m_axis_tx_tready.val();
        self.events.s[30].next =
            self.write.m_tx_wr_req_tlp_valid.val() & !self.m_tx_wr_req_tlp_ready.val();
        self.events.s[31].next = self.one_sided.ev_done.val();
        self.events.s[32].next = self.one_sided.ev_duplicate.val();
        self.events.s[33].next = self.one_sided.ev_ahead.val();
        self.events.s[34].next = self.one_sided.ev_refused.val();
        self.events.s[35].next = self.one_sided.ev_failed.val();
    }
}
