//! What holds for the trees of every router, and the rule of each.

use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use tributary_fabric::bound::lower_bound;
use tributary_fabric::pattern::Pattern;
use tributary_fabric::route::{Fulb, Minihop, Own, OwnSettings, RootChoice, Sssp};
use tributary_fabric::topology::Topology;
use tributary_fabric::{Group, HopTable, Load, Network, NetworkBuilder, Router, Tree};

const NETWORKS: [&str; 8] = [
    "ft3:4",
    "ft3:8",
    "torus:6x4x4,2",
    "torus:5x5,1",
    "df:4,2,2",
    "df:3,2,2,palm",
    "leaf-spine:8,4,4",
    "supernodes:3,2",
];

fn build(text: &str) -> Network {
    text.parse::<Topology>().unwrap().build().unwrap()
}

fn routers(network: &Network) -> Vec<Box<dyn Router>> {
    use RootChoice::{First, LeastLoaded};
    vec![
        Box::new(Minihop::new(First)),
        Box::new(Minihop::new(LeastLoaded)),
        Box::new(Sssp::unicast(network, First, &mut |_| ())),
        Box::new(Sssp::unicast(network, LeastLoaded, &mut |_| ())),
        Box::new(Sssp::groups(First)),
        Box::new(Sssp::groups(LeastLoaded)),
        Box::new(Fulb::default()),
        Box::new(Own::new(OwnSettings::default())),
    ]
}

fn random_groups(rng: &mut impl Rng, network: &Network, count: usize) -> Vec<Group> {
    let endnodes = network.endnodes().len() as u32;
    (0..count)
        .map(|_| {
            let size = rng.random_range(1..=endnodes.min(24));
            let mut members: Vec<u32> = (0..size).map(|_| rng.random_range(0..endnodes)).collect();
            members.sort_unstable();
            members.dedup();
            Group::new(network, members).unwrap()
        })
        .collect()
}

fn route(
    router: &mut dyn Router,
    network: &Network,
    hops: &HopTable,
    groups: &[Group],
) -> (Load, Vec<Option<Tree>>) {
    let mut load = Load::new(network);
    let mut told = 0;
    let trees = router
        .route_all(network, hops, &mut load, groups, &mut |done| told = done)
        .unwrap();
    assert_eq!(told, groups.len());
    (load, trees)
}

/// Every tree is one, reaches its members and no more, and is as low as can be; the load is theirs.
fn check(
    name: &str,
    network: &Network,
    hops: &HopTable,
    groups: &[Group],
    load: &Load,
    trees: &[Option<Tree>],
) {
    assert_eq!(trees.len(), groups.len());
    let mut sum = load.clone();
    let mut centers = Vec::new();
    for (group, tree) in groups.iter().zip(trees) {
        assert_eq!(tree.is_some(), group.endnodes().len() >= 2, "{name}");
        let Some(tree) = tree else { continue };
        if let Err(what) = tree.check(network, group.switches()) {
            panic!(
                "{name} on {}, {:?}: {what}\n{tree:?}",
                network.name(),
                group.endnodes()
            );
        }
        let least = hops.centers(group.switches(), &mut centers).unwrap();
        assert_eq!(
            tree.height,
            u16::from(least),
            "{name} on {}, {:?}",
            network.name(),
            group.endnodes()
        );
        sum.remove(tree);
    }
    assert_eq!(
        sum,
        Load::new(network),
        "{name}: load is not that of the trees"
    );
}

#[test]
fn mc_03_mc_04_mc_05_mc_06_trees_of_every_router_are_lowest_trees_that_reach_the_members() {
    for seed in 0..24 {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut network = build(NETWORKS[seed as usize % NETWORKS.len()]);
        // Some of the networks have lost cables.
        for _ in 0..seed / 8 * 2 {
            let cable = rng.random_range(0..network.cables().len() as u32);
            if network.fail(cable) && network.split().is_some() {
                network.restore(cable);
            }
        }
        let hops = HopTable::new(&network).unwrap();
        let groups = random_groups(&mut rng, &network, 40);
        for mut router in routers(&network) {
            let (load, trees) = route(router.as_mut(), &network, &hops, &groups);
            check(
                &format!("seed {seed}, {}", router.name()),
                &network,
                &hops,
                &groups,
                &load,
                &trees,
            );
            assert!(
                load.max() >= lower_bound(&network, &groups),
                "seed {seed}, {}",
                router.name()
            );
        }
    }
}

#[test]
fn mc_06_the_own_router_is_never_above_another() {
    for seed in 100..148 {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let network = build(NETWORKS[seed as usize % NETWORKS.len()]);
        let hops = HopTable::new(&network).unwrap();
        let count = rng.random_range(1..120);
        let groups = random_groups(&mut rng, &network, count);
        let mut all = routers(&network);
        let mut own = all.pop().unwrap();
        let (mine, _) = route(own.as_mut(), &network, &hops, &groups);
        for mut other in all {
            let (theirs, _) = route(other.as_mut(), &network, &hops, &groups);
            assert!(
                mine.max() <= theirs.max(),
                "seed {seed}: own {} above {} of {} on {}, {count} groups",
                mine.max(),
                theirs.max(),
                other.name(),
                network.name()
            );
        }
    }
}

#[test]
fn mc_06_the_own_router_is_near_the_lower_bound_on_fat_trees() {
    for (topology, pattern, ppn) in [
        ("ft3:16", "32x32", 1),
        ("ft3:16", "16x16x4", 1),
        ("ft3:16", "rnd200_32_3", 1),
        ("supernodes:8,4", "32x32x8", 4),
    ] {
        let network = build(topology);
        let hops = HopTable::new(&network).unwrap();
        let groups = pattern
            .parse::<Pattern>()
            .unwrap()
            .groups(&network, ppn)
            .unwrap();
        let bound = lower_bound(&network, &groups);
        let (load, trees) = route(
            &mut Own::new(OwnSettings::default()),
            &network,
            &hops,
            &groups,
        );
        check("own", &network, &hops, &groups, &load, &trees);
        let most = (bound + bound / 2).max(bound + 2);
        assert!(
            load.max() <= most,
            "{topology} {pattern}: {} with a lower bound of {bound}",
            load.max()
        );
    }
}

#[test]
fn mc_06_the_same_groups_give_the_same_trees() {
    let network = build("torus:6x4x4,2");
    let hops = HopTable::new(&network).unwrap();
    let groups = random_groups(&mut ChaCha8Rng::seed_from_u64(5), &network, 80);
    let mut router = Own::new(OwnSettings::default());
    let first = route(&mut router, &network, &hops, &groups);
    assert!(
        first == route(&mut router, &network, &hops, &groups),
        "a router that has worked before"
    );
    assert!(
        first
            == route(
                &mut Own::new(OwnSettings::default()),
                &network,
                &hops,
                &groups
            ),
        "a new one"
    );
}

#[test]
fn mc_11_own_trees_on_a_dragonfly_have_one_global_cable_to_a_member() {
    for (seed, text) in [
        (1, "df:4,2,2"),
        (2, "df:6,3,3"),
        (3, "df:4,2,2,palm"),
        (4, "df:8,4,4"),
    ] {
        let network = build(text);
        let hops = HopTable::new(&network).unwrap();
        let groups = random_groups(&mut ChaCha8Rng::seed_from_u64(seed), &network, 150);
        let (_, trees) = route(
            &mut Own::new(OwnSettings::default()),
            &network,
            &hops,
            &groups,
        );
        let block = |switch: u32| network.blocks()[switch as usize];
        let mut far = 0;
        for (group, tree) in groups.iter().zip(&trees) {
            let Some(tree) = tree else { continue };
            for &member in group
                .switches()
                .iter()
                .filter(|&&m| hops.hops(m, tree.root) == 3)
            {
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

#[test]
fn mc_06_any_settings_of_the_own_router_are_served() {
    let network = build("df:4,2,2");
    let hops = HopTable::new(&network).unwrap();
    let groups = random_groups(&mut ChaCha8Rng::seed_from_u64(9), &network, 12);
    for (roots, effort) in [(0, 0), (1, 1), (usize::MAX, 2), (2, u32::MAX)] {
        let mut router = Own::new(OwnSettings { roots, effort });
        let (load, trees) = route(&mut router, &network, &hops, &groups);
        check("own", &network, &hops, &groups, &load, &trees);
    }
}

#[test]
fn mc_06_the_maximum_is_that_of_the_cables_after_any_order_of_changes() {
    let network = build("ft3:4");
    let hops = HopTable::new(&network).unwrap();
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    let groups = random_groups(&mut rng, &network, 60);
    let (mut load, trees) = route(
        &mut Minihop::new(RootChoice::First),
        &network,
        &hops,
        &groups,
    );
    let mut trees: Vec<Tree> = trees.into_iter().flatten().collect();
    while !trees.is_empty() {
        let tree = trees.swap_remove(rng.random_range(0..trees.len()));
        load.remove(&tree);
        assert_eq!(load.max(), load.efi().iter().copied().max().unwrap());
        let mut again = load.clone();
        again.add(&tree);
        assert_eq!(again.max(), again.efi().iter().copied().max().unwrap());
    }
    assert_eq!(load, Load::new(&network));
}

/// Two leaf switches, four spine switches; endnode 0 and 1 on the first leaf, 2 and 3 on the second.
fn four_ways() -> Network {
    let mut builder = NetworkBuilder::new("four ways");
    for i in 0..6 {
        builder.switch(format!("s{i}"), i, 8).unwrap();
    }
    for spine in 2..6 {
        builder.cable((0, spine as u16 + 1), (spine, 1)).unwrap();
        builder.cable((1, spine as u16 + 1), (spine, 2)).unwrap();
    }
    for i in 0..4u32 {
        builder
            .endnode(
                format!("h{i}"),
                100 + u64::from(i),
                (i / 2, i as u16 % 2 + 1),
            )
            .unwrap();
    }
    builder.build().unwrap()
}

fn roots(router: &mut dyn Router, groups: usize) -> Vec<u32> {
    let network = four_ways();
    let hops = HopTable::new(&network).unwrap();
    let groups = vec![Group::new(&network, [0, 2]).unwrap(); groups];
    let (_, trees) = route(router, &network, &hops, &groups);
    trees.iter().flatten().map(|tree| tree.root).collect()
}

#[test]
fn mc_01_the_root_is_the_first_of_least_height() {
    assert_eq!(roots(&mut Minihop::new(RootChoice::First), 3), [2, 2, 2]);
}

#[test]
fn mc_04_mc_05_new_roots_take_turns() {
    for router in [
        &mut Minihop::new(RootChoice::LeastLoaded) as &mut dyn Router,
        &mut Sssp::groups(RootChoice::LeastLoaded),
        &mut Fulb::default(),
    ] {
        assert_eq!(roots(router, 5), [2, 3, 4, 5, 2], "{}", router.name());
    }
}

/// Two switches with three cables between them.
fn three_cables() -> (Network, Vec<Group>) {
    let mut builder = NetworkBuilder::new("three cables");
    for i in 0..2 {
        builder.switch(format!("s{i}"), i, 8).unwrap();
        builder
            .endnode(format!("h{i}"), 100 + i, (i as u32, 1))
            .unwrap();
    }
    for port in 2..5 {
        builder.cable((0, port), (1, port)).unwrap();
    }
    let network = builder.build().unwrap();
    let groups = vec![Group::new(&network, [0, 1]).unwrap(); 7];
    (network, groups)
}

#[test]
fn mc_03_mc_05_mc_06_load_goes_round_where_minihop_keeps_to_a_port() {
    let (network, groups) = three_cables();
    let hops = HopTable::new(&network).unwrap();
    let efi = |router: &mut dyn Router| route(router, &network, &hops, &groups).0.efi().to_vec();
    assert_eq!(efi(&mut Minihop::new(RootChoice::First)), [7, 0, 0]);
    assert_eq!(efi(&mut Sssp::groups(RootChoice::First)), [3, 2, 2]);
    assert_eq!(efi(&mut Fulb::default()), [3, 2, 2]);
    assert_eq!(efi(&mut Own::new(OwnSettings::default())), [3, 2, 2]);
}

#[test]
fn mc_10_a_group_that_nothing_reaches_leaves_the_load_as_it_was() {
    let mut network = build("chain:4,1");
    assert!(network.fail(1));
    let hops = HopTable::new(&network).unwrap();
    let groups = [
        Group::new(&network, [0, 1]).unwrap(),
        Group::new(&network, [0, 3]).unwrap(),
    ];
    for mut router in routers(&network) {
        let mut load = Load::new(&network);
        let error = router
            .route_all(&network, &hops, &mut load, &groups, &mut |_| ())
            .unwrap_err();
        assert!(
            error.to_string().contains("S0, S3"),
            "{}: {error}",
            router.name()
        );
        assert_eq!(load, Load::new(&network), "{}", router.name());
    }
}

#[test]
fn mc_10_a_group_on_one_switch_has_a_tree_without_cables_and_one_of_one_member_has_none() {
    let network = build("leaf-spine:2,2,3");
    let hops = HopTable::new(&network).unwrap();
    let groups = [
        Group::new(&network, [0, 1]).unwrap(),
        Group::new(&network, [4]).unwrap(),
    ];
    for mut router in routers(&network) {
        let (_, trees) = route(router.as_mut(), &network, &hops, &groups);
        assert_eq!(
            trees[0].as_ref().map(|tree| (tree.root, tree.hops.len())),
            Some((0, 0)),
            "{}",
            router.name()
        );
        assert_eq!(trees[1], None);
    }
}
