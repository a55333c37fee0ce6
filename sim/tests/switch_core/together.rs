//! Contributions of one reduction that wait at once: what the engine takes together, what it refuses, what stands around them.

use std::panic::{AssertUnwindSafe, catch_unwind};

use rand::RngExt;
use tributary_hdl::catalog;
use tributary_protocol::red::wire::{DEFAULT_ETHERTYPE, Fabric, Reduction, Restricted};
use tributary_protocol::red::{Address, Frame, Key, Op, Rc, Tree};
use tributary_sim::testbench::profiles;
use tributary_sim::testbench::wrong::{self, Wrong};
use tributary_sim::verilate::Verilated;

use crate::bench::{Bench, node_mac, sizes};
use crate::engine::Tally;
use crate::seeds;
use crate::waiting::Around;

/// A switch with trees whose members contribute at once.
struct Party {
    bench: Bench,
    /// Trees 0 to 15: their parents. Trees 16 on, one for each port: it is their parent.
    parents: Vec<usize>,
    round: u16,
}

const TREES: u16 = 16;

impl Party {
    fn new(library: &Verilated, ports: usize, seed: u64) -> Self {
        let mut bench = Bench::new(library, ports, seed);
        bench.reduce(u64::MAX);
        bench.mark_above(0);
        let all = (1u64 << ports) - 1;
        let parents = (0..TREES)
            .map(|_| bench.rng.random_range(0..ports))
            .collect();
        let mut party = Self {
            bench,
            parents,
            round: 0,
        };
        for tree in 0..TREES {
            // The root contributes through its own port, or does not.
            let parent = party.parents[usize::from(tree)];
            let children = if tree % 4 != 0 {
                all
            } else {
                all & !(1 << parent)
            };
            party.tree(tree, parent, children, 3);
        }
        for port in 0..ports {
            let wait = port as u32 % 2;
            party.tree(TREES + port as u16, port, all & !(1 << port), wait);
        }
        party
    }

    fn tree(&mut self, tree: u16, parent: usize, children: u64, wait: u32) {
        let parent = parent as u8;
        let entry = Tree {
            parent,
            children,
            wait,
        };
        self.bench.tree(tree, Some(entry));
    }

    /// A brief contribution of this round.
    fn base(&mut self, tree: u16) -> Frame {
        let rng = &mut self.bench.rng;
        let ops = [Op::IntSum, Op::Barrier, Op::FltRepsum, Op::IntMin];
        let op = ops[rng.random_range(0..16usize).saturating_sub(12)];
        let key = Key {
            tree,
            reduction: rng.random_range(0..2),
        };
        self.round += 1;
        Frame {
            fabric: Fabric::new(Address::unicast(1, 1), key.address(), 9),
            restricted: Restricted::default(),
            red: Reduction {
                seqno: self.round & 0x3ff,
                arm: false,
                op,
                count: rng.random_range(1..3),
                resno: rng.random_range(0..1024),
                rc: Rc::OK,
                m: rng.random(),
                oflow: rng.random_range(0..4),
                pad: rng.random_range(0..8),
                cookie: 0x1234,
            },
            data: [0; 4],
        }
    }

    /// The frame of one of them: the same, or one thing is different.
    fn one(&mut self, input: usize, base: &Frame) -> Vec<u8> {
        let rng = &mut self.bench.rng;
        let mut frame = *base;
        let (fabric, red) = (&mut frame.fabric, &mut frame.red);
        // Words 1 to 5 are each one's own.
        fabric.dscp = rng.random_range(0..64);
        fabric.ttl = rng.random();
        fabric.sfa = Address(rng.random());
        frame.restricted.remote_offset = rng.random_range(0..1 << 56);
        red.rc = Rc::new(rng.random_range(0..8));
        frame.data[0] = rng.random();
        match rng.random_range(0..96) {
            0 => red.arm = true,
            1 => frame.restricted.opcode = 1 << rng.random_range(0..4),
            2 => red.rc = Rc::new(rng.random_range(8..16)),
            3 => red.op = Op::FltRepsum,
            4 => red.op = Op::IntMax,
            5..=8 => frame.data[rng.random_range(1..4)] = 1 << rng.random_range(0..64),
            9 => red.seqno ^= 1 << rng.random_range(0..10),
            10 => red.count ^= 4 << rng.random_range(0..18),
            11 => red.resno ^= 1 << rng.random_range(0..10),
            12 => red.m ^= 1 << rng.random_range(0..7),
            13 => red.oflow ^= 1,
            14 => red.pad ^= 1 << rng.random_range(0..3),
            15 | 16 => red.cookie ^= 1 << rng.random_range(0..32),
            17 => fabric.vni ^= 1 << rng.random_range(0..16),
            _ => {}
        }
        let mut bytes = frame.to_bytes(DEFAULT_ETHERTYPE).to_vec();
        self.bench.sign(input, &mut bytes);
        bytes
    }

    /// Stored word 6 of a contribution.
    fn lead(frame: &Frame) -> u64 {
        let bytes = frame.to_bytes(DEFAULT_ETHERTYPE);
        let key = frame.fabric.dfa.multicast().unwrap();
        let cookie = u64::from(u32::from_le_bytes(bytes[50..54].try_into().unwrap()));
        let place = u64::from(key.tree) << 3 | u64::from(key.reduction);
        cookie << 32 | u64::from(frame.fabric.vni) << 16 | place
    }

    /// A plain frame that has the contributions' word 6 in it, again and again.
    fn full_of(&mut self, input: usize, output: usize, base: &Frame) -> Vec<u8> {
        let words = self.bench.rng.random_range(8..15);
        let mut frame = self.bench.frame(input, node_mac(output as u32), 8 * words);
        for word in frame.chunks_mut(8).skip(2) {
            word.copy_from_slice(&Self::lead(base).to_le_bytes());
        }
        frame
    }

    /// A plain frame that can be marked, its entry looks like that of a brief contribution; `base` gets its first word as word 6.
    fn pose(&mut self, base: &mut Frame, input: usize, output: usize) -> Vec<u8> {
        let mut frame = self.bench.frame(input, node_mac(output as u32), 96);
        frame[12..16].copy_from_slice(&[0x08, 0x00, 0x45, 0x02]);
        let first: [u8; 8] = frame[..8].try_into().unwrap();
        let key = Key {
            tree: u16::from(first[0] >> 3),
            reduction: first[0] & 7,
        };
        base.fabric.dfa = key.address();
        base.fabric.vni = u16::from_le_bytes([first[2], first[3]]);
        base.red.cookie = u32::from_be_bytes(first[4..8].try_into().unwrap());
        assert_eq!(Self::lead(base), u64::from_le_bytes(first));
        frame
    }

    /// Most ports contribute to a round of a tree, with other frames around.
    fn round(&mut self) {
        let ports = self.bench.ports();
        let tree = self.bench.rng.random_range(0..TREES + 2) % TREES;
        let parent = self.parents[usize::from(tree)];
        let mut base = self.base(tree);
        // Some of them are ahead by a round.
        let other = self.base(tree);
        // Now and then one sends a plain frame whose first word is the contributions' word 6.
        let posing = (tree == 0 && self.bench.rng.random()).then(|| {
            let input = self.bench.rng.random_range(0..ports);
            self.pose(&mut base, input, parent)
        });
        // Now and then the queues are busy with other frames just before.
        let busy = posing.is_some() || self.bench.rng.random_range(0..8) == 0;
        for input in 0..ports {
            if busy && self.bench.rng.random() {
                let frame = self.full_of(input, parent, &base);
                self.bench.push(input, &frame);
            }
            if let Some(frame) = posing.as_ref().filter(|f| usize::from(f[7]) == input) {
                self.bench.push(input, frame);
                continue;
            }
            if self.bench.rng.random_range(0..16) != 0 {
                let base = if self.bench.rng.random_range(0..24) == 0 {
                    &other
                } else {
                    &base
                };
                let frame = self.one(input, base);
                self.bench.push(input, &frame);
            }
            match self.bench.rng.random_range(0..32) {
                0 | 1 => {
                    let length = self.bench.rng.random_range(57..200);
                    self.bench.send_of(input, parent, length);
                }
                2 => {
                    // Down from this port, past the engine of the other, and for its own engine.
                    let base = self.base(TREES + input as u16);
                    let down = self.one(input, &base);
                    self.bench.push(input, &down);
                }
                3 => {
                    let output = self.bench.rng.random_range(0..ports);
                    self.bench.send_of(input, output, 60);
                }
                _ => {}
            }
        }
    }

    fn traffic(&mut self, rounds: usize) {
        for _ in 0..rounds {
            self.round();
            // Queues run empty, and full with some seeds: then frames are dropped, and each queue is at another round.
            if self.bench.rng.random_range(0..4) == 0 {
                let most = 20 * self.bench.ports();
                let clocks = self.bench.rng.random_range(0..most);
                (0..clocks).for_each(|_| self.bench.clock());
            }
            // Often all begin at once.
            let most = match self.bench.rng.random_range(0..2) {
                _ if self.bench.seed % 4 == 3 => 80,
                0 => 12,
                _ => 0,
            };
            for _ in 0..1_000 {
                let longest = self.bench.waiting.longest();
                let sending = self.bench.sources.iter().any(|s| !s.is_empty());
                if longest <= most && (most > 0 || !sending) {
                    break;
                }
                self.bench.clock();
            }
        }
    }

    fn enable(&mut self, mask: u64) {
        self.bench.drain();
        self.bench.enable(mask);
    }
}

#[derive(Clone, Debug, Default)]
struct Corners {
    tally: Tally,
    around: Around,
    dropped: u64,
}

impl Corners {
    fn add(&mut self, bench: &Bench) {
        for echo in &bench.engines {
            let (to, from) = (&mut self.tally, &echo.tally);
            for (to, from) in to.taken.iter_mut().zip(from.taken) {
                *to += from;
            }
            to.refused += from.refused;
            to.after_refusal += from.after_refusal;
            to.differs += from.differs;
            to.alone += from.alone;
            to.brief += from.brief;
            to.full += from.full;
            to.down += from.down;
            to.codes += from.codes;
        }
        let (to, from) = (&mut self.around, bench.waiting.around);
        for class in 0..3 {
            to.before[class] += from.before[class];
            to.behind[class] += from.behind[class];
        }
        to.next_round += from.next_round;
        to.just_left += from.just_left;
        self.dropped += bench.dropped();
    }

    fn assert(&self, ports: usize) {
        println!("{ports} ports: {self:?}");
        let (tally, around) = (&self.tally, &self.around);
        assert!(tally.taken[2..ports].iter().all(|&count| count > 5));
        assert_eq!(tally.taken[ports..].iter().sum::<u64>(), 0);
        assert!(tally.refused > 200 && tally.after_refusal > 20);
        assert!(tally.differs > 100 && tally.alone > 100 && tally.codes > 500);
        assert!(tally.brief > 1000 && tally.full > 500 && tally.down > 500);
        assert!(around.before.iter().chain(&around.behind).all(|&c| c > 20));
        assert!(around.next_round > 20 && around.just_left > 20);
        assert!(self.dropped > 100);
    }
}

fn contributions_go_together(ports: usize, rounds: usize) {
    let library = Bench::library(ports);
    let mut corners = Corners::default();
    profiles(&format!("together, {ports} ports: frames"), |seed| {
        let mut party = Party::new(&library, ports, seed);
        party.bench.stall();
        party.traffic(rounds);
        party.enable(!2);
        party.traffic(rounds / 4);
        party.enable(!0);
        party.traffic(rounds / 4);
        party.bench.finish();
        corners.add(&party.bench);
        party
            .bench
            .engines
            .iter()
            .map(|e| e.seen.len() as u64)
            .sum()
    });
    corners.assert(ports);
}

#[test]
fn contributions_that_wait_at_once_go_together_or_as_ever_4() {
    contributions_go_together(4, 500);
}

#[test]
fn contributions_that_wait_at_once_go_together_or_as_ever_8() {
    contributions_go_together(8, 200);
}

/// Contributions of so many inputs that come in the same clock.
fn at_once(party: &mut Party, inputs: std::ops::Range<usize>) -> Vec<usize> {
    let parent = party.bench.ports() - 1;
    party.tree(0, parent, u64::MAX >> (64 - party.bench.ports()), 9);
    let key = Key {
        tree: 0,
        reduction: 0,
    };
    let mut base = party.base(0);
    base.fabric = Fabric::new(Address::unicast(1, 1), key.address(), 9);
    base.red.op = Op::IntSum;
    for input in inputs {
        let mut frame = base;
        frame.data[0] = input as u64;
        let mut bytes = frame.to_bytes(DEFAULT_ETHERTYPE).to_vec();
        party.bench.sign(input, &mut bytes);
        party.bench.push(input, &bytes);
    }
    party.bench.drain();
    let engine = &mut party.bench.engines[parent];
    std::mem::take(&mut engine.operand_clocks)
}

/// Contributions come by inputs 1 and 2, and one by input 0 some clocks later. Whether it goes with them as it must. Before
/// its head is there the empty queue shows what was stored in its place once, the contributions' word 6: 45 of them and a plain
/// frame go round the queue's 512 words.
fn late(party: &mut Party) {
    let parent = 3;
    party.tree(1, parent, 0b1111, 9);
    let sent = |party: &mut Party, input: usize, base: &Frame| {
        let mut frame = *base;
        frame.data[0] = party.bench.rng.random();
        let mut bytes = frame.to_bytes(DEFAULT_ETHERTYPE).to_vec();
        party.bench.sign(input, &mut bytes);
        party.bench.push(input, &bytes);
    };
    let key = Key {
        tree: 1,
        reduction: 0,
    };
    party.bench.engines[parent].takes = 100;
    for at in 0..46 * 3 {
        if at % 46 == 0 {
            party.bench.send_of(0, parent, 8 * 17);
            party.bench.drain();
            continue;
        }
        let mut base = party.base(1);
        base.red.op = Op::IntSum;
        base.fabric.dfa = key.address();
        let mut other = base;
        let (skew, same) = (at / 2 % 5, at % 2 == 0);
        // In the first round all are the same.
        if at > 46 && !same {
            other.red.cookie ^= 1;
        }
        party.bench.engines[parent].operand_clocks.clear();
        if at > 46 {
            sent(party, 1, &base);
            sent(party, 2, &base);
            (0..skew).for_each(|_| party.bench.clock());
        }
        sent(party, 0, &other);
        party.bench.drain();
        let together = party.bench.engines[parent].operand_clocks.len() == 2;
        let expected = at > 46 && same && skew < 2;
        assert_eq!(together, expected, "{skew} clocks later, {same}");
    }
}

#[test]
fn a_contribution_goes_with_another_if_its_head_is_there() {
    let library = Bench::library(4);
    let mut party = Party::new(&library, 4, 2);
    late(&mut party);
    party.bench.finish();
}

#[test]
fn contributions_of_one_clock_are_at_the_engine_one_a_clock_from_clock_seven_on() {
    for ports in [4, 8] {
        let library = Bench::library(ports);
        let mut party = Party::new(&library, ports, 1);
        party.bench.engines.iter_mut().for_each(|e| e.takes = 100);
        for _ in 0..5 {
            for count in 3..=ports {
                for first in 0..=ports - count {
                    let clocks = at_once(&mut party, first..first + count);
                    let expected: Vec<usize> = (7..7 + count - 1).collect();
                    assert_eq!(clocks, expected, "{count} of {ports}, from {first}");
                }
            }
            // Two are not worth it.
            assert!(at_once(&mut party, 0..2).is_empty());
        }
        party.bench.finish();
    }
}

/// In whichever clock a reset comes, nothing of what waited is left, and all behind it goes as ever.
#[test]
fn a_reset_forgets_who_waits_and_who_was_taken() {
    let library = Bench::library(4);
    let mut groups = 0;
    for seed in seeds(60) {
        let mut party = Party::new(&library, 4, seed);
        party.traffic(8);
        (0..seed).for_each(|_| party.bench.clock());
        for input in &mut party.bench.rtl.inputs {
            input.rx = None;
            input.take = false;
        }
        party.bench.rtl.model().reset(4).unwrap();
        let rtl = party.bench.rtl;
        // The tables outlive the reset and are the same.
        let mut party = Party::new(&library, 4, seed);
        party.bench.rtl = rtl;
        party.traffic(40);
        party.bench.finish();
        let taken = party
            .bench
            .engines
            .iter()
            .map(|e| e.tally.taken.iter().sum::<u64>());
        groups += taken.sum::<u64>();
    }
    assert!(groups > 100, "{groups}");
}

/// Each of them takes together what may not go together, or loses, doubles or delays what waits.
const WRONG: &[Wrong] = &[
    // Queues whose words a reader takes, whose head has not come, that are held, that go elsewhere, that are not brief.
    (
        "switch_together",
        "apt =",
        "s_soon ? (seen_reg & q_up & q_brief & ~reserved_reg) : 4'd0",
    ),
    (
        "switch_together",
        "apt =",
        "s_soon ? (q_valid & q_up & q_brief & ~q_busy & ~reserved_reg) : 4'd0",
    ),
    (
        "switch_together",
        "apt =",
        "s_soon ? (seen_reg & q_brief & ~q_busy & ~reserved_reg) : 4'd0",
    ),
    (
        "switch_together",
        "apt =",
        "s_soon ? (seen_reg & q_up & ~q_busy & ~reserved_reg) : 4'd0",
    ),
    // The first is not asked whether it is whole and brief.
    ("switch_look", "is_brief_reg <=", "1'b1"),
    // Words are not compared, or with the result code.
    ("switch_together", "sixes_s_1 =", "1'b1"),
    ("switch_together", "sixes_s_2 =", "&parts_6_2_reg[15:1]"),
    ("switch_together", "sevens_s_1 =", "1'b1"),
    ("switch_together", "sevens_s_2 =", "&parts_7_2_reg[3:0]"),
    // One is enough; all are offered; those that were taken wait.
    ("switch_together", "several =", "|same"),
    (
        "switch_together",
        "several =",
        "|(still_same_reg & (still_same_reg - 4'd1))",
    ),
    // Who moves, whose entry is used up.
    ("switch_together", "go =", "moved_reg"),
    ("switch_together", "pop =", "4'd0"),
    ("switch_together", "claimed =", "moved_reg"),
    // Who may be chosen for another frame meanwhile.
    ("switch_together", "held =", "4'd0"),
    ("switch_together", "passed =", "taken_reg"),
    ("switch_together", "passed =", "NO_QUEUE"),
    ("switch_together", "resumed =", "NO_QUEUE"),
    // What waits is not first, has lost its word, moves twice.
    ("switch_look", "req =", "whole"),
    ("switch_look", "lead_reg <=", "64'd0"),
    ("switch_look", "begins =", "start ? pick_reg : 4'd0"),
    // The next one is chosen before it is known who goes with the one that passes.
    ("switch_look", "open =", "!pick_valid_reg"),
    // The operands: their order, their codes, the last one.
    ("switch_together", "code_2_reg <=", "code_m"),
    ("switch_together", "out_last_reg <=", "going_reg"),
    (
        "switch_together",
        "source =",
        "at_5_reg ? (offered_reg | 4'd1) : rest_reg",
    ),
    // What is brief: each of its conditions, and each of the words.
    ("red_check", "brief =", "gives_reg & nil"),
    ("red_check", "brief =", "plain_reg & nil"),
    ("red_check", "brief =", "gives_reg & plain_reg"),
    ("red_check", "nil =", "nils_reg"),
    ("red_check", "nil =", "!(|s_word)"),
    ("red_check", "plain_reg <=", "op != REPSUM"),
    ("red_check", "plain_reg <=", "!word_reg[50]"),
];

/// Words that no queue reaches, and from there on the number of the error that is there.
const FIRST: u64 = 512;

#[test]
fn errors_with_contributions_that_go_together_are_noticed() {
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
            for seed in [0, 4, 11] {
                let mut party = Party::new(&library, 4, seed);
                party.bench.rtl.mark_above(words as u16);
                party.bench.stall();
                party.traffic(250);
                party.bench.finish();
            }
            let mut party = Party::new(&library, 4, 2);
            party.bench.rtl.mark_above(words as u16);
            late(&mut party);
            party.bench.finish();
        };
        catch_unwind(AssertUnwindSafe(run)).map_err(|panic| {
            let text = panic.downcast_ref::<String>().cloned();
            let plain = panic.downcast_ref::<&str>().map(|&text| text.to_owned());
            text.or(plain).unwrap_or_else(|| "a panic".into())
        })
    };
    // Without an error there is nothing to notice.
    run(0).unwrap();
    run(FIRST + WRONG.len() as u64).unwrap();
    wrong::every_is_noticed(WRONG, |number| run(FIRST + number));
}
