//! Completion queues: no ring ever overruns, no completion or interrupt is lost or doubled.

use crate::bench::{Fault, Rtl, build, seeds, with_faults};
use crate::cq_bench::{Bench, DRAIN, FAST, LQ, Rates};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::OnceLock;
use tributary_hdl::card::CardCq;
use tributary_hdl::emit::emit_block;
use tributary_sim::testbench::{Stalls, profiles};
use tributary_sim::verilate::Verilated;

fn library() -> &'static Verilated {
    static LIBRARY: OnceLock<Verilated> = OnceLock::new();
    LIBRARY.get_or_init(|| build(CardCq::<LQ>::default()))
}

/// Stalls that a random run goes through.
const MIX: [Rates; 5] = [
    FAST,
    // Software is slow: rings fill.
    Rates {
        consume: 1,
        bad: 5,
        cancel: 10,
        arm: 20,
        ring: 33,
        ..FAST
    },
    // dma_write is slow.
    Rates {
        request: 20,
        word: 30,
        done: 10,
        bad: 10,
        cancel: 5,
        arm: 50,
        ..FAST
    },
    // Completions are slow; many slots wait.
    Rates {
        record: 5,
        cancel: 5,
        irq: 5,
        consume: 50,
        ..FAST
    },
    Rates {
        reserve: 50,
        record: 50,
        cancel: 20,
        request: 50,
        word: 50,
        done: 50,
        consume: 50,
        batch: 100,
        bad: 50,
        arm: 50,
        ring: 33,
        irq: 50,
        ..FAST
    },
];

/// A completion of the sender is a frame in so many cases, with its words at that rate.
fn with_frames(rates: Rates, (arrival, frame): (u32, u32)) -> Rates {
    Rates {
        arrival,
        frame,
        ..rates
    }
}

/// Frames among the sender's completions.
const FRAMES: [(u32, u32); 4] = [(50, 100), (20, 50), (100, 30), (50, 3)];

/// Queue pairs come and go, at all rates.
fn run(bench: &mut Bench, rounds: u64) {
    run_with(bench, rounds, &[(0, 100)]);
}

/// The same with frames.
fn run_with(bench: &mut Bench, rounds: u64, frames: &[(u32, u32)]) {
    for round in 0..rounds {
        for qpn in 0..1 << LQ {
            // One queue pair in eight is not there.
            if bench.dice.chance(87) {
                let log = bench.dice.of(&[0, 1, 1, 2, 3, 5, 15]);
                let vector = bench.dice.bits(3) as u8;
                bench.create(qpn, log, vector);
            }
        }
        for _ in 0..6 {
            let frames = bench.dice.of(frames);
            let rates = with_frames(bench.dice.of(&MIX), frames);
            for _ in 0..bench.dice.below(1_500) {
                bench.clock(&rates);
            }
        }
        bench.drain();
        for qpn in 0..1 << LQ {
            bench.destroy(qpn);
        }
        assert!(bench.done > 100 * round, "{} done", bench.done);
    }
}

#[test]
fn xud_02_xud_07_rings_never_overrun_and_every_completion_is_written_once_under_random_stalls() {
    for seed in seeds(10) {
        let moderation = [0, 1, 8, 9, 60, 700][seed as usize % 6];
        let mut bench = Bench::new(library(), seed, moderation);
        println!("seed {seed}");
        run(&mut bench, 4);
        assert!(bench.refused > 50, "{} refused", bench.refused);
        let taken: u64 = bench.irqs.iter().map(|irq| irq.taken).sum();
        assert!(taken > 30, "{taken} interrupts");
    }
}

/// Long form: `TRIBUTARY_FRAMES=1000000 cargo test -p tributary-hdl --test card_control under_every_profile -- --nocapture`.
#[test]
fn xud_02_xud_07_every_completion_is_written_once_under_every_profile_of_stalls() {
    profiles("card_cq: completions", |seed| {
        under_stalls(seed, &[(0, 100)]).done
    });
}

/// The same with frames among them.
#[test]
fn cl_05_every_frame_is_written_once_among_completions_under_every_profile_of_stalls() {
    profiles("card_cq: frames", |seed| {
        under_stalls(seed, &FRAMES).arrivals
    });
}

fn under_stalls(seed: u64, frames: &[(u32, u32)]) -> Bench {
    let moderation = [0, 1, 8, 9, 60, 700][seed as usize % 6];
    let mut bench = Bench::new(library(), seed, moderation);
    for qpn in 0..1 << LQ {
        let log = bench.dice.of(&[0, 1, 2, 3, 5, 15]);
        let vector = bench.dice.bits(3) as u8;
        bench.create(qpn, log, vector);
    }
    bench.stalls = Some(Stalls::of_seed(seed, 4));
    for _ in 0..6 {
        let frames = bench.dice.of(frames);
        let rates = with_frames(bench.dice.of(&MIX), frames);
        for _ in 0..2_500 {
            bench.clock(&rates);
        }
    }
    bench.stalls = None;
    bench.drain();
    bench
}

#[test]
fn cl_05_frames_are_written_as_they_came_among_completions_under_random_stalls() {
    for seed in seeds(8) {
        let mut bench = Bench::new(library(), seed, 0);
        println!("seed {seed}");
        run_with(&mut bench, 3, &FRAMES);
        assert!(bench.arrivals > 40, "{} frames", bench.arrivals);
    }
}

#[test]
fn a_completion_leaves_every_10_clocks_also_where_indices_wrap() {
    let mut bench = Bench::new(library(), 1, 0);
    bench.create(0, 10, 5);
    bench.active = 1;
    let (start, before) = (bench.rtl.now, bench.done);
    while bench.rings[0].done < 66_500 {
        bench.clock(&FAST);
    }
    let (clocks, done) = (bench.rtl.now - start, bench.done - before);
    println!(
        "{done} completions, {:.2} clocks each",
        clocks as f64 / done as f64
    );
    assert!(clocks <= 10 * done, "{clocks} clocks for {done}");
    bench.drain();
}

#[test]
fn reset_forgets_rings_slots_and_interrupts() {
    let mut bench = Bench::new(library(), 3, 50);
    for qpn in 0..1 << LQ {
        bench.create(qpn, 2, 1);
    }
    for _ in 0..500 {
        bench.clock(&FAST);
    }
    let mut fresh = Bench::new(library(), 4, 50);
    std::mem::swap(&mut fresh.rtl, &mut bench.rtl);
    fresh.rtl.reset(1);
    fresh.rtl.set("s_tx_valid", 0u8);
    // Nothing is there: all slots are refused, all doorbells bad, nothing is written, no interrupt comes.
    let rates = Rates { bad: 50, ..FAST };
    for _ in 0..500 {
        fresh.clock(&rates);
    }
    assert!(fresh.refused > 50);
    fresh.drain();
    fresh.clock(&DRAIN);
    assert_eq!(fresh.done, 0);
}

/// Wrong ways to write frames, and that the run above notices each.
#[test]
fn cl_05_frames_that_are_written_wrongly_are_noticed() {
    const FAULTS: &[Fault] = &[
        (
            "words are written before they are there",
            "!comes | s_words_valid",
            "1'b1",
        ),
        (
            "words are taken without a place",
            "comes & m_wd_ready",
            "comes",
        ),
        (
            "words of others are taken",
            "out_busy_reg & out_arrived_reg & !(&word_reg)",
            "out_busy_reg & !(&word_reg)",
        ),
        (
            "the last word comes with them",
            "out_busy_reg & out_arrived_reg & !(&word_reg)",
            "out_busy_reg & out_arrived_reg",
        ),
        (
            "the count of what was fetched is not there",
            "s_words_data | {32'd0, out_request_reg, 16'd0}",
            "s_words_data",
        ),
        (
            "it is in another place",
            "{32'd0, out_request_reg, 16'd0}",
            "{16'd0, out_request_reg, 32'd0}",
        ),
        (
            "an answer is not told",
            "{62'd0, arrival_answered, 1'b0}",
            "64'd0",
        ),
        (
            "it is told of notifications, too",
            "out_arrived_reg & out_notified_reg",
            "out_notified_reg",
        ),
        (
            "the receiver's records say it, too",
            "s_rx_record[293]",
            "s_tx_record[293]",
        ),
        (
            "words move too soon",
            "there & m_wd_ready",
            "out_busy_reg & m_wd_ready",
        ),
    ];
    let design = emit_block(&mut CardCq::<LQ>::default()).unwrap();
    let library = with_faults(&design, FAULTS);
    let run = |fault: usize| {
        let mut bench = Bench::new(&library, 1, 0);
        bench.rtl.set("fault", fault as u64);
        run_with(&mut bench, 3, &FRAMES);
    };
    run(0);
    for (i, (name, _, _)) in FAULTS.iter().enumerate() {
        let noticed = catch_unwind(AssertUnwindSafe(|| run(i + 1)));
        assert!(noticed.is_err(), "{name} was not noticed");
    }
}

#[test]
fn an_arm_is_one_interrupt_as_soon_as_more_is_written_and_the_latest_one_counts() {
    let mut bench = Bench::new(library(), 5, 0);
    bench.create(2, 2, 3);
    let taken = |bench: &Bench| bench.irqs[3].taken;
    bench.arm(2, 0);
    assert_eq!(taken(&bench), 0);
    bench.complete(2);
    assert_eq!(taken(&bench), 1);
    bench.complete(2);
    assert_eq!(taken(&bench), 1, "one only");
    bench.arm(2, 3);
    bench.arm(2, 2);
    assert_eq!(taken(&bench), 1);
    bench.complete(2);
    assert_eq!(taken(&bench), 2);
    bench.complete(2);
    assert_eq!(taken(&bench), 2, "replaced");
    bench.arm(2, 3);
    assert_eq!(taken(&bench), 3, "at once");
    bench.drain();
}

#[test]
fn doorbells_are_not_lost_when_48_come_without_a_pause() {
    let mut bench = Bench::new(library(), 8, 0);
    bench.create(0, 10, 1);
    bench.active = 1;
    for _ in 0..20 {
        for _ in 0..200 {
            bench.clock(&Rates { arm: 0, ..FAST });
        }
        bench.burst(0, 48);
    }
    bench.drain();
}

/// As many slots as card_send and card_reduce_send can have under way are given back while doorbells, which go first, come without
/// an end: none is lost.
#[test]
fn cl_05_slots_given_back_are_not_lost_while_doorbells_come() {
    const SLOTS: usize = 32;
    const BACK: usize = 20;
    let mut bench = Bench::new(library(), 9, 0);
    bench.create(0, 5, 1);
    let rtl = &mut bench.rtl;
    let ask = |rtl: &mut Rtl| {
        rtl.set("a_rsv_valid", 1u8);
        rtl.set("a_rsv_qpn", 0u8);
        for _ in 0..40 {
            rtl.settle();
            if rtl.is("a_rsv_done") {
                let ok = rtl.is("a_rsv_ok");
                rtl.clock();
                rtl.set("a_rsv_valid", 0u8);
                rtl.clock();
                return ok;
            }
            rtl.clock();
        }
        panic!("no answer");
    };
    let granted = (0..SLOTS + 1).filter(|_| ask(rtl)).count();
    assert_eq!(granted, SLOTS);
    // Doorbells every other clock, as fast as they are served.
    for clock in 0..3 * BACK {
        rtl.set("db_valid", u8::from(clock % 2 == 0));
        rtl.set("db_qpn", 0u8);
        rtl.set("db_kind", 3u8);
        rtl.set("db_index", 0u8);
        rtl.set(
            "a_cancel_valid",
            u8::from(clock % 2 == 1 && clock < 2 * BACK),
        );
        rtl.set("a_cancel_qpn", 0u8);
        rtl.clock();
    }
    rtl.set("db_valid", 0u8);
    rtl.set("a_cancel_valid", 0u8);
    (0..200).for_each(|_| rtl.clock());
    let granted = (0..BACK + 1).filter(|_| ask(rtl)).count();
    assert_eq!(granted, BACK);
}

/// A ring of 2^15 entries whose software takes nothing, and is more than half the range of an index behind.
#[test]
fn a_full_ring_of_2_15_entries_is_still_due() {
    let mut bench = Bench::new(library(), 6, 0);
    bench.create(0, 15, 1);
    bench.active = 1;
    let idle = Rates {
        consume: 0,
        arm: 0,
        ..FAST
    };
    while bench.rings[0].done < 1 << 15 {
        bench.clock(&idle);
    }
    for _ in 0..1_000 {
        bench.clock(&idle);
    }
    assert_eq!(bench.rings[0].done, 1 << 15);
    assert!(bench.refused > 10);
    bench.clock(&DRAIN);
    bench.arm(0, 0);
    assert_eq!(bench.irqs[1].taken, 1);
}

/// Wrong completion queues, and that the runs above notice each.
#[test]
fn completion_queues_with_a_fault_are_noticed() {
    const FAULTS: &[Fault] = &[
        ("ring is full", "!(|(in_use_reg & above_reg))", "1'b1"),
        (
            "operation just in front",
            "s2_valid_reg & (s2_qpn_reg == s1_qpn_reg)",
            "1'b0",
        ),
        (
            "operation before that",
            "s3_valid_reg & (s3_qpn_reg == s1_qpn_reg)",
            "1'b0",
        ),
        (
            "doorbell beyond the ring",
            "moved_reg <= can_move_reg",
            "1'b1",
        ),
        ("index armed at", "was_done_reg - was_armed_at_reg", "16'd0"),
        ("moderation", "wait_reg <= 17'd16", "1'b1"),
        ("done of another client", "context_client == CLIENT", "1'b1"),
    ];
    let design = emit_block(&mut CardCq::<LQ>::default()).unwrap();
    let library = with_faults(&design, FAULTS);
    for (i, (name, _, _)) in FAULTS.iter().enumerate() {
        let noticed = catch_unwind(AssertUnwindSafe(|| {
            let mut bench = Bench::new(&library, 1, 700);
            bench.rtl.set("fault", i as u64 + 1);
            run(&mut bench, 4);
        }));
        assert!(noticed.is_err(), "{name} was not noticed");
    }
}
