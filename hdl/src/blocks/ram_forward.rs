//! Dual-port memory that never returns a stale word.

use super::RamPlain;
use crate::prelude::*;

hdl_module! {
    /// Simple dual-port memory, one write port and one read port, synchronous read
    /// with write-to-read forwarding: reading the address that is written in the
    /// same clock returns the new word.
    /// Latency: 1 clock from rd_addr to rd_data. One read and one write per clock.
    #[module("ram_forward_w{D}_d{}", 1usize << A)]
    pub struct RamForward<const D: usize, const A: usize> {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Read address.
        pub rd_addr: Signal<In, Bits<A>>,
        /// Word at rd_addr, one clock later.
        pub rd_data: Signal<Out, Bits<D>>,
        /// Write wr_data to wr_addr.
        pub wr_en: Signal<In, Bit>,
        /// Write address.
        pub wr_addr: Signal<In, Bits<A>>,
        /// Word to write.
        pub wr_data: Signal<In, Bits<D>>,
        /// The words.
        mem: RamPlain<D, A>,
        /// The word last read was written in the clock of the read.
        collided: DFF<Bit>,
        /// Word written in the clock of the last read.
        written: DFF<Bits<D>>,
    }
}

impl<const D: usize, const A: usize> Logic for RamForward<D, A> {
    #[hdl_gen]
    fn update(&mut self) {
        self.mem.rd_addr.next = self.rd_addr.val();
        self.mem.wr_en.next = self.wr_en.val();
        self.mem.wr_addr.next = self.wr_addr.val();
        self.mem.wr_data.next = self.wr_data.val();
        self.collided.d.next = self.wr_en.val() & (self.wr_addr.val() == self.rd_addr.val());
        self.written.d.next = self.wr_data.val();
        self.rd_data.next = self.mem.rd_data.val();
        if self.collided.q.val() {
            self.rd_data.next = self.written.q.val();
        }
    }
}
