//! Completion queues.

use super::cq_indices::CardCqIndices;
use super::cq_moderation::CardCqModeration;
use super::cq_write::CardCqWrite;
use crate::blocks::HalfSlice;
use crate::prelude::*;

hdl_module! {
    /// Completion rings of 2^LQ queue pairs: gives slots away before they are needed, so that no
    /// ring overruns, writes completions to host memory in one request of 64 bytes each, and asks for
    /// interrupts.
    /// A completion leaves every 10 clocks, with a slot asked for and two doorbells each; its first
    /// word and its request are offered 7 and 9 clocks after the record was taken. A slot asked for
    /// is answered within 7 clocks if nothing else is asked of the block.
    /// Only clients that had a slot offer records: this block does not check that.
    /// LQ at most 13. Doorbells: up to 48 without a pause, then 4 in 10 clocks.
    #[module("card_cq_q{}", 1usize << LQ)]
    pub struct CardCq<const LQ: usize> {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset: no ring is there. In the 2^LQ clocks after it slots wait and contexts are lost.
        pub rst: Signal<In, Bit>,
        /// Context of a queue pair: a word of it. Words 0, 4 and 6 are looked at.
        pub cfg_valid: Signal<In, Bit>,
        /// Queue pair.
        pub cfg_qpn: Signal<In, Bits<LQ>>,
        /// Word.
        pub cfg_word: Signal<In, Bits<3>>,
        /// Its value.
        pub cfg_data: Signal<In, Bits<64>>,
        /// Fewest clocks between two interrupts of a vector.
        pub cfg_moderation: Signal<In, Bits<16>>,
        /// A doorbell.
        pub db_valid: Signal<In, Bit>,
        /// Queue pair.
        pub db_qpn: Signal<In, Bits<LQ>>,
        /// 2 complete, 3 arm; others are not for this block.
        pub db_kind: Signal<In, Bits<2>>,
        /// New index.
        pub db_index: Signal<In, Bits<16>>,
        /// The sender asks for a slot, until answered.
        pub a_rsv_valid: Signal<In, Bit>,
        /// Queue pair.
        pub a_rsv_qpn: Signal<In, Bits<LQ>>,
        /// Answered.
        pub a_rsv_done: Signal<Out, Bit>,
        /// With it: a slot was free and is kept.
        pub a_rsv_ok: Signal<Out, Bit>,
        /// The sender gives a slot back.
        pub a_cancel_valid: Signal<In, Bit>,
        /// Queue pair.
        pub a_cancel_qpn: Signal<In, Bits<LQ>>,
        /// The receiver asks for a slot, until answered.
        pub b_rsv_valid: Signal<In, Bit>,
        /// Queue pair.
        pub b_rsv_qpn: Signal<In, Bits<LQ>>,
        /// Answered.
        pub b_rsv_done: Signal<Out, Bit>,
        /// With it: a slot was free and is kept.
        pub b_rsv_ok: Signal<Out, Bit>,
        /// A work request has ended.
        pub s_tx_valid: Signal<In, Bit>,
        /// Taken.
        pub s_tx_ready: Signal<Out, Bit>,
        /// Queue pair.
        pub s_tx_qpn: Signal<In, Bits<LQ>>,
        /// User's name for the request.
        pub s_tx_wr_id: Signal<In, Bits<64>>,
        /// How it ended.
        pub s_tx_status: Signal<In, Bits<8>>,
        /// Version and flags of the XUDETH.
        pub s_tx_vf: Signal<In, Bits<8>>,
        /// Bytes received.
        pub s_tx_len: Signal<In, Bits<13>>,
        /// Node of the peer.
        pub s_tx_node: Signal<In, Bits<16>>,
        /// Queue pair of the peer.
        pub s_tx_peer: Signal<In, Bits<24>>,
        /// Window.
        pub s_tx_win_id: Signal<In, Bits<16>>,
        /// Epoch.
        pub s_tx_epoch: Signal<In, Bits<16>>,
        /// Number in the window.
        pub s_tx_msn: Signal<In, Bits<32>>,
        /// Q_Key of the packet.
        pub s_tx_q_key: Signal<In, Bits<32>>,
        /// PSN of the packet.
        pub s_tx_psn: Signal<In, Bits<24>>,
        /// Number of the request in its ring.
        pub s_tx_request: Signal<In, Bits<16>>,
        /// A receive request has ended.
        pub s_rx_valid: Signal<In, Bit>,
        /// Taken.
        pub s_rx_ready: Signal<Out, Bit>,
        /// Queue pair.
        pub s_rx_qpn: Signal<In, Bits<LQ>>,
        /// User's name for the request.
        pub s_rx_wr_id: Signal<In, Bits<64>>,
        /// How it ended.
        pub s_rx_status: Signal<In, Bits<8>>,
        /// Version and flags of the XUDETH.
        pub s_rx_vf: Signal<In, Bits<8>>,
        /// Bytes received.
        pub s_rx_len: Signal<In, Bits<13>>,
        /// Node of the peer.
        pub s_rx_node: Signal<In, Bits<16>>,
        /// Queue pair of the peer.
        pub s_rx_peer: Signal<In, Bits<24>>,
        /// Window.
        pub s_rx_win_id: Signal<In, Bits<16>>,
        /// Epoch.
        pub s_rx_epoch: Signal<In, Bits<16>>,
        /// Number in the window.
        pub s_rx_msn: Signal<In, Bits<32>>,
        /// Q_Key of the packet.
        pub s_rx_q_key: Signal<In, Bits<32>>,
        /// PSN of the packet.
        pub s_rx_psn: Signal<In, Bits<24>>,
        /// Number of the request in its ring.
        pub s_rx_request: Signal<In, Bits<16>>,
        /// Request to dma_write.
        pub m_wr_valid: Signal<Out, Bit>,
        /// Taken.
        pub m_wr_ready: Signal<In, Bit>,
        /// Address of the entry.
        pub m_wr_addr: Signal<Out, Bits<64>>,
        /// 64 bytes.
        pub m_wr_len: Signal<Out, Bits<13>>,
        /// Context: 1 in 15:14, recv in 13, queue pair below.
        pub m_wr_ctx: Signal<Out, Bits<16>>,
        /// A word of the entry.
        pub m_wd_valid: Signal<Out, Bit>,
        /// Taken.
        pub m_wd_ready: Signal<In, Bit>,
        /// The word.
        pub m_wd_data: Signal<Out, Bits<64>>,
        /// A request is done in dma_write, in order; those of other clients are not looked at.
        pub done_valid: Signal<In, Bit>,
        /// Its context.
        pub done_ctx: Signal<In, Bits<16>>,
        /// A completion of the receiver is done (XUD-4).
        pub m_landed: Signal<Out, Bit>,
        /// An interrupt.
        pub m_irq_valid: Signal<Out, Bit>,
        /// Taken.
        pub m_irq_ready: Signal<In, Bit>,
        /// Its vector.
        pub m_irq_vector: Signal<Out, Bits<3>>,
        /// A doorbell was ignored.
        pub ev_bad_doorbell: Signal<Out, Bit>,
        /// Nothing is under way; interrupts that wait do not count.
        pub m_idle: Signal<Out, Bit>,

        /// Records that came, from far: queue pair above the fields.
        tx: HalfSlice<285>,
        rx: HalfSlice<285>,
        indices: CardCqIndices<LQ>,
        write: CardCqWrite<LQ>,
        moderation: CardCqModeration,
        /// Configuration and doorbells, registered as they come from far.
        #[reset] c_valid: DFF<Bit>,
        c_qpn: DFF<Bits<LQ>>,
        c_word: DFF<Bits<3>>,
        c_data: DFF<Bits<64>>,
        #[reset] d_valid: DFF<Bit>,
        d_qpn: DFF<Bits<LQ>>,
        d_kind: DFF<Bits<2>>,
        d_index: DFF<Bits<16>>,
        /// A completion is done, of the receiver, of this queue pair.
        #[reset] end: DFF<Bit>,
        #[reset] landed: DFF<Bit>,
        end_qpn: DFF<Bits<LQ>>,
    }
}

impl<const LQ: usize> Logic for CardCq<LQ> {
    #[hdl_gen]
    fn update(&mut self) {
        self.c_valid.d.next = self.cfg_valid.val();
        self.indices.cfg_valid.next = self.c_valid.q.val();
        self.c_qpn.d.next = self.cfg_qpn.val();
        self.indices.cfg_qpn.next = self.c_qpn.q.val();
        self.c_word.d.next = self.cfg_word.val();
        self.indices.cfg_word.next = self.c_word.q.val();
        self.c_data.d.next = self.cfg_data.val();
        self.indices.cfg_data.next = self.c_data.q.val();
        self.d_valid.d.next = self.db_valid.val();
        self.indices.db_valid.next = self.d_valid.q.val();
        self.d_qpn.d.next = self.db_qpn.val();
        self.indices.db_qpn.next = self.d_qpn.q.val();
        self.d_kind.d.next = self.db_kind.val();
        self.indices.db_kind.next = self.d_kind.q.val();
        self.d_index.d.next = self.db_index.val();
        self.indices.db_index.next = self.d_index.q.val();
        self.indices.a_rsv_valid.next = self.a_rsv_valid.val();
        self.indices.a_rsv_qpn.next = self.a_rsv_qpn.val();
        self.a_rsv_done.next = self.indices.a_rsv_done.val();
        self.a_rsv_ok.next = self.indices.a_rsv_ok.val();
        self.indices.a_cancel_valid.next = self.a_cancel_valid.val();
        self.indices.a_cancel_qpn.next = self.a_cancel_qpn.val();
        self.indices.b_rsv_valid.next = self.b_rsv_valid.val();
        self.indices.b_rsv_qpn.next = self.b_rsv_qpn.val();
        self.b_rsv_done.next = self.indices.b_rsv_done.val();
        self.b_rsv_ok.next = self.indices.b_rsv_ok.val();
        self.ev_bad_doorbell.next = self.indices.ev_bad_doorbell.val();

        self.tx.s_valid.next = self.s_tx_valid.val();
        self.s_tx_ready.next = self.tx.s_ready.val();
        self.tx.s_data.next = bit_cast::<285, 64>(self.s_tx_wr_id.val())
            | (bit_cast::<285, 8>(self.s_tx_status.val()) << 64)
            | (bit_cast::<285, 8>(self.s_tx_vf.val()) << 72)
            | (bit_cast::<285, 13>(self.s_tx_len.val()) << 80)
            | (bit_cast::<285, 16>(self.s_tx_node.val()) << 93)
            | (bit_cast::<285, 24>(self.s_tx_peer.val()) << 109)
            | (bit_cast::<285, 16>(self.s_tx_win_id.val()) << 133)
            | (bit_cast::<285, 16>(self.s_tx_epoch.val()) << 149)
            | (bit_cast::<285, 32>(self.s_tx_msn.val()) << 165)
            | (bit_cast::<285, 32>(self.s_tx_q_key.val()) << 197)
            | (bit_cast::<285, 24>(self.s_tx_psn.val()) << 229)
            | (bit_cast::<285, 16>(self.s_tx_request.val()) << 253)
            | (bit_cast::<285, LQ>(self.s_tx_qpn.val()) << 269);
        self.write.s_tx_valid.next = self.tx.m_valid.val();
        self.tx.m_ready.next = self.write.s_tx_ready.val();
        self.write.s_tx_qpn.next = bit_cast::<LQ, 285>(self.tx.m_data.val() >> 269);
        self.write.s_tx_record.next = self.tx.m_data.val().get_bits::<269>(0);
        self.rx.s_valid.next = self.s_rx_valid.val();
        self.s_rx_ready.next = self.rx.s_ready.val();
        self.rx.s_data.next = bit_cast::<285, 64>(self.s_rx_wr_id.val())
            | (bit_cast::<285, 8>(self.s_rx_status.val()) << 64)
            | (bit_cast::<285, 8>(self.s_rx_vf.val()) << 72)
            | (bit_cast::<285, 13>(self.s_rx_len.val()) << 80)
            | (bit_cast::<285, 16>(self.s_rx_node.val()) << 93)
            | (bit_cast::<285, 24>(self.s_rx_peer.val()) << 109)
            | (bit_cast::<285, 16>(self.s_rx_win_id.val()) << 133)
            | (bit_cast::<285, 16>(self.s_rx_epoch.val()) << 149)
            | (bit_cast::<285, 32>(self.s_rx_msn.val()) << 165)
            | (bit_cast::<285, 32>(self.s_rx_q_key.val()) << 197)
            | (bit_cast::<285, 24>(self.s_rx_psn.val()) << 229)
            | (bit_cast::<285, 16>(self.s_rx_request.val()) << 253)
            | (bit_cast::<285, LQ>(self.s_rx_qpn.val()) << 269);
        self.write.s_rx_valid.next = self.rx.m_valid.val();
        self.rx.m_ready.next = self.write.s_rx_ready.val();
        self.write.s_rx_qpn.next = bit_cast::<LQ, 285>(self.rx.m_data.val() >> 269);
        self.write.s_rx_record.next = self.rx.m_data.val().get_bits::<269>(0);
        self.indices.num_valid.next = self.write.num_valid.val();
        self.indices.num_qpn.next = self.write.num_qpn.val();
        self.write.num_ready.next = self.indices.num_ready.val();
        self.write.s_num_valid.next = self.indices.m_num_valid.val();
        self.write.s_num.next = self.indices.m_num.val();
        self.write.s_phase.next = self.indices.m_phase.val();
        self.write.s_entry.next = self.indices.m_entry.val();
        self.write.s_base.next = self.indices.m_base.val();
        self.write.end_taken.next = self.indices.end_taken.val();
        self.m_wr_valid.next = self.write.m_wr_valid.val();
        self.write.m_wr_ready.next = self.m_wr_ready.val();
        self.m_wr_addr.next = self.write.m_wr_addr.val();
        self.m_wr_len.next = self.write.m_wr_len.val();
        self.m_wr_ctx.next = self.write.m_wr_ctx.val();
        self.m_wd_valid.next = self.write.m_wd_valid.val();
        self.write.m_wd_ready.next = self.m_wd_ready.val();
        self.m_wd_data.next = self.write.m_wd_data.val();

        self.end.d.next = self.done_valid.val() & (self.done_ctx.val().get_bits::<2>(14) == 1);
        self.landed.d.next = self.done_valid.val()
            & (self.done_ctx.val().get_bits::<2>(14) == 1)
            & self.done_ctx.val().get_bit(13);
        self.end_qpn.d.next = self.done_ctx.val().get_bits::<LQ>(0);
        self.m_landed.next = self.landed.q.val();
        self.indices.end_valid.next = self.end.q.val();
        self.indices.end_qpn.next = self.end_qpn.q.val();

        self.moderation.cfg_moderation.next = self.cfg_moderation.val();
        self.moderation.s_valid.next = self.indices.irq_valid.val();
        self.moderation.s_vector.next = self.indices.irq_vector.val();
        self.m_irq_valid.next = self.moderation.m_valid.val();
        self.moderation.m_ready.next = self.m_irq_ready.val();
        self.m_irq_vector.next = self.moderation.m_vector.val();
        self.m_idle.next = self.indices.m_idle.val()
            & self.write.m_idle.val()
            & !self.d_valid.q.val()
            & !self.tx.m_valid.val()
            & !self.rx.m_valid.val();
    }
}
