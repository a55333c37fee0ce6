//! What a network is, told from its graph alone: whatever the order of switches, ports and GUIDs.

mod shuffled;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use shuffled::shuffled;
use tributary_fabric::structure::{Form, Structure};
use tributary_fabric::topology::Topology;
use tributary_fabric::{Network, NetworkBuilder, read};

fn build(text: &str) -> Network {
    text.parse::<Topology>().unwrap().build().unwrap()
}

fn seed() -> u64 {
    let seed = std::env::var("TRIBUTARY_SEED").ok();
    let seed = seed.map_or(17, |text| text.parse().unwrap());
    println!("TRIBUTARY_SEED={seed}");
    seed
}

/// By switch of `other`: the switch of that name in `network`.
fn same_switches(network: &Network, other: &Network) -> Vec<u32> {
    let by_name: HashMap<&str, u32> = (0..)
        .zip(network.switches())
        .map(|(id, s)| (&*s.name, id))
        .collect();
    other.switches().iter().map(|s| by_name[&*s.name]).collect()
}

/// Parts as sets of switches of the network that was shuffled.
fn parts(of: &[u32], switches: &[u32]) -> BTreeSet<BTreeSet<u32>> {
    let mut sets: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
    for (&part, &switch) in of.iter().zip(switches) {
        sets.entry(part).or_default().insert(switch);
    }
    sets.into_values().collect()
}

const BLOCKS: [&str; 13] = [
    "ft3:4",
    "ft3:8",
    "ft3:16",
    "supernodes:2,4",
    "supernodes:8,16,4",
    "bluelight",
    "df:3,2,1",
    "df:4,2,2",
    "df:4,2,2,palm",
    "df:8,4,4",
    "df:8,4,4,palm",
    "df:6,2,3,7",
    "df:4,1,2,3",
];

#[test]
fn mc_11_parts_of_a_network_from_a_file_are_those_of_the_formula() {
    let mut rng = ChaCha8Rng::seed_from_u64(seed());
    for text in BLOCKS {
        let network = build(text);
        for _ in 0..3 {
            let file = shuffled(&network, &mut rng);
            let names = same_switches(&network, &file);
            let own: Vec<u32> = (0..network.switch_count()).collect();
            assert!(
                parts(network.blocks(), &own) == parts(file.blocks(), &names),
                "{text}: {}",
                file.structure()
            );
            assert_eq!(network.is_dragonfly(), file.is_dragonfly(), "{text}");
        }
    }
}

#[test]
fn mc_08_forms_are_told_from_the_graph_alone() {
    let mut rng = ChaCha8Rng::seed_from_u64(seed());
    for (text, form) in [
        ("ft3:8", "3 tiers"),
        ("leaf-spine:6,3,4", "2 tiers"),
        ("taihulight", "4 tiers"),
        ("df:4,2,2", "dragonfly of 9 groups"),
        ("df:8,4,4,palm", "dragonfly of 33 groups"),
        ("torus:3x3,1", "torus 3x3"),
        ("torus:5x3,1", "torus 5x3"),
        ("torus:3x2,1", "torus 3x2"),
        ("torus:4x4x6,2", "torus 6x4x4"),
        ("torus:7x5x3,1", "torus 7x5x3"),
        ("torus:2x2x2,1", "torus 4x2"),
        ("torus:16x16x16,1", "torus 16x16x16"),
        ("torus:3x4x5x2,1", "torus 5x4x3x2"),
        ("torus:12,1", "torus 12"),
        // A row of switches is no ring, a single group no dragonfly.
        ("chain:9,1", "irregular"),
        ("df:6,1,3,1", "irregular"),
    ] {
        let file = shuffled(&build(text), &mut rng);
        assert_eq!(file.structure().to_string(), form, "{text}");
    }
}

#[test]
fn mc_08_planes_of_a_torus_are_found() {
    let network = build("torus:6x5x4,1");
    let Form::Torus(sizes) = network.structure().form() else {
        panic!("{}", network.structure());
    };
    assert_eq!(sizes, &[6, 5, 4]);
    let planes = network.structure().partitions();
    let own: Vec<u32> = (0..network.switch_count()).collect();
    for (stride, size) in [(1, 6), (6, 5)] {
        let plane: Vec<u32> = own.iter().map(|s| s / stride % size).collect();
        assert!(planes.iter().any(|p| parts(p, &own) == parts(&plane, &own)));
    }
}

/// The network without some of its cables.
fn without(network: &Network, count: usize, rng: &mut impl RngExt) -> Network {
    let mut failed = network.clone();
    for _ in 0..count {
        let cables = network.cables().len() as u32;
        failed.fail(rng.random_range(0..cables));
    }
    failed
}

#[test]
fn mc_08_missing_cables_and_a_manager_on_an_upper_switch_do_no_harm() {
    let mut rng = ChaCha8Rng::seed_from_u64(seed());
    for (text, missing) in [
        ("ft3:8", 8),
        ("bluelight", 100),
        ("df:8,4,4", 20),
        ("torus:8x8x8,1", 4),
    ] {
        let network = build(text);
        let file = shuffled(&without(&network, missing, &mut rng), &mut rng);
        assert_eq!(
            file.structure().to_string(),
            network.structure().to_string(),
            "{text}"
        );
    }
    // A top switch of a pod's fat tree with an endnode of its own.
    let tree = build("ft3:8");
    let mut text = read::write_topo(&tree).replace("endnodes 128", "endnodes 129");
    text = text.replace("sw 79 8 2", "sw 79 9 2") + "h 128 79 9\n";
    let network = read::parse(text.as_bytes(), "f", "f").unwrap();
    assert_eq!(network.blocks(), tree.blocks());
}

#[test]
fn graphs_of_no_form_are_irregular() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/multicast/uneven");
    let random = read::network(&folder.join("rrgG.net")).unwrap();
    assert_eq!(random.structure(), &Structure::default());
    let uneven = read::network(&folder.join("irrft.topo")).unwrap();
    assert!(matches!(uneven.structure().form(), Form::Tiers(_)));
    // A ring with a chord, and a single switch.
    let mut builder = NetworkBuilder::new("chord");
    for id in 0..8u32 {
        builder.switch(format!("{id}"), id.into(), 4).unwrap();
    }
    for id in 0..8 {
        builder.cable((id, 1), ((id + 1) % 8, 2)).unwrap();
    }
    builder.cable((0, 3), (3, 3)).unwrap();
    assert_eq!(
        builder.build().unwrap().structure().form(),
        &Form::Irregular
    );
    assert_eq!(build("chain:1,3").structure().form(), &Form::Irregular);
}
