//! Whether a transfer may have a window.

use crate::blocks::RamReg;
use crate::bus::{
    ConnectAsked, ConnectsAskedIn, ConnectsDecidedIn, ConnectsJudgedOut, ContextIn,
    LookupRightsOut, Notice, ReadAccessesIn, ReadAnswer, ReadAnswersOut, ReadsAnsweredOut,
    VerdictIn, WindowsOpenedOut,
};
use crate::prelude::*;
use tributary_protocol::rw::ConnectStatus;

/// What the block is doing.
#[derive(Copy, Clone, PartialEq, Debug, LogicState)]
pub enum State {
    Clear,
    Idle,
    Pair,
    Answer,
    First,
    FirstAnswer,
    Last,
    LastAnswer,
    Offer,
    Wait,
}

hdl_module! {
    /// Admission of transfers (BW-2), in this order, the first that fails decides: the queue pair is there and receives
    /// (bad_qp), its Q_Key (no answer), what answers a READ answers one of this card (refused), the key with
    /// remote_write, or local_write for an answer, protection domain and bounds (access). Nothing else is looked at here, and
    /// nothing changes: rw_window takes CONNECT with that verdict, which counts only if it does not know the transfer, and says
    /// what came of it. READ requests of others are judged likewise (BW-11): queue pair, Q_Key, limits, then the key with
    /// remote_read; CONNECT goes first.
    /// A region holds all bytes of the transfer if it holds the first and the last one, so two looks of a byte each do for
    /// transfers of any length; one of 0 bytes is always fine, one whose addresses wrap never.
    /// Clocks: 5 to the queue pair's verdict, 8 for each look, then what rw_window takes. One CONNECT at a time: while busy
    /// another one is not looked at, nor a READ request.
    /// Stages: 1 and 2 the contexts; 3 compared; 4 verdict.
    /// While m_win is not taken CONNECT stays. Reset clears the contexts, one a clock; busy meanwhile.
    #[module("bulk_check_q{}", 1usize << LQ)]
    pub struct BulkCheck<const LQ: usize> {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset: no queue pair receives.
        pub rst: Signal<In, Bit>,
        /// Contexts of queue pairs.
        pub cfg: ContextIn<LQ>,
        /// CONNECT.
        pub s: ConnectsAskedIn,
        /// One is looked at.
        pub busy: Signal<Out, Bit>,
        /// A region is looked up.
        pub m_look: LookupRightsOut,
        /// What was found.
        pub s_look: VerdictIn,
        /// CONNECT for rw_window.
        pub m_win: ConnectsJudgedOut,
        /// What rw_window says of it.
        pub s_how: ConnectsDecidedIn,
        /// Whether it answers a READ of this card.
        pub m_answer: ReadAnswersOut,
        /// What became of it, and windows that are opened.
        pub m_answered: ReadsAnsweredOut,
        /// READ requests of others.
        pub s_read: ReadAccessesIn,
        /// A window was opened.
        pub m_opened: WindowsOpenedOut,
        /// Refused for its queue pair; pulse, as all below.
        pub ev_bad_qp: Signal<Out, Bit>,
        /// Not answered: wrong Q_Key.
        pub ev_bad_key: Signal<Out, Bit>,
        /// Refused: it answers no READ of this card.
        pub ev_no_read: Signal<Out, Bit>,
        /// Refused for its key or bounds.
        pub ev_access: Signal<Out, Bit>,
        /// Refused: beyond the limits of a transfer.
        pub ev_bad_length: Signal<Out, Bit>,
        /// All windows are taken.
        pub ev_busy: Signal<Out, Bit>,
        /// Older than its sender's last.
        pub ev_old: Signal<Out, Bit>,
        /// rw_window had no room for it.
        pub ev_lost: Signal<Out, Bit>,

        state: DFF<State>,
        timer: DFF<Bits<3>>,
        #[reset] clearing: DFF<Bits<LQ>>,
        /// Protection domain 15:0, it receives 16.
        shapes: RamReg<17, LQ>,
        keys: RamReg<32, LQ>,
        r: DFF<ConnectAsked>,
        /// It is a READ request; beyond the limits.
        of_read: DFF<Bit>,
        too_long: DFF<Bit>,
        /// It was found to answer a READ.
        answers: DFF<Bit>,
        receives: DFF<Bit>,
        same_key: DFF<Bit>,
        has_bytes: DFF<Bit>,
        pd: DFF<Bits<16>>,
        length_1: DFF<Bits<32>>,
        last: DFF<Bits<65>>,
        verdict: DFF<Bits<3>>,
        lq: Param<LQ, 5>,
        bad_qp: Param<{ ConnectStatus::BadQp as usize }, 3>,
        refused: Param<{ ConnectStatus::Refused as usize }, 3>,
        access: Param<{ ConnectStatus::Access as usize }, 3>,
        /// Rights, as card_regions has them.
        local_write: Param<1, 4>,
        remote_write: Param<2, 4>,
        remote_read: Param<4, 4>,
    }
}

impl<const LQ: usize> Logic for BulkCheck<LQ> {
    #[hdl_gen]
    fn update(&mut self) {
        // Contexts.
        self.shapes.rd.addr.next = self.r.q.val().qpn.get_bits::<LQ>(0);
        self.shapes.wr.en.next = (self.cfg.valid.val() & (self.cfg.of.val().word == 0))
            | (self.state.q.val() == State::Clear);
        self.shapes.wr.addr.next = self.cfg.of.val().qpn;
        self.shapes.wr.data.next = bit_cast::<17, 16>(self.cfg.of.val().data.get_bits::<16>(32))
            | (bit_cast::<17, 1>(
                (self.cfg.of.val().data.get_bit(1) & !self.cfg.of.val().data.get_bit(2)).into(),
            ) << 16);
        if self.state.q.val() == State::Clear {
            self.shapes.wr.addr.next = self.clearing.q.val();
            self.shapes.wr.data.next = 0.into();
        }
        self.keys.rd.addr.next = self.r.q.val().qpn.get_bits::<LQ>(0);
        self.keys.wr.en.next = self.cfg.valid.val() & (self.cfg.of.val().word == 1);
        self.keys.wr.addr.next = self.cfg.of.val().qpn;
        self.keys.wr.data.next = self.cfg.of.val().data.get_bits::<32>(0);

        self.receives.d.next =
            self.shapes.rd.data.val().get_bit(16) & !(self.r.q.val().qpn >> self.lq.val()).any();
        self.pd.d.next = self.shapes.rd.data.val().get_bits::<16>(0);
        self.same_key.d.next = self.keys.rd.data.val() == self.r.q.val().q_key;
        self.has_bytes.d.next = self.r.q.val().length.any();
        self.length_1.d.next = self.r.q.val().length - 1;
        self.last.d.next =
            bit_cast::<65, 64>(self.r.q.val().addr) + bit_cast::<65, 32>(self.length_1.q.val());

        self.busy.next = self.state.q.val() != State::Idle;
        self.m_look.valid.next = false;
        self.m_look.of.next.key = self.r.q.val().rkey;
        self.m_look.of.next.pd = self.pd.q.val();
        self.m_look.of.next.addr = self.r.q.val().addr;
        if self.state.q.val() == State::Last {
            self.m_look.of.next.addr = self.last.q.val().get_bits::<64>(0);
        }
        self.m_look.of.next.len = 1.into();
        self.m_look.of.next.need = self.remote_write.val();
        if self.r.q.val().response {
            self.m_look.of.next.need = self.local_write.val();
        }
        if self.of_read.q.val() {
            self.m_look.of.next.need = self.remote_read.val();
        }
        self.m_win.valid.next = (self.state.q.val() == State::Offer) & !self.of_read.q.val();
        self.s_read.ready.next = (self.state.q.val() == State::Offer) & self.of_read.q.val();
        self.s_read.verdict.next = self.verdict.q.val();
        self.s_read.pd.next = self.pd.q.val();
        self.m_answer.valid.next = self.state.q.val() == State::Answer;
        self.m_answer.of.next = ReadAnswer {
            token: self.r.q.val().token,
            src: self.r.q.val().src,
            source: self.r.q.val().source,
            qpn: self.r.q.val().qpn,
            length: self.r.q.val().length,
            addr: self.r.q.val().addr,
            rkey: self.r.q.val().rkey,
        };
        self.m_answered.done.next = false;
        self.m_answered.opened.next = false;
        self.m_answered.wptr.next = self.s_how.of.val().wptr;
        self.m_win.of.next = self.r.q.val();
        self.m_win.verdict.next = self.verdict.q.val();
        self.m_opened.valid.next = false;
        self.m_opened.of.next.wptr = self.s_how.of.val().wptr;
        self.m_opened.of.next.incarnation = self.s_how.of.val().incarnation;
        self.m_opened.of.next.src = self.r.q.val().src;
        self.m_opened.of.next.slot = self.r.q.val().slot;
        self.m_opened.of.next.xid = self.r.q.val().xid;
        self.m_opened.of.next.qpn = self.r.q.val().qpn;
        self.m_opened.of.next.rkey = self.r.q.val().rkey;
        self.m_opened.of.next.notice = Notice {
            qpn: self.r.q.val().qpn,
            node: self.r.q.val().src,
            source: self.r.q.val().source,
            q_key: self.r.q.val().q_key,
            immediate: self.r.q.val().immediate,
            length: self.r.q.val().length,
        };
        self.ev_bad_qp.next = false;
        self.ev_bad_key.next = false;
        self.ev_no_read.next = false;
        self.ev_access.next = false;
        self.ev_bad_length.next = false;
        self.ev_busy.next = false;
        self.ev_old.next = false;
        self.ev_lost.next = false;
        self.timer.d.next = self.timer.q.val() + 1;
        match self.state.q.val() {
            State::Clear => {
                self.clearing.d.next = self.clearing.q.val() + 1;
                if self.clearing.q.val().all() {
                    self.state.d.next = State::Idle;
                }
            }
            State::Idle => {
                self.timer.d.next = 0.into();
                self.answers.d.next = false;
                self.of_read.d.next = !self.s.valid.val();
                self.too_long.d.next = self.s_read.of.val().too_long;
                self.r.d.next = self.s.of.val();
                if !self.s.valid.val() {
                    self.r.d.next.qpn = self.s_read.of.val().qpn;
                    self.r.d.next.q_key = self.s_read.of.val().q_key;
                    self.r.d.next.rkey = self.s_read.of.val().key;
                    self.r.d.next.addr = self.s_read.of.val().addr;
                    self.r.d.next.length = self.s_read.of.val().length;
                }
                if self.s.valid.val() | self.s_read.valid.val() {
                    self.state.d.next = State::Pair;
                }
            }
            State::Pair => {
                self.verdict.d.next = 0.into();
                if self.timer.q.val() == 3 {
                    self.state.d.next = State::Offer;
                    if !self.receives.q.val() {
                        self.verdict.d.next = self.bad_qp.val();
                    } else if !self.same_key.q.val() {
                        self.verdict.d.next = 7.into();
                    } else if self.of_read.q.val() & self.too_long.q.val() {
                        self.verdict.d.next = self.refused.val();
                    } else if !self.of_read.q.val() & self.r.q.val().response {
                        self.state.d.next = State::Answer;
                    } else if self.has_bytes.q.val() {
                        self.state.d.next = State::First;
                    }
                }
            }
            State::Answer => {
                if self.m_answer.ready.val() {
                    self.answers.d.next = self.m_answer.ok.val();
                    self.state.d.next = State::Offer;
                    if !self.m_answer.ok.val() {
                        self.verdict.d.next = self.refused.val();
                    } else if self.has_bytes.q.val() {
                        self.state.d.next = State::First;
                    }
                }
            }
            State::First => {
                self.m_look.valid.next = true;
                self.state.d.next = State::FirstAnswer;
            }
            State::FirstAnswer => {
                if self.s_look.valid.val() {
                    self.state.d.next = State::Last;
                    if !self.s_look.ok.val() | self.last.q.val().get_bit(64) {
                        self.verdict.d.next = self.access.val();
                        self.state.d.next = State::Offer;
                    }
                }
            }
            State::Last => {
                self.m_look.valid.next = true;
                self.state.d.next = State::LastAnswer;
            }
            State::LastAnswer => {
                if self.s_look.valid.val() {
                    self.state.d.next = State::Offer;
                    if !self.s_look.ok.val() {
                        self.verdict.d.next = self.access.val();
                    }
                }
            }
            State::Offer => {
                if self.of_read.q.val() {
                    self.state.d.next = State::Idle;
                } else if self.m_win.ready.val() {
                    self.state.d.next = State::Wait;
                }
            }
            State::Wait => {
                self.ev_lost.next = self.s_how.lost.val();
                if self.s_how.valid.val() {
                    self.m_opened.valid.next = self.s_how.of.val().how == 1;
                    self.m_answered.opened.next = self.s_how.of.val().how == 1;
                    self.ev_old.next = self.s_how.of.val().how == 2;
                    self.ev_busy.next = self.s_how.of.val().how == 3;
                    self.ev_bad_length.next = self.s_how.of.val().how == 4;
                    if self.s_how.of.val().how == 5 {
                        self.ev_bad_qp.next = self.verdict.q.val() == self.bad_qp.val();
                        self.ev_bad_key.next = self.verdict.q.val() == 7;
                        self.ev_no_read.next = self.verdict.q.val() == self.refused.val();
                        self.ev_access.next = self.verdict.q.val() == self.access.val();
                    }
                }
                if self.s_how.valid.val() | self.s_how.lost.val() {
                    self.m_answered.done.next = self.answers.q.val();
                    self.state.d.next = State::Idle;
                }
            }
        }
        if self.rst.val() {
            self.state.d.next = State::Clear;
        }
    }
}
