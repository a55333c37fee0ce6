//! Sequence numbers of writes that come back in any order, late, twice, too early, or never.

use crate::bench::{Dice, build, build_wrong, seeds};
use std::collections::VecDeque;
use std::sync::LazyLock;
use tributary_hdl::pcie::DmaWriteReturns;
use tributary_sim::verilate::{Model, Port, Verilated};

static LIBRARY: LazyLock<Verilated> = LazyLock::new(|| build(DmaWriteReturns::default()));

/// Numbers there are.
const NUMBERS: u64 = 32;
/// Clocks from a number's return to m_done.
const LATENCY: u64 = 4;
/// Clocks after which the writer heeds m_room.
const LAG: usize = 2;

/// A TLP that was handed over.
struct Sent {
    number: u64,
    /// ctx of the request that ends with it.
    request: Option<u64>,
    /// Clock in which its number returned.
    returned: Option<u64>,
}

struct Bench {
    model: Model,
    enable: Port,
    s_sent: Port,
    s_done: [Port; 2],
    s_within: Port,
    s_lap: Port,
    s_seq: [Port; 2],
    room: Port,
    m_done: [Port; 2],
    busy: Port,
    rst: Port,
    dice: Dice,
    seed: u64,
    clock: u64,
    lap: u64,
    next: u64,
    /// Not yet retired, oldest first.
    sent: VecDeque<Sent>,
    /// m_room of the latest clocks.
    rooms: VecDeque<bool>,
    done: u64,
}

impl Bench {
    fn new(library: &Verilated, seed: u64, enable: bool) -> Self {
        let model = library.model_with_seed(seed).unwrap();
        let port = |name: &str| model.port(name).unwrap();
        let mut bench = Self {
            enable: port("enable"),
            s_sent: port("s_sent"),
            s_done: ["s_done_valid", "s_done_ctx"].map(port),
            s_within: port("s_within"),
            s_lap: port("s_lap"),
            s_seq: ["s_seq_valid", "s_seq"].map(port),
            room: port("m_room"),
            m_done: ["m_done_valid", "m_done_ctx"].map(port),
            busy: port("m_busy"),
            rst: port("rst"),
            model,
            dice: Dice::new(seed),
            seed,
            clock: 0,
            lap: 0,
            next: 0,
            sent: VecDeque::new(),
            rooms: VecDeque::from([false; LAG]),
            done: 0,
        };
        let enable_port = bench.enable;
        bench.model.set(enable_port, enable.into());
        bench.model.reset(3).unwrap();
        bench
    }

    /// A TLP is handed over in this clock, perhaps the last of a request; a number returns.
    fn tick(&mut self, sent: Option<Option<u64>>, returned: Option<u64>) {
        let m = &mut self.model;
        m.set(self.s_sent, sent.is_some().into());
        m.set(self.s_done[0], sent.flatten().is_some().into());
        m.set(
            self.s_done[1],
            sent.flatten().unwrap_or(self.dice.below(1 << 16)),
        );
        m.set(self.s_lap, self.lap);
        m.set(self.s_seq[0], returned.is_some().into());
        m.set(self.s_seq[1], returned.unwrap_or(self.dice.below(64)));
        m.eval().unwrap();
        self.rooms.push_back(m.is_set(self.room));
        self.rooms.pop_front();
        let busy = m.is_set(self.busy);
        let done = |sent: &Sent| sent.request.is_none() && sent.returned.is_some();
        assert!(
            busy || self.sent.iter().all(done),
            "not busy, seed {}",
            self.seed
        );
        if m.is_set(self.m_done[0]) {
            let ctx = m.get(self.m_done[1]);
            let at = format!("seed {} clock {}", self.seed, self.clock);
            // All TLPs up to the last of the oldest request have returned.
            loop {
                let sent = self.sent.pop_front();
                let sent = sent.unwrap_or_else(|| panic!("done too often, {at}"));
                let when = sent.returned;
                let when = when.unwrap_or_else(|| panic!("done without its number, {at}"));
                assert!(when + LATENCY <= self.clock, "done too early, {at}");
                if let Some(request) = sent.request {
                    assert_eq!(request, ctx, "{at}");
                    break;
                }
            }
            self.done += 1;
        }
        if let Some(number) = returned
            && number >> 5 == self.lap
        {
            let number = number % NUMBERS;
            let clock = self.clock;
            for sent in &mut self.sent {
                if sent.number == number && sent.returned.is_none() {
                    sent.returned = Some(clock);
                }
            }
        }
        if let Some(request) = sent {
            let out = |sent: &Sent| sent.number == self.next && sent.returned.is_none();
            assert!(!self.sent.iter().any(out), "a number twice");
            self.sent.push_back(Sent {
                number: self.next,
                request,
                returned: None,
            });
            self.next = (self.next + 1) % NUMBERS;
        }
        self.model.clock().unwrap();
        self.clock += 1;
    }

    /// Whether the writer may still begin a TLP.
    fn may_send(&self) -> bool {
        self.rooms[0]
    }

    /// Numbers that have not returned, with bit 5, oldest first.
    fn out(&self) -> Vec<u64> {
        let out = self.sent.iter().filter(|sent| sent.returned.is_none());
        out.map(|sent| self.lap << 5 | sent.number).collect()
    }

    fn reset(&mut self) {
        let rst = self.rst;
        self.model.set(rst, 1);
        self.tick(None, None);
        self.sent.clear();
        self.model.set(rst, 0);
        self.lap ^= 1;
        self.next = 0;
        self.rooms.iter_mut().for_each(|room| *room = false);
    }
}

/// How numbers return.
#[derive(Clone, Copy, Debug)]
enum Order {
    Kept,
    Any,
    /// The newest first.
    Turned,
}

/// A run in which numbers return in some order, and others come in between; requests done.
fn run(library: &Verilated, seed: u64) -> u64 {
    let mut bench = Bench::new(library, seed, true);
    let mut dice = Dice::new(seed);
    for _ in 0..6 {
        let order = dice.pick(&[Order::Kept, Order::Any, Order::Turned]);
        let (send, back) = (dice.pick(&[10, 60, 100]), dice.pick(&[5, 50, 100]));
        // Numbers of before a reset are on their way until here.
        let old: Vec<u64> = (0..NUMBERS).map(|n| (bench.lap ^ 1) << 5 | n).collect();
        for _ in 0..600 {
            let sent = (bench.may_send() && dice.chance(send)).then(|| {
                let ctx = dice.below(1 << 16);
                dice.chance(60).then_some(ctx)
            });
            let out = bench.out();
            let returned = match (dice.below(10), out.is_empty()) {
                // Not outstanding, again, or of before.
                (0, _) => {
                    let number = bench.lap << 5 | dice.below(NUMBERS);
                    (!out.contains(&number) && !bench.follows(number)).then_some(number)
                }
                (1, _) => Some(dice.pick(&old)),
                (_, false) if dice.chance(back) => Some(match order {
                    Order::Kept => out[0],
                    Order::Any => dice.pick(&out),
                    Order::Turned => out[out.len() - 1],
                }),
                _ => None,
            };
            bench.tick(sent, returned);
        }
        if dice.chance(50) {
            bench.reset();
            continue;
        }
        while let Some(number) = bench.out().first().copied() {
            bench.tick(None, Some(number));
        }
        // One a clock is done, however many wait behind the last one that came.
        (0..NUMBERS + 8).for_each(|_| bench.tick(None, None));
        let left = bench.sent.iter().filter(|sent| sent.request.is_some());
        assert_eq!(left.count(), 0, "seed {seed}: all came back, and not done");
        bench.sent.clear();
        let busy = bench.busy;
        assert!(!bench.model.is_set(busy), "seed {seed}");
    }
    bench.done
}

impl Bench {
    /// Of TLPs that may be on their way when it is looked at.
    fn follows(&self, number: u64) -> bool {
        (number + NUMBERS - self.next) % NUMBERS < 4
    }
}

#[test]
fn requests_are_done_in_order_when_all_their_numbers_are_back_in_any_order() {
    for seed in seeds(60) {
        let done = run(&LIBRARY, seed);
        assert!(done > 50, "seed {seed}: {done}");
    }
}

#[test]
fn numbers_that_never_return_leave_all_behind_them_undone() {
    let mut bench = Bench::new(&LIBRARY, 1, true);
    // The first never returns, all others do.
    let mut count = 0;
    for clock in 0..400 {
        let sent = bench.may_send().then_some(Some(clock));
        count += u64::from(sent.is_some());
        let returned = bench.out().get(1).copied();
        bench.tick(sent, returned);
    }
    assert_eq!(bench.done, 0);
    assert!(count > 26 && count <= NUMBERS, "{count} were begun");
    // A reset forgets them, and new ones are done.
    bench.reset();
    for clock in 0..100 {
        let sent = bench.may_send().then_some(Some(clock));
        let returned = bench.out().first().copied();
        bench.tick(sent, returned);
    }
    assert!(bench.done > 80, "{}", bench.done);
}

#[test]
fn numbers_that_are_24_clocks_late_keep_a_tlp_a_clock() {
    let mut bench = Bench::new(&LIBRARY, 1, true);
    let mut late = VecDeque::from([None; 24]);
    let mut sent = 0;
    for clock in 0..1_000 {
        let send = bench.may_send();
        sent += u64::from(send);
        late.push_back(send.then_some(bench.next));
        let returned = late.pop_front().flatten();
        bench.tick(send.then_some(Some(clock)), returned);
    }
    assert!(sent >= 990, "{sent} TLPs in 1000 clocks");
}

#[test]
fn a_number_that_returns_while_its_tlp_is_handed_over_counts() {
    let mut bench = Bench::new(&LIBRARY, 1, true);
    let mut done = 0;
    for others in 0..4 {
        for ahead in 0..6 {
            // Others are outstanding.
            for other in 0..others {
                bench.tick(Some(Some(other)), None);
            }
            let before = bench.out();
            let number = bench.next;
            let within = bench.s_within;
            bench.model.set(within, 1);
            // The reference would take it for one that is not outstanding.
            bench.tick(None, Some(number));
            (0..ahead).for_each(|_| bench.tick(None, None));
            bench.model.set(within, 0);
            bench.tick(Some(Some(ahead)), None);
            bench.sent.back_mut().unwrap().returned = Some(0);
            before
                .into_iter()
                .for_each(|number| bench.tick(None, Some(number)));
            (0..10).for_each(|_| bench.tick(None, None));
            done += others + 1;
            assert_eq!(bench.done, done);
        }
    }
    // Without a TLP under way it is of nothing.
    let number = bench.next;
    bench.tick(None, Some(number));
    (0..4).for_each(|_| bench.tick(None, None));
    bench.tick(Some(Some(1)), None);
    (0..20).for_each(|_| bench.tick(None, None));
    assert_eq!(bench.done, done);
}

#[test]
fn without_enable_a_request_is_done_when_it_is_handed_over() {
    let mut bench = Bench::new(&LIBRARY, 1, false);
    let mut dice = Dice::new(1);
    for _ in 0..500 {
        let ctx = dice.chance(50).then(|| dice.below(1 << 16));
        let m = &mut bench.model;
        m.set(bench.s_sent, 1);
        m.set(bench.s_done[0], ctx.is_some().into());
        m.set(bench.s_done[1], ctx.unwrap_or(0));
        m.set(bench.s_seq[0], dice.below(2));
        m.set(bench.s_seq[1], dice.below(64));
        m.eval().unwrap();
        assert!(m.is_set(bench.room) && !m.is_set(bench.busy));
        assert_eq!(m.is_set(bench.m_done[0]), ctx.is_some());
        assert!(ctx.is_none_or(|ctx| m.get(bench.m_done[1]) == ctx));
        m.clock().unwrap();
    }
}

#[test]
fn faults_in_the_table_of_numbers_are_noticed() {
    for (right, wrong) in [
        // Of before a reset.
        ("(a_seq_reg[5] == s_lap)", "1'b1"),
        // Not outstanding.
        (
            "& (({1'b0, place} < count_reg) |",
            "& ((6'd0 <= count_reg) |",
        ),
        // Returned, and again.
        ("& ~retired", ""),
        // The oldest need not have returned.
        (
            "assign retire = (|count_reg) & retire_shifted[0];",
            "assign retire = |count_reg;",
        ),
    ] {
        let library = build_wrong(DmaWriteReturns::default(), right, wrong);
        let noticed = (0..20).any(|seed| {
            let library = &library;
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| run(library, seed))).is_err()
        });
        assert!(noticed, "{wrong} for {right}");
    }
}
