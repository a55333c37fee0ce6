//! Signed 64-bit operations (RED-1).

use super::{
    Rc,
    minmax::{Extremum, Picked},
};

/// Signed minimum or maximum.
#[must_use]
pub fn int_select(a: u64, b: u64, which: Extremum) -> Picked {
    Picked::by_order((a as i64).cmp(&(b as i64)), which, a, b)
}

/// Signed sum modulo 2^64; `int_overflow` when it wrapped.
#[must_use]
pub fn int_sum(a: u64, b: u64) -> (u64, Rc) {
    let (sum, wrapped) = (a as i64).overflowing_add(b as i64);
    let rc = if wrapped { Rc::INT_OVERFLOW } else { Rc::OK };
    (sum as u64, rc)
}
