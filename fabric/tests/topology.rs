//! Networks by formula, against files and published counts.

use std::collections::BTreeSet;

use tributary_fabric::read;
use tributary_fabric::topology::Topology;
use tributary_fabric::{HopTable, Network};

fn build(text: &str) -> Network {
    let topology: Topology = text.parse().unwrap_or_else(|e| panic!("{e}"));
    topology.build().unwrap_or_else(|e| panic!("{text}: {e}"))
}

fn golden(name: &str) -> Network {
    let path = format!("{}/tests/data/multicast/{name}", env!("CARGO_MANIFEST_DIR"));
    read::network(path.as_ref()).unwrap_or_else(|e| panic!("{e}"))
}

fn assert_same(text: &str, file: &str) {
    let (built, read) = (build(text), golden(file));
    assert_eq!(built.switches(), read.switches());
    assert_eq!(built.endnodes(), read.endnodes());
    assert_eq!(built.cables(), read.cables());
}

fn counts(text: &str) -> (usize, usize, usize) {
    let network = build(text);
    (
        network.switches().len(),
        network.endnodes().len(),
        network.cables().len(),
    )
}

fn refused(text: &str) -> String {
    let parsed: Result<Topology, _> = text.parse();
    parsed.map(|t| t.to_string()).unwrap_err().to_string()
}

#[test]
fn a_fat_tree_is_cabled_as_the_published_one() {
    assert_same("ft3:8", "ft3_8.topo");
}

#[test]
fn a_torus_is_cabled_as_the_published_one() {
    assert_same("torus:6x4x4,2", "torus_6x4x4_2.topo");
}

#[test]
fn a_dragonfly_is_cabled_as_the_published_one() {
    assert_same("df:4,2,2", "df_a4p2h2g9.topo");
    assert_same("df:4,2,2,9", "df_a4p2h2g9.topo");
}

#[test]
fn large_networks_have_the_published_numbers_of_switches_endnodes_and_cables() {
    assert_eq!(counts("ft3:40"), (2_000, 16_000, 32_000));
    assert_eq!(counts("torus:30x20x20,2"), (12_000, 24_000, 36_000));
    assert_eq!(counts("df:18,9,9"), (2_934, 26_406, 38_142));
    assert_eq!(counts("df:18,9,9,palm"), (2_934, 26_406, 38_142));
    assert_eq!(counts("bluelight"), (1_360, 8_704, 13_184));
    assert_eq!(counts("taihulight"), (6_272, 40_960, 61_568));
}

#[test]
fn a_torus_of_two_in_a_dimension_has_one_cable_there_and_of_one_none() {
    assert_eq!(counts("torus:2,1"), (2, 2, 1));
    assert_eq!(counts("torus:3x2x1,1"), (6, 6, 6 + 3));
    assert_eq!(counts("torus:1x1x1x1x1x1,3"), (1, 3, 0));
    assert_eq!(counts("torus:3x3x3x3x3x3,0"), (729, 0, 6 * 729));
}

#[test]
fn small_networks_have_the_switches_endnodes_and_cables_of_their_formula() {
    assert_eq!(counts("chain:5,2"), (5, 10, 4));
    assert_eq!(counts("leaf-spine:4,3,2"), (7, 8, 12));
    assert_eq!(counts("ft3:2"), (5, 2, 4));
    assert_eq!(counts("supernodes:5,1"), (5 * 32 + 36, 1280, 5 * 320 + 324));
    assert_eq!(counts("supernodes:2,4,9").2, 2 * 320 + 4 * 162);
}

#[test]
fn any_two_groups_of_a_dragonfly_have_equally_many_cables() {
    for (text, groups, each) in [
        ("df:4,2,2", 9, 1),
        ("df:4,2,2,palm", 9, 1),
        ("df:4,2,2,5", 5, 2),
        ("df:4,2,2,5,palm", 5, 2),
        ("df:4,2,2,4", 4, 2),
        ("df:3,1,2,2,palm", 2, 6),
        ("df:4,1,3,1", 1, 0),
    ] {
        let network = build(text);
        let mut between = vec![0; groups * groups];
        for cable in network.cables() {
            let [a, b] = cable
                .ends
                .map(|(s, _)| network.blocks()[s as usize] as usize);
            if a != b {
                between[a.min(b) * groups + a.max(b)] += 1;
            }
        }
        for a in 0..groups {
            for b in a + 1..groups {
                assert_eq!(between[a * groups + b], each, "{text}: {a} to {b}");
            }
        }
    }
}

#[test]
fn a_palm_tree_leads_to_the_groups_before_in_turn() {
    let network = build("df:4,2,2,palm");
    for (group, cable) in [(0u32, 0u32), (3, 5), (8, 7)] {
        let (switch, port) = (group * 4 + cable / 2, (6 + cable % 2) as u16);
        let link = network.links(switch).iter().find(|l| l.port == port);
        let to = (group + 9 - 1 - cable) % 9;
        assert_eq!(link.map(|l| l.peer / 4), Some(to));
    }
}

#[test]
fn a_leaf_of_the_machine_models_has_the_published_number_of_shortest_paths_to_a_spine_chip() {
    for (text, directors, spines, paths) in [("bluelight", 8, 16, 8), ("taihulight", 32, 18, 2)] {
        let network = build(text);
        let first = network.switch_count() - directors * spines;
        for (leaf, spine) in [
            (0, first),
            (17, first + 1),
            (500, network.switch_count() - 1),
        ] {
            let mut level = std::collections::BTreeMap::from([(leaf, 1u32)]);
            for _ in 0..3 {
                let mut next = std::collections::BTreeMap::new();
                for (&switch, &ways) in &level {
                    for link in network.links(switch) {
                        *next.entry(link.peer).or_insert(0) += ways;
                    }
                }
                level = next;
            }
            assert_eq!(level.get(&spine), Some(&paths), "{text} {leaf} {spine}");
        }
    }
}

#[test]
fn parts_are_pods_supernodes_directors_and_dragonfly_groups() {
    let parts = |text: &str| -> BTreeSet<u32> { build(text).blocks().iter().copied().collect() };
    assert_eq!(parts("ft3:8").len(), 8 + 16);
    assert_eq!(parts("bluelight").len(), 34 + 8);
    assert_eq!(parts("df:4,2,2").len(), 9);
    assert_eq!(parts("torus:3x3,1").len(), 9);
}

#[test]
fn machine_models_are_of_the_heights_of_their_levels() {
    let network = build("supernodes:6,2");
    let hops = HopTable::new(&network).unwrap();
    assert_eq!(hops.hops(0, 1), 2);
    // Supernode 0 and 5 meet in a line chip or a spine chip.
    assert!(hops.hops(0, 5 * 16) <= 6);
}

#[test]
fn text_that_is_no_topology_is_refused_with_the_part_that_is_wrong() {
    for (text, expected) in [
        ("", "`` is no topology; there are ft3:K,"),
        ("mesh:3", "`mesh:3` is no topology"),
        ("bluelight:3", "`bluelight:3` is no topology"),
        ("bluelight:", "`bluelight:` is no topology"),
        ("ft3:", "K is ``, not a number from 2 to 322: ft3:K"),
        ("ft3:abc", "K is `abc`"),
        ("ft3:+8", "K is `+8`"),
        (
            "ft3:7",
            "K = 7 is odd; half of the ports lead up, so 6 or 8 would do",
        ),
        ("ft3:8,8", "`ft3:8,8` has 2 numbers, not 1: ft3:K"),
        ("ft3:99999999999999999999", "not a number from 2 to 322"),
        (
            "torus:6x4x4",
            "has 1 numbers, not sizes and 1 number: torus:",
        ),
        ("torus:6x0x4,2", "a size is `0`"),
        ("torus:2x2x2x2x2x2x2,1", "7 dimensions, more than 6"),
        (
            "torus:1000x1000x1000,1",
            "has 1000000000 switches, more than 131072",
        ),
        (
            "torus:100x100x10,1000",
            "has 100000000 endnodes, more than 16777216",
        ),
        ("df:4,2", "has 2 numbers, not 3 or 4"),
        ("df:4,2,2,10", "G is `10`, not a number from 1 to 9"),
        ("df:18,9,9,oak", "G is `oak`"),
        ("df:1000,9,1000", "has 2008 ports a switch, more than 1024"),
        ("df:100,9,100", "has 1000100 switches, more than 131072"),
        (
            "supernodes:5,3",
            "do not spread evenly over 3 directors; 1, 2, 4",
        ),
        ("supernodes:41,8", "at most 40 supernodes fit"),
        ("supernodes:5,8,19", "S is `19`, not a number from 1 to 18"),
        ("leaf-spine:4,1000,1000", "2000 ports a leaf"),
        ("chain:0,1", "N is `0`"),
    ] {
        let message = refused(text);
        assert!(message.contains(expected), "{text}: {message}");
    }
}

#[test]
fn a_topology_is_written_as_it_was_read() {
    for text in ["ft3:8", "df:4,2,2,palm", "taihulight"] {
        let topology: Topology = text.parse().unwrap();
        assert_eq!(topology.to_string(), text);
        assert_eq!(topology.to_string().parse::<Topology>().unwrap(), topology);
    }
    assert_eq!(build("ft3:4").name(), "ft3:4");
}

#[test]
fn mc_1_max_efi_on_large_networks_is_as_measured() {
    use tributary_fabric::pattern::Pattern;
    use tributary_fabric::route::{Minihop, RootChoice};
    use tributary_fabric::{Load, Router};

    for (text, pattern, ppn, efi) in [
        ("ft3:40", "160x100", 1, 100),
        ("ft3:40", "rnd1000_64_2", 1, 831),
        ("df:18,9,9", "162x163", 1, 164),
        ("taihulight", "64x64x40", 4, 2_642),
    ] {
        let network = build(text);
        let groups = pattern
            .parse::<Pattern>()
            .unwrap()
            .groups(&network, ppn)
            .unwrap();
        let hops = HopTable::new(&network).unwrap();
        let mut load = Load::new(&network);
        let mut router = Minihop::new(RootChoice::First);
        router
            .route_all(&network, &hops, &mut load, &groups, &mut |_| {})
            .unwrap();
        assert_eq!(load.max(), efi, "{text} {pattern}");
    }
}
