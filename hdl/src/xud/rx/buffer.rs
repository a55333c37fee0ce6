//! Payload that waits: until its frame is known to be good, and until it is wanted.

use crate::blocks::{FifoAhead, RamReg};
use crate::bus::FramesOut;
use crate::prelude::*;

hdl_module! {
    /// Payload of received requests in block RAM, 2^A words of 64 bits.
    /// A frame's words are written behind what is kept; only commit makes them stay, so a bad frame
    /// leaves nothing.
    /// What does not fit is not written and sets lost. One job for each message that was kept, in
    /// order: hand its words on, or throw them away.
    /// Latency: 7 clocks from a job to its first word, then one word a clock; one clock between
    /// jobs.
    /// A job is taken in the clock in which it is offered; 16 wait.
    /// While m is not taken, up to 4 words that were read are held, and their places may be written anew.
    #[module("xud_rx_buffer_d{}", 1usize << A)]
    pub struct XudRxBuffer<const A: usize> {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset: empties the buffer.
        pub rst: Signal<In, Bit>,
        /// The next words are another frame's; what was not committed is forgotten.
        pub s_begin: Signal<In, Bit>,
        /// A word.
        pub s_valid: Signal<In, Bit>,
        /// The word.
        pub s_data: Signal<In, Bits<64>>,
        /// A word since s_begin did not fit; known 2 clocks after the word.
        pub lost: Signal<Out, Bit>,
        /// The first words since s_begin stay; before the next s_begin.
        pub commit: Signal<In, Bit>,
        /// How many.
        pub commit_words: Signal<In, Bits<10>>,
        /// A job.
        pub j_valid: Signal<In, Bit>,
        /// Fewer than 8 waited one clock ago: there is room for 6 more.
        pub j_ready: Signal<Out, Bit>,
        /// Words of the message, 1 to 512.
        pub j_words: Signal<In, Bits<10>>,
        /// They are not wanted.
        pub j_drop: Signal<In, Bit>,
        /// The message is of a bulk transfer.
        pub j_bulk: Signal<In, Bit>,
        /// Payload of messages.
        pub m: FramesOut<64>,
        /// With it: the message is of a bulk transfer.
        pub m_bulk: Signal<Out, Bit>,
        words: RamReg<64, A>,
        jobs: FifoAhead<12, 4>,
        /// A message on its way into the queue of those that wait; there is room for more.
        #[reset] job: DFF<Bit>,
        job_data: DFF<Bits<12>>,
        #[reset] job_room: DFF<Bit>,
        ahead: FifoAhead<66, 2>,
        /// Where kept words begin and end, where the next word goes, one bit more than an address.
        #[reset] head: DFF<Bits<16>>,
        #[reset] tail: DFF<Bits<16>>,
        #[reset] at: DFF<Bits<16>>,
        /// A word to write.
        #[reset] w_valid: DFF<Bit>,
        w_data: DFF<Bits<64>>,
        full: Signal<Local, Bit>,
        #[reset] missing: DFF<Bit>,
        /// Words to fetch of the job under way, there are any.
        #[reset] left: DFF<Bits<10>>,
        #[reset] busy: DFF<Bit>,
        bulk: DFF<Bit>,
        fetch: Signal<Local, Bit>,
        take: Signal<Local, Bit>,
        last: Signal<Local, Bit>,
        /// A word was addressed one, two clocks ago; it is a message's last.
        #[reset] flight_1: DFF<Bit>,
        #[reset] flight_2: DFF<Bit>,
        last_1: DFF<Bit>,
        last_2: DFF<Bit>,
        bulk_1: DFF<Bit>,
        bulk_2: DFF<Bit>,
        /// Words in flight and read ahead, at most 4.
        #[reset] reserved: DFF<Bits<3>>,
        pop: Signal<Local, Bit>,
        a: Param<A, 5>,
    }
}

impl<const A: usize> Logic for XudRxBuffer<A> {
    #[hdl_gen]
    fn update(&mut self) {
        // Words in.
        self.w_valid.d.next = self.s_valid.val();
        self.w_data.d.next = self.s_data.val();
        self.full.next = ((self.at.q.val() - self.head.q.val()) >> self.a.val()).get_bit(0);
        self.words.wr.en.next = self.w_valid.q.val() & !self.full.val();
        self.words.wr.addr.next = self.at.q.val().get_bits::<A>(0);
        self.words.wr.data.next = self.w_data.q.val();
        if self.w_valid.q.val() & !self.full.val() {
            self.at.d.next = self.at.q.val() + 1;
        }
        if self.w_valid.q.val() & self.full.val() {
            self.missing.d.next = true;
        }
        if self.s_begin.val() {
            self.at.d.next = self.tail.q.val();
            self.missing.d.next = false;
        }
        self.lost.next = self.missing.q.val();
        if self.commit.val() {
            self.tail.d.next = self.tail.q.val() + bit_cast::<16, 10>(self.commit_words.val());
        }

        // Words out.
        self.job.d.next = self.j_valid.val();
        self.job_data.d.next = bit_cast::<12, 10>(self.j_words.val())
            | (bit_cast::<12, 1>(self.j_drop.val().into()) << 10)
            | (bit_cast::<12, 1>(self.j_bulk.val().into()) << 11);
        self.job_room.d.next = !self.jobs.count.val().get_bits::<2>(3).any();
        self.jobs.s.valid.next = self.job.q.val();
        self.jobs.s.data.next = self.job_data.q.val();
        self.j_ready.next = self.job_room.q.val();
        self.take.next = !self.busy.q.val() & self.jobs.m.valid.val();
        self.jobs.m.ready.next = !self.busy.q.val();
        self.fetch.next = self.busy.q.val() & !self.reserved.q.val().get_bit(2);
        self.last.next = self.left.q.val() == 1;
        self.words.rd.addr.next = self.head.q.val().get_bits::<A>(0);
        if self.fetch.val() {
            self.head.d.next = self.head.q.val() + 1;
            self.left.d.next = self.left.q.val() - 1;
            self.busy.d.next = !self.last.val();
        }
        if self.take.val() {
            self.left.d.next = self.jobs.m.data.val().get_bits::<10>(0);
            self.busy.d.next = true;
            self.bulk.d.next = self.jobs.m.data.val().get_bit(11);
            if self.jobs.m.data.val().get_bit(10) {
                self.busy.d.next = false;
                self.head.d.next = self.head.q.val()
                    + bit_cast::<16, 10>(self.jobs.m.data.val().get_bits::<10>(0));
            }
        }
        self.flight_1.d.next = self.fetch.val();
        self.flight_2.d.next = self.flight_1.q.val();
        self.last_1.d.next = self.last.val();
        self.last_2.d.next = self.last_1.q.val();
        self.bulk_1.d.next = self.bulk.q.val();
        self.bulk_2.d.next = self.bulk_1.q.val();
        self.ahead.s.valid.next = self.flight_2.q.val();
        self.ahead.s.data.next = bit_cast::<66, 64>(self.words.rd.data.val())
            | (bit_cast::<66, 1>(self.last_2.q.val().into()) << 64)
            | (bit_cast::<66, 1>(self.bulk_2.q.val().into()) << 65);
        self.ahead.m.ready.next = self.m.ready.val();
        self.pop.next = self.ahead.m.valid.val() & self.m.ready.val();
        if self.fetch.val() & !self.pop.val() {
            self.reserved.d.next = self.reserved.q.val() + 1;
        }
        if self.pop.val() & !self.fetch.val() {
            self.reserved.d.next = self.reserved.q.val() - 1;
        }
        self.m.valid.next = self.ahead.m.valid.val();
        self.m.of.next.data = self.ahead.m.data.val().get_bits::<64>(0);
        self.m.of.next.last = self.ahead.m.data.val().get_bit(64);
        self.m_bulk.next = self.ahead.m.data.val().get_bit(65);
    }
}
