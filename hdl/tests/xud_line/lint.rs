//! The Verilog of each block: no message from any tool.

use std::process::Command;

use tributary_hdl::bulk::{BulkHear, BulkLine};
use tributary_hdl::emit::emit_block;
use tributary_hdl::prelude::*;
use tributary_hdl::xud::{XudInFlight, XudRx, XudTx};
use tributary_sim::tools::{Tools, target_dir};

fn silent(command: &mut Command) {
    let output = command.output().unwrap();
    let text = [&output.stdout[..], &output.stderr[..]].concat();
    let text = String::from_utf8_lossy(&text);
    assert!(
        output.status.success() && text.trim().is_empty(),
        "{command:?}:\n{text}"
    );
}

fn lint<B: Block + Default>() {
    let design = emit_block(&mut B::default()).unwrap();
    let dir = target_dir().join("blocks").join(&design.top);
    std::fs::create_dir_all(&dir).unwrap();
    let files = design.write_to(&dir).unwrap();
    let tools = Tools::find().unwrap();
    silent(
        tools
            .command("verilator")
            .unwrap()
            .args(["--lint-only", "-Wall", "--quiet"])
            .args(["--default-language", "1364-2005"])
            .args(["--top-module", &design.top])
            .args(&files)
            .current_dir(&dir),
    );
    let script = format!(
        "read_verilog {}; hierarchy -check -top {}; proc; check -assert",
        files.join(" "),
        design.top
    );
    silent(
        tools
            .command("yosys")
            .unwrap()
            .args(["-q", "-p", &script])
            .current_dir(&dir),
    );
}

#[test]
fn receiver_lints_clean() {
    lint::<XudRx<10>>();
}

#[test]
fn sender_lints_clean() {
    lint::<XudTx<11>>();
}

#[test]
fn schedule_of_the_line_lints_clean() {
    lint::<BulkLine>();
}

#[test]
fn messages_of_receivers_lint_clean() {
    lint::<BulkHear<4>>();
}

#[test]
fn table_lints_clean() {
    lint::<XudInFlight<3, 5>>();
}
