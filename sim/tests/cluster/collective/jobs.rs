//! Several communicators and jobs on one fabric.

use rand::RngExt;
use tributary_host_driver::collective::{Communicator, Data, Operation, Options, Path};
use tributary_host_driver::{Counter, ReductionCounter};
use tributary_protocol::red::Counter as SwitchCounter;

use super::{
    World, all, close, communicators, host_options, quick, ranks_add_up, rng, seed, sixteen_world,
};

/// Groups that overlap: every host in many, all at once, on more lanes than the engines have descriptors. Nothing is mixed up, and where
/// an engine has no descriptor the root's software takes over.
#[test]
fn cl_08_overlapping_groups_share_engines_and_software_takes_over_where_they_run_out() {
    let seed = seed();
    let mut rng = rng(seed);
    let world = sixteen_world(seed);
    let everyone: Vec<usize> = (0..16).collect();
    let hosts = world.hosts(&everyone, host_options(1, 1));
    let mut groups: Vec<Vec<Communicator>> = Vec::new();
    for name in 0..8 {
        let size = rng.random_range(2..=16);
        let mut members = everyone.clone();
        for at in 0..size {
            members.swap(at, rng.random_range(at..16));
        }
        let of: Vec<_> = members[..size]
            .iter()
            .map(|&at| hosts[at].clone())
            .collect();
        groups.push(communicators(
            &of,
            name,
            Some(&world.trees),
            Options {
                lanes: 8,
                ..Options::default()
            },
        ));
    }
    // Vectors over all lanes of every group, all under way together.
    for group in &mut groups {
        for member in group.iter_mut() {
            let own = Data::U64((0..64).map(|at| at + member.rank() as u64).collect());
            member.post_all_reduce(Operation::Sum, &own).unwrap();
        }
    }
    let mut left: usize = groups.iter().map(Vec::len).sum();
    for _ in 0..400_000 {
        for group in &mut groups {
            let size = group.len() as u64;
            for member in group.iter_mut() {
                if let Some(finished) = member.poll().unwrap() {
                    let expected = (0..64)
                        .map(|at| at * size + size * (size - 1) / 2)
                        .collect();
                    assert_eq!(finished.result.unwrap().data, Data::U64(expected));
                    left -= 1;
                }
            }
        }
        if left == 0 {
            break;
        }
    }
    assert_eq!(left, 0);
    let by_root: u64 = groups
        .iter()
        .map(|g| g[0].counters().completed_by_root)
        .sum();
    assert!(
        by_root > 0,
        "no engine ran out of descriptors: the test shows nothing"
    );
    for group in groups {
        assert!(group.iter().all(|m| matches!(m.path(), Path::Switches(_))));
        close(group, &mut rng);
    }
}

/// Six groups of small values have as many descriptors of each engine as they use, one each, and none is left to the root's software.
#[test]
fn cl_08_groups_of_small_values_leave_engines_to_each_other() {
    let seed = seed();
    let mut rng = rng(seed);
    let world = sixteen_world(seed);
    let everyone: Vec<usize> = (0..16).collect();
    let hosts = world.hosts(&everyone, host_options(1, 1));
    let make = |name| communicators(&hosts, name, Some(&world.trees), Options::default());
    let mut groups: Vec<Vec<Communicator>> = (0..6).map(make).collect();
    for turn in 0..20 {
        for group in &mut groups {
            for member in group.iter_mut() {
                let own = Data::U64(vec![turn + member.rank() as u64]);
                member.post_all_reduce(Operation::Sum, &own).unwrap();
            }
        }
        let mut all: Vec<Communicator> = groups.drain(..).flatten().collect();
        for ended in super::run(&mut all, 1, &mut rng) {
            let sum = 16 * turn + 120;
            assert_eq!(ended[0].as_ref().unwrap().data, Data::U64(vec![sum]));
        }
        while !all.is_empty() {
            groups.push(all.drain(..16).collect());
        }
    }
    let by_root = groups.iter().map(|g| g[0].counters().completed_by_root);
    let by_root: u64 = by_root.sum();
    // Of 120 values; the first of each group may overtake the frame that arms the engines.
    assert!(by_root <= 12, "{by_root} by the root's software");
    for group in groups {
        close(group, &mut rng);
    }
}

/// Two jobs with the same node numbers, names, trees and cookies, apart by VNI and Q_Key: neither has a frame or a message of the other.
#[test]
fn cl_08_two_jobs_do_not_see_each_other() {
    let seed = seed();
    let mut rng = rng(seed);
    let world = sixteen_world(seed);
    let everyone: Vec<usize> = (0..16).collect();
    // Each job's manager begins with the same cookies.
    let other = tributary_sim::card::ClusterTrees::shared(&world.cluster, &world.control, 0x4000);
    let one = world.hosts(&everyone, host_options(0x1111, 1));
    let two = world.hosts(&everyone, host_options(0x2222, 2));
    let mut first = communicators(&one, 1, Some(&world.trees), Options::default());
    let mut second = communicators(&two, 1, Some(&other), Options::default());
    let bad = |world: &World| {
        let keys = world
            .contexts
            .iter()
            .map(|c| c.counter(Counter::BadKey).unwrap())
            .sum::<u64>();
        let foreign = world
            .contexts
            .iter()
            .map(|c| c.reduction_counter(ReductionCounter::Foreign).unwrap());
        (keys, foreign.sum::<u64>())
    };
    for _ in 0..5 {
        for (members, sign) in [(&mut first, 1), (&mut second, -1)] {
            for member in members.iter_mut() {
                let own = Data::I64(vec![sign * (member.rank() as i64 + 1); 9]);
                member.post_all_reduce(Operation::Sum, &own).unwrap();
            }
        }
        for (members, total) in [(&mut first, 136), (&mut second, -136)] {
            for list in super::run(members, 1, &mut rng) {
                assert_eq!(list[0].as_ref().unwrap().data, Data::I64(vec![total; 9]));
            }
        }
    }
    // First frames of a tree may come before a member has joined.
    let before = bad(&world);
    assert_eq!(before.0, 0);
    // A host of job two that says what job one's would say: its messages are refused by key, and its communicator finds nobody.
    let stranger = world.hosts(&[3], host_options(0x2222, 2));
    let mut list: Vec<_> = one.iter().map(|host| host.address()).collect();
    list[3] = stranger[0].address();
    let mut lonely = Communicator::create(&stranger[0], 1, &list, None, quick()).unwrap();
    let error = lonely.barrier().unwrap_err();
    assert!(error.to_string().contains("rank 0"), "{error}");
    assert!(bad(&world).0 > 0);
    ranks_add_up(&mut first, &mut rng);
    ranks_add_up(&mut second, &mut rng);
    assert!(one.iter().chain(&two).all(|host| host.malformed() == 0));
    assert!(
        first
            .iter()
            .chain(&second)
            .all(|m| m.counters().strange == 0)
    );
    close(first, &mut rng);
    close(second, &mut rng);
}

/// A manager without a number for a tree, a card without a queue pair, two members on one node: messages do the work, the values are
/// the same, and a counter says so. Trees that are given back can be had again.
#[test]
fn cl_08_without_a_tree_software_takes_over_with_the_same_bits_and_a_counter_says_so() {
    let seed = seed();
    let mut rng = rng(seed);
    let world = sixteen_world(seed);
    let hosts = world.hosts(&[1, 6, 11], host_options(1, 1));
    let numbers: Vec<f64> = (0..3).map(|_| rng.random::<f64>()).collect();
    let sum = |group: &mut Vec<Communicator>, rng: &mut rand::rngs::StdRng| {
        let outcomes = all(group, rng, |member| {
            let own = Data::F64(vec![numbers[member.rank()]]);
            member.post_all_reduce(Operation::SumReproducible, &own)
        });
        let Data::F64(sum) = &outcomes[0].data else {
            panic!()
        };
        assert!(
            outcomes
                .iter()
                .all(|outcome| outcome.data == outcomes[0].data)
        );
        sum[0].to_bits()
    };
    let mut kept = Vec::new();
    let mut name = 0;
    let mut next = || {
        name += 1;
        name
    };
    let mut group = communicators(&hosts, next(), Some(&world.trees), quick());
    let expected = sum(&mut group, &mut rng);
    kept.push(group);
    // Until the switches' tables are full, or the cards have no queue pair left.
    let without = loop {
        let mut group = communicators(&hosts, next(), Some(&world.trees), quick());
        assert_eq!(sum(&mut group, &mut rng), expected);
        if group[0].path() == Path::Software {
            break group;
        }
        kept.push(group);
        assert!(kept.len() < 1_000);
    };
    assert!(kept.len() > 10);
    let counters: Vec<_> = without.iter().map(Communicator::counters).collect();
    assert!(counters.iter().any(|c| c.no_tree > 0), "{counters:?}");
    assert!(
        counters
            .iter()
            .all(|c| c.in_software == 1 && c.in_switches == 0),
        "{counters:?}"
    );
    // What is given back can be had again.
    let trees = kept.len();
    for group in kept.drain(1..) {
        close(group, &mut rng);
    }
    for _ in 0..2 * trees {
        let mut group = communicators(&hosts, next(), Some(&world.trees), quick());
        assert_eq!(sum(&mut group, &mut rng), expected);
        assert!(matches!(group[0].path(), Path::Switches(_)));
        close(group, &mut rng);
    }
    // Two members on one node: a tree has one endpoint there.
    let twins = world.hosts(&[1, 6, 6], host_options(1, 1));
    let mut group = communicators(&twins, next(), Some(&world.trees), quick());
    assert_eq!(sum(&mut group, &mut rng), expected);
    assert_eq!(
        (group[0].path(), group[0].counters().no_tree),
        (Path::Software, 1)
    );
}

/// Blocking calls, a thread for each host.
#[test]
fn cl_08_calls_that_wait_work_in_threads() {
    let world = sixteen_world(1);
    let hosts = world.hosts(&[0, 4, 8, 12], host_options(1, 1));
    let group = communicators(&hosts, 1, Some(&world.trees), Options::default());
    std::thread::scope(|scope| {
        for mut member in group {
            scope.spawn(move || {
                let rank = member.rank();
                for round in 0..20u64 {
                    let own = Data::U64(vec![rank as u64 + round]);
                    let sum = member.all_reduce(Operation::Sum, own).unwrap();
                    assert_eq!(sum.data, Data::U64(vec![6 + 4 * round]));
                    let mut bytes = [if rank == 1 { round as u8 } else { 0 }; 40];
                    member.broadcast(1, &mut bytes).unwrap();
                    assert_eq!(bytes, [round as u8; 40]);
                    member.barrier().unwrap();
                }
                let mut part = member.split(Some(rank as u32 % 2), 0).unwrap().unwrap();
                let ranks = part.all_gather(Data::I32(vec![rank as i32])).unwrap();
                assert_eq!(ranks, Data::I32(vec![rank as i32 % 2, rank as i32 % 2 + 2]));
                part.close().unwrap();
                member.close().unwrap();
            });
        }
    });
    let wrong = world
        .cluster
        .with(|sim| sim.counted(SwitchCounter::NoRoute));
    assert_eq!(wrong, Some(0));
}
