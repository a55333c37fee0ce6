//! A tree that has lost a cable: valid, as low as it can be, no fuller than need be, and the old one where that still works (MC-9, MC-6).

use std::collections::BTreeSet;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use tributary_fabric::route::{Fulb, Own};
use tributary_fabric::topology::Topology;
use tributary_fabric::{Group, HopTable, Load, Network, Router, Tree};

/// Networks of every family, and most percent of new cables in a mended tree where not all are forced.
const FAMILIES: [(&str, usize); 8] = [
    ("torus:6x6x6,1", 20),
    ("torus:7x5,2", 30),
    ("ft3:8", 50),
    ("df:4,2,2", 50),
    ("df:6,3,3", 60),
    ("supernodes:4,8,4", 30),
    ("supernodes:8,4,2", 30),
    ("leaf-spine:8,4,4", 0),
];

struct Routed {
    network: Network,
    hops: HopTable,
    groups: Vec<Group>,
    trees: Vec<Tree>,
    load: Load,
}

fn rng(fixed: u64) -> ChaCha8Rng {
    let seed = std::env::var("TRIBUTARY_SEED").ok();
    let seed = seed.map_or(fixed, |text| text.parse().unwrap());
    println!("TRIBUTARY_SEED={seed}");
    ChaCha8Rng::seed_from_u64(seed)
}

fn routed(text: &str, router: &mut dyn Router, rng: &mut ChaCha8Rng) -> Routed {
    let network = text.parse::<Topology>().unwrap().build().unwrap();
    let hops = HopTable::new(&network).unwrap();
    let endnodes = network.endnodes().len() as u32;
    let mut groups = Vec::new();
    for _ in 0..60 {
        let members: BTreeSet<u32> = (0..12).map(|_| rng.random_range(0..endnodes)).collect();
        groups.push(Group::new(&network, members.into_iter().collect::<Vec<_>>()).unwrap());
    }
    let mut load = Load::new(&network);
    let trees = router
        .route_all(&network, &hops, &mut load, &groups, &mut |_| ())
        .unwrap();
    // Trees with cables only: the others cannot lose any.
    let with_tree = groups.into_iter().zip(trees);
    let (groups, trees) = with_tree.filter_map(|(g, t)| Some((g, t?))).unzip();
    Routed {
        trees,
        network,
        hops,
        groups,
        load,
    }
}

/// A cable that carries a group, drawn at random.
fn any_loaded(load: &Load, rng: &mut ChaCha8Rng) -> u32 {
    loop {
        let cable = rng.random_range(0..load.efi().len());
        if load.efi()[cable] > 0 {
            return cable as u32;
        }
    }
}

/// Cables in `new` that were not in `old`.
fn fresh(old: &Tree, new: &Tree) -> usize {
    let old: BTreeSet<u32> = old.cables().collect();
    new.cables().filter(|cable| !old.contains(cable)).count()
}

/// Whether a failed cable forces another way onto nearly all of the tree. In a fat tree of three tiers, one middle switch of a pod reaches
/// its leaf switches from each top switch: a tree that loses a cable of a leaf moves to top switches that share no cable with it. On a
/// dragonfly, two groups have one cable between them: a tree that loses it and may cross one such cable only (MC-11) moves to a third group.
/// Spines have a cable to every leaf switch, and trees over them have no other.
fn forces_all(network: &Network, text: &str, cable: u32) -> bool {
    let ends = network.cables()[cable as usize].ends.map(|end| end.0);
    let leaf = ends.iter().any(|&s| !network.attached(s).is_empty());
    let blocks = ends.map(|s| network.blocks()[s as usize]);
    text.starts_with("leaf-spine")
        || text.starts_with("ft3") && leaf
        || text.starts_with("df") && blocks[0] != blocks[1]
}

#[test]
fn mc_09_a_tree_that_lost_a_cable_keeps_what_works() {
    let mut rng = rng(41);
    for (text, percent) in FAMILIES {
        let mut own = Own::default();
        let mut r = routed(text, &mut own, &mut rng);
        let (mut new_cables, mut all_cables, mut hit) = (0, 0, 0);
        for _ in 0..60 {
            let cable = any_loaded(&r.load, &mut rng);
            let forced = forces_all(&r.network, text, cable);
            r.network.fail(cable);
            r.hops.failed(&r.network, cable).unwrap();
            for (group, old) in r.groups.iter().zip(&r.trees) {
                if old.cables().all(|c| c != cable) {
                    continue;
                }
                let members = group.switches();
                r.load.remove(old);
                let mend = |own: &mut Own| {
                    own.reroute(&r.network, &r.hops, &r.load, members, old)
                        .unwrap()
                };
                let new = mend(&mut own);
                assert_eq!(new, mend(&mut own), "{text}: not the same for the same");
                r.load.add(old);
                new.check(&r.network, members).unwrap();
                let least = r.hops.centers(members, &mut Vec::new()).unwrap();
                assert_eq!(new.height, u16::from(least), "{text}");
                hit += 1;
                if !forced {
                    new_cables += fresh(old, &new);
                    all_cables += new.hops.len();
                }
            }
            r.network.restore(cable);
            r.hops.renew(&r.network).unwrap();
        }
        println!("{text}: {hit} trees hit, {new_cables} of {all_cables} cables are new");
        assert!(hit >= 60, "{text}: {hit} trees hit");
        assert!(
            100 * new_cables <= percent * all_cables,
            "{text}: {new_cables} of {all_cables} cables are new"
        );
    }
}

/// Every cable of a network of every family, one at a time: the most groups on a cable become one more only for a group for which a tree
/// from scratch finds nothing better. Where an end of the cable has d cables, d - 1 now share what all of them carried: that much fuller can
/// the fullest become, and by one group more.
#[test]
fn mc_09_a_failed_cable_makes_no_cable_much_fuller() {
    let mut rng = rng(42);
    for (text, _) in FAMILIES {
        let mut own = Own::default();
        let mut r = routed(text, &mut own, &mut rng);
        let before = r.load.max();
        let mut worst = before;
        for cable in 0..r.network.cables().len() as u32 {
            if r.load.of(cable) == 0 {
                continue;
            }
            r.network.fail(cable);
            r.hops.failed(&r.network, cable).unwrap();
            let mut load = r.load.clone();
            for (group, old) in r.groups.iter().zip(&r.trees) {
                if old.cables().all(|c| c != cable) {
                    continue;
                }
                let most = load.max();
                load.remove(old);
                let members = group.switches();
                let Ok(new) = own.reroute(&r.network, &r.hops, &load, members, old) else {
                    load.add(old);
                    continue;
                };
                let direct = own.route(&r.network, &r.hops, &load, members).unwrap();
                let fuller = |tree: &Tree| tree.cables().map(|c| load.of(c) + 1).max().unwrap();
                assert!(fuller(&new) <= most + 1, "{text}, cable {cable}");
                assert!(
                    fuller(&new) <= most || fuller(&direct) > most,
                    "{text}, cable {cable}: a new tree is better"
                );
                load.add(&new);
            }
            let ends = r.network.cables()[cable as usize].ends;
            let left = ends.iter().map(|end| r.network.links(end.0).len() as u32);
            let share = left.min().map_or(0, |left| before.div_ceil(left.max(1)));
            assert!(
                load.max() <= before + share + 1,
                "{text}, cable {cable}: {before} before, {} after, share {share}",
                load.max()
            );
            worst = worst.max(load.max());
            r.network.restore(cable);
            r.hops.renew(&r.network).unwrap();
        }
        println!("{text}: {before} before, at worst {worst} after");
    }
}

/// MC-11: a tree that was mended goes between the groups of a dragonfly only straight into the root's, as one from scratch does.
#[test]
fn mc_11_mended_trees_leave_a_group_by_one_global_cable() {
    let mut rng = rng(43);
    let mut seen = 0;
    for text in ["df:4,2,2", "df:6,3,3"] {
        let mut own = Own::default();
        let mut r = routed(text, &mut own, &mut rng);
        let block = |network: &Network, s: u32| network.blocks()[s as usize];
        let two = |network: &Network, tree: &Tree| {
            tree.hops.iter().any(|hop| {
                let parent = network.cables()[hop.cable as usize].other(hop.child);
                let (from, to) = (block(network, hop.child), block(network, parent));
                from != to && to != block(network, tree.root)
            })
        };
        for cable in 0..r.network.cables().len() as u32 {
            r.network.fail(cable);
            r.hops.failed(&r.network, cable).unwrap();
            for (group, old) in r.groups.iter().zip(&r.trees) {
                if old.cables().all(|c| c != cable) {
                    continue;
                }
                let members = group.switches();
                r.load.remove(old);
                let new = own
                    .reroute(&r.network, &r.hops, &r.load, members, old)
                    .unwrap();
                // Some heights leave no way with one: then a tree from scratch has two as well.
                if two(&r.network, &new) {
                    let direct = own.route(&r.network, &r.hops, &r.load, members).unwrap();
                    assert!(two(&r.network, &direct), "{text}, cable {cable}");
                } else {
                    seen += 1;
                }
                r.load.add(old);
            }
            r.network.restore(cable);
            r.hops.renew(&r.network).unwrap();
        }
    }
    assert!(seen > 500, "{seen}");
}

#[test]
fn mc_09_after_more_failures_than_a_tree_can_stand_it_is_built_anew_or_refused() {
    let mut rng = rng(7);
    let mut own = Own::default();
    let r = routed("torus:4x4,1", &mut own, &mut rng);
    for (group, old) in r.groups.iter().zip(&r.trees) {
        let members = group.switches();
        let mut network = r.network.clone();
        // All cables of the tree, then all there are.
        assert!(old.cables().all(|cable| network.fail(cable)));
        let hops = HopTable::new(&network).unwrap();
        match own.reroute(&network, &hops, &r.load, members, old) {
            Ok(new) => new.check(&network, members).unwrap(),
            Err(_) => assert_eq!(hops.centers(members, &mut Vec::new()), None),
        }
        for cable in 0..network.cables().len() as u32 {
            network.fail(cable);
        }
        let hops = HopTable::new(&network).unwrap();
        let left = own.reroute(&network, &hops, &r.load, members, old);
        assert_eq!(left.is_ok(), members.len() == 1);
    }
}

#[test]
fn mc_09_random_failures_one_after_the_other_leave_valid_trees_of_least_height() {
    let mut rng = rng(44);
    for (text, _) in FAMILIES {
        let mut own = Own::default();
        let mut r = routed(text, &mut own, &mut rng);
        let mut mended = 0;
        for _ in 0..25 {
            // Two at a time: a branch may have lost more than one cable.
            let pair = [(); 2].map(|()| any_loaded(&r.load, &mut rng));
            for cable in pair {
                r.network.fail(cable);
            }
            r.hops.renew(&r.network).unwrap();
            for (group, tree) in r.groups.iter().zip(&mut r.trees) {
                if tree.cables().all(|c| r.network.is_up(c)) {
                    continue;
                }
                let members = group.switches();
                r.load.remove(tree);
                match own.reroute(&r.network, &r.hops, &r.load, members, tree) {
                    Ok(new) => {
                        new.check(&r.network, members).unwrap();
                        let least = r.hops.centers(members, &mut Vec::new()).unwrap();
                        assert_eq!(new.height, u16::from(least), "{text}");
                        mended += 1;
                        *tree = new;
                    }
                    Err(_) => assert_eq!(r.hops.centers(members, &mut Vec::new()), None),
                }
                r.load.add(tree);
            }
        }
        assert!(mended > 50, "{text}: {mended}");
    }
}

#[test]
fn mc_09_other_routers_build_the_tree_anew() {
    let mut rng = rng(8);
    let mut fulb = Fulb::default();
    let mut r = routed("ft3:4", &mut fulb, &mut rng);
    let cable = r.trees[0].cables().next().unwrap();
    r.network.fail(cable);
    r.hops.failed(&r.network, cable).unwrap();
    let members = r.groups[0].switches();
    let new = fulb
        .reroute(&r.network, &r.hops, &r.load, members, &r.trees[0])
        .unwrap();
    let direct = fulb.route(&r.network, &r.hops, &r.load, members).unwrap();
    assert_eq!(new, direct);
}
