//! Operands for the tests of reductions.
#![allow(dead_code, reason = "each test file uses its own part")]

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use tributary_protocol::red::{wire::*, *};

pub mod fabric;
pub mod one_switch;

pub const SIGN: u64 = 1 << 63;
pub const INF: u64 = 0x7ff << 52;
pub const QNAN: u64 = 0x7ff8 << 48;
pub const ONE: u64 = 1023 << 52;

/// Magnitudes where something changes, with both signs.
pub fn specials() -> Vec<u64> {
    let one_up = |e: u64| [(e << 52) - 1, e << 52, (e << 52) + 1];
    let mut list = vec![0, 1, 2, 3, (1 << 51) - 1, 1 << 51, (1 << 52) - 2];
    for e in [
        1, 2, 52, 53, 54, 55, 500, 970, 1021, 1022, 1023, 1024, 1074, 1075, 1076, 1077, 1078, 1992,
        1993, 1994, 2045,
    ] {
        list.extend(one_up(e));
    }
    // The largest numbers, infinity, quiet and signalling NaNs with payloads.
    list.extend([
        INF - 2,
        INF - 1,
        INF,
        INF | 1,
        INF | 0x123,
        INF | ((1 << 51) - 1),
    ]);
    list.extend([QNAN, QNAN | 1, QNAN | 0x456, QNAN | ((1 << 51) - 1)]);
    list.extend([0x3ff8 << 48, 0x3ff5_5555_5555_5555, 0x4009_21fb_5444_2d18]);
    list.iter().flat_map(|&v| [v, v | SIGN]).collect()
}

pub fn rng(seed: u64) -> ChaCha8Rng {
    ChaCha8Rng::seed_from_u64(seed)
}

/// `RED_SEED`, or a fixed seed; printed, so that a failure can be repeated.
pub fn seed() -> u64 {
    let seed = std::env::var("RED_SEED")
        .ok()
        .and_then(|s| s.parse().ok())
        .unwrap_or(0x7e1d);
    println!("RED_SEED={seed}");
    seed
}

/// Pairs per mode: `RED_PAIRS`, or 100,000.
pub fn pairs() -> u64 {
    std::env::var("RED_PAIRS")
        .ok()
        .and_then(|s| s.parse().ok())
        .unwrap_or(100_000)
}

/// A significand: random bits, few bits, or a run of ones, so that ties and long carries happen.
fn fraction(rng: &mut ChaCha8Rng) -> u64 {
    let mask = (1u64 << 52) - 1;
    let bit = |rng: &mut ChaCha8Rng| 1u64 << rng.random_range(0..52);
    mask & match rng.random_range(0..5) {
        0 => rng.random::<u64>(),
        1 => bit(rng) | bit(rng),
        2 => bit(rng).wrapping_sub(bit(rng)),
        3 => mask ^ bit(rng),
        _ => rng.random::<u64>() & rng.random::<u64>() & rng.random::<u64>(),
    }
}

/// A pair of doubles: mostly with exponents a few bits or about a significand apart, some near the ends, some of any bits.
pub fn pair(rng: &mut ChaCha8Rng) -> (u64, u64) {
    let exp = match rng.random_range(0..6) {
        0 => rng.random_range(0..4),
        1 => rng.random_range(2040..2047),
        _ => rng.random_range(0..2047),
    };
    let apart = match rng.random_range(0..8) {
        0..3 => rng.random_range(-2..=2),
        3..5 => rng.random_range(-56..=56),
        5 => rng.random_range(-130..=130),
        6 => [-55, -54, -53, -52, 52, 53, 54, 55][rng.random_range(0..8)],
        _ => return (rng.random(), rng.random()),
    };
    let other = (exp + apart).clamp(0, 2046);
    let build = |rng: &mut ChaCha8Rng, e: i64| {
        (e as u64) << 52 | fraction(rng) | if rng.random() { SIGN } else { 0 }
    };
    (build(rng, exp), build(rng, other))
}

/// A contribution of one endpoint: node `source`, VNI 7, cookie 0x1234, seqno 0, count 1.
pub fn frame(dfa: Address, source: u32, op: Op, data: [u64; 4]) -> Frame {
    Frame {
        fabric: Fabric::new(Address::unicast(source, 0), dfa, 7),
        restricted: Restricted::default(),
        red: Reduction {
            seqno: 0,
            arm: false,
            op,
            count: 1,
            resno: 0,
            rc: Rc::OK,
            m: 0,
            oflow: 0,
            pad: 0,
            cookie: 0x1234,
        },
        data,
    }
}
