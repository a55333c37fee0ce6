//! Frames of reductions at the receiver: with cfg_reduce they are for another block, and count nowhere.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::OnceLock;

use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use tributary_hdl::emit::emit_block;
use tributary_hdl::xud::XudRx;
use tributary_protocol::red::wire::DEFAULT_ETHERTYPE;
use tributary_sim::testbench::{Stalls, profiles};
use tributary_sim::verilate::Verilated;

use super::rtl::{chance, rng, seeds, verilate_design};
use super::rx::{Bench, Consumer, Verdict, library, of_reductions, samples};
use super::rx_random::{any_frame, consumer};

/// Gives a frame this ethertype, if it is long enough.
fn with_ethertype(frame: &mut [u8], ethertype: u16) {
    if let Some(bytes) = frame.get_mut(12..14) {
        bytes.copy_from_slice(&ethertype.to_be_bytes());
    }
}

/// Frames of reductions, and some whose ethertype is near theirs, among all others.
fn mixed(rng: &mut ChaCha8Rng, longest: usize) -> Vec<u8> {
    let mut bytes = any_frame(rng, longest);
    if chance(rng, 20) {
        bytes.truncate(rng.random_range(1..30));
    }
    match rng.random_range(0..10) {
        0..5 => with_ethertype(&mut bytes, DEFAULT_ETHERTYPE),
        5 => with_ethertype(&mut bytes, DEFAULT_ETHERTYPE ^ 1 << rng.random_range(0..16)),
        6 => with_ethertype(&mut bytes, DEFAULT_ETHERTYPE.swap_bytes()),
        _ => {}
    }
    bytes
}

/// Random frames, pauses, marks and consumers.
fn run(bench: &mut Bench, seed: u64) {
    let mut rng = rng(seed);
    let eager = [[90, 10, 95, 90], [30, 30, 100, 10]][seed as usize % 2];
    let gaps = [0, 30, 5][seed as usize % 3];
    for _ in 0..300 {
        let bytes = mixed(&mut rng, 200);
        let marked = chance(&mut rng, 5);
        let mut pause = rng.clone();
        let mut choose = ChaCha8Rng::clone(&rng);
        bench.frame(
            &bytes,
            marked,
            || chance(&mut pause, gaps),
            || consumer(&mut choose, eager),
        );
    }
    bench.finish();
}

#[test]
fn cl_05_frames_of_reductions_are_counted_nowhere_among_random_frames() {
    let mut seen = vec![];
    for seed in seeds(8) {
        let mut bench = Bench::of(library(), seed % 3 != 1, true);
        run(&mut bench, seed);
        seen.extend(bench.verdicts);
    }
    for verdict in [Verdict::Taken, Verdict::Elsewhere, Verdict::BadFrame] {
        let count = seen.iter().filter(|other| **other == verdict).count();
        assert!(count > 20, "{verdict:?}: {count}");
    }
}

#[test]
fn cl_05_without_reductions_their_frames_are_bad_frames() {
    for seed in seeds(4) {
        let mut bench = Bench::of(library(), seed % 2 == 1, false);
        run(&mut bench, seed);
        assert!(!bench.verdicts.contains(&Verdict::Elsewhere));
        assert!(bench.verdicts.contains(&Verdict::BadFrame));
    }
}

/// The same where consumers stall, together and apart, and the buffer is full now and then.
#[test]
fn cl_05_frames_of_reductions_are_counted_nowhere_under_every_profile_of_stalls() {
    profiles("xud_rx: frames of reductions", |seed| {
        let mut rng = rng(seed);
        let mut bench = Bench::of(library(), seed % 2 == 0, true);
        let mut stalls = Stalls::of_seed(seed, 3);
        for _ in 0..200 {
            let bytes = mixed(&mut rng, if seed % 3 == 0 { 4096 } else { 200 });
            let consumer = || {
                stalls.clock();
                let [request, payload, ack] = [0, 1, 2].map(|port| {
                    let ready = stalls.ready(port);
                    stalls.observe(port, true, true);
                    ready
                });
                Consumer {
                    request,
                    drop: false,
                    payload,
                    ack,
                }
            };
            bench.frame(&bytes, false, || false, consumer);
        }
        bench.finish();
        let elsewhere = |verdict: &&Verdict| **verdict == Verdict::Elsewhere;
        bench.verdicts.iter().filter(elsewhere).count() as u64
    });
}

/// Each length and each ethertype that differs in a bit, right behind good frames and in front of them.
#[test]
fn cl_05_frames_of_reductions_of_every_length_are_told_by_every_bit_of_their_ethertype() {
    for reductions in [true, false] {
        let mut bench = Bench::of(library(), true, reductions);
        let good = samples();
        let (mut given, mut wanted) = (0, 0);
        for length in (1..160).chain([1_514, 4_169, 4_170, 4_171, 9_000]) {
            let mut frame = vec![0x5a; length];
            with_ethertype(&mut frame, DEFAULT_ETHERTYPE);
            bench.plain(&frame);
            bench.plain(&frame);
            bench.plain(&good[length % good.len()]);
            // Of one word, right behind it.
            bench.plain(&frame[..length.min(8)]);
            wanted += 2 * usize::from(reductions && of_reductions(&frame));
            given += 4;
        }
        for sample in &good {
            for bit in 0..16 {
                let mut frame = sample.clone();
                with_ethertype(&mut frame, DEFAULT_ETHERTYPE ^ 1 << bit);
                bench.plain(&frame);
                with_ethertype(&mut frame, DEFAULT_ETHERTYPE);
                bench.plain(&frame);
                bench.plain(sample);
                wanted += usize::from(reductions);
                given += 3;
            }
        }
        bench.finish();
        let is = |verdict: &&Verdict| **verdict == Verdict::Elsewhere;
        assert_eq!(bench.verdicts.iter().filter(is).count(), wanted);
        assert_eq!(bench.verdicts.len(), given);
    }
}

/// What is wrong, the right Verilog, the wrong one.
const WRONG: [(&str, &str, &str); 7] = [
    (
        "without reductions, too",
        "cfg_reduce & (r_data_reg[47:32] == REDUCTIONS)",
        "r_data_reg[47:32] == REDUCTIONS",
    ),
    (
        "one byte alone is looked at",
        "r_data_reg[47:32] == REDUCTIONS",
        "r_data_reg[39:32] == REDUCTIONS[7:0]",
    ),
    (
        "the other byte alone",
        "r_data_reg[47:32] == REDUCTIONS",
        "r_data_reg[47:40] == REDUCTIONS[15:8]",
    ),
    (
        "its bytes are swapped",
        "r_data_reg[47:32] == REDUCTIONS",
        "{r_data_reg[39:32], r_data_reg[47:40]} == REDUCTIONS",
    ),
    (
        "other bytes are looked at",
        "r_data_reg[47:32] == REDUCTIONS",
        "r_data_reg[63:48] == REDUCTIONS",
    ),
    (
        "no frame is another's",
        "s5_end_reg & s5_bad_reg & !s5_other_reg",
        "s5_end_reg & s5_bad_reg",
    ),
    (
        "of the frame behind it",
        "s5_end_reg & s5_bad_reg & !s5_other_reg",
        "s5_end_reg & s5_bad_reg & !other_reg",
    ),
];

/// All of them in one library; input `wrong` of the block chooses one, counted from 1.
fn wrong_library() -> &'static Verilated {
    static LIBRARY: OnceLock<Verilated> = OnceLock::new();
    LIBRARY.get_or_init(|| {
        let mut design = emit_block(&mut XudRx::<10>::default()).unwrap();
        let top = design.top.clone();
        let module = design.modules.iter_mut().find(|module| module.name == top);
        let text = &mut module.expect("it has a top").text;
        for (number, (name, right, wrong)) in (1..).zip(WRONG) {
            // Behind those that are there instead, the right one comes last.
            let at = text.rfind(right);
            let at = at.unwrap_or_else(|| panic!("{name}: {right} is nowhere"));
            let both = format!("((wrong == 8'd{number}) ? ({wrong}) : ({right}))");
            text.replace_range(at..at + right.len(), &both);
        }
        let head = format!("module {top} (");
        *text = text.replace(&head, &format!("{head}\n    input wire [7:0] wrong,"));
        verilate_design(&design)
    })
}

#[test]
fn cl_05_frames_of_reductions_that_are_counted_wrongly_are_noticed() {
    let runs = |number: u64| {
        [true, false].into_iter().all(|reductions| {
            (0..3).all(|seed| {
                catch_unwind(AssertUnwindSafe(|| {
                    let mut bench = Bench::of(wrong_library(), true, reductions);
                    bench.choose(number);
                    run(&mut bench, seed);
                }))
                .is_ok()
            })
        })
    };
    assert!(runs(0));
    for (number, (name, ..)) in (1..).zip(WRONG) {
        assert!(!runs(number), "not noticed: {name}");
    }
}
