//! Many groups at once: on one tree, and on more trees than engines have descriptors.

use tributary_protocol::red::{Counter, Op};
use tributary_sim::fabric::{Fabric, GroupConfig, LinkSpec, Simulator, TreeSpec};

use crate::common::*;

const START: u64 = 3_000;

fn config(number: usize) -> GroupConfig {
    GroupConfig {
        reduction: (number % 8) as u8,
        vni: 1 + number as u16,
        cookie: 0x1000 + number as u32,
        ..GroupConfig::default()
    }
}

#[test]
fn red_16_eight_reductions_on_one_tree() {
    let mut sim = two_level();
    let groups: Vec<usize> = (0..8)
        .map(|g| sim.add_group(0, &config(g)).unwrap())
        .collect();
    for round in 0..3 {
        for &g in &groups {
            contribute_all(
                &mut sim,
                g,
                round,
                Op::IntSum,
                |e| lanes(((g + 1) << e) as u64),
                |_| START,
            );
        }
    }
    for round in 0..3 {
        for &g in &groups {
            finish(&mut sim, g, round, |_| true);
            let outcome = agreed(&sim, g, round);
            assert_eq!(
                (outcome.value.data, outcome.count),
                ([(g as u64 + 1) * 0xffff; 4], 16)
            );
        }
    }
    assert_eq!(sim.counted(Counter::NoDescriptor), 0);
    assert_eq!(sim.counted(Counter::Results), 8 * 3 * 5);
    settle(&mut sim);
}

/// Trees with the same members and different roots, one group each.
fn many_trees(
    trees: usize,
    descriptors: usize,
    root: impl Fn(usize) -> usize,
) -> (Simulator, Vec<usize>) {
    let mut fabric = Fabric::regular(&[4, 4], LinkSpec::default()).unwrap();
    for switch in &mut fabric.switches {
        switch.engine.descriptors = descriptors;
    }
    let tree = |t| TreeSpec {
        id: t as u16 * 100,
        root: root(t),
        root_contributes: false,
        members: (0..16).filter(|e| *e != root(t)).collect(),
        entries: Vec::new(),
    };
    fabric.trees = (0..trees).map(tree).collect();
    let mut sim = Simulator::new(fabric, 1).unwrap();
    let groups = (0..trees)
        .map(|t| sim.add_group(t, &config(t)).unwrap())
        .collect();
    (sim, groups)
}

#[test]
fn red_16_trees_share_engines_until_descriptors_run_out() {
    for (trees, descriptors) in [(16, 8), (20, 8), (3, 0), (5, 1)] {
        let (mut sim, groups) = many_trees(trees, descriptors, |_| 0);
        for &g in &groups {
            contribute_all(
                &mut sim,
                g,
                0,
                Op::IntSum,
                |e| lanes(((g + 1) << e) as u64),
                |_| START,
            );
        }
        for &g in &groups {
            finish(&mut sim, g, 0, |_| true);
            let outcome = agreed(&sim, g, 0);
            assert_eq!(
                (outcome.value.data, outcome.count),
                ([(g as u64 + 1) * 0xffff; 4], 16),
                "{trees} trees, group {g}"
            );
            assert_eq!(retries(&sim, g), 0);
        }
        // Five engines, and two arm frames of each tree.
        assert!(sim.counted(Counter::NoDescriptor) >= ((trees - descriptors) * 5) as u64);
        settle(&mut sim);
    }
}

#[test]
fn red_16_trees_with_different_roots_do_not_disturb_each_other() {
    let (mut sim, groups) = many_trees(16, 8, |t| t);
    for round in 0..2 {
        for &g in &groups {
            contribute_all(
                &mut sim,
                g,
                round,
                Op::IntSum,
                |e| lanes(((g + 1) << e) as u64),
                |_| START,
            );
        }
    }
    for round in 0..2 {
        for &g in &groups {
            finish(&mut sim, g, round, |_| true);
            assert_eq!(
                agreed(&sim, g, round).value.data,
                [(g as u64 + 1) * 0xffff; 4]
            );
        }
    }
    settle(&mut sim);
}
