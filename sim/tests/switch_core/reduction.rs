//! Reduction frames on their way to the engines.

use std::panic::{AssertUnwindSafe, catch_unwind};

use rand::RngExt;
use tributary_hdl::catalog;
use tributary_protocol::red::wire::{DEFAULT_ETHERTYPE, Fabric, Reduction, Restricted};
use tributary_protocol::red::{Address, Frame, Key, Op, Rc, Tree};
use tributary_sim::verilate::Verilated;

use crate::bench::{Bench, PLAIN, sizes};
use crate::engine::Stored;
use crate::seeds;
use tributary_sim::testbench::profiles;
use tributary_sim::testbench::wrong::{self, Wrong};

/// Clocks from the edge that takes the last beat to the first word at eng_*.
const LATENCY: u64 = 5;

/// What an engine is to see: whether it goes down, frame, wait count.
type Expected = Vec<(bool, Vec<u8>, u32)>;

struct Trees {
    bench: Bench,
    entries: Vec<Option<Tree>>,
    expected: Vec<Expected>,
    /// Ports whose engine sees frames; ports that are enabled.
    engines: u64,
    enabled: u64,
    turned: Turned,
}

/// Frames from the parent port of a tree that has it among its children (CL-6).
#[derive(Clone, Copy, Debug, Default)]
struct Turned {
    /// Contributions for the engine, those that pass, those that count for no one.
    up: u64,
    passing: u64,
    malformed: u64,
    /// They go down: they arm, have another opcode, both.
    arms: u64,
    other: u64,
    both: u64,
}

impl std::ops::AddAssign for Turned {
    fn add_assign(&mut self, other: Self) {
        self.up += other.up;
        self.passing += other.passing;
        self.malformed += other.malformed;
        self.arms += other.arms;
        self.other += other.other;
        self.both += other.both;
    }
}

impl Trees {
    fn new(library: &Verilated, ports: usize, seed: u64) -> Self {
        let mut bench = Bench::new(library, ports, seed);
        let engines = match seed % 2 {
            0 => u64::MAX,
            _ => bench.rng.random_range(1..1 << ports),
        };
        bench.reduce(engines);
        let entries: Vec<Option<Tree>> = (0..64)
            .map(|tree| {
                let entry = (tree % 16 != 15).then(|| Tree {
                    parent: bench.rng.random_range(0..ports as u8),
                    children: bench.rng.random_range(0..1 << ports),
                    wait: match bench.rng.random_range(0..4) {
                        0 => 0,
                        1 => bench.rng.random_range(1..1 << 20),
                        _ => bench.rng.random_range(1..4),
                    },
                });
                bench.tree(tree, entry);
                entry
            })
            .collect();
        Self {
            bench,
            entries,
            expected: vec![Expected::new(); ports],
            engines,
            enabled: u64::MAX,
            turned: Turned::default(),
        }
    }

    fn enable(&mut self, mask: u64) {
        self.bench.drain();
        self.bench.enable(mask);
        self.enabled = mask;
    }

    fn frame(&mut self, input: usize) -> Vec<u8> {
        // Half of the frames are for trees that have their parent there, as far as there are any.
        let below: Vec<u16> = (0..64)
            .filter(|&tree| {
                self.entries[usize::from(tree)].is_some_and(|e| usize::from(e.parent) == input)
            })
            .collect();
        let rng = &mut self.bench.rng;
        let tree = match below.get(rng.random_range(0..below.len().max(1))) {
            Some(&tree) if rng.random() => tree,
            _ => rng.random_range(0..64),
        };
        // Most are contributions or arm; the other opcodes are one bit away from them, or any.
        let opcode = match rng.random_range(0..8) {
            0 => 1 << rng.random_range(0..4),
            1 => rng.random_range(0..16),
            _ => 0,
        };
        let ops = [
            0, 1, 2, 3, 0x10, 0x11, 0x12, 0x14, 0x20, 0x21, 0x22, 0x24, 0x25, 0x26, 0x28, 0x29,
        ];
        let ops: Vec<u8> = ops.into_iter().chain(0x2a..=0x30).collect();
        let key = Key {
            tree,
            reduction: rng.random_range(0..8),
        };
        let frame = Frame {
            fabric: Fabric {
                dscp: rng.random_range(0..64),
                ecn: rng.random_range(0..4),
                vni: rng.random(),
                spt_idx: rng.random_range(0..2048),
                r#try: rng.random_range(0..8),
                ttl: rng.random(),
                sfa: Address(rng.random()),
                dfa: key.address(),
            },
            restricted: Restricted {
                req_not_rsp: rng.random(),
                opcode,
                flush: rng.random(),
                pktid_ext: rng.random_range(0..4),
                index_ext: rng.random_range(0..32),
                remote_offset: rng.random_range(0..1 << 56),
                src_error: rng.random(),
            },
            red: Reduction {
                seqno: rng.random_range(0..1024),
                arm: rng.random(),
                op: Op::try_from(ops[rng.random_range(0..ops.len())]).unwrap(),
                count: rng.random_range(0..3),
                resno: rng.random_range(0..1024),
                rc: Rc::new(rng.random_range(0..16)),
                m: rng.random(),
                oflow: rng.random_range(0..4),
                pad: rng.random_range(0..8),
                cookie: rng.random(),
            },
            data: std::array::from_fn(|_| rng.random()),
        };
        let mut bytes = frame.to_bytes(DEFAULT_ETHERTYPE).to_vec();
        self.bench.sign(input, &mut bytes);
        bytes
    }

    fn push(&mut self, input: usize, frame: &[u8]) {
        self.bench.push(input, frame);
        let Ok(parsed) = Frame::parse(frame, DEFAULT_ETHERTYPE) else {
            return;
        };
        if self.enabled >> input & 1 == 0 {
            return;
        }
        let Some(key) = parsed.fabric.dfa.multicast().filter(|_| frame[0] == 3) else {
            return;
        };
        let Some(tree) = self.entries.get(usize::from(key.tree)).copied().flatten() else {
            return;
        };
        let seen = |down| (down, frame.to_vec(), tree.wait);
        let engine = tree.wait != 0 && self.engines >> tree.parent & 1 == 1;
        let from_parent = usize::from(tree.parent) == input;
        let turned = &mut self.turned;
        let turns = if from_parent && tree.children >> input & 1 == 1 {
            let (arms, other) = (parsed.red.arm, parsed.restricted.opcode != 0);
            *match (arms, other) {
                (true, true) => &mut turned.both,
                (true, false) => &mut turned.arms,
                (false, true) => &mut turned.other,
                _ if parsed.red.count == 0 => &mut turned.malformed,
                _ if engine => &mut turned.up,
                _ => &mut turned.passing,
            } += 1;
            !arms && !other
        } else {
            false
        };
        if !engine {
            return;
        }
        if from_parent && !turns {
            self.expected[input].push(seen(true));
        } else if tree.children >> input & 1 == 1
            && parsed.check_up().is_ok()
            && self.enabled >> tree.parent & 1 == 1
        {
            self.expected[usize::from(tree.parent)].push(seen(false));
        }
    }

    /// Frames of all inputs, and plain ones between them.
    fn traffic(&mut self, rounds: usize) {
        for _ in 0..rounds {
            for input in 0..4 {
                let mut frame = self.frame(input);
                // But for its ethertype a reduction frame.
                if self.bench.rng.random_range(0..8) == 0 {
                    frame[12..14].copy_from_slice(&PLAIN);
                }
                self.push(input, &frame);
                if self.bench.rng.random_range(0..4) == 0 {
                    let output = self.bench.rng.random_range(0..4);
                    let length = self.bench.rng.random_range(60..200);
                    self.bench.send_of(input, output, length);
                }
            }
            // Now and then, so that queues run full and empty.
            if self.bench.rng.random_range(0..3) != 0 {
                for _ in 0..40 {
                    self.bench.clock();
                }
            }
        }
    }

    fn finish(mut self) -> Bench {
        self.bench.finish();
        let seed = self.bench.seed;
        for (port, expected) in self.expected.iter_mut().enumerate() {
            let mut seen: Expected = self.bench.engines[port]
                .seen
                .iter()
                .map(|s| {
                    let bytes = s.bytes();
                    let vni = u16::from_be_bytes([bytes[18], bytes[19]]);
                    assert_eq!(s.place().0, vni, "VNI, seed {seed}");
                    // DMAC, and the same as DFA: both from the key.
                    assert_eq!(bytes[2..6], bytes[30..34]);
                    (s.down, bytes, s.wait())
                })
                .collect();
            let dropped: u64 = (0..self.bench.counts.len())
                .map(|i| self.bench.counts[i].full[port])
                .sum();
            seen.sort();
            expected.sort();
            if dropped == 0 {
                let differ = seen.iter().zip(&*expected).find(|(a, b)| a != b);
                assert!(differ.is_none(), "port {port}, seed {seed}: {differ:?}");
                assert_eq!(seen.len(), expected.len(), "port {port}, seed {seed}");
            } else {
                assert!(
                    seen.iter().all(|s| expected.contains(s)),
                    "port {port}, seed {seed}"
                );
            }
        }
        self.bench
    }
}

#[test]
fn reduction_frames_reach_the_engines_in_their_order_and_leave_as_they_came() {
    let library = Bench::library(4);
    let mut sum = Turned::default();
    profiles("core: frames to engines", |seed| {
        let mut trees = Trees::new(&library, 4, seed);
        trees.bench.stall();
        trees.traffic(700);
        let (turned, engines) = (trees.turned, trees.engines);
        assert!(turned.malformed > 0, "seed {seed}: {turned:?}");
        assert!(turned.arms > 10, "seed {seed}: {turned:?}");
        sum += turned;
        let bench = trees.finish();
        let seen: Vec<&Stored> = bench.engines.iter().flat_map(|e| &e.seen).collect();
        // Where few engines take part, most frames pass.
        for down in [false, true] {
            let count = seen.iter().filter(|s| s.down == down).count();
            let least = if engines == u64::MAX { 50 } else { 0 };
            assert!(count > least, "down {down}: {count}, seed {seed}");
        }
        seen.len() as u64
    });
    println!("{sum:?}");
    assert!(
        sum.up > 1000 && sum.passing > 1000 && sum.malformed > 1000 && sum.other > 1000,
        "{sum:?}"
    );
}

/// Each of them lets frames that enter at the parent port go a wrong way, or lets them be counted wrongly.
const WRONG: &[Wrong] = &[
    // What arms is a contribution; what has another opcode, whichever bit of it is looked at.
    ("red_check", "gives_reg <=", "opcode_0_reg"),
    ("red_check", "gives_reg <=", "!word_reg[10]"),
    ("red_check", "opcode_0_reg <=", "!(|word_reg[26:24])"),
    ("red_check", "opcode_0_reg <=", "!(|word_reg[27:25])"),
    // The entry does not say that the root contributes; the frame comes from a child.
    (
        "switch_rx",
        "t_turn_reg <=",
        "a_multicast_reg & from_parent_reg",
    ),
    ("switch_rx", "t_turn_reg <=", "a_multicast_reg & from_child"),
    // Plain frames turn too; nothing does.
    ("switch_rx", "turns =", "t_turn_reg & check_contributes"),
    ("switch_rx", "turns =", "1'b0"),
    // Children get copies, or are counted as disabled.
    ("switch_rx", "d_ports_reg <=", "home | t_ports_reg"),
    ("switch_rx", "d_turn_reg <=", "1'b0"),
    // A count of 0 is let through.
    (
        "switch_rx",
        "d_malformed_reg <=",
        "red_reg & (check_malformed | (check_no_count & !t_down_reg))",
    ),
    // What is for the engine on its way down goes up, or to the MAC; so does what goes up.
    (
        "switch_crosspoint",
        "w_kind =",
        "(w_entry[10:9] == 2'd2) ? 2'd1 : w_entry[10:9]",
    ),
    ("switch_crosspoint", "w_kind =", "w_entry[10:9] & 2'd1"),
    ("switch_out", "looked_s_1 =", "q_kind_1[1]"),
    ("switch_out", "looked_s_2 =", "q_kind_2[0]"),
    // Copies for other ports are taken for what their engine looks at; word 0 of a frame that is moved is stored, or a word behind its last.
    ("switch_rx", "d_up_reg <=", "red_reg & t_engine_reg"),
    ("switch_rx", "m_early =", "m_moved_reg"),
    ("switch_rx", "h_early =", "h_moved_reg"),
    ("switch_rx", "m_late =", "1'b1"),
    ("switch_rx", "h_late =", "1'b1"),
    // The last words of a frame are stored where the next one begins.
    ("switch_crosspoint", "place_reg <=", "base_reg + w_offset"),
    // Nothing is said to go down.
    ("switch_look", "m_down =", "1'b0"),
    // Two read one queue at the same time.
    ("switch_out", "looks_may =", "valids_m & looked_m"),
    ("switch_out", "line_may =", "valids_m & ~looked_m"),
];

/// Words that no queue reaches, and from there on the number of the error that is there.
const FIRST: u64 = 512;

#[test]
fn cl_06_contributions_of_a_root_that_go_wrong_ways_are_noticed() {
    let sizes = sizes(4);
    let choice = catalog::choose(
        "switch_core",
        &[("N", sizes.ports), ("U", sizes.nodes), ("T", sizes.trees)],
    )
    .unwrap();
    let design = choice.emit().unwrap();
    let port = ("cfg_ecn_words", 10);
    let library = wrong::library(&design.top, design.files(), port, FIRST, WRONG);
    let run = |words: u64| {
        let run = || {
            // One seed with all engines, one with some.
            for seed in [4, 7] {
                let mut trees = Trees::new(&library, 4, seed);
                trees.bench.rtl.mark_above(words as u16);
                trees.bench.stall();
                trees.enable(0b1110);
                trees.traffic(60);
                trees.enable(0b1111);
                trees.traffic(60);
                trees.finish();
            }
        };
        catch_unwind(AssertUnwindSafe(run)).map_err(|panic| {
            let text = panic.downcast_ref::<String>().cloned();
            text.unwrap_or_else(|| "a panic".into())
        })
    };
    // Without an error there is nothing to notice.
    run(0).unwrap();
    run(FIRST + WRONG.len() as u64).unwrap();
    wrong::every_is_noticed(WRONG, |number| run(FIRST + number));
}

/// IPv4's checksum made right again.
fn repair(frame: &mut [u8]) {
    frame[24..26].fill(0);
    let sum: u32 = frame[14..34]
        .chunks(2)
        .map(|c| u32::from(c[0]) << 8 | u32::from(c[1]))
        .sum();
    let sum = (sum & 0xffff) + (sum >> 16);
    let sum = !((sum & 0xffff) + (sum >> 16)) as u16;
    frame[24..26].copy_from_slice(&sum.to_be_bytes());
}

#[test]
fn every_bit_flipped_is_malformed_or_free_as_the_contract_says() {
    let library = Bench::library(4);
    for seed in seeds(3) {
        let mut trees = Trees::new(&library, 4, seed);
        trees.bench.pause(seed);
        for bit in 0..94 * 8 {
            for repaired in [false, true] {
                let input = (bit + seed as usize) % 4;
                let mut frame = trees.frame(input);
                frame[bit / 8] ^= 1 << (bit % 8);
                if repaired {
                    repair(&mut frame);
                }
                // The sender's mark is checked by the bench.
                if !(6..12).contains(&(bit / 8)) {
                    trees.push(input, &frame);
                }
            }
            if bit % 8 == 7 {
                trees.bench.drain();
            }
        }
        let bench = trees.finish();
        let malformed: u64 = bench.counts.iter().map(|c| c.reasons[2]).sum();
        let passed: u64 = bench.counts.iter().map(|c| c.reasons[0]).sum();
        println!("{malformed} malformed, {passed} passed, seed {seed}");
        assert!(malformed > 150 && passed > 200 && bench.dropped() == 0);
    }
}

#[test]
fn every_operation_count_and_length_is_malformed_or_not_as_the_contract_says() {
    let library = Bench::library(4);
    for seed in seeds(3) {
        let mut trees = Trees::new(&library, 4, seed);
        trees.bench.pause(seed);
        for round in 0..400 {
            for input in 0..4 {
                let mut frame = trees.frame(input);
                match round % 5 {
                    // Any op: bits 16:11 of the reduction header, its bytes 9 and 10.
                    0 => {
                        let op: u16 = trees.bench.rng.random_range(0..64);
                        let at = 14 + 36 + 9;
                        let old = u32::from_be_bytes([0, frame[at], frame[at + 1], frame[at + 2]]);
                        let new = old & !(0x3f << 11) | u32::from(op) << 11;
                        frame[at..at + 3].copy_from_slice(&new.to_be_bytes()[1..]);
                    }
                    1 => {
                        let length = trees.bench.rng.random_range(57..140);
                        frame.resize(length, 0x55);
                    }
                    // Another ethertype: plain, whatever the rest says.
                    2 => {
                        frame[12..14].copy_from_slice(&PLAIN);
                        frame[20..].fill(0xee);
                    }
                    // Some bytes, checksum right.
                    3 => {
                        for _ in 0..3 {
                            let at = trees.bench.rng.random_range(14..94);
                            frame[at] = trees.bench.rng.random();
                        }
                        repair(&mut frame);
                    }
                    _ => {}
                }
                if frame[12..14] == PLAIN {
                    trees.bench.push(input, &frame);
                } else {
                    trees.push(input, &frame);
                }
            }
            if round % 4 == 3 {
                trees.bench.drain();
            }
        }
        let bench = trees.finish();
        let malformed: u64 = bench.counts.iter().map(|c| c.reasons[2]).sum();
        assert!(malformed > 200 && bench.dropped() == 0, "{malformed}");
    }
}

/// An engine that has a word in every clock holds up no plain frame of its output, and is not held up by them: both have a half.
/// Frames up a tree that no engine looks at are as any others: each of three inputs has a third.
#[test]
fn frames_of_an_engine_without_a_pause_and_plain_frames_take_turns() {
    let library = Bench::library(4);
    for (seed, wait) in seeds(3).flat_map(|seed| [(seed, 0), (seed, 9)]) {
        let mut bench = Bench::new(&library, 4, seed);
        bench.reduce(u64::MAX);
        let output = seed as usize % 4;
        // Inputs 1 and 2 behind the output send up the tree, the third one plain frames.
        let inputs: Vec<usize> = (1..4).map(|i| (output + i) % 4).collect();
        let tree = Some(Tree {
            parent: output as u8,
            children: 0xf & !(1 << output),
            wait,
        });
        bench.tree(0, tree);
        let key = Key {
            tree: 0,
            reduction: 1,
        };
        for _ in 0..400 {
            for &input in &inputs[..2] {
                let mut up = contribution(key).to_bytes(DEFAULT_ETHERTYPE).to_vec();
                bench.sign(input, &mut up);
                bench.push(input, &up);
            }
            bench.send_of(inputs[2], output, 94);
        }
        for _ in 0..4_000 {
            bench.clock();
        }
        let mut each: Vec<u64> = inputs.iter().map(|&i| bench.delivered[i][output]).collect();
        if wait > 0 {
            each = vec![each[0] + each[1], each[2]];
        }
        let (least, most) = (each.iter().min().unwrap(), each.iter().max().unwrap());
        assert!(
            *least > 100 && most - least <= 4,
            "{each:?}, seed {seed}, wait count {wait}"
        );
        bench.finish();
    }
}

/// Frames of the engine wait behind the one that leaves; a plain frame that comes later leaves before them.
#[test]
fn a_plain_frame_waits_for_one_frame_of_the_engine_at_most() {
    let library = Bench::library(4);
    let mut bench = Bench::new(&library, 4, 0);
    bench.reduce(u64::MAX);
    let tree = Some(Tree {
        parent: 3,
        children: 0b111,
        wait: 9,
    });
    bench.tree(0, tree);
    let key = Key {
        tree: 0,
        reduction: 1,
    };
    for held in [0, 1, 5] {
        bench.blocked[3] = true;
        for _ in 0..3 {
            let mut up = contribution(key).to_bytes(DEFAULT_ETHERTYPE).to_vec();
            bench.sign(0, &mut up);
            bench.push(0, &up);
        }
        (0..100).for_each(|_| bench.clock());
        // The first one has begun to leave, or has not.
        bench.blocked[3] = false;
        (0..held).for_each(|_| bench.clock());
        bench.blocked[3] = true;
        bench.send_of(1, 3, 200);
        (0..100).for_each(|_| bench.clock());
        bench.blocked[3] = false;
        let before = [0, 1].map(|input| bench.delivered[input][3]);
        while bench.delivered[1][3] == before[1] {
            bench.clock();
        }
        let ahead = bench.delivered[0][3] - before[0];
        assert!(ahead <= 1, "{ahead} go first, held {held}");
        bench.drain();
    }
    bench.finish();
}

/// A contribution that counts for one.
fn contribution(key: Key) -> Frame {
    Frame {
        fabric: Fabric::new(Address::unicast(1, 1), key.address(), 9),
        restricted: Restricted::default(),
        red: Reduction {
            seqno: 1,
            arm: false,
            op: Op::IntSum,
            count: 1,
            resno: 1,
            rc: Rc::OK,
            m: 0,
            oflow: 0,
            pad: 0,
            cookie: 7,
        },
        data: [1, 2, 3, 4],
    }
}

#[test]
fn the_first_word_is_at_the_engine_five_clocks_after_the_last_beat() {
    let library = Bench::library(4);
    let mut trees = Trees::new(&library, 4, 0);
    for input in 0..4 {
        for _ in 0..20 {
            let frame = trees.frame(input);
            trees.push(input, &frame);
            let ports = 0..4;
            while !trees.bench.sources[input].is_empty() {
                trees.bench.clock();
            }
            let first = |bench: &Bench| {
                let mut outputs = ports.clone().map(|port| &bench.rtl.outputs[port]);
                outputs.any(|output| output.eng.is_some())
            };
            for _ in 0..LATENCY {
                trees.bench.clock();
                assert!(!first(&trees.bench));
            }
            trees.bench.clock();
            let expected = trees.expected.iter().map(Vec::len).sum::<usize>();
            let seen: usize = trees.bench.engines.iter().map(|e| e.seen.len()).sum();
            assert_eq!(first(&trees.bench), expected > seen, "port {input}");
            trees.bench.drain();
        }
    }
    trees.finish();
}

/// What arms comes by the port's own queue, and contributions to it must not be at the engine before it.
#[test]
fn red_16_what_comes_from_the_root_goes_to_the_engine_before_contributions_that_wait() {
    let library = Bench::library(4);
    for parent in 0..4 {
        let mut bench = Bench::new(&library, 4, 0);
        bench.reduce(u64::MAX);
        let tree = Tree {
            parent: parent as u8,
            children: 0b1111 & !(1 << parent),
            wait: 9,
        };
        bench.tree(0, Some(tree));
        bench.engines[parent].closed = true;
        let key = Key {
            tree: 0,
            reduction: 1,
        };
        let send = |bench: &mut Bench, input: usize| {
            let mut frame = contribution(key).to_bytes(DEFAULT_ETHERTYPE).to_vec();
            bench.sign(input, &mut frame);
            bench.push(input, &frame);
            (0..60).for_each(|_| bench.clock());
        };
        for _ in 0..3 {
            (0..4)
                .filter(|&i| i != parent)
                .for_each(|i| send(&mut bench, i));
        }
        (0..2).for_each(|_| send(&mut bench, parent));
        bench.engines[parent].closed = false;
        bench.finish();
        // One had been chosen before. All others take turns as if there had been nothing between them.
        let seen = bench.engines[parent].seen.iter();
        let came: Vec<_> = seen.map(|frame| (frame.down, frame.source())).collect();
        let downs: Vec<bool> = came.iter().map(|(down, _)| *down).collect();
        assert_eq!(downs[..4], [false, true, true, false], "{came:?}");
        let ups: Vec<usize> = came.iter().filter(|(down, _)| !down).map(|c| c.1).collect();
        assert_eq!((ups.len(), &ups[..3]), (9, &ups[3..6]), "{came:?}");
        assert!(
            (0..4).all(|i| i == parent || ups[..3].contains(&i)),
            "{came:?}"
        );
    }
}

#[test]
fn a_reduction_frame_that_no_engine_looks_at_leaves_eight_clocks_after_its_last_beat() {
    let library = Bench::library(4);
    let mut bench = Bench::new(&library, 4, 0);
    bench.reduce(u64::MAX);
    // Down to two children, past the engine of the parent port; up without a wait count.
    let tree = |parent, wait| {
        Some(Tree {
            parent,
            children: 0b1111 & !(1 << parent),
            wait,
        })
    };
    bench.tree(0, tree(2, 3));
    bench.tree(1, tree(3, 0));
    for (tree, input, outputs) in [(0, 2, &[0, 1, 3][..]), (1, 0, &[3])] {
        for _ in 0..3 {
            let key = Key { tree, reduction: 5 };
            let mut frame = contribution(key).to_bytes(DEFAULT_ETHERTYPE).to_vec();
            bench.sign(input, &mut frame);
            bench.push(input, &frame);
            while !bench.sources[input].is_empty() {
                bench.clock();
            }
            let shown = |bench: &Bench| -> Vec<usize> {
                let is_shown = |port: &usize| bench.rtl.outputs[*port].shown.is_some();
                (0..4).filter(is_shown).collect()
            };
            for _ in 0..8 {
                bench.clock();
                assert!(shown(&bench).is_empty());
            }
            bench.clock();
            assert_eq!(shown(&bench), outputs);
            bench.drain();
        }
    }
    bench.finish();
}
