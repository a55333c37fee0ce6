//! The manager of a running fabric: one that comes after another, whose groups go on.

mod control_common;
mod manager_common;

use std::collections::{BTreeMap, BTreeSet};

use control_common::{Fabric, others};
use manager_common::{network, rng, seed};
use rand::RngExt as _;
use rand::seq::SliceRandom as _;
use tributary_fabric::control::{Control, ControlError};
use tributary_fabric::ids::IdError;
use tributary_protocol::red::regs;

/// log2 of the trees of each switch.
const TREE_BITS: u8 = 5;

/// Members of each tree, the leader first.
type Trees = BTreeMap<u16, Vec<u32>>;

/// Makes a group of these; its number is none of those that are in use.
fn add(control: &mut Control, fabric: &mut Fabric, trees: &mut Trees, members: &[u32]) {
    let group = control.add_group(members, members[0], fabric).unwrap();
    let tree = control.tell(group).unwrap();
    let before = trees.insert(tree, members.to_vec());
    assert_eq!(before, None, "{tree} is in use");
}

/// Frames of each group reach its members and nobody else, from wherever they come.
fn check(fabric: &mut Fabric, trees: &Trees) {
    for (&tree, members) in trees {
        let leader = members[0];
        let reached = fabric.on_tree(leader, tree);
        assert_eq!(reached, others(members, leader), "tree {tree}");
        for &member in &members[1..] {
            let reached = fabric.on_tree(member, tree);
            assert_eq!(reached, BTreeSet::from([leader]), "tree {tree}");
        }
    }
}

#[test]
fn cl_03_a_manager_that_begins_anew_gives_no_number_that_groups_of_the_one_before_use() {
    let mut rng = rng(seed());
    let mut fabric = Fabric::new(network("ft3:4"), TREE_BITS);
    let mut trees = Trees::new();
    let mut all: Vec<u32> = (0..fabric.hosts()).collect();
    for begun in 0..3 {
        let mut control = fabric.manager();
        check(&mut fabric, &trees);
        for _ in 0..3 {
            // Trees without a common switch may share a number: any two of these have a member in common.
            let size = rng.random_range(all.len() / 2 + 1..all.len());
            let members = all.partial_shuffle(&mut rng, size).0.to_vec();
            add(&mut control, &mut fabric, &mut trees, &members);
        }
        assert_eq!(trees.len(), 3 * (begun + 1));
        check(&mut fabric, &trees);
        // Its own numbers it gives again as ever.
        let group = control.add_group(&all, all[0], &mut fabric).unwrap();
        let tree = control.tree(group);
        control.remove_group(group, &mut fabric).unwrap();
        let group = control.add_group(&all, all[0], &mut fabric).unwrap();
        assert_eq!(control.tree(group), tree);
        control.remove_group(group, &mut fabric).unwrap();
    }
}

/// The manager ends with any of its writes, in the middle of an entry or of a note, and a switch is reset before the next begins.
#[test]
fn cl_03_a_manager_that_ends_with_any_write_leaves_its_numbers_to_the_next() {
    // The next number needs no new note, or one.
    for groups in [7, 8] {
        let (mut left, mut made) = (0, false);
        while !made {
            for reset in [None, Some(left as u32 % 20)] {
                made = ends_with(groups, left, reset);
            }
            left += 1;
        }
        assert!(left > 50, "{left} writes");
    }
}

/// A manager with some groups makes another, of which so many writes are done. Whether that is all of them.
fn ends_with(groups: u16, left: usize, reset: Option<u32>) -> bool {
    let begun = format!("{groups} groups, {left} writes, reset {reset:?}");
    let mut fabric = Fabric::new(network("ft3:4"), TREE_BITS);
    let mut trees = Trees::new();
    let mut control = fabric.manager();
    let all: Vec<u32> = (0..fabric.hosts()).collect();
    for _ in 0..groups {
        add(&mut control, &mut fabric, &mut trees, &all);
    }
    fabric.left = Some(left);
    let made = control.add_group(&all[..9], 0, &mut fabric).is_ok();
    fabric.left = None;
    if let Some(switch) = reset {
        fabric.reset(switch);
    }
    let mut control = fabric.manager();
    assert!(control.inherited() >= groups, "{begun}");
    assert!(control.inherited() < 1 << TREE_BITS, "{begun}");
    // What the one before has written last may stand, in part.
    let half = fabric.on_tree(0, groups);
    for _ in 0..2 {
        add(&mut control, &mut fabric, &mut trees, &all[3..]);
    }
    if !half.is_empty() {
        assert!(!trees.contains_key(&groups), "{begun}");
    }
    if reset.is_none() {
        check(&mut fabric, &trees);
    }
    made
}

#[test]
fn cl_03_numbers_of_groups_that_are_over_are_free_again() {
    let mut fabric = Fabric::new(network("ft3:4"), TREE_BITS);
    let all: Vec<u32> = (0..fabric.hosts()).collect();
    let (mut old, mut new) = (Trees::new(), Trees::new());
    let mut control = fabric.manager();
    add(&mut control, &mut fabric, &mut old, &all);
    add(&mut control, &mut fabric, &mut old, &all[4..]);
    let mut control = fabric.manager();
    add(&mut control, &mut fabric, &mut new, &all[2..]);
    fabric.left = Some(20);
    assert!(control.forget_inherited(&mut fabric).is_err());
    fabric.left = None;
    assert!(control.inherited() > 0);
    control.forget_inherited(&mut fabric).unwrap();
    assert_eq!(control.inherited(), 0);
    for (&tree, members) in &old {
        assert_eq!(fabric.on_tree(members[0], tree), BTreeSet::new());
    }
    check(&mut fabric, &new);
    add(&mut control, &mut fabric, &mut new, &all);
    assert_eq!(new.first_key_value().unwrap().0, &0);
    check(&mut fabric, &new);
    // The note says what is in use now.
    let highest = *new.last_key_value().unwrap().0;
    let inherited = fabric.manager().inherited();
    assert!((highest + 1..=highest + 8).contains(&inherited));
}

/// Entries of somebody who leaves no notes: there are no trees until they are known to be over.
#[test]
fn cl_03_without_a_note_no_number_is_given_until_the_old_groups_are_over() {
    let mut fabric = Fabric::new(network("ft3:4"), TREE_BITS);
    let all: Vec<u32> = (0..fabric.hosts()).collect();
    let entry = regs::MULTICAST_WAIT.put(2) | regs::MULTICAST_VALID.put(1);
    for (offset, value) in [
        (regs::MULTICAST_CHILDREN_LOW.offset, 6),
        (regs::MULTICAST_ENTRY.offset, entry),
        (regs::MULTICAST_COMMIT.offset, 17),
    ] {
        fabric.switches[3].write(offset, value).unwrap();
    }
    for _ in 0..2 {
        let mut control = fabric.manager();
        assert_eq!(control.inherited(), 1 << TREE_BITS);
        let error = control.add_group(&all, 0, &mut fabric).unwrap_err();
        assert!(
            matches!(error, ControlError::Id(IdError::Exhausted { free: 0, .. })),
            "{error}"
        );
    }
    let mut control = fabric.manager();
    control.forget_inherited(&mut fabric).unwrap();
    let mut trees = Trees::new();
    add(&mut control, &mut fabric, &mut trees, &all);
    check(&mut fabric, &trees);
}
