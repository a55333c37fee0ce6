//! The sending side of bulk transfers in a card.

use super::{
    BulkDepart, BulkFetch, BulkHear, BulkLooks, BulkReads, BulkSend, BulkServe, BulkWorks,
};
use crate::blocks::EventMerge;
use crate::bus::{
    BulkArrivalsIn, BulkCancelOut, BulkDeparturesOut, BulkEndOut, BulkMessageOut, BulkPacketOut,
    BulkRequestOut, BulkSettingsIn, BulkSourcesOut, BulkStartedOut, BulkUnreadOut, BulkWorksIn,
    CompletionOut, CongestionSaidOut, DmaReadWordsIn, DmaRequestOut, FramesIn, FramesOut,
    LookupRightsOut, PayloadOut, RamReadIn, ReadAccessesOut, ReadAnswersIn, ReadRefusalsOut,
    ReadsAnsweredIn, ReadsOut, ReadsServedOut, VerdictIn, VerdictOut, WindowClosedIn,
};
use crate::card::CardCompletions;
use crate::prelude::*;
use tributary_protocol::card::regs::BulkCounter;

/// Bit of `events` for a counter.
const fn bit(counter: BulkCounter) -> usize {
    counter as usize - BulkCounter::Completed as usize
}

hdl_module! {
    /// Sending side of bulk transfers: work requests in, frames out, and exactly one completion for each. Between what reads
    /// work requests, the regions, the DMA reader and the line's blocks.
    /// bulk_works starts and ends transfers, bulk_send says what leaves next, bulk_fetch reads its bytes, bulk_hear reads what
    /// receivers say. READ (BW-11): bulk_reads asks the targets of this host's, of which the receiving side says which transfers
    /// answer and how their windows end; bulk_serve has those of others answered by transfers. Fences are card_send's.
    /// Each clock that a transfer is under way goes to one counter at most: packets leave or wait for the line, wait for their
    /// reads, or there is none and transfers wait for credit, or for the peer: to connect, or to say that it has everything.
    /// Only wires, and turns at the port of the regions: each block says its own stages.
    /// Clocks: those of bulk_send, a fresh packet every 35, and of the line.
    /// While m or m_pl is not taken packets wait; messages of receivers do not. After reset ready says when the states have
    /// been cleared. While hold is up no work request begins and no packet is taken; m_idle says that none is under way then.
    #[module("bulk_transmit_s{S}_r{R}_q{}", 1usize << LQ)]
    pub struct BulkTransmit<
        const S: usize, const LS: usize, const SA: usize, const LD: usize, const RA: usize,
        const QA: usize, const LQ: usize, const D: usize, const R: usize, const LR: usize,
        const A: usize,
    > {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset, with the DMA reader.
        pub rst: Signal<In, Bit>,
        /// The states have been cleared.
        pub ready: Signal<Out, Bit>,
        /// Own node.
        pub cfg_node: Signal<In, Bits<20>>,
        /// Resets so far, as CONNECT says them.
        pub cfg_incarnation: Signal<In, Bits<16>>,
        /// Largest payload of a packet, bytes: packets have the largest power of two in it, 256 to 4,096.
        pub cfg_mtu: Signal<In, Bits<13>>,
        /// Retry hint in busy answers to READ requests, ticks.
        pub cfg_busy_hint: Signal<In, Bits<16>>,
        /// Times and limits.
        pub cfg: BulkSettingsIn,
        /// Transfers slow down when their receivers say so (CL-4).
        pub cfg_pace: Signal<In, Bit>,
        /// Ticks at least between two cuts of a pace, and between two steps of recovery, 1 to 4,096.
        pub cfg_interval: Signal<In, Bits<13>>,
        /// Coarse time, a free-running count.
        pub now: Signal<In, Bits<16>>,
        /// Work requests.
        pub s: BulkWorksIn,
        /// Completions.
        pub m_cpl: CompletionOut<LQ>,
        /// Frames that are not for the receiving side.
        pub s_own: BulkArrivalsIn,
        /// What follows the first 8 bytes of their bodies.
        pub s_own_pl: FramesIn<64>,
        /// Frames of READ.
        pub s_read: BulkArrivalsIn,
        /// What follows the first 8 bytes of their bodies.
        pub s_read_pl: FramesIn<64>,
        /// Whether READ requests of others are allowed.
        pub m_access: ReadAccessesOut,
        /// Whether transfers of others answer READs.
        pub s_answer: ReadAnswersIn,
        /// What became of them, and windows that are opened.
        pub s_answered: ReadsAnsweredIn,
        /// Windows that are closed.
        pub s_closed: WindowClosedIn,
        /// A region is looked up.
        pub m_look: LookupRightsOut,
        /// What was found.
        pub s_look: VerdictIn,
        /// Reads of host memory.
        pub m_rd: DmaRequestOut,
        /// Their words, in the order of the requests; always taken.
        pub s_rd: DmaReadWordsIn,
        /// Frames to send.
        pub m: BulkDeparturesOut,
        /// What follows the first 8 bytes of their bodies.
        pub m_pl: PayloadOut,
        /// Nothing new may begin.
        pub hold: Signal<In, Bit>,
        /// With hold: nothing is under way.
        pub m_idle: Signal<Out, Bit>,
        /// A queue pair or region ends, while m_idle; stays until it is taken.
        pub s_end_valid: Signal<In, Bit>,
        /// Nothing of a queue pair is read or completed from now on; windows may be closed: pulse.
        pub s_end_ready: Signal<Out, Bit>,
        /// It is a queue pair.
        pub s_end_pair: Signal<In, Bit>,
        /// Its number, or the region's.
        pub s_end_index: Signal<In, Bits<24>>,
        /// A counter of bulk_send is read: its count comes two clocks later.
        pub stat: RamReadIn<32, 4>,
        /// Clocks of bulk_send are read.
        pub stat_time: RamReadIn<32, 2>,
        /// A counter counts one more, a bit each: bit 0 is counter 64.
        pub events: Signal<Out, Bits<32>>,
        /// A receiver says how a transfer fares; pulse.
        pub ev_heard: Signal<Out, Bit>,
        /// That is slower for it; pulse.
        pub ev_slowed: Signal<Out, Bit>,
        /// In this clock transfers wait for their pace.
        pub m_paced: Signal<Out, Bit>,
        /// A work request or the key of a packet was refused; pulse.
        pub ev_local_error: Signal<Out, Bit>,
        /// The read of a packet has failed; pulse.
        pub ev_read_failed: Signal<Out, Bit>,

        none: Signal<Local, Bit>,
        asks: Signal<Local, Bit>,
        reads: BulkReads<R, LR, A, LQ>,
        /// With addresses as long as a slot's number: up to 16 of these lie in LUTs on ECP5, where block RAMs are scarce.
        serve: BulkServe<S, LS, LS>,
        completions: CardCompletions<LQ>,
        depart: BulkDepart,
        /// READs have ended what is to end.
        #[reset] reads_ended: DFF<Bit>,
        ended: Signal<Local, Bit>,
        strays: EventMerge,
        bad_messages: EventMerge,
        works: BulkWorks<S, LS, LS, LQ>,
        send: BulkSend<S, LS, SA, LD, RA, QA, 64, 6, 4>,
        hear: BulkHear<LS>,
        fetch: BulkFetch<D>,
        looks: BulkLooks,
        local: EventMerge,
        completed: Param<{ bit(BulkCounter::Completed) }, 5>,
        failed: Param<{ bit(BulkCounter::Failed) }, 5>,
        fresh: Param<{ bit(BulkCounter::DataSent) }, 5>,
        again: Param<{ bit(BulkCounter::DataResent) }, 5>,
        control_sent: Param<{ bit(BulkCounter::ControlSent) }, 5>,
        stray: Param<{ bit(BulkCounter::Stray) }, 5>,
        served: Param<{ bit(BulkCounter::Served) }, 5>,
        access: Param<{ bit(BulkCounter::Access) }, 5>,
        bad_qp: Param<{ bit(BulkCounter::BadQp) }, 5>,
        bad_key: Param<{ bit(BulkCounter::BadKey) }, 5>,
        bad_length: Param<{ bit(BulkCounter::BadLength) }, 5>,
        busy: Param<{ bit(BulkCounter::Busy) }, 5>,
        bad_message: Param<{ bit(BulkCounter::BadMessage) }, 5>,
        wait_credit: Param<{ bit(BulkCounter::WaitCredit) }, 5>,
        wait_read: Param<{ bit(BulkCounter::WaitRead) }, 5>,
        wait_line: Param<{ bit(BulkCounter::WaitLine) }, 5>,
        wait_peer: Param<{ bit(BulkCounter::WaitPeer) }, 5>,
    }
}

impl<
    const S: usize,
    const LS: usize,
    const SA: usize,
    const LD: usize,
    const RA: usize,
    const QA: usize,
    const LQ: usize,
    const D: usize,
    const R: usize,
    const LR: usize,
    const A: usize,
> Logic for BulkTransmit<S, LS, SA, LD, RA, QA, LQ, D, R, LR, A>
{
    #[hdl_gen]
    fn update(&mut self) {
        // Work requests and their transfers.
        BulkWorksIn::link(&mut self.s, &mut self.works.s);
        CompletionOut::<LQ>::join(&mut self.works.m_cpl, &mut self.completions.a);
        CompletionOut::<LQ>::join(&mut self.reads.m_cpl, &mut self.completions.b);
        CompletionOut::<LQ>::link(&mut self.m_cpl, &mut self.completions.m);
        self.works.cfg_mtu.next = self.cfg_mtu.val();
        self.works.hold.next = self.hold.val();
        BulkRequestOut::join(&mut self.works.m_start, &mut self.send.s);
        BulkStartedOut::join(&mut self.send.m_started, &mut self.works.s_started);
        BulkCancelOut::join(&mut self.works.m_cancel, &mut self.send.s_cancel);
        BulkEndOut::join(&mut self.send.m_end, &mut self.works.s_ended);
        // READs end first: with the end of the others a work request that waits is dropped.
        self.reads.s_end_valid.next = self.s_end_valid.val() & !self.reads_ended.q.val();
        self.reads.s_end_pair.next = self.s_end_pair.val();
        self.reads.s_end_index.next = self.s_end_index.val();
        self.works.s_end_valid.next =
            self.s_end_valid.val() & self.s_end_pair.val() & self.reads_ended.q.val();
        self.works.s_end_index.next = self.s_end_index.val();
        self.ended.next =
            self.works.s_end_ready.val() | (self.reads.s_end_ready.val() & !self.s_end_pair.val());
        self.s_end_ready.next = self.ended.val();
        self.reads_ended.d.next =
            (self.reads_ended.q.val() | self.reads.s_end_ready.val()) & !self.ended.val();
        BulkSettingsIn::link(&mut self.cfg, &mut self.send.cfg);
        self.send.now.next = self.now.val();
        self.send.cfg_pace.next = self.cfg_pace.val();
        self.send.cfg_interval.next = self.cfg_interval.val();
        RamReadIn::<32, 4>::link(&mut self.stat, &mut self.send.stat);
        RamReadIn::<32, 2>::link(&mut self.stat_time, &mut self.send.stat_time);
        self.ready.next = self.send.ready.val();

        // What receivers say.
        BulkArrivalsIn::link(&mut self.s_own, &mut self.hear.s);
        FramesIn::<64>::link(&mut self.s_own_pl, &mut self.hear.s_pl);
        self.works.s_slot.next = self.hear.m_look.val();
        self.hear.s_active.next = self.works.m_slot_active.val();
        self.hear.s_xid.next = self.works.m_slot_xid.val();
        self.hear.s_node_of_slot.next = self.works.m_slot_node.val();
        self.none.next = self.works.m_active.val() & self.fetch.m_idle.val();
        BulkMessageOut::join(&mut self.hear.m, &mut self.send.s_msg);
        CongestionSaidOut::<LS>::join(&mut self.hear.m_said, &mut self.send.s_said);
        self.ev_heard.next = self.hear.m_said.valid.val() & self.send.s_said.ready.val();
        self.ev_slowed.next = self.send.ev_slowed.val();
        self.m_paced.next = self.none.val() & self.send.m_paced.val();
        FramesOut::<64>::join(&mut self.hear.m_bitmap, &mut self.send.s_bitmap);

        // READs of this host.
        ReadsOut::join(&mut self.works.m_read, &mut self.reads.s);
        self.works.read_free.next = self.reads.free.val();
        ReadAnswersIn::link(&mut self.s_answer, &mut self.reads.s_answer);
        ReadsAnsweredIn::link(&mut self.s_answered, &mut self.reads.s_answered);
        WindowClosedIn::link(&mut self.s_closed, &mut self.reads.s_closed);
        self.reads.cfg_node.next = self.cfg_node.val();
        self.reads.cfg_incarnation.next = self.cfg_incarnation.val();
        self.reads.cfg_poll.next = self.cfg.poll.val();
        self.reads.cfg_poll_max.next = self.cfg.poll_max.val();
        self.reads.cfg_max_polls.next = self.cfg.max_polls.val();
        self.reads.cfg_max_busy.next = self.cfg.max_busy.val();
        self.reads.now.next = self.now.val();
        self.reads.hold.next = self.hold.val();

        // READ requests of others.
        BulkArrivalsIn::link(&mut self.s_read, &mut self.serve.s);
        FramesIn::<64>::link(&mut self.s_read_pl, &mut self.serve.s_pl);
        self.serve.cfg_busy_hint.next = self.cfg_busy_hint.val();
        self.serve.hold.next = self.hold.val();
        ReadAccessesOut::link(&mut self.m_access, &mut self.serve.m_access);
        ReadsServedOut::<LS>::join(&mut self.serve.m_start, &mut self.works.s_serve);
        self.serve.s_over_valid.next = self.works.m_over_valid.val();
        self.serve.s_over_slot.next = self.works.m_over_slot.val();
        ReadRefusalsOut::join(&mut self.serve.m_say, &mut self.reads.s_say);
        ReadRefusalsOut::join(&mut self.serve.m_refused, &mut self.reads.s_refused);
        self.serve.m_refused_stray.next = self.reads.s_refused_stray.val();

        // Packets, behind messages of READ, which are short.
        BulkPacketOut::join(&mut self.send.m_pkt, &mut self.fetch.s);
        self.fetch.cfg_node.next = self.cfg_node.val();
        self.fetch.cfg_incarnation.next = self.cfg_incarnation.val();
        self.fetch.hold.next = self.hold.val();
        BulkSourcesOut::join(&mut self.fetch.m_source, &mut self.works.s_source);
        BulkUnreadOut::join(&mut self.fetch.m_unread, &mut self.works.s_unread);
        DmaRequestOut::link(&mut self.m_rd, &mut self.fetch.m_rd);
        DmaReadWordsIn::link(&mut self.s_rd, &mut self.fetch.s_rd);
        BulkDeparturesOut::join(&mut self.reads.m, &mut self.depart.a);
        FramesOut::<64>::join(&mut self.reads.m_pl, &mut self.depart.a_pl);
        BulkDeparturesOut::join(&mut self.fetch.m, &mut self.depart.b);
        PayloadOut::join(&mut self.fetch.m_pl, &mut self.depart.b_pl);
        BulkDeparturesOut::link(&mut self.m, &mut self.depart.m);
        PayloadOut::link(&mut self.m_pl, &mut self.depart.m_pl);

        // Regions: packets first, of which the line waits.
        LookupRightsOut::join(&mut self.works.m_look, &mut self.looks.a);
        VerdictOut::join(&mut self.looks.a_m, &mut self.works.s_look);
        LookupRightsOut::join(&mut self.fetch.m_look, &mut self.looks.b);
        VerdictOut::join(&mut self.looks.b_m, &mut self.fetch.s_look);
        LookupRightsOut::link(&mut self.m_look, &mut self.looks.m_look);
        VerdictIn::link(&mut self.s_look, &mut self.looks.s_look);

        self.m_idle.next = self.works.m_idle.val()
            & self.fetch.m_idle.val()
            & self.reads.m_idle.val()
            & self.serve.m_idle.val();

        // What is counted.
        self.local.a.next = self.works.ev_refused.val();
        self.local.b.next = self.fetch.ev_no_key.val();
        self.ev_local_error.next = self.local.m.val();
        self.ev_read_failed.next = self.fetch.ev_no_memory.val();
        self.asks.next =
            !self.works.m_active.val() & self.fetch.m_idle.val() & self.reads.m_asks.val();
        self.strays.a.next = self.hear.ev_stray.val();
        self.strays.b.next = self.serve.ev_stray.val();
        self.bad_messages.a.next = self.hear.ev_bad_message.val();
        self.bad_messages.b.next = self.serve.ev_bad_message.val();
        self.events.next = (bit_cast::<32, 1>(
            (self.works.ev_completed.val() | self.reads.ev_completed.val()).into(),
        ) << self.completed.val())
            | (bit_cast::<32, 1>((self.works.ev_failed.val() | self.reads.ev_failed.val()).into())
                << self.failed.val())
            | (bit_cast::<32, 1>(self.works.ev_served.val().into()) << self.served.val())
            | (bit_cast::<32, 1>(self.serve.ev_access.val().into()) << self.access.val())
            | (bit_cast::<32, 1>(self.serve.ev_bad_qp.val().into()) << self.bad_qp.val())
            | (bit_cast::<32, 1>(self.serve.ev_bad_key.val().into()) << self.bad_key.val())
            | (bit_cast::<32, 1>(self.serve.ev_bad_length.val().into()) << self.bad_length.val())
            | (bit_cast::<32, 1>(self.serve.ev_busy.val().into()) << self.busy.val())
            | (bit_cast::<32, 1>(self.send.ev_fresh.val().into()) << self.fresh.val())
            | (bit_cast::<32, 1>(self.send.ev_again.val().into()) << self.again.val())
            | (bit_cast::<32, 1>(
                (self.fetch.ev_control.val()
                    | (self.reads.m.valid.val() & self.reads.m.ready.val()))
                .into(),
            ) << self.control_sent.val())
            | (bit_cast::<32, 1>(self.strays.m.val().into()) << self.stray.val())
            | (bit_cast::<32, 1>(self.bad_messages.m.val().into()) << self.bad_message.val())
            | (bit_cast::<32, 1>(self.fetch.m_leaves.val().into()) << self.wait_line.val())
            | (bit_cast::<32, 1>(self.fetch.m_reads.val().into()) << self.wait_read.val())
            | (bit_cast::<32, 1>((self.none.val() & self.send.m_starved.val()).into())
                << self.wait_credit.val())
            | (bit_cast::<32, 1>(
                ((self.none.val() & self.send.m_nothing.val()) | self.asks.val()).into(),
            ) << self.wait_peer.val());
    }
}
