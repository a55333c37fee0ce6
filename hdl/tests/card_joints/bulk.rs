//! What joins the engines of bulk transfers to a card: card_completions, card_write_order, bulk_depart, bulk_ends.

use std::collections::VecDeque;

use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use tributary_hdl::bulk::{BulkDepart, BulkEnds};
use tributary_hdl::card::{CardCompletions, CardWriteOrder};
use tributary_sim::testbench::{Stalls, profiles, seeds};

use super::ports::{Group, Record, build, rng};

/// Each completion leaves once, as it came; when both sides have one, they take turns.
#[test]
fn completions_of_both_sides_take_turns_and_none_is_lost() {
    let library = build(CardCompletions::<4>::default());
    let sides = ["a", "b"].map(|prefix| Group::of(&library, prefix));
    let m = Group::of(&library, "m");
    profiles("card_completions: completions", |seed| {
        let mut stalls = Stalls::of_seed(seed, 1);
        let (mut rng, mut model) = (rng(seed), library.model_with_seed(seed).unwrap());
        model.reset(2).unwrap();
        let mut offered: [Option<Record>; 2] = [None, None];
        // How often the other one left while this one waited.
        let mut passed_over = [0; 2];
        let mut passed = 0;
        for _ in 0..3_000 {
            stalls.clock();
            for (side, offered) in sides.iter().zip(&mut offered) {
                if offered.is_none() && rng.random() {
                    *offered = Some(side.draw(&mut rng));
                }
                side.offer(&mut model, &mut rng, offered.as_ref());
            }
            let ready = stalls.ready(0);
            m.set_ready(&mut model, ready);
            model.eval().unwrap();
            let out = m.offered(&model);
            stalls.observe(0, out.is_some(), true);
            let any = offered.iter().any(Option::is_some);
            assert_eq!(out.is_some(), any, "{stalls}");
            let taken = [0, 1].map(|i| offered[i].is_some() && sides[i].is_ready(&model));
            let leaves = usize::from(any && ready);
            assert_eq!(
                taken.iter().filter(|taken| **taken).count(),
                leaves,
                "{stalls}"
            );
            for i in 0..2 {
                if taken[i] {
                    assert_eq!(out, offered[i].take(), "{stalls}");
                    passed += 1;
                    passed_over[i] = 0;
                    passed_over[1 - i] += u32::from(offered[1 - i].is_some());
                }
            }
            assert!(
                passed_over.iter().all(|times| *times <= 1),
                "{stalls}: no turns"
            );
            model.clock().unwrap();
        }
        passed
    });
}

/// A write passes when no payload of a datagram that was taken is left, and at once then.
#[test]
fn bulk_writes_wait_for_the_payload_of_earlier_datagrams() {
    let library = build(CardWriteOrder::default());
    let [s, m] = ["s", "m"].map(|prefix| Group::of(&library, prefix).without(&["taken", "gone"]));
    let [taken, gone] = ["s_taken", "s_gone"].map(|name| library.port(name).unwrap());
    for seed in seeds(4) {
        let (mut rng, mut model) = (rng(seed), library.model_with_seed(seed).unwrap());
        model.reset(2).unwrap();
        let (mut left, mut waited, mut passed) = (0, 0, 0);
        let mut offered: Option<Record> = None;
        for clock in 0..5_000 {
            // Many datagrams for a while, then few. A frame that waits in front lets no datagram be taken.
            let often = [9, 2][clock / 100 % 2];
            if offered.is_none() && rng.random_range(0..6) == 0 {
                offered = Some(s.draw(&mut rng));
            }
            let takes = offered.is_none() && left < 200 && rng.random_range(0..10) < often;
            let goes = left > 0 && rng.random_range(0..10) < 4;
            model.set(taken, takes.into());
            model.set(gone, goes.into());
            s.offer(&mut model, &mut rng, offered.as_ref());
            let ready = rng.random();
            m.set_ready(&mut model, ready);
            model.eval().unwrap();
            let expected = offered.clone().filter(|_| left == 0);
            assert_eq!(m.offered(&model), expected, "seed {seed}, clock {clock}");
            assert_eq!(
                s.is_ready(&model),
                ready && left == 0,
                "seed {seed}, clock {clock}"
            );
            waited += u32::from(offered.is_some() && left > 0);
            if offered.is_some() && ready && left == 0 {
                offered = None;
                passed += 1;
            }
            left = left + u32::from(takes) - u32::from(goes);
            model.clock().unwrap();
        }
        assert!(
            waited > 200 && passed > 50,
            "{waited} clocks, {passed} writes"
        );
    }
}

/// What follows a frame, as its side gives it, and as it leaves.
fn words(of: &Group, length: u64, rng: &mut ChaCha8Rng) -> Vec<(Record, Record)> {
    let count = length.div_ceil(8);
    let word = |at| {
        let mut given = of.draw(rng);
        let last = at + 1 == count;
        let bytes = if last { (length - 1) % 8 } else { 7 };
        given.insert("last".to_owned(), vec![last.into()]);
        if given.contains_key("bytes") {
            given.insert("bytes".to_owned(), vec![bytes]);
        }
        let mut leaves = given.clone();
        leaves.insert("bytes".to_owned(), vec![bytes]);
        leaves.entry("error".to_owned()).or_insert_with(|| vec![0]);
        (given, leaves)
    };
    (0..count).map(word).collect()
}

/// Answers go first, a packet that was offered stays, and what follows comes behind in the order of the frames.
#[test]
fn bw_04_answers_go_before_packets_and_words_follow_their_frames() {
    let library = build(BulkDepart::default());
    let heads = ["a", "b", "m"].map(|prefix| Group::of(&library, prefix).without(&["pl"]));
    let bodies = ["a_pl", "b_pl", "m_pl"].map(|prefix| Group::of(&library, prefix));
    let mut kept = 0;
    profiles("bulk_depart: frames", |seed| {
        let mut stalls = Stalls::of_seed(seed, 2);
        let (mut rng, mut model) = (rng(seed), library.model_with_seed(seed).unwrap());
        model.reset(2).unwrap();
        let busy = [0, 1].map(|_| rng.random_range(1..=10));
        let mut offered: [Option<Record>; 2] = [None, None];
        let mut held = None;
        // Words that each side has to give, those of them that are on offer, and those that are to leave.
        let mut given: [VecDeque<(Record, Record)>; 2] = Default::default();
        let mut shown = [false; 2];
        let mut leaving: VecDeque<usize> = VecDeque::new();
        let mut frames = 0;
        for clock in 0..4_000 {
            stalls.clock();
            for i in 0..2 {
                if offered[i].is_none() && rng.random_range(0..10) < busy[i] {
                    let mut frame = heads[i].draw(&mut rng);
                    let length = [0, rng.random_range(1..=40)][rng.random_range(0..2)];
                    frame.insert("len".to_owned(), vec![length]);
                    given[i].extend(words(&bodies[i], length, &mut rng));
                    offered[i] = Some(frame);
                }
                heads[i].offer(&mut model, &mut rng, offered[i].as_ref());
                shown[i] |= !given[i].is_empty() && rng.random();
                let word = given[i].front().map(|(word, _)| word);
                bodies[i].offer(&mut model, &mut rng, word.filter(|_| shown[i]));
            }
            for (i, out) in [&heads[2], &bodies[2]].into_iter().enumerate() {
                out.set_ready(&mut model, stalls.ready(i));
            }
            model.eval().unwrap();
            let place = format!("{stalls}, clock {clock}");

            let (head, body) = (heads[2].offered(&model), bodies[2].offered(&model));
            stalls.observe(0, head.is_some(), true);
            stalls.observe(
                1,
                body.is_some(),
                body.as_ref().is_some_and(|b| b["last"] == [1]),
            );
            if let Some(head) = &head {
                let first = usize::from(offered[0].is_none());
                let from = held.unwrap_or(first);
                kept += u32::from(held == Some(1) && first == 0);
                assert_eq!(Some(head), offered[from].as_ref(), "{place}");
                held = Some(from);
            }
            let taken = [0, 1].map(|i| offered[i].is_some() && heads[i].is_ready(&model));
            let leaves = head.is_some() && stalls.ready(0);
            let expected = [0, 1].map(|i| leaves && held == Some(i));
            assert_eq!(taken, expected, "{place}");
            let source = leaving.front().copied();
            let next = source.filter(|from| shown[*from]);
            let expected = next.map(|from| given[from].front().expect("it is shown").1.clone());
            assert_eq!(body, expected, "{place}");
            for i in 0..2 {
                let moves = bodies[i].is_ready(&model) && shown[i];
                assert_eq!(moves, next == Some(i) && stalls.ready(1), "{place}");
                if moves {
                    let (word, _) = given[i].pop_front().expect("it is shown");
                    shown[i] = false;
                    if word["last"] == [1] {
                        leaving.pop_front();
                    }
                }
            }
            for i in 0..2 {
                if taken[i] {
                    let frame = offered[i].take().expect("it is taken");
                    if frame["len"] != [0] {
                        leaving.push_back(i);
                    }
                    held = None;
                    frames += 1;
                }
            }
            model.clock().unwrap();
        }
        frames
    });
    if tributary_sim::testbench::number("TRIBUTARY_SEED").is_none() {
        assert!(
            kept > 100,
            "{kept}: no answer came while a packet was on offer"
        );
    }
}

/// The sending side is told of every queue pair and region, and the receiving one when that has answered; it is done a clock
/// behind the last answer.
#[test]
fn bw_02_bw_09_bw_11_ends_are_told_to_senders_and_then_to_receivers() {
    let library = build(BulkEnds::default());
    let port = |name: &str| library.port(name).unwrap();
    let [valid, pair, index] = ["s_valid", "s_pair", "s_index"].map(port);
    let done = port("s_done");
    let told = ["m_send_valid", "m_receive_valid"].map(port);
    let ready = ["m_send_ready", "m_receive_ready"].map(port);
    for seed in seeds(4) {
        let (mut rng, mut model) = (rng(seed), library.model_with_seed(seed).unwrap());
        for port in ready {
            model.set(port, 0);
        }
        model.set(valid, 0);
        model.reset(2).unwrap();
        for round in 0..500 {
            let place = format!("seed {seed}, round {round}");
            // Sides that have not answered, and clocks until the next one does.
            let mut left = vec![1, 0];
            let mut answers = rng.random_range(0..12);
            model.set(valid, 1);
            model.set(pair, rng.random());
            model.set(index, rng.random_range(0..1 << 24));
            loop {
                let asked = left.last().copied();
                for (side, port) in ready.into_iter().enumerate() {
                    model.set(port, (asked == Some(side) && answers == 0).into());
                }
                model.eval().unwrap();
                let expected = [0, 1].map(|i| asked == Some(i));
                assert_eq!(told.map(|port| model.is_set(port)), expected, "{place}");
                assert_eq!(model.is_set(done), asked.is_none(), "{place}");
                model.clock().unwrap();
                if asked.is_none() {
                    break;
                }
                if answers == 0 {
                    left.pop();
                    answers = rng.random_range(0..12);
                } else {
                    answers -= 1;
                }
            }
            model.set(valid, 0);
            for _ in 0..rng.random_range(0..3) {
                model.eval().unwrap();
                assert!(!model.is_set(done), "{place}");
                assert_eq!(told.map(|port| model.is_set(port)), [false; 2], "{place}");
                model.clock().unwrap();
            }
        }
    }
}
