//! The DMA reader: every byte of every request, in order, whatever the host does in between.

use crate::bench::{Dice, build, runs, seeds};
use std::collections::VecDeque;
use std::sync::LazyLock;
use tributary_hdl::pcie::DmaRead;
use tributary_sim::pcie::{Access, Config, RootComplex};
use tributary_sim::testbench::stall::Profile;
use tributary_sim::verilate::{Model, Port, Verilated};

static LIBRARY: LazyLock<Verilated> = LazyLock::new(|| build(DmaRead::default()));

/// Where the host's memory is mapped: low, around 4 GiB, and high up, with carries between the halves of the address and
/// through the upper one, and with ones and zeros in every bit of it.
pub const REGIONS: [(u64, u64); 5] = [
    (0x10_0000, 0x1_0000),
    (0xFFFF_8000, 0x1_0000),
    (0x12_FFFF_8000, 0x1_0000),
    (0x5A7F_FFFF_FFFF_8000, 0x1_0000),
    (0xA5C3_691E_84DB_0000, 0x1_0000),
];

/// A request under way.
#[derive(Clone, Debug)]
pub struct Request {
    pub addr: u64,
    pub len: u64,
    pub ctx: u64,
    /// Numbers of its reads.
    pub reads: std::ops::Range<u64>,
}

pub struct Bench {
    pub model: Model,
    pub root: RootComplex,
    s_req: [Port; 5],
    m_data: [Port; 7],
    busy: Port,
    events: [Port; 2],
    /// Of 100 clocks, those in which a request is offered, a word is taken.
    pub offer: u32,
    pub take: u32,
    pub queue: VecDeque<Request>,
    pub due: VecDeque<Request>,
    offered: bool,
    words: u64,
    got: Vec<u8>,
    /// Reads that the requests so far take.
    pub reads: u64,
    pub strays: u64,
    failed_events: u64,
    /// Requests that have failed, and those that have ended well.
    pub failed: u64,
    pub ended: u64,
    dice: Dice,
    pub seed: u64,
    pub clock: u64,
    /// Whether a request that nothing was done to may fail.
    pub may_fail: bool,
    /// In reset: what is at the outputs means nothing.
    in_reset: bool,
}

impl Bench {
    pub fn new(config: Config) -> Self {
        Self::of(&LIBRARY, config)
    }

    /// With another library than the block's own.
    pub fn of(library: &Verilated, config: Config) -> Self {
        let seed = config.seed;
        let mut model = library.model_with_seed(seed).unwrap();
        let mut root = RootComplex::new(&mut model, config).unwrap();
        model.reset(3).unwrap();
        let mut dice = Dice::new(seed);
        for (base, size) in REGIONS {
            root.memory.map(base, size, Access::Read).unwrap();
            root.memory.write(base, &dice.bytes(size as usize));
        }
        let port = |name: &str| model.port(name).unwrap();
        let timeout = port("cfg_timeout");
        model.set(timeout, 0);
        let port = |name: &str| model.port(name).unwrap();
        let s_req = ["valid", "ready", "addr", "len", "ctx"].map(|n| port(&format!("s_req_{n}")));
        let m_data = ["valid", "ready", "data", "bytes", "last", "ctx", "error"]
            .map(|n| port(&format!("m_data_{n}")));
        let busy = port("m_busy");
        let events = ["ev_stray", "ev_failed"].map(port);
        Self {
            s_req,
            m_data,
            busy,
            events,
            model,
            root,
            offer: 100,
            take: 100,
            queue: VecDeque::new(),
            due: VecDeque::new(),
            offered: false,
            words: 0,
            got: Vec::new(),
            reads: 0,
            strays: 0,
            failed_events: 0,
            failed: 0,
            ended: 0,
            dice,
            seed,
            clock: 0,
            may_fail: false,
            in_reset: false,
        }
    }

    pub fn timeout(&mut self, units: u64) {
        let port = self.model.port("cfg_timeout").unwrap();
        self.model.set(port, units);
    }

    /// Queues a request. Reads end at multiples of the read size, 512 bytes at most.
    pub fn request(&mut self, addr: u64, len: u64) {
        let size = u64::from(self.root.config.limits.max_read.min(512));
        let reads = (addr + len - 1) / size - addr / size + 1;
        let request = Request {
            addr,
            len,
            ctx: self.dice.below(1 << 16),
            reads: self.reads..self.reads + reads,
        };
        self.reads += reads;
        self.queue.push_back(request);
    }

    pub fn random_request(&mut self) {
        let (base, size) = self.dice.pick(&REGIONS);
        let len = self.dice.length();
        let addr = self.dice.address(base, size, len);
        self.request(addr, len);
    }

    pub fn tick(&mut self) {
        let m = &mut self.model;
        self.offered |= !self.queue.is_empty() && self.dice.chance(self.offer);
        m.set(self.s_req[0], self.offered.into());
        if self.offered {
            let request = &self.queue[0];
            m.set(self.s_req[2], request.addr);
            m.set(self.s_req[3], request.len);
            m.set(self.s_req[4], request.ctx);
        }
        let takes = self.dice.chance(self.take);
        m.set(self.m_data[1], takes.into());
        self.root.drive(m).unwrap();
        m.eval().unwrap();
        self.root.sample(m).unwrap();
        if self.offered && m.is_set(self.s_req[1]) {
            self.offered = false;
            self.due.extend(self.queue.pop_front());
        } else if !self.due.is_empty() {
            assert!(m.is_set(self.busy), "not busy, seed {}", self.seed);
        }
        self.strays += m.get(self.events[0]);
        self.failed_events += m.get(self.events[1]);
        if takes && m.is_set(self.m_data[0]) && !self.in_reset {
            self.word();
        }
        self.model.clock().unwrap();
        self.clock += 1;
    }

    /// A word is taken.
    fn word(&mut self) {
        let [data, bytes, last, ctx, error] =
            [2, 3, 4, 5, 6].map(|i| self.model.get(self.m_data[i]));
        let at = format!("seed {} clock {}", self.seed, self.clock);
        let request = self
            .due
            .front()
            .unwrap_or_else(|| panic!("a word too many, {at}"));
        self.words += 1;
        let is_last = self.words == request.len.div_ceil(8);
        let expected = if is_last { (request.len - 1) % 8 } else { 7 };
        assert_eq!(
            (last == 1, bytes),
            (is_last, expected),
            "{request:x?}, {at}"
        );
        assert_eq!(ctx, request.ctx, "{at}");
        self.got.extend(&data.to_le_bytes()[..=bytes as usize]);
        if !is_last {
            assert_eq!(error, 0, "error before the last word, {at}");
            return;
        }
        let hit = self.root.faulted.iter();
        let hit = hit.filter(|f| request.reads.contains(&f.number) && f.fault.fails());
        let fails = hit.count() > 0;
        if !self.may_fail {
            assert_eq!(error == 1, fails, "{request:x?}, {at}");
        }
        if error == 0 {
            let want = self.root.memory.bytes(request.addr, request.len as usize);
            assert!(self.got == want, "{request:x?} has other bytes, {at}");
        }
        self.failed += error;
        self.ended += 1 - error;
        self.due.pop_front();
        self.words = 0;
        self.got.clear();
    }

    pub fn ticks(&mut self, clocks: u64) {
        for _ in 0..clocks {
            self.tick();
        }
    }

    /// Until every request has been answered; `patience` clocks without a word are a hang.
    pub fn drain(&mut self, patience: u64) {
        let mut idle = 0;
        while !self.queue.is_empty() || !self.due.is_empty() {
            let left = (self.queue.len(), self.due.len(), self.words);
            self.tick();
            idle = if left == (self.queue.len(), self.due.len(), self.words) {
                idle + 1
            } else {
                0
            };
            assert!(
                idle < patience,
                "nothing moves, seed {} {left:?}",
                self.seed
            );
        }
        self.ticks(10);
        assert!(!self.model.is_set(self.busy), "busy, seed {}", self.seed);
        assert_eq!(
            self.failed_events, self.failed,
            "ev_failed, seed {}",
            self.seed
        );
        if let Err(errors) = self.root.check() {
            panic!("{errors}\nseed {}", self.seed);
        }
    }

    /// A function-level reset of so many clocks: forgets what was asked for.
    pub fn function_reset(&mut self, clocks: u64) {
        self.root.function_reset(&mut self.model, true);
        self.in_reset = true;
        // It acts in the clock after: what comes in this one is of before.
        self.tick();
        self.forget();
        self.ticks(clocks - 1);
        self.root.function_reset(&mut self.model, false);
        self.tick();
        self.in_reset = false;
        // A read may have gone out with the reset.
        self.forget();
    }

    /// A reset of all.
    pub fn reset(&mut self) {
        self.model.reset(2).unwrap();
        self.forget();
    }

    fn forget(&mut self) {
        self.due.clear();
        self.queue.clear();
        self.offered = false;
        self.words = 0;
        self.got.clear();
        self.reads = self.root.seen.reads;
    }
}

/// A host that differs with the seed.
pub fn config(seed: u64) -> Config {
    let mut dice = Dice::new(seed ^ 0x5EED);
    let mut config = Config {
        seed,
        boundary: dice.pick(&[64, 128]),
        large: dice.chance(30),
        stall: Profile::of_seed(seed),
        latency: dice.pick(&[0..=0, 5..=20, 20..=300]),
        ..Config::default()
    };
    config.limits.max_payload = dice.pick(&[128, 256, 512, 1024]);
    config.limits.max_read = dice.pick(&[128, 256, 512, 4096]);
    config
}

#[test]
fn every_byte_of_random_reads_arrives_in_order() {
    for seed in runs(24, 60) {
        let mut bench = Bench::new(config(seed));
        let mut dice = Dice::new(seed);
        bench.offer = dice.pick(&[5, 50, 100]);
        bench.take = dice.pick(&[30, 80, 100]);
        (0..60).for_each(|_| bench.random_request());
        bench.drain(30_000);
        assert_eq!((bench.ended, bench.strays), (60, 0), "seed {seed}");
        assert_eq!(bench.root.seen.reads, bench.reads, "seed {seed}");
    }
}

#[test]
fn every_offset_and_length_around_a_word_is_packed_from_byte_0() {
    for (seed, large) in [(1, true), (2, false)] {
        let mut bench = Bench::new(Config {
            seed,
            large,
            latency: 0..=30,
            ..Config::default()
        });
        for offset in 0..8 {
            for len in 1..=24 {
                bench.request(0x10_0000 + 0x1F8 + offset, len);
                bench.request(0xFFFF_FFF0 + offset, len);
            }
        }
        bench.drain(2000);
        assert_eq!(bench.ended, 2 * 8 * 24);
    }
}

fn fast() -> Config {
    let mut config = Config {
        large: true,
        ordered: true,
        latency: 60..=60,
        ..Config::default()
    };
    config.limits.max_payload = 512;
    config
}

#[test]
fn long_reads_give_a_word_every_clock() {
    let mut bench = Bench::new(fast());
    for i in 0..16 {
        bench.request(0x10_0000 + 4096 * (i % 8), 4096);
    }
    while bench.words == 0 {
        bench.tick();
    }
    let start = bench.clock;
    bench.drain(1000);
    let clocks = bench.clock - start - 10;
    assert!(
        clocks <= 16 * 512 + 64,
        "{clocks} clocks for {} words",
        16 * 512
    );
}

#[test]
fn reads_of_64_bytes_take_9_clocks_each_at_any_address() {
    for offset in [0, 3, 8, 32] {
        let mut bench = Bench::new(fast());
        for i in 0..200 {
            bench.request(0x10_0000 + 64 * i + offset, 64);
        }
        while bench.words == 0 {
            bench.tick();
        }
        let start = bench.clock;
        bench.drain(1000);
        let clocks = bench.clock - start - 10;
        // An unaligned one may need two reads and so two completions with a word between them.
        let each = if offset == 0 { 8 } else { 9 };
        assert!(
            clocks <= 200 * each + 60,
            "{clocks} clocks at offset {offset}"
        );
    }
}

#[test]
fn an_idle_reader_sends_its_tlp_after_4_clocks_and_hands_out_words_11_clocks_after_their_completion()
 {
    let mut bench = Bench::new(Config {
        latency: 0..=0,
        ..Config::default()
    });
    bench.ticks(5);
    bench.request(0x10_0000, 8);
    // Taken in the first clock.
    bench.ticks(4);
    assert_eq!((bench.due.len(), bench.root.seen.reads), (1, 0));
    bench.tick();
    assert_eq!(bench.root.seen.reads, 1);
    // The completion passes in the next clock.
    bench.ticks(11);
    assert_eq!(bench.ended, 0);
    bench.tick();
    assert_eq!(bench.ended, 1);
}

/// The header of a read that is held must not change with the card's ID.
#[test]
fn a_read_that_is_held_keeps_its_id() {
    for seed in seeds(4) {
        let mut bench = Bench::new(Config {
            stall: Profile::Independent(220),
            ..config(seed)
        });
        let mut dice = Dice::new(seed);
        let port = |name: &str| bench.model.port(name).unwrap();
        let [offered, ready, header] =
            ["valid", "ready", "hdr"].map(|n| port(&format!("m_tx_rd_req_tlp_{n}")));
        let id = port("requester_id");
        let own = bench.model.get(id);
        (0..60).for_each(|_| bench.random_request());
        let mut kept = 0;
        for _ in 0..4_000 {
            bench.tick();
            bench.model.eval().unwrap();
            if bench.model.is_set(offered) && !bench.model.is_set(ready) {
                let before = bench.model.words(header);
                bench.model.set(id, dice.below(1 << 16));
                bench.model.eval().unwrap();
                assert_eq!(bench.model.words(header), before, "seed {seed}");
                bench.model.set(id, own);
                kept += 1;
            }
        }
        assert!(kept > 20, "{kept} reads held, seed {seed}");
    }
}
