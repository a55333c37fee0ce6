//! card_ring_pairs, beside tables of bindings and counts.

use std::sync::OnceLock;

use rand::RngExt;
use rand::seq::IndexedRandom;
use tributary_hdl::card::CardRingPairs;
use tributary_protocol::multicast::ring::Operation;
use tributary_protocol::xud::Outcome;
use tributary_sim::testbench::beyond::beyond;
use tributary_sim::testbench::wrong::Wrong;
use tributary_sim::verilate::Verilated;

use super::super::ports::{Group, Record};
use super::{Bench, Result, library, right, same, wrong};

mod table;

use table::{COUNT, ENDED, FIND, GRANT, LOOK, START, TOLD, Table, Work};

/// log2 of queue pairs and groups; bits of a place: group, slot, role.
const Q: usize = 4;
const G: usize = 4;
const O: usize = 11;

const WRONG: [Wrong; 12] = [
    // Bindings: every slot fits; those of queue pairs and groups that do not exist; the place is not noted.
    (
        "card_ring_pairs",
        "fits = ",
        "!(&s_bind_role) & ({12'd0, s_bind_pair[3:0]} == s_bind_pair)",
    ),
    (
        "card_ring_pairs",
        "fits = ",
        "!(&s_bind_role) & (s_bind_slot != NO_SLOT)",
    ),
    ("card_ring_pairs", "places_wr_en = ", "1'b0"),
    // Places of both roles are one; whoever is found is right.
    (
        "card_ring_pairs",
        "at_find = ",
        "{wanted_group_reg[3:0], wanted_slot_reg, 1'b0}",
    ),
    ("card_ring_pairs", "same = ", "1'b1"),
    // Completions: told once more, lost; all are good.
    ("card_ring_pairs", "m_cpl_valid = ", "s_cpl_valid"),
    ("card_ring_pairs", "s_cpl_ready = ", "m_cpl_ready"),
    ("card_ring_pairs", "ended_ok_reg <= ", "1'b1"),
    // Doorbells: the index is that of before; it counts no further than 1.
    ("card_ring_pairs", "count_reg <= ", "posted_rd_data"),
    (
        "card_ring_pairs",
        "m_post_index = ",
        "{15'd0, count_reg[0]}",
    ),
    // What has landed begins again; of another slot.
    ("card_ring_pairs", "m_ev_op = ", "op_reg"),
    ("card_ring_pairs", "m_ev_slot = ", "wanted_slot_reg"),
];

fn block() -> &'static Verilated {
    static LIBRARY: OnceLock<Verilated> = OnceLock::new();
    LIBRARY.get_or_init(|| library(CardRingPairs::<Q, G, O>::default(), &WRONG))
}

/// Counts events of each operation, doorbells, those of an index above 1, bindings that are refused, those of the queue pair that is looked at
/// or while the table is cleared, queue pairs that end.
fn run(seed: u64, error: u64) -> Result<[u64; 11]> {
    let mut bench = Bench::new(block(), seed, error, 3);
    let group = |name| Group::of(block(), name);
    let (s_cpl, m_cpl) = (group("s_cpl"), group("m_cpl"));
    let sources = [None, Some("s_start"), Some("s_grant")];
    let sources = sources.map(|name| group(name.unwrap_or("s_tell")));
    let (m_post, m_ev) = (group("m_post"), group("m_ev"));
    let mut offered: [Option<Record>; 3] = [const { None }; 3];
    let mut cpl: Option<Record> = None;
    let mut table = Table::new();
    let slots = [0, 1, 62, bench.rng.random_range(0..62)];
    let groups = [0, 15, bench.rng.random_range(0..15)];
    let far = [beyond(1 << Q, 16, &[1, 6]), beyond(1 << G, 8, &[0, 15])];
    let busy = [0; 5].map(|_: u32| bench.rng.random_range(1..=20));
    let (mut ends, mut bound, mut unbound) = (None::<(u64, u64)>, 0, false);
    let mut seen = [0; 11];
    bench.run(6_000, |bench, now| {
        let reset = bench.rng.random_range(0..1_200) == 0;
        bench.set("rst", reset.into());
        if reset {
            table = Table {
                places: std::mem::take(&mut table.places),
                ..Table::new()
            };
            (offered, cpl, ends, unbound) = ([const { None }; 3], None, None, false);
        }
        let chance = |bench: &mut Bench, of: u32| bench.rng.random_range(0..20) < of;

        // A binding; most change what is there, some cannot be.
        let mut pair = bench.rng.random_range(0..1 << Q);
        let mut place = [
            bench.rng.random_range(0..3),
            *groups.choose(&mut bench.rng).ok_or("none")?,
            *slots.choose(&mut bench.rng).ok_or("none")?,
        ];
        if let Some(work) = &table.work
            && bench.rng.random_range(0..3) == 0
        {
            // Just now it is looked at.
            pair = if work.pair < 1 << Q { work.pair } else { pair };
            place = if work.from >= START {
                work.place
            } else {
                place
            };
        }
        let wrong = bench.rng.random_range(0..20);
        match wrong {
            0 => pair = *far[0].choose(&mut bench.rng).ok_or("none")?,
            1 => place[1] = *far[1].choose(&mut bench.rng).ok_or("none")?,
            2 => place[2] = 63,
            3 => place[0] = 3,
            _ => {}
        }
        let binds = !reset && now > bound && bench.rng.random_range(0..800) < busy[0] * busy[0];
        bench.set("s_bind_valid", binds.into());
        bench.set("s_bind_pair", pair);
        for (field, value) in ["role", "group", "slot"].iter().zip(place) {
            bench.set(&format!("s_bind_{field}"), value);
        }
        let refused = binds && wrong < 4;
        seen[7] += u64::from(refused);
        if binds {
            bound = now + 1;
        }

        // The end of a queue pair stands for some clocks.
        ends = ends.filter(|&(_, until)| now < until);
        if !reset && ends.is_none() && bench.rng.random_range(0..100) == 0 {
            ends = Some((bench.rng.random_range(0..1 << Q), now + 3));
            seen[10] += 1;
        }
        let other = bench.rng.random_range(0..1 << 24);
        bench.set("s_end_valid", ends.is_some().into());
        bench.set("s_end_qpn", ends.map_or(other, |(qpn, _)| qpn));

        // What comes.
        for (i, source) in sources.iter().enumerate() {
            if !reset && offered[i].is_none() && chance(bench, busy[1 + i]) {
                let mut record = source.draw(&mut bench.rng);
                let qpn = bench.rng.random_range(0..1 << Q);
                record.insert("qpn".to_owned(), vec![qpn]);
                record.insert("group".to_owned(), vec![place[1] & 15]);
                record.insert(
                    "to".to_owned(),
                    vec![*slots.choose(&mut bench.rng).ok_or("none")?],
                );
                offered[i] = Some(record);
            }
            source.offer(&mut bench.model, &mut bench.rng, offered[i].as_ref());
        }
        if !reset && cpl.is_none() && chance(bench, busy[4]) {
            let mut record = s_cpl.draw(&mut bench.rng);
            if bench.rng.random_range(0..3) > 0 {
                record.insert("status".to_owned(), vec![Outcome::Ok as u64]);
            }
            cpl = Some(record);
        }
        s_cpl.offer(&mut bench.model, &mut bench.rng, cpl.as_ref());
        let ready = [0, 1, 2].map(|port| bench.stalls.ready(port));
        m_cpl.set_ready(&mut bench.model, ready[0]);
        m_ev.set_ready(&mut bench.model, ready[1]);
        m_post.set_ready(&mut bench.model, ready[2]);
        bench.eval()?;
        if reset {
            return Ok(());
        }

        // What stands at the outputs.
        bench.says("ready", table.clears == 0)?;
        bench.says("m_unbound", unbound)?;
        unbound = refused;
        let passes = cpl.as_ref().filter(|_| table.ended.is_none());
        let is = m_cpl.offered(&bench.model);
        bench.stalls.observe(0, is.is_some(), true);
        same("m_cpl", is.as_ref(), passes)?;
        let takes = cpl.is_some() && s_cpl.is_ready(&bench.model);
        let passes_now = passes.is_some() && ready[0];
        same("s_cpl_ready", takes, passes_now)?;
        let takes = [0, 1, 2].map(|i| offered[i].is_some() && sources[i].is_ready(&bench.model));
        let turns = [0, 1, 2].map(|i| offered[i].is_some() && table.idle([TOLD, START, GRANT][i]));
        same("taken", takes, turns)?;
        let is = m_post.offered(&bench.model);
        bench.stalls.observe(2, is.is_some(), true);
        let is = is.map(|post| [post["qpn"][0], post["index"][0]]);
        let offers = table.offers();
        same("m_post", is, offers.and_then(|work| work.post))?;
        let is = m_ev.offered(&bench.model);
        bench.stalls.observe(1, is.is_some(), true);
        let mut is = is.map(|ev| ["op", "group", "slot", "value"].map(|field| ev[field][0]));
        let mut should = offers.and_then(|work| work.events.front().copied());
        for ev in [&mut is, &mut should].into_iter().flatten() {
            // A value is of credits only.
            ev[3] *= u64::from(ev[0] == Operation::Credit as u64 & 7);
        }
        same("m_ev", is, should)?;

        // The tables, what looks at them, and what leaves.
        let looks = table.work.as_ref().filter(|work| work.stage <= COUNT);
        let looks = looks.is_some_and(|work| work.pair == pair || work.place == place);
        let clears = table.clears > 0;
        if clears {
            table.clears -= 1;
            seen[9] += u64::from(binds);
        } else if binds && !refused {
            table.bind(pair, place);
            seen[8] += u64::from(looks);
        } else if let Some((qpn, _)) = ends {
            table.pairs.remove(&qpn);
        }
        match table.offers() {
            Some(Work {
                post: Some([_, index]),
                ..
            }) if ready[2] => {
                seen[5] += 1;
                seen[6] += u64::from(*index > 1);
            }
            Some(Work {
                post: None, events, ..
            }) if ready[1] => seen[events[0][0] as usize] += 1,
            _ => {}
        }
        if table.work.is_some() {
            if table.step(!binds, [ready[1], ready[2]]) {
                table.work = None;
            }
        } else if !clears {
            let from = table.turn;
            table.turn = (table.turn + 1) % 4;
            let source = [0, 3, 1, 2][from];
            if from == ENDED {
                table.work = table.ended.take().map(|(pair, good)| Work {
                    from,
                    stage: LOOK,
                    pair,
                    good,
                    ..Work::default()
                });
            } else if let Some(record) = offered[source].take() {
                let of = |field: &str| record.get(field).map_or(0, |value| value[0]);
                table.work = Some(Work {
                    from,
                    stage: if from == TOLD { LOOK } else { FIND },
                    place: [from as u64 - u64::from(from > TOLD), of("group"), of("to")],
                    pair: of("qpn"),
                    value: of("immediate"),
                    good: true,
                    ..Work::default()
                });
            }
        }
        if passes_now && let Some(record) = cpl.take() {
            let good = record["status"][0] == Outcome::Ok as u64;
            table.ended = Some((record["qpn"][0], good));
        }
        Ok(())
    })?;
    Ok(seen)
}

#[test]
fn mb_16_queue_pairs_of_rings_ring_and_tell_what_the_tables_say_whatever_is_bound_meanwhile() {
    right("card_ring_pairs", run);
}

#[test]
fn mb_16_every_wrong_binding_of_queue_pairs_is_noticed() {
    wrong(&WRONG, run);
}
