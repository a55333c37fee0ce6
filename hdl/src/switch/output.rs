//! One output of the switch: takes turns over the inputs.

use super::SwitchTx;
use crate::blocks::{AsyncRam, ChosenWord, GatherBits, OneHotMux, TakeTurns};
use crate::bus::{AxisOut, FramesIn};
use crate::prelude::*;

hdl_record! {
    /// A word that is read.
    struct Stage {
        /// The word is the first of its frame.
        first: Bit,
        /// It is the last.
        last: Bit,
        /// What kind of word it is.
        kind: Bits<2>,
        /// Bytes in the last word, less one.
        keep: Bits<3>,
    }
}

hdl_module! {
    /// One output of the switch: takes whole frames from the queues of the inputs in turn. Plain frames go to
    /// the MAC, reduction frames to the engine of the port, whose own frames come back at red_*.
    /// One word a clock; the next frame is chosen while one passes, so no clock is lost between them.
    /// Stages: 1 next frame chosen; 2 its words move, its entry is loaded; 3 word registered, eng_*; 4 queue of plain
    /// words; 5 its register; 6 m_axis_tx.
    /// A plain frame that can be marked for congestion is, if its queue was long in the clock in which it began at stage 2.
    /// Its own words count, and the last one of the frame before it, if that came from the same queue and ended in the
    /// clock before. q_long says so 2 clocks later, when its first word is at stage 3. On their way from there to stage 4
    /// both bits of ECN are set in its second word and the IPv4 checksum in its fourth is corrected.
    /// While the MAC or the engine takes nothing, the frame chosen next is held, and a plain frame that passes. What may
    /// change meanwhile: frames are kept behind them, which changes neither entry nor word at the head of a queue; and
    /// whether there is room, which is looked at anew in each clock. The entry of a frame is used up when it begins.
    #[module("switch_out_n{N}_d{}", 1usize << A)]
    pub struct SwitchOut<const N: usize, const A: usize, const E: usize> {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset.
        pub rst: Signal<In, Bit>,
        /// For each input: a frame waits.
        pub q_valid: Bank<Signal<In, Bit>, N>,
        /// Its entry: words, kind, bytes of the last word less one, what a mark subtracts from the IPv4 checksum (0: the
        /// frame cannot be marked).
        pub q_entry: Bank<Signal<In, Bits<E>>, N>,
        /// It is a reduction frame; one clock before q_entry.
        pub q_red: Bank<Signal<In, Bit>, N>,
        /// The entry is used up.
        pub q_pop: Bank<Signal<Out, Bit>, N>,
        /// Move on to the next word.
        pub q_go: Bank<Signal<Out, Bit>, N>,
        /// Word at the head.
        pub q_data: Bank<Signal<In, Bits<64>>, N>,
        /// The queue was long two clocks ago.
        pub q_long: Bank<Signal<In, Bit>, N>,
        /// The queue from this port itself, one-hot: its frames go down the tree, but for the root's contributions, which go up.
        pub own: Signal<In, Bits<N>>,
        /// The engine can take a whole frame.
        pub eng_room: Signal<In, Bit>,
        /// A word of a reduction frame.
        pub eng_valid: Signal<Out, Bit>,
        /// The word.
        pub eng_data: Signal<Out, Bits<64>>,
        /// It is the frame's first.
        pub eng_first: Signal<Out, Bit>,
        /// 1 towards the parent, 2 passes, down a tree or up, 3 down and into the engine.
        pub eng_kind: Signal<Out, Bits<2>>,
        /// Frames of the engine.
        pub red: FramesIn<64>,
        /// AXI4-Stream to the MAC.
        pub m_axis_tx: AxisOut<64, 8>,
        /// A frame has left the switch.
        pub sent: Signal<Out, Bit>,
        /// A frame has been marked.
        pub marked: Signal<Out, Bit>,
        valids: GatherBits<N>,
        entries: OneHotMux<E, N>,
        words: ChosenWord<64, N>,
        /// Plain words on their way to the MAC: data 63:0, last 64, bytes less one 67:65. Words stop coming when there
        /// are 8, so it is never full.
        plain: AsyncRam<68, 4>,
        /// The oldest word's place, the next word's; there is a word.
        #[reset] plain_head: DFF<Bits<4>>,
        #[reset] plain_tail: DFF<Bits<4>>,
        #[reset] plain_some: DFF<Bit>,
        plain_after: Signal<Local, Bits<4>>,
        plain_level: Signal<Local, Bits<4>>,
        plain_pop: Signal<Local, Bit>,
        tx: SwitchTx,
        /// Inputs that may be chosen.
        req: Signal<Local, Bits<N>>,
        turns: TakeTurns<N>,
        /// The one chosen last.
        #[reset] last: DFF<Bits<N>>,
        /// The next frame may be taken over from the queues.
        open: Signal<Local, Bit>,
        /// The next frame: there is one; its input. Its entry shows until it begins.
        #[reset] pick_valid: DFF<Bit>,
        #[reset] pick: DFF<Bits<N>>,
        /// A copy of pick; reset otherwise, or synthesis would merge them.
        shows: DFF<Bits<N>>,
        shown_kind: Signal<Local, Bits<2>>,
        pick_kind: Signal<Local, Bits<2>>,
        /// The engine of this port is not to see it.
        passes: Signal<Local, Bit>,
        /// Inputs whose oldest frame may begin: there is room where it goes.
        fits: Bank<DFF<Bit>, N>,
        fit: GatherBits<N>,
        plain_next: Signal<Local, Bit>,
        /// Inputs whose entry still shows but is the next frame or used up.
        #[reset] shut: DFF<Bits<N>>,
        /// The frame that passes.
        #[reset] active: DFF<Bit>,
        from: DFF<Bits<N>>,
        /// Words that have not moved, and one.
        left: DFF<Bits<A>>,
        one_left: DFF<Bit>,
        kind: DFF<Bits<2>>,
        is_red: DFF<Bit>,
        keep: DFF<Bits<3>>,
        /// What a mark subtracts from its checksum.
        step: DFF<Bits<2>>,
        /// Room in the plain queue for words that are on their way.
        #[reset] plain_room: DFF<Bit>,
        /// The input whose frame begins; a frame begins, the frame that passes moves, a word moves, the last one moves.
        begin: Signal<Local, Bits<N>>,
        start: Signal<Local, Bit>,
        flow: Signal<Local, Bit>,
        moving: Signal<Local, Bit>,
        ends: Signal<Local, Bit>,
        /// Stage 2: a word is at the queue's output.
        #[reset] s2_valid: DFF<Bit>,
        s2: DFF<Stage>,
        /// The queues whose word moves, whose entry is used up.
        #[reset] go: DFF<Bits<N>>,
        moves: Signal<Local, Bits<N>>,
        #[reset] pop: DFF<Bits<N>>,
        /// Stage 3.
        #[reset] s3_plain: DFF<Bit>,
        #[reset] s3_red: DFF<Bit>,
        s3: DFF<Stage>,
        longs: GatherBits<N>,
        /// The frame at stage 3 is marked; the next word is its second, its third.
        mark: DFF<Bit>,
        #[reset] is_1: DFF<Bit>,
        #[reset] is_2: DFF<Bit>,
        /// The word is the second of a frame that is marked; what is subtracted from its first two bytes.
        ecn: Signal<Local, Bit>,
        #[reset] cut: DFF<Bits<2>>,
        checksum: Signal<Local, Bits<16>>,
        low: Signal<Local, Bits<16>>,
        word: Signal<Local, Bits<64>>,
        /// A frame has been marked.
        #[reset] told: DFF<Bit>,
        a: Param<A, 5>,
    }
}

impl<const N: usize, const A: usize, const E: usize> Logic for SwitchOut<N, A, E> {
    #[hdl_gen]
    fn update(&mut self) {
        self.plain_level.next = self.plain_tail.q.val() - self.plain_head.q.val();
        self.plain_next.next = !self.plain_level.val().get_bit(3);
        for i in 0..N {
            self.valids.s[i].next = self.q_valid[i].val();
            self.entries.s[i].next = self.q_entry[i].val();
            self.words.s[i].next = self.q_data[i].val();
            self.longs.s[i].next = self.q_long[i].val();
            self.fits[i].d.next = self.plain_next.val();
            if self.q_red[i].val() {
                self.fits[i].d.next = self.eng_room.val();
            }
            self.fit.s[i].next = self.fits[i].q.val();
        }

        // Stage 2: words move while there is room behind.
        self.plain_room.d.next = self.plain_next.val();
        self.entries.sel.next = self.shows.q.val();
        self.shown_kind.next = (self.entries.m.val() >> self.a.val()).get_bits::<2>(0);
        self.pick_kind.next = self.shown_kind.val();
        self.passes.next =
            self.shown_kind.val().all() & !(self.shows.q.val() & self.own.val()).any();
        if self.passes.val() {
            self.pick_kind.next = 2.into();
        }
        // What begins is loaded as long as nothing passes.
        self.begin.next = self.pick.q.val() & self.fit.m.val();
        if self.active.q.val() {
            self.begin.next = 0.into();
        }
        self.start.next = self.begin.val().any();
        self.flow.next = self.active.q.val() & (self.plain_room.q.val() | self.is_red.q.val());
        self.moving.next = self.start.val() | self.flow.val();
        self.ends.next = self.flow.val() & self.one_left.q.val();
        if self.flow.val() {
            self.left.d.next = self.left.q.val() - 1;
            self.one_left.d.next = self.left.q.val() == 3;
        }
        self.active.d.next = self.start.val() | (self.active.q.val() & !self.ends.val());
        if !self.active.q.val() {
            self.from.d.next = self.pick.q.val();
            self.kind.d.next = self.pick_kind.val();
            self.is_red.d.next = self.pick_kind.val().any();
            self.keep.d.next = bit_cast::<3, E>(self.entries.m.val() >> (self.a.val() + 2));
            self.step.d.next = bit_cast::<2, E>(self.entries.m.val() >> (self.a.val() + 5));
            self.left.d.next = self.entries.m.val().get_bits::<A>(0);
            self.one_left.d.next = false;
        }
        self.moves.next = self.begin.val();
        if self.flow.val() {
            self.moves.next = self.from.q.val();
        }
        self.go.d.next = self.moves.val();
        self.pop.d.next = self.begin.val();
        for i in 0..N {
            self.q_pop[i].next = self.pop.q.val().get_bit(i);
            self.q_go[i].next = self.go.q.val().get_bit(i);
        }
        self.s2_valid.d.next = self.moving.val();
        self.s2.d.next.first = self.start.val();
        self.s2.d.next.last = self.ends.val();
        self.s2.d.next.kind = self.kind.q.val();
        self.s2.d.next.keep = self.keep.q.val();
        if !self.active.q.val() {
            self.s2.d.next.kind = self.pick_kind.val();
            self.s2.d.next.keep = bit_cast::<3, E>(self.entries.m.val() >> (self.a.val() + 2));
        }

        // Stage 1: the next frame, in turn.
        self.req.next = self.valids.m.val() & !self.shut.q.val();
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
        self.s3_plain.d.next = self.s2_valid.q.val() & (self.s2.q.val().kind == 0);
        self.s3_red.d.next = self.s2_valid.q.val() & (self.s2.q.val().kind != 0);
        self.s3.d.next = self.s2.q.val();
        self.eng_valid.next = self.s3_red.q.val();
        self.eng_data.next = self.words.m.val();
        self.eng_first.next = self.s3.q.val().first;
        self.eng_kind.next = self.s3.q.val().kind;

        // Marks: what the fourth word needs is known with the third.
        if self.s3_plain.q.val() {
            self.is_1.d.next = self.s3.q.val().first;
            self.is_2.d.next = self.is_1.q.val();
            self.cut.d.next = 0.into();
            if self.mark.q.val() & self.is_2.q.val() {
                self.cut.d.next = self.step.q.val();
            }
            if self.s3.q.val().first {
                self.mark.d.next =
                    (self.longs.m.val() & self.from.q.val()).any() & self.step.q.val().any();
            }
        }
        self.ecn.next = self.mark.q.val() & self.is_1.q.val();
        self.told.d.next = self.s3_plain.q.val() & self.ecn.val();
        self.marked.next = self.told.q.val();
        self.checksum.next = ((bit_cast::<16, 8>(self.words.m.val().get_bits::<8>(0)) << 8)
            | bit_cast::<16, 8>(self.words.m.val().get_bits::<8>(8)))
            - bit_cast::<16, 2>(self.cut.q.val());
        self.low.next = (bit_cast::<16, 8>(self.checksum.val().get_bits::<8>(0)) << 8)
            | bit_cast::<16, 8>(self.checksum.val().get_bits::<8>(8));
        self.word.next = (bit_cast::<64, 48>(self.words.m.val().get_bits::<48>(16)) << 16)
            | bit_cast::<64, 16>(self.low.val());
        if self.ecn.val() {
            self.word.next = (bit_cast::<64, 48>(self.words.m.val().get_bits::<48>(16)) << 16)
                | bit_cast::<64, 16>(self.low.val())
                | (bits::<64>(3) << 56);
        }

        // Stages 4 and 5.
        self.plain.wr.en.next = self.s3_plain.q.val();
        self.plain.wr.addr.next = self.plain_tail.q.val();
        self.plain.rd.addr.next = self.plain_head.q.val();
        self.plain.wr.data.next = bit_cast::<68, 64>(self.word.val())
            | (bit_cast::<68, 1>(self.s3.q.val().last.into()) << 64)
            | (bit_cast::<68, 3>(self.s3.q.val().keep) << 65);
        self.tx.plain_valid.next = self.plain_some.q.val();
        self.plain_pop.next = self.tx.plain_ready.val() & self.plain_some.q.val();
        self.plain_after.next = self.plain_head.q.val() + 1;
        if self.plain_pop.val() {
            self.plain_head.d.next = self.plain_after.val();
        }
        if self.s3_plain.q.val() {
            self.plain_tail.d.next = self.plain_tail.q.val() + 1;
        }
        self.plain_some.d.next = self.s3_plain.q.val()
            | (self.plain_some.q.val()
                & (!self.tx.plain_ready.val()
                    | (self.plain_after.val() != self.plain_tail.q.val())));
        self.tx.plain_data.next = self.plain.rd.data.val().get_bits::<64>(0);
        self.tx.plain_last.next = self.plain.rd.data.val().get_bit(64);
        self.tx.plain_keep.next = self.plain.rd.data.val().get_bits::<3>(65);
        FramesIn::<64>::link(&mut self.red, &mut self.tx.red);
        AxisOut::<64, 8>::link(&mut self.m_axis_tx, &mut self.tx.m_axis_tx);
        self.sent.next = self.tx.sent.val();
    }
}
