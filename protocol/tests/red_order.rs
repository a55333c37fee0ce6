//! What of a result depends on the order in which contributions meet, and what does not.

mod red_common;

use proptest::prelude::*;
use red_common::*;
use tributary_protocol::red::{host::repsum::encode, ops::*};

const ASSOC: Mode = Mode { ieee_nan: false };
const IEEE: Mode = Mode { ieee_nan: true };

fn lanes(word: u64) -> Value {
    Value {
        data: [word; 4],
        ..Value::default()
    }
}

/// The word of lane 0 and the code of (a, b), c and of a, (b, c).
fn both(op: Op, mode: Mode, [a, b, c]: [Value; 3]) -> [(Value, Rc); 2] {
    let f = |x: &Value, y: &Value| combine(op, mode, x, y);
    [f(&f(&a, &b), &c), f(&a, &f(&b, &c))].map(|v| (v, v.rc))
}

fn numbers(list: [f64; 3]) -> [Value; 3] {
    list.map(|n| lanes(n.to_bits()))
}

/// A value and its place for the operations with location.
fn placed(word: u64, index: u64) -> Value {
    Value {
        data: [word, index, word, index],
        ..Value::default()
    }
}

#[test]
fn red_01_the_code_of_an_integer_sum_depends_on_the_order_its_words_do_not() {
    let most = i64::MAX as u64;
    let [first, second] = both(Op::IntSum, ASSOC, [lanes(most), lanes(1), lanes(u64::MAX)]);
    assert_eq!(first.0.data, [most; 4]);
    assert_eq!(second.0.data, [most; 4]);
    assert_eq!((first.1, second.1), (Rc::INT_OVERFLOW, Rc::OK));
}

#[test]
fn red_05_words_and_codes_of_a_rounded_sum_depend_on_the_order() {
    let sum = |list| both(Op::FltSumNearest, ASSOC, numbers(list));
    let word = |(value, rc): (Value, Rc)| (f64::from_bits(value.data[0]), rc);
    // Words: 2^53 swallows single ones.
    let [first, second] = sum([2f64.powi(53), 1.0, 1.0]).map(word);
    assert_eq!(first, (2f64.powi(53), Rc::FLT_INEXACT));
    assert_eq!(second, (2f64.powi(53) + 2.0, Rc::OK));
    // Overflow.
    let [first, second] = sum([f64::MAX, f64::MAX, -f64::MAX]).map(word);
    assert_eq!(first, (f64::INFINITY, Rc::FLT_OVERFLOW));
    assert_eq!(second, (f64::MAX, Rc::OK));
    // Invalid: infinities that a NaN keeps apart.
    let [first, second] = sum([f64::INFINITY, f64::NEG_INFINITY, f64::NAN]);
    assert_eq!((first.0.data, second.0.data), ([QNAN; 4], [QNAN; 4]));
    assert_eq!((first.1, second.1), (Rc::FLT_INVALID, Rc::OK));
}

#[test]
fn red_04_ieee_mode_is_not_associative_nan_or_number() {
    let snan = INF | 5;
    for op in [Op::FltMinnum, Op::FltMaxnum] {
        let operands = [lanes(ONE), lanes(2f64.to_bits()), lanes(snan)];
        let [first, second] = both(op, IEEE, operands);
        assert_eq!(first.0.data, [QNAN | 5; 4], "(1, 2), sNaN is a NaN");
        assert_eq!(second.0.data, [ONE; 4], "1, (2, sNaN) is 1");
        assert_eq!((first.1, second.1), (Rc::FLT_INVALID, Rc::FLT_INVALID));
        let [first, second] = both(op, ASSOC, operands);
        assert_eq!(first, second);
    }
    let operands = [placed(ONE, 1), placed(2f64.to_bits(), 2), placed(snan, 3)];
    let [first, second] = both(Op::FltMinmaxnumloc, IEEE, operands);
    assert_eq!(first.0.data, [QNAN | 5, 3, QNAN | 5, 3]);
    assert_eq!(second.0.data, [ONE, 1, ONE, 1]);
}

#[test]
fn red_03_payload_and_index_depend_on_the_order_where_signalling_nans_meet_quiet_ones() {
    // The signalling one goes first, but is quiet after that and has the smallest payload.
    let (a, b, snan) = (QNAN | 7, QNAN | 9, INF | 1);
    for op in [Op::FltMin, Op::FltMax] {
        let [first, second] = both(op, ASSOC, [lanes(a), lanes(b), lanes(snan)]);
        assert_eq!(first.0.data, [QNAN | 1; 4]);
        assert_eq!(second.0.data, [a; 4]);
        assert_eq!(first.1, second.1, "the code is the same");
    }
    let operands = [placed(a, 10), placed(b, 11), placed(snan, 12)];
    let [first, second] = both(Op::FltMinmaxloc, ASSOC, operands);
    assert_eq!(first.0.data, [QNAN | 1, 12, QNAN | 1, 12]);
    assert_eq!(second.0.data, [a, 10, a, 10]);
}

#[test]
fn red_07_the_code_of_infinities_and_nan_depends_on_the_order_the_value_does_not() {
    let list = [f64::INFINITY, f64::NEG_INFINITY, f64::NAN].map(|n| encode(n.to_bits()));
    let [first, second] = both(Op::FltRepsum, ASSOC, list);
    assert_eq!((first.0.m, second.0.m), (NAN, NAN));
    assert_eq!((first.1, second.1), (Rc::FLT_INVALID, Rc::OK));
}

#[test]
fn red_06_overflow_of_a_reproducible_sum_depends_on_the_order_its_words_do_not() {
    let word = |w: i64| Value {
        data: [0, 0, 0, w as u64],
        ..Value::default()
    };
    let [first, second] = both(Op::FltRepsum, ASSOC, [word(i64::MAX), word(1), word(-1)]);
    assert_eq!(first.0.data, second.0.data);
    assert_eq!((first.1, second.1), (Rc::INT_OVERFLOW, Rc::OK));
}

fn signalling(bits: u64) -> bool {
    BINARY64.is_snan(bits)
}

fn word() -> impl Strategy<Value = u64> {
    prop_oneof![any::<u64>(), proptest::sample::select(specials()), 0u64..4]
}

/// A value without a code yet: what an endpoint gives.
fn given() -> impl Strategy<Value = Value> {
    [word(), word(), word(), word()].prop_map(|data| Value {
        data,
        ..Value::default()
    })
}

/// A reproducible sum with any words and codes, in windows near each other and far apart.
fn sums() -> impl Strategy<Value = Value> {
    let m = prop_oneof![-26i8..=25, -2i8..=2, 123i8..=127, any::<i8>()];
    ([word(), word(), word(), word()], 0u8..16, m, 0u8..4).prop_map(|(data, rc, m, oflow)| Value {
        data,
        rc: Rc::new(rc),
        m,
        oflow,
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20_000))]

    /// Words and window of a reproducible sum: in any order, even if a word overflows.
    #[test]
    fn red_06_red_07_words_of_a_reproducible_sum_do_not_depend_on_the_order(a in sums(), b in sums(), c in sums()) {
        let [first, second] = both(Op::FltRepsum, ASSOC, [a, b, c]);
        prop_assert_eq!((first.0.data, first.0.m), (second.0.data, second.0.m));
    }

    /// Codes of minima and maxima: `flt_invalid` if a signalling NaN is among three contributions, in any order and mode.
    #[test]
    fn red_03_red_04_the_code_of_minima_and_maxima_does_not_depend_on_the_order(
        a in given(), b in given(), c in given(), ieee: bool,
    ) {
        use Op::*;
        let mode = Mode { ieee_nan: ieee };
        for op in [FltMin, FltMax, FltMinnum, FltMaxnum, FltMinmaxloc, FltMinmaxnumloc] {
            let [first, second] = both(op, mode, [a, b, c]);
            let looked_at: &[usize] = match op {
                FltMinmaxloc | FltMinmaxnumloc => &[0, 2],
                _ => &[0, 1, 2, 3],
            };
            let invalid = [a, b, c].iter().any(|v| looked_at.iter().any(|&i| signalling(v.data[i])));
            let want = if invalid { Rc::FLT_INVALID } else { Rc::OK };
            prop_assert_eq!((first.1, second.1), (want, want), "{}", op);
        }
    }

    /// Whether FLT_MIN and FLT_MAX give a NaN, and which number otherwise: in any order.
    #[test]
    fn red_03_whether_a_minimum_is_a_nan_does_not_depend_on_the_order(a in given(), b in given(), c in given()) {
        for op in [Op::FltMin, Op::FltMax] {
            let [first, second] = both(op, ASSOC, [a, b, c]);
            for lane in 0..4 {
                let (x, y) = (first.0.data[lane], second.0.data[lane]);
                prop_assert!(x == y || BINARY64.is_nan(x) && BINARY64.is_nan(y), "{} {:#x} {:#x}", op, x, y);
            }
        }
    }

    /// IEEE mode depends on the order through signalling NaNs only.
    #[test]
    fn red_04_without_signalling_nans_ieee_mode_is_the_default_mode(a in given(), b in given(), c in given()) {
        let quiet = |v: Value| Value { data: v.data.map(|w| if signalling(w) { w | 1 << 51 } else { w }), ..v };
        let operands = [a, b, c].map(quiet);
        for op in [Op::FltMinnum, Op::FltMaxnum, Op::FltMinmaxnumloc] {
            let [first, second] = both(op, IEEE, operands);
            let [default, _] = both(op, ASSOC, operands);
            prop_assert_eq!(first.0, second.0, "{}", op);
            prop_assert_eq!(first.0, default.0, "{}", op);
        }
    }
}
