//! card_tx_guard: frames stay whole on the way to the MAC, also where the card is reset in their middle and the MAC stalls for
//! longer than the reset.
//!
//! ```sh
//! TRIBUTARY_FRAMES=1000000 cargo test --release -p tributary-hdl --test card_joints every_frame_ends -- --nocapture
//! ```

use rand::RngExt;
use tributary_hdl::card::CardTxGuard;
use tributary_sim::testbench::{Stalls, number, profiles};
use tributary_sim::verilate::Verilated;

use super::ports::{Group, Record, build, rng};

/// What comes out for a word that goes in, or for the end of a frame that was cut.
#[derive(Debug)]
enum Word {
    Of(Record),
    Cut,
}

/// Runs a seed; returns how many frames ended, and how many were cut.
fn run(library: &Verilated, seed: u64) -> (u64, u64) {
    let [s, m] = ["s_axis", "m_axis"].map(|prefix| Group::of(library, prefix));
    let mut stalls = Stalls::of_seed(seed, 1);
    let (mut rng, mut model) = (rng(seed), library.model_with_seed(seed).unwrap());
    model.reset(2).unwrap();
    let [rst, cut_port] = ["rst", "cut"].map(|name| model.port(name).unwrap());
    let mut expected: Vec<Word> = Vec::new();
    let mut next = 0;
    let (mut left, mut within) = (0, false);
    // Clocks without a word of xud_tx.
    let mut pause = 0;
    let mut offered: Option<Record> = None;
    let (mut cut, mut cuts, mut frames, mut idle) = (0, 0, 0, 0);
    for clock in 0..15_000u64 {
        let place = format!("{stalls}, clock {clock}");
        let reset = rng.random_range(0..2_000) == 0;
        if reset {
            // Of the MAC too: it forgets the frame.
            (cut, left, within) = (0, 0, false);
            pause = rng.random_range(0..2) * rng.random_range(0..200);
            offered = None;
            expected.truncate(next);
        } else if cut == 0 && rng.random_range(0..60) == 0 {
            // A reset of the card takes 48 clocks; a shorter one leaves no less behind.
            cut = rng.random_range(1..=48);
            offered = None;
            left = 0;
            if within {
                cuts += 1;
                expected.push(Word::Cut);
                within = false;
            }
        }
        pause -= i32::from(pause > 0);
        let idle_sender = cut > 0 || reset || pause > 0;
        if !idle_sender && offered.is_none() && rng.random_range(0..4) > 0 {
            if left == 0 {
                left = rng.random_range(1..12);
            }
            let mut word = s.draw(&mut rng);
            word.insert("tlast".to_owned(), vec![u64::from(left == 1)]);
            offered = Some(word);
        }
        model.set(rst, reset.into());
        model.set(cut_port, (cut > 0).into());
        // While it is reset, xud_tx may offer anything.
        let noise = (cut > 0 && rng.random()).then(|| s.draw(&mut rng));
        s.offer(&mut model, &mut rng, offered.as_ref().or(noise.as_ref()));
        stalls.clock();
        let ready = stalls.ready(0);
        m.set_ready(&mut model, ready);
        model.eval().unwrap();
        let out = m.offered(&model);
        let ends = out.as_ref().is_some_and(|out| out["tlast"][0] == 1);
        stalls.observe(0, out.is_some(), ends);
        if reset {
            model.clock().unwrap();
            continue;
        }
        if let Some(out) = out {
            match expected.get(next) {
                Some(Word::Of(word)) => assert_eq!(&out, word, "{place}"),
                Some(Word::Cut) => {
                    assert_eq!((out["tkeep"][0], out["tlast"][0]), (1, 1), "{place}");
                }
                None => panic!("{place}: {out:x?} from nowhere"),
            }
            if ready {
                next += 1;
                frames += u64::from(ends);
            }
            idle = 0;
        } else {
            // A word is on offer in the clock behind its own, the end of a frame as soon.
            idle = if next < expected.len() { idle + 1 } else { 0 };
            assert!(idle < 2, "{place}: a word stays");
            let open = s.is_ready(&model) || next < expected.len();
            assert!(open, "{place}: no word is taken, and none is inside");
        }
        if cut == 0
            && s.is_ready(&model)
            && let Some(word) = offered.take()
        {
            within = word["tlast"][0] == 0;
            expected.push(Word::Of(word));
            left -= 1;
        }
        cut -= i32::from(cut > 0);
        model.clock().unwrap();
    }
    (frames, cuts)
}

#[test]
fn every_frame_ends_and_only_cut_ones_are_changed() {
    let library = build(CardTxGuard::default());
    let mut cuts = 0;
    profiles("frames to the MAC", |seed| {
        let (frames, cut) = run(&library, seed);
        cuts += cut;
        frames
    });
    if number("TRIBUTARY_SEED").is_none() {
        assert!(cuts > 50, "{cuts}");
    }
}
