//! Who takes the frames that the engine of an output looks at.

use crate::blocks::{ChosenWord, TakeTurns};
use crate::prelude::*;

hdl_module! {
    /// Takes from the queues of an output the frames that its engine looks at, of 11 words each, in turn. The port's own queue goes
    /// first, and takes nobody's turn: what arms a descriptor comes by it, and contributions to that must not overtake it. Its frames
    /// come one in 15 clocks, so some of the others' always go between them.
    /// One word a clock, frame behind frame. A frame whose first word the queue has already given (it was the same as
    /// another one's) is taken before all that are whole: it begins with the word that was kept.
    /// Stages: 1 next frame chosen; 2 its words move; 3 word registered, m_*.
    /// The next frame is chosen with the last word that moves, since until then others may go with the one that passes.
    /// While there is no room, what was chosen is held. Meanwhile frames are kept behind it, which changes nothing that is
    /// looked at here.
    #[module("switch_look_n{N}")]
    pub struct SwitchLook<const N: usize> {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset: what passes is cut.
        pub rst: Signal<In, Bit>,
        /// A bit per queue: a whole frame waits that may be chosen.
        pub may: Signal<In, Bits<N>>,
        /// A bit per queue: a frame waits whose first word has been taken; there is such a one, two clocks later at the latest.
        pub waits: Signal<In, Bits<N>>,
        /// There are such.
        pub waits_some: Signal<In, Bit>,
        /// Their first word.
        pub kept: Signal<In, Bits<64>>,
        /// A frame may begin.
        pub room: Signal<In, Bit>,
        /// A bit per queue, one clock after may: its oldest whole frame goes down a tree.
        pub down: Signal<In, Bits<N>>,
        /// A bit per queue, with it: the frame is a brief contribution.
        pub brief: Signal<In, Bits<N>>,
        /// The port's own queue, one-hot.
        pub own: Signal<In, Bits<N>>,
        /// Word at the head of each queue.
        pub q_data: Bank<Signal<In, Bits<64>>, N>,
        /// Queues that are to move on in the next clock whatever passes here.
        pub also: Signal<In, Bits<N>>,
        /// Queues whose entry is used up.
        pub pop: Signal<Out, Bits<N>>,
        /// Queues that move on to the next word.
        pub go: Signal<Out, Bits<N>>,
        /// The queue of the frame that passes, from its second word on.
        pub busy: Signal<Out, Bits<N>>,
        /// The first word of a whole brief frame comes in the next clock.
        pub soon: Signal<Out, Bit>,
        /// A word.
        pub m_valid: Signal<Out, Bit>,
        /// The word.
        pub m_data: Signal<Out, Bits<64>>,
        /// The word as it came from the queue: the same, or zero for what was kept.
        pub m_word: Signal<Out, Bits<64>>,
        /// It is the first of its frame.
        pub m_first: Signal<Out, Bit>,
        /// Its frame goes down a tree.
        pub m_down: Signal<Out, Bit>,
        /// The first word of a brief contribution.
        pub m_brief: Signal<Out, Bit>,
        /// With it: it is the word that was kept.
        pub m_again: Signal<Out, Bit>,
        /// With it: the queue.
        pub m_from: Signal<Out, Bits<N>>,
        words: ChosenWord<64, N>,
        /// Queues from which a whole frame may be chosen, a frame.
        whole: Signal<Local, Bits<N>>,
        req: Signal<Local, Bits<N>>,
        /// The port's own queue may be chosen.
        own_first: Signal<Local, Bit>,
        turns: TakeTurns<N>,
        /// The whole frame chosen last.
        #[reset] turn: DFF<Bits<N>>,
        /// The next frame is chosen now.
        open: Signal<Local, Bit>,
        /// The next frame: there is one; its queue; its first word has been taken.
        #[reset] pick_valid: DFF<Bit>,
        #[reset] pick: DFF<Bits<N>>,
        pick_again: DFF<Bit>,
        /// It begins.
        start: Signal<Local, Bit>,
        /// The frame that passes; words that have not moved; the last one moves.
        #[reset] active: DFF<Bit>,
        from: DFF<Bits<N>>,
        left: DFF<Bits<4>>,
        #[reset] final_word: DFF<Bit>,
        is_down: DFF<Bit>,
        is_brief: DFF<Bit>,
        /// The queues that move, in the next clock; those whose entry is used up.
        moves: Signal<Local, Bits<N>>,
        begins: Signal<Local, Bits<N>>,
        #[reset] goes: DFF<Bits<N>>,
        #[reset] pops: DFF<Bits<N>>,
        /// Stage 2: a word is at the queue's output, the first of its frame; instead of it the one that was kept leaves; the frame
        /// goes down.
        #[reset] s2_valid: DFF<Bit>,
        #[reset] s2_first: DFF<Bit>,
        #[reset] s2_again: DFF<Bit>,
        s2_down: DFF<Bit>,
        /// Stage 3.
        #[reset] s3_valid: DFF<Bit>,
        s3_first: DFF<Bit>,
        s3_down: DFF<Bit>,
        #[reset] s3_brief: DFF<Bit>,
        #[reset] s3_again: DFF<Bit>,
        /// The word that was kept, in its clock; zero otherwise.
        lead: DFF<Bits<64>>,
    }
}

impl<const N: usize> Logic for SwitchLook<N> {
    #[hdl_gen]
    fn update(&mut self) {
        // Stage 2.
        self.start.next = self.pick_valid.q.val() & self.room.val() & !self.active.q.val();
        self.active.d.next = self.start.val() | (self.active.q.val() & !self.final_word.q.val());
        self.left.d.next = self.left.q.val() - 1;
        self.final_word.d.next = self.active.q.val() & (self.left.q.val() == 2);
        if !self.active.q.val() {
            self.left.d.next = 10.into();
            self.from.d.next = self.pick.q.val();
            // The entry of a frame that has begun before is used up.
            self.is_down.d.next =
                (self.pick.q.val() & self.down.val()).any() & !self.pick_again.q.val();
            self.is_brief.d.next =
                (self.pick.q.val() & self.brief.val()).any() | self.pick_again.q.val();
        }
        self.begins.next = 0.into();
        if self.start.val() & !self.pick_again.q.val() {
            self.begins.next = self.pick.q.val();
        }
        self.moves.next = self.begins.val();
        self.busy.next = 0.into();
        if self.active.q.val() {
            self.moves.next = self.from.q.val();
            self.busy.next = self.from.q.val();
        }
        self.pops.d.next = self.begins.val();
        self.goes.d.next = self.moves.val() | self.also.val();
        self.pop.next = self.pops.q.val();
        self.go.next = self.goes.q.val();
        self.s2_valid.d.next = self.start.val() | self.active.q.val();
        self.s2_first.d.next = self.start.val();
        self.s2_again.d.next = self.start.val() & self.pick_again.q.val();
        self.s2_down.d.next = self.is_down.q.val();
        if !self.active.q.val() {
            self.s2_down.d.next =
                (self.pick.q.val() & self.down.val()).any() & !self.pick_again.q.val();
        }

        // Stage 1: the next frame, in turn.
        self.own_first.next = (self.may.val() & self.own.val()).any();
        self.whole.next = self.may.val();
        if self.own_first.val() {
            self.whole.next = self.may.val() & self.own.val();
        }
        self.req.next = self.whole.val();
        if self.waits_some.val() {
            self.req.next = self.waits.val();
        }
        self.turns.req.next = self.req.val();
        self.turns.last.next = self.turn.q.val();
        self.open.next =
            self.final_word.q.val() | (!self.active.q.val() & !self.pick_valid.q.val());
        if self.start.val() {
            self.pick_valid.d.next = false;
            self.pick.d.next = 0.into();
        }
        if self.open.val() {
            self.pick_valid.d.next = self.req.val().any();
            self.pick.d.next = self.turns.choice.val();
            self.pick_again.d.next = self.waits_some.val();
            // What goes first takes nobody's turn.
            if self.req.val().any() & !self.waits_some.val() & !self.own_first.val() {
                self.turn.d.next = self.turns.choice.val();
            }
        }

        // Stage 3: the crossbar.
        for i in 0..N {
            self.words.s[i].next = self.q_data[i].val();
        }
        self.words.sel.next = self.pick.q.val();
        if self.pick_again.q.val() {
            self.words.sel.next = 0.into();
        }
        if self.active.q.val() {
            self.words.sel.next = self.from.q.val();
        }
        self.lead.d.next = 0.into();
        if self.s2_again.q.val() {
            self.lead.d.next = self.kept.val();
        }
        self.soon.next = self.s2_first.q.val() & self.is_brief.q.val() & !self.s2_again.q.val();
        self.s3_valid.d.next = self.s2_valid.q.val();
        self.s3_first.d.next = self.s2_first.q.val();
        self.s3_down.d.next = self.s2_down.q.val();
        self.s3_brief.d.next = self.s2_first.q.val() & self.is_brief.q.val();
        self.s3_again.d.next = self.s2_again.q.val();
        self.m_valid.next = self.s3_valid.q.val();
        self.m_data.next = self.words.m.val() | self.lead.q.val();
        self.m_word.next = self.words.m.val();
        self.m_first.next = self.s3_first.q.val();
        self.m_down.next = self.s3_down.q.val();
        self.m_brief.next = self.s3_brief.q.val();
        self.m_again.next = self.s3_again.q.val();
        self.m_from.next = self.from.q.val();
    }
}
