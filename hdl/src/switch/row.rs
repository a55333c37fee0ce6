//! One input of the switch with its queues.

use super::{Crosspoint, SwitchRx};
use crate::blocks::GatherBits;
use crate::bus::{AxisRxIn, RamWriteIn};
use crate::prelude::*;

hdl_module! {
    /// One input of the switch: checks, table lookup and a queue for each output.
    /// Latency: 3 clocks from a frame's last word to entry_valid of its queues.
    #[module("switch_row_n{N}_d{}_u{}_t{}", 1usize << A, 1usize << TU, 1usize << TM)]
    pub struct SwitchRow<
        const N: usize, const A: usize, const E: usize, const TU: usize, const TM: usize,
        const MW: usize,
    > {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset.
        pub rst: Signal<In, Bit>,
        /// AXI4-Stream from the MAC; always taken.
        pub s_axis_rx: AxisRxIn<64, 8>,
        /// Write port of the unicast table: node, low bits; port in 5:0, valid 6.
        pub uc: RamWriteIn<7, TU>,
        /// Write port of the multicast table: tree, low bits; wait count in 19:0, parent port 25:20, valid 26, child ports from 27 on.
        pub mc: RamWriteIn<MW, TM>,
        /// This port, one-hot.
        pub own: Signal<In, Bits<N>>,
        /// A bit per port that is enabled.
        pub cfg_enabled: Signal<In, Bits<N>>,
        /// Reduction frames are parsed and go to engines; low in a switch that has none.
        pub cfg_red: Signal<In, Bit>,
        /// A bit per port whose engine sees frames; those for the others pass it unchanged.
        pub cfg_engines: Signal<In, Bits<N>>,
        /// Ethertype of reduction frames.
        pub cfg_ethertype: Signal<In, Bits<16>>,
        /// For each output: a frame waits.
        pub q_valid: Bank<Signal<Out, Bit>, N>,
        /// Its entry: words, kind, bytes of the last word less one.
        pub q_entry: Bank<Signal<Out, Bits<E>>, N>,
        /// Its kind, with q_valid: one clock before q_entry.
        pub q_kind: Bank<Signal<Out, Bits<2>>, N>,
        /// The entry is used up.
        pub q_pop: Bank<Signal<In, Bit>, N>,
        /// Move on to the next word.
        pub q_go: Bank<Signal<In, Bit>, N>,
        /// Word at the head.
        pub q_data: Bank<Signal<Out, Bits<64>>, N>,
        /// The queue was long two clocks ago.
        pub q_long: Bank<Signal<Out, Bit>, N>,
        /// A bit per output: a frame was dropped because its queue is full.
        pub dropped: Signal<Out, Bits<N>>,
        /// A frame has ended.
        pub ev_valid: Signal<Out, Bit>,
        /// Why it was dropped, 0 if it was not.
        pub ev_reason: Signal<Out, Bits<3>>,
        /// A bit per disabled port that would have got a copy.
        pub ev_off: Signal<Out, Bits<N>>,
        /// Words of a queue above which it is long.
        pub cfg_ecn_limit: Signal<In, Bits<A>>,
        rx: SwitchRx<N, A, E, TU, TM, MW>,
        queues: Bank<Crosspoint<A, E>, N>,
        lost: GatherBits<N>,
    }
}

impl<
    const N: usize,
    const A: usize,
    const E: usize,
    const TU: usize,
    const TM: usize,
    const MW: usize,
> Logic for SwitchRow<N, A, E, TU, TM, MW>
{
    #[hdl_gen]
    fn update(&mut self) {
        AxisRxIn::<64, 8>::link(&mut self.s_axis_rx, &mut self.rx.s_axis_rx);
        RamWriteIn::<7, TU>::link(&mut self.uc, &mut self.rx.uc);
        RamWriteIn::<MW, TM>::link(&mut self.mc, &mut self.rx.mc);
        self.rx.own.next = self.own.val();
        self.rx.cfg_enabled.next = self.cfg_enabled.val();
        self.rx.cfg_red.next = self.cfg_red.val();
        self.rx.cfg_engines.next = self.cfg_engines.val();
        self.rx.cfg_ethertype.next = self.cfg_ethertype.val();
        self.ev_valid.next = self.rx.ev_valid.val();
        self.ev_reason.next = self.rx.ev_reason.val();
        self.ev_off.next = self.rx.ev_off.val();
        for i in 0..N {
            self.queues[i].w_beat.next = self.rx.m_beat.val();
            self.queues[i].w_valid.next = self.rx.m_valid.val();
            self.queues[i].w_end.next = self.rx.m_end.val();
            self.queues[i].w_take.next = self.rx.m_take.val().get_bit(i);
            self.queues[i].w_early.next = self.rx.m_early.val();
            self.queues[i].w_late.next = self.rx.m_late.val();
            self.queues[i].w_offset.next = self.rx.m_offset.val();
            self.queues[i].w_data.next = self.rx.m_data.val();
            self.queues[i].w_entry.next = self.rx.m_entry.val();
            if self.own.val().get_bit(i) {
                self.queues[i].w_early.next = self.rx.h_early.val();
                self.queues[i].w_late.next = self.rx.h_late.val();
                self.queues[i].w_offset.next = self.rx.h_offset.val();
                self.queues[i].w_data.next = self.rx.h_data.val();
                self.queues[i].w_entry.next = self.rx.h_entry.val();
            }
            self.q_valid[i].next = self.queues[i].entry_valid.val();
            self.q_entry[i].next = self.queues[i].entry.val();
            self.q_kind[i].next = self.queues[i].entry_kind.val();
            self.queues[i].entry_pop.next = self.q_pop[i].val();
            self.queues[i].rd_go.next = self.q_go[i].val();
            self.q_data[i].next = self.queues[i].rd_data.val();
            self.q_long[i].next = self.queues[i].is_long.val();
            self.queues[i].cfg_ecn_limit.next = self.cfg_ecn_limit.val();
            self.lost.s[i].next = self.queues[i].dropped.val();
        }
        self.dropped.next = self.lost.m.val();
    }
}
