//! The operations of the sending side, one at a time. One file, since they are one state machine, and a kernel can neither be cut nor call.

use super::{BulkPlan, BulkScan, BulkWants};
use crate::blocks::{PriorityEncoder, RamReg, TakeTurns};
use crate::bus::{
    BulkCancelIn, BulkEndOut, BulkMessageIn, BulkPacketOut, BulkRequestIn, BulkSettingsIn,
    BulkStartedOut,
};
use crate::prelude::*;
use tributary_protocol::rw::{ConnectStatus, MessageType, Reason, Status};

/// What the engine is doing.
#[derive(Copy, Clone, PartialEq, Debug, LogicState)]
pub enum State {
    Clear,
    Idle,
    Load,
    Check,
    Act,
    Probe,
    Judge,
    Polled,
    ScanStart,
    Scan,
    ScanEnd,
    Top,
    Pop,
    Ready,
    Emit,
    Lift,
    Settle,
    Store,
    End,
    Leave,
}

/// What the engine was asked for.
#[derive(Copy, Clone, PartialEq, Debug, LogicState)]
pub enum Op {
    Message,
    Start,
    Cancel,
    Send,
    Visit,
}

/// Why a packet is looked up.
#[derive(Copy, Clone, PartialEq, Debug, LogicState)]
pub enum Aim {
    /// It is asked for.
    One,
    /// It and all after it are asked for.
    Range,
    /// It is one of a bitmap, below the highest that has arrived.
    Hole,
    /// It is the first one above the bitmap.
    Top,
    /// It is the first one above the window that a packet keeps shut.
    Back,
    /// It is to be sent again, if that is still wanted.
    Pop,
    /// It may be trusted to arrive.
    Trust,
}

hdl_module! {
    /// Operations of the sending side of the receiver window: takes messages from receivers, starts and cancels
    /// transfers, sends what the scheduler chooses and looks at the timers of all transfers, one operation at a time.
    /// An operation loads the state of its transfer (3 clocks), acts, moves the trust on by a packet, says what the
    /// transfer wants now and stores the state: 30 clocks, 35 for a fresh packet, 41 for one sent again, 30 to 42 for a
    /// message (35 for a CONNECT_RESP), about 60 and one for each packet of the bitmap that was sent for a STATUS, 4 of
    /// them behind the last operation. A STATUS and a CONNECT_RESP tell how long queues are on the way. Every kind of operation has its turn; timers are looked at when nothing else waits, and after 255 clocks.
    /// Reset clears the states, a transfer a clock, and ends all transfers without completion.
    /// While m_pkt is not taken messages are served, but nothing is sent or cancelled; while m_end is not taken,
    /// timers are looked at and transfers started, in the slot of that end too; while m_started is not taken, nothing is started.
    #[module("bulk_engine_s{S}_d{}_b{W}", 1usize << LD)]
    pub struct BulkEngine<
        const S: usize, const LS: usize, const SA: usize, const LD: usize, const RA: usize,
        const QA: usize, const W: usize, const LW: usize, const A: usize,
    > {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset.
        pub rst: Signal<In, Bit>,
        /// Transfers to start.
        pub s: BulkRequestIn,
        /// What became of them.
        pub m_started: BulkStartedOut,
        /// Transfers to cancel.
        pub s_cancel: BulkCancelIn,
        /// A message from a receiver; it is taken when it has been served.
        pub s_msg: BulkMessageIn,
        /// STATUS: packets of its bitmap.
        pub bitmap_len: Signal<In, Bits<11>>,
        /// STATUS: place of the highest packet that has arrived, plus one.
        pub bitmap_highest: Signal<In, Bits<11>>,
        /// STATUS: word of the bitmap, two clocks later.
        pub bitmap_addr: Signal<Out, Bits<A>>,
        /// That word.
        pub bitmap_word: Signal<In, Bits<W>>,
        /// Somebody is to send.
        pub pick_valid: Signal<In, Bit>,
        /// Who.
        pub pick_slot: Signal<In, Bits<LS>>,
        /// What: 0 due, 1 resend, 2 fresh, 3 spare.
        pub pick_class: Signal<In, Bits<2>>,
        /// A transfer says what it wants.
        pub set_en: Signal<Out, Bit>,
        /// Which; begin and end are about it too.
        pub set_slot: Signal<Out, Bits<LS>>,
        /// CONNECT, POLL or its end.
        pub set_due: Signal<Out, Bit>,
        /// Packets to send again.
        pub set_resend: Signal<Out, Bit>,
        /// A fresh packet.
        pub set_fresh: Signal<Out, Bit>,
        /// A poll of an idle line.
        pub set_spare: Signal<Out, Bit>,
        /// A transfer begins there.
        pub new_en: Signal<Out, Bit>,
        /// That one sends oldest first.
        pub begin_en: Signal<Out, Bit>,
        /// It ends.
        pub end_en: Signal<Out, Bit>,
        /// A DATA packet leaves.
        pub sent_en: Signal<Out, Bit>,
        /// It was asked for.
        pub sent_resend: Signal<Out, Bit>,
        /// Packets for the line.
        pub m_pkt: BulkPacketOut,
        /// Transfers that have ended.
        pub m_end: BulkEndOut,
        /// Coarse time.
        pub now: Signal<In, Bits<16>>,
        /// Times and limits.
        pub cfg: BulkSettingsIn,
        /// Something is counted: 1 fresh and 2 further DATA, 3 POLL, 4 CONNECT, 5 ABORT, 6 message ignored,
        /// 7 request that came too early or too late.
        pub counted: Signal<Out, Bits<4>>,
        /// What this clock goes to: 0 the line does not take a packet, 1 no transfer may send for want of credit,
        /// 2 no transfer has anything to send, 3 something else.
        pub clock_for: Signal<Out, Bits<2>>,
        /// The states have been cleared.
        pub ready: Signal<Out, Bit>,
        /// An operation ends.
        pub mon_act: Signal<Out, Bit>,
        /// Which: 0 message, 1 start, 2 cancel, 3 send, 4 timers.
        pub mon_op: Signal<Out, Bits<3>>,
        /// Its slot.
        pub mon_slot: Signal<Out, Bits<LS>>,
        /// What was sent for.
        pub mon_class: Signal<Out, Bits<2>>,
        /// Time it went by.
        pub mon_now: Signal<Out, Bits<16>>,
        /// What the transfer wants then: due, resend, fresh, spare from bit 0 on.
        pub mon_wants: Signal<Out, Bits<4>>,

        /// State of each transfer.
        states: RamReg<324, SA>,
        /// What each transfer copies: node, address, key, bytes, log2 of the packet size, packets, bytes of the last one.
        fixed: RamReg<187, SA>,
        /// Of each packet between the first one not known to have arrived and the last one sent: when it left last,
        /// whether that was not the first time, whether it is asked for.
        ring: RamReg<18, RA>,
        /// Packets to be sent again, in the order in which they were asked for.
        repairs: RamReg<22, QA>,
        /// When the last polls left; before the first one, the CONNECT.
        polled: RamReg<16, QA>,
        scan: BulkScan<W, LW, A, LD>,
        wants: BulkWants<LD>,
        plan: BulkPlan,
        lowest: PriorityEncoder<S, LS>,
        turns: TakeTurns<4>,

        state: DFF<State>,
        #[reset] up: DFF<Bit>,
        op: DFF<Op>,
        starts: DFF<Bit>,
        cancels: DFF<Bit>,
        serves: DFF<Bit>,
        sends: DFF<Bit>,
        aim: DFF<Aim>,
        timer: DFF<Bits<3>>,
        #[reset] clear_count: DFF<Bits<LS>>,
        /// Transfer of this operation, what is sent for it, when it began.
        slot: DFF<Bits<LS>>,
        purpose: DFF<Bits<2>>,
        start: DFF<Bits<16>>,
        /// Transfers that have not ended, and those of them that lack credit.
        #[reset] active: DFF<Bits<S>>,
        #[reset] starved: DFF<Bits<S>>,
        mask: Signal<Local, Bits<S>>,
        /// The lowest free slot.
        free_slot: DFF<Bits<LS>>,
        #[reset] free: DFF<Bit>,
        /// The kind of operation that was done last, one-hot.
        #[reset] served: DFF<Bits<4>>,
        asks: Signal<Local, Bits<4>>,
        /// Transfer whose timers are looked at next; clocks since they were.
        #[reset] visit: DFF<Bits<LS>>,
        visit_here: Signal<Local, Bit>,
        #[reset] since_visit: DFF<Bits<8>>,
        /// A clock later: there is one, its slot, its time has come.
        #[reset] here: DFF<Bit>,
        here_slot: DFF<Bits<LS>>,
        #[reset] overdue: DFF<Bit>,
        can_end: Signal<Local, Bit>,
        can_send: Signal<Local, Bit>,

        // Of the transfer.
        /// Number of the transfer.
        t_xid: DFF<Bits<32>>,
        /// Its window is known.
        t_open: DFF<Bit>,
        /// Anything was heard of it.
        t_heard: DFF<Bit>,
        /// A CONNECT has left since the last BUSY.
        t_connecting: DFF<Bit>,
        /// Something was asked for, or found lost.
        t_lossy: DFF<Bit>,
        /// A second copy of a repair is to leave.
        t_echo_valid: DFF<Bit>,
        /// Its window.
        t_wptr: DFF<Bits<16>>,
        /// Incarnation of that; while there is none BUSY answers so far.
        t_gen: DFF<Bits<16>>,
        /// Packets of that.
        t_w: DFF<Bits<16>>,
        /// Numbers below this may be sent.
        t_credit: DFF<Bits<22>>,
        /// Numbers below this have arrived.
        t_base: DFF<Bits<22>>,
        /// Send pointer.
        t_next: DFF<Bits<22>>,
        /// First number that was never sent.
        t_upto: DFF<Bits<22>>,
        /// Numbers below this are taken to have arrived.
        t_trusted: DFF<Bits<22>>,
        /// The packet of that second copy.
        t_echo: DFF<Bits<22>>,
        /// Place of the packet to be sent again next.
        t_rhead: DFF<Bits<5>>,
        /// Packets to be sent again.
        t_rcount: DFF<Bits<6>>,
        /// Second copies that may be spent.
        t_owed: DFF<Bits<8>>,
        /// Polls of an idle line since the last DATA packet.
        t_early_polls: DFF<Bits<5>>,
        /// Time of the next one.
        t_early_at: DFF<Bits<16>>,
        /// Polls or CONNECTs since the last progress.
        t_polls: DFF<Bits<8>>,
        /// Poll interval.
        t_interval: DFF<Bits<16>>,
        /// Time of the next poll.
        t_poll_at: DFF<Bits<16>>,
        /// Number of the last poll.
        t_seq: DFF<Bits<16>>,
        /// Ticks that an answer takes beyond cfg_retry, since queues are long on the way.
        t_late: DFF<Bits<11>>,
        flags: Signal<Local, Bits<5>>,
        n: DFF<Bits<22>>,
        mtu: DFF<Bits<4>>,
        scale: Signal<Local, Bits<3>>,
        last_len: DFF<Bits<13>>,
        last: DFF<Bits<22>>,

        // Comparisons, made while the engine waits.
        named_xid: Signal<Local, Bits<32>>,
        /// Number that the slots have after reset.
        number_before: Signal<Local, Bits<32>>,
        named_slot: Signal<Local, Bits<16>>,
        same_xid: DFF<Bit>,
        in_range: DFF<Bit>,
        is_active: DFF<Bit>,
        polls_spent: DFF<Bit>,
        busy_spent: DFF<Bit>,
        credit_beyond: DFF<Bit>,
        credit_more: DFF<Bit>,
        base_beyond: DFF<Bit>,
        base_below: DFF<Bit>,
        base_above: DFF<Bit>,
        next_passed: DFF<Bit>,
        echo_passed: DFF<Bit>,
        seq_gap: DFF<Bits<17>>,
        answers: DFF<Bit>,
        all_sent: DFF<Bit>,
        trusted_passed: DFF<Bit>,
        doubled: DFF<Bits<17>>,
        capped: DFF<Bits<16>>,
        stalled: DFF<Bits<16>>,
        wait_more: DFF<Bit>,
        hint: DFF<Bits<16>>,
        /// Packets sent from base on, and those below the send pointer.
        span: DFF<Bits<22>>,
        below_next: DFF<Bits<11>>,
        sent_here: DFF<Bits<11>>,
        sent_short: DFF<Bit>,
        old: DFF<Bits<11>>,
        /// Time of the poll that a STATUS answers, less the allowance.
        polled_at: DFF<Bits<16>>,
        /// The window is there; a STATUS moves base.
        opening: DFF<Bit>,
        moved: DFF<Bit>,
        /// The packet below base of a STATUS.
        newest_place: DFF<Bits<LD>>,
        /// When what is taken for the cause of an answer left, and what it took to that.
        caused_at: DFF<Bits<16>>,
        took: DFF<Bits<16>>,
        /// It tells how long queues are; how much longer than configured, and what is kept of it.
        certain: DFF<Bit>,
        beyond: DFF<Bits<17>>,
        late: DFF<Bits<11>>,
        poll_place: DFF<Bits<5>>,
        /// The first packet that a STATUS shows to be lost.
        first: DFF<Bits<22>>,
        first_valid: DFF<Bit>,
        top: DFF<Bits<22>>,

        // The packet that is looked up, or sent.
        probe: DFF<Bits<22>>,
        offset: DFF<Bits<22>>,
        sent: DFF<Bit>,
        age: DFF<Bits<16>>,
        gap: DFF<Bits<16>>,
        again: DFF<Bit>,
        asked: DFF<Bit>,
        stamp: DFF<Bits<16>>,
        usual: Signal<Local, Bits<16>>,
        queues: Signal<Local, Bits<16>>,
        least: DFF<Bits<16>>,
        old_enough: DFF<Bit>,
        probe_below_next: DFF<Bit>,
        /// Fresh packets may leave that the receiver has granted and the ring has places for.
        granted_left: DFF<Bit>,
        probe_below_trusted: DFF<Bit>,
        probe_below_upto: DFF<Bit>,
        probe_last: DFF<Bit>,
        above_window: DFF<Bits<22>>,
        above_quarter: DFF<Bits<23>>,
        known: DFF<Bits<23>>,
        window_left: DFF<Bit>,
        shuts_soon: DFF<Bit>,
        has_owed: DFF<Bit>,
        has_spare_owed: DFF<Bit>,
        copy: DFF<Bit>,
        at_byte: DFF<Bits<32>>,
        packet_len: DFF<Bits<13>>,
        room: Signal<Local, Bit>,
        good: Signal<Local, Bit>,
        rewind: Signal<Local, Bit>,
        ask: Signal<Local, Bit>,
        owe: Signal<Local, Bit>,
        #[reset] owing: DFF<Bit>,
        /// The send pointer goes back to the packet looked up; nothing from it on is trusted; one more is; all
        /// below base are.
        #[reset] back: DFF<Bit>,
        #[reset] lower: DFF<Bit>,
        #[reset] trust: DFF<Bit>,
        #[reset] lift: DFF<Bit>,
        target: DFF<Bits<22>>,
        target_lower: DFF<Bit>,
        /// The time of the next poll is set, so many ticks from now on; the polls start again, or wait longer.
        #[reset] put_off: DFF<Bit>,
        wait: DFF<Bits<16>>,
        #[reset] progress: DFF<Bit>,
        #[reset] back_off: DFF<Bit>,
        /// The message is for this transfer, and what it is.
        found: DFF<Bit>,
        is_complete: DFF<Bit>,
        is_unknown: DFF<Bit>,
        is_one: DFF<Bit>,
        is_range: DFF<Bit>,
        is_resp: DFF<Bit>,
        granted: DFF<Bit>,
        told_busy: DFF<Bit>,
        told_refused: DFF<Bit>,
        credible: DFF<Bit>,
        newest: DFF<Bit>,
        more_credit: DFF<Bit>,
        /// What is sent: the transfer is given up; CONNECT or POLL.
        give_up: DFF<Bit>,
        send_poll: DFF<Bit>,
        send_early: DFF<Bit>,
        send_again: DFF<Bit>,
        send_fresh: DFF<Bit>,
        /// A transfer begins.
        begins: DFF<Bit>,
        /// The send pointer goes to the packet that is looked up, and so does base; or on by one.
        #[reset] jump: DFF<Bit>,
        #[reset] jump_base: DFF<Bit>,
        #[reset] advance: DFF<Bit>,
        early_gap: DFF<Bit>,
        few_early: DFF<Bit>,
        ring_place: Signal<Local, Bits<LD>>,
        ring_write: Signal<Local, Bit>,
        ring_write_place: Signal<Local, Bits<LD>>,
        ring_data: Signal<Local, Bits<18>>,
        repair_place: Signal<Local, Bits<5>>,
        ld: Param<LD, 5>,

        // What is sent: type, and what its transfer ends with.
        kind: DFF<Bits<3>>,
        /// The time of the next poll of an idle line is set.
        #[reset] early: DFF<Bit>,
        outcome: DFF<Bits<4>>,
        reason: DFF<Bits<4>>,
        abort: DFF<Bit>,
        #[reset] told: DFF<Bits<4>>,

        // Registers of the outputs.
        #[reset] k_valid: DFF<Bit>,
        k_type: DFF<Bits<3>>,
        k_dst: DFF<Bits<20>>,
        k_slot: DFF<Bits<LS>>,
        k_xid: DFF<Bits<32>>,
        k_wptr: DFF<Bits<16>>,
        k_gen: DFF<Bits<16>>,
        k_pidx: DFF<Bits<22>>,
        k_tail: DFF<Bit>,
        k_again: DFF<Bit>,
        k_offset: DFF<Bits<32>>,
        k_length: DFF<Bits<32>>,
        k_seq: DFF<Bits<16>>,
        k_reason: DFF<Bits<4>>,
        k_addr: DFF<Bits<64>>,
        k_rkey: DFF<Bits<32>>,
        k_mtu: DFF<Bits<4>>,
        #[reset] e_valid: DFF<Bit>,
        e_slot: DFF<Bits<LS>>,
        e_xid: DFF<Bits<32>>,
        e_outcome: DFF<Bits<4>>,
        #[reset] a_valid: DFF<Bit>,
        a_error: DFF<Bits<2>>,
        a_slot: DFF<Bits<LS>>,
        a_xid: DFF<Bits<32>>,
        leaving: Signal<Local, Bit>,

        data: Param<{ MessageType::Data as usize }, 3>,
        complete: Param<{ MessageType::Complete as usize }, 3>,
        retx_one: Param<{ MessageType::RetxOne as usize }, 3>,
        retx_range: Param<{ MessageType::RetxRange as usize }, 3>,
        connect: Param<{ MessageType::Connect as usize }, 3>,
        connect_resp: Param<{ MessageType::ConnectResp as usize }, 3>,
        poll_status: Param<{ MessageType::PollStatus as usize }, 3>,
        abort_unknown: Param<{ MessageType::AbortUnknown as usize }, 3>,
        resp_ok: Param<{ ConnectStatus::Ok as usize }, 4>,
        resp_busy: Param<{ ConnectStatus::Busy as usize }, 4>,
        resp_refused: Param<{ ConnectStatus::Refused as usize }, 4>,
        gave_up: Param<{ Reason::GaveUp as usize }, 4>,
        resp_access: Param<{ ConnectStatus::Access as usize }, 4>,
        resp_bad_qp: Param<{ ConnectStatus::BadQp as usize }, 4>,
        not_ready: Param<{ Status::NotReady as usize }, 4>,
    }
}

impl<
    const S: usize,
    const LS: usize,
    const SA: usize,
    const LD: usize,
    const RA: usize,
    const QA: usize,
    const W: usize,
    const LW: usize,
    const A: usize,
> Logic for BulkEngine<S, LS, SA, LD, RA, QA, W, LW, A>
{
    #[hdl_gen]
    fn update(&mut self) {
        // Tables.
        self.states.rd.addr.next = bit_cast::<SA, LS>(self.slot.q.val());
        self.fixed.rd.addr.next = bit_cast::<SA, LS>(self.slot.q.val());
        self.scale.next = bit_cast::<3, 4>(self.mtu.q.val());
        self.mask.next = bits::<S>(1) << self.slot.q.val();
        self.lowest.req.next = !self.active.q.val();
        self.free_slot.d.next = self.lowest.index.val();
        self.free.d.next = !self.lowest.none.val();
        self.plan.addr.next = self.s.addr.val();
        self.plan.length.next = self.s.length.val();
        self.plan.mtu.next = self.s.mtu.val();

        // The transfer that is named.
        self.named_xid.next = self.s_msg.xid.val();
        self.named_slot.next = self.s_msg.slot.val();
        if self.cancels.q.val() {
            self.named_xid.next = self.s_cancel.xid.val();
            self.named_slot.next = self.s_cancel.slot.val();
        }
        self.same_xid.d.next = self.t_xid.q.val() == self.named_xid.val();
        self.in_range.d.next = self.named_slot.val() == bit_cast::<16, LS>(self.slot.q.val());
        self.is_active.d.next = (self.active.q.val() & self.mask.val()).any();

        // Comparisons of the state, with the message and in itself.
        self.polls_spent.d.next = self.t_polls.q.val() >= self.cfg.max_polls.val();
        self.busy_spent.d.next = self.t_gen.q.val() >= self.cfg.max_busy.val();
        self.credit_beyond.d.next = self.s_msg.credit.val() > self.n.q.val();
        self.credit_more.d.next = self.s_msg.credit.val() > self.t_credit.q.val();
        self.base_beyond.d.next = self.s_msg.pidx.val() > self.t_upto.q.val();
        self.base_below.d.next = self.s_msg.pidx.val() < self.t_base.q.val();
        self.base_above.d.next = self.s_msg.pidx.val() != self.t_base.q.val();
        self.next_passed.d.next = self.s_msg.pidx.val() > self.t_next.q.val();
        self.echo_passed.d.next = self.s_msg.pidx.val() > self.t_echo.q.val();
        self.seq_gap.d.next =
            bit_cast::<17, 16>(self.t_seq.q.val()) - bit_cast::<17, 16>(self.s_msg.seq.val());
        self.answers.d.next = self.s_msg.seq.val().any() & !(self.seq_gap.q.val() >> 5).any();
        self.all_sent.d.next = self.t_next.q.val() == self.n.q.val();
        self.trusted_passed.d.next = self.t_trusted.q.val() < self.t_base.q.val();
        self.doubled.d.next = bit_cast::<17, 16>(self.t_interval.q.val()) << 1;
        self.capped.d.next = bit_cast::<16, 17>(self.doubled.q.val());
        if self.doubled.q.val() > bit_cast::<17, 16>(self.cfg.poll_max.val()) {
            self.capped.d.next = self.cfg.poll_max.val();
        }
        self.wait_more.d.next = self.t_interval.q.val() < self.cfg.stall_poll.val();
        self.stalled.d.next = self.cfg.stall_poll.val();
        if self.wait_more.q.val() | self.all_sent.q.val() | self.t_polls.q.val().any() {
            self.stalled.d.next = self.t_interval.q.val();
        }
        self.hint.d.next = self.s_msg.hint.val();
        if self.s_msg.hint.val().get_bit(15) {
            self.hint.d.next = 32767.into();
        }
        self.found.d.next = self.serves.q.val()
            & self.is_active.q.val()
            & self.same_xid.q.val()
            & self.in_range.q.val();
        self.is_complete.d.next =
            self.found.q.val() & (self.s_msg.r#type.val() == self.complete.val());
        self.is_unknown.d.next =
            self.found.q.val() & (self.s_msg.r#type.val() == self.abort_unknown.val());
        self.is_one.d.next = self.found.q.val() & (self.s_msg.r#type.val() == self.retx_one.val());
        self.is_range.d.next =
            self.found.q.val() & (self.s_msg.r#type.val() == self.retx_range.val());
        self.is_resp.d.next =
            (self.s_msg.r#type.val() == self.connect_resp.val()) & !self.t_open.q.val();
        self.granted.d.next = self.found.q.val()
            & self.is_resp.q.val()
            & (self.s_msg.status.val() == self.resp_ok.val());
        self.told_busy.d.next = self.found.q.val()
            & self.is_resp.q.val()
            & self.t_connecting.q.val()
            & (self.s_msg.status.val() == self.resp_busy.val());
        self.told_refused.d.next = self.found.q.val()
            & self.is_resp.q.val()
            & ((self.s_msg.status.val() == self.resp_refused.val())
                | (self.s_msg.status.val() == self.resp_access.val())
                | (self.s_msg.status.val() == self.resp_bad_qp.val()));
        self.credible.d.next = (self.s_msg.r#type.val() == self.poll_status.val())
            & self.t_open.q.val()
            & !self.base_beyond.q.val()
            & !self.credit_beyond.q.val();
        self.newest.d.next = self.found.q.val() & self.credible.q.val() & !self.base_below.q.val();
        self.more_credit.d.next =
            self.found.q.val() & self.credible.q.val() & self.credit_more.q.val();
        self.begins.d.next = self.starts.q.val() & !self.plan.error.val().any();
        self.give_up.d.next =
            self.sends.q.val() & (self.purpose.q.val() == 0) & self.polls_spent.q.val();
        self.send_poll.d.next =
            self.sends.q.val() & (self.purpose.q.val() == 0) & !self.polls_spent.q.val();
        self.send_again.d.next = self.sends.q.val() & (self.purpose.q.val() == 1);
        self.send_fresh.d.next = self.sends.q.val() & (self.purpose.q.val() == 2);
        self.send_early.d.next = self.sends.q.val() & (self.purpose.q.val() == 3);
        self.span.d.next = self.t_upto.q.val() - self.t_base.q.val();
        self.below_next.d.next = bit_cast::<11, 22>(self.t_next.q.val() - self.t_base.q.val());
        self.sent_short.d.next = bit_cast::<11, 22>(self.span.q.val()) < self.bitmap_len.val();
        self.sent_here.d.next = self.bitmap_len.val();
        if self.sent_short.q.val() {
            self.sent_here.d.next = bit_cast::<11, 22>(self.span.q.val());
        }
        self.old.d.next = self.bitmap_highest.val() - bit_cast::<11, 16>(self.cfg.allowance.val());
        if bit_cast::<16, 11>(self.bitmap_highest.val()) < self.cfg.allowance.val() {
            self.old.d.next = 0.into();
        }
        self.top.d.next = self.t_base.q.val() + bit_cast::<22, 11>(self.bitmap_len.val());
        self.last.d.next = self.n.q.val() - 1;

        // The packet that is looked up.
        self.offset.d.next = self.probe.q.val() - self.t_base.q.val();
        self.sent.d.next = self.offset.q.val() < self.span.q.val();
        self.stamp.d.next = bit_cast::<16, 18>(self.ring.rd.data.val());
        self.again.d.next = self.ring.rd.data.val().get_bit(16);
        self.asked.d.next = self.ring.rd.data.val().get_bit(17);
        self.age.d.next = self.start.q.val() - self.stamp.q.val();
        self.gap.d.next = self.polled_at.q.val() - self.stamp.q.val();
        self.usual.next = self.cfg.settled.val();
        self.queues.next = bit_cast::<16, 11>(self.t_late.q.val());
        if (self.aim.q.val() == Aim::Range) | (self.aim.q.val() == Aim::Hole) {
            self.usual.next = self.cfg.retry.val();
        }
        if self.aim.q.val() == Aim::Range {
            self.queues.next = bit_cast::<16, 11>(self.t_late.q.val()) << 2;
        }
        self.least.d.next = self.usual.val() + self.queues.val();
        if (self.aim.q.val() == Aim::Back) | ((self.aim.q.val() == Aim::Trust) & self.again.q.val())
        {
            self.least.d.next = self.cfg.overtaken.val();
        }
        self.old_enough.d.next = self.age.q.val() >= self.least.q.val();
        self.probe_below_next.d.next = self.probe.q.val() < self.t_next.q.val();
        self.granted_left.d.next = (self.t_next.q.val() < self.t_credit.q.val())
            & !(self.below_next.q.val() >> self.ld.val()).any();
        self.probe_below_trusted.d.next = self.probe.q.val() < self.t_trusted.q.val();
        self.probe_below_upto.d.next = self.probe.q.val() < self.t_upto.q.val();
        self.probe_last.d.next = self.probe.q.val() == self.last.q.val();
        self.above_window.d.next = self.probe.q.val() + bit_cast::<22, 16>(self.t_w.q.val());
        self.above_quarter.d.next = bit_cast::<23, 22>(self.above_window.q.val())
            + bit_cast::<23, 16>(self.t_w.q.val() >> 2);
        self.known.d.next =
            bit_cast::<23, 22>(self.t_next.q.val()) + bit_cast::<23, 16>(self.cfg.known.val());
        self.window_left.d.next = self.above_quarter.q.val() < bit_cast::<23, 22>(self.n.q.val());
        self.shuts_soon.d.next = bit_cast::<23, 22>(self.above_window.q.val()) < self.known.q.val();
        self.has_owed.d.next = self.t_owed.q.val().any();
        self.has_spare_owed.d.next = self.t_owed.q.val() > 4;
        self.copy.d.next = self.window_left.q.val() & self.shuts_soon.q.val();
        if self.all_sent.q.val() {
            self.copy.d.next = self.has_spare_owed.q.val();
        }
        self.at_byte.d.next = (bit_cast::<32, 22>(self.probe.q.val()) << 8) << self.scale.val();
        self.packet_len.d.next = bits::<13>(256) << self.scale.val();
        if self.probe_last.q.val() {
            self.packet_len.d.next = self.last_len.q.val();
        }
        self.room.next = !self.t_rcount.q.val().get_bit(5);
        self.repair_place.next = self.t_rhead.q.val() + bit_cast::<5, 6>(self.t_rcount.q.val());

        // What the transfer wants.
        self.few_early.d.next = self.t_early_polls.q.val() < 20;
        self.early_gap.d.next = self.cfg.echo.val()
            & self.t_open.q.val()
            & self.t_lossy.q.val()
            & self.few_early.q.val();
        self.wants.now.next = self.start.q.val();
        self.wants.open.next = self.t_open.q.val();
        self.wants.repairs.next = self.t_echo_valid.q.val() | self.t_rcount.q.val().any();
        self.wants.early.next = self.early_gap.q.val();
        self.wants.n.next = self.n.q.val();
        self.wants.credit.next = self.t_credit.q.val();
        self.wants.base.next = self.t_base.q.val();
        self.wants.pointer.next = self.t_next.q.val();
        self.wants.trusted.next = self.t_trusted.q.val();
        self.wants.poll_at.next = self.t_poll_at.q.val();
        self.wants.early_at.next = self.t_early_at.q.val();
        self.wants.cfg_overrun.next = self.cfg.overrun.val();

        // The bitmap of a STATUS.
        self.scan.start.next = false;
        self.scan.now.next = self.start.q.val();
        self.scan.base.next = self.t_base.q.val();
        self.scan.sent.next = self.sent_here.q.val();
        self.scan.below_next.next = self.below_next.q.val();
        self.scan.old.next = self.old.q.val();
        self.scan.highest.next = self.bitmap_highest.val();
        self.scan.answers.next = self.answers.q.val();
        self.scan.polled.next = self.polled_at.q.val();
        self.scan.room.next = self.room.val();
        self.scan.retry.next = self.least.q.val();
        self.bitmap_addr.next = self.scan.word_addr.val();
        self.scan.word.next = self.bitmap_word.val();
        self.scan.read_data.next = self.ring.rd.data.val();

        // Memories of packets.
        self.ring_place.next = self.newest_place.q.val();
        if self.state.q.val() == State::Probe {
            self.ring_place.next = bit_cast::<LD, 22>(self.probe.q.val());
        }
        if self.state.q.val() == State::Scan {
            self.ring_place.next = self.scan.read_place.val();
        }
        self.ring.rd.addr.next = (bit_cast::<RA, LS>(self.slot.q.val()) << self.ld.val())
            | bit_cast::<RA, LD>(self.ring_place.val());
        self.ring_write.next = false;
        self.ring_write_place.next = bit_cast::<LD, 22>(self.probe.q.val());
        self.ring_data.next = bit_cast::<18, 16>(self.start.q.val());
        if self.scan.write.val() {
            self.ring_write_place.next = self.scan.write_place.val();
            self.ring_data.next = self.scan.write_data.val();
        } else if self.state.q.val() == State::Judge {
            self.ring_data.next = bit_cast::<18, 16>(self.stamp.q.val())
                .replace_bit(16, self.again.q.val())
                .replace_bit(17, true);
        } else if self.probe_below_upto.q.val() {
            self.ring_data.next = bit_cast::<18, 16>(self.start.q.val()).replace_bit(16, true);
        }
        self.repairs.rd.addr.next =
            (bit_cast::<QA, LS>(self.slot.q.val()) << 5) | bit_cast::<QA, 5>(self.t_rhead.q.val());
        self.repairs.wr.addr.next = (bit_cast::<QA, LS>(self.slot.q.val()) << 5)
            | bit_cast::<QA, 5>(self.repair_place.val());
        self.poll_place.d.next = bit_cast::<5, 16>(self.s_msg.seq.val());
        if self.s_msg.r#type.val() == self.connect_resp.val() {
            self.poll_place.d.next = 0.into();
        }
        self.polled.rd.addr.next = (bit_cast::<QA, LS>(self.slot.q.val()) << 5)
            | bit_cast::<QA, 5>(self.poll_place.q.val());
        self.polled.wr.addr.next = (bit_cast::<QA, LS>(self.slot.q.val()) << 5)
            | bit_cast::<QA, 5>(bit_cast::<5, 16>(self.t_seq.q.val()));
        // Before the first poll the time of CONNECT stands in the place of number 0.
        self.polled.wr.en.next = (self.state.q.val() == State::Emit)
            & ((self.kind.q.val() == self.poll_status.val())
                | (self.kind.q.val() == self.connect.val()));
        self.polled.wr.data.next = self.start.q.val();
        self.polled_at.d.next = self.polled.rd.data.val() - self.cfg.allowance.val();

        // How long queues are: what the answer to a CONNECT or POLL took, or the news of a packet that was sent once.
        self.newest_place.d.next = bit_cast::<LD, 22>(self.s_msg.pidx.val() - 1);
        self.caused_at.d.next = self.stamp.q.val();
        self.certain.d.next =
            self.moved.q.val() & !self.again.q.val() & !self.bitmap_highest.val().any();
        if self.opening.q.val() | self.answers.q.val() {
            self.caused_at.d.next = self.polled.rd.data.val();
            self.certain.d.next = true;
        }
        self.took.d.next = self.start.q.val() - self.caused_at.q.val();
        self.beyond.d.next =
            bit_cast::<17, 16>(self.took.q.val()) - bit_cast::<17, 16>(self.cfg.retry.val());
        self.late.d.next = bit_cast::<11, 17>(self.beyond.q.val());
        if (self.beyond.q.val() >> 11).any() {
            self.late.d.next = 2047.into();
        }
        if self.beyond.q.val().get_bit(16) {
            self.late.d.next = 0.into();
        }

        self.number_before.next = self.cfg.xid_before.val();
        self.states.wr.en.next = self.state.q.val() == State::Store;
        self.states.wr.addr.next = bit_cast::<SA, LS>(self.slot.q.val());
        self.flags.next = bits::<5>(0)
            .replace_bit(0, self.t_open.q.val())
            .replace_bit(1, self.t_heard.q.val())
            .replace_bit(2, self.t_connecting.q.val())
            .replace_bit(3, self.t_lossy.q.val())
            .replace_bit(4, self.t_echo_valid.q.val());
        self.states.wr.data.next = bit_cast::<324, 32>(self.t_xid.q.val())
            | (bit_cast::<324, 5>(self.flags.val()) << 32)
            | (bit_cast::<324, 16>(self.t_wptr.q.val()) << 37)
            | (bit_cast::<324, 16>(self.t_gen.q.val()) << 53)
            | (bit_cast::<324, 16>(self.t_w.q.val()) << 69)
            | (bit_cast::<324, 22>(self.t_credit.q.val()) << 85)
            | (bit_cast::<324, 22>(self.t_base.q.val()) << 107)
            | (bit_cast::<324, 22>(self.t_next.q.val()) << 129)
            | (bit_cast::<324, 22>(self.t_upto.q.val()) << 151)
            | (bit_cast::<324, 22>(self.t_trusted.q.val()) << 173)
            | (bit_cast::<324, 22>(self.t_echo.q.val()) << 195)
            | (bit_cast::<324, 5>(self.t_rhead.q.val()) << 217)
            | (bit_cast::<324, 6>(self.t_rcount.q.val()) << 222)
            | (bit_cast::<324, 8>(self.t_owed.q.val()) << 228)
            | (bit_cast::<324, 5>(self.t_early_polls.q.val()) << 236)
            | (bit_cast::<324, 16>(self.t_early_at.q.val()) << 241)
            | (bit_cast::<324, 8>(self.t_polls.q.val()) << 257)
            | (bit_cast::<324, 16>(self.t_interval.q.val()) << 265)
            | (bit_cast::<324, 16>(self.t_poll_at.q.val()) << 281)
            | (bit_cast::<324, 16>(self.t_seq.q.val()) << 297)
            | (bit_cast::<324, 11>(self.t_late.q.val()) << 313);
        self.fixed.wr.en.next = false;
        self.fixed.wr.addr.next = bit_cast::<SA, LS>(self.slot.q.val());
        self.fixed.wr.data.next = bit_cast::<187, 20>(self.s.dst.val())
            | (bit_cast::<187, 64>(self.s.addr.val()) << 20)
            | (bit_cast::<187, 32>(self.s.rkey.val()) << 84)
            | (bit_cast::<187, 32>(self.s.length.val()) << 116)
            | (bit_cast::<187, 4>(self.s.mtu.val()) << 148)
            | (bit_cast::<187, 22>(self.plan.n.val()) << 152)
            | (bit_cast::<187, 13>(self.plan.last_len.val()) << 174);

        // Outputs.
        self.m_pkt.valid.next = self.k_valid.q.val();
        self.m_pkt.r#type.next = self.k_type.q.val();
        self.m_pkt.dst.next = self.k_dst.q.val();
        self.m_pkt.slot.next = bit_cast::<16, LS>(self.k_slot.q.val());
        self.m_pkt.xid.next = self.k_xid.q.val();
        self.m_pkt.wptr.next = self.k_wptr.q.val();
        self.m_pkt.r#gen.next = self.k_gen.q.val();
        self.m_pkt.pidx.next = self.k_pidx.q.val();
        self.m_pkt.tail.next = self.k_tail.q.val();
        self.m_pkt.again.next = self.k_again.q.val();
        self.m_pkt.offset.next = self.k_offset.q.val();
        self.m_pkt.length.next = self.k_length.q.val();
        self.m_pkt.seq.next = self.k_seq.q.val();
        self.m_pkt.reason.next = self.k_reason.q.val();
        self.m_pkt.addr.next = self.k_addr.q.val();
        self.m_pkt.rkey.next = self.k_rkey.q.val();
        self.m_pkt.mtu.next = self.k_mtu.q.val();
        if self.k_valid.q.val() & self.m_pkt.ready.val() {
            self.k_valid.d.next = false;
        }
        self.m_end.valid.next = self.e_valid.q.val();
        self.m_end.slot.next = bit_cast::<16, LS>(self.e_slot.q.val());
        self.m_end.xid.next = self.e_xid.q.val();
        self.m_end.outcome.next = self.e_outcome.q.val();
        if self.e_valid.q.val() & self.m_end.ready.val() {
            self.e_valid.d.next = false;
        }
        self.m_started.valid.next = self.a_valid.q.val();
        self.m_started.error.next = self.a_error.q.val();
        self.m_started.slot.next = bit_cast::<16, LS>(self.a_slot.q.val());
        self.m_started.xid.next = self.a_xid.q.val();
        if self.a_valid.q.val() & self.m_started.ready.val() {
            self.a_valid.d.next = false;
        }

        // What can be done next.
        self.can_end.next = !self.e_valid.q.val();
        self.can_send.next = !self.k_valid.q.val() & !self.e_valid.q.val();
        self.visit_here.next = ((self.active.q.val() >> self.visit.q.val()) & bits::<S>(1)).any();
        if !self.visit_here.val() {
            self.visit.d.next = self.visit.q.val() + 1;
        }
        if !self.since_visit.q.val().all() {
            self.since_visit.d.next = self.since_visit.q.val() + 1;
        }
        self.here.d.next = self.visit_here.val();
        self.here_slot.d.next = self.visit.q.val();
        self.overdue.d.next = self.visit_here.val() & self.since_visit.q.val().all();
        self.asks.next = bits::<4>(0)
            .replace_bit(0, self.s_msg.valid.val() & self.can_end.val())
            .replace_bit(
                1,
                (self.s_cancel.valid.val() & self.can_send.val())
                    | (self.s.valid.val() & self.free.q.val() & !self.a_valid.q.val()),
            )
            .replace_bit(2, self.pick_valid.val() & self.can_send.val())
            .replace_bit(3, self.overdue.q.val());
        self.turns.req.next = self.asks.val();
        self.turns.last.next = self.served.q.val();

        // Defaults.
        self.leaving.next =
            (self.state.q.val() == State::Store) | (self.state.q.val() == State::Leave);
        self.s_msg.ready.next = self.leaving.val() & self.serves.q.val();
        self.s.ready.next = self.leaving.val() & self.starts.q.val();
        self.s_cancel.ready.next = self.leaving.val() & self.cancels.q.val();
        self.set_en.next = self.leaving.val();
        self.set_slot.next = self.slot.q.val();
        self.set_due.next = self.wants.due.val() & (self.state.q.val() == State::Store);
        self.set_resend.next = self.wants.resend.val() & (self.state.q.val() == State::Store);
        self.set_fresh.next = self.wants.fresh.val() & (self.state.q.val() == State::Store);
        self.set_spare.next = self.wants.spare.val() & (self.state.q.val() == State::Store);
        self.new_en.next = (self.state.q.val() == State::Act) & self.begins.q.val();
        self.begin_en.next =
            (self.state.q.val() == State::Act) & self.begins.q.val() & self.s.oldest_first.val();
        self.end_en.next = self.state.q.val() == State::End;
        self.sent_en.next =
            (self.state.q.val() == State::Emit) & (self.kind.q.val() == self.data.val());
        self.sent_resend.next = self.purpose.q.val() == 1;
        self.good.next = false;
        self.rewind.next = false;
        self.ask.next = self.scan.ask.val();
        self.owe.next = self.scan.ask.val();
        self.put_off.d.next = false;
        self.progress.d.next = false;
        self.back_off.d.next = false;
        self.wait.d.next = self.cfg.poll.val();
        self.jump.d.next = false;
        self.jump_base.d.next = false;
        self.advance.d.next = false;
        self.back.d.next = false;
        self.lower.d.next = false;
        self.trust.d.next = false;
        self.lift.d.next = false;
        self.target.d.next = self.probe.q.val();
        self.target_lower.d.next = self.probe_below_trusted.q.val();
        self.counted.next = 0.into();
        if self.leaving.val() {
            self.counted.next = self.told.q.val();
        }
        self.ready.next = self.up.q.val();
        self.clock_for.next = 3.into();
        if !self.pick_valid.val() {
            self.clock_for.next = 2.into();
            if self.starved.q.val().any() {
                self.clock_for.next = 1.into();
            }
        }
        if self.k_valid.q.val() & !self.m_pkt.ready.val() {
            self.clock_for.next = 0.into();
        }
        self.mon_act.next = self.leaving.val();
        self.mon_op.next = 0.into();
        match self.op.q.val() {
            Op::Message => {}
            Op::Start => self.mon_op.next = 1.into(),
            Op::Cancel => self.mon_op.next = 2.into(),
            Op::Send => self.mon_op.next = 3.into(),
            Op::Visit => self.mon_op.next = 4.into(),
        }
        self.mon_slot.next = self.slot.q.val();
        self.mon_class.next = self.purpose.q.val();
        self.mon_now.next = self.start.q.val();
        self.mon_wants.next = bits::<4>(0)
            .replace_bit(0, self.set_due.val())
            .replace_bit(1, self.set_resend.val())
            .replace_bit(2, self.set_fresh.val())
            .replace_bit(3, self.set_spare.val());

        self.timer.d.next = self.timer.q.val() + 1;
        match self.state.q.val() {
            State::Clear => {
                self.slot.d.next = self.clear_count.q.val();
                self.clear_count.d.next = self.clear_count.q.val() + 1;
                self.states.wr.en.next = true;
                self.states.wr.addr.next = bit_cast::<SA, LS>(self.clear_count.q.val());
                self.states.wr.data.next = bit_cast::<324, 32>(self.number_before.val());
                self.up.d.next = self.clear_count.q.val().all();
                if self.clear_count.q.val().all() {
                    self.timer.d.next = 0.into();
                    self.state.d.next = State::Idle;
                }
            }
            State::Idle => {
                self.told.d.next = 0.into();
                self.abort.d.next = false;
                self.first_valid.d.next = false;
                self.purpose.d.next = self.pick_class.val();
                self.start.d.next = self.now.val();
                if self.timer.q.val() >= 3 {
                    self.timer.d.next = self.timer.q.val();
                    if self.asks.val().any() {
                        self.served.d.next = self.turns.choice.val();
                        self.timer.d.next = 0.into();
                        self.state.d.next = State::Load;
                        self.serves.d.next = self.turns.choice.val().get_bit(0);
                        self.cancels.d.next = self.turns.choice.val().get_bit(1)
                            & self.s_cancel.valid.val()
                            & self.can_send.val();
                        self.starts.d.next = self.turns.choice.val().get_bit(1)
                            & !(self.s_cancel.valid.val() & self.can_send.val());
                        self.sends.d.next = self.turns.choice.val().get_bit(2);
                        if self.turns.choice.val().get_bit(0) {
                            self.op.d.next = Op::Message;
                            self.slot.d.next = bit_cast::<LS, 16>(self.s_msg.slot.val());
                        } else if self.turns.choice.val().get_bit(1) {
                            if self.s_cancel.valid.val() & self.can_send.val() {
                                self.op.d.next = Op::Cancel;
                                self.slot.d.next = bit_cast::<LS, 16>(self.s_cancel.slot.val());
                            } else {
                                self.op.d.next = Op::Start;
                                self.slot.d.next = self.free_slot.q.val();
                            }
                        } else if self.turns.choice.val().get_bit(2) {
                            self.op.d.next = Op::Send;
                            self.slot.d.next = self.pick_slot.val();
                        } else {
                            self.op.d.next = Op::Visit;
                            self.slot.d.next = self.here_slot.q.val();
                        }
                    } else if self.here.q.val() {
                        self.timer.d.next = 0.into();
                        self.state.d.next = State::Load;
                        self.op.d.next = Op::Visit;
                        self.slot.d.next = self.here_slot.q.val();
                        self.serves.d.next = false;
                        self.cancels.d.next = false;
                        self.starts.d.next = false;
                        self.sends.d.next = false;
                    }
                }
            }
            State::Load => {
                if self.timer.q.val() == 2 {
                    self.t_xid.d.next = self.states.rd.data.val().get_bits::<32>(0);
                    self.t_open.d.next = self.states.rd.data.val().get_bit(32);
                    self.t_heard.d.next = self.states.rd.data.val().get_bit(33);
                    self.t_connecting.d.next = self.states.rd.data.val().get_bit(34);
                    self.t_lossy.d.next = self.states.rd.data.val().get_bit(35);
                    self.t_echo_valid.d.next = self.states.rd.data.val().get_bit(36);
                    self.t_wptr.d.next = self.states.rd.data.val().get_bits::<16>(37);
                    self.t_gen.d.next = self.states.rd.data.val().get_bits::<16>(53);
                    self.t_w.d.next = self.states.rd.data.val().get_bits::<16>(69);
                    self.t_credit.d.next = self.states.rd.data.val().get_bits::<22>(85);
                    self.t_base.d.next = self.states.rd.data.val().get_bits::<22>(107);
                    self.t_next.d.next = self.states.rd.data.val().get_bits::<22>(129);
                    self.t_upto.d.next = self.states.rd.data.val().get_bits::<22>(151);
                    self.t_trusted.d.next = self.states.rd.data.val().get_bits::<22>(173);
                    self.t_echo.d.next = self.states.rd.data.val().get_bits::<22>(195);
                    self.t_rhead.d.next = self.states.rd.data.val().get_bits::<5>(217);
                    self.t_rcount.d.next = self.states.rd.data.val().get_bits::<6>(222);
                    self.t_owed.d.next = self.states.rd.data.val().get_bits::<8>(228);
                    self.t_early_polls.d.next = self.states.rd.data.val().get_bits::<5>(236);
                    self.t_early_at.d.next = self.states.rd.data.val().get_bits::<16>(241);
                    self.t_polls.d.next = self.states.rd.data.val().get_bits::<8>(257);
                    self.t_interval.d.next = self.states.rd.data.val().get_bits::<16>(265);
                    self.t_poll_at.d.next = self.states.rd.data.val().get_bits::<16>(281);
                    self.t_seq.d.next = self.states.rd.data.val().get_bits::<16>(297);
                    self.t_late.d.next = self.states.rd.data.val().get_bits::<11>(313);
                    self.mtu.d.next = self.fixed.rd.data.val().get_bits::<4>(148);
                    self.n.d.next = self.fixed.rd.data.val().get_bits::<22>(152);
                    self.last_len.d.next = self.fixed.rd.data.val().get_bits::<13>(174);
                    self.timer.d.next = 0.into();
                    self.state.d.next = State::Check;
                }
                if self.op.q.val() == Op::Visit {
                    self.since_visit.d.next = 0.into();
                    if self.timer.q.val() == 0 {
                        self.visit.d.next = self.visit.q.val() + 1;
                    }
                }
            }
            // Comparisons, the longest of which takes four clocks.
            State::Check => {
                if self.timer.q.val() == 3 {
                    self.timer.d.next = 0.into();
                    self.state.d.next = State::Act;
                }
            }
            State::Act => {
                self.timer.d.next = 0.into();
                self.state.d.next = State::Lift;
                if self.starts.q.val() {
                    self.a_valid.d.next = true;
                    self.a_error.d.next = self.plan.error.val();
                    self.a_slot.d.next = self.slot.q.val();
                    self.a_xid.d.next = self.t_xid.q.val() + 1;
                    if !self.begins.q.val() {
                        self.state.d.next = State::Leave;
                    }
                }
                if self.begins.q.val() {
                    self.fixed.wr.en.next = true;
                    self.active.d.next = self.active.q.val() | self.mask.val();
                    self.n.d.next = self.plan.n.val();
                    self.t_xid.d.next = self.t_xid.q.val() + 1;
                    self.t_open.d.next = false;
                    self.t_heard.d.next = false;
                    self.t_connecting.d.next = false;
                    self.t_lossy.d.next = false;
                    self.t_echo_valid.d.next = false;
                    self.t_credit.d.next = 0.into();
                    self.t_base.d.next = 0.into();
                    self.t_next.d.next = 0.into();
                    self.t_upto.d.next = 0.into();
                    self.t_trusted.d.next = 0.into();
                    self.t_rcount.d.next = 0.into();
                    self.t_owed.d.next = 0.into();
                    self.t_early_polls.d.next = 0.into();
                    self.t_gen.d.next = 0.into();
                    self.t_seq.d.next = 0.into();
                    self.t_late.d.next = 0.into();
                    // The first CONNECT is due at once.
                    self.progress.d.next = true;
                    self.put_off.d.next = true;
                    self.wait.d.next = 0.into();
                }
                if self.cancels.q.val() {
                    self.outcome.d.next = 6.into();
                    self.reason.d.next = self.s_cancel.reason.val();
                    self.abort.d.next = true;
                    self.state.d.next = State::Leave;
                    if self.is_active.q.val() & self.same_xid.q.val() & self.in_range.q.val() {
                        self.state.d.next = State::End;
                    } else if self.is_active.q.val() {
                        self.state.d.next = State::Lift;
                    }
                }
                if self.serves.q.val() {
                    self.told.d.next = 6.into();
                    if !self.is_active.q.val() {
                        self.state.d.next = State::Leave;
                    }
                    self.probe.d.next = self.s_msg.pidx.val();
                    self.outcome.d.next = 1.into();
                }
                self.opening.d.next = self.granted.q.val();
                self.moved.d.next = self.base_above.q.val();
                if self.found.q.val() {
                    self.t_heard.d.next = true;
                }
                if self.is_complete.q.val() | self.is_unknown.q.val() {
                    self.told.d.next = 0.into();
                    self.state.d.next = State::End;
                    if self.is_complete.q.val() & !self.s_msg.status.val().any() {
                        self.outcome.d.next = 0.into();
                    }
                    if self.is_complete.q.val() & (self.s_msg.status.val() == self.not_ready.val())
                    {
                        self.outcome.d.next = 9.into();
                    }
                }
                if self.is_one.q.val() {
                    self.aim.d.next = Aim::One;
                    self.state.d.next = State::Probe;
                }
                if self.is_range.q.val() {
                    self.aim.d.next = Aim::Range;
                    self.state.d.next = State::Probe;
                }
                if self.granted.q.val() {
                    self.told.d.next = 0.into();
                    self.t_open.d.next = true;
                    self.t_wptr.d.next = self.s_msg.wptr.val();
                    self.t_gen.d.next = self.s_msg.r#gen.val();
                    self.t_w.d.next = self.s_msg.w.val();
                    self.t_credit.d.next = self.s_msg.credit.val();
                    if self.credit_beyond.q.val() {
                        self.t_credit.d.next = self.n.q.val();
                    }
                    self.state.d.next = State::Polled;
                    self.progress.d.next = true;
                    self.put_off.d.next = true;
                }
                if self.told_refused.q.val() {
                    self.told.d.next = 0.into();
                    self.outcome.d.next = 2.into();
                    if self.s_msg.status.val() == self.resp_access.val() {
                        self.outcome.d.next = 7.into();
                    }
                    if self.s_msg.status.val() == self.resp_bad_qp.val() {
                        self.outcome.d.next = 8.into();
                    }
                    self.state.d.next = State::End;
                }
                if self.told_busy.q.val() {
                    self.told.d.next = 0.into();
                    self.t_connecting.d.next = false;
                    self.t_gen.d.next = self.t_gen.q.val() + 1;
                    self.progress.d.next = true;
                    self.put_off.d.next = true;
                    self.wait.d.next = self.hint.q.val();
                    self.outcome.d.next = 3.into();
                    if self.busy_spent.q.val() {
                        self.state.d.next = State::End;
                    }
                }
                if self.more_credit.q.val() {
                    self.t_credit.d.next = self.s_msg.credit.val();
                }
                if self.newest.q.val() {
                    self.told.d.next = 0.into();
                    self.aim.d.next = Aim::Hole;
                    self.state.d.next = State::Polled;
                    self.jump_base.d.next = true;
                    self.jump.d.next = self.next_passed.q.val();
                    if self.echo_passed.q.val() {
                        self.t_echo_valid.d.next = false;
                    }
                    self.progress.d.next = self.base_above.q.val();
                    self.put_off.d.next = self.base_above.q.val();
                }
                if self.sends.q.val() {
                    self.probe.d.next = self.t_next.q.val();
                    self.kind.d.next = self.poll_status.val();
                    self.state.d.next = State::Ready;
                    self.outcome.d.next = 4.into();
                    if self.t_heard.q.val() {
                        self.outcome.d.next = 5.into();
                    }
                    self.reason.d.next = self.gave_up.val();
                    self.abort.d.next = self.give_up.q.val();
                }
                if self.give_up.q.val() {
                    self.state.d.next = State::End;
                }
                if self.send_poll.q.val() {
                    self.back_off.d.next = true;
                    self.put_off.d.next = true;
                    self.wait.d.next = self.t_interval.q.val();
                    if !self.t_open.q.val() {
                        self.kind.d.next = self.connect.val();
                        self.t_connecting.d.next = true;
                    }
                }
                if self.send_early.q.val() {
                    self.t_early_polls.d.next = self.t_early_polls.q.val() + 1;
                    self.early.d.next = true;
                }
                if self.send_fresh.q.val() {
                    self.kind.d.next = self.data.val();
                    self.advance.d.next = true;
                }
                if self.send_again.q.val() {
                    self.kind.d.next = self.data.val();
                    self.probe.d.next = self.t_echo.q.val();
                    if self.t_echo_valid.q.val() {
                        self.t_echo_valid.d.next = false;
                    } else {
                        self.state.d.next = State::Pop;
                    }
                }
                if self.send_early.q.val() | (self.send_poll.q.val() & self.t_open.q.val()) {
                    self.t_seq.d.next = self.t_seq.q.val() + 1;
                    if self.t_seq.q.val().all() {
                        self.t_seq.d.next = 1.into();
                    }
                }
            }
            // A packet is looked up: its place in 1, its entry in 2, 3 and more clocks to judge it by.
            State::Probe => {
                if self.timer.q.val() == 4 {
                    self.state.d.next = State::Judge;
                }
            }
            State::Judge => {
                self.timer.d.next = 0.into();
                self.state.d.next = State::Lift;
                match self.aim.q.val() {
                    Aim::One => {
                        self.good.next = self.sent.q.val()
                            & self.old_enough.q.val()
                            & self.probe_below_next.q.val();
                        if self.good.val() {
                            self.told.d.next = 0.into();
                            self.aim.d.next = Aim::Back;
                            self.probe.d.next = self.above_window.q.val();
                            self.state.d.next = State::Probe;
                            self.lower.d.next = true;
                            if !self.asked.q.val() & self.room.val() {
                                self.ask.next = true;
                                self.owe.next = true;
                                self.ring_write.next = true;
                            }
                        } else {
                            self.told.d.next = 7.into();
                        }
                    }
                    Aim::Range => {
                        if self.sent.q.val() & self.old_enough.q.val() & !self.granted_left.q.val()
                        {
                            self.told.d.next = 0.into();
                            self.rewind.next = true;
                            self.owe.next = self.probe_below_next.q.val();
                        } else {
                            self.told.d.next = 7.into();
                        }
                    }
                    // The scan looks these up.
                    Aim::Hole => {}
                    Aim::Top => {
                        self.rewind.next = self.sent.q.val()
                            & self.answers.q.val()
                            & !self.gap.q.val().get_bit(15);
                        if self.first_valid.q.val() {
                            self.aim.d.next = Aim::Back;
                            self.probe.d.next =
                                self.first.q.val() + bit_cast::<22, 16>(self.t_w.q.val());
                            self.state.d.next = State::Probe;
                        }
                    }
                    Aim::Back => {
                        self.rewind.next = self.sent.q.val()
                            & self.old_enough.q.val()
                            & self.t_open.q.val()
                            & self.cfg.overrun.val().any();
                    }
                    Aim::Pop => {
                        if self.sent.q.val() & self.asked.q.val() & self.probe_below_next.q.val() {
                            self.state.d.next = State::Emit;
                            if self.cfg.echo.val() & self.has_owed.q.val() & self.copy.q.val() {
                                self.t_echo_valid.d.next = true;
                                self.t_echo.d.next = self.probe.q.val();
                                self.t_owed.d.next = self.t_owed.q.val() - 1;
                            }
                        } else if self.t_rcount.q.val().any() {
                            self.state.d.next = State::Pop;
                        }
                    }
                    Aim::Trust => {
                        self.state.d.next = State::Settle;
                        if self.sent.q.val()
                            & self.old_enough.q.val()
                            & !self.asked.q.val()
                            & self.probe_below_next.q.val()
                        {
                            self.trust.d.next = true;
                        }
                    }
                }
            }
            // What an answer says of queues: its cause in 1, its time in 2, what that is beyond in 3, as it is kept in 4.
            State::Polled => {
                if self.timer.q.val() == 4 {
                    if self.certain.q.val() {
                        self.t_late.d.next = self.late.q.val();
                    }
                    self.timer.d.next = 0.into();
                    self.state.d.next = State::ScanStart;
                    if self.opening.q.val() {
                        self.state.d.next = State::Lift;
                    }
                }
            }
            State::ScanStart => {
                self.scan.start.next = true;
                self.timer.d.next = 0.into();
                self.state.d.next = State::Scan;
            }
            State::Scan => {
                if self.scan.lost.val() & !self.first_valid.q.val() {
                    self.first_valid.d.next = true;
                    self.first.d.next = self.scan.pidx.val();
                }
                self.probe.d.next = self.first.q.val();
                self.timer.d.next = 0.into();
                if self.scan.done.val() {
                    self.state.d.next = State::ScanEnd;
                }
            }
            State::ScanEnd => {
                if self.timer.q.val() == 1 {
                    self.state.d.next = State::Top;
                }
            }
            State::Top => {
                self.lower.d.next = self.first_valid.q.val();
                self.probe.d.next = self.top.q.val();
                self.aim.d.next = Aim::Top;
                self.timer.d.next = 0.into();
                self.state.d.next = State::Probe;
            }
            // The oldest packet that is to be sent again.
            State::Pop => {
                self.probe.d.next = self.repairs.rd.data.val();
                self.aim.d.next = Aim::Pop;
                if self.timer.q.val() == 3 {
                    self.t_rhead.d.next = self.t_rhead.q.val() + 1;
                    self.t_rcount.d.next = self.t_rcount.q.val() - 1;
                    self.timer.d.next = 0.into();
                    self.state.d.next = State::Probe;
                }
            }
            State::Ready => {
                if self.timer.q.val() == 3 {
                    self.state.d.next = State::Emit;
                }
            }
            State::Emit => {
                self.k_valid.d.next = true;
                self.k_type.d.next = self.kind.q.val();
                self.k_dst.d.next = self.fixed.rd.data.val().get_bits::<20>(0);
                self.k_slot.d.next = self.slot.q.val();
                self.k_xid.d.next = self.t_xid.q.val();
                self.k_wptr.d.next = self.t_wptr.q.val();
                self.k_gen.d.next = self.t_gen.q.val();
                self.k_pidx.d.next = self.probe.q.val();
                self.k_tail.d.next = self.probe_last.q.val();
                self.k_again.d.next = self.probe_below_upto.q.val();
                self.k_offset.d.next = self.at_byte.q.val();
                self.k_length.d.next = bit_cast::<32, 13>(self.packet_len.q.val());
                self.k_seq.d.next = self.t_seq.q.val();
                self.k_addr.d.next = self.fixed.rd.data.val().get_bits::<64>(20);
                self.k_rkey.d.next = self.fixed.rd.data.val().get_bits::<32>(84);
                self.k_mtu.d.next = self.mtu.q.val();
                self.told.d.next = 3.into();
                if self.kind.q.val() == self.connect.val() {
                    self.k_length.d.next = self.fixed.rd.data.val().get_bits::<32>(116);
                    self.told.d.next = 4.into();
                }
                if self.kind.q.val() == self.data.val() {
                    self.ring_write.next = true;
                    self.told.d.next = 2.into();
                    if !self.probe_below_upto.q.val() {
                        self.t_upto.d.next = self.t_upto.q.val() + 1;
                        self.told.d.next = 1.into();
                    }
                    self.t_early_polls.d.next = 0.into();
                    self.early.d.next = true;
                    self.put_off.d.next = true;
                    self.wait.d.next = self.stalled.q.val();
                }
                self.timer.d.next = 0.into();
                self.state.d.next = State::Lift;
            }
            // All packets below base are trusted.
            State::Lift => {
                self.aim.d.next = Aim::Trust;
                self.probe.d.next = self.t_trusted.q.val();
                if self.timer.q.val() == 2 {
                    if self.trusted_passed.q.val() {
                        self.lift.d.next = true;
                        self.probe.d.next = self.t_base.q.val();
                    }
                    self.timer.d.next = 0.into();
                    self.state.d.next = State::Probe;
                }
            }
            State::Settle => {
                if self.timer.q.val() == 7 {
                    self.state.d.next = State::Store;
                }
            }
            State::Store => {
                self.starved.d.next = self.starved.q.val() & !self.mask.val();
                if self.wants.starved.val() {
                    self.starved.d.next = self.starved.q.val() | self.mask.val();
                }
                self.timer.d.next = 0.into();
                self.state.d.next = State::Idle;
            }
            State::End => {
                self.active.d.next = self.active.q.val() & !self.mask.val();
                self.starved.d.next = self.starved.q.val() & !self.mask.val();
                self.e_valid.d.next = true;
                self.e_slot.d.next = self.slot.q.val();
                self.e_xid.d.next = self.t_xid.q.val();
                self.e_outcome.d.next = self.outcome.q.val();
                if self.abort.q.val() {
                    self.told.d.next = 5.into();
                    self.k_valid.d.next = true;
                    self.k_type.d.next = self.abort_unknown.val();
                    self.k_dst.d.next = self.fixed.rd.data.val().get_bits::<20>(0);
                    self.k_slot.d.next = self.slot.q.val();
                    self.k_xid.d.next = self.t_xid.q.val();
                    self.k_reason.d.next = self.reason.q.val();
                }
                self.state.d.next = State::Leave;
            }
            State::Leave => {
                self.timer.d.next = 0.into();
                self.state.d.next = State::Idle;
            }
        }

        // What several states do.
        if self.rewind.val() {
            self.back.d.next = self.probe_below_next.q.val();
            self.lower.d.next = self.probe_below_next.q.val();
        }
        if self.ask.val() {
            self.t_rcount.d.next = self.t_rcount.q.val() + 1;
        }
        self.owing.d.next = self.owe.val();
        if self.owing.q.val() {
            self.t_lossy.d.next = true;
            if !self.t_owed.q.val().all() {
                self.t_owed.d.next = self.t_owed.q.val() + 1;
            }
        }
        // A clock later.
        if self.jump_base.q.val() {
            self.t_base.d.next = self.probe.q.val();
        }
        if self.jump.q.val() {
            self.t_next.d.next = self.probe.q.val();
        }
        if self.advance.q.val() {
            self.t_next.d.next = self.t_next.q.val() + 1;
        }
        if self.back.q.val() {
            self.t_next.d.next = self.target.q.val();
        }
        if self.lower.q.val() & self.target_lower.q.val() {
            self.t_trusted.d.next = self.target.q.val();
        }
        if self.trust.q.val() {
            self.t_trusted.d.next = self.t_trusted.q.val() + 1;
        }
        if self.lift.q.val() {
            self.t_trusted.d.next = self.t_base.q.val();
        }
        if self.early.q.val() {
            self.early.d.next = false;
            self.t_early_at.d.next = self.start.q.val() + self.cfg.early_poll.val();
        }
        if self.put_off.q.val() {
            self.t_poll_at.d.next = self.start.q.val() + self.wait.q.val();
        }
        if self.progress.q.val() {
            self.t_polls.d.next = 0.into();
            self.t_interval.d.next = self.cfg.poll.val();
        }
        if self.back_off.q.val() {
            self.t_interval.d.next = self.capped.q.val();
            if !self.t_polls.q.val().all() {
                self.t_polls.d.next = self.t_polls.q.val() + 1;
            }
        }
        self.ring.wr.addr.next = (bit_cast::<RA, LS>(self.slot.q.val()) << self.ld.val())
            | bit_cast::<RA, LD>(self.ring_write_place.val());
        self.ring.wr.en.next = self.ring_write.val() | self.scan.write.val();
        self.ring.wr.data.next = self.ring_data.val();
        self.repairs.wr.en.next = self.ask.val();
        self.repairs.wr.data.next = self.probe.q.val();
        if self.scan.ask.val() {
            self.repairs.wr.data.next = self.scan.pidx.val();
        }
        if self.rst.val() {
            self.state.d.next = State::Clear;
        }
    }
}
