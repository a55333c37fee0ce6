//! The cores beside the generated Verilog, by FuseSoC itself: all are found, their targets run, and a wrong list is noticed.
//!
//! Skipped where FuseSoC is not installed (`cargo xtask tools` does it). The short form leaves out the lint of card and
//! switch in the sizes of the U50; with them:
//!
//! ```sh
//! CORES_LONG=1 cargo test --workspace --test fusesoc -- --nocapture
//! ```

#[path = "common/fusesoc.rs"]
mod fusesoc;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::thread;

use fusesoc::FuseSoc;

/// Folders with cores, the library first.
const FOLDERS: [&str; 5] = ["lib", "sim", "versa-45f", "ecp5-85f", "au50"];

fn rtl_out() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("rtl_out")
}

/// Folder, name and VLNV of every core in `out`.
fn cores(out: &Path) -> Vec<(&'static str, String, String)> {
    let mut cores = Vec::new();
    for folder in FOLDERS {
        for entry in fs::read_dir(out.join(folder)).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|ending| ending == "core") {
                let text = fs::read_to_string(&path).unwrap();
                let vlnv = text.lines().find_map(|line| line.strip_prefix("name: "));
                let vlnv = vlnv.unwrap().trim_matches('"').to_owned();
                let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
                cores.push((folder, name, vlnv));
            }
        }
    }
    cores.sort();
    cores
}

/// The cores of tops in `out`.
fn tops(out: &Path) -> Vec<(&'static str, String, String)> {
    let mut cores = cores(out);
    cores.retain(|(_, name, _)| name != "common");
    cores
}

/// The arguments that name a folder with cores.
fn root(out: &Path) -> Vec<&str> {
    vec!["--cores-root", out.to_str().unwrap()]
}

/// Runs a target, which must succeed without a warning.
fn run(fusesoc: &FuseSoc, out: &Path, arguments: &[&str]) {
    let (passed, told) = fusesoc.run(&[&root(out)[..], &["run"], arguments].concat());
    assert!(passed, "{arguments:?}: {told}");
    assert!(
        !told.to_lowercase().contains("warning"),
        "{arguments:?}: {told}"
    );
}

/// A copy of the generated cores and Verilog that may be spoilt.
fn copy(fusesoc: &FuseSoc) -> PathBuf {
    let copy = fusesoc.folder.join("rtl");
    for folder in FOLDERS {
        fs::create_dir_all(copy.join(folder)).unwrap();
        for entry in fs::read_dir(rtl_out().join(folder)).unwrap() {
            let path = entry.unwrap().path();
            fs::copy(&path, copy.join(folder).join(path.file_name().unwrap())).unwrap();
        }
    }
    copy
}

#[test]
fn fusesoc_finds_a_core_for_every_top_of_every_preset() {
    let Some(fusesoc) = FuseSoc::find() else {
        return;
    };
    let out = rtl_out();
    let (passed, told) = fusesoc.run(&[&root(&out)[..], &["core", "list"]].concat());
    assert!(passed, "{told}");
    assert!(!told.contains("ERROR") && !told.contains("Parse"), "{told}");
    let listed: BTreeSet<&str> = told
        .lines()
        .filter_map(|line| line.split_whitespace().next())
        .filter(|word| word.starts_with("tributary:"))
        .collect();
    let cores = cores(&out);
    assert_eq!(
        listed,
        cores.iter().map(|(_, _, vlnv)| vlnv.as_str()).collect()
    );

    // The page of a preset has a heading for each top.
    for preset in &FOLDERS[1..] {
        let page = fs::read_to_string(out.join(preset).join("README.md")).unwrap();
        let tops: Vec<&str> = page.lines().filter_map(|l| l.strip_prefix("## ")).collect();
        assert!(!tops.is_empty());
        for top in tops {
            let has = cores
                .iter()
                .any(|(folder, name, _)| folder == preset && name == top);
            assert!(has, "{preset} has no core {top}");
        }
    }
}

#[test]
fn lint_of_the_cores_has_nothing_to_say() {
    let Some(fusesoc) = FuseSoc::find() else {
        return;
    };
    let out = rtl_out();
    let long = std::env::var_os("CORES_LONG").is_some();
    let mut seen = BTreeSet::new();
    let wanted: Vec<String> = tops(&out)
        .into_iter()
        .filter(|(folder, name, _)| {
            let large = name.starts_with("card_") || name.starts_with("switch_");
            long || !(*folder == "au50" && large)
        })
        // What is the same in several presets is one module of the library.
        .filter(|(_, name, _)| long || seen.insert(name.clone()))
        .map(|(_, _, vlnv)| vlnv)
        .collect();
    for folder in &FOLDERS[1..] {
        assert!(
            wanted
                .iter()
                .any(|vlnv| vlnv.starts_with(&format!("tributary:{folder}:")))
        );
    }
    let left = Mutex::new(wanted.iter());
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let Some(vlnv) = left.lock().unwrap().next() else {
                        return;
                    };
                    run(&fusesoc, &out, &["--target=lint", vlnv]);
                }
            });
        }
    });
    println!("{} tops", wanted.len());
}

#[test]
fn a_design_may_take_all_cores_at_once() {
    let Some(fusesoc) = FuseSoc::find() else {
        return;
    };
    let out = rtl_out();
    let depends: String = tops(&out)
        .iter()
        .map(|(_, _, vlnv)| format!("      - \"{vlnv}\"\n"))
        .collect();
    let design = fusesoc.folder.join("design");
    fs::create_dir(&design).unwrap();
    fs::write(
        design.join("all.core"),
        format!(
            "CAPI=2:\nname: example:designs:all:1.0.0\nfilesets:\n  rtl:\n    depend:\n{depends}\
             targets:\n  lint:\n    filesets: [rtl]\n    toplevel: red_lane\n    flow: lint\n    \
             flow_options:\n      tool: verilator\n      verilator_options: [-Wall]\n"
        ),
    )
    .unwrap();
    // Verilator says so if a module is there twice.
    let roots = [
        &root(&out)[..],
        &root(&design),
        &["run", "--target=lint", "example:designs:all"],
    ];
    let (passed, told) = fusesoc.run(&roots.concat());
    assert!(passed && !told.to_lowercase().contains("warning"), "{told}");
}

#[test]
fn a_core_without_one_of_its_files_is_noticed() {
    let Some(fusesoc) = FuseSoc::find() else {
        return;
    };
    let out = copy(&fusesoc);
    let lint = ["run", "--target=lint", "tributary:sim:rw_window_w64_r16"];
    let without = |core: &str, file: &str| {
        let path = out.join(core);
        let whole = fs::read_to_string(&path).unwrap();
        let line = format!("      - \"{file}.v\"\n");
        assert_eq!(whole.matches(&line).count(), 1, "{core} has {file} once");
        fs::write(&path, whole.replace(&line, "")).unwrap();
        let (passed, told) = fusesoc.run(&[&root(&out)[..], &lint].concat());
        assert!(!passed && told.contains(file), "without {file}: {told}");
        fs::write(&path, whole).unwrap();
    };
    // One of its own, and one of the library.
    without("sim/rw_window_w64_r16.core", "rw_acks_r16");
    without("lib/common.core", "rw_decisions");

    // A list that names a file that is not there.
    fs::remove_file(out.join("sim/rw_acks_r16.v")).unwrap();
    let (passed, told) = fusesoc.run(&[&root(&out)[..], &lint].concat());
    assert!(!passed && told.contains("rw_acks_r16.v"), "{told}");
}

/// What the script that Edalize has written does, as a command line of Yosys: the pinned one has no Tcl.
fn without_tcl(build: &Path) -> String {
    let procs = fs::read_to_string(build.join("edalize_yosys_procs.tcl")).unwrap();
    let value = |name: &str| {
        let line = procs.lines().find_map(|l| l.strip_prefix(name)).unwrap();
        line.trim().to_owned()
    };
    let mut script = String::new();
    // set defines {{NAME VALUE}}
    for line in procs
        .lines()
        .filter_map(|l| l.strip_prefix("set defines {"))
    {
        for pair in line
            .split(['{', '}'])
            .filter(|pair| !pair.trim().is_empty())
        {
            let (name, value) = pair.split_once(' ').unwrap();
            script += &format!("verilog_defines -D{name}={value}; ");
        }
    }
    for line in procs
        .lines()
        .filter(|line| line.starts_with("read_verilog "))
    {
        script += &format!("{}; ", line.replace(['{', '}'], ""));
    }
    let synth = procs
        .lines()
        .find(|line| line.starts_with("synth_"))
        .unwrap();
    script += &synth.replace("$top", &value("set top "));
    format!(
        "{script}; check -assert; write_json {}.json",
        value("set name ")
    )
}

/// Writes the files of `synth`, runs Yosys on them, and returns the netlist.
fn synthesised(fusesoc: &FuseSoc, preset: &str, top: &str) -> String {
    let vlnv = format!("tributary:{preset}:{top}");
    run(fusesoc, &rtl_out(), &["--setup", "--target=synth", &vlnv]);
    let version = env!("CARGO_PKG_VERSION");
    let build = fusesoc
        .folder
        .join(format!("build/tributary_{preset}_{top}_{version}/synth"));
    let (passed, told) = fusesoc.yosys(&build, &without_tcl(&build));
    assert!(passed, "{vlnv}: {told}");
    fs::read_to_string(build.join(format!("tributary_{preset}_{top}_{version}.json"))).unwrap()
}

#[test]
fn synth_makes_a_netlist_of_the_fpga_of_the_preset() {
    let Some(fusesoc) = FuseSoc::find() else {
        return;
    };
    let cells =
        |netlist: &str, cell: &str| netlist.matches(&format!("\"type\": \"{cell}\"")).count();
    // Block RAMs with their output register are instances where the macro is defined; Yosys makes none by itself.
    let ecp5 = synthesised(&fusesoc, "versa-45f", "tlp_units_d128");
    assert!(ecp5.contains("\"REGMODE\": \"OUTREG\"") && cells(&ecp5, "TRELLIS_FF") > 0);
    let amd = synthesised(&fusesoc, "au50", "red_lane");
    assert!(cells(&amd, "CARRY4") + cells(&amd, "CARRY8") > 0 && cells(&amd, "FDRE") > 0);
}
