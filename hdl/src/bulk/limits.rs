//! Limits of a transfer.

use crate::prelude::*;

hdl_module! {
    /// Whether a transfer can be: 2^21 packets at most, and all its bytes have addresses at its receiver. With packets of 2^11 bytes
    /// and more every length fits.
    /// Latency: 3 clocks from length; mtu and there are those of a clock later.
    /// Stages: 1 distance of the last byte; 2 its address, packets; 3 verdict. Nothing stalls it.
    #[module("bulk_limits")]
    pub struct BulkLimits {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// log2 of the packet size, 8 to 12.
        pub mtu: Signal<In, Bits<4>>,
        /// Bytes of the transfer.
        pub length: Signal<In, Bits<32>>,
        /// Address of byte 0 at its receiver.
        pub there: Signal<In, Bits<64>>,
        /// It has bytes; stage 1.
        pub has_bytes: Signal<Out, Bit>,
        /// From its first byte to its last one, if it has bytes; stage 1.
        pub distance: Signal<Out, Bits<32>>,
        /// It cannot be; stage 3.
        pub beyond: Signal<Out, Bit>,

        some: DFF<Bit>,
        length_1: DFF<Bits<32>>,
        last: DFF<Bits<65>>,
        too_many: DFF<Bit>,
        too_long: DFF<Bit>,
    }
}

impl Logic for BulkLimits {
    #[hdl_gen]
    fn update(&mut self) {
        self.some.d.next = self.length.val().any();
        self.length_1.d.next = self.length.val() - 1;
        self.has_bytes.next = self.some.q.val();
        self.distance.next = self.length_1.q.val();
        self.last.d.next =
            bit_cast::<65, 64>(self.there.val()) + bit_cast::<65, 32>(self.length_1.q.val());
        self.too_many.d.next = self.some.q.val()
            & (((self.mtu.val() == 8) & self.length_1.q.val().get_bits::<3>(29).any())
                | ((self.mtu.val() == 9) & self.length_1.q.val().get_bits::<2>(30).any())
                | ((self.mtu.val() == 10) & self.length_1.q.val().get_bit(31)));
        self.too_long.d.next =
            self.too_many.q.val() | (self.some.q.val() & self.last.q.val().get_bit(64));
        self.beyond.next = self.too_long.q.val();
    }
}
