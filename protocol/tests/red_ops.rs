//! Integer operations, minima and maxima, locations: against plain readings of the rules.

mod red_common;

use proptest::prelude::*;
use red_common::*;
use tributary_protocol::red::ops::*;

fn value(data: [u64; 4]) -> Value {
    Value {
        data,
        ..Value::default()
    }
}

fn run(op: Op, mode: Mode, a: [u64; 4], b: [u64; 4]) -> ([u64; 4], Rc) {
    let out = combine(op, mode, &value(a), &value(b));
    assert_eq!((out.m, out.oflow), (0, 0));
    (out.data, out.rc)
}

const IEEE: Mode = Mode { ieee_nan: true };
const ASSOC: Mode = Mode { ieee_nan: false };

fn float(bits: u64) -> f64 {
    f64::from_bits(bits)
}

fn signalling(bits: u64) -> bool {
    float(bits).is_nan() && bits >> 51 & 1 == 0
}

/// Which of two doubles a minimum or maximum is, as the rules say it: (index of the argument or both, bits).
fn chosen(args: [u64; 2], max: bool, num: bool, mode: Mode) -> (Vec<usize>, u64) {
    let nans: Vec<usize> = (0..2).filter(|&i| float(args[i]).is_nan()).collect();
    let snans: Vec<usize> = (0..2).filter(|&i| signalling(args[i])).collect();
    let associative = num && !mode.ieee_nan;
    let candidates =
        if nans.is_empty() || num && nans.len() == 1 && (associative || snans.is_empty()) {
            let numbers: Vec<usize> = (0..2).filter(|i| !nans.contains(i)).collect();
            let best = numbers
                .iter()
                .map(|&i| float(args[i]))
                .reduce(|x, y| {
                    if (x.total_cmp(&y).is_gt()) == max {
                        x
                    } else {
                        y
                    }
                })
                .unwrap()
                .to_bits();
            return (
                numbers.into_iter().filter(|&i| args[i] == best).collect(),
                best,
            );
        } else if associative || snans.is_empty() {
            nans
        } else {
            snans
        };
    let payload = |i: &usize| args[*i] & ((1 << 51) - 1);
    let most = candidates.iter().map(payload).max().unwrap();
    (
        candidates
            .into_iter()
            .filter(|i| payload(i) == most)
            .collect(),
        QNAN | most,
    )
}

fn index(sides: &[usize], indices: [u64; 2]) -> u64 {
    sides.iter().map(|&i| indices[i]).min().unwrap()
}

#[test]
fn red_03_red_04_special_values_of_every_operation_and_mode() {
    let list = specials();
    for &a in &list {
        for &b in &list {
            for mode in [ASSOC, IEEE] {
                check_minmax(a, b, mode);
            }
        }
    }
}

#[test]
fn red_03_red_04_random_pairs_of_every_operation_and_mode() {
    let mut rng = rng(seed());
    for _ in 0..pairs() {
        let (a, b) = pair(&mut rng);
        check_minmax(a, b, ASSOC);
        check_minmax(a, b, IEEE);
    }
}

fn check_minmax(a: u64, b: u64, mode: Mode) {
    let rc = if signalling(a) || signalling(b) {
        Rc::FLT_INVALID
    } else {
        Rc::OK
    };
    for (op, max, num) in [
        (Op::FltMin, false, false),
        (Op::FltMax, true, false),
        (Op::FltMinnum, false, true),
        (Op::FltMaxnum, true, true),
    ] {
        let want = chosen([a, b], max, num, mode).1;
        let zeros = if max == num { 0 } else { SIGN };
        let (got, code) = run(op, mode, [a, zeros, zeros, a], [b, zeros, zeros, b]);
        assert_eq!(
            (got, code),
            ([want, zeros, zeros, want], rc),
            "{op} {a:#x} {b:#x} {mode:?}"
        );
    }
    for (op, num) in [(Op::FltMinmaxloc, false), (Op::FltMinmaxnumloc, true)] {
        let (low, min) = chosen([a, b], false, num, mode);
        let (high, max) = chosen([a, b], true, num, mode);
        let (got, code) = run(op, mode, [a, 9, a, u64::MAX], [b, 8, b, 3]);
        let want = [min, index(&low, [9, 8]), max, index(&high, [u64::MAX, 3])];
        assert_eq!((got, code), (want, rc), "{op} {a:#x} {b:#x} {mode:?}");
    }
}

#[test]
fn red_01_integer_minimum_maximum_sum() {
    let edge = [
        0,
        1,
        2,
        u64::MAX,
        u64::MAX - 1,
        1 << 63,
        (1 << 63) + 1,
        (1 << 63) - 1,
        1 << 62,
        3 << 62,
    ];
    for a in edge {
        for b in edge {
            let (x, y) = (i128::from(a as i64), i128::from(b as i64));
            let word = |v: i128| v as u64;
            assert_eq!(
                run(Op::IntMin, ASSOC, [a; 4], [b; 4]),
                ([word(x.min(y)); 4], Rc::OK)
            );
            assert_eq!(
                run(Op::IntMax, ASSOC, [a; 4], [b; 4]),
                ([word(x.max(y)); 4], Rc::OK)
            );
            let fits = i64::try_from(x + y).is_ok();
            let rc = if fits { Rc::OK } else { Rc::INT_OVERFLOW };
            assert_eq!(
                run(Op::IntSum, ASSOC, [0, 0, a, 0], [0, 0, b, 0]),
                ([0, 0, word(x + y), 0], rc)
            );
            assert_eq!(run(Op::And, ASSOC, [a; 4], [b; 4]), ([a & b; 4], Rc::OK));
            assert_eq!(run(Op::Or, ASSOC, [a; 4], [b; 4]), ([a | b; 4], Rc::OK));
            assert_eq!(run(Op::Xor, ASSOC, [a; 4], [b; 4]), ([a ^ b; 4], Rc::OK));
            assert_eq!(run(Op::Barrier, ASSOC, [a; 4], [b; 4]), ([0; 4], Rc::OK));
        }
    }
}

#[test]
fn red_02_ties_keep_the_lower_index_for_the_maximum_too() {
    let high = u64::MAX; // the largest index, not -1
    for op in [Op::IntMinmaxloc, Op::FltMinmaxloc, Op::FltMinmaxnumloc] {
        let got = run(op, ASSOC, [5, high, 5, high], [5, 3, 5, 2]);
        assert_eq!(got, ([5, 3, 5, 2], Rc::OK), "{op}");
        let got = run(op, ASSOC, [4, 7, 4, 7], [5, 3, 5, 2]);
        assert_eq!(got, ([4, 7, 5, 2], Rc::OK), "{op}");
    }
    // Minus one is the minimum as an integer.
    assert_eq!(
        run(
            Op::IntMinmaxloc,
            ASSOC,
            [u64::MAX, 1, 0, 1],
            [0, 2, u64::MAX, 2]
        )
        .0,
        [u64::MAX, 1, 0, 1]
    );
    // -0 is below +0, so this is no tie.
    assert_eq!(
        run(Op::FltMinmaxloc, ASSOC, [0, 1, 0, 5], [SIGN, 2, SIGN, 4]).0,
        [SIGN, 2, 0, 5]
    );
    // The two halves decide on their own.
    let nan = QNAN | SIGN | 5;
    assert_eq!(
        run(Op::FltMinmaxloc, ASSOC, [nan, 1, ONE, 5], [ONE, 2, 0, 4]).0,
        [QNAN | 5, 1, ONE, 5]
    );
    assert_eq!(
        run(
            Op::FltMinmaxnumloc,
            IEEE,
            [nan, 1, ONE, 5],
            [ONE, 2, nan, 4]
        )
        .0,
        [ONE, 2, ONE, 5]
    );
}

#[test]
fn red_04_a_signalling_nan_counts_in_ieee_mode_only() {
    let snan = INF | SIGN | 9;
    for op in [Op::FltMinnum, Op::FltMaxnum] {
        assert_eq!(
            run(op, ASSOC, [snan; 4], [ONE; 4]),
            ([ONE; 4], Rc::FLT_INVALID)
        );
        assert_eq!(
            run(op, IEEE, [snan; 4], [ONE; 4]),
            ([QNAN | 9; 4], Rc::FLT_INVALID)
        );
        assert_eq!(run(op, IEEE, [QNAN; 4], [ONE; 4]), ([ONE; 4], Rc::OK));
        assert_eq!(
            run(op, ASSOC, [QNAN | 1; 4], [QNAN | 2; 4]),
            ([QNAN | 2; 4], Rc::OK)
        );
    }
}

#[test]
fn red_01_every_code_is_an_operation_or_a_typed_error() {
    let known: Vec<u8> = (0..=255).filter(|&c| Op::try_from(c).is_ok()).collect();
    let want = [
        0, 1, 2, 3, 0x10, 0x11, 0x12, 0x14, 0x18, 0x19, 0x1c, 0x20, 0x21, 0x22, 0x24, 0x25, 0x26,
    ];
    assert_eq!(
        known,
        want.into_iter()
            .chain(0x28..=0x30)
            .chain([0x32, 0x33, 0x36, 0x37])
            .chain(0x38..=0x3f)
            .collect::<Vec<u8>>()
    );
    assert_eq!(Op::ALL.len(), known.len());
    assert_eq!(Op::try_from(0x13), Err(UnknownOp(0x13)));
    assert_eq!(
        UnknownOp(0x13).to_string(),
        "0x13 is no reduction operation"
    );
}

fn word() -> impl Strategy<Value = u64> {
    prop_oneof![any::<u64>(), proptest::sample::select(specials()), 0u64..4]
}

fn any_value() -> impl Strategy<Value = Value> {
    (
        [word(), word(), word(), word()],
        0u8..16,
        -30i8..=127,
        0u8..4,
    )
        .prop_map(|(data, rc, m, oflow)| Value {
            data,
            rc: Rc::new(rc),
            m,
            oflow,
        })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    /// The order of the two arguments never matters, in any operation.
    #[test]
    fn red_01_red_07_every_operation_commutes(a in any_value(), b in any_value(), ieee: bool) {
        let mode = Mode { ieee_nan: ieee };
        for &op in Op::ALL {
            prop_assert_eq!(combine(op, mode, &a, &b), combine(op, mode, &b, &a), "{}", op);
        }
    }

    /// Neither does the shape of the tree, for all that is not a rounded sum and has no signalling NaN against quiet ones.
    #[test]
    fn red_04_the_shape_of_the_tree_does_not_matter(a in any_value(), b in any_value(), c in any_value()) {
        use Op::*;
        for op in [Barrier, And, Or, Xor, IntMin, IntMax, IntMinmaxloc, FltMinnum, FltMaxnum, FltMinmaxnumloc] {
            let f = |x: &Value, y: &Value| combine(op, ASSOC, x, y);
            prop_assert_eq!(f(&f(&a, &b), &c), f(&a, &f(&b, &c)), "{}", op);
        }
        let quiet = |v: &Value| Value { data: v.data.map(|w| if signalling(w) { w | 1 << 51 } else { w }), ..*v };
        let (a, b, c) = (quiet(&a), quiet(&b), quiet(&c));
        for op in [FltMin, FltMax, FltMinmaxloc] {
            let f = |x: &Value, y: &Value| combine(op, ASSOC, x, y);
            prop_assert_eq!(f(&f(&a, &b), &c), f(&a, &f(&b, &c)), "{}", op);
        }
        let sum = |x: &Value, y: &Value| combine(IntSum, ASSOC, x, y);
        prop_assert_eq!(sum(&sum(&a, &b), &c).data, sum(&a, &sum(&b, &c)).data);
    }

    /// The result code never gets smaller, except that a reproducible sum may forget an overflow with its word (RED-6).
    #[test]
    fn red_05_the_largest_code_is_kept(a in any_value(), b in any_value()) {
        for &op in Op::ALL {
            let out = combine(op, ASSOC, &a, &b).rc;
            let most = a.rc.max(b.rc);
            prop_assert!(out >= most || op == Op::FltRepsum && most == Rc::INT_OVERFLOW && out == Rc::REPSUM_INEXACT, "{}", op);
        }
    }
}
