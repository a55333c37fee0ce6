//! Shares the read engine between the two halves of the queue engine and one-sided operations.

use crate::prelude::*;

hdl_module! {
    /// Lets the send and the receive side take turns at dma_read, and hands the words that come back to whom they
    /// belong: ctx 15:14 is 0 for work requests, 1 for payload, 2 for receive requests, 3 for one-sided operations,
    /// which come first: they have one read at a time.
    /// Latency: none, 1 clock for one-sided operations. Stages: none; only whose turn it is, is kept. A request that is
    /// offered stays in front until it is taken.
    #[module("card_read_mux")]
    pub struct CardReadMux {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset.
        pub rst: Signal<In, Bit>,
        /// From card_send: a read.
        pub a_valid: Signal<In, Bit>,
        /// Taken.
        pub a_ready: Signal<Out, Bit>,
        /// Byte address.
        pub a_addr: Signal<In, Bits<64>>,
        /// Bytes.
        pub a_len: Signal<In, Bits<13>>,
        /// What it is for.
        pub a_ctx: Signal<In, Bits<16>>,
        /// From card_recv: a read.
        pub b_valid: Signal<In, Bit>,
        /// Taken.
        pub b_ready: Signal<Out, Bit>,
        /// Byte address.
        pub b_addr: Signal<In, Bits<64>>,
        /// Bytes.
        pub b_len: Signal<In, Bits<13>>,
        /// What it is for.
        pub b_ctx: Signal<In, Bits<16>>,
        /// From card_onesided: a read.
        pub c_valid: Signal<In, Bit>,
        /// Taken.
        pub c_ready: Signal<Out, Bit>,
        /// Byte address.
        pub c_addr: Signal<In, Bits<64>>,
        /// Bytes.
        pub c_len: Signal<In, Bits<13>>,
        /// To dma_read.
        pub m_valid: Signal<Out, Bit>,
        /// Taken.
        pub m_ready: Signal<In, Bit>,
        /// Byte address.
        pub m_addr: Signal<Out, Bits<64>>,
        /// Bytes.
        pub m_len: Signal<Out, Bits<13>>,
        /// What it is for.
        pub m_ctx: Signal<Out, Bits<16>>,
        /// From dma_read: a word.
        pub s_data_valid: Signal<In, Bit>,
        /// Taken.
        pub s_data_ready: Signal<Out, Bit>,
        /// Whose it is.
        pub s_data_client: Signal<In, Bits<2>>,
        /// The word is one of a work request.
        pub wq_valid: Signal<Out, Bit>,
        /// Taken.
        pub wq_ready: Signal<In, Bit>,
        /// The word is one of a payload.
        pub pl_valid: Signal<Out, Bit>,
        /// Taken.
        pub pl_ready: Signal<In, Bit>,
        /// The word is one of a one-sided operation, which always takes it.
        pub os_valid: Signal<Out, Bit>,
        /// The word is one of receive requests.
        pub rr_valid: Signal<Out, Bit>,
        /// Taken.
        pub rr_ready: Signal<In, Bit>,
        /// b is first in line.
        #[reset] b_first: DFF<Bit>,
        choose_b: Signal<Local, Bit>,
        /// c has its turn.
        #[reset] c_turn: DFF<Bit>,
        c_ctx: Param<0xc000, 16>,
    }
}

impl Logic for CardReadMux {
    #[hdl_gen]
    fn update(&mut self) {
        self.choose_b.next = self.b_valid.val() & (self.b_first.q.val() | !self.a_valid.val());
        self.m_valid.next = self.a_valid.val() | self.b_valid.val();
        self.m_addr.next = self.a_addr.val();
        self.m_len.next = self.a_len.val();
        self.m_ctx.next = self.a_ctx.val();
        if self.choose_b.val() {
            self.m_addr.next = self.b_addr.val();
            self.m_len.next = self.b_len.val();
            self.m_ctx.next = self.b_ctx.val();
        }
        self.a_ready.next = self.m_ready.val()
            & !self.c_turn.q.val()
            & !(self.b_valid.val() & self.b_first.q.val());
        self.b_ready.next = self.m_ready.val()
            & !self.c_turn.q.val()
            & (self.b_first.q.val() | !self.a_valid.val());
        self.c_ready.next = self.m_ready.val() & self.c_turn.q.val();
        if (self.a_valid.val() | self.b_valid.val()) & !self.c_turn.q.val() {
            // What waits stays in front; what is taken goes behind the other.
            self.b_first.d.next = self.choose_b.val() ^ self.m_ready.val();
        }
        if self.c_turn.q.val() {
            self.m_valid.next = true;
            self.m_addr.next = self.c_addr.val();
            self.m_len.next = self.c_len.val();
            self.m_ctx.next = self.c_ctx.val();
            self.c_turn.d.next = !self.m_ready.val();
        } else if self.c_valid.val()
            & (self.m_ready.val() | !(self.a_valid.val() | self.b_valid.val()))
        {
            self.c_turn.d.next = true;
        }

        self.wq_valid.next = self.s_data_valid.val() & (self.s_data_client.val() == 0);
        self.pl_valid.next = self.s_data_valid.val() & (self.s_data_client.val() == 1);
        self.rr_valid.next = self.s_data_valid.val() & (self.s_data_client.val() == 2);
        self.os_valid.next = self.s_data_valid.val() & (self.s_data_client.val() == 3);
        self.s_data_ready.next = self.rr_ready.val();
        if self.s_data_client.val() == 3 {
            self.s_data_ready.next = true;
        }
        if self.s_data_client.val() == 0 {
            self.s_data_ready.next = self.wq_ready.val();
        }
        if self.s_data_client.val() == 1 {
            self.s_data_ready.next = self.pl_ready.val();
        }
    }
}
