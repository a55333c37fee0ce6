//! The bitmap of a STATUS against what was sent.

use crate::prelude::*;

hdl_module! {
    /// Goes through the bitmap of a STATUS, one packet a clock from base on: one that has arrived waits for nothing any
    /// more, one that is lost is asked for (RW-10, RW-11, RW-12). Lost is what is missing and left the allowance
    /// before the poll that the STATUS answers, or lies below the highest that arrived and left retry ago, or so far below
    /// that it would be there, if it was sent once only.
    /// Latency: a clock for each packet, and 8.
    #[module("bulk_scan_b{W}_d{}", 1usize << LD)]
    pub struct BulkScan<const W: usize, const LW: usize, const A: usize, const LD: usize> {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset: stops.
        pub rst: Signal<In, Bit>,
        /// Begin; the inputs below stand still until done.
        pub start: Signal<In, Bit>,
        /// Time of the operation.
        pub now: Signal<In, Bits<16>>,
        /// First packet.
        pub base: Signal<In, Bits<22>>,
        /// Packets of the bitmap that have been sent.
        pub sent: Signal<In, Bits<11>>,
        /// Packets below the send pointer.
        pub below_next: Signal<In, Bits<11>>,
        /// Packets so far below the highest that arrived that they should have.
        pub old: Signal<In, Bits<11>>,
        /// Packets up to the highest that arrived.
        pub highest: Signal<In, Bits<11>>,
        /// The STATUS answers a poll.
        pub answers: Signal<In, Bit>,
        /// When that left, less the allowance.
        pub polled: Signal<In, Bits<16>>,
        /// There is room for one that is asked for.
        pub room: Signal<In, Bit>,
        /// What is missing so long after it left is lost.
        pub retry: Signal<In, Bits<16>>,
        /// Word of the bitmap, two clocks later.
        pub word_addr: Signal<Out, Bits<A>>,
        /// That word.
        pub word: Signal<In, Bits<W>>,
        /// Packet to look up, two clocks later.
        pub read_place: Signal<Out, Bits<LD>>,
        /// When it left last, whether that was not the first time (bit 16), whether it is asked for (bit 17).
        pub read_data: Signal<In, Bits<18>>,
        /// The same is written.
        pub write: Signal<Out, Bit>,
        /// Packet.
        pub write_place: Signal<Out, Bits<LD>>,
        /// What.
        pub write_data: Signal<Out, Bits<18>>,
        /// A packet is lost, asked for or not.
        pub lost: Signal<Out, Bit>,
        /// It is asked for now.
        pub ask: Signal<Out, Bit>,
        /// Which.
        pub pidx: Signal<Out, Bits<22>>,
        /// All have been looked at.
        pub done: Signal<Out, Bit>,

        lw: Param<LW, 4>,
        #[reset] running: DFF<Bit>,
        at: DFF<Bits<11>>,
        last: Signal<Local, Bit>,
        #[reset] s1_valid: DFF<Bit>,
        s1_at: DFF<Bits<11>>,
        s1_place: DFF<Bits<LD>>,
        #[reset] s2_valid: DFF<Bit>,
        s2_at: DFF<Bits<11>>,
        #[reset] s3_valid: DFF<Bit>,
        s3_at: DFF<Bits<11>>,
        #[reset] s4_valid: DFF<Bit>,
        s4_at: DFF<Bits<11>>,
        s4_arrived: DFF<Bit>,
        s4_age: DFF<Bits<16>>,
        s4_gap: DFF<Bits<16>>,
        s4_old: DFF<Bit>,
        s4_passed: DFF<Bit>,
        s4_below: DFF<Bit>,
        s4_data: DFF<Bits<18>>,
        #[reset] s5_valid: DFF<Bit>,
        s5_arrived: DFF<Bit>,
        s5_lost: DFF<Bit>,
        s5_data: DFF<Bits<18>>,
        s5_place: DFF<Bits<LD>>,
        s5_pidx: DFF<Bits<22>>,
        #[reset] finished: DFF<Bit>,
        place: Signal<Local, Bits<LW>>,
        asking: Signal<Local, Bit>,
        clearing: Signal<Local, Bit>,
    }
}

impl<const W: usize, const LW: usize, const A: usize, const LD: usize> Logic
    for BulkScan<W, LW, A, LD>
{
    #[hdl_gen]
    fn update(&mut self) {
        self.last.next = self.at.q.val() == self.sent.val();
        self.s1_valid.d.next = self.running.q.val() & !self.last.val();
        self.s1_at.d.next = self.at.q.val();
        self.s1_place.d.next =
            bit_cast::<LD, 22>(self.base.val()) + bit_cast::<LD, 11>(self.at.q.val());
        if self.running.q.val() {
            self.at.d.next = self.at.q.val() + 1;
            if self.last.val() {
                self.running.d.next = false;
            }
        }
        if self.start.val() {
            self.running.d.next = true;
            self.at.d.next = 0.into();
        }
        self.word_addr.next = bit_cast::<A, 11>(self.s1_at.q.val() >> self.lw.val());
        self.read_place.next = self.s1_place.q.val();
        self.s2_valid.d.next = self.s1_valid.q.val();
        self.s2_at.d.next = self.s1_at.q.val();
        self.s3_valid.d.next = self.s2_valid.q.val();
        self.s3_at.d.next = self.s2_at.q.val();

        // Both memories have answered.
        self.place.next = bit_cast::<LW, 11>(self.s3_at.q.val());
        self.s4_valid.d.next = self.s3_valid.q.val();
        self.s4_at.d.next = self.s3_at.q.val();
        self.s4_arrived.d.next = self.word.val().get_bit(self.place.val().index());
        self.s4_age.d.next = self.now.val() - bit_cast::<16, 18>(self.read_data.val());
        self.s4_gap.d.next = self.polled.val() - bit_cast::<16, 18>(self.read_data.val());
        self.s4_old.d.next =
            (self.s3_at.q.val() < self.old.val()) & !self.read_data.val().get_bit(16);
        if self.s3_valid.q.val() & (self.s3_at.q.val() == self.highest.val()) {
            self.s4_passed.d.next = false;
        }
        if self.start.val() {
            self.s4_passed.d.next = true;
        }
        self.s4_below.d.next = self.s3_at.q.val() < self.below_next.val();
        self.s4_data.d.next = self.read_data.val();

        self.s5_valid.d.next = self.s4_valid.q.val();
        self.s5_arrived.d.next = self.s4_arrived.q.val();
        self.s5_lost.d.next = !self.s4_arrived.q.val()
            & self.s4_below.q.val()
            & ((self.s4_passed.q.val() & (self.s4_age.q.val() >= self.retry.val()))
                | (self.answers.val() & !self.s4_gap.q.val().get_bit(15))
                | self.s4_old.q.val());
        self.s5_data.d.next = self.s4_data.q.val();
        self.s5_pidx.d.next = self.base.val() + bit_cast::<22, 11>(self.s4_at.q.val());
        self.s5_place.d.next =
            bit_cast::<LD, 22>(self.base.val()) + bit_cast::<LD, 11>(self.s4_at.q.val());

        self.lost.next = self.s5_valid.q.val() & self.s5_lost.q.val();
        self.asking.next = self.s5_valid.q.val()
            & self.s5_lost.q.val()
            & !self.s5_data.q.val().get_bit(17)
            & self.room.val();
        self.clearing.next = self.s5_valid.q.val() & self.s5_arrived.q.val();
        self.ask.next = self.asking.val();
        self.pidx.next = self.s5_pidx.q.val();
        self.write.next = self.asking.val() | self.clearing.val();
        self.write_place.next = self.s5_place.q.val();
        self.write_data.next = self.s5_data.q.val().replace_bit(17, self.asking.val());
        self.finished.d.next = !self.start.val()
            & !self.running.q.val()
            & !self.s1_valid.q.val()
            & !self.s2_valid.q.val()
            & !self.s3_valid.q.val()
            & !self.s4_valid.q.val()
            & !self.s5_valid.q.val();
        self.done.next = self.finished.q.val();
    }
}
