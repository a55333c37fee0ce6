//! The reduction engine in Verilator against the executable model.
//!
//! Environment: `TRIBUTARY_SEED` runs this seed alone; `TRIBUTARY_FRAMES` goes on with further seeds until so many frames
//! have gone in. Long form:
//!
//! ```sh
//! TRIBUTARY_FRAMES=1000000 cargo test --release -p tributary-sim --test red_engine -- --nocapture lock_step
//! ```

mod bench;
mod mutations;
mod traffic;

use std::sync::OnceLock;

use bench::{Bench, Item, Way};
use rand::{RngExt, SeedableRng, rngs::SmallRng};
use tributary_protocol::red::{Address, EngineConfig, Mode, Op, wire::DEFAULT_ETHERTYPE};
use tributary_sim::testbench::{Profile, Stalls, number, profiles};
use tributary_sim::verilate::Verilated;

fn library() -> &'static Verilated {
    static LIBRARY: OnceLock<Verilated> = OnceLock::new();
    LIBRARY.get_or_init(|| {
        let (top, files) = bench::sources();
        bench::build(&top, &files)
    })
}

/// Small thresholds and timeouts, as in [`traffic::wait`].
fn config(ieee_nan: bool) -> EngineConfig {
    EngineConfig {
        descriptors: 8,
        thresholds: [2, 3, 5],
        timeouts: [0, 1, 2, 3],
        mode: Mode { ieee_nan },
        address: Address::unicast(0xabcde, 0x123),
    }
}

/// The engine of a seed: in every other group of four, with thresholds of every size and longer timeouts.
fn bench(library: &Verilated, seed: u64) -> Bench {
    let mut rng = SmallRng::seed_from_u64(!seed);
    let mut config = config(seed % 2 == 1);
    config.address = Address(rng.random());
    if seed / 4 % 2 == 1 {
        config.thresholds = [0; 3].map(|_| rng.random_range(0..1 << 20));
        config.timeouts = [0; 4].map(|_| rng.random_range(0..TIMEOUT));
    }
    Bench::new(library, config, rng.random(), Stalls::of_seed(seed, 1))
}

/// Longest timeout, in units of 1,024 clocks.
const TIMEOUT: u32 = 40;

/// Clocks of a seed. The longest stalls come once in 4,000 clocks.
const CLOCKS: u64 = 300_000;

/// Random frames of every kind for so many clocks.
fn traffic(bench: &mut Bench, rng: &mut SmallRng, seed: u64, clocks: u64) {
    let (idle, keys) = [(0, 4), (64, 12), (0, 10), (250, 8)][(seed % 4) as usize];
    let end = bench.clock + clocks;
    while bench.clock < end && bench.trouble.is_none() {
        if bench.ready() && rng.random_range(0..256) >= idle {
            let item = traffic::item(rng, keys, &bench.model);
            bench.begin(item);
        }
        bench.step();
        bench.check_deadlines();
    }
}

/// Traffic while the output stalls in the profile of the seed, and then none until all is done.
fn run(library: &Verilated, seed: u64, clocks: u64) -> Result<Bench, String> {
    let mut rng = SmallRng::seed_from_u64(seed);
    let mut bench = bench(library, seed);
    traffic(&mut bench, &mut rng, seed, clocks);
    ended(bench, seed)
}

/// Drains, and says what was wrong.
fn ended(mut bench: Bench, seed: u64) -> Result<Bench, String> {
    if bench.trouble.is_none() {
        bench.drain(u64::from(TIMEOUT + 8) * 1024);
    }
    match bench.trouble.take() {
        Some(trouble) => Err(format!(
            "seed {seed}, {}: {trouble}",
            Profile::of_seed(seed)
        )),
        None => Ok(bench),
    }
}

#[test]
fn red_09_red_10_red_11_red_12_red_13_red_14_red_15_red_16_lock_step() {
    let mut events = [0; bench::EVENTS];
    let (mut refused, mut apart) = (0, 0);
    let mut together = [[0; 2]; 17];
    profiles("engine: frames", |seed| {
        let bench = run(library(), seed, CLOCKS).unwrap_or_else(|e| panic!("{e}"));
        for (sum, count) in events.iter_mut().zip(bench.events) {
            *sum += count;
        }
        refused += bench.refused;
        apart += bench.apart;
        for (sum, count) in together
            .as_flattened_mut()
            .iter_mut()
            .zip(bench.together.as_flattened())
        {
            *sum += count;
        }
        bench.frames
    });
    println!(
        "events {events:?}, {refused} arms refused while results waited\n\
         taken together, by number, descriptor not empty or empty: {together:?}; {apart} refused"
    );
    if number("TRIBUTARY_SEED").is_none() {
        let seldom = |n: &[u64; 2]| n.iter().any(|&n| n < 10);
        assert!(
            apart > 100 && !together[3..].iter().any(seldom),
            "{apart}, {together:?}"
        );
        assert!(events.iter().all(|&n| n > 0), "not covered: {events:?}");
    }
}

/// A reset in any clock, and frames again from the next one on: no word, no frame, no descriptor, no timer is left.
#[test]
fn after_a_reset_an_engine_is_as_new() {
    profiles("engine: frames between resets", |seed| {
        let mut rng = SmallRng::seed_from_u64(seed);
        let mut bench = bench(library(), seed);
        for _ in 0..200 {
            let clocks = if rng.random_range(0..8) == 0 {
                2_500
            } else {
                120
            };
            let clocks = rng.random_range(1..clocks);
            traffic(&mut bench, &mut rng, seed, clocks);
            if bench.trouble.is_some() {
                break;
            }
            bench.reset();
        }
        traffic(&mut bench, &mut rng, seed, 2_500);
        ended(bench, seed).unwrap_or_else(|e| panic!("{e}")).frames
    });
}

/// Each bit of each timeout alone, beside three timeouts of nothing: a descriptor is given up in its time and not before.
#[test]
fn red_12_every_bit_of_every_timeout_counts() {
    let mut rng = SmallRng::seed_from_u64(4);
    for (class, wait) in [5, 15, 25, 35].into_iter().enumerate() {
        for bit in 0..24 {
            let mut config = config(false);
            config.thresholds = [10, 20, 30];
            config.timeouts = [0; 4];
            config.timeouts[class] = 1 << bit;
            let stalls = Stalls::new(Profile::Free, 4, 1);
            let mut bench = Bench::new(library(), config, DEFAULT_ETHERTYPE, stalls);
            let key = traffic::key(&mut rng, 8);
            bench.begin(Item {
                way: Way::Down(wait),
                frame: traffic::frame(&mut rng, key, None, true),
                others: vec![],
            });
            let units = config.timeouts[class].min(4) + 2;
            while bench.clock < u64::from(units) * 1024 {
                bench.step();
                bench.check_deadlines();
            }
            assert_eq!(bench.trouble, None, "timeout {class}, bit {bit}");
            let given_up = bench.events[10] + bench.events[11];
            assert_eq!(given_up, u64::from(bit <= 2), "timeout {class}, bit {bit}");
        }
    }
}

/// Results of reproducible sums that begin to leave as soon as they can, while the last contribution's words are still written.
fn two_scales(library: &Verilated, seed: u64) -> Result<Bench, String> {
    let mut rng = SmallRng::seed_from_u64(seed);
    let mut bench = bench(library, seed);
    for _ in 0..ROUNDS {
        for item in traffic::two_scales(&mut rng) {
            while !bench.ready() {
                bench.step();
            }
            bench.begin(item);
            // Not always enough for what is sent of before to be gone.
            for _ in 0..rng.random_range(0..40) {
                bench.step();
            }
        }
        for _ in 0..rng.random_range(0..60) {
            bench.step();
        }
        if bench.trouble.is_some() {
            break;
        }
    }
    ended(bench, seed)
}

/// Sums of two of a seed.
const ROUNDS: u32 = 1_500;

#[test]
fn red_06_red_15_a_result_leaves_while_its_last_words_are_written() {
    profiles("engine: sums of two scales", |seed| {
        let bench = two_scales(library(), seed).unwrap_or_else(|e| panic!("{e}"));
        assert!(
            bench.sent.len() as u32 >= ROUNDS,
            "seed {seed}: {} frames",
            bench.sent.len()
        );
        bench.frames
    });
}

/// Frames of one tree every 11 clocks are all combined, and the engine never closes.
#[test]
fn back_to_back_frames_of_one_tree_are_combined_at_line_rate() {
    for op in [
        Op::IntSum,
        Op::FltSumNearest,
        Op::FltMinmaxloc,
        Op::FltRepsum,
    ] {
        combine_back_to_back(op);
    }
}

fn combine_back_to_back(op: Op) {
    let mut rng = SmallRng::seed_from_u64(3);
    let stalls = Stalls::new(Profile::Free, 3, 1);
    let mut bench = Bench::new(library(), config(false), DEFAULT_ETHERTYPE, stalls);
    let key = traffic::key(&mut rng, 1);
    let mut arm = traffic::frame(&mut rng, key, None, true);
    arm.red.seqno = 5;
    arm.red.op = op;
    bench.begin(Item {
        way: Way::Down(1000),
        frame: arm,
        others: vec![],
    });
    for n in 1..=200 {
        for _ in 0..11 {
            bench.step();
        }
        assert!(bench.ready(), "frame {n} would have to wait");
        let mut frame = traffic::frame(&mut rng, key, None, false);
        frame.fabric.vni = arm.fabric.vni;
        frame.red.cookie = arm.red.cookie;
        frame.red.seqno = 5;
        frame.red.op = op;
        frame.red.count = 1;
        bench.begin(Item {
            way: Way::Up,
            frame,
            others: vec![],
        });
    }
    bench.drain(8 * 1024);
    assert_eq!(bench.trouble, None);
    assert_eq!(bench.events[8], 200);
}
