//! Who sends next.

use super::BulkQueue;
use crate::blocks::PriorityEncoder;
use crate::prelude::*;

hdl_module! {
    /// Scheduler of the sending side: takes turns over S transfers, packet by packet. It knows of each only what it
    /// wants, so that another one can take its place.
    /// What is due goes before packets, packets to send again before fresh ones but one fresh packet in
    /// cfg_fresh_every, and polls of an idle line last; each in turn from the transfer behind the last DATA packet. Of
    /// those that send oldest first only the oldest that has a fresh packet takes a turn with it (bulk_queue).
    /// Latency: 4 clocks from begin, set, sent or end to the choice; one of each a clock, of one transfer.
    #[module("bulk_turns_s{S}")]
    pub struct BulkTurns<const S: usize, const LS: usize> {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset: nobody wants anything.
        pub rst: Signal<In, Bit>,
        /// A transfer says what it wants now.
        pub set_en: Signal<In, Bit>,
        /// Which; begin and end are about it too.
        pub set_slot: Signal<In, Bits<LS>>,
        /// Its CONNECT, POLL or end is due.
        pub set_due: Signal<In, Bit>,
        /// It has packets to send again.
        pub set_resend: Signal<In, Bit>,
        /// It has a fresh packet that may leave.
        pub set_fresh: Signal<In, Bit>,
        /// It has a poll for an idle line.
        pub set_spare: Signal<In, Bit>,
        /// That transfer begins, and sends oldest first.
        pub begin_en: Signal<In, Bit>,
        /// It ends.
        pub end_en: Signal<In, Bit>,
        /// A DATA packet leaves.
        pub sent_en: Signal<In, Bit>,
        /// Its transfer.
        pub sent_slot: Signal<In, Bits<LS>>,
        /// It was asked for.
        pub sent_resend: Signal<In, Bit>,
        /// One fresh packet at least in so many.
        pub cfg_fresh_every: Signal<In, Bits<8>>,
        /// Transfers whose packets have to wait for their pace (CL-4); their polls of an idle line wait behind packets to send again.
        pub s_held: Signal<In, Bits<S>>,
        /// A packet waits for that.
        pub m_paced: Signal<Out, Bit>,
        /// Somebody is chosen.
        pub valid: Signal<Out, Bit>,
        /// Who.
        pub slot: Signal<Out, Bits<LS>>,
        /// What for: 0 due, 1 resend, 2 fresh, 3 spare.
        pub purpose: Signal<Out, Bits<2>>,

        /// The lowest of those from the turn on, and of all.
        behind: PriorityEncoder<S, LS>,
        lowest: PriorityEncoder<S, LS>,
        #[reset] due: DFF<Bits<S>>,
        #[reset] resend: DFF<Bits<S>>,
        #[reset] fresh: DFF<Bits<S>>,
        #[reset] spare: DFF<Bits<S>>,
        queue: BulkQueue<S, LS>,
        /// Those with fresh packets that are not in the queue, the oldest there, both.
        others: Signal<Local, Bits<S>>,
        oldest: Signal<Local, Bits<S>>,
        may: Signal<Local, Bits<S>>,
        /// The transfer set, one-hot.
        mask: Signal<Local, Bits<S>>,
        /// Those from the turn on.
        from: DFF<Bits<S>>,
        /// The first of them, less 1: the transfer that sent last, S - 1 at first.
        #[reset] started: DFF<Bit>,
        turn: DFF<Bits<LS>>,
        /// Packets sent again since the last fresh one.
        #[reset] resends: DFF<Bits<8>>,
        /// It is time for a fresh packet.
        fresh_first: DFF<Bit>,
        /// Those that do not wait for their pace.
        ready_resend: Signal<Local, Bits<S>>,
        ready_fresh: Signal<Local, Bits<S>>,
        ready_spare: Signal<Local, Bits<S>>,
        paced: DFF<Bit>,
        any_due: Signal<Local, Bit>,
        any_resend: Signal<Local, Bit>,
        any_fresh: Signal<Local, Bit>,
        /// Those of the class chosen.
        #[reset] chosen: DFF<Bits<S>>,
        chosen_class: DFF<Bits<2>>,
        #[reset] some: DFF<Bit>,
        who: DFF<Bits<LS>>,
        why: DFF<Bits<2>>,
    }
}

impl<const S: usize, const LS: usize> Logic for BulkTurns<S, LS> {
    #[hdl_gen]
    fn update(&mut self) {
        self.mask.next = bits::<S>(1) << self.set_slot.val();
        if self.set_en.val() {
            self.due.d.next = self.due.q.val() & !self.mask.val();
            self.resend.d.next = self.resend.q.val() & !self.mask.val();
            self.fresh.d.next = self.fresh.q.val() & !self.mask.val();
            self.spare.d.next = self.spare.q.val() & !self.mask.val();
            if self.set_due.val() {
                self.due.d.next = self.due.q.val() | self.mask.val();
            }
            if self.set_resend.val() {
                self.resend.d.next = self.resend.q.val() | self.mask.val();
            }
            if self.set_fresh.val() {
                self.fresh.d.next = self.fresh.q.val() | self.mask.val();
            }
            if self.set_spare.val() {
                self.spare.d.next = self.spare.q.val() | self.mask.val();
            }
        }
        if self.sent_en.val() {
            self.started.d.next = true;
            self.turn.d.next = self.sent_slot.val();
            self.resends.d.next = 0.into();
            if self.sent_resend.val() {
                self.resends.d.next = self.resends.q.val();
                if self.resends.q.val() < self.cfg_fresh_every.val() {
                    self.resends.d.next = self.resends.q.val() + 1;
                }
            }
        }
        // All of them while the one that sent last is the last of all.
        self.from.d.next = (!bits::<S>(1)) << self.turn.q.val();
        if !self.started.q.val() {
            self.from.d.next = !bits::<S>(0);
        }
        self.fresh_first.d.next = self.resends.q.val() >= (self.cfg_fresh_every.val() - 1);

        self.queue.s_slot.next = self.set_slot.val();
        self.queue.s_begin.next = self.begin_en.val();
        self.queue.s_set.next = self.set_en.val();
        self.queue.s_fresh.next = self.set_fresh.val();
        self.queue.s_end.next = self.end_en.val();
        self.queue.s_held.next = self.s_held.val();
        self.ready_resend.next = self.resend.q.val() & !self.s_held.val();
        self.ready_fresh.next = self.fresh.q.val() & !self.s_held.val();
        self.ready_spare.next = self.spare.q.val() & !(self.s_held.val() & self.resend.q.val());
        self.paced.d.next = ((self.resend.q.val() | self.fresh.q.val()) & self.s_held.val()).any();
        self.m_paced.next = self.paced.q.val();
        self.others.next = self.ready_fresh.val() & !self.queue.m_queued.val();
        self.oldest.next = bits::<S>(1) << self.queue.m_oldest.val();
        self.may.next = self.others.val();
        if self.queue.m_any.val() {
            self.may.next = self.others.val() | self.oldest.val();
        }
        self.any_due.next = self.due.q.val().any();
        self.any_resend.next = self.ready_resend.val().any();
        self.any_fresh.next = self.others.val().any() | self.queue.m_any.val();
        self.chosen.d.next = self.ready_spare.val();
        self.chosen_class.d.next = 3.into();
        if self.any_due.val() {
            self.chosen.d.next = self.due.q.val();
            self.chosen_class.d.next = 0.into();
        } else if self.any_resend.val() & !(self.any_fresh.val() & self.fresh_first.q.val()) {
            self.chosen.d.next = self.ready_resend.val();
            self.chosen_class.d.next = 1.into();
        } else if self.any_fresh.val() {
            self.chosen.d.next = self.may.val();
            self.chosen_class.d.next = 2.into();
        }

        self.behind.req.next = self.chosen.q.val() & self.from.q.val();
        self.lowest.req.next = self.chosen.q.val();
        self.some.d.next = !self.lowest.none.val();
        self.who.d.next = self.behind.index.val();
        if self.behind.none.val() {
            self.who.d.next = self.lowest.index.val();
        }
        self.why.d.next = self.chosen_class.q.val();
        self.valid.next = self.some.q.val();
        self.slot.next = self.who.q.val();
        self.purpose.next = self.why.q.val();
    }
}
