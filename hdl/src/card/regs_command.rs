//! What a write to the register `command` does.

use crate::blocks::{AsyncRam, FifoAhead, RamReg};
use crate::bus::{
    ContextOut, FlushOut, QueuePairIn, RamReadIn, ReduceJoinOut, RegionSetOut, UseEndsOut,
    WindowSetOut,
};
use crate::prelude::*;
use crate::record::MEMBER;
use tributary_protocol::card::command::argument::{
    bits_of, create_qp, join_group, modify_qp, open_window, set_region,
};
use tributary_protocol::card::command::{self, Argument, Command, State as QpState, Status};

/// Bits of an argument register that no argument has.
const fn spare(arguments: &[Argument], register: u8) -> u32 {
    !bits_of(arguments, register)
}

/// Whether an argument begins a register.
const fn begins(argument: &Argument, register: u8) -> bool {
    argument.register == register && argument.lsb == 0
}

const ABOVE_16: u32 = 0xffff_0000;
const ABOVE_20: u32 = 0xfff0_0000;
const ABOVE_24: u32 = 0xff00_0000;

// The machine takes arguments by the order of their registers: it must be the declared one.
const _: () = {
    assert!(begins(&create_qp::Q_KEY, 1) && begins(&create_qp::FIRST_PSN, 3));
    assert!(begins(&create_qp::DOMAIN, 2) && create_qp::DOMAIN.width == 16);
    assert!(begins(&create_qp::SEND_BASE, 4) && begins(&create_qp::RECEIVE_BASE, 6));
    assert!(begins(&create_qp::COMPLETE_BASE, 8) && create_qp::RING_ALIGN == 64);
    assert!(begins(&set_region::DOMAIN, 1) && begins(&set_region::BASE, 2));
    assert!(begins(&set_region::LENGTH, 4) && begins(&set_region::VARIANT, 0));
    assert!(begins(&open_window::QPN, 0) && begins(&open_window::NODE, 1));
    assert!(begins(&open_window::PEER, 2) && begins(&open_window::EPOCH, 3));
    assert!(begins(&modify_qp::STATE, 0));
    assert!(begins(&join_group::VNI, 0) && begins(&join_group::TREE, 1));
    assert!(begins(&join_group::COOKIE, 2));
    // Bits that must be 0 in each register, as `forbidden` has them.
    assert!(spare(create_qp::ARGUMENTS, 1) == 0 && spare(create_qp::ARGUMENTS, 2) == ABOVE_16);
    assert!(spare(create_qp::ARGUMENTS, 3) == ABOVE_24 && spare(create_qp::ARGUMENTS, 4) == 0);
    assert!(spare(set_region::ARGUMENTS, 1) == ABOVE_16 && spare(set_region::ARGUMENTS, 2) == 0);
    assert!(spare(open_window::ARGUMENTS, 0) == ABOVE_24);
    assert!(spare(open_window::ARGUMENTS, 1) == ABOVE_20);
    assert!(spare(open_window::ARGUMENTS, 2) == ABOVE_24);
    assert!(spare(open_window::ARGUMENTS, 3) == ABOVE_16);
    assert!(spare(join_group::ARGUMENTS, 0) == ABOVE_16 && spare(join_group::ARGUMENTS, 2) == 0);
    assert!(spare(join_group::ARGUMENTS, 1) == 0 && join_group::MEMBERS.lsb == 13);
    assert!(spare(create_qp::ARGUMENTS, 0) >> MEMBER & 1 == 1); // It is ours.
    assert!(command::PATIENCE_LOG == 23); // `waited` ends with this bit.
};

/// What the machine is doing.
#[derive(Copy, Clone, PartialEq, Debug, LogicState)]
pub enum State {
    Clear,
    Idle,
    Check,
    Read1,
    Read2,
    Read3,
    Fetch,
    Weigh,
    Decide,
    Gather,
    Ring,
    Epochs,
    Indices,
    Shape,
    Pause,
    Region,
    Window,
    Windowing,
    Join,
    Hold,
    Flush,
    Flushing,
    End,
    Finish,
}

/// What follows a pause.
#[derive(Copy, Clone, PartialEq, Debug, LogicState)]
pub enum Then {
    Gather,
    Epochs,
    Indices,
    Shape,
    Finish,
}

hdl_module! {
    /// The commands of the card, one at a time, and the states of its queue pairs.
    /// A command reads the queue pair (3 clocks), fetches and checks its arguments (one a clock),
    /// decides, and changes: contexts go out as words, 10 clocks apart, regions at once. A refused
    /// command changes nothing. Checks: command, index, arguments, state, in this order.
    /// DESTROY_QP, CLEAR_REGION, OPEN_WINDOW and CLOSE_WINDOW raise hold and wait until idle has been high for 16 clocks
    /// without a break; DESTROY_QP then flushes the in-flight table, and waits alike once more for
    /// completions that were on their way. If that takes more than 2^23 clocks in all, longer than any read of
    /// host memory, it is given up: not_idle.
    /// With cfg_bulk SET_REGION waits alike, and when all is idle what bulk transfers have of a region or queue pair ends first.
    /// A ring that cannot be read sets its queue pair's state to Error, between commands and also
    /// while one waits for idle. Up to 16 of each side are remembered.
    /// Epochs outlive their queue pairs, and rst too unless forget is high.
    /// While rst is high, arguments become 0, one a clock: hold it for 16 clocks and more.
    /// After reset, tables are cleared here, an entry in 4 clocks, and in the other blocks; busy is high meanwhile.
    #[module("card_regs_command_q{}_r{}_f{}", 1usize << LQ, 1usize << LR, 1usize << LF)]
    pub struct CardRegsCommand<const LQ: usize, const LR: usize, const LF: usize> {
        /// Clock.
        pub clk: Signal<In, Clock>,
        /// Synchronous reset.
        pub rst: Signal<In, Bit>,
        /// Of the reset before: epochs are forgotten as well.
        pub forget: Signal<In, Bit>,
        /// Something of before the reset has not ended: busy.
        pub settling: Signal<In, Bit>,
        /// A command begins; ignored while one runs.
        pub start: Signal<In, Bit>,
        /// Which.
        pub start_code: Signal<In, Bits<8>>,
        /// Of which queue pair, region or window.
        pub start_index: Signal<In, Bits<24>>,
        /// An argument is written; ignored while a command runs.
        pub arg_en: Signal<In, Bit>,
        /// Which.
        pub arg_addr: Signal<In, Bits<4>>,
        /// Its value.
        pub arg_data: Signal<In, Bits<32>>,
        /// An argument is read: its value comes in the same clock.
        pub arg_rd: RamReadIn<32, 4>,
        /// A command runs, tables are being cleared, or what was before the reset has not ended.
        pub busy: Signal<Out, Bit>,
        /// Tables are being cleared.
        pub clearing: Signal<Out, Bit>,
        /// How the latest command ended.
        pub status: Signal<Out, Bits<8>>,
        /// Its results.
        pub result0: Signal<Out, Bits<32>>,
        /// Its results.
        pub result1: Signal<Out, Bits<16>>,
        /// Contexts of queue pairs.
        pub cfg: ContextOut<LQ>,
        /// Changes of the table of regions.
        pub set: RegionSetOut<LR>,
        /// Windows are made or ended, while nothing is under way.
        pub win: WindowSetOut<LQ>,
        /// Bulk transfers are there; constant.
        pub cfg_bulk: Signal<In, Bit>,
        /// Queue pairs may be in reduction groups; constant. Without it JOIN_GROUP is no command.
        pub cfg_reduce: Signal<In, Bit>,
        /// A queue pair is to be in a group.
        pub m_join: ReduceJoinOut,
        /// A queue pair or region ends.
        pub end: UseEndsOut,
        /// Nothing new may begin.
        pub hold: Signal<Out, Bit>,
        /// Nothing is under way.
        pub idle: Signal<In, Bit>,
        /// Requests in flight of a queue pair are to be forgotten.
        pub flush: FlushOut<LQ>,
        /// The sender cannot read a ring.
        pub s_fatal_a: QueuePairIn<LQ>,
        /// The receiver cannot read a ring.
        pub s_fatal_b: QueuePairIn<LQ>,

        state: DFF<State>,
        then: DFF<Then>,
        /// Entries cleared since reset.
        #[reset] sweep: DFF<Bits<18>>,
        /// The entry is addressed, read twice, written.
        #[reset] sweep_step: DFF<Bits<2>>,
        /// Of each queue pair: word 0 of its context 47:0, oldest epoch 63:48, newest epoch 79:64.
        contexts: RamReg<80, LQ>,
        /// Arguments, for the machine and for the bus; the one that becomes 0.
        args: AsyncRam<32, 4>,
        args_bus: AsyncRam<32, 4>,
        wipe: DFF<Bits<4>>,
        arg_index: Signal<Local, Bits<4>>,
        /// They come from far away: a register first.
        #[reset] fatal_a_valid: DFF<Bit>,
        fatal_a_qpn: DFF<Bits<LQ>>,
        #[reset] fatal_b_valid: DFF<Bit>,
        fatal_b_qpn: DFF<Bits<LQ>>,
        fatal_a: FifoAhead<LQ, 4>,
        fatal_b: FifoAhead<LQ, 4>,
        take_fatal: Signal<Local, Bit>,
        /// The command.
        #[reset] running: DFF<Bit>,
        /// Commands may begin.
        #[reset] cleared: DFF<Bit>,
        #[reset] code: DFF<Bits<8>>,
        index: DFF<Bits<24>>,
        #[reset] result: DFF<Bits<8>>,
        #[reset] value0: DFF<Bits<32>>,
        #[reset] value1: DFF<Bits<16>>,
        #[reset] said: DFF<Bits<8>>,
        #[reset] says: DFF<Bit>,
        said0: DFF<Bits<32>>,
        said1: DFF<Bits<16>>,
        /// What it is, one clock later; it is looked at no sooner.
        is_create: DFF<Bit>,
        is_modify: DFF<Bit>,
        is_set: DFF<Bit>,
        is_open: DFF<Bit>,
        /// A region or window ends.
        ends: DFF<Bit>,
        is_advance: DFF<Bit>,
        is_join: DFF<Bit>,
        is_query: DFF<Bit>,
        is_destroy: DFF<Bit>,
        of_region: DFF<Bit>,
        of_window: DFF<Bit>,
        unknown: DFF<Bit>,
        /// Queue pair that is read or changed; it is one whose ring cannot be read.
        who: DFF<Bits<LQ>>,
        #[reset] serving: DFF<Bit>,
        word0: DFF<Bits<48>>,
        oldest: DFF<Bits<16>>,
        newest: DFF<Bits<16>>,
        next_epoch: DFF<Bits<16>>,
        span: Signal<Local, Bits<16>>,
        /// Next argument; how many; one clock later.
        step: DFF<Bits<4>>,
        last: DFF<Bits<4>>,
        /// Latest arguments, youngest first; the first one, the protection domain.
        arg0: DFF<Bits<32>>,
        arg1: DFF<Bits<32>>,
        arg2: DFF<Bits<32>>,
        arg3: DFF<Bits<32>>,
        first: DFF<Bits<32>>,
        domain: DFF<Bits<16>>,
        /// Bits that must be 0 in the latest argument; some was not.
        forbidden: DFF<Bits<32>>,
        bad: DFF<Bit>,
        /// End of the region, both halves, the upper one without what the lower one carries; a clock later: the
        /// lower, the upper half is not 0, the upper one is all ones and the lower one carries; it has no bytes.
        end_low: DFF<Bits<33>>,
        end_high: DFF<Bits<33>>,
        low_some: DFF<Bit>,
        high_some: DFF<Bit>,
        high_wraps: DFF<Bit>,
        no_bytes: DFF<Bit>,
        /// It ends behind 2^64, the end of all addresses.
        beyond: Signal<Local, Bit>,
        now: Signal<Local, Bits<3>>,
        to: Signal<Local, Bits<3>>,
        /// It is in a reduction group.
        member: Signal<Local, Bit>,
        /// One clock late: neither changes before Decide.
        leads: DFF<Bit>,
        #[reset] pause: DFF<Bits<3>>,
        #[reset] held: DFF<Bit>,
        /// The state is Fetch.
        #[reset] fetching: DFF<Bit>,
        /// Clocks in which all has been idle.
        #[reset] quiet: DFF<Bits<5>>,
        /// Clocks for which the command has waited.
        waited: DFF<Bits<24>>,
        /// The in-flight table has been flushed.
        #[reset] flushed: DFF<Bit>,
        #[reset] cfg_out: DFF<Bit>,
        cfg_out_word: DFF<Bits<3>>,
        cfg_out_data: DFF<Bits<64>>,
        #[reset] set_out: DFF<Bit>,
        set_there: DFF<Bit>,
        #[reset] flush_out: DFF<Bit>,
        #[reset] win_out: DFF<Bit>,

        lq: Param<LQ, 5>,
        lr: Param<LR, 5>,
        lf: Param<LF, 5>,
        create: Param<{ Command::CreateQp as usize }, 8>,
        modify: Param<{ Command::ModifyQp as usize }, 8>,
        destroy: Param<{ Command::DestroyQp as usize }, 8>,
        query: Param<{ Command::QueryQp as usize }, 8>,
        advance: Param<{ Command::NextEpoch as usize }, 8>,
        set_region: Param<{ Command::SetRegion as usize }, 8>,
        clear_region: Param<{ Command::ClearRegion as usize }, 8>,
        open_window: Param<{ Command::OpenWindow as usize }, 8>,
        close_window: Param<{ Command::CloseWindow as usize }, 8>,
        bad_command: Param<{ Status::BadCommand as usize }, 8>,
        bad_index: Param<{ Status::BadIndex as usize }, 8>,
        bad_argument: Param<{ Status::BadArgument as usize }, 8>,
        bad_state: Param<{ Status::BadState as usize }, 8>,
        not_idle: Param<{ Status::NotIdle as usize }, 8>,
        init: Param<{ QpState::Init as usize }, 3>,
        receives: Param<{ QpState::ReadyToReceive as usize }, 3>,
        sends: Param<{ QpState::ReadyToSend as usize }, 3>,
        error: Param<{ QpState::Error as usize }, 3>,
        join: Param<{ Command::JoinGroup as usize }, 8>,
        below_8: Param<7, 32>,
        above_16: Param<{ ABOVE_16 as usize }, 32>,
        above_20: Param<{ ABOVE_20 as usize }, 32>,
        above_24: Param<{ ABOVE_24 as usize }, 32>,
        spare_shape: Param<{ spare(create_qp::ARGUMENTS, 0) as usize }, 32>,
        spare_region: Param<{ spare(set_region::ARGUMENTS, 0) as usize }, 32>,
        spare_state: Param<{ spare(modify_qp::ARGUMENTS, 0) as usize }, 32>,
        below_64: Param<63, 32>,
        /// Bit of word 0 of who is in a reduction group.
        member_bit: Param<{ 1 << MEMBER }, 48>,
        /// All of word 0 but the state.
        keep: Param<0xffff_ffff_fff8, 48>,
        /// Most epochs accepted, less 1.
        reach: Param<0x7fff, 16>,
    }
}

impl<const LQ: usize, const LR: usize, const LF: usize> Logic for CardRegsCommand<LQ, LR, LF> {
    #[hdl_gen]
    fn update(&mut self) {
        // Arguments: 0 until they are written.
        self.wipe.d.next = self.wipe.q.val() + 1;
        self.args.wr.en.next = self.arg_en.val() & !self.running.q.val();
        self.args.wr.addr.next = self.arg_addr.val();
        self.args.wr.data.next = self.arg_data.val();
        self.args_bus.wr.en.next = self.arg_en.val() & !self.running.q.val();
        self.args_bus.wr.addr.next = self.arg_addr.val();
        self.args_bus.wr.data.next = self.arg_data.val();
        if self.rst.val() {
            self.args.wr.en.next = true;
            self.args.wr.addr.next = self.wipe.q.val();
            self.args.wr.data.next = 0.into();
            self.args_bus.wr.en.next = true;
            self.args_bus.wr.addr.next = self.wipe.q.val();
            self.args_bus.wr.data.next = 0.into();
        }
        RamReadIn::<32, 4>::link(&mut self.arg_rd, &mut self.args_bus.rd);
        // While rings are gathered: 1, 3, and then 4 to 9.
        self.arg_index.next = self.step.q.val();
        if self.state.q.val() == State::Gather {
            self.arg_index.next = self.step.q.val() + 2;
            if self.step.q.val() == 0 {
                self.arg_index.next = 1.into();
            }
        }
        self.args.rd.addr.next = self.arg_index.val();

        // Rings that cannot be read.
        self.fatal_a_valid.d.next = self.s_fatal_a.valid.val();
        self.fatal_a_qpn.d.next = self.s_fatal_a.qpn.val();
        self.fatal_b_valid.d.next = self.s_fatal_b.valid.val();
        self.fatal_b_qpn.d.next = self.s_fatal_b.qpn.val();
        self.fatal_a.s.valid.next = self.fatal_a_valid.q.val();
        self.fatal_a.s.data.next = self.fatal_a_qpn.q.val();
        self.fatal_b.s.valid.next = self.fatal_b_valid.q.val();
        self.fatal_b.s.data.next = self.fatal_b_qpn.q.val();
        self.take_fatal.next =
            (self.state.q.val() == State::Idle) | (self.state.q.val() == State::Hold);
        self.fatal_a.m.ready.next = self.take_fatal.val();
        self.fatal_b.m.ready.next = self.take_fatal.val() & !self.fatal_a.m.valid.val();

        self.contexts.rd.addr.next = self.who.q.val();
        self.contexts.wr.en.next = false;
        self.contexts.wr.addr.next = self.who.q.val();
        self.contexts.wr.data.next = bit_cast::<80, 48>(self.word0.q.val())
            | (bit_cast::<80, 16>(self.oldest.q.val()) << 48)
            | (bit_cast::<80, 16>(self.newest.q.val()) << 64);

        self.clearing.next = self.state.q.val() == State::Clear;
        self.cleared.d.next = (self.state.q.val() != State::Clear) & !self.settling.val();
        self.busy.next = self.running.q.val() | !self.cleared.q.val();
        if self.start.val() & !self.running.q.val() & self.cleared.q.val() {
            self.running.d.next = true;
            self.code.d.next = self.start_code.val();
            self.index.d.next = self.start_index.val();
            self.result.d.next = 0.into();
            self.value0.d.next = 0.into();
            self.value1.d.next = 0.into();
        }
        self.is_create.d.next = self.code.q.val() == self.create.val();
        self.is_modify.d.next = self.code.q.val() == self.modify.val();
        self.is_set.d.next = self.code.q.val() == self.set_region.val();
        self.of_region.d.next = (self.code.q.val() == self.set_region.val())
            | (self.code.q.val() == self.clear_region.val());
        self.is_destroy.d.next = self.code.q.val() == self.destroy.val();
        self.is_query.d.next = self.code.q.val() == self.query.val();
        self.is_advance.d.next = self.code.q.val() == self.advance.val();
        self.ends.d.next = (self.code.q.val() == self.clear_region.val())
            | (self.code.q.val() == self.close_window.val());
        self.is_open.d.next = self.code.q.val() == self.open_window.val();
        self.of_window.d.next = (self.code.q.val() == self.open_window.val())
            | (self.code.q.val() == self.close_window.val());
        self.is_join.d.next = self.code.q.val() == self.join.val();
        self.unknown.d.next = !self.code.q.val().any()
            | ((self.code.q.val() > self.close_window.val())
                & !((self.code.q.val() == self.join.val()) & self.cfg_reduce.val()));
        self.last.d.next = 0.into();
        if self.is_join.q.val() {
            self.last.d.next = 3.into();
        }
        if self.is_open.q.val() {
            self.last.d.next = 4.into();
        }
        if self.is_create.q.val() {
            self.last.d.next = 10.into();
        }
        if self.is_modify.q.val() {
            self.last.d.next = 1.into();
        }
        if self.is_set.q.val() {
            self.last.d.next = 6.into();
        }
        // Of the argument fetched now, whose number is step; it is looked at in the next clock.
        self.forbidden.d.next = 0.into();
        if (self.is_create.q.val() & (self.step.q.val() == 2))
            | (self.is_set.q.val() & (self.step.q.val() == 1))
            | (self.is_open.q.val() & (self.step.q.val() == 3))
            | (self.is_join.q.val() & (self.step.q.val() == 0))
        {
            self.forbidden.d.next = self.above_16.val();
        }
        if self.is_open.q.val() & (self.step.q.val() == 1) {
            self.forbidden.d.next = self.above_20.val();
        }
        if (self.is_create.q.val() & (self.step.q.val() == 3))
            | (self.is_open.q.val() & ((self.step.q.val() == 0) | (self.step.q.val() == 2)))
        {
            self.forbidden.d.next = self.above_24.val();
        }
        if self.is_create.q.val()
            & ((self.step.q.val() == 4) | (self.step.q.val() == 6) | (self.step.q.val() == 8))
        {
            self.forbidden.d.next = self.below_64.val();
        }
        if self.is_join.q.val() & (self.step.q.val() == 2) {
            self.forbidden.d.next = self.below_8.val();
        }
        if self.step.q.val() == 0 {
            if self.is_create.q.val() {
                self.forbidden.d.next = self.spare_shape.val();
            }
            if self.is_set.q.val() {
                self.forbidden.d.next = self.spare_region.val();
            }
            if self.is_modify.q.val() {
                self.forbidden.d.next = self.spare_state.val();
            }
        }
        // What was fetched for the command before is none of it.
        if !self.fetching.q.val() {
            self.forbidden.d.next = 0.into();
        }
        self.now.next = self.word0.q.val().get_bits::<3>(0);
        self.member.next = (self.word0.q.val() & self.member_bit.val()).any();
        self.to.next = self.arg0.q.val().get_bits::<3>(0);
        self.leads.d.next = ((self.to.val() == self.receives.val())
            & (self.now.val() == self.init.val()))
            | ((self.to.val() == self.sends.val()) & (self.now.val() == self.receives.val()))
            | ((self.to.val() == self.error.val()) & self.now.val().any());
        self.span.next = self.next_epoch.q.val() - self.oldest.q.val();
        self.beyond.next = (self.end_high.q.val().get_bit(32)
            & (self.end_low.q.val().get_bit(32) | self.high_some.q.val() | self.low_some.q.val()))
            | (self.high_wraps.q.val() & self.low_some.q.val());
        self.low_some.d.next = self.end_low.q.val().get_bits::<32>(0).any();
        self.high_some.d.next = self.end_high.q.val().get_bits::<32>(0).any();
        self.high_wraps.d.next =
            self.end_high.q.val().get_bits::<32>(0).all() & self.end_low.q.val().get_bit(32);

        self.cfg_out.d.next = false;
        self.set_out.d.next = false;
        self.flush_out.d.next = false;
        self.win_out.d.next = false;
        self.fetching.d.next = false;
        if self.fetching.q.val() & (self.step.q.val() != self.last.q.val()) {
            self.arg0.d.next = self.args.rd.data.val();
            self.arg1.d.next = self.arg0.q.val();
            self.arg2.d.next = self.arg1.q.val();
            self.arg3.d.next = self.arg2.q.val();
        }
        // The outcome, one clock after it is known; the command ends no sooner.
        self.said.d.next = 0.into();
        self.says.d.next = false;
        self.said0.d.next = 0.into();
        self.said1.d.next = 0.into();
        if self.said.q.val().any() {
            self.result.d.next = self.said.q.val();
        }
        if self.says.q.val() {
            self.value0.d.next = self.said0.q.val();
            self.value1.d.next = self.said1.q.val();
        }
        match self.state.q.val() {
            State::Clear => {
                self.contexts.rd.addr.next = self.sweep.q.val().get_bits::<LQ>(0);
                self.contexts.wr.addr.next = self.sweep.q.val().get_bits::<LQ>(0);
                self.contexts.wr.data.next =
                    bit_cast::<80, 16>(self.contexts.rd.data.val().get_bits::<16>(64)) << 64;
                if self.forget.val() {
                    self.contexts.wr.data.next = 0.into();
                }
                self.sweep_step.d.next = self.sweep_step.q.val() + 1;
                if self.sweep_step.q.val().all() {
                    self.sweep.d.next = self.sweep.q.val() + 1;
                    self.contexts.wr.en.next = true;
                }
                if (self.sweep.q.val() >> self.lq.val()).any()
                    & (self.sweep.q.val() >> self.lr.val()).any()
                    & (self.sweep.q.val() >> self.lf.val()).any()
                {
                    self.state.d.next = State::Idle;
                }
            }
            State::Idle => {
                if self.fatal_a.m.valid.val() | self.fatal_b.m.valid.val() {
                    self.serving.d.next = true;
                    self.state.d.next = State::Read1;
                } else if self.running.q.val() {
                    self.state.d.next = State::Check;
                }
            }
            State::Check => {
                self.who.d.next = self.index.q.val().get_bits::<LQ>(0);
                self.step.d.next = 0.into();
                self.waited.d.next = 0.into();
                self.bad.d.next = false;
                self.state.d.next = State::Read1;
                if self.of_region.q.val() | self.of_window.q.val() {
                    self.state.d.next = State::Fetch;
                    self.fetching.d.next = true;
                }
                if (self.of_region.q.val() & (self.index.q.val() >> self.lr.val()).any())
                    | (self.of_window.q.val() & self.index.q.val().get_bits::<16>(8).any())
                    | (!self.of_region.q.val()
                        & !self.of_window.q.val()
                        & (self.index.q.val() >> self.lq.val()).any())
                {
                    self.said.d.next = self.bad_index.val();
                    self.state.d.next = State::Finish;
                    self.fetching.d.next = false;
                }
                if self.unknown.q.val() {
                    self.said.d.next = self.bad_command.val();
                    self.state.d.next = State::Finish;
                    self.fetching.d.next = false;
                }
            }
            State::Read1 => {
                self.state.d.next = State::Read2;
            }
            State::Read2 => {
                self.state.d.next = State::Read3;
            }
            State::Read3 => {
                self.word0.d.next = self.contexts.rd.data.val().get_bits::<48>(0);
                self.oldest.d.next = self.contexts.rd.data.val().get_bits::<16>(48);
                self.newest.d.next = self.contexts.rd.data.val().get_bits::<16>(64);
                self.state.d.next = State::Fetch;
                self.fetching.d.next =
                    !self.serving.q.val() & !self.flushed.q.val() & !self.is_open.q.val();
                if self.serving.q.val() {
                    self.word0.d.next = (self.contexts.rd.data.val().get_bits::<48>(0)
                        & self.keep.val())
                        | bit_cast::<48, 3>(self.error.val());
                    self.state.d.next = State::Shape;
                    if !self.contexts.rd.data.val().get_bits::<3>(0).any() {
                        self.serving.d.next = false;
                        self.state.d.next = State::Idle;
                        if self.held.q.val() {
                            self.state.d.next = State::Hold;
                        }
                    }
                } else if self.flushed.q.val() {
                    self.word0.d.next = 0.into();
                    self.state.d.next = State::Shape;
                } else if self.is_open.q.val() {
                    self.state.d.next = State::Decide;
                }
            }
            State::Fetch => {
                if self.step.q.val() != self.last.q.val() {
                    self.fetching.d.next = true;
                    self.step.d.next = self.step.q.val() + 1;
                } else {
                    self.state.d.next = State::Weigh;
                }
                // Of the last arguments, once all are here.
                self.end_low.d.next =
                    bit_cast::<33, 32>(self.arg3.q.val()) + bit_cast::<33, 32>(self.arg1.q.val());
                self.end_high.d.next =
                    bit_cast::<33, 32>(self.arg2.q.val()) + bit_cast::<33, 32>(self.arg0.q.val());
                if (self.arg0.q.val() & self.forbidden.q.val()).any() {
                    self.bad.d.next = true;
                }
                if self.step.q.val() == 1 {
                    self.first.d.next = self.arg0.q.val();
                    // The card cannot have such a queue pair.
                    if self.is_open.q.val() & (self.arg0.q.val() >> self.lq.val()).any() {
                        self.bad.d.next = true;
                    }
                }
                if (self.is_create.q.val() & (self.step.q.val() == 3))
                    | (self.is_set.q.val() & (self.step.q.val() == 2))
                {
                    self.domain.d.next = self.arg0.q.val().get_bits::<16>(0);
                }
            }
            State::Weigh => {
                self.next_epoch.d.next = self.newest.q.val() + 1;
                self.no_bytes.d.next = !(self.arg0.q.val() | self.arg1.q.val()).any();
                if self.is_modify.q.val() & (self.to.val() > self.error.val()) {
                    self.bad.d.next = true;
                }
                self.step.d.next = 0.into();
                self.state.d.next = State::Decide;
                if self.is_open.q.val() {
                    self.who.d.next = self.first.q.val().get_bits::<LQ>(0);
                    self.state.d.next = State::Read1;
                }
            }
            State::Decide => {
                // What is refused below goes to Finish.
                self.state.d.next = State::Finish;
                if self.is_create.q.val() {
                    if self.bad.q.val() {
                        self.said.d.next = self.bad_argument.val();
                    } else if self.now.val().any() {
                        self.said.d.next = self.bad_state.val();
                    } else {
                        self.newest.d.next = self.next_epoch.q.val();
                        self.oldest.d.next = self.next_epoch.q.val();
                        self.says.d.next = true;
                        self.said0.d.next = bit_cast::<32, 16>(self.next_epoch.q.val());
                        self.word0.d.next = bit_cast::<48, 32>(self.first.q.val())
                            | (bit_cast::<48, 16>(self.domain.q.val()) << 32)
                            | bit_cast::<48, 3>(self.init.val());
                        self.state.d.next = State::Gather;
                    }
                }
                if self.is_modify.q.val() {
                    if self.bad.q.val() {
                        self.said.d.next = self.bad_argument.val();
                    } else if !self.leads.q.val() {
                        self.said.d.next = self.bad_state.val();
                    } else {
                        self.word0.d.next = (self.word0.q.val() & self.keep.val())
                            | bit_cast::<48, 3>(self.to.val());
                        self.state.d.next = State::Shape;
                    }
                }
                if self.is_join.q.val() {
                    if self.bad.q.val() {
                        self.said.d.next = self.bad_argument.val();
                    } else if (self.now.val() == self.init.val()) & !self.member.val() {
                        self.state.d.next = State::Join;
                    } else {
                        self.said.d.next = self.bad_state.val();
                    }
                }
                if self.is_destroy.q.val() {
                    if self.now.val().any() {
                        self.state.d.next = State::Hold;
                    } else {
                        self.said.d.next = self.bad_state.val();
                    }
                }
                if self.is_query.q.val() {
                    self.says.d.next = true;
                    self.said0.d.next = bit_cast::<32, 3>(self.now.val());
                    self.said1.d.next = self.newest.q.val();
                }
                if self.is_advance.q.val() {
                    if self.now.val().any() {
                        self.newest.d.next = self.next_epoch.q.val();
                        self.says.d.next = true;
                        self.said0.d.next = bit_cast::<32, 16>(self.next_epoch.q.val());
                        if self.span.val().get_bit(15) {
                            self.oldest.d.next = self.next_epoch.q.val() - self.reach.val();
                        }
                        self.state.d.next = State::Epochs;
                    } else {
                        self.said.d.next = self.bad_state.val();
                    }
                }
                if self.is_set.q.val() {
                    if self.bad.q.val() | self.no_bytes.q.val() | self.beyond.val() {
                        self.said.d.next = self.bad_argument.val();
                    } else {
                        self.state.d.next = State::Region;
                        if self.cfg_bulk.val() {
                            self.state.d.next = State::Hold;
                        }
                    }
                }
                if self.ends.q.val() {
                    self.state.d.next = State::Hold;
                }
                if self.is_open.q.val() {
                    if self.bad.q.val() {
                        self.said.d.next = self.bad_argument.val();
                    } else if self.now.val().any() {
                        self.state.d.next = State::Hold;
                    } else {
                        self.said.d.next = self.bad_state.val();
                    }
                }
            }
            State::Gather => {
                self.arg0.d.next = self.args.rd.data.val();
                self.arg1.d.next = self.arg0.q.val();
                self.step.d.next = self.step.q.val() + 1;
                if self.step.q.val().get_bit(0) {
                    self.state.d.next = State::Ring;
                }
            }
            State::Ring => {
                self.cfg_out.d.next = true;
                self.cfg_out_word.d.next = self.step.q.val().get_bits::<3>(1);
                self.cfg_out_data.d.next = bit_cast::<64, 32>(self.arg1.q.val())
                    | (bit_cast::<64, 32>(self.arg0.q.val()) << 32);
                self.then.d.next = Then::Gather;
                if self.step.q.val().get_bit(3) {
                    self.then.d.next = Then::Epochs;
                }
                self.state.d.next = State::Pause;
            }
            State::Epochs => {
                self.cfg_out.d.next = true;
                self.cfg_out_word.d.next = 5.into();
                self.cfg_out_data.d.next = bit_cast::<64, 16>(self.oldest.q.val())
                    | (bit_cast::<64, 16>(self.newest.q.val()) << 16);
                self.contexts.wr.en.next = true;
                self.then.d.next = Then::Finish;
                if self.is_create.q.val() {
                    // It is not there before its last word.
                    self.contexts.wr.en.next = false;
                    self.then.d.next = Then::Indices;
                }
                self.state.d.next = State::Pause;
            }
            State::Indices => {
                self.cfg_out.d.next = true;
                self.cfg_out_word.d.next = 6.into();
                self.cfg_out_data.d.next = 0.into();
                self.then.d.next = Then::Shape;
                self.state.d.next = State::Pause;
            }
            State::Shape => {
                self.cfg_out.d.next = true;
                self.cfg_out_word.d.next = 0.into();
                self.cfg_out_data.d.next = bit_cast::<64, 48>(self.word0.q.val());
                self.contexts.wr.en.next = true;
                self.then.d.next = Then::Finish;
                self.state.d.next = State::Pause;
            }
            State::Pause => {
                self.pause.d.next = self.pause.q.val() + 1;
                if self.pause.q.val().all() {
                    match self.then.q.val() {
                        Then::Gather => {
                            self.state.d.next = State::Gather;
                        }
                        Then::Epochs => {
                            self.state.d.next = State::Epochs;
                        }
                        Then::Indices => {
                            self.state.d.next = State::Indices;
                        }
                        Then::Shape => {
                            self.state.d.next = State::Shape;
                        }
                        Then::Finish => {
                            self.state.d.next = State::Finish;
                            if self.serving.q.val() {
                                self.serving.d.next = false;
                                self.state.d.next = State::Idle;
                                if self.held.q.val() {
                                    self.state.d.next = State::Hold;
                                }
                            }
                        }
                        _ => {
                            self.state.d.next = State::Finish;
                        }
                    }
                }
            }
            State::Region => {
                self.set_out.d.next = true;
                self.set_there.d.next = self.is_set.q.val();
                self.state.d.next = State::Finish;
            }
            State::Window => {
                self.win_out.d.next = true;
                self.state.d.next = State::Windowing;
            }
            State::Windowing => {
                if self.win.done.val() {
                    if !self.is_open.q.val() {
                        self.says.d.next = true;
                        self.said0.d.next = self.win.expected.val();
                        self.said1.d.next = bit_cast::<16, 1>(self.win.was.val().into());
                    }
                    self.state.d.next = State::Finish;
                }
            }
            State::Join => {
                if self.m_join.done.val() {
                    self.state.d.next = State::Finish;
                    self.said.d.next = self.bad_state.val();
                    if self.m_join.ok.val() {
                        self.state.d.next = State::Shape;
                        self.said.d.next = 0.into();
                        self.word0.d.next = self.word0.q.val() | self.member_bit.val();
                    }
                }
            }
            State::Hold => {
                self.held.d.next = true;
                self.waited.d.next = self.waited.q.val() + 1;
                self.quiet.d.next = self.quiet.q.val() + 1;
                if !self.idle.val() | !self.held.q.val() {
                    self.quiet.d.next = 0.into();
                }
                if self.fatal_a.m.valid.val() | self.fatal_b.m.valid.val() {
                    self.quiet.d.next = 0.into();
                    self.serving.d.next = true;
                    self.state.d.next = State::Read1;
                } else if self.quiet.q.val().get_bit(4) {
                    self.quiet.d.next = 0.into();
                    self.who.d.next = self.index.q.val().get_bits::<LQ>(0);
                    if self.of_region.q.val() {
                        self.state.d.next = State::Region;
                        if self.cfg_bulk.val() {
                            self.state.d.next = State::End;
                        }
                    } else if self.of_window.q.val() {
                        self.state.d.next = State::Window;
                    } else if self.flushed.q.val() {
                        self.state.d.next = State::Read1;
                    } else {
                        self.state.d.next = State::Flush;
                    }
                } else if self.waited.q.val().get_bit(23) {
                    self.quiet.d.next = 0.into();
                    self.said.d.next = self.not_idle.val();
                    self.state.d.next = State::Finish;
                }
            }
            State::Flush => {
                self.flush_out.d.next = true;
                self.flushed.d.next = true;
                self.state.d.next = State::Flushing;
            }
            State::Flushing => {
                if self.flush.done.val() {
                    self.state.d.next = State::Hold;
                    if self.cfg_bulk.val() {
                        self.state.d.next = State::End;
                    }
                }
            }
            State::End => {
                if self.end.done.val() {
                    self.state.d.next = State::Hold;
                    if self.of_region.q.val() {
                        self.state.d.next = State::Region;
                    }
                }
            }
            State::Finish => {
                self.running.d.next = false;
                self.held.d.next = false;
                self.flushed.d.next = false;
                self.state.d.next = State::Idle;
            }
            _ => {
                self.state.d.next = State::Clear;
            }
        }
        if self.take_fatal.val() {
            if self.fatal_a.m.valid.val() {
                self.who.d.next = self.fatal_a.m.data.val();
            } else if self.fatal_b.m.valid.val() {
                self.who.d.next = self.fatal_b.m.data.val();
            }
        }

        self.status.next = self.result.q.val();
        self.result0.next = self.value0.q.val();
        self.result1.next = self.value1.q.val();
        self.cfg.valid.next = self.cfg_out.q.val();
        self.cfg.of.next.qpn = self.who.q.val();
        self.cfg.of.next.word = self.cfg_out_word.q.val();
        self.cfg.of.next.data = self.cfg_out_data.q.val();
        self.set.valid.next = self.set_out.q.val();
        self.set.of.next.index = self.index.q.val().get_bits::<LR>(0);
        self.set.of.next.present = self.set_there.q.val();
        self.set.of.next.variant = self.first.q.val().get_bits::<8>(0);
        self.set.of.next.local_write = self.first.q.val().get_bit(8);
        self.set.of.next.remote = self.first.q.val().get_bits::<3>(9);
        self.set.of.next.pd = self.domain.q.val();
        self.set.of.next.base =
            bit_cast::<64, 32>(self.arg3.q.val()) | (bit_cast::<64, 32>(self.arg2.q.val()) << 32);
        self.set.of.next.length =
            bit_cast::<64, 32>(self.arg1.q.val()) | (bit_cast::<64, 32>(self.arg0.q.val()) << 32);
        self.win.valid.next = self.win_out.q.val();
        self.win.of.next.index = self.index.q.val().get_bits::<8>(0);
        self.win.of.next.open = self.is_open.q.val();
        self.win.of.next.qpn = self.first.q.val().get_bits::<LQ>(0);
        self.win.of.next.node = self.arg2.q.val().get_bits::<20>(0);
        self.win.of.next.peer = self.arg1.q.val().get_bits::<24>(0);
        self.win.of.next.epoch = self.arg0.q.val().get_bits::<16>(0);
        // Its arguments came in the order of their registers.
        self.m_join.valid.next = self.state.q.val() == State::Join;
        self.m_join.of.next.qpn = bit_cast::<12, LQ>(self.who.q.val());
        self.m_join.of.next.vni = self.first.q.val().get_bits::<16>(0);
        self.m_join.of.next.tree = self.arg1.q.val().get_bits::<13>(0);
        self.m_join.of.next.members = self.arg1.q.val().get_bits::<19>(13);
        self.m_join.of.next.cookie = self.arg0.q.val().get_bits::<29>(3);
        self.hold.next = self.held.q.val();
        self.end.valid.next = self.state.q.val() == State::End;
        self.end.pair.next = self.is_destroy.q.val();
        self.end.index.next = self.index.q.val();
        self.flush.valid.next = self.flush_out.q.val();
        self.flush.qpn.next = self.who.q.val();

        if self.rst.val() {
            self.state.d.next = State::Clear;
        }
    }
}
