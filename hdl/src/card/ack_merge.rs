//! Answers among acknowledgements.

use crate::prelude::*;
use tributary_protocol::xud::wire::ONE_SIDED;

hdl_module! {
    /// In front of the port ack of xud_inflight: acknowledgements of xud_rx, and claims and ends of
    /// card_onesided, which come first: they have one at a time.
    /// Latency: none. Stages: none.
    #[module("card_ack_merge")]
    pub struct CardAckMerge {
        /// An acknowledgement.
        pub a_valid: Signal<In, Bit>,
        /// Taken.
        pub a_ready: Signal<Out, Bit>,
        /// Source node.
        pub a_node: Signal<In, Bits<16>>,
        /// Queue pair of the request.
        pub a_qpn: Signal<In, Bits<24>>,
        /// Packet number of the request.
        pub a_psn: Signal<In, Bits<24>>,
        /// Outcome.
        pub a_outcome: Signal<In, Bits<8>>,
        /// It has the fields from here on.
        pub a_echo: Signal<In, Bit>,
        /// Window of the request.
        pub a_win_id: Signal<In, Bits<16>>,
        /// Its epoch.
        pub a_epoch: Signal<In, Bits<16>>,
        /// Its number in the window.
        pub a_msn: Signal<In, Bits<32>>,
        /// Its flags.
        pub a_flags: Signal<In, Bits<4>>,
        /// The queue pair that answers.
        pub a_peer: Signal<In, Bits<24>>,
        /// A claim or an end.
        pub b_valid: Signal<In, Bit>,
        /// Taken.
        pub b_ready: Signal<Out, Bit>,
        /// Source node.
        pub b_node: Signal<In, Bits<16>>,
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
        /// Any of these.
        pub m_valid: Signal<Out, Bit>,
        /// Taken.
        pub m_ready: Signal<In, Bit>,
        /// Source node.
        pub m_node: Signal<Out, Bits<16>>,
        /// Queue pair of the request.
        pub m_qpn: Signal<Out, Bits<24>>,
        /// Packet number of the request.
        pub m_psn: Signal<Out, Bits<24>>,
        /// Outcome.
        pub m_outcome: Signal<Out, Bits<8>>,
        /// It has the fields from here on.
        pub m_echo: Signal<Out, Bit>,
        /// Window of the request.
        pub m_win_id: Signal<Out, Bits<16>>,
        /// Its epoch.
        pub m_epoch: Signal<Out, Bits<16>>,
        /// Its number in the window.
        pub m_msn: Signal<Out, Bits<32>>,
        /// Its flags.
        pub m_flags: Signal<Out, Bits<4>>,
        /// The queue pair that answers.
        pub m_peer: Signal<Out, Bits<24>>,
        /// It claims its request.
        pub m_claim: Signal<Out, Bit>,
        /// It ends what is claimed.
        pub m_end: Signal<Out, Bit>,

        /// Flags of b's requests.
        one_sided: Param<{ ONE_SIDED as usize }, 4>,
    }
}

impl Logic for CardAckMerge {
    #[hdl_gen]
    fn update(&mut self) {
        self.m_valid.next = self.a_valid.val() | self.b_valid.val();
        self.a_ready.next = self.m_ready.val() & !self.b_valid.val();
        self.b_ready.next = self.m_ready.val();
        self.m_claim.next = self.b_valid.val() & !self.b_end.val();
        self.m_end.next = self.b_valid.val() & self.b_end.val();
        self.m_node.next = self.a_node.val();
        self.m_qpn.next = self.a_qpn.val();
        self.m_psn.next = self.a_psn.val();
        self.m_outcome.next = self.a_outcome.val();
        self.m_echo.next = self.a_echo.val();
        self.m_win_id.next = self.a_win_id.val();
        self.m_epoch.next = self.a_epoch.val();
        self.m_msn.next = self.a_msn.val();
        self.m_flags.next = self.a_flags.val();
        self.m_peer.next = self.a_peer.val();
        if self.b_valid.val() {
            self.m_node.next = self.b_node.val();
            self.m_qpn.next = self.b_qpn.val();
            self.m_psn.next = self.b_psn.val();
            self.m_outcome.next = self.b_outcome.val();
            self.m_echo.next = true;
            self.m_win_id.next = self.b_win_id.val();
            self.m_epoch.next = self.b_epoch.val();
            self.m_msn.next = self.b_msn.val();
            self.m_flags.next = self.one_sided.val();
            self.m_peer.next = self.b_peer.val();
        }
    }
}
