//! Contributions of one reduction that wait at once, combined together.

use crate::blocks::{ChosenWord, GatherBits, LowestBits, OneHotMux, SameParts, TakeTurns};
use crate::prelude::*;

hdl_module! {
    /// Finds out which contributions at the heads of an output's queues go with the one that passes, offers them to the
    /// engine, and hands it their data if it takes them.
    /// Clocks, counted from the first word of a brief contribution at s_*: 0 and 1 heads compared with it; 2 those with the same word
    /// move on, their entry is used up; 3 and 4 heads compared with its second word, but for the result code; 4 m_others, if they are
    /// two or more; 5 take: they move on; from 7 on a word at o_* in each clock, lowest queue first, k of them. They pass over their
    /// other 9 words in clocks 7 + k to 15 + k.
    /// All whose first word was the same and that were not taken wait from clock 6 on: their first word is in kept, their second
    /// one at the head. When one of them passes, the others that wait go with it as if compared with it; they do not move in clock 2.
    /// At most 15 have the same first word; others above them wait as if their second one differed.
    /// The engine has no room from clock 6 of those that it takes until o_last.
    #[module("switch_together_n{N}")]
    pub struct SwitchTogether<const N: usize> {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset: nobody waits.
        pub rst: Signal<In, Bit>,
        /// A bit per queue: a frame waits.
        pub q_valid: Signal<In, Bits<N>>,
        /// A bit per queue, with it: it is a contribution for the engine.
        pub q_up: Signal<In, Bits<N>>,
        /// A bit per queue, one clock later: it is brief.
        pub q_brief: Signal<In, Bits<N>>,
        /// A bit per queue: a reader takes its words.
        pub q_busy: Signal<In, Bits<N>>,
        /// Word at the head of each queue.
        pub q_data: Bank<Signal<In, Bits<64>>, N>,
        /// The first word of a whole brief contribution comes in the next clock.
        pub s_soon: Signal<In, Bit>,
        /// The first word of a brief contribution, whole or not, is here.
        pub s_valid: Signal<In, Bit>,
        /// Words of the frame that passes; of one that has waited not its first one.
        pub s_data: Signal<In, Bits<64>>,
        /// With s_valid: it is the word that was kept.
        pub s_again: Signal<In, Bit>,
        /// With it: the queue.
        pub s_from: Signal<In, Bits<N>>,
        /// Queues whose entry is used up.
        pub pop: Signal<Out, Bits<N>>,
        /// Queues that move on to the next word.
        pub go: Signal<Out, Bits<N>>,
        /// Queues that are to move on in the next clock.
        pub soon: Signal<Out, Bits<N>>,
        /// Queues that no reader may choose, from clock 3 on.
        pub held: Signal<Out, Bits<N>>,
        /// Of these, queues whose frame waits without its first word.
        pub waits: Signal<Out, Bits<N>>,
        /// There are such, one clock later.
        pub waits_some: Signal<Out, Bit>,
        /// Their first word.
        pub kept: Signal<Out, Bits<64>>,
        /// Two or more go with the contribution that passes.
        pub m_others: Signal<Out, Bit>,
        /// One clock later: they are taken. Low if they were not offered.
        pub take: Signal<In, Bit>,
        /// A word of one of them.
        pub o_valid: Signal<Out, Bit>,
        /// The word, its third one.
        pub o_data: Signal<Out, Bits<64>>,
        /// Its result code.
        pub o_rc: Signal<Out, Bits<3>>,
        /// It is the last one.
        pub o_last: Signal<Out, Bit>,
        /// A frame waited one clock ago.
        #[reset] seen: DFF<Bits<N>>,
        /// Queues that may go with a whole one, one clock before it; in its clocks 0 and 1; parts of their word are the same.
        apt: Signal<Local, Bits<N>>,
        #[reset] able: DFF<Bits<N>>,
        #[reset] able_1: DFF<Bits<N>>,
        same_6: Bank<SameParts<16>, N>,
        parts_6: Bank<DFF<Bits<16>>, N>,
        sixes: GatherBits<N>,
        /// Clock 2: those with the same first word, that move on, that have waited.
        #[reset] moved: DFF<Bits<N>>,
        #[reset] again_1: DFF<Bits<N>>,
        #[reset] again: DFF<Bits<N>>,
        claimed: Signal<Local, Bits<N>>,
        few: LowestBits<N>,
        /// Clocks 3 and 4: those with the same first word; parts of the second one are the same; all of it.
        #[reset] first_same: DFF<Bits<N>>,
        #[reset] still_same: DFF<Bits<N>>,
        same_7: Bank<SameParts<16>, N>,
        parts_7: Bank<DFF<Bits<16>>, N>,
        sevens: GatherBits<N>,
        same: Signal<Local, Bits<N>>,
        several: Signal<Local, Bit>,
        /// Clocks 1 to 5.
        #[reset] at_1: DFF<Bit>,
        #[reset] at_2: DFF<Bit>,
        #[reset] at_3: DFF<Bit>,
        #[reset] at_4: DFF<Bit>,
        #[reset] at_5: DFF<Bit>,
        /// From clock 3 on, all with the same first word; in clock 5, those with both words the same.
        #[reset] all: DFF<Bits<N>>,
        #[reset] offered: DFF<Bits<N>>,
        /// They are taken.
        takes: Signal<Local, Bit>,
        taken: DFF<Bits<N>>,
        #[reset] reserved: DFF<Bits<N>>,
        /// Those that have moved past their last word, the one that waited and passes.
        passed: Signal<Local, Bits<N>>,
        resumed: Signal<Local, Bits<N>>,
        #[reset] waiting: DFF<Bits<N>>,
        #[reset] some: DFF<Bit>,
        /// The first word, the second one.
        lead: DFF<Bits<64>>,
        second: DFF<Bits<64>>,
        /// Result codes.
        codes: Bank<DFF<Bits<3>>, N>,
        code: OneHotMux<3, N>,
        code_1: DFF<Bits<3>>,
        code_2: DFF<Bits<3>>,
        /// Whose words are to come, the one that is chosen among them; without it; the head of one chosen is there.
        source: Signal<Local, Bits<N>>,
        lowest: TakeTurns<N>,
        #[reset] rest: DFF<Bits<N>>,
        #[reset] going: DFF<Bit>,
        ends: Signal<Local, Bit>,
        words: ChosenWord<64, N>,
        #[reset] out_valid: DFF<Bit>,
        out_last: DFF<Bit>,
        /// Those that were taken move on; words that have not.
        #[reset] passing: DFF<Bit>,
        left: DFF<Bits<4>>,
        no_queue: Param<0, N>,
        /// What of the second word is compared: all but the result code.
        compared: Param<{ !0x80_0700 }, 64>,
    }
}

impl<const N: usize> Logic for SwitchTogether<N> {
    #[hdl_gen]
    fn update(&mut self) {
        // Clock 0. A head that has been moved a clock ago stands only now.
        self.seen.d.next = self.q_valid.val();
        self.apt.next = 0.into();
        if self.s_soon.val() {
            self.apt.next = self.seen.q.val()
                & self.q_up.val()
                & self.q_brief.val()
                & !self.q_busy.val()
                & !self.reserved.q.val();
        }
        self.able.d.next = self.apt.val();
        self.able_1.d.next = self.able.q.val();
        for i in 0..N {
            self.same_6[i].a.next = self.q_data[i].val();
            self.same_6[i].b.next = self.s_data.val();
            self.parts_6[i].d.next = self.same_6[i].m.val();
            self.sixes.s[i].next = self.parts_6[i].q.val().all();
            self.same_7[i].a.next = self.q_data[i].val() & self.compared.val();
            self.same_7[i].b.next = self.second.q.val() & self.compared.val();
            self.parts_7[i].d.next = self.same_7[i].m.val();
            self.sevens.s[i].next = self.parts_7[i].q.val().all();
            self.words.s[i].next = self.q_data[i].val();
            self.code.s[i].next = self.codes[i].q.val();
        }
        self.again_1.d.next = 0.into();
        if self.s_again.val() {
            self.again_1.d.next = self.waiting.q.val() & !self.s_from.val();
            self.waiting.d.next = 0.into();
        }
        if self.s_valid.val() & !self.s_again.val() {
            self.lead.d.next = self.s_data.val();
        }
        self.at_1.d.next = self.s_valid.val();
        self.at_2.d.next = self.at_1.q.val();
        self.at_3.d.next = self.at_2.q.val();
        self.at_4.d.next = self.at_3.q.val();
        self.at_5.d.next = self.at_4.q.val();

        // Clock 1.
        self.moved.d.next = self.able_1.q.val() & self.sixes.m.val();
        self.again.d.next = self.again_1.q.val();
        if self.at_1.q.val() {
            self.second.d.next = self.s_data.val();
        }

        // Clock 2.
        self.claimed.next = self.moved.q.val() | self.again.q.val();
        self.few.s.next = self.claimed.val();
        self.first_same.d.next = self.few.m.val();
        if self.at_2.q.val() {
            self.all.d.next = self.claimed.val();
        }

        // Clock 3.
        self.still_same.d.next = self.first_same.q.val();
        for i in 0..N {
            if self.at_3.q.val() {
                self.codes[i].d.next = (bit_cast::<3, 2>(self.q_data[i].val().get_bits::<2>(8))
                    << 1)
                    | bit_cast::<3, 1>(self.q_data[i].val().get_bit(23).into());
            }
        }

        // Clock 4.
        self.same.next = self.still_same.q.val() & self.sevens.m.val();
        self.several.next = (self.same.val() & (self.same.val() - 1)).any();
        self.m_others.next = self.several.val();
        // One alone is not offered, so the engine does not take it.
        self.offered.d.next = self.same.val();

        // Clock 5.
        self.takes.next = self.at_5.q.val() & self.take.val();
        self.go.next = self.moved.q.val();
        if self.take.val() {
            self.go.next = self.moved.q.val() | self.offered.q.val();
        }
        self.pop.next = self.moved.q.val();
        if self.at_5.q.val() {
            self.waiting.d.next = self.all.q.val();
            if self.take.val() {
                self.waiting.d.next = self.all.q.val() & !self.offered.q.val();
                self.taken.d.next = self.offered.q.val();
            }
        }
        self.some.d.next = self.waiting.q.val().any();

        // The heads of those that are taken, one after the other, chosen from clock 5 on.
        self.source.next = self.rest.q.val();
        if self.at_5.q.val() {
            self.source.next = self.offered.q.val();
        }
        self.lowest.req.next = self.source.val();
        self.lowest.last.next = self.no_queue.val();
        self.rest.d.next = self.source.val() & !self.lowest.choice.val();
        self.words.sel.next = self.lowest.choice.val();
        self.code.sel.next = self.lowest.choice.val();
        self.code_1.d.next = self.code.m.val();
        self.code_2.d.next = self.code_1.q.val();
        self.ends.next = self.going.q.val() & !self.rest.q.val().any();
        self.going.d.next = self.takes.val() | (self.going.q.val() & !self.ends.val());
        self.out_valid.d.next = self.going.q.val();
        self.out_last.d.next = self.ends.val();
        self.o_valid.next = self.out_valid.q.val();
        self.o_data.next = self.words.m.val();
        self.o_rc.next = self.code_2.q.val();
        self.o_last.next = self.out_last.q.val();

        // Their other words.
        self.soon.next = 0.into();
        self.left.d.next = self.left.q.val() - 1;
        if self.passing.q.val() {
            self.soon.next = self.taken.q.val();
            self.passing.d.next = self.left.q.val() != 1;
        }
        if self.ends.val() {
            self.passing.d.next = true;
            self.left.d.next = 9.into();
        }
        self.passed.next = self.no_queue.val();
        if self.passing.q.val() & (self.left.q.val() == 1) {
            self.passed.next = self.taken.q.val();
        }
        self.resumed.next = self.no_queue.val();
        if self.s_again.val() {
            self.resumed.next = self.s_from.val();
        }
        self.reserved.d.next = (self.reserved.q.val() & !(self.passed.val() | self.resumed.val()))
            | self.claimed.val();
        self.held.next = self.reserved.q.val();
        self.waits.next = self.waiting.q.val();
        self.waits_some.next = self.some.q.val();
        self.kept.next = self.lead.q.val();
    }
}
