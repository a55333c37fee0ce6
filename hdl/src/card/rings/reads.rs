//! Reads of host memory, of bulk transfers and of schedule rings.

use crate::blocks::FifoReg;
use crate::bus::{
    DmaReadWordsIn, DmaReadWordsOut, DmaRequestIn, DmaRequestOut, DmaWord, DmaWordsOut,
};
use crate::prelude::*;

hdl_record! {
    /// Whose a read is.
    struct ReadOf {
        /// Of a schedule ring.
        ring: Bit,
        /// Its group.
        group: Bits<8>,
    }
}

hdl_module! {
    /// Lets schedule rings read at the port of bulk transfers. Words come in the order of the requests, so whose they are
    /// waits in a queue of 32; their context comes back from there. Words of transfers pass; those of rings wait in a queue of
    /// 16, for which room is kept before they are asked for: so words of transfers never wait for them.
    /// Latency: none, for a read of a ring 1 clock, and 1 for its words.
    /// Stages: none; whose turn it is, and reads of rings that are not taken yet. A request that is offered stays in front
    /// until it is taken. While the queue is full no request is offered.
    #[module("card_ring_reads")]
    pub struct CardRingReads {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset, with the reader.
        pub rst: Signal<In, Bit>,
        /// Reads of bulk transfers.
        pub a: DmaRequestIn,
        /// Their words, which are always taken.
        pub a_m: DmaReadWordsOut,
        /// Reads of rings: 32 bytes each, the context is the group.
        pub b: DmaRequestIn,
        /// Their words.
        pub b_m: DmaWordsOut,
        /// All reads.
        pub m: DmaRequestOut,
        /// All words.
        pub s: DmaReadWordsIn,

        owners: FifoReg<{ ReadOf::BITS }, 5>,
        asks: Signal<Local, ReadOf>,
        owner: Signal<Local, ReadOf>,
        words: FifoReg<{ DmaWord::BITS }, 4>,
        word: Signal<Local, DmaWord>,
        front: Signal<Local, DmaWord>,
        /// It is the turn of a ring.
        #[reset] turn: DFF<Bit>,
        /// Reads of rings whose words have not all left.
        #[reset] away: DFF<Bits<3>>,
        wants: Signal<Local, Bit>,
        taken: Signal<Local, Bit>,
        left: Signal<Local, Bit>,
    }
}

impl Logic for CardRingReads {
    #[hdl_gen]
    fn update(&mut self) {
        // Requests.
        self.wants.next = self.b.valid.val() & (self.away.q.val() < 4);
        self.m.valid.next = self.a.valid.val() & self.owners.s.ready.val();
        self.m.of.next = self.a.of.val();
        self.a.ready.next = self.m.ready.val() & self.owners.s.ready.val() & !self.turn.q.val();
        self.b.ready.next = self.m.ready.val() & self.owners.s.ready.val() & self.turn.q.val();
        self.asks.next = ReadOf {
            ring: self.turn.q.val(),
            group: self.b.of.val().ctx.get_bits::<8>(0),
        };
        if self.turn.q.val() {
            self.m.valid.next = self.b.valid.val() & self.owners.s.ready.val();
            self.m.of.next = self.b.of.val();
        }
        self.taken.next = self.m.valid.val() & self.m.ready.val();
        if self.turn.q.val() {
            self.turn.d.next = !self.taken.val();
        } else {
            self.turn.d.next = self.wants.val() & (self.taken.val() | !self.a.valid.val());
        }
        self.owners.s.valid.next = self.taken.val();
        self.owners.s.data.next = self.asks.val().to_bits();

        // Words.
        self.owner.next = self.owners.m.data.val().into();
        self.owners.m.ready.next = self.s.valid.val() & self.s.of.val().last;
        self.s.ready.next = true;
        self.a_m.valid.next = self.s.valid.val() & !self.owner.val().ring;
        self.a_m.of.next = self.s.of.val();
        self.word.next = DmaWord {
            data: self.s.of.val().data,
            last: self.s.of.val().last,
            error: self.s.of.val().error,
            ctx: bit_cast::<16, 8>(self.owner.val().group),
        };
        self.words.s.valid.next = self.s.valid.val() & self.owner.val().ring;
        self.words.s.data.next = self.word.val().to_bits();
        self.front.next = self.words.m.data.val().into();
        self.b_m.valid.next = self.words.m.valid.val();
        self.words.m.ready.next = self.b_m.ready.val();
        self.b_m.of.next = self.front.val();
        self.left.next = self.words.m.valid.val() & self.b_m.ready.val() & self.front.val().last;
        if self.turn.q.val() & self.taken.val() & !self.left.val() {
            self.away.d.next = self.away.q.val() + 1;
        }
        if self.left.val() & !(self.turn.q.val() & self.taken.val()) {
            self.away.d.next = self.away.q.val() - 1;
        }
    }
}
