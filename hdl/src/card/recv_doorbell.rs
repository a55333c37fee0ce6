//! Doorbells of receive rings.

use super::recv_record::RingShape;
use crate::blocks::{FifoAhead, RamRegForward};
use crate::bus::{DoorbellIn, RingIndexIn, RingIndexOut};
use crate::prelude::*;

hdl_record! {
    /// An operation on a queue pair. Q bits for a queue pair.
    struct Step<const Q: usize> {
        /// Its index becomes 0.
        clear: Bit,
        /// With it: it is in no queue.
        sweep: Bit,
        /// Queue pair.
        qpn: Bits<Q>,
        /// Index of the doorbell.
        index: Bits<16>,
    }
}

hdl_record! {
    /// A doorbell that waits.
    struct Waiting {
        /// Its index.
        index: Bits<16>,
        /// Queue pair.
        qpn: Bits<16>,
    }
}

hdl_record! {
    /// What is posted in a ring.
    struct Posted {
        /// Requests ever, modulo 2^16.
        index: Bits<16>,
        /// Changes with each turn that the queue pair wants.
        mark: Bit,
    }
}

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

        /// Doorbells.
        queue: FifoAhead<{ Waiting::BITS }, 4>,
        comes: Signal<Local, Waiting>,
        waits: Signal<Local, Waiting>,
        prods: RamRegForward<{ Posted::BITS }, LQ>,
        /// Index taken.
        heads: RamRegForward<16, LQ>,
        shapes: RamRegForward<{ RingShape::BITS }, LQ>,
        shape_in: Signal<Local, RingShape>,
        shape: Signal<Local, RingShape>,
        /// Mark last served.
        served: RamRegForward<1, LQ>,
        /// Stages 1 to 4: there is an operation; it.
        #[reset] s1_valid: DFF<Bit>,
        s1: DFF<Step<LQ>>,
        #[reset] s2_valid: DFF<Bit>,
        s2: DFF<Step<LQ>>,
        #[reset] s3_valid: DFF<Bit>,
        s3: DFF<Step<LQ>>,
        /// The word was written after it was read, and what was written.
        s3_newer: DFF<Bit>,
        s3_word: DFF<Posted>,
        #[reset] s4_valid: DFF<Bit>,
        s4: DFF<Step<LQ>>,
        /// The word, unless stage 5 has a newer one.
        s4_word: DFF<Posted>,
        /// Index taken plus length of the ring.
        s4_limit: DFF<Bits<16>>,
        s4_exists: DFF<Bit>,
        s4_served: DFF<Bit>,
        /// Same queue pair as the operation in stage 5.
        s4_same: DFF<Bit>,
        /// Stage 5: the word is written; it is a doorbell that makes its queue pair want, one that is ignored.
        #[reset] s5_write: DFF<Bit>,
        s5_qpn: DFF<Bits<LQ>>,
        s5_word: DFF<Posted>,
        #[reset] s5_want: DFF<Bit>,
        #[reset] s5_bad: DFF<Bit>,
        /// A doorbell found no place in the queue.
        #[reset] lost: DFF<Bit>,
        mine: Signal<Local, Bit>,
        newest: Signal<Local, Posted>,
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
        self.mine.next = self.db.valid.val() & (self.db.of.val().kind == 1);
        self.queue.s.valid.next = self.mine.val();
        self.comes.next = Waiting {
            index: self.db.of.val().index,
            qpn: bit_cast::<16, LQ>(self.db.of.val().qpn),
        };
        self.queue.s.data.next = self.comes.val().to_bits();
        self.waits.next = self.queue.m.data.val().into();
        self.lost.d.next = self.mine.val() & !self.queue.s.ready.val();
        self.queue.m.ready.next = !self.cfg_clear.val();
        self.s1_valid.d.next = self.queue.m.valid.val() | self.cfg_clear.val();
        self.s1.d.next.clear = self.cfg_clear.val();
        self.s1.d.next.sweep = self.cfg_sweep.val();
        self.s1.d.next.qpn = bit_cast::<LQ, 16>(self.waits.val().qpn);
        self.s1.d.next.index = self.waits.val().index;
        if self.cfg_clear.val() {
            self.s1.d.next.qpn = self.cfg_qpn.val();
            self.s1.d.next.index = 0.into();
        }

        // Stages 1 to 3: the tables.
        self.prods.rd.addr.next = self.s1.q.val().qpn;
        self.heads.rd.addr.next = self.s1.q.val().qpn;
        self.heads.wr.en.next = self.s_head.valid.val();
        self.heads.wr.addr.next = self.s_head.of.val().qpn;
        self.heads.wr.data.next = self.s_head.of.val().index;
        self.shapes.rd.addr.next = self.s1.q.val().qpn;
        self.shapes.wr.en.next = self.cfg_shape.val();
        self.shapes.wr.addr.next = self.cfg_qpn.val();
        self.shape_in.next = RingShape {
            log: self.cfg_log.val(),
            there: self.cfg_exists.val(),
        };
        self.shapes.wr.data.next = self.shape_in.val().to_bits();
        self.shape.next = self.shapes.rd.data.val().into();
        self.served.rd.addr.next = self.s1.q.val().qpn;
        self.served.wr.en.next = self.s_served_valid.val() | self.cfg_sweep.val();
        self.served.wr.addr.next = self.s_served_qpn.val();
        self.served.wr.data.next = self.s_served_mark.val().into();
        if self.cfg_sweep.val() {
            self.served.wr.addr.next = self.cfg_qpn.val();
            self.served.wr.data.next = 0.into();
        }
        self.s2_valid.d.next = self.s1_valid.q.val();
        self.s2.d.next = self.s1.q.val();
        self.s3_valid.d.next = self.s2_valid.q.val();
        self.s3.d.next = self.s2.q.val();
        self.s3_newer.d.next = self.s5_write.q.val() & (self.s5_qpn.q.val() == self.s2.q.val().qpn);
        self.s3_word.d.next = self.s5_word.q.val();

        // Stage 3: the newest word so far, the end of the ring.
        self.s4_valid.d.next = self.s3_valid.q.val();
        self.s4.d.next = self.s3.q.val();
        self.s4_word.d.next = self.prods.rd.data.val().into();
        if self.s3_newer.q.val() {
            self.s4_word.d.next = self.s3_word.q.val();
        }
        if self.s5_write.q.val() & (self.s5_qpn.q.val() == self.s3.q.val().qpn) {
            self.s4_word.d.next = self.s5_word.q.val();
        }
        self.s4_limit.d.next = self.heads.rd.data.val() + (self.one.val() << self.shape.val().log);
        self.s4_exists.d.next = self.shape.val().there;
        self.s4_served.d.next = self.served.rd.data.val().any();
        self.s4_same.d.next = self.s4.q.val().qpn == self.s3.q.val().qpn;

        // Stage 4: from the index posted to the limit, modulo 2^16.
        self.newest.next = self.s4_word.q.val();
        if self.s4_same.q.val() & self.s5_write.q.val() {
            self.newest.next = self.s5_word.q.val();
        }
        self.posted.next = self.newest.val().index;
        self.marked.next = self.newest.val().mark;
        self.after_posted.next = self.s4.q.val().index >= self.posted.val();
        self.before_limit.next = self.s4_limit.q.val() >= self.s4.q.val().index;
        self.straight.next = self.s4_limit.q.val() >= self.posted.val();
        self.fits.next =
            self.s4_exists.q.val() & (self.after_posted.val() | self.before_limit.val());
        if self.straight.val() {
            self.fits.next =
                self.s4_exists.q.val() & self.after_posted.val() & self.before_limit.val();
        }
        self.want.next = self.s4_valid.q.val()
            & self.fits.val()
            & !self.s4.q.val().clear
            & (self.marked.val() == self.s4_served.q.val());
        self.mark.next = (self.marked.val() ^ self.want.val()) & !self.s4.q.val().sweep;
        self.s5_write.d.next = self.s4_valid.q.val() & (self.fits.val() | self.s4.q.val().clear);
        self.s5_qpn.d.next = self.s4.q.val().qpn;
        self.s5_word.d.next = Posted {
            index: self.s4.q.val().index,
            mark: self.mark.val(),
        };
        self.s5_want.d.next = self.want.val();
        self.s5_bad.d.next = self.s4_valid.q.val() & !self.fits.val() & !self.s4.q.val().clear;

        // Stage 5: written.
        self.prods.wr.en.next = self.s5_write.q.val();
        self.prods.wr.addr.next = self.s5_qpn.q.val();
        self.prods.wr.data.next = self.s5_word.q.val().to_bits();
        self.m_prod.valid.next = self.s5_write.q.val();
        self.m_prod.of.next.qpn = self.s5_qpn.q.val();
        self.m_prod.of.next.index = self.s5_word.q.val().index;
        self.m_want_valid.next = self.s5_want.q.val();
        self.m_want_mark.next = self.s5_word.q.val().mark;
        self.ev_bad_doorbell.next = self.s5_bad.q.val() | self.lost.q.val();
    }
}
