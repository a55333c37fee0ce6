//! The events of an engine as its port counts them.

use crate::prelude::*;

hdl_module! {
    /// Decodes the events of red_engine, one bit for each counter. Combinational.
    #[module("red_events")]
    pub struct RedEvents {
        /// An event.
        pub valid: Signal<In, Bit>,
        /// Which, as red_engine says it.
        pub code: Signal<In, Bits<4>>,
        /// 0 arm frame upwards, 1 passed, 2 foreign VNI, 3 old sequence number, 4 no free descriptor, 5 armed,
        /// 6 released, 7 combined, 8 result, 9 partial result, 10 expired empty.
        pub m: Signal<Out, Bits<11>>,
        /// The event, one-hot.
        place: Signal<Local, Bits<16>>,
    }
}

impl Logic for RedEvents {
    #[hdl_gen]
    fn update(&mut self) {
        self.place.next = 0.into();
        if self.valid.val() {
            self.place.next = bits::<16>(1) << self.code.val();
        }
        self.m.next = bit_cast::<11, 1>(self.place.val().get_bits::<1>(6))
            | (bit_cast::<11, 1>(self.place.val().get_bits::<1>(7)) << 1)
            | (bit_cast::<11, 2>(self.place.val().get_bits::<2>(4)) << 2)
            | (bit_cast::<11, 1>(self.place.val().get_bits::<1>(3)) << 4)
            | (bit_cast::<11, 1>(self.place.val().get_bits::<2>(0).any().into()) << 5)
            | (bit_cast::<11, 1>(self.place.val().get_bits::<1>(2)) << 6)
            | (bit_cast::<11, 4>(self.place.val().get_bits::<4>(8)) << 7);
    }
}
