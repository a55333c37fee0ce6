//! Shares the read engine between the two halves of the queue engine and one-sided operations.

use crate::bus::{DmaRequestIn, DmaRequestOut};
use crate::prelude::*;
use crate::record::ReadClient;

hdl_module! {
    /// Lets the send and the receive side take turns at dma_read, and both of them and bulk transfers, and hands the words
    /// that come back to whom they belong: ctx 15:14 is 0 for work requests, 1 for payload, with bit 0 for that of bulk
    /// transfers, 2 for receive requests, 3 for one-sided operations, which come first: they have one read at a time.
    /// Latency: none, 1 clock for one-sided operations. Stages: none; only whose turn it is, is kept. A request that is
    /// offered stays in front until it is taken.
    #[module("card_read_mux")]
    pub struct CardReadMux {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset.
        pub rst: Signal<In, Bit>,
        /// Reads of card_send.
        pub a: DmaRequestIn,
        /// Reads of card_recv.
        pub b: DmaRequestIn,
        /// Reads of bulk transfers; whatever their context is, they get their own.
        pub d: DmaRequestIn,
        /// From card_onesided: a read.
        pub c_valid: Signal<In, Bit>,
        /// Taken.
        pub c_ready: Signal<Out, Bit>,
        /// Byte address.
        pub c_addr: Signal<In, Bits<64>>,
        /// Bytes.
        pub c_len: Signal<In, Bits<13>>,
        /// All reads, for dma_read.
        pub m: DmaRequestOut,
        /// From dma_read: a word.
        pub s_data_valid: Signal<In, Bit>,
        /// Taken.
        pub s_data_ready: Signal<Out, Bit>,
        /// Whose it is.
        pub s_data_client: Signal<In, Bits<2>>,
        /// Of payload: of a bulk transfer.
        pub s_data_bulk: Signal<In, Bit>,
        /// The word is one of a work request.
        pub wq_valid: Signal<Out, Bit>,
        /// Taken.
        pub wq_ready: Signal<In, Bit>,
        /// The word is one of a bulk transfer, which always takes it.
        pub bk_valid: Signal<Out, Bit>,
        /// The word is one of a datagram's payload.
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
        /// d is first in line, before both.
        #[reset] d_first: DFF<Bit>,
        choose_d: Signal<Local, Bit>,
        either: Signal<Local, Bit>,
        /// c has its turn.
        #[reset] c_turn: DFF<Bit>,
        c_ctx: Param<{ (ReadClient::OneSided as usize) << 14 }, 16>,
        d_ctx: Param<{ ((ReadClient::Payload as usize) << 14) | 1 }, 16>,
        work_request: Param<{ ReadClient::WorkRequest as usize }, 2>,
        payload: Param<{ ReadClient::Payload as usize }, 2>,
        receive_request: Param<{ ReadClient::ReceiveRequest as usize }, 2>,
        one_sided: Param<{ ReadClient::OneSided as usize }, 2>,
    }
}

impl Logic for CardReadMux {
    #[hdl_gen]
    fn update(&mut self) {
        self.choose_b.next = self.b.valid.val() & (self.b_first.q.val() | !self.a.valid.val());
        self.either.next = self.a.valid.val() | self.b.valid.val();
        self.choose_d.next = self.d.valid.val() & (self.d_first.q.val() | !self.either.val());
        self.m.valid.next = self.either.val() | self.d.valid.val();
        self.m.of.next = self.a.of.val();
        if self.choose_b.val() {
            self.m.of.next = self.b.of.val();
        }
        if self.choose_d.val() {
            self.m.of.next.addr = self.d.of.val().addr;
            self.m.of.next.len = self.d.of.val().len;
            self.m.of.next.ctx = self.d_ctx.val();
        }
        self.a.ready.next = self.m.ready.val()
            & !self.c_turn.q.val()
            & !(self.d.valid.val() & self.d_first.q.val())
            & !(self.b.valid.val() & self.b_first.q.val());
        self.b.ready.next = self.m.ready.val()
            & !self.c_turn.q.val()
            & !(self.d.valid.val() & self.d_first.q.val())
            & (self.b_first.q.val() | !self.a.valid.val());
        self.d.ready.next =
            self.m.ready.val() & !self.c_turn.q.val() & (self.d_first.q.val() | !self.either.val());
        self.c_ready.next = self.m.ready.val() & self.c_turn.q.val();
        // What waits stays in front; what is taken goes behind the other.
        if self.m.valid.val() & !self.c_turn.q.val() {
            self.d_first.d.next = self.choose_d.val() ^ self.m.ready.val();
        }
        if self.either.val() & !self.choose_d.val() & !self.c_turn.q.val() {
            self.b_first.d.next = self.choose_b.val() ^ self.m.ready.val();
        }
        if self.c_turn.q.val() {
            self.m.valid.next = true;
            self.m.of.next.addr = self.c_addr.val();
            self.m.of.next.len = self.c_len.val();
            self.m.of.next.ctx = self.c_ctx.val();
            self.c_turn.d.next = !self.m.ready.val();
        } else if self.c_valid.val()
            & (self.m.ready.val() | !(self.either.val() | self.d.valid.val()))
        {
            self.c_turn.d.next = true;
        }

        self.wq_valid.next =
            self.s_data_valid.val() & (self.s_data_client.val() == self.work_request.val());
        self.pl_valid.next = self.s_data_valid.val()
            & (self.s_data_client.val() == self.payload.val())
            & !self.s_data_bulk.val();
        self.bk_valid.next = self.s_data_valid.val()
            & (self.s_data_client.val() == self.payload.val())
            & self.s_data_bulk.val();
        self.rr_valid.next =
            self.s_data_valid.val() & (self.s_data_client.val() == self.receive_request.val());
        self.os_valid.next =
            self.s_data_valid.val() & (self.s_data_client.val() == self.one_sided.val());
        self.s_data_ready.next = self.rr_ready.val();
        if self.s_data_client.val() == self.one_sided.val() {
            self.s_data_ready.next = true;
        }
        if self.s_data_client.val() == self.work_request.val() {
            self.s_data_ready.next = self.wq_ready.val();
        }
        if self.s_data_client.val() == self.payload.val() {
            self.s_data_ready.next = self.pl_ready.val() | self.s_data_bulk.val();
        }
    }
}
