//! Payload of datagrams is read when there is room for it.

use crate::blocks::{FifoBram, FifoReg, Pow2};
use crate::bus::{DmaRequestIn, DmaRequestOut, PayloadIn, PayloadOut, PayloadWord};
use crate::prelude::*;
use crate::record::{ReadClient, ReadContext};

hdl_module! {
    /// Between card_send and the DMA reader, in cards with bulk transfers: a read of payload is asked for when all its words
    /// have room here, and they wait here for xud_tx. Words come in the order of requests, so without that those of bulk
    /// transfers behind them would wait until datagrams have left, and would miss their turns at the line (BW-4). Reads of
    /// work requests wait behind a payload that waits.
    /// Two payloads of 4,096 bytes have room at least, so one is read while the other leaves: 2^A words, A = 10 or more.
    /// Latency: a read 2 clocks, words 4. Stages: 1 the read that is offered; 2 whether it fits.
    /// While m_rd is not taken the read stays; words go on. While m_pl is not taken words come in, which all have room.
    #[module("card_send_room_d{}", 1usize << A)]
    pub struct CardSendRoom<const A: usize> {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset, with the DMA reader.
        pub rst: Signal<In, Bit>,
        /// Reads of card_send.
        pub s_rd: DmaRequestIn,
        /// Those that may ask.
        pub m_rd: DmaRequestOut,
        /// Words of payload; always taken.
        pub s_pl: PayloadIn,
        /// The same, for xud_tx.
        pub m_pl: PayloadOut,
        /// No read waits, no word is to come or here.
        pub m_idle: Signal<Out, Bit>,

        context: Signal<Local, ReadContext>,
        /// A read that waits for room, or may ask.
        reads: FifoReg<93, 1>,
        /// Words of the read in front; they fit.
        words: Signal<Local, Bits<16>>,
        is_payload: Signal<Local, Bit>,
        fits: DFF<Bit>,
        /// The read in front is the same one as a clock ago.
        #[reset] stays: DFF<Bit>,
        asks: Signal<Local, Bit>,
        /// Words that were asked for and have not left.
        #[reset] taken: DFF<Bits<16>>,
        more: Signal<Local, Bits<16>>,
        fewer: Signal<Local, Bits<16>>,
        buffer: FifoBram<{ PayloadWord::BITS }, A>,
        depth: Pow2<16, A>,
        payload: Param<{ ReadClient::Payload as usize }, 2>,
    }
}

impl<const A: usize> Logic for CardSendRoom<A> {
    #[hdl_gen]
    fn update(&mut self) {
        // Stage 1.
        self.reads.s.valid.next = self.s_rd.valid.val();
        self.s_rd.ready.next = self.reads.s.ready.val();
        self.reads.s.data.next = self.s_rd.of.val().to_bits();
        self.m_rd.of.next = self.reads.m.data.val().into();
        self.context.next = self.m_rd.of.val().ctx.into();
        self.is_payload.next = self.context.val().client == self.payload.val();
        self.words.next = bit_cast::<16, 13>((self.m_rd.of.val().len + 7) >> 3);

        // Stage 2: words that leave meanwhile only make more room.
        self.fits.d.next = (self.taken.q.val() + self.words.val()) <= self.depth.val();
        self.asks.next = self.reads.m.valid.val()
            & self.stays.q.val()
            & (self.fits.q.val() | !self.is_payload.val());
        self.m_rd.valid.next = self.asks.val();
        self.reads.m.ready.next = self.asks.val() & self.m_rd.ready.val();
        self.stays.d.next = self.reads.m.valid.val() & !self.reads.m.ready.val();

        // Words.
        self.buffer.s.valid.next = self.s_pl.valid.val();
        self.s_pl.ready.next = self.buffer.s.ready.val();
        self.buffer.s.data.next = self.s_pl.of.val().to_bits();
        self.buffer.almost_at.next = self.depth.val();
        self.m_pl.valid.next = self.buffer.m.valid.val();
        self.buffer.m.ready.next = self.m_pl.ready.val();
        self.m_pl.of.next = self.buffer.m.data.val().into();
        self.more.next = 0.into();
        if self.reads.m.ready.val() & self.is_payload.val() {
            self.more.next = self.words.val();
        }
        self.fewer.next = bit_cast::<16, 1>((self.m_pl.valid.val() & self.m_pl.ready.val()).into());
        self.taken.d.next = self.taken.q.val() + self.more.val() - self.fewer.val();
        self.m_idle.next = !self.reads.m.valid.val() & !self.taken.q.val().any();
    }
}
