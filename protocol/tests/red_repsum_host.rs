//! REPSUM on the host: worked encodings, decoding against exact integers, and sums in any order.

mod red_common;

use num_bigint::{BigInt, Sign};
use rand::{RngExt, seq::SliceRandom};
use red_common::*;
use tributary_protocol::red::{
    host::repsum::{decode, encode},
    ops::*,
};

fn add(a: &Value, b: &Value) -> Value {
    combine(Op::FltRepsum, Mode::default(), a, b)
}

fn sum<'a>(values: impl IntoIterator<Item = &'a Value>) -> Value {
    values.into_iter().fold(encode(0), |acc, v| add(&acc, v))
}

/// In units of 2^(40·(m - 3)).
fn exact(v: &Value) -> BigInt {
    (0..4)
        .map(|j| BigInt::from(v.data[j] as i64) << (40 * j))
        .sum()
}

/// The double next to `n`·2^`exp`, by long division.
fn nearest(n: &BigInt, exp: i64, rounding: Rounding) -> u64 {
    let negative = n.sign() == Sign::Minus;
    let sign = if negative { SIGN } else { 0 };
    let magnitude = n.magnitude();
    if magnitude.bits() == 0 {
        return 0;
    }
    let last = (magnitude.bits() as i64 + exp - 53).max(-1074);
    let (kept, twice_rest, unit) = if last <= exp {
        (magnitude.clone() << (exp - last), 0u8.into(), 1u8.into())
    } else {
        let kept = magnitude.clone() >> (last - exp);
        let rest = magnitude - (kept.clone() << (last - exp));
        (
            kept,
            rest << 1u8,
            num_bigint::BigUint::from(1u8) << (last - exp),
        )
    };
    let odd = kept.bit(0);
    let away = match rounding {
        Rounding::NearestEven => twice_rest > unit || twice_rest == unit && odd,
        Rounding::Up => twice_rest.bits() != 0 && !negative,
        Rounding::Down => twice_rest.bits() != 0 && negative,
        Rounding::ToZero => false,
    };
    let mut kept = u64::try_from(kept + u8::from(away)).expect("54 bits");
    let mut last = last;
    if kept == 1 << 53 {
        (kept, last) = (1 << 52, last + 1);
    }
    if last > 971 {
        let to_inf = match rounding {
            Rounding::NearestEven => true,
            Rounding::Up => !negative,
            Rounding::Down => negative,
            Rounding::ToZero => false,
        };
        return sign | if to_inf { INF } else { INF - 1 };
    }
    sign | if kept < 1 << 52 {
        kept
    } else {
        ((last + 1075) as u64) << 52 | kept & ((1 << 52) - 1)
    }
}

#[test]
fn red_08_worked_encodings() {
    let table: &[(f64, i8, [u64; 4])] = &[
        (1.0, 0, [1, 0, 0, 0]),
        (-1.0, 0, [u64::MAX, 0, 0, 0]),
        (0.5, -1, [0x80_0000_0000, 0, 0, 0]),
        (1.5, 0, [1, 0x80_0000_0000, 0, 0]),
        (
            std::f64::consts::PI,
            0,
            [3, 0x24_3f6a_8885, 0xa3_0000_0000, 0],
        ),
        (2f64.powi(40), 1, [1, 0, 0, 0]),
        (2f64.powi(-40), -1, [1, 0, 0, 0]),
        (f64::MAX, 25, [0xff_ffff, 0xff_ffff_f800, 0, 0]),
        (f64::MIN_POSITIVE, -26, [0x40000, 0, 0, 0]),
        (f64::from_bits(1), -26, [0, 0x40, 0, 0]),
        (0.0, -26, [0; 4]),
        (-0.0, -26, [0; 4]),
        // Every word carries the sign.
        (-1.5, 0, [u64::MAX, (-0x80_0000_0000i64) as u64, 0, 0]),
        (f64::INFINITY, PLUS_INF, [0; 4]),
        (f64::NEG_INFINITY, MINUS_INF, [0; 4]),
    ];
    for &(number, m, [w3, w2, w1, w0]) in table {
        let got = encode(number.to_bits());
        assert_eq!(
            got,
            Value {
                data: [w0, w1, w2, w3],
                m,
                ..Value::default()
            },
            "{number:e}"
        );
    }
    assert_eq!((encode(QNAN).m, encode(QNAN).rc), (NAN, Rc::OK));
    assert_eq!(
        (encode(INF | 1).m, encode(INF | 1).rc),
        (NAN, Rc::FLT_INVALID)
    );
}

/// repsum convert: one number there and back is the same number.
#[test]
fn red_08_repsum_convert() {
    let mut rng = rng(seed());
    let random = (0..pairs()).map(|_| pair(&mut rng).0).collect::<Vec<_>>();
    for number in specials().into_iter().chain(random) {
        let want = if BINARY64.is_nan(number) {
            BINARY64.default_nan()
        } else if number == SIGN {
            0
        } else {
            number
        };
        for rounding in Rounding::ALL {
            assert_eq!(
                decode(&encode(number), rounding),
                (want, Flags::default()),
                "{number:#x}"
            );
        }
    }
}

/// repsum add: small sums that are exact.
#[test]
fn red_08_repsum_add() {
    let mut rng = rng(seed());
    for _ in 0..1000 {
        let numbers: Vec<f64> = (0..100)
            .map(|_| f64::from(rng.random::<i32>()) / 1024.0)
            .collect();
        let encoded: Vec<Value> = numbers.iter().map(|n| encode(n.to_bits())).collect();
        let (got, flags) = decode(&sum(&encoded), Rounding::NearestEven);
        assert_eq!(
            (f64::from_bits(got), flags),
            (numbers.iter().sum::<f64>(), Flags::default())
        );
    }
}

/// repsum inf: four values by four, by way of encoding and decoding.
#[test]
fn red_07_repsum_inf() {
    let kinds = [1.0, f64::NEG_INFINITY, f64::INFINITY, f64::NAN];
    for x in kinds {
        for y in kinds {
            let out = add(&encode(x.to_bits()), &encode(y.to_bits()));
            let want = x + y;
            let got = f64::from_bits(decode(&out, Rounding::NearestEven).0);
            assert!(
                got == want || got.is_nan() && want.is_nan(),
                "{x} + {y} = {got}"
            );
            let invalid = want.is_nan() && !x.is_nan() && !y.is_nan();
            assert_eq!(out.rc, if invalid { Rc::FLT_INVALID } else { Rc::OK });
        }
    }
}

/// repsum overflow: 2^23 values are safe, 2^24 of the largest are not.
#[test]
fn red_06_repsum_overflow() {
    // All 40 bits of word 3 set, doubled 23 times: as 2^23 operands.
    let largest = f64::from_bits(ONE + (39 << 52) + ((1 << 52) - 1));
    let mut total = encode(largest.to_bits());
    for _ in 0..23 {
        total = add(&total, &total);
    }
    assert_eq!(total.rc, Rc::OK);
    assert_eq!(
        f64::from_bits(decode(&total, Rounding::NearestEven).0),
        largest * 2f64.powi(23)
    );
    let twice = add(&total, &total);
    assert_eq!((twice.rc, twice.oflow), (Rc::INT_OVERFLOW, 3));
}

/// repsum inexact: the flag depends on the order, the value does not.
#[test]
fn red_08_repsum_inexact_depends_on_the_order() {
    let of = |list: [f64; 3]| sum(&list.map(|n| encode(n.to_bits())));
    let (a, b) = (
        of([1.0, -1.0, 2f64.powi(200)]),
        of([1.0, 2f64.powi(200), -1.0]),
    );
    assert_eq!((a.rc, b.rc), (Rc::OK, Rc::REPSUM_INEXACT));
    assert_eq!((a.data, a.m), (b.data, b.m));
}

/// 1,000 shuffles of 2,000 operands over exponents of ±150 give one value.
#[test]
fn red_08_one_thousand_shuffles_give_one_value() {
    let mut rng = rng(seed());
    let mut values: Vec<Value> = (0..2000)
        .map(|_| {
            let exponent = rng.random_range(1023 - 150..=1023 + 150u64) << 52;
            encode(rng.random::<u64>() & (SIGN | ((1 << 52) - 1)) | exponent)
        })
        .collect();
    let first = sum(&values);
    let number = decode(&first, Rounding::NearestEven);
    for _ in 0..1000 {
        values.shuffle(&mut rng);
        // A tree of random shape: halves are added up apart.
        let (left, right) = values.split_at(rng.random_range(0..2000));
        let total = add(&sum(left), &sum(right));
        assert_eq!((total.data, total.m), (first.data, first.m));
        assert_eq!(decode(&total, Rounding::NearestEven), number);
    }
}

/// repsum comparison: 100,000 values in several orders; the result is as near as the words allow, not as a running sum drifts.
#[test]
fn red_08_repsum_comparison() {
    let mut rng = rng(seed());
    let numbers: Vec<f64> = (0..100_000).map(|_| rng.random::<f64>() - 0.25).collect();
    let mut values: Vec<Value> = numbers.iter().map(|n| encode(n.to_bits())).collect();
    let forward = sum(&values);
    values.reverse();
    let backward = sum(&values);
    values.sort_by_key(|v| v.data);
    let sorted = sum(&values);
    let got = decode(&forward, Rounding::NearestEven).0;
    for other in [backward, sorted] {
        assert_eq!(decode(&other, Rounding::NearestEven).0, got);
    }
    // Exact sum in units of 2^-1074.
    let unit = |n: f64| {
        let bits = n.to_bits();
        let biased = (bits >> 52 & 0x7ff).max(1);
        let significand = bits & ((1 << 52) - 1) | u64::from(bits & INF != 0) << 52;
        let magnitude = BigInt::from(significand) << (biased - 1);
        if n < 0.0 { -magnitude } else { magnitude }
    };
    let total: BigInt = numbers.iter().map(|&n| unit(n)).sum();
    assert_eq!(got, nearest(&total, -1074, Rounding::NearestEven));
}

/// Decoding is correctly rounded in all modes: words of any kind against long division.
#[test]
fn red_08_decoding_is_correctly_rounded() {
    let mut rng = rng(seed());
    for _ in 0..pairs() {
        let mut value = Value {
            m: rng.random_range(-31..=29),
            ..Value::default()
        };
        let bits = [0, 1, 24, 40, 63][rng.random_range(0..5)];
        for word in &mut value.data {
            *word = match rng.random_range(0..5) {
                0 => 0,
                1 => 1u64.wrapping_shl(rng.random_range(0..64)),
                2 => 1u64.wrapping_shl(rng.random_range(0..64)).wrapping_neg(),
                _ => (rng.random::<i64>() >> bits) as u64,
            };
        }
        let n = exact(&value);
        let exp = 40 * (i64::from(value.m) - 3);
        for rounding in Rounding::ALL {
            let (got, flags) = decode(&value, rounding);
            let want = nearest(&n, exp, rounding);
            assert_eq!(
                got, want,
                "{value:x?} {rounding:?}: {got:#x}, want {want:#x}"
            );
            check_flags(&value, rounding, got, flags);
        }
    }
}

/// Flags from the results of directed rounding: inexact where they differ, overflow and underflow by a wider exponent.
fn check_flags(value: &Value, rounding: Rounding, got: u64, flags: Flags) {
    let directed = |r| decode(value, r).0;
    assert_eq!(
        flags.inexact,
        directed(Rounding::Up) != directed(Rounding::Down)
    );
    assert!(!flags.invalid);
    // 40 places towards the middle of the range nothing overflows or underflows.
    let shifted = |by: i8| {
        decode(
            &Value {
                m: value.m + by,
                ..*value
            },
            rounding,
        )
        .0 & !SIGN
    };
    let high = value.m > 0;
    let unbounded = shifted(if high { -8 } else { 8 });
    let limit = if high {
        (2047 - 320) << 52
    } else {
        (1 + 320) << 52
    };
    assert_eq!(flags.overflow, high && unbounded >= limit, "{got:#x}");
    assert_eq!(
        flags.underflow,
        !high && flags.inexact && unbounded != 0 && unbounded < limit,
        "{got:#x}"
    );
}
