//! Numbers that are too large for their place, against the model of the card in lock step: every register, every argument and index
//! of every command, as they are declared.

use crate::regs_bench::{Bench, LF, LQ, LR};
use tributary_protocol::card::command::argument::bits_of;
use tributary_protocol::card::command::{
    Argument, Arguments, Built, CALLS, Call, Command, Limit, State, Status,
};
use tributary_protocol::card::model::{CardModel, HostMemory, ModelConfig, Unanswered};
use tributary_protocol::card::regs::{self, Counter};
use tributary_protocol::registers::{Access, Register};
use tributary_sim::testbench::beyond::{beyond, outside, outside_fields};

/// A host whose memory does not answer: nothing here needs it.
struct NoMemory;

impl HostMemory for NoMemory {
    fn read(&mut self, _: u64, _: &mut [u8]) -> Result<(), Unanswered> {
        Err(Unanswered)
    }

    fn write(&mut self, _: u64, _: &[u8]) -> Result<(), Unanswered> {
        Err(Unanswered)
    }
}

/// RTL and model.
struct Both {
    rtl: Bench,
    model: CardModel,
}

impl Both {
    fn new(seed: u64) -> Self {
        Self::with(seed, false)
    }

    /// With reduction groups or without.
    fn with(seed: u64, reductions: bool) -> Self {
        let config = ModelConfig {
            qps_log: LQ as u8,
            regions_log: LR as u8,
            in_flight_log: LF as u8,
            bulk: None,
            groups: if reductions {
                regs::REDUCTION_GROUPS
            } else {
                0
            },
            ..ModelConfig::default()
        };
        let mut rtl = Bench::new(seed);
        rtl.idle = 100;
        rtl.rtl.set("cfg_reduce", reductions);
        let features = regs::FEATURES_REDUCTIONS.put(reductions.into());
        rtl.rtl.set("more_features", features);
        Self {
            rtl,
            model: CardModel::new(config).expect("a good configuration"),
        }
    }

    fn write(&mut self, offset: u32, value: u32) {
        self.rtl.write(offset, value);
        self.model.write(offset, value);
    }

    fn set(&mut self, register: &Register, value: u32) {
        self.write(register.offset.into(), value);
    }

    fn same(&mut self, offset: u32, what: &str) -> u32 {
        let (rtl, model) = (self.rtl.read(offset), self.model.read(offset));
        assert_eq!(rtl, model, "{what}: at {offset:#x}");
        rtl
    }

    /// All registers that are not of a command.
    fn state(&mut self, what: &str) -> Vec<u32> {
        let globals = regs::GLOBAL.iter().map(|r| u32::from(r.offset));
        let args = (0..regs::ARGS).map(|i| u32::from(regs::ARG0 + 4 * i));
        let table = (0..32).map(|word| regs::MSIX_TABLE + 4 * word);
        let offsets: Vec<u32> = globals.chain(args).chain(table).collect();
        offsets.into_iter().map(|at| self.same(at, what)).collect()
    }

    /// Bad writes so far; `statistics_select` stays.
    fn bad_writes(&mut self, what: &str) -> u64 {
        let selected = self.rtl.get(&regs::STATISTICS_SELECT);
        let rtl = self.rtl.counter(Counter::BadWrite);
        self.rtl.set(&regs::STATISTICS_SELECT, selected);
        assert_eq!(rtl, self.model.counter(Counter::BadWrite), "{what}");
        rtl
    }

    /// What the registers tell the rest of the card.
    fn outputs(&mut self) -> [u64; 5] {
        [
            "cfg_enable",
            "cfg_node",
            "cfg_mtu",
            "cfg_timeout_unit",
            "cfg_moderation",
        ]
        .map(|port| self.rtl.rtl.get(port))
    }

    /// Runs a command; its status. What it changed stays in the bench.
    fn run(&mut self, code: u8, index: u32, args: &[u32], what: &str) -> u8 {
        for (at, &arg) in (0u32..).zip(args) {
            self.write(u32::from(regs::ARG0) + 4 * at, arg);
        }
        self.set(
            &regs::COMMAND,
            regs::COMMAND_CODE.put(code.into()) | regs::COMMAND_INDEX.put(index),
        );
        self.model.step(&mut NoMemory, 0);
        let status = self.rtl.wait();
        self.same(regs::STATUS.offset.into(), what);
        // What the table of windows says is this bench's.
        if code != Command::CloseWindow.code() {
            self.same(regs::RESULT0.offset.into(), what);
            self.same(regs::RESULT1.offset.into(), what);
        }
        status
    }

    /// The same of one that must be refused.
    fn refused(&mut self, code: u8, index: u32, args: &[u32], with: Status, what: &str) {
        assert_eq!(self.run(code, index, args, what), with.code(), "{what}");
        let bench = &self.rtl;
        assert!(bench.contexts.is_empty() && bench.sets.is_empty(), "{what}");
        assert!(
            bench.windows.is_empty() && bench.flushes.is_empty(),
            "{what}"
        );
        assert!(bench.joins.is_empty(), "{what}");
    }

    /// The same of one that must be done.
    fn done(&mut self, call: &Call, index: u32, args: &[u32], what: &str) {
        let status = self.run(call.command.code(), index, args, what);
        assert_eq!(status, Status::Ok.code(), "{what}");
        self.forget();
    }

    fn forget(&mut self) {
        self.rtl.contexts.clear();
        self.rtl.sets.clear();
        self.rtl.windows.clear();
        self.rtl.flushes.clear();
        self.rtl.joins.clear();
    }
}

#[test]
fn a_register_refuses_what_its_fields_do_not_hold_and_counts_it() {
    let mut both = Both::new(1);
    let mut bad = 0;
    for register in regs::GLOBAL {
        if register.access != Access::ReadWrite {
            continue;
        }
        let keep = |value: u32| match *register {
            // The reset would make all registers equal.
            regs::CONTROL => value & regs::CONTROL_ENABLE.mask(),
            _ => value & register.mask(),
        };
        for ones in outside_fields(register) {
            let what = format!("{} with {ones:#x}", register.name);
            let before = keep(both.rtl.dice.bits(32) as u32);
            both.set(register, before);
            let (state, outputs) = (both.state(&what), both.outputs());
            // Alone, with what it had, and with a number that would be another one.
            for value in [0, before, keep(!before)] {
                both.set(register, value | ones);
                bad += 1;
            }
            both.rtl.clocks(4);
            assert_eq!(both.state(&what), state, "{what}");
            assert_eq!(both.outputs(), outputs, "{what}");
        }
        assert_eq!(both.bad_writes(register.name), bad, "{}", register.name);
    }
    assert!(bad > 200, "{bad}");
}

#[test]
fn a_counter_that_is_not_there_is_never_taken_for_one_that_is() {
    let mut bench = Bench::new(2);
    bench.rtl.set("ev", (1u64 << Counter::ALL.len()) - 1);
    bench.clocks(300);
    bench.rtl.set("ev", 0u8);
    bench.clocks(80);
    let there = Counter::ALL.len() as u64;
    let all: Vec<u64> = (0..there).collect();
    for counter in beyond(there, regs::STATISTICS_COUNTER.width.into(), &all) {
        assert_eq!(bench.select(counter as u8), 0, "counter {counter}");
    }
    // A number of more bits leaves the copy of before.
    let copy = bench.counter(Counter::Accepted);
    assert_eq!(copy, 300);
    bench.rtl.set("ev", 1u64 << Counter::Accepted.code());
    bench.clocks(300);
    bench.rtl.set("ev", 0u8);
    bench.clocks(80);
    for ones in outside_fields(&regs::STATISTICS_SELECT) {
        bench.set(&regs::STATISTICS_SELECT, ones);
        bench.set(
            &regs::STATISTICS_SELECT,
            ones | u32::from(Counter::Accepted.code()),
        );
        let now = [
            &regs::STATISTICS_SELECT,
            &regs::STATISTICS_LOW,
            &regs::STATISTICS_HIGH,
        ]
        .map(|register| bench.get(register));
        assert_eq!(now, [Counter::Accepted.code().into(), 300, 0], "{ones:#x}");
    }
}

/// Each known offset with each bit of the address turned over.
#[test]
fn no_other_offset_of_bar0_is_taken_for_a_register() {
    let mut both = Both::new(3);
    let bytes = regs::bar0_bytes(LQ as u8);
    let mut known: Vec<u32> = regs::GLOBAL.iter().map(|r| r.offset.into()).collect();
    known.extend((0..regs::ARGS).map(|i| u32::from(regs::ARG0 + 4 * i)));
    known.extend((0..32).map(|word| regs::MSIX_TABLE + 4 * word));
    known.push(regs::MSIX_PENDING);
    for qpn in [0, (1 << LQ) - 1] {
        known.extend(regs::DOORBELL.iter().map(|r| regs::doorbell(qpn, r)));
    }
    let mut others: Vec<u32> = known
        .iter()
        .flat_map(|at| (2..bytes.ilog2()).map(move |bit| at ^ 1 << bit))
        .filter(|at| !known.contains(at))
        .collect();
    others.sort_unstable();
    others.dedup();
    for register in regs::GLOBAL {
        if register.access == Access::ReadWrite {
            both.set(register, register.mask() & 0x1235 & !2);
        }
    }
    let state = both.state("before");
    for &at in &others {
        both.same(at, "read");
        // No number that a register would refuse for its size.
        both.write(at, 1);
    }
    both.rtl.clocks(50);
    assert_eq!(both.state("after"), state);
    both.bad_writes("offsets");
    // Pages of queue pairs that are there but do not exist are the rings' business.
    let doors = both.rtl.doorbells.len() as u64;
    let bad = both.rtl.counter(Counter::BadDoorbell);
    assert_eq!(bad + doors, both.model.counter(Counter::BadDoorbell));
    assert!(bad >= 8, "{bad} doorbells");
    for (qpn, ..) in &both.rtl.doorbells {
        assert!(*qpn < 1 << LQ);
    }
    for (qpn, kind, _) in std::mem::take(&mut both.rtl.doorbells) {
        let at = regs::doorbell(qpn as u32, &regs::DOORBELL[kind as usize]);
        assert!(
            others.contains(&at),
            "a doorbell at {at:#x} that none was written to"
        );
    }
    assert!(others.len() > 600, "{} offsets", others.len());
}

/// Arguments that are taken.
fn good(call: &Call) -> Arguments {
    let mut args = Arguments::default();
    for argument in call.arguments {
        let value: u64 = match argument.limit {
            Limit::State => State::Error.code().into(),
            Limit::QueuePair | Limit::BytesFrom(_) => 1,
            Limit::Any | Limit::Vector | Limit::Multiple(_) => 0,
        };
        argument.put(&mut args, value);
    }
    args
}

/// Values of an argument that its field holds and its limit forbids.
fn forbidden(argument: &Argument) -> Vec<u64> {
    let width = argument.width.into();
    match argument.limit {
        Limit::Any => vec![],
        Limit::State => beyond(State::ALL.len() as u64, width, &[1]),
        Limit::QueuePair => beyond(1 << LQ, width, &[0, 1]),
        Limit::Vector => beyond(8, width, &[0]),
        Limit::Multiple(of) => (0..of.ilog2()).map(|bit| 1 << bit).collect(),
        Limit::BytesFrom(_) => vec![0],
    }
}

/// An index that the command is done with once queue pair 1 exists.
fn index(call: &Call) -> u32 {
    if call.command == Command::CreateQp {
        2
    } else {
        1
    }
}

/// Without reductions their command is as unknown as any other code.
fn is_built(command: Command, reductions: bool) -> bool {
    reductions || command != Command::JoinGroup
}

#[test]
fn a_command_refuses_indices_that_the_card_does_not_have() {
    refuses_indices(false);
}

#[test]
fn cl_05_a_command_of_a_card_with_groups_refuses_indices_that_it_does_not_have() {
    refuses_indices(true);
}

fn refuses_indices(reductions: bool) {
    let mut both = Both::with(4, reductions);
    let create = Command::CreateQp.call();
    for qpn in [0, 1] {
        both.done(create, qpn, &good(create), "create");
    }
    let known = |call: &&Call| is_built(call.command, reductions);
    for call in CALLS.iter().filter(known) {
        let built = Built {
            queue_pairs: 1 << LQ,
            regions: 1 << LR,
            vectors: 8,
        };
        let count = call.index.count(&built).into();
        for at in beyond(count, regs::COMMAND_INDEX.width.into(), &[0, 1, 2]) {
            let what = format!("{} {at:#x}", call.command);
            let code = call.command.code();
            both.refused(code, at as u32, &good(call), Status::BadIndex, &what);
        }
    }
    for code in 0..=u8::MAX {
        if !Command::from_code(code).is_some_and(|c| is_built(c, reductions)) {
            both.refused(code, 1, &[], Status::BadCommand, &format!("code {code}"));
        }
    }
    for qpn in [0, 1] {
        let found = both.rtl.run(Command::QueryQp, qpn, &[]);
        assert_eq!(found, (0, State::Init.code().into(), 1));
    }
    assert_eq!(both.rtl.run(Command::QueryQp, 2, &[]), (0, 0, 0));
}

#[test]
fn a_command_refuses_arguments_that_do_not_fit() {
    refuses_arguments(false);
}

#[test]
fn cl_05_a_command_of_a_card_with_groups_refuses_arguments_that_do_not_fit() {
    refuses_arguments(true);
}

fn refuses_arguments(reductions: bool) {
    let mut both = Both::with(5, reductions);
    let create = Command::CreateQp.call();
    both.done(create, 1, &good(create), "create");
    let mut tried = 0;
    let known = |call: &&Call| is_built(call.command, reductions);
    for call in CALLS.iter().filter(known) {
        let (code, at, args) = (call.command.code(), index(call), good(call));
        let mut wrong = vec![];
        for register in 0..call.registers() {
            for ones in outside(bits_of(call.arguments, register as u8)) {
                let mut args = args;
                args[register] |= ones;
                wrong.push((format!("{} arg{register} {ones:#x}", call.command), args));
            }
        }
        for argument in call.arguments {
            for value in forbidden(argument) {
                let mut args = args;
                argument.put(&mut args, value);
                wrong.push((
                    format!("{} {} {value:#x}", call.command, argument.name),
                    args,
                ));
            }
        }
        for (what, args) in wrong {
            both.refused(code, at, &args, Status::BadArgument, &what);
            tried += 1;
        }
        // Without them it is done; registers behind its own are not looked at.
        let mut args = args;
        args[call.registers()..].fill(u32::MAX);
        both.done(call, at, &args, call.command.name());
        if call.command == Command::DestroyQp {
            both.done(create, 1, &good(create), "create");
        }
    }
    assert!(tried > 150, "{tried}");
}
