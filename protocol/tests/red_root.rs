//! The root in hardware (CL-6): its card answers results, whatever its host does at the same moment.

mod red_common;

use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use red_common::fabric::*;
use tributary_protocol::red::{answer::Answers, host::*, ops::Rc, *};

const HOSTS: usize = 9;
const ROOT: usize = 4;

/// Who contributes is seen by a digit of the first word, to which round by the second.
fn value(host: usize, round: u64) -> Value {
    Value {
        data: [1 << (4 * host), round + 1, 0, 0],
        ..Value::default()
    }
}

fn fabric() -> Fabric {
    Fabric::with_card(3, 3, ROOT, LeafConfig::default())
}

fn round(f: &mut Fabric, number: u64) {
    for host in 0..HOSTS {
        f.give(host, number, Op::IntSum, value(host, number));
    }
}

fn everyone() -> u64 {
    (0..HOSTS).map(|h| 1 << (4 * h)).sum()
}

#[test]
fn cl_06_a_round_costs_the_root_one_frame_and_one_completion() {
    let mut f = fabric();
    f.run_for(5_000);
    let before = f.sent_by_root;
    for number in 0..20 {
        round(&mut f, number);
        f.run_for(5_000);
    }
    for host in 0..HOSTS {
        let done = f.done(host);
        assert_eq!(done.len(), 20, "host {host}");
        for (outcome, number) in done.iter().zip(0..) {
            let sum = [everyone(), HOSTS as u64 * (number + 1), 0, 0];
            assert_eq!((outcome.round, outcome.count), (number, HOSTS as u32));
            assert_eq!(outcome.value.data, sum);
        }
    }
    assert_eq!((f.answered, f.overtaken), (20, 0));
    assert_eq!(f.sent_by_root - before, 2 * 20);
    // Two edges, the core, the root's edge; nothing passed an engine.
    assert_eq!(f.counted(Counter::Results), 20 * 4);
    assert_eq!(f.counted(Counter::Passed), 0);
    f.run();
    assert_eq!(f.in_use(), 0);
}

#[test]
fn cl_06_engines_that_are_missing_leave_the_result_to_the_host() {
    for off in 1..16u32 {
        let mut f = fabric();
        for s in (0..4).filter(|s| off >> s & 1 == 1) {
            for port in 0..f.switches[s].ports() {
                let settings = PortSettings {
                    enable: true,
                    engine: false,
                    address: Address::default(),
                };
                f.switches[s].set_port(port, settings).expect("port");
            }
        }
        round(&mut f, 0);
        f.run();
        for host in 0..HOSTS {
            let done = f.done(host)[0];
            assert_eq!(
                (done.value.data[0], done.count),
                (everyone(), 9),
                "{off:#b}"
            );
        }
        // The engine at the root's own port makes one frame of all; without it they come in pieces.
        assert_eq!(f.answered, u64::from(off >> 2 & 1 == 0), "{off:#b}");
        assert_eq!(f.in_use(), 0);
    }
}

#[test]
fn cl_06_any_one_frame_may_be_lost() {
    let mut f = fabric();
    for number in 0..3 {
        round(&mut f, number);
        f.run();
    }
    for lost in 0..f.sent {
        let mut f = fabric();
        f.fates = Box::new(move |index, _, _, _| {
            if index == lost {
                Fate::Drop
            } else {
                Fate::Deliver
            }
        });
        for number in 0..3 {
            round(&mut f, number);
            f.run();
            for host in 0..HOSTS {
                let done = f.done(host);
                let last = done.last().expect("a result");
                assert_eq!(last.round, number, "frame {lost}, host {host}");
                assert_eq!(last.value.data[0], everyone(), "frame {lost}, host {host}");
            }
        }
        assert_eq!(f.in_use(), 0);
    }
}

#[test]
fn cl_06_a_host_that_is_told_late_repeats_nothing_into_the_next_round() {
    // Longer than an attempt: it repeats a round that its card has answered, and its own value with it.
    for slow in [400_000, 600_000, 1_100_000, 1_700_000] {
        let mut f = fabric();
        f.run_for(5_000);
        f.slow = slow;
        for number in 0..4 {
            let now = f.now;
            // All others are in the next round already when the root's host begins to repeat this one.
            for host in (0..HOSTS).filter(|&h| h != ROOT) {
                let _ = f.leaves[host].contribute(number, Op::IntSum, value(host, number), now);
            }
            f.give(ROOT, number, Op::IntSum, value(ROOT, number));
            f.run_for(100_000);
            for host in (0..HOSTS).filter(|&h| h != ROOT) {
                let next = number + 1;
                let _ = f.leaves[host].contribute(next, Op::IntSum, value(host, next), f.now);
            }
            f.run_for(3_000_000);
            let done = f.done(ROOT);
            assert_eq!(done.len() as u64, number + 1, "{slow}");
            let sum = [everyone(), HOSTS as u64 * (number + 1), 0, 0];
            let last = done[number as usize];
            assert_eq!((last.round, last.value.data), (number, sum), "{slow}");
        }
        assert_eq!(f.overtaken > 0, slow > 500_000, "{slow}");
    }
}

/// Hosts at their own pace, each in its next round as soon as it can be. Returns what is wrong.
fn campaign(seed: u64, loss: f64, slow: u64, lax: bool) -> Result<(u64, u64), String> {
    const ROUNDS: u64 = 12;
    let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(seed);
    let mut f = fabric();
    f.lax = lax;
    let mut dice = rand_chacha::ChaCha8Rng::seed_from_u64(!seed);
    f.fates = Box::new(move |_, _, _, _| {
        if dice.random_bool(loss) {
            Fate::Drop
        } else if dice.random_bool(0.02) {
            Fate::Late(dice.random_range(0..300_000))
        } else {
            Fate::Deliver
        }
    });
    let mut gave = [0u64; ROUNDS as usize + 1];
    for _ in 0..4_000 {
        f.slow = if rng.random_bool(0.3) { slow } else { 0 };
        for host in (0..HOSTS).filter(|&h| h != ROOT) {
            let (number, now) = (f.leaves[host].round(), f.now);
            if number >= ROUNDS || rng.random_bool(0.3) {
                continue;
            }
            let given = f.leaves[host].contribute(number, Op::IntSum, value(host, number), now);
            if given.is_ok() {
                gave[number as usize] |= 1 << (4 * host);
            }
        }
        let (number, now) = (f.root.round(), f.now);
        if number >= ROUNDS {
            break;
        }
        let started = f.root.start(Op::IntSum, value(ROOT, number), now);
        if started.is_ok() {
            gave[number as usize] |= 1 << (4 * ROOT);
        }
        let wait = if rng.random_bool(0.1) { 600_000 } else { 3_000 };
        f.run_for(rng.random_range(0..wait));
    }
    f.run();
    let done = f.done(ROOT);
    if done.len() != ROUNDS as usize {
        return Err(format!("{} of {ROUNDS} rounds ended", done.len()));
    }
    for (outcome, number) in done.iter().zip(0..) {
        let [who, rounds, ..] = outcome.value.data;
        let right = outcome.round == number
            && who & !gave[number as usize] == 0
            && who.count_ones() == outcome.count
            && rounds == u64::from(outcome.count) * (number + 1);
        if !right {
            return Err(format!("round {number}: {outcome:x?}"));
        }
    }
    for host in (0..HOSTS).filter(|&h| h != ROOT) {
        for heard in f.done(host) {
            if heard != done[heard.round as usize] {
                let was = done[heard.round as usize];
                return Err(format!("host {host} has {heard:x?}, and not {was:x?}"));
            }
        }
    }
    if f.events[ROOT]
        .iter()
        .any(|e| matches!(e, Event::Doubtful { .. }))
    {
        return Err("doubtful, and no frame was there twice".to_owned());
    }
    if f.in_use() != 0 {
        return Err(format!("{} descriptors are left", f.in_use()));
    }
    Ok((f.answered, f.overtaken))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Loss, delay, and a root's host that hears of what its card has done only after it has begun to repeat the round.
    #[test]
    fn cl_06_every_round_has_the_values_of_that_round_alone(seed: u64, loss in 0.0..0.1f64, slow in 0u64..1_500_000) {
        let ended = campaign(seed, loss, slow, false);
        prop_assert!(ended.is_ok(), "{:?}", ended);
    }
}

#[test]
fn cl_06_the_campaign_meets_answers_that_overtake_and_notices_a_card_that_lets_them_be_overtaken() {
    let runs = |lax: bool| (0..60).map(move |seed| campaign(seed, 0.02, 800_000, lax));
    let right: Vec<_> = runs(false).map(|run| run.expect("right")).collect();
    let answered: u64 = right.iter().map(|r| r.0).sum();
    let overtaken: u64 = right.iter().map(|r| r.1).sum();
    println!("{answered} answered, {overtaken} overtaken");
    assert!(answered > 400 && overtaken > 100);
    assert!(runs(true).any(|run| run.is_err()));
}

fn frame(kind: u8, arm: bool, round: u64, seqno: u16, count: u32) -> Frame {
    let mut frame = red_common::frame(KEY.address(), 3, Op::IntSum, [5, 6, 7, 8]);
    frame.restricted.opcode = kind;
    frame.restricted.remote_offset = round;
    (frame.red.arm, frame.red.seqno, frame.red.count) = (arm, seqno, count);
    frame
}

#[test]
fn cl_06_only_the_result_of_the_round_that_is_armed_is_answered_and_once() {
    let result = |seqno, count| frame(0, false, 0, seqno, count);
    let mut card = Answers::new(5);
    assert_eq!(
        card.answer(&result(0, 5), address(ROOT)),
        None,
        "before the tree is armed"
    );
    assert!(
        !card.leaves(&frame(0, false, 0, 0, 1)),
        "nor a contribution"
    );
    assert!(card.leaves(&frame(0, true, 9, 1_023, 1)));
    for wrong in [
        result(1_023, 4),
        result(1_023, 6),
        result(1_022, 5),
        result(0, 5),
        frame(2, false, 0, 1_023, 5),
        frame(0, true, 0, 1_023, 5),
        Frame {
            fabric: wire::Fabric::new(address(3), address(ROOT), 7),
            ..result(1_023, 5)
        },
        Frame {
            red: wire::Reduction {
                rc: Rc::CONTR_OVERFLOW,
                ..result(1_023, 5).red
            },
            ..result(1_023, 5)
        },
    ] {
        assert_eq!(card.answer(&wrong, address(ROOT)), None, "{wrong:?}");
    }
    let right = result(1_023, 5);
    let answer = card.answer(&right, address(ROOT)).expect("complete");
    let mut want = frame(0, true, 10, 0, 5);
    (want.fabric.sfa, want.red.resno) = (address(ROOT), 1_023);
    assert_eq!(answer, want);
    assert_eq!(card.answer(&right, address(ROOT)), None, "twice");
}

#[test]
fn cl_06_what_an_answer_has_overtaken_does_not_leave() {
    let mut card = Answers::new(2);
    assert!(card.leaves(&frame(0, true, (1 << 56) - 1, 7, 1)));
    assert!(card.leaves(&frame(0, false, (1 << 56) - 1, 7, 1)));
    assert!(!card.leaves(&frame(0, false, 3, 7, 1)), "of another round");
    assert!(!card.leaves(&frame(0, true, 0, 7, 1)), "the same number");
    let answer = card.answer(&frame(0, false, 0, 7, 2), address(ROOT));
    assert_eq!(answer.expect("an answer").restricted.remote_offset, 0);
    // The round is over: another attempt at it, its roll call, its contribution.
    assert!(!card.leaves(&frame(0, true, (1 << 56) - 1, 8, 1)));
    assert!(!card.leaves(&frame(1, false, (1 << 56) - 1, 8, 1)));
    assert!(!card.leaves(&frame(0, false, (1 << 56) - 1, 8, 1)));
    // However often it is repeated.
    assert!(!card.leaves(&frame(0, true, (1 << 56) - 1, 9, 1)));
    assert!(!card.leaves(&frame(1, false, (1 << 56) - 1, 10, 1)));
    assert!(card.leaves(&frame(0, false, 0, 8, 1)), "of the next one");
    // To one leaf, alike.
    let to_leaf = |kind, arm, round, seqno| {
        let mut frame = frame(kind, arm, round, seqno, 1);
        frame.fabric.dfa = address(1);
        frame
    };
    assert!(!card.leaves(&to_leaf(0, true, (1 << 56) - 1, 8)));
    assert!(!card.leaves(&to_leaf(0, true, 0, 9)));
    assert!(!card.leaves(&to_leaf(1, false, 0, 8)));
    assert!(card.leaves(&to_leaf(0, true, 0, 8)));
    // While the roll is called nothing is answered, and nothing contributed.
    assert!(card.leaves(&frame(1, false, 0, 9, 1)));
    assert!(!card.leaves(&frame(0, false, 0, 9, 1)));
    assert!(card.leaves(&to_leaf(1, false, 0, 9)));
    assert!(!card.leaves(&to_leaf(0, true, 0, 9)));
    assert_eq!(card.answer(&frame(0, false, 0, 9, 2), address(ROOT)), None);
    assert!(card.leaves(&frame(0, true, 1, 10, 1)));
    assert!(
        card.answer(&frame(0, false, 0, 10, 2), address(ROOT))
            .is_some()
    );
}
