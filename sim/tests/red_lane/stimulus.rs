//! Streams of words for the lane.

use super::bench::{Bench, Step, Wrong, frame, repsum, single};
use super::red_common::{pair, rng, specials as special_values};
use rand::{Rng, RngExt};
use tributary_protocol::red::ops::{Mode, Op};

const SUMS: [Op; 8] = [
    Op::FltSumNearest,
    Op::FltSumUp,
    Op::FltSumDown,
    Op::FltSumZero,
    Op::FltSumNearestFtz,
    Op::FltSumUpFtz,
    Op::FltSumDownFtz,
    Op::FltSumZeroFtz,
];

fn is_loc(op: Op) -> bool {
    matches!(
        op,
        Op::IntMinmaxloc | Op::FltMinmaxloc | Op::FltMinmaxnumloc
    )
}

pub fn specials(bench: &mut Bench, mode: Mode) -> Result<(), Wrong> {
    let values = special_values();
    for &a in &values {
        for (i, &b) in values.iter().enumerate() {
            for &op in Op::ALL {
                let word = i as u8 % 4;
                if op == Op::FltRepsum {
                    bench.clock(Some(repsum(word, !a, a, word == 3, b)))?;
                } else if is_loc(op) {
                    bench.run(frame(op, mode, [a, 5, a, 9], [b, 9, b, 5]))?;
                } else {
                    bench.clock(Some(single(op, mode, word, a, b)))?;
                }
            }
        }
    }
    bench.drain()
}

pub fn sums(bench: &mut Bench, seed: u64, pairs: u64) -> Result<(), Wrong> {
    let mut rng = rng(seed);
    for _ in 0..pairs {
        let (a, b) = pair(&mut rng);
        for op in SUMS {
            bench.clock(Some(single(op, Mode::default(), 0, a, b)))?;
        }
    }
    bench.drain()
}

/// A 64-bit integer, often close to an end or with long runs.
fn integer(rng: &mut impl Rng) -> u64 {
    let near = rng.random_range(0..4u64).wrapping_sub(2);
    match rng.random_range(0..6) {
        0 => near,
        1 => (1_u64 << 63).wrapping_add(near),
        2 => (1_u64 << rng.random_range(0..64u64)).wrapping_add(near),
        3 => rng.random::<u64>() >> rng.random_range(0..64u64),
        _ => rng.random(),
    }
}

pub fn integers(bench: &mut Bench, seed: u64, pairs: u64) -> Result<(), Wrong> {
    let mut rng = rng(seed);
    let ops = [
        Op::And,
        Op::IntSum,
        Op::Or,
        Op::IntMin,
        Op::FltRepsum,
        Op::Xor,
        Op::IntMax,
        Op::Barrier,
    ];
    for _ in 0..pairs {
        let (a, b) = (integer(&mut rng), integer(&mut rng));
        let op = ops[rng.random_range(0..ops.len())];
        let word = rng.random_range(0..4);
        bench.clock(Some(if op == Op::FltRepsum {
            repsum(word, rng.random(), a, rng.random_range(0..4) == 0, b)
        } else {
            single(op, Mode::default(), word, a, b)
        }))?;
    }
    bench.drain()
}

/// A value as operations of frames get it: an integer, a NaN of few bits, or a special one.
fn operand(rng: &mut impl Rng, special: &[u64]) -> u64 {
    match rng.random_range(0..4) {
        0 => integer(rng),
        1 => 0x7ff << 52 | rng.random::<u64>() & 0x8008_0000_0000_0003,
        _ => special[rng.random_range(0..special.len())],
    }
}

fn random_frame(rng: &mut impl Rng, mode: Mode, special: &[u64]) -> Vec<Step> {
    let op = Op::ALL[rng.random_range(0..Op::ALL.len())];
    let mut a: [u64; 4] = std::array::from_fn(|_| operand(rng, special));
    let mut b: [u64; 4] = std::array::from_fn(|_| operand(rng, special));
    for i in 0..4 {
        // A tie, or the same but for the sign or the top of the fraction.
        match rng.random_range(0..8) {
            0..3 => b[i] = a[i],
            3 => b[i] = a[i] ^ 1 << 63,
            4 => b[i] = a[i] ^ 1 << 51,
            5 => a[i] = b[i] ^ 1 << rng.random_range(0..64u64),
            _ => {}
        }
    }
    if op == Op::FltRepsum {
        return (0..4)
            .map(|i| repsum(i as u8, a[3 - i], a[i], rng.random_range(0..4) == 0, b[i]))
            .collect();
    }
    frame(op, mode, a, b).to_vec()
}

pub fn frames(bench: &mut Bench, mode: Mode, seed: u64, frames: u64) -> Result<(), Wrong> {
    let mut rng = rng(seed);
    let special = special_values();
    for _ in 0..frames {
        bench.run(random_frame(&mut rng, mode, &special))?;
        if rng.random_range(0..4) == 0 {
            for _ in 0..rng.random_range(1..5) {
                bench.clock(None)?;
            }
        }
    }
    bench.drain()
}
