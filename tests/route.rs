//! Multicast routing on the command line: figures, drawings, tables, failures, bad input.

mod common;

use std::fs;
use std::path::PathBuf;

use common::{failure, json, tributary};
use serde_json::Value;

/// A path for the files of one test.
fn scratch(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("route");
    fs::create_dir_all(&folder).unwrap();
    let path = folder.join(name);
    let _ = fs::remove_file(&path);
    path
}

/// Every element that is opened is closed, in order.
fn assert_well_formed(xml: &str) {
    let mut open = Vec::new();
    let mut rest = xml;
    while let Some(at) = rest.find('<') {
        let end = at + rest[at..].find('>').expect("a tag that does not end");
        let tag = &rest[at + 1..end];
        assert!(!rest[..at].contains('>'), "a bare > before <{tag}");
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop(), Some(name.to_owned()), "</{name}>");
        } else if !tag.ends_with('/') {
            open.push(tag.split_whitespace().next().unwrap().to_owned());
        }
        rest = &rest[end + 1..];
    }
    assert!(open.is_empty(), "{open:?} stay open");
    assert!(!xml.contains("NaN") && !xml.contains("inf"), "not a number");
}

const SMALL: [&str; 4] = ["--topology", "ft3:4", "--groups", "4x4"];

fn small<'a>(command: &[&'a str], more: &[&'a str]) -> Vec<&'a str> {
    [command, &SMALL, more].concat()
}

#[test]
fn the_text_shows_every_router_with_its_histogram() {
    let output = tributary(&small(&["route"], &["--router", "minihop,fulb"]));
    assert_eq!(output.status.code(), Some(0));
    let text = String::from_utf8(output.stdout).unwrap();
    // Times and memory are the machine's.
    let lines: Vec<String> = text
        .lines()
        .map(|line| line.trim_end().to_owned())
        .collect();
    assert!(
        lines[0].starts_with(
            "network      ft3:4: 20 switches, 16 endnodes, 32 cables between switches; "
        )
    );
    assert_eq!(lines[1], "structure    3 tiers");
    assert_eq!(
        lines[3],
        "groups       4x4: 8 groups, 0 of them skipped (one endnode)"
    );
    assert_eq!(
        lines[4],
        "lower bound  2 groups on the busiest cable, whatever the router"
    );
    let row = |name: &str| -> Vec<String> {
        let line = lines.iter().find(|line| line.starts_with(name)).unwrap();
        line.split_whitespace().take(8).map(str::to_owned).collect()
    };
    assert_eq!(
        row("minihop "),
        ["minihop", "4", "1.25", "0", "4", "2", "1.50", "12"]
    );
    assert_eq!(
        row("fulb "),
        ["fulb", "3", "1.25", "1", "3", "2", "1.50", "28"]
    );
    let start = lines
        .iter()
        .position(|l| l == "fulb: cables by the groups on them");
    assert_eq!(
        lines[start.unwrap() + 1..],
        [
            "          0        4 ##########",
            "          1       20 ##################################################",
            "          2        4 ##########",
            "          3        4 ##########",
        ]
    );
}

#[test]
fn the_object_has_figures_with_their_units() {
    let (code, sum) = json(&small(&["route"], &["--router", "all", "--json"]));
    assert_eq!(code, 0);
    for (key, value) in [
        ("network", Value::from("ft3:4")),
        ("pattern", "4x4".into()),
        ("switches", 20.into()),
        ("endnodes", 16.into()),
        ("cables", 32.into()),
        ("groups", 8.into()),
        ("skipped_groups", 0.into()),
        ("lower_bound_efi", 2.into()),
    ] {
        assert_eq!(sum[key], value, "{key}");
    }
    for key in ["network_time_s", "hop_table_time_s", "hop_table_bytes"] {
        assert!(sum[key].is_number(), "{key}");
    }
    let routers = sum["routers"].as_array().unwrap();
    let names: Vec<&str> = routers
        .iter()
        .filter_map(|r| r["router"].as_str())
        .collect();
    assert_eq!(
        names,
        [
            "own",
            "fulb",
            "minihop",
            "minihop-new",
            "sssp",
            "sssp-new",
            "sssp-dyn",
            "sssp-dyn-new"
        ]
    );
    for router in routers {
        for key in ["max_efi", "mean_efi", "p50_efi", "p99_efi", "used_cables"] {
            assert!(router[key].is_number(), "{key}: {router}");
        }
        for key in ["setup_time_s", "time_s", "us_per_group"] {
            assert!(router[key].is_number(), "{key}: {router}");
        }
        assert!(router.get("peak_rss_bytes").is_some(), "{router}");
        assert_eq!(router["height"]["above_least"], 0, "{router}");
        let cables = router["efi_histogram"].as_array().unwrap();
        let cables = cables.iter().map(|pair| pair[1].as_u64().unwrap());
        assert_eq!(cables.sum::<u64>(), 32, "{router}");
    }
}

#[test]
fn mc_06_the_own_router_is_not_above_the_others() {
    for (topology, groups) in [
        ("ft3:8", "16x8"),
        ("ft3:8", "rnd60_8_1"),
        ("df:4,2,2", "12x6"),
        ("leaf-spine:12,4,8", "12x8"),
    ] {
        let (_, sum) = json(&[
            "route",
            "--topology",
            topology,
            "--groups",
            groups,
            "--router",
            "all",
            "--json",
        ]);
        let routers = sum["routers"].as_array().unwrap();
        let efi = |router: &Value| router["max_efi"].as_u64().unwrap();
        let least = routers.iter().map(efi).min().unwrap();
        assert_eq!(efi(&routers[0]), least, "{groups} on {topology}");
    }
}

#[test]
fn mc_09_a_failed_cable_touches_only_its_groups() {
    let (code, sum) = json(&small(
        &["route"],
        &["--router", "own,fulb", "--fail", "S0.3", "--json"],
    ));
    assert_eq!(code, 0);
    for router in sum["routers"].as_array().unwrap() {
        let failure = &router["failures"][0];
        assert_eq!(failure["cable"], "S0.3 - S8.1");
        let touched = failure["touched_groups"].as_u64().unwrap();
        assert!((1..8).contains(&touched), "{failure}");
        assert_eq!(failure["unreachable_groups"], 0);
        assert!(failure["reason"].is_null());
        for key in ["hop_table_time_s", "time_s", "max_efi", "max_efi_before"] {
            assert!(failure[key].is_number(), "{key}");
        }
    }
}

#[test]
fn a_group_that_a_failure_cuts_apart_is_named_and_fails_the_command() {
    let output = tributary(&[
        "route",
        "--topology",
        "chain:3,2",
        "--groups",
        "3x2",
        "--fail",
        "S1.3",
    ]);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(
        text.contains("own: cable 0 (S0.3 - S1.4) failed") || text.contains("FAILED: 2 groups"),
        "{text}"
    );
    assert!(text.contains("have no tree any more; group "), "{text}");
    assert!(
        text.contains("no switch reaches all of the group's switches"),
        "{text}"
    );
}

#[test]
fn drawings_and_pages_are_well_formed_for_every_kind_of_network() {
    for (index, (topology, groups, fail)) in [
        ("ft3:4", "4x4", "0"),
        ("torus:4x3,2", "4x6", "1"),
        ("torus:3x3x2,1", "6x3", "2"),
        ("df:4,2,2", "12x6", "3"),
        ("chain:5,1", "rnd3_3_1", ""),
        ("leaf-spine:4,2,2", "2x4", "4"),
        // Too large for single cables.
        ("ft3:16", "rnd20_8_1", "5"),
        ("torus:10x9x8,1", "rnd20_8_1", ""),
        ("df:8,4,4", "rnd20_8_1", ""),
    ]
    .into_iter()
    .enumerate()
    {
        let svg = scratch(&format!("{index}.svg"));
        let html = scratch(&format!("{index}.html"));
        let mut arguments = vec![
            "route",
            "--topology",
            topology,
            "--groups",
            groups,
            "--router",
            "fulb,own,minihop",
            "--svg",
            svg.to_str().unwrap(),
            "--html",
            html.to_str().unwrap(),
        ];
        if !fail.is_empty() {
            arguments.extend(["--fail", fail]);
        }
        let output = tributary(&arguments);
        assert_eq!(output.status.code(), Some(0), "{topology}: {output:?}");
        let drawing = fs::read_to_string(svg).unwrap();
        assert_well_formed(&drawing);
        assert!(drawing.contains(topology) && drawing.contains("= lower bound"));
        assert!(drawing.contains(">own</tspan>: busiest cable"));
        let page = fs::read_to_string(html).unwrap();
        assert!(page.contains(&drawing) && page.ends_with("</html>\n"));
        assert_eq!(page.contains("Failed cables"), !fail.is_empty());
    }
}

#[test]
fn mc_10_trees_go_out_as_tables_of_both_forms() {
    let toml = scratch("tables.toml");
    let as_json = scratch("tables.json");
    let mcfdbs = scratch("opensm.mcfdbs");
    for tables in [&toml, &as_json] {
        let output = tributary(&small(
            &["route"],
            &[
                "--tables",
                tables.to_str().unwrap(),
                "--mcfdbs",
                mcfdbs.to_str().unwrap(),
            ],
        ));
        assert_eq!(output.status.code(), Some(0), "{output:?}");
    }
    let tables: Value = serde_json::from_str(&fs::read_to_string(as_json).unwrap()).unwrap();
    let trees = tables["tree"].as_array().unwrap();
    assert_eq!(trees.len(), 8);
    assert_eq!(trees[0]["root"], "H0");
    assert_eq!(trees[0]["members"], serde_json::json!(["H4", "H8", "H12"]));
    let text = fs::read_to_string(toml).unwrap();
    assert_eq!(text.matches("[[tree]]").count(), 8);
    let dump = fs::read_to_string(mcfdbs).unwrap();
    assert!(
        dump.contains("LID    : Out Port(s)") && dump.contains("0xC000 :"),
        "{dump}"
    );
}

/// Groups keep their numbers, as OpenSM gives them: those that need no tree, too, and those whose trees share no switch.
#[test]
fn mc_10_a_dump_says_which_group_has_which_multicast_lid() {
    let groups = scratch("mlids.groups");
    // H0 and H1 are on one switch, H14 and H15 on another.
    fs::write(&groups, "H0 H1\nH7\nH14 H15\nH0 H15\n").unwrap();
    let mcfdbs = scratch("mlids.mcfdbs");
    let arguments = [
        "route",
        "--topology",
        "ft3:4",
        "--groups-file",
        groups.to_str().unwrap(),
        "--json",
    ];
    let (_, without) = json(&arguments);
    assert_eq!(without.get("mlids"), None);
    let with = [&arguments[..], &["--mcfdbs", mcfdbs.to_str().unwrap()]].concat();
    let (code, object) = json(&with);
    assert_eq!(code, 0);
    let entry = |group: usize, mlid: &str, has_entries: bool| serde_json::json!({"group": group, "mlid": mlid, "has_entries": has_entries});
    assert_eq!(
        object["mlids"],
        serde_json::json!([
            entry(0, "0xC000", true),
            entry(1, "0xC001", false),
            entry(2, "0xC002", true),
            entry(3, "0xC003", true)
        ])
    );
    let dump = fs::read_to_string(&mcfdbs).unwrap();
    let (map, tables) = dump.split_once("\n\n").unwrap();
    assert_eq!(
        map,
        "# group: multicast LID\n# 0: 0xC000\n# 1: 0xC001, no entries\n# 2: 0xC002\n# 3: 0xC003"
    );
    let counts = ["0xC000 :", "0xC001 :", "0xC002 :"].map(|mlid| tables.matches(mlid).count());
    assert_eq!(counts, [1, 0, 1]);
    assert!(tables.matches("0xC003 :").count() > 2);

    // One number too many; --tables alone has its own limit.
    fs::write(&groups, "H0 H1\n".repeat(16_383)).unwrap();
    let (code, object) = json(&with);
    assert_eq!(
        (code, &object["mlids"][16_382]["mlid"]),
        (0, &"0xFFFE".into())
    );
    fs::write(&groups, "H0 H1\n".repeat(16_384)).unwrap();
    let (code, error) = failure(&with);
    assert_eq!(code, 1);
    assert!(
        error.contains("16384 groups, and there are 16383 multicast LIDs"),
        "{error}"
    );
}

#[test]
fn mc_10_cables_back_to_their_own_switch_are_said_and_not_used() {
    let network = scratch("loopback.topo");
    fs::write(
        &network,
        "topo loopback switches 2 endnodes 2\nsw 0 4 0\nsw 1 4 0\nl 0 1 1 1\nl 0 2 0 3\nh 0 0 4\nh 1 1 4\n",
    )
    .unwrap();
    let arguments = [
        "route",
        "--network",
        network.to_str().unwrap(),
        "--groups",
        "2",
        "--router",
        "all",
    ];
    let output = tributary(&arguments);
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0), "{text}");
    let said = "loopbacks    1 cables from a switch back to itself; nothing uses them";
    assert!(text.contains(said), "{text}");
    let (_, object) = json(&[&arguments[..], &["--json"]].concat());
    assert_eq!(
        (&object["cables"], &object["loopback_cables"]),
        (&1.into(), &1.into())
    );
    let (code, error) = failure(&[&arguments[..], &["--fail", "S0.2"]].concat());
    assert!(
        code == 1 && error.contains("leads back to the switch"),
        "{error}"
    );
}

#[test]
fn mc_10_a_network_and_groups_come_from_files() {
    let network = scratch("pair.topo");
    fs::write(
        &network,
        "topo pair switches 2 endnodes 4\nsw 0 4 0\nsw 1 4 0\nl 0 3 1 3\nl 0 4 1 4\n\
         h 0 0 1\nh 1 0 2\nh 2 1 1\nh 3 1 2\n",
    )
    .unwrap();
    let groups = scratch("pair.groups");
    fs::write(&groups, "# two\nH0 H2\n1 3\n0\n").unwrap();
    let arguments = [
        "route",
        "--network",
        network.to_str().unwrap(),
        "--groups-file",
        groups.to_str().unwrap(),
        "--json",
    ];
    let (code, sum) = json(&arguments);
    assert_eq!((code, &sum["network"]), (0, &"pair".into()));
    assert_eq!(
        (&sum["groups"], &sum["skipped_groups"]),
        (&3.into(), &1.into())
    );
    assert_eq!(sum["routers"][0]["max_efi"], 1);

    for (text, line, reason) in [
        ("0 1\n0 H9\n", 2, "there is no endnode H9"),
        ("0 1\n\n1 2 H1\n", 3, "endnode 1 (H1) is in the group twice"),
        ("0 4\n", 1, "endnodes 0 to 3"),
    ] {
        fs::write(&groups, text).unwrap();
        let (code, error) = failure(&arguments[..5]);
        assert_eq!(code, 1);
        let place = format!("{}:{line}: ", groups.display());
        assert!(error.contains(&place) && error.contains(reason), "{error}");
    }
    fs::write(&groups, "# nothing\n").unwrap();
    let (code, error) = failure(&arguments[..5]);
    assert!(
        code == 1 && error.contains("there is no group in it"),
        "{error}"
    );
    fs::write(
        &network,
        "topo pair switches 2 endnodes 0\nsw 0 4 0\nsw 0 4 0\n",
    )
    .unwrap();
    let (code, error) = failure(&arguments[..5]);
    let place = format!("{}:3: ", network.display());
    assert!(code == 1 && error.contains(&place), "{error}");
    let (code, error) = failure(&["route", "--network", "no-such.topo", "--groups", "2x2"]);
    assert!(code == 1 && error.contains("no-such.topo"), "{error}");
    let (code, error) = failure(&[
        "route",
        "--topology",
        "ft3:4",
        "--groups-file",
        "no-such.groups",
    ]);
    assert!(code == 1 && error.contains("no-such.groups"), "{error}");
}

#[test]
fn a_wrong_call_says_what_would_be_right() {
    for (arguments, texts) in [
        (&["route"][..], &["--topology", "--network"][..]),
        (
            &["route", "--topology", "ft3:8"],
            &["--groups", "--groups-file"],
        ),
        (
            &["route", "--topology", "ft4:8", "--groups", "2x2"],
            &["`ft4:8` is no topology", "ft3:K"],
        ),
        (
            &["route", "--topology", "ft3:7", "--groups", "2x2"],
            &["K = 7 is odd", "6 or 8"],
        ),
        (
            &["route", "--topology", "ft3:8", "--groups", "twelve"],
            &["`twelve` is no pattern", "16x8"],
        ),
        (
            &[
                "route",
                "--topology",
                "ft3:8",
                "--groups",
                "2x2",
                "--router",
                "dijkstra",
            ],
            &["'dijkstra'", "minihop-new", "all"],
        ),
        (
            &[
                "route",
                "--topology",
                "ft3:8",
                "--groups",
                "2x2",
                "--ppn",
                "0",
            ],
            &["--ppn", "1..=65536"],
        ),
        (
            &[
                "route",
                "--topology",
                "ft3:8",
                "--groups",
                "2x2",
                "--threads",
                "0",
            ],
            &["--threads", "1..=1024"],
        ),
        (
            &[
                "route",
                "--topology",
                "ft3:8",
                "--groups",
                "2x2",
                "--router",
                "own,fulb",
                "--tables",
                "t",
            ],
            &["one router", "--router names 2"],
        ),
        (
            &["bench", "multicast", "--router", "none"],
            &["'none'", "possible values"],
        ),
    ] {
        let (code, error) = failure(arguments);
        assert_eq!(code, 2, "{arguments:?}: {error}");
        assert!(
            texts.iter().all(|text| error.contains(text)),
            "{arguments:?}: {error}"
        );
    }
    for (more, texts) in [
        (
            &["--fail", "32"][..],
            &["there is no cable 32", "has 32"][..],
        ),
        (&["--fail", "S0"], &["`S0` is no cable", "SWITCH.PORT"]),
        (&["--fail", "S0.x"], &["`x` of `S0.x` is no port"]),
        (&["--fail", "S99.1"], &["there is no switch S99"]),
        (&["--fail", "S0.1"], &["leads to endnode H0"]),
        (&["--fail", "S0.9"], &["has ports 1 to 4, not 9"]),
        (&["--fail", "3,3"], &["is out of service already"]),
    ] {
        let (code, error) = failure(&small(&["route"], more));
        assert_eq!(code, 1, "{more:?}: {error}");
        assert!(
            texts.iter().all(|text| error.contains(text)),
            "{more:?}: {error}"
        );
    }
    let (code, error) = failure(&["route", "--topology", "ft3:4", "--groups", "5x4"]);
    assert_eq!(code, 1);
    assert!(
        error.contains("`5x4` has 20 processes; ft3:4 has room for 16"),
        "{error}"
    );
}

#[test]
fn the_bench_prints_a_row_for_every_pattern_and_leaves_slow_routers_out() {
    let (code, sum) = json(&[
        "bench",
        "multicast",
        "--endnodes",
        "1024",
        "--router",
        "fulb,minihop",
        "--json",
    ]);
    assert_eq!(code, 0);
    let rows = sum["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 2);
    for row in rows {
        assert_eq!(
            (&row["network"], &row["endnodes"]),
            (&"ft3:16".into(), &1024.into())
        );
        assert_eq!(row["routers"].as_array().unwrap().len(), 2);
        // Some drawn, as many of the fullest.
        assert_eq!(row["failures"]["cables"], 40);
        assert_eq!(row["failures"]["router"], "fulb");
        assert!(
            row["failures"]["worst_time_s"].as_f64() >= row["failures"]["median_time_s"].as_f64()
        );
    }
    let output = tributary(&[
        "bench",
        "multicast",
        "--endnodes",
        "1024",
        "--router",
        "own",
        "--failures",
        "3",
        "--json",
    ]);
    let sum: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    for row in sum["rows"].as_array().unwrap() {
        assert_eq!(row["failures"]["cables"], 6);
        let before = row["routers"][0]["max_efi"].as_u64().unwrap();
        let after = row["failures"]["worst_max_efi"].as_u64().unwrap();
        assert!((before..=before + 4).contains(&after), "{before}, {after}");
    }
    let output = tributary(&[
        "bench",
        "multicast",
        "--endnodes",
        "1024",
        "--router",
        "fulb",
    ]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(
        text.contains("Max EFI") && text.contains("rnd500_32_1"),
        "{text}"
    );
}
