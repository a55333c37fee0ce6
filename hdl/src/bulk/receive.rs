//! The receiving side of bulk transfers in a card.

use super::{BulkAnswer, BulkCheck, BulkLand, BulkNotify, BulkSort, BulkWatch};
use crate::blocks::{EventMerge, FifoReg};
use crate::bus::{
    BulkArrivalsIn, BulkArrivalsOut, BulkDeparturesOut, ConnectAsked, ContextIn, DmaRequestOut,
    FramesIn, FramesOut, LookupRightsOut, NotifyOut, ReadAccessesIn, ReadAnswersOut,
    ReadsAnsweredOut, StreamOut, TellingsOut, TransferEndOut, VerdictIn, WindowClosedOut,
    WindowMessageOut, WindowsOpenedOut,
};
use crate::prelude::*;
use crate::rw::RwWindow;
use tributary_protocol::card::regs::BulkCounter;
use tributary_protocol::rw::MessageType;

/// Bit of `events` for a counter.
const fn bit(counter: BulkCounter) -> usize {
    counter as usize - BulkCounter::Completed as usize
}

hdl_module! {
    /// Receiving side of bulk transfers: frames in, writes of host memory and answers out. Between the line's blocks, which have
    /// checked each frame and its ICRC, the regions, and the DMA writer.
    /// bulk_sort takes frames apart, bulk_check admits transfers, rw_window decides, bulk_land writes, bulk_notify tells hosts,
    /// bulk_answer makes frames of what rw_window says. Whether a transfer answers a READ of this card is asked at m_answer,
    /// and READ requests of others are judged here, at s_access (BW-11).
    /// Each clock in which a window is open goes to one counter at most: packets are on their way to host memory, or else a
    /// transfer waits for a receive request, or else nothing has come.
    /// Only wires, a queue of 16 CONNECTs, and whose record goes to rw_window: each block says its own stages.
    /// While m_wr or m_wd is not taken DATA waits, and frames wait behind it; while m is not taken control operations of
    /// rw_window wait, and DATA goes on. After reset ready says when the tables have been cleared.
    #[module("bulk_receive_w{W}_r{}_q{}", 1usize << A, 1usize << LQ)]
    pub struct BulkReceive<
        const LQ: usize, const A: usize, const V: usize, const W: usize, const LW: usize, const B: usize,
        const LB: usize, const NW: usize, const LNW: usize, const BA: usize, const AW: usize,
        const PW: usize, const FA: usize, const LE: usize, const BE: usize,
    > {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset.
        pub rst: Signal<In, Bit>,
        /// The tables have been cleared.
        pub ready: Signal<Out, Bit>,
        /// Frames of bulk transfers.
        pub s: BulkArrivalsIn,
        /// What follows the first 8 bytes of their bodies.
        pub s_pl: FramesIn<64>,
        /// Nothing new may begin.
        pub hold: Signal<In, Bit>,
        /// With hold: nothing is under way.
        pub m_idle: Signal<Out, Bit>,
        /// Contexts of queue pairs.
        pub cfg: ContextIn<LQ>,
        /// A region is looked up.
        pub m_look: LookupRightsOut,
        /// What was found.
        pub s_look: VerdictIn,
        /// Writes of host memory.
        pub m_wr: DmaRequestOut,
        /// Their words.
        pub m_wd: StreamOut<64>,
        /// The oldest write that is not done is done: pulse.
        pub s_done: Signal<In, Bit>,
        /// Notifications of transfers that are complete.
        pub m_notify: NotifyOut,
        /// Frames to send.
        pub m: BulkDeparturesOut,
        /// What follows the first 8 bytes of their bodies.
        pub m_pl: FramesOut<64>,
        /// Frames about transfers that this card sends.
        pub m_own: BulkArrivalsOut,
        /// What follows the first 8 bytes of their bodies.
        pub m_own_pl: FramesOut<64>,
        /// Frames of READ.
        pub m_read: BulkArrivalsOut,
        /// What follows the first 8 bytes of their bodies.
        pub m_read_pl: FramesOut<64>,
        /// Whether READ requests of others are allowed; also while hold is up.
        pub s_access: ReadAccessesIn,
        /// Whether transfers answer READs of this card.
        pub m_answer: ReadAnswersOut,
        /// What became of them, and windows that are opened.
        pub m_answered: ReadsAnsweredOut,
        /// Windows that are closed.
        pub m_closed: WindowClosedOut,
        /// A queue pair or a region ends, while m_idle: its windows are to be closed; stays until it is taken.
        pub s_end_valid: Signal<In, Bit>,
        /// They are: pulse.
        pub s_end_ready: Signal<Out, Bit>,
        /// It is a queue pair.
        pub s_end_pair: Signal<In, Bit>,
        /// Its number, or the region's.
        pub s_end_index: Signal<In, Bits<24>>,
        /// Own node.
        pub cfg_node: Signal<In, Bits<20>>,
        /// Senders are told of marks (CL-4).
        pub cfg_tell: Signal<In, Bit>,
        /// Ticks at least between two messages about the marks of a window, 1 to 4,096.
        pub cfg_interval: Signal<In, Bits<13>>,
        /// Coarse time, a free-running count.
        pub now: Signal<In, Bits<16>>,
        /// Reorder allowance, packets.
        pub cfg_allowance: Signal<In, Bits<22>>,
        /// Reorder allowance, ticks without DATA.
        pub cfg_allowance_ticks: Signal<In, Bits<16>>,
        /// Ticks before a hole is asked for again.
        pub cfg_retry_ticks: Signal<In, Bits<16>>,
        /// Ticks without DATA before the rest of a transfer is asked for.
        pub cfg_tail_ticks: Signal<In, Bits<16>>,
        /// Ticks without DATA before a transfer is given up.
        pub cfg_idle_ticks: Signal<In, Bits<16>>,
        /// Ticks for which a notification waits for a receive request.
        pub cfg_patience: Signal<In, Bits<16>>,
        /// Retry hint in a BUSY answer, ticks.
        pub cfg_busy_hint: Signal<In, Bits<16>>,
        /// Every answer leaves twice.
        pub cfg_twice: Signal<In, Bit>,
        /// A counter counts one more, a bit each: bit 0 is counter 64.
        pub events: Signal<Out, Bits<32>>,
        /// DATA of a window came marked; pulse.
        pub ev_marked: Signal<Out, Bit>,
        /// A sender is told of congestion; pulse.
        pub ev_told: Signal<Out, Bit>,

        sort: BulkSort,
        check: BulkCheck<LQ>,
        window: RwWindow<A, W, LW, B, LB, NW, LNW, BA, AW, PW, FA, LE, BE>,
        land: BulkLand<A>,
        notify: BulkNotify<A>,
        answer: BulkAnswer<W, B>,
        watch: BulkWatch<V, A>,
        /// A CONNECT is offered to rw_window, not a record of bulk_sort.
        #[reset] connects: DFF<Bit>,
        asked: FifoReg<{ ConnectAsked::BITS }, 4>,
        begin: Signal<Local, Bit>,
        /// Windows that are open.
        #[reset] windows: DFF<Bits<16>>,
        some: Signal<Local, Bit>,
        comes: Signal<Local, Bit>,
        #[reset] up: DFF<Bit>,
        lost: EventMerge,
        strays: EventMerge,
        connect: Param<{ MessageType::Connect as usize }, 3>,
        received: Param<{ bit(BulkCounter::Received) }, 5>,
        aborted: Param<{ bit(BulkCounter::ReceivedAborted) }, 5>,
        control_sent: Param<{ bit(BulkCounter::ControlSent) }, 5>,
        accepted: Param<{ bit(BulkCounter::DataAccepted) }, 5>,
        duplicate: Param<{ bit(BulkCounter::DataDuplicate) }, 5>,
        stale: Param<{ bit(BulkCounter::DataStale) }, 5>,
        wrong: Param<{ bit(BulkCounter::DataWrong) }, 5>,
        access: Param<{ bit(BulkCounter::Access) }, 5>,
        bad_qp: Param<{ bit(BulkCounter::BadQp) }, 5>,
        bad_key: Param<{ bit(BulkCounter::BadKey) }, 5>,
        bad_length: Param<{ bit(BulkCounter::BadLength) }, 5>,
        not_ready: Param<{ bit(BulkCounter::NotReady) }, 5>,
        no_read: Param<{ bit(BulkCounter::NoRead) }, 5>,
        busy: Param<{ bit(BulkCounter::Busy) }, 5>,
        old: Param<{ bit(BulkCounter::OldConnect) }, 5>,
        stray: Param<{ bit(BulkCounter::Stray) }, 5>,
        bad_message: Param<{ bit(BulkCounter::BadMessage) }, 5>,
        overflow: Param<{ bit(BulkCounter::ControlOverflow) }, 5>,
        forgotten: Param<{ bit(BulkCounter::Forgotten) }, 5>,
        wait_peer: Param<{ bit(BulkCounter::InWaitPeer) }, 5>,
        wait_write: Param<{ bit(BulkCounter::InWaitWrite) }, 5>,
        wait_receive: Param<{ bit(BulkCounter::InWaitReceive) }, 5>,
    }
}

impl<
    const LQ: usize,
    const A: usize,
    const V: usize,
    const W: usize,
    const LW: usize,
    const B: usize,
    const LB: usize,
    const NW: usize,
    const LNW: usize,
    const BA: usize,
    const AW: usize,
    const PW: usize,
    const FA: usize,
    const LE: usize,
    const BE: usize,
> Logic for BulkReceive<LQ, A, V, W, LW, B, LB, NW, LNW, BA, AW, PW, FA, LE, BE>
{
    #[hdl_gen]
    fn update(&mut self) {
        // Frames.
        BulkArrivalsIn::link(&mut self.s, &mut self.sort.s);
        FramesIn::<64>::link(&mut self.s_pl, &mut self.sort.s_pl);
        self.sort.hold.next = self.hold.val();
        StreamOut::<64>::link(&mut self.m_wd, &mut self.sort.m_wd);
        BulkArrivalsOut::link(&mut self.m_own, &mut self.sort.m_own);
        FramesOut::<64>::link(&mut self.m_own_pl, &mut self.sort.m_own_pl);
        BulkArrivalsOut::link(&mut self.m_read, &mut self.sort.m_read);
        FramesOut::<64>::link(&mut self.m_read_pl, &mut self.sort.m_read_pl);
        // CONNECTs wait for those before them, and for a command that needs rest.
        self.asked.s.valid.next = self.sort.m_con.valid.val();
        self.asked.s.data.next = self.sort.m_con.of.val().to_bits();
        self.sort.con_full.next = !self.asked.s.ready.val();
        self.begin.next = !self.check.busy.val() & !self.hold.val();
        self.asked.m.ready.next = self.begin.val();
        self.check.s.valid.next = self.asked.m.valid.val() & self.begin.val();
        self.check.s.of.next = self.asked.m.data.val().into();

        // Admission.
        ContextIn::<LQ>::link(&mut self.cfg, &mut self.check.cfg);
        LookupRightsOut::link(&mut self.m_look, &mut self.check.m_look);
        VerdictIn::link(&mut self.s_look, &mut self.check.s_look);
        ReadAccessesIn::link(&mut self.s_access, &mut self.check.s_read);
        ReadAnswersOut::link(&mut self.m_answer, &mut self.check.m_answer);
        ReadsAnsweredOut::link(&mut self.m_answered, &mut self.check.m_answered);
        self.check.s_how.valid.next = self.window.con_valid.val();
        self.check.s_how.of.next.how = self.window.con_how.val();
        self.check.s_how.of.next.wptr = self.window.con_wptr.val();
        self.check.s_how.of.next.incarnation = self.window.con_gen.val();
        self.check.s_how.lost.next = self.window.con_lost.val();

        // The window. What is offered to it stays, so a CONNECT comes when bulk_sort offers nothing.
        if !self.connects.q.val() {
            self.connects.d.next = self.check.m_win.valid.val() & !self.sort.m_win.valid.val();
        } else if self.window.s_ready.val() {
            self.connects.d.next = false;
        }
        self.window.s_error.next = false;
        self.window.s_valid.next = self.sort.m_win.valid.val();
        self.sort.m_win.ready.next = self.window.s_ready.val() & !self.connects.q.val();
        self.check.m_win.ready.next = self.window.s_ready.val() & self.connects.q.val();
        self.window.s_type.next = self.sort.m_win.of.val().kind;
        self.window.s_src.next = self.sort.m_win.of.val().src;
        self.window.s_slot.next = self.sort.m_win.of.val().slot;
        self.window.s_xid.next = self.sort.m_win.of.val().xid;
        if self.connects.q.val() {
            self.window.s_valid.next = self.check.m_win.valid.val();
            self.window.s_type.next = self.connect.val();
            self.window.s_src.next = self.check.m_win.of.val().src;
            self.window.s_slot.next = self.check.m_win.of.val().slot;
            self.window.s_xid.next = self.check.m_win.of.val().xid;
        }
        self.window.s_wptr.next = self.sort.m_win.of.val().wptr;
        self.window.s_gen.next = self.sort.m_win.of.val().incarnation;
        self.window.s_pidx.next = self.sort.m_win.of.val().number;
        self.window.s_seq.next = self.sort.m_win.of.val().number.get_bits::<16>(0);
        self.window.s_tail.next = self.sort.m_win.of.val().tail;
        self.window.s_len.next = self.sort.m_win.of.val().len;
        self.window.s_reason.next = self.sort.m_win.of.val().reason;
        self.window.s_incarnation.next = self.check.m_win.of.val().incarnation;
        self.window.s_length.next = self.check.m_win.of.val().length;
        self.window.s_addr.next = self.check.m_win.of.val().addr;
        self.window.s_rkey.next = self.check.m_win.of.val().rkey;
        self.window.s_mtu.next = self.check.m_win.of.val().mtu;
        self.window.s_verdict.next = self.check.m_win.verdict.val();
        self.window.s_hold.next = self.check.m_win.of.val().notify;
        self.window.now.next = self.now.val();
        self.window.cfg_allowance.next = self.cfg_allowance.val();
        self.window.cfg_allowance_ticks.next = self.cfg_allowance_ticks.val();
        self.window.cfg_retry_ticks.next = self.cfg_retry_ticks.val();
        self.window.cfg_tail_ticks.next = self.cfg_tail_ticks.val();
        self.window.cfg_idle_ticks.next = self.cfg_idle_ticks.val();
        self.window.cfg_busy_hint.next = self.cfg_busy_hint.val();
        self.window.cfg_twice.next = self.cfg_twice.val();
        self.window.stat.addr.next = 0.into();

        // Decisions become writes.
        self.land.s_wr_valid.next = self.window.m_wr_valid.val();
        self.window.m_wr_ready.next = self.land.s_wr_ready.val();
        self.land.s_wr_reason.next = self.window.m_wr_reason.val();
        self.land.s_wr_wptr.next = self.window.m_wr_wptr.val();
        self.land.s_wr_gen.next = self.window.m_wr_gen.val();
        self.land.s_wr_addr.next = self.window.m_wr_addr.val();
        self.land.s_wr_len.next = self.window.m_wr_len.val();
        self.sort.s_decided.next = self.land.m_decided.val();
        self.sort.s_wanted.next = self.land.m_wanted.val();
        DmaRequestOut::link(&mut self.m_wr, &mut self.land.m_wr);
        self.land.s_done.next = self.s_done.val();
        self.window.ack_valid.next = self.land.m_ack_valid.val();
        self.land.m_ack_ready.next = self.window.ack_ready.val();
        self.window.ack_wptr.next = self.land.m_ack_wptr.val();
        self.window.ack_gen.next = self.land.m_ack_gen.val();
        WindowsOpenedOut::join(&mut self.check.m_opened, &mut self.land.s_opened);
        TransferEndOut::join(&mut self.window.m_cpl, &mut self.land.s_cpl);

        // What is complete is told.
        WindowsOpenedOut::join(&mut self.check.m_opened, &mut self.notify.s_opened);
        self.notify.hold.next = self.hold.val();
        self.notify.s_full_valid.next = self.window.full_valid.val();
        self.notify.s_full_wptr.next = self.window.con_wptr.val();
        self.notify.s_full_gen.next = self.window.con_gen.val();
        self.notify.s_closed_valid.next = self.window.m_cpl.valid.val();
        self.notify.s_closed_wptr.next = self.window.m_cpl.of.val().wptr;
        self.m_closed.valid.next = self.window.m_cpl.valid.val();
        self.m_closed.wptr.next = self.window.m_cpl.of.val().wptr;
        self.m_closed.status.next = self.window.m_cpl.of.val().status;
        self.m_closed.reason.next = self.window.m_cpl.of.val().reason;
        self.notify.now.next = self.now.val();
        self.notify.cfg_patience.next = self.cfg_patience.val();
        NotifyOut::link(&mut self.m_notify, &mut self.notify.m);

        // Who closes windows: bulk_land does while nothing is under way, so while bulk_notify closes none.
        self.land.s_end_valid.next = self.s_end_valid.val();
        self.s_end_ready.next = self.land.s_end_ready.val();
        self.land.s_end_pair.next = self.s_end_pair.val();
        self.land.s_end_index.next = self.s_end_index.val();
        self.window.rev_valid.next = self.land.m_rev_valid.val() | self.notify.m_rev_valid.val();
        self.land.m_rev_ready.next = self.window.rev_ready.val() & self.land.m_rev_valid.val();
        self.notify.m_rev_ready.next = self.window.rev_ready.val() & !self.land.m_rev_valid.val();
        self.window.rev_wptr.next = self.notify.m_rev_wptr.val();
        self.window.rev_gen.next = self.notify.m_rev_gen.val();
        self.window.rev_status.next = self.notify.m_rev_status.val();
        if self.land.m_rev_valid.val() {
            self.window.rev_wptr.next = self.land.m_rev_wptr.val();
            self.window.rev_gen.next = self.land.m_rev_gen.val();
            self.window.rev_status.next = self.land.m_rev_status.val();
        }

        // Answers.
        WindowMessageOut::join(&mut self.window.m_msg, &mut self.answer.s);
        FramesOut::<B>::join(&mut self.window.m_bitmap, &mut self.answer.s_bitmap);
        self.answer.cfg_node.next = self.cfg_node.val();

        // Marks of switches. DATA that came before has crossed the same queues.
        WindowsOpenedOut::join(&mut self.check.m_opened, &mut self.watch.s_opened);
        TransferEndOut::join(&mut self.window.m_cpl, &mut self.watch.s_cpl);
        self.watch.s_data_valid.next = self.land.ev_accepted.val() | self.land.ev_duplicate.val();
        self.watch.s_data_wptr.next = self.land.m_counted.val();
        self.watch.s_data_marked.next = self.sort.m_marked.val();
        self.watch.cfg_enable.next = self.cfg_tell.val();
        self.watch.cfg_interval.next = self.cfg_interval.val();
        self.watch.now.next = self.now.val();
        TellingsOut::join(&mut self.watch.m, &mut self.answer.s_tell);
        self.ev_marked.next = self.watch.ev_marked.val();
        self.ev_told.next = self.watch.ev_told.val();
        BulkDeparturesOut::link(&mut self.m, &mut self.answer.m);
        FramesOut::<64>::link(&mut self.m_pl, &mut self.answer.m_pl);

        self.m_idle.next = self.sort.m_idle.val()
            & !self.check.busy.val()
            & self.land.m_idle.val()
            & self.notify.m_idle.val();
        if self.window.ready.val()
            & self.land.m_idle.val()
            & !self.check.busy.val()
            & self.notify.ready.val()
        {
            self.up.d.next = true;
        }
        self.ready.next = self.up.q.val();

        // What is counted.
        if self.check.m_opened.valid.val() & !self.window.m_cpl.valid.val() {
            self.windows.d.next = self.windows.q.val() + 1;
        }
        if self.window.m_cpl.valid.val() & !self.check.m_opened.valid.val() {
            self.windows.d.next = self.windows.q.val() - 1;
        }
        self.some.next = self.windows.q.val().any();
        self.comes.next = self.s.valid.val() | self.s_pl.valid.val() | self.sort.m_win.valid.val();
        self.lost.a.next = self.sort.ev_connect_lost.val();
        self.lost.b.next = self.check.ev_lost.val();
        self.strays.a.next = self.sort.ev_stray.val();
        self.strays.b.next = self.window.stray_abort.val();
        self.events.next =
            (bit_cast::<32, 1>((self.land.ev_stale.val() | self.sort.ev_stale.val()).into())
                << self.stale.val())
                | (bit_cast::<32, 1>(self.land.ev_received.val().into()) << self.received.val())
                | (bit_cast::<32, 1>(self.land.ev_aborted.val().into()) << self.aborted.val())
                | (bit_cast::<32, 1>(self.land.ev_not_ready.val().into()) << self.not_ready.val())
                | (bit_cast::<32, 1>(self.answer.ev_sent.val().into()) << self.control_sent.val())
                | (bit_cast::<32, 1>(self.land.ev_accepted.val().into()) << self.accepted.val())
                | (bit_cast::<32, 1>(self.land.ev_duplicate.val().into()) << self.duplicate.val())
                | (bit_cast::<32, 1>(self.land.ev_wrong.val().into()) << self.wrong.val())
                | (bit_cast::<32, 1>(self.check.ev_access.val().into()) << self.access.val())
                | (bit_cast::<32, 1>(self.check.ev_bad_qp.val().into()) << self.bad_qp.val())
                | (bit_cast::<32, 1>(self.check.ev_bad_key.val().into()) << self.bad_key.val())
                | (bit_cast::<32, 1>(self.check.ev_bad_length.val().into())
                    << self.bad_length.val())
                | (bit_cast::<32, 1>(self.check.ev_no_read.val().into()) << self.no_read.val())
                | (bit_cast::<32, 1>(self.check.ev_busy.val().into()) << self.busy.val())
                | (bit_cast::<32, 1>(self.check.ev_old.val().into()) << self.old.val())
                | (bit_cast::<32, 1>(self.strays.m.val().into()) << self.stray.val())
                | (bit_cast::<32, 1>(self.sort.ev_bad_message.val().into())
                    << self.bad_message.val())
                | (bit_cast::<32, 1>(self.lost.m.val().into()) << self.overflow.val())
                | (bit_cast::<32, 1>(self.window.forgotten.val().into()) << self.forgotten.val())
                | (bit_cast::<32, 1>((self.some.val() & self.land.m_writing.val()).into())
                    << self.wait_write.val())
                | (bit_cast::<32, 1>(
                    (self.some.val() & !self.land.m_writing.val() & self.notify.m_waits.val())
                        .into(),
                ) << self.wait_receive.val())
                | (bit_cast::<32, 1>(
                    (self.some.val()
                        & !self.land.m_writing.val()
                        & !self.notify.m_waits.val()
                        & !self.comes.val())
                    .into(),
                ) << self.wait_peer.val());
    }
}
