//! TLPs of the card become units for the other end.

use super::SentWrite;
use crate::blocks::FifoAhead;
use crate::bus::{LinkOfferOut, TlpTxCompletionIn, TlpTxReadIn, TlpTxWriteIn};
use crate::prelude::*;
use crate::switch::ByteSwap;

hdl_module! {
    /// Makes units of the TLPs of three streams. A completion or a read leaves behind every write that was on offer before
    /// it, so that it never overtakes a write: writes go first, but for one other TLP behind each, if one was on offer when
    /// that write ended. Completions and reads take turns.
    /// Stages: 1 a TLP is chosen, its header in registers; 2 and 3 the two words of the header; 4 its data, a word a clock.
    /// So a TLP takes 3 clocks and one for each word of its data.
    /// The sequence number of a write returns when the other end has acknowledged its unit, 3 clocks behind s_acked, and 4
    /// behind the one before: then the write is there, whatever becomes of the link. 32 writes may wait for that, as many as
    /// a card has numbers for; with as many the next write waits, and all behind it.
    /// Without enable everything is taken and thrown away, and a unit that has begun is forgotten: m_unit_valid falls then.
    #[module("tlp_units_out")]
    pub struct TlpUnitsOut {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset.
        pub rst: Signal<In, Bit>,
        /// There is somebody at the other end.
        pub enable: Signal<In, Bit>,
        /// Completions of the card.
        pub s_cpl_tlp: TlpTxCompletionIn<64, 2>,
        /// Its reads.
        pub s_rd_tlp: TlpTxReadIn,
        /// Its writes.
        pub s_wr_tlp: TlpTxWriteIn<64, 2>,
        /// Units for the other end.
        pub m_unit: LinkOfferOut,
        /// Units of this session that the other end has acknowledged, modulo 2^16.
        pub s_acked: Signal<In, Bits<16>>,
        /// The sequence number of a write whose unit is among these.
        pub m_sent: Signal<Out, Bits<6>>,
        /// It is; pulse.
        pub m_sent_valid: Signal<Out, Bit>,
        /// Something is on offer, or a write has begun and not ended.
        pub m_some: Signal<Out, Bit>,

        swap: ByteSwap,
        /// 0 choose, 1 and 2 words of the header, 3 data.
        #[reset] step: DFF<Bits<2>>,
        header: DFF<Bits<128>>,
        /// Data of a completion; a bit for each of its words.
        data: DFF<Bits<64>>,
        strb: DFF<Bits<2>>,
        /// It is a write, with this number.
        writes: DFF<Bit>,
        number: DFF<Bits<6>>,
        /// The last TLP was a write; of the others the last one was a completion.
        #[reset] wrote: DFF<Bit>,
        #[reset] completed: DFF<Bit>,
        /// A write has begun and not ended.
        #[reset] within: DFF<Bit>,
        /// Units that were given in this session.
        #[reset] given: DFF<Bits<16>>,
        /// Writes that are not acknowledged.
        waits: FifoAhead<{ SentWrite::BITS }, 5>,
        write: Signal<Local, SentWrite>,
        /// The oldest of them; it is there; units between it and what is acknowledged, and whether that is known.
        oldest: DFF<SentWrite>,
        #[reset] some: DFF<Bit>,
        ahead: DFF<Bits<16>>,
        #[reset] known: DFF<Bit>,
        arrived: Signal<Local, Bit>,
        #[reset] returns: DFF<Bit>,
        returned: DFF<Bits<6>>,
        ends: Signal<Local, Bit>,
        others: Signal<Local, Bit>,
        pick_write: Signal<Local, Bit>,
        pick_completion: Signal<Local, Bit>,
        pick_read: Signal<Local, Bit>,
        chooses: Signal<Local, Bit>,
        has_data: Signal<Local, Bit>,
        /// Words of data: 32 bits each, 64 bits each.
        length: Signal<Local, Bits<12>>,
        pairs: Signal<Local, Bits<12>>,
        plain: Signal<Local, Bits<64>>,
        mask: Signal<Local, Bits<2>>,
        offers: Signal<Local, Bit>,
        taken: Signal<Local, Bit>,
        write_taken: Signal<Local, Bit>,
        most: Param<1024, 12>,
    }
}

impl Logic for TlpUnitsOut {
    #[hdl_gen]
    fn update(&mut self) {
        // The next TLP. Those without a second word are taken at once.
        self.others.next = self.s_cpl_tlp.valid.val() | self.s_rd_tlp.valid.val();
        self.pick_write.next =
            self.s_wr_tlp.valid.val() & !(self.wrote.q.val() & self.others.val());
        self.pick_completion.next = !self.pick_write.val()
            & self.s_cpl_tlp.valid.val()
            & !(self.s_rd_tlp.valid.val() & self.completed.q.val());
        self.pick_read.next =
            !self.pick_write.val() & self.s_rd_tlp.valid.val() & !self.pick_completion.val();
        self.chooses.next = self.enable.val() & (self.step.q.val() == 0);
        if self.chooses.val() {
            self.header.d.next = self.s_wr_tlp.hdr.val();
            self.writes.d.next = self.pick_write.val();
            self.number.d.next = self.s_wr_tlp.seq.val();
            self.data.d.next = self.s_cpl_tlp.data.val();
            self.strb.d.next = self.s_cpl_tlp.strb.val();
            if self.pick_completion.val() {
                self.header.d.next = self.s_cpl_tlp.hdr.val();
            }
            if self.pick_read.val() {
                self.header.d.next = self.s_rd_tlp.hdr.val();
            }
            if self.pick_write.val() | self.others.val() {
                self.step.d.next = 1.into();
                self.wrote.d.next = self.pick_write.val();
            }
            if self.pick_completion.val() | self.pick_read.val() {
                self.completed.d.next = self.pick_completion.val();
            }
        }

        // Its words.
        self.has_data.next = self.header.q.val().get_bit(126);
        self.length.next = bit_cast::<12, 10>(self.header.q.val().get_bits::<10>(96));
        if !self.header.q.val().get_bits::<10>(96).any() {
            self.length.next = self.most.val();
        }
        self.pairs.next = bit_cast::<12, 11>(self.length.val().get_bits::<11>(1))
            + bit_cast::<12, 1>(self.length.val().get_bits::<1>(0));
        if !self.has_data.val() {
            self.pairs.next = 0.into();
        }
        self.m_unit.words.next = self.pairs.val() + 2;
        self.m_unit.settings.next = false;
        self.swap.s.next = self.header.q.val().get_bits::<64>(64);
        if self.step.q.val() == 2 {
            self.swap.s.next = self.header.q.val().get_bits::<64>(0);
        }
        self.plain.next = self.data.q.val();
        self.mask.next = self.strb.q.val();
        if self.writes.q.val() {
            self.plain.next = self.s_wr_tlp.data.val();
            self.mask.next = self.s_wr_tlp.strb.val();
        }
        self.m_unit.data.next = self.swap.m.val();
        if self.step.q.val() == 3 {
            self.m_unit.data.next = self.plain.val();
            if !self.mask.val().get_bit(1) {
                self.m_unit.data.next = bit_cast::<64, 32>(self.plain.val().get_bits::<32>(0));
            }
        }
        self.offers.next = self.step.q.val().any()
            & ((self.step.q.val() != 3) | !self.writes.q.val() | self.s_wr_tlp.valid.val());
        // A write that is chosen keeps its turn while there is no place for its number.
        if (self.step.q.val() == 1) & self.writes.q.val() {
            self.offers.next = self.waits.s.ready.val();
        }
        self.m_unit.valid.next = self.enable.val() & self.offers.val();
        self.taken.next = self.enable.val() & self.offers.val() & self.m_unit.ready.val();
        self.ends.next = (self.step.q.val() == 2) & !self.has_data.val();
        if self.step.q.val() == 3 {
            self.ends.next = !self.writes.q.val() | self.s_wr_tlp.eop.val();
        }
        if self.taken.val() {
            if self.step.q.val() != 3 {
                self.step.d.next = self.step.q.val() + 1;
            }
            if self.ends.val() {
                self.step.d.next = 0.into();
                self.given.d.next = self.given.q.val() + 1;
            }
        }

        // Writes until they are acknowledged.
        self.write.next = SentWrite {
            unit: self.given.q.val(),
            number: self.number.q.val(),
        };
        self.waits.rst.next = self.rst.val() | !self.enable.val();
        self.waits.s.valid.next = self.taken.val() & self.ends.val() & self.writes.q.val();
        self.waits.s.data.next = self.write.val().to_bits();
        self.waits.m.ready.next = !self.some.q.val();
        self.ahead.d.next = self.s_acked.val() - self.oldest.q.val().unit;
        self.known.d.next = self.some.q.val();
        self.arrived.next =
            self.known.q.val() & !self.ahead.q.val().get_bit(15) & self.ahead.q.val().any();
        if !self.some.q.val() {
            self.oldest.d.next = self.waits.m.data.val().into();
            self.some.d.next = self.waits.m.valid.val();
        }
        self.returns.d.next = self.arrived.val() & self.enable.val();
        self.returned.d.next = self.oldest.q.val().number;
        if self.arrived.val() | !self.enable.val() {
            self.some.d.next = false;
            self.known.d.next = false;
        }
        self.s_cpl_tlp.ready.next = self.chooses.val() & self.pick_completion.val();
        self.s_rd_tlp.ready.next = self.chooses.val() & self.pick_read.val();
        self.s_wr_tlp.ready.next = self.enable.val()
            & (self.step.q.val() == 3)
            & self.writes.q.val()
            & self.m_unit.ready.val();
        if !self.enable.val() {
            self.s_cpl_tlp.ready.next = true;
            self.s_rd_tlp.ready.next = true;
            self.s_wr_tlp.ready.next = true;
            self.step.d.next = 0.into();
            self.wrote.d.next = false;
            self.given.d.next = 0.into();
        }
        self.write_taken.next = self.s_wr_tlp.valid.val()
            & (!self.enable.val()
                | ((self.step.q.val() == 3) & self.writes.q.val() & self.m_unit.ready.val()));
        if self.write_taken.val() {
            self.within.d.next = !self.s_wr_tlp.eop.val();
        }
        self.m_some.next = self.others.val() | self.s_wr_tlp.valid.val() | self.within.q.val();
        self.m_sent.next = self.returned.q.val();
        self.m_sent_valid.next = self.returns.q.val();
    }
}
