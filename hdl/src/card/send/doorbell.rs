//! Doorbells of the send rings.

use crate::blocks::RamRegForward;
use crate::bus::{RingIndexIn, RingIndexOut};
use crate::prelude::*;

hdl_module! {
    /// Checks doorbells of send rings against their queue pairs, one a clock, never stalled.
    /// A doorbell says how many work requests were ever posted: the ring then holds that less those
    /// fetched, at most its length. A good one replaces the one before, so nothing that a doorbell
    /// finds is written by another one, and doorbells of one queue pair may follow each other in
    /// every clock. The number of those fetched may be behind by one: nobody posts into an entry that
    /// is being fetched.
    /// Latency: 4 clocks.
    /// Stages: 0 to 2 contexts, 2 what the ring would hold, 3 compared, 4 m_*.
    #[module("card_send_doorbell_q{}", 1usize << LQ)]
    pub struct CardSendDoorbell<const LQ: usize> {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset.
        pub rst: Signal<In, Bit>,
        /// The contexts are clean; until then every doorbell is bad.
        pub live: Signal<In, Bit>,
        /// Doorbells.
        pub s: RingIndexIn<LQ>,
        /// Write a state.
        pub state_en: Signal<In, Bit>,
        /// Of this queue pair.
        pub state_qpn: Signal<In, Bits<LQ>>,
        /// State 2:0, log2 of the ring's entries 6:3.
        pub state_data: Signal<In, Bits<7>>,
        /// Write how many were ever fetched.
        pub fetched_en: Signal<In, Bit>,
        /// Of this queue pair.
        pub fetched_qpn: Signal<In, Bits<LQ>>,
        /// The number, modulo 2^16.
        pub fetched_data: Signal<In, Bits<16>>,
        /// Doorbells that are good.
        pub m: RingIndexOut<LQ>,
        /// A bad doorbell.
        pub ev_bad: Signal<Out, Bit>,

        states: RamRegForward<7, LQ>,
        fetched: RamRegForward<16, LQ>,
        /// The doorbell in stages 1 to 3.
        #[reset] valid_1: DFF<Bit>,
        #[reset] valid_2: DFF<Bit>,
        #[reset] valid_3: DFF<Bit>,
        qpn_1: DFF<Bits<LQ>>,
        qpn_2: DFF<Bits<LQ>>,
        qpn_3: DFF<Bits<LQ>>,
        index_1: DFF<Bits<16>>,
        index_2: DFF<Bits<16>>,
        index_3: DFF<Bits<16>>,
        /// The contexts were clean when the doorbell came.
        #[reset] live_1: DFF<Bit>,
        #[reset] live_2: DFF<Bit>,
        /// The queue pair takes work requests: Init, ReadyToReceive, ReadyToSend.
        takes: DFF<Bit>,
        /// What the ring would hold, less one.
        held: DFF<Bits<16>>,
        /// Bits that this must not have.
        beyond: DFF<Bits<16>>,
        fits: Signal<Local, Bit>,
        /// Stage 4.
        #[reset] good: DFF<Bit>,
        #[reset] bad: DFF<Bit>,
        qpn: DFF<Bits<LQ>>,
        index: DFF<Bits<16>>,
        ones: Param<0xffff, 16>,
    }
}

impl<const LQ: usize> Logic for CardSendDoorbell<LQ> {
    #[hdl_gen]
    fn update(&mut self) {
        self.states.wr.en.next = self.state_en.val();
        self.states.wr.addr.next = self.state_qpn.val();
        self.states.wr.data.next = self.state_data.val();
        self.states.rd.addr.next = self.s.of.val().qpn;
        self.fetched.wr.en.next = self.fetched_en.val();
        self.fetched.wr.addr.next = self.fetched_qpn.val();
        self.fetched.wr.data.next = self.fetched_data.val();
        self.fetched.rd.addr.next = self.s.of.val().qpn;

        self.valid_1.d.next = self.s.valid.val();
        self.qpn_1.d.next = self.s.of.val().qpn;
        self.index_1.d.next = self.s.of.val().index;
        self.valid_2.d.next = self.valid_1.q.val();
        self.qpn_2.d.next = self.qpn_1.q.val();
        self.index_2.d.next = self.index_1.q.val();

        // A length of 2^n is kept if one less than what the ring would hold has no bit from n on, or is -1.
        self.valid_3.d.next = self.valid_2.q.val();
        self.qpn_3.d.next = self.qpn_2.q.val();
        self.index_3.d.next = self.index_2.q.val();
        self.held.d.next = self.index_2.q.val() + !self.fetched.rd.data.val();
        self.beyond.d.next = self.ones.val() << self.states.rd.data.val().get_bits::<4>(3);
        self.live_1.d.next = self.live.val();
        self.live_2.d.next = self.live_1.q.val();
        self.takes.d.next = self.live_2.q.val()
            & !self.states.rd.data.val().get_bit(2)
            & self.states.rd.data.val().get_bits::<2>(0).any();

        self.fits.next = self.takes.q.val()
            & (self.held.q.val().all() | !(self.held.q.val() & self.beyond.q.val()).any());
        self.good.d.next = self.valid_3.q.val() & self.fits.val();
        self.bad.d.next = self.valid_3.q.val() & !self.fits.val();
        self.qpn.d.next = self.qpn_3.q.val();
        self.index.d.next = self.index_3.q.val();

        self.m.valid.next = self.good.q.val();
        self.m.of.next.qpn = self.qpn.q.val();
        self.m.of.next.index = self.index.q.val();
        self.ev_bad.next = self.bad.q.val();
    }
}
