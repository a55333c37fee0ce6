//! `rw_window` in Verilator against the executable model.
//!
//! The short form runs with all other tests. Environment:
//! - `TRIBUTARY_SEED`: run this seed alone, to see a failure again;
//! - `TRIBUTARY_CLOCKS`: clocks for each seed;
//! - `TRIBUTARY_FRAMES`: records that the test with every profile of stalls takes at least.
//!
//! Long form, 20 seeds of 2.5 million clocks: some 28 million records.
//!
//! ```sh
//! TRIBUTARY_CLOCKS=2500000 cargo test --release -p tributary-sim --test rw_lockstep -- --nocapture lock_step_w
//! ```
//!
//! A million records while the outputs stall in every profile:
//!
//! ```sh
//! TRIBUTARY_FRAMES=1000000 cargo test --release -p tributary-sim --test rw_lockstep -- --nocapture every_profile
//! ```

mod bench;
mod directed;
mod mutations;

use bench::{Bench, Coverage, Plan};
use tributary_sim::rw::rtl;
use tributary_sim::testbench::{Length, Profile, profiles};

fn from_env(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(
        text.parse()
            .unwrap_or_else(|_| panic!("{name}={text}: not a number")),
    )
}

fn bursts(gap: u32, mean: u32) -> Profile {
    Profile::Bursts {
        gap,
        length: Length::Geometric(mean),
    }
}

/// A plan: a quarter of the seeds each without stalls, with bursts, with many short stalls, and half idle.
fn plan(w: u32, r: u32, seed: u64, clocks: u64) -> Plan {
    let (stall, idle) = [
        (Profile::Free, 0),
        (bursts(400, 150), 8),
        (Profile::Independent(160), 8),
        (bursts(100, 40), 128),
    ][(seed % 4) as usize];
    Plan {
        seed,
        clocks,
        w,
        r,
        stall,
        idle,
        busy_hint: (seed + 1).wrapping_mul(0x9e37_79b9) as u16,
        copies: 2,
        // The short silence is one that windows see often enough 64 times as long.
        ticks: match seed % 8 {
            0 => [40, 60, 1],
            1..=3 => [40, 60, 50],
            _ => [0x131, 0x2a5, 0x1d0],
        },
    }
}

/// Runs four seeds, or the one named in the environment, and asserts what they must cover.
fn lock_step(w: u32, r: u32, copies: u8, clocks: u64) {
    let library = rtl::build(w, r, false).unwrap();
    let clocks = from_env("TRIBUTARY_CLOCKS").unwrap_or(clocks);
    let only = from_env("TRIBUTARY_SEED");
    let mut all = Coverage::default();
    for seed in only.map_or(0..4, |seed| seed..seed + 1) {
        let plan = Plan {
            copies,
            ..plan(w, r, seed, clocks)
        };
        let covered = Bench::run(plan, &library, 0).unwrap_or_else(|e| panic!("W={w} R={r} {e}"));
        all.merge(&covered);
    }
    println!("W={w} R={r}: {all:?}");
    if only.is_none() {
        assert_eq!(all.gaps(), Vec::<String>::new(), "W={w} R={r}: not covered");
        // Few windows are never silent while others are not.
        assert!(
            all.silent > 0 || r < 64,
            "W={w} R={r}: no silent window beside others"
        );
        let second = all.second.map(|count| count > 0);
        assert_eq!(second, [copies == 2; 2], "W={w} R={r}: second copies");
    }
}

#[test]
fn rw_01_rw_02_rw_03_rw_04_rw_06_rw_07_rw_08_rw_09_p_12_p_13_lock_step_w64_r16() {
    lock_step(64, 16, 2, 300_000);
}

#[test]
fn rw_01_rw_02_rw_03_rw_04_rw_06_rw_07_rw_08_rw_09_p_12_p_13_lock_step_w256_r64() {
    lock_step(256, 64, 2, 200_000);
}

#[test]
fn rw_01_rw_02_rw_03_rw_04_rw_06_rw_07_rw_08_rw_09_p_12_p_13_lock_step_w256_r512() {
    lock_step(256, 512, 2, 100_000);
}

#[test]
fn rw_01_rw_02_rw_03_rw_04_rw_06_rw_07_rw_08_rw_09_p_12_p_13_lock_step_w1024_r16() {
    lock_step(1024, 16, 2, 200_000);
}

#[test]
fn rw_11_each_message_leaves_once_if_it_is_to_in_lock_step_w64_r16() {
    lock_step(64, 16, 1, 200_000);
}

#[test]
fn rw_11_each_message_leaves_once_if_it_is_to_in_lock_step_w1024_r16() {
    lock_step(1024, 16, 1, 100_000);
}

/// What stands at an output and what waits behind it stay right however long it is held: windows close, open and slide
/// meanwhile, and their rows are written.
#[test]
fn rw_01_rw_02_rw_03_rw_04_rw_06_rw_07_rw_08_rw_09_p_12_p_13_lock_step_under_every_profile_of_stalls()
 {
    let library = rtl::build(64, 16, false).unwrap();
    let clocks = from_env("TRIBUTARY_CLOCKS").unwrap_or(60_000);
    profiles("records into rw_window", |seed| {
        let plan = Plan {
            stall: Profile::of_seed(seed),
            ..plan(64, 16, seed, clocks)
        };
        let covered = Bench::run(plan, &library, 0).unwrap_or_else(|e| panic!("{e}"));
        assert!(covered.completions[0] > 0, "seed {seed}: no transfer ended");
        covered.taken
    });
}

/// Incarnations start three below the end of their 16 bits, so that those of all windows wrap.
#[test]
fn rw_22_p_14_incarnations_wrap_in_lock_step() {
    let (top, mut files) = rtl::sources(64, 16).unwrap();
    let gens = files
        .iter_mut()
        .find(|(name, _)| name == "ram_reg.v")
        .unwrap();
    let begins = "mem[i] = {W{1'b0}} | ((W == 16 && A == 4) ? 16'hFFFD : 16'd0);";
    let patched = gens.1.replace("mem[i] = {W{1'b0}};", begins);
    assert_ne!(patched, gens.1, "pattern not found");
    gens.1 = patched;
    let library = rtl::build_sources(&top, &files, false).unwrap();
    for seed in 0..2 {
        let covered = Bench::run(plan(64, 16, seed, 60_000), &library, 0xFFFD)
            .unwrap_or_else(|e| panic!("{e}"));
        assert!(
            covered.wrapped >= 16,
            "seed {seed}: {} incarnations wrapped",
            covered.wrapped
        );
    }
}
