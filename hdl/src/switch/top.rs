//! The switch: registers, counters, ports, queues, engines.

use super::{RedSwitch, SwitchCounters, SwitchRegs};
use crate::prelude::*;

hdl_module! {
    /// Switch of N ports, 64 bits each, with a reduction engine of 8 descriptors at each and its registers.
    /// Ports are disabled after reset; s_axil enables them and fills the tables. Frames and
    /// latency as in red_switch, registers as in switch_regs.
    #[module("switch_n{N}_d{}_u{}_t{}", 1usize << A, 1usize << TU, 1usize << TM)]
    pub struct SwitchTop<
        const N: usize, const A: usize, const E: usize, const TU: usize, const TM: usize,
        const MW: usize,
    > {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset; keep the MACs in reset as long.
        pub rst: Signal<In, Bit>,
        /// AXI4-Lite: Write address.
        pub s_axil_awvalid: Signal<In, Bit>,
        /// Taken.
        pub s_axil_awready: Signal<Out, Bit>,
        /// Byte offset.
        pub s_axil_awaddr: Signal<In, Bits<12>>,
        /// Write data.
        pub s_axil_wvalid: Signal<In, Bit>,
        /// Taken.
        pub s_axil_wready: Signal<Out, Bit>,
        /// The word.
        pub s_axil_wdata: Signal<In, Bits<32>>,
        /// Bytes to write.
        pub s_axil_wstrb: Signal<In, Bits<4>>,
        /// A write is done.
        pub s_axil_bvalid: Signal<Out, Bit>,
        /// Taken.
        pub s_axil_bready: Signal<In, Bit>,
        /// 0 done, 2 refused.
        pub s_axil_bresp: Signal<Out, Bits<2>>,
        /// Read address.
        pub s_axil_arvalid: Signal<In, Bit>,
        /// Taken.
        pub s_axil_arready: Signal<Out, Bit>,
        /// Byte offset.
        pub s_axil_araddr: Signal<In, Bits<12>>,
        /// A word read.
        pub s_axil_rvalid: Signal<Out, Bit>,
        /// Taken.
        pub s_axil_rready: Signal<In, Bit>,
        /// The word, 0 if refused.
        pub s_axil_rdata: Signal<Out, Bits<32>>,
        /// 0 done, 2 refused.
        pub s_axil_rresp: Signal<Out, Bits<2>>,
        /// AXI4-Stream from the MAC of each port: a word.
        pub s_axis_rx_tvalid: Bank<Signal<In, Bit>, N>,
        /// Always taken.
        pub s_axis_rx_tready: Bank<Signal<Out, Bit>, N>,
        /// First byte in bits 7:0.
        pub s_axis_rx_tdata: Bank<Signal<In, Bits<64>>, N>,
        /// Bytes present, from bit 0 on; all but in the last word.
        pub s_axis_rx_tkeep: Bank<Signal<In, Bits<8>>, N>,
        /// Last word of the frame.
        pub s_axis_rx_tlast: Bank<Signal<In, Bit>, N>,
        /// With the last word: the frame is bad (FCS).
        pub s_axis_rx_tuser: Bank<Signal<In, Bit>, N>,
        /// AXI4-Stream to the MAC of each port: a word.
        pub m_axis_tx_tvalid: Bank<Signal<Out, Bit>, N>,
        /// The MAC takes it.
        pub m_axis_tx_tready: Bank<Signal<In, Bit>, N>,
        /// First byte in bits 7:0.
        pub m_axis_tx_tdata: Bank<Signal<Out, Bits<64>>, N>,
        /// Bytes present, from bit 0 on.
        pub m_axis_tx_tkeep: Bank<Signal<Out, Bits<8>>, N>,
        /// Last word of the frame.
        pub m_axis_tx_tlast: Bank<Signal<Out, Bit>, N>,
        regs: SwitchRegs<N, TU, TM, MW, 8>,
        core: RedSwitch<N, A, E, TU, TM, MW>,
        counters: Bank<SwitchCounters<N>, N>,
    }
}

impl<
    const N: usize,
    const A: usize,
    const E: usize,
    const TU: usize,
    const TM: usize,
    const MW: usize,
> Logic for SwitchTop<N, A, E, TU, TM, MW>
{
    #[hdl_gen]
    fn update(&mut self) {
        self.regs.s_axil_awvalid.next = self.s_axil_awvalid.val();
        self.s_axil_awready.next = self.regs.s_axil_awready.val();
        self.regs.s_axil_awaddr.next = self.s_axil_awaddr.val();
        self.regs.s_axil_wvalid.next = self.s_axil_wvalid.val();
        self.s_axil_wready.next = self.regs.s_axil_wready.val();
        self.regs.s_axil_wdata.next = self.s_axil_wdata.val();
        self.regs.s_axil_wstrb.next = self.s_axil_wstrb.val();
        self.s_axil_bvalid.next = self.regs.s_axil_bvalid.val();
        self.regs.s_axil_bready.next = self.s_axil_bready.val();
        self.s_axil_bresp.next = self.regs.s_axil_bresp.val();
        self.regs.s_axil_arvalid.next = self.s_axil_arvalid.val();
        self.s_axil_arready.next = self.regs.s_axil_arready.val();
        self.regs.s_axil_araddr.next = self.s_axil_araddr.val();
        self.s_axil_rvalid.next = self.regs.s_axil_rvalid.val();
        self.regs.s_axil_rready.next = self.s_axil_rready.val();
        self.s_axil_rdata.next = self.regs.s_axil_rdata.val();
        self.s_axil_rresp.next = self.regs.s_axil_rresp.val();
        self.core.uc_en.next = self.regs.uc_en.val();
        self.core.uc_addr.next = self.regs.uc_addr.val();
        self.core.uc_data.next = self.regs.uc_data.val();
        self.core.mc_en.next = self.regs.mc_en.val();
        self.core.mc_addr.next = self.regs.mc_addr.val();
        self.core.mc_data.next = self.regs.mc_data.val();
        self.core.cfg_enabled.next = self.regs.cfg_enabled.val();
        self.core.cfg_engines.next = self.regs.cfg_engines.val();
        self.core.cfg_ethertype.next = self.regs.cfg_ethertype.val();
        self.core.cfg_red.next = true;
        self.core.cfg_ieee_nan.next = self.regs.cfg_ieee_nan.val();
        self.core.cfg_threshold_1.next = self.regs.cfg_threshold0.val();
        self.core.cfg_threshold_2.next = self.regs.cfg_threshold1.val();
        self.core.cfg_threshold_3.next = self.regs.cfg_threshold2.val();
        self.core.cfg_timeout_0.next = self.regs.cfg_timeout0.val();
        self.core.cfg_timeout_1.next = self.regs.cfg_timeout1.val();
        self.core.cfg_timeout_2.next = self.regs.cfg_timeout2.val();
        self.core.cfg_timeout_3.next = self.regs.cfg_timeout3.val();
        for i in 0..N {
            self.core.s_axis_rx_tvalid[i].next = self.s_axis_rx_tvalid[i].val();
            self.core.s_axis_rx_tdata[i].next = self.s_axis_rx_tdata[i].val();
            self.core.s_axis_rx_tkeep[i].next = self.s_axis_rx_tkeep[i].val();
            self.core.s_axis_rx_tlast[i].next = self.s_axis_rx_tlast[i].val();
            self.core.s_axis_rx_tuser[i].next = self.s_axis_rx_tuser[i].val();
            self.s_axis_rx_tready[i].next = self.core.s_axis_rx_tready[i].val();
            self.m_axis_tx_tvalid[i].next = self.core.m_axis_tx_tvalid[i].val();
            self.m_axis_tx_tdata[i].next = self.core.m_axis_tx_tdata[i].val();
            self.m_axis_tx_tkeep[i].next = self.core.m_axis_tx_tkeep[i].val();
            self.m_axis_tx_tlast[i].next = self.core.m_axis_tx_tlast[i].val();
            self.core.m_axis_tx_tready[i].next = self.m_axis_tx_tready[i].val();
            self.core.cfg_address[i].next = self.regs.cfg_address[i].val();
            self.counters[i].clear.next = self.regs.stat_clear.val();
            self.counters[i].index.next = self.regs.stat_index.val();
            self.counters[i].visit.next = self.regs.stat_visit.val();
            self.regs.stat_count[i].next = self.counters[i].count.val();
            self.counters[i].ev_valid.next = self.core.ev_valid[i].val();
            self.counters[i].ev_reason.next = self.core.ev_reason[i].val();
            self.counters[i].ev_off.next = self.core.ev_off[i].val();
            self.counters[i].ev_full.next = self.core.ev_full[i].val();
            self.counters[i].ev_sent.next = self.core.ev_sent[i].val();
            self.counters[i].ev_engine.next = self.core.ev_engine[i].val();
        }
    }
}
