//! Encoding and decoding of reproducible sums (RED-8).
//!
//! A number is cut into words of 40 bits at fixed weights: word j of a value with window m weighs 2^(40·(m-3+j)). Words hold
//! 64 bits, so 2^23 numbers can be added and no word overflows; [`Sum`] counts them, and a [`Group`](super::Group) gives each
//! endpoint its share. Addition keeps the highest window and drops whole words below it.
//! What is dropped depends on the values, not on their order, so the sum is the same in any order. Whether something *was* dropped
//! does depend on it: 1 - 1 + 2^200 drops a zero, 1 + 2^200 - 1 drops a one. So `repsum_inexact` may differ where the value does not.
//! `docs/arithmetic.md` has the error bound.

mod sum;

pub use sum::{SUMMANDS_MAX, Sum, TooManySummands, fewest_summands};
pub(super) use sum::{check_share, share, within};

use crate::red::ops::{BINARY64, Flags, MINUS_INF, NAN, PLUS_INF, Rc, Rounding, Value, round};

/// Bits from one word's weight to the next.
const W: i32 = 40;
const DIGIT: i128 = (1 << W) - 1;
const SIGN: u64 = BINARY64.sign();
const INF: u64 = BINARY64.inf();

/// The reproducible sum of one number; -0 becomes 0, and a signalling NaN is `flt_invalid`.
#[must_use]
pub fn encode(number: u64) -> Value {
    let special = |m, rc| Value {
        rc,
        m,
        ..Value::default()
    };
    if BINARY64.is_snan(number) {
        return special(NAN, Rc::FLT_INVALID);
    }
    if BINARY64.is_nan(number) {
        return special(NAN, Rc::OK);
    }
    let negative = number & SIGN != 0;
    if number & !SIGN == INF {
        return special(if negative { MINUS_INF } else { PLUS_INF }, Rc::OK);
    }
    let biased = (number >> 52 & 0x7ff) as i32;
    let fraction = number & ((1 << 52) - 1);
    let (biased, significand) = match biased {
        0 => (1, fraction),
        _ => (biased, fraction | 1 << 52),
    };
    let m = (biased - 1023).div_euclid(W);
    // In units of word 1: the last bit is at least 28 places above it, the first at most 119.
    let places = biased - 1075 - W * (m - 2);
    let cut = i128::from(significand) << places;
    let word = |j: i32| {
        let digit = (cut >> (W * (j - 1)) & DIGIT) as u64;
        if negative {
            digit.wrapping_neg()
        } else {
            digit
        }
    };
    Value {
        data: [0, word(1), word(2), word(3)],
        m: m as i8,
        ..Value::default()
    }
}

/// The number nearest to a reproducible sum in a rounding mode: the words are added exactly and rounded once.
///
/// A sum that is zero is +0. The flags are those of the rounding alone: whether the words are right says the result code of `sum`.
/// Words that have overflowed (`int_overflow`) are taken as they are, and give a wrong number without a flag.
#[must_use]
pub fn decode(sum: &Value, rounding: Rounding) -> (u64, Flags) {
    match sum.m {
        NAN => return (BINARY64.default_nan(), Flags::default()),
        PLUS_INF => return (INF, Flags::default()),
        MINUS_INF => return (SIGN | INF, Flags::default()),
        _ => {}
    }
    let words = sum.data.map(|word| i128::from(word as i64));
    let negative = digits(words)[4] < 0;
    let digits = digits(if negative { words.map(|w| -w) } else { words });
    let Some(top) = (0..5).rev().find(|&j| digits[j] != 0) else {
        return (0, Flags::default());
    };
    // Three digits from the first that is not zero have at least 81 bits; of the rest only matters whether there is any.
    let digit = |j: usize| if j < 5 { digits[j] as u128 } else { 0 };
    let below = |k: usize| top.checked_sub(k).map_or(0, digit);
    let rest = (3..5).any(|k| below(k) != 0);
    let significand = below(0) << (2 * W) | below(1) << W | below(2) | u128::from(rest);
    let exponent = W * (i32::from(sum.m) - 3 + top as i32 - 2);
    round(BINARY64, negative, significand, exponent, rounding)
}

/// Carries between words: four digits of 40 bits and a signed rest above them.
fn digits(words: [i128; 4]) -> [i128; 5] {
    let mut digits = [0; 5];
    let mut carry = 0;
    for (digit, word) in digits.iter_mut().zip(words) {
        let sum = word + carry;
        (*digit, carry) = (sum & DIGIT, sum >> W);
    }
    digits[4] = carry;
    digits
}
