//! Addition of reproducible sums (RED-6, RED-7).

use super::{Rc, Value};

/// `m` of minus infinity.
pub const MINUS_INF: i8 = 125;
/// `m` of plus infinity.
pub const PLUS_INF: i8 = 126;
/// `m` of NaN.
pub const NAN: i8 = 127;

/// Adds two reproducible sums: whole words below the larger operand's window are dropped, the rest is added word by word.
///
/// An overflow that is dropped with its word becomes `repsum_inexact`: the word stood for something other than zero.
/// Between a special value and any other no word is added and none counts as dropped. Codes are kept as ever: the larger one, and
/// an overflow of a finite operand becomes `repsum_inexact`, since its word is far below a special value's window.
#[must_use]
pub fn repsum_add(acc: &Value, inc: &Value) -> Value {
    let (big, small) = if inc.m > acc.m {
        (inc, acc)
    } else {
        (acc, inc)
    };
    let distance = (i16::from(big.m) - i16::from(small.m)) as usize;
    let overflow = |v: &Value| (v.rc == Rc::INT_OVERFLOW).then_some(v.oflow & 3);
    let moved = overflow(small).and_then(|id| usize::from(id).checked_sub(distance));
    let mut rc = big.rc.max(match overflow(small) {
        Some(_) if moved.is_none() => Rc::REPSUM_INEXACT,
        _ => small.rc,
    });
    let mut oflow = overflow(big).max(moved.map(|id| id as u8));
    let (mut data, mut m) = ([0; 4], big.m);
    if big.m >= MINUS_INF {
        if (big.m, small.m) == (PLUS_INF, MINUS_INF) {
            m = NAN;
            rc = rc.max(Rc::FLT_INVALID);
        }
    } else {
        if small.data.iter().take(distance).any(|&word| word != 0) {
            rc = rc.max(Rc::REPSUM_INEXACT);
        }
        for (j, word) in data.iter_mut().enumerate() {
            let other = small.data.get(j + distance).copied().unwrap_or(0);
            let (sum, wrapped) = (big.data[j] as i64).overflowing_add(other as i64);
            *word = sum as u64;
            if wrapped {
                rc = rc.max(Rc::INT_OVERFLOW);
                oflow = oflow.max(Some(j as u8));
            }
        }
    }
    Value {
        data,
        rc,
        m,
        oflow: oflow.unwrap_or(0),
    }
}
