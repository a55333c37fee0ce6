//! When the interrupts of completion rings leave.

use crate::blocks::AsyncRam;
use crate::prelude::*;

hdl_module! {
    /// Interrupts of 8 vectors, each at most one in cfg_moderation clocks, counted from one taken to the next offered.
    /// One that is due waits; several due ones of a vector are one. Vectors are looked at in turns, one a clock, so
    /// an interrupt that need not wait is offered within 10 clocks if no other is, and one that must wait is late by
    /// at most 16 clocks and one for each interrupt taken meanwhile. Nothing is offered for 8 clocks after reset.
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
        /// An interrupt.
        pub m_valid: Signal<Out, Bit>,
        /// Taken.
        pub m_ready: Signal<In, Bit>,
        /// Its vector.
        pub m_vector: Signal<Out, Bits<3>>,

        /// A bit per vector: an interrupt is due.
        due: DFF<Bits<8>>,
        /// Clocks for which each vector still has to wait, and 7 as the first look comes early by up to that.
        waits: AsyncRam<17, 3>,
        /// Vectors whose wait has been cleared since reset.
        clear: DFF<Bits<4>>,
        /// Vector looked at.
        visit: DFF<Bits<3>>,
        wait: Signal<Local, Bits<17>>,
        over: Signal<Local, Bit>,
        taken: Signal<Local, Bit>,
        n_due: Signal<Local, Bits<8>>,
        valid: DFF<Bit>,
        vector: DFF<Bits<3>>,
        one: Param<1, 8>,
    }
}

impl Logic for CardCqModeration {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clk, due, clear, visit, valid, vector);
        self.m_valid.next = self.valid.q.val();
        self.m_vector.next = self.vector.q.val();
        self.taken.next = self.valid.q.val() & self.m_ready.val();

        // The vector looked at has waited 8 clocks more.
        self.waits.clk.next = self.clk.val();
        self.waits.rd_addr.next = self.visit.q.val();
        self.wait.next = self.waits.rd_data.val();
        self.over.next = self.wait.val() <= 8;
        self.waits.wr_en.next = true;
        self.waits.wr_addr.next = self.visit.q.val();
        self.waits.wr_data.next = self.wait.val() - 8;
        if self.over.val() | !self.clear.q.val().get_bit(3) {
            self.waits.wr_data.next = 0.into();
        }
        if !self.clear.q.val().get_bit(3) {
            self.clear.d.next = self.clear.q.val() + 1;
        }
        self.visit.d.next = self.visit.q.val() + 1;
        if self.taken.val() {
            self.valid.d.next = false;
            self.waits.wr_addr.next = self.vector.q.val();
            self.waits.wr_data.next = bit_cast::<17, 16>(self.cfg_moderation.val()) + 7;
            self.visit.d.next = self.visit.q.val();
        }
        self.n_due.next = self.due.q.val();
        if !self.valid.q.val()
            & self.clear.q.val().get_bit(3)
            & self.over.val()
            & ((self.due.q.val() >> self.visit.q.val()) & self.one.val()).any()
        {
            self.valid.d.next = true;
            self.vector.d.next = self.visit.q.val();
            self.n_due.next = self.due.q.val() & !(self.one.val() << self.visit.q.val());
        }
        self.due.d.next = self.n_due.val();
        if self.s_valid.val() {
            self.due.d.next = self.n_due.val() | (self.one.val() << self.s_vector.val());
        }
        if self.rst.val() {
            self.due.d.next = 0.into();
            self.clear.d.next = 0.into();
            self.visit.d.next = 0.into();
            self.valid.d.next = false;
        }
    }

    fn timing(&self) -> Vec<TimingInfo> {
        Self::module_info("card_cq_moderation".to_owned()).into_timing()
    }
}
