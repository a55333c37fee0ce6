//! Frames that go nowhere: counters only, and good frames between them pass.

use rand::RngExt;
use tributary_sim::switch::{Beat, beats};

use crate::bench::{Bench, LONGEST, node_mac};
use crate::seeds;

/// Sends what `bad` makes of a good frame's beats between good frames, back to back and with pauses.
fn only_counted(name: &str, bad: impl Fn(&mut Bench, Vec<Beat>) -> Vec<Beat>) {
    let library = Bench::library(4);
    for seed in seeds(4) {
        let mut bench = Bench::new(&library, 4, seed);
        bench.pause(seed);
        for input in 0..4 {
            for _ in 0..60 {
                if bench.rng.random_range(0..2) == 0 {
                    bench.send(input, (input + 1) % 4);
                } else {
                    let output = bench.rng.random_range(0..4);
                    let length = bench.rng.random_range(60..400);
                    let frame = bench.frame(input, node_mac(output), length);
                    let beats = bad(&mut bench, beats(&frame).collect());
                    bench.push_bad(input, beats);
                }
            }
        }
        bench.finish();
        assert_eq!(bench.dropped(), 0, "{name}, seed {seed}");
        let counted: u64 = bench.counts.iter().map(|c| c.reasons[1]).sum();
        assert!(counted > 40, "{name}: {counted}, seed {seed}");
    }
}

#[test]
fn runts_are_only_counted() {
    only_counted("runt", |bench, mut beats| {
        beats.truncate(bench.rng.random_range(1..8));
        beats.last_mut().unwrap().last = true;
        beats
    });
}

#[test]
fn frames_longer_than_a_queue_are_only_counted() {
    only_counted("oversize", |bench, mut beats| {
        let extra = [0, 1, 2, 513, 2000][bench.rng.random_range(0..5)];
        let word = Beat {
            last: false,
            keep: 0xff,
            ..beats[3]
        };
        let end = beats.split_off(4);
        beats.extend(vec![word; LONGEST + 1 + extra - 4 - end.len()]);
        beats.extend(end);
        beats
    });
}

#[test]
fn frames_that_the_mac_marks_bad_are_only_counted() {
    only_counted("tuser", |_, mut beats| {
        beats.last_mut().unwrap().user = true;
        beats
    });
}

#[test]
fn words_with_holes_and_short_words_inside_are_only_counted() {
    only_counted("tkeep", |bench, mut beats| {
        let place = bench.rng.random_range(0..beats.len());
        let beat = &mut beats[place];
        beat.keep = if beat.last {
            // Holes, or no byte at all.
            loop {
                let keep: u8 = bench.rng.random();
                if keep.leading_zeros() + keep.trailing_ones() != 8 || keep == 0 {
                    break keep;
                }
            }
        } else {
            bench.rng.random_range(0..0xff)
        };
        beats
    });
}

#[test]
fn the_longest_frame_that_fits_passes() {
    let library = Bench::library(4);
    let mut bench = Bench::new(&library, 4, 0);
    for bytes in [8 * LONGEST - 7, 8 * LONGEST, 60, 8 * LONGEST] {
        bench.send_of(0, 1, bytes);
        bench.drain();
    }
    bench.finish();
    assert_eq!(bench.sent(1), 4);
}

#[test]
fn no_route_hairpin_and_disabled_ports_are_only_counted() {
    let library = Bench::library(4);
    for seed in seeds(4) {
        let mut bench = Bench::new(&library, 4, seed);
        bench.pause(seed);
        bench.route(10, Some(5));
        bench.route(11, Some(63));
        bench.route(12, Some(1));
        bench.route(12, None);
        for round in 0..4 {
            bench.enable([0b1111, 0b1011, 0b0110, 0b1101][round]);
            for input in 0..4 {
                for _ in 0..60 {
                    let mut to = node_mac(bench.rng.random_range(0..16));
                    match bench.rng.random_range(0..8) {
                        // Beyond the table.
                        0 => to = node_mac(64 << bench.rng.random_range(0..14) | 1),
                        // Not an address of the fabric.
                        1 => to = [0xff; 6],
                        2 => to[0] = bench.rng.random(),
                        3 => to[1] = 1 << bench.rng.random_range(0..8),
                        _ => {}
                    }
                    let length = bench.rng.random_range(57..300);
                    let frame = bench.frame(input, to, length);
                    bench.push(input, &frame);
                }
            }
            bench.drain();
        }
        bench.finish();
        for reason in [0, 3, 5, 6] {
            let counted: u64 = bench.counts.iter().map(|c| c.reasons[reason]).sum();
            assert!(counted > 15, "reason {reason}: {counted}, seed {seed}");
        }
        let off: u64 = bench.counts.iter().map(|c| c.off).sum();
        assert!(off > 10, "{off} copies for disabled ports, seed {seed}");
    }
}
