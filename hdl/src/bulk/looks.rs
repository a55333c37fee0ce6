//! Two who look up regions at one port.

use crate::bus::{AccessOfOthers, LookupRightsIn, LookupRightsOut, VerdictIn, VerdictOut};
use crate::prelude::*;

hdl_module! {
    /// Lets a and b look up regions at one port, one look at a time, b first where both wait. Each of them has one look under
    /// way at most, so neither waits for more than one of the other.
    /// Latency: 1 clock to the port, none back; 7 more while the other one looks.
    /// Stages: 1 the access. Nothing stalls it.
    #[module("bulk_looks")]
    pub struct BulkLooks {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset, with the regions.
        pub rst: Signal<In, Bit>,
        /// Looks of a.
        pub a: LookupRightsIn,
        /// Their answers.
        pub a_m: VerdictOut,
        /// Looks of b.
        pub b: LookupRightsIn,
        /// Their answers.
        pub b_m: VerdictOut,
        /// All looks.
        pub m_look: LookupRightsOut,
        /// Their answers.
        pub s_look: VerdictIn,

        #[reset] a_waits: DFF<Bit>,
        #[reset] b_waits: DFF<Bit>,
        a_of: DFF<AccessOfOthers>,
        b_of: DFF<AccessOfOthers>,
        /// A look is under way; it is of b.
        #[reset] busy: DFF<Bit>,
        of_b: DFF<Bit>,
        begins: Signal<Local, Bit>,
    }
}

impl Logic for BulkLooks {
    #[hdl_gen]
    fn update(&mut self) {
        self.begins.next = !self.busy.q.val() & (self.a_waits.q.val() | self.b_waits.q.val());
        self.a_waits.d.next = self.a.valid.val()
            | (self.a_waits.q.val() & !(self.begins.val() & !self.b_waits.q.val()));
        self.b_waits.d.next = self.b.valid.val() | (self.b_waits.q.val() & !self.begins.val());
        if self.a.valid.val() {
            self.a_of.d.next = self.a.of.val();
        }
        if self.b.valid.val() {
            self.b_of.d.next = self.b.of.val();
        }
        self.m_look.valid.next = self.begins.val();
        self.m_look.of.next = self.a_of.q.val();
        if self.b_waits.q.val() {
            self.m_look.of.next = self.b_of.q.val();
        }
        if self.begins.val() {
            self.of_b.d.next = self.b_waits.q.val();
        }
        self.busy.d.next = self.begins.val() | (self.busy.q.val() & !self.s_look.valid.val());
        self.a_m.valid.next = self.busy.q.val() & self.s_look.valid.val() & !self.of_b.q.val();
        self.a_m.ok.next = self.s_look.ok.val();
        self.b_m.valid.next = self.busy.q.val() & self.s_look.valid.val() & self.of_b.q.val();
        self.b_m.ok.next = self.s_look.ok.val();
    }
}
