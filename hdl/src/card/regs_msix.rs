//! Interrupts as MSI-X has them.

use crate::blocks::{AsyncRam, OneHotIndex};
use crate::bus::{DmaRequestOut, InterruptIn, RamReadIn, RamWriteIn, StreamOut};
use crate::prelude::*;
use crate::record::WriteClient;

hdl_module! {
    /// MSI-X table and pending bits of 8 vectors, and the writer of their messages.
    /// Every interrupt sets the pending bit of its vector; a vector that is pending and neither it
    /// nor the function is masked sends its message while the card may send TLPs. The bit is cleared when dma_write has
    /// done the message, unless another interrupt came meanwhile. Vectors take turns.
    /// A message is one request of 4 bytes and one word to dma_write; it is offered 7 clocks after
    /// the interrupt came if nothing is in its way.
    /// While rst is high, the table is cleared, one word a clock: hold it for 32 clocks and more.
    #[module("card_regs_msix")]
    pub struct CardRegsMsix {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset.
        pub rst: Signal<In, Bit>,
        /// Write port of the MSI-X table; address: vector, then 0 address, 1 its upper half, 2 data, 3 control in 1:0.
        pub wr: RamWriteIn<32, 5>,
        /// Read port of the MSI-X table: the word comes in the same clock.
        pub rd: RamReadIn<32, 5>,
        /// A bit per vector: an interrupt waits.
        pub pending: Signal<Out, Bits<8>>,
        /// Messages may be sent.
        pub msix_enable: Signal<In, Bit>,
        /// All vectors are masked.
        pub msix_mask: Signal<In, Bit>,
        /// TLPs may be sent.
        pub bus_master_enable: Signal<In, Bit>,
        /// Interrupts.
        pub s_irq: InterruptIn,
        /// Writes of interrupts.
        pub m_wr: DmaRequestOut,
        /// Their words.
        pub m_wd: StreamOut<64>,
        /// A message is done in dma_write; pulse.
        pub done_valid: Signal<In, Bit>,
        /// Of this vector.
        pub done_vector: Signal<In, Bits<3>>,
        /// A message was done.
        pub ev_sent: Signal<Out, Bit>,

        /// The table, for the bus and for the writer; control is not in it.
        table: AsyncRam<32, 5>,
        lookup: AsyncRam<32, 5>,
        sweep: DFF<Bits<5>>,
        masked: DFF<Bits<8>>,
        #[reset] waits: DFF<Bits<8>>,
        /// A message was done a clock ago: it comes from far.
        done: DFF<Bit>,
        done_one: DFF<Bits<3>>,
        /// Their messages are on their way.
        #[reset] leaves: DFF<Bits<8>>,
        n_leaves: Signal<Local, Bits<8>>,
        /// Of those that wait, the ones that may be sent, and of these the ones behind the one served last, which are `after`.
        #[reset] asks: DFF<Bits<8>>,
        #[reset] later: DFF<Bits<8>>,
        after: DFF<Bits<8>>,
        may: Signal<Local, Bits<8>>,
        pool: Signal<Local, Bits<8>>,
        /// The one whose turn it is.
        #[reset] choice: DFF<Bits<8>>,
        n_waits: Signal<Local, Bits<8>>,
        /// Vector served last, one-hot.
        #[reset] last: DFF<Bits<8>>,
        number: OneHotIndex<8, 3>,
        vector: DFF<Bits<3>>,
        /// 0 idle, 1 chosen, 2 to 5 address, upper half and data are read, 6 offered.
        #[reset] step: DFF<Bits<3>>,
        word: DFF<Bits<32>>,
        low: DFF<Bits<32>>,
        high: DFF<Bits<32>>,
        data: DFF<Bits<32>>,
        #[reset] wr_valid: DFF<Bit>,
        #[reset] wd_valid: DFF<Bit>,
        #[reset] sent: DFF<Bit>,
        ends: Signal<Local, Bit>,
        address_mask: Param<0xffff_fffc, 32>,
        one: Param<1, 8>,
        bytes: Param<4, 13>,
        /// Who asks dma_write: in 15:13 of the context.
        client: Param<{ (WriteClient::Interrupt as usize) << 13 }, 16>,
    }
}

impl Logic for CardRegsMsix {
    #[hdl_gen]
    fn update(&mut self) {
        // The table. Messages go to a multiple of 4.
        self.sweep.d.next = self.sweep.q.val() + 1;
        self.table.wr.en.next = self.wr.en.val() | self.rst.val();
        self.table.wr.addr.next = self.wr.addr.val();
        self.table.wr.data.next = self.wr.data.val();
        if self.wr.addr.val().get_bits::<2>(0) == 0 {
            self.table.wr.data.next = self.wr.data.val() & self.address_mask.val();
        }
        self.lookup.wr.en.next = self.wr.en.val() | self.rst.val();
        self.lookup.wr.addr.next = self.wr.addr.val();
        self.lookup.wr.data.next = self.wr.data.val();
        if self.wr.addr.val().get_bits::<2>(0) == 0 {
            self.lookup.wr.data.next = self.wr.data.val() & self.address_mask.val();
        }
        if self.rst.val() {
            self.table.wr.addr.next = self.sweep.q.val();
            self.table.wr.data.next = 0.into();
            self.lookup.wr.addr.next = self.sweep.q.val();
            self.lookup.wr.data.next = 0.into();
        }
        if self.wr.en.val() & self.wr.addr.val().get_bits::<2>(0).all() {
            self.masked.d.next =
                self.masked.q.val() & !(self.one.val() << self.wr.addr.val().get_bits::<3>(2));
            if self.wr.data.val().get_bit(0) {
                self.masked.d.next =
                    self.masked.q.val() | (self.one.val() << self.wr.addr.val().get_bits::<3>(2));
            }
        }
        self.table.rd.addr.next = self.rd.addr.val();
        self.rd.data.next = self.table.rd.data.val();
        if self.rd.addr.val().get_bits::<2>(0).all() {
            self.rd.data.next = bit_cast::<32, 1>(
                ((self.masked.q.val() >> self.rd.addr.val().get_bits::<3>(2)) & self.one.val())
                    .any()
                    .into(),
            );
        }
        self.pending.next = self.waits.q.val() | self.leaves.q.val();

        // Whose message is next.
        // Two clocks late: a message that is chosen has left `waits` long before the next choice.
        self.may.next = 0.into();
        if self.msix_enable.val() & !self.msix_mask.val() & self.bus_master_enable.val() {
            self.may.next = self.waits.q.val() & !self.masked.q.val() & !self.leaves.q.val();
        }
        self.asks.d.next = self.may.val();
        self.after.d.next = (!self.last.q.val() + 1) << 1;
        self.later.d.next = self.may.val() & self.after.q.val();
        self.pool.next = self.asks.q.val();
        if self.later.q.val().any() {
            self.pool.next = self.later.q.val();
        }
        self.n_waits.next = self.waits.q.val();
        self.choice.d.next = self.pool.val() & (!self.pool.val() + 1);
        self.n_leaves.next = self.leaves.q.val();
        self.done.d.next = self.done_valid.val() & !self.rst.val();
        self.done_one.d.next = self.done_vector.val();
        if self.done.q.val() {
            self.n_leaves.next = self.leaves.q.val() & !(self.one.val() << self.done_one.q.val());
        }
        self.leaves.d.next = self.n_leaves.val();
        if (self.step.q.val() == 0) & self.choice.q.val().any() {
            self.last.d.next = self.choice.q.val();
            self.n_waits.next = self.waits.q.val() & !self.choice.q.val();
            self.leaves.d.next = self.n_leaves.val() | self.choice.q.val();
            self.step.d.next = 1.into();
        }
        self.s_irq.ready.next = true;
        self.waits.d.next = self.n_waits.val();
        if self.s_irq.valid.val() {
            self.waits.d.next = self.n_waits.val() | (self.one.val() << self.s_irq.vector.val());
        }

        // The message.
        self.number.s.next = self.last.q.val();
        if self.step.q.val() == 1 {
            self.vector.d.next = self.number.m.val();
            self.step.d.next = 2.into();
        }
        self.lookup.rd.addr.next = bit_cast::<5, 3>(self.vector.q.val()) << 2;
        if self.step.q.val() == 3 {
            self.lookup.rd.addr.next = (bit_cast::<5, 3>(self.vector.q.val()) << 2) + 1;
        }
        if self.step.q.val() == 4 {
            self.lookup.rd.addr.next = (bit_cast::<5, 3>(self.vector.q.val()) << 2) + 2;
        }
        self.word.d.next = self.lookup.rd.data.val();
        if self.step.q.val() == 2 {
            self.step.d.next = 3.into();
        }
        if self.step.q.val() == 3 {
            self.low.d.next = self.word.q.val();
            self.step.d.next = 4.into();
        }
        if self.step.q.val() == 4 {
            self.high.d.next = self.word.q.val();
            self.step.d.next = 5.into();
        }
        if self.step.q.val() == 5 {
            self.data.d.next = self.word.q.val();
            self.step.d.next = 6.into();
        }
        self.m_wr.valid.next = self.wr_valid.q.val();
        self.m_wr.of.next.addr =
            bit_cast::<64, 32>(self.low.q.val()) | (bit_cast::<64, 32>(self.high.q.val()) << 32);
        self.m_wr.of.next.len = self.bytes.val();
        self.m_wr.of.next.ctx = self.client.val() | bit_cast::<16, 3>(self.vector.q.val());
        self.m_wd.valid.next = self.wd_valid.q.val();
        self.m_wd.data.next = bit_cast::<64, 32>(self.data.q.val());
        if self.m_wr.ready.val() {
            self.wr_valid.d.next = false;
        }
        if self.m_wd.ready.val() {
            self.wd_valid.d.next = false;
        }
        if self.step.q.val() == 5 {
            self.wr_valid.d.next = true;
            self.wd_valid.d.next = true;
        }
        self.ends.next = (self.step.q.val() == 6)
            & (!self.wr_valid.q.val() | self.m_wr.ready.val())
            & (!self.wd_valid.q.val() | self.m_wd.ready.val());
        if self.ends.val() {
            self.step.d.next = 0.into();
        }
        self.sent.d.next = self.done.q.val();
        self.ev_sent.next = self.sent.q.val();
        if self.rst.val() {
            self.masked.d.next = 0xff.into();
        }
    }
}
