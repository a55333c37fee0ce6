//! Alignment of two reproducible sums (RED-6, RED-7).

use crate::prelude::*;

hdl_module! {
    /// Says, for each word of a REPSUM frame, which word of the accumulator it is added to and
    /// where the result goes. The operand with the larger M stays where it is.
    /// Two clocks after s_valid the control of slot 0 is out, slots 1 to 3 follow; the next
    /// s_valid comes four clocks after the last or later.
    /// Stages: 1 difference, comparison; 2 distance, start of the indexes.
    pub struct RedRepsum {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset; of the valid flags only.
        pub rst: Signal<In, Bit>,
        /// A frame begins.
        pub s_valid: Signal<In, Bit>,
        /// M of the accumulator, signed; 125 -inf, 126 +inf, 127 NaN.
        pub s_a_m: Signal<In, Bits<8>>,
        /// M of the incoming value.
        pub s_b_m: Signal<In, Bits<8>>,
        /// Words of the accumulator that are not zero.
        pub s_a_some: Signal<In, Bits<4>>,
        /// A word of the accumulator has overflowed.
        pub s_a_over: Signal<In, Bit>,
        /// The most significant such word.
        pub s_a_oflow: Signal<In, Bits<2>>,
        /// A word of the incoming value has overflowed.
        pub s_b_over: Signal<In, Bit>,
        /// The most significant such word.
        pub s_b_oflow: Signal<In, Bits<2>>,
        /// With m_valid: the incoming word of the slot is not zero.
        pub b_some: Signal<In, Bit>,
        /// Control of a slot is out.
        pub m_valid: Signal<Out, Bit>,
        /// The slot has a result.
        pub m_write: Signal<Out, Bit>,
        /// Index of the result.
        pub m_index: Signal<Out, Bits<2>>,
        /// Index of the accumulator's word to add.
        pub m_read: Signal<Out, Bits<2>>,
        /// There is none: add 0.
        pub m_none: Signal<Out, Bit>,
        /// The result is 0: the sum is no number.
        pub m_zero: Signal<Out, Bit>,
        /// M of the result; as all below, from slot 0 to slot 3.
        pub m_m: Signal<Out, Bits<8>>,
        /// 5 if words of the accumulator or an overflow are dropped, else 4 if infinities cancel.
        pub m_code: Signal<Out, Bits<4>>,
        /// What is left of the operands' overflows.
        pub m_over: Signal<Out, Bit>,
        /// The most significant word that has overflowed.
        pub m_oflow: Signal<Out, Bits<2>>,
        /// An incoming word that was not zero has been dropped, one clock after its slot.
        pub m_dropped: Signal<Out, Bit>,

        s1_valid: DFF<Bit>,
        s1_ab: DFF<Bits<9>>,
        s1_ba: DFF<Bits<9>>,
        s1_special: DFF<Bit>,
        s1_cancel: DFF<Bit>,
        s1_a_m: DFF<Bits<8>>,
        s1_b_m: DFF<Bits<8>>,
        s1_a_some: DFF<Bits<4>>,
        s1_a_over: DFF<Bit>,
        s1_a_oflow: DFF<Bits<2>>,
        s1_b_over: DFF<Bit>,
        s1_b_oflow: DFF<Bits<2>>,
        stays: Signal<Local, Bit>,
        far: Signal<Local, Bit>,
        near: Signal<Local, Bits<2>>,
        distance: Signal<Local, Bits<4>>,
        big_over: Signal<Local, Bit>,
        big_oflow: Signal<Local, Bits<2>>,
        small_over: Signal<Local, Bit>,
        small_oflow: Signal<Local, Bits<2>>,
        kept: Signal<Local, Bit>,
        moved: Signal<Local, Bits<2>>,
        cut: Signal<Local, Bit>,
        /// Slots that are left, this one with them.
        left: DFF<Bits<3>>,
        /// Two's complement; below 0: dropped. Above 3: there is none.
        index: DFF<Bits<4>>,
        read: DFF<Bits<4>>,
        zero: DFF<Bit>,
        m: DFF<Bits<8>>,
        code: DFF<Bits<4>>,
        over: DFF<Bit>,
        oflow: DFF<Bits<2>>,
        dropped: DFF<Bit>,
    }
}

impl Logic for RedRepsum {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(
            self, clk, s1_valid, s1_ab, s1_ba, s1_special, s1_cancel, s1_a_m, s1_b_m, s1_a_some,
            s1_a_over, s1_a_oflow, s1_b_over, s1_b_oflow, left, index, read, zero, m, code, over,
            oflow, dropped
        );

        // Stage 1. With the sign inverted, the order is that of unsigned numbers.
        self.s1_valid.d.next = self.s_valid.val();
        self.s1_ab.d.next =
            bit_cast::<9, 8>(self.s_a_m.val() ^ 128) - bit_cast::<9, 8>(self.s_b_m.val() ^ 128);
        self.s1_ba.d.next =
            bit_cast::<9, 8>(self.s_b_m.val() ^ 128) - bit_cast::<9, 8>(self.s_a_m.val() ^ 128);
        self.s1_special.d.next =
            ((self.s_a_m.val() ^ 128) >= 253) | ((self.s_b_m.val() ^ 128) >= 253);
        self.s1_cancel.d.next = ((self.s_a_m.val() == 126) & (self.s_b_m.val() == 125))
            | ((self.s_a_m.val() == 125) & (self.s_b_m.val() == 126));
        self.s1_a_m.d.next = self.s_a_m.val();
        self.s1_b_m.d.next = self.s_b_m.val();
        self.s1_a_some.d.next = self.s_a_some.val();
        self.s1_a_over.d.next = self.s_a_over.val();
        self.s1_a_oflow.d.next = self.s_a_oflow.val();
        self.s1_b_over.d.next = self.s_b_over.val();
        self.s1_b_oflow.d.next = self.s_b_oflow.val();

        // Stage 2. Which operand is the larger, and how far the other is below it: 4 is beyond.
        self.stays.next = !self.s1_ab.q.val().get_bit(8);
        self.far.next = self.s1_ba.q.val().get_bits::<6>(2).any();
        self.near.next = self.s1_ba.q.val().get_bits::<2>(0);
        self.big_over.next = self.s1_b_over.q.val();
        self.big_oflow.next = self.s1_b_oflow.q.val();
        self.small_over.next = self.s1_a_over.q.val();
        self.small_oflow.next = self.s1_a_oflow.q.val();
        if self.stays.val() {
            self.far.next = self.s1_ab.q.val().get_bits::<6>(2).any();
            self.near.next = self.s1_ab.q.val().get_bits::<2>(0);
            self.big_over.next = self.s1_a_over.q.val();
            self.big_oflow.next = self.s1_a_oflow.q.val();
            self.small_over.next = self.s1_b_over.q.val();
            self.small_oflow.next = self.s1_b_oflow.q.val();
        }
        self.distance.next = bit_cast::<4, 2>(self.near.val());
        if self.far.val() {
            self.distance.next = 4.into();
        }
        self.kept.next =
            self.small_over.val() & !self.far.val() & (self.small_oflow.val() >= self.near.val());
        self.moved.next = self.small_oflow.val() - self.near.val();
        self.cut.next = (self.s1_a_some.q.val().get_bit(0) & (self.distance.val() > 0))
            | (self.s1_a_some.q.val().get_bit(1) & (self.distance.val() > 1))
            | (self.s1_a_some.q.val().get_bit(2) & (self.distance.val() > 2))
            | (self.s1_a_some.q.val().get_bit(3) & (self.distance.val() > 3));
        self.index.d.next = self.index.q.val() + 1;
        self.read.d.next = self.read.q.val() + 1;
        if self.left.q.val() != 0 {
            self.left.d.next = self.left.q.val() - 1;
        }
        if self.s1_valid.q.val() {
            self.left.d.next = 4.into();
            self.index.d.next = 0.into();
            self.read.d.next = self.distance.val();
            if self.stays.val() {
                self.index.d.next = 0 - self.distance.val();
                self.read.d.next = 0 - self.distance.val();
            }
            if self.s1_special.q.val() {
                self.index.d.next = 0.into();
                self.read.d.next = 0.into();
            }
            self.zero.d.next = self.s1_special.q.val();
            self.m.d.next = self.s1_b_m.q.val();
            if self.stays.val() {
                self.m.d.next = self.s1_a_m.q.val();
            }
            if self.s1_cancel.q.val() {
                self.m.d.next = 127.into();
            }
            self.over.d.next = self.big_over.val() | self.kept.val();
            self.oflow.d.next = self.big_oflow.val();
            if self.kept.val() & (!self.big_over.val() | (self.moved.val() > self.big_oflow.val()))
            {
                self.oflow.d.next = self.moved.val();
            }
            self.code.d.next = 0.into();
            if self.s1_cancel.q.val() {
                self.code.d.next = 4.into();
            }
            if (self.cut.val() & !self.stays.val() & !self.s1_special.q.val())
                | (self.small_over.val() & !self.kept.val())
            {
                self.code.d.next = 5.into();
            }
        }
        self.dropped.d.next =
            (self.left.q.val() != 0) & self.index.q.val().get_bit(3) & self.b_some.val();

        self.m_valid.next = self.left.q.val() != 0;
        self.m_write.next = !self.index.q.val().get_bit(3);
        self.m_index.next = self.index.q.val().get_bits::<2>(0);
        self.m_read.next = self.read.q.val().get_bits::<2>(0);
        self.m_none.next = self.read.q.val().get_bit(2);
        self.m_zero.next = self.zero.q.val();
        self.m_m.next = self.m.q.val();
        self.m_code.next = self.code.q.val();
        self.m_over.next = self.over.q.val();
        self.m_oflow.next = self.oflow.q.val();
        self.m_dropped.next = self.dropped.q.val();
        if self.rst.val() {
            self.s1_valid.d.next = false;
            self.left.d.next = 0.into();
            self.dropped.d.next = false;
        }
    }

    fn timing(&self) -> Vec<TimingInfo> {
        Self::module_info("red_repsum".to_owned()).into_timing()
    }
}
