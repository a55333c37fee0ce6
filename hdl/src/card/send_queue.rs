//! Requests whose payload is being read, and the first words of it.

use crate::blocks::FifoAhead;
use crate::bus::{PayloadIn, PayloadOut, PayloadWord, SendHeaderIn, SendHeaderOut, ToSend};
use crate::prelude::*;

hdl_module! {
    /// Requests on their way from card_send to xud_tx, up to 16: as many reads of payload are under way, which is what
    /// small messages need where host memory answers after some hundred clocks. And up to 32 words of payload on their
    /// way from dma_read: the work requests behind them do not wait while xud_tx makes headers.
    /// Latency: 1 clock. Stages: 1, the queues.
    /// While nobody takes a request or a word, those behind it come into the queues; the oldest stays.
    #[module("card_send_queue")]
    pub struct CardSendQueue {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset: forgets all.
        pub rst: Signal<In, Bit>,
        /// Requests in.
        pub s_sd: SendHeaderIn,
        /// Requests out.
        pub m_sd: SendHeaderOut,
        /// Payload in.
        pub s_pl: PayloadIn,
        /// Payload out.
        pub m_pl: PayloadOut,
        words: FifoAhead<{ PayloadWord::BITS }, 5>,
        queue: FifoAhead<{ ToSend::BITS }, 4>,
    }
}

impl Logic for CardSendQueue {
    #[hdl_gen]
    fn update(&mut self) {
        self.queue.s.valid.next = self.s_sd.valid.val();
        self.s_sd.ready.next = self.queue.s.ready.val();
        self.queue.s.data.next = self.s_sd.of.val().to_bits();
        self.m_sd.valid.next = self.queue.m.valid.val();
        self.queue.m.ready.next = self.m_sd.ready.val();
        self.m_sd.of.next = self.queue.m.data.val().into();
        self.words.s.valid.next = self.s_pl.valid.val();
        self.s_pl.ready.next = self.words.s.ready.val();
        self.words.s.data.next = self.s_pl.of.val().to_bits();
        self.m_pl.valid.next = self.words.m.valid.val();
        self.words.m.ready.next = self.m_pl.ready.val();
        self.m_pl.of.next = self.words.m.data.val().into();
    }
}
