//! Receive requests that were read.

use crate::blocks::{FifoAhead, RamReg, RamRegForward};
use crate::bus::{DmaWordsIn, QueuePairOut};
use crate::prelude::*;

hdl_module! {
    /// Takes the words of receive requests from dma_read, one a clock, never stalled, and keeps the
    /// requests until a packet takes them: 16 places for each queue pair in block RAM, place = index
    /// modulo 16.
    /// The context of a read names queue pair (13:4) and place of its first request (3:0). With the
    /// last word of the read all its requests become visible at once: m_arrived_* 5 clocks later, one
    /// clock more if a queue pair is cleared then.
    /// A read that failed empties its queue pair for good, until it is cleared: m_fatal_* and a place
    /// in m_failed_*, once however many reads of it fail. At most 16 may wait there.
    /// Stages: 1 the word registered, a whole request written; behind the last word 2 address of the
    /// count, 3 block RAM array, 4 RAM output, 5 written back, m_arrived_*.
    /// CA = LQ + 4.
    /// While nobody takes m_failed_* counts and requests change; what stands there does not.
    #[module("card_recv_fill_q{}", 1usize << LQ)]
    pub struct CardRecvFill<const LQ: usize, const CA: usize> {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset; the counts are cleared with cfg_clear.
        pub rst: Signal<In, Bit>,
        /// Receive requests that were read.
        pub s_rr: DmaWordsIn,
        /// Queue pair that is configured.
        pub cfg_qpn: Signal<In, Bits<LQ>>,
        /// It holds no receive requests, and may fail anew.
        pub cfg_clear: Signal<In, Bit>,
        /// Place of a receive request: queue pair, index modulo 16.
        pub place: Signal<In, Bits<CA>>,
        /// Two clocks later: wr_id 63:0, address 127:64, lkey 159:128, bytes 172:160 (8,191 for more).
        pub request: Signal<Out, Bits<173>>,
        /// The number of requests of a queue pair has changed; pulse.
        pub m_arrived_valid: Signal<Out, Bit>,
        /// Queue pair.
        pub m_arrived_qpn: Signal<Out, Bits<LQ>>,
        /// Requests ever read, modulo 32, in 4:0; they do not count, as a read failed, 5.
        pub m_arrived_word: Signal<Out, Bits<6>>,
        /// A read has ended; pulse.
        pub m_done: Signal<Out, Bit>,
        /// The ring of a queue pair cannot be read.
        pub m_fatal: QueuePairOut<LQ>,
        /// The same, until it is taken.
        pub m_failed_valid: Signal<Out, Bit>,
        /// It is taken.
        pub m_failed_ready: Signal<In, Bit>,
        /// Queue pair.
        pub m_failed_qpn: Signal<Out, Bits<LQ>>,

        requests: RamReg<173, CA>,
        /// As m_arrived_word.
        counts: RamRegForward<6, LQ>,
        failed: FifoAhead<16, 4>,
        /// Stage 1: a word.
        #[reset] r_valid: DFF<Bit>,
        r_data: DFF<Bits<64>>,
        r_last: DFF<Bit>,
        r_error: DFF<Bit>,
        r_ctx: DFF<Bits<16>>,
        /// Number of the word in its request; of the request in its read.
        #[reset] word: DFF<Bits<2>>,
        #[reset] number: DFF<Bits<3>>,
        /// The words before.
        wr_id: DFF<Bits<64>>,
        address: DFF<Bits<64>>,
        /// Requests of the read with this word.
        whole: Signal<Local, Bits<3>>,
        length: Signal<Local, Bits<13>>,
        slot: Signal<Local, Bits<4>>,
        /// Stages 2 to 4: a read has ended, queue pair, its requests, it failed.
        #[reset] s2_valid: DFF<Bit>,
        s2_qpn: DFF<Bits<LQ>>,
        s2_whole: DFF<Bits<3>>,
        s2_error: DFF<Bit>,
        #[reset] s3_valid: DFF<Bit>,
        #[reset] s4_valid: DFF<Bit>,
        arrived: Signal<Local, Bits<5>>,
        dead: Signal<Local, Bit>,
        dies: Signal<Local, Bit>,
        /// Stage 5: the count is written.
        #[reset] s5_valid: DFF<Bit>,
        s5_word: DFF<Bits<6>>,
        s5_dies: DFF<Bit>,
        /// Queue pair of stage 5, and of the pulses a clock after.
        s5_qpn: DFF<Bits<LQ>>,
        #[reset] done: DFF<Bit>,
        write: Signal<Local, Bit>,
    }
}

impl<const LQ: usize, const CA: usize> Logic for CardRecvFill<LQ, CA> {
    #[hdl_gen]
    fn update(&mut self) {
        // Stage 1: words to requests.
        self.s_rr.ready.next = true;
        self.r_valid.d.next = self.s_rr.valid.val();
        self.r_data.d.next = self.s_rr.data.val();
        self.r_last.d.next = self.s_rr.last.val();
        self.r_error.d.next = self.s_rr.error.val();
        self.r_ctx.d.next = self.s_rr.ctx.val();
        self.whole.next = self.number.q.val();
        if self.word.q.val().all() {
            self.whole.next = self.number.q.val() + 1;
        }
        if self.r_valid.q.val() {
            self.word.d.next = self.word.q.val() + 1;
            self.number.d.next = self.whole.val();
            if !self.word.q.val().any() {
                self.wr_id.d.next = self.r_data.q.val();
            }
            if self.word.q.val() == 1 {
                self.address.d.next = self.r_data.q.val();
            }
            if self.r_last.q.val() {
                self.word.d.next = 0.into();
                self.number.d.next = 0.into();
            }
        }
        self.length.next = self.r_data.q.val().get_bits::<13>(32);
        if self.r_data.q.val().get_bits::<19>(45).any() {
            self.length.next = 0x1fff.into();
        }
        self.slot.next =
            self.r_ctx.q.val().get_bits::<4>(0) + bit_cast::<4, 3>(self.number.q.val());
        self.requests.wr.en.next = self.r_valid.q.val() & (self.word.q.val() == 2);
        self.requests.wr.addr.next = (bit_cast::<CA, 12>(self.r_ctx.q.val().get_bits::<12>(4))
            << 4)
            | bit_cast::<CA, 4>(self.slot.val());
        self.requests.wr.data.next = bit_cast::<173, 64>(self.wr_id.q.val())
            | (bit_cast::<173, 64>(self.address.q.val()) << 64)
            | (bit_cast::<173, 32>(self.r_data.q.val().get_bits::<32>(0)) << 128)
            | (bit_cast::<173, 13>(self.length.val()) << 160);
        self.requests.rd.addr.next = self.place.val();
        self.request.next = self.requests.rd.data.val();

        // Stages 2 to 4: the count of the queue pair; reads end at least 4 clocks apart.
        self.s2_valid.d.next = self.r_valid.q.val() & self.r_last.q.val();
        if self.r_valid.q.val() & self.r_last.q.val() {
            self.s2_qpn.d.next = self.r_ctx.q.val().get_bits::<LQ>(4);
            self.s2_whole.d.next = self.whole.val();
            self.s2_error.d.next = self.r_error.q.val();
        }
        self.s3_valid.d.next = self.s2_valid.q.val();
        self.s4_valid.d.next = self.s3_valid.q.val();
        self.counts.rd.addr.next = self.s2_qpn.q.val();
        self.arrived.next = self.counts.rd.data.val().get_bits::<5>(0);
        self.dead.next = self.counts.rd.data.val().get_bit(5);
        self.dies.next = self.s2_error.q.val() & !self.dead.val();

        // Stage 5: written when no queue pair is cleared.
        self.write.next = self.s5_valid.q.val() & !self.cfg_clear.val();
        if self.write.val() {
            self.s5_valid.d.next = false;
        }
        if self.s4_valid.q.val() {
            self.s5_valid.d.next = true;
            self.s5_qpn.d.next = self.s2_qpn.q.val();
            self.s5_dies.d.next = self.dies.val();
            self.s5_word.d.next =
                bit_cast::<6, 5>(self.arrived.val() + bit_cast::<5, 3>(self.s2_whole.q.val()))
                    | (bit_cast::<6, 1>((self.dead.val() | self.s2_error.q.val()).into()) << 5);
        }
        self.m_arrived_valid.next = self.s5_valid.q.val() | self.cfg_clear.val();
        self.m_arrived_qpn.next = self.s5_qpn.q.val();
        self.m_arrived_word.next = self.s5_word.q.val();
        if self.cfg_clear.val() {
            self.m_arrived_qpn.next = self.cfg_qpn.val();
            self.m_arrived_word.next = 0.into();
        }
        self.counts.wr.en.next = self.m_arrived_valid.val();
        self.counts.wr.addr.next = self.m_arrived_qpn.val();
        self.counts.wr.data.next = self.m_arrived_word.val();
        self.m_fatal.valid.next = self.write.val() & self.s5_dies.q.val();
        self.m_fatal.qpn.next = self.s5_qpn.q.val();
        self.failed.s.valid.next = self.write.val() & self.s5_dies.q.val();
        self.failed.s.data.next = bit_cast::<16, LQ>(self.s5_qpn.q.val());
        self.failed.m.ready.next = self.m_failed_ready.val();
        self.m_failed_valid.next = self.failed.m.valid.val();
        self.m_failed_qpn.next = bit_cast::<LQ, 16>(self.failed.m.data.val());
        self.done.d.next = self.write.val();
        self.m_done.next = self.done.q.val();
    }
}
