//! The switch without its registers: inputs, crosspoint queues, outputs.

use super::{SwitchOut, SwitchRow};
use crate::prelude::*;

hdl_module! {
    /// Switch of N ports, 64 bits each: a queue for each pair of input and output, whole frames, no shared memory.
    /// One word a clock and port; no frame waits for one to another output.
    /// Latency: 8 clocks from the edge that takes a frame's last word to its first word at m_axis_tx, 5 to eng_*.
    /// A table write takes effect in the tables of all ports in one clock: a frame sees the old or the new entry.
    #[module("switch_core_n{N}_d{}_u{}_t{}", 1usize << A, 1usize << TU, 1usize << TM)]
    pub struct SwitchCore<
        const N: usize, const A: usize, const E: usize, const TU: usize, const TM: usize,
        const MW: usize,
    > {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset; keep the MACs in reset as long. Tables keep what they hold.
        pub rst: Signal<In, Bit>,
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
        /// Write an entry of the unicast table.
        pub uc_en: Signal<In, Bit>,
        /// Node, low bits.
        pub uc_addr: Signal<In, Bits<TU>>,
        /// Port 5:0, valid 6.
        pub uc_data: Signal<In, Bits<7>>,
        /// Write an entry of the multicast table.
        pub mc_en: Signal<In, Bit>,
        /// Tree, low bits.
        pub mc_addr: Signal<In, Bits<TM>>,
        /// Wait count 19:0, parent port 25:20, valid 26, child ports from 27 on.
        pub mc_data: Signal<In, Bits<MW>>,
        /// A bit per port that is enabled.
        pub cfg_enabled: Signal<In, Bits<N>>,
        /// Reduction frames are parsed and go to engines; low in a switch that has none.
        pub cfg_red: Signal<In, Bit>,
        /// A bit per port whose engine sees frames; those for the others pass it unchanged.
        pub cfg_engines: Signal<In, Bits<N>>,
        /// Ethertype of reduction frames.
        pub cfg_ethertype: Signal<In, Bits<16>>,
        /// The engine of the port can take a whole frame.
        pub eng_room: Bank<Signal<In, Bit>, N>,
        /// A word of a reduction frame for the engine: 6, 7, 8 to 11, 1 to 5.
        pub eng_valid: Bank<Signal<Out, Bit>, N>,
        /// The word.
        pub eng_data: Bank<Signal<Out, Bits<64>>, N>,
        /// It is the frame's first.
        pub eng_first: Bank<Signal<Out, Bit>, N>,
        /// 1 towards the parent, 2 passes, 3 down the tree through this port: engine only.
        pub eng_kind: Bank<Signal<Out, Bits<2>>, N>,
        /// A word of a frame from the engine of the port.
        pub red_valid: Bank<Signal<In, Bit>, N>,
        /// It is taken.
        pub red_ready: Bank<Signal<Out, Bit>, N>,
        /// The word.
        pub red_data: Bank<Signal<In, Bits<64>>, N>,
        /// It is the frame's last: 6 bytes.
        pub red_last: Bank<Signal<In, Bit>, N>,
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
        rows: Bank<SwitchRow<N, A, E, TU, TM, MW>, N>,
        outs: Bank<SwitchOut<N, A, E>, N>,
        /// No port.
        none: Param<0, N>,
    }
}

impl<
    const N: usize,
    const A: usize,
    const E: usize,
    const TU: usize,
    const TM: usize,
    const MW: usize,
> Logic for SwitchCore<N, A, E, TU, TM, MW>
{
    #[hdl_gen]
    fn update(&mut self) {
        for i in 0..N {
            self.rows[i].s_axis_rx_tvalid.next = self.s_axis_rx_tvalid[i].val();
            self.s_axis_rx_tready[i].next = self.rows[i].s_axis_rx_tready.val();
            self.rows[i].s_axis_rx_tdata.next = self.s_axis_rx_tdata[i].val();
            self.rows[i].s_axis_rx_tkeep.next = self.s_axis_rx_tkeep[i].val();
            self.rows[i].s_axis_rx_tlast.next = self.s_axis_rx_tlast[i].val();
            self.rows[i].s_axis_rx_tuser.next = self.s_axis_rx_tuser[i].val();
            self.rows[i].uc_en.next = self.uc_en.val();
            self.rows[i].uc_addr.next = self.uc_addr.val();
            self.rows[i].uc_data.next = self.uc_data.val();
            self.rows[i].mc_en.next = self.mc_en.val();
            self.rows[i].mc_addr.next = self.mc_addr.val();
            self.rows[i].mc_data.next = self.mc_data.val();
            self.rows[i].own.next = self.none.val().replace_bit(i, true);
            self.rows[i].cfg_enabled.next = self.cfg_enabled.val();
            self.rows[i].cfg_red.next = self.cfg_red.val();
            self.rows[i].cfg_engines.next = self.cfg_engines.val();
            self.rows[i].cfg_ethertype.next = self.cfg_ethertype.val();
            self.ev_valid[i].next = self.rows[i].ev_valid.val();
            self.ev_reason[i].next = self.rows[i].ev_reason.val();
            self.ev_off[i].next = self.rows[i].ev_off.val();
            self.ev_full[i].next = self.rows[i].dropped.val();

            self.outs[i].own.next = self.none.val().replace_bit(i, true);
            self.outs[i].eng_room.next = self.eng_room[i].val();
            self.eng_valid[i].next = self.outs[i].eng_valid.val();
            self.eng_data[i].next = self.outs[i].eng_data.val();
            self.eng_first[i].next = self.outs[i].eng_first.val();
            self.eng_kind[i].next = self.outs[i].eng_kind.val();
            self.outs[i].red_valid.next = self.red_valid[i].val();
            self.red_ready[i].next = self.outs[i].red_ready.val();
            self.outs[i].red_data.next = self.red_data[i].val();
            self.outs[i].red_last.next = self.red_last[i].val();
            self.m_axis_tx_tvalid[i].next = self.outs[i].m_axis_tx_tvalid.val();
            self.outs[i].m_axis_tx_tready.next = self.m_axis_tx_tready[i].val();
            self.m_axis_tx_tdata[i].next = self.outs[i].m_axis_tx_tdata.val();
            self.m_axis_tx_tkeep[i].next = self.outs[i].m_axis_tx_tkeep.val();
            self.m_axis_tx_tlast[i].next = self.outs[i].m_axis_tx_tlast.val();
            self.ev_sent[i].next = self.outs[i].sent.val();
            for j in 0..N {
                self.outs[j].q_valid[i].next = self.rows[i].q_valid[j].val();
                self.outs[j].q_entry[i].next = self.rows[i].q_entry[j].val();
                self.outs[j].q_red[i].next = self.rows[i].q_red[j].val();
                self.rows[i].q_pop[j].next = self.outs[j].q_pop[i].val();
                self.rows[i].q_go[j].next = self.outs[j].q_go[i].val();
                self.outs[j].q_data[i].next = self.rows[i].q_data[j].val();
            }
        }
    }
}
