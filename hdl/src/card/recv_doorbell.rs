//! Doorbells of receive rings.

use crate::blocks::{FifoAhead, RamRegForward};
use crate::bus::{DoorbellIn, RingIndexIn, RingIndexOut};
use crate::prelude::*;

hdl_module! {
    /// Doorbells of the receive rings: checks each against its ring and keeps the index up to which
    /// requests are posted.
    /// One doorbell a clock, also all of the same queue pair; 7 clocks from db_* to m_prod_* or
    /// ev_bad_doorbell.
    /// A doorbell is taken if the queue pair exists and its index lies between the index posted so far
    /// and the index taken by packets plus the ring's length, both included, modulo 2^16. So it never
    /// goes back.
    /// Clearing a queue pair takes a clock of the pipeline; doorbells wait for it in a queue of 16,
    /// and one that finds no place there is counted as bad (it takes 15 queue pairs made without a
    /// clock between in which no doorbell comes).
    /// m_want_* says which queue pair has something new to fetch, once until its turn has come
    /// (s_served_*): a queue pair is marked when its mark differs from the mark last served.
    /// Stages: 0 queue; 1 address of all tables; 2 block RAM arrays; 3 RAM outputs, end of the ring,
    /// forward from stage 5; 4 comparison with the index posted, forward from stage 5; 5 written back,
    /// m_*.
    #[module("card_recv_doorbell_q{}", 1usize << LQ)]
    pub struct CardRecvDoorbell<const LQ: usize> {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset; the tables are cleared with cfg_clear and cfg_sweep.
        pub rst: Signal<In, Bit>,
        /// Doorbells.
        pub db: DoorbellIn<LQ>,
        /// Queue pair that is configured.
        pub cfg_qpn: Signal<In, Bits<LQ>>,
        /// Write its shape.
        pub cfg_shape: Signal<In, Bit>,
        /// It exists.
        pub cfg_exists: Signal<In, Bit>,
        /// log2 of its receive ring's length.
        pub cfg_log: Signal<In, Bits<4>>,
        /// Its index becomes 0.
        pub cfg_clear: Signal<In, Bit>,
        /// With cfg_clear: its marks become 0 too.
        pub cfg_sweep: Signal<In, Bit>,
        /// The index of the requests that packets have taken.
        pub s_head: RingIndexIn<LQ>,
        /// The turn of a queue pair that wanted has come; pulse.
        pub s_served_valid: Signal<In, Bit>,
        /// Queue pair.
        pub s_served_qpn: Signal<In, Bits<LQ>>,
        /// The mark it had when it wanted.
        pub s_served_mark: Signal<In, Bit>,
        /// The index of the requests that are posted.
        pub m_prod: RingIndexOut<LQ>,
        /// With m_prod_valid: the queue pair wants a turn.
        pub m_want_valid: Signal<Out, Bit>,
        /// Its mark.
        pub m_want_mark: Signal<Out, Bit>,
        /// A doorbell is ignored; pulse.
        pub ev_bad_doorbell: Signal<Out, Bit>,

        /// Doorbells: index 15:0, queue pair from 16 on.
        queue: FifoAhead<32, 4>,
        /// Index posted 15:0, mark 16.
        prods: RamRegForward<17, LQ>,
        /// Index taken.
        heads: RamRegForward<16, LQ>,
        /// log2 of the ring's length 3:0, exists 4.
        shapes: RamRegForward<5, LQ>,
        /// Mark last served.
        served: RamRegForward<1, LQ>,
        /// Stages 1 to 4: there is an operation, it clears, it sweeps, queue pair, index.
        #[reset] s1_valid: DFF<Bit>,
        s1_clear: DFF<Bit>,
        s1_sweep: DFF<Bit>,
        s1_qpn: DFF<Bits<LQ>>,
        s1_index: DFF<Bits<16>>,
        #[reset] s2_valid: DFF<Bit>,
        s2_clear: DFF<Bit>,
        s2_sweep: DFF<Bit>,
        s2_qpn: DFF<Bits<LQ>>,
        s2_index: DFF<Bits<16>>,
        #[reset] s3_valid: DFF<Bit>,
        s3_clear: DFF<Bit>,
        s3_sweep: DFF<Bit>,
        s3_qpn: DFF<Bits<LQ>>,
        s3_index: DFF<Bits<16>>,
        /// The word was written after it was read, and what was written.
        s3_newer: DFF<Bit>,
        s3_word: DFF<Bits<17>>,
        #[reset] s4_valid: DFF<Bit>,
        s4_clear: DFF<Bit>,
        s4_sweep: DFF<Bit>,
        s4_qpn: DFF<Bits<LQ>>,
        s4_index: DFF<Bits<16>>,
        /// The word, unless stage 5 has a newer one.
        s4_word: DFF<Bits<17>>,
        /// Index taken plus length of the ring.
        s4_limit: DFF<Bits<16>>,
        s4_exists: DFF<Bit>,
        s4_served: DFF<Bit>,
        /// Same queue pair as the operation in stage 5.
        s4_same: DFF<Bit>,
        /// Stage 5: the word is written; it is a doorbell that makes its queue pair want, one that is ignored.
        #[reset] s5_write: DFF<Bit>,
        s5_qpn: DFF<Bits<LQ>>,
        s5_word: DFF<Bits<17>>,
        #[reset] s5_want: DFF<Bit>,
        #[reset] s5_bad: DFF<Bit>,
        /// A doorbell found no place in the queue.
        #[reset] lost: DFF<Bit>,
        mine: Signal<Local, Bit>,
        newest: Signal<Local, Bits<17>>,
        posted: Signal<Local, Bits<16>>,
        /// index >= posted, limit >= index, limit >= posted.
        after_posted: Signal<Local, Bit>,
        before_limit: Signal<Local, Bit>,
        straight: Signal<Local, Bit>,
        fits: Signal<Local, Bit>,
        marked: Signal<Local, Bit>,
        want: Signal<Local, Bit>,
        mark: Signal<Local, Bit>,
        one: Param<1, 16>,
    }
}

impl<const LQ: usize> Logic for CardRecvDoorbell<LQ> {
    #[hdl_gen]
    fn update(&mut self) {
        // Stage 0: clearing goes first.
        self.mine.next = self.db.valid.val() & (self.db.kind.val() == 1);
        self.queue.s.valid.next = self.mine.val();
        self.queue.s.data.next =
            bit_cast::<32, 16>(self.db.index.val()) | (bit_cast::<32, LQ>(self.db.qpn.val()) << 16);
        self.lost.d.next = self.mine.val() & !self.queue.s.ready.val();
        self.queue.m.ready.next = !self.cfg_clear.val();
        self.s1_valid.d.next = self.queue.m.valid.val() | self.cfg_clear.val();
        self.s1_clear.d.next = self.cfg_clear.val();
        self.s1_sweep.d.next = self.cfg_sweep.val();
        self.s1_qpn.d.next = self.queue.m.data.val().get_bits::<LQ>(16);
        self.s1_index.d.next = self.queue.m.data.val().get_bits::<16>(0);
        if self.cfg_clear.val() {
            self.s1_qpn.d.next = self.cfg_qpn.val();
            self.s1_index.d.next = 0.into();
        }

        // Stages 1 to 3: the tables.
        self.prods.rd.addr.next = self.s1_qpn.q.val();
        self.heads.rd.addr.next = self.s1_qpn.q.val();
        self.heads.wr.en.next = self.s_head.valid.val();
        self.heads.wr.addr.next = self.s_head.qpn.val();
        self.heads.wr.data.next = self.s_head.index.val();
        self.shapes.rd.addr.next = self.s1_qpn.q.val();
        self.shapes.wr.en.next = self.cfg_shape.val();
        self.shapes.wr.addr.next = self.cfg_qpn.val();
        self.shapes.wr.data.next = bit_cast::<5, 4>(self.cfg_log.val())
            | (bit_cast::<5, 1>(self.cfg_exists.val().into()) << 4);
        self.served.rd.addr.next = self.s1_qpn.q.val();
        self.served.wr.en.next = self.s_served_valid.val() | self.cfg_sweep.val();
        self.served.wr.addr.next = self.s_served_qpn.val();
        self.served.wr.data.next = self.s_served_mark.val().into();
        if self.cfg_sweep.val() {
            self.served.wr.addr.next = self.cfg_qpn.val();
            self.served.wr.data.next = 0.into();
        }
        self.s2_valid.d.next = self.s1_valid.q.val();
        self.s2_clear.d.next = self.s1_clear.q.val();
        self.s2_sweep.d.next = self.s1_sweep.q.val();
        self.s2_qpn.d.next = self.s1_qpn.q.val();
        self.s2_index.d.next = self.s1_index.q.val();
        self.s3_valid.d.next = self.s2_valid.q.val();
        self.s3_clear.d.next = self.s2_clear.q.val();
        self.s3_sweep.d.next = self.s2_sweep.q.val();
        self.s3_qpn.d.next = self.s2_qpn.q.val();
        self.s3_index.d.next = self.s2_index.q.val();
        self.s3_newer.d.next = self.s5_write.q.val() & (self.s5_qpn.q.val() == self.s2_qpn.q.val());
        self.s3_word.d.next = self.s5_word.q.val();

        // Stage 3: the newest word so far, the end of the ring.
        self.s4_valid.d.next = self.s3_valid.q.val();
        self.s4_clear.d.next = self.s3_clear.q.val();
        self.s4_sweep.d.next = self.s3_sweep.q.val();
        self.s4_qpn.d.next = self.s3_qpn.q.val();
        self.s4_index.d.next = self.s3_index.q.val();
        self.s4_word.d.next = self.prods.rd.data.val();
        if self.s3_newer.q.val() {
            self.s4_word.d.next = self.s3_word.q.val();
        }
        if self.s5_write.q.val() & (self.s5_qpn.q.val() == self.s3_qpn.q.val()) {
            self.s4_word.d.next = self.s5_word.q.val();
        }
        self.s4_limit.d.next = self.heads.rd.data.val()
            + (self.one.val() << self.shapes.rd.data.val().get_bits::<4>(0));
        self.s4_exists.d.next = self.shapes.rd.data.val().get_bit(4);
        self.s4_served.d.next = self.served.rd.data.val().any();
        self.s4_same.d.next = self.s4_qpn.q.val() == self.s3_qpn.q.val();

        // Stage 4: from the index posted to the limit, modulo 2^16.
        self.newest.next = self.s4_word.q.val();
        if self.s4_same.q.val() & self.s5_write.q.val() {
            self.newest.next = self.s5_word.q.val();
        }
        self.posted.next = self.newest.val().get_bits::<16>(0);
        self.marked.next = self.newest.val().get_bit(16);
        self.after_posted.next = self.s4_index.q.val() >= self.posted.val();
        self.before_limit.next = self.s4_limit.q.val() >= self.s4_index.q.val();
        self.straight.next = self.s4_limit.q.val() >= self.posted.val();
        self.fits.next =
            self.s4_exists.q.val() & (self.after_posted.val() | self.before_limit.val());
        if self.straight.val() {
            self.fits.next =
                self.s4_exists.q.val() & self.after_posted.val() & self.before_limit.val();
        }
        self.want.next = self.s4_valid.q.val()
            & self.fits.val()
            & !self.s4_clear.q.val()
            & (self.marked.val() == self.s4_served.q.val());
        self.mark.next = (self.marked.val() ^ self.want.val()) & !self.s4_sweep.q.val();
        self.s5_write.d.next = self.s4_valid.q.val() & (self.fits.val() | self.s4_clear.q.val());
        self.s5_qpn.d.next = self.s4_qpn.q.val();
        self.s5_word.d.next = bit_cast::<17, 16>(self.s4_index.q.val())
            | (bit_cast::<17, 1>(self.mark.val().into()) << 16);
        self.s5_want.d.next = self.want.val();
        self.s5_bad.d.next = self.s4_valid.q.val() & !self.fits.val() & !self.s4_clear.q.val();

        // Stage 5: written.
        self.prods.wr.en.next = self.s5_write.q.val();
        self.prods.wr.addr.next = self.s5_qpn.q.val();
        self.prods.wr.data.next = self.s5_word.q.val();
        self.m_prod.valid.next = self.s5_write.q.val();
        self.m_prod.qpn.next = self.s5_qpn.q.val();
        self.m_prod.index.next = self.s5_word.q.val().get_bits::<16>(0);
        self.m_want_valid.next = self.s5_want.q.val();
        self.m_want_mark.next = self.s5_word.q.val().get_bit(16);
        self.ev_bad_doorbell.next = self.s5_bad.q.val() | self.lost.q.val();
    }
}
