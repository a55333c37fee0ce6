//! Cables fail under groups that a manager looks after: its writes, carried out in a fabric that runs.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use tributary_fabric::export::Routed;
use tributary_fabric::manager::{Config, GroupKey, Join, Manager};
use tributary_fabric::route::Own;
use tributary_protocol::red::Counter;
use tributary_sim::fabric::{Fabric, LinkSpec, Simulator, Treatment};

use crate::common::*;

/// A manager, and the fabric whose tables it writes.
struct Managed {
    manager: Manager,
    sim: Simulator,
    now: u64,
    /// Cables of the fabric that carry nothing any longer.
    dead: Arc<Mutex<BTreeSet<usize>>>,
}

impl Managed {
    fn new(topology: &str, patterns: &str, make: impl Fn(Fabric) -> Simulator) -> Self {
        let network = network(topology);
        let groups = groups(&network, patterns);
        let mut sim = make(Fabric::from_network(&network, LinkSpec::default()).unwrap());
        let dead = Arc::new(Mutex::new(BTreeSet::new()));
        let out = dead.clone();
        sim.tamper(
            move |passing| match out.lock().unwrap().contains(&passing.cable) {
                true => Treatment::Lose,
                false => Treatment::Pass,
            },
        );
        let config = Config {
            ids: 64,
            ..Config::default()
        };
        let mut manager = Manager::new(network, Box::new(Own::default()), config).unwrap();
        for (key, group) in (0..).zip(&groups) {
            let size = group.endnodes().len() as u32;
            for (rank, &endnode) in (0..).zip(group.endnodes()) {
                manager.join(
                    0,
                    Join {
                        key,
                        incarnation: 1,
                        size,
                        rank,
                        endnode,
                    },
                );
            }
        }
        manager.compute(0, usize::MAX);
        let mut managed = Self {
            manager,
            sim,
            now: 0,
            dead,
        };
        managed.carry_out();
        managed
    }

    fn carry_out(&mut self) {
        for update in self.manager.take_updates() {
            for write in &update.writes {
                let switch = write.switch as usize;
                self.sim
                    .write_multicast(switch, write.id, write.entry)
                    .unwrap();
            }
            self.manager.written(self.now, update.number).unwrap();
        }
    }

    fn routed(&self) -> Vec<Routed<'_>> {
        let one = |key: GroupKey| {
            let (id, tree) = self.manager.tree(key).unwrap();
            let (group, leader) = self.manager.members(key).unwrap();
            Routed {
                id,
                group,
                tree,
                leader: leader.into(),
            }
        };
        self.manager.keys().into_iter().map(one).collect()
    }

    /// Leaders send; returns how many frames members have missed. None may come twice or to others.
    fn missed(&mut self) -> usize {
        let routed = self.routed();
        let sends: Vec<_> = (0..)
            .zip(&routed)
            .map(|(mark, r)| (r.leader.endnode as usize, r.id, mark))
            .collect();
        let due = |endpoint: usize| -> Vec<u64> {
            let member = |r: &Routed<'_>| r.group.endnodes().contains(&(endpoint as u32));
            let other = |r: &Routed<'_>| member(r) && r.leader.endnode as usize != endpoint;
            let marks = (0u64..).zip(&routed).filter(|(_, r)| other(r));
            marks.map(|(mark, _)| mark).collect()
        };
        let endpoints = self.sim.endpoints().len();
        let due: Vec<Vec<u64>> = (0..endpoints).map(due).collect();
        let heard = send(&mut self.sim, &sends, 20 * APART);
        let missed = |(heard, due): (&Vec<u64>, &Vec<u64>)| {
            assert!(heard.iter().all(|mark| due.contains(mark)), "{heard:?}");
            assert!(heard.windows(2).all(|pair| pair[0] != pair[1]), "{heard:?}");
            due.len() - heard.len()
        };
        heard.iter().zip(&due).map(missed).sum()
    }

    /// The cable that most groups use, of those that cut nobody off, fails; all that the manager has to do follows.
    fn fail(&mut self) {
        let network = self.manager.network();
        let connected = |cable: &u32| {
            let mut without = network.clone();
            without.fail(*cable) && without.split().is_none()
        };
        let cables = (0..network.cables().len() as u32).filter(connected);
        let busiest = cables.max_by_key(|&c| self.manager.users(c).len()).unwrap();
        let hit = self.manager.users(busiest).len();
        let ids: Vec<u16> = self.routed().iter().map(|r| r.id).collect();
        // Cables to endnodes come first in the fabric.
        let cable = self.sim.endpoints().len() + busiest as usize;
        self.dead.lock().unwrap().insert(cable);
        assert!(self.missed() >= hit, "each tree misses a member");
        self.manager.cable_failed(self.now, busiest).unwrap();
        self.carry_out();
        assert_eq!(self.missed(), 0);
        let moved: Vec<u16> = self.routed().iter().map(|r| r.id).collect();
        let old: Vec<u16> = ids
            .iter()
            .zip(&moved)
            .filter(|(a, b)| a != b)
            .map(|(a, _)| *a)
            .collect();
        assert_eq!(
            old.len(),
            hit,
            "only trees that use the cable are routed again"
        );
        self.now += Config::default().drain + 1;
        self.manager.tick(self.now);
        self.carry_out();
        assert_eq!(self.missed(), 0);
        let entries: usize = self
            .routed()
            .iter()
            .map(|r| r.tree.switches().count())
            .sum();
        assert_eq!(
            self.manager.ids().entries(),
            entries as u64,
            "ids of old trees are free"
        );
    }

    /// The fabric as it is now, put up anew.
    fn rebuilt(&self) -> Fabric {
        let network = self.manager.network();
        let fabric = Fabric::from_network(network, LinkSpec::default()).unwrap();
        fabric.with_trees(network, &self.routed()).unwrap()
    }
}

#[test]
fn mc_9_members_are_reached_again_after_each_of_three_failures() {
    for topology in ["ft3:4", "torus:4x4x2,1", "df:4,2,2"] {
        let patterns = format!("rnd20_6_{}", seed());
        let mut managed = Managed::new(topology, &patterns, |f| Simulator::new(f, 1).unwrap());
        assert_eq!(managed.missed(), 0);
        for _ in 0..3 {
            managed.fail();
        }
        assert_eq!(managed.sim.counted(Counter::BadEntry), 0);
        // Without the cables unicast goes other ways too.
        let mut sim = Simulator::new(managed.rebuilt(), 1).unwrap();
        multicast(&mut sim);
        reduce(&mut sim, &(0..20).collect::<Vec<_>>());
    }
}

#[test]
fn mc_9_members_are_reached_again_through_verilated_switches() {
    let patterns = format!("rnd8_5_{}", seed());
    let make = |fabric| Simulator::of_rtl(fabric, 1, false).unwrap();
    let mut managed = Managed::new("ft3:4", &patterns, make);
    assert_eq!(managed.missed(), 0);
    managed.fail();
}

/// Groups reduce over a tree that came while the fabric ran.
#[test]
fn mc_9_a_tree_added_to_a_running_fabric_reduces() {
    let patterns = format!("rnd10_6_{}", seed());
    let mut managed = Managed::new("ft3:4", &patterns, |f| Simulator::new(f, 1).unwrap());
    managed.fail();
    for spec in managed.rebuilt().trees {
        managed.sim.add_tree(spec).unwrap();
    }
    reduce(&mut managed.sim, &(0..10).collect::<Vec<_>>());
    let mut wrong = managed.rebuilt().trees.remove(0);
    wrong.entries[0].1.wait += 1;
    assert!(managed.sim.add_tree(wrong).is_err());
    assert_eq!(managed.sim.trees().len(), 10);
    assert!(managed.sim.write_multicast(99, 0, None).is_err());
    assert!(managed.sim.write_multicast(0, 64, None).is_err());
}
