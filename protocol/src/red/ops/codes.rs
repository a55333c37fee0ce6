//! Operation and result codes, as they travel on the wire.

use std::fmt;

use thiserror::Error;

/// A code that names no operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("{0:#04x} is no reduction operation")]
pub struct UnknownOp(pub u8);

macro_rules! ops {
    ($($(#[$doc:meta])* $variant:ident = $code:literal $text:literal,)*) => {
        /// rt_op: what is computed. All lanes of a frame share it.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
        #[repr(u8)]
        pub enum Op { $($(#[$doc])* $variant = $code,)* }

        impl Op {
            /// Every operation, by ascending code.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// Lower-case name, as used in reports and on the command line.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $text,)* }
            }
        }

        impl TryFrom<u8> for Op {
            type Error = UnknownOp;
            fn try_from(code: u8) -> Result<Self, UnknownOp> {
                match code { $($code => Ok(Self::$variant),)* other => Err(UnknownOp(other)) }
            }
        }
    };
}

ops! {
    /// No data; says that everyone was there.
    Barrier = 0x00 "barrier",
    /// Bitwise and.
    And = 0x01 "and",
    /// Bitwise or.
    Or = 0x02 "or",
    /// Bitwise exclusive or.
    Xor = 0x03 "xor",
    /// Signed minimum (RED-1).
    IntMin = 0x10 "int_min",
    /// Signed maximum (RED-1).
    IntMax = 0x11 "int_max",
    /// Signed minimum and maximum, each with its index (RED-2).
    IntMinmaxloc = 0x12 "int_minmaxloc",
    /// Signed sum modulo 2^64 (RED-1).
    IntSum = 0x14 "int_sum",
    /// Signed minimum, two elements in a word (CL-7).
    Int32Min = 0x18 "int32_min",
    /// Signed maximum, two elements in a word.
    Int32Max = 0x19 "int32_max",
    /// Signed sum modulo 2^32, two elements in a word.
    Int32Sum = 0x1c "int32_sum",
    /// Minimum, NaN wins (RED-3).
    FltMin = 0x20 "flt_min",
    /// Maximum, NaN wins (RED-3).
    FltMax = 0x21 "flt_max",
    /// Minimum and maximum, each with its index, NaN wins (RED-2, RED-3).
    FltMinmaxloc = 0x22 "flt_minmaxloc",
    /// Minimum, numbers win (RED-4).
    FltMinnum = 0x24 "flt_minnum",
    /// Maximum, numbers win (RED-4).
    FltMaxnum = 0x25 "flt_maxnum",
    /// Minimum and maximum, each with its index, numbers win (RED-2, RED-4).
    FltMinmaxnumloc = 0x26 "flt_minmaxnumloc",
    /// Sum, to nearest, ties to even (RED-5).
    FltSumNearest = 0x28 "flt_sum_nearest",
    /// Sum, towards plus infinity.
    FltSumUp = 0x29 "flt_sum_up",
    /// Sum, towards minus infinity.
    FltSumDown = 0x2a "flt_sum_down",
    /// Sum, towards zero.
    FltSumZero = 0x2b "flt_sum_zero",
    /// Sum, to nearest, subnormal results flushed to zero.
    FltSumNearestFtz = 0x2c "flt_sum_nearest_ftz",
    /// Sum, towards plus infinity, subnormal results flushed to zero.
    FltSumUpFtz = 0x2d "flt_sum_up_ftz",
    /// Sum, towards minus infinity, subnormal results flushed to zero.
    FltSumDownFtz = 0x2e "flt_sum_down_ftz",
    /// Sum, towards zero, subnormal results flushed to zero.
    FltSumZeroFtz = 0x2f "flt_sum_zero_ftz",
    /// Reproducible sum of one value a frame (RED-6).
    FltRepsum = 0x30 "flt_repsum",
    /// Minimum, NaN wins, two elements in a word (CL-7).
    Flt32Min = 0x32 "flt32_min",
    /// Maximum, NaN wins, two elements in a word.
    Flt32Max = 0x33 "flt32_max",
    /// Minimum, numbers win, two elements in a word.
    Flt32Minnum = 0x36 "flt32_minnum",
    /// Maximum, numbers win, two elements in a word.
    Flt32Maxnum = 0x37 "flt32_maxnum",
    /// Sum, to nearest, ties to even, two elements in a word, as those that follow.
    Flt32SumNearest = 0x38 "flt32_sum_nearest",
    /// Sum, towards plus infinity.
    Flt32SumUp = 0x39 "flt32_sum_up",
    /// Sum, towards minus infinity.
    Flt32SumDown = 0x3a "flt32_sum_down",
    /// Sum, towards zero.
    Flt32SumZero = 0x3b "flt32_sum_zero",
    /// Sum, to nearest, subnormal results flushed to zero.
    Flt32SumNearestFtz = 0x3c "flt32_sum_nearest_ftz",
    /// Sum, towards plus infinity, subnormal results flushed to zero.
    Flt32SumUpFtz = 0x3d "flt32_sum_up_ftz",
    /// Sum, towards minus infinity, subnormal results flushed to zero.
    Flt32SumDownFtz = 0x3e "flt32_sum_down_ftz",
    /// Sum, towards zero, subnormal results flushed to zero.
    Flt32SumZeroFtz = 0x3f "flt32_sum_zero_ftz",
}

impl Op {
    /// The number on the wire, 6 bits.
    #[must_use]
    pub const fn code(self) -> u8 {
        self as u8
    }

    /// Bits of an element: 64, or 32 where two stand in a word (CL-7).
    #[must_use]
    pub const fn element_bits(self) -> u32 {
        match self {
            Self::Int32Min
            | Self::Int32Max
            | Self::Int32Sum
            | Self::Flt32Min
            | Self::Flt32Max
            | Self::Flt32Minnum
            | Self::Flt32Maxnum
            | Self::Flt32SumNearest
            | Self::Flt32SumUp
            | Self::Flt32SumDown
            | Self::Flt32SumZero
            | Self::Flt32SumNearestFtz
            | Self::Flt32SumUpFtz
            | Self::Flt32SumDownFtz
            | Self::Flt32SumZeroFtz => 32,
            _ => 64,
        }
    }
}

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Result code: 4 bits, the numerically largest is kept. Codes 9 to 15 have no meaning but travel and are kept like the others.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Default,
    serde::Serialize,
    serde::Deserialize,
)]
pub struct Rc(u8);

impl Rc {
    /// Nothing to report.
    pub const OK: Self = Self(0);
    /// A sum was rounded, or flushed to zero (RED-5).
    pub const FLT_INEXACT: Self = Self(1);
    /// A result was both tiny and inexact; no operation of the switch reports it, see [`super::Flags::underflow`].
    pub const FLT_UNDERFLOW: Self = Self(2);
    /// A sum went beyond the largest number (RED-5).
    pub const FLT_OVERFLOW: Self = Self(3);
    /// A signalling NaN, or infinities that cancel (RED-3 to RED-7).
    pub const FLT_INVALID: Self = Self(4);
    /// REPSUM dropped bits, or a word that had overflowed (RED-6).
    pub const REPSUM_INEXACT: Self = Self(5);
    /// An integer sum went beyond its element, or a word of REPSUM beyond 64 bits (RED-1, RED-6).
    pub const INT_OVERFLOW: Self = Self(6);
    /// More contributions than the wait count (RED-11).
    pub const CONTR_OVERFLOW: Self = Self(7);
    /// Contributions with different operations (RED-9).
    pub const OP_MISMATCH: Self = Self(8);

    /// The code in the lower four bits of `code`.
    #[must_use]
    pub const fn new(code: u8) -> Self {
        Self(code & 15)
    }

    /// The number on the wire, 0 to 15.
    #[must_use]
    pub const fn code(self) -> u8 {
        self.0
    }

    /// Lower-case name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self.0 {
            0 => "ok",
            1 => "flt_inexact",
            2 => "flt_underflow",
            3 => "flt_overflow",
            4 => "flt_invalid",
            5 => "repsum_inexact",
            6 => "int_overflow",
            7 => "contr_overflow",
            8 => "op_mismatch",
            _ => "unknown",
        }
    }
}

impl fmt::Display for Rc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
