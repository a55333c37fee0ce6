//! Reservation of places.

use super::XudPlace;
use crate::blocks::{FifoAhead, RamReg};
use crate::bus::PlaceBitIn;
use crate::prelude::*;

hdl_record! {
    /// An operation on a place. Q bits for a queue pair, F for a place.
    struct OfPlace<const Q: usize, const F: usize> {
        /// Place.
        place: Bits<F>,
        /// Queue pair.
        qpn: Bits<Q>,
        /// Packet number.
        psn: Bits<24>,
    }
}

hdl_module! {
    /// Keeps places of the table of requests in flight and gives kept ones back: whatever it does,
    /// it inverts the K of a place. One operation a clock, reservations first.
    /// Latency: 4 clocks from rsv_valid to rsv_done.
    /// Stages: 1 place; 2, 3 bits read; 4 K written, answer.
    #[module("xud_keep_q{}_d{}", 1usize << LQ, 1usize << LF)]
    pub struct XudKeep<const LQ: usize, const LF: usize> {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset: forgets what is under way.
        pub rst: Signal<In, Bit>,
        /// The table is not empty yet: no place is given.
        pub clearing: Signal<In, Bit>,
        /// Keep a place.
        pub rsv_valid: Signal<In, Bit>,
        /// Queue pair.
        pub rsv_qpn: Signal<In, Bits<LQ>>,
        /// Packet number.
        pub rsv_psn: Signal<In, Bits<24>>,
        /// Answer.
        pub rsv_done: Signal<Out, Bit>,
        /// It was free and is kept.
        pub rsv_ok: Signal<Out, Bit>,
        /// Give a place back if it is kept.
        pub drop_valid: Signal<In, Bit>,
        /// Queue pair.
        pub drop_qpn: Signal<In, Bits<LQ>>,
        /// Packet number.
        pub drop_psn: Signal<In, Bits<24>>,
        /// The same by place, of a flush.
        pub f_valid: Signal<In, Bit>,
        /// Place.
        pub f_place: Signal<In, Bits<LF>>,
        /// Eight more fit.
        pub f_open: Signal<Out, Bit>,
        /// None waits.
        pub f_empty: Signal<Out, Bit>,
        /// K changes.
        pub k_en: Signal<Out, Bit>,
        /// Of this place.
        pub k_place: Signal<Out, Bits<LF>>,
        /// To this.
        pub k_bit: Signal<Out, Bits<1>>,
        /// If it is kept now: queue pair.
        pub k_qpn: Signal<Out, Bits<LQ>>,
        /// And packet number.
        pub k_psn: Signal<Out, Bits<24>>,
        /// Writes of bit K.
        pub wk: PlaceBitIn<LF>,
        /// Writes of bit S.
        pub ws: PlaceBitIn<LF>,
        /// Writes of bit E.
        pub we: PlaceBitIn<LF>,
        rsv_place: XudPlace<LF>,
        drop_place: XudPlace<LF>,
        /// Places to give back: of drop, of a flush.
        drops: FifoAhead<LF, 4>,
        flushes: FifoAhead<LF, 4>,
        k: RamReg<1, LF>,
        s: RamReg<1, LF>,
        e: RamReg<1, LF>,
        /// Stages: keeps, gives back, place, tag.
        #[reset] s1_rsv: DFF<Bit>,
        #[reset] s1_back: DFF<Bit>,
        s1: DFF<OfPlace<LQ, LF>>,
        #[reset] s2_rsv: DFF<Bit>,
        #[reset] s2_back: DFF<Bit>,
        s2: DFF<OfPlace<LQ, LF>>,
        #[reset] s3_rsv: DFF<Bit>,
        #[reset] s3_back: DFF<Bit>,
        s3: DFF<OfPlace<LQ, LF>>,
        free: Signal<Local, Bit>,
        kept: Signal<Local, Bit>,
        #[reset] s4_done: DFF<Bit>,
        #[reset] s4_ok: DFF<Bit>,
        #[reset] s4_write: DFF<Bit>,
        s4: DFF<OfPlace<LQ, LF>>,
        s4_bit: DFF<Bits<1>>,
        #[reset] quiet: DFF<Bit>,
    }
}

impl<const LQ: usize, const LF: usize> Logic for XudKeep<LQ, LF> {
    #[hdl_gen]
    fn update(&mut self) {
        self.k.wr.en.next = self.wk.en.val();
        self.k.wr.addr.next = self.wk.place.val();
        self.k.wr.data.next = self.wk.bit.val();
        self.s.wr.en.next = self.ws.en.val();
        self.s.wr.addr.next = self.ws.place.val();
        self.s.wr.data.next = self.ws.bit.val();
        self.e.wr.en.next = self.we.en.val();
        self.e.wr.addr.next = self.we.place.val();
        self.e.wr.data.next = self.we.bit.val();

        self.drop_place.qpn.next = bit_cast::<24, LQ>(self.drop_qpn.val());
        self.drop_place.psn.next = self.drop_psn.val();
        self.drops.s.valid.next = self.drop_valid.val();
        self.drops.s.data.next = self.drop_place.m.val();
        self.flushes.s.valid.next = self.f_valid.val();
        self.flushes.s.data.next = self.f_place.val();
        self.f_open.next = !self.flushes.count.val().get_bits::<2>(3).any();

        // Stage 1: one operation.
        self.rsv_place.qpn.next = bit_cast::<24, LQ>(self.rsv_qpn.val());
        self.rsv_place.psn.next = self.rsv_psn.val();
        self.drops.m.ready.next = !self.rsv_valid.val();
        self.flushes.m.ready.next = !self.rsv_valid.val() & !self.drops.m.valid.val();
        self.s1_rsv.d.next = self.rsv_valid.val();
        self.s1_back.d.next =
            !self.rsv_valid.val() & (self.drops.m.valid.val() | self.flushes.m.valid.val());
        self.s1.d.next.qpn = self.rsv_qpn.val();
        self.s1.d.next.psn = self.rsv_psn.val();
        self.s1.d.next.place = self.flushes.m.data.val();
        if self.drops.m.valid.val() {
            self.s1.d.next.place = self.drops.m.data.val();
        }
        if self.rsv_valid.val() {
            self.s1.d.next.place = self.rsv_place.m.val();
        }
        self.k.rd.addr.next = self.s1.q.val().place;
        self.s.rd.addr.next = self.s1.q.val().place;
        self.e.rd.addr.next = self.s1.q.val().place;

        // Stages 2 and 3: the bits.
        self.s2_rsv.d.next = self.s1_rsv.q.val();
        self.s2_back.d.next = self.s1_back.q.val();
        self.s2.d.next = self.s1.q.val();
        self.s3_rsv.d.next = self.s2_rsv.q.val();
        self.s3_back.d.next = self.s2_back.q.val();
        self.s3.d.next = self.s2.q.val();
        self.free.next = self.k.rd.data.val() == self.e.rd.data.val();
        self.kept.next = !self.free.val() & (self.s.rd.data.val() == self.e.rd.data.val());

        // Stage 4.
        self.s4_done.d.next = self.s3_rsv.q.val();
        self.s4_ok.d.next = self.s3_rsv.q.val() & self.free.val() & !self.clearing.val();
        self.s4_write.d.next = (self.s3_rsv.q.val() & self.free.val() & !self.clearing.val())
            | (self.s3_back.q.val() & self.kept.val());
        self.s4.d.next = self.s3.q.val();
        self.s4_bit.d.next = !self.k.rd.data.val();
        self.rsv_done.next = self.s4_done.q.val();
        self.rsv_ok.next = self.s4_ok.q.val();
        self.k_en.next = self.s4_write.q.val();
        self.k_place.next = self.s4.q.val().place;
        self.k_bit.next = self.s4_bit.q.val();
        self.k_qpn.next = self.s4.q.val().qpn;
        self.k_psn.next = self.s4.q.val().psn;
        self.quiet.d.next = !self.flushes.m.valid.val()
            & !self.f_valid.val()
            & !self.s1_back.q.val()
            & !self.s2_back.q.val()
            & !self.s3_back.q.val();
        self.f_empty.next = self.quiet.q.val();
    }
}
