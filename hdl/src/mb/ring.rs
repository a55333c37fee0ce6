//! The schedule rings of all groups, one operation at a time. One file, since they are one state machine, and a kernel can neither be cut nor call.

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
        // Outputs.
        self.m_rd.valid.next = self.rd_valid.q.val();
        self.m_rd.of.next.addr = self.rd_addr.q.val();
        self.m_rd.of.next.len = self.entry_len.val();
        self.m_rd.of.next.ctx = bit_cast::<16, 8>(self.rd_group.q.val());
        if self.m_rd.ready.val() {
            self.rd_valid.d.next = false;
        }
        self.m_start.valid.next = self.start_valid.q.val();
        self.m_start.of.next = self.start.q.val();
        if self.m_start.ready.val() {
            self.start_valid.d.next = false;
        }
        self.m_grant.valid.next = self.grant_valid.q.val();
        self.m_grant.of.next = self.grant.q.val();
        if self.m_grant.ready.val() {
            self.grant_valid.d.next = false;
        }
        self.m_done.valid.next = self.done_valid.q.val();
        self.m_done.of.next = self.done.q.val();
        if self.m_done.ready.val() {
            self.done_valid.d.next = false;
        }
        self.m_answer.valid.next = self.answer_valid.q.val();
        self.m_answer.op.next = self.answer_op.q.val();
        self.m_answer.group.next = self.answer_group.q.val();
        self.m_answer.ok.next = self.answer_ok.q.val();
        self.answer_valid.d.next = false;
        self.answer_op.d.next = self.op.q.val();
        self.idle.next = (self.state.q.val() == State::Idle)
            & !self.s_cmd.valid.val()
            & !self.s_ev.valid.val()
            & !self.burst.valid.val()
            & !self.looks.m.valid.val()
            & !self.ticks.q.val()
            & !self.sweeps.q.val()
            & !self.answer_valid.q.val();

        // Memories.
        self.states.rd.addr.next = self.group.q.val();
        self.states.wr.addr.next = self.group.q.val();
        self.states.wr.en.next = ((self.state.q.val() == State::Save) & !self.beyond.q.val())
            | (self.state.q.val() == State::Boot);
        self.saved.next = self.st.q.val();
        self.saved.next.queued = self.st.q.val().queued | self.again.q.val();
        self.states.wr.data.next = self.saved.val().to_bits();
        if self.state.q.val() == State::Boot {
            self.states.wr.data.next = 0.into();
        }
        self.looks.s.valid.next = (self.state.q.val() == State::Save)
            & self.again.q.val()
            & !self.st.q.val().queued
            & !self.beyond.q.val();
        self.looks.s.data.next = bit_cast::<8, LG>(self.group.q.val());
        self.looks.m.ready.next = (self.state.q.val() == State::Idle) & (self.turn.q.val() == 3);
        DmaWordsIn::link(&mut self.s_rd, &mut self.burst.s);
        self.entry.next = self.burst.entry.val().into();
        self.head.next = self.queues.rd.data.val().into();
        self.burst.take.next =
            (self.state.q.val() == State::Save) & (self.op.q.val() == self.op_entry.val());
        self.s_cmd.ready.next =
            (self.state.q.val() == State::Save) & (self.op.q.val() <= self.op_close.val());
        self.s_ev.ready.next =
            (self.state.q.val() == State::Save) & (self.op.q.val() >= self.op_begin.val());

        // Time: a sweep over all groups for each tick.
        if self.s_tick.val() {
            self.ticks.d.next = true;
        }
        if self.ticks.q.val() & !self.sweeps.q.val() {
            self.ticks.d.next = self.s_tick.val();
            self.sweeps.d.next = true;
        }

        if self.state.q.val() == State::Boot {
            self.group.d.next = self.group.q.val() + 1;
            if self.group.q.val().all() {
                self.state.d.next = State::Idle;
            }
        }

        // Whose turn it is.
        if self.state.q.val() == State::Idle {
            self.turn.d.next = self.turn.q.val() + 1;
            self.beyond.d.next = false;
            if (self.turn.q.val() == 0) & self.s_cmd.valid.val() {
                self.op.d.next = bit_cast::<4, 2>(self.s_cmd.op.val());
                self.group.d.next = bit_cast::<LG, 8>(self.s_cmd.group.val());
                self.beyond.d.next = bit_cast::<8, LG>(bit_cast::<LG, 8>(self.s_cmd.group.val()))
                    != self.s_cmd.group.val();
                self.state.d.next = State::Read;
            }
            if (self.turn.q.val() == 1) & self.s_ev.valid.val() {
                self.op.d.next = bit_cast::<4, 3>(self.s_ev.op.val()) | self.op_begin.val();
                self.group.d.next = bit_cast::<LG, 8>(self.s_ev.group.val());
                self.beyond.d.next = bit_cast::<8, LG>(bit_cast::<LG, 8>(self.s_ev.group.val()))
                    != self.s_ev.group.val();
                self.state.d.next = State::Read;
            }
            if (self.turn.q.val() == 2) & self.burst.valid.val() {
                self.op.d.next = self.op_entry.val();
                self.group.d.next = bit_cast::<LG, 16>(self.burst.ctx.val());
                self.state.d.next = State::Read;
            }
            if (self.turn.q.val() == 3) & self.looks.m.valid.val() {
                self.op.d.next = self.op_look.val();
                self.group.d.next = bit_cast::<LG, 8>(self.looks.m.data.val());
                self.state.d.next = State::Read;
            }
            if self.turn.q.val() == 4 {
                self.turn.d.next = 0.into();
                if self.sweeps.q.val() {
                    self.op.d.next = self.op_tick.val();
                    self.group.d.next = self.sweep.q.val();
                    self.sweep.d.next = self.sweep.q.val() + 1;
                    if self.sweep.q.val().all() {
                        self.sweeps.d.next = false;
                    }
                    self.state.d.next = State::Read;
                }
            }
        }
        if self.state.q.val() == State::Read {
            self.state.d.next = State::Wait;
        }
        if self.state.q.val() == State::Wait {
            self.state.d.next = State::Load;
        }
        if self.state.q.val() == State::Load {
            self.st.d.next = self.states.rd.data.val().into();
            self.again.d.next = false;
            self.mask.d.next = 0.into();
            self.lane.d.next = 0.into();
            self.index.d.next = 0.into();
            self.aim.d.next = Aim::Event;
            self.state.d.next = State::Size;
        }

        // The state.
        self.runs.next = (self.st.q.val().mode == self.running.val()) & !self.beyond.q.val();
        self.lives.next = self.runs.val()
            | ((self.st.q.val().mode == self.draining.val()) & !self.beyond.q.val());
        self.still.next = !self.st.q.val().sends.any() & !self.st.q.val().receives.any();
        // Of what is under way, the last ends.
        self.lone.next = (self.st.q.val().sends == 0) & (self.st.q.val().receives == 1);
        if self.op.q.val() == self.op_sent.val() {
            self.lone.next = (self.st.q.val().sends == 1) & (self.st.q.val().receives == 0);
        }
        self.ends.next = false;
        self.code.next = self.code_stopped.val();
        self.peer.next = 0.into();
        self.answer_group.d.next = bit_cast::<8, LG>(self.group.q.val());
        if self.op.q.val() <= self.op_close.val() {
            self.answer_group.d.next = self.s_cmd.group.val();
        }
        if self.op.q.val() >= self.op_begin.val() {
            self.answer_group.d.next = self.s_ev.group.val();
        }
        self.answer_ok.d.next = false;

        // Commands. What they are compared with is reckoned in SIZE.
        if self.state.q.val() == State::Size {
            self.state.d.next = State::Act;
        }
        self.opens.next = (self.st.q.val().mode == self.closed.val())
            & !self.beyond.q.val()
            & self.s_cmd.log.val().any()
            & !self.s_cmd.base.val().get_bits::<5>(0).any();
        self.ahead.d.next = self.s_cmd.posted.val() - self.st.q.val().fetched;
        self.before.d.next = self.st.q.val().posted - self.st.q.val().fetched;
        self.size.d.next = bits::<16>(1) << self.st.q.val().log;
        self.rings.next = self.runs.val()
            & (self.ahead.q.val() >= self.before.q.val())
            & (self.ahead.q.val() <= self.size.q.val());
        self.ticked.d.next = self.st.q.val().idle + 1;
        self.fits.next = self.lives.val() & (self.s_ev.slot.val() != self.all.val());
        if self.op.q.val() == self.op_begin.val() {
            self.fits.next = self.runs.val() & (self.s_ev.slot.val() != self.all.val());
        }
        if self.op.q.val() == self.op_sent.val() {
            self.fits.next = self.lives.val();
        }
        if self.state.q.val() == State::Act {
            self.state.d.next = State::Save;
            self.answer_valid.d.next = true;
            if self.op.q.val() == self.op_open.val() {
                self.answer_ok.d.next = self.opens.val();
                if self.opens.val() {
                    self.st.d.next.mode = self.running.val();
                    self.st.d.next.base = self.s_cmd.base.val();
                    self.st.d.next.log = self.s_cmd.log.val();
                    self.st.d.next.posted = 0.into();
                    self.st.d.next.fetched = 0.into();
                    self.st.d.next.watchdog = self.s_cmd.watchdog.val();
                    self.st.d.next.idle = 0.into();
                    self.st.d.next.timed = self.s_cmd.timed.val();
                    self.st.d.next.begun = false;
                    self.st.d.next.messages = 0.into();
                    self.state.d.next = State::Clear;
                }
            }
            if (self.op.q.val() == self.op_doorbell.val()) & self.rings.val() {
                self.answer_ok.d.next = true;
                self.st.d.next.posted = self.s_cmd.posted.val();
                self.st.d.next.idle = 0.into();
                self.st.d.next.begun = self.st.q.val().begun
                    | (self.st.q.val().timed & (self.ahead.q.val() != self.before.q.val()));
                self.state.d.next = State::Fetch;
            }
            if (self.op.q.val() == self.op_stop.val()) & self.runs.val() {
                self.answer_ok.d.next = true;
                self.st.d.next.mode = self.draining.val();
                self.ends.next = self.still.val();
                self.state.d.next = State::End;
            }
            if (self.op.q.val() == self.op_close.val())
                & (self.st.q.val().mode == self.ended.val())
                & !self.st.q.val().flying.any()
                & !self.beyond.q.val()
            {
                self.answer_ok.d.next = true;
                self.st.d.next.mode = self.closed.val();
            }
            if self.op.q.val() == self.op_tick.val() {
                if self.lives.val() & self.st.q.val().begun & self.st.q.val().watchdog.any() {
                    self.st.d.next.idle = self.ticked.q.val();
                    if self.ticked.q.val() >= self.st.q.val().watchdog {
                        self.answer_ok.d.next = true;
                        self.ends.next = true;
                        self.code.next = self.code_watchdog.val();
                    }
                }
                self.state.d.next = State::End;
            }
            if self.op.q.val() == self.op_entry.val() {
                self.st.d.next.flying = self.st.q.val().flying - 1;
                if self.runs.val() {
                    self.answer_ok.d.next = true;
                    self.state.d.next = State::Lane;
                    if self.entry.val().kind == 1 {
                        self.st.d.next.send.count = self.st.q.val().send.count + 1;
                        self.mask.d.next = 1.into();
                    }
                    if self.entry.val().kind == 2 {
                        self.st.d.next.grant.count = self.st.q.val().grant.count + 1;
                        self.mask.d.next = 2.into();
                    }
                    if self.entry.val().kind == 3 {
                        self.st.d.next.done.count = self.st.q.val().done.count + 1;
                        self.mask.d.next = 4.into();
                    }
                    if (self.entry.val().kind == 0)
                        | ((self.entry.val().kind == self.kind_done.val())
                            != (self.entry.val().to == self.all.val()))
                    {
                        self.answer_ok.d.next = false;
                        self.ends.next = true;
                        self.code.next = self.code_entry.val();
                    }
                    if self.burst.error.val() {
                        self.answer_ok.d.next = false;
                        self.ends.next = true;
                        self.code.next = self.code_read.val();
                    }
                }
            }
            if self.op.q.val() == self.op_look.val() {
                self.answer_valid.d.next = false;
                self.st.d.next.queued = false;
                self.mask.d.next = 7.into();
                self.state.d.next = State::Lane;
            }
            if (self.op.q.val() >= self.op_begin.val()) & self.fits.val() {
                self.answer_valid.d.next = false;
                self.state.d.next = State::First;
                if self.op.q.val() == self.op_failed.val() {
                    self.answer_valid.d.next = true;
                    self.answer_ok.d.next = true;
                    self.ends.next = true;
                    self.code.next = self.code_failed.val();
                    self.peer.next = self.s_ev.slot.val();
                    self.state.d.next = State::End;
                }
            }
        }

        // A new group: its counters.
        if self.state.q.val() == State::Clear {
            self.index.d.next = self.index.q.val() + 1;
            if self.index.q.val().all() {
                self.state.d.next = State::Save;
            }
        }

        // Two counters. Of the head of a queue: blocks that came, credits.
        self.first.next = self.landed.val() | bit_cast::<8, 6>(self.head.val().source);
        self.second.next = self.allowed.val() | bit_cast::<8, 6>(self.head.val().to);
        if self.aim.q.val() == Aim::Event {
            self.first.next = self.granted.val() | bit_cast::<8, 6>(self.s_ev.slot.val());
            self.second.next = self.opened.val() | bit_cast::<8, 6>(self.s_ev.slot.val());
            if self.op.q.val() == self.op_landed.val() {
                self.first.next = self.opened.val() | bit_cast::<8, 6>(self.s_ev.slot.val());
                self.second.next = self.landed.val() | bit_cast::<8, 6>(self.s_ev.slot.val());
            }
            if self.op.q.val() == self.op_credit.val() {
                self.second.next = self.allowed.val() | bit_cast::<8, 6>(self.s_ev.slot.val());
            }
            if self.op.q.val() == self.op_sent.val() {
                self.second.next = self.allowed.val() | bit_cast::<8, 6>(self.all.val());
            }
        }
        if self.aim.q.val() == Aim::Total {
            self.second.next = self.landed.val() | bit_cast::<8, 6>(self.all.val());
        }
        self.place.next = self.second.val();
        if self.state.q.val() == State::First {
            self.place.next = self.first.val();
            self.state.d.next = State::Second;
        }
        self.counters.rd.addr.next =
            (bit_cast::<LC, LG>(self.group.q.val()) << 8) | bit_cast::<LC, 8>(self.place.val());
        if self.state.q.val() == State::Second {
            self.state.d.next = State::Third;
        }
        if self.state.q.val() == State::Third {
            self.first_value.d.next = self.counters.rd.data.val();
            self.state.d.next = State::Fourth;
        }
        if self.state.q.val() == State::Fourth {
            self.second_value.d.next = self.counters.rd.data.val();
            self.state.d.next = State::Judge;
        }
        self.first_ahead.next = self.first_value.q.val() - self.second_value.q.val();
        if self.op.q.val() == self.op_credit.val() {
            self.first_ahead.next = self.s_ev.value.val() - self.second_value.q.val();
        }
        if self.aim.q.val() == Aim::Head {
            self.first_ahead.next = self.first_value.q.val() - self.head.val().received;
        }
        self.second_ahead.next = self.second_value.q.val() - self.head.val().credit;
        if self.state.q.val() == State::Judge {
            self.first_behind.d.next = self.first_ahead.val().get_bit(31);
            self.first_same.d.next = !self.first_ahead.val().any();
            self.second_behind.d.next = self.second_ahead.val().get_bit(31);
            self.second_same.d.next = !self.second_ahead.val().any();
            self.next.d.next = self.second_value.q.val() + 1;
            if self.op.q.val() == self.op_credit.val() {
                self.next.d.next = self.s_ev.value.val();
            }
            self.state.d.next = State::Decide;
        }

        // What is written, and where.
        self.counters.wr.en.next = self.state.q.val() == State::Clear;
        self.counters.wr.addr.next =
            (bit_cast::<LC, LG>(self.group.q.val()) << 8) | bit_cast::<LC, 8>(self.index.q.val());
        self.counters.wr.data.next = self.s_cmd.origin.val();
        if self.state.q.val() == State::Decide {
            self.counters.wr.addr.next = (bit_cast::<LC, LG>(self.group.q.val()) << 8)
                | bit_cast::<LC, 8>(self.second.val());
            self.counters.wr.data.next = self.next.q.val();
            if self.aim.q.val() == Aim::Head {
                self.counters.wr.addr.next = (bit_cast::<LC, LG>(self.group.q.val()) << 8)
                    | bit_cast::<LC, 8>(self.granted.val() | bit_cast::<8, 6>(self.head.val().to));
                self.counters.wr.data.next = self.head.val().credit;
            }
        }

        // Events.
        self.counts.next = !self.first_behind.q.val() & !self.first_same.q.val();
        if self.op.q.val() == self.op_begin.val() {
            self.counts.next = !self.first_behind.q.val()
                & !self.first_same.q.val()
                & !self.st.q.val().receives.all();
        }
        if self.op.q.val() == self.op_sent.val() {
            self.counts.next = self.st.q.val().sends.any();
        }
        if (self.state.q.val() == State::Decide) & (self.aim.q.val() == Aim::Event) {
            self.answer_valid.d.next = true;
            self.answer_ok.d.next = self.counts.val();
            self.counters.wr.en.next = self.counts.val();
            self.state.d.next = State::Save;
            if self.counts.val() {
                self.state.d.next = State::Lane;
                if self.op.q.val() == self.op_begin.val() {
                    self.st.d.next.receives = self.st.q.val().receives + 1;
                    self.st.d.next.begun = true;
                    self.state.d.next = State::Save;
                } else {
                    self.st.d.next.idle = 0.into();
                }
                if self.op.q.val() == self.op_landed.val() {
                    self.st.d.next.receives = self.st.q.val().receives - 1;
                    self.mask.d.next = 7.into();
                    self.aim.d.next = Aim::Total;
                    self.state.d.next = State::First;
                }
                if self.op.q.val() == self.op_credit.val() {
                    self.mask.d.next = 1.into();
                }
                if self.op.q.val() == self.op_sent.val() {
                    self.st.d.next.sends = self.st.q.val().sends - 1;
                    self.mask.d.next = 5.into();
                }
                if (self.op.q.val() != self.op_credit.val())
                    & (self.op.q.val() != self.op_begin.val())
                    & (self.st.q.val().mode == self.draining.val())
                    & self.lone.val()
                {
                    self.ends.next = true;
                }
            }
        }
        if (self.state.q.val() == State::Decide) & (self.aim.q.val() == Aim::Total) {
            self.counters.wr.en.next = true;
            self.state.d.next = State::Lane;
        }

        // Queues: one after the other.
        self.lane_in.next = bit_cast::<2, 2>(self.entry.val().kind) - 1;
        self.tail.next = self.st.q.val().send;
        if self.entry.val().kind == 2 {
            self.tail.next = self.st.q.val().grant;
        }
        if self.entry.val().kind == 3 {
            self.tail.next = self.st.q.val().done;
        }
        self.queues.wr.en.next = (self.state.q.val() == State::Act)
            & (self.op.q.val() == self.op_entry.val())
            & self.runs.val();
        self.queues.wr.addr.next = (bit_cast::<LB, LG>(self.group.q.val()) << 5)
            | (bit_cast::<LB, 2>(self.lane_in.val()) << 3)
            | bit_cast::<LB, 3>(self.tail.val().head + bit_cast::<3, 4>(self.tail.val().count));
        self.put.next = Queued {
            waits: self.entry.val().waits,
            source: self.entry.val().source,
            to: self.entry.val().to,
            step: self.entry.val().step,
            block: self.entry.val().block,
            message: self.entry.val().message,
            received: self.entry.val().received,
            credit: self.entry.val().credit,
            user: self.entry.val().user,
        };
        self.queues.wr.data.next = self.put.val().to_bits();
        self.queue.next = self.st.q.val().send;
        self.looked.next = self.mask.q.val().get_bit(0);
        if self.lane.q.val() == 1 {
            self.queue.next = self.st.q.val().grant;
            self.looked.next = self.mask.q.val().get_bit(1);
        }
        if self.lane.q.val() == 2 {
            self.queue.next = self.st.q.val().done;
            self.looked.next = self.mask.q.val().get_bit(2);
        }
        self.queues.rd.addr.next = (bit_cast::<LB, LG>(self.group.q.val()) << 5)
            | (bit_cast::<LB, 2>(self.lane.q.val()) << 3)
            | bit_cast::<LB, 3>(self.queue.val().head);
        if self.state.q.val() == State::Lane {
            self.aim.d.next = Aim::Head;
            if self.lane.q.val() == 3 {
                self.state.d.next = State::Fetch;
            } else if self.runs.val() & self.looked.val() & self.queue.val().count.any() {
                self.state.d.next = State::Entry;
            } else {
                self.lane.d.next = self.lane.q.val() + 1;
            }
        }
        if self.state.q.val() == State::Entry {
            self.state.d.next = State::First;
        }

        // The head of one.
        self.ready.next = (!self.head.val().waits.any() | !self.first_behind.q.val())
            & ((self.lane.q.val() == 1) | !self.second_behind.q.val())
            & ((self.lane.q.val() != 0) | !self.st.q.val().sends.all());
        self.free.next = !self.start_valid.q.val();
        if self.lane.q.val() == 1 {
            self.free.next = !self.grant_valid.q.val();
        }
        if self.lane.q.val() == 2 {
            self.free.next = !self.done_valid.q.val();
        }
        self.more.next = (self.st.q.val().posted != self.st.q.val().fetched)
            | self.st.q.val().flying.any()
            | self.st.q.val().send.count.any()
            | self.st.q.val().grant.count.any()
            | (self.st.q.val().done.count != 1);
        if (self.state.q.val() == State::Decide) & (self.aim.q.val() == Aim::Head) {
            self.lane.d.next = self.lane.q.val() + 1;
            self.state.d.next = State::Lane;
            if self.ready.val() {
                self.again.d.next = true;
                if self.free.val() {
                    if self.lane.q.val() == 0 {
                        self.start_valid.d.next = true;
                        self.st.d.next.send.head = self.st.q.val().send.head + 1;
                        self.st.d.next.send.count = self.st.q.val().send.count - 1;
                        self.st.d.next.sends = self.st.q.val().sends + 1;
                        self.st.d.next.begun = true;
                    }
                    if self.lane.q.val() == 1 {
                        self.grant_valid.d.next = true;
                        self.counters.wr.en.next = true;
                        self.st.d.next.grant.head = self.st.q.val().grant.head + 1;
                        self.st.d.next.grant.count = self.st.q.val().grant.count - 1;
                    }
                    if self.lane.q.val() == 2 {
                        self.done_valid.d.next = true;
                        self.st.d.next.done.head = self.st.q.val().done.head + 1;
                        self.st.d.next.done.count = self.st.q.val().done.count - 1;
                        self.st.d.next.messages = self.st.q.val().messages + 1;
                        self.st.d.next.begun = !self.first_same.q.val()
                            | !self.second_same.q.val()
                            | !self.still.val()
                            | (self.st.q.val().timed & self.more.val());
                    }
                }
            }
        }
        if !self.start_valid.q.val() {
            self.start.d.next = BlockToSend {
                group: bit_cast::<8, LG>(self.group.q.val()),
                to: self.head.val().to,
                step: self.head.val().step,
                block: self.head.val().block,
                message: self.head.val().message,
                user: self.head.val().user,
            };
        }
        if !self.grant_valid.q.val() {
            self.grant.d.next = GrantToTell {
                group: bit_cast::<8, LG>(self.group.q.val()),
                to: self.head.val().to,
                granted: self.head.val().credit,
            };
        }
        if !self.done_valid.q.val() {
            self.done.d.next = ScheduleEnd {
                group: bit_cast::<8, LG>(self.group.q.val()),
                code: 0.into(),
                peer: 0.into(),
                message: self.head.val().message,
                user: self.head.val().user,
                fetched: self.st.q.val().fetched,
            };
            if self.state.q.val() == State::End {
                self.done.d.next.code = self.st.q.val().code;
                self.done.d.next.peer = self.st.q.val().peer;
                self.done.d.next.message = self.st.q.val().messages;
                self.done.d.next.user = 0.into();
            }
        }

        // The next entry of the ring, if each queue has room for all that are under way and this one.
        self.room.next = ((self.st.q.val().send.count + self.st.q.val().flying) < 8)
            & ((self.st.q.val().grant.count + self.st.q.val().flying) < 8)
            & ((self.st.q.val().done.count + self.st.q.val().flying) < 8);
        self.wants.next =
            self.runs.val() & (self.st.q.val().posted != self.st.q.val().fetched) & self.room.val();
        self.low.d.next = bit_cast::<33, 32>(self.st.q.val().base.get_bits::<32>(0))
            + (bit_cast::<33, 16>(
                self.st.q.val().fetched & !(self.ones.val() << self.st.q.val().log),
            ) << 5);
        if self.state.q.val() == State::Fetch {
            self.again.d.next = self.again.q.val() | self.wants.val();
            self.state.d.next = State::End;
            if self.wants.val() & !self.rd_valid.q.val() {
                self.state.d.next = State::Carry;
            }
        }
        if self.state.q.val() == State::Carry {
            self.rd_valid.d.next = true;
            self.rd_addr.d.next = bit_cast::<64, 32>(self.low.q.val().get_bits::<32>(0))
                | (bit_cast::<64, 32>(
                    self.st.q.val().base.get_bits::<32>(32)
                        + bit_cast::<32, 1>(self.low.q.val().get_bits::<1>(32)),
                ) << 32);
            self.rd_group.d.next = bit_cast::<8, LG>(self.group.q.val());
            self.st.d.next.fetched = self.st.q.val().fetched + 1;
            self.st.d.next.flying = self.st.q.val().flying + 1;
            self.state.d.next = State::End;
        }

        // The completion that ends a group.
        if self.state.q.val() == State::End {
            self.state.d.next = State::Save;
            if self.st.q.val().mode == self.ending.val() {
                self.again.d.next = true;
                if !self.done_valid.q.val() {
                    self.again.d.next = self.again.q.val();
                    self.done_valid.d.next = true;
                    self.st.d.next.mode = self.ended.val();
                }
            }
        }
        if self.state.q.val() == State::Save {
            self.state.d.next = State::Idle;
        }

        if self.ends.val() {
            self.st.d.next.send.count = 0.into();
            self.st.d.next.grant.count = 0.into();
            self.st.d.next.done.count = 0.into();
            self.st.d.next.posted = self.st.q.val().fetched;
            self.st.d.next.mode = self.ending.val();
            self.st.d.next.code = self.code.val();
            self.st.d.next.peer = self.peer.val();
            self.st.d.next.sends = 0.into();
            self.st.d.next.receives = 0.into();
        }
    }
}
