//! Who takes frames from the queues of an output.

use crate::blocks::{ChosenWord, OneHotMux, TakeTurns};
use crate::prelude::*;

hdl_record! {
    /// A word that is read.
    struct Stage {
        /// The word is the first of its frame.
        first: Bit,
        /// It is the last.
        last: Bit,
        /// Bytes in the last word, less one.
        keep: Bits<3>,
    }
}

hdl_module! {
    /// Takes whole frames that go to the MAC from those queues of an output from which it may, in turn.
    /// One word a clock; the next frame is chosen while one passes, so no clock is lost between them.
    /// Stages: 1 next frame chosen; 2 its words move, its entry is loaded; 3 word registered, m_*.
    /// While there is no room, the frame chosen next is held, and the one that passes. What may change
    /// meanwhile: frames are kept behind them, which changes neither entry nor word at the head of a queue.
    /// The entry of a frame is used up when it begins.
    #[module("switch_reader_n{N}_d{}", 1usize << A)]
    pub struct SwitchReader<const N: usize, const A: usize, const E: usize> {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset: what passes is cut.
        pub rst: Signal<In, Bit>,
        /// A bit per queue: a frame waits that this reader may take.
        pub may: Signal<In, Bits<N>>,
        /// For each queue, one clock later: words, kind, bytes of the last word less one, what a mark subtracts.
        pub q_entry: Bank<Signal<In, Bits<E>>, N>,
        /// Word at the head.
        pub q_data: Bank<Signal<In, Bits<64>>, N>,
        /// There is room for words.
        pub room: Signal<In, Bit>,
        /// Queues whose entry is used up.
        pub pop: Signal<Out, Bits<N>>,
        /// Queues that move on to the next word.
        pub go: Signal<Out, Bits<N>>,
        /// The queue of the frame that passes, from its second word on.
        pub busy: Signal<Out, Bits<N>>,
        /// A word.
        pub m_valid: Signal<Out, Bit>,
        /// The word.
        pub m_data: Signal<Out, Bits<64>>,
        /// It is the first of its frame.
        pub m_first: Signal<Out, Bit>,
        /// It is the last.
        pub m_last: Signal<Out, Bit>,
        /// Bytes in the last word, less one.
        pub m_keep: Signal<Out, Bits<3>>,
        /// With the first word: its queue.
        pub m_from: Signal<Out, Bits<N>>,
        /// From the first word on: what a mark of its frame subtracts from the checksum.
        pub m_step: Signal<Out, Bits<2>>,
        entries: OneHotMux<E, N>,
        words: ChosenWord<64, N>,
        /// Queues that may be chosen.
        req: Signal<Local, Bits<N>>,
        turns: TakeTurns<N>,
        /// The one chosen last.
        #[reset] last: DFF<Bits<N>>,
        /// The next frame may be taken over from the queues.
        open: Signal<Local, Bit>,
        /// The next frame: there is one; its queue. Its entry shows until it begins.
        #[reset] pick_valid: DFF<Bit>,
        #[reset] pick: DFF<Bits<N>>,
        /// A copy of pick; reset otherwise, or synthesis would merge them.
        shows: DFF<Bits<N>>,
        /// Queues whose entry still shows but is the next frame or used up.
        #[reset] shut: DFF<Bits<N>>,
        /// The frame that passes.
        #[reset] active: DFF<Bit>,
        from: DFF<Bits<N>>,
        /// Words that have not moved, and one.
        left: DFF<Bits<A>>,
        one_left: DFF<Bit>,
        keep: DFF<Bits<3>>,
        step: DFF<Bits<2>>,
        /// The queue whose frame begins; a frame begins, the frame that passes moves, a word moves, the last one moves.
        begin: Signal<Local, Bits<N>>,
        start: Signal<Local, Bit>,
        flow: Signal<Local, Bit>,
        moving: Signal<Local, Bit>,
        ends: Signal<Local, Bit>,
        /// Stage 2: a word is at the queue's output.
        #[reset] s2_valid: DFF<Bit>,
        s2: DFF<Stage>,
        /// The queues whose word moves, whose entry is used up.
        #[reset] goes: DFF<Bits<N>>,
        moves: Signal<Local, Bits<N>>,
        #[reset] pops: DFF<Bits<N>>,
        /// Stage 3.
        #[reset] s3_valid: DFF<Bit>,
        s3: DFF<Stage>,
        a: Param<A, 5>,
    }
}

impl<const N: usize, const A: usize, const E: usize> Logic for SwitchReader<N, A, E> {
    #[hdl_gen]
    fn update(&mut self) {
        for i in 0..N {
            self.entries.s[i].next = self.q_entry[i].val();
            self.words.s[i].next = self.q_data[i].val();
        }

        // Stage 2: words move while there is room behind.
        self.entries.sel.next = self.shows.q.val();
        // What begins is loaded as long as nothing passes.
        self.start.next = self.pick_valid.q.val() & self.room.val() & !self.active.q.val();
        self.begin.next = 0.into();
        if self.start.val() {
            self.begin.next = self.pick.q.val();
        }
        self.flow.next = self.active.q.val() & self.room.val();
        self.moving.next = self.start.val() | self.flow.val();
        self.ends.next = self.flow.val() & self.one_left.q.val();
        if self.flow.val() {
            self.left.d.next = self.left.q.val() - 1;
            self.one_left.d.next = self.left.q.val() == 3;
        }
        self.active.d.next = self.start.val() | (self.active.q.val() & !self.ends.val());
        if !self.active.q.val() {
            self.from.d.next = self.pick.q.val();
            self.keep.d.next = bit_cast::<3, E>(self.entries.m.val() >> (self.a.val() + 2));
            self.step.d.next = bit_cast::<2, E>(self.entries.m.val() >> (self.a.val() + 5));
            self.left.d.next = self.entries.m.val().get_bits::<A>(0);
            self.one_left.d.next = false;
        }
        self.busy.next = 0.into();
        if self.active.q.val() {
            self.busy.next = self.from.q.val();
        }
        self.moves.next = self.begin.val();
        if self.flow.val() {
            self.moves.next = self.from.q.val();
        }
        self.goes.d.next = self.moves.val();
        self.pops.d.next = self.begin.val();
        self.go.next = self.goes.q.val();
        self.pop.next = self.pops.q.val();
        self.s2_valid.d.next = self.moving.val();
        self.s2.d.next.first = self.start.val();
        self.s2.d.next.last = self.ends.val();
        self.s2.d.next.keep = self.keep.q.val();
        if !self.active.q.val() {
            self.s2.d.next.keep = bit_cast::<3, E>(self.entries.m.val() >> (self.a.val() + 2));
        }

        // Stage 1: the next frame, in turn.
        self.req.next = self.may.val() & !self.shut.q.val();
        self.turns.req.next = self.req.val();
        self.turns.last.next = self.last.q.val();
        self.open.next = self.start.val() | !self.pick_valid.q.val();
        self.shut.d.next = self.pick.q.val();
        if self.open.val() {
            self.shut.d.next = self.pick.q.val() | self.turns.choice.val();
            self.pick_valid.d.next = self.req.val().any();
            self.pick.d.next = self.turns.choice.val();
            self.shows.d.next = self.turns.choice.val();
            self.last.d.next = self.turns.choice.val();
            if !self.req.val().any() {
                self.last.d.next = self.last.q.val();
            }
        }

        // Stage 3: the crossbar.
        self.words.sel.next = self.pick.q.val();
        if self.active.q.val() {
            self.words.sel.next = self.from.q.val();
        }
        self.s3_valid.d.next = self.s2_valid.q.val();
        self.s3.d.next = self.s2.q.val();
        self.m_valid.next = self.s3_valid.q.val();
        self.m_data.next = self.words.m.val();
        self.m_first.next = self.s3.q.val().first;
        self.m_last.next = self.s3.q.val().last;
        self.m_keep.next = self.s3.q.val().keep;
        self.m_from.next = self.from.q.val();
        self.m_step.next = self.step.q.val();
    }
}
