//! The receive side of the queue engine.

use super::{
    CardRecvAcks, CardRecvCheck, CardRecvDoorbell, CardRecvFetch, CardRecvFill, CardRecvStore,
};
use crate::prelude::*;

hdl_module! {
    /// Receive side of the queue engine: reads receive requests ahead, checks each request of xud_rx,
    /// writes its payload and its completion, and acknowledges it once both are ordered in host memory
    /// (XUD-4).
    /// Reads of receive requests: card_recv_fetch, up to 16 ahead for each of 2^LQ queue pairs; a
    /// packet that finds none read, though some are posted, is answered RNR and counted as such. So
    /// queue pairs do not wait for each other.
    /// Verdicts, in which order: card_recv_check. A payload's request is accepted by dma_write before
    /// its completion is offered to card_cq: card_recv_store. Acknowledgements, up to 2^A:
    /// card_recv_acks; those that refuse do not wait for landings and may overtake.
    /// Latency: 5 clocks from s_rq_valid to a refusal, 12 to s_rq_ready and 13 to m_wr_valid with a
    /// slot granted within 6; a request each 13 clocks. From landed to m_ak_valid 6. From a doorbell
    /// to m_rd_valid 24 if no turn is under way.
    /// After rst the tables are swept for 2^LQ + 2 clocks: m_idle is low, nothing begins, and neither
    /// cfg_* nor db_* may come.
    /// m_idle is right in the very clock in which hold rises.
    /// CA = LQ + 4, B = A + 1; LQ is at most 10.
    #[module("card_recv_q{}_a{}", 1usize << LQ, 1usize << A)]
    pub struct CardRecv<const LQ: usize, const CA: usize, const A: usize, const B: usize> {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset.
        pub rst: Signal<In, Bit>,
        /// A doorbell; pulse.
        pub db_valid: Signal<In, Bit>,
        /// Queue pair.
        pub db_qpn: Signal<In, Bits<LQ>>,
        /// Kind; only 1, receive, counts here.
        pub db_kind: Signal<In, Bits<2>>,
        /// Receive requests ever posted, modulo 2^16.
        pub db_index: Signal<In, Bits<16>>,
        /// A word of a queue pair's configuration, which counts from the next clock on; pulse, not in the sweep after reset.
        pub cfg_valid: Signal<In, Bit>,
        /// Queue pair.
        pub cfg_qpn: Signal<In, Bits<LQ>>,
        /// Which word.
        pub cfg_word: Signal<In, Bits<3>>,
        /// The word.
        pub cfg_data: Signal<In, Bits<64>>,
        /// Largest payload of a packet, bytes.
        pub cfg_mtu: Signal<In, Bits<13>>,
        /// Begin nothing new.
        pub hold: Signal<In, Bit>,
        /// A request.
        pub s_rq_valid: Signal<In, Bit>,
        /// It is taken; pulse.
        pub s_rq_ready: Signal<Out, Bit>,
        /// With s_rq_ready: its payload is not wanted.
        pub s_rq_drop: Signal<Out, Bit>,
        /// From this node.
        pub s_rq_node: Signal<In, Bits<16>>,
        /// To this queue pair.
        pub s_rq_qpn: Signal<In, Bits<24>>,
        /// PSN.
        pub s_rq_psn: Signal<In, Bits<24>>,
        /// Q_Key.
        pub s_rq_q_key: Signal<In, Bits<32>>,
        /// From this queue pair.
        pub s_rq_src: Signal<In, Bits<24>>,
        /// Version and flags.
        pub s_rq_vf: Signal<In, Bits<8>>,
        /// Window.
        pub s_rq_win_id: Signal<In, Bits<16>>,
        /// Epoch.
        pub s_rq_epoch: Signal<In, Bits<16>>,
        /// Number in the window.
        pub s_rq_msn: Signal<In, Bits<32>>,
        /// Bytes of payload.
        pub s_rq_len: Signal<In, Bits<13>>,
        /// Opcode without a meaning.
        pub s_rq_unknown: Signal<In, Bit>,
        /// A word of payload.
        pub s_pl_valid: Signal<In, Bit>,
        /// It is taken.
        pub s_pl_ready: Signal<Out, Bit>,
        /// The word.
        pub s_pl_data: Signal<In, Bits<64>>,
        /// Last word of its message.
        pub s_pl_last: Signal<In, Bit>,
        /// A word of receive requests.
        pub s_rr_valid: Signal<In, Bit>,
        /// Always taken.
        pub s_rr_ready: Signal<Out, Bit>,
        /// The word.
        pub s_rr_data: Signal<In, Bits<64>>,
        /// Last word of the read.
        pub s_rr_last: Signal<In, Bit>,
        /// With the last word: the read failed.
        pub s_rr_error: Signal<In, Bit>,
        /// Context of the read, with each word.
        pub s_rr_ctx: Signal<In, Bits<16>>,
        /// A read of receive requests.
        pub m_rd_valid: Signal<Out, Bit>,
        /// It is taken.
        pub m_rd_ready: Signal<In, Bit>,
        /// Where.
        pub m_rd_addr: Signal<Out, Bits<64>>,
        /// Bytes: 32 to 128.
        pub m_rd_len: Signal<Out, Bits<13>>,
        /// Client 2.
        pub m_rd_ctx: Signal<Out, Bits<16>>,
        /// A completion slot is asked for, until rsv_done.
        pub m_rsv_valid: Signal<Out, Bit>,
        /// Queue pair.
        pub m_rsv_qpn: Signal<Out, Bits<LQ>>,
        /// Answer; pulse.
        pub rsv_done: Signal<In, Bit>,
        /// The slot is reserved.
        pub rsv_ok: Signal<In, Bit>,
        /// A region is looked up; pulse.
        pub m_look_valid: Signal<Out, Bit>,
        /// Key.
        pub m_look_key: Signal<Out, Bits<32>>,
        /// Protection domain.
        pub m_look_pd: Signal<Out, Bits<16>>,
        /// Where the message goes.
        pub m_look_addr: Signal<Out, Bits<64>>,
        /// Bytes of the message.
        pub m_look_len: Signal<Out, Bits<13>>,
        /// To be written: 1.
        pub m_look_write: Signal<Out, Bit>,
        /// Answer, 6 clocks later; pulse.
        pub look_valid: Signal<In, Bit>,
        /// The access is allowed.
        pub look_ok: Signal<In, Bit>,
        /// A payload to write.
        pub m_wr_valid: Signal<Out, Bit>,
        /// The request is taken.
        pub m_wr_ready: Signal<In, Bit>,
        /// Where.
        pub m_wr_addr: Signal<Out, Bits<64>>,
        /// Bytes.
        pub m_wr_len: Signal<Out, Bits<13>>,
        /// Client 0.
        pub m_wr_ctx: Signal<Out, Bits<16>>,
        /// A word of it.
        pub m_wd_valid: Signal<Out, Bit>,
        /// The word is taken.
        pub m_wd_ready: Signal<In, Bit>,
        /// The word.
        pub m_wd_data: Signal<Out, Bits<64>>,
        /// A completion.
        pub m_rx_valid: Signal<Out, Bit>,
        /// It is taken.
        pub m_rx_ready: Signal<In, Bit>,
        /// Queue pair.
        pub m_rx_qpn: Signal<Out, Bits<LQ>>,
        /// Name of the receive request.
        pub m_rx_wr_id: Signal<Out, Bits<64>>,
        /// How it ended.
        pub m_rx_status: Signal<Out, Bits<8>>,
        /// Version and flags.
        pub m_rx_vf: Signal<Out, Bits<8>>,
        /// Bytes received.
        pub m_rx_len: Signal<Out, Bits<13>>,
        /// From this node.
        pub m_rx_node: Signal<Out, Bits<16>>,
        /// From this queue pair.
        pub m_rx_peer: Signal<Out, Bits<24>>,
        /// Window.
        pub m_rx_win_id: Signal<Out, Bits<16>>,
        /// Epoch.
        pub m_rx_epoch: Signal<Out, Bits<16>>,
        /// Number in the window.
        pub m_rx_msn: Signal<Out, Bits<32>>,
        /// Q_Key.
        pub m_rx_q_key: Signal<Out, Bits<32>>,
        /// PSN.
        pub m_rx_psn: Signal<Out, Bits<24>>,
        /// Number of the receive request in its ring.
        pub m_rx_request: Signal<Out, Bits<16>>,
        /// The oldest completion under way is ordered in host memory; pulse.
        pub landed: Signal<In, Bit>,
        /// An acknowledgement.
        pub m_ak_valid: Signal<Out, Bit>,
        /// It is taken.
        pub m_ak_ready: Signal<In, Bit>,
        /// To this node.
        pub m_ak_node: Signal<Out, Bits<16>>,
        /// To this queue pair.
        pub m_ak_peer: Signal<Out, Bits<24>>,
        /// PSN of the request.
        pub m_ak_psn: Signal<Out, Bits<24>>,
        /// AETH syndrome.
        pub m_ak_syndrome: Signal<Out, Bits<8>>,
        /// It has an echo.
        pub m_ak_echo: Signal<Out, Bit>,
        /// Window of the request.
        pub m_ak_win_id: Signal<Out, Bits<16>>,
        /// Epoch of the request.
        pub m_ak_epoch: Signal<Out, Bits<16>>,
        /// Number of the request in its window.
        pub m_ak_msn: Signal<Out, Bits<32>>,
        /// Version and flags of the request.
        pub m_ak_vf: Signal<Out, Bits<8>>,
        /// The queue pair that answers.
        pub m_ak_src: Signal<Out, Bits<24>>,
        /// The receive ring of a queue pair cannot be read; pulse.
        pub m_fatal_valid: Signal<Out, Bit>,
        /// Queue pair.
        pub m_fatal_qpn: Signal<Out, Bits<LQ>>,
        /// A doorbell is ignored; pulse.
        pub ev_bad_doorbell: Signal<Out, Bit>,
        /// Accepted; pulse.
        pub ev_accepted: Signal<Out, Bit>,
        /// Dropped as too many acknowledgements wait; pulse.
        pub ev_ack_overload: Signal<Out, Bit>,
        /// Unknown opcode; pulse.
        pub ev_bad_opcode: Signal<Out, Bit>,
        /// No such queue pair; pulse.
        pub ev_bad_qp: Signal<Out, Bit>,
        /// Wrong Q_Key; pulse.
        pub ev_bad_key: Signal<Out, Bit>,
        /// Payload over the MTU or the receive request; pulse.
        pub ev_bad_length: Signal<Out, Bit>,
        /// Epoch of an earlier process; pulse.
        pub ev_stale_epoch: Signal<Out, Bit>,
        /// No receive request or completion slot; pulse.
        pub ev_rnr: Signal<Out, Bit>,
        /// A completion LOCAL_PROTECTION or LOCAL_QUEUE; pulse.
        pub ev_local_error: Signal<Out, Bit>,
        /// Nothing is under way, the sweep after reset included.
        pub m_idle: Signal<Out, Bit>,

        door: CardRecvDoorbell<LQ>,
        fetch: CardRecvFetch<LQ>,
        fill: CardRecvFill<LQ, CA>,
        check: CardRecvCheck<LQ, CA>,
        store: CardRecvStore<LQ>,
        acks: CardRecvAcks<A, B>,
        /// The tables of this queue pair are swept.
        sweeping: DFF<Bit>,
        #[reset] sweep: DFF<Bits<LQ>>,
        /// A word of configuration, registered.
        #[reset] n_valid: DFF<Bit>,
        n_qpn: DFF<Bits<LQ>>,
        n_word: DFF<Bits<3>>,
        n_data: DFF<Bits<64>>,
        /// A doorbell, registered.
        #[reset] d_valid: DFF<Bit>,
        d_qpn: DFF<Bits<LQ>>,
        d_kind: DFF<Bits<2>>,
        d_index: DFF<Bits<16>>,
        /// Configuration that is written: of which queue pair, which word, its fields; in a sweep.
        #[reset] c_sweep: DFF<Bit>,
        c_qpn: DFF<Bits<LQ>>,
        #[reset] c_shape: DFF<Bit>,
        #[reset] c_key: DFF<Bit>,
        #[reset] c_base: DFF<Bit>,
        #[reset] c_epoch: DFF<Bit>,
        #[reset] c_clear: DFF<Bit>,
        c_data: DFF<Bits<64>>,
        c_exists: DFF<Bit>,
        c_reads: DFF<Bit>,
        c_receives: DFF<Bit>,
        c_log: DFF<Bits<4>>,
        /// The sweep is not over.
        swept: Signal<Local, Bit>,
        /// Nothing begins.
        halt: DFF<Bit>,
        state: Signal<Local, Bits<3>>,
        #[reset] idle: DFF<Bit>,
    }
}

impl<const LQ: usize, const CA: usize, const A: usize, const B: usize> Logic
    for CardRecv<LQ, CA, A, B>
{
    #[hdl_gen]
    fn update(&mut self) {
        // Configuration, or the sweep after reset, which leaves no queue pair and nothing in its tables.
        self.n_valid.d.next = self.cfg_valid.val();
        self.n_qpn.d.next = self.cfg_qpn.val();
        self.n_word.d.next = self.cfg_word.val();
        self.n_data.d.next = self.cfg_data.val();
        self.state.next = self.n_data.q.val().get_bits::<3>(0);
        self.c_sweep.d.next = self.sweeping.q.val();
        self.c_qpn.d.next = self.n_qpn.q.val();
        self.c_data.d.next = self.n_data.q.val();
        self.c_shape.d.next = self.n_valid.q.val() & (self.n_word.q.val() == 0);
        self.c_key.d.next = self.n_valid.q.val() & (self.n_word.q.val() == 1);
        self.c_base.d.next = self.n_valid.q.val() & (self.n_word.q.val() == 3);
        self.c_epoch.d.next = self.n_valid.q.val() & (self.n_word.q.val() == 5);
        self.c_clear.d.next = self.n_valid.q.val() & (self.n_word.q.val() == 6);
        self.c_exists.d.next = self.state.val().any();
        // Init, ReadyToReceive, ReadyToSend; the latter two.
        self.c_reads.d.next = self.state.val().any() & !self.state.val().get_bit(2);
        self.c_receives.d.next = self.state.val().get_bit(1) & !self.state.val().get_bit(2);
        self.c_log.d.next = self.n_data.q.val().get_bits::<4>(8);
        if self.sweeping.q.val() {
            self.sweep.d.next = self.sweep.q.val() + 1;
            self.sweeping.d.next = !self.sweep.q.val().all();
            self.c_qpn.d.next = self.sweep.q.val();
            self.c_shape.d.next = true;
            self.c_clear.d.next = true;
            self.c_exists.d.next = false;
            self.c_reads.d.next = false;
            self.c_receives.d.next = false;
        }
        self.swept.next = self.sweeping.q.val() | self.c_sweep.q.val();
        self.door.cfg_qpn.next = self.c_qpn.q.val();
        self.door.cfg_shape.next = self.c_shape.q.val();
        self.door.cfg_exists.next = self.c_exists.q.val();
        self.door.cfg_log.next = self.c_log.q.val();
        self.door.cfg_clear.next = self.c_clear.q.val();
        self.door.cfg_sweep.next = self.c_sweep.q.val();
        self.fetch.cfg_qpn.next = self.c_qpn.q.val();
        self.fetch.cfg_shape.next = self.c_shape.q.val();
        self.fetch.cfg_reads.next = self.c_reads.q.val();
        self.fetch.cfg_log.next = self.c_log.q.val();
        self.fetch.cfg_base.next = self.c_base.q.val();
        self.fetch.cfg_data.next = self.c_data.q.val();
        self.fetch.cfg_clear.next = self.c_clear.q.val();
        self.fetch.cfg_sweep.next = self.c_sweep.q.val();
        self.fill.cfg_qpn.next = self.c_qpn.q.val();
        self.fill.cfg_clear.next = self.c_clear.q.val();
        self.check.cfg_qpn.next = self.c_qpn.q.val();
        self.check.cfg_shape.next = self.c_shape.q.val();
        self.check.cfg_key.next = self.c_key.q.val();
        self.check.cfg_epoch.next = self.c_epoch.q.val();
        self.check.cfg_clear.next = self.c_clear.q.val();
        self.check.cfg_receives.next = self.c_receives.q.val();
        self.check.cfg_data.next = self.c_data.q.val();

        // Doorbells.
        self.d_valid.d.next = self.db_valid.val();
        self.door.db_valid.next = self.d_valid.q.val();
        self.d_qpn.d.next = self.db_qpn.val();
        self.door.db_qpn.next = self.d_qpn.q.val();
        self.d_kind.d.next = self.db_kind.val();
        self.door.db_kind.next = self.d_kind.q.val();
        self.d_index.d.next = self.db_index.val();
        self.door.db_index.next = self.d_index.q.val();
        self.ev_bad_doorbell.next = self.door.ev_bad_doorbell.val();
        self.door.s_head_valid.next = self.check.m_head_valid.val();
        self.door.s_head_qpn.next = self.check.m_head_qpn.val();
        self.door.s_head_index.next = self.check.m_head_index.val();
        self.door.s_served_valid.next = self.fetch.m_served_valid.val();
        self.door.s_served_qpn.next = self.fetch.m_served_qpn.val();
        self.door.s_served_mark.next = self.fetch.m_served_mark.val();

        // Receive requests, read ahead.
        self.m_rd_valid.next = self.fetch.m_rd_valid.val();
        self.fetch.m_rd_ready.next = self.m_rd_ready.val();
        self.m_rd_addr.next = self.fetch.m_rd_addr.val();
        self.m_rd_len.next = self.fetch.m_rd_len.val();
        self.m_rd_ctx.next = self.fetch.m_rd_ctx.val();
        self.fetch.s_prod_valid.next = self.door.m_prod_valid.val();
        self.fetch.s_prod_qpn.next = self.door.m_prod_qpn.val();
        self.fetch.s_prod_index.next = self.door.m_prod_index.val();
        self.fetch.s_want_valid.next = self.door.m_want_valid.val();
        self.fetch.s_want_mark.next = self.door.m_want_mark.val();
        self.fetch.s_head_valid.next = self.check.m_head_valid.val();
        self.fetch.s_head_qpn.next = self.check.m_head_qpn.val();
        self.fetch.s_head_index.next = self.check.m_head_index.val();
        self.fetch.s_kick_valid.next = self.check.m_kick_valid.val();
        self.fetch.s_done.next = self.fill.m_done.val();
        self.fetch.s_failed.next = self.fill.m_failed_valid.val();
        self.halt.d.next = self.hold.val() | self.swept.val() | self.n_valid.q.val();
        self.fetch.hold.next = self.halt.q.val();
        self.fill.s_rr_valid.next = self.s_rr_valid.val();
        self.s_rr_ready.next = self.fill.s_rr_ready.val();
        self.fill.s_rr_data.next = self.s_rr_data.val();
        self.fill.s_rr_last.next = self.s_rr_last.val();
        self.fill.s_rr_error.next = self.s_rr_error.val();
        self.fill.s_rr_ctx.next = self.s_rr_ctx.val();
        self.m_fatal_valid.next = self.fill.m_fatal_valid.val();
        self.m_fatal_qpn.next = self.fill.m_fatal_qpn.val();
        self.fill.place.next = self.check.place.val();
        self.fill.m_failed_ready.next = self.check.s_failed_ready.val();

        // Requests.
        self.check.s_rq_valid.next = self.s_rq_valid.val();
        self.s_rq_ready.next = self.check.s_rq_ready.val();
        self.s_rq_drop.next = self.check.s_rq_drop.val();
        self.check.s_rq_node.next = self.s_rq_node.val();
        self.check.s_rq_qpn.next = self.s_rq_qpn.val();
        self.check.s_rq_psn.next = self.s_rq_psn.val();
        self.check.s_rq_q_key.next = self.s_rq_q_key.val();
        self.check.s_rq_src.next = self.s_rq_src.val();
        self.check.s_rq_vf.next = self.s_rq_vf.val();
        self.check.s_rq_win_id.next = self.s_rq_win_id.val();
        self.check.s_rq_epoch.next = self.s_rq_epoch.val();
        self.check.s_rq_msn.next = self.s_rq_msn.val();
        self.check.s_rq_len.next = self.s_rq_len.val();
        self.check.s_rq_unknown.next = self.s_rq_unknown.val();
        self.m_rsv_valid.next = self.check.m_rsv_valid.val();
        self.m_rsv_qpn.next = self.check.m_rsv_qpn.val();
        self.check.rsv_done.next = self.rsv_done.val();
        self.check.rsv_ok.next = self.rsv_ok.val();
        self.m_look_valid.next = self.check.m_look_valid.val();
        self.m_look_key.next = self.check.m_look_key.val();
        self.m_look_pd.next = self.check.m_look_pd.val();
        self.m_look_addr.next = self.check.m_look_addr.val();
        self.m_look_len.next = self.check.m_look_len.val();
        self.m_look_write.next = self.check.m_look_write.val();
        self.check.look_valid.next = self.look_valid.val();
        self.check.look_ok.next = self.look_ok.val();
        self.check.cfg_mtu.next = self.cfg_mtu.val();
        self.check.hold.next = self.halt.q.val();
        self.check.cfg_soon.next = self.n_valid.q.val() | self.sweeping.q.val();
        self.check.request.next = self.fill.request.val();
        self.check.s_arrived_valid.next = self.fill.m_arrived_valid.val();
        self.check.s_arrived_qpn.next = self.fill.m_arrived_qpn.val();
        self.check.s_arrived_word.next = self.fill.m_arrived_word.val();
        self.check.s_failed_valid.next = self.fill.m_failed_valid.val();
        self.check.s_failed_qpn.next = self.fill.m_failed_qpn.val();
        self.check.ak_full.next = self.acks.full.val();
        self.check.m_st_ready.next = self.store.s_ready.val();
        self.ev_accepted.next = self.check.ev_accepted.val();
        self.ev_ack_overload.next = self.check.ev_ack_overload.val();
        self.ev_bad_opcode.next = self.check.ev_bad_opcode.val();
        self.ev_bad_qp.next = self.check.ev_bad_qp.val();
        self.ev_bad_key.next = self.check.ev_bad_key.val();
        self.ev_bad_length.next = self.check.ev_bad_length.val();
        self.ev_stale_epoch.next = self.check.ev_stale_epoch.val();
        self.ev_rnr.next = self.check.ev_rnr.val();
        self.ev_local_error.next = self.check.ev_local_error.val();

        // What was accepted.
        self.store.s_pl_valid.next = self.s_pl_valid.val();
        self.s_pl_ready.next = self.store.s_pl_ready.val();
        self.store.s_pl_data.next = self.s_pl_data.val();
        self.store.s_pl_last.next = self.s_pl_last.val();
        self.m_wr_valid.next = self.store.m_wr_valid.val();
        self.store.m_wr_ready.next = self.m_wr_ready.val();
        self.m_wr_addr.next = self.store.m_wr_addr.val();
        self.m_wr_len.next = self.store.m_wr_len.val();
        self.m_wr_ctx.next = self.store.m_wr_ctx.val();
        self.m_wd_valid.next = self.store.m_wd_valid.val();
        self.store.m_wd_ready.next = self.m_wd_ready.val();
        self.m_wd_data.next = self.store.m_wd_data.val();
        self.m_rx_valid.next = self.store.m_rx_valid.val();
        self.store.m_rx_ready.next = self.m_rx_ready.val();
        self.m_rx_qpn.next = self.store.m_rx_qpn.val();
        self.m_rx_wr_id.next = self.store.m_rx_wr_id.val();
        self.m_rx_status.next = self.store.m_rx_status.val();
        self.m_rx_vf.next = self.store.m_rx_vf.val();
        self.m_rx_len.next = self.store.m_rx_len.val();
        self.m_rx_node.next = self.store.m_rx_node.val();
        self.m_rx_peer.next = self.store.m_rx_peer.val();
        self.m_rx_win_id.next = self.store.m_rx_win_id.val();
        self.m_rx_epoch.next = self.store.m_rx_epoch.val();
        self.m_rx_msn.next = self.store.m_rx_msn.val();
        self.m_rx_q_key.next = self.store.m_rx_q_key.val();
        self.m_rx_psn.next = self.store.m_rx_psn.val();
        self.m_rx_request.next = self.store.m_rx_request.val();
        self.store.s_valid.next = self.check.m_st_valid.val();
        self.store.s_writes.next = self.check.m_st_writes.val();
        self.store.s_qpn.next = self.check.m_st_qpn.val();
        self.store.s_wr_id.next = self.check.m_st_wr_id.val();
        self.store.s_status.next = self.check.m_st_status.val();
        self.store.s_len.next = self.check.m_st_len.val();
        self.store.s_request.next = self.check.m_st_request.val();
        self.store.s_addr.next = self.check.m_look_addr.val();
        self.store.s_vf.next = 0.into();
        self.store.s_node.next = 0.into();
        self.store.s_peer.next = 0.into();
        self.store.s_win_id.next = 0.into();
        self.store.s_epoch.next = 0.into();
        self.store.s_msn.next = 0.into();
        self.store.s_q_key.next = 0.into();
        self.store.s_psn.next = 0.into();
        if self.check.m_st_packet.val() {
            self.store.s_vf.next = self.s_rq_vf.val();
            self.store.s_node.next = self.s_rq_node.val();
            self.store.s_peer.next = self.s_rq_src.val();
            self.store.s_win_id.next = self.s_rq_win_id.val();
            self.store.s_epoch.next = self.s_rq_epoch.val();
            self.store.s_msn.next = self.s_rq_msn.val();
            self.store.s_q_key.next = self.s_rq_q_key.val();
            self.store.s_psn.next = self.s_rq_psn.val();
        }

        // Acknowledgements.
        self.m_ak_valid.next = self.acks.m_ak_valid.val();
        self.acks.m_ak_ready.next = self.m_ak_ready.val();
        self.m_ak_node.next = self.acks.m_ak_node.val();
        self.m_ak_peer.next = self.acks.m_ak_peer.val();
        self.m_ak_psn.next = self.acks.m_ak_psn.val();
        self.m_ak_syndrome.next = self.acks.m_ak_syndrome.val();
        self.m_ak_echo.next = self.acks.m_ak_echo.val();
        self.m_ak_win_id.next = self.acks.m_ak_win_id.val();
        self.m_ak_epoch.next = self.acks.m_ak_epoch.val();
        self.m_ak_msn.next = self.acks.m_ak_msn.val();
        self.m_ak_vf.next = self.acks.m_ak_vf.val();
        self.m_ak_src.next = self.acks.m_ak_src.val();
        self.acks.s_valid.next = self.check.m_ak_valid.val();
        self.acks.s_lands.next = self.check.m_ak_lands.val();
        self.acks.s_data.next = self.check.m_ak_data.val();
        self.acks.s_landed.next = self.landed.val();

        self.idle.d.next = !self.swept.val()
            & self.check.idle.val()
            & self.fetch.idle.val()
            & self.store.idle.val()
            & self.acks.empty.val();
        // What begins in the clock of hold is not yet in idle.
        self.m_idle.next = self.idle.q.val() & (self.halt.q.val() | !self.hold.val());
        if self.rst.val() {
            self.sweeping.d.next = true;
            self.halt.d.next = true;
        }
    }
}
