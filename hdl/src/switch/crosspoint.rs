//! The queue between one input and one output of the switch.

use crate::blocks::{AsyncRam, RamRegSteps};
use crate::prelude::*;

hdl_module! {
    /// Queue of whole frames from one input to one output of the switch.
    /// All queues of an input see every word of every frame; a queue keeps the frame only if w_take
    /// is high with its last word. Until then the words lie behind the queue's end and cost nothing.
    /// A frame that does not fit is dropped whole. Whether a word fits is found out two clocks before
    /// it comes, from its number; 15 words are held back for what that does not see: a frame that
    /// was kept up to four clocks before, and that reduction frames store words 1 to 5 behind the
    /// others.
    /// Frames that are kept have 8 words or more; entries are used up 8 clocks apart or more.
    /// A word is written four or five clocks after w_valid, since only then it is known how the frame is stored (see switch_rx):
    /// with w_early in clock 3 or with w_late in clock 4, its place then, its value one clock later. It is not read before, since it
    /// waits for the frame's last word, behind which entry_valid rises 1 clock later. The first one is read 1 clock before that at the
    /// earliest, and written 1 clock before that at the latest: it is the seventh of 12 then, one with w_late the first of 8 or more.
    /// Latency: 1 clock from w_end to entry_valid; entry follows one clock later. rd_data is the word
    /// at the head from 2 clocks after entry_valid rose on; rd_go moves on to the next word, in each
    /// clock if need be.
    /// The memory holds two words back: that at the head in its output register, the one behind it
    /// before the register; the address stands in a register and moves on with them. As long as no
    /// whole frame lies behind what is held, the address where the next one will begin is read
    /// again and again.
    /// Whether the queue is long is known two clocks late: is_long tells of the frames kept and the words moved before
    /// that, whole frames only.
    /// While nobody takes a word, the oldest entry, the word at the head and the one behind it are held. What may change
    /// meanwhile: frames are kept or dropped behind them. A frame that is kept changes how far ahead is read (near,
    /// final_word), never a word that is held: its words are stored short of the head.
    #[module("switch_crosspoint_d{}", 1usize << A)]
    pub struct Crosspoint<const A: usize, const E: usize> {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset: empties the queue.
        pub rst: Signal<In, Bit>,
        /// Number, in its frame, of the word that comes in two clocks, if one does.
        pub w_beat: Signal<In, Bits<A>>,
        /// A word of a frame; its value follows.
        pub w_valid: Signal<In, Bit>,
        /// The word of 3 clocks ago is stored, the one of 4 clocks ago; never both.
        pub w_early: Signal<In, Bit>,
        /// The latter.
        pub w_late: Signal<In, Bit>,
        /// With either of them: its place in the stored frame.
        pub w_offset: Signal<In, Bits<A>>,
        /// The word, one clock later.
        pub w_data: Signal<In, Bits<64>>,
        /// The word of w_valid is the frame's last.
        pub w_end: Signal<In, Bit>,
        /// Keep the frame; only with w_end.
        pub w_take: Signal<In, Bit>,
        /// What to remember of the frame: words in the lowest bits, above them two bits, its kind; with w_end.
        pub w_entry: Signal<In, Bits<E>>,
        /// A frame waits.
        pub entry_valid: Signal<Out, Bit>,
        /// What was remembered of the oldest one; one clock after entry_valid rose or entry_pop moved on.
        pub entry: Signal<Out, Bits<E>>,
        /// Its kind, with entry_valid: of what is remembered, the two bits above the words.
        pub entry_kind: Signal<Out, Bits<2>>,
        /// The oldest frame's entry is used up.
        pub entry_pop: Signal<In, Bit>,
        /// Move on to the next word.
        pub rd_go: Signal<In, Bit>,
        /// Word at the head.
        pub rd_data: Signal<Out, Bits<64>>,
        /// A frame was dropped for want of room.
        pub dropped: Signal<Out, Bit>,
        /// More than cfg_ecn_limit words of whole frames lay in the queue two clocks ago.
        pub is_long: Signal<Out, Bit>,
        /// How many words make it a long one.
        pub cfg_ecn_limit: Signal<In, Bits<A>>,
        /// The words.
        words: RamRegSteps<64, A>,
        /// One entry per frame kept.
        entries: AsyncRam<E, 5>,
        /// What is remembered of the oldest frame.
        oldest: DFF<Bits<E>>,
        /// Kinds of the frames kept, that of the oldest one.
        kinds: AsyncRam<2, 5>,
        kind: DFF<Bits<2>>,
        w_kind: Signal<Local, Bits<2>>,
        /// Entry of the oldest frame, of the one behind it, of the next one that is kept.
        #[reset] first: DFF<Bits<5>>,
        second: DFF<Bits<5>>,
        #[reset] next: DFF<Bits<5>>,
        /// There is an entry; there was only one in the clock before; there is room for one.
        #[reset] some: DFF<Bit>,
        only: DFF<Bit>,
        room: DFF<Bit>,
        /// A frame has been kept; the same, 1 to 3 clocks later.
        #[reset] kept: DFF<Bit>,
        #[reset] kept_1: DFF<Bit>,
        #[reset] kept_2: DFF<Bit>,
        #[reset] kept_3: DFF<Bit>,
        /// Address of the first word of the frame that comes in, of the one whose words are stored.
        #[reset] base: DFF<Bits<A>>,
        #[reset] base_late: DFF<Bits<A>>,
        /// Address of the head.
        #[reset] head: DFF<Bits<A>>,
        /// Words of whole frames: from the head on to base.
        #[reset] used: DFF<Bits<A>>,
        /// They are more than the limit.
        long: DFF<Bit>,
        /// Words that can still be stored from base on, less those held back.
        #[reset] space: DFF<Bits<A>>,
        /// A word of this frame did not fit; of the frame whose word comes in the next clock.
        #[reset] over: DFF<Bit>,
        cut: Signal<Local, Bit>,
        /// The word that comes in the next clock fits.
        fit: DFF<Bit>,
        /// A frame has been dropped.
        #[reset] lost: DFF<Bit>,
        /// The word fits.
        fits: DFF<Bit>,
        /// The same, and all before it, and there is room for the entry.
        whole: DFF<Bit>,
        /// A word that fits has come 1 to 4 clocks ago.
        #[reset] came_1: DFF<Bit>,
        #[reset] came_2: DFF<Bit>,
        #[reset] came_3: DFF<Bit>,
        #[reset] came_4: DFF<Bit>,
        /// It is written now; its address.
        #[reset] store: DFF<Bit>,
        place: DFF<Bits<A>>,
        /// The frame is kept.
        keep: Signal<Local, Bit>,
        /// First address behind the frame that comes in, if it is kept now.
        base_next: Signal<Local, Bits<A>>,
        /// Address that is read: two words behind the head, or where the next frame will begin; the one after it.
        #[reset] ahead: DFF<Bits<A>>,
        ahead_1: DFF<Bits<A>>,
        /// No whole frame lies at ahead.
        near: DFF<Bit>,
        /// The next word is read.
        read_on: Signal<Local, Bit>,
        /// rd_data is the word at the head of a whole frame.
        #[reset] loaded: DFF<Bit>,
        /// A frame has come into the empty queue.
        found: Signal<Local, Bit>,
        /// The first word of a frame is before the output register and goes into it.
        #[reset] load: DFF<Bit>,
        /// The head is the last word of the last whole frame.
        #[reset] final_word: DFF<Bit>,
        /// It is moved past that.
        emptied: Signal<Local, Bit>,
        /// It was moved past that when a frame had just been kept, whose second word is to be read now.
        #[reset] catch_up: DFF<Bit>,
        a: Param<A, 5>,
    }
}

impl<const A: usize, const E: usize> Logic for Crosspoint<A, E> {
    #[hdl_gen]
    fn update(&mut self) {
        self.fit.d.next = self.w_beat.val() < self.space.q.val();
        self.fits.d.next = self.fit.q.val();
        self.came_1.d.next = self.w_valid.val() & self.fits.q.val();
        self.came_2.d.next = self.came_1.q.val();
        self.came_3.d.next = self.came_2.q.val();
        self.came_4.d.next = self.came_3.q.val();
        self.store.d.next =
            (self.w_early.val() & self.came_3.q.val()) | (self.w_late.val() & self.came_4.q.val());
        self.place.d.next = self.base_late.q.val() + self.w_offset.val();
        self.words.wr.en.next = self.store.q.val();
        self.words.wr.addr.next = self.place.q.val();
        self.words.wr.data.next = self.w_data.val();
        self.keep.next = self.w_take.val() & self.whole.q.val();
        self.lost.d.next = self.w_take.val() & !self.keep.val();
        self.dropped.next = self.lost.q.val();
        self.cut.next = self.over.q.val();
        if self.w_valid.val() {
            self.cut.next = (self.over.q.val() | !self.fits.q.val()) & !self.w_end.val();
        }
        self.over.d.next = self.cut.val();
        self.whole.d.next = self.fit.q.val() & !self.cut.val() & self.room.q.val();
        self.base_next.next = self.base.q.val() + bit_cast::<A, E>(self.w_entry.val());
        if self.keep.val() {
            self.base.d.next = self.base_next.val();
        }
        // Frames end 8 clocks apart or more, so the base stands when the last word of the frame before has been stored.
        self.kept_1.d.next = self.kept.q.val();
        self.kept_2.d.next = self.kept_1.q.val();
        self.kept_3.d.next = self.kept_2.q.val();
        if self.kept_3.q.val() {
            self.base_late.d.next = self.base.q.val();
        }
        self.used.d.next = self.base.q.val() - self.head.q.val();
        // 2^A words less those used, and 16.
        self.space.d.next = !self.used.q.val() - 15;
        self.long.d.next = self.cfg_ecn_limit.val() < self.used.q.val();
        self.is_long.next = self.long.q.val();

        // Entries come and go 8 clocks apart, so what depends on how many there are may take a clock.
        self.entries.wr.en.next = self.keep.val();
        self.entries.wr.addr.next = self.next.q.val();
        self.entries.wr.data.next = self.w_entry.val();
        self.entries.rd.addr.next = self.first.q.val();
        self.oldest.d.next = self.entries.rd.data.val();
        self.entry.next = self.oldest.q.val();
        // The kind of the oldest one is wanted at once: it says who may take the frame.
        self.w_kind.next = (self.w_entry.val() >> self.a.val()).get_bits::<2>(0);
        self.kinds.wr.en.next = self.keep.val();
        self.kinds.wr.addr.next = self.next.q.val();
        self.kinds.wr.data.next = self.w_kind.val();
        self.kinds.rd.addr.next = self.second.q.val();
        if self.entry_pop.val() {
            self.kind.d.next = self.kinds.rd.data.val();
        }
        if self.keep.val() & (!self.some.q.val() | (self.entry_pop.val() & self.only.q.val())) {
            self.kind.d.next = self.w_kind.val();
        }
        self.entry_kind.next = self.kind.q.val();
        self.entry_valid.next = self.some.q.val();
        self.room.d.next = (self.next.q.val() + 1) != self.first.q.val();
        self.only.d.next = self.second.q.val() == self.next.q.val();
        self.kept.d.next = self.keep.val();
        if self.entry_pop.val() {
            self.first.d.next = self.second.q.val();
            self.second.d.next = self.second.q.val() + 1;
            self.some.d.next = !self.only.q.val() | self.kept.q.val();
        }
        if self.keep.val() {
            self.next.d.next = self.next.q.val() + 1;
            self.some.d.next = true;
        }

        // What is read hears of a frame a clock late.
        self.found.next = !self.loaded.q.val() & !self.load.q.val() & self.kept.q.val();
        self.load.d.next = self.found.val();
        // Found out one clock ahead, whenever head or base moves; a frame that is kept has several words.
        if self.rd_go.val() {
            self.head.d.next = self.head.q.val() + 1;
            self.final_word.d.next = self.near.q.val() & !self.final_word.q.val();
        }
        self.emptied.next = self.rd_go.val() & self.final_word.q.val() & !self.kept.q.val();
        self.catch_up.d.next = self.rd_go.val() & self.final_word.q.val() & self.kept.q.val();
        self.loaded.d.next = (self.loaded.q.val() & !self.emptied.val()) | self.load.q.val();
        self.read_on.next = self.found.val()
            | self.load.q.val()
            | self.catch_up.q.val()
            | (self.final_word.q.val() & self.kept.q.val())
            | (self.rd_go.val()
                & !self.final_word.q.val()
                & (!self.near.q.val() | self.kept.q.val()));
        if self.read_on.val() {
            self.ahead.d.next = self.ahead_1.q.val();
            self.ahead_1.d.next = self.ahead_1.q.val() + 1;
            self.near.d.next = self.ahead_1.q.val() == self.base.q.val();
        }
        if self.kept.q.val() {
            self.final_word.d.next = false;
            self.near.d.next = false;
        }
        self.words.rd_addr.next = self.ahead.q.val();
        self.words.array_en.next = self.rd_go.val()
            | self.load.q.val()
            | !self.loaded.q.val()
            | self.final_word.q.val()
            | self.catch_up.q.val();
        self.words.rd_en.next = self.rd_go.val() | self.load.q.val();
        self.rd_data.next = self.words.rd_data.val();

        if self.rst.val() {
            self.second.d.next = 1.into();
            self.ahead_1.d.next = 1.into();
        }
    }
}
