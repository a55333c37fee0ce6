//! Descriptor of a request.

use crate::prelude::*;

hdl_module! {
    /// A beat of the descriptor that the requester of UltraScale+ takes, out of the header of a TLP. Combinational.
    #[module("pcie_us_rq_beats")]
    pub struct RqBeats {
        /// Header: its first word in 127:96.
        pub hdr: Signal<In, Bits<128>>,
        /// The second beat, not the first one.
        pub second: Signal<In, Bit>,
        /// The beat 63:0, byte enables of the first word 67:64, of the last one 71:68.
        pub m: Signal<Out, Bits<72>>,
        low: Signal<Local, Bits<32>>,
        high: Signal<Local, Bits<32>>,
        words: Signal<Local, Bits<11>>,
        dw_2: Signal<Local, Bits<32>>,
        dw_3: Signal<Local, Bits<32>>,
        beat: Signal<Local, Bits<64>>,
    }
}

impl Logic for RqBeats {
    #[hdl_gen]
    fn update(&mut self) {
        self.low.next = self.hdr.val().get_bits::<32>(32);
        self.high.next = 0.into();
        if self.hdr.val().get_bit(125) {
            self.low.next = self.hdr.val().get_bits::<32>(0);
            self.high.next = self.hdr.val().get_bits::<32>(32);
        }
        // 1,024 words are 0 in a header.
        self.words.next = bit_cast::<11, 10>(self.hdr.val().get_bits::<10>(96))
            | (bit_cast::<11, 1>((!self.hdr.val().get_bits::<10>(96).any()).into()) << 10);
        self.dw_2.next = bit_cast::<32, 11>(self.words.val())
            | (bit_cast::<32, 1>(self.hdr.val().get_bits::<1>(126)) << 11)
            | (bit_cast::<32, 1>(self.hdr.val().get_bits::<1>(110)) << 15)
            | (bit_cast::<32, 16>(self.hdr.val().get_bits::<16>(80)) << 16);
        self.dw_3.next = bit_cast::<32, 8>(self.hdr.val().get_bits::<8>(72))
            | (bit_cast::<32, 3>(self.hdr.val().get_bits::<3>(116)) << 25)
            | (bit_cast::<32, 2>(self.hdr.val().get_bits::<2>(108)) << 28)
            | (bit_cast::<32, 1>(self.hdr.val().get_bits::<1>(114)) << 30);
        self.beat.next = (bit_cast::<64, 32>(self.high.val()) << 32)
            | (bit_cast::<64, 30>(self.low.val().get_bits::<30>(2)) << 2)
            | bit_cast::<64, 2>(self.hdr.val().get_bits::<2>(106));
        if self.second.val() {
            self.beat.next =
                bit_cast::<64, 32>(self.dw_2.val()) | (bit_cast::<64, 32>(self.dw_3.val()) << 32);
        }
        self.m.next = bit_cast::<72, 64>(self.beat.val())
            | (bit_cast::<72, 8>(self.hdr.val().get_bits::<8>(64)) << 64);
    }
}
