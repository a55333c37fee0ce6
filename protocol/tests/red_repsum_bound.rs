//! How far a reproducible sum is from the exact one: not at all without a code, and a bounded way with one.

mod red_common;

use num_bigint::BigInt;
use rand::{RngExt, seq::SliceRandom};
use rand_chacha::ChaCha8Rng;
use red_common::*;
use tributary_protocol::red::{
    host::repsum::{decode, encode},
    ops::*,
};

/// Exponent of the unit in which exact values are counted: word 0 of the lowest window.
const UNIT: i32 = -40 * (26 + 3);

fn exact_number(bits: u64) -> BigInt {
    let biased = (bits >> 52 & 0x7ff).max(1) as i32;
    let hidden = u64::from(bits & INF != 0) << 52;
    let magnitude = BigInt::from(bits & ((1 << 52) - 1) | hidden) << (biased - 1075 - UNIT);
    if bits & SIGN != 0 {
        -magnitude
    } else {
        magnitude
    }
}

fn exact_sum(sum: &Value) -> BigInt {
    let weight = |j: usize| 40 * (i32::from(sum.m) - 3 + j as i32) - UNIT;
    (0..4)
        .map(|j| BigInt::from(sum.data[j] as i64) << weight(j))
        .sum()
}

/// 2^(40·(M-3)): the weight of word 0.
fn last_word(m: i8) -> BigInt {
    BigInt::from(1) << (40 * (i32::from(m) - 3) - UNIT)
}

fn magnitude(n: &BigInt) -> BigInt {
    BigInt::from(n.magnitude().clone())
}

/// Whether a number loses something in the window `m`.
fn drops(number: u64, m: i8) -> bool {
    let value = encode(number);
    let dropped = usize::try_from(m - value.m).expect("the largest window");
    value.data.iter().take(dropped).any(|&word| word != 0)
}

fn add_all(numbers: &[u64]) -> Value {
    let values: Vec<Value> = numbers.iter().map(|&n| encode(n)).collect();
    values
        .into_iter()
        .reduce(|sum, value| repsum_add(&sum, &value))
        .expect("some")
}

/// Numbers whose windows are equal, near each other or far apart, some of them with few bits, some the opposite of others.
fn numbers(rng: &mut ChaCha8Rng) -> Vec<u64> {
    let spread = [0, 30, 60, 100, 200, 1000][rng.random_range(0..6)];
    let middle = rng.random_range(1..2046i64);
    let mut list: Vec<u64> = Vec::new();
    for _ in 0..rng.random_range(1..40) {
        let exponent = (middle + rng.random_range(-spread..=spread)).clamp(0, 2046) as u64;
        let fraction = match rng.random_range(0..3) {
            0 => 0,
            1 => 1 << rng.random_range(0..52),
            _ => rng.random::<u64>() >> 12,
        };
        let sign = if rng.random() { SIGN } else { 0 };
        let number = sign | exponent << 52 | fraction;
        list.push(number);
        if rng.random_range(0..4) == 0 {
            list.push(number ^ SIGN);
        }
    }
    list.shuffle(rng);
    list
}

#[test]
fn red_06_without_a_code_a_reproducible_sum_is_exact() {
    let mut rng = rng(seed());
    let (mut exact, mut mixed) = (0, 0);
    for _ in 0..pairs() / 10 {
        let list = numbers(&mut rng);
        let sum = add_all(&list);
        let want: BigInt = list.iter().map(|&n| exact_number(n)).sum();
        if sum.rc == Rc::OK {
            assert_eq!(exact_sum(&sum), want, "{list:x?}");
            exact += 1;
            mixed += u64::from(list.iter().any(|&n| encode(n).m != sum.m));
        } else {
            assert_eq!(sum.rc, Rc::REPSUM_INEXACT, "{list:x?}");
        }
    }
    let rounds = pairs() / 10;
    assert!(exact > rounds / 10 && mixed > rounds / 50 && exact < rounds);
}

#[test]
fn red_06_each_summand_that_drops_costs_less_than_a_unit_of_word_0() {
    let mut rng = rng(seed());
    let mut inexact = 0;
    for _ in 0..pairs() / 10 {
        let list = numbers(&mut rng);
        let sum = add_all(&list);
        let want: BigInt = list.iter().map(|&n| exact_number(n)).sum();
        let error = magnitude(&(exact_sum(&sum) - want));
        let dropping = list.iter().filter(|&&n| drops(n, sum.m)).count();
        assert!(
            error < last_word(sum.m) * BigInt::from(dropping.max(1)),
            "{list:x?}"
        );
        if dropping == 0 {
            assert_eq!((error, sum.rc), (BigInt::ZERO, Rc::OK), "{list:x?}");
        } else {
            inexact += 1;
        }
    }
    assert!(inexact > pairs() / 100);
}

/// The bound is no larger than it must be: this comes within 2^-52 of it.
#[test]
fn red_06_the_bound_is_nearly_reached() {
    // 52 ones below bit 0 of word 0 of the window of 1.
    let below = (1023 - 121) << 52 | ((1 << 52) - 1);
    let mut list = vec![ONE];
    list.extend([below; 1000]);
    let sum = add_all(&list);
    assert_eq!((sum.data, sum.m), ([0, 0, 0, 1], 0));
    let want: BigInt = list.iter().map(|&n| exact_number(n)).sum();
    let error = magnitude(&(want - exact_sum(&sum)));
    let bound = last_word(0) * 1000;
    assert!(error < bound && error > &bound - (&bound >> 52));
}

/// Against the largest summand: each one that drops costs less than 2^-120 of it.
#[test]
fn red_06_what_drops_is_small_against_the_largest_summand() {
    let mut rng = rng(seed());
    for _ in 0..pairs() / 10 {
        let list = numbers(&mut rng);
        let sum = add_all(&list);
        if !list.iter().any(|&n| drops(n, sum.m)) {
            continue;
        }
        let largest = list.iter().map(|&n| magnitude(&exact_number(n))).max();
        assert!(
            last_word(sum.m) << 120 <= largest.expect("some"),
            "{list:x?}"
        );
    }
}

/// But not against the result: what is small is gone even if the large summands cancel, and only the code says so.
#[test]
fn red_06_what_dropped_does_not_come_back_when_large_summands_cancel() {
    let list = [1.0, 2f64.powi(200), -2f64.powi(200)].map(f64::to_bits);
    let sum = add_all(&list);
    assert_eq!(sum.rc, Rc::REPSUM_INEXACT);
    assert_eq!(
        decode(&sum, Rounding::NearestEven),
        (0, Flags::default()),
        "the flags are those of the rounding"
    );
}

/// Words wrap modulo 2^64: after one back they are right again, but the code stays.
#[test]
fn red_06_an_overflow_that_is_undone_keeps_its_code() {
    let largest = f64::from_bits(ONE + (39 << 52) + ((1 << 52) - 1));
    let mut sum = encode(largest.to_bits());
    for _ in 0..23 {
        sum = repsum_add(&sum, &sum);
    }
    let there = repsum_add(&sum, &encode(largest.to_bits()));
    let back = repsum_add(&there, &encode((-largest).to_bits()));
    assert_eq!((back.data, back.m), (sum.data, sum.m));
    assert_eq!((sum.rc, back.rc), (Rc::OK, Rc::INT_OVERFLOW));
}

/// An overflow that drops with its word costs no more than the summands that drop: the code says inexact.
#[test]
fn red_06_an_overflow_that_drops_is_within_the_bound() {
    // Word 1 of the window 0 overflows: 2^24 times all 40 bits of it.
    let low = 2f64.powi(-40) - 2f64.powi(-80);
    let one = repsum_add(&encode(ONE), &encode(low.to_bits()));
    assert_eq!((one.data, one.m), ([0, (1 << 40) - 1, 0, 1], 0));
    let mut sum = one;
    for _ in 0..24 {
        sum = repsum_add(&sum, &sum);
    }
    assert_eq!((sum.rc, sum.oflow), (Rc::INT_OVERFLOW, 1));
    let big = encode(2f64.powi(80).to_bits());
    let total = repsum_add(&sum, &big);
    assert_eq!((total.rc, total.oflow), (Rc::REPSUM_INEXACT, 0));
    let want = (exact_sum(&one) << 24) + exact_sum(&big);
    let error = magnitude(&(exact_sum(&total) - want));
    assert!(error < last_word(total.m) << 24 && error > last_word(total.m) << 22);
}

/// Between a special value and any other, no word counts, but codes are kept: an overflow of a finite sum becomes inexact.
#[test]
fn red_07_codes_beside_a_special_value_are_kept() {
    let finite = |rc, oflow| Value {
        rc,
        oflow,
        ..encode(ONE)
    };
    for special in [f64::INFINITY, f64::NEG_INFINITY, f64::NAN] {
        let special = encode(special.to_bits());
        for (rc, want) in [
            (Rc::OK, Rc::OK),
            (Rc::FLT_INVALID, Rc::FLT_INVALID),
            (Rc::REPSUM_INEXACT, Rc::REPSUM_INEXACT),
            (Rc::INT_OVERFLOW, Rc::REPSUM_INEXACT),
            (Rc::CONTR_OVERFLOW, Rc::CONTR_OVERFLOW),
        ] {
            for oflow in 0..4 {
                let out = repsum_add(&special, &finite(rc, oflow));
                assert_eq!((out.data, out.m), ([0; 4], special.m));
                assert_eq!((out.rc, out.oflow), (want, 0), "{rc} of a finite sum");
            }
        }
    }
}

/// -0 has no representation: it is +0, and a sum of nothing else is +0 in every rounding.
#[test]
fn red_08_minus_zero_becomes_plus_zero() {
    let sum = add_all(&[SIGN; 5]);
    assert_eq!(sum, encode(0));
    assert_eq!((sum.data, sum.m), ([0; 4], -26));
    let cancelled = add_all(&[ONE, ONE | SIGN]);
    for rounding in Rounding::ALL {
        assert_eq!(decode(&sum, rounding), (0, Flags::default()));
        assert_eq!(decode(&cancelled, rounding), (0, Flags::default()));
    }
}
