//! The folder of the Alveo U50, without Vivado: its Verilog lints with the ports of the vendor's blocks, its resets are
//! simulated, and its script and constraints run in Tcl under a stub that knows the commands, pins, properties, ports and
//! registers (`au50/vivado.tcl`). Mistakes in each of them are noticed.
//!
//! Needs the pinned tools; what runs Tcl is skipped where there is no `tclsh`, the simulation where there is no `iverilog`.

mod au50 {
    pub mod crossings;
    pub mod netlist;
}

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

use au50::crossings::{Crossing, crossings};
use au50::netlist::Netlist;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .unwrap()
        .to_path_buf()
}

/// A pinned program.
fn tool(name: &str) -> Command {
    let tools = std::env::var_os("TRIBUTARY_TOOLS")
        .map_or_else(|| root().join("target/tools"), PathBuf::from);
    Command::new(tools.join("bin").join(name))
}

fn text(output: &Output) -> String {
    let mut text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.push_str(&String::from_utf8_lossy(&output.stderr));
    text
}

/// A new folder for a test.
fn place(name: &str) -> PathBuf {
    let place = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join("au50")
        .join(name);
    let _ = fs::remove_dir_all(&place);
    fs::create_dir_all(&place).unwrap();
    place
}

/// The files of presets of `rtl_out`, each once.
fn generated(presets: &[&str]) -> Vec<PathBuf> {
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
type Change = (&'static str, &'static str, &'static str);

/// Copies the board's folder to where a script finds `rtl_out` as in the repository, with `change` made.
fn copy(place: &Path, change: Option<Change>) -> PathBuf {
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
type Design = (&'static str, &'static [&'static str]);

const CARD: Design = ("card", &["au50"]);
const SWITCH: Design = ("switch", &["au50", "ecp5-85f"]);

/// How much of the card is there.
enum Card<'a> {
    Whole,
    /// Its ports, in a file in this folder.
    Ports(&'a Path),
}

/// The top of a design in `folder` and all sources below it.
fn sources(folder: &Path, (design, presets): Design, card: &Card) -> Vec<PathBuf> {
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
fn lint(folder: &Path, design: Design, card: &Card) -> (bool, String) {
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
fn netlist(design: Design) -> &'static Netlist {
    &elaborated(design).0
}

/// The same, and the paths between its clocks.
fn elaborated(design: Design) -> &'static (Netlist, BTreeSet<Crossing>) {
    static NETLISTS: [OnceLock<(Netlist, BTreeSet<Crossing>)>; 2] =
        [OnceLock::new(), OnceLock::new()];
    NETLISTS[usize::from(design == SWITCH)].get_or_init(|| {
        let place = place(&format!("netlist_{}", design.0));
        elaborate(&place, &root().join("constraints/au50"), design)
    })
}

/// The same of the tops in another folder.
fn elaborate(place: &Path, folder: &Path, design: Design) -> (Netlist, BTreeSet<Crossing>) {
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
fn build(
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

#[test]
fn the_tops_lint_with_the_ports_of_the_vendors_blocks() {
    for design in [CARD, SWITCH] {
        let (clean, output) = lint(&root().join("constraints/au50"), design, &Card::Whole);
        assert!(clean, "{output}");
    }
}

#[test]
fn mistakes_in_the_top_are_noticed() {
    let changes: [(Change, &str); 4] = [
        (
            (
                "card.v",
                ".tx_mii_d_0(xgmii_txd)",
                ".tx_mii_data_0(xgmii_txd)",
            ),
            "tx_mii_data_0",
        ),
        (
            ("card.v", ".cfg_flr_done(flr_done),\n\n", "\n\n"),
            "cfg_flr_done",
        ),
        (
            ("card.v", "wire [74:0] rc_tuser", "wire [73:0] rc_tuser"),
            "m_axis_rc_tuser",
        ),
        (
            ("card.v", ".rx_clk_out_0(rx_clk), ", ".rx_clk_out_0(), "),
            "rx_clk",
        ),
    ];
    for (number, (change, named)) in changes.into_iter().enumerate() {
        let place = place(&format!("top_{number}"));
        let (clean, output) = lint(&copy(&place, Some(change)), CARD, &Card::Ports(&place));
        assert!(!clean && output.contains(named), "{change:?}: {output}");
    }
}

/// Runs `au50/bench.v` with the top in `folder`: how many frames and faults. None without iverilog.
fn simulate(place: &Path, folder: &Path, lives: u32) -> Option<(u32, u32)> {
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

#[test]
fn no_frame_is_cut_or_of_before_whenever_the_block_is_reset_and_the_receiving_clock_stands() {
    let place = place("resets");
    let board = root().join("constraints/au50");
    if let Some((frames, faults)) = simulate(&place, &board, 8) {
        assert!(frames > 300 && faults == 0, "{frames}, {faults}");
    }
}

#[test]
fn mistakes_in_the_resets_of_the_top_are_noticed() {
    let changes: [Change; 4] = [
        ("line.v", "tx_tvalid & pass)", "tx_tvalid)"),
        ("line.v", "!(taken ? !s_axis_tx_tlast : midway)", "1'b1"),
        ("line.v", "(tx_back & rx_back) ?", "tx_back ?"),
        ("card.v", "hbm_cattrip = 1'b0", "hbm_cattrip = 1'b1"),
    ];
    for (number, change) in changes.into_iter().enumerate() {
        let place = place(&format!("resets_{number}"));
        let folder = copy(&place, Some(change));
        let Some((_, faults)) = simulate(&place, &folder, 3) else {
            return;
        };
        assert!(faults > 0, "{change:?}");
    }
}

#[test]
fn the_script_makes_a_bitstream_where_timing_is_met_and_none_otherwise() {
    let board = root().join("constraints/au50");
    let place = place("build");
    let out = place.join("out");
    let arguments = ["card", out.to_str().unwrap(), "2"];
    let Some((good, output)) = build(&place, &board, CARD, "0.015", &arguments) else {
        return;
    };
    assert!(good, "{output}");
    assert!(
        output.contains("au50: met: set-up, slack 0.015 ns"),
        "{output}"
    );
    for name in ["card.bit", "reports/timing.txt", "reports/utilization.txt"] {
        assert!(out.join(name).is_file(), "{name}: {output}");
    }
    let (good, output) = build(&place, &board, CARD, "0.015", &arguments).unwrap();
    assert!(!good && output.contains("is there already"), "{output}");

    let other = place.join("switch");
    let arguments = ["switch", other.to_str().unwrap()];
    let (good, output) = build(&place, &board, SWITCH, "0", &arguments).unwrap();
    assert!(good && other.join("switch.bit").is_file(), "{output}");

    let slow = place.join("slow");
    let arguments = ["card", slow.to_str().unwrap()];
    let (good, output) = build(&place, &board, CARD, "-0.001", &arguments).unwrap();
    assert!(!good, "{output}");
    assert!(
        output.contains("au50: NOT MET: set-up, slack -0.001 ns"),
        "{output}"
    );
    assert!(output.contains("there is no bitstream"), "{output}");
    assert!(!slow.join("card.bit").exists(), "{output}");

    for arguments in [&["nic", "x"][..], &["card"], &["card", "x", "0"]] {
        let (good, output) = build(&place, &board, CARD, "1", arguments).unwrap();
        assert!(
            !good && output.contains("au50: "),
            "{arguments:?}: {output}"
        );
    }
}

#[test]
fn mistakes_in_script_and_constraints_are_noticed() {
    let changes: [(Change, &str); 22] = [
        (
            (
                "card_pins.xdc",
                "set_property PACKAGE_PIN AM3 [get_ports {pcie_rx_n[1]}]\n",
                "",
            ),
            "port pcie_rx_n[1] has no PACKAGE_PIN",
        ),
        (
            (
                "card_pins.xdc",
                "PACKAGE_PIN J45 [get_ports qsfp_rx_p]",
                "PACKAGE_PIN J45 [get_ports qsfp_rxp]",
            ),
            "there is no port qsfp_rxp",
        ),
        (
            ("card_pins.xdc", "PACKAGE_PIN AW27", "PACKAGE_PIN AW28"),
            "there is no pin AW28",
        ),
        (
            ("card_pins.xdc", "PACKAGE_PIN E16", "PACKAGE_PIN E18"),
            "pin E18",
        ),
        (
            ("card_pins.xdc", "PACKAGE_PIN J45", "PACKAGE_PIN G45"),
            "qsfp0_RX_P1",
        ),
        (
            (
                "card_pins.xdc",
                "PACKAGE_PIN J18 IOSTANDARD LVCMOS18",
                "PACKAGE_PIN J18",
            ),
            "port hbm_cattrip: IOSTANDARD",
        ),
        (
            ("card_pins.xdc", "PULLUP TRUE", "PULL_UP TRUE"),
            "port has no property PULL_UP",
        ),
        (
            (
                "card_pins.xdc",
                "create_clock -name clk100",
                "make_clock -name clk100",
            ),
            "make_clock",
        ),
        (
            (
                "card_pins.xdc",
                "create_clock -name clk100 -period 10.000 [get_ports clk100_p]",
                "",
            ),
            "there is no clock at clk100_p",
        ),
        (("config.xdc", "CFGBVS GND", "CFGBVS GROUND"), "CFGBVS"),
        (
            (
                "card_timing.xdc",
                "get_pins pcie/user_clk",
                "get_pins pcie/userclk",
            ),
            "there is no pin pcie/userclk",
        ),
        (
            (
                "card_timing.xdc",
                "get_pins pcs/tx_mii_clk_0",
                "get_pins pcs/dclk",
            ),
            "there is no clock",
        ),
        (
            (
                "card_timing.xdc",
                "{line/mac/queues/go/head/gray_reg_reg[*]}",
                "{line/mac/queues/go/head/gray_reg[*]}",
            ),
            "there is no cell",
        ),
        (
            (
                "card_timing.xdc",
                "set_max_delay -datapath_only -from $rx_clk -to $tx_clk 6.400\n",
                "",
            ),
            "have no limit",
        ),
        (
            (
                "card_timing.xdc",
                "-from $tx_clk -to $user_clk",
                "-form $tx_clk -to $user_clk",
            ),
            "set_max_delay has no option -form",
        ),
        (
            ("build.tcl", "report_bus_skew -file", "report_skew -file"),
            "there is no command report_skew",
        ),
        (
            (
                "build.tcl",
                "set_property top au50_$design",
                "set_property top $design",
            ),
            "there is no module card",
        ),
        (
            (
                "build.tcl",
                "create_project $design [file join $folder project] -part $part",
                "create_project $design [file join $folder project] -device $part",
            ),
            "create_project has no option -device",
        ),
        (
            (
                "build.tcl",
                "_timing.xdc]\n    add_files",
                "_timings.xdc]\n    add_files",
            ),
            "there is no file",
        ),
        (
            (
                "build.tcl",
                "CONFIG.LANE1_GT_LOC {X0Y28}",
                "CONFIG.LANE1_GT_LOC {X0Y29}",
            ),
            "the block at Quad_X0Y7 X0Y29",
        ),
        (
            (
                "build.tcl",
                "CONFIG.PF0_MSIX_CAP_TABLE_SIZE {007}",
                "CONFIG.PF0_MSIX_TABLE_SIZE {007}",
            ),
            "has no property CONFIG.PF0_MSIX_TABLE_SIZE",
        ),
        (
            (
                "build.tcl",
                "CONFIG.axisten_if_width {64_bit}\n    CONFIG.axisten_freq {125}",
                "CONFIG.axisten_if_width {64_bit}\n    CONFIG.axisten_freq {250}",
            ),
            "has 4.000 ns instead of 8.000",
        ),
    ];
    let of_the_switch: [(Change, &str); 5] = [
        (
            ("switch_pins.xdc", "PACKAGE_PIN E46", "PACKAGE_PIN F44"),
            "pin F44",
        ),
        (
            (
                "switch_timing.xdc",
                "get_pins pcs/rx_clk_out_3",
                "get_pins pcs/rx_clk_out_4",
            ),
            "there is no pin pcs/rx_clk_out_4",
        ),
        (
            (
                "switch_timing.xdc",
                "set_max_delay -datapath_only -from $tx_clk_2 -to $user_clk 6.400\n",
                "",
            ),
            "paths from pcs/tx_mii_clk_2 to pcie/axi_aclk have no limit",
        ),
        (
            ("build.tcl", "LANE3_GT_LOC {X0Y30}", "LANE3_GT_LOC {X0Y31}"),
            "the block at Quad_X0Y7 X0Y31",
        ),
        (
            ("build.tcl", "CONFIG.axi_data_width", "CONFIG.axi_width"),
            "has no property CONFIG.axi_width",
        ),
    ];
    let changes = changes.map(|change| (CARD, change));
    let of_the_switch = of_the_switch.map(|change| (SWITCH, change));
    let all = changes.into_iter().chain(of_the_switch);
    for (number, (design, (change, named))) in all.enumerate() {
        let place = place(&format!("script_{number}"));
        let folder = copy(&place, Some(change));
        let out = place.join("out");
        let arguments = [design.0, out.to_str().unwrap()];
        let Some((good, output)) = build(&place, &folder, design, "1", &arguments) else {
            return;
        };
        assert!(!good && output.contains(named), "{change:?}: {output}");
        assert!(
            !out.join(format!("{}.bit", design.0)).exists(),
            "{change:?}"
        );
    }
}

/// `cargo xtask board build au50` with this PATH.
fn xtask(arguments: &[&str], path: &Path) -> (bool, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_xtask"))
        .args(["board", "build", "au50"])
        .args(arguments)
        .env("PATH", path)
        .output()
        .unwrap();
    (output.status.success(), text(&output))
}

#[test]
fn board_build_runs_vivado_or_says_how_to() {
    let place = place("xtask");
    let out = place.join("out");
    let out = out.to_str().unwrap();
    let arguments = ["--design", "card", "--out", out];
    let (good, output) = xtask(&arguments, &place);
    assert!(!good, "{output}");
    let shown = Path::new(out);
    let shown = shown.strip_prefix(root()).unwrap_or(shown).display();
    let command = format!(
        "`vivado -mode batch -nojournal -nolog -source constraints/au50/build.tcl -tclargs card {shown}`"
    );
    assert!(output.contains(&command), "{output}");
    let (good, output) = xtask(&["--seed", "2"], &place);
    assert!(!good && output.contains("there is no --seed"), "{output}");

    // In place of Vivado, the stub by way of a program that takes Vivado's arguments.
    let tclsh = std::env::var_os("PATH").and_then(|path| {
        let mut folders = std::env::split_paths(&path).map(|folder| folder.join("tclsh"));
        folders.find(|program| program.is_file())
    });
    let Some(tclsh) = tclsh else {
        println!("skipped: there is no tclsh (Debian: tcl)");
        return;
    };
    fs::write(place.join("netlist.tcl"), netlist(CARD).as_tcl()).unwrap();
    let vivado = place.join("vivado");
    let program = format!(
        "#!/bin/sh\n[ \"$1\" = -version ] && exit 0\n[ \"$*\" = \"-mode batch -nojournal -nolog -source $6 -tclargs $8 $9\" ] || exit 2\nexec '{}' '{}' '{}' 0.5 \"$6\" \"$8\" \"$9\"\n",
        tclsh.display(),
        root().join("xtask/tests/au50/vivado.tcl").display(),
        place.join("netlist.tcl").display()
    );
    fs::write(&vivado, program).unwrap();
    let mut rights = fs::metadata(&vivado).unwrap().permissions();
    std::os::unix::fs::PermissionsExt::set_mode(&mut rights, 0o755);
    fs::set_permissions(&vivado, rights).unwrap();
    let (good, output) = xtask(&arguments, &place);
    assert!(good, "{output}");
    assert!(Path::new(out).join("card.bit").is_file(), "{output}");
}

/// What crosses between clocks goes from a register to the first one of a synchroniser, and `*_timing.xdc` limits it.
#[test]
fn every_path_between_clocks_is_synchronised_and_limited() {
    for (design, core, lanes) in [(CARD, "pcie/user_clk", 1), (SWITCH, "pcie/axi_aclk", 4)] {
        let found = &elaborated(design).1;
        for crossing in found {
            let first = crossing.register.ends_with("/first");
            assert!(first && crossing.straight, "{crossing:?}");
        }
        let pairs: BTreeSet<_> = found
            .iter()
            .map(|crossing| (crossing.from.clone(), crossing.to.clone()))
            .collect();
        let mut limited = BTreeSet::new();
        for lane in 0..lanes {
            let core = core.to_owned();
            let tx = format!("pcs/tx_mii_clk_{lane}");
            let rx = format!("pcs/rx_clk_out_{lane}");
            for (from, to) in [
                (&core, &tx),
                (&core, &rx),
                (&tx, &core),
                (&rx, &core),
                (&rx, &tx),
            ] {
                limited.insert((from.clone(), to.clone()));
            }
        }
        assert_eq!(pairs, limited);
    }
}

#[test]
fn a_path_between_clocks_without_a_synchroniser_is_noticed() {
    let place = place("crossing");
    let change = ("line.v", "(tx_back & rx_back) ?", "(tx_seen & rx_back) ?");
    let folder = copy(&place, Some(change));
    let found = elaborate(&place, &folder, CARD).1;
    let bare: Vec<_> = found
        .iter()
        .filter(|crossing| !crossing.register.ends_with("/first"))
        .collect();
    assert!(
        bare.iter().any(|crossing| crossing.register == "line/held"),
        "{bare:?}"
    );
}

/// `board list` says the part and the designs that the script has.
#[test]
fn board_list_has_the_part_and_the_designs_of_the_script() {
    let output = Command::new(env!("CARGO_BIN_EXE_xtask"))
        .args(["board", "list"])
        .output()
        .unwrap();
    let list = text(&output);
    let script = fs::read_to_string(root().join("constraints/au50/build.tcl")).unwrap();
    let part = script
        .lines()
        .find_map(|line| line.strip_prefix("set part "));
    let mut lines = list.lines().skip_while(|line| !line.starts_with("au50:"));
    assert!(lines.next().unwrap().contains(part.unwrap()), "{list}");
    let designs: Vec<_> = lines
        .map_while(|line| line.strip_prefix("  "))
        .map(|line| line.split(' ').next().unwrap())
        .collect();
    assert_eq!(designs, ["card", "switch"]);
    assert!(script.contains(&format!("ni {{{}}}", designs.join(" "))));
}

/// Files of Vivado that nobody has run say so where they begin.
#[test]
fn the_first_lines_say_that_vivado_has_not_run_it() {
    let files = [
        "build.tcl",
        "config.xdc",
        "card_pins.xdc",
        "card_timing.xdc",
        "switch_pins.xdc",
        "switch_timing.xdc",
    ];
    for name in files {
        let text = fs::read_to_string(root().join("constraints/au50").join(name)).unwrap();
        let first = text.lines().next().unwrap();
        assert!(
            first.starts_with("# Never ") && first.contains("Vivado"),
            "{name}: {first}"
        );
    }
}
