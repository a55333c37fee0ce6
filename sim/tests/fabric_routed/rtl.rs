//! Small networks with Verilated switches.

use tributary_fabric::Router;
use tributary_fabric::route::{Fulb, Own};
use tributary_sim::fabric::{Kind, Options, Simulator};
use tributary_sim::testbench::{Profile, profiles};

use crate::common::*;

/// These groups, in Verilated switches whose MACs stall in this profile.
fn simulator(job: &Job, seed: u64, profile: Profile) -> Simulator {
    let mut fabric = job.fabric();
    // Every clock of a timeout is simulated in every switch.
    for switch in &mut fabric.switches {
        switch.engine.timeouts = [6; 4];
    }
    let options = Options {
        kind: Kind::Rtl,
        profile,
        ..Options::default()
    };
    Simulator::build(fabric, seed, options).unwrap()
}

fn every_tree(topology: &str, patterns: &str, router: &mut dyn Router) {
    let network = network(topology);
    let groups = groups(&network, patterns);
    let job = Job::new(network, groups, router);
    let mut sim = simulator(&job, 1, Profile::Free);
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

/// Long form: `TRIBUTARY_FRAMES=1000 cargo test -p tributary-sim --test fabric_routed under_every_profile -- --nocapture`.
#[test]
fn mc_10_routed_trees_multicast_and_reduce_under_every_profile_of_stalls() {
    profiles("fabric_routed: trees", |seed| {
        let network = network("leaf-spine:3,2,2");
        let groups = groups(&network, &format!("rnd6_4_{seed}"));
        let job = Job::new(network, groups, &mut Own::default());
        let profile = Profile::of_seed(seed);
        let mut sim = simulator(&job, seed, profile);
        // Three switches on each way.
        multicast_within(&mut sim, 20 * APART + 6 * u64::from(profile.pause()));
        let all: Vec<usize> = (0..job.trees.len()).collect();
        let joined = join(&mut sim, &all);
        let start = sim.now() + APART;
        round(&mut sim, &joined, start);
        // A stall may last longer than a timeout: the root then combines what a switch has not.
        for group in joined {
            whole(&sim, group);
        }
        all.len() as u64
    });
}
