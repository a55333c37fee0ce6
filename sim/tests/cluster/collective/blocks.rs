//! Long operations in blocks, which members write into each other's memory (CL-8).

use std::time::Duration;

use rand::{Rng, RngExt};
use tributary_host_driver::collective::{
    CollectiveError, Communicator, Data, Host, Operation, Options, Sum, Ticket, Why,
};
use tributary_host_driver::{BulkCounter, Context};
use tributary_protocol::card::model::{CardModel, ModelConfig};
use tributary_sim::card::{Cluster, Node};
use tributary_sim::fabric::LinkSpec;

use super::values::{bits, expected, given};
use super::{World, all, close, communicators, host_options, quick, rng, run, seed, sixteen_world};
use crate::traffic::small;
use crate::{SLOT_NS, rtl, sixteen, unrouted};

/// Blocks from so many bytes on.
fn blocks_from(bytes: u32) -> Options {
    Options {
        bulk_from: bytes,
        ask_after: Duration::from_millis(5),
        ..quick()
    }
}

/// Transfers of cards that are complete.
fn written(contexts: &[Context]) -> u64 {
    let of = |context: &Context| context.bulk_counter(BulkCounter::Completed).unwrap();
    contexts.iter().map(of).sum()
}

/// Every operation on every type, lengths around the threshold and no multiple of anything, 2 to 16 members, for all, for one and in
/// shares: what one gets by messages of a tree, to the bit, sums of reals among them.
#[test]
fn cl_08_operations_in_blocks_are_those_by_messages_to_the_bit() {
    const FROM: u32 = 1_024;
    let seed = seed();
    let mut rng = rng(seed);
    let world = sixteen_world(seed);
    let mut name = 0;
    for members in [2, 3, 5, 7, 16] {
        let at: Vec<usize> = (0..members).collect();
        let hosts = world.hosts(&at, host_options(1, 1));
        let mut in_blocks = communicators(&hosts, name + 1, None, blocks_from(FROM));
        let mut by_messages = communicators(&hosts, name + 2, None, blocks_from(0));
        name += 2;
        let mut long = 0;
        for round in 0..36 {
            let kind = round % 9;
            let operation = match kind {
                5 | 6 => Operation::MinMaxLoc,
                7 => [Operation::And, Operation::Or, Operation::Xor][round / 9 % 3],
                0 | 1 => [Operation::Sum, Operation::Product, Operation::Max][round / 9 % 3],
                _ => {
                    use Operation::{LogicalXor, Product, Sum, Xor};
                    [Sum, Product, LogicalXor, Xor][round / 9]
                }
            };
            // Elements of as many bytes as just below the threshold, at it, above it.
            let frame = [4, 8, 4, 4, 8, 1, 1, 32, 8][kind];
            let at_threshold = FROM as usize / 32 * frame;
            let length = match round / 9 {
                0 => at_threshold - frame,
                1 => at_threshold - frame + 1,
                2 => at_threshold * rng.random_range(1..6),
                _ => rng.random_range(1..40) * members,
            };
            let is_long = length.div_ceil(frame) * 32 >= FROM as usize;
            let values = given(&mut rng, kind, members, length);
            let whom = rng.random_range(0..members + 2);
            let post = |member: &mut Communicator| {
                let own = &values[member.rank()];
                match whom {
                    whom if whom < members => member.post_reduce(whom, operation, own),
                    whom if whom == members && length.is_multiple_of(members) => {
                        member.post_reduce_scatter(operation, own)
                    }
                    _ => member.post_all_reduce(operation, own),
                }
            };
            let first = all(&mut in_blocks, &mut rng, post);
            let second = all(&mut by_messages, &mut rng, post);
            for (rank, (one, two)) in first.iter().zip(&second).enumerate() {
                let what = format!("round {round}, {operation:?} of {length} at {rank}/{members}");
                assert_eq!(bits(&one.data), bits(&two.data), "{what}");
            }
            // Zeros of both signs are a tie there.
            if whom > members
                && kind != 5
                && let Some(expected) = expected(operation, &values)
            {
                assert_eq!(bits(&first[0].data), bits(&expected));
            }
            // Of what all get, all know the worst of it; of a share, the worst of the share.
            let worst = |list: &[tributary_host_driver::collective::Outcome]| {
                list.iter().map(|outcome| outcome.code).max()
            };
            assert_eq!(worst(&first), worst(&second), "{operation:?} of {length}");
            long += u64::from(is_long);
        }
        assert!((12..36).contains(&long), "{long}");
        for (one, two) in in_blocks.iter().zip(&by_messages) {
            let (one, two) = (one.counters(), two.counters());
            assert_eq!((one.in_blocks, one.in_software), (long, 36 - long));
            assert_eq!((one.blocks_by_messages, one.strange), (0, 0));
            assert_eq!((two.in_blocks, two.in_software), (0, 36));
        }
        close(in_blocks, &mut rng);
        close(by_messages, &mut rng);
    }
    assert!(written(&world.contexts) > 0);
}

/// Broadcasts and gatherings around the threshold, from any rank, in place of what members had.
#[test]
fn cl_08_broadcasts_and_gatherings_in_blocks_give_everyone_the_same_bytes() {
    const FROM: u32 = 2_000;
    let seed = seed();
    let mut rng = rng(seed);
    let world = World::new(small(16, LinkSpec::default()), seed);
    for members in [2, 3, 6, 13] {
        let at: Vec<usize> = (0..members).map(|at| (at * 5 + 2) % 16).collect();
        let hosts = world.hosts(&at, host_options(1, 1));
        let mut group = communicators(&hosts, 1, Some(&world.trees), blocks_from(FROM));
        let mut long = 0;
        for length in [1, 1_999, 2_000, 2_001, 4_097, 70_000] {
            let root = rng.random_range(0..members);
            let mut bytes = vec![0; length];
            rng.fill_bytes(&mut bytes);
            let outcomes = all(&mut group, &mut rng, |member| {
                let own = if member.rank() == root {
                    bytes.clone()
                } else {
                    vec![7; length]
                };
                member.post_broadcast(root, own)
            });
            let whole = Data::Bytes(bytes);
            assert!(outcomes.iter().all(|o| o.data == whole), "{length}");
            long += u64::from(length >= 2_000);
        }
        for (kind, length) in [
            (0, 8),
            (1, 1_111),
            (2, 513),
            (3, 300),
            (4, 999),
            (7, 5_000),
            (8, 700),
        ] {
            let given = given(&mut rng, kind, members, length);
            let outcomes = all(&mut group, &mut rng, |member| {
                member.post_all_gather(&given[member.rank()])
            });
            let gathered: Vec<u64> = given.iter().flat_map(bits).collect();
            assert!(outcomes.iter().all(|o| bits(&o.data) == gathered), "{kind}");
            let bytes = [8, 4, 8, 8, 4, 0, 0, 1, 4][kind] * length * members;
            long += u64::from(bytes >= 2_000);
        }
        for member in &group {
            let counters = member.counters();
            assert_eq!((counters.in_blocks, counters.strange), (long, 0));
            assert_eq!(counters.blocks_by_messages, 0);
        }
        close(group, &mut rng);
    }
}

/// Reproducible sums, whose values have more than their words, also of numbers that are added already.
#[test]
fn cl_08_reproducible_sums_in_blocks_are_the_same_as_in_the_switches() {
    let seed = seed();
    let mut rng = rng(seed);
    let world = sixteen_world(seed);
    let hosts = world.hosts(&[1, 4, 6, 9, 15], host_options(1, 1));
    let mut in_blocks = communicators(&hosts, 1, None, blocks_from(256));
    let mut switched = communicators(&hosts, 2, Some(&world.trees), blocks_from(0));
    let numbers = given(&mut rng, 0, 5, 50);
    let sums: Vec<Data> = numbers.iter().map(summed).collect();
    for lists in [&numbers, &sums] {
        let post = |member: &mut Communicator| {
            member.post_all_reduce(Operation::SumReproducible, &lists[member.rank()])
        };
        let first = all(&mut in_blocks, &mut rng, post);
        let second = all(&mut switched, &mut rng, post);
        for (one, two) in first.iter().zip(second) {
            assert_eq!((bits(&one.data), one.code), (bits(&two.data), two.code));
        }
    }
    assert!(in_blocks.iter().all(|m| m.counters().in_blocks == 2));
    assert!(switched.iter().all(|m| m.counters().in_switches == 2));
    close(in_blocks, &mut rng);
    close(switched, &mut rng);
}

/// Two numbers in each of the sums.
fn summed(numbers: &Data) -> Data {
    let Data::F64(list) = numbers else { panic!() };
    let sum = |number: &f64| {
        let mut sum = Sum::new();
        sum.push(number.to_bits()).unwrap();
        sum.push((number / 3.0).to_bits()).unwrap();
        sum
    };
    Data::Sums(list.iter().map(sum).collect())
}

/// Several operations under way at once, long and short in turns, over cables that lose, damage and delay frames; two communicators
/// of the same hosts beside each other.
#[test]
fn cl_08_blocks_arrive_whole_over_cables_that_lose_and_reorder() {
    let seed = seed();
    let mut rng = rng(seed);
    let link = LinkSpec {
        loss: 0.004,
        corruption: 0.002,
        reorder_clocks: 200,
        ..LinkSpec::default()
    };
    let world = World::new(sixteen().with_links(link), seed);
    let hosts = world.hosts(&[0, 3, 4, 7, 9, 12, 14], host_options(1, 1));
    let options = Options {
        ask_after: Duration::from_millis(40),
        ..blocks_from(1_000)
    };
    let mut groups = communicators(&hosts, 1, Some(&world.trees), options);
    groups.extend(communicators(&hosts, 2, None, options));
    for round in 0..4u64 {
        let length = rng.random_range(300..3_000);
        let root = rng.random_range(0..7);
        let bytes = vec![round as u8; rng.random_range(900..30_000)];
        for member in &mut groups {
            let rank = member.rank() as u64;
            let own = (0..length).map(|at| at * (rank + 1) + round).collect();
            member
                .post_all_reduce(Operation::Sum, &Data::U64(own))
                .unwrap();
            let own = if member.rank() == root {
                bytes.clone()
            } else {
                vec![0xEE; bytes.len()]
            };
            member.post_broadcast(root, own).unwrap();
            member
                .post_all_reduce(Operation::Product, &Data::I32(vec![rank as i32 + 1]))
                .unwrap();
            member.post_all_gather(&Data::U64(vec![rank; 40])).unwrap();
        }
        let sums = Data::U64((0..length).map(|at| at * 28 + 7 * round).collect());
        let gathered = Data::U64((0..7).flat_map(|rank| [rank; 40]).collect());
        for list in run(&mut groups, 4, &mut rng) {
            let data: Vec<Data> = list.into_iter().map(|ended| ended.unwrap().data).collect();
            assert_eq!(data[0], sums);
            assert_eq!(data[1], Data::Bytes(bytes.clone()));
            assert_eq!(data[2], Data::I32(vec![5_040]));
            assert_eq!(data[3], gathered);
        }
    }
    let sent = |counter| {
        let of = |context: &Context| context.bulk_counter(counter).unwrap();
        world.contexts.iter().map(of).sum::<u64>()
    };
    assert!(sent(BulkCounter::DataResent) > 0, "nothing was lost");
}

/// Some members' cards have no bulk transfers: blocks to and from them go as messages, which a counter says; all others write.
#[test]
fn cl_08_blocks_of_cards_without_bulk_transfers_go_as_messages() {
    let seed = seed();
    let mut rng = rng(seed);
    let fabric = sixteen();
    let world = World::over(unrouted(fabric.clone(), seed), &fabric, |sim| {
        let cards = (0..16).map(|at| {
            let plain = ModelConfig {
                bulk: None,
                ..ModelConfig::default()
            };
            let config = if at % 3 == 1 {
                plain
            } else {
                ModelConfig::default()
            };
            Box::new(CardModel::new(config).unwrap()) as Box<dyn Node>
        });
        Cluster::new(sim, cards.collect(), 8, SLOT_NS).unwrap()
    });
    let hosts = world.hosts(&[0, 1, 2, 3, 4], host_options(1, 1));
    let mut group = communicators(&hosts, 1, None, blocks_from(1_000));
    let values = given(&mut rng, 3, 5, 20_001);
    let wanted = expected(Operation::Sum, &values).unwrap();
    for _ in 0..2 {
        let outcomes = all(&mut group, &mut rng, |member| {
            member.post_all_reduce(Operation::Sum, &values[member.rank()])
        });
        assert!(outcomes.iter().all(|outcome| outcome.data == wanted));
    }
    for member in &group {
        // Two cards of five without: all blocks of theirs, and of the others those for them, in both halves.
        let each = if member.rank() % 3 == 1 { 8 } else { 4 };
        let counters = member.counters();
        assert_eq!((counters.in_blocks, counters.in_software), (2, 0));
        assert_eq!(counters.blocks_by_messages, 2 * each);
    }
    assert!(written(&world.contexts) > 0);
    close(group, &mut rng);
}

/// A member that takes a long operation for another one, or for one of another length, is named by all.
#[test]
fn cl_08_another_operation_or_length_in_blocks_is_a_mismatch_that_all_hear_of() {
    type Post = fn(&mut Communicator, bool) -> Result<Ticket, CollectiveError>;
    let calls: [Post; 5] = [
        |m, odd| m.post_all_reduce(Operation::Sum, &Data::U64(vec![1; 500 + usize::from(odd)])),
        |m, odd| {
            let operation = if odd { Operation::Max } else { Operation::Sum };
            m.post_all_reduce(operation, &Data::I32(vec![1; 5_000]))
        },
        |m, odd| m.post_broadcast(usize::from(odd), vec![1; 9_000]),
        |m, odd| {
            let sum = Operation::Sum;
            if odd {
                m.post_reduce_scatter(sum, &Data::U64(vec![1; 600]))
            } else {
                m.post_all_reduce(sum, &Data::U64(vec![1; 600]))
            }
        },
        // One that is short there.
        |m, odd| {
            m.post_all_reduce(
                Operation::Sum,
                &Data::U64(vec![1; if odd { 4 } else { 500 }]),
            )
        },
    ];
    let seed = seed();
    let mut rng = rng(seed);
    let world = sixteen_world(seed);
    for (name, call) in (1..).zip(calls) {
        let hosts = world.hosts(&[0, 2, 5, 8], host_options(1, 1));
        let mut group = communicators(&hosts, name, None, blocks_from(1_000));
        for member in &mut group {
            let odd = member.rank() == 2;
            call(member, odd).unwrap();
        }
        let mut named = Vec::new();
        for list in run(&mut group, 1, &mut rng) {
            let error = list[0].as_ref().unwrap_err();
            let CollectiveError::Failed { rank, why, .. } = error else {
                panic!("{error}")
            };
            assert_eq!(*why, Why::Mismatch);
            named.push(*rank);
        }
        // The odd one takes another one for odd, and whoever of them is first is believed.
        named.dedup();
        assert!(named.contains(&2) || named.len() == 1, "{name}: {named:?}");
    }
}

/// What can be under way when a member dies.
type Post = fn(&mut Communicator) -> Result<Ticket, CollectiveError>;
const CALLS: [Post; 5] = [
    |m| m.post_all_reduce(Operation::Sum, &Data::I64(vec![1; 20_000])),
    |m| m.post_reduce(4, Operation::Product, &Data::F64(vec![1.5; 20_000])),
    |m| m.post_broadcast(3, vec![1; 150_000]),
    |m| m.post_all_gather(&Data::U64(vec![m.rank() as u64; 5_000])),
    |m| m.post_reduce_scatter(Operation::Max, &Data::I32(vec![3; 60_000])),
];

/// A member stops before it begins, or in the middle of it: the one that gives all, one that gets all, any other. All others name
/// it, or have their result, within the bound, and never wait for ever.
#[test]
fn cl_08_who_dies_in_an_operation_in_blocks_is_named_by_all_others_in_bounded_time() {
    let seed = seed();
    let mut rng = rng(seed);
    let world = sixteen_world(seed);
    let options = Options {
        bulk_from: 1_000,
        ..quick()
    };
    let mut name = 0;
    for (which, call) in CALLS.into_iter().enumerate() {
        for loops in [0, 4, 9, 40] {
            let dead = [3, 0, 4, 5][(which + loops) % 4];
            let hosts = world.hosts(&[0, 2, 5, 7, 8, 11], host_options(1, 1));
            name += 1;
            let mut group = communicators(&hosts, name, None, options);
            for (rank, member) in group.iter_mut().enumerate() {
                if rank != dead || loops > 0 {
                    call(member).unwrap();
                }
            }
            let mut ended = vec![false; group.len()];
            let mut whole = 0;
            for _ in 0..loops {
                for (rank, member) in group.iter_mut().enumerate() {
                    if let Some(finished) = member.poll().unwrap() {
                        finished.result.unwrap();
                        ended[rank] = true;
                        whole += 1;
                    }
                }
            }
            ended[dead] = true;
            let begun = world.now();
            while ended.contains(&false) {
                for rank in (0..group.len()).filter(|&rank| rank != dead) {
                    let Some(finished) = group[rank].poll().unwrap() else {
                        continue;
                    };
                    ended[rank] = true;
                    match finished.result {
                        Ok(_) => whole += 1,
                        Err(error) => named(&error, dead, &hosts),
                    }
                }
                let over = world.now() - begun;
                let bound = options.bound().as_nanos() as u64;
                assert!(over < 3 * bound, "call {which}, {loops} loops: {over} ns");
            }
            assert!(
                loops > 0 || whole == 0,
                "call {which}: {whole} have a result"
            );
        }
    }
    let _ = &mut rng;
}

fn named(error: &CollectiveError, dead: usize, hosts: &[Host]) {
    let CollectiveError::Failed { rank, member, why } = error else {
        panic!("{error}")
    };
    assert_eq!((*rank, *member), (dead, hosts[dead].address()));
    assert!(matches!(why, Why::Silent | Why::Unreachable), "{why}");
}

/// A member that has dropped the communicator is named as well.
#[test]
fn cl_08_who_leaves_before_an_operation_in_blocks_is_named_by_all_others() {
    let world = sixteen_world(7);
    let mut rng = rng(7);
    let hosts = world.hosts(&[0, 4, 9], host_options(1, 1));
    let mut group = communicators(&hosts, 1, None, blocks_from(1_000));
    drop(group.remove(1));
    for member in &mut group {
        member.post_broadcast(0, vec![5; 10_000]).unwrap();
    }
    let mut left = group.len();
    while left > 0 {
        let first = rng.random_range(0..2);
        for at in [first, 1 - first] {
            hosts[1].work().unwrap();
            let Some(finished) = group[at].poll().unwrap() else {
                continue;
            };
            left -= 1;
            let error = finished.result.unwrap_err();
            let CollectiveError::Failed { rank, why, .. } = error else {
                panic!("{error}")
            };
            assert_eq!((rank, why), (1, Why::Left));
        }
    }
}

/// Verilated cards write the blocks.
#[test]
fn cl_08_blocks_of_verilated_cards_arrive_whole() {
    let seed = seed();
    let mut rng = rng(seed);
    let fabric = small(5, LinkSpec::default());
    let world = World::over(unrouted(fabric.clone(), seed), &fabric, rtl);
    let hosts = world.hosts(&[0, 1, 2, 3, 4], host_options(1, 1));
    let mut group = communicators(&hosts, 1, Some(&world.trees), blocks_from(2_000));
    let values = given(&mut rng, 2, 5, 3_001);
    for operation in [Operation::Sum, Operation::Product] {
        let wanted = expected(operation, &values).unwrap();
        let outcomes = all(&mut group, &mut rng, |member| {
            member.post_all_reduce(operation, &values[member.rank()])
        });
        assert!(outcomes.iter().all(|outcome| outcome.data == wanted));
    }
    let mut bytes = vec![0; 30_003];
    rng.fill_bytes(&mut bytes);
    let outcomes = all(&mut group, &mut rng, |member| {
        let own = if member.rank() == 3 {
            bytes.clone()
        } else {
            vec![0; bytes.len()]
        };
        member.post_broadcast(3, own)
    });
    let whole = Data::Bytes(bytes);
    assert!(outcomes.iter().all(|outcome| outcome.data == whole));
    for member in &group {
        let counters = member.counters();
        assert_eq!((counters.in_blocks, counters.blocks_by_messages), (3, 0));
    }
    // Each of five writes to four, twice in a reduction; a broadcast is dealt to four, who give it to three and the giver to four.
    assert!(written(&world.contexts) >= 2 * 2 * 20 + 4 + 16);
    close(group, &mut rng);
}
