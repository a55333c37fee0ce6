//! The MAC of 1 Gb/s.

use std::sync::LazyLock;

use rand::{RngExt, SeedableRng, rngs::SmallRng};
use tributary_sim::testbench::{Profile, profiles};
use tributary_sim::verilate::Verilated;

use crate::bench::{Bench, Clocks, LONGEST, Received, build, compare, frame, with_fcs};
use crate::gmii_line::{self as line, Gmii, Symbol};

static LIBRARY: LazyLock<Verilated> = LazyLock::new(|| build::<Gmii>(|_, text| text.to_owned()));

/// Periods of the core's clock in tenths of a nanosecond: 40 to 200 MHz.
const CORES: [u64; 5] = [50, 80, 81, 100, 250];

/// Every frame leaves once, in order, padded, with its FCS, at least 12 bytes behind the last one.
#[test]
fn frames_leave_padded_with_fcs_and_gap() {
    profiles("frames sent", |seed| {
        let mut rng = SmallRng::seed_from_u64(seed);
        let mut bench = Bench::<Gmii>::new(
            &LIBRARY,
            Clocks::of::<Gmii>(&mut rng, &CORES),
            rng.random(),
            seed,
        );
        let slow = bench.offers.profile().pause() >= 100
            || matches!(bench.offers.profile(), Profile::OneIn(_));
        let frames: Vec<_> = (0..60).map(|_| frame(&mut rng, 9_018)).collect();
        for frame in &frames {
            bench.send(frame);
        }
        while bench.waiting() > 0 {
            bench.run(100);
        }
        bench.run(60_000);
        let read = line::read(&bench.sent);
        let mut cut = 0;
        let mut read = read.iter();
        for want in &frames {
            let got = read.next().expect("a frame for each");
            // The first one comes behind the reset.
            let first = std::ptr::eq(want, &frames[0]);
            assert!(first || got.gap >= 12, "a gap of {}, seed {seed}", got.gap);
            let mut padded = want.clone();
            padded.resize(want.len().max(60), 0);
            if got.error {
                // Its bytes did not come in time: what was sent is a part of it.
                let sent = got.bytes.len() - 1;
                assert!(
                    sent >= 2048 && sent.is_multiple_of(8),
                    "cut at {sent}, seed {seed}"
                );
                assert_eq!(got.bytes[..sent], want[..sent]);
                cut += 1;
            } else {
                assert_eq!(got.bytes, with_fcs(&padded), "seed {seed}");
            }
        }
        assert_eq!(read.next(), None, "seed {seed}");
        assert!(slow || cut == 0, "{cut} cut, seed {seed}");
        assert_eq!(bench.stats[..2], [frames.len() as u64, cut], "seed {seed}");
        frames.len() as u64
    });
}

/// Back to back the gap is 12 bytes, whatever the length: the whole rate of the line.
#[test]
fn gaps_are_twelve_bytes_when_frames_wait() {
    let mut rng = SmallRng::seed_from_u64(1);
    for core in [25_000, 40_000, 125_000] {
        let clocks = Clocks {
            core,
            tx: 40_000,
            rx: 40_000,
        };
        let mut bench = Bench::<Gmii>::new(&LIBRARY, clocks, rng.random(), 0);
        bench.offers.set(Profile::Free);
        for length in (60..130).chain([1_514, 4_096, 9_018]).chain(60..70) {
            bench.send(&vec![length as u8; length]);
        }
        while bench.waiting() > 0 {
            bench.run(100);
        }
        bench.run(30_000);
        let read = line::read(&bench.sent);
        assert_eq!(read.len(), 83);
        assert!(read.iter().all(line::Frame::good));
        for frame in &read[1..] {
            assert_eq!(frame.gap, 12, "in front of {} bytes", frame.bytes.len());
        }
    }
}

/// What comes is handed over byte for byte without its FCS, and said to be bad exactly if it is; what the core does not
/// take in time is dropped, or cut and marked, and counted.
#[test]
fn frames_come_whole_and_bad_ones_are_marked() {
    profiles("frames received", |seed| {
        let mut rng = SmallRng::seed_from_u64(seed);
        let mut bench = Bench::<Gmii>::new(
            &LIBRARY,
            Clocks::of::<Gmii>(&mut rng, &CORES),
            rng.random(),
            3 * seed,
        );
        // The reset lasts a few clocks more on the side of the line.
        bench.line.extend([Symbol::default(); 20]);
        let mut want = vec![];
        let mut fragments = 0;
        for _ in 0..100 {
            let bytes = frame(&mut rng, 9_030);
            let mut on_line = with_fcs(&bytes);
            let gap = rng.random_range(12..100);
            let gap = if rng.random_range(0..3) == 0 {
                rng.random_range(5..13)
            } else {
                gap
            };
            let preamble = if rng.random_range(0..4) == 0 {
                rng.random_range(4..20)
            } else {
                7
            };
            let mut error = None;
            match rng.random_range(0..8) {
                0 => {
                    let at = rng.random_range(0..on_line.len());
                    on_line[at] ^= 1 << rng.random_range(0..8);
                }
                1 => error = Some(rng.random_range(0..on_line.len())),
                2 => on_line.truncate(rng.random_range(1..on_line.len().min(70))),
                3 => {
                    // A carrier that is no frame.
                    let noise = [
                        rng.random_range(0x56..0xD5),
                        0x55,
                        0xD5,
                        1,
                        2,
                        3,
                        4,
                        5,
                        6,
                        7,
                    ];
                    bench.line.extend(noise.iter().map(|&byte| Symbol {
                        valid: true,
                        error: false,
                        byte,
                    }));
                    fragments += 1;
                }
                _ => {}
            }
            // Noise must be followed by a gap too.
            line::put(&mut bench.line, gap, preamble, &on_line, error);
            bench.line.push_back(Symbol::default());
            let good = error.is_none()
                && on_line == with_fcs(&bytes)
                && (64..=LONGEST as usize).contains(&on_line.len());
            if on_line.len() < 5 {
                fragments += 1;
                continue;
            }
            want.push((on_line[..on_line.len() - 4].to_vec(), good));
        }
        while !bench.line.is_empty() {
            bench.run(100);
        }
        bench.takes.set(Profile::Free);
        bench.run(20_000);
        compare(&bench, &want, fragments, seed);
        want.len() as u64
    });
}

/// A reset in the middle of frames, both ways, leaves nothing of them behind.
#[test]
fn a_reset_at_any_clock_forgets_both_ways() {
    let mut rng = SmallRng::seed_from_u64(2);
    for _ in 0..40 {
        let mut bench = Bench::<Gmii>::new(
            &LIBRARY,
            Clocks::of::<Gmii>(&mut rng, &CORES),
            rng.random(),
            0,
        );
        for _ in 0..4 {
            let bytes = frame(&mut rng, 3_000);
            bench.send(&bytes);
            line::put(&mut bench.line, 12, 7, &with_fcs(&bytes), None);
        }
        bench.run(rng.random_range(1..2_000));
        bench.reset();
        // The rest of a frame that was on the line when the reset came is a carrier without frame, if anything.
        bench.line.extend([Symbol::default(); 20]);
        let bytes: Vec<u8> = (0..100).map(|_| rng.random()).collect();
        bench.send(&bytes);
        line::put(&mut bench.line, 12, 7, &with_fcs(&bytes), None);
        bench.run(4_000);
        let sent = line::read(&bench.sent);
        assert_eq!(sent.last().unwrap().bytes, with_fcs(&bytes));
        assert_eq!(sent.len(), 1);
        assert_eq!(bench.received, [Received { bytes, bad: false }]);
    }
}

/// Faults that the benches above must see, each in the emitted text.
#[test]
fn named_mutations_are_caught() {
    let faults = [
        ("", "", "", "nothing"),
        (
            "mac_transmit",
            "step_at_reg == 4'd10",
            "step_at_reg == 4'd9",
            "gap",
        ),
        ("mac_transmit", "6'd59", "6'd58", "padding"),
        ("mac_receive", "32'hdebb20e3", "32'hdebb20e2", "residue"),
        ("mac_receive", "16'd64", "16'd63", "runt"),
    ];
    for (module, from, to, what) in faults {
        let library = build::<Gmii>(|name, text| {
            if !module.is_empty() && name.starts_with(module) {
                assert!(
                    text.contains(from),
                    "{what}: `{from}` is not in {name}:\n{text}"
                );
                text.replace(from, to)
            } else {
                text.to_owned()
            }
        });
        let clocks = Clocks {
            core: 40_000,
            tx: 40_000,
            rx: 40_000,
        };
        let mut bench = Bench::<Gmii>::new(&library, clocks, 0, 0);
        bench.offers.set(Profile::Free);
        bench.takes.set(Profile::Free);
        for length in [30, 59, 60, 61] {
            let bytes = vec![length as u8; length];
            bench.send(&bytes);
            line::put(&mut bench.line, 12, 7, &with_fcs(&bytes), None);
        }
        bench.run(2_000);
        let read = line::read(&bench.sent);
        let sent = read.len() == 4
            && read.iter().all(|f| f.good() && f.bytes.len() >= 64)
            && read[1..].iter().all(|f| f.gap == 12);
        let bad: Vec<_> = bench.received.iter().map(|got| got.bad).collect();
        let seen = !sent || bad != [true, true, false, false];
        assert_eq!(seen, !module.is_empty(), "{what}");
    }
}
