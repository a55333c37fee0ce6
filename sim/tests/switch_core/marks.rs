//! Frames marked for congestion (CL-4): which are, which must not be, and what of them changes.
//!
//! When a frame began to leave its queue is not seen from outside: it was before its first word stood at the output, and
//! after all but the last words before it had gone. What its queue held at either end says whether it must be marked, must
//! not be, or may be.

use std::collections::{BTreeMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};

use rand::RngExt;
use tributary_hdl::catalog;
use tributary_protocol::red::wire::{DEFAULT_ETHERTYPE, Fabric, Reduction, Restricted};
use tributary_protocol::red::{Address, Frame, Key, Op, Rc, Tree};
use tributary_protocol::roce;
use tributary_sim::switch::{Sink, Source};
use tributary_sim::testbench::profiles;
use tributary_sim::testbench::wrong::{self, Wrong};
use tributary_sim::verilate::Verilated;

use crate::bench::{Bench, node_mac, sizes, tree_mac};

/// Words between the queues of the inputs and the MAC: the queue of plain words, and registers before and behind it.
const BETWEEN: usize = 24;
/// Words that a frame which the engine looks at takes in a queue.
const STORED: u64 = 11;
/// Clocks from the end of a frame to when its queue has heard of it, and some.
const HEARD: u64 = 4;

/// A frame in a queue.
#[derive(Clone, Debug)]
struct Kept {
    number: u32,
    words: u64,
    looked: bool,
    ended: u64,
    /// Clock in which its last word left the switch.
    left: Option<u64>,
    dropped: bool,
}

/// A frame that is on its way in: its number, its words, outputs that get it, and whether their engine looks at it.
#[derive(Clone, Debug)]
struct Arriving {
    number: u32,
    words: u64,
    outputs: Vec<(usize, bool)>,
}

/// How many frames were judged.
#[derive(Clone, Copy, Debug, Default)]
pub struct Judged {
    /// They had to be marked, must not be, though they can be, and could be either.
    pub long: u64,
    pub short: u64,
    pub open: u64,
    /// They cannot be marked.
    pub never: u64,
}

/// The queues as they are seen from outside, and how long they are when a frame leaves.
#[derive(Clone, Debug)]
pub struct Queues {
    /// Words of a queue above which its frames are marked, 0 for none; nothing is followed before it is set.
    pub threshold: Option<u64>,
    arriving: Vec<VecDeque<Arriving>>,
    /// By input and output.
    kept: Vec<Vec<Vec<Kept>>>,
    /// Of each output, when each word has left that is not of the engine.
    plain: Vec<Vec<u64>>,
    /// Words of the frame that leaves: when they have left, when its first was shown.
    leaving: Vec<Vec<u64>>,
    shown: Vec<Option<u64>>,
    pub judged: Judged,
    /// Frames marked, by output.
    pub marked: Vec<u64>,
}

impl Queues {
    pub fn new(ports: usize) -> Self {
        Self {
            threshold: None,
            arriving: vec![VecDeque::new(); ports],
            kept: vec![vec![Vec::new(); ports]; ports],
            plain: vec![Vec::new(); ports],
            leaving: vec![Vec::new(); ports],
            shown: vec![None; ports],
            judged: Judged::default(),
            marked: vec![0; ports],
        }
    }

    /// A frame is queued at an input, for these outputs, whose engine looks at it or not.
    pub fn queued(&mut self, input: usize, frame: &[u8], outputs: Vec<(usize, bool)>) {
        if self.threshold.is_none() {
            return;
        }
        self.arriving[input].push_back(Arriving {
            number: number(frame),
            words: frame.len().div_ceil(8) as u64,
            outputs,
        });
    }

    /// The oldest frame on its way in has ended.
    pub fn ended(&mut self, input: usize, clock: u64) {
        let Some(frame) = self.arriving[input].pop_front() else {
            return;
        };
        for (output, looked) in frame.outputs {
            self.kept[input][output].push(Kept {
                number: frame.number,
                words: if looked { STORED } else { frame.words },
                looked,
                ended: clock,
                left: None,
                dropped: false,
            });
        }
    }

    /// The latest frame was dropped, because this queue was full.
    pub fn full(&mut self, input: usize, output: usize) {
        if let Some(frame) = self.kept[input][output].last_mut() {
            frame.dropped = true;
        }
    }

    /// A word stands at an output; it leaves.
    pub fn word(&mut self, output: usize, leaves: bool, clock: u64) {
        self.shown[output].get_or_insert(clock);
        if leaves {
            self.leaving[output].push(clock);
        }
    }

    /// A frame has left whole: `before` as it came, `looked` at by the engine or not, `marked` or not.
    pub fn left(
        &mut self,
        (input, output): (usize, usize),
        before: &[u8],
        looked: bool,
        marked: bool,
        clock: u64,
    ) -> Result<(), String> {
        let words = std::mem::take(&mut self.leaving[output]);
        let shown = self.shown[output].take().unwrap_or(clock);
        let begin = self.plain[output].len();
        if !looked {
            self.plain[output].extend(words);
        }
        self.marked[output] += u64::from(marked);
        let Some(threshold) = self.threshold else {
            return if marked {
                Err("marked, and nobody wants it".into())
            } else {
                Ok(())
            };
        };
        let wanted = number(before);
        let kept = &mut self.kept[input][output];
        let Some(place) = kept.iter().position(|k| k.number == wanted) else {
            return Err("a frame that is in no queue".into());
        };
        kept[place].left = Some(clock);
        let can = !is_reduction(before) && roce::mark_congestion(&mut before.to_vec());
        if !can {
            self.judged.never += 1;
            return if marked {
                Err("marked, and cannot be".into())
            } else {
                Ok(())
            };
        }
        // All before it have left, or are in the queue for the engine or past it.
        let earliest = begin
            .checked_sub(BETWEEN)
            .map_or(0, |word| self.plain[output][word])
            .max(kept[place].ended);
        let of = |k: &&Kept| !k.dropped;
        let later = kept[place + 1..].iter().filter(of);
        let sure = later
            .clone()
            .filter(|k| !k.looked && k.ended + HEARD <= earliest);
        let least = kept[place].words + sure.map(|k| k.words).sum::<u64>();
        let perhaps = later.filter(|k| k.ended <= shown).map(|k| k.words);
        let in_front = kept[..place]
            .iter()
            .filter(of)
            .filter(|k| k.looked && k.left.is_none_or(|left| left >= earliest))
            .map(|k| k.words);
        // The last word of the frame before it counts if it has just moved.
        let most = 1 + kept[place].words + perhaps.chain(in_front).sum::<u64>();
        let on = threshold != 0;
        let (must, may) = (on && least > threshold, on && most > threshold);
        match (must, may) {
            (true, _) => self.judged.long += 1,
            (_, false) => self.judged.short += 1,
            _ => self.judged.open += 1,
        }
        if marked && !may || !marked && must {
            return Err(format!(
                "marked: {marked}, with {least} to {most} words in its queue, threshold {threshold}"
            ));
        }
        Ok(())
    }
}

/// The number that the bench has given it.
fn number(frame: &[u8]) -> u32 {
    u32::from_be_bytes([frame[8], frame[9], frame[10], frame[11]])
}

fn is_reduction(frame: &[u8]) -> bool {
    frame[0] == 3 && frame[12..14] == DEFAULT_ETHERTYPE.to_be_bytes()
}

/// A frame as IPv4 that says that about congestion, with a checksum that is 0, 1, 2 or all ones rather often.
fn ipv4(bench: &mut Bench, frame: &mut [u8], ecn: u8) {
    frame[12..15].copy_from_slice(&[0x08, 0x00, 0x45]);
    frame[15] = frame[15] & !3 | ecn;
    let odd = [0u16, 1, 2, 0xffff, 0x100, 0xff];
    if let Some(sum) = odd.get(bench.rng.random_range(0..12)) {
        frame[24..26].copy_from_slice(&sum.to_be_bytes());
    }
}

/// A plain frame of any kind.
fn plain(bench: &mut Bench, input: usize, to: [u8; 6]) -> Vec<u8> {
    let longest = [80, 400, 1518][bench.rng.random_range(0..3)];
    let length = bench.rng.random_range(60..=longest);
    let mut frame = bench.frame(input, to, length);
    if to[0] == 3 || bench.rng.random_range(0..8) > 0 {
        let ecn = bench.rng.random_range(0..4);
        ipv4(bench, &mut frame, ecn);
    }
    // One bit away from a frame that can be marked.
    if to[0] == 2 && bench.rng.random_range(0..6) == 0 {
        let bit = bench.rng.random_range(0..24);
        frame[12 + bit / 8] ^= 1 << (bit % 8);
    }
    frame
}

fn reduction(bench: &mut Bench, input: usize, tree: u16) -> Vec<u8> {
    let key = Key {
        tree,
        reduction: bench.rng.random_range(0..8),
    };
    let mut fabric = Fabric::new(
        Address::unicast(input as u32, 0),
        key.address(),
        bench.rng.random(),
    );
    fabric.ecn = bench.rng.random_range(0..4);
    let frame = Frame {
        fabric,
        restricted: Restricted::default(),
        red: Reduction {
            seqno: bench.rng.random_range(0..1024),
            arm: bench.rng.random(),
            op: Op::try_from(0).unwrap(),
            count: 1,
            resno: 0,
            rc: Rc::new(0),
            m: 0,
            oflow: 0,
            pad: 0,
            cookie: bench.rng.random(),
        },
        data: std::array::from_fn(|_| bench.rng.random()),
    };
    let mut bytes = frame.to_bytes(DEFAULT_ETHERTYPE).to_vec();
    bench.sign(input, &mut bytes);
    bytes
}

const TREE: u16 = 5;
const PARENT: usize = 1;

/// Frames of all kinds from all inputs, with stalls everywhere.
fn traffic(library: &Verilated, seed: u64, frames: usize, threshold: u16) -> Bench {
    let mut bench = Bench::new(library, 4, seed);
    bench.reduce(u64::MAX);
    bench.tree(
        TREE,
        Some(Tree {
            parent: PARENT as u8,
            children: 0b1111,
            wait: 3,
        }),
    );
    bench.stall();
    bench.mark_above(threshold);
    for _ in 0..frames {
        for input in 0..4 {
            match bench.rng.random_range(0..8) {
                0 => {
                    let frame = reduction(&mut bench, input, TREE);
                    bench.push(input, &frame);
                }
                1 => {
                    let frame = plain(&mut bench, input, tree_mac(TREE));
                    bench.push(input, &frame);
                }
                _ => {
                    let to = node_mac(bench.rng.random_range(0..4));
                    let frame = plain(&mut bench, input, to);
                    bench.push(input, &frame);
                }
            }
        }
    }
    bench.finish();
    bench
}

/// Every profile of stalls at sinks, sources and engines, with thresholds from one word to more than a queue holds.
#[test]
fn cl_04_frames_are_marked_when_their_queue_is_long_and_only_then() {
    let library = Bench::library(4);
    let mut sum = Judged::default();
    profiles("core of 4 ports: frames, marked and not", |seed| {
        let thresholds = [100, 1, 250, 20, 60, 400, 511, 1023, 0];
        let threshold = thresholds[seed as usize % thresholds.len()];
        let bench = traffic(&library, seed, 250, threshold);
        let judged = bench.queues.judged;
        let marked: u64 = bench.queues.marked.iter().sum();
        println!("seed {seed}, threshold {threshold}: {judged:?}, {marked} marked");
        if threshold == 0 || threshold >= 511 {
            assert_eq!(marked, 0);
        }
        sum.long += judged.long;
        sum.short += judged.short;
        sum.open += judged.open;
        sum.never += judged.never;
        judged.long + judged.short + judged.open + judged.never
    });
    println!("all: {sum:?}");
    assert!(
        sum.long > 100 && sum.short > 1000 && sum.never > 1000,
        "{sum:?}"
    );
    assert!(sum.open < sum.long + sum.short, "{sum:?}");
}

/// An output is shut while ten frames of 40 words come for it. The first is on its way out already and has begun alone;
/// behind it each is judged by itself and those behind it. The last word of the one before it counts too if it has just moved, so
/// thresholds are one word beside whole frames.
#[test]
fn cl_04_behind_a_shut_output_exactly_the_frames_before_the_last_ones_are_marked() {
    let library = Bench::library(4);
    for (threshold, marked) in [
        (0, 0..0),
        (1, 0..10),
        (39, 0..10),
        (41, 1..9),
        (79, 1..9),
        (81, 1..8),
        (199, 1..6),
        (201, 1..5),
        (359, 1..2),
        (361, 0..0),
        (511, 0..0),
        (512, 0..0),
        (1023, 0..0),
    ] {
        let mut bench = Bench::new(&library, 4, 1);
        bench.mark_above(threshold);
        bench.blocked[1] = true;
        let frames: Vec<Vec<u8>> = (0..10)
            .map(|at| {
                let mut frame = bench.frame(0, node_mac(1), 320);
                ipv4(&mut bench, &mut frame, 1 + at % 2);
                bench.push(0, &frame);
                frame
            })
            .collect();
        // One that no mark may touch, at another output meanwhile.
        bench.send(2, 3);
        bench.drain();
        bench.blocked[1] = false;
        bench.log = Some(Vec::new());
        bench.finish();
        let log = bench.log.take().unwrap();
        assert_eq!(log.len(), frames.len());
        for (at, (sent, got)) in frames.iter().zip(log).enumerate() {
            let mut expected = sent.clone();
            if marked.contains(&at) {
                assert!(roce::mark_congestion(&mut expected));
            }
            assert_eq!(got, expected, "threshold {threshold}, frame {at}");
        }
        assert_eq!(bench.queues.marked[1], marked.len() as u64);
    }
}

/// Whatever a frame was doing when the reset came, those after it are marked where they are to be, and nowhere else.
#[test]
fn cl_04_a_reset_while_frames_are_marked_changes_none_of_those_behind_it() {
    let library = Bench::library(4);
    let send = |bench: &mut Bench| {
        for _ in 0..20 {
            for input in 0..4 {
                let to = node_mac(bench.rng.random_range(0..4));
                let mut frame = bench.frame(input, to, 64);
                ipv4(bench, &mut frame, 1);
                bench.push(input, &frame);
            }
        }
    };
    for seed in 0..40 {
        let mut bench = Bench::new(&library, 4, seed);
        bench.mark_above(1);
        send(&mut bench);
        (0..40 + seed).for_each(|_| bench.clock());
        bench
            .rtl
            .inputs
            .iter_mut()
            .for_each(|input| input.rx = None);
        bench.rtl.model().reset(2).unwrap();
        let rtl = bench.rtl;
        let mut bench = Bench::new(&library, 4, seed + 100);
        // Its tables have outlived the reset.
        bench.rtl = rtl;
        bench.mark_above(1);
        send(&mut bench);
        bench.finish();
        let marked: u64 = bench.queues.marked.iter().sum();
        assert_eq!(marked, (0..4).map(|port| bench.sent(port)).sum::<u64>());
        assert!(marked > 40, "seed {seed}");
    }
}

/// Reduction frames are IPv4 but for their Ethertype. With that of IPv4 they leave unmarked on the way that plain frames take,
/// as long as they are reduction frames: without reductions the same frames are plain, and marked.
#[test]
fn cl_04_reduction_frames_with_the_ethertype_of_ipv4_are_marked_where_they_are_none() {
    let library = Bench::library(4);
    for reduces in [true, false] {
        let mut bench = Bench::new(&library, 4, 0);
        bench.tree(
            TREE,
            Some(Tree {
                parent: 2,
                children: 0b1011,
                wait: 3,
            }),
        );
        bench.mark_above(1);
        let mut source = Source::default();
        let mut sent = vec![];
        for _ in 0..6 {
            let mut frame = reduction(&mut bench, 2, TREE);
            while ![1, 2].contains(&(frame[15] & 3)) {
                frame = reduction(&mut bench, 2, TREE);
            }
            frame[12..14].copy_from_slice(&roce::ETHERTYPE.to_be_bytes());
            source.push(&frame);
            sent.push(frame);
        }
        let rtl = &mut bench.rtl;
        rtl.reduce(reduces, 0b1111);
        let ethertype = rtl.model().port("cfg_ethertype").unwrap();
        rtl.model().set(ethertype, roce::ETHERTYPE.into());
        let (mut sink, mut left) = (Sink::default(), vec![]);
        for _ in 0..200 {
            rtl.inputs[2].rx = source.front();
            source.pop();
            rtl.clock().unwrap();
            if let Some(beat) = rtl.outputs[0].tx {
                left.extend(sink.take(beat).unwrap());
            }
        }
        if !reduces {
            sent.iter_mut()
                .for_each(|frame| assert!(roce::mark_congestion(frame)));
        }
        assert_eq!(left, sent, "reductions: {reduces}");
    }
}

/// Each of them lets frames pass that are marked and should not be, or the other way round, or are changed otherwise.
const WRONG: &[Wrong] = &[
    // The checksum is not corrected, or not round its end.
    (
        "switch_out",
        "checksum =",
        "{line_m_data[7:0], line_m_data[15:8]}",
    ),
    ("switch_rx", "sum_small_reg <=", "1'b0"),
    // Frames that say that they cannot be marked, and those of others than IPv4, are.
    ("switch_out", "mark_reg <=", "|(longs_m & line_m_from)"),
    // The threshold is ignored, either way; a queue's length is that of another.
    ("switch_crosspoint", "is_long =", "1'b1"),
    ("switch_crosspoint", "is_long =", "1'b0"),
    ("switch_out", "mark_reg <=", "(|longs_m) & (|line_m_step)"),
    // Nobody hears of it.
    ("switch_out", "marked =", "1'b0"),
];

/// The port that says which error is there: no frame here has such an ethertype.
const FIRST: u64 = 0xff00;

#[test]
fn cl_04_wrong_marks_are_noticed() {
    let sizes = sizes(4);
    let choice = catalog::choose(
        "switch_core",
        &[("N", sizes.ports), ("U", sizes.nodes), ("T", sizes.trees)],
    )
    .unwrap();
    let design = choice.emit().unwrap();
    let port = ("cfg_ethertype", 16);
    let library = wrong::library(&design.top, design.files(), port, FIRST, WRONG);
    let run = |ethertype: u64| {
        let run = || {
            let mut bench = Bench::new(&library, 4, 3);
            let port = bench.rtl.model().port("cfg_ethertype").unwrap();
            bench.rtl.model().set(port, ethertype);
            bench.stall();
            bench.mark_above(60);
            for _ in 0..150 {
                for input in 0..4 {
                    let to = node_mac(bench.rng.random_range(0..4));
                    let frame = plain(&mut bench, input, to);
                    bench.push(input, &frame);
                }
            }
            bench.finish();
        };
        catch_unwind(AssertUnwindSafe(run)).map_err(|panic| {
            let text = panic.downcast_ref::<String>().cloned();
            text.unwrap_or_else(|| "a panic".into())
        })
    };
    // Without an error there is nothing to notice.
    run(DEFAULT_ETHERTYPE.into()).unwrap();
    wrong::every_is_noticed(WRONG, |number| run(FIRST + number));
}

/// One frame of 40 words: a threshold of 39 words marks it, one of 41 does not, and 40 it may.
#[test]
fn cl_04_the_judge_of_marks_refuses_both_kinds_of_error() {
    let mut frame = vec![0; 320];
    frame[0] = 2;
    frame[12..16].copy_from_slice(&[0x08, 0x00, 0x45, 0x02]);
    let run = |threshold, marked| {
        let mut queues = Queues::new(2);
        queues.threshold = Some(threshold);
        queues.queued(0, &frame, vec![(1, false)]);
        queues.ended(0, 10);
        for clock in 20..60 {
            queues.word(1, true, clock);
        }
        queues.left((0, 1), &frame, false, marked, 59)
    };
    let verdicts: BTreeMap<_, _> = [39, 40, 41, 0]
        .into_iter()
        .map(|threshold| (threshold, [false, true].map(|m| run(threshold, m).is_ok())))
        .collect();
    let right = BTreeMap::from([
        (0, [true, false]),
        (39, [false, true]),
        (40, [true, true]),
        (41, [true, false]),
    ]);
    assert_eq!(verdicts, right);
}
