//! The line's input: frames become requests with their payload, and acknowledgements.

mod buffer;
mod header;

pub use buffer::XudRxBuffer;
pub use header::{XudRxHeader, XudRxSum};

use super::XudIcrc;
use super::icrc::{RESIDUE_2, RESIDUE_6};
use crate::blocks::{FifoAhead, TwoSlots};
use crate::bus::{AckTakenOut, AxisRxIn, BulkArrivalsOut, FramesOut};
use crate::prelude::*;
use tributary_protocol::red::wire::DEFAULT_ETHERTYPE;
use tributary_protocol::roce::{BODY_OFFSET, ICRC_LEN};
use tributary_protocol::rw::wire::HEADER_LEN;
use tributary_protocol::xud::wire::{MAX_PAYLOAD, ONE_SIDED_FRAME, XUDETH_LEN};
use tributary_protocol::xud::{Nak, Outcome};

/// Bytes of a frame around its payload.
const AROUND: usize = BODY_OFFSET + XUDETH_LEN + ICRC_LEN;

/// Bytes of a frame of a bulk transfer around what follows the first 8 bytes of its body.
const AROUND_BULK: usize = BODY_OFFSET + HEADER_LEN + ICRC_LEN;

/// How a request ends that was refused so.
const fn refused(nak: Nak) -> usize {
    Outcome::of(nak) as usize
}

hdl_module! {
    /// Takes datagrams, acknowledgements and, with cfg_bulk, frames of bulk transfers out of RoCEv2 frames (XUD-14, RW-20):
    /// what fails any check of the frame, its ICRC or its headers is counted and leaves nothing behind. Of a frame of a
    /// bulk transfer only the frame is checked here; what its body says, bulk_sort looks at. One word a clock,
    /// frames back to back, never stalled. Payload waits in a buffer of 2^A words; up to 18
    /// requests and bulk frames, in their order, and 16 acknowledgements wait; what fits no more is dropped as a whole.
    /// Latency: 8 clocks from a frame's last word to m_rq_valid or m_bulk_valid, 7 to m_ak_valid, 6 to ev_*; then 6
    /// from taking a request to its first word of payload.
    /// Stages, from the last word on: 1 word registered; 2 length; 3 length compared; 4 sum of all
    /// checks, fields copied; 5 ICRC compared; 6 verdict, ev_*; 7 record in its queue;
    /// 8 the oldest requests in registers.
    /// While m_rq_*, m_bulk_* or m_ak_* is not taken it stays, and frames go on coming in; requests and bulk frames wait for
    /// each other, and so does their payload. While m_pl or m_bulk_pl is not taken 4 words are held beside the buffer, whose places may be written anew.
    #[module("xud_rx_d{}", 1usize << A)]
    pub struct XudRx<const A: usize> {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset. The next word is taken for the first of a frame.
        pub rst: Signal<In, Bit>,
        /// AXI4-Stream from the MAC; always taken.
        pub s_axis_rx: AxisRxIn<64, 8>,
        /// A request.
        pub m_rq_valid: Signal<Out, Bit>,
        /// It is taken.
        pub m_rq_ready: Signal<In, Bit>,
        /// With ready: its payload is not wanted.
        pub m_rq_drop: Signal<In, Bit>,
        /// Source node.
        pub m_rq_node: Signal<Out, Bits<20>>,
        /// Destination queue pair.
        pub m_rq_qpn: Signal<Out, Bits<24>>,
        /// Packet number.
        pub m_rq_psn: Signal<Out, Bits<24>>,
        /// Q_Key.
        pub m_rq_q_key: Signal<Out, Bits<32>>,
        /// Source queue pair.
        pub m_rq_src: Signal<Out, Bits<24>>,
        /// Version 7:4 and flags 3:0.
        pub m_rq_vf: Signal<Out, Bits<8>>,
        /// Window.
        pub m_rq_win_id: Signal<Out, Bits<16>>,
        /// Epoch.
        pub m_rq_epoch: Signal<Out, Bits<16>>,
        /// Number in the window.
        pub m_rq_msn: Signal<Out, Bits<32>>,
        /// Bytes of payload; 0 of an unknown one.
        pub m_rq_len: Signal<Out, Bits<13>>,
        /// Its opcode has no meaning.
        pub m_rq_unknown: Signal<Out, Bit>,
        /// It is one-sided, or the answer of one that was: version 1, that flag alone, a known opcode.
        pub m_rq_one_sided: Signal<Out, Bit>,
        /// A switch has marked it, with cfg_marks.
        pub m_rq_marked: Signal<Out, Bit>,
        /// Payload.
        pub m_pl: FramesOut<64>,
        /// Frames of bulk transfers are taken; otherwise their opcodes are not XUD's. Constant.
        pub cfg_bulk: Signal<In, Bit>,
        /// So are those of congestion, and marks of datagrams and what acknowledgements say of marks are looked at (CL-4).
        pub cfg_marks: Signal<In, Bit>,
        /// Frames with the ethertype of reductions are for another block, and not counted here. Constant.
        pub cfg_reduce: Signal<In, Bit>,
        /// A frame of a bulk transfer.
        pub m_bulk: BulkArrivalsOut,
        /// What follows the first 8 bytes of its body.
        pub m_bulk_pl: FramesOut<64>,
        /// Acknowledgements.
        pub m_ak: AckTakenOut,
        /// A good frame was dropped because it did not fit.
        pub ev_overflow: Signal<Out, Bit>,
        /// A frame with wrong lengths, checksums, ICRC or fixed fields.
        pub ev_bad_frame: Signal<Out, Bit>,
        /// A frame with an opcode that is neither XUD's nor, with cfg_bulk, of a bulk transfer.
        pub ev_not_xud: Signal<Out, Bit>,
        /// A packet with a header that no sender makes.
        pub ev_bad_header: Signal<Out, Bit>,

        header: XudRxHeader,
        icrc: XudIcrc,
        buffer: XudRxBuffer<A>,
        requests: FifoAhead<213, 4>,
        /// The oldest ones, so that nobody waits for the memory.
        request: TwoSlots<213>,
        acks: FifoAhead<167, 4>,
        /// Stage 1: a word, its number, a bit each from 0 to 8, and 9 for any behind; it is the last.
        #[reset] r_valid: DFF<Bit>,
        r_data: DFF<Bits<64>>,
        r_place: DFF<Bits<10>>,
        r_index: DFF<Bits<14>>,
        #[reset] r_end: DFF<Bit>,
        /// It has 2 bytes, not 6.
        r_two: DFF<Bit>,
        /// The frame has a word with a number of bytes that no good frame has, or is marked bad.
        r_ragged: DFF<Bit>,
        /// Number of the next word; saturates beyond any length that the IPv4 header can tell.
        place: DFF<Bits<10>>,
        #[reset] index: DFF<Bits<14>>,
        /// A word before was ragged.
        #[reset] ragged: DFF<Bit>,
        ragged_now: Signal<Local, Bit>,
        /// The word with zeros for missing bytes.
        present: Signal<Local, Bits<64>>,
        at: Signal<Local, Bits<9>>,
        /// The frame has the ethertype of reductions; by stage, from 2 on.
        other: DFF<Bit>,
        s3_other: DFF<Bit>,
        s4_other: DFF<Bit>,
        s5_other: DFF<Bit>,
        /// Last two bytes of the word before.
        carry: DFF<Bits<16>>,
        /// Bytes that are not zero, of stage 1's word and of the one before; 2 and 6 are never looked at.
        some: Signal<Local, Bits<8>>,
        some_before: DFF<Bits<8>>,
        /// Stage 2: a frame has ended.
        #[reset] s2_end: DFF<Bit>,
        s2_bad: DFF<Bit>,
        s2_whole: DFF<Bit>,
        s2_two: DFF<Bit>,
        s2_index: DFF<Bits<14>>,
        /// Frames of 58, 62, 66 and 74 bytes, less than 74, more than any request.
        s2_is_58: DFF<Bit>,
        s2_is_62: DFF<Bit>,
        s2_is_66: DFF<Bit>,
        s2_is_74: DFF<Bit>,
        s2_under: DFF<Bit>,
        s2_over: DFF<Bit>,
        /// The byte before the ICRC is not zero, the one before that, and so on.
        s2_tail: DFF<Bits<3>>,
        s2_length: Signal<Local, Bits<17>>,
        some_pad: Signal<Local, Bit>,
        bad_pad: Signal<Local, Bit>,
        bad_ack: Signal<Local, Bit>,
        bad_request: Signal<Local, Bit>,
        /// Stage 3.
        #[reset] s3_end: DFF<Bit>,
        s3_bad: DFF<Bit>,
        s3_whole: DFF<Bit>,
        s3_two: DFF<Bit>,
        s3_bad_ack: DFF<Bit>,
        s3_bad_request: DFF<Bit>,
        s3_echo: DFF<Bit>,
        /// A bulk frame whose body has not even 8 bytes, or more than any.
        s3_misfit: DFF<Bit>,
        s3_len: DFF<Bits<13>>,
        /// Stage 4: verdict but for the ICRC, and the record.
        #[reset] s4_end: DFF<Bit>,
        s4_bad: DFF<Bit>,
        s4_foreign: DFF<Bit>,
        s4_header: DFF<Bit>,
        s4_ack: DFF<Bit>,
        s4_two: DFF<Bit>,
        record: DFF<Bits<196>>,
        len: DFF<Bits<13>>,
        words: DFF<Bits<10>>,
        /// An unknown opcode; of a bulk frame: a misfit.
        unknown: DFF<Bit>,
        bulk: DFF<Bit>,
        echo: DFF<Bit>,
        /// It came marked; of an acknowledgement: it says so of its request.
        marked: DFF<Bit>,
        residue: Signal<Local, Bits<32>>,
        /// Stage 5.
        #[reset] s5_end: DFF<Bit>,
        s5_bad: DFF<Bit>,
        s5_foreign: DFF<Bit>,
        s5_header: DFF<Bit>,
        s5_ack: DFF<Bit>,
        good: Signal<Local, Bit>,
        room: Signal<Local, Bit>,
        /// Stage 6.
        #[reset] s6_request: DFF<Bit>,
        #[reset] s6_ack: DFF<Bit>,
        #[reset] s6_overflow: DFF<Bit>,
        #[reset] s6_bad: DFF<Bit>,
        #[reset] s6_foreign: DFF<Bit>,
        #[reset] s6_header: DFF<Bit>,
        /// What the syndrome means, an outcome.
        outcome: Signal<Local, Bits<5>>,
        one_sided: Signal<Local, Bit>,
        syndrome: Signal<Local, Bits<8>>,
        is_bulk: Signal<Local, Bit>,
        rounded: Signal<Local, Bits<13>>,
        reductions: Param<{ DEFAULT_ETHERTYPE.swap_bytes() as usize }, 16>,
        residue_2: Param<RESIDUE_2, 32>,
        residue_6: Param<RESIDUE_6, 32>,
        /// Number of the longest frame's last word, which has two bytes.
        longest: Param<{ (AROUND + MAX_PAYLOAD) / 8 }, 14>,
        /// Bytes around the payload.
        around: Param<AROUND, 13>,
        around_bulk: Param<AROUND_BULK, 13>,
        /// Version and flags of a one-sided frame.
        one_sided_frame: Param<{ ONE_SIDED_FRAME as usize }, 8>,
        /// Codes of negative acknowledgements.
        nak_access: Param<{ Nak::Access as usize }, 5>,
        nak_length: Param<{ Nak::Length as usize }, 5>,
        nak_qp: Param<{ Nak::BadQp as usize }, 5>,
        nak_epoch: Param<{ Nak::Epoch as usize }, 5>,
        nak_number: Param<{ Nak::Number as usize }, 5>,
        nak_operation: Param<{ Nak::Operation as usize }, 5>,
        /// How the requests end.
        rnr: Param<{ Outcome::RemoteRnr as usize }, 5>,
        refused_opcode: Param<{ refused(Nak::Opcode) }, 5>,
        refused_access: Param<{ refused(Nak::Access) }, 5>,
        refused_length: Param<{ refused(Nak::Length) }, 5>,
        refused_qp: Param<{ refused(Nak::BadQp) }, 5>,
        refused_epoch: Param<{ refused(Nak::Epoch) }, 5>,
        refused_number: Param<{ refused(Nak::Number) }, 5>,
        refused_operation: Param<{ refused(Nak::Operation) }, 5>,
    }
}

impl<const A: usize> Logic for XudRx<A> {
    #[hdl_gen]
    fn update(&mut self) {
        // Stage 1: the word and its number. A good frame has 2 or 6 bytes in its last word.
        self.s_axis_rx.tready.next = true;
        self.present.next = bit_cast::<64, 16>(self.s_axis_rx.tdata.val().get_bits::<16>(0));
        if self.s_axis_rx.tkeep.val().get_bit(2) {
            self.present.next = bit_cast::<64, 48>(self.s_axis_rx.tdata.val().get_bits::<48>(0));
        }
        if self.s_axis_rx.tkeep.val().get_bit(6) {
            self.present.next = self.s_axis_rx.tdata.val();
        }
        self.ragged_now.next = self.ragged.q.val() | !self.s_axis_rx.tkeep.val().all();
        if self.s_axis_rx.tlast.val() {
            self.ragged_now.next = self.ragged.q.val()
                | self.s_axis_rx.tuser.val()
                | ((self.s_axis_rx.tkeep.val() != 0x03) & (self.s_axis_rx.tkeep.val() != 0x3f));
        }
        self.r_valid.d.next = self.s_axis_rx.tvalid.val();
        self.r_data.d.next = self.present.val();
        self.r_place.d.next = self.place.q.val();
        self.r_index.d.next = self.index.q.val();
        self.r_end.d.next = self.s_axis_rx.tvalid.val() & self.s_axis_rx.tlast.val();
        self.r_two.d.next = !self.s_axis_rx.tkeep.val().get_bit(2);
        self.r_ragged.d.next = self.ragged_now.val();
        if self.s_axis_rx.tvalid.val() {
            self.ragged.d.next = self.ragged_now.val() & !self.s_axis_rx.tlast.val();
            self.place.d.next = (self.place.q.val() << 1) | (self.place.q.val() & 0x200);
            if !self.index.q.val().all() {
                self.index.d.next = self.index.q.val() + 1;
            }
            if self.s_axis_rx.tlast.val() {
                self.place.d.next = 1.into();
                self.index.d.next = 0.into();
            }
        }

        self.at.next = 0.into();
        if self.r_valid.q.val() {
            self.at.next = self.r_place.q.val().get_bits::<9>(0);
        }
        self.header.s_at.next = self.at.val();
        self.header.s_data.next = self.r_data.q.val();
        self.icrc.s_valid.next = self.r_valid.q.val();
        self.icrc.s_data.next = self.r_data.q.val();
        self.icrc.s_last.next = self.r_end.q.val();
        if self.at.val().get_bit(0) {
            self.other.d.next = false;
        }
        if self.at.val().get_bit(1) {
            self.other.d.next = self.cfg_reduce.val()
                & (self.r_data.q.val().get_bits::<16>(32) == self.reductions.val());
        }
        self.s3_other.d.next = self.other.q.val();
        self.s4_other.d.next = self.s3_other.q.val();
        self.s5_other.d.next = self.s4_other.q.val();
        // Payload begins with the last two bytes of word 8, of word 7 of a bulk frame. A last word of two bytes is ICRC alone.
        self.header.cfg_bulk.next = self.cfg_bulk.val();
        self.header.cfg_marks.next = self.cfg_marks.val();
        self.buffer.s_begin.next = self.at.val().get_bit(8);
        if self.header.bulk.val() {
            self.buffer.s_begin.next = self.at.val().get_bit(7);
        }
        self.buffer.s_valid.next = self.r_valid.q.val()
            & (self.r_place.q.val().get_bit(9)
                | (self.r_place.q.val().get_bit(8) & self.header.bulk.val()))
            & !(self.r_end.q.val() & self.r_two.q.val());
        self.buffer.s_data.next = (bit_cast::<64, 48>(self.r_data.q.val().get_bits::<48>(0)) << 16)
            | bit_cast::<64, 16>(self.carry.q.val());
        self.some.next = bit_cast::<8, 1>(self.r_data.q.val().get_bits::<8>(0).any().into())
            | (bit_cast::<8, 1>(self.r_data.q.val().get_bits::<8>(8).any().into()) << 1)
            | (bit_cast::<8, 1>(self.r_data.q.val().get_bits::<8>(24).any().into()) << 3)
            | (bit_cast::<8, 1>(self.r_data.q.val().get_bits::<8>(32).any().into()) << 4)
            | (bit_cast::<8, 1>(self.r_data.q.val().get_bits::<8>(40).any().into()) << 5)
            | (bit_cast::<8, 1>(self.r_data.q.val().get_bits::<8>(56).any().into()) << 7);
        if self.r_valid.q.val() {
            self.carry.d.next = self.r_data.q.val().get_bits::<16>(48);
            self.some_before.d.next = self.some.val();
        }

        // Stage 2: how long the frame is.
        self.s2_end.d.next = self.r_end.q.val();
        self.s2_whole.d.next = self.r_end.q.val() & (self.r_index.q.val() >= 7);
        self.s2_bad.d.next = self.r_ragged.q.val() | (self.r_index.q.val() < 7);
        self.s2_two.d.next = self.r_two.q.val();
        self.s2_index.d.next = self.r_index.q.val();
        self.s2_is_58.d.next = (self.r_index.q.val() == 7) & self.r_two.q.val();
        self.s2_is_62.d.next = (self.r_index.q.val() == 7) & !self.r_two.q.val();
        self.s2_is_66.d.next = (self.r_index.q.val() == 8) & self.r_two.q.val();
        self.s2_is_74.d.next = (self.r_index.q.val() == 9) & self.r_two.q.val();
        self.s2_under.d.next = self.r_index.q.val() < 9;
        self.s2_over.d.next = (self.r_index.q.val() > self.longest.val())
            | ((self.r_index.q.val() == self.longest.val()) & !self.r_two.q.val());
        self.s2_tail.d.next = bit_cast::<3, 1>(self.some.val().get_bits::<1>(1))
            | (bit_cast::<3, 1>(self.some.val().get_bits::<1>(0)) << 1)
            | (bit_cast::<3, 1>(self.some_before.q.val().get_bits::<1>(7)) << 2);
        if self.r_two.q.val() {
            self.s2_tail.d.next = bit_cast::<3, 1>(self.some_before.q.val().get_bits::<1>(5))
                | (bit_cast::<3, 1>(self.some_before.q.val().get_bits::<1>(4)) << 1)
                | (bit_cast::<3, 1>(self.some_before.q.val().get_bits::<1>(3)) << 2);
        }

        // Stage 3: lengths against those of the headers.
        self.s2_length.next = (bit_cast::<17, 14>(self.s2_index.q.val()) << 3) | bits::<17>(6);
        if self.s2_two.q.val() {
            self.s2_length.next = (bit_cast::<17, 14>(self.s2_index.q.val()) << 3) | bits::<17>(2);
        }
        self.some_pad.next = self.header.pad.val().any();
        self.bad_pad.next = (self.s2_is_58.q.val() & self.some_pad.val())
            | (self.some_pad.val() & self.s2_tail.q.val().get_bit(0))
            | (self.header.pad.val().get_bit(1) & self.s2_tail.q.val().get_bit(1))
            | (self.header.pad.val().all() & self.s2_tail.q.val().get_bit(2));
        self.bad_ack.next = self.some_pad.val() | (!self.s2_is_62.q.val() & !self.s2_is_74.q.val());
        self.bad_request.next = self.s2_under.q.val()
            | self.s2_over.q.val()
            | (self.s2_is_74.q.val() & self.some_pad.val());
        self.s3_end.d.next = self.s2_end.q.val();
        self.s3_whole.d.next = self.s2_whole.q.val();
        self.s3_two.d.next = self.s2_two.q.val();
        self.s3_bad.d.next = self.s2_bad.q.val()
            | self.bad_pad.val()
            | (self.s2_length.val() != self.header.length.val());
        self.s3_bad_ack.d.next = self.bad_ack.val();
        self.s3_bad_request.d.next = self.bad_request.val();
        self.s3_echo.d.next = self.s2_is_74.q.val();
        self.s3_len.d.next = (self.s2_length.val().get_bits::<13>(0) - self.around.val())
            - bit_cast::<13, 2>(self.header.pad.val());
        if self.header.bulk.val() {
            self.s3_len.d.next = (self.s2_length.val().get_bits::<13>(0) - self.around_bulk.val())
                - bit_cast::<13, 2>(self.header.pad.val());
        }
        self.s3_misfit.d.next = self.header.bulk.val()
            & (self.s2_is_58.q.val()
                | self.s2_is_62.q.val()
                | (self.s2_is_66.q.val() & self.some_pad.val())
                | self.s2_over.q.val());

        // Stage 4: all checks but the ICRC. A frame that may be good copies its fields: they stay for seven clocks.
        self.s4_end.d.next = self.s3_end.q.val();
        self.s4_two.d.next = self.s3_two.q.val();
        self.s4_bad.d.next =
            self.s3_bad.q.val() | self.header.bad_fixed.val() | self.header.bad_sum.val();
        self.s4_foreign.d.next = self.header.foreign.val();
        self.s4_ack.d.next = self.header.is_ack.val();
        self.s4_header.d.next = self.s3_bad_request.q.val() | self.header.bad_request.val();
        if self.header.is_ack.val() {
            self.s4_header.d.next = self.s3_bad_ack.q.val()
                | self.header.bad_aeth.val()
                | (self.s3_echo.q.val() & self.header.bad_echo.val());
        }
        if self.header.bulk.val() {
            self.s4_header.d.next = false;
        }
        self.rounded.next = self.s3_len.q.val() + 7;
        if self.s3_whole.q.val() {
            self.record.d.next = (bit_cast::<196, 20>(self.header.node.val()) << 176)
                | (bit_cast::<196, 24>(self.header.qpn.val()) << 152)
                | (bit_cast::<196, 24>(self.header.psn.val()) << 128)
                | bit_cast::<196, 128>(self.header.body.val());
            self.len.d.next = self.s3_len.q.val();
            self.words.d.next = self.rounded.val().get_bits::<10>(3);
            self.unknown.d.next = self.header.unknown.val() | self.s3_misfit.q.val();
            self.bulk.d.next = self.header.bulk.val();
            self.echo.d.next = self.s3_echo.q.val();
            self.marked.d.next = self.header.marked.val() & self.cfg_marks.val();
            if self.header.is_ack.val() {
                self.marked.d.next = self.header.tells.val() & self.cfg_marks.val();
            }
            // What is refused anyway keeps no payload.
            if self.header.unknown.val() | self.s3_misfit.q.val() {
                self.len.d.next = 0.into();
                self.words.d.next = 0.into();
            }
            // Of a bulk frame 8 bytes are here, and the opcode in the place of what would follow.
            if self.header.bulk.val() {
                self.record.d.next = (bit_cast::<196, 20>(self.header.node.val()) << 176)
                    | (bit_cast::<196, 24>(self.header.qpn.val()) << 152)
                    | (bit_cast::<196, 24>(self.header.psn.val()) << 128)
                    | (bit_cast::<196, 64>(self.header.body.val().get_bits::<64>(64)) << 64)
                    | (bit_cast::<196, 1>(self.header.marked.val().into()) << 4)
                    | bit_cast::<196, 4>(self.header.opcode.val());
            }
        }

        // Stage 5: the ICRC.
        self.residue.next = self.residue_6.val();
        if self.s4_two.q.val() {
            self.residue.next = self.residue_2.val();
        }
        self.s5_end.d.next = self.s4_end.q.val();
        self.s5_bad.d.next = self.s4_bad.q.val() | (self.icrc.m_state.val() != self.residue.val());
        self.s5_foreign.d.next = self.s4_foreign.q.val();
        self.s5_header.d.next = self.s4_header.q.val();
        self.s5_ack.d.next = self.s4_ack.q.val();

        // Stage 6: the verdict.
        self.good.next = self.s5_end.q.val()
            & !self.s5_bad.q.val()
            & !self.s5_foreign.q.val()
            & !self.s5_header.q.val();
        self.room.next =
            self.requests.s.ready.val() & (!self.buffer.lost.val() | self.unknown.q.val());
        if self.s5_ack.q.val() {
            self.room.next = self.acks.s.ready.val();
        }
        self.s6_request.d.next = self.good.val() & self.room.val() & !self.s5_ack.q.val();
        self.s6_ack.d.next = self.good.val() & self.room.val() & self.s5_ack.q.val();
        self.s6_overflow.d.next = self.good.val() & !self.room.val();
        self.s6_bad.d.next = self.s5_end.q.val() & self.s5_bad.q.val() & !self.s5_other.q.val();
        self.s6_foreign.d.next =
            self.s5_end.q.val() & !self.s5_bad.q.val() & self.s5_foreign.q.val();
        self.s6_header.d.next = self.s5_end.q.val()
            & !self.s5_bad.q.val()
            & !self.s5_foreign.q.val()
            & self.s5_header.q.val();
        self.ev_overflow.next = self.s6_overflow.q.val();
        self.ev_bad_frame.next = self.s6_bad.q.val();
        self.ev_not_xud.next = self.s6_foreign.q.val();
        self.ev_bad_header.next = self.s6_header.q.val();
        self.buffer.commit.next = self.s6_request.q.val();
        self.buffer.commit_words.next = self.words.q.val();
        self.requests.s.valid.next = self.s6_request.q.val();
        self.one_sided.next = (self.record.q.val().get_bits::<8>(64) == self.one_sided_frame.val())
            & !self.unknown.q.val();
        self.requests.s.data.next = bit_cast::<213, 196>(self.record.q.val())
            | (bit_cast::<213, 13>(self.len.q.val()) << 196)
            | (bit_cast::<213, 1>(self.unknown.q.val().into()) << 209)
            | (bit_cast::<213, 1>(self.one_sided.val().into()) << 210)
            | (bit_cast::<213, 1>(self.bulk.q.val().into()) << 211)
            | (bit_cast::<213, 1>(self.marked.q.val().into()) << 212);
        self.syndrome.next = self.record.q.val().get_bits::<8>(120);
        self.outcome.next = 0.into();
        if self.syndrome.val().get_bit(5) {
            self.outcome.next = self.rnr.val();
        }
        if self.syndrome.val().get_bit(6) {
            self.outcome.next = self.refused_opcode.val();
            if self.syndrome.val().get_bits::<5>(0) == self.nak_access.val() {
                self.outcome.next = self.refused_access.val();
            }
            if self.syndrome.val().get_bits::<5>(0) == self.nak_length.val() {
                self.outcome.next = self.refused_length.val();
            }
            if self.syndrome.val().get_bits::<5>(0) == self.nak_qp.val() {
                self.outcome.next = self.refused_qp.val();
            }
            if self.syndrome.val().get_bits::<5>(0) == self.nak_epoch.val() {
                self.outcome.next = self.refused_epoch.val();
            }
            if self.syndrome.val().get_bits::<5>(0) == self.nak_number.val() {
                self.outcome.next = self.refused_number.val();
            }
            if self.syndrome.val().get_bits::<5>(0) == self.nak_operation.val() {
                self.outcome.next = self.refused_operation.val();
            }
        }
        // Flags, queue pair, window, then what the frame's headers say.
        self.acks.s.valid.next = self.s6_ack.q.val();
        self.acks.s.data.next = bit_cast::<167, 4>(self.record.q.val().get_bits::<4>(0))
            | (bit_cast::<167, 24>(self.record.q.val().get_bits::<24>(8)) << 4)
            | (bit_cast::<167, 64>(self.record.q.val().get_bits::<64>(32)) << 28)
            | (bit_cast::<167, 68>(self.record.q.val().get_bits::<68>(128)) << 92)
            | (bit_cast::<167, 1>(self.echo.q.val().into()) << 160)
            | (bit_cast::<167, 5>(self.outcome.val()) << 161)
            | (bit_cast::<167, 1>(self.marked.q.val().into()) << 166);

        // Requests out: each that has payload leaves a job for the buffer. None comes to the front without room for its
        // job, since what is on offer there stays.
        self.request.s.valid.next = self.requests.m.valid.val() & self.buffer.j_ready.val();
        self.request.s.data.next = self.requests.m.data.val();
        self.requests.m.ready.next = self.request.s.ready.val() & self.buffer.j_ready.val();
        self.is_bulk.next = self.request.m.data.val().get_bit(211);
        self.request.m.ready.next = self.m_rq_ready.val();
        self.buffer.j_drop.next = self.m_rq_drop.val();
        if self.is_bulk.val() {
            self.request.m.ready.next = self.m_bulk.ready.val();
            self.buffer.j_drop.next = self.m_bulk.unwanted.val();
        }
        self.m_rq_valid.next = self.request.m.valid.val() & !self.is_bulk.val();
        self.m_bulk.valid.next = self.request.m.valid.val() & self.is_bulk.val();
        self.m_bulk.of.next.node = self.request.m.data.val().get_bits::<20>(176);
        self.m_bulk.of.next.opcode = self.request.m.data.val().get_bits::<4>(0);
        self.m_bulk.of.next.marked = self.request.m.data.val().get_bit(4);
        self.m_bulk.of.next.dest = self.request.m.data.val().get_bits::<24>(152);
        self.m_bulk.of.next.psn = self.request.m.data.val().get_bits::<24>(128);
        self.m_bulk.of.next.head = self.request.m.data.val().get_bits::<64>(64);
        self.m_bulk.of.next.short = self.request.m.data.val().get_bit(209);
        self.m_bulk.of.next.len = self.request.m.data.val().get_bits::<13>(196);
        self.m_rq_node.next = self.request.m.data.val().get_bits::<20>(176);
        self.m_rq_qpn.next = self.request.m.data.val().get_bits::<24>(152);
        self.m_rq_psn.next = self.request.m.data.val().get_bits::<24>(128);
        self.m_rq_q_key.next = self.request.m.data.val().get_bits::<32>(96);
        self.m_rq_src.next = self.request.m.data.val().get_bits::<24>(72);
        self.m_rq_vf.next = self.request.m.data.val().get_bits::<8>(64);
        self.m_rq_win_id.next = self.request.m.data.val().get_bits::<16>(48);
        self.m_rq_epoch.next = self.request.m.data.val().get_bits::<16>(32);
        self.m_rq_msn.next = self.request.m.data.val().get_bits::<32>(0);
        self.m_rq_len.next = self.request.m.data.val().get_bits::<13>(196);
        self.m_rq_unknown.next = self.request.m.data.val().get_bit(209);
        self.m_rq_one_sided.next = self.request.m.data.val().get_bit(210);
        self.m_rq_marked.next = self.request.m.data.val().get_bit(212);
        self.buffer.j_valid.next = self.request.m.valid.val()
            & self.request.m.ready.val()
            & self.request.m.data.val().get_bits::<13>(196).any();
        self.buffer.j_words.next =
            (self.request.m.data.val().get_bits::<13>(196) + 7).get_bits::<10>(3);
        self.buffer.j_bulk.next = self.is_bulk.val();
        self.m_pl.valid.next = self.buffer.m.valid.val() & !self.buffer.m_bulk.val();
        self.m_pl.of.next = self.buffer.m.of.val();
        self.m_bulk_pl.valid.next = self.buffer.m.valid.val() & self.buffer.m_bulk.val();
        self.m_bulk_pl.of.next = self.buffer.m.of.val();
        self.buffer.m.ready.next = self.m_pl.ready.val();
        if self.buffer.m_bulk.val() {
            self.buffer.m.ready.next = self.m_bulk_pl.ready.val();
        }

        self.acks.m.ready.next = self.m_ak.ready.val();
        self.m_ak.valid.next = self.acks.m.valid.val();
        self.m_ak.of.next.flags = self.acks.m.data.val().get_bits::<4>(0);
        self.m_ak.of.next.peer = self.acks.m.data.val().get_bits::<24>(4);
        self.m_ak.of.next.msn = self.acks.m.data.val().get_bits::<32>(28);
        self.m_ak.of.next.epoch = self.acks.m.data.val().get_bits::<16>(60);
        self.m_ak.of.next.win_id = self.acks.m.data.val().get_bits::<16>(76);
        self.m_ak.of.next.psn = self.acks.m.data.val().get_bits::<24>(92);
        self.m_ak.of.next.qpn = self.acks.m.data.val().get_bits::<24>(116);
        self.m_ak.of.next.node = self.acks.m.data.val().get_bits::<20>(140);
        self.m_ak.of.next.echo = self.acks.m.data.val().get_bit(160);
        self.m_ak.of.next.marked = self.acks.m.data.val().get_bit(166);
        self.m_ak.of.next.outcome = bit_cast::<8, 5>(self.acks.m.data.val().get_bits::<5>(161));
        if self.rst.val() {
            self.place.d.next = 1.into();
        }
    }
}
