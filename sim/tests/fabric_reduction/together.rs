//! Contributions that come to one switch at once, clock by clock: taken together, one after another, in turn.

use std::collections::{BTreeMap, VecDeque};

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use tributary_protocol::red::{
    Address, Counter, Frame, Key, Op, Rc, Tree, Value,
    wire::{DEFAULT_ETHERTYPE, Fabric as Header, Reduction, Restricted},
};
use tributary_sim::fabric::{
    Fabric, GroupConfig, LinkSpec, ModelSwitch, Simulator, SwitchNode, SwitchSpec,
    timing::{
        ASIDE_CLOCKS, ENGINE_CLOCKS, LINE_CLOCKS, OTHER_READER_CLOCKS, PASS_CLOCKS, STORED_WORDS,
        TO_ENGINE_CLOCKS, together_clocks,
    },
};

use crate::common::{agreed, contribute_all, finish};

const TREE: u16 = 1;
/// A tree without a wait count: its frames pass.
const PLAIN_TREE: u16 = 2;
const SEQNO: u16 = 5;
/// When contributions come.
const AT: u64 = 1_000;
/// When they can begin at the engine.
const BEGIN: u64 = AT + TO_ENGINE_CLOCKS;

fn frame(tree: u16, source: u32, word: u64) -> Frame {
    let key = Key { tree, reduction: 0 };
    Frame {
        fabric: Header::new(Address::unicast(source, 0), key.address(), 7),
        restricted: Restricted::default(),
        red: Reduction {
            seqno: SEQNO,
            arm: false,
            op: Op::IntSum,
            count: 1,
            resno: SEQNO,
            rc: Rc::OK,
            m: 0,
            oflow: 0,
            pad: 0,
            cookie: 0x1234,
        },
        data: [word, 0, 0, 0],
    }
}

/// The contribution of the endpoint at a port: what it adds to a sum shows whose it is.
fn contribution(port: u8) -> Frame {
    frame(TREE, port.into(), 1 << port)
}

/// A switch whose port 0 leads to the root and all others to endpoints.
struct Bench {
    switch: ModelSwitch,
    coming: BTreeMap<(u64, usize), (u8, Vec<u8>)>,
    /// Clock, port and frame of what has left.
    left: Vec<(u64, u8, Frame)>,
}

impl Bench {
    fn new(ports: u8, wait: u32) -> Self {
        let spec = SwitchSpec::new("s", ports);
        let mut switch = ModelSwitch::new(0, &spec, 4, 2).unwrap();
        for (tree, wait) in [(TREE, wait), (PLAIN_TREE, 0)] {
            let entry = Tree {
                parent: 0,
                children: (1 << ports) - 2,
                wait,
            };
            switch.set_multicast(tree, Some(entry)).unwrap();
        }
        Self {
            switch,
            coming: BTreeMap::new(),
            left: vec![],
        }
    }

    /// The last word of a frame stands at a port.
    fn give(&mut self, at: u64, port: u8, frame: &Frame) {
        let bytes = frame.to_bytes(DEFAULT_ETHERTYPE).to_vec();
        self.coming.insert((at, self.coming.len()), (port, bytes));
    }

    fn arm(&mut self) {
        let mut arm = frame(TREE, 99, 0);
        (arm.red.arm, arm.red.count) = (true, 0);
        self.give(100, 0, &arm);
    }

    fn run(&mut self, until: u64) {
        let mut now = 0;
        loop {
            let arrives = self.coming.first_key_value().map(|(at, _)| at.0);
            let wakes = self.switch.wake(now).map(|at| at.max(now));
            let Some(next) = arrives.into_iter().chain(wakes).min() else {
                return;
            };
            if next > until {
                return;
            }
            now = next;
            while let Some(entry) = self.coming.first_entry().filter(|e| e.key().0 == now) {
                let (port, bytes) = entry.remove();
                self.switch.arrive(port, &bytes, false, now);
            }
            let mut leave = vec![];
            self.switch.run(now, &mut leave).unwrap();
            for departure in leave {
                let frame = Frame::parse(&departure.bytes, DEFAULT_ETHERTYPE).unwrap();
                self.left.push((departure.start, departure.port, frame));
            }
        }
    }

    /// What left upwards: clock, and who is in it.
    fn up(&mut self) -> Vec<(u64, u64)> {
        self.run(60_000);
        let up = self.left.iter().filter(|(_, port, _)| *port == 0);
        up.map(|(at, _, frame)| (*at, frame.data[0])).collect()
    }
}

fn all(ports: impl IntoIterator<Item = u8>) -> u64 {
    ports.into_iter().map(|port| 1 << port).sum()
}

#[test]
fn red_09_contributions_that_come_at_once_are_taken_together() {
    for k in 3..=16 {
        let ports = k as u8 + 2;
        for held in [false, true] {
            let mut bench = Bench::new(ports, k as u32 + u32::from(held));
            bench.arm();
            if held {
                bench.give(AT - 100, ports - 1, &contribution(ports - 1));
            }
            for port in 1..=k as u8 {
                bench.give(AT, port, &contribution(port));
            }
            let last = if held { ports } else { ports - 1 };
            let result = BEGIN + together_clocks(k, !held) + ENGINE_CLOCKS;
            assert_eq!(bench.up(), [(result, all(1..last))], "{k}, {held}");
            let combined = bench.switch.count(Counter::Combined);
            assert_eq!(combined, k as u64 + u64::from(held));
        }
    }
}

#[test]
fn red_09_two_at_once_and_longer_ones_follow_each_other() {
    let result = |k: u8, long: bool| {
        let mut bench = Bench::new(k + 1, k.into());
        bench.arm();
        for port in 1..=k {
            let mut frame = contribution(port);
            frame.data[3] = u64::from(long);
            bench.give(AT, port, &frame);
        }
        let [(at, _)] = bench.up()[..] else {
            panic!("one result");
        };
        at - BEGIN - ENGINE_CLOCKS
    };
    assert_eq!(result(2, false), STORED_WORDS);
    for k in 1..9 {
        assert_eq!(result(k, true), STORED_WORDS * u64::from(k - 1));
    }
}

/// All begin in one clock: they come at once to the leaf switches, of which the root's has one less, and to the spine.
#[test]
fn red_09_an_all_reduce_of_one_word_is_shorter_by_what_its_contributions_wait() {
    for ports in [4, 8, 16] {
        let clocks = |words: usize| {
            let fabric = Fabric::regular(&[ports, ports], LinkSpec::default()).unwrap();
            let mut sim = Simulator::new(fabric, 1).unwrap();
            let group = sim.add_group(0, &GroupConfig::default()).unwrap();
            let mut value = Value::default();
            value.data[..words].fill(1);
            contribute_all(&mut sim, group, 0, Op::IntSum, |_| value, |_| 10_000);
            finish(&mut sim, group, 0, |_| true);
            let outcome = agreed(&sim, group, 0);
            let all = (ports * ports) as u64;
            assert_eq!(outcome.value.data, value.data.map(|word| word * all));
            let ends = sim.group_endpoints(group).iter();
            let ends = ends.map(|&e| sim.outcome(group, e, 0).unwrap().0);
            ends.max().unwrap()
        };
        let saved = |k: usize| (k as u64 - 1) * STORED_WORDS - together_clocks(k, true);
        assert_eq!(clocks(2) - clocks(1), saved(ports) + saved(ports - 1));
    }
}

/// Sixteen are taken at once; those that were compared with them go next, before one that has come since by a lower port, and
/// are taken together again.
#[test]
fn red_09_more_than_sixteen_are_taken_in_turns() {
    let mut bench = Bench::new(24, 21);
    bench.arm();
    for port in 2..22 {
        bench.give(AT, port, &contribution(port));
    }
    bench.give(AT + 2, 1, &contribution(1));
    let second = BEGIN + together_clocks(16, true) + STORED_WORDS;
    let third = second + together_clocks(4, false) + STORED_WORDS;
    assert_eq!(bench.up(), [(third + ENGINE_CLOCKS, all(1..22))]);
    assert_eq!(bench.switch.count(Counter::Combined), 21);
}

#[test]
fn red_16_what_is_not_taken_passes_one_after_another_before_what_comes_later() {
    let mut bench = Bench::new(6, 3);
    for port in 2..5 {
        bench.give(AT, port, &contribution(port));
    }
    // Behind one of them, and by a lower port.
    bench.give(AT + 12, 4, &frame(TREE, 4, 7));
    bench.give(AT + 2, 1, &contribution(1));
    let at = |place: u64| BEGIN + place * STORED_WORDS + PASS_CLOCKS;
    // Then in turn behind the first one.
    let order = [1 << 2, 1 << 3, 1 << 4, 7, 1 << 1];
    let wanted: Vec<_> = (0..).zip(order).map(|(n, word)| (at(n), word)).collect();
    assert_eq!(bench.up(), wanted);
    assert_eq!(bench.switch.count(Counter::Passed), 5);
}

/// The same descriptor, another count: those that do not go with the first one are taken together after it.
#[test]
fn red_11_contributions_of_two_counts_are_taken_in_two_groups() {
    let mut bench = Bench::new(8, 9);
    bench.arm();
    for port in 1..7 {
        let mut frame = contribution(port);
        frame.red.count = if port % 2 == 0 { 2 } else { 1 };
        bench.give(AT, port, &frame);
    }
    let second = BEGIN + together_clocks(3, true) + STORED_WORDS;
    let result = second + together_clocks(3, false) + ENGINE_CLOCKS;
    assert_eq!(bench.up(), [(result, all(1..7))]);
    let sum = bench.left.last().unwrap().2.red;
    assert_eq!((sum.count, sum.rc), (9, Rc::OK));
}

/// With one other that goes with it a contribution is alone, and the others follow by port, in front of a contribution to another
/// tree that has waited as long.
#[test]
fn red_09_with_one_other_of_its_kind_nothing_is_taken() {
    let mut bench = Bench::new(8, 9);
    for port in [1, 3, 4, 6] {
        let mut frame = contribution(port);
        frame.red.count = if port > 3 { 2 } else { 1 };
        bench.give(AT, port, &frame);
    }
    let mut other = contribution(2);
    other.red.cookie = 1;
    bench.give(AT, 2, &other);
    let words: Vec<u64> = bench.up().iter().map(|(_, word)| *word).collect();
    assert_eq!(words, [1, 3, 4, 6, 2].map(|port| 1 << port));
}

/// A frame that no engine looks at waits until what is before it in its queue has left, taken together or alone. Here frames leave
/// the switch in a clock.
#[test]
fn red_09_frames_that_pass_keep_their_place_in_the_queue() {
    let mut bench = Bench::new(6, 3);
    bench.arm();
    for port in 1..4 {
        bench.give(AT, port, &contribution(port));
    }
    for port in 1..5 {
        bench.give(AT + 1, port, &frame(PLAIN_TREE, 9, 100 + u64::from(port)));
    }
    let result = BEGIN + together_clocks(3, true) + ENGINE_CLOCKS;
    let first = BEGIN + STORED_WORDS + OTHER_READER_CLOCKS;
    // Port 4 has nothing before it.
    let alone = BEGIN + 1;
    let aside = BEGIN + ASIDE_CLOCKS + 2 + OTHER_READER_CLOCKS;
    let mut wanted = vec![
        (alone + LINE_CLOCKS, 104),
        (first + LINE_CLOCKS, 101),
        (aside + LINE_CLOCKS, 102),
        (aside + LINE_CLOCKS + 1, 103),
        (result, all(1..4)),
    ];
    wanted.sort_unstable();
    assert_eq!(bench.up(), wanted);
}

/// Bursts of all kinds, brief and long, of four reductions of which two are armed, and frames that pass: what went in comes out,
/// in a result or by itself, and frames of one port and one way keep their order.
#[test]
fn red_16_every_contribution_is_in_one_frame_that_leaves() {
    for seed in 0..30 {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut below = |bound: u64| rng.next_u64() % bound;
        let ports = 3 + below(18) as u8;
        let mut bench = Bench::new(ports, 1 + below(40) as u32);
        for reduction in 0..2 {
            let mut arm = frame(TREE, 99, 0);
            (arm.red.arm, arm.red.count) = (true, 0);
            arm.fabric.dfa = Key {
                tree: TREE,
                reduction,
            }
            .address();
            bench.give(100 + 20 * u64::from(reduction), 0, &arm);
        }
        let mut given = 0;
        let mut order: BTreeMap<(u32, Address), VecDeque<u64>> = BTreeMap::new();
        for burst in 0..20 {
            for port in 1..ports {
                for number in 0..below(3) {
                    let reduction = below(3) as u8;
                    let tree = if below(8) == 0 { PLAIN_TREE } else { TREE };
                    let mut one = frame(tree, port.into(), below(1 << 20));
                    one.fabric.dfa = Key { tree, reduction }.address();
                    one.red.count = 1 + (below(6) / 5) as u32;
                    one.data[3] = below(4) / 3;
                    one.restricted.remote_offset = given;
                    bench.give(AT + 300 * burst + 13 * number + below(2), port, &one);
                    given += u64::from(one.red.count);
                    let to = order.entry((port.into(), one.fabric.dfa)).or_default();
                    to.push_back(one.restricted.remote_offset);
                }
            }
        }
        bench.run(400_000);
        let left = bench.left.iter().filter(|(_, port, _)| *port == 0);
        let counts = left.clone().map(|(_, _, f)| u64::from(f.red.count));
        assert_eq!(counts.sum::<u64>(), given, "seed {seed}");
        assert_eq!(bench.switch.in_use(), 0);
        for (_, _, frame) in left {
            // Results are of the switch's own address.
            let source = (frame.fabric.sfa.node(), frame.fabric.dfa);
            if let Some(queue) = order.get_mut(&source) {
                let number = frame.restricted.remote_offset;
                let place = queue.iter().position(|&n| n == number);
                let place = place.unwrap_or_else(|| panic!("seed {seed}: {number} overtaken"));
                queue.drain(..=place);
            }
        }
        for (counter, none) in [(Counter::QueueFull, 0), (Counter::OldSeqno, 0)] {
            assert_eq!(bench.switch.count(counter), none, "seed {seed}");
        }
    }
}
