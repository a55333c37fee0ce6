//! Plain unicast frames: rate, order, loss, latency, reset.

use rand::RngExt;

use crate::bench::{Bench, LONGEST};
use crate::seeds;
use tributary_sim::testbench::profiles;

/// Clocks from the edge that takes the last beat to the first beat at the output.
const LATENCY: u64 = 8;

fn all_to_all(ports: usize, frames: usize) {
    let library = Bench::library(ports);
    profiles(&format!("core of {ports} ports: frames"), |seed| {
        let mut bench = Bench::new(&library, ports, seed);
        bench.stall();
        for input in 0..ports {
            for _ in 0..frames {
                let output = bench.rng.random_range(0..ports);
                // Now and then longer than Ethernet's, up to all that a queue holds.
                let longest = [1518, 8 * LONGEST][usize::from(bench.rng.random_range(0..16) == 0)];
                let length = bench.rng.random_range(60..=longest);
                bench.send_of(input, output, length);
            }
        }
        bench.finish();
        let total: u64 = (0..ports).map(|p| bench.sent(p)).sum();
        println!(
            "{ports} ports, seed {seed}: {total} frames out, {} dropped, {} clocks",
            bench.dropped(),
            bench.clocks
        );
        // Sinks may take less than sources send.
        assert!(total as usize > frames / 2, "{total}, seed {seed}");
        total
    });
}

#[test]
fn all_to_all_with_random_pauses_4() {
    all_to_all(4, 400);
}

#[test]
fn all_to_all_with_random_pauses_8() {
    all_to_all(8, 200);
}

/// The model of 16 ports compiles for minutes:
/// `cargo test -p tributary-sim --test switch_core -- --ignored all_to_all_with_random_pauses_16`.
#[test]
#[ignore = "the model compiles for more than four minutes on two cores"]
fn all_to_all_with_random_pauses_16() {
    all_to_all(16, 60);
}

/// Every input sends back to back to an output of its own: every clock carries a beat, nothing is lost.
fn permutation(ports: usize, length: Option<usize>) {
    let library = Bench::library(ports);
    for seed in seeds(2) {
        for shift in 1..ports {
            let mut bench = Bench::new(&library, ports, seed);
            for input in 0..ports {
                for _ in 0..120 {
                    let bytes = length.unwrap_or_else(|| bench.rng.random_range(60..=1518));
                    bench.send_of(input, (input + shift) % ports, bytes);
                }
            }
            let beats: Vec<u64> = bench.sources.iter().map(|s| s.len() as u64).collect();
            let start = bench.clocks;
            let mut out = vec![(0, 0, 0); ports];
            for clock in 0..beats.iter().max().unwrap() + 400 {
                bench.clock();
                for (port, (first, last, count)) in out.iter_mut().enumerate() {
                    if bench.rtl.outputs[port].tx.is_some() {
                        if *count == 0 {
                            *first = clock;
                        }
                        *last = clock;
                        *count += 1;
                    }
                }
            }
            assert_eq!(bench.clocks - start, beats.iter().max().unwrap() + 400);
            for (port, (first, last, count)) in out.into_iter().enumerate() {
                let input = (port + ports - shift) % ports;
                assert_eq!(count, beats[input], "port {port}, seed {seed}");
                // A long frame behind a short one is stored while the line is idle; frames of one length leave without a gap.
                let longest = 190;
                let gaps = last - first + 1 - count;
                let allowed = if length.is_some() { 0 } else { longest };
                assert!(
                    gaps <= allowed,
                    "port {port}: {gaps} idle clocks, seed {seed}"
                );
            }
            bench.finish();
            assert_eq!(bench.dropped(), 0, "seed {seed}");
        }
    }
}

#[test]
fn a_permutation_passes_at_line_rate_without_loss_4() {
    permutation(4, None);
}

#[test]
fn a_permutation_of_shortest_frames_passes_at_line_rate_4() {
    permutation(4, Some(60));
}

#[test]
fn a_permutation_of_longest_frames_passes_at_line_rate_4() {
    permutation(4, Some(1518));
}

#[test]
fn a_permutation_passes_at_line_rate_without_loss_8() {
    permutation(8, None);
}

#[test]
fn incast_drops_whole_frames_counts_them_and_keeps_the_output_busy_and_fair() {
    let ports = 8;
    let library = Bench::library(ports);
    for seed in seeds(3) {
        let mut bench = Bench::new(&library, ports, seed);
        let length = 100 + 400 * seed as usize;
        for input in 1..ports {
            for _ in 0..300 {
                bench.send_of(input, 0, length);
            }
        }
        let clocks = bench.sources[1].len() as u64;
        let mut busy = 0;
        for _ in 0..clocks {
            bench.clock();
            busy += u64::from(bench.rtl.outputs[0].tx.is_some());
        }
        assert!(busy + 400 > clocks, "{busy} of {clocks}, seed {seed}");
        let shares: Vec<u64> = (1..ports).map(|i| bench.delivered[i][0]).collect();
        let (least, most) = (shares.iter().min().unwrap(), shares.iter().max().unwrap());
        assert!(most - least <= 2, "{shares:?}, seed {seed}");
        bench.finish();
        assert!(
            bench.dropped() > 1000,
            "{} dropped, seed {seed}",
            bench.dropped()
        );
    }
}

#[test]
fn a_stalled_port_does_not_stall_others() {
    let ports = 4;
    let library = Bench::library(ports);
    for seed in seeds(4) {
        let mut bench = Bench::new(&library, ports, seed);
        let stalled = (seed % 4) as usize;
        bench.blocked[stalled] = true;
        for input in 0..ports {
            let other =
                (0..ports).find(|&o| o != stalled && o != input && (o + 1) % ports != input);
            let other = other.unwrap_or((input + 1) % ports);
            for _ in 0..100 {
                if other != input && other != stalled {
                    bench.send(input, other);
                }
                if input != stalled {
                    bench.send(input, stalled);
                }
            }
        }
        bench.drain();
        for input in 0..ports {
            for output in (0..ports).filter(|&o| o != stalled) {
                let missing = bench.counts[input].full[output];
                // Two inputs may share an output; then the queue may fill, but never because of the stalled port.
                let sharing = (0..ports)
                    .filter(|&i| bench.delivered[i][output] > 0)
                    .count();
                assert!(
                    missing == 0 || sharing > 1,
                    "{input} to {output}, seed {seed}"
                );
            }
        }
        assert_eq!(bench.sent(stalled), 0);
        assert!(bench.dropped() > 0);
        // It goes on where it stopped.
        bench.blocked[stalled] = false;
        bench.finish();
        assert!(bench.sent(stalled) > 0, "seed {seed}");
    }
}

#[test]
fn a_frame_leaves_an_idle_switch_eight_clocks_after_its_last_beat() {
    let library = Bench::library(4);
    for (input, output) in [(0, 1), (3, 0), (2, 3)] {
        for length in [57, 60, 64, 500, 1518] {
            let mut bench = Bench::new(&library, 4, 0);
            for _ in 0..20 {
                bench.clock();
            }
            bench.send_of(input, output, length);
            while !bench.sources[input].is_empty() {
                bench.clock();
            }
            // The last clock was the one whose edge took the last beat.
            for clock in 0..LATENCY {
                bench.clock();
                assert!(bench.rtl.outputs[output].shown.is_none(), "after {clock}");
            }
            bench.clock();
            assert!(bench.rtl.outputs[output].shown.is_some(), "{length} bytes");
            bench.finish();
        }
    }
}

/// Plain frames go to the MAC: whether an engine has room is nothing to them.
#[test]
fn engines_without_room_hold_up_no_plain_frame() {
    let ports = 4;
    let library = Bench::library(ports);
    let mut bench = Bench::new(&library, ports, 0);
    bench.reduce(u64::MAX);
    bench
        .engines
        .iter_mut()
        .for_each(|engine| engine.closed = true);
    for output in 0..ports {
        for input in 0..ports {
            bench.send(input, output);
        }
    }
    bench.finish();
    for output in 0..ports {
        // Back to where it came from goes none.
        assert_eq!(bench.sent(output), 3, "output {output}");
    }
}

#[test]
fn reset_empties_the_queues_and_keeps_the_tables() {
    let library = Bench::library(4);
    for seed in seeds(4) {
        let mut bench = Bench::new(&library, 4, seed);
        for input in 0..4 {
            for _ in 0..50 {
                let output = bench.rng.random_range(0..4);
                bench.send(input, output);
            }
        }
        let clocks = bench.rng.random_range(300..3000);
        for _ in 0..clocks {
            bench.clock();
        }
        bench.rtl.inputs.iter_mut().for_each(|i| i.rx = None);
        bench.rtl.model().reset(2).unwrap();
        for _ in 0..1000 {
            bench.rtl.clock().unwrap();
            assert!(
                bench.rtl.outputs.iter().all(|o| o.shown.is_none()),
                "seed {seed}"
            );
        }
        let rtl = bench.rtl;
        let mut bench = Bench::new(&library, 4, seed + 100);
        // Only the tables of the switch that was reset are right, so nothing is written here.
        bench.rtl = rtl;
        for input in 0..4 {
            for _ in 0..50 {
                let output = bench.rng.random_range(0..4);
                bench.send(input, output);
            }
        }
        bench.finish();
    }
}
