//! REPSUM addition: worked cases, and exact values by large integers.

mod red_common;

use num_bigint::BigInt;
use rand::RngExt;
use red_common::*;
use tributary_protocol::red::ops::*;

fn sum(m: i8, data: [i64; 4]) -> Value {
    Value {
        data: data.map(|w| w as u64),
        m,
        ..Value::default()
    }
}

fn add(a: &Value, b: &Value) -> Value {
    combine(Op::FltRepsum, Mode::default(), a, b)
}

/// Value of words `skip..` in units of 2^(40·(-128-3)).
fn exact(v: &Value, skip: usize) -> BigInt {
    let weight = |j: usize| 40 * (i32::from(v.m) + 128 + j as i32);
    (skip..4)
        .map(|j| BigInt::from(v.data[j] as i64) << weight(j))
        .sum()
}

#[test]
fn red_06_words_are_aligned_and_what_falls_off_is_reported() {
    assert_eq!(
        add(&sum(0, [1, 2, 3, 4]), &sum(0, [10, 20, 30, 40])),
        sum(0, [11, 22, 33, 44])
    );
    // No carry between words.
    assert_eq!(
        add(&sum(0, [i64::MAX - 1, 0, 0, 0]), &sum(0, [1, 0, 0, 0])),
        sum(0, [i64::MAX, 0, 0, 0])
    );
    assert_eq!(
        add(&sum(0, [0, 0, 3, 4]), &sum(2, [10, 20, 30, 40])),
        sum(2, [13, 24, 30, 40])
    );
    let lost = Value {
        rc: Rc::REPSUM_INEXACT,
        ..sum(2, [13, 24, 30, 40])
    };
    assert_eq!(add(&sum(0, [0, 1, 3, 4]), &sum(2, [10, 20, 30, 40])), lost);
    assert_eq!(
        add(&sum(-26, [0; 4]), &sum(25, [1, 2, 3, 4])),
        sum(25, [1, 2, 3, 4])
    );
    assert_eq!(
        add(&sum(-26, [0, 0, 0, 1]), &sum(25, [1, 2, 3, 4])).rc,
        Rc::REPSUM_INEXACT
    );
}

#[test]
fn red_06_overflow_names_the_most_significant_word() {
    let (top, bottom) = (i64::MAX, i64::MIN);
    let out = add(&sum(0, [top, 0, bottom, 0]), &sum(0, [1, 0, -1, 0]));
    assert_eq!((out.rc, out.oflow), (Rc::INT_OVERFLOW, 2));
    assert_eq!(out.data, [bottom as u64, 0, top as u64, 0]);
    let out = add(&sum(1, [top, 0, 0, 0]), &sum(0, [0, 1, 0, 0]));
    assert_eq!((out.rc, out.oflow), (Rc::INT_OVERFLOW, 0));
}

#[test]
fn red_06_an_earlier_overflow_moves_with_its_word_or_falls_off() {
    let over = |m, id| Value {
        rc: Rc::INT_OVERFLOW,
        oflow: id,
        ..sum(m, [0; 4])
    };
    let code = |v: Value| (v.rc, v.oflow);
    assert_eq!(
        code(add(&over(0, 2), &sum(1, [0; 4]))),
        (Rc::INT_OVERFLOW, 1)
    );
    assert_eq!(
        code(add(&sum(2, [0; 4]), &over(0, 2))),
        (Rc::INT_OVERFLOW, 0)
    );
    assert_eq!(
        code(add(&over(0, 2), &sum(3, [0; 4]))),
        (Rc::REPSUM_INEXACT, 0)
    );
    assert_eq!(
        code(add(&over(0, 3), &sum(30, [0; 4]))),
        (Rc::REPSUM_INEXACT, 0)
    );
    // The larger operand's stays; with two, the larger number.
    assert_eq!(code(add(&over(3, 1), &over(0, 2))), (Rc::INT_OVERFLOW, 1));
    assert_eq!(code(add(&over(3, 1), &over(2, 3))), (Rc::INT_OVERFLOW, 2));
    assert_eq!(code(add(&over(0, 1), &over(0, 3))), (Rc::INT_OVERFLOW, 3));
    // An overflow of the sum itself beside an older one.
    let old = Value {
        rc: Rc::INT_OVERFLOW,
        oflow: 1,
        ..sum(0, [0, 0, i64::MAX, 0])
    };
    assert_eq!(
        code(add(&old, &sum(0, [0, 0, 1, 0]))),
        (Rc::INT_OVERFLOW, 2)
    );
}

/// The table of infinities: four by four.
#[test]
fn red_07_infinities_and_nan() {
    let (neg, pos, nan, one) = (MINUS_INF, PLUS_INF, NAN, 0);
    let (ok, invalid) = (Rc::OK, Rc::FLT_INVALID);
    let table = [
        (one, one, one, ok),
        (one, neg, neg, ok),
        (one, pos, pos, ok),
        (one, nan, nan, ok),
        (neg, neg, neg, ok),
        (neg, pos, nan, invalid),
        (neg, nan, nan, ok),
        (pos, pos, pos, ok),
        (pos, nan, nan, ok),
        (nan, nan, nan, ok),
    ];
    for (a, b, want, rc) in table {
        for (x, y) in [(a, b), (b, a)] {
            // Words of a special value are ignored, even when they are not zero as they should be.
            let out = add(&sum(x, [0, 0, 0, 7]), &sum(y, [0, 0, 0, 7]));
            let data = if want == one { [0, 0, 0, 14] } else { [0; 4] };
            assert_eq!(
                out,
                Value {
                    rc,
                    ..sum(want, data)
                },
                "{x} {y}"
            );
        }
    }
}

/// Without an overflow the sum is exact but for the words that fell off, and the code says whether they were zero.
/// The full campaign: `RED_PAIRS=10000000 cargo test --release -p tributary-protocol --test red_repsum_add random`
#[test]
fn red_06_random_sums_against_exact_values() {
    let mut rng = rng(seed());
    for _ in 0..pairs() {
        let shape = rng.random_range(0..4);
        let mut operand = |m: i8| {
            let word = |k: u32| -> i64 { rng.random::<i64>() >> k };
            let bits = [0, 1, 24, 63][shape];
            let mut data = [bits; 4].map(word);
            data[rng.random_range(0..4)] *= i64::from(rng.random::<bool>());
            sum(m, data)
        };
        let m = operand(0).data[0] as i8 / 5;
        let (a, b) = (operand(m), operand(m.saturating_add((shape as i8 - 2) * 2)));
        let out = add(&a, &b);
        let (big, small) = if b.m > a.m { (b, a) } else { (a, b) };
        let d = ((big.m - small.m) as usize).min(4);
        assert_eq!(out.m, big.m);
        let fits = |j: usize| {
            let other = if j + d < 4 {
                small.data[j + d] as i64
            } else {
                0
            };
            (big.data[j] as i64).checked_add(other).is_some()
        };
        let wrapped = (0..4).rev().find(|&j| !fits(j));
        let dropped = small.data[..d].iter().any(|&w| w != 0);
        let rc = match (wrapped, dropped) {
            (Some(_), _) => Rc::INT_OVERFLOW,
            (None, true) => Rc::REPSUM_INEXACT,
            (None, false) => Rc::OK,
        };
        assert_eq!((out.rc, out.oflow), (rc, wrapped.unwrap_or(0) as u8));
        if wrapped.is_none() {
            assert_eq!(exact(&out, 0), exact(&big, 0) + exact(&small, d));
        }
    }
}
