//! The DMA writer: every byte to its place, nothing beside it, done in order.

use crate::bench::{Dice, build, runs, seeds};
use crate::dma_read::REGIONS;
use std::collections::VecDeque;
use std::sync::LazyLock;
use tributary_hdl::pcie::DmaWrite;
use tributary_sim::pcie::{Access, Config, RootComplex};
use tributary_sim::testbench::stall::Profile;
use tributary_sim::verilate::{Model, Port, Verilated};

static LIBRARY: LazyLock<Verilated> = LazyLock::new(|| build(DmaWrite::default()));

struct Request {
    addr: u64,
    bytes: Vec<u8>,
    ctx: u64,
}

pub struct Bench {
    pub model: Model,
    pub root: RootComplex,
    s_req: [Port; 5],
    s_data: [Port; 3],
    done: [Port; 2],
    busy: Port,
    pub offer: u32,
    pub feed: u32,
    queue: VecDeque<Request>,
    words: VecDeque<u64>,
    due: VecDeque<Request>,
    offered: [bool; 2],
    /// What memory should hold, by region.
    want: Vec<Vec<u8>>,
    pub ended: u64,
    /// No two requests write the same byte.
    pub apart: bool,
    dice: Dice,
    seed: u64,
    clock: u64,
    /// In reset: done may come once more.
    pub in_reset: bool,
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
        let room = model.port("s_room").unwrap();
        model.set(room, 1);
        model.reset(3).unwrap();
        for (base, size) in REGIONS {
            root.memory.map(base, size, Access::Write).unwrap();
        }
        let port = |name: &str| model.port(name).unwrap();
        Self {
            s_req: ["valid", "ready", "addr", "len", "ctx"].map(|n| port(&format!("s_req_{n}"))),
            s_data: ["valid", "ready", "data"].map(|n| port(&format!("s_data_{n}"))),
            done: ["m_done_valid", "m_done_ctx"].map(port),
            busy: port("m_busy"),
            model,
            root,
            offer: 100,
            feed: 100,
            queue: VecDeque::new(),
            words: VecDeque::new(),
            due: VecDeque::new(),
            offered: [false; 2],
            want: REGIONS.map(|(_, size)| vec![0; size as usize]).into(),
            ended: 0,
            apart: false,
            dice: Dice::new(seed),
            seed,
            clock: 0,
            in_reset: false,
        }
    }

    pub fn request(&mut self, addr: u64, len: u64) {
        self.queue.push_back(Request {
            addr,
            bytes: self.dice.bytes(len as usize),
            ctx: self.dice.below(1 << 16),
        });
    }

    pub fn random_request(&mut self) {
        let (base, size) = self.dice.pick(&REGIONS);
        let len = self.dice.length();
        let addr = self.dice.address(base, size, len);
        self.request(addr, len);
    }

    pub fn tick(&mut self) {
        let m = &mut self.model;
        self.offered[0] |= !self.queue.is_empty() && self.dice.chance(self.offer);
        self.offered[1] |= !self.words.is_empty() && self.dice.chance(self.feed);
        m.set(self.s_req[0], self.offered[0].into());
        if self.offered[0] {
            let request = &self.queue[0];
            m.set(self.s_req[2], request.addr);
            m.set(self.s_req[3], request.bytes.len() as u64);
            m.set(self.s_req[4], request.ctx);
        }
        m.set(self.s_data[0], self.offered[1].into());
        let noise = self.dice.below(u64::MAX);
        m.set(
            self.s_data[2],
            if self.offered[1] {
                self.words[0]
            } else {
                noise
            },
        );
        self.root.drive(m).unwrap();
        m.eval().unwrap();
        self.root.sample(m).unwrap();
        if self.offered[1] && m.is_set(self.s_data[1]) {
            self.offered[1] = false;
            self.words.pop_front();
        }
        if m.is_set(self.done[0]) {
            let ctx = m.get(self.done[1]);
            let request = self.due.pop_front();
            let request = request.unwrap_or_else(|| panic!("done too often, seed {}", self.seed));
            assert_eq!(ctx, request.ctx, "seed {} clock {}", self.seed, self.clock);
            self.ended += 1;
            let region = REGIONS
                .iter()
                .rposition(|&(base, _)| base <= request.addr)
                .unwrap();
            let offset = (request.addr - REGIONS[region].0) as usize;
            self.want[region][offset..offset + request.bytes.len()].copy_from_slice(&request.bytes);
            rules(&self.root, self.seed);
            // It was handed over before it was done.
            let got = self.root.memory.bytes(request.addr, request.bytes.len());
            assert!(
                got == request.bytes || !self.apart && !self.due.is_empty(),
                "done and not in memory, seed {} clock {}",
                self.seed,
                self.clock
            );
        } else if !self.due.is_empty() && !self.in_reset {
            assert!(m.is_set(self.busy), "not busy, seed {}", self.seed);
        }
        if self.offered[0]
            && m.is_set(self.s_req[1])
            && let Some(request) = self.queue.pop_front()
        {
            self.offered[0] = false;
            self.words.extend(request.bytes.chunks(8).map(|chunk| {
                // The bytes behind the last are noise.
                let mut bytes = noise.to_le_bytes();
                bytes[..chunk.len()].copy_from_slice(chunk);
                u64::from_le_bytes(bytes)
            }));
            self.due.push_back(request);
        }
        self.model.clock().unwrap();
        self.clock += 1;
    }

    pub fn ticks(&mut self, clocks: u64) {
        for _ in 0..clocks {
            self.tick();
        }
    }

    /// Until all is done; returns the clocks that it took.
    pub fn drain(&mut self) -> u64 {
        let mut idle = 0;
        let first = self.clock;
        while !self.queue.is_empty() || !self.due.is_empty() {
            let left = (self.queue.len(), self.words.len(), self.due.len());
            self.tick();
            let moved = left != (self.queue.len(), self.words.len(), self.due.len());
            idle = if moved { 0 } else { idle + 1 };
            let patience = 3_000 + 2 * self.root.config.stall.pause();
            assert!(
                idle < patience,
                "nothing moves, seed {} {left:?}",
                self.seed
            );
        }
        let clocks = self.clock - first;
        assert!(self.words.is_empty(), "words left, seed {}", self.seed);
        self.ticks(10);
        assert!(!self.model.is_set(self.busy), "busy, seed {}", self.seed);
        self.check();
        clocks
    }

    /// Requests on offer are taken back, in reset.
    pub fn withdraw(&mut self) {
        self.queue.clear();
        self.words.clear();
        self.offered = [false; 2];
    }

    /// Nothing that was asked for is expected any more.
    pub fn forget(&mut self) {
        self.due.clear();
    }

    /// Requests that are not done.
    pub fn open(&self) -> usize {
        self.queue.len() + self.due.len()
    }

    pub fn is_busy(&self) -> bool {
        self.model.is_set(self.busy)
    }

    /// What memory holds may differ from what was asked for: it is taken as it is.
    pub fn accept(&mut self) {
        for ((base, size), want) in REGIONS.into_iter().zip(&mut self.want) {
            *want = self.root.memory.bytes(base, size as usize);
        }
    }

    /// Every byte of memory is as it should be.
    pub fn check(&self) {
        for ((base, size), want) in REGIONS.into_iter().zip(&self.want) {
            let got = self.root.memory.bytes(base, size as usize);
            let wrong = (0..want.len()).find(|&i| got[i] != want[i]);
            assert_eq!(
                wrong, None,
                "byte in the region at {base:#x}, seed {}",
                self.seed
            );
        }
        rules(&self.root, self.seed);
    }
}

/// The writer has broken no rule.
fn rules(root: &RootComplex, seed: u64) {
    if let Err(errors) = root.check() {
        panic!("{errors}\nseed {seed}");
    }
}

pub fn config(seed: u64) -> Config {
    let mut dice = Dice::new(seed ^ 0x3711E);
    let mut config = Config {
        seed,
        stall: Profile::of_seed(seed),
        ..Config::default()
    };
    config.limits.max_payload = dice.pick(&[128, 256, 512, 4096]);
    config
}

#[test]
fn every_byte_of_random_writes_goes_to_its_place_and_none_beside_it() {
    for seed in runs(30, 60) {
        let mut bench = Bench::new(config(seed));
        let mut dice = Dice::new(seed);
        bench.offer = dice.pick(&[10, 50, 100]);
        bench.feed = dice.pick(&[30, 90, 100]);
        (0..60).for_each(|_| bench.random_request());
        bench.drain();
        assert_eq!(bench.ended, 60, "seed {seed}");
    }
}

#[test]
fn every_offset_and_length_around_a_word_goes_to_its_place() {
    let mut bench = Bench::new(Config::default());
    for offset in 0..8 {
        for len in 1..=24 {
            bench.request(0x10_0FE8 + 32 * 3 + offset, len);
            bench.request(0xFFFF_FFF0 + offset, len);
        }
    }
    bench.drain();
    assert_eq!(bench.ended, 2 * 8 * 24);
}

#[test]
fn completions_of_64_bytes_take_9_clocks_each_and_payloads_95_percent() {
    for (len, count, limit, offset) in [
        (64, 200, 9 * 200, 0),
        (4096, 16, 16 * 512 * 100 / 95, 0),
        (4096, 15, 15 * 512 * 100 / 95, 64),
        (4096, 15, 15 * 512 * 100 / 95, 5),
        (8, 100, 5 * 100, 0),
    ] {
        for payload in [128, 256, 512] {
            let mut config = Config::default();
            config.limits.max_payload = payload;
            let mut bench = Bench::new(config);
            for i in 0..count {
                bench.request(0x10_0000 + len * i + offset, len);
            }
            let clocks = bench.drain();
            println!("{count} writes of {len} bytes, {payload} a TLP: {clocks} clocks");
            assert!(
                clocks <= limit + 20,
                "{clocks} clocks, {len} bytes, {payload} a TLP"
            );
        }
    }
}

#[test]
fn a_function_level_reset_ends_the_tlp_under_way_and_forgets_the_rest() {
    let mut cut = 0;
    for seed in seeds(40) {
        let mut bench = Bench::new(config(seed));
        let mut dice = Dice::new(seed);
        bench.feed = 60;
        // Only the middle region is written meanwhile: what the TLP under way writes there is undefined.
        for _ in 0..10 {
            bench.request(0xFFFF_8000 + dice.below(0x8000), 1 + dice.below(4096));
        }
        let clocks = dice.below(1500);
        bench.ticks(clocks);
        cut += u64::from(!bench.root.is_idle());
        bench.root.function_reset(&mut bench.model, true);
        bench.in_reset = true;
        for _ in 0..=dice.below(3) {
            // Done for what was handed over with the reset; not after it.
            bench.withdraw();
            bench.tick();
        }
        bench.root.function_reset(&mut bench.model, false);
        // It acts in the clock after.
        bench.withdraw();
        bench.tick();
        bench.forget();
        bench.in_reset = false;
        bench.want[1] = bench.root.memory.bytes(0xFFFF_8000, 0x1_0000);
        for _ in 0..10 {
            let len = dice.length();
            let addr = dice.address(0x10_0000, 0x1_0000, len);
            bench.request(addr, len);
        }
        let ended = bench.ended;
        let mut waited = 0;
        while !bench.queue.is_empty() || !bench.due.is_empty() {
            bench.tick();
            waited += 1;
            assert!(waited < 200_000, "nothing moves, seed {seed}");
        }
        bench.want[1] = bench.root.memory.bytes(0xFFFF_8000, 0x1_0000);
        bench.check();
        assert_eq!(bench.ended - ended, 10, "seed {seed}");
    }
    assert!(cut >= 10, "{cut} TLPs were under way");
}

#[test]
fn an_idle_writer_sends_the_first_word_after_6_clocks_and_is_done_one_after_the_last() {
    let mut bench = Bench::new(Config::default());
    for (len, words) in [(8, 1), (64, 8)] {
        (0..5).for_each(|_| bench.tick());
        bench.request(0x10_0000, len);
        // Taken in the first clock.
        (0..6).for_each(|_| bench.tick());
        let ended = bench.ended;
        (0..words).for_each(|_| bench.tick());
        assert_eq!(bench.ended, ended, "{len} bytes");
        bench.tick();
        assert_eq!(bench.ended, ended + 1, "{len} bytes");
    }
    bench.drain();
}

#[test]
fn writes_to_the_range_of_interrupts_are_interrupts_and_those_beside_memory_are_noted() {
    let mut bench = Bench::new(Config {
        interrupts: Some(0xFEE0_0000..0xFEE1_0000),
        ..Config::default()
    });
    for (addr, len) in [(0xFEE0_1234, 4), (0x11_0000, 1)] {
        let bytes = vec![0x11, 0x22, 0x33, 0x44][..len].to_vec();
        bench.model.set(bench.s_req[0], 1);
        bench.model.set(bench.s_req[2], addr);
        bench.model.set(bench.s_req[3], len as u64);
        bench.model.set(bench.s_data[0], 1);
        bench.model.set(bench.s_data[2], 0x4433_2211);
        bench.root.tick(&mut bench.model).unwrap();
        bench.model.set(bench.s_req[0], 0);
        bench.model.set(bench.s_data[0], 0);
        for _ in 0..20 {
            bench.root.tick(&mut bench.model).unwrap();
        }
        let held = bench.root.memory.bytes(addr, bytes.len());
        assert_eq!(held, vec![0; len], "nothing is written at {addr:#x}");
    }
    let interrupt = bench.root.interrupts.pop_front().unwrap();
    assert_eq!(
        (interrupt.address, interrupt.data),
        (0xFEE0_1234, 0x4433_2211)
    );
    assert!(bench.root.interrupts.is_empty());
    let said = bench.root.check().unwrap_err().to_string();
    assert!(
        said.contains("write of 1 bytes at 0x110000 is not mapped"),
        "{said}"
    );
}
