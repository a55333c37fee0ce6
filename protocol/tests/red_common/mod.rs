//! Operands for the tests of reductions.
#![allow(dead_code, reason = "each test file uses its own part")]

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use tributary_protocol::red::{
    ops::{BINARY64, Format},
    wire::*,
    *,
};

pub mod fabric;
pub mod one_switch;

pub const SIGN: u64 = 1 << 63;
pub const INF: u64 = 0x7ff << 52;
pub const QNAN: u64 = 0x7ff8 << 48;
pub const ONE: u64 = 1023 << 52;

/// Bits of the fraction, the exponent of infinity, and that of one.
fn layout(format: Format) -> (i64, i64, i64) {
    let fraction = format.quiet().trailing_zeros() + 1;
    let top = (format.inf() >> fraction) as i64;
    (fraction.into(), top, top >> 1)
}

/// Doubles where something changes.
pub fn specials() -> Vec<u64> {
    specials_of(BINARY64)
}

/// Magnitudes where something changes, with both signs.
pub fn specials_of(format: Format) -> Vec<u64> {
    let (fraction, top, bias) = layout(format);
    let (hidden, quiet, inf) = (1 << fraction, format.quiet(), format.inf());
    let digits = fraction + 1;
    let one_up = |e: i64| {
        let least = (e as u64) << fraction;
        [least - 1, least, least + 1]
    };
    let mut list = vec![0, 1, 2, 3, quiet - 1, quiet, hidden - 2];
    list.extend(
        [1, 2, bias >> 1, bias - digits, top - 2]
            .map(one_up)
            .concat(),
    );
    list.extend((digits - 1..digits + 3).flat_map(one_up));
    list.extend((bias - 2..bias + 2).flat_map(one_up));
    list.extend((bias + digits - 2..bias + digits + 3).flat_map(one_up));
    list.extend((top - digits - 2..top - digits + 1).flat_map(one_up));
    // The largest numbers, infinity, quiet and signalling NaNs with payloads.
    list.extend([
        inf - 2,
        inf - 1,
        inf,
        inf | 1,
        inf | 0x123,
        inf | (quiet - 1),
    ]);
    let nan = inf | quiet;
    list.extend([nan, nan | 1, nan | 0x456, nan | (quiet - 1)]);
    // One and a half, and fractions of ones and zeros by turns and of no order.
    let one = (bias as u64) << fraction;
    let thirds = 0x5555_5555_5555_5555 & (hidden - 1);
    list.extend([
        one | quiet,
        one | thirds,
        one | 0x9_21fb_5444_2d18 & (hidden - 1),
    ]);
    list.iter().flat_map(|&v| [v, v | format.sign()]).collect()
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
fn significand(rng: &mut ChaCha8Rng, fraction: i64) -> u64 {
    let mask = (1u64 << fraction) - 1;
    let bit = |rng: &mut ChaCha8Rng| 1u64 << rng.random_range(0..fraction);
    mask & match rng.random_range(0..5) {
        0 => rng.random::<u64>(),
        1 => bit(rng) | bit(rng),
        2 => bit(rng).wrapping_sub(bit(rng)),
        3 => mask ^ bit(rng),
        _ => rng.random::<u64>() & rng.random::<u64>() & rng.random::<u64>(),
    }
}

/// A pair of doubles, as [`pair_of`] has them.
pub fn pair(rng: &mut ChaCha8Rng) -> (u64, u64) {
    pair_of(BINARY64, rng)
}

/// A pair of numbers: mostly with exponents a few bits or about a significand apart, some near the ends, some of any bits.
pub fn pair_of(format: Format, rng: &mut ChaCha8Rng) -> (u64, u64) {
    let (fraction, top, _) = layout(format);
    let exp = match rng.random_range(0..6) {
        0 => rng.random_range(0..4),
        1 => rng.random_range(top - 7..top),
        _ => rng.random_range(0..top),
    };
    let digits = fraction + 1;
    let apart = match rng.random_range(0..8) {
        0..3 => rng.random_range(-2..=2),
        3..5 => rng.random_range(-digits - 3..=digits + 3),
        5 => rng.random_range(-5 * digits / 2..=5 * digits / 2),
        6 => rng.random_range(digits - 1..=digits + 2) * [-1, 1][rng.random_range(0..2)],
        _ => {
            let any = format.sign() | (format.sign() - 1);
            return (rng.random::<u64>() & any, rng.random::<u64>() & any);
        }
    };
    let other = (exp + apart).clamp(0, top - 1);
    let build = |rng: &mut ChaCha8Rng, e: i64| {
        let sign = if rng.random() { format.sign() } else { 0 };
        (e as u64) << fraction | significand(rng, fraction) | sign
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
