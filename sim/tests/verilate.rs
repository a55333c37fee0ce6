//! The harness on hand-written Verilog: ports of every width, errors, the cache, waveforms.

use std::fs;
use std::path::PathBuf;
use std::thread;

use tributary_sim::tools::target_dir;
use tributary_sim::verilate::{BuildOptions, VerilateError, Verilated};

const COUNTER: &str = include_str!("verilog/wide_counter.v");

fn counter() -> BuildOptions {
    BuildOptions::new("wide_counter", &[("wide_counter.v", COUNTER)])
}

/// An empty folder below `target/`, unique to one test.
fn scratch(name: &str) -> PathBuf {
    let dir = target_dir().join("test-scratch").join(name);
    let _ = fs::remove_dir_all(&dir);
    fs::create_dir_all(&dir).expect("scratch folder");
    dir
}

#[test]
fn a_counter_counts_and_resets() {
    let library = Verilated::build(&counter()).unwrap();
    let mut model = library.model().unwrap();
    let enable = model.input("en", 1).unwrap();
    let count = model.output("count", 12).unwrap();
    model.reset(2).unwrap();
    assert_eq!(model.get(count), 0);
    model.set(enable, 1);
    for expected in 1..=5000_u64 {
        model.clock().unwrap();
        assert_eq!(model.get(count), expected % 4096);
    }
    model.set(enable, 0);
    model.clocks(10).unwrap();
    assert_eq!(model.get(count), 5000 % 4096);
    model.reset(1).unwrap();
    assert_eq!(model.get(count), 0);
}

#[test]
fn ports_of_every_width_carry_all_their_bits() {
    let library = Verilated::build(&counter()).unwrap();
    let mut model = library.model().unwrap();
    for width in [1, 7, 8, 9, 16, 17, 32, 33, 63, 64, 65, 127, 128, 300, 1055] {
        let input = model.input(&format!("a{width}"), width).unwrap();
        let output = model.output(&format!("y{width}"), width).unwrap();
        assert_eq!(input.words(), width.div_ceil(64) as usize);
        // The block inverts; a value with bits above the width checks that these are cut off.
        let value: Vec<u64> = (0..input.words() as u64)
            .map(|word| (word + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1 << 63)
            .collect();
        model.set_wide(input, &value).unwrap();
        model.eval().unwrap();
        let mut expected: Vec<u64> = value.iter().map(|word| !word).collect();
        let spare = 64 * expected.len() as u32 - width;
        *expected.last_mut().unwrap() &= u64::MAX >> spare;
        assert_eq!(model.words(output), expected, "width {width}");
        assert_eq!(model.get(output), expected[0], "width {width}");

        // The short form: all above 64 bits becomes zero, so its inverse one.
        model.set(input, 0);
        model.eval().unwrap();
        assert!(
            model.words(output)[..expected.len() - 1]
                .iter()
                .all(|&word| word == u64::MAX)
        );
        assert_eq!(*model.words(output).last().unwrap(), u64::MAX >> spare);
    }
}

#[test]
fn instances_of_one_library_are_independent() {
    let library = Verilated::build(&counter()).unwrap();
    let enable = library.port("en").unwrap();
    let count = library.port("count").unwrap();
    let mut models: Vec<_> = (0..20).map(|_| library.model().unwrap()).collect();
    for (steps, model) in models.iter_mut().enumerate() {
        model.set(enable, 1);
        model.clocks(steps as u64).unwrap();
    }
    let counts: Vec<u64> = models.iter().map(|model| model.get(count)).collect();
    assert_eq!(counts, (0..20).collect::<Vec<u64>>());
    // A model may move to another thread.
    let mut model = models.pop().unwrap();
    let moved = thread::spawn(move || {
        model.clock().unwrap();
        model.get(count)
    });
    assert_eq!(moved.join().unwrap(), 20);
}

#[test]
fn wrong_ports_are_explained() {
    let library = Verilated::build(&counter()).unwrap();
    let mut model = library.model().unwrap();
    let unknown = model.port("contents").unwrap_err().to_string();
    assert!(
        unknown.contains("`wide_counter` has no port `contents`"),
        "{unknown}"
    );
    assert!(unknown.contains("a1055"), "{unknown}");
    let width = model.output("count", 13).unwrap_err().to_string();
    assert_eq!(
        width,
        "port `count` of `wide_counter` is 12 bits wide, not 13"
    );
    let direction = model.input("count", 12).unwrap_err().to_string();
    assert!(
        direction.contains("is an output, not an input"),
        "{direction}"
    );
    let wide = model.port("a300").unwrap();
    let words = model.set_wide(wide, &[0; 4]).unwrap_err().to_string();
    assert!(
        words.contains("300 bits, takes 5 words of 64 bits, not 4"),
        "{words}"
    );
}

#[test]
fn a_syntax_error_is_shown_with_its_place() {
    let text = "module broken(input wire clk);\n  assign = 1;\nendmodule\n";
    let error = Verilated::build(&BuildOptions::new("broken", &[("broken.v", text)])).unwrap_err();
    assert!(matches!(error, VerilateError::Verilator { .. }));
    let error = error.to_string();
    assert!(error.contains("Verilator rejects `broken`"), "{error}");
    assert!(error.contains("broken.v:2"), "{error}");
    assert!(error.contains("syntax error"), "{error}");
}

#[test]
fn a_missing_module_is_named() {
    let text = "module outer(input wire clk);\n  inner i(.clk(clk));\nendmodule\n";
    let error = Verilated::build(&BuildOptions::new("outer", &[("outer.v", text)]))
        .unwrap_err()
        .to_string();
    assert!(error.contains("inner"), "{error}");
}

#[test]
fn a_failed_build_leaves_nothing_behind() {
    let dir = scratch("failed-build");
    let mut options = BuildOptions::new("broken", &[("broken.v", "module broken; oops")]);
    options.cache_dir = Some(dir.clone());
    Verilated::build(&options).unwrap_err();
    let left: Vec<_> = fs::read_dir(&dir)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| !name.ends_with(".lock"))
        .collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn parallel_builds_of_one_design_do_not_race() {
    let dir = scratch("race");
    let mut options = counter();
    options.cache_dir = Some(dir.clone());
    thread::scope(|scope| {
        for steps in 1..=8 {
            let options = &options;
            scope.spawn(move || {
                let library = Verilated::build(options).unwrap();
                let mut model = library.model().unwrap();
                model.set(model.port("en").unwrap(), 1);
                model.clocks(steps).unwrap();
                assert_eq!(model.get(model.port("count").unwrap()), steps);
            });
        }
    });
    let folders = fs::read_dir(&dir)
        .unwrap()
        .filter(|entry| entry.as_ref().unwrap().path().is_dir())
        .count();
    assert_eq!(folders, 2, "the model and Verilator's runtime, once each");
}

#[test]
fn a_changed_source_is_built_anew() {
    let build = |text: &str| {
        Verilated::build(&BuildOptions::new("c", &[("c.v", text)]))
            .unwrap()
            .model()
            .unwrap()
    };
    let mut one = build("module c(input wire a, output wire [7:0] y); assign y = 8'd1; endmodule");
    let mut two = build("module c(input wire a, output wire [7:0] y); assign y = 8'd2; endmodule");
    one.eval().unwrap();
    two.eval().unwrap();
    assert_eq!(one.get(one.port("y").unwrap()), 1);
    assert_eq!(two.get(two.port("y").unwrap()), 2);
}

#[test]
fn a_clock_without_a_clock_input_is_an_error() {
    let text = "module c(input wire a, output wire y); assign y = ~a; endmodule";
    let library = Verilated::build(&BuildOptions::new("c", &[("c.v", text)])).unwrap();
    let mut model = library.model().unwrap();
    let error = model.clock().unwrap_err().to_string();
    assert!(error.contains("no clock input"), "{error}");
    let error = model.reset(1).unwrap_err().to_string();
    assert!(error.contains("no port `rst`"), "{error}");
}

#[test]
fn a_stopping_design_is_an_error_not_the_end_of_the_process() {
    let text = "module s(input wire clk, input wire go);\n\
                  always @(posedge clk) if (go) $stop;\nendmodule";
    let library = Verilated::build(&BuildOptions::new("s", &[("s.v", text)])).unwrap();
    let mut model = library.model().unwrap();
    model.clock().unwrap();
    model.set(model.port("go").unwrap(), 1);
    let error = model.clock().unwrap_err().to_string();
    assert!(
        error.contains("the model of `s` stopped at time 7500"),
        "{error}"
    );
    assert!(error.contains("s.v:2"), "{error}");
}

/// A register slice, with a fault: a word, or that there is one, follows `fault`.
fn slice(data: &str, valid: &str) -> String {
    format!(
        "module slice (
    input  wire       clk,        // Clock.
    input  wire       rst,
    input  wire       fault,
    input  wire       s_rq_valid,
    output wire       s_rq_ready,
    input  wire [7:0] s_rq_data,
    output wire       m_rq_valid, // A word.
    input  wire       m_rq_ready,
    output wire [7:0] m_rq_data
);
    reg full;
    reg [7:0] word;
    assign s_rq_ready = !full || m_rq_ready;
    assign m_rq_valid = {valid};
    assign m_rq_data = {data};
    always @(posedge clk) begin
        if (s_rq_ready) begin full <= s_rq_valid; word <= s_rq_data; end
        if (rst) full <= 1'b0;
    end
endmodule
module outer (
    input  wire       clk,
    input  wire       rst,
    input  wire       fault,
    input  wire       take
);
    wire ready, valid;
    wire [7:0] word;
    slice inside (.clk(clk), .rst(rst), .fault(fault), .s_rq_valid(1'b1), .s_rq_ready(ready), .s_rq_data(8'h5a),
        .m_rq_valid(valid), .m_rq_ready(take), .m_rq_data(word));
endmodule
"
    )
}

/// What becomes of a slice with a fault inside of a design, the fault in a clock in which its word is not taken.
fn watched(data: &str, valid: &str, take: bool) -> Option<String> {
    let options = BuildOptions::new("outer", &[("outer.v", slice(data, valid))]).with_checks();
    let mut model = Verilated::build(&options).unwrap().model().unwrap();
    let [fault, taken] = ["fault", "take"].map(|name| model.port(name).unwrap());
    model.set(taken, 1);
    model.reset(2).unwrap();
    model.clocks(3).unwrap();
    model.set(taken, take.into());
    model.clocks(3).unwrap();
    model.set(fault, 1);
    model.clocks(3).err().map(|error| error.to_string())
}

#[test]
fn an_offer_inside_of_a_design_that_falls_or_changes_stops_it() {
    let [word, full] = ["word", "full"];
    assert_eq!(watched(word, full, false), None);
    for (data, valid) in [("fault ? 8'h00 : word", full), (word, "full && !fault")] {
        let error = watched(data, valid, false).expect("it stops");
        assert!(error.contains("tributary_offers.sv"), "{error}");
        // What is taken in each clock breaks no rule.
        assert_eq!(watched(data, valid, true), None);
    }
}

#[test]
fn finish_is_reported() {
    let text = "module f(input wire clk);\n always @(posedge clk) $finish;\nendmodule";
    let library = Verilated::build(&BuildOptions::new("f", &[("f.v", text)])).unwrap();
    let mut model = library.model().unwrap();
    assert!(!model.is_finished());
    model.clock().unwrap();
    assert!(model.is_finished());
}

#[test]
fn random_initial_values_follow_the_seed() {
    let text = "module r(input wire clk, output reg [63:0] q);\n\
                  always @(posedge clk) q <= q;\nendmodule";
    let options = BuildOptions::new("r", &[("r.v", text)]).with_random_init(true);
    let library = Verilated::build(&options).unwrap();
    let q = library.port("q").unwrap();
    let value = |seed| {
        let mut model = library.model_with_seed(seed).unwrap();
        model.clock().unwrap();
        model.get(q)
    };
    assert_eq!(value(7), value(7));
    assert_ne!(value(7), value(8));
}

#[test]
fn a_waveform_holds_every_change() {
    let dir = scratch("waveform");
    let path = dir.join("counter.fst");
    let library = Verilated::build(&counter().with_trace(true)).unwrap();
    let mut model = library.model().unwrap();
    model.reset(1).unwrap();
    model.set(model.port("en").unwrap(), 1);
    model.trace_open(&path).unwrap();
    model.clocks(100).unwrap();
    assert!(!path.exists(), "appears only when complete");
    model.trace_close().unwrap();

    let file = std::io::BufReader::new(fs::File::open(&path).unwrap());
    let mut reader = fst_reader::FstReader::open(file).unwrap();
    assert_eq!(reader.get_header().timescale_exponent, -12);
    let mut handle = None;
    reader
        .read_hierarchy(|entry| {
            if let fst_reader::FstHierarchyEntry::Var {
                name,
                handle: found,
                length,
                ..
            } = entry
                && name.starts_with("count")
            {
                assert_eq!(length, 12);
                handle = Some(found);
            }
        })
        .unwrap();
    let filter = fst_reader::FstFilter::filter_signals(vec![handle.expect("count is recorded")]);
    let mut values = Vec::new();
    reader
        .read_signals(&filter, |time, _, value| {
            if let fst_reader::FstSignalValue::String(bits) = value {
                let bits = std::str::from_utf8(bits).unwrap();
                // Unknown until the recording begins.
                if !bits.contains('x') {
                    values.push((time, u64::from_str_radix(bits, 2).unwrap()));
                }
            }
            Ok::<(), std::convert::Infallible>(())
        })
        .unwrap();
    // One clock of reset before: the first edge of the recording is at 7,500 ps.
    let expected: Vec<(u64, u64)> = std::iter::once((5000, 0))
        .chain((1..=100).map(|n| (7500 + 5000 * (n - 1), n)))
        .collect();
    assert_eq!(values, expected);
}

#[test]
fn a_second_recording_of_one_model_works() {
    let dir = scratch("second-waveform");
    let library = Verilated::build(&counter().with_trace(true)).unwrap();
    let mut model = library.model().unwrap();
    for name in ["one.fst", "two.fst"] {
        model.trace_open(dir.join(name)).unwrap();
        model.clocks(10).unwrap();
        model.trace_close().unwrap();
    }
    // Dropped while open: completed all the same.
    model.trace_open(dir.join("three.fst")).unwrap();
    model.clocks(10).unwrap();
    drop(model);
    for name in ["one.fst", "two.fst", "three.fst"] {
        assert!(fs::metadata(dir.join(name)).unwrap().len() > 100, "{name}");
    }
}

#[test]
fn waveforms_that_cannot_be_written_are_explained() {
    let library = Verilated::build(&counter()).unwrap();
    let mut model = library.model().unwrap();
    let error = model.trace_open("never.fst").unwrap_err().to_string();
    assert!(error.contains("built without `trace`"), "{error}");
    let library = Verilated::build(&counter().with_trace(true)).unwrap();
    let mut model = library.model().unwrap();
    let error = model
        .trace_open("/nonexistent/x.fst")
        .unwrap_err()
        .to_string();
    assert!(error.contains("/nonexistent/x.fst"), "{error}");
}
