//! `tributary gen` and `tributary synth` from outside: what is written, exit codes, error texts.

mod common;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use common::{failure, json, success};

/// A folder of one test, empty.
fn scratch(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"))
        .join("gen")
        .join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    folder
}

/// Every file in a folder and below, hidden ones too.
fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(self::files(&path));
        } else {
            files.insert(path.clone(), fs::read(&path).unwrap());
        }
    }
    files
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[test]
fn rtl_out_of_the_repository_is_current() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("rtl_out");
    let (code, told) = success(&["gen", "--check", "--out", text(&folder)]);
    assert_eq!(code, 0, "{told}");
}

#[test]
fn generating_twice_gives_the_same_bytes_and_replaces_what_was_there() {
    let (first, second) = (scratch("first"), scratch("second"));
    let generate = |folder: &Path| success(&["gen", "--preset", "sim", "--out", text(folder)]);
    let (code, told) = generate(&first);
    assert_eq!(code, 0);
    assert!(
        told.contains(
            "top card_q16_r32_f64, bulk_card_q16_r32_f64_s16_w64, red_lane, rw_window_w64_r16, switch_n4_d512_u64_t64"
        ),
        "{told}"
    );
    generate(&second);
    let names = |folder: &Path| -> BTreeMap<PathBuf, Vec<u8>> {
        files(folder)
            .into_iter()
            .map(|(path, bytes)| (path.strip_prefix(folder).unwrap().to_path_buf(), bytes))
            .collect()
    };
    let bytes = names(&first);
    assert_eq!(bytes, names(&second));

    // The list names each source once; what other presets have too lies in the library.
    let list = String::from_utf8(bytes[Path::new("sim/files.f")].clone()).unwrap();
    let own = bytes.keys().filter(|path| path.starts_with("sim"));
    let own = own.filter(|path| path.extension().is_some_and(|e| e == "v"));
    let listed = list.lines().filter(|file| !file.starts_with("../"));
    assert_eq!(listed.count(), own.count());
    assert_eq!(list.lines().last(), Some("us_card_q16_r32_f64.v"));
    for file in list.lines() {
        let path = match file.strip_prefix("../") {
            Some(shared) => PathBuf::from(shared),
            None => Path::new("sim").join(file),
        };
        let verilog = String::from_utf8(bytes[&path].clone()).unwrap();
        let module = path.file_stem().unwrap().to_str().unwrap();
        assert_eq!(verilog.matches("\nendmodule").count(), 1, "{file}");
        assert!(verilog.contains(&format!("\nmodule {module} ")), "{file}");
    }

    // A changed and a surplus file of before are gone, and nothing else has appeared.
    fs::write(first.join("sim/files.f"), "changed").unwrap();
    fs::write(first.join("sim/old_block.v"), "").unwrap();
    generate(&first);
    assert_eq!(names(&first), bytes);
}

#[test]
fn check_names_changed_missing_and_surplus_files_and_writes_nothing() {
    let out = scratch("check");
    success(&["gen", "--preset", "sim", "--out", text(&out)]);
    let check = ["gen", "--preset", "sim", "--check", "--out", text(&out)];
    assert_eq!(success(&check).0, 0);

    fs::write(out.join("sim/rw_acks_r16.v"), "changed").unwrap();
    fs::remove_file(out.join("sim/rw_window_w64_r16.v")).unwrap();
    fs::write(out.join("sim/old_block.v"), "").unwrap();
    fs::write(out.join("sim/red_lane.core"), "changed").unwrap();
    fs::remove_file(out.join("lib/common.core")).unwrap();
    let before = files(&out);
    let (code, told) = success(&check);
    assert_eq!(code, 1, "{told}");
    for line in [
        "stale    sim/red_lane.core",
        "missing  lib/common.core",
        "stale    sim/rw_acks_r16.v",
        "missing  sim/rw_window_w64_r16.v",
        "surplus  sim/old_block.v",
    ] {
        assert!(told.contains(line), "no `{line}` in {told}");
    }
    let (code, report) = json(&[&check[..], &["--json"]].concat());
    assert_eq!(code, 1);
    assert_eq!(
        report["differences"]["stale"],
        serde_json::json!(["sim/red_lane.core", "sim/rw_acks_r16.v"])
    );
    assert_eq!(
        report["differences"]["missing"],
        serde_json::json!(["lib/common.core", "sim/rw_window_w64_r16.v"])
    );
    assert_eq!(
        report["differences"]["surplus"],
        serde_json::json!(["sim/old_block.v"])
    );
    assert_eq!(files(&out), before);
}

#[test]
fn check_of_every_preset_finds_a_preset_that_is_no_more_and_one_that_is_not_there() {
    let out = scratch("presets");
    fs::create_dir(out.join("gone")).unwrap();
    fs::write(out.join("gone/files.f"), "").unwrap();
    let (code, report) = json(&["gen", "--check", "--json", "--out", text(&out)]);
    assert_eq!(code, 1);
    assert_eq!(
        report["differences"]["surplus"],
        serde_json::json!(["gone"])
    );
    let missing = report["differences"]["missing"].as_array().unwrap();
    for file in [
        "sim/files.f",
        "versa-45f/files.f",
        "ecp5-85f/files.f",
        "au50/files.f",
    ] {
        assert!(missing.contains(&file.into()), "{file}");
    }
}

#[test]
fn a_block_goes_into_a_folder_of_its_name() {
    let out = scratch("block");
    let (code, report) = json(&[
        "gen",
        "--block",
        "rw_accept",
        "--set",
        "W=256",
        "--set",
        "R=16",
        "--out",
        text(&out),
        "--json",
    ]);
    assert_eq!(code, 0);
    let folder = &report["presets"][0];
    assert_eq!(
        (&folder["name"], &folder["tops"][0]),
        (&"rw_accept_w256_r16".into(), &"rw_accept_w256_r16".into())
    );
    assert!(
        out.join("rw_accept_w256_r16/rw_accept_w256_r16.v")
            .is_file()
    );
    // Beside the modules: the list, what instantiates what, and the core.
    assert_eq!(
        report["files"].as_u64().unwrap() as usize + 3,
        files(&out).len()
    );
    let version = env!("CARGO_PKG_VERSION");
    assert_eq!(
        folder["cores"],
        serde_json::json!([format!("tributary:block:rw_accept_w256_r16:{version}")])
    );
    let core = out.join("rw_accept_w256_r16/rw_accept_w256_r16.core");
    let core = fs::read_to_string(core).unwrap();
    assert!(!core.contains("depend:"), "a block stands alone: {core}");
    assert!(report["lines"].as_u64().unwrap() > 100 && report["time_s"].is_number());
}

#[test]
fn what_is_not_on_offer_is_a_wrong_call_that_names_what_is() {
    for (arguments, message) in [
        (
            &["gen", "--preset", "u280"][..],
            "there is no preset `u280`; there are sim, versa-45f, ecp5-85f, au50",
        ),
        (
            &["gen", "--block", "rx_window"],
            "there is no block `rx_window`; there are board_card, board_nic, bulk_card, bulk_receive, bulk_send, bulk_transmit, card, card_regs_bulk, dma_read, dma_write, mac_gmii, mac_xgmii, mb_generator, mb_ring, pcie_us_shim, red_engine, red_flt_sum, red_lane, red_switch, repeater, rw_accept, rw_window, switch, switch_core, tlp_link, tlp_units, us_card",
        ),
        (
            &["gen", "--block", "rw_window", "--set", "W=100"],
            "W = 100 is not on offer for `rw_window`: 64, 256, 1024",
        ),
        (
            &["gen", "--block", "rw_window", "--set", "Q=1"],
            "`rw_window` has no parameter `Q`; it has W, R",
        ),
        (
            &["gen", "--block", "rw_window", "--set", "W"],
            "`W` is not a size; W=256 would be one",
        ),
        (
            &[
                "gen",
                "--block",
                "rw_window",
                "--set",
                "W=64",
                "--set",
                "W=64",
            ],
            "the size W is given twice",
        ),
        (&["gen", "--set", "W=64"], "--block"),
        (
            &["gen", "--preset", "sim", "--block", "rw_window"],
            "cannot be used with",
        ),
        (
            &["synth", "rw_window", "--set", "R=17"],
            "R = 17 is not on offer for `rw_window`: 16, 64, 512",
        ),
        (
            &["synth", "rw_window", "--device", "ice40"],
            "the one on offer is `ecp5-85k`",
        ),
        (
            &["synth", "rw_window", "--seeds", "0"],
            "0 is not in 1..=99",
        ),
    ] {
        let (code, error) = failure(arguments);
        assert_eq!(code, 2, "{arguments:?}: {error}");
        assert!(error.contains(message), "{arguments:?}: {error}");
    }
}

#[test]
fn a_place_that_cannot_be_written_is_named() {
    let out = scratch("unwritable");
    let file = out.join("file");
    fs::write(&file, "").unwrap();
    for place in [file.clone(), file.join("below")] {
        let (code, error) = failure(&["gen", "--preset", "sim", "--out", text(&place)]);
        assert_eq!(code, 1);
        assert!(
            error.contains(text(&place)) && error.contains("is not a folder"),
            "{error}"
        );
    }
    if cfg!(target_os = "linux") {
        let (code, error) = failure(&["gen", "--preset", "sim", "--out", "/proc/rtl"]);
        assert_eq!(code, 1);
        assert!(
            error.contains("cannot create the folder /proc/rtl"),
            "{error}"
        );
    }
    assert_eq!(files(&out).len(), 1);
}

#[test]
fn a_folder_with_files_of_somebody_else_is_left_alone() {
    let out = scratch("notes");
    fs::create_dir(out.join("sim")).unwrap();
    fs::write(out.join("sim/notes.txt"), "mine").unwrap();
    let (code, error) = failure(&["gen", "--out", text(&out)]);
    assert_eq!(code, 1);
    assert!(
        error.contains("notes.txt") && error.contains("not generated"),
        "{error}"
    );
    assert_eq!(files(&out).len(), 1);
}

/// A limit on the size of files stands in for a disk without room.
#[cfg(unix)]
#[test]
fn a_full_disk_is_reported_and_leaves_what_was_there() {
    let out = scratch("full");
    success(&["gen", "--preset", "sim", "--out", text(&out)]);
    fs::write(out.join("sim/files.f"), "changed").unwrap();
    let before = files(&out);
    let limited = "trap '' XFSZ; ulimit -f 2; exec \"$0\" \"$@\"";
    let output = Command::new("sh")
        .args([
            "-c",
            limited,
            env!("CARGO_BIN_EXE_tributary"),
            "gen",
            "--preset",
            "sim",
            "--out",
            text(&out),
        ])
        .output()
        .unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{error}");
    assert!(
        error.contains("cannot write") && error.contains("full/sim/"),
        "{error}"
    );
    assert_eq!(files(&out), before);
}

#[test]
fn without_tools_synthesis_and_lint_say_how_to_get_them() {
    let out = scratch("tools");
    let without = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tributary"));
        command
            .args(arguments)
            .env("TRIBUTARY_TOOLS", out.join("nothing"))
            .output()
            .unwrap()
    };
    let synth = without(&["synth", "rw_window"]);
    assert_eq!(synth.status.code(), Some(1));
    assert!(
        String::from_utf8(synth.stderr)
            .unwrap()
            .contains("cargo xtask tools")
    );
    let lint = without(&["gen", "--preset", "sim", "--lint", "--out", text(&out)]);
    assert_eq!(lint.status.code(), Some(0));
    let told = String::from_utf8(lint.stdout).unwrap();
    assert!(
        told.contains("lint: SKIPPED") && told.contains("cargo xtask tools"),
        "{told}"
    );
}

#[test]
fn verilator_has_nothing_to_say_about_the_presets() {
    let out = scratch("lint");
    let (code, report) = json(&["gen", "--lint", "--json", "--out", text(&out)]);
    assert_eq!(
        (code, report["lint"]["result"].as_str()),
        (0, Some("clean")),
        "{}; the tools come with `cargo xtask tools`",
        report["lint"]
    );
}
