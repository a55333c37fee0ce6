//! Frames that a reduction engine sends: results, and frames that pass.

use crate::blocks::{AsyncRam, OneHotMux};
use crate::bus::FramesOut;
use crate::prelude::*;
use crate::switch::ByteSwap;
use tributary_protocol::red::{Op, address, wire};

/// Version and length.
const FIRST: usize = (wire::VERSION as usize) << 24 | wire::LENGTH as usize;
/// Time to live and protocol.
const THIRD: usize = (wire::TTL as usize) << 8 | wire::PROTOCOL as usize;

hdl_module! {
    /// Sends the results of descriptors and the frames that pass, in the order in which they
    /// came, one word a clock and frame behind frame.
    /// Clocks from j_valid: 1 in the queue, 2 job taken and tables read, what is known of its first word put together, 3 the rest, 4
    /// registered, 5 m_valid; header words first, so the values may still be in the lane: a word
    /// that is written after it was read is put right on its way (w_*), and the result code is
    /// wanted in clock 11 only.
    /// While the output stalls, the word that is composed (c_*), the one behind it (p_*) and the one at the output
    /// (held_*) are held. What may change meanwhile: a word of the result that was still in the lane is written, and
    /// taken over in c_*, and in p_* one clock after c_*; jobs come in; other descriptors and places change. The
    /// descriptor itself must not be anybody else's while c_* takes words over: it is freed (done_*) when its last word
    /// leaves c_*, not when that is read. A place of the frame buffer is read once, so it is freed with its last read.
    #[module("red_emit")]
    pub struct RedEmit {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset: nothing to send.
        pub rst: Signal<In, Bit>,
        /// Send the result of a descriptor.
        pub j_valid: Signal<In, Bit>,
        /// Which.
        pub j_index: Signal<In, Bits<3>>,
        /// Send a frame unchanged; never together with j_valid.
        pub p_valid: Signal<In, Bit>,
        /// Its place in the buffer.
        pub p_slot: Signal<In, Bits<2>>,
        /// Source address of results.
        pub cfg_address: Signal<In, Bits<32>>,
        /// Ethertype.
        pub cfg_ethertype: Signal<In, Bits<16>>,
        /// Descriptor whose result is sent.
        pub q_index: Signal<Out, Bits<3>>,
        /// Word of its value.
        pub q_word: Signal<Out, Bits<2>>,
        /// The word, in the same clock.
        pub q_data: Signal<In, Bits<64>>,
        /// A word is written now.
        pub w_valid: Signal<In, Bit>,
        /// Its descriptor and number.
        pub w_place: Signal<In, Bits<5>>,
        /// The word that was written in the clock before.
        pub w_data: Signal<In, Bits<64>>,
        /// Result code.
        pub q_rc: Signal<In, Bits<4>>,
        /// Word that overflowed.
        pub q_oflow: Signal<In, Bits<2>>,
        /// Weight of the top word.
        pub q_m: Signal<In, Bits<8>>,
        /// Key 15:0, VNI 31:16, cookie as it stands in the frame.
        pub q_key: Signal<In, Bits<64>>,
        /// Sequence number.
        pub q_seqno: Signal<In, Bits<10>>,
        /// Contributions.
        pub q_count: Signal<In, Bits<20>>,
        /// Operation.
        pub q_op: Signal<In, Bits<6>>,
        /// Place in the buffer of the frame that is sent.
        pub b_slot: Signal<Out, Bits<2>>,
        /// Number of its word.
        pub b_word: Signal<Out, Bits<4>>,
        /// The same, for the second half of the word.
        pub h_slot: Signal<Out, Bits<2>>,
        /// The same.
        pub h_word: Signal<Out, Bits<4>>,
        /// The word is taken.
        pub b_take: Signal<Out, Bit>,
        /// The word taken last, from the next clock on.
        pub b_taken: Signal<In, Bits<64>>,
        /// Key of the frame.
        pub b_key: Signal<In, Bits<16>>,
        /// Frames to send.
        pub m: FramesOut<64>,
        /// A result has been sent: its descriptor is free.
        pub done_valid: Signal<Out, Bit>,
        /// The descriptor.
        pub done_index: Signal<Out, Bits<3>>,
        /// A passing frame has been sent: its place is free.
        pub freed: Signal<Out, Bit>,
        /// Jobs: descriptor or place 2:0, passing 3. There are never more than descriptors and places together, 12.
        jobs: AsyncRam<4, 4>,
        /// The oldest job's place, the next job's; there is a job.
        #[reset] job_head: DFF<Bits<4>>,
        #[reset] job_tail: DFF<Bits<4>>,
        #[reset] job_some: DFF<Bit>,
        job_after: Signal<Local, Bits<4>>,
        job_push: Signal<Local, Bit>,
        swap: ByteSwap,
        cookie: ByteSwap,
        late: ByteSwap,
        /// The job under way and the number of the word that is composed.
        #[reset] busy: DFF<Bit>,
        passing: DFF<Bit>,
        index: DFF<Bits<3>>,
        word: DFF<Bits<4>>,
        /// Copies for the buffer. Reset, to other values, or synthesis would merge them.
        #[reset] b_place: DFF<Bits<2>>,
        #[reset] b_number: DFF<Bits<4>>,
        h_place: DFF<Bits<2>>,
        h_number: DFF<Bits<4>>,
        /// The same, a bit for each number; of these those that are put together here: 0 to 7 of a result, 0 and 4 of a frame that
        /// passes.
        #[reset] at: DFF<Bits<12>>,
        #[reset] head_at: DFF<Bits<8>>,
        is_last: Signal<Local, Bit>,
        step: Signal<Local, Bit>,
        take: Signal<Local, Bit>,
        /// The pipeline moves, which is that nothing is held: registers of their own, for enables and for words.
        flows: DFF<Bit>,
        flows_words: DFF<Bit>,
        /// A word is held from now on.
        stalls: Signal<Local, Bit>,
        /// Destination address.
        dfa: Signal<Local, Bits<32>>,
        /// That of a result, one clock earlier.
        to: Signal<Local, Bits<32>>,
        /// Checksum of the header: constant part, two sums, total, folded.
        sum_base: DFF<Bits<18>>,
        sum_low: DFF<Bits<17>>,
        sum_high: DFF<Bits<19>>,
        sum_all: DFF<Bits<20>>,
        sum_folded: DFF<Bits<17>>,
        checksum: DFF<Bits<16>>,
        repsum: DFF<Bit>,
        /// What was read for the word that is composed: its number, job, value, descriptor.
        #[reset] c_valid: DFF<Bit>,
        c_place: DFF<Bits<5>>,
        c_data: DFF<Bits<64>>,
        c_key: DFF<Bits<16>>,
        c_vni: DFF<Bits<16>>,
        c_cookie: DFF<Bits<32>>,
        c_seqno: DFF<Bits<10>>,
        c_count: DFF<Bits<20>>,
        c_op: DFF<Bits<6>>,
        c_m: DFF<Bits<8>>,
        /// It has been written since it was read.
        c_late: DFF<Bit>,
        r_place: Signal<Local, Bits<5>>,
        c_value: Signal<Local, Bits<64>>,
        /// What of it is known one clock earlier: of words 1 to 7 all but the checksum, of word 0 that the destination is a group.
        c_head: DFF<Bits<64>>,
        /// It is word 0, word 3 of a result, word 7 of one, one of the values.
        c_first: DFF<Bit>,
        c_third: DFF<Bit>,
        c_codes: DFF<Bit>,
        c_is_value: DFF<Bit>,
        /// It is of a result; it is the last word.
        c_result: DFF<Bit>,
        c_last: DFF<Bit>,
        /// A passing frame keeps the first half of the word, the second half.
        keeps_low: DFF<Bit>,
        keeps_high: DFF<Bit>,
        /// Weight that is shown.
        shown_m: Signal<Local, Bits<8>>,
        heads: OneHotMux<64, 8>,
        /// What else there is in a word, most significant byte first, or zero: destination of word 0, checksum, value. All of the word.
        to_group: Signal<Local, Bits<64>>,
        sum: Signal<Local, Bits<64>>,
        value: Signal<Local, Bits<64>>,
        composed: Signal<Local, Bits<64>>,
        /// Halves of the buffer's word that are kept, or zero.
        kept_low: Signal<Local, Bits<32>>,
        kept_high: Signal<Local, Bits<32>>,
        /// The word behind the one that leaves.
        #[reset] p_valid_q: DFF<Bit>,
        p_word: DFF<Bits<64>>,
        p_last: DFF<Bit>,
        p_codes: DFF<Bit>,
        p_stale: DFF<Bit>,
        p_repsum: DFF<Bit>,
        p_patched: Signal<Local, Bits<64>>,
        patch_rc: Signal<Local, Bits<64>>,
        patch_oflow: Signal<Local, Bits<64>>,
        /// The word that leaves: its bytes from the third on, then two of the next.
        #[reset] q_valid: DFF<Bit>,
        q_bytes: DFF<Bits<48>>,
        q_last: DFF<Bit>,
        leaving: Signal<Local, Bits<64>>,
        /// A word that left the pipeline and was not taken: the pipeline stands still.
        #[reset] held: DFF<Bit>,
        held_data: DFF<Bits<64>>,
        held_last: DFF<Bit>,
        /// All but the result code and the word that overflowed.
        outside: Param<0xffff_ffff_ff7f_f8e7, 64>,
        /// Fixed bits of a multicast address.
        multicast: Param<{ address::MULTICAST as usize }, 32>,
        /// First two bytes of MAC addresses.
        mac: Param<{ address::MAC as usize }, 16>,
        mac_group: Param<{ address::MAC_GROUP as usize }, 16>,
        /// Version and length.
        first: Param<FIRST, 32>,
        /// Time to live and protocol.
        third: Param<THIRD, 16>,
        /// Their sum.
        header_sum: Param<{ (FIRST >> 16) + (FIRST & 0xffff) + THIRD }, 18>,
        /// A request, in word 4.
        request: Param<0xc000_0000, 64>,
        /// Length of a request, in its word.
        request_len: Param<{ (wire::REQUEST_LEN as usize) << 8 }, 64>,
        /// Operation.
        op_repsum: Param<{ Op::FltRepsum as usize }, 6>,
    }
}

impl Logic for RedEmit {
    #[hdl_gen]
    fn update(&mut self) {
        self.job_push.next = self.j_valid.val() | self.p_valid.val();
        self.jobs.wr.en.next = self.job_push.val();
        self.jobs.wr.addr.next = self.job_tail.q.val();
        self.jobs.rd.addr.next = self.job_head.q.val();
        self.jobs.wr.data.next = bit_cast::<4, 3>(self.j_index.val());
        if self.p_valid.val() {
            self.jobs.wr.data.next = bit_cast::<4, 2>(self.p_slot.val()) | 8;
        }

        // The job and the word.
        self.is_last.next = self.at.q.val().get_bit(11);
        self.step.next = self.busy.q.val() & self.flows.q.val();
        self.take.next = !self.busy.q.val() | (self.flows.q.val() & self.is_last.val());
        self.job_after.next = self.job_head.q.val() + 1;
        if self.step.val() {
            self.word.d.next = self.word.q.val() + 1;
            self.b_number.d.next = self.b_number.q.val() + 1;
            self.h_number.d.next = self.h_number.q.val() + 1;
            self.at.d.next = self.at.q.val() << 1;
            self.head_at.d.next = bit_cast::<8, 12>(self.at.q.val()) << 1;
            if self.passing.q.val() {
                self.head_at.d.next = (bit_cast::<8, 12>(self.at.q.val()) << 1) & 0x11;
            }
        }
        if self.take.val() {
            self.busy.d.next = self.job_some.q.val();
            self.passing.d.next = self.jobs.rd.data.val().get_bit(3);
            self.index.d.next = self.jobs.rd.data.val().get_bits::<3>(0);
            self.word.d.next = 0.into();
            self.b_place.d.next = self.jobs.rd.data.val().get_bits::<2>(0);
            self.b_number.d.next = 0.into();
            self.h_place.d.next = self.jobs.rd.data.val().get_bits::<2>(0);
            self.h_number.d.next = 0.into();
            self.at.d.next = 1.into();
            self.head_at.d.next = 1.into();
            if self.job_some.q.val() {
                self.job_head.d.next = self.job_after.val();
                self.job_some.d.next = self.job_after.val() != self.job_tail.q.val();
            }
        }
        if self.job_push.val() {
            self.job_tail.d.next = self.job_tail.q.val() + 1;
            self.job_some.d.next = true;
        }
        // While it is composed, the last word still takes over what is written at its place.
        self.done_valid.next = self.flows.q.val() & self.c_last.q.val() & self.c_result.q.val();
        self.done_index.next = self.c_place.q.val().get_bits::<3>(2);
        self.freed.next = self.step.val() & self.is_last.val() & self.passing.q.val();
        self.q_index.next = self.index.q.val();
        self.q_word.next = self.word.q.val().get_bits::<2>(0);
        self.b_slot.next = self.b_place.q.val();
        self.b_word.next = self.b_number.q.val();
        self.h_slot.next = self.h_place.q.val();
        self.h_word.next = self.h_number.q.val();
        self.b_take.next = self.flows_words.q.val();
        self.r_place.next = (bit_cast::<5, 3>(self.index.q.val()) << 2)
            | bit_cast::<5, 2>(self.word.q.val().get_bits::<2>(0));
        if self.flows.q.val() {
            self.c_valid.d.next = self.busy.q.val();
            self.c_place.d.next = self.r_place.val();
        }
        if self.flows_words.q.val() {
            self.c_data.d.next = self.q_data.val();
        } else if self.c_late.q.val() {
            self.c_data.d.next = self.w_data.val();
        }
        // The header of a job stands still while its words 0 to 8 are composed, stalled or not.
        self.c_vni.d.next = self.q_key.val().get_bits::<16>(16);
        self.c_cookie.d.next = self.q_key.val().get_bits::<32>(32);
        self.c_seqno.d.next = self.q_seqno.val();
        self.c_count.d.next = self.q_count.val();
        self.c_op.d.next = self.q_op.val();
        self.repsum.d.next = self.q_op.val() == self.op_repsum.val();
        self.c_m.d.next = self.q_m.val();
        self.c_key.d.next = self.q_key.val().get_bits::<16>(0);
        if self.passing.q.val() {
            self.c_key.d.next = self.b_key.val();
        }
        // A word that is written while it is here is put right one clock later, wherever it is then.
        self.c_late.d.next = self.w_valid.val() & (self.w_place.val() == self.c_place.q.val());
        if self.flows.q.val() {
            self.c_late.d.next = self.w_valid.val() & (self.w_place.val() == self.r_place.val());
        }
        self.p_stale.d.next = self.flows.q.val()
            & self.w_valid.val()
            & self.c_is_value.q.val()
            & (self.w_place.val() == self.c_place.q.val());
        self.c_value.next = self.c_data.q.val();
        if self.c_late.q.val() {
            self.c_value.next = self.w_data.val();
        }
        self.dfa.next = self.multicast.val()
            | (bit_cast::<32, 3>(self.c_key.q.val().get_bits::<3>(0)) << 18)
            | (bit_cast::<32, 13>(self.c_key.q.val().get_bits::<13>(3)) << 3);

        // The checksum is wanted with word 3; it begins with the key in the clock in which that is read.
        self.to.next = self.multicast.val()
            | (bit_cast::<32, 3>(self.q_key.val().get_bits::<3>(0)) << 18)
            | (bit_cast::<32, 13>(self.q_key.val().get_bits::<13>(3)) << 3);
        self.sum_base.d.next = bit_cast::<18, 16>(self.cfg_address.val().get_bits::<16>(0))
            + bit_cast::<18, 16>(self.cfg_address.val().get_bits::<16>(16))
            + self.header_sum.val();
        self.sum_low.d.next = bit_cast::<17, 16>(self.to.val().get_bits::<16>(0))
            + bit_cast::<17, 16>(self.q_key.val().get_bits::<16>(16));
        self.sum_high.d.next = bit_cast::<19, 16>(self.to.val().get_bits::<16>(16))
            + bit_cast::<19, 18>(self.sum_base.q.val());
        self.sum_all.d.next =
            bit_cast::<20, 17>(self.sum_low.q.val()) + bit_cast::<20, 19>(self.sum_high.q.val());
        self.sum_folded.d.next = bit_cast::<17, 16>(self.sum_all.q.val().get_bits::<16>(0))
            + bit_cast::<17, 4>(self.sum_all.q.val().get_bits::<4>(16));
        self.checksum.d.next = !(self.sum_folded.q.val().get_bits::<16>(0)
            + bit_cast::<16, 1>(self.sum_folded.q.val().get_bits::<1>(16)));

        self.cookie.s.next = bit_cast::<64, 32>(self.c_cookie.q.val()) << 32;
        self.shown_m.next = 0.into();
        if self.repsum.q.val() {
            self.shown_m.next = self.c_m.q.val();
        }

        // Words of a header are put together one clock before the values: all that is in words 1 to 7 stands still by then, but for the
        // checksum. Of a passing frame words 0 and 4 are.
        self.heads.s[0].next = bit_cast::<64, 16>(self.mac_group.val()) << 32;
        self.heads.s[1].next = (bit_cast::<64, 16>(self.mac.val()) << 48)
            | (bit_cast::<64, 32>(self.cfg_address.val()) << 16)
            | bit_cast::<64, 16>(self.cfg_ethertype.val());
        self.heads.s[2].next = (bit_cast::<64, 32>(self.first.val()) << 32)
            | (bit_cast::<64, 16>(self.c_vni.q.val()) << 16);
        self.heads.s[3].next = (bit_cast::<64, 16>(self.third.val()) << 48)
            | bit_cast::<64, 32>(self.cfg_address.val());
        self.heads.s[4].next = bit_cast::<64, 32>(self.dfa.val()) << 32;
        if !self.passing.q.val() {
            self.heads.s[4].next = (bit_cast::<64, 32>(self.dfa.val()) << 32) | self.request.val();
        }
        self.heads.s[5].next = self.request_len.val();
        self.heads.s[6].next = bit_cast::<64, 32>(self.cookie.m.val().get_bits::<32>(0));
        self.heads.s[7].next = bit_cast::<64, 10>(self.c_seqno.q.val())
            | (bit_cast::<64, 6>(self.c_op.q.val()) << 11)
            | (bit_cast::<64, 20>(self.c_count.q.val()) << 17)
            | (bit_cast::<64, 10>(self.c_seqno.q.val()) << 37)
            | (bit_cast::<64, 8>(self.shown_m.val()) << 51);
        self.heads.sel.next = self.head_at.q.val();
        if self.flows.q.val() {
            self.c_head.d.next = self.heads.m.val();
            self.c_first.d.next = self.head_at.q.val().get_bit(0);
            self.c_third.d.next = self.head_at.q.val().get_bit(3);
            self.c_codes.d.next = self.head_at.q.val().get_bit(7);
            self.c_is_value.d.next = self.word.q.val().get_bit(3) & !self.passing.q.val();
            self.c_result.d.next = !self.passing.q.val();
            self.c_last.d.next = self.busy.q.val() & self.is_last.val();
        }
        if self.flows.q.val() {
            self.keeps_high.d.next = self.passing.q.val() & !self.at.q.val().get_bit(0);
            self.keeps_low.d.next = self.passing.q.val()
                & !self.at.q.val().get_bit(0)
                & !self.at.q.val().get_bit(4)
                & !self.at.q.val().get_bit(6);
        }
        self.to_group.next = 0.into();
        if self.c_first.q.val() {
            self.to_group.next = bit_cast::<64, 32>(self.dfa.val());
        }
        self.sum.next = 0.into();
        if self.c_third.q.val() {
            self.sum.next = bit_cast::<64, 16>(self.checksum.q.val()) << 32;
        }
        self.value.next = 0.into();
        if self.c_is_value.q.val() {
            self.value.next = self.c_value.val();
        }
        self.composed.next =
            self.c_head.q.val() | self.to_group.val() | self.sum.val() | self.value.val();
        self.swap.s.next = self.composed.val();

        // A word of a passing frame: what the input replaced is left out, words 0 and 4 are composed.
        self.kept_low.next = 0.into();
        self.kept_high.next = 0.into();
        if self.keeps_low.q.val() {
            self.kept_low.next = self.b_taken.val().get_bits::<32>(0);
        }
        if self.keeps_high.q.val() {
            self.kept_high.next = self.b_taken.val().get_bits::<32>(32);
        }

        // The word behind the one that leaves. Its result code is put in at the last moment.
        if self.flows.q.val() {
            self.p_valid_q.d.next = self.c_valid.q.val();
            self.p_last.d.next = self.c_last.q.val();
            self.p_codes.d.next = self.c_codes.q.val();
            self.p_repsum.d.next = self.repsum.q.val();
        }
        self.patch_rc.next = (bit_cast::<64, 3>(self.q_rc.val().get_bits::<3>(1)) << 8)
            | (bit_cast::<64, 1>(self.q_rc.val().get_bits::<1>(0)) << 23);
        self.patch_oflow.next = 0.into();
        if self.p_repsum.q.val() {
            self.patch_oflow.next = bit_cast::<64, 2>(self.q_oflow.val()) << 3;
        }
        self.late.s.next = self.w_data.val();
        self.p_patched.next = self.p_word.q.val();
        if self.p_stale.q.val() {
            self.p_patched.next = self.late.m.val();
        }
        if self.flows_words.q.val() {
            self.p_word.d.next = self.swap.m.val()
                | bit_cast::<64, 32>(self.kept_low.val())
                | (bit_cast::<64, 32>(self.kept_high.val()) << 32);
        } else if self.p_stale.q.val() {
            self.p_word.d.next = self.late.m.val();
        }
        if self.p_codes.q.val() {
            self.p_patched.next = (self.p_word.q.val() & self.outside.val())
                | self.patch_rc.val()
                | self.patch_oflow.val();
        }
        if self.flows.q.val() {
            self.q_valid.d.next = self.p_valid_q.q.val();
            self.q_bytes.d.next = self.p_patched.val().get_bits::<48>(16);
            self.q_last.d.next = self.p_last.q.val();
        }
        // Whether the word was taken is known one clock later in the pipeline: a register stands in between.
        self.leaving.next = bit_cast::<64, 48>(self.q_bytes.q.val())
            | (bit_cast::<64, 16>(self.p_patched.val().get_bits::<16>(0)) << 48);
        self.m.valid.next = self.q_valid.q.val() | self.held.q.val();
        self.m.of.next.last = self.q_last.q.val();
        self.m.of.next.data = self.leaving.val();
        if self.held.q.val() {
            self.m.of.next.last = self.held_last.q.val();
            self.m.of.next.data = self.held_data.q.val();
        }
        self.stalls.next = (self.q_valid.q.val() | self.held.q.val()) & !self.m.ready.val();
        self.held.d.next = self.stalls.val();
        self.flows.d.next = !self.stalls.val();
        self.flows_words.d.next = !self.stalls.val();
        if self.flows.q.val() {
            self.held_data.d.next = self.leaving.val();
            self.held_last.d.next = self.q_last.q.val();
        }
        if self.rst.val() {
            self.flows.d.next = true;
            self.h_place.d.next = 3.into();
            self.h_number.d.next = 15.into();
        }
    }
}
