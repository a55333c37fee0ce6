//! Tables written from trees.

mod manager_common;

use manager_common::{network, random_group, rng, seed};
use rand::RngExt as _;
use tributary_fabric::route::Fulb;
use tributary_fabric::table::{self, TableError};
use tributary_fabric::{Group, HopTable, Leader, Load, Network, NetworkBuilder, Router, Tree};

fn route(network: &Network, group: &Group) -> Tree {
    let hops = HopTable::new(network).unwrap();
    let load = Load::new(network);
    Fulb::default()
        .route(network, &hops, &load, group.switches())
        .unwrap()
}

#[test]
fn mc_10_entries_point_to_the_leader() {
    let network = network("leaf-spine:2,1,3");
    let group = Group::new(&network, [0, 1, 3, 4]).unwrap();
    let tree = route(&network, &group);
    let got = table::entries(&network, &group, &tree, 3).unwrap();
    let got: Vec<_> = got
        .iter()
        .map(|(s, e)| (*s, e.parent, e.children, e.wait))
        .collect();
    assert_eq!(
        got,
        [
            (1, 0, 0b1010, 3), // leader on port 0, a member on 1, the spine on 3
            (2, 1, 0b01, 2),
            (0, 3, 0b0011, 2),
        ]
    );
}

#[test]
fn mc_10_every_port_of_a_random_tree_is_parent_or_child_once() {
    let seed = seed();
    let mut rng = rng(seed);
    let networks = [network("leaf-spine:5,3,4"), network("torus:4x5,1")];
    for round in 0..200 {
        let network = &networks[round % 2];
        let size = rng.random_range(2..12);
        let (group, leader) = random_group(network, size, &mut rng);
        let tree = route(network, &group);
        let entries = table::entries(network, &group, &tree, leader).unwrap();
        assert_eq!(entries.len(), tree.switches().count());
        assert_eq!(entries[0].0, network.endnodes()[leader as usize].at.0);
        let wait = group.endnodes().len() as u32 - 1;
        assert_eq!(entries[0].1.wait, wait, "seed {seed} round {round}");
        for (i, (switch, entry)) in entries.iter().enumerate() {
            assert_eq!(entry.children >> entry.parent & 1, 0);
            // A parent port leads to a switch that came before, a child port to one that comes later or to a member.
            let before = |s: u32| entries[..i].iter().any(|(at, _)| *at == s);
            let up = network
                .links(*switch)
                .iter()
                .find(|l| l.port == u16::from(entry.parent) + 1);
            assert_eq!(up.is_none(), i == 0, "seed {seed} round {round}");
            assert!(up.is_none_or(|l| before(l.peer)));
            let mut below = 0;
            for port in (0..64).filter(|p| entry.children >> p & 1 == 1) {
                let link = network.links(*switch).iter().find(|l| l.port == port + 1);
                below += match link {
                    Some(l) => {
                        assert!(!before(l.peer), "seed {seed} round {round}");
                        let at = entries.iter().find(|(s, _)| *s == l.peer);
                        at.map_or(0, |(_, e)| e.wait)
                    }
                    None => 1,
                };
            }
            assert_eq!(below, entry.wait, "seed {seed} round {round}");
        }
    }
}

/// The leader's port is parent and child of its switch, which waits for all; no other entry differs from that of a leader that only
/// sends down.
#[test]
fn cl_06_a_leader_that_contributes_is_a_child_of_its_own_switch_alone() {
    let seed = seed();
    let mut rng = rng(seed);
    let networks = [network("leaf-spine:5,3,4"), network("torus:4x5,1")];
    for round in 0..200 {
        let network = &networks[round % 2];
        let size = rng.random_range(2..12);
        let (group, leader) = random_group(network, size, &mut rng);
        let tree = route(network, &group);
        let mut expected = table::entries(network, &group, &tree, leader).unwrap();
        let (switch, first) = &mut expected[0];
        let (home, port) = network.endnodes()[leader as usize].at;
        assert_eq!((*switch, u16::from(first.parent) + 1), (home, port));
        first.children |= 1 << first.parent;
        first.wait = group.endnodes().len() as u32;
        let leader = Leader::contributing(leader);
        let entries = table::entries(network, &group, &tree, leader).unwrap();
        assert_eq!(entries, expected, "seed {seed} round {round}");
    }
}

#[test]
fn mc_10_trees_that_cannot_be_written_are_refused() {
    let network = network("leaf-spine:3,1,2");
    let group = Group::new(&network, [0, 2]).unwrap();
    let tree = route(&network, &group);
    let fails = |group: &Group, tree: &Tree, leader| {
        table::entries(&network, group, tree, leader).unwrap_err()
    };
    assert_eq!(
        fails(&group, &tree, 1),
        TableError::LeaderOutside { leader: 1 }
    );
    let other = Group::new(&network, [0, 4]).unwrap();
    let text = fails(&other, &tree, 0).to_string();
    assert_eq!(text, "the tree does not reach switch S2 of member 4");
    let mut odd = tree.clone();
    odd.hops[0].cable = 99;
    let text = fails(&group, &odd, 0).to_string();
    assert_eq!(text, "no tree of this network: cable 99 does not fit in");
    odd.hops[0] = odd.hops[1];
    assert!(matches!(
        fails(&group, &odd, 0),
        TableError::NoTree { what: "switch", .. }
    ));
    odd.root = 99;
    assert!(matches!(fails(&group, &odd, 0), TableError::NoTree { .. }));
}

#[test]
fn mc_10_ports_beyond_the_mask_are_refused() {
    let mut b = NetworkBuilder::new("wide");
    let s = b.switch("wide", 1, 65).unwrap();
    b.endnode("a", 2, (s, 64)).unwrap();
    b.endnode("b", 3, (s, 65)).unwrap();
    let network = b.build().unwrap();
    let group = Group::new(&network, [0, 1]).unwrap();
    let tree = route(&network, &group);
    assert_eq!(
        table::entries(&network, &group, &tree, 0)
            .unwrap_err()
            .to_string(),
        "the tree uses port 65 of switch wide, entries reach to port 64"
    );
}
