//! Fabrics on the command line: reductions, captures, bad files.

mod common;

use std::fs;
use std::path::PathBuf;

use common::{failure, json, tributary};
use serde_json::Value;

/// A path for the files of one test.
fn scratch(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("fabric");
    fs::create_dir_all(&folder).unwrap();
    let path = folder.join(name);
    let _ = fs::remove_file(&path);
    path
}

const TWO_SPINES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/sim/fabrics/two-spines.toml");

/// Four hosts on a pair of switches with two cables between them.
const PAIR: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/pair.toml");

#[test]
fn the_cluster_demo_sends_writes_and_reduces_while_each_cable_in_turn_fails() {
    let page = scratch("cluster.html");
    for cut in 16..22 {
        let cut = cut.to_string();
        let (code, sum) = json(&[
            "sim",
            "--demo",
            "cluster",
            "--each",
            "2",
            "--cut",
            &cut,
            "--json",
            "--html",
            page.to_str().unwrap(),
        ]);
        assert_eq!(code, 0, "{sum}");
        assert_eq!((&sum["hosts"], &sum["switches"]), (&16.into(), &5.into()));
        let parts = sum["parts"].as_array().unwrap();
        assert_eq!(parts.len(), 5, "{sum}");
        assert!(parts.iter().all(|part| part["good"] == true), "{sum}");
        assert!(sum["unicast_entries_mended"].as_u64().unwrap() > 0, "{sum}");
        assert!(
            sum["exchange_after_mend_us"].as_f64().unwrap() < 20_000.0,
            "{sum}"
        );
        let html = fs::read_to_string(&page).unwrap();
        assert!(html.contains("class=\"cut\"") && html.contains("leaf2"));
        assert!(!html.contains("http"), "nothing is loaded from elsewhere");
    }
}

/// Every card and every switch is Verilated: hosts send, write in bulk, and reduce through their cards and the switches.
#[test]
fn cl_02_cl_05_the_cluster_demo_runs_on_verilated_cards_and_switches() {
    let arguments = ["sim", "--demo", "cluster", "--engine", "rtl", "--each", "1"];
    let (code, sum) = json(&[&arguments[..], &["--json"]].concat());
    assert_eq!(code, 0, "{sum}");
    assert_eq!(sum["engine"], "rtl");
    let parts = sum["parts"].as_array().unwrap();
    assert_eq!(parts.len(), 5, "{sum}");
    assert!(parts.iter().all(|part| part["good"] == true), "{sum}");
    assert!(sum["unicast_entries_mended"].as_u64().unwrap() > 0, "{sum}");
}

#[test]
fn cl_02_each_card_and_each_switch_is_a_model_or_verilated_as_the_file_says() {
    let pair = fs::read_to_string(PAIR).unwrap();
    let file = scratch("mixed.toml");
    let mut text = format!("[link]\nlatency_clocks = 160\n{pair}");
    for name in ["right", "h1", "h2"] {
        let line = format!("name = \"{name}\"\n");
        assert!(text.contains(&line));
        text = text.replace(&line, &format!("{line}kind = \"rtl\"\n"));
    }
    fs::write(&file, &text).unwrap();
    let mut arguments = vec!["sim", "--demo", "cluster", "--each", "4", "--json"];
    arguments.extend(["--fabric", file.to_str().unwrap()]);
    let (code, sum) = json(&arguments);
    assert_eq!(code, 0, "{sum}");
    assert_eq!(
        (&sum["verilated_cards"], &sum["verilated_switches"]),
        (&2.into(), &1.into())
    );
    let parts = sum["parts"].as_array().unwrap();
    assert!(parts.iter().all(|part| part["good"] == true), "{sum}");
    // What the command line says holds for the others alone.
    let other = text.replace("kind = \"rtl\"", "kind = \"model\"");
    fs::write(&file, other).unwrap();
    arguments.extend(["--engine", "rtl"]);
    let (code, sum) = json(&arguments);
    assert_eq!(code, 0, "{sum}");
    assert_eq!(
        (&sum["verilated_cards"], &sum["verilated_switches"]),
        (&2.into(), &1.into())
    );
    fs::write(&file, text.replace("\"rtl\"", "\"vhdl\"")).unwrap();
    let (code, message) = failure(&arguments);
    assert_eq!(code, 1, "{message}");
    assert!(
        message.contains("mixed.toml:") && message.contains("`model` or `rtl`"),
        "{message}"
    );
}

#[test]
fn two_cables_between_two_switches_are_enough_to_lose_one() {
    let arguments = ["sim", "--demo", "cluster", "--fabric", PAIR, "--json"];
    let (code, sum) = json(&arguments);
    assert_eq!(code, 0, "{sum}");
    assert_eq!(sum["hosts"], 4);
}

#[test]
fn a_cluster_that_cannot_be_says_why() {
    for (arguments, reason) in [
        (&["--cut", "3"][..], "[16, 17, 18, 19, 20, 21]"),
        (&["--fabric", TWO_SPINES], "whose nodes count from 0"),
    ] {
        let mut all = vec!["sim", "--demo", "cluster"];
        all.extend(arguments);
        let (code, message) = failure(&all);
        assert_eq!(code, 1, "{message}");
        assert!(message.contains(reason), "{message}");
    }
}

#[test]
fn all_operations_are_right_and_the_object_says_so() {
    let (code, sum) = json(&["sim", "--demo", "allreduce", "--json", "--seed", "9"]);
    assert_eq!(code, 0);
    let operations = sum["operations"].as_array().unwrap();
    assert_eq!(operations.len(), 38);
    for row in operations {
        assert_eq!(
            (&row["count"], &row["wrong"]),
            (&16.into(), &Value::Null),
            "{row}"
        );
        assert!(row["clocks"].as_u64().unwrap() < 750, "{row}");
    }
    assert_eq!(sum["descriptors_left_in_use"], 0);
    assert_eq!(sum["lost_frames"], 0);
}

#[test]
fn losses_cost_attempts_and_change_no_result() {
    let (code, sum) = json(&[
        "sim",
        "--demo",
        "allreduce",
        "--json",
        "--seed",
        "5",
        "--loss",
        "0.02",
    ]);
    assert_eq!((code, &sum["wrong_operations"]), (0, &0.into()));
    let retries: u64 = sum["operations"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["retries"].as_u64().unwrap())
        .sum();
    assert!(retries > 0 && sum["lost_frames"].as_u64().unwrap() > 5);
}

#[test]
fn a_fabric_of_a_file_reduces_over_its_first_tree() {
    let (code, sum) = json(&[
        "sim",
        "--demo",
        "allreduce",
        "--json",
        "--fabric",
        TWO_SPINES,
    ]);
    assert_eq!(code, 0);
    assert_eq!(
        (&sum["switches"], &sum["group_endpoints"]),
        (&4.into(), &4.into())
    );
}

#[test]
fn a_bad_fabric_names_file_line_and_reason() {
    let path = scratch("bad.toml");
    let text = fs::read_to_string(TWO_SPINES)
        .unwrap()
        .replace("wait = 2", "wait = 3");
    let line = text
        .lines()
        .position(|line| line == "[[tree.switch]]")
        .unwrap()
        + 1;
    fs::write(&path, &text).unwrap();
    let (code, message) = failure(&[
        "sim",
        "--demo",
        "allreduce",
        "--fabric",
        path.to_str().unwrap(),
    ]);
    assert_eq!(code, 1);
    // The walk ends at leaf0, the third entry.
    let expected = format!("{}:", path.display());
    assert!(message.contains(&expected), "{message}");
    assert!(
        message.contains("leaf0 waits for 3, but 2 members are below it"),
        "{message}"
    );
    let named: usize = message
        .split(&expected)
        .nth(1)
        .unwrap()
        .split(':')
        .next()
        .unwrap()
        .parse()
        .unwrap();
    assert!(named > line);
}

#[test]
fn what_a_fabric_cannot_give_is_refused() {
    for (arguments, reason) in [
        (
            &["sim", "--demo", "allreduce", "--trace", "x.fst"][..],
            "a model has no waveform",
        ),
        (
            &["sim", "--demo", "allreduce", "--fabric", "missing.toml"],
            "cannot read missing.toml",
        ),
        (
            &[
                "sim",
                "--demo",
                "allreduce",
                "--trace",
                "x.fst",
                "--trace-node",
                "nobody",
            ],
            "no switch of this name",
        ),
    ] {
        let (code, message) = failure(arguments);
        assert_eq!(code, 1, "{message}");
        assert!(message.contains(reason), "{message}");
    }
}

#[test]
fn a_capture_has_every_frame_at_both_ends_of_its_cable() {
    let path = scratch("allreduce.pcapng");
    let (_, sum) = json(&[
        "sim",
        "--demo",
        "allreduce",
        "--json",
        "--loss",
        "0.01",
        "--pcap",
        path.to_str().unwrap(),
    ]);
    let file = fs::File::open(&path).unwrap();
    let mut reader = pcap_file::pcapng::PcapNgReader::new(file).unwrap();
    let (mut packets, mut interfaces) = (0, 0);
    while let Some(block) = reader.next_block() {
        match block.unwrap() {
            pcap_file::pcapng::Block::EnhancedPacket(packet) => {
                assert_eq!(packet.data.len(), 94);
                packets += 1;
            }
            pcap_file::pcapng::Block::InterfaceDescription(_) => interfaces += 1,
            _ => {}
        }
    }
    let counted: u64 = sum["operations"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["frames"].as_u64().unwrap())
        .sum();
    assert_eq!(interfaces, 40);
    // Besides the frames of the rounds there is the first arm frame, and what followed the last round.
    assert!(packets >= 2 * counted - sum["lost_frames"].as_u64().unwrap());
}

#[test]
fn the_bench_compares_switches_with_bare_frames_and_with_doubling() {
    let plot = scratch("reduction.svg");
    let path = plot.to_str().unwrap();
    let (code, sum) = json(&[
        "bench",
        "reduction",
        "--endpoints",
        "64",
        "--json",
        "--plot",
        path,
    ]);
    assert_eq!((code, &sum["payload_bytes"]), (0, &8.into()));
    let rows = sum["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 12);
    for row in rows {
        let figure = |key: &str| row[key].as_u64().unwrap();
        // Never faster than the frames themselves.
        assert!(figure("allreduce_clocks") > figure("bare_clocks"), "{row}");
        let speedups: Vec<f64> = row["comparisons"]
            .as_array()
            .unwrap()
            .iter()
            .map(|c| c["speedup"].as_f64().unwrap())
            .collect();
        assert!(
            speedups.is_sorted(),
            "the more software costs, the more switches help: {row}"
        );
    }
    assert!(fs::read_to_string(&plot).unwrap().contains("</svg>"));
    let (_, message) = failure(&["bench", "reduction", "--endpoints", "3"]);
    assert!(message.contains("the smallest fabric has 16"), "{message}");
}

#[test]
fn cl_04_the_bench_of_incast_has_a_row_without_marks_and_one_for_each_threshold() {
    let (code, sum) = json(&[
        "bench", "incast", "--fabric", TWO_SPINES, "--bytes", "65536", "--words", "192,256",
        "--json",
    ]);
    assert_eq!((code, &sum["bench"]), (0, &"incast".into()));
    let rows = sum["rows"].as_array().unwrap();
    let thresholds: Vec<u64> = rows
        .iter()
        .map(|row| row["ecn_words"].as_u64().unwrap())
        .collect();
    assert_eq!(thresholds, [0, 192, 256]);
    let figure = |row: &Value, key: &str| row[key].as_f64().unwrap();
    for row in &rows[1..] {
        assert_eq!(row["good"], true, "{row}");
        assert!(figure(row, "marked") > 0.0, "{row}");
        assert!(
            figure(row, "dropped") < figure(&rows[0], "dropped") / 5.0,
            "{row}"
        );
    }
    let (code, sum) = json(&[
        "bench",
        "incast",
        "--fabric",
        TWO_SPINES,
        "--bytes",
        "65536",
        "--words",
        "192",
        "--datagrams",
        "--json",
    ]);
    assert_eq!((code, &sum["datagrams"]), (0, &true.into()));
    let [off, on] = &sum["rows"].as_array().unwrap()[..] else {
        panic!("{sum}");
    };
    assert!(off["good"] == true && on["good"] == true, "{sum}");
    assert!(
        figure(on, "dropped") < figure(off, "dropped") / 5.0,
        "{sum}"
    );
    assert!(on["told"].as_u64() > Some(0) && off["told"] == 0, "{sum}");
    let (_, message) = failure(&["bench", "incast", "--words", "0"]);
    assert!(message.contains("--words"), "{message}");
    let (_, message) = failure(&["bench", "incast", "--fabric", PAIR, "--bytes", "4095"]);
    assert!(message.contains("--bytes"), "{message}");
}

#[test]
fn a_fabric_of_rtl_has_the_results_and_the_times_of_models() {
    let run = |engine: &str| json(&["sim", "--demo", "allreduce", "--json", "--engine", engine]);
    let ((model_code, model), (code, rtl)) = (run("model"), run("rtl"));
    assert_eq!((model_code, code), (0, 0));
    assert_eq!(model["operations"], rtl["operations"]);
    assert_eq!(rtl["descriptors_left_in_use"], 0);
}

#[test]
fn a_report_is_one_page_with_every_frame_of_the_round() {
    for (name, options) in [
        ("whole.html", &[][..]),
        ("lost.html", &["--loss", "0.1", "--seed", "3"]),
    ] {
        let path = scratch(name);
        let output = tributary(&[&["report", "--out", path.to_str().unwrap()], options].concat());
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        let page = fs::read_to_string(&path).unwrap();
        let line = String::from_utf8(output.stdout).unwrap();
        let frames: usize = line
            .split(": ")
            .nth(1)
            .unwrap()
            .split(' ')
            .next()
            .unwrap()
            .parse()
            .unwrap();
        assert_eq!(page.matches("class=\"frame ").count(), frames);
        assert_eq!(
            page.matches("class=\"frame lost").count() > 0,
            name == "lost.html"
        );
        // Nothing is loaded from elsewhere.
        assert!(!page.contains("http") && !page.contains("src="));
        assert!(page.contains("leaf0 · 15") && page.contains("spine · 12"));
    }
}

#[test]
fn a_fabric_too_large_to_draw_is_refused() {
    let path = scratch("large.toml");
    let mut text = String::from("[[switch]]\nname = \"s\"\nports = 64\n");
    for e in 0..64 {
        text +=
            &format!("[[endpoint]]\nname = \"e{e}\"\n[[cable]]\nends = [\"s.{e}\", \"e{e}\"]\n");
    }
    fs::write(&path, text.clone() + "[[tree]]\nid = 1\nroot = \"e0\"\n").unwrap();
    let file = path.to_str().unwrap();
    let page = scratch("large.html");
    let output = tributary(&["report", "--fabric", file, "--out", page.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    for e in 64..100 {
        text += &format!("[[switch]]\nname = \"s{e}\"\nports = 1\nspare = [0]\n");
    }
    fs::write(&path, text).unwrap();
    let (code, message) = failure(&["report", "--fabric", file, "--out", page.to_str().unwrap()]);
    assert_eq!(code, 1);
    assert!(
        message.contains("101 nodes; a drawing has room for 96"),
        "{message}"
    );
}
