//! `tributary rdmc`, as its users call it.

mod common;

use common::{failure, json, success};

const SCHEDULE: [&str; 2] = ["rdmc", "schedule"];

fn call(rest: &str) -> Vec<&str> {
    let mut words = SCHEDULE.to_vec();
    words.extend(rest.split_whitespace());
    words
}

#[test]
fn mb_07_a_schedule_is_one_json_object_ordered_by_step_and_source() {
    let (code, value) = json(&call("--members 5 --blocks 3 --json"));
    assert_eq!(code, 0);
    assert_eq!(value["algorithm"], "binomial-pipeline");
    assert_eq!(value["total_steps"], 5);
    let rows: Vec<[u64; 4]> = value["transfers"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| ["step", "src", "dst", "block"].map(|key| row[key].as_u64().unwrap()))
        .collect();
    assert_eq!(rows.len(), 12);
    assert!(rows.is_sorted());
    assert_eq!(rows[..3], [[0, 0, 1, 0], [1, 0, 2, 1], [1, 1, 3, 0]]);
}

#[test]
fn mb_01_mb_02_mb_03_mb_04_every_algorithm_says_its_steps() {
    for (algorithm, steps) in [
        ("sequential", 28),
        ("chain", 10),
        ("binomial-tree", 12),
        ("binomial-pipeline", 6),
    ] {
        let words = format!("--algorithm {algorithm} --members 8 --blocks 4");
        let (code, text) = success(&call(&words));
        assert_eq!(code, 0);
        let head = format!("{algorithm}: 8 members, 4 blocks; {steps} steps, 28 transfers");
        assert_eq!(text.lines().next(), Some(head.as_str()));
        assert_eq!(text.lines().count(), 1 + steps);
    }
}

#[test]
fn mb_06_racks_cut_the_traffic_between_them() {
    let share = |words: &str| {
        let (_, value) = json(&call(words));
        let between = value["transfers_between_racks"].as_u64().unwrap();
        between as f64 / value["transfers"].as_array().unwrap().len() as f64
    };
    let hybrid = share("--algorithm hybrid --racks 12,12,12,12,12 --blocks 32 --json");
    let laid_out = share("--racks 12,12,12,12,12 --blocks 32 --json");
    // 4 of 59 transfers of each block.
    assert!((hybrid - 4.0 / 59.0).abs() < 1e-9, "{hybrid}");
    assert!(laid_out < 0.5, "{laid_out}");
}

#[test]
fn mb_07_large_schedules_are_written_as_they_are_made() {
    let (code, text) = success(&call("--algorithm chain --members 3000 --blocks 100"));
    assert_eq!(code, 0);
    assert_eq!(text.lines().count(), 1 + 3_098);
}

#[test]
fn a_drawing_has_a_box_for_each_transfer() {
    let folder = std::env::temp_dir().join(format!("tributary-rdmc-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("schedule.svg");
    let words = [
        "--members",
        "6",
        "--blocks",
        "4",
        "--svg",
        file.to_str().unwrap(),
    ];
    let (code, _) = success(&[&SCHEDULE[..], &words].concat());
    assert_eq!(code, 0);
    let svg = std::fs::read_to_string(&file).unwrap();
    assert_eq!(svg.matches("rx=\"2\"").count(), 4 * 5);
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn wrong_calls_say_what_would_be_right() {
    for (words, part) in [
        (
            "--members 0 --blocks 1",
            "0 members: a group has 1 to 65536",
        ),
        ("--members 70000 --blocks 1", "70000 members"),
        (
            "--members 4 --blocks 0",
            "0 blocks: a message has 1 to 1048576",
        ),
        (
            "--algorithm hybrid --members 4 --blocks 1",
            "hybrid needs --racks",
        ),
        ("--racks 2,0,3 --blocks 1", "a rack of 0 members"),
        (
            "--racks 2,3 --members 6 --blocks 1",
            "the racks have 5 together",
        ),
        (
            "--algorithm chain --racks 2,3 --blocks 1",
            "chain knows no racks",
        ),
        ("--members 1000 --blocks 1000 --svg x.svg", "up to 20000"),
        ("--members 4294967296 --blocks 1", "4294967296"),
    ] {
        let (code, text) = failure(&call(words));
        assert_eq!(code, 2, "{words}: {text}");
        assert!(text.contains(part), "{words}: {text}");
    }
}

fn demo(rest: &str) -> (i32, serde_json::Value) {
    let mut words = vec!["sim", "--demo", "rdmc", "--json"];
    words.extend(rest.split_whitespace());
    json(&words)
}

#[test]
fn mb_04_mb_05_mb_16_a_run_without_latency_takes_its_steps() {
    for (words, steps) in [
        ("--members 8 --bytes 1000000 --block-size 10000", 102),
        (
            "--members 13 --bytes 999999 --block-size 10000 --offload",
            103,
        ),
        (
            "--members 9 --bytes 50000 --block-size 10000 --algorithm chain",
            12,
        ),
        ("--members 1 --bytes 50000", 0),
    ] {
        let (code, value) = demo(words);
        assert_eq!((code, &value["verdict"]), (0, &"success".into()), "{value}");
        assert_eq!(value["total_steps"], steps, "{words}");
        let over = value["time_over_bound"].as_f64().unwrap();
        assert!((0.99..=1.0).contains(&over), "{words}: {over}");
    }
}

#[test]
fn mb_12_mb_13_a_death_is_known_to_all_and_named() {
    let (code, value) =
        demo("--members 16 --latency 1us --detection 20us --kill 5@40us --kill 9@45us");
    assert_eq!(code, 0);
    assert_eq!(value["verdict"], "failure");
    assert_eq!(value["dead"], serde_json::json!([5, 9]));
    let suspect = value["suspect"].as_u64().unwrap();
    assert!(suspect == 5 || suspect == 9);
    assert!(value["watermarks"][5].is_null() && value["watermarks"][0] == 1);
    // Whoever watches the first notices after 20 us; the diameter of 16 members is 4, two more without the dead.
    assert!(value["known_after_ns"].as_f64().unwrap() <= 20_000.0 + 6_000.0);
    assert!(value["goodput_gbps"].is_null());
}

#[test]
fn mb_15_a_demo_with_something_slow_takes_longer() {
    let time = |words: &str| demo(words).1["time_ns"].as_f64().unwrap();
    let plain = time("--members 8");
    assert!(time("--members 8 --slow-link 1-3@0.5") > 1.05 * plain);
    assert!(time("--members 8 --slow-member 3@0.5") > 1.5 * plain);
    let paused = time("--members 8 --pause 3@20us+10us");
    assert!(paused > plain && paused <= plain + 10_000.0);
    assert!(time("--members 8 --latency 1us --credits 1") > time("--members 8 --latency 1us"));
}

#[test]
fn wrong_demos_say_what_would_be_right() {
    for (words, part) in [
        ("--block-size 0", "blocks of 0 bytes"),
        ("--kill 9@40us", "node 9: there are nodes 0 to 7"),
        ("--kill 3", "3@40us would be right"),
        ("--kill 3@40", "a number and a unit"),
        ("--slow-link 1-2@1.5", "above 0 and at most 1"),
        (
            "--algorithm hybrid --members 4",
            "the racks have 0 together",
        ),
        ("--offload --algorithm chain", "chain cannot be offloaded"),
        ("--bytes 4000000000 --block-size 1", "has up to"),
        ("--rate 0", "--rate 0"),
    ] {
        let mut call = vec!["sim", "--demo", "rdmc"];
        call.extend(words.split_whitespace());
        let (code, text) = failure(&call);
        assert_eq!(code, 2, "{words}: {text}");
        assert!(text.contains(part), "{words}: {text}");
    }
}

#[test]
fn mb_13_random_deaths_of_the_bench_give_no_wrong_verdict() {
    let (code, value) = json(&["bench", "rdmc", "--deaths", "500", "--seed", "7", "--json"]);
    assert_eq!((code, &value["wrong_verdicts"]), (0, &0.into()), "{value}");
    assert!(value["deaths"].as_u64().unwrap() >= 500);
    assert!(value["runs_with_failure"].as_u64().unwrap() > 50);
}

#[test]
fn a_drawing_of_a_run_has_a_box_for_each_block_and_a_cross_for_the_dead() {
    let file = std::env::temp_dir().join(format!("tributary-run-{}.svg", std::process::id()));
    let path = file.to_str().unwrap();
    let words = "sim --demo rdmc --members 6 --bytes 40000 --block-size 10000 --kill 5@100us --svg";
    let mut call: Vec<&str> = words.split_whitespace().collect();
    call.push(path);
    let (code, _) = success(&call);
    assert_eq!(code, 0);
    let svg = std::fs::read_to_string(&file).unwrap();
    assert_eq!(svg.matches("rx=\"2\"").count(), 4 * 5);
    assert_eq!(svg.matches("stroke=\"#c00\" stroke-width=\"3\"").count(), 1);
    std::fs::remove_file(&file).unwrap();
}

#[test]
fn mb_16_whole_cards_carry_the_demo_out() {
    for (engine, members) in [("model", 5), ("rtl", 3)] {
        let words = format!(
            "sim --demo rdmc --engine {engine} --members {members} --bytes 50001 --block-size 8192 --json"
        );
        let words: Vec<&str> = words.split_whitespace().collect();
        let (code, value) = json(&words);
        assert_eq!(code, 0, "{value}");
        assert_eq!(value["engine"], engine);
        assert_eq!(value["blocks"], 7);
        assert_eq!(value["posts"], members);
        assert_eq!(value["completions"], members);
        assert_eq!(value["every_byte_right"], true);
        assert!(value["time_over_bound"].as_f64().unwrap() > 0.9, "{value}");
    }
}

/// Several members send to one port at once, so packets stand in queues that nobody was told of; nothing is lost. While
/// silence of a shared line counted as loss, the last run sent half as many packets again, and a longer message failed.
#[test]
fn mb_16_rw_12_members_that_share_a_port_send_hardly_a_packet_in_vain() {
    for (words, useful, most) in [
        (
            "--bytes 524288 --block-size 65536 --credits 2",
            3 * 512,
            1.05,
        ),
        ("--bytes 524288 --block-size 65536", 3 * 512, 1.05),
        (
            "--bytes 1048576 --block-size 131072 --credits 4 --lanes 2",
            3 * 1024,
            1.1,
        ),
    ] {
        let words = format!("sim --demo rdmc --engine rtl --members 4 {words} --json");
        let words: Vec<&str> = words.split_whitespace().collect();
        let (code, value) = json(&words);
        assert_eq!(code, 0, "{value}");
        assert!(value["packets_sent"].as_u64().unwrap() >= useful, "{value}");
        let per_useful = value["packets_per_useful"].as_f64().unwrap();
        assert!((1.0..most).contains(&per_useful), "{value}");
    }
}

#[test]
fn mb_16_what_whole_cards_cannot_is_a_wrong_call() {
    let wrong = |words: &str| {
        let words: Vec<&str> = words.split_whitespace().collect();
        let (code, error) =
            failure(&[&["sim", "--demo", "rdmc", "--engine", "model"], &words[..]].concat());
        assert_eq!(code, 2, "{error}");
        error
    };
    assert!(wrong("--kill 1@5us").contains("--kill"));
    assert!(wrong("--members 65").contains("2 to 64"));
    assert!(wrong("--bytes 0").contains("at least 1"));
    assert!(wrong("--latency 1ms").contains("50us"));
    let (code, error) = failure(&["sim", "--demo", "rdmc", "--lanes", "2"]);
    assert!(code == 2 && error.contains("--engine"), "{error}");
}
