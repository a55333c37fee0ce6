//! Minimum and maximum of floating numbers, and the index that goes with them (RED-2 to RED-4).

use std::cmp::Ordering;

use super::{Format, Rc};

/// Minimum or maximum.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Extremum {
    /// The smaller.
    Min,
    /// The larger.
    Max,
}

/// What a NaN does to a minimum or maximum.
///
/// Where two NaNs meet and none goes first as signalling, the one with the larger payload (the bits below the quiet one) is kept, so that the order of
/// the two arguments never matters. Over a tree, the order in which values meet matters only where signalling NaNs meet others,
/// since quieting a signalling NaN takes away what it was preferred for:
///
/// * [`NanRule::Number`]: nothing depends on the order.
/// * [`NanRule::Propagate`]: a NaN wins in any order, but which payload is left, and so which index of MINMAXLOC, can depend on it.
/// * [`NanRule::NumberIeee`]: whether the result is a NaN or a number can depend on it: (1, 2), sNaN gives a NaN; 1, (2, sNaN)
///   gives 1, since the inner NaN is quiet by then and loses against a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NanRule {
    /// Any NaN wins, a signalling one before a quiet one (RED-3).
    Propagate,
    /// Any number beats any NaN; associative (RED-4).
    Number,
    /// A number beats a quiet NaN, a signalling NaN beats everything (RED-4, IEEE mode).
    NumberIeee,
}

/// Which argument a result came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Side {
    /// The accumulator, the first argument.
    Acc,
    /// The incoming value, the second.
    Inc,
    /// Both are the same.
    Tie,
}

/// A chosen word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Picked {
    /// The result; NaNs are quieted and have sign 0.
    pub value: u64,
    /// Where it came from, which decides the index of MINMAXLOC.
    pub side: Side,
    /// A signalling NaN came in.
    pub invalid: bool,
}

impl Picked {
    /// `flt_invalid` or ok.
    #[must_use]
    pub fn rc(self) -> Rc {
        if self.invalid {
            Rc::FLT_INVALID
        } else {
            Rc::OK
        }
    }

    pub(super) fn by_order(order: Ordering, which: Extremum, a: u64, b: u64) -> Self {
        let (value, side) = match (order, which) {
            (Ordering::Equal, _) => (a, Side::Tie),
            (Ordering::Less, Extremum::Min) | (Ordering::Greater, Extremum::Max) => (a, Side::Acc),
            _ => (b, Side::Inc),
        };
        Self {
            value,
            side,
            invalid: false,
        }
    }
}

/// Minimum or maximum; -0 is below +0, as on ARM (RED-3, RED-4).
#[must_use]
pub fn flt_select(format: Format, a: u64, b: u64, which: Extremum, rule: NanRule) -> Picked {
    let invalid = format.is_snan(a) || format.is_snan(b);
    let (a_nan, b_nan) = (format.is_nan(a), format.is_nan(b));
    let nan_wins =
        rule == NanRule::Propagate || rule == NanRule::NumberIeee && invalid || a_nan && b_nan;
    let picked = if nan_wins && (a_nan || b_nan) {
        let rank = |bits| nan_rank(format, bits, rule != NanRule::Number);
        let order = rank(a).cmp(&rank(b));
        let kept = Picked::by_order(order, Extremum::Max, a, b);
        Picked {
            value: (kept.value | format.quiet()) & !format.sign(),
            ..kept
        }
    } else if a_nan {
        Picked::by_order(Ordering::Less, Extremum::Max, a, b)
    } else if b_nan {
        Picked::by_order(Ordering::Greater, Extremum::Max, a, b)
    } else {
        let order = order_key(format, a).cmp(&order_key(format, b));
        Picked::by_order(order, which, a, b)
    };
    Picked { invalid, ..picked }
}

/// The index that goes with a choice: a tie keeps the lower one, as unsigned numbers (RED-2).
#[must_use]
pub fn loc_index(side: Side, acc: u64, inc: u64) -> u64 {
    match side {
        Side::Acc => acc,
        Side::Inc => inc,
        Side::Tie => acc.min(inc),
    }
}

/// Sorts numbers as unsigned integers.
fn order_key(format: Format, bits: u64) -> u64 {
    let magnitudes = format.sign() - 1;
    if bits & format.sign() != 0 {
        !bits & magnitudes
    } else {
        bits | format.sign()
    }
}

/// What is kept of two NaNs: the larger rank. Numbers have none.
fn nan_rank(format: Format, bits: u64, signalling_first: bool) -> Option<(bool, u64)> {
    format.is_nan(bits).then_some((
        signalling_first && format.is_snan(bits),
        bits & (format.quiet() - 1),
    ))
}
