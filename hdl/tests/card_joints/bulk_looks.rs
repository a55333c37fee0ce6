//! bulk_looks: two who look up regions at one port.

use std::collections::VecDeque;

use rand::RngExt;
use tributary_hdl::bulk::BulkLooks;
use tributary_sim::testbench::seeds;

use super::ports::{Group, Record, build, rng};

/// Each look leaves once, as it was asked for and in the clock that the header promises; its answer goes to who asked.
#[test]
fn bw_02_looks_of_both_pass_one_at_a_time_and_answers_go_to_whom_they_belong() {
    let library = build(BulkLooks::default());
    let sides = ["a", "b"].map(|side| Group::pulses(&library, side).without(&["m_"]));
    let answers = ["a_m", "b_m"].map(|side| Group::pulses(&library, side));
    let (look, verdict) = (
        Group::pulses(&library, "m_look"),
        Group::pulses(&library, "s_look"),
    );
    let rst = library.port("rst").unwrap();
    for seed in seeds(8) {
        let (mut rng, mut model) = (rng(seed), library.model_with_seed(seed).unwrap());
        model.reset(2).unwrap();
        // What each side waits for: a look that has not left yet, or its answer.
        let mut waiting: [Option<Record>; 2] = [None, None];
        let mut busy = [false; 2];
        // The look under way: whose, and clocks until its answer.
        let mut under_way: Option<(usize, u32)> = None;
        let (mut passed, mut both, mut resets) = ([0; 2], 0, 0);
        for clock in 0..6_000 {
            let often = [9, 2][clock / 200 % 2];
            let reset = rng.random_range(0..300) == 0;
            model.set(rst, reset.into());
            // A look is registered before it leaves.
            let may_leave = waiting.clone();
            for (i, side) in sides.iter().enumerate() {
                let asks = !reset && !busy[i] && rng.random_range(0..10) < often;
                let record = asks.then(|| side.draw(&mut rng));
                side.offer(&mut model, &mut rng, record.as_ref());
                if asks {
                    busy[i] = true;
                    waiting[i] = record;
                }
            }
            let answer = match &mut under_way {
                Some((whose, 0)) => {
                    let ok = verdict.draw(&mut rng);
                    Some((*whose, ok))
                }
                Some((_, left)) => {
                    *left -= 1;
                    None
                }
                None => None,
            };
            verdict.offer(&mut model, &mut rng, answer.as_ref().map(|(_, ok)| ok));
            model.eval().unwrap();
            let place = format!("seed {seed}, clock {clock}");
            let wanted = match (&under_way, &may_leave) {
                (None, [_, Some(_)]) => Some(1),
                (None, [Some(_), None]) => Some(0),
                _ => None,
            };
            let out = look.offered(&model);
            assert_eq!(out, wanted.and_then(|i| may_leave[i].clone()), "{place}");
            for (i, side) in answers.iter().enumerate() {
                let own = answer.as_ref().filter(|(whose, _)| *whose == i);
                assert_eq!(
                    side.offered(&model),
                    own.map(|(_, ok)| ok.clone()),
                    "{place}"
                );
            }
            both += u32::from(under_way.is_none() && may_leave.iter().all(Option::is_some));
            if let Some((whose, _)) = answer {
                under_way = None;
                busy[whose] = false;
                passed[whose] += 1;
            }
            if let Some(whose) = wanted {
                waiting[whose] = None;
                under_way = Some((whose, rng.random_range(0..9)));
            }
            if reset {
                resets += u32::from(busy.iter().any(|busy| *busy));
                (waiting, busy, under_way) = ([None, None], [false; 2], None);
            }
            model.clock().unwrap();
        }
        assert!(
            passed.iter().all(|passed| *passed > 200) && both > 20 && resets > 5,
            "seed {seed}: {passed:?} {both} {resets}"
        );
    }
}

/// Looks that wait are kept in the order of their sides, whatever the other side asks meanwhile: b passes a once, no more.
#[test]
fn bw_02_neither_side_waits_for_more_than_one_look_of_the_other() {
    let library = build(BulkLooks::default());
    let sides = ["a", "b"].map(|side| Group::pulses(&library, side).without(&["m_"]));
    let (look, verdict) = (
        Group::pulses(&library, "m_look"),
        Group::pulses(&library, "s_look"),
    );
    let answers = ["a_m", "b_m"].map(|side| Group::pulses(&library, side));
    let (mut rng, mut model) = (rng(1), library.model_with_seed(1).unwrap());
    model.reset(2).unwrap();
    let mut asked: [Option<u32>; 2] = [None, None];
    let mut due: VecDeque<u32> = VecDeque::new();
    for clock in 0..4_000 {
        for (i, side) in sides.iter().enumerate() {
            let record = asked[i].is_none().then(|| side.draw(&mut rng));
            side.offer(&mut model, &mut rng, record.as_ref());
            asked[i] = asked[i].or(Some(clock));
        }
        let answered = due.front() == Some(&clock);
        let ok = answered.then(|| verdict.draw(&mut rng));
        verdict.offer(&mut model, &mut rng, ok.as_ref());
        model.eval().unwrap();
        if answered {
            due.pop_front();
        }
        if look.offered(&model).is_some() {
            due.push_back(clock + 6);
        }
        for (i, side) in answers.iter().enumerate() {
            if side.offered(&model).is_some() {
                let since = asked[i].take().expect("an answer without a look");
                // One of the other side, and this one: 7 clocks each, and one to the port.
                assert!(clock - since <= 15, "side {i}: {} clocks", clock - since);
            }
        }
        model.clock().unwrap();
    }
}
