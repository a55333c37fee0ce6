//! Completions from the host: RC of the PCI Express block to TLPs.

use crate::blocks::TwoSlots;
use crate::bus::{TlpRxCompletionOut, UsAxisIn};
use crate::prelude::*;
use tributary_protocol::pcie::TYPE_COMPLETION;

hdl_module! {
    /// Makes TLPs of the completions that the PCI Express block of UltraScale+ gives to its requester: a descriptor of 96
    /// bits, then the data at once, which are moved by 32 bits here.
    /// The block's error code stands beside the first word: 0 none, 1 poisoned, any other: the completion is no good. A TLP
    /// that the block discontinues has 15 beside the word from which on that is known.
    /// Reads that the block has ended itself (codes 8 and above) have a descriptor of which only the tag counts. With code 8,
    /// a reset of the function, their TLP is a completion of status Completer Abort: nothing more comes. With the others,
    /// 9 is a timeout, it is one of too many bytes and without data: something may still come.
    /// A descriptor that is cut is dropped. All of these are counted (ev_error).
    /// One beat a clock; TLPs back to back without a clock between them, but for one behind 3, 5, 7 and so on words of data.
    /// Stages: 1 beat registered; 2 moved, word and header registered.
    /// A word on offer and its header stay until they are taken; up to 4 beats wait meanwhile. requester_id counts as it is
    /// when the second beat leaves stage 1.
    #[module("pcie_us_rc")]
    pub struct PcieUsRc {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset, with the block.
        pub rst: Signal<In, Bit>,
        /// Requester ID of the card, for reads that the block has ended.
        pub requester_id: Signal<In, Bits<16>>,
        /// Requester completions; tuser: discontinue 42.
        pub s_axis_rc: UsAxisIn<64, 2, 75>,
        /// Completions as TLPs.
        pub m_tlp: TlpRxCompletionOut<64, 2>,
        /// A completion has an error code, was discontinued or cut; pulse.
        pub ev_error: Signal<Out, Bit>,

        /// Beats: data 63:0, upper word there 64, last 65, discontinue 66.
        coming: TwoSlots<67>,
        beat: Signal<Local, Bits<67>>,
        data: Signal<Local, Bits<64>>,
        both: Signal<Local, Bit>,
        last: Signal<Local, Bit>,
        stop: Signal<Local, Bit>,
        taken: Signal<Local, Bit>,
        /// 0 and 1 descriptor, 2 data.
        #[reset] step: DFF<Bits<2>>,
        /// First beat of the descriptor.
        front: DFF<Bits<64>>,
        /// The TLP was discontinued.
        stopped: DFF<Bit>,
        /// The next word is the first.
        first: DFF<Bit>,
        /// A word that came in the upper half of the beat before; it is the last one of its TLP, which has ended; and its
        /// error.
        kept: DFF<Bits<32>>,
        #[reset] rest: DFF<Bit>,
        rest_bad: DFF<Bit>,
        /// Error code.
        code: Signal<Local, Bits<4>>,
        has_data: Signal<Local, Bit>,
        dw_0: Signal<Local, Bits<32>>,
        dw_1: Signal<Local, Bits<32>>,
        dw_2: Signal<Local, Bits<32>>,
        header: DFF<Bits<96>>,
        /// The header is of a TLP whose last word has not been taken.
        #[reset] held: DFF<Bit>,
        /// Words: data 63:0, strb 65:64, sop 66, eop 67, error 71:68.
        leaving: TwoSlots<72>,
        push: Signal<Local, Bit>,
        word: Signal<Local, Bits<64>>,
        strb: Signal<Local, Bits<2>>,
        sop: Signal<Local, Bit>,
        eop: Signal<Local, Bit>,
        error: Signal<Local, Bits<4>>,
        #[reset] wrong: DFF<Bit>,
        /// Type of a completion.
        completion: Param<{ TYPE_COMPLETION as usize }, 32>,
    }
}

impl Logic for PcieUsRc {
    #[hdl_gen]
    fn update(&mut self) {
        // Stage 1.
        self.coming.s.valid.next = self.s_axis_rc.tvalid.val();
        self.s_axis_rc.tready.next = self.coming.s.ready.val();
        self.coming.s.data.next = bit_cast::<67, 64>(self.s_axis_rc.tdata.val())
            | (bit_cast::<67, 1>(self.s_axis_rc.tkeep.val().get_bits::<1>(1)) << 64)
            | (bit_cast::<67, 1>(self.s_axis_rc.tlast.val().into()) << 65)
            | (bit_cast::<67, 1>(self.s_axis_rc.tuser.val().get_bits::<1>(42)) << 66);
        self.beat.next = self.coming.m.data.val();
        self.data.next = self.beat.val().get_bits::<64>(0);
        self.both.next = self.beat.val().get_bit(64);
        self.last.next = self.beat.val().get_bit(65);
        self.stop.next = self.beat.val().get_bit(66);

        // The header, of both beats of the descriptor.
        self.code.next = self.front.q.val().get_bits::<4>(12);
        self.has_data.next = self.front.q.val().get_bits::<11>(32).any();
        self.dw_0.next = (bit_cast::<32, 1>(self.has_data.val().into()) << 30)
            | (self.completion.val() << 24)
            | (bit_cast::<32, 1>(self.front.q.val().get_bits::<1>(29)) << 24)
            | (bit_cast::<32, 3>(self.data.val().get_bits::<3>(25)) << 20)
            | (bit_cast::<32, 1>(self.data.val().get_bits::<1>(30)) << 18)
            | (bit_cast::<32, 1>(self.front.q.val().get_bits::<1>(46)) << 14)
            | (bit_cast::<32, 2>(self.data.val().get_bits::<2>(28)) << 12)
            | bit_cast::<32, 10>(self.front.q.val().get_bits::<10>(32));
        self.dw_1.next = (bit_cast::<32, 16>(self.data.val().get_bits::<16>(8)) << 16)
            | (bit_cast::<32, 3>(self.front.q.val().get_bits::<3>(43)) << 13)
            | bit_cast::<32, 12>(self.front.q.val().get_bits::<12>(16));
        self.dw_2.next = (bit_cast::<32, 16>(self.front.q.val().get_bits::<16>(48)) << 16)
            | (bit_cast::<32, 8>(self.data.val().get_bits::<8>(0)) << 8)
            | bit_cast::<32, 7>(self.front.q.val().get_bits::<7>(0));
        if self.code.val().get_bit(3) {
            comment!("Of one word that is missing, and of 4,095 bytes; or of status 4.");
            self.dw_0.next = (self.completion.val() << 24) | 1;
            self.dw_1.next = 0xFFF.into();
            if self.code.val() == 8 {
                self.dw_1.next = 0x8FFF.into();
            }
            self.dw_2.next = (bit_cast::<32, 16>(self.requester_id.val()) << 16)
                | (bit_cast::<32, 8>(self.data.val().get_bits::<8>(0)) << 8);
        }

        // Stage 2. What is left of a TLP goes while the next one begins.
        self.taken.next = self.coming.m.valid.val();
        self.push.next = self.rest.q.val();
        self.word.next = bit_cast::<64, 32>(self.kept.q.val());
        self.strb.next = 1.into();
        self.sop.next = false;
        self.eop.next = true;
        self.error.next = 0.into();
        if self.rest_bad.q.val() {
            self.error.next = 15.into();
        }
        self.wrong.d.next = false;
        if self.leaving.s.ready.val() {
            self.rest.d.next = false;
        }
        if self.step.q.val() == 0 {
            self.front.d.next = self.data.val();
            self.stopped.d.next = self.stop.val();
            self.first.d.next = true;
            if self.taken.val() {
                self.step.d.next = 1.into();
                if self.last.val() {
                    self.step.d.next = 0.into();
                    self.wrong.d.next = true;
                }
            }
        }
        if self.step.q.val() == 1 {
            self.taken.next = self.coming.m.valid.val()
                & self.leaving.s.ready.val()
                & !self.held.q.val()
                & !self.rest.q.val();
            if !self.held.q.val() & !self.rest.q.val() {
                self.header.d.next = (bit_cast::<96, 32>(self.dw_0.val()) << 64)
                    | (bit_cast::<96, 32>(self.dw_1.val()) << 32)
                    | bit_cast::<96, 32>(self.dw_2.val());
                self.push.next = self.taken.val() & self.last.val();
                self.word.next = bit_cast::<64, 32>(self.data.val().get_bits::<32>(32));
                self.strb.next = bit_cast::<2, 1>(self.both.val().into());
                self.sop.next = true;
                self.error.next = self.code.val();
                if self.stop.val() | self.stopped.q.val() {
                    self.error.next = 15.into();
                }
                self.kept.d.next = self.data.val().get_bits::<32>(32);
            }
            if self.taken.val() {
                self.stopped.d.next = self.stop.val() | self.stopped.q.val();
                self.step.d.next = 2.into();
                self.wrong.d.next = self.code.val().any();
            }
        }
        if self.step.q.val().get_bit(1) {
            self.taken.next = self.coming.m.valid.val() & self.leaving.s.ready.val();
            self.push.next = self.taken.val();
            self.word.next = bit_cast::<64, 32>(self.kept.q.val())
                | (bit_cast::<64, 32>(self.data.val().get_bits::<32>(0)) << 32);
            self.strb.next = 3.into();
            self.sop.next = self.first.q.val();
            self.eop.next = self.last.val() & !self.both.val();
            self.error.next = 0.into();
            if self.first.q.val() {
                self.error.next = self.code.val();
            }
            if self.stop.val() | self.stopped.q.val() {
                self.error.next = 15.into();
            }
            if self.taken.val() {
                self.stopped.d.next = self.stop.val() | self.stopped.q.val();
                self.first.d.next = false;
                self.kept.d.next = self.data.val().get_bits::<32>(32);
                self.rest.d.next = self.last.val() & self.both.val();
                self.rest_bad.d.next = self.stop.val() | self.stopped.q.val();
            }
        }
        if self.taken.val() & self.last.val() {
            self.step.d.next = 0.into();
        }
        if self.taken.val()
            & self.last.val()
            & (self.stop.val() | (self.stopped.q.val() & self.step.q.val().any()))
        {
            self.wrong.d.next = true;
        }
        self.coming.m.ready.next = self.taken.val();
        self.leaving.s.valid.next = self.push.val();
        self.leaving.s.data.next = bit_cast::<72, 64>(self.word.val())
            | (bit_cast::<72, 2>(self.strb.val()) << 64)
            | (bit_cast::<72, 1>(self.sop.val().into()) << 66)
            | (bit_cast::<72, 1>(self.eop.val().into()) << 67)
            | (bit_cast::<72, 4>(self.error.val()) << 68);
        self.m_tlp.valid.next = self.leaving.m.valid.val();
        self.m_tlp.data.next = self.leaving.m.data.val().get_bits::<64>(0);
        self.m_tlp.strb.next = self.leaving.m.data.val().get_bits::<2>(64);
        self.m_tlp.sop.next = self.leaving.m.data.val().get_bit(66);
        self.m_tlp.eop.next = self.leaving.m.data.val().get_bit(67);
        self.m_tlp.error.next = self.leaving.m.data.val().get_bits::<4>(68);
        self.leaving.m.ready.next = self.m_tlp.ready.val();
        self.m_tlp.hdr.next = bit_cast::<128, 96>(self.header.q.val()) << 32;
        self.held.d.next = (self.held.q.val()
            & !(self.leaving.m.valid.val()
                & self.m_tlp.ready.val()
                & self.leaving.m.data.val().get_bit(67)))
            | (self.push.val() & self.sop.val() & self.leaving.s.ready.val());
        self.ev_error.next = self.wrong.q.val();
    }
}
