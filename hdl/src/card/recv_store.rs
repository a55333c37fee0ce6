//! What was accepted, on its way to host memory.

use crate::blocks::SkidBuffer;
use crate::bus::{CompletionOut, DmaJob, DmaRequestOut, Ended, FrameWord, FramesIn, StreamOut};
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
        /// How it ended.
        pub s: Signal<In, Ended>,
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

        /// Payload.
        words: SkidBuffer<65>,
        word: Signal<Local, FrameWord<64>>,
        /// Payloads whose request was accepted and whose last word has not passed.
        #[reset] open: DFF<Bits<16>>,
        /// There is one.
        #[reset] some: DFF<Bit>,
        accepted: Signal<Local, Bit>,
        last: Signal<Local, Bit>,
        #[reset] wr_valid: DFF<Bit>,
        #[reset] rx_valid: DFF<Bit>,
        /// The message.
        addr: DFF<Bits<64>>,
        qpn: DFF<Bits<LQ>>,
        ended: DFF<Ended>,
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
            self.ended.d.next = self.s.val();
        }
        self.m_wr.valid.next = self.wr_valid.q.val();
        self.m_wr.of.next = DmaJob {
            addr: self.addr.q.val(),
            len: self.ended.q.val().len.get_bits::<13>(0),
            ctx: 0.into(),
        };
        self.m_rx.valid.next = self.rx_valid.q.val();
        self.m_rx.qpn.next = self.qpn.q.val();
        self.m_rx.of.next = self.ended.q.val();

        self.words.s.valid.next = self.s_pl.valid.val();
        self.s_pl.ready.next = self.words.s.ready.val();
        self.words.s.data.next = self.s_pl.of.val().to_bits();
        self.word.next = self.words.m.data.val().into();
        self.words.m.ready.next = self.m_wd.ready.val() & self.some.q.val();
        self.m_wd.valid.next = self.words.m.valid.val() & self.some.q.val();
        self.m_wd.data.next = self.word.val().data;
        self.last.next = self.m_wd.valid.val() & self.m_wd.ready.val() & self.word.val().last;
        if self.accepted.val() & !self.last.val() {
            self.open.d.next = self.open.q.val() + 1;
            self.some.d.next = true;
        }
        if self.last.val() & !self.accepted.val() {
            self.open.d.next = self.open.q.val() - 1;
            self.some.d.next = self.open.q.val() != 1;
        }
        self.idle.next = self.s_ready.val() & !self.some.q.val();
    }
}
