//! The reduction groups of a card.

use crate::blocks::AsyncRam;
use crate::bus::{ContextIn, ReduceJoinIn, ReduceMember, ReduceRowsOut};
use crate::prelude::*;
use crate::record::ContextShape;
use tributary_protocol::card::command::State as QpState;
use tributary_protocol::card::regs::REDUCTION_GROUPS;

const _: () = assert!(REDUCTION_GROUPS == 8);

hdl_module! {
    /// Eight rows, each a queue pair and its reduction group. They go round at m_row, one a clock, for all who look for a
    /// queue pair or a group: three clients, and no port of the memory for any of them.
    /// A queue pair joins in 11 clocks: eight rows are looked at for one of the same VNI and cookie and for a free row, then
    /// the free one is written. Its state, word 0 of its context, counts within 10 clocks; in the state Reset its row is free.
    /// Words 0 of contexts are 10 clocks apart at least, and none comes while one joins.
    /// Stages: 1 a row is read; 2 it is at m_row. Nothing stalls it.
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
        /// The rows.
        pub m_row: ReduceRowsOut,
        /// A queue pair has joined a group; pulse.
        pub ev_joined: Signal<Out, Bit>,
        /// Its row.
        pub joined_row: Signal<Out, Bits<3>>,

        members: AsyncRam<{ ReduceMember::BITS }, 3>,
        /// A bit for each row: it is there; its queue pair receives.
        #[reset] there: DFF<Bits<8>>,
        #[reset] receives: DFF<Bits<8>>,
        /// The row that is read, and the one that is shown.
        #[reset] at: DFF<Bits<3>>,
        shown: DFF<ReduceMember>,
        shown_at: DFF<Bits<3>>,
        shown_bit: Signal<Local, Bits<8>>,
        is_there: Signal<Local, Bit>,
        does_receive: Signal<Local, Bit>,
        shape: Signal<Local, ContextShape>,
        /// Rows still to be looked at for a state, of this queue pair.
        #[reset] state_left: DFF<Bits<4>>,
        state_qpn: DFF<Bits<12>>,
        to_receive: DFF<Bit>,
        to_end: DFF<Bit>,
        its: Signal<Local, Bit>,
        /// Rows still to be looked at for who joins.
        #[reset] join_left: DFF<Bits<4>>,
        #[reset] joining: DFF<Bit>,
        decides: Signal<Local, Bit>,
        /// Another one is in the group; a row is free, this one.
        clash: DFF<Bit>,
        found: DFF<Bit>,
        free: DFF<Bits<3>>,
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
        self.members.rd.addr.next = self.at.q.val();
        self.shown.d.next = self.members.rd.data.val().into();
        self.shown_at.d.next = self.at.q.val();
        self.shown_bit.next = bits::<8>(1) << self.shown_at.q.val();
        self.is_there.next = (self.there.q.val() & self.shown_bit.val()).any();
        self.does_receive.next = (self.receives.q.val() & self.shown_bit.val()).any();
        self.m_row.of.next.number = self.shown_at.q.val();
        self.m_row.of.next.there = self.is_there.val();
        self.m_row.of.next.receives = self.does_receive.val();
        self.m_row.of.next.of = self.shown.q.val();

        // States.
        self.shape.next = self.cfg.of.val().data.into();
        self.its.next = self.state_left.q.val().any()
            & self.is_there.val()
            & (self.shown.q.val().qpn == self.state_qpn.q.val());
        if self.state_left.q.val().any() {
            self.state_left.d.next = self.state_left.q.val() - 1;
        }
        if self.its.val() {
            self.receives.d.next = self.receives.q.val() & !self.shown_bit.val();
            if self.to_receive.q.val() {
                self.receives.d.next = self.receives.q.val() | self.shown_bit.val();
            }
            if self.to_end.q.val() {
                self.there.d.next = self.there.q.val() & !self.shown_bit.val();
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
        if self.join_left.q.val().any() {
            self.join_left.d.next = self.join_left.q.val() - 1;
            if self.is_there.val()
                & (self.shown.q.val().vni == self.s_join.of.val().vni)
                & (self.shown.q.val().cookie == self.s_join.of.val().cookie)
            {
                self.clash.d.next = true;
            }
            if !self.is_there.val() {
                self.found.d.next = true;
                self.free.d.next = self.shown_at.q.val();
            }
        }
        self.members.wr.en.next = false;
        self.members.wr.addr.next = self.free.q.val();
        self.members.wr.data.next = self.s_join.of.val().to_bits();
        if self.decides.val() {
            self.joining.d.next = false;
            self.done.d.next = true;
            self.ok.d.next = self.found.q.val() & !self.clash.q.val();
            self.members.wr.en.next = self.found.q.val() & !self.clash.q.val();
        }
        // A clock after it was written: what is shown until then is what was there before.
        if self.done.q.val() & self.ok.q.val() {
            self.there.d.next = self.there.q.val() | (bits::<8>(1) << self.free.q.val());
            self.receives.d.next = self.receives.q.val() & !(bits::<8>(1) << self.free.q.val());
        }
        self.ev_joined.next = self.done.q.val() & self.ok.q.val();
        self.joined_row.next = self.free.q.val();
        self.s_join.done.next = self.done.q.val();
        self.s_join.ok.next = self.ok.q.val();
    }
}
