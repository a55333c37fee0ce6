//! What operations on elements of 32 bits need to know about two of them (CL-7).

use crate::prelude::*;

hdl_module! {
    /// Compares and classifies two elements of 32 bits, one pair a clock.
    /// The order of bits 30:0 serves integers and binary32 alike; signs are left to the reader.
    /// Stages: 1 everything.
    #[module("red_half_compare")]
    pub struct RedHalfCompare {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// First element.
        pub s_a: Signal<In, Bits<32>>,
        /// Second element.
        pub s_b: Signal<In, Bits<32>>,
        /// Bits 30:0 of the first are below those of the second; one clock later, as all that follows.
        pub m_lt: Signal<Out, Bit>,
        /// Bits 21:0 (a NaN's payload) of the first are below those of the second.
        pub m_low_lt: Signal<Out, Bit>,
        /// Bits 30:0 are the same.
        pub m_eq: Signal<Out, Bit>,
        /// Exponent of the first less that of the second.
        pub m_ab: Signal<Out, Bits<8>>,
        /// Exponent of the second less that of the first.
        pub m_ba: Signal<Out, Bits<8>>,
        /// The first has an exponent other than 0.
        pub m_a_normal: Signal<Out, Bit>,
        /// The second has.
        pub m_b_normal: Signal<Out, Bit>,
        /// The first has the exponent of infinities and NaNs.
        pub m_a_top: Signal<Out, Bit>,
        /// The second has.
        pub m_b_top: Signal<Out, Bit>,
        /// The first is a NaN.
        pub m_a_nan: Signal<Out, Bit>,
        /// The second is a NaN.
        pub m_b_nan: Signal<Out, Bit>,
        /// The first is a zero of either sign.
        pub m_a_zero: Signal<Out, Bit>,

        /// Sign of a difference, as in the comparison of words.
        lt: DFF<Bit>,
        low_lt: DFF<Bit>,
        /// Octets 0 to 2, and bits 30:24, are the same.
        eq: DFF<Bits<4>>,
        ab: DFF<Bits<8>>,
        ba: DFF<Bits<8>>,
        a_normal: DFF<Bit>,
        b_normal: DFF<Bit>,
        a_top: DFF<Bit>,
        b_top: DFF<Bit>,
        /// Bits 22:0 are not all 0.
        a_fraction: DFF<Bit>,
        b_fraction: DFF<Bit>,
    }
}

impl Logic for RedHalfCompare {
    #[hdl_gen]
    fn update(&mut self) {
        self.lt.d.next = (bit_cast::<32, 31>(self.s_a.val().get_bits::<31>(0))
            - bit_cast::<32, 31>(self.s_b.val().get_bits::<31>(0)))
        .get_bit(31);
        self.low_lt.d.next = (bit_cast::<23, 22>(self.s_a.val().get_bits::<22>(0))
            - bit_cast::<23, 22>(self.s_b.val().get_bits::<22>(0)))
        .get_bit(22);
        self.eq.d.next = (bit_cast::<4, 1>(
            (self.s_a.val().get_bits::<8>(0) == self.s_b.val().get_bits::<8>(0)).into(),
        ) << 0)
            | (bit_cast::<4, 1>(
                (self.s_a.val().get_bits::<8>(8) == self.s_b.val().get_bits::<8>(8)).into(),
            ) << 1)
            | (bit_cast::<4, 1>(
                (self.s_a.val().get_bits::<8>(16) == self.s_b.val().get_bits::<8>(16)).into(),
            ) << 2)
            | (bit_cast::<4, 1>(
                (self.s_a.val().get_bits::<7>(24) == self.s_b.val().get_bits::<7>(24)).into(),
            ) << 3);
        self.ab.d.next = self.s_a.val().get_bits::<8>(23) - self.s_b.val().get_bits::<8>(23);
        self.ba.d.next = self.s_b.val().get_bits::<8>(23) - self.s_a.val().get_bits::<8>(23);
        self.a_normal.d.next = self.s_a.val().get_bits::<8>(23).any();
        self.b_normal.d.next = self.s_b.val().get_bits::<8>(23).any();
        self.a_top.d.next = self.s_a.val().get_bits::<8>(23).all();
        self.b_top.d.next = self.s_b.val().get_bits::<8>(23).all();
        // What needs exponent and fraction is put together behind the registers: words have many readers in front.
        self.a_fraction.d.next = self.s_a.val().get_bits::<23>(0).any();
        self.b_fraction.d.next = self.s_b.val().get_bits::<23>(0).any();

        self.m_lt.next = self.lt.q.val();
        self.m_low_lt.next = self.low_lt.q.val();
        self.m_eq.next = self.eq.q.val().all();
        self.m_ab.next = self.ab.q.val();
        self.m_ba.next = self.ba.q.val();
        self.m_a_normal.next = self.a_normal.q.val();
        self.m_b_normal.next = self.b_normal.q.val();
        self.m_a_top.next = self.a_top.q.val();
        self.m_b_top.next = self.b_top.q.val();
        self.m_a_nan.next = self.a_top.q.val() & self.a_fraction.q.val();
        self.m_b_nan.next = self.b_top.q.val() & self.b_fraction.q.val();
        self.m_a_zero.next = !self.a_normal.q.val() & !self.a_fraction.q.val();
    }
}
