//! Receive requests that were read.

use super::recv_record::{ArrivedCount, PostedRequest};
use crate::blocks::{FifoAhead, RamReg, RamRegForward};
use crate::bus::{DmaWord, DmaWordsIn, QueuePairOut};
use crate::prelude::*;
use crate::record::{ReceiveContext, ReceiveEntry};

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
        /// Two clocks later, it: a record PostedRequest.
        pub request: Signal<Out, Bits<173>>,
        /// The number of requests of a queue pair has changed; pulse.
        pub m_arrived_valid: Signal<Out, Bit>,
        /// Queue pair.
        pub m_arrived_qpn: Signal<Out, Bits<LQ>>,
        /// A record ArrivedCount.
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

        requests: RamReg<{ PostedRequest::BITS }, CA>,
        posted: Signal<Local, PostedRequest>,
        counts: RamRegForward<{ ArrivedCount::BITS }, LQ>,
        counted: Signal<Local, ArrivedCount>,
        /// The entry that the word is of, and the context of its read.
        entry: Signal<Local, ReceiveEntry>,
        context: Signal<Local, ReceiveContext>,
        /// The longest length that is kept.
        most: Param<0x1fff, 13>,
        failed: FifoAhead<16, 4>,
        /// Stage 1: a word.
        #[reset] r_valid: DFF<Bit>,
        r: DFF<DmaWord>,
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
        s5_word: DFF<ArrivedCount>,
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
        self.r.d.next = self.s_rr.of.val();
        self.context.next = self.r.q.val().ctx.into();
        self.entry.next = self.r.q.val().data.into();
        self.whole.next = self.number.q.val();
        if self.word.q.val().all() {
            self.whole.next = self.number.q.val() + 1;
        }
        if self.r_valid.q.val() {
            self.word.d.next = self.word.q.val() + 1;
            self.number.d.next = self.whole.val();
            if !self.word.q.val().any() {
                self.wr_id.d.next = self.entry.val().wr_id;
            }
            if self.word.q.val() == 1 {
                self.address.d.next = self.entry.val().address;
            }
            if self.r.q.val().last {
                self.word.d.next = 0.into();
                self.number.d.next = 0.into();
            }
        }
        self.length.next = bit_cast::<13, 32>(self.entry.val().length);
        if self.entry.val().length > bit_cast::<32, 13>(self.most.val()) {
            self.length.next = self.most.val();
        }
        self.slot.next = self.context.val().place + bit_cast::<4, 3>(self.number.q.val());
        self.requests.wr.en.next = self.r_valid.q.val() & (self.word.q.val() == 2);
        self.requests.wr.addr.next =
            (bit_cast::<CA, 10>(self.context.val().qpn) << 4) | bit_cast::<CA, 4>(self.slot.val());
        self.posted.next = PostedRequest {
            wr_id: self.wr_id.q.val(),
            address: self.address.q.val(),
            lkey: self.entry.val().lkey,
            length: self.length.val(),
        };
        self.requests.wr.data.next = self.posted.val().to_bits();
        self.requests.rd.addr.next = self.place.val();
        self.request.next = self.requests.rd.data.val();

        // Stages 2 to 4: the count of the queue pair; reads end at least 4 clocks apart.
        self.s2_valid.d.next = self.r_valid.q.val() & self.r.q.val().last;
        if self.r_valid.q.val() & self.r.q.val().last {
            self.s2_qpn.d.next = bit_cast::<LQ, 10>(self.context.val().qpn);
            self.s2_whole.d.next = self.whole.val();
            self.s2_error.d.next = self.r.q.val().error;
        }
        self.s3_valid.d.next = self.s2_valid.q.val();
        self.s4_valid.d.next = self.s3_valid.q.val();
        self.counts.rd.addr.next = self.s2_qpn.q.val();
        self.counted.next = self.counts.rd.data.val().into();
        self.arrived.next = self.counted.val().count;
        self.dead.next = self.counted.val().dead;
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
            self.s5_word.d.next = ArrivedCount {
                count: self.arrived.val() + bit_cast::<5, 3>(self.s2_whole.q.val()),
                dead: self.dead.val() | self.s2_error.q.val(),
            };
        }
        self.m_arrived_valid.next = self.s5_valid.q.val() | self.cfg_clear.val();
        self.m_arrived_qpn.next = self.s5_qpn.q.val();
        self.m_arrived_word.next = self.s5_word.q.val().to_bits();
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
