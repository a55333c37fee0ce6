//! Layout of the two floating formats (RED-5, CL-7).

/// A binary format of IEEE 754. Numbers stand in the lower bits of a word; the bits above them are 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Format {
    /// Bits of a number.
    width: u32,
    /// Bits of its fraction.
    fraction: u32,
}

/// Doubles.
pub const BINARY64: Format = Format {
    width: 64,
    fraction: 52,
};

/// Single precision.
pub const BINARY32: Format = Format {
    width: 32,
    fraction: 23,
};

impl Format {
    /// The sign bit.
    #[must_use]
    pub const fn sign(self) -> u64 {
        1 << (self.width - 1)
    }

    /// Bits of the exponent, all ones: plus infinity.
    #[must_use]
    pub const fn inf(self) -> u64 {
        self.sign() - self.hidden()
    }

    /// What a normal number has above its fraction.
    pub(super) const fn hidden(self) -> u64 {
        1 << self.fraction
    }

    /// The bit that a quiet NaN has.
    #[must_use]
    pub const fn quiet(self) -> u64 {
        self.hidden() >> 1
    }

    /// The quiet NaN that every invalid sum gives: sign and payload 0.
    #[must_use]
    pub const fn default_nan(self) -> u64 {
        self.inf() | self.quiet()
    }

    /// Bits of a significand, the hidden one among them.
    pub(super) const fn digits(self) -> i32 {
        self.fraction as i32 + 1
    }

    /// Exponent of the last bit of a subnormal.
    pub(super) const fn last(self) -> i32 {
        let bias = (1 << (self.width - self.fraction - 2)) - 1;
        1 - bias - self.fraction as i32
    }

    /// Exponent of the last bit of the largest number.
    pub(super) const fn last_max(self) -> i32 {
        self.last() + (self.inf() >> self.fraction) as i32 - 2
    }

    /// Whether these bits are a NaN.
    #[must_use]
    pub const fn is_nan(self, bits: u64) -> bool {
        bits & !self.sign() > self.inf()
    }

    /// Whether these bits are a signalling NaN.
    #[must_use]
    pub const fn is_snan(self, bits: u64) -> bool {
        self.is_nan(bits) && bits & self.quiet() == 0
    }
}
