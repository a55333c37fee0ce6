//! The switch without its registers: inputs, crosspoint queues, outputs.

use super::{SwitchOut, SwitchRow};
use crate::bus::{AxisOut, AxisRxIn, FramesIn, RamWriteIn};
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
        /// Reduction frames are parsed and go to engines; low in a switch that has none.
        pub cfg_red: Signal<In, Bit>,
        /// A bit per port whose engine sees frames; those for the others pass it unchanged.
        pub cfg_engines: Signal<In, Bits<N>>,
        /// Ethertype of reduction frames.
        pub cfg_ethertype: Signal<In, Bits<16>>,
        /// The engine of the port can take a whole frame that it looks at.
        pub eng_room: Bank<Signal<In, Bit>, N>,
        /// A word of a reduction frame for the engine: 6, 7, 8 to 11, 1 to 5.
        pub eng_valid: Bank<Signal<Out, Bit>, N>,
        /// The word.
        pub eng_data: Bank<Signal<Out, Bits<64>>, N>,
        /// It is the frame's first.
        pub eng_first: Bank<Signal<Out, Bit>, N>,
        /// Its frame goes down the tree through this port, for the engine only; otherwise towards the parent.
        pub eng_down: Bank<Signal<Out, Bit>, N>,
        /// In clock 4 of a brief contribution, counted from its first word: two or more others go with it.
        pub eng_others: Bank<Signal<Out, Bit>, N>,
        /// In clock 5: the engine takes them all.
        pub eng_take: Bank<Signal<In, Bit>, N>,
        /// Data of one of them, from clock 7 on.
        pub eng_op_valid: Bank<Signal<Out, Bit>, N>,
        /// Its word 8.
        pub eng_op_data: Bank<Signal<Out, Bits<64>>, N>,
        /// Its result code.
        pub eng_op_rc: Bank<Signal<Out, Bits<3>>, N>,
        /// It is the last one.
        pub eng_op_last: Bank<Signal<Out, Bit>, N>,
        /// Frames of the engine of each port.
        pub red: Bank<FramesIn<64>, N>,
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
        /// A frame that leaves by this port has been marked.
        pub ev_marked: Bank<Signal<Out, Bit>, N>,
        /// Words of a queue above which frames that leave it are marked; 0: none are.
        pub cfg_ecn_words: Signal<In, Bits<10>>,
        rows: Bank<SwitchRow<N, A, E, TU, TM, MW>, N>,
        outs: Bank<SwitchOut<N, A, E>, N>,
        /// The same for the queues: what is never exceeded, if none are.
        limit: DFF<Bits<A>>,
        /// No port.
        none: Param<0, N>,
        zero: Param<0, A>,
        a: Param<A, 4>,
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
        self.limit.d.next = bit_cast::<A, 10>(self.cfg_ecn_words.val());
        if !self.cfg_ecn_words.val().any() | ((self.cfg_ecn_words.val() >> self.a.val()) != 0) {
            self.limit.d.next = !self.zero.val();
        }
        for i in 0..N {
            self.rows[i].s_axis_rx.tvalid.next = self.s_axis_rx[i].tvalid.val();
            self.s_axis_rx[i].tready.next = self.rows[i].s_axis_rx.tready.val();
            self.rows[i].s_axis_rx.tdata.next = self.s_axis_rx[i].tdata.val();
            self.rows[i].s_axis_rx.tkeep.next = self.s_axis_rx[i].tkeep.val();
            self.rows[i].s_axis_rx.tlast.next = self.s_axis_rx[i].tlast.val();
            self.rows[i].s_axis_rx.tuser.next = self.s_axis_rx[i].tuser.val();
            self.rows[i].uc.en.next = self.uc.en.val();
            self.rows[i].uc.addr.next = self.uc.addr.val();
            self.rows[i].uc.data.next = self.uc.data.val();
            self.rows[i].mc.en.next = self.mc.en.val();
            self.rows[i].mc.addr.next = self.mc.addr.val();
            self.rows[i].mc.data.next = self.mc.data.val();
            self.rows[i].own.next = self.none.val().replace_bit(i, true);
            self.rows[i].cfg_enabled.next = self.cfg_enabled.val();
            self.rows[i].cfg_red.next = self.cfg_red.val();
            self.rows[i].cfg_engines.next = self.cfg_engines.val();
            self.rows[i].cfg_ethertype.next = self.cfg_ethertype.val();
            self.rows[i].cfg_ecn_limit.next = self.limit.q.val();
            self.ev_valid[i].next = self.rows[i].ev_valid.val();
            self.ev_reason[i].next = self.rows[i].ev_reason.val();
            self.ev_off[i].next = self.rows[i].ev_off.val();
            self.ev_full[i].next = self.rows[i].dropped.val();

            self.outs[i].own.next = self.none.val().replace_bit(i, true);
            self.outs[i].eng_room.next = self.eng_room[i].val();
            self.eng_valid[i].next = self.outs[i].eng_valid.val();
            self.eng_data[i].next = self.outs[i].eng_data.val();
            self.eng_first[i].next = self.outs[i].eng_first.val();
            self.eng_down[i].next = self.outs[i].eng_down.val();
            self.eng_others[i].next = self.outs[i].eng_others.val();
            self.outs[i].eng_take.next = self.eng_take[i].val();
            self.eng_op_valid[i].next = self.outs[i].eng_op_valid.val();
            self.eng_op_data[i].next = self.outs[i].eng_op_data.val();
            self.eng_op_rc[i].next = self.outs[i].eng_op_rc.val();
            self.eng_op_last[i].next = self.outs[i].eng_op_last.val();
            self.outs[i].red.valid.next = self.red[i].valid.val();
            self.red[i].ready.next = self.outs[i].red.ready.val();
            self.outs[i].red.of.next = self.red[i].of.val();
            self.m_axis_tx[i].tvalid.next = self.outs[i].m_axis_tx.tvalid.val();
            self.outs[i].m_axis_tx.tready.next = self.m_axis_tx[i].tready.val();
            self.m_axis_tx[i].tdata.next = self.outs[i].m_axis_tx.tdata.val();
            self.m_axis_tx[i].tkeep.next = self.outs[i].m_axis_tx.tkeep.val();
            self.m_axis_tx[i].tlast.next = self.outs[i].m_axis_tx.tlast.val();
            self.ev_sent[i].next = self.outs[i].sent.val();
            self.ev_marked[i].next = self.outs[i].marked.val();
            for j in 0..N {
                self.outs[j].q_valid[i].next = self.rows[i].q_valid[j].val();
                self.outs[j].q_entry[i].next = self.rows[i].q_entry[j].val();
                self.outs[j].q_kind[i].next = self.rows[i].q_kind[j].val();
                self.rows[i].q_pop[j].next = self.outs[j].q_pop[i].val();
                self.rows[i].q_go[j].next = self.outs[j].q_go[i].val();
                self.outs[j].q_data[i].next = self.rows[i].q_data[j].val();
                self.outs[j].q_long[i].next = self.rows[i].q_long[j].val();
            }
        }
    }
}
