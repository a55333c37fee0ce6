//! What is set through registers is what reductions meet, and what happens to them is what the counters say.

use rand::RngExt;
use tributary_protocol::red::{
    Address, Counter, Frame, Key, Op, Rc, TIMEOUT_UNIT, regs,
    wire::{Fabric, Reduction, Restricted},
};
use tributary_sim::testbench::seeds;

use super::{Bench, PORTS, WIPE, library};

/// Clocks after which a frame and all that comes of it have left.
const SETTLED: usize = 80;
/// Trees that exist, among the 64 of the table.
const TREES: usize = 6;
/// Codes of counters, and some more.
const COUNTERS: u32 = 34;

/// A switch whose every setting is random.
struct World {
    bench: Bench,
    ethertype: u16,
    /// Number and parent of each tree.
    trees: Vec<(u16, usize)>,
    seqno: u16,
}

impl World {
    fn new(seed: u64, library: &tributary_sim::verilate::Verilated) -> Self {
        let mut bench = Bench::new(library, seed);
        for _ in 0..WIPE {
            bench.clock();
        }
        let ethertype = bench.rng.random_range(0x600..=u16::MAX);
        bench.set(&regs::ETHERTYPE, ethertype.into());
        let nan = bench.rng.random();
        bench.set(&regs::MODE, nan);
        // Far beyond the end of the test, in every bit.
        for timeout in [
            &regs::TIMEOUT0,
            &regs::TIMEOUT1,
            &regs::TIMEOUT2,
            &regs::TIMEOUT3,
        ] {
            let units = bench.rng.random_range(1 << 14..1 << 24);
            bench.set(timeout, units);
        }
        for port in 0..PORTS as u8 {
            let address = bench.rng.random();
            bench.write(regs::port_offset(port, &regs::PORT_ADDRESS), address, 0xf);
            // Now and then a port is off, or only its engine.
            let mut control = regs::PORT_ENABLE.put(1) | regs::PORT_ENGINE.put(1);
            match bench.rng.random_range(0..20) {
                0 => control = regs::PORT_ENGINE.put(1),
                1 => control = regs::PORT_ENABLE.put(1),
                _ => {}
            }
            bench.write(regs::port_offset(port, &regs::PORT_CONTROL), control, 0xf);
        }
        for _ in 0..16 {
            let (node, port) = (bench.rng.random_range(0..64), bench.rng.random_range(0..4));
            bench.route(node, Some(port));
        }
        let mut world = Self {
            bench,
            ethertype,
            trees: Vec::new(),
            seqno: 0,
        };
        for tree in 0..TREES {
            let wait = match tree {
                0 => 0,
                1 => world.bench.rng.random_range(1..1 << 20),
                _ => world.bench.rng.random_range(1..4),
            };
            // Of every second one the root contributes.
            world.plant_with(wait, tree % 2 == 0);
        }
        world
    }

    /// Every port and every engine.
    fn all_on(&mut self) {
        for port in 0..PORTS as u8 {
            let on = regs::PORT_ENABLE.put(1) | regs::PORT_ENGINE.put(1);
            self.bench
                .write(regs::port_offset(port, &regs::PORT_CONTROL), on, 0xf);
        }
    }

    /// A tree at a free place of the table, between random ports: its number and its parent.
    fn plant(&mut self, wait: u32) -> (u16, usize) {
        self.plant_with(wait, false)
    }

    /// The same, and whether the root contributes by its own port (CL-6).
    fn plant_with(&mut self, wait: u32, root: bool) -> (u16, usize) {
        let rng = &mut self.bench.rng;
        let number = loop {
            let number = rng.random_range(0..64);
            if self.trees.iter().all(|(other, _)| *other != number) {
                break number;
            }
        };
        let parent = rng.random_range(0..PORTS as u32);
        let entry = regs::MULTICAST_VALID.put(1)
            | regs::MULTICAST_PARENT.put(parent)
            | regs::MULTICAST_WAIT.put(wait);
        // The port after the parent is a child, others may be.
        let children = rng.random_range(0..16) | 1 << ((parent + 1) % PORTS as u32);
        let children = children & !(1 << parent) | u32::from(root) << parent;
        let bench = &mut self.bench;
        bench.set(&regs::MULTICAST_CHILDREN_LOW, children);
        bench.set(&regs::MULTICAST_ENTRY, entry);
        bench.set(&regs::MULTICAST_COMMIT, number.into());
        self.trees.push((number, parent as usize));
        (number, parent as usize)
    }

    /// The number of a tree with that parent.
    fn plant_at(&mut self, parent: usize, wait: u32) -> u16 {
        loop {
            let (number, of) = self.plant(wait);
            if of == parent {
                return number;
            }
        }
    }

    fn frame(&mut self, key: Key, arm: bool, op: Op) -> Frame {
        let rng = &mut self.bench.rng;
        Frame {
            fabric: Fabric::new(
                Address::unicast(rng.random_range(0..64), 1),
                key.address(),
                9,
            ),
            restricted: Restricted::default(),
            red: Reduction {
                seqno: self.seqno,
                arm,
                op,
                count: 1,
                resno: self.seqno,
                rc: Rc::OK,
                m: 0,
                oflow: 0,
                pad: 0,
                cookie: 0xc0ffee,
            },
            data: rng.random(),
        }
    }

    /// Puts a frame into switch and model; what leaves must be the same.
    fn send(&mut self, port: usize, raw: &[u8]) {
        let bench = &mut self.bench;
        bench.sources[port].push(raw);
        for _ in 0..SETTLED {
            bench.clock();
        }
        let expected = bench.model.receive(port as u8, raw, bench.clocks);
        self.left(expected.into_iter().collect(), raw);
    }

    /// Frames of one port, one behind the other, and what they have counted.
    fn burst(&mut self, port: usize, frames: &[Frame]) {
        self.send_all(port, frames);
        self.compare_counters();
    }

    /// Frames of one port, one behind the other.
    fn send_all(&mut self, port: usize, frames: &[Frame]) {
        let bench = &mut self.bench;
        let mut expected = Vec::new();
        for frame in frames {
            let raw = frame.to_bytes(self.ethertype);
            bench.sources[port].push(&raw);
            expected.extend(bench.model.receive(port as u8, &raw, bench.clocks));
        }
        for _ in 0..SETTLED + 13 * frames.len() {
            bench.clock();
        }
        self.left(expected, &[]);
    }

    /// Compares what has left since the last look with these frames.
    fn left(&mut self, mut expected: Vec<(u8, Vec<u8>)>, what: &[u8]) {
        let mut got = Vec::new();
        for (port, frames) in (0..).zip(&mut self.bench.out) {
            got.extend(frames.drain(..).map(|frame| (port, frame)));
        }
        got.sort();
        expected.sort();
        assert_eq!(got, expected, "seed {}: {what:02x?}", self.bench.seed);
    }

    /// Every counter of every port, and of ports and codes that are not there.
    fn compare_counters(&mut self) {
        for port in 0..=PORTS as u32 {
            for counter in 0..COUNTERS {
                let select =
                    regs::STATISTICS_PORT.put(port) | regs::STATISTICS_COUNTER.put(counter);
                self.bench.set(&regs::STATISTICS_SELECT, select);
                self.bench.read(regs::STATISTICS_LOW.offset);
                self.bench.read(regs::STATISTICS_HIGH.offset);
            }
        }
    }
}

/// One frame after the other, of every kind, through switches with every setting at random.
#[test]
fn red_13_red_14_red_17_every_counter_and_setting_is_that_of_the_model() {
    let library = library();
    let mut total = [0; Counter::ALL.len()];
    let mut turned = 0;
    for seed in seeds(8) {
        let mut world = World::new(seed, &library);
        for _ in 0..400 {
            let rng = &mut world.bench.rng;
            let kind = rng.random_range(0..16);
            let arm = rng.random_range(0..8) == 0;
            let other = Op::ALL[rng.random_range(0..Op::ALL.len())];
            let (mut tree, parent) = world.trees[rng.random_range(0..TREES)];
            let port = match rng.random_range(0..2) {
                0 => rng.random_range(0..PORTS),
                _ if arm || rng.random_range(0..3) == 0 => parent,
                _ => (parent + 1) % PORTS,
            };
            if rng.random_range(0..12) == 0 {
                tree = rng.random_range(0..64);
            }
            // Now and then an old one.
            let step = [0, 0, 1, 1, 1023][rng.random_range(0..5)];
            if arm {
                world.seqno = (world.seqno + step) % 1024;
            }
            let reduction = world.bench.rng.random_range(0..2);
            // Those of one round mostly agree.
            let op = match kind {
                9 => other,
                _ => Op::ALL[usize::from(world.seqno) % Op::ALL.len()],
            };
            let mut one = world.frame(Key { tree, reduction }, arm, op);
            let rng = &mut world.bench.rng;
            match kind {
                0 => one.fabric.vni = 10,
                1 => one.red.cookie = 1,
                2 => one.red.seqno = (one.red.seqno + rng.random_range(0..1024)) % 1024,
                3 | 4 => one.red.count = rng.random_range(0..1 << 20),
                10 => one.red.count = 0,
                11 => one.restricted.opcode = rng.random_range(0..16),
                _ => {}
            }
            let mut raw = one.to_bytes(world.ethertype).to_vec();
            match kind {
                5 => raw[rng.random_range(0..94)] ^= 1 << rng.random_range(0..8),
                6 | 7 => {
                    let mac = Address::unicast(rng.random_range(0..64), 3).mac();
                    raw[..6].copy_from_slice(&mac);
                    raw.resize(rng.random_range(60..200), 0x5a);
                }
                8 => raw.truncate(rng.random_range(60..94)),
                _ => {}
            }
            turned += usize::from(world.bench.model.turns(port as u8, &raw));
            world.send(port, &raw);
        }
        // More reductions at once than there are descriptors.
        for (tree, parent) in world.trees.clone() {
            for reduction in 0..8 {
                let arm = world.frame(Key { tree, reduction }, true, Op::ALL[0]);
                world.send(parent, &arm.to_bytes(world.ethertype));
            }
        }
        world.compare_counters();
        for port in 0..PORTS as u8 {
            let counters = world.bench.model.counters(port).unwrap();
            for (sum, counter) in total.iter_mut().zip(Counter::ALL) {
                *sum += counters.get(*counter);
            }
        }
    }
    println!("contributions of roots: {turned}");
    assert!(turned > 30, "{turned}");
    for (sum, counter) in total.iter().zip(Counter::ALL) {
        println!("{counter}: {sum}");
        let elsewhere = [
            Counter::QueueFull,
            Counter::Partials,
            Counter::ExpiredEmpty,
            Counter::BadFrame,
            Counter::EcnMarked,
        ];
        assert!(*sum > 0 || elsewhere.contains(counter), "never: {counter}");
    }
}

/// Frames with one wrong bit, at each place: checks of fields and checksums look at every bit.
#[test]
fn red_10_a_wrong_bit_anywhere_is_what_the_model_makes_of_it() {
    let library = library();
    for seed in seeds(2) {
        let mut world = World::new(seed, &library);
        world.all_on();
        // From a leaf, and from a root that contributes (CL-6).
        for root in [false, true] {
            // Wait counts that no sum here reaches.
            let (tree, parent) = world.plant_with((1 << 20) - 1, root);
            let port = if root { parent } else { (parent + 1) % PORTS };
            let key = Key { tree, reduction: 3 };
            let arm = world.frame(key, true, Op::ALL[0]);
            world.send(parent, &arm.to_bytes(world.ethertype));
            for bit in 0..8 * arm.to_bytes(world.ethertype).len() {
                let mut raw = world
                    .frame(key, false, Op::ALL[0])
                    .to_bytes(world.ethertype)
                    .to_vec();
                raw[bit / 8] ^= 1 << (bit % 8);
                world.send(port, &raw);
            }
            // Another destination than that of the Ethernet header, and a checksum that fits it.
            for bit in 0..32 {
                let mut one = world.frame(key, false, Op::ALL[0]);
                one.fabric.dfa.0 ^= 1 << bit;
                let mut raw = one.to_bytes(world.ethertype).to_vec();
                raw[..6].copy_from_slice(&key.address().mac());
                world.send(port, &raw);
            }
            world.compare_counters();
        }
    }
}

/// Frames without a gap that all end alike: a counter goes up with each of them, more than once between two visits.
#[test]
fn red_09_red_11_red_13_red_14_events_back_to_back_are_all_counted() {
    let library = library();
    for seed in seeds(3) {
        let mut world = World::new(seed, &library);
        world.all_on();
        world.seqno = 5;
        let (endless, parent) = world.plant((1 << 20) - 1);
        let child = (parent + 1) % PORTS;
        let all = |world: &mut World, port: usize, change: &dyn Fn(&mut Frame)| {
            let frames: Vec<Frame> = (0..8)
                .map(|reduction| {
                    let key = Key {
                        tree: endless,
                        reduction,
                    };
                    let mut frame = world.frame(key, false, Op::IntSum);
                    change(&mut frame);
                    frame
                })
                .collect();
            world.burst(port, &frames);
        };
        // Armed, armed again, and as many more as there are no descriptors for.
        all(&mut world, parent, &|f| f.red.arm = true);
        all(&mut world, parent, &|f| {
            (f.red.arm, f.red.seqno) = (true, 6)
        });
        let other = world.plant_at(parent, 1);
        let key = |reduction| Key {
            tree: other,
            reduction,
        };
        let arms: Vec<Frame> = (0..8).map(|r| world.frame(key(r), true, Op::Or)).collect();
        world.burst(parent, &arms);
        // Upwards: an arm frame; of another job; old; of another group; newer; combined; of another operation.
        all(&mut world, child, &|f| f.red.arm = true);
        all(&mut world, child, &|f| f.fabric.vni ^= 0x100);
        all(&mut world, child, &|f| f.red.seqno = 3);
        all(&mut world, child, &|f| f.red.cookie ^= 0x100);
        all(&mut world, child, &|f| f.red.seqno = 7);
        all(&mut world, child, &|f| f.red.seqno = 6);
        all(&mut world, child, &|f| {
            (f.red.seqno, f.red.op) = (6, Op::Xor)
        });
        // Released, and then nothing to do.
        all(&mut world, parent, &|f| f.red.seqno = 6);
        all(&mut world, parent, &|f| f.red.seqno = 6);
        // Results, each with more contributions than were to come.
        world.burst(parent, &arms);
        let over: Vec<Frame> = arms
            .iter()
            .map(|arm| {
                let mut up = *arm;
                (up.red.arm, up.red.count) = (false, 2);
                up
            })
            .collect();
        world.burst(child, &over);
    }
}

/// All descriptors of an engine armed at once, some with a contribution: they are given up in one go, while frames that pass
/// wait, in odd and in even clocks, and each is counted.
#[test]
fn red_12_descriptors_that_expire_together_are_all_counted() {
    let library = library();
    // Frames come every 12 clocks: the last one before the gap begins in any of them.
    let offsets = (0..12).map(|offset| (8, offset));
    for (with, offset) in offsets.chain([(0, 1), (4, 2)]) {
        let mut world = World::new(offset, &library);
        world.all_on();
        for timeout in [
            &regs::TIMEOUT0,
            &regs::TIMEOUT1,
            &regs::TIMEOUT2,
            &regs::TIMEOUT3,
        ] {
            world.bench.set(timeout, 2);
        }
        let (tree, parent) = world.plant((1 << 20) - 1);
        let frames = |world: &mut World, arm, count| -> Vec<Frame> {
            let keys = (0..count).map(|reduction| Key { tree, reduction });
            keys.map(|key| world.frame(key, arm, Op::IntSum)).collect()
        };
        let arms = frames(&mut world, true, 8);
        world.send_all(parent, &arms);
        let some = frames(&mut world, false, with);
        world.send_all((parent + 1) % PORTS, &some);
        assert_eq!(world.bench.model.in_use(), 8);
        let other = world.plant_at(parent, 1);
        let key = Key {
            tree: other,
            reduction: 0,
        };
        let last = world.bench.clocks + 4 * TIMEOUT_UNIT;
        while world.bench.clocks % 12 != offset {
            world.bench.clock();
        }
        let mut due = Vec::new();
        for _ in 0..280 {
            let raw = world
                .frame(key, false, Op::IntSum)
                .to_bytes(world.ethertype);
            let child = (parent + 1) % PORTS;
            world.bench.sources[child].push(&raw);
            let passed = world.bench.model.receive(child as u8, &raw, 0);
            due.extend(passed);
        }
        let passed = due.len();
        while world.bench.clocks < last || world.bench.clocks % TIMEOUT_UNIT != TIMEOUT_UNIT / 2 {
            world.bench.clock();
        }
        let now = world.bench.clocks;
        due.extend(world.bench.model.tick(now));
        assert_eq!(due.len() - passed, usize::from(with));
        world.left(due, &[]);
        assert_eq!(world.bench.model.in_use(), 0);
        world.compare_counters();
    }
}

/// Armed with each class of wait count; what has come in leaves when the timeout of that class is over.
#[test]
fn red_12_thresholds_and_timeouts_are_those_of_the_registers() {
    let library = library();
    for seed in seeds(6) {
        let mut world = World::new(seed, &library);
        world.all_on();
        let bench = &mut world.bench;
        let mut thresholds = [0; 3].map(|_| bench.rng.random_range(2..1 << 20));
        thresholds.sort();
        bench.set(&regs::THRESHOLD0, thresholds[0]);
        bench.set(&regs::THRESHOLD1, thresholds[1]);
        bench.set(&regs::THRESHOLD2, thresholds[2]);
        // All different, so each class is told from the others.
        let mut units = [0; 4];
        for i in 0..4 {
            units[i] = loop {
                let value = bench.rng.random_range(1..90);
                if !units.contains(&value) {
                    break value;
                }
            };
        }
        bench.set(&regs::TIMEOUT0, units[0]);
        bench.set(&regs::TIMEOUT1, units[1]);
        bench.set(&regs::TIMEOUT2, units[2]);
        bench.set(&regs::TIMEOUT3, units[3]);
        // On each side of each threshold.
        for threshold in thresholds {
            for wait in [threshold - 1, threshold] {
                let (tree, parent) = world.plant(wait);
                let key = Key {
                    tree,
                    reduction: world.bench.rng.random_range(0..2),
                };
                let arm = world.frame(key, true, Op::ALL[0]).to_bytes(world.ethertype);
                world.send(parent, &arm);
                let one = world.frame(key, false, Op::ALL[0]);
                if world.bench.rng.random_range(0..3) > 0 {
                    let raw = one.to_bytes(world.ethertype);
                    world.send((parent + 1) % PORTS, &raw);
                }
            }
        }
        let last = world.bench.clocks + 92 * TIMEOUT_UNIT;
        let mut expired = 0;
        while world.bench.clocks < last {
            // A unit begins at a multiple of 1,024 clocks after the reset; a look falls between.
            while world.bench.clocks % TIMEOUT_UNIT != TIMEOUT_UNIT / 2 {
                world.bench.clock();
            }
            world.bench.clock();
            let now = world.bench.clocks;
            let due = world.bench.model.tick(now);
            expired += due.len();
            world.left(due.into_iter().collect(), &[]);
        }
        assert!(expired > 0, "seed {seed}");
        assert_eq!(world.bench.model.in_use(), 0);
        world.compare_counters();
    }
}
