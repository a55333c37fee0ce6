//! Writes that are done when their sequence numbers have come back.

use crate::blocks::AsyncRam;
use crate::bus::{DmaDoneIn, DmaDoneOut};
use crate::prelude::*;

hdl_module! {
    /// Holds m_done of the DMA writer back until the host interface has returned the sequence numbers of all TLPs up to the
    /// last one of the request. Numbers may return in any order; requests are done in theirs, one a clock at most.
    /// 32 TLPs are outstanding at most. A number that is not outstanding is ignored, so is one that returns again, and
    /// one of before the latest reset: bit 5 says so. A number may return from the clock on in which its TLP begins; it
    /// counts when the TLP has been handed over. One that never returns holds up all requests behind it, until a reset.
    /// Without enable, m_done is that of the DMA writer, in the same clock, and numbers are ignored.
    /// Stages: 1 and 2 number registered, 3 noted; 4 its turn has come, 5 m_done.
    #[module("dma_write_returns")]
    pub struct DmaWriteReturns {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset: nothing is outstanding.
        pub rst: Signal<In, Bit>,
        /// Numbers count; to be constant.
        pub enable: Signal<In, Bit>,
        /// A TLP was handed over; pulse.
        pub s_sent: Signal<In, Bit>,
        /// With s_sent: it was the last TLP of a request.
        pub s_done: DmaDoneIn,
        /// A TLP has begun and not ended.
        pub s_within: Signal<In, Bit>,
        /// Bit 5 of the numbers since the latest reset.
        pub s_lap: Signal<In, Bit>,
        /// A number returns; pulse.
        pub s_seq_valid: Signal<In, Bit>,
        /// The number.
        pub s_seq: Signal<In, Bits<6>>,
        /// There are numbers for the TLPs that may begin before this is heard of: three.
        pub m_room: Signal<Out, Bit>,
        /// Requests that are done.
        pub m_done: DmaDoneOut,
        /// Numbers are outstanding.
        pub m_busy: Signal<Out, Bit>,

        /// Oldest number outstanding, next one, how many.
        head: DFF<Bits<5>>,
        tail: DFF<Bits<5>>,
        count: DFF<Bits<6>>,
        /// A bit per number: it has returned.
        came: DFF<Bits<32>>,
        /// Of each number: ctx of the request 15:0 that is done with it 16.
        requests: AsyncRam<17, 5>,
        /// A number on its way in.
        a_valid: DFF<Bit>,
        a_seq: DFF<Bits<6>>,
        b_valid: DFF<Bit>,
        b_seq: DFF<Bits<6>>,
        /// How far it is behind the oldest; it is outstanding.
        place: Signal<Local, Bits<5>>,
        known: Signal<Local, Bit>,
        new: Signal<Local, Bits<32>>,
        /// The oldest has returned.
        retire: Signal<Local, Bit>,
        retired: Signal<Local, Bits<32>>,
        done: DFF<Bit>,
        done_ctx: DFF<Bits<16>>,
        one: Param<1, 32>,
    }
}

impl Logic for DmaWriteReturns {
    #[hdl_gen]
    fn update(&mut self) {
        self.a_valid.d.next = self.s_seq_valid.val();
        self.a_seq.d.next = self.s_seq.val();
        self.b_valid.d.next =
            self.a_valid.q.val() & (self.a_seq.q.val().get_bit(5) == self.s_lap.val());
        self.b_seq.d.next = self.a_seq.q.val();

        // Outstanding, or of the TLP that is being handed over.
        self.place.next = self.b_seq.q.val().get_bits::<5>(0) - self.head.q.val();
        self.known.next = self.b_valid.q.val()
            & ((bit_cast::<6, 5>(self.place.val()) < self.count.q.val())
                | ((bit_cast::<6, 5>(self.place.val()) == self.count.q.val())
                    & (self.s_within.val() | self.s_sent.val())));
        self.new.next = 0.into();
        if self.known.val() {
            self.new.next = self.one.val() << self.b_seq.q.val().get_bits::<5>(0);
        }
        self.retire.next =
            self.count.q.val().any() & (self.came.q.val() >> self.head.q.val()).get_bit(0);
        self.retired.next = 0.into();
        if self.retire.val() {
            self.retired.next = self.one.val() << self.head.q.val();
            self.head.d.next = self.head.q.val() + 1;
        }
        self.came.d.next = (self.came.q.val() | self.new.val()) & !self.retired.val();

        self.requests.wr.en.next = self.s_sent.val();
        self.requests.wr.addr.next = self.tail.q.val();
        self.requests.wr.data.next = bit_cast::<17, 16>(self.s_done.ctx.val())
            | (bit_cast::<17, 1>(self.s_done.valid.val().into()) << 16);
        self.requests.rd.addr.next = self.head.q.val();
        if self.s_sent.val() {
            self.tail.d.next = self.tail.q.val() + 1;
        }
        if self.s_sent.val() & !self.retire.val() {
            self.count.d.next = self.count.q.val() + 1;
        }
        if self.retire.val() & !self.s_sent.val() {
            self.count.d.next = self.count.q.val() - 1;
        }
        self.done.d.next = self.retire.val() & self.requests.rd.data.val().get_bit(16);
        self.done_ctx.d.next = self.requests.rd.data.val().get_bits::<16>(0);

        self.m_room.next = self.count.q.val() < 30;
        self.m_done.valid.next = self.done.q.val();
        self.m_done.ctx.next = self.done_ctx.q.val();
        self.m_busy.next = self.count.q.val().any() | self.s_sent.val() | self.done.q.val();
        if !self.enable.val() {
            self.m_room.next = true;
            self.m_done.valid.next = self.s_done.valid.val();
            self.m_done.ctx.next = self.s_done.ctx.val();
            self.m_busy.next = false;
        }
        if self.rst.val() | !self.enable.val() {
            self.head.d.next = 0.into();
            self.tail.d.next = 0.into();
            self.count.d.next = 0.into();
            self.came.d.next = 0.into();
            self.a_valid.d.next = false;
            self.b_valid.d.next = false;
            self.done.d.next = false;
        }
    }
}
