//! The input of a port: checks, table lookup, words for the queues.

mod store;

use super::RedCheck;
use crate::blocks::{AsyncRam, RamRegForward};
use crate::bus::{AxisRxIn, RamWriteIn};
use crate::prelude::*;
use tributary_protocol::red::{Counter, address};
use tributary_protocol::roce;

hdl_module! {
    /// Input of a switch port: checks each frame, looks up where it goes and hands its words on.
    /// Never stalls: one word a clock, frames back to back. Latency: 2 clocks from s_axis to m_valid, and the decision comes with the
    /// frame's last word; 5 or 6 to the word's place, 6 or 7 to the word.
    /// Stages: 1 word registered, its place and faults known; 2 m_valid; 2 to 4 the word waits, since how it is stored depends on the
    /// tables; 5 it is stored if its frame is moved; 6 otherwise; one more to m_data, h_data, on its
    /// way to all queues. Beside it, from the first word: 2 to 4 the tables, 5 their entry, 6
    /// ports decoded, 7 where to and how it is stored, 8 ready for the last word, which is the eighth or later. From
    /// the words with header fields: 3 to 8 their checks, 9 the sum of them. From the fourth word,
    /// which has the IPv4 checksum: 2 its value, 3 what a mark for congestion subtracts from it.
    /// A frame from the parent port of its tree goes down. If the entry has that port among the children too, reduction frames
    /// that are contributions go up instead: into the port's own queue and into no other (CL-6). That is known at stage 8.
    /// What an engine looks at is moved: a reduction frame of a tree whose parent port has one that takes part, on its way up in the
    /// queue of that port, on its way down in the port's own queue. All else is stored as it came, copies of the same frame in other
    /// queues too. So there are two streams of words: h_* for the port's own queue, m_* for the others.
    /// A frame is moved by two bytes, so that its 64-bit fields stand in words 0 to 11,
    /// and stored from word 6 on: 6, 7 (reduction header), 8 to 11 (data), then 1 to 5. Word 6
    /// carries VNI, tree and reduction id in the place of pad bytes, word 4 the wait count in the
    /// place of the destination: what they held is known, and so is word 0, which is not stored. A word that is moved leaves one
    /// clock earlier than others, in the place of the one before it: word 6, which is read first, is just in time.
    #[module("switch_rx_n{N}_u{}_t{}", 1usize << TU, 1usize << TM)]
    pub struct SwitchRx<
        const N: usize, const A: usize, const E: usize, const TU: usize, const TM: usize,
        const MW: usize,
    > {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset. Keep the MAC in reset as long.
        pub rst: Signal<In, Bit>,
        /// AXI4-Stream from the MAC; always taken.
        pub s_axis_rx: AxisRxIn<64, 8>,
        /// Write port of the unicast table: node, low bits; port in 5:0, valid 6.
        pub uc: RamWriteIn<7, TU>,
        /// Write port of the multicast table: tree, low bits; wait count in 19:0, parent port 25:20, valid 26, child ports from 27 on;
        /// the parent port is one of them if the root contributes through it.
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
        /// Number of the word that m_* carries in two clocks, if it does.
        pub m_beat: Signal<Out, Bits<A>>,
        /// A word for the queues.
        pub m_valid: Signal<Out, Bit>,
        /// It is the frame's last.
        pub m_end: Signal<Out, Bit>,
        /// Ports whose queue keeps the frame; only with m_end.
        pub m_take: Signal<Out, Bits<N>>,
        /// For other queues than the port's own: words, kind, bytes in the last word less one, what a mark subtracts from the IPv4
        /// checksum, 0 if the frame cannot be marked; with m_end. Of what an engine looks at the latter is 1 for brief
        /// contributions: kind 1, neither arm nor opcode, data words 1 to 3 zero, a result code below 8, not REPSUM; 0 for all others.
        /// Kind: 0 to the MAC as it came, 1 up through the engine, 2 for the engine, on its way down.
        pub m_entry: Signal<Out, Bits<E>>,
        /// The same for the port's own queue.
        pub h_entry: Signal<Out, Bits<E>>,
        /// For other queues: the word of m_valid 3 clocks ago is stored, the one of 4 clocks ago.
        pub m_early: Signal<Out, Bit>,
        /// The latter.
        pub m_late: Signal<Out, Bit>,
        /// With it: its place in the stored frame.
        pub m_offset: Signal<Out, Bits<A>>,
        /// The word, one clock later.
        pub m_data: Signal<Out, Bits<64>>,
        /// The same for the port's own queue.
        pub h_early: Signal<Out, Bit>,
        /// The same.
        pub h_late: Signal<Out, Bit>,
        /// The same.
        pub h_offset: Signal<Out, Bits<A>>,
        /// The same.
        pub h_data: Signal<Out, Bits<64>>,
        /// A frame has ended.
        pub ev_valid: Signal<Out, Bit>,
        /// 0 forwarded, 1 bad frame, 2 malformed, 3 no route, 4 bad entry port, 5 hairpin, 6 entry port disabled.
        pub ev_reason: Signal<Out, Bits<3>>,
        /// A bit per disabled port that would have got a copy.
        pub ev_off: Signal<Out, Bits<N>>,

        unicast: RamRegForward<7, TU>,
        multicast: RamRegForward<MW, TM>,

        /// Stage 1: a word, its flags and its number in the frame (saturates).
        #[reset] r_valid: DFF<Bit>,
        r_data: DFF<Bits<64>>,
        #[reset] r_end: DFF<Bit>,
        r_beat: DFF<Bits<A>>,
        /// The place of the word if the frame is a reduction frame, modulo 16.
        r_moved: DFF<Bits<4>>,
        /// Bytes present, less one.
        r_bytes: DFF<Bits<3>>,
        /// If it is the last: the frame is runt, too long, ragged or marked bad; a reduction frame of a wrong length.
        r_bad: DFF<Bit>,
        r_length: DFF<Bit>,
        /// Number of the next word; of a frame that is too long it stands still.
        #[reset] beat: DFF<Bits<A>>,
        /// The same from 0 to 11, a bit each; its place if the frame is a reduction frame.
        place: DFF<Bits<12>>,
        moved: DFF<Bits<4>>,
        /// The frame is a runt if that word is its last; it is too long.
        runt: DFF<Bit>,
        #[reset] long: DFF<Bit>,
        first: Signal<Local, Bit>,
        second: Signal<Local, Bit>,
        /// Its number is 0 to 4, 6.
        #[reset] at_0: DFF<Bit>,
        at_1: DFF<Bit>,
        at_2: DFF<Bit>,
        at_3: DFF<Bit>,
        at_4: DFF<Bit>,
        at_6: DFF<Bit>,
        /// Address in the first word, most significant byte first.
        address: Signal<Local, Bits<32>>,
        /// Address of this frame.
        a_address: DFF<Bits<32>>,
        a_multicast: DFF<Bit>,
        /// The address is well formed: no bit above the table is set.
        a_fits: DFF<Bit>,
        /// Age of the lookup: the first word has come so many clocks before stage 2, so with look_4 it is at stage 5.
        look_1: DFF<Bit>,
        look_2: DFF<Bit>,
        look_3: DFF<Bit>,
        look_4: DFF<Bit>,
        /// The entries of the tables.
        entry: DFF<Bits<MW>>,
        way: DFF<Bits<7>>,
        /// Their ports: parent, children, unicast; they are valid; there is a wait count.
        up_mask: DFF<Bits<N>>,
        children: DFF<Bits<N>>,
        to_mask: DFF<Bits<N>>,
        tree_known: DFF<Bit>,
        node_known: DFF<Bit>,
        waits: DFF<Bit>,
        /// The engine of the parent port takes part; this is the parent port.
        up_engine: DFF<Bit>,
        from_parent: DFF<Bit>,
        from_child: Signal<Local, Bit>,
        /// Where to: enabled ports, disabled ports, down a tree, back if it is a contribution (CL-6), wait count, an engine
        /// takes part, reason to drop, there is one, the entry port is disabled.
        t_ports: DFF<Bits<N>>,
        t_off: DFF<Bits<N>>,
        t_down: DFF<Bit>,
        t_turn: DFF<Bit>,
        t_wait: DFF<Bits<20>>,
        t_engine: DFF<Bit>,
        t_reason: DFF<Bits<3>>,
        t_drop: DFF<Bit>,
        t_disabled: DFF<Bit>,
        targets: Signal<Local, Bits<N>>,
        why: Signal<Local, Bits<3>>,
        engine_on: Signal<Local, Bit>,
        goes_down: Signal<Local, Bit>,
        /// The frame is a reduction frame on a tree.
        red: DFF<Bit>,
        ethertype: Signal<Local, Bits<16>>,
        /// Last two bytes of the word before.
        carry: DFF<Bits<16>>,
        aligned: Signal<Local, Bits<64>>,
        /// Words on their way from stage 1 to 5; of each, a word comes 0, its number is 4 1, 6 2, its place if it is moved 6:3, its
        /// number from 7 on. The oldest one's place is the next one's.
        waiting: AsyncRam<64, 2>,
        notes: AsyncRam<E, 2>,
        turn: DFF<Bits<2>>,
        note: Signal<Local, Bits<E>>,
        /// The second word has come 1 to 3 clocks ago.
        second_1: DFF<Bit>,
        second_2: DFF<Bit>,
        second_3: DFF<Bit>,
        /// Stage 5.
        e_data: DFF<Bits<64>>,
        #[reset] e_valid: DFF<Bit>,
        e_at_4: DFF<Bit>,
        e_at_6: DFF<Bit>,
        e_moved: DFF<Bits<4>>,
        e_beat: DFF<Bits<A>>,
        e_carry: DFF<Bits<16>>,
        e_aligned: Signal<Local, Bits<64>>,
        e_word: Signal<Local, Bits<64>>,
        /// Stage 6.
        l_data: DFF<Bits<64>>,
        l_beat: DFF<Bits<A>>,
        /// The frame whose words are stored is moved in other queues, in the port's own.
        #[reset] m_moved: DFF<Bit>,
        #[reset] h_moved: DFF<Bit>,
        vni: DFF<Bits<16>>,
        /// Bytes present are in a row from bit 0 on.
        contiguous: Signal<Local, Bit>,
        keep: Signal<Local, Bits<8>>,
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
        /// Words of the stored frame.
        stored: Signal<Local, Bits<A>>,
        /// The frame goes up by the port that it came by; that port if the frame goes to it, other ports.
        turns: Signal<Local, Bit>,
        home: Signal<Local, Bits<N>>,
        others: Signal<Local, Bits<N>>,
        /// What the last word finds: the frame goes up by the port that it came by, ports, it is kind 1 in other queues than the
        /// port's own, its kind in that, dropped by the tables,
        /// header of a reduction frame malformed.
        d_turn: DFF<Bit>,
        d_ports: DFF<Bits<N>>,
        d_up: DFF<Bit>,
        d_kind: DFF<Bits<2>>,
        d_drop: DFF<Bit>,
        d_malformed: DFF<Bit>,
        drop: Signal<Local, Bit>,
        /// What a mark adds to the type of service: 2 and 1 for ECT(1) and ECT(0), 0 for other frames.
        ect: DFF<Bits<2>>,
        /// The IPv4 checksum is 0 or 1; it is odd.
        sum_small: DFF<Bit>,
        sum_odd: DFF<Bit>,
        /// What a mark subtracts from the checksum; that, or whether what an engine looks at is brief.
        mark: DFF<Bits<2>>,
        step: Signal<Local, Bits<2>>,
        h_stored: Signal<Local, Bits<A>>,
        h_step: Signal<Local, Bits<2>>,
        /// Stage 2.
        #[reset] w_valid: DFF<Bit>,
        /// The stage behind 5 and 6.
        m_word: DFF<Bits<64>>,
        h_word: DFF<Bits<64>>,
        #[reset] w_end: DFF<Bit>,
        #[reset] w_take: DFF<Bits<N>>,
        w_entry: DFF<Bits<E>>,
        w_own: DFF<Bits<E>>,
        w_reason: DFF<Bits<3>>,
        w_off: DFF<Bits<N>>,
        port_one: Param<1, N>,
        no_port: Param<0, N>,
        a: Param<A, 5>,
        tu: Param<TU, 5>,
        tm: Param<TM, 5>,
        /// First two bytes of MAC addresses, the first one lowest.
        mac: Param<{ address::MAC.swap_bytes() as usize }, 16>,
        mac_group: Param<{ address::MAC_GROUP.swap_bytes() as usize }, 16>,
        /// Bits of a multicast address that are fixed.
        fixed: Param<{ address::MULTICAST_MASK as usize }, 32>,
        /// Their values.
        group: Param<{ address::MULTICAST as usize }, 32>,
        /// Bytes 4 to 6 of the second word of an IPv4 frame, the first one lowest.
        ipv4: Param<{ roce::ETHERTYPE.swap_bytes() as usize | (roce::IP_VERSION as usize) << 16 }, 24>,
        /// Counters.
        malformed: Param<{ Counter::Malformed as usize }, 3>,
        no_route: Param<{ Counter::NoRoute as usize }, 3>,
        bad_entry: Param<{ Counter::BadEntry as usize }, 3>,
        hairpin: Param<{ Counter::Hairpin as usize }, 3>,
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
        // Stage 1: the word and its number.
        self.s_axis_rx.tready.next = true;
        self.r_valid.d.next = self.s_axis_rx.tvalid.val();
        self.r_data.d.next = self.s_axis_rx.tdata.val();
        self.r_end.d.next = self.s_axis_rx.tvalid.val() & self.s_axis_rx.tlast.val();
        self.r_beat.d.next = self.beat.q.val();
        self.r_moved.d.next = self.moved.q.val();
        if self.s_axis_rx.tvalid.val() {
            // No word beyond the last 16 fits into an empty queue.
            if !self.long.q.val() {
                self.beat.d.next = self.beat.q.val() + 1;
                self.long.d.next = !self.beat.q.val() == 16;
            }
            self.place.d.next = self.place.q.val() << 1;
            self.moved.d.next = self.moved.q.val() + 1;
            if self.place.q.val().get_bit(5) {
                self.moved.d.next = 0.into();
            }
            if self.place.q.val().get_bit(6) {
                self.runt.d.next = false;
            }
            if self.s_axis_rx.tlast.val() {
                self.beat.d.next = 0.into();
                self.place.d.next = 1.into();
                self.moved.d.next = 5.into();
                self.runt.d.next = true;
                self.long.d.next = false;
            }
        }
        self.first.next = self.s_axis_rx.tvalid.val() & self.place.q.val().get_bit(0);
        self.second.next = self.s_axis_rx.tvalid.val() & self.place.q.val().get_bit(1);
        self.at_0.d.next = self.first.val();
        self.at_1.d.next = self.second.val();
        self.at_3.d.next = self.s_axis_rx.tvalid.val() & self.place.q.val().get_bit(3);
        self.at_2.d.next = self.s_axis_rx.tvalid.val() & self.place.q.val().get_bit(2);
        self.at_4.d.next = self.s_axis_rx.tvalid.val() & self.place.q.val().get_bit(4);
        self.at_6.d.next = self.s_axis_rx.tvalid.val() & self.place.q.val().get_bit(6);
        // A reduction frame is known by its second word.
        self.ethertype.next = (bit_cast::<16, 8>(self.s_axis_rx.tdata.val().get_bits::<8>(32))
            << 8)
            | bit_cast::<16, 8>(self.s_axis_rx.tdata.val().get_bits::<8>(40));
        if self.first.val() {
            self.a_multicast.d.next = self.s_axis_rx.tdata.val().get_bit(0);
            self.red.d.next = false;
        }
        if self.second.val() {
            self.red.d.next = self.cfg_red.val()
                & self.a_multicast.q.val()
                & (self.ethertype.val() == self.cfg_ethertype.val());
        }
        // Bytes that are missing; how many there are.
        self.keep.next = self.s_axis_rx.tkeep.val();
        self.contiguous.next =
            self.keep.val().get_bit(0) & !((self.keep.val() >> 1) & !self.keep.val()).any();
        self.ragged_word.next =
            !self.contiguous.val() | (!self.s_axis_rx.tlast.val() & !self.keep.val().get_bit(7));
        self.ragged_now.next = self.ragged_word.val() | (self.ragged.q.val() & !self.first.val());
        if self.s_axis_rx.tvalid.val() {
            self.ragged.d.next = self.ragged_now.val();
        }
        self.r_bad.d.next = self.ragged_now.val()
            | self.s_axis_rx.tuser.val()
            | self.runt.q.val()
            | self.long.q.val();
        self.r_length.d.next =
            self.red.q.val() & (!self.place.q.val().get_bit(11) | (self.keep.val() != 0x3f));
        self.bytes_2.next = self.keep.val().get_bit(4);
        self.bytes_1.next =
            self.keep.val().get_bit(6) | (self.keep.val().get_bit(2) & !self.keep.val().get_bit(4));
        self.bytes_0.next = self.keep.val().get_bit(7)
            | (self.keep.val().get_bit(5) & !self.keep.val().get_bit(6))
            | (self.keep.val().get_bit(3) & !self.keep.val().get_bit(4))
            | (self.keep.val().get_bit(1) & !self.keep.val().get_bit(2));
        self.r_bytes.d.next = bit_cast::<3, 1>(self.bytes_0.val().into())
            | (bit_cast::<3, 1>(self.bytes_1.val().into()) << 1)
            | (bit_cast::<3, 1>(self.bytes_2.val().into()) << 2);

        // The address, and its way through the tables.
        self.address.next = (bit_cast::<32, 8>(self.r_data.q.val().get_bits::<8>(16)) << 24)
            | (bit_cast::<32, 8>(self.r_data.q.val().get_bits::<8>(24)) << 16)
            | (bit_cast::<32, 8>(self.r_data.q.val().get_bits::<8>(32)) << 8)
            | bit_cast::<32, 8>(self.r_data.q.val().get_bits::<8>(40));
        self.unicast.rd.addr.next = self.address.val().get_bits::<TU>(12);
        RamWriteIn::<7, TU>::link(&mut self.uc, &mut self.unicast.wr);
        self.multicast.rd.addr.next = self.address.val().get_bits::<TM>(3);
        RamWriteIn::<MW, TM>::link(&mut self.mc, &mut self.multicast.wr);
        if self.at_0.q.val() {
            self.a_address.d.next = self.address.val();
            self.a_fits.d.next = (self.r_data.q.val().get_bits::<16>(0) == self.mac.val())
                & ((bit_cast::<20, 32>(self.address.val() >> 12) >> self.tu.val()) == 0);
            if self.r_data.q.val().get_bit(0) {
                self.a_fits.d.next = (self.r_data.q.val().get_bits::<16>(0)
                    == self.mac_group.val())
                    & ((self.address.val() & self.fixed.val()) == self.group.val())
                    & ((self.address.val().get_bits::<13>(3) >> self.tm.val()) == 0);
            }
        }
        self.look_1.d.next = self.at_0.q.val();
        self.look_2.d.next = self.look_1.q.val();
        self.look_3.d.next = self.look_2.q.val();
        self.look_4.d.next = self.look_3.q.val();

        // Stages 5 and 6 of the lookup: the entry, its ports.
        self.entry.d.next = self.multicast.rd.data.val();
        self.way.d.next = self.unicast.rd.data.val();
        self.children.d.next = self.entry.q.val().get_bits::<N>(27);
        self.up_mask.d.next = self.port_one.val() << self.entry.q.val().get_bits::<6>(20);
        self.tree_known.d.next = self.entry.q.val().get_bit(26);
        self.waits.d.next = self.entry.q.val().get_bits::<20>(0).any();
        self.up_engine.d.next =
            (self.cfg_engines.val() >> self.entry.q.val().get_bits::<6>(20)).get_bit(0);
        self.from_parent.d.next =
            (self.own.val() >> self.entry.q.val().get_bits::<6>(20)).get_bit(0);
        self.to_mask.d.next = self.port_one.val() << self.way.q.val().get_bits::<6>(0);
        self.node_known.d.next = self.way.q.val().get_bit(6);
        if self.look_3.q.val() {
            self.t_wait.d.next = self.entry.q.val().get_bits::<20>(0);
        }

        // Stage 7: where to.
        self.from_child.next = (self.children.q.val() & self.own.val()).any();
        self.targets.next = self.to_mask.q.val();
        self.why.next = 0.into();
        if (self.to_mask.q.val() & self.own.val()).any() {
            self.why.next = self.hairpin.val();
        }
        if !self.node_known.q.val() | !self.to_mask.q.val().any() {
            self.why.next = self.no_route.val();
        }
        if self.a_multicast.q.val() {
            self.targets.next = self.up_mask.q.val();
            self.why.next = self.bad_entry.val();
            if self.from_child.val() {
                self.why.next = 0.into();
                if !self.up_mask.q.val().any() {
                    self.why.next = self.no_route.val();
                }
            }
            if self.from_parent.q.val() {
                self.why.next = 0.into();
                self.targets.next = self.children.q.val() & !self.own.val();
            }
            if !self.tree_known.q.val() {
                self.why.next = self.no_route.val();
            }
        }
        if !self.a_fits.q.val() {
            self.why.next = self.no_route.val();
        }
        self.engine_on.next = self.t_engine.q.val();
        self.goes_down.next = self.t_down.q.val();
        if self.look_4.q.val() {
            self.engine_on.next = self.waits.q.val() & self.up_engine.q.val();
            self.goes_down.next = self.a_multicast.q.val() & self.from_parent.q.val();
        }
        self.t_engine.d.next = self.engine_on.val();
        self.t_down.d.next = self.goes_down.val();
        if self.look_4.q.val() {
            self.t_turn.d.next =
                self.a_multicast.q.val() & self.from_parent.q.val() & self.from_child.val();
            self.t_ports.d.next = self.targets.val() & self.cfg_enabled.val();
            self.t_off.d.next = self.targets.val() & !self.cfg_enabled.val();
            self.t_reason.d.next = self.why.val();
            self.t_drop.d.next = self.why.val().any();
        }
        self.t_disabled.d.next = !(self.cfg_enabled.val() & self.own.val()).any();

        // A mark for congestion sets both bits of ECN. The checksum is a one's complement sum: below zero comes its carry
        // round the end, so that one more is subtracted.
        if self.at_1.q.val() {
            self.ect.d.next = 0.into();
            if self.r_data.q.val().get_bits::<24>(32) == self.ipv4.val() {
                self.ect.d.next = (bit_cast::<2, 1>(
                    (self.r_data.q.val().get_bit(56) & !self.r_data.q.val().get_bit(57)).into(),
                ) << 1)
                    | bit_cast::<2, 1>(
                        (self.r_data.q.val().get_bit(57) & !self.r_data.q.val().get_bit(56)).into(),
                    );
            }
        }
        if self.at_3.q.val() {
            self.sum_small.d.next = !(self.r_data.q.val().get_bits::<8>(0)).any()
                & !(self.r_data.q.val().get_bits::<7>(9)).any();
            self.sum_odd.d.next = self.r_data.q.val().get_bit(8);
        }
        self.mark.d.next = self.ect.q.val();
        if self.ect.q.val().any()
            & self.sum_small.q.val()
            & (!self.sum_odd.q.val() | self.ect.q.val().get_bit(1))
        {
            self.mark.d.next = self.ect.q.val() + 1;
        }

        // Words as the checks want them.
        if self.r_valid.q.val() {
            self.carry.d.next = self.r_data.q.val().get_bits::<16>(48);
        }
        self.aligned.next = (bit_cast::<64, 48>(self.r_data.q.val().get_bits::<48>(0)) << 16)
            | bit_cast::<64, 16>(self.carry.q.val());
        if self.at_2.q.val() {
            self.vni.d.next = (bit_cast::<16, 8>(self.aligned.val().get_bits::<8>(32)) << 8)
                | bit_cast::<16, 8>(self.aligned.val().get_bits::<8>(40));
        }
        self.w_valid.d.next = self.r_valid.q.val();

        self.store_words();

        self.check.s_valid.next = self.r_valid.q.val();
        self.check.s_number.next = bit_cast::<4, A>(self.r_beat.q.val());
        self.check.s_word.next = self.aligned.val();
        self.check.address.next = self.a_address.q.val();

        // Stage 8: what the last word finds. Down a tree the frame also goes to the engine of its own port. The root's own
        // contribution goes there too, but on its way up, and nowhere else.
        self.turns.next = self.red.q.val() & self.t_turn.q.val() & self.check.contributes.val();
        self.d_turn.d.next = self.turns.val();
        self.home.next = self.no_port.val();
        self.others.next = self.t_ports.q.val();
        if self.turns.val() {
            self.home.next = self.own.val();
            self.others.next = self.no_port.val();
        }
        if self.red.q.val() & self.t_engine.q.val() & self.t_down.q.val() {
            self.home.next = self.own.val();
        }
        self.d_ports.d.next = self.home.val() | self.others.val();
        self.d_drop.d.next = self.t_drop.q.val() | self.t_disabled.q.val();
        self.d_malformed.d.next = self.red.q.val()
            & (self.check.malformed.val()
                | (self.check.no_count.val() & (!self.t_down.q.val() | self.turns.val())));
        self.d_up.d.next = self.red.q.val() & self.t_engine.q.val() & !self.t_down.q.val();
        self.d_kind.d.next = 0.into();
        if self.red.q.val() & self.t_engine.q.val() {
            self.d_kind.d.next = 2.into();
            if self.turns.val() {
                self.d_kind.d.next = 1.into();
            }
        }

        // The last word decides.
        self.drop.next = self.d_drop.q.val()
            | self.d_malformed.q.val()
            | self.r_bad.q.val()
            | self.r_length.q.val();
        self.w_reason.d.next = self.t_reason.q.val();
        if (self.d_malformed.q.val() | self.r_length.q.val()) & !self.t_drop.q.val() {
            self.w_reason.d.next = self.malformed.val();
        }
        if self.r_bad.q.val() {
            self.w_reason.d.next = 1.into();
        }
        if self.t_disabled.q.val() {
            self.w_reason.d.next = 6.into();
        }
        self.w_end.d.next = self.r_end.q.val();
        self.w_take.d.next = 0.into();
        self.w_off.d.next = 0.into();
        if self.r_end.q.val() & !self.drop.val() {
            self.w_take.d.next = self.d_ports.q.val();
            if !self.d_turn.q.val() {
                self.w_off.d.next = self.t_off.q.val();
            }
        }
        self.stored.next = self.r_beat.q.val() + 1;
        self.h_stored.next = self.r_beat.q.val() + 1;
        self.step.next = self.mark.q.val();
        if self.red.q.val() {
            self.step.next = 0.into();
        }
        self.h_step.next = 0.into();
        if self.d_up.q.val() {
            self.stored.next = 11.into();
            self.step.next = bit_cast::<2, 1>(self.check.brief.val().into());
        }
        if self.d_kind.q.val().any() {
            self.h_stored.next = 11.into();
            self.h_step.next =
                bit_cast::<2, 1>((self.check.brief.val() & self.d_kind.q.val().get_bit(0)).into());
        }
        self.w_entry.d.next = bit_cast::<E, A>(self.stored.val())
            | (bit_cast::<E, 1>(self.d_up.q.val().into()) << self.a.val())
            | (bit_cast::<E, 3>(self.r_bytes.q.val()) << (self.a.val() + 2))
            | (bit_cast::<E, 2>(self.step.val()) << (self.a.val() + 5));
        self.w_own.d.next = bit_cast::<E, A>(self.h_stored.val())
            | (bit_cast::<E, 2>(self.d_kind.q.val()) << self.a.val())
            | (bit_cast::<E, 3>(self.r_bytes.q.val()) << (self.a.val() + 2))
            | (bit_cast::<E, 2>(self.h_step.val()) << (self.a.val() + 5));
        self.m_beat.next = self.beat.q.val();
        self.m_valid.next = self.w_valid.q.val();
        self.m_end.next = self.w_end.q.val();
        self.m_take.next = self.w_take.q.val();
        self.m_entry.next = self.w_entry.q.val();
        self.h_entry.next = self.w_own.q.val();
        self.ev_valid.next = self.w_end.q.val();
        self.ev_reason.next = self.w_reason.q.val();
        self.ev_off.next = self.w_off.q.val();
        if self.rst.val() {
            self.place.d.next = 1.into();
            self.moved.d.next = 5.into();
            self.runt.d.next = true;
        }
    }
}
