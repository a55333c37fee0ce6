//! card_ring_reads: reads of two clients, whose words come back in the order of the requests.

use std::collections::VecDeque;

use rand::RngExt;
use tributary_hdl::card::CardRingReads;
use tributary_hdl::emit::emit_block;
use tributary_sim::testbench::wrong::{self, Wrong};
use tributary_sim::testbench::{Stalls, profiles};
use tributary_sim::verilate::Verilated;

use super::super::ports::{Group, Record, build, rng};

/// Reads of rings that may be away.
const AWAY: usize = 4;

/// Errors by number, from 1 on, at bit 40 and above of the address of transfers; 0: none.
const WRONG: [Wrong; 4] = [
    ("card_ring_reads", "wants = ", "b_valid"),
    ("card_ring_reads", "left = ", "words_m_valid && b_m_ready"),
    ("card_ring_reads", "asks_group = ", "8'd0"),
    ("card_ring_reads", "owner_ring = ", "1'b0"),
];

/// A reader that answers every read after some clocks, and a ring that takes words as the profile wants.
fn run(
    library: &Verilated,
    seed: u64,
    error: u64,
    stalls: &mut Stalls,
    clocks: u64,
) -> Result<u64, String> {
    let [a, b, m, s] = ["a", "b", "m", "s"].map(|prefix| Group::of(library, prefix));
    let (a, b) = (a.without(&["m_"]), b.without(&["m_"]));
    let [a_m, b_m] = ["a_m", "b_m"].map(|prefix| Group::of(library, prefix));
    let (mut rng, mut model) = (rng(seed), library.model_with_seed(seed).unwrap());
    model.reset(2).unwrap();
    let mut offered: [Option<Record>; 2] = [None, None];
    // Words that are to come, each with its clock and whose it is; words of rings that are here.
    let mut coming: VecDeque<(u64, bool, u64, Record)> = VecDeque::new();
    let mut here: VecDeque<Record> = VecDeque::new();
    let (mut away, mut passed, mut moved) = (0, [0; 2], 0);
    a_m.set_ready(&mut model, true);
    for clock in 0..clocks {
        stalls.clock();
        for (at, group) in [&a, &b].into_iter().enumerate() {
            if offered[at].is_none() && rng.random_range(0..3) == 0 {
                let mut read = group.draw(&mut rng);
                if at == 0 {
                    read.insert("len".into(), vec![rng.random_range(1..200)]);
                    let low: u32 = rng.random();
                    read.insert("addr".into(), vec![error << 40 | u64::from(low)]);
                } else {
                    read.insert("len".into(), vec![32]);
                    read.insert("ctx".into(), vec![rng.random_range(0..16)]);
                }
                offered[at] = Some(read);
            }
            group.offer(&mut model, &mut rng, offered[at].as_ref());
        }
        if offered[0].is_none() {
            let port = library.port("a_addr").unwrap();
            model.set(port, error << 40);
        }
        let ready = [stalls.ready(0), stalls.ready(1)];
        m.set_ready(&mut model, ready[0]);
        b_m.set_ready(&mut model, ready[1]);
        let word = coming.front().filter(|(due, ..)| *due <= clock).cloned();
        s.offer(&mut model, &mut rng, word.as_ref().map(|(.., word)| word));
        model.eval().map_err(|e| e.to_string())?;
        let place = format!("seed {seed}, clock {clock}");

        // Words.
        if word.is_some() && !s.is_ready(&model) {
            return Err(format!("{place}: a word has no room"));
        }
        let own = word.as_ref().filter(|(_, ring, ..)| !ring).map(|(.., w)| w);
        if a_m.offered(&model).as_ref() != own {
            return Err(format!("{place}: another word for transfers than {own:?}"));
        }
        let out = b_m.offered(&model);
        stalls.observe(
            1,
            out.is_some(),
            out.as_ref().is_some_and(|w| w["last"] == [1]),
        );
        if let Some(out) = out {
            if here.front() != Some(&out) {
                return Err(format!("{place}: {out:?}, not {:?}", here.front()));
            }
            if ready[1] {
                here.pop_front();
                away -= usize::from(out["last"] == [1]);
                moved = clock;
            }
        }
        if let Some((_, ring, group, mut word)) = word {
            coming.pop_front();
            if ring {
                word.remove("bytes");
                word.insert("ctx".into(), vec![group]);
                here.push_back(word);
            }
        }

        // Requests.
        let out = m.offered(&model);
        stalls.observe(0, out.is_some(), true);
        let taken: Vec<usize> = [&a, &b]
            .into_iter()
            .enumerate()
            .filter(|(at, group)| offered[*at].is_some() && group.is_ready(&model))
            .map(|(at, _)| at)
            .collect();
        if taken.len() != usize::from(out.is_some() && ready[0]) {
            return Err(format!("{place}: {taken:?} are taken"));
        }
        if let Some(&at) = taken.first() {
            if out != offered[at] {
                return Err(format!("{place}: {out:?}, not {:?}", offered[at]));
            }
            let read = offered[at].take().unwrap();
            away += at;
            if away > AWAY {
                return Err(format!("{place}: {away} reads of rings are away"));
            }
            passed[at] += 1;
            moved = clock;
            let due = clock + rng.random_range(5..60);
            let words = read["len"][0].div_ceil(8);
            for number in 0..words {
                let mut word = s.draw(&mut rng);
                word.insert("last".into(), vec![(number + 1 == words).into()]);
                coming.push_back((due, at == 1, read["ctx"][0], word));
            }
        }
        let patience = 2 * u64::from(stalls.profile().pause()) + 400;
        if clock - moved > patience && coming.is_empty() {
            return Err(format!("{place}: nothing moves"));
        }
        model.clock().map_err(|e| e.to_string())?;
    }
    Ok(passed[0].min(passed[1]))
}

#[test]
fn mb_16_words_of_entries_and_of_transfers_come_to_who_asked() {
    let library = build(CardRingReads::default());
    profiles("card_ring_reads: reads", |seed| {
        let mut stalls = Stalls::of_seed(seed, 2);
        run(&library, seed, 0, &mut stalls, 6_000).unwrap_or_else(|what| panic!("{what}"))
    });
}

#[test]
fn mb_16_wrong_reads_of_entries_are_noticed() {
    let design = emit_block(&mut CardRingReads::default()).unwrap();
    let files = design.files();
    let library = wrong::library(&design.top, files, ("a_addr[63:40]", 24), 1, &WRONG);
    let run = |error| run(&library, 3, error, &mut Stalls::of_seed(3, 2), 6_000);
    assert!(run(0).unwrap() > 50);
    for (number, wrong) in (1..).zip(&WRONG) {
        let noticed = run(number).err();
        println!("{wrong:?}: {noticed:?}");
        assert!(noticed.is_some(), "{wrong:?}");
    }
}
