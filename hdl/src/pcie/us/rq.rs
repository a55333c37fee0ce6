//! Reads and writes of host memory: TLPs to RQ of the PCI Express block.

use super::rq_beats::RqBeats;
use crate::blocks::TwoSlots;
use crate::bus::{TlpTxReadIn, TlpTxWriteIn, UsAxisOut};
use crate::prelude::*;

hdl_record! {
    /// A beat of one of both.
    struct Beat {
        /// Descriptor or data.
        data: Bits<64>,
        /// Byte enables of the TLP.
        enables: Bits<8>,
        /// Number of the TLP.
        seq: Bits<6>,
    }
}

hdl_record! {
    /// A beat that leaves: it is one of these.
    struct Beats {
        /// If it is of a read.
        read: Bits<78>,
        /// If it is of a write.
        write: Bits<78>,
        /// It is.
        of_write: Bit,
        /// Words of it that count.
        keep: Bits<2>,
        /// The last one of its TLP.
        last: Bit,
    }
}

hdl_module! {
    /// Makes of reads and writes of host memory what the PCI Express block of UltraScale+ takes from its requester: a
    /// descriptor of two beats, then data. Both go through one port, in the order in which they are taken: so a read that
    /// is offered when a write has been taken leaves behind it. While both wait they take turns.
    /// A read has a number that no write of its time has, 31 with the other bit 5 than the writes before it: pcie_us_seq
    /// tells it by that. Tags, IDs, attributes, byte enables and lengths are those of the TLP; the bus of the requester ID
    /// is the block's affair ("own ID" is 0).
    /// Without `may` no TLP begins: what waits stays. With `discard` what is on offer is taken and thrown away, but the rest
    /// of a TLP that has begun leaves.
    /// One beat a clock, TLPs back to back without a clock between them: 64 bytes take 10 clocks. Stages: 1 beats
    /// of both registered, and the one that leaves chosen behind that: the first one is offered a clock behind the TLP.
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
        push: Signal<Local, Bit>,
        taken: Signal<Local, Bit>,
        ends: Signal<Local, Bit>,
        /// The beat, were it of the read or of the write.
        of_read: RqBeats,
        of_write: RqBeats,
        word: Signal<Local, Bits<64>>,
        keep: Signal<Local, Bits<2>>,
        beats: Signal<Local, Beats>,
        leaving: TwoSlots<{ Beats::BITS }>,
        first: Signal<Local, Beats>,
        beat: Signal<Local, Beat>,
        /// A read began.
        #[reset] read: DFF<Bit>,
        read_lap: DFF<Bit>,
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
        self.push.next = self.begins.val();
        self.ends.next = false;
        if self.step.q.val() == 1 {
            self.push.next = true;
            self.ends.next = !self.wrote.q.val();
        }
        if self.step.q.val().get_bit(1) {
            self.push.next = self.s_wr_tlp.valid.val();
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

        // Both beats are made, and the one that leaves is chosen behind the registers: the choice has far to go.
        self.of_read.hdr.next = self.s_rd_tlp.hdr.val();
        self.of_read.second.next = self.step.q.val().get_bit(0);
        self.of_write.hdr.next = self.s_wr_tlp.hdr.val();
        self.of_write.second.next = self.step.q.val().get_bit(0);
        self.word.next = self.of_write.m.val().get_bits::<64>(0);
        self.keep.next = 3.into();
        if self.step.q.val().get_bit(1) {
            self.word.next = self.s_wr_tlp.data.val();
            self.keep.next = self.s_wr_tlp.strb.val();
        }
        self.beats.next = Beats {
            read: bit_cast::<78, 72>(self.of_read.m.val())
                | (bits::<78>(31) << 72)
                | (bit_cast::<78, 1>((!self.lap.q.val()).into()) << 77),
            write: bit_cast::<78, 64>(self.word.val())
                | (bit_cast::<78, 8>(self.of_write.m.val().get_bits::<8>(64)) << 64)
                | (bit_cast::<78, 6>(self.s_wr_tlp.seq.val()) << 72),
            of_write: self.pick_write.val(),
            keep: self.keep.val(),
            last: self.ends.val(),
        };
        self.leaving.s.valid.next = self.push.val();
        self.leaving.s.data.next = self.beats.val().to_bits();
        self.first.next = self.leaving.m.data.val().into();
        self.beat.next = self.first.val().read.into();
        if self.first.val().of_write {
            self.beat.next = self.first.val().write.into();
        }
        self.m_axis_rq.tvalid.next = self.leaving.m.valid.val();
        self.leaving.m.ready.next = self.m_axis_rq.tready.val();
        self.m_axis_rq.tdata.next = self.beat.val().data;
        self.m_axis_rq.tkeep.next = self.first.val().keep;
        self.m_axis_rq.tlast.next = self.first.val().last;
        self.m_axis_rq.tuser.next = bit_cast::<62, 8>(self.beat.val().enables)
            | (bit_cast::<62, 4>(self.beat.val().seq.get_bits::<4>(0)) << 24)
            | (bit_cast::<62, 2>(self.beat.val().seq.get_bits::<2>(4)) << 60);
    }
}
