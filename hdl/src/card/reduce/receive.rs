//! Reduction frames as they arrive.

use crate::blocks::FifoAhead;
use crate::bus::{FramesOut, ReduceArrivalsOut, ReduceKey, ReduceVerdictsIn};
use crate::prelude::*;
use crate::record::ArrivalEntry;
use crate::switch::{ByteSwap, RedCheck};
use crate::xud::XudRxBuffer;
use tributary_protocol::card::descriptor::Of;
use tributary_protocol::red::{Rc, address, wire};

hdl_module! {
    /// Takes the frames with the ethertype of reductions out of those that arrive, checks them (docs/rules/reduction.md), and
    /// keeps the first seven words of their completions, 36 frames, until it is decided who they are for.
    /// Never stalls: one word a clock, frames back to back. What does not fit is dropped.
    /// Latency: 5 clocks from the last word to m; 7 from a verdict to m_pl.
    /// Stages: 1 word registered, its number known; 2 moved by two bytes, fields kept, words 0 to 6 of the completion written in
    /// the places of words 6 to 12 of the frame; beside it the checks of red_check; 3 the frame is good or bad; 5 it is kept,
    /// or does not fit.
    #[module("card_reduce_receive")]
    pub struct CardReduceReceive {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset: nothing is kept; to be high until a frame begins.
        pub rst: Signal<In, Bit>,
        /// Who this card is.
        pub cfg_node: Signal<In, Bits<20>>,
        /// A word of a frame.
        pub s_tvalid: Signal<In, Bit>,
        /// The word; its first byte is in bits 7:0.
        pub s_tdata: Signal<In, Bits<64>>,
        /// Bytes present.
        pub s_tkeep: Signal<In, Bits<8>>,
        /// It is the last word of the frame.
        pub s_tlast: Signal<In, Bit>,
        /// With the last word: the frame is bad (FCS).
        pub s_tuser: Signal<In, Bit>,
        /// Good frames.
        pub m: ReduceArrivalsOut,
        /// What becomes of their words, in their order.
        pub s_verdict: ReduceVerdictsIn,
        /// Words of those that are wanted, seven each.
        pub m_pl: FramesOut<64>,
        /// A frame is malformed.
        pub ev_bad_frame: Signal<Out, Bit>,
        /// A good one did not fit.
        pub ev_no_room: Signal<Out, Bit>,

        check: RedCheck,
        buffer: XudRxBuffer<8>,
        keys: FifoAhead<{ ReduceKey::BITS }, 5>,
        swap: ByteSwap,
        /// Stage 1: a word, its number, which stands at 15 in longer frames; it is the last, and the frame is ragged or bad.
        #[reset] r_valid: DFF<Bit>,
        r_data: DFF<Bits<64>>,
        r_number: DFF<Bits<4>>,
        #[reset] r_end: DFF<Bit>,
        r_bad: DFF<Bit>,
        #[reset] number: DFF<Bits<4>>,
        #[reset] ragged: DFF<Bit>,
        ragged_now: Signal<Local, Bit>,
        carry: DFF<Bits<16>>,
        aligned: Signal<Local, Bits<64>>,
        word: Signal<Local, Bits<64>>,
        first: Signal<Local, Bits<64>>,
        /// Stage 2: what the headers say.
        prefix: DFF<Bits<16>>,
        is_red: DFF<Bit>,
        to: DFF<Bits<32>>,
        vni: DFF<Bits<16>>,
        source: DFF<Bits<32>>,
        kind: DFF<Bits<4>>,
        round: DFF<Bits<56>>,
        cookie: DFF<Bits<32>>,
        seqno: DFF<Bits<10>>,
        count: DFF<Bits<20>>,
        /// It contributes, and no engine was told of too many.
        plain: DFF<Bit>,
        own: DFF<Bit>,
        by_tree: DFF<Bit>,
        group: Signal<Local, Bit>,
        cookie_now: Signal<Local, Bits<32>>,
        entry: Signal<Local, ArrivalEntry>,
        before: DFF<Bits<64>>,
        /// The last word of data is to be written.
        #[reset] tail: DFF<Bit>,
        /// The words of this frame begin.
        begins: Signal<Local, Bit>,
        /// Stage 3: a frame has ended; of a wrong length, with a wrong destination.
        #[reset] ended: DFF<Bit>,
        wrong: DFF<Bit>,
        right_prefix: Signal<Local, Bit>,
        good: Signal<Local, Bit>,
        /// One and two clocks later, when it is known whether all its words are in the buffer.
        #[reset] waits: DFF<Bit>,
        #[reset] fits: DFF<Bit>,
        key: DFF<ReduceKey>,
        room: Signal<Local, Bit>,
        #[reset] bad: DFF<Bit>,
        #[reset] lost: DFF<Bit>,

        /// Bytes of a frame's last word.
        keep: Param<0x3f, 8>,
        ethertype: Param<{ wire::DEFAULT_ETHERTYPE.swap_bytes() as usize }, 16>,
        mac: Param<{ address::MAC as usize }, 16>,
        mac_group: Param<{ address::MAC_GROUP as usize }, 16>,
        mask: Param<{ address::MULTICAST_MASK as usize }, 32>,
        fixed: Param<{ address::MULTICAST as usize }, 32>,
        reduction: Param<{ Of::Reduction as usize }, 8>,
        words: Param<7, 10>,
        too_many: Param<{ Rc::CONTR_OVERFLOW.code() as usize }, 4>,
    }
}

impl Logic for CardReduceReceive {
    #[hdl_gen]
    fn update(&mut self) {
        // Stage 1: the word and its number.
        self.ragged_now.next = self.ragged.q.val() | !self.s_tkeep.val().all();
        if self.s_tlast.val() {
            self.ragged_now.next =
                self.ragged.q.val() | self.s_tuser.val() | (self.s_tkeep.val() != self.keep.val());
        }
        self.r_valid.d.next = self.s_tvalid.val();
        self.r_data.d.next = self.s_tdata.val();
        self.r_number.d.next = self.number.q.val();
        self.r_end.d.next = self.s_tvalid.val() & self.s_tlast.val();
        self.r_bad.d.next = self.ragged_now.val();
        if self.s_tvalid.val() {
            self.ragged.d.next = self.ragged_now.val() & !self.s_tlast.val();
            if !self.number.q.val().all() {
                self.number.d.next = self.number.q.val() + 1;
            }
            if self.s_tlast.val() {
                self.number.d.next = 0.into();
            }
        }

        // Stage 2: what it says, first byte on top.
        if self.r_valid.q.val() {
            self.carry.d.next = self.r_data.q.val().get_bits::<16>(48);
        }
        self.aligned.next = (bit_cast::<64, 48>(self.r_data.q.val().get_bits::<48>(0)) << 16)
            | bit_cast::<64, 16>(self.carry.q.val());
        self.swap.s.next = self.aligned.val();
        self.word.next = self.swap.m.val();
        self.cookie_now.next = self.word.val().get_bits::<32>(0);
        self.group.next = (self.to.q.val() & self.mask.val()) == self.fixed.val();
        if self.r_valid.q.val() {
            if self.r_number.q.val() == 0 {
                self.prefix.d.next = self.word.val().get_bits::<16>(32);
                self.to.d.next = self.word.val().get_bits::<32>(0);
                self.is_red.d.next = false;
            }
            if self.r_number.q.val() == 1 {
                self.is_red.d.next = self.r_data.q.val().get_bits::<16>(32) == self.ethertype.val();
                self.own.d.next =
                    self.to.q.val() == (bit_cast::<32, 20>(self.cfg_node.val()) << 12);
            }
            if self.r_number.q.val() == 2 {
                self.vni.d.next = self.word.val().get_bits::<16>(16);
            }
            if self.r_number.q.val() == 3 {
                self.source.d.next = self.word.val().get_bits::<32>(0);
            }
            if self.r_number.q.val() == 4 {
                self.kind.d.next = self.word.val().get_bits::<4>(24);
                self.round.d.next = bit_cast::<56, 16>(self.word.val().get_bits::<16>(0)) << 40;
            }
            if self.r_number.q.val() == 5 {
                self.round.d.next =
                    self.round.q.val() | bit_cast::<56, 40>(self.word.val().get_bits::<40>(24));
            }
            if self.r_number.q.val() == 6 {
                self.cookie.d.next = self.cookie_now.val();
                self.by_tree.d.next = self.group.val()
                    & (self.to.q.val().get_bits::<3>(18) == self.cookie_now.val().get_bits::<3>(0));
            }
            if self.r_number.q.val() == 7 {
                self.seqno.d.next = self.word.val().get_bits::<10>(0);
                self.count.d.next = self.word.val().get_bits::<20>(17);
                self.plain.d.next = !self.word.val().get_bit(10)
                    & !self.kind.q.val().any()
                    & (self.word.val().get_bits::<4>(47) != self.too_many.val());
            }
            self.before.d.next = self.word.val();
        }
        self.check.s_valid.next = self.r_valid.q.val();
        self.check.s_number.next = self.r_number.q.val();
        self.check.s_word.next = self.aligned.val();
        self.check.address.next = self.to.q.val();

        // Words of the completion: two made here, then header and data as they are, a word later.
        self.entry.next = ArrivalEntry {
            round: self.round.q.val(),
            kind: self.kind.q.val(),
            reduction: self.cookie_now.val().get_bits::<3>(0),
            by_tree: !self.own.q.val(),
            status: 0.into(),
            of: self.reduction.val(),
            fetched: 0.into(),
            source: self.source.q.val(),
            header: 0.into(),
            data0: 0.into(),
            data1: 0.into(),
            data2: 0.into(),
            data3: 0.into(),
            phase: false,
            answered: false,
            number: 0.into(),
        };
        self.first.next = self.entry.val().get_bits::<64>(0);
        self.begins.next = self.r_valid.q.val() & (self.r_number.q.val() == 5);
        self.tail.d.next = self.r_valid.q.val() & (self.r_number.q.val() == 11);
        self.buffer.s_begin.next = self.begins.val();
        self.buffer.s_valid.next =
            (self.r_valid.q.val() & (self.r_number.q.val() >= 6) & (self.r_number.q.val() <= 11))
                | self.tail.q.val();
        self.buffer.s_data.next = self.before.q.val();
        if !self.tail.q.val() & (self.r_number.q.val() == 6) {
            self.buffer.s_data.next = self.first.val();
        }
        if !self.tail.q.val() & (self.r_number.q.val() == 7) {
            self.buffer.s_data.next = self.entry.val().get_bits::<64>(64);
        }

        // Stage 3: the frame has ended.
        self.right_prefix.next = self.prefix.q.val() == self.mac.val();
        if self.group.val() {
            self.right_prefix.next = self.prefix.q.val() == self.mac_group.val();
        }
        self.ended.d.next = self.r_end.q.val() & self.is_red.q.val();
        self.wrong.d.next =
            self.r_bad.q.val() | (self.r_number.q.val() != 11) | !self.right_prefix.val();
        self.good.next = self.ended.q.val() & !self.wrong.q.val() & !self.check.malformed.val();
        self.bad.d.next = self.ended.q.val() & (self.wrong.q.val() | self.check.malformed.val());
        self.ev_bad_frame.next = self.bad.q.val();
        if self.ended.q.val() {
            self.key.d.next = ReduceKey {
                vni: self.vni.q.val(),
                cookie: self.cookie.q.val(),
                tree: self.to.q.val().get_bits::<13>(3),
                by_tree: self.by_tree.q.val(),
                own: self.own.q.val(),
                whole: self.plain.q.val(),
                count: self.count.q.val(),
                seqno: self.seqno.q.val(),
            };
        }

        // It is kept, once it is known that all its words are.
        self.waits.d.next = self.good.val();
        self.fits.d.next = self.waits.q.val();
        self.room.next = self.keys.s.ready.val() & !self.buffer.lost.val();
        self.buffer.commit.next = self.fits.q.val() & self.room.val();
        self.buffer.commit_words.next = self.words.val();
        self.keys.s.valid.next = self.fits.q.val() & !self.buffer.lost.val();
        self.keys.s.data.next = self.key.q.val().to_bits();
        self.lost.d.next = self.fits.q.val() & !self.room.val();
        self.ev_no_room.next = self.lost.q.val();
        self.m.valid.next = self.keys.m.valid.val();
        self.keys.m.ready.next = self.m.ready.val();
        self.m.of.next = self.keys.m.data.val().into();

        // Whose words they are.
        self.buffer.j_valid.next = self.s_verdict.valid.val();
        self.s_verdict.room.next = self.buffer.j_ready.val();
        self.buffer.j_words.next = self.words.val();
        self.buffer.j_drop.next = self.s_verdict.drop.val();
        self.buffer.j_bulk.next = false;
        FramesOut::<64>::link(&mut self.m_pl, &mut self.buffer.m);
    }
}
