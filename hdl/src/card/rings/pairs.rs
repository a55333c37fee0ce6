//! Queue pairs of groups: what a schedule ring starts is posted in them, and what happens to them is told to the ring.

use crate::blocks::RamRegForward;
use crate::bus::{
    BlockStartIn, CardPostOut, CompletionIn, CompletionOut, GrantStartIn, GroupBindingIn,
    GroupPair, HostTellIn, ScheduleEventOut,
};
use crate::prelude::*;
use tributary_protocol::multicast::ring::{Operation, PEERS};
use tributary_protocol::xud::Outcome;

/// What the block does.
#[derive(Copy, Clone, PartialEq, Debug, LogicState)]
enum State {
    Clear,
    Idle,
    Find,
    Look,
    Judge,
    Count,
    Post,
    Tell,
    More,
}

/// Where its work comes from.
#[derive(Copy, Clone, PartialEq, Debug, LogicState)]
enum Source {
    Told,
    Ended,
    Start,
    Grant,
}

hdl_module! {
    /// Queue pairs that belong to groups of schedule rings (MB-16). A block to send, or a grant to tell, is a bulk WRITE that
    /// the host has put into the send ring of the peer's queue pair: here its doorbell is rung, once for each. What ends a
    /// WRITE, and what the host was told of one that came, becomes an event of mb_ring: with role 1 an end is sent, what came is
    /// a credit with its immediate data; with role 2 what came is a block, which begins and has landed, and an end says nothing.
    /// An end that is not OK is a failure of the peer, and so is a block or a grant for a peer without a queue pair.
    /// One at a time, each source in turn. Stages: FIND 3, only for blocks and grants; LOOK 3; JUDGE 1; COUNT 1, a clock more for a
    /// binding, and POST until the doorbell is rung, or TELL until the event is taken, and MORE for a second one.
    /// Completions pass, each waits until what the one before means is known. A binding is written in the clock in which it
    /// comes, and the count of its work requests begins anew. A queue pair that ends loses its binding.
    /// While an event is not taken, or a doorbell cannot be rung, nothing else is looked at.
    #[module("card_ring_pairs_q{}_g{}", 1usize << LQ, 1usize << LG)]
    pub struct CardRingPairs<const LQ: usize, const LG: usize, const LO: usize> {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset: no queue pair belongs to a group. The table is cleared, one a clock.
        pub rst: Signal<In, Bit>,
        /// It has been cleared; until then bindings are lost.
        pub ready: Signal<Out, Bit>,
        /// Bindings.
        pub s_bind: GroupBindingIn,
        /// The one of the clock before could not be: no such queue pair, group, slot or role; pulse.
        pub m_unbound: Signal<Out, Bit>,
        /// A queue pair ends.
        pub s_end_valid: Signal<In, Bit>,
        /// Which.
        pub s_end_qpn: Signal<In, Bits<24>>,
        /// Completions of bulk transfers.
        pub s_cpl: CompletionIn<LQ>,
        /// The same.
        pub m_cpl: CompletionOut<LQ>,
        /// What hosts were told of transfers that came.
        pub s_tell: HostTellIn,
        /// Blocks to send.
        pub s_start: BlockStartIn,
        /// Grants to tell.
        pub s_grant: GrantStartIn,
        /// Doorbells.
        pub m_post: CardPostOut<LQ>,
        /// Events.
        pub m_ev: ScheduleEventOut,

        state: DFF<State>,
        timer: DFF<Bits<2>>,
        #[reset] sweep: DFF<Bits<LQ>>,
        /// Of each queue pair: whose it is, and how many work requests were posted here.
        pairs: RamRegForward<{ GroupPair::BITS }, LQ>,
        posted: RamRegForward<16, LQ>,
        /// Queue pair of a role, group and slot; it may have another binding by now.
        places: RamRegForward<LQ, LO>,
        none: Signal<Local, GroupPair>,
        fits: Signal<Local, Bit>,
        binds: Signal<Local, Bit>,
        #[reset] unbound: DFF<Bit>,
        at_bind: Signal<Local, Bits<LO>>,
        at_find: Signal<Local, Bits<LO>>,
        /// A completion that is to be looked at.
        #[reset] ended: DFF<Bit>,
        ended_qpn: DFF<Bits<LQ>>,
        ended_ok: DFF<Bit>,
        /// Whose turn it is; what is under way.
        #[reset] turn: DFF<Bits<2>>,
        from: DFF<Source>,
        qpn: DFF<Bits<LQ>>,
        wanted: DFF<GroupPair>,
        value: DFF<Bits<32>>,
        good: DFF<Bit>,
        found: DFF<GroupPair>,
        count: DFF<Bits<16>>,
        same: Signal<Local, Bit>,
        posts: Signal<Local, Bit>,
        /// The queue pair was given anew since its count was read.
        anew: DFF<Bit>,
        op: DFF<Bits<3>>,
        again: DFF<Bit>,
        ok: Param<{ Outcome::Ok as usize }, 8>,
        no_slot: Param<{ PEERS as usize }, 6>,
        op_begin: Param<{ Operation::Begin as usize & 7 }, 3>,
        op_landed: Param<{ Operation::Landed as usize & 7 }, 3>,
        op_credit: Param<{ Operation::Credit as usize & 7 }, 3>,
        op_sent: Param<{ Operation::Sent as usize & 7 }, 3>,
        op_failed: Param<{ Operation::Failed as usize & 7 }, 3>,
    }
}

impl<const LQ: usize, const LG: usize, const LO: usize> Logic for CardRingPairs<LQ, LG, LO> {
    #[hdl_gen]
    fn update(&mut self) {
        // Bindings.
        self.none.next = bits::<{ GroupPair::BITS }>(0).into();
        self.fits.next = (bit_cast::<16, LQ>(bit_cast::<LQ, 16>(self.s_bind.pair.val()))
            == self.s_bind.pair.val())
            & (bit_cast::<8, LG>(bit_cast::<LG, 8>(self.s_bind.of.val().group))
                == self.s_bind.of.val().group)
            & (self.s_bind.of.val().slot != self.no_slot.val())
            & !self.s_bind.of.val().role.all();
        self.unbound.d.next = self.s_bind.valid.val() & !self.fits.val();
        self.m_unbound.next = self.unbound.q.val();
        self.binds.next =
            self.s_bind.valid.val() & self.fits.val() & (self.state.q.val() != State::Clear);
        self.at_bind.next = (bit_cast::<LO, 8>(self.s_bind.of.val().group) << 7)
            | (bit_cast::<LO, 6>(self.s_bind.of.val().slot) << 1)
            | bit_cast::<LO, 1>(self.s_bind.of.val().role.get_bit(1).into());
        self.pairs.wr.en.next = (self.state.q.val() == State::Clear) | self.s_end_valid.val();
        self.pairs.wr.addr.next = self.sweep.q.val();
        self.pairs.wr.data.next = self.none.val().to_bits();
        if self.s_end_valid.val() & (self.state.q.val() != State::Clear) {
            self.pairs.wr.addr.next = bit_cast::<LQ, 24>(self.s_end_qpn.val());
        }
        if self.binds.val() {
            self.pairs.wr.en.next = true;
            self.pairs.wr.addr.next = bit_cast::<LQ, 16>(self.s_bind.pair.val());
            self.pairs.wr.data.next = self.s_bind.of.val().to_bits();
        }
        self.places.wr.en.next = self.binds.val() & self.s_bind.of.val().role.any();
        self.places.wr.addr.next = self.at_bind.val();
        self.places.wr.data.next = bit_cast::<LQ, 16>(self.s_bind.pair.val());
        self.ready.next = self.state.q.val() != State::Clear;

        // Completions pass, and are looked at.
        self.m_cpl.valid.next = self.s_cpl.valid.val() & !self.ended.q.val();
        self.m_cpl.qpn.next = self.s_cpl.qpn.val();
        self.m_cpl.of.next = self.s_cpl.of.val();
        self.s_cpl.ready.next = self.m_cpl.ready.val() & !self.ended.q.val();
        if !self.ended.q.val() {
            self.ended_qpn.d.next = self.s_cpl.qpn.val();
            self.ended_ok.d.next = self.s_cpl.of.val().status == self.ok.val();
            self.ended.d.next = self.s_cpl.valid.val() & self.m_cpl.ready.val();
        }

        // The tables.
        self.at_find.next = (bit_cast::<LO, 8>(self.wanted.q.val().group) << 7)
            | (bit_cast::<LO, 6>(self.wanted.q.val().slot) << 1)
            | bit_cast::<LO, 1>(self.wanted.q.val().role.get_bit(1).into());
        self.places.rd.addr.next = self.at_find.val();
        self.pairs.rd.addr.next = self.qpn.q.val();
        self.posted.rd.addr.next = self.qpn.q.val();
        self.posts.next =
            (self.from.q.val() == Source::Start) | (self.from.q.val() == Source::Grant);
        self.same.next = (self.found.q.val().role == self.wanted.q.val().role)
            & (self.found.q.val().group == self.wanted.q.val().group)
            & (self.found.q.val().slot == self.wanted.q.val().slot);
        self.m_post.valid.next = self.state.q.val() == State::Post;
        self.m_post.of.next.qpn = self.qpn.q.val();
        self.m_post.of.next.index = self.count.q.val();
        self.posted.wr.en.next = (self.state.q.val() == State::Count) & !self.anew.q.val();
        self.posted.wr.addr.next = self.qpn.q.val();
        self.posted.wr.data.next = self.count.q.val();
        if self.binds.val() {
            self.posted.wr.en.next = true;
            self.posted.wr.addr.next = bit_cast::<LQ, 16>(self.s_bind.pair.val());
            self.posted.wr.data.next = 0.into();
        }
        self.anew.d.next = (self.anew.q.val()
            | (self.binds.val()
                & (bit_cast::<LQ, 16>(self.s_bind.pair.val()) == self.qpn.q.val())))
            & !((self.state.q.val() == State::Look) & (self.timer.q.val() == 0));
        self.m_ev.valid.next =
            (self.state.q.val() == State::Tell) | (self.state.q.val() == State::More);
        self.m_ev.op.next = self.op.q.val();
        if self.state.q.val() == State::More {
            self.m_ev.op.next = self.op_landed.val();
        }
        self.m_ev.group.next = self.found.q.val().group;
        self.m_ev.slot.next = self.found.q.val().slot;
        self.m_ev.value.next = self.value.q.val();
        self.s_tell.ready.next = (self.state.q.val() == State::Idle) & (self.turn.q.val() == 0);
        self.s_start.ready.next = (self.state.q.val() == State::Idle) & (self.turn.q.val() == 2);
        self.s_grant.ready.next = (self.state.q.val() == State::Idle) & (self.turn.q.val() == 3);

        self.timer.d.next = 0.into();
        match self.state.q.val() {
            State::Clear => {
                self.sweep.d.next = self.sweep.q.val() + 1;
                if self.sweep.q.val().all() {
                    self.state.d.next = State::Idle;
                }
            }
            State::Idle => {
                self.turn.d.next = self.turn.q.val() + 1;
                if (self.turn.q.val() == 0) & self.s_tell.valid.val() {
                    self.from.d.next = Source::Told;
                    self.qpn.d.next = bit_cast::<LQ, 24>(self.s_tell.of.val().qpn);
                    self.value.d.next = self.s_tell.of.val().immediate;
                    self.good.d.next = true;
                    self.state.d.next = State::Look;
                }
                if (self.turn.q.val() == 1) & self.ended.q.val() {
                    self.ended.d.next = false;
                    self.from.d.next = Source::Ended;
                    self.qpn.d.next = self.ended_qpn.q.val();
                    self.good.d.next = self.ended_ok.q.val();
                    self.state.d.next = State::Look;
                }
                if (self.turn.q.val() == 2) & self.s_start.valid.val() {
                    self.from.d.next = Source::Start;
                    self.wanted.d.next = GroupPair {
                        role: 1.into(),
                        group: self.s_start.of.val().group,
                        slot: self.s_start.of.val().to,
                    };
                    self.state.d.next = State::Find;
                }
                if (self.turn.q.val() == 3) & self.s_grant.valid.val() {
                    self.from.d.next = Source::Grant;
                    self.wanted.d.next = GroupPair {
                        role: 2.into(),
                        group: self.s_grant.of.val().group,
                        slot: self.s_grant.of.val().to,
                    };
                    self.state.d.next = State::Find;
                }
            }
            State::Find => {
                self.timer.d.next = self.timer.q.val() + 1;
                self.qpn.d.next = self.places.rd.data.val();
                if self.timer.q.val() == 2 {
                    self.timer.d.next = 0.into();
                    self.state.d.next = State::Look;
                }
            }
            State::Look => {
                self.timer.d.next = self.timer.q.val() + 1;
                self.found.d.next = self.pairs.rd.data.val().into();
                self.count.d.next = self.posted.rd.data.val() + 1;
                if self.timer.q.val() == 2 {
                    self.state.d.next = State::Judge;
                }
            }
            State::Judge => {
                self.state.d.next = State::Idle;
                self.again.d.next = false;
                if self.posts.val() {
                    self.state.d.next = State::Count;
                    if !self.same.val() {
                        self.found.d.next = self.wanted.q.val();
                        self.op.d.next = self.op_failed.val();
                        self.state.d.next = State::Tell;
                    }
                } else if self.found.q.val().role.any() {
                    if !self.good.q.val() {
                        self.op.d.next = self.op_failed.val();
                        self.state.d.next = State::Tell;
                    } else if self.from.q.val() == Source::Ended {
                        self.op.d.next = self.op_sent.val();
                        if self.found.q.val().role.get_bit(0) {
                            self.state.d.next = State::Tell;
                        }
                    } else {
                        self.state.d.next = State::Tell;
                        self.op.d.next = self.op_credit.val();
                        if self.found.q.val().role.get_bit(1) {
                            self.op.d.next = self.op_begin.val();
                            self.again.d.next = true;
                        }
                    }
                }
            }
            State::Count => {
                if !self.s_bind.valid.val() {
                    self.state.d.next = State::Post;
                }
            }
            State::Post => {
                if self.m_post.ready.val() {
                    self.state.d.next = State::Idle;
                }
            }
            State::Tell => {
                if self.m_ev.ready.val() {
                    self.state.d.next = State::Idle;
                    if self.again.q.val() {
                        self.state.d.next = State::More;
                    }
                }
            }
            State::More => {
                if self.m_ev.ready.val() {
                    self.state.d.next = State::Idle;
                }
            }
        }
        if self.rst.val() {
            self.state.d.next = State::Clear;
        }
    }
}
