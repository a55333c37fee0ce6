//! The Verilog of the blocks: accepted by the tools without a message.

use std::fs;
use std::process::Command;
use tributary_hdl::card::{
    CardAckMerge, CardCq, CardOneSided, CardRegions, CardRegs, CardRegsBulk, CardSendMerge,
};
use tributary_hdl::emit::emit_block;
use tributary_hdl::prelude::*;
use tributary_sim::tools::{Tools, target_dir};

fn silent(command: &mut Command, what: &str) {
    let output = command.output().expect("the tool starts");
    let text = [&output.stdout[..], &output.stderr[..]].concat();
    let text = String::from_utf8_lossy(&text);
    assert!(
        output.status.success() && text.trim().is_empty(),
        "{what} says:\n{text}"
    );
}

fn lint<B: Block>(mut block: B) {
    let design = emit_block(&mut block).expect("the block is writable");
    let dir = target_dir().join("card_control").join(&design.top);
    fs::create_dir_all(&dir).expect("target can be written");
    let files = design.write_to(&dir).expect("target can be written");
    let tools = Tools::find().unwrap_or_else(|e| panic!("{e}"));
    let mut verilator = tools.command("verilator").expect("installed");
    verilator.current_dir(&dir);
    verilator.args(["--lint-only", "-Wall", "--quiet"]);
    verilator.args(["--default-language", "1364-2005"]);
    verilator.args(["--top-module", &design.top]).args(&files);
    silent(&mut verilator, &format!("verilator on {}", design.top));
    let script = format!(
        "read_verilog {}; hierarchy -check -top {}; proc; check -assert",
        files.join(" "),
        design.top
    );
    let mut yosys = tools.command("yosys").expect("installed");
    yosys.current_dir(&dir).args(["-q", "-p", &script]);
    silent(&mut yosys, &format!("yosys on {}", design.top));
}

#[test]
fn verilog_lints_clean() {
    lint(CardCq::<3>::default());
    lint(CardCq::<10>::default());
    lint(CardRegions::<10>::default());
    lint(CardOneSided::<3, 5>::default());
    lint(CardSendMerge::default());
    lint(CardAckMerge::default());
    lint(CardRegs::<3, 4, 6>::default());
    lint(CardRegs::<10, 10, 12>::default());
    lint(CardRegsBulk::default());
}
