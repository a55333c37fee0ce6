//! Completions for the host: TLPs to CC of the PCI Express block.

use crate::blocks::TwoSlots;
use crate::bus::{TlpTxCompletionIn, UsAxisOut};
use crate::prelude::*;

hdl_module! {
    /// Makes of each completion of the card, which has two words of 32 bits of data at most, what the PCI Express block of
    /// UltraScale+ takes: a descriptor of 96 bits, then the data at once. Type, status, byte count, lower address, IDs, tag,
    /// traffic class and attributes are those of the TLP; the bus of the completer ID is the block's affair ("own ID" is 0).
    /// A completion takes two clocks, three with two words of data. Stages: 1 beat registered: the first is offered a clock
    /// behind the TLP.
    /// A TLP is taken with its last beat, and is to stay until then; up to 2 beats wait while the block takes none.
    #[module("pcie_us_cc")]
    pub struct PcieUsCc {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset, with the block.
        pub rst: Signal<In, Bit>,
        /// Completions as TLPs.
        pub s_tlp: TlpTxCompletionIn<64, 2>,
        /// Completer completions; tuser is 0: nothing is discontinued, no parity.
        pub m_axis_cc: UsAxisOut<64, 2, 33>,

        /// 0 and 1 descriptor, 2 a second word of data.
        #[reset] step: DFF<Bits<2>>,
        /// Beats: data 63:0, second word there 64, last 65.
        leaving: TwoSlots<66>,
        dw_0: Signal<Local, Bits<32>>,
        dw_1: Signal<Local, Bits<32>>,
        dw_2: Signal<Local, Bits<32>>,
        ends: Signal<Local, Bit>,
        second: Signal<Local, Bit>,
        word: Signal<Local, Bits<64>>,
        taken: Signal<Local, Bit>,
    }
}

impl Logic for PcieUsCc {
    #[hdl_gen]
    fn update(&mut self) {
        self.dw_0.next = bit_cast::<32, 7>(self.s_tlp.hdr.val().get_bits::<7>(32))
            | (bit_cast::<32, 2>(self.s_tlp.hdr.val().get_bits::<2>(106)) << 8)
            | (bit_cast::<32, 12>(self.s_tlp.hdr.val().get_bits::<12>(64)) << 16)
            | (bit_cast::<32, 1>((!self.s_tlp.hdr.val().get_bits::<12>(64).any()).into()) << 28)
            | (bit_cast::<32, 1>(self.s_tlp.hdr.val().get_bits::<1>(120)) << 29);
        self.dw_1.next = (bit_cast::<32, 3>(self.s_tlp.hdr.val().get_bits::<3>(77)) << 11)
            | (bit_cast::<32, 1>(self.s_tlp.hdr.val().get_bits::<1>(110)) << 14)
            | (bit_cast::<32, 16>(self.s_tlp.hdr.val().get_bits::<16>(48)) << 16);
        if self.s_tlp.hdr.val().get_bit(126) {
            comment!("It has data.");
            self.dw_1.next = bit_cast::<32, 10>(self.s_tlp.hdr.val().get_bits::<10>(96))
                | (bit_cast::<32, 3>(self.s_tlp.hdr.val().get_bits::<3>(77)) << 11)
                | (bit_cast::<32, 1>(self.s_tlp.hdr.val().get_bits::<1>(110)) << 14)
                | (bit_cast::<32, 16>(self.s_tlp.hdr.val().get_bits::<16>(48)) << 16);
        }
        self.dw_2.next = bit_cast::<32, 8>(self.s_tlp.hdr.val().get_bits::<8>(40))
            | (bit_cast::<32, 16>(self.s_tlp.hdr.val().get_bits::<16>(80)) << 8)
            | (bit_cast::<32, 3>(self.s_tlp.hdr.val().get_bits::<3>(116)) << 25)
            | (bit_cast::<32, 2>(self.s_tlp.hdr.val().get_bits::<2>(108)) << 28)
            | (bit_cast::<32, 1>(self.s_tlp.hdr.val().get_bits::<1>(114)) << 30);

        self.word.next =
            bit_cast::<64, 32>(self.dw_0.val()) | (bit_cast::<64, 32>(self.dw_1.val()) << 32);
        self.second.next = true;
        self.ends.next = false;
        if self.step.q.val() == 1 {
            self.word.next = bit_cast::<64, 32>(self.dw_2.val());
            self.second.next = self.s_tlp.strb.val().get_bit(0);
            if self.s_tlp.strb.val().get_bit(0) {
                self.word.next = bit_cast::<64, 32>(self.dw_2.val())
                    | (bit_cast::<64, 32>(self.s_tlp.data.val().get_bits::<32>(0)) << 32);
            }
            self.ends.next = !self.s_tlp.strb.val().get_bit(1);
        }
        if self.step.q.val().get_bit(1) {
            self.word.next = bit_cast::<64, 32>(self.s_tlp.data.val().get_bits::<32>(32));
            self.second.next = false;
            self.ends.next = true;
        }
        self.taken.next = self.s_tlp.valid.val() & self.leaving.s.ready.val();
        self.s_tlp.ready.next = self.leaving.s.ready.val()
            & (self.step.q.val().get_bit(1)
                | (self.step.q.val().get_bit(0) & !self.s_tlp.strb.val().get_bit(1)));
        if self.taken.val() {
            self.step.d.next = self.step.q.val() + 1;
            if self.ends.val() {
                self.step.d.next = 0.into();
            }
        }
        self.leaving.s.valid.next = self.s_tlp.valid.val();
        self.leaving.s.data.next = bit_cast::<66, 64>(self.word.val())
            | (bit_cast::<66, 1>(self.second.val().into()) << 64)
            | (bit_cast::<66, 1>(self.ends.val().into()) << 65);
        self.m_axis_cc.tvalid.next = self.leaving.m.valid.val();
        self.leaving.m.ready.next = self.m_axis_cc.tready.val();
        self.m_axis_cc.tdata.next = self.leaving.m.data.val().get_bits::<64>(0);
        self.m_axis_cc.tkeep.next =
            bits::<2>(1) | (bit_cast::<2, 1>(self.leaving.m.data.val().get_bits::<1>(64)) << 1);
        self.m_axis_cc.tlast.next = self.leaving.m.data.val().get_bit(65);
        self.m_axis_cc.tuser.next = 0.into();
    }
}
