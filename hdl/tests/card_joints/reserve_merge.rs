//! card_reserve_merge.

use std::sync::OnceLock;

use rand::RngExt;
use tributary_hdl::card::CardReserveMerge;
use tributary_sim::testbench::wrong::Wrong;
use tributary_sim::verilate::Verilated;

use super::ports::build_wrong;
use super::rings::{Bench, Result, right, wrong};

/// log2 of queue pairs.
const Q: usize = 4;

const WRONG: [Wrong; 7] = [
    // Whose turn it is: always one's, the other's; who asks is not kept, or for ever, or is the other.
    ("card_reserve_merge", "b_first_reg | !a_valid", "!a_valid"),
    ("card_reserve_merge", "b_first_reg | !a_valid", "1'b1"),
    ("card_reserve_merge", "some & !m_done", "1'b0"),
    ("card_reserve_merge", "some & !m_done", "some"),
    ("card_reserve_merge", "some & !m_done", "b_valid"),
    // An answer is for both, or is not what was said.
    (
        "card_reserve_merge",
        "some & m_done & !choose_b",
        "some & m_done",
    ),
    (
        "card_reserve_merge",
        "some & m_done & choose_b",
        "b_valid & m_done",
    ),
];

fn block() -> &'static Verilated {
    static LIBRARY: OnceLock<Verilated> = OnceLock::new();
    LIBRARY.get_or_init(|| build_wrong(CardReserveMerge::<Q>::default(), &WRONG))
}

/// Counts answers of each side, good ones of both, refusals, questions that waited for the other's answer, resets while one asks.
fn run(seed: u64, error: u64) -> Result<[u64; 6]> {
    let mut bench = Bench::new(block(), seed, error, 1);
    // What each asks for; who asks now; who is first when both do.
    let mut asked: [Option<u64>; 2] = [None; 2];
    let (mut now_asks, mut first) = (None::<usize>, 0);
    let busy = [0; 2].map(|_: u32| bench.rng.random_range(1..=20));
    let mut seen = [0; 6];
    bench.run(6_000, |bench, _| {
        let reset = bench.rng.random_range(0..600) == 0;
        bench.set("rst", reset.into());
        if reset {
            seen[5] += u64::from(now_asks.is_some());
            (asked, now_asks, first) = ([None; 2], None, 0);
        }
        for (i, name) in ["a", "b"].iter().enumerate() {
            if !reset && asked[i].is_none() && bench.rng.random_range(0..20) < busy[i] {
                asked[i] = Some(bench.rng.random_range(0..1 << Q));
            }
            let other = bench.rng.random_range(0..1 << Q);
            bench.set(&format!("{name}_valid"), asked[i].is_some().into());
            bench.set(&format!("{name}_qpn"), asked[i].unwrap_or(other));
        }
        let both = asked.iter().all(Option::is_some);
        let alone = usize::from(asked[0].is_none());
        let turn = now_asks.unwrap_or(if both { first } else { alone });
        let asks = asked[turn];
        // An answer comes to a question alone, in its clock or later.
        let done = asks.is_some() && bench.stalls.ready(0);
        let ok = bench.rng.random();
        bench.set("m_done", done.into());
        bench.set("m_ok", u64::from(ok));
        bench.eval()?;
        bench.stalls.observe(0, asks.is_some(), true);
        if reset {
            return Ok(());
        }
        bench.says("m_valid", asks.is_some())?;
        if let Some(qpn) = asks {
            bench.says("m_qpn", qpn)?;
        }
        for (i, name) in ["a", "b"].iter().enumerate() {
            let answered = done && turn == i;
            bench.says(&format!("{name}_done"), answered)?;
            if answered {
                bench.says(&format!("{name}_ok"), ok)?;
            }
        }
        now_asks = asks.map(|_| turn).filter(|_| !done);
        if done {
            seen[turn] += 1;
            seen[if ok { 2 } else { 3 }] += 1;
            seen[4] += u64::from(both);
            asked[turn] = None;
            first = 1 - turn;
        }
        Ok(())
    })?;
    Ok(seen)
}

#[test]
fn cl_05_two_who_ask_for_slots_take_turns_and_each_is_answered() {
    right("card_reserve_merge", run);
}

#[test]
fn cl_05_every_wrong_merge_of_slots_is_noticed() {
    wrong(&WRONG, run);
}
