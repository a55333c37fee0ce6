//! The lower bound: by hand on small networks, and never above what trees have.

mod shuffled;

use std::collections::HashMap;

use proptest::prelude::*;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use shuffled::shuffled;
use tributary_fabric::bound::{least_cables, lower_bound};
use tributary_fabric::pattern::Pattern;
use tributary_fabric::route::Fulb;
use tributary_fabric::topology::Topology;
use tributary_fabric::{Group, HopTable, Load, Network, NetworkBuilder, Router};

fn build(text: &str) -> Network {
    text.parse::<Topology>().unwrap().build().unwrap()
}

fn group(network: &Network, endnodes: &[u32]) -> Group {
    Group::new(network, endnodes).unwrap()
}

#[test]
fn groups_that_leave_a_switch_share_its_cables() {
    let network = build("leaf-spine:3,2,2");
    let across = group(&network, &[0, 2]);
    let inside = group(&network, &[0, 1]);
    for (count, bound) in [(0, 0), (1, 1), (2, 1), (3, 2), (5, 3)] {
        let mut groups = vec![across.clone(); count];
        groups.resize(count + 4, inside.clone());
        assert_eq!(lower_bound(&network, &groups), bound, "{count}");
    }
}

#[test]
fn groups_that_leave_a_part_share_its_cables() {
    // Two dragonfly groups of four switches, a cable between each two of them: any switch has four cables, a group four as well.
    let network = build("df:4,1,1,2");
    let groups: Vec<Group> = (0..4).map(|e| group(&network, &[e, e + 4])).collect();
    let both: Vec<Group> = groups.iter().chain(&groups).cloned().collect();
    assert_eq!(lower_bound(&network, &groups), 1);
    assert_eq!(lower_bound(&network, &both), 2);
}

#[test]
fn trees_share_all_cables() {
    let network = build("chain:4,1");
    let groups = vec![group(&network, &[0, 1, 2, 3]); 2];
    assert_eq!(lower_bound(&network, &groups), 2);
}

#[test]
fn failed_cables_carry_nothing() {
    let mut network = build("leaf-spine:3,2,1");
    let groups = vec![group(&network, &[0, 1]); 2];
    assert_eq!(lower_bound(&network, &groups), 1);
    assert!(network.fail(0));
    assert_eq!(lower_bound(&network, &groups), 2);
    assert!(network.fail(1));
    // Switch 0 is cut off: no trees, and the other end's two cables say 1.
    assert_eq!(lower_bound(&network, &groups), 1);
}

#[test]
fn parts_share_the_cables_between_them() {
    // Four dragonfly groups of three switches, a cable between any two of them: a group on all four uses three of six cables.
    let network = build("df:3,2,1");
    let groups = vec![group(&network, &[0, 6, 12, 18]); 10];
    // 10 trees with three global cables each, 6 cables; 10 trees leave each part by 3 cables.
    assert_eq!(lower_bound(&network, &groups), 5);
    let network = build("df:8,4,4");
    let groups = "rnd500_32_1".parse::<Pattern>().unwrap();
    let groups = groups.groups(&network, 1).unwrap();
    assert_eq!(lower_bound(&network, &groups), 19);
}

#[test]
fn trees_over_members_that_lie_far_apart_share_all_cables() {
    let network = build("torus:9x9,1");
    let corners = group(&network, &[0, 4, 36, 40]);
    // Three sides of a square of four.
    assert_eq!(least_cables(&network, &corners), 12);
    assert_eq!(lower_bound(&network, &vec![corners; 27]), 7);
    let network = build("torus:16x16x16,1");
    let groups = "rnd500_64_1".parse::<Pattern>().unwrap();
    let groups = groups.groups(&network, 1).unwrap();
    assert!(lower_bound(&network, &groups) >= 7);
}

#[test]
fn mc_08_a_network_from_a_file_has_the_bound_of_the_formula() {
    let mut rng = ChaCha8Rng::seed_from_u64(5);
    for (text, pattern, processes, bound) in [
        ("ft3:16", "rnd500_32_1", 1, 18),
        ("df:8,4,4", "rnd500_32_1", 1, 19),
        ("supernodes:8,16,4", "rnd500_32_1", 1, 9),
        ("bluelight", "34x32x32", 4, 16),
        ("taihulight", "64x64x40", 4, 18),
    ] {
        let network = build(text);
        let file = shuffled(&network, &mut rng);
        let by_name: HashMap<&str, u32> = (0..)
            .zip(file.endnodes())
            .map(|(id, e)| (&*e.name, id))
            .collect();
        let groups = pattern.parse::<Pattern>().unwrap();
        let groups = groups.groups(&network, processes).unwrap();
        let there = |g: &Group| {
            let name = |&e: &u32| by_name[&*network.endnodes()[e as usize].name];
            group(&file, &g.endnodes().iter().map(name).collect::<Vec<_>>())
        };
        let same: Vec<Group> = groups.iter().map(there).collect();
        assert_eq!(lower_bound(&network, &groups), bound, "{text}");
        assert_eq!(lower_bound(&file, &same), bound, "{text}");
    }
}

/// All sets of cables that join these switches, as bits; with one that has less in it, a set is left out.
fn joining(network: &Network, members: &[u32]) -> Vec<u32> {
    let cables = network.cables();
    let joins = |set: u32| {
        let mut part: Vec<u32> = (0..network.switch_count()).collect();
        for (bit, cable) in cables.iter().enumerate() {
            if set >> bit & 1 == 1 {
                let [a, b] = cable.ends.map(|(s, _)| part[s as usize]);
                part.iter_mut().filter(|p| **p == a).for_each(|p| *p = b);
            }
        }
        members
            .iter()
            .all(|&m| part[m as usize] == part[members[0] as usize])
    };
    let mut sets: Vec<u32> = (0..1 << cables.len()).filter(|&set| joins(set)).collect();
    sets.sort_by_key(|set| set.count_ones());
    let mut least: Vec<u32> = Vec::new();
    for set in sets {
        if least.iter().all(|&l| l & set != l) {
            least.push(set);
        }
    }
    least
}

/// Whether each group can have one of its sets with no cable in more than `most` of them.
fn fit(choices: &[Vec<u32>], load: &mut [u32], most: u32) -> bool {
    let Some((first, rest)) = choices.split_first() else {
        return true;
    };
    first.iter().any(|&set| {
        let bits: Vec<usize> = (0..load.len()).filter(|bit| set >> bit & 1 == 1).collect();
        bits.iter().for_each(|&bit| load[bit] += 1);
        let good = bits.iter().all(|&bit| load[bit] <= most) && fit(rest, load, most);
        bits.iter().for_each(|&bit| load[bit] -= 1);
        good
    })
}

/// A small network of any kind: a ring or a formula, and more cables anywhere.
fn small(kind: usize, more: &[(u32, u32)]) -> Network {
    let mut builder = NetworkBuilder::new("small");
    let (switches, ring): (u32, &[(u32, u32)]) = match kind {
        // A ring, a dragonfly of two triangles, two tiers, a torus of 3 by 2, a star.
        0 => (5, &[(0, 1), (1, 2), (2, 3), (3, 4), (4, 0)]),
        1 => (
            6,
            &[
                (0, 1),
                (1, 2),
                (2, 0),
                (3, 4),
                (4, 5),
                (5, 3),
                (0, 3),
                (1, 4),
            ],
        ),
        2 => (5, &[(0, 3), (1, 3), (2, 3), (0, 4), (1, 4), (2, 4)]),
        3 => (
            6,
            &[
                (0, 1),
                (1, 2),
                (2, 0),
                (3, 4),
                (4, 5),
                (5, 3),
                (0, 3),
                (1, 4),
                (2, 5),
            ],
        ),
        _ => (5, &[(0, 4), (1, 4), (2, 4), (3, 4)]),
    };
    let mut port = vec![0; switches as usize];
    let mut next = |switch: u32| {
        port[switch as usize] += 1;
        (switch, port[switch as usize])
    };
    for id in 0..switches {
        builder.switch(format!("S{id}"), id.into(), 64).unwrap();
    }
    let more = more.iter().map(|&(a, b)| (a % switches, b % switches));
    for (a, b) in ring.iter().copied().chain(more.filter(|(a, b)| a != b)) {
        let ends = (next(a), next(b));
        builder.cable(ends.0, ends.1).unwrap();
    }
    for id in 0..switches {
        // The upper switches of two tiers and of a star have none.
        if (kind == 2 && id > 2) || (kind == 4 && id == 4) {
            continue;
        }
        let at = next(id);
        builder
            .endnode(format!("H{id}"), 100 + u64::from(id), at)
            .unwrap();
    }
    builder.build().unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn the_bound_is_not_above_the_best_trees_there_are(
        kind in 0..5usize,
        more in prop::collection::vec((any::<u32>(), any::<u32>()), 0..3),
        sets in prop::collection::vec(prop::collection::btree_set(0u32..6, 1..5), 1..5),
    ) {
        let network = small(kind, &more);
        let endnodes = network.endnodes().len() as u32;
        let groups: Vec<Group> = sets
            .iter()
            .map(|set| set.iter().map(|e| e % endnodes).collect::<std::collections::BTreeSet<_>>())
            .map(|set| group(&network, &set.into_iter().collect::<Vec<_>>()))
            .collect();
        let choices: Vec<Vec<u32>> = groups.iter().map(|g| joining(&network, g.switches())).collect();
        for (group, sets) in groups.iter().zip(&choices) {
            let fewest = sets.iter().map(|set| set.count_ones()).min().unwrap();
            prop_assert!(least_cables(&network, group) <= u64::from(fewest));
        }
        let mut load = vec![0; network.cables().len()];
        let best = (0..).find(|&most| fit(&choices, &mut load, most)).unwrap();
        let bound = lower_bound(&network, &groups);
        prop_assert!(bound <= best, "{} > {} on {}", bound, best, network.structure());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn no_trees_are_below_the_bound(
        topology in prop::sample::select(vec![
            "ft3:4", "ft3:6", "torus:4x3,2", "torus:3x2x2,1", "df:3,2,1", "df:3,2,1,palm", "df:4,1,2,3", "leaf-spine:5,2,3", "chain:5,3", "supernodes:2,4",
        ]),
        sets in prop::collection::vec(prop::collection::btree_set(any::<u32>(), 0..12), 0..40),
    ) {
        let network = build(topology);
        let endnodes = network.endnodes().len() as u32;
        let groups: Vec<Group> = sets
            .iter()
            .map(|set| set.iter().map(|e| e % endnodes).collect::<std::collections::BTreeSet<_>>())
            .map(|set| group(&network, &set.into_iter().collect::<Vec<_>>()))
            .collect();
        let hops = HopTable::new(&network).unwrap();
        let mut load = Load::new(&network);
        let bound = lower_bound(&network, &groups);
        Fulb::default().route_all(&network, &hops, &mut load, &groups, &mut |_| {}).unwrap();
        prop_assert!(bound <= load.max(), "{} > {}", bound, load.max());
    }
}
