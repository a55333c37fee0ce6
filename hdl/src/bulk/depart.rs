//! Short frames of bulk transfers and packets, one behind the other.

use crate::blocks::FifoReg;
use crate::bus::{BulkDeparturesIn, BulkDeparturesOut, FramesIn, PayloadIn, PayloadOut};
use crate::prelude::*;

hdl_module! {
    /// Short frames and packets of the sending side for the line: short ones first, for which many wait. They are the answers of
    /// the receiving side, and messages of READ. What is offered stays until it is taken. What follows the first 8 bytes of
    /// bodies comes in the order of the frames taken; 4 of them may wait for it.
    /// Latency: none for a frame, 1 clock for what follows. Stages: none; only whose words are next.
    #[module("bulk_depart")]
    pub struct BulkDepart {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset.
        pub rst: Signal<In, Bit>,
        /// Short frames.
        pub a: BulkDeparturesIn,
        /// What follows the first 8 bytes of their bodies.
        pub a_pl: FramesIn<64>,
        /// Packets.
        pub b: BulkDeparturesIn,
        /// What follows the first 8 bytes of their bodies.
        pub b_pl: PayloadIn,
        /// All frames.
        pub m: BulkDeparturesOut,
        /// What follows the first 8 bytes of their bodies.
        pub m_pl: PayloadOut,
        /// A packet was offered and not taken.
        #[reset] keeps_b: DFF<Bit>,
        choose_b: Signal<Local, Bit>,
        taken: Signal<Local, Bit>,
        /// Of frames with words: it is a packet 3; bytes of its last word, less one.
        order: FifoReg<4, 2>,
        some: Signal<Local, Bit>,
        of_b: Signal<Local, Bit>,
        /// Bytes of the frame offered, less one.
        less_one: Signal<Local, Bits<13>>,
        passes: Signal<Local, Bit>,
        last: Signal<Local, Bit>,
        whole: Param<7, 3>,
    }
}

impl Logic for BulkDepart {
    #[hdl_gen]
    fn update(&mut self) {
        // Frames.
        self.choose_b.next = self.b.valid.val() & (self.keeps_b.q.val() | !self.a.valid.val());
        self.m.valid.next = (self.a.valid.val() | self.b.valid.val()) & self.order.s.ready.val();
        self.m.of.next = self.a.of.val();
        if self.choose_b.val() {
            self.m.of.next = self.b.of.val();
        }
        self.taken.next = self.m.ready.val() & self.order.s.ready.val();
        self.a.ready.next = self.taken.val() & !self.choose_b.val();
        self.b.ready.next = self.taken.val() & self.choose_b.val();
        self.keeps_b.d.next = self.choose_b.val() & self.order.s.ready.val() & !self.m.ready.val();
        self.less_one.next = self.m.of.val().len - 1;
        self.order.s.valid.next =
            self.m.valid.val() & self.m.ready.val() & self.m.of.val().len.any();
        self.order.s.data.next = bit_cast::<4, 3>(self.less_one.val().get_bits::<3>(0))
            | (bit_cast::<4, 1>(self.choose_b.val().into()) << 3);

        // What follows.
        self.some.next = self.order.m.valid.val();
        self.of_b.next = self.order.m.data.val().get_bit(3);
        self.m_pl.valid.next = self.some.val() & self.a_pl.valid.val();
        self.last.next = self.a_pl.of.val().last;
        self.m_pl.of.next.data = self.a_pl.of.val().data;
        self.m_pl.of.next.bytes = self.whole.val();
        self.m_pl.of.next.last = self.a_pl.of.val().last;
        self.m_pl.of.next.error = false;
        if self.a_pl.of.val().last {
            self.m_pl.of.next.bytes = self.order.m.data.val().get_bits::<3>(0);
        }
        if self.of_b.val() {
            self.m_pl.valid.next = self.some.val() & self.b_pl.valid.val();
            self.last.next = self.b_pl.of.val().last;
            self.m_pl.of.next = self.b_pl.of.val();
        }
        self.a_pl.ready.next = self.m_pl.ready.val() & self.some.val() & !self.of_b.val();
        self.b_pl.ready.next = self.m_pl.ready.val() & self.some.val() & self.of_b.val();
        self.passes.next =
            (self.a_pl.valid.val() & !self.of_b.val()) | (self.b_pl.valid.val() & self.of_b.val());
        self.order.m.ready.next = self.m_pl.ready.val() & self.passes.val() & self.last.val();
    }
}
