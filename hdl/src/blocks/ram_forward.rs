//! Dual-port memory that never returns a stale word.

use super::RamPlain;
use crate::bus::{RamReadIn, RamWriteIn};
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
        /// Read port: the word comes one clock later.
        pub rd: RamReadIn<D, A>,
        /// Write port.
        pub wr: RamWriteIn<D, A>,
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
        self.mem.rd.addr.next = self.rd.addr.val();
        RamWriteIn::<D, A>::link(&mut self.wr, &mut self.mem.wr);
        self.collided.d.next = self.wr.en.val() & (self.wr.addr.val() == self.rd.addr.val());
        self.written.d.next = self.wr.data.val();
        self.rd.data.next = self.mem.rd.data.val();
        if self.collided.q.val() {
            self.rd.data.next = self.written.q.val();
        }
    }
}
