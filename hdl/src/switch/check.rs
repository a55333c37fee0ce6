//! Checks of the header of a reduction frame.

use crate::prelude::*;
use tributary_protocol::red::{Op, wire};

/// A bit for each operation, at the place of its code.
pub const fn ops() -> usize {
    let (mut all, mut at) = (0, 0);
    while at < Op::ALL.len() {
        all |= 1 << Op::ALL[at].code();
        at += 1;
    }
    all
}

hdl_module! {
    /// Checks the header of a reduction frame as its words pass, one a clock.
    /// malformed is settled 3 clocks after word 7 and 6 clocks after word 4 (checksum), and
    /// stands until word 2 of the next frame; means nothing for other frames. no_count and contributes
    /// are settled 2 clocks after word 7 and stand until word 7 of the next frame. brief is known with word 11, in the
    /// same clock.
    /// Stages: 1 word registered; 2 fields compared, half words added in pairs; 3 a field is
    /// wrong, pairs added; 4 frame's sum, destination wrong; 5 carries folded; 6 sum compared.
    #[module("red_check")]
    pub struct RedCheck {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// A word.
        pub s_valid: Signal<In, Bit>,
        /// Its number in the frame.
        pub s_number: Signal<In, Bits<4>>,
        /// The word, moved by the two bytes of the Ethernet header; first byte in bits 7:0.
        pub s_word: Signal<In, Bits<64>>,
        /// Address in the destination MAC.
        pub address: Signal<In, Bits<32>>,
        /// The header is malformed.
        pub malformed: Signal<Out, Bit>,
        /// It counts no contribution.
        pub no_count: Signal<Out, Bit>,
        /// It is a contribution: it does not arm, and its opcode is 0.
        pub contributes: Signal<Out, Bit>,
        /// With word 11: it contributes, words 9 to 11 are zero, the result code is below 8 and the operation is not REPSUM.
        pub brief: Signal<Out, Bit>,
        /// Stage 1: the word, most significant byte first, and its number, one-hot from 2 on.
        word: DFF<Bits<64>>,
        is_2: DFF<Bit>,
        is_3: DFF<Bit>,
        is_4: DFF<Bit>,
        was_4: DFF<Bit>,
        is_5: DFF<Bit>,
        is_6: DFF<Bit>,
        is_7: DFF<Bit>,
        swapped: ByteSwap,
        /// Stage 2: a field is wrong, by word.
        wrong_2: DFF<Bit>,
        wrong_3: DFF<Bit>,
        /// Of word 4, a quarter of the destination each; the type; known one clock later.
        wrong_to: DFF<Bits<4>>,
        wrong_type: DFF<Bit>,
        wrong_4: DFF<Bit>,
        wrong_5: DFF<Bit>,
        wrong_6: DFF<Bit>,
        wrong_7: DFF<Bit>,
        differs: Signal<Local, Bits<32>>,
        op: Signal<Local, Bits<6>>,
        op_known: Signal<Local, Bit>,
        zero: DFF<Bit>,
        /// Its opcode is 0; it does not arm either.
        opcode_0: DFF<Bit>,
        gives: DFF<Bit>,
        /// Its result code is below 8, its operation not REPSUM.
        plain: DFF<Bit>,
        /// The word is zero, and all since word 8 before it were.
        nil: Signal<Local, Bit>,
        nils: DFF<Bit>,
        /// Stage 3.
        bad: DFF<Bit>,
        /// Stage 2: sums of half words.
        pair_high: DFF<Bits<17>>,
        pair_low: DFF<Bits<17>>,
        add_2: DFF<Bit>,
        first_2: DFF<Bit>,
        four: DFF<Bits<18>>,
        add_3: DFF<Bit>,
        first_3: DFF<Bit>,
        /// Stages 4, 5, 6.
        total: DFF<Bits<20>>,
        folded: DFF<Bits<17>>,
        unequal: DFF<Bit>,
        /// A bit for each operation.
        ops: Param<{ ops() }, 64>,
        /// Fixed fields of the headers.
        version: Param<{ wire::VERSION as usize }, 8>,
        length: Param<{ wire::LENGTH as usize }, 16>,
        protocol: Param<{ wire::PROTOCOL as usize }, 8>,
        kind: Param<{ wire::TYPE as usize }, 3>,
        request_len: Param<{ wire::REQUEST_LEN as usize }, 12>,
        repsum: Param<{ Op::FltRepsum.code() as usize }, 6>,
    }
}

impl Logic for RedCheck {
    #[hdl_gen]
    fn update(&mut self) {
        // Stage 1.
        self.swapped.s.next = self.s_word.val();
        self.word.d.next = self.swapped.m.val();
        self.is_2.d.next = self.s_valid.val() & (self.s_number.val() == 2);
        self.is_3.d.next = self.s_valid.val() & (self.s_number.val() == 3);
        self.is_4.d.next = self.s_valid.val() & (self.s_number.val() == 4);
        self.is_5.d.next = self.s_valid.val() & (self.s_number.val() == 5);
        self.is_6.d.next = self.s_valid.val() & (self.s_number.val() == 6);
        self.is_7.d.next = self.s_valid.val() & (self.s_number.val() == 7);

        // Stage 2: version and length, protocol, destination and type, length and pad, pad, operation.
        self.op.next = self.word.q.val().get_bits::<6>(11);
        self.op_known.next = (self.ops.val() >> self.op.val()).get_bit(0);
        self.wrong_2.d.next = self.is_2.q.val()
            & ((self.word.q.val().get_bits::<8>(56) != self.version.val())
                | (self.word.q.val().get_bits::<16>(32) != self.length.val())
                | (self.word.q.val().get_bits::<2>(14) != 0));
        self.wrong_3.d.next =
            self.is_3.q.val() & (self.word.q.val().get_bits::<8>(48) != self.protocol.val());
        self.differs.next = self.word.q.val().get_bits::<32>(32) ^ self.address.val();
        self.wrong_to.d.next = bit_cast::<4, 1>(self.differs.val().get_bits::<8>(0).any().into())
            | (bit_cast::<4, 1>(self.differs.val().get_bits::<8>(8).any().into()) << 1)
            | (bit_cast::<4, 1>(self.differs.val().get_bits::<8>(16).any().into()) << 2)
            | (bit_cast::<4, 1>(self.differs.val().get_bits::<8>(24).any().into()) << 3);
        self.wrong_type.d.next = self.word.q.val().get_bits::<3>(28) != self.kind.val();
        self.was_4.d.next = self.is_4.q.val();
        self.wrong_4.d.next =
            self.was_4.q.val() & (self.wrong_to.q.val().any() | self.wrong_type.q.val());
        self.wrong_5.d.next = self.is_5.q.val()
            & ((self.word.q.val().get_bits::<3>(21) != 0)
                | (self.word.q.val().get_bits::<12>(8) != self.request_len.val())
                | self.word.q.val().get_bits::<8>(0).any());
        self.wrong_6.d.next = self.is_6.q.val() & self.word.q.val().get_bits::<32>(32).any();
        self.wrong_7.d.next = self.is_7.q.val() & !self.op_known.val();
        self.bad.d.next = (self.bad.q.val() & !self.first_2.q.val())
            | self.wrong_2.q.val()
            | self.wrong_3.q.val()
            | self.wrong_4.q.val()
            | self.wrong_5.q.val()
            | self.wrong_6.q.val()
            | self.wrong_7.q.val();
        if self.is_7.q.val() {
            self.zero.d.next = !self.word.q.val().get_bits::<20>(17).any();
            self.gives.d.next = self.opcode_0.q.val() & !self.word.q.val().get_bit(10);
            self.plain.d.next =
                !self.word.q.val().get_bit(50) & (self.op.val() != self.repsum.val());
        }
        if self.is_4.q.val() {
            self.opcode_0.d.next = !self.word.q.val().get_bits::<4>(24).any();
        }
        self.no_count.next = self.zero.q.val();
        self.contributes.next = self.gives.q.val();

        // Words 9 to 11 as they come.
        self.nil.next = self.nils.q.val() & !self.s_word.val().any();
        if self.s_valid.val() {
            self.nils.d.next = self.nil.val() | (self.s_number.val() == 8);
        }
        self.brief.next = self.gives.q.val() & self.plain.q.val() & self.nil.val();

        // Stages 2 to 6: the checksum of words 2, 3 and the first half of word 4.
        self.pair_high.d.next = bit_cast::<17, 16>(self.word.q.val().get_bits::<16>(48))
            + bit_cast::<17, 16>(self.word.q.val().get_bits::<16>(32));
        self.pair_low.d.next = bit_cast::<17, 16>(self.word.q.val().get_bits::<16>(16))
            + bit_cast::<17, 16>(self.word.q.val().get_bits::<16>(0));
        if self.is_4.q.val() {
            self.pair_low.d.next = 0.into();
        }
        self.add_2.d.next = self.is_2.q.val() | self.is_3.q.val() | self.is_4.q.val();
        self.first_2.d.next = self.is_2.q.val();
        self.four.d.next =
            bit_cast::<18, 17>(self.pair_high.q.val()) + bit_cast::<18, 17>(self.pair_low.q.val());
        self.add_3.d.next = self.add_2.q.val();
        self.first_3.d.next = self.first_2.q.val();
        if self.add_3.q.val() {
            self.total.d.next = self.total.q.val() + bit_cast::<20, 18>(self.four.q.val());
        }
        if self.first_3.q.val() {
            self.total.d.next = bit_cast::<20, 18>(self.four.q.val());
        }
        self.folded.d.next = bit_cast::<17, 16>(self.total.q.val().get_bits::<16>(0))
            + bit_cast::<17, 4>(self.total.q.val().get_bits::<4>(16));
        self.unequal.d.next = (self.folded.q.val() != 0xffff) & (self.folded.q.val() != 0x1_fffe);
        self.malformed.next = self.bad.q.val() | self.unequal.q.val();
    }
}

hdl_module! {
    /// A 64-bit word with its bytes in the other order.
    #[module("byte_swap_w64")]
    pub struct ByteSwap {
        /// Word.
        pub s: Signal<In, Bits<64>>,
        /// The same, first byte last.
        pub m: Signal<Out, Bits<64>>,
    }
}

impl Logic for ByteSwap {
    #[hdl_gen]
    fn update(&mut self) {
        self.m.next = (bit_cast::<64, 8>(self.s.val().get_bits::<8>(0)) << 56)
            | (bit_cast::<64, 8>(self.s.val().get_bits::<8>(8)) << 48)
            | (bit_cast::<64, 8>(self.s.val().get_bits::<8>(16)) << 40)
            | (bit_cast::<64, 8>(self.s.val().get_bits::<8>(24)) << 32)
            | (bit_cast::<64, 8>(self.s.val().get_bits::<8>(32)) << 24)
            | (bit_cast::<64, 8>(self.s.val().get_bits::<8>(40)) << 16)
            | (bit_cast::<64, 8>(self.s.val().get_bits::<8>(48)) << 8)
            | bit_cast::<64, 8>(self.s.val().get_bits::<8>(56));
    }
}
