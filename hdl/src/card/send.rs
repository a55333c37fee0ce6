//! The send side of the queue engine. `docs/card.md` is the contract.

mod doorbell;
mod ended;
mod entry;
mod list;
mod reads;
mod record;
mod turn;

use doorbell::CardSendDoorbell;
use ended::CardSendEnded;
use entry::CardSendEntry;
use list::CardSendList;
use reads::CardSendReads;
use record::CardSendRecord;
use turn::CardSendTurn;

use crate::blocks::{FifoAhead, HalfSlice};
use crate::bus::{
    BulkWork, BulkWorksOut, ContextIn, DmaRequestOut, DmaWordsIn, DoorbellIn, LookupOut,
    QueuePairIn, QueuePairOut, RamReadOut, ReduceWorksOut, RingDoorbell, SendHeaderOut, VerdictIn,
};
use crate::prelude::*;
use tributary_protocol::card::command::State as QpState;

hdl_record! {
    /// A work request between fetch and record.
    struct FetchedWork {
        /// Work requests that its queue pair ever fetched before it, modulo 2^24.
        number: Bits<24>,
        /// Packet sequence number.
        psn: Bits<24>,
        /// Queue pair.
        qpn: Bits<16>,
        /// It is the one that came back.
        fresh: Bit,
    }
}

hdl_module! {
    /// Send side of the queue engine for 2^LQ queue pairs: doorbells in, work requests read and
    /// checked, records and payload reads out. One work request every 13 clocks; up to 16 are between
    /// fetch and record.
    /// Doorbells are checked one a clock. A queue pair with work stands in a list of numbers; the
    /// first of the list has a turn: completion slot and place in flight are asked for together, then
    /// one work request is fetched and the number goes to the end of the list. What lacks a slot or a
    /// place goes there too, so nobody waits for another.
    /// Work requests come back in the order of their fetches, are checked, and end there or leave as
    /// set and record, in this order. Payload is read only for a record that has room, so that the
    /// words of reads, which come in order, never wait for a record behind them.
    /// A ring that cannot be read: m_fatal, one completion LOCAL_QUEUE (wr_id 0, all that only the
    /// work request knows 0), and what else was fetched for the queue pair is dropped, slot and place
    /// given back. The same happens, without completion, to what was fetched before the state became
    /// Error.
    /// With cfg_bulk work requests of bulk transfers leave unchecked at m_bulk, with their completion slot and without a
    /// place. There is room for one. Another one comes back: it, and what its queue pair has fetched behind it, is fetched
    /// again when there is room; so those of a queue pair wait behind it, and nobody else does.
    /// With cfg_bulk a work request with a fence (BW-12) comes back in the same way while an earlier one of its queue pair
    /// has no completion at s_ended, and is fetched again when all have.
    /// With cfg_reduce work requests of queue pairs in reduction groups leave unchecked at m_reduce, with their completion slot
    /// and without a place.
    /// Latency: 19 clocks from a doorbell to its fetch at m_rd_*, with 4 clocks for a completion
    /// slot; 6 from the last word of a work request to m_sd_* and to its payload read.
    /// After reset 2^LQ clocks clean the contexts: m_idle is low, doorbells are bad, cfg_* must not
    /// come.
    /// Stages: doorbell 5 clocks, list 4, turn 10 (one at a time), reads 1, host memory, entry 13
    /// (one at a time), record 3 (one at a time).
    #[module("card_send_q{}", 1usize << LQ)]
    pub struct CardSend<const LQ: usize> {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset: no queue pairs, nothing under way.
        pub rst: Signal<In, Bit>,
        /// Doorbells.
        pub db: DoorbellIn<LQ>,
        /// Contexts of queue pairs.
        pub cfg: ContextIn<LQ>,
        /// Largest payload of a packet, bytes.
        pub cfg_mtu: Signal<In, Bits<13>>,
        /// Bulk transfers are known; constant. Without it their work requests end here like any opcode without a meaning.
        pub cfg_bulk: Signal<In, Bit>,
        /// Work requests of bulk transfers. One may wait there while m_idle.
        pub m_bulk: BulkWorksOut,
        /// Queue pairs may be in reduction groups; constant.
        pub cfg_reduce: Signal<In, Bit>,
        /// Work requests of those.
        pub m_reduce: ReduceWorksOut<LQ>,
        /// A work request of a queue pair has its completion: for fences.
        pub s_ended: QueuePairIn<LQ>,
        /// Begin no turn.
        pub hold: Signal<In, Bit>,
        /// Nothing is between fetch and record, no read waits.
        pub m_idle: Signal<Out, Bit>,
        /// The send ring of a queue pair cannot be read.
        pub m_fatal: QueuePairOut<LQ>,
        /// A completion slot is asked for, until rsv_done.
        pub m_rsv: QueuePairOut<LQ>,
        /// The answer.
        pub rsv_done: Signal<In, Bit>,
        /// The slot is reserved.
        pub rsv_ok: Signal<In, Bit>,
        /// A slot is given back.
        pub m_cancel: QueuePairOut<LQ>,
        /// A place in flight is asked for.
        pub m_place_valid: Signal<Out, Bit>,
        /// For this queue pair.
        pub m_place_qpn: Signal<Out, Bits<LQ>>,
        /// And this PSN.
        pub m_place_psn: Signal<Out, Bits<24>>,
        /// The answer.
        pub place_done: Signal<In, Bit>,
        /// The place is kept.
        pub place_ok: Signal<In, Bit>,
        /// A kept place is given back.
        pub m_drop_valid: Signal<Out, Bit>,
        /// Of this queue pair.
        pub m_drop_qpn: Signal<Out, Bits<LQ>>,
        /// And this PSN.
        pub m_drop_psn: Signal<Out, Bits<24>>,
        /// A kept place is filled.
        pub m_set_valid: Signal<Out, Bit>,
        /// Taken.
        pub m_set_ready: Signal<In, Bit>,
        /// Queue pair.
        pub m_set_qpn: Signal<Out, Bits<LQ>>,
        /// PSN.
        pub m_set_psn: Signal<Out, Bits<24>>,
        /// Node of the destination.
        pub m_set_node: Signal<Out, Bits<20>>,
        /// Queue pair of the destination.
        pub m_set_peer: Signal<Out, Bits<24>>,
        /// Version and flags.
        pub m_set_vf: Signal<Out, Bits<8>>,
        /// Window.
        pub m_set_win_id: Signal<Out, Bits<16>>,
        /// Epoch.
        pub m_set_epoch: Signal<Out, Bits<16>>,
        /// Number in the window.
        pub m_set_msn: Signal<Out, Bits<32>>,
        /// The user's name for the work request.
        pub m_set_wr_id: Signal<Out, Bits<64>>,
        /// Its number in the ring, modulo 2^16.
        pub m_set_request: Signal<Out, Bits<16>>,
        /// Timeout exponent.
        pub m_set_timeout: Signal<Out, Bits<5>>,
        /// 0: it is sent. Otherwise it ends now like this.
        pub m_set_outcome: Signal<Out, Bits<8>>,
        /// What is answered goes into memory here: 1 of a READ, 2 of an ATOMIC; else 0.
        pub m_set_kind: Signal<Out, Bits<2>>,
        /// To this address.
        pub m_set_addr: Signal<Out, Bits<64>>,
        /// In the region of this key.
        pub m_set_key: Signal<Out, Bits<32>>,
        /// Bytes there.
        pub m_set_len: Signal<Out, Bits<13>>,
        /// Lookups of regions, never for writing.
        pub m_look: LookupOut,
        /// Their answers.
        pub look: VerdictIn,
        /// Reads of host memory; client in 15:14 of the context: 0 work requests, 1 payload.
        pub m_rd: DmaRequestOut,
        /// Work requests that were read.
        pub s_wq: DmaWordsIn,
        /// Requests to send.
        pub m_sd: SendHeaderOut,
        /// A doorbell was ignored.
        pub ev_bad_doorbell: Signal<Out, Bit>,
        /// A turn found no completion slot.
        pub ev_stall_credit: Signal<Out, Bit>,
        /// A turn found its place in flight taken.
        pub ev_stall_place: Signal<Out, Bit>,
        /// A work request ended here in a LOCAL outcome.
        pub ev_local_error: Signal<Out, Bit>,

        doorbell: CardSendDoorbell<LQ>,
        list: CardSendList<LQ>,
        turn: CardSendTurn<LQ>,
        entry: CardSendEntry<LQ>,
        record: CardSendRecord<LQ>,
        reads: CardSendReads,
        ended: CardSendEnded<LQ>,
        /// Work requests between fetch and record.
        fetched: FifoAhead<{ FetchedWork::BITS }, 4>,
        fetch: Signal<Local, FetchedWork>,
        oldest: Signal<Local, FetchedWork>,
        /// A work request of a bulk transfer.
        work: Signal<Local, BulkWork>,
        works: HalfSlice<{ BulkWork::BITS }>,

        /// The contexts are clean.
        #[reset] live: DFF<Bit>,
        /// Context to clean next.
        #[reset] sweep: DFF<Bits<LQ>>,
        /// A doorbell, and a word of a context, registered as they come from far.
        #[reset] d_valid: DFF<Bit>,
        d: DFF<RingDoorbell<LQ>>,
        #[reset] c_valid: DFF<Bit>,
        c_qpn: DFF<Bits<LQ>>,
        c_data: DFF<Bits<64>>,
        /// Which one: state and ring; Q_Key and first PSN; base; start anew. It is a state that sends.
        #[reset] word_0: DFF<Bit>,
        #[reset] word_1: DFF<Bit>,
        #[reset] word_2: DFF<Bit>,
        #[reset] word_6: DFF<Bit>,
        #[reset] starts: DFF<Bit>,
        /// State 2:0 and log2 of the ring's entries 6:3 of a queue pair are written.
        state_en: Signal<Local, Bit>,
        state_qpn: Signal<Local, Bits<LQ>>,
        state_data: Signal<Local, Bits<7>>,
        /// A slot, a place is given back.
        #[reset] cancel: DFF<Bit>,
        cancel_qpn: DFF<Bits<LQ>>,
        #[reset] drop: DFF<Bit>,
        drop_psn: DFF<Bits<24>>,
        /// State of a queue pair that sends.
        sends: Param<{ QpState::ReadyToSend as usize }, 3>,
    }
}

impl<const LQ: usize> Logic for CardSend<LQ> {
    #[hdl_gen]
    fn update(&mut self) {
        // Contexts: after reset all queue pairs become Reset.
        self.c_valid.d.next = self.cfg.valid.val();
        self.word_0.d.next = self.cfg.valid.val() & (self.cfg.of.val().word == 0);
        self.word_1.d.next = self.cfg.valid.val() & (self.cfg.of.val().word == 1);
        self.word_2.d.next = self.cfg.valid.val() & (self.cfg.of.val().word == 2);
        self.word_6.d.next = self.cfg.valid.val() & (self.cfg.of.val().word == 6);
        self.starts.d.next = self.cfg.valid.val()
            & (self.cfg.of.val().word == 0)
            & (self.cfg.of.val().data.get_bits::<3>(0) == self.sends.val());
        self.c_qpn.d.next = self.cfg.of.val().qpn;
        self.c_data.d.next = self.cfg.of.val().data;
        self.state_en.next = self.word_0.q.val();
        self.state_qpn.next = self.c_qpn.q.val();
        self.state_data.next = bit_cast::<7, 3>(self.c_data.q.val().get_bits::<3>(0))
            | (bit_cast::<7, 4>(self.c_data.q.val().get_bits::<4>(4)) << 3);
        if !self.live.q.val() {
            self.state_en.next = true;
            self.state_qpn.next = self.sweep.q.val();
            self.state_data.next = 0.into();
            self.sweep.d.next = self.sweep.q.val() + 1;
            self.live.d.next = self.sweep.q.val().all();
        }

        // Doorbells.
        self.d_valid.d.next = self.db.valid.val();
        self.d.d.next = self.db.of.val();
        self.doorbell.live.next = self.live.q.val();
        self.doorbell.s.valid.next = self.d_valid.q.val() & (self.d.q.val().kind == 0);
        self.doorbell.s.of.next.qpn = self.d.q.val().qpn;
        self.doorbell.s.of.next.index = self.d.q.val().index;
        self.doorbell.state_en.next = self.state_en.val();
        self.doorbell.state_qpn.next = self.state_qpn.val();
        self.doorbell.state_data.next = self.state_data.val();
        self.doorbell.fetched_en.next = self.turn.fetched_en.val();
        self.doorbell.fetched_qpn.next = self.turn.fetched_qpn.val();
        self.doorbell.fetched_data.next = self.turn.fetched_data.val();
        self.ev_bad_doorbell.next = self.doorbell.ev_bad.val();

        // Who has work.
        self.list.clean.next = !self.live.q.val();
        self.list.clean_qpn.next = self.sweep.q.val();
        self.list.wake.valid.next = self.doorbell.m.valid.val();
        self.list.wake.qpn.next = self.doorbell.m.of.val().qpn;
        self.list.start_valid.next = self.starts.q.val();
        self.list.start_qpn.next = self.c_qpn.q.val();
        self.list.op_valid.next = self.turn.m_op_valid.val();
        self.list.op_remove.next = self.turn.m_op_remove.val();
        self.list.op_qpn.next = self.turn.m_op_qpn.val();
        self.list.m_ready.next = self.turn.s_ready.val();

        // Turns.
        self.turn.go.next = self.live.q.val()
            & !self.hold.val()
            & !self.c_valid.q.val()
            & self.fetched.s.ready.val()
            & self.reads.fetch_free.val();
        self.turn.s_valid.next = self.list.m_valid.val();
        self.turn.s_qpn.next = self.list.m_qpn.val();
        self.turn.m_op_ready.next = self.list.op_ready.val();
        self.turn.state_en.next = self.state_en.val();
        self.turn.state_qpn.next = self.state_qpn.val();
        self.turn.state_data.next = self.state_data.val();
        self.turn.cfg_qpn.next = self.c_qpn.q.val();
        self.turn.first_en.next = self.word_1.q.val();
        self.turn.first_data.next = self.c_data.q.val().get_bits::<24>(32);
        self.turn.base_en.next = self.word_2.q.val();
        self.turn.base_data.next = self.c_data.q.val().get_bits::<58>(6);
        self.turn.zero_en.next = self.word_6.q.val();
        self.turn.posted_en.next = self.doorbell.m.valid.val();
        self.turn.posted_qpn.next = self.doorbell.m.of.val().qpn;
        self.turn.posted_data.next = self.doorbell.m.of.val().index;
        self.m_rsv.valid.next = self.turn.m_rsv_valid.val();
        self.m_rsv.qpn.next = self.turn.m_qpn.val();
        self.turn.rsv_done.next = self.rsv_done.val();
        self.turn.rsv_ok.next = self.rsv_ok.val();
        self.m_place_valid.next = self.turn.m_place_valid.val();
        self.m_place_qpn.next = self.turn.m_qpn.val();
        self.m_place_psn.next = self.turn.m_psn.val();
        self.turn.place_done.next = self.place_done.val();
        self.turn.place_ok.next = self.place_ok.val();
        self.ev_stall_credit.next = self.turn.ev_stall_credit.val();
        self.ev_stall_place.next = self.turn.ev_stall_place.val();

        // A fetch begins.
        self.fetched.s.valid.next = self.turn.m_fetch.val();
        self.fetch.next = FetchedWork {
            number: self.turn.m_number.val(),
            psn: self.turn.m_psn.val(),
            qpn: bit_cast::<16, LQ>(self.turn.m_qpn.val()),
            fresh: self.turn.m_fresh.val(),
        };
        self.fetched.s.data.next = self.fetch.val().to_bits();
        self.oldest.next = self.fetched.m.data.val().into();
        self.reads.fetch_valid.next = self.turn.m_fetch.val();
        self.reads.fetch_addr.next = self.turn.m_addr.val();

        // A work request has come.
        self.entry.s_wq_valid.next = self.s_wq.valid.val();
        self.entry.s_wq_data.next = self.s_wq.of.val().data;
        self.entry.s_wq_error.next = self.s_wq.of.val().error & self.s_wq.of.val().last;
        self.s_wq.ready.next = true;
        self.entry.cfg_mtu.next = self.cfg_mtu.val();
        self.entry.cfg_qpn.next = self.c_qpn.q.val();
        self.entry.cfg_data.next = self.c_data.q.val();
        self.entry.word_0.next = self.word_0.q.val();
        self.entry.word_1.next = self.word_1.q.val();
        self.entry.word_6.next = self.word_6.q.val();
        self.entry.cfg_bulk.next = self.cfg_bulk.val();
        self.entry.s_qpn.next = bit_cast::<LQ, 16>(self.oldest.val().qpn);
        self.entry.s_fresh.next = self.oldest.val().fresh;
        self.entry.s_number.next = self.oldest.val().number.get_bits::<16>(0);
        self.fetched.m.ready.next = self.entry.s_done.val();
        self.m_look.valid.next = self.entry.m_look_valid.val();
        self.m_look.of.next.key = self.entry.m_look_key.val();
        self.m_look.of.next.pd = self.entry.m_look_pd.val();
        self.m_look.of.next.addr = self.entry.m_address.val();
        self.m_look.of.next.len = self.entry.m_len.val();
        self.m_look.of.next.write = self.entry.m_look_write.val();
        self.entry.look_valid.next = self.look.valid.val();
        self.entry.look_ok.next = self.look.ok.val();
        QueuePairOut::<LQ>::link(&mut self.m_fatal, &mut self.entry.m_fatal);

        // Slots and places given back: by a turn, or else by a work request that is dropped.
        self.entry.drop_ready.next = !self.turn.m_undo.val();
        self.cancel.d.next = self.entry.m_drop.val();
        self.drop.d.next =
            self.entry.m_drop.val() | self.entry.m_bulk.val() | self.entry.m_reduce.val();
        self.cancel_qpn.d.next = self.entry.s_qpn.val();
        self.drop_psn.d.next = self.oldest.val().psn;
        if self.turn.m_undo.val() {
            self.cancel.d.next = self.turn.m_cancel.val();
            self.drop.d.next = self.turn.m_drop.val();
            self.cancel_qpn.d.next = self.turn.m_qpn.val();
            self.drop_psn.d.next = self.turn.m_psn.val();
        }
        self.m_cancel.valid.next = self.cancel.q.val();
        self.m_cancel.qpn.next = self.cancel_qpn.q.val();
        self.m_drop_valid.next = self.drop.q.val();
        self.m_drop_qpn.next = self.cancel_qpn.q.val();
        self.m_drop_psn.next = self.drop_psn.q.val();

        // Fences.
        QueuePairIn::<LQ>::link(&mut self.s_ended, &mut self.ended.s);
        self.ended.zero_en.next = self.word_6.q.val();
        self.ended.zero_qpn.next = self.c_qpn.q.val();
        RamReadOut::<16, LQ>::join(&mut self.turn.ended, &mut self.ended.a);
        RamReadOut::<16, LQ>::join(&mut self.entry.ended, &mut self.ended.b);

        // It comes back.
        self.turn.cfg_later.next = self.cfg_bulk.val();
        self.turn.later_room.next = self.works.s.ready.val();
        self.turn.back_valid.next = self.entry.m_back_valid.val();
        self.entry.m_back_ready.next = self.turn.back_ready.val();
        self.turn.back_qpn.next = self.entry.s_qpn.val();
        self.turn.back_number.next = self.oldest.val().number;
        self.turn.back_fenced.next = self.entry.m_back_fenced.val();

        // It is one of a bulk transfer.
        self.work.next = BulkWork {
            opcode: self.entry.m_shape.val().get_bits::<8>(0),
            flags: self.entry.m_shape.val().get_bits::<8>(8),
            head_len: self.entry.m_shape.val().get_bits::<8>(16),
            length: self.entry.m_length.val(),
            wr_id: self.entry.m_wr_id.val(),
            address: self.entry.m_address.val(),
            lkey: self.entry.m_look_key.val(),
            vf: self.entry.m_vf.val(),
            node: self.entry.m_node.val(),
            peer: self.entry.m_far_peer.val(),
            msn: self.entry.m_msn.val(),
            win_id: self.entry.m_win_id.val(),
            epoch: self.entry.m_epoch.val(),
            head_low: self.entry.m_head.val().get_bits::<64>(0),
            head_high: self.entry.m_head.val().get_bits::<64>(64),
            psn: self.oldest.val().psn,
            request: self.oldest.val().number.get_bits::<16>(0),
            qpn: bit_cast::<24, 16>(self.oldest.val().qpn),
            pd: self.entry.m_pd.val(),
            q_key: self.entry.m_q_key.val(),
        };
        self.works.s.valid.next = self.entry.m_bulk.val();
        self.works.s.data.next = self.work.val().to_bits();
        self.entry.bulk_room.next = self.works.s.ready.val();
        self.m_bulk.valid.next = self.works.m.valid.val();
        self.works.m.ready.next = self.m_bulk.ready.val();
        self.m_bulk.of.next = self.works.m.data.val().into();

        // It is one of a reduction group.
        self.entry.cfg_reduce.next = self.cfg_reduce.val();
        self.m_reduce.lands.next = self.entry.m_lands.val();
        self.m_reduce.first.next = self.entry.m_first.val();
        self.m_reduce.data.next = self.entry.m_word.val();
        self.m_reduce.valid.next = self.entry.m_reduce.val();
        self.entry.reduce_room.next = self.m_reduce.room.val();
        self.m_reduce.qpn.next = self.entry.s_qpn.val();
        self.m_reduce.request.next = self.oldest.val().number.get_bits::<16>(0);

        // It leaves.
        self.record.s_valid.next = self.entry.m_valid.val();
        self.entry.m_ready.next = self.record.s_ready.val();
        self.record.s_qpn.next = self.entry.s_qpn.val();
        self.record.s_psn.next = self.oldest.val().psn;
        self.record.s_request.next = self.oldest.val().number.get_bits::<16>(0);
        self.record.s_blank.next = self.entry.m_blank.val();
        self.record.s_outcome.next = self.entry.m_outcome.val();
        self.record.s_timeout.next = self.entry.m_timeout.val();
        self.record.s_q_key.next = self.entry.m_q_key.val();
        self.record.s_wr_id.next = self.entry.m_wr_id.val();
        self.record.s_address.next = self.entry.m_address.val();
        self.record.s_len.next = self.entry.m_len.val();
        self.record.s_key.next = self.entry.m_look_key.val();
        self.record.s_kind.next = self.entry.m_kind.val();
        self.record.s_node.next = self.entry.m_node.val();
        self.record.s_peer.next = self.entry.m_peer.val();
        self.record.s_vf.next = self.entry.m_vf.val();
        self.record.s_win_id.next = self.entry.m_win_id.val();
        self.record.s_epoch.next = self.entry.m_epoch.val();
        self.record.s_msn.next = self.entry.m_msn.val();
        self.record.s_head.next = self.entry.m_head.val();
        self.record.s_head_len.next = self.entry.m_head_len.val();
        self.ev_local_error.next = self.record.ev_local_error.val();
        self.m_set_valid.next = self.record.m_set_valid.val();
        self.record.m_set_ready.next = self.m_set_ready.val();
        self.m_sd.valid.next = self.record.m_sd_valid.val();
        self.record.m_sd_ready.next = self.m_sd.ready.val();
        self.m_set_qpn.next = self.record.m_qpn.val();
        self.m_set_psn.next = self.record.m_psn.val();
        self.m_set_node.next = self.record.m_node.val();
        self.m_set_peer.next = self.record.m_peer.val();
        self.m_set_vf.next = self.record.m_vf.val();
        self.m_set_win_id.next = self.record.m_win_id.val();
        self.m_set_epoch.next = self.record.m_epoch.val();
        self.m_set_msn.next = self.record.m_msn.val();
        self.m_set_wr_id.next = self.record.m_wr_id.val();
        self.m_set_request.next = self.record.m_request.val();
        self.m_set_timeout.next = self.record.m_timeout.val();
        self.m_set_outcome.next = self.record.m_outcome.val();
        self.m_set_kind.next = self.record.m_kind.val();
        self.m_set_addr.next = self.record.m_address.val();
        self.m_set_key.next = self.record.m_key.val();
        self.m_set_len.next = self.record.m_room.val();
        self.m_sd.of.next.node = self.record.m_node.val();
        self.m_sd.of.next.peer = self.record.m_peer.val();
        self.m_sd.of.next.psn = self.record.m_psn.val();
        self.m_sd.of.next.q_key = self.record.m_q_key.val();
        self.m_sd.of.next.src = bit_cast::<24, LQ>(self.record.m_qpn.val());
        self.m_sd.of.next.vf = self.record.m_vf.val();
        self.m_sd.of.next.win_id = self.record.m_win_id.val();
        self.m_sd.of.next.epoch = self.record.m_epoch.val();
        self.m_sd.of.next.msn = self.record.m_msn.val();
        self.m_sd.of.next.head = self.record.m_head.val();
        self.m_sd.of.next.head_len = self.record.m_head_len.val();
        self.m_sd.of.next.len = self.record.m_len.val();

        // Reads.
        self.reads.pay_valid.next = self.record.m_pay_valid.val();
        self.record.m_pay_ready.next = self.reads.pay_ready.val();
        self.reads.pay_addr.next = self.record.m_address.val();
        self.reads.pay_len.next = self.record.m_len.val();
        DmaRequestOut::link(&mut self.m_rd, &mut self.reads.m_rd);

        self.m_idle.next = self.live.q.val()
            & !self.turn.m_busy.val()
            & !self.fetched.m.valid.val()
            & self.record.s_ready.val()
            & !self.reads.m_busy.val()
            & !self.cancel.q.val()
            & !self.drop.q.val();
    }
}
