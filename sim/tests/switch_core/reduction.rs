//! Reduction frames on their way to the engines.

use rand::RngExt;
use tributary_protocol::red::wire::{DEFAULT_ETHERTYPE, Fabric, Reduction, Restricted};
use tributary_protocol::red::{Address, Frame, Key, Op, Rc, Tree};
use tributary_sim::verilate::Verilated;

use crate::bench::{Bench, PLAIN};
use crate::engine::Stored;
use crate::seeds;
use tributary_sim::testbench::profiles;

/// Clocks from the edge that takes the last beat to the first word at eng_*.
const LATENCY: u64 = 5;

/// What an engine is to see: kind, frame, wait count.
type Expected = Vec<(u8, Vec<u8>, u32)>;

struct Trees {
    bench: Bench,
    entries: Vec<Option<Tree>>,
    expected: Vec<Expected>,
}

impl Trees {
    fn new(library: &Verilated, ports: usize, seed: u64) -> Self {
        let mut bench = Bench::new(library, ports, seed);
        bench.rtl.reduce(true, u64::MAX);
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
        }
    }

    fn frame(&mut self, input: usize) -> Vec<u8> {
        let rng = &mut self.bench.rng;
        let ops = [
            0, 1, 2, 3, 0x10, 0x11, 0x12, 0x14, 0x20, 0x21, 0x22, 0x24, 0x25, 0x26, 0x28, 0x29,
        ];
        let ops: Vec<u8> = ops.into_iter().chain(0x2a..=0x30).collect();
        let key = Key {
            tree: rng.random_range(0..64),
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
                opcode: rng.random_range(0..16),
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
        let Some(key) = parsed.fabric.dfa.multicast().filter(|_| frame[0] == 3) else {
            return;
        };
        let Some(tree) = self.entries.get(usize::from(key.tree)).copied().flatten() else {
            return;
        };
        let seen = |kind| (kind, frame.to_vec(), tree.wait);
        if usize::from(tree.parent) == input {
            for port in 0..self.bench.ports() {
                if port != input && tree.children >> port & 1 == 1 {
                    self.expected[port].push(seen(2));
                }
            }
            if tree.wait != 0 {
                self.expected[input].push(seen(3));
            }
        } else if tree.children >> input & 1 == 1 && parsed.check_up().is_ok() {
            let kind = if tree.wait == 0 { 2 } else { 1 };
            self.expected[usize::from(tree.parent)].push(seen(kind));
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
                    (s.kind, bytes, s.wait())
                })
                .collect();
            let dropped: u64 = (0..self.bench.counts.len())
                .map(|i| self.bench.counts[i].full[port])
                .sum();
            seen.sort();
            expected.sort();
            if dropped == 0 {
                assert_eq!(&seen, expected, "port {port}, seed {seed}");
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
    profiles("core: frames to engines", |seed| {
        let mut trees = Trees::new(&library, 4, seed);
        trees.bench.stall();
        for _ in 0..300 {
            for input in 0..4 {
                let frame = trees.frame(input);
                trees.push(input, &frame);
                if trees.bench.rng.random_range(0..4) == 0 {
                    let output = trees.bench.rng.random_range(0..4);
                    let length = trees.bench.rng.random_range(60..200);
                    trees.bench.send_of(input, output, length);
                }
            }
            // Now and then, so that queues run full and empty.
            if trees.bench.rng.random_range(0..3) != 0 {
                for _ in 0..40 {
                    trees.bench.clock();
                }
            }
        }
        let bench = trees.finish();
        let seen: Vec<&Stored> = bench.engines.iter().flat_map(|e| &e.seen).collect();
        for kind in 1..4 {
            let count = seen.iter().filter(|s| s.kind == kind).count();
            assert!(count > 50, "kind {kind}: {count}, seed {seed}");
        }
        seen.len() as u64
    });
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

/// An engine that has a word in every clock holds up no plain frame of its output, and is not held up by them: each of
/// three inputs has a third.
#[test]
fn frames_of_an_engine_without_a_pause_and_plain_frames_take_turns() {
    let library = Bench::library(4);
    for seed in seeds(3) {
        let mut bench = Bench::new(&library, 4, seed);
        bench.rtl.reduce(true, u64::MAX);
        let output = seed as usize % 4;
        // Inputs 1 and 2 behind the output send up the tree, the third one plain frames.
        let inputs: Vec<usize> = (1..4).map(|i| (output + i) % 4).collect();
        let tree = Some(Tree {
            parent: output as u8,
            children: 0xf & !(1 << output),
            wait: 0,
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
        let each: Vec<u64> = inputs.iter().map(|&i| bench.delivered[i][output]).collect();
        let (least, most) = (each.iter().min().unwrap(), each.iter().max().unwrap());
        assert!(*least > 100 && most - least <= 4, "{each:?}, seed {seed}");
        bench.finish();
    }
}

/// Frames of the engine wait behind the one that leaves; a plain frame that comes later leaves before them.
#[test]
fn a_plain_frame_waits_for_one_frame_of_the_engine_at_most() {
    let library = Bench::library(4);
    let mut bench = Bench::new(&library, 4, 0);
    bench.rtl.reduce(true, u64::MAX);
    let tree = Some(Tree {
        parent: 3,
        children: 0b111,
        wait: 0,
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
            let first = |bench: &Bench| ports.clone().any(|p| bench.rtl.outputs[p].eng.is_some());
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
