//! Contributions that are combined together before the descriptor has them.

use crate::blocks::AsyncRam;
use crate::prelude::*;
use crate::switch::ByteSwap;
use tributary_protocol::red::wire::COUNT_MAX;

hdl_module! {
    /// Combines up to 16 contributions of one word each in the lane of the engine, as a binary tree: value j of a level is that of
    /// 2j and 2j + 1 of the level below, in this order, and a last one without a partner goes up as it is (OR with nothing). Their sum
    /// is one contribution, for which matcher and accumulators make a pass of their own.
    /// Clocks, counted from the first word of the first contribution (0):
    ///   2 its word 8   5 take   7, 8, ... words of the others; the second of a pair is given to the lane in the clock in which it
    ///   comes, a last one without a partner one clock later.
    /// A value comes out of the lane 11 clocks after it was given, and goes back into it at once if it is the second of its pair or has
    /// none. Values of the levels never meet: those given by the others go in odd clocks, what they become comes in even ones, and the
    /// others have all come when values of the second level come.
    /// The last pair of all is not given if the descriptor is empty: the pass does it. The pass begins two clocks before the last value
    /// comes (V, again): V + 2 its word 0, V + 5 result code and count are used.
    /// Nothing stalls here. From the take until V + 7 the engine takes no frame (busy), so the descriptor, the header and the first's
    /// source stand still where they are.
    #[module("red_together")]
    pub struct RedTogether {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset: what is under way is dropped.
        pub rst: Signal<In, Bit>,
        /// First word of a frame.
        pub s_first: Signal<In, Bit>,
        /// Word of the frame.
        pub s_data: Signal<In, Bits<64>>,
        /// From clock 2 on, until V: reduction header, most significant byte first.
        pub m_header: Signal<In, Bits<64>>,
        /// From clock 2 on: the descriptor has no contribution yet.
        pub m_empty: Signal<In, Bit>,
        /// Clock 5: the first and others are combined.
        pub take: Signal<In, Bit>,
        /// The word of one of the others.
        pub o_valid: Signal<In, Bit>,
        /// First byte in bits 7:0.
        pub o_data: Signal<In, Bits<64>>,
        /// Its result code.
        pub o_rc: Signal<In, Bits<3>>,
        /// It is the last one.
        pub o_last: Signal<In, Bit>,
        /// What the lane shows: result, code.
        pub l_data: Signal<In, Bits<64>>,
        /// Code.
        pub l_code: Signal<In, Bits<4>>,
        /// Give the lane a pair of words in the next clock: its first word is g_held or g_slot, or nothing, its second one g_other or
        /// what the lane shows, or nothing.
        pub g_valid: Signal<Out, Bit>,
        /// It is one word and nothing.
        pub g_alone: Signal<Out, Bit>,
        /// The first word is g_held, g_slot; the latter at V + 2 too, if the descriptor is empty.
        pub g_is_held: Signal<Out, Bit>,
        /// It is g_slot.
        pub g_is_slot: Signal<Out, Bit>,
        /// The second one is g_other, what the lane shows; the latter at V + 2 too, word 0 of the pass.
        pub g_is_other: Signal<Out, Bit>,
        /// What the lane shows.
        pub g_is_lane: Signal<Out, Bit>,
        /// A contribution.
        pub g_held: Signal<Out, Bits<64>>,
        /// What came out of the lane.
        pub g_slot: Signal<Out, Bits<64>>,
        /// A contribution.
        pub g_other: Signal<Out, Bits<64>>,
        /// 6 to V: the lane is given nothing else.
        pub combines: Signal<Out, Bit>,
        /// 6 to V + 7: no words of frames.
        pub taken: Signal<Out, Bit>,
        /// V: the pass begins.
        pub again: Signal<Out, Bit>,
        /// V + 1: the header has the count of the pass from the next clock on.
        pub again_1: Signal<Out, Bit>,
        /// V + 1 to V + 8.
        pub in_pass: Signal<Out, Bit>,
        /// V + 5: the largest result code of them.
        pub p_rc: Signal<Out, Bits<4>>,
        /// V + 1: contributions in them.
        pub p_count: Signal<Out, Bits<20>>,
        /// No frame may begin.
        pub busy: Signal<Out, Bit>,
        /// One of the others has been combined. The first and the pass have events of their own, so the last one has none.
        pub counted: Signal<Out, Bit>,

        swap: ByteSwap,
        swap_o: ByteSwap,
        #[reset] t1: DFF<Bit>,
        #[reset] t2: DFF<Bit>,
        #[reset] during: DFF<Bit>,
        #[reset] gives: DFF<Bit>,
        /// The first of the next pair of the contributions themselves; the last one of them has no partner.
        held: DFF<Bits<64>>,
        #[reset] alone: DFF<Bit>,
        alone_final: DFF<Bit>,
        /// First of the next pair, of the levels above.
        slots: AsyncRam<64, 2>,
        /// Values that have come, from level 0 on; beyond 3 they alternate between 4 and 5.
        seen_0: DFF<Bits<3>>,
        seen_1: DFF<Bits<3>>,
        seen_2: DFF<Bits<3>>,
        seen_3: DFF<Bits<3>>,
        /// Bit i of each: a value has been given i + 1 clocks ago; it is the last of its level; it is the last of all, or the second of the
        /// last pair; its level is 1, 2, 3.
        #[reset] valid: DFF<Bits<11>>,
        last: DFF<Bits<11>>,
        is_final: DFF<Bits<11>>,
        level_1: DFF<Bits<11>>,
        level_2: DFF<Bits<11>>,
        level_3: DFF<Bits<11>>,
        /// What comes out of the lane in the next clock: its number in its level, where the first of its pair is kept.
        number: Signal<Local, Bits<3>>,
        place: Signal<Local, Bits<2>>,
        soon: Signal<Local, Bit>,
        soon_back: Signal<Local, Bit>,
        /// What comes out of the lane now: it is the second of its pair; it goes back; nothing goes with it; it goes anywhere; it
        /// would be the last of all with that; it is kept, and where.
        #[reset] comes_second: DFF<Bit>,
        #[reset] back: DFF<Bit>,
        #[reset] back_alone: DFF<Bit>,
        #[reset] goes: DFF<Bit>,
        back_final: DFF<Bit>,
        #[reset] keeps: DFF<Bit>,
        slot: DFF<Bits<2>>,
        comes: Signal<Local, Bit>,
        /// One of the others is the second of a pair, the first of one.
        second: Signal<Local, Bit>,
        first: Signal<Local, Bit>,
        given: Signal<Local, Bit>,
        given_last: Signal<Local, Bit>,
        given_final: Signal<Local, Bit>,
        /// Result codes: of the frames, of the lane.
        rc_frames: DFF<Bits<4>>,
        rc_lane: DFF<Bits<4>>,
        rc: DFF<Bits<4>>,
        count: DFF<Bits<20>>,
        sum: Signal<Local, Bits<21>>,
        /// Bit i: V + 1 + i.
        #[reset] pass: DFF<Bits<8>>,
        /// One of them.
        #[reset] passes: DFF<Bit>,
        count_max: Param<{ COUNT_MAX as usize }, 20>,
    }
}

impl Logic for RedTogether {
    #[hdl_gen]
    fn update(&mut self) {
        self.t1.d.next = self.s_first.val();
        self.t2.d.next = self.t1.q.val();
        self.swap.s.next = self.s_data.val();
        self.swap_o.s.next = self.o_data.val();

        // Level 0: the contributions themselves.
        self.second.next = self.o_valid.val() & self.seen_0.q.val().get_bit(0);
        self.first.next = self.o_valid.val() & !self.seen_0.q.val().get_bit(0);
        if self.t2.q.val() {
            self.held.d.next = self.swap.m.val();
        }
        if self.first.val() {
            self.held.d.next = self.swap_o.m.val();
        }
        self.alone.d.next = self.first.val() & self.o_last.val();
        self.alone_final.d.next = (self.seen_0.q.val() == 2) & self.m_empty.val();
        if self.o_valid.val() {
            self.seen_0.d.next = self.seen_0.q.val() + 1;
            if self.seen_0.q.val() == 5 {
                self.seen_0.d.next = 4.into();
            }
        }

        // Levels above: what comes out of the lane is known before. Two of one level never come in clocks that follow each other.
        self.number.next = self.seen_1.q.val();
        self.place.next = 0.into();
        if self.level_2.q.val().get_bit(9) {
            self.number.next = self.seen_2.q.val();
            self.place.next = 1.into();
        }
        if self.level_3.q.val().get_bit(9) {
            self.number.next = self.seen_3.q.val();
            self.place.next = 2.into();
        }
        self.soon.next = self.valid.q.val().get_bit(9);
        self.soon_back.next = self.soon.val()
            & !self.is_final.q.val().get_bit(9)
            & (self.number.val().get_bit(0) | self.last.q.val().get_bit(9));
        // The last value of all has a partner only if that is not the descriptor's; its number is not counted beyond level 3.
        self.comes_second.d.next = self.soon.val()
            & self.number.val().get_bit(0)
            & (self.m_empty.val() | !self.is_final.q.val().get_bit(9));
        self.keeps.d.next = self.soon.val() & !self.number.val().get_bit(0);
        self.back.d.next = self.soon_back.val();
        self.back_alone.d.next = self.soon_back.val() & !self.number.val().get_bit(0);
        self.goes.d.next =
            self.soon_back.val() | (self.soon.val() & self.is_final.q.val().get_bit(9));
        self.back_final.d.next = self.number.val() == 1;
        if self.m_empty.val() {
            self.back_final.d.next = self.number.val().get_bits::<2>(1) == 1;
        }
        self.slot.d.next = self.place.val();
        self.comes.next = self.valid.q.val().get_bit(10);
        if self.comes.val() & self.level_1.q.val().get_bit(10) {
            self.seen_1.d.next = self.seen_1.q.val() + 1;
            if self.seen_1.q.val() == 5 {
                self.seen_1.d.next = 4.into();
            }
        }
        if self.comes.val() & self.level_2.q.val().get_bit(10) {
            self.seen_2.d.next = self.seen_2.q.val() + 1;
        }
        if self.comes.val() & self.level_3.q.val().get_bit(10) {
            self.seen_3.d.next = self.seen_3.q.val() + 1;
        }
        self.slots.wr.en.next = self.keeps.q.val();
        self.slots.wr.addr.next = self.slot.q.val();
        self.slots.wr.data.next = self.l_data.val();
        self.slots.rd.addr.next = self.slot.q.val();

        // What the lane is given.
        self.given.next = self.second.val() | self.alone.q.val() | self.back.q.val();
        self.given_last.next = (self.second.val() & self.o_last.val())
            | self.alone.q.val()
            | (self.back.q.val() & self.last.q.val().get_bit(10));
        self.given_final.next = (self.second.val()
            & self.o_last.val()
            & self.m_empty.val()
            & (self.seen_0.q.val() == 3))
            | (self.alone.q.val() & self.alone_final.q.val())
            | (self.back.q.val() & self.last.q.val().get_bit(10) & self.back_final.q.val());
        self.valid.d.next = (self.valid.q.val() << 1) | bit_cast::<11, 1>(self.given.val().into());
        self.last.d.next =
            (self.last.q.val() << 1) | bit_cast::<11, 1>(self.given_last.val().into());
        self.is_final.d.next =
            (self.is_final.q.val() << 1) | bit_cast::<11, 1>(self.given_final.val().into());
        self.level_1.d.next =
            (self.level_1.q.val() << 1) | bit_cast::<11, 1>((!self.back.q.val()).into());
        self.level_2.d.next = (self.level_2.q.val() << 1)
            | bit_cast::<11, 1>((self.back.q.val() & self.level_1.q.val().get_bit(10)).into());
        self.level_3.d.next = (self.level_3.q.val() << 1)
            | bit_cast::<11, 1>((self.back.q.val() & self.level_2.q.val().get_bit(10)).into());
        self.g_valid.next = self.given.val();
        self.g_alone.next = self.alone.q.val() | self.back_alone.q.val();
        self.g_is_held.next = self.second.val() | self.alone.q.val();
        self.g_is_slot.next = self.comes_second.q.val();
        self.g_is_other.next = self.second.val();
        self.g_is_lane.next = self.goes.q.val();
        self.g_held.next = self.held.q.val();
        self.g_slot.next = self.slots.rd.data.val();
        self.g_other.next = self.swap_o.m.val();

        // The pass.
        self.again.next = self.valid.q.val().get_bit(8) & self.is_final.q.val().get_bit(8);
        self.pass.d.next = (self.pass.q.val() << 1) | bit_cast::<8, 1>(self.again.val().into());
        self.again_1.next = self.pass.q.val().get_bit(0);
        self.passes.d.next = self.again.val() | self.pass.q.val().get_bits::<7>(0).any();
        self.in_pass.next = self.passes.q.val();
        if self.again.val() {
            self.gives.d.next = false;
        }
        if self.pass.q.val().get_bit(6) {
            self.during.d.next = false;
        }
        self.combines.next = self.gives.q.val();
        self.taken.next = self.during.q.val();
        self.busy.next = self.during.q.val() | self.take.val();

        // Codes and counts.
        self.sum.next = bit_cast::<21, 20>(self.count.q.val())
            + bit_cast::<21, 20>(self.m_header.val().get_bits::<20>(17));
        if self.o_valid.val() {
            self.count.d.next = self.sum.val().get_bits::<20>(0);
            if self.sum.val().get_bit(20) {
                self.count.d.next = self.count_max.val();
            }
            if bit_cast::<4, 3>(self.o_rc.val()) > self.rc_frames.q.val() {
                self.rc_frames.d.next = bit_cast::<4, 3>(self.o_rc.val());
            }
        }
        if self.comes.val() & (self.l_code.val() > self.rc_lane.q.val()) {
            self.rc_lane.d.next = self.l_code.val();
        }
        self.rc.d.next = self.rc_frames.q.val();
        if self.rc_lane.q.val() > self.rc_frames.q.val() {
            self.rc.d.next = self.rc_lane.q.val();
        }
        if self.take.val() {
            self.during.d.next = true;
            self.gives.d.next = true;
            self.seen_0.d.next = 1.into();
            self.seen_1.d.next = 0.into();
            self.seen_2.d.next = 0.into();
            self.seen_3.d.next = 0.into();
            self.count.d.next = self.m_header.val().get_bits::<20>(17);
            self.rc_frames.d.next = self.m_header.val().get_bits::<4>(47);
            self.rc_lane.d.next = 0.into();
        }
        self.p_rc.next = self.rc.q.val();
        self.p_count.next = self.count.q.val();
        self.counted.next = self.o_valid.val() & !self.o_last.val();
    }
}
