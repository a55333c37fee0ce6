//! Notifications among the requests of the line.

use crate::bus::{NotifyIn, RequestIn, RequestOut};
use crate::prelude::*;
use tributary_protocol::xud::wire::ONE_SIDED_FRAME;

hdl_module! {
    /// Requests of the line and notifications of bulk transfers (BW-3), in turns, for card_recv_check. A notification comes
    /// behind the request that is offered when it comes, or at once if there is none, and one request at least comes between
    /// two notifications.
    /// Wires and whose turn it is; a notification gets its turn in the clock behind it.
    /// While m_rq is not taken the turn stays; a notification that is withdrawn gives it back.
    #[module("card_recv_notices")]
    pub struct CardRecvNotices {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset.
        pub rst: Signal<In, Bit>,
        /// Requests of the line.
        pub s_rq: RequestIn,
        /// Notifications.
        pub s_notify: NotifyIn,
        /// Both.
        pub m_rq: RequestOut,
        /// The notification at m_rq is looked at from now on; pulse.
        pub s_begins: Signal<In, Bit>,
        /// One is decided; pulse.
        pub s_told: Signal<In, Bit>,
        /// With it: its completion is ordered in host memory.
        pub s_told_ok: Signal<In, Bit>,

        /// It is the turn of a notification.
        #[reset] turn: DFF<Bit>,
        one_sided: Param<{ ONE_SIDED_FRAME as usize }, 8>,
    }
}

impl Logic for CardRecvNotices {
    #[hdl_gen]
    fn update(&mut self) {
        self.m_rq.valid.next = self.s_rq.valid.val();
        self.m_rq.of.next = self.s_rq.of.val();
        self.s_rq.ready.next = self.m_rq.ready.val() & !self.turn.q.val();
        self.s_rq.drop.next = self.m_rq.drop.val();
        self.s_notify.begins.next = self.s_begins.val();
        self.s_notify.ready.next = self.m_rq.ready.val() & self.turn.q.val();
        self.s_notify.told.next = self.s_told.val();
        self.s_notify.ok.next = self.s_told_ok.val();
        if self.turn.q.val() {
            self.m_rq.valid.next = self.s_notify.valid.val();
            self.m_rq.of.next.node = self.s_notify.of.val().node;
            self.m_rq.of.next.qpn = self.s_notify.of.val().qpn;
            self.m_rq.of.next.psn = 0.into();
            self.m_rq.of.next.q_key = self.s_notify.of.val().q_key;
            self.m_rq.of.next.src = self.s_notify.of.val().source;
            self.m_rq.of.next.vf = self.one_sided.val();
            self.m_rq.of.next.win_id = 0.into();
            self.m_rq.of.next.epoch = 0.into();
            self.m_rq.of.next.msn = self.s_notify.of.val().immediate;
            self.m_rq.of.next.len = 0.into();
            self.m_rq.of.next.unknown = false;
            self.m_rq.of.next.notify = true;
            self.m_rq.of.next.bytes = self.s_notify.of.val().length;
            self.m_rq.of.next.marked = false;
            if self.m_rq.ready.val() | !self.s_notify.valid.val() {
                self.turn.d.next = false;
            }
        } else if self.s_notify.valid.val() & (self.m_rq.ready.val() | !self.s_rq.valid.val()) {
            self.turn.d.next = true;
        }
    }
}
