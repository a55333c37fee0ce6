//! What one-sided operations send, between what others send.

use crate::prelude::*;
use tributary_protocol::xud::onesided::HEADER_LEN;
use tributary_protocol::xud::wire::ONE_SIDED_FRAME;

hdl_module! {
    /// In front of xud_tx: requests and answers, a_sd_* of card_send_queue and b_sd_* of
    /// card_onesided, with the payload of each behind it; acknowledgements, a_ak_* of card_recv and
    /// b_ak_* of card_onesided. What is offered stays until it is taken; then b is next if it waits,
    /// and a behind it.
    /// Latency: none of a; 1 clock more of b. Stages: none; only whose turn it is and whose payload comes is kept.
    #[module("card_send_merge")]
    pub struct CardSendMerge {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset.
        pub rst: Signal<In, Bit>,
        /// A request of a.
        pub a_sd_valid: Signal<In, Bit>,
        /// Taken.
        pub a_sd_ready: Signal<Out, Bit>,
        /// Destination node.
        pub a_sd_node: Signal<In, Bits<16>>,
        /// Destination queue pair.
        pub a_sd_peer: Signal<In, Bits<24>>,
        /// PSN.
        pub a_sd_psn: Signal<In, Bits<24>>,
        /// Q_Key.
        pub a_sd_q_key: Signal<In, Bits<32>>,
        /// Source queue pair.
        pub a_sd_src: Signal<In, Bits<24>>,
        /// Version and flags of the XUDETH.
        pub a_sd_vf: Signal<In, Bits<8>>,
        /// Window.
        pub a_sd_win_id: Signal<In, Bits<16>>,
        /// Epoch.
        pub a_sd_epoch: Signal<In, Bits<16>>,
        /// Number in the window.
        pub a_sd_msn: Signal<In, Bits<32>>,
        /// Bytes in front of the payload, first in bits 7:0.
        pub a_sd_head: Signal<In, Bits<128>>,
        /// How many of them count.
        pub a_sd_head_len: Signal<In, Bits<5>>,
        /// Bytes of payload.
        pub a_sd_len: Signal<In, Bits<13>>,
        /// A word of its payload.
        pub a_pl_valid: Signal<In, Bit>,
        /// Taken.
        pub a_pl_ready: Signal<Out, Bit>,
        /// The word.
        pub a_pl_data: Signal<In, Bits<64>>,
        /// Bytes in it, less one.
        pub a_pl_bytes: Signal<In, Bits<3>>,
        /// Last of its request.
        pub a_pl_last: Signal<In, Bit>,
        /// With the last: the read failed.
        pub a_pl_error: Signal<In, Bit>,
        /// An answer of b.
        pub b_sd_valid: Signal<In, Bit>,
        /// Taken.
        pub b_sd_ready: Signal<Out, Bit>,
        /// Destination node.
        pub b_sd_node: Signal<In, Bits<16>>,
        /// Destination queue pair.
        pub b_sd_peer: Signal<In, Bits<24>>,
        /// PSN.
        pub b_sd_psn: Signal<In, Bits<24>>,
        /// Q_Key.
        pub b_sd_q_key: Signal<In, Bits<32>>,
        /// Source queue pair.
        pub b_sd_src: Signal<In, Bits<24>>,
        /// Window.
        pub b_sd_win_id: Signal<In, Bits<16>>,
        /// Epoch.
        pub b_sd_epoch: Signal<In, Bits<16>>,
        /// Number in the window.
        pub b_sd_msn: Signal<In, Bits<32>>,
        /// Bytes in front of the payload, first in bits 7:0.
        pub b_sd_head: Signal<In, Bits<128>>,
        /// Bytes of payload.
        pub b_sd_len: Signal<In, Bits<13>>,
        /// A word of its payload.
        pub b_pl_valid: Signal<In, Bit>,
        /// Taken.
        pub b_pl_ready: Signal<Out, Bit>,
        /// The word.
        pub b_pl_data: Signal<In, Bits<64>>,
        /// Bytes in it, less one.
        pub b_pl_bytes: Signal<In, Bits<3>>,
        /// Last of its request.
        pub b_pl_last: Signal<In, Bit>,
        /// A request or answer.
        pub m_sd_valid: Signal<Out, Bit>,
        /// Taken.
        pub m_sd_ready: Signal<In, Bit>,
        /// Destination node.
        pub m_sd_node: Signal<Out, Bits<16>>,
        /// Destination queue pair.
        pub m_sd_peer: Signal<Out, Bits<24>>,
        /// PSN.
        pub m_sd_psn: Signal<Out, Bits<24>>,
        /// Q_Key.
        pub m_sd_q_key: Signal<Out, Bits<32>>,
        /// Source queue pair.
        pub m_sd_src: Signal<Out, Bits<24>>,
        /// Version and flags of the XUDETH.
        pub m_sd_vf: Signal<Out, Bits<8>>,
        /// Window.
        pub m_sd_win_id: Signal<Out, Bits<16>>,
        /// Epoch.
        pub m_sd_epoch: Signal<Out, Bits<16>>,
        /// Number in the window.
        pub m_sd_msn: Signal<Out, Bits<32>>,
        /// Bytes in front of the payload, first in bits 7:0.
        pub m_sd_head: Signal<Out, Bits<128>>,
        /// How many of them count.
        pub m_sd_head_len: Signal<Out, Bits<5>>,
        /// Bytes of payload.
        pub m_sd_len: Signal<Out, Bits<13>>,
        /// A word of its payload.
        pub m_pl_valid: Signal<Out, Bit>,
        /// Taken.
        pub m_pl_ready: Signal<In, Bit>,
        /// The word.
        pub m_pl_data: Signal<Out, Bits<64>>,
        /// Bytes in it, less one.
        pub m_pl_bytes: Signal<Out, Bits<3>>,
        /// Last of its request.
        pub m_pl_last: Signal<Out, Bit>,
        /// With the last: the read failed.
        pub m_pl_error: Signal<Out, Bit>,
        /// An acknowledgement of a.
        pub a_ak_valid: Signal<In, Bit>,
        /// Taken.
        pub a_ak_ready: Signal<Out, Bit>,
        /// Destination node.
        pub a_ak_node: Signal<In, Bits<16>>,
        /// Destination queue pair.
        pub a_ak_peer: Signal<In, Bits<24>>,
        /// PSN of the request.
        pub a_ak_psn: Signal<In, Bits<24>>,
        /// What it says.
        pub a_ak_syndrome: Signal<In, Bits<8>>,
        /// It has the fields from here on.
        pub a_ak_echo: Signal<In, Bit>,
        /// Window.
        pub a_ak_win_id: Signal<In, Bits<16>>,
        /// Epoch.
        pub a_ak_epoch: Signal<In, Bits<16>>,
        /// Number in the window.
        pub a_ak_msn: Signal<In, Bits<32>>,
        /// Version and flags of the request.
        pub a_ak_vf: Signal<In, Bits<8>>,
        /// The queue pair that answers.
        pub a_ak_src: Signal<In, Bits<24>>,
        /// An acknowledgement of b.
        pub b_ak_valid: Signal<In, Bit>,
        /// Taken.
        pub b_ak_ready: Signal<Out, Bit>,
        /// Destination node.
        pub b_ak_node: Signal<In, Bits<16>>,
        /// Destination queue pair.
        pub b_ak_peer: Signal<In, Bits<24>>,
        /// PSN of the request.
        pub b_ak_psn: Signal<In, Bits<24>>,
        /// What it says.
        pub b_ak_syndrome: Signal<In, Bits<8>>,
        /// Window.
        pub b_ak_win_id: Signal<In, Bits<16>>,
        /// Epoch.
        pub b_ak_epoch: Signal<In, Bits<16>>,
        /// Number in the window.
        pub b_ak_msn: Signal<In, Bits<32>>,
        /// The queue pair that answers.
        pub b_ak_src: Signal<In, Bits<24>>,
        /// An acknowledgement.
        pub m_ak_valid: Signal<Out, Bit>,
        /// Taken.
        pub m_ak_ready: Signal<In, Bit>,
        /// Destination node.
        pub m_ak_node: Signal<Out, Bits<16>>,
        /// Destination queue pair.
        pub m_ak_peer: Signal<Out, Bits<24>>,
        /// PSN of the request.
        pub m_ak_psn: Signal<Out, Bits<24>>,
        /// What it says.
        pub m_ak_syndrome: Signal<Out, Bits<8>>,
        /// It has the fields from here on.
        pub m_ak_echo: Signal<Out, Bit>,
        /// Window.
        pub m_ak_win_id: Signal<Out, Bits<16>>,
        /// Epoch.
        pub m_ak_epoch: Signal<Out, Bits<16>>,
        /// Number in the window.
        pub m_ak_msn: Signal<Out, Bits<32>>,
        /// Version and flags of the request.
        pub m_ak_vf: Signal<Out, Bits<8>>,
        /// The queue pair that answers.
        pub m_ak_src: Signal<Out, Bits<24>>,

        /// b has its turn: of requests and answers, of acknowledgements.
        #[reset] sd_turn: DFF<Bit>,
        #[reset] ak_turn: DFF<Bit>,
        /// A request with payload was taken one clock ago; it is of b.
        #[reset] taken: DFF<Bit>,
        taken_b: DFF<Bit>,
        /// Whose payload comes now, whose next: there is one, it is of b. xud_tx takes a request
        /// before the payload of another has ended, but not two.
        #[reset] now: DFF<Bit>,
        now_b: DFF<Bit>,
        #[reset] next: DFF<Bit>,
        next_b: DFF<Bit>,
        room: Signal<Local, Bit>,
        ended: Signal<Local, Bit>,
        /// Version and flags of b's frames.
        one_sided: Param<{ ONE_SIDED_FRAME as usize }, 8>,
        /// Bytes of the header in front of an answer.
        header: Param<HEADER_LEN, 5>,
    }
}

impl Logic for CardSendMerge {
    #[hdl_gen]
    fn update(&mut self) {
        // Requests and answers.
        self.room.next = !self.taken.q.val() & !self.next.q.val();
        self.m_sd_valid.next = self.a_sd_valid.val() & self.room.val();
        self.a_sd_ready.next = self.m_sd_ready.val() & !self.sd_turn.q.val() & self.room.val();
        self.b_sd_ready.next = self.m_sd_ready.val() & self.sd_turn.q.val() & self.room.val();
        self.m_sd_node.next = self.a_sd_node.val();
        self.m_sd_peer.next = self.a_sd_peer.val();
        self.m_sd_psn.next = self.a_sd_psn.val();
        self.m_sd_q_key.next = self.a_sd_q_key.val();
        self.m_sd_src.next = self.a_sd_src.val();
        self.m_sd_vf.next = self.a_sd_vf.val();
        self.m_sd_win_id.next = self.a_sd_win_id.val();
        self.m_sd_epoch.next = self.a_sd_epoch.val();
        self.m_sd_msn.next = self.a_sd_msn.val();
        self.m_sd_head.next = self.a_sd_head.val();
        self.m_sd_head_len.next = self.a_sd_head_len.val();
        self.m_sd_len.next = self.a_sd_len.val();
        if self.sd_turn.q.val() {
            self.m_sd_valid.next = self.b_sd_valid.val() & self.room.val();
            self.m_sd_node.next = self.b_sd_node.val();
            self.m_sd_peer.next = self.b_sd_peer.val();
            self.m_sd_psn.next = self.b_sd_psn.val();
            self.m_sd_q_key.next = self.b_sd_q_key.val();
            self.m_sd_src.next = self.b_sd_src.val();
            self.m_sd_vf.next = self.one_sided.val();
            self.m_sd_win_id.next = self.b_sd_win_id.val();
            self.m_sd_epoch.next = self.b_sd_epoch.val();
            self.m_sd_msn.next = self.b_sd_msn.val();
            self.m_sd_head.next = self.b_sd_head.val();
            self.m_sd_head_len.next = self.header.val();
            self.m_sd_len.next = self.b_sd_len.val();
            self.sd_turn.d.next = !(self.m_sd_ready.val() & self.room.val());
        } else if self.b_sd_valid.val()
            & ((self.m_sd_ready.val() & self.room.val()) | !self.a_sd_valid.val())
        {
            self.sd_turn.d.next = true;
        }

        // Payload, in their order.
        self.taken.d.next =
            self.m_sd_valid.val() & self.m_sd_ready.val() & self.m_sd_len.val().any();
        self.taken_b.d.next = self.sd_turn.q.val();
        self.m_pl_valid.next = self.a_pl_valid.val() & self.now.q.val();
        self.a_pl_ready.next = self.m_pl_ready.val() & self.now.q.val() & !self.now_b.q.val();
        self.b_pl_ready.next = self.m_pl_ready.val() & self.now.q.val() & self.now_b.q.val();
        self.m_pl_data.next = self.a_pl_data.val();
        self.m_pl_bytes.next = self.a_pl_bytes.val();
        self.m_pl_last.next = self.a_pl_last.val();
        self.m_pl_error.next = self.a_pl_error.val();
        if self.now_b.q.val() {
            self.m_pl_valid.next = self.b_pl_valid.val() & self.now.q.val();
            self.m_pl_data.next = self.b_pl_data.val();
            self.m_pl_bytes.next = self.b_pl_bytes.val();
            self.m_pl_last.next = self.b_pl_last.val();
            self.m_pl_error.next = false;
        }
        self.ended.next = self.m_pl_valid.val() & self.m_pl_ready.val() & self.m_pl_last.val();
        self.now.d.next =
            self.taken.q.val() | self.next.q.val() | (self.now.q.val() & !self.ended.val());
        self.next.d.next =
            !self.ended.val() & (self.next.q.val() | (self.taken.q.val() & self.now.q.val()));
        if self.ended.val() | !self.now.q.val() {
            self.now_b.d.next = self.taken_b.q.val();
            if self.next.q.val() {
                self.now_b.d.next = self.next_b.q.val();
            }
        }
        if !self.next.q.val() {
            self.next_b.d.next = self.taken_b.q.val();
        }

        // Acknowledgements.
        self.m_ak_valid.next = self.a_ak_valid.val();
        self.a_ak_ready.next = self.m_ak_ready.val() & !self.ak_turn.q.val();
        self.b_ak_ready.next = self.m_ak_ready.val() & self.ak_turn.q.val();
        self.m_ak_node.next = self.a_ak_node.val();
        self.m_ak_peer.next = self.a_ak_peer.val();
        self.m_ak_psn.next = self.a_ak_psn.val();
        self.m_ak_syndrome.next = self.a_ak_syndrome.val();
        self.m_ak_echo.next = self.a_ak_echo.val();
        self.m_ak_win_id.next = self.a_ak_win_id.val();
        self.m_ak_epoch.next = self.a_ak_epoch.val();
        self.m_ak_msn.next = self.a_ak_msn.val();
        self.m_ak_vf.next = self.a_ak_vf.val();
        self.m_ak_src.next = self.a_ak_src.val();
        if self.ak_turn.q.val() {
            self.m_ak_valid.next = self.b_ak_valid.val();
            self.m_ak_node.next = self.b_ak_node.val();
            self.m_ak_peer.next = self.b_ak_peer.val();
            self.m_ak_psn.next = self.b_ak_psn.val();
            self.m_ak_syndrome.next = self.b_ak_syndrome.val();
            self.m_ak_echo.next = true;
            self.m_ak_win_id.next = self.b_ak_win_id.val();
            self.m_ak_epoch.next = self.b_ak_epoch.val();
            self.m_ak_msn.next = self.b_ak_msn.val();
            self.m_ak_vf.next = self.one_sided.val();
            self.m_ak_src.next = self.b_ak_src.val();
            self.ak_turn.d.next = !self.m_ak_ready.val();
        } else if self.b_ak_valid.val() & (self.m_ak_ready.val() | !self.a_ak_valid.val()) {
            self.ak_turn.d.next = true;
        }
    }
}
