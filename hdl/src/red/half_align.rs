//! First part of a binary32 addition: the exact sum of aligned significands, with a sticky bit (CL-7).

use crate::prelude::*;

hdl_module! {
    /// Adds the magnitudes of two finite binary32 numbers, one pair a clock.
    /// Stages: 1 swap, distance; 2 shift by multiples of 8; 3 by 0 to 7, complement; 4 add.
    #[module("red_half_align")]
    pub struct RedHalfAlign {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// First number without its sign.
        pub s_a: Signal<In, Bits<31>>,
        /// Second number without its sign.
        pub s_b: Signal<In, Bits<31>>,
        /// The signs differ.
        pub s_opposite: Signal<In, Bit>,
        /// The first is the smaller.
        pub s_lt: Signal<In, Bit>,
        /// Exponent of the first less that of the second.
        pub s_ab: Signal<In, Bits<8>>,
        /// Exponent of the second less that of the first.
        pub s_ba: Signal<In, Bits<8>>,
        /// The first has an exponent other than 0.
        pub s_a_normal: Signal<In, Bit>,
        /// The second has.
        pub s_b_normal: Signal<In, Bit>,
        /// Sum: carry, 24 bits of the larger number, 3 bits below; the last is sticky.
        pub m_sum: Signal<Out, Bits<28>>,
        /// Exponent of a sum whose carry is set.
        pub m_exp: Signal<Out, Bits<8>>,
        /// That exponent is beyond the largest.
        pub m_top: Signal<Out, Bit>,
        /// How far the sum may be shifted left before it becomes subnormal: a one at the bit
        /// that would be the first, in octets from the top; none from the 32nd place on.
        pub m_limit: Bank<Signal<Out, Bits<8>>, 4>,
        /// The octet with that one.
        pub m_octet: Signal<Out, Bits<4>>,

        distance: Signal<Local, Bits<8>>,
        s1_big: DFF<Bits<24>>,
        s1_small: DFF<Bits<24>>,
        s1_exp: DFF<Bits<8>>,
        s1_opposite: DFF<Bit>,
        s1_distance: DFF<Bits<5>>,
        /// The smaller number is wholly below the larger.
        s1_far: DFF<Bit>,
        coarse: Signal<Local, Bits<26>>,
        by8: Signal<Local, Bits<2>>,
        /// Octets of the smaller number with a one, and those that are shifted out.
        lost: Signal<Local, Bits<4>>,
        beyond: Signal<Local, Bits<4>>,
        s2_big: DFF<Bits<24>>,
        s2_small: DFF<Bits<26>>,
        s2_lost: DFF<Bits<4>>,
        s2_exp: DFF<Bits<8>>,
        s2_opposite: DFF<Bit>,
        s2_distance: DFF<Bits<3>>,
        sticky: Signal<Local, Bit>,
        addend: Signal<Local, Bits<28>>,
        s3_big: DFF<Bits<24>>,
        s3_addend: DFF<Bits<28>>,
        s3_opposite: DFF<Bit>,
        s3_exp: DFF<Bits<8>>,
        /// The limit, one-hot: the octet, and the place in it with bit 7 for the first.
        s3_octet: DFF<Bits<4>>,
        s3_place: DFF<Bits<8>>,
        s4_sum: DFF<Bits<28>>,
        s4_exp: DFF<Bits<8>>,
        s4_top: DFF<Bit>,
        s4_limit: Bank<DFF<Bits<8>>, 4>,
        s4_octet: DFF<Bits<4>>,
    }
}

impl Logic for RedHalfAlign {
    #[hdl_gen]
    fn update(&mut self) {
        // Stage 1. A subnormal is one place lower than its exponent says.
        self.s1_big.d.next = (bit_cast::<24, 1>(self.s_a_normal.val().into()) << 23)
            | bit_cast::<24, 23>(self.s_a.val().get_bits::<23>(0));
        self.s1_small.d.next = (bit_cast::<24, 1>(self.s_b_normal.val().into()) << 23)
            | bit_cast::<24, 23>(self.s_b.val().get_bits::<23>(0));
        self.s1_exp.d.next =
            self.s_a.val().get_bits::<8>(23) | bit_cast::<8, 1>((!self.s_a_normal.val()).into());
        self.distance.next = self.s_ab.val();
        if self.s_lt.val() {
            self.s1_big.d.next = (bit_cast::<24, 1>(self.s_b_normal.val().into()) << 23)
                | bit_cast::<24, 23>(self.s_b.val().get_bits::<23>(0));
            self.s1_small.d.next = (bit_cast::<24, 1>(self.s_a_normal.val().into()) << 23)
                | bit_cast::<24, 23>(self.s_a.val().get_bits::<23>(0));
            self.s1_exp.d.next = self.s_b.val().get_bits::<8>(23)
                | bit_cast::<8, 1>((!self.s_b_normal.val()).into());
            self.distance.next = self.s_ba.val();
        }
        self.s1_opposite.d.next = self.s_opposite.val();
        self.s1_distance.d.next = self.distance.val().get_bits::<5>(0)
            - bit_cast::<5, 1>((self.s_a_normal.val() ^ self.s_b_normal.val()).into());
        self.s1_far.d.next = self.distance.val().get_bits::<3>(5).any();

        // Stage 2. Two more places below the smaller number, the rest becomes sticky.
        self.by8.next = self.s1_distance.q.val().get_bits::<2>(3);
        self.coarse.next = (bit_cast::<26, 24>(self.s1_small.q.val()) << 2)
            >> (bit_cast::<5, 2>(self.by8.val()) << 3);
        self.s2_small.d.next = self.coarse.val();
        if self.s1_far.q.val() {
            self.s2_small.d.next = 0.into();
        }
        self.lost.next = (bit_cast::<4, 1>(self.s1_small.q.val().get_bits::<6>(0).any().into()))
            | (bit_cast::<4, 1>(self.s1_small.q.val().get_bits::<8>(6).any().into()) << 1)
            | (bit_cast::<4, 1>(self.s1_small.q.val().get_bits::<8>(14).any().into()) << 2)
            | (bit_cast::<4, 1>(self.s1_small.q.val().get_bits::<2>(22).any().into()) << 3);
        self.beyond.next = (bit_cast::<4, 1>((self.s1_far.q.val() | (self.by8.val() > 0)).into())
            << 0)
            | (bit_cast::<4, 1>((self.s1_far.q.val() | (self.by8.val() > 1)).into()) << 1)
            | (bit_cast::<4, 1>((self.s1_far.q.val() | (self.by8.val() > 2)).into()) << 2)
            | (bit_cast::<4, 1>(self.s1_far.q.val().into()) << 3);
        self.s2_lost.d.next = self.lost.val() & self.beyond.val();
        self.s2_big.d.next = self.s1_big.q.val();
        self.s2_exp.d.next = self.s1_exp.q.val();
        self.s2_opposite.d.next = self.s1_opposite.q.val();
        self.s2_distance.d.next = self.s1_distance.q.val().get_bits::<3>(0);

        // Stage 3.
        self.sticky.next = self.s2_lost.q.val().any()
            | (self.s2_small.q.val().get_bit(0) & (self.s2_distance.q.val() > 0))
            | (self.s2_small.q.val().get_bit(1) & (self.s2_distance.q.val() > 1))
            | (self.s2_small.q.val().get_bit(2) & (self.s2_distance.q.val() > 2))
            | (self.s2_small.q.val().get_bit(3) & (self.s2_distance.q.val() > 3))
            | (self.s2_small.q.val().get_bit(4) & (self.s2_distance.q.val() > 4))
            | (self.s2_small.q.val().get_bit(5) & (self.s2_distance.q.val() > 5))
            | (self.s2_small.q.val().get_bit(6) & (self.s2_distance.q.val() > 6));
        self.addend.next = (bit_cast::<28, 26>(self.s2_small.q.val() >> self.s2_distance.q.val())
            << 1)
            | bit_cast::<28, 1>(self.sticky.val().into());
        self.s3_addend.d.next = self.addend.val();
        if self.s2_opposite.q.val() {
            self.s3_addend.d.next = !self.addend.val();
        }
        self.s3_opposite.d.next = self.s2_opposite.q.val();
        self.s3_big.d.next = self.s2_big.q.val();
        self.s3_exp.d.next = self.s2_exp.q.val();
        self.s3_octet.d.next = 0.into();
        if !self.s2_exp.q.val().get_bits::<3>(5).any() {
            self.s3_octet.d.next = bits::<4>(1) << self.s2_exp.q.val().get_bits::<2>(3);
        }
        self.s3_place.d.next = bits::<8>(128) >> self.s2_exp.q.val().get_bits::<3>(0);

        // Stage 4. The lowest place carries the one that completes the complement.
        self.s4_sum.d.next = (((bit_cast::<29, 24>(self.s3_big.q.val()) << 4) | 1)
            + ((bit_cast::<29, 28>(self.s3_addend.q.val()) << 1)
                | bit_cast::<29, 1>(self.s3_opposite.q.val().into())))
        .get_bits::<28>(1);
        self.s4_exp.d.next = self.s3_exp.q.val() + 1;
        self.s4_top.d.next = self.s3_exp.q.val() == 254;
        self.s4_octet.d.next = self.s3_octet.q.val();
        for i in 0..4 {
            self.s4_limit[i].d.next = 0.into();
            if self.s3_octet.q.val().get_bit(i) {
                self.s4_limit[i].d.next = self.s3_place.q.val();
            }
            self.m_limit[i].next = self.s4_limit[i].q.val();
        }

        self.m_sum.next = self.s4_sum.q.val();
        self.m_exp.next = self.s4_exp.q.val();
        self.m_top.next = self.s4_top.q.val();
        self.m_octet.next = self.s4_octet.q.val();
    }
}
