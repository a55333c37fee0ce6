//! The headers of a frame: fields and their checks.

use crate::prelude::*;
use crate::switch::ByteSwap;
use tributary_protocol::bulk::{OPCODE_CONGESTED, OPCODES as BULK_OPCODES};
use tributary_protocol::roce::{
    BECN, BTH_ZERO, ETHERTYPE, IP_CARDS, IP_FLAGS, IP_OFFSET, IP_PROTOCOL, IP_VERSION,
    PARTITION_KEY, UDP_OFFSET, UDP_PORT,
};
use tributary_protocol::xud::{Nak, OPCODE_ACK, OPCODES, Reply};

/// A bit for each code of a negative acknowledgement.
const fn naks() -> usize {
    let (mut all, mut at) = (0, 0);
    while at < Nak::ALL.len() {
        all |= 1 << Nak::ALL[at].code();
        at += 1;
    }
    all
}

hdl_module! {
    /// Checks the IPv4 header checksum of a frame as its words pass.
    /// unequal is settled 5 clocks after word 4 and stands until 5 clocks after word 1 of the next
    /// frame.
    /// Stages: 1 half words added in pairs; 2 pairs; 3 sum over the words; 4 carries folded; 5
    /// compared.
    #[module("xud_rx_sum")]
    pub struct XudRxSum {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// A word with a part of the IPv4 header is here, a bit each: 1 to 4.
        pub s_at: Signal<In, Bits<5>>,
        /// The word, most significant byte first.
        pub s_word: Signal<In, Bits<64>>,
        /// The checksum is wrong.
        pub unequal: Signal<Out, Bit>,
        /// Stage 1.
        high: DFF<Bits<17>>,
        low: DFF<Bits<17>>,
        s1_add: DFF<Bit>,
        s1_first: DFF<Bit>,
        /// Stage 2.
        four: DFF<Bits<18>>,
        s2_add: DFF<Bit>,
        s2_first: DFF<Bit>,
        /// Stages 3, 4, 5.
        total: DFF<Bits<20>>,
        folded: DFF<Bits<17>>,
        wrong: DFF<Bit>,
    }
}

impl Logic for XudRxSum {
    #[hdl_gen]
    fn update(&mut self) {
        self.high.d.next = bit_cast::<17, 16>(self.s_word.val().get_bits::<16>(48))
            + bit_cast::<17, 16>(self.s_word.val().get_bits::<16>(32));
        self.low.d.next = bit_cast::<17, 16>(self.s_word.val().get_bits::<16>(16))
            + bit_cast::<17, 16>(self.s_word.val().get_bits::<16>(0));
        // Word 1 ends with the header's first half word, word 4 begins with its last.
        if self.s_at.val().get_bit(1) {
            self.high.d.next = 0.into();
            self.low.d.next = bit_cast::<17, 16>(self.s_word.val().get_bits::<16>(0));
        }
        if self.s_at.val().get_bit(4) {
            self.high.d.next = bit_cast::<17, 16>(self.s_word.val().get_bits::<16>(48));
            self.low.d.next = 0.into();
        }
        self.s1_add.d.next = self.s_at.val().get_bits::<4>(1).any();
        self.s1_first.d.next = self.s_at.val().get_bit(1);
        self.four.d.next =
            bit_cast::<18, 17>(self.high.q.val()) + bit_cast::<18, 17>(self.low.q.val());
        self.s2_add.d.next = self.s1_add.q.val();
        self.s2_first.d.next = self.s1_first.q.val();
        if self.s2_add.q.val() {
            self.total.d.next = self.total.q.val() + bit_cast::<20, 18>(self.four.q.val());
        }
        if self.s2_first.q.val() {
            self.total.d.next = bit_cast::<20, 18>(self.four.q.val());
        }
        self.folded.d.next = bit_cast::<17, 16>(self.total.q.val().get_bits::<16>(0))
            + bit_cast::<17, 4>(self.total.q.val().get_bits::<4>(16));
        // A second carry would leave a small number, never all ones.
        self.wrong.d.next = self.folded.q.val() != 0xffff;
        self.unequal.next = self.wrong.q.val();
    }
}

hdl_module! {
    /// Headers of a RoCEv2 frame with a datagram or of a bulk transfer: takes the fields out of words 1 to 8 and checks
    /// those that are fixed. Fields stand from the clock after their word until that word of the
    /// next frame. Flags about fixed fields, the kind and the body are settled 2 clocks after the
    /// last of words 1 to 8, bad_sum as in xud_rx_sum.
    #[module("xud_rx_header")]
    pub struct XudRxHeader {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// A word is here, a bit for each of its numbers 0 to 8.
        pub s_at: Signal<In, Bits<9>>,
        /// The word, first byte in bits 7:0.
        pub s_data: Signal<In, Bits<64>>,
        /// Source node.
        pub node: Signal<Out, Bits<20>>,
        /// Destination queue pair.
        pub qpn: Signal<Out, Bits<24>>,
        /// Packet number.
        pub psn: Signal<Out, Bits<24>>,
        /// Pad count.
        pub pad: Signal<Out, Bits<2>>,
        /// First 16 bytes of the body, most significant first.
        pub body: Signal<Out, Bits<128>>,
        /// Bytes of the frame as the IPv4 header has it.
        pub length: Signal<Out, Bits<17>>,
        /// A field of the frame's headers has a value that it never has.
        pub bad_fixed: Signal<Out, Bit>,
        /// The IPv4 header checksum is wrong.
        pub bad_sum: Signal<Out, Bit>,
        /// Opcodes of bulk transfers are known. Constant.
        pub cfg_bulk: Signal<In, Bit>,
        /// Those of congestion are, too (CL-4).
        pub cfg_marks: Signal<In, Bit>,
        /// A switch has marked the frame.
        pub marked: Signal<Out, Bit>,
        /// It says that what it answers came marked: BECN.
        pub tells: Signal<Out, Bit>,
        /// The frame is of a bulk transfer: settled when its word 7 is here.
        pub bulk: Signal<Out, Bit>,
        /// Lower half of its opcode.
        pub opcode: Signal<Out, Bits<4>>,
        /// The opcode is neither XUD's nor of a bulk transfer.
        pub foreign: Signal<Out, Bit>,
        /// The opcode is that of an acknowledgement.
        pub is_ack: Signal<Out, Bit>,
        /// The opcode is neither that of a send nor of an acknowledgement.
        pub unknown: Signal<Out, Bit>,
        /// The body is none of a request.
        pub bad_request: Signal<Out, Bit>,
        /// The AETH is none.
        pub bad_aeth: Signal<Out, Bit>,
        /// What follows the AETH is no echo.
        pub bad_echo: Signal<Out, Bit>,
        swap: ByteSwap,
        sum: XudRxSum,
        word: Signal<Local, Bits<64>>,
        /// Length fields: of IPv4; what UDP's must be; frame's.
        ip_length: DFF<Bits<16>>,
        udp_length: DFF<Bits<16>>,
        frame_length: DFF<Bits<17>>,
        from: DFF<Bits<20>>,
        ce: DFF<Bit>,
        told: DFF<Bit>,
        code: DFF<Bits<8>>,
        pads: DFF<Bits<2>>,
        to: DFF<Bits<24>>,
        number: DFF<Bits<24>>,
        text: DFF<Bits<128>>,
        /// A fixed field is wrong, by word.
        wrong: DFF<Bits<9>>,
        wrong_any: DFF<Bit>,
        version: Signal<Local, Bits<4>>,
        syndrome: Signal<Local, Bits<8>>,
        no_syndrome: Signal<Local, Bit>,
        is_bulk: Signal<Local, Bit>,
        f_bulk: DFF<Bit>,
        f_foreign: DFF<Bit>,
        f_ack: DFF<Bit>,
        f_unknown: DFF<Bit>,
        f_request: DFF<Bit>,
        f_aeth: DFF<Bit>,
        f_echo: DFF<Bit>,
        /// Fixed fields of the headers.
        ethertype: Param<{ ETHERTYPE as usize }, 16>,
        ip_version: Param<{ IP_VERSION as usize }, 8>,
        ip_flags: Param<{ IP_FLAGS as usize }, 16>,
        ip_cards: Param<{ IP_CARDS as usize }, 12>,
        ip_protocol: Param<{ IP_PROTOCOL as usize }, 8>,
        udp_port: Param<{ UDP_PORT as usize }, 16>,
        /// Bits of BTH byte 1 that are 0.
        bth_zero: Param<{ BTH_ZERO as usize }, 8>,
        partition_key: Param<{ PARTITION_KEY as usize }, 16>,
        becn: Param<{ BECN as usize }, 8>,
        /// Bytes in front of the IPv4 header.
        ip_offset: Param<IP_OFFSET, 17>,
        /// Bytes of it.
        ip_header: Param<{ UDP_OFFSET - IP_OFFSET }, 16>,
        /// Upper half of XUD's opcodes.
        xud: Param<{ *OPCODES.start() as usize >> 4 }, 4>,
        /// Upper half of those of bulk transfers, and the last lower half.
        bulk_half: Param<{ *BULK_OPCODES.start() as usize >> 4 }, 4>,
        bulk_last: Param<{ *BULK_OPCODES.end() as usize & 15 }, 4>,
        /// Lower half of that of congestion.
        congested: Param<{ OPCODE_CONGESTED as usize & 15 }, 4>,
        /// Lower half of an acknowledgement's.
        ack: Param<{ OPCODE_ACK as usize & 15 }, 4>,
        /// What acknowledgements say.
        ok_code: Param<{ Reply::Ok.syndrome() as usize }, 8>,
        rnr_code: Param<{ Reply::Rnr.syndrome() as usize }, 8>,
        /// Upper 3 bits of a negative one.
        nak: Param<{ Reply::Nak(Nak::Opcode).syndrome() as usize >> 5 }, 3>,
        /// A bit for each code in the lower 5.
        naks: Param<{ naks() }, 32>,
    }
}

impl Logic for XudRxHeader {
    #[hdl_gen]
    fn update(&mut self) {
        self.swap.s.next = self.s_data.val();
        self.word.next = self.swap.m.val();
        self.sum.s_at.next = self.s_at.val().get_bits::<5>(0);
        self.sum.s_word.next = self.word.val();

        // Ethertype, IPv4 version and header length, ECN.
        if self.s_at.val().get_bit(1) {
            self.ce.d.next = self.word.val().get_bits::<2>(0).all();
            self.wrong.d.next = bit_cast::<9, 1>(
                ((self.word.val().get_bits::<16>(16) != self.ethertype.val())
                    | (self.word.val().get_bits::<8>(8) != self.ip_version.val()))
                .into(),
            ) << 1;
        }
        // Length, flags and fragment offset, protocol.
        if self.s_at.val().get_bit(2) {
            self.ip_length.d.next = self.word.val().get_bits::<16>(48);
            self.wrong.d.next = self.wrong.q.val().replace_bit(
                2,
                (self.word.val().get_bits::<16>(16) != self.ip_flags.val())
                    | (self.word.val().get_bits::<8>(0) != self.ip_protocol.val()),
            );
        }
        self.udp_length.d.next = self.ip_length.q.val() - self.ip_header.val();
        self.frame_length.d.next =
            bit_cast::<17, 16>(self.ip_length.q.val()) + self.ip_offset.val();
        // Source address: 10, and a node.
        if self.s_at.val().get_bit(3) {
            self.from.d.next = self.word.val().get_bits::<20>(16);
            self.wrong.d.next = self
                .wrong
                .q
                .val()
                .replace_bit(3, self.word.val().get_bits::<12>(36) != self.ip_cards.val());
        }
        // UDP port and length.
        if self.s_at.val().get_bit(4) {
            self.wrong.d.next = self.wrong.q.val().replace_bit(
                4,
                (self.word.val().get_bits::<16>(16) != self.udp_port.val())
                    | (self.word.val().get_bits::<16>(0) != self.udp_length.q.val()),
            );
        }
        // BTH: opcode, flags and version, partition key.
        if self.s_at.val().get_bit(5) {
            self.code.d.next = self.word.val().get_bits::<8>(40);
            self.pads.d.next = self.word.val().get_bits::<2>(36);
            self.told.d.next = (self.word.val().get_bits::<8>(8) & self.becn.val()).any();
            self.to.d.next = bit_cast::<24, 8>(self.word.val().get_bits::<8>(0)) << 16;
            self.wrong.d.next = self.wrong.q.val().replace_bit(
                5,
                (self.word.val().get_bits::<8>(32) & self.bth_zero.val()).any()
                    | (self.word.val().get_bits::<16>(16) != self.partition_key.val()),
            );
        }
        // BTH: acknowledge request; body.
        if self.s_at.val().get_bit(6) {
            self.to.d.next =
                self.to.q.val() | bit_cast::<24, 16>(self.word.val().get_bits::<16>(48));
            self.number.d.next = self.word.val().get_bits::<24>(16);
            self.text.d.next = (bit_cast::<128, 16>(self.word.val().get_bits::<16>(0)) << 112)
                | bit_cast::<128, 112>(self.text.q.val().get_bits::<112>(0));
            self.wrong.d.next = self
                .wrong
                .q
                .val()
                .replace_bit(6, self.word.val().get_bits::<8>(40) != 0);
        }
        if self.s_at.val().get_bit(7) {
            self.text.d.next = (bit_cast::<128, 16>(self.text.q.val().get_bits::<16>(112)) << 112)
                | (bit_cast::<128, 64>(self.word.val()) << 48)
                | bit_cast::<128, 48>(self.text.q.val().get_bits::<48>(0));
        }
        if self.s_at.val().get_bit(8) {
            self.text.d.next = (bit_cast::<128, 80>(self.text.q.val().get_bits::<80>(48)) << 48)
                | bit_cast::<128, 48>(self.word.val().get_bits::<48>(16));
        }
        self.wrong_any.d.next = self.wrong.q.val().any();

        self.is_bulk.next = self.cfg_bulk.val()
            & (self.code.q.val().get_bits::<4>(4) == self.bulk_half.val())
            & ((self.code.q.val().get_bits::<4>(0) <= self.bulk_last.val())
                | (self.cfg_marks.val()
                    & (self.code.q.val().get_bits::<4>(0) == self.congested.val())));
        self.f_bulk.d.next = self.is_bulk.val();
        self.f_foreign.d.next =
            (self.code.q.val().get_bits::<4>(4) != self.xud.val()) & !self.is_bulk.val();
        self.f_ack.d.next =
            (self.code.q.val().get_bits::<4>(0) == self.ack.val()) & !self.is_bulk.val();
        self.f_unknown.d.next = (self.code.q.val().get_bits::<3>(1) != 0) & !self.is_bulk.val();
        // XUDETH: version 0 or 1, one-sided alone; flags and epoch of version 0.
        self.version.next = self.text.q.val().get_bits::<4>(68);
        self.f_request.d.next = self.version.val().get_bits::<3>(1).any()
            | (self.text.q.val().get_bit(67)
                & (!self.version.val().get_bit(0) | self.text.q.val().get_bits::<3>(64).any()))
            | (!self.version.val().get_bit(0)
                & (self.text.q.val().get_bits::<3>(64).any()
                    | self.text.q.val().get_bits::<16>(32).any()));
        // AETH: number of the BTH, syndrome with a meaning.
        self.syndrome.next = self.text.q.val().get_bits::<8>(120);
        self.no_syndrome.next = (self.syndrome.val() != self.ok_code.val())
            & (self.syndrome.val() != self.rnr_code.val())
            & ((self.syndrome.val().get_bits::<3>(5) != self.nak.val())
                | !(self.naks.val() >> self.syndrome.val().get_bits::<5>(0)).get_bit(0));
        self.f_aeth.d.next =
            self.no_syndrome.val() | (self.text.q.val().get_bits::<24>(96) != self.number.q.val());
        // Echo: version 1, one-sided alone.
        self.f_echo.d.next = (self.text.q.val().get_bits::<4>(4) != 1)
            | (self.text.q.val().get_bit(3) & self.text.q.val().get_bits::<3>(0).any());

        self.node.next = self.from.q.val();
        self.qpn.next = self.to.q.val();
        self.psn.next = self.number.q.val();
        self.pad.next = self.pads.q.val();
        self.body.next = self.text.q.val();
        self.length.next = self.frame_length.q.val();
        self.bad_fixed.next = self.wrong_any.q.val();
        self.bad_sum.next = self.sum.unequal.val();
        self.bulk.next = self.f_bulk.q.val();
        self.marked.next = self.ce.q.val();
        self.tells.next = self.told.q.val();
        self.opcode.next = self.code.q.val().get_bits::<4>(0);
        self.foreign.next = self.f_foreign.q.val();
        self.is_ack.next = self.f_ack.q.val();
        self.unknown.next = self.f_unknown.q.val();
        self.bad_request.next = self.f_request.q.val();
        self.bad_aeth.next = self.f_aeth.q.val();
        self.bad_echo.next = self.f_echo.q.val();
    }
}
