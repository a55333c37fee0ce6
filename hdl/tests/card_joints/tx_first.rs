//! card_tx_first.

use std::sync::OnceLock;

use rand::RngExt;
use tributary_hdl::card::CardTxFirst;
use tributary_sim::testbench::wrong::Wrong;
use tributary_sim::verilate::Verilated;

use super::ports::{Group, Record, build_wrong};
use super::rings::{Bench, Result, right, same, wrong};

const WRONG: [Wrong; 9] = [
    // Those of a do not go first, or alone; whose frame is under way is not kept, or not looked at.
    (
        "card_tx_first",
        "within_reg ? of_a_reg : a_tvalid",
        "within_reg ? of_a_reg : !b_tvalid",
    ),
    (
        "card_tx_first",
        "within_reg ? of_a_reg : a_tvalid",
        "within_reg ? of_a_reg : 1'b1",
    ),
    (
        "card_tx_first",
        "within_reg ? of_a_reg : a_tvalid",
        "a_tvalid",
    ),
    (
        "card_tx_first",
        "within_reg ? of_a_reg : a_tvalid",
        "within_reg | a_tvalid",
    ),
    // A frame ends with each word, with a last word that is not taken, or never.
    ("card_tx_first", "!(ends & m_tready)", "!m_tready"),
    ("card_tx_first", "!(ends & m_tready)", "!ends"),
    ("card_tx_first", "!(ends & m_tready)", "1'b1"),
    // Words are taken of both, or of none while both offer.
    ("card_tx_first", "m_tready & choose_a", "m_tready"),
    (
        "card_tx_first",
        "m_tready & !choose_a",
        "m_tready & !a_tvalid",
    ),
];

fn block() -> &'static Verilated {
    static LIBRARY: OnceLock<Verilated> = OnceLock::new();
    LIBRARY.get_or_init(|| build_wrong(CardTxFirst::default(), &WRONG))
}

/// A source: the word that it offers, and those of its frame that are left.
#[derive(Default)]
struct Source {
    offered: Option<Record>,
    left: u32,
}

/// Counts frames of each source, frames of a that came while a word of b was held, resets within a frame.
fn run(seed: u64, error: u64) -> Result<[u64; 4]> {
    let mut bench = Bench::new(block(), seed, error, 1);
    let [a, b, m] = ["a", "b", "m"].map(|name| Group::of(block(), name));
    let groups = [a, b];
    let mut sources = [Source::default(), Source::default()];
    // Whose frame is under way, or whose word is held.
    let mut under_way: Option<usize> = None;
    let busy = [0; 2].map(|_: u32| bench.rng.random_range(1..=20));
    let mut seen = [0; 4];
    bench.run(6_000, |bench, _| {
        let reset = bench.rng.random_range(0..600) == 0;
        bench.set("rst", reset.into());
        if reset {
            seen[3] += u64::from(under_way.is_some());
            (sources, under_way) = (Default::default(), None);
        }
        for (i, source) in sources.iter_mut().enumerate() {
            // A frame begins as often as its source is busy, and its words have gaps.
            let comes = match source.left {
                0 => bench.rng.random_range(0..20) < busy[i],
                _ => bench.rng.random_range(0..4) > 0,
            };
            if !reset && source.offered.is_none() && comes {
                if source.left == 0 {
                    source.left = bench.rng.random_range(1..9);
                }
                let mut word = groups[i].draw(&mut bench.rng);
                word.insert("tlast".to_owned(), vec![u64::from(source.left == 1)]);
                source.offered = Some(word);
            }
            groups[i].offer(&mut bench.model, &mut bench.rng, source.offered.as_ref());
        }
        let ready = bench.stalls.ready(0);
        m.set_ready(&mut bench.model, ready);
        bench.eval()?;
        if reset {
            return Ok(());
        }
        let first = usize::from(sources[0].offered.is_none());
        let turn = under_way.unwrap_or(first);
        let held = under_way == Some(1) && sources[0].offered.is_some();
        let should = sources[turn].offered.as_ref();
        let is = m.offered(&bench.model);
        let ends = should.is_some_and(|word| word["tlast"] == [1]);
        bench.stalls.observe(0, is.is_some(), ends);
        same("m", is.as_ref(), should)?;
        for (i, group) in groups.iter().enumerate() {
            if sources[i].offered.is_some() {
                same("taken", group.is_ready(&bench.model), ready && turn == i)?;
            }
        }
        if should.is_some() {
            under_way = Some(turn).filter(|_| !(ends && ready));
            if ready {
                sources[turn].offered = None;
                sources[turn].left -= 1;
                seen[turn] += u64::from(ends);
                seen[2] += u64::from(ends && held);
            }
        }
        Ok(())
    })?;
    Ok(seen)
}

#[test]
fn cl_05_frames_of_two_sources_leave_whole_and_those_of_one_first() {
    right("card_tx_first", run);
}

#[test]
fn cl_05_every_wrong_merge_of_frames_is_noticed() {
    wrong(&WRONG, run);
}
