//! Reads of host memory.

use super::{DmaCompletions, DmaDeliver, DmaSplit, DmaTags};
use crate::blocks::RamRegHold;
use crate::bus::{DmaReadWordsOut, DmaRequestIn, RamWriteOut, TlpRxCompletionIn, TlpTxReadOut};
use crate::prelude::*;

hdl_module! {
    /// Reads host memory: up to 32 reads of up to 512 bytes under way, completions in any order between them, words
    /// handed out in the order of requests, packed from byte 0 of each; always as many as the request has.
    /// A request is cut at multiples of the maximum read request size, 512 bytes at most. A read fails, and its request
    /// with it, on a status other than success, poisoned data, a completion that is not as expected, or a timeout. The tag
    /// of a read that was given up is not used again while completions may come for it.
    /// Without bus mastering reads wait in front of the host interface, without a timeout: none is offered later than
    /// two clocks after bus_master_enable has fallen.
    /// Latency: 4 clocks from a request to its first TLP, 11 from the last word of a completion to the first of m_data.
    /// Stages: those of dma_split, dma_completions and dma_deliver.
    /// flr is for a reset with the link up: completions for the reads of before are recognised. After rst none may come.
    /// While a TLP is not taken it stays as it is, whatever becomes of bus_master_enable, requester_id and flr; no
    /// other is begun. While no word is taken, completions go on being written to the buffers of other tags.
    #[module("dma_read")]
    pub struct DmaRead {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset, with the link.
        pub rst: Signal<In, Bit>,
        /// Function-level reset, in effect one clock later: the engine forgets all requests.
        pub flr: Signal<In, Bit>,
        /// Requester ID of this card.
        pub requester_id: Signal<In, Bits<16>>,
        /// Maximum read request size: 128 bytes shifted left by this.
        pub max_read_request_size: Signal<In, Bits<3>>,
        /// TLPs may begin.
        pub bus_master_enable: Signal<In, Bit>,
        /// Units of 64 clocks after which a read fails; 0 never.
        pub cfg_timeout: Signal<In, Bits<16>>,
        /// Reads.
        pub s_req: DmaRequestIn,
        /// Their words, in the order of the requests.
        pub m_data: DmaReadWordsOut,
        /// Reads of host memory.
        pub m_tx_rd_req_tlp: TlpTxReadOut,
        /// Completions from the host.
        pub s_rx_cpl_tlp: TlpRxCompletionIn<64, 2>,
        /// A request was taken whose last word was not.
        pub m_busy: Signal<Out, Bit>,
        /// A completion was dropped: nobody waits for it.
        pub ev_stray: Signal<Out, Bit>,
        /// A request has failed.
        pub ev_failed: Signal<Out, Bit>,

        split: DmaSplit,
        tags: DmaTags,
        completions: DmaCompletions,
        deliver: DmaDeliver,
        /// The buffer: 32-bit words at even and at odd places.
        even: RamRegHold<32, 11>,
        odd: RamRegHold<32, 11>,
        /// flr, one clock later: all stages hang on it, and its source may be far away.
        #[reset] forget: DFF<Bit>,
        clear: Signal<Local, Bit>,
        /// No TLP may begin: bus mastering is off.
        stop: DFF<Bit>,
        /// A read goes out.
        fire: Signal<Local, Bit>,
        /// The TLP.
        valid: DFF<Bit>,
        wide: DFF<Bit>,
        /// Requester ID when the read was made, however long it is held.
        id: DFF<Bits<16>>,
        addr: DFF<Bits<62>>,
        dwords: DFF<Bits<8>>,
        tag: DFF<Bits<5>>,
        first_be: DFF<Bits<4>>,
        last_be: DFF<Bits<4>>,
        dw_0: Signal<Local, Bits<32>>,
        dw_1: Signal<Local, Bits<32>>,
        /// Requests under way.
        count: DFF<Bits<7>>,
        /// A request was taken one clock ago; it has bytes; one ended.
        begun: DFF<Bit>,
        some: DFF<Bit>,
        ended: DFF<Bit>,
        /// The part on offer is already taken: dma_split hears of it one clock late.
        fired: DFF<Bit>,
        /// What completions of it must be like is not yet noted.
        #[reset] setting: DFF<Bit>,
        set_addr: DFF<Bits<9>>,
        set_bytes: DFF<Bits<10>>,
        begins: Signal<Local, Bit>,
    }
}

impl Logic for DmaRead {
    #[hdl_gen]
    fn update(&mut self) {
        self.forget.d.next = self.flr.val();
        self.clear.next = self.rst.val() | self.forget.q.val();
        self.split.rst.next = self.clear.val();
        self.split.cfg_size.next = self.max_read_request_size.val();
        DmaRequestIn::link(&mut self.s_req, &mut self.split.s_req);

        // A part becomes a read.
        self.fire.next = self.split.m_valid.val()
            & self.tags.m_free.val()
            & self.deliver.s_ready.val()
            & !self.setting.q.val()
            & !self.valid.q.val()
            & !self.stop.q.val()
            & !self.forget.q.val();
        self.stop.d.next = !self.bus_master_enable.val();
        self.fired.d.next = self.fire.val();
        self.split.m_ready.next = self.fired.q.val();
        if self.m_tx_rd_req_tlp.ready.val() {
            self.valid.d.next = false;
        }
        if self.fire.val() {
            self.valid.d.next = true;
            self.wide.d.next = self.split.m_wide.val();
            self.id.d.next = self.requester_id.val();
            self.addr.d.next = self.split.m_addr.val().get_bits::<62>(2);
            self.dwords.d.next = self.split.m_dwords.val();
            self.tag.d.next = self.tags.m_slot.val();
            self.first_be.d.next = self.split.m_first_be.val();
            self.last_be.d.next = self.split.m_last_be.val();
        }
        self.dw_0.next = (bit_cast::<32, 1>(self.wide.q.val().into()) << 29)
            | bit_cast::<32, 8>(self.dwords.q.val());
        self.dw_1.next = (bit_cast::<32, 16>(self.id.q.val()) << 16)
            | (bit_cast::<32, 5>(self.tag.q.val()) << 8)
            | (bit_cast::<32, 4>(self.last_be.q.val()) << 4)
            | bit_cast::<32, 4>(self.first_be.q.val());
        self.m_tx_rd_req_tlp.hdr.next = (bit_cast::<128, 32>(self.dw_0.val()) << 96)
            | (bit_cast::<128, 32>(self.dw_1.val()) << 64)
            | (bit_cast::<128, 30>(self.addr.q.val().get_bits::<30>(0)) << 34);
        if self.wide.q.val() {
            self.m_tx_rd_req_tlp.hdr.next = (bit_cast::<128, 32>(self.dw_0.val()) << 96)
                | (bit_cast::<128, 32>(self.dw_1.val()) << 64)
                | (bit_cast::<128, 62>(self.addr.q.val()) << 2);
        }
        self.m_tx_rd_req_tlp.seq.next = 0.into();
        self.m_tx_rd_req_tlp.valid.next = self.valid.q.val();
        self.m_tx_rd_req_tlp.sop.next = true;
        self.m_tx_rd_req_tlp.eop.next = true;

        self.tags.flr.next = self.forget.q.val();
        self.tags.cfg_timeout.next = self.cfg_timeout.val();
        self.tags.take.next = self.fire.val();
        self.tags.look_slot.next = self.completions.look_slot.val();
        self.tags.end_valid.next = self.completions.end_valid.val();
        self.tags.end_slot.next = self.completions.end_slot.val();
        self.tags.end_done.next = self.completions.end_done.val();
        self.tags.end_failed.next = self.completions.end_failed.val();
        self.tags.end_late.next = self.completions.end_late.val();
        self.tags.end_over.next = self.completions.end_over.val();
        self.tags.want_slot.next = self.deliver.want_slot.val();
        self.tags.give_valid.next = self.deliver.give_valid.val();
        self.tags.give_slot.next = self.deliver.give_slot.val();

        self.completions.flr.next = self.forget.q.val();
        self.completions.requester_id.next = self.requester_id.val();
        TlpRxCompletionIn::<64, 2>::link(
            &mut self.s_rx_cpl_tlp,
            &mut self.completions.s_rx_cpl_tlp,
        );
        // What is expected is noted while the TLP is on its way, also through a function-level reset:
        // whether there is room for it is known late.
        self.setting.d.next =
            self.fire.val() | (self.setting.q.val() & !self.completions.set_ready.val());
        if self.fire.val() {
            self.set_addr.d.next = self.split.m_addr.val().get_bits::<9>(0);
            self.set_bytes.d.next = self.split.m_bytes.val();
        }
        self.completions.set_valid.next = self.setting.q.val() & self.completions.set_ready.val();
        self.completions.set_slot.next = self.tag.q.val();
        self.completions.set_addr.next = self.set_addr.q.val();
        self.completions.set_bytes.next = self.set_bytes.q.val();
        self.completions.look_waits.next = self.tags.look_waits.val();
        self.completions.look_late.next = self.tags.look_late.val();
        self.completions.tmo_valid.next = self.tags.tmo_valid.val();
        self.completions.tmo_slot.next = self.tags.tmo_slot.val();
        self.ev_stray.next = self.completions.ev_stray.val();

        RamWriteOut::<32, 11>::join(&mut self.completions.m_even, &mut self.even.wr);
        self.even.rd_addr.next = self.deliver.rd_addr.val();
        self.even.rd_en.next = self.deliver.rd_en.val();
        RamWriteOut::<32, 11>::join(&mut self.completions.m_odd, &mut self.odd.wr);
        self.odd.rd_addr.next = self.deliver.rd_addr.val();
        self.odd.rd_en.next = self.deliver.rd_en.val();

        self.deliver.rst.next = self.clear.val();
        self.deliver.s_valid.next = self.fire.val();
        self.deliver.s_slot.next = self.tags.m_slot.val();
        self.deliver.s_from.next = self.split.m_addr.val().get_bits::<6>(3);
        self.deliver.s_to.next = self.split.m_end.val().get_bits::<6>(3);
        self.deliver.s_first.next = self.split.m_first.val();
        self.deliver.s_last.next = self.split.m_last.val();
        self.deliver.s_offset.next = self.split.m_offset.val();
        self.deliver.s_tail.next = self.split.m_tail.val();
        self.deliver.s_ctx.next = self.split.m_ctx.val();
        self.deliver.want_done.next = self.tags.want_done.val();
        self.deliver.want_failed.next = self.tags.want_failed.val();
        self.deliver.rd_data.next = bit_cast::<64, 32>(self.even.rd_data.val())
            | (bit_cast::<64, 32>(self.odd.rd_data.val()) << 32);
        DmaReadWordsOut::link(&mut self.m_data, &mut self.deliver.m_data);
        self.ev_failed.next = self.deliver.ev_failed.val();

        // Requests under way: at most 32 reads, and a few in the stages around them.
        // Counted one clock late: what the request and its end depend on comes late in theirs.
        self.begun.d.next =
            self.s_req.valid.val() & self.split.s_req.ready.val() & !self.clear.val();
        self.some.d.next = self.s_req.of.val().len.any();
        self.begins.next = self.begun.q.val() & self.some.q.val();
        self.ended.d.next = self.deliver.m_data.valid.val()
            & self.m_data.ready.val()
            & self.deliver.m_data.of.val().last
            & !self.clear.val();
        if self.begins.val() & !self.ended.q.val() {
            self.count.d.next = self.count.q.val() + 1;
        }
        if self.ended.q.val() & !self.begins.val() {
            self.count.d.next = self.count.q.val() - 1;
        }
        self.m_busy.next = self.count.q.val().any() | self.begins.val();

        // A TLP that is offered stays until it is taken, also through a function-level reset.
        if self.rst.val() | (self.forget.q.val() & self.fire.val()) {
            self.valid.d.next = false;
        }
        if self.clear.val() {
            self.fired.d.next = false;
            self.count.d.next = 0.into();
        }
    }
}
