//! Who reduction frames are for.

use crate::blocks::AsyncRam;
use crate::bus::{
    CompletionOut, Ended, RamWriteIn, ReduceAnswer, ReduceAnsweredOut, ReduceArrivalsIn, ReduceKey,
    ReduceResultOut, ReduceRowsIn, ReduceVerdictsOut, ReserveOut,
};
use crate::prelude::*;

hdl_record! {
    /// What a row and a frame have in common.
    struct Compared {
        /// There is one, and its queue pair receives.
        takes_part: Bit,
        /// The VNI.
        vni: Bit,
        /// The cookie.
        cookie: Bit,
        /// The tree.
        tree: Bit,
        /// The members.
        count: Bit,
    }
}

hdl_module! {
    /// Finds the queue pair that a reduction frame is for, gets a completion slot of it, and decides so what becomes of the
    /// frame's words. In their order, one in 11 clocks if slots are answered within 9.
    /// Of a group whose root is here, what may be the result of a round is asked for when it has its slot: 8 clocks more.
    /// Its completion says how many work requests its queue pair has fetched, and never fewer than completions in front of it.
    /// While hold is high none is looked up: whose queue pair ends meanwhile finds none later.
    /// Stages: 1 its group is looked for in the rows that go round, two compared in one clock and judged in the next, 10 clocks; 2 its slot is asked for, then whether it is
    /// answered; 3 its completion and the verdict on its words. Each waits for the next one.
    #[module("card_reduce_land_q{}", 1usize << LQ)]
    pub struct CardReduceLand<const LQ: usize> {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset: nothing is under way.
        pub rst: Signal<In, Bit>,
        /// None begins.
        pub hold: Signal<In, Bit>,
        /// The groups of even rows.
        pub s_even: ReduceRowsIn,
        /// Those of odd rows.
        pub s_odd: ReduceRowsIn,
        /// Good frames.
        pub s: ReduceArrivalsIn,
        /// What becomes of their words.
        pub m_verdict: ReduceVerdictsOut,
        /// What may be the result of a round.
        pub m_result: ReduceResultOut,
        /// Whether those whose words are delivered are answered.
        pub m_answered: ReduceAnsweredOut,
        /// Completion slots.
        pub m_rsv: ReserveOut<LQ>,
        /// Completions.
        pub m_cpl: CompletionOut<LQ>,
        /// Work requests that were fetched so far, by row of the group.
        pub fetched: RamWriteIn<16, 4>,
        /// A queue pair has joined a group; pulse: it has fetched none.
        pub ev_joined: Signal<In, Bit>,
        /// Its row.
        pub joined_row: Signal<In, Bits<4>>,
        /// A frame is answered.
        pub ev_answered: Signal<Out, Bit>,
        /// A frame becomes a completion.
        pub ev_received: Signal<Out, Bit>,
        /// A frame is of no group here.
        pub ev_foreign: Signal<Out, Bit>,
        /// No completion slot was free for it.
        pub ev_no_slot: Signal<Out, Bit>,
        /// Nothing is under way.
        pub m_idle: Signal<Out, Bit>,

        counts: AsyncRam<16, 4>,
        /// A count is to become 0, in the next clock in which none is written.
        #[reset] zero: DFF<Bit>,
        zero_row: DFF<Bits<4>>,
        /// One of this queue pair is counted now.
        fetched_now: Signal<Local, Bit>,
        /// Stage 1: the frame, pairs of rows still to be looked at, what was found.
        #[reset] l_busy: DFF<Bit>,
        l_key: DFF<ReduceKey>,
        l_left: DFF<Bits<4>>,
        l_hit: DFF<Bit>,
        l_qpn: DFF<Bits<LQ>>,
        l_row: DFF<Bits<4>>,
        /// It has the contributions of all members.
        l_all: DFF<Bit>,
        /// The rows of the clock before: parts of each are those of the frame, who it is; it is for that one.
        even: DFF<Compared>,
        odd: DFF<Compared>,
        even_qpn: DFF<Bits<LQ>>,
        odd_qpn: DFF<Bits<LQ>>,
        even_row: DFF<Bits<4>>,
        odd_row: DFF<Bits<4>>,
        judges: Signal<Local, Bit>,
        for_even: Signal<Local, Bit>,
        for_odd: Signal<Local, Bit>,
        /// It may be a result, but for the members that it has.
        may_be_all: Signal<Local, Bit>,
        l_done: Signal<Local, Bit>,
        takes: Signal<Local, Bit>,
        /// Stage 2: a slot is asked for; the answer is here.
        #[reset] a_busy: DFF<Bit>,
        #[reset] asks: DFF<Bit>,
        a_hit: DFF<Bit>,
        a_ok: DFF<Bit>,
        a_qpn: DFF<Bits<LQ>>,
        a_row: DFF<Bits<4>>,
        a_key: DFF<ReduceKey>,
        a_all: DFF<Bit>,
        /// Whether it is answered is asked; it is, and begins this round.
        #[reset] result: DFF<Bit>,
        a_answers: DFF<Bit>,
        a_round: DFF<Bits<56>>,
        a_done: Signal<Local, Bit>,
        /// Stage 3: a completion is offered.
        #[reset] c_valid: DFF<Bit>,
        c_qpn: DFF<Bits<LQ>>,
        c_fetched: DFF<Bits<16>>,
        c_answered: DFF<Bit>,
        #[reset] answered: DFF<Bit>,
        #[reset] received: DFF<Bit>,
        #[reset] foreign: DFF<Bit>,
        #[reset] no_slot: DFF<Bit>,
    }
}

impl<const LQ: usize> Logic for CardReduceLand<LQ> {
    #[hdl_gen]
    fn update(&mut self) {
        // Stage 1: its group.
        self.l_done.next = self.l_busy.q.val() & !self.l_left.q.val().any();
        self.takes.next = !self.l_busy.q.val() & self.s.valid.val() & !self.hold.val();
        self.s.ready.next = !self.l_busy.q.val() & !self.hold.val();
        if self.takes.val() {
            self.l_busy.d.next = true;
            self.l_key.d.next = self.s.of.val();
            self.l_left.d.next = 9.into();
            self.l_hit.d.next = false;
        }
        self.even.d.next = Compared {
            takes_part: self.s_even.of.val().there & self.s_even.of.val().receives,
            vni: self.s_even.of.val().of.vni == self.l_key.q.val().vni,
            cookie: self.s_even.of.val().of.cookie == self.l_key.q.val().cookie.get_bits::<29>(3),
            tree: self.s_even.of.val().of.tree == self.l_key.q.val().tree,
            count: bit_cast::<20, 19>(self.s_even.of.val().of.members) == self.l_key.q.val().count,
        };
        self.odd.d.next = Compared {
            takes_part: self.s_odd.of.val().there & self.s_odd.of.val().receives,
            vni: self.s_odd.of.val().of.vni == self.l_key.q.val().vni,
            cookie: self.s_odd.of.val().of.cookie == self.l_key.q.val().cookie.get_bits::<29>(3),
            tree: self.s_odd.of.val().of.tree == self.l_key.q.val().tree,
            count: bit_cast::<20, 19>(self.s_odd.of.val().of.members) == self.l_key.q.val().count,
        };
        self.even_qpn.d.next = self.s_even.of.val().of.qpn.get_bits::<LQ>(0);
        self.odd_qpn.d.next = self.s_odd.of.val().of.qpn.get_bits::<LQ>(0);
        self.even_row.d.next = self.s_even.of.val().number;
        self.odd_row.d.next = self.s_odd.of.val().number;
        self.for_even.next = self.even.q.val().takes_part
            & self.even.q.val().vni
            & self.even.q.val().cookie
            & (self.l_key.q.val().own | (self.l_key.q.val().by_tree & self.even.q.val().tree));
        self.for_odd.next = self.odd.q.val().takes_part
            & self.odd.q.val().vni
            & self.odd.q.val().cookie
            & (self.l_key.q.val().own | (self.l_key.q.val().by_tree & self.odd.q.val().tree));
        self.may_be_all.next = self.l_key.q.val().whole & !self.l_key.q.val().own;
        if self.l_left.q.val().any() {
            self.l_left.d.next = self.l_left.q.val() - 1;
        }
        // In the first clock the rows before were compared with the frame before.
        self.judges.next = self.l_left.q.val().any() & (self.l_left.q.val() != 9);
        if self.judges.val() & (self.for_even.val() | self.for_odd.val()) {
            self.l_hit.d.next = true;
            self.l_qpn.d.next = self.even_qpn.q.val();
            self.l_all.d.next = self.may_be_all.val() & self.even.q.val().count;
            self.l_row.d.next = self.even_row.q.val();
            if self.for_odd.val() {
                self.l_qpn.d.next = self.odd_qpn.q.val();
                self.l_row.d.next = self.odd_row.q.val();
                self.l_all.d.next = self.may_be_all.val() & self.odd.q.val().count;
            }
        }

        // Stage 2: its slot.
        if self.l_done.val() & !self.a_busy.q.val() {
            self.l_busy.d.next = false;
            self.a_busy.d.next = true;
            self.asks.d.next = self.l_hit.q.val();
            self.a_hit.d.next = self.l_hit.q.val();
            self.a_qpn.d.next = self.l_qpn.q.val();
            self.a_row.d.next = self.l_row.q.val();
            self.a_key.d.next = self.l_key.q.val();
            self.a_all.d.next = self.l_all.q.val();
            self.a_ok.d.next = false;
            self.a_answers.d.next = false;
        }
        self.m_rsv.valid.next = self.asks.q.val();
        self.m_rsv.qpn.next = self.a_qpn.q.val();
        if self.asks.q.val() & self.m_rsv.done.val() {
            self.asks.d.next = false;
            self.a_ok.d.next = self.m_rsv.ok.val();
            self.result.d.next = self.m_rsv.ok.val() & self.a_all.q.val();
        }
        self.m_result.valid.next = self.result.q.val();
        self.m_result.place.next = (bit_cast::<7, 4>(self.a_row.q.val()) << 3)
            | bit_cast::<7, 3>(self.a_key.q.val().cookie.get_bits::<3>(0));
        self.m_result.seqno.next = self.a_key.q.val().seqno;
        if self.m_result.done.val() {
            self.result.d.next = false;
            self.a_answers.d.next = self.m_result.ok.val();
            self.a_round.d.next = self.m_result.round.val();
        }

        // Stage 3: its completion, and what becomes of its words.
        self.a_done.next = self.a_busy.q.val()
            & !self.asks.q.val()
            & !self.result.q.val()
            & !self.c_valid.q.val()
            & self.m_answered.ready.val()
            & self.m_verdict.room.val();
        self.m_answered.valid.next = self.a_done.val() & self.a_ok.q.val();
        self.m_answered.answers.next = self.a_answers.q.val();
        self.m_answered.of.next = ReduceAnswer {
            vni: self.a_key.q.val().vni,
            cookie: self.a_key.q.val().cookie,
            tree: self.a_key.q.val().tree,
            round: self.a_round.q.val(),
        };
        self.m_verdict.valid.next = self.a_done.val();
        self.m_verdict.drop.next = !self.a_ok.q.val();
        self.counts.rd.addr.next = self.a_row.q.val();
        self.fetched_now.next =
            self.fetched.en.val() & (self.fetched.addr.val() == self.a_row.q.val());
        self.counts.wr.en.next = self.fetched.en.val() | self.zero.q.val();
        self.counts.wr.addr.next = self.zero_row.q.val();
        self.counts.wr.data.next = 0.into();
        if self.fetched.en.val() {
            self.counts.wr.addr.next = self.fetched.addr.val();
            self.counts.wr.data.next = self.fetched.data.val();
        }
        self.zero.d.next = self.zero.q.val() & self.fetched.en.val();
        if self.ev_joined.val() {
            self.zero.d.next = true;
            self.zero_row.d.next = self.joined_row.val();
        }
        self.answered.d.next = self.a_done.val() & self.a_answers.q.val();
        self.received.d.next = self.a_done.val() & self.a_ok.q.val();
        self.foreign.d.next = self.a_done.val() & !self.a_hit.q.val();
        self.no_slot.d.next = self.a_done.val() & self.a_hit.q.val() & !self.a_ok.q.val();
        if self.m_cpl.ready.val() {
            self.c_valid.d.next = false;
        }
        if self.a_done.val() {
            self.a_busy.d.next = false;
            self.c_valid.d.next = self.a_ok.q.val();
            self.c_qpn.d.next = self.a_qpn.q.val();
            self.c_answered.d.next = self.a_answers.q.val();
            // What begins in this clock counts: its completion may be in front of this one.
            self.c_fetched.d.next = self.counts.rd.data.val();
            if self.fetched_now.val() {
                self.c_fetched.d.next = self.fetched.data.val();
            }
        }
        self.m_cpl.valid.next = self.c_valid.q.val();
        self.m_cpl.qpn.next = self.c_qpn.q.val();
        self.m_cpl.of.next = bits::<{ Ended::BITS }>(0).into();
        self.m_cpl.of.next.request = self.c_fetched.q.val();
        self.m_cpl.of.next.arrived = true;
        self.m_cpl.of.next.notified = self.c_answered.q.val();
        self.ev_answered.next = self.answered.q.val();
        self.ev_received.next = self.received.q.val();
        self.ev_foreign.next = self.foreign.q.val();
        self.ev_no_slot.next = self.no_slot.q.val();
        self.m_idle.next = !self.l_busy.q.val() & !self.a_busy.q.val() & !self.c_valid.q.val();
    }
}
