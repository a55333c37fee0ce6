//! Several clients of one DMA writer.

use crate::blocks::{FifoAhead, OneHotMux, TakeTurns};
use crate::bus::{DmaJob, DmaRequestIn, DmaRequestOut, StreamIn, StreamOut};
use crate::prelude::*;

hdl_module! {
    /// Five clients of a DMA writer, in turn when several wait. The words of a request follow in the order in which the
    /// requests were taken; a client has the words at hand when it asks, as those of the others wait behind them.
    /// ctx bits 15:13 become the number of the client.
    /// Latency: 2 clocks for a request, none for words. A request every 3 clocks.
    /// Stages: 1 client chosen, 2 its request registered.
    /// While m_req is not taken it stays, and no client is chosen. Words pass through: what a client offers stays, so
    /// m_data does.
    #[module("dma_write_mux")]
    pub struct DmaWriteMux {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset: forgets all requests. The DMA writer is reset with it.
        pub rst: Signal<In, Bit>,
        /// Writes of each client.
        pub s_req: Bank<DmaRequestIn, 5>,
        /// Words of each client.
        pub s_data: Bank<StreamIn<64>, 5>,
        /// All writes, for dma_write.
        pub m_req: DmaRequestOut,
        /// Their words.
        pub m_data: StreamOut<64>,

        turn: TakeTurns<5>,
        requests: OneHotMux<{ DmaJob::BITS }, 5>,
        data: OneHotMux<64, 5>,
        /// Clients of the requests taken, one-hot 4:0, and words of each 14:5.
        order: FifoAhead<15, 3>,
        wanting: Signal<Local, Bits<5>>,
        offering: Signal<Local, Bits<5>>,
        /// The client whose request is taken, the one before.
        #[reset] chosen: DFF<Bits<5>>,
        #[reset] last: DFF<Bits<5>>,
        choose: Signal<Local, Bit>,
        client: Signal<Local, Bits<3>>,
        /// The request.
        #[reset] valid: DFF<Bit>,
        addr: DFF<Bits<64>>,
        len: DFF<Bits<13>>,
        ctx: DFF<Bits<16>>,
        request: Signal<Local, DmaJob>,
        /// Words of a request, less one.
        less_one: Signal<Local, Bits<13>>,
        /// The client whose words pass, words left, less one.
        from: DFF<Bits<5>>,
        /// The other clients: chooses the words, so that `from` has little to drive.
        others: DFF<Bits<5>>,
        n_from: Signal<Local, Bits<5>>,
        left: DFF<Bits<10>>,
        /// The word that passes is the last one.
        ends: DFF<Bit>,
        pass: Signal<Local, Bit>,
        advance: Signal<Local, Bit>,
    }
}

impl Logic for DmaWriteMux {
    #[hdl_gen]
    fn update(&mut self) {
        // Stage 1: whose turn it is. What a client offers stays.
        self.wanting.next = bit_cast::<5, 1>(self.s_req[0].valid.val().into())
            | (bit_cast::<5, 1>(self.s_req[1].valid.val().into()) << 1)
            | (bit_cast::<5, 1>(self.s_req[2].valid.val().into()) << 2)
            | (bit_cast::<5, 1>(self.s_req[3].valid.val().into()) << 3)
            | (bit_cast::<5, 1>(self.s_req[4].valid.val().into()) << 4);
        self.offering.next = bit_cast::<5, 1>(self.s_data[0].valid.val().into())
            | (bit_cast::<5, 1>(self.s_data[1].valid.val().into()) << 1)
            | (bit_cast::<5, 1>(self.s_data[2].valid.val().into()) << 2)
            | (bit_cast::<5, 1>(self.s_data[3].valid.val().into()) << 3)
            | (bit_cast::<5, 1>(self.s_data[4].valid.val().into()) << 4);
        self.turn.req.next = self.wanting.val();
        self.turn.last.next = self.last.q.val();
        self.choose.next =
            !self.chosen.q.val().any() & !self.valid.q.val() & self.order.s.ready.val();
        self.chosen.d.next = 0.into();
        if self.choose.val() {
            self.chosen.d.next = self.turn.choice.val();
        }
        if self.chosen.q.val().any() {
            self.last.d.next = self.chosen.q.val();
        }

        // Stage 2: its request.
        self.requests.sel.next = self.chosen.q.val();
        self.data.sel.next = !self.others.q.val();
        for i in 0..5 {
            self.requests.s[i].next = self.s_req[i].of.val().to_bits();
            self.s_req[i].ready.next = self.chosen.q.val().get_bit(i);
            self.data.s[i].next = self.s_data[i].data.val();
            self.s_data[i].ready.next = self.from.q.val().get_bit(i) & self.m_data.ready.val();
        }
        self.request.next = self.requests.m.val().into();
        // One-hot to binary.
        self.client.next = bit_cast::<3, 1>(
            (self.chosen.q.val().get_bit(1) | self.chosen.q.val().get_bit(3)).into(),
        ) | (bit_cast::<3, 1>(
            (self.chosen.q.val().get_bit(2) | self.chosen.q.val().get_bit(3)).into(),
        ) << 1)
            | (bit_cast::<3, 1>(self.chosen.q.val().get_bit(4).into()) << 2);
        self.less_one.next = self.request.val().len - 1;
        if self.m_req.ready.val() {
            self.valid.d.next = false;
        }
        self.order.s.valid.next = self.chosen.q.val().any() & self.request.val().len.any();
        self.order.s.data.next = bit_cast::<15, 5>(self.chosen.q.val())
            | (bit_cast::<15, 10>(self.less_one.val().get_bits::<10>(3)) << 5);
        if self.chosen.q.val().any() {
            self.valid.d.next = true;
            self.addr.d.next = self.request.val().addr;
            self.len.d.next = self.request.val().len;
            self.ctx.d.next = bit_cast::<16, 13>(self.request.val().ctx.get_bits::<13>(0))
                | (bit_cast::<16, 3>(self.client.val()) << 13);
        }
        self.m_req.valid.next = self.valid.q.val();
        self.m_req.of.next.addr = self.addr.q.val();
        self.m_req.of.next.len = self.len.q.val();
        self.m_req.of.next.ctx = self.ctx.q.val();

        // Words.
        self.m_data.valid.next = (self.from.q.val() & self.offering.val()).any();
        self.m_data.data.next = self.data.m.val();
        self.pass.next = self.m_data.ready.val() & (self.from.q.val() & self.offering.val()).any();
        self.advance.next = !self.from.q.val().any() | (self.pass.val() & self.ends.q.val());
        self.order.m.ready.next = self.advance.val();
        if self.pass.val() {
            self.left.d.next = self.left.q.val() - 1;
            self.ends.d.next = self.left.q.val() == 1;
        }
        self.n_from.next = self.from.q.val();
        if self.advance.val() {
            self.n_from.next = 0.into();
            if self.order.m.valid.val() {
                self.n_from.next = self.order.m.data.val().get_bits::<5>(0);
                self.left.d.next = self.order.m.data.val().get_bits::<10>(5);
                self.ends.d.next = !self.order.m.data.val().get_bits::<10>(5).any();
            }
        }
        if self.rst.val() {
            self.n_from.next = 0.into();
        }
        self.from.d.next = self.n_from.val();
        self.others.d.next = !self.n_from.val();
    }
}
