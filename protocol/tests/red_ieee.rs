//! Minima, maxima and sums against other people's arithmetic: LLVM's in software, and that of the machine through Rust.

mod red_common;

use red_common::*;
use rustc_apfloat::{Float, ieee::Double};
use tributary_protocol::red::{host::repsum::decode, ops::*};

const ASSOC: Mode = Mode { ieee_nan: false };
const IEEE: Mode = Mode { ieee_nan: true };

fn one(op: Op, mode: Mode, a: u64, b: u64) -> (u64, Rc) {
    let lanes = |word| Value {
        data: [word; 4],
        ..Value::default()
    };
    let out = combine(op, mode, &lanes(a), &lanes(b));
    assert!(out.data.iter().all(|&word| word == out.data[0]));
    (out.data[0], out.rc)
}

/// Pairs of special values and of random ones, NaNs of both kinds against numbers among them.
fn operands(mut check: impl FnMut(u64, u64)) {
    let list = specials();
    for &a in &list {
        for &b in &list {
            check(a, b);
        }
    }
    let mut rng = rng(seed());
    for _ in 0..pairs() {
        let (a, b) = pair(&mut rng);
        check(a, b);
    }
}

fn signalling(bits: u64) -> bool {
    Double::from_bits(bits.into()).is_signaling()
}

/// What every operation has in common: a NaN is quiet with sign 0, and a signalling NaN raises `flt_invalid`.
fn check_nan_and_code(op: Op, mode: Mode, a: u64, b: u64) {
    let (got, rc) = one(op, mode, a, b);
    if BINARY64.is_nan(got) {
        assert_eq!(got & (SIGN | QNAN), QNAN, "{op} {a:#x} {b:#x}");
        // Its payload is that of an operand.
        let payload = |bits: u64| bits & !(SIGN | QNAN | INF);
        let from = |bits: u64| BINARY64.is_nan(bits) && payload(bits) == payload(got);
        assert!(from(a) || from(b), "{op} {a:#x} {b:#x}");
    }
    let want = if signalling(a) || signalling(b) {
        Rc::FLT_INVALID
    } else {
        Rc::OK
    };
    assert_eq!(rc, want, "{op} {a:#x} {b:#x}");
}

/// The number that LLVM has, or a NaN like LLVM.
fn same(got: u64, want: Double) -> bool {
    if want.is_nan() {
        BINARY64.is_nan(got)
    } else {
        got == want.to_bits() as u64
    }
}

#[test]
fn red_03_flt_min_and_max_are_minimum_and_maximum_of_ieee_754_2019() {
    operands(|a, b| {
        let (x, y) = (Double::from_bits(a.into()), Double::from_bits(b.into()));
        for mode in [ASSOC, IEEE] {
            let (low, high) = (one(Op::FltMin, mode, a, b).0, one(Op::FltMax, mode, a, b).0);
            assert!(same(low, x.minimum(y)), "min {a:#x} {b:#x}: {low:#x}");
            assert!(same(high, x.maximum(y)), "max {a:#x} {b:#x}: {high:#x}");
            check_nan_and_code(Op::FltMin, mode, a, b);
            check_nan_and_code(Op::FltMax, mode, a, b);
        }
    });
}

/// A number wins against any NaN, a signalling one too, which still raises invalid; -0 is below +0.
#[test]
fn red_04_minnum_and_maxnum_are_minimum_number_and_maximum_number_of_ieee_754_2019() {
    operands(|a, b| {
        let (x, y) = (Double::from_bits(a.into()), Double::from_bits(b.into()));
        let number = |of_numbers: Double| match (x.is_nan(), y.is_nan()) {
            (true, _) => y,
            (_, true) => x,
            _ => of_numbers,
        };
        let (low, high) = (
            one(Op::FltMinnum, ASSOC, a, b).0,
            one(Op::FltMaxnum, ASSOC, a, b).0,
        );
        assert!(same(low, number(x.minimum(y))), "{a:#x} {b:#x}: {low:#x}");
        assert!(same(high, number(x.maximum(y))), "{a:#x} {b:#x}: {high:#x}");
        check_nan_and_code(Op::FltMinnum, ASSOC, a, b);
        check_nan_and_code(Op::FltMaxnum, ASSOC, a, b);
    });
}

/// LLVM's min and max are minNum and maxNum, but for signalling NaNs, of which IEEE 754-2008 makes a quiet NaN, and for the two
/// zeros, of which the standard lets either be chosen.
#[test]
fn red_04_in_ieee_mode_minnum_and_maxnum_are_min_num_and_max_num_of_ieee_754_2008() {
    operands(|a, b| {
        let (x, y) = (Double::from_bits(a.into()), Double::from_bits(b.into()));
        for (op, reference) in [(Op::FltMinnum, x.min(y)), (Op::FltMaxnum, x.max(y))] {
            let got = one(op, IEEE, a, b).0;
            if signalling(a) || signalling(b) {
                assert!(BINARY64.is_nan(got), "{op} {a:#x} {b:#x}: {got:#x}");
            } else if x.is_zero() && y.is_zero() {
                // The choice made here: -0 is below +0.
                let negative = if op == Op::FltMinnum {
                    (a | b) & SIGN
                } else {
                    a & b & SIGN
                };
                assert_eq!(got, negative);
            } else {
                assert!(same(got, reference), "{op} {a:#x} {b:#x}: {got:#x}");
            }
            check_nan_and_code(op, IEEE, a, b);
        }
    });
}

/// To nearest, the machine's own addition.
#[test]
fn red_05_the_sum_to_nearest_is_the_machines_addition() {
    operands(|a, b| {
        let want = f64::from_bits(a) + f64::from_bits(b);
        let (got, _) = one(Op::FltSumNearest, ASSOC, a, b);
        if want.is_nan() {
            assert_eq!(got, BINARY64.default_nan());
        } else {
            assert_eq!(got, want.to_bits(), "{a:#x} + {b:#x}");
        }
    });
}

/// Signs of zero: x - x is +0, towards minus infinity -0; zeros of one sign keep it.
#[test]
fn red_05_signs_of_zero_sums() {
    use Op::*;
    let (plus, minus) = (0, SIGN);
    for op in [
        FltSumNearest,
        FltSumUp,
        FltSumZero,
        FltSumNearestFtz,
        FltSumUpFtz,
        FltSumZeroFtz,
    ] {
        assert_eq!(one(op, ASSOC, ONE, ONE | SIGN), (plus, Rc::OK));
        assert_eq!(one(op, ASSOC, plus, minus), (plus, Rc::OK));
        assert_eq!(one(op, ASSOC, minus, minus), (minus, Rc::OK));
    }
    for op in [FltSumDown, FltSumDownFtz] {
        assert_eq!(one(op, ASSOC, ONE, ONE | SIGN), (minus, Rc::OK));
        assert_eq!(one(op, ASSOC, plus, minus), (minus, Rc::OK));
        assert_eq!(one(op, ASSOC, plus, plus), (plus, Rc::OK));
    }
}

/// Flush to zero: results only, with their sign, inexact; a subnormal operand takes part in full.
#[test]
fn red_05_flush_to_zero_is_of_results_only() {
    use Op::*;
    let normal = 1u64 << 52; // 2^-1022
    for (plain, ftz) in [
        (FltSumNearest, FltSumNearestFtz),
        (FltSumUp, FltSumUpFtz),
        (FltSumDown, FltSumDownFtz),
        (FltSumZero, FltSumZeroFtz),
    ] {
        // Two subnormals make a normal number: nothing is flushed on the way in.
        let half = normal >> 1;
        assert_eq!(one(ftz, ASSOC, half, half), (normal, Rc::OK));
        assert_eq!(one(ftz, ASSOC, normal, 1), (normal + 1, Rc::OK));
        // A subnormal sum is exact without, and a zero of its sign with flush to zero, in every rounding.
        for sign in [0, SIGN] {
            let [a, b] = [(normal + 1) | sign, normal | (sign ^ SIGN)];
            assert_eq!(one(plain, ASSOC, a, b), (1 | sign, Rc::OK));
            assert_eq!(one(ftz, ASSOC, a, b), (sign, Rc::FLT_INEXACT));
        }
    }
    // Minima keep subnormals.
    assert_eq!(one(FltMin, ASSOC, 1, 2), (1, Rc::OK));
}

/// Overflow counts by the exact sum rounded without an upper end of the exponent, even where rounding gives the largest number.
#[test]
fn red_05_overflow_is_reported_in_every_rounding() {
    use Op::*;
    let largest = INF - 1;
    for (op, want) in [
        (FltSumNearest, INF),
        (FltSumUp, INF),
        (FltSumDown, largest),
        (FltSumZero, largest),
    ] {
        assert_eq!(one(op, ASSOC, largest, largest), (want, Rc::FLT_OVERFLOW));
    }
    // Infinity itself is no overflow, and half a unit beyond the largest number is one to nearest only if it rounds up.
    assert_eq!(one(FltSumNearest, ASSOC, INF, largest), (INF, Rc::OK));
    let unit = 970 + 1023; // exponent field of 2^970, half a unit of the largest number
    assert_eq!(
        one(FltSumNearest, ASSOC, largest, unit << 52),
        (INF, Rc::FLT_OVERFLOW)
    );
    assert_eq!(
        one(FltSumNearest, ASSOC, largest, (unit << 52) - 1),
        (largest, Rc::FLT_INEXACT)
    );
}

/// A sum below 2^-1022 is exact, so no operation of the switch gives `flt_underflow`.
#[test]
fn red_05_no_sum_underflows() {
    operands(|a, b| {
        for op in 0x28..=0x2f {
            let op = Op::try_from(op).expect("a sum");
            let rc = one(op, ASSOC, a, b).1;
            assert_ne!(rc, Rc::FLT_UNDERFLOW, "{op} {a:#x} + {b:#x}");
        }
    });
}

/// One code a frame: a larger one hides a smaller one of another lane, operand or event.
#[test]
fn red_05_a_code_masks_all_smaller_ones() {
    let value = |data, rc: Rc| Value {
        data,
        rc,
        ..Value::default()
    };
    let tiny = 1e-60f64.to_bits();
    let (a, b) = ([ONE; 4], [tiny, INF - 1, INF | 1, 0]);
    let add = |a: &Value, b: &Value| combine(Op::FltSumNearest, ASSOC, a, b).rc;
    // Lane 0 is inexact, lane 2 invalid: only the latter is seen.
    assert_eq!(add(&value(a, Rc::OK), &value(b, Rc::OK)), Rc::FLT_INVALID);
    for code in 0..16 {
        let known = Rc::new(code);
        let want = known.max(Rc::FLT_INVALID);
        assert_eq!(add(&value(a, known), &value(b, Rc::OK)), want);
        assert_eq!(add(&value(a, Rc::OK), &value(b, known)), want);
    }
    // A reproducible sum that drops a word and overflows in another one says overflow only.
    let small = Value {
        data: [7, 0, 0, 1],
        ..Value::default()
    };
    let large = Value {
        data: [0, 0, i64::MAX as u64, 0],
        m: 1,
        ..Value::default()
    };
    let out = combine(Op::FltRepsum, ASSOC, &small, &large);
    assert_eq!((out.rc, out.oflow), (Rc::INT_OVERFLOW, 2));
}

/// Decoding judges tininess after rounding, as RISC-V does: only what is below 2^-1022 with 53 bits and any exponent is tiny.
#[test]
fn red_08_tininess_is_judged_after_rounding() {
    // 2^-1022 - 2^-k: words at m = -26, word j weighs 2^(40·(j - 29)), so 2^-1022 is bit 18 of word 3.
    let below = |k: i32| {
        let bit = |exponent: i32| {
            let place = exponent + 1160;
            (usize::try_from(place / 40).unwrap(), place % 40)
        };
        let mut value = Value {
            m: -26,
            ..Value::default()
        };
        for (exponent, sign) in [(-1022, 1i64), (-k, -1)] {
            let (word, place) = bit(exponent);
            value.data[word] = value.data[word].wrapping_add((sign << place) as u64);
        }
        value
    };
    let normal = 1u64 << 52;
    let nearest = |k| decode(&below(k), Rounding::NearestEven);
    let flags = |underflow, inexact| Flags {
        underflow,
        inexact,
        ..Flags::default()
    };
    // Subnormal and exact: tiny, but nothing is lost.
    assert_eq!(nearest(1074), (normal - 1, flags(false, false)));
    // Half a unit of a subnormal: 53 bits hold it below 2^-1022, so it is tiny; binary64 rounds it up.
    assert_eq!(nearest(1075), (normal, flags(true, true)));
    // A quarter: 53 bits round it up to 2^-1022, so it is not tiny any more, though it was before.
    assert_eq!(nearest(1076), (normal, flags(false, true)));
    assert_eq!(
        decode(&below(1076), Rounding::ToZero),
        (normal - 1, flags(true, true))
    );
}
