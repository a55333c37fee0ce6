//! Frames that wait for the line.

use crate::blocks::{CrcRetreat, FifoAhead, RamReg};
use crate::prelude::*;
use crate::xud::XudIcrc;

hdl_module! {
    /// Frames in block RAM, 2^B words of 64 bits. A frame's words come with zeros for its ICRC,
    /// which is found while they are written and put in when they leave.
    /// A frame that is sure to become whole (s_sure) begins to leave before it is: what is still to
    /// come of it comes one word a clock and ahead of the line, its ICRC 10 clocks behind s_sure.
    /// Its last two words never leave before their ICRC. While other frames leave it waits, and its
    /// ICRC is kept beside it. One word a clock leaves, also across frames.
    /// Latency: 4 clocks from s_sure to the first word on offer, 5 if the frame has 10 words, 6 if it has 9, 7 if
    /// it has 8. Lasts of frames come 10 clocks apart or more, s_sure 6 clocks before them.
    /// Stages: ICRC 4 clocks from the last word; out: frame loaded, addressed, read (2), offered.
    /// While m_* is not taken, up to 4 words that were read are held, the ICRC of the frame's last two among them: it
    /// was known when they were read. Their places may be written anew.
    #[module("xud_tx_buffer_d{}", 1usize << B)]
    pub struct XudTxBuffer<const B: usize> {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset: empties the buffer.
        pub rst: Signal<In, Bit>,
        /// A frame of any size may begin, beside one that is under way.
        pub room: Signal<Out, Bit>,
        /// A word of a frame.
        pub s_valid: Signal<In, Bit>,
        /// The word; zeros in the place of the ICRC and behind it.
        pub s_data: Signal<In, Bits<64>>,
        /// It is the frame's last.
        pub s_last: Signal<In, Bit>,
        /// If it is the last, it has 2 bytes and not 6.
        pub s_two: Signal<In, Bit>,
        /// If it is the last: bit 0 the frame is an acknowledgement, bit 1 it is not sent.
        pub s_kind: Signal<In, Bits<2>>,
        /// The frame that is coming is sent, and nothing of it is missing any more: pulse.
        pub s_sure: Signal<In, Bit>,
        /// With it: words of the frame, 8 or more.
        pub s_words: Signal<In, Bits<10>>,
        /// Its last word has 2 bytes and not 6.
        pub s_sure_two: Signal<In, Bit>,
        /// It is an acknowledgement.
        pub s_sure_ack: Signal<In, Bit>,
        /// It is of a bulk transfer.
        pub s_sure_bulk: Signal<In, Bit>,
        /// A word for the line.
        pub m_valid: Signal<Out, Bit>,
        /// It is taken.
        pub m_ready: Signal<In, Bit>,
        /// The word.
        pub m_data: Signal<Out, Bits<64>>,
        /// Bytes present.
        pub m_keep: Signal<Out, Bits<8>>,
        /// It is the frame's last.
        pub m_last: Signal<Out, Bit>,
        /// A request has left.
        pub ev_sent: Signal<Out, Bit>,
        /// An acknowledgement has left.
        pub ev_ack_sent: Signal<Out, Bit>,
        words: RamReg<64, B>,
        icrc: XudIcrc,
        /// Frames that are whole and wait: ICRC 31:0, words 41:32, two 42, acknowledgement 43, bulk 44.
        frames: FifoAhead<45, 4>,
        ahead: FifoAhead<68, 2>,
        /// Where kept words begin, the frame under way begins, the next word goes; one bit more than an address.
        #[reset] head: DFF<Bits<16>>,
        #[reset] start: DFF<Bits<16>>,
        #[reset] tail: DFF<Bits<16>>,
        used: DFF<Bits<16>>,
        #[reset] r_room: DFF<Bit>,
        /// A frame that is sure and does not leave yet: its fields as in `frames`, clocks until it may.
        #[reset] sure: DFF<Bit>,
        sure_frame: DFF<Bits<13>>,
        delay: DFF<Bits<2>>,
        /// The frame of which the ICRC is being found.
        h_two: DFF<Bit>,
        h_dropped: DFF<Bit>,
        /// The ICRC is known: the state without the zeros that are no data: 4 bytes, and 2 or 6 that fill up the word.
        crc: DFF<Bits<32>>,
        #[reset] known: DFF<Bit>,
        back_six: CrcRetreat<48>,
        back_two: CrcRetreat<80>,
        /// The frame that leaves; its ICRC is in it.
        #[reset] busy: DFF<Bit>,
        left: DFF<Bits<10>>,
        /// More than two words of it are left; one is.
        far: DFF<Bit>,
        one: DFF<Bit>,
        frame: DFF<Bits<45>>,
        complete: DFF<Bit>,
        /// The sure frame goes before it is whole.
        early: Signal<Local, Bit>,
        fetch: Signal<Local, Bit>,
        last: Signal<Local, Bit>,
        load: Signal<Local, Bit>,
        /// A word was addressed one, two clocks ago: last, last but one, frame.
        #[reset] flight_1: DFF<Bit>,
        #[reset] flight_2: DFF<Bit>,
        last_1: DFF<Bit>,
        last_2: DFF<Bit>,
        before_1: DFF<Bit>,
        before_2: DFF<Bit>,
        frame_1: DFF<Bits<45>>,
        frame_2: DFF<Bits<45>>,
        /// The ICRC's part of the word at the memory's output.
        part: Signal<Local, Bits<64>>,
        /// Words in flight and read ahead, at most 4.
        #[reset] reserved: DFF<Bits<3>>,
        pop: Signal<Local, Bit>,
        gone: Signal<Local, Bit>,
        #[reset] r_sent: DFF<Bit>,
        #[reset] r_ack_sent: DFF<Bit>,
        b: Param<B, 5>,
    }
}

impl<const B: usize> Logic for XudTxBuffer<B> {
    #[hdl_gen]
    fn update(&mut self) {
        // Room for 544 words: a largest frame of 522, and words on their way. Frames: half of the queue.
        self.used.d.next = self.tail.q.val() - self.head.q.val() + 544;
        self.r_room.d.next = !(self.used.q.val() >> self.b.val()).any()
            & !self.frames.count.val().get_bits::<2>(3).any();
        self.room.next = self.r_room.q.val();

        // Words in.
        self.words.wr.en.next = self.s_valid.val();
        self.words.wr.addr.next = self.tail.q.val().get_bits::<B>(0);
        self.words.wr.data.next = self.s_data.val();
        self.icrc.s_valid.next = self.s_valid.val();
        self.icrc.s_data.next = self.s_data.val();
        self.icrc.s_last.next = self.s_last.val();
        if self.s_valid.val() {
            self.tail.d.next = self.tail.q.val() + 1;
            if self.s_last.val() {
                self.h_two.d.next = self.s_two.val();
                self.h_dropped.d.next = self.s_kind.val().get_bit(1);
                if self.s_kind.val().get_bit(1) {
                    self.tail.d.next = self.start.q.val();
                } else {
                    self.start.d.next = self.tail.q.val() + 1;
                }
            }
        }

        // The ICRC.
        self.back_six.s.next = self.icrc.m_state.val();
        self.back_two.s.next = self.icrc.m_state.val();
        self.known.d.next = self.icrc.m_valid.val() & !self.h_dropped.q.val();
        self.crc.d.next = !self.back_six.m.val();
        if self.h_two.q.val() {
            self.crc.d.next = !self.back_two.m.val();
        }

        // It belongs to the frame that leaves, or to the one that is sure and waits, behind those that are whole.
        self.frames.s.valid.next = self.known.q.val() & self.sure.q.val();
        self.frames.s.data.next = bit_cast::<45, 32>(self.crc.q.val())
            | (bit_cast::<45, 13>(self.sure_frame.q.val()) << 32);
        if self.known.q.val() {
            self.sure.d.next = false;
            if !self.sure.q.val() {
                self.complete.d.next = true;
                self.frame.d.next = (self.frame.q.val() & (bits::<45>(0x1fff) << 32))
                    | bit_cast::<45, 32>(self.crc.q.val());
            }
        }
        self.early.next = self.sure.q.val()
            & !self.delay.q.val().any()
            & !self.known.q.val()
            & !self.frames.m.valid.val();

        // Words out.
        self.fetch.next = self.busy.q.val()
            & !self.reserved.q.val().get_bit(2)
            & (self.complete.q.val() | self.far.q.val());
        self.last.next = self.one.q.val();
        self.load.next = !self.busy.q.val() | (self.fetch.val() & self.last.val());
        self.frames.m.ready.next = self.load.val();
        self.words.rd.addr.next = self.head.q.val().get_bits::<B>(0);
        if self.fetch.val() {
            self.head.d.next = self.head.q.val() + 1;
            self.left.d.next = self.left.q.val() - 1;
            self.one.d.next = self.left.q.val() == 2;
            if self.left.q.val() == 3 {
                self.far.d.next = false;
            }
        }
        if self.load.val() {
            self.far.d.next = true;
            self.one.d.next = false;
            self.busy.d.next = self.frames.m.valid.val() | self.early.val();
            self.left.d.next = self.frames.m.data.val().get_bits::<10>(32);
            self.frame.d.next = self.frames.m.data.val();
            self.complete.d.next = true;
            if self.early.val() {
                self.left.d.next = self.sure_frame.q.val().get_bits::<10>(0);
                self.frame.d.next = bit_cast::<45, 13>(self.sure_frame.q.val()) << 32;
                self.complete.d.next = false;
                self.sure.d.next = false;
            }
        }
        self.delay.d.next = self.delay.q.val() - 1;
        if !self.delay.q.val().any() {
            self.delay.d.next = 0.into();
        }
        if self.s_sure.val() {
            self.sure.d.next = true;
            self.sure_frame.d.next = bit_cast::<13, 10>(self.s_words.val())
                | (bit_cast::<13, 1>(self.s_sure_two.val().into()) << 10)
                | (bit_cast::<13, 1>(self.s_sure_ack.val().into()) << 11)
                | (bit_cast::<13, 1>(self.s_sure_bulk.val().into()) << 12);
            self.delay.d.next = 0.into();
            if self.s_words.val() == 10 {
                self.delay.d.next = 1.into();
            }
            if self.s_words.val() == 9 {
                self.delay.d.next = 2.into();
            }
            if self.s_words.val() == 8 {
                self.delay.d.next = 3.into();
            }
        }
        self.flight_1.d.next = self.fetch.val();
        self.last_1.d.next = self.last.val();
        self.before_1.d.next = self.left.q.val() == 2;
        self.frame_1.d.next = self.frame.q.val();
        self.flight_2.d.next = self.flight_1.q.val();
        self.last_2.d.next = self.last_1.q.val();
        self.before_2.d.next = self.before_1.q.val();
        self.frame_2.d.next = self.frame_1.q.val();
        self.part.next = 0.into();
        if self.frame_2.q.val().get_bit(42) {
            if self.before_2.q.val() {
                self.part.next = bit_cast::<64, 16>(self.frame_2.q.val().get_bits::<16>(0)) << 48;
            }
            if self.last_2.q.val() {
                self.part.next = bit_cast::<64, 16>(self.frame_2.q.val().get_bits::<16>(16));
            }
        } else if self.last_2.q.val() {
            self.part.next = bit_cast::<64, 32>(self.frame_2.q.val().get_bits::<32>(0)) << 16;
        }
        self.ahead.s.valid.next = self.flight_2.q.val();
        self.ahead.s.data.next = bit_cast::<68, 64>(self.words.rd.data.val() | self.part.val())
            | (bit_cast::<68, 1>(self.last_2.q.val().into()) << 64)
            | (bit_cast::<68, 3>(self.frame_2.q.val().get_bits::<3>(42)) << 65);
        self.ahead.m.ready.next = self.m_ready.val();
        self.pop.next = self.ahead.m.valid.val() & self.m_ready.val();
        if self.fetch.val() & !self.pop.val() {
            self.reserved.d.next = self.reserved.q.val() + 1;
        }
        if self.pop.val() & !self.fetch.val() {
            self.reserved.d.next = self.reserved.q.val() - 1;
        }
        self.m_valid.next = self.ahead.m.valid.val();
        self.m_data.next = self.ahead.m.data.val().get_bits::<64>(0);
        self.m_last.next = self.ahead.m.data.val().get_bit(64);
        self.m_keep.next = 0xff.into();
        if self.ahead.m.data.val().get_bit(64) {
            self.m_keep.next = 0x3f.into();
            if self.ahead.m.data.val().get_bit(65) {
                self.m_keep.next = 0x03.into();
            }
        }
        self.gone.next = self.pop.val() & self.ahead.m.data.val().get_bit(64);
        self.r_sent.d.next = self.gone.val() & !self.ahead.m.data.val().get_bits::<2>(66).any();
        self.r_ack_sent.d.next = self.gone.val() & self.ahead.m.data.val().get_bit(66);
        self.ev_sent.next = self.r_sent.q.val();
        self.ev_ack_sent.next = self.r_ack_sent.q.val();
    }
}
