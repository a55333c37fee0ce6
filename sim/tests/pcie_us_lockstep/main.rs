//! `pcie_us_shim` in Verilator beside a model of its translations: descriptors and headers of all bits, discontinued and cut
//! frames, every stall profile; rates, bus mastering and the reset of the function.
//!
//! `TRIBUTARY_SEED` repeats a run, `TRIBUTARY_FRAMES` goes on until so many TLPs have passed. Long form:
//!
//! ```sh
//! TRIBUTARY_FRAMES=1000000 cargo test --release --workspace --test pcie_us_lockstep -- --nocapture
//! ```

mod bench;
mod directed;
mod model;
mod mutations;
mod random;

use std::sync::LazyLock;

use tributary_sim::testbench::profiles;
use tributary_sim::verilate::Verilated;

static SHIM: LazyLock<Verilated> = LazyLock::new(|| bench::build(|_, text| text));

#[test]
fn tlps_of_all_bits_are_those_of_the_model_whatever_stalls() {
    profiles("TLPs", |seed| {
        random::run(&SHIM, seed, 12_000).unwrap_or_else(|error| panic!("seed {seed}: {error}"))
    });
}
