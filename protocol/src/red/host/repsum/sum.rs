//! Reproducible sums that know how many numbers are in them, so that no word can overflow.

use thiserror::Error;

use super::{DIGIT, decode, encode};
use crate::red::ops::{Flags, MINUS_INF, Op, Rounding, Value, repsum_add};

/// Most numbers whose words can be added without overflow, whatever they are: 2^23 (RED-8).
///
/// A word of one number is at most 2^40 - 1, and 2^23 · (2^40 - 1) is the last multiple of that below 2^63.
pub const SUMMANDS_MAX: u32 = 1 << 23;

/// A reproducible sum would have more summands than its words have room for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("a reproducible sum of {summands} summands, where {most} are safe")]
pub struct TooManySummands {
    /// Summands that there would be; where only the words are known, the fewest that can have made them.
    pub summands: u64,
    /// Most that are safe here: [`SUMMANDS_MAX`], or an endpoint's share of it.
    pub most: u32,
}

/// A reproducible sum with the number of its summands.
///
/// It refuses the summand that comes after [`SUMMANDS_MAX`] instead of making room by carrying into the next word: when a larger
/// number comes later, whole words are dropped, and a carry made before that would have saved part of them. The result would
/// depend on where carries were made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sum {
    value: Value,
    summands: u32,
}

impl Sum {
    /// The sum of nothing, +0.
    #[must_use]
    pub fn new() -> Self {
        Self {
            value: encode(0),
            summands: 0,
        }
    }

    /// Adds a number, given as the bits of a binary64.
    ///
    /// # Errors
    /// There is no room for another summand; the sum stays as it is.
    pub fn push(&mut self, number: u64) -> Result<(), TooManySummands> {
        self.add(&Self {
            value: encode(number),
            summands: 1,
        })
    }

    /// Adds another sum.
    ///
    /// # Errors
    /// Together they have too many summands; the sum stays as it is.
    pub fn add(&mut self, other: &Self) -> Result<(), TooManySummands> {
        let summands = u64::from(self.summands) + u64::from(other.summands);
        self.summands = within(summands, SUMMANDS_MAX)?;
        self.value = repsum_add(&self.value, &other.value);
        Ok(())
    }

    /// Numbers in it.
    #[must_use]
    pub const fn summands(&self) -> u32 {
        self.summands
    }

    /// What a frame carries of it. [`Group::contribution`](crate::red::host::Group::contribution) looks at the summands, too.
    #[must_use]
    pub const fn value(&self) -> &Value {
        &self.value
    }

    /// The number nearest to it, see [`decode`]. Without a result code in the value it is the exact sum, rounded once.
    #[must_use]
    pub fn decode(&self, rounding: Rounding) -> (u64, Flags) {
        decode(&self.value, rounding)
    }
}

impl Default for Sum {
    fn default() -> Self {
        Self::new()
    }
}

/// Fewest numbers whose sum can have these words; 1 for the sum of nothing and for special values, whose words mean nothing.
#[must_use]
pub fn fewest_summands(value: &Value) -> u64 {
    if value.m >= MINUS_INF {
        return 1;
    }
    let words = value.data.iter().map(|&word| (word as i64).unsigned_abs());
    words.max().unwrap_or(0).div_ceil(DIGIT as u64).max(1)
}

/// Whether this many endpoints can add values like this one, whatever the others bring within the same limit.
pub(in crate::red::host) fn check_share(
    op: Op,
    value: &Value,
    endpoints: u32,
) -> Result<(), TooManySummands> {
    if op == Op::FltRepsum {
        within(fewest_summands(value), share(endpoints))?;
    }
    Ok(())
}

/// Summands that each of this many endpoints can bring.
pub(in crate::red::host) fn share(endpoints: u32) -> u32 {
    SUMMANDS_MAX / endpoints.max(1)
}

/// `summands`, if that many are safe.
pub(in crate::red::host) fn within(summands: u64, most: u32) -> Result<u32, TooManySummands> {
    match u32::try_from(summands) {
        Ok(count) if count <= most => Ok(count),
        _ => Err(TooManySummands { summands, most }),
    }
}
