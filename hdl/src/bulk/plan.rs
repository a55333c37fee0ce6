//! Packets of a transfer to start.

use crate::prelude::*;
use tributary_protocol::rw::MTU_RANGE;

hdl_module! {
    /// How many packets a transfer has, how long the last one is, and what is wrong with it (RW-5, RW-20).
    /// Latency: 4 clocks from the inputs, which stand still meanwhile.
    #[module("bulk_plan")]
    pub struct BulkPlan {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Address of byte 0.
        pub addr: Signal<In, Bits<64>>,
        /// Bytes.
        pub length: Signal<In, Bits<32>>,
        /// log2 of the packet size.
        pub mtu: Signal<In, Bits<4>>,
        /// Packets.
        pub n: Signal<Out, Bits<22>>,
        /// Bytes of the last packet.
        pub last_len: Signal<Out, Bits<13>>,
        /// 0: nothing; 1: not a packet size; 2: too many packets; 3: the last byte has no address.
        pub error: Signal<Out, Bits<2>>,

        /// log2 of the packet size, less 8.
        scale: Signal<Local, Bits<3>>,
        length_1: DFF<Bits<32>>,
        has_bytes: DFF<Bit>,
        last: DFF<Bits<24>>,
        mask: DFF<Bits<13>>,
        count: DFF<Bits<22>>,
        rest: DFF<Bits<13>>,
        too_many: DFF<Bit>,
        end: DFF<Bits<33>>,
        at_top: DFF<Bit>,
        past_end: DFF<Bit>,
        legal_mtu: DFF<Bit>,
        wrong: DFF<Bits<2>>,
        mtu_least: Param<{ *MTU_RANGE.start() as usize }, 4>,
        mtu_most: Param<{ *MTU_RANGE.end() as usize }, 4>,
    }
}

impl Logic for BulkPlan {
    #[hdl_gen]
    fn update(&mut self) {
        self.scale.next = bit_cast::<3, 4>(self.mtu.val());
        self.length_1.d.next = self.length.val() - 1;
        self.has_bytes.d.next = self.length.val().any();
        self.last.d.next = bit_cast::<24, 32>(self.length_1.q.val() >> 8) >> self.scale.val();
        if !self.has_bytes.q.val() {
            self.last.d.next = 0.into();
        }
        self.mask.d.next = !((!bits::<13>(255)) << self.scale.val());
        self.count.d.next = bit_cast::<22, 24>(self.last.q.val()) + 1;
        self.too_many.d.next = (self.last.q.val() >> 21).any();
        self.rest.d.next = (bit_cast::<13, 32>(self.length_1.q.val()) & self.mask.q.val()) + 1;
        if !self.has_bytes.q.val() {
            self.rest.d.next = 0.into();
        }
        self.end.d.next = bit_cast::<33, 32>(bit_cast::<32, 64>(self.addr.val()))
            + bit_cast::<33, 32>(self.length.val());
        self.at_top.d.next = self.addr.val().get_bits::<32>(32).all();
        self.past_end.d.next = self.at_top.q.val()
            & self.end.q.val().get_bit(32)
            & bit_cast::<32, 33>(self.end.q.val()).any();
        self.legal_mtu.d.next =
            (self.mtu.val() >= self.mtu_least.val()) & (self.mtu.val() <= self.mtu_most.val());
        self.wrong.d.next = 0.into();
        if self.past_end.q.val() {
            self.wrong.d.next = 3.into();
        }
        if self.too_many.q.val() {
            self.wrong.d.next = 2.into();
        }
        if !self.legal_mtu.q.val() {
            self.wrong.d.next = 1.into();
        }
        self.n.next = self.count.q.val();
        self.last_len.next = self.rest.q.val();
        self.error.next = self.wrong.q.val();
    }
}
