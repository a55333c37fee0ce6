//! Networks, routed groups, and what every tree has to do.

use std::collections::BTreeMap;

use tributary_fabric::export::Routed;
use tributary_fabric::pattern::Pattern;
use tributary_fabric::topology::Topology;
use tributary_fabric::{Group, HopTable, Load, Network, Router, Tree, TreeIds};
use tributary_protocol::red::{Counter, Key, Op, Rc, Value, host::Event};
use tributary_sim::fabric::{Contribution, Fabric, GroupConfig, LinkSpec, Simulator};

/// Clocks between two frames of a leader, more than one is on its way.
pub const APART: u64 = 400;
/// Groups that reduce at the same time: as many as an engine has descriptors.
const AT_ONCE: usize = 8;
/// Longest that a round may take, clocks.
const PATIENCE: u64 = 20_000_000;

pub fn seed() -> u64 {
    let given = std::env::var("TRIBUTARY_SEED").ok();
    let seed = given.and_then(|s| s.parse().ok()).unwrap_or(1);
    eprintln!("TRIBUTARY_SEED={seed} replays this");
    seed
}

/// A network, its groups with their leaders, trees and ids.
pub struct Job {
    pub network: Network,
    pub groups: Vec<Group>,
    pub leaders: Vec<u32>,
    pub trees: Vec<Tree>,
    pub ids: Vec<u16>,
}

pub fn network(topology: &str) -> Network {
    topology.parse::<Topology>().unwrap().build().unwrap()
}

/// Groups of the patterns that need a tree.
pub fn groups(network: &Network, patterns: &str) -> Vec<Group> {
    let one = |p: &str| p.parse::<Pattern>().unwrap().groups(network, 1).unwrap();
    let all = patterns.split_whitespace().flat_map(one);
    all.filter(Group::is_routed).collect()
}

impl Job {
    /// Every member of some group leads one.
    pub fn new(network: Network, groups: Vec<Group>, router: &mut dyn Router) -> Self {
        let hops = HopTable::new(&network).unwrap();
        let mut load = Load::new(&network);
        let trees = router
            .route_all(&network, &hops, &mut load, &groups, &mut |_| {})
            .unwrap();
        let trees: Vec<Tree> = trees.into_iter().flatten().collect();
        assert_eq!(trees.len(), groups.len());
        let mut ids = TreeIds::new(network.switch_count(), 8192).unwrap();
        let mut id = |tree: &Tree| ids.allocate(&tree.switches().collect::<Vec<_>>()).unwrap();
        let leader = |(i, group): (usize, &Group)| group.endnodes()[i % group.endnodes().len()];
        Self {
            ids: trees.iter().map(&mut id).collect(),
            leaders: groups.iter().enumerate().map(leader).collect(),
            network,
            groups,
            trees,
        }
    }

    pub fn routed(&self) -> Vec<Routed<'_>> {
        let one = |i| Routed {
            id: self.ids[i],
            group: &self.groups[i],
            tree: &self.trees[i],
            leader: tributary_fabric::Leader::from(self.leaders[i]),
        };
        (0..self.trees.len()).map(one).collect()
    }

    pub fn fabric(&self) -> Fabric {
        let fabric = Fabric::from_network(&self.network, LinkSpec::default()).unwrap();
        fabric.with_trees(&self.network, &self.routed()).unwrap()
    }
}

/// A frame that is no reduction, on a tree; `mark` says which one it is.
pub fn frame(tree: u16, mark: u64) -> Vec<u8> {
    let mut bytes: Vec<u8> = (0..94).map(|i| (i as u64 * 37 + mark) as u8).collect();
    bytes[..6].copy_from_slice(&Key { tree, reduction: 0 }.address().mac());
    bytes[12..14].copy_from_slice(&[8, 0]);
    bytes[86..].copy_from_slice(&mark.to_be_bytes());
    bytes
}

/// Which marks each endpoint gets when `sends` (from, tree, mark) are sent one after the other; payloads must be right.
pub fn send(sim: &mut Simulator, sends: &[(usize, u16, u64)], last: u64) -> Vec<Vec<u64>> {
    let trees: BTreeMap<u64, u16> = sends.iter().map(|&(_, tree, mark)| (mark, tree)).collect();
    let had: Vec<usize> = sim.endpoints().iter().map(|e| e.ignored().len()).collect();
    let start = sim.now() + APART;
    for (slot, &(from, tree, mark)) in (0..).zip(sends) {
        sim.inject(from, &frame(tree, mark), start + slot * APART / 4)
            .unwrap();
    }
    let end = start + sends.len() as u64 * APART / 4 + last;
    sim.run(end).unwrap();
    let marks = |(endpoint, had): (&tributary_sim::fabric::Endpoint, usize)| {
        let new = &endpoint.ignored()[had..];
        let mark = |bytes: &[u8]| {
            let mark = u64::from_be_bytes(*bytes.last_chunk().unwrap());
            assert_eq!(bytes, frame(trees[&mark], mark), "payload");
            mark
        };
        let mut marks: Vec<u64> = new.iter().map(|(_, bytes)| mark(bytes)).collect();
        marks.sort_unstable();
        marks
    };
    sim.endpoints().iter().zip(had).map(marks).collect()
}

/// As [`multicast_within`], where nothing stalls.
pub fn multicast(sim: &mut Simulator) {
    multicast_within(sim, 20 * APART);
}

/// Leaders send over every tree, then every member does: exactly the others, or the leader, must hear it, once, the last
/// frame within `last` clocks.
pub fn multicast_within(sim: &mut Simulator, last: u64) {
    let trees = sim.fabric().trees.clone();
    let tree = |mark: u64| &trees[mark as usize];
    let down: Vec<_> = (0..)
        .zip(&trees)
        .map(|(mark, t)| (t.root, t.id, mark))
        .collect();
    for (endpoint, marks) in send(sim, &down, last).iter().enumerate() {
        let due: Vec<u64> = (0..trees.len() as u64)
            .filter(|&mark| tree(mark).members.contains(&endpoint))
            .collect();
        assert_eq!(*marks, due, "to {endpoint}");
    }
    let up: Vec<_> = trees
        .iter()
        .flat_map(|t| t.members.iter().map(|&e| (e, t.id)))
        .zip(0..)
        .map(|((from, id), mark)| (from, id, mark))
        .collect();
    let roots = trees.iter().flat_map(|t| t.members.iter().map(|_| t.root));
    let roots: Vec<usize> = roots.collect();
    for (endpoint, marks) in send(sim, &up, last).iter().enumerate() {
        let due = (0u64..).zip(&roots).filter(|(_, root)| **root == endpoint);
        let due: Vec<u64> = due.map(|(mark, _)| mark).collect();
        assert_eq!(*marks, due, "to {endpoint}");
    }
}

/// A term of a sum that shows who has given it: a bit of its own for each of up to 256 endpoints.
pub fn term(endpoint: usize) -> Value {
    let mut value = Value::default();
    value.data[endpoint / 64] = 1 << (endpoint % 64);
    value
}

/// A group on each of these trees.
pub fn join(sim: &mut Simulator, trees: &[usize]) -> Vec<usize> {
    let one = |&tree: &usize| {
        let config = GroupConfig {
            cookie: 0x1000 + tree as u32,
            vni: 1 + tree as u16,
            ..GroupConfig::default()
        };
        sim.add_group(tree, &config).unwrap()
    };
    trees.iter().map(one).collect()
}

/// Everyone gives a term at `clock`; runs until the round is over for all.
pub fn round(sim: &mut Simulator, groups: &[usize], clock: u64) {
    let mut open = Vec::new();
    for &group in groups {
        for e in sim.group_endpoints(group).to_vec() {
            let (op, value) = (Op::IntSum, term(e));
            let given = Contribution {
                at: clock,
                op,
                value,
            };
            sim.contribute(group, e, 0, given).unwrap();
            open.push((group, e));
        }
    }
    let limit = clock + PATIENCE;
    sim.run_while(limit, |sim| {
        open.retain(|&(group, e)| !sim.is_over(group, e, 0));
        !open.is_empty()
    })
    .unwrap();
    assert!(open.is_empty(), "not over for {open:?}");
}

/// Everyone has the sum of all terms, bit for bit.
pub fn whole(sim: &Simulator, group: usize) {
    let members = sim.group_endpoints(group);
    let mut expected = Value::default();
    for &e in members {
        let term = term(e);
        (0..4).for_each(|lane| expected.data[lane] |= term.data[lane]);
    }
    for &e in members {
        let (_, outcome) = sim.outcome(group, e, 0).unwrap();
        assert_eq!(outcome.value, expected, "group {group}, endpoint {e}");
        assert_eq!(outcome.count as usize, members.len());
        assert_eq!(outcome.value.rc, Rc::default());
    }
}

pub fn retries(sim: &Simulator, group: usize) -> usize {
    let root = sim.group_endpoints(group)[0];
    let retry = |e: &Event| matches!(e, Event::Retry { .. });
    sim.reported(group, root)
        .filter(|l| retry(&l.event))
        .count()
}

/// Reduces over these trees, a few at a time. Every switch of a tree must combine all that comes to it, at once.
pub fn reduce(sim: &mut Simulator, trees: &[usize]) {
    for trees in trees.chunks(AT_ONCE) {
        let entries: usize = trees.iter().map(|&t| sim.trees()[t].len()).sum();
        let before = COUNTED.map(|c| sim.counted(c));
        let groups = join(sim, trees);
        let clock = sim.now() + 2_500;
        round(sim, &groups, clock);
        for &group in &groups {
            whole(sim, group);
            assert_eq!(retries(sim, group), 0);
        }
        let after = COUNTED.map(|c| sim.counted(c));
        let [results, none @ ..] = [0, 1, 2, 3, 4].map(|i| after[i] - before[i]);
        assert_eq!(results as usize, entries, "results of switches");
        assert_eq!(none, [0; 4], "{:?}", &COUNTED[1..]);
        settle(sim);
    }
}

const COUNTED: [Counter; 5] = [
    Counter::Results,
    Counter::Partials,
    Counter::Passed,
    Counter::NoDescriptor,
    Counter::OldSeqno,
];

/// Lets all descriptors run out: the longest timeout, and the unit under way.
pub fn settle(sim: &mut Simulator) {
    let limit = sim.now() + 102 * 1024;
    sim.run_while(limit, |sim| sim.in_use() > 0).unwrap();
    assert_eq!(sim.in_use(), 0, "descriptors in use after all timeouts");
}
