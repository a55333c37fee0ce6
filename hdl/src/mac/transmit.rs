//! Frames for the GMII.

use super::MacWord;
use crate::blocks::CrcAdvance;
use crate::bus::StreamIn;
use crate::prelude::*;

/// What stands on the line.
#[derive(Copy, Clone, PartialEq, Debug, LogicState)]
pub enum Phase {
    /// Nothing, and a frame may begin.
    Idle,
    /// Preamble and start of frame.
    Preamble,
    /// Bytes of the frame.
    Data,
    /// Zeros up to 60 bytes.
    Pad,
    /// FCS.
    Fcs,
    /// The error that ends a frame whose bytes did not come.
    Cut,
    /// Nothing, while the rest of that frame is thrown away.
    Drain,
    /// Nothing between frames.
    Gap,
}

hdl_module! {
    /// Sends frames at a GMII: preamble and start of frame, the bytes, zeros up to 60 bytes, the FCS, and a gap of 12
    /// bytes. A frame begins when all of it waits, or START words: its bytes must then follow without gap, or it ends
    /// with tx_er and the rest of it is thrown away.
    /// Latency: 2 clocks from the first word to the first byte of the preamble. Back to back, a frame of n bytes
    /// without FCS takes max(n, 60) + 24 clocks. Stages: 1 state and word; 2 byte.
    #[module("mac_transmit_start{START}")]
    pub struct MacTransmit<const START: usize> {
        /// Clock of the GMII, 125 MHz.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset: cuts the frame that is sent.
        pub rst: Signal<In, Bit>,
        /// Words, as mac_word.
        pub s: StreamIn<68>,
        /// Words that wait behind the one at s.
        pub level: Signal<In, Bits<10>>,
        /// The last word of a frame waits.
        pub whole: Signal<In, Bit>,
        /// Byte.
        pub gmii_txd: Signal<Out, Bits<8>>,
        /// There is one.
        pub gmii_tx_en: Signal<Out, Bit>,
        /// The frame is to be taken for bad.
        pub gmii_tx_er: Signal<Out, Bit>,
        /// The last word of a frame is taken; pulse.
        pub m_taken: Signal<Out, Bit>,
        /// A frame was cut since its bytes did not come; pulse.
        pub m_underrun: Signal<Out, Bit>,

        #[reset] phase: DFF<Phase>,
        /// Clocks in the phase.
        step_at: DFF<Bits<4>>,
        /// Bytes of the word that are left, how many, and whether it is the last word.
        shift: DFF<Bits<64>>,
        left: DFF<Bits<3>>,
        last: DFF<Bit>,
        /// Bytes sent, up to 60.
        sent: DFF<Bits<6>>,
        crc: DFF<Bits<32>>,
        step: CrcAdvance<8>,
        txd: DFF<Bits<8>>,
        #[reset] en: DFF<Bit>,
        er: DFF<Bit>,
        #[reset] underrun: DFF<Bit>,
        word: Signal<Local, MacWord>,
        load: Signal<Local, Bit>,
        byte: Signal<Local, Bits<8>>,
        ready: Signal<Local, Bit>,
        start: Param<START, 10>,
        ones: Param<0xFFFF_FFFF, 32>,
    }
}

impl<const START: usize> Logic for MacTransmit<START> {
    #[hdl_gen]
    fn update(&mut self) {
        self.word.next = self.s.data.val().into();
        self.txd.d.next = 0.into();
        self.en.d.next = false;
        self.er.d.next = false;
        self.underrun.d.next = false;
        self.load.next = false;
        self.ready.next = false;
        self.byte.next = self.shift.q.val().get_bits::<8>(0);
        self.step_at.d.next = self.step_at.q.val() + 1;
        match self.phase.q.val() {
            Phase::Idle => {
                self.step_at.d.next = 0.into();
                self.sent.d.next = 0.into();
                self.crc.d.next = self.ones.val();
                if self.s.valid.val() & (self.whole.val() | (self.level.val() >= self.start.val()))
                {
                    self.phase.d.next = Phase::Preamble;
                }
            }
            Phase::Preamble => {
                self.en.d.next = true;
                self.txd.d.next = 0x55.into();
                if self.step_at.q.val() == 7 {
                    self.txd.d.next = 0xD5.into();
                    self.load.next = true;
                    self.phase.d.next = Phase::Data;
                }
            }
            Phase::Data => {
                self.en.d.next = true;
                self.txd.d.next = self.byte.val();
                self.shift.d.next = self.shift.q.val() >> 8;
                self.left.d.next = self.left.q.val() - 1;
                self.step_at.d.next = 0.into();
                if !self.left.q.val().any() {
                    if self.last.q.val() {
                        self.phase.d.next = Phase::Pad;
                        if self.sent.q.val() >= 59 {
                            self.phase.d.next = Phase::Fcs;
                        }
                    } else if self.s.valid.val() {
                        self.load.next = true;
                    } else {
                        self.phase.d.next = Phase::Cut;
                        self.underrun.d.next = true;
                    }
                }
            }
            Phase::Pad => {
                self.en.d.next = true;
                self.byte.next = 0.into();
                self.step_at.d.next = 0.into();
                if self.sent.q.val() == 59 {
                    self.phase.d.next = Phase::Fcs;
                }
            }
            Phase::Fcs => {
                self.en.d.next = true;
                self.txd.d.next = !self.crc.q.val().get_bits::<8>(0);
                self.crc.d.next = self.crc.q.val() >> 8;
                if self.step_at.q.val() == 3 {
                    self.step_at.d.next = 0.into();
                    self.phase.d.next = Phase::Gap;
                }
            }
            Phase::Cut => {
                self.en.d.next = true;
                self.er.d.next = true;
                self.phase.d.next = Phase::Drain;
            }
            Phase::Drain => {
                self.ready.next = true;
                self.step_at.d.next = 0.into();
                if self.s.valid.val() & self.word.val().last {
                    self.phase.d.next = Phase::Gap;
                }
            }
            // The clock in which the next frame is seen to wait is the twelfth.
            Phase::Gap => {
                if self.step_at.q.val() == 10 {
                    self.phase.d.next = Phase::Idle;
                }
            }
        }
        self.step.s.next = self.crc.q.val() ^ bit_cast::<32, 8>(self.byte.val());
        if (self.phase.q.val() == Phase::Data) | (self.phase.q.val() == Phase::Pad) {
            self.crc.d.next = self.step.m.val();
            if self.sent.q.val() != 60 {
                self.sent.d.next = self.sent.q.val() + 1;
            }
        }
        if self.load.val() {
            self.ready.next = true;
            self.shift.d.next = self.word.val().data;
            self.left.d.next = self.word.val().more;
            self.last.d.next = self.word.val().last;
        }
        self.s.ready.next = self.ready.val();
        self.m_taken.next = self.ready.val() & self.s.valid.val() & self.word.val().last;
        self.m_underrun.next = self.underrun.q.val();
        self.gmii_txd.next = self.txd.q.val();
        self.gmii_tx_en.next = self.en.q.val();
        self.gmii_tx_er.next = self.er.q.val();
    }
}
