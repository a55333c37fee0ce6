//! Registers, counters and times of bulk transfers, beside card_regs, in lock step with the model of the card.

use crate::bench::{Fault, build, seeds, with_faults};
use crate::regs_bench::{Bench, LF, LQ, LR, RESET};
use crate::regs_bulk_joint::JointRegs;
use crate::regs_bulk_watch::Watch;
use std::sync::OnceLock;
use tributary_hdl::emit::emit_block;
use tributary_protocol::card::command::Command;
use tributary_protocol::card::model::{
    BulkConfig, CardModel, HostMemory, ModelConfig, PciState, Unanswered,
};
use tributary_protocol::card::regs::{self, BulkCounter, Counter};
use tributary_protocol::registers::{Access, Register};
use tributary_sim::testbench::beyond::outside_fields;
use tributary_sim::verilate::Verilated;

/// How large the engines are said to be.
const SIZES: BulkConfig = BulkConfig {
    slots: 256,
    reads: 137,
    windows: 1_000,
    packets: 1 << 15,
    peers: 1_024,
    line_mbps: 0x8765_4321,
    groups: 0,
    congestion: false,
    mutations: NONE,
};
const NONE: tributary_protocol::card::model::BulkMutations =
    tributary_protocol::card::model::BulkMutations {
        no_connect_check: false,
        any_q_key: false,
        keep_windows: false,
        no_second_check: false,
        early_notify: false,
        no_fence: false,
        same_numbers: false,
        no_recovery: false,
        slowed_by_strangers: false,
    };
/// Clocks in which an event is in its count.
const COUNTED: u64 = 44;

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

fn library() -> &'static Verilated {
    static LIBRARY: OnceLock<Verilated> = OnceLock::new();
    LIBRARY.get_or_init(|| build(JointRegs::<LQ, LR, LF>::default()))
}

fn model() -> CardModel {
    let config = ModelConfig {
        qps_log: LQ as u8,
        regions_log: LR as u8,
        in_flight_log: LF as u8,
        bulk: Some(SIZES),
        groups: 0,
        ..ModelConfig::default()
    };
    let mut model = CardModel::new(config).expect("a good configuration");
    model.set_pci(PciState {
        bus_master: true,
        ..PciState::default()
    });
    model
}

fn bench(library: &Verilated, seed: u64, fault: u64) -> Bench {
    let mut bench = Bench::of(library, seed);
    for (port, value) in [
        ("size_slots", u64::from(SIZES.slots)),
        ("size_reads", SIZES.reads.into()),
        ("size_windows", SIZES.windows.into()),
        ("size_packets", SIZES.packets.into()),
        ("line_mbps", SIZES.line_mbps.into()),
        ("features", regs::FEATURES_BULK.put(1).into()),
        ("ev_send", 0),
        ("ev_receive", 0),
    ] {
        bench.rtl.set(port, value);
    }
    if bench.rtl.has("fault") {
        bench.rtl.set("fault", fault);
    }
    power_up(&mut bench);
    bench
}

/// A reset by rst, from which on times are watched.
fn power_up(bench: &mut Bench) {
    let watch = bench.watch.take();
    bench.rtl.reset(1);
    let mut watch = watch.unwrap_or_default();
    watch.restart();
    bench.watch = Some(watch);
    bench.clocks(RESET);
}

/// RTL and model.
struct Both {
    rtl: Bench,
    model: CardModel,
    /// Bad writes that the model knows nothing of: of less than a word.
    partial: u64,
    /// Incarnation as the latest reset left it.
    incarnation: u32,
}

impl Both {
    fn new(library: &Verilated, seed: u64, fault: u64) -> Self {
        let mut rtl = bench(library, seed, fault);
        rtl.idle = 100;
        Self {
            rtl,
            model: model(),
            partial: 0,
            incarnation: 0,
        }
    }

    fn write(&mut self, offset: u32, value: u32) {
        self.rtl.write(offset, value);
        self.model.write(offset, value);
    }

    fn same(&mut self, offset: u32, what: &str) {
        let (rtl, model) = (self.rtl.read(offset), self.model.read(offset));
        assert_eq!(rtl, model, "{what}: at {offset:#x}");
    }

    /// Registers, what they say to the engines, and refused writes.
    fn check(&mut self, what: &str) {
        for register in regs::BULK.iter().chain([&regs::FEATURES, &regs::NODE]) {
            self.same(register.offset.into(), what);
        }
        // Nothing of it is in another page.
        let elsewhere = 0x1000 + u32::from(self.rtl.dice.of(regs::BULK).offset);
        self.same(elsewhere, what);
        let get = |register: &Register| self.model.read(register.offset.into());
        let (share, incarnation) = (get(&regs::BULK_SHARE), get(&regs::BULK_INCARNATION));
        let rtl = &mut self.rtl;
        assert_eq!(rtl.rtl.get("cfg_share"), u64::from(share), "{what}");
        assert_eq!(
            rtl.rtl.get("cfg_incarnation"),
            u64::from(incarnation),
            "{what}"
        );
        let before = u64::from(self.incarnation) << 16;
        assert_eq!(rtl.rtl.get("send_xid_before"), before, "{what}");
        let bad = self.model.counter(Counter::BadWrite) + self.partial;
        assert_eq!(rtl.counter(Counter::BadWrite), bad, "{what}");
        let select = self.model.read(regs::STATISTICS_SELECT.offset.into());
        rtl.set(&regs::STATISTICS_SELECT, select);
    }

    /// A value for a register: any that fits, one at a bound, or one that does not fit.
    fn value(&mut self, register: &Register) -> u32 {
        let dice = &mut self.rtl.dice;
        let value = match dice.below(4) {
            0 => dice.of(&[0, 1, 2, 7, 8, 9, 63, 64, 127, 128, 255, 256, 257]),
            1 => dice.of(&[511, 512, 513, 1_023, 1_024, 1_025, 0xfffe, 0xffff]),
            2 => dice.below(2_000) as u32,
            _ => dice.bits(32) as u32,
        } & register.mask();
        if dice.chance(20) && register.mask() != u32::MAX {
            value | dice.of(&outside_fields(register))
        } else {
            value
        }
    }

    /// A write to a register of bulk transfers, or near one.
    fn write_some(&mut self) {
        let register = self.rtl.dice.of(regs::BULK);
        let value = self.value(&register);
        let offset = match self.rtl.dice.below(8) {
            // Of another page, or no register: refused, too.
            0 => 0x1000 + u32::from(register.offset),
            1 => 0x0e0 + 4 * self.rtl.dice.below(8) as u32,
            _ => register.offset.into(),
        };
        if self.rtl.dice.chance(10) {
            let strobes = self.rtl.dice.below(15) as u8;
            self.rtl.write_bytes(offset, value, strobes);
            self.partial += u64::from(strobes != 0);
        } else {
            self.write(offset, value);
        }
    }

    /// A command, whatever it says; the writes and resets that come next come while it runs.
    fn command(&mut self) {
        let code = self.rtl.dice.of(&[
            Command::CreateQp,
            Command::DestroyQp,
            Command::QueryQp,
            Command::NextEpoch,
            Command::ClearRegion,
        ]);
        let index = self.rtl.dice.below(1 << LQ) as u32;
        let value = regs::COMMAND_CODE.put(code.code().into()) | regs::COMMAND_INDEX.put(index);
        self.write(regs::COMMAND.offset.into(), value);
        self.model.step(&mut NoMemory, 0);
    }

    fn wait(&mut self) {
        self.rtl.wait();
    }

    /// A reset, of any of three kinds, right behind a write or not.
    fn reset(&mut self) {
        let pause = self.rtl.dice.below(4);
        match self.rtl.dice.below(3) {
            0 => {
                let register = regs::BULK_INCARNATION;
                let value = self.rtl.dice.bits(16) as u32;
                self.rtl.write(register.offset.into(), value);
                // What has not acted when the reset comes is lost.
                if pause != 0 {
                    self.model.write(register.offset.into(), value);
                }
                self.rtl.clocks(pause);
                self.rtl.rtl.set("flr", 1u8);
                let clocks = 1 + self.rtl.dice.below(5);
                self.rtl.clocks(clocks);
                self.rtl.rtl.set("flr", 0u8);
                self.model.reset();
            }
            1 => {
                self.write(regs::CONTROL.offset.into(), regs::CONTROL_RESET.put(1));
                self.rtl.clocks(2);
            }
            _ => {
                self.rtl.clocks(pause);
                power_up(&mut self.rtl);
                self.model = model();
            }
        }
        // Lost, and a second reset within the first one is none of its own.
        for _ in 0..self.rtl.dice.below(8) {
            let register = self.rtl.dice.of(regs::BULK);
            if self.rtl.rtl.is("m_reset") {
                let value = self.rtl.dice.bits(16) as u32;
                self.rtl.write(register.offset.into(), value);
            }
        }
        if self.rtl.rtl.is("m_reset") && self.rtl.dice.chance(30) {
            self.rtl.pulse("flr", &[]);
        }
        self.incarnation = self.model.read(regs::BULK_INCARNATION.offset.into());
        self.partial = 0;
        self.same(regs::BULK_TICK.offset.into(), "while it is reset");
        self.same(regs::BULK_SHARE.offset.into(), "while it is reset");
        self.rtl.clocks(RESET);
    }
}

/// Some hundred accesses, commands and resets; what was watched.
fn run(library: &Verilated, seed: u64, fault: u64) -> Watch {
    let mut both = Both::new(library, seed, fault);
    both.check("after power-up");
    // The bounds of each.
    for (register, values) in [
        (regs::BULK_TICK, [0, 1, 2, 3, 0xffff, 9]),
        (regs::BULK_ROUND_TRIP, [0, 7, 8, 9, 511, 512]),
        (regs::BULK_ROUND_TRIP, [513, 0xffff, 63, 64, 127, 128]),
        (regs::BULK_ALLOWANCE, [0, 1_023, 1_024, 1_025, 0xffff, 3]),
    ] {
        for value in values {
            both.write(register.offset.into(), value);
            both.rtl.clocks(12);
        }
    }
    for step in 0..160 {
        let what = format!("seed {seed}, step {step}");
        match both.rtl.dice.below(20) {
            0 => both.reset(),
            1 | 2 => {
                both.command();
                if both.rtl.dice.chance(30) {
                    both.reset();
                }
                both.wait();
            }
            // One a clock.
            3..10 => (0..both.rtl.dice.below(6)).for_each(|_| both.write_some()),
            10..13 => {
                both.write_some();
                let pause = both.rtl.dice.below(12);
                both.rtl.clocks(pause);
            }
            13 | 14 => {
                let clocks = both.rtl.dice.below(600);
                both.rtl.clocks(clocks);
            }
            _ => both.check(&what),
        }
    }
    both.check("at the end");
    both.rtl.watch.take().expect("it was watched")
}

#[test]
fn bw_09_registers_of_bulk_transfers_and_their_times_are_those_of_the_model() {
    let (mut ticks, mut seen) = (0, 0);
    for seed in seeds(12) {
        let watch = run(library(), seed, 0);
        ticks += watch.ticks;
        seen += watch.seen;
    }
    println!("{ticks} clocks, {seen} times that held for some clocks");
    assert!(ticks > 1_000 && seen > 20);
}

/// Deliberate errors, each in one place of the Verilog; the first ones are in counters.
const FAULTS: [Fault; 20] = [
    (
        "what one side says is not counted",
        "ev_send | ev_receive",
        "ev_send",
    ),
    (
        "counters of other numbers, too",
        "reg_select[7:5] == 3'd2",
        "reg_select[6:5] == 2'd2",
    ),
    ("two events in one clock are one", "(a & b)", "1'b0"),
    (
        "a tick of 0 clocks is one of 65,536",
        "(|tick) ? (tick - 16'd1) : 16'd0",
        "tick - 16'd1",
    ),
    (
        "ticks of one clock more",
        "(|tick) ? (tick - 16'd1) : 16'd0",
        "tick",
    ),
    (
        "a change does not begin the tick anew",
        "ends | restart_reg",
        "ends",
    ),
    (
        "a change swallows a tick",
        "now_reg + 16'd1",
        "now_reg + {15'd0, !restart_reg}",
    ),
    ("no least round trip", "round_trip < TRIP_LEAST", "1'b0"),
    (
        "no longest round trip",
        "round_trip > TRIP_MOST",
        "round_trip > 16'd513",
    ),
    (
        "no largest allowance",
        "allowance > REACH_MOST",
        "allowance > 16'd1025",
    ),
    ("no longest poll interval", "far_reg > POLL_MOST", "1'b0"),
    (
        "the first poll interval may be the longest",
        "far_reg < first",
        "1'b0",
    ),
    ("an early poll at once", "!(|trip_reg[9:6])", "1'b0"),
    (
        "an allowance too large for its field is taken",
        "reg_wr_data & SPARE_ALLOWANCE",
        "32'd0",
    ),
    (
        "a share too large for its field is taken",
        "reg_wr_data & SPARE_SHARE",
        "32'd0",
    ),
    (
        "no reset is counted",
        "incarnation_reg + 16'd1",
        "incarnation_reg",
    ),
    ("every clock of a reset is counted", "!was_reg", "1'b1"),
    ("power-up counts as a reset", "s_reset | rst", "s_reset"),
    (
        "a write is refused and done",
        "of_time | w_share_reg",
        "of_time",
    ),
    (
        "transfers of now have numbers of the next reset",
        "{before_reg, 16'd0}",
        "{incarnation_reg, 16'd0}",
    ),
];

/// Those that are in counters.
const IN_COUNTERS: u64 = 3;

#[test]
fn a_fault_in_the_registers_of_bulk_transfers_is_noticed() {
    let design = emit_block(&mut JointRegs::<LQ, LR, LF>::default()).expect("it is writable");
    let library = with_faults(&design, &FAULTS);
    run(&library, 0, 0);
    counters(&library, 0, 0);
    for (number, (name, ..)) in (1..).zip(FAULTS) {
        let noticed = |seed| {
            std::panic::catch_unwind(|| match number {
                1..=IN_COUNTERS => counters(&library, seed, number),
                _ => drop(run(&library, seed, number)),
            })
            .is_err()
        };
        let notices = (0..12).any(noticed);
        assert!(notices, "nothing notices: {name}");
    }
}

/// Counters that both sides may count in one clock.
const SHARED: [BulkCounter; 4] = [
    BulkCounter::ControlSent,
    BulkCounter::Stray,
    BulkCounter::BadMessage,
    BulkCounter::Busy,
];

#[test]
fn counters_of_bulk_transfers_count_every_event_of_both_sides() {
    seeds(2).for_each(|seed| counters(library(), seed, 0));
}

/// Events of every kind, and what the counters say then.
fn counters(library: &Verilated, seed: u64, fault: u64) {
    let place = |counter: BulkCounter| usize::from(counter.code() - 64);
    let shared = SHARED.into_iter().fold(0, |all, c| all | 1u64 << place(c));
    let mut bench = bench(library, seed, fault);
    let mut want = [0u64; 32];
    let mut others = 0;
    for round in 0..10 {
        for clock in 0..bench.dice.below(400) {
            let mut sides = [0; 2].map(|_: u64| bench.dice.bits(32));
            if round % 3 == 0 {
                sides = [u64::from(u32::MAX), 0];
            }
            // One a clock in the long run, and two in one clock.
            if clock % 2 == 1 {
                sides = sides.map(|events| events & !shared);
            }
            bench.rtl.set("ev_send", sides[0]);
            bench.rtl.set("ev_receive", sides[1]);
            let sent = bench.dice.chance(50);
            bench.rtl.set("ev", u64::from(sent));
            others += u64::from(sent);
            bench.clock();
            for (i, count) in want.iter_mut().enumerate() {
                let [a, b] = sides.map(|events| events >> i & 1);
                *count += if shared >> i & 1 == 1 { a + b } else { a | b };
            }
        }
        for port in ["ev_send", "ev_receive", "ev"] {
            bench.rtl.set(port, 0u8);
        }
        bench.clocks(COUNTED);
        for counter in BulkCounter::ALL {
            let count = bench.select(counter.code());
            assert_eq!(count, want[place(*counter)], "{counter}, seed {seed}");
        }
        assert_eq!(bench.select(Counter::Sent.code()), others);
        for none in [36, 37, 63, 96, 97, 127, 128, 192, 224, 255] {
            assert_eq!(bench.select(none), 0, "counter {none}");
        }
    }
    assert!(want[0] > 300);
    // A copy stays while the counter runs.
    let copy = bench.select(BulkCounter::WaitLine.code());
    bench.rtl.set("ev_send", u64::from(u32::MAX));
    bench.clocks(100);
    bench.rtl.set("ev_send", 0u8);
    assert_eq!(u64::from(bench.get(&regs::STATISTICS_LOW)), copy);
    assert!(bench.select(BulkCounter::WaitLine.code()) >= copy + 50);
    // A reset makes them 0.
    bench.set(&regs::CONTROL, regs::CONTROL_RESET.put(1));
    bench.clocks(RESET);
    for counter in BulkCounter::ALL {
        assert_eq!(bench.select(counter.code()), 0, "{counter}");
    }
}

#[test]
fn without_bulk_transfers_their_registers_and_counters_are_not_there() {
    let mut bench = Bench::new(1);
    for register in regs::BULK {
        assert_ne!(register.access, Access::WriteOnly);
        bench.set(register, register.mask() & 1);
        assert_eq!(bench.get(register), 0, "{}", register.name);
    }
    assert_eq!(bench.counter(Counter::BadWrite), regs::BULK.len() as u64);
    for counter in BulkCounter::ALL {
        assert_eq!(bench.select(counter.code()), 0, "{counter}");
    }
    assert_eq!(bench.get(&regs::FEATURES), regs::FEATURES.reset);
}
