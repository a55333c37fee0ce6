//! What a write to the register `command` does.
//!
//! Its parts, in the order of a command: `decode` and `arguments`, `steps` and in it `begin` (from the code to the arguments) and
//! `decide`; then what `outputs` hands on.

mod arguments;
mod begin;
mod decide;
mod decode;
mod outputs;
mod steps;

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
        self.keep_arguments();
        self.serve_fatal();
        self.decode();
        self.forbid();
        self.weigh();
        self.advance();
        self.offer();
        if self.rst.val() {
            self.state.d.next = State::Clear;
        }
    }
}
