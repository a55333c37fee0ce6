//! A message from a receiver, with its bitmap.

use crate::blocks::{PriorityEncoder, RamReg, Reverse};
use crate::bus::{BulkMessageIn, BulkMessageOut, FramesIn, RamReadIn};
use crate::prelude::*;
use tributary_protocol::rw::MessageType;

hdl_module! {
    /// Takes a message and, behind a STATUS, the words of its bitmap, W bits each; hands the message on when all of it
    /// is here. The bitmap lies in a memory until the message is taken: up to 1,024 packets, what is beyond is dropped.
    /// Latency: 2 clocks from s to m, behind a STATUS 4 from its last word.
    /// While words are late nothing is offered at m; words that come before their STATUS wait.
    #[module("bulk_inbox_b{W}")]
    pub struct BulkInbox<const W: usize, const LW: usize, const A: usize> {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset: forgets the message.
        pub rst: Signal<In, Bit>,
        /// Messages in.
        pub s: BulkMessageIn,
        /// The bitmap of a STATUS; bit 0 of its first word is packet wbase.
        pub s_bitmap: FramesIn<W>,
        /// The message.
        pub m: BulkMessageOut,
        /// STATUS: packets of its bitmap.
        pub len: Signal<Out, Bits<11>>,
        /// STATUS: place of the highest packet that has arrived, plus one; 0 if none has.
        pub highest: Signal<Out, Bits<11>>,
        /// A word of the bitmap, two clocks later.
        pub rd: RamReadIn<W, A>,

        /// Twice as large as it need be: memories of 16 words would lie in LUTs.
        words: RamReg<W, 5>,
        reverse: Reverse<W>,
        top: PriorityEncoder<W, LW>,
        lw: Param<LW, 4>,
        most: Param<1024, 11>,
        /// The message is here; its bitmap is here.
        #[reset] full: DFF<Bit>,
        #[reset] ready: DFF<Bit>,
        /// Words are to come.
        #[reset] collecting: DFF<Bit>,
        r#type: DFF<Bits<3>>,
        slot: DFF<Bits<16>>,
        xid: DFF<Bits<32>>,
        status: DFF<Bits<4>>,
        wptr: DFF<Bits<16>>,
        r#gen: DFF<Bits<16>>,
        w: DFF<Bits<16>>,
        hint: DFF<Bits<16>>,
        credit: DFF<Bits<22>>,
        pidx: DFF<Bits<22>>,
        seq: DFF<Bits<16>>,
        count: DFF<Bits<11>>,
        /// A word taken one clock ago, and the packets before it.
        #[reset] word_valid: DFF<Bit>,
        word: DFF<Bits<W>>,
        before: DFF<Bits<11>>,
        /// One that has a packet: from its highest one up, in places.
        #[reset] place_valid: DFF<Bit>,
        above: DFF<Bits<11>>,
        end: DFF<Bits<11>>,
        high: DFF<Bits<11>>,
        room: Signal<Local, Bit>,
        take: Signal<Local, Bit>,
        take_word: Signal<Local, Bit>,
        poll_status: Param<{ MessageType::PollStatus as usize }, 3>,
    }
}

impl<const W: usize, const LW: usize, const A: usize> Logic for BulkInbox<W, LW, A> {
    #[hdl_gen]
    fn update(&mut self) {
        self.s.ready.next = !self.full.q.val();
        self.take.next = self.s.valid.val() & !self.full.q.val();
        self.s_bitmap.ready.next = self.collecting.q.val();
        self.take_word.next = self.s_bitmap.valid.val() & self.collecting.q.val();
        if self.take.val() {
            self.full.d.next = true;
            self.r#type.d.next = self.s.r#type.val();
            self.slot.d.next = self.s.slot.val();
            self.xid.d.next = self.s.xid.val();
            self.status.d.next = self.s.status.val();
            self.wptr.d.next = self.s.wptr.val();
            self.r#gen.d.next = self.s.r#gen.val();
            self.w.d.next = self.s.w.val();
            self.hint.d.next = self.s.hint.val();
            self.credit.d.next = self.s.credit.val();
            self.pidx.d.next = self.s.pidx.val();
            self.seq.d.next = self.s.seq.val();
            self.collecting.d.next = self.s.r#type.val() == self.poll_status.val();
        }

        // Words of the bitmap.
        self.room.next = self.count.q.val() != self.most.val();
        self.words.wr.en.next = self.take_word.val() & self.room.val();
        self.words.wr.addr.next = bit_cast::<5, 11>(self.count.q.val() >> self.lw.val());
        self.words.wr.data.next = self.s_bitmap.of.val().data;
        if self.take.val() {
            self.count.d.next = 0.into();
        }
        if self.take_word.val() & self.room.val() {
            self.count.d.next = self.count.q.val() + (bits::<11>(1) << self.lw.val());
        }
        if self.take_word.val() & self.s_bitmap.of.val().last {
            self.collecting.d.next = false;
        }

        // The highest packet that has arrived.
        self.word_valid.d.next = self.take_word.val() & self.room.val();
        self.word.d.next = self.s_bitmap.of.val().data;
        self.before.d.next = self.count.q.val();
        self.reverse.s.next = self.word.q.val();
        self.top.req.next = self.reverse.m.val();
        self.place_valid.d.next = self.word_valid.q.val() & !self.top.none.val();
        self.above.d.next = bit_cast::<11, LW>(self.top.index.val());
        self.end.d.next = self.before.q.val() + (bits::<11>(1) << self.lw.val());
        if self.take.val() {
            self.high.d.next = 0.into();
        }
        if self.place_valid.q.val() {
            self.high.d.next = self.end.q.val() - self.above.q.val();
        }

        self.ready.d.next = self.full.q.val()
            & !self.collecting.q.val()
            & !self.word_valid.q.val()
            & !self.place_valid.q.val();
        self.m.valid.next = self.ready.q.val();
        if self.ready.q.val() & self.m.ready.val() {
            self.full.d.next = false;
            self.ready.d.next = false;
        }
        self.words.rd.addr.next = bit_cast::<5, A>(self.rd.addr.val());
        self.rd.data.next = self.words.rd.data.val();
        self.len.next = self.count.q.val();
        self.highest.next = self.high.q.val();
        self.m.r#type.next = self.r#type.q.val();
        self.m.slot.next = self.slot.q.val();
        self.m.xid.next = self.xid.q.val();
        self.m.status.next = self.status.q.val();
        self.m.wptr.next = self.wptr.q.val();
        self.m.r#gen.next = self.r#gen.q.val();
        self.m.w.next = self.w.q.val();
        self.m.hint.next = self.hint.q.val();
        self.m.credit.next = self.credit.q.val();
        self.m.pidx.next = self.pidx.q.val();
        self.m.seq.next = self.seq.q.val();
    }
}
