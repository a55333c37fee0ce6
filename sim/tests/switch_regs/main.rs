//! The registers of the Verilated `switch` against those of the model, what they set against what frames and reductions
//! meet, and tables written while frames pass.
//!
//! `TRIBUTARY_SEED` runs one seed alone. Long form:
//!
//! ```sh
//! TRIBUTARY_FRAMES=1000000 cargo test --release -p tributary-sim --test switch_regs -- --nocapture every_register at_the_same_time
//! ```

mod beyond;
mod reductions;

use rand::{RngExt, SeedableRng, rngs::SmallRng};
use tributary_protocol::red::{Address, Counter, Key, Switch, SwitchConfig, regs};
use tributary_sim::switch::core::Sizes;
use tributary_sim::switch::{Answer, Sink, Source, TopRtl, top};
use tributary_sim::testbench::{Profile, profiles, seeds};
use tributary_sim::verilate::Verilated;

const PORTS: usize = 4;
/// Wiping the tables takes as many clocks as the larger has entries, and some.
const WIPE: usize = 64 + 20;
/// Clocks in which any access must be answered, stalls apart.
const SLOWEST: usize = 60;

fn library() -> Verilated {
    let sizes = Sizes {
        ports: PORTS,
        nodes: 64,
        trees: 64,
    };
    top::build(sizes, false).unwrap()
}

struct Bench {
    rtl: TopRtl,
    model: Switch,
    rng: SmallRng,
    seed: u64,
    sources: Vec<Source>,
    sinks: Vec<Sink>,
    /// Frames that have come out, by port.
    out: Vec<Vec<Vec<u8>>>,
    accesses: u64,
    /// Clocks since the reset.
    clocks: u64,
}

impl Bench {
    fn new(library: &Verilated, seed: u64) -> Self {
        let config = SwitchConfig {
            ports: PORTS as u8,
            unicast_bits: 6,
            multicast_bits: 6,
            ..SwitchConfig::default()
        };
        Self {
            rtl: TopRtl::new(library, PORTS, seed).unwrap(),
            model: Switch::new(config).unwrap(),
            rng: SmallRng::seed_from_u64(seed),
            seed,
            sources: vec![Source::default(); PORTS],
            sinks: vec![Sink::default(); PORTS],
            out: vec![Vec::new(); PORTS],
            accesses: 0,
            clocks: 0,
        }
    }

    fn clock(&mut self) -> Vec<Answer> {
        for (rx, source) in self.rtl.rx.iter_mut().zip(&mut self.sources) {
            *rx = source.front();
            source.pop();
        }
        let answers = self.rtl.clock().unwrap();
        self.clocks += 1;
        for (port, sink) in self.sinks.iter_mut().enumerate() {
            if let Some(beat) = self.rtl.tx[port]
                && let Some(frame) = sink.take(beat).unwrap()
            {
                self.out[port].push(frame);
            }
        }
        answers
    }

    /// Clocks until the access queued is answered.
    fn answer(&mut self) -> Answer {
        // An access may stand still when it is offered, twice, and when it is answered.
        let pause = self.rtl.axil.stalls.profile().pause() as usize;
        let patience = 4 * (SLOWEST + WIPE) + 3 * pause;
        for _ in 0..patience {
            if let Some(answer) = self.clock().pop() {
                self.accesses += 1;
                return answer;
            }
        }
        panic!("no answer, seed {}", self.seed);
    }

    /// Reads in RTL and model.
    fn read(&mut self, offset: u16) {
        self.rtl.axil.read(offset);
        let answer = self.answer();
        let expected = self.model.read(offset);
        assert_eq!(
            answer.error,
            expected.is_err(),
            "read of {offset:#x}, seed {}",
            self.seed
        );
        let (data, expected) = (answer.data, expected.unwrap_or(0));
        assert_eq!(data, expected, "read of {offset:#x}, seed {}", self.seed);
    }

    /// Writes in RTL and model.
    fn write(&mut self, offset: u16, value: u32, strobes: u8) {
        self.rtl.axil.write(offset, value, strobes);
        let answer = self.answer();
        let mask = (0..4)
            .filter(|i| strobes >> i & 1 == 1)
            .fold(0, |mask, i| mask | 0xff << (8 * i));
        let old = self.model.read(offset).unwrap_or(0);
        let expected = if strobes == 0 {
            // Without effect, but refused as any other.
            self.model.clone().write(offset, old)
        } else {
            self.model.write(offset, old & !mask | value & mask)
        };
        assert_eq!(
            answer.error,
            expected.is_err(),
            "write of {value:#x} to {offset:#x}, strobes {strobes:#x}, seed {}: {expected:?}",
            self.seed
        );
    }

    fn set(&mut self, register: &regs::Register, value: u32) {
        self.write(register.offset, value, 0xf);
    }

    fn counter(&mut self, port: usize, counter: u32) -> u32 {
        let select = regs::STATISTICS_COUNTER.put(counter) | regs::STATISTICS_PORT.put(port as u32);
        self.rtl
            .axil
            .write(regs::STATISTICS_SELECT.offset, select, 0xf);
        assert!(!self.answer().error);
        self.rtl.axil.read(regs::STATISTICS_LOW.offset);
        self.answer().data
    }

    fn frame(&mut self, to: [u8; 6]) -> Vec<u8> {
        let length = self.rng.random_range(60..300);
        let mut frame: Vec<u8> = (0..length).map(|_| self.rng.random()).collect();
        frame[..6].copy_from_slice(&to);
        frame[12..14].copy_from_slice(&[0x12, 0x34]);
        frame
    }

    fn route(&mut self, node: u32, port: Option<u32>) {
        let entry = port.map_or(0, |p| {
            regs::UNICAST_PORT.put(p) | regs::UNICAST_VALID.put(1)
        });
        self.set(&regs::UNICAST_ENTRY, entry);
        self.set(&regs::UNICAST_COMMIT, node);
    }

    fn enable(&mut self) {
        for port in 0..PORTS as u8 {
            self.write(
                regs::port_offset(port, &regs::PORT_CONTROL),
                regs::PORT_ENABLE.put(1),
                0xf,
            );
        }
    }
}

/// An offset: mostly of a register, else any.
fn any_offset(rng: &mut SmallRng) -> u16 {
    match rng.random_range(0..4) {
        0 => rng.random_range(0..0x1000),
        1 => {
            let register = regs::PORT[rng.random_range(0..regs::PORT.len())];
            regs::port_offset(rng.random_range(0..6), &register)
        }
        _ => regs::GLOBAL[rng.random_range(0..regs::GLOBAL.len())].offset,
    }
}

#[test]
fn every_register_is_that_of_the_model() {
    let library = library();
    profiles("registers: accesses", |seed| {
        let mut bench = Bench::new(&library, seed);
        bench.rtl.axil.stalls.set(Profile::of_seed(seed));
        // Values after reset, every offset once.
        if seed < 2 {
            for offset in (0..0x1000).step_by(if seed == 0 { 1 } else { 4 }) {
                bench.read(offset);
            }
        }
        for _ in 0..1000 {
            let offset = any_offset(&mut bench.rng);
            // Statistics of a switch without traffic are 0; any other register keeps what is written.
            if bench.rng.random_range(0..3) == 0 {
                bench.read(offset);
            } else {
                let mut value: u32 = bench.rng.random();
                if let Some((register, _)) = regs::find(offset)
                    && bench.rng.random_range(0..4) != 0
                {
                    value &= register.mask();
                }
                if bench.rng.random_range(0..2) == 0 {
                    value &= 0x7f;
                }
                let strobes = [0xf, bench.rng.random_range(0..16)][bench.rng.random_range(0..2)];
                bench.write(offset, value, strobes);
            }
        }
        for offset in (0..0x480).step_by(4) {
            bench.read(offset);
        }
        // Reset brings everything back.
        bench.rtl.model().reset(2).unwrap();
        bench.model = Bench::new(&library, seed).model;
        for offset in (0..0x480).step_by(4) {
            bench.read(offset);
        }
        bench.accesses
    });
}

#[test]
fn reads_and_writes_at_the_same_time_are_all_answered() {
    let library = library();
    profiles("registers: reads and writes at once", |seed| {
        let mut bench = Bench::new(&library, seed);
        bench.rtl.axil.stalls.set(Profile::of_seed(seed));
        for i in 0..100 {
            bench.rtl.axil.read(regs::ID.offset);
            bench.rtl.axil.write(regs::TIMEOUT1.offset, i, 0xf);
        }
        let (mut reads, mut writes) = (0, 0);
        for _ in 0..2_000_000 {
            if bench.rtl.axil.is_idle() {
                break;
            }
            for answer in bench.clock() {
                assert!(!answer.error);
                if answer.access.write.is_some() {
                    writes += 1;
                } else {
                    reads += 1;
                    assert_eq!(answer.data, regs::ID.reset);
                }
            }
        }
        assert_eq!((reads, writes), (100, 100), "seed {seed}");
        reads + writes
    });
}

#[test]
fn statistics_count_every_frame_under_full_load() {
    let library = library();
    for seed in seeds(4) {
        let mut bench = Bench::new(&library, seed);
        bench.enable();
        for node in 0..8 {
            bench.route(node, Some(node));
        }
        // Tree 5: down from port 0 to the others; each port in turn is disabled.
        let off = 3 - seed as usize % PORTS;
        bench.set(&regs::MULTICAST_CHILDREN_LOW, 0b1110);
        bench.set(&regs::MULTICAST_ENTRY, regs::MULTICAST_VALID.put(1));
        bench.set(&regs::MULTICAST_COMMIT, 5);
        bench.write(regs::port_offset(off as u8, &regs::PORT_CONTROL), 0, 0xf);
        let mut received = 0;
        let tree = |tree| Key { tree, reduction: 0 }.address().mac();
        for input in 0..PORTS {
            for _ in 0..400 {
                let to = match bench.rng.random_range(0..8) {
                    0 => tree(5),
                    1 => tree(6),
                    _ => Address::unicast(bench.rng.random_range(0..10), 0).mac(),
                };
                let frame = bench.frame(to);
                bench.model.receive(input as u8, &frame, 0);
                bench.sources[input].push(&frame);
                received += 1;
            }
            // Runts of one beat, back to back: an event in every clock.
            for _ in 0..100 {
                bench.sources[input].push(&[1, 2, 3]);
            }
        }
        // Counters are read while they change, without harm.
        while bench.sources.iter().any(|s| !s.is_empty()) {
            bench.counter(0, 0);
        }
        for _ in 0..3000 {
            bench.clock();
        }
        let mut total = 0;
        let mut dropped_at = 0;
        for port in 0..PORTS {
            let model = bench.model.counters(port as u8).unwrap();
            for counter in [
                Counter::NoRoute,
                Counter::BadEntry,
                Counter::Hairpin,
                Counter::Malformed,
            ] {
                let value = bench.counter(port, counter as u32);
                assert_eq!(
                    u64::from(value),
                    model.get(counter),
                    "port {port}: {counter}, seed {seed}"
                );
            }
            // A disabled port counts its runts as such, too.
            let (runts, bad) = if port == off { (100, 0) } else { (0, 100) };
            let disabled = bench.counter(port, Counter::Disabled as u32);
            assert_eq!(
                u64::from(disabled),
                model.get(Counter::Disabled) + runts,
                "port {port}, seed {seed}"
            );
            let here = bench.counter(port, Counter::Received as u32);
            assert_eq!(
                u64::from(here),
                model.get(Counter::Received) + bad,
                "port {port}, seed {seed}"
            );
            assert_eq!(
                u64::from(bench.counter(port, Counter::BadFrame as u32)),
                bad,
                "port {port}, seed {seed}"
            );
            let sent = bench.counter(port, Counter::Sent as u32);
            assert_eq!(sent as usize, bench.out[port].len(), "port {port}");
            total += u64::from(sent);
            dropped_at += u64::from(bench.counter(port, Counter::QueueFull as u32));
        }
        let expected: u64 = (0..PORTS)
            .map(|p| bench.model.counters(p as u8).unwrap().get(Counter::Sent))
            .sum();
        assert_eq!(total + dropped_at, expected, "seed {seed}");
        println!("{received} frames, {total} sent, {dropped_at} dropped, seed {seed}");
        // Counters and ports that are not there.
        assert_eq!(bench.counter(0, 40), 0);
        assert_eq!(bench.counter(5, 0), 0);
    }
}

/// Copies for several full queues are dropped in one clock, frame after frame.
#[test]
fn every_copy_that_a_full_queue_drops_is_counted() {
    let library = library();
    for seed in seeds(3) {
        let mut bench = Bench::new(&library, seed);
        bench.enable();
        bench.set(&regs::MULTICAST_CHILDREN_LOW, 0b1110);
        bench.set(&regs::MULTICAST_ENTRY, regs::MULTICAST_VALID.put(1));
        bench.set(&regs::MULTICAST_COMMIT, 5);
        let tree = Key {
            tree: 5,
            reduction: 0,
        }
        .address()
        .mac();
        let count = 300 + 100 * seed as usize;
        for _ in 0..count {
            let frame = bench.frame(tree);
            bench.sources[0].push(&frame[..60]);
        }
        let stopped = bench.rng.random_range(1..8);
        for port in 1..PORTS {
            bench.rtl.ready[port] = stopped >> (port - 1) & 1 == 0;
        }
        while !bench.sources[0].is_empty() {
            bench.clock();
        }
        bench.rtl.ready.fill(true);
        for _ in 0..6_000 {
            bench.clock();
        }
        let left: usize = bench.out.iter().map(Vec::len).sum();
        let dropped = bench.counter(0, Counter::QueueFull as u32) as usize;
        assert_eq!(dropped, 3 * count - left, "seed {seed}");
        assert!(dropped > 200, "{dropped} of {count} frames, seed {seed}");
        for port in 0..PORTS {
            let sent = bench.counter(port, Counter::Sent as u32) as usize;
            assert_eq!(sent, bench.out[port].len(), "port {port}, seed {seed}");
        }
    }
}

/// Behind a shut port, frames that all can be marked: the register says from which on they are, and the port's counter how many.
#[test]
fn cl_04_the_register_says_what_is_marked_and_the_counter_how_many_were() {
    let library = library();
    let mut bench = Bench::new(&library, 1);
    bench.enable();
    bench.route(1, Some(1));
    let mut sum = 0;
    // 12 frames of 30 words; the first has begun when the second comes.
    for (words, marks) in [
        (0, 0),
        (29, 12),
        (31, 10),
        (119, 8),
        (121, 7),
        (512, 0),
        (1023, 0),
    ] {
        bench.set(&regs::ECN_THRESHOLD, words);
        bench.read(regs::ECN_THRESHOLD.offset);
        bench.rtl.ready[1] = false;
        for at in 0..12 {
            let mut frame = bench.frame(Address::unicast(1, 0).mac());
            frame.resize(240, 7);
            frame[12..15].copy_from_slice(&[0x08, 0x00, 0x45]);
            frame[15] = 1 + at % 2;
            bench.sources[0].push(&frame);
        }
        (0..400).for_each(|_| drop(bench.clock()));
        bench.rtl.ready[1] = true;
        (0..600).for_each(|_| drop(bench.clock()));
        let out = std::mem::take(&mut bench.out[1]);
        assert_eq!(out.len(), 12);
        let marked: Vec<bool> = out.iter().map(|frame| frame[15] == 3).collect();
        let count = marked.iter().filter(|m| **m).count();
        assert_eq!(count, marks, "{words} words: {marked:?}");
        sum += count as u32;
        for port in 0..PORTS {
            let expected = if port == 1 { sum } else { 0 };
            let counter = Counter::EcnMarked as u32;
            assert_eq!(bench.counter(port, counter), expected, "port {port}");
        }
    }
}

#[test]
fn tables_written_while_frames_pass_send_each_frame_to_one_port() {
    let library = library();
    for seed in seeds(3) {
        let mut bench = Bench::new(&library, seed);
        let stalls = [
            Profile::Free,
            Profile::Independent(60),
            Profile::Freeze { limit: 30 },
        ];
        bench.rtl.axil.stalls.set(stalls[(seed % 3) as usize]);
        bench.enable();
        bench.route(20, Some(1));
        bench.route(21, Some(3));
        let mut sent = Vec::new();
        for _ in 0..300 {
            let node = 20 + bench.rng.random_range(0..2);
            let frame = bench.frame(Address::unicast(node, 0).mac());
            bench.sources[0].push(&frame);
            sent.push((node, frame));
        }
        let mut flips = 0;
        while !bench.sources[0].is_empty() {
            let port = 1 + flips % 2;
            bench.route(20, Some(port));
            let other = bench.rng.random_range(22..64);
            bench.route(other, Some(0));
            flips += 1;
        }
        for _ in 0..500 {
            bench.clock();
        }
        assert!(flips > 50, "{flips} flips, seed {seed}");
        let mut places = [0; 2];
        let mut next = [0; PORTS];
        for (node, frame) in sent {
            let ports: Vec<usize> = (0..PORTS)
                .filter(|&p| bench.out[p].get(next[p]) == Some(&frame))
                .collect();
            assert_eq!(ports.len(), 1, "a frame came out at {ports:?}, seed {seed}");
            next[ports[0]] += 1;
            if node == 20 {
                assert!(ports[0] == 1 || ports[0] == 2);
                places[ports[0] - 1] += 1;
            } else {
                assert_eq!(ports[0], 3);
            }
        }
        assert_eq!(
            next,
            [
                0,
                bench.out[1].len(),
                bench.out[2].len(),
                bench.out[3].len()
            ]
        );
        assert!(places[0] > 20 && places[1] > 20, "{places:?}, seed {seed}");
    }
}
