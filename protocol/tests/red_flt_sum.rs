//! FLT_SUM against LLVM's software floating point, bit for bit and flag for flag.

mod red_common;

use red_common::*;
use rustc_apfloat::{
    Float, Round, Status,
    ieee::{Double, Single},
};
use tributary_protocol::red::ops::*;

fn reference<F: Float>(
    format: Format,
    a: u64,
    b: u64,
    rounding: Rounding,
    ftz: bool,
) -> (u64, Flags) {
    let round = match rounding {
        Rounding::NearestEven => Round::NearestTiesToEven,
        Rounding::Up => Round::TowardPositive,
        Rounding::Down => Round::TowardNegative,
        Rounding::ToZero => Round::TowardZero,
    };
    let (x, y) = (F::from_bits(a.into()), F::from_bits(b.into()));
    let sum = x.add_r(y, round);
    let signalling = x.is_signaling() || y.is_signaling();
    let mut flags = Flags {
        invalid: sum.status.contains(Status::INVALID_OP) || signalling,
        overflow: sum.status.contains(Status::OVERFLOW) || beyond(x, y),
        underflow: sum.status.contains(Status::UNDERFLOW),
        inexact: sum.status.contains(Status::INEXACT),
    };
    let mut bits = sum.value.to_bits() as u64;
    if sum.value.is_nan() {
        bits = format.default_nan();
    } else if ftz && sum.value.is_denormal() {
        bits &= format.sign();
        flags.inexact = true;
    }
    (bits, flags)
}

/// LLVM does not call it an overflow when the rounding turns a sum beyond the largest number back to it; IEEE 754 does.
/// Half of both operands is exact here: neither can be small.
fn beyond<F: Float>(x: F, y: F) -> bool {
    let half = x.scalbn(-1).add_r(y.scalbn(-1), Round::TowardZero).value;
    half.is_finite() && half.ilogb() >= F::MAX_EXP && x.is_finite() && y.is_finite()
}

fn check<F: Float>(format: Format, a: u64, b: u64) {
    for rounding in Rounding::ALL {
        for ftz in [false, true] {
            let got = flt_sum(format, a, b, rounding, ftz);
            let want = reference::<F>(format, a, b, rounding, ftz);
            assert_eq!(
                got, want,
                "{a:#018x} + {b:#018x} {rounding:?} ftz {ftz}: {:#x}, want {:#x}",
                got.0, want.0
            );
            assert!(!got.1.underflow, "a sum underflowed: {a:#x} + {b:#x}");
        }
    }
}

fn specials_in_all_modes<F: Float>(format: Format) {
    let list = specials_of(format);
    for &a in &list {
        for &b in &list {
            check::<F>(format, a, b);
        }
    }
}

#[test]
fn red_05_special_values_in_all_modes() {
    specials_in_all_modes::<Double>(BINARY64);
}

#[test]
fn cl_07_red_05_special_values_of_binary32_in_all_modes() {
    specials_in_all_modes::<Single>(BINARY32);
}

fn random_in_all_modes<F: Float>(format: Format) {
    let mut rng = rng(seed());
    for _ in 0..pairs() {
        let (a, b) = pair_of(format, &mut rng);
        check::<F>(format, a, b);
    }
}

/// 100,000 pairs in each of the eight modes. The full campaign, about 15 seconds for each format:
/// `RED_PAIRS=10000000 cargo test --release -p tributary-protocol --test red_flt_sum random -- --nocapture`
#[test]
fn red_05_random_pairs_in_all_modes() {
    random_in_all_modes::<Double>(BINARY64);
}

#[test]
fn cl_07_red_05_random_pairs_of_binary32_in_all_modes() {
    random_in_all_modes::<Single>(BINARY32);
}

#[test]
fn red_05_worked_sums() {
    let tiny = 1e-53f64.to_bits();
    let code = |a: f64, b: f64, op| {
        let value = |x: f64| Value {
            data: [x.to_bits(); 4],
            ..Value::default()
        };
        let sum = combine(op, Mode::default(), &value(a), &value(b));
        (sum.data[0], sum.rc)
    };
    use Op::*;
    assert_eq!(code(1.0, 2.0, FltSumNearest), (3f64.to_bits(), Rc::OK));
    assert_eq!(
        code(1.0, f64::from_bits(tiny), FltSumNearest),
        (ONE, Rc::FLT_INEXACT)
    );
    assert_eq!(
        code(1.0, f64::from_bits(tiny), FltSumUp),
        (ONE + 1, Rc::FLT_INEXACT)
    );
    assert_eq!(
        code(-1.0, f64::from_bits(tiny), FltSumUp),
        (SIGN | (ONE - 1), Rc::FLT_INEXACT)
    );
    assert_eq!(
        code(f64::MAX, f64::MAX, FltSumNearest),
        (INF, Rc::FLT_OVERFLOW)
    );
    assert_eq!(
        code(f64::MAX, f64::MAX, FltSumZero),
        (INF - 1, Rc::FLT_OVERFLOW)
    );
    assert_eq!(
        code(-f64::MAX, -f64::MAX, FltSumUp),
        (SIGN | (INF - 1), Rc::FLT_OVERFLOW)
    );
    assert_eq!(
        code(f64::INFINITY, f64::NEG_INFINITY, FltSumNearest),
        (BINARY64.default_nan(), Rc::FLT_INVALID)
    );
    assert_eq!(code(1.0, -1.0, FltSumDown), (SIGN, Rc::OK));
    assert_eq!(code(f64::from_bits(1), 0.0, FltSumNearest), (1, Rc::OK));
    assert_eq!(
        code(f64::from_bits(SIGN | 1), 0.0, FltSumNearestFtz),
        (SIGN, Rc::FLT_INEXACT)
    );
    // A subnormal operand counts even with flush to zero: only results are flushed.
    let almost = f64::from_bits((1 << 52) - 1);
    assert_eq!(
        code(almost, f64::from_bits(1), FltSumDownFtz),
        (1 << 52, Rc::OK)
    );
}

#[test]
fn red_05_each_lane_is_its_own_and_the_largest_code_is_kept() {
    let f = f64::to_bits;
    let a = Value {
        data: [f(1.0), f(f64::MAX), QNAN | 7, INF],
        rc: Rc::OK,
        ..Value::default()
    };
    let b = Value {
        data: [f(1e-60), f(f64::MAX), f(1.0), f(2.0)],
        rc: Rc::OK,
        ..Value::default()
    };
    let sum = combine(Op::FltSumNearest, Mode::default(), &a, &b);
    assert_eq!(sum.data, [ONE, INF, BINARY64.default_nan(), INF]);
    assert_eq!(sum.rc, Rc::FLT_OVERFLOW);
    let known = Value {
        rc: Rc::CONTR_OVERFLOW,
        ..b
    };
    assert_eq!(
        combine(Op::FltSumNearest, Mode::default(), &a, &known).rc,
        Rc::CONTR_OVERFLOW
    );
}
