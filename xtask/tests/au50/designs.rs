//! The designs of the folder, altered or not, in the hands of the tools that know something of them.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

use super::crossings::{Crossing, crossings};
use super::netlist::Netlist;

/// The root of the repository.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .unwrap()
        .to_path_buf()
}

/// A pinned program.
pub fn tool(name: &str) -> Command {
    let tools = std::env::var_os("TRIBUTARY_TOOLS")
        .map_or_else(|| root().join("target/tools"), PathBuf::from);
    Command::new(tools.join("bin").join(name))
}

/// What a program has said.
pub fn text(output: &Output) -> String {
    let mut text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.push_str(&String::from_utf8_lossy(&output.stderr));
    text
}

/// A new folder for a test.
pub fn place(name: &str) -> PathBuf {
    let place = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join("au50")
        .join(name);
    let _ = fs::remove_dir_all(&place);
    fs::create_dir_all(&place).unwrap();
    place
}

/// The files of presets of `rtl_out`, each once.
pub fn generated(presets: &[&str]) -> Vec<PathBuf> {
    let mut files = vec![];
    for preset in presets {
        let folder = root().join("rtl_out").join(preset);
        let list = fs::read_to_string(folder.join("files.f")).unwrap();
        files.extend(
            list.lines()
                .map(|line| folder.join(line).canonicalize().unwrap()),
        );
    }
    files.sort();
    files.dedup();
    files
}

/// A change of a file of the board's folder: file, text that is there, text instead of it.
pub type Change = (&'static str, &'static str, &'static str);

/// Copies the board's folder to where a script finds `rtl_out` as in the repository, with `change` made.
pub fn copy(place: &Path, change: Option<Change>) -> PathBuf {
    let folder = place.join("constraints/au50");
    fs::create_dir_all(&folder).unwrap();
    std::os::unix::fs::symlink(root().join("rtl_out"), place.join("rtl_out")).unwrap();
    for entry in fs::read_dir(root().join("constraints/au50")).unwrap() {
        let entry = entry.unwrap();
        let mut text = fs::read_to_string(entry.path()).unwrap();
        if let Some((_, old, new)) = change.filter(|(file, ..)| entry.file_name() == *file) {
            assert_eq!(text.matches(old).count(), 1, "{old}");
            text = text.replace(old, new);
        }
        fs::write(folder.join(entry.file_name()), text).unwrap();
    }
    folder
}

/// A design: the source of its top, which is `au50_` and its name, and the presets that it takes.
pub type Design = (&'static str, &'static [&'static str]);

pub const CARD: Design = ("card", &["au50"]);
pub const SWITCH: Design = ("switch", &["au50", "ecp5-85f"]);

/// How much of the card is there.
pub enum Card<'a> {
    Whole,
    /// Its ports, in a file in this folder.
    Ports(&'a Path),
}

/// The top of a design in `folder` and all sources below it.
pub fn sources(folder: &Path, (design, presets): Design, card: &Card) -> Vec<PathBuf> {
    let mut sources = generated(presets);
    if let Card::Ports(place) = card {
        let is_card = |path: &Path| path.ends_with("us_card_q1024_r4096_f4096.v");
        let text = sources.iter().find(|path| is_card(path)).unwrap();
        let text = fs::read_to_string(text).unwrap();
        let ports = text.split_once("\n);\n").unwrap().0;
        let ports = format!(
            "/* verilator lint_off UNUSEDSIGNAL */\n/* verilator lint_off UNDRIVEN */\n{ports}\n);\nendmodule\n"
        );
        let file = place.join("us_card_q1024_r4096_f4096.v");
        fs::write(&file, ports).unwrap();
        sources.retain(|path| !is_card(path));
        sources.push(file);
    }
    sources.push(folder.join(format!("{design}.v")));
    sources.push(folder.join("line.v"));
    sources.push(root().join("xtask/tests/au50/vendor.v"));
    sources
}

/// Verilator's opinion of the top in `folder` and what is below it.
pub fn lint(folder: &Path, design: Design, card: &Card) -> (bool, String) {
    let output = tool("verilator")
        .args(["--lint-only", "-Wall", "-Wno-PINCONNECTEMPTY"])
        .args([
            "-Wno-DECLFILENAME",
            "--top-module",
            &format!("au50_{}", design.0),
        ])
        .args(sources(folder, design, card))
        .output()
        .unwrap();
    (output.status.success(), text(&output))
}

/// What the script can name: from Yosys, which knows the card or the switch by its ports alone.
pub fn netlist(design: Design) -> &'static Netlist {
    &elaborated(design).0
}

/// The same, and the paths between its clocks.
pub fn elaborated(design: Design) -> &'static (Netlist, BTreeSet<Crossing>) {
    static NETLISTS: [OnceLock<(Netlist, BTreeSet<Crossing>)>; 2] =
        [OnceLock::new(), OnceLock::new()];
    NETLISTS[usize::from(design == SWITCH)].get_or_init(|| {
        let place = place(&format!("netlist_{}", design.0));
        elaborate(&place, &root().join("constraints/au50"), design)
    })
}

/// The same of the tops in another folder.
pub fn elaborate(place: &Path, folder: &Path, design: Design) -> (Netlist, BTreeSet<Crossing>) {
    const BLOCKS: [&str; 7] = [
        "mac_",
        "crc32_",
        "sync_",
        "ram_two",
        "count_",
        "fifo_async",
        "event_cross",
    ];
    let own = [format!("{}.v", design.0), "line.v".to_owned()];
    let mut known = vec![];
    let mut read = vec![];
    for path in sources(folder, design, &Card::Whole) {
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        fs::copy(&path, place.join(&name)).unwrap();
        let core = name.starts_with("us_card_") || name.starts_with("switch_n4_");
        if core || name == "vendor.v" {
            known.push(name);
        } else if own.contains(&name) || BLOCKS.iter().any(|block| name.starts_with(block)) {
            read.push(name);
        }
    }
    let top = format!("au50_{}", design.0);
    let script = format!(
        "read_verilog -lib {}; read_verilog {}; hierarchy -check -top {top}; proc; write_json netlist.json; \
         flatten; opt_clean; write_json flat.json",
        known.join(" "),
        read.join(" ")
    );
    let output = tool("yosys")
        .current_dir(place)
        .args(["-q", "-p", &script])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", text(&output));
    let read = |name: &str| fs::read_to_string(place.join(name)).unwrap();
    (
        Netlist::read(&read("netlist.json"), &top),
        crossings(&read("flat.json"), &top),
    )
}

/// Runs the script in `folder` under the stub; `slack` is what timing ends with. None without tclsh.
pub fn build(
    place: &Path,
    folder: &Path,
    design: Design,
    slack: &str,
    arguments: &[&str],
) -> Option<(bool, String)> {
    let names = place.join("netlist.tcl");
    fs::write(&names, netlist(design).as_tcl()).unwrap();
    let run = Command::new("tclsh")
        .arg(root().join("xtask/tests/au50/vivado.tcl"))
        .arg(&names)
        .arg(slack)
        .arg(folder.join("build.tcl"))
        .args(arguments)
        .output();
    match run {
        Ok(output) => Some((output.status.success(), text(&output))),
        Err(_) => {
            println!("skipped: there is no tclsh (Debian: tcl)");
            None
        }
    }
}

/// Runs `au50/bench.v` with the top in `folder`: how many frames and faults. None without iverilog.
pub fn simulate(place: &Path, folder: &Path, lives: u32) -> Option<(u32, u32)> {
    let program = place.join("bench");
    let compiled = Command::new("iverilog")
        .args(["-g2005", "-s", "bench", "-o"])
        .arg(&program)
        .arg(format!("-Pbench.LIVES={lives}"))
        .arg(root().join("xtask/tests/au50/bench.v"))
        .args(sources(folder, CARD, &Card::Ports(place)))
        .output();
    let Ok(compiled) = compiled else {
        println!("skipped: there is no iverilog");
        return None;
    };
    assert!(compiled.status.success(), "{}", text(&compiled));
    let output = text(&Command::new("vvp").arg(&program).output().unwrap());
    println!("{output}");
    let line = output
        .lines()
        .find(|line| line.ends_with(" faults"))
        .unwrap();
    let mut numbers = line.split(' ').filter_map(|word| word.parse().ok());
    Some((numbers.next()?, numbers.next()?))
}
