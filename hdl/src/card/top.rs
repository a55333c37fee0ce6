//! The card: host interface, queues, datagrams.

use super::CardCore;
use crate::bus::{
    AxisOut, AxisRxIn, BulkDeparture, DmaJob, DmaRequestOut, Ended, LookupRightsOut, Notice,
    PayloadOut, PayloadWord, RingPosition, TlpRxCompletionIn, TlpRxRequestIn, TlpTxCompletionOut,
    TlpTxReadOut, TlpTxWriteOut, VerdictOut,
};
use crate::prelude::*;

hdl_module! {
    /// RDMA network card for extended unreliable datagrams: 2^LQ queue pairs, 2^LR regions, 2^LF requests in flight.
    /// Host side: TLP streams as of the open hard-IP shims of verilog-pcie. Line side: AXI4-Stream, 64 bits.
    /// Only wires: a card_core without the engines of bulk transfers.
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
        /// What never comes.
        nothing_ended: Signal<Local, Ended>,
        nothing_asked: Signal<Local, DmaJob>,
        nothing_told: Signal<Local, Notice>,
        no_frame: Signal<Local, BulkDeparture>,
        no_word: Signal<Local, PayloadWord>,
        no_post: Signal<Local, RingPosition<LQ>>,
    }
}

impl<const LQ: usize, const LR: usize, const LF: usize, const CA: usize> Logic
    for CardTop<LQ, LR, LF, CA>
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

        // No bulk transfers: nothing of them is asked for, and whatever looks at regions are one-sided operations.
        self.nothing_ended.next = bits::<{ Ended::BITS }>(0).into();
        self.nothing_asked.next = bits::<{ DmaJob::BITS }>(0).into();
        self.nothing_told.next = bits::<{ Notice::BITS }>(0).into();
        self.no_frame.next = bits::<{ BulkDeparture::BITS }>(0).into();
        self.no_word.next = bits::<{ PayloadWord::BITS }>(0).into();
        self.core.cfg_bulk.next = false;
        self.core.cfg_marks.next = false;
        self.core.cfg_share.next = 0.into();
        self.core.more.wr_known.next = false;
        self.core.more.rd_data.next = 0.into();
        self.core.more.count.next = 0.into();
        self.core.more.features.next = 0.into();
        self.core.s_idle.next = true;
        self.core.s_clears.next = false;
        self.core.m_end.done.next = false;
        self.core.m_works.ready.next = false;
        self.core.s_cpl.valid.next = false;
        self.core.s_cpl.qpn.next = 0.into();
        self.core.s_cpl.of.next = self.nothing_ended.val();
        self.core.s_local_error.next = false;
        LookupRightsOut::join(&mut self.core.m_looks, &mut self.core.s_look);
        VerdictOut::join(&mut self.core.m_look, &mut self.core.s_looked);
        self.core.s_rd.valid.next = false;
        self.core.s_rd.of.next = self.nothing_asked.val();
        self.core.m_rd.ready.next = true;
        self.core.s_wr.valid.next = false;
        self.core.s_wr.of.next = self.nothing_asked.val();
        self.core.s_wd.valid.next = false;
        self.core.s_wd.data.next = 0.into();
        DmaRequestOut::join(&mut self.core.m_send_rd, &mut self.core.s_send_rd);
        PayloadOut::join(&mut self.core.m_send_pl, &mut self.core.s_send_pl);
        self.core.s_notify.valid.next = false;
        self.core.s_notify.of.next = self.nothing_told.val();
        self.no_post.next = RingPosition::<LQ> {
            qpn: 0.into(),
            index: 0.into(),
        };
        self.core.s_post.valid.next = false;
        self.core.s_post.of.next = self.no_post.val();
        self.core.m_frames.ready.next = false;
        self.core.m_frames.unwanted.next = false;
        self.core.m_frames_pl.ready.next = false;
        self.core.s_frames.valid.next = false;
        self.core.s_frames.of.next = self.no_frame.val();
        self.core.s_frames_pl.valid.next = false;
        self.core.s_frames_pl.of.next = self.no_word.val();

        // No reduction groups.
        self.core.cfg_reduce.next = false;
        self.core.m_join.done.next = false;
        self.core.m_join.ok.next = false;
        self.core.m_reduce.room.next = false;
        self.core.s_reduce_axis.tvalid.next = false;
        self.core.s_reduce_axis.tdata.next = 0.into();
        self.core.s_reduce_axis.tkeep.next = 0.into();
        self.core.s_reduce_axis.tlast.next = false;
        self.core.s_reduce_rsv.valid.next = false;
        self.core.s_reduce_rsv.qpn.next = 0.into();
        self.core.s_cancel_valid.next = false;
        self.core.s_cancel_qpn.next = 0.into();
        self.core.s_words.valid.next = false;
        self.core.s_words.data.next = 0.into();
    }
}
