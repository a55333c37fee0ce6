//! Frames for the XGMII.

use super::MacWord;
use crate::blocks::{CrcAdvance, CrcRetreat};
use crate::bus::StreamIn;
use crate::prelude::*;

/// What the next word is.
#[derive(Copy, Clone, PartialEq, Debug, LogicState)]
pub enum Turn {
    /// Idle characters, or the preamble of a frame that may begin.
    Idle,
    /// Bytes of the frame.
    Data,
    /// Zeros up to 60 bytes.
    Pad,
    /// The rest of the FCS.
    Tail,
    /// Idle characters between frames.
    Gap,
    /// Idle characters, while the rest of a frame that was cut is thrown away.
    Drain,
}

/// What a word is.
#[derive(Copy, Clone, PartialEq, Debug, LogicState)]
pub enum Kind {
    /// Idle characters.
    Idle,
    /// The preamble.
    Preamble,
    /// 8 bytes of a frame.
    Data,
    /// Its last bytes, with the FCS or its beginning behind them.
    Last,
    /// The rest of the FCS, and the end.
    Tail,
    /// The error that ends a frame whose bytes did not come.
    Cut,
}

hdl_record! {
    /// A word on its way to the lanes, beside its kind.
    pub struct XgmiiWord {
        /// Bytes, first one in bits 7:0.
        data: Bits<64>,
        /// Of the last word: bytes in it, less one.
        more: Bits<3>,
        /// Its frame starts at lane 4.
        odd: Bit,
    }
}

hdl_module! {
    /// Sends frames at an XGMII of 64 bits (IEEE 802.3, clause 46): preamble, the bytes, zeros up to 60 bytes, the FCS, and
    /// a gap. A frame starts at lane 0 or 4; gaps are 9 to 15 bytes, the end included, and 12 on average while frames wait
    /// (deficit idle count). A frame begins when all of it waits, or START words: its bytes must then follow without gap, or it
    /// ends with an error and the rest of it is thrown away.
    /// Latency: 8 clocks from the first word to the preamble. Frames are made as if all started at lane 0; behind that
    /// those of lane 4 are moved by half a word.
    /// Stages: 1 turn and word; 2 its part of the CRC; 3 CRC; 4 and 5 back over the zeros behind the last byte; 6 word with
    /// FCS and control characters; 7 lanes. Only stage 1 looks at what comes, and nothing stalls it.
    #[module("mac_xgmii_transmit_start{START}")]
    pub struct XgmiiTransmit<const START: usize> {
        /// Clock of the XGMII, 156.25 MHz.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset: cuts the frame that is sent.
        pub rst: Signal<In, Bit>,
        /// Words, as mac_word.
        pub s: StreamIn<68>,
        /// Words that wait behind the one at s.
        pub level: Signal<In, Bits<10>>,
        /// The last word of a frame waits.
        pub whole: Signal<In, Bit>,
        /// The other end is not heard: it is told so, and frames are lost.
        pub local_fault: Signal<In, Bit>,
        /// The other end does not hear: idle characters, and frames are lost.
        pub remote_fault: Signal<In, Bit>,
        /// Lanes; the first one in bits 7:0.
        pub xgmii_txd: Signal<Out, Bits<64>>,
        /// Which of them are control characters.
        pub xgmii_txc: Signal<Out, Bits<8>>,
        /// The last word of a frame is taken; pulse.
        pub m_taken: Signal<Out, Bit>,
        /// A frame was cut since its bytes did not come; pulse.
        pub m_underrun: Signal<Out, Bit>,

        #[reset] turn: DFF<Turn>,
        /// Words of the frame before this one, up to 7; there were 8 or more.
        at: DFF<Bits<3>>,
        long: DFF<Bit>,
        /// Words of the gap that are left.
        gap: DFF<Bits<2>>,
        /// Bytes by which gaps have been shorter than 12.
        #[reset] deficit: DFF<Bits<2>>,
        /// The next frame starts at lane 4.
        #[reset] next_odd: DFF<Bit>,
        #[reset] underrun: DFF<Bit>,

        #[reset] kind1: DFF<Kind>,
        data1: DFF<Bits<64>>,
        /// Bytes of the last word, less one.
        more1: DFF<Bits<3>>,
        #[reset] odd1: DFF<Bit>,
        first: CrcAdvance<64>,
        second: CrcAdvance<32>,
        #[reset] kind2: DFF<Kind>,
        word2: DFF<XgmiiWord>,
        part: DFF<Bits<32>>,
        step: CrcAdvance<64>,
        #[reset] kind3: DFF<Kind>,
        word3: DFF<XgmiiWord>,
        crc: DFF<Bits<32>>,
        four: CrcRetreat<32>,
        two: CrcRetreat<16>,
        less_four: Signal<Local, Bits<32>>,
        #[reset] kind4: DFF<Kind>,
        word4: DFF<XgmiiWord>,
        back: DFF<Bits<32>>,
        one: CrcRetreat<8>,
        #[reset] kind5: DFF<Kind>,
        word5: DFF<XgmiiWord>,
        fcs: DFF<Bits<32>>,
        /// The FCS in the clock behind the last bytes.
        fcs6: DFF<Bits<32>>,
        data6: DFF<Bits<64>>,
        control6: DFF<Bits<8>>,
        odd6: DFF<Bit>,
        /// Upper half of the word before.
        data7: DFF<Bits<32>>,
        control7: DFF<Bits<4>>,
        txd: DFF<Bits<64>>,
        txc: DFF<Bits<8>>,

        word: Signal<Local, MacWord>,
        masked: Signal<Local, Bits<64>>,
        ready: Signal<Local, Bit>,
        /// The last bytes of a frame leave stage 1; how many, less one.
        ends: Signal<Local, Bit>,
        more: Signal<Local, Bits<3>>,
        /// The end of the frame stands in the upper half of its word.
        upper: Signal<Local, Bit>,
        owed: Signal<Local, Bits<3>>,
        /// Half words to the start of the next frame.
        halves: Signal<Local, Bits<3>>,
        start: Param<START, 10>,
        seven: Param<7, 3>,
        full: Param<0xFFFF_FFFF_FFFF_FFFF, 64>,
        ones: Param<0xFFFF_FFFF, 32>,
        idle: Param<0x0707_0707_0707_0707, 64>,
        preamble: Param<0xD555_5555_5555_55FB, 64>,
        cut: Param<0x0707_0707_0707_FDFE, 64>,
        /// Ordered set of a remote fault, in both halves.
        fault: Param<0x0200_009C_0200_009C, 64>,
        end0: Param<0x0707_0707_0707_07FD, 64>,
        end1: Param<0x0707_0707_0707_FD00, 64>,
        end2: Param<0x0707_0707_07FD_0000, 64>,
        end3: Param<0x0707_0707_FD00_0000, 64>,
        end4: Param<0x0707_07FD_0000_0000, 64>,
        end5: Param<0x0707_FD00_0000_0000, 64>,
        end6: Param<0x07FD_0000_0000_0000, 64>,
        end7: Param<0xFD00_0000_0000_0000, 64>,
    }
}

impl<const START: usize> Logic for XgmiiTransmit<START> {
    #[hdl_gen]
    fn update(&mut self) {
        // 1: what comes next.
        self.word.next = self.s.data.val().into();
        self.masked.next = self.word.val().data
            & (self.full.val() >> (bit_cast::<6, 3>(self.seven.val() - self.word.val().more) << 3));
        self.kind1.d.next = Kind::Idle;
        self.data1.d.next = self.masked.val();
        self.underrun.d.next = false;
        self.ready.next = false;
        self.ends.next = false;
        self.more.next = 3.into();
        match self.turn.q.val() {
            Turn::Idle => {
                self.at.d.next = 0.into();
                self.long.d.next = false;
                if self.s.valid.val() & (self.whole.val() | (self.level.val() >= self.start.val()))
                {
                    self.kind1.d.next = Kind::Preamble;
                    self.odd1.d.next = self.next_odd.q.val();
                    self.turn.d.next = Turn::Data;
                } else {
                    // A longer gap pays for those that were shorter.
                    self.deficit.d.next = 0.into();
                }
            }
            Turn::Data => {
                self.ready.next = true;
                if !self.s.valid.val() {
                    self.kind1.d.next = Kind::Cut;
                    self.underrun.d.next = true;
                    self.turn.d.next = Turn::Drain;
                } else {
                    self.kind1.d.next = Kind::Data;
                    if self.word.val().last {
                        self.turn.d.next = Turn::Pad;
                        if self.at.q.val().all() {
                            self.ends.next = true;
                            if self.long.q.val() | (self.word.val().more >= 3) {
                                self.more.next = self.word.val().more;
                            }
                        }
                    }
                }
            }
            Turn::Pad => {
                self.kind1.d.next = Kind::Data;
                self.data1.d.next = 0.into();
                self.ends.next = self.at.q.val().all();
            }
            Turn::Tail => {
                self.kind1.d.next = Kind::Tail;
                self.turn.d.next = Turn::Gap;
                if !self.gap.q.val().any() {
                    self.turn.d.next = Turn::Idle;
                }
            }
            Turn::Gap => {
                self.gap.d.next = self.gap.q.val() - 1;
                if self.gap.q.val() == 1 {
                    self.turn.d.next = Turn::Idle;
                }
            }
            Turn::Drain => {
                self.ready.next = true;
                self.gap.d.next = 2.into();
                if self.s.valid.val() & self.word.val().last {
                    self.turn.d.next = Turn::Gap;
                }
            }
        }
        if (self.turn.q.val() == Turn::Data) | (self.turn.q.val() == Turn::Pad) {
            if self.at.q.val().all() {
                self.long.d.next = true;
            } else {
                self.at.d.next = self.at.q.val() + 1;
            }
        }

        // The start of the next frame: 12 bytes behind the end, at the half word before, or at the one behind if that
        // would make the gaps too short by more than 3 bytes.
        self.upper.next = (self.more.val() < 3) | self.more.val().all();
        self.owed.next = bit_cast::<3, 2>(self.deficit.q.val())
            + bit_cast::<3, 2>(self.more.val().get_bits::<2>(0) + 1);
        self.halves.next = bit_cast::<3, 1>(self.odd1.q.val().into())
            + bit_cast::<3, 1>(self.upper.val().into())
            + bit_cast::<3, 1>(self.owed.val().get_bit(2).into())
            + 3;
        if self.ends.val() {
            self.kind1.d.next = Kind::Last;
            self.more1.d.next = self.more.val();
            self.deficit.d.next = self.owed.val().get_bits::<2>(0);
            self.next_odd.d.next = self.halves.val().get_bit(0);
            self.gap.d.next = self.halves.val().get_bits::<2>(1) - 1;
            self.turn.d.next = Turn::Gap;
            if self.more.val() >= 3 {
                self.turn.d.next = Turn::Tail;
            }
        }
        self.s.ready.next = self.ready.val();
        self.m_taken.next = self.ready.val() & self.s.valid.val() & self.word.val().last;
        self.m_underrun.next = self.underrun.q.val();

        // 2: what the word adds to the CRC, zeros behind the last byte included.
        self.first.s.next = self.data1.q.val().get_bits::<32>(0);
        self.second.s.next = self.data1.q.val().get_bits::<32>(32);
        self.part.d.next = self.first.m.val() ^ self.second.m.val();
        self.kind2.d.next = self.kind1.q.val();
        self.word2.d.next = XgmiiWord {
            data: self.data1.q.val(),
            more: self.more1.q.val(),
            odd: self.odd1.q.val(),
        };

        // 3: the CRC.
        self.step.s.next = self.crc.q.val();
        self.crc.d.next = self.step.m.val() ^ self.part.q.val();
        if self.kind2.q.val() == Kind::Preamble {
            self.crc.d.next = self.ones.val();
        }
        self.kind3.d.next = self.kind2.q.val();
        self.word3.d.next = self.word2.q.val();

        // 4 and 5: without those zeros, of which there are 7 less the count.
        self.four.s.next = self.crc.q.val();
        self.less_four.next = self.four.m.val();
        if self.word3.q.val().more.get_bit(2) {
            self.less_four.next = self.crc.q.val();
        }
        self.two.s.next = self.less_four.val();
        self.back.d.next = self.two.m.val();
        if self.word3.q.val().more.get_bit(1) {
            self.back.d.next = self.less_four.val();
        }
        self.kind4.d.next = self.kind3.q.val();
        self.word4.d.next = self.word3.q.val();
        self.one.s.next = self.back.q.val();
        self.fcs.d.next = !self.one.m.val();
        if self.word4.q.val().more.get_bit(0) {
            self.fcs.d.next = !self.back.q.val();
        }
        self.kind5.d.next = self.kind4.q.val();
        self.word5.d.next = self.word4.q.val();

        // 6: the word.
        self.fcs6.d.next = self.fcs.q.val();
        self.odd6.d.next = self.word5.q.val().odd;
        self.data6.d.next = self.idle.val();
        self.control6.d.next = 0xFF.into();
        match self.kind5.q.val() {
            Kind::Idle => {}
            Kind::Preamble => {
                self.data6.d.next = self.preamble.val();
                self.control6.d.next = 1.into();
            }
            Kind::Data => {
                self.data6.d.next = self.word5.q.val().data;
                self.control6.d.next = 0.into();
            }
            Kind::Last => {
                self.data6.d.next = self.word5.q.val().data
                    | ((bit_cast::<64, 32>(self.fcs.q.val()) << 8)
                        << (bit_cast::<6, 3>(self.word5.q.val().more) << 3));
                self.control6.d.next = 0.into();
                if self.word5.q.val().more == 0 {
                    self.data6.d.next = self.word5.q.val().data
                        | (bit_cast::<64, 32>(self.fcs.q.val()) << 8)
                        | self.end5.val();
                    self.control6.d.next = 0xE0.into();
                }
                if self.word5.q.val().more == 1 {
                    self.data6.d.next = self.word5.q.val().data
                        | (bit_cast::<64, 32>(self.fcs.q.val()) << 16)
                        | self.end6.val();
                    self.control6.d.next = 0xC0.into();
                }
                if self.word5.q.val().more == 2 {
                    self.data6.d.next = self.word5.q.val().data
                        | (bit_cast::<64, 32>(self.fcs.q.val()) << 24)
                        | self.end7.val();
                    self.control6.d.next = 0x80.into();
                }
            }
            Kind::Tail => {
                self.data6.d.next = self.end0.val();
                if self.word5.q.val().more == 4 {
                    self.data6.d.next =
                        bit_cast::<64, 32>(self.fcs6.q.val() >> 24) | self.end1.val();
                    self.control6.d.next = 0xFE.into();
                }
                if self.word5.q.val().more == 5 {
                    self.data6.d.next =
                        bit_cast::<64, 32>(self.fcs6.q.val() >> 16) | self.end2.val();
                    self.control6.d.next = 0xFC.into();
                }
                if self.word5.q.val().more == 6 {
                    self.data6.d.next =
                        bit_cast::<64, 32>(self.fcs6.q.val() >> 8) | self.end3.val();
                    self.control6.d.next = 0xF8.into();
                }
                if self.word5.q.val().more == 7 {
                    self.data6.d.next = bit_cast::<64, 32>(self.fcs6.q.val()) | self.end4.val();
                    self.control6.d.next = 0xF0.into();
                }
            }
            Kind::Cut => {
                self.data6.d.next = self.cut.val();
            }
        }

        // 7: its lanes. Where the offset changes only idle characters are left out or doubled.
        self.data7.d.next = self.data6.q.val().get_bits::<32>(32);
        self.control7.d.next = self.control6.q.val().get_bits::<4>(4);
        self.txd.d.next = self.data6.q.val();
        self.txc.d.next = self.control6.q.val();
        if self.odd6.q.val() {
            self.txd.d.next = (self.data6.q.val() << 32) | bit_cast::<64, 32>(self.data7.q.val());
            self.txc.d.next =
                (self.control6.q.val() << 4) | bit_cast::<8, 4>(self.control7.q.val());
        }
        if self.remote_fault.val() | self.rst.val() {
            self.txd.d.next = self.idle.val();
            self.txc.d.next = 0xFF.into();
        }
        if self.local_fault.val() {
            self.txd.d.next = self.fault.val();
            self.txc.d.next = 0x11.into();
        }
        self.xgmii_txd.next = self.txd.q.val();
        self.xgmii_txc.next = self.txc.q.val();
    }
}
