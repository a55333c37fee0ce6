//! card_ring_reads.

use std::collections::VecDeque;
use std::sync::OnceLock;

use rand::RngExt;
use tributary_hdl::card::CardRingReads;
use tributary_sim::testbench::wrong::Wrong;
use tributary_sim::verilate::Verilated;

use super::super::ports::{Group, Record};
use super::{Bench, Result, demand, library, right, same, wrong};

/// Reads whose owners are known.
const KNOWN: usize = 32;
/// Reads of rings that may be away.
const AWAY: u64 = 4;

const WRONG: [Wrong; 9] = [
    // Any number of reads of rings; room is given back with the first word; and to nobody else.
    ("card_ring_reads", "wants = ", "b_valid"),
    ("card_ring_reads", "left = ", "words_m_valid & b_m_ready"),
    (
        "card_ring_reads",
        "wants = ",
        "b_valid & (away_reg < 3'd3) & !a_valid",
    ),
    // Words: each is the last, all are of transfers, too; those of rings are lost, of group 0, and good.
    ("card_ring_reads", "owners_m_ready = ", "s_valid"),
    ("card_ring_reads", "a_m_valid = ", "s_valid"),
    ("card_ring_reads", "words_s_valid = ", "1'b0"),
    ("card_ring_reads", "asks_group = ", "8'd0"),
    ("card_ring_reads", "front_error = ", "1'b0"),
    // Requests of transfers are lost.
    ("card_ring_reads", "a_ready = ", "m_ready & owners_s_ready"),
];

fn block() -> &'static Verilated {
    static LIBRARY: OnceLock<Verilated> = OnceLock::new();
    LIBRARY.get_or_init(|| library(CardRingReads::default(), &WRONG))
}

/// A read whose words have not all come.
struct Read {
    ring: bool,
    ctx: u64,
    left: u64,
}

/// Counts transfers, reads of rings, clocks with 4 of them away and with 32 reads whose words have not come.
fn run(seed: u64, error: u64) -> Result<[u64; 4]> {
    let mut bench = Bench::new(block(), seed, error, 2);
    let group = |name| Group::of(block(), name).without(&["m_"]);
    let (sides, m) = ([group("a"), group("b")], group("m"));
    let (s, a_m, b_m) = (group("s"), group("a_m"), group("b_m"));
    let mut busy = [0; 4].map(|_: u32| bench.rng.random_range(1..=10));
    let mut offered: [Option<Record>; 2] = [None, None];
    let mut known: VecDeque<Read> = VecDeque::new();
    let mut word: Option<Record> = None;
    let mut words: VecDeque<Record> = VecDeque::new();
    // Reads of rings that are away; whether one could have its turn in the clock before; who passed the one that waits.
    let (mut away, mut could, mut passed) = (0, false, [0; 2]);
    let mut front: Option<Record> = None;
    let mut seen = [0; 4];
    bench.run(5_000, |bench, now| {
        if now % 1_000 == 999 {
            busy = busy.map(|_| bench.rng.random_range(1..=10));
        }
        let reset = bench.rng.random_range(0..900) == 0;
        bench.set("rst", reset.into());
        if reset {
            (offered, word, front) = ([None, None], None, None);
            (away, could, passed) = (0, false, [0; 2]);
            known.clear();
            words.clear();
        }
        for (i, side) in sides.iter().enumerate() {
            if !reset && offered[i].is_none() && bench.rng.random_range(0..10) < busy[i] {
                let mut record = side.draw(&mut bench.rng);
                if i == 1 {
                    record.insert("len".to_owned(), vec![32]);
                    record.insert("ctx".to_owned(), vec![bench.rng.random_range(0..256)]);
                }
                offered[i] = Some(record);
                passed[i] = 0;
            }
            side.offer(&mut bench.model, &mut bench.rng, offered[i].as_ref());
        }
        if let Some(read) = known.front()
            && word.is_none()
            && bench.rng.random_range(0..10) < busy[2]
        {
            let mut record = s.draw(&mut bench.rng);
            record.insert("last".to_owned(), vec![u64::from(read.left == 1)]);
            record.insert("ctx".to_owned(), vec![read.ctx]);
            word = Some(record);
        }
        s.offer(&mut bench.model, &mut bench.rng, word.as_ref());
        let ready = [bench.stalls.ready(0), bench.stalls.ready(1)];
        m.set_ready(&mut bench.model, ready[0]);
        b_m.set_ready(&mut bench.model, ready[1]);
        // Words of transfers are always taken.
        a_m.set_ready(&mut bench.model, true);
        bench.eval()?;
        if reset {
            return Ok(());
        }

        // Requests.
        let out = m.offered(&bench.model);
        bench.stalls.observe(0, out.is_some(), true);
        let full = known.len() == KNOWN;
        let waits = offered[0].is_some() || could;
        same("a request is offered", out.is_some(), waits && !full)?;
        if front.is_some() {
            same("what was offered", &out, &front)?;
        }
        seen[3] += u64::from(full);
        let takes = [0, 1].map(|i| offered[i].is_some() && sides[i].is_ready(&bench.model));
        let passes = usize::from(out.is_some() && ready[0]);
        same(
            "taken",
            takes.iter().filter(|&&takes| takes).count(),
            passes,
        )?;
        front = out.clone().filter(|_| !ready[0]);
        let room = offered[1].is_some() && away < AWAY;
        could = room && !takes[1];
        if let Some(one) = (0..2).find(|&i| takes[i]) {
            same("a request", &out, &offered[one])?;
            let record = offered[one].take().ok_or("none")?;
            known.push_back(Read {
                ring: one == 1,
                ctx: record["ctx"][0],
                left: if one == 1 {
                    4
                } else {
                    bench.rng.random_range(1..6)
                },
            });
            away += one as u64;
            seen[one] += 1;
            passed[1 - one] += u64::from(offered[1 - one].is_some() && (one == 1 || room));
            demand(passed[1 - one] < 2, "not in turns")?;
        }
        demand(away <= AWAY, "too many reads of rings are away")?;
        seen[2] += u64::from(away == AWAY);

        // Words: those of rings stand still while they wait, those of transfers pass.
        let ring = b_m.offered(&bench.model);
        same("a word of a ring", ring.as_ref(), words.front())?;
        bench.stalls.observe(
            1,
            ring.is_some(),
            ring.as_ref().is_some_and(|word| word["last"][0] == 1),
        );
        if ready[1]
            && let Some(word) = words.pop_front()
        {
            away -= word["last"][0];
        }
        let mut of_transfer = None;
        if let Some(word) = word.take() {
            demand(s.is_ready(&bench.model), "a word waits")?;
            let read = known.front_mut().ok_or("a word of nothing")?;
            read.left -= 1;
            if read.ring {
                let mut word = word;
                word.remove("bytes");
                words.push_back(word);
            } else {
                of_transfer = Some(word);
            }
            if read.left == 0 {
                known.pop_front();
            }
        }
        same(
            "a word of a transfer",
            a_m.offered(&bench.model),
            of_transfer,
        )
    })?;
    Ok(seen)
}

#[test]
fn mb_16_reads_of_rings_and_transfers_take_turns_and_words_go_to_whom_asked() {
    right("card_ring_reads", run);
}

#[test]
fn mb_16_every_wrong_reader_of_rings_is_noticed() {
    wrong(&WRONG, run);
}
