//! What the transfers of this card are for.

use super::{BulkBegin, BulkMarks};
use crate::blocks::RamReg;
use crate::bus::{
    BulkCancelOut, BulkEndIn, BulkRequestOut, BulkSource, BulkSourcesIn, BulkStartedIn,
    BulkUnreadIn, BulkWorksIn, CompletionOut, LookupRightsOut, ReadsOut, ReadsServedIn, VerdictIn,
};
use crate::prelude::*;
use tributary_protocol::card::descriptor::flags;
use tributary_protocol::rw::Outcome as Ending;
use tributary_protocol::xud::Outcome;
use tributary_protocol::xud::wire::ONE_SIDED_FRAME;

hdl_record! {
    /// The completion of a transfer but for its status.
    struct WorkEnd {
        /// The user's name for the work request.
        wr_id: Bits<64>,
        /// Number of the work request in its ring.
        request: Bits<16>,
        /// Packet sequence number.
        psn: Bits<24>,
        /// Node of the destination.
        node: Bits<20>,
        /// Queue pair of the destination.
        peer: Bits<24>,
        /// Number in the window.
        msn: Bits<32>,
        /// Queue pair here.
        qpn: Bits<24>,
        /// It answers a READ request of others: it has no completion.
        response: Bit,
    }
}

hdl_record! {
    /// The name of a transfer, and where it goes.
    struct WorkPeer {
        /// Its number in its slot.
        xid: Bits<32>,
        /// Node of the destination.
        node: Bits<20>,
    }
}

/// What becomes of a READ request that is to be served.
#[derive(Copy, Clone, PartialEq, Debug, LogicState)]
pub enum Serve {
    Idle,
    Start,
    Started,
}

/// What becomes of the transfer that has ended.
#[derive(Copy, Clone, PartialEq, Debug, LogicState)]
pub enum Finish {
    Idle,
    Read,
    Judge,
    Offer,
}

hdl_module! {
    /// What each transfer slot is for, beside bulk_send, which knows only how a transfer crosses the network: the completion
    /// but for its status, memory here, queue pairs, and why the card itself ends it, if it does. In block RAM, each part with
    /// one reader. Exactly one completion leaves for each work request, but for those of a queue pair that ends (BW-1), and none
    /// for transfers that answer READ requests of others (BW-11): these come at s_serve and find a slot or are told at once that
    /// none is free. A READ of this host leaves at m_read when it was checked.
    /// bulk_begin checks work requests and starts their transfers; bulk_marks knows which are under way, and which of them the
    /// card ends: s_unread ends one in local_protection or local_dma, its receiver is told, and its completion comes when
    /// bulk_send says that it is cancelled. If it ended otherwise before that, it has ended like that. s_end names a queue
    /// pair that ends: its transfers end without a completion, and so does its work request that waits.
    /// Clocks: those of bulk_begin and bulk_marks; 5 for the end of a transfer; 2 to read a slot.
    /// Stages of an end: 1 and 2 the memory, 3 its status, 4 offered.
    /// While m_cpl is not taken no end is, and no work request begins; while m_start is not taken the work request stays; while m_cancel is not taken
    /// others that are to be cancelled wait, and s_unread does not.
    /// While hold is up nothing begins: no work request, and no completion. m_idle says that nothing is under way then.
    #[module("bulk_works_s{S}_q{}", 1usize << LQ)]
    pub struct BulkWorks<const S: usize, const LS: usize, const SA: usize, const LQ: usize> {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset: no transfer is under way.
        pub rst: Signal<In, Bit>,
        /// Largest payload of a packet, bytes: packets have the largest power of two in it, 256 to 4,096.
        pub cfg_mtu: Signal<In, Bits<13>>,
        /// Work requests.
        pub s: BulkWorksIn,
        /// READs of this host.
        pub m_read: ReadsOut,
        /// A place for one is free.
        pub read_free: Signal<In, Bit>,
        /// READ requests of others.
        pub s_serve: ReadsServedIn<LS>,
        /// A transfer is over: pulse.
        pub m_over_valid: Signal<Out, Bit>,
        /// Its slot.
        pub m_over_slot: Signal<Out, Bits<LS>>,
        /// Nothing new may begin.
        pub hold: Signal<In, Bit>,
        /// With hold: nothing is under way.
        pub m_idle: Signal<Out, Bit>,
        /// A transfer is under way.
        pub m_active: Signal<Out, Bit>,
        /// A region is looked up.
        pub m_look: LookupRightsOut,
        /// What was found.
        pub s_look: VerdictIn,
        /// Transfers to start.
        pub m_start: BulkRequestOut,
        /// What became of them.
        pub s_started: BulkStartedIn,
        /// Transfers to cancel.
        pub m_cancel: BulkCancelOut,
        /// Transfers that have ended.
        pub s_ended: BulkEndIn,
        /// Completions.
        pub m_cpl: CompletionOut<LQ>,
        /// A packet cannot be read.
        pub s_unread: BulkUnreadIn,
        /// A queue pair ends, while m_idle; stays until it is taken.
        pub s_end_valid: Signal<In, Bit>,
        /// Nothing of it is read or completed from now on: pulse.
        pub s_end_ready: Signal<Out, Bit>,
        /// Its number.
        pub s_end_index: Signal<In, Bits<24>>,
        /// Slots that packets are read for.
        pub s_source: BulkSourcesIn,
        /// A slot that a message names.
        pub s_slot: Signal<In, Bits<LS>>,
        /// A transfer of it is under way; two clocks later, as the next two.
        pub m_slot_active: Signal<Out, Bit>,
        /// Its number.
        pub m_slot_xid: Signal<Out, Bits<32>>,
        /// Node that it goes to.
        pub m_slot_node: Signal<Out, Bits<20>>,
        /// A work request was refused here; pulse, as all below.
        pub ev_refused: Signal<Out, Bit>,
        /// A READ request was served to the end.
        pub ev_served: Signal<Out, Bit>,
        /// A transfer has ended well.
        pub ev_completed: Signal<Out, Bit>,
        /// One has ended otherwise, with a completion.
        pub ev_failed: Signal<Out, Bit>,

        begin: BulkBegin,
        marks: BulkMarks<S, LS, SA>,
        // The slots.
        ends: RamReg<{ WorkEnd::BITS }, SA>,
        peers: RamReg<{ WorkPeer::BITS }, SA>,
        sources: RamReg<{ BulkSource::BITS }, SA>,
        end_in: Signal<Local, WorkEnd>,
        peer_in: Signal<Local, WorkPeer>,
        source_in: Signal<Local, BulkSource>,
        over: Signal<Local, Bits<S>>,
        end: Signal<Local, WorkEnd>,
        peer: Signal<Local, WorkPeer>,
        // What readers of the slots are told beside the words.
        source_live: DFF<Bit>,
        source_live_2: DFF<Bit>,
        slot_active: DFF<Bit>,
        slot_active_2: DFF<Bit>,

        // The READ request that is to be served.
        serve: DFF<Serve>,
        serve_begins: Signal<Local, Bit>,
        served: Signal<Local, Bit>,
        starts: Signal<Local, Bit>,

        // The transfer that has ended.
        finish: DFF<Finish>,
        finish_timer: DFF<Bits<2>>,
        outcome: DFF<Bits<8>>,
        finish_mask: Signal<Local, Bits<S>>,
        silent: DFF<Bit>,
        gone_key: DFF<Bit>,
        gone_memory: DFF<Bit>,
        taken: Signal<Local, Bit>,
        refused: Signal<Local, Bit>,

        one_sided: Param<{ ONE_SIDED_FRAME as usize }, 8>,
        notify: Param<{ flags::NOTIFY.mask() as usize }, 8>,
        local_protection: Param<{ Outcome::LocalProtection as usize }, 8>,
        local_dma: Param<{ Outcome::LocalDma as usize }, 8>,
        remote_length: Param<{ Outcome::RemoteLength as usize }, 8>,
        remote_access: Param<{ Outcome::RemoteAccess as usize }, 8>,
        remote_rnr: Param<{ Outcome::RemoteRnr as usize }, 8>,
        bad_qp: Param<{ Outcome::BadQp as usize }, 8>,
        unreachable: Param<{ Outcome::Unreachable as usize }, 8>,
        unresponsive: Param<{ Outcome::Unresponsive as usize }, 8>,
        aborted: Param<{ Outcome::Aborted as usize }, 8>,
        end_ok: Param<{ Ending::Ok as usize }, 4>,
        end_refused: Param<{ Ending::Refused as usize }, 4>,
        end_busy: Param<{ Ending::Busy as usize }, 4>,
        end_unreachable: Param<{ Ending::Unreachable as usize }, 4>,
        end_unresponsive: Param<{ Ending::Unresponsive as usize }, 4>,
        end_cancelled: Param<{ Ending::Cancelled as usize }, 4>,
        end_access: Param<{ Ending::Access as usize }, 4>,
        end_bad_qp: Param<{ Ending::BadQp as usize }, 4>,
        end_not_ready: Param<{ Ending::NotReady as usize }, 4>,
    }
}

impl<const S: usize, const LS: usize, const SA: usize, const LQ: usize> Logic
    for BulkWorks<S, LS, SA, LQ>
{
    #[hdl_gen]
    fn update(&mut self) {
        // Work requests.
        BulkWorksIn::link(&mut self.s, &mut self.begin.s);
        LookupRightsOut::link(&mut self.m_look, &mut self.begin.m_look);
        VerdictIn::link(&mut self.s_look, &mut self.begin.s_look);
        ReadsOut::link(&mut self.m_read, &mut self.begin.m_read);
        self.begin.read_free.next = self.read_free.val();
        self.begin.cfg_mtu.next = self.cfg_mtu.val();
        self.begin.hold.next = self.hold.val();
        self.m_active.next = self.marks.m_active.val().any();
        self.begin.free.next = !self.marks.m_active.val().all();
        self.begin.stay.next = self.s_serve.valid.val();
        self.begin.ends.next = self.s_ended.valid.val();
        self.begin.m_start.ready.next =
            self.m_start.ready.val() & (self.serve.q.val() != Serve::Start);
        self.m_start.valid.next = self.begin.m_start.valid.val();
        self.m_start.dst.next = self.begin.m_start.dst.val();
        self.m_start.addr.next = self.begin.m_start.addr.val();
        self.m_start.rkey.next = self.begin.m_start.rkey.val();
        self.m_start.length.next = self.begin.m_start.length.val();
        self.m_start.mtu.next = self.begin.m_start.mtu.val();
        self.m_start.oldest_first.next = self.begin.m_start.oldest_first.val();
        if self.serve.q.val() == Serve::Start {
            self.m_start.valid.next = true;
            self.m_start.dst.next = self.s_serve.of.val().node;
            self.m_start.addr.next = self.s_serve.of.val().there;
            self.m_start.rkey.next = self.s_serve.of.val().rkey;
            self.m_start.length.next = self.s_serve.of.val().length;
            self.m_start.mtu.next = self.s_serve.of.val().mtu;
            self.m_start.oldest_first.next = false;
        }
        self.begin.s_started.valid.next = self.s_started.valid.val();
        self.begin.s_started.error.next = self.s_started.error.val();
        self.begin.s_started.slot.next = self.s_started.slot.val();
        self.begin.s_started.xid.next = self.s_started.xid.val();
        self.served.next = (self.serve.q.val() == Serve::Started)
            & self.s_started.valid.val()
            & !self.s_ended.valid.val();
        self.s_started.ready.next = self.begin.s_started.ready.val()
            | ((self.serve.q.val() == Serve::Started) & !self.s_ended.valid.val());
        self.starts.next = self.begin.started.val() | self.served.val();

        // READ requests of others: one that finds no slot is not kept.
        self.serve_begins.next = (self.serve.q.val() == Serve::Idle)
            & self.s_serve.valid.val()
            & !self.begin.m_starts.val();
        self.s_serve.busy.next = self.serve.q.val() == Serve::Idle;
        self.s_serve.ready.next =
            self.served.val() | (self.serve_begins.val() & !self.begin.free.val());
        self.s_serve.slot.next = self.s_started.slot.val().get_bits::<LS>(0);
        match self.serve.q.val() {
            Serve::Idle => {
                if self.serve_begins.val() & self.begin.free.val() {
                    self.serve.d.next = Serve::Start;
                }
            }
            Serve::Start => {
                if self.m_start.ready.val() {
                    self.serve.d.next = Serve::Started;
                }
            }
            Serve::Started => {
                if self.served.val() {
                    self.serve.d.next = Serve::Idle;
                }
            }
        }
        self.begin.s_end_taken.next = self.marks.s_end_ready.val();
        self.begin.s_end_index.next = self.s_end_index.val();

        // What the card ends.
        self.marks.s_start.valid.next = self.starts.val();
        self.marks.s_start.slot.next = self.s_started.slot.val().get_bits::<LS>(0);
        self.marks.s_start.of.next.xid = self.s_started.xid.val();
        self.marks.s_start.of.next.qpn = self.s.of.val().qpn;
        if self.served.val() {
            self.marks.s_start.of.next.qpn = self.s_serve.of.val().qpn;
        }
        self.marks.s_finish_slot.next = self.s_ended.slot.val().get_bits::<LS>(0);
        BulkUnreadIn::link(&mut self.s_unread, &mut self.marks.s_unread);
        BulkCancelOut::link(&mut self.m_cancel, &mut self.marks.m_cancel);
        self.marks.s_end_valid.next = self.s_end_valid.val();
        self.s_end_ready.next = self.marks.s_end_ready.val();
        self.marks.s_end_index.next = self.s_end_index.val();

        // What the slots keep.
        self.end_in.next = WorkEnd {
            wr_id: self.s.of.val().wr_id,
            request: self.s.of.val().request,
            psn: self.s.of.val().psn,
            node: self.s.of.val().node,
            peer: self.s.of.val().peer.get_bits::<24>(0),
            msn: self.s.of.val().msn,
            qpn: self.s.of.val().qpn,
            response: self.served.val(),
        };
        self.peer_in.next = WorkPeer {
            xid: self.s_started.xid.val(),
            node: self.s.of.val().node,
        };
        if self.served.val() {
            self.peer_in.next.node = self.s_serve.of.val().node;
        }
        self.source_in.next = BulkSource {
            xid: self.s_started.xid.val(),
            address: self.s.of.val().address,
            key: self.s.of.val().lkey,
            pd: self.s.of.val().pd,
            peer: self.s.of.val().peer.get_bits::<24>(0),
            qpn: self.s.of.val().qpn,
            q_key: self.s.of.val().q_key,
            notify: (self.s.of.val().flags & self.notify.val()).any(),
            immediate: self.s.of.val().msn,
            response: self.served.val(),
            token: self.s_serve.of.val().token,
        };
        if self.served.val() {
            self.source_in.next.address = self.s_serve.of.val().address;
            self.source_in.next.key = self.s_serve.of.val().key;
            self.source_in.next.pd = self.s_serve.of.val().pd;
            self.source_in.next.peer = self.s_serve.of.val().peer;
            self.source_in.next.qpn = self.s_serve.of.val().qpn;
            self.source_in.next.q_key = self.s_serve.of.val().q_key;
            self.source_in.next.notify = false;
        }
        self.ends.wr.en.next = self.starts.val();
        self.ends.wr.addr.next = self.s_started.slot.val().get_bits::<SA>(0);
        self.ends.wr.data.next = self.end_in.val().to_bits();
        self.peers.wr.en.next = self.starts.val();
        self.peers.wr.addr.next = self.s_started.slot.val().get_bits::<SA>(0);
        self.peers.wr.data.next = self.peer_in.val().to_bits();
        self.sources.wr.en.next = self.starts.val();
        self.sources.wr.addr.next = self.s_started.slot.val().get_bits::<SA>(0);
        self.sources.wr.data.next = self.source_in.val().to_bits();

        // What the slots say to those who ask.
        self.over.next =
            self.marks.m_no_key.val() | self.marks.m_no_memory.val() | self.marks.m_flushed.val();
        self.sources.rd.addr.next = self.s_source.slot.val().get_bits::<SA>(0);
        self.source_live.d.next = ((self.marks.m_active.val() & !self.over.val())
            >> self.s_source.slot.val().get_bits::<LS>(0))
        .get_bit(0);
        self.source_live_2.d.next = self.source_live.q.val();
        self.s_source.live.next = self.source_live_2.q.val();
        self.s_source.of.next = self.sources.rd.data.val().into();
        self.peers.rd.addr.next = bit_cast::<SA, LS>(self.s_slot.val());
        self.slot_active.d.next = (self.marks.m_active.val() >> self.s_slot.val()).get_bit(0);
        self.slot_active_2.d.next = self.slot_active.q.val();
        self.peer.next = self.peers.rd.data.val().into();
        self.m_slot_active.next = self.slot_active_2.q.val();
        self.m_slot_xid.next = self.peer.val().xid;
        self.m_slot_node.next = self.peer.val().node;

        // Completions: of a transfer, or else of a work request that is refused.
        self.ends.rd.addr.next = self.s_ended.slot.val().get_bits::<SA>(0);
        self.end.next = self.ends.rd.data.val().into();
        self.refused.next =
            self.begin.m_refused_valid.val() & (self.finish.q.val() == Finish::Idle);
        self.begin.m_refused_ready.next = self.refused.val() & self.m_cpl.ready.val();
        self.m_cpl.valid.next = (self.finish.q.val() == Finish::Offer) | self.refused.val();
        self.m_cpl.qpn.next = self.end.val().qpn.get_bits::<LQ>(0);
        self.m_cpl.of.next.wr_id = self.end.val().wr_id;
        self.m_cpl.of.next.status = self.outcome.q.val();
        self.m_cpl.of.next.vf = self.one_sided.val();
        self.m_cpl.of.next.len = 0.into();
        self.m_cpl.of.next.node = self.end.val().node;
        self.m_cpl.of.next.peer = self.end.val().peer;
        self.m_cpl.of.next.win_id = 0.into();
        self.m_cpl.of.next.epoch = 0.into();
        self.m_cpl.of.next.msn = self.end.val().msn;
        self.m_cpl.of.next.q_key = 0.into();
        self.m_cpl.of.next.psn = self.end.val().psn;
        self.m_cpl.of.next.request = self.end.val().request;
        self.m_cpl.of.next.notified = false;
        self.m_cpl.of.next.marked = false;
        self.m_cpl.of.next.arrived = false;
        if self.refused.val() {
            self.m_cpl.qpn.next = self.s.of.val().qpn.get_bits::<LQ>(0);
            self.m_cpl.of.next.wr_id = self.s.of.val().wr_id;
            self.m_cpl.of.next.status = self.begin.m_refused_status.val();
            self.m_cpl.of.next.vf = self.s.of.val().vf;
            self.m_cpl.of.next.node = self.s.of.val().node;
            self.m_cpl.of.next.peer = self.s.of.val().peer.get_bits::<24>(0);
            self.m_cpl.of.next.win_id = self.s.of.val().win_id;
            self.m_cpl.of.next.epoch = self.s.of.val().epoch;
            self.m_cpl.of.next.msn = self.s.of.val().msn;
            self.m_cpl.of.next.psn = self.s.of.val().psn;
            self.m_cpl.of.next.request = self.s.of.val().request;
        }
        self.ev_refused.next = self.refused.val() & self.m_cpl.ready.val();

        // A transfer has ended. What its card says counts if that has ended it.
        self.finish_mask.next = bits::<S>(1) << self.s_ended.slot.val().get_bits::<LS>(0);
        self.silent.d.next = (self.marks.m_flushed.val() & self.finish_mask.val()).any();
        self.gone_key.d.next = (self.marks.m_no_key.val() & self.finish_mask.val()).any();
        self.gone_memory.d.next = (self.marks.m_no_memory.val() & self.finish_mask.val()).any();
        self.taken.next = false;
        self.ev_completed.next = false;
        self.ev_failed.next = false;
        self.ev_served.next = false;
        self.finish_timer.d.next = self.finish_timer.q.val() + 1;
        match self.finish.q.val() {
            Finish::Idle => {
                self.finish_timer.d.next = 0.into();
                // With hold only while a transfer is being started, which waits for that.
                if self.s_ended.valid.val()
                    & (!self.hold.val()
                        | !self.begin.m_idle.val()
                        | (self.serve.q.val() != Serve::Idle))
                    & !self.begin.m_refused_valid.val()
                {
                    self.finish.d.next = Finish::Read;
                }
            }
            Finish::Read => {
                if self.finish_timer.q.val() == 1 {
                    self.finish.d.next = Finish::Judge;
                }
            }
            Finish::Judge => {
                self.finish.d.next = Finish::Offer;
                self.outcome.d.next = self.aborted.val();
                if self.s_ended.outcome.val() == self.end_ok.val() {
                    self.outcome.d.next = 0.into();
                }
                if self.s_ended.outcome.val() == self.end_refused.val() {
                    self.outcome.d.next = self.remote_length.val();
                }
                if (self.s_ended.outcome.val() == self.end_busy.val())
                    | (self.s_ended.outcome.val() == self.end_unresponsive.val())
                {
                    self.outcome.d.next = self.unresponsive.val();
                }
                if self.s_ended.outcome.val() == self.end_unreachable.val() {
                    self.outcome.d.next = self.unreachable.val();
                }
                if self.s_ended.outcome.val() == self.end_access.val() {
                    self.outcome.d.next = self.remote_access.val();
                }
                if self.s_ended.outcome.val() == self.end_bad_qp.val() {
                    self.outcome.d.next = self.bad_qp.val();
                }
                if self.s_ended.outcome.val() == self.end_not_ready.val() {
                    self.outcome.d.next = self.remote_rnr.val();
                }
                if self.s_ended.outcome.val() == self.end_cancelled.val() {
                    if self.gone_key.q.val() {
                        self.outcome.d.next = self.local_protection.val();
                    }
                    if self.gone_memory.q.val() {
                        self.outcome.d.next = self.local_dma.val();
                    }
                }
                if self.silent.q.val() | self.end.val().response {
                    self.taken.next = true;
                    self.ev_served.next = self.end.val().response
                        & !self.silent.q.val()
                        & (self.s_ended.outcome.val() == self.end_ok.val());
                    self.finish.d.next = Finish::Idle;
                }
            }
            Finish::Offer => {
                if self.m_cpl.ready.val() {
                    self.taken.next = true;
                    self.ev_completed.next = !self.outcome.q.val().any();
                    self.ev_failed.next = self.outcome.q.val().any();
                    self.finish.d.next = Finish::Idle;
                }
            }
        }
        self.s_ended.ready.next = self.taken.val();
        self.marks.s_finish_valid.next = self.taken.val();
        self.m_over_valid.next = self.taken.val();
        self.m_over_slot.next = self.s_ended.slot.val().get_bits::<LS>(0);

        self.m_idle.next = self.begin.m_idle.val()
            & self.marks.m_idle.val()
            & (self.finish.q.val() == Finish::Idle)
            & (self.serve.q.val() == Serve::Idle)
            & !self.s_unread.valid.val();
        if self.rst.val() {
            self.serve.d.next = Serve::Idle;
            self.finish.d.next = Finish::Idle;
        }
    }
}
