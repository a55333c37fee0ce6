//! Frames from the XGMII.

use super::MacWordBad;
use crate::blocks::CrcAdvance;
use crate::blocks::crc::advance;
use crate::bus::StreamOut;
use crate::prelude::*;

/// State of the CRC behind a frame, its FCS and so many bytes of zero, whatever the frame.
const fn residue(zeros: usize) -> usize {
    advance(0xDEBB_20E3, 8 * zeros) as usize
}

hdl_record! {
    /// What a word brings of a frame.
    pub struct XgmiiPart {
        /// Bytes in front of the first control character, zeros behind them; first one in bits 7:0.
        data: Bits<64>,
        /// How many.
        count: Bits<4>,
        /// There is a control character.
        control: Bit,
        /// It is the end of a frame.
        ends: Bit,
        /// A frame has started in this word.
        first: Bit,
        /// With it: the word is a preamble.
        start: Bit,
    }
}

hdl_module! {
    /// Takes words from an XGMII of 64 bits (IEEE 802.3, clause 46): finds the start of each frame at lane 0 or 4, checks its FCS
    /// and takes it off. A frame is bad if its FCS is wrong, another control character than the end stands in it, which ends
    /// it, or it has fewer than 64 bytes or more than cfg_longest, FCS included; it leaves all the same, and its last word
    /// says so. Of one with fewer than 5 bytes nothing leaves. A start without six bytes of any kind and 0xD5 behind it is
    /// passed over. Frames may follow each other behind 5 bytes.
    /// Cannot wait: m_ready is not looked at, what is not taken at once is lost.
    /// Latency: a word leaves 8 clocks behind its last byte at the XGMII; the last one up to 2 clocks earlier or 1 later.
    /// Stages: 1 lanes; 2 moved to where lane 0 is the first byte; 3 bytes in front of the first control character; 4 their part
    /// of the CRC; 5 CRC, and the word in front of them, which may end in the FCS; 6 that word; 7 whether its frame is good.
    #[module("mac_xgmii_receive")]
    pub struct XgmiiReceive {
        /// Clock of the XGMII, 156.25 MHz.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset: forgets the frame that comes.
        pub rst: Signal<In, Bit>,
        /// Lanes; the first one in bits 7:0.
        pub xgmii_rxd: Signal<In, Bits<64>>,
        /// Which of them are control characters.
        pub xgmii_rxc: Signal<In, Bits<8>>,
        /// Bytes of the longest frame that is good, FCS included.
        pub cfg_longest: Signal<In, Bits<16>>,
        /// Words, as mac_word_bad.
        pub m: StreamOut<69>,
        /// A start was passed over, or a frame too short to have a word; pulse.
        pub m_fragment: Signal<Out, Bit>,

        data1: DFF<Bits<64>>,
        #[reset] control1: DFF<Bits<8>>,
        low: Signal<Local, Bit>,
        high: Signal<Local, Bit>,
        /// The frame has started at lane 4; the next word is its preamble.
        odd: DFF<Bit>,
        #[reset] starts: DFF<Bit>,
        /// Upper half of the word before.
        data_before: DFF<Bits<32>>,
        control_before: DFF<Bits<4>>,
        data2: DFF<Bits<64>>,
        control2: DFF<Bits<8>>,
        #[reset] first2: DFF<Bit>,
        mask: Signal<Local, Bits<64>>,
        count: Signal<Local, Bits<4>>,
        ends: Signal<Local, Bit>,
        #[reset] part3: DFF<XgmiiPart>,
        left: CrcAdvance<64>,
        right: CrcAdvance<32>,
        #[reset] part4: DFF<XgmiiPart>,
        /// What it adds to the CRC.
        sum: DFF<Bits<32>>,
        /// Bytes of a frame come.
        #[reset] within: DFF<Bit>,
        step: CrcAdvance<64>,
        crc: DFF<Bits<32>>,
        expected: DFF<Bits<32>>,
        length: DFF<Bits<16>>,
        /// A word that may end in the FCS.
        held: DFF<Bit>,
        data5: DFF<Bits<64>>,
        /// It is the last one, and leaves; bytes in it, less one.
        #[reset] rest: DFF<Bit>,
        more5: DFF<Bits<3>>,
        /// The frame has ended in the clock before; not as it should.
        #[reset] ended: DFF<Bit>,
        broken: DFF<Bit>,
        #[reset] valid6: DFF<Bit>,
        word6: DFF<MacWordBad>,
        bad: DFF<Bit>,
        is_bad: Signal<Local, Bit>,
        #[reset] valid: DFF<Bit>,
        word: DFF<MacWordBad>,
        #[reset] fragment: DFF<Bit>,
        ones: Param<0xFFFF_FFFF, 32>,
        full: Param<0xFFFF_FFFF_FFFF_FFFF, 64>,
        mask7: Param<0x00FF_FFFF_FFFF_FFFF, 64>,
        mask6: Param<0x0000_FFFF_FFFF_FFFF, 64>,
        mask5: Param<0x0000_00FF_FFFF_FFFF, 64>,
        mask4: Param<0x0000_0000_FFFF_FFFF, 64>,
        mask3: Param<0x0000_0000_00FF_FFFF, 64>,
        mask2: Param<0x0000_0000_0000_FFFF, 64>,
        mask1: Param<0x0000_0000_0000_00FF, 64>,
        zeros1: Param<{ residue(1) }, 32>,
        zeros2: Param<{ residue(2) }, 32>,
        zeros3: Param<{ residue(3) }, 32>,
        zeros4: Param<{ residue(4) }, 32>,
        zeros5: Param<{ residue(5) }, 32>,
        zeros6: Param<{ residue(6) }, 32>,
        zeros7: Param<{ residue(7) }, 32>,
        zeros8: Param<{ residue(8) }, 32>,
    }
}

impl Logic for XgmiiReceive {
    #[hdl_gen]
    fn update(&mut self) {
        self.data1.d.next = self.xgmii_rxd.val();
        self.control1.d.next = self.xgmii_rxc.val();

        // 2: frames from lane 0 on.
        self.low.next =
            self.control1.q.val().get_bit(0) & (self.data1.q.val().get_bits::<8>(0) == 0xFB);
        self.high.next =
            self.control1.q.val().get_bit(4) & (self.data1.q.val().get_bits::<8>(32) == 0xFB);
        self.data_before.d.next = self.data1.q.val().get_bits::<32>(32);
        self.control_before.d.next = self.control1.q.val().get_bits::<4>(4);
        self.data2.d.next = self.data1.q.val();
        self.control2.d.next = self.control1.q.val();
        if self.odd.q.val() & !self.low.val() {
            self.data2.d.next =
                (self.data1.q.val() << 32) | bit_cast::<64, 32>(self.data_before.q.val());
            self.control2.d.next =
                (self.control1.q.val() << 4) | bit_cast::<8, 4>(self.control_before.q.val());
        }
        self.first2.d.next = self.low.val() | self.starts.q.val();
        self.starts.d.next = self.high.val();
        if self.low.val() {
            self.odd.d.next = false;
        }
        if self.high.val() {
            self.odd.d.next = true;
        }

        // 3: bytes in front of the first control character.
        self.mask.next = self.full.val();
        self.count.next = 8.into();
        self.ends.next = false;
        if self.control2.q.val().get_bit(7) {
            self.mask.next = self.mask7.val();
            self.count.next = 7.into();
            self.ends.next = self.data2.q.val().get_bits::<8>(56) == 0xFD;
        }
        if self.control2.q.val().get_bit(6) {
            self.mask.next = self.mask6.val();
            self.count.next = 6.into();
            self.ends.next = self.data2.q.val().get_bits::<8>(48) == 0xFD;
        }
        if self.control2.q.val().get_bit(5) {
            self.mask.next = self.mask5.val();
            self.count.next = 5.into();
            self.ends.next = self.data2.q.val().get_bits::<8>(40) == 0xFD;
        }
        if self.control2.q.val().get_bit(4) {
            self.mask.next = self.mask4.val();
            self.count.next = 4.into();
            self.ends.next = self.data2.q.val().get_bits::<8>(32) == 0xFD;
        }
        if self.control2.q.val().get_bit(3) {
            self.mask.next = self.mask3.val();
            self.count.next = 3.into();
            self.ends.next = self.data2.q.val().get_bits::<8>(24) == 0xFD;
        }
        if self.control2.q.val().get_bit(2) {
            self.mask.next = self.mask2.val();
            self.count.next = 2.into();
            self.ends.next = self.data2.q.val().get_bits::<8>(16) == 0xFD;
        }
        if self.control2.q.val().get_bit(1) {
            self.mask.next = self.mask1.val();
            self.count.next = 1.into();
            self.ends.next = self.data2.q.val().get_bits::<8>(8) == 0xFD;
        }
        if self.control2.q.val().get_bit(0) {
            self.mask.next = 0.into();
            self.count.next = 0.into();
            self.ends.next = self.data2.q.val().get_bits::<8>(0) == 0xFD;
        }
        self.part3.d.next = XgmiiPart {
            data: self.data2.q.val() & self.mask.val(),
            count: self.count.val(),
            control: self.control2.q.val().any(),
            ends: self.ends.val(),
            first: self.first2.q.val(),
            start: (self.control2.q.val() == 1) & (self.data2.q.val().get_bits::<8>(56) == 0xD5),
        };

        // 4: what they add to the CRC, with zeros in the place of the others.
        self.left.s.next = self.part3.q.val().data.get_bits::<32>(0);
        self.right.s.next = self.part3.q.val().data.get_bits::<32>(32);
        self.sum.d.next = self.left.m.val() ^ self.right.m.val();
        self.part4.d.next = self.part3.q.val();

        // 5: the frame, and 6: the word in front of its newest bytes.
        self.step.s.next = self.crc.q.val();
        self.fragment.d.next = false;
        self.ended.d.next = false;
        self.rest.d.next = false;
        self.valid6.d.next = self.rest.q.val();
        self.word6.d.next = MacWordBad {
            data: self.data5.q.val(),
            more: self.more5.q.val(),
            last: self.rest.q.val(),
            bad: false,
        };
        if self.part4.q.val().first {
            // Another frame before the end of the last one.
            if self.within.q.val() {
                self.ended.d.next = true;
                self.broken.d.next = true;
                self.valid6.d.next = self.held.q.val();
                self.word6.d.next = MacWordBad {
                    data: self.data5.q.val(),
                    more: 3.into(),
                    last: true,
                    bad: false,
                };
            }
            self.fragment.d.next =
                !self.part4.q.val().start | (self.within.q.val() & !self.held.q.val());
            self.within.d.next = self.part4.q.val().start;
            self.held.d.next = false;
            self.crc.d.next = self.ones.val();
            self.length.d.next = 0.into();
        } else if self.within.q.val() {
            self.crc.d.next = self.step.m.val() ^ self.sum.q.val();
            if !self.length.q.val().get_bits::<12>(4).all() {
                self.length.d.next =
                    self.length.q.val() + bit_cast::<16, 4>(self.part4.q.val().count);
            }
            self.data5.d.next = self.part4.q.val().data;
            self.more5.d.next = 7.into();
            self.valid6.d.next = self.held.q.val();
            self.held.d.next = true;
            if self.part4.q.val().control {
                self.within.d.next = false;
                self.held.d.next = false;
                self.ended.d.next = true;
                self.broken.d.next = !self.part4.q.val().ends;
                if self.part4.q.val().count > 4 {
                    // Bytes in front of the FCS in this word, too.
                    self.more5.d.next = self.part4.q.val().count.get_bits::<3>(0) - 5;
                    self.rest.d.next = true;
                } else {
                    self.fragment.d.next = !self.held.q.val();
                    self.word6.d.next = MacWordBad {
                        data: self.data5.q.val(),
                        more: self.part4.q.val().count.get_bits::<3>(0) + 3,
                        last: true,
                        bad: false,
                    };
                }
            }
        }
        self.expected.d.next = self.zeros8.val();
        if self.part4.q.val().count == 1 {
            self.expected.d.next = self.zeros7.val();
        }
        if self.part4.q.val().count == 2 {
            self.expected.d.next = self.zeros6.val();
        }
        if self.part4.q.val().count == 3 {
            self.expected.d.next = self.zeros5.val();
        }
        if self.part4.q.val().count == 4 {
            self.expected.d.next = self.zeros4.val();
        }
        if self.part4.q.val().count == 5 {
            self.expected.d.next = self.zeros3.val();
        }
        if self.part4.q.val().count == 6 {
            self.expected.d.next = self.zeros2.val();
        }
        if self.part4.q.val().count == 7 {
            self.expected.d.next = self.zeros1.val();
        }

        // 7: the word, and whether its frame is good.
        self.is_bad.next = self.bad.q.val();
        if self.ended.q.val() {
            self.is_bad.next = self.broken.q.val()
                | (self.crc.q.val() != self.expected.q.val())
                | (self.length.q.val() < 64)
                | (self.length.q.val() > self.cfg_longest.val());
        }
        self.bad.d.next = self.is_bad.val();
        self.valid.d.next = self.valid6.q.val();
        self.word.d.next = MacWordBad {
            data: self.word6.q.val().data,
            more: self.word6.q.val().more,
            last: self.word6.q.val().last,
            bad: self.word6.q.val().last & self.is_bad.val(),
        };
        self.m.valid.next = self.valid.q.val();
        self.m.data.next = self.word.q.val().to_bits();
        self.m_fragment.next = self.fragment.q.val();
    }
}
