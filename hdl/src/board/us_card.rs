//! A card at the PCI Express block of UltraScale+.

use crate::bus::{
    AxisOut, AxisRxIn, TlpRxCompletionOut, TlpRxRequestOut, TlpTxCompletionOut, TlpTxReadOut,
    TlpTxWriteOut, UsAxisIn, UsAxisOut,
};
use crate::card::CardTop;
use crate::pcie::PcieUsShim;
use crate::prelude::*;

hdl_module! {
    /// A card of 2^LQ queue pairs, 2^LR regions and 2^LF requests in flight behind pcie_us_shim, and only wires between
    /// them. CA is LQ + 4. One clock, the block's; the network's side is AXI4-Stream of 64 bits.
    /// A write is done when the block has returned its number.
    /// Ports: docs/ultrascale.md. Latency: that of its parts.
    #[module("us_card_q{}_r{}_f{}", 1usize << LQ, 1usize << LR, 1usize << LF)]
    pub struct UsCard<const LQ: usize, const LR: usize, const LF: usize, const CA: usize> {
        /// Clock of the block's user side.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset: user_reset of the block, and that of the MAC.
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
        /// Units of 64 clocks after which a read of host memory fails; 0 never.
        pub cfg_read_timeout: Signal<In, Bits<16>>,
        /// AXI4-Stream from the MAC; always taken.
        pub s_axis_rx: AxisRxIn<64, 8>,
        /// AXI4-Stream to the MAC.
        pub m_axis_tx: AxisOut<64, 8>,
        /// A request of the host was dropped in the shim; pulse.
        pub ev_cq_dropped: Signal<Out, Bit>,
        /// A completion of the host came with an error; pulse.
        pub ev_rc_error: Signal<Out, Bit>,

        card: CardTop<LQ, LR, LF, CA>,
        shim: PcieUsShim,
    }
}

impl<const LQ: usize, const LR: usize, const LF: usize, const CA: usize> Logic
    for UsCard<LQ, LR, LF, CA>
{
    #[hdl_gen]
    fn update(&mut self) {
        UsAxisIn::<64, 2, 88>::link(&mut self.s_axis_cq, &mut self.shim.s_axis_cq);
        UsAxisOut::<64, 2, 33>::link(&mut self.m_axis_cc, &mut self.shim.m_axis_cc);
        UsAxisOut::<64, 2, 62>::link(&mut self.m_axis_rq, &mut self.shim.m_axis_rq);
        UsAxisIn::<64, 2, 75>::link(&mut self.s_axis_rc, &mut self.shim.s_axis_rc);
        self.shim.pcie_rq_seq_num0.next = self.pcie_rq_seq_num0.val();
        self.shim.pcie_rq_seq_num_vld0.next = self.pcie_rq_seq_num_vld0.val();
        self.shim.pcie_rq_seq_num1.next = self.pcie_rq_seq_num1.val();
        self.shim.pcie_rq_seq_num_vld1.next = self.pcie_rq_seq_num_vld1.val();
        self.shim.cfg_bus_number.next = self.cfg_bus_number.val();
        self.shim.cfg_function_status.next = self.cfg_function_status.val();
        self.shim.cfg_max_payload.next = self.cfg_max_payload.val();
        self.shim.cfg_max_read_req.next = self.cfg_max_read_req.val();
        self.shim.cfg_interrupt_msix_enable.next = self.cfg_interrupt_msix_enable.val();
        self.shim.cfg_interrupt_msix_mask.next = self.cfg_interrupt_msix_mask.val();
        self.shim.cfg_flr_in_process.next = self.cfg_flr_in_process.val();
        self.cfg_flr_done.next = self.shim.cfg_flr_done.val();
        self.ev_cq_dropped.next = self.shim.ev_cq_dropped.val();
        self.ev_rc_error.next = self.shim.ev_rc_error.val();

        TlpRxRequestOut::<64, 2>::join(&mut self.shim.m_rx_req_tlp, &mut self.card.s_rx_req_tlp);
        TlpRxCompletionOut::<64, 2>::join(&mut self.shim.m_rx_cpl_tlp, &mut self.card.s_rx_cpl_tlp);
        TlpTxCompletionOut::<64, 2>::join(&mut self.card.m_tx_cpl_tlp, &mut self.shim.s_tx_cpl_tlp);
        TlpTxReadOut::join(
            &mut self.card.m_tx_rd_req_tlp,
            &mut self.shim.s_tx_rd_req_tlp,
        );
        TlpTxWriteOut::<64, 2>::join(
            &mut self.card.m_tx_wr_req_tlp,
            &mut self.shim.s_tx_wr_req_tlp,
        );
        self.card.s_axis_wr_req_tx_seq_num.next = self.shim.m_axis_wr_req_tx_seq_num.val();
        self.card.s_axis_wr_req_tx_seq_num_valid.next =
            self.shim.m_axis_wr_req_tx_seq_num_valid.val();
        self.card.cfg_write_returns.next = true;
        self.card.cfg_read_timeout.next = self.cfg_read_timeout.val();
        self.shim.card_busy.next = self.card.busy.val();
        self.card.flr.next = self.shim.m_flr.val();
        self.card.completer_id.next = self.shim.m_function_id.val();
        self.card.requester_id.next = self.shim.m_function_id.val();
        self.card.max_payload_size.next = self.shim.m_max_payload_size.val();
        self.card.max_read_request_size.next = self.shim.m_max_read_request_size.val();
        self.card.bus_master_enable.next = self.shim.m_bus_master_enable.val();
        self.card.msix_enable.next = self.shim.m_msix_enable.val();
        self.card.msix_mask.next = self.shim.m_msix_mask.val();

        AxisRxIn::<64, 8>::link(&mut self.s_axis_rx, &mut self.card.s_axis_rx);
        AxisOut::<64, 8>::link(&mut self.m_axis_tx, &mut self.card.m_axis_tx);
    }
}
