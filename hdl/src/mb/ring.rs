//! The schedule rings of all groups, one operation at a time: one state machine, in parts.
//!
//! Its parts, in the order of an operation: `choose` (IDLE to LOAD), `act` (SIZE, ACT), `counters` (FIRST to JUDGE), `events` and
//! `queues` (DECIDE, LANE, ENTRY), `fetch` (FETCH to SAVE); `outputs` are registers and memories.

mod act;
mod choose;
mod counters;
mod events;
mod fetch;
mod outputs;
mod queues;

use super::MbRingBurst;
use super::ring_state::{GroupState, Mode, Queue, Queued};
use crate::blocks::{FifoReg, RamReg};
use crate::bus::{
    BlockStartOut, BlockToSend, DmaRequestOut, DmaWordsIn, GrantStartOut, GrantToTell,
    ScheduleAnswerOut, ScheduleCommandIn, ScheduleDoneOut, ScheduleEnd, ScheduleEventIn,
};
use crate::prelude::*;
use crate::record::ScheduleEntry;
use tributary_protocol::multicast::ring::{ALL, ENTRY_LEN, EndCode, EntryKind, Operation};

/// What it is doing.
#[derive(Copy, Clone, PartialEq, Debug, LogicState)]
enum State {
    Boot,
    Idle,
    Read,
    Wait,
    Load,
    Size,
    Act,
    First,
    Second,
    Third,
    Fourth,
    Judge,
    Decide,
    Clear,
    Lane,
    Entry,
    Fetch,
    Carry,
    End,
    Save,
}

/// Counters of a slot.
enum Counter {
    Landed,
    Allowed,
    Granted,
    Opened,
}

/// What is done with the two counters that were read.
#[derive(Copy, Clone, PartialEq, Debug, LogicState)]
enum Aim {
    /// An event changes one of them.
    Event,
    /// A block is here: the count of all blocks.
    Total,
    /// The head of a queue waits for both.
    Head,
}

hdl_module! {
    /// Schedule rings of 2^LG groups (MB-16): fetches the entries of each ring from host memory, and starts sends, grants
    /// and ends of messages when the counters that they wait for have come far enough; it counts itself.
    /// One operation at a time: a command, an event, an entry that has come, a look at a group that can go on, a tick of a
    /// group. Each kind has its turn, so none waits for ever, and a group that waits takes no time of others.
    /// Stages of an operation: IDLE (1 to 5 clocks), READ, WAIT, LOAD the group's state, SIZE, ACT. An event then reads two
    /// counters (FIRST to FOURTH), compares (JUDGE) and changes one (DECIDE); a block that is here does so twice. Then
    /// each queue whose head may have become ready: LANE, ENTRY, FIRST to DECIDE. Then FETCH and CARRY, if the ring is to
    /// be read, END, SAVE.
    /// Clocks without IDLE: refused 6, or 12 if the counters say so; begin 12; other events 18, landed 24; entry, look 12;
    /// each head that is looked at 7 more, a read 1; open 262, which clears the counters. After reset the groups are closed, one a clock.
    /// An output that is not taken stops only what would go there: the group is looked at again, and events, commands and
    /// other outputs pass. What is offered stays as it is.
    /// All state lies in memories: of a group, of its counters (4 of 64 slots) and of its queues (3 of 8 entries).
    #[module("mb_ring_g{}", 1usize << LG)]
    pub struct MbRing<const LG: usize, const LC: usize, const LB: usize> {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset.
        pub rst: Signal<In, Bit>,
        /// Commands of the host; each is answered before it is taken.
        pub s_cmd: ScheduleCommandIn,
        /// What happens to blocks; each is answered before it is taken.
        pub s_ev: ScheduleEventIn,
        /// Answers, one for each operation but a look.
        pub m_answer: ScheduleAnswerOut,
        /// Time passes: all groups count a tick; pulse, 64 clocks for each group apart or more, or some are left out.
        pub s_tick: Signal<In, Bit>,
        /// Reads of entries; the context is the group.
        pub m_rd: DmaRequestOut,
        /// Their words.
        pub s_rd: DmaWordsIn,
        /// Blocks to send.
        pub m_start: BlockStartOut,
        /// Grants to tell.
        pub m_grant: GrantStartOut,
        /// Messages that are done, and groups that have ended.
        pub m_done: ScheduleDoneOut,
        /// No operation, none that waits.
        pub idle: Signal<Out, Bit>,

        #[reset] state: DFF<State>,
        /// The kind of operation whose turn it is: command, event, entry, look, tick.
        #[reset] turn: DFF<Bits<3>>,
        #[reset] ticks: DFF<Bit>,
        #[reset] sweeps: DFF<Bit>,
        #[reset] sweep: DFF<Bits<LG>>,
        #[reset] group: DFF<Bits<LG>>,
        op: DFF<Bits<4>>,
        /// There is no such group.
        beyond: DFF<Bit>,
        burst: MbRingBurst,
        entry: Signal<Local, ScheduleEntry>,
        states: RamReg<{ GroupState::BITS }, LG>,
        st: DFF<GroupState>,
        saved: Signal<Local, GroupState>,
        counters: RamReg<32, LC>,
        queues: RamReg<{ Queued::BITS }, LB>,
        /// Groups that can go on.
        looks: FifoReg<8, LG>,
        again: DFF<Bit>,
        /// Queues to look at, and the one that is.
        mask: DFF<Bits<3>>,
        #[reset] lane: DFF<Bits<2>>,
        lane_in: Signal<Local, Bits<2>>,
        queue: Signal<Local, Queue>,
        tail: Signal<Local, Queue>,
        head: Signal<Local, Queued>,
        put: Signal<Local, Queued>,
        looked: Signal<Local, Bit>,
        aim: DFF<Aim>,
        /// Counters: which, and their values.
        first: Signal<Local, Bits<8>>,
        second: Signal<Local, Bits<8>>,
        place: Signal<Local, Bits<8>>,
        first_value: DFF<Bits<32>>,
        second_value: DFF<Bits<32>>,
        index: DFF<Bits<8>>,
        /// JUDGE: how far the first one is, and the second one; what is written.
        first_ahead: Signal<Local, Bits<32>>,
        second_ahead: Signal<Local, Bits<32>>,
        first_behind: DFF<Bit>,
        first_same: DFF<Bit>,
        second_behind: DFF<Bit>,
        second_same: DFF<Bit>,
        next: DFF<Bits<32>>,
        /// What the state says.
        runs: Signal<Local, Bit>,
        lives: Signal<Local, Bit>,
        lone: Signal<Local, Bit>,
        still: Signal<Local, Bit>,
        /// Commands.
        opens: Signal<Local, Bit>,
        ahead: DFF<Bits<16>>,
        before: DFF<Bits<16>>,
        size: DFF<Bits<16>>,
        rings: Signal<Local, Bit>,
        /// The event may be right; it is.
        fits: Signal<Local, Bit>,
        counts: Signal<Local, Bit>,
        /// The group ends; its queues are emptied.
        ends: Signal<Local, Bit>,
        code: Signal<Local, Bits<3>>,
        peer: Signal<Local, Bits<6>>,
        ticked: DFF<Bits<16>>,
        /// The head is ready, and its output free.
        ready: Signal<Local, Bit>,
        free: Signal<Local, Bit>,
        more: Signal<Local, Bit>,
        /// The next read.
        room: Signal<Local, Bit>,
        wants: Signal<Local, Bit>,
        low: DFF<Bits<33>>,
        ones: Param<0xffff, 16>,
        #[reset] rd_valid: DFF<Bit>,
        rd_addr: DFF<Bits<64>>,
        rd_group: DFF<Bits<8>>,
        #[reset] start_valid: DFF<Bit>,
        start: DFF<BlockToSend>,
        #[reset] grant_valid: DFF<Bit>,
        grant: DFF<GrantToTell>,
        #[reset] done_valid: DFF<Bit>,
        done: DFF<ScheduleEnd>,
        #[reset] answer_valid: DFF<Bit>,
        answer_op: DFF<Bits<4>>,
        answer_group: DFF<Bits<8>>,
        answer_ok: DFF<Bit>,

        entry_len: Param<ENTRY_LEN, 13>,
        all: Param<{ ALL as usize }, 6>,
        closed: Param<{ Mode::Closed as usize }, 3>,
        running: Param<{ Mode::Running as usize }, 3>,
        draining: Param<{ Mode::Draining as usize }, 3>,
        ending: Param<{ Mode::Ending as usize }, 3>,
        ended: Param<{ Mode::Ended as usize }, 3>,
        op_open: Param<{ Operation::Open as usize }, 4>,
        op_doorbell: Param<{ Operation::Doorbell as usize }, 4>,
        op_stop: Param<{ Operation::Stop as usize }, 4>,
        op_close: Param<{ Operation::Close as usize }, 4>,
        op_tick: Param<{ Operation::Tick as usize }, 4>,
        op_entry: Param<{ Operation::Entry as usize }, 4>,
        op_look: Param<{ Operation::Look as usize }, 4>,
        op_begin: Param<{ Operation::Begin as usize }, 4>,
        op_landed: Param<{ Operation::Landed as usize }, 4>,
        op_credit: Param<{ Operation::Credit as usize }, 4>,
        op_sent: Param<{ Operation::Sent as usize }, 4>,
        op_failed: Param<{ Operation::Failed as usize }, 4>,
        kind_done: Param<{ EntryKind::Done as usize }, 2>,
        code_failed: Param<{ EndCode::Failed as usize }, 3>,
        code_watchdog: Param<{ EndCode::Watchdog as usize }, 3>,
        code_stopped: Param<{ EndCode::Stopped as usize }, 3>,
        code_entry: Param<{ EndCode::Entry as usize }, 3>,
        code_read: Param<{ EndCode::Read as usize }, 3>,
        landed: Param<{ (Counter::Landed as usize) << 6 }, 8>,
        allowed: Param<{ (Counter::Allowed as usize) << 6 }, 8>,
        granted: Param<{ (Counter::Granted as usize) << 6 }, 8>,
        opened: Param<{ (Counter::Opened as usize) << 6 }, 8>,
    }
}

impl<const LG: usize, const LC: usize, const LB: usize> Logic for MbRing<LG, LC, LB> {
    #[hdl_gen]
    fn update(&mut self) {
        self.offer();
        self.keep();
        self.sweep();
        self.choose();
        self.weigh();
        self.act();
        self.count();
        self.take_event();
        self.queue();
        self.release();
        self.fetch();
        self.end();
    }
}
