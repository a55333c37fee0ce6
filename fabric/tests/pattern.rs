//! Groups by formula, and bounds on what they load.

use tributary_fabric::bound::lower_bound;
use tributary_fabric::pattern::Pattern;
use tributary_fabric::read;
use tributary_fabric::topology::Topology;
use tributary_fabric::{Group, Network};

fn build(text: &str) -> Network {
    text.parse::<Topology>().unwrap().build().unwrap()
}

fn groups(network: &Network, pattern: &str, ppn: u32) -> Vec<Group> {
    let pattern: Pattern = pattern.parse().unwrap_or_else(|e| panic!("{e}"));
    pattern
        .groups(network, ppn)
        .unwrap_or_else(|e| panic!("{e}"))
}

fn members(groups: &[Group]) -> Vec<&[u32]> {
    groups.iter().map(Group::endnodes).collect()
}

#[test]
fn patterns_are_those_of_the_published_files_group_for_group() {
    for (topology, file, patterns) in [
        (
            "ft3:8",
            "ft3_8",
            ["16x8", "8x4x4", "rnd20_40_2", "rnd60_8_1"],
        ),
        (
            "torus:6x4x4,2",
            "torus_6x4x4_2",
            ["24x8", "12x4x4", "rnd20_40_2", "rnd60_8_1"],
        ),
        (
            "df:4,2,2",
            "df_a4p2h2g9",
            ["12x6", "6x4x3", "rnd20_30_2", "rnd60_8_1"],
        ),
    ] {
        let network = build(topology);
        for pattern in patterns {
            let file = format!("{file}.{pattern}.groups");
            let path = format!("{}/tests/data/multicast/{file}", env!("CARGO_MANIFEST_DIR"));
            let text = std::fs::read_to_string(&path).unwrap();
            let published = read::groups(&text, &file, &network).unwrap();
            assert_eq!(groups(&network, pattern, 1), published, "{file}");
        }
    }
}

#[test]
fn a_grid_with_an_r_has_its_first_dimension_fastest() {
    let network = build("chain:1,6");
    let made = groups(&network, "2x3r", 1);
    assert_eq!(
        members(&made),
        [&[0, 1][..], &[2, 3], &[4, 5], &[0, 2, 4], &[1, 3, 5]]
    );
    let made = groups(&network, "2x3", 1);
    assert_eq!(
        members(&made),
        [&[0, 3][..], &[1, 4], &[2, 5], &[0, 1, 2], &[3, 4, 5]]
    );
}

#[test]
fn an_endnode_with_several_processes_of_a_line_is_in_its_group_once() {
    let network = build("chain:1,3");
    let made = groups(&network, "2x3", 2);
    assert_eq!(
        members(&made),
        [&[0, 1][..], &[0, 2], &[1, 2], &[0, 1], &[1, 2]]
    );
    assert_eq!(
        members(&groups(&network, "3x2", 2))[2..],
        [&[0], &[1], &[2]]
    );
}

#[test]
fn processes_that_do_not_fit_are_refused_with_both_numbers() {
    let network = build("chain:2,3");
    let refused = |pattern: &str, ppn| {
        let pattern: Pattern = pattern.parse().unwrap();
        pattern.groups(&network, ppn).unwrap_err().to_string()
    };
    assert_eq!(
        refused("2x2x2", 1),
        "`2x2x2` has 8 processes; chain:2,3 has room for 6: 6 endnodes, 1 processes on each"
    );
    assert!(refused("2x2", 0).contains("has room for 0"));
    assert!(refused("rnd5_7_1", 4).contains("has 7 processes; chain:2,3 has room for 6"));
    assert_eq!(groups(&network, "rnd5_6_1", 1).len(), 5);
}

#[test]
fn text_that_is_no_pattern_is_refused_with_the_part_that_is_wrong() {
    for (text, expected) in [
        ("", "`` is no pattern; there are grids as 16x8"),
        ("r", "`r` is no pattern"),
        ("grid", "`grid` is no pattern"),
        ("16x", "a size is ``"),
        ("16x-8", "a size is `-8`"),
        ("16x0", "a size is `0`, not a number from 1"),
        ("1x1x1x1x1x1x1x1x1", "more than 8 dimensions"),
        (
            "100000000x100000000x100000000",
            "more than 134217728 members",
        ),
        ("rnd5_8", "`rnd5_8` is no pattern"),
        ("rnd_8_1", "the number of groups is ``"),
        ("rnd5_0_1", "the size of a group is `0`"),
        ("rnd5_8_x", "the seed is `x`"),
        ("rnd16000000_16000000_1", "more than 134217728 members"),
    ] {
        let parsed: Result<Pattern, _> = text.parse();
        let message = parsed.map(|p| p.to_string()).unwrap_err().to_string();
        assert!(message.contains(expected), "{text}: {message}");
    }
}

#[test]
fn bounds_are_the_published_ones() {
    for (topology, pattern, ppn, count, bound) in [
        ("ft3:40", "160x100", 1, 260, 2),
        ("ft3:40", "40x20x20", 1, 2_000, 2),
        ("ft3:40", "rnd1000_64_2", 1, 1_000, 6),
        // The published bound of 1 counts members only; trees between far members need more cables. 2 is reached.
        ("torus:30x20x20,2", "240x100", 1, 340, 2),
        // 57,400 cables at least are needed, of 36,000; the published bound of 1 does not count them.
        ("torus:30x20x20,2", "40x30x20", 1, 2_600, 2),
        ("bluelight", "34x32x32", 4, 3_200, 16),
        ("taihulight", "64x64x40", 4, 9_216, 18),
        ("df:18,9,9", "162x163", 1, 325, 2),
    ] {
        let network = build(topology);
        let groups = groups(&network, pattern, ppn);
        assert_eq!(groups.len(), count, "{topology} {pattern}");
        assert_eq!(
            lower_bound(&network, &groups),
            bound,
            "{topology} {pattern}"
        );
    }
}
