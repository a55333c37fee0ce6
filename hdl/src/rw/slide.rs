//! Slides of the receiver windows.

use crate::blocks::{FifoReg, PriorityEncoderPipe, RamRegForward};
use crate::bus::RamWriteIn;
use crate::prelude::*;

hdl_record! {
    /// A visit of a window. A bits for a window.
    struct Visit<const A: usize> {
        /// A credit update is due.
        due: Bit,
        /// Window.
        wptr: Bits<A>,
        /// wbase was written since it was read.
        stale: Bit,
        /// wbase.
        base: Bits<22>,
    }
}

hdl_module! {
    /// Moves wbase of the receiver windows over the packets that have arrived (RW-3), beside the
    /// accept pipeline. One visit to a window in every clock, each in nine stages:
    ///   1 address of wbase                   2 block RAM array
    ///   3 address of the word of wbase       4 block RAM array
    ///   5 what is missing from wbase on      6 first hole of each part of the word
    ///   7 first hole of the word             8 new wbase
    ///   9 m_*
    /// A visit moves wbase to the first hole of its word, or to the beginning of the next word if
    /// there is none. A slide over a multiple of W/4 makes a credit update due once it has come to a
    /// hole, however many visits that takes.
    /// The windows of packets that were taken at wbase are visited, and those that have moved are
    /// visited again; both wait in a queue. All others in turn, in clocks in which nothing waits and
    /// in one of eight: that finds what the queue had no room for.
    /// A record that was taken before m_* has its bit in the bitmap five clocks after m_* at most, which
    /// is when the visit that follows reads the bitmap: no packet at wbase is overlooked.
    #[module("rw_slide_w{}_r{}", 1usize << LW, 1usize << A)]
    pub struct RwSlide<
        const A: usize, const LW: usize, const B: usize, const LB: usize, const LNW: usize,
        const BA: usize,
    > {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset: empties the queue.
        pub rst: Signal<In, Bit>,
        /// A packet was taken, and it was wbase.
        pub s_valid: Signal<In, Bit>,
        /// Its window.
        pub s_wptr: Signal<In, Bits<A>>,
        /// A word of the window s_wptr is cleared: its wbase becomes 0.
        pub clear_valid: Signal<In, Bit>,
        /// The bitmap is written.
        pub wr: RamWriteIn<B, BA>,
        /// wbase is written.
        pub m_en: Signal<Out, Bit>,
        /// Of this window.
        pub m_wptr: Signal<Out, Bits<A>>,
        /// What it is now.
        pub m_base: Signal<Out, Bits<22>>,
        /// A credit update is due.
        pub m_credit: Signal<Out, Bit>,
        /// For this window.
        pub m_credit_wptr: Signal<Out, Bits<A>>,

        lw: Param<LW, 5>,
        lb: Param<LB, 5>,
        lnw: Param<LNW, 5>,
        bases: RamRegForward<22, A>,
        bitmap: RamRegForward<B, BA>,
        lowest: PriorityEncoderPipe<B, LB>,
        /// Windows, and in bit 15 whether a credit update is due at the next hole.
        queue: FifoReg<16, 4>,

        /// A window is to be visited once more: it has moved, or an update is still due.
        #[reset] v9_again: DFF<Bit>,
        v9_wptr: DFF<Bits<A>>,
        #[reset] again: DFF<Bit>,
        again_wptr: DFF<Bits<A>>,
        /// A credit update is due; the visit came to a hole; it changed nothing, whatever it found.
        v9_due: DFF<Bit>,
        v9_hole: DFF<Bit>,
        v9_idle: DFF<Bit>,
        again_due: DFF<Bit>,
        due: Signal<Local, Bit>,
        crossed: Signal<Local, Bit>,
        told: Signal<Local, Bit>,
        /// The window in again_wptr finds no place.
        lost: Signal<Local, Bit>,
        /// Window whose turn it is; one clock of eight is for turns only.
        turn: DFF<Bits<A>>,
        count: DFF<Bits<3>>,
        waiting: Signal<Local, Bit>,

        /// The windows visited.
        v1: DFF<Visit<A>>,
        v2: DFF<Visit<A>>,
        v3: DFF<Visit<A>>,
        v4: DFF<Visit<A>>,
        v5: DFF<Visit<A>>,
        v6: DFF<Visit<A>>,
        v7: DFF<Visit<A>>,
        v8: DFF<Visit<A>>,
        /// wbase was written since it was read.
        v8_now_stale: Signal<Local, Bit>,
        v9_base: DFF<Bits<22>>,
        /// The packets of the word from wbase on that have not arrived.
        v6_missing: DFF<Bits<B>>,
        /// The first one of the next word.
        v8_beyond: DFF<Bits<22>>,
        v3_index: Signal<Local, Bits<LNW>>,
        v5_lap: Signal<Local, Bit>,
        v5_received: Signal<Local, Bits<B>>,
        hole: Signal<Local, Bits<22>>,
        moved: Signal<Local, Bit>,

        #[reset] en: DFF<Bit>,
        /// Not a window that is cleared.
        #[reset] slid: DFF<Bit>,
        wptr: DFF<Bits<A>>,
        base: DFF<Bits<22>>,
        #[reset] credit: DFF<Bit>,
        credit_wptr: DFF<Bits<A>>,
    }
}

impl<
    const A: usize,
    const LW: usize,
    const B: usize,
    const LB: usize,
    const LNW: usize,
    const BA: usize,
> Logic for RwSlide<A, LW, B, LB, LNW, BA>
{
    #[hdl_gen]
    fn update(&mut self) {
        RamWriteIn::<B, BA>::link(&mut self.wr, &mut self.bitmap.wr);

        // The queue: a packet at wbase goes first, a window that has moved waits. What finds the
        // queue full is left to the turns.
        self.queue.s.valid.next = self.s_valid.val() | self.again.q.val();
        self.queue.s.data.next = (bit_cast::<16, 1>(self.again_due.q.val().into()) << 15)
            | bit_cast::<16, A>(self.again_wptr.q.val());
        if self.s_valid.val() {
            self.queue.s.data.next = bit_cast::<16, A>(self.s_wptr.val());
        }
        self.count.d.next = self.count.q.val() + 1;
        self.waiting.next = self.queue.m.valid.val() & self.count.q.val().any();
        self.queue.m.ready.next = self.count.q.val().any();
        self.v1.d.next.wptr = self.turn.q.val();
        self.v1.d.next.due = false;
        if self.waiting.val() {
            self.v1.d.next.wptr = bit_cast::<A, 16>(self.queue.m.data.val());
            self.v1.d.next.due = self.queue.m.data.val().get_bit(15);
        } else {
            self.turn.d.next = self.turn.q.val() + 1;
        }

        self.v2.d.next = self.v1.q.val();
        self.v3.d.next = self.v2.q.val();
        self.v4.d.next = self.v3.q.val();
        self.v5.d.next = self.v4.q.val();
        self.v6.d.next = self.v5.q.val();
        self.v7.d.next = self.v6.q.val();
        // Not of the transfer before.
        self.v8.d.next = self.v7.q.val();
        self.v8.d.next.due = self.v7.q.val().due & self.v7.q.val().base.any();

        // Stages 1 and 2: wbase.
        self.bases.rd.addr.next = self.v1.q.val().wptr;
        self.v3.d.next.stale = self.en.q.val() & (self.wptr.q.val() == self.v2.q.val().wptr);

        // Stages 3 and 4: its word.
        self.v3_index.next = self
            .bases
            .rd
            .data
            .val()
            .get_bits::<LNW>(self.lb.val().index());
        self.bitmap.rd.addr.next = (bit_cast::<BA, A>(self.v3.q.val().wptr) << self.lnw.val())
            | bit_cast::<BA, LNW>(self.v3_index.val());
        self.v4.d.next.base = self.bases.rd.data.val();
        self.v4.d.next.stale =
            self.v3.q.val().stale | (self.en.q.val() & (self.wptr.q.val() == self.v3.q.val().wptr));
        self.v5.d.next.stale =
            self.v4.q.val().stale | (self.en.q.val() & (self.wptr.q.val() == self.v4.q.val().wptr));

        // Stage 5: what is missing of it. A bit tells the lap of the packet that arrived there last.
        self.v5_lap.next = !self.v5.q.val().base.get_bit(self.lw.val().index());
        self.v5_received.next = !self.bitmap.rd.data.val();
        if self.v5_lap.val() {
            self.v5_received.next = self.bitmap.rd.data.val();
        }
        self.v6_missing.d.next =
            !self.v5_received.val() & (!bits::<B>(0) << bit_cast::<LB, 22>(self.v5.q.val().base));
        self.v6.d.next.stale =
            self.v5.q.val().stale | (self.en.q.val() & (self.wptr.q.val() == self.v5.q.val().wptr));

        // Stages 6 and 7: its first hole, and the beginning of the next word.
        self.lowest.req.next = self.v6_missing.q.val();
        self.v7.d.next.stale =
            self.v6.q.val().stale | (self.en.q.val() & (self.wptr.q.val() == self.v6.q.val().wptr));
        self.v8_beyond.d.next = ((self.v7.q.val().base >> self.lb.val()) + 1) << self.lb.val();
        self.v8.d.next.stale =
            self.v7.q.val().stale | (self.en.q.val() & (self.wptr.q.val() == self.v7.q.val().wptr));

        // Stage 8: where wbase goes. A visit that overlaps one that has moved wbase changes nothing.
        self.hole.next = ((self.v8.q.val().base >> self.lb.val()) << self.lb.val())
            | bit_cast::<22, LB>(self.lowest.index.val());
        self.moved.next = self.lowest.none.val()
            | (self.lowest.index.val() != bit_cast::<LB, 22>(self.v8.q.val().base));
        self.v8_now_stale.next =
            self.v8.q.val().stale | (self.en.q.val() & (self.wptr.q.val() == self.v8.q.val().wptr));
        self.v9_idle.d.next = self.v8_now_stale.val() | self.clear_valid.val();
        self.v9_again.d.next = self.moved.val()
            | (self.v8.q.val().due & (self.v8_now_stale.val() | self.clear_valid.val()));
        self.v9_due.d.next = self.v8.q.val().due;
        self.v9_hole.d.next = !self.lowest.none.val();
        self.v9_wptr.d.next = self.v8.q.val().wptr;
        self.slid.d.next = self.moved.val() & !self.v8_now_stale.val() & !self.clear_valid.val();
        self.en.d.next = (self.moved.val() & !self.v8_now_stale.val()) | self.clear_valid.val();
        self.wptr.d.next = self.v8.q.val().wptr;
        self.base.d.next = self.hole.val();
        if self.lowest.none.val() {
            self.base.d.next = self.v8_beyond.q.val();
        }
        if self.clear_valid.val() {
            self.wptr.d.next = self.s_wptr.val();
            self.base.d.next = 0.into();
        }
        self.v9_base.d.next = self.v8.q.val().base;

        // Stage 9: it is written.
        self.bases.wr.en.next = self.en.q.val();
        self.bases.wr.addr.next = self.wptr.q.val();
        self.bases.wr.data.next = self.base.q.val();
        self.m_en.next = self.en.q.val();
        self.m_wptr.next = self.wptr.q.val();
        self.m_base.next = self.base.q.val();
        self.crossed.next = self.slid.q.val()
            & (((self.base.q.val() ^ self.v9_base.q.val()) << 2) >> self.lw.val()).any();
        self.due.next = self.v9_due.q.val() | self.crossed.val();
        self.told.next = self.due.val() & self.v9_hole.q.val() & !self.v9_idle.q.val();
        self.again.d.next = (self.again.q.val() & self.s_valid.val()) | self.v9_again.q.val();
        self.lost.next = self.again.q.val()
            & ((self.s_valid.val() & self.v9_again.q.val())
                | (!self.s_valid.val() & !self.queue.s.ready.val()));
        if self.v9_again.q.val() {
            self.again_wptr.d.next = self.v9_wptr.q.val();
            self.again_due.d.next = self.due.val() & !self.told.val();
        }
        // An update that would be lost with its window comes at once.
        self.credit.d.next = self.told.val();
        self.credit_wptr.d.next = self.v9_wptr.q.val();
        if self.lost.val() & self.again_due.q.val() & !self.told.val() {
            self.credit.d.next = true;
            self.credit_wptr.d.next = self.again_wptr.q.val();
        }
        self.m_credit.next = self.credit.q.val();
        self.m_credit_wptr.next = self.credit_wptr.q.val();
    }
}
