//! Commands of the card against what `protocol::card::command` says of them.

use crate::bench::{Fault, seeds, with_faults};
use crate::regs_bench::{Bench, Context, LF, LQ, LR, RESET, Set};
use tributary_hdl::card::CardRegs;
use tributary_hdl::emit::emit_block;
use tributary_hdl::record::MEMBER;
use tributary_protocol::card::command::argument::{bits_of, create_qp, join_group, set_region};
use tributary_protocol::card::command::{self, Built, Command, State, Status};
use tributary_protocol::card::regs;
use tributary_protocol::xud::{Card, CardConfig, Shape};
use tributary_sim::testbench::number;

/// A queue pair as the registers see it.
#[derive(Clone, Copy, Debug, Default)]
struct Qp {
    word0: u64,
    oldest: u16,
    newest: u16,
}

impl Qp {
    fn state(&self) -> State {
        State::from_code((self.word0 & 7) as u8).expect("states are ours")
    }

    fn is_member(&self) -> bool {
        self.word0 >> MEMBER & 1 == 1
    }

    fn epochs(&self) -> u64 {
        u64::from(self.oldest) | u64::from(self.newest) << 16
    }

    fn enter(&mut self, state: State) {
        self.word0 = self.word0 & !7 | u64::from(state.code());
    }
}

/// What a command does.
#[derive(Debug, Default)]
struct Done {
    status: u8,
    results: (u32, u32),
    contexts: Vec<Context>,
    set: Option<Set>,
    /// Window, and what one that opens is opened with.
    window: Option<(u64, Option<[u64; 4]>)>,
    flush: Option<u64>,
    /// The table of groups is asked: queue pair, group.
    join: Option<(u64, [u64; 4])>,
}

impl Done {
    fn refused(status: Status) -> Self {
        Self {
            status: status.code(),
            ..Self::default()
        }
    }
}

/// The command set.
struct Model {
    qps: Vec<Qp>,
    args: [u32; 16],
    /// It has reduction groups; whether their table has room now.
    reduce: bool,
    room: bool,
    /// Has the epochs of the protocol's own model.
    card: Card,
}

impl Model {
    fn new() -> Self {
        Self {
            qps: vec![Qp::default(); 1 << LQ],
            args: [0; 16],
            reduce: false,
            room: false,
            card: Card::new(CardConfig::default()).expect("a good configuration"),
        }
    }

    fn run(&mut self, code: u8, index: u32) -> Done {
        let known = Command::from_code(code).filter(|c| self.reduce || *c != Command::JoinGroup);
        let Some(command) = known else {
            return Done::refused(Status::BadCommand);
        };
        // Index and arguments: as declared.
        let built = Built {
            queue_pairs: 1 << LQ,
            regions: 1 << LR,
            vectors: 8,
        };
        if let Err(status) = command.call().check(index, &self.args, &built) {
            return Done::refused(status);
        }
        match command {
            Command::CreateQp => self.create(index),
            Command::ModifyQp => self.modify(index),
            Command::DestroyQp => self.destroy(index),
            Command::QueryQp => {
                let qp = self.qps[index as usize];
                Done {
                    results: (qp.state().code().into(), qp.newest.into()),
                    ..Done::default()
                }
            }
            Command::NextEpoch => self.next_epoch(index),
            Command::SetRegion => self.set_region(index),
            Command::ClearRegion => Done {
                set: Some(Set {
                    index: index.into(),
                    present: false,
                    variant: 0,
                    local_write: false,
                    remote: 0,
                    pd: 0,
                    base: 0,
                    length: 0,
                }),
                ..Done::default()
            },
            Command::OpenWindow => self.open_window(index),
            Command::CloseWindow => Done {
                window: Some((index.into(), None)),
                ..Done::default()
            },
            Command::JoinGroup => self.join_group(index),
        }
    }

    fn join_group(&mut self, index: u32) -> Done {
        use command::argument::join_group::{COOKIE, MEMBERS, TREE, VNI};
        let group = [VNI, TREE, COOKIE, MEMBERS].map(|a| a.get(&self.args));
        let qp = &mut self.qps[index as usize];
        if qp.state() != State::Init || qp.is_member() {
            return Done::refused(Status::BadState);
        }
        let mut done = Done::refused(Status::BadState);
        if self.room {
            qp.word0 |= 1 << MEMBER;
            done = Done {
                contexts: vec![(index.into(), 0, qp.word0)],
                ..Done::default()
            };
        }
        Done {
            join: Some((index.into(), group)),
            ..done
        }
    }

    fn open_window(&mut self, index: u32) -> Done {
        use command::argument::open_window::{EPOCH, NODE, PEER, QPN};
        let [qpn, node, peer, epoch] = [QPN, NODE, PEER, EPOCH].map(|a| a.get(&self.args));
        if self.qps[qpn as usize].state() == State::Reset {
            return Done::refused(Status::BadState);
        }
        Done {
            window: Some((index.into(), Some([qpn, node, peer, epoch]))),
            ..Done::default()
        }
    }

    fn create(&mut self, index: u32) -> Done {
        use command::argument::create_qp as declared;
        let args = self.args;
        let value = |argument: command::Argument| argument.get(&args);
        let qp = &mut self.qps[index as usize];
        if qp.state() != State::Reset {
            return Done::refused(Status::BadState);
        }
        let shape = [
            declared::SEND_LOG,
            declared::RECEIVE_LOG,
            declared::COMPLETE_LOG,
            declared::TIMEOUT,
            declared::VECTOR,
        ]
        .map(|argument| argument.get(&args) << argument.lsb)
        .iter()
        .fold(0, |word, bits| word | bits);
        qp.newest = qp.newest.wrapping_add(1);
        qp.oldest = qp.newest;
        qp.word0 = shape | value(declared::DOMAIN) << 32;
        qp.enter(State::Init);
        let qp = *qp;
        let made = self.card.create_qp(
            index,
            Shape {
                q_key: value(declared::Q_KEY) as u32,
                first_psn: value(declared::FIRST_PSN) as u32,
                timeout: 0,
                sends: 1,
                receives: 1,
                completions: 1,
            },
        );
        made.expect("it is not there");
        assert_eq!(self.card.epoch(index), Some(qp.newest));
        let q = u64::from(index);
        Done {
            results: (qp.newest.into(), 0),
            contexts: vec![
                (
                    q,
                    1,
                    value(declared::Q_KEY) | value(declared::FIRST_PSN) << 32,
                ),
                (q, 2, value(declared::SEND_BASE)),
                (q, 3, value(declared::RECEIVE_BASE)),
                (q, 4, value(declared::COMPLETE_BASE)),
                (q, 5, qp.epochs()),
                (q, 6, 0),
                (q, 0, qp.word0),
            ],
            ..Done::default()
        }
    }

    fn modify(&mut self, index: u32) -> Done {
        let to = command::argument::modify_qp::STATE.get(&self.args) as u8;
        let Some(to) = State::from_code(to) else {
            return Done::refused(Status::BadArgument);
        };
        let qp = &mut self.qps[index as usize];
        if !qp.state().leads_to(to) {
            return Done::refused(Status::BadState);
        }
        qp.enter(to);
        Done {
            contexts: vec![(index.into(), 0, qp.word0)],
            ..Done::default()
        }
    }

    fn destroy(&mut self, index: u32) -> Done {
        let qp = &mut self.qps[index as usize];
        if qp.state() == State::Reset {
            return Done::refused(Status::BadState);
        }
        qp.word0 = 0;
        self.card.destroy_qp(index);
        Done {
            contexts: vec![(index.into(), 0, 0)],
            flush: Some(index.into()),
            ..Done::default()
        }
    }

    fn next_epoch(&mut self, index: u32) -> Done {
        let qp = &mut self.qps[index as usize];
        if qp.state() == State::Reset {
            return Done::refused(Status::BadState);
        }
        qp.newest = qp.newest.wrapping_add(1);
        if qp.newest.wrapping_sub(qp.oldest) >= 1 << 15 {
            qp.oldest = qp.newest.wrapping_sub((1 << 15) - 1);
        }
        assert_eq!(self.card.next_epoch(index), Some(qp.newest));
        Done {
            results: (qp.newest.into(), 0),
            contexts: vec![(index.into(), 5, qp.epochs())],
            ..Done::default()
        }
    }

    fn set_region(&mut self, index: u32) -> Done {
        use command::argument::set_region as declared;
        let value = |argument: command::Argument| argument.get(&self.args);
        Done {
            set: Some(Set {
                index: index.into(),
                present: true,
                variant: value(declared::VARIANT),
                local_write: value(declared::LOCAL_WRITE) == 1,
                remote: value(declared::REMOTE_WRITE)
                    | value(declared::REMOTE_READ) << 1
                    | value(declared::REMOTE_ATOMIC) << 2,
                pd: value(declared::DOMAIN),
                base: value(declared::BASE),
                length: value(declared::LENGTH),
            }),
            ..Done::default()
        }
    }

    /// A ring cannot be read.
    fn fatal(&mut self, qpn: u64) -> Option<Context> {
        let qp = &mut self.qps[qpn as usize];
        (qp.state() != State::Reset).then(|| {
            qp.enter(State::Error);
            (qpn, 0, qp.word0)
        })
    }
}

/// Arguments, mostly good ones.
fn arguments(bench: &mut Bench, command: Option<Command>) -> Vec<u32> {
    let d = &mut bench.dice;
    let mut args: Vec<u32> = (0..10).map(|_| d.bits(32) as u32).collect();
    match command {
        Some(Command::CreateQp) => {
            args[0] &= bits_of(create_qp::ARGUMENTS, 0);
            args[2] &= 0xffff;
            args[3] &= 0xff_ffff;
            for base in [4, 6, 8] {
                args[base] &= !63;
            }
        }
        Some(Command::ModifyQp) => args[0] = d.below(5) as u32,
        Some(Command::SetRegion) => {
            args[0] &= bits_of(set_region::ARGUMENTS, 0);
            args[1] &= 0xffff;
            let base = d.of(&[0, d_top(), u64::MAX, 1 << 32]);
            let length = d.of(&[
                1,
                4096,
                // To the last byte but one, to the last, one further.
                u64::MAX - base,
                0u64.wrapping_sub(base),
                1u64.wrapping_sub(base),
                1 << 32,
                0,
            ]);
            for (i, word) in [base, length].into_iter().enumerate() {
                args[2 + 2 * i] = word as u32;
                args[3 + 2 * i] = (word >> 32) as u32;
            }
        }
        Some(Command::OpenWindow) => {
            args.truncate(4);
            args[0] = d.below(4) as u32;
            args[1] &= 0xffff;
            args[2] &= 0xff_ffff;
            args[3] &= 0xffff;
        }
        Some(Command::JoinGroup) => {
            args.truncate(3);
            for (register, arg) in args.iter_mut().enumerate() {
                *arg &= bits_of(join_group::ARGUMENTS, register as u8);
            }
            args[2] &= !7;
        }
        _ => args.truncate(3),
    }
    if d.chance(15) {
        let which = d.below(args.len() as u64) as usize;
        args[which] ^= 1 << d.below(32);
    }
    args
}

/// An address whose lower half is full.
fn d_top() -> u64 {
    0x1234_ffff_ffff
}

fn equal(bench: &mut Bench, done: &Done, what: &str) {
    assert_eq!(bench.contexts, done.contexts, "{what}");
    bench.contexts.clear();
    let set = bench.sets.pop();
    assert!(bench.sets.is_empty(), "{what}");
    match (set, done.set) {
        (Some(set), Some(want)) if !want.present => {
            assert_eq!((set.index, set.present), (want.index, false), "{what}");
        }
        (set, want) => assert_eq!(set, want, "{what}"),
    }
    assert_eq!(bench.flushes.pop(), done.flush, "{what}");
    assert!(!bench.rtl.is("hold"), "{what}");
}

#[test]
fn xud_06_commands_do_what_they_say_and_refuse_what_they_must() {
    for seed in seeds(4) {
        commands(Bench::new(seed), seed, 500);
    }
}

/// As without them; but what bulk transfers have of a queue pair or region ends first.
#[test]
fn bw_02_commands_wait_for_bulk_transfers() {
    for seed in seeds(4) {
        let mut bench = Bench::new(seed);
        bench.rtl.set("cfg_bulk", 1u8);
        commands(bench, seed, 500);
    }
}

/// With queue pairs in reduction groups, and a table of them that is full now and then.
#[test]
fn cl_05_queue_pairs_join_groups_in_the_state_init_once_and_until_they_are_destroyed() {
    let mut all = [0; 7];
    for seed in seeds(4) {
        let seen = commands(groups(Bench::new(seed)), seed, 1_000);
        all = std::array::from_fn(|i| all[i] + seen[i]);
    }
    println!("{all:?}");
    if number("TRIBUTARY_SEED").is_none() {
        assert!(all.iter().all(|&n| n > 5), "{all:?}");
    }
}

fn groups(mut bench: Bench) -> Bench {
    bench.rtl.set("cfg_reduce", 1u8);
    bench.joins_ok = 60;
    bench
}

/// Also of a command that waits for the table when the reset comes.
#[test]
fn cl_05_a_reset_takes_queue_pairs_out_of_their_groups() {
    let mut bench = groups(Bench::new(1));
    bench.joins_ok = 100;
    let bad_state = Status::BadState.code();
    let group = [0xffff, 0x1fff, 0xffff_fff8];
    for _ in 0..40 {
        for qpn in [5, 6] {
            assert_eq!(bench.run(Command::CreateQp, qpn, &[0; 10]).0, 0);
        }
        bench.contexts.clear();
        assert_eq!(bench.run(Command::JoinGroup, 5, &group).0, 0);
        let init = u64::from(State::Init.code());
        assert_eq!(bench.contexts, [(5, 0, 1 << MEMBER | init)]);
        assert_eq!(bench.run(Command::JoinGroup, 5, &group).0, bad_state);
        assert_eq!(bench.joins.len(), 1, "it is not asked about twice");
        bench.start(Command::JoinGroup.code(), 6);
        let clocks = bench.dice.below(40);
        bench.clocks(clocks);
        bench.set(&regs::CONTROL, regs::CONTROL_RESET.put(1));
        bench.clocks(RESET);
        bench.contexts.clear();
        bench.joins.clear();
        for qpn in [5, 6] {
            assert_eq!(bench.run(Command::QueryQp, qpn, &[]).1, 0, "it is gone");
            assert_eq!(bench.run(Command::JoinGroup, qpn, &group).0, bad_state);
        }
        assert!(bench.joins.is_empty());
    }
}

/// Wrong commands, and that a run above notices each.
#[test]
fn cl_05_groups_that_are_joined_wrongly_are_noticed() {
    const FAULTS: &[Fault] = &[
        (
            "a queue pair joins twice",
            "(now == INIT) & !member",
            "now == INIT",
        ),
        (
            "a queue pair joins in any state",
            "(now == INIT) & !member",
            "!member",
        ),
        (
            "the command is there without groups",
            "(code_reg == JOIN) & cfg_reduce",
            "code_reg == JOIN",
        ),
        (
            "a VNI too large",
            "(is_join_reg & (step_reg == 4'd0))",
            "1'b0",
        ),
        (
            "a cookie between two",
            "is_join_reg & (step_reg == 4'd2)",
            "1'b0",
        ),
        ("another VNI", "first_reg[15:0]", "first_reg[31:16]"),
        ("other members", "arg1_reg[31:13]", "arg1_reg[30:12]"),
        ("another tree", "arg1_reg[12:0]", "arg1_reg[13:1]"),
        ("another cookie", "arg0_reg[31:3]", "arg0_reg[28:0]"),
        ("its bit is not kept", "word0_reg | MEMBER_BIT", "word0_reg"),
        (
            "a new state forgets the group",
            "(word0_reg & KEEP)",
            "(word0_reg & KEEP & ~MEMBER_BIT)",
        ),
        ("the table is not asked", "state_reg == STATE_JOIN", "1'b0"),
    ];
    let design = emit_block(&mut CardRegs::<LQ, LR, LF>::default()).expect("it is writable");
    let library = with_faults(&design, FAULTS);
    let run = |fault: usize, reduce: bool| {
        let mut bench = Bench::of(&library, 1);
        bench.rtl.set("fault", fault as u64);
        if reduce {
            bench = groups(bench);
        }
        commands(bench, 1, 1_000);
    };
    run(0, false);
    run(0, true);
    for (i, (name, ..)) in FAULTS.iter().enumerate() {
        let wrong = |reduce| std::panic::catch_unwind(|| run(i + 1, reduce)).is_err();
        assert!(
            [true, false].into_iter().any(wrong),
            "nothing notices: {name}"
        );
    }
}

/// What became of commands that have to do with groups: joined; the table was full; refused, as it is in one, as it is not in
/// the state init, for its arguments; of those in a group: a new state, the end.
type Seen = [u32; 7];

/// Which of these a command was; the queue pair was this before.
fn place(command: Command, status: u8, room: bool, qp: Qp) -> Option<usize> {
    let ok = status == Status::Ok.code();
    let state = status == Status::BadState.code();
    let init = qp.state() == State::Init;
    match command {
        Command::JoinGroup if ok => Some(0),
        Command::JoinGroup if state && init && qp.is_member() => Some(2),
        Command::JoinGroup if state && init && !room => Some(1),
        Command::JoinGroup if state => Some(3),
        Command::JoinGroup => Some(4),
        Command::ModifyQp if ok && qp.is_member() => Some(5),
        Command::DestroyQp if ok && qp.is_member() => Some(6),
        _ => None,
    }
}

fn commands(mut bench: Bench, seed: u64, count: u32) -> Seen {
    let mut model = Model::new();
    model.reduce = bench.rtl.is("cfg_reduce");
    let mut seen: Seen = [0; 7];
    let mut ended = [0; 5];
    for _ in 0..count {
        bench.idle = bench.dice.of(&[100, 97, 90]);
        let code = 1 + bench.dice.below(10) as u8;
        let code = if model.reduce && bench.dice.chance(30) {
            Command::JoinGroup.code()
        } else if bench.dice.chance(3) {
            bench.dice.bits(8) as u8
        } else {
            code
        };
        let command = Command::from_code(code);
        let mut index = bench.dice.below(3) as u32;
        if bench.dice.chance(5) {
            index = bench.dice.of(&[7, 8, 15, 16, 255, 256, 1 << 23, 0xff_ffff]);
        }
        // States in which one can join are few.
        if model.reduce && command == Some(Command::JoinGroup) && bench.dice.chance(70) {
            let init = model.qps.iter().position(|qp| qp.state() == State::Init);
            index = init.unwrap_or(0) as u32;
        }
        if bench.dice.chance(80) {
            let args = arguments(&mut bench, command);
            model.args[..args.len()].copy_from_slice(&args);
            bench.args(&args);
        }
        // Rings that cannot be read, some at the same time.
        if bench.dice.chance(20) {
            let mut want = vec![];
            for _ in 0..1 + bench.dice.below(12) {
                let qpn = bench.dice.below(4);
                let (valid, port) = bench.dice.of(&[
                    ("s_fatal_a_valid", "s_fatal_a_qpn"),
                    ("s_fatal_b_valid", "s_fatal_b_qpn"),
                ]);
                want.extend(model.fatal(qpn));
                bench.pulse(valid, &[(port, qpn)]);
            }
            bench.clocks(250);
            let mut got = std::mem::take(&mut bench.contexts);
            got.sort_unstable();
            want.sort_unstable();
            assert_eq!(got, want, "seed {seed}");
        }
        bench.start(code, index);
        let mut while_held = vec![];
        if bench.dice.chance(30) {
            // Also one that comes while the command waits; another command meanwhile is ignored.
            bench.clocks(20);
            if bench.rtl.is("hold") {
                let qpn = (u64::from(index) + 1) % 8;
                while_held.extend(model.fatal(qpn));
                bench.pulse("s_fatal_a_valid", &[("s_fatal_a_qpn", qpn)]);
                bench.start(Command::CreateQp.code(), 7);
                bench.args(&[1; 3]);
            }
        }
        let status = bench.wait();
        let joined = bench.joins.pop();
        model.room = joined.is_some_and(|join| join.ok);
        let before = model.qps.get(index as usize).copied();
        let mut done = model.run(code, index);
        let told = joined.map(|join| (join.qpn, join.group));
        assert_eq!(told, done.join, "seed {seed}, {command:?} {index}");
        if let (Some(command), Some(before)) = (command, before) {
            let place = place(command, status, model.room, before);
            place.into_iter().for_each(|place| seen[place] += 1);
        }
        let window = bench.windows.pop();
        let told = window.map(|window| (window.index, window.open));
        assert_eq!(told, done.window, "seed {seed}, {command:?} {index}");
        if let (Some(window), Some(Command::CloseWindow)) = (window, command) {
            done.results = (window.said.0 as u32, window.said.1.into());
        }
        done.contexts.splice(0..0, while_held);
        let results = (bench.get(&regs::RESULT0), bench.get(&regs::RESULT1));
        let what = format!("seed {seed}, {command:?} {index}: {done:x?}");
        assert_eq!((status, results), (done.status, done.results), "{what}");
        equal(&mut bench, &done, &what);
        let pair = done.flush.map(|qpn| (true, qpn));
        let ends = pair.or(done.set.map(|set| (false, set.index)));
        let told = std::mem::take(&mut bench.ends);
        let bulk = bench.rtl.is("cfg_bulk");
        assert_eq!(told, Vec::from_iter(ends.filter(|_| bulk)), "{what}");
        ended[usize::from(status)] += 1;
        for i in 0..3 {
            let arg = bench.read(u32::from(regs::ARG0) + 4 * i);
            assert_eq!(arg, model.args[i as usize], "{what}");
        }
    }
    assert!(ended.iter().all(|&n| n > 3), "{ended:?}");
    seen
}

#[test]
fn xud_06_epochs_more_than_half_the_range_behind_are_no_longer_accepted() {
    let mut bench = Bench::new(1);
    let mut model = Model::new();
    let args = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    bench.run(Command::CreateQp, 5, &args);
    model.run(Command::CreateQp.code(), 5);
    bench.contexts.clear();
    for _ in 0..(1 << 15) + 40 {
        bench.start(Command::NextEpoch.code(), 5);
        bench.clocks(32);
        let done = model.run(Command::NextEpoch.code(), 5);
        assert_eq!(bench.contexts, done.contexts);
        bench.contexts.clear();
    }
    let qp = model.qps[5];
    assert_eq!(qp.newest.wrapping_sub(qp.oldest), (1 << 15) - 1);
    // It outlives the queue pair.
    bench.run(Command::DestroyQp, 5, &[]);
    let epoch = u32::from(qp.newest.wrapping_add(1));
    assert_eq!(bench.run(Command::CreateQp, 5, &args).1, epoch);
}

/// Clocks after which a command that waits for the card to be idle is given up.
const PATIENCE: u64 = 1 << 23;

#[test]
fn a_command_that_the_card_gives_no_rest_fails_and_can_be_given_again() {
    let mut bench = Bench::new(1);
    let mut model = Model::new();
    bench.run(Command::CreateQp, 5, &[0; 10]);
    let made = model.run(Command::CreateQp.code(), 5);
    equal(&mut bench, &made, "it is made");
    for command in [Command::DestroyQp, Command::ClearRegion] {
        bench.idle = 0;
        bench.start(command.code(), 5);
        bench.clocks(100);
        assert!(bench.rtl.is("hold"));
        bench.rtl.clocks(PATIENCE - 1_000);
        assert_eq!(regs::STATUS_BUSY.get(bench.get(&regs::STATUS)), 1);
        bench.clocks(1_000);
        let status = bench.get(&regs::STATUS);
        assert_eq!(regs::STATUS_BUSY.get(status), 0);
        let code = u32::from(Status::NotIdle.code());
        assert_eq!(regs::STATUS_CODE.get(status), code);
        equal(&mut bench, &Done::default(), "it is given up");
        bench.idle = 100;
        assert_eq!(bench.run(command, 5, &[]).0, 0);
        let done = model.run(command.code(), 5);
        equal(&mut bench, &done, "it is done");
    }
}
