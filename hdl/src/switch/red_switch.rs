//! The switch with a reduction engine at each output.

use super::{RedEngine, RedEvents, SwitchCore};
use crate::bus::{AxisOut, AxisRxIn, RamWriteIn};
use crate::prelude::*;

hdl_module! {
    /// Reducing switch of N ports, 64 bits each: the switch core and an engine of 8 descriptors at each output.
    /// Latency, from the edge that takes a frame's last word: 8 clocks to the first word of a frame that no
    /// engine looks at, plain ones and reduction frames down a tree; 16 to that of a contribution that passes the engine or of the
    /// result which it completes.
    #[module("red_switch_n{N}_q{}_u{}_t{}", 1usize << A, 1usize << TU, 1usize << TM)]
    pub struct RedSwitch<
        const N: usize, const A: usize, const E: usize, const TU: usize, const TM: usize,
        const MW: usize,
    > {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset; keep the MACs in reset as long. Tables keep what they hold.
        pub rst: Signal<In, Bit>,
        /// AXI4-Stream from the MAC of each port; always taken.
        pub s_axis_rx: Bank<AxisRxIn<64, 8>, N>,
        /// AXI4-Stream to the MAC of each port.
        pub m_axis_tx: Bank<AxisOut<64, 8>, N>,
        /// Write port of the unicast table: node, low bits; port in 5:0, valid 6.
        pub uc: RamWriteIn<7, TU>,
        /// Write port of the multicast table: tree, low bits; wait count in 19:0, parent port 25:20, valid 26, child ports from 27 on.
        pub mc: RamWriteIn<MW, TM>,
        /// A bit per port that is enabled.
        pub cfg_enabled: Signal<In, Bits<N>>,
        /// Reduction frames are parsed; otherwise they are plain multicast frames.
        pub cfg_red: Signal<In, Bit>,
        /// A bit per port whose engine sees frames; those for the others pass it unchanged.
        pub cfg_engines: Signal<In, Bits<N>>,
        /// Ethertype of reduction frames.
        pub cfg_ethertype: Signal<In, Bits<16>>,
        /// Source address of the results of each port.
        pub cfg_address: Bank<Signal<In, Bits<32>>, N>,
        /// MINNUM and MAXNUM as IEEE 754: a signalling NaN gives a NaN.
        pub cfg_ieee_nan: Signal<In, Bit>,
        /// Wait count from which timeout 1 is chosen.
        pub cfg_threshold_1: Signal<In, Bits<20>>,
        /// Wait count from which timeout 2 is chosen.
        pub cfg_threshold_2: Signal<In, Bits<20>>,
        /// Wait count from which timeout 3 is chosen.
        pub cfg_threshold_3: Signal<In, Bits<20>>,
        /// Timeout of small wait counts, units of 1,024 clocks.
        pub cfg_timeout_0: Signal<In, Bits<24>>,
        /// Timeout from threshold 1 on.
        pub cfg_timeout_1: Signal<In, Bits<24>>,
        /// Timeout from threshold 2 on.
        pub cfg_timeout_2: Signal<In, Bits<24>>,
        /// Timeout from threshold 3 on.
        pub cfg_timeout_3: Signal<In, Bits<24>>,
        /// Events of each port: a received frame has ended.
        pub ev_valid: Bank<Signal<Out, Bit>, N>,
        /// 0 forwarded, 1 bad frame, 2 malformed, 3 no route, 4 bad entry port, 5 hairpin, 6 entry port disabled.
        pub ev_reason: Bank<Signal<Out, Bits<3>>, N>,
        /// With it, a bit per disabled port that would have got a copy.
        pub ev_off: Bank<Signal<Out, Bits<N>>, N>,
        /// A bit per output: the copy of a frame was dropped because its queue is full.
        pub ev_full: Bank<Signal<Out, Bits<N>>, N>,
        /// A frame has left by this port.
        pub ev_sent: Bank<Signal<Out, Bit>, N>,
        /// Events of the engine of a port: 0 arm frame upwards, 1 passed, 2 foreign VNI, 3 old sequence number,
        /// 4 no free descriptor, 5 armed, 6 released, 7 combined, 8 result, 9 partial result, 10 expired empty.
        pub ev_engine: Bank<Signal<Out, Bits<11>>, N>,
        /// Descriptors in use in the engine of a port, a bit each.
        pub used: Bank<Signal<Out, Bits<8>>, N>,
        /// A frame that leaves by this port has been marked.
        pub ev_marked: Bank<Signal<Out, Bit>, N>,
        /// Words of a queue above which frames that leave it are marked; 0: none are.
        pub cfg_ecn_words: Signal<In, Bits<10>>,
        core: SwitchCore<N, A, E, TU, TM, MW>,
        engines: Bank<RedEngine, N>,
        events: Bank<RedEvents, N>,
        /// Clocks of the timeouts' unit, its end.
        #[reset] unit: DFF<Bits<10>>,
        #[reset] tick: DFF<Bit>,
    }
}

impl<
    const N: usize,
    const A: usize,
    const E: usize,
    const TU: usize,
    const TM: usize,
    const MW: usize,
> Logic for RedSwitch<N, A, E, TU, TM, MW>
{
    #[hdl_gen]
    fn update(&mut self) {
        self.unit.d.next = self.unit.q.val() + 1;
        self.tick.d.next = self.unit.q.val().all();
        RamWriteIn::<7, TU>::link(&mut self.uc, &mut self.core.uc);
        RamWriteIn::<MW, TM>::link(&mut self.mc, &mut self.core.mc);
        self.core.cfg_enabled.next = self.cfg_enabled.val();
        self.core.cfg_red.next = self.cfg_red.val();
        self.core.cfg_engines.next = self.cfg_engines.val();
        self.core.cfg_ethertype.next = self.cfg_ethertype.val();
        self.core.cfg_ecn_words.next = self.cfg_ecn_words.val();
        for i in 0..N {
            self.core.s_axis_rx[i].tvalid.next = self.s_axis_rx[i].tvalid.val();
            self.s_axis_rx[i].tready.next = self.core.s_axis_rx[i].tready.val();
            self.core.s_axis_rx[i].tdata.next = self.s_axis_rx[i].tdata.val();
            self.core.s_axis_rx[i].tkeep.next = self.s_axis_rx[i].tkeep.val();
            self.core.s_axis_rx[i].tlast.next = self.s_axis_rx[i].tlast.val();
            self.core.s_axis_rx[i].tuser.next = self.s_axis_rx[i].tuser.val();
            self.m_axis_tx[i].tvalid.next = self.core.m_axis_tx[i].tvalid.val();
            self.core.m_axis_tx[i].tready.next = self.m_axis_tx[i].tready.val();
            self.m_axis_tx[i].tdata.next = self.core.m_axis_tx[i].tdata.val();
            self.m_axis_tx[i].tkeep.next = self.core.m_axis_tx[i].tkeep.val();
            self.m_axis_tx[i].tlast.next = self.core.m_axis_tx[i].tlast.val();
            self.ev_valid[i].next = self.core.ev_valid[i].val();
            self.ev_reason[i].next = self.core.ev_reason[i].val();
            self.ev_off[i].next = self.core.ev_off[i].val();
            self.ev_full[i].next = self.core.ev_full[i].val();
            self.ev_sent[i].next = self.core.ev_sent[i].val();
            self.ev_marked[i].next = self.core.ev_marked[i].val();
            self.engines[i].s_valid.next = self.core.eng_valid[i].val();
            self.engines[i].s_data.next = self.core.eng_data[i].val();
            self.engines[i].s_first.next = self.core.eng_first[i].val();
            self.engines[i].s_down.next = self.core.eng_down[i].val();
            self.core.eng_room[i].next = self.engines[i].room.val();
            self.engines[i].others.next = self.core.eng_others[i].val();
            self.core.eng_take[i].next = self.engines[i].take.val();
            self.engines[i].o_valid.next = self.core.eng_op_valid[i].val();
            self.engines[i].o_data.next = self.core.eng_op_data[i].val();
            self.engines[i].o_rc.next = self.core.eng_op_rc[i].val();
            self.engines[i].o_last.next = self.core.eng_op_last[i].val();
            self.core.red[i].valid.next = self.engines[i].m.valid.val();
            self.engines[i].m.ready.next = self.core.red[i].ready.val();
            self.core.red[i].of.next = self.engines[i].m.of.val();
            self.engines[i].tick.next = self.tick.q.val();
            self.engines[i].cfg_enable.next = self.cfg_engines.val().get_bit(i);
            self.engines[i].cfg_ieee_nan.next = self.cfg_ieee_nan.val();
            self.engines[i].cfg_address.next = self.cfg_address[i].val();
            self.engines[i].cfg_ethertype.next = self.cfg_ethertype.val();
            self.engines[i].cfg_threshold_1.next = self.cfg_threshold_1.val();
            self.engines[i].cfg_threshold_2.next = self.cfg_threshold_2.val();
            self.engines[i].cfg_threshold_3.next = self.cfg_threshold_3.val();
            self.engines[i].cfg_timeout_0.next = self.cfg_timeout_0.val();
            self.engines[i].cfg_timeout_1.next = self.cfg_timeout_1.val();
            self.engines[i].cfg_timeout_2.next = self.cfg_timeout_2.val();
            self.engines[i].cfg_timeout_3.next = self.cfg_timeout_3.val();
            self.events[i].valid.next = self.engines[i].ev_valid.val();
            self.events[i].code.next = self.engines[i].ev_code.val();
            self.ev_engine[i].next = self.events[i].m.val();
            self.used[i].next = self.engines[i].used.val();
        }
    }
}
