//! Round-robin arbiter.

use super::PriorityEncoder;
use crate::prelude::*;

hdl_module! {
    /// Round-robin arbiter over N requests: the port after the one granted last is
    /// first in line, and no slot goes unused while a port requests.
    /// Latency: 1 clock from req to the grant, one grant per clock. The grant is a
    /// register and stands until m_ready takes it. While a port's grant is up, its
    /// req asks for another grant after that one, so a port with a single item lowers it.
    #[module("arbiter_round_robin_n{N}")]
    pub struct RoundRobinArbiter<const N: usize, const B: usize> {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset: no grant, port 0 first in line.
        pub rst: Signal<In, Bit>,
        /// A bit per port: the port asks for a grant.
        pub req: Signal<In, Bits<N>>,
        /// A grant stands.
        pub m_valid: Signal<Out, Bit>,
        /// The grant is used up.
        pub m_ready: Signal<In, Bit>,
        /// The granted port, one-hot; zero while no grant stands.
        pub grant: Signal<Out, Bits<N>>,
        /// The granted port's number; meaningful while a grant stands.
        pub index: Signal<Out, Bits<B>>,
        /// Finds the first requesting port after the one granted last.
        after: PriorityEncoder<N, B>,
        /// Finds the first requesting port of all.
        all: PriorityEncoder<N, B>,
        /// A grant stands.
        #[reset] valid: DFF<Bit>,
        /// The granted port, one-hot.
        #[reset] granted: DFF<Bits<N>>,
        /// The granted port's number.
        number: DFF<Bits<B>>,
        /// The ports after the one granted last.
        #[reset] above: DFF<Bits<N>>,
        /// The port that is granted next.
        pick: Signal<Local, Bits<B>>,
    }
}

impl<const N: usize, const B: usize> Logic for RoundRobinArbiter<N, B> {
    #[hdl_gen]
    fn update(&mut self) {
        self.m_valid.next = self.valid.q.val();
        self.grant.next = self.granted.q.val();
        self.index.next = self.number.q.val();
        self.after.req.next = self.req.val() & self.above.q.val();
        self.all.req.next = self.req.val();
        self.pick.next = self.after.index.val();
        if self.after.none.val() {
            self.pick.next = self.all.index.val();
        }
        if self.m_ready.val() | !self.valid.q.val() {
            self.valid.d.next = !self.all.none.val();
            self.granted.d.next = 0.into();
            if !self.all.none.val() {
                self.granted.d.next = bits::<N>(1) << self.pick.val();
                self.number.d.next = self.pick.val();
                self.above.d.next = (!bits::<N>(1)) << self.pick.val();
            }
        }
    }
}
