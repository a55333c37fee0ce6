//! Reading receive requests ahead.

use super::recv_record::RingShape;
use crate::blocks::{FifoAhead, RamReg, RamRegForward};
use crate::bus::{DmaRequestOut, RingIndexIn};
use crate::prelude::*;
use crate::record::{ReadClient, ReceiveContext};
use crate::rw::EventQueue;

hdl_record! {
    /// A queue pair that wants a turn.
    struct Want {
        /// Queue pair.
        qpn: Bits<15>,
        /// Its mark.
        mark: Bit,
    }
}

hdl_module! {
    /// Reads receive requests of all queue pairs ahead, up to 16 of each, in bursts of up to 4 that
    /// end at multiples of 4 (so at the ring's end at the latest). A burst is read when the cache has
    /// room for all of it, or else for 2.
    /// Queue pairs that want a burst take turns of 13 clocks (8 from the second queue), at most one
    /// burst each; up to 15 bursts are under way. Two queues hold their numbers, each queue pair at
    /// most once in each: one for doorbells (s_want_*), one for requests that were taken (s_kick_*,
    /// with every second one of a queue pair) and for those that want one burst more. Who leaves a
    /// queue is marked as such before its indices are read, so nothing that happens meanwhile is lost.
    /// While nobody waits, a kick is a turn at once.
    /// Steps: 0 choose; 1 unmarked, tables; 2 to 6 wait for doorbells that saw the old mark; 7 block
    /// RAM arrays; 8 RAM outputs; 9 size of the burst; 10 room; 11 m_rd_*; in the clock after it the
    /// index is written back. A kick reads the tables in steps 1 to 3 and ends, or goes on with step
    /// 9. A turn begins anew if a queue pair was cleared just before, as not all tables are cleared
    /// in the same clock. While a read is not taken it stays, and no turn begins; a kick still ends as one that waits.
    #[module("card_recv_fetch_q{}", 1usize << LQ)]
    pub struct CardRecvFetch<const LQ: usize> {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset; the tables are cleared with cfg_clear and cfg_sweep.
        pub rst: Signal<In, Bit>,
        /// Begin no turn.
        pub hold: Signal<In, Bit>,
        /// Queue pair that is configured.
        pub cfg_qpn: Signal<In, Bits<LQ>>,
        /// Write its shape.
        pub cfg_shape: Signal<In, Bit>,
        /// Its receive ring may be read.
        pub cfg_reads: Signal<In, Bit>,
        /// log2 of its receive ring's length.
        pub cfg_log: Signal<In, Bits<4>>,
        /// Write the base of its receive ring.
        pub cfg_base: Signal<In, Bit>,
        /// The base.
        pub cfg_data: Signal<In, Bits<64>>,
        /// Its index becomes 0.
        pub cfg_clear: Signal<In, Bit>,
        /// With cfg_clear: it is in no queue.
        pub cfg_sweep: Signal<In, Bit>,
        /// The index of the requests that are posted.
        pub s_prod: RingIndexIn<LQ>,
        /// With s_prod_valid: the queue pair wants a turn.
        pub s_want_valid: Signal<In, Bit>,
        /// Its mark.
        pub s_want_mark: Signal<In, Bit>,
        /// A queue pair that wanted has its turn; pulse.
        pub m_served_valid: Signal<Out, Bit>,
        /// Queue pair.
        pub m_served_qpn: Signal<Out, Bits<LQ>>,
        /// The mark it had.
        pub m_served_mark: Signal<Out, Bit>,
        /// The index of the requests that packets have taken.
        pub s_head: RingIndexIn<LQ>,
        /// With s_head_valid: a burst may have room now; pulse, 13 clocks apart or more.
        pub s_kick_valid: Signal<In, Bit>,
        /// Reads of receive requests.
        pub m_rd: DmaRequestOut,
        /// A read has ended; pulse.
        pub s_done: Signal<In, Bit>,
        /// A queue pair whose ring cannot be read waits: begin no turn, so that these stay few.
        pub s_failed: Signal<In, Bit>,
        /// No turn, no read is under way.
        pub idle: Signal<Out, Bit>,

        /// Queue pairs that want a turn.
        wants: EventQueue<{ Want::BITS }, LQ>,
        comes: Signal<Local, Want>,
        again: EventQueue<16, LQ>,
        prods: RamRegForward<16, LQ>,
        heads: RamRegForward<16, LQ>,
        shapes: RamRegForward<{ RingShape::BITS }, LQ>,
        shape_in: Signal<Local, RingShape>,
        shape: Signal<Local, RingShape>,
        bases: RamReg<64, LQ>,
        /// Receive requests ever asked for, modulo 2^16.
        asked: RamReg<16, LQ>,
        /// The queue pair is in `again`.
        queued: RamReg<1, LQ>,
        /// Kicks that wait: a few while turns begin anew, one else.
        kicks: FifoAhead<16, 4>,
        /// One-hot.
        step: DFF<Bits<12>>,
        #[reset] is_kick: DFF<Bit>,
        #[reset] is_want: DFF<Bit>,
        qpn: DFF<Bits<LQ>>,
        mark: DFF<Bit>,
        /// Clocks until all tables are cleared alike.
        #[reset] unsettled: DFF<Bits<4>>,
        /// Requests ever asked for, and with the burst; these are written.
        count: DFF<Bits<16>>,
        sum: DFF<Bits<16>>,
        #[reset] put: DFF<Bit>,
        /// Reads under way.
        #[reset] flying: DFF<Bits<4>>,
        /// As many as may be.
        #[reset] crowded: DFF<Bit>,
        /// Step 9 on: requests not asked for, room for more of them, the next index in the ring, up to the end of the
        /// burst, the ring may be read.
        ahead: DFF<Bits<16>>,
        free: DFF<Bits<5>>,
        offset: DFF<Bits<16>>,
        span: DFF<Bits<3>>,
        reads: DFF<Bit>,
        /// Step 10 on: requests of the burst, more are there behind it, the address so far, bits 32 on without their carry.
        burst: DFF<Bits<3>>,
        more: DFF<Bit>,
        low: DFF<Bits<33>>,
        /// Step 11: the burst is read.
        go: DFF<Bit>,
        high: DFF<Bits<32>>,
        #[reset] rd_valid: DFF<Bit>,
        rd_addr: DFF<Bits<64>>,
        rd_len: DFF<Bits<13>>,
        rd_ctx: DFF<ReceiveContext>,
        /// A read may begin.
        open: Signal<Local, Bit>,
        can_turn: Signal<Local, Bit>,
        /// The queue of doorbells goes first.
        pick_want: Signal<Local, Bit>,
        turn: Signal<Local, Bit>,
        next: Signal<Local, Want>,
        log: Signal<Local, Bits<4>>,
        place: Signal<Local, Bits<16>>,
        fits: Signal<Local, Bit>,
        /// The queue pair is in `again`, this turn apart.
        stays: Signal<Local, Bit>,
        enter: Signal<Local, Bit>,
        commit: Signal<Local, Bit>,
        begin: Signal<Local, Bit>,
        all: Param<0xffff, 16>,
        client: Param<{ ReadClient::ReceiveRequest as usize }, 2>,
    }
}

impl<const LQ: usize> Logic for CardRecvFetch<LQ> {
    #[hdl_gen]
    fn update(&mut self) {
        // Tables.
        self.prods.rd.addr.next = self.qpn.q.val();
        self.prods.wr.en.next = self.s_prod.valid.val();
        self.prods.wr.addr.next = self.s_prod.of.val().qpn;
        self.prods.wr.data.next = self.s_prod.of.val().index;
        self.heads.rd.addr.next = self.qpn.q.val();
        self.heads.wr.en.next = self.s_head.valid.val();
        self.heads.wr.addr.next = self.s_head.of.val().qpn;
        self.heads.wr.data.next = self.s_head.of.val().index;
        self.shapes.rd.addr.next = self.qpn.q.val();
        self.shapes.wr.en.next = self.cfg_shape.val();
        self.shapes.wr.addr.next = self.cfg_qpn.val();
        self.shape_in.next = RingShape {
            log: self.cfg_log.val(),
            there: self.cfg_reads.val(),
        };
        self.shapes.wr.data.next = self.shape_in.val().to_bits();
        self.shape.next = self.shapes.rd.data.val().into();
        self.bases.rd.addr.next = self.qpn.q.val();
        self.bases.wr.en.next = self.cfg_base.val();
        self.bases.wr.addr.next = self.cfg_qpn.val();
        self.bases.wr.data.next = self.cfg_data.val();

        // Step 0: a kick, or the queue whose turn it is.
        self.begin.next = self.step.q.val().get_bit(0) & !self.put.q.val();
        self.kicks.s.valid.next = self.s_kick_valid.val();
        self.kicks.s.data.next = bit_cast::<16, LQ>(self.s_head.of.val().qpn);
        self.kicks.m.ready.next = self.begin.val();
        self.open.next = !self.hold.val()
            & !self.s_failed.val()
            & !self.crowded.q.val()
            & !self.rd_valid.q.val();
        self.can_turn.next = self.begin.val() & !self.kicks.m.valid.val() & self.open.val();
        self.pick_want.next =
            self.wants.m.valid.val() & (!self.again.m.valid.val() | !self.is_want.q.val());
        self.turn.next =
            self.can_turn.val() & (self.wants.m.valid.val() | self.again.m.valid.val());
        self.wants.s.valid.next = self.s_want_valid.val();
        self.comes.next = Want {
            qpn: bit_cast::<15, LQ>(self.s_prod.of.val().qpn),
            mark: self.s_want_mark.val(),
        };
        self.wants.s.data.next = self.comes.val().to_bits();
        self.wants.m.ready.next = self.can_turn.val() & self.pick_want.val();
        self.again.m.ready.next = self.can_turn.val() & !self.pick_want.val();
        self.next.next = self.again.m.data.val().into();
        if self.pick_want.val() {
            self.next.next = self.wants.m.data.val().into();
        }
        if self.begin.val() {
            if self.turn.val() {
                self.is_want.d.next = self.pick_want.val();
                self.mark.d.next = self.next.val().mark;
                self.qpn.d.next = bit_cast::<LQ, 15>(self.next.val().qpn);
                self.is_kick.d.next = false;
                self.step.d.next = bits::<12>(1) << 1;
            }
            if self.kicks.m.valid.val() {
                self.qpn.d.next = bit_cast::<LQ, 16>(self.kicks.m.data.val());
                self.is_kick.d.next = true;
                self.step.d.next = bits::<12>(1) << 1;
            }
        }
        if !self.step.q.val().get_bit(0) {
            self.step.d.next = self.step.q.val() << 1;
        }

        // Step 1: doorbells from here on make it want again; who comes from the other queue need not wait for any.
        if self.step.q.val().get_bit(1) & !self.is_want.q.val() & !self.is_kick.q.val() {
            self.step.d.next = bits::<12>(1) << 7;
        }
        self.m_served_valid.next =
            self.step.q.val().get_bit(1) & self.is_want.q.val() & !self.is_kick.q.val();
        self.m_served_qpn.next = self.qpn.q.val();
        self.m_served_mark.next = self.mark.q.val();

        // Step 8: indices.
        self.log.next = self.shape.val().log;
        self.place.next = self.asked.rd.data.val() & !(self.all.val() << self.log.val());
        self.ahead.d.next = self.prods.rd.data.val() - self.asked.rd.data.val();
        self.free.d.next = self.heads.rd.data.val().get_bits::<5>(0)
            - self.asked.rd.data.val().get_bits::<5>(0)
            + 16;
        self.offset.d.next = self.place.val();
        self.span.d.next = bits::<3>(4) - bit_cast::<3, 2>(self.place.val().get_bits::<2>(0));
        if self.log.val() == 1 {
            self.span.d.next = bits::<3>(2) - bit_cast::<3, 1>(self.place.val().get_bits::<1>(0));
        }
        if self.log.val() == 0 {
            self.span.d.next = 1.into();
        }
        self.reads.d.next = self.shape.val().there;

        // Step 9: size of the burst, lower half of the address. A doorbell that comes later makes this burst no longer:
        // its room is compared in step 10.
        self.burst.d.next = self.span.q.val();
        self.more.d.next = true;
        if self.ahead.q.val() <= bit_cast::<16, 3>(self.span.q.val()) {
            self.burst.d.next = self.ahead.q.val().get_bits::<3>(0);
            self.more.d.next = false;
        }
        if self.step.q.val().get_bit(10) | self.step.q.val().get_bit(11) {
            self.burst.d.next = self.burst.q.val();
            self.more.d.next = self.more.q.val();
        }
        self.low.d.next = bit_cast::<33, 32>(self.bases.rd.data.val().get_bits::<32>(0))
            + (bit_cast::<33, 16>(self.offset.q.val()) << 5);

        // Step 10: room for all of it, or for 2; upper half.
        self.fits.next = bit_cast::<5, 3>(self.burst.q.val()) <= self.free.q.val();
        self.go.d.next = self.reads.q.val() & self.burst.q.val().any() & self.fits.val();
        if self.step.q.val().get_bit(10) & !self.fits.val() {
            self.go.d.next = self.reads.q.val()
                & self.free.q.val().get_bits::<4>(1).any()
                & !self.offset.q.val().get_bit(0);
            self.burst.d.next = 2.into();
            self.more.d.next = true;
        }
        self.high.d.next = self.bases.rd.data.val().get_bits::<32>(32)
            + bit_cast::<32, 1>(self.low.q.val().get_bits::<1>(32));
        if self.step.q.val().get_bit(10) & self.unsettled.q.val().any() {
            self.step.d.next = bits::<12>(1) << 1;
        }
        self.unsettled.d.next = self.unsettled.q.val() - 1;
        if !self.unsettled.q.val().any() {
            self.unsettled.d.next = 0.into();
        }
        if self.cfg_clear.val() {
            self.unsettled.d.next = 15.into();
        }

        // Step 11: the read. A queue pair that is cleared in this clock goes first: it is another one.
        self.commit.next = self.step.q.val().get_bit(11) & !self.cfg_clear.val();
        if self.step.q.val().get_bit(11) {
            self.step.d.next = bits::<12>(1) << 11;
            self.go.d.next = self.go.q.val();
        }
        if self.commit.val() {
            self.step.d.next = 1.into();
        }
        self.asked.rd.addr.next = self.qpn.q.val();
        self.count.d.next = self.asked.rd.data.val();
        self.sum.d.next = self.count.q.val() + bit_cast::<16, 3>(self.burst.q.val());
        self.put.d.next = self.commit.val() & self.go.q.val();
        if self.put.q.val() & self.cfg_clear.val() {
            self.put.d.next = true;
            self.sum.d.next = self.sum.q.val();
        }
        self.asked.wr.en.next = self.put.q.val() | self.cfg_clear.val();
        self.asked.wr.addr.next = self.qpn.q.val();
        self.asked.wr.data.next = self.sum.q.val();
        if self.cfg_clear.val() {
            self.asked.wr.addr.next = self.cfg_qpn.val();
            self.asked.wr.data.next = 0.into();
        }
        if self.m_rd.ready.val() {
            self.rd_valid.d.next = false;
        }
        if self.commit.val() & self.go.q.val() {
            self.rd_valid.d.next = true;
            self.rd_addr.d.next = bit_cast::<64, 32>(self.low.q.val().get_bits::<32>(0))
                | (bit_cast::<64, 32>(self.high.q.val()) << 32);
            self.rd_len.d.next = bit_cast::<13, 3>(self.burst.q.val()) << 5;
            self.rd_ctx.d.next = ReceiveContext {
                place: self.count.q.val().get_bits::<4>(0),
                qpn: bit_cast::<10, LQ>(self.qpn.q.val()),
                client: self.client.val(),
            };
        }
        self.m_rd.valid.next = self.rd_valid.q.val();
        self.m_rd.of.next.addr = self.rd_addr.q.val();
        self.m_rd.of.next.len = self.rd_len.q.val();
        self.m_rd.of.next.ctx = self.rd_ctx.q.val().to_bits();
        if self.commit.val() & self.go.q.val() & !self.s_done.val() {
            self.flying.d.next = self.flying.q.val() + 1;
            self.crowded.d.next = self.flying.q.val() == 14;
        }
        if self.s_done.val() & !(self.commit.val() & self.go.q.val()) {
            self.flying.d.next = self.flying.q.val() - 1;
            self.crowded.d.next = false;
        }

        // The queue of those that want once more, and who is in it.
        self.stays.next =
            self.queued.rd.data.val().any() & (self.is_want.q.val() | self.is_kick.q.val());
        self.enter.next = self.commit.val() & self.go.q.val() & self.more.q.val();
        if self.step.q.val().get_bit(3) & self.is_kick.q.val() {
            self.step.d.next = 1.into();
            self.enter.next = true;
            if self.open.val() & !self.wants.m.valid.val() & !self.again.m.valid.val() {
                self.step.d.next = bits::<12>(1) << 9;
                self.enter.next = false;
            }
        }
        self.again.s.valid.next = self.enter.val() & !self.stays.val();
        self.again.s.data.next = bit_cast::<16, LQ>(self.qpn.q.val());
        self.queued.rd.addr.next = self.qpn.q.val();
        self.queued.wr.en.next = self.commit.val() | self.enter.val() | self.cfg_sweep.val();
        self.queued.wr.addr.next = self.qpn.q.val();
        self.queued.wr.data.next = (self.enter.val() | self.stays.val()).into();
        if self.cfg_sweep.val() {
            self.queued.wr.addr.next = self.cfg_qpn.val();
            self.queued.wr.data.next = 0.into();
        }

        self.idle.next = self.begin.val()
            & !self.put.q.val()
            & !self.turn.val()
            & !self.rd_valid.q.val()
            & !self.flying.q.val().any();
        if self.rst.val() {
            self.step.d.next = 1.into();
        }
    }
}
