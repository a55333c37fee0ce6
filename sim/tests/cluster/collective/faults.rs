//! Loss, doubling, overtaking, late members, failing cables, members that die.

use std::time::Duration;

use rand::RngExt;
use tributary_host_driver::Device;
use tributary_host_driver::collective::{
    CollectiveError, Communicator, Data, Host, Operation, Options, Path, Ticket, Why,
};
use tributary_protocol::red::Frame;
use tributary_protocol::red::wire::DEFAULT_ETHERTYPE;
use tributary_sim::fabric::{LinkSpec, Place, Treatment};

use super::{
    World, close, communicators, host_options, quick, ranks_add_up, rng, run, seed, sixteen_world,
};
use crate::sixteen;

/// Operations of all kinds, several under way at each member, each checked.
fn mixed(group: &mut [Communicator], rounds: usize, rng: &mut rand::rngs::StdRng) {
    let size = group.len() as u64;
    for _ in 0..rounds {
        let length = rng.random_range(1..40);
        let start: u64 = rng.random_range(0..1_000);
        let root = rng.random_range(0..group.len());
        for member in group.iter_mut() {
            let rank = member.rank() as u64;
            let values = (0..length).map(|at| start + at * (rank + 1)).collect();
            member
                .post_all_reduce(Operation::Sum, &Data::U64(values))
                .unwrap();
            member.post_barrier().unwrap();
            let bytes = vec![if member.rank() == root { 9 } else { 1 }; 100];
            member.post_broadcast(root, bytes).unwrap();
            let real = Data::F64(vec![0.1 * rank as f64]);
            member
                .post_all_reduce(Operation::SumReproducible, &real)
                .unwrap();
        }
        let ended = run(group, 4, rng);
        let total = size * (size + 1) / 2;
        let sums: Vec<u64> = (0..length).map(|at| start * size + at * total).collect();
        let first = ended[0][3].as_ref().unwrap().data.clone();
        for list in ended {
            let data: Vec<Data> = list.into_iter().map(|ended| ended.unwrap().data).collect();
            assert_eq!(data[0], Data::U64(sums.clone()));
            assert_eq!(data[2], Data::Bytes(vec![9; 100]));
            assert_eq!(data[3], first);
        }
    }
}

/// Every cable loses frames, damages some, and delays them so that they overtake each other.
#[test]
fn cl_08_nothing_is_wrong_or_missing_over_cables_that_lose_and_reorder() {
    let seed = seed();
    let mut rng = rng(seed);
    let link = LinkSpec {
        loss: 0.004,
        corruption: 0.002,
        reorder_clocks: 200,
        ..LinkSpec::default()
    };
    let world = World::new(sixteen().with_links(link), seed);
    let everyone: Vec<usize> = (0..16).collect();
    let hosts = world.hosts(&everyone, host_options(1, 1));
    let options = Options {
        ask_after: Duration::from_millis(20),
        ..quick()
    };
    let mut group = communicators(&hosts, 1, Some(&world.trees), options);
    mixed(&mut group, 6, &mut rng);
    let root = group[0].counters();
    assert!(root.again > 0 && root.in_switches == 24, "{root:?}");
    let mut by_messages = communicators(&hosts, 2, None, options);
    mixed(&mut by_messages, 3, &mut rng);
}

/// Frames on their way down, and all datagrams, arrive twice, the second time late. (A contribution that is repeated below an engine
/// is beyond what the protocol can mend; the network must not do that.)
#[test]
fn cl_08_frames_that_arrive_twice_change_nothing() {
    let seed = seed();
    let mut rng = rng(seed);
    let world = sixteen_world(seed);
    let everyone: Vec<usize> = (0..16).collect();
    let hosts = world.hosts(&everyone, host_options(1, 1));
    let mut count = 0u64;
    world.cluster.with(|sim| {
        sim.tamper(move |passing| {
            let up = Frame::parse(passing.bytes, DEFAULT_ETHERTYPE)
                .is_ok_and(|f| !f.red.arm && f.fabric.dfa.multicast().is_some());
            count += 1;
            if up || !count.is_multiple_of(3) {
                return Treatment::Pass;
            }
            Treatment::Repeat(1 + count * 37 % 2_000)
        });
    });
    let mut group = communicators(&hosts, 1, Some(&world.trees), Options::default());
    mixed(&mut group, 6, &mut rng);
    let mut by_messages = communicators(&hosts, 2, None, Options::default());
    mixed(&mut by_messages, 3, &mut rng);
}

/// One member after the other is late by up to some milliseconds: engines time out, what is late passes them, the root combines the
/// rest. All is right, nobody is taken for dead as long as it polls.
#[test]
fn cl_08_a_member_that_begins_late_is_waited_for() {
    let seed = seed();
    let mut rng = rng(seed);
    let world = sixteen_world(seed);
    let everyone: Vec<usize> = (0..16).collect();
    let hosts = world.hosts(&everyone, host_options(1, 1));
    for (name, trees) in [(1, Some(&world.trees)), (2, None)] {
        let mut group = communicators(&hosts, name, trees, quick());
        ranks_add_up(&mut group, &mut rng);
        for late in [0, 1, 9, 15] {
            let pause = rng.random_range(100_000..6_000_000);
            let begun = world.now();
            for (rank, member) in group.iter_mut().enumerate() {
                if rank != late {
                    let own = Data::I64(vec![rank as i64]);
                    member.post_all_reduce(Operation::Sum, &own).unwrap();
                }
            }
            while world.now() < begun + pause {
                for member in &mut group {
                    assert!(member.poll().unwrap().is_none());
                }
            }
            group[late]
                .post_all_reduce(Operation::Sum, &Data::I64(vec![late as i64]))
                .unwrap();
            for list in run(&mut group, 1, &mut rng) {
                assert_eq!(list[0].as_ref().unwrap().data, Data::I64(vec![120]));
            }
        }
        let root = group[0].counters();
        if trees.is_some() {
            assert!(root.completed_by_root > 0 && root.again > 0, "{root:?}");
        }
        close(group, &mut rng);
    }
}

/// A cable of the tree fails while operations are under way, and the manager is told some time later: operations go on around it, then
/// on a new tree; what everyone gets is right throughout.
#[test]
fn cl_08_a_failing_cable_costs_time_and_no_result() {
    let seed = seed();
    let mut rng = rng(seed);
    for told in [false, true] {
        let world = sixteen_world(seed);
        let everyone: Vec<usize> = (0..16).collect();
        let hosts = world.hosts(&everyone, host_options(1, 1));
        let options = Options {
            ask_after: Duration::from_millis(50),
            ..quick()
        };
        let mut group = communicators(&hosts, 1, Some(&world.trees), options);
        mixed(&mut group, 2, &mut rng);
        let before = group[0].path();
        let used = {
            let control = world.control.lock().unwrap();
            let routed = control.routed(0).unwrap();
            routed.tree.cables().next().unwrap()
        };
        let cable = world.cables[used as usize];
        // Under way, on all lanes, when the cable goes.
        let long: Vec<u64> = (0..4_000).collect();
        for member in &mut group {
            member
                .post_all_reduce(Operation::Max, &Data::U64(long.clone()))
                .unwrap();
        }
        for _ in 0..30 {
            for member in &mut group {
                assert!(member.poll().unwrap().is_none());
            }
        }
        world
            .cluster
            .with(|sim| sim.set_cable(cable, false))
            .unwrap()
            .unwrap();
        if told {
            let mut control = world.control.lock().unwrap();
            world
                .cluster
                .with(|sim| control.cable_failed(used, sim))
                .unwrap()
                .unwrap();
        } else {
            // Only this way of theirs is gone: hosts reach each other without the cable once the manager routes around it. Until then
            // datagrams are lost, too, so it is told after the first attempts.
            let begun = world.now();
            while world.now() < begun + 1_500_000 {
                for member in &mut group {
                    assert!(member.poll().unwrap().is_none());
                }
            }
            let mut control = world.control.lock().unwrap();
            world
                .cluster
                .with(|sim| control.cable_failed(used, sim))
                .unwrap()
                .unwrap();
        }
        for list in run(&mut group, 1, &mut rng) {
            assert_eq!(list[0].as_ref().unwrap().data, Data::U64(long.clone()));
        }
        mixed(&mut group, 2, &mut rng);
        let after = group[0].path();
        assert!(
            before != after && matches!(after, Path::Switches(_)),
            "{before:?} {after:?}"
        );
        assert!(
            group
                .iter()
                .all(|m| m.path() == after && m.counters().new_trees == 1)
        );
        close(group, &mut rng);
    }
}

/// What can be under way when a member dies.
type Post = fn(&mut Communicator) -> Result<Ticket, CollectiveError>;
const CALLS: [Post; 4] = [
    |m| m.post_all_reduce(Operation::Sum, &Data::I64(vec![1; 5])),
    Communicator::post_barrier,
    |m| m.post_broadcast(3, vec![1; 50_000]),
    |m| m.post_all_gather(&Data::U64(vec![m.rank() as u64])),
];

/// A member stops polling, in every call, at the root and at leaves, with and without a tree: all others have an error that names it
/// within the bound that `Options::bound` says, and every call after it.
#[test]
fn cl_08_a_member_that_dies_is_an_error_on_all_others_that_names_it_in_bounded_time() {
    let seed = seed();
    let mut rng = rng(seed);
    let world = sixteen_world(seed);
    let at: Vec<usize> = (0..6).map(|i| i * 5 % 16).collect();
    let mut name = 0;
    let mut slowest = 0;
    for (which, call) in CALLS.into_iter().enumerate() {
        for trees in [Some(&world.trees), None] {
            let dead = [0, 1, 5, 3][(which + usize::from(trees.is_some())) % 4];
            let hosts = world.hosts(&at, host_options(1, 1));
            name += 1;
            let mut group = communicators(&hosts, name, trees, quick());
            ranks_add_up(&mut group, &mut rng);
            let begun = world.now();
            for (rank, member) in group.iter_mut().enumerate() {
                if rank != dead {
                    call(member).unwrap();
                }
            }
            let mut ended = vec![false; group.len()];
            while (0..group.len()).any(|rank| rank != dead && !ended[rank]) {
                for rank in (0..group.len()).filter(|&rank| rank != dead) {
                    let Some(finished) = group[rank].poll().unwrap() else {
                        continue;
                    };
                    // A broadcast is over for who needs nothing of the dead.
                    if let Err(error) = finished.result {
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
                    } else {
                        assert_eq!(which, 2);
                        // It learns of it in the next call.
                        if let Ok(ticket) = group[rank].post_barrier() {
                            assert!(ticket.0 > 0);
                            continue;
                        }
                    }
                    ended[rank] = true;
                }
                let over = world.now() - begun;
                // The bound, and time for messages; twice where a call ended well and another one found it.
                assert!(
                    over < 3 * quick().bound().as_nanos() as u64,
                    "call {which}: {over} ns"
                );
            }
            slowest = slowest.max(world.now() - begun);
            for rank in (0..group.len()).filter(|&rank| rank != dead) {
                let error = call(&mut group[rank]).unwrap_err().to_string();
                assert!(error.contains(&format!("rank {dead} ")), "{error}");
            }
        }
    }
    eprintln!("slowest: {slowest} ns, bound {:?}", quick().bound());
}

/// A card is pulled out in the middle of a vector.
#[test]
fn cl_08_a_card_that_is_gone_is_named_too() {
    let mut rng = rng(1);
    let world = sixteen_world(1);
    let hosts = world.hosts(&[2, 8, 14], host_options(1, 1));
    let mut group = communicators(&hosts, 1, Some(&world.trees), quick());
    for member in &mut group {
        member
            .post_all_reduce(Operation::Sum, &Data::I64(vec![1; 10_000]))
            .unwrap();
    }
    for _ in 0..20 {
        for member in &mut group {
            member.poll().unwrap();
        }
    }
    world.cluster.devices()[8].remove();
    let lost = group.remove(1);
    for list in run(&mut group, 1, &mut rng) {
        let error = list[0].as_ref().unwrap_err();
        assert!(
            matches!(error, CollectiveError::Failed { rank: 1, .. }),
            "{error}"
        );
    }
    drop(lost);
}

/// A member that goes without the others is told of to those who still wait for it.
#[test]
fn cl_08_a_member_that_leaves_is_named() {
    let mut rng = rng(1);
    let world = sixteen_world(1);
    let hosts = world.hosts(&[0, 5, 10], host_options(1, 1));
    for trees in [Some(&world.trees), None] {
        let mut group = communicators(&hosts, 9, trees, quick());
        ranks_add_up(&mut group, &mut rng);
        let mut left = Some(group.remove(2));
        for member in &mut group {
            member.post_barrier().unwrap();
        }
        let mut left_alone = Vec::new();
        for _ in 0..200_000 {
            if let Some(member) = &mut left {
                // Its last messages must leave; then it goes.
                if member.poll().unwrap().is_none() && world.now() > 1_000_000 {
                    left = None;
                }
            }
            for member in &mut group {
                left_alone.extend(member.poll().unwrap());
            }
            // The host goes on polling for its other communicators.
            if left.is_none() {
                let other =
                    Communicator::create(&hosts[2], 77, &[hosts[2].address()], None, quick());
                other.unwrap().poll().unwrap();
            }
            if left_alone.len() == 2 {
                break;
            }
        }
        assert_eq!(left_alone.len(), 2);
        for finished in left_alone {
            let error = finished.result.unwrap_err();
            assert!(
                matches!(
                    error,
                    CollectiveError::Failed {
                        rank: 2,
                        why: Why::Left,
                        ..
                    }
                ),
                "{error}"
            );
        }
        drop(group);
    }
}

/// Another operation than the others': an error at everyone, on both ways.
#[test]
fn cl_08_a_member_that_calls_another_operation_is_named() {
    let mut rng = rng(1);
    let world = sixteen_world(1);
    let hosts = world.hosts(&[0, 5, 10, 15], host_options(1, 1));
    for (name, trees) in [(1, Some(&world.trees)), (2, None)] {
        let mut group = communicators(&hosts, name, trees, quick());
        ranks_add_up(&mut group, &mut rng);
        for (rank, member) in group.iter_mut().enumerate() {
            let operation = if rank == 2 {
                Operation::Max
            } else {
                Operation::Sum
            };
            member
                .post_all_reduce(operation, &Data::I64(vec![1]))
                .unwrap();
        }
        for list in run(&mut group, 1, &mut rng) {
            let error = list[0].as_ref().unwrap_err();
            // Of two that differ it is one of them that is named.
            assert!(
                matches!(
                    error,
                    CollectiveError::Failed {
                        why: Why::Mismatch,
                        ..
                    }
                ),
                "{error}"
            );
        }
    }
}

/// Peers may begin while a member is not made yet, or its program is at something else: whoever works for the host answers.
#[test]
fn cl_08_a_host_without_communicators_answers_and_keeps_what_has_come() {
    let mut rng = rng(1);
    let world = sixteen_world(1);
    for answers in [true, false] {
        let hosts = world.hosts(&[2, 9], host_options(1, 1));
        let members: Vec<_> = hosts.iter().map(Host::address).collect();
        let create = |host| Communicator::create(host, 1, &members, None, quick()).unwrap();
        let mut first = create(&hosts[0]);
        // Twelve openings that nobody answers take 3 to 4 ms.
        let begun = world.now();
        while world.now() < begun + 6_000_000 {
            first.poll().unwrap();
            if answers {
                hosts[1].work().unwrap();
            }
            world.cluster.devices()[0].idle().unwrap();
        }
        if answers {
            let mut group = [first, create(&hosts[1])];
            ranks_add_up(&mut group, &mut rng);
        } else {
            let failed = first.post_barrier().unwrap_err();
            let unreachable = matches!(
                failed,
                CollectiveError::Failed {
                    rank: 1,
                    why: Why::Unreachable,
                    ..
                }
            );
            assert!(unreachable, "{failed}");
        }
    }
}

/// A repeated contribution below an engine cannot be mended: the communicator says so or the result is right.
#[test]
fn cl_08_a_contribution_that_is_repeated_is_never_a_silent_error_at_the_root() {
    let mut rng = rng(1);
    let world = sixteen_world(1);
    let at: Vec<usize> = (0..16).collect();
    let hosts = world.hosts(&at, host_options(1, 1));
    let mut group = communicators(&hosts, 1, Some(&world.trees), quick());
    ranks_add_up(&mut group, &mut rng);
    let mut armed = true;
    world.cluster.with(|sim| {
        sim.tamper(move |passing| {
            let up = matches!(passing.from, Place::Endpoint(7))
                && Frame::parse(passing.bytes, DEFAULT_ETHERTYPE).is_ok();
            match up && std::mem::take(&mut armed) {
                true => Treatment::Repeat(1),
                false => Treatment::Pass,
            }
        });
    });
    for member in &mut group {
        member
            .post_all_reduce(Operation::Sum, &Data::I64(vec![1]))
            .unwrap();
    }
    let first = run(&mut group, 1, &mut rng);
    let right = first.iter().all(|list| {
        list[0]
            .as_ref()
            .is_ok_and(|outcome| outcome.data == Data::I64(vec![16]))
    });
    let mut named = false;
    for _ in 0..20_000 {
        named |= group[0].poll().unwrap().is_some() || group[0].post_barrier().is_err();
        if right || named {
            break;
        }
    }
    assert!(right || named, "{first:?}");
}
