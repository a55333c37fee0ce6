//! What the benches of Verilated blocks share: stalls, and the seeds to run.

pub mod beyond;
pub mod stall;
pub mod wrong;

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

/// Calls `run` with a seed for each profile of stalls, and returns how many frames were compared, which `run` returns for
/// each seed. `TRIBUTARY_FRAMES` goes on with further seeds until so many were; `TRIBUTARY_SEED` runs one seed alone.
///
/// # Panics
/// A variable holds no number; or no frame was compared in a whole round of the profiles.
pub fn profiles(what: &str, mut run: impl FnMut(u64) -> u64) -> u64 {
    if let Some(seed) = number("TRIBUTARY_SEED") {
        return run(seed);
    }
    let wanted = frames_at_least(0);
    let round = PROFILES.len() as u64;
    let (mut seed, mut frames) = (0, 0);
    while seed < round || frames < wanted {
        frames += run(seed);
        seed += 1;
        assert!(seed < round || frames > 0, "{what}: none");
    }
    println!("{what}: {frames} in {seed} runs, none wrong");
    frames
}

/// Frames that a test compares at least: those of `TRIBUTARY_FRAMES`, if they are more than `usual`.
///
/// # Panics
/// `TRIBUTARY_FRAMES` holds no number.
#[must_use]
pub fn frames_at_least(usual: u64) -> u64 {
    number("TRIBUTARY_FRAMES").map_or(usual, |wanted| wanted.max(usual))
}

/// The seeds that a test runs: 0 to `count` - 1, or the one of `TRIBUTARY_SEED`.
///
/// # Panics
/// `TRIBUTARY_SEED` holds no number.
#[must_use]
pub fn seeds(count: u64) -> std::ops::Range<u64> {
    number("TRIBUTARY_SEED").map_or(0..count, |seed| seed..seed + 1)
}
