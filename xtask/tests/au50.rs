//! The folder of the Alveo U50, without Vivado: its Verilog lints with the ports of the vendor's blocks, its resets are
//! simulated, and its script and constraints run in Tcl under a stub that knows the commands, pins, properties, ports and
//! registers (`au50/vivado.tcl`). Mistakes in each of them are noticed.
//!
//! Needs the pinned tools; what runs Tcl is skipped where there is no `tclsh`, the simulation where there is no `iverilog`.

mod au50 {
    pub mod crossings;
    pub mod designs;
    pub mod mistakes;
    pub mod netlist;
}

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use au50::designs::{
    CARD, Card, Change, SWITCH, build, copy, elaborate, elaborated, lint, netlist, place, root,
    simulate, text,
};
use au50::mistakes::{CARD_MISTAKES, SWITCH_MISTAKES};

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
    let card = CARD_MISTAKES.map(|mistake| (CARD, mistake));
    let switch = SWITCH_MISTAKES.map(|mistake| (SWITCH, mistake));
    let all = card.into_iter().chain(switch);
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
