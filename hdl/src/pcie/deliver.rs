//! Words that the DMA reader has read, in the order of requests.

use crate::blocks::{FifoAhead, SkidBuffer};
use crate::bus::DmaReadWordsOut;
use crate::prelude::*;

hdl_module! {
    /// Hands out the words of the reads in the order in which they were asked for, as soon as a part (one tag) is there:
    /// reads the buffer, where each byte is at its address, and moves the words so that each request begins at byte 0.
    /// A word a clock; one clock more for a request at an address that is no multiple of 8; 3 clocks at least a part.
    /// Stages: 0 part known to be there, 1 word addressed, 2 read, 3 moved, 4 offered. They stand still together while
    /// the output is full.
    /// While they do, the word addressed in stage 1 is read again each clock, as its tag is given back only when it
    /// moves on; the word of stage 2 is kept in the output register of the RAM, as its place may be written anew.
    #[module("dma_deliver")]
    pub struct DmaDeliver {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset: forgets all parts.
        pub rst: Signal<In, Bit>,
        /// A part was asked for.
        pub s_valid: Signal<In, Bit>,
        /// There is room to note it.
        pub s_ready: Signal<Out, Bit>,
        /// Its tag.
        pub s_slot: Signal<In, Bits<5>>,
        /// Bits 8:3 of the address of its first byte.
        pub s_from: Signal<In, Bits<6>>,
        /// Bits 8:3 of the address of its last byte.
        pub s_to: Signal<In, Bits<6>>,
        /// First part of its request.
        pub s_first: Signal<In, Bit>,
        /// Last part of its request.
        pub s_last: Signal<In, Bit>,
        /// Bits 2:0 of the address of the request.
        pub s_offset: Signal<In, Bits<3>>,
        /// Bytes of the request less one, modulo 8.
        pub s_tail: Signal<In, Bits<3>>,
        /// ctx of the request.
        pub s_ctx: Signal<In, Bits<16>>,
        /// Tag of the oldest part.
        pub want_slot: Signal<Out, Bits<5>>,
        /// It waits for nothing.
        pub want_done: Signal<In, Bit>,
        /// Its read has failed.
        pub want_failed: Signal<In, Bit>,
        /// A part has been read from the buffer.
        pub give_valid: Signal<Out, Bit>,
        /// Its tag.
        pub give_slot: Signal<Out, Bits<5>>,
        /// Address in the buffer: tag 10:6, address bits 8:3 5:0.
        pub rd_addr: Signal<Out, Bits<11>>,
        /// The word addressed before is taken.
        pub rd_en: Signal<Out, Bit>,
        /// It.
        pub rd_data: Signal<In, Bits<64>>,
        /// The words of the requests, in the order of the requests.
        pub m_data: DmaReadWordsOut,
        /// A read that failed was handed out.
        pub ev_failed: Signal<Out, Bit>,

        /// Parts, oldest first: tag 4:0, words from 10:5 to 16:11, first 17, offset 20:18, tail 23:21, ctx 39:24,
        /// last 40, extra 41.
        order: FifoAhead<42, 5>,
        /// The tag of the oldest part is known.
        #[reset] asked: DFF<Bit>,
        want: DFF<Bits<5>>,
        /// The oldest part is there; it has failed.
        #[reset] there: DFF<Bit>,
        bad: DFF<Bit>,
        /// The part that is read: tag, next word, last word, request fields.
        #[reset] held: DFF<Bit>,
        slot: DFF<Bits<5>>,
        word: DFF<Bits<6>>,
        to: DFF<Bits<6>>,
        last: DFF<Bit>,
        offset: DFF<Bits<3>>,
        tail: DFF<Bits<3>>,
        ctx: DFF<Bits<16>>,
        /// The next word is the first of the request; a part of the request has failed.
        start: DFF<Bit>,
        error: DFF<Bit>,
        /// The bytes of the last word of the buffer fill a word of their own.
        extra: DFF<Bit>,
        /// That one is next.
        tailing: DFF<Bit>,
        /// Of the part that comes in: see extra.
        beyond: Signal<Local, Bits<4>>,
        s_extra: Signal<Local, Bit>,
        /// The stages move.
        go: Signal<Local, Bit>,
        load: Signal<Local, Bit>,
        /// The next word is the last of the part.
        at_end: DFF<Bit>,
        done: Signal<Local, Bit>,
        part: Signal<Local, Bits<42>>,
        address: Signal<Local, Bits<11>>,
        /// Stage 1: address, a word comes of it, it is the request's last, the part's last.
        #[reset] a_valid: DFF<Bit>,
        a_address: DFF<Bits<11>>,
        a_emit: DFF<Bit>,
        a_last: DFF<Bit>,
        a_give: DFF<Bit>,
        a_offset: DFF<Bits<3>>,
        a_tail: DFF<Bits<3>>,
        a_ctx: DFF<Bits<16>>,
        a_error: DFF<Bit>,
        /// Stage 2: a word has been read, a word comes of it, and so on.
        #[reset] b_valid: DFF<Bit>,
        #[reset] b_emit: DFF<Bit>,
        b_last: DFF<Bit>,
        b_offset: DFF<Bits<3>>,
        b_tail: DFF<Bits<3>>,
        b_ctx: DFF<Bits<16>>,
        b_error: DFF<Bit>,
        /// The word before.
        prior: DFF<Bits<64>>,
        moved: Signal<Local, Bits<64>>,
        leaving: SkidBuffer<85>,
        #[reset] failed: DFF<Bit>,
    }
}

impl Logic for DmaDeliver {
    #[hdl_gen]
    fn update(&mut self) {
        self.go.next = self.leaving.s.ready.val();

        // A request that begins in the middle of a word of the buffer ends there too, or one further.
        self.beyond.next =
            bit_cast::<4, 3>(self.s_offset.val()) + bit_cast::<4, 3>(self.s_tail.val());
        self.s_extra.next =
            self.s_last.val() & self.s_offset.val().any() & !self.beyond.val().get_bit(3);
        self.order.s.valid.next = self.s_valid.val();
        self.order.s.data.next = bit_cast::<42, 5>(self.s_slot.val())
            | (bit_cast::<42, 6>(self.s_from.val()) << 5)
            | (bit_cast::<42, 6>(self.s_to.val()) << 11)
            | (bit_cast::<42, 1>(self.s_first.val().into()) << 17)
            | (bit_cast::<42, 3>(self.s_offset.val()) << 18)
            | (bit_cast::<42, 3>(self.s_tail.val()) << 21)
            | (bit_cast::<42, 16>(self.s_ctx.val()) << 24)
            | (bit_cast::<42, 1>(self.s_last.val().into()) << 40)
            | (bit_cast::<42, 1>(self.s_extra.val().into()) << 41);
        self.s_ready.next = self.order.s.ready.val();
        self.part.next = self.order.m.data.val();
        self.want_slot.next = self.want.q.val();

        // Stage 0: words of the part at hand; the next part if it is there.
        self.done.next = self.go.val()
            & self.held.q.val()
            & (self.tailing.q.val() | (self.at_end.q.val() & !self.extra.q.val()));
        self.load.next = self.there.q.val() & (self.done.val() | !self.held.q.val());
        self.order.m.ready.next = self.load.val();
        self.asked.d.next = self.order.m.valid.val() & !self.load.val();
        self.want.d.next = self.part.val().get_bits::<5>(0);
        self.there.d.next = self.asked.q.val() & self.want_done.val() & !self.load.val();
        self.bad.d.next = self.want_failed.val();
        if self.go.val() & self.held.q.val() {
            self.start.d.next = false;
            self.word.d.next = self.word.q.val() + 1;
            self.at_end.d.next = self.word.q.val() + 1 == self.to.q.val();
            self.tailing.d.next = self.at_end.q.val() & self.extra.q.val();
        }
        if self.done.val() {
            self.held.d.next = false;
        }
        if self.load.val() {
            self.held.d.next = true;
            self.tailing.d.next = false;
            self.slot.d.next = self.part.val().get_bits::<5>(0);
            self.word.d.next = self.part.val().get_bits::<6>(5);
            self.to.d.next = self.part.val().get_bits::<6>(11);
            self.at_end.d.next =
                self.part.val().get_bits::<6>(5) == self.part.val().get_bits::<6>(11);
            self.start.d.next = self.part.val().get_bit(17);
            self.offset.d.next = self.part.val().get_bits::<3>(18);
            self.tail.d.next = self.part.val().get_bits::<3>(21);
            self.ctx.d.next = self.part.val().get_bits::<16>(24);
            self.last.d.next = self.part.val().get_bit(40);
            self.extra.d.next = self.part.val().get_bit(41);
            self.error.d.next =
                self.bad.q.val() | (self.error.q.val() & !self.part.val().get_bit(17));
        }

        // Stage 1: a word is addressed, again and again while nothing moves.
        self.address.next =
            (bit_cast::<11, 5>(self.slot.q.val()) << 6) | bit_cast::<11, 6>(self.word.q.val());
        self.rd_addr.next = self.a_address.q.val();
        self.rd_en.next = self.go.val();
        self.give_valid.next = self.go.val() & self.a_valid.q.val() & self.a_give.q.val();
        self.give_slot.next = self.a_address.q.val().get_bits::<5>(6);
        if self.go.val() {
            self.rd_addr.next = self.address.val();
            self.a_valid.d.next = self.held.q.val();
            self.a_address.d.next = self.address.val();
            self.a_emit.d.next = !self.start.q.val() | !self.offset.q.val().any();
            self.a_last.d.next = self.last.q.val() & self.done.val();
            self.a_give.d.next = self.done.val();
            self.a_offset.d.next = self.offset.q.val();
            self.a_tail.d.next = self.tail.q.val();
            self.a_ctx.d.next = self.ctx.q.val();
            self.a_error.d.next = self.error.q.val();

            // Stage 2: it is read.
            self.b_valid.d.next = self.a_valid.q.val();
            self.b_emit.d.next = self.a_valid.q.val() & self.a_emit.q.val();
            self.b_last.d.next = self.a_last.q.val();
            self.b_offset.d.next = self.a_offset.q.val();
            self.b_tail.d.next = 7.into();
            if self.a_last.q.val() {
                self.b_tail.d.next = self.a_tail.q.val();
            }
            self.b_ctx.d.next = self.a_ctx.q.val();
            self.b_error.d.next = self.a_error.q.val() & self.a_last.q.val();

            // Stage 3: it is moved.
            if self.b_valid.q.val() {
                self.prior.d.next = self.rd_data.val();
            }
        }
        self.moved.next = self.rd_data.val();
        if self.b_offset.q.val() == 1 {
            self.moved.next = (self.rd_data.val() << 56) | (self.prior.q.val() >> 8);
        }
        if self.b_offset.q.val() == 2 {
            self.moved.next = (self.rd_data.val() << 48) | (self.prior.q.val() >> 16);
        }
        if self.b_offset.q.val() == 3 {
            self.moved.next = (self.rd_data.val() << 40) | (self.prior.q.val() >> 24);
        }
        if self.b_offset.q.val() == 4 {
            self.moved.next = (self.rd_data.val() << 32) | (self.prior.q.val() >> 32);
        }
        if self.b_offset.q.val() == 5 {
            self.moved.next = (self.rd_data.val() << 24) | (self.prior.q.val() >> 40);
        }
        if self.b_offset.q.val() == 6 {
            self.moved.next = (self.rd_data.val() << 16) | (self.prior.q.val() >> 48);
        }
        if self.b_offset.q.val() == 7 {
            self.moved.next = (self.rd_data.val() << 8) | (self.prior.q.val() >> 56);
        }

        // Stage 4.
        self.leaving.s.valid.next = self.b_emit.q.val();
        self.leaving.s.data.next = bit_cast::<85, 64>(self.moved.val())
            | (bit_cast::<85, 3>(self.b_tail.q.val()) << 64)
            | (bit_cast::<85, 1>(self.b_last.q.val().into()) << 67)
            | (bit_cast::<85, 1>(self.b_error.q.val().into()) << 68)
            | (bit_cast::<85, 16>(self.b_ctx.q.val()) << 69);
        self.m_data.valid.next = self.leaving.m.valid.val();
        self.leaving.m.ready.next = self.m_data.ready.val();
        self.m_data.of.next.data = self.leaving.m.data.val().get_bits::<64>(0);
        self.m_data.of.next.bytes = self.leaving.m.data.val().get_bits::<3>(64);
        self.m_data.of.next.last = self.leaving.m.data.val().get_bit(67);
        self.m_data.of.next.error = self.leaving.m.data.val().get_bit(68);
        self.m_data.of.next.ctx = self.leaving.m.data.val().get_bits::<16>(69);
        self.failed.d.next = self.leaving.m.valid.val()
            & self.m_data.ready.val()
            & self.leaving.m.data.val().get_bit(68);
        self.ev_failed.next = self.failed.q.val();
    }
}
