//! One-sided operations: writes, reads and atomics of others in memory here, and the answers to those of this card.

mod check;
mod run;
mod tables;

pub use check::CardOneSidedCheck;
pub use run::CardOneSidedRun;
pub use tables::CardOneSidedTables;

use crate::blocks::{FifoAhead, FifoBram, TwoSlots};
use crate::bus::{ContextIn, FramesIn, LookupRightsOut, StreamOut, VerdictIn, WindowSetIn};
use crate::prelude::*;
use tributary_protocol::xud::onesided::ANSWER;

hdl_module! {
    /// Both ends of one-sided operations (XUD-13). It takes the frames with the flag ONE_SIDED, one
    /// at a time: requests are checked, done and acknowledged or answered, answers are checked and
    /// written. Everything that can refuse a frame comes before the DMA. A window's number advances
    /// when its operation is done; of an atomic the old value is kept for one more asking.
    /// The payload of a frame comes behind the payload of all requests of others that were taken
    /// before: a frame begins when that is gone, so that a write has its words at hand. What a READ
    /// finds is here wholly before it is sent, so that a failing read sends nothing.
    /// All waits end: xud_tx and dma_write take what they are offered, dma_read answers in its time.
    /// Up to 16 acknowledgements wait here; with no room for one a request is dropped.
    /// Latency: as card_onesided_run. Stages: tables (card_onesided_tables), verdict
    /// (card_onesided_check), steps (card_onesided_run); queues of 512 words and 16 acknowledgements
    /// at the output.
    #[module("card_onesided_q{}_f{}", 1usize << LQ, 1usize << LF)]
    pub struct CardOneSided<const LQ: usize, const LF: usize> {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset: forgets the frame, closes all windows.
        pub rst: Signal<In, Bit>,
        /// Begin nothing.
        pub hold: Signal<In, Bit>,
        /// Nothing is under way, the visit after reset included.
        pub m_idle: Signal<Out, Bit>,
        /// Largest payload, bytes.
        pub cfg_mtu: Signal<In, Bits<13>>,
        /// Contexts of queue pairs.
        pub cfg: ContextIn<LQ>,
        /// Windows are made or ended, while this block is idle.
        pub win: WindowSetIn<LQ>,
        /// A work request gets its place in flight; pulse.
        pub set_valid: Signal<In, Bit>,
        /// Queue pair.
        pub set_qpn: Signal<In, Bits<LQ>>,
        /// Packet number.
        pub set_psn: Signal<In, Bits<24>>,
        /// 1 READ, 2 ATOMIC, 0 any other.
        pub set_kind: Signal<In, Bits<2>>,
        /// First byte of its buffer.
        pub set_addr: Signal<In, Bits<64>>,
        /// Key of the region.
        pub set_key: Signal<In, Bits<32>>,
        /// Bytes.
        pub set_len: Signal<In, Bits<13>>,
        /// A frame of one-sided operations.
        pub s_rq_valid: Signal<In, Bit>,
        /// It is taken; pulse.
        pub s_rq_ready: Signal<Out, Bit>,
        /// With s_rq_ready: its payload is not wanted.
        pub s_rq_drop: Signal<Out, Bit>,
        /// From this node.
        pub s_rq_node: Signal<In, Bits<20>>,
        /// To this queue pair.
        pub s_rq_qpn: Signal<In, Bits<24>>,
        /// PSN.
        pub s_rq_psn: Signal<In, Bits<24>>,
        /// Q_Key.
        pub s_rq_q_key: Signal<In, Bits<32>>,
        /// From this queue pair.
        pub s_rq_src: Signal<In, Bits<24>>,
        /// Window.
        pub s_rq_win_id: Signal<In, Bits<16>>,
        /// Epoch.
        pub s_rq_epoch: Signal<In, Bits<16>>,
        /// Number in the window.
        pub s_rq_msn: Signal<In, Bits<32>>,
        /// Bytes of payload.
        pub s_rq_len: Signal<In, Bits<13>>,
        /// A switch has marked it (CL-4).
        pub s_rq_marked: Signal<In, Bit>,
        /// The payload that comes is that of this block; nobody else takes a request meanwhile.
        pub m_ours: Signal<Out, Bit>,
        /// Somebody else takes a request with payload; pulse.
        pub s_other: Signal<In, Bit>,
        /// The last word of such a payload is taken; pulse.
        pub s_other_last: Signal<In, Bit>,
        /// Payload that belongs to this block.
        pub s_pl: FramesIn<64>,
        /// Lookups of regions.
        pub m_look: LookupRightsOut,
        /// Their answers.
        pub look: VerdictIn,
        /// A read.
        pub m_rd_valid: Signal<Out, Bit>,
        /// Taken.
        pub m_rd_ready: Signal<In, Bit>,
        /// First byte.
        pub m_rd_addr: Signal<Out, Bits<64>>,
        /// Bytes.
        pub m_rd_len: Signal<Out, Bits<13>>,
        /// A word that was read, 3 clocks after the read was taken or later; always taken.
        pub s_rd_valid: Signal<In, Bit>,
        /// The word.
        pub s_rd_data: Signal<In, Bits<64>>,
        /// Bytes in it, less one.
        pub s_rd_bytes: Signal<In, Bits<3>>,
        /// The last of its read.
        pub s_rd_last: Signal<In, Bit>,
        /// With the last: the read failed.
        pub s_rd_error: Signal<In, Bit>,
        /// A write.
        pub m_wr_valid: Signal<Out, Bit>,
        /// Taken.
        pub m_wr_ready: Signal<In, Bit>,
        /// First byte.
        pub m_wr_addr: Signal<Out, Bits<64>>,
        /// Bytes.
        pub m_wr_len: Signal<Out, Bits<13>>,
        /// Words to write to host memory.
        pub m_wd: StreamOut<64>,
        /// A write was handed to the host interface; pulse.
        pub done_valid: Signal<In, Bit>,
        /// An answer for xud_tx.
        pub m_sd_valid: Signal<Out, Bit>,
        /// Taken.
        pub m_sd_ready: Signal<In, Bit>,
        /// Destination queue pair.
        pub m_peer: Signal<Out, Bits<24>>,
        /// Destination node.
        pub m_node: Signal<Out, Bits<20>>,
        /// PSN of the request.
        pub m_psn: Signal<Out, Bits<24>>,
        /// Q_Key of the request.
        pub m_q_key: Signal<Out, Bits<32>>,
        /// The queue pair that answers.
        pub m_src: Signal<Out, Bits<24>>,
        /// Window.
        pub m_win_id: Signal<Out, Bits<16>>,
        /// Epoch.
        pub m_epoch: Signal<Out, Bits<16>>,
        /// Number in the window.
        pub m_msn: Signal<Out, Bits<32>>,
        /// Header of the answer.
        pub m_sd_head: Signal<Out, Bits<128>>,
        /// Bytes behind it.
        pub m_sd_len: Signal<Out, Bits<13>>,
        /// A word of them; counts from m_sd_ready on, since a read that fails takes back what stood here before.
        pub m_pl_valid: Signal<Out, Bit>,
        /// Taken.
        pub m_pl_ready: Signal<In, Bit>,
        /// The word.
        pub m_pl_data: Signal<Out, Bits<64>>,
        /// Bytes in it, less one.
        pub m_pl_bytes: Signal<Out, Bits<3>>,
        /// The last.
        pub m_pl_last: Signal<Out, Bit>,
        /// An acknowledgement for xud_tx.
        pub m_ak_valid: Signal<Out, Bit>,
        /// Taken.
        pub m_ak_ready: Signal<In, Bit>,
        /// Destination node.
        pub m_ak_node: Signal<Out, Bits<20>>,
        /// Destination queue pair.
        pub m_ak_peer: Signal<Out, Bits<24>>,
        /// PSN of the request.
        pub m_ak_psn: Signal<Out, Bits<24>>,
        /// What it says.
        pub m_ak_syndrome: Signal<Out, Bits<8>>,
        /// Window.
        pub m_ak_win_id: Signal<Out, Bits<16>>,
        /// Epoch.
        pub m_ak_epoch: Signal<Out, Bits<16>>,
        /// Number in the window.
        pub m_ak_msn: Signal<Out, Bits<32>>,
        /// The queue pair that answers.
        pub m_ak_src: Signal<Out, Bits<24>>,
        /// The request came marked.
        pub m_ak_marked: Signal<Out, Bit>,
        /// The request of an answer is claimed in xud_inflight, or ends; its fields are those of the answer.
        pub m_claim_valid: Signal<Out, Bit>,
        /// Taken.
        pub m_claim_ready: Signal<In, Bit>,
        /// It ends.
        pub m_claim_end: Signal<Out, Bit>,
        /// So.
        pub m_claim_outcome: Signal<Out, Bits<8>>,
        /// A claim is decided; pulse.
        pub claim_done: Signal<In, Bit>,
        /// It found its request.
        pub claim_ok: Signal<In, Bit>,
        /// Dropped as too many acknowledgements wait; pulse.
        pub ev_ack_overload: Signal<Out, Bit>,
        /// No such queue pair; pulse.
        pub ev_bad_qp: Signal<Out, Bit>,
        /// Wrong Q_Key; pulse.
        pub ev_bad_key: Signal<Out, Bit>,
        /// Payload or fields of a wrong length; pulse.
        pub ev_bad_length: Signal<Out, Bit>,
        /// Unknown operation; pulse.
        pub ev_bad_opcode: Signal<Out, Bit>,
        /// No such window, or epoch of an earlier process; pulse.
        pub ev_stale_epoch: Signal<Out, Bit>,
        /// A number that was done before; pulse.
        pub ev_duplicate: Signal<Out, Bit>,
        /// A number ahead; pulse.
        pub ev_ahead: Signal<Out, Bit>,
        /// Forbidden by the region; pulse.
        pub ev_refused: Signal<Out, Bit>,
        /// Host memory failed; pulse.
        pub ev_failed: Signal<Out, Bit>,
        /// Done; pulse.
        pub ev_done: Signal<Out, Bit>,
        /// An answer that may not be written; pulse.
        pub ev_local_error: Signal<Out, Bit>,

        tables: CardOneSidedTables<LQ, LF>,
        check: CardOneSidedCheck<LQ>,
        run: CardOneSidedRun,
        /// What a READ found: word, bytes less one 66:64, last 67.
        found: FifoBram<68, 9>,
        /// A word of it.
        #[reset] kept: DFF<Bit>,
        kept_word: DFF<Bits<68>>,
        /// Node 19:0, queue pair 43:20, PSN 67:44, syndrome 75:68, window 91:76, epoch 107:92, number 139:108, own queue
        /// pair 163:140, the request came marked 164.
        acks: FifoAhead<165, 4>,
        /// The frame.
        node: DFF<Bits<20>>,
        qpn: DFF<Bits<24>>,
        psn: DFF<Bits<24>>,
        q_key: DFF<Bits<32>>,
        src: DFF<Bits<24>>,
        win_id: DFF<Bits<16>>,
        epoch: DFF<Bits<16>>,
        msn: DFF<Bits<32>>,
        len: DFF<Bits<13>>,
        marked: DFF<Bit>,
        some: Signal<Local, Bit>,
        /// Its payload, which comes next: data 63:0, last 64.
        payload: TwoSlots<65>,
        /// It is coming.
        #[reset] comes: DFF<Bit>,
        /// Payloads of others that are not gone.
        #[reset] others: DFF<Bits<6>>,
        /// One began, one ended in the clock before.
        #[reset] other: DFF<Bit>,
        #[reset] other_last: DFF<Bit>,
        /// A frame was taken in the clock before; it has payload.
        #[reset] took: DFF<Bit>,
        took_some: DFF<Bit>,
        #[reset] idle: DFF<Bit>,
        /// Bit of the operation that makes an answer of it.
        answer_bit: Param<{ ANSWER as usize }, 8>,
    }
}

impl<const LQ: usize, const LF: usize> Logic for CardOneSided<LQ, LF> {
    #[hdl_gen]
    fn update(&mut self) {
        self.found.rst.next = self.rst.val() | self.run.forget.val();
        self.found.almost_at.next = 0.into();

        // A frame begins when the payload of others is gone.
        self.other.d.next = self.s_other.val();
        self.other_last.d.next = self.s_other_last.val();
        if self.other.q.val() & !self.other_last.q.val() {
            self.others.d.next = self.others.q.val() + 1;
        }
        if self.other_last.q.val() & !self.other.q.val() {
            self.others.d.next = self.others.q.val() - 1;
        }
        self.run.go.next = self.s_rq_valid.val()
            & !self.hold.val()
            & !self.other.q.val()
            & !self.others.q.val().any()
            & self.tables.swept.val();
        self.some.next = self.s_rq_len.val().get_bits::<9>(4).any();
        self.run.some.next = self.some.val();
        self.s_rq_ready.next = self.run.take.val();
        self.s_rq_drop.next = !self.some.val();
        self.m_ours.next = self.comes.q.val();
        if self.run.take.val() {
            self.node.d.next = self.s_rq_node.val();
            self.qpn.d.next = self.s_rq_qpn.val();
            self.psn.d.next = self.s_rq_psn.val();
            self.q_key.d.next = self.s_rq_q_key.val();
            self.src.d.next = self.s_rq_src.val();
            self.win_id.d.next = self.s_rq_win_id.val();
            self.epoch.d.next = self.s_rq_epoch.val();
            self.msn.d.next = self.s_rq_msn.val();
            self.len.d.next = self.s_rq_len.val();
            self.marked.d.next = self.s_rq_marked.val();
        }
        self.payload.s.valid.next = self.s_pl.valid.val() & self.comes.q.val();
        self.payload.s.data.next = bit_cast::<65, 64>(self.s_pl.of.val().data)
            | (bit_cast::<65, 1>(self.s_pl.of.val().last.into()) << 64);
        self.s_pl.ready.next = self.payload.s.ready.val() & self.comes.q.val();
        if self.s_pl.valid.val() & self.s_pl.of.val().last & self.payload.s.ready.val() {
            self.comes.d.next = false;
        }
        self.took.d.next = self.run.take.val();
        self.took_some.d.next = self.some.val();
        if self.took.q.val() & self.took_some.q.val() {
            self.comes.d.next = true;
        }
        self.run.pl.valid.next = self.payload.m.valid.val();
        self.payload.m.ready.next = self.run.pl.ready.val();
        self.run.pl.of.next.data = self.payload.m.data.val().get_bits::<64>(0);
        self.run.pl.of.next.last = self.payload.m.data.val().get_bit(64);
        self.run.len.next = self.len.q.val();
        self.run.restart.next = self.cfg.valid.val();

        // Tables.
        ContextIn::<LQ>::link(&mut self.cfg, &mut self.tables.cfg);
        WindowSetIn::<LQ>::link(&mut self.win, &mut self.tables.win);
        self.tables.set_valid.next = self.set_valid.val();
        self.tables.set_qpn.next = self.set_qpn.val();
        self.tables.set_psn.next = self.set_psn.val();
        self.tables.set_kind.next = self.set_kind.val();
        self.tables.set_addr.next = self.set_addr.val();
        self.tables.set_key.next = self.set_key.val();
        self.tables.set_len.next = self.set_len.val();
        self.tables.qpn.next = self.qpn.q.val();
        self.tables.psn.next = self.psn.q.val();
        self.tables.window.next = self.win_id.q.val().get_bits::<8>(0);
        self.tables.next_valid.next = self.run.advance.val();
        self.tables.next_expected.next = self.msn.q.val() + 1;
        self.tables.next_last.next = self.run.operation.val().get_bits::<3>(0);
        self.tables.next_replay.next = self.run.old.val();

        // Verdict.
        self.check.cfg_mtu.next = self.cfg_mtu.val();
        self.check.node.next = self.node.q.val();
        self.check.qpn.next = self.qpn.q.val();
        self.check.q_key.next = self.q_key.q.val();
        self.check.src.next = self.src.q.val();
        self.check.win_id.next = self.win_id.q.val();
        self.check.epoch.next = self.epoch.q.val();
        self.check.msn.next = self.msn.q.val();
        self.check.len.next = self.len.q.val();
        self.check.operation.next = self.run.operation.val();
        self.check.to_read.next = self.run.to_read.val();
        self.check.address.next = self.run.address.val();
        self.check.own_key.next = self.tables.q_key.val();
        self.check.receives.next = self.tables.receives.val();
        self.check.oldest.next = self.tables.oldest.val();
        self.check.newest.next = self.tables.newest.val();
        self.check.opened.next = self.tables.opened.val();
        self.check.expected.next = self.tables.expected.val();
        self.check.last.next = self.tables.last.val();
        self.run.answer.next = self.check.answer.val();
        self.run.write.next = self.check.write.val();
        self.run.read.next = self.check.read.val();
        self.run.atomic.next = self.check.atomic.val();
        self.run.verdict.next = self.check.verdict.val();
        self.run.syndrome.next = self.check.syndrome.val();
        self.run.again.next = self.check.again.val();
        self.run.pd.next = self.tables.pd.val();
        self.run.replay.next = self.tables.replay.val();
        self.run.kind.next = self.tables.kind.val();
        self.run.local_addr.next = self.tables.addr.val();
        self.run.local_key.next = self.tables.key.val();
        self.run.local_len.next = self.tables.len.val();

        // Region and memory.
        LookupRightsOut::link(&mut self.m_look, &mut self.run.m_look);
        self.m_rd_valid.next = self.run.m_rd_valid.val();
        self.m_wr_valid.next = self.run.m_wr_valid.val();
        StreamOut::<64>::link(&mut self.m_wd, &mut self.run.m_wd);
        VerdictIn::link(&mut self.look, &mut self.run.look);
        self.run.m_rd_ready.next = self.m_rd_ready.val();
        self.run.m_wr_ready.next = self.m_wr_ready.val();
        self.m_rd_addr.next = self.run.m_look.of.val().addr;
        self.m_rd_len.next = self.run.m_look.of.val().len;
        self.m_wr_addr.next = self.run.m_look.of.val().addr;
        self.m_wr_len.next = self.run.m_look.of.val().len;
        self.run.done.next = self.done_valid.val();
        self.run.rd_valid.next = self.s_rd_valid.val();
        self.run.rd_data.next = self.s_rd_data.val();
        self.run.rd_last.next = self.s_rd_last.val();
        self.run.rd_error.next = self.s_rd_error.val();

        // Answers.
        self.kept.d.next = self.run.keep.val();
        self.found.s.valid.next = self.kept.q.val();
        self.found.s.data.next = self.kept_word.q.val();
        self.kept_word.d.next = bit_cast::<68, 64>(self.s_rd_data.val())
            | (bit_cast::<68, 3>(self.s_rd_bytes.val()) << 64)
            | (bit_cast::<68, 1>(self.s_rd_last.val().into()) << 67);
        self.m_pl_valid.next = self.found.m.valid.val();
        self.found.m.ready.next = self.m_pl_ready.val();
        self.m_pl_data.next = self.found.m.data.val().get_bits::<64>(0);
        self.m_pl_bytes.next = self.found.m.data.val().get_bits::<3>(64);
        self.m_pl_last.next = self.found.m.data.val().get_bit(67);
        self.run.sent.next =
            self.found.m.valid.val() & self.found.m.data.val().get_bit(67) & self.m_pl_ready.val();
        self.m_sd_valid.next = self.run.m_sd_valid.val();
        self.run.m_sd_ready.next = self.m_sd_ready.val();
        self.m_sd_len.next = self.run.m_sd_len.val();
        self.m_sd_head.next = bit_cast::<128, 64>(self.run.old.val())
            | (bit_cast::<128, 3>(self.run.operation.val().get_bits::<3>(0)) << 96)
            | (bit_cast::<128, 8>(self.answer_bit.val()) << 96);
        self.m_node.next = self.node.q.val();
        self.m_peer.next = self.src.q.val();
        self.m_psn.next = self.psn.q.val();
        self.m_q_key.next = self.q_key.q.val();
        self.m_src.next = self.qpn.q.val();
        self.m_win_id.next = self.win_id.q.val();
        self.m_epoch.next = self.epoch.q.val();
        self.m_msn.next = self.msn.q.val();

        // Acknowledgements.
        self.run.ak_ready.next = self.acks.s.ready.val();
        self.acks.s.valid.next = self.run.m_ak_valid.val();
        self.acks.s.data.next = bit_cast::<165, 20>(self.node.q.val())
            | (bit_cast::<165, 24>(self.src.q.val()) << 20)
            | (bit_cast::<165, 24>(self.psn.q.val()) << 44)
            | (bit_cast::<165, 8>(self.run.m_ak_syndrome.val()) << 68)
            | (bit_cast::<165, 16>(self.win_id.q.val()) << 76)
            | (bit_cast::<165, 16>(self.epoch.q.val()) << 92)
            | (bit_cast::<165, 32>(self.msn.q.val()) << 108)
            | (bit_cast::<165, 24>(self.qpn.q.val()) << 140)
            | (bit_cast::<165, 1>(self.marked.q.val().into()) << 164);
        self.m_ak_valid.next = self.acks.m.valid.val();
        self.acks.m.ready.next = self.m_ak_ready.val();
        self.m_ak_node.next = self.acks.m.data.val().get_bits::<20>(0);
        self.m_ak_peer.next = self.acks.m.data.val().get_bits::<24>(20);
        self.m_ak_psn.next = self.acks.m.data.val().get_bits::<24>(44);
        self.m_ak_syndrome.next = self.acks.m.data.val().get_bits::<8>(68);
        self.m_ak_win_id.next = self.acks.m.data.val().get_bits::<16>(76);
        self.m_ak_epoch.next = self.acks.m.data.val().get_bits::<16>(92);
        self.m_ak_msn.next = self.acks.m.data.val().get_bits::<32>(108);
        self.m_ak_src.next = self.acks.m.data.val().get_bits::<24>(140);
        self.m_ak_marked.next = self.acks.m.data.val().get_bit(164);

        // Requests in flight.
        self.m_claim_valid.next = self.run.m_claim_valid.val();
        self.run.m_claim_ready.next = self.m_claim_ready.val();
        self.m_claim_end.next = self.run.m_claim_end.val();
        self.m_claim_outcome.next = self.run.m_claim_outcome.val();
        self.run.claim_done.next = self.claim_done.val();
        self.run.claim_ok.next = self.claim_ok.val();

        self.ev_ack_overload.next = self.run.ev.val().get_bit(0);
        self.ev_bad_qp.next = self.run.ev.val().get_bit(1);
        self.ev_bad_key.next = self.run.ev.val().get_bit(2);
        self.ev_bad_length.next = self.run.ev.val().get_bit(3);
        self.ev_bad_opcode.next = self.run.ev.val().get_bit(4);
        self.ev_stale_epoch.next = self.run.ev.val().get_bit(5);
        self.ev_duplicate.next = self.run.ev.val().get_bit(6);
        self.ev_ahead.next = self.run.ev.val().get_bit(7);
        self.ev_refused.next = self.run.ev.val().get_bit(8);
        self.ev_failed.next = self.run.ev.val().get_bit(9);
        self.ev_done.next = self.run.ev.val().get_bit(10);
        self.ev_local_error.next = self.run.ev.val().get_bit(11);
        self.idle.d.next = self.run.idle.val() & !self.acks.m.valid.val() & self.tables.swept.val();
        self.m_idle.next = self.idle.q.val();
    }
}
