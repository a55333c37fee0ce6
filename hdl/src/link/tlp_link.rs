//! An end of the link.

use tributary_protocol::tlp_link::wire::MAX_WORDS;

use super::{SentUnit, TlpLinkReceive, TlpLinkSend};
use crate::blocks::{AsyncRam, Pow2};
use crate::bus::{AxisOut, AxisRxIn, LinkOfferIn, LinkUnitOut};
use crate::prelude::*;

hdl_module! {
    /// An end of the link of TLPs in Ethernet frames: units that go in at one end come out at the other, once and in order,
    /// whatever becomes of frames. Room for 2^A words that came, and for 2^B words and 2^L units that may have to be sent
    /// again. It is `Link` of the crate tributary-protocol, to the clock:
    /// a frame takes effect 2 clocks behind its last word (stages: tlp_link_receive, this block); a unit is given when its
    /// last word is taken, and has left when its last word is; in each clock in which no frame is being sent and none takes
    /// effect the next one is looked for, and its first word is at m_axis_tx one clock later (tlp_link_send).
    /// Of what happens in a clock a frame comes first, then a unit that is given, then one that leaves.
    /// A unit waits 2 clocks in front of its first word, and until there is room at both ends.
    /// While session is low, units that had begun are forgotten at both buses, and m_unit_valid may fall: users are in
    /// reset then.
    #[module("tlp_link_b{}_r{}_u{}", 1usize << A, 1usize << B, 1usize << L)]
    pub struct TlpLink<const A: usize, const B: usize, const L: usize> {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset: a new life.
        pub rst: Signal<In, Bit>,
        /// Frames from the MAC; always taken.
        pub s_axis_rx: AxisRxIn<64, 8>,
        /// Frames for the MAC.
        pub m_axis_tx: AxisOut<64, 8>,
        /// Units for the other end: of 1 to 1,121 words, and 2^B at most.
        pub s_unit: LinkOfferIn,
        /// Units from the other end.
        pub m_unit: LinkUnitOut,
        /// Number of this life, read in the clock behind rst: not 0, and none of a life whose frames are under way.
        pub cfg_life: Signal<In, Bits<32>>,
        /// Clocks until something is sent again, and between frames of an idle link: 2 at least.
        pub cfg_timeout: Signal<In, Bits<24>>,
        /// MAC address of this end.
        pub cfg_source: Signal<In, Bits<48>>,
        /// MAC address of the other end.
        pub cfg_destination: Signal<In, Bits<48>>,
        /// There is a session.
        pub session: Signal<Out, Bit>,
        /// Units of this session that the other end has acknowledged, modulo 2^16.
        pub acked_units: Signal<Out, Bits<16>>,
        /// A frame of the link has come; pulse, as all of these.
        pub stat_rx_frame: Signal<Out, Bit>,
        /// A unit came for which there was no room: the other end does not keep to the limit.
        pub stat_overrun: Signal<Out, Bit>,
        /// Units are sent again.
        pub stat_again: Signal<Out, Bit>,
        /// The session is lost.
        pub stat_lost: Signal<Out, Bit>,
        /// A unit of a wrong size was offered: its first word is taken, and gone.
        pub stat_refused: Signal<Out, Bit>,

        receive: TlpLinkReceive<A>,
        send: TlpLinkSend<B>,
        /// Units that are not acknowledged, for sending and for acknowledgements.
        units: AsyncRam<29, L>,
        starts: AsyncRam<16, L>,
        /// The clock behind rst.
        fresh: DFF<Bit>,
        #[reset] life: DFF<Bits<32>>,
        #[reset] open: DFF<Bit>,
        /// The other end's life; 0 without a session.
        #[reset] peer: DFF<Bits<32>>,
        /// A life is to be answered.
        #[reset] answer: DFF<Bit>,
        heard: DFF<Bits<32>>,
        /// Numbers: of the first unit that is not acknowledged, of the next to send, of the next to be given.
        #[reset] base: DFF<Bits<16>>,
        #[reset] next_sent: DFF<Bits<16>>,
        #[reset] next: DFF<Bits<16>>,
        /// Units that are not acknowledged: next - base.
        #[reset] kept: DFF<Bits<16>>,
        /// Words in the session: in front of unit base, given, and those that may be.
        #[reset] freed: DFF<Bits<16>>,
        #[reset] given: DFF<Bits<16>>,
        #[reset] limit: DFF<Bits<16>>,
        /// Clocks until units are sent again; whether that runs; whether they are to be.
        #[reset] wait: DFF<Bits<24>>,
        #[reset] armed: DFF<Bit>,
        #[reset] due: DFF<Bit>,
        /// Clocks until something is said; it is to be.
        #[reset] silence: DFF<Bits<24>>,
        #[reset] quiet: DFF<Bit>,
        #[reset] expected: DFF<Bits<16>>,
        #[reset] missing: DFF<Bit>,
        #[reset] ask: DFF<Bit>,
        #[reset] owes: DFF<Bit>,
        /// What the frame that came is to what is known, in the clock of m_end.
        mine: DFF<Bit>,
        known: DFF<Bit>,
        higher: DFF<Bit>,
        right: DFF<Bit>,
        ahead: DFF<Bit>,
        acked: DFF<Bits<16>>,
        acked_less: DFF<Bits<16>>,
        /// A unit is being given; it is of a wrong size; words of it that are missing; those that it has; its next place.
        #[reset] granted: DFF<Bit>,
        #[reset] settled: DFF<Bit>,
        /// A frame of the session that was lost may still be leaving: its words stay.
        #[reset] stale: DFF<Bit>,
        wrong: DFF<Bit>,
        rest: DFF<Bits<12>>,
        count: DFF<Bits<12>>,
        place: DFF<Bits<16>>,
        /// As freed was between two frames: the unit that is being sent may be acknowledged meanwhile, and stays.
        #[reset] held: DFF<Bits<16>>,
        /// Words for which the other end, and this one, has room.
        allowed: DFF<Bits<16>>,
        room: DFF<Bits<16>>,
        #[reset] lost_pulse: DFF<Bit>,
        #[reset] overrun_pulse: DFF<Bit>,
        #[reset] again_pulse: DFF<Bit>,
        /// The unit that a frame has, if it has one: for the clock behind the one in which it was found.
        found: DFF<Bits<29>>,
        goes: DFF<Bit>,
        entry: Signal<Local, SentUnit>,
        put: Signal<Local, SentUnit>,
        newer: Signal<Local, Bits<16>>,
        past: Signal<Local, Bits<16>>,
        /// Units that are not acknowledged behind this frame; the same if one is given in its clock;
        /// how many of those acknowledged were not sent (again).
        rest_kept: Signal<Local, Bits<17>>,
        rest_more: Signal<Local, Bits<16>>,
        unsent: Signal<Local, Bits<16>>,
        reload: Signal<Local, Bits<24>>,
        index: Signal<Local, Bits<16>>,
        has: Signal<Local, Bit>,
        poll: Signal<Local, Bit>,
        unit_goes: Signal<Local, Bit>,
        said: Signal<Local, Bit>,
        good_size: Signal<Local, Bit>,
        grant: Signal<Local, Bit>,
        refuse: Signal<Local, Bit>,
        word: Signal<Local, Bit>,
        done: Signal<Local, Bit>,
        stranger: Signal<Local, Bit>,
        lost: Signal<Local, Bit>,
        opens: Signal<Local, Bit>,
        belongs: Signal<Local, Bit>,
        counts: Signal<Local, Bit>,
        accepts: Signal<Local, Bit>,
        buffer: Pow2<16, A>,
        depth: Pow2<16, B>,
        most: Pow2<16, L>,
        longest: Param<MAX_WORDS, 16>,
    }
}

impl<const A: usize, const B: usize, const L: usize> Logic for TlpLink<A, B, L> {
    #[hdl_gen]
    fn update(&mut self) {
        AxisRxIn::<64, 8>::link(&mut self.s_axis_rx, &mut self.receive.s_axis_rx);
        AxisOut::<64, 8>::link(&mut self.m_axis_tx, &mut self.send.m_axis_tx);
        LinkUnitOut::link(&mut self.m_unit, &mut self.receive.m_unit);
        self.send.cfg_source.next = self.cfg_source.val();
        self.send.cfg_destination.next = self.cfg_destination.val();
        self.session.next = self.open.q.val();
        self.acked_units.next = self.base.q.val();
        self.reload.next = self.cfg_timeout.val() - 1;
        self.fresh.d.next = self.rst.val();

        // Units that are given. Room is a clock old: it only grows until the next one is.
        self.allowed.d.next = self.limit.q.val() - self.given.q.val();
        self.room.d.next = self.depth.val() - (self.given.q.val() - self.held.q.val());
        if self.send.idle.val() {
            self.held.d.next = self.freed.q.val();
            self.stale.d.next = false;
        }
        self.good_size.next = self.s_unit.words.val().any()
            & (bit_cast::<16, 12>(self.s_unit.words.val()) <= self.longest.val())
            & (bit_cast::<16, 12>(self.s_unit.words.val()) <= self.depth.val());
        self.grant.next = self.s_unit.valid.val()
            & self.open.q.val()
            & !self.granted.q.val()
            & self.settled.q.val()
            & !self.stale.q.val()
            & self.good_size.val()
            & !self.allowed.q.val().get_bit(15)
            & (bit_cast::<16, 12>(self.s_unit.words.val()) <= self.allowed.q.val())
            & (bit_cast::<16, 12>(self.s_unit.words.val()) <= self.room.q.val())
            & (self.kept.q.val() != self.most.val());
        self.refuse.next = self.s_unit.valid.val()
            & self.open.q.val()
            & !self.granted.q.val()
            & self.settled.q.val()
            & !self.good_size.val();
        self.settled.d.next = !self.granted.q.val();
        self.put.next = SentUnit {
            start: self.given.q.val(),
            words: self.s_unit.words.val(),
            settings: self.s_unit.settings.val(),
        };
        self.units.wr.en.next = self.grant.val();
        self.units.wr.addr.next = self.next.q.val().get_bits::<L>(0);
        self.units.wr.data.next = self.put.val().to_bits();
        self.starts.wr.en.next = self.grant.val();
        self.starts.wr.addr.next = self.next.q.val().get_bits::<L>(0);
        self.starts.wr.data.next = self.given.q.val();
        if self.grant.val() | self.refuse.val() {
            self.granted.d.next = true;
            self.wrong.d.next = self.refuse.val();
            self.rest.d.next = self.s_unit.words.val();
            self.count.d.next = self.s_unit.words.val();
            self.place.d.next = self.given.q.val();
        }
        if self.refuse.val() {
            self.rest.d.next = 1.into();
        }
        self.s_unit.ready.next = self.granted.q.val();
        self.word.next = self.granted.q.val() & self.s_unit.valid.val();
        self.done.next = self.word.val() & (self.rest.q.val() == 1) & !self.wrong.q.val();
        self.send.s_keep.en.next = self.word.val() & !self.wrong.q.val();
        self.send.s_keep.addr.next = self.place.q.val().get_bits::<B>(0);
        self.send.s_keep.data.next = self.s_unit.data.val();
        self.stat_refused.next = self.word.val() & self.wrong.q.val();
        if self.word.val() {
            self.rest.d.next = self.rest.q.val() - 1;
            self.place.d.next = self.place.q.val() + 1;
            if self.rest.q.val() == 1 {
                self.granted.d.next = false;
            }
        }
        if self.done.val() {
            self.given.d.next = self.given.q.val() + bit_cast::<16, 12>(self.count.q.val());
            self.next.d.next = self.next.q.val() + 1;
            self.kept.d.next = self.kept.q.val() + 1;
        }

        // Time.
        self.wait.d.next = self.wait.q.val() - 1;
        if self.armed.q.val() & (self.wait.q.val() == 1) {
            self.due.d.next = true;
        }
        self.silence.d.next = self.silence.q.val() - 1;
        if self.silence.q.val() == 1 {
            self.quiet.d.next = true;
        }
        if self.fresh.q.val() {
            self.life.d.next = self.cfg_life.val();
            self.quiet.d.next = true;
            if !self.cfg_life.val().any() {
                self.life.d.next = 1.into();
            }
        }

        // The next frame to send.
        self.index.next = self.next_sent.q.val();
        if self.due.q.val() {
            self.index.next = self.base.q.val();
        }
        self.units.rd.addr.next = self.index.val().get_bits::<L>(0);
        self.found.d.next = self.units.rd.data.val();
        self.entry.next = self.found.q.val().into();
        self.has.next = self.index.val() != self.next.q.val();
        self.poll.next = self.send.idle.val() & !self.receive.m_end.val() & !self.fresh.q.val();
        self.unit_goes.next = self.poll.val() & !self.answer.q.val() & self.has.val();
        self.goes.d.next = self.unit_goes.val();
        self.said.next = self.poll.val()
            & !self.answer.q.val()
            & (self.has.val() | self.owes.q.val() | self.ask.q.val() | self.quiet.q.val());
        self.send.s_go.next = self.said.val() | (self.poll.val() & self.answer.q.val());
        self.send.s_seq.next = self.index.val();
        self.send.s_ack.next = self.expected.q.val();
        self.send.s_limit.next = self.receive.m_taken.val() + self.buffer.val();
        self.send.s_again.next = self.ask.q.val() & !self.answer.q.val();
        self.send.s_busy.next =
            self.answer.q.val() & self.open.q.val() & (self.peer.q.val() != self.heard.q.val());
        self.send.s_from.next = self.life.q.val();
        self.send.s_to.next = self.peer.q.val();
        self.send.s_words.next = 0.into();
        self.send.s_settings.next = self.entry.val().settings;
        self.send.s_start.next = self.entry.val().start.get_bits::<B>(0);
        if self.answer.q.val() {
            self.send.s_to.next = self.heard.q.val();
        }
        if self.goes.q.val() {
            self.send.s_words.next = self.entry.val().words;
        }
        self.again_pulse.d.next = false;
        if self.poll.val() {
            self.next_sent.d.next = self.index.val();
            if self.due.q.val() {
                self.due.d.next = false;
                self.armed.d.next = false;
                self.again_pulse.d.next = true;
            }
            self.answer.d.next = false;
        }
        if self.unit_goes.val() {
            self.next_sent.d.next = self.index.val() + 1;
            if !self.armed.q.val() | self.due.q.val() {
                self.armed.d.next = true;
                self.wait.d.next = self.reload.val();
            }
        }
        if self.send.s_go.val() {
            self.silence.d.next = self.reload.val();
            self.quiet.d.next = false;
        }
        if self.said.val() {
            self.owes.d.next = false;
            self.ask.d.next = false;
        }

        // A frame that has come: compared in the clock behind its last word.
        self.mine.d.next = self.receive.m_to.val() == self.life.q.val();
        self.known.d.next = self.receive.m_from.val() == self.peer.q.val();
        self.acked.d.next = self.receive.m_ack.val() - self.base.q.val();
        self.acked_less.d.next = self.receive.m_ack.val() - self.base.q.val() - 1;
        self.newer.next = self.receive.m_limit.val() - self.limit.q.val();
        self.higher.d.next = !self.newer.val().get_bit(15) & self.newer.val().any();
        self.past.next = self.receive.m_seq.val() - self.expected.q.val();
        self.right.d.next = !self.past.val().any();
        self.ahead.d.next = !self.past.val().get_bit(15) & self.past.val().any();

        // It takes effect.
        self.starts.rd.addr.next = self.receive.m_ack.val().get_bits::<L>(0);
        self.stranger.next = self.receive.m_end.val()
            & (!self.mine.q.val() | (!self.open.q.val() & self.receive.m_busy.val()));
        self.lost.next =
            self.receive.m_end.val() & self.mine.q.val() & self.open.q.val() & !self.known.q.val();
        self.opens.next = self.receive.m_end.val()
            & self.mine.q.val()
            & !self.open.q.val()
            & !self.receive.m_busy.val();
        self.belongs.next = self.opens.val()
            | (self.receive.m_end.val()
                & self.mine.q.val()
                & self.open.q.val()
                & self.known.q.val()
                & !self.receive.m_busy.val());
        self.rest_kept.next =
            bit_cast::<17, 16>(self.kept.q.val()) - bit_cast::<17, 16>(self.acked.q.val());
        self.rest_more.next = self.kept.q.val() - self.acked_less.q.val();
        self.unsent.next = self.receive.m_ack.val() - self.next_sent.q.val();
        self.counts.next = self.belongs.val() & !self.rest_kept.val().get_bit(16);
        self.accepts.next = self.belongs.val()
            & self.receive.m_some.val()
            & self.right.q.val()
            & self.receive.m_fits.val();
        self.receive.s_accept.next = self.accepts.val();
        self.receive.s_clear.next = self.lost.val();
        self.overrun_pulse.d.next = self.belongs.val()
            & self.receive.m_some.val()
            & self.right.q.val()
            & !self.receive.m_fits.val();
        self.lost_pulse.d.next = self.lost.val();
        if self.stranger.val() {
            self.heard.d.next = self.receive.m_from.val();
            self.answer.d.next = true;
        }
        if self.opens.val() {
            self.open.d.next = true;
            self.peer.d.next = self.receive.m_from.val();
            self.answer.d.next = false;
            self.limit.d.next = self.receive.m_limit.val();
            self.owes.d.next = true;
        }
        if self.counts.val() {
            self.base.d.next = self.receive.m_ack.val();
            self.kept.d.next = self.rest_kept.val().get_bits::<16>(0);
            if self.done.val() {
                self.kept.d.next = self.rest_more.val();
            }
            if self.acked.q.val().any() {
                self.armed.d.next = self.rest_kept.val().any();
                self.due.d.next = false;
                self.wait.d.next = self.reload.val();
                self.freed.d.next = self.starts.rd.data.val();
                if !self.rest_kept.val().any() {
                    self.freed.d.next = self.given.q.val();
                }
            }
            // Both are less than 2^15 units away.
            if !self.unsent.val().get_bit(15) & self.unsent.val().any() {
                self.next_sent.d.next = self.receive.m_ack.val();
            }
            if self.receive.m_again.val() {
                self.next_sent.d.next = self.receive.m_ack.val();
                self.again_pulse.d.next = true;
            }
            if self.higher.q.val() {
                self.limit.d.next = self.receive.m_limit.val();
            }
        }
        if self.belongs.val() & self.receive.m_some.val() {
            self.owes.d.next = true;
            if self.ahead.q.val() & !self.missing.q.val() {
                self.missing.d.next = true;
                self.ask.d.next = true;
            }
        }
        if self.accepts.val() {
            self.expected.d.next = self.expected.q.val() + 1;
            self.missing.d.next = false;
        }
        if self.receive.m_left.val() {
            self.owes.d.next = true;
        }
        // A new life, with nothing of the old one.
        if self.lost.val() {
            self.life.d.next = self.life.q.val() + 1;
            if self.life.q.val().all() {
                self.life.d.next = 1.into();
            }
            self.open.d.next = false;
            self.peer.d.next = 0.into();
            self.heard.d.next = self.receive.m_from.val();
            self.answer.d.next = true;
            self.base.d.next = 0.into();
            self.next_sent.d.next = 0.into();
            self.next.d.next = 0.into();
            self.kept.d.next = 0.into();
            self.freed.d.next = 0.into();
            self.held.d.next = 0.into();
            self.given.d.next = 0.into();
            self.limit.d.next = 0.into();
            self.armed.d.next = false;
            self.due.d.next = false;
            self.quiet.d.next = true;
            self.expected.d.next = 0.into();
            self.missing.d.next = false;
            self.ask.d.next = false;
            self.owes.d.next = false;
            self.granted.d.next = false;
            self.settled.d.next = false;
            self.stale.d.next = true;
        }
        self.stat_rx_frame.next = self.receive.m_end.val();
        self.stat_overrun.next = self.overrun_pulse.q.val();
        self.stat_again.next = self.again_pulse.q.val();
        self.stat_lost.next = self.lost_pulse.q.val();
    }
}
