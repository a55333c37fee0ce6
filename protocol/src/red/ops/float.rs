//! binary64 addition and rounding, in integers (RED-5).

use super::{
    Rc,
    minmax::{is_nan, is_snan},
};

/// The quiet NaN that every invalid sum gives.
pub const DEFAULT_NAN: u64 = 0x7ff8_0000_0000_0000;

const SIGN: u64 = 1 << 63;
const INF: u64 = 0x7ff << 52;
const HIDDEN: u64 = 1 << 52;
/// Exponent of the last bit of a subnormal.
const LAST: i32 = -1074;
/// Exponent of the last bit of the largest number.
const LAST_MAX: i32 = 971;

/// Rounding direction; the codes are bits 1:0 of FLT_SUM.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Rounding {
    /// To nearest, ties to even.
    NearestEven = 0,
    /// Towards plus infinity.
    Up = 1,
    /// Towards minus infinity.
    Down = 2,
    /// Towards zero.
    ToZero = 3,
}

impl Rounding {
    /// All four, by code.
    pub const ALL: [Self; 4] = [Self::NearestEven, Self::Up, Self::Down, Self::ToZero];

    /// Whether a value of this sign is rounded away from zero, given its last kept bit, the one below, and whether more follows.
    fn away(self, negative: bool, last: bool, half: bool, rest: bool) -> bool {
        match self {
            Self::NearestEven => half && (rest || last),
            Self::Up => !negative && (half || rest),
            Self::Down => negative && (half || rest),
            Self::ToZero => false,
        }
    }
}

/// Exceptions of one floating operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Flags {
    /// A signalling NaN came in, or infinities cancelled.
    pub invalid: bool,
    /// The rounded magnitude, with an unbounded exponent, is above the largest number.
    pub overflow: bool,
    /// The result is inexact and, rounded with an unbounded exponent, below 2^-1022 (tininess after rounding, as RISC-V).
    /// Never of [`flt_sum`], whose tiny results are exact; only decoding a finer value of the host can raise it.
    pub underflow: bool,
    /// The result differs from the exact one.
    pub inexact: bool,
}

impl Flags {
    /// The largest result code among the flags.
    #[must_use]
    pub fn rc(self) -> Rc {
        if self.invalid {
            Rc::FLT_INVALID
        } else if self.overflow {
            Rc::FLT_OVERFLOW
        } else if self.underflow {
            Rc::FLT_UNDERFLOW
        } else if self.inexact {
            Rc::FLT_INEXACT
        } else {
            Rc::OK
        }
    }
}

/// Rounds (-1)^`negative` · `sig` · 2^`exp` to binary64.
///
/// A value finer than 128 bits is handed over with bit 0 of a full-width `sig` set when anything lies below.
/// `exp` is within ±10,000.
pub(in crate::red) fn round(
    negative: bool,
    sig: u128,
    exp: i32,
    rounding: Rounding,
) -> (u64, Flags) {
    let sign = if negative { SIGN } else { 0 };
    if sig == 0 {
        return (sign, Flags::default());
    }
    let top = 127 - sig.leading_zeros() as i32 + exp;
    let last = (top - 52).max(LAST);
    let (kept, inexact) = cut(negative, sig, last - exp, rounding);
    // A carry out of the significand goes into the exponent field by itself.
    let bits = if kept < HIDDEN {
        kept
    } else if last > LAST_MAX {
        INF
    } else {
        ((last - LAST + 1) as u64) * HIDDEN + (kept - HIDDEN)
    };
    if bits >= INF {
        let away = rounding.away(negative, true, true, true);
        let flags = Flags {
            overflow: true,
            inexact: true,
            ..Flags::default()
        };
        return (sign | if away { INF } else { INF - 1 }, flags);
    }
    // Tiny after rounding: 53 bits without a lower end of the exponent still stay below 2^-1022.
    let tiny =
        top < -1023 || top == -1023 && cut(negative, sig, top - 52 - exp, rounding).0 < 2 * HIDDEN;
    let flags = Flags {
        inexact,
        underflow: inexact && tiny,
        ..Flags::default()
    };
    (sign | bits, flags)
}

/// `sig` / 2^`shift` rounded to an integer, and whether that changed it.
fn cut(negative: bool, sig: u128, shift: i32, rounding: Rounding) -> (u64, bool) {
    if shift <= 0 {
        return ((sig << -shift) as u64, false);
    }
    let shift = shift as u32;
    let kept = sig.checked_shr(shift).unwrap_or(0) as u64;
    let half = sig.checked_shr(shift - 1).unwrap_or(0) & 1 == 1;
    let rest = sig & (1u128.checked_shl(shift - 1).unwrap_or(0).wrapping_sub(1)) != 0;
    let away = rounding.away(negative, kept & 1 == 1, half, rest);
    (kept + u64::from(away), half || rest)
}

/// `a` + `b`, correctly rounded; `ftz` turns a subnormal result into a zero of its sign, which is inexact (RED-5).
#[must_use]
pub fn flt_sum(a: u64, b: u64, rounding: Rounding, ftz: bool) -> (u64, Flags) {
    let mut flags = Flags::default();
    if is_nan(a) || is_nan(b) {
        flags.invalid = is_snan(a) || is_snan(b);
        return (DEFAULT_NAN, flags);
    }
    let (high, low) = if a & !SIGN >= b & !SIGN {
        (a, b)
    } else {
        (b, a)
    };
    if high & !SIGN == INF {
        flags.invalid = low == high ^ SIGN;
        return (if flags.invalid { DEFAULT_NAN } else { high }, flags);
    }
    let (exp, sig) = unpack(high);
    let (low_exp, low_sig) = unpack(low);
    // 64 bits below the larger operand; what the smaller has beyond is only known to be there.
    let wide = u128::from(low_sig) << 64;
    let distance = (exp - low_exp) as u32;
    let aligned = wide.checked_shr(distance).unwrap_or(0);
    let lost = aligned.checked_shl(distance).unwrap_or(0) != wide;
    let (big, small) = (u128::from(sig) << 64, aligned | u128::from(lost));
    let opposite = (high ^ low) & SIGN != 0;
    let sum = if opposite { big - small } else { big + small };
    let negative = if sum == 0 && opposite {
        rounding == Rounding::Down
    } else {
        high & SIGN != 0
    };
    let (bits, flags) = round(negative, sum, exp - 64, rounding);
    if ftz && bits & INF == 0 && bits & !SIGN != 0 {
        let flags = Flags {
            inexact: true,
            ..flags
        };
        return (bits & SIGN, flags);
    }
    (bits, flags)
}

/// Exponent of the last bit and 53-bit significand of a finite number.
fn unpack(bits: u64) -> (i32, u64) {
    let exp = (bits >> 52 & 0x7ff) as i32;
    let fraction = bits & (HIDDEN - 1);
    if exp == 0 {
        (LAST, fraction)
    } else {
        (LAST - 1 + exp, fraction | HIDDEN)
    }
}
