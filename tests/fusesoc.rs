//! The cores beside the generated Verilog, by FuseSoC itself: all are found, their targets run, and a wrong list is noticed.
//!
//! Skipped where FuseSoC is not installed (`cargo xtask tools` does it). The short form leaves out the lint of card and
//! switch in the sizes of ECP5-85F and U50, and synthesis for the U50; with them:
//!
//! ```sh
//! CORES_LONG=1 cargo test --workspace --test fusesoc -- --nocapture
//! ```

#[path = "common/fusesoc.rs"]
mod fusesoc;

use std::collections::{BTreeMap, BTreeSet};
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

/// Everything is to be looked at.
fn is_long() -> bool {
    std::env::var_os("CORES_LONG").is_some()
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
    let long = is_long();
    let mut seen = BTreeSet::new();
    let wanted: Vec<String> = tops(&out)
        .into_iter()
        .filter(|(folder, name, _)| {
            let large = name.starts_with("card_") || name.starts_with("switch_");
            long || !(large && ["ecp5-85f", "au50"].contains(folder))
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
fn the_example_of_the_page_takes_a_top_from_a_library() {
    let Some(fusesoc) = FuseSoc::find() else {
        return;
    };
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/integration.md");
    let page = fs::read_to_string(page).unwrap();
    let (_, core) = page.split_once("```yaml\n").unwrap();
    let (core, _) = core.split_once("```").unwrap();
    let design = fusesoc.folder.join("design");
    fs::create_dir(&design).unwrap();
    fs::write(design.join("mine.core"), core).unwrap();

    // A module with the ports of the top, around it.
    let top = fs::read_to_string(rtl_out().join("sim/rw_window_w64_r16.v")).unwrap();
    let (_, ports) = top.split_once("module rw_window_w64_r16 (").unwrap();
    let (ports, _) = ports.split_once("\n);").unwrap();
    let mine = format!("module mine ({ports}\n);\n    rw_window_w64_r16 window (.*);\nendmodule\n");
    fs::write(design.join("mine.v"), mine).unwrap();

    for (name, folder) in [("tributary", rtl_out()), ("mine", design)] {
        let (passed, told) = fusesoc.run(&["library", "add", name, folder.to_str().unwrap()]);
        assert!(passed, "{told}");
    }
    // A macro of the library is a parameter of who depends on it.
    let lint = ["run", "--target=lint", "example:designs:mine"];
    for more in [&[][..], &["--TRIBUTARY_RAM_COLLISION"]] {
        let (passed, told) = fusesoc.run(&[&lint[..], more].concat());
        assert!(
            passed && !told.to_lowercase().contains("%warning"),
            "{told}"
        );
        let list = "build/example_designs_mine_1.0.0/lint/example_designs_mine_1.0.0.vc";
        let list = fs::read_to_string(fusesoc.folder.join(list)).unwrap();
        assert_eq!(list.contains("-DTRIBUTARY_RAM_COLLISION"), !more.is_empty());
    }
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
    let lint = |top: &str| {
        let core = format!("tributary:sim:{top}");
        fusesoc.run(&[&root(&out)[..], &["run", "--target=lint", &core]].concat())
    };
    let without = |top: &str, core: &str, file: &str| {
        let path = out.join(core);
        let whole = fs::read_to_string(&path).unwrap();
        let line = format!("      - \"{file}.v\"\n");
        assert_eq!(whole.matches(&line).count(), 1, "{core} has {file} once");
        fs::write(&path, whole.replace(&line, "")).unwrap();
        let (passed, told) = lint(top);
        assert!(!passed && told.contains(file), "without {file}: {told}");
        fs::write(&path, whole).unwrap();
    };
    // One of its own, one that several tops of the preset have, and one of the library.
    let own = "switch_row_n4_d512_u64_t64";
    let top = "switch_n4_d512_u64_t64";
    without(top, &format!("sim/{top}.core"), own);
    let top = "rw_window_w64_r16";
    without(top, "sim/common.core", "rw_acks_r16");
    without(top, "lib/common.core", "rw_decisions");

    // A list that names a file that is not there.
    fs::remove_file(out.join("sim/rw_acks_r16.v")).unwrap();
    let (passed, told) = lint(top);
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

/// Writes the files of `synth`: where, and what Yosys is to do.
fn set_up(fusesoc: &FuseSoc, preset: &str, top: &str) -> (PathBuf, String) {
    let vlnv = format!("tributary:{preset}:{top}");
    run(fusesoc, &rtl_out(), &["--setup", "--target=synth", &vlnv]);
    let version = env!("CARGO_PKG_VERSION");
    let build = format!("build/tributary_{preset}_{top}_{version}/synth");
    let build = fusesoc.folder.join(build);
    let script = without_tcl(&build);
    (build, script)
}

/// Runs it, and counts the cells of each kind in the netlist of the top.
fn cells(fusesoc: &FuseSoc, build: &Path, script: &str, top: &str) -> BTreeMap<String, usize> {
    let (passed, told) = fusesoc.yosys(build, script);
    assert!(passed, "{told}");
    let (_, netlist) = script.rsplit_once("write_json ").unwrap();
    let netlist = fs::read_to_string(build.join(netlist)).unwrap();
    let netlist: serde_json::Value = serde_json::from_str(&netlist).unwrap();
    let mut count = BTreeMap::new();
    for cell in netlist["modules"][top]["cells"]
        .as_object()
        .unwrap()
        .values()
    {
        let kind = cell["type"].as_str().unwrap();
        let mode = cell["parameters"]["REGMODE"].as_str().unwrap_or_default();
        *count
            .entry(format!("{kind} {mode}").trim().to_owned())
            .or_default() += 1;
    }
    count
}

#[test]
fn synth_makes_a_netlist_of_the_fpga_of_the_preset() {
    let Some(fusesoc) = FuseSoc::find() else {
        return;
    };
    let top = "tlp_units_d128";
    let (build, script) = set_up(&fusesoc, "versa-45f", top);
    // Block RAMs with their output register are instances where the macro is defined; Yosys makes none by itself.
    let ecp5 = cells(&fusesoc, &build, &script, top);
    assert_eq!(ecp5.get("PDPW16KD OUTREG"), Some(&3), "{ecp5:?}");
    assert!(ecp5.contains_key("TRELLIS_FF"), "{ecp5:?}");
    let without = script.replace("verilog_defines -DTRIBUTARY_ECP5=True; ", "");
    assert_ne!(without, script);
    let without = cells(&fusesoc, &build, &without, top);
    assert!(!without.contains_key("PDPW16KD OUTREG"), "{without:?}");

    let (build, script) = set_up(&fusesoc, "au50", "red_lane");
    assert!(
        script.contains("; synth_xilinx -family xcup -top red_lane; "),
        "{script}"
    );
    assert!(!script.contains("TRIBUTARY_ECP5"));
    if is_long() {
        let amd = cells(&fusesoc, &build, &script, "red_lane");
        assert!(
            amd.contains_key("FDRE") && amd.contains_key("LUT6"),
            "{amd:?}"
        );
    }
}
