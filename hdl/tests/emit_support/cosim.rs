//! The emitted Verilog against rust-hdl's own simulation, vector by vector, and against
//! rust-hdl's own Verilog by proof.

use std::path::Path;

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rust_hdl::simulate::simulate;
use tributary_hdl::emit::{Design, emit_block, record};
use tributary_hdl::prelude::*;

use super::tools;

/// Gives a block RAM's undefined word the value that it has in rust-hdl.
const COLLISION: &str = "-DTRIBUTARY_RAM_COLLISION";

/// A port's name in Verilog, direction, width and present value.
struct PortValue {
    name: String,
    input: bool,
    width: usize,
    digits: String,
    clock: bool,
}

/// Reads the ports of the top block.
#[derive(Default)]
struct Ports {
    depth: usize,
    namespace: Vec<String>,
    found: Vec<PortValue>,
}

impl Probe for Ports {
    fn visit_start_scope(&mut self, _: &str, _: &dyn Block) {
        self.depth += 1;
    }
    fn visit_end_scope(&mut self, _: &str, _: &dyn Block) {
        self.depth -= 1;
    }
    fn visit_start_namespace(&mut self, name: &str, _: &dyn Block) {
        self.namespace.push(name.to_owned());
    }
    fn visit_end_namespace(&mut self, _: &str, _: &dyn Block) {
        self.namespace.pop();
    }
    fn visit_atom(&mut self, name: &str, signal: &dyn Atom) {
        let kind = signal.kind();
        if self.depth != 1 || !kind.is_parameter() {
            return;
        }
        let literal = format!("{:x}", signal.verilog());
        let digits = literal.split("'h").nth(1).unwrap_or_default().to_owned();
        let mut path = self.namespace.clone();
        path.push(name.to_owned());
        if let Some(leaves) = record::leaves(&signal.descriptor()) {
            let key = path.join("$");
            let mut lo = 0;
            for leaf in leaves {
                let part = part(&digits, lo, leaf.width);
                lo += leaf.width;
                if leaf.path.is_empty() {
                    continue;
                }
                let name = format!("{}${}", record::stem(&key), leaf.path.join("$"));
                self.found.push(PortValue {
                    name: name.replace('$', "_"),
                    input: kind == AtomKind::InputParameter,
                    width: leaf.width,
                    digits: part,
                    clock: false,
                });
            }
            return;
        }
        self.found.push(PortValue {
            name: path.join("_").replace('$', "_"),
            input: kind == AtomKind::InputParameter,
            width: signal.bits(),
            digits,
            clock: signal.descriptor().name == "clock",
        });
    }
}

/// So many bits of a hexadecimal number, from one of them up.
fn part(digits: &str, lo: usize, width: usize) -> String {
    let nibbles: Vec<u32> = digits
        .chars()
        .rev()
        .filter_map(|c| c.to_digit(16))
        .collect();
    let bit = |at: usize| match at < lo + width {
        true => nibbles
            .get(at / 4)
            .map_or(0, |nibble| nibble >> (at % 4) & 1),
        false => 0,
    };
    let digit = |n: usize| (0..4).map(|b| bit(lo + 4 * n + b) << b).sum::<u32>();
    let digits = (0..width.div_ceil(4))
        .rev()
        .map(|n| format!("{:x}", digit(n)));
    digits.collect()
}

fn ports(block: &dyn Block) -> Vec<PortValue> {
    let mut probe = Ports::default();
    block.accept("top", &mut probe);
    probe.found
}

/// Drives `block` with `steps` random vectors in rust-hdl's simulation, replays them on the
/// emitted Verilog in Verilator (and Icarus where installed) and compares every output.
/// `set` gives the inputs their next value, `clock` drives the clock if there is one.
pub fn assert_same<B: Block>(
    name: &str,
    block: B,
    steps: usize,
    set: impl FnMut(&mut B, &mut ChaCha8Rng),
    clock: impl Fn(&mut B, bool),
) -> Design {
    compare(name, block, steps, set, clock, false)
}

/// As [`assert_same`], but in Icarus alone where it is installed: no C++ to compile.
pub fn assert_same_quickly<B: Block>(
    name: &str,
    block: B,
    steps: usize,
    set: impl FnMut(&mut B, &mut ChaCha8Rng),
    clock: impl Fn(&mut B, bool),
) -> Design {
    compare(name, block, steps, set, clock, true)
}

fn compare<B: Block>(
    name: &str,
    mut block: B,
    steps: usize,
    mut set: impl FnMut(&mut B, &mut ChaCha8Rng),
    clock: impl Fn(&mut B, bool),
    quick: bool,
) -> Design {
    let design = emit_block(&mut block).unwrap_or_else(|e| panic!("{e}"));
    let dir = tools::scratch(name);
    tools::assert_no_messages(&design, &dir);
    let mut rng = ChaCha8Rng::seed_from_u64(0x7121_6b07);
    let mut vectors = String::new();
    let settle = |b: &mut B| {
        assert!(
            simulate(b, 1000),
            "{name}: rust-hdl's simulation does not settle"
        )
    };
    settle(&mut block);
    for _ in 0..steps {
        set(&mut block, &mut rng);
        settle(&mut block);
        for p in ports(&block).iter().filter(|p| !p.clock) {
            vectors.push_str(&format!("{}\n", p.digits));
        }
        clock(&mut block, true);
        settle(&mut block);
        clock(&mut block, false);
        settle(&mut block);
    }
    std::fs::write(dir.join("vectors.hex"), vectors).expect("a writable target folder");
    let bench = bench(&design.top, &ports(&block), steps);
    std::fs::write(dir.join("bench.v"), bench).expect("a writable target folder");
    let files: Vec<String> = design.modules.iter().map(|m| m.file_name()).collect();
    run(name, &design, &files, &dir, quick);
    design
}

/// Runs what yosys makes of a design that [`assert_same`] has run, through the same steps: before
/// its first reset a register of states may hold none. Returns what yosys said.
pub fn assert_netlist_same(name: &str, design: &Design) -> String {
    let dir = tools::place(name);
    let files: Vec<String> = design.modules.iter().map(|m| m.file_name()).collect();
    let script = format!(
        "read_verilog {}; synth -flatten -top {}; write_verilog -noattr netlist.v",
        files.join(" "),
        design.top
    );
    let (ok, said) = tools::yosys(&dir, &script);
    assert!(ok, "{name}: yosys: {said}");
    run(name, design, &["netlist.v".to_owned()], &dir, false);
    said
}

/// A test bench that replays `vectors.hex`: one line per port and step.
fn bench(top: &str, ports: &[PortValue], steps: usize) -> String {
    let data: Vec<&PortValue> = ports.iter().filter(|p| !p.clock).collect();
    let widest = data.iter().map(|p| p.width).max().unwrap_or(1);
    let mut out = format!(
        "`timescale 1ns/1ps\nmodule bench;\n    reg [{}:0] vectors [0:{}];\n    integer step;\n    integer wrong;\n",
        widest - 1,
        steps * data.len() - 1
    );
    for p in ports {
        let kind = if p.input { "reg" } else { "wire" };
        out.push_str(&format!("    {kind} [{}:0] {};\n", p.width - 1, p.name));
    }
    let connections: Vec<String> = ports.iter().map(|p| format!(".{0}({0})", p.name)).collect();
    out.push_str(&format!(
        "    {top} dut ({});\n    initial begin\n",
        connections.join(", ")
    ));
    out.push_str("        $readmemh(\"vectors.hex\", vectors);\n        wrong = 0;\n");
    for p in ports.iter().filter(|p| p.clock) {
        out.push_str(&format!("        {} = 0;\n", p.name));
    }
    out.push_str(&format!(
        "        for (step = 0; step < {steps}; step = step + 1) begin\n"
    ));
    let at = |i: usize, w: usize| format!("vectors[step * {} + {i}][{}:0]", data.len(), w - 1);
    for (i, p) in data.iter().enumerate().filter(|(_, p)| p.input) {
        out.push_str(&format!("            {} = {};\n", p.name, at(i, p.width)));
    }
    out.push_str("            #1;\n");
    for (i, p) in data.iter().enumerate().filter(|(_, p)| !p.input) {
        out.push_str(&format!(
            // Icarus shows a memory's output as unknown until it is first read; Verilator does not.
            "            if ({0} !== {1} && !(step < 64 && ^{0} === 1'bx)) begin wrong = wrong + 1; if (wrong < 20) $display(\"step %0d: {0} is %h, rust-hdl says %h\", step, {0}, {1}); end\n",
            p.name,
            at(i, p.width)
        ));
    }
    out.push_str("            #1;\n");
    for p in ports.iter().filter(|p| p.clock) {
        out.push_str(&format!("            {0} = 1; #1; {0} = 0; #1;\n", p.name));
    }
    out.push_str("        end\n        if (wrong == 0) $display(\"ALL SAME\");\n        $finish;\n    end\nendmodule\n");
    out
}

fn run(name: &str, design: &Design, files: &[String], dir: &Path, quick: bool) {
    let files: Vec<&str> = files.iter().map(String::as_str).collect();
    let mut args = vec![
        "-g2001",
        COLLISION,
        "-o",
        "icarus.vvp",
        "-s",
        "bench",
        "bench.v",
    ];
    args.extend(&files);
    if let Some((ok, said)) = tools::icarus(dir, &args) {
        assert!(ok, "{name}: iverilog: {said}");
        check(
            name,
            "Icarus",
            std::process::Command::new("vvp").arg("icarus.vvp"),
            dir,
            design,
        );
        if quick {
            return;
        }
    }
    let mut args = vec![
        "--binary",
        COLLISION,
        "--timing",
        "-CFLAGS",
        "-std=c++20 -fcoroutines -O0",
        "-Wno-fatal",
        "-Wno-lint",
        "-Wno-style",
        "--top-module",
        "bench",
        "-o",
        "bench",
        "bench.v",
    ];
    args.extend(&files);
    let (ok, said) = tools::verilator(dir, &args);
    assert!(ok, "{name}: verilator: {said}");
    check(
        name,
        "Verilator",
        &mut std::process::Command::new(dir.join("obj_dir/bench")),
        dir,
        design,
    );
}

fn check(
    name: &str,
    engine: &str,
    command: &mut std::process::Command,
    dir: &Path,
    design: &Design,
) {
    let output = command
        .current_dir(dir)
        .output()
        .expect("the simulation just built runs");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(
        said.contains("ALL SAME"),
        "{name} in {engine} differs from rust-hdl:\n{said}\n{}",
        design.to_text()
    );
}

/// Proves with yosys that the emitted Verilog is equivalent to rust-hdl's own.
pub fn assert_equivalent<B: Block>(name: &str, mut block: B) -> Design {
    let design = emit_block(&mut block).unwrap_or_else(|e| panic!("{e}"));
    let dir = tools::scratch(name);
    let files = design
        .write_to(&dir)
        .expect("a writable target folder")
        .join(" ");
    // Registers correspond by name: rust-hdl's `count$q` is the writer's `count_reg`.
    let gold = generate_verilog(&block);
    let words =
        gold.split_inclusive(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '$'));
    let gold: String = words
        .map(|w| {
            let (word, end) = w.split_at(
                w.trim_end_matches(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '$'))
                    .len(),
            );
            if word.contains("top$") {
                return w.to_owned();
            }
            let word = match word.strip_suffix("$q") {
                Some(base) => format!("{base}_reg"),
                None => word.to_owned(),
            };
            word.replace('$', "_") + end
        })
        .collect();
    std::fs::write(dir.join("gold.v"), gold).expect("a writable target folder");
    let script = format!(
        "read_verilog gold.v; prep -flatten -top top; rename top gold; memory_map; opt_clean; design -stash g; \
         read_verilog {files}; prep -flatten -top {top}; rename {top} gate; memory_map; opt_clean; design -stash h; \
         design -copy-from g -as gold gold; design -copy-from h -as gate gate; \
         equiv_make gold gate equiv; hierarchy -top equiv; equiv_simple -undef; equiv_induct -undef; \
         equiv_status -assert",
        top = design.top
    );
    let (ok, said) = tools::yosys(&dir, &script);
    assert!(
        ok,
        "{name}: not proven equivalent: {said}\n{}",
        design.to_text()
    );
    design
}
