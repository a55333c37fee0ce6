//! card_ring_pairs beside a table of bindings.

use std::collections::{BTreeMap, VecDeque};

use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use tributary_hdl::card::CardRingPairs;
use tributary_hdl::emit::emit_block;
use tributary_protocol::multicast::ring::Operation;
use tributary_sim::testbench::wrong::{self, Wrong};
use tributary_sim::testbench::{Stalls, profiles};
use tributary_sim::verilate::{Model, Verilated};

use super::super::ports::{Group, Record, build, rng};

/// 16 queue pairs, 16 groups.
type Block = CardRingPairs<4, 4, 11>;
const PAIRS: u64 = 16;

/// Errors by number, from 1 on, at bit 40 and above of what comes out with a block; 0: none.
const WRONG: [Wrong; 9] = [
    // A binding takes the place of what is cleared.
    ("card_ring_pairs", "binds = ", "s_bind_valid & fits"),
    ("card_ring_pairs", "same = ", "1'b1"),
    ("card_ring_pairs", "fits = ", "1'b1"),
    ("card_ring_pairs", "m_post_index = ", "16'd1"),
    ("card_ring_pairs", "ended_ok_reg <= ", "1'b1"),
    ("card_ring_pairs", "count_reg <= ", "posted_rd_data"),
    ("card_ring_pairs", "s_cpl_ready = ", "m_cpl_ready"),
    ("card_ring_pairs", "value_reg <= ", "32'd0"),
    ("card_ring_pairs", "at_bind = ", "11'd0"),
];

/// Role, group, slot.
type Place = (u64, u64, u64);

/// What is to come out.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Out {
    Post(u64, u64),
    /// Operation, group, slot, value.
    Event(u64, u64, u64, u64),
}

fn event(operation: Operation, (_, group, slot): Place, value: u64) -> Out {
    Out::Event(operation as u64 & 7, group, slot, value)
}

#[derive(Default)]
struct Table {
    pairs: BTreeMap<u64, Place>,
    places: BTreeMap<Place, u64>,
    posted: BTreeMap<u64, u64>,
}

impl Table {
    /// False: it cannot be.
    fn bind(&mut self, pair: u64, place: Place) -> bool {
        let (role, group, slot) = place;
        let fits = pair < PAIRS && group < 16 && slot < 63 && role < 3;
        if fits {
            self.pairs.remove(&pair);
            if role > 0 {
                self.pairs.insert(pair, place);
                self.places.insert(place, pair);
            }
            self.posted.insert(pair, 0);
        }
        fits
    }

    fn start(&mut self, place: Place) -> Vec<Out> {
        let pair = self.places.get(&place).copied();
        match pair.filter(|pair| self.pairs.get(pair) == Some(&place)) {
            None => vec![event(Operation::Failed, place, 0)],
            Some(pair) => {
                let posted = self.posted.entry(pair).or_default();
                *posted = (*posted + 1) & 0xFFFF;
                vec![Out::Post(pair, *posted)]
            }
        }
    }

    fn told(&self, pair: u64, value: u64) -> Vec<Out> {
        match self.pairs.get(&pair) {
            None => Vec::new(),
            Some(place @ (1, ..)) => vec![event(Operation::Credit, *place, value)],
            Some(place) => vec![
                event(Operation::Begin, *place, 0),
                event(Operation::Landed, *place, 0),
            ],
        }
    }

    fn ended(&self, pair: u64, ok: bool) -> Vec<Out> {
        match self.pairs.get(&pair) {
            Some(place) if !ok => vec![event(Operation::Failed, *place, 0)],
            Some(place @ (1, ..)) => vec![event(Operation::Sent, *place, 0)],
            _ => Vec::new(),
        }
    }
}

struct Bench<'a> {
    library: &'a Verilated,
    model: Model,
    rng: ChaCha8Rng,
    error: u64,
    table: Table,
    clock: u64,
}

impl Bench<'_> {
    fn set(&mut self, name: &str, value: u64) {
        self.model.set(self.library.port(name).unwrap(), value);
    }

    fn get(&self, name: &str) -> u64 {
        self.model.get(self.library.port(name).unwrap())
    }

    fn step(&mut self) -> Result<(), String> {
        self.clock += 1;
        self.model.clock().map_err(|e| e.to_string())
    }

    /// A reset, and bindings that come while the table is cleared, which are lost.
    fn reset(&mut self) -> Result<(), String> {
        self.model.reset(2).map_err(|e| e.to_string())?;
        self.table.pairs.clear();
        for _ in 0..PAIRS {
            let (role, group, slot) = self.place();
            let [binds, ends] = [0, 1].map(|_| self.rng.random_range(0..3) == 0);
            let pair = self.rng.random_range(0..PAIRS);
            for (name, value) in [
                ("s_bind_valid", binds.into()),
                ("s_bind_pair", pair),
                ("s_bind_role", role),
                ("s_bind_group", group),
                ("s_bind_slot", slot),
                ("s_end_valid", ends.into()),
                ("s_end_qpn", pair),
            ] {
                self.set(name, value);
            }
            self.model.eval().map_err(|e| e.to_string())?;
            if self.get("ready") != 0 {
                return Err("ready before the table is cleared".to_owned());
            }
            self.step()?;
        }
        self.set("s_bind_valid", 0);
        self.set("s_end_valid", 0);
        Ok(())
    }

    /// A slot of few, so that they meet.
    fn place(&mut self) -> Place {
        let role = self.rng.random_range(1..3);
        let group = self.rng.random_range(0..3) * 5;
        (role, group, [0, 1, 62][self.rng.random_range(0..3)])
    }

    /// Bindings, and ends of queue pairs, while nothing is under way.
    fn bindings(&mut self) -> Result<(), String> {
        for _ in 0..self.rng.random_range(1..8) {
            let mut place = self.place();
            let mut pair = self.rng.random_range(0..PAIRS);
            match self.rng.random_range(0..12) {
                0 => place.0 = 3,
                1 => place.1 = 16 + self.rng.random_range(0..240),
                2 => place.2 = 63,
                3 => pair += PAIRS << self.rng.random_range(0..12),
                4 => place.0 = 0,
                5 => {
                    self.set("s_end_valid", 1);
                    self.set("s_end_qpn", pair);
                    self.step()?;
                    self.step()?;
                    self.set("s_end_valid", 0);
                    self.table.pairs.remove(&pair);
                    continue;
                }
                _ => {}
            }
            self.set("s_bind_valid", 1);
            self.set("s_bind_pair", pair);
            self.set("s_bind_role", place.0);
            self.set("s_bind_group", place.1);
            self.set("s_bind_slot", place.2);
            self.step()?;
            self.set("s_bind_valid", 0);
            self.model.eval().map_err(|e| e.to_string())?;
            let right = self.table.bind(pair, place);
            if (self.get("m_unbound") == 0) != right {
                return Err(format!("{pair} to {place:?}: {right}"));
            }
        }
        Ok(())
    }
}

fn run(
    library: &Verilated,
    seed: u64,
    error: u64,
    stalls: &mut Stalls,
    rounds: u64,
) -> Result<u64, String> {
    let [s_cpl, m_cpl, s_tell, s_start, s_grant, m_post, m_ev] = [
        "s_cpl", "m_cpl", "s_tell", "s_start", "s_grant", "m_post", "m_ev",
    ]
    .map(|prefix| Group::of(library, prefix));
    let mut bench = Bench {
        library,
        model: library.model_with_seed(seed).unwrap(),
        rng: rng(seed),
        error,
        table: Table::default(),
        clock: 0,
    };
    let b = &mut bench;
    for name in ["s_bind_valid", "s_end_valid"] {
        b.set(name, 0);
    }
    for group in [&s_cpl, &s_tell, &s_start, &s_grant] {
        group.offer(&mut b.model, &mut b.rng, None);
    }
    let mut came = 0;
    for round in 0..rounds {
        if round % 3 == 0 {
            b.reset()?;
        }
        b.bindings()?;
        // In the order in which they are taken; what a completion means is known when its turn comes.
        let mut expected: VecDeque<Out> = VecDeque::new();
        let mut of_completion: VecDeque<Out> = VecDeque::new();
        let mut offered: [Option<Record>; 4] = [const { None }; 4];
        let (mut left, mut quiet, mut since) = (b.rng.random_range(1..60), 0, 0);
        let patience = 3 * u64::from(stalls.profile().pause()) + 100;
        while left > 0 || quiet < 40 {
            quiet += 1;
            stalls.clock();
            for (at, group) in [&s_cpl, &s_tell, &s_start, &s_grant]
                .into_iter()
                .enumerate()
            {
                if offered[at].is_none() && left > 0 && b.rng.random_range(0..4) == 0 {
                    left -= 1;
                    let mut record = group.draw(&mut b.rng);
                    let place = b.place();
                    let pair = b.rng.random_range(0..PAIRS);
                    if at < 2 {
                        record.insert("qpn".into(), vec![pair]);
                    } else {
                        record.insert("group".into(), vec![place.1]);
                        record.insert("to".into(), vec![place.2]);
                    }
                    if at == 0 && b.rng.random_range(0..3) > 0 {
                        record.insert("status".into(), vec![0]);
                    }
                    if at == 2 {
                        record.insert("user".into(), vec![b.error << 40]);
                    }
                    offered[at] = Some(record);
                }
                group.offer(&mut b.model, &mut b.rng, offered[at].as_ref());
            }
            let error = b.error;
            b.set("s_start_user", error << 40);
            let ready = [stalls.ready(0), stalls.ready(1), stalls.ready(2)];
            for (group, ready) in [&m_cpl, &m_post, &m_ev].into_iter().zip(ready) {
                group.set_ready(&mut b.model, ready);
            }
            b.model.eval().map_err(|e| e.to_string())?;
            let place = format!("seed {seed}, clock {}", b.clock);

            // What comes out.
            let out = [m_post.offered(&b.model), m_ev.offered(&b.model)];
            for (port, out) in (1..).zip(&out) {
                stalls.observe(port, out.is_some(), true);
            }
            let [post, ev] = out;
            let post = post.filter(|_| ready[1]);
            let post = post.map(|p| Out::Post(p["qpn"][0], p["index"][0]));
            let ev = ev.filter(|_| ready[2]);
            let credit = Operation::Credit as u64 & 7;
            let ev = ev.map(|e| {
                let [op, group, slot, value] =
                    ["op", "group", "slot", "value"].map(|name| e[name][0]);
                let value = if op == credit { value } else { 0 };
                Out::Event(op, group, slot, value)
            });
            for one in [post, ev].into_iter().flatten() {
                (came, quiet) = (came + 1, 0);
                if expected.front() == Some(&one) {
                    expected.pop_front();
                } else if of_completion.front() == Some(&one) {
                    of_completion.pop_front();
                } else {
                    return Err(format!(
                        "{place}: {one:?}, not {expected:?} or {of_completion:?}"
                    ));
                }
            }

            // What is taken. A completion passes as it is.
            let passes = m_cpl.offered(&b.model);
            stalls.observe(0, passes.is_some(), true);
            if passes.is_some() && passes != offered[0] {
                return Err(format!("{place}: {passes:?} passes"));
            }
            for (at, group) in [&s_cpl, &s_tell, &s_start, &s_grant]
                .into_iter()
                .enumerate()
            {
                if offered[at].is_none() || !group.is_ready(&b.model) {
                    continue;
                }
                quiet = 0;
                let record = offered[at].take().unwrap();
                let field = |name: &str| record[name][0];
                match at {
                    0 if passes.is_none() || !ready[0] => {
                        return Err(format!("{place}: a completion is lost"));
                    }
                    0 => of_completion.extend(b.table.ended(field("qpn"), field("status") == 0)),
                    1 => expected.extend(b.table.told(field("qpn"), field("immediate"))),
                    2 => expected.extend(b.table.start((1, field("group"), field("to")))),
                    _ => expected.extend(b.table.start((2, field("group"), field("to")))),
                }
            }
            // Not quiet while something is to come, for as long as the longest pause allows.
            let waits = offered.iter().any(Option::is_some)
                || !expected.is_empty()
                || !of_completion.is_empty();
            since = if quiet == 0 { 0 } else { since + 1 };
            if waits && since < patience {
                quiet = 1;
            }
            b.step()?;
        }
        if offered.iter().any(Option::is_some) || !expected.is_empty() || !of_completion.is_empty()
        {
            return Err(format!(
                "seed {seed}: {expected:?}, {of_completion:?} do not come"
            ));
        }
    }
    Ok(came)
}

#[test]
fn mb_16_doorbells_and_events_are_those_of_the_bindings() {
    let library = build(Block::default());
    profiles("card_ring_pairs: events", |seed| {
        let mut stalls = Stalls::of_seed(seed, 3);
        run(&library, seed, 0, &mut stalls, 12).unwrap_or_else(|what| panic!("{what}"))
    });
}

#[test]
fn mb_16_wrong_bindings_and_events_are_noticed() {
    let design = emit_block(&mut Block::default()).unwrap();
    let files = design.files();
    let library = wrong::library(&design.top, files, ("s_start_user[63:40]", 24), 1, &WRONG);
    let run = |error| run(&library, 5, error, &mut Stalls::of_seed(0, 3), 40);
    assert!(run(0).unwrap() > 100);
    for (number, wrong) in (1..).zip(&WRONG) {
        let noticed = run(number).err();
        println!("{wrong:?}: {noticed:?}");
        assert!(noticed.is_some(), "{wrong:?}");
    }
}
