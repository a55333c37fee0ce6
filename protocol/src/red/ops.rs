//! The operations: [`combine`] of two [`Value`]s, and the functions of one lane below it.
//!
//! Everything is integer arithmetic, so that a result does not depend on the machine that computes it. The accumulator is always
//! the first argument. What the rules leave open is decided here, and hardware does the same:
//!
//! * A signalling NaN raises `flt_invalid` in every floating operation except REPSUM, which has no such thing.
//! * Which NaN is kept does not depend on the argument order ([`NanRule`]); the result is quiet and has sign 0.
//! * An addition never underflows: a sum below the least normal number is exact. With flush to zero such a sum becomes zero and is
//!   `flt_inexact`.
//! * A NaN sum is the format's default quiet NaN whatever came in.
//!
//! Operations with two elements of 32 bits in a word ([`Op::element_bits`], CL-7) do to each half what the same operation does to a
//! word; the first element is the upper half, as it is the first on the wire.

mod codes;
mod float;
mod format;
mod int;
mod minmax;
mod product;
mod repsum;

pub use codes::{Op, Rc, UnknownOp};
pub(in crate::red) use float::round;
pub use float::{Flags, Rounding, flt_sum};
pub use format::{BINARY32, BINARY64, Format};
pub use int::{int_select, int_sum};
pub use minmax::{Extremum, NanRule, Picked, Side, flt_select, loc_index};
pub use product::{flt_product, int_product};
pub use repsum::{MINUS_INF, NAN, PLUS_INF, repsum_add};

/// What a contribution or a partial result carries besides its addresses: REDs operate on this.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, Default, serde::Serialize, serde::Deserialize,
)]
pub struct Value {
    /// The four words, rt_data\[0\] first.
    pub data: [u64; 4],
    /// Result code; the numerically largest is kept.
    pub rc: Rc,
    /// REPSUM: weight of word 3, 2^(40·m); 125 to 127 are -inf, +inf, NaN (RED-7).
    pub m: i8,
    /// REPSUM: most significant word that has overflowed, 0 to 3; means something when `rc` is `int_overflow` (RED-6).
    pub oflow: u8,
}

/// What a switch register chooses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Mode {
    /// MINNUM and MAXNUM with a signalling NaN give a NaN, as IEEE 754-2008 has it; otherwise any number wins (RED-4).
    pub ieee_nan: bool,
}

/// Combines a contribution into an accumulator (RED-1 to RED-7).
///
/// The result code is the largest of both and of the operation; for REPSUM, of what RED-6 leaves of them.
/// `m` and `oflow` of the result are 0 unless the operation is REPSUM.
#[must_use]
pub fn combine(op: Op, mode: Mode, acc: &Value, inc: &Value) -> Value {
    if op == Op::FltRepsum {
        return repsum_add(acc, inc);
    }
    let mut rc = acc.rc.max(inc.rc);
    let data = words(op, mode, &acc.data, &inc.data, &mut rc);
    Value {
        data,
        rc,
        m: 0,
        oflow: 0,
    }
}

fn words(op: Op, mode: Mode, a: &[u64; 4], b: &[u64; 4], rc: &mut Rc) -> [u64; 4] {
    use Extremum::{Max, Min};
    let num = if mode.ieee_nan {
        NanRule::NumberIeee
    } else {
        NanRule::Number
    };
    let width = op.element_bits();
    let format = if width == 32 { BINARY32 } else { BINARY64 };
    let mut lanes = |f: &dyn Fn(u64, u64) -> (u64, Rc)| {
        std::array::from_fn(|lane| {
            let mut word = 0;
            for place in (0..64).step_by(width as usize) {
                let element = |word: u64| word >> place & u64::MAX >> (64 - width);
                let (result, code) = f(element(a[lane]), element(b[lane]));
                *rc = (*rc).max(code);
                word |= result << place;
            }
            word
        })
    };
    let flt = |which, rule| {
        move |x, y| {
            let picked = flt_select(format, x, y, which, rule);
            (picked.value, picked.rc())
        }
    };
    let int = |which| move |x, y| (int_select(width, x, y, which).value, Rc::OK);
    match op {
        Op::Barrier | Op::FltRepsum => [0; 4],
        Op::And => lanes(&|x, y| (x & y, Rc::OK)),
        Op::Or => lanes(&|x, y| (x | y, Rc::OK)),
        Op::Xor => lanes(&|x, y| (x ^ y, Rc::OK)),
        Op::IntMin | Op::Int32Min => lanes(&int(Min)),
        Op::IntMax | Op::Int32Max => lanes(&int(Max)),
        Op::IntSum | Op::Int32Sum => lanes(&|x, y| int_sum(width, x, y)),
        Op::FltMin | Op::Flt32Min => lanes(&flt(Min, NanRule::Propagate)),
        Op::FltMax | Op::Flt32Max => lanes(&flt(Max, NanRule::Propagate)),
        Op::FltMinnum | Op::Flt32Minnum => lanes(&flt(Min, num)),
        Op::FltMaxnum | Op::Flt32Maxnum => lanes(&flt(Max, num)),
        Op::IntMinmaxloc => minmaxloc(a, b, rc, |x, y, which| int_select(width, x, y, which)),
        Op::FltMinmaxloc => minmaxloc(a, b, rc, |x, y, which| {
            flt_select(format, x, y, which, NanRule::Propagate)
        }),
        Op::FltMinmaxnumloc => {
            minmaxloc(a, b, rc, |x, y, which| flt_select(format, x, y, which, num))
        }
        Op::FltSumNearest
        | Op::Flt32SumNearest
        | Op::FltSumUp
        | Op::Flt32SumUp
        | Op::FltSumDown
        | Op::Flt32SumDown
        | Op::FltSumZero
        | Op::Flt32SumZero
        | Op::FltSumNearestFtz
        | Op::Flt32SumNearestFtz
        | Op::FltSumUpFtz
        | Op::Flt32SumUpFtz
        | Op::FltSumDownFtz
        | Op::Flt32SumDownFtz
        | Op::FltSumZeroFtz
        | Op::Flt32SumZeroFtz => {
            let (rounding, ftz) = sum_mode(op.code());
            lanes(&|x, y| {
                let (word, flags) = flt_sum(format, x, y, rounding, ftz);
                (word, flags.rc())
            })
        }
    }
}

/// Word 0 decides words 0 and 1, word 2 decides words 2 and 3 (RED-2).
fn minmaxloc(
    a: &[u64; 4],
    b: &[u64; 4],
    rc: &mut Rc,
    select: impl Fn(u64, u64, Extremum) -> Picked,
) -> [u64; 4] {
    let low = select(a[0], b[0], Extremum::Min);
    let high = select(a[2], b[2], Extremum::Max);
    *rc = (*rc).max(low.rc()).max(high.rc());
    [
        low.value,
        loc_index(low.side, a[1], b[1]),
        high.value,
        loc_index(high.side, a[3], b[3]),
    ]
}

/// Bits 1:0 of a sum's code are the rounding, bit 2 is flush to zero.
fn sum_mode(code: u8) -> (Rounding, bool) {
    let rounding = match code & 3 {
        0 => Rounding::NearestEven,
        1 => Rounding::Up,
        2 => Rounding::Down,
        _ => Rounding::ToZero,
    };
    (rounding, code & 4 != 0)
}
