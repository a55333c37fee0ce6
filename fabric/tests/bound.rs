//! The lower bound: by hand on small networks, and never above what trees have.

use proptest::prelude::*;
use tributary_fabric::bound::lower_bound;
use tributary_fabric::route::Fulb;
use tributary_fabric::topology::Topology;
use tributary_fabric::{Group, HopTable, Load, Network, Router};

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
