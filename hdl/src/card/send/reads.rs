//! Reads of host memory: payload and work requests.

use crate::bus::DmaRequestOut;
use crate::prelude::*;

hdl_module! {
    /// One port of reads for payload and for work requests, payload first. Latency: 1 clock.
    /// Between two reads is a clock without one, since dma_read takes longer for each.
    /// While a read is not taken it stays as it is, and one fetch is noted beside it; payload waits with whoever offers
    /// it.
    #[module("card_send_reads")]
    pub struct CardSendReads {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset: drops what waits.
        pub rst: Signal<In, Bit>,
        /// Fetch a work request; only while fetch_free.
        pub fetch_valid: Signal<In, Bit>,
        /// No fetch waits.
        pub fetch_free: Signal<Out, Bit>,
        /// Its address in units of 64 bytes.
        pub fetch_addr: Signal<In, Bits<58>>,
        /// Read payload.
        pub pay_valid: Signal<In, Bit>,
        /// Taken.
        pub pay_ready: Signal<Out, Bit>,
        /// First byte.
        pub pay_addr: Signal<In, Bits<64>>,
        /// Bytes.
        pub pay_len: Signal<In, Bits<13>>,
        /// Reads of host memory.
        pub m_rd: DmaRequestOut,
        /// A read waits.
        pub m_busy: Signal<Out, Bit>,

        /// A fetch that waits.
        #[reset] fetch: DFF<Bit>,
        fetch_at: DFF<Bits<58>>,
        /// The read at m_rd_*.
        #[reset] valid: DFF<Bit>,
        payload: DFF<Bit>,
        addr: DFF<Bits<64>>,
        len: DFF<Bits<13>>,
        free: Signal<Local, Bit>,
        /// A fetch waits or comes.
        fetches: Signal<Local, Bit>,
        from: Signal<Local, Bits<58>>,
        entry_len: Param<{ tributary_protocol::card::descriptor::WORK_LEN }, 13>,
    }
}

impl Logic for CardSendReads {
    #[hdl_gen]
    fn update(&mut self) {
        self.free.next = !self.valid.q.val();
        if self.m_rd.ready.val() {
            self.valid.d.next = false;
        }
        self.pay_ready.next = self.free.val();
        self.fetches.next = self.fetch.q.val() | self.fetch_valid.val();
        self.from.next = self.fetch_at.q.val();
        if self.fetch_valid.val() {
            self.from.next = self.fetch_addr.val();
        }
        self.fetch.d.next = self.fetches.val();
        self.fetch_at.d.next = self.from.val();
        self.fetch_free.next = !self.fetch.q.val();
        if self.free.val() {
            self.valid.d.next = self.pay_valid.val() | self.fetches.val();
            self.payload.d.next = self.pay_valid.val();
            self.addr.d.next = bit_cast::<64, 58>(self.from.val()) << 6;
            self.len.d.next = self.entry_len.val();
            if self.pay_valid.val() {
                self.addr.d.next = self.pay_addr.val();
                self.len.d.next = self.pay_len.val();
            } else {
                self.fetch.d.next = false;
            }
        }
        self.m_rd.valid.next = self.valid.q.val();
        self.m_rd.of.next.addr = self.addr.q.val();
        self.m_rd.of.next.len = self.len.q.val();
        self.m_rd.of.next.ctx = bit_cast::<16, 1>(self.payload.q.val().into()) << 14;
        self.m_busy.next = self.valid.q.val() | self.fetch.q.val();
    }
}
