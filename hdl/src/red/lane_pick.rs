//! Which of two elements a minimum or maximum is (RED-1 to RED-4).

use crate::prelude::*;

hdl_module! {
    /// The choice between two compared elements, of 64 bits or of 32.
    /// Integers and numbers are ordered by sign, then magnitude: -0 is below +0. Indexes have no
    /// sign.
    /// Stages: 1 order of numbers and of NaNs; then m_take_b says which of the two counts.
    #[module("red_lane_pick")]
    pub struct RedLanePick {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// The elements are floating numbers.
        pub s_floating: Signal<In, Bit>,
        /// The larger is wanted.
        pub s_maximum: Signal<In, Bit>,
        /// Numbers win against NaNs.
        pub s_number: Signal<In, Bit>,
        /// But for signalling NaNs.
        pub s_ieee_nan: Signal<In, Bit>,
        /// They are indexes: unsigned.
        pub s_index: Signal<In, Bit>,
        /// Sign of the first.
        pub s_a_sign: Signal<In, Bit>,
        /// Sign of the second.
        pub s_b_sign: Signal<In, Bit>,
        /// The magnitude of the first is below that of the second.
        pub s_lt: Signal<In, Bit>,
        /// The payload of the first is, if both are NaNs.
        pub s_low_lt: Signal<In, Bit>,
        /// The first is a NaN, if it is a number.
        pub s_a_nan: Signal<In, Bit>,
        /// The second is.
        pub s_b_nan: Signal<In, Bit>,
        /// The first is quiet, if it is a NaN.
        pub s_a_quiet: Signal<In, Bit>,
        /// The second is.
        pub s_b_quiet: Signal<In, Bit>,
        /// The first is below the second, if neither is a NaN; at once, as are m_quiet and m_invalid.
        pub m_below: Signal<Out, Bit>,
        /// A NaN is the result.
        pub m_quiet: Signal<Out, Bit>,
        /// One of them is a signalling NaN.
        pub m_invalid: Signal<Out, Bit>,
        /// The second is the result; one clock later.
        pub m_take_b: Signal<Out, Bit>,

        a_signalling: Signal<Local, Bit>,
        b_signalling: Signal<Local, Bit>,
        below: Signal<Local, Bit>,
        nan_wins: Signal<Local, Bit>,
        by_nan: Signal<Local, Bit>,
        /// The second is what a comparison of numbers would take.
        s1_by_number: DFF<Bit>,
        /// One is a NaN; then the second is what NaNs would have taken.
        s1_any_nan: DFF<Bit>,
        s1_by_nan: DFF<Bit>,
    }
}

impl Logic for RedLanePick {
    #[hdl_gen]
    fn update(&mut self) {
        self.below.next = self.s_lt.val() ^ (self.s_floating.val() & self.s_a_sign.val());
        if self.s_a_sign.val() ^ self.s_b_sign.val() {
            self.below.next = self.s_a_sign.val() ^ self.s_index.val();
        }
        self.m_below.next = self.below.val();

        // One NaN wins or loses as such; of two, a signalling one, then the larger payload.
        self.a_signalling.next = self.s_a_nan.val() & !self.s_a_quiet.val();
        self.b_signalling.next = self.s_b_nan.val() & !self.s_b_quiet.val();
        self.nan_wins.next = !self.s_number.val()
            | (self.s_ieee_nan.val() & (self.a_signalling.val() | self.b_signalling.val()));
        self.by_nan.next = self.s_a_nan.val() ^ self.nan_wins.val();
        if self.s_a_nan.val() & self.s_b_nan.val() {
            self.by_nan.next = self.s_low_lt.val();
            if (!self.s_number.val() | self.s_ieee_nan.val())
                & (self.a_signalling.val() ^ self.b_signalling.val())
            {
                self.by_nan.next = self.b_signalling.val();
            }
        }
        self.m_quiet.next = self.s_floating.val()
            & ((self.s_a_nan.val() & self.s_b_nan.val())
                | ((self.s_a_nan.val() | self.s_b_nan.val()) & self.nan_wins.val()));
        self.m_invalid.next =
            self.s_floating.val() & (self.a_signalling.val() | self.b_signalling.val());

        self.s1_by_number.d.next = self.below.val() ^ !self.s_maximum.val();
        self.s1_any_nan.d.next = self.s_floating.val() & (self.s_a_nan.val() | self.s_b_nan.val());
        self.s1_by_nan.d.next = self.by_nan.val();
        self.m_take_b.next = self.s1_by_number.q.val();
        if self.s1_any_nan.q.val() {
            self.m_take_b.next = self.s1_by_nan.q.val();
        }
    }
}
