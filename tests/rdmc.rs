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
