//! What operations come to, through the switches and by messages.

use rand::rngs::StdRng;
use rand::seq::SliceRandom;
use rand::{Rng, RngExt};
use tributary_host_driver::ReductionCounter;
use tributary_host_driver::collective::{
    CollectiveError, Communicator, Data, Extremes, Operation, Options, Path, Sum, Why,
};
use tributary_protocol::red::Rc;

use super::{
    World, all, close, communicators, host_options, quick, ranks_add_up, rng, run, seed, sixteen,
    sixteen_world,
};
use crate::traffic::small;
use tributary_sim::fabric::LinkSpec;

/// Elements of everyone, by rank.
pub fn given(rng: &mut StdRng, kind: usize, size: usize, length: usize) -> Vec<Data> {
    let real = |rng: &mut StdRng| match rng.random_range(0..6) {
        0 => 0.0,
        1 => -0.0,
        2 => f64::from(rng.random_range(-8..8)),
        // Close to each other and far apart, so that sums of another order differ.
        3 => rng.random::<f64>() * 1e17,
        _ => rng.random::<f64>() - 0.5,
    };
    // Of all sizes and both signs, and zeros where few are, so that truth differs.
    let rare = f64::from(rng.random_range(0..3)) / 16.0;
    let whole = |rng: &mut StdRng| match rng.random_bool(rare) {
        true => 0,
        false => (rng.random::<i64>() >> rng.random_range(0..63)) as u64,
    };
    let one = |rng: &mut StdRng| match kind {
        0 => Data::F64((0..length).map(|_| real(rng)).collect()),
        1 => Data::F32((0..length).map(|_| real(rng) as f32).collect()),
        2 => Data::I64((0..length).map(|_| whole(rng) as i64).collect()),
        3 => Data::U64((0..length).map(|_| whole(rng)).collect()),
        4 => Data::I32((0..length).map(|_| whole(rng) as i32).collect()),
        5 => Data::F64Extremes(
            (0..length)
                .map(|_| Extremes {
                    min: f64::from(rng.random_range(-4..4)),
                    min_at: rng.random_range(0..9),
                    max: real(rng),
                    max_at: rng.random(),
                })
                .collect(),
        ),
        6 => Data::I64Extremes(
            (0..length)
                .map(|_| Extremes {
                    min: rng.random_range(-4..4),
                    min_at: rng.random_range(0..9),
                    max: rng.random_range(-4..4),
                    max_at: rng.random(),
                })
                .collect(),
        ),
        7 => Data::Bytes((0..length).map(|_| rng.random()).collect()),
        _ => Data::U32((0..length).map(|_| whole(rng) as u32).collect()),
    };
    (0..size).map(|_| one(rng)).collect()
}

/// Folds element by element, as Rust's own arithmetic has it.
fn fold<T: Copy>(lists: &[&Vec<T>], f: impl Fn(T, T) -> T) -> Vec<T> {
    let element = |at: usize| {
        let of = lists.iter().map(|list| list[at]);
        of.reduce(&f).unwrap()
    };
    (0..lists[0].len()).map(element).collect()
}

macro_rules! lists {
    ($all:expr, $kind:ident) => {
        $all.iter()
            .map(|data| match data {
                Data::$kind(list) => list,
                other => panic!("{other:?}"),
            })
            .collect::<Vec<_>>()
    };
}

/// Folds as messages do, neighbours first: what a product of reals depends on.
fn fold_as_messages<T: Copy>(lists: &[&Vec<T>], f: impl Fn(T, T) -> T) -> Vec<T> {
    let element = |at: usize| {
        let mut all: Vec<T> = lists.iter().map(|list| list[at]).collect();
        while all.len() > 1 {
            let pair = |pair: &[T]| pair.iter().copied().reduce(&f).unwrap();
            all = all.chunks(2).map(pair).collect();
        }
        all[0]
    };
    (0..lists[0].len()).map(element).collect()
}

fn smaller<T: PartialOrd + Copy>(a: (T, u64), b: (T, u64)) -> (T, u64) {
    if b.0 < a.0 || b.0 == a.0 && b.1 < a.1 {
        b
    } else {
        a
    }
}

fn extremes<T: PartialOrd + Copy>(lists: &[&Vec<Extremes<T>>]) -> Vec<Extremes<T>> {
    fold(lists, |a, b| {
        let (min, min_at) = smaller((a.min, a.min_at), (b.min, b.min_at));
        let larger = if b.max > a.max || b.max == a.max && b.max_at < a.max_at {
            b
        } else {
            a
        };
        Extremes {
            min,
            min_at,
            max: larger.max,
            max_at: larger.max_at,
        }
    })
}

/// What an operation must give; nothing where the order matters or the operation is not for the type.
pub fn expected(operation: Operation, all: &[Data]) -> Option<Data> {
    use Operation::{
        And, LogicalAnd, LogicalOr, LogicalXor, Max, Min, MinMaxLoc, Or, Product, Sum, Xor,
    };
    macro_rules! integers {
        ($kind:ident) => {{
            let lists = lists!(all, $kind);
            Some(Data::$kind(match operation {
                Sum => fold(&lists, |a, b| a.wrapping_add(b)),
                Min => fold(&lists, |a, b| a.min(b)),
                Max => fold(&lists, |a, b| a.max(b)),
                And => fold(&lists, |a, b| a & b),
                Or => fold(&lists, |a, b| a | b),
                Xor => fold(&lists, |a, b| a ^ b),
                Product => fold(&lists, |a, b| a.wrapping_mul(b)),
                LogicalAnd | LogicalOr | LogicalXor => {
                    let truth = |at| lists.iter().map(move |list| list[at] != 0);
                    let of = |at| match operation {
                        LogicalAnd => truth(at).all(|one| one),
                        LogicalOr => truth(at).any(|one| one),
                        _ => truth(at).filter(|&one| one).count() % 2 == 1,
                    };
                    (0..lists[0].len()).map(|at| of(at).into()).collect()
                }
                _ => return None,
            }))
        }};
    }
    macro_rules! reals {
        ($kind:ident, $nan:expr) => {{
            let lists = lists!(all, $kind);
            Some(Data::$kind(match operation {
                // -0 is below +0 here, which Rust's order of values knows, too.
                Min => fold(&lists, |a, b| if b.total_cmp(&a).is_lt() { b } else { a }),
                Max => fold(&lists, |a, b| if b.total_cmp(&a).is_gt() { b } else { a }),
                // Of a zero and an infinity: a NaN without a sign.
                Product => fold_as_messages(&lists, |a, b| {
                    let product = a * b;
                    if product.is_nan() { $nan } else { product }
                }),
                _ => return None,
            }))
        }};
    }
    match &all[0] {
        Data::F64(_) => reals!(F64, f64::NAN),
        Data::F32(_) => reals!(F32, f32::NAN),
        Data::I64(_) => integers!(I64),
        Data::U64(_) => integers!(U64),
        Data::I32(_) => integers!(I32),
        Data::U32(_) => integers!(U32),
        Data::F64Extremes(_) if operation == MinMaxLoc => {
            Some(Data::F64Extremes(extremes(&lists!(all, F64Extremes))))
        }
        Data::I64Extremes(_) if operation == MinMaxLoc => {
            Some(Data::I64Extremes(extremes(&lists!(all, I64Extremes))))
        }
        Data::Bytes(_) => {
            let lists = lists!(all, Bytes);
            Some(Data::Bytes(match operation {
                And => fold(&lists, |a, b| a & b),
                Or => fold(&lists, |a, b| a | b),
                Xor => fold(&lists, |a, b| a ^ b),
                _ => return None,
            }))
        }
        _ => None,
    }
}

/// Whether some order of an integer sum wraps on the way and another does not: in range as a whole, beyond it without signs.
fn wraps_by_order(operation: Operation, all: &[Data]) -> bool {
    macro_rules! wraps {
        ($kind:ident, $signed:ty) => {{
            let lists = lists!(all, $kind);
            (0..lists[0].len()).any(|at| {
                let of = || lists.iter().map(|list| i128::from(list[at] as $signed));
                let fits = |sum: i128| <$signed>::try_from(sum).is_ok();
                fits(of().sum()) && !fits(of().map(i128::abs).sum())
            })
        }};
    }
    operation == Operation::Sum
        && match &all[0] {
            Data::I64(_) => wraps!(I64, i64),
            Data::U64(_) => wraps!(U64, i64),
            Data::I32(_) => wraps!(I32, i32),
            Data::U32(_) => wraps!(U32, i32),
            _ => false,
        }
}

/// Bits, so that zeros of both signs and NaNs count.
pub fn bits(data: &Data) -> Vec<u64> {
    match data {
        Data::F64(list) => list.iter().map(|x| x.to_bits()).collect(),
        Data::F32(list) => list.iter().map(|x| x.to_bits().into()).collect(),
        Data::I64(list) => list.iter().map(|&x| x as u64).collect(),
        Data::U64(list) => list.clone(),
        Data::I32(list) => list.iter().map(|&x| x as u64).collect(),
        Data::U32(list) => list.iter().map(|&x| x.into()).collect(),
        Data::Bytes(list) => list.iter().map(|&x| x.into()).collect(),
        Data::Sums(list) => list.iter().map(|sum| sum.value().data[3]).collect(),
        Data::F64Extremes(list) => {
            let words = |e: &Extremes<f64>| [e.min.to_bits(), e.min_at, e.max.to_bits(), e.max_at];
            list.iter().flat_map(words).collect()
        }
        Data::I64Extremes(list) => {
            let words = |e: &Extremes<i64>| [e.min as u64, e.min_at, e.max as u64, e.max_at];
            list.iter().flat_map(words).collect()
        }
    }
}

const OPERATIONS: [Operation; 11] = [
    Operation::Sum,
    Operation::Min,
    Operation::Max,
    Operation::MinMaxLoc,
    Operation::And,
    Operation::Or,
    Operation::Xor,
    Operation::Product,
    Operation::LogicalAnd,
    Operation::LogicalOr,
    Operation::LogicalXor,
];

/// Every operation on every type that it is for, of every length up to some frames, through the switches and by messages: as Rust's
/// arithmetic has it, and the same to the bit on both ways.
#[test]
fn cl_08_every_operation_on_every_type_is_right_on_both_ways() {
    let seed = seed();
    let mut rng = rng(seed);
    let world = sixteen_world(seed);
    let everyone: Vec<usize> = (0..16).collect();
    let hosts = world.hosts(&everyone, host_options(1, 1));
    let mut switched = communicators(&hosts, 1, Some(&world.trees), Options::default());
    let mut by_messages = communicators(&hosts, 2, None, Options::default());
    let (mut done, mut products) = (0, 0);
    for kind in 0..9 {
        for operation in OPERATIONS {
            let length = [0, 1, 3, 4, 5, 9, 33][rng.random_range(0..7)];
            let values = given(&mut rng, kind, 16, length);
            let refused = switched[0].post_all_reduce(operation, &values[0]).err();
            let Some(expected) = expected(operation, &values) else {
                if refused.is_some() {
                    assert!(matches!(refused, Some(CollectiveError::Unsupported { .. })));
                    continue;
                }
                assert!(operation == Operation::Sum && kind < 2);
                sums_agree(&mut switched, &mut by_messages, &values, &mut rng);
                continue;
            };
            assert!(refused.is_none(), "{operation:?} {refused:?}");
            for (rank, member) in switched.iter_mut().enumerate().skip(1) {
                member.post_all_reduce(operation, &values[rank]).unwrap();
            }
            let first = run(&mut switched, 1, &mut rng);
            let second = all(&mut by_messages, &mut rng, |member| {
                member.post_all_reduce(operation, &values[member.rank()])
            });
            for (rank, (one, two)) in first.into_iter().zip(second).enumerate() {
                let one = one.into_iter().next().unwrap().unwrap();
                let name = format!("{operation:?} of {length}, kind {kind}, at {rank}");
                assert_eq!(bits(&one.data), bits(&expected), "{name}");
                assert_eq!(bits(&two.data), bits(&expected), "{name} by messages");
                if !wraps_by_order(operation, &values) {
                    assert_eq!(one.code, two.code, "{name}");
                }
                assert!(one.code <= Rc::INT_OVERFLOW, "{name}");
            }
            done += 1;
            products += u64::from(operation == Operation::Product);
        }
    }
    assert_eq!((done, products), (51, 6));
    for member in &switched {
        assert!(matches!(member.path(), Path::Switches(_)));
        let counters = member.counters();
        // Sums of reals are not among those that are done.
        assert_eq!(counters.in_switches, done + 2 - products, "{counters:?}");
        assert_eq!(counters.in_software, products, "{counters:?}");
        assert_eq!((counters.no_tree, counters.strange), (0, 0));
    }
    // Engines did the work: the root's software only now and then, when members were so far apart that engines timed out.
    assert!(
        switched[0].counters().completed_by_root < 10,
        "{:?}",
        switched[0].counters()
    );
    assert!(
        by_messages
            .iter()
            .all(|m| m.counters().in_software > 20 && m.path() == Path::Software)
    );
    close(switched, &mut rng);
    close(by_messages, &mut rng);
}

/// Cards and switches all in RTL: barriers, broadcasts, every operation on every type, and sums of doubles, each in the switches.
#[test]
fn cl_05_cl_08_operations_of_verilated_cards_are_reduced_in_verilated_switches() {
    let seed = seed();
    let mut rng = rng(seed);
    let world = World::rtl(sixteen(), seed);
    let everyone: Vec<usize> = (0..16).collect();
    let hosts = world.hosts(&everyone, host_options(1, 1));
    let mut members = communicators(&hosts, 1, Some(&world.trees), Options::default());
    all(&mut members, &mut rng, Communicator::post_barrier);
    let mut done = 0;
    for kind in 0..9 {
        for operation in OPERATIONS {
            if operation == Operation::Product {
                continue;
            }
            let length = [1, 3, 4, 5, 9][rng.random_range(0..5)];
            let values = given(&mut rng, kind, 16, length);
            let Some(expected) = expected(operation, &values) else {
                continue;
            };
            let outcomes = all(&mut members, &mut rng, |member| {
                member.post_all_reduce(operation, &values[member.rank()])
            });
            for (rank, outcome) in outcomes.into_iter().enumerate() {
                let name = format!("{operation:?} of {length}, kind {kind}, at {rank}");
                assert_eq!(bits(&outcome.data), bits(&expected), "{name}");
            }
            done += 1;
        }
    }
    assert_eq!(done, 45);
    // Whole numbers, whose sums are exact in any order.
    let outcomes = all(&mut members, &mut rng, |member| {
        let own = member.rank() as f64;
        member.post_all_reduce(Operation::Sum, &Data::F64(vec![own, -own, 0.5]))
    });
    for outcome in outcomes {
        assert_eq!(outcome.data, Data::F64(vec![120.0, -120.0, 8.0]));
    }
    let text: Vec<u8> = (0..200).collect();
    let outcomes = all(&mut members, &mut rng, |member| {
        let own = if member.rank() == 7 {
            text.clone()
        } else {
            vec![0; 200]
        };
        member.post_broadcast(7, own)
    });
    for outcome in outcomes {
        assert_eq!(outcome.data, Data::Bytes(text.clone()));
    }
    for (member, context) in members.iter().zip(&world.contexts) {
        let counters = member.counters();
        assert!(
            counters.in_switches > 26 && counters.in_software == 0,
            "{counters:?}"
        );
        assert_eq!((counters.no_tree, counters.strange), (0, 0));
        let sent = context.reduction_counter(ReductionCounter::Sent).unwrap();
        let received = context
            .reduction_counter(ReductionCounter::Received)
            .unwrap();
        assert!(sent > 26 && received > 26, "{sent} {received}");
    }
    close(members, &mut rng);
}

/// A sum of doubles was posted at rank 0: the others follow, and all have the same sum, close to the exact one.
fn sums_agree(
    switched: &mut [Communicator],
    by_messages: &mut [Communicator],
    values: &[Data],
    rng: &mut StdRng,
) {
    for (rank, member) in switched.iter_mut().enumerate().skip(1) {
        member
            .post_all_reduce(Operation::Sum, &values[rank])
            .unwrap();
    }
    let first: Vec<Data> = run(switched, 1, rng)
        .into_iter()
        .map(|mut list| list.remove(0).unwrap().data)
        .collect();
    let second = all(by_messages, rng, |member| {
        member.post_all_reduce(Operation::Sum, &values[member.rank()])
    });
    for data in first.iter().chain(second.iter().map(|o| &o.data)) {
        let (sum, of) = match (data, &values[0]) {
            (Data::F64(sum), Data::F64(_)) => (
                sum.clone(),
                lists!(values, F64).into_iter().cloned().collect::<Vec<_>>(),
            ),
            (Data::F32(sum), Data::F32(_)) => {
                let wide =
                    |list: &Vec<f32>| list.iter().map(|&x| f64::from(x)).collect::<Vec<f64>>();
                (
                    wide(sum),
                    lists!(values, F32).into_iter().map(wide).collect(),
                )
            }
            other => panic!("{other:?}"),
        };
        let epsilon = if matches!(data, Data::F32(_)) {
            1e-6
        } else {
            1e-14
        };
        for (at, sum) in sum.iter().enumerate() {
            let exact: f64 = of.iter().map(|list| list[at]).sum();
            let size: f64 = of.iter().map(|list| list[at].abs()).sum();
            assert!((sum - exact).abs() <= epsilon * size, "{sum} {exact}");
        }
    }
    assert!(first.iter().all(|data| bits(data) == bits(&first[0])));
}

/// Sums whose words are integers times a power of two have one exact value, which 128 bits hold.
#[test]
fn cl_08_reproducible_sums_are_the_same_whatever_the_order_tree_and_number_of_members() {
    let seed = seed();
    let mut rng = rng(seed);
    let world = sixteen_world(seed);
    // 16 numbers of very different size, so that plain sums of other orders differ.
    let mut numbers: Vec<f64> = (0..16)
        .map(|_| {
            (rng.random::<u64>() >> 12) as f64
                * f64::powi(2.0, rng.random_range(-40..20))
                * if rng.random() { 1.0 } else { -1.0 }
        })
        .collect();
    // Rounded once: the exact sum in units of 2^-40.
    let exact: i128 = numbers
        .iter()
        .map(|x| {
            let (bits, exponent) = (x.abs(), 40);
            (bits * f64::powi(2.0, exponent)) as i128 * if *x < 0.0 { -1 } else { 1 }
        })
        .sum();
    let expected = exact as f64 * f64::powi(2.0, -40);
    let mut plain = std::collections::BTreeSet::new();
    let mut name = 0;
    for (members, per) in [(16, 1), (8, 2), (2, 8), (1, 16)] {
        for trees in [Some(&world.trees), None] {
            numbers.shuffle(&mut rng);
            let mut order: Vec<usize> = (0..16).collect();
            order.shuffle(&mut rng);
            let hosts = world.hosts(&order[..members], host_options(1, 1));
            name += 1;
            let mut group = communicators(&hosts, name, trees, Options::default());
            let outcomes = all(&mut group, &mut rng, |member| {
                let mut own = Sum::new();
                for number in &numbers[member.rank() * per..][..per] {
                    own.push(number.to_bits()).unwrap();
                }
                member.post_all_reduce(Operation::SumReproducible, &Data::Sums(vec![own]))
            });
            for outcome in outcomes {
                let Data::F64(sum) = outcome.data else {
                    panic!()
                };
                assert_eq!(sum[0].to_bits(), expected.to_bits(), "{members} members");
            }
            plain.insert(numbers.iter().sum::<f64>().to_bits());
            close(group, &mut rng);
        }
    }
    assert!(
        plain.len() > 1,
        "plain sums do not differ: the test shows nothing"
    );
}

#[test]
fn cl_08_reduce_broadcast_gather_scatter_barrier_and_split() {
    let seed = seed();
    let mut rng = rng(seed);
    let world = sixteen_world(seed);
    let everyone: Vec<usize> = (0..16).collect();
    let hosts = world.hosts(&everyone, host_options(1, 1));
    for (name, trees) in [(1, Some(&world.trees)), (2, None)] {
        let mut group = communicators(&hosts, name, trees, Options::default());
        for root in [0, 7, 15] {
            let outcomes = all(&mut group, &mut rng, |member| {
                let own = member.rank() as u64;
                member.post_reduce(root, Operation::Max, &Data::U64(vec![own, 100 - own]))
            });
            for (rank, outcome) in outcomes.into_iter().enumerate() {
                let expected = if rank == root { vec![15, 100] } else { vec![] };
                assert_eq!(outcome.data, Data::U64(expected));
            }
            // In one frame, in some, and longer than what goes through the switches.
            for length in [0, 5, 32, 200, 5_000, 80_000] {
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
                assert!(
                    outcomes
                        .into_iter()
                        .all(|o| o.data == Data::Bytes(bytes.clone()))
                );
            }
        }
        let outcomes = all(&mut group, &mut rng, |member| {
            let own = member.rank() as f64;
            member.post_all_gather(&Data::F64(vec![own, -own, 0.5]))
        });
        let gathered: Vec<f64> = (0..16)
            .flat_map(|r| [f64::from(r), -f64::from(r), 0.5])
            .collect();
        assert!(
            outcomes
                .into_iter()
                .all(|o| bits(&o.data) == bits(&Data::F64(gathered.clone())))
        );
        let outcomes = all(&mut group, &mut rng, |member| {
            let own = member.rank() as i64;
            let data = Data::I64((0..32).map(|at| at * own).collect());
            member.post_reduce_scatter(Operation::Sum, &data)
        });
        for (rank, outcome) in (0..).zip(outcomes) {
            let expected = [2 * rank, 2 * rank + 1].map(|at| at * 120);
            assert_eq!(outcome.data, Data::I64(expected.to_vec()));
        }
        all(&mut group, &mut rng, Communicator::post_barrier);
        // Odd ranks in the reverse order, even ones, and one that is in none.
        let outcomes = all(&mut group, &mut rng, |member| {
            let rank = member.rank() as u32;
            member.post_split(
                (rank != 6).then_some(rank % 2),
                if rank % 2 == 1 { 100 - rank } else { 0 },
            )
        });
        let mut parts = [Vec::new(), Vec::new()];
        for (rank, outcome) in outcomes.iter().enumerate() {
            match group[rank].take_split(outcome).unwrap() {
                Some(part) => parts[rank % 2].push(part),
                None => assert_eq!(rank, 6),
            }
        }
        assert_eq!((parts[0].len(), parts[1].len()), (7, 8));
        assert_eq!(parts[1][0].rank(), 7, "rank 1 is the last of the odd ones");
        let [even, mut odd] = parts;
        let mut even = even;
        ranks_add_up(&mut even, &mut rng);
        ranks_add_up(&mut odd, &mut rng);
        ranks_add_up(&mut group, &mut rng);
        let through = |m: &Communicator| matches!(m.path(), Path::Switches(_));
        assert!(
            odd.iter()
                .chain(&even)
                .all(|m| through(m) == trees.is_some())
        );
        close(even, &mut rng);
        close(odd, &mut rng);
        close(group, &mut rng);
    }
}

/// A member that multiplies while the others add up in the switches is named, and so is one that adds up among those that multiply.
#[test]
fn cl_08_a_product_among_sums_in_the_switches_is_a_mismatch_that_all_hear_of() {
    let seed = seed();
    let mut rng = rng(seed);
    let world = sixteen_world(seed);
    // The odd one passes what it has to a parent that is not the odd one's own doing: rank 0, or an inner one of the tree.
    for (name, odd) in [(1, 1), (2, 5), (3, 3)] {
        let hosts = world.hosts(&[0, 2, 5, 7, 8, 11], host_options(1, 1));
        let mut group = communicators(&hosts, name, Some(&world.trees), quick());
        ranks_add_up(&mut group, &mut rng);
        for member in &mut group {
            let operation = if member.rank() == odd {
                Operation::Product
            } else {
                Operation::Sum
            };
            member
                .post_all_reduce(operation, &Data::I64(vec![2, 3]))
                .unwrap();
        }
        for list in run(&mut group, 1, &mut rng) {
            let error = list[0].as_ref().unwrap_err();
            let CollectiveError::Failed { rank, why, .. } = error else {
                panic!("{error}")
            };
            assert_eq!((*rank, *why), (odd, Why::Mismatch));
        }
    }
}

#[test]
fn cl_08_a_member_that_is_alone_has_its_own_values_and_a_counter_says_so() {
    let world = World::new(small(3, LinkSpec::default()), 1);
    let hosts = world.hosts(&[1], host_options(1, 1));
    let mut group = communicators(&hosts, 1, Some(&world.trees), Options::default());
    let alone = &mut group[0];
    let data = Data::F64(vec![0.1, -0.0, f64::MAX, 5e-324]);
    for operation in [Operation::Sum, Operation::Min, Operation::Product] {
        let outcome = alone.all_reduce(operation, data.clone()).unwrap();
        assert_eq!(bits(&outcome.data), bits(&data));
    }
    // A reproducible zero has no sign.
    let Data::F64(sums) = alone
        .all_reduce(Operation::SumReproducible, data.clone())
        .unwrap()
        .data
    else {
        panic!()
    };
    assert_eq!(
        sums.map_bits(),
        [0.1, 0.0, f64::MAX, 5e-324].map(f64::to_bits)
    );
    let whole = Data::I32(vec![-7, 0]);
    let truth = alone.all_reduce(Operation::LogicalXor, whole).unwrap();
    assert_eq!(truth.data, Data::I32(vec![1, 0]));
    let mut bytes = *b"own";
    alone.broadcast(0, &mut bytes).unwrap();
    alone.barrier().unwrap();
    assert_eq!(
        (&bytes, alone.path(), alone.counters().alone),
        (b"own", Path::Alone, 7)
    );
    assert_eq!(
        alone.counters().in_software + alone.counters().in_switches,
        0
    );
}

trait Bits {
    fn map_bits(&self) -> [u64; 4];
}

impl Bits for Vec<f64> {
    fn map_bits(&self) -> [u64; 4] {
        std::array::from_fn(|at| self[at].to_bits())
    }
}

#[test]
fn cl_08_calls_that_cannot_be_are_refused_and_nothing_is_sent() {
    let world = World::new(small(3, LinkSpec::default()), 1);
    let hosts = world.hosts(&[0, 1], host_options(1, 1));
    let [a, b] = [hosts[0].address(), hosts[1].address()];
    let create = |members: &[_]| {
        let made = Communicator::create(&hosts[0], 1, members, None, Options::default());
        made.map(drop).map_err(|e| e.to_string())
    };
    assert!(create(&[]).unwrap_err().contains("0 members"));
    assert!(create(&[a, b, a]).unwrap_err().contains("is twice"));
    assert!(create(&[b]).unwrap_err().contains("is not in the list"));
    create(&[a, b]).unwrap();
    let mut group = communicators(&hosts, 2, None, Options::default());
    let again = Communicator::create(&hosts[0], 2, &[a, b], None, Options::default());
    assert!(matches!(
        again.map(drop),
        Err(CollectiveError::NameTaken(2))
    ));
    let member = &mut group[0];
    let errors = [
        member.post_broadcast(2, vec![1]).unwrap_err().to_string(),
        member
            .post_all_reduce(Operation::And, &Data::F64(vec![1.0]))
            .unwrap_err()
            .to_string(),
        member
            .post_reduce(1, Operation::LogicalOr, &Data::F32(vec![1.0]))
            .unwrap_err()
            .to_string(),
        member
            .post_all_reduce(Operation::LogicalXor, &Data::Bytes(vec![1]))
            .unwrap_err()
            .to_string(),
        member
            .post_all_reduce(Operation::Product, &Data::Bytes(vec![1]))
            .unwrap_err()
            .to_string(),
        member
            .post_all_reduce(Operation::Product, &Data::Sums(vec![Sum::new()]))
            .unwrap_err()
            .to_string(),
        member
            .post_reduce_scatter(Operation::Sum, &Data::I64(vec![1; 3]))
            .unwrap_err()
            .to_string(),
        member
            .post_all_gather(&Data::I64Extremes(vec![]))
            .unwrap_err()
            .to_string(),
    ];
    assert_eq!(
        errors,
        [
            "there is no rank 2: the communicator has 2",
            "and is not for data of type f64",
            "logical or is not for data of type f32",
            "logical xor is not for data of type bytes",
            "product is not for data of type bytes",
            "product is not for data of type sums",
            "3 elements do not divide among 2 members",
            "gather is not for data of type extremes of i64",
        ]
    );
    assert_eq!(member.pending(), 0);
    ranks_add_up(&mut group, &mut rng(1));
}
