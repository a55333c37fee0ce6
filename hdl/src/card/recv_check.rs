//! The verdict on each request.

use super::recv_acks::WaitingAck;
use super::recv_record::{ArrivedCount, Epochs, PostedRequest, ReceiveShape};
use crate::blocks::RamReg;
use crate::bus::{LookupOut, QueuePairOut, RequestIn, RingIndexOut};
use crate::prelude::*;
use crate::record::{ContextKeys, ContextShape};
use tributary_protocol::xud::{Nak, Outcome, Reply};

/// Syndrome of an acknowledgement.
const fn syndrome(reply: Reply) -> usize {
    reply.syndrome() as usize
}

hdl_module! {
    /// Checks one request after the other, takes a receive request and a completion slot for
    /// those that are accepted, and hands over what follows: completion and payload (m_st_*),
    /// acknowledgement (m_ak_*), index of the ring (m_head_*). All of these, the verdict
    /// (s_rq_ready, s_rq_drop) and its ev_* pulse come in one clock.
    /// Order of the checks, the first that fails decides: room for an acknowledgement (else
    /// dropped as if lost), queue pair there and in ReadyToReceive or ReadyToSend (NAK), Q_Key
    /// (dropped in silence), opcode (NAK), MTU (NAK), epoch (NAK), a receive request (RNR), long
    /// enough (NAK, it stays), a completion slot (RNR), region (NAK, the receive request ends in
    /// LOCAL_PROTECTION).
    /// A queue pair whose ring could not be read gets the completion LOCAL_QUEUE here, between
    /// two requests, if a slot is free at once; else it gets none, as nothing else shall wait for
    /// it.
    /// A notification (BW-3) takes a receive request and a slot as a packet does. Of the checks it has those of the queue pair,
    /// of the receive request and of the slot alone: the others were made when its transfer began. It waits for room for its
    /// answer, which says whether it was taken, and counts nothing. m_begins says that it is looked at.
    /// A request takes 14 clocks if its slot is granted within 6, one clock more for each clock
    /// after; 6 if it is refused, 7 if it is too long for the receive request.
    /// Steps: 0 addresses of all tables, when nothing writes to them; 1 block RAM arrays; 2 RAM
    /// outputs compared, address of the receive request; 3 epoch, first verdict; 4 receive
    /// request read; 8 long enough; 5 slot and region, side by side; 6 handed over. 7 slot of a
    /// queue pair that failed. CA = LQ + 4.
    /// While it waits in step 5 or 7, s_rq_* stay as they are, by contract; answers of card_cq and card_regions are
    /// noted, and tables may be written: what was compared with them is not compared again.
    #[module("card_recv_check_q{}", 1usize << LQ)]
    pub struct CardRecvCheck<const LQ: usize, const CA: usize> {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset; the tables are cleared with cfg_clear and cfg_shape.
        pub rst: Signal<In, Bit>,
        /// Begin no request.
        pub hold: Signal<In, Bit>,
        /// A table may be written in the next clock.
        pub cfg_soon: Signal<In, Bit>,
        /// Queue pair that is configured.
        pub cfg_qpn: Signal<In, Bits<LQ>>,
        /// Write whether it receives and its protection domain.
        pub cfg_shape: Signal<In, Bit>,
        /// Write its Q_Key.
        pub cfg_key: Signal<In, Bit>,
        /// Write its epochs.
        pub cfg_epoch: Signal<In, Bit>,
        /// Its index becomes 0.
        pub cfg_clear: Signal<In, Bit>,
        /// It receives.
        pub cfg_receives: Signal<In, Bit>,
        /// Word of configuration: protection domain 47:32; Q_Key 31:0; epochs oldest 15:0, newest 31:16.
        pub cfg_data: Signal<In, Bits<64>>,
        /// Largest payload, bytes.
        pub cfg_mtu: Signal<In, Bits<13>>,
        /// Requests from the line.
        pub s_rq: RequestIn,
        /// The notification at s_rq is looked at from now on; pulse.
        pub m_begins: Signal<Out, Bit>,
        /// The number of receive requests read has changed; pulse.
        pub s_arrived_valid: Signal<In, Bit>,
        /// Queue pair.
        pub s_arrived_qpn: Signal<In, Bits<LQ>>,
        /// Requests ever read, modulo 32, in 4:0; they do not count 5.
        pub s_arrived_word: Signal<In, Bits<6>>,
        /// Place of the next receive request.
        pub place: Signal<Out, Bits<CA>>,
        /// Two clocks later, it: a record PostedRequest.
        pub request: Signal<In, Bits<173>>,
        /// The ring of a queue pair could not be read.
        pub s_failed_valid: Signal<In, Bit>,
        /// It is dealt with; pulse.
        pub s_failed_ready: Signal<Out, Bit>,
        /// Queue pair.
        pub s_failed_qpn: Signal<In, Bits<LQ>>,
        /// A completion slot is asked for, until rsv_done.
        pub m_rsv: QueuePairOut<LQ>,
        /// Answer; pulse.
        pub rsv_done: Signal<In, Bit>,
        /// The slot is reserved.
        pub rsv_ok: Signal<In, Bit>,
        /// Lookups of regions.
        pub m_look: LookupOut,
        /// Answer, 6 clocks later; pulse.
        pub look_valid: Signal<In, Bit>,
        /// The access is allowed.
        pub look_ok: Signal<In, Bit>,
        /// The index of the requests that packets have taken.
        pub m_head: RingIndexOut<LQ>,
        /// With m_head_valid: it is even, and not cleared.
        pub m_kick_valid: Signal<Out, Bit>,
        /// No more acknowledgements may be handed over.
        pub ak_full: Signal<In, Bit>,
        /// An acknowledgement; pulse.
        pub m_ak_valid: Signal<Out, Bit>,
        /// It waits until the message has landed.
        pub m_ak_lands: Signal<Out, Bit>,
        /// As s_data of card_recv_acks.
        pub m_ak_data: Signal<Out, Bits<174>>,
        /// A completion; pulse.
        pub m_st_valid: Signal<Out, Bit>,
        /// One can be handed over.
        pub m_st_ready: Signal<In, Bit>,
        /// There is a payload to write.
        pub m_st_writes: Signal<Out, Bit>,
        /// Queue pair.
        pub m_st_qpn: Signal<Out, Bits<LQ>>,
        /// Name of the receive request.
        pub m_st_wr_id: Signal<Out, Bits<64>>,
        /// How it ended.
        pub m_st_status: Signal<Out, Bits<8>>,
        /// Bytes received.
        pub m_st_len: Signal<Out, Bits<13>>,
        /// Number of the receive request in its ring.
        pub m_st_request: Signal<Out, Bits<16>>,
        /// There is a packet: its fields go into the completion.
        pub m_st_packet: Signal<Out, Bit>,
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
        /// No request is under way.
        pub idle: Signal<Out, Bit>,

        /// Protection domain 15:0, it receives 16.
        shapes: RamReg<{ ReceiveShape::BITS }, LQ>,
        keys: RamReg<32, LQ>,
        epochs: RamReg<32, LQ>,
        /// Receive requests ever taken.
        heads: RamReg<16, LQ>,
        /// As s_arrived_word.
        arrived: RamReg<6, LQ>,
        /// One-hot.
        step: DFF<Bits<9>>,
        /// Nothing writes to a table in this clock.
        quiet: Signal<Local, Bit>,
        begin: Signal<Local, Bit>,
        begin_failed: Signal<Local, Bit>,
        qpn: Signal<Local, Bits<LQ>>,
        /// Step 3 on: results of the comparisons.
        overload: DFF<Bit>,
        bad_qp: DFF<Bit>,
        /// Of the request, which stays: they come late.
        q_key: DFF<Bits<32>>,
        len: DFF<Bits<13>>,
        bad_key: DFF<Bit>,
        over_mtu: DFF<Bit>,
        has_epoch: DFF<Bit>,
        some: DFF<Bit>,
        /// Epoch of the request, newest epoch, both less the oldest one.
        epoch_age: DFF<Bits<16>>,
        epoch_span: DFF<Bits<16>>,
        pd: DFF<Bits<16>>,
        /// Step 4 on: its epoch is of an earlier process.
        stale: DFF<Bit>,
        /// The verdict so far: overload, queue pair, Q_Key, opcode, length, epoch, RNR; nothing.
        verdict: DFF<Bits<7>>,
        /// The receive request is too short.
        short: DFF<Bit>,
        /// What the acknowledgement says; 0: there is none.
        syndrome: DFF<Bits<8>>,
        /// A slot is asked for, for this queue pair; it is reserved.
        #[reset] rsv_valid: DFF<Bit>,
        rsv_qpn: DFF<Bits<LQ>>,
        #[reset] slot: DFF<Bit>,
        slot_now: Signal<Local, Bit>,
        no_slot: Signal<Local, Bit>,
        #[reset] look: DFF<Bit>,
        /// The region was looked up, the access is allowed.
        looked: DFF<Bit>,
        allowed: DFF<Bit>,
        looked_now: Signal<Local, Bit>,
        allowed_now: Signal<Local, Bit>,
        /// Step 6: a packet is taken or refused, it takes its receive request, its payload is wanted; a queue pair that
        /// failed is done, with a completion.
        #[reset] answer: DFF<Bit>,
        #[reset] takes: DFF<Bit>,
        #[reset] wanted: DFF<Bit>,
        /// It has payload.
        bytes: DFF<Bit>,
        #[reset] failed: DFF<Bit>,
        #[reset] failed_slot: DFF<Bit>,
        /// It is about a queue pair that failed; from step 1 or 7 on.
        failing: DFF<Bit>,
        head: DFF<Bits<16>>,
        head_next: DFF<Bits<16>>,
        ack: Signal<Local, WaitingAck>,
        posted: Signal<Local, PostedRequest>,
        arrived_now: Signal<Local, ArrivedCount>,
        shape: Signal<Local, ReceiveShape>,
        shape_in: Signal<Local, ReceiveShape>,
        context_shape: Signal<Local, ContextShape>,
        context_keys: Signal<Local, ContextKeys>,
        epoch: Signal<Local, Epochs>,
        lq: Param<LQ, 5>,
        /// What acknowledgements say.
        ok_code: Param<{ syndrome(Reply::Ok) }, 8>,
        rnr_code: Param<{ syndrome(Reply::Rnr) }, 8>,
        opcode_code: Param<{ syndrome(Reply::Nak(Nak::Opcode)) }, 8>,
        access_code: Param<{ syndrome(Reply::Nak(Nak::Access)) }, 8>,
        length_code: Param<{ syndrome(Reply::Nak(Nak::Length)) }, 8>,
        qp_code: Param<{ syndrome(Reply::Nak(Nak::BadQp)) }, 8>,
        epoch_code: Param<{ syndrome(Reply::Nak(Nak::Epoch)) }, 8>,
        /// How receive requests end.
        ok: Param<{ Outcome::Ok as usize }, 8>,
        protection: Param<{ Outcome::LocalProtection as usize }, 8>,
        local_queue: Param<{ Outcome::LocalQueue as usize }, 8>,
    }
}

impl<const LQ: usize, const CA: usize> Logic for CardRecvCheck<LQ, CA> {
    #[hdl_gen]
    fn update(&mut self) {
        self.qpn.next = bit_cast::<LQ, 24>(self.s_rq.of.val().qpn);
        self.q_key.d.next = self.s_rq.of.val().q_key;
        self.len.d.next = self.s_rq.of.val().len;
        // Tables; the request, and so its words, stay until it is taken.
        self.shapes.rd.addr.next = self.qpn.val();
        self.shapes.wr.en.next = self.cfg_shape.val();
        self.shapes.wr.addr.next = self.cfg_qpn.val();
        self.context_shape.next = self.cfg_data.val().into();
        self.shape_in.next = ReceiveShape {
            pd: self.context_shape.val().pd,
            receives: self.cfg_receives.val(),
        };
        self.shapes.wr.data.next = self.shape_in.val().to_bits();
        self.keys.rd.addr.next = self.qpn.val();
        self.keys.wr.en.next = self.cfg_key.val();
        self.keys.wr.addr.next = self.cfg_qpn.val();
        self.context_keys.next = self.cfg_data.val().into();
        self.keys.wr.data.next = self.context_keys.val().q_key;
        self.epochs.rd.addr.next = self.qpn.val();
        self.epochs.wr.en.next = self.cfg_epoch.val();
        self.epochs.wr.addr.next = self.cfg_qpn.val();
        self.epochs.wr.data.next = self.cfg_data.val().get_bits::<32>(0);
        self.arrived.rd.addr.next = self.qpn.val();
        self.arrived.wr.en.next = self.s_arrived_valid.val();
        self.arrived.wr.addr.next = self.s_arrived_qpn.val();
        self.arrived.wr.data.next = self.s_arrived_word.val();
        self.heads.rd.addr.next = self.qpn.val();

        // Answers of card_cq and card_regions.
        self.slot_now.next = self.slot.q.val() | (self.rsv_done.val() & self.rsv_ok.val());
        self.no_slot.next = self.rsv_done.val() & !self.rsv_ok.val();
        self.looked_now.next = self.looked.q.val() | self.look_valid.val();
        self.allowed_now.next = self.allowed.q.val();
        if !self.looked.q.val() {
            self.allowed_now.next = self.look_ok.val();
        }
        if self.rsv_done.val() {
            self.rsv_valid.d.next = false;
        }
        self.slot.d.next = self.slot_now.val();
        self.looked.d.next = self.looked_now.val();
        self.allowed.d.next = self.allowed_now.val();

        // Step 0: a queue pair that failed, or a request.
        self.shape.next = self.shapes.rd.data.val().into();
        self.epoch.next = self.epochs.rd.data.val().into();
        self.arrived_now.next = self.arrived.rd.data.val().into();
        self.posted.next = self.request.val().into();
        self.quiet.next = !self.cfg_shape.val()
            & !self.cfg_key.val()
            & !self.cfg_epoch.val()
            & !self.cfg_clear.val()
            & !self.s_arrived_valid.val();
        self.begin_failed.next =
            self.step.q.val().get_bit(0) & self.s_failed_valid.val() & !self.ak_full.val();
        self.begin.next = self.step.q.val().get_bit(0)
            & !self.begin_failed.val()
            & self.s_rq.valid.val()
            & !self.hold.val()
            & !(self.s_rq.of.val().notify & self.ak_full.val())
            & self.quiet.val();
        self.m_begins.next = self.begin.val() & self.s_rq.of.val().notify;
        if self.begin.val() {
            self.step.d.next = bits::<9>(1) << 1;
            self.failing.d.next = false;
        }
        if self.begin_failed.val() {
            self.step.d.next = bits::<9>(1) << 7;
            self.failing.d.next = true;
            self.rsv_valid.d.next = true;
            self.rsv_qpn.d.next = self.s_failed_qpn.val();
        }
        if self.step.q.val().get_bit(0) {
            self.slot.d.next = false;
        }

        // Step 1.
        if self.step.q.val().get_bit(1) {
            self.step.d.next = bits::<9>(1) << 2;
        }

        // Step 2: the request against its queue pair.
        self.place.next = (bit_cast::<CA, LQ>(self.qpn.val()) << 4)
            | bit_cast::<CA, 4>(self.heads.rd.data.val().get_bits::<4>(0));
        if self.step.q.val().get_bit(2) {
            self.step.d.next = bits::<9>(1) << 3;
            self.overload.d.next = self.ak_full.val();
            self.bad_qp.d.next =
                (self.s_rq.of.val().qpn >> self.lq.val()).any() | !self.shape.val().receives;
            self.bad_key.d.next =
                (self.q_key.q.val() != self.keys.rd.data.val()) & !self.s_rq.of.val().notify;
            self.over_mtu.d.next = self.len.q.val() > self.cfg_mtu.val();
            self.has_epoch.d.next = self.s_rq.of.val().vf.get_bits::<4>(4).any()
                & !self.s_rq.of.val().vf.get_bit(0)
                & !self.s_rq.of.val().notify;
            self.epoch_age.d.next = self.s_rq.of.val().epoch - self.epoch.val().oldest;
            self.epoch_span.d.next = self.epoch.val().newest - self.epoch.val().oldest;
            self.some.d.next = !self.arrived_now.val().dead
                & (self.arrived_now.val().count != self.heads.rd.data.val().get_bits::<5>(0));
            self.pd.d.next = self.shape.val().pd;
            self.head.d.next = self.heads.rd.data.val();
        }

        // Step 3: the first verdict.
        self.stale.d.next =
            self.has_epoch.q.val() & (self.epoch_age.q.val() > self.epoch_span.q.val());
        if self.step.q.val().get_bit(3) {
            self.step.d.next = bits::<9>(1) << 4;
            self.head_next.d.next = self.head.q.val() + 1;
            self.syndrome.d.next = 0.into();
            self.verdict.d.next = 0.into();
            if self.overload.q.val() {
                self.verdict.d.next = 1.into();
            } else if self.bad_qp.q.val() {
                self.verdict.d.next = 2.into();
                self.syndrome.d.next = self.qp_code.val();
            } else if self.bad_key.q.val() {
                self.verdict.d.next = 4.into();
            } else if self.s_rq.of.val().unknown {
                self.verdict.d.next = 8.into();
                self.syndrome.d.next = self.opcode_code.val();
            } else if self.over_mtu.q.val() {
                self.verdict.d.next = 16.into();
                self.syndrome.d.next = self.length_code.val();
            } else if !self.some.q.val() {
                self.verdict.d.next = 64.into();
                self.syndrome.d.next = self.rnr_code.val();
            }
        }

        // Step 4: the receive request, which is at hand from here on.
        self.short.d.next = self.len.q.val() > self.posted.val().length;
        self.answer.d.next = false;
        self.takes.d.next = false;
        self.wanted.d.next = false;
        self.look.d.next = false;
        if self.step.q.val().get_bit(4) {
            self.step.d.next = bits::<9>(1) << 8;
            if self.verdict.q.val().any() | self.stale.q.val() {
                self.step.d.next = bits::<9>(1) << 6;
                self.answer.d.next = true;
            }
            // An old epoch goes before RNR, and behind all else.
            if self.stale.q.val() & !self.verdict.q.val().get_bits::<5>(0).any() {
                self.verdict.d.next = 32.into();
                self.syndrome.d.next = self.epoch_code.val();
            }
        }

        // Step 8: whether the message fits it.
        if self.step.q.val().get_bit(8) {
            if self.short.q.val() {
                self.step.d.next = bits::<9>(1) << 6;
                self.answer.d.next = true;
                self.verdict.d.next = 16.into();
                self.syndrome.d.next = self.length_code.val();
            } else {
                self.step.d.next = bits::<9>(1) << 5;
                self.rsv_valid.d.next = true;
                self.rsv_qpn.d.next = self.qpn.val();
                self.look.d.next = !self.s_rq.of.val().notify;
                self.looked.d.next = self.s_rq.of.val().notify;
                self.allowed.d.next = true;
            }
        }

        // Step 5: slot and region.
        if self.step.q.val().get_bit(5) {
            if self.no_slot.val() {
                self.step.d.next = bits::<9>(1) << 6;
                self.answer.d.next = true;
                self.verdict.d.next = 64.into();
                self.syndrome.d.next = self.rnr_code.val();
            }
            if self.slot_now.val()
                & self.looked_now.val()
                & self.m_st_ready.val()
                & !self.cfg_soon.val()
            {
                self.step.d.next = bits::<9>(1) << 6;
                self.answer.d.next = true;
                self.takes.d.next = true;
                self.wanted.d.next = self.allowed_now.val();
                self.syndrome.d.next = self.access_code.val();
                if self.allowed_now.val() {
                    self.syndrome.d.next = self.ok_code.val();
                }
            }
        }

        // Step 7: the slot of a queue pair that failed.
        self.failed.d.next = false;
        self.failed_slot.d.next = false;
        if self.step.q.val().get_bit(7) {
            self.verdict.d.next = 0.into();
            self.syndrome.d.next = 0.into();
            if self.no_slot.val() | (self.slot_now.val() & self.m_st_ready.val()) {
                self.step.d.next = bits::<9>(1) << 6;
                self.failed.d.next = true;
                self.failed_slot.d.next = self.slot_now.val();
            }
        }

        // Step 6: everything at once.
        if self.step.q.val().get_bit(6) {
            self.step.d.next = 1.into();
        }
        self.s_rq.ready.next = self.answer.q.val();
        self.s_rq.drop.next = !self.wanted.q.val();
        self.s_failed_ready.next = self.failed.q.val();
        self.m_head.valid.next = self.takes.q.val() | self.cfg_clear.val();
        self.m_head.of.next.qpn = self.rsv_qpn.q.val();
        self.m_head.of.next.index = self.head_next.q.val();
        if self.cfg_clear.val() {
            self.m_head.of.next.qpn = self.cfg_qpn.val();
            self.m_head.of.next.index = 0.into();
        }
        self.heads.wr.en.next = self.m_head.valid.val();
        self.heads.wr.addr.next = self.m_head.of.val().qpn;
        self.heads.wr.data.next = self.m_head.of.val().index;
        self.m_kick_valid.next = self.takes.q.val() & !self.head_next.q.val().get_bit(0);
        self.m_ak_valid.next =
            (self.answer.q.val() & self.syndrome.q.val().any()) | self.failed_slot.q.val();
        self.m_ak_lands.next = self.takes.q.val() | self.failed_slot.q.val();
        self.ack.next = WaitingAck {
            node: self.s_rq.of.val().node,
            peer: self.s_rq.of.val().src,
            psn: self.s_rq.of.val().psn,
            syndrome: self.syndrome.q.val(),
            win_id: self.s_rq.of.val().win_id,
            epoch: self.s_rq.of.val().epoch,
            msn: self.s_rq.of.val().msn,
            vf: self.s_rq.of.val().vf,
            src: self.s_rq.of.val().qpn,
            notify: self.s_rq.of.val().notify & !self.failing.q.val(),
            marked: self.s_rq.of.val().marked,
        };
        self.m_ak_data.next = self.ack.val().to_bits();
        self.m_st_valid.next = self.takes.q.val() | self.failed_slot.q.val();
        self.bytes.d.next = self.s_rq.of.val().len.any();
        self.m_st_writes.next = self.wanted.q.val() & self.bytes.q.val();
        self.m_st_qpn.next = self.rsv_qpn.q.val();
        self.m_st_packet.next = !self.failing.q.val();
        self.m_st_status.next = self.protection.val();
        self.m_st_len.next = 0.into();
        if self.wanted.q.val() {
            self.m_st_status.next = self.ok.val();
            self.m_st_len.next = self.len.q.val();
        }
        self.m_st_wr_id.next = self.posted.val().wr_id;
        self.m_st_request.next = self.head.q.val();
        if self.failing.q.val() {
            self.m_st_status.next = self.local_queue.val();
            self.m_st_wr_id.next = 0.into();
            self.m_st_request.next = 0.into();
        }
        self.ev_ack_overload.next = self.answer.q.val() & self.verdict.q.val().get_bit(0);
        self.ev_bad_qp.next =
            self.answer.q.val() & self.verdict.q.val().get_bit(1) & !self.s_rq.of.val().notify;
        self.ev_bad_key.next = self.answer.q.val() & self.verdict.q.val().get_bit(2);
        self.ev_bad_opcode.next = self.answer.q.val() & self.verdict.q.val().get_bit(3);
        self.ev_bad_length.next = self.answer.q.val() & self.verdict.q.val().get_bit(4);
        self.ev_stale_epoch.next = self.answer.q.val() & self.verdict.q.val().get_bit(5);
        self.ev_rnr.next =
            self.answer.q.val() & self.verdict.q.val().get_bit(6) & !self.s_rq.of.val().notify;
        self.ev_accepted.next =
            self.takes.q.val() & self.wanted.q.val() & !self.s_rq.of.val().notify;
        self.ev_local_error.next =
            (self.takes.q.val() & !self.wanted.q.val()) | self.failed_slot.q.val();

        self.m_rsv.valid.next = self.rsv_valid.q.val();
        self.m_rsv.qpn.next = self.rsv_qpn.q.val();
        self.m_look.valid.next = self.look.q.val();
        self.m_look.of.next.key = self.posted.val().lkey;
        self.m_look.of.next.pd = self.pd.q.val();
        self.m_look.of.next.addr = self.posted.val().address;
        self.m_look.of.next.len = self.len.q.val();
        self.m_look.of.next.write = true;
        self.idle.next =
            self.step.q.val().get_bit(0) & !self.begin.val() & !self.s_failed_valid.val();

        if self.rst.val() {
            self.step.d.next = 1.into();
        }
    }
}
