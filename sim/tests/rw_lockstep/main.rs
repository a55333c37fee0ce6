//! `rw_window` in Verilator against the executable model.

mod bench;

use bench::{Bench, Coverage, Plan};
use tributary_sim::rw::rtl;

/// Clocks of a run: `TRIBUTARY_CLOCKS` for the long campaign.
fn clocks(default: u64) -> u64 {
    std::env::var("TRIBUTARY_CLOCKS").ok().and_then(|c| c.parse().ok()).unwrap_or(default)
}

fn run(w: u32, r: u32, seeds: std::ops::Range<u64>, clocks: u64) -> Coverage {
    let library = rtl::build(w, r, false).unwrap();
    let mut last = Coverage::default();
    for seed in seeds {
        let (stall, idle) = [(0, 0), (64, 32), (160, 8), (16, 128)][(seed % 4) as usize];
        let plan = Plan { seed, clocks, w, r, stall, idle };
        last = Bench::run(plan, &library, 0).unwrap_or_else(|e| panic!("{e}"));
        println!("W={w} R={r} seed {seed}: {last:?}");
    }
    last
}

#[test]
fn rw_01_rw_02_rw_03_rw_04_rw_06_rw_07_rw_08_rw_09_lock_step_w64_r16() {
    run(64, 16, 0..4, clocks(200_000));
}
