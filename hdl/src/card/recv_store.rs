//! What was accepted, on its way to host memory.

use crate::blocks::SkidBuffer;
use crate::bus::{CompletionOut, DmaRequestOut, FramesIn, StreamOut};
use crate::prelude::*;

hdl_module! {
    /// One accepted message: its payload is asked to be written, then its completion is offered. The
    /// request for the payload is accepted by dma_write before the completion is offered to card_cq,
    /// so the completion is ordered behind.
    /// Words of the payload pass as soon as the request that they belong to was accepted, one a clock,
    /// 1 clock late.
    /// Latency: 1 clock from s_valid to m_wr_valid, or to m_rx_valid if there is nothing to write; 1
    /// clock from the handshake of m_wr_* to m_rx_valid.
    /// While a request or a completion is not taken its registers stand still; words of a payload that was accepted
    /// before still pass.
    #[module("card_recv_store_q{}", 1usize << LQ)]
    pub struct CardRecvStore<const LQ: usize> {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset: forgets everything.
        pub rst: Signal<In, Bit>,
        /// A message; pulse, only with s_ready.
        pub s_valid: Signal<In, Bit>,
        /// There is none.
        pub s_ready: Signal<Out, Bit>,
        /// It has a payload to write.
        pub s_writes: Signal<In, Bit>,
        /// Where.
        pub s_addr: Signal<In, Bits<64>>,
        /// Its receive queue pair.
        pub s_qpn: Signal<In, Bits<LQ>>,
        /// Name of its receive request.
        pub s_wr_id: Signal<In, Bits<64>>,
        /// How it ended.
        pub s_status: Signal<In, Bits<8>>,
        /// Version and flags.
        pub s_vf: Signal<In, Bits<8>>,
        /// Bytes.
        pub s_len: Signal<In, Bits<13>>,
        /// From this node.
        pub s_node: Signal<In, Bits<16>>,
        /// From this queue pair.
        pub s_peer: Signal<In, Bits<24>>,
        /// Window.
        pub s_win_id: Signal<In, Bits<16>>,
        /// Epoch.
        pub s_epoch: Signal<In, Bits<16>>,
        /// Number in the window.
        pub s_msn: Signal<In, Bits<32>>,
        /// Q_Key.
        pub s_q_key: Signal<In, Bits<32>>,
        /// PSN.
        pub s_psn: Signal<In, Bits<24>>,
        /// Number of the receive request in its ring.
        pub s_request: Signal<In, Bits<16>>,
        /// Payload.
        pub s_pl: FramesIn<64>,
        /// Writes of payload.
        pub m_wr: DmaRequestOut,
        /// The words of the payload.
        pub m_wd: StreamOut<64>,
        /// Receive requests that have ended.
        pub m_rx: CompletionOut<LQ>,
        /// No message, no payload is under way.
        pub idle: Signal<Out, Bit>,

        /// Payload: word 63:0, last 64.
        words: SkidBuffer<65>,
        /// Payloads whose request was accepted and whose last word has not passed.
        #[reset] open: DFF<Bits<16>>,
        /// There is one.
        #[reset] some: DFF<Bit>,
        accepted: Signal<Local, Bit>,
        ended: Signal<Local, Bit>,
        #[reset] wr_valid: DFF<Bit>,
        #[reset] rx_valid: DFF<Bit>,
        /// The message.
        addr: DFF<Bits<64>>,
        qpn: DFF<Bits<LQ>>,
        wr_id: DFF<Bits<64>>,
        status: DFF<Bits<8>>,
        vf: DFF<Bits<8>>,
        len: DFF<Bits<13>>,
        node: DFF<Bits<16>>,
        peer: DFF<Bits<24>>,
        win_id: DFF<Bits<16>>,
        epoch: DFF<Bits<16>>,
        msn: DFF<Bits<32>>,
        q_key: DFF<Bits<32>>,
        psn: DFF<Bits<24>>,
        request: DFF<Bits<16>>,
    }
}

impl<const LQ: usize> Logic for CardRecvStore<LQ> {
    #[hdl_gen]
    fn update(&mut self) {
        self.s_ready.next = !self.wr_valid.q.val() & !self.rx_valid.q.val();
        self.accepted.next = self.wr_valid.q.val() & self.m_wr.ready.val();
        if self.rx_valid.q.val() & self.m_rx.ready.val() {
            self.rx_valid.d.next = false;
        }
        if self.accepted.val() {
            self.wr_valid.d.next = false;
            self.rx_valid.d.next = true;
        }
        if self.s_valid.val() {
            self.wr_valid.d.next = self.s_writes.val();
            self.rx_valid.d.next = !self.s_writes.val();
        }
        // Whatever is there, until it is a message: so that the enable of many registers is two.
        if self.s_ready.val() {
            self.addr.d.next = self.s_addr.val();
            self.qpn.d.next = self.s_qpn.val();
            self.wr_id.d.next = self.s_wr_id.val();
            self.status.d.next = self.s_status.val();
            self.vf.d.next = self.s_vf.val();
            self.len.d.next = self.s_len.val();
            self.node.d.next = self.s_node.val();
            self.peer.d.next = self.s_peer.val();
            self.win_id.d.next = self.s_win_id.val();
            self.epoch.d.next = self.s_epoch.val();
            self.msn.d.next = self.s_msn.val();
            self.q_key.d.next = self.s_q_key.val();
            self.psn.d.next = self.s_psn.val();
            self.request.d.next = self.s_request.val();
        }
        self.m_wr.valid.next = self.wr_valid.q.val();
        self.m_wr.addr.next = self.addr.q.val();
        self.m_wr.len.next = self.len.q.val();
        self.m_wr.ctx.next = 0.into();
        self.m_rx.valid.next = self.rx_valid.q.val();
        self.m_rx.qpn.next = self.qpn.q.val();
        self.m_rx.wr_id.next = self.wr_id.q.val();
        self.m_rx.status.next = self.status.q.val();
        self.m_rx.vf.next = self.vf.q.val();
        self.m_rx.len.next = self.len.q.val();
        self.m_rx.node.next = self.node.q.val();
        self.m_rx.peer.next = self.peer.q.val();
        self.m_rx.win_id.next = self.win_id.q.val();
        self.m_rx.epoch.next = self.epoch.q.val();
        self.m_rx.msn.next = self.msn.q.val();
        self.m_rx.q_key.next = self.q_key.q.val();
        self.m_rx.psn.next = self.psn.q.val();
        self.m_rx.request.next = self.request.q.val();

        self.words.s.valid.next = self.s_pl.valid.val();
        self.s_pl.ready.next = self.words.s.ready.val();
        self.words.s.data.next = bit_cast::<65, 64>(self.s_pl.data.val())
            | (bit_cast::<65, 1>(self.s_pl.last.val().into()) << 64);
        self.words.m.ready.next = self.m_wd.ready.val() & self.some.q.val();
        self.m_wd.valid.next = self.words.m.valid.val() & self.some.q.val();
        self.m_wd.data.next = self.words.m.data.val().get_bits::<64>(0);
        self.ended.next =
            self.m_wd.valid.val() & self.m_wd.ready.val() & self.words.m.data.val().get_bit(64);
        if self.accepted.val() & !self.ended.val() {
            self.open.d.next = self.open.q.val() + 1;
            self.some.d.next = true;
        }
        if self.ended.val() & !self.accepted.val() {
            self.open.d.next = self.open.q.val() - 1;
            self.some.d.next = self.open.q.val() != 1;
        }
        self.idle.next = self.s_ready.val() & !self.some.q.val();
    }
}
