//! `tributary perf`: figures of simulated cards.

mod common;

use common::{failure, json, success};
use serde_json::Value;

/// Half of the default round trip of 20 slots of 104 ns.
const DELAY_US: f64 = 1.04;
const MIB: f64 = 1_048_576.0;

fn rows(value: &Value) -> &Vec<Value> {
    value["rows"].as_array().unwrap()
}

fn number(value: &Value, key: &str) -> f64 {
    value[key]
        .as_f64()
        .unwrap_or_else(|| panic!("{key}: {value}"))
}

/// Times in order, none below the link's delay.
fn sane_latency(row: &Value) {
    let keys = [
        "t_min_us",
        "t_typical_us",
        "percentile_99_us",
        "percentile_99_9_us",
        "t_max_us",
    ];
    let times = keys.map(|key| number(row, key));
    assert!(times.is_sorted(), "{row}");
    assert!(times[0] > DELAY_US, "{row}");
    let average = number(row, "t_avg_us");
    assert!((times[0]..=times[4]).contains(&average), "{row}");
    assert!(number(row, "t_stdev_us") >= 0.0);
}

/// Peak not below the average, and neither above the line.
fn sane_rates(row: &Value, gbps: f64) {
    let bytes = number(row, "message_bytes");
    let line = gbps * 1e9 / 8.0 / MIB;
    let [peak, average] = ["bw_peak_mib_per_s", "bw_average_mib_per_s"].map(|k| number(row, k));
    assert!(0.0 < average && average <= peak && peak < line, "{row}");
    let rate = number(row, "msg_rate_mpps");
    assert!(
        (rate * 1e6 * bytes / MIB / average - 1.0).abs() < 1e-9,
        "{row}"
    );
    assert!(number(row, "msg_rate_peak_mpps") >= rate);
}

#[test]
fn latency_of_the_model_is_above_the_delay_of_the_link_and_replays() {
    let call = ["perf", "send-lat", "-n", "200", "--compare", "--json"];
    let (code, all) = json(&call);
    assert_eq!(code, 0);
    assert_eq!(all, json(&call).1);
    assert_eq!(
        (&all["engine"], &all["clock"]),
        (&"model".into(), &"simulated".into())
    );
    assert_eq!(number(&all, "link_delay_us"), DELAY_US);
    let rows = rows(&all);
    let of = |key: &str| rows.iter().map(|row| row[key].clone()).collect::<Vec<_>>();
    assert_eq!(of("transport"), ["raw", "reliable"]);
    assert_eq!(of("iterations"), [200, 200]);
    assert_eq!(of("message_bytes"), [2, 2]);
    rows.iter().for_each(sane_latency);
    let ratio = number(&all["compare"][0], "t_typical_ratio");
    let typical = [1, 0].map(|row: usize| number(&rows[row], "t_typical_us"));
    assert!((ratio - typical[0] / typical[1]).abs() < 1e-9, "{all}");
    // A longer link takes longer, by what it is longer.
    let far = json(&[
        "perf",
        "send-lat",
        "-n",
        "50",
        "--round-trip",
        "200",
        "--json",
    ])
    .1;
    let longer = number(&far["rows"][0], "t_typical_us") - typical[0];
    assert!((longer - 9.36).abs() < 0.1, "{longer}");
}

#[test]
fn bandwidth_of_the_model_comes_near_to_its_line_and_not_above() {
    for transport in ["--raw", "--compare"] {
        let (code, all) = json(&["perf", "send-bw", "-m", "4096", transport, "--json"]);
        assert_eq!(code, 0);
        for row in rows(&all) {
            sane_rates(row, 100.0);
            assert!(
                number(row, "bw_average_mib_per_s") * MIB * 8e-9 > 90.0,
                "{row}"
            );
        }
    }
    let (_, all) = json(&["perf", "msg-rate", "-s", "64", "-t", "4", "--json"]);
    sane_rates(&rows(&all)[0], 100.0);
    // Four under way wait for the network.
    assert!(number(&rows(&all)[0], "msg_rate_mpps") < 4.0 / (2.0 * DELAY_US));
}

#[test]
fn all_sizes_go_up_to_64_kib_and_of_datagrams_up_to_the_mtu() {
    let sizes = |arguments: &[&str]| {
        let (_, all) =
            json(&[&["perf", "send-bw", "-a", "-n", "20", "--json"], arguments].concat());
        let sizes = rows(&all)
            .iter()
            .map(|row| row["message_bytes"].as_u64().unwrap());
        sizes.collect::<Vec<_>>()
    };
    let powers = |most: u32| (1..=most).map(|log| 1 << log).collect::<Vec<u64>>();
    assert_eq!(sizes(&[]), powers(16));
    assert_eq!(sizes(&["--raw", "-m", "512"]), powers(9));
}

#[test]
fn xud_10_the_layer_mends_what_datagrams_lose() {
    let (code, all) = json(&[
        "perf",
        "send-bw",
        "--compare",
        "-n",
        "2000",
        "--loss",
        "0.05",
        "--dup",
        "0.02",
        "--reorder",
        "32",
        "--json",
    ]);
    assert_eq!(code, 0);
    let [raw, reliable] = &rows(&all)[..] else {
        panic!("{all}")
    };
    assert_eq!(
        (&reliable["iterations"], &reliable["failed"]),
        (&2_000.into(), &0.into())
    );
    let (good, lost) = (number(raw, "iterations"), number(raw, "failed"));
    assert_eq!(good + lost, 2_000.0);
    // Lost there, or its acknowledgement back: 9.75 %.
    assert!((100.0..300.0).contains(&lost), "{raw}");
    rows(&all).iter().for_each(|row| sane_rates(row, 100.0));
    let (_, all) = json(&[
        "perf",
        "send-lat",
        "--compare",
        "-n",
        "300",
        "--loss",
        "0.05",
        "--reorder",
        "32",
        "--json",
    ]);
    rows(&all).iter().for_each(sane_latency);
    assert!(number(&rows(&all)[0], "failed") > 0.0);
    assert_eq!(rows(&all)[1]["failed"], 0);
}

#[test]
fn the_verilated_card_is_measured() {
    let (code, all) = json(&[
        "perf",
        "send-lat",
        "--engine",
        "rtl",
        "-n",
        "5",
        "--compare",
        "--json",
    ]);
    assert_eq!((code, &all["engine"]), (0, &"rtl".into()));
    assert_eq!(rows(&all).len(), 2);
    rows(&all).iter().for_each(sane_latency);
    let (code, all) = json(&[
        "perf", "send-bw", "--engine", "rtl", "-n", "40", "-s", "1024", "--json",
    ]);
    assert_eq!(code, 0);
    sane_rates(&rows(&all)[0], 8.0);
}

#[test]
fn tables_have_the_columns_of_perftest() {
    let (_, text) = success(&["perf", "send-lat", "-n", "10"]);
    for column in [
        "#bytes",
        "#iterations",
        "t_min[usec]",
        "t_typical[usec]",
        "t_avg[usec]",
        "99% percentile[usec]",
        "99.9% percentile[usec]",
    ] {
        assert!(text.contains(column), "{text}");
    }
    let (_, text) = success(&["perf", "send-bw", "-n", "10", "--compare"]);
    for part in [
        "BW peak[MB/sec]",
        "BW average[MB/sec]",
        "MsgRate[Mpps]",
        "of the average rate",
    ] {
        assert!(text.contains(part), "{text}");
    }
    let (_, text) = success(&["perf", "msg-rate", "-D", "0.05"]);
    assert!(text.contains("MsgRate average[Mpps]"), "{text}");
}

#[test]
fn wrong_calls_say_what_is_wrong() {
    let cases: [(&[&str], &[&str]); 9] = [
        (
            &["send-lat", "--raw", "-s", "2000"],
            &["--size 2000", "--mtu 1024"],
        ),
        (
            &["send-lat", "-s", "65537"],
            &["--size 65537", "up to 65536"],
        ),
        (
            &["send-lat", "-s", "8", "-a"],
            &["--size", "--all", "cannot be used with"],
        ),
        (
            &["send-lat", "-n", "8", "-D", "1"],
            &["--iters", "--duration"],
        ),
        (&["send-lat", "-D", "-1"], &["-1"]),
        (
            &["send-bw", "-m", "1000"],
            &["1000", "256, 512, 1024, 2048 or 4096"],
        ),
        (
            &["send-bw", "--loss", "1.5"],
            &["1.5", "a probability is 0 to 1"],
        ),
        (&["send-bw", "--raw", "--compare"], &["--raw", "--compare"]),
        (
            &["recv-lat"],
            &["'recv-lat'", "send-lat, send-bw, msg-rate"],
        ),
    ];
    for (arguments, texts) in cases {
        let (code, error) = failure(&[&["perf"], arguments].concat());
        assert_eq!(code, 2, "{arguments:?}: {error}");
        let found = texts.iter().all(|text| error.contains(text));
        assert!(found, "{arguments:?}: {error}");
    }
}

#[test]
fn a_network_that_loses_everything_is_an_error() {
    for (arguments, text) in [
        (
            &["perf", "send-bw", "--loss", "1", "-n", "5"][..],
            "ended as unreachable",
        ),
        (
            &["perf", "send-lat", "--loss", "1", "-n", "5", "--raw"],
            "none of 5 messages",
        ),
    ] {
        let (code, error) = failure(arguments);
        assert_eq!(code, 1);
        assert!(error.contains(text), "{error}");
    }
}

#[test]
fn xud_10_the_demo_runs_on_verilated_cards_over_a_bad_link() {
    let (code, sum) = json(&[
        "sim",
        "--demo",
        "xud",
        "--engine",
        "rtl",
        "--messages",
        "150",
        "--loss",
        "0.02",
        "--dup",
        "0.02",
        "--ordered",
        "--round-trip",
        "16",
        "--json",
    ]);
    assert_eq!((code, &sum["engine"]), (0, &"rtl".into()));
    for (key, count) in [
        ("completed", 150),
        ("delivered", 150),
        ("duplicated", 0),
        ("corrupted", 0),
        ("overtaken", 0),
    ] {
        assert_eq!(sum[key], count, "{key}: {sum}");
    }
    assert!(number(&sum, "requests") >= 150.0 + number(&sum, "resends"));
    assert!(number(&sum, "resends") > 0.0 && number(&sum, "goodput") < 1.0);
    let (code, error) = failure(&["sim", "--demo", "xud", "--engine", "rtl", "--pcap", "x"]);
    assert_eq!(code, 2, "{error}");
}

/// At 8 Gb/s: a word of 64 bits in each clock of 8 ns.
#[test]
fn bw_01_bw_11_the_rtl_writes_and_reads_more_than_a_packet_over_a_network_that_loses() {
    let call = [
        "--engine",
        "rtl",
        "-s",
        "20000",
        "-n",
        "6",
        "--mtu",
        "512",
        "--loss",
        "0.02",
        "--dup",
        "0.02",
        "--reorder",
        "8",
        "--json",
    ];
    for test in ["write-bw", "read-bw"] {
        let (code, all) = json(&[&["perf", test][..], &call].concat());
        assert_eq!(code, 0, "{all}");
        let row = &rows(&all)[0];
        assert_eq!(
            (&row["transport"], &row["iterations"]),
            (&"bulk".into(), &6.into())
        );
        sane_rates(row, 8.0);
    }
}
