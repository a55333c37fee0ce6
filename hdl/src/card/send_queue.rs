//! Requests whose payload is being read, and the first words of it.

use crate::blocks::FifoAhead;
use crate::bus::{PayloadIn, PayloadOut, SendHeaderIn, SendHeaderOut};
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
        words: FifoAhead<69, 5>,
        queue: FifoAhead<338, 4>,
    }
}

impl Logic for CardSendQueue {
    #[hdl_gen]
    fn update(&mut self) {
        self.queue.s.valid.next = self.s_sd.valid.val();
        self.s_sd.ready.next = self.queue.s.ready.val();
        self.queue.s.data.next = bit_cast::<338, 16>(self.s_sd.node.val())
            | (bit_cast::<338, 24>(self.s_sd.peer.val()) << 16)
            | (bit_cast::<338, 24>(self.s_sd.psn.val()) << 40)
            | (bit_cast::<338, 32>(self.s_sd.q_key.val()) << 64)
            | (bit_cast::<338, 24>(self.s_sd.src.val()) << 96)
            | (bit_cast::<338, 8>(self.s_sd.vf.val()) << 120)
            | (bit_cast::<338, 16>(self.s_sd.win_id.val()) << 128)
            | (bit_cast::<338, 16>(self.s_sd.epoch.val()) << 144)
            | (bit_cast::<338, 32>(self.s_sd.msn.val()) << 160)
            | (bit_cast::<338, 128>(self.s_sd.head.val()) << 192)
            | (bit_cast::<338, 5>(self.s_sd.head_len.val()) << 320)
            | (bit_cast::<338, 13>(self.s_sd.len.val()) << 325);
        self.m_sd.valid.next = self.queue.m.valid.val();
        self.queue.m.ready.next = self.m_sd.ready.val();
        self.m_sd.node.next = self.queue.m.data.val().get_bits::<16>(0);
        self.m_sd.peer.next = self.queue.m.data.val().get_bits::<24>(16);
        self.m_sd.psn.next = self.queue.m.data.val().get_bits::<24>(40);
        self.m_sd.q_key.next = self.queue.m.data.val().get_bits::<32>(64);
        self.m_sd.src.next = self.queue.m.data.val().get_bits::<24>(96);
        self.m_sd.vf.next = self.queue.m.data.val().get_bits::<8>(120);
        self.m_sd.win_id.next = self.queue.m.data.val().get_bits::<16>(128);
        self.m_sd.epoch.next = self.queue.m.data.val().get_bits::<16>(144);
        self.m_sd.msn.next = self.queue.m.data.val().get_bits::<32>(160);
        self.m_sd.head.next = self.queue.m.data.val().get_bits::<128>(192);
        self.m_sd.head_len.next = self.queue.m.data.val().get_bits::<5>(320);
        self.m_sd.len.next = self.queue.m.data.val().get_bits::<13>(325);
        self.words.s.valid.next = self.s_pl.valid.val();
        self.s_pl.ready.next = self.words.s.ready.val();
        self.words.s.data.next = bit_cast::<69, 64>(self.s_pl.data.val())
            | (bit_cast::<69, 3>(self.s_pl.bytes.val()) << 64)
            | (bit_cast::<69, 1>(self.s_pl.last.val().into()) << 67)
            | (bit_cast::<69, 1>(self.s_pl.error.val().into()) << 68);
        self.m_pl.valid.next = self.words.m.valid.val();
        self.words.m.ready.next = self.m_pl.ready.val();
        self.m_pl.data.next = self.words.m.data.val().get_bits::<64>(0);
        self.m_pl.bytes.next = self.words.m.data.val().get_bits::<3>(64);
        self.m_pl.last.next = self.words.m.data.val().get_bit(67);
        self.m_pl.error.next = self.words.m.data.val().get_bit(68);
    }
}
