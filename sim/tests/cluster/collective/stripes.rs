//! Long vectors over several trees with different roots (CL-7).

use std::time::Duration;

use rand::RngExt;
use rand::rngs::StdRng;
use tributary_host_driver::collective::{
    CollectiveError, Communicator, Data, Operation, Options, Ticket, Why,
};

use super::values::{expected, given};
use super::{all, close, communicators, host_options, quick, rng, run, seed, sixteen_world};

fn striped(stripes: u8) -> Options {
    Options {
        lanes: 2,
        stripes,
        ask_after: Duration::from_millis(20),
        ..quick()
    }
}

/// Elements of 64 bits that just go over this many trees, with two lanes each.
const fn least(trees: usize) -> usize {
    trees * 2 * 4
}

/// A sum of integers of some length, for all members; how many operations have gone over several trees by then, at each.
fn adds_up(group: &mut [Communicator], rng: &mut StdRng, length: usize) -> Vec<u64> {
    let size = group.len() as u64;
    let start: u64 = rng.random();
    let outcomes = all(group, rng, |member| {
        let own = (member.rank() as u64 + 1).wrapping_mul(start);
        let list = (0..length as u64).map(|at| own ^ at);
        member.post_all_reduce(Operation::Sum, &Data::U64(list.collect()))
    });
    let sum = |at: u64| {
        let own = (1..=size).map(|rank| rank.wrapping_mul(start) ^ at);
        own.fold(0, u64::wrapping_add)
    };
    let total = Data::U64((0..length as u64).map(sum).collect());
    assert!(outcomes.iter().all(|outcome| outcome.data == total));
    group.iter().map(|m| m.counters().striped).collect()
}

/// Every operation on every type, of lengths of all kinds: the same as over one tree.
#[test]
fn cl_07_long_vectors_of_every_kind_are_right_over_several_trees() {
    let seed = seed();
    let mut rng = rng(seed);
    let world = sixteen_world(seed);
    for members in [16, 5] {
        let at: Vec<usize> = (0..members).collect();
        let hosts = world.hosts(&at, host_options(1, 1));
        let mut group = communicators(&hosts, 1, Some(&world.trees), striped(3));
        let mut over_several = 0;
        for round in 0..24 {
            // Without doubles with places, among which zeros of both signs are no tie.
            let kind = [2, 3, 4, 6, 7, 8, 0, 1][round % 8];
            // Of values with one element, as many as there are; 32 bytes in a value are most.
            let length = rng.random_range(1..[400, 90, 30][round % 3]);
            let data = given(&mut rng, kind, members, length);
            let operation = match kind {
                6 => Operation::MinMaxLoc,
                7 => Operation::Xor,
                0 | 1 => Operation::Max,
                _ => [Operation::Sum, Operation::Min, Operation::Or][round % 3],
            };
            let wanted = expected(operation, &data).unwrap();
            let outcomes = all(&mut group, &mut rng, |member| {
                member.post_all_reduce(operation, &data[member.rank()])
            });
            for outcome in outcomes {
                let right = outcome.data == wanted;
                assert!(right, "round {round}, kind {kind}, {length} elements");
            }
            over_several = group[0].counters().striped;
        }
        assert!((8..24).contains(&over_several), "{over_several}");
        for member in &group {
            let counters = member.counters();
            assert_eq!(counters.in_switches, 24, "{counters:?}");
            assert_eq!(counters.striped, over_several);
        }
        close(group, &mut rng);
    }
}

/// From one value for every lane of every tree on; each tree has another root, as far as there are members for that.
#[test]
fn cl_07_a_vector_is_spread_from_a_length_on_and_each_tree_has_another_root() {
    let seed = seed();
    let mut rng = rng(seed);
    let world = sixteen_world(seed);
    // Members, trees that are asked for, trees that there are beside the first.
    for (members, wanted, trees) in [(16, 15, 15), (16, 5, 5), (3, 7, 2), (2, 1, 1), (4, 0, 0)] {
        let before = world.control.lock().unwrap().groups();
        let at: Vec<usize> = (0..members).collect();
        let hosts = world.hosts(&at, host_options(1, 1));
        let mut group = communicators(&hosts, 1, Some(&world.trees), striped(wanted));
        {
            let control = world.control.lock().unwrap();
            assert_eq!(control.groups(), before + trees + 1);
            let leaders =
                (before..=before + trees).map(|at| control.routed(at).unwrap().leader.endnode);
            let mut leaders: Vec<u32> = leaders.collect();
            leaders.sort_unstable();
            leaders.dedup();
            assert_eq!(leaders.len(), trees + 1, "{leaders:?}");
        }
        let none = vec![0; members];
        let one = vec![u64::from(trees > 0); members];
        let short = least(trees).saturating_sub(4);
        assert_eq!(adds_up(&mut group, &mut rng, short.max(1)), none);
        assert_eq!(adds_up(&mut group, &mut rng, least(trees) + 1), one);
        close(group, &mut rng);
    }
}

/// Where there is no manager, all parts go by messages, and that is counted.
#[test]
fn cl_07_cl_08_without_trees_a_long_vector_goes_by_messages() {
    let mut rng = rng(3);
    let world = sixteen_world(3);
    let hosts = world.hosts(&[1, 6, 11], host_options(1, 1));
    let mut group = communicators(&hosts, 1, None, striped(2));
    assert_eq!(adds_up(&mut group, &mut rng, 100), [0; 3]);
    for member in &group {
        let counters = member.counters();
        assert_eq!((counters.in_software, counters.in_switches), (1, 0));
    }
    close(group, &mut rng);
}

/// A cable between switches fails while a vector is under way on all trees, and the manager is told: every result is right.
#[test]
fn cl_07_cl_08_a_failing_cable_costs_no_result_on_any_of_several_trees() {
    let seed = seed();
    let mut rng = rng(seed);
    let world = sixteen_world(seed);
    let at: Vec<usize> = (0..16).collect();
    let hosts = world.hosts(&at, host_options(1, 1));
    let mut group = communicators(&hosts, 1, Some(&world.trees), striped(3));
    adds_up(&mut group, &mut rng, 200);
    let used = {
        let control = world.control.lock().unwrap();
        // Of a tree that is not the first.
        let routed = control.routed(2).unwrap();
        routed.tree.cables().next().unwrap()
    };
    let long: Vec<u64> = (0..4_000).collect();
    for member in &mut group {
        member
            .post_all_reduce(Operation::Max, &Data::U64(long.clone()))
            .unwrap();
    }
    for _ in 0..20 {
        for member in &mut group {
            assert!(member.poll().unwrap().is_none());
        }
    }
    let cable = world.cables[used as usize];
    (world.cluster.with(|sim| sim.set_cable(cable, false)))
        .unwrap()
        .unwrap();
    (world.cluster)
        .with(|sim| world.control.lock().unwrap().cable_failed(used, sim))
        .unwrap()
        .unwrap();
    for list in run(&mut group, 1, &mut rng) {
        assert_eq!(list[0].as_ref().unwrap().data, Data::U64(long.clone()));
    }
    adds_up(&mut group, &mut rng, 200);
    let trees: Vec<u64> = group.iter().map(|m| m.counters().new_trees).collect();
    assert!(trees.iter().all(|&new| new == trees[0]) && trees[0] > 0);
    close(group, &mut rng);
}

/// A member dies while a vector is under way: the leader of the first tree, of another one, or of none.
#[test]
fn cl_07_cl_08_who_dies_in_a_long_vector_is_named_by_all_others() {
    let seed = seed();
    let mut rng = rng(seed);
    let world = sixteen_world(seed);
    for (name, dead) in (1..).zip([0, 2, 3]) {
        let hosts = world.hosts(&[0, 3, 7, 8, 12, 15], host_options(1, 1));
        let mut group = communicators(&hosts, name, Some(&world.trees), striped(2));
        adds_up(&mut group, &mut rng, 100);
        let begun = world.now();
        let vector = Data::I64(vec![1; 3_000]);
        for member in &mut group {
            member.post_all_reduce(Operation::Sum, &vector).unwrap();
        }
        let mut ended = vec![false; group.len()];
        ended[dead] = true;
        while ended.contains(&false) {
            for rank in (0..group.len()).filter(|&rank| rank != dead) {
                let Some(finished) = group[rank].poll().unwrap() else {
                    continue;
                };
                assert_eq!(finished.ticket, Ticket(1));
                let error = finished.result.unwrap_err();
                let CollectiveError::Failed {
                    rank: named,
                    member,
                    why,
                } = error
                else {
                    panic!("{error}")
                };
                assert_eq!((named, member), (dead, hosts[dead].address()));
                assert!(matches!(why, Why::Silent | Why::Unreachable), "{why}");
                ended[rank] = true;
            }
            let over = world.now() - begun;
            assert!(over < 3 * striped(2).bound().as_nanos() as u64, "{over} ns");
        }
        for rank in (0..group.len()).filter(|&rank| rank != dead) {
            let error = group[rank].post_all_reduce(Operation::Sum, &vector);
            let error = error.unwrap_err().to_string();
            assert!(error.contains(&format!("rank {dead} ")), "{error}");
        }
    }
}
