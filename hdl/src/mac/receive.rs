//! Frames from the GMII.

use super::MacWordBad;
use crate::blocks::CrcAdvance;
use crate::bus::StreamOut;
use crate::prelude::*;

hdl_module! {
    /// Takes bytes from a GMII: finds the start of each frame (IEEE 802.3, 4.2.9), checks its FCS and takes it off, and
    /// makes words of 64 bits. A frame is bad if its FCS is wrong, rx_er was high in it, or it has fewer than 64 bytes or
    /// more than cfg_longest, FCS included; it leaves all the same, and its last word says so. Of one with fewer than 5
    /// bytes nothing leaves. A carrier that does not begin with bytes 0x55 and 0xD5, and a frame whose first byte comes within 9
    /// clocks of the end of another, are passed over. Preambles of any length are taken.
    /// Cannot wait: m_ready is not looked at, what is not taken at once is lost.
    /// Latency: a byte leaves with its word 6 clocks or more behind the GMII. Stages: 1 byte; 2 to 5 bytes that may be
    /// the FCS; 6 word; 7 word for m. At the end of a frame the last word moves down byte by byte, at most 7 clocks.
    #[module("mac_receive")]
    pub struct MacReceive {
        /// Clock of the GMII, 125 MHz.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset: forgets the frame that comes.
        pub rst: Signal<In, Bit>,
        /// Byte.
        pub gmii_rxd: Signal<In, Bits<8>>,
        /// There is one.
        pub gmii_rx_dv: Signal<In, Bit>,
        /// The PHY has seen an error.
        pub gmii_rx_er: Signal<In, Bit>,
        /// Bytes of the longest frame that is good, FCS included.
        pub cfg_longest: Signal<In, Bits<16>>,
        /// Words, as mac_word_bad.
        pub m: StreamOut<69>,
        /// A carrier was passed over, or a frame too short to have a word; pulse.
        pub m_fragment: Signal<Out, Bit>,

        byte: DFF<Bits<8>>,
        #[reset] dv: DFF<Bit>,
        er: DFF<Bit>,
        /// Bytes of a frame come; a carrier is passed over.
        #[reset] within: DFF<Bit>,
        #[reset] ignore: DFF<Bit>,
        /// The last four bytes, how many there are.
        line: DFF<Bits<32>>,
        fill: DFF<Bits<3>>,
        crc: DFF<Bits<32>>,
        step: CrcAdvance<8>,
        length: DFF<Bits<16>>,
        error: DFF<Bit>,
        /// Bytes of the next word, how many.
        pack: DFF<Bits<64>>,
        #[reset] held: DFF<Bits<4>>,
        /// The frame has ended, and its last word moves down.
        #[reset] ending: DFF<Bit>,
        more: DFF<Bits<3>>,
        bad: DFF<Bit>,
        #[reset] valid: DFF<Bit>,
        word: DFF<MacWordBad>,
        #[reset] fragment: DFF<Bit>,
        take: Signal<Local, Bit>,
        give: Signal<Local, Bit>,
        end: Signal<Local, Bit>,
        /// What the state of the CRC is behind a frame and its FCS, whatever the frame.
        residue: Param<0xDEBB_20E3, 32>,
        ones: Param<0xFFFF_FFFF, 32>,
    }
}

impl Logic for MacReceive {
    #[hdl_gen]
    fn update(&mut self) {
        self.byte.d.next = self.gmii_rxd.val();
        self.dv.d.next = self.gmii_rx_dv.val();
        self.er.d.next = self.gmii_rx_er.val();

        // Where frames begin and end.
        self.fragment.d.next = false;
        self.take.next = self.within.q.val() & self.dv.q.val();
        self.end.next = self.within.q.val() & !self.dv.q.val();
        if !self.dv.q.val() {
            self.within.d.next = false;
            self.ignore.d.next = false;
        }
        if self.dv.q.val() & !self.within.q.val() & !self.ignore.q.val() {
            if self.er.q.val() | ((self.byte.q.val() != 0x55) & (self.byte.q.val() != 0xD5)) {
                self.ignore.d.next = true;
                self.fragment.d.next = true;
            } else if self.byte.q.val() == 0xD5 {
                // The last word of the frame before is still on its way down.
                self.within.d.next = !self.ending.q.val();
                self.ignore.d.next = self.ending.q.val();
                self.fragment.d.next = self.ending.q.val();
            }
        }

        // FCS and length.
        self.step.s.next = self.crc.q.val() ^ bit_cast::<32, 8>(self.byte.q.val());
        if !self.within.q.val() {
            self.crc.d.next = self.ones.val();
            self.fill.d.next = 0.into();
            self.length.d.next = 0.into();
            self.error.d.next = false;
        }
        self.give.next = self.take.val() & self.fill.q.val().get_bit(2);
        if self.take.val() {
            self.crc.d.next = self.step.m.val();
            self.line.d.next = (self.line.q.val() << 8) | bit_cast::<32, 8>(self.byte.q.val());
            if !self.fill.q.val().get_bit(2) {
                self.fill.d.next = self.fill.q.val() + 1;
            }
            if !self.length.q.val().all() {
                self.length.d.next = self.length.q.val() + 1;
            }
            self.error.d.next = self.error.q.val() | self.er.q.val();
        }

        // Words.
        self.valid.d.next = false;
        self.word.d.next = MacWordBad {
            data: self.pack.q.val(),
            more: 7.into(),
            last: false,
            bad: false,
        };
        if self.give.val() {
            self.pack.d.next = (self.pack.q.val() >> 8)
                | (bit_cast::<64, 8>(self.line.q.val().get_bits::<8>(24)) << 56);
            self.held.d.next = self.held.q.val() + 1;
            if self.held.q.val().get_bit(3) {
                self.held.d.next = 1.into();
                self.valid.d.next = true;
            }
        }
        if self.end.val() {
            self.more.d.next = self.held.q.val().get_bits::<3>(0) - 1;
            self.bad.d.next = self.error.q.val()
                | (self.crc.q.val() != self.residue.val())
                | (self.length.q.val() < 64)
                | (self.length.q.val() > self.cfg_longest.val());
            self.ending.d.next = self.held.q.val().any();
            self.fragment.d.next = !self.held.q.val().any();
        }
        if self.ending.q.val() {
            self.pack.d.next = self.pack.q.val() >> 8;
            self.held.d.next = self.held.q.val() + 1;
            if self.held.q.val().get_bit(3) {
                self.word.d.next = MacWordBad {
                    data: self.pack.q.val(),
                    more: self.more.q.val(),
                    last: true,
                    bad: self.bad.q.val(),
                };
                self.valid.d.next = true;
                self.ending.d.next = false;
                self.held.d.next = 0.into();
            }
        }
        self.m.valid.next = self.valid.q.val();
        self.m.data.next = self.word.q.val().to_bits();
        self.m_fragment.next = self.fragment.q.val();
    }
}
