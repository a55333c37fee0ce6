//! Every operation of the specification, reduced in a fabric one after the other, each result checked.
//!
//! A result is checked twice. First, all of it against the values folded with the operations' own functions in the order that
//! the cables showed ([`mod@reference`]): floating-point sums and result codes depend on that order, so nothing else is right for
//! them. Endpoints therefore begin in different clocks, 16 apart, in a random order. Second, where the value does not depend on
//! the order, its words against a fold by endpoint number, which knows nothing of the fabric; and a reproducible sum, decoded,
//! against the exact sum rounded once.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use serde::Serialize;
use tributary_protocol::red::{
    Counter, Mode, Op, Value,
    host::{Event, Outcome, repsum},
    ops::{Rounding, combine},
};
use tributary_sim::fabric::{Contribution, GroupConfig, Simulator, reference};

/// Clocks between two endpoints' beginnings.
const STAGGER: u64 = 16;
/// Clocks of rest between two rounds.
const REST: u64 = 1_000;
/// Clocks after which a round is given up: more than three attempts and three roll calls.
const LIMIT: u64 = 5_000_000;
/// Weight of the last bit of the numbers that are summed: 2^-30.
const SCALE: f64 = (1u64 << 30) as f64;

/// What an operation came to.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// Operation.
    pub op: &'static str,
    /// The words of the result, hexadecimal.
    pub result: [String; 4],
    /// The first word, or the reproducible sum, as a number, where it is one.
    pub number: Option<f64>,
    /// Result code.
    pub rc: &'static str,
    /// Endpoints in the result.
    pub count: u32,
    /// From the last endpoint's beginning until every endpoint has the result, clocks.
    pub clocks: u64,
    /// Frames on all cables.
    pub frames: u64,
    /// Partial results that engines sent.
    pub partials: u64,
    /// Attempts after the first one.
    pub retries: usize,
    /// Endpoints that never heard the result.
    pub left_out: usize,
    /// What is wrong with it.
    pub wrong: Option<String>,
}

/// Reduces every operation in the group's next rounds. The first rank has the rows, others none.
pub fn run(
    sim: &mut Simulator,
    group: usize,
    seed: u64,
    mut progress: impl FnMut(u64),
) -> Result<Vec<Row>> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut rows = Vec::new();
    sim.record();
    for (round, &op) in (0u64..).zip(Op::ALL) {
        rows.extend(one(sim, group, round, op, &mut rng)?);
        progress(round + 1);
    }
    Ok(rows)
}

/// A group on the first tree.
pub fn group(sim: &mut Simulator) -> Result<usize> {
    let group = sim.add_group(0, &GroupConfig::default());
    group.context("the fabric has no tree to reduce over")
}

fn one(
    sim: &mut Simulator,
    group: usize,
    round: u64,
    op: Op,
    rng: &mut ChaCha8Rng,
) -> Result<Option<Row>> {
    let endpoints = sim.group_endpoints(group).to_vec();
    let numbers: Vec<i64> = endpoints
        .iter()
        .map(|_| rng.next_u64() as i64 >> 4)
        .collect();
    let mut order: Vec<u64> = (0..endpoints.len() as u64).collect();
    for place in (1..order.len()).rev() {
        order.swap(place, (rng.next_u64() % (place as u64 + 1)) as usize);
    }
    let begin = sim.now() + REST;
    let mut given = BTreeMap::new();
    for ((&endpoint, number), place) in endpoints.iter().zip(&numbers).zip(order) {
        let value = value(op, endpoint, *number, rng.next_u64());
        let at = begin + STAGGER * place;
        given.insert(endpoint, value);
        sim.contribute(group, endpoint, round, Contribution { at, op, value })?;
    }
    let last = begin + STAGGER * (endpoints.len() as u64 - 1);
    let [frames, partials] = counts(sim)?;
    let mut waiting = endpoints.clone();
    waiting.retain(|&e| sim.has_endpoint(e));
    sim.run_while(last + LIMIT, |sim| {
        waiting.retain(|&e| !sim.is_over(group, e, round));
        !waiting.is_empty()
    })?;
    let [all_frames, all_partials] = counts(sim)?;
    if !sim.gather()? {
        return Ok(None);
    }
    let root = endpoints.first().copied().unwrap_or_default();
    let outcomes: Vec<(u64, Outcome)> = endpoints
        .iter()
        .filter_map(|&e| sim.outcome(group, e, round))
        .collect();
    let outcome = sim.outcome(group, root, round).map(|(_, outcome)| outcome);
    let retry = |event: &Event| matches!(event, Event::Retry { round: r, .. } if *r == round);
    let value = outcome.map(|o| o.value).unwrap_or_default();
    Ok(Some(Row {
        op: op.name(),
        result: value.data.map(|word| format!("{word:016x}")),
        number: number(op, &value),
        rc: value.rc.name(),
        count: outcome.map_or(0, |o| o.count),
        clocks: outcomes
            .iter()
            .map(|(clock, _)| clock.saturating_sub(last))
            .max()
            .unwrap_or(0),
        frames: all_frames - frames,
        partials: all_partials - partials,
        retries: sim
            .reported(group, root)
            .filter(|logged| retry(&logged.event))
            .count(),
        left_out: endpoints.len() - outcomes.len(),
        wrong: wrong(sim, group, round, op, &given, &numbers, &outcomes),
    }))
}

/// Frames and partial results so far, on all ranks.
fn counts(sim: &mut Simulator) -> Result<[u64; 2]> {
    let frames = sim.total(Simulator::frames)?;
    Ok([frames, sim.total(|sim| sim.counted(Counter::Partials))?])
}

/// A value from two random words.
fn value(op: Op, endpoint: usize, number: i64, word: u64) -> Value {
    let float = number as f64 / SCALE;
    let index = endpoint as u64;
    let data = match op {
        Op::Barrier => [0; 4],
        Op::FltRepsum => return repsum::encode(float.to_bits()),
        Op::IntMinmaxloc => [word, index, word, index],
        Op::FltMinmaxloc | Op::FltMinmaxnumloc => [float.to_bits(), index, float.to_bits(), index],
        op if is_float(op) && op.element_bits() == 32 => [1.0, 0.5, -3.0, 1e-30].map(|factor| {
            let [upper, lower] = [factor, -7.0 * factor].map(|f| (float * f) as f32);
            u64::from(upper.to_bits()) << 32 | u64::from(lower.to_bits())
        }),
        op if is_float(op) => [1.0, 0.5, -3.0, 1e-300].map(|factor| (float * factor).to_bits()),
        _ => [word, word.rotate_left(16), word.rotate_left(32), !word],
    };
    Value {
        data,
        ..Value::default()
    }
}

const fn is_float(op: Op) -> bool {
    op.code() >= Op::FltMin.code()
}

fn number(op: Op, value: &Value) -> Option<f64> {
    match op {
        Op::FltRepsum => Some(f64::from_bits(
            repsum::decode(value, Rounding::NearestEven).0,
        )),
        op if is_float(op) && op.element_bits() == 32 => {
            Some(f32::from_bits((value.data[0] >> 32) as u32).into())
        }
        op if is_float(op) => Some(f64::from_bits(value.data[0])),
        _ => None,
    }
}

/// Floating-point sums are the only ones whose words depend on the order.
const fn depends_on_order(op: Op) -> bool {
    (op.code() >= Op::FltSumNearest.code() && op.code() <= Op::FltSumZeroFtz.code())
        || (op.code() >= Op::Flt32SumNearest.code() && op.code() <= Op::Flt32SumZeroFtz.code())
}

fn wrong(
    sim: &Simulator,
    group: usize,
    round: u64,
    op: Op,
    given: &BTreeMap<usize, Value>,
    numbers: &[i64],
    outcomes: &[(u64, Outcome)],
) -> Option<String> {
    let Some((_, first)) = outcomes.first() else {
        return Some("nobody has a result".to_owned());
    };
    if outcomes.iter().any(|(_, other)| other != first) {
        return Some("endpoints have different results".to_owned());
    }
    if first.op != op || first.count as usize != given.len() {
        return Some(format!(
            "{} of {} endpoints are in it, as {}",
            first.count,
            given.len(),
            first.op
        ));
    }
    let by_address = given
        .iter()
        .map(|(&e, &value)| (sim.fabric().endpoints[e].address(), (op, value)));
    let group = sim.group(group)?;
    let total = reference::total(
        sim.fabric(),
        sim.cabling(),
        sim.sightings(),
        group,
        round,
        &by_address.collect(),
    );
    match total {
        Err(why) => return Some(why.to_string()),
        Ok(total) if total.value != first.value || total.count != first.count => {
            return Some(format!(
                "by what came to the root it is {:x?}, {}",
                total.value.data, total.value.rc
            ));
        }
        Ok(_) => {}
    }
    let mut values = given.values();
    let start = *values.next()?;
    let fold = values.fold(start, |sum, value| {
        combine(op, Mode::default(), &sum, value)
    });
    if !depends_on_order(op) && (fold.data, fold.m) != (first.value.data, first.value.m) {
        return Some(format!("by endpoint number it is {:x?}", fold.data));
    }
    if op == Op::FltRepsum {
        // Exact: at most 2^20 numbers of 60 bits. `as` rounds to nearest even, and the scale is a power of two.
        let exact: i128 = numbers.iter().map(|n| i128::from((*n as f64) as i64)).sum();
        let exact = exact as f64 / SCALE;
        let got = f64::from_bits(repsum::decode(&first.value, Rounding::NearestEven).0);
        if got.to_bits() != exact.to_bits() {
            return Some(format!("decoded it is {got:e}, the exact sum is {exact:e}"));
        }
    }
    None
}
