//! Invariant CRC of a RoCEv2 frame, a word a clock.

use crate::blocks::CrcAdvance;
use crate::blocks::crc::{advance, over};
use crate::prelude::*;

/// State behind eight bytes of ones, the first byte of an IPv4 header and DSCP/ECN, which is masked.
const BEFORE_WORD_2: u32 = over(
    !0,
    &[0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x45, 0xFF],
);
/// What word 2 finds of it.
const FIRST: usize = advance(BEFORE_WORD_2, 64) as usize;
/// State behind a packet and its ICRC.
const RESIDUE: u32 = 0xDEBB_20E3;
/// The same behind the bytes of zero that fill up a last word of 2 bytes, of 6 bytes.
pub(super) const RESIDUE_2: usize = advance(RESIDUE, 48) as usize;
pub(super) const RESIDUE_6: usize = advance(RESIDUE, 16) as usize;

hdl_module! {
    /// State of the invariant CRC of a RoCEv2 frame: Ethernet's CRC-32 over eight bytes of ones and
    /// the frame from its IPv4 header on, with the fields that routers may change as ones
    /// (DSCP/ECN, time to live, both checksums, BTH byte 4). One word a clock, frames back to back.
    /// What fills up the last word must be zero and counts as data: whoever reads the state knows
    /// how many bytes that were. Of words 0 and 1 nothing is read: byte 14 is taken for 0x45, which
    /// other checks see to.
    /// Latency: 3 clocks from the last word to m_valid.
    /// Stages: 1 both halves of the word; 2 word; 3 state, which closes its loop in one clock.
    #[module("xud_icrc")]
    pub struct XudIcrc {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset: the next word is the first of a frame.
        pub rst: Signal<In, Bit>,
        /// A word of a frame.
        pub s_valid: Signal<In, Bit>,
        /// The word, first byte in bits 7:0.
        pub s_data: Signal<In, Bits<64>>,
        /// It is the frame's last.
        pub s_last: Signal<In, Bit>,
        /// m_state is that of a whole frame.
        pub m_valid: Signal<Out, Bit>,
        /// State, not inverted.
        pub m_state: Signal<Out, Bits<32>>,
        /// Number of the word, a bit each from 0 to 5; 6: any behind.
        place: DFF<Bits<7>>,
        /// The word with ones in the fields that may change.
        masked: Signal<Local, Bits<64>>,
        low: CrcAdvance<64>,
        high: CrcAdvance<32>,
        /// Stage 1: a word, halves of what it adds to the state, frame's first, last.
        #[reset] s1_valid: DFF<Bit>,
        s1_low: DFF<Bits<32>>,
        s1_high: DFF<Bits<32>>,
        s1_first: DFF<Bit>,
        #[reset] s1_last: DFF<Bit>,
        /// Stage 2.
        #[reset] s2_valid: DFF<Bit>,
        s2_word: DFF<Bits<32>>,
        s2_first: DFF<Bit>,
        #[reset] s2_last: DFF<Bit>,
        /// Stage 3.
        state: DFF<Bits<32>>,
        #[reset] ended: DFF<Bit>,
        carry: CrcAdvance<64>,
        /// What the state adds; nothing in front of a frame.
        carried: Signal<Local, Bits<32>>,
        first: Param<FIRST, 32>,
    }
}

impl Logic for XudIcrc {
    #[hdl_gen]
    fn update(&mut self) {
        if self.s_valid.val() {
            self.place.d.next = (self.place.q.val() << 1) | (self.place.q.val() & 0x40);
            if self.s_last.val() {
                self.place.d.next = 1.into();
            }
        }
        self.masked.next = self.s_data.val();
        if self.place.q.val().get_bit(2) {
            self.masked.next = self.s_data.val() | (bits::<64>(0xff) << 48);
        }
        if self.place.q.val().get_bit(3) {
            self.masked.next = self.s_data.val() | bits::<64>(0xffff);
        }
        if self.place.q.val().get_bit(5) {
            self.masked.next = self.s_data.val() | bits::<64>(0xffff) | (bits::<64>(0xff) << 48);
        }

        self.low.s.next = self.masked.val().get_bits::<32>(0);
        self.high.s.next = self.masked.val().get_bits::<32>(32);
        self.s1_valid.d.next = self.s_valid.val() & !self.place.q.val().get_bits::<2>(0).any();
        self.s1_low.d.next = self.low.m.val();
        self.s1_high.d.next = self.high.m.val();
        self.s1_first.d.next = self.place.q.val().get_bit(2);
        self.s1_last.d.next = self.s_valid.val() & self.s_last.val();

        self.s2_valid.d.next = self.s1_valid.q.val();
        self.s2_word.d.next = self.s1_low.q.val() ^ self.s1_high.q.val();
        if self.s1_first.q.val() {
            self.s2_word.d.next = self.s1_low.q.val() ^ self.s1_high.q.val() ^ self.first.val();
        }
        self.s2_first.d.next = self.s1_first.q.val();
        self.s2_last.d.next = self.s1_last.q.val();

        self.carry.s.next = self.state.q.val();
        self.carried.next = self.carry.m.val();
        if self.s2_first.q.val() {
            self.carried.next = 0.into();
        }
        if self.s2_valid.q.val() {
            self.state.d.next = self.s2_word.q.val() ^ self.carried.val();
        }
        self.ended.d.next = self.s2_last.q.val();
        self.m_valid.next = self.ended.q.val();
        self.m_state.next = self.state.q.val();
        if self.rst.val() {
            self.place.d.next = 1.into();
        }
    }
}
