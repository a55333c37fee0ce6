//! Random deaths in random groups: every verdict is checked (MB-12, MB-13).

use std::io::Write;
use std::time::Instant;

use anyhow::Result;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use serde::Serialize;
use tributary_protocol::multicast::Algorithm;
use tributary_protocol::multicast::group::{GroupConfig, Verdict as End};
use tributary_sim::multicast::{Fault, GroupPlan, Plan, Time, run as simulate};

use crate::Verdict;
use crate::progress::Progress;

const BLOCK_BYTES: u32 = 1_000;
const BYTE_TIME: Time = 80_000;
const BLOCK_TIME: Time = BLOCK_BYTES as Time * BYTE_TIME;

#[derive(Default, Serialize)]
struct Summary {
    bench: &'static str,
    seed: u64,
    deaths: u64,
    runs: u64,
    runs_with_success: u64,
    runs_with_failure: u64,
    /// Nobody was left.
    runs_without_verdict: u64,
    wrong_verdicts: u64,
    first_wrong: Option<String>,
    time_s: f64,
}

fn below(rng: &mut ChaCha8Rng, limit: u64) -> u64 {
    rng.next_u64() % limit.max(1)
}

/// A group, its messages, and the deaths of one to three members.
fn random(seed: u64) -> Plan {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let members = 2 + below(&mut rng, 30) as u32;
    let mut config = GroupConfig::new(members, BLOCK_BYTES);
    config.algorithm = [
        Algorithm::BinomialPipeline,
        Algorithm::BinomialPipeline,
        Algorithm::Chain,
        Algorithm::BinomialTree,
        Algorithm::Sequential,
    ][below(&mut rng, 5) as usize];
    config.credits = 2 + below(&mut rng, 3) as u32;
    config.offload = config.algorithm == Algorithm::BinomialPipeline && below(&mut rng, 2) == 0;
    let mut plan = Plan::new(members, BYTE_TIME);
    plan.latency = BLOCK_TIME * [0, 5, 25][below(&mut rng, 3) as usize] / 100;
    plan.detection = below(&mut rng, 5 * BLOCK_TIME);
    let mut group = GroupPlan::one(config, 0);
    let blocks = 1 + below(&mut rng, 12);
    let messages = 1 + below(&mut rng, 3);
    group.messages = (0..messages)
        .map(|_| (0, below(&mut rng, blocks * u64::from(BLOCK_BYTES))))
        .collect();
    plan.groups.push(group);
    let span = (u64::from(members) + blocks * messages) * 2 * BLOCK_TIME;
    for _ in 0..=below(&mut rng, 3) {
        plan.faults.push(Fault::Kill {
            node: below(&mut rng, members.into()) as u32,
            at: below(&mut rng, span),
        });
    }
    plan
}

/// Runs until so many members have died.
pub fn run(count: u64, seed: u64, json: bool) -> Result<Verdict> {
    let started = Instant::now();
    let progress = Progress::new(count, "deaths");
    let mut summary = Summary {
        bench: "rdmc deaths",
        seed,
        ..Summary::default()
    };
    while summary.deaths < count {
        let own = seed.wrapping_add(summary.runs);
        let report = simulate(&random(own))?;
        let members = &report.groups[0].members;
        summary.runs += 1;
        summary.deaths += members.iter().filter(|m| m.died.is_some()).count() as u64;
        let verdicts = members
            .iter()
            .filter(|m| m.died.is_none())
            .find_map(|m| m.verdict.as_ref());
        match verdicts {
            Some((_, End::Success { .. })) => summary.runs_with_success += 1,
            Some((_, End::Failure { .. })) => summary.runs_with_failure += 1,
            None => summary.runs_without_verdict += 1,
        }
        if let Some(text) = report.wrong.first() {
            summary.wrong_verdicts += report.wrong.len() as u64;
            let first = || format!("seed {own}: {text}");
            summary.first_wrong.get_or_insert_with(first);
        }
        progress.at(summary.deaths.min(count));
    }
    drop(progress);
    summary.time_s = started.elapsed().as_secs_f64();
    let mut out = std::io::stdout().lock();
    if json {
        serde_json::to_writer(&mut out, &summary).map_err(std::io::Error::from)?;
        writeln!(out)?;
    } else {
        writeln!(
            out,
            "{} deaths in {} groups of 2 to 31 members: {} ended with success, {} with failure, {} with nobody left\n\
             wrong verdicts: {}",
            summary.deaths,
            summary.runs,
            summary.runs_with_success,
            summary.runs_with_failure,
            summary.runs_without_verdict,
            summary.wrong_verdicts
        )?;
        if let Some(text) = &summary.first_wrong {
            writeln!(out, "the first: {text}")?;
        }
    }
    Ok(match summary.wrong_verdicts {
        0 => Verdict::Good,
        _ => Verdict::Bad,
    })
}
