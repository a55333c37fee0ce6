//! Streams of words for the lane.

use super::bench::{Bench, Step, Wrong, frame, repsum, single};
use super::red_common::{pair, pair_of, rng, specials as special_values, specials_of};
use rand::{Rng, RngExt};
use tributary_protocol::red::ops::{BINARY32, Mode, Op};

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

const SUMS_32: [Op; 8] = [
    Op::Flt32SumNearest,
    Op::Flt32SumUp,
    Op::Flt32SumDown,
    Op::Flt32SumZero,
    Op::Flt32SumNearestFtz,
    Op::Flt32SumUpFtz,
    Op::Flt32SumDownFtz,
    Op::Flt32SumZeroFtz,
];

/// Operations with two elements of 32 bits in a word.
fn in_halves() -> Vec<Op> {
    let all = Op::ALL.iter().copied();
    all.filter(|op| op.element_bits() == 32).collect()
}

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

/// Every operation of halves on every pair of special elements in one half, and in the other any special pair.
pub fn special_halves(bench: &mut Bench, mode: Mode, seed: u64) -> Result<(), Wrong> {
    let values = specials_of(BINARY32);
    let mut rng = rng(seed);
    for &a in &values {
        for &b in &values {
            for op in in_halves() {
                let [c, d] = std::array::from_fn(|_| values[rng.random_range(0..values.len())]);
                let (x, y) = if rng.random() {
                    (a << 32 | c, b << 32 | d)
                } else {
                    (c << 32 | a, d << 32 | b)
                };
                bench.clock(Some(single(op, mode, rng.random_range(0..4), x, y)))?;
            }
        }
    }
    bench.drain()
}

/// Random pairs of binary32 in both halves, in all eight modes.
pub fn sums_32(bench: &mut Bench, seed: u64, pairs: u64) -> Result<(), Wrong> {
    let mut rng = rng(seed);
    for _ in 0..pairs {
        let (a, b) = pair_of(BINARY32, &mut rng);
        let (c, d) = pair_of(BINARY32, &mut rng);
        for op in SUMS_32 {
            let step = single(op, Mode::default(), 1, a << 32 | c, b << 32 | d);
            bench.clock(Some(step))?;
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

/// An integer of so many bits, often close to an end or with long runs.
fn integer_of(width: u32, rng: &mut impl Rng) -> u64 {
    let near = rng.random_range(0..4u64).wrapping_sub(2);
    let any = match rng.random_range(0..6) {
        0 => near,
        1 => (1_u64 << (width - 1)).wrapping_add(near),
        2 => (1_u64 << rng.random_range(0..width)).wrapping_add(near),
        3 => rng.random::<u64>() >> rng.random_range(0..64u64),
        _ => rng.random(),
    };
    any & u64::MAX >> (64 - width)
}

/// A 64-bit integer, or two of 32 bits.
fn integer(rng: &mut impl Rng) -> u64 {
    if rng.random() {
        integer_of(64, rng)
    } else {
        integer_of(32, rng) << 32 | integer_of(32, rng)
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
        Op::Int32Sum,
        Op::Int32Min,
        Op::Int32Max,
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

/// The same with two elements of 32 bits.
fn operand_of_halves(rng: &mut impl Rng, special: &[u64]) -> u64 {
    let mut element = || match rng.random_range(0..4) {
        0 => integer_of(32, rng),
        1 => 0xff << 23 | rng.random::<u64>() & 0x8040_0003,
        _ => special[rng.random_range(0..special.len())],
    };
    element() << 32 | element()
}

fn random_frame(rng: &mut impl Rng, mode: Mode, special: &[u64]) -> Vec<Step> {
    let op = Op::ALL[rng.random_range(0..Op::ALL.len())];
    let special_halves = specials_of(BINARY32);
    let mut any = || match op.element_bits() {
        32 => operand_of_halves(rng, &special_halves),
        _ => operand(rng, special),
    };
    let mut a: [u64; 4] = std::array::from_fn(|_| any());
    let mut b: [u64; 4] = std::array::from_fn(|_| any());
    for i in 0..4 {
        // In one half or both the same but for the sign or the quiet bit.
        if op.element_bits() == 32 && rng.random_range(0..3) == 0 {
            let half = [0xffff_ffff, 0xffff_ffff << 32, u64::MAX][rng.random_range(0..3)];
            b[i] = b[i] & !half | a[i] & half;
            b[i] ^=
                half & [0, 0x8000_0000_8000_0000, 0x0040_0000_0040_0000][rng.random_range(0..3)];
            continue;
        }
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
