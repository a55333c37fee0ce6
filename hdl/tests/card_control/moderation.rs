//! When interrupts leave: none for nothing, none too early, each in time, whatever the moderation.

use crate::bench::{Dice, Fault, Rtl, build, seeds, with_faults};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::OnceLock;
use tributary_hdl::card::CardCqModeration;
use tributary_hdl::emit::emit_block;
use tributary_sim::verilate::Verilated;

/// Clocks in which an interrupt that need not wait is offered if no other is, and by which another one may be late.
const AT_ONCE: u64 = 10;
const LATE: u64 = 40;
/// Clocks after a reset in which none is offered.
const QUIET: u64 = 8;

fn library() -> &'static Verilated {
    static LIBRARY: OnceLock<Verilated> = OnceLock::new();
    LIBRARY.get_or_init(|| build(CardCqModeration::default()))
}

/// A vector as the contract has it.
#[derive(Clone, Copy, Debug, Default)]
struct Vector {
    /// Since when one is due, and when the latest was asked for.
    due: Option<u64>,
    asked: Option<u64>,
    /// None is offered before.
    rests_until: u64,
    /// Clocks without an offer since it could have been offered, and interrupts of others that were taken meanwhile: each costs
    /// two clocks more.
    waits: u64,
    others: u64,
}

struct Bench {
    rtl: Rtl,
    dice: Dice,
    moderation: u64,
    now: u64,
    vectors: [Vector; 8],
    offered: Option<usize>,
    /// What was taken in the latest clock.
    taken: Option<usize>,
    offers: u64,
    /// Longest waits of those that need not wait and of those that do.
    longest: [u64; 2],
}

impl Bench {
    fn new(library: &Verilated, seed: u64) -> Self {
        let mut bench = Self {
            rtl: Rtl::new(library, seed),
            dice: Dice::new(seed),
            moderation: 0,
            now: 0,
            vectors: Default::default(),
            offered: None,
            taken: None,
            offers: 0,
            longest: [0; 2],
        };
        bench.reset();
        bench
    }

    fn reset(&mut self) {
        self.rtl.set("s_valid", 0u8);
        self.rtl.set("m_ready", 0u8);
        self.rtl.reset(1);
        self.vectors = Default::default();
        self.offered = None;
        for clock in 0..QUIET {
            let asked = self.dice.chance(20).then(|| self.dice.below(8) as usize);
            self.clock(asked, true);
            assert_eq!(self.taken, None, "{clock} clocks after a reset");
        }
        // All vectors are looked at once more until they need not wait.
        for vector in &mut self.vectors {
            vector.rests_until = self.now;
            (vector.waits, vector.others) = (0, 0);
        }
    }

    fn moderate(&mut self, clocks: u64) {
        self.moderation = clocks;
        self.rtl.set("cfg_moderation", clocks);
    }

    /// One clock, in which an interrupt may be asked for, and one be taken.
    fn clock(&mut self, asked: Option<usize>, ready: bool) {
        let now = self.now;
        self.rtl.set("s_valid", asked.is_some());
        self.rtl.set("s_vector", asked.unwrap_or_default() as u64);
        self.rtl.set("m_ready", ready);
        self.rtl.settle();
        let valid = self.rtl.is("m_valid");
        let number = self.rtl.get("m_vector") as usize;
        match self.offered {
            Some(offered) => assert_eq!((valid, number), (true, offered), "what is offered stays"),
            None if valid => self.begins(number),
            None => {}
        }
        self.offered = (valid && !ready).then_some(number);
        self.taken = (valid && ready).then_some(number);
        for vector in &mut self.vectors {
            if vector.due.is_some() && now >= vector.rests_until {
                vector.waits += u64::from(!valid);
                vector.others += u64::from(valid && ready);
            }
        }
        if valid && ready {
            self.vectors[number].rests_until = now + self.moderation;
        }
        if let Some(asked) = asked {
            let vector = &mut self.vectors[asked];
            vector.asked = Some(now);
            if vector.due.is_none() {
                vector.due = Some(now);
                (vector.waits, vector.others) = (0, 0);
            }
        }
        for (number, vector) in self.vectors.iter().enumerate() {
            let rested = vector
                .due
                .is_some_and(|due| vector.rests_until + LATE <= due);
            let alone = rested && vector.others == 0;
            let most = if alone { AT_ONCE } else { LATE };
            assert!(
                vector.waits <= most + 2 * vector.others,
                "vector {number} waits: {vector:?} at {now}"
            );
        }
        self.rtl.clock();
        self.now += 1;
    }

    /// An interrupt is offered that was not in the clock before: it was chosen in that clock, for what was asked before it.
    fn begins(&mut self, number: usize) {
        let now = self.now;
        let vector = &mut self.vectors[number];
        let due = vector.due.filter(|due| due + 2 <= now);
        let due = due.unwrap_or_else(|| panic!("vector {number} for nothing at {now}"));
        assert!(now >= vector.rests_until, "vector {number} early at {now}");
        let waited = usize::from(vector.rests_until + LATE > due);
        self.longest[waited] =
            self.longest[waited].max(vector.waits.saturating_sub(2 * vector.others));
        vector.due = vector.asked.filter(|asked| asked + 1 == now);
        (vector.waits, vector.others) = (0, 0);
        self.offers += 1;
    }

    /// Interrupts are asked for and taken with such chances of a thousand.
    fn run(&mut self, clocks: u64, ask: u64, take: u64) {
        for _ in 0..clocks {
            let asks = self.dice.below(1_000) < ask;
            let asked = asks.then(|| self.dice.below(8) as usize);
            let ready = self.dice.below(1_000) < take;
            self.clock(asked, ready);
        }
    }

    /// Everything that is due leaves.
    fn drain(&mut self) {
        let longest = self.vectors.iter().map(|vector| vector.rests_until);
        let longest = longest.max().unwrap_or_default().saturating_sub(self.now);
        for _ in 0..longest + 8 * (LATE + 8) {
            self.clock(None, true);
        }
        assert!(self.vectors.iter().all(|vector| vector.due.is_none()));
        assert_eq!(self.offered, None);
    }
}

/// Moderations from all bits, and asked for and taken at all rates.
fn everything(bench: &mut Bench, most: u64) {
    let edges = [0, 1, 7, 8, 9, 15, 16, 17, 24, 31, 32, 33, 100];
    let powers = (0..16).map(|bit| 1 << bit);
    let any: Vec<u64> = (0..8).map(|_| bench.dice.bits(16)).collect();
    let all = edges.into_iter().chain(powers).chain(any).chain([0xFFFF]);
    for moderation in all.filter(|&moderation| moderation <= most) {
        bench.moderate(moderation);
        let clocks = 2 * moderation + 600;
        for (ask, take) in [(500, 1_000), (20, 1_000), (300, 30), (3, 500), (100, 100)] {
            bench.run(clocks, ask, take);
        }
        bench.drain();
        if bench.dice.chance(50) {
            bench.run(100, 500, 300);
            bench.reset();
        }
    }
}

#[test]
fn every_interrupt_leaves_once_and_in_time_at_every_moderation() {
    for seed in seeds(2) {
        let mut bench = Bench::new(library(), seed);
        everything(&mut bench, 0xFFFF);
        println!(
            "seed {seed}: {} interrupts, at most {:?} clocks each",
            bench.offers, bench.longest
        );
        assert!(bench.offers > 1_000);
    }
}

/// All vectors ask all the time, and interrupts are taken at one clock in so many: each vector has its turn.
#[test]
fn no_vector_waits_for_more_than_one_interrupt_of_each_other() {
    for period in 1..=40 {
        let mut bench = Bench::new(library(), period);
        bench.moderate(0);
        let (mut taken, mut last) = (0, [0; 8]);
        while taken < 200 {
            let asked = (bench.now % 8) as usize;
            let ready = bench.now.is_multiple_of(period);
            bench.clock(Some(asked), ready);
            if let Some(vector) = bench.taken {
                taken += 1;
                last[vector] = taken;
            }
            let longest = last.iter().map(|last| taken - last).max();
            assert!(longest <= Some(7), "period {period}: {last:?} of {taken}");
        }
    }
}

#[test]
fn wrong_moderation_is_noticed() {
    const FAULTS: &[Fault] = &[
        (
            "an upper bit of the wait",
            "(wait_reg - 17'd8)",
            "(wait_reg - 17'd8) & 17'h1DFFF",
        ),
        (
            "rests too short",
            "wait_reg <= 17'd16",
            "wait_reg <= 17'd24",
        ),
        (
            "rests too long",
            "{1'b0, cfg_moderation} + 17'd15",
            "{1'b0, cfg_moderation} + 17'd47",
        ),
        (
            "one that is asked for as another leaves",
            "n_due | (ONE << s_vector)",
            "valid_reg ? n_due : (n_due | (ONE << s_vector))",
        ),
    ];
    let design = emit_block(&mut CardCqModeration::default()).unwrap();
    let library = with_faults(&design, FAULTS);
    let run = |fault: u64| {
        let mut bench = Bench::new(&library, 1);
        bench.rtl.set("fault", fault);
        everything(&mut bench, 0x2000);
    };
    run(0);
    for (number, (name, ..)) in (1..).zip(FAULTS) {
        let noticed = catch_unwind(AssertUnwindSafe(|| run(number)));
        assert!(noticed.is_err(), "{name} was not noticed");
    }
}
