//! Second part of a binary64 addition: the sum shifted left as far as its exponent allows.

use super::RedFltLead;
use crate::prelude::*;

hdl_module! {
    /// Shifts a sum left until its top bit is set or its exponent is the lowest.
    /// Stages: 1 leading zeros of groups of eight; 2 shift by groups; 3 by 0 to 7.
    #[module("red_flt_normalise")]
    pub struct RedFltNormalise {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Sum; its lowest two bits are never the first that is set.
        pub s_sum: Signal<In, Bits<57>>,
        /// Exponent if its top bit is set.
        pub s_exp: Signal<In, Bits<11>>,
        /// Limit of the shift: a one at the bit that may become the first, in octets.
        pub s_limit: Bank<Signal<In, Bits<8>>, 7>,
        /// The octet with that one.
        pub s_octet: Signal<In, Bits<7>>,
        /// The sum, shifted; the top bit of a subnormal is 0.
        pub m_sum: Signal<Out, Bits<57>>,
        /// Exponent of a sum whose top bit is set; 1 for a subnormal.
        pub m_exp: Signal<Out, Bits<11>>,

        groups: Bank<RedFltLead, 7>,
        any0: Signal<Local, Bit>,
        any1: Signal<Local, Bit>,
        any2: Signal<Local, Bit>,
        any3: Signal<Local, Bit>,
        any4: Signal<Local, Bit>,
        any5: Signal<Local, Bit>,
        s1_sum: DFF<Bits<57>>,
        s1_exp: DFF<Bits<11>>,
        /// The first one is in groups 4 to 6.
        s1_lower: DFF<Bit>,
        /// If not: in groups 2 and 3; in group 1 or 3.
        s1_upper_half: DFF<Bit>,
        s1_upper_odd: DFF<Bit>,
        /// If so: in group 6; in group 5.
        s1_lower_half: DFF<Bit>,
        s1_lower_odd: DFF<Bit>,
        s1_leads: Bank<DFF<Bits<3>>, 7>,
        half: Signal<Local, Bit>,
        odd: Signal<Local, Bit>,
        group: Signal<Local, Bits<3>>,
        lead: Signal<Local, Bits<3>>,
        by32: Signal<Local, Bits<57>>,
        by16: Signal<Local, Bits<57>>,
        s2_sum: DFF<Bits<57>>,
        s2_exp: DFF<Bits<11>>,
        s2_shift: DFF<Bits<6>>,
        s3_sum: DFF<Bits<57>>,
        s3_exp: DFF<Bits<11>>,
    }
}

impl Logic for RedFltNormalise {
    #[hdl_gen]
    fn update(&mut self) {
        // Stage 1.
        self.groups[0].s_bits.next = self.s_sum.val().get_bits::<8>(49);
        self.groups[1].s_bits.next = self.s_sum.val().get_bits::<8>(41);
        self.groups[2].s_bits.next = self.s_sum.val().get_bits::<8>(33);
        self.groups[3].s_bits.next = self.s_sum.val().get_bits::<8>(25);
        self.groups[4].s_bits.next = self.s_sum.val().get_bits::<8>(17);
        self.groups[5].s_bits.next = self.s_sum.val().get_bits::<8>(9);
        self.groups[6].s_bits.next = self.s_sum.val().get_bits::<8>(1);
        for i in 0..7 {
            self.groups[i].s_here.next = self.s_octet.val().get_bit(i);
            self.groups[i].s_limit.next = self.s_limit[i].val();
            self.s1_leads[i].d.next = self.groups[i].m_lead.val();
        }
        self.any0.next = self.groups[0].m_any.val();
        self.any1.next = self.groups[1].m_any.val();
        self.any2.next = self.groups[2].m_any.val();
        self.any3.next = self.groups[3].m_any.val();
        self.any4.next = self.groups[4].m_any.val();
        self.any5.next = self.groups[5].m_any.val();
        self.s1_lower.d.next =
            !(self.any0.val() | self.any1.val() | self.any2.val() | self.any3.val());
        self.s1_upper_half.d.next = !(self.any0.val() | self.any1.val());
        self.s1_upper_odd.d.next =
            !self.any0.val() & (self.any1.val() | (!self.any2.val() & self.any3.val()));
        self.s1_lower_half.d.next = !(self.any4.val() | self.any5.val());
        self.s1_lower_odd.d.next = !self.any4.val() & self.any5.val();
        self.s1_sum.d.next = self.s_sum.val();
        self.s1_exp.d.next = self.s_exp.val();

        // Stage 2. Half and odd are late, so the shift by 32 goes first.
        self.half.next = self.s1_upper_half.q.val();
        self.odd.next = self.s1_upper_odd.q.val();
        self.lead.next = self.s1_leads[0].q.val();
        if self.s1_upper_odd.q.val() {
            self.lead.next = self.s1_leads[1].q.val();
        }
        if self.s1_upper_half.q.val() {
            self.lead.next = self.s1_leads[2].q.val();
            if self.s1_upper_odd.q.val() {
                self.lead.next = self.s1_leads[3].q.val();
            }
        }
        if self.s1_lower.q.val() {
            self.half.next = self.s1_lower_half.q.val();
            self.odd.next = self.s1_lower_odd.q.val();
            self.lead.next = self.s1_leads[4].q.val();
            if self.s1_lower_odd.q.val() {
                self.lead.next = self.s1_leads[5].q.val();
            }
            if self.s1_lower_half.q.val() {
                self.lead.next = self.s1_leads[6].q.val();
            }
        }
        self.group.next = (bit_cast::<3, 1>(self.s1_lower.q.val().into()) << 2)
            | (bit_cast::<3, 1>(self.half.val().into()) << 1)
            | bit_cast::<3, 1>(self.odd.val().into());
        self.by32.next = self.s1_sum.q.val();
        if self.s1_lower.q.val() {
            self.by32.next = self.s1_sum.q.val() << 32;
        }
        self.by16.next = self.by32.val();
        if self.half.val() {
            self.by16.next = self.by32.val() << 16;
        }
        self.s2_sum.d.next = self.by16.val();
        if self.odd.val() {
            self.s2_sum.d.next = self.by16.val() << 8;
        }
        self.s2_shift.d.next =
            (bit_cast::<6, 3>(self.group.val()) << 3) | bit_cast::<6, 3>(self.lead.val());
        self.s2_exp.d.next = self.s1_exp.q.val();

        // Stage 3.
        self.s3_sum.d.next = self.s2_sum.q.val() << self.s2_shift.q.val().get_bits::<3>(0);
        self.s3_exp.d.next = self.s2_exp.q.val() - bit_cast::<11, 6>(self.s2_shift.q.val());

        self.m_sum.next = self.s3_sum.q.val();
        self.m_exp.next = self.s3_exp.q.val();
    }
}
