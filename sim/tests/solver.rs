//! The way to a proof with the pinned tools: Verilog with assertions, Yosys, yosys-smtbmc, z3.

use std::fs;
use std::path::Path;
use std::process::Output;

use tributary_sim::tools::{Tools, target_dir};

/// A counter to 9, and a bound on it that is right or wrong by one.
const COUNTER: &str = "\
module counter (input wire clk, input wire rst, input wire en, output reg [7:0] n);
always @(posedge clk)
    if (rst) n <= 8'd0;
    else if (en) n <= (n == 8'd9) ? 8'd0 : n + 8'd1;
reg started = 1'b0;
always @(posedge clk) begin
    started <= 1'b1;
    if (!started) assume (rst);
    if (started) assert (n <= `LIMIT);
end
endmodule
";

fn run(dir: &Path, tool: &str, arguments: &[&str]) -> Output {
    Tools::find()
        .and_then(|tools| tools.command(tool))
        .unwrap()
        .args(arguments)
        .current_dir(dir)
        .output()
        .unwrap()
}

fn prepare(limit: u32) -> std::path::PathBuf {
    let dir = target_dir()
        .join("test-scratch")
        .join(format!("solver-{limit}"));
    fs::create_dir_all(&dir).unwrap();
    fs::write(dir.join("counter.v"), COUNTER).unwrap();
    let script = format!(
        "read_verilog -sv -formal -DLIMIT={limit} counter.v; prep -top counter; \
         async2sync; dffunmap; write_smt2 -wires counter.smt2"
    );
    let output = run(&dir, "yosys", &["-q", "-p", &script]);
    assert!(output.status.success(), "{output:?}");
    dir
}

#[test]
fn a_true_bound_is_proven_by_induction() {
    let dir = prepare(9);
    for mode in [["-t", "20"].as_slice(), &["-i", "-t", "20"]] {
        let arguments = [["-s", "z3"].as_slice(), mode, &["counter.smt2"]].concat();
        let output = run(&dir, "yosys-smtbmc", &arguments);
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{text}");
        assert!(text.contains("Status: PASSED"), "{text}");
    }
}

#[test]
fn a_false_bound_has_a_counterexample() {
    let dir = prepare(8);
    let output = run(
        &dir,
        "yosys-smtbmc",
        &[
            "-s",
            "z3",
            "-t",
            "20",
            "--dump-vcd",
            "counter.vcd",
            "counter.smt2",
        ],
    );
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(!output.status.success(), "{text}");
    assert!(text.contains("Assert failed in counter"), "{text}");
    assert!(text.contains("Status: FAILED"), "{text}");
    assert!(
        dir.join("counter.vcd").is_file(),
        "the steps that lead there"
    );
}
