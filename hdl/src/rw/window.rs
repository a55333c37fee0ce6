//! The receiver-window engine: records in, decisions, messages and completions out.

use super::accept::RwAccept;
use super::acks::RwAcks;
use super::control::RwControl;
use super::counts::RwCounts;
use super::decisions::RwDecisions;
use super::queue::EventQueue;
use crate::bus::{FramesOut, RamReadIn, TransferEndOut, WindowMessageOut};
use crate::prelude::*;
use tributary_protocol::rw::{DropReason, MessageType};

hdl_module! {
    /// Receiver-window engine: RDMA writes over a network that loses and reorders packets, with
    /// numbers only, never payload, in the receiver.
    /// One record a clock at s_*. DATA is decided in 8 clocks (s_* to m_wr_*), in order, one a
    /// clock, whatever windows it hits; a decision says whether and where the payload is written.
    /// CONNECT, POLL and ABORT wait in a queue for the control engine; when it is full they are
    /// dropped and counted, as the protocol allows. s_ready is a register: low while m_wr_* stalls
    /// and for a few clocks when a window is opened.
    /// Each write acknowledged at ack_* (visible in host memory) counts; the last one of a transfer
    /// leads to COMPLETE at m_msg_* and to one completion record at m_cpl_*.
    /// While m_wr_* is not taken the decision there stays and those behind it queue up; s_ready falls before the queue
    /// is full. While m_msg_* or m_cpl_* is not taken it stays and control operations wait, those at rev_* too; DATA goes on, and so do
    /// acknowledgements while finished transfers have room in their queue.
    #[module("rw_window_w{W}_r{}", 1usize << A)]
    pub struct RwWindow<
        const A: usize, const W: usize, const LW: usize, const B: usize, const LB: usize,
        const NW: usize, const LNW: usize, const BA: usize,
        const AW: usize, const PW: usize, const FA: usize, const LE: usize, const BE: usize,
    > {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset.
        pub rst: Signal<In, Bit>,
        /// A received message.
        pub s_valid: Signal<In, Bit>,
        /// Taken.
        pub s_ready: Signal<Out, Bit>,
        /// Its frame failed a check: it changes a counter and nothing else.
        pub s_error: Signal<In, Bit>,
        /// TYPE: 0 DATA, 4 CONNECT, 6 POLL, 7 ABORT.
        pub s_type: Signal<In, Bits<3>>,
        /// Sending node.
        pub s_src: Signal<In, Bits<20>>,
        /// DATA, POLL: window.
        pub s_wptr: Signal<In, Bits<16>>,
        /// DATA, POLL: incarnation of the window.
        pub s_gen: Signal<In, Bits<16>>,
        /// DATA: packet number.
        pub s_pidx: Signal<In, Bits<22>>,
        /// DATA: last packet of the transfer.
        pub s_tail: Signal<In, Bit>,
        /// DATA: payload length, bytes.
        pub s_len: Signal<In, Bits<13>>,
        /// Not DATA: transfer slot at the sender.
        pub s_slot: Signal<In, Bits<16>>,
        /// Not DATA: transfer.
        pub s_xid: Signal<In, Bits<32>>,
        /// CONNECT: incarnation of the sender.
        pub s_incarnation: Signal<In, Bits<16>>,
        /// POLL: number of the poll.
        pub s_seq: Signal<In, Bits<16>>,
        /// CONNECT: bytes to transfer.
        pub s_length: Signal<In, Bits<32>>,
        /// CONNECT: address of the region.
        pub s_addr: Signal<In, Bits<64>>,
        /// CONNECT: key of the region.
        pub s_rkey: Signal<In, Bits<32>>,
        /// CONNECT: log2 of the packet size, 8 to 12.
        pub s_mtu: Signal<In, Bits<4>>,
        /// CONNECT: what a transfer that is not known is answered with: 0 it may have a window, 7 nothing, else this status.
        pub s_verdict: Signal<In, Bits<3>>,
        /// CONNECT: the window is kept when the transfer is complete, until it is revoked.
        pub s_hold: Signal<In, Bit>,
        /// ABORT: reason.
        pub s_reason: Signal<In, Bits<4>>,
        /// A CONNECT is decided: pulse, in their order.
        pub con_valid: Signal<Out, Bit>,
        /// 0 known, 1 it has a new window, 2 older than its peer's last, 3 no window is free, 4 beyond the limits, 5 the verdict.
        pub con_how: Signal<Out, Bits<3>>,
        /// With 1, and with full_valid: the window.
        pub con_wptr: Signal<Out, Bits<16>>,
        /// With 1, and with full_valid: its incarnation.
        pub con_gen: Signal<Out, Bits<16>>,
        /// A CONNECT found the queue full, and is not decided: pulse.
        pub con_lost: Signal<Out, Bit>,
        /// A transfer with s_hold is complete, every byte visible: pulse.
        pub full_valid: Signal<Out, Bit>,
        /// A peer was forgotten for another one: pulse.
        pub forgotten: Signal<Out, Bit>,
        /// An ABORT was of no transfer under way: pulse.
        pub stray_abort: Signal<Out, Bit>,
        /// A window is to be closed, its sender to be told: with rev_ready it is, or was none of this incarnation.
        pub rev_valid: Signal<In, Bit>,
        /// Taken.
        pub rev_ready: Signal<Out, Bit>,
        /// Which window.
        pub rev_wptr: Signal<In, Bits<16>>,
        /// Its incarnation.
        pub rev_gen: Signal<In, Bits<16>>,
        /// Status of COMPLETE and of the completion record; 0 for a complete transfer only.
        pub rev_status: Signal<In, Bits<4>>,
        /// A decision, one for each DATA record, in order.
        pub m_wr_valid: Signal<Out, Bit>,
        /// Taken.
        pub m_wr_ready: Signal<In, Bit>,
        /// Write the payload; otherwise drop it.
        pub m_wr_accept: Signal<Out, Bit>,
        /// Why it is dropped; 0 if it is written.
        pub m_wr_reason: Signal<Out, Bits<4>>,
        /// Window.
        pub m_wr_wptr: Signal<Out, Bits<16>>,
        /// Incarnation of the window.
        pub m_wr_gen: Signal<Out, Bits<16>>,
        /// Where the payload goes.
        pub m_wr_addr: Signal<Out, Bits<64>>,
        /// Key of the region.
        pub m_wr_rkey: Signal<Out, Bits<32>>,
        /// Payload length, bytes.
        pub m_wr_len: Signal<Out, Bits<13>>,
        /// A write is visible in host memory.
        pub ack_valid: Signal<In, Bit>,
        /// Taken.
        pub ack_ready: Signal<Out, Bit>,
        /// Window of the write.
        pub ack_wptr: Signal<In, Bits<16>>,
        /// Incarnation of the window.
        pub ack_gen: Signal<In, Bits<16>>,
        /// Messages for senders.
        pub m_msg: WindowMessageOut,
        /// The bitmap of the STATUS that left last; bit 0 of its first word is packet wbase.
        pub m_bitmap: FramesOut<B>,
        /// Transfers that have ended.
        pub m_cpl: TransferEndOut,
        /// Coarse time, a free-running count.
        pub now: Signal<In, Bits<16>>,
        /// Reorder allowance, packets.
        pub cfg_allowance: Signal<In, Bits<22>>,
        /// Reorder allowance, ticks without DATA.
        pub cfg_allowance_ticks: Signal<In, Bits<16>>,
        /// Ticks before a hole is asked for again: round trip and allowance.
        pub cfg_retry_ticks: Signal<In, Bits<16>>,
        /// Ticks without DATA before the rest of the transfer is asked for.
        pub cfg_tail_ticks: Signal<In, Bits<16>>,
        /// Ticks without DATA before the transfer is given up.
        pub cfg_idle_ticks: Signal<In, Bits<16>>,
        /// Retry hint in a BUSY answer, ticks.
        pub cfg_busy_hint: Signal<In, Bits<16>>,
        /// Every message at m_msg_*, and the bitmap of a STATUS, leaves twice, one copy behind the
        /// other; completion records never do.
        pub cfg_twice: Signal<In, Bit>,
        /// A counter is read, 0 accepted DATA, 1 to 15 drops by reason: its count comes 24 clocks later.
        pub stat: RamReadIn<32, 4>,
        /// Free windows.
        pub free_count: Signal<Out, Bits<16>>,
        /// The engine has left reset.
        pub ready: Signal<Out, Bit>,
        /// An operation is decided now, on the row as it was six clocks ago.
        pub mon_act: Signal<Out, Bit>,
        /// Which: 0 CONNECT, 1 POLL, 2 ABORT, 3 finish, 4 credit update, 5 sweep, 6 revoke.
        pub mon_op: Signal<Out, Bits<3>>,
        /// Its window.
        pub mon_wptr: Signal<Out, Bits<A>>,
        /// Coarse time the operation goes by.
        pub mon_now: Signal<Out, Bits<16>>,
        /// A word of the window's bitmap is used now, as it was two clocks ago.
        pub mon_view: Signal<Out, Bit>,
        /// First packet of that word, divided by B.
        pub mon_word: Signal<Out, Bits<AW>>,
        /// wbase of a window is written: DATA taken from this clock on is judged by it, and operations
        /// that sample the row.
        pub mon_slide: Signal<Out, Bit>,
        /// Which window.
        pub mon_slide_wptr: Signal<Out, Bits<A>>,
        /// Its wbase; 0 also while the window is cleared.
        pub mon_slide_base: Signal<Out, Bits<22>>,

        accept: RwAccept<A, W, LW, B, LB, LNW, BA>,
        acks: RwAcks<A>,
        control: RwControl<A, W, B, LB, NW, LNW, AW, PW, LE, BE>,
        decisions: RwDecisions,
        messages: EventQueue<275, 4>,
        finished: EventQueue<FA, A>,
        credits: EventQueue<A, 4>,
        counts: RwCounts<4>,

        a: Param<A, 5>,
        lb: Param<LB, 5>,
        #[reset] open: DFF<Bit>,
        /// Few decisions wait.
        room: DFF<Bit>,
        is_data: Signal<Local, Bit>,
        is_control: Signal<Local, Bit>,
        taken: Signal<Local, Bit>,

        /// Acknowledgements that belong to no transfer and have not been counted.
        #[reset] stale: DFF<Bits<4>>,
        ack_open: DFF<Bit>,
        /// Drop by the control engine that has not been counted.
        #[reset] rare: DFF<Bits<4>>,
        waiting: Signal<Local, Bit>,
        /// What else is counted, in the place of a DATA record and beside the accept pipeline.
        event: Signal<Local, Bits<4>>,
        /// A record was taken; why it went no further: 1 bad frame, 2 queue full, if it is,
        /// 3 not expected here.
        #[reset] some_1: DFF<Bit>,
        refused: DFF<Bits<2>>,
        /// A message on its way to the control engine.
        #[reset] control_1: DFF<Bit>,
        message_1: DFF<Bits<275>>,
        #[reset] event_1: DFF<Bits<4>>,
        #[reset] event_2: DFF<Bits<4>>,
        #[reset] event_3: DFF<Bits<4>>,
        #[reset] event_4: DFF<Bits<4>>,
        #[reset] event_5: DFF<Bits<4>>,
        #[reset] event_6: DFF<Bits<4>>,
        /// Types of messages.
        data: Param<{ MessageType::Data as usize }, 3>,
        connect: Param<{ MessageType::Connect as usize }, 3>,
        poll_status: Param<{ MessageType::PollStatus as usize }, 3>,
        abort_unknown: Param<{ MessageType::AbortUnknown as usize }, 3>,
        /// Event of a write acknowledgement that is none.
        stale_write: Param<{ DropReason::StaleWrite as usize }, 4>,
        stray_reason: Param<{ DropReason::StrayAbort as usize }, 4>,
    }
}

impl<
    const A: usize,
    const W: usize,
    const LW: usize,
    const B: usize,
    const LB: usize,
    const NW: usize,
    const LNW: usize,
    const BA: usize,
    const AW: usize,
    const PW: usize,
    const FA: usize,
    const LE: usize,
    const BE: usize,
> Logic for RwWindow<A, W, LW, B, LB, NW, LNW, BA, AW, PW, FA, LE, BE>
{
    #[hdl_gen]
    fn update(&mut self) {
        // Records in: room in the queue of decisions covers all that are in the pipeline.
        self.room.d.next = self.decisions.count.val() < 6;
        self.waiting.next = self.rare.q.val().any() | self.stale.q.val().any();
        self.open.d.next = self.control.ready.val()
            & !self.control.hold.val()
            & !self.waiting.val()
            & self.room.q.val();
        self.s_ready.next = self.open.q.val();
        self.taken.next = self.s_valid.val() & self.open.q.val();
        self.is_data.next =
            self.taken.val() & !self.s_error.val() & (self.s_type.val() == self.data.val());
        self.is_control.next = self.taken.val()
            & !self.s_error.val()
            & ((self.s_type.val() == self.connect.val())
                | (self.s_type.val() == self.poll_status.val())
                | (self.s_type.val() == self.abort_unknown.val()));
        self.accept.s_valid.next = self.is_data.val() | self.control.init_valid.val();
        self.accept.s_init.next = self.control.init_valid.val();
        self.accept.s_wptr.next = self.s_wptr.val();
        self.accept.s_pidx.next = self.s_pidx.val();
        if self.control.init_valid.val() {
            self.accept.s_wptr.next = bit_cast::<16, A>(self.control.init_wptr.val());
            self.accept.s_pidx.next =
                bit_cast::<22, LNW>(self.control.init_word.val()) << self.lb.val();
        }
        self.accept.s_gen.next = self.s_gen.val();
        self.accept.s_src.next = self.s_src.val();
        self.accept.s_tail.next = self.s_tail.val();
        self.accept.s_len.next = self.s_len.val();
        self.accept.now.next = self.now.val();
        self.control_1.d.next = self.is_control.val();
        self.messages.s.valid.next = self.control_1.q.val();
        self.messages.s.data.next = self.message_1.q.val();
        self.message_1.d.next = bit_cast::<275, 3>(self.s_type.val())
            | (bit_cast::<275, 20>(self.s_src.val()) << 3)
            | (bit_cast::<275, 16>(self.s_slot.val()) << 23)
            | (bit_cast::<275, 32>(self.s_xid.val()) << 39)
            | (bit_cast::<275, 16>(self.s_incarnation.val()) << 71)
            | (bit_cast::<275, 16>(self.s_wptr.val()) << 87)
            | (bit_cast::<275, 16>(self.s_gen.val()) << 103)
            | (bit_cast::<275, 16>(self.s_seq.val()) << 119)
            | (bit_cast::<275, 32>(self.s_length.val()) << 135)
            | (bit_cast::<275, 64>(self.s_addr.val()) << 167)
            | (bit_cast::<275, 32>(self.s_rkey.val()) << 231)
            | (bit_cast::<275, 4>(self.s_mtu.val()) << 263)
            | (bit_cast::<275, 3>(self.s_verdict.val()) << 267)
            | (bit_cast::<275, 1>(self.s_hold.val().into()) << 270)
            | (bit_cast::<275, 4>(self.s_reason.val()) << 271);

        // Decisions out.
        self.decisions.p_valid.next = self.accept.p_valid.val();
        self.decisions.p_wptr.next = self.accept.p_wptr.val();
        self.decisions.p_gen.next = self.accept.p_gen.val();
        self.decisions.p_addr.next = self.accept.p_addr.val();
        self.decisions.p_rkey.next = self.accept.p_rkey.val();
        self.decisions.p_len.next = self.accept.p_len.val();
        self.decisions.s_valid.next = self.accept.m_valid.val();
        self.decisions.s_reason.next = self.accept.m_reason.val();
        self.m_wr_valid.next = self.decisions.m_valid.val();
        self.decisions.m_ready.next = self.m_wr_ready.val();
        self.m_wr_reason.next = self.decisions.m_reason.val();
        self.m_wr_wptr.next = self.decisions.m_wptr.val();
        self.m_wr_gen.next = self.decisions.m_gen.val();
        self.m_wr_addr.next = self.decisions.m_addr.val();
        self.m_wr_rkey.next = self.decisions.m_rkey.val();
        self.m_wr_len.next = self.decisions.m_len.val();
        self.m_wr_accept.next = !self.decisions.m_reason.val().any();

        // Acknowledged writes.
        self.ack_ready.next = self.ack_open.q.val() & !self.control.clear_valid.val();
        self.acks.s_valid.next = self.ack_valid.val() & self.ack_open.q.val();
        self.acks.s_wptr.next = self.ack_wptr.val();
        self.acks.s_gen.next = self.ack_gen.val();
        self.acks.clear_valid.next = self.control.clear_valid.val();
        self.acks.clear_wptr.next = self.control.clear_wptr.val();
        self.finished.s.valid.next = self.acks.m_valid.val();
        self.finished.s.data.next = (bit_cast::<FA, 16>(self.acks.m_gen.val()) << self.a.val())
            | bit_cast::<FA, A>(self.acks.m_wptr.val());
        self.credits.s.valid.next = self.accept.m_credit.val();
        self.credits.s.data.next = self.accept.m_credit_wptr.val();
        self.mon_slide.next = self.accept.slide_en.val();
        self.mon_slide_wptr.next = self.accept.slide_wptr.val();
        self.mon_slide_base.next = self.accept.slide_base.val();

        // The control engine.
        self.control.now.next = self.now.val();
        self.control.ctl_valid.next = self.messages.m.valid.val();
        self.messages.m.ready.next = self.control.ctl_ready.val();
        self.control.ctl_type.next = self.messages.m.data.val().get_bits::<3>(0);
        self.control.ctl_src.next = self.messages.m.data.val().get_bits::<20>(3);
        self.control.ctl_slot.next = self.messages.m.data.val().get_bits::<16>(23);
        self.control.ctl_xid.next = self.messages.m.data.val().get_bits::<32>(39);
        self.control.ctl_incarnation.next = self.messages.m.data.val().get_bits::<16>(71);
        self.control.ctl_wptr.next = self.messages.m.data.val().get_bits::<16>(87);
        self.control.ctl_gen.next = self.messages.m.data.val().get_bits::<16>(103);
        self.control.ctl_seq.next = self.messages.m.data.val().get_bits::<16>(119);
        self.control.ctl_length.next = self.messages.m.data.val().get_bits::<32>(135);
        self.control.ctl_addr.next = self.messages.m.data.val().get_bits::<64>(167);
        self.control.ctl_rkey.next = self.messages.m.data.val().get_bits::<32>(231);
        self.control.ctl_mtu.next = self.messages.m.data.val().get_bits::<4>(263);
        self.control.ctl_verdict.next = self.messages.m.data.val().get_bits::<3>(267);
        self.control.ctl_hold.next = self.messages.m.data.val().get_bit(270);
        self.control.ctl_reason.next = self.messages.m.data.val().get_bits::<4>(271);
        self.control.rev_valid.next = self.rev_valid.val();
        self.rev_ready.next = self.control.rev_ready.val();
        self.control.rev_wptr.next = bit_cast::<A, 16>(self.rev_wptr.val());
        self.control.rev_gen.next = self.rev_gen.val();
        self.control.rev_status.next = self.rev_status.val();
        self.con_valid.next = self.control.con_valid.val();
        self.con_how.next = self.control.con_how.val();
        self.con_wptr.next = bit_cast::<16, A>(self.control.con_wptr.val());
        self.con_gen.next = self.control.con_gen.val();
        self.con_lost.next = self.control_1.q.val()
            & !self.messages.s.ready.val()
            & (bit_cast::<3, 275>(self.message_1.q.val()) == self.connect.val());
        self.full_valid.next = self.control.full_valid.val();
        self.forgotten.next = self.control.forgotten.val();
        self.stray_abort.next = self.control.drop_valid.val()
            & (self.control.drop_reason.val() == self.stray_reason.val());
        self.control.fin_valid.next = self.finished.m.valid.val();
        self.finished.m.ready.next = self.control.fin_ready.val();
        self.control.fin_wptr.next = bit_cast::<A, FA>(self.finished.m.data.val());
        self.control.fin_gen.next = bit_cast::<16, FA>(self.finished.m.data.val() >> self.a.val());
        self.control.crd_valid.next = self.credits.m.valid.val();
        self.credits.m.ready.next = self.control.crd_ready.val();
        self.control.crd_wptr.next = self.credits.m.data.val();
        self.accept.cw_en.next = self.control.cw_en.val();
        self.accept.cw_wptr.next = self.control.cw_wptr.val();
        self.accept.cw_open.next = self.control.cw_open.val();
        self.accept.cw_gen.next = self.control.cw_gen.val();
        self.accept.cw_src.next = self.control.cw_src.val();
        self.accept.cw_last.next = self.control.cw_last.val();
        self.accept.cw_mtu.next = self.control.cw_mtu.val();
        self.accept.cw_last_len.next = self.control.cw_last_len.val();
        self.accept.cw_addr.next = self.control.cw_addr.val();
        self.accept.cw_rkey.next = self.control.cw_rkey.val();
        self.acks.cw_en.next = self.control.cw_en.val();
        self.acks.cw_wptr.next = self.control.cw_wptr.val();
        self.acks.cw_open.next = self.control.cw_open.val();
        self.acks.cw_gen.next = self.control.cw_gen.val();
        self.acks.cw_last.next = self.control.cw_last.val();
        self.accept.q_wptr.next = self.control.q_wptr.val();
        self.accept.q_word.next = self.control.q_word.val();
        self.control.wr_count.next = bit_cast::<5, 16>(self.decisions.count.val());
        self.control.wr_left.next = self.decisions.m_valid.val() & self.m_wr_ready.val();
        self.control.q_wbase.next = self.accept.q_wbase.val();
        self.control.q_highest.next = self.accept.q_highest.val();
        self.control.q_tail.next = self.accept.q_tail.val();
        self.control.q_last_rx.next = self.accept.q_last_rx.val();
        self.control.s_heard.next = self.is_data.val();
        self.control.q_bits.next = self.accept.q_bits.val();
        WindowMessageOut::link(&mut self.m_msg, &mut self.control.m_msg);
        FramesOut::<B>::link(&mut self.m_bitmap, &mut self.control.m_bitmap);
        TransferEndOut::link(&mut self.m_cpl, &mut self.control.m_cpl);
        self.control.cfg_allowance.next = self.cfg_allowance.val();
        self.control.cfg_allowance_ticks.next = self.cfg_allowance_ticks.val();
        self.control.cfg_retry_ticks.next = self.cfg_retry_ticks.val();
        self.control.cfg_tail_ticks.next = self.cfg_tail_ticks.val();
        self.control.cfg_idle_ticks.next = self.cfg_idle_ticks.val();
        self.control.cfg_busy_hint.next = self.cfg_busy_hint.val();
        self.control.cfg_twice.next = self.cfg_twice.val();
        self.free_count.next = self.control.free_count.val();
        self.ready.next = self.control.ready.val();
        self.mon_act.next = self.control.mon_act.val();
        self.mon_op.next = self.control.mon_op.val();
        self.mon_wptr.next = self.control.mon_wptr.val();
        self.mon_now.next = self.control.mon_now.val();
        self.mon_view.next = self.control.mon_view.val();
        self.mon_word.next = self.control.mon_word.val();

        // Statistics.
        // DATA is counted as it is decided; all else in the place of a DATA record: messages that
        // are dropped in their own, rare events in an empty one, for which s_ready goes low.
        self.event.next = 0.into();
        if self.acks.stale.val() {
            self.stale.d.next = self.stale.q.val() + 1;
        }
        self.refused.d.next = 0.into();
        if self.taken.val() & !self.is_data.val() {
            self.refused.d.next = 3.into();
            if self.is_control.val() {
                self.refused.d.next = 2.into();
            }
            if self.s_error.val() {
                self.refused.d.next = 1.into();
            }
        }
        self.some_1.d.next = self.taken.val();
        if self.some_1.q.val() {
            if self.refused.q.val().any()
                & ((self.refused.q.val() != 2) | !self.messages.s.ready.val())
            {
                self.event.next = bits::<4>(12) | bit_cast::<4, 2>(self.refused.q.val());
            }
        } else if self.rare.q.val().any() {
            self.event.next = self.rare.q.val();
            self.rare.d.next = 0.into();
        } else if self.stale.q.val().any() {
            self.event.next = self.stale_write.val();
            if !self.acks.stale.val() {
                self.stale.d.next = self.stale.q.val() - 1;
            } else {
                self.stale.d.next = self.stale.q.val();
            }
        }
        if self.control.drop_valid.val() {
            self.rare.d.next = self.control.drop_reason.val();
        }
        // Six more acknowledgements may be on their way through acks.
        self.ack_open.d.next = self.stale.q.val() < 4;
        self.event_1.d.next = self.event.val();
        self.event_2.d.next = self.event_1.q.val();
        self.event_3.d.next = self.event_2.q.val();
        self.event_4.d.next = self.event_3.q.val();
        self.event_5.d.next = self.event_4.q.val();
        self.event_6.d.next = self.event_5.q.val();
        self.counts.s_valid.next = self.accept.m_valid.val() | self.event_6.q.val().any();
        self.counts.s_data.next = self.event_6.q.val();
        if self.accept.m_valid.val() {
            self.counts.s_data.next = self.accept.m_reason.val();
        }
        RamReadIn::<32, 4>::link(&mut self.stat, &mut self.counts.rd);
    }
}
