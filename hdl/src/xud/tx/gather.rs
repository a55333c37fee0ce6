//! Items of 0 to 8 bytes become words of 8.

use crate::prelude::*;

hdl_module! {
    /// Packs the bytes of items into words: one item a clock in, at most one word a clock out. A
    /// frame ends with an item that flushes; it has no bytes, and 2 or 6 bytes wait then.
    /// Latency: 3 clocks.
    /// Stages: 1 bytes that do not count are zero, place in the word; 2 rotated to it; 3 word.
    #[module("xud_tx_gather")]
    pub struct XudTxGather {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset: nothing waits.
        pub rst: Signal<In, Bit>,
        /// An item.
        pub s_valid: Signal<In, Bit>,
        /// Its bytes, first one in bits 7:0.
        pub s_data: Signal<In, Bits<64>>,
        /// How many count, 0 to 8.
        pub s_bytes: Signal<In, Bits<4>>,
        /// The frame ends here.
        pub s_flush: Signal<In, Bit>,
        /// What the frame is; with flush.
        pub s_kind: Signal<In, Bits<2>>,
        /// A word.
        pub m_valid: Signal<Out, Bit>,
        /// The word; zeros behind the frame's end.
        pub m_data: Signal<Out, Bits<64>>,
        /// It is the frame's last.
        pub m_last: Signal<Out, Bit>,
        /// If it is the last, it has 2 bytes and not 6.
        pub m_two: Signal<Out, Bit>,
        /// If it is the last: what the frame is.
        pub m_kind: Signal<Out, Bits<2>>,
        /// Bytes that wait, of the items so far.
        #[reset] offset: DFF<Bits<3>>,
        sum: Signal<Local, Bits<4>>,
        masked: Signal<Local, Bits<64>>,
        /// Stage 1.
        #[reset] s1_data: DFF<Bits<64>>,
        s1_offset: DFF<Bits<3>>,
        #[reset] s1_full: DFF<Bit>,
        #[reset] s1_flush: DFF<Bit>,
        s1_kind: DFF<Bits<2>>,
        half: Signal<Local, Bits<64>>,
        quarter: Signal<Local, Bits<64>>,
        /// Stage 2: rotated; bytes from the item's place on belong to the word under way.
        #[reset] s2_data: DFF<Bits<64>>,
        s2_offset: DFF<Bits<3>>,
        #[reset] s2_full: DFF<Bit>,
        #[reset] s2_flush: DFF<Bit>,
        s2_two: DFF<Bit>,
        s2_kind: DFF<Bits<2>>,
        /// Bits from the item's place on.
        here: Signal<Local, Bits<64>>,
        /// Bytes that wait.
        #[reset] carry: DFF<Bits<64>>,
        word: Signal<Local, Bits<64>>,
        /// Stage 3.
        #[reset] s3_valid: DFF<Bit>,
        s3_data: DFF<Bits<64>>,
        s3_last: DFF<Bit>,
        s3_two: DFF<Bit>,
        s3_kind: DFF<Bits<2>>,
        all: Param<0xffff_ffff_ffff_ffff, 64>,
    }
}

impl Logic for XudTxGather {
    #[hdl_gen]
    fn update(&mut self) {
        // Stage 1.
        self.masked.next =
            self.s_data.val() & !(self.all.val() << (bit_cast::<7, 4>(self.s_bytes.val()) << 3));
        if !self.s_valid.val() {
            self.masked.next = 0.into();
        }
        self.sum.next = bit_cast::<4, 3>(self.offset.q.val()) + self.s_bytes.val();
        self.s1_data.d.next = self.masked.val();
        self.s1_offset.d.next = self.offset.q.val();
        self.s1_full.d.next = self.s_valid.val() & self.sum.val().get_bit(3);
        self.s1_flush.d.next = self.s_valid.val() & self.s_flush.val();
        self.s1_kind.d.next = self.s_kind.val();
        if self.s_valid.val() {
            self.offset.d.next = self.sum.val().get_bits::<3>(0);
            if self.s_flush.val() {
                self.offset.d.next = 0.into();
            }
        }

        // Stage 2.
        self.half.next = self.s1_data.q.val();
        if self.s1_offset.q.val().get_bit(2) {
            self.half.next = (bit_cast::<64, 32>(self.s1_data.q.val().get_bits::<32>(0)) << 32)
                | bit_cast::<64, 32>(self.s1_data.q.val().get_bits::<32>(32));
        }
        self.quarter.next = self.half.val();
        if self.s1_offset.q.val().get_bit(1) {
            self.quarter.next = (bit_cast::<64, 48>(self.half.val().get_bits::<48>(0)) << 16)
                | bit_cast::<64, 16>(self.half.val().get_bits::<16>(48));
        }
        self.s2_data.d.next = self.quarter.val();
        if self.s1_offset.q.val().get_bit(0) {
            self.s2_data.d.next = (bit_cast::<64, 56>(self.quarter.val().get_bits::<56>(0)) << 8)
                | bit_cast::<64, 8>(self.quarter.val().get_bits::<8>(56));
        }
        self.s2_offset.d.next = self.s1_offset.q.val();
        self.s2_full.d.next = self.s1_full.q.val();
        self.s2_flush.d.next = self.s1_flush.q.val();
        self.s2_two.d.next = !self.s1_offset.q.val().get_bit(2);
        self.s2_kind.d.next = self.s1_kind.q.val();

        // Stage 3: bytes from the item's place on complete the word, the others begin the next one.
        self.here.next = self.all.val() << (bit_cast::<6, 3>(self.s2_offset.q.val()) << 3);
        self.word.next = self.carry.q.val() | (self.s2_data.q.val() & self.here.val());
        self.carry.d.next = self.word.val();
        if self.s2_full.q.val() {
            self.carry.d.next = self.s2_data.q.val() & !self.here.val();
        }
        if self.s2_flush.q.val() {
            self.carry.d.next = 0.into();
        }
        self.s3_valid.d.next = self.s2_full.q.val() | self.s2_flush.q.val();
        self.s3_data.d.next = self.word.val();
        self.s3_last.d.next = self.s2_flush.q.val();
        self.s3_two.d.next = self.s2_two.q.val();
        self.s3_kind.d.next = self.s2_kind.q.val();
        self.m_valid.next = self.s3_valid.q.val();
        self.m_data.next = self.s3_data.q.val();
        self.m_last.next = self.s3_last.q.val();
        self.m_two.next = self.s3_two.q.val();
        self.m_kind.next = self.s3_kind.q.val();
    }
}
