//! Transfers whose fresh packets leave in the order in which they began.

use crate::blocks::{GatherBits, PriorityEncoder};
use crate::prelude::*;
use tributary_protocol::rw::QUEUED_MOST;

// The places below.
const _: () = assert!(QUEUED_MOST == 8);

hdl_module! {
    /// Queue of up to 8 transfers that send oldest first: says which of them is the oldest that has a fresh packet. One that
    /// begins while all places are taken is none of them. Place 0 is the oldest; a place below which one is free takes over
    /// from the one above.
    /// Latency: 2 clocks from begin, set or end to the outputs; one of the three a clock.
    #[module("bulk_queue_s{S}")]
    pub struct BulkQueue<const S: usize, const LS: usize> {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset: no transfers.
        pub rst: Signal<In, Bit>,
        /// The transfer that this is about.
        pub s_slot: Signal<In, Bits<LS>>,
        /// It begins, and sends oldest first.
        pub s_begin: Signal<In, Bit>,
        /// It says what it wants.
        pub s_set: Signal<In, Bit>,
        /// A fresh packet.
        pub s_fresh: Signal<In, Bit>,
        /// It ends.
        pub s_end: Signal<In, Bit>,
        /// Transfers whose packets have to wait: as if they had none.
        pub s_held: Signal<In, Bits<S>>,
        /// Transfers in the queue.
        pub m_queued: Signal<Out, Bits<S>>,
        /// One of them has a fresh packet.
        pub m_any: Signal<Out, Bit>,
        /// The oldest that has.
        pub m_oldest: Signal<Out, Bits<LS>>,

        /// Place by place: a transfer is there, its slot, it is there and has a fresh packet.
        #[reset] taken: DFF<Bits<8>>,
        slots: Bank<DFF<Bits<LS>>, 8>,
        #[reset] fresh: DFF<Bits<8>>,
        /// Places of the transfer named.
        same: GatherBits<8>,
        here: Signal<Local, Bits<8>>,
        /// After what it says, before places move.
        stays: Signal<Local, Bits<8>>,
        wants: Signal<Local, Bits<8>>,
        has: Signal<Local, Bits<8>>,
        /// Places that take over from above: those from the lowest free one on.
        free: Signal<Local, Bits<8>>,
        moves: Signal<Local, Bits<8>>,
        enters: Signal<Local, Bit>,
        /// Places whose packets have to wait.
        waits: GatherBits<8>,
        may: Signal<Local, Bits<8>>,
        /// The lowest place with a fresh packet.
        first: PriorityEncoder<8, 3>,
        place: Signal<Local, Bits<3>>,
        mask: Signal<Local, Bits<S>>,
        #[reset] queued: DFF<Bits<S>>,
        #[reset] any: DFF<Bit>,
        oldest: DFF<Bits<LS>>,
    }
}

impl<const S: usize, const LS: usize> Logic for BulkQueue<S, LS> {
    #[hdl_gen]
    fn update(&mut self) {
        for i in 0..8 {
            self.same.s[i].next = self.slots[i].q.val() == self.s_slot.val();
        }
        self.here.next = self.same.m.val() & self.taken.q.val();
        self.stays.next = self.taken.q.val();
        if self.s_end.val() {
            self.stays.next = self.taken.q.val() & !self.here.val();
        }
        self.wants.next = self.fresh.q.val();
        if self.s_set.val() {
            self.wants.next = self.fresh.q.val() & !self.here.val();
            if self.s_fresh.val() {
                self.wants.next = self.fresh.q.val() | self.here.val();
            }
        }

        self.free.next = !self.taken.q.val();
        self.moves.next = self.free.val() | (bits::<8>(0) - self.free.val());
        self.enters.next = self.s_begin.val() & self.moves.val().get_bit(7);
        self.taken.d.next = (self.stays.val() & !self.moves.val())
            | ((self.stays.val() >> 1) & self.moves.val()).replace_bit(7, self.enters.val());
        self.has.next = self.wants.val() & self.stays.val();
        self.fresh.d.next =
            (self.has.val() & !self.moves.val()) | ((self.has.val() >> 1) & self.moves.val());
        for i in 0..8 {
            self.slots[i].d.next = self.slots[i].q.val();
        }
        if self.moves.val().get_bit(0) {
            self.slots[0].d.next = self.slots[1].q.val();
        }
        if self.moves.val().get_bit(1) {
            self.slots[1].d.next = self.slots[2].q.val();
        }
        if self.moves.val().get_bit(2) {
            self.slots[2].d.next = self.slots[3].q.val();
        }
        if self.moves.val().get_bit(3) {
            self.slots[3].d.next = self.slots[4].q.val();
        }
        if self.moves.val().get_bit(4) {
            self.slots[4].d.next = self.slots[5].q.val();
        }
        if self.moves.val().get_bit(5) {
            self.slots[5].d.next = self.slots[6].q.val();
        }
        if self.moves.val().get_bit(6) {
            self.slots[6].d.next = self.slots[7].q.val();
        }
        if self.moves.val().get_bit(7) {
            self.slots[7].d.next = self.s_slot.val();
        }

        for i in 0..8 {
            self.waits.s[i].next = (self.s_held.val() >> self.slots[i].q.val()).get_bit(0);
        }
        self.may.next = self.fresh.q.val() & !self.waits.m.val();
        self.first.req.next = self.may.val();
        self.any.d.next = !self.first.none.val();
        self.place.next = self.first.index.val();
        self.oldest.d.next = self.slots[0].q.val();
        if self.place.val() == 1 {
            self.oldest.d.next = self.slots[1].q.val();
        }
        if self.place.val() == 2 {
            self.oldest.d.next = self.slots[2].q.val();
        }
        if self.place.val() == 3 {
            self.oldest.d.next = self.slots[3].q.val();
        }
        if self.place.val() == 4 {
            self.oldest.d.next = self.slots[4].q.val();
        }
        if self.place.val() == 5 {
            self.oldest.d.next = self.slots[5].q.val();
        }
        if self.place.val() == 6 {
            self.oldest.d.next = self.slots[6].q.val();
        }
        if self.place.val() == 7 {
            self.oldest.d.next = self.slots[7].q.val();
        }
        self.mask.next = bits::<S>(1) << self.s_slot.val();
        if self.enters.val() {
            self.queued.d.next = self.queued.q.val() | self.mask.val();
        }
        if self.s_end.val() {
            self.queued.d.next = self.queued.q.val() & !self.mask.val();
        }
        self.m_queued.next = self.queued.q.val();
        self.m_any.next = self.any.q.val();
        self.m_oldest.next = self.oldest.q.val();
    }
}
