//! Networks from files are routed as those by formula: whatever the order of switches, ports and GUIDs.

mod shuffled;

use std::collections::{HashMap, HashSet};

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use shuffled::shuffled;
use tributary_fabric::bound::lower_bound;
use tributary_fabric::pattern::Pattern;
use tributary_fabric::route::Own;
use tributary_fabric::topology::Topology;
use tributary_fabric::{Group, HopTable, Load, Network, Router, Tree};

fn seed() -> u64 {
    let seed = std::env::var("TRIBUTARY_SEED").ok();
    let seed = seed.map_or(29, |text| text.parse().unwrap());
    println!("TRIBUTARY_SEED={seed}");
    seed
}

/// A network by formula, and groups of endnodes of the same names in `file`.
fn case(text: &str, pattern: &str, processes: u32, rng: &mut ChaCha8Rng) -> (Network, Vec<Group>) {
    let network = text.parse::<Topology>().unwrap().build().unwrap();
    let file = shuffled(&network, rng);
    let by_name: HashMap<&str, u32> = (0..)
        .zip(file.endnodes())
        .map(|(id, e)| (&*e.name, id))
        .collect();
    let groups = pattern.parse::<Pattern>().unwrap();
    let groups = groups.groups(&network, processes).unwrap();
    let there = |g: &Group| {
        let name = |&e: &u32| by_name[&*network.endnodes()[e as usize].name];
        Group::new(&file, g.endnodes().iter().map(name).collect::<Vec<_>>()).unwrap()
    };
    let groups = groups.iter().map(there).collect();
    (file, groups)
}

fn route(network: &Network, groups: &[Group]) -> (Load, Vec<Option<Tree>>, HopTable) {
    let hops = HopTable::new(network).unwrap();
    let mut load = Load::new(network);
    let trees = Own::default()
        .route_all(network, &hops, &mut load, groups, &mut |_| ())
        .unwrap();
    (load, trees, hops)
}

#[test]
fn mc_06_the_own_router_reaches_the_bound_on_models_of_machines_from_files() {
    let mut rng = ChaCha8Rng::seed_from_u64(seed());
    for (text, pattern, processes) in [
        ("taihulight", "64x64x40", 4),
        ("bluelight", "34x32x32", 4),
        ("ft3:16", "rnd500_32_1", 1),
        ("supernodes:8,16,4", "rnd500_32_1", 1),
    ] {
        for _ in 0..2 {
            let (network, groups) = case(text, pattern, processes, &mut rng);
            let (load, ..) = route(&network, &groups);
            assert_eq!(load.max(), lower_bound(&network, &groups), "{text}");
        }
    }
}

#[test]
fn mc_11_trees_on_a_dragonfly_from_a_file_have_one_global_cable_to_a_member() {
    let mut rng = ChaCha8Rng::seed_from_u64(seed());
    for text in ["df:4,2,2", "df:6,3,3", "df:4,2,2,palm", "df:8,4,4"] {
        let (network, groups) = case(text, "rnd150_12_1", 1, &mut rng);
        let (_, trees, hops) = route(&network, &groups);
        // The groups of the formula, by the names of the switches: S0, S1, ...
        let size: u32 = text[3..4].parse().unwrap();
        let block = |switch: u32| {
            let name = &network.switches()[switch as usize].name;
            name[1..].parse::<u32>().unwrap() / size
        };
        let blocks: HashSet<u32> = network.blocks().iter().copied().collect();
        assert_eq!(blocks.len() as u32 * size, network.switch_count());
        let mut far = 0;
        for (group, tree) in groups.iter().zip(&trees) {
            let tree = tree.as_ref().unwrap();
            let members = group.switches().iter();
            for &member in members.filter(|&&m| hops.hops(m, tree.root) == 3) {
                far += 1;
                let (mut at, mut global) = (member, 0);
                while let Some(hop) = tree.hops.iter().find(|hop| hop.child == at) {
                    let above = network.cables()[hop.cable as usize].other(at);
                    global += u32::from(block(at) != block(above));
                    at = above;
                }
                assert_eq!(global, 1, "{text}: from switch {member} to {}", tree.root);
            }
        }
        assert!(far > 100, "{text}: {far} members at distance 3");
    }
}
