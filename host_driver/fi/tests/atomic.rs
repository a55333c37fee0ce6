//! Atomic operations of the engine, against a reference that computes with wide integers.

mod common;

use common::{Bytes, End, Line, pair_with, settle};
use proptest::prelude::*;
use tributary_fi::engine::{
    Atomic, EAGER, Failure, Memory, Operation, Place, Reached, Region, Regions, Type, What,
};
use tributary_fi::header::{HEADER, Header, Kind};

const LENGTH: usize = 4_096;

/// The value of an element, and back.
fn wide(of: Type, bytes: &[u8]) -> i128 {
    let mut all = [0; 16];
    all[..bytes.len()].copy_from_slice(bytes);
    let value = i128::from_le_bytes(all);
    let bits = 8 * bytes.len();
    let signed = matches!(of, Type::I8 | Type::I16 | Type::I32 | Type::I64);
    let negative = signed && value >> (bits - 1) & 1 == 1;
    value - (i128::from(negative) << bits)
}

fn integer(operation: Operation, of: Type, parts: [&[u8]; 3]) -> Vec<u8> {
    let [target, source, compare] = parts.map(|bytes| wide(of, bytes));
    let swap = |when: bool| if when { source } else { target };
    let (left, right) = (target != 0, source != 0);
    let result = match operation {
        Operation::Min => target.min(source),
        Operation::Max => target.max(source),
        Operation::Sum => target + source,
        Operation::Prod => target.wrapping_mul(source),
        Operation::Lor => i128::from(left | right),
        Operation::Land => i128::from(left & right),
        Operation::Lxor => i128::from(left ^ right),
        Operation::Bor => target | source,
        Operation::Band => target & source,
        Operation::Bxor => target ^ source,
        Operation::Read => target,
        Operation::Write => source,
        Operation::Cswap => swap(compare == target),
        Operation::CswapNe => swap(compare != target),
        Operation::CswapLe => swap(compare <= target),
        Operation::CswapLt => swap(compare < target),
        Operation::CswapGe => swap(compare >= target),
        Operation::CswapGt => swap(compare > target),
        Operation::Mswap => source & compare | target & !compare,
    };
    result.to_le_bytes()[..of.bytes()].to_vec()
}

fn elements() -> impl Strategy<Value = Vec<u8>> {
    // Small numbers, so that some are equal; and any.
    let small = prop::collection::vec(prop_oneof![Just(0u8), Just(1), Just(2), Just(255)], 64);
    prop_oneof![small, prop::collection::vec(any::<u8>(), 64)]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn cl_9_atomic_operations_of_integers_are_done_as_a_whole_within_bounds_and_rights(
        operations in prop::collection::vec(
            (0u32..19, 0u32..8, 0u64..4, 0u64..4_200, 1usize..8, elements(), elements(), any::<bool>()), 1..40,
        ),
        begin in prop_oneof![Just(vec![0; LENGTH]), prop::collection::vec(any::<u8>(), LENGTH)],
    ) {
        // Key 0 is for both, 1 for reads, 2 for writes, 3 is none.
        let regions = Regions::default();
        let memories: Vec<Bytes> = (0..3).map(|_| Bytes::new(begin.clone())).collect();
        let mut shadows = vec![begin; 3];
        for (key, memory) in memories.iter().enumerate() {
            let region = Region { memory: memory.clone(), reads: key != 2, writes: key != 1 };
            regions.lock().unwrap().insert(key as u64, region);
        }
        let (mut ends, mut lines) = pair_with(regions);
        for (number, (operation, of, key, offset, count, source, compare, fetches)) in operations.into_iter().enumerate() {
            let (operation, of) = (Operation::of(operation).unwrap(), Type::of(of).unwrap());
            let length = count * of.bytes();
            let read = operation == Operation::Read;
            let fetches = fetches || read || operation.compares();
            let mut operands = if read { Vec::new() } else { source[..length].to_vec() };
            if operation.compares() {
                operands.extend_from_slice(&compare[..length]);
            }
            let atomic = Atomic { operation, of, operands, length, fetches };
            prop_assert!(atomic.is_sound());
            let place = Place { at: 2, key, offset };
            let result = Bytes::new(vec![0xEE; if fetches { length } else { 0 }]);
            let op = number as u32;
            prop_assert_eq!(ends[0].atomic(place, &atomic, result.clone(), op), Ok(()));
            prop_assert!(ends[0].take().is_none(), "nothing has been done yet");
            settle(&mut ends, &mut lines);

            let rights = match key {
                0 => true,
                1 => read,
                2 => !fetches,
                _ => false,
            };
            let range = offset as usize..offset as usize + length;
            let good = rights && range.end <= LENGTH;
            let done = ends[0].take().expect("an end");
            prop_assert_eq!((done.op, done.failure), (op, (!good).then_some(Failure::Refused)));
            prop_assert_eq!(done.what, What::Atomic { fetched: fetches });
            let reached = good.then_some(Reached { by: 1, key, write: !fetches, length, data: None });
            prop_assert_eq!(ends[1].reached(), reached);
            if good {
                let shadow = &mut shadows[key as usize][range];
                let found = result.all().clone();
                prop_assert_eq!(&found[..], if fetches { &shadow[..] } else { &[] });
                for (at, element) in shadow.chunks_exact_mut(of.bytes()).enumerate() {
                    let at = at * of.bytes()..(at + 1) * of.bytes();
                    let after = integer(operation, of, [element, &source[at.clone()], &compare[at]]);
                    element.copy_from_slice(&after);
                }
            } else {
                prop_assert!(result.all().iter().all(|byte| *byte == 0xEE));
            }
            for (memory, shadow) in memories.iter().zip(&shadows) {
                prop_assert!(*memory.all() == *shadow);
            }
        }
        prop_assert!(ends.iter().all(End::is_drained));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    /// The reference: a copy of the memory, to which operations are done in the order in which they began. Long ones of another
    /// region are under way between them.
    #[test]
    fn cl_9_short_operations_on_memory_are_done_in_order(
        operations in prop::collection::vec((0u8..4, 0usize..1_000, 1usize..=2_048, any::<u8>()), 1..60),
    ) {
        const AREA: usize = 3_048;
        let regions = Regions::default();
        let memories = [AREA, 100_000].map(|length| Bytes::new(vec![0; length]));
        for (key, memory) in memories.iter().enumerate() {
            let region = Region { memory: memory.clone(), reads: true, writes: true };
            regions.lock().unwrap().insert(key as u64, region);
        }
        let (mut ends, mut lines) = pair_with(regions);
        let mut shadow = vec![0u8; AREA];
        let mut reads = Vec::new();
        for (number, (kind, offset, length, fill)) in operations.iter().copied().enumerate() {
            let place = Place { at: 2, key: 0, offset: offset as u64 };
            let part = &mut shadow[offset..offset + length];
            let op = number as u32;
            let begun = match kind {
                0 => {
                    let memory = Bytes::new(vec![0xEE; length]);
                    reads.push((memory.clone(), part.to_vec()));
                    ends[0].read(place, memory, op)
                }
                1 => {
                    part.fill(fill);
                    ends[0].write(place, Bytes::new(vec![fill; length]), None, op)
                }
                2 => {
                    let result = Bytes::new(vec![0; length]);
                    reads.push((result.clone(), part.to_vec()));
                    part.iter_mut().for_each(|byte| *byte = byte.wrapping_add(fill));
                    let atomic = Atomic {
                        operation: Operation::Sum,
                        of: Type::U8,
                        operands: vec![fill; length],
                        length,
                        fetches: true,
                    };
                    ends[0].atomic(place, &atomic, result, op)
                }
                _ => {
                    let place = Place { at: 2, key: 1, offset: 0 };
                    let memory = Bytes::new(vec![fill; 100_000]);
                    if fill % 2 == 0 {
                        ends[0].read(place, memory, op)
                    } else {
                        ends[0].write(place, memory, None, op)
                    }
                }
            };
            prop_assert_eq!(begun, Ok(()));
        }
        settle(&mut ends, &mut lines);
        let ended = std::iter::from_fn(|| ends[0].take()).filter(|done| done.failure.is_none());
        prop_assert_eq!(ended.count(), operations.len());
        for (found, expected) in reads {
            prop_assert!(*found.all() == expected);
        }
        prop_assert!(*memories[0].all() == shadow);
    }
}

/// Key of the one region.
const KEY: u64 = 7;

/// Two ends, of which the second has this memory for everything.
fn with_memory(bytes: Vec<u8>) -> (Bytes, [End; 2], [Line; 2]) {
    let regions = Regions::default();
    let memory = Bytes::new(bytes);
    let region = Region {
        memory: memory.clone(),
        reads: true,
        writes: true,
    };
    regions.lock().unwrap().insert(KEY, region);
    let (ends, lines) = pair_with(regions);
    (memory, ends, lines)
}

/// What every operation does to a zero, a NaN and numbers.
#[test]
fn cl_9_atomic_operations_of_floats() {
    let (memory, mut ends, mut lines) = with_memory(vec![0; 16]);
    let place = Place {
        at: 2,
        key: KEY,
        offset: 8,
    };
    let mut one = |operation: Operation, target: f64, source: f64, compare: f64| {
        let mut start = memory.clone();
        start.write(8, &target.to_le_bytes());
        let mut operands = source.to_le_bytes().to_vec();
        if operation.compares() {
            operands.extend(compare.to_le_bytes());
        }
        let atomic = Atomic {
            operation,
            of: Type::F64,
            operands,
            length: 8,
            fetches: true,
        };
        let found = Bytes::new(vec![0; 8]);
        ends[0].atomic(place, &atomic, found.clone(), 1).unwrap();
        settle(&mut ends, &mut lines);
        assert_eq!(ends[0].take().unwrap().failure, None);
        assert_eq!(*found.all(), target.to_le_bytes());
        f64::from_le_bytes(memory.all()[8..].try_into().unwrap())
    };
    assert_eq!(one(Operation::Sum, 0.1, 0.2, 0.0), 0.1 + 0.2);
    assert_eq!(one(Operation::Prod, 3.0, -0.5, 0.0), -1.5);
    assert_eq!(one(Operation::Min, 3.0, -0.5, 0.0), -0.5);
    assert_eq!(one(Operation::Max, 3.0, f64::INFINITY, 0.0), f64::INFINITY);
    // A NaN compares with nothing: what is there stays.
    assert_eq!(one(Operation::Max, 3.0, f64::NAN, 0.0), 3.0);
    assert_eq!(one(Operation::Cswap, 0.0, 5.0, -0.0), 5.0);
    assert!(one(Operation::Cswap, f64::NAN, 5.0, f64::NAN).is_nan());
    assert_eq!(one(Operation::CswapLt, 2.0, 5.0, 1.5), 5.0);
    assert_eq!(one(Operation::CswapGt, 2.0, 5.0, 1.5), 2.0);
    assert_eq!(one(Operation::Lor, 0.0, -7.0, 0.0), 1.0);
    assert_eq!(one(Operation::Land, 0.0, -7.0, 0.0), 0.0);
    assert_eq!(one(Operation::Lxor, 2.0, -7.0, 0.0), 0.0);
    assert_eq!(one(Operation::Write, 2.0, -7.0, 0.0), -7.0);
}

/// Requests that make no sense, and answers to none.
#[test]
fn cl_9_atomic_requests_that_make_no_sense_change_nothing() {
    let (memory, mut ends, mut lines) = with_memory(vec![1; 64]);
    let place = Place {
        at: 2,
        key: KEY,
        offset: 0,
    };
    let sound = Atomic {
        operation: Operation::Sum,
        of: Type::I64,
        operands: vec![1; 16],
        length: 16,
        fetches: false,
    };
    let unsound = [
        // No elements, parts of one, too few operands, too many, more than an operation may have, bits of floats.
        (Operation::Sum, Type::I64, 0, 0),
        (Operation::Sum, Type::I64, 12, 12),
        (Operation::Sum, Type::I64, 16, 8),
        (Operation::Read, Type::I64, 16, 16),
        (Operation::Cswap, Type::I64, 16, 16),
        (Operation::Sum, Type::I8, 5_000, 5_000),
        (Operation::Bor, Type::F64, 16, 16),
    ];
    for (number, (operation, of, length, operands)) in unsound.into_iter().enumerate() {
        let atomic = Atomic {
            operation,
            of,
            operands: vec![1; operands],
            length,
            fetches: false,
        };
        assert!(!atomic.is_sound());
        let nothing = Bytes::new(Vec::new());
        ends[0]
            .atomic(place, &atomic, nothing, number as u32)
            .unwrap();
        settle(&mut ends, &mut lines);
        assert!(ends[0].take().is_none() && ends[1].reached().is_none());
        assert!(memory.all().iter().all(|byte| *byte == 1));
    }
    // Any bit of a request may be wrong.
    for bit in 0..8 * (40 + 8) {
        let nothing = Bytes::new(Vec::new());
        ends[0].atomic(place, &sound, nothing, 100).unwrap();
        ends[0].pump(&mut lines[0]);
        for (_, _, message) in &mut lines[0].queue {
            message[bit / 8] ^= 1 << (bit % 8);
        }
        settle(&mut ends, &mut lines);
    }
    assert_eq!(memory.all().len(), 64);
    // One that nobody asked for, in answer to one that is not there, and that is too long.
    let found = Bytes::new(vec![0; 16]);
    let fetch = Atomic {
        fetches: true,
        ..sound
    };
    ends[0].atomic(place, &fetch, found.clone(), 200).unwrap();
    ends[0].pump(&mut lines[0]);
    ends[0].pump(&mut lines[0]);
    lines[0].queue.clear();
    for id in 0..1_000u32 {
        let mut answer = Header::new(Kind::Ack, id, 0, 0, 0).encode().to_vec();
        Header::stamp(&mut answer, 0, 1, None);
        answer.resize(HEADER + EAGER, 0xAB);
        ends[0].arrived(2, &answer);
    }
    let ended: Vec<_> = std::iter::from_fn(|| ends[0].take())
        .filter(|done| done.op == 200)
        .map(|done| done.failure)
        .collect();
    assert_eq!(ended, [Some(Failure::Refused)]);
    assert!(found.all().iter().all(|byte| *byte == 0));
}
