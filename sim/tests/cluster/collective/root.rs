//! The root in hardware: the leader's card answers every round, and its host pays what others pay.

use rand::RngExt;
use tributary_host_driver::ReductionCounter;
use tributary_host_driver::collective::{Data, Operation, Options, Path};
use tributary_sim::fabric::Fabric;

use super::{World, all, close, communicators, host_options, rng, run, seed, sixteen};

/// Engines that wait for members that are far apart.
fn patient() -> Fabric {
    let mut fabric = sixteen();
    for switch in &mut fabric.switches {
        switch.engine.timeouts = [2_000; 4];
    }
    fabric
}

/// Operations of one frame and of many, on one lane and on all: as many results are answered by the leader's card as there were
/// rounds, each from one frame of its host.
#[test]
fn cl_06_every_round_of_a_group_is_answered_by_the_leaders_card() {
    let seed = seed();
    let mut rng = rng(seed);
    for leader in [0, 9] {
        let world = World::new(patient(), seed);
        let everyone: Vec<usize> = (0..16).map(|at| (at + leader) % 16).collect();
        let hosts = world.hosts(&everyone, host_options(1, 1));
        let mut group = communicators(&hosts, 1, Some(&world.trees), Options::default());
        let (mut rounds, mut lanes) = (0u64, 0);
        let mut operations = 0;
        for length in [64, 1, 4, 5, 100, 64, 3] {
            let doubles: Vec<Vec<f64>> = (0..16)
                .map(|_| (0..length).map(|_| rng.random::<f64>() - 0.5).collect())
                .collect();
            let outcomes = all(&mut group, &mut rng, |member| {
                let own = Data::F64(doubles[member.rank()].clone());
                member.post_all_reduce(Operation::Max, &own)
            });
            let largest = |at: usize| doubles.iter().map(|own| own[at]).fold(-1.0, f64::max);
            let expected = Data::F64((0..length).map(largest).collect());
            for outcome in outcomes {
                assert_eq!(outcome.data, expected, "{length}");
            }
            // Of this operation each value is a frame.
            let sums = all(&mut group, &mut rng, |member| {
                let own = Data::F64(doubles[member.rank()].clone());
                member.post_all_reduce(Operation::SumReproducible, &own)
            });
            assert!(sums.windows(2).all(|pair| pair[0].data == pair[1].data));
            all(&mut group, &mut rng, |member| member.post_barrier());
            let frames = [length.div_ceil(4), length, 1];
            rounds += frames.iter().sum::<usize>() as u64;
            lanes = lanes.max(length.min(Options::default().lanes.into()) as u64);
            operations += 3;
        }
        let counters = group[0].counters();
        assert_eq!(
            (counters.in_switches, counters.in_software),
            (operations, 0)
        );
        assert_eq!((counters.completed_by_root, counters.again), (0, 0));
        for (rank, &at) in everyone.iter().enumerate() {
            let count = |counter| world.contexts[at].reduction_counter(counter).unwrap();
            let own = if rank == 0 { rounds } else { 0 };
            assert_eq!(count(ReductionCounter::Answered), own, "rank {rank}");
            // A lane begins with a frame that arms the tree.
            let first = if rank == 0 { lanes } else { 0 };
            assert_eq!(count(ReductionCounter::Sent), rounds + own + first);
            assert_eq!(count(ReductionCounter::Overtaken), 0, "rank {rank}");
        }
        assert!(matches!(group[0].path(), Path::Switches(_)));
        close(group, &mut rng);
    }
}

/// The first operations of a tree are of many values, and members begin them in every order: at once, the leader first, last, or long
/// after the others. No engine waits for a value that has passed it.
#[test]
fn cl_06_no_value_overtakes_the_frame_that_arms_its_lane() {
    let seed = seed();
    let mut rng = rng(seed);
    let world = World::new(patient(), seed);
    let everyone: Vec<usize> = (0..16).collect();
    let hosts = world.hosts(&everyone, host_options(1, 1));
    // How long, in ns, a member waits before it begins; and which one.
    let cases = [
        (None, 0),
        (Some(0), 500_000),
        (Some(3), 500_000),
        (Some(15), 50_000),
    ];
    for (name, (late, pause)) in (1..).zip(cases) {
        let mut group = communicators(&hosts, name, Some(&world.trees), Options::default());
        let mut slowest = 0;
        for _ in 0..3 {
            let begun = world.now();
            let given = |rank: usize| Data::U64((0..40).map(|at| at * rank as u64).collect());
            for (rank, member) in group.iter_mut().enumerate() {
                if late != Some(rank) {
                    member
                        .post_all_reduce(Operation::Sum, &given(rank))
                        .unwrap();
                }
            }
            while world.now() < begun + pause {
                for member in &mut group {
                    assert!(member.poll().unwrap().is_none());
                }
            }
            if let Some(late) = late {
                group[late]
                    .post_all_reduce(Operation::Sum, &given(late))
                    .unwrap();
            }
            for list in run(&mut group, 1, &mut rng) {
                let sums = Data::U64((0..40).map(|at| at * 120).collect());
                assert_eq!(list[0].as_ref().unwrap().data, sums);
            }
            slowest = slowest.max(world.now() - begun - pause);
        }
        let counters = group[0].counters();
        assert_eq!(
            (counters.completed_by_root, counters.again),
            (0, 0),
            "{late:?}"
        );
        assert!(slowest < 400_000, "{late:?}: {slowest} ns");
        close(group, &mut rng);
    }
}
