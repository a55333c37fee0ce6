//! Frames of the link come in: header and unit.

use tributary_protocol::tlp_link::wire::{ETHERTYPE, MAX_WORDS, VERSION};

use super::{LinkHeader, LinkWord};
use crate::blocks::{FifoReg, Pow2, RamReg};
use crate::bus::{AxisRxIn, LinkUnitOut};
use crate::prelude::*;
use crate::switch::ByteSwap;

hdl_module! {
    /// Takes frames apart. Their header stands at m_* from the clock behind their last word on, and m_end is high one clock
    /// later if the frame is whole and good and one of the link. With s_accept in that clock its unit is kept, in a memory
    /// of 2^A words; otherwise it is forgotten. There is room for a unit (m_fits) if there was when its header was whole.
    /// Stages: 1 words to memory, header in registers; 2 verdict. Out: a word that is kept is at m_unit 4 clocks later
    /// (two to read, output queue).
    /// One word per clock in and out. Frames never wait.
    #[module("tlp_link_receive_d{}", 1usize << A)]
    pub struct TlpLinkReceive<const A: usize> {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset.
        pub rst: Signal<In, Bit>,
        /// Forgets all units, those too that are at m_unit; pulse, not in a clock of words of a unit.
        pub s_clear: Signal<In, Bit>,
        /// Frames from the MAC; always taken.
        pub s_axis_rx: AxisRxIn<64, 8>,
        /// Number of the unit.
        pub m_seq: Signal<Out, Bits<16>>,
        /// Number that the other end expects.
        pub m_ack: Signal<Out, Bits<16>>,
        /// Words that may be sent.
        pub m_limit: Signal<Out, Bits<16>>,
        /// Everything from m_ack on is to be sent again.
        pub m_again: Signal<Out, Bit>,
        /// The other end is in a session with another life.
        pub m_busy: Signal<Out, Bit>,
        /// There is a unit.
        pub m_some: Signal<Out, Bit>,
        /// Life of the other end.
        pub m_from: Signal<Out, Bits<32>>,
        /// Life that is addressed.
        pub m_to: Signal<Out, Bits<32>>,
        /// The frame is one of the link; pulse.
        pub m_end: Signal<Out, Bit>,
        /// There is room for its unit.
        pub m_fits: Signal<Out, Bit>,
        /// With m_end: its unit is kept.
        pub s_accept: Signal<In, Bit>,
        /// Units that were kept.
        pub m_unit: LinkUnitOut,
        /// A unit has left whole; pulse.
        pub m_left: Signal<Out, Bit>,
        /// Words of all units that have left, modulo 2^16.
        pub m_taken: Signal<Out, Bits<16>>,
        swap: ByteSwap,
        words: RamReg<66, A>,
        ahead: FifoReg<66, 2>,
        /// Words of the header that have come: 4 when it is whole.
        #[reset] at: DFF<Bits<3>>,
        /// Words of the header but the first, as numbers.
        word1: DFF<Bits<64>>,
        word2: DFF<Bits<64>>,
        word3: DFF<Bits<64>>,
        /// The header was whole; words of the unit that are missing yet; room for so many.
        #[reset] whole: DFF<Bit>,
        #[reset] missing: DFF<Bits<12>>,
        #[reset] room: DFF<Bits<16>>,
        /// The next word's place. A word had none.
        place: DFF<Bits<16>>,
        #[reset] spilled: DFF<Bit>,
        /// The last word has come, with a right FCS; the frame is one of the link.
        #[reset] last: DFF<Bit>,
        #[reset] ended: DFF<Bit>,
        /// Words of units that were kept, were fetched for the output, have left; of whole units that have left.
        #[reset] got: DFF<Bits<16>>,
        #[reset] fetched: DFF<Bits<16>>,
        #[reset] gone: DFF<Bits<16>>,
        #[reset] taken: DFF<Bits<16>>,
        /// Words on their way out of the memory, and how many have a place at the output.
        #[reset] flight1: DFF<Bit>,
        #[reset] flight2: DFF<Bit>,
        #[reset] reserved: DFF<Bits<3>>,
        header: Signal<Local, LinkHeader>,
        came: Signal<Local, LinkWord>,
        leaves: Signal<Local, LinkWord>,
        full: Signal<Local, Bit>,
        more: Signal<Local, Bit>,
        push: Signal<Local, Bit>,
        fetch: Signal<Local, Bit>,
        pop: Signal<Local, Bit>,
        depth: Pow2<16, A>,
        ethertype: Param<{ ETHERTYPE as usize }, 16>,
        version: Param<{ VERSION as usize }, 8>,
        longest: Param<MAX_WORDS, 12>,
        header_words: Param<4, 3>,
    }
}

impl<const A: usize> Logic for TlpLinkReceive<A> {
    #[hdl_gen]
    fn update(&mut self) {
        self.s_axis_rx.tready.next = true;
        self.swap.s.next = self.s_axis_rx.tdata.val();
        self.header.next = ((bit_cast::<256, 64>(self.word1.q.val()) << 128)
            | (bit_cast::<256, 64>(self.word2.q.val()) << 64)
            | bit_cast::<256, 64>(self.word3.q.val()))
        .into();
        self.m_seq.next = self.header.val().seq;
        self.m_ack.next = self.header.val().ack;
        self.m_limit.next = self.header.val().limit;
        self.m_again.next = self.header.val().again;
        self.m_busy.next = self.header.val().busy;
        self.m_some.next = self.header.val().words.any();
        self.m_from.next = self.header.val().from;
        self.m_to.next = self.header.val().to;

        // The header, and what is known of the unit when it is whole.
        self.full.next = self.s_axis_rx.tkeep.val().get_bit(7);
        self.more.next = (self.at.q.val() == self.header_words.val()) & self.missing.q.val().any();
        self.push.next = self.s_axis_rx.tvalid.val()
            & self.more.val()
            & self.full.val()
            & self.room.q.val().any();
        self.came.next = LinkWord {
            data: self.s_axis_rx.tdata.val(),
            settings: self.header.val().kind.get_bit(1),
            last: self.missing.q.val() == 1,
        };
        self.words.wr.en.next = self.push.val();
        self.words.wr.addr.next = self.place.q.val().get_bits::<A>(0);
        self.words.wr.data.next = self.came.val().to_bits();
        if self.s_axis_rx.tvalid.val() {
            if self.at.q.val() != self.header_words.val() {
                self.at.d.next = self.at.q.val() + 1;
            }
            if self.at.q.val() == 1 {
                self.word1.d.next = self.swap.m.val();
            }
            if self.at.q.val() == 2 {
                self.word2.d.next = self.swap.m.val();
            }
            if self.at.q.val() == 3 {
                self.word3.d.next = self.swap.m.val();
                self.whole.d.next = self.full.val();
                self.missing.d.next = self.header.val().words;
                self.room.d.next = self.depth.val() - (self.got.q.val() - self.taken.q.val());
                self.place.d.next = self.got.q.val();
                self.spilled.d.next = false;
            }
            if self.more.val() & self.full.val() {
                self.missing.d.next = self.missing.q.val() - 1;
                if self.room.q.val().any() {
                    self.room.d.next = self.room.q.val() - 1;
                    self.place.d.next = self.place.q.val() + 1;
                } else {
                    self.spilled.d.next = true;
                }
            }
            if self.at.q.val() == 0 {
                self.whole.d.next = false;
            }
            if self.s_axis_rx.tlast.val() {
                self.at.d.next = 0.into();
            }
        }

        // The verdict.
        self.last.d.next =
            self.s_axis_rx.tvalid.val() & self.s_axis_rx.tlast.val() & !self.s_axis_rx.tuser.val();
        self.ended.d.next = self.last.q.val()
            & self.whole.q.val()
            & !self.missing.q.val().any()
            & (self.header.val().ethertype == self.ethertype.val())
            & (self.header.val().version == self.version.val())
            & !self.header.val().kind.get_bits::<6>(2).any()
            & !(self.header.val().kind.get_bit(0) & self.header.val().kind.get_bit(1))
            & (self.header.val().kind.any() == self.header.val().words.any())
            & (self.header.val().words <= self.longest.val())
            & self.header.val().from.any();
        self.m_end.next = self.ended.q.val();
        self.m_fits.next = !self.spilled.q.val();
        if self.s_accept.val() {
            self.got.d.next = self.place.q.val();
        }

        // A word is read when the output queue is sure to have room for it.
        self.fetch.next =
            (self.fetched.q.val() != self.got.q.val()) & !self.reserved.q.val().get_bit(2);
        self.pop.next = self.m_unit.ready.val() & self.ahead.m.valid.val();
        self.words.rd.addr.next = self.fetched.q.val().get_bits::<A>(0);
        self.flight1.d.next = self.fetch.val();
        self.flight2.d.next = self.flight1.q.val();
        if self.fetch.val() {
            self.fetched.d.next = self.fetched.q.val() + 1;
        }
        if self.fetch.val() & !self.pop.val() {
            self.reserved.d.next = self.reserved.q.val() + 1;
        }
        if self.pop.val() & !self.fetch.val() {
            self.reserved.d.next = self.reserved.q.val() - 1;
        }
        self.ahead.clk.next = self.clk.val();
        self.ahead.rst.next = self.rst.val() | self.s_clear.val();
        self.ahead.s.valid.next = self.flight2.q.val();
        self.ahead.s.data.next = self.words.rd.data.val();
        self.leaves.next = self.ahead.m.data.val().into();
        self.ahead.m.ready.next = self.m_unit.ready.val();
        self.m_unit.valid.next = self.ahead.m.valid.val();
        self.m_unit.data.next = self.leaves.val().data;
        self.m_unit.settings.next = self.leaves.val().settings;
        self.m_unit.last.next = self.leaves.val().last;
        self.m_left.next = self.pop.val() & self.leaves.val().last;
        self.m_taken.next = self.taken.q.val();
        if self.pop.val() {
            self.gone.d.next = self.gone.q.val() + 1;
            if self.leaves.val().last {
                self.taken.d.next = self.gone.q.val() + 1;
            }
        }
        if self.s_clear.val() {
            self.got.d.next = 0.into();
            self.fetched.d.next = 0.into();
            self.gone.d.next = 0.into();
            self.taken.d.next = 0.into();
            self.flight1.d.next = false;
            self.flight2.d.next = false;
            self.reserved.d.next = 0.into();
        }
    }
}
