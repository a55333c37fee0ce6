//! The input of a port: checks, table lookup, words for the queues.

use super::RedCheck;
use crate::blocks::RamRegForward;
use crate::prelude::*;

hdl_module! {
    /// Input of a switch port: checks each frame, looks up where it goes and hands its words on.
    /// Never stalls: one word a clock, frames back to back. Latency: 2 clocks from s_axis to m_*,
    /// and the decision comes with the frame's last word.
    /// Stages: 1 word registered; 2 aligned, m_*; beside it 2 to 4 the tables, 5 their entry, 6 where to (from the first word);
    /// 3 header fields, 4 to 6 their checks.
    /// A reduction frame is moved by two bytes, so that its 64-bit fields stand in words 0 to 11, and stored from
    /// word 6 on: 6, 7 (reduction header), 8 to 11 (data), then 0 to 5. Word 6 carries VNI, tree and reduction id in
    /// the place of pad bytes, word 4 the wait count in the place of the destination, word 0 nothing: what they
    /// held is known.
    pub struct SwitchRx<
        const N: usize, const A: usize, const E: usize, const TU: usize, const TM: usize,
        const MW: usize,
    > {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset. Keep the MAC in reset as long.
        pub rst: Signal<In, Bit>,
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
        /// Number of the word that m_* carries in the next clock.
        pub m_beat: Signal<Out, Bits<A>>,
        /// A word for the queues.
        pub m_valid: Signal<Out, Bit>,
        /// Its place in the stored frame.
        pub m_offset: Signal<Out, Bits<A>>,
        /// The word.
        pub m_data: Signal<Out, Bits<64>>,
        /// It is the frame's last.
        pub m_end: Signal<Out, Bit>,
        /// Ports whose queue keeps the frame; with m_end.
        pub m_take: Signal<Out, Bits<N>>,
        /// Words, kind (0 plain, 1 up, 2 pass), bytes in the last word less one; with m_end.
        pub m_entry: Signal<Out, Bits<E>>,
        /// A frame has ended.
        pub ev_valid: Signal<Out, Bit>,
        /// 0 forwarded, 1 bad frame, 2 malformed, 3 no route, 4 bad entry port, 5 hairpin, 6 entry port disabled.
        pub ev_reason: Signal<Out, Bits<3>>,
        /// A bit per disabled port that would have got a copy.
        pub ev_off: Signal<Out, Bits<N>>,

        unicast: RamRegForward<7, TU>,
        multicast: RamRegForward<MW, TM>,

        /// Stage 1: a word, its flags and its number in the frame (saturates).
        r_valid: DFF<Bit>,
        r_data: DFF<Bits<64>>,
        r_last: DFF<Bit>,
        r_user: DFF<Bit>,
        r_keep: DFF<Bits<8>>,
        r_beat: DFF<Bits<A>>,
        /// It is the first of a frame; the frame is too short if it ends here; it is too long for a queue.
        r_first: DFF<Bit>,
        r_short: DFF<Bit>,
        r_long: DFF<Bit>,
        /// Number of the next word.
        beat: DFF<Bits<A>>,
        beat_full: Signal<Local, Bit>,
        /// Its number is 0, 1, 2, 4, 6.
        at_0: Signal<Local, Bit>,
        at_1: Signal<Local, Bit>,
        at_2: Signal<Local, Bit>,
        at_4: Signal<Local, Bit>,
        at_6: Signal<Local, Bit>,
        /// Address in the first word, most significant byte first.
        address: Signal<Local, Bits<32>>,
        /// Address of this frame.
        a_address: DFF<Bits<32>>,
        a_multicast: DFF<Bit>,
        /// The address is well formed: no bit above the table is set.
        a_fits: DFF<Bit>,
        /// Age of the lookup.
        look_1: DFF<Bit>,
        look_2: DFF<Bit>,
        look_3: DFF<Bit>,
        /// The entries of the tables.
        entry: DFF<Bits<MW>>,
        way: DFF<Bits<7>>,
        from_parent: Signal<Local, Bit>,
        from_child: Signal<Local, Bit>,
        up_mask: Signal<Local, Bits<N>>,
        to_mask: Signal<Local, Bits<N>>,
        children: Signal<Local, Bits<N>>,
        /// Where to: enabled ports, disabled ports, down a tree, wait count, an engine takes part, reason to drop,
        /// there is one, it is the entry port.
        t_ports: DFF<Bits<N>>,
        t_off: DFF<Bits<N>>,
        t_down: DFF<Bit>,
        t_wait: DFF<Bits<20>>,
        t_engine: DFF<Bit>,
        t_reason: DFF<Bits<3>>,
        t_drop: DFF<Bit>,
        t_disabled: DFF<Bit>,
        targets: Signal<Local, Bits<N>>,
        why: Signal<Local, Bits<3>>,
        engine_on: Signal<Local, Bit>,
        /// The frame is a reduction frame on a tree.
        red_now: Signal<Local, Bit>,
        red_q: DFF<Bit>,
        red: Signal<Local, Bit>,
        ethertype: Signal<Local, Bits<16>>,
        /// Last two bytes of the word before.
        carry: DFF<Bits<16>>,
        aligned: Signal<Local, Bits<64>>,
        vni: DFF<Bits<16>>,
        /// Every byte of the word is present; those present are in a row from bit 0 on.
        whole: Signal<Local, Bit>,
        contiguous: Signal<Local, Bit>,
        /// Bytes present, less one: bits 0, 1 and 2.
        bytes_0: Signal<Local, Bit>,
        bytes_1: Signal<Local, Bit>,
        bytes_2: Signal<Local, Bit>,
        /// A word with a hole, or a short word before the last.
        ragged: DFF<Bit>,
        ragged_now: Signal<Local, Bit>,
        ragged_word: Signal<Local, Bit>,
        /// Header of a reduction frame.
        check: RedCheck,
        /// Runt, too long, ragged or marked bad; not a legal reduction frame.
        bad: Signal<Local, Bit>,
        illegal: Signal<Local, Bit>,
        reason: Signal<Local, Bits<3>>,
        drop: Signal<Local, Bit>,
        ports: Signal<Local, Bits<N>>,
        kind: Signal<Local, Bits<2>>,
        /// Stage 2.
        w_valid: DFF<Bit>,
        w_offset: DFF<Bits<A>>,
        w_data: DFF<Bits<64>>,
        w_end: DFF<Bit>,
        w_take: DFF<Bits<N>>,
        w_entry: DFF<Bits<E>>,
        w_reason: DFF<Bits<3>>,
        w_off: DFF<Bits<N>>,
        port_one: Param<1, N>,
        a: Param<A, 5>,
        tu: Param<TU, 5>,
        tm: Param<TM, 5>,
    }
}

impl<
    const N: usize,
    const A: usize,
    const E: usize,
    const TU: usize,
    const TM: usize,
    const MW: usize,
> Logic for SwitchRx<N, A, E, TU, TM, MW>
{
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(
            self,
            clk,
            r_valid,
            r_data,
            r_last,
            r_user,
            r_keep,
            r_beat,
            r_first,
            r_short,
            r_long,
            beat,
            a_address,
            a_multicast,
            a_fits,
            look_1,
            look_2,
            look_3,
            entry,
            way,
            t_ports,
            t_down,
            t_wait,
            t_off,
            t_engine,
            t_reason,
            t_drop,
            t_disabled,
            red_q,
            carry,
            vni,
            ragged,
            w_valid,
            w_offset,
            w_data,
            w_end,
            w_take,
            w_entry,
            w_reason,
            w_off
        );
        // Stage 1: the word and its number.
        self.s_axis_rx_tready.next = true;
        self.r_valid.d.next = self.s_axis_rx_tvalid.val();
        self.r_data.d.next = self.s_axis_rx_tdata.val();
        self.r_keep.d.next = self.s_axis_rx_tkeep.val();
        self.r_last.d.next = self.s_axis_rx_tlast.val();
        self.r_user.d.next = self.s_axis_rx_tuser.val();
        self.r_beat.d.next = self.beat.q.val();
        self.r_first.d.next = self.beat.q.val() == 0;
        self.r_short.d.next = self.beat.q.val() < 7;
        self.r_long.d.next = (self.beat.q.val() + 16) < 16;
        self.beat_full.next = self.beat.q.val().all();
        if self.s_axis_rx_tvalid.val() {
            if !self.beat_full.val() {
                self.beat.d.next = self.beat.q.val() + 1;
            }
            if self.s_axis_rx_tlast.val() {
                self.beat.d.next = 0.into();
            }
        }
        self.at_0.next = self.r_valid.q.val() & self.r_first.q.val();
        self.at_1.next = self.r_valid.q.val() & (self.r_beat.q.val() == 1);
        self.at_2.next = self.r_valid.q.val() & (self.r_beat.q.val() == 2);
        self.at_4.next = self.r_valid.q.val() & (self.r_beat.q.val() == 4);
        self.at_6.next = self.r_valid.q.val() & (self.r_beat.q.val() == 6);

        // The address, and its way through the tables.
        self.address.next = (bit_cast::<32, 8>(self.r_data.q.val().get_bits::<8>(16)) << 24)
            | (bit_cast::<32, 8>(self.r_data.q.val().get_bits::<8>(24)) << 16)
            | (bit_cast::<32, 8>(self.r_data.q.val().get_bits::<8>(32)) << 8)
            | bit_cast::<32, 8>(self.r_data.q.val().get_bits::<8>(40));
        self.unicast.clk.next = self.clk.val();
        self.unicast.rd_addr.next = self.address.val().get_bits::<TU>(12);
        self.unicast.wr_en.next = self.uc_en.val();
        self.unicast.wr_addr.next = self.uc_addr.val();
        self.unicast.wr_data.next = self.uc_data.val();
        self.multicast.clk.next = self.clk.val();
        self.multicast.rd_addr.next = self.address.val().get_bits::<TM>(3);
        self.multicast.wr_en.next = self.mc_en.val();
        self.multicast.wr_addr.next = self.mc_addr.val();
        self.multicast.wr_data.next = self.mc_data.val();
        if self.at_0.val() {
            self.a_address.d.next = self.address.val();
            self.a_multicast.d.next = self.r_data.q.val().get_bit(0);
            self.a_fits.d.next = (self.r_data.q.val().get_bits::<16>(0) == 2)
                & ((bit_cast::<20, 32>(self.address.val() >> 12) >> self.tu.val()) == 0);
            if self.r_data.q.val().get_bit(0) {
                self.a_fits.d.next = (self.r_data.q.val().get_bits::<16>(0) == 3)
                    & (self.address.val().get_bits::<9>(23) == 0x1ff)
                    & (self.address.val().get_bits::<3>(0) == 7)
                    & !self.address.val().get_bits::<2>(21).any()
                    & !self.address.val().get_bits::<2>(16).any()
                    & ((self.address.val().get_bits::<13>(3) >> self.tm.val()) == 0);
            }
        }
        self.look_1.d.next = self.at_0.val();
        self.look_2.d.next = self.look_1.q.val();
        self.look_3.d.next = self.look_2.q.val();

        // Stages 5 and 6 of the lookup: the entry, and where to.
        self.entry.d.next = self.multicast.rd_data.val();
        self.way.d.next = self.unicast.rd_data.val();
        self.children.next = self.entry.q.val().get_bits::<N>(27);
        self.up_mask.next = self.port_one.val() << self.entry.q.val().get_bits::<6>(20);
        self.from_parent.next = (self.up_mask.val() & self.own.val()).any();
        self.from_child.next = (self.children.val() & self.own.val()).any();
        self.to_mask.next = self.port_one.val() << self.way.q.val().get_bits::<6>(0);
        self.targets.next = self.to_mask.val();
        self.why.next = 0.into();
        if (self.to_mask.val() & self.own.val()).any() {
            self.why.next = 5.into();
        }
        if !self.way.q.val().get_bit(6) | !self.to_mask.val().any() {
            self.why.next = 3.into();
        }
        self.engine_on.next = (self.up_mask.val() & self.cfg_engines.val()).any();
        if self.a_multicast.q.val() {
            self.targets.next = self.up_mask.val();
            self.why.next = 4.into();
            if self.from_child.val() {
                self.why.next = 0.into();
                if !self.up_mask.val().any() {
                    self.why.next = 3.into();
                }
            }
            if self.from_parent.val() {
                self.why.next = 0.into();
                self.targets.next = self.children.val() & !self.own.val();
            }
            if !self.entry.q.val().get_bit(26) {
                self.why.next = 3.into();
            }
        }
        if !self.a_fits.q.val() {
            self.why.next = 3.into();
        }
        if self.look_3.q.val() {
            self.t_wait.d.next = self.entry.q.val().get_bits::<20>(0);
            self.t_engine.d.next =
                self.entry.q.val().get_bits::<20>(0).any() & self.engine_on.val();
            self.t_down.d.next = self.a_multicast.q.val() & self.from_parent.val();
            self.t_ports.d.next = self.targets.val() & self.cfg_enabled.val();
            self.t_off.d.next = self.targets.val() & !self.cfg_enabled.val();
            self.t_reason.d.next = self.why.val();
            self.t_drop.d.next = self.why.val().any();
        }
        self.t_disabled.d.next = !(self.cfg_enabled.val() & self.own.val()).any();

        // Stage 2: alignment. A reduction frame is known by its second word.
        self.ethertype.next = (bit_cast::<16, 8>(self.r_data.q.val().get_bits::<8>(32)) << 8)
            | bit_cast::<16, 8>(self.r_data.q.val().get_bits::<8>(40));
        self.red_now.next = self.cfg_red.val()
            & self.a_multicast.q.val()
            & (self.ethertype.val() == self.cfg_ethertype.val());
        self.red.next = self.red_q.q.val();
        if self.at_1.val() {
            self.red.next = self.red_now.val();
        }
        if self.at_0.val() {
            self.red.next = false;
        }
        self.red_q.d.next = self.red.val();
        if self.r_valid.q.val() {
            self.carry.d.next = self.r_data.q.val().get_bits::<16>(48);
        }
        self.aligned.next = (bit_cast::<64, 48>(self.r_data.q.val().get_bits::<48>(0)) << 16)
            | bit_cast::<64, 16>(self.carry.q.val());
        if self.at_2.val() {
            self.vni.d.next = (bit_cast::<16, 8>(self.aligned.val().get_bits::<8>(32)) << 8)
                | bit_cast::<16, 8>(self.aligned.val().get_bits::<8>(40));
        }
        self.w_valid.d.next = self.r_valid.q.val();
        self.w_offset.d.next = self.r_beat.q.val();
        self.w_data.d.next = self.r_data.q.val();
        if self.red.val() {
            self.w_data.d.next = self.aligned.val();
            if self.at_4.val() {
                self.w_data.d.next = (bit_cast::<64, 32>(self.aligned.val().get_bits::<32>(32))
                    << 32)
                    | bit_cast::<64, 20>(self.t_wait.q.val());
            }
            if self.at_6.val() {
                self.w_data.d.next = (bit_cast::<64, 32>(self.aligned.val().get_bits::<32>(32))
                    << 32)
                    | (bit_cast::<64, 16>(self.vni.q.val()) << 16)
                    | (bit_cast::<64, 13>(self.a_address.q.val().get_bits::<13>(3)) << 3)
                    | bit_cast::<64, 3>(self.a_address.q.val().get_bits::<3>(18));
            }
            self.w_offset.d.next = self.r_beat.q.val() + 6;
            if self.r_beat.q.val() >= 6 {
                self.w_offset.d.next = self.r_beat.q.val() - 6;
            }
        }

        // The last word decides.
        self.whole.next = self.r_keep.q.val().all();
        self.contiguous.next = self.r_keep.q.val().get_bit(0)
            & !(self.r_keep.q.val() & (self.r_keep.q.val() + 1)).any();
        self.bytes_2.next = self.r_keep.q.val().get_bit(4);
        self.bytes_1.next = self.r_keep.q.val().get_bit(6)
            | (self.r_keep.q.val().get_bit(2) & !self.r_keep.q.val().get_bit(4));
        self.bytes_0.next = self.r_keep.q.val().get_bit(7)
            | (self.r_keep.q.val().get_bit(5) & !self.r_keep.q.val().get_bit(6))
            | (self.r_keep.q.val().get_bit(3) & !self.r_keep.q.val().get_bit(4))
            | (self.r_keep.q.val().get_bit(1) & !self.r_keep.q.val().get_bit(2));
        self.ragged_word.next = !self.contiguous.val() | (!self.r_last.q.val() & !self.whole.val());
        self.ragged_now.next = self.ragged_word.val() | (self.ragged.q.val() & !self.at_0.val());
        if self.r_valid.q.val() {
            self.ragged.d.next = self.ragged_now.val();
        }
        self.check.clk.next = self.clk.val();
        self.check.s_valid.next = self.r_valid.q.val();
        self.check.s_number.next = bit_cast::<4, A>(self.r_beat.q.val());
        self.check.s_word.next = self.aligned.val();
        self.check.address.next = self.a_address.q.val();
        self.bad.next = self.r_user.q.val()
            | self.ragged_now.val()
            | self.r_short.q.val()
            | self.r_long.q.val();
        self.illegal.next = self.red.val()
            & (self.check.malformed.val()
                | (self.check.no_count.val() & !self.t_down.q.val())
                | (self.r_beat.q.val() != 11)
                | (self.r_keep.q.val() != 0x3f));
        self.drop.next =
            self.t_drop.q.val() | self.t_disabled.q.val() | self.illegal.val() | self.bad.val();
        self.reason.next = self.t_reason.q.val();
        if self.illegal.val() & !self.t_drop.q.val() {
            self.reason.next = 2.into();
        }
        if self.bad.val() {
            self.reason.next = 1.into();
        }
        if self.t_disabled.q.val() {
            self.reason.next = 6.into();
        }
        // Down a tree the frame also goes to the engine of its own port.
        self.ports.next = self.t_ports.q.val();
        self.kind.next = 0.into();
        if self.red.val() {
            self.kind.next = 2.into();
            if self.t_engine.q.val() & !self.t_down.q.val() {
                self.kind.next = 1.into();
            }
            if self.t_engine.q.val() & self.t_down.q.val() {
                self.ports.next = self.t_ports.q.val() | self.own.val();
            }
        }
        self.w_end.d.next = self.r_valid.q.val() & self.r_last.q.val();
        self.w_reason.d.next = self.reason.val();
        self.w_take.d.next = 0.into();
        self.w_off.d.next = 0.into();
        if !self.drop.val() {
            self.w_take.d.next = self.ports.val();
        }
        if !self.drop.val() & self.r_valid.q.val() & self.r_last.q.val() {
            self.w_off.d.next = self.t_off.q.val();
        }
        self.w_entry.d.next = bit_cast::<E, A>(self.r_beat.q.val() + 1)
            | (bit_cast::<E, 2>(self.kind.val()) << self.a.val())
            | (bit_cast::<E, 1>(self.bytes_0.val().into()) << (self.a.val() + 2))
            | (bit_cast::<E, 1>(self.bytes_1.val().into()) << (self.a.val() + 3))
            | (bit_cast::<E, 1>(self.bytes_2.val().into()) << (self.a.val() + 4));
        self.m_beat.next = self.r_beat.q.val();
        self.m_valid.next = self.w_valid.q.val();
        self.m_offset.next = self.w_offset.q.val();
        self.m_data.next = self.w_data.q.val();
        self.m_end.next = self.w_end.q.val();
        self.m_take.next = self.w_take.q.val();
        self.m_entry.next = self.w_entry.q.val();
        self.ev_valid.next = self.w_end.q.val();
        self.ev_reason.next = self.w_reason.q.val();
        self.ev_off.next = self.w_off.q.val();
        if self.rst.val() {
            self.r_valid.d.next = false;
            self.beat.d.next = 0.into();
            self.w_valid.d.next = false;
            self.w_end.d.next = false;
        }
    }

    fn timing(&self) -> Vec<TimingInfo> {
        Self::module_info(format!(
            "switch_rx_n{N}_u{}_t{}",
            1usize << TU,
            1usize << TM
        ))
        .into_timing()
    }
}
