//! What one-sided operations send, between what others send.

use crate::bus::{AckToSendIn, AckToSendOut, PayloadIn, PayloadOut, SendHeaderIn, SendHeaderOut};
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
        /// Requests of the sender.
        pub a_sd: SendHeaderIn,
        /// Their payload.
        pub a_pl: PayloadIn,
        /// An answer of b.
        pub b_sd_valid: Signal<In, Bit>,
        /// Taken.
        pub b_sd_ready: Signal<Out, Bit>,
        /// Destination node.
        pub b_sd_node: Signal<In, Bits<20>>,
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
        /// Requests and answers.
        pub m_sd: SendHeaderOut,
        /// Their payload.
        pub m_pl: PayloadOut,
        /// Acknowledgements of the receiver.
        pub a_ak: AckToSendIn,
        /// An acknowledgement of b.
        pub b_ak_valid: Signal<In, Bit>,
        /// Taken.
        pub b_ak_ready: Signal<Out, Bit>,
        /// Destination node.
        pub b_ak_node: Signal<In, Bits<20>>,
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
        /// The request came marked.
        pub b_ak_marked: Signal<In, Bit>,
        /// All acknowledgements.
        pub m_ak: AckToSendOut,

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
        self.m_sd.valid.next = self.a_sd.valid.val() & self.room.val();
        self.a_sd.ready.next = self.m_sd.ready.val() & !self.sd_turn.q.val() & self.room.val();
        self.b_sd_ready.next = self.m_sd.ready.val() & self.sd_turn.q.val() & self.room.val();
        self.m_sd.of.next = self.a_sd.of.val();
        if self.sd_turn.q.val() {
            self.m_sd.valid.next = self.b_sd_valid.val() & self.room.val();
            self.m_sd.of.next.node = self.b_sd_node.val();
            self.m_sd.of.next.peer = self.b_sd_peer.val();
            self.m_sd.of.next.psn = self.b_sd_psn.val();
            self.m_sd.of.next.q_key = self.b_sd_q_key.val();
            self.m_sd.of.next.src = self.b_sd_src.val();
            self.m_sd.of.next.vf = self.one_sided.val();
            self.m_sd.of.next.win_id = self.b_sd_win_id.val();
            self.m_sd.of.next.epoch = self.b_sd_epoch.val();
            self.m_sd.of.next.msn = self.b_sd_msn.val();
            self.m_sd.of.next.head = self.b_sd_head.val();
            self.m_sd.of.next.head_len = self.header.val();
            self.m_sd.of.next.len = self.b_sd_len.val();
            self.sd_turn.d.next = !(self.m_sd.ready.val() & self.room.val());
        } else if self.b_sd_valid.val()
            & ((self.m_sd.ready.val() & self.room.val()) | !self.a_sd.valid.val())
        {
            self.sd_turn.d.next = true;
        }

        // Payload, in their order.
        self.taken.d.next =
            self.m_sd.valid.val() & self.m_sd.ready.val() & self.m_sd.of.val().len.any();
        self.taken_b.d.next = self.sd_turn.q.val();
        self.m_pl.valid.next = self.a_pl.valid.val() & self.now.q.val();
        self.a_pl.ready.next = self.m_pl.ready.val() & self.now.q.val() & !self.now_b.q.val();
        self.b_pl_ready.next = self.m_pl.ready.val() & self.now.q.val() & self.now_b.q.val();
        self.m_pl.of.next = self.a_pl.of.val();
        if self.now_b.q.val() {
            self.m_pl.valid.next = self.b_pl_valid.val() & self.now.q.val();
            self.m_pl.of.next.data = self.b_pl_data.val();
            self.m_pl.of.next.bytes = self.b_pl_bytes.val();
            self.m_pl.of.next.last = self.b_pl_last.val();
            self.m_pl.of.next.error = false;
        }
        self.ended.next = self.m_pl.valid.val() & self.m_pl.ready.val() & self.m_pl.of.val().last;
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
        self.m_ak.valid.next = self.a_ak.valid.val();
        self.a_ak.ready.next = self.m_ak.ready.val() & !self.ak_turn.q.val();
        self.b_ak_ready.next = self.m_ak.ready.val() & self.ak_turn.q.val();
        self.m_ak.of.next = self.a_ak.of.val();
        if self.ak_turn.q.val() {
            self.m_ak.valid.next = self.b_ak_valid.val();
            self.m_ak.of.next.node = self.b_ak_node.val();
            self.m_ak.of.next.peer = self.b_ak_peer.val();
            self.m_ak.of.next.psn = self.b_ak_psn.val();
            self.m_ak.of.next.syndrome = self.b_ak_syndrome.val();
            self.m_ak.of.next.echo = true;
            self.m_ak.of.next.win_id = self.b_ak_win_id.val();
            self.m_ak.of.next.epoch = self.b_ak_epoch.val();
            self.m_ak.of.next.msn = self.b_ak_msn.val();
            self.m_ak.of.next.vf = self.one_sided.val();
            self.m_ak.of.next.src = self.b_ak_src.val();
            self.m_ak.of.next.marked = self.b_ak_marked.val();
            self.ak_turn.d.next = !self.m_ak.ready.val();
        } else if self.b_ak_valid.val() & (self.m_ak.ready.val() | !self.a_ak.valid.val()) {
            self.ak_turn.d.next = true;
        }
    }
}
