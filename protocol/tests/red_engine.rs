//! The engine of a port, rule by rule, and under any mix of frames.

mod red_common;

use proptest::prelude::*;
use red_common::{INF, SIGN, frame};
use tributary_protocol::red::{engine::TIMEOUT_UNIT, *};

const KEY: Key = Key {
    tree: 77,
    reduction: 3,
};

fn engine() -> Engine {
    Engine::new(EngineConfig {
        address: Address::unicast(0xabcde, 1),
        ..EngineConfig::default()
    })
    .expect("legal")
}

fn arm(seqno: u16) -> Frame {
    let mut f = frame(KEY.address(), 0, Op::Barrier, [0; 4]);
    (f.red.arm, f.red.seqno, f.red.count) = (true, seqno, 0);
    f
}

fn contribution(seqno: u16, source: u32, op: Op, word: u64) -> Frame {
    let mut f = frame(KEY.address(), source, op, [word; 4]);
    (f.red.seqno, f.red.resno) = (seqno, seqno);
    f
}

fn armed(seqno: u16, wait: u32) -> Engine {
    let mut e = engine();
    assert_eq!(e.down(&arm(seqno), wait, 0), Down::Armed(0));
    e
}

fn result(up: Up) -> Frame {
    match up {
        Up::Result(frame) => frame,
        other => panic!("no result: {other:?}"),
    }
}

#[test]
fn red_15_a_result_is_built_anew_with_resno_equal_to_seqno() {
    let mut e = armed(5, 3);
    let mut first = contribution(5, 1, Op::IntSum, 10);
    first.red.pad = 7;
    first.red.resno = 4;
    first.fabric.dscp = 9;
    (first.red.m, first.red.oflow) = (9, 2);
    assert_eq!(e.up(&first), Up::Absorbed);
    assert_eq!(e.up(&contribution(5, 2, Op::IntSum, 20)), Up::Absorbed);
    let out = result(e.up(&contribution(5, 3, Op::IntSum, 30)));
    assert_eq!(out.data, [60; 4]);
    assert_eq!((out.red.seqno, out.red.resno, out.red.count), (5, 5, 3));
    assert_eq!((out.red.pad, out.fabric.dscp, out.fabric.ttl), (0, 0, 64));
    assert_eq!(
        (out.red.m, out.red.oflow, out.red.rc, out.red.arm),
        (0, 0, Rc::OK, false)
    );
    assert_eq!(
        (out.fabric.sfa, out.fabric.dfa),
        (Address::unicast(0xabcde, 1), KEY.address())
    );
    assert_eq!(
        (out.fabric.vni, out.red.cookie),
        (first.fabric.vni, first.red.cookie)
    );
    assert_eq!(e.in_use(), 0);
    // A late one passes (RED-12).
    assert_eq!(e.up(&first), Up::Pass);
}

#[test]
fn red_09_another_operation_is_reported_with_both_sources_and_still_counts() {
    let mut e = armed(1, 4);
    assert_eq!(e.up(&contribution(1, 11, Op::IntSum, 5)), Up::Absorbed);
    assert_eq!(e.up(&contribution(1, 12, Op::IntMin, 6)), Up::Absorbed);
    // The right operation again, and another wrong one: neither is combined.
    assert_eq!(e.up(&contribution(1, 13, Op::IntSum, 7)), Up::Absorbed);
    let out = result(e.up(&contribution(1, 14, Op::IntMax, 8)));
    let address = |n| u64::from(Address::unicast(n, 0).0);
    assert_eq!(out.data, [address(11) << 32 | address(12), 0, 0, 0]);
    assert_eq!(
        (out.red.rc, out.red.op, out.red.count),
        (Rc::OP_MISMATCH, Op::IntSum, 4)
    );
}

#[test]
fn red_09_a_mismatch_found_below_keeps_its_sources() {
    let mut e = armed(1, 3);
    assert_eq!(e.up(&contribution(1, 11, Op::IntSum, 5)), Up::Absorbed);
    let mut below = contribution(1, 12, Op::IntMin, 0xabc);
    below.red.rc = Rc::OP_MISMATCH;
    assert_eq!(e.up(&below), Up::Absorbed);
    let out = result(e.up(&contribution(1, 13, Op::IntSum, 5)));
    assert_eq!((out.data, out.red.rc), ([0xabc; 4], Rc::OP_MISMATCH));
}

#[test]
fn red_10_foreign_vni_is_dropped_and_foreign_cookie_passes() {
    let mut e = armed(1, 2);
    let good = contribution(1, 11, Op::IntSum, 5);
    let mut vni = good;
    vni.fabric.vni ^= 1;
    let mut cookie = good;
    cookie.red.cookie ^= 1;
    let mut other = good;
    other.fabric.dfa = Key {
        reduction: 4,
        ..KEY
    }
    .address();
    assert_eq!(e.up(&vni), Up::Drop(Counter::ForeignVni));
    assert_eq!(e.up(&cookie), Up::Pass);
    assert_eq!(e.up(&other), Up::Pass);
    assert_eq!(e.up(&good), Up::Absorbed);
    assert_eq!(e.counters.get(Counter::ForeignVni), 1);
    assert_eq!(e.counters.get(Counter::Passed), 2);
    assert_eq!(e.counters.get(Counter::Combined), 1);
    // A descriptor cannot be taken by another job; another group of the same job may.
    vni.red.arm = true;
    assert_eq!(e.down(&vni, 2, 9), Down::Ignored(Counter::ForeignVni));
    assert_eq!(e.down(&cookie, 2, 9), Down::Nothing);
    cookie.red.arm = true;
    assert_eq!(e.down(&cookie, 2, 9), Down::Armed(0));
    assert_eq!(e.up(&good), Up::Pass);
}

#[test]
fn red_11_more_contributions_than_expected_are_reported() {
    let mut e = armed(1, 3);
    let mut two = contribution(1, 11, Op::IntSum, 5);
    two.red.count = 2;
    assert_eq!(e.up(&two), Up::Absorbed);
    let out = result(e.up(&two));
    assert_eq!(
        (out.red.rc, out.red.count, out.data),
        (Rc::CONTR_OVERFLOW, 4, [10; 4])
    );
    // Of the first contribution too, and the count stops at its width.
    let mut e = armed(1, wire::COUNT_MAX);
    let mut many = two;
    many.red.count = wire::COUNT_MAX - 1;
    assert_eq!(e.up(&many), Up::Absorbed);
    let out = result(e.up(&two));
    assert_eq!((out.red.count, out.red.rc), (wire::COUNT_MAX, Rc::OK));
    let mut e = armed(1, 1);
    assert_eq!(result(e.up(&two)).red.rc, Rc::CONTR_OVERFLOW);
}

#[test]
fn red_12_timeouts_by_wait_count() {
    for (wait, timeout) in [
        (1, 10),
        (7, 10),
        (8, 20),
        (63, 20),
        (64, 30),
        (511, 30),
        (512, 40),
        (1000, 40),
    ] {
        let mut e = Engine::new(EngineConfig {
            timeouts: [10, 20, 30, 40],
            ..EngineConfig::default()
        })
        .expect("legal");
        let start = 5 * TIMEOUT_UNIT + 100;
        e.down(&arm(1), wait, start);
        let until = e.next_deadline().expect("armed");
        assert_eq!(until, (5 + timeout + 1) * TIMEOUT_UNIT, "wait {wait}");
        assert!((timeout * TIMEOUT_UNIT..=(timeout + 1) * TIMEOUT_UNIT).contains(&(until - start)));
        assert!(e.expire(until - 1).is_empty());
        assert_eq!(e.in_use(), 1);
        // Nothing came: nothing is sent.
        assert!(e.expire(until).is_empty());
        assert_eq!((e.in_use(), e.counters.get(Counter::ExpiredEmpty)), (0, 1));
    }
}

#[test]
fn red_12_a_partial_goes_up_on_timeout_and_a_late_frame_passes() {
    let mut e = armed(1, 3);
    assert_eq!(e.up(&contribution(1, 1, Op::FltMin, SIGN)), Up::Absorbed);
    let out = e.expire(e.next_deadline().expect("armed"));
    assert_eq!(out.len(), 1);
    assert_eq!(
        (out[0].red.count, out[0].data, out[0].red.op),
        (1, [SIGN; 4], Op::FltMin)
    );
    assert_eq!(e.up(&contribution(1, 2, Op::FltMin, 0)), Up::Pass);
    assert_eq!(e.expire_descriptor(0), None);
    assert_eq!(e.expire_descriptor(99), None);
    assert_eq!(e.counters.get(Counter::Partials), 1);
}

#[test]
fn red_13_arming_twice_clears() {
    let mut e = armed(1, 2);
    assert_eq!(e.up(&contribution(1, 1, Op::IntSum, 100)), Up::Absorbed);
    assert_eq!(e.down(&arm(1), 2, 50), Down::Armed(0));
    assert_eq!(e.up(&contribution(1, 1, Op::IntSum, 1)), Up::Absorbed);
    let out = result(e.up(&contribution(1, 2, Op::IntSum, 2)));
    assert_eq!((out.data, out.red.count), ([3; 4], 2));
}

#[test]
fn red_14_newer_releases_and_older_is_dropped_across_the_wrap() {
    let mut e = armed(1023, 2);
    assert_eq!(e.up(&contribution(1023, 1, Op::IntSum, 100)), Up::Absorbed);
    assert_eq!(
        e.up(&contribution(1022, 2, Op::IntSum, 1)),
        Up::Drop(Counter::OldSeqno)
    );
    // Half the circle away is neither newer nor equal: old.
    assert_eq!(
        e.up(&contribution(511, 2, Op::IntSum, 1)),
        Up::Drop(Counter::OldSeqno)
    );
    // A contribution to a round that this engine has not heard of passes.
    assert_eq!(e.up(&contribution(0, 2, Op::IntSum, 1)), Up::Pass);
    assert_eq!(e.down(&arm(1022), 2, 1), Down::Ignored(Counter::OldSeqno));
    // The next round: what was in the descriptor is discarded.
    assert_eq!(e.down(&arm(0), 2, 1), Down::Armed(0));
    assert_eq!(
        e.up(&contribution(1023, 2, Op::IntSum, 1)),
        Up::Drop(Counter::OldSeqno)
    );
    assert_eq!(e.up(&contribution(0, 2, Op::IntSum, 1)), Up::Absorbed);
    // A result without arm, of the same round or a newer one, frees.
    let mut end = arm(0);
    end.red.arm = false;
    assert_eq!(e.down(&end, 2, 2), Down::Released(0));
    assert_eq!(e.down(&end, 2, 2), Down::Nothing);
    assert_eq!((e.in_use(), e.counters.get(Counter::Released)), (0, 1));
}

#[test]
fn red_16_without_a_free_descriptor_everything_passes() {
    let mut e = engine();
    for reduction in 0..8 {
        let mut f = arm(1);
        f.fabric.dfa = Key { tree: 1, reduction }.address();
        assert_eq!(e.down(&f, 2, 0), Down::Armed(reduction.into()));
    }
    assert_eq!(e.down(&arm(1), 2, 0), Down::Ignored(Counter::NoDescriptor));
    assert_eq!(e.up(&contribution(1, 1, Op::IntSum, 1)), Up::Pass);
}

#[test]
fn red_17_arming_from_below_is_dropped_and_wait_count_0_does_nothing() {
    let mut e = engine();
    assert_eq!(e.down(&arm(1), 0, 0), Down::Nothing);
    assert_eq!(e.up(&arm(1)), Up::Drop(Counter::ArmUpwards));
    let mut unicast = arm(1);
    unicast.fabric.dfa = Address::unicast(1, 1);
    assert_eq!(e.down(&unicast, 2, 0), Down::Nothing);
    unicast.red.arm = false;
    assert_eq!(e.up(&unicast), Up::Pass);
    assert_eq!(e.in_use(), 0);
}

#[test]
fn red_09_the_first_contribution_is_kept_to_the_bit() {
    let mut e = armed(1, 1);
    let snan = INF | SIGN | 5;
    let out = result(e.up(&contribution(1, 1, Op::FltSumNearestFtz, snan)));
    assert_eq!((out.data, out.red.rc), ([snan; 4], Rc::OK));
    let mut e = armed(1, 2);
    let mut sum = contribution(1, 1, Op::FltRepsum, 1);
    (sum.red.m, sum.red.rc, sum.red.oflow) = (-3, Rc::INT_OVERFLOW, 1);
    assert_eq!(e.up(&sum), Up::Absorbed);
    let out = result(e.up(&contribution(1, 2, Op::FltRepsum, 0)));
    assert_eq!(
        (out.red.m, out.red.rc, out.red.oflow),
        (0, Rc::REPSUM_INEXACT, 0)
    );
}

#[test]
fn red_12_settings_that_do_not_fit_are_refused() {
    let with = |timeout, threshold, descriptors| EngineConfig {
        timeouts: [timeout; 4],
        thresholds: [threshold; 3],
        descriptors,
        ..EngineConfig::default()
    };
    assert!(Engine::new(with(1 << 24, 1, 8)).is_err());
    assert!(Engine::new(with(1, 1 << 20, 8)).is_err());
    assert!(Engine::new(with(1, 1, usize::MAX)).is_err());
    let error = Engine::new(with(1 << 24, 1, 8)).expect_err("too large");
    assert_eq!(
        error.to_string(),
        "timeout is 16777216, the most is 16777215"
    );
    assert!(Engine::new(with((1 << 24) - 1, (1 << 20) - 1, 0)).is_ok());
}

/// Frames of few keys, groups and rounds, so that they meet.
fn any_frame() -> impl Strategy<Value = Frame> {
    let id = (0u16..3, 0u8..2, 0u16..2, 0u32..2, 0u16..4, any::<bool>());
    let body = (
        proptest::sample::select(Op::ALL),
        1u32..4,
        0u8..9,
        120i8..=127,
        [0u64..3, 0..3, 0..3, 0..3],
    );
    (id, body, 0u32..5).prop_map(|(id, body, source)| {
        let mut f = frame(
            Key {
                tree: id.0,
                reduction: id.1,
            }
            .address(),
            source,
            body.0,
            body.4,
        );
        f.fabric.vni = id.2;
        f.red.cookie = id.3;
        f.red.seqno = (1022 + id.4) % 1024;
        f.red.arm = id.5;
        (f.red.count, f.red.rc, f.red.m) = (body.1, Rc::new(body.2), body.3);
        f
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    /// Whatever came, in whatever order: once it is quiet, every descriptor is free within one timeout; and what went
    /// into descriptors is what came out, but for what a newer round discarded.
    #[test]
    fn red_16_every_descriptor_is_free_within_one_timeout(
        steps in proptest::collection::vec((any_frame(), 0u32..6, any::<bool>(), 0u64..5000), 0..200),
        timeouts in proptest::array::uniform4(0u32..20),
        descriptors in 0usize..5,
    ) {
        let mut e = Engine::new(EngineConfig { timeouts, descriptors, ..EngineConfig::default() }).expect("legal");
        let (mut now, mut absorbed, mut sent, mut discarded) = (0, 0u32, 0u32, 0u32);
        let held = |e: &Engine| e.descriptors().iter().flatten().filter_map(|d| d.partial).map(|p| p.count).sum::<u32>();
        for (f, wait, down, pause) in steps {
            now += pause;
            sent += e.expire(now).iter().map(|f| f.red.count).sum::<u32>();
            if down {
                let before = held(&e);
                e.down(&f, wait, now);
                discarded += before - held(&e);
                continue;
            }
            match e.up(&f) {
                Up::Absorbed => absorbed += f.red.count,
                Up::Result(out) => {
                    absorbed += f.red.count;
                    sent += out.red.count;
                    prop_assert_eq!(out.red.seqno, out.red.resno);
                    prop_assert!(out.check_up().is_ok());
                }
                Up::Pass | Up::Drop(_) => {}
            }
            prop_assert_eq!(absorbed, sent + discarded + held(&e));
        }
        let longest = u64::from(*timeouts.iter().max().expect("four"));
        sent += e.expire(now + (longest + 1) * TIMEOUT_UNIT).iter().map(|f| f.red.count).sum::<u32>();
        prop_assert_eq!(e.in_use(), 0);
        prop_assert_eq!(absorbed, sent + discarded);
        prop_assert_eq!(e.next_deadline(), None);
    }
}
