//! What joins the PCI Express block of UltraScale+ to a card.

use super::{PcieUsCc, PcieUsConfig, PcieUsCq, PcieUsRc, PcieUsRq, PcieUsSeq};
use crate::bus::{
    TlpRxCompletionOut, TlpRxRequestOut, TlpTxCompletionIn, TlpTxReadIn, TlpTxWriteIn, UsAxisIn,
    UsAxisOut,
};
use crate::prelude::*;

hdl_module! {
    /// Between the four streams with descriptors of the PCI Express block of UltraScale+ (64 bits, without straddling, no
    /// parity) and the raw TLP streams of a card, with the configuration that the card needs. One clock, that of the block.
    /// Ports: docs/ultrascale.md. Only wires; stages and what stays while it is not taken: pcie_us_cq, pcie_us_cc, pcie_us_rq,
    /// pcie_us_rc, pcie_us_seq, pcie_us_config. Each direction takes a beat a clock, TLPs back to back.
    #[module("pcie_us_shim")]
    pub struct PcieUsShim {
        /// Clock of the block's user side.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset, with card and block: its user_reset.
        pub rst: Signal<In, Bit>,
        /// Completer requests.
        pub s_axis_cq: UsAxisIn<64, 2, 88>,
        /// Completer completions.
        pub m_axis_cc: UsAxisOut<64, 2, 33>,
        /// Requester requests.
        pub m_axis_rq: UsAxisOut<64, 2, 62>,
        /// Requester completions.
        pub s_axis_rc: UsAxisIn<64, 2, 75>,
        /// Number of a request that has left the block.
        pub pcie_rq_seq_num0: Signal<In, Bits<6>>,
        /// It is there; pulse.
        pub pcie_rq_seq_num_vld0: Signal<In, Bit>,
        /// Another one.
        pub pcie_rq_seq_num1: Signal<In, Bits<6>>,
        /// It is there; pulse.
        pub pcie_rq_seq_num_vld1: Signal<In, Bit>,
        /// Bus of the function.
        pub cfg_bus_number: Signal<In, Bits<8>>,
        /// Bit 2: bus mastering of function 0.
        pub cfg_function_status: Signal<In, Bits<16>>,
        /// Maximum payload size: 128 bytes shifted left by this.
        pub cfg_max_payload: Signal<In, Bits<2>>,
        /// Maximum read request size: 128 bytes shifted left by this.
        pub cfg_max_read_req: Signal<In, Bits<3>>,
        /// Bit 0: MSI-X of function 0 is enabled.
        pub cfg_interrupt_msix_enable: Signal<In, Bits<4>>,
        /// Bit 0: all its vectors are masked.
        pub cfg_interrupt_msix_mask: Signal<In, Bits<4>>,
        /// Bit 0: function 0 is being reset.
        pub cfg_flr_in_process: Signal<In, Bits<4>>,
        /// Bit 0: it has been; pulse.
        pub cfg_flr_done: Signal<Out, Bits<4>>,
        /// Requests of the host.
        pub m_rx_req_tlp: TlpRxRequestOut<64, 2>,
        /// Completions of the host.
        pub m_rx_cpl_tlp: TlpRxCompletionOut<64, 2>,
        /// Completions for the host.
        pub s_tx_cpl_tlp: TlpTxCompletionIn<64, 2>,
        /// Reads of host memory.
        pub s_tx_rd_req_tlp: TlpTxReadIn,
        /// Writes of host memory.
        pub s_tx_wr_req_tlp: TlpTxWriteIn<64, 2>,
        /// Number of a write that has left.
        pub m_axis_wr_req_tx_seq_num: Signal<Out, Bits<6>>,
        /// It comes back; pulse.
        pub m_axis_wr_req_tx_seq_num_valid: Signal<Out, Bit>,
        /// The card's reset has not ended.
        pub card_busy: Signal<In, Bit>,
        /// Function-level reset; pulse.
        pub m_flr: Signal<Out, Bit>,
        /// Requester and completer ID of the card.
        pub m_function_id: Signal<Out, Bits<16>>,
        /// Maximum payload size: 128 bytes shifted left by this.
        pub m_max_payload_size: Signal<Out, Bits<3>>,
        /// Maximum read request size: 128 bytes shifted left by this.
        pub m_max_read_request_size: Signal<Out, Bits<3>>,
        /// TLPs may be sent.
        pub m_bus_master_enable: Signal<Out, Bit>,
        /// MSI-X is enabled.
        pub m_msix_enable: Signal<Out, Bit>,
        /// All its vectors are masked.
        pub m_msix_mask: Signal<Out, Bit>,
        /// A request of the host was dropped in the shim; pulse.
        pub ev_cq_dropped: Signal<Out, Bit>,
        /// A completion of the host came with an error; pulse.
        pub ev_rc_error: Signal<Out, Bit>,

        cq: PcieUsCq,
        cc: PcieUsCc,
        rq: PcieUsRq,
        rc: PcieUsRc,
        seq: PcieUsSeq,
        config: PcieUsConfig,
    }
}

impl Logic for PcieUsShim {
    #[hdl_gen]
    fn update(&mut self) {
        UsAxisIn::<64, 2, 88>::link(&mut self.s_axis_cq, &mut self.cq.s_axis_cq);
        TlpRxRequestOut::<64, 2>::link(&mut self.m_rx_req_tlp, &mut self.cq.m_tlp);
        self.ev_cq_dropped.next = self.cq.ev_dropped.val();
        TlpTxCompletionIn::<64, 2>::link(&mut self.s_tx_cpl_tlp, &mut self.cc.s_tlp);
        UsAxisOut::<64, 2, 33>::link(&mut self.m_axis_cc, &mut self.cc.m_axis_cc);
        TlpTxReadIn::link(&mut self.s_tx_rd_req_tlp, &mut self.rq.s_rd_tlp);
        TlpTxWriteIn::<64, 2>::link(&mut self.s_tx_wr_req_tlp, &mut self.rq.s_wr_tlp);
        UsAxisOut::<64, 2, 62>::link(&mut self.m_axis_rq, &mut self.rq.m_axis_rq);
        self.rq.may.next = self.config.m_bus_master_enable.val();
        self.rq.discard.next = self.config.m_discard.val();
        UsAxisIn::<64, 2, 75>::link(&mut self.s_axis_rc, &mut self.rc.s_axis_rc);
        TlpRxCompletionOut::<64, 2>::link(&mut self.m_rx_cpl_tlp, &mut self.rc.m_tlp);
        self.rc.requester_id.next = self.config.m_function_id.val();
        self.ev_rc_error.next = self.rc.ev_error.val();

        self.seq.s_read.next = self.rq.m_read.val();
        self.seq.s_read_lap.next = self.rq.m_read_lap.val();
        self.seq.clear.next = self.config.m_clear.val();
        self.seq.pcie_rq_seq_num0.next = self.pcie_rq_seq_num0.val();
        self.seq.pcie_rq_seq_num_vld0.next = self.pcie_rq_seq_num_vld0.val();
        self.seq.pcie_rq_seq_num1.next = self.pcie_rq_seq_num1.val();
        self.seq.pcie_rq_seq_num_vld1.next = self.pcie_rq_seq_num_vld1.val();
        self.m_axis_wr_req_tx_seq_num.next = self.seq.m_seq.val();
        self.m_axis_wr_req_tx_seq_num_valid.next = self.seq.m_seq_valid.val();

        self.config.cfg_bus_number.next = self.cfg_bus_number.val();
        self.config.cfg_function_status.next = self.cfg_function_status.val();
        self.config.cfg_max_payload.next = self.cfg_max_payload.val();
        self.config.cfg_max_read_req.next = self.cfg_max_read_req.val();
        self.config.cfg_interrupt_msix_enable.next = self.cfg_interrupt_msix_enable.val();
        self.config.cfg_interrupt_msix_mask.next = self.cfg_interrupt_msix_mask.val();
        self.config.cfg_flr_in_process.next = self.cfg_flr_in_process.val();
        self.cfg_flr_done.next = self.config.cfg_flr_done.val();
        self.config.card_busy.next = self.card_busy.val();
        self.config.s_some.next = self.seq.m_some.val();
        self.m_flr.next = self.config.m_flr.val();
        self.m_function_id.next = self.config.m_function_id.val();
        self.m_max_payload_size.next = self.config.m_max_payload_size.val();
        self.m_max_read_request_size.next = self.config.m_max_read_request_size.val();
        self.m_bus_master_enable.next = self.config.m_bus_master_enable.val();
        self.m_msix_enable.next = self.config.m_msix_enable.val();
        self.m_msix_mask.next = self.config.m_msix_mask.val();
    }
}
