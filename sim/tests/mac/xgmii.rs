//! The MAC of 10 Gb/s.

use std::sync::LazyLock;

use rand::{RngExt, SeedableRng, rngs::SmallRng};
use tributary_sim::testbench::{Profile, profiles};
use tributary_sim::verilate::Verilated;

use crate::bench::{Bench, Clocks, LONGEST, Received, build, compare, frame, with_fcs};
use crate::xgmii_line::{self as line, ERROR, IDLE, Lanes, Maker, START, Xgmii};

static LIBRARY: LazyLock<Verilated> = LazyLock::new(|| build::<Xgmii>(|_, text| text.to_owned()));

/// Periods of the core's clock in tenths of a nanosecond: 80 to 500 MHz.
const CORES: [u64; 6] = [20, 40, 63, 64, 65, 125];

fn bench(rng: &mut SmallRng, seed: u64) -> Bench<Xgmii> {
    let clocks = Clocks::of::<Xgmii>(rng, &CORES);
    Bench::new(&LIBRARY, clocks, rng.random(), seed)
}

fn padded(frame: &[u8]) -> Vec<u8> {
    let mut padded = frame.to_vec();
    padded.resize(frame.len().max(60), 0);
    with_fcs(&padded)
}

/// Every frame leaves once, in order, padded, with its FCS, from lane 0 or 4 on. One whose words do not come in time is cut, and
/// says so.
#[test]
fn frames_leave_padded_with_fcs_and_gap() {
    profiles("frames sent", |seed| {
        let mut rng = SmallRng::seed_from_u64(seed);
        let mut bench = bench(&mut rng, seed);
        let frames: Vec<_> = (0..60).map(|_| frame(&mut rng, 9_018)).collect();
        for frame in &frames {
            bench.send(frame);
        }
        while bench.waiting() > 0 {
            bench.run(100);
        }
        bench.run(20_000);
        let read = line::read(&bench.sent);
        let mut cut = 0;
        assert_eq!(read.len(), frames.len(), "seed {seed}");
        for (want, got) in frames.iter().zip(&read) {
            assert!(got.gap >= 9, "a gap of {}, seed {seed}", got.gap);
            if got.error {
                let sent = got.bytes.len();
                assert!(
                    sent >= 2048 && sent.is_multiple_of(8),
                    "cut at {sent}, seed {seed}"
                );
                assert_eq!(got.bytes, want[..sent]);
                cut += 1;
            } else {
                assert_eq!(got.bytes, padded(want), "seed {seed}");
            }
        }
        assert_eq!(bench.stats[..2], [frames.len() as u64, cut], "seed {seed}");
        frames.len() as u64
    });
}

/// Back to back gaps are 12 bytes on average and never more than 3 off, whatever the lengths: the whole rate of the line.
#[test]
fn gaps_are_twelve_bytes_on_average_when_frames_wait() {
    let mut rng = SmallRng::seed_from_u64(1);
    for core in [10_000, 16_000, 20_000] {
        let clocks = Clocks {
            core,
            tx: 32_000,
            rx: 32_000,
        };
        let mut bench = Bench::<Xgmii>::new(&LIBRARY, clocks, rng.random(), 0);
        bench.offers.set(Profile::Free);
        let random: Vec<usize> = (0..300).map(|_| rng.random_range(60..400)).collect();
        let lengths = (60..130).chain([1_514, 4_096, 9_018]).chain(random);
        let lengths: Vec<usize> = lengths.chain(60..70).collect();
        for &length in &lengths {
            bench.send(&vec![length as u8; length]);
        }
        while bench.waiting() > 0 {
            bench.run(100);
        }
        bench.run(30_000);
        let read = line::read(&bench.sent);
        assert_eq!(read.len(), lengths.len());
        let mut lanes = [0; 2];
        let (mut debt, mut least, mut most) = (0, 0, 0);
        for (at, (frame, length)) in read.iter().zip(&lengths).enumerate() {
            if at < 20 {
                // The queue fills, and frames wait for their words.
                continue;
            }
            assert_eq!(frame.bytes, padded(&vec![*length as u8; *length]));
            lanes[frame.lane / 4] += 1;
            debt += 12 - frame.gap as i64;
            (least, most) = (least.min(debt), most.max(debt));
        }
        assert!(most - least < 4, "{least} to {most} bytes owed");
        assert!(lanes.iter().all(|&lane| lane > 50), "{lanes:?}");
    }
}

/// What stands on the line, and what is to be handed over of it: bytes, and whether they are a good frame.
#[derive(Default)]
struct Coming {
    maker: Maker,
    want: Vec<(Vec<u8>, bool)>,
    fragments: u64,
}

impl Coming {
    /// A frame, or something that is none.
    fn put(&mut self, rng: &mut SmallRng, bytes: &[u8]) {
        let mut on_line = with_fcs(bytes);
        let mut good = (64..=LONGEST as usize).contains(&on_line.len());
        match rng.random_range(0..9) {
            0 => {
                let at = rng.random_range(0..on_line.len());
                on_line[at] ^= 1 << rng.random_range(0..8);
                good = false;
            }
            1 => {
                // A control character ends the frame; what follows it is none.
                let at = rng.random_range(0..on_line.len());
                let character = [ERROR, IDLE, 0x9C, 0, 0xFF][rng.random_range(0..5)];
                self.maker.preamble();
                self.maker.data(&on_line[..at]);
                self.maker.put([(character, true)]);
                self.maker.data(&on_line[at..]);
                self.maker.end();
                self.hands_over(&on_line[..at], false);
                return;
            }
            2 => {
                on_line.truncate(rng.random_range(1..on_line.len().min(70)));
                good = false;
            }
            3 => {
                // A start without frame.
                let last = rng.random_range(0..0xD5);
                self.maker.put([(START, true)]);
                self.maker.data(&[0x55, 0x55, 0x55, 0x55, 0x55, 0x55, last]);
                self.maker.data(&on_line);
                self.maker.end();
                self.fragments += 1;
                return;
            }
            4 => {
                // Another start in place of the end.
                on_line.truncate(on_line.len() / 4 * 4);
                let lane = self.maker.lane();
                self.maker.preamble();
                self.maker.data(&on_line);
                if lane == 4 && self.maker.lane() == 0 {
                    // The half word in front of it is not looked at.
                    on_line.truncate(on_line.len() - 4);
                }
                self.hands_over(&on_line, false);
                on_line = with_fcs(&[bytes, &[1; 60]].concat());
                good = (64..=LONGEST as usize).contains(&on_line.len());
            }
            _ => {}
        }
        self.maker.frame(&on_line);
        self.hands_over(&on_line, good);
    }

    fn hands_over(&mut self, on_line: &[u8], good: bool) {
        if on_line.len() < 5 {
            self.fragments += 1;
        } else {
            self.want
                .push((on_line[..on_line.len() - 4].to_vec(), good));
        }
    }
}

/// What comes is handed over byte for byte without its FCS, and said to be bad exactly if it is, behind gaps of 5 bytes and more;
/// what the core does not take in time is dropped, or cut and marked, and counted.
#[test]
fn frames_come_whole_and_bad_ones_are_marked() {
    profiles("frames received", |seed| {
        let mut rng = SmallRng::seed_from_u64(seed);
        let mut bench = bench(&mut rng, 3 * seed);
        // The reset lasts a few clocks more on the side of the line.
        bench.line.extend([Lanes::default(); 20]);
        let mut coming = Coming::default();
        for _ in 0..100 {
            let bytes = frame(&mut rng, 9_030);
            coming.put(&mut rng, &bytes);
            let shortest = rng.random_bool(0.5);
            // The end is one of the 5 bytes.
            let gap = if shortest {
                4
            } else {
                rng.random_range(4..100)
            };
            coming.maker.idle(gap);
        }
        bench.line.extend(coming.maker.lanes());
        while !bench.line.is_empty() {
            bench.run(100);
        }
        bench.takes.set(Profile::Free);
        bench.run(20_000);
        compare(&bench, &coming.want, coming.fragments, seed);
        coming.want.len() as u64
    });
}

/// A reset in the middle of frames, both ways, leaves nothing of them behind.
#[test]
fn a_reset_at_any_clock_forgets_both_ways() {
    let mut rng = SmallRng::seed_from_u64(2);
    for _ in 0..60 {
        let mut bench = bench(&mut rng, 0);
        let mut maker = Maker::default();
        for _ in 0..4 {
            let bytes = frame(&mut rng, 3_000);
            bench.send(&bytes);
            maker.idle(12);
            maker.frame(&with_fcs(&bytes));
        }
        bench.line.extend(maker.lanes());
        bench.run(rng.random_range(1..1_000));
        bench.reset();
        bench.line.extend([Lanes::default(); 20]);
        let bytes: Vec<u8> = (0..100).map(|_| rng.random()).collect();
        bench.send(&bytes);
        let mut maker = Maker::default();
        maker.frame(&with_fcs(&bytes));
        bench.line.extend(maker.lanes());
        bench.run(4_000);
        let sent = line::read(&bench.sent);
        assert_eq!(sent.last().unwrap().bytes, with_fcs(&bytes));
        assert_eq!(sent.len(), 1);
        assert_eq!(bench.received, [Received { bytes, bad: false }]);
    }
}

/// Four ordered sets of a fault within 128 columns of each other, and what is sent meanwhile: the other end is told of a fault
/// here; while there is one there nothing is sent. 128 columns without any end it. What comes is handed over all the same.
#[test]
fn link_faults_are_told_and_end() {
    let clocks = Clocks {
        core: 20_000,
        tx: 32_000,
        rx: 32_000,
    };
    let faults = |bench: &Bench<Xgmii>| {
        ["stat_local_fault", "stat_remote_fault"].map(|name| bench.is_set(name))
    };
    let bytes = vec![7; 100];
    for kind in [1, 2] {
        let told = [kind == 1, kind == 2];
        let mut bench = Bench::<Xgmii>::new(&LIBRARY, clocks, 0, 0);
        bench.offers.set(Profile::Free);
        bench.takes.set(Profile::Free);
        // Three sets are none; nor are four with another kind among them, and four too far apart.
        let mut maker = Maker::default();
        maker.fault(kind, 3);
        maker.idle(4 * 140);
        maker.fault(kind, 3);
        maker.fault(3 - kind, 1);
        maker.fault(kind, 1);
        maker.idle(4 * 140);
        for _ in 0..8 {
            maker.fault(kind, 1);
            maker.idle(4 * 131);
        }
        bench.line.extend(maker.lanes());
        while !bench.line.is_empty() {
            bench.run(1);
            assert_eq!(faults(&bench), [false; 2]);
        }
        let mut maker = Maker::default();
        maker.fault(kind, 2);
        maker.idle(4 * 120);
        maker.fault(kind, 2);
        bench.line.extend(maker.lanes());
        bench.run(150);
        assert_eq!(faults(&bench), told);
        let mut maker = Maker::default();
        for _ in 0..10 {
            maker.fault(kind, 1);
            maker.idle(4 * 90);
        }
        maker.frame(&with_fcs(&bytes));
        maker.fault(kind, 1);
        bench.line.extend(maker.lanes());
        bench.run(20);
        bench.sent.clear();
        bench.send(&bytes);
        bench.run(400);
        let fault = [(0x9C, true), (0, false), (0, false), (2, false)];
        let set = Lanes(std::array::from_fn(|at| fault[at % 4]));
        let want = if kind == 1 { set } else { Lanes::default() };
        assert!(bench.sent.len() > 200);
        assert!(bench.sent.iter().all(|&lanes| lanes == want));
        while !bench.line.is_empty() {
            bench.run(1);
        }
        assert_eq!(faults(&bench), told);
        bench.run(60);
        assert_eq!(faults(&bench), told, "128 columns are not over");
        bench.run(100);
        assert_eq!(faults(&bench), [false; 2]);
        assert_eq!(
            bench.received,
            [Received {
                bytes: bytes.clone(),
                bad: false
            }]
        );
        // The frame was taken, and is lost; the next one leaves.
        assert_eq!(bench.stats[0], 1);
        bench.sent.clear();
        bench.send(&[8; 64]);
        bench.run(200);
        let sent = line::read(&bench.sent);
        assert_eq!(sent.len(), 1);
        assert_eq!(sent[0].bytes, with_fcs(&[8; 64]));
    }
}

/// Faults that the benches above must see, each in the emitted text.
#[test]
fn named_mutations_are_caught() {
    let faults = [
        ("", "", "", "nothing"),
        ("mac_xgmii_transmit", "{2'd0, owed[2]}", "3'd0", "deficit"),
        (
            "mac_xgmii_transmit",
            "retreat_16 two",
            "retreat_8 two",
            "FCS",
        ),
        ("mac_xgmii_transmit", "&at_reg", "at_reg[2]", "padding"),
        (
            "mac_xgmii_receive",
            "== 8'd213",
            "!= 8'd214",
            "start of frame",
        ),
        ("mac_xgmii_receive", "16'd64", "16'd63", "runt"),
        ("mac_xgmii_receive", "<= ZEROS3;", "<= ZEROS4;", "residue"),
    ];
    let clocks = Clocks {
        core: 20_000,
        tx: 32_000,
        rx: 32_000,
    };
    for (module, from, to, what) in faults {
        let library = build::<Xgmii>(|name, text| {
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
        let mut bench = Bench::<Xgmii>::new(&library, clocks, 0, 0);
        bench.offers.set(Profile::Free);
        bench.takes.set(Profile::Free);
        let mut maker = Maker::default();
        maker.idle(160);
        maker.put([(START, true)]);
        maker.data(&[0x55, 0x55, 0x55, 0x55, 0x55, 0x55, 0x55]);
        maker.data(&with_fcs(&[1; 60]));
        maker.end();
        let lengths = [30, 59, 60, 61, 62, 63, 64, 65, 66, 67, 68];
        for length in lengths {
            let bytes = vec![length as u8; length];
            bench.send(&bytes);
            maker.idle(12);
            maker.frame(&with_fcs(&bytes));
        }
        bench.line.extend(maker.lanes());
        bench.run(2_000);
        let read = line::read(&bench.sent);
        let gaps: usize = read[1..].iter().map(|frame| frame.gap).sum();
        let sent = read.len() == lengths.len()
            && std::iter::zip(&read, lengths)
                .all(|(got, length)| got.bytes == padded(&vec![length as u8; length]))
            && (117..=120).contains(&gaps);
        let bad: Vec<_> = bench.received.iter().map(|got| got.bad).collect();
        let came = bad == [[true; 2].as_slice(), &[false; 9]].concat();
        assert_eq!(sent && came, module.is_empty(), "{what}: {gaps}");
    }
}
