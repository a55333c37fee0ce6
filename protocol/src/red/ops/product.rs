//! Products. No engine has them: hosts multiply, with the same integers everywhere, so that a product is the same on every machine.

use super::{Flags, Format, Rc, Rounding, float, int::at_top};

/// `a` · `b`, rounded to nearest, ties to even. A NaN product is the format's default quiet NaN; a zero times an infinity is invalid.
#[must_use]
pub fn flt_product(format: Format, a: u64, b: u64) -> (u64, Flags) {
    let (sign, inf) = (format.sign(), format.inf());
    let invalid = |invalid| Flags {
        invalid,
        ..Flags::default()
    };
    if format.is_nan(a) || format.is_nan(b) {
        let signalling = format.is_snan(a) || format.is_snan(b);
        return (format.default_nan(), invalid(signalling));
    }
    let (left, right) = (a & !sign, b & !sign);
    if left == inf || right == inf {
        let undefined = left == 0 || right == 0;
        let bits = if undefined {
            format.default_nan()
        } else {
            (a ^ b) & sign | inf
        };
        return (bits, invalid(undefined));
    }
    let (left_exp, left_sig) = float::unpack(format, a);
    let (right_exp, right_sig) = float::unpack(format, b);
    let sig = u128::from(left_sig) * u128::from(right_sig);
    let negative = (a ^ b) & sign != 0;
    let exp = left_exp + right_exp;
    float::round(format, negative, sig, exp, Rounding::NearestEven)
}

/// Signed product modulo 2^`width`; `int_overflow` when it wrapped.
#[must_use]
pub fn int_product(width: u32, a: u64, b: u64) -> (u64, Rc) {
    let wide = |element| at_top(width, element) >> (64 - width);
    let product = i128::from(wide(a)) * i128::from(wide(b));
    let kept = product as u64 & u64::MAX >> (64 - width);
    let rc = if i128::from(wide(kept)) == product {
        Rc::OK
    } else {
        Rc::INT_OVERFLOW
    };
    (kept, rc)
}

#[cfg(test)]
mod tests {
    use super::super::{BINARY32, BINARY64};
    use super::*;

    /// Numbers of all sizes and kinds, drawn by a fixed generator.
    struct Draw(u64);

    impl Draw {
        fn word(&mut self) -> u64 {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            self.0
        }

        /// Bits of a number, often with an exponent in the middle, where products neither overflow nor vanish.
        fn real(&mut self, format: Format) -> u64 {
            let (sign, inf) = (format.sign(), format.inf());
            let all = self.word() & (sign | (sign - 1));
            let one = (inf >> 1) & !(format.hidden() - 1);
            let short = all & !((1 << (format.digits() / 2)) - 1);
            match self.word() % 8 {
                0 => all & sign,
                1 => all & sign | inf,
                2 => all & sign | (all % format.hidden()),
                3 => all,
                // Few digits, whose products are exact.
                4 => short & !inf | one,
                _ => all & !inf | one,
            }
        }
    }

    fn quiet64(product: f64) -> u64 {
        if product.is_nan() {
            BINARY64.default_nan()
        } else {
            product.to_bits()
        }
    }

    #[test]
    fn cl_08_products_of_doubles_are_those_of_the_processor() {
        let mut draw = Draw(0x9E37_79B9_7F4A_7C15);
        let mut seen = [0; 2];
        for _ in 0..200_000 {
            let (a, b) = (draw.real(BINARY64), draw.real(BINARY64));
            let (product, flags) = flt_product(BINARY64, a, b);
            let (x, y) = (f64::from_bits(a), f64::from_bits(b));
            assert_eq!(product, quiet64(x * y), "{x:e} {y:e}");
            let finite = x.is_finite() && y.is_finite();
            assert_eq!(flags.overflow, finite && (x * y).is_infinite());
            let undefined = x.is_infinite() && y == 0.0 || x == 0.0 && y.is_infinite();
            let signalling = BINARY64.is_snan(a) || BINARY64.is_snan(b);
            assert_eq!(flags.invalid, undefined || signalling, "{x:e} {y:e}");
            // Where the error of a product is a double itself.
            if finite && (1e-200..1e200).contains(&(x * y).abs()) {
                let exact = x.mul_add(y, -(x * y)) == 0.0;
                assert_eq!(flags.inexact, !exact, "{x:e} {y:e}");
                seen[usize::from(exact)] += 1;
            }
        }
        assert!(seen[0] > 1_000 && seen[1] > 10, "{seen:?}");
    }

    #[test]
    fn cl_08_products_of_floats_are_those_of_the_processor() {
        let mut draw = Draw(0x2545_F491_4F6C_DD1D);
        let mut tiny = 0;
        for _ in 0..200_000 {
            let (a, b) = (draw.real(BINARY32), draw.real(BINARY32));
            let (product, flags) = flt_product(BINARY32, a, b);
            let (x, y) = (f32::from_bits(a as u32), f32::from_bits(b as u32));
            let expected = if (x * y).is_nan() {
                BINARY32.default_nan()
            } else {
                (x * y).to_bits().into()
            };
            assert_eq!(product, expected, "{x:e} {y:e}");
            // A double holds the product of two of these exactly.
            if x.is_finite() && y.is_finite() {
                let exact = f64::from(x) * f64::from(y) == f64::from(x * y);
                assert_eq!(flags.inexact, !exact, "{x:e} {y:e}");
                tiny += u32::from(flags.underflow);
            }
        }
        assert!(tiny > 100, "{tiny} products below the least normal number");
    }

    #[test]
    fn cl_08_products_of_integers_wrap_and_say_so() {
        let mut draw = Draw(88_172_645_463_325_252);
        let mut wrapped = [0; 2];
        for _ in 0..100_000 {
            let (shift, other) = (draw.word() % 64, draw.word() % 64);
            let (a, b) = (draw.word() as i64 >> shift, draw.word() as i64 >> other);
            let (product, rc) = int_product(64, a as u64, b as u64);
            assert_eq!(product, a.wrapping_mul(b) as u64);
            assert_eq!(rc == Rc::OK, a.checked_mul(b).is_some(), "{a} {b}");
            wrapped[usize::from(rc == Rc::OK)] += 1;
            let (c, d) = (a as i32, (b >> 32) as i32);
            let (product, rc) = int_product(32, c as u32 as u64, d as u32 as u64);
            assert_eq!(product, u64::from(c.wrapping_mul(d) as u32));
            assert_eq!(rc == Rc::OK, c.checked_mul(d).is_some(), "{c} {d}");
        }
        assert!(wrapped.iter().all(|&of| of > 1_000), "{wrapped:?}");
        assert_eq!(int_product(64, 1 << 63, u64::MAX).1, Rc::INT_OVERFLOW);
    }
}
