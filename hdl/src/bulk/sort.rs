//! What comes from the line: is it a message, and whose?

use super::layout::{BodyHead, ConnectRest, PollRest, TransferRest};
use crate::blocks::FifoReg;
use crate::bus::{
    BulkArrival, BulkArrivalsIn, BulkArrivalsOut, ConnectsAskedOut, FramesIn, FramesOut, StreamOut,
    WindowRecordsOut,
};
use crate::prelude::*;
use crate::record::header_gaps;
use crate::switch::ByteSwap;
use tributary_protocol::bulk::{OPCODE_CONGESTED, TRANSFER};
use tributary_protocol::rw::wire::layout::{BODY, CONNECT_REST, POLL_REST};
use tributary_protocol::rw::{MessageType, Reason};

/// What the block is doing.
#[derive(Copy, Clone, PartialEq, Debug, LogicState)]
pub enum State {
    Idle,
    Look,
    Judge,
    Own,
    Gather,
    Verify,
    Offer,
    Decide,
}

hdl_module! {
    /// Takes frames of bulk transfers, one after the other, and looks at everything in them before anything acts on it
    /// (RW-20): DATA, POLL and ABORT go to rw_window, CONNECT goes to bulk_check, messages of transfers that this card sends
    /// go to m_own as they are, and those of READ to m_read. What no card sends is counted and dropped; so is what says that it is of
    /// another node than its frame. The order of checks is that of the model.
    /// DATA stays at s until its window has decided: its payload is dropped there, or comes and leaves at m_wd, in the order
    /// of frames. It goes on leaving while the next frames are looked at.
    /// Clocks of a frame: DATA 15 and those that rw_window or the write wait, ABORT 5, POLL about 20, CONNECT about 25.
    /// Stages of a look: 1 fields compared, 2 what they mean, 3 verdict.
    /// While m_win, m_own or m_read is not taken, or m_wd is not, no frame is taken. A CONNECT for which there is no room is
    /// dropped, since DATA must not wait for it. While hold is up no frame is begun.
    #[module("bulk_sort")]
    pub struct BulkSort {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset.
        pub rst: Signal<In, Bit>,
        /// Frames.
        pub s: BulkArrivalsIn,
        /// What follows the first 8 bytes of their bodies.
        pub s_pl: FramesIn<64>,
        /// Nothing new may begin.
        pub hold: Signal<In, Bit>,
        /// Nothing is under way.
        pub m_idle: Signal<Out, Bit>,
        /// Messages for rw_window.
        pub m_win: WindowRecordsOut,
        /// DATA is decided: pulse.
        pub s_decided: Signal<In, Bit>,
        /// With it: its payload is wanted.
        pub s_wanted: Signal<In, Bit>,
        /// In the clock behind that: it came marked.
        pub m_marked: Signal<Out, Bit>,
        /// Payload of DATA that is wanted.
        pub m_wd: StreamOut<64>,
        /// CONNECT.
        pub m_con: ConnectsAskedOut,
        /// As many of them wait as can.
        pub con_full: Signal<In, Bit>,
        /// Frames for others, as they came.
        pub m_own: BulkArrivalsOut,
        /// What follows the first 8 bytes of their bodies.
        pub m_own_pl: FramesOut<64>,
        /// Messages of READ, as they came.
        pub m_read: BulkArrivalsOut,
        /// What follows the first 8 bytes of their bodies.
        pub m_read_pl: FramesOut<64>,
        /// No card sends such a message; pulse.
        pub ev_bad_message: Signal<Out, Bit>,
        /// It says that it is of another node; pulse.
        pub ev_stray: Signal<Out, Bit>,
        /// DATA of an incarnation that no window ever has; pulse.
        pub ev_stale: Signal<Out, Bit>,
        /// A CONNECT was dropped; pulse.
        pub ev_connect_lost: Signal<Out, Bit>,

        state: DFF<State>,
        timer: DFF<Bits<2>>,
        /// The frame that is looked at.
        r: DFF<BulkArrival>,
        head: Signal<Local, BodyHead>,
        // Stage 1: by kind, and what speaks against each.
        is_data: DFF<Bit>,
        is_connect: DFF<Bit>,
        is_poll: DFF<Bit>,
        is_abort: DFF<Bit>,
        bad_head: DFF<Bit>,
        bad_number: DFF<Bit>,
        bad_seq: DFF<Bit>,
        bad_zero: DFF<Bit>,
        bad_round: DFF<Bit>,
        bad_arg: DFF<Bit>,
        bad_reason: DFF<Bit>,
        bad_gen: DFF<Bit>,
        wide_gen: DFF<Bit>,
        tail: DFF<Bit>,
        to_sender: DFF<Bit>,
        strange: DFF<Bit>,
        whole_len: DFF<Bit>,
        long_len: DFF<Bit>,
        is_0: DFF<Bit>,
        is_8: DFF<Bit>,
        is_24: DFF<Bit>,
        is_48: DFF<Bit>,
        // Stage 2.
        is_read: Signal<Local, Bit>,
        for_others: DFF<Bit>,
        bad: DFF<Bit>,
        gathers: DFF<Bit>,
        // Where what follows goes: 0 payload, 1 here, 2 others, 3 those who read.
        routes: FifoReg<2, 4>,
        route: Signal<Local, Bits<2>>,
        put_route: Signal<Local, Bit>,
        new_route: Signal<Local, Bits<2>>,
        word_moves: Signal<Local, Bit>,
        swap: ByteSwap,
        gathered: DFF<Bits<384>>,
        /// The last word of what is gathered is here.
        #[reset] all_here: DFF<Bit>,
        connect_rest: Signal<Local, ConnectRest>,
        poll_rest: Signal<Local, PollRest>,
        transfer: Signal<Local, TransferRest>,
        bad_poll: DFF<Bit>,
        bad_short: DFF<Bit>,
        bad_long: DFF<Bit>,
        bad_long_1: DFF<Bit>,
        bad_long_2: DFF<Bit>,
        bad_long_3: DFF<Bit>,
        bad_connect: DFF<Bit>,

        data: Param<{ MessageType::Data as usize }, 4>,
        complete: Param<{ MessageType::Complete as usize }, 4>,
        connect: Param<{ MessageType::Connect as usize }, 4>,
        connect_resp: Param<{ MessageType::ConnectResp as usize }, 4>,
        poll: Param<{ MessageType::PollStatus as usize }, 4>,
        abort: Param<{ MessageType::AbortUnknown as usize }, 4>,
        retx_one: Param<{ MessageType::RetxOne as usize }, 4>,
        retx_range: Param<{ MessageType::RetxRange as usize }, 4>,
        congested: Param<{ OPCODE_CONGESTED as usize & 15 }, 4>,
        reasons: Param<{ Reason::ALL.len() }, 8>,
        /// Bits that no field has.
        head_gaps: Param<{ header_gaps(&BODY, 0) }, 64>,
        poll_gaps: Param<{ header_gaps(&POLL_REST, 0) }, 64>,
        connect_gaps_0: Param<{ header_gaps(&CONNECT_REST, 0) }, 64>,
        connect_gaps_2: Param<{ header_gaps(&CONNECT_REST, 2) }, 64>,
        transfer_gaps_0: Param<{ header_gaps(&TRANSFER, 0) }, 64>,
    }
}

impl Logic for BulkSort {
    #[hdl_gen]
    fn update(&mut self) {
        self.head.next = self.r.q.val().head.into();
        self.m_marked.next = self.r.q.val().marked;

        // Stage 1.
        self.is_data.d.next = self.r.q.val().opcode == self.data.val();
        self.is_connect.d.next = self.r.q.val().opcode == self.connect.val();
        self.is_poll.d.next =
            (self.r.q.val().opcode == self.poll.val()) & !self.head.val().to_sender.get_bit(0);
        self.is_abort.d.next =
            (self.r.q.val().opcode == self.abort.val()) & !self.head.val().to_sender.get_bit(0);
        self.bad_head.d.next = self.head.val().version.any()
            | (self.r.q.val().head & self.head_gaps.val()).any()
            | (self.r.q.val().dest >> 16).any()
            | self.r.q.val().short;
        self.bad_number.d.next = (self.r.q.val().psn >> 21).any();
        self.bad_seq.d.next = (self.r.q.val().psn >> 16).any();
        self.bad_zero.d.next = self.r.q.val().psn.any();
        self.bad_round.d.next = (self.head.val().arg >> 4).any();
        self.bad_arg.d.next = self.head.val().arg.any();
        self.bad_reason.d.next = self.head.val().arg >= self.reasons.val();
        self.bad_gen.d.next = (self.head.val().word >> 24).any();
        self.wide_gen.d.next = (self.head.val().word >> 16).any();
        self.tail.d.next = self.head.val().tail.get_bit(0);
        self.to_sender.d.next = self.head.val().to_sender.get_bit(0);
        self.strange.d.next = self.head.val().node != self.r.q.val().node.get_bits::<16>(0);
        self.whole_len.d.next = (self.r.q.val().len == 256)
            | (self.r.q.val().len == 512)
            | (self.r.q.val().len == 1024)
            | (self.r.q.val().len == 2048)
            | (self.r.q.val().len == 4096);
        self.long_len.d.next = self.r.q.val().len > 4096;
        self.is_0.d.next = !self.r.q.val().len.any();
        self.is_8.d.next = self.r.q.val().len == 8;
        self.is_24.d.next = self.r.q.val().len == 24;
        self.is_48.d.next = self.r.q.val().len == 48;

        // Stage 2: messages for senders have the bit that says so, or are of congestion, and those of READ are of another kind.
        self.is_read.next =
            self.r.q.val().opcode.get_bit(3) & (self.r.q.val().opcode != self.congested.val());
        self.for_others.d.next = self.r.q.val().opcode.get_bit(3)
            | (self.r.q.val().opcode == self.complete.val())
            | (self.r.q.val().opcode == self.retx_one.val())
            | (self.r.q.val().opcode == self.retx_range.val())
            | (self.r.q.val().opcode == self.connect_resp.val())
            | (self.to_sender.q.val()
                & ((self.r.q.val().opcode == self.poll.val())
                    | (self.r.q.val().opcode == self.abort.val())));
        self.bad.d.next = self.bad_head.q.val()
            | (self.is_data.q.val()
                & (self.to_sender.q.val()
                    | self.bad_number.q.val()
                    | self.bad_round.q.val()
                    | self.bad_gen.q.val()
                    | self.long_len.q.val()
                    | (!self.tail.q.val() & !self.whole_len.q.val())))
            | (self.is_connect.q.val()
                & (self.to_sender.q.val()
                    | self.bad_zero.q.val()
                    | self.tail.q.val()
                    | (!self.is_24.q.val() & !self.is_48.q.val())))
            | (self.is_poll.q.val()
                & (self.bad_seq.q.val()
                    | self.tail.q.val()
                    | self.bad_arg.q.val()
                    | self.bad_gen.q.val()
                    | !self.is_8.q.val()))
            | (self.is_abort.q.val()
                & (self.bad_zero.q.val()
                    | self.tail.q.val()
                    | self.bad_reason.q.val()
                    | !self.is_0.q.val()));
        self.gathers.d.next = self.is_connect.q.val() | self.is_poll.q.val();

        // What follows, word by word.
        self.route.next = self.routes.m.data.val();
        self.m_wd.valid.next =
            self.s_pl.valid.val() & self.routes.m.valid.val() & (self.route.val() == 0);
        self.m_wd.data.next = self.s_pl.of.val().data;
        self.m_own_pl.valid.next =
            self.s_pl.valid.val() & self.routes.m.valid.val() & (self.route.val() == 2);
        self.m_own_pl.of.next = self.s_pl.of.val();
        self.m_read_pl.valid.next =
            self.s_pl.valid.val() & self.routes.m.valid.val() & (self.route.val() == 3);
        self.m_read_pl.of.next = self.s_pl.of.val();
        self.s_pl.ready.next = self.routes.m.valid.val() & (self.route.val() == 1);
        if self.route.val() == 0 {
            self.s_pl.ready.next = self.routes.m.valid.val() & self.m_wd.ready.val();
        }
        if self.route.val() == 2 {
            self.s_pl.ready.next = self.routes.m.valid.val() & self.m_own_pl.ready.val();
        }
        if self.route.val() == 3 {
            self.s_pl.ready.next = self.routes.m.valid.val() & self.m_read_pl.ready.val();
        }
        self.word_moves.next = self.s_pl.valid.val() & self.s_pl.ready.val();
        self.routes.m.ready.next = self.word_moves.val() & self.s_pl.of.val().last;
        self.swap.s.next = self.s_pl.of.val().data;
        if self.word_moves.val() & (self.route.val() == 1) {
            self.gathered.d.next =
                (self.gathered.q.val() << 64) | bit_cast::<384, 64>(self.swap.m.val());
            self.all_here.d.next = self.s_pl.of.val().last;
        }

        // A POLL has 8 bytes there, a CONNECT 24, and 24 of a card.
        self.poll_rest.next = self.gathered.q.val().get_bits::<64>(0).into();
        self.connect_rest.next = self.gathered.q.val().get_bits::<192>(192).into();
        self.transfer.next = self.gathered.q.val().get_bits::<192>(0).into();
        self.bad_poll.d.next =
            (self.gathered.q.val().get_bits::<64>(0) & self.poll_gaps.val()).any();
        self.bad_short.d.next =
            (self.gathered.q.val().get_bits::<64>(128) & self.connect_gaps_0.val()).any()
                | (self.gathered.q.val().get_bits::<64>(0) & self.connect_gaps_2.val()).any();
        self.bad_long_1.d.next =
            (self.gathered.q.val().get_bits::<64>(320) & self.connect_gaps_0.val()).any()
                | (self.gathered.q.val().get_bits::<64>(192) & self.connect_gaps_2.val()).any();
        self.bad_long_2.d.next = self.transfer.val().version.any()
            | (self.gathered.q.val().get_bits::<64>(128) & self.transfer_gaps_0.val()).any()
            | (self.transfer.val().notify.any() & self.transfer.val().response.any());
        self.bad_long_3.d.next = (!self.transfer.val().notify.any()
            & self.transfer.val().immediate.any())
            | (!self.transfer.val().response.any() & self.transfer.val().token.any());
        self.bad_long.d.next =
            self.bad_long_1.q.val() | self.bad_long_2.q.val() | self.bad_long_3.q.val();
        self.bad_connect.d.next = self.bad_long.q.val();
        if self.is_24.q.val() {
            // One that is no card's is a stray before it is that.
            self.bad_connect.d.next = self.bad_short.q.val() | !self.strange.q.val();
        }

        // What leaves.
        self.m_win.valid.next = self.state.q.val() == State::Offer;
        self.m_win.of.next.kind = self.r.q.val().opcode.get_bits::<3>(0);
        self.m_win.of.next.src = self.r.q.val().node;
        self.m_win.of.next.wptr = self.r.q.val().dest.get_bits::<16>(0);
        // No window has so large a number, so a POLL of an incarnation that none ever has names none.
        if self.is_poll.q.val() & self.wide_gen.q.val() {
            self.m_win.of.next.wptr = 0xffff.into();
        }
        self.m_win.of.next.incarnation = self.head.val().word.get_bits::<16>(0);
        self.m_win.of.next.number = self.r.q.val().psn.get_bits::<22>(0);
        self.m_win.of.next.tail = self.tail.q.val();
        self.m_win.of.next.len = self.r.q.val().len;
        self.m_win.of.next.slot = self.r.q.val().dest.get_bits::<16>(0);
        self.m_win.of.next.xid = self.head.val().word;
        if self.is_poll.q.val() {
            self.m_win.of.next.slot = self.poll_rest.val().slot;
            self.m_win.of.next.xid = self.poll_rest.val().xid;
        }
        self.m_win.of.next.reason = self.head.val().arg.get_bits::<4>(0);
        self.m_con.of.next.src = self.r.q.val().node;
        self.m_con.of.next.slot = self.r.q.val().dest.get_bits::<16>(0);
        self.m_con.of.next.xid = self.head.val().word;
        self.m_con.of.next.incarnation = self.connect_rest.val().incarnation;
        self.m_con.of.next.length = self.connect_rest.val().length;
        self.m_con.of.next.addr = self.connect_rest.val().address;
        self.m_con.of.next.rkey = self.connect_rest.val().rkey;
        // What does not fit is no packet size either.
        self.m_con.of.next.mtu = self.head.val().arg.get_bits::<4>(0);
        if self.bad_round.q.val() {
            self.m_con.of.next.mtu = 15.into();
        }
        self.m_con.of.next.qpn = self.transfer.val().qpn;
        self.m_con.of.next.source = self.transfer.val().source;
        self.m_con.of.next.q_key = self.transfer.val().q_key;
        self.m_con.of.next.notify = self.transfer.val().notify.get_bit(0);
        self.m_con.of.next.response = self.transfer.val().response.get_bit(0);
        self.m_con.of.next.immediate = self.transfer.val().immediate;
        self.m_con.of.next.token = self.transfer.val().token;
        self.m_con.valid.next = false;
        self.m_own.valid.next = (self.state.q.val() == State::Own) & !self.is_read.val();
        self.m_own.of.next = self.r.q.val();
        self.m_read.valid.next = (self.state.q.val() == State::Own) & self.is_read.val();
        self.m_read.of.next = self.r.q.val();
        self.m_idle.next =
            (self.state.q.val() == State::Idle) & !self.routes.m.valid.val() & self.hold.val();

        // The state machine.
        self.s.ready.next = false;
        self.s.unwanted.next = true;
        self.put_route.next = false;
        self.new_route.next = 0.into();
        self.ev_bad_message.next = false;
        self.ev_stray.next = false;
        self.ev_stale.next = false;
        self.ev_connect_lost.next = false;
        self.timer.d.next = self.timer.q.val() + 1;
        match self.state.q.val() {
            State::Idle => {
                self.timer.d.next = 0.into();
                self.all_here.d.next = false;
                self.r.d.next = self.s.of.val();
                if self.s.valid.val() & !self.hold.val() & self.routes.s.ready.val() {
                    self.state.d.next = State::Look;
                }
            }
            State::Look => {
                if self.timer.q.val() == 1 {
                    self.state.d.next = State::Judge;
                }
            }
            State::Judge => {
                self.state.d.next = State::Idle;
                if self.for_others.q.val() {
                    self.state.d.next = State::Own;
                } else if self.bad.q.val() {
                    self.s.ready.next = true;
                    self.ev_bad_message.next = true;
                } else if self.gathers.q.val() {
                    self.s.ready.next = true;
                    self.s.unwanted.next = false;
                    self.put_route.next = true;
                    self.new_route.next = 1.into();
                    self.state.d.next = State::Gather;
                } else if self.strange.q.val() {
                    self.s.ready.next = true;
                    self.ev_stray.next = true;
                } else if self.is_data.q.val() & self.wide_gen.q.val() {
                    self.s.ready.next = true;
                    self.ev_stale.next = true;
                } else {
                    self.s.ready.next = !self.is_data.q.val();
                    self.state.d.next = State::Offer;
                }
            }
            State::Own => {
                self.s.ready.next = self.m_own.ready.val();
                self.s.unwanted.next = self.m_own.unwanted.val();
                self.new_route.next = 2.into();
                if self.is_read.val() {
                    self.s.ready.next = self.m_read.ready.val();
                    self.s.unwanted.next = self.m_read.unwanted.val();
                    self.new_route.next = 3.into();
                }
                self.put_route.next =
                    self.s.ready.val() & !self.s.unwanted.val() & !self.is_0.q.val();
                if self.s.ready.val() {
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
                if self.timer.q.val() == 3 {
                    self.state.d.next = State::Idle;
                    if (self.is_poll.q.val() & self.bad_poll.q.val())
                        | (self.is_connect.q.val() & self.bad_connect.q.val())
                    {
                        self.ev_bad_message.next = true;
                    } else if self.strange.q.val() {
                        self.ev_stray.next = true;
                    } else if self.is_poll.q.val() {
                        self.state.d.next = State::Offer;
                    } else {
                        self.m_con.valid.next = !self.con_full.val();
                        self.ev_connect_lost.next = self.con_full.val();
                    }
                }
            }
            State::Offer => {
                if self.m_win.ready.val() {
                    self.state.d.next = State::Idle;
                    if self.is_data.q.val() {
                        self.state.d.next = State::Decide;
                    }
                }
            }
            State::Decide => {
                self.s.ready.next = self.s_decided.val();
                self.s.unwanted.next = !self.s_wanted.val();
                self.put_route.next = self.s_decided.val() & self.s_wanted.val();
                if self.s_decided.val() {
                    self.state.d.next = State::Idle;
                }
            }
        }
        self.routes.s.valid.next = self.put_route.val();
        self.routes.s.data.next = self.new_route.val();
        if self.rst.val() {
            self.state.d.next = State::Idle;
        }
    }
}
