//! The reduction tests of the open host software, by their names, on models: groups of 10 and 31 endpoints, every operation.

mod red_common;

use red_common::{INF, QNAN, fabric::*};
use tributary_protocol::red::{host::*, *};

/// Ten hosts below two edge switches.
fn ten() -> Fabric {
    Fabric::new(2, 5, 3, LeafConfig::default())
}

fn words(data: [u64; 4]) -> Value {
    Value {
        data,
        ..Value::default()
    }
}

/// Every host gives its value; all must hear the same result of everyone.
fn all(f: &mut Fabric, round: u64, op: Op, values: impl Fn(usize) -> Value) -> Value {
    for host in 0..f.hosts() {
        f.give(host, round, op, values(host));
    }
    f.run();
    let result = *f.done(0).last().expect("a result");
    assert_eq!(
        (result.round, result.op, result.count as usize),
        (round, op, f.hosts())
    );
    for host in 0..f.hosts() {
        assert_eq!(f.done(host).last(), Some(&result), "host {host}");
    }
    assert_eq!(f.in_use(), 0);
    result.value
}

fn ok(f: &mut Fabric, round: u64, op: Op, data: impl Fn(usize) -> [u64; 4]) -> [u64; 4] {
    let value = all(f, round, op, |host| words(data(host)));
    assert_eq!(value.rc, Rc::OK, "{op}");
    value.data
}

#[test]
fn red_18_coll_reduce_ops_barrier() {
    let mut f = ten();
    for round in 0..5 {
        assert_eq!(ok(&mut f, round, Op::Barrier, |_| [0; 4]), [0; 4]);
    }
}

/// A broadcast is an "or" to which everyone else gives zeros; whoever sends, the tree's root is the same.
#[test]
fn red_18_coll_reduce_ops_broadcast() {
    let mut f = ten();
    for (round, sender) in (0..10).enumerate() {
        let data = [0xabcd, sender as u64, u64::MAX, 1 << 63];
        let got = ok(&mut f, round as u64, Op::Or, |h| {
            if h == sender { data } else { [0; 4] }
        });
        assert_eq!(got, data);
    }
}

/// A reduce has its result at one endpoint of choice: at any root.
#[test]
fn red_18_coll_reduce_ops_reduce() {
    for root in 0..10 {
        let mut f = Fabric::new(2, 5, root, LeafConfig::default());
        assert_eq!(ok(&mut f, 0, Op::IntSum, |h| [h as u64; 4]), [45; 4]);
    }
}

type Fold = fn(u64, u64) -> u64;

#[test]
fn red_01_coll_reduce_ops_logic_and_integers() {
    let mut f = ten();
    let data = |h: usize| {
        [
            1 << h,
            !(1 << h),
            (h as u64).wrapping_sub(5),
            1000 - h as u64,
        ]
    };
    let fold = |g: Fold| -> [u64; 4] {
        std::array::from_fn(|j| (1..10).fold(data(0)[j], |a, h| g(a, data(h)[j])))
    };
    let cases: [(Op, Fold); 6] = [
        (Op::And, |a, b| a & b),
        (Op::Or, |a, b| a | b),
        (Op::Xor, |a, b| a ^ b),
        (Op::IntMin, |a, b| (a as i64).min(b as i64) as u64),
        (Op::IntMax, |a, b| (a as i64).max(b as i64) as u64),
        (Op::IntSum, u64::wrapping_add),
    ];
    for (round, (op, g)) in (0..).zip(cases) {
        assert_eq!(ok(&mut f, round, op, data), fold(g), "{op}");
    }
    let got = all(&mut f, 6, Op::IntSum, |h| {
        words([i64::MAX as u64 / 9, h as u64, 0, 0])
    });
    assert_eq!((got.rc, got.data[1]), (Rc::INT_OVERFLOW, 45));
}

#[test]
fn red_02_coll_reduce_ops_iminmaxloc() {
    let mut f = ten();
    // Minimum -3 at 2 and 7, maximum 90 at 4 and 9: the lower index of both.
    let value = |h: usize| match h {
        2 | 7 => -3i64,
        4 | 9 => 90,
        _ => h as i64,
    } as u64;
    assert_eq!(
        ok(&mut f, 0, Op::IntMinmaxloc, |h| [
            value(h),
            h as u64,
            value(h),
            h as u64
        ]),
        [-3i64 as u64, 2, 90, 4]
    );
}

#[test]
fn red_05_coll_reduce_ops_fsum() {
    let mut f = ten();
    let sum = ok(&mut f, 0, Op::FltSumNearest, |h| [(h as f64).to_bits(); 4]);
    assert_eq!(sum.map(f64::from_bits), [45.0; 4]);
    // One value far below the last bit: inexact, and upwards it counts.
    let tiny = |h: usize| words([if h == 6 { 1e-53f64 } else { 1.0 }.to_bits(); 4]);
    let got = all(&mut f, 1, Op::FltSumNearest, tiny);
    assert_eq!(
        (f64::from_bits(got.data[0]), got.rc),
        (9.0, Rc::FLT_INEXACT)
    );
    let got = all(&mut f, 2, Op::FltSumUp, tiny);
    assert!(f64::from_bits(got.data[0]) > 9.0);
    for (round, nan, rc) in [(3, QNAN | 5, Rc::OK), (4, INF | 5, Rc::FLT_INVALID)] {
        let got = all(&mut f, round, Op::FltSumNearest, |h| {
            words([if h == 4 { nan } else { 1f64.to_bits() }; 4])
        });
        assert_eq!((got.data, got.rc), ([QNAN; 4], rc));
    }
    let got = all(&mut f, 5, Op::FltSumNearestFtz, |h| {
        words([u64::from(h == 8); 4])
    });
    assert_eq!((got.data, got.rc), ([0; 4], Rc::FLT_INEXACT));
}

/// fmin, fmax, fminmaxloc, fminnum, fmaxnum, fminmaxnumloc: each with numbers, with one quiet NaN, with one signalling NaN.
#[test]
fn red_03_red_04_coll_reduce_ops_minima_and_maxima() {
    let mut f = ten();
    let at = |h: usize, h0: usize, nan: u64| {
        if h == h0 && nan != 0 {
            nan
        } else {
            (h as f64 - 4.0).to_bits()
        }
    };
    let bits = |x: f64| x.to_bits();
    let mut round = 0;
    for h0 in [0, 5, 9] {
        for (nan, rc) in [(0, Rc::OK), (QNAN | 7, Rc::OK), (INF | 7, Rc::FLT_INVALID)] {
            // Numbers win, or the NaN does.
            let low = if nan != 0 && h0 == 0 {
                (-3.0, 1)
            } else {
                (-4.0, 0)
            };
            let high = if nan != 0 && h0 == 9 {
                (4.0, 8)
            } else {
                (5.0, 9)
            };
            let numbers = [bits(low.0), low.1, bits(high.0), high.1];
            let strict = if nan == 0 {
                numbers
            } else {
                [QNAN | 7, h0 as u64, QNAN | 7, h0 as u64]
            };
            for (op, want) in [
                (Op::FltMin, [strict[0]; 4]),
                (Op::FltMax, [strict[2]; 4]),
                (Op::FltMinmaxloc, strict),
                (Op::FltMinnum, [numbers[0]; 4]),
                (Op::FltMaxnum, [numbers[2]; 4]),
                (Op::FltMinmaxnumloc, numbers),
            ] {
                let loc = matches!(op, Op::FltMinmaxloc | Op::FltMinmaxnumloc);
                let value = |h: usize| {
                    let (v, i) = (at(h, h0, nan), h as u64);
                    words(if loc { [v, i, v, i] } else { [v; 4] })
                };
                let got = all(&mut f, round, op, value);
                assert_eq!((got.data, got.rc), (want, rc), "{op} NaN {nan:#x} at {h0}");
                round += 1;
            }
        }
    }
}

/// REPSUM end to end: encoded at the hosts, added in the switches, decoded once.
#[test]
fn red_08_coll_reduce_ops_repsum() {
    use host::repsum::{decode, encode};
    let numbers = [
        1e300,
        1.5,
        -1e300,
        2f64.powi(-30),
        3.25,
        -1.5,
        1e-3,
        7.0,
        -3.25,
        4.0,
    ];
    for root in 0..10 {
        let mut f = Fabric::new(2, 5, root, LeafConfig::default());
        let got = all(&mut f, 0, Op::FltRepsum, |h| encode(numbers[h].to_bits()));
        // Beside 1e300 everything here falls off, whatever the shape of the tree.
        assert_eq!(decode(&got, ops::Rounding::NearestEven).0, 0);
        assert_eq!(got.rc, Rc::REPSUM_INEXACT);
        let got = all(&mut f, 1, Op::FltRepsum, |h| {
            encode((numbers[h] % 1000.0).to_bits())
        });
        let want: f64 = numbers.iter().map(|n| n % 1000.0).sum();
        assert!((f64::from_bits(decode(&got, ops::Rounding::NearestEven).0) - want).abs() < 1e-12);
    }
}

/// 31 endpoints of one group, beginning at one of the first five or the last four; all good, or one of the first two with a
/// wrong operation; the root first or last.
#[test]
fn red_09_coll_reduce_concur1() {
    for first in (0..5).chain(27..31) {
        for wrong in [None, Some(0), Some(1)] {
            for leaf_first in [false, true] {
                let mut f = Fabric::new(
                    31,
                    1,
                    3,
                    LeafConfig {
                        wait_for_arm: !leaf_first,
                        ..LeafConfig::default()
                    },
                );
                if !leaf_first {
                    f.run_for(5_000);
                    f.give(3, 0, Op::IntSum, words([3; 4]));
                }
                for host in (0..31).map(|i| (first + i) % 31).filter(|&h| h != 3) {
                    let op = if wrong == Some(host) {
                        Op::IntMax
                    } else {
                        Op::IntSum
                    };
                    f.give(host, 0, op, words([host as u64; 4]));
                }
                if leaf_first {
                    f.give(3, 0, Op::IntSum, words([3; 4]));
                }
                f.run();
                let want = (
                    if wrong.is_some() {
                        Rc::OP_MISMATCH
                    } else {
                        Rc::OK
                    },
                    31,
                );
                for host in 0..31 {
                    let got = f.done(host)[0];
                    assert_eq!(
                        (got.value.rc, got.count),
                        want,
                        "first {first} wrong {wrong:?} host {host}"
                    );
                    if wrong.is_none() {
                        assert_eq!(got.value.data, [465; 4]);
                    }
                }
                assert_eq!(f.in_use(), 0);
            }
        }
    }
}
