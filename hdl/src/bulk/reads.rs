//! READs of this host that have not ended.
//!
//! Its parts: `judge` (what comes of the place that was looked at), `messages` (frames and completions).

mod judge;
mod messages;

use super::layout::{ReadRefusedBody, ReadRequestBody};
use super::reading::{Act, Asking, OfWindow, Reading, Step};
use crate::blocks::{PriorityEncoder, RamReg, RamRegForward};
use crate::bus::{
    BulkDeparturesOut, CompletionOut, FramesOut, ReadAnswersIn, ReadRefusal, ReadRefusalsIn,
    ReadsAnsweredIn, ReadsIn, WindowClosedIn,
};
use crate::prelude::*;
use crate::switch::ByteSwap;
use tributary_protocol::bulk::{READ_REFUSED, READ_REQUEST, Refusal};
use tributary_protocol::rw::{Reason, Status};
use tributary_protocol::xud::Outcome;
use tributary_protocol::xud::wire::ONE_SIDED_FRAME;

hdl_module! {
    /// READs of this host, R at once (BW-11). Each has a place, and a token that is never used twice, until it ends: its target
    /// is asked, with pauses that double (RW-18), until a CONNECT comes that answers; then its window says how it ends. Only
    /// when that is complete, so that every byte is visible here, its completion says so. One CONNECT counts for each READ.
    /// A READ ends with the outcome of its window; or as the target has refused it, or as nothing was heard; in
    /// local_protection when its region ends; silently with its queue pair. s_end comes before windows of what ends are closed.
    /// Clocks: a READ begins in 2; 5 to look at a place, then 1, or 6 for a request, 2 for a completion; 5 for each place when
    /// something ends. A place is looked at for its time when nothing else is done, one in 6 clocks.
    /// Stages of a look: 1 and 2 the memory, 3 its register, 4 compared, 5 verdict. Of a window that was closed: 1 and 2 which READ, 3 marked.
    /// While m, m_pl or m_cpl is not taken nothing else moves here, but that windows are closed is noted. While hold is up no
    /// request is made and no completion begun; m_idle says that nothing is under way then.
    #[module("bulk_reads_r{R}_w{}_q{}", 1usize << A, 1usize << LQ)]
    pub struct BulkReads<const R: usize, const LR: usize, const A: usize, const LQ: usize> {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset: no READ is under way.
        pub rst: Signal<In, Bit>,
        /// Own node.
        pub cfg_node: Signal<In, Bits<20>>,
        /// Resets so far.
        pub cfg_incarnation: Signal<In, Bits<16>>,
        /// First pause, ticks.
        pub cfg_poll: Signal<In, Bits<16>>,
        /// Longest pause.
        pub cfg_poll_max: Signal<In, Bits<16>>,
        /// Requests without an answer before giving up, less one.
        pub cfg_max_polls: Signal<In, Bits<8>>,
        /// Busy answers before giving up, less one.
        pub cfg_max_busy: Signal<In, Bits<16>>,
        /// Coarse time, a free-running count.
        pub now: Signal<In, Bits<16>>,
        /// Nothing new may begin.
        pub hold: Signal<In, Bit>,
        /// Nothing is under way.
        pub m_idle: Signal<Out, Bit>,
        /// A READ waits for its target's CONNECT.
        pub m_asks: Signal<Out, Bit>,
        /// A place is free.
        pub free: Signal<Out, Bit>,
        /// READs to begin, when a place is free.
        pub s: ReadsIn,
        /// Whether CONNECTs answer one.
        pub s_answer: ReadAnswersIn,
        /// What became of them, and windows that are opened.
        pub s_answered: ReadsAnsweredIn,
        /// Windows that are closed.
        pub s_closed: WindowClosedIn,
        /// Requests of this card that are not served.
        pub s_refused: ReadRefusalsIn,
        /// With its ready: it names no READ that waits for an answer.
        pub s_refused_stray: Signal<Out, Bit>,
        /// Requests of others that are not served.
        pub s_say: ReadRefusalsIn,
        /// A queue pair or region ends, while m_idle; stays until it is taken.
        pub s_end_valid: Signal<In, Bit>,
        /// Its READs have ended, or will with their windows: pulse.
        pub s_end_ready: Signal<Out, Bit>,
        /// It is a queue pair.
        pub s_end_pair: Signal<In, Bit>,
        /// Its number, or the region's.
        pub s_end_index: Signal<In, Bits<24>>,
        /// Messages to send.
        pub m: BulkDeparturesOut,
        /// What follows the first 8 bytes of their bodies.
        pub m_pl: FramesOut<64>,
        /// Completions.
        pub m_cpl: CompletionOut<LQ>,
        /// A READ has ended well; pulse.
        pub ev_completed: Signal<Out, Bit>,
        /// One has ended otherwise, with a completion; pulse.
        pub ev_failed: Signal<Out, Bit>,

        step: DFF<Step>,
        act: DFF<Act>,
        timer: DFF<Bits<2>>,
        /// Place that is looked at, and the next one whose time is looked at.
        at: DFF<Bits<LR>>,
        #[reset] turn: DFF<Bits<LR>>,
        #[reset] asked: DFF<Bits<32>>,

        // By place: it is taken; its CONNECT has come; its region has ended; its end is known.
        #[reset] active: DFF<Bits<R>>,
        #[reset] answered: DFF<Bits<R>>,
        #[reset] gone: DFF<Bits<R>>,
        #[reset] closed: DFF<Bits<R>>,
        readings: RamReg<{ Reading::BITS }, LR>,
        askings: RamReg<{ Asking::BITS }, LR>,
        statuses: RamReg<8, LR>,
        reading: DFF<Reading>,
        asking: Signal<Local, Asking>,
        reading_in: Signal<Local, Reading>,
        asking_in: Signal<Local, Asking>,
        frees: PriorityEncoder<R, LR>,
        ended: PriorityEncoder<R, LR>,
        may_end: Signal<Local, Bits<R>>,
        taken: Signal<Local, Bits<R>>,
        mask: Signal<Local, Bits<R>>,
        is_active: Signal<Local, Bit>,
        is_answered: Signal<Local, Bit>,
        is_closed: Signal<Local, Bit>,
        is_gone: Signal<Local, Bit>,
        /// Its target is being asked.
        waits: Signal<Local, Bit>,
        begins: Signal<Local, Bits<R>>,
        answers: Signal<Local, Bits<R>>,
        frees_answer: Signal<Local, Bits<R>>,
        forgets: Signal<Local, Bits<R>>,
        ends: Signal<Local, Bits<R>>,
        parts: Signal<Local, Bits<R>>,
        closes: Signal<Local, Bits<R>>,

        // Windows.
        windows: RamRegForward<{ OfWindow::BITS }, A>,
        window_in: Signal<Local, OfWindow>,
        window: Signal<Local, OfWindow>,
        answer_at: DFF<Bits<LR>>,
        #[reset] c1_valid: DFF<Bit>,
        #[reset] c2_valid: DFF<Bit>,
        c1_status: DFF<Bits<8>>,
        c2_status: DFF<Bits<8>>,
        status_of: Signal<Local, Bits<8>>,
        marks: Signal<Local, Bit>,

        // Stage 4 of a look.
        token_fits: DFF<Bit>,
        same_token: DFF<Bit>,
        same_asked: DFF<Bit>,
        same_peer: DFF<Bit>,
        same_pair: DFF<Bit>,
        same_memory: DFF<Bit>,
        same_length: DFF<Bit>,
        same_end: DFF<Bit>,
        token: Signal<Local, Bits<64>>,
        peer_node: Signal<Local, Bits<20>>,
        peer_pair: Signal<Local, Bits<24>>,
        age: DFF<Bits<16>>,
        over: DFF<Bit>,
        twice: DFF<Bits<17>>,

        // A message.
        say: DFF<ReadRefusal>,
        request: Signal<Local, ReadRequestBody>,
        refusal: Signal<Local, ReadRefusedBody>,
        request_bits: Signal<Local, Bits<384>>,
        refusal_bits: Signal<Local, Bits<128>>,
        word: DFF<Bits<3>>,
        swap: ByteSwap,
        status: DFF<Bits<8>>,

        request_bytes: Param<{ READ_REQUEST.length - 8 }, 13>,
        refusal_bytes: Param<{ READ_REFUSED.length - 8 }, 13>,
        one_sided: Param<{ ONE_SIDED_FRAME as usize }, 8>,
        told_busy: Param<{ Refusal::Busy as usize }, 3>,
        told_access: Param<{ Refusal::Access as usize }, 3>,
        told_bad_qp: Param<{ Refusal::BadQp as usize }, 3>,
        protection: Param<{ Reason::Protection as usize }, 4>,
        memory: Param<{ Reason::Memory as usize }, 4>,
        idle: Param<{ Reason::Idle as usize }, 4>,
        well: Param<{ Status::Ok as usize }, 4>,
        local_protection: Param<{ Outcome::LocalProtection as usize }, 8>,
        remote_access: Param<{ Outcome::RemoteAccess as usize }, 8>,
        remote_operation: Param<{ Outcome::RemoteOperation as usize }, 8>,
        remote_length: Param<{ Outcome::RemoteLength as usize }, 8>,
        bad_qp: Param<{ Outcome::BadQp as usize }, 8>,
        unreachable: Param<{ Outcome::Unreachable as usize }, 8>,
        unresponsive: Param<{ Outcome::Unresponsive as usize }, 8>,
        aborted: Param<{ Outcome::Aborted as usize }, 8>,
        lr: Param<LR, 5>,
    }
}

impl<const R: usize, const LR: usize, const A: usize, const LQ: usize> Logic
    for BulkReads<R, LR, A, LQ>
{
    #[hdl_gen]
    fn update(&mut self) {
        // The place that is looked at.
        self.readings.rd.addr.next = self.at.q.val();
        self.askings.rd.addr.next = self.at.q.val();
        self.statuses.rd.addr.next = self.at.q.val();
        self.reading.d.next = self.readings.rd.data.val().into();
        self.asking.next = self.askings.rd.data.val().into();
        self.mask.next = bits::<R>(1) << self.at.q.val();
        self.is_active.next = (self.active.q.val() & self.mask.val()).any();
        self.is_answered.next = (self.answered.q.val() & self.mask.val()).any();
        self.is_closed.next = (self.closed.q.val() & self.mask.val()).any();
        self.is_gone.next = (self.gone.q.val() & self.mask.val()).any();
        self.waits.next = self.is_active.val() & !self.is_answered.val() & !self.is_closed.val();
        self.taken.next = self.active.q.val() | self.closed.q.val();
        self.frees.req.next = !self.taken.val();
        self.free.next = !self.frees.none.val();
        self.may_end.next = self.closed.q.val();
        if self.hold.val() {
            self.may_end.next = self.closed.q.val() & !self.active.q.val();
        }
        self.ended.req.next = self.may_end.val();
        self.m_asks.next =
            (self.active.q.val() & !self.answered.q.val() & !self.closed.q.val()).any();

        // Stage 4: who it is of.
        self.token.next = self.s_answer.of.val().token;
        self.peer_node.next = self.s_answer.of.val().src;
        self.peer_pair.next = self.s_answer.of.val().qpn;
        if self.act.q.val() == Act::Refused {
            self.token.next = self.s_refused.of.val().token;
            self.peer_node.next = self.s_refused.of.val().node;
            self.peer_pair.next = self.s_refused.of.val().qpn;
        }
        self.token_fits.d.next = !(self.token.val().get_bits::<16>(0) >> self.lr.val()).any();
        self.same_token.d.next =
            self.reading.q.val().incarnation == self.token.val().get_bits::<16>(48);
        self.same_asked.d.next = self.reading.q.val().asked == self.token.val().get_bits::<32>(16);
        self.same_peer.d.next = (self.reading.q.val().node == self.peer_node.val())
            & ((self.reading.q.val().peer == self.s_answer.of.val().source)
                | (self.act.q.val() == Act::Refused));
        self.same_pair.d.next = self.reading.q.val().qpn == self.peer_pair.val();
        self.same_memory.d.next = (self.reading.q.val().address == self.s_answer.of.val().addr)
            & (self.reading.q.val().lkey == self.s_answer.of.val().rkey);
        self.same_length.d.next = self.reading.q.val().length == self.s_answer.of.val().length;
        self.same_end.d.next = (self.s_end_pair.val()
            & (self.reading.q.val().qpn == self.s_end_index.val()))
            | (!self.s_end_pair.val()
                & (self.reading.q.val().lkey.get_bits::<24>(8) == self.s_end_index.val()));
        self.age.d.next = self.now.val() - self.asking.val().next_at;
        self.over.d.next = (self.asking.val().tries > self.cfg_max_polls.val())
            | (self.asking.val().busy > bit_cast::<17, 16>(self.cfg_max_busy.val()));
        self.twice.d.next = bit_cast::<17, 16>(self.asking.val().interval) << 1;

        // Windows: which READ each is for, and how they were closed.
        self.window_in.next.read = self.s_answered.done.val();
        self.window_in.next.place = bit_cast::<8, LR>(self.answer_at.q.val());
        self.windows.wr.en.next = self.s_answered.opened.val();
        self.windows.wr.addr.next = self.s_answered.wptr.val().get_bits::<A>(0);
        self.windows.wr.data.next = self.window_in.val().to_bits();
        self.windows.rd.addr.next = self.s_closed.wptr.val().get_bits::<A>(0);
        self.window.next = self.windows.rd.data.val().into();
        self.status_of.next = self.aborted.val();
        if self.s_closed.status.val() == self.well.val() {
            self.status_of.next = 0.into();
        } else if self.s_closed.reason.val() == self.protection.val() {
            self.status_of.next = self.remote_access.val();
        } else if self.s_closed.reason.val() == self.memory.val() {
            self.status_of.next = self.remote_operation.val();
        } else if self.s_closed.reason.val() == self.idle.val() {
            self.status_of.next = self.unresponsive.val();
        }
        self.c1_valid.d.next = self.s_closed.valid.val();
        self.c1_status.d.next = self.status_of.val();
        self.c2_valid.d.next = self.c1_valid.q.val();
        self.c2_status.d.next = self.c1_status.q.val();
        self.marks.next = self.c2_valid.q.val() & self.window.val().read;
        self.closes.next = 0.into();
        if self.marks.val() {
            self.closes.next = bits::<R>(1) << self.window.val().place.get_bits::<LR>(0);
        }

        // How READs end: as their windows, or else as it was found here.
        self.statuses.wr.en.next = self.marks.val() | (self.step.q.val() == Step::End);
        self.statuses.wr.addr.next = self.at.q.val();
        self.statuses.wr.data.next = self.status.q.val();
        if self.marks.val() {
            self.statuses.wr.addr.next = self.window.val().place.get_bits::<LR>(0);
            self.statuses.wr.data.next = self.c2_status.q.val();
        }

        // What is kept of a READ.
        self.reading_in.next = Reading {
            wr_id: self.s.of.val().wr_id,
            request: self.s.of.val().request,
            psn: self.s.of.val().psn,
            msn: self.s.of.val().msn,
            node: self.s.of.val().node,
            peer: self.s.of.val().peer.get_bits::<24>(0),
            qpn: self.s.of.val().qpn,
            q_key: self.s.of.val().q_key,
            incarnation: self.cfg_incarnation.val(),
            asked: self.asked.q.val() + 1,
            mtu: self.s.mtu.val(),
            length: self.s.of.val().length,
            there: self.s.there.val(),
            rkey: self.s.rkey.val(),
            address: self.s.of.val().address,
            lkey: self.s.of.val().lkey,
        };
        self.readings.wr.en.next = self.step.q.val() == Step::Begin;
        self.readings.wr.addr.next = self.at.q.val();
        self.readings.wr.data.next = self.reading_in.val().to_bits();
        self.s.ready.next = self.step.q.val() == Step::Begin;
        self.askings.wr.en.next = self.step.q.val() == Step::Begin;
        self.askings.wr.addr.next = self.at.q.val();
        self.asking_in.next = Asking {
            next_at: self.now.val(),
            interval: self.cfg_poll.val(),
            tries: 0.into(),
            busy: 0.into(),
            heard: false,
        };

        self.offer();
        // The state machine.
        self.s_answer.ready.next = false;
        self.s_answer.ok.next = self.waits.val()
            & self.token_fits.q.val()
            & self.same_token.q.val()
            & self.same_asked.q.val()
            & self.same_peer.q.val()
            & self.same_pair.q.val()
            & self.same_memory.q.val()
            & self.same_length.q.val();
        self.s_refused.ready.next = false;
        self.s_refused_stray.next = !(self.waits.val()
            & self.token_fits.q.val()
            & self.same_token.q.val()
            & self.same_asked.q.val()
            & self.same_peer.q.val()
            & self.same_pair.q.val());
        self.s_say.ready.next = false;
        self.s_end_ready.next = false;
        self.begins.next = 0.into();
        self.answers.next = 0.into();
        self.forgets.next = 0.into();
        self.ends.next = 0.into();
        self.parts.next = 0.into();
        self.ev_completed.next = false;
        self.ev_failed.next = false;
        self.timer.d.next = self.timer.q.val() + 1;
        match self.step.q.val() {
            Step::Idle => {
                self.timer.d.next = 0.into();
                self.word.d.next = 0.into();
                self.step.d.next = Step::Look;
                if !self.ended.none.val() {
                    self.act.d.next = Act::Closed;
                    self.at.d.next = self.ended.index.val();
                } else if self.s_answer.valid.val() {
                    self.act.d.next = Act::Answer;
                    self.at.d.next = self.s_answer.of.val().token.get_bits::<LR>(0);
                } else if self.s_refused.valid.val() {
                    self.act.d.next = Act::Refused;
                    self.at.d.next = self.s_refused.of.val().token.get_bits::<LR>(0);
                } else if self.s_say.valid.val() {
                    self.act.d.next = Act::Say;
                    self.say.d.next = self.s_say.of.val();
                    self.s_say.ready.next = true;
                    self.step.d.next = Step::Frame;
                } else if self.s_end_valid.val() {
                    self.act.d.next = Act::Ends;
                    self.at.d.next = 0.into();
                } else if self.s.valid.val() & self.free.val() {
                    self.at.d.next = self.frees.index.val();
                    self.step.d.next = Step::Begin;
                } else if !self.hold.val() {
                    self.act.d.next = Act::Ask;
                    self.at.d.next = self.turn.q.val();
                    self.turn.d.next = self.turn.q.val() + 1;
                } else {
                    self.step.d.next = Step::Idle;
                }
            }
            Step::Look => {
                if self.timer.q.val() == 3 {
                    self.step.d.next = Step::Judge;
                }
            }
            Step::Judge => {
                self.judge();
            }
            Step::Begin => {
                self.begins.next = self.mask.val();
                self.asked.d.next = self.asked.q.val() + 1;
                self.step.d.next = Step::Idle;
            }
            // A window that is closed goes first.
            Step::End => {
                if !self.marks.val() {
                    self.step.d.next = Step::Idle;
                }
            }
            Step::Frame => {
                if self.m.ready.val() {
                    self.step.d.next = Step::Word;
                }
            }
            Step::Word => {
                if self.m_pl.ready.val() {
                    self.word.d.next = self.word.q.val() + 1;
                    if self.m_pl.of.val().last {
                        self.step.d.next = Step::Idle;
                    }
                }
            }
            Step::Offer => {
                if self.m_cpl.ready.val() {
                    self.forgets.next = self.mask.val();
                    self.ends.next = self.mask.val();
                    self.ev_completed.next = !self.status.q.val().any();
                    self.ev_failed.next = self.status.q.val().any();
                    self.step.d.next = Step::Idle;
                }
            }
        }
        self.askings.wr.data.next = self.asking_in.val().to_bits();
        self.m_idle.next = (self.step.q.val() == Step::Idle) & self.hold.val();

        // What became of the places.
        if (self.step.q.val() == Step::End) & !self.marks.val() {
            self.closes.next = self.mask.val();
        }
        self.frees_answer.next = 0.into();
        if self.s_answered.done.val() & !self.s_answered.opened.val() {
            self.frees_answer.next = bits::<R>(1) << self.answer_at.q.val();
        }
        self.active.d.next = (self.active.q.val() | self.begins.val()) & !self.ends.val();
        self.answered.d.next = (self.answered.q.val() | self.answers.val())
            & !self.frees_answer.val()
            & !self.ends.val();
        self.gone.d.next = (self.gone.q.val() | self.parts.val()) & !self.ends.val();
        self.closed.d.next = (self.closed.q.val() & !self.forgets.val())
            | self.closes.val()
            | (self.parts.val() & !self.answered.q.val());
        if self.rst.val() {
            self.step.d.next = Step::Idle;
        }
    }
}
