//! Wrong orders and rewrites in place are noticed, and the walker that notices them does what the switch does.

mod manager_common;

use std::collections::{BTreeMap, BTreeSet};

use manager_common::{ChaCha8Rng, network, random_group, rng, seed};
use rand::RngExt as _;
use rand::seq::IndexedRandom as _;
use tributary_fabric::update::walk::{self, Lost, Survey};
use tributary_fabric::update::{self, Tables, Write};
use tributary_fabric::{Group, Network, Tree, TreeHop, table};
use tributary_protocol::red;

/// A group and two trees over it.
struct Case {
    network: Network,
    group: Group,
    leader: u32,
    old: Tree,
    new: Tree,
}

fn cases(seed: u64) -> impl Iterator<Item = Case> {
    let mut rng = rng(seed);
    std::iter::repeat_with(move || {
        let network = network("torus:4x4,1");
        let size = rng.random_range(3..9);
        let (group, leader) = random_group(&network, size, &mut rng);
        Case {
            old: random_tree(&network, group.switches(), &mut rng),
            new: random_tree(&network, group.switches(), &mut rng),
            network,
            group,
            leader,
        }
    })
}

/// Any tree over these switches, however long.
fn random_tree(network: &Network, members: &[u32], rng: &mut ChaCha8Rng) -> Tree {
    let root = members[0];
    let mut inside = BTreeSet::from([root]);
    let mut hops: Vec<TreeHop> = Vec::new();
    loop {
        let links = inside.iter().flat_map(|&s| network.links(s));
        let out: Vec<_> = links.filter(|l| !inside.contains(&l.peer)).collect();
        let Some(link) = out.choose(rng) else { break };
        inside.insert(link.peer);
        hops.push(TreeHop {
            child: link.peer,
            cable: link.cable,
        });
    }
    // Ends that are no members are cut off, from the far end on.
    let parent = |h: &TreeHop| network.cables()[h.cable as usize].other(h.child);
    let mut needed: BTreeSet<u32> = members.iter().copied().collect();
    for hop in hops.iter().rev() {
        if needed.contains(&hop.child) {
            needed.insert(parent(hop));
        }
    }
    hops.retain(|hop| needed.contains(&hop.child));
    Tree::from_hops(network, root, hops)
}

impl Case {
    fn entries(&self, tree: &Tree) -> Vec<(u32, red::Tree)> {
        table::entries(&self.network, &self.group, tree, self.leader).unwrap()
    }

    /// Walks id 1 after every write.
    fn surveys(&self, tables: &mut Tables, writes: &[Write]) -> Result<Vec<Survey>, walk::Fault> {
        let survey = |t: &Tables| walk::survey(&self.network, t, 1, &self.group, self.leader);
        let mut all = vec![survey(tables)?];
        for write in writes {
            tables.apply(write);
            all.push(survey(tables)?);
        }
        Ok(all)
    }
}

/// Whether the leader's frames reach some members and not others at any time.
fn has_halves(seen: &[Survey]) -> bool {
    let (first, last) = (&seen[0].down, &seen[seen.len() - 1].down);
    seen.iter().any(|s| s.down != *first && s.down != *last)
}

#[test]
fn mc_09_the_wrong_order_is_noticed() {
    let seed = seed();
    let (mut up, mut down) = (0, 0);
    for case in cases(seed).take(200) {
        let entries = case.entries(&case.new);
        let install = update::install(1, &entries);
        let order: Vec<_> = entries.iter().map(|(s, _)| *s).collect();
        let clear = update::clear(1, &order);
        let mut tables = Tables::default();
        for writes in [&install, &clear] {
            let seen = case.surveys(&mut tables, writes).unwrap();
            assert!(!has_halves(&seen), "seed {seed}");
        }
        assert!(tables.is_empty());
        for (writes, noticed) in [(&install, &mut up), (&clear, &mut down)] {
            let reversed: Vec<_> = writes.iter().rev().copied().collect();
            let seen = case.surveys(&mut tables, &reversed).unwrap();
            *noticed += u32::from(has_halves(&seen));
        }
    }
    assert!(up > 150 && down > 150, "seed {seed}: {up} {down}");
}

#[test]
fn mc_09_a_rewrite_in_place_is_noticed() {
    let seed = seed();
    let (mut strayed, mut lost, mut lucky) = (0, 0, 0);
    for case in cases(seed).take(400) {
        let (old, new) = (case.entries(&case.old), case.entries(&case.new));
        let mut tables = Tables::default();
        let stand = update::install(1, &old);
        stand.iter().for_each(|w| tables.apply(w));
        let gone = old.iter().map(|(s, _)| *s);
        let gone: Vec<_> = gone.filter(|s| !new.iter().any(|(n, _)| n == s)).collect();
        let mut writes = update::install(1, &new);
        writes.extend(update::clear(1, &gone));
        match case.surveys(&mut tables, &writes) {
            Err(_) => strayed += 1,
            Ok(seen) if !seen.iter().all(|s| s.keeps(&seen[0])) => lost += 1,
            Ok(_) => lucky += 1,
        }
    }
    let counts = format!("seed {seed}: {strayed} strayed, {lost} lost, {lucky} safe by luck");
    assert!(strayed > 50 && lost > 50 && lucky < 100, "{counts}");
}

/// Two trees of one leader, at switch 6, that run around the square 0-1-4-3 in turn, one begun at 0, the other at 4. With some of the four
/// switches on the old and some on the new one, frames go round for ever.
#[test]
fn mc_09_a_rewrite_in_place_can_loop() {
    let network = network("torus:3x3,1");
    let tree = |switches: &[(u32, u32)]| {
        let hop = |&(above, child): &(u32, u32)| {
            let link = network.links(above).iter().find(|l| l.peer == child);
            TreeHop {
                child,
                cable: link.unwrap().cable,
            }
        };
        Tree::from_hops(&network, 6, switches.iter().map(hop).collect())
    };
    let group = Group::new(&network, [0, 1, 3, 4, 6]).unwrap();
    let old = tree(&[(6, 7), (7, 4), (4, 1), (1, 0), (0, 3)]);
    let new = tree(&[(6, 0), (0, 3), (3, 4), (4, 1)]);
    let stand = update::install(1, &table::entries(&network, &group, &old, 6).unwrap());
    let next = update::install(1, &table::entries(&network, &group, &new, 6).unwrap());
    let mut loops = 0;
    for subset in 0..1 << next.len() {
        let mut tables = Tables::default();
        stand.iter().for_each(|w| tables.apply(w));
        let chosen = (0..).zip(&next).filter(|(i, _)| subset >> i & 1 == 1);
        chosen.for_each(|(_, w)| tables.apply(w));
        let survey = walk::survey(&network, &tables, 1, &group, 6);
        loops += u32::from(matches!(survey, Err(walk::Fault::Loop { .. })));
    }
    assert!(loops > 0);
}

/// Endnodes that get a frame sent on id 1, by models of the switch itself.
fn through_models(network: &Network, tables: &Tables, from: u32) -> BTreeMap<u32, u32> {
    let config = |ports| red::SwitchConfig {
        ports,
        unicast_bits: 0,
        multicast_bits: 2,
        ..red::SwitchConfig::default()
    };
    let ports = network.switches().iter().map(|s| s.ports as u8);
    let mut models: Vec<_> = ports
        .map(|ports| {
            let mut model = red::Switch::new(config(ports)).unwrap();
            let on = red::PortSettings {
                enable: true,
                ..red::PortSettings::default()
            };
            (0..ports).for_each(|p| model.set_port(p, on).unwrap());
            model
        })
        .collect();
    for (switch, model) in (0..).zip(&mut models) {
        let entry = tables.get(switch, 1).copied();
        model.set_multicast(1, entry).unwrap();
    }
    let tree = red::Key {
        tree: 1,
        reduction: 0,
    };
    let mut frame = tree.address().mac().to_vec();
    frame.extend([2, 0, 0, 0, 0, 0, 8, 0]);
    frame.extend([7; 50]);
    let mut got = BTreeMap::new();
    let mut open = vec![network.endnodes()[from as usize].at];
    while let Some((switch, port)) = open.pop() {
        let sent = models[switch as usize].receive(port as u8 - 1, &frame, 0);
        for (port, bytes) in sent {
            assert_eq!(bytes, frame);
            let port = u16::from(port) + 1;
            let at = |e: &&u32| network.endnodes()[**e as usize].at.1 == port;
            if let Some(link) = network.links(switch).iter().find(|l| l.port == port) {
                open.push((link.peer, link.peer_port));
            } else if let Some(&endnode) = network.attached(switch).iter().find(at) {
                *got.entry(endnode).or_default() += 1;
            }
        }
    }
    got
}

#[test]
fn mc_09_the_walker_does_what_the_switch_does() {
    let seed = seed();
    let mut rng = rng(seed);
    for mut case in cases(seed).take(100) {
        let cable = rng.random_range(0..case.network.cables().len()) as u32;
        let (old, new) = (case.entries(&case.old), case.entries(&case.new));
        case.network.fail(cable);
        let mut tables = Tables::default();
        // Old, new and mixed ones.
        for writes in [update::install(1, &old), update::install(1, &new)] {
            for write in writes {
                tables.apply(&write);
                let from = case.group.endnodes().choose(&mut rng).copied().unwrap();
                let walk = walk::send(&case.network, &tables, 1, from);
                if walk.looped.is_none() {
                    let got = through_models(&case.network, &tables, from);
                    assert_eq!(got, walk.received, "seed {seed}");
                }
            }
        }
        let (group, leader) = (&case.group, case.leader);
        case.network.restore(cable);
        let gone = old.iter().filter(|(s, _)| !new.iter().any(|(n, _)| n == s));
        let gone: Vec<_> = gone.map(|(s, _)| *s).collect();
        let clears = update::clear(1, &gone);
        clears.iter().for_each(|w| tables.apply(w));
        let got = through_models(&case.network, &tables, leader);
        let others = group.endnodes().iter().filter(|&&e| e != leader);
        assert_eq!(got, others.map(|&e| (e, 1)).collect(), "seed {seed}");
    }
}

#[test]
fn mc_09_the_walker_sees_loops_duplicates_and_strangers() {
    let network = network("torus:3x3,1");
    let group = Group::new(&network, [0, 1]).unwrap();
    // Ports from 0: +x is 0, -x is 1, +y is 2, -y is 3, the endnode is 4.
    let (right, left, forward, back, host) = (0u8, 1u8, 2u8, 3u8, 4u8);
    let entry = |switch, parent: u8, children: &[u8]| Write {
        switch,
        id: 1,
        entry: Some(red::Tree {
            parent,
            children: children.iter().fold(0, |mask, port| mask | 1 << port),
            wait: 0,
        }),
    };
    let fault = |writes: &[Write]| {
        let mut tables = Tables::default();
        writes.iter().for_each(|w| tables.apply(w));
        let walk = walk::survey(&network, &tables, 1, &group, 0);
        walk.unwrap_err().to_string()
    };
    let circle = [
        entry(0, left, &[right, host]),
        entry(1, left, &[right]),
        entry(2, left, &[right]),
    ];
    assert_eq!(
        fault(&circle),
        "frames of endnode 0 on tree 1 loop at switch 2"
    );
    // Down to switch 1 by two ways: directly, and by 3 and 4.
    let twice = [
        entry(0, host, &[right, forward]),
        entry(1, left, &[host]),
        entry(3, back, &[right]),
        entry(4, left, &[back]),
    ];
    let mut tables = Tables::default();
    twice.iter().for_each(|w| tables.apply(w));
    let walk = walk::send(&network, &tables, 1, 0);
    assert_eq!(walk.lost, [Lost::BadEntry(1, 3)], "the entry sorts it out");
    let twice = [
        twice[0],
        entry(1, host, &[left, forward]),
        twice[2],
        twice[3],
    ];
    assert_eq!(
        fault(&twice),
        "frames of endnode 0 on tree 1 reach endnode 1 2 times"
    );
    // Both copies go on by the same cable: that is no loop.
    let mut tables = Tables::default();
    let on = [
        twice[0],
        entry(1, right, &[left, forward]),
        twice[2],
        twice[3],
        entry(2, host, &[left]),
    ];
    on.iter().for_each(|w| tables.apply(w));
    let walk = walk::send(&network, &tables, 1, 0);
    assert_eq!(
        (walk.looped, walk.received),
        (None, BTreeMap::from([(2, 2)]))
    );
    let stranger = [
        entry(0, host, &[right]),
        entry(1, left, &[host, right]),
        entry(2, left, &[host]),
    ];
    assert_eq!(
        fault(&stranger),
        "frames of endnode 0 on tree 1 reach endnode 2, who must not have them"
    );
}
