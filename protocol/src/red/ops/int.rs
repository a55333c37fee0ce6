//! Signed operations on elements of `width` bits, 64 or 32, which stand in the lower bits of a word (RED-1, CL-7).

use super::{
    Rc,
    minmax::{Extremum, Picked},
};

/// Signed minimum or maximum.
#[must_use]
pub fn int_select(width: u32, a: u64, b: u64, which: Extremum) -> Picked {
    Picked::by_order(at_top(width, a).cmp(&at_top(width, b)), which, a, b)
}

/// Signed sum modulo 2^`width`; `int_overflow` when it wrapped.
#[must_use]
pub fn int_sum(width: u32, a: u64, b: u64) -> (u64, Rc) {
    let (sum, wrapped) = at_top(width, a).overflowing_add(at_top(width, b));
    let rc = if wrapped { Rc::INT_OVERFLOW } else { Rc::OK };
    ((sum as u64) >> (64 - width), rc)
}

/// The element as the upper bits of a word, which order and overflow as the element does.
pub(super) const fn at_top(width: u32, element: u64) -> i64 {
    (element << (64 - width)) as i64
}
