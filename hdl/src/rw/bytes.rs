//! The bitmap of a window, eight packets a clock.

use crate::blocks::PriorityEncoder;
use crate::prelude::*;

hdl_module! {
    /// Reads a word of the bitmap in bytes: for the control engine, which has time, a byte costs
    /// an eighth of the shifters and encoders that a word would.
    /// A word is taken with load; raise and relate say where it stands; prepare makes its first
    /// byte ready, and each shift leads to the next one.
    #[module("rw_bytes_w{B}_n{}", 1usize << LNW)]
    pub struct RwBytes<const B: usize, const LB: usize, const LNW: usize, const AW: usize> {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Take the word and wbase.
        pub load: Signal<In, Bit>,
        /// Word of the bitmap: the lap in which each packet was received.
        pub raw: Signal<In, Bits<B>>,
        /// First packet of that word, divided by B.
        pub abs: Signal<In, Bits<AW>>,
        /// First hole of the window; everything below it has been received.
        pub wbase: Signal<In, Bits<22>>,
        /// The sweep reads: only packets from pos to below stop may be holes.
        pub sweep: Signal<In, Bit>,
        /// First packet that may be a hole.
        pub pos: Signal<In, Bits<22>>,
        /// Packet after the last that may be one.
        pub stop: Signal<In, Bits<22>>,
        /// Take wbase.
        pub settle: Signal<In, Bit>,
        /// Raise wbase to pos, two clocks after load.
        pub raise: Signal<In, Bit>,
        /// Compare the word with wbase and stop; forget holes.
        pub relate: Signal<In, Bit>,
        /// Make byte 0 ready.
        pub prepare: Signal<In, Bit>,
        /// On to the next byte.
        pub shift: Signal<In, Bit>,
        /// Low bits of the first packet of a STATUS: its bytes begin there.
        pub align: Signal<In, Bits<3>>,
        /// Append the byte before this one and this one, aligned, to word.
        pub push: Signal<In, Bit>,
        /// Forget the lowest hole. What none and hole say then holds two clocks later.
        pub drop_hole: Signal<In, Bit>,
        /// pos was above the wbase taken last, one clock ago.
        pub higher: Signal<Out, Bit>,
        /// Word of a STATUS.
        pub word: Signal<Out, Bits<B>>,
        /// Bytes made ready.
        pub count: Signal<Out, Bits<4>>,
        /// The byte before this one has no hole that is not forgotten.
        pub none: Signal<Out, Bit>,
        /// Place of its lowest hole.
        pub hole: Signal<Out, Bits<3>>,
        lb: Param<LB, 5>,
        lnw: Param<LNW, 5>,
        width: Param<B, 7>,
        top: Signal<Local, Bits<7>>,
        lowest: PriorityEncoder<8, 3>,
        /// What is left of the word, as bits "received".
        view: DFF<Bits<B>>,
        /// wbase or pos, whichever is higher.
        base: DFF<Bits<22>>,
        /// pos is higher.
        above: DFF<Bit>,
        /// The word is below the one of base; it is that one; it is the one of stop.
        below: DFF<Bit>,
        at_base: DFF<Bit>,
        at_end: DFF<Bit>,
        /// Bytes made ready.
        ready: DFF<Bits<4>>,
        /// In the byte of base, packets below it; in that of stop, packets from it on.
        under: DFF<Bits<8>>,
        over: DFF<Bits<8>>,
        /// This byte has no holes whatever the word says; is the one of base; is the one of stop.
        whole: DFF<Bit>,
        first: DFF<Bit>,
        last: DFF<Bit>,
        /// The byte before.
        before: DFF<Bits<8>>,
        /// Holes of the byte before; there is none.
        holes: DFF<Bits<8>>,
        empty: DFF<Bit>,
        /// A hole was forgotten one clock ago.
        dropped: DFF<Bit>,
        shifted: DFF<Bits<B>>,
        ones: Signal<Local, Bits<8>>,
        octet: Signal<Local, Bits<8>>,
        pair: Signal<Local, Bits<16>>,
        aligned: Signal<Local, Bits<8>>,
        base_abs: Signal<Local, Bits<AW>>,
        end_abs: Signal<Local, Bits<AW>>,
        base_byte: Signal<Local, Bits<4>>,
        end_byte: Signal<Local, Bits<4>>,
        below_base: Signal<Local, Bits<8>>,
        past_end: Signal<Local, Bits<8>>,
    }
}

impl<const B: usize, const LB: usize, const LNW: usize, const AW: usize> Logic
    for RwBytes<B, LB, LNW, AW>
{
    #[hdl_gen]
    fn update(&mut self) {
        self.ones.next = 255.into();
        self.top.next = self.width.val() - 8;

        // The word, and where it stands.
        self.base_abs.next = bit_cast::<AW, 22>(self.base.q.val() >> self.lb.val());
        self.end_abs.next = bit_cast::<AW, 22>(self.stop.val() >> self.lb.val());
        if self.shift.val() {
            self.view.d.next = self.view.q.val() >> 8;
        }
        if self.load.val() {
            self.view.d.next = !self.raw.val();
            if !self.abs.val().get_bit(self.lnw.val().index()) {
                self.view.d.next = self.raw.val();
            }
        }
        if self.load.val() | self.settle.val() {
            self.base.d.next = self.wbase.val();
        }
        self.above.d.next = self.pos.val() > self.base.q.val();
        if self.raise.val() & self.above.q.val() {
            self.base.d.next = self.pos.val();
        }
        if self.relate.val() {
            self.below.d.next = self.abs.val() < self.base_abs.val();
            self.at_base.d.next = self.abs.val() == self.base_abs.val();
            self.at_end.d.next = self.sweep.val() & (self.abs.val() == self.end_abs.val());
            self.ready.d.next = 0.into();
            self.under.d.next = !(self.ones.val() << bit_cast::<3, 22>(self.base.q.val()));
            self.over.d.next = self.ones.val() << bit_cast::<3, 22>(self.stop.val());
        }

        // What is certain about a byte, one clock before it is looked at.
        self.base_byte.next = bit_cast::<4, LB>(bit_cast::<LB, 22>(self.base.q.val()) >> 3);
        self.end_byte.next = bit_cast::<4, LB>(bit_cast::<LB, 22>(self.stop.val()) >> 3);
        if self.prepare.val() | self.shift.val() {
            self.whole.d.next = self.below.q.val()
                | (self.at_base.q.val() & (self.ready.q.val() < self.base_byte.val()))
                | (self.at_end.q.val() & (self.ready.q.val() > self.end_byte.val()));
            self.first.d.next = self.at_base.q.val() & (self.ready.q.val() == self.base_byte.val());
            self.last.d.next = self.at_end.q.val() & (self.ready.q.val() == self.end_byte.val());
            self.ready.d.next = self.ready.q.val() + 1;
        }
        self.count.next = self.ready.q.val();
        self.higher.next = self.above.q.val();

        // A byte, and what becomes of it.
        self.below_base.next = 0.into();
        if self.first.q.val() {
            self.below_base.next = self.under.q.val();
        }
        self.past_end.next = 0.into();
        if self.last.q.val() {
            self.past_end.next = self.over.q.val();
        }
        self.octet.next = self.ones.val();
        if !self.whole.q.val() {
            self.octet.next =
                bit_cast::<8, B>(self.view.q.val()) | self.below_base.val() | self.past_end.val();
        }
        self.pair.next =
            (bit_cast::<16, 8>(self.octet.val()) << 8) | bit_cast::<16, 8>(self.before.q.val());
        self.aligned.next = bit_cast::<8, 16>(self.pair.val() >> self.align.val());
        self.dropped.d.next = self.drop_hole.val();
        if self.dropped.q.val() {
            self.empty.d.next = !self.holes.q.val().any();
        }
        if self.drop_hole.val() {
            self.holes.d.next = self.holes.q.val() & (self.holes.q.val() - 1);
        }
        if self.shift.val() {
            self.before.d.next = self.octet.val();
            self.holes.d.next = !self.octet.val();
            self.empty.d.next = self.octet.val().all();
        }
        if self.relate.val() {
            self.holes.d.next = 0.into();
            self.empty.d.next = true;
        }
        if self.push.val() {
            self.shifted.d.next = (self.shifted.q.val() >> 8)
                | (bit_cast::<B, 8>(self.aligned.val()) << self.top.val());
        }
        self.word.next = self.shifted.q.val();
        self.lowest.req.next = self.holes.q.val();
        self.none.next = self.empty.q.val();
        self.hole.next = self.lowest.index.val();
    }
}
