//! Many reductions at once, beside plain frames, while the MACs stall: every frame that leaves is one that leaves the
//! model, and none is missing.
//!
//! Each tree has one reduction under way for each of its numbers: its root arms it, a member contributes when the arm
//! frame has reached it and the engine, and the root arms again when it has the result. Of every second tree the root
//! contributes too, by the port that it arms by (CL-6). So no more descriptors are wanted
//! than there are, no queue runs full, and what comes out does not depend on who waits for whom.
//! Long form:
//!
//! ```sh
//! TRIBUTARY_FRAMES=1000000 cargo test --release -p tributary-sim --test red_switch -- --nocapture under_every_profile
//! ```

use std::collections::VecDeque;

use rand::{RngExt, SeedableRng, rngs::SmallRng};
use tributary_protocol::red::{
    Frame, Key, Op, PortSettings, Switch, SwitchConfig, Tree, seqno_after, wire::DEFAULT_ETHERTYPE,
};
use tributary_sim::{
    switch::Beat,
    testbench::{PROFILES, Profile, Stalls, profiles},
};

use super::{Bench, N, address, bytes, config, frame};

/// Clocks of a seed in which frames go in.
const CLOCKS: u64 = 12_000;
/// Trees of each root, and reductions of each tree: together as many as an engine has descriptors.
const TREES: usize = 2;
const REDUCTIONS: usize = 4;
/// Plain frames on their way from one port to another.
const PLAIN: usize = 3;

/// Operations whose result does not depend on who comes first.
const ANY_ORDER: [Op; 9] = [
    Op::IntSum,
    Op::IntMin,
    Op::IntMax,
    Op::And,
    Op::Or,
    Op::Xor,
    Op::Int32Sum,
    Op::Int32Min,
    Op::Int32Max,
];

struct World {
    bench: Bench,
    model: Switch,
    rng: SmallRng,
    stalls: Stalls,
    pauses: Stalls,
    /// Reduction frames that are to leave, by port; plain frames, by input and output.
    expected: [Vec<Vec<u8>>; N],
    plain: [[VecDeque<Vec<u8>>; N]; N],
    /// Each tree, and the arm frame under way of each of its reductions.
    trees: Vec<(Tree, [Frame; REDUCTIONS])>,
    /// Arm frames of each root, and which of them that of a reduction was.
    armed: [u64; N],
    turn: Vec<[u64; REDUCTIONS]>,
    /// Members that have the arm frame: port, tree, reduction.
    members: Vec<(usize, usize, usize)>,
    /// Beats that stand at the outputs untaken.
    waiting: [Option<Beat>; N],
    left: u64,
    /// Contributions of roots.
    turned: u64,
    place: String,
}

impl World {
    fn new(seed: u64) -> Self {
        let mut rng = SmallRng::seed_from_u64(seed);
        let mut bench = Bench::new();
        let mut model = Switch::new(SwitchConfig {
            ports: N as u8,
            unicast_bits: 6,
            multicast_bits: 6,
            engine: config(),
        })
        .unwrap();
        let mut trees = vec![];
        for i in 0..N {
            let settings = PortSettings {
                enable: true,
                engine: true,
                address: address(i),
            };
            model.set_port(i as u8, settings).unwrap();
            model.set_unicast(i as u32, Some(i as u8)).unwrap();
            bench.rtl.write_unicast(i as u32, Some(i as u8)).unwrap();
            for at in 0..TREES {
                let others = 0xf & !(1 << i);
                let children = (rng.random_range(1..16u64) & others).max(others & (!others + 1));
                let children = children | (at as u64 % 2) << i;
                let tree = Tree {
                    parent: i as u8,
                    children,
                    wait: children.count_ones(),
                };
                let number = trees.len() as u16;
                bench.rtl.write_multicast(number, Some(tree)).unwrap();
                model.set_multicast(number, Some(tree)).unwrap();
                let arms = std::array::from_fn(|reduction| {
                    let key = Key {
                        tree: number,
                        reduction: reduction as u8,
                    };
                    frame(key, true, 1, Op::IntSum, [0; 4], i as u32)
                });
                trees.push((tree, arms));
            }
        }
        let profile = Profile::of_seed(seed);
        Self {
            bench,
            model,
            rng,
            stalls: Stalls::new(profile, seed, N),
            pauses: Stalls::new(
                Profile::of_seed(5 * seed + 4 + seed / PROFILES.len() as u64),
                seed,
                N,
            )
            .stream(1),
            expected: Default::default(),
            plain: Default::default(),
            armed: [0; N],
            turn: vec![[0; REDUCTIONS]; trees.len()],
            members: vec![],
            trees,
            waiting: [None; N],
            left: 0,
            turned: 0,
            place: format!("seed {seed}, {profile}"),
        }
    }

    /// A frame goes in; the model says what leaves.
    fn push(&mut self, input: usize, frame: &Frame) {
        let raw = bytes(frame);
        for (port, bytes) in self.model.receive(input as u8, &raw, 0) {
            self.expected[usize::from(port)].push(bytes);
        }
        self.bench.sources[input].push(&raw);
    }

    /// The root of a tree begins the next reduction.
    fn arm(&mut self, tree: usize, reduction: usize) {
        let (entry, arms) = &mut self.trees[tree];
        let single = entry.wait == 1;
        let arm = &mut arms[reduction];
        arm.red.seqno = seqno_after(arm.red.seqno);
        arm.red.resno = arm.red.seqno;
        arm.red.op = if single {
            Op::ALL[self.rng.random_range(0..Op::ALL.len())]
        } else {
            ANY_ORDER[self.rng.random_range(0..ANY_ORDER.len())]
        };
        let (root, arm) = (usize::from(entry.parent), *arm);
        self.armed[root] += 1;
        self.turn[tree][reduction] = self.armed[root];
        self.push(root, &arm);
        if self.trees[tree].0.children >> root & 1 == 1 {
            self.members.push((root, tree, reduction));
        }
    }

    /// Members contribute to what is armed: one that comes sooner than the arm frame passes.
    fn contribute(&mut self) {
        let members = std::mem::take(&mut self.members);
        for (port, tree, reduction) in members {
            let root = usize::from(self.trees[tree].0.parent);
            if self.bench.rtl.armed[root] < self.turn[tree][reduction] {
                self.members.push((port, tree, reduction));
            } else {
                self.add(port, self.trees[tree].1[reduction]);
            }
        }
    }

    fn add(&mut self, port: usize, mut one: Frame) {
        let op = one.red.op;
        one.red.arm = false;
        one.data = if op == Op::IntSum {
            // Codes would depend on the order.
            std::array::from_fn(|_| self.rng.random_range(0..1 << 60))
        } else if op == Op::Int32Sum {
            std::array::from_fn(|_| self.rng.random::<u64>() & 0x0fff_ffff_0fff_ffff)
        } else {
            self.rng.random()
        };
        self.turned += u64::from(self.model.turns(port as u8, &bytes(&one)));
        self.push(port, &one);
    }

    fn clock(&mut self, goes_on: bool) {
        self.stalls.clock();
        self.pauses.clock();
        for i in 0..N {
            self.bench.rtl.tx_ready[i] = self.stalls.ready(i);
            let beat = self.bench.sources[i].front();
            let last = beat.is_some_and(|b| b.last);
            self.pauses.observe(i, beat.is_some(), last);
            self.bench.open[i] = self.pauses.ready(i);
        }
        self.bench.clock();
        for i in 0..N {
            let shown = self.bench.rtl.shown[i];
            if self.waiting[i].is_some() {
                assert_eq!(shown, self.waiting[i], "port {i}, {}", self.place);
            }
            self.waiting[i] = shown.filter(|_| !self.stalls.ready(i));
            let last = shown.is_some_and(|b| b.last);
            self.stalls.observe(i, shown.is_some(), last);
        }
        for (port, frame, _) in std::mem::take(&mut self.bench.sent) {
            self.left += 1;
            self.leaves(port, &frame, goes_on);
        }
        self.contribute();
    }

    fn leaves(&mut self, port: usize, raw: &[u8], goes_on: bool) {
        let place = format!("port {port}, clock {}, {}", self.bench.clock, self.place);
        if raw[12..14] == [0x12, 0x34] {
            let queue = &mut self.plain[usize::from(raw[6])][port];
            assert_eq!(queue.pop_front().as_deref(), Some(raw), "{place}");
            return;
        }
        let frame = Frame::parse(raw, DEFAULT_ETHERTYPE).unwrap();
        let expected = &mut self.expected[port];
        let Some(found) = expected.iter().position(|bytes| bytes == raw) else {
            let key = frame.fabric.dfa;
            let near = expected.iter().filter(|b| b[2..6] == raw[2..6]);
            let near: Vec<_> = near.map(|b| Frame::parse(b, DEFAULT_ETHERTYPE)).collect();
            panic!("{place}: nobody expects {frame:?}\nof {key:?} {near:?}");
        };
        expected.swap_remove(found);
        let key = frame.fabric.dfa.multicast().unwrap();
        let (tree, reduction) = (usize::from(key.tree), usize::from(key.reduction));
        if frame.red.arm {
            self.members.push((port, tree, reduction));
        } else if goes_on {
            self.arm(tree, reduction);
        }
    }

    /// A plain frame, if not too many are under way.
    fn plain(&mut self) {
        let (from, to) = (self.rng.random_range(0..N), self.rng.random_range(0..N));
        if from == to || self.plain[from][to].len() >= PLAIN {
            return;
        }
        let length = self.rng.random_range(60..400);
        let mut raw: Vec<u8> = (0..length).map(|_| self.rng.random()).collect();
        let mac = tributary_protocol::red::Address::unicast(to as u32, 0).mac();
        raw[..6].copy_from_slice(&mac);
        raw[6] = from as u8;
        raw[12..14].copy_from_slice(&[0x12, 0x34]);
        self.bench.sources[from].push(&raw);
        self.plain[from][to].push_back(raw);
    }

    fn is_idle(&self) -> bool {
        self.expected.iter().all(Vec::is_empty)
            && self.plain.iter().flatten().all(VecDeque::is_empty)
    }
}

fn run(seed: u64, turned: &mut u64) -> u64 {
    let mut world = World::new(seed);
    for tree in 0..world.trees.len() {
        for reduction in 0..REDUCTIONS {
            world.arm(tree, reduction);
        }
    }
    let often = [8, 60, 1000][(seed / 2 % 3) as usize];
    while world.bench.clock < CLOCKS {
        if world.rng.random_range(0..often) == 0 {
            world.plain();
        }
        world.clock(true);
    }
    let limit = world.bench.clock + 400 * u64::from(world.stalls.profile().pause()) + 100_000;
    while !world.is_idle() {
        world.clock(false);
        let missing: Vec<usize> = world.expected.iter().map(Vec::len).collect();
        assert!(
            world.bench.clock < limit,
            "missing {missing:?}, {}",
            world.place
        );
    }
    for _ in 0..200 {
        world.clock(false);
    }
    assert_eq!(world.bench.rtl.queue_full, 0, "{}", world.place);
    assert_eq!(world.bench.rtl.in_use(), 0, "{}", world.place);
    assert!(world.left > 60, "{} frames, {}", world.left, world.place);
    *turned += world.turned;
    world.left
}

#[test]
fn red_10_red_15_red_17_reductions_at_once_under_every_profile_of_stalls() {
    let mut turned = 0;
    profiles("reducing switch: frames", |seed| run(seed, &mut turned));
    println!("{turned} contributions of roots");
    assert!(turned > 100, "{turned}");
}
