//! Frames that pass a reduction engine.

use crate::blocks::AsyncRam;
use crate::prelude::*;

hdl_module! {
    /// Keeps frames until they are sent on: four places of 11 words each. Every frame is written into a place, word by word as it
    /// comes: 6, 7, 8 to 11, 1 to 5. It keeps the place if it passes, which is said while it comes, before its last word.
    /// A word may be taken from the clock after that on in which it is written: a frame whose push comes with its sixth word is sent
    /// from two clocks later on, word 1, the seventh that comes, one clock after that.
    /// Stages: 1 a word is written; of those that are read, 1 the memory, 2 b_taken. What comes in is never
    /// stalled; places are freed one by one, in their order, and room falls when they run short. While b_take is low b_taken holds the
    /// word.
    #[module("red_buffer")]
    pub struct RedBuffer {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset: all places are free.
        pub rst: Signal<In, Bit>,
        /// A word of a frame; the words of a frame come in clocks that follow each other.
        pub s_valid: Signal<In, Bit>,
        /// The word.
        pub s_data: Signal<In, Bits<64>>,
        /// It is the frame's first.
        pub s_first: Signal<In, Bit>,
        /// The frame that comes passes: its place is held from now on.
        pub push: Signal<In, Bit>,
        /// Its place.
        pub slot: Signal<Out, Bits<2>>,
        /// Besides the frame that comes one more may pass.
        pub room: Signal<Out, Bit>,
        /// Place of the frame that is sent.
        pub b_slot: Signal<In, Bits<2>>,
        /// Number of its word.
        pub b_word: Signal<In, Bits<4>>,
        /// The same, for the second half of the word.
        pub h_slot: Signal<In, Bits<2>>,
        /// The same.
        pub h_word: Signal<In, Bits<4>>,
        /// The word is taken.
        pub b_take: Signal<In, Bit>,
        /// The word taken last.
        pub b_taken: Signal<Out, Bits<64>>,
        /// Key of the frame: tree 15:3, reduction id 2:0.
        pub b_key: Signal<Out, Bits<16>>,
        /// The frame has been sent: its place is free.
        pub freed: Signal<In, Bit>,
        /// Halves of the words: each has its own address, which has many readers.
        low: AsyncRam<32, 6>,
        high: AsyncRam<32, 6>,
        at: Signal<Local, Bits<6>>,
        keys: AsyncRam<16, 2>,
        /// The word taken last.
        taken: DFF<Bits<64>>,
        /// The word's number in the frame, the next word's: 6 to 11, then 1 to 5.
        number: Signal<Local, Bits<4>>,
        number_next: DFF<Bits<4>>,
        /// Place that is filled, places that wait to be sent.
        #[reset] place: DFF<Bits<2>>,
        #[reset] held: DFF<Bits<3>>,
        /// The frame under way passes.
        #[reset] passes: DFF<Bit>,
    }
}

impl Logic for RedBuffer {
    #[hdl_gen]
    fn update(&mut self) {
        self.number.next = self.number_next.q.val();
        if self.s_first.val() {
            self.number.next = 6.into();
        }
        if self.s_valid.val() {
            self.number_next.d.next = self.number.val() + 1;
            if self.number.val() == 11 {
                self.number_next.d.next = 1.into();
            }
        }
        self.at.next =
            (bit_cast::<6, 2>(self.place.q.val()) << 4) | bit_cast::<6, 4>(self.number.val());
        self.low.wr.en.next = self.s_valid.val();
        self.low.wr.addr.next = self.at.val();
        self.low.wr.data.next = self.s_data.val().get_bits::<32>(0);
        self.high.wr.en.next = self.s_valid.val();
        self.high.wr.addr.next = self.at.val();
        self.high.wr.data.next = self.s_data.val().get_bits::<32>(32);
        self.keys.wr.en.next = self.s_valid.val() & self.s_first.val();
        self.keys.wr.addr.next = self.place.q.val();
        self.keys.wr.data.next = self.s_data.val().get_bits::<16>(0);
        self.low.rd.addr.next =
            (bit_cast::<6, 2>(self.b_slot.val()) << 4) | bit_cast::<6, 4>(self.b_word.val());
        self.high.rd.addr.next =
            (bit_cast::<6, 2>(self.h_slot.val()) << 4) | bit_cast::<6, 4>(self.h_word.val());
        self.keys.rd.addr.next = self.b_slot.val();
        self.b_taken.next = self.taken.q.val();
        if self.b_take.val() {
            self.taken.d.next = bit_cast::<64, 32>(self.low.rd.data.val())
                | (bit_cast::<64, 32>(self.high.rd.data.val()) << 32);
        }
        self.b_key.next = self.keys.rd.data.val();
        if self.s_valid.val() & self.s_first.val() {
            self.passes.d.next = false;
        }
        if self.push.val() {
            self.passes.d.next = true;
        }
        if self.s_valid.val() & (self.number.val() == 5) & self.passes.q.val() {
            self.place.d.next = self.place.q.val() + 1;
        }
        if self.push.val() & !self.freed.val() {
            self.held.d.next = self.held.q.val() + 1;
        }
        if self.freed.val() & !self.push.val() {
            self.held.d.next = self.held.q.val() - 1;
        }
        self.slot.next = self.place.q.val();
        self.room.next = self.held.q.val() < 3;
        if self.rst.val() {
            self.number_next.d.next = 6.into();
        }
    }
}
