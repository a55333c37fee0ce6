//! Messages of READ from the line.

use super::BulkLimits;
use super::layout::{ReadRefusedBody, ReadRequestBody};
use crate::blocks::RamReg;
use crate::bus::{
    BulkArrival, BulkArrivalsIn, FramesIn, ReadAccessesOut, ReadRefusalsOut, ReadsServedOut,
};
use crate::prelude::*;
use crate::record::header_gaps;
use crate::switch::ByteSwap;
use tributary_protocol::bulk::{READ_REFUSED, READ_REQUEST, Refusal};
use tributary_protocol::rw::ConnectStatus;

/// What the block is doing.
#[derive(Copy, Clone, PartialEq, Debug, LogicState)]
pub enum State {
    Idle,
    Look,
    Judge,
    Gather,
    Verify,
    Scan,
    Ask,
    Start,
    Refuse,
    Tell,
}

hdl_record! {
    /// Which READ request a slot answers.
    struct Served {
        /// Node that has asked.
        node: Bits<20>,
        /// The request.
        token: Bits<64>,
    }
}

hdl_module! {
    /// Takes the messages of READ, one after the other, and looks at everything in them before anything acts on it (RW-20).
    /// A refusal goes to bulk_reads. A READ request of another card (BW-11) is served without its host: one that a transfer
    /// under way answers already is forgotten; bulk_check judges queue pair, Q_Key, limits and region; then bulk_works starts
    /// a transfer that answers. What is not allowed, or finds no slot, is refused at m_say, but for a wrong Q_Key, which nobody
    /// hears of.
    /// Clocks of a message: 5 to its end if it is not of READ; refused 12; a request 19 and 1 for each slot, then what
    /// bulk_check and bulk_send take.
    /// Stages of a look: 1 fields compared, 2 verdict; of what follows 3: words, fields, verdict. Of the slots: 1 and 2 the
    /// memory, 3 compared.
    /// While m_access, m_start, m_say or m_refused is not taken the message stays, and s waits. While hold is up none is begun.
    #[module("bulk_serve_s{S}")]
    pub struct BulkServe<const S: usize, const LS: usize, const SA: usize> {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset: nothing is served.
        pub rst: Signal<In, Bit>,
        /// Ticks after which one that was told busy asks again.
        pub cfg_busy_hint: Signal<In, Bits<16>>,
        /// Messages of READ.
        pub s: BulkArrivalsIn,
        /// What follows the first 8 bytes of their bodies.
        pub s_pl: FramesIn<64>,
        /// Nothing new may begin.
        pub hold: Signal<In, Bit>,
        /// Nothing is under way.
        pub m_idle: Signal<Out, Bit>,
        /// Whether a request is allowed.
        pub m_access: ReadAccessesOut,
        /// Transfers that answer.
        pub m_start: ReadsServedOut<LS>,
        /// A transfer of this card is over: pulse.
        pub s_over_valid: Signal<In, Bit>,
        /// Its slot.
        pub s_over_slot: Signal<In, Bits<LS>>,
        /// Requests of others that are not served.
        pub m_say: ReadRefusalsOut,
        /// Requests of this card that are not served.
        pub m_refused: ReadRefusalsOut,
        /// With its ready: it names no READ that waits for an answer.
        pub m_refused_stray: Signal<In, Bit>,
        /// No card sends such a message; pulse, as all below.
        pub ev_bad_message: Signal<Out, Bit>,
        /// It says that it is of another node, or refuses no READ of this card.
        pub ev_stray: Signal<Out, Bit>,
        /// Refused for its queue pair.
        pub ev_bad_qp: Signal<Out, Bit>,
        /// Not answered: wrong Q_Key.
        pub ev_bad_key: Signal<Out, Bit>,
        /// Refused: beyond the limits of a transfer.
        pub ev_bad_length: Signal<Out, Bit>,
        /// Refused for its key or bounds.
        pub ev_access: Signal<Out, Bit>,
        /// All slots are taken.
        pub ev_busy: Signal<Out, Bit>,

        state: DFF<State>,
        timer: DFF<Bits<2>>,
        /// The message.
        r: DFF<BulkArrival>,
        // Stage 1.
        is_request: DFF<Bit>,
        is_refused: DFF<Bit>,
        bad_head: DFF<Bit>,
        is_40: DFF<Bit>,
        is_8: DFF<Bit>,
        // Stage 2.
        bad: DFF<Bit>,
        // What follows.
        swap: ByteSwap,
        gathered: DFF<Bits<320>>,
        word_moves: Signal<Local, Bit>,
        #[reset] all_here: DFF<Bit>,
        request: Signal<Local, ReadRequestBody>,
        refused: Signal<Local, ReadRefusedBody>,
        bad_mtu: DFF<Bit>,
        bad_reason: DFF<Bit>,
        bad_request_head: DFF<Bit>,
        bad_refused_head: DFF<Bit>,
        bad_rest: DFF<Bit>,
        bad_request: DFF<Bit>,
        bad_refused: DFF<Bit>,
        strange: DFF<Bit>,
        limits: BulkLimits,
        // Slots that answer.
        slots: RamReg<{ Served::BITS }, SA>,
        #[reset] serves: DFF<Bits<S>>,
        starts: Signal<Local, Bits<S>>,
        overs: Signal<Local, Bits<S>>,
        new: Signal<Local, Served>,
        here: Signal<Local, Served>,
        at: DFF<Bits<SA>>,
        last_1: DFF<Bit>,
        last_2: DFF<Bit>,
        last_3: DFF<Bit>,
        serves_1: DFF<Bit>,
        serves_2: DFF<Bit>,
        same: DFF<Bit>,
        found: DFF<Bit>,
        // Its verdict.
        pd: DFF<Bits<16>>,
        reason: DFF<Bits<3>>,
        retry: DFF<Bits<16>>,

        rest_bytes: Param<{ READ_REQUEST.length - 8 }, 13>,
        refused_bytes: Param<{ READ_REFUSED.length - 8 }, 13>,
        slots_all: Param<S, 9>,
        busy: Param<{ Refusal::Busy as usize }, 3>,
        access: Param<{ Refusal::Access as usize }, 3>,
        bad_qp: Param<{ Refusal::BadQp as usize }, 3>,
        length: Param<{ Refusal::Length as usize }, 3>,
        told_bad_qp: Param<{ ConnectStatus::BadQp as usize }, 3>,
        told_refused: Param<{ ConnectStatus::Refused as usize }, 3>,
        told_access: Param<{ ConnectStatus::Access as usize }, 3>,
        /// Bits that no field has.
        request_gaps: Param<{ header_gaps(&READ_REQUEST, 0) }, 64>,
        request_gaps_5: Param<{ header_gaps(&READ_REQUEST, 5) }, 64>,
        refused_gaps: Param<{ header_gaps(&READ_REFUSED, 0) }, 64>,
    }
}

impl<const S: usize, const LS: usize, const SA: usize> Logic for BulkServe<S, LS, SA> {
    #[hdl_gen]
    fn update(&mut self) {
        // Stages 1 and 2.
        self.is_request.d.next = self.r.q.val().opcode == 8;
        self.is_refused.d.next = self.r.q.val().opcode == 9;
        self.bad_head.d.next = self.r.q.val().psn.any() | self.r.q.val().short;
        self.is_40.d.next = self.r.q.val().len == self.rest_bytes.val();
        self.is_8.d.next = self.r.q.val().len == self.refused_bytes.val();
        self.bad.d.next = self.bad_head.q.val()
            | !((self.is_request.q.val() & self.is_40.q.val())
                | (self.is_refused.q.val() & self.is_8.q.val()));

        // What follows.
        self.s_pl.ready.next = (self.state.q.val() == State::Gather) & !self.all_here.q.val();
        self.word_moves.next = self.s_pl.valid.val() & self.s_pl.ready.val();
        self.swap.s.next = self.s_pl.of.val().data;
        if self.word_moves.val() {
            self.gathered.d.next =
                (self.gathered.q.val() << 64) | bit_cast::<320, 64>(self.swap.m.val());
            self.all_here.d.next = self.s_pl.of.val().last;
        }
        self.request.next = ((bit_cast::<384, 64>(self.r.q.val().head) << 320)
            | bit_cast::<384, 320>(self.gathered.q.val()))
        .into();
        self.refused.next = ((bit_cast::<128, 64>(self.r.q.val().head) << 64)
            | bit_cast::<128, 64>(self.gathered.q.val().get_bits::<64>(0)))
        .into();
        self.bad_mtu.d.next =
            (self.request.val().mtu < bits::<8>(8)) | (self.request.val().mtu > bits::<8>(12));
        self.bad_reason.d.next =
            !self.refused.val().reason.any() | (self.refused.val().reason > bits::<8>(4));
        self.bad_request_head.d.next = self.request.val().version.any()
            | (self.r.q.val().head & self.request_gaps.val()).any();
        self.bad_refused_head.d.next = self.refused.val().version.any()
            | (self.r.q.val().head & self.refused_gaps.val()).any();
        self.bad_rest.d.next =
            (self.gathered.q.val().get_bits::<64>(0) & self.request_gaps_5.val()).any();
        self.bad_request.d.next =
            self.bad_mtu.q.val() | self.bad_request_head.q.val() | self.bad_rest.q.val();
        self.bad_refused.d.next = self.bad_reason.q.val() | self.bad_refused_head.q.val();
        self.strange.d.next = self.request.val().node != self.r.q.val().node.get_bits::<16>(0);

        self.limits.mtu.next = self.request.val().mtu.get_bits::<4>(0);
        self.limits.length.next = self.request.val().length;
        self.limits.there.next = self.request.val().to_address;

        // Slots that answer.
        self.new.next = Served {
            node: self.r.q.val().node,
            token: self.request.val().token,
        };
        self.slots.wr.en.next = self.m_start.ready.val() & !self.m_start.busy.val();
        self.slots.wr.addr.next = bit_cast::<SA, LS>(self.m_start.slot.val());
        self.slots.wr.data.next = self.new.val().to_bits();
        self.slots.rd.addr.next = self.at.q.val();
        self.here.next = self.slots.rd.data.val().into();
        self.starts.next = 0.into();
        if self.slots.wr.en.val() {
            self.starts.next = bits::<S>(1) << self.m_start.slot.val();
        }
        self.overs.next = 0.into();
        if self.s_over_valid.val() {
            self.overs.next = bits::<S>(1) << self.s_over_slot.val();
        }
        self.serves.d.next = (self.serves.q.val() | self.starts.val()) & !self.overs.val();
        self.last_1.d.next = (bit_cast::<9, SA>(self.at.q.val()) + 1) == self.slots_all.val();
        self.last_2.d.next = self.last_1.q.val();
        self.last_3.d.next = self.last_2.q.val();
        self.serves_1.d.next =
            (self.serves.q.val() >> self.at.q.val().get_bits::<LS>(0)).get_bit(0);
        self.serves_2.d.next = self.serves_1.q.val();
        self.same.d.next = self.serves_2.q.val()
            & (self.here.val().node == self.r.q.val().node)
            & (self.here.val().token == self.request.val().token);

        // What leaves.
        self.m_access.valid.next = self.state.q.val() == State::Ask;
        self.m_access.of.next.qpn = self.r.q.val().dest;
        self.m_access.of.next.q_key = self.request.val().q_key;
        self.m_access.of.next.key = self.request.val().rkey;
        self.m_access.of.next.addr = self.request.val().address;
        self.m_access.of.next.length = self.request.val().length;
        self.m_access.of.next.too_long = self.limits.beyond.val();
        self.m_start.valid.next = self.state.q.val() == State::Start;
        self.m_start.of.next.node = self.r.q.val().node;
        self.m_start.of.next.peer = self.request.val().source;
        self.m_start.of.next.qpn = self.r.q.val().dest;
        self.m_start.of.next.q_key = self.request.val().q_key;
        self.m_start.of.next.pd = self.pd.q.val();
        self.m_start.of.next.address = self.request.val().address;
        self.m_start.of.next.key = self.request.val().rkey;
        self.m_start.of.next.there = self.request.val().to_address;
        self.m_start.of.next.rkey = self.request.val().to_key;
        self.m_start.of.next.length = self.request.val().length;
        self.m_start.of.next.mtu = self.request.val().mtu.get_bits::<4>(0);
        self.m_start.of.next.token = self.request.val().token;
        self.m_say.valid.next = self.state.q.val() == State::Refuse;
        self.m_say.of.next.node = self.r.q.val().node;
        self.m_say.of.next.qpn = self.request.val().source;
        self.m_say.of.next.token = self.request.val().token;
        self.m_say.of.next.reason = self.reason.q.val();
        self.m_say.of.next.retry = self.retry.q.val();
        self.m_refused.valid.next = self.state.q.val() == State::Tell;
        self.m_refused.of.next.node = self.r.q.val().node;
        self.m_refused.of.next.qpn = self.r.q.val().dest;
        self.m_refused.of.next.token = self.refused.val().token;
        self.m_refused.of.next.reason = self.refused.val().reason.get_bits::<3>(0);
        self.m_refused.of.next.retry = self.refused.val().retry;
        self.m_idle.next = self.state.q.val() == State::Idle;

        // The state machine.
        self.s.ready.next = false;
        self.s.unwanted.next = true;
        self.ev_bad_message.next = false;
        self.ev_stray.next = false;
        self.ev_bad_qp.next = false;
        self.ev_bad_key.next = false;
        self.ev_bad_length.next = false;
        self.ev_access.next = false;
        self.ev_busy.next = false;
        self.timer.d.next = self.timer.q.val() + 1;
        match self.state.q.val() {
            State::Idle => {
                self.timer.d.next = 0.into();
                self.all_here.d.next = false;
                self.r.d.next = self.s.of.val();
                if self.s.valid.val() & !self.hold.val() {
                    self.state.d.next = State::Look;
                }
            }
            State::Look => {
                if self.timer.q.val() == 1 {
                    self.state.d.next = State::Judge;
                }
            }
            State::Judge => {
                self.s.ready.next = true;
                self.s.unwanted.next = self.bad.q.val();
                self.ev_bad_message.next = self.bad.q.val();
                self.state.d.next = State::Gather;
                if self.bad.q.val() {
                    self.state.d.next = State::Idle;
                }
            }
            State::Gather => {
                self.timer.d.next = 0.into();
                if self.all_here.q.val() {
                    self.state.d.next = State::Verify;
                }
            }
            State::Verify => {
                self.at.d.next = 0.into();
                if self.timer.q.val() == 3 {
                    self.timer.d.next = 0.into();
                    self.found.d.next = false;
                    self.state.d.next = State::Scan;
                    if (self.is_request.q.val() & self.bad_request.q.val())
                        | (self.is_refused.q.val() & self.bad_refused.q.val())
                    {
                        self.ev_bad_message.next = true;
                        self.state.d.next = State::Idle;
                    } else if self.strange.q.val() {
                        self.ev_stray.next = true;
                        self.state.d.next = State::Idle;
                    } else if self.is_refused.q.val() {
                        self.state.d.next = State::Tell;
                    }
                }
            }
            State::Scan => {
                self.at.d.next = self.at.q.val() + 1;
                if self.timer.q.val() == 3 {
                    self.timer.d.next = 3.into();
                    self.found.d.next = self.found.q.val() | self.same.q.val();
                    if self.last_3.q.val() {
                        self.state.d.next = State::Ask;
                        if self.found.q.val() | self.same.q.val() {
                            self.state.d.next = State::Idle;
                        }
                    }
                }
            }
            State::Ask => {
                if self.m_access.ready.val() {
                    self.pd.d.next = self.m_access.pd.val();
                    self.retry.d.next = 0.into();
                    self.state.d.next = State::Refuse;
                    if !self.m_access.verdict.val().any() {
                        self.state.d.next = State::Start;
                    } else if self.m_access.verdict.val() == self.told_bad_qp.val() {
                        self.reason.d.next = self.bad_qp.val();
                        self.ev_bad_qp.next = true;
                    } else if self.m_access.verdict.val() == self.told_refused.val() {
                        self.reason.d.next = self.length.val();
                        self.ev_bad_length.next = true;
                    } else if self.m_access.verdict.val() == self.told_access.val() {
                        self.reason.d.next = self.access.val();
                        self.ev_access.next = true;
                    } else {
                        self.ev_bad_key.next = true;
                        self.state.d.next = State::Idle;
                    }
                }
            }
            State::Start => {
                if self.m_start.ready.val() {
                    self.state.d.next = State::Idle;
                    if self.m_start.busy.val() {
                        self.reason.d.next = self.busy.val();
                        self.retry.d.next = self.cfg_busy_hint.val();
                        self.ev_busy.next = true;
                        self.state.d.next = State::Refuse;
                    }
                }
            }
            State::Refuse => {
                if self.m_say.ready.val() {
                    self.state.d.next = State::Idle;
                }
            }
            State::Tell => {
                if self.m_refused.ready.val() {
                    self.ev_stray.next = self.m_refused_stray.val();
                    self.state.d.next = State::Idle;
                }
            }
        }
        if self.rst.val() {
            self.state.d.next = State::Idle;
        }
    }
}
