//! Requests whose payload is being read, and the first words of it.

use crate::blocks::FifoAhead;
use crate::prelude::*;

hdl_module! {
    /// Requests on their way from card_send to xud_tx, up to 16: as many reads of payload are under way, which is what
    /// small messages need where host memory answers after some hundred clocks. And up to 32 words of payload on their
    /// way from dma_read: the work requests behind them do not wait while xud_tx makes headers.
    /// Latency: 1 clock. Stages: 1, the queues.
    #[module("card_send_queue")]
    pub struct CardSendQueue {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset: forgets all.
        pub rst: Signal<In, Bit>,
        /// A request.
        pub s_sd_valid: Signal<In, Bit>,
        /// Taken.
        pub s_sd_ready: Signal<Out, Bit>,
        /// Destination node.
        pub s_sd_node: Signal<In, Bits<16>>,
        /// Destination queue pair.
        pub s_sd_peer: Signal<In, Bits<24>>,
        /// PSN.
        pub s_sd_psn: Signal<In, Bits<24>>,
        /// Q_Key.
        pub s_sd_q_key: Signal<In, Bits<32>>,
        /// Source queue pair.
        pub s_sd_src: Signal<In, Bits<24>>,
        /// Version and flags of the XUDETH.
        pub s_sd_vf: Signal<In, Bits<8>>,
        /// Window.
        pub s_sd_win_id: Signal<In, Bits<16>>,
        /// Epoch of the window.
        pub s_sd_epoch: Signal<In, Bits<16>>,
        /// Number of the message in its window.
        pub s_sd_msn: Signal<In, Bits<32>>,
        /// Bytes in front of the payload, first in bits 7:0.
        pub s_sd_head: Signal<In, Bits<128>>,
        /// How many of them count.
        pub s_sd_head_len: Signal<In, Bits<5>>,
        /// Bytes of payload.
        pub s_sd_len: Signal<In, Bits<13>>,
        /// A request.
        pub m_sd_valid: Signal<Out, Bit>,
        /// Taken.
        pub m_sd_ready: Signal<In, Bit>,
        /// Destination node.
        pub m_sd_node: Signal<Out, Bits<16>>,
        /// Destination queue pair.
        pub m_sd_peer: Signal<Out, Bits<24>>,
        /// PSN.
        pub m_sd_psn: Signal<Out, Bits<24>>,
        /// Q_Key.
        pub m_sd_q_key: Signal<Out, Bits<32>>,
        /// Source queue pair.
        pub m_sd_src: Signal<Out, Bits<24>>,
        /// Version and flags of the XUDETH.
        pub m_sd_vf: Signal<Out, Bits<8>>,
        /// Window.
        pub m_sd_win_id: Signal<Out, Bits<16>>,
        /// Epoch of the window.
        pub m_sd_epoch: Signal<Out, Bits<16>>,
        /// Number of the message in its window.
        pub m_sd_msn: Signal<Out, Bits<32>>,
        /// Bytes in front of the payload, first in bits 7:0.
        pub m_sd_head: Signal<Out, Bits<128>>,
        /// How many of them count.
        pub m_sd_head_len: Signal<Out, Bits<5>>,
        /// Bytes of payload.
        pub m_sd_len: Signal<Out, Bits<13>>,
        /// A word of payload.
        pub s_pl_valid: Signal<In, Bit>,
        /// Taken.
        pub s_pl_ready: Signal<Out, Bit>,
        /// The word.
        pub s_pl_data: Signal<In, Bits<64>>,
        /// Bytes in it, less one.
        pub s_pl_bytes: Signal<In, Bits<3>>,
        /// Last of its request.
        pub s_pl_last: Signal<In, Bit>,
        /// With the last: the read failed.
        pub s_pl_error: Signal<In, Bit>,
        /// A word of payload.
        pub m_pl_valid: Signal<Out, Bit>,
        /// Taken.
        pub m_pl_ready: Signal<In, Bit>,
        /// The word.
        pub m_pl_data: Signal<Out, Bits<64>>,
        /// Bytes in it, less one.
        pub m_pl_bytes: Signal<Out, Bits<3>>,
        /// Last of its request.
        pub m_pl_last: Signal<Out, Bit>,
        /// With the last: the read failed.
        pub m_pl_error: Signal<Out, Bit>,
        words: FifoAhead<69, 5>,
        queue: FifoAhead<338, 4>,
    }
}

impl Logic for CardSendQueue {
    #[hdl_gen]
    fn update(&mut self) {
        self.queue.s_valid.next = self.s_sd_valid.val();
        self.s_sd_ready.next = self.queue.s_ready.val();
        self.queue.s_data.next = bit_cast::<338, 16>(self.s_sd_node.val())
            | (bit_cast::<338, 24>(self.s_sd_peer.val()) << 16)
            | (bit_cast::<338, 24>(self.s_sd_psn.val()) << 40)
            | (bit_cast::<338, 32>(self.s_sd_q_key.val()) << 64)
            | (bit_cast::<338, 24>(self.s_sd_src.val()) << 96)
            | (bit_cast::<338, 8>(self.s_sd_vf.val()) << 120)
            | (bit_cast::<338, 16>(self.s_sd_win_id.val()) << 128)
            | (bit_cast::<338, 16>(self.s_sd_epoch.val()) << 144)
            | (bit_cast::<338, 32>(self.s_sd_msn.val()) << 160)
            | (bit_cast::<338, 128>(self.s_sd_head.val()) << 192)
            | (bit_cast::<338, 5>(self.s_sd_head_len.val()) << 320)
            | (bit_cast::<338, 13>(self.s_sd_len.val()) << 325);
        self.m_sd_valid.next = self.queue.m_valid.val();
        self.queue.m_ready.next = self.m_sd_ready.val();
        self.m_sd_node.next = self.queue.m_data.val().get_bits::<16>(0);
        self.m_sd_peer.next = self.queue.m_data.val().get_bits::<24>(16);
        self.m_sd_psn.next = self.queue.m_data.val().get_bits::<24>(40);
        self.m_sd_q_key.next = self.queue.m_data.val().get_bits::<32>(64);
        self.m_sd_src.next = self.queue.m_data.val().get_bits::<24>(96);
        self.m_sd_vf.next = self.queue.m_data.val().get_bits::<8>(120);
        self.m_sd_win_id.next = self.queue.m_data.val().get_bits::<16>(128);
        self.m_sd_epoch.next = self.queue.m_data.val().get_bits::<16>(144);
        self.m_sd_msn.next = self.queue.m_data.val().get_bits::<32>(160);
        self.m_sd_head.next = self.queue.m_data.val().get_bits::<128>(192);
        self.m_sd_head_len.next = self.queue.m_data.val().get_bits::<5>(320);
        self.m_sd_len.next = self.queue.m_data.val().get_bits::<13>(325);
        self.words.s_valid.next = self.s_pl_valid.val();
        self.s_pl_ready.next = self.words.s_ready.val();
        self.words.s_data.next = bit_cast::<69, 64>(self.s_pl_data.val())
            | (bit_cast::<69, 3>(self.s_pl_bytes.val()) << 64)
            | (bit_cast::<69, 1>(self.s_pl_last.val().into()) << 67)
            | (bit_cast::<69, 1>(self.s_pl_error.val().into()) << 68);
        self.m_pl_valid.next = self.words.m_valid.val();
        self.words.m_ready.next = self.m_pl_ready.val();
        self.m_pl_data.next = self.words.m_data.val().get_bits::<64>(0);
        self.m_pl_bytes.next = self.words.m_data.val().get_bits::<3>(64);
        self.m_pl_last.next = self.words.m_data.val().get_bit(67);
        self.m_pl_error.next = self.words.m_data.val().get_bit(68);
    }
}
