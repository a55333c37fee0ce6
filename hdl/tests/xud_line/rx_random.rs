//! The receiver under random frames, damage, pauses and stalls, in lock step with the model's decoder; and frames too long.

use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use tributary_protocol::red::address::NODES;
use tributary_protocol::roce;
use tributary_sim::testbench::{Stalls, profiles};

use super::rtl::{chance, frame, packet, rng, seeds};
use super::rx::{Beat, Bench, Consumer, Verdict, bulk_frame, judge, repair, samples};

pub fn consumer(rng: &mut ChaCha8Rng, eager: [u32; 4]) -> Consumer {
    Consumer {
        request: chance(rng, eager[0]),
        drop: chance(rng, eager[1]),
        payload: chance(rng, eager[2]),
        ack: chance(rng, eager[3]),
    }
}

/// A frame, good or damaged in some way.
pub fn any_frame(rng: &mut ChaCha8Rng, longest: usize) -> Vec<u8> {
    let mark = rng.random_range(0..100);
    let mut bytes = match rng.random_range(0..3) {
        0 => bulk_frame(rng, longest + 8),
        _ => frame(
            rng.random_range(0..NODES),
            rng.random_range(0..NODES),
            &packet(rng, longest),
        ),
    };
    // Of switches that mark, and of those that might have.
    if mark < 70 {
        roce::allow_marks(&mut bytes);
    }
    if mark < 40 {
        roce::mark_congestion(&mut bytes);
    }
    match rng.random_range(0..12) {
        0 => {
            let at = rng.random_range(0..bytes.len());
            bytes[at] ^= 1 << rng.random_range(0..8);
        }
        1 => {
            let at = rng.random_range(0..bytes.len().min(80));
            bytes[at] = rng.random();
            repair(&mut bytes);
        }
        2 => bytes.truncate(rng.random_range(1..=bytes.len())),
        3 => {
            let length = bytes.len() + rng.random_range(1..50);
            bytes.resize(length, rng.random());
        }
        4 => bytes.iter_mut().for_each(|byte| *byte = rng.random()),
        _ => {}
    }
    bytes
}

#[test]
fn xud_14_rw_20_random_frames_and_stalls_in_lock_step_with_the_model() {
    let mut seen = vec![];
    for seed in seeds(12) {
        let mut rng = rng(seed);
        // Every third card has no bulk transfers, every second of the others looks at marks.
        let mut bench = Bench::with_bulk(seed % 3 != 1);
        bench.look_at_marks(seed % 3 != 1 && seed % 2 == 0);
        // Seeds differ in what stalls: the consumer of requests, of payload, of acknowledgements, the line.
        let eager = match seed % 4 {
            0 => [90, 10, 95, 90],
            1 => [5, 50, 50, 3],
            2 => [50, 5, 25, 50],
            _ => [30, 30, 100, 10],
        };
        let gaps = [0, 30, 0, 5][seed as usize / 2 % 4];
        let longest = if seed % 3 == 0 { 4096 } else { 200 };
        for _ in 0..250 {
            let bytes = any_frame(&mut rng, longest);
            let marked = chance(&mut rng, 3);
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
        seen.extend(bench.verdicts);
    }
    for verdict in [
        Verdict::Taken,
        Verdict::Overflow,
        Verdict::BadFrame,
        Verdict::NotXud,
        Verdict::BadHeader,
    ] {
        assert!(seen.contains(&verdict), "{verdict:?} never came");
    }
}

/// Consumers of requests, payload and acknowledgements stall, together and apart; frames come on regardless, so some are too many.
/// Long form: `TRIBUTARY_FRAMES=1000000 cargo test -p tributary-hdl --test xud_line under_every_profile -- --nocapture`.
#[test]
fn xud_14_frames_are_judged_and_handed_on_under_every_profile_of_stalls() {
    profiles("xud_rx: frames", |seed| {
        let mut rng = rng(seed);
        let mut bench = Bench::with_bulk(seed % 2 == 0);
        bench.look_at_marks(seed % 4 == 0);
        let mut stalls = Stalls::of_seed(seed, 3);
        let longest = if seed % 3 == 0 { 4096 } else { 200 };
        for _ in 0..200 {
            let bytes = any_frame(&mut rng, longest);
            let mut choose = ChaCha8Rng::clone(&rng);
            let pause = chance(&mut choose, 30);
            let mut consumer = || {
                stalls.clock();
                let [request, payload, ack] = [0, 1, 2].map(|port| {
                    let ready = stalls.ready(port);
                    stalls.observe(port, true, true);
                    ready
                });
                Consumer {
                    request,
                    drop: chance(&mut choose, 10),
                    payload,
                    ack,
                }
            };
            bench.frame(&bytes, false, || false, &mut consumer);
            for _ in 0..if pause { 300 } else { 0 } {
                bench.step(None, consumer());
            }
        }
        bench.finish();
        200
    });
}

#[test]
fn words_with_holes_and_marks_do_no_harm_and_reset_empties() {
    for seed in seeds(3) {
        let mut rng = rng(seed);
        let mut bench = Bench::new();
        for _ in 0..300 {
            // At least one word of each frame has a number of bytes that none may have there.
            let count = rng.random_range(1..20);
            let mut beats: Vec<Beat> = (0..count)
                .map(|i| Beat {
                    data: rng.random(),
                    keep: rng.random(),
                    last: i + 1 == count,
                    user: rng.random(),
                })
                .collect();
            beats[0].keep = 0x0f;
            bench.garbage(&beats, Consumer::EAGER);
            let good = frame(1, 2, &packet(&mut rng, 60));
            bench.plain(&good);
            if chance(&mut rng, 3) {
                bench.frame(&good, false, || false, || Consumer::ASLEEP);
                let part = beats.len() - 1;
                bench.garbage(&beats[..part], Consumer::ASLEEP);
                bench.reset();
            }
        }
        bench.finish();
    }
}

/// Frames of every number of words with one bit set too many, though all else in them is right: a count that wraps or loses a
/// bit would take them.
#[test]
fn xud_14_a_frame_that_is_too_long_by_any_power_of_two_is_refused() {
    let mut bench = Bench::new();
    for sample in samples() {
        bench.plain(&sample);
        assert_eq!(judge(&sample, false, false, false).err(), None);
        for log in 3..=18 {
            let mut frame = sample.clone();
            let end = frame.len() - 4;
            frame.splice(end..end, std::iter::repeat_n(0, 1 << log));
            repair(&mut frame);
            assert!(
                judge(&frame, false, false, false).is_err(),
                "2^{log} bytes more"
            );
            bench.plain(&frame);
        }
        bench.plain(&sample);
    }
    bench.finish();
}
