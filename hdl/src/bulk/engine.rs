//! The operations of the sending side, one at a time: one state machine, in parts.
//!
//! Its parts, in the order of an operation: `steps` and in it `load` (the state of a transfer, 3 clocks), `compare` (4 clocks, and
//! more for a packet that is looked up), `act`, `judge`, `emit`; `common` is what several of these do, some a clock later.
//! `tables` and `outputs` stand beside all of them.

mod act;
mod common;
mod compare;
mod emit;
mod judge;
mod load;
mod outputs;
mod record;
mod steps;
mod tables;

use super::{BulkPlan, BulkScan, BulkWants};
use crate::blocks::{PriorityEncoder, RamReg, TakeTurns};
use crate::bus::{
    BulkCancelIn, BulkEndOut, BulkMessageIn, BulkPacketOut, BulkRequestIn, BulkSettingsIn,
    BulkStartedOut,
};
use crate::prelude::*;
use record::{Copied, Transfer};
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
        /// Its state, as it is loaded, changed and stored again.
        t: DFF<Transfer>,
        /// What it copies, as the table has it, and as a new one is begun.
        copied: Signal<Local, Copied>,
        copied_in: Signal<Local, Copied>,
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
        self.name_transfer();
        self.compare();
        self.weigh_packet();
        self.weigh_wants();
        self.weigh_bitmap();
        self.find_packets();
        self.weigh_queues();
        self.store_transfer();
        self.offer();
        self.choose();
        self.default_outputs();
        self.advance();
        self.move_transfer();
        if self.rst.val() {
            self.state.d.next = State::Clear;
        }
    }
}
