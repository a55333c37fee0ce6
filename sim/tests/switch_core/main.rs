//! `switch_core` in Verilator: traffic, bad frames, trees, reduction frames.
//!
//! `TRIBUTARY_SEED` runs one seed alone, to see a failure again.

mod bench;
mod engine;
mod frames;
mod reduction;
mod traffic;
mod trees;

/// The seeds to run: `count` of them, or the one of the environment.
fn seeds(count: u64) -> std::ops::Range<u64> {
    match std::env::var("TRIBUTARY_SEED") {
        Ok(text) => {
            let seed = text
                .parse()
                .unwrap_or_else(|_| panic!("TRIBUTARY_SEED={text}: not a number"));
            seed..seed + 1
        }
        Err(_) => 0..count,
    }
}
