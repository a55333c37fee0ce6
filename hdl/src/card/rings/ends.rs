//! Ends of groups among the notifications of bulk transfers.

use crate::blocks::AsyncRam;
use crate::bus::{
    GroupQueueIn, HostTellOut, HostTold, Notice, NotifyIn, NotifyOut, ScheduleDoneIn,
};
use crate::prelude::*;
use crate::record::EndWord;

hdl_module! {
    /// Tells hosts of messages that are done and of groups that have ended, as notifications of bulk transfers are told
    /// (BW-3): each takes a receive request of the queue pair that the group was opened with. Without one it is offered
    /// again after 256 clocks, for ever. The notice says: node, this card; source, group; immediate data, message; length, code
    /// 2:0, peer 13:8, entries fetched 31:16; Q_Key, the lower half of the entry's user.
    /// Notifications of transfers pass, one of both kinds at a time. What a host was told of a transfer comes out at m_tell, and
    /// none is offered before that was taken.
    /// Latency: none, 1 clock when the turn changes. Stages: none; whose turn it is, and that it has begun.
    /// While hold is up no end is offered, and one that has not begun is withdrawn; m_idle says that none has begun.
    #[module("card_ring_ends_g{}", 1usize << LG)]
    pub struct CardRingEnds<const LG: usize> {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset.
        pub rst: Signal<In, Bit>,
        /// Nothing new may begin.
        pub hold: Signal<In, Bit>,
        /// No end has begun.
        pub m_idle: Signal<Out, Bit>,
        /// Who this card is.
        pub cfg_node: Signal<In, Bits<20>>,
        /// Where the ends of a group are told.
        pub s_queue: GroupQueueIn,
        /// Notifications of bulk transfers.
        pub s_notify: NotifyIn,
        /// Ends of groups.
        pub s_done: ScheduleDoneIn,
        /// Both.
        pub m_notify: NotifyOut,
        /// What a host was told of a transfer.
        pub m_tell: HostTellOut,

        queues: AsyncRam<16, LG>,
        /// It is the turn of an end.
        #[reset] turn: DFF<Bit>,
        /// What is offered has begun, and is not told.
        #[reset] begun: DFF<Bit>,
        /// It was taken.
        #[reset] taken: DFF<Bit>,
        /// Clocks for which no end is offered, as the last one found no receive request.
        #[reset] pause: DFF<Bits<8>>,
        wants: Signal<Local, Bit>,
        offers: Signal<Local, Bit>,
        told: Signal<Local, Bit>,
        end: Signal<Local, Notice>,
        word: Signal<Local, EndWord>,
        length: Signal<Local, Bits<32>>,
        #[reset] tells: DFF<Bit>,
        tell: DFF<HostTold>,
    }
}

impl<const LG: usize> Logic for CardRingEnds<LG> {
    #[hdl_gen]
    fn update(&mut self) {
        self.queues.wr.en.next = self.s_queue.valid.val();
        self.queues.wr.addr.next = bit_cast::<LG, 8>(self.s_queue.group.val());
        self.queues.wr.data.next = self.s_queue.pair.val();
        self.queues.rd.addr.next = bit_cast::<LG, 8>(self.s_done.of.val().group);

        // What is offered.
        self.wants.next = self.s_done.valid.val() & !self.hold.val() & !self.pause.q.val().any();
        self.word.next = EndWord {
            code: self.s_done.of.val().code,
            peer: self.s_done.of.val().peer,
            fetched: self.s_done.of.val().fetched,
        };
        self.length.next = self.word.val().to_bits();
        self.end.next = Notice {
            qpn: bit_cast::<24, 16>(self.queues.rd.data.val()),
            node: self.cfg_node.val(),
            source: bit_cast::<24, 8>(self.s_done.of.val().group),
            q_key: self.s_done.of.val().user.get_bits::<32>(0),
            immediate: self.s_done.of.val().message,
            length: self.length.val(),
        };
        self.offers.next = self.s_notify.valid.val() & (self.begun.q.val() | !self.tells.q.val());
        self.m_notify.of.next = self.s_notify.of.val();
        if self.turn.q.val() {
            self.offers.next = (self.begun.q.val() | self.wants.val()) & !self.taken.q.val();
            self.m_notify.of.next = self.end.val();
        }

        // What becomes of it.
        self.m_notify.valid.next = self.offers.val();
        self.told.next = self.m_notify.told.val() & self.begun.q.val();
        self.s_notify.begins.next = self.m_notify.begins.val() & !self.turn.q.val();
        self.s_notify.ready.next = self.m_notify.ready.val() & !self.turn.q.val();
        self.s_notify.told.next = self.m_notify.told.val() & !self.turn.q.val();
        self.s_notify.ok.next = self.m_notify.ok.val();
        self.s_done.ready.next = self.told.val() & self.turn.q.val() & self.m_notify.ok.val();
        if self.m_notify.begins.val() {
            self.begun.d.next = true;
        }
        if self.m_notify.ready.val() {
            self.taken.d.next = true;
        }
        if self.pause.q.val().any() {
            self.pause.d.next = self.pause.q.val() - 1;
        }
        if self.told.val() {
            self.begun.d.next = false;
            self.taken.d.next = false;
            self.turn.d.next = !self.turn.q.val() & self.wants.val();
            if self.turn.q.val() & !self.m_notify.ok.val() {
                self.pause.d.next = 255.into();
            }
        } else if !self.begun.q.val() & !self.offers.val() {
            self.turn.d.next = !self.turn.q.val() & self.wants.val();
        }
        self.m_idle.next = !(self.turn.q.val() & self.begun.q.val());

        // What a host was told.
        if self.m_tell.ready.val() {
            self.tells.d.next = false;
        }
        if self.told.val() & !self.turn.q.val() & self.m_notify.ok.val() {
            self.tells.d.next = true;
        }
        if !self.tells.q.val() {
            self.tell.d.next = HostTold {
                qpn: self.s_notify.of.val().qpn,
                immediate: self.s_notify.of.val().immediate,
            };
        }
        self.m_tell.valid.next = self.tells.q.val();
        self.m_tell.of.next = self.tell.q.val();
    }
}
