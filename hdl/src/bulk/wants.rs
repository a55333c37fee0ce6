//! What a transfer wants of the line.

use crate::prelude::*;

hdl_module! {
    /// What a transfer wants, from its state: fresh packets within credit, overrun and span (RW-19), packets to
    /// send again, a poll that is due (RW-10), a poll of an idle line.
    /// Latency: 7 clocks from the inputs, which stand still meanwhile, to the answer.
    #[module("bulk_wants_d{}", 1usize << LD)]
    pub struct BulkWants<const LD: usize> {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Time of the operation.
        pub now: Signal<In, Bits<16>>,
        /// The window is known.
        pub open: Signal<In, Bit>,
        /// A packet waits for its second copy, or others wait to be sent again.
        pub repairs: Signal<In, Bit>,
        /// Polls of an idle line may leave.
        pub early: Signal<In, Bit>,
        /// Packets of the transfer.
        pub n: Signal<In, Bits<22>>,
        /// Numbers below this may be sent.
        pub credit: Signal<In, Bits<22>>,
        /// Numbers below this have arrived.
        pub base: Signal<In, Bits<22>>,
        /// Send pointer.
        pub pointer: Signal<In, Bits<22>>,
        /// Numbers below this are taken to have arrived, base or above.
        pub trusted: Signal<In, Bits<22>>,
        /// Time of the next poll.
        pub poll_at: Signal<In, Bits<16>>,
        /// Time of the next poll of an idle line.
        pub early_at: Signal<In, Bits<16>>,
        /// Packets above the credit, at most.
        pub cfg_overrun: Signal<In, Bits<16>>,
        /// CONNECT, POLL or the end is due.
        pub due: Signal<Out, Bit>,
        /// Packets to send again.
        pub resend: Signal<Out, Bit>,
        /// A fresh packet.
        pub fresh: Signal<Out, Bit>,
        /// A poll of an idle line.
        pub spare: Signal<Out, Bit>,
        /// Packets are left, but none may be sent.
        pub starved: Signal<Out, Bit>,

        ld: Param<LD, 5>,
        moved: DFF<Bits<22>>,
        past: DFF<Bits<22>>,
        over: DFF<Bit>,
        room: DFF<Bits<22>>,
        limit: DFF<Bits<23>>,
        below_limit: DFF<Bit>,
        below_n: DFF<Bit>,
        below_span: DFF<Bit>,
        fresh_now: DFF<Bit>,
        resend_now: DFF<Bit>,
        poll_gap: DFF<Bits<16>>,
        early_gap: DFF<Bits<16>>,
        due_now: DFF<Bit>,
        spare_now: DFF<Bit>,
        starved_now: DFF<Bit>,
    }
}

impl<const LD: usize> Logic for BulkWants<LD> {
    #[hdl_gen]
    fn update(&mut self) {
        self.moved.d.next = self.trusted.val() - self.base.val();
        self.past.d.next = self.pointer.val() - self.base.val();
        self.over.d.next = self.moved.q.val() > bit_cast::<22, 16>(self.cfg_overrun.val());
        self.room.d.next = self.moved.q.val();
        if self.over.q.val() {
            self.room.d.next = bit_cast::<22, 16>(self.cfg_overrun.val());
        }
        self.limit.d.next =
            bit_cast::<23, 22>(self.credit.val()) + bit_cast::<23, 22>(self.room.q.val());
        self.below_limit.d.next = bit_cast::<23, 22>(self.pointer.val()) < self.limit.q.val();
        self.below_n.d.next = self.pointer.val() != self.n.val();
        self.below_span.d.next = !(self.past.q.val() >> self.ld.val()).any();
        self.resend_now.d.next = self.open.val() & self.repairs.val();
        self.fresh_now.d.next = self.open.val()
            & self.below_limit.q.val()
            & self.below_n.q.val()
            & self.below_span.q.val();

        self.poll_gap.d.next = self.now.val() - self.poll_at.val();
        self.early_gap.d.next = self.now.val() - self.early_at.val();
        self.due_now.d.next = !self.poll_gap.q.val().get_bit(15)
            & (!self.open.val() | !(self.resend_now.q.val() | self.fresh_now.q.val()));
        self.spare_now.d.next =
            self.early.val() & !self.below_n.q.val() & !self.early_gap.q.val().get_bit(15);
        self.starved_now.d.next = self.open.val()
            & self.below_n.q.val()
            & !self.fresh_now.q.val()
            & !self.resend_now.q.val();
        self.due.next = self.due_now.q.val();
        self.resend.next = self.resend_now.q.val();
        self.fresh.next = self.fresh_now.q.val();
        self.spare.next = self.spare_now.q.val();
        self.starved.next = self.starved_now.q.val();
    }
}
