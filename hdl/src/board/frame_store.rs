//! Whole frames between a MAC that receives and one that sends.

use crate::blocks::{FifoReg, Pow2, RamReg};
use crate::bus::{AxisOut, AxisRxIn};
use crate::prelude::*;

hdl_record! {
    /// A word of a frame as it is kept.
    pub struct KeptWord {
        /// The bytes, first one in bits 7:0.
        data: Bits<64>,
        /// Those that are there.
        keep: Bits<8>,
        /// It is the last word of its frame.
        last: Bit,
    }
}

hdl_module! {
    /// Store and forward: takes every word that comes into a memory of 2^A words, and gives frames on once they are whole
    /// and good. Of a frame that is bad, or that meets a full memory, nothing leaves. P is A + 1.
    /// Latency from the last word of a frame to its first one at m: 5 clocks (write, two to read, output queue, count).
    /// One word per clock in and out.
    #[module("frame_store_d{}", 1usize << A)]
    pub struct FrameStore<const A: usize, const P: usize> {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset: forgets all frames.
        pub rst: Signal<In, Bit>,
        /// Frames that come; they never wait.
        pub s_axis_rx: AxisRxIn<64, 8>,
        /// Frames to send.
        pub m_axis_tx: AxisOut<64, 8>,
        /// For who can wait: a word that comes is kept, unless its frame has more words than the memory.
        pub room: Signal<Out, Bit>,
        /// A good frame was dropped since the memory was full; pulse.
        pub stat_dropped: Signal<Out, Bit>,
        words: RamReg<73, A>,
        ahead: FifoReg<73, 2>,
        /// Places: of the next word to write, behind the last whole frame, of the next word to read.
        #[reset] tail: DFF<Bits<P>>,
        #[reset] whole: DFF<Bits<P>>,
        #[reset] head: DFF<Bits<P>>,
        /// A word of the frame that comes was dropped.
        #[reset] dropping: DFF<Bit>,
        #[reset] dropped: DFF<Bit>,
        /// Words on their way out of the memory, and how many have a place at the output.
        #[reset] flight1: DFF<Bit>,
        #[reset] flight2: DFF<Bit>,
        #[reset] reserved: DFF<Bits<3>>,
        came: Signal<Local, KeptWord>,
        leaves: Signal<Local, KeptWord>,
        held: Signal<Local, Bits<P>>,
        full: Signal<Local, Bit>,
        some: Signal<Local, Bit>,
        lost: Signal<Local, Bit>,
        push: Signal<Local, Bit>,
        fetch: Signal<Local, Bit>,
        pop: Signal<Local, Bit>,
        depth: Pow2<P, A>,
    }
}

impl<const A: usize, const P: usize> Logic for FrameStore<A, P> {
    #[hdl_gen]
    fn update(&mut self) {
        self.s_axis_rx.tready.next = true;
        self.held.next = self.tail.q.val() - self.head.q.val();
        self.full.next = self.held.val() == self.depth.val();
        self.some.next = self.head.q.val() != self.whole.q.val();
        self.room.next = !self.full.val() | !self.some.val();
        self.lost.next = self.dropping.q.val() | self.full.val();
        self.push.next = self.s_axis_rx.tvalid.val() & !self.lost.val();
        self.came.next = KeptWord {
            data: self.s_axis_rx.tdata.val(),
            keep: self.s_axis_rx.tkeep.val(),
            last: self.s_axis_rx.tlast.val(),
        };
        self.words.wr.en.next = self.push.val();
        self.words.wr.addr.next = self.tail.q.val().get_bits::<A>(0);
        self.words.wr.data.next = self.came.val().to_bits();
        self.dropped.d.next = false;
        if self.push.val() {
            self.tail.d.next = self.tail.q.val() + 1;
        }
        if self.s_axis_rx.tvalid.val() {
            self.dropping.d.next = self.lost.val();
            if self.s_axis_rx.tlast.val() {
                self.dropping.d.next = false;
                self.dropped.d.next = self.lost.val() & !self.s_axis_rx.tuser.val();
                if self.lost.val() | self.s_axis_rx.tuser.val() {
                    self.tail.d.next = self.whole.q.val();
                } else {
                    self.whole.d.next = self.tail.q.val() + 1;
                }
            }
        }
        self.stat_dropped.next = self.dropped.q.val();

        // A word is read when the output queue is sure to have room for it.
        self.fetch.next = self.some.val() & !self.reserved.q.val().get_bit(2);
        self.pop.next = self.m_axis_tx.tready.val() & self.ahead.m.valid.val();
        self.words.rd.addr.next = self.head.q.val().get_bits::<A>(0);
        self.flight1.d.next = self.fetch.val();
        self.flight2.d.next = self.flight1.q.val();
        if self.fetch.val() {
            self.head.d.next = self.head.q.val() + 1;
        }
        if self.fetch.val() & !self.pop.val() {
            self.reserved.d.next = self.reserved.q.val() + 1;
        }
        if self.pop.val() & !self.fetch.val() {
            self.reserved.d.next = self.reserved.q.val() - 1;
        }
        self.ahead.s.valid.next = self.flight2.q.val();
        self.ahead.s.data.next = self.words.rd.data.val();
        self.leaves.next = self.ahead.m.data.val().into();
        self.ahead.m.ready.next = self.m_axis_tx.tready.val();
        self.m_axis_tx.tvalid.next = self.ahead.m.valid.val();
        self.m_axis_tx.tdata.next = self.leaves.val().data;
        self.m_axis_tx.tkeep.next = self.leaves.val().keep;
        self.m_axis_tx.tlast.next = self.leaves.val().last;
    }
}
