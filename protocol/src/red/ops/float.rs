//! Addition and rounding of binary64 and binary32, in integers (RED-5).

use super::{Format, Rc};

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
    /// The result is inexact and, rounded with an unbounded exponent, below the least normal number (tininess after rounding, as
    /// RISC-V).
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

/// Rounds (-1)^`negative` · `sig` · 2^`exp` to a format.
///
/// A value finer than 128 bits is handed over with bit 0 of a full-width `sig` set when anything lies below.
/// `exp` is within ±10,000.
pub(in crate::red) fn round(
    format: Format,
    negative: bool,
    sig: u128,
    exp: i32,
    rounding: Rounding,
) -> (u64, Flags) {
    let (inf, hidden, digits) = (format.inf(), format.hidden(), format.digits());
    let sign = if negative { format.sign() } else { 0 };
    if sig == 0 {
        return (sign, Flags::default());
    }
    let top = 127 - sig.leading_zeros() as i32 + exp;
    let last = (top - digits + 1).max(format.last());
    let (kept, inexact) = cut(negative, sig, last - exp, rounding);
    // A carry out of the significand goes into the exponent field by itself.
    let bits = if kept < hidden {
        kept
    } else if last > format.last_max() {
        inf
    } else {
        ((last - format.last() + 1) as u64) * hidden + (kept - hidden)
    };
    if bits >= inf {
        let away = rounding.away(negative, true, true, true);
        let flags = Flags {
            overflow: true,
            inexact: true,
            ..Flags::default()
        };
        return (sign | if away { inf } else { inf - 1 }, flags);
    }
    // Tiny after rounding: as many digits without a lower end of the exponent still stay below the least normal number.
    let below = format.last() + digits - 2;
    let shift = top - digits + 1 - exp;
    let tiny = top < below || top == below && cut(negative, sig, shift, rounding).0 < 2 * hidden;
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
pub fn flt_sum(format: Format, a: u64, b: u64, rounding: Rounding, ftz: bool) -> (u64, Flags) {
    let (sign, inf) = (format.sign(), format.inf());
    let mut flags = Flags::default();
    if format.is_nan(a) || format.is_nan(b) {
        flags.invalid = format.is_snan(a) || format.is_snan(b);
        return (format.default_nan(), flags);
    }
    let (high, low) = if a & !sign >= b & !sign {
        (a, b)
    } else {
        (b, a)
    };
    if high & !sign == inf {
        flags.invalid = low == high ^ sign;
        let bits = if flags.invalid {
            format.default_nan()
        } else {
            high
        };
        return (bits, flags);
    }
    let (exp, sig) = unpack(format, high);
    let (low_exp, low_sig) = unpack(format, low);
    // 64 bits below the larger operand; what the smaller has beyond is only known to be there.
    let wide = u128::from(low_sig) << 64;
    let distance = (exp - low_exp) as u32;
    let aligned = wide.checked_shr(distance).unwrap_or(0);
    let lost = aligned.checked_shl(distance).unwrap_or(0) != wide;
    let (big, small) = (u128::from(sig) << 64, aligned | u128::from(lost));
    let opposite = (high ^ low) & sign != 0;
    let sum = if opposite { big - small } else { big + small };
    let negative = if sum == 0 && opposite {
        rounding == Rounding::Down
    } else {
        high & sign != 0
    };
    let (bits, flags) = round(format, negative, sum, exp - 64, rounding);
    if ftz && bits & inf == 0 && bits & !sign != 0 {
        let flags = Flags {
            inexact: true,
            ..flags
        };
        return (bits & sign, flags);
    }
    (bits, flags)
}

/// Exponent of the last bit and significand of a finite number.
pub(super) fn unpack(format: Format, bits: u64) -> (i32, u64) {
    let exp = ((bits & format.inf()) / format.hidden()) as i32;
    let fraction = bits & (format.hidden() - 1);
    if exp == 0 {
        (format.last(), fraction)
    } else {
        (format.last() - 1 + exp, fraction | format.hidden())
    }
}
