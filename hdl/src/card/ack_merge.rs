//! Answers among acknowledgements.

use crate::bus::{AckOrClaimOut, AckTakenIn};
use crate::prelude::*;
use tributary_protocol::xud::wire::ONE_SIDED;

hdl_module! {
    /// In front of the port ack of xud_inflight: acknowledgements of xud_rx, and claims and ends of
    /// card_onesided, which come first: they have one at a time.
    /// Latency: none. Stages: none.
    /// Nothing is held: an acknowledgement that is offered and not taken gives way to b in the clock in which b comes.
    #[module("card_ack_merge")]
    pub struct CardAckMerge {
        /// Acknowledgements from the line.
        pub a: AckTakenIn,
        /// A claim or an end.
        pub b_valid: Signal<In, Bit>,
        /// Taken.
        pub b_ready: Signal<Out, Bit>,
        /// Source node.
        pub b_node: Signal<In, Bits<20>>,
        /// Queue pair of the request.
        pub b_qpn: Signal<In, Bits<24>>,
        /// Packet number of the request.
        pub b_psn: Signal<In, Bits<24>>,
        /// Outcome.
        pub b_outcome: Signal<In, Bits<8>>,
        /// Window of the request.
        pub b_win_id: Signal<In, Bits<16>>,
        /// Its epoch.
        pub b_epoch: Signal<In, Bits<16>>,
        /// Its number in the window.
        pub b_msn: Signal<In, Bits<32>>,
        /// The queue pair that answers.
        pub b_peer: Signal<In, Bits<24>>,
        /// It is an end.
        pub b_end: Signal<In, Bit>,
        /// Both, for the table of requests in flight.
        pub m: AckOrClaimOut,

        /// Flags of b's requests.
        one_sided: Param<{ ONE_SIDED as usize }, 4>,
    }
}

impl Logic for CardAckMerge {
    #[hdl_gen]
    fn update(&mut self) {
        self.m.valid.next = self.a.valid.val() | self.b_valid.val();
        self.a.ready.next = self.m.ready.val() & !self.b_valid.val();
        self.b_ready.next = self.m.ready.val();
        self.m.claim.next = self.b_valid.val() & !self.b_end.val();
        self.m.end.next = self.b_valid.val() & self.b_end.val();
        self.m.of.next = self.a.of.val();
        if self.b_valid.val() {
            self.m.of.next.node = self.b_node.val();
            self.m.of.next.qpn = self.b_qpn.val();
            self.m.of.next.psn = self.b_psn.val();
            self.m.of.next.outcome = self.b_outcome.val();
            self.m.of.next.echo = true;
            self.m.of.next.win_id = self.b_win_id.val();
            self.m.of.next.epoch = self.b_epoch.val();
            self.m.of.next.msn = self.b_msn.val();
            self.m.of.next.flags = self.one_sided.val();
            self.m.of.next.peer = self.b_peer.val();
            self.m.of.next.marked = false;
        }
    }
}
