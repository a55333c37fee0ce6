//! Writes to host memory.

use super::DmaSplit;
use crate::blocks::TwoSlots;
use crate::bus::{DmaDoneOut, DmaRequestIn, StreamIn, TlpTxWriteOut};
use crate::prelude::*;

hdl_module! {
    /// Writes to host memory: any address, 1 to 4,096 bytes. A request is cut at multiples of the maximum payload size,
    /// 512 bytes at most; the first and the last 32-bit word of a TLP have byte enables.
    /// A word a clock, also from one TLP to the next and from one request to the next if they have 5 words or more; one
    /// word more for a TLP whose bytes touch one more.
    /// Without bus mastering, or without room for another sequence number, all waits in front of the host interface: no
    /// TLP begins later than one clock after s_room or bus_master_enable has fallen, and no m_done comes before its TLPs
    /// are handed over.
    /// TLPs are numbered 0 to 31 in turn, in bits 4:0 of their sequence number; bit 5 changes with each function-level
    /// reset.
    /// Stages: 3 clocks in dma_split; 1 word registered, 2 moved by 4 bytes, 3 by up to 3, 4 handed
    /// over, 5 m_done.
    /// flr is for a reset with the link up: a TLP that was offered is filled up with zeros, what was not is forgotten, and
    /// no m_done comes for what was asked before. rst cuts.
    /// While no word is taken, two words at the output and one in each of stages 1 to 3 are held. bus_master_enable and
    /// s_room may fall: what is on offer stays. Requester ID and header are those of the clock in which stage 2 took
    /// the word. After flr the word on offer stays, and those behind it in its TLP become zeros.
    #[module("dma_write")]
    pub struct DmaWrite {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset, with the link.
        pub rst: Signal<In, Bit>,
        /// Function-level reset, in effect one clock later: the engine forgets all requests.
        pub flr: Signal<In, Bit>,
        /// Requester ID of this card.
        pub requester_id: Signal<In, Bits<16>>,
        /// Maximum payload size: 128 bytes shifted left by this.
        pub max_payload_size: Signal<In, Bits<3>>,
        /// TLPs may begin.
        pub bus_master_enable: Signal<In, Bit>,
        /// TLPs may begin: there are sequence numbers for three more.
        pub s_room: Signal<In, Bit>,
        /// Writes; their words follow.
        pub s_req: DmaRequestIn,
        /// The words of the requests, packed from byte 0 of each.
        pub s_data: StreamIn<64>,
        /// A TLP was handed over; pulse, one clock after its last word.
        pub m_sent: Signal<Out, Bit>,
        /// With m_sent: it was the last TLP of a request.
        pub m_done: DmaDoneOut,
        /// Writes of host memory.
        pub m_tx_wr_req_tlp: TlpTxWriteOut<64, 2>,
        /// A TLP has begun and not ended.
        pub m_within: Signal<Out, Bit>,
        /// Something of before a function-level reset has not left.
        pub m_old: Signal<Out, Bit>,
        /// A request was taken that is not done.
        pub m_busy: Signal<Out, Bit>,

        split: DmaSplit,
        /// Words that come in.
        coming: TwoSlots<64>,
        /// flr, one clock later: all stages hang on it, and its source may be far away.
        #[reset] forget: DFF<Bit>,
        clear: Signal<Local, Bit>,
        /// A TLP under way: its words follow.
        #[reset] held: DFF<Bit>,
        addr: DFF<Bits<62>>,
        wide: DFF<Bit>,
        dwords: DFF<Bits<8>>,
        first_be: DFF<Bits<4>>,
        last_be: DFF<Bits<4>>,
        ctx: DFF<Bits<16>>,
        /// It is the last of its request.
        last: DFF<Bit>,
        /// Words are still missing; the next one is the first; the next one is the last.
        beats: DFF<Bits<7>>,
        sop: DFF<Bit>,
        eop: DFF<Bit>,
        /// Bytes by which the words of the request move up.
        shift: DFF<Bits<3>>,
        /// Words of the request that have not come; there are some.
        words: DFF<Bits<10>>,
        #[reset] more: DFF<Bit>,
        /// The word before.
        prior: DFF<Bits<64>>,
        /// The TLP is filled up with zeros.
        #[reset] fill: DFF<Bit>,
        fire: Signal<Local, Bit>,
        load: Signal<Local, Bit>,
        go: Signal<Local, Bit>,
        word: Signal<Local, Bits<64>>,
        moved: Signal<Local, Bits<64>>,
        dw_0: Signal<Local, Bits<32>>,
        dw_1: Signal<Local, Bits<32>>,
        header: Signal<Local, Bits<128>>,
        strb: Signal<Local, Bits<2>>,
        total: Signal<Local, Bits<7>>,
        /// Words that go out: data 63:0, strb 65:64, sop 66, eop 67, request ends 68, ctx 84:69, header 212:85.
        leaving: TwoSlots<213>,
        out: Signal<Local, Bits<213>>,
        taken: Signal<Local, Bit>,
        /// Words may go out: of the TLP that has begun, or a TLP may begin.
        #[reset] may: DFF<Bit>,
        /// A TLP has begun and not ended.
        #[reset] inside: DFF<Bit>,
        /// The TLP goes on in the next clock.
        stays: Signal<Local, Bit>,
        /// Sequence number of the TLP that goes out next.
        #[reset] seq: DFF<Bits<6>>,
        /// A TLP was handed over.
        #[reset] sent: DFF<Bit>,
        /// What stands at the output is of before a function-level reset.
        #[reset] old: DFF<Bit>,
        #[reset] done: DFF<Bit>,
        done_ctx: DFF<Bits<16>>,
        /// Requests under way.
        #[reset] count: DFF<Bits<4>>,
        /// A request was taken one clock ago; it has bytes.
        begun: DFF<Bit>,
        some: DFF<Bit>,
        /// The part on offer is already taken: dma_split hears of it one clock late.
        #[reset] loaded: DFF<Bit>,
        /// A word on its way out: with it 32 bits of the one before, bytes it moves by, zeros in its place.
        #[reset] st_valid: DFF<Bit>,
        /// There is none: for what is counted, as the word's registers load st_valid enough.
        st_none: DFF<Bit>,
        st_pair: DFF<Bits<96>>,
        st_shift: DFF<Bits<2>>,
        st_fill: DFF<Bit>,
        /// What goes out beside it, as in `leaving` from strb on.
        st_rest: DFF<Bits<149>>,
        st_free: Signal<Local, Bit>,
        begins: Signal<Local, Bit>,
        ends: Signal<Local, Bit>,
    }
}

impl Logic for DmaWrite {
    #[hdl_gen]
    fn update(&mut self) {
        self.forget.d.next = self.flr.val();
        self.clear.next = self.rst.val() | self.forget.q.val();
        self.split.rst.next = self.clear.val();
        self.split.cfg_size.next = self.max_payload_size.val();
        DmaRequestIn::link(&mut self.s_req, &mut self.split.s_req);
        self.coming.rst.next = self.clear.val();
        StreamIn::<64>::link(&mut self.s_data, &mut self.coming.s);

        // A word of the TLP under way: it needs one of the request, unless all have come.
        self.st_free.next = !self.st_valid.q.val() | self.leaving.s.ready.val();
        self.go.next = self.held.q.val() & (self.st_none.q.val() | self.leaving.s.ready.val());
        self.fire.next = self.go.val() & (self.coming.m.valid.val() | !self.more.q.val());
        self.coming.m.ready.next = self.go.val() & self.more.q.val();
        self.word.next = self.coming.m.data.val();
        if self.fire.val() {
            self.prior.d.next = self.word.val();
            self.sop.d.next = false;
            self.beats.d.next = self.beats.q.val() - 1;
            self.eop.d.next = self.beats.q.val() == 2;
            if self.more.q.val() {
                self.words.d.next = self.words.q.val() - 1;
                self.more.d.next = self.words.q.val() != 1;
            }
            if self.eop.q.val() {
                self.held.d.next = false;
                self.fill.d.next = false;
            }
        }

        // The next TLP: behind the last word of the one before. What is left of before a reset goes first.
        self.load.next = self.split.m_valid.val()
            & !self.loaded.q.val()
            & ((!self.held.q.val() & !self.old.q.val()) | (self.fire.val() & self.eop.q.val()))
            & !self.fill.q.val()
            & !self.forget.q.val();
        self.loaded.d.next = self.load.val();
        self.split.m_ready.next = self.loaded.q.val();
        self.total.next = self.split.m_dwords.val().get_bits::<7>(1)
            + bit_cast::<7, 1>(self.split.m_dwords.val().get_bits::<1>(0));
        if self.load.val() {
            self.held.d.next = true;
            self.addr.d.next = self.split.m_addr.val().get_bits::<62>(2);
            self.wide.d.next = self.split.m_wide.val();
            self.dwords.d.next = self.split.m_dwords.val();
            self.first_be.d.next = self.split.m_first_be.val();
            self.last_be.d.next = self.split.m_last_be.val();
            self.ctx.d.next = self.split.m_ctx.val();
            self.last.d.next = self.split.m_last.val();
            self.beats.d.next = self.total.val();
            self.sop.d.next = true;
            self.eop.d.next = self.total.val() == 1;
            // The first TLP begins at a 32-bit word, the others at a 64-bit word.
            self.shift.d.next = self.split.m_offset.val();
            if self.split.m_first.val() {
                self.shift.d.next = self.split.m_offset.val() & 3;
                self.words.d.next = self.split.m_words.val();
                self.more.d.next = true;
            }
        }

        self.dw_0.next = (bit_cast::<32, 1>(self.wide.q.val().into()) << 29)
            | (bits::<32>(1) << 30)
            | bit_cast::<32, 8>(self.dwords.q.val());
        self.dw_1.next = (bit_cast::<32, 16>(self.requester_id.val()) << 16)
            | (bit_cast::<32, 4>(self.last_be.q.val()) << 4)
            | bit_cast::<32, 4>(self.first_be.q.val());
        self.header.next = (bit_cast::<128, 32>(self.dw_0.val()) << 96)
            | (bit_cast::<128, 32>(self.dw_1.val()) << 64)
            | (bit_cast::<128, 30>(self.addr.q.val().get_bits::<30>(0)) << 34);
        if self.wide.q.val() {
            self.header.next = (bit_cast::<128, 32>(self.dw_0.val()) << 96)
                | (bit_cast::<128, 32>(self.dw_1.val()) << 64)
                | (bit_cast::<128, 62>(self.addr.q.val()) << 2);
        }
        self.strb.next = 3.into();
        if self.eop.q.val() & self.dwords.q.val().get_bit(0) {
            self.strb.next = 1.into();
        }
        // Moved by 4 bytes, then by up to 3.
        self.st_valid.d.next =
            self.fire.val() | (self.st_valid.q.val() & !self.leaving.s.ready.val());
        self.st_none.d.next =
            !self.fire.val() & (self.st_none.q.val() | self.leaving.s.ready.val());
        if self.st_free.val() {
            self.st_pair.d.next = bit_cast::<96, 32>(self.prior.q.val().get_bits::<32>(32))
                | (bit_cast::<96, 64>(self.word.val()) << 32);
            if self.shift.q.val().get_bit(2) {
                self.st_pair.d.next = bit_cast::<96, 64>(self.prior.q.val())
                    | (bit_cast::<96, 32>(self.word.val().get_bits::<32>(0)) << 64);
            }
            self.st_shift.d.next = self.shift.q.val().get_bits::<2>(0);
            self.st_fill.d.next = self.fill.q.val();
            self.st_rest.d.next = bit_cast::<149, 2>(self.strb.val())
                | (bit_cast::<149, 1>(self.sop.q.val().into()) << 2)
                | (bit_cast::<149, 1>(self.eop.q.val().into()) << 3)
                | (bit_cast::<149, 1>((self.eop.q.val() & self.last.q.val()).into()) << 4)
                | (bit_cast::<149, 16>(self.ctx.q.val()) << 5)
                | (bit_cast::<149, 128>(self.header.val()) << 21);
        }
        self.moved.next = self.st_pair.q.val().get_bits::<64>(32);
        if self.st_shift.q.val() == 1 {
            self.moved.next = self.st_pair.q.val().get_bits::<64>(24);
        }
        if self.st_shift.q.val() == 2 {
            self.moved.next = self.st_pair.q.val().get_bits::<64>(16);
        }
        if self.st_shift.q.val() == 3 {
            self.moved.next = self.st_pair.q.val().get_bits::<64>(8);
        }
        if self.st_fill.q.val() {
            self.moved.next = 0.into();
        }
        self.leaving.s.valid.next = self.st_valid.q.val();
        self.leaving.s.data.next = bit_cast::<213, 64>(self.moved.val())
            | (bit_cast::<213, 149>(self.st_rest.q.val()) << 64);

        // Handed over. What is offered stays; what is not, and is of before a reset, goes by itself.
        self.out.next = self.leaving.m.data.val();
        self.m_tx_wr_req_tlp.data.next = self.out.val().get_bits::<64>(0);
        self.m_tx_wr_req_tlp.strb.next = self.out.val().get_bits::<2>(64);
        self.m_tx_wr_req_tlp.sop.next = self.out.val().get_bit(66);
        self.m_tx_wr_req_tlp.eop.next = self.out.val().get_bit(67);
        self.m_tx_wr_req_tlp.valid.next = self.leaving.m.valid.val() & self.may.q.val();
        self.m_tx_wr_req_tlp.hdr.next = self.out.val().get_bits::<128>(85);
        self.m_tx_wr_req_tlp.seq.next = self.seq.q.val();
        self.leaving.m.ready.next = (self.m_tx_wr_req_tlp.ready.val() & self.may.q.val())
            | (self.old.q.val() & !self.may.q.val());
        self.taken.next =
            self.leaving.m.valid.val() & self.m_tx_wr_req_tlp.ready.val() & self.may.q.val();
        self.stays.next = self.inside.q.val();
        if self.leaving.m.valid.val() & self.may.q.val() {
            self.stays.next = !(self.m_tx_wr_req_tlp.ready.val() & self.out.val().get_bit(67));
        }
        self.inside.d.next = self.stays.val();
        self.m_within.next = self.inside.q.val() & !self.old.q.val();
        self.m_old.next = self.old.q.val();
        self.may.d.next = self.stays.val()
            | (self.bus_master_enable.val()
                & self.s_room.val()
                & !self.old.q.val()
                & !self.forget.q.val());
        if self.taken.val() & self.out.val().get_bit(67) {
            self.seq.d.next =
                (self.seq.q.val() & 0x20) | bit_cast::<6, 5>(self.seq.q.val().get_bits::<5>(0) + 1);
        }
        self.ends.next = self.taken.val()
            & self.out.val().get_bit(67)
            & !self.old.q.val()
            & !self.forget.q.val();
        self.sent.d.next = self.ends.val();
        self.m_sent.next = self.sent.q.val();
        self.done.d.next = self.ends.val() & self.out.val().get_bit(68);
        self.done_ctx.d.next = self.out.val().get_bits::<16>(69);
        self.m_done.valid.next = self.done.q.val();
        self.m_done.ctx.next = self.done_ctx.q.val();

        // Counted one clock late: what the request and its end depend on comes late in theirs.
        self.begun.d.next =
            self.s_req.valid.val() & self.split.s_req.ready.val() & !self.clear.val();
        self.some.d.next = self.s_req.of.val().len.any();
        self.begins.next = self.begun.q.val() & self.some.q.val();
        if self.begins.val() & !self.done.q.val() {
            self.count.d.next = self.count.q.val() + 1;
        }
        if self.done.q.val() & !self.begins.val() {
            self.count.d.next = self.count.q.val() - 1;
        }
        self.m_busy.next = self.count.q.val().any() | self.begins.val();

        if self.old.q.val()
            & !self.held.q.val()
            & !self.st_valid.q.val()
            & !self.leaving.m.valid.val()
        {
            self.old.d.next = false;
            if !self.forget.q.val() {
                // Numbers of before that still come back are known by bit 5.
                self.seq.d.next = !self.seq.q.val() & 0x20;
            }
        }
        if self.forget.q.val() {
            self.old.d.next = true;
            self.loaded.d.next = false;
            self.count.d.next = 0.into();
            self.more.d.next = false;
            self.fill.d.next = true;
            // A TLP whose first word has not gone out is forgotten.
            if self.sop.q.val() & !self.fire.val() {
                self.held.d.next = false;
                self.fill.d.next = false;
            }
            if !self.held.q.val() | (self.fire.val() & self.eop.q.val()) {
                self.fill.d.next = false;
            }
        }
        if self.rst.val() {
            self.st_none.d.next = true;
        }
    }
}
