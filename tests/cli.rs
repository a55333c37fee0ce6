//! The command line from outside: exit codes, error texts, files.

mod common;

use std::fs;
use std::path::PathBuf;

use common::{failure, json, success, tributary};
use serde_json::Value;

/// A path for the output of one test.
fn scratch(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("cli");
    fs::create_dir_all(&folder).unwrap();
    let path = folder.join(name);
    let _ = fs::remove_file(&path);
    path
}

#[test]
fn a_demo_reports_intact_payload_as_one_json_object() {
    let (code, sum) = json(&[
        "sim", "--demo", "rw", "--bytes", "300001", "--loss", "0.02", "--dup", "0.01", "--seed",
        "5", "--json",
    ]);
    assert_eq!(code, 0);
    assert_eq!(
        (&sum["outcome"], &sum["payload_intact"], &sum["packets"]),
        (&"ok".into(), &true.into(), &586.into())
    );
    assert_eq!(sum["accepted_packets"], 586);
    assert_eq!(
        sum["sent_packets"].as_u64().unwrap() - sum["resent_packets"].as_u64().unwrap(),
        586
    );
    assert!(sum["goodput"].as_f64().unwrap() > 0.5 && sum["time_s"].is_number());
}

#[test]
fn empty_and_one_byte_transfers_complete() {
    for bytes in ["0", "1", "4096"] {
        for packet in ["256", "4096"] {
            let (code, sum) = json(&[
                "sim", "--demo", "rw", "--bytes", bytes, "--packet", packet, "--json",
            ]);
            assert_eq!(
                (code, &sum["payload_intact"]),
                (0, &true.into()),
                "{bytes} bytes in packets of {packet}"
            );
        }
    }
}

#[test]
fn a_dead_link_fails_with_exit_code_1_and_says_how_it_ended() {
    let (code, sum) = json(&[
        "sim", "--demo", "rw", "--bytes", "2048", "--loss", "1", "--json",
    ]);
    assert_eq!(
        (code, &sum["outcome"], &sum["completion_slot"]),
        (1, &"unreachable".into(), &Value::Null)
    );
    let output = tributary(&["sim", "--demo", "rw", "--bytes", "2048", "--loss", "1"]);
    assert!(
        String::from_utf8(output.stdout)
            .unwrap()
            .contains("FAILED: ended as unreachable")
    );
}

#[test]
fn a_wrong_call_exits_with_2_and_names_the_argument_and_what_would_be_right() {
    for (arguments, texts) in [
        (
            &["sim", "--demo", "rv"][..],
            &["'rv'", "--demo", "possible values: rw"][..],
        ),
        (&["sim"], &["--demo", "--replay"]),
        (
            &["sim", "--demo", "rw", "--loss", "2"],
            &["'2'", "--loss", "a probability is 0 to 1"],
        ),
        (
            &["sim", "--demo", "rw", "--loss", "few"],
            &["'few'", "--loss", "not a number"],
        ),
        (
            &["sim", "--demo", "rw", "--loss", "nan"],
            &["--loss", "a probability is 0 to 1"],
        ),
        (&["sim", "--demo", "rw", "--bytes", "-1"], &["-1"]),
        (
            &["sim", "--demo", "rw", "--bytes", "4294967296"],
            &["4294967296", "--bytes"],
        ),
        (
            &["sim", "--demo", "rw", "--window", "100"],
            &["'100'", "64, 256 or 1024"],
        ),
        (
            &["sim", "--demo", "rw", "--packet", "500"],
            &["'500'", "256, 512, 1024, 2048 or 4096"],
        ),
        (
            &["sim", "--demo", "rw", "--reorder", "1025"],
            &["1025", "0..=1024"],
        ),
        (
            &["sim", "--demo", "rw", "--mode", "tcp"],
            &["unknown mode 'tcp'", "go-back-n"],
        ),
        (
            &["sim", "--demo", "rw", "--events", "--json"],
            &["--events", "--json", "cannot be used with"],
        ),
        (
            &["bench", "rw", "--seeds", "0"],
            &["--seeds", "1..=1000000"],
        ),
        (&["bench", "xud"], &["'xud'"]),
        (&["frobnicate"], &["'frobnicate'"]),
    ] {
        let (code, error) = failure(arguments);
        assert_eq!(code, 2, "{arguments:?}: {error}");
        assert!(
            texts.iter().all(|text| error.contains(text)),
            "{arguments:?}: {error}"
        );
    }
}

#[test]
fn each_demo_has_its_own_options_and_no_others() {
    for (demo, option) in [
        ("rw", "--fabric x"),
        ("rw", "--trace-node x"),
        ("rw", "--messages 2"),
        ("allreduce", "--events"),
        ("allreduce", "--dup 0.1"),
        ("cluster", "--pcap x"),
        ("cluster", "--bytes 7"),
        ("xud", "--record x"),
        ("xud", "--mode rw"),
        ("bulk", "--events"),
        ("rdmc", "--loss 0.1"),
    ] {
        let line = format!("sim --demo {demo} {option}");
        let (code, error) = failure(&line.split(' ').collect::<Vec<_>>());
        let name = option.split(' ').next().unwrap();
        assert_eq!(code, 2, "{line}: {error}");
        assert!(
            error.contains(&format!("unexpected argument '{name}'")),
            "{line}: {error}"
        );
        let (_, help) = success(&["sim", "--demo", demo, "--help"]);
        assert!(help.contains("--seed") || demo == "rdmc", "{help}");
        assert!(
            help.contains(&format!("tributary sim --demo {demo}")),
            "{help}"
        );
        let shown = |line: &str| line.trim_start().split(' ').any(|word| word == name);
        assert!(!help.lines().any(shown), "{line}: {help}");
    }
    let (_, all) = success(&["sim", "--help"]);
    assert!(
        ["rw", "allreduce", "cluster", "xud", "bulk", "rdmc"]
            .iter()
            .all(|demo| all.contains(demo))
    );
    assert!(!all.contains("--loss"), "{all}");
}

#[test]
fn more_packets_than_numbers_are_refused() {
    let (code, error) = failure(&[
        "sim",
        "--demo",
        "rw",
        "--bytes",
        "4000000000",
        "--packet",
        "256",
    ]);
    assert_eq!(code, 1);
    assert!(
        error.contains("15625000 packets, the most is 2097152"),
        "{error}"
    );
}

#[test]
fn an_output_that_cannot_be_written_is_named_before_any_work() {
    let file = scratch("not-a-folder");
    fs::write(&file, "").unwrap();
    for option in ["--trace", "--pcap", "--record"] {
        let inside = file.join("out");
        let (code, error) = failure(&["sim", "--demo", "rw", option, inside.to_str().unwrap()]);
        assert_eq!(code, 1);
        assert!(
            error.contains(inside.to_str().unwrap())
                && error.contains("a folder that you may write to?"),
            "{error}"
        );
        let (code, error) = failure(&["sim", "--demo", "rw", option, env!("CARGO_TARGET_TMPDIR")]);
        assert_eq!(code, 1);
        assert!(
            error.contains("this is a folder, the name of a file is needed"),
            "{error}"
        );
    }
    let (code, error) = failure(&[
        "bench",
        "rw",
        "--plot",
        file.join("p.svg").to_str().unwrap(),
    ]);
    assert_eq!(code, 1);
    assert!(error.contains("p.svg"), "{error}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_reported() {
    for option in ["--pcap", "--record"] {
        let (code, error) = failure(&["sim", "--demo", "rw", option, "/dev/full"]);
        assert_eq!(code, 1, "{option}");
        assert!(
            error.contains("No space left on device"),
            "{option}: {error}"
        );
    }
}

#[test]
fn files_are_complete_and_nothing_half_written_stays() {
    let paths = ["run.fst", "run.pcapng", "run.trace"].map(scratch);
    let [trace, pcap, record] = paths.each_ref().map(|path| path.to_str().unwrap());
    let (code, _) = json(&[
        "sim", "--demo", "rw", "--bytes", "20000", "--trace", trace, "--pcap", pcap, "--record",
        record, "--json",
    ]);
    assert_eq!(code, 0);
    assert!(
        paths
            .iter()
            .all(|path| fs::metadata(path).unwrap().len() > 100)
    );
    let left: Vec<_> = fs::read_dir(paths[0].parent().unwrap())
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert!(
        !left
            .iter()
            .any(|name| name.to_str().unwrap().starts_with(".run.")),
        "{left:?}"
    );
}

#[test]
fn a_recorded_run_replays_to_the_same_counts() {
    let path = scratch("replay.trace");
    let file = path.to_str().unwrap();
    let (_, ran) = json(&[
        "sim", "--demo", "rw", "--bytes", "100000", "--loss", "0.05", "--dup", "0.02", "--record",
        file, "--json",
    ]);
    let (code, replayed) = json(&["sim", "--replay", file, "--json"]);
    assert_eq!((code, &replayed["completions_ok"]), (0, &1.into()));
    assert_eq!(
        (&replayed["accepted_packets"], &replayed["dropped"]),
        (&ran["accepted_packets"], &ran["dropped"])
    );
    assert_eq!(replayed["writes"], ran["packets"]);
}

#[test]
fn a_malformed_trace_is_named_by_file_line_and_reason() {
    let path = scratch("malformed.trace");
    let file = path.to_str().unwrap();
    json(&[
        "sim", "--demo", "rw", "--bytes", "4000", "--record", file, "--json",
    ]);
    let good = fs::read_to_string(&path).unwrap();
    let cut = good.trim_end().len() - 5;
    let lines = good.lines().count();
    for (text, wanted) in [
        (String::new(), "the file is empty".to_owned()),
        (
            "pcap".to_owned(),
            "line 1: not the first line of a trace: column 1".to_owned(),
        ),
        (
            good.replacen("\"connect\"", "\"conect\"", 1),
            "line 2: not a record: column".to_owned(),
        ),
        (
            good.replacen("\"pidx\":3,", "\"pidx\":99999999,", 1),
            "pidx is 99999999, the most is 4194303".to_owned(),
        ),
        (
            good[..cut].to_owned(),
            format!("line {lines}: not a record: column"),
        ),
    ] {
        fs::write(&path, text).unwrap();
        let (code, error) = failure(&["sim", "--replay", file]);
        assert_eq!(code, 1);
        assert!(
            error.contains(file) && error.contains(&wanted),
            "{wanted}: {error}"
        );
    }
    let (code, error) = failure(&["sim", "--replay", "/nonexistent/trace"]);
    assert!(
        code == 1 && error.contains("cannot read /nonexistent/trace"),
        "{error}"
    );
}

#[test]
fn the_time_line_shows_every_step_of_a_transfer() {
    let output = tributary(&[
        "sim",
        "--demo",
        "rw",
        "--bytes",
        "600",
        "--loss",
        "0",
        "--reorder",
        "0",
        "--events",
    ]);
    let text = String::from_utf8(output.stdout).unwrap();
    for step in [
        "sender   sends  CONNECT",
        "receiver sends  CONNECT_RESP",
        "receiver writes packet 1",
        "receiver completes",
        "sender   takes  COMPLETE",
        "sender   ends",
    ] {
        assert!(text.contains(step), "no '{step}' in\n{text}");
    }
}
