//! Reads and writes of host memory: TLPs to RQ of the PCI Express block.

use crate::blocks::TwoSlots;
use crate::bus::{TlpTxReadIn, TlpTxWriteIn, UsAxisOut};
use crate::prelude::*;

hdl_module! {
    /// Makes of reads and writes of host memory what the PCI Express block of UltraScale+ takes from its requester: a
    /// descriptor of two beats, then data. Both go through one port, in the order in which they are taken: so a read that
    /// is offered when a write has been taken leaves behind it. While both wait they take turns.
    /// A read has a number that no write of its time has, 31 with the other bit 5 than the writes before it: pcie_us_seq
    /// tells it by that. Tags, IDs, attributes, byte enables and lengths are those of the TLP; the bus of the requester ID
    /// is the block's affair ("own ID" is 0).
    /// Without `may` no TLP begins: what waits stays. With `discard` what is on offer is taken and thrown away, but the rest
    /// of a TLP that has begun leaves.
    /// One beat a clock, TLPs back to back without a clock between them: 64 bytes take 10 clocks. Stages: 1 beat registered:
    /// the first beat is offered a clock behind the TLP.
    /// A read and the first word of a write are taken when their headers have gone, and are to stay until then. Up to 2
    /// beats wait while the block takes none; may and discard may change at any time.
    #[module("pcie_us_rq")]
    pub struct PcieUsRq {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset, with the block.
        pub rst: Signal<In, Bit>,
        /// TLPs may begin.
        pub may: Signal<In, Bit>,
        /// TLPs that have not begun are thrown away.
        pub discard: Signal<In, Bit>,
        /// Reads of host memory.
        pub s_rd_tlp: TlpTxReadIn,
        /// Writes of host memory.
        pub s_wr_tlp: TlpTxWriteIn<64, 2>,
        /// Requester requests; tuser: first byte enables 3:0, last 7:4, number 27:24 and 61:60; the rest 0.
        pub m_axis_rq: UsAxisOut<64, 2, 62>,
        /// A read begins; pulse.
        pub m_read: Signal<Out, Bit>,
        /// With it: bit 5 of its number.
        pub m_read_lap: Signal<Out, Bit>,

        /// 0 and 1 descriptor, 2 data.
        #[reset] step: DFF<Bits<2>>,
        /// The TLP is a write; so was the last one that was chosen.
        #[reset] wrote: DFF<Bit>,
        /// Bit 5 of the number of the last write.
        #[reset] lap: DFF<Bit>,
        pick_write: Signal<Local, Bit>,
        begins: Signal<Local, Bit>,
        header: Signal<Local, Bits<128>>,
        low: Signal<Local, Bits<32>>,
        high: Signal<Local, Bits<32>>,
        dw_2: Signal<Local, Bits<32>>,
        dw_3: Signal<Local, Bits<32>>,
        seq: Signal<Local, Bits<6>>,
        push: Signal<Local, Bit>,
        taken: Signal<Local, Bit>,
        word: Signal<Local, Bits<64>>,
        keep: Signal<Local, Bits<2>>,
        ends: Signal<Local, Bit>,
        /// Beats: data 63:0, keep 65:64, last 66, byte enables 74:67, number 80:75.
        leaving: TwoSlots<81>,
        /// A read began.
        #[reset] read: DFF<Bit>,
        read_lap: DFF<Bit>,
        /// 1,024 words are 0 in a header.
        most: Param<1024, 32>,
    }
}

impl Logic for PcieUsRq {
    #[hdl_gen]
    fn update(&mut self) {
        self.pick_write.next = self.wrote.q.val();
        if self.step.q.val() == 0 {
            self.pick_write.next = self.s_wr_tlp.valid.val()
                & self.s_wr_tlp.sop.val()
                & !(self.wrote.q.val() & self.s_rd_tlp.valid.val());
        }
        self.begins.next = (self.step.q.val() == 0)
            & ((self.s_wr_tlp.valid.val() & self.s_wr_tlp.sop.val()) | self.s_rd_tlp.valid.val())
            & self.may.val()
            & !self.discard.val();
        self.header.next = self.s_rd_tlp.hdr.val();
        self.seq.next = bits::<6>(31) | (bit_cast::<6, 1>((!self.lap.q.val()).into()) << 5);
        if self.pick_write.val() {
            self.header.next = self.s_wr_tlp.hdr.val();
            self.seq.next = self.s_wr_tlp.seq.val();
        }
        self.low.next = self.header.val().get_bits::<32>(32);
        self.high.next = 0.into();
        if self.header.val().get_bit(125) {
            self.low.next = self.header.val().get_bits::<32>(0);
            self.high.next = self.header.val().get_bits::<32>(32);
        }
        self.dw_2.next = bit_cast::<32, 10>(self.header.val().get_bits::<10>(96))
            | (bit_cast::<32, 1>(self.header.val().get_bits::<1>(126)) << 11)
            | (bit_cast::<32, 1>(self.header.val().get_bits::<1>(110)) << 15)
            | (bit_cast::<32, 16>(self.header.val().get_bits::<16>(80)) << 16);
        if !self.header.val().get_bits::<10>(96).any() {
            self.dw_2.next = self.most.val()
                | (bit_cast::<32, 1>(self.header.val().get_bits::<1>(126)) << 11)
                | (bit_cast::<32, 1>(self.header.val().get_bits::<1>(110)) << 15)
                | (bit_cast::<32, 16>(self.header.val().get_bits::<16>(80)) << 16);
        }
        self.dw_3.next = bit_cast::<32, 8>(self.header.val().get_bits::<8>(72))
            | (bit_cast::<32, 3>(self.header.val().get_bits::<3>(116)) << 25)
            | (bit_cast::<32, 2>(self.header.val().get_bits::<2>(108)) << 28)
            | (bit_cast::<32, 1>(self.header.val().get_bits::<1>(114)) << 30);

        self.push.next = self.begins.val();
        self.word.next = (bit_cast::<64, 32>(self.high.val()) << 32)
            | (bit_cast::<64, 30>(self.low.val().get_bits::<30>(2)) << 2)
            | bit_cast::<64, 2>(self.header.val().get_bits::<2>(106));
        self.keep.next = 3.into();
        self.ends.next = false;
        if self.step.q.val() == 1 {
            self.push.next = true;
            self.word.next =
                bit_cast::<64, 32>(self.dw_2.val()) | (bit_cast::<64, 32>(self.dw_3.val()) << 32);
            self.ends.next = !self.wrote.q.val();
        }
        if self.step.q.val().get_bit(1) {
            self.push.next = self.s_wr_tlp.valid.val();
            self.word.next = self.s_wr_tlp.data.val();
            self.keep.next = self.s_wr_tlp.strb.val();
            self.ends.next = self.s_wr_tlp.eop.val();
        }
        self.taken.next = self.push.val() & self.leaving.s.ready.val();
        self.read.d.next = false;
        self.read_lap.d.next = !self.lap.q.val();
        if self.taken.val() {
            self.step.d.next = self.step.q.val() + 1;
            if self.step.q.val() == 0 {
                self.wrote.d.next = self.pick_write.val();
                self.read.d.next = !self.pick_write.val();
                if self.pick_write.val() {
                    self.lap.d.next = self.s_wr_tlp.seq.val().get_bit(5);
                }
            }
            if self.step.q.val().get_bit(1) {
                self.step.d.next = 2.into();
            }
            if self.ends.val() {
                self.step.d.next = 0.into();
            }
        }
        self.s_rd_tlp.ready.next =
            ((self.step.q.val() == 1) & !self.wrote.q.val() & self.leaving.s.ready.val())
                | ((self.step.q.val() == 0) & self.discard.val());
        // Words whose TLP was thrown away in part are no beginning.
        self.s_wr_tlp.ready.next = (self.step.q.val().get_bit(1) & self.leaving.s.ready.val())
            | ((self.step.q.val() == 0) & (self.discard.val() | !self.s_wr_tlp.sop.val()));
        self.m_read.next = self.read.q.val();
        self.m_read_lap.next = self.read_lap.q.val();

        self.leaving.s.valid.next = self.push.val();
        self.leaving.s.data.next = bit_cast::<81, 64>(self.word.val())
            | (bit_cast::<81, 2>(self.keep.val()) << 64)
            | (bit_cast::<81, 1>(self.ends.val().into()) << 66)
            | (bit_cast::<81, 8>(self.header.val().get_bits::<8>(64)) << 67)
            | (bit_cast::<81, 6>(self.seq.val()) << 75);
        self.m_axis_rq.tvalid.next = self.leaving.m.valid.val();
        self.leaving.m.ready.next = self.m_axis_rq.tready.val();
        self.m_axis_rq.tdata.next = self.leaving.m.data.val().get_bits::<64>(0);
        self.m_axis_rq.tkeep.next = self.leaving.m.data.val().get_bits::<2>(64);
        self.m_axis_rq.tlast.next = self.leaving.m.data.val().get_bit(66);
        self.m_axis_rq.tuser.next = bit_cast::<62, 8>(self.leaving.m.data.val().get_bits::<8>(67))
            | (bit_cast::<62, 4>(self.leaving.m.data.val().get_bits::<4>(75)) << 24)
            | (bit_cast::<62, 2>(self.leaving.m.data.val().get_bits::<2>(79)) << 60);
    }
}
