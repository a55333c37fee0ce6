//! What a frame is made of, piece by piece.

use crate::blocks::{FifoAhead, OneHotMux};
use crate::bus::{BulkDeparturesIn, PayloadIn, PayloadWord};
use crate::prelude::*;
use crate::switch::ByteSwap;
use tributary_protocol::bulk::OPCODES as BULK_OPCODES;
use tributary_protocol::red::address;
use tributary_protocol::roce::{
    BECN, BODY_OFFSET, ECN_CAPABLE, ETHERTYPE, ICRC_LEN, IP_FLAGS, IP_NET, IP_OFFSET, IP_PROTOCOL,
    IP_TTL, IP_VERSION, PARTITION_KEY, UDP_OFFSET, UDP_PORT, UDP_SOURCE,
};
use tributary_protocol::rw::wire::HEADER_LEN;
use tributary_protocol::xud::wire::{ACK_LEN, XUDETH_LEN};
use tributary_protocol::xud::{OPCODE_ACK, OPCODE_SEND};

/// Sum of what never changes in the half words of the IPv4 header.
const HEADER_SUM: usize = ((IP_VERSION as usize) << 8)
    + IP_FLAGS as usize
    + ((IP_TTL as usize) << 8)
    + IP_PROTOCOL as usize
    + 2 * ((IP_NET as usize) << 8);

/// Where the frame under way is.
#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
pub enum Part {
    /// There is none.
    Idle,
    /// Headers, a word a clock.
    Header,
    /// Bytes of the record, in front of the payload.
    Head,
    /// Payload.
    Payload,
    /// Pad and place of the ICRC.
    End,
    /// The frame is complete; the next one may be taken.
    Flush,
}

hdl_module! {
    /// Takes requests, frames of bulk transfers and acknowledgements, an acknowledgement first, and gives the bytes of their
    /// frames as items of 0 to 8 bytes, one a clock: 9 of headers (8 of an acknowledgement without
    /// echo and of a bulk frame), those of the head, those of the payload, pad and zeros for the ICRC, and one that
    /// flushes. Zeros stand for the ICRC. Never stalls but for payload that has not come.
    /// With turn a bulk frame is taken next, otherwise a request, and neither while stop is up. Of a bulk frame whose payload
    /// fails nothing is sent or said. A request is taken before its payload comes, and its headers and head are made. If an
    /// acknowledgement comes before the payload, that frame is given up, and made again later.
    /// Latency: 4 clocks from taking a request or an acknowledgement to its first item; from the
    /// last word of payload 1 to m_sure, 2 to its item.
    /// Stages: 1 part; 2 chosen; 3 item. Beside it the IPv4 checksum: 1 record; 2 length; 3 to 5
    /// sum.
    /// While a request waits for its payload its record stays in registers of its own, and cfg_node counts as it is
    /// when the headers are made.
    #[module("xud_tx_items")]
    pub struct XudTxItems {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset: forgets what is under way.
        pub rst: Signal<In, Bit>,
        /// A frame may begin.
        pub room: Signal<In, Bit>,
        /// Node number of this card.
        pub cfg_node: Signal<In, Bits<20>>,
        /// Switches may mark frames (CL-4): ECT(0); counts as it is when a frame begins.
        pub cfg_marks: Signal<In, Bit>,
        /// A request.
        pub s_sd_valid: Signal<In, Bit>,
        /// It is taken.
        pub s_sd_ready: Signal<Out, Bit>,
        /// Destination node.
        pub s_sd_node: Signal<In, Bits<20>>,
        /// Destination queue pair.
        pub s_sd_peer: Signal<In, Bits<24>>,
        /// Packet number.
        pub s_sd_psn: Signal<In, Bits<24>>,
        /// XUDETH, most significant byte first.
        pub s_sd_body: Signal<In, Bits<128>>,
        /// Bytes in front of the payload, first one in bits 7:0.
        pub s_sd_head: Signal<In, Bits<128>>,
        /// How many, 0 to 16.
        pub s_sd_head_len: Signal<In, Bits<5>>,
        /// Bytes of payload.
        pub s_sd_len: Signal<In, Bits<13>>,
        /// Payload.
        pub s_pl: PayloadIn,
        /// A frame of a bulk transfer.
        pub s_bulk: BulkDeparturesIn,
        /// What follows the first 8 bytes of its body.
        pub s_bulk_pl: PayloadIn,
        /// Of both the bulk frame is next.
        pub turn: Signal<In, Bit>,
        /// Neither is taken.
        pub stop: Signal<In, Bit>,
        /// A request was not sent.
        pub m_fail_valid: Signal<Out, Bit>,
        /// That is taken.
        pub m_fail_ready: Signal<In, Bit>,
        /// Its source queue pair.
        pub m_fail_qpn: Signal<Out, Bits<24>>,
        /// Its packet number.
        pub m_fail_psn: Signal<Out, Bits<24>>,
        /// An acknowledgement.
        pub s_ak_valid: Signal<In, Bit>,
        /// It is taken.
        pub s_ak_ready: Signal<Out, Bit>,
        /// Destination node.
        pub s_ak_node: Signal<In, Bits<20>>,
        /// Destination queue pair.
        pub s_ak_peer: Signal<In, Bits<24>>,
        /// Packet number of the request.
        pub s_ak_psn: Signal<In, Bits<24>>,
        /// Its body has 16 bytes, not 4.
        pub s_ak_echo: Signal<In, Bit>,
        /// The request came marked: BECN.
        pub s_ak_marked: Signal<In, Bit>,
        /// Body, most significant byte first.
        pub s_ak_body: Signal<In, Bits<128>>,
        /// An item.
        pub m_valid: Signal<Out, Bit>,
        /// Its bytes, first one in bits 7:0.
        pub m_data: Signal<Out, Bits<64>>,
        /// How many count, 0 to 8.
        pub m_bytes: Signal<Out, Bits<4>>,
        /// The frame ends here.
        pub m_flush: Signal<Out, Bit>,
        /// With flush: bit 0 the frame is an acknowledgement, bit 1 it is not to be sent.
        pub m_kind: Signal<Out, Bits<2>>,
        /// Nothing is missing of the frame under way, and it is sent: pulse, 3 clocks before its m_flush.
        pub m_sure: Signal<Out, Bit>,
        /// With it: its words.
        pub m_words: Signal<Out, Bits<10>>,
        /// Its last word has 2 bytes and not 6.
        pub m_two: Signal<Out, Bit>,
        /// It is an acknowledgement.
        pub m_ack: Signal<Out, Bit>,
        /// It is of a bulk transfer.
        pub m_bulk: Signal<Out, Bit>,
        part: DFF<Part>,
        /// The word of headers that is due, a bit each.
        step: DFF<Bits<9>>,
        /// The second half of the head is due.
        second: DFF<Bit>,
        /// The record of the frame under way is not needed any more.
        between: Signal<Local, Bit>,
        open: Signal<Local, Bit>,
        take_ack: Signal<Local, Bit>,
        take_send: Signal<Local, Bit>,
        /// An acknowledgement that waits.
        #[reset] a_valid: DFF<Bit>,
        a_node: DFF<Bits<20>>,
        a_peer: DFF<Bits<24>>,
        a_psn: DFF<Bits<24>>,
        a_echo: DFF<Bit>,
        a_marked: DFF<Bit>,
        a_body: DFF<Bits<128>>,
        /// A request that waits, or whose payload does.
        #[reset] p_valid: DFF<Bit>,
        p_node: DFF<Bits<20>>,
        p_peer: DFF<Bits<24>>,
        p_psn: DFF<Bits<24>>,
        p_body: DFF<Bits<128>>,
        p_head: DFF<Bits<128>>,
        p_head_len: DFF<Bits<5>>,
        p_len: DFF<Bits<13>>,
        p_bulk: DFF<Bit>,
        p_opcode: DFF<Bits<8>>,
        /// The record of the frame under way.
        ack: DFF<Bit>,
        short: DFF<Bit>,
        told: DFF<Bit>,
        bulk: DFF<Bit>,
        code: DFF<Bits<8>>,
        node: DFF<Bits<20>>,
        peer: DFF<Bits<24>>,
        psn: DFF<Bits<24>>,
        body: DFF<Bits<128>>,
        head: DFF<Bits<128>>,
        head_len: DFF<Bits<5>>,
        payload: DFF<Bit>,
        /// Its payload has begun to come.
        begun: DFF<Bit>,
        /// It is not sent.
        dropped: DFF<Bit>,
        /// Pieces of 4 bytes of head and payload, rounded up.
        pieces: DFF<Bits<11>>,
        fails: FifoAhead<48, 2>,
        /// It has room for the failures of two more requests.
        #[reset] fails_room: DFF<Bit>,
        /// A failure on its way there.
        #[reset] failed: DFF<Bit>,
        failure: DFF<Bits<48>>,
        /// Bytes of head and payload; pad; lengths of IPv4 and UDP.
        total: DFF<Bits<13>>,
        pad: DFF<Bits<2>>,
        ip_length: DFF<Bits<16>>,
        udp_length: DFF<Bits<16>>,
        /// The IPv4 checksum: lower halves of both nodes, upper ones and constants, these and length, sum, carries folded.
        sum_nodes: DFF<Bits<17>>,
        sum_upper: DFF<Bits<16>>,
        sum_length: DFF<Bits<16>>,
        sum: DFF<Bits<18>>,
        folded: DFF<Bits<17>>,
        checksum: Signal<Local, Bits<16>>,
        /// After head and payload, after the headers.
        behind_head: Signal<Local, Part>,
        behind_header: Signal<Local, Part>,
        /// Stage 2: what is due: header words, halves of the head, payload.
        #[reset] s2_valid: DFF<Bit>,
        s2_choice: DFF<Bits<12>>,
        s2_data: DFF<Bits<64>>,
        /// A word of the payload that is due.
        pl_valid: Signal<Local, Bit>,
        pl: Signal<Local, PayloadWord>,
        s2_bytes: DFF<Bits<4>>,
        s2_flush: DFF<Bit>,
        s2_kind: DFF<Bits<2>>,
        choice: Signal<Local, Bits<12>>,
        bytes: Signal<Local, Bits<4>>,
        mux: OneHotMux<64, 12>,
        /// Bits 19:16 of the nodes.
        node_upper: Signal<Local, Bits<4>>,
        own_upper: Signal<Local, Bits<4>>,
        /// Fields with their first byte lowest: bits 15:0 of the nodes.
        node_first: Signal<Local, Bits<16>>,
        own_first: Signal<Local, Bits<16>>,
        /// Bytes 2 to 4 of the MAC addresses, the first one lowest; byte 5 is 0.
        node_mac: Signal<Local, Bits<24>>,
        own_mac: Signal<Local, Bits<24>>,
        middle: ByteSwap,
        end: ByteSwap,
        /// Stage 3.
        #[reset] s3_valid: DFF<Bit>,
        s3_data: DFF<Bits<64>>,
        s3_bytes: DFF<Bits<4>>,
        s3_flush: DFF<Bit>,
        s3_kind: DFF<Bits<2>>,
        /// Fixed fields of the headers; those of two bytes have their first byte lowest.
        mac: Param<{ address::MAC.swap_bytes() as usize }, 16>,
        ethertype: Param<{ ETHERTYPE.swap_bytes() as usize }, 16>,
        ip_version: Param<{ IP_VERSION as usize }, 8>,
        ip_flags: Param<{ IP_FLAGS.swap_bytes() as usize }, 16>,
        ip_ttl: Param<{ IP_TTL as usize }, 8>,
        ip_protocol: Param<{ IP_PROTOCOL as usize }, 8>,
        ip_net: Param<{ IP_NET as usize }, 8>,
        udp_source: Param<{ UDP_SOURCE.swap_bytes() as usize }, 16>,
        udp_port: Param<{ UDP_PORT.swap_bytes() as usize }, 16>,
        opcode: Param<{ OPCODE_SEND as usize }, 8>,
        opcode_ack: Param<{ OPCODE_ACK as usize }, 8>,
        opcode_bulk: Param<{ *BULK_OPCODES.start() as usize }, 8>,
        partition_key: Param<{ PARTITION_KEY.swap_bytes() as usize }, 16>,
        /// Their part of the IPv4 checksum.
        header_sum: Param<HEADER_SUM, 16>,
        /// With the mark that it may be marked.
        marks_sum: Param<{ HEADER_SUM + ECN_CAPABLE as usize }, 16>,
        ecn_capable: Param<{ ECN_CAPABLE as usize }, 8>,
        becn: Param<{ BECN as usize }, 8>,
        ecn: Signal<Local, Bits<8>>,
        fixed_sum: Signal<Local, Bits<16>>,
        tos: Signal<Local, Bits<8>>,
        ect: DFF<Bit>,
        /// Bytes of the IPv4 header.
        ip_header: Param<{ UDP_OFFSET - IP_OFFSET }, 16>,
        /// From it on, of an acknowledgement without echo.
        short_length: Param<{ BODY_OFFSET - IP_OFFSET + ACK_LEN[0] + ICRC_LEN }, 16>,
        /// Pieces of 4 bytes from there on that are not payload: of a bulk frame, of others.
        bulk_pieces: Param<{ (BODY_OFFSET - IP_OFFSET + HEADER_LEN + ICRC_LEN) / 4 }, 11>,
        other_pieces: Param<{ (BODY_OFFSET - IP_OFFSET + XUDETH_LEN + ICRC_LEN) / 4 }, 11>,
        around: Signal<Local, Bits<11>>,
    }
}

impl Logic for XudTxItems {
    #[hdl_gen]
    fn update(&mut self) {
        // Records in. A request waits until its payload begins to come, its headers made or not.
        // Registers follow what is offered until it is a record: so that few signals enable many.
        self.s_sd_ready.next = !self.p_valid.q.val() & !self.turn.val() & !self.stop.val();
        self.s_bulk.ready.next = !self.p_valid.q.val() & self.turn.val() & !self.stop.val();
        if (self.s_sd_valid.val() & self.s_sd_ready.val())
            | (self.s_bulk.valid.val() & self.s_bulk.ready.val())
        {
            self.p_valid.d.next = true;
        }
        if !self.p_valid.q.val() {
            self.p_node.d.next = self.s_sd_node.val();
            self.p_peer.d.next = self.s_sd_peer.val();
            self.p_psn.d.next = self.s_sd_psn.val();
            self.p_body.d.next = self.s_sd_body.val();
            self.p_head.d.next = self.s_sd_head.val();
            self.p_head_len.d.next = self.s_sd_head_len.val();
            self.p_len.d.next = self.s_sd_len.val();
            self.p_bulk.d.next = self.turn.val();
            self.p_opcode.d.next = self.opcode.val();
            if self.turn.val() {
                self.p_node.d.next = self.s_bulk.of.val().node;
                self.p_peer.d.next = self.s_bulk.of.val().dest;
                self.p_psn.d.next = self.s_bulk.of.val().psn;
                self.p_body.d.next = bit_cast::<128, 64>(self.s_bulk.of.val().head) << 64;
                self.p_head_len.d.next = 0.into();
                self.p_len.d.next = self.s_bulk.of.val().len;
                self.p_opcode.d.next =
                    self.opcode_bulk.val() | bit_cast::<8, 4>(self.s_bulk.of.val().opcode);
            }
        }
        self.between.next = (self.part.q.val() == Part::Idle) | (self.part.q.val() == Part::Flush);
        self.open.next = self.between.val() & self.room.val();
        self.s_ak_ready.next = !self.a_valid.q.val();
        self.take_ack.next = self.open.val() & self.a_valid.q.val();
        if self.take_ack.val() {
            self.a_valid.d.next = false;
        }
        if self.s_ak_valid.val() & !self.a_valid.q.val() {
            self.a_valid.d.next = true;
        }
        if !self.a_valid.q.val() {
            self.a_node.d.next = self.s_ak_node.val();
            self.a_peer.d.next = self.s_ak_peer.val();
            self.a_psn.d.next = self.s_ak_psn.val();
            self.a_echo.d.next = self.s_ak_echo.val();
            self.a_marked.d.next = self.s_ak_marked.val();
            self.a_body.d.next = self.s_ak_body.val();
        }
        self.take_send.next = self.open.val()
            & !self.a_valid.q.val()
            & self.p_valid.q.val()
            & self.fails_room.q.val();
        self.fails_room.d.next = !self.fails.count.val().get_bits::<2>(1).any();
        if self.take_send.val() & !self.p_len.q.val().any() {
            self.p_valid.d.next = false;
        }
        if self.between.val() {
            self.ect.d.next = self.cfg_marks.val();
            self.ack.d.next = self.a_valid.q.val();
            self.short.d.next = self.a_valid.q.val() & !self.a_echo.q.val();
            self.told.d.next = self.a_valid.q.val() & self.a_marked.q.val();
            self.bulk.d.next = self.p_bulk.q.val();
            self.code.d.next = self.p_opcode.q.val();
            self.node.d.next = self.p_node.q.val();
            self.peer.d.next = self.p_peer.q.val();
            self.psn.d.next = self.p_psn.q.val();
            self.body.d.next = self.p_body.q.val();
            self.head.d.next = self.p_head.q.val();
            self.head_len.d.next = self.p_head_len.q.val();
            self.payload.d.next = self.p_len.q.val().any();
            self.total.d.next = self.p_len.q.val() + bit_cast::<13, 5>(self.p_head_len.q.val());
            self.begun.d.next = false;
            self.dropped.d.next = false;
            if self.a_valid.q.val() {
                self.bulk.d.next = false;
                self.code.d.next = self.opcode_ack.val();
                self.node.d.next = self.a_node.q.val();
                self.peer.d.next = self.a_peer.q.val();
                self.psn.d.next = self.a_psn.q.val();
                self.body.d.next = self.a_body.q.val();
                self.head_len.d.next = 0.into();
                self.payload.d.next = false;
                self.total.d.next = 0.into();
            }
        }

        // Lengths, and the checksum: length, nodes, and what never changes.
        self.pad.d.next = bits::<2>(0) - self.total.q.val().get_bits::<2>(0);
        self.pieces.d.next = (self.total.q.val() + 3).get_bits::<11>(2);
        self.around.next = self.other_pieces.val();
        if self.bulk.q.val() {
            self.around.next = self.bulk_pieces.val();
        }
        self.ip_length.d.next =
            bit_cast::<16, 11>((self.total.q.val() + 3).get_bits::<11>(2) + self.around.val()) << 2;
        if self.short.q.val() {
            self.ip_length.d.next = self.short_length.val();
        }
        self.udp_length.d.next = self.ip_length.q.val() - self.ip_header.val();
        self.node_upper.next = self.node.q.val().get_bits::<4>(16);
        self.own_upper.next = self.cfg_node.val().get_bits::<4>(16);
        self.sum_nodes.d.next = bit_cast::<17, 20>(self.node.q.val() & 0xffff)
            + bit_cast::<17, 20>(self.cfg_node.val() & 0xffff);
        self.fixed_sum.next = self.header_sum.val();
        self.tos.next = 0.into();
        if self.ect.q.val() {
            self.fixed_sum.next = self.marks_sum.val();
            self.tos.next = self.ecn_capable.val();
        }
        self.sum_upper.d.next = bit_cast::<16, 4>(self.node_upper.val())
            + bit_cast::<16, 4>(self.own_upper.val())
            + self.fixed_sum.val();
        self.sum_length.d.next = self.ip_length.q.val() + self.sum_upper.q.val();
        self.sum.d.next = bit_cast::<18, 17>(self.sum_nodes.q.val())
            + bit_cast::<18, 16>(self.sum_length.q.val());
        self.folded.d.next = bit_cast::<17, 16>(self.sum.q.val().get_bits::<16>(0))
            + bit_cast::<17, 2>(self.sum.q.val().get_bits::<2>(16));
        self.checksum.next = !(self.folded.q.val().get_bits::<16>(0)
            + bit_cast::<16, 1>(self.folded.q.val().get_bits::<1>(16)));

        // Stage 1: which part is due.
        self.behind_head.next = Part::End;
        if self.payload.q.val() {
            self.behind_head.next = Part::Payload;
        }
        self.behind_header.next = self.behind_head.val();
        if self.head_len.q.val().any() {
            self.behind_header.next = Part::Head;
        }
        self.choice.next = 0.into();
        self.bytes.next = 8.into();
        self.s2_valid.d.next = self.part.q.val() != Part::Idle;
        self.s_pl.ready.next = (self.part.q.val() == Part::Payload) & !self.bulk.q.val();
        self.s_bulk_pl.ready.next = (self.part.q.val() == Part::Payload) & self.bulk.q.val();
        self.pl_valid.next = self.s_pl.valid.val();
        self.pl.next = self.s_pl.of.val();
        if self.bulk.q.val() {
            self.pl_valid.next = self.s_bulk_pl.valid.val();
            self.pl.next = self.s_bulk_pl.of.val();
        }
        self.failed.d.next = false;
        self.fails.s.valid.next = self.failed.q.val();
        self.fails.s.data.next = self.failure.q.val();
        self.failure.d.next = bit_cast::<48, 24>(self.psn.q.val())
            | (bit_cast::<48, 24>(self.body.q.val().get_bits::<24>(72)) << 24);
        match self.part.q.val() {
            Part::Idle => {}
            Part::Header => {
                self.choice.next = bit_cast::<12, 9>(self.step.q.val());
                self.step.d.next = self.step.q.val() << 1;
                if self.step.q.val().get_bit(7) & self.short.q.val() {
                    self.bytes.next = 2.into();
                    self.part.d.next = Part::End;
                }
                if self.step.q.val().get_bit(7) & self.bulk.q.val() {
                    self.bytes.next = 6.into();
                    self.part.d.next = self.behind_header.val();
                }
                if self.step.q.val().get_bit(8) {
                    self.bytes.next = 6.into();
                    self.part.d.next = self.behind_header.val();
                }
            }
            Part::Head => {
                self.choice.next = bits::<12>(1) << 9;
                self.part.d.next = self.behind_head.val();
                if self.second.q.val() {
                    self.choice.next = bits::<12>(1) << 10;
                    self.bytes.next = (self.head_len.q.val() - 8).get_bits::<4>(0);
                } else if self.head_len.q.val() > 8 {
                    self.part.d.next = Part::Head;
                } else {
                    self.bytes.next = self.head_len.q.val().get_bits::<4>(0);
                }
                self.second.d.next = true;
            }
            Part::Payload => {
                self.choice.next = bits::<12>(1) << 11;
                self.bytes.next = bit_cast::<4, 3>(self.pl.val().bytes) + 1;
                self.s2_valid.d.next = self.pl_valid.val();
                if self.pl_valid.val() {
                    self.begun.d.next = true;
                    if !self.begun.q.val() {
                        self.p_valid.d.next = false;
                    }
                    if self.pl.val().last {
                        self.part.d.next = Part::End;
                        self.dropped.d.next = self.pl.val().error;
                        self.failed.d.next = self.pl.val().error & !self.bulk.q.val();
                    }
                } else if !self.begun.q.val() & self.a_valid.q.val() & self.room.val() {
                    self.dropped.d.next = true;
                    self.part.d.next = Part::Flush;
                }
            }
            Part::End => {
                self.bytes.next = bit_cast::<4, 2>(self.pad.q.val()) + 4;
                self.part.d.next = Part::Flush;
            }
            Part::Flush => {
                self.bytes.next = 0.into();
                self.part.d.next = Part::Idle;
            }
        }
        if self.take_send.val() | self.take_ack.val() {
            self.part.d.next = Part::Header;
            self.step.d.next = 1.into();
            self.second.d.next = false;
        }
        self.s2_choice.d.next = self.choice.val();
        self.s2_data.d.next = self.pl.val().data;
        self.s2_bytes.d.next = self.bytes.val();
        self.s2_flush.d.next = self.part.q.val() == Part::Flush;
        self.s2_kind.d.next = bit_cast::<2, 1>(self.ack.q.val().into())
            | (bit_cast::<2, 1>(self.dropped.q.val().into()) << 1);
        // 70 bytes of headers and 4 of the ICRC, 8 less of a bulk frame; an acknowledgement without echo has 62 in all.
        self.m_sure.next = (self.part.q.val() == Part::End) & !self.dropped.q.val();
        self.m_words.next = self.pieces.q.val().get_bits::<10>(1) + 10;
        self.m_two.next = !self.pieces.q.val().get_bit(0);
        if self.bulk.q.val() {
            self.m_words.next = self.pieces.q.val().get_bits::<10>(1) + 9;
        }
        if self.short.q.val() {
            self.m_words.next = 8.into();
            self.m_two.next = false;
        }
        self.m_ack.next = self.ack.q.val();
        self.m_bulk.next = self.bulk.q.val();
        self.fails.m.ready.next = self.m_fail_ready.val();
        self.m_fail_valid.next = self.fails.m.valid.val();
        self.m_fail_psn.next = self.fails.m.data.val().get_bits::<24>(0);
        self.m_fail_qpn.next = self.fails.m.data.val().get_bits::<24>(24);

        // Stage 2: the words of the headers, first byte in bits 7:0.
        self.node_first.next = bit_cast::<16, 8>(self.node.q.val().get_bits::<8>(8))
            | (bit_cast::<16, 8>(self.node.q.val().get_bits::<8>(0)) << 8);
        self.own_first.next = bit_cast::<16, 8>(self.cfg_node.val().get_bits::<8>(8))
            | (bit_cast::<16, 8>(self.cfg_node.val().get_bits::<8>(0)) << 8);
        // 02:00 and the fabric address: node, 12 bits of 0.
        self.node_mac.next = bit_cast::<24, 8>(self.node.q.val().get_bits::<8>(12))
            | (bit_cast::<24, 8>(self.node.q.val().get_bits::<8>(4)) << 8)
            | (bit_cast::<24, 4>(self.node.q.val().get_bits::<4>(0)) << 20);
        self.own_mac.next = bit_cast::<24, 8>(self.cfg_node.val().get_bits::<8>(12))
            | (bit_cast::<24, 8>(self.cfg_node.val().get_bits::<8>(4)) << 8)
            | (bit_cast::<24, 4>(self.cfg_node.val().get_bits::<4>(0)) << 20);
        // MACs.
        self.mux.s[0].next = (bit_cast::<64, 24>(self.node_mac.val()) << 16)
            | (bit_cast::<64, 16>(self.mac.val()) << 48)
            | bit_cast::<64, 16>(self.mac.val());
        // MAC, ethertype, IPv4 version and header length, ECN.
        self.mux.s[1].next = bit_cast::<64, 24>(self.own_mac.val())
            | (bit_cast::<64, 16>(self.ethertype.val()) << 32)
            | (bit_cast::<64, 8>(self.ip_version.val()) << 48)
            | (bit_cast::<64, 8>(self.tos.val()) << 56);
        // Length, don't fragment, time to live 64, protocol 17.
        self.mux.s[2].next = bit_cast::<64, 8>(self.ip_length.q.val().get_bits::<8>(8))
            | (bit_cast::<64, 8>(self.ip_length.q.val().get_bits::<8>(0)) << 8)
            | (bit_cast::<64, 16>(self.ip_flags.val()) << 32)
            | (bit_cast::<64, 8>(self.ip_ttl.val()) << 48)
            | (bit_cast::<64, 8>(self.ip_protocol.val()) << 56);
        // Checksum, source address, half of the destination address.
        self.mux.s[3].next = bit_cast::<64, 8>(self.checksum.val().get_bits::<8>(8))
            | (bit_cast::<64, 8>(self.checksum.val().get_bits::<8>(0)) << 8)
            | (bit_cast::<64, 8>(self.ip_net.val()) << 16)
            | (bit_cast::<64, 4>(self.own_upper.val()) << 24)
            | (bit_cast::<64, 16>(self.own_first.val()) << 32)
            | (bit_cast::<64, 8>(self.ip_net.val()) << 48)
            | (bit_cast::<64, 4>(self.node_upper.val()) << 56);
        // The other half, UDP ports (source: 14 bits of the node), length.
        self.mux.s[4].next = bit_cast::<64, 16>(self.node_first.val())
            | (bit_cast::<64, 16>(self.own_first.val() | self.udp_source.val()) << 16)
            | (bit_cast::<64, 16>(self.udp_port.val()) << 32)
            | (bit_cast::<64, 8>(self.udp_length.q.val().get_bits::<8>(8)) << 48)
            | (bit_cast::<64, 8>(self.udp_length.q.val().get_bits::<8>(0)) << 56);
        // BTH: opcode, pad count, partition key, BECN, queue pair.
        self.ecn.next = 0.into();
        if self.told.q.val() {
            self.ecn.next = self.becn.val();
        }
        self.mux.s[5].next = (bit_cast::<64, 8>(self.code.q.val()) << 16)
            | (bit_cast::<64, 2>(self.pad.q.val()) << 28)
            | (bit_cast::<64, 16>(self.partition_key.val()) << 32)
            | (bit_cast::<64, 8>(self.ecn.val()) << 48)
            | (bit_cast::<64, 8>(self.peer.q.val().get_bits::<8>(16)) << 56);
        // Queue pair, packet number, body.
        self.mux.s[6].next = bit_cast::<64, 8>(self.peer.q.val().get_bits::<8>(8))
            | (bit_cast::<64, 8>(self.peer.q.val().get_bits::<8>(0)) << 8)
            | (bit_cast::<64, 8>(self.psn.q.val().get_bits::<8>(16)) << 24)
            | (bit_cast::<64, 8>(self.psn.q.val().get_bits::<8>(8)) << 32)
            | (bit_cast::<64, 8>(self.psn.q.val().get_bits::<8>(0)) << 40)
            | (bit_cast::<64, 8>(self.body.q.val().get_bits::<8>(120)) << 48)
            | (bit_cast::<64, 8>(self.body.q.val().get_bits::<8>(112)) << 56);
        self.middle.s.next = self.body.q.val().get_bits::<64>(48);
        self.end.s.next = bit_cast::<64, 48>(self.body.q.val().get_bits::<48>(0)) << 16;
        self.mux.s[7].next = self.middle.m.val();
        self.mux.s[8].next = self.end.m.val();
        self.mux.s[9].next = self.head.q.val().get_bits::<64>(0);
        self.mux.s[10].next = self.head.q.val().get_bits::<64>(64);
        self.mux.s[11].next = self.s2_data.q.val();
        self.mux.sel.next = self.s2_choice.q.val();

        // Stage 3.
        self.s3_valid.d.next = self.s2_valid.q.val();
        self.s3_data.d.next = self.mux.m.val();
        self.s3_bytes.d.next = self.s2_bytes.q.val();
        self.s3_flush.d.next = self.s2_flush.q.val();
        self.s3_kind.d.next = self.s2_kind.q.val();
        self.m_valid.next = self.s3_valid.q.val();
        self.m_data.next = self.s3_data.q.val();
        self.m_bytes.next = self.s3_bytes.q.val();
        self.m_flush.next = self.s3_flush.q.val();
        self.m_kind.next = self.s3_kind.q.val();
        if self.rst.val() {
            self.part.d.next = Part::Idle;
            self.step.d.next = 1.into();
        }
    }
}
