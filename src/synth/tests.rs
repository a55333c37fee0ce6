//! Small modules through the whole flow.

use std::fs;

use tributary_sim::tools;

use super::*;

const ACCUMULATOR: &str = "\
`timescale 1ns/1ps
`default_nettype none
module accumulator (
    input  wire        clk,
    input  wire        rst,
    input  wire        write,
    input  wire [9:0]  address,
    input  wire [15:0] addend,
    output reg  [15:0] total
);
reg [15:0] table_mem [0:1023];
reg [15:0] term;
always @(posedge clk) begin
    if (write) table_mem[address] <= addend;
    term <= table_mem[address];
end
always @(posedge clk)
    if (rst) total <= 16'd0;
    else     total <= total + term;
endmodule
`default_nettype wire
";

fn measure(sources: &[(String, String)], top: &str, options: &SynthOptions) -> Result<SynthReport> {
    synth(sources, top, options, &|_| {})
}

fn source(text: &str) -> Vec<(String, String)> {
    vec![("block.v".to_owned(), text.to_owned())]
}

#[test]
fn a_block_is_measured() {
    let work_dir = tools::target_dir().join("test-scratch").join("synth");
    let _ = fs::remove_dir_all(&work_dir);
    let options = SynthOptions {
        seeds: 2,
        work_dir: Some(work_dir),
        ..SynthOptions::default()
    };
    let report = measure(&source(ACCUMULATOR), "accumulator", &options).unwrap();
    assert!((16..60).contains(&report.luts), "{report:?}");
    assert!((16..=32).contains(&report.registers), "{report:?}");
    assert_eq!(report.defines, ["TRIBUTARY_ECP5"]);
    assert_eq!(report.block_rams, 1);
    assert_eq!(report.lutram_luts, 0);
    assert_eq!(report.seeds.len(), 2);
    let fmax = report.fmax_mhz.unwrap();
    assert!((50.0..800.0).contains(&fmax), "{report:?}");
    // Of two, the slower.
    assert!(
        report
            .seeds
            .iter()
            .all(|seed| seed.fmax_mhz.unwrap() >= fmax)
    );

    let path = report.critical_path.as_ref().unwrap();
    assert!((path.logic_ns + path.routing_ns - path.delay_ns).abs() < 0.01);
    let told = report.to_string();
    assert!(
        told.contains("total") || told.contains("table_mem"),
        "{told}"
    );
    assert!(!told.contains("TRELLIS"), "{told}");

    let json = serde_json::to_value(&report).unwrap();
    for key in ["luts", "registers", "block_rams", "lutram_luts", "fmax_mhz"] {
        assert!(json[key].is_number(), "{key}");
    }

    // All is there already now, and comes out the same.
    let again = measure(&source(ACCUMULATOR), "accumulator", &options).unwrap();
    assert!(again.time_s < report.time_s);
    assert_eq!(again.seeds, report.seeds);
    assert_eq!(again.critical_path, report.critical_path);
}

#[test]
fn block_rams_can_be_placed_first() {
    let work_dir = tools::target_dir().join("test-scratch").join("synth-rams");
    let _ = fs::remove_dir_all(&work_dir);
    let options = SynthOptions {
        seeds: 1,
        ram_rounds: 2,
        work_dir: Some(work_dir.clone()),
        ..SynthOptions::default()
    };
    let report = measure(&source(ACCUMULATOR), "accumulator", &options).unwrap();
    assert_eq!((report.ram_rounds, report.block_rams), (2, 1));
    assert!(report.fmax_mhz.unwrap() > 50.0, "{report:?}");
    assert!(report.ram_round <= 2);
    let told = format!("placed first, as after round {} of 2", report.ram_round);
    assert!(report.to_string().contains(&told), "{report}");

    // It is the round of which nextpnr expects most.
    let dir = fs::read_dir(&work_dir).unwrap().next().unwrap().unwrap();
    let expected: Vec<f64> = (0..=2)
        .map(|round| dir.path().join(format!("place-{round}.log")))
        .map(|log| report::expected(&fs::read_to_string(log).unwrap()).unwrap())
        .collect();
    let most = expected.iter().copied().fold(0.0, f64::max);
    assert_eq!(expected[report.ram_round as usize], most, "{expected:?}");

    // The netlist of a round says where its one block RAM is, and nothing else.
    let netlist = fs::read_to_string(dir.path().join("rams-2.json")).unwrap();
    let fixed: Vec<&str> = netlist.matches("\"BEL\":\"X").collect();
    assert_eq!(fixed.len(), 1);

    // Without it, the same folder has the figures of the usual flow beside these.
    let plain = SynthOptions {
        ram_rounds: 0,
        ..options
    };
    let plain = measure(&source(ACCUMULATOR), "accumulator", &plain).unwrap();
    assert_eq!(plain.work_dir, report.work_dir);
    assert!(!plain.to_string().contains("placed first"));
}

#[test]
fn every_site_of_a_block_ram_is_named_once() {
    let sites = Device::Ecp5_85k.block_rams();
    assert_eq!(sites.len(), 208);
    let names: std::collections::BTreeSet<&str> =
        sites.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names.len(), 208);
    for name in [
        "X4/Y22/EBR0",
        "X64/Y46/EBR3",
        "X69/Y70/EBR0",
        "X120/Y82/EBR3",
    ] {
        assert!(names.contains(name), "{name}");
    }
}

#[test]
fn an_error_of_yosys_shows_command_and_output() {
    let sources = source("module broken(input wire a);\n  assign = a;\nendmodule\n");
    let error = format!(
        "{:#}",
        measure(&sources, "broken", &SynthOptions::default()).unwrap_err()
    );
    assert!(error.contains("synthesis of `broken` failed"), "{error}");
    assert!(error.contains("synth_ecp5 -top broken"), "{error}");
    assert!(error.contains("block.v:2"), "{error}");
}

#[test]
fn a_missing_top_is_an_error() {
    let sources = source(ACCUMULATOR);
    let error = format!(
        "{:#}",
        measure(&sources, "nothing", &SynthOptions::default()).unwrap_err()
    );
    assert!(error.contains("nothing"), "{error}");
}

#[test]
fn odd_requests_are_refused_with_what_would_be_right() {
    let message = |sources: &[(String, String)], top: &str, seeds| {
        let options = SynthOptions {
            seeds,
            ..SynthOptions::default()
        };
        measure(sources, top, &options).unwrap_err().to_string()
    };
    let good = source(ACCUMULATOR);
    assert!(message(&good, "a; shell", 1).contains("name of a module"));
    assert!(message(&good, "accumulator", 0).contains("1 or more"));
    assert!(message(&[], "accumulator", 1).contains("no Verilog source"));
    let odd = vec![("../a.v".to_owned(), String::new())];
    assert!(message(&odd, "accumulator", 1).contains("plain file name"));
    assert!(
        "ice40"
            .parse::<Device>()
            .unwrap_err()
            .to_string()
            .contains("ecp5-85k")
    );
}
