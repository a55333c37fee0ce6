//! Hosts are told of transfers that are complete.

use crate::blocks::{Pow2, RamReg};
use crate::bus::{Notice, NotifyOut, WindowsOpenedIn};
use crate::prelude::*;
use tributary_protocol::rw::Status;

/// What the block does.
#[derive(Copy, Clone, PartialEq, Debug, LogicState)]
pub enum Telling {
    Clear,
    Scan,
    Load,
    Judge,
    Offer,
    Taken,
    Told,
    Forget,
    End,
}

hdl_record! {
    /// A window that may wait for its host to be told.
    struct Waits {
        /// It does: every byte of its transfer is visible.
        waits: Bit,
        /// Its incarnation.
        incarnation: Bits<16>,
        /// The tick since which it does.
        since: Bits<16>,
    }
}

hdl_module! {
    /// Notifications (BW-3). A window that is complete and kept waits here until its host has been told: it takes a receive
    /// request of its queue pair, m says so, and with told and ok its completion is ordered in host memory. Then the window is
    /// closed, and only then its sender hears of it. Without a receive request the window is offered again in its turn; when
    /// it finds none cfg_patience ticks after it was complete, or later, it is closed as not ready.
    /// A window that is closed otherwise meanwhile (aborted, revoked, idle) is forgotten: it is not offered any more. One that
    /// had begun then is still told, since every byte is there, and closed no more.
    /// Stages: SCAN a window a clock, each word 2 clocks behind its address; LOAD 3, JUDGE 1, OFFER until it begins,
    /// TAKEN until it is taken, TOLD until it was told, FORGET 1 or more, END until rw_window has closed it.
    /// So a lone window is offered within 2^A + 7 clocks. While hold is up none is offered, and one that is offered and has
    /// not begun is withdrawn; m_idle says that none has begun. While m or m_rev is not taken nothing else moves here;
    /// windows go on to become complete, which is noted.
    #[module("bulk_notify_r{}", 1usize << A)]
    pub struct BulkNotify<const A: usize> {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset: no window waits. The table is cleared, one window a clock.
        pub rst: Signal<In, Bit>,
        /// The table has been cleared.
        pub ready: Signal<Out, Bit>,
        /// Nothing new may begin.
        pub hold: Signal<In, Bit>,
        /// Nothing has begun.
        pub m_idle: Signal<Out, Bit>,
        /// A window waits for its host to be told; up to a round of the table longer.
        pub m_waits: Signal<Out, Bit>,
        /// A window was opened.
        pub s_opened: WindowsOpenedIn,
        /// A window that is kept is complete; pulse.
        pub s_full_valid: Signal<In, Bit>,
        /// Which.
        pub s_full_wptr: Signal<In, Bits<16>>,
        /// Its incarnation.
        pub s_full_gen: Signal<In, Bits<16>>,
        /// A window was closed; pulse.
        pub s_closed_valid: Signal<In, Bit>,
        /// Which.
        pub s_closed_wptr: Signal<In, Bits<16>>,
        /// Coarse time.
        pub now: Signal<In, Bits<16>>,
        /// Ticks for which a window waits for a receive request.
        pub cfg_patience: Signal<In, Bits<16>>,
        /// Notifications.
        pub m: NotifyOut,
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

        state: DFF<Telling>,
        timer: DFF<Bits<2>>,
        /// Of each window: what its host is to be told, and whether it waits for that.
        notices: RamReg<{ Notice::BITS }, A>,
        waiting: RamReg<{ Waits::BITS }, A>,
        wait_in: Signal<Local, Waits>,
        wait: Signal<Local, Waits>,
        notes: Signal<Local, Bit>,
        /// Address of the table, and those of the two clocks before.
        #[reset] at: DFF<Bits<A>>,
        at_1: DFF<Bits<A>>,
        at_2: DFF<Bits<A>>,
        /// The window that is told, as it was when it was found.
        wptr: DFF<Bits<A>>,
        found: DFF<Waits>,
        notice: DFF<Notice>,
        age: DFF<Bits<16>>,
        over: DFF<Bit>,
        /// It was closed.
        closed: DFF<Bit>,
        /// It is complete anew, with another transfer.
        renewed: DFF<Bit>,
        closes: Signal<Local, Bit>,
        status: DFF<Bits<4>>,
        /// Clocks since the table had a window that waits, from a round on down.
        #[reset] recent: DFF<Bits<16>>,
        round: Pow2<16, A>,
        not_ready: Param<{ Status::NotReady as usize }, 4>,
    }
}

impl<const A: usize> Logic for BulkNotify<A> {
    #[hdl_gen]
    fn update(&mut self) {
        // What there is to tell.
        self.notices.wr.en.next = self.s_opened.valid.val();
        self.notices.wr.addr.next = self.s_opened.of.val().wptr.get_bits::<A>(0);
        self.notices.wr.data.next = self.s_opened.of.val().notice.to_bits();
        self.notices.rd.addr.next = self.wptr.q.val();

        // Who waits. rw_window says one thing of one window at a time; FORGET waits for a clock in which it says nothing.
        self.notes.next = self.s_full_valid.val() | self.s_closed_valid.val();
        self.wait_in.next = Waits {
            waits: false,
            incarnation: self.s_full_gen.val(),
            since: self.now.val(),
        };
        self.waiting.wr.en.next = self.notes.val()
            | (self.state.q.val() == Telling::Clear)
            | ((self.state.q.val() == Telling::Forget) & !self.renewed.q.val());
        self.waiting.wr.addr.next = self.wptr.q.val();
        if self.state.q.val() == Telling::Clear {
            self.waiting.wr.addr.next = self.at.q.val();
        }
        if self.s_closed_valid.val() {
            self.waiting.wr.addr.next = self.s_closed_wptr.val().get_bits::<A>(0);
        }
        if self.s_full_valid.val() {
            self.waiting.wr.addr.next = self.s_full_wptr.val().get_bits::<A>(0);
            self.wait_in.next.waits = true;
        }
        self.waiting.wr.data.next = self.wait_in.val().to_bits();
        self.waiting.rd.addr.next = self.wptr.q.val();
        if self.state.q.val() == Telling::Scan {
            self.waiting.rd.addr.next = self.at.q.val();
        }
        self.wait.next = self.waiting.rd.data.val().into();
        self.at_1.d.next = self.at.q.val();
        self.at_2.d.next = self.at_1.q.val();

        // The window that is told.
        self.age.d.next = self.now.val() - self.found.q.val().since;
        self.over.d.next = self.age.q.val() >= self.cfg_patience.val();
        self.closes.next = self.s_closed_valid.val()
            & (self.s_closed_wptr.val() == bit_cast::<16, A>(self.wptr.q.val()));
        self.closed.d.next =
            (self.closed.q.val() | self.closes.val()) & (self.state.q.val() != Telling::Scan);
        self.renewed.d.next = (self.renewed.q.val()
            | (self.s_full_valid.val()
                & (self.s_full_wptr.val() == bit_cast::<16, A>(self.wptr.q.val()))))
            & (self.state.q.val() != Telling::Scan);
        self.m.valid.next = (self.state.q.val() == Telling::Taken)
            | ((self.state.q.val() == Telling::Offer)
                & !self.hold.val()
                & !self.closed.q.val()
                & !self.closes.val());
        self.m.of.next = self.notice.q.val();
        self.m_rev_valid.next = self.state.q.val() == Telling::End;
        self.m_rev_wptr.next = bit_cast::<16, A>(self.wptr.q.val());
        self.m_rev_gen.next = self.found.q.val().incarnation;
        self.m_rev_status.next = self.status.q.val();
        self.ready.next = self.state.q.val() != Telling::Clear;
        self.m_idle.next = (self.state.q.val() == Telling::Scan)
            | (self.state.q.val() == Telling::Load)
            | (self.state.q.val() == Telling::Judge)
            | (self.state.q.val() == Telling::Offer);

        self.m_waits.next = self.recent.q.val().any();
        if self.recent.q.val().any() {
            self.recent.d.next = self.recent.q.val() - 1;
        }
        if self.s_full_valid.val()
            | ((self.state.q.val() != Telling::Scan) & (self.state.q.val() != Telling::Clear))
        {
            self.recent.d.next = self.round.val() + 4;
        }

        self.timer.d.next = self.timer.q.val() + 1;
        match self.state.q.val() {
            Telling::Clear => {
                self.at.d.next = self.at.q.val() + 1;
                self.timer.d.next = 0.into();
                if self.at.q.val().all() {
                    self.state.d.next = Telling::Scan;
                }
            }
            Telling::Scan => {
                self.at.d.next = self.at.q.val() + 1;
                self.wptr.d.next = self.at_2.q.val();
                if self.timer.q.val() == 2 {
                    self.timer.d.next = 2.into();
                    if self.wait.val().waits {
                        self.timer.d.next = 0.into();
                        self.at.d.next = self.at_2.q.val() + 1;
                        self.state.d.next = Telling::Load;
                    }
                }
            }
            // Once more: it may have been closed since it was looked at.
            Telling::Load => {
                self.notice.d.next = self.notices.rd.data.val().into();
                self.found.d.next = self.wait.val();
                if self.timer.q.val() == 2 {
                    self.timer.d.next = 0.into();
                    self.state.d.next = Telling::Judge;
                }
            }
            Telling::Judge => {
                self.timer.d.next = 0.into();
                self.state.d.next = Telling::Scan;
                if self.found.q.val().waits
                    & !self.hold.val()
                    & !self.closed.q.val()
                    & !self.closes.val()
                {
                    self.state.d.next = Telling::Offer;
                }
            }
            Telling::Offer => {
                self.timer.d.next = 0.into();
                if self.m.begins.val() {
                    self.state.d.next = Telling::Taken;
                } else if !self.m.valid.val() {
                    self.state.d.next = Telling::Scan;
                }
            }
            Telling::Taken => {
                if self.m.ready.val() {
                    self.state.d.next = Telling::Told;
                }
            }
            Telling::Told => {
                self.timer.d.next = 0.into();
                self.status.d.next = 0.into();
                if self.m.told.val() {
                    self.state.d.next = Telling::Scan;
                    if self.m.ok.val() {
                        self.state.d.next = Telling::Forget;
                    } else if self.over.q.val() {
                        self.status.d.next = self.not_ready.val();
                        self.state.d.next = Telling::Forget;
                    }
                }
            }
            Telling::Forget => {
                if !self.notes.val() {
                    self.state.d.next = Telling::End;
                }
            }
            Telling::End => {
                self.timer.d.next = 0.into();
                if self.m_rev_ready.val() {
                    self.state.d.next = Telling::Scan;
                }
            }
        }
        if self.rst.val() {
            self.state.d.next = Telling::Clear;
        }
    }
}
