//! Units of the other end become TLPs for the card, and settings.

use tributary_protocol::tlp_link::unit::SETTINGS;

use super::LinkSettings;
use crate::board::FrameStore;
use crate::bus::{LinkUnitIn, TlpRxCompletionOut, TlpRxRequestOut};
use crate::prelude::*;
use crate::record::header_gaps;
use crate::switch::ByteSwap;

hdl_module! {
    /// Takes units, keeps each until it is whole and found well formed, in a memory of 2^A words, and gives its TLP to one
    /// of two streams, or its settings to the registers; all in the order in which they came. A unit that is malformed or
    /// has more than 2^A words is counted and has no other effect. P is A + 1.
    /// Stages: 1 checked and written, whole units are read by frame_store; 2 and 3 the two words of the header; 4 each word
    /// of data goes through, a TLP without data takes a clock of its own. The first word is at the card 6 clocks behind the
    /// last one of its unit. One word per clock in and out; settings take effect in the clock behind stage 2.
    #[module("tlp_units_in_d{}", 1usize << A)]
    pub struct TlpUnitsIn<const A: usize, const P: usize> {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset: forgets all units, and cuts a TLP that has begun.
        pub rst: Signal<In, Bit>,
        /// Units are taken, and TLPs begin. Without it a TLP that has begun goes on, and nothing else.
        pub enable: Signal<In, Bit>,
        /// Units from the other end.
        pub s_unit: LinkUnitIn,
        /// Requests.
        pub m_req_tlp: TlpRxRequestOut<64, 2>,
        /// Completions.
        pub m_cpl_tlp: TlpRxCompletionOut<64, 2>,
        /// A TLP has begun and not ended.
        pub m_within: Signal<Out, Bit>,
        /// Settings have come; pulse.
        pub m_set: Signal<Out, Bit>,
        /// They.
        pub m_settings: Signal<Out, Bits<64>>,
        /// A unit was malformed or too long; pulse.
        pub stat_malformed: Signal<Out, Bit>,

        store: FrameStore<A, P>,
        came: ByteSwap,
        kept: ByteSwap,
        /// Words of the unit that have come.
        #[reset] at: DFF<Bits<12>>,
        /// Words that its header says, but one; something in it is wrong; a header of three words.
        final_at: DFF<Bits<12>>,
        wrong: DFF<Bit>,
        three: DFF<Bit>,
        #[reset] malformed: DFF<Bit>,
        /// Words of the unit that leaves: 0 and 1 its header, 2 data, 3 a TLP without data.
        #[reset] step: DFF<Bits<2>>,
        high: DFF<Bits<64>>,
        low: DFF<Bits<64>>,
        /// It is a completion; the next word of data is the first.
        completes: DFF<Bit>,
        first: DFF<Bit>,
        #[reset] set: DFF<Bit>,
        takes: Signal<Local, Bit>,
        word: Signal<Local, Bits<64>>,
        asked: Signal<Local, LinkSettings>,
        /// Words of data that the header says: 32 bits each, 64 bits each.
        length: Signal<Local, Bits<12>>,
        pairs: Signal<Local, Bits<12>>,
        bad: Signal<Local, Bit>,
        offers: Signal<Local, Bit>,
        taken: Signal<Local, Bit>,
        ends: Signal<Local, Bit>,
        strb: Signal<Local, Bits<2>>,
        data: Signal<Local, Bits<64>>,
        header: Signal<Local, Bits<128>>,
        gaps: Param<{ header_gaps(&SETTINGS, 0) }, 64>,
        most: Param<1024, 12>,
        is_settings: Param<1, 8>,
    }
}

impl<const A: usize, const P: usize> Logic for TlpUnitsIn<A, P> {
    #[hdl_gen]
    fn update(&mut self) {
        // A unit comes. Bit 63 is the first one that travels.
        self.s_unit.ready.next = self.enable.val() & self.store.room.val();
        self.takes.next = self.s_unit.valid.val() & self.enable.val() & self.store.room.val();
        self.came.s.next = self.s_unit.data.val();
        self.word.next = self.came.m.val();
        self.asked.next = self.came.m.val().into();
        self.length.next = bit_cast::<12, 10>(self.word.val().get_bits::<10>(32));
        if !self.word.val().get_bits::<10>(32).any() {
            self.length.next = self.most.val();
        }
        self.pairs.next = bit_cast::<12, 11>(self.length.val().get_bits::<11>(1))
            + bit_cast::<12, 1>(self.length.val().get_bits::<1>(0));
        if !self.word.val().get_bit(62) {
            self.pairs.next = 0.into();
        }
        self.bad.next = self.wrong.q.val() | (self.at.q.val() != self.final_at.q.val());
        if self.at.q.val() == 1 {
            comment!("DW3 is 0 behind a header of three words.");
            self.bad.next = self.wrong.q.val()
                | (self.at.q.val() != self.final_at.q.val())
                | (self.three.q.val() & self.word.val().get_bits::<32>(0).any());
        }
        if !self.at.q.val().any() {
            comment!("A TLP has two words at least; settings have one.");
            self.bad.next = !self.s_unit.settings.val()
                | (self.word.val() & self.gaps.val()).any()
                | (self.asked.val().max_payload.get_bit(2)
                    & self.asked.val().max_payload.get_bit(1))
                | (self.asked.val().max_read.get_bit(2) & self.asked.val().max_read.get_bit(1));
        }
        if self.takes.val() {
            if !self.at.q.val().all() {
                self.at.d.next = self.at.q.val() + 1;
            }
            if self.at.q.val() == 1 {
                self.wrong.d.next = self.wrong.q.val()
                    | (self.three.q.val() & self.word.val().get_bits::<32>(0).any());
            }
            if !self.at.q.val().any() {
                comment!("Neither prefix nor digest.");
                self.wrong.d.next = self.s_unit.settings.val()
                    | self.word.val().get_bit(63)
                    | self.word.val().get_bit(47);
                self.three.d.next = !self.word.val().get_bit(61);
                self.final_at.d.next = self.pairs.val() + 1;
            }
            if self.s_unit.last.val() {
                self.at.d.next = 0.into();
            }
        }
        self.malformed.d.next = self.takes.val() & self.s_unit.last.val() & self.bad.val();
        self.stat_malformed.next = self.malformed.q.val() | self.store.stat_dropped.val();
        self.store.s_axis_rx.tvalid.next = self.takes.val();
        self.store.s_axis_rx.tdata.next = self.s_unit.data.val();
        self.store.s_axis_rx.tkeep.next = 0.into();
        if self.s_unit.settings.val() {
            self.store.s_axis_rx.tkeep.next = self.is_settings.val();
        }
        self.store.s_axis_rx.tlast.next = self.s_unit.last.val();
        self.store.s_axis_rx.tuser.next = self.bad.val();

        // A unit leaves.
        self.kept.s.next = self.store.m_axis_tx.tdata.val();
        self.offers.next = (self.step.q.val() == 3)
            | ((self.step.q.val() == 2) & self.store.m_axis_tx.tvalid.val());
        self.ends.next = (self.step.q.val() == 3) | self.store.m_axis_tx.tlast.val();
        self.taken.next = self.offers.val() & self.m_req_tlp.ready.val();
        if self.completes.q.val() {
            self.taken.next = self.offers.val() & self.m_cpl_tlp.ready.val();
        }
        self.store.m_axis_tx.tready.next = self.enable.val();
        if self.step.q.val().get_bit(1) {
            self.store.m_axis_tx.tready.next = self.taken.val() & !self.step.q.val().get_bit(0);
        }
        self.set.d.next = false;
        if self.enable.val() & self.store.m_axis_tx.tvalid.val() {
            if self.step.q.val() == 0 {
                self.high.d.next = self.kept.m.val();
                self.completes.d.next = self.kept.m.val().get_bits::<4>(57) == 5;
                self.first.d.next = true;
                if self.store.m_axis_tx.tkeep.val().get_bit(0) {
                    self.set.d.next = true;
                } else {
                    self.step.d.next = 1.into();
                }
            }
            if self.step.q.val() == 1 {
                self.low.d.next = self.kept.m.val();
                self.step.d.next = 2.into();
                if self.store.m_axis_tx.tlast.val() {
                    self.step.d.next = 3.into();
                }
            }
        }
        if self.taken.val() {
            self.first.d.next = false;
            if self.ends.val() {
                self.step.d.next = 0.into();
            }
        }
        self.m_within.next = self.step.q.val().get_bit(1);
        self.m_set.next = self.set.q.val();
        self.m_settings.next = self.high.q.val();

        self.strb.next = 3.into();
        if self.ends.val() & self.high.q.val().get_bit(32) {
            self.strb.next = 1.into();
        }
        self.data.next = self.store.m_axis_tx.tdata.val();
        if self.step.q.val() == 3 {
            comment!("What stands there is of the next unit, and may change.");
            self.strb.next = 0.into();
            self.data.next = 0.into();
        }
        self.header.next =
            (bit_cast::<128, 64>(self.high.q.val()) << 64) | bit_cast::<128, 64>(self.low.q.val());
        self.m_req_tlp.valid.next = self.offers.val() & !self.completes.q.val();
        self.m_req_tlp.data.next = self.data.val();
        self.m_req_tlp.strb.next = self.strb.val();
        self.m_req_tlp.hdr.next = self.header.val();
        self.m_req_tlp.bar_id.next = 0.into();
        self.m_req_tlp.func_num.next = 0.into();
        self.m_req_tlp.sop.next = self.first.q.val();
        self.m_req_tlp.eop.next = self.ends.val();
        self.m_cpl_tlp.valid.next = self.offers.val() & self.completes.q.val();
        self.m_cpl_tlp.data.next = self.data.val();
        self.m_cpl_tlp.strb.next = self.strb.val();
        self.m_cpl_tlp.hdr.next = self.header.val();
        self.m_cpl_tlp.error.next = 0.into();
        self.m_cpl_tlp.sop.next = self.first.q.val();
        self.m_cpl_tlp.eop.next = self.ends.val();
    }
}
