//! Contributions that an engine takes together: their value, what is taken, and that nothing changes where it is not.

mod red_common;

use proptest::{collection::vec, prelude::*, sample::select};
use red_common::{INF, ONE, frame, specials};
use tributary_protocol::red::{ops::combine, *};

const KEY: Key = Key {
    tree: 77,
    reduction: 3,
};
const SEQNO: u16 = 9;

fn arm(seqno: u16) -> Frame {
    let mut f = frame(KEY.address(), 0, Op::Barrier, [0; 4]);
    (f.red.arm, f.red.seqno, f.red.count) = (true, seqno, 0);
    f
}

/// A brief contribution.
fn brief(source: u32, op: Op, word: u64) -> Frame {
    let mut f = frame(KEY.address(), source, op, [word, 0, 0, 0]);
    (f.red.seqno, f.red.resno) = (SEQNO, SEQNO);
    f
}

fn armed(wait: u32, mode: Mode) -> Engine {
    let config = EngineConfig {
        mode,
        ..EngineConfig::default()
    };
    let mut e = Engine::new(config).expect("legal");
    assert_eq!(e.down(&arm(SEQNO), wait, 0), Down::Armed(0));
    e
}

fn all_but_repsum() -> impl Iterator<Item = Op> {
    Op::ALL.iter().copied().filter(|&op| op != Op::FltRepsum)
}

const MODES: [Mode; 2] = [Mode { ieee_nan: false }, Mode { ieee_nan: true }];

/// So words 1 to 3 of brief contributions need no lane, whatever word 0 is.
#[test]
fn red_01_words_that_are_zero_stay_zero_and_have_no_code() {
    let words = specials();
    for (op, mode) in all_but_repsum().flat_map(|op| MODES.map(|mode| (op, mode))) {
        let of = |word| Value {
            data: [word, 0, 0, 0],
            ..Value::default()
        };
        assert_eq!(combine(op, mode, &of(0), &of(0)), of(0), "{op}");
        for (&a, &b) in words.iter().zip(words.iter().rev().skip(1)) {
            let one = combine(op, mode, &of(a), &of(b));
            assert_eq!(one.data[1..], [0; 3], "{op} of {a:#x} and {b:#x}");
            // The code is that of word 0 alone: it is the same if word 2 does the same as word 0.
            let twice = |word| Value {
                data: [word, 0, word, 0],
                ..Value::default()
            };
            let same = combine(op, mode, &twice(a), &twice(b));
            assert_eq!(same.rc, one.rc, "{op} of {a:#x} and {b:#x}");
        }
    }
}

#[test]
fn red_09_what_is_brief() {
    let good = brief(1, Op::FltSumNearest, ONE);
    assert!(good.is_brief());
    let no = |change: &dyn Fn(&mut Frame)| {
        let mut other = good;
        change(&mut other);
        assert!(!other.is_brief() && !other.goes_with(&good) && !good.goes_with(&other));
    };
    no(&|f| f.data[1] = 1);
    no(&|f| f.data[2] = 1);
    no(&|f| f.data[3] = 1 << 63);
    no(&|f| f.red.arm = true);
    no(&|f| f.restricted.opcode = 1);
    no(&|f| f.red.op = Op::FltRepsum);
    for code in 8..16 {
        no(&|f| f.red.rc = Rc::new(code));
    }
    for code in 0..8 {
        let mut other = good;
        other.red.rc = Rc::new(code);
        assert!(other.is_brief() && other.goes_with(&good));
    }
    // What is free outside the reduction header, and the source, may differ.
    let mut other = brief(2, Op::FltSumNearest, 5);
    (other.fabric.dscp, other.fabric.ttl, other.restricted.flush) = (9, 3, true);
    other.restricted.remote_offset = 77;
    assert!(other.goes_with(&good));
    // The reduction header, VNI, tree and reduction id may not.
    let apart = |change: &dyn Fn(&mut Frame)| {
        let mut other = good;
        change(&mut other);
        assert!(other.is_brief() && !other.goes_with(&good) && !good.goes_with(&other));
    };
    apart(&|f| f.red.seqno = 10);
    apart(&|f| f.red.resno = 10);
    apart(&|f| f.red.count = 2);
    apart(&|f| f.red.m = 1);
    apart(&|f| f.red.oflow = 1);
    apart(&|f| f.red.pad = 1);
    apart(&|f| f.red.cookie ^= 1);
    apart(&|f| f.red.op = Op::FltSumUp);
    apart(&|f| f.fabric.vni ^= 1);
    let other = Key {
        reduction: 4,
        ..KEY
    };
    apart(&|f| f.fabric.dfa = other.address());
}

#[test]
fn red_09_neighbours_are_combined_level_by_level() {
    // Sums that show every order: 2^53 swallows a one, not a two.
    let [big, one] = [2f64.powi(53), 1.0].map(f64::to_bits);
    let sum = |words: &[u64]| {
        let frames: Vec<Frame> = (1..)
            .zip(words)
            .map(|(source, &word)| brief(source, Op::FltSumNearest, word))
            .collect();
        let mut e = armed(words.len() as u32, Mode::default());
        let Some(Together {
            up: Up::Result(out),
            was_empty: true,
        }) = e.up_together(&frames)
        else {
            panic!("no result");
        };
        assert_eq!(out.red.count, words.len() as u32);
        assert_eq!(e.counters.get(Counter::Combined), words.len() as u64);
        assert_eq!((e.counters.get(Counter::Results), e.in_use()), (1, 0));
        (f64::from_bits(out.data[0]), out.red.rc)
    };
    let big_plus = |more: f64| 2f64.powi(53) + more;
    assert_eq!(sum(&[big, one, one]), (big_plus(0.0), Rc::FLT_INEXACT));
    assert_eq!(sum(&[one, one, big]), (big_plus(2.0), Rc::OK));
    assert_eq!(sum(&[big, 0, one, one]), (big_plus(2.0), Rc::OK));
    assert_eq!(sum(&[big, one, one, one]), (big_plus(2.0), Rc::FLT_INEXACT));
    // The fifth is alone on two levels.
    assert_eq!(
        sum(&[big, 0, 0, one, one]),
        (big_plus(0.0), Rc::FLT_INEXACT)
    );
    assert_eq!(sum(&[0, 0, big, 0, one, one]), (big_plus(2.0), Rc::OK));
    // The seventh meets the sum of the two before it.
    assert_eq!(sum(&[big, 0, 0, 0, one, 0, one]), (big_plus(2.0), Rc::OK));
}

#[test]
fn red_11_what_is_taken_together_counts_all_and_too_many_are_reported() {
    let three = |count: u32| {
        [1, 2, 3].map(|source| {
            let mut f = brief(source, Op::IntSum, 5);
            f.red.count = count;
            f
        })
    };
    let mut e = armed(20, Mode::default());
    let first = Together {
        up: Up::Absorbed,
        was_empty: true,
    };
    assert_eq!(e.up_together(&three(3)), Some(first));
    let held = e.descriptors()[0].and_then(|d| d.partial).expect("a value");
    assert_eq!((held.count, held.value.data), (9, [15, 0, 0, 0]));
    assert_eq!(held.source, three(3)[0].fabric.sfa);
    let again = e.up_together(&three(4)).expect("taken");
    assert!(!again.was_empty);
    let Up::Result(out) = again.up else {
        panic!("no result: {again:?}");
    };
    assert_eq!(
        (out.red.count, out.red.rc, out.data),
        (21, Rc::CONTR_OVERFLOW, [30, 0, 0, 0])
    );
    assert_eq!(e.counters.get(Counter::Combined), 6);
    // The count stops at its width.
    let mut e = armed(wire::COUNT_MAX, Mode::default());
    let most = e.up_together(&three(wire::COUNT_MAX / 2)).expect("taken");
    let Up::Result(out) = most.up else {
        panic!("no result: {most:?}");
    };
    assert_eq!((out.red.count, out.red.rc), (wire::COUNT_MAX, Rc::OK));
}

/// Nothing is taken, and nothing is changed, of descriptors or counters.
fn refused(e: &mut Engine, frames: &[Frame]) {
    let before = (e.descriptors().to_vec(), e.counters.clone());
    assert_eq!(e.up_together(frames), None);
    assert_eq!((e.descriptors().to_vec(), e.counters.clone()), before);
}

#[test]
fn red_09_red_10_red_14_what_would_not_all_be_combined_is_not_taken() {
    let three = |change: &dyn Fn(&mut Frame)| {
        [1, 2, 3].map(|source| {
            let mut f = brief(source, Op::IntSum, 5);
            change(&mut f);
            f
        })
    };
    let as_is = three(&|_| ());
    refused(
        &mut Engine::new(EngineConfig::default()).expect("legal"),
        &as_is,
    );
    let empty = armed(9, Mode::default());
    let mut held = empty.clone();
    assert_eq!(held.up(&brief(7, Op::IntSum, 1)), Up::Absorbed);
    for mut e in [empty, held] {
        for n in 0..3 {
            refused(&mut e, &as_is[..n]);
        }
        refused(&mut e, &three(&|f| f.fabric.vni ^= 1));
        refused(&mut e, &three(&|f| f.red.cookie ^= 1));
        refused(&mut e, &three(&|f| f.red.seqno = SEQNO - 1));
        refused(&mut e, &three(&|f| f.red.seqno = SEQNO + 1));
        refused(&mut e, &three(&|f| f.red.arm = true));
        refused(&mut e, &three(&|f| f.data[3] = 1));
        refused(&mut e, &three(&|f| f.red.op = Op::FltRepsum));
        refused(&mut e, &three(&|f| f.red.rc = Rc::OP_MISMATCH));
        // One that does not go with the others.
        for at in 0..3 {
            let mut odd = as_is;
            odd[at].red.count = 2;
            refused(&mut e, &odd);
        }
        assert!(e.up_together(&as_is).is_some());
    }
    // Another operation before, and a mismatch, its own or found below.
    let mut e = armed(9, Mode::default());
    assert_eq!(e.up(&brief(7, Op::IntMin, 1)), Up::Absorbed);
    refused(&mut e, &as_is);
    assert_eq!(e.up(&brief(8, Op::IntSum, 1)), Up::Absorbed);
    refused(&mut e, &as_is);
    refused(&mut e, &three(&|f| f.red.op = Op::IntMin));
    let mut e = armed(9, Mode::default());
    let mut below = brief(7, Op::IntSum, 1);
    below.red.rc = Rc::OP_MISMATCH;
    assert_eq!(e.up(&below), Up::Absorbed);
    refused(&mut e, &as_is);
}

/// Operations whose words and codes do not depend on the order, with words for which that holds.
fn any_order() -> impl Strategy<Value = (Op, Vec<u64>)> {
    use Op::*;
    let words = prop_oneof![any::<u64>(), select(specials())];
    let free = [
        Barrier,
        And,
        Or,
        Xor,
        IntMin,
        IntMax,
        IntMinmaxloc,
        Int32Min,
        Int32Max,
        FltMinnum,
        FltMaxnum,
        FltMinmaxnumloc,
        Flt32Minnum,
        Flt32Maxnum,
    ];
    let free = (select(free.to_vec()), vec(words, 3..17));
    // Sums whose codes do not, since nothing overflows.
    let small = (select(vec![IntSum, Int32Sum]), vec(0..1u64 << 20, 3..17));
    prop_oneof![free, small]
}

/// The values one after the other, the way that a tree of pairs splits them: as many as the largest power of two that is less.
fn tree(op: Op, mode: Mode, values: &[Value]) -> Value {
    if let [one] = values {
        return *one;
    }
    let mut left = 1;
    while 2 * left < values.len() {
        left *= 2;
    }
    let [low, high] = [&values[..left], &values[left..]].map(|half| tree(op, mode, half));
    combine(op, mode, &low, &high)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn red_09_red_11_taken_together_is_one_after_another_where_the_order_does_not_matter(
        (op, words) in any_order(),
        codes in vec(0u8..8, 16),
        count in 1u32..5,
        before in any::<bool>(),
        spare in 0u32..3,
    ) {
        let frames: Vec<Frame> = (0u32..).zip(words.iter().zip(&codes)).map(|(source, (&word, &code))| {
            let mut f = brief(source, op, word);
            (f.red.count, f.red.rc) = (count, Rc::new(code));
            f
        }).collect();
        let wait = (frames.len() as u32 + u32::from(before)) * count + spare;
        let mut one_by_one = armed(wait, Mode::default());
        if before {
            prop_assert_eq!(one_by_one.up(&frames[0]), Up::Absorbed);
        }
        let mut together = one_by_one.clone();
        let ups: Vec<Up> = frames.iter().map(|f| one_by_one.up(f)).collect();
        let got = together.up_together(&frames).expect("taken");
        prop_assert_eq!(Some(&got.up), ups.last());
        prop_assert_eq!(got.was_empty, !before);
        prop_assert_eq!(together.descriptors(), one_by_one.descriptors());
        prop_assert_eq!(&together.counters, &one_by_one.counters);
    }

    #[test]
    fn red_05_red_09_taken_together_every_operation_is_a_tree_of_pairs(
        op in select(all_but_repsum().collect::<Vec<_>>()),
        ieee_nan in any::<bool>(),
        words in vec(prop_oneof![select(specials()), (-99i32..99).prop_map(|n| (f64::from(n) / 7.0).to_bits())], 3..17),
        codes in vec(0u8..8, 16),
        before in prop::option::of(select(vec![0, ONE, INF | 5])),
    ) {
        let mode = Mode { ieee_nan };
        let frames: Vec<Frame> = (0u32..).zip(words.iter().zip(&codes)).map(|(source, (&word, &code))| {
            let mut f = brief(source, op, word);
            f.red.rc = Rc::new(code);
            f
        }).collect();
        let values: Vec<Value> = frames.iter().map(Frame::value).collect();
        let mut wanted = tree(op, mode, &values);
        let mut e = armed(100, mode);
        if let Some(word) = before {
            let first = brief(99, op, word);
            prop_assert_eq!(e.up(&first), Up::Absorbed);
            wanted = combine(op, mode, &first.value(), &wanted);
        }
        let got = e.up_together(&frames).expect("taken");
        prop_assert_eq!(got, Together { up: Up::Absorbed, was_empty: before.is_none() });
        let held = e.descriptors()[0].and_then(|d| d.partial).expect("a value");
        prop_assert_eq!((held.value, held.op), (wanted, op));
        prop_assert_eq!(held.count as usize, frames.len() + usize::from(before.is_some()));
    }
}
