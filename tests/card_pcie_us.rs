//! The wiring of `docs/integration.md`: the card behind pcie_us_if of verilog-pcie and the model of AMD's block of
//! cocotbext-pcie, which nobody here wrote. The bench is `tests/cocotb/card_pcie_us.py`.
//!
//! Skipped without a checkout of verilog-pcie, cocotb or Icarus Verilog (Verilator refuses that shim):
//!
//! ```sh
//! TRIBUTARY_VERILOG_PCIE=../verilog-pcie cargo test --workspace --test card_pcie_us -- --nocapture
//! ```

#[path = "common/cocotb.rs"]
mod cocotb;
mod common;

use std::path::PathBuf;
use std::process::Command;

use cocotb::Cocotb;

#[test]
fn messages_pass_through_the_shim_of_verilog_pcie() {
    let Some(checkout) = std::env::var_os("TRIBUTARY_VERILOG_PCIE") else {
        println!("skipped: TRIBUTARY_VERILOG_PCIE names no checkout of verilog-pcie");
        return;
    };
    if Command::new("iverilog").arg("-V").output().is_err() {
        println!("skipped: iverilog is not installed");
        return;
    }
    let Some(mut cocotb) = Cocotb::find() else {
        return;
    };
    cocotb.simulator = "icarus";
    let mut sources = cocotb.generate("card", &["Q=16", "R=32", "F=64"]);
    let rtl = PathBuf::from(checkout).join("rtl").canonicalize().unwrap();
    let shim = "pcie_us_if pcie_us_if_rc pcie_us_if_rq pcie_us_if_cq pcie_us_if_cc pcie_us_cfg \
                pcie_us_msi pcie_tlp_fifo pcie_tlp_fifo_raw";
    sources.extend(
        shim.split_whitespace()
            .map(|file| rtl.join(file).with_extension("v")),
    );
    let benches = ["card_pcie_us.v", "card_pcie_us_bench.v"].map(|file| cocotb.bench(file));
    let (passed, output) = cocotb.run("card_pcie_us_bench", "card_pcie_us", &sources, &benches);
    assert!(passed && output.contains("1 tests, 0 failed"), "{output}");
}
