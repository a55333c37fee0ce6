//! What integer and floating operations of a lane need to know about two words.

use crate::prelude::*;

hdl_module! {
    /// Compares and classifies two words, one pair a clock.
    /// The order of bits 62:0 serves integers and binary64 alike; signs are left to the reader.
    /// Stages: 1 everything.
    #[module("red_compare")]
    pub struct RedCompare {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// First word.
        pub s_a: Signal<In, Bits<64>>,
        /// Second word.
        pub s_b: Signal<In, Bits<64>>,
        /// First word, one clock later, as all that follows.
        pub m_a: Signal<Out, Bits<64>>,
        /// Second word.
        pub m_b: Signal<Out, Bits<64>>,
        /// Bits 62:0 of the first are below those of the second.
        pub m_lt: Signal<Out, Bit>,
        /// Bits 50:0 (a NaN's payload) of the first are below those of the second.
        pub m_low_lt: Signal<Out, Bit>,
        /// Octets 0 to 5, and bits 50:48 (bit 6 of this), are the same.
        pub m_low_eq: Signal<Out, Bits<7>>,
        /// Bits 62:51 are the same.
        pub m_high_eq: Signal<Out, Bit>,
        /// Exponent of the first less that of the second.
        pub m_ab: Signal<Out, Bits<11>>,
        /// Exponent of the second less that of the first.
        pub m_ba: Signal<Out, Bits<11>>,
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

        a: DFF<Bits<64>>,
        b: DFF<Bits<64>>,
        /// Sign of a difference: of a comparison, the tools would invert the carry.
        lt: DFF<Bit>,
        low_lt: DFF<Bit>,
        low_eq: DFF<Bits<7>>,
        high_eq: DFF<Bit>,
        ab: DFF<Bits<11>>,
        ba: DFF<Bits<11>>,
        a_normal: DFF<Bit>,
        b_normal: DFF<Bit>,
        a_top: DFF<Bit>,
        b_top: DFF<Bit>,
        /// Something of the fraction is not zero, in bits 51:32, in bits 31:0.
        a_high: DFF<Bit>,
        b_high: DFF<Bit>,
        a_low: DFF<Bit>,
        b_low: DFF<Bit>,
    }
}

impl Logic for RedCompare {
    #[hdl_gen]
    fn update(&mut self) {
        self.a.d.next = self.s_a.val();
        self.b.d.next = self.s_b.val();
        self.lt.d.next = (bit_cast::<64, 63>(self.s_a.val().get_bits::<63>(0))
            - bit_cast::<64, 63>(self.s_b.val().get_bits::<63>(0)))
        .get_bit(63);
        self.low_lt.d.next = (bit_cast::<52, 51>(self.s_a.val().get_bits::<51>(0))
            - bit_cast::<52, 51>(self.s_b.val().get_bits::<51>(0)))
        .get_bit(51);
        self.low_eq.d.next = (bit_cast::<7, 1>(
            (self.s_a.val().get_bits::<8>(0) == self.s_b.val().get_bits::<8>(0)).into(),
        ) << 0)
            | (bit_cast::<7, 1>(
                (self.s_a.val().get_bits::<8>(8) == self.s_b.val().get_bits::<8>(8)).into(),
            ) << 1)
            | (bit_cast::<7, 1>(
                (self.s_a.val().get_bits::<8>(16) == self.s_b.val().get_bits::<8>(16)).into(),
            ) << 2)
            | (bit_cast::<7, 1>(
                (self.s_a.val().get_bits::<8>(24) == self.s_b.val().get_bits::<8>(24)).into(),
            ) << 3)
            | (bit_cast::<7, 1>(
                (self.s_a.val().get_bits::<8>(32) == self.s_b.val().get_bits::<8>(32)).into(),
            ) << 4)
            | (bit_cast::<7, 1>(
                (self.s_a.val().get_bits::<8>(40) == self.s_b.val().get_bits::<8>(40)).into(),
            ) << 5)
            | (bit_cast::<7, 1>(
                (self.s_a.val().get_bits::<3>(48) == self.s_b.val().get_bits::<3>(48)).into(),
            ) << 6);
        self.high_eq.d.next =
            self.s_a.val().get_bits::<12>(51) == self.s_b.val().get_bits::<12>(51);
        self.ab.d.next = self.s_a.val().get_bits::<11>(52) - self.s_b.val().get_bits::<11>(52);
        self.ba.d.next = self.s_b.val().get_bits::<11>(52) - self.s_a.val().get_bits::<11>(52);
        self.a_normal.d.next = self.s_a.val().get_bits::<11>(52).any();
        self.b_normal.d.next = self.s_b.val().get_bits::<11>(52).any();
        self.a_top.d.next = self.s_a.val().get_bits::<11>(52).all();
        self.b_top.d.next = self.s_b.val().get_bits::<11>(52).all();
        self.a_high.d.next = self.s_a.val().get_bits::<20>(32).any();
        self.b_high.d.next = self.s_b.val().get_bits::<20>(32).any();
        self.a_low.d.next = self.s_a.val().get_bits::<32>(0).any();
        self.b_low.d.next = self.s_b.val().get_bits::<32>(0).any();

        self.m_a.next = self.a.q.val();
        self.m_b.next = self.b.q.val();
        self.m_lt.next = self.lt.q.val();
        self.m_low_lt.next = self.low_lt.q.val();
        self.m_low_eq.next = self.low_eq.q.val();
        self.m_high_eq.next = self.high_eq.q.val();
        self.m_ab.next = self.ab.q.val();
        self.m_ba.next = self.ba.q.val();
        self.m_a_normal.next = self.a_normal.q.val();
        self.m_b_normal.next = self.b_normal.q.val();
        self.m_a_top.next = self.a_top.q.val();
        self.m_b_top.next = self.b_top.q.val();
        self.m_a_nan.next = self.a_top.q.val() & (self.a_high.q.val() | self.a_low.q.val());
        self.m_b_nan.next = self.b_top.q.val() & (self.b_high.q.val() | self.b_low.q.val());
        self.m_a_zero.next = !self.a_normal.q.val() & !self.a_high.q.val() & !self.a_low.q.val();
    }
}
