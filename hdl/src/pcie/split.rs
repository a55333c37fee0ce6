//! Cuts a request of the card into accesses that one TLP may make.

use crate::bus::DmaRequestIn;
use crate::prelude::*;

hdl_module! {
    /// Cuts requests into parts that end at multiples of the part size (128, 256 or 512 bytes), and gives each the fields
    /// of its TLP. No part crosses 4 KiB or is longer than the part size.
    /// A part every 4 clocks, and one clock more for each but the first of a request.
    /// Stages (one request at a time): 0 taken, 1 end of the part, 2 length and byte enables, 3 offered, 4 next address.
    /// A request of 0 bytes is taken and forgotten.
    /// While a part is not taken all its fields stay; cfg_size may change and counts from the next part on.
    #[module("dma_split")]
    pub struct DmaSplit {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset: forgets the request.
        pub rst: Signal<In, Bit>,
        /// Part size: 0 128 bytes, 1 256, from 2 on 512.
        pub cfg_size: Signal<In, Bits<3>>,
        /// Requests.
        pub s_req: DmaRequestIn,
        /// A part.
        pub m_valid: Signal<Out, Bit>,
        /// It is taken.
        pub m_ready: Signal<In, Bit>,
        /// Address of its first byte.
        pub m_addr: Signal<Out, Bits<64>>,
        /// Bits 8:0 of the address of its last byte.
        pub m_end: Signal<Out, Bits<9>>,
        /// Bytes, 1 to 512.
        pub m_bytes: Signal<Out, Bits<10>>,
        /// 32-bit words that it touches, 1 to 128.
        pub m_dwords: Signal<Out, Bits<8>>,
        /// First DW BE.
        pub m_first_be: Signal<Out, Bits<4>>,
        /// Last DW BE.
        pub m_last_be: Signal<Out, Bits<4>>,
        /// The address needs 64 bits: a header of four words.
        pub m_wide: Signal<Out, Bit>,
        /// First part of its request.
        pub m_first: Signal<Out, Bit>,
        /// Last part of its request.
        pub m_last: Signal<Out, Bit>,
        /// Bits 2:0 of the address of the request.
        pub m_offset: Signal<Out, Bits<3>>,
        /// Bytes of the request less one, modulo 8.
        pub m_tail: Signal<Out, Bits<3>>,
        /// 64-bit words of the request, packed from byte 0.
        pub m_words: Signal<Out, Bits<10>>,
        /// ctx of the request.
        pub m_ctx: Signal<Out, Bits<16>>,
        /// Stage.
        #[reset] step: DFF<Bits<3>>,
        /// Address of the part, its upper half one clock late.
        low: DFF<Bits<32>>,
        high: DFF<Bits<32>>,
        /// The upper half goes up by one.
        carry: DFF<Bit>,
        /// Bytes left of the request, less one.
        left: DFF<Bits<13>>,
        /// Fields of the request and of the part.
        first: DFF<Bit>,
        last: DFF<Bit>,
        wide: DFF<Bit>,
        offset: DFF<Bits<3>>,
        tail: DFF<Bits<3>>,
        words: DFF<Bits<10>>,
        ctx: DFF<Bits<16>>,
        upto: DFF<Bits<9>>,
        bytes: DFF<Bits<10>>,
        dwords: DFF<Bits<8>>,
        first_be: DFF<Bits<4>>,
        last_be: DFF<Bits<4>>,
        /// Bytes in front of the part since the last multiple of the part size.
        ahead: Signal<Local, Bits<14>>,
        /// The last byte of the request, from there.
        reach: Signal<Local, Bits<14>>,
        /// It is in this part.
        fits: Signal<Local, Bit>,
        /// Last byte of the part from there.
        stop: Signal<Local, Bits<9>>,
        /// Bits of the address above the part size.
        above: Signal<Local, Bits<9>>,
        less_one: Signal<Local, Bits<13>>,
        first_mask: Signal<Local, Bits<4>>,
        last_mask: Signal<Local, Bits<4>>,
        next_low: Signal<Local, Bits<33>>,
        all: Param<15, 4>,
    }
}

impl Logic for DmaSplit {
    #[hdl_gen]
    fn update(&mut self) {
        self.s_req.ready.next = self.step.q.val() == 0;
        self.less_one.next = self.s_req.of.val().len - 1;
        if self.step.q.val() == 0 {
            self.low.d.next = self.s_req.of.val().addr.get_bits::<32>(0);
            self.high.d.next = self.s_req.of.val().addr.get_bits::<32>(32);
            self.carry.d.next = false;
            self.left.d.next = self.less_one.val();
            self.first.d.next = true;
            self.offset.d.next = self.s_req.of.val().addr.get_bits::<3>(0);
            self.tail.d.next = self.less_one.val().get_bits::<3>(0);
            self.words.d.next = self.less_one.val().get_bits::<10>(3);
            self.ctx.d.next = self.s_req.of.val().ctx;
            if self.s_req.valid.val() {
                self.step.d.next = 1.into();
            }
        }

        // Stage 1: where the part ends.
        self.ahead.next = bit_cast::<14, 9>(self.low.q.val().get_bits::<9>(0));
        self.above.next = 0.into();
        if self.cfg_size.val() == 0 {
            self.ahead.next = bit_cast::<14, 7>(self.low.q.val().get_bits::<7>(0));
            self.above.next = bit_cast::<9, 2>(self.low.q.val().get_bits::<2>(7)) << 7;
        }
        if self.cfg_size.val() == 1 {
            self.ahead.next = bit_cast::<14, 8>(self.low.q.val().get_bits::<8>(0));
            self.above.next = bit_cast::<9, 1>(self.low.q.val().get_bits::<1>(8)) << 8;
        }
        self.reach.next = self.ahead.val() + bit_cast::<14, 13>(self.left.q.val());
        self.fits.next = !self.reach.val().get_bits::<5>(9).any();
        self.stop.next = self.reach.val().get_bits::<9>(0);
        if !self.fits.val() {
            self.stop.next = 511.into();
        }
        if self.cfg_size.val() == 0 {
            self.fits.next = !self.reach.val().get_bits::<7>(7).any();
            self.stop.next = bit_cast::<9, 7>(self.reach.val().get_bits::<7>(0));
            if self.reach.val().get_bits::<7>(7).any() {
                self.stop.next = 127.into();
            }
        }
        if self.cfg_size.val() == 1 {
            self.fits.next = !self.reach.val().get_bits::<6>(8).any();
            self.stop.next = bit_cast::<9, 8>(self.reach.val().get_bits::<8>(0));
            if self.reach.val().get_bits::<6>(8).any() {
                self.stop.next = 255.into();
            }
        }
        if self.step.q.val() == 1 {
            self.high.d.next = self.high.q.val() + bit_cast::<32, 1>(self.carry.q.val().into());
            self.upto.d.next = self.stop.val() | self.above.val();
            self.last.d.next = self.fits.val();
            if self.first.q.val() {
                self.words.d.next = self.words.q.val() + 1;
            }
            self.step.d.next = 2.into();
            // A request of no bytes has no part.
            if self.left.q.val().all() {
                self.step.d.next = 0.into();
            }
        }

        // Stage 2: length and byte enables; a part of one 32-bit word has no last one.
        self.first_mask.next = self.all.val() << self.low.q.val().get_bits::<2>(0);
        self.last_mask.next = self.all.val() >> (bits::<2>(3) - self.upto.q.val().get_bits::<2>(0));
        if self.step.q.val() == 2 {
            self.wide.d.next = self.high.q.val().any();
            self.bytes.d.next = bit_cast::<10, 9>(self.upto.q.val())
                - bit_cast::<10, 9>(self.low.q.val().get_bits::<9>(0))
                + 1;
            self.dwords.d.next = bit_cast::<8, 7>(self.upto.q.val().get_bits::<7>(2))
                - bit_cast::<8, 7>(self.low.q.val().get_bits::<7>(2))
                + 1;
            self.first_be.d.next = self.first_mask.val();
            self.last_be.d.next = self.last_mask.val();
            if self.upto.q.val().get_bits::<7>(2) == self.low.q.val().get_bits::<7>(2) {
                self.first_be.d.next = self.first_mask.val() & self.last_mask.val();
                self.last_be.d.next = 0.into();
            }
            self.step.d.next = 3.into();
        }

        // Stage 3: offered.
        if (self.step.q.val() == 3) & self.m_ready.val() {
            self.step.d.next = 4.into();
            if self.last.q.val() {
                self.step.d.next = 0.into();
            }
        }

        // Stage 4: behind the part.
        self.next_low.next = bit_cast::<33, 32>(
            (self.low.q.val().get_bits::<32>(9) << 9) | bit_cast::<32, 9>(self.upto.q.val()),
        ) + 1;
        if self.step.q.val() == 4 {
            self.low.d.next = self.next_low.val().get_bits::<32>(0);
            self.carry.d.next = self.next_low.val().get_bit(32);
            self.left.d.next = self.left.q.val() - bit_cast::<13, 10>(self.bytes.q.val());
            self.first.d.next = false;
            self.step.d.next = 1.into();
        }

        self.m_valid.next = self.step.q.val() == 3;
        self.m_addr.next =
            bit_cast::<64, 32>(self.low.q.val()) | (bit_cast::<64, 32>(self.high.q.val()) << 32);
        self.m_end.next = self.upto.q.val();
        self.m_bytes.next = self.bytes.q.val();
        self.m_dwords.next = self.dwords.q.val();
        self.m_first_be.next = self.first_be.q.val();
        self.m_last_be.next = self.last_be.q.val();
        self.m_wide.next = self.wide.q.val();
        self.m_first.next = self.first.q.val();
        self.m_last.next = self.last.q.val();
        self.m_offset.next = self.offset.q.val();
        self.m_tail.next = self.tail.q.val();
        self.m_words.next = self.words.q.val();
        self.m_ctx.next = self.ctx.q.val();
    }
}
