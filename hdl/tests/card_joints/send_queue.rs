//! card_send_queue.

use std::collections::VecDeque;

use rand::RngExt;
use tributary_hdl::card::CardSendQueue;
use tributary_sim::testbench::{Stalls, profiles};

use super::ports::{Group, Record, build, rng};

/// What must fit while nobody takes anything: requests, words of payload.
const ROOM: [usize; 2] = [16, 32];

/// Everything comes out as it went in, in its order; after a reset, nothing of before.
#[test]
fn requests_and_payload_leave_in_their_order_bit_by_bit() {
    let library = build(CardSendQueue::default());
    let streams = ["sd", "pl"].map(|name| {
        [format!("s_{name}"), format!("m_{name}")].map(|prefix| Group::of(&library, &prefix))
    });
    let mut fullest = [0; 2];
    profiles("card_send_queue: requests and words", |seed| {
        let mut stalls = Stalls::of_seed(seed, 2);
        let (mut rng, mut model) = (rng(seed), library.model_with_seed(seed).unwrap());
        model.reset(2).unwrap();
        let rst = model.port("rst").unwrap();
        let busy = [0, 1].map(|_| rng.random_range(1..=10));
        let mut offered: [Option<Record>; 2] = [None, None];
        let mut inside: [VecDeque<Record>; 2] = Default::default();
        let mut passed = 0;
        for clock in 0..3_000 {
            let reset = rng.random_range(0..700) == 0;
            model.set(rst, reset.into());
            stalls.clock();
            for (i, [s, m]) in streams.iter().enumerate() {
                if reset {
                    offered[i] = None;
                } else if offered[i].is_none() && rng.random_range(0..10) < busy[i] {
                    offered[i] = Some(s.draw(&mut rng));
                }
                s.offer(&mut model, &mut rng, offered[i].as_ref());
                m.set_ready(&mut model, stalls.ready(i));
            }
            model.eval().unwrap();
            for (i, [s, m]) in streams.iter().enumerate() {
                let out = m.offered(&model);
                stalls.observe(i, out.is_some(), true);
                if reset {
                    inside[i].clear();
                    continue;
                }
                let filled = inside[i].len();
                if let Some(out) = out {
                    let place = format!("{stalls}, clock {clock}");
                    assert_eq!(Some(&out), inside[i].front(), "{place}");
                    if stalls.ready(i) {
                        inside[i].pop_front();
                        passed += 1;
                    }
                }
                if s.is_ready(&model) {
                    inside[i].extend(offered[i].take());
                } else {
                    assert!(filled >= ROOM[i], "{stalls}: no room");
                }
                fullest[i] = fullest[i].max(filled);
            }
            model.clock().unwrap();
        }
        // Nothing stays behind.
        for _ in 0..40 {
            for [s, m] in &streams {
                s.offer(&mut model, &mut rng, None);
                m.set_ready(&mut model, true);
            }
            model.eval().unwrap();
            for ([_, m], inside) in streams.iter().zip(&mut inside) {
                if let Some(out) = m.offered(&model) {
                    assert_eq!(Some(out), inside.pop_front(), "{stalls}");
                }
            }
            model.clock().unwrap();
        }
        assert!(inside.iter().all(VecDeque::is_empty), "{stalls}: some stay");
        passed
    });
    if tributary_sim::testbench::number("TRIBUTARY_SEED").is_none() {
        assert!(fullest >= ROOM, "{fullest:?}");
    }
}
