//! Bulk transfers from the command line: `sim --demo bulk`, `perf write-bw` and its like.

mod common;

use common::{failure, json};
use serde_json::Value;
use tributary_protocol::roce;

fn number(value: &Value, key: &str) -> f64 {
    value[key]
        .as_f64()
        .unwrap_or_else(|| panic!("{key}: {value}"))
}

#[test]
fn bw_01_bw_03_bw_11_the_demo_writes_notifies_and_reads_over_a_bad_network() {
    let call = [
        "sim", "--demo", "bulk", "--bytes", "1000001", "--packet", "4096", "--dup", "0.01",
        "--seed", "5", "--json",
    ];
    let (code, all) = json(&call);
    assert_eq!(code, 0, "{all}");
    // All but the time on the wall is the seed's.
    let mut again = json(&call).1;
    again["wall_s"] = all["wall_s"].clone();
    assert_eq!(all, again);
    assert_eq!(all["notified_once"], true);
    assert_eq!(number(&all, "packets"), 245.0);
    assert!(number(&all, "frames_lost") > 1.0);
    let parts = all["parts"].as_array().unwrap();
    assert_eq!(parts.len(), 2);
    for part in parts {
        assert_eq!(
            (&part["status"], &part["every_byte_right"]),
            (&"ok".into(), &true.into())
        );
        let goodput = number(part, "goodput");
        assert!((0.2..1.0).contains(&goodput), "{part}");
        let sent = number(part, "packets_per_useful_packet");
        assert!((1.0..1.2).contains(&sent), "{part}");
    }
}

#[test]
fn bw_01_bw_03_bw_11_the_demo_runs_on_rtl_cards() {
    let (code, all) = json(&[
        "sim",
        "--demo",
        "bulk",
        "--engine",
        "rtl",
        "--window",
        "64",
        "--bytes",
        "100001",
        "--packet",
        "1024",
        "--round-trip",
        "8",
        "--reorder",
        "8",
        "--loss",
        "0.02",
        "--json",
    ]);
    assert_eq!(code, 0, "{all}");
    assert_eq!(
        (&all["engine"], &all["notified_once"]),
        (&"rtl".into(), &true.into())
    );
    assert_eq!(
        (number(&all, "packets"), number(&all, "line_gbps")),
        (98.0, 8.0)
    );
    for part in all["parts"].as_array().unwrap() {
        assert_eq!(
            (&part["status"], &part["every_byte_right"]),
            (&"ok".into(), &true.into())
        );
        let goodput = number(part, "goodput");
        assert!((0.2..1.0).contains(&goodput), "{part}");
    }
    assert!(number(&all, "frames_lost") > 1.0);
}

#[test]
fn bw_01_without_loss_and_within_the_allowance_no_packet_is_sent_twice() {
    let (code, all) = json(&[
        "sim", "--demo", "bulk", "--bytes", "4194304", "--packet", "4096", "--loss", "0", "--json",
    ]);
    assert_eq!(code, 0, "{all}");
    for part in all["parts"].as_array().unwrap() {
        assert_eq!(number(part, "data_packets_sent"), 1_024.0, "{part}");
        assert_eq!(number(part, "data_packets_again"), 0.0);
    }
}

#[test]
fn the_capture_of_the_demo_has_good_frames_at_both_ends() {
    let path = std::env::temp_dir().join(format!("tributary-bulk-{}.pcapng", std::process::id()));
    let name = path.to_str().unwrap();
    let (code, all) = json(&[
        "sim", "--demo", "bulk", "--bytes", "20000", "--pcap", name, "--json",
    ]);
    assert_eq!(code, 0, "{all}");
    let bytes = std::fs::read(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    let mut reader = pcap_file::pcapng::PcapNgReader::new(bytes.as_slice()).unwrap();
    let mut opcodes = std::collections::BTreeMap::new();
    let mut sides = [0; 2];
    while let Some(block) = reader.next_block() {
        if let pcap_file::pcapng::Block::EnhancedPacket(packet) = block.unwrap() {
            let frame = roce::decode(&packet.data).expect("a good frame");
            *opcodes.entry(frame.bth.opcode).or_insert(0) += 1;
            sides[packet.interface_id as usize] += 1;
        }
    }
    // CONNECT, its answer, DATA, COMPLETE, and the READ request, each where it leaves and where it arrives.
    for opcode in [0xC0, 0xC1, 0xC4, 0xC5, 0xC8] {
        assert!(
            opcodes.get(&opcode).is_some_and(|count| *count > 1),
            "{opcode:#x}: {opcodes:?}"
        );
    }
    assert!(opcodes[&0xC0] >= 2 * 2 * 40 - 20, "{opcodes:?}");
    assert!(sides.iter().all(|side| *side > 50), "{sides:?}");
}

#[test]
fn bandwidth_of_transfers_comes_near_to_the_line_and_not_above() {
    for test in ["write-bw", "read-bw"] {
        let (code, all) = json(&[
            "perf",
            test,
            "-s",
            "4194304",
            "-n",
            "8",
            "-m",
            "4096",
            "--tx-depth",
            "4",
            "--json",
        ]);
        assert_eq!(code, 0, "{all}");
        let row = &all["rows"][0];
        assert_eq!(
            (&row["transport"], number(row, "iterations")),
            (&"bulk".into(), 8.0)
        );
        let line = 100e9 / 8.0 / 1_048_576.0;
        let average = number(row, "bw_average_mib_per_s");
        assert!(
            (0.9 * line..line).contains(&average),
            "{test}: {average} of {line}"
        );
    }
}

#[test]
fn latency_of_transfers_is_above_what_their_messages_take() {
    // CONNECT and its answer, then the bytes; of a read the request in front.
    for (test, delays) in [("write-lat", 3.0), ("read-lat", 4.0)] {
        let (code, all) = json(&["perf", test, "-s", "8", "-n", "50", "--json"]);
        assert_eq!(code, 0, "{all}");
        let typical = number(&all["rows"][0], "t_typical_us");
        let least = delays * number(&all, "link_delay_us");
        assert!(
            (least..least + 1.0).contains(&typical),
            "{test}: {typical} us"
        );
    }
}

#[test]
fn wrong_calls_of_transfers_say_what_is_wrong() {
    for (call, wanted) in [
        (
            &["perf", "write-bw", "--raw"][..],
            "--raw and --compare are for sends",
        ),
        (&["perf", "write-bw", "-s", "1073741825"], "1073741825"),
    ] {
        let (code, error) = failure(call);
        assert_eq!(code, 2, "{error}");
        assert!(error.contains(wanted), "{call:?}: {error}");
    }
}
