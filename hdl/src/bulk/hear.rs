//! Messages of receivers, on their way to bulk_send.

use super::layout::{BodyHead, ConnectRespRest, StatusRest};
use crate::blocks::RamReg;
use crate::bus::{
    BulkArrival, BulkArrivalsIn, BulkMessageOut, CongestionSaidOut, FramesIn, FramesOut,
};
use crate::prelude::*;
use crate::record::header_gaps;
use crate::switch::ByteSwap;
use tributary_protocol::bulk::{CONGESTED, CONGESTED_LEN, OPCODE_CONGESTED};
use tributary_protocol::rw::wire::HEADER_LEN;
use tributary_protocol::rw::wire::layout::{BODY, CONNECT_RESP_REST, STATUS_REST};
use tributary_protocol::rw::wire::{MAX_W, NUMBER_MAX};
use tributary_protocol::rw::{ConnectStatus, MessageType, Reason, Status};

/// What the block is doing.
#[derive(Copy, Clone, PartialEq, Debug, LogicState)]
pub enum State {
    Idle,
    Look,
    Judge,
    Gather,
    Verify,
    Ask,
    Offer,
    Say,
    Word,
}

hdl_module! {
    /// Takes the messages that receivers send to this card, one after the other, as bulk_sort hands them on, and looks at
    /// everything in them before bulk_send acts on any of it (RW-20): what no receiver sends is counted and dropped, so is
    /// what names no transfer of this card that is under way, or comes from another node than that transfer goes to (RW-7).
    /// The bitmap of a STATUS is kept until then; of one with more than 1,024 packets the first 1,024 go on, and bulk_send
    /// looks at no more. Answers with incarnations of more than 16 bits are of no window that bulk_send can name, and count
    /// as strays.
    /// What receivers say of congestion (CL-4) is looked at alike and leaves at m_said.
    /// Clocks of a message: 10; of congestion 15; CONNECT_RESP 17; STATUS 17 and 5 for each word of its bitmap, and what bulk_send waits.
    /// Stages of a look: 1 fields compared, 2 verdict; of what follows 3: words, fields, verdict; 3 until a slot is read.
    /// While m, m_said or m_bitmap is not taken the message stays, and s waits.
    #[module("bulk_hear_s{}", 1usize << LS)]
    pub struct BulkHear<const LS: usize> {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset: forgets the message.
        pub rst: Signal<In, Bit>,
        /// Frames that are not for the receiving side.
        pub s: BulkArrivalsIn,
        /// What follows the first 8 bytes of their bodies.
        pub s_pl: FramesIn<64>,
        /// A transfer slot is looked at.
        pub m_look: Signal<Out, Bits<LS>>,
        /// A transfer of it is under way; two clocks after m_look, as the next two.
        pub s_active: Signal<In, Bit>,
        /// Its number.
        pub s_xid: Signal<In, Bits<32>>,
        /// Node that it goes to.
        pub s_node_of_slot: Signal<In, Bits<20>>,
        /// Messages for bulk_send.
        pub m: BulkMessageOut,
        /// What receivers say of congestion.
        pub m_said: CongestionSaidOut<LS>,
        /// The bitmap of a STATUS; bit 0 of its first word is packet wbase.
        pub m_bitmap: FramesOut<64>,
        /// No receiver sends such a message; pulse.
        pub ev_bad_message: Signal<Out, Bit>,
        /// It is of no transfer under way to its node; pulse.
        pub ev_stray: Signal<Out, Bit>,

        state: DFF<State>,
        timer: DFF<Bits<2>>,
        /// The message.
        r: DFF<BulkArrival>,
        head: Signal<Local, BodyHead>,
        // Stage 1: by kind, and what speaks against each.
        is_complete: DFF<Bit>,
        is_one: DFF<Bit>,
        is_range: DFF<Bit>,
        is_resp: DFF<Bit>,
        is_status: DFF<Bit>,
        is_unknown: DFF<Bit>,
        is_said: DFF<Bit>,
        other_node: DFF<Bit>,
        bad_head: DFF<Bit>,
        bad_number: DFF<Bit>,
        bad_seq: DFF<Bit>,
        bad_zero: DFF<Bit>,
        bad_arg: DFF<Bit>,
        bad_round: DFF<Bit>,
        bad_end: DFF<Bit>,
        bad_answer: DFF<Bit>,
        bad_reason: DFF<Bit>,
        tail: DFF<Bit>,
        is_0: DFF<Bit>,
        is_16: DFF<Bit>,
        // Stage 2.
        bad: DFF<Bit>,
        // What follows: 16 bytes, words of a bitmap, the last one of them.
        swap: ByteSwap,
        gathered: DFF<Bits<128>>,
        bitmap: RamReg<64, 5>,
        /// Words that have come, and that are kept.
        came: DFF<Bits<10>>,
        kept: DFF<Bits<5>>,
        latest: DFF<Bits<64>>,
        word_moves: Signal<Local, Bit>,
        #[reset] all_here: DFF<Bit>,
        resp: Signal<Local, ConnectRespRest>,
        status: Signal<Local, StatusRest>,
        words: DFF<Bits<10>>,
        wide_gen: DFF<Bit>,
        bad_gaps: DFF<Bit>,
        bad_resp: DFF<Bit>,
        bad_counts: DFF<Bit>,
        /// Bits of the last word that are beyond the bitmap.
        beyond: DFF<Bits<64>>,
        bad_beyond: DFF<Bit>,
        bad_length: DFF<Bit>,
        bad_status: DFF<Bit>,
        bad_said: DFF<Bit>,
        stray: DFF<Bit>,
        // The bitmap on its way out.
        at: DFF<Bits<5>>,

        complete: Param<{ MessageType::Complete as usize }, 4>,
        retx_one: Param<{ MessageType::RetxOne as usize }, 4>,
        retx_range: Param<{ MessageType::RetxRange as usize }, 4>,
        connect_resp: Param<{ MessageType::ConnectResp as usize }, 4>,
        poll_status: Param<{ MessageType::PollStatus as usize }, 4>,
        abort: Param<{ MessageType::AbortUnknown as usize }, 4>,
        congested: Param<{ OPCODE_CONGESTED as usize & 15 }, 4>,
        said_bytes: Param<{ CONGESTED_LEN - HEADER_LEN }, 13>,
        said_gaps: Param<{ header_gaps(&CONGESTED, 1) }, 64>,
        ends: Param<{ Status::ALL.len() }, 8>,
        answers: Param<{ ConnectStatus::ALL.len() }, 8>,
        reasons: Param<{ Reason::ALL.len() }, 8>,
        rest: Param<{ STATUS_REST.length }, 13>,
        most: Param<MAX_W, 16>,
        packets: Param<{ NUMBER_MAX as usize }, 32>,
        ones: Param<0xffff_ffff_ffff_ffff, 64>,
        ls: Param<LS, 5>,
        /// Bits that no field has.
        head_gaps: Param<{ header_gaps(&BODY, 0) }, 64>,
        resp_gaps_0: Param<{ header_gaps(&CONNECT_RESP_REST, 0) }, 64>,
        resp_gaps_1: Param<{ header_gaps(&CONNECT_RESP_REST, 1) }, 64>,
        status_gaps_0: Param<{ header_gaps(&STATUS_REST, 0) }, 64>,
        status_gaps_1: Param<{ header_gaps(&STATUS_REST, 1) }, 64>,
    }
}

impl<const LS: usize> Logic for BulkHear<LS> {
    #[hdl_gen]
    fn update(&mut self) {
        self.head.next = self.r.q.val().head.into();

        // Stage 1.
        self.is_complete.d.next = self.r.q.val().opcode == self.complete.val();
        self.is_one.d.next = self.r.q.val().opcode == self.retx_one.val();
        self.is_range.d.next = self.r.q.val().opcode == self.retx_range.val();
        self.is_resp.d.next = self.r.q.val().opcode == self.connect_resp.val();
        self.is_status.d.next = self.r.q.val().opcode == self.poll_status.val();
        self.is_unknown.d.next = self.r.q.val().opcode == self.abort.val();
        // Known a clock earlier than the rest, which looks at it.
        self.is_said.d.next = self.s.of.val().opcode == self.congested.val();
        if self.state.q.val() != State::Idle {
            self.is_said.d.next = self.is_said.q.val();
        }
        self.other_node.d.next =
            self.is_said.q.val() & (self.head.val().node != self.r.q.val().node.get_bits::<16>(0));
        self.bad_head.d.next = self.head.val().version.any()
            | (self.r.q.val().head & self.head_gaps.val()).any()
            | (!self.is_said.q.val()
                & (!self.head.val().to_sender.get_bit(0) | self.head.val().node.any()))
            | (self.r.q.val().dest >> 16).any()
            | self.r.q.val().short;
        self.bad_number.d.next = (self.r.q.val().psn >> 21).any();
        self.bad_seq.d.next = (self.r.q.val().psn >> 16).any();
        self.bad_zero.d.next = self.r.q.val().psn.any();
        self.bad_arg.d.next = self.head.val().arg.any();
        self.bad_round.d.next = (self.head.val().arg >> 4).any();
        self.bad_end.d.next = self.head.val().arg >= self.ends.val();
        self.bad_answer.d.next = self.head.val().arg >= self.answers.val();
        self.bad_reason.d.next = self.head.val().arg >= self.reasons.val();
        self.tail.d.next = self.head.val().tail.get_bit(0);
        self.is_0.d.next = !self.r.q.val().len.any();
        self.is_16.d.next = self.r.q.val().len == self.rest.val();

        // Stage 2.
        self.bad.d.next = self.bad_head.q.val()
            | (!self.is_status.q.val() & self.tail.q.val())
            | (!self.is_status.q.val()
                & !self.is_resp.q.val()
                & !self.is_said.q.val()
                & !self.is_0.q.val())
            | (self.is_said.q.val()
                & (self.bad_zero.q.val()
                    | self.bad_arg.q.val()
                    | (self.r.q.val().len != self.said_bytes.val())))
            | (self.is_complete.q.val() & (self.bad_zero.q.val() | self.bad_end.q.val()))
            | (self.is_one.q.val() & (self.bad_number.q.val() | self.bad_arg.q.val()))
            | (self.is_range.q.val() & (self.bad_number.q.val() | self.bad_round.q.val()))
            | (self.is_resp.q.val()
                & (self.bad_zero.q.val() | self.bad_answer.q.val() | !self.is_16.q.val()))
            | (self.is_status.q.val()
                & (self.bad_seq.q.val()
                    | self.bad_arg.q.val()
                    | (self.r.q.val().len < self.rest.val())
                    | self.r.q.val().len.get_bits::<3>(0).any()))
            | (self.is_unknown.q.val() & (self.bad_zero.q.val() | self.bad_reason.q.val()));

        // What follows.
        self.s_pl.ready.next = (self.state.q.val() == State::Gather) & !self.all_here.q.val();
        self.word_moves.next = self.s_pl.valid.val() & self.s_pl.ready.val();
        self.swap.s.next = self.s_pl.of.val().data;
        self.bitmap.wr.en.next = false;
        self.bitmap.wr.addr.next = self.kept.q.val();
        self.bitmap.wr.data.next = self.swap.m.val();
        if self.word_moves.val() {
            self.came.d.next = self.came.q.val() + 1;
            self.latest.d.next = self.swap.m.val();
            self.all_here.d.next = self.s_pl.of.val().last;
            if !self.came.q.val().get_bits::<9>(1).any() {
                self.gathered.d.next =
                    (self.gathered.q.val() << 64) | bit_cast::<128, 64>(self.swap.m.val());
            } else if !self.kept.q.val().get_bit(4) {
                self.bitmap.wr.en.next = true;
                self.kept.d.next = self.kept.q.val() + 1;
            }
        }

        // Stages 1 to 3 of it. A word for each 64 packets.
        self.resp.next = self.gathered.q.val().into();
        self.status.next = self.gathered.q.val().into();
        self.words.d.next =
            ((bit_cast::<17, 16>(self.status.val().packets) + 63) >> 6).get_bits::<10>(0) + 2;
        self.wide_gen.d.next = self.is_resp.q.val() & (self.resp.val().incarnation >> 16).any();
        self.bad_gaps.d.next = (self.gathered.q.val().get_bits::<64>(64) & self.resp_gaps_0.val())
            .any()
            | (self.gathered.q.val().get_bits::<64>(0) & self.resp_gaps_1.val()).any();
        // Numbers go up to 2^21, that one included.
        self.bad_resp.d.next = self.bad_gaps.q.val()
            | (self.resp.val().incarnation >> 24).any()
            | (self.resp.val().credit > self.packets.val());
        self.bad_counts.d.next = (self.status.val().packets > self.most.val())
            | (self.status.val().wbase > self.packets.val())
            | (self.status.val().credit > self.packets.val())
            | (self.gathered.q.val().get_bits::<64>(64) & self.status_gaps_0.val()).any()
            | (self.gathered.q.val().get_bits::<64>(0) & self.status_gaps_1.val()).any();
        self.beyond.d.next = 0.into();
        if self.status.val().packets.get_bits::<6>(0).any() {
            self.beyond.d.next = self.ones.val() << self.status.val().packets.get_bits::<6>(0);
        }
        self.bad_beyond.d.next = (self.beyond.q.val() & self.latest.q.val()).any();
        self.bad_length.d.next = self.words.q.val() != self.came.q.val();
        self.bad_status.d.next =
            self.bad_counts.q.val() | self.bad_beyond.q.val() | self.bad_length.q.val();

        // The part of the line is at least that of one.
        self.bad_said.d.next = (self.latest.q.val() & self.said_gaps.val()).any()
            | !self.latest.q.val().get_bits::<16>(48).any();

        // Whose transfer it is of.
        self.m_look.next = self.r.q.val().dest.get_bits::<LS>(0);
        self.stray.d.next = !self.s_active.val()
            | (self.s_xid.val() != self.head.val().word)
            | (self.s_node_of_slot.val() != self.r.q.val().node)
            | (self.r.q.val().dest >> self.ls.val()).any()
            | self.other_node.q.val()
            | self.wide_gen.q.val();

        // What leaves.
        self.m.valid.next = self.state.q.val() == State::Offer;
        self.m.r#type.next = self.r.q.val().opcode.get_bits::<3>(0);
        self.m.slot.next = self.r.q.val().dest.get_bits::<16>(0);
        self.m.xid.next = self.head.val().word;
        self.m.status.next = self.head.val().arg.get_bits::<4>(0);
        self.m.wptr.next = self.resp.val().wptr;
        self.m.r#gen.next = self.resp.val().incarnation.get_bits::<16>(0);
        self.m.w.next = self.resp.val().packets;
        self.m.hint.next = self.resp.val().retry;
        self.m.credit.next = self.resp.val().credit.get_bits::<22>(0);
        self.m.pidx.next = self.r.q.val().psn.get_bits::<22>(0);
        self.m.seq.next = self.r.q.val().psn.get_bits::<16>(0);
        if self.is_status.q.val() {
            self.m.credit.next = self.status.val().credit.get_bits::<22>(0);
            self.m.pidx.next = self.status.val().wbase.get_bits::<22>(0);
        }
        self.m_said.valid.next = self.state.q.val() == State::Say;
        self.m_said.slot.next = self.r.q.val().dest.get_bits::<LS>(0);
        self.m_said.marked.next = self.head.val().to_sender.get_bit(0);
        self.m_said.share.next = self.latest.q.val().get_bits::<16>(48);
        self.bitmap.rd.addr.next = self.at.q.val();
        self.m_bitmap.valid.next = (self.state.q.val() == State::Word) & (self.timer.q.val() == 2);
        self.m_bitmap.of.next.data = self.bitmap.rd.data.val();
        self.m_bitmap.of.next.last = (self.at.q.val() + 1) == self.kept.q.val();
        // A STATUS of no packets has one word, in which none has arrived.
        if !self.kept.q.val().any() {
            self.m_bitmap.of.next.data = 0.into();
            self.m_bitmap.of.next.last = true;
        }

        // The state machine.
        self.s.ready.next = false;
        self.s.unwanted.next = true;
        self.ev_bad_message.next = false;
        self.ev_stray.next = false;
        self.timer.d.next = self.timer.q.val() + 1;
        match self.state.q.val() {
            State::Idle => {
                self.timer.d.next = 0.into();
                self.came.d.next = 0.into();
                self.kept.d.next = 0.into();
                self.at.d.next = 0.into();
                self.all_here.d.next = false;
                self.r.d.next = self.s.of.val();
                if self.s.valid.val() {
                    self.state.d.next = State::Look;
                }
            }
            State::Look => {
                if self.timer.q.val() == 1 {
                    self.state.d.next = State::Judge;
                }
            }
            State::Judge => {
                self.timer.d.next = 0.into();
                self.s.ready.next = true;
                self.state.d.next = State::Idle;
                if self.bad.q.val() {
                    self.ev_bad_message.next = true;
                } else if self.is_resp.q.val() | self.is_status.q.val() | self.is_said.q.val() {
                    self.s.unwanted.next = false;
                    self.state.d.next = State::Gather;
                } else {
                    self.state.d.next = State::Ask;
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
                    self.state.d.next = State::Ask;
                    if (self.is_resp.q.val() & self.bad_resp.q.val())
                        | (self.is_status.q.val() & self.bad_status.q.val())
                        | (self.is_said.q.val() & self.bad_said.q.val())
                    {
                        self.ev_bad_message.next = true;
                        self.state.d.next = State::Idle;
                    }
                }
            }
            State::Ask => {
                if self.timer.q.val() == 3 {
                    self.state.d.next = State::Offer;
                    if self.is_said.q.val() {
                        self.state.d.next = State::Say;
                    }
                    if self.stray.q.val() {
                        self.ev_stray.next = true;
                        self.state.d.next = State::Idle;
                    }
                }
            }
            State::Offer => {
                self.timer.d.next = 0.into();
                if self.m.ready.val() {
                    self.state.d.next = State::Idle;
                    if self.is_status.q.val() {
                        self.state.d.next = State::Word;
                    }
                }
            }
            State::Say => {
                if self.m_said.ready.val() {
                    self.state.d.next = State::Idle;
                }
            }
            State::Word => {
                if self.timer.q.val() == 2 {
                    self.timer.d.next = 2.into();
                    if self.m_bitmap.ready.val() {
                        self.timer.d.next = 0.into();
                        self.at.d.next = self.at.q.val() + 1;
                        if self.m_bitmap.of.val().last {
                            self.state.d.next = State::Idle;
                        }
                    }
                }
            }
        }
        if self.rst.val() {
            self.state.d.next = State::Idle;
        }
    }
}
