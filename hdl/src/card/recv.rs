//! The receive side of the queue engine.

use super::{
    CardRecvAcks, CardRecvCheck, CardRecvDoorbell, CardRecvFetch, CardRecvFill, CardRecvNotices,
    CardRecvStore,
};
use crate::bus::{
    AckToSendOut, CompletionOut, ContextIn, ContextWord, DmaRequestOut, DmaWordsIn, DoorbellIn,
    Ended, FramesIn, LookupOut, NotifyIn, QueuePairOut, RequestIn, RequestOut, RingDoorbell,
    RingIndexOut, StreamOut, VerdictIn,
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
    /// Notifications of bulk transfers (BW-3) take turns with requests and go the same way without payload: a receive request,
    /// a slot, a completion; then told and ok say that it is ordered, or that there was no receive request.
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
        /// Doorbells.
        pub db: DoorbellIn<LQ>,
        /// Contexts of queue pairs; not in the sweep after reset.
        pub cfg: ContextIn<LQ>,
        /// Largest payload of a packet, bytes.
        pub cfg_mtu: Signal<In, Bits<13>>,
        /// Begin nothing new.
        pub hold: Signal<In, Bit>,
        /// Requests from the line.
        pub s_rq: RequestIn,
        /// Notifications, in turns with them.
        pub s_notify: NotifyIn,
        /// Payload of the requests.
        pub s_pl: FramesIn<64>,
        /// Receive requests that were read.
        pub s_rr: DmaWordsIn,
        /// Reads of 32 to 128 bytes of receive requests; context: client 2 in 15:14.
        pub m_rd: DmaRequestOut,
        /// A completion slot is asked for, until rsv_done.
        pub m_rsv: QueuePairOut<LQ>,
        /// Answer; pulse.
        pub rsv_done: Signal<In, Bit>,
        /// The slot is reserved.
        pub rsv_ok: Signal<In, Bit>,
        /// Lookups of regions.
        pub m_look: LookupOut,
        /// Their answers, 6 clocks later.
        pub look: VerdictIn,
        /// Writes of payload; context: client 0 in 15:13.
        pub m_wr: DmaRequestOut,
        /// The words of the payload.
        pub m_wd: StreamOut<64>,
        /// Receive requests that have ended.
        pub m_rx: CompletionOut<LQ>,
        /// The oldest completion under way is ordered in host memory; pulse.
        pub landed: Signal<In, Bit>,
        /// Acknowledgements for the line.
        pub m_ak: AckToSendOut,
        /// The receive ring of a queue pair cannot be read.
        pub m_fatal: QueuePairOut<LQ>,
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
        notices: CardRecvNotices,
        check: CardRecvCheck<LQ, CA>,
        store: CardRecvStore<LQ>,
        acks: CardRecvAcks<A, B>,
        /// The tables of this queue pair are swept.
        sweeping: DFF<Bit>,
        #[reset] sweep: DFF<Bits<LQ>>,
        /// A word of configuration, registered.
        #[reset] n_valid: DFF<Bit>,
        n: DFF<ContextWord<LQ>>,
        /// A doorbell, registered.
        #[reset] d_valid: DFF<Bit>,
        d: DFF<RingDoorbell<LQ>>,
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
        self.n_valid.d.next = self.cfg.valid.val();
        self.n.d.next = self.cfg.of.val();
        self.state.next = self.n.q.val().data.get_bits::<3>(0);
        self.c_sweep.d.next = self.sweeping.q.val();
        self.c_qpn.d.next = self.n.q.val().qpn;
        self.c_data.d.next = self.n.q.val().data;
        self.c_shape.d.next = self.n_valid.q.val() & (self.n.q.val().word == 0);
        self.c_key.d.next = self.n_valid.q.val() & (self.n.q.val().word == 1);
        self.c_base.d.next = self.n_valid.q.val() & (self.n.q.val().word == 3);
        self.c_epoch.d.next = self.n_valid.q.val() & (self.n.q.val().word == 5);
        self.c_clear.d.next = self.n_valid.q.val() & (self.n.q.val().word == 6);
        self.c_exists.d.next = self.state.val().any();
        // Init, ReadyToReceive, ReadyToSend; the latter two.
        self.c_reads.d.next = self.state.val().any() & !self.state.val().get_bit(2);
        self.c_receives.d.next = self.state.val().get_bit(1) & !self.state.val().get_bit(2);
        self.c_log.d.next = self.n.q.val().data.get_bits::<4>(8);
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
        self.d_valid.d.next = self.db.valid.val();
        self.door.db.valid.next = self.d_valid.q.val();
        self.d.d.next = self.db.of.val();
        self.door.db.of.next = self.d.q.val();
        self.ev_bad_doorbell.next = self.door.ev_bad_doorbell.val();
        RingIndexOut::<LQ>::join(&mut self.check.m_head, &mut self.door.s_head);
        self.door.s_served_valid.next = self.fetch.m_served_valid.val();
        self.door.s_served_qpn.next = self.fetch.m_served_qpn.val();
        self.door.s_served_mark.next = self.fetch.m_served_mark.val();

        // Receive requests, read ahead.
        DmaRequestOut::link(&mut self.m_rd, &mut self.fetch.m_rd);
        RingIndexOut::<LQ>::join(&mut self.door.m_prod, &mut self.fetch.s_prod);
        self.fetch.s_want_valid.next = self.door.m_want_valid.val();
        self.fetch.s_want_mark.next = self.door.m_want_mark.val();
        RingIndexOut::<LQ>::join(&mut self.check.m_head, &mut self.fetch.s_head);
        self.fetch.s_kick_valid.next = self.check.m_kick_valid.val();
        self.fetch.s_done.next = self.fill.m_done.val();
        self.fetch.s_failed.next = self.fill.m_failed_valid.val();
        self.halt.d.next = self.hold.val() | self.swept.val() | self.n_valid.q.val();
        self.fetch.hold.next = self.halt.q.val();
        DmaWordsIn::link(&mut self.s_rr, &mut self.fill.s_rr);
        QueuePairOut::<LQ>::link(&mut self.m_fatal, &mut self.fill.m_fatal);
        self.fill.place.next = self.check.place.val();
        self.fill.m_failed_ready.next = self.check.s_failed_ready.val();

        // Requests.
        RequestIn::link(&mut self.s_rq, &mut self.notices.s_rq);
        NotifyIn::link(&mut self.s_notify, &mut self.notices.s_notify);
        RequestOut::join(&mut self.notices.m_rq, &mut self.check.s_rq);
        self.notices.s_begins.next = self.check.m_begins.val();
        self.notices.s_told.next = self.acks.m_told.val();
        self.notices.s_told_ok.next = self.acks.m_told_ok.val();
        QueuePairOut::<LQ>::link(&mut self.m_rsv, &mut self.check.m_rsv);
        self.check.rsv_done.next = self.rsv_done.val();
        self.check.rsv_ok.next = self.rsv_ok.val();
        LookupOut::link(&mut self.m_look, &mut self.check.m_look);
        self.check.look_valid.next = self.look.valid.val();
        self.check.look_ok.next = self.look.ok.val();
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
        FramesIn::<64>::link(&mut self.s_pl, &mut self.store.s_pl);
        DmaRequestOut::link(&mut self.m_wr, &mut self.store.m_wr);
        StreamOut::<64>::link(&mut self.m_wd, &mut self.store.m_wd);
        CompletionOut::<LQ>::link(&mut self.m_rx, &mut self.store.m_rx);
        self.store.s_valid.next = self.check.m_st_valid.val();
        self.store.s_writes.next = self.check.m_st_writes.val();
        self.store.s_qpn.next = self.check.m_st_qpn.val();
        self.store.s_addr.next = self.check.m_look.of.val().addr;
        self.store.s.next = Ended {
            wr_id: self.check.m_st_wr_id.val(),
            status: self.check.m_st_status.val(),
            vf: 0.into(),
            len: bit_cast::<32, 13>(self.check.m_st_len.val()),
            node: 0.into(),
            peer: 0.into(),
            win_id: 0.into(),
            epoch: 0.into(),
            msn: 0.into(),
            q_key: 0.into(),
            psn: 0.into(),
            request: self.check.m_st_request.val(),
            notified: false,
            marked: false,
            arrived: false,
        };
        if self.check.m_st_packet.val() {
            self.store.s.next.vf = self.notices.m_rq.of.val().vf;
            self.store.s.next.node = self.notices.m_rq.of.val().node;
            self.store.s.next.peer = self.notices.m_rq.of.val().src;
            self.store.s.next.win_id = self.notices.m_rq.of.val().win_id;
            self.store.s.next.epoch = self.notices.m_rq.of.val().epoch;
            self.store.s.next.msn = self.notices.m_rq.of.val().msn;
            self.store.s.next.q_key = self.notices.m_rq.of.val().q_key;
            self.store.s.next.psn = self.notices.m_rq.of.val().psn;
            self.store.s.next.notified = self.notices.m_rq.of.val().notify;
            if self.notices.m_rq.of.val().notify {
                self.store.s.next.len = self.notices.m_rq.of.val().bytes;
            }
        }

        // Acknowledgements.
        AckToSendOut::link(&mut self.m_ak, &mut self.acks.m_ak);
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
