//! Completion queues.

use super::cq_indices::CardCqIndices;
use super::cq_moderation::CardCqModeration;
use super::cq_write::CardCqWrite;
use crate::blocks::HalfSlice;
use crate::bus::{
    CompletionIn, ContextIn, ContextWord, DmaDoneIn, DmaRequestOut, DoorbellIn, EndedPair,
    InterruptOut, QueuePairIn, ReserveIn, RingDoorbell, StreamIn, StreamOut,
};
use crate::prelude::*;
use crate::record::{EntryContext, WriteClient};

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
        /// Contexts of queue pairs: words 0, 4 and 6 are looked at.
        pub cfg: ContextIn<LQ>,
        /// Fewest clocks between two interrupts of a vector.
        pub cfg_moderation: Signal<In, Bits<16>>,
        /// Doorbells.
        pub db: DoorbellIn<LQ>,
        /// The sender asks for a completion slot.
        pub a_rsv: ReserveIn<LQ>,
        /// The sender gives a slot back.
        pub a_cancel: QueuePairIn<LQ>,
        /// The receiver asks for a completion slot.
        pub b_rsv: ReserveIn<LQ>,
        /// Work requests that have ended.
        pub s_tx: CompletionIn<LQ>,
        /// Receive requests that have ended.
        pub s_rx: CompletionIn<LQ>,
        /// Words 0 to 6 of completions that are reduction frames, in the order in which these come at s_tx.
        pub s_words: StreamIn<64>,
        /// Writes of entries, 64 bytes each; context: 1 in 15:13, receive ring in 12, queue pair below.
        pub m_wr: DmaRequestOut,
        /// The words of the entries.
        pub m_wd: StreamOut<64>,
        /// What dma_write has done; requests of other clients are not looked at.
        pub done: DmaDoneIn,
        /// A completion of the receiver is done (XUD-4).
        pub m_landed: Signal<Out, Bit>,
        /// Interrupts.
        pub m_irq: InterruptOut,
        /// A doorbell was ignored.
        pub ev_bad_doorbell: Signal<Out, Bit>,
        /// Nothing is under way; interrupts that wait do not count.
        pub m_idle: Signal<Out, Bit>,

        /// Records that came, from far.
        tx: HalfSlice<{ EndedPair::BITS }>,
        rx: HalfSlice<{ EndedPair::BITS }>,
        /// What goes in and comes out.
        tx_in: Signal<Local, EndedPair>,
        tx_out: Signal<Local, EndedPair>,
        rx_in: Signal<Local, EndedPair>,
        rx_out: Signal<Local, EndedPair>,
        indices: CardCqIndices<LQ>,
        write: CardCqWrite<LQ>,
        moderation: CardCqModeration,
        /// Configuration and doorbells, registered as they come from far.
        #[reset] c_valid: DFF<Bit>,
        c: DFF<ContextWord<LQ>>,
        #[reset] d_valid: DFF<Bit>,
        d: DFF<RingDoorbell<LQ>>,
        /// A completion is done, of the receiver, of this queue pair.
        #[reset] end: DFF<Bit>,
        #[reset] landed: DFF<Bit>,
        end_qpn: DFF<Bits<LQ>>,
        /// What dma_write has done, and that it was a completion.
        context: Signal<Local, EntryContext>,
        ours: Signal<Local, Bit>,
        client: Param<{ WriteClient::Completion as usize }, 3>,
    }
}

impl<const LQ: usize> Logic for CardCq<LQ> {
    #[hdl_gen]
    fn update(&mut self) {
        self.c_valid.d.next = self.cfg.valid.val();
        self.indices.cfg.valid.next = self.c_valid.q.val();
        self.c.d.next = self.cfg.of.val();
        self.indices.cfg.of.next = self.c.q.val();
        self.d_valid.d.next = self.db.valid.val();
        self.indices.db.valid.next = self.d_valid.q.val();
        self.d.d.next = self.db.of.val();
        self.indices.db.of.next = self.d.q.val();
        ReserveIn::<LQ>::link(&mut self.a_rsv, &mut self.indices.a_rsv);
        QueuePairIn::<LQ>::link(&mut self.a_cancel, &mut self.indices.a_cancel);
        ReserveIn::<LQ>::link(&mut self.b_rsv, &mut self.indices.b_rsv);
        self.ev_bad_doorbell.next = self.indices.ev_bad_doorbell.val();

        self.tx.s.valid.next = self.s_tx.valid.val();
        self.s_tx.ready.next = self.tx.s.ready.val();
        self.tx_in.next = EndedPair {
            of: self.s_tx.of.val(),
            qpn: bit_cast::<16, LQ>(self.s_tx.qpn.val()),
        };
        self.tx.s.data.next = self.tx_in.val().to_bits();
        self.tx_out.next = self.tx.m.data.val().into();
        self.write.s_tx_valid.next = self.tx.m.valid.val();
        self.tx.m.ready.next = self.write.s_tx_ready.val();
        self.write.s_tx_qpn.next = bit_cast::<LQ, 16>(self.tx_out.val().qpn);
        self.write.s_tx_record.next = self.tx_out.val().of.to_bits();
        self.rx.s.valid.next = self.s_rx.valid.val();
        self.s_rx.ready.next = self.rx.s.ready.val();
        self.rx_in.next = EndedPair {
            of: self.s_rx.of.val(),
            qpn: bit_cast::<16, LQ>(self.s_rx.qpn.val()),
        };
        self.rx.s.data.next = self.rx_in.val().to_bits();
        self.rx_out.next = self.rx.m.data.val().into();
        self.write.s_rx_valid.next = self.rx.m.valid.val();
        self.rx.m.ready.next = self.write.s_rx_ready.val();
        self.write.s_rx_qpn.next = bit_cast::<LQ, 16>(self.rx_out.val().qpn);
        self.write.s_rx_record.next = self.rx_out.val().of.to_bits();
        self.indices.num_valid.next = self.write.num_valid.val();
        self.indices.num_qpn.next = self.write.num_qpn.val();
        self.write.num_ready.next = self.indices.num_ready.val();
        self.write.s_num_valid.next = self.indices.m_num_valid.val();
        self.write.s_num.next = self.indices.m_num.val();
        self.write.s_phase.next = self.indices.m_phase.val();
        self.write.s_entry.next = self.indices.m_entry.val();
        self.write.s_base.next = self.indices.m_base.val();
        self.write.end_taken.next = self.indices.end_taken.val();
        StreamIn::<64>::link(&mut self.s_words, &mut self.write.s_words);
        DmaRequestOut::link(&mut self.m_wr, &mut self.write.m_wr);
        StreamOut::<64>::link(&mut self.m_wd, &mut self.write.m_wd);

        self.context.next = self.done.ctx.val().into();
        self.ours.next = self.done.valid.val() & (self.context.val().client == self.client.val());
        self.end.d.next = self.ours.val();
        self.landed.d.next = self.ours.val() & self.context.val().receive;
        self.end_qpn.d.next = bit_cast::<LQ, 12>(self.context.val().qpn);
        self.m_landed.next = self.landed.q.val();
        self.indices.end_valid.next = self.end.q.val();
        self.indices.end_qpn.next = self.end_qpn.q.val();

        self.moderation.cfg_moderation.next = self.cfg_moderation.val();
        self.moderation.s_valid.next = self.indices.irq_valid.val();
        self.moderation.s_vector.next = self.indices.irq_vector.val();
        InterruptOut::link(&mut self.m_irq, &mut self.moderation.m);
        self.m_idle.next = self.indices.m_idle.val()
            & self.write.m_idle.val()
            & !self.d_valid.q.val()
            & !self.tx.m.valid.val()
            & !self.rx.m.valid.val();
    }
}
