//! One output of the switch: takes turns over the inputs.

use super::{SwitchLook, SwitchReader, SwitchTogether, SwitchTx};
use crate::blocks::{AsyncRam, GatherBits};
use crate::bus::{AxisOut, FramesIn};
use crate::prelude::*;

hdl_module! {
    /// One output of the switch: takes whole frames from the queues of the inputs. One reader takes those that the engine
    /// of the port looks at: contributions towards the parent of a tree, and what goes down a tree from this port. Another one
    /// takes all others at the same time, which go to the MAC as they came. Frames of the engine come back at red_*.
    /// One word a clock and reader, frame behind frame. The next frame of a queue is chosen when the one before has left it, if it is
    /// for the other reader.
    /// With a brief contribution for the engine go those of other queues whose words 6 and 7 are the same but for the result code, if
    /// they are two or more and the engine takes them. Clocks of that, counted from the first word at eng_*: 4 eng_others; 5 eng_take;
    /// 7 the first word at eng_op_*, one in each clock from there on (see switch_together).
    /// Stages: 1 to 3 the readers', eng_*; 4 queue of plain words; 5 its register; 6 m_axis_tx.
    /// A plain frame that can be marked for congestion is, if its queue was long in the clock in which it began at stage 2.
    /// Its own words count, and the last one of the frame before it, if that came from the same queue and ended in the
    /// clock before. q_long says so 2 clocks later, when its first word is at stage 3. On their way from there to stage 4
    /// both bits of ECN are set in its second word and the IPv4 checksum in its fourth is corrected.
    /// While the MAC or the engine takes nothing, the readers hold what they have chosen.
    #[module("switch_out_n{N}_d{}", 1usize << A)]
    pub struct SwitchOut<const N: usize, const A: usize, const E: usize> {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset.
        pub rst: Signal<In, Bit>,
        /// For each input: a frame waits.
        pub q_valid: Bank<Signal<In, Bit>, N>,
        /// Its kind: 0 to the MAC, 1 up through the engine, 2 for the engine, on its way down a tree.
        pub q_kind: Bank<Signal<In, Bits<2>>, N>,
        /// One clock later, its entry: words, kind, bytes of the last word less one, what a mark subtracts from the IPv4 checksum
        /// (0: the frame cannot be marked; of what the engine looks at, 1: a brief contribution).
        pub q_entry: Bank<Signal<In, Bits<E>>, N>,
        /// The entry is used up.
        pub q_pop: Bank<Signal<Out, Bit>, N>,
        /// Move on to the next word.
        pub q_go: Bank<Signal<Out, Bit>, N>,
        /// Word at the head.
        pub q_data: Bank<Signal<In, Bits<64>>, N>,
        /// The queue was long two clocks ago.
        pub q_long: Bank<Signal<In, Bit>, N>,
        /// The queue from this port itself, one-hot.
        pub own: Signal<In, Bits<N>>,
        /// The engine can take a whole frame that it looks at.
        pub eng_room: Signal<In, Bit>,
        /// A word of one.
        pub eng_valid: Signal<Out, Bit>,
        /// The word.
        pub eng_data: Signal<Out, Bits<64>>,
        /// It is the frame's first.
        pub eng_first: Signal<Out, Bit>,
        /// Its frame goes down a tree; otherwise towards the parent.
        pub eng_down: Signal<Out, Bit>,
        /// In clock 4 of a brief contribution: two or more go with it.
        pub eng_others: Signal<Out, Bit>,
        /// In clock 5: the engine takes them all.
        pub eng_take: Signal<In, Bit>,
        /// Word 8 of one of them.
        pub eng_op_valid: Signal<Out, Bit>,
        /// The word.
        pub eng_op_data: Signal<Out, Bits<64>>,
        /// Its result code.
        pub eng_op_rc: Signal<Out, Bits<3>>,
        /// It is the last one.
        pub eng_op_last: Signal<Out, Bit>,
        /// Frames of the engine.
        pub red: FramesIn<64>,
        /// AXI4-Stream to the MAC.
        pub m_axis_tx: AxisOut<64, 8>,
        /// A frame has left the switch.
        pub sent: Signal<Out, Bit>,
        /// A frame has been marked.
        pub marked: Signal<Out, Bit>,
        /// Who takes frames that the engine looks at, and all others.
        looks: SwitchLook<N>,
        line: SwitchReader<N, A, E>,
        /// What goes with a contribution that the engine looks at.
        together: SwitchTogether<N>,
        valids: GatherBits<N>,
        /// Queues whose oldest frame is kind 1, kind 2, brief if it is kind 1.
        ups: GatherBits<N>,
        downs: GatherBits<N>,
        briefs: GatherBits<N>,
        /// Queues whose oldest frame is for the engine.
        looked: GatherBits<N>,
        /// Queues whose entry is used up, that move on.
        pops: Signal<Local, Bits<N>>,
        goes: Signal<Local, Bits<N>>,
        /// The engine takes a frame.
        eng_fits: DFF<Bit>,
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
        /// Room in the plain queue for words that are on their way.
        #[reset] plain_room: DFF<Bit>,
        tx: SwitchTx,
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
        self.plain_room.d.next = !self.plain_level.val().get_bit(3);
        self.eng_fits.d.next = self.eng_room.val();
        for i in 0..N {
            self.valids.s[i].next = self.q_valid[i].val();
            self.looked.s[i].next = self.q_kind[i].val().any();
            self.ups.s[i].next = self.q_kind[i].val().get_bit(0);
            self.downs.s[i].next = self.q_kind[i].val().get_bit(1);
            self.briefs.s[i].next = (self.q_entry[i].val() >> (self.a.val() + 5)).get_bit(0);
            self.looks.q_data[i].next = self.q_data[i].val();
            self.together.q_data[i].next = self.q_data[i].val();
            self.line.q_entry[i].next = self.q_entry[i].val();
            self.line.q_data[i].next = self.q_data[i].val();
            self.longs.s[i].next = self.q_long[i].val();
        }

        // Stages 1 to 3.
        self.looks.may.next = self.valids.m.val()
            & self.looked.m.val()
            & !self.line.busy.val()
            & !self.together.held.val();
        self.looks.waits.next = self.together.waits.val();
        self.looks.waits_some.next = self.together.waits_some.val();
        self.looks.kept.next = self.together.kept.val();
        self.looks.room.next = self.eng_fits.q.val();
        self.looks.down.next = self.downs.m.val();
        self.looks.brief.next = self.briefs.m.val();
        self.looks.own.next = self.own.val();
        self.looks.also.next = self.together.soon.val();
        self.line.may.next = self.valids.m.val()
            & !self.looked.m.val()
            & !self.looks.busy.val()
            & !self.together.held.val();
        self.line.room.next = self.plain_room.q.val();
        self.together.q_valid.next = self.valids.m.val();
        self.together.q_up.next = self.ups.m.val();
        self.together.q_brief.next = self.briefs.m.val();
        self.together.q_busy.next = self.looks.busy.val() | self.line.busy.val();
        self.together.s_soon.next = self.looks.soon.val();
        self.together.s_valid.next = self.looks.m_brief.val();
        self.together.s_data.next = self.looks.m_word.val();
        self.together.s_again.next = self.looks.m_again.val();
        self.together.s_from.next = self.looks.m_from.val();
        self.together.take.next = self.eng_take.val();
        self.eng_others.next = self.together.m_others.val();
        self.eng_op_valid.next = self.together.o_valid.val();
        self.eng_op_data.next = self.together.o_data.val();
        self.eng_op_rc.next = self.together.o_rc.val();
        self.eng_op_last.next = self.together.o_last.val();
        self.pops.next = self.looks.pop.val() | self.line.pop.val() | self.together.pop.val();
        self.goes.next = self.looks.go.val() | self.line.go.val() | self.together.go.val();
        for i in 0..N {
            self.q_pop[i].next = self.pops.val().get_bit(i);
            self.q_go[i].next = self.goes.val().get_bit(i);
        }
        self.eng_valid.next = self.looks.m_valid.val();
        self.eng_data.next = self.looks.m_data.val();
        self.eng_first.next = self.looks.m_first.val();
        self.eng_down.next = self.looks.m_down.val();

        // Marks: what the fourth word needs is known with the third.
        if self.line.m_valid.val() {
            self.is_1.d.next = self.line.m_first.val();
            self.is_2.d.next = self.is_1.q.val();
            self.cut.d.next = 0.into();
            if self.mark.q.val() & self.is_2.q.val() {
                self.cut.d.next = self.line.m_step.val();
            }
            if self.line.m_first.val() {
                self.mark.d.next = (self.longs.m.val() & self.line.m_from.val()).any()
                    & self.line.m_step.val().any();
            }
        }
        self.ecn.next = self.mark.q.val() & self.is_1.q.val();
        self.told.d.next = self.line.m_valid.val() & self.ecn.val();
        self.marked.next = self.told.q.val();
        self.checksum.next = ((bit_cast::<16, 8>(self.line.m_data.val().get_bits::<8>(0)) << 8)
            | bit_cast::<16, 8>(self.line.m_data.val().get_bits::<8>(8)))
            - bit_cast::<16, 2>(self.cut.q.val());
        self.low.next = (bit_cast::<16, 8>(self.checksum.val().get_bits::<8>(0)) << 8)
            | bit_cast::<16, 8>(self.checksum.val().get_bits::<8>(8));
        self.word.next = (bit_cast::<64, 48>(self.line.m_data.val().get_bits::<48>(16)) << 16)
            | bit_cast::<64, 16>(self.low.val());
        if self.ecn.val() {
            self.word.next = (bit_cast::<64, 48>(self.line.m_data.val().get_bits::<48>(16)) << 16)
                | bit_cast::<64, 16>(self.low.val())
                | (bits::<64>(3) << 56);
        }

        // Stages 4 and 5.
        self.plain.wr.en.next = self.line.m_valid.val();
        self.plain.wr.addr.next = self.plain_tail.q.val();
        self.plain.rd.addr.next = self.plain_head.q.val();
        self.plain.wr.data.next = bit_cast::<68, 64>(self.word.val())
            | (bit_cast::<68, 1>(self.line.m_last.val().into()) << 64)
            | (bit_cast::<68, 3>(self.line.m_keep.val()) << 65);
        self.tx.plain_valid.next = self.plain_some.q.val();
        self.plain_pop.next = self.tx.plain_ready.val() & self.plain_some.q.val();
        self.plain_after.next = self.plain_head.q.val() + 1;
        if self.plain_pop.val() {
            self.plain_head.d.next = self.plain_after.val();
        }
        if self.line.m_valid.val() {
            self.plain_tail.d.next = self.plain_tail.q.val() + 1;
        }
        self.plain_some.d.next = self.line.m_valid.val()
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
