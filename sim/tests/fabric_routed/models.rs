//! All kinds of networks with model switches.

use std::collections::BTreeSet;

use tributary_fabric::Router;
use tributary_fabric::route::{Fulb, Minihop, Own, RootChoice};
use tributary_protocol::red::Counter;
use tributary_sim::fabric::Simulator;

use crate::common::*;

fn every_tree(topology: &str, patterns: &str) {
    let routers: [&mut dyn Router; 3] = [
        &mut Own::default(),
        &mut Fulb::default(),
        &mut Minihop::new(RootChoice::First),
    ];
    for (i, router) in routers.into_iter().enumerate() {
        let network = network(topology);
        let random = format!("{patterns}_{}", seed() + i as u64);
        let groups = groups(&network, &random);
        let job = Job::new(network, groups, router);
        let mut sim = Simulator::new(job.fabric(), 1).unwrap();
        multicast(&mut sim);
        let all: Vec<usize> = (0..job.trees.len()).collect();
        reduce(&mut sim, &all);
        for counter in [Counter::NoRoute, Counter::BadEntry, Counter::QueueFull] {
            assert_eq!(sim.counted(counter), 0, "{counter}");
        }
    }
}

#[test]
fn mc_10_routed_trees_multicast_and_reduce_in_model_switches() {
    every_tree("ft3:4", "4x4 16x1 rnd20_5");
}

#[test]
fn mc_10_routed_trees_multicast_and_reduce_on_a_fat_tree_of_eight_ports() {
    every_tree("ft3:8", "16x8 rnd30_12");
}

#[test]
fn mc_10_routed_trees_multicast_and_reduce_on_tori() {
    every_tree("torus:3x3x3,1", "3x3x3 rnd20_6");
    every_tree("torus:4x4x2,2", "8x8 rnd20_9");
}

#[test]
fn mc_10_routed_trees_multicast_and_reduce_on_a_dragonfly() {
    every_tree("df:4,2,2", "9x8 rnd20_10");
}

/// Trees without a common switch share ids, and do not disturb each other at the same time.
#[test]
fn mc_10_trees_with_one_id_on_different_switches_go_their_own_ways() {
    let network = network("ft3:8");
    let groups = groups(&network, "32x4");
    let job = Job::new(network, groups, &mut Fulb::default());
    // The 32 groups of one leaf each come last.
    let leaves: Vec<usize> = (job.trees.len() - 32..job.trees.len()).collect();
    let ids: BTreeSet<u16> = leaves.iter().map(|&t| job.ids[t]).collect();
    assert!(ids.len() < 8, "{ids:?}");
    let mut sim = Simulator::new(job.fabric(), 1).unwrap();
    let groups = join(&mut sim, &leaves);
    let clock = sim.now() + 2_500;
    round(&mut sim, &groups, clock);
    for group in groups {
        whole(&sim, group);
        assert_eq!(retries(&sim, group), 0);
    }
    assert_eq!(sim.counted(Counter::Passed), 0);
    settle(&mut sim);
    multicast(&mut sim);
}

#[test]
fn mc_10_two_trees_with_one_id_on_one_switch_are_refused() {
    let network = network("ft3:4");
    let groups = groups(&network, "4x4");
    let mut job = Job::new(network, groups, &mut Fulb::default());
    job.ids = vec![9; job.ids.len()];
    let error = Simulator::new(job.fabric(), 1).unwrap_err().to_string();
    assert!(error.starts_with("tree 9 is there twice, and S"), "{error}");
}
