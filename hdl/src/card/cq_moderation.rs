//! When the interrupts of completion rings leave.

use crate::blocks::AsyncRam;
use crate::bus::InterruptOut;
use crate::prelude::*;

hdl_record! {
    /// What a vector still has to wait.
    struct Wait {
        /// Clocks, and 15 as the first looks come early by up to that.
        clocks: Bits<17>,
        /// They are 8 or less.
        nearly: Bit,
    }
}

hdl_module! {
    /// Interrupts of 8 vectors, each at most one in cfg_moderation clocks, counted from one taken to
    /// the next offered.
    /// One that is due waits; several due ones of a vector are one. Those that need not wait any more are offered in turns: one
    /// vector is looked at in each clock without an offer, so an interrupt that need not wait is offered within 10 clocks if
    /// no other is, and behind at most one of each other vector, however they are taken. One that must wait is late by at most
    /// 40 clocks without an offer, and two for each interrupt taken meanwhile. Nothing is offered for 8 clocks after reset.
    #[module("card_cq_moderation")]
    pub struct CardCqModeration {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset.
        pub rst: Signal<In, Bit>,
        /// Fewest clocks between two interrupts of a vector.
        pub cfg_moderation: Signal<In, Bits<16>>,
        /// An interrupt is due.
        pub s_valid: Signal<In, Bit>,
        /// Its vector.
        pub s_vector: Signal<In, Bits<3>>,
        /// Interrupts.
        pub m: InterruptOut,

        /// A bit per vector: an interrupt is due.
        #[reset] due: DFF<Bits<8>>,
        /// What each vector still has to wait.
        waits: AsyncRam<{ Wait::BITS }, 3>,
        reads: Signal<Local, Wait>,
        writes: Signal<Local, Wait>,
        /// Vectors whose wait has been cleared since reset.
        #[reset] clear: DFF<Bits<4>>,
        /// Vector looked at.
        #[reset] visit: DFF<Bits<3>>,
        /// Vector in stage 2, and its wait; what is left of it.
        at: DFF<Bits<3>>,
        wait: DFF<Bits<17>>,
        rest: Signal<Local, Bits<17>>,
        /// It is 8 clocks or less; what is left is.
        over: DFF<Bit>,
        nearly: Signal<Local, Bit>,
        taken: Signal<Local, Bit>,
        n_due: Signal<Local, Bits<8>>,
        /// A bit per vector: it has waited.
        #[reset] rested: DFF<Bits<8>>,
        n_rested: Signal<Local, Bits<8>>,
        /// Vector whose turn it is.
        #[reset] turn: DFF<Bits<3>>,
        #[reset] valid: DFF<Bit>,
        vector: DFF<Bits<3>>,
        one: Param<1, 8>,
    }
}

impl Logic for CardCqModeration {
    #[hdl_gen]
    fn update(&mut self) {
        self.m.valid.next = self.valid.q.val();
        self.m.vector.next = self.vector.q.val();
        self.taken.next = self.valid.q.val() & self.m.ready.val();

        // Stage 1: the vector visited. The one in front is still being written back.
        self.waits.rd.addr.next = self.visit.q.val();
        self.visit.d.next = self.visit.q.val() + 1;
        self.at.d.next = self.visit.q.val();

        // Stage 2: it has waited 8 clocks more.
        self.rest.next = self.wait.q.val() - 8;
        if self.over.q.val() | !self.clear.q.val().get_bit(3) {
            self.rest.next = 0.into();
        }
        self.waits.wr.en.next = true;
        self.waits.wr.addr.next = self.at.q.val();
        self.nearly.next = (self.wait.q.val() <= 16) | !self.clear.q.val().get_bit(3);
        self.writes.next = Wait {
            clocks: self.rest.val(),
            nearly: self.nearly.val(),
        };
        self.waits.wr.data.next = self.writes.val().to_bits();
        self.reads.next = self.waits.rd.data.val().into();
        self.wait.d.next = self.reads.val().clocks;
        self.over.d.next = self.reads.val().nearly;
        if self.visit.q.val() == self.at.q.val() {
            self.wait.d.next = self.rest.val();
            self.over.d.next = self.nearly.val();
        }
        if !self.clear.q.val().get_bit(3) {
            self.clear.d.next = self.clear.q.val() + 1;
        }

        // One that is taken is looked at next, and has to wait from now on.
        self.n_rested.next = self.rested.q.val();
        if self.over.q.val() & self.clear.q.val().get_bit(3) {
            self.n_rested.next = self.rested.q.val() | (self.one.val() << self.at.q.val());
        }
        self.rested.d.next = self.n_rested.val();
        if self.taken.val() {
            self.valid.d.next = false;
            self.rested.d.next = self.n_rested.val() & !(self.one.val() << self.vector.q.val());
            self.visit.d.next = self.visit.q.val();
            self.at.d.next = self.vector.q.val();
            self.wait.d.next = bit_cast::<17, 16>(self.cfg_moderation.val()) + 15;
            self.over.d.next = false;
        }

        // Turns stand still while one is offered.
        self.n_due.next = self.due.q.val();
        if !self.valid.q.val() {
            self.turn.d.next = self.turn.q.val() + 1;
            if (((self.due.q.val() & self.rested.q.val()) >> self.turn.q.val()) & self.one.val())
                .any()
            {
                self.valid.d.next = true;
                self.vector.d.next = self.turn.q.val();
                self.n_due.next = self.due.q.val() & !(self.one.val() << self.turn.q.val());
            }
        }
        self.due.d.next = self.n_due.val();
        if self.s_valid.val() {
            self.due.d.next = self.n_due.val() | (self.one.val() << self.s_vector.val());
        }
        if self.rst.val() {
            self.at.d.next = 7.into();
        }
    }
}
