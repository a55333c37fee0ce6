//! Trees written down: OpenSM's dump form and the project's tables.

mod manager_common;

use manager_common::{network, random_group, rng, seed};
use rand::RngExt as _;
use tributary_fabric::export::mcfdbs::{CheckError, McastTables};
use tributary_fabric::export::tables::{Entries, NamedTables, ResolveError};
use tributary_fabric::export::{ExportError, Routed};
use tributary_fabric::route::{Fulb, Minihop, RootChoice};
use tributary_fabric::{
    Group, HopTable, Leader, Load, Network, NetworkBuilder, NetworkError, Router, Tree, table,
};

fn routed<'a>(
    groups: &'a [(Group, u32)],
    trees: &'a [Tree],
) -> impl Iterator<Item = Routed<'a>> + 'a {
    let both = groups.iter().zip(trees);
    (0..).zip(both).map(|(id, ((group, leader), tree))| Routed {
        id,
        group,
        tree,
        leader: (*leader).into(),
    })
}

fn route(network: &Network, groups: &[(Group, u32)], router: &mut dyn Router) -> Vec<Tree> {
    let hops = HopTable::new(network).unwrap();
    let mut load = Load::new(network);
    let mut next = |group: &Group| {
        let tree = router.route(network, &hops, &load, group.switches());
        let tree = tree.unwrap();
        load.add(&tree);
        tree
    };
    groups.iter().map(|(group, _)| next(group)).collect()
}

fn random(network: &Network, count: usize, most: usize, seed: u64) -> Vec<(Group, u32)> {
    let mut rng = rng(seed);
    let mut one = || {
        let size = rng.random_range(2..=most);
        random_group(network, size, &mut rng)
    };
    (0..count).map(|_| one()).collect()
}

/// `leaves` switches of `each` endnodes, every one cabled once to each of `spines` switches. GUIDs of switches are their
/// indexes here.
fn two_levels(leaves: u16, spines: u16, each: u16) -> Result<Network, NetworkError> {
    let mut b = NetworkBuilder::new(format!("two levels {leaves}x{spines}x{each}"));
    for l in 0..leaves {
        b.switch(format!("leaf{l}"), l.into(), each + spines)?;
    }
    for s in 0..spines {
        b.switch(format!("spine{s}"), (leaves + s).into(), leaves)?;
    }
    for l in 0..leaves {
        for h in 0..each {
            let guid = 1000 + l * each + h;
            b.endnode(format!("h{l}.{h}"), guid.into(), (l.into(), h + 1))?;
        }
        for s in 0..spines {
            let spine = u32::from(leaves + s);
            b.cable((l.into(), each + s + 1), (spine, l + 1))?;
        }
    }
    b.build()
}

/// Two leaves under one spine; members on both, the leader on the second.
fn pair() -> (Network, Vec<(Group, u32)>, Vec<Tree>) {
    let network = two_levels(2, 1, 3).unwrap();
    let groups = vec![(Group::new(&network, [0, 1, 3, 4]).unwrap(), 3)];
    let trees = route(&network, &groups, &mut Minihop::new(RootChoice::First));
    (network, groups, trees)
}

const PAIR: &str = "
Switch 0x0000000000000000
LID    : Out Port(s)
0xC000 : 0x001  0x002  0x004 \n
Switch 0x0000000000000001
LID    : Out Port(s)
0xC000 : 0x001  0x002  0x004 \n
Switch 0x0000000000000002
LID    : Out Port(s)
0xC000 : 0x001  0x002 \n";

#[test]
fn mc_10_the_dump_has_opensms_form() {
    let (network, groups, trees) = pair();
    let routed: Vec<_> = routed(&groups, &trees).collect();
    let tables = McastTables::new(&network, &routed).unwrap();
    assert_eq!(tables.to_string(), PAIR);
}

#[test]
fn mc_10_dumps_of_random_trees_read_back_and_carry_their_groups() {
    let seed = seed();
    for network in [two_levels(6, 4, 5).unwrap(), network("torus:5x6,1")] {
        let groups = random(&network, 150, 20, seed);
        let routers: [&mut dyn Router; 2] =
            [&mut Fulb::default(), &mut Minihop::new(RootChoice::First)];
        for router in routers {
            let trees = route(&network, &groups, router);
            let routed: Vec<_> = routed(&groups, &trees).collect();
            let tables = McastTables::new(&network, &routed).unwrap();
            let read = McastTables::parse(&tables.to_string(), "own").unwrap();
            assert_eq!(read, tables, "seed {seed}");
            let members = routed.iter().map(|r| (r.id, r.group));
            assert_eq!(read.check(&network, members), Ok(()), "seed {seed}");
        }
    }
}

/// One port taken out of or put into one entry of a good dump, at any place, is noticed.
#[test]
fn mc_10_any_port_too_many_or_too_few_is_noticed() {
    let (network, groups, _) = pair();
    let members = || groups.iter().map(|(group, _)| (0, group));
    let check = |dump: &str| {
        McastTables::parse(dump, "x")
            .unwrap()
            .check(&network, members())
    };
    assert_eq!(check(PAIR), Ok(()));
    let good = [vec![1, 2, 4], vec![1, 2, 4], vec![1, 2]];
    for (switch, port) in (0..3).flat_map(|s| (1..=4).map(move |p| (s, p))) {
        let mut ports = good.clone();
        if ports[switch].contains(&port) {
            ports[switch].retain(|&p| p != port);
        } else {
            ports[switch].push(port);
        }
        let entry = |(guid, ports): (usize, &Vec<i32>)| {
            let list: String = ports.iter().map(|p| format!(" 0x{p:x}")).collect();
            format!("Switch 0x{guid:x}\n0xC000 :{list}\n")
        };
        let dump: String = ports.iter().enumerate().map(entry).collect();
        assert!(check(&dump).is_err(), "{dump}");
    }
    let error = |old: &str, new: &str| check(&PAIR.replacen(old, new, 1)).unwrap_err();
    assert_eq!(
        error("0xC000 : 0x001  0x002  0x004", "0xC000 : 0x001  0x004").to_string(),
        "LID 0xC000: frames of h0.0 do not reach member h0.1"
    );
    assert_eq!(
        error("0x002  0x004", "0x002  0x003  0x004").to_string(),
        "LID 0xC000: frames of h0.0 reach h0.2, which is no member"
    );
    assert_eq!(
        error("0x002  0x004", "0x002  0x004  0x009").to_string(),
        "LID 0xC000: port 9 of switch leaf0 has no working cable and no endnode"
    );
    assert_eq!(
        error(
            "0xC000 : 0x001  0x002",
            "0xC001 : 0x001  0x002\n0xC000 : 0x001 0x002"
        )
        .to_string(),
        "LID 0xC001: switch leaf0 has an entry that no group uses"
    );
    assert_eq!(
        error("0000000001", "0000000009").to_string(),
        "the network two levels 2x1x3 has no switch with GUID 0x0000000000000009"
    );
}

#[test]
fn mc_10_a_loop_in_a_dump_is_noticed() {
    let network = two_levels(2, 2, 1).unwrap();
    let group = Group::new(&network, [0, 1]).unwrap();
    let all =
        |guid: u64| format!("Switch {guid:#018x}\nLID    : Out Port(s)\n0xC005 : 0x001 0x002");
    // GUIDs are numbers of switches here; both spines carry the group.
    let leaf = |guid| format!("{} 0x003", all(guid));
    let dump = [leaf(0), leaf(1), all(2), all(3)].join("\n\n");
    let error = McastTables::parse(&dump, "x")
        .unwrap()
        .check(&network, [(5, &group)]);
    assert!(
        matches!(&error, Err(CheckError::Loop { mlid: 0xc005, from, .. }) if from == "h0.0"),
        "{error:?}"
    );
}

/// MC-9: tables of before a failure do not pass once the cable is out, those of new trees do.
#[test]
fn mc_9_old_tables_are_refused_once_a_cable_has_failed() {
    let mut network = two_levels(4, 3, 4).unwrap();
    let groups = random(&network, 30, 12, 5);
    let trees = route(&network, &groups, &mut Fulb::default());
    let before: Vec<_> = routed(&groups, &trees).collect();
    let tables = McastTables::new(&network, &before).unwrap();
    let members = || before.iter().map(|r| (r.id, r.group));
    network.fail(trees[0].hops[0].cable);
    assert!(matches!(
        tables.check(&network, members()),
        Err(CheckError::NoCable { .. })
    ));
    assert!(matches!(
        McastTables::new(&network, &before),
        Err(ExportError::NoTree { .. })
    ));
    let trees = route(&network, &groups, &mut Fulb::default());
    let after: Vec<_> = routed(&groups, &trees).collect();
    let tables = McastTables::new(&network, &after).unwrap();
    assert_eq!(tables.check(&network, members()), Ok(()));
}

#[test]
fn mc_10_dumps_of_other_tools_are_read() {
    let text = "Switch 0x0002c902400cb508  MF0;sw1:MSX6036/U1\r\nLID    : Out Port(s) \r\n0xc001:0x13 0x1\r\n";
    let tables = McastTables::parse(text, "x").unwrap();
    assert_eq!(tables.ports(0x0002_c902_400c_b508, 0xc001), [1, 19]);
    assert_eq!(tables.entries().count(), 1);
    assert!(tables.ports(1, 0xc001).is_empty());
}

/// Entries in any order are the same tables.
#[test]
fn mc_10_the_order_of_the_lids_of_a_dump_is_free() {
    let lids = [0xc000u16, 0xc001, 0xc007, 0xd234, 0xfffe];
    let line = |lid: &u16| {
        let ports = (1..=lid % 7 + 1).map(|p| format!(" 0x{:03X} ", p * 5));
        format!("0x{lid:04X} :{}\n", ports.collect::<String>())
    };
    let head = "\nSwitch 0x0002c902400cb508\nLID    : Out Port(s)\n";
    let dump = |order: &[usize]| {
        let lines = order.iter().map(|&i| line(&lids[i]));
        format!("{head}{}", lines.collect::<String>())
    };
    let ascending = dump(&[0, 1, 2, 3, 4]);
    let tables = McastTables::parse(&ascending, "f").unwrap();
    for order in [[4, 3, 2, 1, 0], [2, 0, 4, 1, 3], [1, 4, 0, 3, 2]] {
        let other = McastTables::parse(&dump(&order), "f").unwrap();
        assert_eq!(other, tables);
        assert_eq!(other.to_string(), ascending);
    }
    let twice = McastTables::parse(&dump(&[0, 3, 1, 3]), "f").unwrap_err();
    assert!(twice.to_string().contains("LID 0xD234 is there twice"));
}

#[test]
fn mc_10_a_bad_dump_gets_line_and_reason() {
    for (dump, expected) in [
        ("\n0xC000 : 0x001", "f:2: an entry before the first switch"),
        (
            "Switch 5",
            "f:1: \"5\" is no GUID; a switch is `Switch 0x` and 16 hexadecimal digits",
        ),
        (
            "Switch",
            "f:1: \"\" is no GUID; a switch is `Switch 0x` and 16 hexadecimal digits",
        ),
        (
            "Switch 0x+1",
            "f:1: \"0x+1\" is no GUID; a switch is `Switch 0x` and 16 hexadecimal digits",
        ),
        (
            "Switch 0x1\nSwitch 0x2\nSwitch 0x1",
            "f:3: switch 0x0000000000000001 is there twice",
        ),
        (
            "what",
            "f:1: \"what\" is neither a switch (`Switch 0x...`) nor an entry (`0xC000 : 0x001`)",
        ),
        (
            "Switch 0x1\n0xBFFF : 0x001",
            "f:2: \"0xBFFF\" is no multicast LID (0xC000 to 0xFFFE)",
        ),
        (
            "Switch 0x1\n0xFFFF : 0x001",
            "f:2: \"0xFFFF\" is no multicast LID (0xC000 to 0xFFFE)",
        ),
        (
            "Switch 0x1\n0xC000 : 0x1000",
            "f:2: \"0x1000\" is no port (hexadecimal, 0x000 to 0xFFF)",
        ),
        (
            "Switch 0x1\n0xC000 : 7",
            "f:2: \"7\" is no port (hexadecimal, 0x000 to 0xFFF)",
        ),
        (
            "Switch 0x1\n0xC000 : 0x1 0x01",
            "f:2: port 0x001 is there twice",
        ),
        ("Switch 0x1\n0xC000 :", "f:2: no ports for LID 0xC000"),
        (
            "Switch 0x1\n0xC000 : 0x1\n0xC000 : 0x2",
            "f:3: LID 0xC000 is there twice for this switch",
        ),
    ] {
        let error = McastTables::parse(dump, "f").unwrap_err();
        assert_eq!(error.to_string(), expected);
    }
}

#[test]
fn mc_10_ids_share_a_dump_only_on_different_switches() {
    let network = two_levels(2, 1, 3).unwrap();
    let groups = [[0, 1], [3, 4], [0, 3]].map(|m| (Group::new(&network, m).unwrap(), m[0]));
    let trees = route(&network, &groups, &mut Minihop::new(RootChoice::First));
    let all: Vec<_> = routed(&groups, &trees)
        .map(|r| Routed { id: 7, ..r })
        .collect();
    let tables = McastTables::new(&network, &all[..2]).unwrap();
    assert_eq!(tables.ports(0, 0xc007), [1, 2]);
    assert_eq!(tables.ports(1, 0xc007), [1, 2]);
    assert_eq!(
        tables.check(&network, all[..2].iter().map(|r| (r.id, r.group))),
        Ok(())
    );
    assert_eq!(
        McastTables::new(&network, &all).unwrap_err().to_string(),
        "two trees have id 7 on switch leaf0: ids may repeat on different switches only"
    );
    assert!(matches!(
        NamedTables::new(&network, &all),
        Err(ExportError::Clash { id: 7, .. })
    ));
    assert_eq!(
        NamedTables::new(&network, &all[1..2]).unwrap().tree[0].id,
        7
    );
    let far = [Routed {
        id: 16_383,
        ..all[0]
    }];
    assert_eq!(
        McastTables::new(&network, &far).unwrap_err().to_string(),
        "tree id 16383, the last one is 16382"
    );
    let far = [Routed {
        id: 8_192,
        ..all[0]
    }];
    assert_eq!(
        NamedTables::new(&network, &far).unwrap_err().to_string(),
        "tree id 8192, the last one is 8191"
    );
    let other = [Routed {
        tree: all[1].tree,
        ..all[0]
    }];
    assert_eq!(
        McastTables::new(&network, &other).unwrap_err().to_string(),
        "tree 7 is no tree over its group: member switch 0 is not reached"
    );
}

/// A dump reaches to any port, the project's switches to 64.
#[test]
fn mc_10_a_dump_has_ports_beyond_64() {
    let mut b = NetworkBuilder::new("wide");
    let s = b.switch("wide", 1, 254).unwrap();
    b.endnode("a", 2, (s, 64)).unwrap();
    b.endnode("b", 3, (s, 254)).unwrap();
    let network = b.build().unwrap();
    let groups = [(Group::new(&network, [0, 1]).unwrap(), 0)];
    let trees = route(&network, &groups, &mut Minihop::new(RootChoice::First));
    let all: Vec<_> = routed(&groups, &trees).collect();
    let dump = McastTables::new(&network, &all).unwrap().to_string();
    assert!(dump.ends_with("0xC000 : 0x040  0x0FE \n"), "{dump}");
    assert_eq!(
        NamedTables::new(&network, &all).unwrap_err().to_string(),
        "tree 0: the tree uses port 254 of switch wide, entries reach to port 64"
    );
}

#[test]
fn mc_10_tables_are_toml_for_people_and_json_for_programs() {
    let (network, groups, trees) = pair();
    let all: Vec<_> = routed(&groups, &trees).collect();
    let tables = NamedTables::new(&network, &all).unwrap();
    let expected = r#"[[tree]]
id = 0
root = "h1.0"
members = ["h0.0", "h0.1", "h1.1"]

[[tree.switch]]
name = "leaf1"
parent = 0
children = [1, 3]
wait = 3

[[tree.switch]]
name = "spine0"
parent = 1
children = [0]
wait = 2

[[tree.switch]]
name = "leaf0"
parent = 3
children = [0, 1]
wait = 2
"#;
    assert_eq!(tables.to_string(), expected);
    let json = serde_json::to_string(&tables).unwrap();
    assert!(
        json.ends_with(r#"{"name":"leaf0","parent":3,"children":[0,1],"wait":2}]}]}"#),
        "{json}"
    );
    let of_spine: Vec<_> = tables.of_switch("spine0").collect();
    assert_eq!(
        (of_spine.len(), of_spine[0].0, of_spine[0].1.mask()),
        (1, 0, 1)
    );
}

#[test]
fn mc_10_tables_read_back_as_the_entries_they_were_made_from() {
    let seed = seed();
    let network = two_levels(6, 4, 5).unwrap();
    let groups = random(&network, 100, 20, seed);
    let trees = route(&network, &groups, &mut Fulb::default());
    let all: Vec<_> = routed(&groups, &trees).collect();
    let json = serde_json::to_string(&NamedTables::new(&network, &all).unwrap()).unwrap();
    let read: NamedTables = serde_json::from_str(&json).unwrap();
    let read = read.resolve(&network).unwrap();
    for (routed, read) in all.iter().zip(&read) {
        let entries = table::entries(&network, routed.group, routed.tree, routed.leader);
        assert_eq!(read.entries, entries.unwrap(), "seed {seed}");
        assert_eq!(
            (read.id, read.leader, &read.group),
            (routed.id, routed.leader, routed.group)
        );
    }
}

/// Whether a leader contributes is in the tables, as text and as JSON, and comes back with the entries.
#[test]
fn cl_06_tables_say_of_a_leader_that_it_contributes() {
    let network = two_levels(6, 4, 5).unwrap();
    let groups = random(&network, 5, 6, seed());
    let trees = route(&network, &groups, &mut Fulb::default());
    let plain: Vec<_> = routed(&groups, &trees).collect();
    let mut all = plain.clone();
    all[1].leader.contributes = true;
    let tables = NamedTables::new(&network, &all).unwrap();
    let before = serde_json::to_string(&NamedTables::new(&network, &plain).unwrap()).unwrap();
    assert!(!before.contains("root_contributes"), "{before}");
    let json = serde_json::to_string(&tables).unwrap();
    let read: NamedTables = serde_json::from_str(&json).unwrap();
    assert_eq!(read, tables);
    let mut text = Vec::new();
    let entries = Entries::new(&network, &all).unwrap();
    entries.write_toml(&mut text).unwrap();
    assert_eq!(text, tables.to_string().as_bytes());
    let text = String::from_utf8(text).unwrap();
    assert_eq!(text.matches("\nroot_contributes = true\n").count(), 1);
    let read = read.resolve(&network).unwrap();
    assert_eq!(read[0].leader, Leader::from(groups[0].1));
    assert_eq!(read[1].leader, Leader::contributing(groups[1].1));
    let made = table::entries(&network, &groups[1].0, &trees[1], all[1].leader);
    assert_eq!(read[1].entries, made.unwrap());
}

#[test]
fn mc_10_a_written_file_is_the_text_of_its_tables() {
    let seed = seed();
    let network = two_levels(6, 4, 5).unwrap();
    // No tree, one, and numbers at, below and above what is made in one piece.
    for count in [0, 1, 15, 16, 17, 1023, 1024, 1025, 2100] {
        let groups = random(&network, count, 6, seed);
        let trees = route(&network, &groups, &mut Fulb::default());
        let all: Vec<_> = routed(&groups, &trees).collect();
        let entries = Entries::new(&network, &all).unwrap();
        let mut text = Vec::new();
        entries.write_toml(&mut text).unwrap();
        let tables = NamedTables::new(&network, &all).unwrap();
        assert_eq!(text, tables.to_string().as_bytes(), "{count}, seed {seed}");
        let starts = String::from_utf8(text).unwrap();
        let starts = starts.lines().filter(|&line| line == "[[tree]]").count();
        assert_eq!(starts, all.len(), "{count}, seed {seed}");
    }
}

#[test]
fn mc_10_tables_of_another_network_are_refused() {
    let (network, groups, trees) = pair();
    let all: Vec<_> = routed(&groups, &trees).collect();
    let good = NamedTables::new(&network, &all).unwrap();
    let refused = |change: &dyn Fn(&mut NamedTables)| {
        let mut bad = good.clone();
        change(&mut bad);
        bad.resolve(&network).unwrap_err()
    };
    assert_eq!(
        refused(&|t| t.tree[0].switch[1].name = "spine9".into()).to_string(),
        "tree 0: the network two levels 2x1x3 has no switch spine9"
    );
    assert_eq!(
        refused(&|t| t.tree[0].members[0] = "leaf0".into()).to_string(),
        "tree 0: the network two levels 2x1x3 has no endnode leaf0"
    );
    assert_eq!(
        refused(&|t| t.tree[0].switch[1].children = vec![0, 2]).to_string(),
        "tree 0: switch spine0 has ports 0 to 1, not 2"
    );
    assert_eq!(refused(&|t| t.tree[0].id = 9000), ResolveError::Id(9000));
    assert_eq!(
        refused(&|t| t.tree[0].switch[1].name = "leaf0".into()).to_string(),
        "tree 0: switch leaf0 has an entry for this id already"
    );
    assert_eq!(
        refused(&|t| t.tree[0].members[0] = "h1.0".into()).to_string(),
        "tree 0: endnode 3 is in the group twice"
    );
}

#[test]
fn mc_10_names_are_quoted_in_toml() {
    let quoted = tributary_fabric::export::tables::toml::Quoted("a\"b\\c\n").to_string();
    assert_eq!(quoted, r#""a\"b\\c\u000A""#);
}

proptest::proptest! {
    /// Whatever stands in a file, it is read or refused.
    #[test]
    fn mc_10_no_dump_makes_the_reader_panic(lines in proptest::collection::vec(
        "(Switch 0x[0-9a-f]{1,17}|LID.*|0x[Cc]00[0-9]( :|:)( 0x[0-9a-f]{1,4}){0,3}|.*)", 0..12,
    )) {
        let text = lines.join("\n");
        if let Ok(tables) = McastTables::parse(&text, "x") {
            let again = McastTables::parse(&tables.to_string(), "x");
            proptest::prop_assert_eq!(again.as_ref(), Ok(&tables));
            let (network, groups, _) = pair();
            let _ = tables.check(&network, [(0, &groups[0].0)]);
        }
    }
}
