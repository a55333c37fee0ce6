//! The switch: registers, counters, ports, queues, engines.

use super::{RedSwitch, SwitchCounters, SwitchRegs};
use crate::bus::{AxiLiteIn, AxisOut, AxisRxIn, RamWriteOut};
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
        /// AXI4-Lite.
        pub s_axil: AxiLiteIn<12>,
        /// AXI4-Stream from the MAC of each port; always taken.
        pub s_axis_rx: Bank<AxisRxIn<64, 8>, N>,
        /// AXI4-Stream to the MAC of each port.
        pub m_axis_tx: Bank<AxisOut<64, 8>, N>,
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
        AxiLiteIn::<12>::link(&mut self.s_axil, &mut self.regs.s_axil);
        RamWriteOut::<7, TU>::join(&mut self.regs.uc, &mut self.core.uc);
        RamWriteOut::<MW, TM>::join(&mut self.regs.mc, &mut self.core.mc);
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
            self.core.s_axis_rx[i].tvalid.next = self.s_axis_rx[i].tvalid.val();
            self.core.s_axis_rx[i].tdata.next = self.s_axis_rx[i].tdata.val();
            self.core.s_axis_rx[i].tkeep.next = self.s_axis_rx[i].tkeep.val();
            self.core.s_axis_rx[i].tlast.next = self.s_axis_rx[i].tlast.val();
            self.core.s_axis_rx[i].tuser.next = self.s_axis_rx[i].tuser.val();
            self.s_axis_rx[i].tready.next = self.core.s_axis_rx[i].tready.val();
            self.m_axis_tx[i].tvalid.next = self.core.m_axis_tx[i].tvalid.val();
            self.m_axis_tx[i].tdata.next = self.core.m_axis_tx[i].tdata.val();
            self.m_axis_tx[i].tkeep.next = self.core.m_axis_tx[i].tkeep.val();
            self.m_axis_tx[i].tlast.next = self.core.m_axis_tx[i].tlast.val();
            self.core.m_axis_tx[i].tready.next = self.m_axis_tx[i].tready.val();
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
            self.counters[i].ev_marked.next = false;
        }
    }
}
