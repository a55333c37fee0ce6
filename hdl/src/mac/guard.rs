//! Keeps frames whole where they come faster than they are taken.

use super::MacWordBad;
use crate::bus::{StreamIn, StreamOut};
use crate::prelude::*;

hdl_module! {
    /// Stands between mac_receive, which cannot wait, and a queue that may be full. Of a frame that meets a full queue
    /// the rest is dropped; if some of it is in the queue, one more word ends it and says that it is bad.
    /// m_valid falls again if a word is not taken in its clock: that word is lost. Only a queue may stand behind it.
    /// Latency: none. Frames that come while that word waits for room are dropped whole.
    #[module("mac_guard")]
    pub struct MacGuard {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset.
        pub rst: Signal<In, Bit>,
        /// Words that cannot wait, as mac_word_bad; s_ready says nothing.
        pub s: StreamIn<69>,
        /// Words for the queue.
        pub m: StreamOut<69>,
        /// A frame was dropped, or cut; pulse.
        pub m_dropped: Signal<Out, Bit>,
        /// Words of the frame that comes are in the queue; words of it are dropped.
        #[reset] within: DFF<Bit>,
        #[reset] dropping: DFF<Bit>,
        /// The queue has still to get the end of a frame that was cut.
        #[reset] owed: DFF<Bit>,
        #[reset] dropped: DFF<Bit>,
        word: Signal<Local, MacWordBad>,
        /// What ends a frame that was cut.
        cut: Signal<Local, MacWordBad>,
        lost: Signal<Local, Bit>,
    }
}

impl Logic for MacGuard {
    #[hdl_gen]
    fn update(&mut self) {
        self.word.next = self.s.data.val().into();
        self.cut.next = MacWordBad {
            data: 0.into(),
            more: 0.into(),
            last: true,
            bad: true,
        };
        self.s.ready.next = true;
        self.m.valid.next = self.owed.q.val() | (self.s.valid.val() & !self.dropping.q.val());
        self.m.data.next = self.s.data.val();
        if self.owed.q.val() {
            self.m.data.next = self.cut.val().to_bits();
            self.owed.d.next = !self.m.ready.val();
        }
        self.lost.next =
            self.s.valid.val() & (self.dropping.q.val() | self.owed.q.val() | !self.m.ready.val());
        self.dropped.d.next = self.lost.val() & !self.dropping.q.val();
        if self.s.valid.val() {
            self.within.d.next = !self.word.val().last;
            self.dropping.d.next = false;
        }
        if self.lost.val() {
            self.within.d.next = false;
            self.dropping.d.next = !self.word.val().last;
            if self.within.q.val() {
                self.owed.d.next = true;
            }
        }
        self.m_dropped.next = self.dropped.q.val();
    }
}
