//! Leading zeros of eight bits, with a limit.

use crate::prelude::*;

hdl_module! {
    /// Combinational: leading zeros of eight bits of a sum, no more than a limit.
    /// The limit is a one placed among the bits, which spares a comparison behind the count.
    #[module("red_flt_lead")]
    pub struct RedFltLead {
        /// The bits.
        pub s_bits: Signal<In, Bits<8>>,
        /// The limit falls among these bits.
        pub s_here: Signal<In, Bit>,
        /// A one at the limit, bit 7 for 0, if it is here.
        pub s_limit: Signal<In, Bits<8>>,
        /// There is a one, or the limit.
        pub m_any: Signal<Out, Bit>,
        /// Zeros above it; 7 if there is none.
        pub m_lead: Signal<Out, Bits<3>>,

        ones: Signal<Local, Bits<8>>,
        upper: Signal<Local, Bit>,
        lead1: Signal<Local, Bit>,
        lead0: Signal<Local, Bit>,
    }
}

impl Logic for RedFltLead {
    #[hdl_gen]
    fn update(&mut self) {
        self.ones.next = self.s_bits.val() | self.s_limit.val();
        self.upper.next = self.ones.val().get_bits::<4>(4).any();
        self.lead1.next = !self.ones.val().get_bits::<2>(2).any();
        if self.upper.val() {
            self.lead1.next = !self.ones.val().get_bits::<2>(6).any();
        }
        self.lead0.next = !self.ones.val().get_bit(7)
            & (self.ones.val().get_bit(6)
                | (!self.ones.val().get_bit(5)
                    & (self.ones.val().get_bit(4)
                        | (!self.ones.val().get_bit(3)
                            & (self.ones.val().get_bit(2) | !self.ones.val().get_bit(1))))));
        self.m_any.next = self.s_bits.val().any() | self.s_here.val();
        self.m_lead.next = (bit_cast::<3, 1>((!self.upper.val()).into()) << 2)
            | (bit_cast::<3, 1>(self.lead1.val().into()) << 1)
            | bit_cast::<3, 1>(self.lead0.val().into());
    }
}
