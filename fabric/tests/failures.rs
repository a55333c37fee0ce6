//! Cables and switches that fail under a manager's groups.

mod manager_common;

use std::collections::BTreeMap;

use manager_common::{Fabric, network, random_group, rng, seed};
use tributary_fabric::manager::{Config, Event, ManagerError, Rerouted, State, Unroutable};
use tributary_fabric::{HopTable, Network, Tree};

const CONFIG: Config = Config {
    ids: 8192,
    groups_max: 1_000,
    join_timeout: 100,
    leave_timeout: 50,
    drain: 10,
    lease: None,
};

/// A fabric with `groups` random groups, keys from 0.
fn busy(network: Network, groups: u64, size: usize, seed: u64) -> Fabric {
    let mut rng = rng(seed);
    let mut f = Fabric::new(network, CONFIG);
    for key in 0..groups {
        let (group, _) = random_group(f.manager.network(), size, &mut rng);
        f.join_all(key, 1, group.endnodes());
    }
    f.pass(1);
    f
}

fn trees(f: &Fabric) -> BTreeMap<u64, (u16, Tree)> {
    let keys = f.manager.keys().into_iter();
    keys.filter_map(|key| f.manager.tree(key).map(|(id, t)| (key, (id, t.clone()))))
        .collect()
}

fn all_whole(f: &Fabric) {
    for key in f.manager.keys() {
        let (group, _) = f.manager.members(key).unwrap();
        assert!(
            f.survey(key).unwrap().unwrap().is_whole(group),
            "group {key}"
        );
    }
}

#[test]
fn mc_09_only_trees_on_the_failed_cable_are_re_routed() {
    let seed = seed();
    for network in [network("torus:5x5,1"), network("leaf-spine:6,4,4")] {
        let mut f = busy(network, 60, 5, seed);
        for cable in [3, 17, 11] {
            let before = trees(&f);
            let mut users = f.manager.users(cable).to_vec();
            users.sort_unstable();
            assert!(!users.is_empty());
            let report = f.manager.cable_failed(f.now, cable).unwrap();
            assert_eq!((&report.moved, report.unroutable.len()), (&users, 0));
            let after = trees(&f);
            for (key, was) in &before {
                let is = &after[key];
                if users.contains(key) {
                    assert_ne!(was.0, is.0, "a fresh id");
                    assert!(is.1.cables().all(|c| c != cable));
                    let members = f.manager.members(*key).unwrap().0.switches();
                    is.1.check(f.manager.network(), members).unwrap();
                } else {
                    assert_eq!(was, is, "group {key} is not concerned");
                }
            }
            f.manager.audit().unwrap();
            f.write();
            all_whole(&f);
            let again = f.manager.cable_failed(f.now, cable).unwrap();
            assert_eq!(again, Rerouted::default(), "it has failed already");
        }
        assert_eq!(
            f.manager.ids().trees() as u64,
            60 + f.manager.counters().rerouted
        );
        f.pass(10);
        assert_eq!(
            f.manager.ids().trees(),
            60,
            "old ids are free after the drain"
        );
        all_whole(&f);
        let hops = HopTable::new(f.manager.network()).unwrap();
        let (key, (_, tree)) = trees(&f).into_iter().next().unwrap();
        let members = f.manager.members(key).unwrap().0.switches();
        let height = hops.centers(members, &mut Vec::new()).unwrap();
        assert_eq!(tree.height, u16::from(height));
    }
}

#[test]
fn mc_09_members_move_when_the_new_tree_stands() {
    let mut f = busy(network("leaf-spine:4,2,2"), 1, 6, 3);
    let old = f.id(0).unwrap();
    let cable = f.manager.tree(0).unwrap().1.hops[0].cable;
    f.manager.take_events();
    f.manager.cable_failed(f.now, cable).unwrap();
    assert_eq!(f.id(0), Some(old), "not written yet");
    let whole_before = f.survey(0).unwrap().unwrap();
    f.write();
    let new = f.id(0).unwrap();
    assert_ne!(new, old);
    assert_eq!(
        f.manager.take_events(),
        [Event::Moved { key: 0, tree: new }]
    );
    assert_eq!(f.manager.status(0).unwrap().1.moves, 1);
    assert!(f.survey(0).unwrap().unwrap().keeps(&whole_before));
    f.pass(9);
    let switch = f.manager.members(0).unwrap().0.switches()[0];
    assert!(f.tables.get(switch, old).is_some(), "frames are under way");
    f.pass(1);
    assert!(f.tables.get(switch, old).is_none());
    assert!(!f.manager.ids().is_used(switch, old));
}

#[test]
fn mc_09_groups_that_are_cut_are_reported_and_recover() {
    // One spine: a leaf without its cable is alone.
    let mut f = Fabric::new(network("leaf-spine:3,1,4"), CONFIG);
    f.join_all(1, 1, &[0, 4]);
    f.join_all(2, 1, &[4, 8]);
    f.join_all(3, 1, &[0, 1]);
    f.join_all(4, 1, &[9, 1, 2, 5]);
    f.pass(1);
    let before = trees(&f);
    let network = f.manager.network();
    let cable = network.links(0)[0].cable;
    let other = network.links(1)[0].cable;
    f.manager.take_events();
    let report = f.manager.cable_failed(f.now, cable).unwrap();
    let cut = |switches: &[u32]| Unroutable::Cut {
        switches: switches.to_vec(),
    };
    // Switches are named as the leader does not see them.
    let expected = [(1, cut(&[1])), (4, cut(&[0]))];
    assert_eq!(report.unroutable, expected);
    assert_eq!((report.moved.len(), report.healed.len()), (0, 0));
    assert_eq!(f.manager.take_events().len(), 2);
    assert_eq!(trees(&f), before, "nothing half applied");
    assert_eq!(f.write(), 0);
    assert_eq!(
        f.survey(4).unwrap().unwrap().down.len(),
        1,
        "what works is used"
    );
    f.manager.audit().unwrap();

    // Another group becomes complete meanwhile, and one goes.
    f.join_all(5, 1, &[3, 10]);
    f.pass(1);
    assert_eq!(f.state(5), Some(State::ComputingRoutes));
    assert_eq!(f.manager.unroutable(5), Some(&cut(&[2])));
    f.leave(1, 1, 0);
    f.leave(1, 1, 4);
    f.pass(10);
    assert_eq!(f.state(1), None);
    // A second failure does not change the first verdict, and its repair does not help.
    f.manager.cable_failed(f.now, other).unwrap();
    assert_eq!(f.manager.unroutable(4), Some(&cut(&[0, 1])));
    let report = f.manager.cable_restored(f.now, other).unwrap();
    assert_eq!(report.healed, [2]);
    assert_eq!(report.unroutable.len(), 2);
    f.manager.audit().unwrap();

    let report = f.manager.cable_restored(f.now, cable).unwrap();
    assert_eq!((report.healed, report.moved), (vec![4], vec![5]));
    assert_eq!(report.unroutable, []);
    f.write();
    for key in 2..=4 {
        assert_eq!(trees(&f)[&key], before[&key], "as it was");
    }
    assert_eq!(f.state(5), Some(State::Ready));
    all_whole(&f);
    assert_eq!(f.manager.counters().rerouted, 0);
    let again = f.manager.cable_restored(f.now, cable).unwrap();
    assert_eq!(again, Rerouted::default());
}

#[test]
fn mc_09_a_cut_group_takes_another_way_if_that_comes_back_first() {
    let mut f = Fabric::new(network("leaf-spine:3,2,2"), CONFIG);
    f.join_all(1, 1, &[0, 2]);
    f.pass(1);
    let links = f.manager.network().links(0);
    let (mut a, mut b) = (links[0].cable, links[1].cable);
    if f.manager.users(a).is_empty() {
        (a, b) = (b, a);
    }
    assert_eq!(
        f.manager.cable_failed(f.now, b).unwrap(),
        Rerouted::default()
    );
    assert_eq!(
        f.manager.cable_failed(f.now, a).unwrap().unroutable.len(),
        1
    );
    let report = f.manager.cable_restored(f.now, b).unwrap();
    assert_eq!((report.moved, report.healed), (vec![1], vec![]));
    assert_eq!(f.manager.unroutable(1), None);
    f.write();
    all_whole(&f);
    let later = f.manager.cable_restored(f.now, a).unwrap();
    assert_eq!(later, Rerouted::default(), "it stays where it is");
}

#[test]
fn mc_09_a_failed_switch_takes_its_cables_along() {
    let mut f = busy(network("leaf-spine:4,2,4"), 30, 5, seed());
    let spine = 4;
    let on = |f: &Fabric, switch| {
        let on = |(_, (_, t)): &(u64, (u16, Tree))| t.switches().any(|s| s == switch);
        let keys = trees(f).into_iter().filter(on).map(|(key, _)| key);
        keys.collect::<Vec<_>>()
    };
    let users = on(&f, spine);
    let report = f.manager.switch_failed(f.now, spine).unwrap();
    assert_eq!(report.moved, users);
    assert_eq!(on(&f, spine), []);
    f.write();
    all_whole(&f);
    // A leaf: its members are cut off, others stay as they are.
    let before = trees(&f);
    let report = f.manager.switch_failed(f.now, 0).unwrap();
    assert_eq!(report.moved, []);
    for (key, _) in &report.unroutable {
        let (group, _) = f.manager.members(*key).unwrap();
        assert!(group.switches().contains(&0));
    }
    assert_eq!(trees(&f), before);
    f.manager.audit().unwrap();
    assert_eq!(
        f.manager.switch_failed(f.now, 0).unwrap(),
        Rerouted::default()
    );
}

#[test]
fn mc_09_what_does_not_exist_cannot_fail() {
    let mut f = Fabric::new(network("torus:3x3,1"), CONFIG);
    let no = Err(ManagerError::NoCable {
        cable: 18,
        cables: 18,
    });
    assert_eq!(f.manager.cable_failed(0, 18), no);
    assert_eq!(f.manager.cable_restored(0, 18), no);
    let no = ManagerError::NoSwitch {
        switch: 9,
        switches: 9,
    };
    assert_eq!(f.manager.switch_failed(0, 9), Err(no));
}

#[test]
fn mc_09_a_tree_that_is_hit_while_it_is_written_is_replaced() {
    let mut f = Fabric::new(network("torus:4x4,1"), CONFIG);
    f.join_all(1, 1, &[0, 5, 10, 3]);
    f.manager.compute(0, 1);
    for _ in 0..3 {
        let cable = f.manager.tree(1).unwrap().1.hops[0].cable;
        assert_eq!(f.manager.cable_failed(0, cable).unwrap().moved, [1]);
        f.manager.audit().unwrap();
    }
    let updates = f.manager.take_updates();
    assert_eq!(updates.len(), 4);
    for update in updates {
        update.writes.iter().for_each(|w| f.tables.apply(w));
        let last = update.number == 3;
        f.manager.written(0, update.number).unwrap();
        assert_eq!(f.state(1) == Some(State::Ready), last);
    }
    assert_eq!(f.id(1), Some(3));
    all_whole(&f);
    f.pass(10);
    assert_eq!(f.manager.ids().trees(), 1);
    f.manager.audit().unwrap();
}

#[test]
fn mc_09_the_end_of_a_group_does_not_wait_for_the_report_of_its_writes() {
    let mut f = Fabric::new(network("leaf-spine:2,1,2"), CONFIG);
    f.join_all(1, 1, &[0, 2]);
    f.manager.compute(0, 1);
    let install = f.manager.take_updates();
    f.leave(1, 1, 0);
    f.manager.tick(10);
    let clear = f.manager.take_updates();
    assert_eq!((install.len(), clear.len()), (1, 1));
    f.manager.written(10, install[0].number).unwrap();
    assert_eq!(f.manager.ids().trees(), 1, "cleared is something else");
    f.manager.audit().unwrap();
    f.manager.written(10, clear[0].number).unwrap();
    assert!(f.is_clean());
}

#[test]
fn mc_09_without_distances_groups_wait_for_the_repair() {
    // A ring of 400 switches: cut open, its ends are too far apart for the table.
    let mut f = Fabric::new(network("torus:400,1"), CONFIG);
    f.join_all(1, 1, &[10, 14]);
    f.join_all(2, 1, &[20, 24]);
    f.pass(1);
    let report = f.manager.cable_failed(f.now, 12).unwrap();
    assert!(matches!(
        report.unroutable[..],
        [(1, Unroutable::Distances(_))]
    ));
    f.join_all(3, 1, &[30, 34]);
    f.pass(1);
    assert_eq!(f.state(3), Some(State::ComputingRoutes));
    f.manager.audit().unwrap();
    let report = f.manager.cable_restored(f.now, 12).unwrap();
    assert_eq!((report.healed, report.moved), (vec![1], vec![3]));
    f.write();
    all_whole(&f);
}
