//! A turn of a queue pair.

use crate::blocks::{RamReg, RamRegForward};
use crate::bus::RamReadOut;
use crate::prelude::*;

/// What the turn is doing.
#[derive(Copy, Clone, PartialEq, Debug, LogicState)]
pub enum TurnState {
    Idle,
    Read,
    Load,
    Check,
    Ask,
    Commit,
    Undo,
}

hdl_module! {
    /// Turns of queue pairs: takes the first number of the list, asks for a completion slot and a
    /// place in flight, and begins the fetch of one work request, or gives back what it got. 10
    /// clocks, more if the slot takes more than 4.
    /// The number is marked as taken out when its context is read, so a doorbell that comes later
    /// adds it again. It goes back to the end of the list when more than one work request waits, and
    /// when the turn failed.
    /// PSN = first PSN + work requests ever fetched, whose lower 16 bits are the index in the ring.
    /// A work request that cannot begin yet comes back, between two turns: its queue pair has fetched no more than those
    /// before it, and has its next turn when later_room says that it may be worth it, or of one with a fence when all
    /// before it have ended; until then a turn only puts the number back to the end of the list, in 4 clocks.
    /// Steps: Idle (context addressed), Read, Load (context at the outputs of the RAMs), Check (work?), Ask
    /// (answers come), then Commit or Undo.
    #[module("card_send_turn_q{}", 1usize << LQ)]
    pub struct CardSendTurn<const LQ: usize> {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset.
        pub rst: Signal<In, Bit>,
        /// A turn may begin: there is room for a fetch.
        pub go: Signal<In, Bit>,
        /// A turn is under way.
        pub m_busy: Signal<Out, Bit>,
        /// A work request comes back; stays until it is taken.
        pub back_valid: Signal<In, Bit>,
        /// Taken.
        pub back_ready: Signal<Out, Bit>,
        /// Of this queue pair.
        pub back_qpn: Signal<In, Bits<LQ>>,
        /// Work requests ever fetched before it, modulo 2^24.
        pub back_number: Signal<In, Bits<24>>,
        /// It has a fence: it may begin when all before it have ended; otherwise when later_room says so.
        pub back_fenced: Signal<In, Bit>,
        /// Ended work requests of a queue pair, modulo 2^16.
        pub ended: RamReadOut<16, LQ>,
        /// Work requests come back at all; constant.
        pub cfg_later: Signal<In, Bit>,
        /// What came back without a fence may begin.
        pub later_room: Signal<In, Bit>,
        /// Somebody wants a turn.
        pub s_valid: Signal<In, Bit>,
        /// It begins.
        pub s_ready: Signal<Out, Bit>,
        /// Who.
        pub s_qpn: Signal<In, Bits<LQ>>,
        /// Operation on the list.
        pub m_op_valid: Signal<Out, Bit>,
        /// Done.
        pub m_op_ready: Signal<In, Bit>,
        /// The number was taken out; otherwise add it.
        pub m_op_remove: Signal<Out, Bit>,
        /// The number.
        pub m_op_qpn: Signal<Out, Bits<LQ>>,
        /// Write a state.
        pub state_en: Signal<In, Bit>,
        /// Of this queue pair.
        pub state_qpn: Signal<In, Bits<LQ>>,
        /// State 2:0, log2 of the ring's entries 6:3.
        pub state_data: Signal<In, Bits<7>>,
        /// Queue pair of the following three.
        pub cfg_qpn: Signal<In, Bits<LQ>>,
        /// Write the first PSN.
        pub first_en: Signal<In, Bit>,
        /// The PSN.
        pub first_data: Signal<In, Bits<24>>,
        /// Write the base of the ring.
        pub base_en: Signal<In, Bit>,
        /// The base in units of 64 bytes.
        pub base_data: Signal<In, Bits<58>>,
        /// Set the indices to 0, in the next clock without commit and posted_en.
        pub zero_en: Signal<In, Bit>,
        /// Write how many were ever posted.
        pub posted_en: Signal<In, Bit>,
        /// Of this queue pair.
        pub posted_qpn: Signal<In, Bits<LQ>>,
        /// The number, modulo 2^16.
        pub posted_data: Signal<In, Bits<16>>,
        /// How many were ever fetched changes.
        pub fetched_en: Signal<Out, Bit>,
        /// Of this queue pair.
        pub fetched_qpn: Signal<Out, Bits<LQ>>,
        /// To this, modulo 2^16.
        pub fetched_data: Signal<Out, Bits<16>>,
        /// Whose turn it is; for all outputs below.
        pub m_qpn: Signal<Out, Bits<LQ>>,
        /// PSN of the work request.
        pub m_psn: Signal<Out, Bits<24>>,
        /// A completion slot is asked for; held until rsv_done.
        pub m_rsv_valid: Signal<Out, Bit>,
        /// The answer.
        pub rsv_done: Signal<In, Bit>,
        /// The slot is reserved.
        pub rsv_ok: Signal<In, Bit>,
        /// A place in flight is asked for.
        pub m_place_valid: Signal<Out, Bit>,
        /// The answer.
        pub place_done: Signal<In, Bit>,
        /// The place is kept.
        pub place_ok: Signal<In, Bit>,
        /// The turn failed: m_cancel and m_drop count now.
        pub m_undo: Signal<Out, Bit>,
        /// Give the slot back.
        pub m_cancel: Signal<Out, Bit>,
        /// Give the place back.
        pub m_drop: Signal<Out, Bit>,
        /// A work request is fetched.
        pub m_fetch: Signal<Out, Bit>,
        /// From this address, in units of 64 bytes.
        pub m_addr: Signal<Out, Bits<58>>,
        /// Work requests ever fetched before it, modulo 2^24.
        pub m_number: Signal<Out, Bits<24>>,
        /// It is the one that came back.
        pub m_fresh: Signal<Out, Bit>,
        /// No completion slot.
        pub ev_stall_credit: Signal<Out, Bit>,
        /// A slot, but no place.
        pub ev_stall_place: Signal<Out, Bit>,

        states: RamRegForward<7, LQ>,
        posted: RamRegForward<16, LQ>,
        fetched: RamReg<24, LQ>,
        first: RamReg<24, LQ>,
        base: RamReg<58, LQ>,
        /// The next work request is one that came back; with a fence.
        later: RamReg<2, LQ>,
        later_now: DFF<Bit>,
        fenced_now: DFF<Bit>,
        /// An earlier one has not ended.
        before_now: DFF<Bit>,
        waits: Signal<Local, Bit>,
        takes_back: Signal<Local, Bit>,
        state: DFF<TurnState>,
        qpn: DFF<Bits<LQ>>,
        start: Signal<Local, Bit>,
        /// Whose context is read.
        reads: Signal<Local, Bits<LQ>>,
        /// The number is to be added to the list.
        #[reset] again: DFF<Bit>,
        /// Indices to set to 0.
        #[reset] zero: DFF<Bit>,
        zero_qpn: DFF<Bits<LQ>>,
        zero_now: Signal<Local, Bit>,
        commit: Signal<Local, Bit>,
        /// State is ReadyToSend.
        sends: DFF<Bit>,
        /// Work requests that wait; -1 if a doorbell took one back while it was fetched.
        waiting: DFF<Bits<16>>,
        work: Signal<Local, Bit>,
        /// Number of the work request, work requests ever fetched with it, PSN.
        number: DFF<Bits<24>>,
        number_next: DFF<Bits<24>>,
        psn: DFF<Bits<24>>,
        /// Place in the ring; address, lower and upper part.
        place: DFF<Bits<15>>,
        low: DFF<Bits<32>>,
        high: DFF<Bits<27>>,
        /// Asked, and not answered yet.
        #[reset] asks: DFF<Bit>,
        #[reset] asks_place: DFF<Bit>,
        /// The place is asked for now.
        #[reset] place_pulse: DFF<Bit>,
        /// Got.
        slot: DFF<Bit>,
        kept: DFF<Bit>,
        slot_now: Signal<Local, Bit>,
        kept_now: Signal<Local, Bit>,
        answered: Signal<Local, Bit>,
        #[reset] credit: DFF<Bit>,
        #[reset] taken: DFF<Bit>,
        ones: Param<0x7fff, 15>,
    }
}

impl<const LQ: usize> Logic for CardSendTurn<LQ> {
    #[hdl_gen]
    fn update(&mut self) {
        // The list.
        self.start.next = (self.state.q.val() == TurnState::Idle)
            & self.s_valid.val()
            & self.go.val()
            & !self.again.q.val()
            & !self.back_valid.val()
            & self.m_op_ready.val();
        self.takes_back.next = self.back_valid.val()
            & (self.state.q.val() == TurnState::Idle)
            & !self.again.q.val()
            & !self.zero.q.val();
        self.back_ready.next = self.takes_back.val();
        self.s_ready.next = self.start.val();
        self.m_op_valid.next = self.start.val() | self.again.q.val();
        self.m_op_remove.next = !self.again.q.val();
        self.m_op_qpn.next = self.s_qpn.val();
        if self.again.q.val() {
            self.m_op_qpn.next = self.qpn.q.val();
            self.again.d.next = !self.m_op_ready.val();
        }

        self.reads.next = self.qpn.q.val();
        if self.state.q.val() == TurnState::Idle {
            self.reads.next = self.s_qpn.val();
        }

        // Contexts. Indices are set to 0 when nobody else writes them.
        self.commit.next = self.state.q.val() == TurnState::Commit;
        self.zero_now.next = self.zero.q.val() & !self.posted_en.val() & !self.commit.val();
        if self.zero_now.val() {
            self.zero.d.next = false;
        }
        if self.zero_en.val() {
            self.zero.d.next = true;
            self.zero_qpn.d.next = self.cfg_qpn.val();
        }
        self.states.wr.en.next = self.state_en.val();
        self.states.wr.addr.next = self.state_qpn.val();
        self.states.wr.data.next = self.state_data.val();
        self.states.rd.addr.next = self.reads.val();
        self.posted.wr.en.next = self.posted_en.val() | self.zero_now.val();
        self.posted.wr.addr.next = self.zero_qpn.q.val();
        self.posted.wr.data.next = 0.into();
        if self.posted_en.val() {
            self.posted.wr.addr.next = self.posted_qpn.val();
            self.posted.wr.data.next = self.posted_data.val();
        }
        self.posted.rd.addr.next = self.reads.val();
        self.fetched.wr.en.next = self.commit.val() | self.zero_now.val() | self.takes_back.val();
        self.fetched.wr.addr.next = self.zero_qpn.q.val();
        self.fetched.wr.data.next = 0.into();
        if self.commit.val() {
            self.fetched.wr.addr.next = self.qpn.q.val();
            self.fetched.wr.data.next = self.number_next.q.val();
        }
        if self.takes_back.val() {
            self.fetched.wr.addr.next = self.back_qpn.val();
            self.fetched.wr.data.next = self.back_number.val();
        }
        self.later.wr.en.next = self.fetched.wr.en.val();
        self.later.wr.addr.next = self.fetched.wr.addr.val();
        self.later.wr.data.next = bit_cast::<2, 1>(self.takes_back.val().into())
            | (bit_cast::<2, 1>((self.takes_back.val() & self.back_fenced.val()).into()) << 1);
        self.later.rd.addr.next = self.reads.val();
        self.fetched.rd.addr.next = self.reads.val();
        self.fetched_en.next = self.fetched.wr.en.val();
        self.fetched_qpn.next = self.fetched.wr.addr.val();
        self.fetched_data.next = self.fetched.wr.data.val().get_bits::<16>(0);
        self.first.wr.en.next = self.first_en.val();
        self.first.wr.addr.next = self.cfg_qpn.val();
        self.first.wr.data.next = self.first_data.val();
        self.first.rd.addr.next = self.reads.val();
        self.base.wr.en.next = self.base_en.val();
        self.base.wr.addr.next = self.cfg_qpn.val();
        self.base.wr.data.next = self.base_data.val();
        self.base.rd.addr.next = self.reads.val();

        // Settled one clock after Load: what waits, numbers, place; two and three clocks after: address.
        self.sends.d.next = self.states.rd.data.val().get_bits::<3>(0) == 3;
        self.waiting.d.next =
            self.posted.rd.data.val() - self.fetched.rd.data.val().get_bits::<16>(0);
        self.number.d.next = self.fetched.rd.data.val();
        self.later_now.d.next = self.later.rd.data.val().get_bit(0) & self.cfg_later.val();
        self.fenced_now.d.next = self.later.rd.data.val().get_bit(1);
        self.ended.addr.next = self.reads.val();
        self.before_now.d.next =
            self.ended.data.val() != self.fetched.rd.data.val().get_bits::<16>(0);
        self.waits.next = self.later_now.q.val() & !self.later_room.val();
        if self.fenced_now.q.val() {
            self.waits.next = self.later_now.q.val() & self.before_now.q.val();
        }
        self.number_next.d.next = self.fetched.rd.data.val() + 1;
        self.psn.d.next = self.first.rd.data.val() + self.fetched.rd.data.val();
        self.place.d.next = self.fetched.rd.data.val().get_bits::<15>(0)
            & !(self.ones.val() << self.states.rd.data.val().get_bits::<4>(3));
        self.low.d.next = bit_cast::<32, 31>(self.base.rd.data.val().get_bits::<31>(0))
            + bit_cast::<32, 15>(self.place.q.val());
        self.high.d.next = self.base.rd.data.val().get_bits::<27>(31)
            + bit_cast::<27, 1>(self.low.q.val().get_bits::<1>(31));
        self.work.next =
            self.sends.q.val() & self.waiting.q.val().any() & !self.waiting.q.val().all();

        // Answers.
        self.slot_now.next = self.slot.q.val();
        if self.asks.q.val() & self.rsv_done.val() {
            self.slot_now.next = self.rsv_ok.val();
            self.asks.d.next = false;
        }
        self.kept_now.next = self.kept.q.val();
        if self.asks_place.q.val() & self.place_done.val() {
            self.kept_now.next = self.place_ok.val();
            self.asks_place.d.next = false;
        }
        self.answered.next = (!self.asks.q.val() | self.rsv_done.val())
            & (!self.asks_place.q.val() | self.place_done.val());
        self.slot.d.next = self.slot_now.val();
        self.kept.d.next = self.kept_now.val();
        self.place_pulse.d.next = false;
        self.credit.d.next = false;
        self.taken.d.next = false;

        match self.state.q.val() {
            TurnState::Idle => {
                if self.start.val() {
                    self.qpn.d.next = self.s_qpn.val();
                    self.state.d.next = TurnState::Read;
                }
                if self.takes_back.val() {
                    self.qpn.d.next = self.back_qpn.val();
                    self.again.d.next = true;
                }
            }
            TurnState::Read => {
                self.state.d.next = TurnState::Load;
            }
            TurnState::Load => {
                self.state.d.next = TurnState::Check;
            }
            TurnState::Check => {
                self.state.d.next = TurnState::Idle;
                if self.work.val() & self.waits.val() {
                    self.again.d.next = true;
                } else if self.work.val() {
                    self.asks.d.next = true;
                    self.asks_place.d.next = true;
                    self.place_pulse.d.next = true;
                    self.again.d.next = self.waiting.q.val().get_bits::<15>(1).any();
                    self.state.d.next = TurnState::Ask;
                }
            }
            TurnState::Ask => {
                if self.answered.val() {
                    self.state.d.next = TurnState::Undo;
                    if self.slot_now.val() & self.kept_now.val() {
                        self.state.d.next = TurnState::Commit;
                    }
                }
            }
            TurnState::Commit => {
                self.state.d.next = TurnState::Idle;
            }
            TurnState::Undo => {
                self.again.d.next = true;
                self.credit.d.next = !self.slot.q.val();
                self.taken.d.next = self.slot.q.val();
                self.state.d.next = TurnState::Idle;
            }
        }

        self.m_busy.next = self.state.q.val() != TurnState::Idle;
        self.m_qpn.next = self.qpn.q.val();
        self.m_psn.next = self.psn.q.val();
        self.m_rsv_valid.next = self.asks.q.val();
        self.m_place_valid.next = self.place_pulse.q.val();
        self.m_undo.next = self.state.q.val() == TurnState::Undo;
        self.m_cancel.next = self.slot.q.val();
        self.m_drop.next = self.kept.q.val();
        self.m_fetch.next = self.commit.val();
        self.m_addr.next = bit_cast::<58, 31>(self.low.q.val().get_bits::<31>(0))
            | (bit_cast::<58, 27>(self.high.q.val()) << 31);
        self.m_number.next = self.number.q.val();
        self.m_fresh.next = self.later_now.q.val();
        self.ev_stall_credit.next = self.credit.q.val();
        self.ev_stall_place.next = self.taken.q.val();
        if self.rst.val() {
            self.state.d.next = TurnState::Idle;
        }
    }
}
