//! Completions of the DMA reader: checked, and their data to the place where it belongs.

use crate::blocks::AsyncRam;
use crate::bus::{RamWriteOut, TlpRxCompletionIn};
use crate::prelude::*;
use tributary_protocol::pcie::TYPE_COMPLETION;

hdl_module! {
    /// Takes completions, in any order between tags and cut anywhere at a 32-bit word, checks
    /// each against what is still expected of its tag, and writes its data to the buffer: 512
    /// bytes a tag, each byte at its address modulo 512.
    /// A word a clock. A completion is not followed by another for 2 clocks if it is that short.
    /// Stages: 1 word registered, what is expected of the tag is read; 2 compared; 3 decided,
    /// expectation written back; 4 length counted; 5 word written to the buffer, end_*.
    /// A completion for a tag that expects nothing changes nothing (ev_stray).
    #[module("dma_completions")]
    pub struct DmaCompletions {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset: the rest of a completion under way is dropped.
        pub rst: Signal<In, Bit>,
        /// Function-level reset: a completion under way is late.
        pub flr: Signal<In, Bit>,
        /// Requester ID of this card.
        pub requester_id: Signal<In, Bits<16>>,
        /// Completions from the host.
        pub s_rx_cpl_tlp: TlpRxCompletionIn<64, 2>,
        /// A tag is given a read to expect.
        pub set_valid: Signal<In, Bit>,
        /// It can be now.
        pub set_ready: Signal<Out, Bit>,
        /// The tag.
        pub set_slot: Signal<In, Bits<5>>,
        /// Bits 8:0 of the address of the first byte.
        pub set_addr: Signal<In, Bits<9>>,
        /// Bytes.
        pub set_bytes: Signal<In, Bits<10>>,
        /// Tag to be looked up.
        pub look_slot: Signal<Out, Bits<5>>,
        /// It waits for completions.
        pub look_waits: Signal<In, Bit>,
        /// It was given up.
        pub look_late: Signal<In, Bit>,
        /// A tag is given up.
        pub tmo_valid: Signal<In, Bit>,
        /// The tag.
        pub tmo_slot: Signal<In, Bits<5>>,
        /// A completion has ended that its tag did expect, or would have.
        pub end_valid: Signal<Out, Bit>,
        /// The tag.
        pub end_slot: Signal<Out, Bits<5>>,
        /// The tag waits no more.
        pub end_done: Signal<Out, Bit>,
        /// Its read has failed.
        pub end_failed: Signal<Out, Bit>,
        /// It waits no more, but other completions for the read may come.
        pub end_late: Signal<Out, Bit>,
        /// No more completions come for the read.
        pub end_over: Signal<Out, Bit>,
        /// Write port of the 32-bit words at even places of the buffer.
        pub m_even: RamWriteOut<32, 11>,
        /// Write port of the words at odd places.
        pub m_odd: RamWriteOut<32, 11>,
        /// A completion was dropped: nobody waits for it.
        pub ev_stray: Signal<Out, Bit>,

        /// Of each tag: bytes still expected 9:0, bits 8:0 of their address 18:10.
        expected: AsyncRam<19, 5>,
        /// The stream moves; the word before was a first one; it was a whole completion.
        #[reset] ready: DFF<Bit>,
        #[reset] after_first: DFF<Bit>,
        #[reset] after_single: DFF<Bit>,
        taken: Signal<Local, Bit>,
        /// Stage 1: a word and the fields of its header.
        #[reset] r_valid: DFF<Bit>,
        r_sop: DFF<Bit>,
        r_eop: DFF<Bit>,
        r_data: DFF<Bits<64>>,
        r_strb: DFF<Bits<2>>,
        r_error: DFF<Bits<4>>,
        r_hdr: DFF<Bits<96>>,
        /// Stage 2.
        #[reset] c_valid: DFF<Bit>,
        c_sop: DFF<Bit>,
        c_eop: DFF<Bit>,
        c_data: DFF<Bits<64>>,
        c_strb: DFF<Bits<2>>,
        /// It is a completion with or without data and for this card; it has data; its status is not success; it is
        /// poisoned; the interface says that it is no good.
        c_ours: DFF<Bit>,
        c_has_data: DFF<Bit>,
        c_refused: DFF<Bit>,
        c_poisoned: DFF<Bit>,
        c_bad: DFF<Bit>,
        c_slot: DFF<Bits<5>>,
        /// Byte Count, Lower Address, Length, bytes that the length has room for.
        c_count: DFF<Bits<12>>,
        c_lower: DFF<Bits<7>>,
        c_length: DFF<Bits<10>>,
        c_room: DFF<Bits<13>>,
        /// What is expected.
        c_bytes: DFF<Bits<10>>,
        c_addr: DFF<Bits<9>>,
        /// Stage 3.
        #[reset] d_valid: DFF<Bit>,
        d_sop: DFF<Bit>,
        d_eop: DFF<Bit>,
        d_data: DFF<Bits<64>>,
        d_strb: DFF<Bits<2>>,
        d_ours: DFF<Bit>,
        d_has_data: DFF<Bit>,
        d_refused: DFF<Bit>,
        d_poisoned: DFF<Bit>,
        d_bad: DFF<Bit>,
        d_slot: DFF<Bits<5>>,
        d_length: DFF<Bits<10>>,
        d_addr: DFF<Bits<9>>,
        /// Bytes that the length has too many; negative: bytes that are still to come.
        d_spare: DFF<Bits<13>>,
        /// Something is expected; Byte Count and Lower Address are as expected.
        d_open: DFF<Bit>,
        d_match: DFF<Bit>,
        /// The tag waits, was given up.
        d_waits: DFF<Bit>,
        d_late: DFF<Bit>,
        gone: Signal<Local, Bit>,
        first: Signal<Local, Bit>,
        given_up: Signal<Local, Bit>,
        more: Signal<Local, Bit>,
        sane: Signal<Local, Bit>,
        ends: Signal<Local, Bit>,
        to_come: Signal<Local, Bits<10>>,
        /// Stage 4: the completion under way is for a read that waits, for one that was given up.
        #[reset] reads: DFF<Bit>,
        #[reset] late: DFF<Bit>,
        #[reset] e_valid: DFF<Bit>,
        e_eop: DFF<Bit>,
        e_data: DFF<Bits<64>>,
        e_strb: DFF<Bits<2>>,
        e_slot: DFF<Bits<5>>,
        /// Place of the word, in units of 32 bits.
        e_place: DFF<Bits<7>>,
        /// What its end means: the read waits no more, it failed, more may come, no more come.
        e_done: DFF<Bit>,
        e_failed: DFF<Bit>,
        e_late: DFF<Bit>,
        e_over: DFF<Bit>,
        /// 32-bit words that are missing; a word had a hole or an error.
        missing: DFF<Bits<10>>,
        ragged: DFF<Bit>,
        /// A completion has begun and not ended.
        #[reset] open: DFF<Bit>,
        words: Signal<Local, Bits<10>>,
        ragged_now: Signal<Local, Bit>,
        whole: Signal<Local, Bit>,
        cut: Signal<Local, Bit>,
        /// Stage 5.
        #[reset] w_even: DFF<Bit>,
        w_even_addr: DFF<Bits<11>>,
        w_even_data: DFF<Bits<32>>,
        #[reset] w_odd: DFF<Bit>,
        w_odd_addr: DFF<Bits<11>>,
        w_odd_data: DFF<Bits<32>>,
        #[reset] f_valid: DFF<Bit>,
        f_slot: DFF<Bits<5>>,
        f_done: DFF<Bit>,
        f_failed: DFF<Bit>,
        f_late: DFF<Bit>,
        f_over: DFF<Bit>,
        #[reset] stray: DFF<Bit>,
        /// Type of a completion.
        completion: Param<{ TYPE_COMPLETION as usize }, 5>,
    }
}

impl Logic for DmaCompletions {
    #[hdl_gen]
    fn update(&mut self) {
        // First words are 3 clocks apart: what is expected is read in one and written in the third.
        self.s_rx_cpl_tlp.ready.next = self.ready.q.val();
        self.taken.next = self.s_rx_cpl_tlp.valid.val() & self.ready.q.val();
        self.after_first.d.next = self.taken.val() & self.s_rx_cpl_tlp.sop.val();
        self.after_single.d.next =
            self.taken.val() & self.s_rx_cpl_tlp.sop.val() & self.s_rx_cpl_tlp.eop.val();
        self.ready.d.next = !self.after_single.q.val();
        if self.taken.val() & self.s_rx_cpl_tlp.eop.val() {
            self.ready.d.next = !self.s_rx_cpl_tlp.sop.val() & !self.after_first.q.val();
        }

        // Stage 1.
        self.r_valid.d.next = self.taken.val();
        self.r_sop.d.next = self.s_rx_cpl_tlp.sop.val();
        self.r_eop.d.next = self.s_rx_cpl_tlp.eop.val();
        self.r_data.d.next = self.s_rx_cpl_tlp.data.val();
        self.r_strb.d.next = self.s_rx_cpl_tlp.strb.val();
        self.r_error.d.next = self.s_rx_cpl_tlp.error.val();
        self.r_hdr.d.next = self.s_rx_cpl_tlp.hdr.val().get_bits::<96>(32);

        // Stage 2: DW0 is 95:64, DW1 63:32, DW2 31:0.
        self.c_valid.d.next = self.r_valid.q.val();
        self.c_sop.d.next = self.r_sop.q.val();
        self.c_eop.d.next = self.r_eop.q.val();
        self.c_data.d.next = self.r_data.q.val();
        self.c_strb.d.next = self.r_strb.q.val();
        self.c_ours.d.next = (self.r_hdr.q.val().get_bits::<5>(88) == self.completion.val())
            & !self.r_hdr.q.val().get_bit(95)
            & !self.r_hdr.q.val().get_bit(93)
            & !self.r_hdr.q.val().get_bit(87)
            & !self.r_hdr.q.val().get_bit(83)
            & !self.r_hdr.q.val().get_bits::<3>(13).any()
            & (self.r_hdr.q.val().get_bits::<16>(16) == self.requester_id.val());
        self.c_has_data.d.next = self.r_hdr.q.val().get_bit(94);
        self.c_refused.d.next = self.r_hdr.q.val().get_bits::<3>(45).any();
        self.c_poisoned.d.next = self.r_hdr.q.val().get_bit(78) | (self.r_error.q.val() == 1);
        self.c_bad.d.next = self.r_error.q.val().get_bits::<3>(1).any()
            | (self.r_error.q.val().get_bit(0) & !self.r_sop.q.val());
        self.c_slot.d.next = self.r_hdr.q.val().get_bits::<5>(8);
        self.c_count.d.next = self.r_hdr.q.val().get_bits::<12>(32);
        self.c_lower.d.next = self.r_hdr.q.val().get_bits::<7>(0);
        self.c_length.d.next = self.r_hdr.q.val().get_bits::<10>(64);
        self.c_room.d.next = (bit_cast::<13, 10>(self.r_hdr.q.val().get_bits::<10>(64)) << 2)
            - bit_cast::<13, 2>(self.r_hdr.q.val().get_bits::<2>(0));
        self.expected.rd.addr.next = self.r_hdr.q.val().get_bits::<5>(8);
        self.c_bytes.d.next = self.expected.rd.data.val().get_bits::<10>(0);
        self.c_addr.d.next = self.expected.rd.data.val().get_bits::<9>(10);

        // Stage 3: compared; whether the tag waits, unless it is given up in this very clock.
        self.look_slot.next = self.c_slot.q.val();
        self.gone.next =
            self.flr.val() | (self.tmo_valid.val() & (self.tmo_slot.val() == self.c_slot.q.val()));
        self.d_waits.d.next = self.look_waits.val() & !self.gone.val();
        self.d_late.d.next = self.look_late.val() | (self.look_waits.val() & self.gone.val());
        self.d_valid.d.next = self.c_valid.q.val();
        self.d_sop.d.next = self.c_sop.q.val();
        self.d_eop.d.next = self.c_eop.q.val();
        self.d_data.d.next = self.c_data.q.val();
        self.d_strb.d.next = self.c_strb.q.val();
        self.d_ours.d.next = self.c_ours.q.val();
        self.d_has_data.d.next = self.c_has_data.q.val();
        self.d_refused.d.next = self.c_refused.q.val();
        self.d_poisoned.d.next = self.c_poisoned.q.val();
        self.d_bad.d.next = self.c_bad.q.val();
        self.d_slot.d.next = self.c_slot.q.val();
        self.d_length.d.next = self.c_length.q.val();
        self.d_addr.d.next = self.c_addr.q.val();
        self.d_spare.d.next = self.c_room.q.val() - bit_cast::<13, 12>(self.c_count.q.val());
        self.d_open.d.next = self.c_bytes.q.val().any();
        self.d_match.d.next = self.c_length.q.val().any()
            & (bit_cast::<12, 10>(self.c_bytes.q.val()) == self.c_count.q.val())
            & (self.c_addr.q.val().get_bits::<7>(0) == self.c_lower.q.val());

        // Decided with the first word: for a read that waits, for one that was given up, or stray.
        self.first.next = self.d_valid.q.val() & self.d_sop.q.val();
        self.given_up.next =
            self.flr.val() | (self.tmo_valid.val() & (self.tmo_slot.val() == self.d_slot.q.val()));
        self.more.next = self.d_spare.q.val().get_bit(12);
        self.sane.next = self.d_match.q.val()
            & self.d_has_data.q.val()
            & !self.d_bad.q.val()
            & (self.more.val() | !self.d_spare.q.val().get_bits::<10>(2).any());
        self.ends.next = self.d_refused.q.val() | !self.more.val() | !self.sane.val();
        if self.e_valid.q.val() & self.e_eop.q.val() {
            // What follows belongs to nothing unless it is a first word.
            self.reads.d.next = false;
            self.late.d.next = false;
        }
        if self.flr.val() | (self.tmo_valid.val() & (self.tmo_slot.val() == self.e_slot.q.val())) {
            self.reads.d.next = false;
            self.late.d.next = self.late.q.val() | self.reads.q.val();
        }
        self.stray.d.next = false;
        if self.first.val() {
            self.reads.d.next = self.d_ours.q.val()
                & self.d_waits.q.val()
                & self.d_open.q.val()
                & !self.given_up.val();
            self.late.d.next = self.d_ours.q.val()
                & (self.d_late.q.val()
                    | (self.d_waits.q.val() & self.d_open.q.val() & self.given_up.val()));
            self.stray.d.next = !self.d_ours.q.val()
                | !self.d_waits.q.val()
                | !self.d_open.q.val()
                | self.given_up.val();
            self.e_done.d.next = self.ends.val();
            self.e_failed.d.next =
                self.d_refused.q.val() | self.d_poisoned.q.val() | !self.sane.val();
            self.e_late.d.next = !self.d_refused.q.val() & !self.sane.val();
            self.e_over.d.next = self.d_refused.q.val() | !self.more.val();
        }
        self.ev_stray.next = self.stray.q.val();

        // What is expected next.
        self.to_come.next = bits::<10>(0) - self.d_spare.q.val().get_bits::<10>(0);
        self.expected.wr.en.next = self.set_valid.val();
        self.expected.wr.addr.next = self.set_slot.val();
        self.expected.wr.data.next = bit_cast::<19, 10>(self.set_bytes.val())
            | (bit_cast::<19, 9>(self.set_addr.val()) << 10);
        self.set_ready.next = !self.first.val();
        if self.first.val() {
            self.expected.wr.en.next =
                self.d_ours.q.val() & self.d_waits.q.val() & self.d_open.q.val();
            self.expected.wr.addr.next = self.d_slot.q.val();
            self.expected.wr.data.next = bit_cast::<19, 10>(self.to_come.val())
                | (bit_cast::<19, 7>(
                    self.d_addr.q.val().get_bits::<7>(2) + self.d_length.q.val().get_bits::<7>(0),
                ) << 12);
            if self.ends.val() {
                self.expected.wr.data.next = 0.into();
            }
        }

        // Stage 4: where the word goes, and whether all are there.
        self.e_valid.d.next = self.d_valid.q.val();
        self.e_eop.d.next = self.d_eop.q.val();
        self.e_data.d.next = self.d_data.q.val();
        self.e_strb.d.next = self.d_strb.q.val();
        self.ragged_now.next = self.d_bad.q.val()
            | (self.d_strb.q.val() == 2)
            | (!self.d_eop.q.val() & (self.d_strb.q.val() != 3));
        self.words.next = bit_cast::<10, 1>(self.d_strb.q.val().get_bits::<1>(0))
            + bit_cast::<10, 1>(self.d_strb.q.val().get_bits::<1>(1));
        if self.d_valid.q.val() {
            self.e_place.d.next = self.e_place.q.val() + 2;
            self.missing.d.next = self.missing.q.val() - self.words.val();
            self.ragged.d.next = self.ragged.q.val() | self.ragged_now.val();
            self.open.d.next = !self.d_eop.q.val();
            if self.d_sop.q.val() {
                self.e_slot.d.next = self.d_slot.q.val();
                self.e_place.d.next = self.d_addr.q.val().get_bits::<7>(2);
                self.missing.d.next = self.d_length.q.val() - self.words.val();
                self.ragged.d.next = self.ragged_now.val();
            }
        }

        // Stage 5: the end; a completion that another one cuts off has not been whole.
        self.cut.next = self.first.val() & self.open.q.val();
        self.whole.next = !self.missing.q.val().any() & !self.ragged.q.val() & !self.cut.val();
        self.f_valid.d.next = (self.reads.q.val() | self.late.q.val())
            & ((self.e_valid.q.val() & self.e_eop.q.val()) | self.cut.val());
        self.f_slot.d.next = self.e_slot.q.val();
        self.f_done.d.next = false;
        self.f_failed.d.next = false;
        self.f_late.d.next = false;
        self.f_over.d.next = self.e_over.q.val();
        if self.reads.q.val() {
            self.f_done.d.next = self.e_done.q.val();
            self.f_failed.d.next = self.e_failed.q.val();
            self.f_late.d.next = self.e_late.q.val();
            self.f_over.d.next = self.e_done.q.val() & !self.e_late.q.val();
            // A refusal has no data to be counted.
            if !self.whole.val() & !(self.e_over.q.val() & self.e_failed.q.val()) {
                self.f_done.d.next = true;
                self.f_failed.d.next = true;
                self.f_late.d.next = true;
                self.f_over.d.next = false;
            }
        }
        self.end_valid.next = self.f_valid.q.val();
        self.end_slot.next = self.f_slot.q.val();
        self.end_done.next = self.f_done.q.val();
        self.end_failed.next = self.f_failed.q.val();
        self.end_late.next = self.f_late.q.val();
        self.end_over.next = self.f_over.q.val();

        // An even place takes the lower half to the even words; an odd one the upper half, one further.
        self.w_even.d.next =
            self.e_valid.q.val() & self.reads.q.val() & self.e_strb.q.val().get_bit(0);
        self.w_even_addr.d.next = (bit_cast::<11, 5>(self.e_slot.q.val()) << 6)
            | bit_cast::<11, 6>(self.e_place.q.val().get_bits::<6>(1));
        self.w_even_data.d.next = self.e_data.q.val().get_bits::<32>(0);
        self.w_odd.d.next =
            self.e_valid.q.val() & self.reads.q.val() & self.e_strb.q.val().get_bit(1);
        self.w_odd_addr.d.next = (bit_cast::<11, 5>(self.e_slot.q.val()) << 6)
            | bit_cast::<11, 6>(self.e_place.q.val().get_bits::<6>(1));
        self.w_odd_data.d.next = self.e_data.q.val().get_bits::<32>(32);
        if self.e_place.q.val().get_bit(0) {
            self.w_even.d.next =
                self.e_valid.q.val() & self.reads.q.val() & self.e_strb.q.val().get_bit(1);
            self.w_even_addr.d.next = (bit_cast::<11, 5>(self.e_slot.q.val()) << 6)
                | bit_cast::<11, 6>(self.e_place.q.val().get_bits::<6>(1) + 1);
            self.w_even_data.d.next = self.e_data.q.val().get_bits::<32>(32);
            self.w_odd.d.next =
                self.e_valid.q.val() & self.reads.q.val() & self.e_strb.q.val().get_bit(0);
            self.w_odd_data.d.next = self.e_data.q.val().get_bits::<32>(0);
        }
        self.m_even.en.next = self.w_even.q.val();
        self.m_even.addr.next = self.w_even_addr.q.val();
        self.m_even.data.next = self.w_even_data.q.val();
        self.m_odd.en.next = self.w_odd.q.val();
        self.m_odd.addr.next = self.w_odd_addr.q.val();
        self.m_odd.data.next = self.w_odd_data.q.val();
    }
}
