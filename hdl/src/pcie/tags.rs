//! What is known of each tag of the DMA reader.

use crate::blocks::AsyncRam;
use crate::prelude::*;

hdl_module! {
    /// States of 32 tags: free, in use (until its words are delivered), waiting for completions, failed, late.
    /// Tags are given out in turn, at most one in 3 clocks. A tag whose read was given up (timeout, wrong completion,
    /// function-level reset) is late: it is passed over until the last completion of that read has come, or until
    /// more than twice the timeout has passed since the read, whichever is first. A completer has failed if it has not
    /// answered by the timeout; it has as long again for what is on its way. Only a completion that is later than that,
    /// and has the byte count and address expected by then, could be taken for that of another read. Without a timeout
    /// that is 131,071 ticks of 64 clocks.
    /// Stages: take 1 registered, 2 in the states. Timeouts: each tag is looked at once a tick; 2 clocks to tmo_valid.
    #[module("dma_tags")]
    pub struct DmaTags {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset: all tags are free.
        pub rst: Signal<In, Bit>,
        /// Function-level reset: what waits becomes late, all else free.
        pub flr: Signal<In, Bit>,
        /// Ticks of 64 clocks after which a read fails; 0 never.
        pub cfg_timeout: Signal<In, Bits<16>>,
        /// A tag is free.
        pub m_free: Signal<Out, Bit>,
        /// It.
        pub m_slot: Signal<Out, Bits<5>>,
        /// It is taken: it waits.
        pub take: Signal<In, Bit>,
        /// Tag of a completion.
        pub look_slot: Signal<In, Bits<5>>,
        /// It waits.
        pub look_waits: Signal<Out, Bit>,
        /// It is late.
        pub look_late: Signal<Out, Bit>,
        /// A completion of the tag has ended.
        pub end_valid: Signal<In, Bit>,
        /// The tag.
        pub end_slot: Signal<In, Bits<5>>,
        /// The tag waits no more.
        pub end_done: Signal<In, Bit>,
        /// Its read has failed.
        pub end_failed: Signal<In, Bit>,
        /// More of its completions may come.
        pub end_late: Signal<In, Bit>,
        /// No more of its completions come.
        pub end_over: Signal<In, Bit>,
        /// A read is given up.
        pub tmo_valid: Signal<Out, Bit>,
        /// Its tag.
        pub tmo_slot: Signal<Out, Bits<5>>,
        /// Tag whose words are next.
        pub want_slot: Signal<In, Bits<5>>,
        /// It waits no more.
        pub want_done: Signal<Out, Bit>,
        /// Its read has failed.
        pub want_failed: Signal<Out, Bit>,
        /// A tag's words are delivered.
        pub give_valid: Signal<In, Bit>,
        /// The tag.
        pub give_slot: Signal<In, Bits<5>>,

        /// A bit per tag.
        #[reset] busy: DFF<Bits<32>>,
        #[reset] waits: DFF<Bits<32>>,
        #[reset] failed: DFF<Bits<32>>,
        #[reset] late: DFF<Bits<32>>,
        /// The tag whose turn it is; it is free.
        #[reset] turn: DFF<Bits<5>>,
        #[reset] free: DFF<Bit>,
        /// It is in use, of those too late, as known one clock after its turn came.
        in_use: DFF<Bit>,
        is_late: DFF<Bit>,
        #[reset] known: DFF<Bit>,
        on: Signal<Local, Bit>,
        /// The tag that was taken in the clock before.
        #[reset] t_valid: DFF<Bit>,
        t_slot: DFF<Bits<5>>,
        take_mask: Signal<Local, Bits<32>>,
        end_mask: Signal<Local, Bits<32>>,
        tmo_mask: Signal<Local, Bits<32>>,
        give_mask: Signal<Local, Bits<32>>,
        /// Of end_mask: done, failed, late, over.
        done_mask: Signal<Local, Bits<32>>,
        failed_mask: Signal<Local, Bits<32>>,
        late_mask: Signal<Local, Bits<32>>,
        over_mask: Signal<Local, Bits<32>>,
        old_mask: Signal<Local, Bits<32>>,
        waits_next: Signal<Local, Bits<32>>,
        late_next: Signal<Local, Bits<32>>,
        /// Tick in which the read of a tag began.
        began: AsyncRam<17, 5>,
        #[reset] clocks: DFF<Bits<6>>,
        #[reset] tick: DFF<Bits<17>>,
        /// Stage 1 of the look at a tag: its age, its state.
        a_slot: DFF<Bits<5>>,
        a_age: DFF<Bits<17>>,
        half_age: Signal<Local, Bits<16>>,
        a_waits: DFF<Bit>,
        a_late: DFF<Bit>,
        /// Stage 2: it is too old; it is old enough to be used again.
        b_slot: DFF<Bits<5>>,
        #[reset] b_over: DFF<Bit>,
        #[reset] b_old: DFF<Bit>,
        one: Param<1, 32>,
    }
}

impl Logic for DmaTags {
    #[hdl_gen]
    fn update(&mut self) {
        // Whose turn it is. What is free stays so until it is taken.
        self.m_free.next = self.free.q.val();
        self.m_slot.next = self.turn.q.val();
        self.in_use.d.next =
            ((self.busy.q.val() | self.late.q.val()) >> self.turn.q.val()).get_bit(0);
        self.is_late.d.next = (self.late.q.val() >> self.turn.q.val()).get_bit(0);
        self.known.d.next = true;
        self.on.next = self.take.val() | (self.known.q.val() & self.is_late.q.val());
        self.free.d.next = self.known.q.val() & !self.in_use.q.val() & !self.on.val();
        if self.on.val() {
            self.turn.d.next = self.turn.q.val() + 1;
            self.known.d.next = false;
        }

        // A tag is looked at every second clock.
        self.clocks.d.next = self.clocks.q.val() + 1;
        if self.clocks.q.val().all() {
            self.tick.d.next = self.tick.q.val() + 1;
        }
        self.began.wr.en.next = self.take.val();
        self.began.wr.addr.next = self.turn.q.val();
        self.began.wr.data.next = self.tick.q.val();
        self.began.rd.addr.next = self.clocks.q.val().get_bits::<5>(1);
        self.a_slot.d.next = self.clocks.q.val().get_bits::<5>(1);
        self.a_age.d.next = self.tick.q.val() - self.began.rd.data.val();
        self.a_waits.d.next =
            (self.waits.q.val() >> self.clocks.q.val().get_bits::<5>(1)).get_bit(0);
        self.a_late.d.next = (self.late.q.val() >> self.clocks.q.val().get_bits::<5>(1)).get_bit(0);
        self.b_slot.d.next = self.a_slot.q.val();
        self.b_over.d.next = self.clocks.q.val().get_bit(0)
            & self.cfg_timeout.val().any()
            & (self.a_age.q.val() > bit_cast::<17, 16>(self.cfg_timeout.val()))
            & self.a_waits.q.val();
        // Half the age against the timeout: more than twice, and a tick at most later than that.
        self.half_age.next = self.a_age.q.val().get_bits::<16>(1);
        self.b_old.d.next = self.clocks.q.val().get_bit(0)
            & ((self.cfg_timeout.val().any() & (self.half_age.val() > self.cfg_timeout.val()))
                | self.a_age.q.val().all())
            & self.a_late.q.val();
        self.tmo_valid.next = self.b_over.q.val();
        self.tmo_slot.next = self.b_slot.q.val();

        // A tag that is taken waits from the next clock but one on.
        self.t_valid.d.next = self.take.val();
        self.t_slot.d.next = self.turn.q.val();
        self.take_mask.next = 0.into();
        if self.t_valid.q.val() {
            self.take_mask.next = self.one.val() << self.t_slot.q.val();
        }
        self.give_mask.next = 0.into();
        if self.give_valid.val() {
            self.give_mask.next = self.one.val() << self.give_slot.val();
        }
        self.tmo_mask.next = 0.into();
        if self.b_over.q.val() {
            self.tmo_mask.next = (self.one.val() << self.b_slot.q.val()) & self.waits.q.val();
        }
        self.old_mask.next = 0.into();
        if self.b_old.q.val() {
            self.old_mask.next = self.one.val() << self.b_slot.q.val();
        }
        self.end_mask.next = 0.into();
        if self.end_valid.val() {
            self.end_mask.next = self.one.val() << self.end_slot.val();
        }
        self.done_mask.next = 0.into();
        if self.end_done.val() {
            self.done_mask.next = self.end_mask.val();
        }
        self.failed_mask.next = self.tmo_mask.val();
        if self.end_failed.val() {
            self.failed_mask.next = self.tmo_mask.val() | self.end_mask.val();
        }
        self.late_mask.next = self.tmo_mask.val();
        if self.end_late.val() {
            self.late_mask.next = self.tmo_mask.val() | self.end_mask.val();
        }
        self.over_mask.next = self.old_mask.val();
        if self.end_over.val() {
            self.over_mask.next = self.old_mask.val() | self.end_mask.val();
        }

        self.waits_next.next = self.waits.q.val() & !self.done_mask.val() & !self.tmo_mask.val();
        self.late_next.next = (self.late.q.val() | self.late_mask.val()) & !self.over_mask.val();
        self.waits.d.next = self.waits_next.val() | self.take_mask.val();
        self.late.d.next = self.late_next.val();
        self.failed.d.next = (self.failed.q.val() | self.failed_mask.val()) & !self.take_mask.val();
        self.busy.d.next = (self.busy.q.val() & !self.give_mask.val()) | self.take_mask.val();

        self.look_waits.next = (self.waits.q.val() >> self.look_slot.val()).get_bit(0);
        self.look_late.next = (self.late.q.val() >> self.look_slot.val()).get_bit(0);
        self.want_done.next = !(self.waits.q.val() >> self.want_slot.val()).get_bit(0);
        self.want_failed.next = (self.failed.q.val() >> self.want_slot.val()).get_bit(0);

        if self.flr.val() {
            self.waits.d.next = 0.into();
            // The TLP of what was just taken may go out in this clock.
            self.late.d.next = self.late_next.val() | self.waits_next.val() | self.take_mask.val();
            self.busy.d.next = 0.into();
            self.free.d.next = false;
            self.known.d.next = false;
        }
    }
}
