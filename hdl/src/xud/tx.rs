//! The line's output: requests and acknowledgements become frames.

mod buffer;
mod gather;
mod items;

pub use buffer::XudTxBuffer;
pub use gather::XudTxGather;
pub use items::XudTxItems;

use crate::prelude::*;

hdl_module! {
    /// Makes RoCEv2 frames of datagrams and acknowledgements, from node to node (MAC
    /// 02:00:00:00:hh:ll, IPv4 10.0.hh.ll for node hhll). A frame is made in a buffer of 2^B words,
    /// B at least 11, begins to leave when nothing of it is missing any more, and leaves without a
    /// gap of its own while the next one is made. Headers are made while payload is awaited.
    /// Acknowledgements go first between frames, and before a frame of whose payload nothing is there.
    /// Throughput: a request takes 11 clocks and one for each 8 bytes or less of its head and of
    /// its payload; an acknowledgement 11, 10 without echo.
    /// Latency, with nothing before it: from taking a record with n words of head and payload to
    /// the first word on the line 17 + n clocks at most; from the last word of payload, if the
    /// headers are made, 6.
    /// Stages: items (xud_tx_items), words (xud_tx_gather), frames (xud_tx_buffer).
    #[module("xud_tx_d{}", 1usize << B)]
    pub struct XudTx<const B: usize> {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset: forgets all frames.
        pub rst: Signal<In, Bit>,
        /// A request.
        pub s_sd_valid: Signal<In, Bit>,
        /// It is taken.
        pub s_sd_ready: Signal<Out, Bit>,
        /// Destination node.
        pub s_sd_node: Signal<In, Bits<16>>,
        /// Destination queue pair.
        pub s_sd_peer: Signal<In, Bits<24>>,
        /// Packet number.
        pub s_sd_psn: Signal<In, Bits<24>>,
        /// Q_Key.
        pub s_sd_q_key: Signal<In, Bits<32>>,
        /// Source queue pair.
        pub s_sd_src: Signal<In, Bits<24>>,
        /// Version 7:4 and flags 3:0.
        pub s_sd_vf: Signal<In, Bits<8>>,
        /// Window.
        pub s_sd_win_id: Signal<In, Bits<16>>,
        /// Epoch.
        pub s_sd_epoch: Signal<In, Bits<16>>,
        /// Number in the window.
        pub s_sd_msn: Signal<In, Bits<32>>,
        /// Bytes in front of the payload, first one in bits 7:0.
        pub s_sd_head: Signal<In, Bits<128>>,
        /// How many, 0 to 16.
        pub s_sd_head_len: Signal<In, Bits<5>>,
        /// Bytes of payload; with the head at most 4,096.
        pub s_sd_len: Signal<In, Bits<13>>,
        /// A word of payload.
        pub s_pl_valid: Signal<In, Bit>,
        /// It is taken.
        pub s_pl_ready: Signal<Out, Bit>,
        /// The word, first byte in bits 7:0.
        pub s_pl_data: Signal<In, Bits<64>>,
        /// Bytes in it, less one; 8 but in the last word.
        pub s_pl_bytes: Signal<In, Bits<3>>,
        /// It is the request's last.
        pub s_pl_last: Signal<In, Bit>,
        /// With the last word: the payload is not valid, nothing is sent.
        pub s_pl_error: Signal<In, Bit>,
        /// A request was not sent.
        pub m_fail_valid: Signal<Out, Bit>,
        /// That is taken.
        pub m_fail_ready: Signal<In, Bit>,
        /// Its source queue pair.
        pub m_fail_qpn: Signal<Out, Bits<24>>,
        /// Its packet number.
        pub m_fail_psn: Signal<Out, Bits<24>>,
        /// An acknowledgement.
        pub s_ak_valid: Signal<In, Bit>,
        /// It is taken.
        pub s_ak_ready: Signal<Out, Bit>,
        /// Destination node.
        pub s_ak_node: Signal<In, Bits<16>>,
        /// Destination queue pair.
        pub s_ak_peer: Signal<In, Bits<24>>,
        /// Packet number of the request.
        pub s_ak_psn: Signal<In, Bits<24>>,
        /// AETH syndrome.
        pub s_ak_syndrome: Signal<In, Bits<8>>,
        /// It has the fields from here on (version 1).
        pub s_ak_echo: Signal<In, Bit>,
        /// Window of the request.
        pub s_ak_win_id: Signal<In, Bits<16>>,
        /// Its epoch.
        pub s_ak_epoch: Signal<In, Bits<16>>,
        /// Its number in the window.
        pub s_ak_msn: Signal<In, Bits<32>>,
        /// Its version 7:4 and flags 3:0.
        pub s_ak_vf: Signal<In, Bits<8>>,
        /// The queue pair that answers.
        pub s_ak_src: Signal<In, Bits<24>>,
        /// AXI4-Stream to the MAC: a word.
        pub m_axis_tx_tvalid: Signal<Out, Bit>,
        /// It is taken.
        pub m_axis_tx_tready: Signal<In, Bit>,
        /// First byte in bits 7:0.
        pub m_axis_tx_tdata: Signal<Out, Bits<64>>,
        /// Bytes present, from bit 0 on.
        pub m_axis_tx_tkeep: Signal<Out, Bits<8>>,
        /// Last word of the frame.
        pub m_axis_tx_tlast: Signal<Out, Bit>,
        /// Node number of this card.
        pub cfg_node: Signal<In, Bits<16>>,
        /// A request has left.
        pub ev_sent: Signal<Out, Bit>,
        /// An acknowledgement has left.
        pub ev_ack_sent: Signal<Out, Bit>,
        items: XudTxItems,
        gather: XudTxGather,
        buffer: XudTxBuffer<B>,
    }
}

impl<const B: usize> Logic for XudTx<B> {
    #[hdl_gen]
    fn update(&mut self) {
        self.items.room.next = self.buffer.room.val();
        self.items.cfg_node.next = self.cfg_node.val();
        self.items.s_sd_valid.next = self.s_sd_valid.val();
        self.s_sd_ready.next = self.items.s_sd_ready.val();
        self.items.s_sd_node.next = self.s_sd_node.val();
        self.items.s_sd_peer.next = self.s_sd_peer.val();
        self.items.s_sd_psn.next = self.s_sd_psn.val();
        self.items.s_sd_body.next = (bit_cast::<128, 32>(self.s_sd_q_key.val()) << 96)
            | (bit_cast::<128, 24>(self.s_sd_src.val()) << 72)
            | (bit_cast::<128, 8>(self.s_sd_vf.val()) << 64)
            | (bit_cast::<128, 16>(self.s_sd_win_id.val()) << 48)
            | (bit_cast::<128, 16>(self.s_sd_epoch.val()) << 32)
            | bit_cast::<128, 32>(self.s_sd_msn.val());
        self.items.s_sd_head.next = self.s_sd_head.val();
        self.items.s_sd_head_len.next = self.s_sd_head_len.val();
        self.items.s_sd_len.next = self.s_sd_len.val();
        self.items.s_pl_valid.next = self.s_pl_valid.val();
        self.s_pl_ready.next = self.items.s_pl_ready.val();
        self.items.s_pl_data.next = self.s_pl_data.val();
        self.items.s_pl_bytes.next = self.s_pl_bytes.val();
        self.items.s_pl_last.next = self.s_pl_last.val();
        self.items.s_pl_error.next = self.s_pl_error.val();
        self.m_fail_valid.next = self.items.m_fail_valid.val();
        self.items.m_fail_ready.next = self.m_fail_ready.val();
        self.m_fail_qpn.next = self.items.m_fail_qpn.val();
        self.m_fail_psn.next = self.items.m_fail_psn.val();
        self.items.s_ak_valid.next = self.s_ak_valid.val();
        self.s_ak_ready.next = self.items.s_ak_ready.val();
        self.items.s_ak_node.next = self.s_ak_node.val();
        self.items.s_ak_peer.next = self.s_ak_peer.val();
        self.items.s_ak_psn.next = self.s_ak_psn.val();
        self.items.s_ak_echo.next = self.s_ak_echo.val();
        self.items.s_ak_body.next = (bit_cast::<128, 8>(self.s_ak_syndrome.val()) << 120)
            | (bit_cast::<128, 24>(self.s_ak_psn.val()) << 96)
            | (bit_cast::<128, 16>(self.s_ak_win_id.val()) << 80)
            | (bit_cast::<128, 16>(self.s_ak_epoch.val()) << 64)
            | (bit_cast::<128, 32>(self.s_ak_msn.val()) << 32)
            | (bit_cast::<128, 24>(self.s_ak_src.val()) << 8)
            | bit_cast::<128, 8>(self.s_ak_vf.val());

        self.gather.s_valid.next = self.items.m_valid.val();
        self.gather.s_data.next = self.items.m_data.val();
        self.gather.s_bytes.next = self.items.m_bytes.val();
        self.gather.s_flush.next = self.items.m_flush.val();
        self.gather.s_kind.next = self.items.m_kind.val();

        self.buffer.s_valid.next = self.gather.m_valid.val();
        self.buffer.s_data.next = self.gather.m_data.val();
        self.buffer.s_last.next = self.gather.m_last.val();
        self.buffer.s_two.next = self.gather.m_two.val();
        self.buffer.s_kind.next = self.gather.m_kind.val();
        self.buffer.s_sure.next = self.items.m_sure.val();
        self.buffer.s_words.next = self.items.m_words.val();
        self.buffer.s_sure_two.next = self.items.m_two.val();
        self.buffer.s_sure_ack.next = self.items.m_ack.val();
        self.m_axis_tx_tvalid.next = self.buffer.m_valid.val();
        self.buffer.m_ready.next = self.m_axis_tx_tready.val();
        self.m_axis_tx_tdata.next = self.buffer.m_data.val();
        self.m_axis_tx_tkeep.next = self.buffer.m_keep.val();
        self.m_axis_tx_tlast.next = self.buffer.m_last.val();
        self.ev_sent.next = self.buffer.ev_sent.val();
        self.ev_ack_sent.next = self.buffer.ev_ack_sent.val();
    }
}
