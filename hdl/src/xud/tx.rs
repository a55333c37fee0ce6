//! The line's output: requests and acknowledgements become frames.

mod buffer;
mod gather;
mod items;

pub use buffer::XudTxBuffer;
pub use gather::XudTxGather;
pub use items::XudTxItems;

use crate::bus::{AckToSendIn, AxisOut, BulkDeparturesIn, PayloadIn, SendHeaderIn};
use crate::prelude::*;

hdl_module! {
    /// Makes RoCEv2 frames of datagrams, acknowledgements and messages of bulk transfers, from node to node (node n:
    /// MAC 02:00 and the four bytes of 4,096 n, IPv4 10 and the three bytes of n). A frame is made in a buffer of 2^B words,
    /// B at least 11, begins to leave when nothing of it is missing any more, and leaves without a
    /// gap of its own while the next one is made. Headers are made while payload is awaited.
    /// Acknowledgements go first between frames, and before a frame of whose payload nothing is there. Whether a datagram or
    /// a bulk frame is next, bulk_line says at turn; s_pl and s_bulk_pl are payload of each, in its order.
    /// Throughput: a request takes 11 clocks and one for each 8 bytes or less of its head and of
    /// its payload; a bulk frame 10 and those of its payload; an acknowledgement 11, 10 without echo.
    /// Latency, with nothing before it: from taking a record with n words of head and payload to
    /// the first word on the line 17 + n clocks at most; from the last word of payload, if the
    /// headers are made, 6.
    /// Stages: items (xud_tx_items), words (xud_tx_gather), frames (xud_tx_buffer).
    /// While the MAC takes nothing the words at the output stay. Frames go on being made, up to the size of the buffer,
    /// and the ICRC of the one that leaves may come meanwhile.
    #[module("xud_tx_d{}", 1usize << B)]
    pub struct XudTx<const B: usize> {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset: forgets all frames.
        pub rst: Signal<In, Bit>,
        /// Requests to send.
        pub s_sd: SendHeaderIn,
        /// Their payload.
        pub s_pl: PayloadIn,
        /// A frame of a bulk transfer.
        pub s_bulk: BulkDeparturesIn,
        /// What follows the first 8 bytes of its body; if that fails nothing is sent.
        pub s_bulk_pl: PayloadIn,
        /// Of both the bulk frame is next.
        pub turn: Signal<In, Bit>,
        /// Neither is taken.
        pub stop: Signal<In, Bit>,
        /// A request was not sent.
        pub m_fail_valid: Signal<Out, Bit>,
        /// That is taken.
        pub m_fail_ready: Signal<In, Bit>,
        /// Its source queue pair.
        pub m_fail_qpn: Signal<Out, Bits<24>>,
        /// Its packet number.
        pub m_fail_psn: Signal<Out, Bits<24>>,
        /// Acknowledgements to send.
        pub s_ak: AckToSendIn,
        /// AXI4-Stream to the MAC.
        pub m_axis_tx: AxisOut<64, 8>,
        /// Node number of this card.
        pub cfg_node: Signal<In, Bits<20>>,
        /// Switches may mark frames (CL-4): ECT(0).
        pub cfg_marks: Signal<In, Bit>,
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
        self.items.cfg_marks.next = self.cfg_marks.val();
        self.items.s_sd_valid.next = self.s_sd.valid.val();
        self.s_sd.ready.next = self.items.s_sd_ready.val();
        self.items.s_sd_node.next = self.s_sd.of.val().node;
        self.items.s_sd_peer.next = self.s_sd.of.val().peer;
        self.items.s_sd_psn.next = self.s_sd.of.val().psn;
        self.items.s_sd_body.next = (bit_cast::<128, 32>(self.s_sd.of.val().q_key) << 96)
            | (bit_cast::<128, 24>(self.s_sd.of.val().src) << 72)
            | (bit_cast::<128, 8>(self.s_sd.of.val().vf) << 64)
            | (bit_cast::<128, 16>(self.s_sd.of.val().win_id) << 48)
            | (bit_cast::<128, 16>(self.s_sd.of.val().epoch) << 32)
            | bit_cast::<128, 32>(self.s_sd.of.val().msn);
        self.items.s_sd_head.next = self.s_sd.of.val().head;
        self.items.s_sd_head_len.next = self.s_sd.of.val().head_len;
        self.items.s_sd_len.next = self.s_sd.of.val().len;
        PayloadIn::link(&mut self.s_pl, &mut self.items.s_pl);
        BulkDeparturesIn::link(&mut self.s_bulk, &mut self.items.s_bulk);
        PayloadIn::link(&mut self.s_bulk_pl, &mut self.items.s_bulk_pl);
        self.items.turn.next = self.turn.val();
        self.items.stop.next = self.stop.val();
        self.m_fail_valid.next = self.items.m_fail_valid.val();
        self.items.m_fail_ready.next = self.m_fail_ready.val();
        self.m_fail_qpn.next = self.items.m_fail_qpn.val();
        self.m_fail_psn.next = self.items.m_fail_psn.val();
        self.items.s_ak_valid.next = self.s_ak.valid.val();
        self.s_ak.ready.next = self.items.s_ak_ready.val();
        self.items.s_ak_node.next = self.s_ak.of.val().node;
        self.items.s_ak_peer.next = self.s_ak.of.val().peer;
        self.items.s_ak_psn.next = self.s_ak.of.val().psn;
        self.items.s_ak_echo.next = self.s_ak.of.val().echo;
        self.items.s_ak_marked.next = self.s_ak.of.val().marked;
        self.items.s_ak_body.next = (bit_cast::<128, 8>(self.s_ak.of.val().syndrome) << 120)
            | (bit_cast::<128, 24>(self.s_ak.of.val().psn) << 96)
            | (bit_cast::<128, 16>(self.s_ak.of.val().win_id) << 80)
            | (bit_cast::<128, 16>(self.s_ak.of.val().epoch) << 64)
            | (bit_cast::<128, 32>(self.s_ak.of.val().msn) << 32)
            | (bit_cast::<128, 24>(self.s_ak.of.val().src) << 8)
            | bit_cast::<128, 8>(self.s_ak.of.val().vf);

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
        self.buffer.s_sure_bulk.next = self.items.m_bulk.val();
        self.m_axis_tx.tvalid.next = self.buffer.m_valid.val();
        self.buffer.m_ready.next = self.m_axis_tx.tready.val();
        self.m_axis_tx.tdata.next = self.buffer.m_data.val();
        self.m_axis_tx.tkeep.next = self.buffer.m_keep.val();
        self.m_axis_tx.tlast.next = self.buffer.m_last.val();
        self.ev_sent.next = self.buffer.ev_sent.val();
        self.ev_ack_sent.next = self.buffer.ev_ack_sent.val();
    }
}
