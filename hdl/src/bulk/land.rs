//! What windows accept goes to host memory.

use crate::blocks::{FifoReg, RamReg};
use crate::bus::{DmaRequestOut, TransferEndIn, WindowsOpenedIn};
use crate::prelude::*;
use tributary_protocol::rw::{DropReason, Status};

/// What the block does with its headers.
#[derive(Copy, Clone, PartialEq, Debug, LogicState)]
pub enum Search {
    Clear,
    Idle,
    Read,
    Compare,
    Judge,
    Revoke,
    Done,
}

hdl_module! {
    /// Decisions of rw_window, in order: what is accepted becomes a write of the DMA writer (BW-7), what is dropped is
    /// counted. A write that is done is acknowledged to its window, an empty packet when all writes before it are: so a
    /// transfer is complete when every byte of it is visible (RW-16).
    /// Keeps the queue pair and the region of each open window. s_end names a queue pair or a region that ends: every window
    /// that uses it is revoked, its sender told, and only then s_end is taken (BW-2, BW-9). Whoever asks waits first until
    /// nothing is under way, so no write of those windows comes later.
    /// Clocks: a decision leaves in the clock in which it comes, if the write is taken; at s_end 5 for each of 2^A windows,
    /// and what rw_window takes for each that is revoked.
    /// While m_wr is not taken, or 16 writes are not done, decisions wait. While acknowledgements are not taken, done writes
    /// wait, up to as many as are under way.
    #[module("bulk_land_r{}", 1usize << A)]
    pub struct BulkLand<const A: usize> {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset: no window is open, nothing is under way.
        pub rst: Signal<In, Bit>,
        /// A decision.
        pub s_wr_valid: Signal<In, Bit>,
        /// Taken.
        pub s_wr_ready: Signal<Out, Bit>,
        /// Why the payload is dropped; 0: it is written.
        pub s_wr_reason: Signal<In, Bits<4>>,
        /// Window.
        pub s_wr_wptr: Signal<In, Bits<16>>,
        /// Its incarnation.
        pub s_wr_gen: Signal<In, Bits<16>>,
        /// Where the payload goes.
        pub s_wr_addr: Signal<In, Bits<64>>,
        /// Its bytes.
        pub s_wr_len: Signal<In, Bits<13>>,
        /// The decision leaves: pulse.
        pub m_decided: Signal<Out, Bit>,
        /// With it: the payload is wanted.
        pub m_wanted: Signal<Out, Bit>,
        /// Writes, for the DMA writer; their words come from bulk_sort.
        pub m_wr: DmaRequestOut,
        /// The oldest write that is not done is done: pulse.
        pub s_done: Signal<In, Bit>,
        /// A write is visible.
        pub m_ack_valid: Signal<Out, Bit>,
        /// Taken.
        pub m_ack_ready: Signal<In, Bit>,
        /// Window.
        pub m_ack_wptr: Signal<Out, Bits<16>>,
        /// Its incarnation.
        pub m_ack_gen: Signal<Out, Bits<16>>,
        /// Windows that are opened.
        pub s_opened: WindowsOpenedIn,
        /// Transfers that have ended; always taken.
        pub s_cpl: TransferEndIn,
        /// A queue pair or a region ends; stays until it is taken.
        pub s_end_valid: Signal<In, Bit>,
        /// Taken: pulse.
        pub s_end_ready: Signal<Out, Bit>,
        /// It is a queue pair.
        pub s_end_pair: Signal<In, Bit>,
        /// Its number, or the region's.
        pub s_end_index: Signal<In, Bits<24>>,
        /// A window is to be closed.
        pub m_rev_valid: Signal<Out, Bit>,
        /// It is.
        pub m_rev_ready: Signal<In, Bit>,
        /// Which.
        pub m_rev_wptr: Signal<Out, Bits<16>>,
        /// Its incarnation.
        pub m_rev_gen: Signal<Out, Bits<16>>,
        /// How its transfer ends.
        pub m_rev_status: Signal<Out, Bits<4>>,
        /// No write is under way, none waits to be acknowledged, and the headers have been cleared.
        pub m_idle: Signal<Out, Bit>,
        /// Packets are on their way to host memory.
        pub m_writing: Signal<Out, Bit>,
        /// Window of the DATA that is counted now.
        pub m_counted: Signal<Out, Bits<16>>,
        /// DATA is written; pulse, as all below.
        pub ev_accepted: Signal<Out, Bit>,
        /// It came before.
        pub ev_duplicate: Signal<Out, Bit>,
        /// For no window, another use of it, or of another sender.
        pub ev_stale: Signal<Out, Bit>,
        /// It has another length or number than it can have.
        pub ev_wrong: Signal<Out, Bit>,
        /// A transfer was received.
        pub ev_received: Signal<Out, Bit>,
        /// One ended otherwise.
        pub ev_aborted: Signal<Out, Bit>,
        /// With that: no receive request came for its notification.
        pub ev_not_ready: Signal<Out, Bit>,

        accepted: Signal<Local, Bit>,
        writes: Signal<Local, Bit>,
        leaves: Signal<Local, Bit>,
        /// Packets that are not acknowledged: window, incarnation, it is empty.
        pending: FifoReg<33, 4>,
        /// Writes that are done and not acknowledged.
        #[reset] done: DFF<Bits<5>>,
        visible: Signal<Local, Bit>,
        acked: Signal<Local, Bit>,
        spent: Signal<Local, Bit>,
        reason: DFF<Bits<4>>,
        wptr: DFF<Bits<16>>,
        #[reset] decided: DFF<Bit>,

        search: DFF<Search>,
        /// Of each window: open 64, incarnation 63:48, queue pair 47:24, region 23:0.
        headers: RamReg<65, A>,
        #[reset] at: DFF<Bits<A>>,
        /// The one that is looked at, as it was then: its window may be closed meanwhile.
        header: DFF<Bits<65>>,
        same_pair: DFF<Bit>,
        same_region: DFF<Bit>,
        timer: DFF<Bits<2>>,

        why_closed: Param<{ DropReason::Closed as usize }, 4>,
        why_stale: Param<{ DropReason::StaleGen as usize }, 4>,
        why_source: Param<{ DropReason::BadSource as usize }, 4>,
        why_below: Param<{ DropReason::BelowWindow as usize }, 4>,
        why_duplicate: Param<{ DropReason::Duplicate as usize }, 4>,
        aborted: Param<{ Status::Aborted as usize }, 4>,
        not_ready: Param<{ Status::NotReady as usize }, 4>,
    }
}

impl<const A: usize> Logic for BulkLand<A> {
    #[hdl_gen]
    fn update(&mut self) {
        // Decisions.
        self.accepted.next = !self.s_wr_reason.val().any();
        self.writes.next = self.accepted.val() & self.s_wr_len.val().any();
        self.m_wr.valid.next =
            self.s_wr_valid.val() & self.writes.val() & self.pending.s.ready.val();
        self.m_wr.of.next.addr = self.s_wr_addr.val();
        self.m_wr.of.next.len = self.s_wr_len.val();
        self.m_wr.of.next.ctx = 0.into();
        self.s_wr_ready.next = true;
        if self.accepted.val() {
            self.s_wr_ready.next = self.pending.s.ready.val();
        }
        if self.writes.val() {
            self.s_wr_ready.next = self.pending.s.ready.val() & self.m_wr.ready.val();
        }
        self.leaves.next = self.s_wr_valid.val() & self.s_wr_ready.val();
        self.m_decided.next = self.leaves.val();
        self.m_wanted.next = self.writes.val();
        self.pending.s.valid.next = self.leaves.val() & self.accepted.val();
        self.pending.s.data.next = bit_cast::<33, 16>(self.s_wr_wptr.val())
            | (bit_cast::<33, 16>(self.s_wr_gen.val()) << 16)
            | (bit_cast::<33, 1>((!self.s_wr_len.val().any()).into()) << 32);
        self.decided.d.next = self.leaves.val();
        self.reason.d.next = self.s_wr_reason.val();
        self.wptr.d.next = self.s_wr_wptr.val();
        self.m_counted.next = self.wptr.q.val();
        self.ev_accepted.next = self.decided.q.val() & !self.reason.q.val().any();
        self.ev_duplicate.next = self.decided.q.val()
            & ((self.reason.q.val() == self.why_below.val())
                | (self.reason.q.val() == self.why_duplicate.val()));
        self.ev_stale.next = self.decided.q.val()
            & ((self.reason.q.val() == self.why_closed.val())
                | (self.reason.q.val() == self.why_stale.val())
                | (self.reason.q.val() == self.why_source.val()));
        self.ev_wrong.next = self.decided.q.val()
            & self.reason.q.val().any()
            & (self.reason.q.val() != self.why_below.val())
            & (self.reason.q.val() != self.why_duplicate.val())
            & (self.reason.q.val() != self.why_closed.val())
            & (self.reason.q.val() != self.why_stale.val())
            & (self.reason.q.val() != self.why_source.val());

        // Acknowledgements, in order. An empty packet is visible when it is the oldest.
        self.visible.next = self.pending.m.valid.val()
            & (self.pending.m.data.val().get_bit(32) | self.done.q.val().any());
        self.m_ack_valid.next = self.visible.val();
        self.m_ack_wptr.next = self.pending.m.data.val().get_bits::<16>(0);
        self.m_ack_gen.next = self.pending.m.data.val().get_bits::<16>(16);
        self.acked.next = self.visible.val() & self.m_ack_ready.val();
        self.pending.m.ready.next = self.acked.val();
        self.spent.next = self.acked.val() & !self.pending.m.data.val().get_bit(32);
        if self.s_done.val() & !self.spent.val() {
            self.done.d.next = self.done.q.val() + 1;
        }
        if self.spent.val() & !self.s_done.val() {
            self.done.d.next = self.done.q.val() - 1;
        }
        self.m_writing.next = self.pending.m.valid.val() | self.s_wr_valid.val();
        self.m_idle.next = !self.pending.m.valid.val()
            & !self.s_wr_valid.val()
            & (self.search.q.val() != Search::Clear);

        // Headers of windows. rw_window opens and closes one at a time.
        self.s_cpl.ready.next = true;
        self.ev_received.next = self.s_cpl.valid.val() & !self.s_cpl.of.val().status.any();
        self.ev_aborted.next = self.s_cpl.valid.val() & self.s_cpl.of.val().status.any();
        self.ev_not_ready.next =
            self.s_cpl.valid.val() & (self.s_cpl.of.val().status == self.not_ready.val());
        self.headers.rd.addr.next = self.at.q.val();
        self.headers.wr.en.next = self.s_opened.valid.val()
            | self.s_cpl.valid.val()
            | (self.search.q.val() == Search::Clear);
        self.headers.wr.addr.next = self.s_opened.of.val().wptr.get_bits::<A>(0);
        self.headers.wr.data.next =
            bit_cast::<65, 24>(self.s_opened.of.val().rkey.get_bits::<24>(8))
                | (bit_cast::<65, 24>(self.s_opened.of.val().qpn) << 24)
                | (bit_cast::<65, 16>(self.s_opened.of.val().incarnation) << 48)
                | (bits::<65>(1) << 64);
        if !self.s_opened.valid.val() {
            self.headers.wr.addr.next = self.s_cpl.of.val().wptr.get_bits::<A>(0);
            self.headers.wr.data.next = 0.into();
        }
        if self.search.q.val() == Search::Clear {
            self.headers.wr.addr.next = self.at.q.val();
            self.headers.wr.data.next = 0.into();
        }

        // The search for those that use what ends.
        if self.search.q.val() == Search::Read {
            self.header.d.next = self.headers.rd.data.val();
        }
        self.same_pair.d.next = self.header.q.val().get_bits::<24>(24) == self.s_end_index.val();
        self.same_region.d.next = self.header.q.val().get_bits::<24>(0) == self.s_end_index.val();
        self.m_rev_valid.next = self.search.q.val() == Search::Revoke;
        self.m_rev_wptr.next = bit_cast::<16, A>(self.at.q.val());
        self.m_rev_gen.next = self.header.q.val().get_bits::<16>(48);
        self.m_rev_status.next = self.aborted.val();
        self.s_end_ready.next = self.search.q.val() == Search::Done;
        self.timer.d.next = self.timer.q.val() + 1;
        match self.search.q.val() {
            Search::Clear => {
                self.at.d.next = self.at.q.val() + 1;
                if self.at.q.val().all() {
                    self.search.d.next = Search::Idle;
                }
            }
            Search::Idle => {
                self.at.d.next = 0.into();
                self.timer.d.next = 0.into();
                if self.s_end_valid.val() {
                    self.search.d.next = Search::Read;
                }
            }
            Search::Read => {
                if self.timer.q.val() == 2 {
                    self.search.d.next = Search::Compare;
                }
            }
            Search::Compare => self.search.d.next = Search::Judge,
            Search::Judge => {
                self.timer.d.next = 0.into();
                if self.header.q.val().get_bit(64)
                    & ((self.s_end_pair.val() & self.same_pair.q.val())
                        | (!self.s_end_pair.val() & self.same_region.q.val()))
                {
                    self.search.d.next = Search::Revoke;
                } else {
                    self.at.d.next = self.at.q.val() + 1;
                    self.search.d.next = Search::Read;
                    if self.at.q.val().all() {
                        self.search.d.next = Search::Done;
                    }
                }
            }
            Search::Revoke => {
                self.timer.d.next = 0.into();
                if self.m_rev_ready.val() {
                    self.at.d.next = self.at.q.val() + 1;
                    self.search.d.next = Search::Read;
                    if self.at.q.val().all() {
                        self.search.d.next = Search::Done;
                    }
                }
            }
            Search::Done => self.search.d.next = Search::Idle,
        }
        if self.rst.val() {
            self.search.d.next = Search::Clear;
        }
    }
}
