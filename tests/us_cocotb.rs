//! `us_card`, a card behind its shim, at the model of the UltraScale+ PCI Express block of cocotbext-pcie, which nobody here
//! wrote: enumeration, registers, messages, interrupts, errors, resets of the function. The tests are in
//! `tests/cocotb/us_card.py`.
//!
//! Skipped where cocotb is not installed (`cargo xtask tools` does it). Long form, 10,000 messages, some 25 minutes:
//!
//! ```sh
//! TRIBUTARY_FRAMES=10000 cargo test --release --workspace --test us_cocotb -- --nocapture
//! ```

#[path = "common/cocotb.rs"]
mod cocotb;
mod common;

use cocotb::Cocotb;

#[test]
fn a_card_works_at_the_ultrascale_model_of_cocotbext_pcie() {
    let Some(cocotb) = Cocotb::find() else { return };
    let bench = cocotb.bench("us_card_bench.v");
    let sources = cocotb.generate("us_card", &["Q=16", "R=32", "F=64"]);
    let (passed, output) = cocotb.run("us_card_bench", "us_card", &sources, &[bench]);
    assert!(passed, "{output}");
    assert!(output.contains("6 tests, 0 failed"), "{output}");
}
