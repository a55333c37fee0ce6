//! How many work requests of each queue pair have ended.

use crate::blocks::{RamReg, RamRegForward};
use crate::bus::{QueuePairIn, RamReadIn};
use crate::prelude::*;

hdl_module! {
    /// Counts the completions of each queue pair, modulo 2^16, for fences: every work request that leaves card_send has one
    /// completion, so all before number n have ended when n have come.
    /// One completion a clock; a count is seen 5 clocks after its completion.
    /// Stages: 1 to 2 the count is read, 3 it is written, with 1 added; a completion of the same queue pair one clock
    /// behind takes the count that is being written.
    #[module("card_send_ended_q{}", 1usize << LQ)]
    pub struct CardSendEnded<const LQ: usize> {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset. Counts stay: each queue pair begins with zero_en.
        pub rst: Signal<In, Bit>,
        /// A work request of a queue pair has its completion.
        pub s: QueuePairIn<LQ>,
        /// A queue pair begins: its count becomes 0. No completion of it comes before or beside that.
        pub zero_en: Signal<In, Bit>,
        /// Its number.
        pub zero_qpn: Signal<In, Bits<LQ>>,
        /// The count of a queue pair, for turns: two clocks later.
        pub a: RamReadIn<16, LQ>,
        /// The same, for the oldest work request.
        pub b: RamReadIn<16, LQ>,

        counts: RamRegForward<16, LQ>,
        for_a: RamReg<16, LQ>,
        for_b: RamReg<16, LQ>,
        #[reset] valid_1: DFF<Bit>,
        qpn_1: DFF<Bits<LQ>>,
        #[reset] valid_2: DFF<Bit>,
        qpn_2: DFF<Bits<LQ>>,
        /// What was written in the clock before.
        #[reset] valid_3: DFF<Bit>,
        qpn_3: DFF<Bits<LQ>>,
        word_3: DFF<Bits<16>>,
        count: Signal<Local, Bits<16>>,
        /// A count waits to become 0.
        #[reset] zero: DFF<Bit>,
        zero_of: DFF<Bits<LQ>>,
        en: Signal<Local, Bit>,
        addr: Signal<Local, Bits<LQ>>,
        data: Signal<Local, Bits<16>>,
    }
}

impl<const LQ: usize> Logic for CardSendEnded<LQ> {
    #[hdl_gen]
    fn update(&mut self) {
        self.counts.rd.addr.next = self.s.qpn.val();
        self.valid_1.d.next = self.s.valid.val();
        self.qpn_1.d.next = self.s.qpn.val();
        self.valid_2.d.next = self.valid_1.q.val();
        self.qpn_2.d.next = self.qpn_1.q.val();
        self.count.next = self.counts.rd.data.val();
        if self.valid_3.q.val() & (self.qpn_3.q.val() == self.qpn_2.q.val()) {
            self.count.next = self.word_3.q.val();
        }

        // Zeros wait for a clock without a count.
        if !self.valid_2.q.val() {
            self.zero.d.next = false;
        }
        if self.zero_en.val() {
            self.zero.d.next = true;
            self.zero_of.d.next = self.zero_qpn.val();
        }
        self.en.next = self.valid_2.q.val() | self.zero.q.val();
        self.addr.next = self.zero_of.q.val();
        self.data.next = 0.into();
        if self.valid_2.q.val() {
            self.addr.next = self.qpn_2.q.val();
            self.data.next = self.count.val() + 1;
        }
        self.valid_3.d.next = self.valid_2.q.val();
        self.qpn_3.d.next = self.addr.val();
        self.word_3.d.next = self.data.val();
        self.counts.wr.en.next = self.en.val();
        self.counts.wr.addr.next = self.addr.val();
        self.counts.wr.data.next = self.data.val();
        self.for_a.wr.en.next = self.en.val();
        self.for_a.wr.addr.next = self.addr.val();
        self.for_a.wr.data.next = self.data.val();
        self.for_b.wr.en.next = self.en.val();
        self.for_b.wr.addr.next = self.addr.val();
        self.for_b.wr.data.next = self.data.val();
        RamReadIn::<16, LQ>::link(&mut self.a, &mut self.for_a.rd);
        RamReadIn::<16, LQ>::link(&mut self.b, &mut self.for_b.rd);
    }
}
