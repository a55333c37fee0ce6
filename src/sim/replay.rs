//! `tributary sim --replay FILE`: records of an earlier run into a receiver.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufReader, Write};
use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Context, Result};
use clap::Args;
use serde::Serialize;
use tributary_protocol::rw::{Output, Status};
use tributary_sim::rw::{replay, trace::Trace};

use super::{Engine, demo_rw};
use crate::Verdict;

#[derive(Serialize)]
struct Summary {
    engine: &'static str,
    records: usize,
    slots: u64,
    accepted_packets: u64,
    dropped: BTreeMap<&'static str, u64>,
    writes: usize,
    messages_back: usize,
    completions_ok: usize,
    completions_aborted: usize,
    time_s: f64,
}

/// Options of `--replay`.
#[derive(Args)]
pub struct Options {
    /// The records.
    file: PathBuf,
    /// What takes them.
    #[arg(long, default_value = "model")]
    engine: Engine,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

/// Runs it.
pub fn run(arguments: &Options) -> Result<Verdict> {
    let path = &arguments.file;
    let started = Instant::now();
    let file = File::open(path).with_context(|| format!("cannot read {}", path.display()))?;
    let trace = Trace::read(BufReader::new(file)).with_context(|| path.display().to_string())?;
    let mut engine = demo_rw::engine(arguments.engine, trace.header.config())?;
    let replayed = replay(&trace, &mut *engine, 0)?;
    let count = |wanted: fn(&Output) -> bool| {
        replayed
            .outputs
            .iter()
            .filter(|(_, output)| wanted(output))
            .count()
    };
    let ended = |status| {
        replayed
            .completions()
            .filter(|done| done.status == status)
            .count()
    };
    let summary = Summary {
        engine: engine.name(),
        records: trace.entries.len(),
        slots: replayed.slots,
        accepted_packets: replayed.stats.accepted,
        dropped: replayed
            .stats
            .dropped
            .iter()
            .map(|(reason, count)| (reason.name(), *count))
            .collect(),
        writes: count(|output| matches!(output, Output::Write(_))),
        messages_back: count(|output| matches!(output, Output::Send { .. })),
        completions_ok: ended(Status::Ok),
        completions_aborted: ended(Status::Aborted),
        time_s: started.elapsed().as_secs_f64(),
    };
    let mut out = std::io::stdout().lock();
    if arguments.json {
        serde_json::to_writer(&mut out, &summary).map_err(std::io::Error::from)?;
        writeln!(out)?;
        return Ok(Verdict::Good);
    }
    writeln!(
        out,
        "replayed    {} records in {} slots, {}",
        summary.records, summary.slots, summary.engine
    )?;
    let dropped: Vec<String> = summary
        .dropped
        .iter()
        .map(|(reason, count)| format!(", {count} {reason}"))
        .collect();
    writeln!(
        out,
        "receiver    accepted {}, dropped {}{}",
        summary.accepted_packets,
        summary.dropped.values().sum::<u64>(),
        dropped.concat()
    )?;
    writeln!(
        out,
        "outputs     {} writes, {} messages, {} transfers complete, {} aborted",
        summary.writes, summary.messages_back, summary.completions_ok, summary.completions_aborted
    )?;
    Ok(Verdict::Good)
}
