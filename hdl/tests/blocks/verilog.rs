//! The Verilog of every block: accepted without a message by the tools, and the same
//! as rust-hdl's simulation on the inputs of the lock-step tests.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tributary_hdl::blocks::*;
use tributary_hdl::emit::{Design, emit_block};
use tributary_hdl::prelude::*;
use tributary_hdl::red::{RedFltSum, RedLane};
use tributary_hdl::switch::{RedEngine, SwitchTop};
use tributary_sim::tools::{Tools, target_dir};
use tributary_sim::verilate::{BuildOptions, Verilated};

/// Values of the top block's inputs and outputs before one clock edge.
#[derive(Default)]
struct Row {
    inputs: Vec<Vec<u64>>,
    outputs: Vec<Vec<u64>>,
}

/// What went in and out of a block, clock by clock.
#[derive(Default)]
pub struct Recording {
    inputs: Vec<String>,
    outputs: Vec<String>,
    rows: Vec<Row>,
}

/// Reads the ports of the top block.
#[derive(Default)]
struct Ports {
    depth: usize,
    /// Buses that are open.
    bus: Vec<String>,
    inputs: Vec<String>,
    outputs: Vec<String>,
    row: Row,
}

/// Words of 64 bits, lowest first, from a literal such as `70'h1f`.
fn words(signal: &dyn Atom) -> Vec<u64> {
    let literal = format!("{:x}", signal.verilog());
    let (_, digits) = literal.split_once("'h").expect("a hexadecimal literal");
    let mut words: Vec<u64> = digits
        .as_bytes()
        .rchunks(16)
        .map(|chunk| {
            let chunk = str::from_utf8(chunk).expect("digits are ASCII");
            u64::from_str_radix(chunk, 16).expect("hexadecimal digits")
        })
        .collect();
    words.resize(signal.bits().div_ceil(64), 0);
    words
}

impl Probe for Ports {
    fn visit_start_scope(&mut self, _name: &str, _node: &dyn Block) {
        self.depth += 1;
    }

    fn visit_end_scope(&mut self, _name: &str, _node: &dyn Block) {
        self.depth -= 1;
    }

    fn visit_start_namespace(&mut self, name: &str, _node: &dyn Block) {
        self.bus.push(name.to_owned());
    }

    fn visit_end_namespace(&mut self, _name: &str, _node: &dyn Block) {
        self.bus.pop();
    }

    fn visit_atom(&mut self, name: &str, signal: &dyn Atom) {
        if self.depth != 1 || name == "clk" {
            return;
        }
        // The port of a bus or of a bank.
        let mut path = self.bus.clone();
        path.push(name.to_owned());
        let name = path.join("_").replace('$', "_");
        match signal.kind() {
            AtomKind::InputParameter => {
                self.inputs.push(name);
                self.row.inputs.push(words(signal));
            }
            AtomKind::OutputParameter => {
                self.outputs.push(name);
                self.row.outputs.push(words(signal));
            }
            _ => {}
        }
    }
}

impl Recording {
    /// Clocks recorded.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Adds the present values of the ports, which have settled.
    pub fn sample(&mut self, uut: &dyn Block) {
        let mut ports = Ports::default();
        uut.accept("uut", &mut ports);
        (self.inputs, self.outputs) = (ports.inputs, ports.outputs);
        self.rows.push(ports.row);
    }

    /// Replays the inputs in Verilator and compares the outputs before each clock.
    pub fn replay(&self, design: &Design, clocked: bool) {
        let options = BuildOptions::new(&design.top, &design.files()).with_checks();
        let library = Verilated::build(&options).unwrap_or_else(|e| panic!("{}: {e}", design.top));
        let mut model = library.model().expect("a model");
        let port = |name: &String| model.port(name).expect("the Verilog has the port");
        let inputs: Vec<_> = self.inputs.iter().map(port).collect();
        let outputs: Vec<_> = self.outputs.iter().map(port).collect();
        for (clock, row) in self.rows.iter().enumerate() {
            for (&port, value) in inputs.iter().zip(&row.inputs) {
                model.set_wide(port, value).expect("the width is the same");
            }
            model.eval().expect("the model runs");
            for ((&port, value), name) in outputs.iter().zip(&row.outputs).zip(&self.outputs) {
                assert_eq!(
                    &model.words(port),
                    value,
                    "{}.{name} differs in clock {clock}",
                    design.top
                );
            }
            if clocked {
                model.clock().expect("the model runs");
            }
        }
    }
}

/// Fails unless the tool succeeds and says nothing.
fn silent(what: &str, output: &Output) {
    let text = [&output.stdout[..], &output.stderr[..]].concat();
    let text = String::from_utf8_lossy(&text);
    assert!(
        output.status.success() && text.trim().is_empty(),
        "{what} says:\n{text}"
    );
}

fn run(command: &mut Command, dir: &Path) -> Output {
    command.current_dir(dir).output().expect("the tool starts")
}

/// Writes the design's modules to a folder of its own and returns folder and file names.
fn write(design: &Design) -> (PathBuf, Vec<String>) {
    let dir = target_dir().join("blocks").join(&design.top);
    fs::create_dir_all(&dir).expect("target can be written");
    let files = design.write_to(&dir).expect("target can be written");
    (dir, files)
}

fn lint(design: &Design) {
    let tools = Tools::find().unwrap_or_else(|e| panic!("{e}"));
    let (dir, files) = write(design);
    let verilator = run(
        tools
            .command("verilator")
            .expect("installed")
            .args(["--lint-only", "-Wall", "--quiet"])
            .args(["--default-language", "1364-2005"])
            .args(["--top-module", &design.top])
            .args(&files),
        &dir,
    );
    silent(&format!("verilator on {}", design.top), &verilator);
    let script = format!(
        "read_verilog {}; hierarchy -check -top {}; proc; check -assert",
        files.join(" "),
        design.top
    );
    let yosys = run(
        tools
            .command("yosys")
            .expect("installed")
            .args(["-q", "-p", &script]),
        &dir,
    );
    silent(&format!("yosys on {}", design.top), &yosys);
    if Command::new("iverilog").arg("-V").output().is_err() {
        eprintln!("skipped: iverilog is not installed");
        return;
    }
    // Icarus makes its output executable, so /dev/null is no place for it.
    let output = format!("{}.vvp", design.top);
    let iverilog = run(
        Command::new("iverilog")
            .args(["-g2001", "-Wall", "-o", &output, "-s", &design.top])
            .args(&files),
        &dir,
    );
    silent(&format!("iverilog on {}", design.top), &iverilog);
}

/// Writes each block as Verilog and runs the tools on it.
macro_rules! lints {
    ($($test:ident: $($block:ty),+;)+) => { $(
        #[test]
        fn $test() {
            $( lint(&emit_block(&mut <$block>::default()).expect("the block is writable")); )+
        }
    )+ };
}

lints! {
    memories_lint_clean: SdpRam<36, 9>, RamPlain<36, 9>, AsyncRam<32, 4>, RamForward<32, 9>, StatCounters<6>,
        RamRegSteps<36, 5>;
    queues_lint_clean: FifoReg<32, 4>, FifoAhead<32, 4>, FifoBram<72, 6>, FreeList<6>, SkidBuffer<130>, HalfSlice<40>, TwoSlots<40>;
    choices_lint_clean: ChosenWord<64, 4>, OneHotMux<32, 4>, OneHotIndex<5, 3>, TakeTurns<4>,
        LowestBits<4>, LowestBits<16>, LowestBits<64>, SameParts<8>;
    flow_lints_clean: RoundRobinArbiter<5, 3>, RoundRobinArbiter<64, 6>, TimerSweep<6>;
    trees_lint_clean: PriorityEncoder<2, 1>, PriorityEncoder<3, 2>, PriorityEncoder<64, 6>,
        PriorityEncoder<1000, 10>, LeadingOnes<3, 2>, LeadingOnes<64, 7>, LeadingOnes<100, 7>;
    reduction_lints_clean: RedLane, RedFltSum, RedEngine;
    switch_lints_clean: SwitchTop<4, 9, 14, 6, 6, 31>;
    pipelined_trees_lint_clean: PriorityEncoderPipe<256, 8>, LeadingOnesPipe<256, 9>,
        LeadingOnesPipe<300, 9>;
}
