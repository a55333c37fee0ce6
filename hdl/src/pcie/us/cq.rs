//! Requests of the host: CQ of the PCI Express block to TLPs.

use crate::blocks::TwoSlots;
use crate::bus::{TlpRxRequestOut, UsAxisIn};
use crate::prelude::*;

hdl_module! {
    /// Makes TLPs of what the PCI Express block of UltraScale+ gives to its completer: a descriptor of two beats, then data.
    /// Requests of every kind become TLPs of that kind; what the card does not take is for its completer to answer or to
    /// drop. Addresses below 4 GiB get a header of three words. Of a message only kind, routing, code, IDs and length are
    /// translated; the two words behind them are handed on as they are.
    /// A TLP that the block discontinues, a descriptor that is cut, and a request of the reserved kind are dropped
    /// (ev_dropped), without an answer. Behind the first beat of data it is too late for that: the word has no strb then. A
    /// completer that takes TLPs of one word only, as that of the card, has refused such a one.
    /// One beat a clock; TLPs back to back without a clock between them.
    /// Stages: 1 beat registered; 2 header registered, word registered: a TLP is offered 2 clocks behind the beat that ends
    /// its descriptor, or behind its first data.
    /// A word on offer and its header stay until they are taken; up to 4 beats wait meanwhile.
    #[module("pcie_us_cq")]
    pub struct PcieUsCq {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset, with the block.
        pub rst: Signal<In, Bit>,
        /// Completer requests; tuser: first byte enables 3:0, last 7:4, discontinue 41.
        pub s_axis_cq: UsAxisIn<64, 2, 88>,
        /// Requests as TLPs.
        pub m_tlp: TlpRxRequestOut<64, 2>,
        /// A request was dropped, or a word of one that has begun; pulse.
        pub ev_dropped: Signal<Out, Bit>,

        /// Beats: data 63:0, keep 65:64, last 66, byte enables 74:67, discontinue 75.
        coming: TwoSlots<76>,
        beat: Signal<Local, Bits<76>>,
        data: Signal<Local, Bits<64>>,
        last: Signal<Local, Bit>,
        stop: Signal<Local, Bit>,
        taken: Signal<Local, Bit>,
        /// 0 and 1 descriptor, 2 first data, 3 more, 4 the rest is dropped.
        #[reset] step: DFF<Bits<3>>,
        /// First beat of the descriptor, and what stands beside it.
        address: DFF<Bits<64>>,
        /// The address is not below 4 GiB.
        far: DFF<Bit>,
        enables: DFF<Bits<8>>,
        stopped: DFF<Bit>,
        /// Second beat: type of the request, of the TLP; it has data; a header of four words; it is a message.
        request: Signal<Local, Bits<4>>,
        kind: Signal<Local, Bits<5>>,
        has_data: Signal<Local, Bit>,
        wide: Signal<Local, Bit>,
        message: Signal<Local, Bit>,
        dw_0: Signal<Local, Bits<32>>,
        dw_1: Signal<Local, Bits<32>>,
        low: Signal<Local, Bits<32>>,
        /// Address type.
        kind_of_address: Signal<Local, Bits<2>>,
        header: DFF<Bits<128>>,
        bar: DFF<Bits<3>>,
        function: DFF<Bits<8>>,
        /// The header is of a TLP whose last word has not been taken.
        #[reset] held: DFF<Bit>,
        /// Words: data 63:0, strb 65:64, sop 66, eop 67.
        leaving: TwoSlots<68>,
        push: Signal<Local, Bit>,
        strb: Signal<Local, Bits<2>>,
        #[reset] dropped: DFF<Bit>,
    }
}

impl Logic for PcieUsCq {
    #[hdl_gen]
    fn update(&mut self) {
        // Stage 1.
        self.coming.s.valid.next = self.s_axis_cq.tvalid.val();
        self.s_axis_cq.tready.next = self.coming.s.ready.val();
        self.coming.s.data.next = bit_cast::<76, 64>(self.s_axis_cq.tdata.val())
            | (bit_cast::<76, 2>(self.s_axis_cq.tkeep.val()) << 64)
            | (bit_cast::<76, 1>(self.s_axis_cq.tlast.val().into()) << 66)
            | (bit_cast::<76, 8>(self.s_axis_cq.tuser.val().get_bits::<8>(0)) << 67)
            | (bit_cast::<76, 1>(self.s_axis_cq.tuser.val().get_bits::<1>(41)) << 75);
        self.beat.next = self.coming.m.data.val();
        self.data.next = self.beat.val().get_bits::<64>(0);
        self.last.next = self.beat.val().get_bit(66);
        self.stop.next = self.beat.val().get_bit(75);

        // The header, of both beats of the descriptor.
        self.request.next = self.data.val().get_bits::<4>(11);
        self.message.next = self.request.val().get_bit(3) & self.request.val().get_bit(2);
        self.kind.next = 0.into();
        self.has_data.next = self.request.val().get_bit(0);
        if self.request.val().get_bits::<3>(1) == 1 {
            comment!("I/O.");
            self.kind.next = 2.into();
        }
        if self.request.val().get_bits::<2>(2) == 1 {
            comment!("Atomics, and locked reads.");
            self.kind.next = bits::<5>(12) | bit_cast::<5, 2>(self.request.val().get_bits::<2>(0));
            self.has_data.next = true;
            if self.request.val().get_bits::<2>(0).all() {
                self.kind.next = 1.into();
                self.has_data.next = false;
            }
        }
        if self.request.val().get_bits::<2>(2) == 2 {
            comment!("Configuration.");
            self.kind.next = bits::<5>(4) | bit_cast::<5, 1>(self.request.val().get_bits::<1>(0));
            self.has_data.next = self.request.val().get_bit(1);
        }
        self.wide.next = self.far.q.val()
            & (self.request.val().get_bits::<3>(1) != 1)
            & !self.request.val().get_bit(3);
        if self.message.val() {
            self.kind.next = bits::<5>(16) | bit_cast::<5, 3>(self.data.val().get_bits::<3>(48));
            self.has_data.next = self.data.val().get_bits::<11>(0).any();
            self.wide.next = true;
        }
        self.kind_of_address.next = self.address.q.val().get_bits::<2>(0);
        self.low.next = bit_cast::<32, 30>(self.address.q.val().get_bits::<30>(2)) << 2;
        self.dw_1.next = (bit_cast::<32, 16>(self.data.val().get_bits::<16>(16)) << 16)
            | (bit_cast::<32, 8>(self.data.val().get_bits::<8>(32)) << 8)
            | bit_cast::<32, 8>(self.enables.q.val());
        if self.message.val() {
            self.kind_of_address.next = 0.into();
            self.low.next = self.address.q.val().get_bits::<32>(0);
            self.dw_1.next = (bit_cast::<32, 16>(self.data.val().get_bits::<16>(16)) << 16)
                | (bit_cast::<32, 8>(self.data.val().get_bits::<8>(32)) << 8)
                | bit_cast::<32, 8>(self.data.val().get_bits::<8>(40));
        }
        self.dw_0.next = (bit_cast::<32, 1>(self.has_data.val().into()) << 30)
            | (bit_cast::<32, 1>(self.wide.val().into()) << 29)
            | (bit_cast::<32, 5>(self.kind.val()) << 24)
            | (bit_cast::<32, 3>(self.data.val().get_bits::<3>(57)) << 20)
            | (bit_cast::<32, 1>(self.data.val().get_bits::<1>(62)) << 18)
            | (bit_cast::<32, 2>(self.data.val().get_bits::<2>(60)) << 12)
            | (bit_cast::<32, 2>(self.kind_of_address.val()) << 10)
            | bit_cast::<32, 10>(self.data.val().get_bits::<10>(0));

        // Stage 2.
        self.taken.next = self.coming.m.valid.val();
        self.push.next = false;
        self.strb.next = self.beat.val().get_bits::<2>(64);
        self.dropped.d.next = false;
        if self.step.q.val() == 0 {
            self.address.d.next = self.data.val();
            self.far.d.next = self.data.val().get_bits::<32>(32).any();
            self.enables.d.next = self.beat.val().get_bits::<8>(67);
            self.stopped.d.next = self.stop.val();
            if self.taken.val() {
                self.step.d.next = 1.into();
                self.dropped.d.next = self.last.val();
            }
        }
        if self.step.q.val() == 1 {
            self.taken.next =
                self.coming.m.valid.val() & self.leaving.s.ready.val() & !self.held.q.val();
            self.strb.next = 0.into();
            if !self.held.q.val() {
                self.header.d.next = (bit_cast::<128, 32>(self.dw_0.val()) << 96)
                    | (bit_cast::<128, 32>(self.dw_1.val()) << 64)
                    | (bit_cast::<128, 32>(self.low.val()) << 32);
                if self.wide.val() {
                    self.header.d.next = (bit_cast::<128, 32>(self.dw_0.val()) << 96)
                        | (bit_cast::<128, 32>(self.dw_1.val()) << 64)
                        | (bit_cast::<128, 32>(self.address.q.val().get_bits::<32>(32)) << 32)
                        | bit_cast::<128, 32>(self.low.val());
                }
                self.bar.d.next = self.data.val().get_bits::<3>(48);
                self.function.d.next = self.data.val().get_bits::<8>(40);
                if self.message.val() {
                    self.bar.d.next = 0.into();
                    self.function.d.next = 0.into();
                }
            }
            if self.taken.val() {
                self.step.d.next = 2.into();
                self.push.next = self.last.val();
                if self.stop.val() | self.stopped.q.val() | self.request.val().all() {
                    self.step.d.next = 4.into();
                    self.push.next = false;
                    self.dropped.d.next = true;
                }
            }
        }
        if self.step.q.val() == 2 {
            self.taken.next = self.coming.m.valid.val() & self.leaving.s.ready.val();
            if self.taken.val() {
                self.step.d.next = 3.into();
                self.push.next = true;
                if self.stop.val() {
                    self.step.d.next = 4.into();
                    self.push.next = false;
                    self.dropped.d.next = true;
                }
            }
        }
        if self.step.q.val() == 3 {
            self.taken.next = self.coming.m.valid.val() & self.leaving.s.ready.val();
            self.push.next = self.taken.val();
            if self.stop.val() {
                self.strb.next = 0.into();
                self.dropped.d.next = self.taken.val();
            }
        }
        if self.taken.val() & self.last.val() {
            self.step.d.next = 0.into();
        }
        self.coming.m.ready.next = self.taken.val();
        self.leaving.s.valid.next = self.push.val();
        self.leaving.s.data.next = bit_cast::<68, 64>(self.data.val())
            | (bit_cast::<68, 2>(self.strb.val()) << 64)
            | (bit_cast::<68, 1>((self.step.q.val() != 3).into()) << 66)
            | (bit_cast::<68, 1>(self.last.val().into()) << 67);
        if self.step.q.val() == 1 {
            comment!("No data.");
            self.leaving.s.data.next = bits::<68>(3) << 66;
        }
        self.m_tlp.valid.next = self.leaving.m.valid.val();
        self.m_tlp.data.next = self.leaving.m.data.val().get_bits::<64>(0);
        self.m_tlp.strb.next = self.leaving.m.data.val().get_bits::<2>(64);
        self.m_tlp.sop.next = self.leaving.m.data.val().get_bit(66);
        self.m_tlp.eop.next = self.leaving.m.data.val().get_bit(67);
        self.leaving.m.ready.next = self.m_tlp.ready.val();
        self.m_tlp.hdr.next = self.header.q.val();
        self.m_tlp.bar_id.next = self.bar.q.val();
        self.m_tlp.func_num.next = self.function.q.val();
        self.held.d.next = (self.held.q.val()
            & !(self.leaving.m.valid.val()
                & self.m_tlp.ready.val()
                & self.leaving.m.data.val().get_bit(67)))
            | (self.push.val() & (self.step.q.val() != 3));
        self.ev_dropped.next = self.dropped.q.val();
    }
}
