//! `tributary sim --demo rw`: one transfer of random bytes.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result};
use clap::Args;
use tributary_protocol::rw::{Mode, Outcome, ReceiverConfig};
use tributary_sim::pcap::Capture;
use tributary_sim::rw::{
    Memory, ModelEngine, Observer, Plan, ReceiverEngine, Recorder, RtlEngine, Timeline, Transfer,
};

use super::{Engine, Link, summary::Summary};
use crate::Verdict;
use crate::files::NewFile;
use crate::progress::Progress;

/// Rate of the line in captures, Gb/s.
const LINE_GBPS: f64 = 100.0;
/// Bytes on the line around the payload of a DATA packet: preamble 8, Ethernet, IPv4, UDP and BTH
/// 54, header of the message 8, ICRC 4, frame check sequence 4, gap 12.
const OVERHEAD_BYTES: f64 = 90.0;

/// Options of `--demo rw`.
#[derive(Args)]
pub struct Options {
    #[command(flatten)]
    transfer: super::Transfer,
    #[command(flatten)]
    link: Link,
    /// Protocol: counter, go-back-n, rw-timer or rw. Counter is for links that do not duplicate.
    #[arg(long, default_value = "rw")]
    mode: Mode,
    /// How often each message of the receiver leaves, with `rw`: a second copy repairs the loss of the first.
    #[arg(long, value_name = "N", default_value_t = ReceiverConfig::default().copies, value_parser = clap::value_parser!(u8).range(1..=2))]
    copies: u8,
    /// What stands at the receiving end.
    #[arg(long, default_value = "model")]
    engine: Engine,
    /// Print every event as a line.
    #[arg(long, conflicts_with = "json")]
    events: bool,
    /// Waveform of the receiver (FST).
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
    /// Every frame at both ends of the link (pcapng).
    #[arg(long, value_name = "FILE")]
    pcap: Option<PathBuf>,
    /// Records that enter the receiver, for --replay (JSON lines).
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

/// Runs it.
pub fn run(arguments: &Options) -> Result<Verdict> {
    let started = Instant::now();
    let plan = plan(arguments);
    let slot_ns = (f64::from(1u32 << plan.mtu) + OVERHEAD_BYTES) * 8.0 / LINE_GBPS;
    let mut transfer = Transfer::of_bytes(plan, Memory::random_bytes(plan.bytes, plan.seed))?;
    let mut engine = engine(arguments.engine, plan.receiver())?;

    let create = |path: &Option<PathBuf>| path.as_deref().map(NewFile::create).transpose();
    let (waveform, record) = (create(&arguments.trace)?, create(&arguments.record)?);
    let mut capture = create(&arguments.pcap)?
        .map(|file| Capture::new(file, slot_ns))
        .transpose()?;
    let mut timeline = arguments
        .events
        .then(|| Timeline::new(std::io::BufWriter::new(std::io::stdout().lock())));
    let mut observers: Vec<&mut dyn Observer> = Vec::new();
    observers.extend(
        capture
            .as_mut()
            .map(|observer| observer as &mut dyn Observer),
    );
    observers.extend(
        timeline
            .as_mut()
            .map(|observer| observer as &mut dyn Observer),
    );
    if let Some(file) = &waveform {
        engine.start_waveform(file.working_path())?;
    }

    let progress = Progress::new(u64::from(plan.packets()), "packets");
    let mut watch = |sent| progress.at(sent);
    let (report, trace) = if record.is_some() {
        let mut recorder = Recorder::new(&mut *engine, &plan.receiver());
        let report = transfer.run(&mut recorder, &mut observers, &mut watch)?;
        (report, Some(recorder.into_trace()))
    } else {
        (
            transfer.run(&mut *engine, &mut observers, &mut watch)?,
            None,
        )
    };
    drop(progress);

    drop(observers);
    if let Some(timeline) = timeline {
        timeline.finish()?;
    }
    engine.finish_waveform()?;
    if let Some(capture) = capture {
        capture.into_inner().finish()?;
    }
    if let (Some(trace), Some(mut file)) = (trace, record) {
        trace
            .write(&mut file)
            .with_context(|| format!("cannot write {}", shown(&arguments.record)))?;
        file.finish()?;
    }
    waveform.map_or(Ok(()), NewFile::finish)?;

    let difference = transfer.memory().and_then(Memory::first_difference);
    let summary = Summary::new(
        &plan,
        engine.name(),
        &report,
        difference,
        slot_ns,
        started.elapsed(),
    );
    let mut out = std::io::stdout().lock();
    if arguments.json {
        serde_json::to_writer(&mut out, &summary).map_err(std::io::Error::from)?;
        writeln!(out)?;
    } else {
        summary.print(&mut out)?;
    }
    let good = report.outcome == Outcome::Ok && difference.is_none();
    Ok(if good { Verdict::Good } else { Verdict::Bad })
}

fn plan(wanted: &Options) -> Plan {
    let link = &wanted.link;
    Plan {
        mode: wanted.mode,
        window_packets: wanted.transfer.window,
        bytes: wanted.transfer.bytes,
        mtu: link.packet,
        round_trip_slots: link.round_trip,
        reorder_slots: link.reorder,
        loss: link.loss,
        loss_back: link.loss,
        copies: wanted.copies,
        duplication: link.dup,
        seed: link.seed,
    }
}

/// The engine of this name.
pub fn engine(engine: Engine, config: ReceiverConfig) -> Result<Box<dyn ReceiverEngine>> {
    Ok(match engine {
        Engine::Model => Box::new(ModelEngine::new(config)?),
        Engine::Rtl => Box::new(RtlEngine::new(&config)?),
    })
}

fn shown(path: &Option<PathBuf>) -> std::path::Display<'_> {
    path.as_deref().unwrap_or(Path::new("")).display()
}
