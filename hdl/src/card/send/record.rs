//! What a work request becomes.

use crate::prelude::*;

/// What comes next of the work request.
#[derive(Copy, Clone, PartialEq, Debug, LogicState)]
pub enum RecordState {
    Idle,
    Room,
    Set,
    Send,
    Payload,
}

hdl_module! {
    /// Offers a checked work request: m_set_* and then, if it is sent, m_sd_*; its payload read
    /// together with m_set_*. 3 clocks.
    /// Steps: Idle (taken), Room (unless xud_tx has room already, so that the deadline does not run
    /// while it has none), Set, Send, Payload (if its read was not taken so far). A bad work request
    /// has only Set. Nobody else takes the room, and what m_set_* may wait for needs no read: so the
    /// words of the payload never wait for a record that does not come.
    /// While an output is not taken all fields stay as they are: they are loaded in Idle alone.
    #[module("card_send_record_q{}", 1usize << LQ)]
    pub struct CardSendRecord<const LQ: usize> {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset: drops the work request.
        pub rst: Signal<In, Bit>,
        /// A work request.
        pub s_valid: Signal<In, Bit>,
        /// Taken; nothing is under way.
        pub s_ready: Signal<Out, Bit>,
        /// Nothing is known of it but its number, PSN and queue pair.
        pub s_blank: Signal<In, Bit>,
        /// 0: send it. Otherwise how it ends.
        pub s_outcome: Signal<In, Bits<8>>,
        /// Queue pair.
        pub s_qpn: Signal<In, Bits<LQ>>,
        /// PSN.
        pub s_psn: Signal<In, Bits<24>>,
        /// Number in the ring.
        pub s_request: Signal<In, Bits<16>>,
        /// Timeout exponent of the queue pair.
        pub s_timeout: Signal<In, Bits<5>>,
        /// Q_Key of the queue pair.
        pub s_q_key: Signal<In, Bits<32>>,
        /// The user's name for it.
        pub s_wr_id: Signal<In, Bits<64>>,
        /// First byte of the payload behind the head.
        pub s_address: Signal<In, Bits<64>>,
        /// Bytes there.
        pub s_len: Signal<In, Bits<13>>,
        /// Key of their region.
        pub s_key: Signal<In, Bits<32>>,
        /// 1: those of a READ, which are not sent. 2: those of an ATOMIC. Else 0.
        pub s_kind: Signal<In, Bits<2>>,
        /// Node of the destination.
        pub s_node: Signal<In, Bits<20>>,
        /// Queue pair of the destination.
        pub s_peer: Signal<In, Bits<24>>,
        /// Version and flags.
        pub s_vf: Signal<In, Bits<8>>,
        /// Window.
        pub s_win_id: Signal<In, Bits<16>>,
        /// Epoch.
        pub s_epoch: Signal<In, Bits<16>>,
        /// Number in the window.
        pub s_msn: Signal<In, Bits<32>>,
        /// Bytes in front.
        pub s_head: Signal<In, Bits<128>>,
        /// How many.
        pub s_head_len: Signal<In, Bits<5>>,
        /// A place is filled.
        pub m_set_valid: Signal<Out, Bit>,
        /// Taken.
        pub m_set_ready: Signal<In, Bit>,
        /// A request to send.
        pub m_sd_valid: Signal<Out, Bit>,
        /// Taken.
        pub m_sd_ready: Signal<In, Bit>,
        /// Its payload is read: m_len bytes at m_address.
        pub m_pay_valid: Signal<Out, Bit>,
        /// Taken.
        pub m_pay_ready: Signal<In, Bit>,
        /// 0: it is sent. Otherwise how it ends.
        pub m_outcome: Signal<Out, Bits<8>>,
        /// Queue pair.
        pub m_qpn: Signal<Out, Bits<LQ>>,
        /// PSN.
        pub m_psn: Signal<Out, Bits<24>>,
        /// Number in the ring.
        pub m_request: Signal<Out, Bits<16>>,
        /// Timeout exponent.
        pub m_timeout: Signal<Out, Bits<5>>,
        /// Q_Key.
        pub m_q_key: Signal<Out, Bits<32>>,
        /// The user's name for it.
        pub m_wr_id: Signal<Out, Bits<64>>,
        /// First byte of the payload behind the head.
        pub m_address: Signal<Out, Bits<64>>,
        /// Bytes there that are sent.
        pub m_len: Signal<Out, Bits<13>>,
        /// Bytes there.
        pub m_room: Signal<Out, Bits<13>>,
        /// Key of their region.
        pub m_key: Signal<Out, Bits<32>>,
        /// 1: they are answered with what a READ found. 2: with what an ATOMIC did. 0: they are not, or it is not sent.
        pub m_kind: Signal<Out, Bits<2>>,
        /// Node of the destination.
        pub m_node: Signal<Out, Bits<20>>,
        /// Queue pair of the destination.
        pub m_peer: Signal<Out, Bits<24>>,
        /// Version and flags.
        pub m_vf: Signal<Out, Bits<8>>,
        /// Window.
        pub m_win_id: Signal<Out, Bits<16>>,
        /// Epoch.
        pub m_epoch: Signal<Out, Bits<16>>,
        /// Number in the window.
        pub m_msn: Signal<Out, Bits<32>>,
        /// Bytes in front.
        pub m_head: Signal<Out, Bits<128>>,
        /// How many.
        pub m_head_len: Signal<Out, Bits<5>>,
        /// A work request ends here.
        pub ev_local_error: Signal<Out, Bit>,

        state: DFF<RecordState>,
        /// The work request.
        outcome: DFF<Bits<8>>,
        qpn: DFF<Bits<LQ>>,
        psn: DFF<Bits<24>>,
        request: DFF<Bits<16>>,
        timeout: DFF<Bits<5>>,
        q_key: DFF<Bits<32>>,
        wr_id: DFF<Bits<64>>,
        address: DFF<Bits<64>>,
        len: DFF<Bits<13>>,
        room: DFF<Bits<13>>,
        key: DFF<Bits<32>>,
        kind: DFF<Bits<2>>,
        node: DFF<Bits<20>>,
        peer: DFF<Bits<24>>,
        vf: DFF<Bits<8>>,
        win_id: DFF<Bits<16>>,
        epoch: DFF<Bits<16>>,
        msn: DFF<Bits<32>>,
        head: DFF<Bits<128>>,
        head_len: DFF<Bits<5>>,
        #[reset] local_error: DFF<Bit>,
        /// The payload is to be read.
        #[reset] read: DFF<Bit>,
    }
}

impl<const LQ: usize> Logic for CardSendRecord<LQ> {
    #[hdl_gen]
    fn update(&mut self) {
        self.s_ready.next = self.state.q.val() == RecordState::Idle;
        self.local_error.d.next = false;
        if self.m_pay_ready.val() {
            self.read.d.next = false;
        }
        match self.state.q.val() {
            RecordState::Idle => {
                self.outcome.d.next = self.s_outcome.val();
                self.qpn.d.next = self.s_qpn.val();
                self.psn.d.next = self.s_psn.val();
                self.request.d.next = self.s_request.val();
                self.timeout.d.next = self.s_timeout.val();
                self.q_key.d.next = self.s_q_key.val();
                self.wr_id.d.next = self.s_wr_id.val();
                self.address.d.next = self.s_address.val();
                self.len.d.next = self.s_len.val();
                self.room.d.next = self.s_len.val();
                self.key.d.next = self.s_key.val();
                self.kind.d.next = self.s_kind.val();
                if self.s_kind.val().get_bit(0) {
                    self.len.d.next = 0.into();
                }
                if self.s_outcome.val().any() {
                    self.kind.d.next = 0.into();
                }
                self.node.d.next = self.s_node.val();
                self.peer.d.next = self.s_peer.val();
                self.vf.d.next = self.s_vf.val();
                self.win_id.d.next = self.s_win_id.val();
                self.epoch.d.next = self.s_epoch.val();
                self.msn.d.next = self.s_msn.val();
                self.head.d.next = self.s_head.val();
                self.head_len.d.next = self.s_head_len.val();
                if self.s_blank.val() {
                    self.wr_id.d.next = 0.into();
                    self.node.d.next = 0.into();
                    self.peer.d.next = 0.into();
                    self.vf.d.next = 0.into();
                    self.win_id.d.next = 0.into();
                    self.epoch.d.next = 0.into();
                    self.msn.d.next = 0.into();
                }
                if self.s_valid.val() {
                    self.state.d.next = RecordState::Room;
                    if self.m_sd_ready.val() {
                        self.state.d.next = RecordState::Set;
                        self.read.d.next = self.s_len.val().any() & !self.s_kind.val().get_bit(0);
                    }
                    if self.s_outcome.val().any() {
                        self.local_error.d.next = true;
                        self.read.d.next = false;
                        self.state.d.next = RecordState::Set;
                    }
                }
            }
            RecordState::Room => {
                if self.m_sd_ready.val() {
                    self.state.d.next = RecordState::Set;
                    self.read.d.next = self.len.q.val().any();
                }
            }
            RecordState::Set => {
                if self.m_set_ready.val() {
                    self.state.d.next = RecordState::Send;
                    if self.outcome.q.val().any() {
                        self.state.d.next = RecordState::Idle;
                    }
                }
            }
            RecordState::Send => {
                if self.m_sd_ready.val() {
                    self.state.d.next = RecordState::Idle;
                    if self.read.q.val() & !self.m_pay_ready.val() {
                        self.state.d.next = RecordState::Payload;
                    }
                }
            }
            RecordState::Payload => {
                if self.m_pay_ready.val() {
                    self.state.d.next = RecordState::Idle;
                }
            }
        }
        self.m_set_valid.next = self.state.q.val() == RecordState::Set;
        self.m_sd_valid.next = self.state.q.val() == RecordState::Send;
        self.m_pay_valid.next = self.read.q.val();
        self.m_outcome.next = self.outcome.q.val();
        self.m_qpn.next = self.qpn.q.val();
        self.m_psn.next = self.psn.q.val();
        self.m_request.next = self.request.q.val();
        self.m_timeout.next = self.timeout.q.val();
        self.m_q_key.next = self.q_key.q.val();
        self.m_wr_id.next = self.wr_id.q.val();
        self.m_address.next = self.address.q.val();
        self.m_len.next = self.len.q.val();
        self.m_room.next = self.room.q.val();
        self.m_key.next = self.key.q.val();
        self.m_kind.next = self.kind.q.val();
        self.m_node.next = self.node.q.val();
        self.m_peer.next = self.peer.q.val();
        self.m_vf.next = self.vf.q.val();
        self.m_win_id.next = self.win_id.q.val();
        self.m_epoch.next = self.epoch.q.val();
        self.m_msn.next = self.msn.q.val();
        self.m_head.next = self.head.q.val();
        self.m_head_len.next = self.head_len.q.val();
        self.ev_local_error.next = self.local_error.q.val();
        if self.rst.val() {
            self.state.d.next = RecordState::Idle;
        }
    }
}
