//! Root and leaves over switches that lose, delay and repeat frames (RED-18).

mod red_common;

use red_common::fabric::*;
use tributary_protocol::red::{host::*, wire::DEFAULT_ETHERTYPE, *};

/// One bit for each host: a sum shows exactly whose value is in it, and how often.
fn bit(host: usize) -> Value {
    Value {
        data: [1 << (4 * host), 0, 0, 0],
        ..Value::default()
    }
}

fn everyone(hosts: usize) -> u64 {
    (0..hosts).map(|h| 1 << (4 * h)).sum()
}

fn fabric() -> Fabric {
    Fabric::new(3, 3, 4, LeafConfig::default())
}

fn round(f: &mut Fabric, number: u64) {
    for host in 0..f.hosts() {
        if !f.dead.contains(&host) {
            f.give(host, number, Op::IntSum, bit(host));
        }
    }
    f.run();
}

fn settled(f: &mut Fabric) {
    f.run();
    assert_eq!(f.in_use(), 0, "a descriptor is left");
}

#[test]
fn red_18_a_round_over_two_levels_is_combined_in_the_switches() {
    let mut f = fabric();
    f.run_for(5_000);
    for number in 0..3 {
        // One round on the heels of the other, before engines time out.
        for host in [4, 0, 1, 2, 3, 5, 6, 7, 8] {
            f.give(host, number, Op::IntSum, bit(host));
        }
        f.run_for(5_000);
    }
    let want = everyone(9);
    for host in 0..9 {
        let done = f.done(host);
        assert_eq!(done.len(), 3, "host {host}");
        for (number, outcome) in done.iter().enumerate() {
            assert_eq!(
                (outcome.round, outcome.count, outcome.value.data[0]),
                (number as u64, 9, want)
            );
        }
    }
    // Root first: everything was caught. Each round: two edges, the core, and the root's own edge gave a result.
    assert_eq!(f.counted(Counter::Results), 3 * 4);
    assert_eq!(f.counted(Counter::Passed) + f.counted(Counter::OldSeqno), 0);
    settled(&mut f);
}

#[test]
fn red_18_leaves_may_be_ahead_of_the_arm_frame() {
    let mut f = Fabric::new(
        3,
        3,
        0,
        LeafConfig {
            wait_for_arm: false,
            ..LeafConfig::default()
        },
    );
    for host in (0..9).rev() {
        f.give(host, 0, Op::IntSum, bit(host));
    }
    f.run();
    for host in 0..9 {
        assert_eq!(f.done(host)[0].value.data[0], everyone(9));
    }
    settled(&mut f);
}

#[test]
fn red_16_engines_that_are_missing_change_nothing_but_the_time() {
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
        for host in 0..9 {
            assert_eq!(
                (f.done(host)[0].value.data[0], f.done(host)[0].count),
                (everyone(9), 9),
                "off {off:#b}"
            );
        }
        settled(&mut f);
    }
}

/// Every single frame of a run lost, one at a time: the result is right everywhere, and nobody is counted twice.
#[test]
fn red_18_any_one_frame_may_be_lost() {
    let mut f = fabric();
    (0..3).for_each(|number| round(&mut f, number));
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
            for host in 0..9 {
                let done = f.done(host);
                let last = done.last().expect("a result");
                assert_eq!(
                    (last.round, last.count, last.value.data[0]),
                    (number, 9, everyone(9)),
                    "frame {lost} host {host}"
                );
            }
        }
        settled(&mut f);
    }
}

#[test]
fn red_18_a_dead_leaf_is_named_and_the_rest_is_right() {
    let mut f = fabric();
    f.dead = [2, 7].into();
    round(&mut f, 0);
    let gone = vec![address(2), address(7)];
    assert_eq!(f.missing(), Some((gone.clone(), gone)));
    let want = everyone(9) - (1 << 8) - (1 << 28);
    for host in [0, 1, 3, 4, 5, 6, 8] {
        let done = f.done(host);
        assert_eq!(
            (done[0].count, done[0].value.data[0]),
            (7, want),
            "host {host}"
        );
    }
    settled(&mut f);
    // One comes back: it learns where the group is.
    f.dead.remove(&2);
    for host in [0, 1, 3, 4, 5, 6, 8] {
        f.give(host, 1, Op::IntSum, bit(host));
    }
    f.run();
    assert_eq!(f.events[2], [Event::LeftOut(0..1), Event::LeftOut(1..2)]);
    assert_eq!(
        f.missing(),
        Some((vec![address(2), address(7)], vec![address(7)]))
    );
    assert_eq!(f.leaves[2].round(), 2);
    settled(&mut f);
}

/// The roll is called again for answers that were lost, with or without the question.
#[test]
fn red_18_the_roll_is_called_more_than_once() {
    for (kind, from) in [
        (Kind::Present, Node::Host(6)),
        (Kind::RollCall, Node::Switch(3)),
    ] {
        let mut f = fabric();
        f.dead = [2].into();
        let mut lost = 0;
        f.fates = Box::new(move |_, sender, to, frame| {
            let hit = Kind::of(frame) == Some(kind)
                && sender == from
                && (sender == Node::Host(6) || to == Node::Host(6));
            lost += u32::from(hit);
            if hit && lost <= 2 {
                Fate::Drop
            } else {
                Fate::Deliver
            }
        });
        round(&mut f, 0);
        assert_eq!(
            f.missing(),
            Some((vec![address(2)], vec![address(2)])),
            "{kind:?}"
        );
        assert_eq!(f.done(6)[0].value.data[0], everyone(9) - (1 << 8));
        settled(&mut f);
    }
}

#[test]
fn red_18_a_leaf_without_a_value_is_missing_but_not_silent() {
    let mut f = fabric();
    f.run();
    for host in (0..9).filter(|&h| h != 3) {
        f.give(host, 0, Op::IntSum, bit(host));
    }
    f.run();
    assert_eq!(f.missing(), Some((vec![address(3)], vec![])));
    assert_eq!(f.done(4)[0].value.data[0], everyone(9) - (1 << 12));
    // Its value is too late for that round, and does not slip into the next.
    let late = f.leaves[3].contribute(0, Op::IntSum, bit(3), f.now);
    assert_eq!(late, Err(ContributeError::Round { wanted: 0, open: 1 }));
    round(&mut f, 1);
    assert_eq!(f.done(3)[0].value.data[0], everyone(9));
    settled(&mut f);
}

#[test]
fn red_18_a_late_leaf_is_waited_for() {
    let mut f = fabric();
    f.run();
    for host in (0..9).filter(|&h| h != 3) {
        f.give(host, 0, Op::IntSum, bit(host));
    }
    // Past every engine's timeout, before the root's.
    f.now += 200_000;
    f.give(3, 0, Op::IntSum, bit(3));
    f.run();
    assert_eq!(f.done(3), f.done(4));
    assert_eq!((f.done(4)[0].count, f.missing()), (9, None));
    settled(&mut f);
}

#[test]
fn red_18_duplicates_are_removed_by_source() {
    // On the root's own link: what engines sent, and what passed.
    for engines in [true, false] {
        let mut f = fabric();
        let root = f.root_host;
        for s in 0..4 {
            for port in 0..f.switches[s].ports() {
                let address = Address::unicast(0x1000 + s as u32, port.into());
                f.switches[s]
                    .set_port(
                        port,
                        PortSettings {
                            enable: true,
                            engine: engines,
                            address,
                        },
                    )
                    .expect("port");
            }
        }
        f.fates = Box::new(move |_, _, to, _| {
            if to == Node::Host(root) {
                Fate::Twice
            } else {
                Fate::Deliver
            }
        });
        for number in 0..3 {
            round(&mut f, number);
            assert_eq!(
                f.done(0).last().map(|o| (o.count, o.value.data[0])),
                Some((9, everyone(9)))
            );
        }
        settled(&mut f);
    }
}

/// A contribution doubled below an engine: the attempt is thrown away where the count gets too large, else the result is doubtful.
#[test]
fn red_18_a_doubled_contribution_is_not_counted_twice_in_silence() {
    let (mut right, mut doubtful) = (0, 0);
    for host in (0..9).filter(|&h| h != 4) {
        let mut f = fabric();
        let mut once = true;
        f.fates = Box::new(move |_, from, _, frame| {
            let hit = once && from == Node::Host(host) && frame.red.count == 1;
            once &= !hit;
            if hit { Fate::Twice } else { Fate::Deliver }
        });
        round(&mut f, 0);
        let doubt = f.events[4]
            .iter()
            .any(|e| matches!(e, Event::Doubtful { round: 0, .. }));
        let value = f.done(4)[0].value.data[0];
        assert!(value == everyone(9) || doubt, "host {host}: {value:#x}");
        right += u32::from(value == everyone(9));
        doubtful += u32::from(doubt);
        settled(&mut f);
    }
    assert!(
        right > 0 && doubtful > 0,
        "{right} right, {doubtful} doubtful"
    );
}

#[test]
fn red_14_sequence_numbers_wrap() {
    let mut f = Fabric::new(1, 3, 0, LeafConfig::default());
    for number in 0..1100 {
        round(&mut f, number);
    }
    for host in 0..3 {
        let done = f.done(host);
        assert_eq!(done.len(), 1100);
        assert!(
            done.iter()
                .all(|o| o.count == 3 && o.value.data[0] == everyone(3))
        );
    }
    settled(&mut f);
}

#[test]
fn red_14_old_and_repeated_results_change_nothing() {
    let mut f = Fabric::new(1, 3, 0, LeafConfig::default());
    let mut outputs = Vec::new();
    for number in 0..3 {
        round(&mut f, number);
        outputs.push(f.done(1).len());
    }
    assert_eq!(outputs, [1, 2, 3]);
    // A result of round 0, made again by hand, and the newest one twice.
    let mut old = red_common::frame(KEY.address(), 0, Op::IntSum, [9; 4]);
    (old.fabric.vni, old.red.cookie, old.red.seqno, old.red.resno) = (7, 0xc0ffee, 1, 0);
    old.red.arm = true;
    old.restricted.remote_offset = 1;
    let leaf = &mut f.leaves[1];
    assert_eq!(
        leaf.receive(&old.to_bytes(DEFAULT_ETHERTYPE), f.now),
        Err(Ignored::Stale)
    );
    old.restricted.remote_offset = 3;
    old.red.seqno = 1020;
    assert_eq!(
        leaf.receive(&old.to_bytes(DEFAULT_ETHERTYPE), f.now),
        Err(Ignored::Stale)
    );
    assert_eq!((leaf.round(), leaf.poll(f.now)), (3, vec![]));
    // Frames of others.
    old.fabric.vni = 8;
    assert_eq!(
        leaf.receive(&old.to_bytes(DEFAULT_ETHERTYPE), f.now),
        Err(Ignored::Foreign)
    );
    assert_eq!(
        f.root.receive(&old.to_bytes(DEFAULT_ETHERTYPE), f.now),
        Err(Ignored::Foreign)
    );
    (old.fabric.vni, old.red.cookie) = (7, 1);
    assert_eq!(
        leaf.receive(&old.to_bytes(DEFAULT_ETHERTYPE), f.now),
        Err(Ignored::Foreign)
    );
    assert!(matches!(
        f.root.receive(&[1, 2, 3], f.now),
        Err(Ignored::Wire(_))
    ));
}

/// A leaf whose value went into another attempt than the one that ended the round was left out, also when it skips rounds.
#[test]
fn red_18_a_leaf_takes_only_results_that_have_its_value() {
    for (resno, next, done) in [(0, 1, true), (1, 1, false), (0, 2, false)] {
        let mut f = Fabric::new(
            1,
            3,
            0,
            LeafConfig {
                wait_for_arm: false,
                ..LeafConfig::default()
            },
        );
        let leaf = &mut f.leaves[1];
        leaf.contribute(0, Op::IntSum, bit(1), 0).expect("open");
        leaf.poll(0);
        let mut result = red_common::frame(KEY.address(), 0, Op::IntSum, [9; 4]);
        (result.fabric.vni, result.red.cookie, result.red.arm) = (7, 0xc0ffee, true);
        (result.red.seqno, result.red.resno, result.red.count) = (5, resno, 3);
        result.restricted.remote_offset = next;
        leaf.receive(&result.to_bytes(DEFAULT_ETHERTYPE), 0)
            .expect("news");
        let heard = leaf.poll(0);
        match &heard[..] {
            [Output::Event(Event::Done(outcome))] => assert!(done && outcome.value.data == [9; 4]),
            [Output::Event(Event::LeftOut(rounds))] => assert!(!done && *rounds == (0..next)),
            other => panic!("{other:?}"),
        }
        assert_eq!(leaf.round(), next);
    }
}

/// An engine counted too much, and frames lost elsewhere make the total right again: the attempt is thrown away all the same.
#[test]
fn red_11_an_attempt_that_overflowed_somewhere_is_not_used() {
    let mut f = Fabric::new(1, 3, 0, LeafConfig::default());
    f.give(0, 0, Op::IntSum, bit(0));
    let mut frame = red_common::frame(KEY.address(), 0x1001, Op::IntSum, [9; 4]);
    (frame.fabric.vni, frame.red.cookie) = (7, 0xc0ffee);
    (frame.red.count, frame.red.rc) = (2, Rc::CONTR_OVERFLOW);
    f.root
        .receive(&frame.to_bytes(DEFAULT_ETHERTYPE), 10)
        .expect("a contribution");
    f.pump();
    assert_eq!(f.events[0], [Event::Retry { round: 0, seqno: 1 }]);
}

#[test]
fn red_18_rounds_cannot_overlap() {
    let mut f = Fabric::new(1, 3, 0, LeafConfig::default());
    f.give(1, 0, Op::IntSum, bit(1));
    let now = f.now;
    assert_eq!(
        f.leaves[1].contribute(0, Op::IntSum, bit(1), now),
        Err(ContributeError::Busy(0))
    );
    assert_eq!(f.root.start(Op::IntSum, bit(0), now), Ok(0));
    assert_eq!(
        f.root.start(Op::IntSum, bit(0), now),
        Err(StartError::Busy(0))
    );
}

/// After a pause the engines have timed out: the root arms again instead of combining everything itself.
#[test]
fn red_18_after_a_pause_the_tree_is_armed_again() {
    let mut f = fabric();
    round(&mut f, 0);
    f.now += 10_000_000;
    let before = f.counted(Counter::Results);
    f.give(4, 1, Op::IntSum, bit(4));
    f.run_for(5_000);
    for host in (0..9).filter(|&h| h != 4) {
        f.give(host, 1, Op::IntSum, bit(host));
    }
    f.run();
    assert_eq!(f.done(8)[1].value.data[0], everyone(9));
    assert_eq!(f.counted(Counter::Results) - before, 4);
}

#[test]
fn red_09_a_wrong_operation_reaches_everyone_as_such() {
    for wrong in [0, 1, 4] {
        let mut f = fabric();
        for host in 0..9 {
            let op = if host == wrong {
                Op::IntMax
            } else {
                Op::IntSum
            };
            f.give(host, 0, op, bit(host));
        }
        f.run();
        for host in 0..9 {
            let done = f.done(host);
            assert_eq!(
                (done[0].value.rc, done[0].count),
                (Rc::OP_MISMATCH, 9),
                "wrong {wrong} host {host}"
            );
        }
        settled(&mut f);
    }
}
