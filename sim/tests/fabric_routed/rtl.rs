//! Small networks with Verilated switches.

use tributary_fabric::Router;
use tributary_fabric::route::{Fulb, Own};
use tributary_sim::fabric::Simulator;

use crate::common::*;

fn every_tree(topology: &str, patterns: &str, router: &mut dyn Router) {
    let network = network(topology);
    let groups = groups(&network, patterns);
    let job = Job::new(network, groups, router);
    let mut fabric = job.fabric();
    // Every clock of a timeout is simulated in every switch.
    for switch in &mut fabric.switches {
        switch.engine.timeouts = [6; 4];
    }
    let mut sim = Simulator::of_rtl(fabric, 1, false).unwrap();
    multicast(&mut sim);
    let all: Vec<usize> = (0..job.trees.len()).collect();
    reduce(&mut sim, &all);
}

#[test]
fn mc_10_routed_trees_multicast_and_reduce_in_verilated_switches() {
    every_tree(
        "ft3:4",
        &format!("4x4 rnd8_6_{}", seed()),
        &mut Own::default(),
    );
}

#[test]
fn mc_10_routed_trees_multicast_and_reduce_in_verilated_switches_of_a_torus() {
    every_tree(
        "torus:3x3,2",
        &format!("rnd16_7_{}", seed()),
        &mut Fulb::default(),
    );
}
