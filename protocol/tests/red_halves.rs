//! Operations with two elements of 32 bits in a word, against the machine's integers and LLVM's single precision (CL-7).

mod red_common;

use rand::RngExt;
use red_common::*;
use rustc_apfloat::{Float, ieee::Single};
use tributary_protocol::red::ops::*;

const ASSOC: Mode = Mode { ieee_nan: false };
const IEEE: Mode = Mode { ieee_nan: true };

/// The operation with one element of 64 bits; all that have two of 32 bits are named here.
const HALVES: [(Op, Op); 15] = [
    (Op::Int32Min, Op::IntMin),
    (Op::Int32Max, Op::IntMax),
    (Op::Int32Sum, Op::IntSum),
    (Op::Flt32Min, Op::FltMin),
    (Op::Flt32Max, Op::FltMax),
    (Op::Flt32Minnum, Op::FltMinnum),
    (Op::Flt32Maxnum, Op::FltMaxnum),
    (Op::Flt32SumNearest, Op::FltSumNearest),
    (Op::Flt32SumUp, Op::FltSumUp),
    (Op::Flt32SumDown, Op::FltSumDown),
    (Op::Flt32SumZero, Op::FltSumZero),
    (Op::Flt32SumNearestFtz, Op::FltSumNearestFtz),
    (Op::Flt32SumUpFtz, Op::FltSumUpFtz),
    (Op::Flt32SumDownFtz, Op::FltSumDownFtz),
    (Op::Flt32SumZeroFtz, Op::FltSumZeroFtz),
];

fn run(op: Op, mode: Mode, a: [u64; 4], b: [u64; 4]) -> ([u64; 4], Rc) {
    let value = |data| Value {
        data,
        ..Value::default()
    };
    let out = combine(op, mode, &value(a), &value(b));
    assert_eq!((out.m, out.oflow), (0, 0));
    (out.data, out.rc)
}

/// One element, in either half of either end of a frame; elsewhere zeros, which make zeros and no code.
fn one(op: Op, mode: Mode, a: u32, b: u32) -> (u32, Rc) {
    let places = [(0, 32), (0, 0), (3, 32), (3, 0)];
    let got = places.map(|(word, shift)| {
        let only = |x: u32| {
            let mut data = [0; 4];
            data[word] = u64::from(x) << shift;
            data
        };
        let (data, rc) = run(op, mode, only(a), only(b));
        let element = (data[word] >> shift) as u32;
        assert_eq!(data, only(element), "{op} {a:#x} {b:#x}");
        (element, rc)
    });
    assert_eq!(got, [got[0]; 4], "{op} {a:#x} {b:#x}");
    got[0]
}

fn bits32(x: u64) -> u32 {
    u32::try_from(x).expect("binary32")
}

/// Pairs of special values and of random ones.
fn operands(mut check: impl FnMut(u32, u32)) {
    let list = specials_of(BINARY32);
    for &a in &list {
        for &b in &list {
            check(bits32(a), bits32(b));
        }
    }
    let mut rng = rng(seed());
    for _ in 0..pairs() {
        let (a, b) = pair_of(BINARY32, &mut rng);
        check(bits32(a), bits32(b));
    }
}

#[test]
fn cl_07_every_operation_of_halves_is_named_here() {
    let named: Vec<Op> = HALVES.map(|(half, _)| half).to_vec();
    let all = Op::ALL.iter().copied();
    assert_eq!(
        named,
        all.filter(|op| op.element_bits() == 32).collect::<Vec<_>>()
    );
    // The codes: bit 3 of the integers; bit 4, and for minima bit 1, of the floating ones.
    for (half, wide) in HALVES {
        let bits = match wide.code() {
            0x10..0x20 => 0x08,
            0x28..0x30 => 0x10,
            _ => 0x12,
        };
        assert_eq!(half.code(), wide.code() | bits, "{half}");
        assert_eq!(wide.element_bits(), 64);
    }
}

/// The first element is the upper half of word 0, which is first on the wire.
#[test]
fn cl_07_elements_do_not_meet_their_neighbours() {
    let word = |high: u32, low: u32| u64::from(high) << 32 | u64::from(low);
    let all = |high, low| [word(high, low); 4];
    let got = run(Op::Int32Sum, ASSOC, all(1, u32::MAX), all(2, 1));
    assert_eq!(got, (all(3, 0), Rc::OK), "a carry goes nowhere");
    let most = i32::MAX as u32;
    for (a, b) in [(all(most, 5), all(1, 6)), (all(5, most), all(6, 1))] {
        assert_eq!(run(Op::Int32Sum, ASSOC, a, b).1, Rc::INT_OVERFLOW);
    }
    let [one, two, tiny] = [1f32, 2f32, 1e-30].map(f32::to_bits);
    let got = run(Op::Flt32SumUp, ASSOC, all(one, two), all(one, tiny));
    assert_eq!(got, (all(two, two + 1), Rc::FLT_INEXACT));
    // Of two codes in a word the larger is kept, whichever half it comes from.
    let (most, inf) = (f32::MAX.to_bits(), f32::INFINITY.to_bits());
    for (a, b) in [
        (all(most, one), all(most, tiny)),
        (all(one, most), all(tiny, most)),
    ] {
        assert_eq!(run(Op::Flt32SumNearest, ASSOC, a, b).1, Rc::FLT_OVERFLOW);
    }
    let minus = inf | 1 << 31;
    for (a, b) in [
        (all(most, inf), all(most, minus)),
        (all(inf, most), all(minus, most)),
    ] {
        assert_eq!(run(Op::Flt32SumNearest, ASSOC, a, b).1, Rc::FLT_INVALID);
    }
}

/// Every operation on a word of two different halves is the operation on each alone.
#[test]
fn cl_07_halves_are_combined_alone() {
    let mut rng = rng(seed());
    let list = specials_of(BINARY32);
    for _ in 0..20_000 {
        let mut element = || match rng.random_range(0..3) {
            0 => rng.random(),
            _ => bits32(list[rng.random_range(0..list.len())]),
        };
        let [a, b, c, d] = std::array::from_fn(|_| element());
        let word = |high: u32, low: u32| [u64::from(high) << 32 | u64::from(low); 4];
        for (op, _) in HALVES {
            for mode in [ASSOC, IEEE] {
                let (high, high_rc) = one(op, mode, a, b);
                let (low, low_rc) = one(op, mode, c, d);
                assert_eq!(
                    run(op, mode, word(a, c), word(b, d)),
                    (word(high, low), high_rc.max(low_rc)),
                    "{op} {a:#x} {c:#x}, {b:#x} {d:#x}"
                );
            }
        }
    }
}

#[test]
fn cl_07_red_01_integers_of_32_bits_are_the_machines() {
    let check = |a: i32, b: i32| {
        let one = |op| one(op, ASSOC, a as u32, b as u32);
        let (sum, wrapped) = a.overflowing_add(b);
        let rc = if wrapped { Rc::INT_OVERFLOW } else { Rc::OK };
        assert_eq!(one(Op::Int32Sum), (sum as u32, rc));
        assert_eq!(one(Op::Int32Min), (a.min(b) as u32, Rc::OK));
        assert_eq!(one(Op::Int32Max), (a.max(b) as u32, Rc::OK));
    };
    let edge = [0, 1, 2, -1, -2, i32::MIN, i32::MIN + 1, i32::MAX, 1 << 30];
    for a in edge {
        for b in edge {
            check(a, b);
        }
    }
    let mut rng = rng(seed());
    for _ in 0..pairs() {
        check(rng.random(), rng.random());
    }
}

/// To nearest, the machine's own addition; all roundings against LLVM are in `red_flt_sum.rs`.
#[test]
fn cl_07_red_05_the_sum_of_binary32_to_nearest_is_the_machines() {
    operands(|a, b| {
        let want = f32::from_bits(a) + f32::from_bits(b);
        let (got, _) = one(Op::Flt32SumNearest, ASSOC, a, b);
        if want.is_nan() {
            assert_eq!(got, 0x7fc0_0000);
        } else {
            assert_eq!(got, want.to_bits(), "{a:#x} + {b:#x}");
        }
    });
}

/// Each code is a sum in the rounding and with the flush to zero that its lower bits say.
#[test]
fn cl_07_red_05_codes_are_roundings_and_flush_to_zero() {
    operands(|a, b| {
        for (low, op) in (0..).zip(&HALVES[7..]) {
            let rounding = Rounding::ALL[low & 3];
            let (sum, flags) = flt_sum(BINARY32, a.into(), b.into(), rounding, low & 4 != 0);
            assert_eq!(one(op.0, ASSOC, a, b), (bits32(sum), flags.rc()));
        }
    });
}

fn signalling(bits: u32) -> bool {
    Single::from_bits(bits.into()).is_signaling()
}

/// LLVM's number, or a NaN like LLVM's: quiet, sign 0, the payload of an operand. A signalling NaN raises `flt_invalid`.
fn check_minmax(op: Op, mode: Mode, [a, b]: [u32; 2], want: Single) {
    let (got, rc) = one(op, mode, a, b);
    let is_nan = |bits: u32| f32::from_bits(bits).is_nan();
    if want.is_nan() {
        let payload = |bits: u32| bits & 0x003f_ffff;
        let from = |bits: u32| is_nan(bits) && payload(bits) == payload(got);
        assert_eq!(got & 0xffc0_0000, 0x7fc0_0000, "{op} {a:#x} {b:#x}");
        assert!(from(a) || from(b), "{op} {a:#x} {b:#x}: {got:#x}");
    } else {
        assert_eq!(
            u128::from(got),
            want.to_bits(),
            "{op} {mode:?} {a:#x} {b:#x}"
        );
    }
    let invalid = signalling(a) || signalling(b);
    assert_eq!(rc, if invalid { Rc::FLT_INVALID } else { Rc::OK });
}

#[test]
fn cl_07_red_03_minima_of_binary32_are_those_of_ieee_754_2019() {
    operands(|a, b| {
        let (x, y) = (Single::from_bits(a.into()), Single::from_bits(b.into()));
        for mode in [ASSOC, IEEE] {
            check_minmax(Op::Flt32Min, mode, [a, b], x.minimum(y));
            check_minmax(Op::Flt32Max, mode, [a, b], x.maximum(y));
        }
    });
}

/// Numbers win against NaNs; in IEEE mode a signalling NaN makes a NaN.
#[test]
fn cl_07_red_04_minnum_and_maxnum_of_binary32_in_both_modes() {
    operands(|a, b| {
        let (x, y) = (Single::from_bits(a.into()), Single::from_bits(b.into()));
        for (op, of_numbers) in [
            (Op::Flt32Minnum, x.minimum(y)),
            (Op::Flt32Maxnum, x.maximum(y)),
        ] {
            let number = match (x.is_nan(), y.is_nan()) {
                (true, _) => y,
                (_, true) => x,
                _ => of_numbers,
            };
            check_minmax(op, ASSOC, [a, b], number);
            let ieee = match (x.is_signaling(), y.is_signaling()) {
                (true, _) => x,
                (_, true) => y,
                _ => number,
            };
            check_minmax(op, IEEE, [a, b], ieee);
        }
    });
}

/// Which NaN is kept is the rule of doubles: a signalling one first, but where numbers win, then the larger payload.
#[test]
fn cl_07_red_03_red_04_the_nan_kept_is_that_of_doubles() {
    let nans = [
        0x7f80_0001,
        0x7f80_0123,
        0x7fc0_0000,
        0x7fc0_0456,
        0xffff_ffff,
    ];
    let double = |bits: u32| {
        let fraction = u64::from(bits & 0x007f_ffff) << 29;
        u64::from(bits >> 31) << 63 | 0x7ff << 52 | fraction
    };
    for a in nans {
        for b in nans {
            for (op, wide) in &HALVES[3..7] {
                for mode in [ASSOC, IEEE] {
                    let (got, rc) = one(*op, mode, a, b);
                    let want = run(*wide, mode, [double(a); 4], [double(b); 4]);
                    assert_eq!(([double(got); 4], rc), want, "{op} {a:#x} {b:#x}");
                }
            }
        }
    }
}
