//! The MACs against the GMII and XGMII of cocotbext-eth, which nobody here wrote, and the repeater of boards against its RGMII.
//! The tests are in `tests/cocotb`: `mac_gmii.py`, `mac_xgmii.py` and `repeater.py`.
//!
//! Skipped where cocotb is not installed (`cargo xtask tools` does it). Long form, 10,000 frames each way:
//!
//! ```sh
//! TRIBUTARY_FRAMES=10000 cargo test --release --workspace --test mac_cocotb -- --nocapture
//! ```

#[path = "common/cocotb.rs"]
mod cocotb;
mod common;

use cocotb::Cocotb;

#[test]
fn mac_agrees_with_the_gmii_models_of_cocotbext_eth() {
    let Some(cocotb) = Cocotb::find() else { return };
    let bench = cocotb.bench("mac_gmii_bench.v");
    let sources = cocotb.generate("mac_gmii", &[]);
    let (passed, output) = cocotb.run("mac_gmii_bench", "mac_gmii", &sources, &[bench]);
    assert!(passed, "{output}");
    assert!(output.contains("3 tests, 0 failed"), "{output}");
}

#[test]
fn mac_agrees_with_the_xgmii_models_of_cocotbext_eth() {
    let Some(cocotb) = Cocotb::find() else { return };
    let bench = cocotb.bench("mac_xgmii_bench.v");
    let sources = cocotb.generate("mac_xgmii", &[]);
    let (passed, output) = cocotb.run("mac_xgmii_bench", "mac_xgmii", &sources, &[bench]);
    assert!(passed, "{output}");
    assert!(output.contains("4 tests, 0 failed"), "{output}");
}

#[test]
fn repeater_sets_phys_up_and_passes_frames_between_the_rgmii_models_of_cocotbext_eth() {
    let Some(cocotb) = Cocotb::find() else { return };
    let bench = cocotb.bench("repeater_bench.v");
    let sources = cocotb.generate("repeater", &["C=8"]);
    let (passed, output) = cocotb.run("repeater_bench", "repeater", &sources, &[bench]);
    assert!(passed, "{output}");
    assert!(output.contains("3 tests, 0 failed"), "{output}");
}
