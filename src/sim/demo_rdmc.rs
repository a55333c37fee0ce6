//! `tributary sim --demo rdmc`: one object from a root to all members of a group, who relay its blocks while they receive.

mod arguments;
mod cards;
mod draw;

use std::io::Write;
use std::time::Instant;

use anyhow::Result;
use serde::Serialize;
use tributary_protocol::multicast::group::Verdict as End;
use tributary_sim::multicast::{GroupPlan, Plan, Report, Time, run as simulate};

pub use arguments::Options;

use crate::Verdict;
use crate::cards::usage;
use crate::files::NewFile;

/// Femtoseconds of a nanosecond.
pub const NS: Time = 1_000_000;

/// Runs it.
pub fn run(wanted: &Options) -> Result<Verdict> {
    if let Some(on_cards) = wanted.on_cards()? {
        return cards::run(&on_cards, wanted.json);
    }
    let started = Instant::now();
    let plan = wanted.plan()?;
    let report = simulate(&plan).map_err(usage)?;
    if let Some(path) = &wanted.svg {
        let drawing = draw::drawing(&plan, &report).map_err(usage)?;
        let mut file = NewFile::create(path)?;
        file.write_all(drawing.as_bytes())?;
        file.finish()?;
    }
    let mut summary = Summary::new(&plan, &report);
    summary.time_s = started.elapsed().as_secs_f64();
    let mut out = std::io::stdout().lock();
    if wanted.json {
        serde_json::to_writer(&mut out, &summary).map_err(std::io::Error::from)?;
        writeln!(out)?;
    } else {
        summary.print(&mut out)?;
    }
    Ok(match report.wrong.is_empty() {
        true => Verdict::Good,
        false => Verdict::Bad,
    })
}

/// Everything that is printed.
#[derive(Serialize)]
struct Summary {
    demo: &'static str,
    engine: &'static str,
    algorithm: &'static str,
    members: u32,
    bytes: u64,
    block_bytes: u32,
    blocks: u32,
    credits: u32,
    offload: bool,
    rate_gbps: f64,
    latency_ns: f64,
    host_ns_per_block: f64,
    /// Time of a whole block on a link.
    block_ns: f64,
    total_steps: u64,
    step_bound_ns: f64,
    /// Until the last block arrived.
    time_ns: f64,
    time_over_bound: f64,
    /// Of a run in which everyone got the object.
    goodput_gbps: Option<f64>,
    blocks_moved: u64,
    bytes_moved: u64,
    /// `success` or `failure`; `none` if nobody is left.
    verdict: &'static str,
    suspect: Option<u32>,
    why: Option<String>,
    /// By rank: messages delivered, as the verdict has it; null for who is gone.
    watermarks: Option<Vec<Option<u32>>>,
    dead: Vec<u32>,
    /// From the last death until the last survivor knew of a failure.
    known_after_ns: Option<f64>,
    wrong: Vec<String>,
    time_s: f64,
}

fn ns(time: Time) -> f64 {
    time as f64 / NS as f64
}

impl Summary {
    fn new(plan: &Plan, report: &Report) -> Self {
        let (group, done) = (&plan.groups[0], &report.groups[0]);
        let GroupPlan {
            config, messages, ..
        } = group;
        let bytes = messages[0].1;
        let verdict = done.members.iter().find_map(|m| m.verdict.as_ref());
        let (name, suspect, why, watermarks) = match verdict {
            None => ("none", None, None, None),
            Some((_, End::Success { .. })) => ("success", None, None, None),
            Some((
                _,
                End::Failure {
                    suspect,
                    why,
                    watermarks,
                },
            )) => (
                "failure",
                Some(*suspect),
                Some(why.to_string()),
                Some(watermarks.clone()),
            ),
        };
        let members = || done.members.iter().enumerate();
        let last_death = members().filter_map(|(_, m)| m.died).max();
        let known = members()
            .filter(|(_, m)| m.died.is_none())
            .filter_map(|(_, m)| m.failed.map(|(at, ..)| at))
            .max();
        Self {
            demo: "rdmc",
            engine: "links",
            algorithm: config.algorithm.name(),
            members: config.members,
            bytes,
            block_bytes: config.block_bytes,
            blocks: config.blocks(bytes).unwrap_or(0),
            credits: match config.mutations.one_credit {
                true => 1,
                false => config.credits,
            },
            offload: config.offload,
            rate_gbps: 8e6 / plan.byte_time as f64,
            latency_ns: ns(plan.latency),
            host_ns_per_block: ns(plan.host_time),
            block_ns: ns(u64::from(config.block_bytes) * plan.byte_time),
            total_steps: done.steps,
            step_bound_ns: ns(done.bound),
            time_ns: ns(done.end),
            time_over_bound: match done.bound {
                0 => 1.0,
                bound => done.end as f64 / bound as f64,
            },
            goodput_gbps: (name == "success" && done.end > 0)
                .then(|| bytes as f64 * 8e6 / done.end as f64),
            blocks_moved: done.blocks,
            bytes_moved: done.bytes,
            verdict: name,
            suspect,
            why,
            watermarks,
            dead: members()
                .filter(|(_, m)| m.died.is_some())
                .map(|(rank, _)| rank as u32)
                .collect(),
            known_after_ns: last_death
                .zip(known)
                .map(|(death, known)| ns(known.saturating_sub(death))),
            wrong: report.wrong.clone(),
            time_s: 0.0,
        }
    }

    fn print(&self, out: &mut dyn Write) -> std::io::Result<()> {
        writeln!(
            out,
            "group       {} members, {}, {} bytes in {} blocks of {}, {} credits, by {}",
            self.members,
            self.algorithm,
            self.bytes,
            self.blocks,
            self.block_bytes,
            self.credits,
            if self.offload { "cards" } else { "hosts" }
        )?;
        writeln!(
            out,
            "links       {} Gb/s, {} ns one way; a block takes {} ns; a host {} ns for each block",
            self.rate_gbps, self.latency_ns, self.block_ns, self.host_ns_per_block
        )?;
        writeln!(
            out,
            "time        {} ns, {:.4} of {} steps{}",
            self.time_ns,
            self.time_over_bound,
            self.total_steps,
            self.goodput_gbps
                .map_or(String::new(), |gbps| format!("; goodput {gbps:.2} Gb/s"))
        )?;
        writeln!(
            out,
            "moved       {} blocks, {} bytes",
            self.blocks_moved, self.bytes_moved
        )?;
        match (self.suspect, &self.why, &self.watermarks) {
            (Some(suspect), Some(why), Some(marks)) => {
                let have = marks.iter().flatten().filter(|&&m| m > 0).count();
                writeln!(
                    out,
                    "verdict     failure: member {suspect}: {why}; {have} of {} survivors have the object",
                    marks.iter().flatten().count()
                )?;
            }
            _ => writeln!(out, "verdict     {}", self.verdict)?,
        }
        if let Some(after) = self.known_after_ns {
            writeln!(
                out,
                "deaths      of {:?}; every survivor knew {after} ns after the last",
                self.dead
            )?;
        }
        for line in &self.wrong {
            writeln!(out, "WRONG       {line}")?;
        }
        Ok(())
    }
}
