//! Networks and groups from files: what is read, what is refused, and how that is said.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use tributary_fabric::topology::Topology;
use tributary_fabric::{Network, read};

const NAMES: [&str; 3] = ["ft3_8", "torus_6x4x4_2", "df_a4p2h2g9"];

fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data/multicast")
        .join(name)
}

fn load(name: &str) -> Network {
    read::network(&path(name)).unwrap_or_else(|e| panic!("{e}"))
}

fn text(name: &str) -> String {
    std::fs::read_to_string(path(name)).unwrap()
}

fn parse(text: &str) -> Result<Network, String> {
    read::parse(text.as_bytes(), "f", "n").map_err(|e| e.to_string())
}

#[track_caller]
fn refused(text: &str, expected: &str) {
    match parse(text) {
        Ok(_) => panic!("read, but should be refused with {expected}"),
        Err(message) => assert!(message.contains(expected), "{message}"),
    }
}

fn cables(network: &Network) -> BTreeSet<[(u32, u16); 2]> {
    network.cables().iter().map(|c| c.ends).collect()
}

#[track_caller]
fn assert_same(a: &Network, b: &Network) {
    assert_eq!(a.switches(), b.switches());
    assert_eq!(a.endnodes(), b.endnodes());
    assert_eq!(cables(a), cables(b));
}

#[test]
fn mc_10_both_forms_of_a_file_are_the_same_network() {
    for name in NAMES {
        assert_same(
            &load(&format!("{name}.topo")),
            &load(&format!("{name}.net")),
        );
    }
}

/// Cables with the lower switch first, as they are kept.
fn lower_first(line: &str) -> String {
    let words: Vec<&str> = line.split(' ').collect();
    match words[..] {
        ["l", a, port_a, b, port_b] if b.parse::<u32>().unwrap() < a.parse().unwrap() => {
            format!("l {b} {port_b} {a} {port_a}")
        }
        _ => line.to_owned(),
    }
}

#[test]
fn mc_10_written_networks_are_the_files_they_were_read_from() {
    for name in NAMES {
        let network = load(&format!("{name}.topo"));
        for (written, file) in [
            (read::write_topo(&network), text(&format!("{name}.topo"))),
            (read::write_ibnet(&network), text(&format!("{name}.net"))),
        ] {
            assert_eq!(written.lines().count(), file.lines().count());
            for (written, file) in written.lines().zip(file.lines()) {
                assert_eq!(written, lower_first(file), "{name}");
            }
        }
    }
}

#[test]
fn networks_by_formula_are_read_as_they_were_written() {
    for formula in [
        "ft3:6",
        "torus:4x3x2,1",
        "torus:1,2",
        "df:3,2,1,palm",
        "supernodes:2,4",
        "chain:9,0",
    ] {
        let network = formula.parse::<Topology>().unwrap().build().unwrap();
        let topo = parse(&read::write_topo(&network)).unwrap();
        assert_same(&network, &topo);
        assert_eq!(topo.name(), formula);
        assert_same(&network, &parse(&read::write_ibnet(&network)).unwrap());
    }
}

#[test]
fn mc_10_a_failed_cable_is_not_written() {
    let mut network = load("ft3_8.topo");
    network.fail(7);
    let read = parse(&read::write_topo(&network)).unwrap();
    assert_eq!(read.cables().len(), network.cables().len() - 1);
    assert_same(&read, &parse(&read::write_ibnet(&network)).unwrap());
}

const REAL: &str = r#"#
# Topology file: generated on Tue Jun  5 14:15:10 2007
#
# Initiated from node 0008f10403960984 port 0008f10403960985

Non-Chassis Nodes

vendid=0x8f1
devid=0x5a05
sysimgguid=0x8f10400410017
switchguid=0x8f10400410015(8f10400410015)
Switch	8 "S-0008f10400410015"		# "SW-6IB4 #3" base port 0 lid 3 lmc 0
[6]	"H-0008f10403960984"[1](8f10403960985) 		# "MT23108 InfiniHost" lid 16 4xSDR
[7][ext 2]	"H-0008f10403960984"[2](8f10403960986) 		# "MT23108 InfiniHost" lid 17 4xSDR
[8]	"S-005442ba00003080"[10]		# "ISR9024 Voltaire" lid 6 4xSDR

vendid=0x8f1
switchguid=0x5442ba00003080(5442ba00003080)
Switch	24 "S-005442ba00003080"		# "ISR9024 Voltaire" base port 0 lid 6 lmc 0
[10]	"S-0008f10400410015"[8]		# "SW-6IB4 Voltaire" lid 3 4xSDR
[22]	"R-0008f10403961354"[1](8f10403961355) 		# "router" lid 4 4xSDR

vendid=0x8f1
devid=0x5a05
caguid=0x8f10403960984
Ca	2 "H-0008f10403960984"		# "host-1 HCA-1"
[1](8f10403960985) 	"S-0008f10400410015"[6]		# lid 16 lmc 1 "SW-6IB4 Voltaire" lid 3 4xSDR
[2](8f10403960986) 	"S-0008f10400410015"[7][ext 2]		# lid 17 lmc 1 "SW-6IB4 Voltaire" lid 3 4xSDR

rtguid=0x8f10403961354
Rt	2 "R-0008f10403961354"		# "router"
[1](8f10403961355) 	"S-005442ba00003080"[22]		# lid 4 lmc 1 "ISR9024 Voltaire" lid 6 4xSDR
"#;

#[test]
fn mc_10_the_output_of_ibnetdiscover_is_read() {
    for text in [
        REAL.to_owned(),
        REAL.replace('\n', "\r\n"),
        format!("\u{feff}{REAL}"),
    ] {
        let network = parse(&text).unwrap();
        let names: Vec<_> = network
            .switches()
            .iter()
            .map(|s| (&*s.name, s.guid, s.ports))
            .collect();
        assert_eq!(
            names,
            [
                ("S-0008f10400410015", 0x0008_f104_0041_0015, 8),
                ("S-005442ba00003080", 0x0054_42ba_0000_3080, 24)
            ]
        );
        let endnodes: Vec<_> = network
            .endnodes()
            .iter()
            .map(|e| (&*e.name, e.guid, e.at))
            .collect();
        assert_eq!(
            endnodes,
            [
                ("H-0008f10403960984", 0x0008_f104_0396_0985, (0, 6)),
                ("H-0008f10403960984/2", 0x0008_f104_0396_0986, (0, 7)),
                ("R-0008f10403961354", 0x0008_f104_0396_1355, (1, 22))
            ]
        );
        assert_eq!(network.cables()[0].ends, [(0, 8), (1, 10)]);
        assert_eq!(network.name(), "n");
        assert_same(&network, &parse(&read::write_ibnet(&network)).unwrap());
    }
}

#[test]
fn nodes_without_guids_get_those_of_ibsim() {
    let text = "Switch 2 \"a\"\n[1] \"b\"[2]\n[2] \"x\"[1]\nSwitch 2 \"b\"\n[2] \"a\"[1]\nHca 1 \"x\"\n[1] \"a\"[2]";
    let network = parse(text).unwrap();
    assert_eq!(network.switches()[1].guid, 0x0002_0100_0000_0000);
    assert_eq!(network.endnodes()[0].guid, 0x0001_0000_0000_0000);
}

/// The same text with one line replaced.
fn with_line(text: &str, number: usize, line: &str) -> String {
    let mut lines: Vec<&str> = text.lines().collect();
    lines[number - 1] = line;
    lines.join("\n")
}

#[test]
fn mc_10_a_port_wired_twice_is_refused_with_its_line() {
    let topo = text("ft3_8.topo");
    refused(
        &with_line(&topo, 83, "l 0 5 33 1"),
        "f:83: port 5 of switch S0 is wired already, to S32",
    );
    let net = text("ft3_8.net");
    refused(
        &with_line(&net, 8, "[1] \"H1\"[1]"),
        "f:8: port 1 of \"S0\" is wired already, in line 7",
    );
    refused(
        &with_line(&net, 8, "[9] \"H1\"[1]"),
        "f:8: \"S0\" has ports 1 to 8, not 9",
    );
    refused(
        &with_line(&net, 8, "[0] \"H1\"[1]"),
        "f:8: \"S0\" has ports 1 to 8, not 0",
    );
}

#[test]
fn mc_10_ends_that_do_not_match_are_refused_with_both_lines() {
    let net = text("ft3_8.net");
    assert_eq!(net.lines().nth(10), Some("[5] \"S32\"[1]"));
    refused(
        &with_line(&net, 11, "[5] \"S32\"[2]"),
        "f:11: the ends of a cable differ: line ",
    );
    refused(
        &with_line(&net, 11, "[5] \"S32\"[2]"),
        "wires port 2 of \"S32\" to port 5 of \"S1\"",
    );
    refused(
        &with_line(&net, 11, ""),
        "\"S0\" has no line [5] \"S32\"[1]; a cable is there from both ends",
    );
    refused(
        &with_line(&net, 11, "[5] \"S999\"[1]"),
        "f:11: there is no \"S999\" in the file",
    );
}

#[test]
fn mc_10_duplicate_ids_are_refused_with_the_line_of_the_second() {
    let net = text("ft3_8.net");
    refused(
        &with_line(&net, 17, "Switch 8 \"S0\""),
        "f:17: \"S0\" is there already, in line 6",
    );
    refused(
        &with_line(&net, 16, "switchguid=0x2000000000000"),
        "f:17: node S1 has GUID 0x0002000000000000, as S0 has",
    );
    // Adapters, whose endnodes have the GUIDs of their ports.
    let pair = "caguid=0x10\nCa 2 \"h\"\n[1](11) \"a\"[1]\ncaguid=0x20\nCa 1 \"i\"\n[1](21) \"a\"[2]\n\
        switchguid=0x30\nSwitch 4 \"a\"\n[1] \"h\"[1](11)\n[2] \"i\"[1](21)\n";
    parse(pair).unwrap();
    refused(
        &pair.replace("caguid=0x20", "caguid=0x10"),
        "f:5: node i has GUID 0x0000000000000010, as h has, in line 2",
    );
    refused(
        &pair.replace("switchguid=0x30", "switchguid=0x20"),
        "f:8: node a has GUID 0x0000000000000020, as i has, in line 5",
    );
    // A port of an adapter may have the adapter's own GUID, and no other node's.
    parse(&pair.replace("(11)", "(10)")).unwrap();
    refused(
        &pair.replace("(11)", "(30)"),
        "f:3: node h has GUID 0x0000000000000030, as a has",
    );
    let topo = text("ft3_8.topo");
    refused(
        &with_line(&topo, 4, "sw 1 8 0"),
        "f:4: switch 1 is there already; switch 2 is next",
    );
    refused(
        &with_line(&topo, 4, "sw 3 8 0"),
        "f:4: switch 3 comes too early; switch 2 is next",
    );
}

#[test]
fn mc_10_switches_without_a_path_between_them_are_refused_with_a_line() {
    refused(
        "topo t switches 2 endnodes 0\nsw 0 4 0\nsw 1 4 0",
        "f:3: no path from switch S0 to switch S1",
    );
    refused(
        "Switch 4 \"a\"\n[1] \"h\"[1]\nHca 1 \"h\"\n[1] \"a\"[1]\nSwitch 4 \"b\"\n",
        "f:5: no path from switch a to switch b",
    );
    refused(
        "Switch 4 \"a\"\nHca 1 \"h\"\n",
        "f:2: \"h\" is not wired to a switch",
    );
    refused(
        "Switch 4 \"a\"\nHca 1 \"h\"\n[1] \"i\"[1]\nHca 1 \"i\"\n[1] \"h\"[1]",
        "f:3: \"h\" and \"i\" are both endnodes",
    );
}

#[test]
fn mc_10_a_cable_back_to_its_own_switch_is_read_and_not_used() {
    // A cable from port 2 to port 3, and a loopback plug in port 4.
    let net = "Switch 6 \"a\"\n[1] \"b\"[1]\n[2] \"a\"[3]\n[3] \"a\"[2]\n[4] \"a\"[4]\n\
        Switch 6 \"b\"\n[1] \"a\"[1]\n[5] \"b\"[6]\n[6] \"b\"[5]\n";
    let topo = "topo n switches 2 endnodes 0\nsw 0 6 -1\nsw 1 6 -1\nl 0 1 1 1\nl 1 6 1 5\nl 0 4 0 4\nl 0 3 0 2";
    for text in [net, topo] {
        let network = parse(text).unwrap();
        assert_eq!(network.cables().len(), 1);
        assert_eq!(
            network.loopbacks(),
            [[(0, 2), (0, 3)], [(0, 4), (0, 4)], [(1, 5), (1, 6)]]
        );
        for switch in 0..2 {
            let peers: Vec<u32> = network.links(switch).iter().map(|l| l.peer).collect();
            assert_eq!(peers, [1 - switch]);
        }
        for written in [read::write_ibnet(&network), read::write_topo(&network)] {
            let again = parse(&written).unwrap();
            assert_eq!(again.loopbacks(), network.loopbacks(), "{written}");
            assert_eq!(cables(&again), cables(&network));
        }
    }
    // Its ports are taken, and its ends must agree as those of any cable.
    refused(
        &net.replace("[4] \"a\"[4]", "[4] \"a\"[2]"),
        "f:5: the ends of a cable differ: line 3 wires port 2 of \"a\" to port 3 of \"a\"",
    );
    refused(
        &format!("{topo}\nl 0 2 0 5"),
        "f:8: port 2 of switch S0 is wired already, to S0",
    );
    refused(
        &format!("{topo}\nl 0 7 0 5"),
        "f:8: switch S0 has ports 1 to 6, not 7",
    );
}

#[test]
fn mc_10_a_file_that_is_cut_off_is_refused() {
    for name in NAMES {
        for form in ["topo", "net"] {
            let whole = text(&format!("{name}.{form}"));
            let lines: Vec<&str> = whole.lines().filter(|l| !l.is_empty()).collect();
            for keep in (0..lines.len()).step_by(7).chain([lines.len() - 1]) {
                let cut = lines[..keep].join("\n");
                assert!(parse(&cut).is_err(), "{name}.{form} with {keep} lines");
            }
        }
    }
}

#[test]
fn mc_10_lines_that_are_not_of_the_form_are_refused_with_what_would_be_right() {
    for (line, expected) in [
        ("sw", "f:4: `sw` ends early; it should be `sw I PORTS TIER`"),
        ("sw 2 8 0 9", "f:4: `9` is too much after `sw I PORTS TIER`"),
        ("sw 2 0 0", "f:4: switch S2 has ports 1 to 1024, not 0"),
        (
            "sw 2 70000 0",
            "f:4: the number of ports 70000 is too large",
        ),
        ("sw 2 x 0", "f:4: the number of ports is `x`, not a number"),
        ("sw 2 8 up", "f:4: the tier is `up`, not a number"),
        ("sw two 8 0", "f:4: switch is `two`, not a number"),
        ("l 0 1 9 2", "f:4: there is no switch 9: 2 were added"),
        (
            "l 0 1 99999999999 2",
            "f:4: switch 99999999999 is too large",
        ),
        ("l 0 -1 1 2", "f:4: port is `-1`, not a number"),
        ("l 0 9 1 2", "f:4: switch S0 has ports 1 to 8, not 9"),
        (
            "h 1 0 1",
            "f:4: endnode 1 comes too early; endnode 0 is next",
        ),
        ("h 0 0 0", "f:4: switch S0 has ports 1 to 8, not 0"),
        (
            "cable 0 1",
            "f:4: `cable 0 1` is none of `sw I PORTS TIER`, `l I PI J PJ` and `h K I P`",
        ),
        ("topo a switches 1 endnodes 1", "f:4: a second `topo NAME"),
    ] {
        refused(&with_line(&text("ft3_8.topo"), 4, line), expected);
    }
    for (line, expected) in [
        ("Switch", "f:6: the number of ports is ``, not a number"),
        (
            "Switch 8 S0",
            "f:6: a name in quotes should be where `S0` is",
        ),
        ("Switch 8 \"\"", "f:6: a name in quotes should be where"),
        ("Switch 8 \"S0", "f:6: a name in quotes should be where"),
        ("Switch 8 \"S0\" x", "f:6: `x` is too much"),
        (
            "Switch 70000 \"S0\"",
            "f:6: the number of ports 70000 is too large",
        ),
        (
            "Swatch 8 \"S0\"",
            "f:6: `Swatch 8 \\\"S0\\\"` is none of `Switch 36 \"NAME\"`",
        ),
        ("[1 \"S0\"", "f:6: a port as [1] should be where"),
        ("[1] \"S0\"", "f:6: a port as [1] should be where `` is"),
        ("[1] \"S0\"[70000]", "f:6: port 70000 is too large"),
        ("[1](xyz) \"S0\"[7]", "f:6: `xyz` is no GUID"),
        (
            "switchguid=0x12345678901234567",
            "f:6: `12345678901234567` is no GUID",
        ),
    ] {
        refused(&with_line(&text("ft3_8.net"), 6, line), expected);
    }
    refused("[1] \"S0\"[1]", "f:1: a port before any node");
    refused("\n# nothing\n\n", "f: there is nothing in it");
    refused("topo t switches 1", "f:1: `topo t switches 1` ends early");
    refused(
        "topo t switches 1 nodes 3",
        "should be `topo NAME switches S endnodes H`",
    );
    refused("Hca 1 \"a\"\ncaguid=0x1", "is not wired to a switch");
    refused("vendid=0x1", "f: a network needs a switch");
}

#[test]
fn a_number_that_is_announced_and_not_there_takes_no_memory() {
    refused(
        "topo t switches 4000000000 endnodes 18446744073709551615\nsw 0 1024 0",
        "f:1: 4000000000 switches are announced, 1 are in the file",
    );
    refused(
        "topo t switches 1 endnodes 99999999999999999999",
        "is too large",
    );
}

#[test]
fn many_large_empty_switches_take_no_time() {
    use std::fmt::Write as _;
    let mut text = String::from("topo t switches 131072 endnodes 0\n");
    for i in 0..131_072 {
        writeln!(text, "sw {i} 1024 0").unwrap();
    }
    let start = std::time::Instant::now();
    refused(&text, "no path from switch S0 to switch S1");
    assert!(start.elapsed().as_secs() < 5);
    text.push_str("sw 131072 1024 0\n");
    refused(&text, "f:131074: more than 131072 switches");
}

#[test]
fn mc_10_bytes_that_are_no_text_are_refused_with_their_line() {
    let error = read::parse(b"topo t switches 1 endnodes 0\nsw 0 1 \xff\n", "f", "n").unwrap_err();
    assert_eq!(error.to_string(), "f:2: is not text in UTF-8");
}

#[test]
fn a_file_that_cannot_be_read_is_named() {
    let error = read::network(&path("no_such_file"))
        .unwrap_err()
        .to_string();
    assert!(error.contains("no_such_file: No such file"), "{error}");
}

#[test]
fn groups_are_indexes_or_names() {
    let network = load("df_a4p2h2g9.net");
    let text = "# two groups\n3 1 2\n\n  H71\tH0 5  # and a comment\r\n";
    let groups = read::groups(text, "g", &network).unwrap();
    assert_eq!(groups.len(), 2);
    assert_eq!(groups[0].endnodes(), [1, 2, 3]);
    assert_eq!(groups[1].endnodes(), [0, 5, 71]);
}

#[test]
fn groups_that_cannot_be_are_refused_with_their_line() {
    let network = load("df_a4p2h2g9.net");
    for (text, expected) in [
        (
            "0 1\n2 72",
            "g:2: there is no endnode 72: df_a4p2h2g9 has endnodes 0 to 71, the first of them named H0",
        ),
        ("0 H72", "g:1: there is no endnode H72"),
        (
            "0 99999999999999999999",
            "g:1: there is no endnode 99999999999999999999",
        ),
        ("0 -1", "g:1: there is no endnode -1"),
        ("\n4 5 4", "g:2: endnode 4 (H4) is in the group twice"),
        ("4 H4", "g:1: endnode 4 (H4) is in the group twice"),
    ] {
        let message = read::groups(text, "g", &network).unwrap_err().to_string();
        assert!(message.contains(expected), "{message}");
    }
}

#[test]
fn mc_10_a_file_of_groups_is_text_of_bounded_size() {
    let network = load("df_a4p2h2g9.net");
    let file = std::env::temp_dir().join(format!("tributary-groups-{}", std::process::id()));
    let read = |bytes: &[u8]| {
        std::fs::write(&file, bytes).unwrap();
        read::groups_file(&file, &network).map_err(|e| e.to_string())
    };
    assert_eq!(read(b"0 1\n2 3 4\n").unwrap().len(), 2);
    let error = read(b"0 1\n2 \xff\n").unwrap_err();
    assert!(error.ends_with(":2: is not text in UTF-8"), "{error}");
    std::fs::remove_file(&file).unwrap();
    let error = read::groups_file(Path::new("/dev/zero"), &network).unwrap_err();
    assert_eq!(error.to_string(), "/dev/zero: is larger than 256 MB");
}

/// The switches and endnodes of a network with GUIDs in no order come in OpenSM's order.
#[test]
fn mc_01_switches_are_ordered_by_the_bytes_of_their_guids_from_the_last_to_the_first() {
    let text = |guids: [&str; 3]| {
        format!(
            "switchguid={}\nSwitch 2 \"a\"\n[1] \"b\"[1]\nswitchguid={}\nSwitch 2 \"b\"\n[1] \"a\"[1]\n[2] \"c\"[1]\n\
             switchguid={}\nSwitch 2 \"c\"\n[1] \"b\"[2]\n",
            guids[0], guids[1], guids[2]
        )
    };
    for (guids, order) in [
        (["0x0001", "0x0002", "0x0003"], ["a", "b", "c"]),
        (["0x0300", "0x0002", "0x0001"], ["a", "c", "b"]),
        (
            [
                "0x0100000000000002",
                "0xff00000000000001",
                "0x0200000000000001",
            ],
            ["c", "b", "a"],
        ),
    ] {
        let network = parse(&text(guids)).unwrap();
        let names: Vec<&str> = network.switches().iter().map(|s| &*s.name).collect();
        assert_eq!(names, order, "{guids:?}");
        assert_same(&network, &parse(&read::write_ibnet(&network)).unwrap());
    }
}

mod mutated {
    use proptest::prelude::*;
    use tributary_fabric::read;

    use super::{NAMES, text};

    #[derive(Clone, Debug)]
    enum Change {
        Delete(usize),
        Duplicate(usize),
        Swap(usize, usize),
        Word(usize, usize, String),
        Byte(usize, u8),
        Cut(usize),
    }

    fn change() -> impl Strategy<Value = Change> {
        let word = prop_oneof![
            Just("0".to_owned()),
            Just("65535".to_owned()),
            Just("4294967295".to_owned()),
            Just("-1".to_owned()),
            Just("\"S1\"[1]".to_owned()),
            "[0-9]{1,3}",
            "[a-zA-Z\\[\\]\"#=()]{1,6}",
        ];
        let at = any::<usize>;
        prop_oneof![
            at().prop_map(Change::Delete),
            at().prop_map(Change::Duplicate),
            (at(), at()).prop_map(|(a, b)| Change::Swap(a, b)),
            (at(), at(), word).prop_map(|(a, b, w)| Change::Word(a, b, w)),
            (at(), any::<u8>()).prop_map(|(a, b)| Change::Byte(a, b)),
            at().prop_map(Change::Cut),
        ]
    }

    fn apply(bytes: Vec<u8>, change: &Change) -> Vec<u8> {
        if bytes.is_empty() {
            return bytes;
        }
        let mut lines: Vec<Vec<u8>> = bytes.split(|b| *b == b'\n').map(<[u8]>::to_vec).collect();
        let count = lines.len();
        match change {
            Change::Delete(at) => drop(lines.remove(at % count)),
            Change::Duplicate(at) => lines.insert(at % count, lines[at % count].clone()),
            Change::Swap(a, b) => lines.swap(a % count, b % count),
            Change::Word(at, place, word) => {
                let line = &mut lines[at % count];
                let mut words: Vec<&[u8]> = line.split(|b| *b == b' ').collect();
                let place = place % words.len();
                words[place] = word.as_bytes();
                *line = words.join(&b' ');
            }
            Change::Byte(at, byte) => {
                let mut bytes = bytes;
                let at = at % bytes.len();
                bytes[at] = *byte;
                return bytes;
            }
            Change::Cut(at) => {
                let at = at % bytes.len();
                return bytes[..at].to_vec();
            }
        }
        lines.join(&b'\n')
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(400))]

        #[test]
        fn mc_10_a_damaged_file_is_read_or_refused_with_a_reason(
            name in 0..NAMES.len(),
            net in any::<bool>(),
            changes in prop::collection::vec(change(), 1..4),
        ) {
            let form = if net { "net" } else { "topo" };
            let whole = text(&format!("{}.{form}", NAMES[name])).into_bytes();
            let bytes = changes.iter().fold(whole, apply);
            let start = std::time::Instant::now();
            match read::parse(&bytes, "f", "n") {
                Ok(network) => {
                    // What is loaded is consistent: it can be written and read again.
                    let written = read::write_topo(&network);
                    let again = read::parse(written.as_bytes(), "f", "n");
                    prop_assert_eq!(again.map(|n| n.cables().len()), Ok(network.cables().len()));
                }
                Err(error) => {
                    let message = error.to_string();
                    prop_assert!(message.starts_with("f:") && message.len() < 400, "{}", message);
                }
            }
            prop_assert!(start.elapsed().as_secs() < 2);
        }

        #[test]
        fn mc_10_any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200), text in "\\PC{0,200}") {
            let _ = read::parse(&bytes, "f", "n");
            let _ = read::parse(text.as_bytes(), "f", "n");
            let _ = read::parse(format!("topo {text}").as_bytes(), "f", "n");
            let _ = read::parse(format!("Switch 4 \"{text}").as_bytes(), "f", "n");
        }
    }
}
