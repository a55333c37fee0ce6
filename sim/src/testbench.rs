//! What the benches of Verilated blocks share: stalls, and the seeds to run.

pub mod stall;

pub use stall::{Length, PROFILES, Profile, Stalls};

/// A number from the environment; `None` if the variable is not set.
///
/// # Panics
/// The variable holds no number.
#[must_use]
pub fn number(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(
        text.parse()
            .unwrap_or_else(|_| panic!("{name}={text}: not a number")),
    )
}

/// The seeds that a test runs: 0 to `count` - 1, or the one of `TRIBUTARY_SEED`.
///
/// # Panics
/// `TRIBUTARY_SEED` holds no number.
#[must_use]
pub fn seeds(count: u64) -> std::ops::Range<u64> {
    number("TRIBUTARY_SEED").map_or(0..count, |seed| seed..seed + 1)
}
