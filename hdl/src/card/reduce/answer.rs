//! Results that the card of a group's root answers.

use crate::blocks::{AsyncRam, FifoAhead};
use crate::bus::{FramesIn, ReduceAnswer, ReduceAnsweredIn, ReduceAnswersOut, StreamOut};
use crate::prelude::*;
use tributary_protocol::red::wire::Reduction;

hdl_module! {
    /// Keeps the words of results that are answered (CL-6) while they pass on their way into completions, two results at most:
    /// header and data of the frame that goes down, the header with the next sequence number and armed.
    /// What passes waits for nothing here: what is decided of a frame is here before its words are.
    /// Latency: 2 clocks from the last word to m.
    /// Stages: 1 a word passes, and is written if its frame is answered; 2 the frame has passed; 3 the answer is at m, until it has
    /// left.
    #[module("card_reduce_answer")]
    pub struct CardReduceAnswer {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset: none is kept.
        pub rst: Signal<In, Bit>,
        /// What is decided of frames whose words will be delivered.
        pub s: ReduceAnsweredIn,
        /// Their words, seven each.
        pub s_words: FramesIn<64>,
        /// The same.
        pub m_words: StreamOut<64>,
        /// Answers, in their order.
        pub m: ReduceAnswersOut,
        /// None is kept.
        pub m_idle: Signal<Out, Bit>,

        words: AsyncRam<64, 4>,
        answers: AsyncRam<{ ReduceAnswer::BITS }, 2>,
        decided: FifoAhead<1, 5>,
        /// Answers that are kept or on their way, and those that are ready.
        #[reset] kept: DFF<Bits<2>>,
        #[reset] ready: DFF<Bits<2>>,
        takes: Signal<Local, Bit>,
        /// Where what is decided goes, what passes, what leaves.
        #[reset] in_place: DFF<Bits<1>>,
        #[reset] place: DFF<Bits<1>>,
        #[reset] out_place: DFF<Bits<1>>,
        /// The word that passes.
        #[reset] number: DFF<Bits<3>>,
        moves: Signal<Local, Bit>,
        last: Signal<Local, Bit>,
        answered: Signal<Local, Bit>,
        /// The last word has passed; of an answer.
        #[reset] passed: DFF<Bit>,
        #[reset] made: DFF<Bit>,
        header: Signal<Local, Bits<64>>,
        seqno: Signal<Local, Bits<10>>,
        /// All of a header but seqno and resno; that it arms.
        rest: Param<{ !(Reduction::SEQNO_MASK | Reduction::RESNO_MASK) as usize }, 64>,
        arm: Param<{ Reduction::ARM_MASK as usize }, 64>,
    }
}

impl Logic for CardReduceAnswer {
    #[hdl_gen]
    fn update(&mut self) {
        // Decided.
        self.s.ready.next = self.decided.s.ready.val();
        self.s.room.next = !self.kept.q.val().get_bit(1);
        self.takes.next = self.s.valid.val() & self.s.answers.val();
        self.decided.s.valid.next = self.s.valid.val();
        self.decided.s.data.next = bit_cast::<1, 1>(self.s.answers.val().into());
        self.answers.wr.en.next = self.takes.val();
        self.answers.wr.addr.next = bit_cast::<2, 1>(self.in_place.q.val());
        self.answers.wr.data.next = self.s.of.val().to_bits();
        if self.takes.val() {
            self.in_place.d.next = !self.in_place.q.val();
        }

        // Its words pass.
        self.m_words.valid.next = self.s_words.valid.val();
        self.m_words.data.next = self.s_words.of.val().data;
        self.s_words.ready.next = self.m_words.ready.val();
        self.moves.next = self.s_words.valid.val() & self.m_words.ready.val();
        self.last.next = self.moves.val() & (self.number.q.val() == 6);
        if self.moves.val() {
            self.number.d.next = self.number.q.val() + 1;
        }
        if self.last.val() {
            self.number.d.next = 0.into();
        }
        // What is decided of the next frame shows from its second word on.
        self.answered.next = self.decided.m.data.val().any();
        self.passed.d.next = self.last.val();
        self.made.d.next = self.last.val() & self.answered.val();
        self.decided.m.ready.next = self.passed.q.val();
        if self.made.q.val() {
            self.place.d.next = !self.place.q.val();
        }
        // Its words 2 to 6 are header and data; of a work request data begin at word 4.
        self.seqno.next = self.s_words.of.val().data.get_bits::<10>(0);
        self.header.next = (self.s_words.of.val().data & self.rest.val())
            | self.arm.val()
            | bit_cast::<64, 10>(self.seqno.val() + 1)
            | (bit_cast::<64, 10>(self.seqno.val()) << 37);
        self.words.wr.en.next = self.moves.val() & self.answered.val() & (self.number.q.val() >= 2);
        self.words.wr.addr.next =
            (bit_cast::<4, 1>(self.place.q.val()) << 3) | bit_cast::<4, 3>(self.number.q.val() + 1);
        self.words.wr.data.next = self.s_words.of.val().data;
        if self.number.q.val() == 2 {
            self.words.wr.addr.next = (bit_cast::<4, 1>(self.place.q.val()) << 3) | bits::<4>(2);
            self.words.wr.data.next = self.header.val();
        }

        // Answers leave.
        self.kept.d.next = self.kept.q.val() + bit_cast::<2, 1>(self.takes.val().into())
            - bit_cast::<2, 1>(self.m.done.val().into());
        self.ready.d.next = self.ready.q.val() + bit_cast::<2, 1>(self.made.q.val().into())
            - bit_cast::<2, 1>(self.m.done.val().into());
        if self.m.done.val() {
            self.out_place.d.next = !self.out_place.q.val();
        }
        self.m.valid.next = self.ready.q.val().any();
        self.answers.rd.addr.next = bit_cast::<2, 1>(self.out_place.q.val());
        self.m.of.next = self.answers.rd.data.val().into();
        self.words.rd.addr.next =
            (bit_cast::<4, 1>(self.out_place.q.val()) << 3) | bit_cast::<4, 3>(self.m.word.val());
        self.m.data.next = self.words.rd.data.val();
        if self.m.word.val() == 3 {
            self.m.data.next = bit_cast::<64, 56>(self.m.of.val().round);
        }
        self.m_idle.next = !self.kept.q.val().any();
    }
}
