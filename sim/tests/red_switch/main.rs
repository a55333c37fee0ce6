//! The Verilated reducing switch: trees, engines and queues together, against the model of the switch.

mod root;
mod stalls;

use std::sync::OnceLock;

use rand::{RngExt, SeedableRng, rngs::SmallRng};
use tributary_hdl::catalog;
use tributary_protocol::red::{
    Address, Counter, Counters, EngineConfig, Frame, Key, Op, PortSettings, Rc, Switch,
    SwitchConfig, Tree,
    wire::{DEFAULT_ETHERTYPE, Fabric, Reduction, Restricted},
};
use tributary_sim::{
    switch::{RedRtl, Sink, Source, core::Sizes, red},
    verilate::{BuildOptions, Verilated},
};

const N: usize = 4;

fn library() -> &'static Verilated {
    static LIBRARY: OnceLock<Verilated> = OnceLock::new();
    LIBRARY.get_or_init(|| {
        let sizes = Sizes {
            ports: N,
            nodes: 64,
            trees: 64,
        };
        red::build(sizes, false).unwrap()
    })
}

fn config() -> EngineConfig {
    EngineConfig {
        timeouts: [1000; 4],
        ..EngineConfig::default()
    }
}

fn address(port: usize) -> Address {
    Address::unicast(0x40 + port as u32, 7)
}

/// A switch in Verilator with its sources and sinks.
struct Bench {
    rtl: RedRtl,
    sources: [Source; N],
    sinks: [Sink; N],
    /// Frames that left: port, bytes, clock of the first word.
    sent: Vec<(usize, Vec<u8>, u64)>,
    first: [u64; N],
    /// Clock in which each port's last beat went in.
    last_in: [u64; N],
    /// Beats that each port has sent.
    taken: [u64; N],
    /// Sources that do not pause.
    open: [bool; N],
    clock: u64,
}

impl Bench {
    fn new() -> Self {
        Self::of(library())
    }

    fn of(library: &Verilated) -> Self {
        let addresses: Vec<Address> = (0..N).map(address).collect();
        Self {
            rtl: RedRtl::new(library, &config(), &addresses).unwrap(),
            sources: Default::default(),
            sinks: Default::default(),
            sent: vec![],
            first: [0; N],
            last_in: [0; N],
            taken: [0; N],
            open: [true; N],
            clock: 0,
        }
    }

    fn clock(&mut self) {
        for i in 0..N {
            self.rtl.rx[i] = self.sources[i].front().filter(|_| self.open[i]);
            if self.rtl.rx[i].is_some() {
                self.sources[i].pop();
                self.last_in[i] = self.clock;
            }
        }
        self.rtl.clock().unwrap();
        for i in 0..N {
            if let Some(beat) = self.rtl.tx[i] {
                self.taken[i] += 1;
                if !self.sinks[i].is_within() {
                    self.first[i] = self.clock;
                }
                if let Some(frame) = self.sinks[i].take(beat).unwrap() {
                    self.sent.push((i, frame, self.first[i]));
                }
            }
        }
        self.clock += 1;
    }

    fn clocks(&mut self, count: u64) {
        for _ in 0..count {
            self.clock();
        }
    }
}

fn frame(key: Key, arm: bool, seqno: u16, op: Op, data: [u64; 4], from: u32) -> Frame {
    Frame {
        fabric: Fabric::new(Address::unicast(from, 1), key.address(), 9),
        restricted: Restricted::default(),
        red: Reduction {
            seqno,
            arm,
            op,
            count: 1,
            resno: seqno,
            rc: Rc::OK,
            m: 0,
            oflow: 0,
            pad: 0,
            cookie: 0xc0ffee,
        },
        data,
    }
}

fn bytes(frame: &Frame) -> Vec<u8> {
    frame.to_bytes(DEFAULT_ETHERTYPE).to_vec()
}

/// One frame after the other, of every kind and also malformed: what leaves is what leaves the model.
#[test]
fn red_09_red_10_red_13_red_14_red_15_red_17_switch_equals_its_model() {
    let seed = std::env::var("TRIBUTARY_SEED").map_or(11, |s| s.parse().unwrap());
    println!("seed {seed}");
    let mut rng = SmallRng::seed_from_u64(seed);
    let mut bench = Bench::new();
    let mut model = Switch::new(SwitchConfig {
        ports: N as u8,
        unicast_bits: 6,
        multicast_bits: 6,
        engine: config(),
    })
    .unwrap();
    for i in 0..N {
        let settings = PortSettings {
            enable: true,
            engine: true,
            address: address(i),
        };
        model.set_port(i as u8, settings).unwrap();
    }
    let mut parents = vec![];
    for tree in 0..6u16 {
        let parent = rng.random_range(0..N as u8);
        // The roots of most of them contribute by their own port.
        let root = u64::from(tree % 3 != 2) << parent;
        let entry = Tree {
            parent,
            children: 0xf & !(1 << parent) | root,
            wait: if tree == 4 { 0 } else { rng.random_range(1..4) },
        };
        bench.rtl.write_multicast(tree, Some(entry)).unwrap();
        model.set_multicast(tree, Some(entry)).unwrap();
        parents.push(parent);
    }
    for node in 0..16 {
        let port = rng.random_range(0..N as u8);
        bench.rtl.write_unicast(node, Some(port)).unwrap();
        model.set_unicast(node, Some(port)).unwrap();
    }
    let (mut out, mut dropped, mut turned) = (0, 0, 0);
    let mut seqnos = [[3u16; 8]; 13];
    for n in 0..8000 {
        let tree = rng.random_range(0..7u16);
        let port = match parents.get(usize::from(tree)) {
            Some(&parent) if rng.random_range(0..4) == 0 => usize::from(parent),
            _ => rng.random_range(0..N),
        };
        let key = Key {
            tree,
            reduction: rng.random_range(0..2),
        };
        let seqno = &mut seqnos[usize::from(tree)][usize::from(key.reduction)];
        let arm = rng.random_range(0..5) == 0;
        if arm {
            *seqno = (*seqno + 1) % 1024;
        }
        let op = if rng.random_range(0..8) == 0 {
            Op::ALL[rng.random_range(0..Op::ALL.len())]
        } else {
            Op::ALL[usize::from(*seqno) % Op::ALL.len()]
        };
        let mut one = frame(key, arm, *seqno, op, rng.random(), rng.random_range(0..64));
        one.fabric.ttl = rng.random();
        one.restricted.remote_offset = rng.random::<u64>() >> 8;
        one.red.pad = rng.random_range(0..8);
        one.red.m = rng.random_range(-2..3);
        if rng.random_range(0..6) == 0 {
            one.restricted.opcode = rng.random_range(0..16);
        }
        if rng.random_range(0..30) == 0 {
            one.red.count = 0;
        }
        if rng.random_range(0..30) == 0 {
            one.fabric.vni = 10;
        }
        if rng.random_range(0..30) == 0 {
            one.red.cookie = 1;
        }
        let mut raw = bytes(&one);
        match rng.random_range(0..12) {
            // A bit anywhere.
            0 => raw[rng.random_range(0..94)] ^= 1 << rng.random_range(0..8),
            // A plain frame to a node.
            1 => {
                let mac = Address::unicast(rng.random_range(0..20), 3).mac();
                raw[..6].copy_from_slice(&mac);
                raw.resize(rng.random_range(60..200), 0x5a);
            }
            2 => raw.truncate(rng.random_range(60..94)),
            _ => {}
        }
        turned += usize::from(model.turns(port as u8, &raw));
        let mut expected: Vec<(usize, Vec<u8>)> = model
            .receive(port as u8, &raw, 0)
            .into_iter()
            .map(|(port, bytes)| (usize::from(port), bytes))
            .collect();
        bench.sources[port].push(&raw);
        bench.clocks(80);
        let mut got: Vec<(usize, Vec<u8>)> = bench
            .sent
            .drain(..)
            .map(|(port, bytes, _)| (port, bytes))
            .collect();
        got.sort();
        expected.sort();
        assert_eq!(
            got, expected,
            "frame {n} at port {port}: {one:?}\n{raw:02x?}"
        );
        out += got.len();
        dropped += u32::from(got.is_empty());
        assert_eq!(bench.rtl.in_use() as usize, model.in_use(), "frame {n}");
        let counted = Counters::total(
            (0..N as u8)
                .filter_map(|p| model.counters(p))
                .collect::<Vec<_>>()
                .iter(),
        );
        let expected = Counter::ALL[Counter::ArmUpwards as usize..]
            .iter()
            .map(|&c| counted.get(c));
        assert!(
            bench.rtl.events.iter().copied().eq(expected.take(11)),
            "events {:?}, frame {n}: {counted:?}",
            bench.rtl.events
        );
    }
    println!("{out} out, {dropped} without a frame out, {turned} contributions of roots");
    assert!(out > 500 && dropped > 200, "{out} {dropped}");
    assert!(turned > 1000, "{turned}");
    assert!(bench.rtl.events[8] > 10, "{:?}", bench.rtl.events);
}

/// From the edge that takes the last word of the last contribution to the first word of the result.
#[test]
fn a_result_leaves_16_clocks_after_the_last_contribution() {
    for op in [
        Op::IntSum,
        Op::FltSumNearest,
        Op::FltMinmaxloc,
        Op::FltRepsum,
    ] {
        let mut bench = Bench::new();
        let entry = Tree {
            parent: 3,
            children: 7,
            wait: 3,
        };
        bench.rtl.write_multicast(5, Some(entry)).unwrap();
        let key = Key {
            tree: 5,
            reduction: 1,
        };
        bench.sources[3].push(&bytes(&frame(key, true, 1, op, [0; 4], 1)));
        bench.clocks(60);
        assert_eq!(bench.sent.len(), 3, "the arm frame goes to the children");
        bench.sent.clear();
        for child in 0..3 {
            let value = [child as u64 + 1; 4];
            bench.sources[child].push(&bytes(&frame(key, false, 1, op, value, 2)));
            bench.clocks(40);
        }
        let [(port, _, first)] = &bench.sent[..] else {
            panic!("{:?}", bench.sent);
        };
        assert_eq!(*port, 3);
        assert_eq!(first - (bench.last_in[2] + 1), 16, "{op:?}");
    }
}

/// The result of a tree stands still at each of its words in turn while another tree is armed and combined, which
/// takes the next free descriptor; for so long that each of the other's words is written in some clock of the pause.
fn held(library: &Verilated) -> Result<(), String> {
    for word in 0..12 {
        for pause in [1, 26, 40, 120] {
            let mut bench = Bench::of(library);
            let entry = Tree {
                parent: 0,
                children: 2,
                wait: 1,
            };
            let trees = [(3, [1, 2, 3, 4]), (4, [11, 12, 13, 14])];
            let keys = trees.map(|(tree, _)| Key { tree, reduction: 0 });
            for key in keys {
                bench.rtl.write_multicast(key.tree, Some(entry)).unwrap();
                let arm = frame(key, true, 1, Op::IntSum, [0; 4], 1);
                bench.sources[0].push(&bytes(&arm));
                if key == keys[0] {
                    bench.clocks(60);
                    let one = frame(key, false, 1, Op::IntSum, trees[0].1, 2);
                    bench.sources[1].push(&bytes(&one));
                    while bench.taken[0] < word {
                        bench.clock();
                    }
                    bench.rtl.tx_ready[0] = false;
                } else {
                    bench.clocks(10);
                    let one = frame(key, false, 1, Op::IntSum, trees[1].1, 2);
                    bench.sources[1].push(&bytes(&one));
                }
            }
            bench.clocks(pause);
            bench.rtl.tx_ready[0] = true;
            bench.clocks(100);
            let results = bench.sent.iter().filter(|(port, ..)| *port == 0);
            let values = results.map(|(_, bytes, _)| {
                let result = Frame::parse(bytes, DEFAULT_ETHERTYPE).unwrap();
                (result.red.rc, result.data)
            });
            let values: Vec<_> = values.collect();
            let right = trees.map(|(_, data)| (Rc::OK, data));
            if values != right {
                return Err(format!("{pause} clocks before word {word}: {values:?}"));
            }
        }
    }
    Ok(())
}

#[test]
fn red_15_a_result_that_is_held_keeps_its_values() {
    held(library()).unwrap();
}

/// A switch whose engines free a descriptor when its last word is read, which a stalled output then holds.
#[test]
fn red_15_a_descriptor_that_is_freed_too_early_is_noticed() {
    let design = catalog::choose("red_switch", &[("N", N), ("U", 64), ("T", 64)])
        .unwrap()
        .emit()
        .unwrap();
    let mut files = design.files();
    let (_, text) = files
        .iter_mut()
        .find(|(name, _)| name == "red_emit.v")
        .unwrap();
    let right = "assign done_valid = flows_reg & c_last_reg & c_result_reg;\n    \
                 assign done_index = c_place_reg[4:2];";
    let wrong = "assign done_valid = step & is_last & !passing_reg;\n    \
                 assign done_index = index_reg;";
    assert_eq!(text.matches(right).count(), 1);
    *text = text.replace(right, wrong);
    let options = BuildOptions::new(&design.top, &files)
        .with_random_init(true)
        .with_checks();
    let noticed = held(&Verilated::build(&options).unwrap());
    println!("{noticed:?}");
    assert!(noticed.is_err());
}

/// Contributions back to back at every port at once, each output with a tree of its own: nothing is lost.
#[test]
fn all_ports_combine_at_line_rate() {
    let mut bench = Bench::new();
    let rounds = 200u32;
    for parent in 0..N as u16 {
        let entry = Tree {
            parent: parent as u8,
            children: 0xf & !(1 << parent),
            wait: rounds,
        };
        bench.rtl.write_multicast(parent, Some(entry)).unwrap();
        let key = Key {
            tree: parent,
            reduction: 0,
        };
        let arm = frame(key, true, 1, Op::IntSum, [0; 4], 1);
        bench.sources[usize::from(parent)].push(&bytes(&arm));
    }
    bench.clocks(100);
    bench.sent.clear();
    let start = bench.clock;
    for round in 0..rounds {
        for from in 0..N {
            let key = Key {
                tree: ((from + 1) % N) as u16,
                reduction: 0,
            };
            let one = frame(
                key,
                false,
                1,
                Op::IntSum,
                [round.into(), 1, 2, 3],
                from as u32,
            );
            bench.sources[from].push(&bytes(&one));
        }
    }
    bench.clocks(u64::from(rounds) * 12 + 40);
    assert_eq!(bench.rtl.queue_full, 0);
    assert_eq!(bench.sent.len(), N);
    for (_, bytes, first) in &bench.sent {
        let result = Frame::parse(bytes, DEFAULT_ETHERTYPE).unwrap();
        let n = u64::from(rounds);
        assert_eq!(result.data, [n * (n - 1) / 2, n, 2 * n, 3 * n]);
        assert_eq!(result.red.count, rounds);
        assert_eq!(first - start, n * 12 + 16);
    }
}
