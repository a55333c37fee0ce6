//! Fabric files: those that come with the project, and every way to get one wrong.

use tributary_sim::fabric::check::Cabling;
use tributary_sim::fabric::{Fabric, LinkSpec, file, tree};

const TWO_LEVEL: &str = include_str!("../fabrics/two-level.toml");
const TWO_SPINES: &str = include_str!("../fabrics/two-spines.toml");

/// The error of a file that is like `text` but for one replacement; the line is that of the replacement's marker `@`.
fn refused(text: &str, old: &str, new: &str) -> String {
    assert_eq!(text.matches(old).count(), 1, "{old:?} stands for one place");
    let with = text.replace(old, new);
    let line = with.split('@').next().unwrap().matches('\n').count() + 1;
    let error = file::parse(&with.replace('@', ""), "x.toml").unwrap_err();
    assert_eq!(
        (error.file.as_str(), error.line),
        ("x.toml", line),
        "{error}"
    );
    error.reason
}

#[test]
fn the_two_level_file_is_the_built_in_fabric() {
    let fabric = file::parse(TWO_LEVEL, "two-level.toml").unwrap();
    let built_in = Fabric::regular(&[4, 4], LinkSpec::default()).unwrap();
    assert_eq!(fabric, built_in);
}

#[test]
fn entries_are_derived_from_the_cabling() {
    let fabric = Fabric::regular(&[4, 4], LinkSpec::default()).unwrap();
    let cabling = Cabling::new(&fabric).unwrap();
    let entries = &tree::all(&fabric, &cabling).unwrap()[0];
    let rows: Vec<_> = entries
        .iter()
        .map(|(s, e)| (*s, e.parent, e.children, e.wait))
        .collect();
    // The root hangs on leaf 0, so that leaf's parent port is the root's and its port to the spine a child.
    let leaf = |s| (s, 4, 0b1111, 4);
    assert_eq!(
        rows,
        [
            (0, 0, 0b11110, 15),
            leaf(1),
            leaf(2),
            leaf(3),
            (4, 0, 0b1110, 12)
        ]
    );
}

#[test]
fn given_entries_and_links_of_single_cables_are_read() {
    let fabric = file::parse(TWO_SPINES, "two-spines.toml").unwrap();
    let latencies: Vec<u64> = fabric
        .cables
        .iter()
        .map(|c| c.link.latency_clocks)
        .collect();
    assert_eq!(latencies, [64, 64, 64, 64, 64, 20, 64, 20]);
    assert_eq!(fabric.trees[1].entries.len(), 3);
    assert_eq!(fabric.endpoints[3].node, 13);
}

#[test]
fn toml_errors_name_the_line() {
    let reason = refused(
        TWO_SPINES,
        "name = \"leaf1\"\nports = 4",
        "name = \"leaf1\"\n@ports = \"four\"",
    );
    assert!(reason.contains("invalid type"), "{reason}");
    let reason = refused(TWO_SPINES, "latency_clocks = 64", "@latency_clock = 64");
    assert!(reason.contains("unknown field `latency_clock`"), "{reason}");
    let reason = refused(TWO_SPINES, "id = 2", "id = @");
    assert!(!reason.is_empty());
}

#[test]
fn cl_04_the_threshold_for_marks_is_that_of_the_file_and_no_more_than_a_register_holds() {
    let leaf = "[[switch]]\nname = \"leaf1\"";
    let with = |words: &str| TWO_SPINES.replace(leaf, &format!("{leaf}\necn_words = {words}"));
    for words in [0, 1, 1023] {
        let fabric = file::parse(&with(&words.to_string()), "x.toml").unwrap();
        let found: Vec<_> = fabric.switches.iter().map(|s| s.ecn_words).collect();
        let marking: Vec<_> = fabric.switches.iter().map(|s| s.name == "leaf1").collect();
        let expected: Vec<_> = marking.iter().map(|m| words * u16::from(*m)).collect();
        assert_eq!(found, expected);
    }
    for (words, why) in [
        ("1024", "ecn_words = 1024; the most is 1023"),
        ("65536", "invalid value"),
        ("-1", "invalid value"),
        ("\"many\"", "invalid type"),
    ] {
        // What has the wrong form is refused in its own line, what is too much in that of the switch.
        let (switch, key) = if words == "1024" {
            ("@", "")
        } else {
            ("", "@")
        };
        let text = format!("{switch}{leaf}\n{key}ecn_words = {words}");
        let reason = refused(TWO_SPINES, leaf, &text);
        assert!(reason.contains(why), "{reason}");
    }
}

#[test]
fn a_duplicate_name_is_refused() {
    let reason = refused(
        TWO_SPINES,
        "[[switch]]\nname = \"leaf1\"",
        "@[[switch]]\nname = \"leaf0\"",
    );
    assert_eq!(reason, "the name leaf0 is there twice");
    let reason = refused(
        TWO_SPINES,
        "[[endpoint]]\nname = \"b\"\nnode = 11",
        "@[[endpoint]]\nname = \"b\"\nnode = 10",
    );
    assert_eq!(reason, "node 10 is there twice");
}

#[test]
fn an_unknown_node_is_refused() {
    let reason = refused(TWO_SPINES, "ends = [\"b\"", "ends = [@\"x\"");
    assert_eq!(reason, "there is no switch or endpoint x");
    let reason = refused(
        TWO_SPINES,
        "members = [\"a\", \"b\"]",
        "members = [\"a\", @\"leaf0\"]",
    );
    assert_eq!(reason, "there is no endpoint leaf0");
    let reason = refused(
        TWO_SPINES,
        "ends = [\"b\", \"leaf0.1\"]",
        "ends = [\"b\", @\"leaf0\"]",
    );
    assert_eq!(reason, "leaf0 is a switch; name a port too, as in leaf0.0");
    let reason = refused(
        TWO_SPINES,
        "name = \"spine1\"\nparent",
        "name = @\"a\"\nparent",
    );
    assert_eq!(reason, "there is no switch a");
}

#[test]
fn a_port_that_is_not_there_or_wired_twice_is_refused() {
    let reason = refused(
        TWO_SPINES,
        "[[cable]]\nends = [\"b\", \"leaf0.1\"]",
        "@[[cable]]\nends = [\"b\", \"leaf0.9\"]",
    );
    assert_eq!(reason, "there is no leaf0.9");
    let reason = refused(
        TWO_SPINES,
        "[[cable]]\nends = [\"b\", \"leaf0.1\"]",
        "@[[cable]]\nends = [\"b\", \"leaf0.0\"]",
    );
    assert_eq!(reason, "leaf0.0 is wired twice");
}

#[test]
fn an_unconnected_port_is_refused_unless_it_is_spare() {
    let reason = refused(
        TWO_SPINES,
        "[[switch]]\nname = \"spine0\"\nports = 2",
        "@[[switch]]\nname = \"spine0\"\nports = 4\nspare = [3]",
    );
    assert_eq!(
        reason,
        "port spine0.2 has no cable; list it under `spare` if that is meant"
    );
    let spare = TWO_SPINES.replace(
        "name = \"spine0\"\nports = 2",
        "name = \"spine0\"\nports = 4\nspare = [3, 2]",
    );
    file::parse(&spare, "x.toml").unwrap();
    let reason = refused(
        TWO_SPINES,
        "[[endpoint]]\nname = \"a\"",
        "@[[endpoint]]\nname = \"z\"\n[[endpoint]]\nname = \"a\"",
    );
    assert_eq!(reason, "endpoint z has no cable");
}

#[test]
fn a_wait_count_that_disagrees_with_the_tree_is_refused() {
    let old = "[[tree.switch]]\nname = \"leaf0\"\nparent = 3\nchildren = [0, 1]\nwait = 2";
    let reason = refused(
        TWO_SPINES,
        old,
        &format!("@{}", old.replace("wait = 2", "wait = 3")),
    );
    assert_eq!(
        reason,
        "tree 2: leaf0 waits for 3, but 2 members are below it"
    );
    let plain = TWO_SPINES.replace(old, &old.replace("wait = 2", "wait = 0"));
    file::parse(&plain, "x.toml").unwrap();
}

/// The root's own port is a child where the root contributes, and only there; its switch waits for it too.
#[test]
fn cl_06_entries_of_a_root_that_contributes_are_taken_and_others_refused() {
    let tree = "[[tree]]\nid = 2\nroot = \"d\"";
    let old = "[[tree.switch]]\nname = \"leaf1\"\nparent = 1\nchildren = [3]\nwait = 2";
    let new = "[[tree.switch]]\nname = \"leaf1\"\nparent = 1\nchildren = [1, 3]\nwait = 3";
    let contributes = TWO_SPINES.replace(tree, &format!("{tree}\nroot_contributes = true"));
    let good = contributes.replace(old, new);
    let fabric = file::parse(&good, "x.toml").unwrap();
    let spec = fabric.trees.iter().find(|t| t.id == 2).unwrap();
    assert!(spec.root_contributes);
    assert_eq!(
        file::parse(&file::write(&fabric), "y.toml").unwrap(),
        fabric
    );
    // Derived entries are the same.
    let mut derived = fabric.clone();
    let index = fabric.trees.iter().position(|t| t.id == 2).unwrap();
    let given = tree::all(&fabric, &Cabling::new(&fabric).unwrap()).unwrap()[index].clone();
    derived.trees[index].entries.clear();
    let entries = tree::all(&derived, &Cabling::new(&derived).unwrap()).unwrap()[index].clone();
    let (switch, first) = given
        .iter()
        .find(|(_, e)| e.children >> e.parent & 1 == 1)
        .unwrap();
    assert_eq!(
        entries[switch].children & (1 << first.parent),
        1 << first.parent
    );
    assert_eq!(entries[switch].wait, 3);

    let short = new.replace("wait = 3", "wait = 2");
    assert_eq!(
        refused(&contributes, old, &format!("@{short}")),
        "tree 2: leaf1 waits for 2, but 2 members are below it, and the root contributes"
    );
    assert_eq!(
        refused(&contributes, old, &format!("@{old}")),
        "tree 2: port 1 is no child, though the root contributes through it"
    );
    assert_eq!(
        refused(TWO_SPINES, old, &format!("@{new}")),
        "tree 2: port 1 is parent and child, which only the root's own port is, if the tree says `root_contributes`"
    );
    let leaf0 = "name = \"leaf0\"\nparent = 3\nchildren = [0, 1]\nwait = 2";
    let both = format!("[[tree.switch]]\n{}", leaf0.replace("[0, 1]", "[0, 1, 3]"));
    assert_eq!(
        refused(
            &good,
            &format!("[[tree.switch]]\n{leaf0}"),
            &format!("@{both}")
        ),
        "tree 2: port 3 is parent and child, which only the root's own port is, if the tree says `root_contributes`"
    );
}

#[test]
fn a_loop_in_a_tree_is_refused() {
    // leaf0 sends down to spine0, which leads back to leaf1, where the tree came from.
    let old = "[[tree.switch]]\nname = \"leaf1\"\nparent = 1\nchildren = [3]\nwait = 2";
    let given = "name = \"leaf0\"\nparent = 3\nchildren = [0, 1]\nwait = 2";
    let looped = "name = \"leaf0\"\nparent = 3\nchildren = [0, 1, 2]\nwait = 2\n[[tree.switch]]\nname = \"spine0\"\nparent = 0\nchildren = [1]\nwait = 1";
    let reason = refused(&TWO_SPINES.replace(given, looped), old, &format!("@{old}"));
    assert_eq!(
        reason,
        "tree 2: a loop: spine0.1 leads to leaf1.2, which the tree has already been through"
    );
}

#[test]
fn a_tree_that_is_no_tree_is_refused() {
    let leaf0 = "[[tree.switch]]\nname = \"leaf0\"\nparent = 3";
    let reason = refused(TWO_SPINES, leaf0, &format!("@{}", leaf0.replace('3', "2")));
    assert_eq!(
        reason,
        "tree 2: spine1.0 leads to leaf0.3, so the parent port is 3, not 2"
    );
    let astray = "name = \"leaf0\"\nparent = 3\nchildren = [0, 1]\nwait = 2\n";
    let more = format!(
        "{astray}\n@[[tree.switch]]\nname = \"spine0\"\nparent = 0\nchildren = [1]\nwait = 1\n"
    );
    let reason = refused(TWO_SPINES, astray, &more);
    assert_eq!(
        reason,
        "tree 2: spine0 has an entry, but the root does not reach it: this is no tree"
    );
    let without = TWO_SPINES.replace(
        "[[tree.switch]]\nname = \"leaf0\"\nparent = 3\nchildren = [0, 1]\nwait = 2\n",
        "",
    );
    let reason = refused(&without, "[[tree]]\nid = 2", "@[[tree]]\nid = 2");
    assert_eq!(
        reason,
        "tree 2: spine1.0 leads to leaf0, which has no entry"
    );
}

#[test]
fn members_that_the_tree_misses_or_has_in_addition_are_refused() {
    let reason = refused(
        TWO_SPINES,
        "[[tree]]\nid = 2\nroot = \"d\"\nmembers = [\"a\", \"b\"]",
        "@[[tree]]\nid = 2\nroot = \"d\"\nmembers = [\"a\", \"b\", \"c\"]",
    );
    assert_eq!(reason, "tree 2 does not reach its member c");
    let old = "[[tree.switch]]\nname = \"leaf0\"\nparent = 3";
    let shorter = TWO_SPINES.replace("members = [\"a\", \"b\"]", "members = [\"a\"]");
    assert_eq!(
        refused(&shorter, old, &format!("@{old}")),
        "tree 2: leaf0.1 leads to b, which is no member"
    );
    let reason = refused(
        TWO_SPINES,
        "[[tree]]\nid = 2\nroot = \"d\"\nmembers = [\"a\", \"b\"]",
        "@[[tree]]\nid = 2\nroot = \"d\"\nmembers = [\"a\", \"a\"]",
    );
    assert_eq!(reason, "tree 2: a is a member twice");
}

#[test]
fn links_out_of_range_are_refused() {
    for (field, reason) in [
        ("loss = 1.5", "loss = 1.5 is not a probability (0 to 1)"),
        (
            "latency_clocks = 0",
            "latency_clocks = 0; it can be 1 to 2^32",
        ),
        (
            "corruption = nan",
            "corruption = NaN is not a probability (0 to 1)",
        ),
    ] {
        let old = "[[cable]]\nends = [\"b\", \"leaf0.1\"]";
        assert_eq!(
            refused(TWO_SPINES, old, &format!("@{old}\nlink = {{ {field} }}")),
            reason
        );
    }
}
