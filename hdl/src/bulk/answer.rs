//! Messages of rw_window become frames.

use super::layout::{BodyHead, ConnectRespRest, StatusRest};
use crate::bus::{
    BulkDeparturesOut, FramesIn, FramesOut, Telling, TellingsIn, WindowAnswer, WindowMessageIn,
};
use crate::prelude::*;
use crate::switch::ByteSwap;
use tributary_protocol::bulk::{CONGESTED_LEN, OPCODE_CONGESTED};
use tributary_protocol::rw::wire::HEADER_LEN;
use tributary_protocol::rw::wire::layout::{CONNECT_RESP_REST, STATUS_REST};
use tributary_protocol::rw::{ConnectStatus, MessageType};

/// What the block is doing.
#[derive(Copy, Clone, PartialEq, Debug, LogicState)]
pub enum State {
    Idle,
    Frame,
    First,
    Second,
    Bitmap,
    Word,
}

hdl_module! {
    /// Makes frames of the messages of rw_window, and behind these of what senders are told of congestion, each of one: record at m, then what follows the first 8 bytes of its body
    /// at m_pl. Fields that a message does not have are 0 there. Words of the bitmap have B bits here and 64 in frames.
    /// Clocks: 3 for a message without more, then one for each word, 2 for a word of the bitmap at B = 64 and 3 at 32.
    /// Stages: 1 message in registers; 2 record offered; then word by word.
    /// While m or m_pl is not taken it stays, and messages wait.
    #[module("bulk_answer_w{W}")]
    pub struct BulkAnswer<const W: usize, const B: usize> {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset.
        pub rst: Signal<In, Bit>,
        /// Messages.
        pub s: WindowMessageIn,
        /// The bitmap of a STATUS.
        pub s_bitmap: FramesIn<B>,
        /// Own node.
        pub cfg_node: Signal<In, Bits<20>>,
        /// Senders that are told of congestion.
        pub s_tell: TellingsIn,
        /// Frames.
        pub m: BulkDeparturesOut,
        /// What follows the first 8 bytes of their bodies.
        pub m_pl: FramesOut<64>,
        /// A frame leaves; pulse.
        pub ev_sent: Signal<Out, Bit>,

        state: DFF<State>,
        r: DFF<WindowAnswer>,
        /// It is of congestion, and what it says.
        tells: DFF<Bit>,
        told: DFF<Telling>,
        takes: Signal<Local, Bit>,
        is_resp: DFF<Bit>,
        is_status: DFF<Bit>,
        granted: DFF<Bit>,
        told_busy: DFF<Bit>,
        head: Signal<Local, BodyHead>,
        resp: Signal<Local, ConnectRespRest>,
        report: Signal<Local, StatusRest>,
        resp_bits: Signal<Local, Bits<128>>,
        report_bits: Signal<Local, Bits<128>>,
        /// A word of the bitmap, bit 0 its first packet; half of it is there; it is the last one.
        word: DFF<Bits<64>>,
        half: DFF<Bit>,
        last: DFF<Bit>,
        swap: ByteSwap,
        w: Param<W, 16>,
        bits_of_word: Param<B, 7>,
        resp_bytes: Param<{ CONNECT_RESP_REST.length }, 13>,
        status_bytes: Param<{ STATUS_REST.length }, 13>,
        connect_resp: Param<{ MessageType::ConnectResp as usize }, 3>,
        poll_status: Param<{ MessageType::PollStatus as usize }, 3>,
        retx_one: Param<{ MessageType::RetxOne as usize }, 3>,
        retx_range: Param<{ MessageType::RetxRange as usize }, 3>,
        congested_bytes: Param<{ CONGESTED_LEN - HEADER_LEN }, 13>,
        congested: Param<{ OPCODE_CONGESTED as usize & 15 }, 4>,
        ok: Param<{ ConnectStatus::Ok as usize }, 4>,
        busy: Param<{ ConnectStatus::Busy as usize }, 4>,
    }
}

impl<const W: usize, const B: usize> Logic for BulkAnswer<W, B> {
    #[hdl_gen]
    fn update(&mut self) {
        self.is_resp.d.next = self.r.q.val().kind == self.connect_resp.val();
        self.is_status.d.next = self.r.q.val().kind == self.poll_status.val();
        self.granted.d.next = self.r.q.val().status == self.ok.val();
        self.told_busy.d.next = self.r.q.val().status == self.busy.val();

        // The record.
        self.head.next.version = 0.into();
        self.head.next.to_sender = 1.into();
        self.head.next.tail = 0.into();
        self.head.next.arg = bit_cast::<8, 4>(self.r.q.val().status);
        self.head.next.node = 0.into();
        self.head.next.word = self.r.q.val().xid;
        self.m.of.next.psn = 0.into();
        self.m.of.next.len = 0.into();
        if self.r.q.val().kind == self.poll_status.val() {
            self.head.next.tail = bit_cast::<1, 1>(self.r.q.val().tail.into());
            self.head.next.arg = 0.into();
            self.m.of.next.psn = bit_cast::<24, 16>(self.r.q.val().seq);
            self.m.of.next.len = self.status_bytes.val() + bit_cast::<13, 16>(self.w.val() >> 3);
        }
        if self.r.q.val().kind == self.connect_resp.val() {
            self.m.of.next.len = self.resp_bytes.val();
        }
        if (self.r.q.val().kind == self.retx_one.val())
            | (self.r.q.val().kind == self.retx_range.val())
        {
            self.head.next.arg = 0.into();
            self.m.of.next.psn = bit_cast::<24, 22>(self.r.q.val().pidx);
        }
        self.m.of.next.node = self.r.q.val().dst;
        self.m.of.next.opcode = bit_cast::<4, 3>(self.r.q.val().kind);
        self.m.of.next.dest = bit_cast::<24, 16>(self.r.q.val().slot);
        if self.tells.q.val() {
            self.head.next.to_sender = bit_cast::<1, 1>(self.told.q.val().marked.into());
            self.head.next.tail = 0.into();
            self.head.next.arg = 0.into();
            self.head.next.node = self.cfg_node.val().get_bits::<16>(0);
            self.head.next.word = self.told.q.val().xid;
            self.m.of.next.node = self.told.q.val().node;
            self.m.of.next.opcode = self.congested.val();
            self.m.of.next.dest = bit_cast::<24, 16>(self.told.q.val().slot);
            self.m.of.next.psn = 0.into();
            self.m.of.next.len = self.congested_bytes.val();
        }
        self.m.of.next.head = self.head.val().to_bits();
        self.m.valid.next = self.state.q.val() == State::Frame;
        self.ev_sent.next = (self.state.q.val() == State::Frame) & self.m.ready.val();

        // What follows.
        self.resp.next.wptr = 0.into();
        self.resp.next.packets = 0.into();
        self.resp.next.incarnation = 0.into();
        self.resp.next.credit = 0.into();
        self.resp.next.retry = 0.into();
        if self.granted.q.val() {
            self.resp.next.wptr = self.r.q.val().wptr;
            self.resp.next.packets = self.w.val();
            self.resp.next.incarnation = bit_cast::<32, 16>(self.r.q.val().incarnation);
            self.resp.next.credit = bit_cast::<32, 22>(self.r.q.val().credit);
        }
        if self.told_busy.q.val() {
            self.resp.next.retry = self.r.q.val().hint;
        }
        self.report.next.wbase = bit_cast::<32, 22>(self.r.q.val().wbase);
        self.report.next.credit = bit_cast::<32, 22>(self.r.q.val().credit);
        self.report.next.packets = self.w.val();
        self.resp_bits.next = self.resp.val().to_bits();
        self.report_bits.next = self.report.val().to_bits();
        self.swap.s.next = self.word.q.val();
        if self.state.q.val() == State::First {
            self.swap.s.next = self.resp_bits.val().get_bits::<64>(64);
            if self.is_status.q.val() {
                self.swap.s.next = self.report_bits.val().get_bits::<64>(64);
            }
            if self.tells.q.val() {
                self.swap.s.next = bit_cast::<64, 16>(self.told.q.val().share) << 48;
            }
        }
        if self.state.q.val() == State::Second {
            self.swap.s.next = self.resp_bits.val().get_bits::<64>(0);
            if self.is_status.q.val() {
                self.swap.s.next = self.report_bits.val().get_bits::<64>(0);
            }
        }
        self.m_pl.valid.next = (self.state.q.val() == State::First)
            | (self.state.q.val() == State::Second)
            | (self.state.q.val() == State::Word);
        self.m_pl.of.next.data = self.swap.m.val();
        self.m_pl.of.next.last = ((self.state.q.val() == State::First) & self.tells.q.val())
            | ((self.state.q.val() == State::Second) & !self.is_status.q.val())
            | ((self.state.q.val() == State::Word) & self.last.q.val());
        self.s_bitmap.ready.next = self.state.q.val() == State::Bitmap;
        self.s.ready.next = self.state.q.val() == State::Idle;
        self.takes.next = (self.state.q.val() == State::Idle) & !self.s.valid.val();
        self.s_tell.ready.next = self.takes.val();
        match self.state.q.val() {
            State::Idle => {
                self.half.d.next = false;
                self.r.d.next = self.s.of.val();
                self.told.d.next = self.s_tell.of.val();
                self.tells.d.next = self.takes.val();
                if self.s.valid.val() | self.s_tell.valid.val() {
                    self.state.d.next = State::Frame;
                }
            }
            State::Frame => {
                if self.m.ready.val() {
                    self.state.d.next = State::Idle;
                    if (self.r.q.val().kind == self.poll_status.val())
                        | (self.r.q.val().kind == self.connect_resp.val())
                        | self.tells.q.val()
                    {
                        self.state.d.next = State::First;
                    }
                }
            }
            State::First => {
                if self.m_pl.ready.val() {
                    self.state.d.next = State::Second;
                    if self.tells.q.val() {
                        self.state.d.next = State::Idle;
                    }
                }
            }
            State::Second => {
                if self.m_pl.ready.val() {
                    self.state.d.next = State::Idle;
                    if self.is_status.q.val() {
                        self.state.d.next = State::Bitmap;
                    }
                }
            }
            State::Bitmap => {
                if self.s_bitmap.valid.val() {
                    self.word.d.next = (self.word.q.val() >> self.bits_of_word.val())
                        | (bit_cast::<64, B>(self.s_bitmap.of.val().data)
                            << (bits::<7>(64) - self.bits_of_word.val()));
                    self.half.d.next = !self.half.q.val();
                    self.last.d.next = self.s_bitmap.of.val().last;
                    if self.half.q.val() | self.bits_of_word.val().get_bit(6) {
                        self.half.d.next = false;
                        self.state.d.next = State::Word;
                    }
                }
            }
            State::Word => {
                if self.m_pl.ready.val() {
                    self.state.d.next = State::Bitmap;
                    if self.last.q.val() {
                        self.state.d.next = State::Idle;
                    }
                }
            }
        }
        if self.rst.val() {
            self.state.d.next = State::Idle;
        }
    }
}
