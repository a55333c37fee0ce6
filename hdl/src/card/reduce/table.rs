//! The reduction groups of a card.

use crate::blocks::AsyncRam;
use crate::bus::{ContextIn, ReduceJoinIn, ReduceMember, ReduceRowsOut};
use crate::prelude::*;
use crate::record::ContextShape;
use tributary_protocol::card::command::State as QpState;
use tributary_protocol::card::regs::REDUCTION_GROUPS;

const _: () = assert!(REDUCTION_GROUPS == 16);

hdl_module! {
    /// Sixteen rows, each a queue pair and its reduction group. They go round at m_even and m_odd, one a clock at
    /// each, for all who look for a queue pair or a group: three clients, and no port of the two memories for any of them.
    /// A queue pair joins in 11 clocks: all rows are looked at for one of the same VNI and cookie and for a free row, then
    /// the free one is written. Its state, word 0 of its context, counts within 10 clocks; in the state Reset its row is free.
    /// Words 0 of contexts are 10 clocks apart at least, and none comes while one joins.
    /// Stages: 1 two rows are read; 2 they are at m_even and m_odd. Nothing stalls it.
    #[module("card_reduce_table_q{}", 1usize << LQ)]
    pub struct CardReduceTable<const LQ: usize> {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset: no groups.
        pub rst: Signal<In, Bit>,
        /// Queue pairs that are to be in groups.
        pub s_join: ReduceJoinIn,
        /// Contexts of queue pairs: word 0 is looked at.
        pub cfg: ContextIn<LQ>,
        /// The even rows.
        pub m_even: ReduceRowsOut,
        /// The odd rows.
        pub m_odd: ReduceRowsOut,
        /// A queue pair has joined a group; pulse.
        pub ev_joined: Signal<Out, Bit>,
        /// Its row.
        pub joined_row: Signal<Out, Bits<4>>,

        evens: AsyncRam<{ ReduceMember::BITS }, 3>,
        odds: AsyncRam<{ ReduceMember::BITS }, 3>,
        /// A bit for each row: it is there; its queue pair receives.
        #[reset] there: DFF<Bits<16>>,
        #[reset] receives: DFF<Bits<16>>,
        /// The pair of rows that is read, and the one that is shown.
        #[reset] at: DFF<Bits<3>>,
        even: DFF<ReduceMember>,
        odd: DFF<ReduceMember>,
        shown_at: DFF<Bits<3>>,
        even_bit: Signal<Local, Bits<16>>,
        odd_bit: Signal<Local, Bits<16>>,
        even_there: Signal<Local, Bit>,
        odd_there: Signal<Local, Bit>,
        even_receives: Signal<Local, Bit>,
        odd_receives: Signal<Local, Bit>,
        shape: Signal<Local, ContextShape>,
        /// Pairs of rows still to be looked at for a state, of this queue pair; the rows that are its own.
        #[reset] state_left: DFF<Bits<4>>,
        state_qpn: DFF<Bits<12>>,
        to_receive: DFF<Bit>,
        to_end: DFF<Bit>,
        its_even: Signal<Local, Bit>,
        its_odd: Signal<Local, Bit>,
        its: Signal<Local, Bits<16>>,
        /// Pairs of rows still to be looked at for who joins.
        #[reset] join_left: DFF<Bits<4>>,
        #[reset] joining: DFF<Bit>,
        decides: Signal<Local, Bit>,
        /// Another one is in the group, seen at an even or an odd row; a row is free, this one.
        clash_even: Signal<Local, Bit>,
        clash_odd: Signal<Local, Bit>,
        clash: DFF<Bit>,
        found: DFF<Bit>,
        free: DFF<Bits<4>>,
        free_bit: Signal<Local, Bits<16>>,
        #[reset] done: DFF<Bit>,
        ok: DFF<Bit>,
        receives_state: Param<{ QpState::ReadyToReceive as usize }, 3>,
        sends_state: Param<{ QpState::ReadyToSend as usize }, 3>,
        reset_state: Param<{ QpState::Reset as usize }, 3>,
    }
}

impl<const LQ: usize> Logic for CardReduceTable<LQ> {
    #[hdl_gen]
    fn update(&mut self) {
        // The rows go round.
        self.at.d.next = self.at.q.val() + 1;
        self.evens.rd.addr.next = self.at.q.val();
        self.odds.rd.addr.next = self.at.q.val();
        self.even.d.next = self.evens.rd.data.val().into();
        self.odd.d.next = self.odds.rd.data.val().into();
        self.shown_at.d.next = self.at.q.val();
        self.even_bit.next = bits::<16>(1) << (bit_cast::<4, 3>(self.shown_at.q.val()) << 1);
        self.odd_bit.next = self.even_bit.val() << 1;
        self.even_there.next = (self.there.q.val() & self.even_bit.val()).any();
        self.odd_there.next = (self.there.q.val() & self.odd_bit.val()).any();
        self.even_receives.next = (self.receives.q.val() & self.even_bit.val()).any();
        self.odd_receives.next = (self.receives.q.val() & self.odd_bit.val()).any();
        self.m_even.of.next.number = bit_cast::<4, 3>(self.shown_at.q.val()) << 1;
        self.m_even.of.next.there = self.even_there.val();
        self.m_even.of.next.receives = self.even_receives.val();
        self.m_even.of.next.of = self.even.q.val();
        self.m_odd.of.next.number = (bit_cast::<4, 3>(self.shown_at.q.val()) << 1) | bits::<4>(1);
        self.m_odd.of.next.there = self.odd_there.val();
        self.m_odd.of.next.receives = self.odd_receives.val();
        self.m_odd.of.next.of = self.odd.q.val();

        // States.
        self.shape.next = self.cfg.of.val().data.into();
        self.its_even.next = self.state_left.q.val().any()
            & self.even_there.val()
            & (self.even.q.val().qpn == self.state_qpn.q.val());
        self.its_odd.next = self.state_left.q.val().any()
            & self.odd_there.val()
            & (self.odd.q.val().qpn == self.state_qpn.q.val());
        self.its.next = 0.into();
        if self.its_even.val() {
            self.its.next = self.even_bit.val();
        }
        if self.its_odd.val() {
            self.its.next = self.odd_bit.val();
        }
        if self.state_left.q.val().any() {
            self.state_left.d.next = self.state_left.q.val() - 1;
        }
        if self.its.val().any() {
            self.receives.d.next = self.receives.q.val() & !self.its.val();
            if self.to_receive.q.val() {
                self.receives.d.next = self.receives.q.val() | self.its.val();
            }
            if self.to_end.q.val() {
                self.there.d.next = self.there.q.val() & !self.its.val();
            }
        }
        if self.cfg.valid.val() & (self.cfg.of.val().word == 0) {
            self.state_left.d.next = 8.into();
            self.state_qpn.d.next = bit_cast::<12, LQ>(self.cfg.of.val().qpn);
            self.to_receive.d.next = (self.shape.val().state == self.receives_state.val())
                | (self.shape.val().state == self.sends_state.val());
            self.to_end.d.next = self.shape.val().state == self.reset_state.val();
        }

        // One joins.
        self.done.d.next = false;
        self.decides.next = self.joining.q.val() & !self.join_left.q.val().any();
        if self.s_join.valid.val() & !self.joining.q.val() & !self.done.q.val() {
            self.joining.d.next = true;
            self.join_left.d.next = 8.into();
            self.clash.d.next = false;
            self.found.d.next = false;
        }
        self.clash_even.next = self.even_there.val()
            & (self.even.q.val().vni == self.s_join.of.val().vni)
            & (self.even.q.val().cookie == self.s_join.of.val().cookie);
        self.clash_odd.next = self.odd_there.val()
            & (self.odd.q.val().vni == self.s_join.of.val().vni)
            & (self.odd.q.val().cookie == self.s_join.of.val().cookie);
        if self.join_left.q.val().any() {
            self.join_left.d.next = self.join_left.q.val() - 1;
            if self.clash_even.val() | self.clash_odd.val() {
                self.clash.d.next = true;
            }
            if !self.even_there.val() | !self.odd_there.val() {
                self.found.d.next = true;
                self.free.d.next = (bit_cast::<4, 3>(self.shown_at.q.val()) << 1)
                    | bit_cast::<4, 1>(self.even_there.val().into());
            }
        }
        self.evens.wr.en.next = false;
        self.evens.wr.addr.next = self.free.q.val().get_bits::<3>(1);
        self.evens.wr.data.next = self.s_join.of.val().to_bits();
        self.odds.wr.en.next = false;
        self.odds.wr.addr.next = self.free.q.val().get_bits::<3>(1);
        self.odds.wr.data.next = self.s_join.of.val().to_bits();
        if self.decides.val() {
            self.joining.d.next = false;
            self.done.d.next = true;
            self.ok.d.next = self.found.q.val() & !self.clash.q.val();
            self.evens.wr.en.next =
                self.found.q.val() & !self.clash.q.val() & !self.free.q.val().get_bit(0);
            self.odds.wr.en.next =
                self.found.q.val() & !self.clash.q.val() & self.free.q.val().get_bit(0);
        }
        // A clock after it was written: what is shown until then is what was there before.
        self.free_bit.next = bits::<16>(1) << self.free.q.val();
        if self.done.q.val() & self.ok.q.val() {
            self.there.d.next = self.there.q.val() | self.free_bit.val();
            self.receives.d.next = self.receives.q.val() & !self.free_bit.val();
        }
        self.ev_joined.next = self.done.q.val() & self.ok.q.val();
        self.joined_row.next = self.free.q.val();
        self.s_join.done.next = self.done.q.val();
        self.s_join.ok.next = self.ok.q.val();
    }
}
