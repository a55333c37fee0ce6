//! REPSUM: 2^23 summands are safe and one more is not; the host refuses it before anything is sent.

mod red_common;

use red_common::*;
use tributary_protocol::red::{
    host::{
        repsum::{SUMMANDS_MAX, Sum, TooManySummands, decode, encode, fewest_summands},
        *,
    },
    ops::*,
    *,
};

/// All 40 bits of word 3 are set, and the upper 13 of word 2: no number fills a word further.
const FULLEST: u64 = ONE + (39 << 52) + ((1 << 52) - 1);

/// The sum of 2^`doublings` copies of a number.
fn copies(number: u64, doublings: u32) -> Sum {
    let mut sum = Sum::new();
    sum.push(number).expect("the first");
    for _ in 0..doublings {
        let half = sum;
        sum.add(&half).expect("within 2^23");
    }
    sum
}

/// A group of this many endpoints.
fn group(endpoints: u32) -> Group {
    let leaves = (1..endpoints).map(|n| Address::unicast(n & 0xf_ffff, 0));
    let key = Key {
        tree: 1,
        reduction: 0,
    };
    Group::new(key, 7, 1, Address::unicast(0, 1), leaves.collect())
}

fn refused(summands: u64, most: u32) -> TooManySummands {
    TooManySummands { summands, most }
}

/// 2^23 additions one by one, then the one that wraps: the words become wrong, the code says so, the decoded number does not.
#[test]
fn red_08_the_summand_after_2_to_23_wraps() {
    for (sign, negative) in [(0, false), (SIGN, true)] {
        let one = encode(FULLEST | sign);
        let mut sum = encode(0);
        for _ in 0..1 << 23 {
            sum = repsum_add(&sum, &one);
        }
        let exact = f64::from_bits(FULLEST | sign) * 2f64.powi(23);
        assert_eq!(sum.rc, Rc::OK);
        assert_eq!(
            decode(&sum, Rounding::NearestEven),
            (exact.to_bits(), Flags::default())
        );
        assert_eq!(
            copies(FULLEST | sign, 23).value(),
            &sum,
            "doubling is the same"
        );

        let wrapped = repsum_add(&sum, &one);
        assert_eq!((wrapped.rc, wrapped.oflow), (Rc::INT_OVERFLOW, 3));
        let (number, flags) = decode(&wrapped, Rounding::NearestEven);
        assert_eq!(number & SIGN != 0, !negative, "the sign has turned");
        let modulo = exact + f64::from_bits(FULLEST | sign)
            - 2f64.powi(64) * if negative { -1.0 } else { 1.0 };
        assert!((f64::from_bits(number) / modulo - 1.0).abs() < 1e-12);
        assert!(!flags.overflow && !flags.invalid, "{flags:?}");
    }
}

/// No number fills any word further than 2^40 - 1, so 2^23 of any kind fit, in whatever windows they are.
#[test]
fn red_08_no_word_of_a_number_is_beyond_40_bits() {
    let mut rng = rng(seed());
    let random = (0..pairs()).map(|_| pair(&mut rng).0).collect::<Vec<_>>();
    for number in specials().into_iter().chain(random) {
        let value = encode(number);
        for word in value.data {
            assert!((word as i64).unsigned_abs() < 1 << 40, "{number:#x}");
        }
        assert_eq!(fewest_summands(&value), 1, "{number:#x}");
    }
    assert_eq!(encode(FULLEST).data[3], (1 << 40) - 1);
    // In integers: 2^23 full words are the most below 2^63.
    let (full, most) = ((1i128 << 40) - 1, i128::from(i64::MAX));
    assert!((1 << 23) * full <= most && ((1 << 23) + 1) * full > most);
}

#[test]
fn red_08_a_sum_refuses_the_summand_after_2_to_23() {
    let full = copies(FULLEST, 23);
    assert_eq!(full.summands(), SUMMANDS_MAX);
    assert_eq!(full.value().rc, Rc::OK);

    let mut sum = full;
    let error = refused((1 << 23) + 1, 1 << 23);
    // By count: a zero takes no room and is refused as well, so that it does not depend on the data what is taken.
    for number in [FULLEST, FULLEST | SIGN, 0, QNAN] {
        assert_eq!(sum.push(number), Err(error));
        assert_eq!(sum, full, "unchanged");
    }
    assert_eq!(sum.add(&full), Err(refused(1 << 24, 1 << 23)));
    assert_eq!(sum, full);
    assert_eq!(sum.add(&Sum::new()), Ok(()), "nothing can be added to it");
    assert_eq!(
        error.to_string(),
        "a reproducible sum of 8388609 summands, where 8388608 are safe"
    );

    // One less, and one.
    let mut nearly = Sum::new();
    for doublings in 0..23 {
        nearly.add(&copies(FULLEST, doublings)).expect("room");
    }
    assert_eq!(nearly.summands(), SUMMANDS_MAX - 1);
    assert_eq!(nearly.push(FULLEST), Ok(()));
    assert_eq!(nearly, full);
}

/// The sum of 2^23 summands is decoded with one rounding, at its fullest.
#[test]
fn red_08_a_full_sum_is_decoded_exactly() {
    let full = copies(FULLEST, 23);
    let exact = f64::from_bits(FULLEST) * 2f64.powi(23);
    for rounding in Rounding::ALL {
        assert_eq!(full.decode(rounding), (exact.to_bits(), Flags::default()));
    }
    assert_eq!(
        Sum::default().decode(Rounding::Down),
        (0, Flags::default()),
        "+0 in every mode"
    );
}

#[test]
fn red_08_each_endpoint_of_a_group_has_its_share_of_2_to_23() {
    for (endpoints, each) in [
        (1, 1 << 23),
        (2, 1 << 22),
        (3, 2_796_202),
        (16, 1 << 19),
        (1 << 20, 8),
        (1 << 23, 1),
        ((1 << 23) + 1, 0),
    ] {
        let group = group(endpoints);
        assert_eq!(group.size(), endpoints);
        assert_eq!(group.summands_each(), each);
        assert!(u64::from(endpoints) * u64::from(each) <= 1 << 23);
        let one = copies(FULLEST, 0);
        let got = group.contribution(&one);
        let want = if each == 0 {
            Err(refused(1, 0))
        } else {
            Ok(*one.value())
        };
        assert_eq!(got, want, "{endpoints} endpoints");
        assert_eq!(
            group.check_contribution(Op::FltRepsum, one.value()).is_ok(),
            each > 0
        );
    }
}

/// A contribution of exactly the share is taken, one of one summand more is not, by its count and by its words.
#[test]
fn red_08_a_contribution_beyond_the_share_is_refused() {
    let group = group(16);
    let mut sum = copies(FULLEST, 19);
    assert_eq!(group.contribution(&sum), Ok(*sum.value()));
    assert_eq!(group.check_contribution(Op::FltRepsum, sum.value()), Ok(()));
    sum.push(FULLEST).expect("room in the sum");
    let error = refused((1 << 19) + 1, 1 << 19);
    assert_eq!(group.contribution(&sum), Err(error));
    assert_eq!(
        group.check_contribution(Op::FltRepsum, sum.value()),
        Err(error)
    );
    // Words of other operations mean something else, and those of infinities nothing.
    assert_eq!(group.check_contribution(Op::IntSum, sum.value()), Ok(()));
    let infinite = Value {
        m: PLUS_INF,
        ..*sum.value()
    };
    assert_eq!(group.check_contribution(Op::FltRepsum, &infinite), Ok(()));

    // Summands that cancel show in the count only: the words are safe, the count is refused all the same.
    let mut cancelled = copies(FULLEST, 19);
    cancelled.add(&copies(FULLEST | SIGN, 19)).expect("room");
    assert_eq!(fewest_summands(cancelled.value()), 1);
    assert_eq!(
        group.contribution(&cancelled),
        Err(refused(1 << 20, 1 << 19))
    );
}

/// The fewest summands of a word, by its definition.
#[test]
fn red_08_words_tell_how_many_summands_they_need() {
    let of = |word: i64, place: usize| {
        let mut value = encode(0);
        value.data[place] = word as u64;
        fewest_summands(&value)
    };
    let full = (1i64 << 40) - 1;
    for place in 0..4 {
        for (word, want) in [
            (0, 1),
            (1, 1),
            (full, 1),
            (full + 1, 2),
            (2 * full, 2),
            (2 * full + 1, 3),
            ((1 << 23) * full, 1 << 23),
            ((1 << 23) * full + 1, (1 << 23) + 1),
            (i64::MAX, (1 << 23) + 1),
        ] {
            assert_eq!(of(word, place), want, "{word:#x}");
            assert_eq!(of(-word, place), want, "-{word:#x}");
        }
        assert_eq!(of(i64::MIN, place), (1 << 23) + 1);
    }
}

/// Root, leaf and software without switches refuse before they send anything; the round stays open for a right value.
#[test]
fn red_08_endpoints_refuse_before_anything_is_sent() {
    let group = group(2);
    let share = copies(FULLEST, 22);
    let mut beyond = share;
    beyond.push(FULLEST).expect("room in the sum");
    let (right, wrong) = (*share.value(), *beyond.value());
    let error = refused((1 << 22) + 1, 1 << 22);
    let op = Op::FltRepsum;

    let mut root = Root::new(group.clone(), RootConfig::default(), 0);
    let _ = root.poll(0);
    assert_eq!(root.start(op, wrong, 0), Err(StartError::Summands(error)));
    assert_eq!((root.poll(0), root.next_deadline()), (vec![], None));
    assert_eq!(root.start(op, right, 0), Ok(0));

    let config = LeafConfig {
        wait_for_arm: false,
        ..LeafConfig::default()
    };
    let mut leaf = Leaf::new(group.clone(), Address::unicast(1, 0), config);
    assert_eq!(
        leaf.contribute(0, op, wrong, 0),
        Err(ContributeError::Summands(error))
    );
    assert_eq!((leaf.poll(0), leaf.next_deadline()), (vec![], None));
    assert_eq!(leaf.contribute(0, op, right, 0), Ok(()));
    let sent = leaf.poll(0);
    assert_eq!(sent.len(), 1);

    // Both shares together are 2^23 summands: the result is right and has no code.
    let Output::Send(bytes) = &sent[0] else {
        panic!("{sent:?}")
    };
    root.receive(bytes, 1).expect("a contribution");
    let done = root.poll(1);
    let outcome = done.iter().find_map(|o| match o {
        Output::Event(Event::Done(outcome)) => Some(*outcome),
        _ => None,
    });
    let value = outcome.expect("the round is over").value;
    assert_eq!(&value, copies(FULLEST, 23).value());
    assert_eq!(value.rc, Rc::OK);

    let mut software = Doubling::new(group, 0).expect("rank 0");
    assert_eq!(
        software.start(op, wrong),
        Err(DoublingError::Summands(error))
    );
    assert_eq!(software.poll(), vec![]);
    assert_eq!(software.start(op, right), Ok(0));
}

/// Why a full sum is refused, and no room made by carrying into the next word: the result would depend on where that was done.
#[test]
fn red_08_a_carry_before_the_end_would_depend_on_the_order() {
    let carried = |mut sum: Value| {
        for word in 0..3 {
            let carry = sum.data[word] as i64 >> 40;
            sum.data[word] &= (1 << 40) - 1;
            sum.data[word + 1] = sum.data[word + 1].wrapping_add(carry as u64);
        }
        sum
    };
    // Two of x carry from word 1 into word 2; 2^80 drops words 0 and 1.
    let x = encode((1.0 + 2f64.powi(-41)).to_bits());
    let big = encode(2f64.powi(80).to_bits());
    let orders = |add: &dyn Fn(&Value, &Value) -> Value| {
        let [first, second] = [add(&add(&x, &x), &big), add(&x, &add(&x, &big))];
        (first.data, second.data)
    };
    let (first, second) = orders(&|a, b| repsum_add(a, b));
    assert_eq!(first, second);
    let (first, second) = orders(&|a, b| carried(repsum_add(a, b)));
    assert_ne!(first, second);
}
